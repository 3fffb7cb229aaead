//! The rows of one release: factored when the first answer needs them, and then kept.

use super::context::Context;
use super::estimate::{Coefficients, Estimate};
use super::gls::Parts;
use super::rows::{RowSystem, RowsError, Weighed};
use super::{RecoverError, Source};
use crate::cube::{Cuboid, Frame};
use crate::plan::{Block, Plan, Rows, limits, noise_variance};
use std::sync::{Arc, OnceLock};

/// All rows that a plan measures, in the order of its measurements.
pub(super) struct RowEstimator {
    cuboid: Cuboid,
    /// How many rows each measurement has.
    counts: Vec<usize>,
    /// Which cells are empty whatever the data; shorter than the table where none are.
    empty: Vec<bool>,
    solved: OnceLock<Result<Weighed, RowsError>>,
    cells: OnceLock<Vec<f64>>,
}

/// The blocks of rows.
fn blocks(plan: &Plan) -> impl Iterator<Item = &Rows> + Clone {
    plan.only().measurements.iter().filter_map(|m| match &m.block {
        Block::Rows(rows) => Some(rows),
        _ => None,
    })
}

/// A basis of the rows of a plan, all over `cuboid`, whose cells marked `empty` are none.
pub fn system(
    frame: &Frame,
    plan: &Plan,
    cuboid: &Cuboid,
    empty: &[bool],
) -> Result<Arc<RowSystem>, RowsError> {
    let rows = blocks(plan).flat_map(|r| &r.rows).map(|row| row.as_slice());
    let known = known(frame, &plan.exact, cuboid);
    RowSystem::beside(rows, empty, &known).map(Arc::new)
}

/// The sums of a table's cells that tables published exactly tell: the cells of what each has in common with it.
pub fn known(frame: &Frame, exact: &[Cuboid], cuboid: &Cuboid) -> Vec<Vec<(u32, i32)>> {
    let mut out = Vec::new();
    for e in exact {
        let shared = e.meet(cuboid);
        let first = out.len();
        out.resize(first + frame.len(&shared), Vec::new());
        let numbers = (0..frame.len(&shared)).map(|i| i as f64).collect();
        for (cell, number) in (0u32..).zip(frame.pull_back(&shared, cuboid, numbers)) {
            out[first + number as usize].push((cell, 1));
        }
    }
    out
}

/// The reciprocal of each row's noise variance.
pub fn weights(plan: &Plan) -> Vec<f64> {
    let each = plan.only().measurements.iter().map(|m| (m, 1.0 / noise_variance(plan.noise, m)));
    each.flat_map(|(m, w)| match &m.block {
        Block::Rows(rows) => vec![w; rows.rows.len()],
        _ => Vec::new(),
    })
    .collect()
}

impl RowEstimator {
    /// `None` when the plan measures no rows; rows of several tables, or beside other blocks, are not for this program.
    pub(super) fn of(plan: &Plan) -> Result<Option<RowEstimator>, RecoverError> {
        let Some(first) = blocks(plan).next() else { return Ok(None) };
        if blocks(plan).count() < plan.only().measurements.len() {
            return Err(RecoverError::Plan("the plan mixes rows with other blocks".into()));
        }
        if blocks(plan).any(|r| r.cuboid != first.cuboid) {
            return Err(RecoverError::Plan("the plan has rows of several tables".into()));
        }
        let counts = blocks(plan).map(|r| r.rows.len()).collect();
        let cuboid = first.cuboid.clone();
        Ok(Some(RowEstimator {
            cuboid,
            counts,
            empty: Vec::new(),
            solved: OnceLock::new(),
            cells: OnceLock::new(),
        }))
    }

    /// The table the rows are about.
    pub(super) fn cuboid(&self) -> &Cuboid {
        &self.cuboid
    }

    /// Leaves out cells that are empty whatever the data: what remains is free of the condition.
    pub(super) fn leave_out(&mut self, empty: Vec<bool>) {
        self.empty = empty;
    }

    /// A query without the cells that are empty.
    pub(super) fn without_empty(&self, mut query: Vec<f64>) -> Vec<f64> {
        query.iter_mut().zip(&self.empty).filter(|(_, empty)| **empty).for_each(|(q, _)| *q = 0.0);
        query
    }

    /// The rows, ready for estimates.
    pub(super) fn solved(&self, frame: &Frame, plan: &Plan) -> Result<&Weighed, RecoverError> {
        let solve = || system(frame, plan, &self.cuboid, &self.empty)?.weighed(weights(plan));
        self.solved.get_or_init(solve).as_ref().map_err(|e| RecoverError::Plan(e.to_string()))
    }

    /// A table of which every determined query has its best estimate.
    fn cells<S: Source>(&self, context: &Context<S>) -> Result<Vec<f64>, RecoverError> {
        if let Some(known) = self.cells.get() {
            return Ok(known.clone());
        }
        let mut answers = Vec::new();
        for index in 0..self.counts.len() {
            answers.extend(context.read(index)?.floats());
        }
        let mut known = Vec::new();
        for e in &context.plan.exact {
            if let Some(table) = context.exact_table(&e.meet(&self.cuboid)) {
                known.extend(table?);
            }
        }
        let solved = self.solved(&context.frame, &context.plan)?;
        let cells = solved.cells(&answers, &known, context.frame.len(&self.cuboid));
        Ok(self.cells.get_or_init(|| cells).clone())
    }

    /// A query of a table, written over the cells of the rows' own table.
    fn pulled<S>(&self, context: &Context<S>, cuboid: &Cuboid, query: Vec<f64>) -> Vec<f64> {
        self.without_empty(context.frame.pull_back(cuboid, &self.cuboid, query))
    }

    /// Whether every single cell of a table can be estimated.
    pub(super) fn determines<S: Source>(
        &self,
        context: &Context<S>,
        cuboid: &Cuboid,
    ) -> Result<bool, RecoverError> {
        let sum = |q| self.pulled(context, cuboid, q);
        if context.is_exact(cuboid) {
            return Ok(true);
        }
        let solved = self.solved(&context.frame, &context.plan)?;
        Ok(solved.system().determines(context.frame.len(cuboid), sum))
    }
}

/// Rows have no components: all goes through the cells of their table.
impl<S: Source> Estimate<S> for RowEstimator {
    fn holds(&self, context: &Context<S>, cuboid: &Cuboid) -> bool {
        context.fits(cuboid, limits::MAX_ROW_CELLS)
            && (cuboid.is_below(&self.cuboid) || context.is_exact(cuboid))
    }

    fn direct_table(&self, context: &Context<S>, cuboid: &Cuboid) -> Option<Result<Vec<f64>, RecoverError>> {
        Some(self.cells(context).map(|cells| context.frame.roll_up(&self.cuboid, cuboid, cells)))
    }

    fn component(&self, context: &Context<S>, a: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        Err(context.not_held(a))
    }

    fn covariance(&self, _: &Context<S>, _: &Frame, _: Parts) -> Option<Parts> {
        None
    }

    fn direct_coefficients(
        &self,
        context: &Context<S>,
        frame: &Frame,
        cuboid: &Cuboid,
        query: &[f64],
    ) -> Option<Result<Coefficients, RecoverError>> {
        let query = self.without_empty(frame.pull_back(cuboid, &self.cuboid, query.to_vec()));
        let solved = match self.solved(&context.frame, &context.plan) {
            Ok(solved) => solved,
            Err(e) => return Some(Err(e)),
        };
        let Some(expressed) = solved.system().express(&query) else {
            let name = context.cube.describe(cuboid);
            return Some(Err(RecoverError::NotDetermined(format!("this sum of cells of {name}"))));
        };
        let all = solved.coefficients(expressed);
        let mut rest = &all[..];
        let each = self.counts.iter().enumerate().map(|(index, &count)| {
            let (own, after) = rest.split_at(count.min(rest.len()));
            rest = after;
            (index, own.to_vec())
        });
        Some(Ok(each.collect()))
    }

    fn coefficients(
        &self,
        context: &Context<S>,
        _: &Frame,
        query: Parts,
    ) -> Result<Coefficients, RecoverError> {
        Err(context.not_held(query.keys().next().unwrap_or(&self.cuboid)))
    }
}
