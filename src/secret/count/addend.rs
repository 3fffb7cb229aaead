//! What rows add to the cells of a table beside one: what they have of a number, or one where they have it.

use super::words::Place;
use crate::cube::{MeasuredFrom, Quantity};
use crate::plan::{Subject, subjects};
use crate::planner::capacity;
#[cfg(feature = "faults")]
use crate::planted::{self, Planted};
use crate::secret::ingest::beyond;
use crate::spec::{AmountSpec, Spec};

/// One thing that rows add up to, by their codes in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::secret) struct Addend {
    /// The columns of numbers stand behind those of the dimensions, in the order of the spec.
    pub column: usize,
    /// The code of the largest value: steps between the bounds. Behind it are the codes of rows without a value, and, where these are told apart, of values
    /// below the least and above the largest: [`beyond`].
    most: u64,
    what: What,
    part: Part,
}

/// What a cell has of a sum: it has 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The sum.
    All,
    /// Where that of as many rows as plans have room for may not fit, its remainder by 2^64, between -2^63 and 2^63.
    Remainder,
    /// Beside that, the sum of how often 2^24 is in what each row adds, rounded down.
    Times,
}

/// See [`Part::Times`].
const TIMES: u32 = 24;

/// A sum from the remainder and the times of it. Of at most 2^40 rows each adds less than 2^24 more than its times say, so of all these together no more than the remainder is
/// left to be known.
pub(in crate::secret) fn joined(remainder: i64, times: i64) -> i128 {
    let known = i128::from(times) << TIMES;
    known + i128::from((remainder as u64).wrapping_sub(known as u64))
}

/// What is told of rows that somebody else added up.
#[derive(Clone, Copy)]
pub(super) struct Totals {
    /// How many have a value.
    pub(super) valued: i64,
    /// Their steps above the least.
    pub(super) steps: i64,
    /// The squares of these.
    pub(super) squares: i64,
    /// How many had a value below the least, and above the largest.
    pub(super) moved: [i64; 2],
}

/// What is added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// Distances from the origin: so many times the steps above the least value, and what that has itself.
    Values { times: i64, least: i64 },
    /// Twice their squares, less the largest.
    Squares,
    /// One for each row that has a value.
    Rows,
    /// One for each row whose value is below the least.
    Below,
    /// One for each row whose value is above the largest.
    Above,
}

impl What {
    fn of_values(quantity: &Quantity) -> What {
        match quantity.from {
            MeasuredFrom::Middle => What::Values { times: 2, least: -(quantity.steps() as i64) },
            MeasuredFrom::Zero => {
                What::Values { times: 1, least: quantity.low / quantity.step.max(1) as i64 }
            }
        }
    }
}

impl Addend {
    /// What a channel adds up. `None` where that is no number.
    pub(crate) fn of_subject(subject: &Subject, column: usize) -> Option<Addend> {
        let (quantity, what) = match subject {
            Subject::Sum(quantity) => (quantity, What::of_values(quantity)),
            Subject::Squares(quantity) => (quantity, What::Squares),
            Subject::Valued(quantity) => (quantity, What::Rows),
            Subject::Below(quantity) => (quantity, What::Below),
            Subject::Above(quantity) => (quantity, What::Above),
            Subject::Rows | Subject::CutUnits => return None,
        };
        let part = if capacity::in_parts(subject) { Part::Remainder } else { Part::All };
        Some(Addend { column, most: quantity.steps(), what, part })
    }

    /// What is added up beside it, where one sum does not fit 64 bits.
    pub(in crate::secret) fn times(self) -> Option<Addend> {
        (self.part == Part::Remainder).then_some(Addend { part: Part::Times, ..self })
    }

    /// Whether its sums are those of rows in any table, but for a multiple of 2^64.
    pub(super) fn is_sum(self) -> bool {
        self.part != Part::Times
    }

    /// Adds to a sum. `None` beyond 64 bits.
    pub(super) fn plus(self, sum: i64, more: i64) -> Option<i64> {
        if self.part == Part::Remainder { Some(sum.wrapping_add(more)) } else { sum.checked_add(more) }
    }

    /// All of a spec, whose dimensions are so many.
    pub(crate) fn all(spec: &Spec, dimensions: usize) -> Vec<Addend> {
        let of = |(at, amount): (usize, &AmountSpec)| {
            let quantity = &amount.quantity;
            let moved = [Subject::Below(quantity.clone()), Subject::Above(quantity.clone())];
            let counted = amount.clamping.is_some();
            let moved = moved.into_iter().filter(move |_| counted);
            let all =
                subjects(quantity, &amount.tables, amount.square).into_iter().map(|(subject, _)| subject);
            let all =
                all.chain(moved).filter_map(move |subject| Addend::of_subject(&subject, dimensions + at));
            all.flat_map(|addend| [Some(addend), addend.times()]).flatten()
        };
        spec.summed().enumerate().flat_map(of).collect()
    }

    /// What rows of which this is told add. `None` beyond 64 bits.
    pub(super) fn of_totals(self, totals: &Totals) -> Option<i64> {
        let Totals { valued, steps, squares, moved: [below, above] } = *totals;
        let [valued, steps, squares, below, above, reach] =
            [valued, steps, squares, below, above, i64::try_from(self.most).ok()?].map(i128::from);
        let added = match self.what {
            What::Values { times, least } => i128::from(times) * steps + i128::from(least) * valued,
            What::Squares => {
                let of_steps = steps.checked_mul(8 * reach)?;
                let of_rows = valued.checked_mul(reach * reach)?;
                (8 * squares).checked_sub(of_steps)?.checked_add(of_rows)?
            }
            What::Rows => valued,
            What::Below => below,
            What::Above => above,
        };
        match self.part {
            Part::All => i64::try_from(added).ok(),
            Part::Remainder => Some(added as i64),
            Part::Times => i64::try_from(added >> TIMES).ok(),
        }
    }

    /// The least and the most that a row can add: its ends, its middle, and what no value and values beyond the ends add.
    pub(super) fn span(self) -> (i64, i64) {
        let [below, above] = beyond(self.most);
        let all = [0, self.most / 2, self.most, self.most + 1, below, above].map(|code| self.of(code));
        all.iter().fold((all[0], all[0]), |(least, most), &added| (least.min(added), most.max(added)))
    }

    /// Adds what each of these rows adds to its place in words of which each row has so many. Nearly always all have a value within the bounds.
    pub(super) fn fill(self, adds: &mut [u64], words: usize, place: Place, codes: &[u32]) {
        // Of no more than 2^24 steps nothing overflows. The sign of what is left of them says that a code is larger.
        let (reach, most) = (self.most as i64, self.most as u32);
        let left = codes.iter().fold(0, |left, &code| left | most.wrapping_sub(code));
        let within = left.cast_signed() >= 0;
        match self.what {
            _ if self.part == Part::Times => place.fill(adds, words, codes, |code| self.of(code.into())),
            What::Values { times, least } if within => {
                place.fill(adds, words, codes, |code| times.wrapping_mul(code.into()).wrapping_add(least));
            }
            What::Squares if within => place.fill(adds, words, codes, |code| {
                let twice = (2 * i64::from(code)).wrapping_sub(reach);
                twice.wrapping_mul(twice).wrapping_mul(2).wrapping_sub(reach.wrapping_mul(reach))
            }),
            _ => place.fill(adds, words, codes, |code| self.of(code.into())),
        }
    }

    /// What a row with this code adds: nothing without a value. No more than 2^53.
    pub(crate) fn of(self, code: u64) -> i64 {
        let (mut code, mut moved) = (code, [0, 0]);
        if code > self.most {
            let [below, above] = beyond(self.most);
            (code, moved) = match code {
                _ if code == below => (0, [1, 0]),
                #[cfg(feature = "faults")]
                _ if code == above && planted::on(Planted::ClampedSums) => (50 * self.most, [0, 1]),
                _ if code == above => (self.most, [0, 1]),
                _ => return 0,
            };
        }
        let (code, reach) = (code as i64, self.most as i64);
        let twice = 2 * code;
        let added = match self.what {
            What::Values { times, least } => times * code + least,
            What::Squares => 2 * (twice - reach) * (twice - reach) - reach * reach,
            What::Rows => 1,
            What::Below => moved[0],
            What::Above => moved[1],
        };
        if self.part == Part::Times { added >> TIMES } else { added }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_beyond_the_span() {
        for (most, times, least) in
            (0..70u64).flat_map(|most| [(most, 2, -(most as i64)), (most, 1, 5), (most, 1, -7)])
        {
            let all = [What::Values { times, least }, What::Squares, What::Rows, What::Below, What::Above];
            for (what, part) in
                all.into_iter().flat_map(|what| [Part::All, Part::Times].map(|part| (what, part)))
            {
                let addend = Addend {
                    column: 0,
                    most: if part == Part::Times { most << 17 } else { most },
                    what,
                    part,
                };
                let (least, most) = addend.span();
                assert!(
                    (0..addend.most + 5)
                        .step_by(if part == Part::Times { 1009 } else { 1 })
                        .all(|code| (least..=most).contains(&addend.of(code))),
                    "{addend:?}"
                );
            }
        }
    }
}
