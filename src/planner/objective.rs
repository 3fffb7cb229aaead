//! What a plan makes small: the total variance, the worst cell's, or the distance to targets.
//!
//! For a recovery that does not depend on the budgets the last two are the convex programme of [`super::minimax`], with one row for
//! every kind of cell of every table: see [`super::linearised`]. Components measured one by one are recovered in one way only; for whole tables
//! budgets and recovery alternate ([`super::alternate`]).

pub use crate::plan::{Objective, Target};

/// The proof that a plan is close to the best for its objective, before scales are rounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// What was minimised, for people.
    pub of: &'static str,
    /// The plan's value.
    pub value: f64,
    /// No plan of this strategy at this budget has a smaller value.
    pub bound: f64,
    /// What nothing of wider families comes below, for people, and the bound; trees of precisions have some.
    pub wider: [Option<(&'static str, f64)>; 2],
}

impl Certificate {
    /// Of what, its value and the bound.
    pub(crate) fn new(of: &'static str, value: f64, bound: f64) -> Certificate {
        Certificate { of, value, bound, wider: [None; 2] }
    }

    /// The relative duality gap.
    pub fn gap(&self) -> f64 {
        (self.value / self.bound - 1.0).max(0.0)
    }
}

/// A target counts as met within what rounding a scale costs.
pub(crate) const MET: f64 = 1e-6;

/// A table without a target keeps the standard error of its worst cell within this factor of what the plan of least total variance
/// gives it at the same budget. Else it would pay for others' targets without limit, and nobody would have asked for that.
pub const CARE: f64 = 4.0;
