//! The error every table will have, under the discrete noise that will really be drawn.

mod sums;
mod tree;

use super::Request;
use super::closure::bases::bases_of;
use super::closure::{Closure, Spread};
use super::targets::Nothing;
use crate::answer::Evaluator;
use crate::cube::{Axis, Cube, Cuboid, Frame, Level, odometer};
use crate::plan::noise::component_variance;
use crate::plan::{Asked, Asks, Form, Plan, Selected, Table};
use crate::recover::gls::{Gls, Parts, Weighted, measured_tables};
use crate::recover::zeros::Lumped;
use crate::recover::{Recovery, written};
use std::collections::HashMap;

/// What a plan promises.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// For each workload table, in the workload's order.
    pub tables: Vec<Spread>,
    /// `Σ` over all that is asked, of all tables, of the answer's variance.
    pub total: f64,
    /// The same with the tables' weights: what strategies are compared by.
    pub weighted_total: f64,
    /// The worst answer's variance.
    pub max: f64,
    /// The number of cells of all tables.
    pub cells: f64,
    /// The number of queries asked of them: as many, where cells are asked for.
    pub queries: f64,
    /// The number of queries asked of each.
    pub asked: Vec<f64>,
    /// Whether it counts on the cells declared empty. Else it is an upper bound where there are any.
    pub zeros: bool,
}

impl Prediction {
    /// The root of the mean variance over all that is asked.
    pub fn rms_error(&self) -> f64 {
        (self.total / self.queries).sqrt()
    }
}

/// Predicts the error of every workload table.
pub fn predict(request: &Request, frame: &Frame, closure: &Closure, plan: &Plan) -> Prediction {
    let over = over_bases(&request.cube, frame, closure, plan, &request.workload);
    let closure = over.as_ref().unwrap_or(closure);
    let tables: Vec<Spread> = match component_variances(frame, closure, plan) {
        _ if plan.measurements.iter().any(|m| m.block.form() == Form::Rows) => {
            rows_spread(&request.cube, frame, plan)
        }
        Some(sigma2) => plan
            .workload
            .iter()
            .enumerate()
            .map(|(t, table)| closure.spread(t, &table.cuboid, &sigma2))
            .collect(),
        None => {
            let measured = measured_tables(plan);
            let one = |t: &Table| match t.asks.is_cells() {
                true => unbalanced_spread(frame, &measured, &plan.exact, &t.cuboid),
                false => tree::spread(frame, &measured, t)
                    .filter(|_| plan.exact.is_empty())
                    .unwrap_or_else(|| sums::spread(&request.cube, frame, (&measured, &plan.exact), t)),
            };
            plan.workload.iter().map(one).collect()
        }
    };
    let under_zeros = if plan.zeros.is_empty() { None } else { under_zeros(request, plan) };
    let zeros = under_zeros.is_some();
    let mut p = Prediction {
        tables: under_zeros.unwrap_or(tables),
        total: 0.0,
        weighted_total: 0.0,
        max: 0.0,
        cells: 0.0,
        queries: 0.0,
        asked: Vec::new(),
        zeros,
    };
    for (t, (table, spread)) in request.workload.iter().zip(&p.tables).enumerate() {
        let queries = closure.queries(frame, t, &table.cuboid);
        p.cells += frame.cells(&table.cuboid);
        p.queries += queries;
        p.asked.push(queries);
        p.total += queries * spread.mean;
        p.weighted_total += table.weight.to_f64() * queries * spread.mean;
        p.max = p.max.max(spread.max);
    }
    p
}

/// The closure as the bases of a plan tell it, where it has any.
pub fn over_bases(
    cube: &Cube,
    frame: &Frame,
    closure: &Closure,
    plan: &Plan,
    workload: &[Table],
) -> Option<Closure> {
    let bases = bases_of(plan);
    (!bases.is_empty()).then(|| closure.over_bases(cube, frame, workload, &bases))
}

/// More kinds of cells than this, in all tables together, are not gone through one by one.
const MOST_KINDS: usize = 2048;

/// The most numbers that queries under zeros may have together.
const MOST_NUMBERS: f64 = (1u64 << 22) as f64;

/// Under the cells declared empty: by the very laws that answers will have. `None` where those tell too many cells apart.
fn under_zeros(request: &Request, plan: &Plan) -> Option<Vec<Spread>> {
    let evaluator = Evaluator::new(Recovery::new(request.cube.clone(), plan.clone(), Nothing).ok()?);
    let mut left = MOST_KINDS;
    let mut out = Vec::with_capacity(plan.workload.len());
    let whole = Lumped::whole(evaluator.recovery().frame());
    let based = plan.measurements.iter().any(|m| m.block.form() == Form::Based);
    for table in &plan.workload {
        // Cells told by bases are all different.
        let kinds = match table.asks.is_cells() && !based {
            true => evaluator.cell_variances(&table.cuboid, left).ok()??,
            false => sum_variances(evaluator.recovery(), &whole, table, left)?,
        };
        left = left.saturating_sub(kinds.len());
        let cells: f64 = kinds.iter().map(|k| k.0).sum();
        let sum: f64 = kinds.iter().map(|(count, v)| count * v).sum();
        out.push(Spread { mean: sum / cells.max(1.0), max: kinds.iter().map(|k| k.1).fold(0.0, f64::max) });
    }
    Some(out)
}

/// The variance of every query of a table that is asked for sums, each by itself. `None` where there are more than `most`.
fn sum_variances(
    recovery: &Recovery<Nothing>,
    whole: &Lumped,
    table: &Table,
    most: usize,
) -> Option<Vec<(f64, f64)>> {
    let (cube, frame) = (recovery.cube(), recovery.frame());
    let queries: f64 = match Selected::of(cube, table) {
        Some(selected) => selected.queries(cube),
        None => {
            let of = |level: Level| {
                let n = frame.rung(level).real_len();
                table.asks.of(level.dimension).unwrap_or(&Asked::Cells).queries(n)
            };
            table.cuboid.iter().map(of).product()
        }
    };
    if queries > most as f64 || queries * frame.spread(&table.cuboid) > MOST_NUMBERS {
        return None;
    }
    let mut out = Some(Vec::new());
    each_query(cube, frame, table, &mut |query| {
        let Some(all) = &mut out else { return };
        match recovery.error_law(whole, &table.cuboid, query) {
            Ok(law) => all.push((1.0, law.variance())),
            Err(_) => out = None,
        }
    });
    out
}

/// `σ_A²` of every component, where components are recovered independently of each other: measured one by
/// one, or from tables over balanced axes.
pub fn component_variances(frame: &Frame, closure: &Closure, plan: &Plan) -> Option<Vec<f64>> {
    let n = closure.components.len();
    if plan.measurements.iter().all(|m| matches!(m.block.form(), Form::Component | Form::Based)) {
        let mut sigma2 = vec![f64::INFINITY; n];
        for m in &plan.measurements {
            let Some(id) = closure.find(m.block.cuboid()) else { continue };
            sigma2[id] = component_variance(frame, plan.noise, m)?;
        }
        known(&mut sigma2, closure, plan);
        return Some(sigma2);
    }
    if !frame.is_balanced() {
        return None;
    }
    let mut precision = vec![0.0; n];
    for t in measured_tables(plan) {
        let mut add = |id: usize, a: &Cuboid| precision[id] += t.precision(frame, a);
        // Whichever list is shorter: the components below the table, or all there are.
        if 1usize.checked_shl(t.cuboid.len() as u32).is_some_and(|below| below < n) {
            for a in frame.below(&t.cuboid) {
                if let Some(id) = closure.find(&a) {
                    add(id, &a);
                }
            }
        } else {
            for (id, a) in closure.components.iter().enumerate().filter(|(_, a)| a.is_below(&t.cuboid)) {
                add(id, a);
            }
        }
    }
    let mut sigma2: Vec<f64> = precision.into_iter().map(|p| 1.0 / p).collect();
    known(&mut sigma2, closure, plan);
    Some(sigma2)
}

/// Every query asked of a table, as weights of its cells, the last dimension fastest.
pub fn each_query(cube: &Cube, frame: &Frame, table: &Table, visit: &mut dyn FnMut(Vec<f64>)) {
    if matches!(table.asks, Asks::Query(_)) {
        if let Some(selected) = Selected::of(cube, table) {
            selected.each(cube, visit);
        }
        return;
    }
    let sides: Vec<(u32, Vec<(u32, u32)>)> = (table.cuboid.iter())
        .map(|level| {
            let n = frame.rung(level).len() as u32;
            (n, table.asks.of(level.dimension).unwrap_or(&Asked::Cells).intervals(n).collect())
        })
        .collect();
    let mut pick = vec![0u32; sides.len()];
    loop {
        let query = sides.iter().zip(&pick).fold(vec![1.0], |outer, ((n, list), &p)| {
            let (first, last) = list.get(p as usize).copied().unwrap_or((1, 0));
            let inside = move |i: u32| if (first..=last).contains(&i) { 1.0 } else { 0.0 };
            outer.iter().flat_map(|&o| (0..*n).map(move |i| o * inside(i))).collect()
        });
        visit(query);
        if !odometer::next(&mut pick, |i| sides[i].1.len()) {
            break;
        }
    }
}

/// From rows: every query by itself. Infinite where the rows leave one open.
fn rows_spread(cube: &Cube, frame: &Frame, plan: &Plan) -> Vec<Spread> {
    let open = Spread { mean: f64::INFINITY, max: f64::INFINITY };
    let of = plan.measurements.first().map(|m| m.block.cuboid());
    let solved = of.and_then(|of| Some((of, written::system(frame, plan, of, &[]).ok()?)));
    let solved = solved.and_then(|(of, system)| Some((of, system.weighed(written::weights(plan)).ok()?)));
    let Some((of, weighed)) = solved else { return vec![open; plan.workload.len()] };
    let spread = |table: &Table| {
        let (mut sum, mut count, mut max) = (0.0, 0.0, 0.0f64);
        each_query(cube, frame, table, &mut |query| {
            let expressed = weighed.system().express(&frame.pull_back(&table.cuboid, of, query));
            let variance = expressed.map_or(f64::INFINITY, |c| weighed.variance(c));
            sum += variance;
            count += 1.0;
            max = max.max(variance);
        });
        Spread { mean: sum / count, max }
    };
    let each = |table: &Table| match plan.exact_above(&table.cuboid) {
        Some(_) => Spread { mean: 0.0, max: 0.0 },
        None if table.cuboid.is_below(of) => spread(table),
        None => open,
    };
    plan.workload.iter().map(each).collect()
}

/// Components below a table published exactly have no error.
fn known(sigma2: &mut [f64], closure: &Closure, plan: &Plan) {
    if !plan.exact.is_empty() {
        let below = closure.components.iter().map(|a| plan.exact_above(a).is_some());
        sigma2.iter_mut().zip(below).filter(|(_, exact)| *exact).for_each(|(s, _)| *s = 0.0);
    }
}

/// Cells of a table that no measured table tells apart, and one of them as a query.
pub struct Kind {
    /// Axes on which all that look alike to that cell are lumped.
    pub frame: Frame,
    /// Over the lumped table.
    pub query: Vec<f64>,
    /// How many cells there are of this kind.
    pub count: f64,
}

/// The kinds of cells of a table: nodes of one orbit in every dimension.
pub fn kinds(frame: &Frame, cuboid: &Cuboid) -> Vec<Kind> {
    let kinds = |at: Level| {
        let axis = &frame.axes[at.dimension];
        kinds_of(axis, axis.rung(at.level).unwrap_or(0))
    };
    let kinds: Vec<Vec<(usize, u64)>> = cuboid.iter().map(kinds).collect();
    let mut out = Vec::new();
    let mut pick = vec![0; kinds.len()];
    let rest: Vec<_> = frame.axes.iter().map(|a| a.lump(0, &[0]).0).collect();
    loop {
        let mut lumped = Frame { axes: rest.clone() };
        let mut query = vec![1.0];
        let mut count = 1.0;
        for (level, (kind, &p)) in cuboid.iter().zip(kinds.iter().zip(&pick)) {
            let axis = &frame.axes[level.dimension];
            let r = axis.rung(level.level).unwrap_or(0);
            let (node, copies) = kind[p as usize];
            count *= copies as f64;
            let mut colour = vec![0; axis.rungs[r].len()];
            colour[node] = 1;
            let (small, lumps) = axis.lump(r, &colour);
            let at = lumps[r][node] as usize;
            let n = small.rungs[r].len();
            query = query.iter().flat_map(|&q| (0..n).map(move |k| if k == at { q } else { 0.0 })).collect();
            lumped.axes[level.dimension] = small;
        }
        out.push(Kind { frame: lumped, query, count });
        if !odometer::next(&mut pick, |i| kinds[i].len()) {
            return out;
        }
    }
}

/// Mean and largest cell variance of a table when levels are unbalanced: one solve for each kind of cell.
fn unbalanced_spread(frame: &Frame, measured: &[Weighted], exact: &[Cuboid], cuboid: &Cuboid) -> Spread {
    let mut spread = Spread { mean: 0.0, max: 0.0 };
    let mut cells = 0.0;
    for kind in kinds(frame, cuboid) {
        let variance = query_variance(&kind.frame, measured, exact, cuboid, kind.query);
        spread.mean += kind.count * variance;
        spread.max = spread.max.max(variance);
        cells += kind.count;
    }
    spread.mean /= cells;
    spread
}

/// Kinds of nodes of a rung: orbits of the uncoloured tree, each by one of its nodes and their number.
fn kinds_of(axis: &Axis, r: usize) -> Vec<(usize, u64)> {
    let (lumped, lumps) = axis.lump(0, &[0]);
    let mut first: HashMap<u32, usize> = HashMap::new();
    for (node, &lump) in lumps[r].iter().enumerate() {
        first.entry(lump).or_insert(node);
    }
    let mut kinds: Vec<_> =
        first.into_iter().map(|(lump, node)| (node, lumped.rungs[r].multiplicity[lump as usize])).collect();
    kinds.sort_unstable();
    kinds
}

/// The variance of the best linear unbiased estimate of a query; infinite when it cannot be estimated.
fn query_variance(
    frame: &Frame,
    measured: &[Weighted],
    exact: &[Cuboid],
    cuboid: &Cuboid,
    query: Vec<f64>,
) -> f64 {
    let mut q = Parts::new();
    Gls::gather(frame, cuboid, query, &mut q);
    q.retain(|a, _| !exact.iter().any(|e| a.is_below(e)));
    let gls = Gls::new(frame, measured, false).beside(exact);
    let Ok(v) = gls.solve(q.clone()) else { return f64::INFINITY };
    // In a fixed order: the sum's last digit may decide between two plans.
    let mut q: Vec<_> = q.iter().collect();
    q.sort_unstable_by_key(|(a, _)| *a);
    q.into_iter()
        .map(|(a, q)| {
            let m = frame.multiplicity(a);
            v.get(a).map_or(0.0, |v| v.iter().zip(q).zip(m).map(|((v, q), m)| v * q * m as f64).sum())
        })
        .sum()
}
