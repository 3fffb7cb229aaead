//! From a spec to what a plan is made from.

use super::{Budget, Coding, Precision, Spec, Unit, Wanted};
use crate::exact::Rational;
use crate::plan::{Mode, Noise, Plan, convert};
use crate::planner::copies::Wish;
use crate::planner::{Request, strategy};
use crate::projection;
use std::borrow::Cow;

impl Budget {
    /// The noise this budget is spent on, and how much there is in that noise's currency. (ε, δ) becomes the
    /// largest ρ it allows, rounded down; `None` when no ρ fits.
    pub fn noise(self) -> Option<(Noise, Rational)> {
        match self {
            Budget::Rho(rho) => Some((Noise::Gaussian, rho)),
            Budget::Epsilon(epsilon) => Some((Noise::Laplace, epsilon)),
            Budget::EpsilonDelta(epsilon, delta) => {
                Some((Noise::Gaussian, convert::largest_rho(epsilon, delta)?))
            }
        }
    }
}

impl Spec {
    /// The spec over the levels that the plan speaks of: `wavelet`, for one, puts halves between them.
    pub fn planned(&self, plan: &Plan) -> Cow<'_, Spec> {
        if !strategy::refines(plan.measure, &self.workload) {
            return Cow::Borrowed(self);
        }
        let refined = self.cube.refined();
        let mut out = Spec { cube: refined.cube.clone(), ..self.clone() };
        out.workload.iter_mut().for_each(|t| t.cuboid = refined.cuboid(&t.cuboid));
        out.exact.iter_mut().for_each(|e| e.cuboid = refined.cuboid(&e.cuboid));
        // What the filters tell apart are the finest nodes, which stay.
        out.zeros.iter_mut().for_each(|z| z.cuboid = refined.cuboid(&z.cuboid));
        Cow::Owned(out)
    }

    /// What a projection is made from; `None` for a spec of tables.
    pub fn projection_request(&self) -> Option<Result<projection::design::Request, projection::DesignError>> {
        use projection::DesignError;
        let p = self.projection.as_ref()?;
        let (published, budget) = match self.privacy.budget {
            Budget::Rho(rho) => (None, rho),
            Budget::Epsilon(_) => return Some(Err(DesignError::PureEpsilon)),
            Budget::EpsilonDelta(epsilon, delta) => match convert::largest_rho(epsilon, delta) {
                Some(rho) => (Some((epsilon, delta)), rho),
                None => return Some(Err(DesignError::Scale)),
            },
        };
        Some(Ok(projection::design::Request {
            sketch: p.sketch,
            text: p
                .of
                .iter()
                .map(|&d| self.columns.get(usize::from(d)).is_some_and(|c| c.coding == Coding::Text))
                .collect(),
            key: p.of.clone(),
            size: p.size,
            sparsity: p.sparsity,
            queries: p.queries,
            failure: p.failure,
            noise: p.noise,
            budget,
            published,
            neighbours: self.privacy.neighbours,
            max_rows: match &self.privacy.unit {
                Unit::Row => 1,
                Unit::Column { max_rows, .. } => *max_rows,
            },
            norm_bound: p.norm_bound,
        }))
    }

    /// How the copies for several recipients hang together, and what each is to have.
    pub fn wishes(&self) -> Option<(Mode, Vec<Wish>)> {
        let recipients = self.recipients.as_ref()?;
        let wish = |w: &Wanted| {
            let (budget, margin) = match w.precision {
                Precision::Budget(budget) => (Some(budget), f64::INFINITY),
                Precision::Margin(margin) => (None, margin.to_f64()),
            };
            Wish { name: w.name.clone(), budget, margin }
        };
        Some((recipients.mode, recipients.list.iter().map(wish).collect()))
    }

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
            rows: self.strategy.rows.clone(),
            targets: self.targets.clone(),
            exact: self.exact.iter().map(|e| e.cuboid.clone()).collect(),
            zeros: self.zeros.iter().map(|zero| zero.condition.clone()).collect(),
            truncation: self.privacy.truncation,
            effort: self.strategy.effort,
            tails: Vec::new(),
        })
    }
}
