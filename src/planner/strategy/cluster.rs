//! `cluster`: fewer, larger tables by greedy merging (Ding, Winslett, Han & Li, SIGMOD 2011).
//!
//! Start from the workload's tables. As long as replacing two measured tables by their join lowers the error predicted
//! after least squares, make the best such replacement. Meanwhile a table's weight in the budget is that of
//! the workload tables it stands for, each read from it directly: `s_B = n_B Σ w_t`. When no
//! replacement helps, the budgets are brought in line with the recovery that least squares really uses.
//!
//! Symmetric workloads have many equally good replacements, and which one is made matters in the end.
//! So several orders among equals are tried, and once with a join replacing *all* tables that roll up from it; the best
//! result is kept. With many tables only the replacements that last looked best are judged anew each time; all
//! of them are before the search ends.

use super::ask::Ask;
use super::kind::Strategy;
use super::landscape::Landscape;
use super::refusal::{Measured, NotApplicable};
use crate::planner::found::{Choice, Shape, Sought};
use rayon::prelude::*;
use std::sync::Arc;

/// All pairs are tried, so the work grows with the square of this.
const MOST_TABLES: usize = 1024;
/// How many replacements are judged anew each time.
const FRESH: usize = 4096;

/// Workloads of so few tables are merged in several orders, where merges are equally good.
const FEW_TABLES: usize = 128;
const SHUFFLES: u64 = 4;
/// Rounds of descent at the end.
const SETTLE: usize = 1000;

pub(super) struct Cluster;

impl Strategy for Cluster {
    fn measure(&self, ask: &Ask) -> Result<Vec<Measured>, NotApplicable> {
        let land = ask.landscape()?;
        let choice = clustered(ask, &land, ask.most_cells()).ok_or(NotApplicable::TooManyTables)?;
        Ok(vec![(ask.chosen(&land, &choice)?, None)])
    }
}

/// A table, and the workload's tables that it stands for.
struct Merged {
    id: usize,
    shape: Arc<Shape>,
    weight: f64,
    share: f64,
}

impl Merged {
    fn new(land: &Landscape, id: usize, shape: Arc<Shape>, weight: f64) -> Merged {
        let share = land.closed_form(shape.cells * weight);
        Merged { id, shape, weight, share }
    }
}

/// The tables as they are, and what is known through them.
struct State<'a> {
    land: &'a Landscape,
    clusters: Vec<Merged>,
    known: Vec<f64>,
    /// Shares and terms added up.
    sum: f64,
    terms: f64,
    /// What the tables to be replaced know: zero between uses.
    minus: Vec<f64>,
    /// Whether a join replaces all that roll up from it, or just the two.
    absorb: bool,
}

impl State<'_> {
    fn refresh(&mut self) {
        let (tables, shares) = self.tables();
        self.known = self.land.known(&tables, &shares);
        self.sum = shares.iter().sum();
        self.terms = self.known.iter().enumerate().map(|(a, &k)| self.land.term(a, k)).sum();
        self.minus.resize(self.known.len(), 0.0);
    }

    fn tables(&self) -> (Vec<Arc<Shape>>, Vec<f64>) {
        (
            self.clusters.iter().map(|c| c.shape.clone()).collect(),
            self.clusters.iter().map(|c| c.share).collect(),
        )
    }

    fn error(&self) -> f64 {
        self.land.precision(self.sum) * self.terms
    }

    /// The error with all tables below a join replaced by it.
    fn error_with(&mut self, pair: &Pair) -> f64 {
        let (mut sum, mut weight) = (self.sum, 0.0);
        let join = &pair.join;
        for c in self.clusters.iter().filter(|c| pair.replaces(c, self.absorb)) {
            sum -= c.share;
            weight += c.weight;
            let t = self.land.precision(c.share) / c.shape.cells;
            c.shape.below.iter().for_each(|&a| self.minus[a as usize] += t);
        }
        let share = self.land.closed_form(join.cells * weight);
        let t = self.land.precision(share) / join.cells;
        let mut terms = self.terms;
        for &a in &join.below {
            let a = a as usize;
            let left = (self.known[a] - std::mem::take(&mut self.minus[a])).max(0.0);
            terms += self.land.term(a, left + t) - self.land.term(a, self.known[a]);
        }
        self.land.precision(sum + share) * terms
    }

    fn replace(&mut self, pair: &Pair, id: usize) {
        let mut weight = 0.0;
        self.clusters.retain(|c| {
            let goes = pair.replaces(c, self.absorb);
            weight += if goes { c.weight } else { 0.0 };
            !goes
        });
        self.clusters.push(Merged::new(self.land, id, pair.join.clone(), weight));
        self.refresh();
    }
}

/// A possible replacement.
struct Pair {
    /// What it last promised to multiply the error by, in parts of 10⁻¹².
    promise: f64,
    ids: (usize, usize),
    /// Its place among equals.
    place: u64,
    join: Arc<Shape>,
}

impl Pair {
    fn replaces(&self, c: &Merged, absorb: bool) -> bool {
        c.id == self.ids.0 || c.id == self.ids.1 || absorb && c.shape.steps.is_below(&self.join.steps)
    }

    /// The place of two tables among equals: that of a shuffle, or for shuffle 0 of the tables.
    fn place((a, b): (usize, usize), shuffle: u64) -> u64 {
        let x = (a as u64) << 32 | b as u64;
        x.wrapping_mul(shuffle.wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(29).wrapping_mul(shuffle)
    }

    /// Equal but for rounding is equal.
    fn set(&mut self, promise: f64) {
        self.promise = (promise * 1e12).round();
    }

    /// The better first.
    fn order(&self, other: &Pair) -> std::cmp::Ordering {
        let rest = || self.place.cmp(&other.place).then_with(|| self.ids.cmp(&other.ids));
        self.promise.total_cmp(&other.promise).then_with(rest)
    }
}

/// [`cluster`], once for each question.
pub(crate) fn clustered(ask: &Ask, land: &Landscape, most: f64) -> Option<Choice> {
    let sought = Sought {
        rule: land.rule(),
        steep: land.is_steep(),
        most,
        workload: land.workload.clone(),
        stakes: land.stakes().to_vec(),
    };
    ask.closure.found.or(sought, || cluster(land, most))
}

/// The merged tables. `None` when there are too many to try all pairs. No table gets more than `most` cells.
pub(super) fn cluster(land: &Landscape, most: f64) -> Option<Choice> {
    let shuffles = if land.workload.len() <= FEW_TABLES { SHUFFLES } else { 1 };
    // (order among equals, whether joins absorb), each on a landscape of its own, side by side
    let tries = std::iter::once((0, true)).chain((0..shuffles).map(|shuffle| (shuffle, false)));
    let tries: Vec<_> = tries.map(|t| (t, land.again(land.rule()))).collect();
    let merged: Vec<Option<Choice>> = tries
        .into_par_iter()
        .map(|((shuffle, absorb), land)| {
            let mut choice = merged(&land, most, absorb, shuffle)?;
            land.descend(&mut choice, SETTLE);
            Some(land.prune(&choice))
        })
        .collect();
    merged.into_iter().flatten().reduce(|a, b| if b.error < a.error { b } else { a })
}

fn merged(land: &Landscape, most: f64, absorb: bool, shuffle: u64) -> Option<Choice> {
    let clusters = start(land);
    if clusters.len() > MOST_TABLES {
        return None;
    }
    let mut next_id = clusters.len();
    let mut state =
        State { land, clusters, known: Vec::new(), sum: 0.0, terms: 0.0, minus: Vec::new(), absorb };
    state.refresh();
    let mut pairs: Vec<Pair> = Vec::new();
    let mut fresh = 0..state.clusters.len();
    loop {
        let error = state.error();
        for j in fresh {
            for i in 0..j {
                let (x, y) = (&state.clusters[i], &state.clusters[j]);
                let join = land.shape(x.shape.steps.join(y.shape.steps));
                if join.cells <= most {
                    let ids = (x.id, y.id);
                    let mut pair = Pair { promise: 0.0, ids, place: Pair::place(ids, shuffle), join };
                    pair.set(state.error_with(&pair) / error);
                    pairs.push(pair);
                }
            }
        }
        pairs.sort_by(Pair::order);
        let mut judge = |pairs: &mut [Pair]| {
            for p in &mut *pairs {
                let error_with = state.error_with(p);
                p.set(error_with / error);
            }
            let best = pairs.iter().enumerate().min_by(|a, b| a.1.order(b.1));
            best.filter(|(_, p)| p.promise < 1e12 - 1.0).map(|(i, _)| i)
        };
        let some = pairs.len().min(FRESH);
        let Some(at) = judge(&mut pairs[..some]).or_else(|| judge(&mut pairs)) else { break };
        state.replace(&pairs[at], next_id);
        next_id += 1;
        let mut alive = vec![false; next_id];
        state.clusters.iter().for_each(|c| alive[c.id] = true);
        pairs.retain(|p| alive[p.ids.0] && alive[p.ids.1]);
        fresh = state.clusters.len() - 1..state.clusters.len();
    }
    let (tables, shares) = state.tables();
    Some(land.choice(tables, shares))
}

/// The workload's tables; where they are too many, those that roll up from another are merged into it first.
fn start(land: &Landscape) -> Vec<Merged> {
    let new = |(id, (steps, weight))| Merged::new(land, id, land.shape(steps), weight);
    if land.workload.len() <= MOST_TABLES {
        return land.workload.iter().copied().enumerate().map(new).collect();
    }
    let mut largest_first = land.workload.clone();
    largest_first.sort_by_cached_key(|(steps, _)| std::cmp::Reverse(land.cuboid(steps).len()));
    let mut kept: Vec<(_, f64)> = Vec::new();
    for (steps, weight) in largest_first {
        match kept.iter_mut().find(|(k, _)| steps.is_below(k)) {
            Some((_, w)) => *w += weight,
            None => kept.push((steps, weight)),
        }
        if kept.len() > MOST_TABLES {
            break;
        }
    }
    kept.into_iter().enumerate().map(new).collect()
}
