//! Why something could not be recovered.

use super::SourceError;
use crate::law::LawError;

/// Why something could not be recovered.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// Nothing that was measured tells this table.
    #[error("the release does not hold {0}")]
    NotHeld(String),
    /// The rows that were measured leave it open.
    #[error("the queries that were measured do not determine {0}: it is no combination of them")]
    NotDetermined(String),
    /// The measurements could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A measurement has another number of values than its block.
    #[error("measurement {0} has {1} values where its block has {2}")]
    WrongLength(usize, usize, usize),
    /// The noise has no law.
    #[error(transparent)]
    Law(#[from] LawError),
    /// More work than anybody wants to wait for.
    #[error("{0} takes more work than a reader spends on a file of this size")]
    TooMuch(String),
    /// The plan is not one this program can recover from.
    #[error("{0}")]
    Plan(String),
}
