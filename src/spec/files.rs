//! The files a spec refers to, read once and kept for the release.

use std::io;

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
