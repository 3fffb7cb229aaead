//! Whole tables: one is rolled up, several are combined by generalised least squares, see [`super::gls`].

use super::estimator::{Coefficients, Estimate};
use super::gls::{self, Gls, Parts, Weighted, measured_tables};
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

    /// The only table there is, when an answer is a roll-up of it.
    fn only<S>(&self, stored: &Stored<S>, cuboid: &Cuboid) -> Option<&Weighted> {
        let [only] = &self.0[..] else { return None };
        let roll_up =
            only.seen == Seen::Cells && stored.plan.exact.is_empty() && cuboid.is_below(&only.cuboid);
        roll_up.then_some(only)
    }

    /// Least squares on a frame, within the work that may be done.
    fn gls<'a, S: Source>(
        &'a self,
        stored: &'a Stored<S>,
        frame: &'a Frame,
    ) -> Result<Gls<'a>, RecoverError> {
        let gls = Gls::new(frame, &self.0, stored.balanced).beside(&stored.plan.exact);
        if stored.balanced {
            return Ok(gls);
        }
        stored.check_room(frame, self.0.iter().map(|t| &t.cuboid))?;
        Ok(gls.within(stored.steps(Gls::step(frame, &self.0), gls::MOST_STEPS)?))
    }

    /// Whether some measurement tells each component of a table. Coefficients tell only some of those below their table; and
    /// a dimension of one category, which has no component of its own, may be missing from what was measured.
    fn known_by_parts<S: Source>(&self, stored: &Stored<S>, cuboid: &Cuboid) -> bool {
        let tells = |t: &Weighted, a: &Cuboid| a.is_below(&t.cuboid) && t.precision(&stored.frame, a) > 0.0;
        let known = |a: &Cuboid| stored.is_exact(a) || self.0.iter().any(|t| tells(t, a));
        stored.frame.below(cuboid).iter().all(known)
    }
}

impl<S: Source> Estimate<S> for Tables {
    fn holds(&self, stored: &Stored<S>, cuboid: &Cuboid) -> bool {
        let whole = |t: &Weighted| t.seen == Seen::Cells && cuboid.is_below(&t.cuboid);
        stored.fits(cuboid, stored.values)
            && (self.0.iter().any(whole) || stored.is_exact(cuboid) || self.known_by_parts(stored, cuboid))
    }

    fn direct_table(&self, stored: &Stored<S>, cuboid: &Cuboid) -> Option<Result<Vec<f64>, RecoverError>> {
        let from = &self.only(stored, cuboid)?.cuboid;
        let roll_up =
            |values: Vec<i64>| stored.frame.roll_up(from, cuboid, values.iter().map(|&v| v as f64).collect());
        Some(stored.read(0).map(roll_up))
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
        let gls = self.gls(stored, frame)?;
        if stored.balanced {
            stored.check_room(frame, std::iter::once(cuboid))?;
        }
        let known = if stored.balanced { Parts::new() } else { stored.exact_parts()? };
        let mut right = Parts::new();
        for (index, t) in self.0.iter().enumerate() {
            let into = if stored.balanced { t.cuboid.meet(cuboid) } else { t.cuboid.clone() };
            if stored.balanced && !missing.iter().any(|a| a.is_below(&into)) {
                continue;
            }
            let mut values: Vec<f64> = stored.read(index)?.into_iter().map(|v| v as f64).collect();
            if !known.is_empty() {
                values.iter_mut().zip(gls.build(&t.cuboid, &known)).for_each(|(v, known)| *v -= known);
            }
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
        right.retain(|a, _| !stored.is_exact(a));
        let solved = gls.solve(right).ok_or_else(|| stored.not_held(cuboid))?;
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

    fn step(&self, stored: &Stored<S>, frame: &Frame, tables: &mut dyn Iterator<Item = &Cuboid>) -> f64 {
        if stored.balanced {
            tables.map(|t| frame.below(t).len() as f64).sum::<f64>() * self.0.len() as f64
        } else {
            // A system within the system: it rarely takes more than this.
            32.0 * Gls::step(frame, &self.0)
        }
    }

    fn covariance(&self, stored: &Stored<S>, frame: &Frame, parts: Parts) -> Option<Parts> {
        self.gls(stored, frame).ok()?.solve(parts)
    }

    fn direct_coefficients(
        &self,
        stored: &Stored<S>,
        frame: &Frame,
        cuboid: &Cuboid,
        query: &[f64],
    ) -> Option<Result<Coefficients, RecoverError>> {
        let only = self.only(stored, cuboid)?;
        Some(Ok(vec![(0, frame.pull_back(cuboid, &only.cuboid, query.to_vec()))]))
    }

    fn coefficients(
        &self,
        stored: &Stored<S>,
        frame: &Frame,
        query: Parts,
    ) -> Result<Coefficients, RecoverError> {
        let gls = self.gls(stored, frame)?;
        let finest = query.keys().max_by_key(|a| a.len()).cloned();
        let v = gls.solve(query).ok_or_else(|| stored.not_held(&finest.unwrap_or_else(Cuboid::total)))?;
        Ok(self.0.iter().enumerate().map(|(index, t)| (index, gls.weights(t, &v))).collect())
    }
}
