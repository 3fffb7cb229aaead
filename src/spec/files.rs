//! The files a spec refers to, read once and kept for the release.

use crate::unpack;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The longest a spec may be. It becomes part of the release.
pub(crate) const MAX_SPEC: u64 = 4 << 20;
/// The longest a hierarchy or a file of rows may be. It becomes part of the release.
pub(super) const MAX_ATTACHED: u64 = 1 << 30;

/// How many bytes a regular file has.
pub(crate) fn regular(path: &Path) -> io::Result<u64> {
    let metadata = std::fs::metadata(path)?;
    crate::files::regular(&metadata)?;
    Ok(metadata.len())
}

/// The bytes of a regular file of at most so many.
pub(crate) fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    if regular(path)? > most {
        return Err(too_large(most));
    }
    bytes_of(File::open(path)?, most)
}

/// What is in a regular file, which may be packed: what is attached to a release is the text, however it was stored.
pub(super) fn read_unpacked(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    if !unpack::is_packed(path) {
        return read_regular(path, most);
    }
    regular(path)?;
    bytes_of(unpack::open(path)?, most)
}

/// All that can be read, if it is not longer; a file may grow while it is read.
fn bytes_of(file: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(bytes) }
}

fn too_large(most: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {most} bytes"))
}

/// Whether two names lead to one file.
fn same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(a), Ok(b)) = (std::fs::metadata(a), std::fs::metadata(b)) {
        use std::os::unix::fs::MetadataExt;
        return (a.dev(), a.ino()) == (b.dev(), b.ino());
    }
    matches!((std::fs::canonicalize(a), std::fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

/// Whether the name of a file or folder is a pattern of several, or a part of one.
#[cfg(feature = "compile")]
pub(crate) fn is_wild(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// Whether a file is the data, is in its folder, or is named by its pattern.
fn is_of(file: &Path, data: &Path) -> bool {
    let inside = |folder: &Path| match (std::fs::canonicalize(file), std::fs::canonicalize(folder)) {
        (Ok(file), Ok(folder)) => file.starts_with(folder),
        _ => false,
    };
    let is = |data: &Path| same_file(file, data) || data.is_dir() && inside(data);
    #[cfg(feature = "compile")]
    if let Some(named) = data.to_str().filter(|data| is_wild(data)).and_then(|data| glob::glob(data).ok())
        && named.flatten().any(|data| is(&data))
    {
        return true;
    }
    is(data)
}

/// Refuses a list that is the data, before a byte of it is read: what is wrong with a list is shown with its lines.
pub(super) fn keep_off(file: &Path, data: &Path) -> io::Result<()> {
    if !is_of(file, data) {
        return Ok(());
    }
    Err(io::Error::other("it is the data file, and lists are published"))
}

/// Reads files by the names the spec gives them, and remembers those that became part of the spec.
pub(super) struct Files<'r> {
    read: &'r dyn Fn(&str) -> io::Result<Vec<u8>>,
    /// Whether they come from a sealed release: what is kept of a file is then all there is of it.
    pub(super) sealed: bool,
    /// The folder that names are relative to, and the data, which is none of them.
    data: Option<(PathBuf, PathBuf)>,
    kept: Vec<(String, Vec<u8>)>,
}

impl<'r> Files<'r> {
    pub(super) fn new(read: &'r dyn Fn(&str) -> io::Result<Vec<u8>>, sealed: bool) -> Files<'r> {
        Files { read, sealed, data: None, kept: Vec::new() }
    }

    /// From now on [keeps off](keep_off) the data.
    pub(super) fn keep_off(&mut self, folder: &Path, data: &Path) {
        self.data = Some((folder.to_owned(), data.to_owned()));
    }

    pub(super) fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        if let Some((folder, data)) = &self.data {
            keep_off(&folder.join(path), data)?;
        }
        match self.kept.iter().find(|(name, _)| name == path) {
            Some((_, bytes)) => Ok(bytes.clone()),
            None => (self.read)(path),
        }
    }

    pub(super) fn keep(&mut self, path: &str, bytes: Vec<u8>) {
        if !self.kept.iter().any(|(name, _)| name == path) {
            self.kept.push((path.to_owned(), bytes));
        }
    }

    pub(super) fn take(&mut self) -> Vec<(String, Vec<u8>)> {
        std::mem::take(&mut self.kept)
    }
}

#[cfg(all(test, feature = "parquet"))]
mod tests {
    use super::*;
    use std::io::Write as _;

    /// A packed list is read as its text, and one that unpacks to more than it may have is not held.
    #[test]
    fn packed_and_plain_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let text = "block,tract\nb1,t1\n".repeat(1000);
        let (plain, packed, zstd) =
            (folder.path().join("a.csv"), folder.path().join("a.csv.gz"), folder.path().join("a.csv.zst"));
        std::fs::write(&plain, &text).unwrap();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gz.write_all(text.as_bytes()).unwrap();
        let bytes = gz.finish().unwrap();
        std::fs::write(&packed, &bytes).unwrap();
        std::fs::write(&zstd, zstd::encode_all(text.as_bytes(), 0).unwrap()).unwrap();
        for path in [&plain, &packed, &zstd] {
            assert_eq!(read_unpacked(path, 1 << 20).unwrap(), text.as_bytes());
            let long = read_unpacked(path, 1000).unwrap_err();
            assert_eq!(long.to_string(), "it is longer than 1000 bytes");
        }
        std::fs::write(&packed, &bytes[..bytes.len() / 2]).unwrap();
        assert!(read_unpacked(&packed, 1 << 20).is_err());
        assert!(read_unpacked(folder.path(), 1 << 20).is_err());
    }
}
