//! How well each category of a level is known: the prediction of a table's cells, node by node of a dimension whose groups differ in size.
//!
//! In as many steps as there are nodes. Where components are independent a cell's variance is `Σ_A σ_A² Π_i n_i(A_i)`, a product over dimensions; summed over what
//! stands beside this one, `c_j` is left for each of its rungs `j`, and a node's variance follows from its parent's: `V(v) = u_v² V(p) + c_j ω_v (1 − u_v)`, `u` and `ω`
//! as in [`crate::planner::weights`]. Over whole tables the passes of [`super::one_tree`] tell it. A node's cells differ only where other dimensions have unequal groups or bases,
//! too: then it is as well known as its cell that is known least well.

use super::one_tree::{self, OneTree};
use crate::cube::{Cuboid, Frame, Level};
use crate::plan::{Form, Measurement, NodeWeights, Subject, Telling, Tellings, component_variance};
use crate::planner::closure::bases::{Bases, foremost, of_cells, tellings_of};
use crate::planner::planned::Planned;
use crate::planner::request::Request;
use crate::recover::gls::{Weighted, measured_tables};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// No more steps on one number than this, for all tables together: about a second.
const MOST_STEPS: f64 = (1u64 << 27) as f64;

/// Over whole tables the noises of a tree of more nodes than this are too many for one more law.
const MOST_SOLVED: usize = 1 << 13;

/// The areas of a plan, by dimension and table.
pub(crate) struct Areas<'a> {
    planned: &'a Planned,
    /// Over the levels of the plan.
    pub(crate) frame: Frame,
    how: How,
    left: Cell<f64>,
    /// Over whole tables, by the levels beside the tree: the variances of every rung.
    passed: RefCell<FxHashMap<Cuboid, Rc<Vec<Vec<f64>>>>>,
}

/// How cells' variances follow from what is measured.
enum How {
    /// Independent components.
    Components(FxHashMap<Cuboid, f64>, Tellings),
    /// Whole tables over the tree of this dimension, as it is.
    Tables(usize, Vec<Weighted>),
    /// Not node by node.
    Unknown,
}

/// How well the nodes of a dimension's level are known, as cells of one table.
pub(crate) struct ByNode {
    /// The variance of every node's cell that is known least well.
    pub(crate) variances: Vec<f64>,
    /// For each dimension of the table kinds of nodes, and for each node of the level which of them that cell is in.
    cells: Vec<Vec<u32>>,
    picked: Vec<u32>,
    position: usize,
    /// Whether the law of one of them is found quickly, too.
    pub(crate) is_plain: bool,
}

impl ByNode {
    /// The cell of a node that is known least well, by its nodes.
    pub(crate) fn cell(&self, node: u32) -> Vec<u32> {
        let pick = self.picked.get(node as usize).copied().unwrap_or(0);
        let mut cell = self.cells.get(pick as usize).cloned().unwrap_or_default();
        if let Some(own) = cell.get_mut(self.position) {
            *own = node;
        }
        cell
    }

    /// A node such that half of all are known at least so well.
    pub(crate) fn median(&self) -> u32 {
        let mut order: Vec<u32> = (0..self.variances.len() as u32).collect();
        let middle = order.len().saturating_sub(1) / 2;
        let of = |node: u32| self.variances.get(node as usize).copied().unwrap_or(0.0);
        let by = |a: &u32, b: &u32| of(*a).total_cmp(&of(*b)).then(a.cmp(b));
        if order.is_empty() { 0 } else { *order.select_nth_unstable_by(middle, by).1 }
    }
}

impl<'a> Areas<'a> {
    /// The request is that of the plan, over its levels.
    pub(crate) fn new(request: &Request, planned: &'a Planned) -> Areas<'a> {
        let frame = Frame::new(&request.cube, &planned.plan.levels);
        let how = if frame.is_balanced() { How::Unknown } else { how(&frame, planned) };
        Areas { planned, frame, how, left: Cell::new(MOST_STEPS), passed: RefCell::default() }
    }

    /// The dimensions whose groups differ in size.
    pub(crate) fn dimensions(&self) -> Vec<usize> {
        (0..self.frame.axes.len()).filter(|&d| !self.frame.axes[d].is_balanced()).collect()
    }

    /// How well the nodes of a dimension are known, as cells of table number `t` of rows. `None` where that takes long, or where cells are not asked for.
    pub(crate) fn of(&self, dimension: usize, t: usize) -> Option<ByNode> {
        let table = self.planned.plan.rows().workload.get(t).filter(|table| table.asks.is_cells())?;
        let spread = self.planned.prediction.tables.get(t)?;
        let at = table.cuboid.at(dimension);
        let nodes = self.frame.rung(at).len();
        let position = table.cuboid.iter().position(|own| own == at)?;
        let like = |variances: Vec<f64>| ByNode {
            variances,
            cells: vec![vec![0; table.cuboid.len()]],
            picked: Vec::new(),
            position,
            is_plain: !matches!(self.how, How::Tables(..)) || self.nodes(dimension) <= MOST_SOLVED,
        };
        self.spend(nodes as f64)?;
        if spread.max <= spread.mean * (1.0 + 1e-9) {
            return Some(like(vec![spread.max; nodes]));
        }
        match &self.how {
            How::Components(sigma2, tellings) => {
                let mut known = self.of_components(dimension, &table.cuboid, sigma2, tellings)?;
                known.position = position;
                // Of very many kinds of cells beside it a bound is told.
                known.variances.iter_mut().for_each(|v| *v = v.min(spread.max));
                Some(known)
            }
            How::Tables(tree, measured) if *tree == dimension => {
                Some(like(self.of_tables(dimension, &table.cuboid, measured)?))
            }
            // Those of another dimension have cells over the whole tree.
            How::Tables(..) => {
                let mut known = like(vec![spread.max; nodes]);
                known.cells = vec![self.planned.prediction.worst.get(&t)?.clone()];
                Some(known)
            }
            How::Unknown => None,
        }
    }

    /// How many nodes there are in all levels of a dimension.
    fn nodes(&self, dimension: usize) -> usize {
        self.frame.axes[dimension].rungs.iter().map(|r| r.len()).sum()
    }

    fn spend(&self, steps: f64) -> Option<()> {
        let left = self.left.get() - steps;
        (left >= 0.0).then(|| self.left.set(left))
    }

    fn of_tables(&self, dimension: usize, cuboid: &Cuboid, measured: &[Weighted]) -> Option<Vec<f64>> {
        let own = cuboid.without(dimension);
        let rung = self.frame.axes[dimension].rung(cuboid.level(dimension))?;
        let known = self.passed.borrow().get(&own).cloned();
        let all = match known {
            Some(all) => all,
            None => {
                self.spend(one_tree::work(&self.frame, measured, std::iter::once(cuboid))?)?;
                let tree = OneTree::whole(&self.frame, measured)?;
                let all = Rc::new(tree.variances(measured, &self.planned.plan.exact, &own));
                self.passed.borrow_mut().insert(own, all.clone());
                all
            }
        };
        all.get(rung).cloned()
    }

    fn of_components(
        &self,
        dimension: usize,
        cuboid: &Cuboid,
        sigma2: &FxHashMap<Cuboid, f64>,
        tellings: &Tellings,
    ) -> Option<ByNode> {
        // Where components have weights of their own, that is in this dimension: no other one has any.
        let each = tellings.each();
        let levels: Vec<Level> = cuboid.iter().collect();
        let rung = |at: Level| self.frame.axes[at.dimension].rung(at.level);
        // What stands beside it: kinds of nodes, and combinations of them.
        let mut kinds = Vec::with_capacity(levels.len());
        for at in &levels {
            kinds.push(match at.dimension == dimension {
                true => vec![(0, Vec::new())],
                false => foremost(&self.frame, at.dimension, rung(*at)?, &tellings.alike),
            });
        }
        let top = rung(cuboid.at(dimension))?;
        let nodes: usize = self.frame.axes[dimension].rungs[..=top].iter().map(|r| r.len()).sum();
        let combinations: f64 = kinds.iter().map(|k| k.len() as f64).product();
        let components = self.frame.below(cuboid);
        self.spend(combinations * (components.len() * levels.len() + 4 * nodes * each.len()) as f64)?;
        let mut out = ByNode {
            variances: Vec::new(),
            cells: Vec::new(),
            picked: Vec::new(),
            position: 0,
            is_plain: true,
        };
        let mut pick = vec![0u32; levels.len()];
        loop {
            let mut left = vec![vec![0.0; top + 1]; each.len()];
            for a in &components {
                let variance = match self.planned.plan.exact_above(a) {
                    Some(_) => 0.0,
                    None => *sigma2.get(a)?,
                };
                let beside =
                    levels.iter().zip(kinds.iter().zip(&pick)).filter(|(at, _)| at.dimension != dimension);
                let part = |(at, (kinds, &k)): (&Level, (&Vec<(u32, Vec<f64>)>, &u32))| {
                    let rung = rung(a.at(at.dimension)).unwrap_or(0);
                    kinds.get(k as usize).and_then(|(_, norms)| norms.get(rung)).copied().unwrap_or(0.0)
                };
                left[tellings.kind(a)][rung(a.at(dimension))?] +=
                    variance * beside.map(part).product::<f64>();
            }
            let mut own = vec![0.0; self.frame.axes[dimension].rungs[top].len()];
            for (left, bases) in left.iter().zip(&each) {
                let kind = self.along(dimension, top, left, bases);
                own.iter_mut().zip(kind).for_each(|(sum, v)| *sum += v);
            }
            match out.variances.is_empty() {
                true => out.variances = own,
                false => {
                    out.picked.resize(own.len(), 0);
                    let number = out.cells.len() as u32;
                    let most = out.variances.iter_mut().zip(&mut out.picked);
                    for ((most, picked), own) in most.zip(own).filter(|((most, _), own)| *own > **most) {
                        (*most, *picked) = (own, number);
                    }
                }
            }
            let node =
                |(kinds, &k): (&Vec<(u32, Vec<f64>)>, &u32)| kinds.get(k as usize).map_or(0, |kind| kind.0);
            out.cells.push(kinds.iter().zip(&pick).map(node).collect());
            if !crate::cube::odometer::next(&mut pick, |i| kinds[i].len()) {
                return Some(out);
            }
        }
    }

    /// For every node of a rung the sum over rungs above of these numbers, each times what the node has of that rung's noise.
    fn along(&self, dimension: usize, top: usize, left: &[f64], bases: &Bases) -> Vec<f64> {
        let rungs = &self.frame.axes[dimension].rungs[..=top];
        let told = |level: usize| bases.get(&(dimension, level));
        if rungs.iter().any(|r| told(r.level).is_some_and(|t| t.basis().is_some())) {
            let sum = |norms: Vec<f64>| norms.iter().zip(left).map(|(n, c)| n * c).sum();
            return of_cells(&self.frame, dimension, top, bases).into_iter().map(sum).collect();
        }
        let mut out = vec![left.first().copied().unwrap_or(0.0)];
        for (rung, &own) in rungs.iter().zip(left).skip(1) {
            let factors = told(rung.level).and_then(Telling::weights).map(|w| w.factors());
            let omega = |node: usize| {
                let c = factors.and_then(|f| f.get(node)).map_or(1.0, |&c| f64::from(c));
                1.0 / (c * c)
            };
            let mut sums = vec![0.0; rung.siblings.len()];
            rung.parent.iter().enumerate().for_each(|(node, &p)| sums[p as usize] += omega(node));
            let below = |(node, &p): (usize, &u32)| {
                let share = omega(node) / sums[p as usize];
                share * share * out[p as usize] + own * omega(node) * (1.0 - share)
            };
            out = rung.parent.iter().enumerate().map(below).collect();
        }
        out
    }

    /// For each rung of a dimension its part of what is spent: of every measurement what it costs, on average over the finest categories in use.
    pub(crate) fn shares(&self, dimension: usize) -> Vec<f64> {
        let axis = &self.frame.axes[dimension];
        let mut shares = vec![0.0; axis.rungs.len()];
        let mut means: FxHashMap<*const NodeWeights, f64> = FxHashMap::default();
        for (m, cost) in self.planned.plan.measurements().zip(&self.planned.cost.each) {
            let mut own = cost.to_f64();
            if let crate::plan::Block::Based(block) = &m.block {
                for (d, l, told) in block.dimensions() {
                    if let Some(weights) = told.weights() {
                        own *= *means
                            .entry(std::sync::Arc::as_ptr(weights))
                            .or_insert_with(|| self.mean_price(d, l, weights));
                    }
                }
            }
            if let Some(share) = shares.get_mut(axis.rung(m.block.cuboid().level(dimension)).unwrap_or(0)) {
                *share += own;
            }
        }
        let all: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|s| *s /= all);
        shares
    }

    /// What a level with weights costs the finest categories on average, in parts of what it costs the dearest.
    fn mean_price(&self, dimension: usize, level: usize, weights: &NodeWeights) -> f64 {
        let axis = &self.frame.axes[dimension];
        let rung = axis.rung(level).unwrap_or(0);
        let mut below: Vec<f64> = vec![1.0; axis.rungs.last().map_or(0, |r| r.len())];
        let leaves = below.len() as f64;
        for finer in axis.rungs[rung + 1..].iter().rev() {
            let mut sums = vec![0.0; finer.siblings.len()];
            finer.parent.iter().zip(&below).for_each(|(&p, n)| sums[p as usize] += n);
            below = sums;
        }
        let all: f64 = weights.norms().iter().zip(below).map(|(&norm, n)| norm as f64 * n).sum();
        let most = weights.norms().iter().copied().max().unwrap_or(0) as f64;
        if most > 0.0 { all / (leaves * most) } else { 1.0 }
    }
}

fn how(frame: &Frame, planned: &Planned) -> How {
    let plan = planned.plan.clone().alone(&Subject::Rows);
    let measured = &plan.only().measurements;
    let form = |m: &Measurement| m.block.form();
    if !plan.zeros.is_empty() {
        return How::Unknown;
    }
    if measured.iter().all(|m| matches!(form(m), Form::Component | Form::Based)) {
        let variance =
            |m: &Measurement| Some((m.block.cuboid().clone(), component_variance(frame, plan.noise, m)?));
        let sigma2 = measured.iter().map(variance).collect::<Option<_>>();
        return sigma2.map_or(How::Unknown, |sigma2| How::Components(sigma2, tellings_of(&plan)));
    }
    if measured.iter().any(|m| form(m) == Form::Rows) {
        return How::Unknown;
    }
    let tables = measured_tables(&plan);
    match one_tree::only(frame, &tables) {
        Some(tree) => How::Tables(tree, tables),
        None => How::Unknown,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::answer::Evaluator;
    use crate::cube::{Filter, odometer};
    use crate::recover::Recovery;
    use crate::sql::Aggregate;
    use std::path::Path;

    /// Two dimensions whose groups differ in size, and a plain one.
    const DIMENSIONS: &str = "[[dimension]]\nname = \"x\"\nrange = [0, 10]\n\
        levels = [{ name = \"a\", cuts = [4] }, { name = \"b\", cuts = [1, 4, 6, 7] }]\n\
        [[dimension]]\nname = \"y\"\nrange = [0, 6]\nlevels = [{ name = \"g\", cuts = [1, 4] }]\n\
        [[dimension]]\nname = \"s\"\ncategories = [\"F\", \"M\", \"?\"]\n";

    fn planned(rest: &str) -> (Request, Planned) {
        let text =
            format!("name = \"m\"\ntitle = \"M\"\n[privacy]\nunit = \"row\"\nrho = 1\n{DIMENSIONS}{rest}");
        let nowhere = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let request = crate::spec::parse(&text, Path::new("m.toml"), nowhere).unwrap().request().unwrap();
        let planned = crate::planner::plan(&request).unwrap();
        let request = request.over(planned.plan.measure).into_owned();
        (request, planned)
    }

    const X: &str = "[[table]]\nof = [\"x.a\", \"s\"]\n[[table]]\nof = [\"x.b\", \"s\"]\n[[table]]\nof = [\"x\"]\nweight = 3\n";
    const BOTH: &str = "[[table]]\nof = [\"x.b\", \"y\"]\n[[table]]\nof = [\"x\", \"y.g\"]\n[[table]]\nof = [\"x.a\", \"s\"]\n";

    /// Against the law of every cell: how many nodes were compared, and how many tables were left out.
    fn compare(rest: &str) -> (usize, usize) {
        let (request, planned) = planned(rest);
        let areas = Areas::new(&request, &planned);
        // Bases are read for how far rounding may be off.
        let zeros = |m: &Measurement| vec![0i64; m.block.values(&areas.frame)];
        let values: Vec<Vec<i64>> = planned.plan.measurements().map(zeros).collect();
        let evaluator =
            Evaluator::new(Recovery::new(request.cube.clone(), planned.plan.clone(), values).unwrap());
        let everything = [Aggregate::rows(Filter::everything(), None)];
        let (mut compared, mut left_out) = (0, 0);
        for d in areas.dimensions() {
            for (t, table) in planned.plan.rows().workload.iter().enumerate() {
                let Some(position) = table.cuboid.pairs().position(|at| at.0 == d) else { continue };
                let Some(known) = areas.of(d, t) else {
                    left_out += 1;
                    continue;
                };
                let sizes: Vec<usize> = table.cuboid.iter().map(|at| areas.frame.rung(at).len()).collect();
                let levels: Vec<Level> = table.cuboid.iter().collect();
                let variance =
                    |nodes: &[u32]| evaluator.law(&everything, &[1.0], &levels, nodes).unwrap().variance();
                let mut most = vec![0.0f64; sizes[position]];
                let mut nodes = vec![0u32; sizes.len()];
                loop {
                    let own = &mut most[nodes[position] as usize];
                    *own = own.max(variance(&nodes));
                    if !odometer::next(&mut nodes, |i| sizes[i]) {
                        break;
                    }
                }
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b + 1e-9;
                assert_eq!(known.variances.len(), most.len());
                for (node, (&told, &own)) in known.variances.iter().zip(&most).enumerate() {
                    assert!(near(told, own), "{rest} {:?} {node}: {told} {own}", table.cuboid);
                    assert!(
                        near(variance(&known.cell(node as u32)), own),
                        "{rest} {:?} {node}",
                        table.cuboid
                    );
                    compared += 1;
                }
                let (median, n) = (known.median() as usize, most.len());
                let better = (0..n).filter(|&i| known.variances[i] < known.variances[median]).count();
                let as_well = (0..n).filter(|&i| known.variances[i] <= known.variances[median]).count();
                assert!(2 * better < n && 2 * as_well >= n, "{better} {as_well} {n}");
            }
        }
        (compared, left_out)
    }

    #[test]
    fn as_the_law_of_every_cell() {
        // Two regions, five counties, eleven places.
        let exact = "[[table]]\nof = [\"x.a\"]\nexact = true\nreason = \"known\"\n";
        for strategy in ["\"residual\"", "\"residual\"\nbudgets = \"uniform\"", "\"queries\""] {
            let strategy = format!("[strategy]\nmeasure = {strategy}\n");
            assert_eq!(compare(&format!("{X}{strategy}")), (18, 0), "{strategy}");
            assert_eq!(compare(&format!("{X}{exact}{strategy}")), (20, 0), "{strategy}");
        }
    }

    /// Components that are asked for beside the same levels have weights of their own.
    #[test]
    fn with_weights_of_their_own() {
        let fine = "[[table]]\nof = [\"x.b\", \"s\", \"y\"]\n[[table]]\nof = [\"x\"]\nweight = 3\n";
        for (tables, nodes) in [(X, 18), (fine, 16)] {
            let rest = format!("{tables}[strategy]\nmeasure = \"residual\"\n");
            let own = tellings_of(&planned(&rest).1.plan).own.unwrap();
            assert_eq!((own.dimension, own.kinds.len()), (0, 2));
            assert_eq!(compare(&rest), (nodes, 0));
        }
    }

    /// Two trees: each node by the cell of the other that is known least well. Over whole tables they take a solution for every cell, and are left out.
    #[test]
    fn beside_another_tree() {
        let residual = format!("{BOTH}[strategy]\nmeasure = \"residual\"\n");
        assert_eq!(compare(&residual), (5 + 11 + 2 + 7 + 3, 0));
        let queries = format!("{BOTH}[strategy]\nmeasure = \"queries\"\n");
        assert_eq!(compare(&queries), (0, 5));
    }

    /// A dimension told by one basis of its finest categories beside one with weights: its groups are intervals there, and have no level to show.
    #[test]
    fn beside_bases() {
        let asked = "[[table]]\nof = [\"x\"]\nask = { x = \"ranges\" }\n";
        let rest = format!("{asked}{BOTH}[strategy]\nmeasure = \"bases\"\n");
        let (compared, left_out) = compare(&rest);
        assert_eq!((compared, left_out), (3, 1), "what is asked beyond cells is left out");
    }

    /// What each level costs a finest category, one by one.
    #[test]
    fn shares_of_the_budget() {
        for measure in ["residual", "queries"] {
            let (request, planned) = planned(&format!("{X}[strategy]\nmeasure = \"{measure}\"\n"));
            let areas = Areas::new(&request, &planned);
            let x = &request.cube.dimensions[0];
            let leaves = x.levels[x.finest()].len();
            let mut spent = [0.0; 4];
            for i in 0..planned.plan.measured() {
                let (_, m) = planned.plan.measurement(i).unwrap();
                let (_, most) = crate::plan::cost::measurement_cost(&planned.plan, &areas.frame, i).unwrap();
                let level = m.block.cuboid().level(0);
                for leaf in 0..leaves {
                    let own = x.ancestors(x.finest(), level)[leaf] as usize;
                    let part = match &m.block {
                        crate::plan::Block::Based(block) => {
                            let told = block.dimensions().find(|(d, ..)| *d == 0);
                            let norms = told.and_then(|(.., told)| Some(told.weights()?.norms()));
                            norms.map_or(1.0, |n| n[own] as f64 / *n.iter().max().unwrap() as f64)
                        }
                        _ => 1.0,
                    };
                    spent[level] += most.to_f64() * part / leaves as f64;
                }
            }
            let all: f64 = spent.iter().sum();
            let budget = planned.cost.total.to_f64();
            // Nobody pays more than the budget, and hardly anybody less.
            assert!(all <= budget * (1.0 + 1e-9) && all > 0.97 * budget, "{measure} {all} {budget}");
            let shares = areas.shares(0);
            assert!(
                shares.iter().zip(&spent).all(|(s, own)| (s - own / all).abs() < 1e-12),
                "{shares:?} {spent:?}"
            );
            // A plain dimension has all of its measurements at one level or none.
            assert!((areas.shares(2).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}
