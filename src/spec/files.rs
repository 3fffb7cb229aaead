//! The files a spec refers to, read once and kept for the release.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The longest a spec may be. It becomes part of the release.
pub(crate) const MAX_SPEC: u64 = 4 << 20;
/// The longest a hierarchy or a file of rows may be. It becomes part of the release.
pub(super) const MAX_ATTACHED: u64 = 256 << 20;

/// How many bytes a regular file has.
pub(crate) fn regular(path: &Path) -> io::Result<u64> {
    let metadata = std::fs::metadata(path)?;
    crate::files::regular(&metadata)?;
    Ok(metadata.len())
}

/// The bytes of a regular file of at most so many.
pub(crate) fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {most} bytes"));
    if regular(path)? > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    // It may grow while it is read.
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// Whether two names lead to one file.
pub(super) fn same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(a), Ok(b)) = (std::fs::metadata(a), std::fs::metadata(b)) {
        use std::os::unix::fs::MetadataExt;
        return (a.dev(), a.ino()) == (b.dev(), b.ino());
    }
    matches!((std::fs::canonicalize(a), std::fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

/// Reads files by the names the spec gives them, and remembers those that became part of the spec.
pub(super) struct Files<'r> {
    read: &'r dyn Fn(&str) -> io::Result<Vec<u8>>,
    kept: Vec<(String, Vec<u8>)>,
}

impl<'r> Files<'r> {
    pub(super) fn new(read: &'r dyn Fn(&str) -> io::Result<Vec<u8>>) -> Files<'r> {
        Files { read, kept: Vec::new() }
    }

    pub(super) fn read(&self, path: &str) -> io::Result<Vec<u8>> {
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
