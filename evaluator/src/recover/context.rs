//! What every estimator reads: one channel of a plan, its axes and its numbers; and, laid over them, the tables that are published without noise.
//!
//! Components below an exact table come from it and have no error. Least squares over unequal groups, where components are not
//! independent of each other, takes them off what was measured ([`super::gls`]); no other estimator hears of them.

use super::cache::Cache;
use super::gls::Parts;
use super::{RecoverError, Source};
use crate::cube::{Cube, Cuboid, Frame, Integers};
use crate::plan::slices::Slices;
use crate::plan::{Block, Plan, limits};
use std::sync::Arc;

/// A channel of a plan with its numbers.
pub(super) struct Context<S> {
    pub cube: Arc<Cube>,
    /// The plan of this channel [alone](Plan::alone).
    pub plan: Plan,
    /// The number that its first measurement has in the source.
    first: usize,
    pub frame: Arc<Frame>,
    pub source: S,
    /// Whether all sibling groups of every level have one size.
    pub balanced: bool,
    /// How many values there are in all: what bounds the work that may be done on them.
    pub values: u64,
    /// Components that are known already.
    pub cache: Cache,
}

impl<S: Source> Context<S> {
    pub(super) fn new(
        cube: Arc<Cube>,
        frame: Arc<Frame>,
        (plan, first): (Plan, usize),
        source: S,
    ) -> Context<S> {
        let balanced = frame.is_balanced();
        let blocks = plan.only().measurements.iter().map(|m| m.block.checked_values(&frame));
        let exact = plan.exact.iter().map(|e| limits::cells(&frame, e));
        let values = blocks.chain(exact).fold(0u64, |n, v| n.saturating_add(v.unwrap_or(u64::MAX)));
        Context { cube, plan, first, frame, source, balanced, values, cache: Cache::default() }
    }

    /// Whether a table has no more cells than there are values: nothing larger is held.
    pub(super) fn fits(&self, cuboid: &Cuboid, most: u64) -> bool {
        limits::cells(&self.frame, cuboid).is_some_and(|n| n <= most)
    }

    /// Refuses to split tables into components where those do not fit.
    pub(crate) fn check_room<'a>(
        &self,
        frame: &Frame,
        tables: impl Iterator<Item = &'a Cuboid>,
    ) -> Result<(), RecoverError> {
        let numbers: f64 = tables.map(|t| frame.spread(t)).sum();
        if numbers > limits::held(self.values) as f64 {
            return Err(RecoverError::TooMuch("splitting its tables into components".into()));
        }
        Ok(())
    }

    /// How many steps of so many numbers may be made: at most `most`, and no fewer than any system needs.
    pub(crate) fn steps(&self, numbers: f64, most: usize) -> Result<usize, RecoverError> {
        let steps = limits::work(self.values) as f64 / numbers.max(1.0);
        if steps < 100.0 {
            return Err(RecoverError::TooMuch("solving for its components".into()));
        }
        Ok(most.min(steps as usize))
    }

    /// The values of a measurement, as many as its block has.
    pub(super) fn read(&self, index: usize) -> Result<Integers, RecoverError> {
        let expected = self.plan.only().measurements[index].block.values(&self.frame);
        let values = self.source.values(self.first + index)?;
        if values.len() != expected {
            return Err(RecoverError::WrongLength(index, values.len(), expected));
        }
        match self.plan.centres() {
            Some(centres) if centres.mean != 0 => {
                let block = &self.plan.only().measurements[index].block;
                self.centred((index, block, &self.frame), values, centres.mean)
            }
            _ => Ok(values),
        }
    }

    /// How a measurement is cut, if it is.
    pub(super) fn slices(&self, index: usize) -> Option<Arc<Slices>> {
        self.source.slices(self.first + index)
    }

    /// The values of one slice of a measurement, which is this block over this frame.
    pub(super) fn read_slice(
        &self,
        index: usize,
        (cut, slice): (&Slices, usize),
        (block, frame): (&Block, &Frame),
    ) -> Result<Integers, RecoverError> {
        let values = self.source.slice(self.first + index, slice)?;
        if values.len() != cut.values(slice) {
            return Err(RecoverError::WrongLength(index, values.len(), cut.values(slice)));
        }
        match self.plan.centres() {
            Some(centres) if centres.mean != 0 => self.centred((index, block, frame), values, centres.mean),
            _ => Ok(values),
        }
    }

    /// The values around the mean of the secret centre, so that what is left of it is as likely up as down. The centre is in every
    /// noise: contrasts of a component take it away again.
    fn centred(
        &self,
        (index, block, frame): (usize, &Block, &Frame),
        values: Integers,
        mean: i32,
    ) -> Result<Integers, RecoverError> {
        let overflow = || RecoverError::Plan(format!("measurement {index} does not fit its integers"));
        let noises = block.noises(frame);
        // What is published has as many integers as noise, or is less than that: see `Context::read`.
        if noises as u64 > limits::held(self.values.max(values.len() as u64)) {
            return Err(RecoverError::TooMuch("taking the centre off".into()));
        }
        let shift = block.publish(frame, vec![i64::from(mean); noises]).ok_or_else(overflow)?;
        // There may be more noises than values, never fewer.
        if shift.len() < values.len() {
            return Err(RecoverError::WrongLength(index, values.len(), shift.len()));
        }
        values.without(&shift).ok_or_else(overflow)
    }

    /// Whether a component or a table follows from a table that is published exactly.
    pub(crate) fn is_exact(&self, a: &Cuboid) -> bool {
        self.plan.exact_above(a).is_some()
    }

    /// A table that follows from an exact one: whole numbers. `None` for the others.
    pub(crate) fn exact_table(&self, cuboid: &Cuboid) -> Option<Result<Vec<f64>, RecoverError>> {
        let index = self.plan.exact_above(cuboid)?;
        Some(self.roll_up(index, cuboid))
    }

    fn roll_up(&self, index: usize, cuboid: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        let from = &self.plan.exact[index];
        let counts = self.source.exact(index)?;
        if counts.len() != self.frame.len(from) {
            return Err(RecoverError::WrongLength(index, counts.len(), self.frame.len(from)));
        }
        Ok(self.frame.roll_up(from, cuboid, counts.into_iter().map(|v| v as f64).collect()))
    }

    /// `r_A = P_A M_A x`, from an exact table above. `None` where there is none.
    pub(crate) fn exact_component(&self, a: &Cuboid) -> Option<Result<Vec<f64>, RecoverError>> {
        let table = self.exact_table(a)?;
        Some(table.map(|table| {
            let mut part = Vec::new();
            self.frame.decompose(a, table, &mut |b, values| {
                if b == *a {
                    part = values;
                }
            });
            part
        }))
    }

    /// All components of the tables published exactly: of sums of their cells, not of means.
    pub(crate) fn exact_parts(&self) -> Result<Parts, RecoverError> {
        let mut parts = Parts::new();
        for a in self.plan.exact.iter().flat_map(|cuboid| self.frame.below(cuboid)) {
            if !parts.contains_key(&a)
                && let Some(part) = self.exact_component(&a)
            {
                parts.insert(a, part?);
            }
        }
        Ok(parts)
    }

    pub(crate) fn not_held(&self, cuboid: &Cuboid) -> RecoverError {
        RecoverError::NotHeld(self.cube.describe(cuboid))
    }
}
