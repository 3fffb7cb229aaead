//! Synthetic records for the page: drawn on its one thread, and handed over piece by piece.

use margins::records::{Options, RecordsReport};
use margins::{Release, Watch};
use std::collections::VecDeque;

/// Records as CSV, in pieces of which the page takes one after the other: in one, they would be several times in memory.
#[derive(Default)]
pub struct Pieces(VecDeque<String>);

impl Pieces {
    /// No records.
    pub const fn new() -> Pieces {
        Pieces(VecDeque::new())
    }

    /// Draws as many records as the release's total, or as are wanted. What was drawn before goes first.
    pub fn draw(
        &mut self,
        release: &Release,
        rows: Option<u64>,
        seed: u64,
        watch: &Watch,
    ) -> Result<RecordsReport, String> {
        self.0.clear();
        let options = Options { rows, seed, threads: 1 };
        let made = release.records(&options, watch).map_err(|e| e.to_string())?;
        self.0.extend(made.csv());
        Ok(made.report().clone())
    }

    /// The next piece; `None` at the end.
    pub fn next(&mut self) -> Option<String> {
        self.0.pop_front()
    }
}
