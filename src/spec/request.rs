//! What follows from a spec: its noise, its levels, its projection. What a plan of tables is made from is for the planner to say.

use super::{Budget, Coding, Spec, Unit};
use crate::exact::Rational;
use crate::plan::{Noise, Plan, convert};
use crate::projection;
use std::borrow::Cow;

impl Budget {
    /// The noise this budget is spent on, and how much there is in that noise's currency. (ε, δ) becomes the
    /// largest ρ it allows, rounded down; `None` when no ρ fits.
    pub(crate) fn noise(self) -> Option<(Noise, Rational)> {
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
    /// The spec over the levels that the plan speaks of (`wavelet`, for one, puts halves between them), and with amounts measured from where it measures them.
    pub(crate) fn planned(&self, plan: &Plan) -> Cow<'_, Spec> {
        let measured = self.measured(plan);
        if !plan.measure.refines(&self.workload) {
            return measured;
        }
        let refined = self.cube.refined();
        let mut out = Spec { cube: refined.cube.clone(), ..measured.into_owned() };
        out.workload.iter_mut().for_each(|t| t.cuboid = refined.cuboid(&t.cuboid));
        out.exact.iter_mut().for_each(|e| e.cuboid = refined.cuboid(&e.cuboid));
        // What the filters tell apart are the finest nodes, which stay.
        out.zeros.iter_mut().for_each(|z| z.cuboid = refined.cuboid(&z.cuboid));
        Cow::Owned(out)
    }

    /// What a projection is made from; `None` for a spec of tables.
    pub(crate) fn projection_request(
        &self,
    ) -> Option<Result<projection::design::Request, projection::DesignError>> {
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
}
