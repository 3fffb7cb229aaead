//! A table of exact counts, which must not leave.

use std::fmt;
use zeroize::Zeroizing;

/// Exact counts of one table: private until noise is added.
///
/// There is no way to read them outside `secret`, no `Serialize`, and `Debug` shows nothing; the memory
/// is wiped on drop. Measuring takes the counts by value. Signed, because what is made of them in place
/// (differences, noise) is.
pub struct Counts {
    cells: Zeroizing<Vec<i64>>,
}

impl Counts {
    pub(super) fn zero(cells: usize) -> Counts {
        Counts { cells: Zeroizing::new(vec![0; cells]) }
    }

    pub(super) fn cells_mut(&mut self) -> &mut [i64] {
        &mut self.cells
    }

    pub(super) fn cells(&self) -> &[i64] {
        &self.cells
    }

    /// The cells, row-major, still wiped on drop.
    pub(in crate::secret) fn into_cells(self) -> Zeroizing<Vec<i64>> {
        self.cells
    }
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counts { <private> }")
    }
}
