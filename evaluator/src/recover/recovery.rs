//! The estimates of one channel of a release, recovered on demand.

use super::context::Context;
use super::estimate::Coefficients;
use super::estimator::Estimator;
use super::gls::{Gls, Parts};
use super::zeros::{self, Imposed, Lumped, Unconstrained, Zeros};
use super::{RecoverError, Source};
use crate::cube::{Axis, Cube, Cuboid, Frame, Integers, Kin, Rung};
use crate::law::{ErrorLaw, NoiseLaw, Term};
use crate::plan::{Block, Plan, Subject, limits};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// The estimates of one channel of a release, recovered on demand.
pub struct Recovery<S> {
    pub(super) context: Context<S>,
    pub(super) estimator: Estimator,
    zeros: Imposed,
    /// For each dimension whether nodes that a query cannot tell apart may be lumped: the measurements are alike under every
    /// exchange of siblings. Signed sums are not; differences of pairs are up to their sign, which tells as soon as noises have a centre.
    lumps: Vec<bool>,
    /// For each dimension whether only what hangs together from one node may be: its nodes have weights.
    prunes: Vec<bool>,
    /// For each dimension whether a basis tells a level of it: each of its rows is of many nodes, so that none of them can be left out.
    bases: Vec<bool>,
    /// For each dimension whether what hangs below a node makes no difference to a query that does not tell it apart, whatever its shape: components are
    /// measured one by one, and only what is declared empty holds them together.
    collapses: Vec<bool>,
    /// Every axis with all its nodes lumped as far as they go, once a query leaves it out.
    lumped: Vec<OnceLock<Axis>>,
    kin: Vec<OnceLock<Kin>>,
}

impl<S: Source> Recovery<S> {
    /// Prepares to recover the rows of measurements made by `plan`.
    pub fn new(cube: impl Into<Arc<Cube>>, plan: Plan, source: S) -> Result<Recovery<S>, RecoverError> {
        Recovery::of(&Subject::Rows, cube, plan, source)
    }

    /// The same of any channel of the plan.
    pub fn of(
        subject: &Subject,
        cube: impl Into<Arc<Cube>>,
        plan: Plan,
        source: S,
    ) -> Result<Recovery<S>, RecoverError> {
        let (cube, first) = (cube.into(), plan.numbers(subject).start);
        let plan = plan.alone(subject);
        let frame = Arc::new(Frame::new(&cube, &plan.levels));
        Recovery::over(frame, subject, cube, (plan, first), source)
    }

    /// The same over the frame of its levels, of a plan of this channel alone, whose first measurement has this number in the source.
    pub(crate) fn over(
        frame: Arc<Frame>,
        subject: &Subject,
        cube: Arc<Cube>,
        plan: (Plan, usize),
        source: S,
    ) -> Result<Recovery<S>, RecoverError> {
        let context = Context::new(cube, frame, plan, source);
        let (frame, plan) = (&context.frame, &context.plan);
        let mut lumps = vec![true; frame.axes.len()];
        let mut prunes = vec![false; frame.axes.len()];
        let mut bases = vec![false; frame.axes.len()];
        for m in &plan.only().measurements {
            // Of most kinds it is the same for all dimensions: of a hundred of them they are not asked one by one.
            match &m.block {
                Block::Based(block) => {
                    lumps.iter_mut().enumerate().for_each(|(d, l)| *l &= m.block.lumps(d));
                    for (d, .., told) in block.dimensions() {
                        prunes[d] |= told.weights().is_some() && plan.zeros.is_empty();
                        bases[d] |= told.basis().is_some();
                    }
                }
                Block::Pairs(_) if plan.centres().is_some() => lumps.fill(false),
                block if !block.lumps(0) => lumps.fill(false),
                _ => {}
            }
        }
        prunes.iter_mut().zip(&bases).for_each(|(prunes, based)| *prunes &= !based);
        let mut estimator = Estimator::of(&context)?;
        let apart = matches!(estimator, Estimator::Components(_)) && !plan.zeros.is_empty();
        let collapse = |(a, lumps): (&Axis, &bool)| apart && *lumps && !a.is_balanced();
        let collapses: Vec<bool> = frame.axes.iter().zip(&lumps).map(collapse).collect();
        let zeros =
            Zeros::of_plan(&context.cube, &context.frame, &context.plan).map_err(RecoverError::Plan)?;
        // Tables of rows tell all these cells apart; those of sums may be coarser, and nothing of them is known to be zero then.
        let zeros = match subject {
            Subject::Rows => zeros,
            _ => zeros.only(|cuboid| estimator.each().holds(&context, cuboid)),
        };
        if let Estimator::Rows(written) = &mut estimator
            && !zeros.is_empty()
        {
            let mut open = vec![1.0; context.frame.len(written.cuboid())];
            zeros.clear(&context.cube, &Lumped::whole(&context.frame), written.cuboid(), &mut open);
            written.leave_out(open.into_iter().map(|v| v == 0.0).collect());
        }
        let kin = context.frame.axes.iter().map(|_| OnceLock::new()).collect();
        let lumped = context.frame.axes.iter().map(|_| OnceLock::new()).collect();
        let zeros = Imposed::new(zeros);
        let recovery = Recovery { context, estimator, zeros, lumps, prunes, bases, collapses, lumped, kin };
        if let Some(z) = recovery.zeros().iter().find(|z| !recovery.holds(&z.cuboid)) {
            return Err(RecoverError::Plan(format!("no table holds the cells where {}", z.condition)));
        }
        if let Some(top) = recovery.zeros().tops().iter().find(|t| !recovery.holds(t)) {
            return Err(recovery.context.not_held(top));
        }
        // Every condition is looked up in every cell of these.
        let cells: f64 = recovery.zeros().tops().iter().map(|t| recovery.frame().cells(t)).sum();
        if cells * recovery.zeros().iter().count() as f64 > limits::work(recovery.context.values) as f64 {
            return Err(RecoverError::TooMuch("imposing the zeros".into()));
        }
        Ok(recovery)
    }

    /// Refuses zeros that take more work to impose than a reader spends. Every answer needs them, so a plan is asked before it is made.
    pub fn check_zeros(&self) -> Result<(), RecoverError> {
        if self.zeros().is_empty() {
            return Ok(());
        }
        let lumped = Lumped::whole(self.frame());
        let system = self.zeros().system(self.cube(), &lumped);
        self.most_steps(self.frame(), &system, usize::MAX).map(|_| ())
    }

    /// From now on its dimensions are these: the same but for groups of a reader's own.
    pub(crate) fn put_in(&mut self, cube: Arc<Cube>) {
        self.context.cube = cube;
    }

    /// The dimensions.
    pub fn cube(&self) -> &Cube {
        &self.context.cube
    }

    /// The plan behind the measurements, of this channel [alone](Plan::alone).
    pub fn plan(&self) -> &Plan {
        &self.context.plan
    }

    /// Where the measurements come from.
    pub fn source(&self) -> &S {
        &self.context.source
    }

    /// The released integers of a measurement, what recipients know of a centre taken off.
    pub fn measured(&self, measurement: usize) -> Result<Integers, RecoverError> {
        self.context.read(measurement)
    }

    /// The axes of the levels in use.
    pub fn frame(&self) -> &Frame {
        &self.context.frame
    }

    /// The structural zeros.
    pub fn zeros(&self) -> &Zeros {
        self.zeros.zeros()
    }

    /// The cuboids that were measured or are wholly known, coarsest description of what can be answered.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Cuboid> {
        self.plan().only().measurements.iter().map(|m| m.block.cuboid()).chain(&self.plan().exact)
    }

    /// Whether a table over levels in use can be recovered: of its cells, where rows were measured, what these determine.
    pub fn holds(&self, cuboid: &Cuboid) -> bool {
        let axes = &self.frame().axes;
        let in_use =
            cuboid.iter().all(|at| axes.get(at.dimension).is_some_and(|axis| axis.rung(at.level).is_some()));
        in_use && self.estimator.each().holds(&self.context, cuboid)
    }

    /// Whether a lumped axis may be used for a dimension.
    pub(crate) fn lumps(&self, dimension: usize) -> bool {
        self.lumps.get(dimension).is_some_and(|&lumps| lumps)
    }

    /// Whether what hangs below a node makes no difference to a query that does not tell it apart.
    pub(crate) fn collapses(&self, dimension: usize) -> bool {
        self.collapses.get(dimension).is_some_and(|&collapses| collapses)
    }

    /// Whether an answer takes a solution of the normal equations: whole tables over groups of unequal size.
    pub(crate) fn couples(&self) -> bool {
        !self.context.balanced && matches!(self.estimator, Estimator::Tables(_))
    }

    /// Whether nodes of a dimension have weights, so that no two groups look alike.
    pub(crate) fn prunes(&self, dimension: usize) -> bool {
        !self.lumps(dimension) && self.prunes.get(dimension).is_some_and(|&prunes| prunes)
    }

    /// Whether a basis tells a level of a dimension: then its axis cannot be [pruned](Axis::prune).
    pub(crate) fn has_basis(&self, dimension: usize) -> bool {
        self.bases.get(dimension).is_some_and(|&based| based)
    }

    /// Whether a law takes more than a sum over components, so that not very many are compared.
    pub(crate) fn is_slow(&self) -> bool {
        self.couples() || self.constrained() && matches!(self.estimator, Estimator::Based(_))
    }

    pub(super) fn check_held(&self, cuboid: &Cuboid) -> Result<(), RecoverError> {
        if self.holds(cuboid) { Ok(()) } else { Err(self.context.not_held(cuboid)) }
    }

    /// The best estimate of a table, row-major with the last dimension fastest. Consistent with every other
    /// table of the release, unbiased, not rounded: cells may be negative.
    ///
    /// Of levels between those in use the sums of the next finer one that is.
    pub fn table(&self, cuboid: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        let of = self.frame().telling(cuboid).ok_or_else(|| self.context.not_held(cuboid))?;
        self.check_determined(&of)?;
        let table = self.summands(&of)?;
        if of == *cuboid {
            return Ok(table);
        }
        let frame = Frame::new(self.cube(), &Frame::levels_of(self.cube(), [&of, cuboid]));
        Ok(frame.roll_up(&of, cuboid, table))
    }

    /// Whether every single cell of a table can be estimated: of one that is held, rows may leave some open.
    pub(crate) fn check_determined(&self, cuboid: &Cuboid) -> Result<(), RecoverError> {
        let Estimator::Rows(written) = &self.estimator else { return Ok(()) };
        self.check_held(cuboid)?;
        match written.determines(&self.context, cuboid)? {
            true => Ok(()),
            false => {
                let name = self.cube().describe(cuboid);
                Err(RecoverError::NotDetermined(format!("every cell of {name}")))
            }
        }
    }

    /// A table whose sums are the best estimates of all queries that can be estimated from it. It is
    /// [`Recovery::table`], save that rows may determine sums of cells and not the cells: then these are arbitrary, and
    /// only sums for which there are [`Recovery::coefficients`] mean anything.
    pub(crate) fn summands(&self, cuboid: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        self.check_held(cuboid)?;
        let table = Unconstrained::table(self, cuboid)?;
        if !self.constrained() {
            return Ok(table);
        }
        self.zeros.table(self, cuboid, table)
    }

    /// The same on a frame of which some axes are pruned, from what is beside the nodes that are told apart; for each node that stands for others what
    /// one has whose groups are as the first's: see [`Axis::times`]. `None` where that is not enough: what is known exactly, or to be empty, weighs on everything.
    pub(crate) fn near(&self, near: &Frame, cuboid: &Cuboid) -> Result<Option<Vec<f64>>, RecoverError> {
        self.check_held(cuboid)?;
        if self.constrained() || !self.plan().exact.is_empty() {
            return Ok(None);
        }
        self.estimator.each().near(&self.context, near, cuboid).transpose()
    }

    /// Whether zeros are imposed on what the estimator says: rows leave out what is empty from the start.
    fn constrained(&self) -> bool {
        !self.zeros().is_empty() && !matches!(self.estimator, Estimator::Rows(_))
    }

    /// Lumps the nodes of a dimension's axis that neither a query (by `colour`, of the nodes of rung `at`) nor the measurements tell
    /// apart. With the axis, one node of each lump of each rung up to `at`.
    pub(crate) fn lump(&self, dimension: usize, at: usize, colour: &[u32]) -> (Axis, Vec<Vec<u32>>) {
        let axis = &self.frame().axes[dimension];
        let (axis, lump_of) = match self.lumps(dimension) {
            true if self.collapses(dimension) => axis.collapse(at, colour),
            true => axis.lump(at, colour),
            false if self.prunes(dimension) => return self.prune(dimension, at, colour, most(colour)),
            false => axis.apart(),
        };
        firsts(axis, at, &lump_of)
    }

    /// [`Axis::prune`] for nodes most of which have the usual colour.
    pub(crate) fn prune(
        &self,
        dimension: usize,
        at: usize,
        colour: &[u32],
        usual: u32,
    ) -> (Axis, Vec<Vec<u32>>) {
        let axis = &self.frame().axes[dimension];
        let others = (0u32..).zip(colour).filter(|(_, c)| **c != usual).map(|(node, _)| node);
        let others: Vec<u32> = others.collect();
        // Of few nodes the way to the top, and what hangs beside it.
        if others.len() <= colour.len() / 8 {
            return axis.prune_to(at, &others, |node| colour[node as usize], self.kin(dimension));
        }
        let (axis, lump_of) = axis.prune(at, colour);
        firsts(axis, at, &lump_of)
    }

    /// What hangs where in a dimension's axis.
    pub(crate) fn kin(&self, dimension: usize) -> &Kin {
        self.kin[dimension].get_or_init(|| Kin::new(&self.frame().axes[dimension]))
    }

    /// A frame whose axes tell apart only what a query tells apart: `axes` replace those of the dimensions
    /// they name, with one node of each lump of each rung.
    pub(crate) fn lumped_frame(
        &self,
        axes: impl IntoIterator<Item = (usize, Axis, Vec<Vec<u32>>)>,
    ) -> Lumped {
        let (mut named, mut nodes) = (BTreeMap::new(), BTreeMap::new());
        for (d, axis, own) in axes {
            named.insert(d, axis);
            nodes.insert(d, own);
        }
        let whole = |(d, axis): (usize, &Axis)| match (self.lumps[d], self.prunes[d]) {
            (true, _) if self.collapses[d] => axis.collapse(0, &[0]).0,
            (true, _) => axis.lump(0, &[0]).0,
            (false, true) => axis.prune(0, &[0]).0,
            (false, false) => axis.clone(),
        };
        let of = |(d, axis)| match named.remove(&d) {
            Some(axis) => axis,
            None => self.lumped[d].get_or_init(|| whole((d, axis))).clone(),
        };
        let axes = self.frame().axes.iter().enumerate().map(of).collect();
        Lumped { frame: Frame { axes }, nodes }
    }

    /// What every independent noise is multiplied by in the error of `Σ q · table(cuboid)`: for each measurement
    /// that has a part in it one coefficient for each of its noises, or each lump of them: see [`Recovery::copies`].
    ///
    /// `lumped` is a frame on whose cells `query` is given (the value every real cell of a lump has). It must tell apart
    /// what the [`Recovery::zeros`] tell apart.
    /// Coefficients of several queries over one frame belong to the same noises, so sums of queries are sums
    /// of coefficients.
    pub(crate) fn coefficients(
        &self,
        lumped: &Lumped,
        cuboid: &Cuboid,
        mut query: Vec<f64>,
    ) -> Result<Vec<(usize, Vec<f64>)>, RecoverError> {
        let (context, estimator, frame) = (&self.context, self.estimator.each::<S>(), &lumped.frame);
        self.check_held(cuboid)?;
        if context.is_exact(cuboid) {
            return Ok(Coefficients::new());
        }
        if !self.zeros().is_empty() {
            self.zeros().clear(&context.cube, lumped, cuboid, &mut query);
            if query.iter().all(|q| *q == 0.0) {
                return Ok(Coefficients::new());
            }
        }
        if !self.constrained()
            && let Some(direct) = estimator.direct_coefficients(context, frame, cuboid, &query)
        {
            return direct;
        }
        context.check_room(frame, std::iter::once(cuboid))?;
        let mut parts = Parts::new();
        Gls::gather(frame, cuboid, query, &mut parts);
        if self.constrained() {
            parts = self.zeros.query(self, lumped, cuboid, parts)?;
        }
        parts.retain(|a, _| !context.is_exact(a));
        estimator.coefficients(context, frame, parts)
    }

    /// What `Σ q · table(cuboid)` may be off by beside its noise: nothing but where tables follow from inverses in doubles. Then it is
    /// certified: see [`crate::plan::basis::Inverse::residual`].
    pub(crate) fn slack(&self, cuboid: &Cuboid, query: &[f64]) -> Result<f64, RecoverError> {
        let Estimator::Based(based) = &self.estimator else { return Ok(0.0) };
        let largest = query.iter().fold(0.0f64, |m, q| m.max(q.abs()));
        based.slack(&self.context, cuboid, largest)
    }

    /// How many coefficients a figure of a table may have where nothing is lumped; 0 where everything can be.
    pub(crate) fn coefficients_behind(&self, cuboid: &Cuboid) -> f64 {
        match &self.estimator {
            Estimator::Based(based) => based.coefficients_behind(&self.context, cuboid),
            _ => 0.0,
        }
    }

    /// Whether each coefficient of a measurement stands for one noise, whatever the frame.
    pub(crate) fn copies_are_one(&self, measurement: usize) -> bool {
        let Block::Based(block) = &self.plan().only().measurements[measurement].block else { return false };
        block.axes.iter().all(|told| told.basis().is_some())
    }

    /// The cell of a table that is known least well, where that takes no laws.
    pub(crate) fn worst_cell(&self, cuboid: &Cuboid) -> Result<Option<Vec<u32>>, RecoverError> {
        let Estimator::Based(based) = &self.estimator else { return Ok(None) };
        // What empty cells tell is not the same for all cells of a kind.
        if self.constrained() {
            return Ok(None);
        }
        based.worst_cell(&self.context, cuboid)
    }

    /// For each coefficient of a measurement, how many independent noises it stands for.
    pub(crate) fn copies(&self, frame: &Frame, measurement: usize) -> Vec<u64> {
        self.plan().only().measurements[measurement].block.copies(frame)
    }

    /// The laws of the independent noises that each noise of a measurement is the sum of: one, but in nested copies.
    pub(crate) fn noise(&self, measurement: usize) -> Vec<NoiseLaw> {
        noise_of(self.plan(), measurement)
    }

    /// What every noise of the release has in common beside its own: a secret centre around its mean. With which weight it enters is
    /// for [`Recovery::shift`] to say.
    pub(crate) fn centre(&self) -> Option<NoiseLaw> {
        self.plan().centres().map(|centres| NoiseLaw::Uniform { reach: f64::from(centres.reach) })
    }

    /// What the centre is multiplied by in an error with these coefficients: their sum, for it is in every noise. What cancels in exact
    /// arithmetic leaves a trace in floating point; such a trace is nothing.
    pub(crate) fn shift(&self, coefficients: impl Iterator<Item = (f64, u64)>) -> f64 {
        let (sum, size) = coefficients.fold((0.0, 0.0), |(sum, size): (f64, f64), (c, copies)| {
            let all = c * copies as f64;
            (sum + all, size + all.abs())
        });
        if sum.abs() <= 1e-12 * size { 0.0 } else { sum }
    }

    /// The law of the error of `Σ q · table(cuboid)`: exact weights of every independent noise behind it.
    /// `lumped` and `query` as in [`Recovery::coefficients`].
    pub fn error_law(
        &self,
        lumped: &Lumped,
        cuboid: &Cuboid,
        query: Vec<f64>,
    ) -> Result<ErrorLaw, RecoverError> {
        let (mut terms, mut shares) = (Vec::new(), Vec::new());
        for (index, coefficients) in self.coefficients(lumped, cuboid, query)? {
            let noises = self.noise(index);
            for (coefficient, copies) in coefficients.into_iter().zip(self.copies(&lumped.frame, index)) {
                if coefficient != 0.0 {
                    shares.push((coefficient, copies));
                    terms.extend(noises.iter().map(|&noise| Term { coefficient, copies, noise }));
                }
            }
        }
        if let Some(noise) = self.centre() {
            terms.push(Term { coefficient: self.shift(shares.into_iter()), copies: 1, noise });
        }
        Ok(ErrorLaw::new(terms)?)
    }
}

/// An axis with the first node of each lump of its rungs up to `at`.
fn firsts(axis: Axis, at: usize, lump_of: &[Vec<u32>]) -> (Axis, Vec<Vec<u32>>) {
    let of = |(rung, lumps): (&Rung, &Vec<u32>)| {
        let mut first = vec![0; rung.len()];
        for (node, &lump) in lumps.iter().enumerate().rev() {
            first[lump as usize] = node as u32;
        }
        first
    };
    let firsts = axis.rungs.iter().zip(lump_of).take(at + 1).map(of).collect();
    (axis, firsts)
}

/// A colour that more than half of the nodes have, where one is; otherwise any (Boyer & Moore 1981).
fn most(colour: &[u32]) -> u32 {
    let vote = |(most, votes): (u32, usize), &c: &u32| match votes {
        0 => (c, 1),
        n => (most, if c == most { n + 1 } else { n - 1 }),
    };
    colour.iter().fold((0, 0), vote).0
}

/// The laws of the independent noises in each integer of a plan's measurement.
pub fn noise_of(plan: &Plan, measurement: usize) -> Vec<NoiseLaw> {
    plan.layers(measurement).into_iter().map(|s| plan.noise.law(s.to_f64())).collect()
}

impl<S: Source> Unconstrained for Recovery<S> {
    fn cube(&self) -> &Cube {
        &self.context.cube
    }

    fn frame(&self) -> &Frame {
        &self.context.frame
    }

    /// The estimates that know of no zeros.
    fn table(&self, cuboid: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        let (context, estimator) = (&self.context, self.estimator.each::<S>());
        if let Some(table) = context.exact_table(cuboid).or_else(|| estimator.direct_table(context, cuboid)) {
            return table;
        }
        estimator.prepare(context, cuboid)?;
        context.frame.rebuild(cuboid, &mut |a| {
            if let Some(known) = context.cache.get(a) {
                return Ok(Some(known.to_vec()));
            }
            if let Some(part) = context.exact_component(a) {
                return part.inspect(|part| context.cache.offer(a, part)).map(Some);
            }
            estimator.component(context, a).map(Some)
        })
    }

    /// `N⁻¹` of components: the covariance of the unconstrained estimates. Exact ones have none.
    fn covariance(&self, frame: &Frame, mut parts: Parts) -> Option<Parts> {
        parts.retain(|a, _| !self.context.is_exact(a));
        self.estimator.each().covariance(&self.context, frame, parts)
    }

    fn lumped(&self, dimension: usize, colour: &[u32]) -> (Axis, Vec<Vec<u32>>) {
        let top = self.context.frame.axes.get(dimension).map_or(0, |axis| axis.rungs.len().saturating_sub(1));
        self.lump(dimension, top, colour)
    }

    fn mixes(&self) -> bool {
        matches!(self.estimator, Estimator::Based(_))
    }

    fn most_steps(&self, frame: &Frame, system: &zeros::System, most: usize) -> Result<usize, RecoverError> {
        self.context.check_room(frame, system.tables())?;
        let covariance = self.estimator.each::<S>().step(&self.context, frame, &mut system.tables());
        self.context.steps(system.step() + covariance, most)
    }
}
