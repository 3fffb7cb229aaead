//! A release that extends one that is out: what of its tables is missing, and worth measuring.
//!
//! What is out told each table of the new workload with some variance, or not at all. Both releases are asked together afterwards, and
//! independent answers combine by precision: `1/(1/v₀ + 1/v)`. So tables that are known well enough need not be measured
//! again, and all the budget goes to the rest. Which ones that is, is found by trial: the tables in the order of what is known of them, the
//! unknown ones first; a plan for every beginning of that list that is tried; the best by the spec's own objective, judged by the combined
//! variances. Nothing is looked at but two plans and their noises: it costs nothing.

use super::CompileError;
use crate::answer::{Answers, Evaluator};
use crate::cube::{Cube, Cuboid, Quantity};
use crate::plan::{Asks, Block, Subject, Table, Target};
use crate::planner::closure::Spread;
use crate::planner::objective::keeps;
use crate::planner::predict::Prediction;
use crate::planner::{self, Request};
use crate::spec::{self, Spec};
use std::path::Path;
use std::sync::Arc;

/// A spec of what is missing.
pub(crate) struct Missing {
    /// The spec to release: with fewer tables where some are known well enough.
    pub spec: Spec,
    /// The tables that are not measured again.
    pub known: Vec<String>,
}

/// So many beginnings of the list are tried.
const TRIED: usize = 4;

/// What is missing of a spec's tables beside a release of the same people. `origin` is where the spec stands. `None`: nothing, every
/// table is known as precisely as its target wants.
pub(crate) fn missing(spec: &Spec, origin: &Path, out: &Answers) -> Result<Option<Missing>, CompileError> {
    // Amounts are compared as what is out measures them.
    let plan = out.release().plan(out.cube()).ok();
    let request = plan.map_or_else(|| spec.request(), |plan| spec.measured(&plan).request());
    let request = request.ok_or(CompileError::NoBudget)?;
    // Which tables of sums are known well enough to be left out nobody has weighed here: if a margin is missed, or there is none, all of them are
    // measured again, and both are asked together.
    if !request.sums.is_empty() {
        let whole = || Missing { spec: spec.clone(), known: Vec::new() };
        return Ok((!sums_are_known(&request, out)).then(whole));
    }
    let cells = request.workload.iter().all(|t| t.asks == Asks::CELLS);
    let known = if cells { known(&request, out) } else { vec![None; request.workload.len()] };
    let met = |t: usize| request.target_variance(t).is_some_and(|v| known[t].is_some_and(|k| k.max <= v));
    if !known.is_empty() && (0..known.len()).all(met) {
        return Ok(None);
    }
    let whole = Missing { spec: spec.clone(), known: Vec::new() };
    // What other parts of a spec speak of must stay.
    let plain = spec.exact.is_empty() && spec.zeros.is_empty() && spec.strategy.shares.is_empty();
    if !plain || spec.strategy.rows.is_some() || known.iter().all(Option::is_none) {
        return Ok(Some(whole));
    }
    let mut order: Vec<usize> = (0..known.len()).collect();
    let variance =
        |t: usize| known[t].map_or(f64::INFINITY, |k| k.mean * request.workload[t].weight.to_f64());
    order.sort_by(|&a, &b| variance(b).total_cmp(&variance(a)));
    let unknown = known.iter().filter(|k| k.is_none()).count();
    let mut best: Option<(f64, Vec<usize>)> = None;
    let mut refused = None;
    for size in beginnings(unknown, order.len()) {
        let mut chosen = order[..size].to_vec();
        chosen.sort_unstable();
        match planner::plan(&part(&request, &chosen)) {
            Ok(planned) => {
                let score =
                    planner::score(&request, &combined(&request, &known, &chosen, &planned.prediction), None);
                if best.as_ref().is_none_or(|b| score < b.0) {
                    best = Some((score, chosen));
                }
            }
            Err(why) => refused = Some(why),
        }
    }
    let Some((_, chosen)) = best else {
        return Err(refused.map_or(CompileError::NoBudget, CompileError::Plan));
    };
    if chosen.len() == order.len() {
        return Ok(Some(whole));
    }
    let left: Vec<usize> = (0..order.len()).filter(|t| !chosen.contains(t)).collect();
    let names = left.iter().map(|&t| request.cube.describe(&request.workload[t].cuboid)).collect();
    Ok(rewritten(spec, origin, out, &chosen)?
        .map_or(Some(whole), |spec| Some(Missing { spec, known: names })))
}

/// How many of the list are tried: all that is unknown, everything, and some between.
fn beginnings(unknown: usize, all: usize) -> Vec<usize> {
    let least = unknown.max(1);
    let step = |i: usize| least + (all - least) * i / (TRIED - 1);
    let mut sizes: Vec<usize> = (0..TRIED).map(step).collect();
    sizes.dedup();
    sizes
}

/// The request for some of its tables.
fn part(request: &Request, chosen: &[usize]) -> Request {
    Request {
        workload: chosen.iter().map(|&t| request.workload[t].clone()).collect(),
        by_cell: chosen.iter().filter_map(|&t| request.by_cell.get(t).cloned()).collect(),
        targets: chosen.iter().map(|&t| request.targets.get(t).copied().flatten()).collect(),
        ..request.clone()
    }
}

/// What both releases together tell of every table.
fn combined(request: &Request, known: &[Option<Spread>], chosen: &[usize], new: &Prediction) -> Prediction {
    let mut out = Prediction::default();
    for (t, table) in request.workload.iter().enumerate() {
        let own = chosen.iter().position(|&c| c == t).and_then(|at| new.tables.get(at));
        let both = |old: f64, new: f64| if old + new > 0.0 { old * new / (old + new) } else { 0.0 };
        let spread = match (known[t], own) {
            (Some(k), Some(n)) => Spread { mean: both(k.mean, n.mean), max: both(k.max, n.max) },
            (Some(one), None) => one,
            (None, Some(one)) => *one,
            (None, None) => Spread { mean: f64::INFINITY, max: f64::INFINITY },
        };
        let cells = request.cube.cells(&table.cuboid).map_or(f64::INFINITY, |n| n as f64);
        out.cells += cells;
        out.queries += cells;
        out.asked.push(cells);
        out.total += cells * spread.mean;
        out.weighted_total += table.weight.to_f64() * cells * spread.mean;
        out.max = out.max.max(spread.max);
        out.tables.push(spread);
    }
    out
}

/// What a release tells of every table of a request: the variance of its cells, `None` where it does not hold it.
fn known(request: &Request, out: &Answers) -> Vec<Option<Spread>> {
    let recovery = out.evaluator().recovery();
    let (cube, plan) = (recovery.cube(), recovery.plan());
    let mut known = vec![None; request.workload.len()];
    if plan.rows().measurements.iter().any(|m| matches!(m.block, Block::Rows(_))) {
        return known;
    }
    let held: Vec<(usize, Cuboid)> = (request.workload.iter().enumerate())
        .filter_map(|(t, table)| Some((t, translated(&request.cube, &table.cuboid, cube)?)))
        .filter(|(_, cuboid)| recovery.frame().telling(cuboid).is_some_and(|told| recovery.holds(&told)))
        .collect();
    let tables: Vec<Table> =
        held.iter().map(|(t, c)| Table { cuboid: c.clone(), ..request.workload[*t].clone() }).collect();
    let asked = Request {
        cube: cube.clone().into(),
        targets: vec![None; tables.len()],
        by_cell: Vec::new(),
        exact: plan.exact.clone(),
        zeros: plan.zeros.clone(),
        noise: plan.noise,
        workload: tables.clone(),
        ..request.clone()
    };
    for ((t, _), spread) in held.iter().zip(planner::judge(&asked, plan, tables)) {
        known[*t] = Some(spread);
    }
    known
}

/// Whether every table of counts and of sums has a margin, and what is out keeps all of them, by the laws of its noises.
fn sums_are_known(request: &Request, out: &Answers) -> bool {
    let Ok(plan) = out.release().plan(out.cube()) else { return false };
    let cube: Arc<Cube> = out.evaluator().recovery().cube().clone().into();
    // A table that was asked for is told, and what follows from it.
    let there = |table: &Table, told: &[Table]| {
        let own = translated(&request.cube, &table.cuboid, &cube).filter(|_| table.asks.is_cells())?;
        told.iter().any(|t| own.is_below(&t.cuboid)).then_some(own)
    };
    let aimed = |table: &Table, target: Option<Target>, told: &[Table]| Some((there(table, told)?, target?));
    // Counts that only sums need have no margin of their own.
    let Some(wanted) = planner::own_weights(request) else { return false };
    let counts = request.workload.iter().zip(&request.targets).zip(&wanted).filter(|(_, w)| **w > 0.0);
    let counts = counts.map(|((table, target), _)| aimed(table, *target, &plan.rows().workload));
    let Some(counts) = counts.collect::<Option<Vec<_>>>() else { return false };
    let mut sums = Vec::new();
    for own in &request.sums {
        let said = |q: &Quantity| Quantity { description: None, ..q.clone() };
        let of = |subject: &dyn Fn(&Subject) -> bool| {
            let alike = |q: &Arc<Quantity>| said(q) == said(&own.quantity);
            plan.channels.iter().find(|c| c.subject.quantity().is_some_and(alike) && subject(&c.subject))
        };
        let Some(channel) = of(&|s| matches!(s, Subject::Sum(_))) else { return false };
        let squares = !own.square || of(&|s| matches!(s, Subject::Squares(_))).is_some();
        let ends = own.clamping.is_none() || of(&Subject::is_of_an_end).is_some();
        let aims =
            own.tables.iter().zip(&own.targets).map(|(t, target)| aimed(t, *target, &channel.workload));
        match (aims.collect::<Option<Vec<_>>>(), channel.subject.quantity()) {
            (Some(aims), Some(quantity)) if squares && ends => sums.push((quantity, aims)),
            _ => return false,
        }
    }
    let all: Vec<Target> = counts.iter().chain(sums.iter().flat_map(|(_, aims)| aims)).map(|a| a.1).collect();
    let counts: Vec<(&Cuboid, Target)> = counts.iter().map(|(c, t)| (c, *t)).collect();
    let sums: Vec<_> =
        sums.iter().map(|(q, aims)| (*q, aims.iter().map(|(c, t)| (c, *t)).collect())).collect();
    let halves = Evaluator::half_widths(&cube, &plan, &counts, &sums);
    let kept = |(target, half): (&Target, &Option<f64>)| {
        half.is_some_and(|half| keeps(target.margin.to_f64(), half))
    };
    !all.is_empty() && all.len() == halves.len() && all.iter().zip(&halves).all(kept)
}

/// The same table of another cube: dimensions and levels of the same names, with the same categories.
fn translated(from: &Cube, cuboid: &Cuboid, to: &Cube) -> Option<Cuboid> {
    let pairs = cuboid.iter().map(|at| {
        let own = &from.dimensions[at.dimension];
        let dim = to.dimensions.iter().position(|x| x.name == own.name)?;
        let labels = &at.of(from).labels;
        let level = to.dimensions[dim].levels.iter().position(|x| x.labels == *labels)?;
        Some((dim, level))
    });
    pairs.collect::<Option<Vec<_>>>().map(Cuboid::new)
}

/// The spec with these tables alone; `None` where its tables say more than is written again here.
fn rewritten(
    spec: &Spec,
    origin: &Path,
    out: &Answers,
    chosen: &[usize],
) -> Result<Option<Spec>, CompileError> {
    let mut table: toml::Table = spec.source.parse().unwrap_or_default();
    const WRITTEN: [&str; 8] = ["of", "every", "up_to", "among", "weight", "margin", "level", "exact"];
    let entries = table.get("table").and_then(|t| t.as_array()).into_iter().flatten();
    let more =
        entries.filter_map(|e| e.as_table()).flat_map(|e| e.keys()).any(|k| !WRITTEN.contains(&k.as_str()));
    if more || table.contains_key("query") {
        return Ok(None);
    }
    let text = |t: String| toml::Value::String(t);
    let entry = |&t: &usize| {
        let (asked, target) = (&spec.workload[t], spec.targets.get(t).copied().flatten());
        let names = asked.cuboid.iter().map(|level| text(spec.cube.level_name(level))).collect();
        let mut entry = toml::Table::new();
        entry.insert("of".into(), toml::Value::Array(names));
        entry.insert("weight".into(), text(asked.weight.to_string()));
        if let Some(target) = target {
            entry.insert("margin".into(), text(target.margin.to_string()));
            entry.insert("level".into(), text(target.level.to_string()));
        }
        toml::Value::Table(entry)
    };
    table.insert("table".into(), toml::Value::Array(chosen.iter().map(entry).collect()));
    let before = spec.description.as_ref().map_or(String::new(), |d| format!("{d} "));
    table.insert("description".into(), text(format!("{before}Extends {}.", out.title())));
    let attached = |file: &str| {
        let found = spec.attachments.iter().find(|(name, _)| name == file);
        found.map(|(_, bytes)| bytes.clone()).ok_or_else(|| std::io::ErrorKind::NotFound.into())
    };
    let read = spec::parse(&toml::to_string(&table).unwrap_or_default(), origin, attached)?;
    // The order of tables is the spec language's own.
    let same = |t: &Table| chosen.iter().any(|&c| spec.workload[c] == *t);
    Ok((read.workload.len() == chosen.len() && read.workload.iter().all(same)).then_some(read))
}
