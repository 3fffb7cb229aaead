//! What a plan makes small: the total variance, the worst cell's, or the distance to targets.
//!
//! For a recovery that does not depend on the budgets the last two are the convex programme of [`super::minimax`], with one row for
//! every kind of cell of every table: see [`super::reading`]. Components measured one by one are recovered in one way only; for whole tables
//! budgets and recovery take turns ([`super::turns`]).

pub use crate::plan::{Objective, Target};

use super::predict::Prediction;
use super::{Planned, Request};

/// The proof that a plan is close to the best for its objective, before scales are rounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// What was minimised, for people.
    pub of: &'static str,
    /// The plan's value.
    pub value: f64,
    /// No plan of this strategy at this budget has a smaller value.
    pub bound: f64,
}

impl Certificate {
    /// The relative duality gap.
    pub fn gap(&self) -> f64 {
        (self.value / self.bound - 1.0).max(0.0)
    }
}

/// What strategies are compared by. `exact` is the largest ratio of a squared margin to its target's, where it is known from the law of the
/// noise; normal errors are assumed otherwise.
pub fn score(request: &Request, prediction: &Prediction, exact: Option<f64>) -> f64 {
    let worst_by = |scale: &dyn Fn(usize) -> f64| -> f64 {
        prediction.tables.iter().enumerate().map(|(t, s)| s.max * scale(t)).fold(0.0, f64::max)
    };
    match request.objective {
        Objective::Total => prediction.weighted_total,
        Objective::Worst => worst_by(&|t| request.workload[t].weight.to_f64()),
        Objective::Targets => {
            let normal = || worst_by(&|t| request.target_variance(t).map_or(0.0, f64::recip));
            let ratio = exact.unwrap_or_else(normal);
            // Met is met: then the total decides. Missed plans come after all that meet their targets.
            if ratio <= 1.0 + MET { prediction.weighted_total } else { 1e300 * (1.0 + libm::log(ratio)) }
        }
    }
}

/// A target counts as met within what rounding a scale costs.
pub const MET: f64 = 1e-6;

impl Planned {
    /// What this plan is compared by, see [`score`].
    pub fn score(&self, request: &Request) -> f64 {
        score(request, &self.prediction, self.ratio)
    }
}

impl Request {
    /// The variance at which an error just meets the target of workload table `t`: a normal one, unless its tails are known.
    pub fn target_variance(&self, t: usize) -> Option<f64> {
        let tail = self.tails.get(t).copied().unwrap_or(1.0);
        self.targets.get(t).copied().flatten().map(|target| target.variance() * tail)
    }
}

/// A table without a target keeps the standard error of its worst cell within this factor of what the plan of least total variance
/// gives it at the same budget. Else it would pay for others' targets without limit, and nobody would have asked for that.
pub const CARE: f64 = 4.0;
