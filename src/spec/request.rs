//! From a spec to what a plan is made from.

use super::{Budget, Spec, Unit};
use crate::exact::Rational;
use crate::plan::{Noise, Request, convert};

impl Budget {
    /// The noise this budget is spent on, and how much there is in that noise's currency. (ε, δ) becomes the
    /// largest ρ it allows, rounded down; `None` when no ρ fits.
    pub fn noise(self) -> Option<(Noise, Rational)> {
        match self {
            Budget::Rho(rho) => Some((Noise::Gaussian, rho)),
            Budget::Epsilon(epsilon) => Some((Noise::Laplace, epsilon)),
            Budget::EpsilonDelta(epsilon, delta) => {
                Some((Noise::Gaussian, convert::rho_for(epsilon, delta)?))
            }
        }
    }
}

impl Spec {
    /// The public part a plan depends on. `None` when (ε, δ) leave no room for noise that can be drawn.
    pub fn request(&self) -> Option<Request> {
        let (noise, budget) = self.privacy.budget.noise()?;
        let max_rows = match &self.privacy.unit {
            Unit::Row => 1,
            Unit::Column { max_rows, .. } => *max_rows,
        };
        Some(Request {
            cube: self.cube.clone(),
            workload: self.workload.clone(),
            noise,
            budget,
            neighbours: self.privacy.neighbours,
            max_rows,
            measure: self.strategy.measure,
            budgets: self.strategy.budgets,
            objective: self.strategy.objective,
            shares: self.strategy.shares.clone(),
            targets: self.targets.clone(),
            exact: self.exact.iter().map(|e| e.cuboid.clone()).collect(),
        })
    }
}
