//! The error every table will have, under the discrete noise that will really be drawn.

mod areas;
mod one_tree;
mod sums;
mod tree;
mod unequal;

pub(crate) use areas::Areas;
pub(crate) use unequal::{by_kinds, glance, is_too_much, kinds, work};

use super::closure::bases::tellings_of;
use super::closure::{Closure, Spread};
use super::request::Request;
use crate::answer::Evaluator;
use crate::cube::{Cube, Cuboid, Frame, Level, odometer};
use crate::plan::{Asks, Form, Plan, Ranges, Selected, Table, component_variance};
use crate::recover::Nothing;
use crate::recover::gls::measured_tables;
use crate::recover::zeros::Lumped;
use crate::recover::{Recovery, row_estimator};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// What a plan promises.
#[derive(Debug, Clone, Default)]
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
    /// Of tables over groups of unequal size a cell that is known least well, by its nodes.
    pub worst: BTreeMap<usize, Vec<u32>>,
    /// Whether it counts on the cells declared empty. Else it is an upper bound where there are any.
    pub zeros: bool,
}

impl Prediction {
    /// The same with all variances so many times as large.
    pub(super) fn scaled(&self, times: f64) -> Prediction {
        let spread = |s: &Spread| Spread { mean: s.mean * times, max: s.max * times };
        Prediction {
            tables: self.tables.iter().map(spread).collect(),
            total: self.total * times,
            weighted_total: self.weighted_total * times,
            max: self.max * times,
            ..self.clone()
        }
    }

    /// The root of the mean variance over all that is asked.
    pub fn rms_error(&self) -> f64 {
        // Of sums alone no counts are asked.
        (self.total / self.queries.max(1.0)).sqrt()
    }
}

/// Predicts the error of every workload table of a plan's first channel: of rows, or of the one that the plan is for [alone](Plan::alone).
pub(crate) fn predict(request: &Request, frame: &Frame, closure: &Closure, plan: &Plan) -> Prediction {
    let over = over_bases(&request.cube, frame, closure, plan, &request.workload);
    let closure = over.as_ref().unwrap_or(closure);
    let mut worst = BTreeMap::new();
    let tables: Vec<Told> = match component_variances(frame, closure, plan) {
        _ if plan.only().measurements.iter().any(|m| m.block.form() == Form::Rows) => {
            rows_spread(request, frame, plan)
        }
        Some(sigma2) => {
            let one = |(t, table): (usize, &Table)| {
                let spread = closure.spread(t, &table.cuboid, &sigma2);
                let Some(cells) = request.cells_of(t) else { return Told::alike(spread) };
                let mut weighed = 0.0;
                closure.weighed_gains(frame, t, &table.cuboid, Some(cells), |a, g| weighed += sigma2[a] * g);
                Told { spread, weighed }
            };
            plan.only().workload.par_iter().enumerate().map(one).collect()
        }
        None => {
            let measured = measured_tables(plan);
            let all = || plan.only().workload.iter().enumerate();
            let cells = all().filter(|(_, t)| t.asks.is_cells());
            let cuboids: Vec<(&Cuboid, Option<&[f64]>)> =
                cells.map(|(at, t)| (&t.cuboid, request.cells_of(at))).collect();
            let over = unequal::spreads(frame, &measured, &plan.exact, &cuboids, &request.watch);
            let mut over = over.into_iter();
            let mut one = |(at, t): (usize, &Table)| match t.asks.is_cells() {
                true => {
                    let unknown = (Told::alike(Spread::UNKNOWN), Vec::new());
                    let (told, nodes) = over.next().unwrap_or(unknown);
                    worst.insert(at, nodes);
                    told
                }
                false => Told::alike(
                    tree::spread(frame, &measured, t)
                        .filter(|_| plan.exact.is_empty())
                        .unwrap_or_else(|| sums::spread(&request.cube, frame, (&measured, &plan.exact), t)),
                ),
            };
            all().map(&mut one).collect()
        }
    };
    let under_zeros = if plan.zeros.is_empty() { None } else { under_zeros(request, plan) };
    let zeros = under_zeros.is_some();
    let tables = under_zeros.unwrap_or(tables);
    let mut p = Prediction {
        tables: tables.iter().map(|told| told.spread).collect(),
        // Cells declared empty tell cells apart that these are kinds of.
        worst: if zeros { BTreeMap::new() } else { worst },
        zeros,
        ..Prediction::default()
    };
    for (t, (table, Told { spread, weighed })) in request.workload.iter().zip(&tables).enumerate() {
        let queries = closure.queries(frame, t, &table.cuboid);
        p.cells += frame.cells(&table.cuboid);
        p.queries += queries;
        p.asked.push(queries);
        p.total += queries * spread.mean;
        p.weighted_total += table.weight.to_f64() * queries * weighed;
        p.max = p.max.max(spread.max);
    }
    p
}

/// What is told of a table's cells, and the mean of their variances by what each of them weighs.
#[derive(Debug, Clone, Copy)]
struct Told {
    spread: Spread,
    weighed: f64,
}

impl Told {
    /// Of cells that weigh alike.
    fn alike(spread: Spread) -> Told {
        Told { spread, weighed: spread.mean }
    }

    /// From variances one by one, each so many times; `cells` is what each of them weighs.
    fn of(each: impl IntoIterator<Item = (f64, f64)>, cells: Option<&[f64]>) -> Told {
        let (mut sum, mut count, mut max, mut weighed) = (0.0, 0.0, 0.0f64, 0.0);
        for (at, (many, variance)) in each.into_iter().enumerate() {
            sum += many * variance;
            count += many;
            max = max.max(variance);
            weighed += cells.and_then(|c| c.get(at)).map_or(many, |weight| *weight) * variance;
        }
        let count = f64::max(count, 1.0);
        Told { spread: Spread { mean: sum / count, max }, weighed: weighed / count }
    }
}

/// The closure as the bases of a plan tell it, where it has any.
pub(crate) fn over_bases(
    cube: &Cube,
    frame: &Frame,
    closure: &Closure,
    plan: &Plan,
    workload: &[Table],
) -> Option<Closure> {
    let tellings = tellings_of(plan);
    (!tellings.alike.is_empty()).then(|| closure.over_tellings(cube, frame, workload, &tellings))
}

/// More kinds of cells than this, in all tables together, are not gone through one by one.
const MOST_KINDS: usize = 2048;

/// The most numbers that queries under zeros may have together.
const MOST_NUMBERS: f64 = (1u64 << 22) as f64;

/// The most pairs of a measured table and a component below one that is asked for, where several are measured: each law goes through them.
const MOST_PAIRS: f64 = (1u64 << 24) as f64;

/// Under the cells declared empty: by the very laws that answers will have. `None` where those tell too many cells apart, or are too much work.
fn under_zeros(request: &Request, plan: &Plan) -> Option<Vec<Told>> {
    let measured =
        plan.only().measurements.iter().filter(|m| matches!(m.block.form(), Form::Table(_))).count();
    let below = plan.only().workload.iter().map(|t| libm::exp2(t.cuboid.len() as f64)).fold(0.0, f64::max);
    if measured > 1 && measured as f64 * below > MOST_PAIRS {
        return None;
    }
    let evaluator =
        Evaluator::new(Recovery::of(&plan.only().subject, request.cube.clone(), plan.clone(), Nothing).ok()?);
    let mut left = MOST_KINDS;
    let mut out = Vec::with_capacity(plan.only().workload.len());
    let whole = Lumped::whole(evaluator.recovery().frame());
    let based = plan.only().measurements.iter().any(|m| m.block.form() == Form::Based);
    for (t, table) in plan.only().workload.iter().enumerate() {
        let cells = request.cells_of(t);
        // Cells told by bases are all different, and so are those that weigh each by itself.
        let kinds: Vec<(f64, f64)> = match table.asks.is_cells() && !based && cells.is_none() {
            true => {
                let laws = evaluator.cell_laws(&table.cuboid, left).ok()??;
                laws.iter().map(|(count, law)| (*count, law.variance())).collect()
            }
            false => sum_variances(evaluator.recovery(), &whole, table, left)?,
        };
        left = left.saturating_sub(kinds.len());
        out.push(Told::of(kinds, cells));
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
                table.asks.of(level.dimension).unwrap_or(&Ranges::Cells).queries(n)
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
pub(crate) fn component_variances(frame: &Frame, closure: &Closure, plan: &Plan) -> Option<Vec<f64>> {
    let n = closure.components.len();
    if plan.only().measurements.iter().all(|m| matches!(m.block.form(), Form::Component | Form::Based)) {
        let mut sigma2 = vec![f64::INFINITY; n];
        for (at, m) in plan.only().measurements.iter().enumerate() {
            // Most often all are measured, in their order.
            let a = m.block.cuboid();
            let own = closure.components.get(at).filter(|c| *c == a).map(|_| at);
            let Some(id) = own.or_else(|| closure.find(a)) else { continue };
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
        // Whichever list is shorter: the components below the table that it tells something of, or all there are.
        let (needed, free) = t.needed(frame);
        if 1usize.checked_shl(free.len() as u32).is_some_and(|below| below < n) {
            for a in frame.below(&free) {
                let a = if needed.is_total() { a } else { a.join(&needed) };
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
pub(crate) fn each_query(cube: &Cube, frame: &Frame, table: &Table, visit: &mut dyn FnMut(Vec<f64>)) {
    if matches!(table.asks, Asks::Query(_)) {
        if let Some(selected) = Selected::of(cube, table) {
            selected.each(cube, visit);
        }
        return;
    }
    let sides: Vec<(u32, Vec<(u32, u32)>)> = (table.cuboid.iter())
        .map(|level| {
            let n = frame.rung(level).len() as u32;
            (n, table.asks.of(level.dimension).unwrap_or(&Ranges::Cells).intervals(n).collect())
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
fn rows_spread(request: &Request, frame: &Frame, plan: &Plan) -> Vec<Told> {
    let open = Told::alike(Spread::UNKNOWN);
    let of = plan.only().measurements.first().map(|m| m.block.cuboid());
    let solved = of.and_then(|of| Some((of, row_estimator::system(frame, plan, of, &[]).ok()?)));
    let solved =
        solved.and_then(|(of, system)| Some((of, system.weighed(row_estimator::weights(plan)).ok()?)));
    let Some((of, weighed)) = solved else { return vec![open; plan.only().workload.len()] };
    let spread = |t: usize, table: &Table| {
        let mut each = Vec::new();
        each_query(&request.cube, frame, table, &mut |query| {
            let expressed = weighed.system().express(&frame.pull_back(&table.cuboid, of, query));
            each.push((1.0, expressed.map_or(f64::INFINITY, |c| weighed.variance(c))));
        });
        Told::of(each, request.cells_of(t))
    };
    let each = |(t, table): (usize, &Table)| match plan.exact_above(&table.cuboid) {
        Some(_) => Told::alike(Spread { mean: 0.0, max: 0.0 }),
        None if table.cuboid.is_below(of) => spread(t, table),
        None => open,
    };
    plan.only().workload.iter().enumerate().map(each).collect()
}

/// Components below a table published exactly have no error.
fn known(sigma2: &mut [f64], closure: &Closure, plan: &Plan) {
    if !plan.exact.is_empty() {
        let below = closure.components.iter().map(|a| plan.exact_above(a).is_some());
        sigma2.iter_mut().zip(below).filter(|(_, exact)| *exact).for_each(|(s, _)| *s = 0.0);
    }
}
