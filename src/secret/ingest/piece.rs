//! What a thread reports of the piece of a file that it coded.

use super::error::{Fault, IngestError};

/// A row that cannot be used: where in its piece, and why. Never with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bad {
    /// Which row of the piece, from 1.
    pub row: u64,
    /// In text: the byte of the piece at which its record begins.
    pub offset: Option<u64>,
    pub what: What,
}

/// What is wrong with a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    Ragged {
        expected: usize,
        found: usize,
    },
    /// A quote that nothing closes.
    Unclosed,
    Cell {
        column: String,
        fault: Fault,
    },
}

/// Why a piece was not read to its end.
pub(super) enum Stop {
    Row(Bad),
    File(IngestError),
}

impl From<Bad> for Stop {
    fn from(bad: Bad) -> Stop {
        Stop::Row(bad)
    }
}

impl From<IngestError> for Stop {
    fn from(error: IngestError) -> Stop {
        Stop::File(error)
    }
}
