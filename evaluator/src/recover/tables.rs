//! Whole tables: one is rolled up, several are combined by generalised least squares, see [`super::gls`].

use super::context::Context;
use super::estimate::{Coefficients, Estimate};
use super::gls::{self, Gls, Parts, Unsolved, Weighted, measured_tables};
use super::sums::{self, Sums};
use super::{RecoverError, Source};
use crate::cube::{Axis, Cuboid, Frame, Integers};
use crate::plan::{Plan, Seen};
use rustc_hash::FxHashSet;
use std::collections::HashMap;
use std::sync::OnceLock;

/// The measured tables.
pub(super) struct Tables {
    /// In the plan's order.
    tables: Vec<Weighted>,
    /// What they say together.
    sums: Sums,
    /// What is measured, to be found quickly among very many.
    found: OnceLock<FxHashSet<Cuboid>>,
}

/// So many pairs of tables and components are gone through one by one.
const FEW: usize = 1 << 16;

impl Tables {
    pub(super) fn of(plan: &Plan, balanced: bool) -> Tables {
        let tables = measured_tables(plan);
        let tables = if balanced { tables } else { gls::narrowed(tables) };
        Tables { tables, sums: Sums::default(), found: OnceLock::new() }
    }

    /// The only table there is, when an answer is a roll-up of it.
    fn only<S>(&self, context: &Context<S>, cuboid: &Cuboid) -> Option<&Weighted> {
        let [only] = &self.tables[..] else { return None };
        let roll_up =
            only.seen == Seen::Cells && context.plan.exact.is_empty() && cuboid.is_below(&only.cuboid);
        roll_up.then_some(only)
    }

    /// Least squares on a frame, within the work that may be done.
    fn gls<'a, S: Source>(
        &'a self,
        context: &'a Context<S>,
        frame: &'a Frame,
    ) -> Result<Gls<'a>, RecoverError> {
        let gls = Gls::new(frame, &self.tables, context.balanced).beside(&context.plan.exact);
        if context.balanced {
            return Ok(gls);
        }
        context.check_room(frame, self.tables.iter().map(|t| &t.cuboid))?;
        Ok(gls.within(context.steps(Gls::step(frame, &self.tables), gls::MOST_STEPS)?))
    }

    /// The estimates of some components below a table, on a frame that tells the table's cells apart. Over unequal groups, where they
    /// take others with them, only as much of those is told apart as they need.
    fn solved<S: Source>(
        &self,
        context: &Context<S>,
        cuboid: &Cuboid,
        components: Vec<Cuboid>,
    ) -> Result<Parts, RecoverError> {
        let (frame, lumps) = match context.balanced {
            true => ((*context.frame).clone(), HashMap::new()),
            false => told_apart(&context.frame, cuboid),
        };
        if context.balanced {
            context.check_room(&frame, std::iter::once(cuboid))?;
        }
        let gls = self.gls(context, &frame)?;
        let mut touched = gls.touched(components);
        touched.retain(|a| !context.is_exact(a));
        let right = self.sums.parts(context, &self.tables, touched)?;
        let lumped = |(a, part)| {
            let part = sums::lumped((&context.frame, &frame), &lumps, &a, part);
            (a, part)
        };
        let right: Parts = if lumps.is_empty() { right } else { right.into_iter().map(lumped).collect() };
        gls.solve(right).map_err(|why| unsolved(context, cuboid, why))
    }

    /// The best estimates of a table's cells.
    fn recovered<S: Source>(&self, context: &Context<S>, cuboid: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        let below = context.frame.below(cuboid);
        let known = |a: &Cuboid| context.cache.get(a);
        let missing = below.iter().filter(|a| !context.is_exact(a) && known(a).is_none()).cloned().collect();
        let mut solved = self.solved(context, cuboid, missing)?;
        context.frame.rebuild(cuboid, &mut |a| {
            if let Some(part) = context.exact_component(a) {
                return part.map(Some);
            }
            if let Some(part) = known(a) {
                return Ok(Some(part.to_vec()));
            }
            let part = solved.remove(a);
            part.iter().for_each(|part| context.cache.offer(a, part));
            Ok(part)
        })
    }

    /// Whether some measurement tells each component of a table. Coefficients tell only some of those below their table; and
    /// a dimension of one category, which has no component of its own, may be missing from what was measured.
    fn known_by_parts<S: Source>(&self, context: &Context<S>, cuboid: &Cuboid) -> bool {
        let tells = |t: &Weighted, a: &Cuboid| a.is_below(&t.cuboid) && t.precision(&context.frame, a) > 0.0;
        let below = context.frame.below(cuboid);
        let all = || self.tables.iter().map(|t| t.cuboid.clone()).collect();
        // Its own table tells it, and is most often there.
        let own = |a: &Cuboid| {
            below.len().saturating_mul(self.tables.len()) > FEW && self.found.get_or_init(all).contains(a)
        };
        let known = |a: &Cuboid| context.is_exact(a) || own(a) || self.tables.iter().any(|t| tells(t, a));
        below.iter().all(known)
    }
}

/// Why there is no answer from this table.
fn unsolved<S: Source>(context: &Context<S>, cuboid: &Cuboid, why: Unsolved) -> RecoverError {
    match why {
        Unsolved::NotHeld => context.not_held(cuboid),
        Unsolved::Steps => RecoverError::TooMuch("solving for its components".into()),
    }
}

/// A frame that tells the nodes of a table's levels apart, and lumps all else as far as it goes; for each dimension and rung the lump of each node.
fn told_apart(frame: &Frame, cuboid: &Cuboid) -> (Frame, HashMap<usize, Vec<Vec<u32>>>) {
    let mut axes: Vec<Axis> = Vec::with_capacity(frame.axes.len());
    let mut lumps = HashMap::new();
    for (d, axis) in frame.axes.iter().enumerate() {
        let at = axis.rung(cuboid.level(d)).unwrap_or(0);
        let each: Vec<u32> = (0..axis.rungs[at].len() as u32).collect();
        let (small, lump_of) = axis.lump(at, &each);
        axes.push(small);
        lumps.insert(d, lump_of);
    }
    (Frame { axes }, lumps)
}

impl<S: Source> Estimate<S> for Tables {
    fn holds(&self, context: &Context<S>, cuboid: &Cuboid) -> bool {
        let whole = |t: &Weighted| t.seen == Seen::Cells && cuboid.is_below(&t.cuboid);
        context.fits(cuboid, context.values)
            && (self.tables.iter().any(whole)
                || context.is_exact(cuboid)
                || self.known_by_parts(context, cuboid))
    }

    fn direct_table(&self, context: &Context<S>, cuboid: &Cuboid) -> Option<Result<Vec<f64>, RecoverError>> {
        if let Some(only) = self.only(context, cuboid) {
            let roll_up = |values: Integers| context.frame.roll_up(&only.cuboid, cuboid, values.floats());
            return Some(context.read(0).map(roll_up));
        }
        Some(self.recovered(context, cuboid))
    }

    fn component(&self, context: &Context<S>, a: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        let parts = self.solved(context, a, vec![a.clone()])?;
        parts.into_iter().find(|(b, _)| b == a).map(|(_, part)| part).ok_or_else(|| context.not_held(a))
    }

    fn step(&self, context: &Context<S>, frame: &Frame, tables: &mut dyn Iterator<Item = &Cuboid>) -> f64 {
        if context.balanced {
            tables.map(|t| frame.below(t).len() as f64).sum::<f64>() * self.tables.len() as f64
        } else {
            // A system within the system: it rarely takes more than this.
            32.0 * Gls::step(frame, &self.tables)
        }
    }

    fn covariance(&self, context: &Context<S>, frame: &Frame, parts: Parts) -> Option<Parts> {
        self.gls(context, frame).ok()?.solve(parts).ok()
    }

    fn direct_coefficients(
        &self,
        context: &Context<S>,
        frame: &Frame,
        cuboid: &Cuboid,
        query: &[f64],
    ) -> Option<Result<Coefficients, RecoverError>> {
        let only = self.only(context, cuboid)?;
        Some(Ok(vec![(0, frame.pull_back(cuboid, &only.cuboid, query.to_vec()))]))
    }

    fn coefficients(
        &self,
        context: &Context<S>,
        frame: &Frame,
        query: Parts,
    ) -> Result<Coefficients, RecoverError> {
        let gls = self.gls(context, frame)?;
        let finest = query.keys().max_by_key(|a| a.len()).cloned();
        let finest = finest.unwrap_or_else(Cuboid::total);
        let v = gls.solve(query).map_err(|why| unsolved(context, &finest, why))?;
        Ok(self.tables.iter().enumerate().map(|(index, t)| (index, gls.weights(t, &v))).collect())
    }
}
