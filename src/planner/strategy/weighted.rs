//! `residual` where groups differ in size: weights of nodes, so that a parent's value is not shared evenly among children that are not alike.
//!
//! See [`crate::planner::weights`]. What is found is beside the even shares, and the better of the two by its exact prediction is taken.

use super::ask::{Ask, Groups};
use super::refusal::{Measured, NotApplicable};
use crate::cube::{Axis, Cuboid, Frame, Level};
use crate::plan::basis::MAX_NODES;
use crate::plan::block::component_scale;
use crate::plan::{
    Based, Block, BudgetRule, Measure, Measurement, Neighbours, NodeWeights, Own, Plan, Table, Telling,
    Tellings,
};
use crate::planner::bases::bound;
use crate::planner::bases::descent::{self as gaussian, Asker, Row};
use crate::planner::closure::Closure;
use crate::planner::closure::bases::{Bases as Told, bases_of, can_be_told};
use crate::planner::closure::cells::margin;
use crate::planner::objective::{Among, Certificate, Objective};
use crate::planner::request::Request;
use crate::planner::weights::descent::Problem;
use crate::planner::weights::least::least;
use crate::planner::weights::own::solve;
use crate::planner::weights::paths::{Passes, Tree};
use crate::planner::weights::prices::{Mean, Prices};
use crate::planner::weights::whole::{Factors, Kind, whole};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Counts times factors, in contrasts and with their noise, for a billion rows stay below `2^63`.
const BITS: f64 = 32.0;
/// No level has larger factors, nor smaller ones that tell anything.
const MOST_BITS: f64 = 28.0;
const LEAST_BITS: f64 = 7.0;

/// A dimension whose groups differ in size.
struct Dimension {
    number: usize,
    axis: Axis,
    /// For each rung the lump of every node.
    lumps: Vec<Vec<u32>>,
}

/// The most nodes of a dimension with weights of which sums are asked for: each sum is predicted by itself.
const MOST_SUMMED: usize = MAX_NODES;
/// Bounds for all Gaussian mechanisms are worked out for so many cells, and so many of the dimensions whose groups differ together.
const MOST_CELLS: f64 = 4096.0;
const MOST_DENSE: f64 = 512.0;
/// And for so many where each weighs by itself: then all dimensions are dense.
const MOST_APART: f64 = 512.0;

/// What is measured with weights, beside levels that are told in other ways; nothing where all groups of the others are alike, nor where laws are wanted.
pub(super) fn measure(ask: &Ask, beside: &Told) -> Result<Option<Vec<Measured>>, NotApplicable> {
    let dimensions = dimensions(ask, beside);
    if dimensions.is_empty() || ask.request.with_law {
        return Ok(None);
    }
    refusal(ask, &dimensions)?;
    let bits = bits(ask, &dimensions, beside)?;
    let problem = match beside.is_empty() {
        true => problem(ask, &dimensions, beside),
        false => {
            let request = ask.request;
            let closure = ask.closure.over_bases(&request.cube, ask.frame, &request.workload, beside);
            problem(&Ask { closure: &closure, ..*ask }, &dimensions, beside)
        }
    };
    let mut told = Tellings { alike: beside.clone(), own: None };
    let mut leaves = Vec::new();
    let solved = problem.solve();
    for ((dimension, tree), (passes, slope)) in dimensions.iter().zip(&problem.trees).zip(&solved) {
        let kind = Kind { tree, passes, slope };
        let whole = whole(&[kind], &|l, v| passes.left(l, v), bits).ok_or(NotApplicable::NoBasis)?;
        let (levels, paths) = dimension.tell(ask.frame, &whole.kinds)?;
        let alike = levels.into_iter().flatten();
        told.alike.extend(alike.map(|(l, weights)| ((dimension.number, l), Telling::Weights(weights))));
        leaves.push(paths);
    }
    let shared = Priced::of(ask, told, leaves, problem.levels.clone())?;
    let own = own(ask, &dimensions, beside, &problem, &solved[0].0, bits);
    let better = |own: &Priced| own.mean.value < (1.0 - LEAST_GAIN) * shared.mean.value;
    let found: Vec<&Passes> = solved.iter().map(|(passes, _)| passes).collect();
    let wider = || wider(ask, &dimensions, &problem, &found);
    Ok(Some(own.filter(better).unwrap_or(shared).measured(ask, wider)?))
}

/// Components of the others have weights of their own where that gains more than this part of the total.
const LEAST_GAIN: f64 = 1e-3;

/// The most kinds of components that are told apart for that.
const MOST_KINDS: usize = 16;

/// What is measured, and the scales that follow.
struct Priced {
    closure: Closure,
    /// Of each component its block, its price along the dimensions without weights, and its integer scale.
    blocks: Vec<(Block, f64, f64)>,
    stakes: Vec<f64>,
    mean: Mean,
}

impl Priced {
    /// `leaves` has for each tree the prices of its leaves, `levels` for each component which of them is its own.
    fn of(
        ask: &Ask,
        told: Tellings,
        leaves: Vec<Vec<Vec<f64>>>,
        levels: Vec<Vec<usize>>,
    ) -> Result<Priced, NotApplicable> {
        let request = ask.request;
        let closure = ask.closure.over_tellings(&request.cube, ask.frame, &request.workload, &told);
        let told_ask = Ask { closure: &closure, ..*ask };
        let stakes = told_ask.stakes();
        let each = told.each();
        let own = |a: &Cuboid| block(&told_ask, &each[told.kind(a)], a);
        let blocks: Vec<(Block, f64, f64)> = closure.components.iter().map(own).collect::<Result<_, _>>()?;
        let rest = blocks.iter().map(|b| b.1).collect();
        let worth = stakes.iter().zip(&blocks).map(|(v, b)| v / (b.2 * b.2)).collect();
        let mean = Prices { leaves, levels, rest, stakes: worth }.mean();
        Ok(Priced { closure, blocks, stakes, mean })
    }

    fn measured(
        self,
        ask: &Ask,
        wider: impl Fn() -> Option<[Option<(&'static str, f64)>; 2]>,
    ) -> Result<Vec<Measured>, NotApplicable> {
        let request = ask.request;
        let mean = self.mean;
        let mut groups = Groups::new();
        for ((block, _, m), (price, v)) in self.blocks.into_iter().zip(mean.price.iter().zip(&self.stakes)) {
            match request.is_exact(block.cuboid()) {
                true => groups.push_known(block),
                false => groups.push(block, *price, v / (m * m), m),
            }
        }
        let mut sets = Ask { closure: &self.closure, ..*ask }.components(groups)?;
        if request.objective == Objective::Total {
            // The vectors of two cells are taken as opposite, which costs twice as much as each of them by itself.
            let opposite = if request.neighbours == Neighbours::Substitute { 2.0 } else { 1.0 };
            let spent = 2.0 * request.budget.to_f64() / opposite;
            let [value, bound] = [mean.value, mean.bound].map(|v| v / spent);
            let proof = Certificate::new("weighted total variance over these weights of nodes", value, bound);
            let wider = wider().unwrap_or_default();
            sets.iter_mut().for_each(|(_, own)| *own = Some(Certificate { wider, ..proof }));
        }
        Ok(sets)
    }
}

/// The same where the components of the others have weights of their own in the one dimension: those that are asked for beside the same of its levels have the same. They are fitted to
/// the total of cells that weigh alike; all levels have something to be told of, and nothing is known without noise: what a path spends is then not what its nodes' precisions add up to.
fn own(
    ask: &Ask,
    dimensions: &[Dimension],
    beside: &Told,
    problem: &Problem,
    shared: &Passes,
    bits: f64,
) -> Option<Priced> {
    let [dimension] = dimensions else { return None };
    let request = ask.request;
    let cells = !request.weighs_cells() && request.workload.iter().all(|t| t.asks.is_cells());
    let whole_tree = problem.live[0].len() == problem.trees[0].finest() + 1;
    if request.objective != Objective::Total || !cells || !request.exact.is_empty() || !whole_tree {
        return None;
    }
    // The levels that each is asked for beside, as bits.
    let mut beside_of: HashMap<Cuboid, u64> = HashMap::new();
    let rest = |a: &Cuboid| a.without(dimension.number);
    for (table, components) in request.workload.iter().zip(&ask.closure.tables) {
        let level = ask.frame.axes[dimension.number].rung(table.cuboid.level(dimension.number))?;
        let bit = 1u64.checked_shl(level as u32)?;
        for &a in components {
            *beside_of.entry(rest(&ask.closure.components[a as usize])).or_default() |= bit;
        }
    }
    let mut kinds: Vec<u64> = beside_of.values().copied().collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.len() < 2 || kinds.len() > MOST_KINDS {
        return None;
    }
    let reach: Vec<usize> = kinds.iter().map(|levels| levels.ilog2() as usize).collect();
    // Only another channel may ask for the finest level.
    if reach.iter().max() != Some(&problem.trees[0].finest()) {
        return None;
    }
    let number = |levels: u64| kinds.partition_point(|known| *known < levels);
    let kind = |a: &Cuboid| beside_of.get(&rest(a)).map_or(0, |levels| number(*levels));
    let kind_of: Vec<usize> = ask.closure.components.iter().map(kind).collect();
    let solved = solve(problem, &kind_of, &reach, shared);
    if solved.total > (1.0 - LEAST_GAIN) * solved.before {
        return None;
    }
    let trees: Vec<Kind> =
        solved.kinds.iter().map(|(tree, passes, slope)| Kind { tree, passes, slope }).collect();
    let whole = whole(&trees, &|l, v| solved.left(l, v), bits)?;
    let (levels, leaves) = dimension.tell(ask.frame, &whole.kinds).ok()?;
    // As [`Dimension::tell`] has them: level by level, those of the kinds that reach it.
    let place = |(level, &kind): (usize, &usize)| {
        let before: usize = (1..level).map(|l| reach.iter().filter(|r| **r >= l).count()).sum();
        let own = reach[..kind].iter().filter(|r| **r >= level).count();
        vec![if level == 0 { 0 } else { 1 + before + own }]
    };
    let places = problem.levels.iter().map(|own| own[0]).zip(&kind_of).map(place).collect();
    let mut told = Tellings { alike: beside.clone(), own: None };
    let deepest = levels.last()?.iter();
    told.alike.extend(deepest.map(|(&l, w)| ((dimension.number, l), Telling::Weights(w.clone()))));
    let of = beside_of.iter().map(|(a, levels)| (a.clone(), number(*levels))).collect();
    told.own = Some(Own { dimension: dimension.number, kinds: levels, of });
    Priced::of(ask, told, vec![leaves], places).ok()
}

/// Bounds for all trees, where there is one, and for all Gaussian mechanisms, where there are few cells. They are for cells of tables without any
/// that are known.
fn wider(
    ask: &Ask,
    dimensions: &[Dimension],
    problem: &Problem,
    found: &[&Passes],
) -> Option<[Option<(&'static str, f64)>; 2]> {
    let request = ask.request;
    let cells = request.workload.iter().all(|t| t.asks.is_cells());
    if request.neighbours != Neighbours::AddRemove || !request.exact.is_empty() || !cells {
        return None;
    }
    let tree = || {
        let [own] = dimensions else { return None };
        let mut known: Vec<Cuboid> = Vec::new();
        let number = |a: &Cuboid| {
            let rest = a.without(own.number);
            known.iter().position(|k| *k == rest).unwrap_or_else(|| {
                known.push(rest);
                known.len() - 1
            })
        };
        let others: Vec<usize> = ask.closure.components.iter().map(number).collect();
        let least = least(problem, &others, found[0])?;
        Some(("all trees of precisions", least * request.unit_price() / (2.0 * request.budget.to_f64())))
    };
    let finest = |axis: &Axis| axis.rungs.last().map_or(1.0, |r| r.real_len() as f64);
    let all: f64 = ask.frame.axes.iter().map(finest).product();
    let deep = ask.frame.axes.iter().filter(|axis| axis.rungs.len() > 2);
    let dense: f64 = deep.map(finest).product();
    let any = || {
        let none = gaussian::Problem {
            dimensions: Vec::new(),
            tables: Vec::new(),
            price: Vec::new(),
            rungs: Vec::new(),
        };
        let least = bound::least(request, &request.workload, ask.frame, &none, &[])?;
        Some((Among::Gaussian.words(), least))
    };
    let most = if request.weighs_cells() { MOST_APART } else { MOST_CELLS };
    Some([tree(), (all <= most && dense <= MOST_DENSE).then(any).flatten()])
}

/// In which dimension kinds of components have weights of nodes of their own, and how many kinds.
pub(crate) fn own_kinds(request: &Request, plan: &Plan) -> Option<(String, usize)> {
    let blocks = plan.rows().measurements.iter().map(|m| &m.block);
    let own = Tellings::of(blocks).ok()?.own?;
    Some((request.cube.dimensions.get(own.dimension)?.name.clone(), own.kinds.len()))
}

/// Why nodes of groups that differ in size share evenly with each other; nothing where there are none or they have weights.
pub(crate) fn even(request: &Request, plan: &Plan) -> Option<(String, NotApplicable)> {
    let weighted =
        |m: &Measurement| matches!(&m.block, Block::Based(b) if b.axes.iter().any(|t| t.weights().is_some()));
    let measured = &plan.rows().measurements;
    if !matches!(plan.measure, Measure::Residual | Measure::Bases) || measured.iter().any(weighted) {
        return None;
    }
    let told = request.told_by(plan);
    let request = &*told;
    let frame = Frame::new(&request.cube, &plan.levels);
    let closure = Closure::new(&request.cube, &frame, &request.workload);
    let ask = Ask { request, frame: &frame, closure: &closure, budgets: plan.budgets };
    let beside = bases_of(plan);
    let dimensions = dimensions(&ask, &beside);
    let name = request.cube.dimensions.get(dimensions.first()?.number)?.name.clone();
    let why = refusal(&ask, &dimensions).and_then(|()| bits(&ask, &dimensions, &beside));
    Some((name, why.err().unwrap_or(NotApplicable::NoBetter)))
}

fn refusal(ask: &Ask, dimensions: &[Dimension]) -> Result<(), NotApplicable> {
    let request = ask.request;
    if ask.budgets != BudgetRule::Optimal {
        return Err(NotApplicable::EvenBudgets);
    }
    if !request.zeros.is_empty() {
        return Err(NotApplicable::EvenZeros);
    }
    let many = |t: &Table| {
        let own = |d: &Dimension| {
            let nodes = |axis: &Axis| axis.rung(t.cuboid.level(d.number)).map_or(0, |r| axis.rungs[r].len());
            t.asks.of(d.number).is_some() && nodes(&ask.frame.axes[d.number]) > MOST_SUMMED
        };
        dimensions.iter().any(own) || !can_be_told(&request.cube, ask.frame, t)
    };
    match request.workload.iter().find(|t| !t.asks.is_cells() && many(t)) {
        Some(table) => Err(NotApplicable::TooManyQueries(ask.name(&table.cuboid))),
        None => Ok(()),
    }
}

/// The weights of a kind of components, by level.
type Levels = BTreeMap<usize, Arc<NodeWeights>>;

/// Those whose groups differ in size, and that are not told already.
fn dimensions(ask: &Ask, beside: &Told) -> Vec<Dimension> {
    let open = |number: usize| beside.keys().all(|(d, _)| *d != number);
    let axes = ask.frame.axes.iter().enumerate();
    let unequal = axes.filter(|(number, axis)| !axis.is_balanced() && open(*number));
    let of = |(number, axis): (usize, &Axis)| {
        // Nodes that are alike but for what they weigh are not.
        let (axis, lumps) = match ask.request.weighs_cells() {
            true => (axis.clone(), axis.rungs.iter().map(|r| (0..r.len() as u32).collect()).collect()),
            false => axis.lump(0, &[0]),
        };
        Dimension { number, axis, lumps }
    };
    unequal.map(of).collect()
}

impl Dimension {
    /// How its levels are told to every kind of components, and the prices of its leaves: total, then level by level those of every kind that reaches it. Each kind of leaf once.
    fn tell(&self, frame: &Frame, kinds: &[Factors]) -> Result<(Vec<Levels>, Vec<Vec<f64>>), NotApplicable> {
        let mut told: Vec<Levels> = vec![Levels::new(); kinds.len()];
        let mut paths: Vec<Vec<f64>> = vec![vec![1.0]];
        for (at, (rung, lumps)) in frame.axes[self.number].rungs.iter().zip(&self.lumps).enumerate().skip(1) {
            paths = rung.parent.iter().map(|&p| paths[p as usize].clone()).collect();
            for (kind, told) in kinds.iter().zip(&mut told) {
                let Some(own) = kind.factors.get(at) else { continue };
                let all = lumps.iter().map(|&lump| own[lump as usize]).collect();
                let weights =
                    NodeWeights::new(rung.parent.to_vec(), all).map_err(|_| NotApplicable::NoBasis)?;
                paths.iter_mut().zip(weights.norms()).for_each(|(path, &norm)| path.push(norm as f64));
                if !rung.adds_nothing() {
                    told.insert(rung.level, Arc::new(weights));
                }
            }
        }
        paths.sort_by(|a, b| a.iter().map(|v| v.to_bits()).cmp(b.iter().map(|v| v.to_bits())));
        paths.dedup();
        Ok((told, paths))
    }
}

/// A component's block, its price along the dimensions without weights, and its integer scale.
fn block(ask: &Ask, told: &Told, component: &Cuboid) -> Result<(Block, f64, f64), NotApplicable> {
    let axes: Vec<Telling> =
        component.pairs().map(|at| told.get(&at).cloned().unwrap_or(Telling::Siblings)).collect();
    let own = component.pairs().zip(&axes).filter(|(_, told)| told.weights().is_none());
    let norm: f64 = own.map(|((d, l), told)| told.norm(ask.frame.rung(Level::new(d, l))) as f64).product();
    let block = Block::Based(Based { cuboid: component.clone(), axes });
    let m = block.unit(ask.frame).ok_or_else(|| NotApplicable::ScaleTooLarge(ask.name(component)))?;
    if ask.request.is_exact(component) {
        return Ok((block, 0.0, m));
    }
    ask.check_size(component)?;
    Ok((block, norm * ask.request.unit_price(), m))
}

/// For how many bits of factors each tree has room, beside what a row of sums moves.
fn bits(ask: &Ask, dimensions: &[Dimension], beside: &Told) -> Result<f64, NotApplicable> {
    let mut least = MOST_BITS;
    for component in &ask.closure.components {
        let has = |d: usize| dimensions.iter().any(|own| own.number == d);
        let trees = component.pairs().filter(|(d, _)| has(*d)).count();
        let others = Cuboid::new(component.pairs().filter(|at| !has(at.0) && !beside.contains_key(at)));
        let scale = component_scale(ask.frame, &others).map_or(f64::INFINITY, |m| m as f64);
        // No entry of a basis is larger than its longest column.
        let own = component.pairs().filter_map(|at| beside.get(&at)?.basis());
        let entries: f64 = own.map(|basis| 0.5 * libm::log2(basis.norm() as f64)).sum();
        let room =
            BITS - libm::log2(ask.request.reach as f64) - libm::log2(scale) - others.len() as f64 - entries;
        if trees > 0 {
            least = least.min(room / trees as f64);
        }
        if least < LEAST_BITS {
            return Err(NotApplicable::ScaleTooLarge(ask.name(component)));
        }
    }
    Ok(least)
}

fn problem(ask: &Ask, dimensions: &[Dimension], beside: &Told) -> Problem {
    let place = |d: usize| dimensions.iter().position(|own| own.number == d);
    let axis = |d: usize| &ask.frame.axes[d];
    let components = &ask.closure.components;
    let levels = |a: &Cuboid| {
        dimensions.iter().map(|d| axis(d.number).rung(a.level(d.number)).unwrap_or(0)).collect::<Vec<usize>>()
    };
    let price = |a: &Cuboid| -> f64 {
        if ask.request.is_exact(a) {
            return 0.0;
        }
        let own = a.pairs().filter(|at| place(at.0).is_none());
        own.map(|(d, l)| match beside.get(&(d, l)).and_then(Telling::basis) {
            Some(basis) => basis.norm() as f64,
            None => {
                let rung = ask.frame.rung(Level::new(d, l));
                1.0 - rung.siblings.len() as f64 / rung.real_len() as f64
            }
        })
        .product()
    };
    let mut trees: Vec<Tree> = dimensions.iter().map(|d| Tree::new(&d.axis)).collect();
    let asked = |(t, table): (usize, &Table)| {
        let fixed = ask.closure.rows_of(ask.frame, t, table);
        let sizes: Vec<usize> = table.cuboid.iter().map(|at| ask.frame.rung(at).len()).collect();
        let all: usize = sizes.iter().product();
        let cells = ask.request.cells_of(t);
        let row = |(at, ((d, l), fixed)): (usize, ((usize, usize), Vec<f64>))| {
            let Some(tree) = place(d) else { return Row::Fixed(fixed) };
            let rung = axis(d).rung(l).unwrap_or(0);
            // What the cells of a node weigh on average: of one tree that is all there is to it.
            let own = cells.map(|cells| {
                let mean = |sum: f64| sum * sizes[at] as f64 / all as f64;
                trees[tree].ask(rung, margin(cells, &sizes, at).into_iter().map(mean).collect())
            });
            Row::Of(tree, own.unwrap_or(rung))
        };
        Asker {
            weight: weight(ask, t, table),
            components: ask.closure.tables[t].clone(),
            rows: table.cuboid.pairs().zip(fixed).enumerate().map(row).collect(),
        }
    };
    let tables = ask.request.workload.iter().enumerate().map(asked).collect();
    let live = |d: &Dimension| {
        let rungs = d.axis.rungs.iter().enumerate();
        rungs.filter(|(_, r)| !r.adds_nothing()).map(|(at, _)| at).collect()
    };
    Problem {
        trees,
        live: dimensions.iter().map(live).collect(),
        tables,
        price: components.iter().map(price).collect(),
        levels: components.iter().map(levels).collect(),
    }
}

/// What the trees are fitted to: the total, or means in parts of what a cell of each table may have.
fn weight(ask: &Ask, t: usize, table: &Table) -> f64 {
    let own = table.weight.to_f64();
    let cells = ask.frame.cells(&table.cuboid);
    match ask.request.objective {
        Objective::Total => own,
        Objective::Worst => own / cells,
        Objective::Targets => {
            ask.request.target_variance(t).map_or(0.0, |most| 1.0 / (most * cells)).max(1e-6 * own)
        }
    }
}
