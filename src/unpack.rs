//! Packed texts: `rows.csv.gz`, `rows.csv.zst`. They are unpacked while they are read, and never written.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// How a file is packed, by the end of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packed {
    Gzip,
    Zstd,
}

fn packed(path: &Path) -> Option<Packed> {
    match path.extension() {
        Some(end) if end.eq_ignore_ascii_case("gz") => Some(Packed::Gzip),
        Some(end) if end.eq_ignore_ascii_case("zst") => Some(Packed::Zstd),
        _ => None,
    }
}

/// Whether it is packed.
pub(crate) fn is_packed(path: &Path) -> bool {
    packed(path).is_some()
}

/// What its name says of what is inside: `csv` of `rows.csv.gz`, too.
pub(crate) fn ending(path: &Path) -> Option<String> {
    let inside = if is_packed(path) { Path::new(path.file_stem()?) } else { path };
    inside.extension()?.to_str().map(str::to_ascii_lowercase)
}

/// Zstd looks back over at most so many bytes (a power of two), which are held.
#[cfg(feature = "parquet")]
const WINDOW: u32 = 23;

/// Begins to read what is in a file.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    let file = File::open(path)?;
    match packed(path) {
        None => Ok(Box::new(file)),
        #[cfg(feature = "parquet")]
        Some(Packed::Gzip) => Ok(Box::new(flate2::read::MultiGzDecoder::new(file))),
        #[cfg(feature = "parquet")]
        Some(Packed::Zstd) => {
            let mut unpacked = zstd::stream::read::Decoder::new(file)?;
            unpacked.window_log_max(WINDOW)?;
            Ok(Box::new(unpacked))
        }
        #[cfg(not(feature = "parquet"))]
        Some(_) => Err(io::ErrorKind::Unsupported.into()),
    }
}
