//! Structural zeros: cells that are known to be empty whatever the data, imposed on every estimate.
//!
//! `Z x = 0` is an equality constraint, so the best linear unbiased estimate under it is the unconstrained one minus
//! its regression on what it says of those cells: with `N⁻¹` the covariance of the unconstrained components,
//!
//! * estimates: `r̂ − N⁻¹ Zᵀ λ`, where `(Z N⁻¹ Zᵀ) λ = Z r̂`;
//! * a query `q` has the error of the query `q − Zᵀ λ`, where `(Z N⁻¹ Zᵀ) λ = Z N⁻¹ q`.
//!
//! Both are one symmetric system, solved by conjugate gradients without a matrix. `Z` takes out of each of
//! the finest tables the cells that are empty: those all of whose finest cells are declared. On lumped axes it works as on
//! whole ones, as long as no lump mixes declared and other cells.
//!
//! The condition is public knowledge and the estimates are already released: imposing it costs no privacy.

use super::RecoverError;
use super::gls::{Gls, Parts};
use crate::cube::{Axis, Cube, Cuboid, Filter, Frame, Level, required_level};
use crate::numeric::conjugate::{self, Rules};
use crate::plan::{Form, Plan, Seen, limits};
use crate::sql::Query;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// One condition.
#[derive(Debug, Clone)]
pub struct Zero {
    /// As the spec says it.
    pub condition: String,
    /// The coarsest table in use whose cells it can tell apart.
    pub cuboid: Cuboid,
    filter: Filter,
}

/// How closely conjugate gradients solve the constraints, relative to the right-hand side.
const TOLERANCE: f64 = 1e-13;
/// What rounding may leave of a number that is 0, relative to the numbers it is made of. What tables without noise say of declared cells,
/// for instance, is 0 already: nothing can be taken off it, and all that is seen there is rounding.
const ROUNDING: f64 = 1e-14;
/// Constraints that are this far from being met, relative to the right-hand side, are not imposed.
const REFUSED: f64 = 1e-7;
/// By how much the squared residual may exceed its least before the search has run out of digits.
const GROWTH: f64 = 1e4;
const MOST_STEPS: usize = 4000;
/// The most classes of cells that all conditions together may tell apart on the way, times the parts they consist of.
const MOST_CLASSES: u64 = 1 << 23;
/// The most numbers all resolved conditions may take.
const MOST_NUMBERS: usize = 1 << 24;

/// The filter of a condition: what may stand after WHERE.
pub fn filter(cube: &Cube, condition: &str) -> Result<Filter, String> {
    let query = Query::parse(&format!("SELECT COUNT(*) FROM t WHERE {condition}"), cube);
    let query = query.map_err(|e| e.to_string())?;
    // A condition ends where WHERE ends: nothing of a longer query may hide in it.
    let plain = Query::parse("SELECT COUNT(*) FROM t", cube).map_err(|e| e.to_string())?;
    // Categories without a number are not in a range: such cells are not declared to be empty.
    if (Query {
        filter: Filter::everything(),
        left_out: Vec::new(),
        named: plain.named.clone(),
        ..query.clone()
    }) != plain
    {
        return Err("it is more than a condition: only what can stand after WHERE is possible".into());
    }
    if query.filter.dims.is_empty() {
        return Err(if query.filter.weights == [0.0] {
            "no cell satisfies it".into()
        } else {
            "every cell satisfies it: nothing would be left".into()
        });
    }
    Ok(query.filter)
}

/// A bound on the work of resolving a condition, from its text alone: a comparison of a dimension splits its nodes in two, so
/// `k` comparisons tell at most `2^k` classes of them apart; each AND and OR goes through the classes of all dimensions.
fn intricacy(cube: &Cube, condition: &str) -> u64 {
    let text = condition.to_lowercase();
    let count = |word: &str| text.matches(word).count() as u64;
    let parts = 1 + count("and") + count("or");
    let mut classes = 1u64;
    for d in &cube.dimensions {
        let name = d.name.to_lowercase();
        // Inside quotes a quote is doubled.
        let named = if name.contains('"') { parts } else { count(&name).min(63) };
        if named > 0 {
            let nodes = d.levels.last().map_or(1, |l| l.len()) as u64;
            classes = classes.saturating_mul(nodes.min(1u64.checked_shl(named as u32).unwrap_or(u64::MAX)));
        }
    }
    classes.saturating_mul(parts)
}

impl Zero {
    /// Resolves a condition against the levels in use.
    pub fn new(cube: &Cube, frame: &Frame, condition: &str) -> Result<Zero, String> {
        Zero::over(cube, frame, condition.into(), filter(cube, condition)?)
    }

    fn over(cube: &Cube, frame: &Frame, condition: String, filter: Filter) -> Result<Zero, String> {
        let mut levels = Vec::new();
        for c in &filter.dims {
            let needed = required_level(cube, c.dim, &c.class_of, 0);
            let Some(level) = frame.axes[c.dim].level_for(needed) else {
                return Err(format!("no table tells {} apart", cube.level_name(Level::new(c.dim, needed))));
            };
            levels.push(Level::new(c.dim, level));
        }
        Ok(Zero { condition, cuboid: Cuboid::new(levels), filter })
    }

    /// Conditions that share dimensions, as one: a cell may be empty because of several, of which none covers it. Without those that together tell too many
    /// cells apart; each of them then counts by itself, which leaves every estimate unbiased.
    fn joined(list: &[Zero]) -> Vec<(Vec<&Zero>, Filter)> {
        let mut out = Vec::new();
        for group in sharing(list) {
            let [first, others @ ..] = &group[..] else { continue };
            let all = others.iter().try_fold(first.filter.clone(), |all, zero| all.or(&zero.filter));
            if let Ok(all) = all
                && !others.is_empty()
            {
                out.push((group, all));
            }
        }
        out
    }

    /// Whether conditions leave no cell that may be filled.
    pub fn leave_nothing(list: &[Zero]) -> bool {
        Zero::joined(list).iter().any(|(_, all)| all.is_everything())
    }

    /// The cells that are empty: the weight of every other one is 0.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// What it tells apart: dimensions, and the class of each of their finest nodes.
    pub(crate) fn classes(&self) -> impl Iterator<Item = (usize, &[u32])> {
        self.filter.dims.iter().map(|c| (c.dim, c.class_of.as_slice()))
    }

    /// Which finest nodes of a dimension have declared cells; `None` where it is not named, so that all may.
    fn declared(&self, dimension: usize) -> Option<Vec<bool>> {
        let own = self.filter.classes(dimension)?;
        let has = self.filter.weighing(own);
        Some(own.class_of.iter().map(|&class| has.get(class as usize).is_some_and(|is| *is)).collect())
    }

    /// Which cells of a table are empty: those all of whose finest cells satisfy the condition. `None` when there are
    /// none. `node_of` gives for a dimension and level one node for each entry along the axis.
    fn mask(&self, cube: &Cube, table: &Cuboid, node_of: &dyn Fn(Level) -> Vec<u32>) -> Option<Vec<bool>> {
        // Dimension by dimension, classes become entries: an entry is in where all classes below its node are.
        let mut inside: Vec<bool> = self.filter.weights.iter().map(|w| *w != 0.0).collect();
        let mut outer = 1;
        for c in &self.filter.dims {
            let (d, at, classes) = (c.dim, table.at(c.dim), c.classes as usize);
            let finest = cube.dimensions[d].finest();
            let mut below = vec![vec![false; classes]; at.of(cube).len()];
            for (&node, &class) in
                cube.dimensions[d].ancestors(finest, at.level).iter().zip(c.class_of.iter())
            {
                below[node as usize][class as usize] = true;
            }
            let entries = if at.level == 0 { vec![0] } else { node_of(at) };
            let inner = inside.len() / (outer * classes);
            let mut next = Vec::with_capacity(outer * entries.len() * inner);
            for o in 0..outer {
                for &node in &entries {
                    let has = &below[node as usize];
                    next.extend(
                        (0..inner)
                            .map(|i| (0..classes).all(|k| !has[k] || inside[(o * classes + k) * inner + i])),
                    );
                }
            }
            inside = next;
            outer *= entries.len();
        }
        if !inside.contains(&true) {
            return None;
        }
        // The table's other dimensions make no difference.
        let mut at = vec![0usize];
        for level in table.iter() {
            let entries = node_of(level).len();
            let step = usize::from(self.filter.classes(level.dimension).is_some());
            at = at
                .iter()
                .flat_map(|&a| (0..entries).map(move |k| if step == 1 { a * entries + k } else { a }))
                .collect();
        }
        Some(at.into_iter().map(|a| inside[a]).collect())
    }
}

/// All conditions of a release.
pub struct Zeros {
    list: Vec<Zero>,
    /// What several of them say together: see [`Zero::joined`].
    together: Vec<Zero>,
    /// The tables that no other table of the release is finer than: what is imposed on them holds for all.
    tops: Vec<Cuboid>,
}

/// Conditions in groups that share no dimension. A cell is a product over dimensions, so what two groups cover together one of them covers.
fn sharing(list: &[Zero]) -> Vec<Vec<&Zero>> {
    let mut groups: Vec<(FxHashSet<usize>, Vec<&Zero>)> = Vec::new();
    for zero in list {
        let mut own: (FxHashSet<usize>, Vec<&Zero>) = (zero.classes().map(|(d, _)| d).collect(), vec![zero]);
        let (near, apart): (Vec<_>, Vec<_>) =
            groups.drain(..).partition(|(dims, _)| !dims.is_disjoint(&own.0));
        for (dims, zeros) in near {
            own.0.extend(dims);
            own.1.extend(zeros);
        }
        groups = apart;
        groups.push(own);
    }
    groups.into_iter().map(|(_, zeros)| zeros).collect()
}

/// The tables that no other is finer than.
fn finest<'a>(tables: impl Iterator<Item = &'a Cuboid>) -> Result<Vec<Cuboid>, String> {
    let mut seen = FxHashSet::default();
    let tables: Vec<&Cuboid> = tables.filter(|t| seen.insert(*t)).collect();
    // What is finer than a table has all its dimensions: only tables with the rarest of them need be looked at.
    let mut having: BTreeMap<usize, Vec<&Cuboid>> = BTreeMap::new();
    for table in &tables {
        table.iter().for_each(|at| having.entry(at.dimension).or_default().push(table));
    }
    let mut left = limits::work(0);
    let mut out = Vec::new();
    for &table in &tables {
        let rarest = table.iter().filter_map(|at| having.get(&at.dimension)).min_by_key(|list| list.len());
        let others = rarest.unwrap_or(&tables);
        left = left
            .checked_sub(others.len() as u64)
            .ok_or("there are too many tables to impose a condition on")?;
        if !others.iter().any(|&t| t != table && table.is_below(t)) {
            out.push(table.clone());
        }
    }
    Ok(out)
}

/// A frame on whose axes what a query cannot tell apart is lumped.
pub struct Lumped {
    /// The axes.
    pub frame: Frame,
    /// For each axis that may be told apart: for each rung one node of each lump.
    pub nodes: BTreeMap<usize, Vec<Vec<u32>>>,
}

impl Lumped {
    /// Nothing lumped.
    pub fn whole(frame: &Frame) -> Lumped {
        let nodes = frame.axes.iter().map(|a| a.apart().1).enumerate().collect();
        Lumped { frame: frame.clone(), nodes }
    }

    fn node_of(&self, at: Level) -> Vec<u32> {
        let axis = &self.frame.axes[at.dimension];
        let rung = axis.rung(at.level).unwrap_or(0);
        match self.nodes.get(&at.dimension).and_then(|rungs| rungs.get(rung)) {
            Some(nodes) => nodes.clone(),
            // Nothing tells this axis apart, so any node stands for all.
            None => vec![0; axis.rungs[rung].len()],
        }
    }
}

impl Zeros {
    /// Resolves the conditions of a plan.
    pub(crate) fn of_plan(cube: &Cube, frame: &Frame, plan: &Plan) -> Result<Zeros, String> {
        // A table between the levels in use is told by one of them.
        let asked: Vec<Cuboid> =
            plan.only().workload.iter().filter_map(|t| frame.telling(&t.cuboid)).collect();
        let measured = plan.only().measurements.iter().filter(|m| m.block.form() == Form::Table(Seen::Cells));
        Zeros::new(cube, frame, &plan.zeros, asked.iter().chain(measured.map(|m| m.block.cuboid())))
    }

    /// Resolves the conditions of a plan, whose tables these are.
    pub(crate) fn new<'a>(
        cube: &Cube,
        frame: &Frame,
        conditions: &[String],
        tables: impl Iterator<Item = &'a Cuboid>,
    ) -> Result<Zeros, String> {
        let mut list: Vec<Zero> = Vec::new();
        let (mut left, mut numbers) = (MOST_CLASSES, 0usize);
        for condition in conditions {
            let said = |why: String| format!("condition \"{condition}\": {why}");
            let less = left.checked_sub(intricacy(cube, condition));
            left = less.ok_or_else(|| said("it tells too many cells apart".into()))?;
            let zero = Zero::new(cube, frame, condition).map_err(said)?;
            numbers += zero.filter.weights.len() + zero.classes().map(|(_, c)| c.len()).sum::<usize>();
            if numbers > MOST_NUMBERS {
                return Err(said("it is one too many over so large dimensions".into()));
            }
            list.push(zero);
        }
        let tops = if list.is_empty() { Vec::new() } else { finest(tables)? };
        let joined = Zero::joined(&list).into_iter();
        let together = joined.map(|(group, all)| {
            if all.is_everything() {
                return Err("every cell satisfies one of the conditions: nothing would be left".into());
            }
            let condition = group.iter().map(|zero| zero.condition.as_str()).collect::<Vec<_>>().join(" OR ");
            Zero::over(cube, frame, condition, all)
        });
        let together = together.collect::<Result<Vec<_>, _>>()?;
        Ok(Zeros { list, together, tops })
    }

    /// Those over tables that are told.
    pub(super) fn only(mut self, told: impl Fn(&Cuboid) -> bool) -> Zeros {
        self.list.retain(|zero| told(&zero.cuboid));
        self.together.retain(|zero| told(&zero.cuboid));
        if self.list.is_empty() {
            self.tops.clear();
        }
        self
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The finest tables.
    pub fn tops(&self) -> &[Cuboid] {
        &self.tops
    }

    /// The conditions.
    pub fn iter(&self) -> impl Iterator<Item = &Zero> {
        self.list.iter()
    }

    /// What declares cells: each condition, and what several say together.
    fn masks(&self) -> impl Iterator<Item = &Zero> {
        self.list.iter().chain(&self.together)
    }

    /// Sets the weights (or estimates) of all cells of a table that are declared empty to zero.
    pub fn clear(&self, cube: &Cube, lumped: &Lumped, table: &Cuboid, values: &mut [f64]) {
        for zero in self.masks() {
            if let Some(mask) = zero.mask(cube, table, &|level| lumped.node_of(level)) {
                values.iter_mut().zip(mask).filter(|(_, m)| *m).for_each(|(v, _)| *v = 0.0);
            }
        }
    }

    /// Axes on which all nodes are lumped that no declared cell has: those of dimensions that every condition names. `None` where there are none.
    fn near(&self, on: &dyn Unconstrained) -> Option<Lumped> {
        let mut lumped = Lumped::whole(on.frame());
        let mut any = false;
        for (d, axis) in on.frame().axes.iter().enumerate() {
            let Some(top) = axis.rungs.last() else { continue };
            let named = self.list.iter().map(|zero| zero.declared(d)).collect::<Option<Vec<_>>>();
            let Some(named) = named.filter(|named| !named.is_empty()) else { continue };
            let dimension = on.cube().dimensions.get(d)?;
            let mut colour = vec![0; top.len()];
            for (finest, &node) in dimension.ancestors(dimension.finest(), top.level).iter().enumerate() {
                if named.iter().any(|declared| declared.get(finest).is_some_and(|is| *is)) {
                    *colour.get_mut(node as usize)? = node + 1;
                }
            }
            let (lumps, nodes) = on.lumped(d, &colour);
            any |= lumps.rungs.last().is_some_and(|rung| rung.len() < top.len());
            *lumped.frame.axes.get_mut(d)? = lumps;
            lumped.nodes.insert(d, nodes);
        }
        any.then_some(lumped)
    }

    /// The system of equations on a frame.
    pub(crate) fn system<'a>(&'a self, cube: &Cube, lumped: &'a Lumped) -> System<'a> {
        System::new(self, cube, lumped)
    }
}

/// Estimates that know of no zeros: what zeros are imposed on.
pub(super) trait Unconstrained {
    fn cube(&self) -> &Cube;

    fn frame(&self) -> &Frame;

    /// A table.
    fn table(&self, cuboid: &Cuboid) -> Result<Vec<f64>, RecoverError>;

    /// `N⁻¹` of components: the covariance of their estimates. Exact ones have none.
    fn covariance(&self, frame: &Frame, parts: Parts) -> Option<Parts>;

    /// An axis on which nodes of one colour that hang alike are lumped, and one node of each lump for each rung.
    fn lumped(&self, dimension: usize, colour: &[u32]) -> (Axis, Vec<Vec<u32>>);

    /// Whether the noise behind one component is in the estimates of others too, and [`Unconstrained::covariance`] tells of those it is
    /// given alone.
    fn mixes(&self) -> bool;

    /// In how many steps, at most `most`, the zeros' system may be solved.
    fn most_steps(&self, frame: &Frame, system: &System, most: usize) -> Result<usize, RecoverError>;
}

/// The zeros of a release, imposed on the estimates of any estimator. Around each of them the same constraint, by the same
/// solver: `x̂ − N⁻¹Zᵀ(ZN⁻¹Zᵀ)⁻¹Z x̂`.
pub(super) struct Imposed {
    zeros: Zeros,
    /// What the zeros take off the estimated components, `N⁻¹ Zᵀ λ`: worked out when a table is first asked for. Where noises
    /// [mix](Unconstrained::mixes) every table has a part in it, and what is kept is `Zᵀ λ`.
    correction: Mutex<Option<Arc<Parts>>>,
}

/// The same with all components of these tables, so that their covariances are told, too.
fn widened<'a>(
    on: &dyn Unconstrained,
    frame: &Frame,
    mut parts: Parts,
    tables: impl Iterator<Item = &'a Cuboid>,
) -> Parts {
    if on.mixes() {
        for a in tables.flat_map(|t| frame.below(t)) {
            let nothing = || vec![0.0; frame.len(&a)];
            parts.entry(a.clone()).or_insert_with(nothing);
        }
    }
    parts
}

/// Of a question whose cells that are known to be empty hang together with others so closely that digits are lost, as where a table known exactly says the same of them.
const UNSOLVED: &str = "what is known to be empty cannot be imposed on this figure to enough digits, beside what is known exactly. Ask for its parts, each with \
                        COUNT(*) FILTER (WHERE …), or combine these in one figure";

fn cannot() -> RecoverError {
    RecoverError::Plan("the zeros cannot be imposed".into())
}

impl Imposed {
    pub(super) fn new(zeros: Zeros) -> Imposed {
        Imposed { zeros, correction: Mutex::default() }
    }

    pub(super) fn zeros(&self) -> &Zeros {
        &self.zeros
    }

    /// A table under the zeros, from the unconstrained one.
    pub(super) fn table(
        &self,
        on: &dyn Unconstrained,
        cuboid: &Cuboid,
        mut table: Vec<f64>,
    ) -> Result<Vec<f64>, RecoverError> {
        let lumped = Lumped::whole(on.frame());
        let mut correction = self.correction(on, &lumped)?;
        if on.mixes() {
            let parts = widened(on, on.frame(), Parts::clone(&correction), std::iter::once(cuboid));
            correction = Arc::new(on.covariance(on.frame(), parts).ok_or_else(cannot)?);
        }
        let less = Gls::new(on.frame(), &[], true).build(cuboid, &correction);
        table.iter_mut().zip(less).for_each(|(v, less)| *v -= less);
        self.zeros.clear(on.cube(), &lumped, cuboid, &mut table);
        Ok(table)
    }

    /// `N⁻¹ Zᵀ λ`, or `Zᵀ λ`.
    fn correction(&self, on: &dyn Unconstrained, lumped: &Lumped) -> Result<Arc<Parts>, RecoverError> {
        let mut kept = self.correction.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(correction) = &*kept {
            return Ok(correction.clone());
        }
        let system = self.zeros.system(on.cube(), lumped);
        // Beside the declared cells nothing is told apart: what `Zᵀ λ` says of all others is the same, and so is what follows from that.
        let near = self.zeros.near(on);
        let declared = near.as_ref().map(|near| self.zeros.system(on.cube(), near));
        let declared = declared.and_then(|near| Some((near.places(lumped, &system)?, near)));
        let frame = near.as_ref().filter(|_| declared.is_some()).map_or(on.frame(), |near| &near.frame);
        let steps = on.most_steps(frame, declared.as_ref().map_or(&system, |(_, near)| near), MOST_STEPS)?;
        let tables = system.tables().map(|t| on.table(t)).collect::<Result<Vec<_>, _>>()?;
        let said = system.said(tables);
        let covariance = |parts: Parts| on.covariance(frame, parts);
        let solved = match &declared {
            None => system.solution(said, steps, &covariance),
            Some((places, near)) => {
                let said = Said { cells: places.taken(&said.cells), ..said };
                near.solution(said, steps, &covariance).map(|found| places.put_back(&found))
            }
        };
        let mut correction = solved.map(|lambda| system.spread(&lambda));
        if !on.mixes() {
            correction = correction.and_then(|parts| on.covariance(on.frame(), parts));
        }
        let correction = correction.ok_or_else(cannot)?;
        Ok(kept.insert(Arc::new(correction)).clone())
    }

    /// A query of a table, in components: the one whose unconstrained estimate has the error of the constrained estimate of `query`.
    pub(super) fn query(
        &self,
        on: &dyn Unconstrained,
        lumped: &Lumped,
        cuboid: &Cuboid,
        mut query: Parts,
    ) -> Result<Parts, RecoverError> {
        let not_held = || RecoverError::NotHeld(on.cube().describe(cuboid));
        let covariance = |parts: Parts| on.covariance(&lumped.frame, parts);
        let system = self.zeros.system(on.cube(), lumped);
        let wide = widened(on, &lumped.frame, query.clone(), system.tables());
        let v = covariance(wide).ok_or_else(not_held)?;
        let steps = on.most_steps(&lumped.frame, &system, MOST_STEPS)?;
        let less = system
            .solve(system.said_by(&v), steps, &covariance)
            .ok_or_else(|| RecoverError::Plan(UNSOLVED.into()))?;
        for (a, less) in less {
            let part = query.entry(a).or_insert_with(|| vec![0.0; less.len()]);
            part.iter_mut().zip(less).for_each(|(v, less)| *v -= less);
        }
        Ok(query)
    }
}

/// The declared cells of a frame.
pub(crate) struct System<'a> {
    lumped: &'a Lumped,
    tables: Vec<OfTable<'a>>,
}

/// A table, which of its cells are declared, and how many real cells each stands for.
type OfTable<'a> = (&'a Cuboid, Vec<usize>, Vec<f64>);

/// One number for each declared cell.
pub(crate) type Cells = Vec<Vec<f64>>;

/// What tables say of the declared cells.
pub(crate) struct Said {
    cells: Cells,
    /// How large the square of all that may be where it is nothing but rounding.
    rounding: f64,
}

impl<'a> System<'a> {
    fn new(zeros: &'a Zeros, cube: &Cube, lumped: &'a Lumped) -> System<'a> {
        let frame = &lumped.frame;
        let one = |top: &'a Cuboid| {
            let masks = zeros.masks().filter_map(|z| z.mask(cube, top, &|level| lumped.node_of(level)));
            let declared = masks.reduce(|mut all, one| {
                all.iter_mut().zip(one).for_each(|(a, b)| *a |= b);
                all
            });
            let cells: Vec<usize> = declared
                .unwrap_or_default()
                .iter()
                .enumerate()
                .filter(|(_, d)| **d)
                .map(|(i, _)| i)
                .collect();
            let copies = if cells.is_empty() { Vec::new() } else { frame.multiplicity(top) };
            let copies = cells.iter().map(|&i| copies[i] as f64).collect();
            (top, cells, copies)
        };
        System {
            lumped,
            tables: zeros.tops.iter().map(one).filter(|(_, cells, _)| !cells.is_empty()).collect(),
        }
    }

    /// The tables that have declared cells.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Cuboid> {
        self.tables.iter().map(|(cuboid, _, _)| *cuboid)
    }

    /// What the values of [`System::tables`] say of the declared cells.
    pub(crate) fn said(&self, tables: impl IntoIterator<Item = Vec<f64>>) -> Said {
        let mut said = Said { cells: Vec::new(), rounding: 0.0 };
        for ((_, at, copies), table) in self.tables.iter().zip(tables) {
            let largest = table.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
            said.rounding += (ROUNDING * largest).powi(2) * copies.iter().sum::<f64>();
            said.cells.push(pick(at, &table));
        }
        said
    }

    /// `Z v`, with how large it may be by rounding alone.
    pub(crate) fn said_by(&self, v: &Parts) -> Said {
        let gls = Gls::new(&self.lumped.frame, &[], true);
        self.said(self.tables().map(|cuboid| gls.build(cuboid, v)))
    }

    /// `Z v`.
    fn cells(&self, v: &Parts) -> Cells {
        let gls = Gls::new(&self.lumped.frame, &[], true);
        self.tables.iter().map(|(cuboid, at, _)| pick(at, &gls.build(cuboid, v))).collect()
    }

    /// `Zᵀ λ`.
    fn spread(&self, lambda: &Cells) -> Parts {
        let mut out = Parts::new();
        for ((cuboid, cells, _), lambda) in self.tables.iter().zip(lambda) {
            let mut table = vec![0.0; self.lumped.frame.len(cuboid)];
            cells.iter().zip(lambda).for_each(|(&i, &l)| table[i] = l);
            Gls::gather(&self.lumped.frame, cuboid, table, &mut out);
        }
        out
    }

    fn dot(&self, x: &Cells, y: &Cells) -> f64 {
        let one = |((x, y), (_, _, m)): ((&Vec<f64>, &Vec<f64>), &(_, _, Vec<f64>))| -> f64 {
            x.iter().zip(y).zip(m).map(|((x, y), m)| x * y * m).sum()
        };
        x.iter().zip(y).zip(&self.tables).map(one).sum()
    }

    /// How many numbers a step of [`System::solve`] goes through, beside those of its covariance.
    pub(crate) fn step(&self) -> f64 {
        self.tables().map(|t| 4.0 * self.lumped.frame.spread(t)).sum()
    }

    /// `Zᵀ λ` for the `λ` of [`System::solution`].
    pub(crate) fn solve(
        &self,
        right: Said,
        most_steps: usize,
        covariance: &dyn Fn(Parts) -> Option<Parts>,
    ) -> Option<Parts> {
        self.solution(right, most_steps, covariance).map(|lambda| self.spread(&lambda))
    }

    /// The `λ` of `(Z N⁻¹ Zᵀ) λ = right`, in at most so many steps; `covariance` is `N⁻¹`.
    fn solution(
        &self,
        right: Said,
        most_steps: usize,
        covariance: &dyn Fn(Parts) -> Option<Parts>,
    ) -> Option<Cells> {
        let zero: Cells = right.cells.iter().map(|r| vec![0.0; r.len()]).collect();
        // Conditions that say the same twice, or what is known exactly, leave directions without any error: they are satisfied already.
        let rules = Rules {
            tolerance: TOLERANCE,
            floor: right.rounding,
            most_steps,
            singular: true,
            growth: Some(GROWTH),
        };
        let errors = Errors { system: self, covariance };
        let solved = conjugate::solve(&errors, zero, right.cells, &rules)?;
        let refused = (REFUSED * REFUSED * solved.start).max(right.rounding);
        (solved.left <= refused).then_some(solved.solution)
    }

    /// Where its declared cells are among those of the `whole` axes. `None` unless they are the same ones, each by itself.
    fn places(&self, whole: &Lumped, of: &System) -> Option<Places> {
        let one = |((table, cells, copies), (other, all, _)): (&OfTable, &OfTable)| {
            if table != other || cells.len() != all.len() || copies.iter().any(|n| *n != 1.0) {
                return None;
            }
            // From the last dimension, which is the fastest: entries along it, the node of each, and how many nodes there are.
            let axes: Vec<(Vec<u32>, usize)> =
                table.iter().map(|at| (self.lumped.node_of(at), whole.node_of(at).len())).collect();
            let place = |&cell: &usize| {
                let (mut left, mut place, mut stride) = (cell, 0, 1);
                for (nodes, of) in axes.iter().rev() {
                    place += *nodes.get(left % nodes.len())? as usize * stride;
                    (left, stride) = (left / nodes.len(), stride * of);
                }
                all.binary_search(&place).ok()
            };
            cells.iter().map(place).collect()
        };
        if self.tables.len() != of.tables.len() {
            return None;
        }
        self.tables.iter().zip(&of.tables).map(one).collect::<Option<_>>().map(Places)
    }
}

/// For each declared cell of each table its number among those of another system.
struct Places(Vec<Vec<usize>>);

impl Places {
    fn taken(&self, cells: &Cells) -> Cells {
        self.0.iter().zip(cells).map(|(places, cells)| pick(places, cells)).collect()
    }

    fn put_back(&self, cells: &Cells) -> Cells {
        let one = |(places, cells): (&Vec<usize>, &Vec<f64>)| {
            let mut back = vec![0.0; cells.len()];
            for (&place, &value) in places.iter().zip(cells) {
                if let Some(back) = back.get_mut(place) {
                    *back = value;
                }
            }
            back
        };
        self.0.iter().zip(cells).map(one).collect()
    }
}

/// `Z N⁻¹ Zᵀ`, for conjugate gradients.
struct Errors<'a> {
    system: &'a System<'a>,
    covariance: &'a dyn Fn(Parts) -> Option<Parts>,
}

impl conjugate::System for Errors<'_> {
    type Vector = Cells;

    fn apply(&self, v: &Cells) -> Option<(Cells, f64)> {
        let image = self.system.cells(&(self.covariance)(self.system.spread(v))?);
        let curvature = self.system.dot(v, &image);
        Some((image, curvature))
    }

    fn dot(&self, x: &Cells, y: &Cells) -> f64 {
        self.system.dot(x, y)
    }

    fn add(&self, x: &mut Cells, by: f64, y: &Cells) {
        each(x, y, |x, y| x + by * y);
    }

    fn turn(&self, y: &mut Cells, by: f64, x: &Cells) {
        each(y, x, |y, x| x + by * y);
    }
}

/// These cells of a table.
fn pick(at: &[usize], table: &[f64]) -> Vec<f64> {
    at.iter().map(|&i| table.get(i).copied().unwrap_or(0.0)).collect()
}

/// Puts `f(x, y)` in the place of `x`.
fn each(x: &mut Cells, y: &Cells, f: impl Fn(f64, f64) -> f64) {
    for (x, y) in x.iter_mut().zip(y) {
        x.iter_mut().zip(y).for_each(|(x, y)| *x = f(*x, *y));
    }
}

#[cfg(test)]
mod tests {
    use super::filter;
    use crate::cube::{Bounds, Cube, Dimension};

    #[test]
    fn ranges_leave_categories_without_a_number_alone() {
        let mut age = Dimension::plain("age", ["0", "1", "2", "unknown"].map(String::from).to_vec());
        age.levels[1].bounds =
            (0..4).map(|v| (v < 3).then(|| Bounds { lo: v.into(), hi: v.into(), closed: true })).collect();
        let cube = Cube { dimensions: vec![age] };
        for (condition, empty) in [
            ("age < 2", [1.0, 1.0, 0.0, 0.0]),
            ("age BETWEEN 1 AND 2", [0.0, 1.0, 1.0, 0.0]),
            ("age = 'unknown' OR age >= 2", [0.0, 0.0, 1.0, 1.0]),
        ] {
            let of = filter(&cube, condition).unwrap();
            assert_eq!([0, 1, 2, 3].map(|cell| of.weight_at(&[cell]).unwrap()), empty, "{condition}");
        }
        for more in
            ["age < 2 HAVING COUNT(*) > 1", "age < 2 LIMIT 1", "age < 2 OFFSET 1", "age < 2 GROUP BY age"]
        {
            assert!(filter(&cube, more).is_err(), "{more}");
        }
    }
}
