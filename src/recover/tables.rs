//! Whole tables: one is rolled up, several are combined by generalised least squares, see [`super::gls`].

use super::estimator::{Coefficients, Estimate};
use super::gls::{Gls, Parts, Weighted, measured_tables};
use super::stored::Stored;
use super::{RecoverError, Source};
use crate::cube::{Cuboid, Frame};
use crate::plan::{Plan, Seen};

/// The measured tables, in the plan's order.
pub(super) struct Tables(Vec<Weighted>);

impl Tables {
    pub fn of(plan: &Plan) -> Tables {
        Tables(measured_tables(plan))
    }

    /// The only table there is, when every answer is a roll-up of it.
    fn only<S>(&self, stored: &Stored<S>) -> Option<&Weighted> {
        match &self.0[..] {
            [only] if only.seen == Seen::Cells && stored.plan.exact.is_empty() => Some(only),
            _ => None,
        }
    }

    fn gls<'a, S>(&'a self, stored: &Stored<S>, frame: &'a Frame) -> Gls<'a> {
        Gls::new(frame, &self.0, stored.balanced)
    }
}

impl<S: Source> Estimate<S> for Tables {
    fn holds(&self, stored: &Stored<S>, cuboid: &Cuboid) -> bool {
        self.0.iter().any(|t| cuboid.is_below(&t.cuboid)) || stored.is_exact(cuboid)
    }

    fn direct_table(&self, stored: &Stored<S>, cuboid: &Cuboid) -> Option<Result<Vec<f64>, RecoverError>> {
        let from = &self.only(stored)?.cuboid;
        let roll_up =
            |values: Vec<i64>| stored.frame.roll_up(from, cuboid, values.iter().map(|&v| v as f64).collect());
        Some(stored.values(0).map(roll_up))
    }

    /// Recovers all components below `cuboid` (all there are, when axes are unbalanced) into the cache.
    fn prepare(&self, stored: &Stored<S>, cuboid: &Cuboid) -> Result<(), RecoverError> {
        let (frame, cache) = (&stored.frame, &stored.cache);
        let _one_at_a_time = cache.solving();
        let missing = frame
            .below(cuboid)
            .into_iter()
            .filter(|a| cache.get(a).is_none() && !stored.is_exact(a))
            .collect::<Vec<_>>();
        if missing.is_empty() {
            return Ok(());
        }
        let mut right = Parts::new();
        for (index, t) in self.0.iter().enumerate() {
            let into = if stored.balanced { t.cuboid.meet(cuboid) } else { t.cuboid.clone() };
            if stored.balanced && !missing.iter().any(|a| a.is_below(&into)) {
                continue;
            }
            let values = stored.values(index)?.into_iter().map(|v| v as f64).collect();
            let mut table = frame.roll_up(&t.cuboid, &into, t.to_cells(frame, values));
            // F_Bᵀ pushes means; over balanced axes a mean is a sum by the number of cells.
            let weight = t.weight * frame.cells(&into) / frame.cells(&t.cuboid);
            table.iter_mut().for_each(|v| *v *= weight);
            Gls::gather(frame, &into, table, &mut right);
        }
        if stored.balanced {
            // What is known already was gathered from some of the tables only: it must not be solved again.
            right.retain(|a, _| missing.contains(a));
        }
        let solved = self.gls(stored, frame).solve(right).ok_or_else(|| stored.not_held(cuboid))?;
        for (a, part) in solved {
            // A component that was known before may have been gathered from some of its tables only.
            if !stored.balanced || missing.contains(&a) {
                cache.keep(a, part);
            }
        }
        Ok(())
    }

    fn component(&self, stored: &Stored<S>, a: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        stored.cache.get(a).map(|part| part.to_vec()).ok_or_else(|| stored.not_held(a))
    }

    fn covariance(&self, stored: &Stored<S>, frame: &Frame, parts: Parts) -> Option<Parts> {
        self.gls(stored, frame).solve(parts)
    }

    fn direct_coefficients(
        &self,
        stored: &Stored<S>,
        frame: &Frame,
        cuboid: &Cuboid,
        query: &[f64],
    ) -> Option<Result<Coefficients, RecoverError>> {
        let only = self.only(stored)?;
        Some(Ok(vec![(0, frame.pull_back(cuboid, &only.cuboid, query.to_vec()))]))
    }

    fn coefficients(
        &self,
        stored: &Stored<S>,
        frame: &Frame,
        query: Parts,
    ) -> Result<Coefficients, RecoverError> {
        let gls = self.gls(stored, frame);
        let finest = query.keys().max_by_key(|a| a.len()).cloned();
        let v = gls.solve(query).ok_or_else(|| stored.not_held(&finest.unwrap_or_else(Cuboid::total)))?;
        Ok(self.0.iter().enumerate().map(|(index, t)| (index, gls.weights(t, &v))).collect())
    }
}
