//! What a plan makes small: the total variance, the worst cell's, or the distance to targets.
//!
//! For a recovery that does not depend on the budgets the last two are the convex programme of [`super::minimax`], with one row for
//! every kind of cell of every table: see [`super::linearised`]. Components measured one by one are recovered in one way only; for whole tables
//! budgets and recovery alternate ([`super::alternate`]).

use crate::plan::{Measurement, Plan, noise_variance};
pub(crate) use crate::plan::{Objective, Target};

/// Among what a plan is close to the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Among {
    /// All plans that measure these blocks.
    Plan,
    /// All that measure whole tables, whichever.
    Tables,
    /// Every mechanism with Gaussian noise, whatever it measures.
    Gaussian,
}

impl Among {
    /// In words: the least of these.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Among::Plan => "plans with these blocks",
            Among::Tables => "whole tables",
            Among::Gaussian => "every Gaussian mechanism",
        }
    }

    /// In `plan --json`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Among::Plan | Among::Tables => "plan",
            Among::Gaussian => "gaussian",
        }
    }
}

/// The proof that a plan is close to the best for its objective, before scales are rounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// What was minimised, for people.
    pub of: &'static str,
    /// The plan's value.
    pub value: f64,
    /// None of these has a smaller value at this budget.
    pub bound: f64,
    /// Who these are.
    pub among: Among,
    /// What nothing of wider families comes below, for people, and the bound; trees of precisions have some.
    pub wider: [Option<(&'static str, f64)>; 2],
}

/// Whether some noise is so much less than a step wide that its variance is not that of continuous noise, which all proofs are of.
pub(crate) fn is_coarse(plan: &Plan) -> bool {
    let narrow =
        |m: &Measurement| noise_variance(plan.noise, m) < 0.99 * plan.noise.variance(m.scale.to_f64());
    plan.channels.iter().any(|c| c.measurements.iter().any(narrow))
}

impl Certificate {
    /// Of what, its value and the bound for plans with its blocks.
    pub(crate) fn new(of: &'static str, value: f64, bound: f64) -> Certificate {
        Certificate { of, value, bound, among: Among::Plan, wider: [None; 2] }
    }

    /// The same with the bound of others.
    pub(crate) fn among(self, among: Among) -> Certificate {
        Certificate { among, ..self }
    }

    /// With a bound for every Gaussian mechanism, too: in the place of its own where it is hardly looser, else beside it.
    pub(crate) fn widen(&mut self, gaussian: Option<f64>) {
        let Some(bound) = gaussian else { return };
        if bound > 0.9 * self.bound {
            (self.bound, self.among) = (bound, Among::Gaussian);
        } else {
            self.wider = [Some((Among::Gaussian.words(), bound)), None];
        }
    }

    /// The bounds for wider families that say something of their own: what holds of every Gaussian mechanism holds of all that are among them.
    pub(crate) fn told(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        let all = || self.wider.iter().flatten().copied();
        let every = all().filter(|(of, _)| *of == Among::Gaussian.words()).map(|(_, bound)| bound);
        let own = (self.among == Among::Gaussian).then_some(self.bound);
        let most = every.chain(own).fold(0.0, f64::max);
        all().filter(move |(of, bound)| *of == Among::Gaussian.words() || *bound > most)
    }

    /// The relative duality gap.
    pub fn gap(&self) -> f64 {
        (self.value / self.bound - 1.0).max(0.0)
    }
}

/// What is minimised by default, in words.
pub(crate) const WEIGHTED_TOTAL: &str = "weighted total variance";

/// A target counts as met within what rounding a scale costs.
pub(crate) const MET: f64 = 1e-6;

/// Whether an interval of this half-width keeps a margin.
pub(crate) fn keeps(margin: f64, half: f64) -> bool {
    half <= margin * (1.0 + MET)
}

/// A table without a target keeps the standard error of its worst cell within this factor of what the plan of least total variance
/// gives it at the same budget. Else it would pay for others' targets without limit, and nobody would have asked for that.
pub(crate) const CARE: f64 = 4.0;

/// What rounding scales may add to that.
pub(crate) const CARED: f64 = 1e-4;
