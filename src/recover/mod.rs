//! Measurements -> consistent estimates and the law of their error.
//!
//! There is one best linear unbiased estimate `x̂` behind every table and every query, so recovered tables
//! agree on all they share. It is never written down: it lives in its components, which are recovered when
//! a table or a query needs them.
//!
//! * Components measured one by one (`residual`): `r̂_A = P_A y_A`, independent of each other.
//! * One measured table (`base`): roll it up.
//! * Several measured tables: generalised least squares, see [`gls`].
//! * The agency's own rows: least squares over a basis of them, see [`rows`].
//!
//! Cells that are declared to be empty whatever the data are equality constraints: see [`zeros`].
//!
//! Components below a table that is published exactly come from it and have no error. Components are independent
//! of each other wherever such tables are allowed, so the equality constraints touch nothing else.
//!
//! Consistency in another norm than least squares is [`Recovery::nearest`].

mod cache;
pub(crate) mod dense;
pub mod finish;
pub mod gls;
#[cfg(feature = "compile")]
mod lp;
mod nearest;
pub mod rows;
mod source;
pub(crate) mod written;
pub mod zeros;

pub use nearest::{Nearest, Norm};
pub use source::{Source, SourceError};

use crate::answer::law::{ErrorLaw, LawError, NoiseLaw, Term};
use crate::cube::{Axis, Cube, Cuboid, Frame};
use crate::plan::{Block, Measurement, Noise, Plan, cost, predict};
use crate::release::limits;
use crate::release::packing::value_count;
use cache::Cache;
use gls::{Form, Gls, Parts, Weighted};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use written::Written;
use zeros::{Lumped, Zeros};

/// Why something could not be recovered.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// Nothing that was measured tells this table.
    #[error("the release does not hold {0}")]
    NotHeld(String),
    /// The rows that were measured leave it open.
    #[error("the queries that were measured do not determine {0}: it is no combination of them")]
    NotDetermined(String),
    /// The measurements could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A measurement has another number of values than its block.
    #[error("measurement {0} has {1} values where its block has {2}")]
    WrongLength(usize, usize, usize),
    /// The noise has no law.
    #[error(transparent)]
    Law(#[from] LawError),
    /// More work than anybody wants to wait for.
    #[error("{0} takes more work than a reader spends on a file of this size")]
    TooMuch(String),
    /// The plan is not one this program can recover from.
    #[error("{0}")]
    Plan(String),
}

/// How the estimate follows from the measurements.
enum Shape {
    /// Independent components: for each the measurement that holds it.
    Components(HashMap<Cuboid, usize>),
    /// Whole tables.
    Tables(Vec<Weighted>),
    /// Rows over one table.
    Rows(Written),
}

/// A release's estimates, recovered on demand.
pub struct Recovery<S> {
    cube: Cube,
    plan: Plan,
    frame: Frame,
    shape: Shape,
    balanced: bool,
    /// Whether nodes that a query cannot tell apart may be lumped: the measurements are alike under every exchange of
    /// siblings. Signed sums are not.
    lumps: bool,
    /// Every axis with all its nodes lumped as far as they go: what a query leaves out.
    lumped: Vec<Axis>,
    /// How many values there are in all.
    values: u64,
    source: S,
    cache: Cache,
    zeros: Zeros,
    /// What the zeros take off the estimated components: worked out when a table is first asked for.
    correction: Mutex<Option<Arc<Parts>>>,
}

impl<S: Source> Recovery<S> {
    /// Prepares to recover from measurements made by `plan`.
    pub fn new(cube: Cube, plan: Plan, source: S) -> Result<Recovery<S>, RecoverError> {
        let frame = Frame::new(&cube, &plan.levels);
        let of_component = |m: &&Measurement| matches!(m.block, Block::Component(_) | Block::Pairs(_));
        let components = plan.measurements.iter().filter(of_component).count();
        let mut shape = if let Some(written) = Written::of(&plan)? {
            Shape::Rows(written)
        } else if components == 0 {
            Shape::Tables(predict::measured_tables(&plan))
        } else if components == plan.measurements.len() {
            Shape::Components(
                plan.measurements.iter().enumerate().map(|(i, m)| (m.block.cuboid().clone(), i)).collect(),
            )
        } else {
            return Err(RecoverError::Plan("the plan mixes components and tables".into()));
        };
        let lumps = !plan.measurements.iter().any(|m| matches!(m.block, Block::Walsh(_) | Block::Rows(_)));
        let lumped = frame.axes.iter().map(|a| if lumps { a.lump(0, &[0]).0 } else { a.clone() }).collect();
        let balanced = frame.is_balanced();
        if !plan.exact.is_empty() && !balanced && matches!(shape, Shape::Tables(_)) {
            return Err(RecoverError::Plan(
                "tables published exactly beside measured ones over unequal groups".into(),
            ));
        }
        let zeros = Zeros::of_plan(&cube, &frame, &plan).map_err(RecoverError::Plan)?;
        if let Shape::Rows(written) = &mut shape
            && !zeros.is_empty()
        {
            let mut open = vec![1.0; frame.len(written.cuboid())];
            zeros.clear(&cube, &Lumped::whole(&frame), written.cuboid(), &mut open);
            written.leave_out(open.into_iter().map(|v| v == 0.0).collect());
        }
        let blocks = plan.measurements.iter().map(|m| limits::values(&frame, &m.block));
        let exact = plan.exact.iter().map(|e| limits::cells(&frame, e));
        let values = blocks.chain(exact).fold(0u64, |n, v| n.saturating_add(v.unwrap_or(u64::MAX)));
        let recovery = Recovery {
            values,
            cube,
            plan,
            frame,
            shape,
            balanced,
            lumps,
            lumped,
            source,
            cache: Cache::default(),
            zeros,
            correction: Mutex::default(),
        };
        if let Some(z) = recovery.zeros.iter().find(|z| !recovery.holds(&z.cuboid)) {
            return Err(RecoverError::Plan(format!("no table holds the cells where {}", z.condition)));
        }
        if let Some(top) = recovery.zeros.tops().iter().find(|t| !recovery.holds(t)) {
            return Err(RecoverError::NotHeld(recovery.cube.describe(top)));
        }
        // Every condition is looked up in every cell of these.
        let cells: f64 = recovery.zeros.tops().iter().map(|t| recovery.frame.cells(t)).sum();
        if cells * recovery.zeros.iter().count() as f64 > limits::work(values) as f64 {
            return Err(RecoverError::TooMuch("imposing the zeros".into()));
        }
        Ok(recovery)
    }

    /// The dimensions.
    pub fn cube(&self) -> &Cube {
        &self.cube
    }

    /// The plan behind the measurements.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Where the measurements come from.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The axes of the levels in use.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The cuboids that were measured or are wholly known, coarsest description of what can be answered.
    pub fn held(&self) -> impl Iterator<Item = &Cuboid> {
        self.plan.measurements.iter().map(|m| m.block.cuboid()).chain(&self.plan.exact)
    }

    /// Whether a table over levels in use can be recovered.
    pub fn holds(&self, cuboid: &Cuboid) -> bool {
        let in_use =
            cuboid.iter().all(|(d, l)| d < self.frame.axes.len() && self.frame.axes[d].rung(l).is_some());
        // What is held has no more cells than there are values: nothing larger is worth looking at.
        let most = if matches!(self.shape, Shape::Rows(_)) { limits::MAX_ROW_CELLS } else { self.values };
        let fits = || limits::cells(&self.frame, cuboid).is_some_and(|n| n <= most);
        in_use
            && fits()
            && match &self.shape {
                Shape::Components(map) => self
                    .frame
                    .below(cuboid)
                    .iter()
                    .all(|a| map.contains_key(a) || self.plan.exact_above(a).is_some()),
                Shape::Tables(tables) => {
                    tables.iter().any(|t| t.form == Form::Cells && cuboid.is_below(&t.cuboid))
                        || self.plan.exact_above(cuboid).is_some()
                        || self.known_by_parts(tables, cuboid)
                }
                // Of its cells, what the rows determine: see [`Recovery::summands`].
                Shape::Rows(written) => cuboid.is_below(written.cuboid()),
            }
    }

    /// Whether some measurement tells each component of a table. Coefficients tell only some of those below their table; and
    /// a dimension of one category, which has no component of its own, may be missing from what was measured.
    fn known_by_parts(&self, tables: &[Weighted], cuboid: &Cuboid) -> bool {
        let tells = |t: &Weighted, a: &Cuboid| a.is_below(&t.cuboid) && t.precision(&self.frame, a) > 0.0;
        let known = |a: &Cuboid| self.plan.exact_above(a).is_some() || tables.iter().any(|t| tells(t, a));
        self.frame.below(cuboid).iter().all(known)
    }

    /// Refuses to split tables into components where those do not fit.
    fn check_room<'a>(
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
    fn steps(&self, numbers: f64, most: usize) -> Result<usize, RecoverError> {
        let steps = limits::work(self.values) as f64 / numbers.max(1.0);
        if steps < 100.0 {
            return Err(RecoverError::TooMuch("solving for its components".into()));
        }
        Ok(most.min(steps as usize))
    }

    /// Least squares on a frame, within the work that may be done.
    fn gls<'a>(&self, frame: &'a Frame, tables: &'a [Weighted]) -> Result<Gls<'a>, RecoverError> {
        let gls = Gls::new(frame, tables, self.balanced);
        if self.balanced {
            return Ok(gls);
        }
        self.check_room(frame, tables.iter().map(|t| &t.cuboid))?;
        Ok(gls.within(self.steps(Gls::step(frame, tables), gls::MOST_STEPS)?))
    }

    /// The most steps in which the zeros' system may be solved.
    fn zero_steps(&self, frame: &Frame, system: &zeros::System) -> Result<usize, RecoverError> {
        self.check_room(frame, system.tables())?;
        let covariance = match &self.shape {
            Shape::Tables(tables) if self.balanced => {
                system.tables().map(|t| frame.below(t).len() as f64).sum::<f64>() * tables.len() as f64
            }
            // A system within the system: it rarely takes more than this.
            Shape::Tables(tables) => 32.0 * Gls::step(frame, tables),
            Shape::Components(_) | Shape::Rows(_) => 0.0,
        };
        self.steps(system.step() + covariance, zeros::MOST_STEPS)
    }

    /// Whether the answer is a roll-up of the only table there is.
    fn one_table(&self, tables: &[Weighted], cuboid: &Cuboid) -> bool {
        let [only] = tables else { return false };
        only.form == Form::Cells && self.plan.exact.is_empty() && cuboid.is_below(&only.cuboid)
    }

    /// Whether lumped axes may be used.
    pub fn lumps(&self) -> bool {
        self.lumps
    }

    fn values(&self, index: usize, expected: usize) -> Result<Vec<i64>, RecoverError> {
        let values = self.source.values(index)?;
        if values.len() != expected {
            return Err(RecoverError::WrongLength(index, values.len(), expected));
        }
        Ok(values)
    }

    /// The best estimate of a table, row-major with the last dimension fastest. Consistent with every other
    /// table of the release, unbiased, not rounded: cells may be negative.
    pub fn table(&self, cuboid: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        self.check_determined(cuboid)?;
        self.summands(cuboid)
    }

    /// `N⁻¹ Zᵀ λ`: see [`zeros`].
    fn correction(&self) -> Result<Arc<Parts>, RecoverError> {
        let mut kept = self.correction.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(correction) = &*kept {
            return Ok(correction.clone());
        }
        let lumped = Lumped::whole(&self.frame);
        let system = self.zeros.system(&self.cube, &lumped);
        let steps = self.zero_steps(&self.frame, &system)?;
        let tables = system.tables().map(|t| self.unconstrained(t)).collect::<Result<Vec<_>, _>>()?;
        let covariance = |parts: Parts| self.covariance(&self.frame, parts);
        let correction = system.solve(system.pick_from(&tables), steps, &covariance).and_then(covariance);
        let correction =
            correction.ok_or_else(|| RecoverError::Plan("the zeros cannot be imposed".into()))?;
        Ok(kept.insert(Arc::new(correction)).clone())
    }

    /// `N⁻¹` of components: the covariance of the unconstrained estimates.
    fn covariance(&self, frame: &Frame, mut parts: Parts) -> Option<Parts> {
        parts.retain(|a, _| self.plan.exact_above(a).is_none());
        match &self.shape {
            Shape::Components(map) => {
                for (a, part) in &mut parts {
                    // The scale is that of the whole frame: lumping changes no group's size.
                    let m = &self.plan.measurements[*map.get(a)?];
                    let sigma2 = predict::component_variance(&self.frame, self.plan.noise, m)?;
                    part.iter_mut().for_each(|v| *v *= sigma2);
                }
                Some(parts)
            }
            Shape::Tables(tables) => self.gls(frame, tables).ok()?.solve(parts),
            // Rows have no components, and leave out what is empty from the start.
            Shape::Rows(_) => None,
        }
    }

    fn unconstrained(&self, cuboid: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        if let Some(index) = self.plan.exact_above(cuboid) {
            return self.exact_table(index, cuboid);
        }
        match &self.shape {
            Shape::Components(map) => self.frame.rebuild(cuboid, &mut |a| self.component(map, a).map(Some)),
            Shape::Tables(tables) if self.one_table(tables, cuboid) => {
                let from = &tables[0].cuboid;
                let values = self.values(0, self.frame.len(from))?;
                Ok(self.frame.roll_up(from, cuboid, values.iter().map(|&v| v as f64).collect()))
            }
            Shape::Tables(tables) => {
                self.solve_tables(tables, cuboid)?;
                self.frame.rebuild(cuboid, &mut |a| {
                    if let Some(index) = self.plan.exact_above(a) {
                        return self.exact_component(index, a).map(Some);
                    }
                    let part = self.cache.get(a);
                    part.map(|p| Some(p.to_vec())).ok_or_else(|| RecoverError::NotHeld(self.cube.describe(a)))
                })
            }
            Shape::Rows(written) => {
                let of = written.cuboid();
                let read = |index, count| self.values(index, count);
                let cells = written.cells(&self.plan, self.frame.len(of), &read)?;
                Ok(self.frame.roll_up(of, cuboid, cells))
            }
        }
    }

    /// Whether every single cell of a table can be estimated: of one that is held, rows may leave some open.
    pub fn check_determined(&self, cuboid: &Cuboid) -> Result<(), RecoverError> {
        let Shape::Rows(written) = &self.shape else { return Ok(()) };
        let name = || self.cube.describe(cuboid);
        if !self.holds(cuboid) {
            return Err(RecoverError::NotHeld(name()));
        }
        let sum = |q| written.without_empty(self.frame.pull_back(cuboid, written.cuboid(), q));
        let all = written.solved(&self.plan)?.system().determines(self.frame.len(cuboid), sum);
        if all { Ok(()) } else { Err(RecoverError::NotDetermined(format!("every cell of {}", name()))) }
    }

    /// A table whose sums are the best estimates of all queries that can be estimated from it. It is
    /// [`Recovery::table`], save that rows may determine sums of cells and not the cells: then these are arbitrary, and
    /// only sums for which there are [`Recovery::coefficients`] mean anything.
    pub fn summands(&self, cuboid: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        if !self.holds(cuboid) {
            return Err(RecoverError::NotHeld(self.cube.describe(cuboid)));
        }
        let mut table = self.unconstrained(cuboid)?;
        // Rows leave out what is empty from the start.
        if !self.zeros.is_empty() && !matches!(self.shape, Shape::Rows(_)) {
            let correction = self.correction()?;
            let less = Gls::new(&self.frame, &[], true).build(cuboid, &correction);
            table.iter_mut().zip(less).for_each(|(v, less)| *v -= less);
            self.zeros.clear(&self.cube, &Lumped::whole(&self.frame), cuboid, &mut table);
        }
        Ok(table)
    }

    /// A roll-up of an exact table: whole numbers.
    fn exact_table(&self, index: usize, cuboid: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        let from = &self.plan.exact[index];
        let counts = self.source.exact(index)?;
        if counts.len() != self.frame.len(from) {
            return Err(RecoverError::WrongLength(index, counts.len(), self.frame.len(from)));
        }
        Ok(self.frame.roll_up(from, cuboid, counts.into_iter().map(|v| v as f64).collect()))
    }

    /// `r_A = P_A M_A x`, from an exact table above.
    fn exact_component(&self, index: usize, a: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        let table = self.exact_table(index, a)?;
        let mut part = Vec::new();
        self.frame.decompose(a, table, &mut |b, values| {
            if b == *a {
                part = values;
            }
        });
        Ok(part)
    }

    /// `r̂_A = P_A y_A / m_A`.
    fn component(&self, map: &HashMap<Cuboid, usize>, a: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        if let Some(known) = self.cache.get(a) {
            return Ok(known.to_vec());
        }
        if let Some(index) = self.plan.exact_above(a) {
            let part = self.exact_component(index, a)?;
            self.cache.offer(a, &part);
            return Ok(part);
        }
        let &index = map.get(a).ok_or_else(|| RecoverError::NotHeld(self.cube.describe(a)))?;
        let values = self.values(index, self.frame.contrasts(a))?;
        let scale = self.component_scale(index, a)?;
        let mut part = self.frame.expand(a, values.iter().map(|&v| v as f64).collect());
        part.iter_mut().for_each(|v| *v /= scale);
        self.cache.offer(a, &part);
        Ok(part)
    }

    /// The integers that stand for one unit of the component.
    fn component_scale(&self, index: usize, a: &Cuboid) -> Result<f64, RecoverError> {
        if matches!(self.plan.measurements[index].block, Block::Pairs(_)) {
            return Ok(1.0);
        }
        cost::component_scale(&self.frame, a)
            .map(|m| m as f64)
            .ok_or_else(|| RecoverError::Plan(format!("the scale of {} does not fit", self.cube.describe(a))))
    }

    /// Recovers all components below `cuboid` (all there are, when axes are unbalanced) into the cache.
    fn solve_tables(&self, tables: &[Weighted], cuboid: &Cuboid) -> Result<(), RecoverError> {
        let _one_at_a_time = self.cache.solving();
        let missing = self
            .frame
            .below(cuboid)
            .into_iter()
            .filter(|a| self.cache.get(a).is_none() && self.plan.exact_above(a).is_none())
            .collect::<Vec<_>>();
        if missing.is_empty() {
            return Ok(());
        }
        let gls = self.gls(&self.frame, tables)?;
        if self.balanced {
            self.check_room(&self.frame, std::iter::once(cuboid))?;
        }
        let mut right = Parts::new();
        for (index, t) in tables.iter().enumerate() {
            let into = if self.balanced { t.cuboid.meet(cuboid) } else { t.cuboid.clone() };
            if self.balanced && !missing.iter().any(|a| a.is_below(&into)) {
                continue;
            }
            let values =
                self.values(index, value_count(&self.frame, &self.plan.measurements[index].block))?;
            let values = values.into_iter().map(|v| v as f64).collect();
            let mut table = self.frame.roll_up(&t.cuboid, &into, t.to_cells(&self.frame, values));
            // F_Bᵀ pushes means; over balanced axes a mean is a sum by the number of cells.
            let weight = t.weight * self.frame.cells(&into) / self.frame.cells(&t.cuboid);
            table.iter_mut().for_each(|v| *v *= weight);
            Gls::gather(&self.frame, &into, table, &mut right);
        }
        if self.balanced {
            // What is known already was gathered from some of the tables only: it must not be solved again.
            right.retain(|a, _| missing.contains(a));
        }
        let solved = gls.solve(right).ok_or_else(|| RecoverError::NotHeld(self.cube.describe(cuboid)))?;
        for (a, part) in solved {
            // A component that was known before may have been gathered from some of its tables only.
            if !self.balanced || missing.contains(&a) {
                self.cache.keep(a, part);
            }
        }
        Ok(())
    }

    /// Lumps the nodes of an axis that neither a query (by `colour`, of the nodes of rung `at`) nor the measurements tell
    /// apart. With the axis, one node of each lump of each rung up to `at`.
    pub fn lump(&self, axis: &Axis, at: usize, colour: &[u32]) -> (Axis, Vec<Vec<u32>>) {
        let (axis, lump_of) = if self.lumps { axis.lump(at, colour) } else { axis.apart() };
        let firsts = (0..=at)
            .map(|r| {
                let mut first = vec![0; axis.rungs[r].len()];
                for (node, &lump) in lump_of[r].iter().enumerate().rev() {
                    first[lump as usize] = node as u32;
                }
                first
            })
            .collect();
        (axis, firsts)
    }

    /// A frame whose axes tell apart only what a query tells apart: `axes` replace those of the dimensions
    /// they name, with one node of each lump of each rung.
    pub fn lumped_frame(&self, axes: impl IntoIterator<Item = (usize, Axis, Vec<Vec<u32>>)>) -> Lumped {
        let mut lumped = Lumped { frame: Frame { axes: self.lumped.clone() }, nodes: BTreeMap::new() };
        for (d, axis, nodes) in axes {
            lumped.frame.axes[d] = axis;
            lumped.nodes.insert(d, nodes);
        }
        lumped
    }

    /// The structural zeros.
    pub fn zeros(&self) -> &Zeros {
        &self.zeros
    }

    /// What every independent noise is multiplied by in the error of `Σ q · table(cuboid)`: for each measurement
    /// that has a part in it one coefficient for each of its noises, or each lump of them: see [`Recovery::copies`].
    ///
    /// `lumped` is a frame on whose cells `query` is given (the value every real cell of a lump has). It must tell apart
    /// what the [`Recovery::zeros`] tell apart.
    /// Coefficients of several queries over one frame belong to the same noises, so sums of queries are sums
    /// of coefficients.
    pub fn coefficients(
        &self,
        lumped: &Lumped,
        cuboid: &Cuboid,
        mut query: Vec<f64>,
    ) -> Result<Vec<(usize, Vec<f64>)>, RecoverError> {
        let frame = &lumped.frame;
        if !self.holds(cuboid) {
            return Err(RecoverError::NotHeld(self.cube.describe(cuboid)));
        }
        let mut out = Vec::new();
        if !self.zeros.is_empty() {
            self.zeros.clear(&self.cube, lumped, cuboid, &mut query);
            if query.iter().all(|q| *q == 0.0) {
                return Ok(out);
            }
        }
        match &self.shape {
            Shape::Components(map) => {
                for (a, mut q) in self.parts(lumped, cuboid, query)? {
                    if self.plan.exact_above(&a).is_some() {
                        continue;
                    }
                    let &index = map.get(&a).ok_or_else(|| RecoverError::NotHeld(self.cube.describe(&a)))?;
                    let scale = self.component_scale(index, &a)?;
                    q.iter_mut().for_each(|v| *v /= scale);
                    if matches!(self.plan.measurements[index].block, Block::Pairs(_)) {
                        frame.keep_contrasts(&a, &mut q);
                    }
                    out.push((index, q));
                }
            }
            Shape::Tables(tables) if self.one_table(tables, cuboid) && self.zeros.is_empty() => {
                out.push((0, frame.pull_back(cuboid, &tables[0].cuboid, query)));
            }
            Shape::Tables(tables) => {
                let gls = self.gls(frame, tables)?;
                let mut q = self.parts(lumped, cuboid, query)?;
                q.retain(|a, _| self.plan.exact_above(a).is_none());
                let v = gls.solve(q).ok_or_else(|| RecoverError::NotHeld(self.cube.describe(cuboid)))?;
                for (index, t) in tables.iter().enumerate() {
                    out.push((index, gls.weights(t, &v)));
                }
            }
            Shape::Rows(written) => {
                let query = written.without_empty(frame.pull_back(cuboid, written.cuboid(), query));
                let found = written.coefficients(&self.plan, &query)?;
                out = found.ok_or_else(|| {
                    let name = self.cube.describe(cuboid);
                    RecoverError::NotDetermined(format!("this sum of cells of {name}"))
                })?;
            }
        }
        Ok(out)
    }

    /// A query in components: the one whose unconstrained estimate has the error of the constrained estimate.
    fn parts(&self, lumped: &Lumped, cuboid: &Cuboid, query: Vec<f64>) -> Result<Parts, RecoverError> {
        let frame = &lumped.frame;
        self.check_room(frame, std::iter::once(cuboid))?;
        let mut q = Parts::new();
        Gls::gather(frame, cuboid, query, &mut q);
        if self.zeros.is_empty() {
            return Ok(q);
        }
        let not_held = || RecoverError::NotHeld(self.cube.describe(cuboid));
        let v = self.covariance(frame, q.clone()).ok_or_else(not_held)?;
        let system = self.zeros.system(&self.cube, lumped);
        let steps = self.zero_steps(frame, &system)?;
        let less = system.solve(system.pick(&v), steps, &|parts| self.covariance(frame, parts));
        for (a, less) in less.ok_or_else(not_held)? {
            let part = q.entry(a).or_insert_with(|| vec![0.0; less.len()]);
            part.iter_mut().zip(less).for_each(|(v, less)| *v -= less);
        }
        Ok(q)
    }

    /// For each coefficient of a measurement, how many independent noises it stands for.
    pub fn copies(&self, frame: &Frame, measurement: usize) -> Vec<u64> {
        match &self.plan.measurements[measurement].block {
            Block::Component(c) | Block::Table(c) | Block::Pairs(c) => frame.multiplicity(c),
            block => vec![1; value_count(frame, block)],
        }
    }

    /// The law of each noise of a measurement.
    pub fn noise(&self, measurement: usize) -> NoiseLaw {
        let m = &self.plan.measurements[measurement];
        let scale = m.scale.to_f64();
        match self.plan.noise {
            Noise::Gaussian => NoiseLaw::DiscreteGaussian { variance: scale },
            Noise::Laplace => NoiseLaw::DiscreteLaplace { scale },
        }
    }

    /// The law of the error of `Σ q · table(cuboid)`: exact weights of every independent noise behind it.
    /// `lumped` and `query` as in [`Recovery::coefficients`].
    pub fn error_law(
        &self,
        lumped: &Lumped,
        cuboid: &Cuboid,
        query: Vec<f64>,
    ) -> Result<ErrorLaw, RecoverError> {
        let mut terms = Vec::new();
        for (index, coefficients) in self.coefficients(lumped, cuboid, query)? {
            let noise = self.noise(index);
            for (coefficient, copies) in coefficients.into_iter().zip(self.copies(&lumped.frame, index)) {
                if coefficient != 0.0 {
                    terms.push(Term { coefficient, copies, noise });
                }
            }
        }
        Ok(ErrorLaw::new(terms)?)
    }
}
