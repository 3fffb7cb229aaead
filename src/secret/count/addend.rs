//! What rows add to the cells of a table beside one: what they have of a number, or one where they have it.

use crate::plan::{Subject, subjects};
use crate::spec::{AmountSpec, Spec};

/// One thing that rows add up to, by their codes in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::secret) struct Addend {
    /// The columns of numbers stand behind those of the dimensions, in the order of the spec.
    pub column: usize,
    /// The code of the largest value: steps above the least. A row without a value has the code behind it.
    reach: u64,
    what: What,
}

/// What is added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// Distances from the middle, in halves of a step.
    Values,
    /// Twice their squares, less the largest.
    Squares,
    /// One for each row that has a value.
    Rows,
}

impl Addend {
    /// What a channel adds up. `None` where that is no number.
    pub(crate) fn of_subject(subject: &Subject, column: usize) -> Option<Addend> {
        let (quantity, what) = match subject {
            Subject::Sum(quantity) => (quantity, What::Values),
            Subject::Squares(quantity) => (quantity, What::Squares),
            Subject::Valued(quantity) => (quantity, What::Rows),
            Subject::Rows | Subject::CutUnits => return None,
        };
        Some(Addend { column, reach: quantity.reach(), what })
    }

    /// All of a spec, whose dimensions are so many.
    pub(crate) fn all(spec: &Spec, dimensions: usize) -> Vec<Addend> {
        let of = |(at, amount): (usize, &AmountSpec)| {
            let all = subjects(&amount.quantity, &amount.tables, amount.square);
            all.into_iter().filter_map(move |(subject, _)| Addend::of_subject(&subject, dimensions + at))
        };
        spec.summed().enumerate().flat_map(of).collect()
    }

    /// What rows of which so many have a value add, that have so many steps above the least, and so many squares of these. `None` beyond 64 bits.
    pub(super) fn of_totals(self, [valued, steps, squares]: [i64; 3]) -> Option<i64> {
        let [valued, steps, squares, reach] =
            [valued, steps, squares, i64::try_from(self.reach).ok()?].map(i128::from);
        let added = match self.what {
            What::Values => 2 * steps - reach * valued,
            What::Squares => {
                let of_steps = steps.checked_mul(8 * reach)?;
                let of_rows = valued.checked_mul(reach * reach)?;
                (8 * squares).checked_sub(of_steps)?.checked_add(of_rows)?
            }
            What::Rows => valued,
        };
        i64::try_from(added).ok()
    }

    /// What a row with this code adds: nothing without a value. Both are at most 2^24 but for codes of rows without one.
    pub(crate) fn of(self, code: u64) -> i64 {
        if code > self.reach {
            return 0;
        }
        let (twice, reach) = (2 * code as i64, self.reach as i64);
        match self.what {
            What::Values => twice - reach,
            What::Squares => 2 * (twice - reach) * (twice - reach) - reach * reach,
            What::Rows => 1,
        }
    }
}
