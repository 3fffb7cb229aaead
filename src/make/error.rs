//! Why there is no plan or no release.

use crate::compile::CompileError;
use crate::ledger::LedgerError;
use crate::release::SealError;
use crate::secret::measure::MeasureError;
use crate::spec::SpecErrors;
use crate::visible::visible;
use std::path::{Path, PathBuf};

/// Why there is no plan or no release.
///
/// Its text never shows a value of the data, and names no option of the command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MakeError {
    /// The spec has mistakes, each with its place.
    #[error(transparent)]
    Spec(#[from] SpecErrors),
    /// A bound on what may be spent does not let it, or nothing would be measured. Nothing was charged.
    #[error("{0}")]
    Refused(String),
    /// Who was asked for [consent](crate::ReleaseOptions::consent) gave none. Nothing was charged.
    #[error("nothing was charged, and nothing was replaced")]
    Declined,
    /// It was asked to [stop](crate::Watch::stop): how things stand, and what stays charged.
    #[error("interrupted{}{_0}", if _0.is_empty() { "" } else { ": " })]
    Stopped(String),
    /// A release of the same name is there, and may not be replaced.
    #[error("{} exists, and is replaced only where that is asked for", visible(&.0.display().to_string()))]
    Exists(PathBuf),
    /// The spec names no data, and none was given.
    #[error("the spec names no data, and none was given")]
    NoData,
    /// A release is signed, and no key was given.
    #[error("a release is signed, and no key was given")]
    NoKey,
    /// The key has a passphrase, and none was given.
    #[error("{}: the key has a passphrase, and none was given", visible(&.0.display().to_string()))]
    NoPassphrase(PathBuf),
    /// The search may not be that long.
    #[error("effort is at most {}, not {_0}", crate::spec::MOST_EFFORT)]
    Effort(u32),
    /// The files, the data or the machine are at fault.
    #[error("{0}")]
    Wrong(String),
    /// No statement, no noise, no room: whatever else keeps a spec from being a release.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl MakeError {
    /// What is wrong with a file, which is named unless the error does so.
    pub(crate) fn about(path: &Path, error: &dyn std::error::Error) -> MakeError {
        let (name, text) = (path.display().to_string(), error.to_string());
        MakeError::Wrong(match text.contains(&name) {
            true => text.replace(&name, &visible(&name)),
            false => format!("{}: {text}", visible(&name)),
        })
    }
}

/// A bound is no mishap.
fn by_bound(e: &LedgerError) -> bool {
    matches!(e, LedgerError::Bound { .. } | LedgerError::Currency { .. })
}

impl From<CompileError> for MakeError {
    fn from(e: CompileError) -> MakeError {
        match e {
            CompileError::OverBound { .. } => MakeError::Refused(e.to_string()),
            CompileError::Ledger(why) => why.into(),
            // Somebody else was charged between the look at the ledger and this charge.
            CompileError::Measure(MeasureError::Sink(why)) if why.downcast_ref().is_some_and(by_bound) => {
                MakeError::Refused(why.to_string())
            }
            CompileError::Unconfirmed(errors) => MakeError::Spec(errors),
            CompileError::Declined => MakeError::Declined,
            CompileError::Stopped(note) => MakeError::Stopped(note),
            CompileError::NoData => MakeError::NoData,
            CompileError::Seal(SealError::Exists(path)) => MakeError::Exists(path),
            other => MakeError::Other(Box::new(other)),
        }
    }
}

impl From<LedgerError> for MakeError {
    fn from(e: LedgerError) -> MakeError {
        if by_bound(&e) { MakeError::Refused(e.to_string()) } else { MakeError::Other(Box::new(e)) }
    }
}
