//! `residual` where groups differ in size: weights of nodes, so that a parent's value is not shared evenly among children that are not alike.
//!
//! See [`crate::planner::weights`]. What is found is beside the even shares, and the better of the two by its exact prediction is taken.

use super::ask::{Ask, Groups};
use super::refusal::{Measured, NotApplicable};
use crate::cube::{Axis, Cuboid, Frame, Level};
use crate::plan::block::component_scale;
use crate::plan::{Based, Block, BudgetRule, NodeWeights, Table, Telling};
use crate::planner::bases::descent::{Asker, Row};
use crate::planner::closure::bases::{Bases as Told, can_be_told};
use crate::planner::objective::{Certificate, Objective};
use crate::planner::weights::descent::Problem;
use crate::planner::weights::paths::Tree;
use crate::planner::weights::prices::Prices;
use crate::planner::weights::whole::whole;
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

/// What is measured with weights; nothing where all groups are alike.
pub(super) fn measure(ask: &Ask) -> Result<Option<Vec<Measured>>, NotApplicable> {
    let dimensions = dimensions(ask);
    let plain = |t: &Table| dimensions.iter().all(|d| t.asks.of(d.number).is_none());
    let request = ask.request;
    if dimensions.is_empty()
        || ask.budgets != BudgetRule::Optimal
        || !request.zeros.is_empty()
        || !request
            .workload
            .iter()
            .all(|t| plain(t) && (t.asks.is_cells() || can_be_told(&request.cube, ask.frame, t)))
    {
        return Ok(None);
    }
    let bits = bits(ask, &dimensions)?;
    let problem = problem(ask, &dimensions);
    let mut told = Told::new();
    let mut leaves = Vec::new();
    for ((dimension, tree), (passes, slope)) in dimensions.iter().zip(&problem.trees).zip(problem.solve()) {
        let whole = whole(tree, &passes, bits, &slope).ok_or(NotApplicable::NoBasis)?;
        leaves.push(dimension.tell(ask.frame, &whole.factors, &mut told)?);
    }
    let closure = ask.closure.over_bases(&request.cube, ask.frame, &request.workload, &told);
    let ask = Ask { closure: &closure, ..*ask };
    let stakes = ask.stakes();
    let blocks: Vec<(Block, f64, f64)> =
        ask.closure.components.iter().map(|a| block(&ask, &told, a)).collect::<Result<_, _>>()?;
    let mean = Prices {
        leaves,
        levels: problem.levels.clone(),
        rest: blocks.iter().map(|b| b.1).collect(),
        stakes: stakes.iter().zip(&blocks).map(|(v, b)| v / (b.2 * b.2)).collect(),
    }
    .mean();
    let mut groups = Groups::new();
    for ((block, _, m), (price, v)) in blocks.into_iter().zip(mean.price.iter().zip(&stakes)) {
        match request.is_exact(block.cuboid()) {
            true => groups.push_known(block),
            false => groups.push(block, *price, v / (m * m), m),
        }
    }
    let mut sets = ask.components(groups)?;
    if request.objective == Objective::Total {
        let spent = 2.0 * request.budget.to_f64();
        let [value, bound] = [mean.value, mean.bound].map(|v| v / spent);
        for (_, proof) in &mut sets {
            *proof =
                Some(Certificate { of: "weighted total variance over these weights of nodes", value, bound });
        }
    }
    Ok(Some(sets))
}

/// Those whose groups differ in size.
fn dimensions(ask: &Ask) -> Vec<Dimension> {
    let unequal = ask.frame.axes.iter().enumerate().filter(|(_, axis)| !axis.is_balanced());
    let of = |(number, axis): (usize, &Axis)| {
        let (axis, lumps) = axis.lump(0, &[0]);
        Dimension { number, axis, lumps }
    };
    unequal.map(of).collect()
}

impl Dimension {
    /// Notes how its levels are told. Returns the prices of its leaves at every level, each kind of leaf once.
    fn tell(
        &self,
        frame: &Frame,
        factors: &[Vec<u32>],
        told: &mut Told,
    ) -> Result<Vec<Vec<f64>>, NotApplicable> {
        let mut paths: Vec<Vec<f64>> = vec![vec![1.0]];
        let whole = &frame.axes[self.number];
        for ((rung, lumps), own) in whole.rungs.iter().zip(&self.lumps).zip(factors).skip(1) {
            let all = lumps.iter().map(|&lump| own[lump as usize]).collect();
            let weights = NodeWeights::new(rung.parent.clone(), all).map_err(|_| NotApplicable::NoBasis)?;
            let below = |(&p, &norm): (&u32, &u64)| {
                let mut path = paths[p as usize].clone();
                path.push(norm as f64);
                path
            };
            paths = rung.parent.iter().zip(weights.norms()).map(below).collect();
            if !rung.adds_nothing() {
                told.insert((self.number, rung.level), Telling::Weights(Arc::new(weights)));
            }
        }
        paths.sort_by(|a, b| a.iter().map(|v| v.to_bits()).cmp(b.iter().map(|v| v.to_bits())));
        paths.dedup();
        Ok(paths)
    }
}

/// A component's block, its price along the dimensions without weights, and its integer scale along those.
fn block(ask: &Ask, told: &Told, component: &Cuboid) -> Result<(Block, f64, f64), NotApplicable> {
    let axes: Vec<Telling> =
        component.pairs().map(|at| told.get(&at).cloned().unwrap_or(Telling::Siblings)).collect();
    let own = component.pairs().zip(&axes).filter(|(_, told)| **told == Telling::Siblings);
    let norm: f64 = own.map(|((d, l), told)| told.norm(ask.frame.rung(Level::new(d, l))) as f64).product();
    let block = Block::Based(Based { cuboid: component.clone(), axes });
    let m = block.unit(ask.frame).ok_or_else(|| NotApplicable::ScaleTooLarge(ask.name(component)))?;
    if ask.request.is_exact(component) {
        return Ok((block, 0.0, m));
    }
    ask.check_size(component)?;
    Ok((block, norm * ask.request.unit_price(), m))
}

/// For how many bits of factors each tree has room.
fn bits(ask: &Ask, dimensions: &[Dimension]) -> Result<f64, NotApplicable> {
    let mut least = MOST_BITS;
    for component in &ask.closure.components {
        let has = |d: usize| dimensions.iter().any(|own| own.number == d);
        let trees = component.pairs().filter(|(d, _)| has(*d)).count();
        let others = Cuboid::new(component.pairs().filter(|(d, _)| !has(*d)));
        let scale = component_scale(ask.frame, &others).map_or(f64::INFINITY, |m| m as f64);
        let room = BITS - libm::log2(scale) - others.len() as f64;
        if trees > 0 {
            least = least.min(room / trees as f64);
        }
        if least < LEAST_BITS {
            return Err(NotApplicable::ScaleTooLarge(ask.name(component)));
        }
    }
    Ok(least)
}

fn problem(ask: &Ask, dimensions: &[Dimension]) -> Problem {
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
        let own = a.iter().filter(|at| place(at.dimension).is_none()).map(|at| ask.frame.rung(at));
        own.map(|rung| 1.0 - rung.siblings.len() as f64 / rung.real_len() as f64).product()
    };
    let asked = |(t, table): (usize, &Table)| {
        let fixed = ask.closure.rows_of(ask.frame, t, table);
        let row = |((d, l), fixed): ((usize, usize), Vec<f64>)| match place(d) {
            Some(tree) => Row::Of(tree, axis(d).rung(l).unwrap_or(0)),
            None => Row::Fixed(fixed),
        };
        Asker {
            weight: weight(ask, t, table),
            components: ask.closure.tables[t].clone(),
            rows: table.cuboid.pairs().zip(fixed).map(row).collect(),
        }
    };
    let live = |d: &Dimension| {
        let rungs = d.axis.rungs.iter().enumerate();
        rungs.filter(|(_, r)| !r.adds_nothing()).map(|(at, _)| at).collect()
    };
    Problem {
        trees: dimensions.iter().map(|d| Tree::new(&d.axis)).collect(),
        live: dimensions.iter().map(live).collect(),
        tables: ask.request.workload.iter().enumerate().map(asked).collect(),
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
