//! `tables`: which tables to measure and how precisely, for the least error after least squares.
//!
//! Every cuboid that holds a workload table may be measured. Under Laplace noise precision grows as the *square*
//! of a table's share, so it pays to measure few tables that overlap, and the optimum is sparse: a search
//! over sets. Each set is judged with the best shares found for it ([`Landscape::descend`]).
//!
//! 1. Descend from `queries`, `base`, `cluster`, and from many candidates at once in almost equal shares.
//! 2. From the best of these and again from the others, change one table at a time: a level finer or coarser in
//!    one dimension, both at once, dropped, merged with another, or a workload table added. Keep what helps.
//! 3. Under Laplace noise, anneal ([`super::annealing`]), and change one table at a time from the best that came of it.
//! 4. The same from designs ([`super::designs`]).
//!
//! The best of all is the result, so it is never worse than where the search starts. Everything is counted, not timed:
//! the same workload gives the same tables on any machine, on any number of cores. Under Gaussian noise the shares of a given set of
//! candidates are a convex problem, and steps 1 and 2 apply.

use super::annealing::{PARTS, anneal, anneal_each};
use super::ask::{Ask, scales};
use super::kind::{Rules, Strategy, levels_of};
use super::landscape::{Choice, Landscape, Shape, Steps};
use super::refusal::{Measured, NotApplicable};
use super::{base, bound, cluster, designs, queries, trees};
use crate::numeric::dice::Dice;
use crate::plan::{BudgetRule, Measure, Neighbours};
use crate::planner::objective::{Among, Certificate, Objective, WEIGHTED_TOTAL};
use crate::planner::request::Request;
use crate::watch::Stage;
use std::collections::HashSet;
use std::sync::Arc;

/// How many candidates the start from all of them has.
const MOST_CANDIDATES: usize = 1500;
/// The most work, in visits of a component.
const EFFORT: u64 = 150_000_000;
/// How many results of annealing are improved on, and each one's part of that work.
const FINISHED: usize = 3;
const FINISH: u64 = 10_000_000;
/// Rounds of descent: to judge a change, to accept it, and at the end.
const GLANCE: usize = 4;
const LOOK: usize = 20;
const SETTLE: usize = 1000;

pub(super) struct Tables;

impl Strategy for Tables {
    fn measure(&self, ask: &Ask) -> Result<Vec<Measured>, NotApplicable> {
        let (land, most) = (ask.landscape()?, ask.most_cells());
        let mut seen: Vec<Choice> = Vec::new();
        let mut found: Option<(Landscape, Choice)> = None;
        let effort = ask.request.effort;
        let searches = 1 + u64::from(!land.is_uniform());
        // One annealing under each rule, one from designs, and as many more as there is effort.
        let stage = ask.request.watch.stage("searching", PARTS * (searches + u64::from(effort.max(1))));
        // What equal shares lead to is a start for optimal ones.
        for rule in [BudgetRule::Uniform, ask.budgets].into_iter().take(1 + usize::from(!land.is_uniform())) {
            let land = land.again(rule);
            let mut starts = starts(ask, &land, most);
            starts.extend(found.take().map(|(_, choice)| choice));
            seen.extend(starts.iter().cloned());
            let best =
                search(&land, starts, most, effort.min(1), &stage).ok_or(NotApplicable::TooManyTables)?;
            seen.push(best.clone());
            found = Some((land, best));
        }
        let Some((land, mut best)) = found else { return Err(NotApplicable::TooManyTables) };
        for choice in designed(&land, most, effort.min(1), &stage) {
            if choice.error < best.error {
                best = choice.clone();
            }
            seen.push(choice);
        }
        for round in 1..effort {
            if land.watch.is_stopped() {
                break;
            }
            best = annealed(&land, best, most, round, &stage);
            seen.push(best.clone());
        }
        let proof = Proof::new(ask, &land);
        let set =
            |choice: &Choice| Some((ask.chosen(&land, choice).ok()?, proof.as_ref().map(|p| p.of(choice))));
        Ok(seen.iter().filter_map(set).collect())
    }

    fn levels(&self, request: &Request) -> Result<Vec<Vec<u8>>, NotApplicable> {
        Ok(if Measure::Tables.refines(&request.workload) {
            trees::all(request)
        } else {
            levels_of(request, None)
        })
    }

    /// Both are among its sets.
    fn rules(&self) -> Rules {
        Rules::Within
    }
}

/// Where to begin: plans by other strategies, and designs.
fn starts(ask: &Ask, land: &Landscape, most: f64) -> Vec<Choice> {
    let mut starts = Vec::new();
    // Starts that do not apply, such as a base of too many cells, are none.
    for groups in [queries::groups(ask), base::groups(ask)].into_iter().flatten() {
        let shape = |cuboid| land.shape(land.steps_of(cuboid));
        let shapes = groups.blocks().map(|block| shape(block.cuboid())).collect();
        let scales = scales(ask.request.noise, ask.request.budget.to_f64(), &groups, land.rule());
        starts.push(land.choice(shapes, scales.iter().map(|s| 1.0 / s).collect()));
    }
    starts.retain(|choice| choice.cells() <= most);
    if Measure::Tables.refines(&ask.request.workload) {
        starts.push(trees::hierarchy(land, true));
    }
    starts.extend(cluster::clustered(ask, land, most));
    starts
}

/// How far tables are from what no tables and shares can do, where that is known: [`bound`]. Noise is whole numbers, whose precision
/// is above that of continuous noise by a factor that grows with the budget of a table: the bound counts on the largest.
struct Proof {
    unit: f64,
    bound: f64,
}

impl Proof {
    fn new(ask: &Ask, land: &Landscape) -> Option<Proof> {
        let request = ask.request;
        // Under `substitute` a table of one cell costs nothing.
        let paid = request.neighbours == Neighbours::AddRemove;
        if land.is_uniform() || !paid || !ask.frame.is_balanced() || request.objective != Objective::Total {
            return None;
        }
        let epsilon = request.budget.to_f64() / request.unit_price();
        let unit = 2.0 / (epsilon * epsilon);
        let half = 0.5 * epsilon;
        let whole = if half > 1e-6 { libm::sinh(half) / half } else { 1.0 };
        Some(Proof { unit, bound: unit * bound::bound(land)? / (whole * whole) })
    }

    fn of(&self, choice: &Choice) -> Certificate {
        let value = self.unit * choice.error;
        Certificate::new(WEIGHTED_TOTAL, value, self.bound).among(Among::Tables)
    }
}

/// The best choice found. `starts` are where to begin; no more than `most` cells are measured in all, unless a
/// start has more. `rounds` is how often to anneal, which takes some seconds; with none it is left out.
pub(super) fn search(
    land: &Landscape,
    starts: Vec<Choice>,
    most: f64,
    rounds: u32,
    stage: &Stage,
) -> Option<Choice> {
    let found = descended(land, starts, most)?;
    Some((0..rounds).fold(found, |found, round| annealed(land, found, most, round, stage)))
}

/// Designs, improved, and what annealing makes of them. They come last: what the search finds without them does not depend on them.
fn designed(land: &Landscape, most: f64, rounds: u32, stage: &Stage) -> Vec<Choice> {
    let mut found = if land.is_steep() { designs::designs(land) } else { Vec::new() };
    found.retain(|choice| choice.cells() <= most);
    if rounds > 0 {
        found.extend(anneal_each(land, &found, most, stage));
    }
    let improved: Vec<Choice> =
        found.iter().map(|choice| settled(land, choice.clone(), most, &mut FINISH.clone())).collect();
    found.extend(improved);
    found
}

/// A round of annealing, what it found improved.
fn annealed(land: &Landscape, mut found: Choice, most: f64, round: u32, stage: &Stage) -> Choice {
    let limit = most.max(found.cells());
    let mut annealed = anneal(land, &found, limit, round, stage);
    annealed.sort_by(|a, b| a.error.total_cmp(&b.error));
    annealed.truncate(FINISHED);
    for choice in annealed {
        let improved = settled(land, choice, limit, &mut FINISH.clone());
        if improved.error < found.error {
            found = improved;
        }
    }
    found
}

/// Changed one table at a time, and with settled shares.
fn settled(land: &Landscape, choice: Choice, most: f64, effort: &mut u64) -> Choice {
    let limit = most.max(choice.cells());
    let mut improved = improve(land, choice, limit, effort);
    land.descend(&mut improved, SETTLE);
    land.prune(&improved)
}

/// Steps 1 and 2.
fn descended(land: &Landscape, starts: Vec<Choice>, most: f64) -> Option<Choice> {
    let mut choices: Vec<Choice> = starts;
    choices.extend(everything(land, most));
    for choice in &mut choices {
        land.descend(choice, SETTLE / 4);
        *choice = land.prune(choice);
    }
    choices.sort_by(|a, b| a.error.total_cmp(&b.error));
    let mut effort = EFFORT;
    let mut found: Option<Choice> = None;
    let count = choices.len() as u64;
    for choice in choices {
        // A half of all work for the starts; what one of them leaves is for later.
        let mut part = (EFFORT / (2 * count)).min(effort);
        effort -= part;
        let improved = settled(land, choice, most, &mut part);
        effort += part;
        if found.as_ref().is_none_or(|f| improved.error < f.error) {
            found = Some(improved);
        }
    }
    let mut found = found?;
    let mut dice = Dice::new(1);
    while effort > 0 && !land.watch.is_stopped() {
        // So that the loop ends even if nothing can be changed.
        effort = effort.saturating_sub(EFFORT / 1000);
        let limit = most.max(found.cells());
        let Some(kicked) = ruined(land, &found, limit, &mut dice) else { continue };
        let improved = settled(land, kicked, most, &mut effort);
        if improved.error < found.error {
            found = improved;
        }
    }
    Some(found)
}

/// A few tables taken out, and what they held put into the tables that grow least by it: a way out of local
/// optima.
fn ruined(land: &Landscape, from: &Choice, most: f64, dice: &mut Dice) -> Option<Choice> {
    let mut kept: Vec<(Arc<Shape>, f64)> =
        from.tables.iter().cloned().zip(from.shares.iter().copied()).collect();
    let out = 1 + dice.below((kept.len() / 2).clamp(1, 4));
    for _ in 0..out.min(kept.len()) {
        kept.swap_remove(dice.below(kept.len()));
    }
    let share = 1.0 / from.tables.len() as f64;
    let first = dice.below(land.workload.len());
    let (before, after) = land.workload.split_at(first);
    for (w, _) in after.iter().chain(before) {
        if kept.iter().any(|(t, _)| w.is_below(&t.steps)) {
            continue;
        }
        let alone = land.shape(*w);
        let growth = |t: &Shape| land.shape(t.steps.join(*w)).cells / t.cells;
        let host = (0..kept.len())
            .map(|i| (growth(&kept[i].0), i))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .filter(|&(by, _)| by <= alone.cells);
        match host {
            Some((_, i)) => kept[i].0 = land.shape(kept[i].0.steps.join(*w)),
            None => kept.push((alone, share)),
        }
    }
    if kept.iter().map(|(t, _)| t.cells).sum::<f64>() > most {
        return None;
    }
    let (tables, shares) = kept.into_iter().unzip();
    let mut choice = land.choice(tables, shares);
    land.descend(&mut choice, LOOK);
    choice.error.is_finite().then_some(choice)
}

/// Many candidates at once: workload tables, their joins two by two, joins of those, the smallest first. Their shares differ a
/// little, or a symmetric workload would hold the descent in its symmetry.
fn everything(land: &Landscape, most: f64) -> Option<Choice> {
    if land.is_uniform() {
        return None;
    }
    let mut shapes: Vec<Arc<Shape>> = Vec::new();
    let mut seen: HashSet<Steps> = HashSet::new();
    let mut layer: Vec<Steps> = land.workload.iter().map(|w| w.0).collect();
    while !layer.is_empty() && shapes.len() < MOST_CANDIDATES {
        let mut fresh: Vec<Arc<Shape>> =
            layer.drain(..).filter(|&s| seen.insert(s)).map(|s| land.shape(s)).collect();
        fresh.retain(|s| s.cells <= most);
        fresh.sort_by(|a, b| a.cells.total_cmp(&b.cells).then(a.steps.cmp(&b.steps)));
        fresh.truncate(MOST_CANDIDATES - shapes.len());
        for (i, shape) in fresh.iter().enumerate() {
            // Joining all with all grows fast; a bounded number of partners is plenty.
            layer.extend(land.workload.iter().skip(i % 7).step_by(7).map(|w| shape.steps.join(w.0)));
            if layer.len() > 20 * MOST_CANDIDATES {
                break;
            }
        }
        shapes.extend(fresh);
    }
    while shapes.iter().map(|s| s.cells).sum::<f64>() > most {
        shapes.pop();
    }
    let mut dice = Dice::new(1);
    let shares = shapes.iter().map(|_| 1.0 + 0.2 * dice.below(1 << 16) as f64 / f64::from(1 << 16)).collect();
    let choice = land.choice(shapes, shares);
    choice.error.is_finite().then_some(choice)
}

/// Changes one table at a time for as long as that helps and effort is left.
fn improve(land: &Landscape, start: Choice, most: f64, effort: &mut u64) -> Choice {
    let mut best = start;
    let mut at = 0;
    // How many tables in a row had nothing to improve.
    let mut settled = 0;
    while settled < best.tables.len() && *effort > 0 && !land.watch.is_stopped() {
        at %= best.tables.len();
        match improve_one(land, &best, at, most, effort) {
            Some(better) => {
                best = land.prune(&better);
                settled = 0;
            }
            None => settled += 1,
        }
        at += 1;
    }
    best
}

/// The best change of one table, if one helps.
fn improve_one(land: &Landscape, from: &Choice, at: usize, most: f64, effort: &mut u64) -> Option<Choice> {
    let mut best: Option<Choice> = None;
    let mut goal = from.error * (1.0 - 1e-6);
    let others = from.cells() - from.tables[at].cells;
    let mut judge = |steps: Option<Steps>, without: Option<usize>| {
        let shape = steps.map(|s| land.shape(s));
        if *effort == 0 || shape.as_ref().is_some_and(|s| others + s.cells > most) {
            return;
        }
        let Some(mut trial) = changed(land, from, at, shape, without) else { return };
        let visits: usize = trial.tables.iter().map(|t| 2 * t.below.len() + 20).sum();
        *effort = effort.saturating_sub((GLANCE * (visits + 2 * land.components().len())) as u64);
        land.descend(&mut trial, GLANCE);
        if trial.error < goal {
            goal = trial.error;
            best = Some(trial);
        }
    };
    let steps = from.tables[at].steps;
    let (finer, coarser) = land.neighbours(&steps);
    judge(None, None);
    for &s in coarser.iter().chain(&finer) {
        judge(Some(s), None);
    }
    for s in coarser {
        for t in land.neighbours(&s).0 {
            judge(Some(t), None);
        }
    }
    for other in (0..from.tables.len()).filter(|&i| i != at) {
        judge(Some(steps.join(from.tables[other].steps)), Some(other));
    }
    let mut best = best?;
    land.descend(&mut best, LOOK);
    Some(best)
}

/// The choice with table `at` replaced and perhaps another left out. A table that is there already
/// gets both shares.
fn changed(
    land: &Landscape,
    from: &Choice,
    at: usize,
    shape: Option<Arc<Shape>>,
    without: Option<usize>,
) -> Option<Choice> {
    let mut tables = Vec::with_capacity(from.tables.len());
    let mut shares = Vec::with_capacity(from.tables.len());
    for i in (0..from.tables.len()).filter(|&i| i != at && Some(i) != without) {
        tables.push(from.tables[i].clone());
        shares.push(from.shares[i]);
    }
    if let Some(shape) = shape {
        let share = from.shares[at] + without.map_or(0.0, |i| from.shares[i]);
        match tables.iter().position(|t| t.steps == shape.steps) {
            Some(i) => shares[i] += share,
            None => {
                tables.push(shape);
                shares.push(share);
            }
        }
    }
    if tables.is_empty() {
        return None;
    }
    let choice = land.choice(tables, shares);
    choice.error.is_finite().then_some(choice)
}
