//! Why a release does not answer a linear query.

use crate::law::LawError;
use crate::recover::RecoverError;

/// Why a query has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// No released table tells the query's dimensions together.
    #[error("this release cannot answer that: {reason}\n{}{}", nearest_text(.nearest), suggestion_text(.suggestion))]
    NotHeld {
        /// What is missing.
        reason: String,
        /// Tables that come closest, nearest first.
        nearest: Vec<String>,
        /// How the question would have to change to be answered.
        suggestion: Option<String>,
    },
    /// The table could not be recovered.
    #[error(transparent)]
    Recover(#[from] RecoverError),
    /// The error has no law.
    #[error(transparent)]
    Law(#[from] LawError),
    /// Too many classes of cells to tell apart.
    #[error("the query is too intricate: its columns tell more than 2^20 classes of cells apart")]
    Intricate,
    /// More rows than can be shown.
    #[error("the answer would have {0} rows; the most is {MOST_ROWS}")]
    TooManyRows(u64),
}

fn nearest_text(nearest: &[String]) -> String {
    match nearest {
        [] => "it holds no table of any of these dimensions".into(),
        some => format!("nearest tables it does hold: {}", some.join("; ")),
    }
}

fn suggestion_text(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map_or(String::new(), |text| format!("\nit answers the question with {text}"))
}

/// The most groups of one query.
pub const MOST_ROWS: u64 = 1 << 24;
