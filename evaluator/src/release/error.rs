//! Why a release file is refused.

use super::kind::Kind;

/// Why a release cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The file could not be read.
    #[error("cannot read the release: {0}")]
    Io(#[from] std::io::Error),
    /// The first bytes are not those of a release.
    #[error("this is not a margins release: its first bytes are not the magic number")]
    Magic,
    /// A format this program does not know.
    #[error("the release has format version {found}; this program reads versions 1 to {known}")]
    Version {
        /// What the file says.
        found: u32,
        /// The last one this program reads.
        known: u32,
    },
    /// A length above its cap.
    #[error("{what} is {found}, more than the {cap} a release may have")]
    TooLarge {
        /// Which length.
        what: &'static str,
        /// What the file declares.
        found: u64,
        /// The most there may be.
        cap: u64,
    },
    /// The lengths do not add up to the file's.
    #[error("the file has {found} bytes, but its header accounts for {declared}")]
    Length {
        /// The file's length.
        found: u64,
        /// What the header says.
        declared: u64,
    },
    /// The table of sections is malformed.
    #[error("the table of sections is malformed: {0}")]
    Table(&'static str),
    /// A section that must be understood and is not.
    #[error(
        "section tag {tag:#010x} is critical and this program does not know it: a newer program is needed"
    )]
    UnknownCritical {
        /// The tag.
        tag: u32,
    },
    /// The manifest is not written as the format demands.
    #[error("the manifest is not canonical JSON at byte {at}")]
    NotCanonical {
        /// Where in the manifest.
        at: usize,
    },
    /// The manifest is not a manifest.
    #[error("the manifest cannot be read: {0}")]
    Manifest(String),
    /// The manifest and the table of sections disagree.
    #[error("the manifest and the table of sections disagree: {0}")]
    Disagreement(String),
    /// The signature or the key is not what the format demands, or does not fit the manifest.
    #[error("the signature is not valid: {0}")]
    Signature(String),
    /// A list of keys that does not hold.
    #[error("the list of keys does not hold: {0}")]
    Keys(String),
    /// A section whose bytes are not those that were signed.
    #[error("section {kind} {index} has been damaged: its hash is not the one that was signed")]
    Hash {
        /// Its name.
        kind: String,
        /// Its index.
        index: u32,
    },
    /// A section that is not there.
    #[error("the release has no section {kind} {index}")]
    Missing {
        /// Its kind.
        kind: Kind,
        /// Its index.
        index: u32,
    },
    /// A section whose bytes do not decode.
    #[error("{what} cannot be decoded: {why}")]
    Decode {
        /// What was to be decoded.
        what: &'static str,
        /// The decoder's complaint.
        why: String,
    },
    /// A value that decodes but means nothing.
    #[error("{what} is invalid: {why}")]
    Invalid {
        /// What was decoded.
        what: &'static str,
        /// Which rule is broken.
        why: String,
    },
}
