//! A channel: one thing that rows add up to, what is asked of it and what is measured of it.
//!
//! All channels of a plan share the cells, the noise law and the budget; their costs add up, because one unit moves all of them. Planning,
//! prediction and recovery look at one channel at a time: at a plan of it alone, see [`super::Plan::alone`].

use super::{Block, Measurement, Neighbours, Noise, Table};
use crate::cube::Cuboid;
use crate::exact::Rational;

/// What rows add up to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    /// Rows: each adds one to its cell. Of a unit no more than `max_rows` count.
    Rows,
    /// The units that have more rows than count: each adds one, and has no cell but the total.
    CutUnits,
}

/// How far a unit moves what is added up. The proofs are in [`super::cost`].
impl Subject {
    /// The most that one unit adds to the cells, all together.
    pub fn most(&self, max_rows: u32) -> u128 {
        match self {
            Subject::Rows => max_rows.into(),
            Subject::CutUnits => 1,
        }
    }

    /// The way of a unit that changes, in ways of a unit that comes or goes. `signed`: two cells may move one integer in opposite
    /// directions. `None` when it does not fit.
    pub(crate) fn changed(&self, neighbours: Neighbours, noise: Noise, signed: bool) -> Option<u128> {
        match (self, neighbours) {
            (_, Neighbours::AddRemove) | (Subject::CutUnits, Neighbours::Substitute) => Some(1),
            // Two rows in a table are in different cells; in signed sums they may be opposite.
            (Subject::Rows, Neighbours::Substitute) if signed => noise.powered(2),
            (Subject::Rows, Neighbours::Substitute) => Some(2),
        }
    }
}

impl Subject {
    /// What people call it.
    pub const fn name(&self) -> &'static str {
        match self {
            Subject::Rows => "rows",
            Subject::CutUnits => "cut units",
        }
    }

    /// Whether it is spread over cells, so that exact tables and empty cells say something of it.
    pub fn has_cells(&self) -> bool {
        match self {
            Subject::Rows => true,
            Subject::CutUnits => false,
        }
    }
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
}

/// What a plan without rows says of them.
pub(super) static NO_ROWS: Channel =
    Channel { subject: Subject::Rows, workload: Vec::new(), measurements: Vec::new() };

impl Channel {
    /// The channel of rows.
    pub fn rows(workload: Vec<Table>, measurements: Vec<Measurement>) -> Channel {
        Channel { subject: Subject::Rows, workload, measurements }
    }

    /// The channel of cut units: their number, with noise of this scale.
    pub fn cut_units(scale: Rational) -> Channel {
        let (all, block) = (Cuboid::total(), Block::Table(Cuboid::total()));
        Channel {
            subject: Subject::CutUnits,
            workload: vec![Table::new(all, Rational::ONE)],
            measurements: vec![Measurement { block, scale }],
        }
    }
}
