//! Why a release was not written.

use super::keys::KeyError;
use super::{ReleaseError, canonical};
use std::io;
use std::path::PathBuf;

/// Why a release cannot be sealed.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The file could not be written.
    #[error("cannot write the release: {0}")]
    Io(#[from] io::Error),
    /// The release has its name and is whole; whether a loss of power leaves it there is not known.
    #[error("the release has its name, but its folder could not be put on the disk: {0}")]
    Folder(io::Error),
    /// The release has its name and is whole, and the signature beside it has none.
    #[error("the release has its name, but the signature beside it waits for the next run of that name: {0}")]
    Beside(io::Error),
    /// A release or its signature is there already.
    #[error("{0} exists; it is overwritten only with --replace")]
    Exists(PathBuf),
    /// Another run that is still at work has the name.
    #[error("another run is making {0} just now: wait until it has ended")]
    Busy(PathBuf),
    /// A link, a folder or a device has the name of the release or of its signature.
    #[error("{0} is not a file: a release takes the place of files only, and follows no link")]
    NotAFile(PathBuf),
    /// The name cannot be a file name.
    #[error("{0:?} cannot name a release: letters, digits, dots, dashes and underscores can")]
    Name(String),
    /// Sections were not written as announced.
    #[error("the sections are not as announced: {0}")]
    Sections(String),
    /// Noise from a known seed must be signed with the key everybody knows, and nothing else may.
    #[error("the noise came from a known seed: this file is NOT PRIVATE and no real key may sign it")]
    NotPrivate,
    /// The key everybody knows, offered for a real release.
    #[error("this key is the NOT PRIVATE test key, which everybody has: no real release may carry it")]
    TestKey,
    /// The manifest has no canonical form.
    #[error("cannot write the manifest: {0}")]
    Manifest(#[from] canonical::CanonicalError),
    /// The key failed.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// What was written is not a release a reader would accept.
    #[error("the release would be refused by its readers: {0}")]
    Refused(#[from] ReleaseError),
}
