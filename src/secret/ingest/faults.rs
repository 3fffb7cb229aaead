//! Everything that is wrong with the rows, counted. As private as the rows: for their holder's eyes, and only where that is asked for.

use super::error::Fault;

/// Where something was found first: the piece of the data, the row of the piece from 1, and in text the byte of the file where the row begins.
pub(in crate::secret) type First = (usize, u64, Option<u64>);

/// One thing that is wrong with a column.
pub(in crate::secret) struct Found {
    pub fault: Fault,
    pub rows: u64,
    pub first: First,
}

/// What one thread has found.
#[derive(Default)]
pub(in crate::secret) struct Faults {
    /// The piece that is being read, and where its bytes begin in the file.
    piece: usize,
    offset: Option<u64>,
    /// By the place in which a column is complained of.
    pub columns: Vec<Vec<Found>>,
    /// Rows that have too few or too many cells.
    pub ragged: Option<(u64, First)>,
    /// Where a quote is opened that nothing closes.
    pub unclosed: Option<First>,
    /// Rows with which anything is wrong.
    pub rows: u64,
}

impl Faults {
    /// Reading goes on with this piece.
    pub(crate) fn begin(&mut self, piece: usize, offset: Option<u64>) {
        (self.piece, self.offset) = (piece, offset);
    }

    fn first(&self, row: u64, offset: Option<u64>) -> First {
        (self.piece, row, offset.and_then(|at| Some(self.offset? + at)))
    }

    /// A row has not as many cells as there are columns.
    pub(crate) fn ragged(&mut self, row: u64, offset: Option<u64>) {
        let first = self.first(row, offset);
        self.rows += 1;
        let (rows, earliest) = self.ragged.unwrap_or((0, first));
        self.ragged = Some((rows + 1, earliest.min(first)));
    }

    /// A quoted cell of a row goes on to the end of the file.
    pub(crate) fn unclosed(&mut self, row: u64, offset: Option<u64>) {
        let first = self.first(row, offset);
        self.rows += 1;
        self.unclosed = Some(self.unclosed.map_or(first, |earlier| earlier.min(first)));
    }

    /// Something is wrong with a cell.
    pub(crate) fn cell(&mut self, column: usize, fault: Fault, row: u64, offset: Option<u64>) {
        let first = self.first(row, offset);
        self.add(column, Found { fault, rows: 1, first });
    }

    fn add(&mut self, column: usize, found: Found) {
        while self.columns.len() <= column {
            self.columns.push(Vec::new());
        }
        let Some(all) = self.columns.get_mut(column) else { return };
        match all.iter_mut().find(|known| known.fault == found.fault) {
            Some(known) => {
                known.rows += found.rows;
                known.first = known.first.min(found.first);
            }
            None => all.push(found),
        }
    }

    /// Adds what another thread has found.
    pub(crate) fn merge(&mut self, other: Faults) {
        self.rows += other.rows;
        self.ragged = match (self.ragged, other.ragged) {
            (Some((a, first)), Some((b, second))) => Some((a + b, first.min(second))),
            (one, other) => one.or(other),
        };
        self.unclosed = [self.unclosed, other.unclosed].into_iter().flatten().min();
        for (column, found) in other.columns.into_iter().enumerate() {
            found.into_iter().for_each(|found| self.add(column, found));
        }
    }
}
