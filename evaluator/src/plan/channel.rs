//! A channel: one thing that rows add up to, what is asked of it and what is measured of it.
//!
//! All channels of a plan share the cells, the noise law and the budget; their costs add up, because one unit moves all of them. Planning,
//! prediction and recovery look at one channel at a time: at a plan of it alone, see [`super::Plan::alone`].

use super::{Block, Measurement, Neighbours, Noise, Table};
use crate::cube::{Cuboid, NoValue, Quantity, Summand};
use crate::exact::Rational;
#[cfg(feature = "faults")]
use crate::planted::{self, Planted};
use std::sync::Arc;

/// What rows add up to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    /// Rows: each adds one to its cell. Of a unit no more than `max_rows` count.
    Rows,
    /// The units that have more rows than count: each adds one, and has no cell but the total.
    CutUnits,
    /// What rows have of a number: each adds its distance from the middle, in halves of a step, to its cell.
    Sum(Arc<Quantity>),
    /// The rows that have a value of a number: each adds one to its cell.
    Valued(Arc<Quantity>),
    /// The squares of what rows have of a number: each adds twice that of its distance from the middle, in halves of a step, less the largest
    /// square, so that it is between minus and plus that.
    Squares(Arc<Quantity>),
    /// The rows whose value of a number is below the least and was moved to it: each adds one, and has no cell but the total.
    Below(Arc<Quantity>),
    /// The same of values above the largest.
    Above(Arc<Quantity>),
}

/// How far a unit moves what is added up. The proofs are in [`super::cost`].
impl Subject {
    /// The most that one unit adds to the cells, all together.
    pub fn most(&self, max_rows: u32) -> u128 {
        #[cfg(feature = "faults")]
        let max_rows = if planted::on(Planted::OneRow) { 1 } else { max_rows };
        match self {
            Subject::Rows | Subject::Valued(_) | Subject::Below(_) | Subject::Above(_) => max_rows.into(),
            Subject::CutUnits => 1,
            Subject::Sum(quantity) => u128::from(max_rows) * u128::from(quantity.reach()),
            Subject::Squares(quantity) => u128::from(max_rows) * u128::from(quantity.square_reach()),
        }
    }

    /// Whether a unit may add less than the most, and so change one cell alone: where it may own several rows it may own fewer, and a row
    /// that has a value of a number may be changed to one that has none.
    pub(crate) fn may_be_less(&self, max_rows: u32) -> bool {
        #[cfg(feature = "faults")]
        if planted::on(Planted::LostValues) && matches!(self, Subject::Valued(_)) {
            return self.most(max_rows) > 1;
        }
        match self {
            Subject::Rows => self.most(max_rows) > 1,
            Subject::CutUnits
            | Subject::Sum(_)
            | Subject::Valued(_)
            | Subject::Squares(_)
            | Subject::Below(_)
            | Subject::Above(_) => true,
        }
    }

    /// The way of a unit that changes, in ways of a unit that comes or goes. `signed`: two cells may move one integer in opposite
    /// directions. `None` when it does not fit.
    pub(crate) fn changed(&self, neighbours: Neighbours, noise: Noise, signed: bool) -> Option<u128> {
        match (self, neighbours) {
            (_, Neighbours::AddRemove) | (Subject::CutUnits, Neighbours::Substitute) => Some(1),
            // Of a number between 0 and `max_rows` another.
            (Subject::Below(_) | Subject::Above(_), Neighbours::Substitute) => Some(1),
            // A value may go from one end to the other in one cell.
            (Subject::Sum(_) | Subject::Squares(_), Neighbours::Substitute) => noise.powered(2),
            // Two rows in a table are in different cells; in signed sums they may be opposite.
            (Subject::Rows | Subject::Valued(_), Neighbours::Substitute) if signed => noise.powered(2),
            (Subject::Rows | Subject::Valued(_), Neighbours::Substitute) => Some(2),
        }
    }
}

impl Subject {
    /// What people call it.
    pub const fn name(&self) -> &'static str {
        match self {
            Subject::Rows => "rows",
            Subject::CutUnits => "cut units",
            Subject::Sum(_) => "sums",
            Subject::Valued(_) => "rows with a value",
            Subject::Squares(_) => "sums of squares",
            Subject::Below(_) => "rows moved to low",
            Subject::Above(_) => "rows moved to high",
        }
    }

    /// Whether it is spread over cells, so that exact tables and empty cells say something of it.
    pub fn has_cells(&self) -> bool {
        match self {
            Subject::Rows | Subject::Sum(_) | Subject::Valued(_) | Subject::Squares(_) => true,
            Subject::CutUnits | Subject::Below(_) | Subject::Above(_) => false,
        }
    }
}

impl Subject {
    /// Whether it is the rows that were moved to one end of a number.
    pub fn is_of_an_end(&self) -> bool {
        matches!(self, Subject::Below(_) | Subject::Above(_))
    }

    /// The number that is added up or asked for.
    pub fn quantity(&self) -> Option<&Arc<Quantity>> {
        match self {
            Subject::Sum(quantity)
            | Subject::Valued(quantity)
            | Subject::Squares(quantity)
            | Subject::Below(quantity)
            | Subject::Above(quantity) => Some(quantity),
            Subject::Rows | Subject::CutUnits => None,
        }
    }
}

impl Subject {
    /// What figures over rows it tells, if any.
    pub(crate) fn summand(&self) -> Option<Summand> {
        match self {
            Subject::Rows => Some(Summand::Rows),
            Subject::Sum(quantity) => Some(Summand::Sum(quantity.clone())),
            Subject::Valued(quantity) => Some(Summand::Valued(quantity.clone())),
            Subject::Squares(quantity) => Some(Summand::Squares(quantity.clone())),
            Subject::CutUnits | Subject::Below(_) | Subject::Above(_) => None,
        }
    }
}

/// What is added up for tables of a number, each with what it is asked for: the number; where cells may be empty, the rows that have it; and, for
/// variances, its squares, which weigh as much as itself, both in units of the largest that a row may add.
pub fn subjects(quantity: &Arc<Quantity>, tables: &[Table], square: bool) -> Vec<(Subject, Vec<Table>)> {
    let mut all = vec![(Subject::Sum(quantity.clone()), tables.to_vec())];
    if quantity.missing == NoValue::Skip {
        all.push((Subject::Valued(quantity.clone()), valued(quantity, tables)));
    }
    if square {
        all.push((Subject::Squares(quantity.clone()), tables.to_vec()));
    }
    all
}

/// What tables of sums want of the number of rows that have a value: as much as sums elsewhere want of all rows; and where they do not need it,
/// as much as of themselves, for means and for that number itself.
fn valued(quantity: &Quantity, tables: &[Table]) -> Vec<Table> {
    let stakes = quantity.stakes().filter(|(count, _)| !count.is_zero());
    let times = stakes.and_then(|(count, sum)| count.checked_div(sum)).unwrap_or(Rational::ONE);
    let weight = |t: &Table| t.weight.checked_mul(times).unwrap_or(t.weight);
    tables.iter().map(|t| Table { weight: weight(t), ..t.clone() }).collect()
}

/// What is asked and measured of one subject.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// What it counts.
    pub subject: Subject,
    /// The tables the agency asked for.
    pub workload: Vec<Table>,
    /// What is measured, in the order of the release file.
    pub measurements: Vec<Measurement>,
    /// Beside rows: the tables of it that are published without noise, which are some of the plan's exact tables. Those of rows are the plan's own.
    pub exact: Vec<Cuboid>,
}

/// What a plan without rows says of them.
pub(super) static NO_ROWS: Channel =
    Channel { subject: Subject::Rows, workload: Vec::new(), measurements: Vec::new(), exact: Vec::new() };

impl Channel {
    /// The channel of rows.
    pub fn rows(workload: Vec<Table>, measurements: Vec<Measurement>) -> Channel {
        Channel { subject: Subject::Rows, workload, measurements, exact: Vec::new() }
    }

    /// The channel of cut units: their number, with noise of this scale.
    pub fn cut_units(scale: Rational) -> Channel {
        Channel::total(Subject::CutUnits, scale)
    }

    /// The channel of what has no cell but the total: one integer.
    pub(crate) fn total(subject: Subject, scale: Rational) -> Channel {
        let (all, block) = (Cuboid::total(), Block::Table(Cuboid::total()));
        Channel {
            subject,
            workload: vec![Table::new(all, Rational::ONE)],
            measurements: vec![Measurement { block, scale }],
            exact: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::MeasuredFrom;

    /// Of values between 100 and 300, measured from 200, the number of rows is worth (400/600)², and a sum (200/600)².
    #[test]
    fn rows_with_a_value_weigh_what_sums_want_of_them() {
        let two = Rational::whole(2);
        let tables = [Table::new(Cuboid::total(), two)];
        let mut quantity = Quantity { low: 100, high: 300, missing: NoValue::Skip, ..Quantity::income() };
        let weights = |quantity: &Quantity| {
            let all = subjects(&Arc::new(quantity.clone()), &tables, true);
            all.iter().map(|(_, tables)| tables[0].weight).collect::<Vec<_>>()
        };
        assert_eq!(weights(&quantity), [two, Rational::whole(8), two]);
        // Where the middle is zero, and where a sum is measured from there, sums want nothing of it.
        quantity.low = -300;
        assert_eq!(weights(&quantity), [two; 3]);
        (quantity.low, quantity.from) = (100, MeasuredFrom::Zero);
        assert_eq!(weights(&quantity), [two; 3]);
        quantity.missing = NoValue::Stop;
        assert_eq!(weights(&quantity), [two; 2]);
    }
}
