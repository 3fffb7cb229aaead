//! `matrix`: linear queries that the agency wrote itself, row by row.
//!
//! Rows go greedily into *groups*: rows with no cell in common and the same largest factor `C_r`. A group costs what one row
//! does, however many there are in it. If some cell pays the full `C_r` of every group, that cell's cost is the plan's, and the closed
//! forms share the budget, `s_r` being a group's weight in the error.
//!
//! Otherwise no single sum is the cost: every cell `j` has its own, `Σ_r |H_rj| η_r ≤ ε` (Laplace, `η = 1/b`) or
//! `Σ_r H_rj² u_r/2 ≤ ρ` (Gaussian, `u = 1/σ²`), under `substitute` every pair of cells. The least `Σ s_r·var_r` under all of them is the
//! convex programme of [`minimax`](crate::planner::minimax), with a variable for each row.
//!
//! The weights `s_r` are those of least squares at the present budgets: `Σ` over the cells asked for of the squared coefficient of
//! the row's answer. For other budgets another recovery is best, so the two take turns. Each minimises the same error
//! over one of its two arguments, so it never grows. Under Gaussian noise it is convex in `u`; under Laplace noise this is
//! a local search.

use super::ask::{Ask, Groups, scales};
use super::kind::{Rules, Strategy, levels_of};
use super::refusal::{Measured, NotApplicable};
use crate::cube::Frame;
use crate::plan::{Block, BudgetRule, Measurement, Neighbours, Noise, Rows, round};
use crate::planner::minimax::Minimax;
use crate::planner::predict::each_query;
use crate::planner::price;
use crate::planner::request::Request;
use crate::recover::row_estimator;
use crate::recover::rows::{RowSystem, Workload};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// More rows than these share their budgets group by group.
const MOST_VARIABLES: usize = 1500;
/// More pairs of cells than these are bounded, not listed: the exact cost is found afterwards.
const MOST_PAIRS: usize = 20_000;
/// A row that the tables asked for hardly need is still measured: its weight is never below this part of the mean.
const LEAST_WEIGHT: f64 = 1e-9;
/// The most steps that finding out what the rows determine may take.
const MOST_STEPS: f64 = (1u64 << 33) as f64;
/// When turns are no longer worth it.
const SETTLED: f64 = 1e-6;

pub(super) struct Matrix;

impl Strategy for Matrix {
    fn measure(&self, ask: &Ask) -> Result<Vec<Measured>, NotApplicable> {
        Ok(matrix(ask)?.into_iter().map(|measurements| (measurements, None)).collect())
    }

    fn needs(&self) -> Option<fn(&Request) -> bool> {
        Some(|request| request.rows.is_some())
    }

    /// Equal shares are among its sets.
    fn rules(&self) -> Rules {
        Rules::Within
    }

    /// Those of the rows' own table, too.
    fn levels(&self, request: &Request) -> Result<Vec<Vec<u8>>, NotApplicable> {
        Ok(levels_of(request, request.rows.as_ref().map(|rows| &rows.cuboid)))
    }
}

/// Groups of rows: for each its largest factor and its rows.
fn greedy(rows: &[Vec<(u32, i32)>]) -> Vec<(u32, Vec<usize>)> {
    let mut groups: Vec<(u32, Vec<usize>)> = Vec::new();
    let mut cells: Vec<HashSet<u32>> = Vec::new();
    for (r, row) in rows.iter().enumerate() {
        let norm = row.iter().map(|&(_, f)| f.unsigned_abs()).max().unwrap_or(0);
        let fits = |g: usize| groups[g].0 == norm && row.iter().all(|(cell, _)| !cells[g].contains(cell));
        let g = (0..groups.len()).find(|&g| fits(g)).unwrap_or(groups.len());
        if g == groups.len() {
            groups.push((norm, Vec::new()));
            cells.push(HashSet::new());
        }
        groups[g].1.push(r);
        cells[g].extend(row.iter().map(|&(cell, _)| cell));
    }
    groups
}

/// Whether some cell pays the largest factor of every group.
fn is_grouped(rows: &[Vec<(u32, i32)>], groups: &[(u32, Vec<usize>)]) -> bool {
    let mut full: HashMap<u32, usize> = HashMap::new();
    for (norm, members) in groups {
        for &(cell, f) in members.iter().flat_map(|&r| &rows[r]) {
            *full.entry(cell).or_insert(0) += usize::from(f.unsigned_abs() == *norm);
        }
    }
    full.values().any(|&n| n == groups.len())
}

/// The sets of measurements of which the one predicted best is meant.
fn matrix(ask: &Ask) -> Result<Vec<Vec<Measurement>>, NotApplicable> {
    let Ask { request, frame, budgets, .. } = *ask;
    let rows = request.rows.as_ref().filter(|r| !r.rows.is_empty()).ok_or(NotApplicable::NoRows)?;
    ask.check_size(&rows.cuboid)?;
    let known = row_estimator::known(frame, &request.exact, &rows.cuboid);
    let own = rows.rows.iter().map(|r| r.as_slice());
    let system = RowSystem::beside(own, &[], &known).map_err(|e| NotApplicable::Rows(e.to_string()))?;
    for (at, t) in request.workload.iter().enumerate().filter(|(_, t)| !request.is_exact(&t.cuboid)) {
        let name = || ask.name(&t.cuboid);
        if !t.cuboid.is_below(&rows.cuboid) {
            return Err(NotApplicable::NotHeld(name()));
        }
        if t.asks.is_cells() {
            let sum = |q| frame.pull_back(&t.cuboid, &rows.cuboid, q);
            if !system.determines(frame.len(&t.cuboid), sum) {
                return Err(NotApplicable::NotDetermined(format!("every cell of {}", name())));
            }
            continue;
        }
        let many = ask.closure.queries(frame, at, &t.cuboid);
        let rank = system.rank() as f64;
        if many * (rank * rank + frame.cells(&rows.cuboid)) > MOST_STEPS {
            return Err(NotApplicable::TooManyQueries(name()));
        }
        let mut determined = true;
        each_query(&request.cube, frame, t, &mut |q| {
            determined = determined && system.express(&frame.pull_back(&t.cuboid, &rows.cuboid, q)).is_some();
        });
        if !determined {
            return Err(NotApplicable::NotDetermined(format!("all that is asked of {}", name())));
        }
    }
    let groups = greedy(&rows.rows);
    let by_group = Sharing::new(request, rows, &groups);
    let uniform = by_group.tight(by_group.closed_form(request, None));
    let uniform = spread(&groups, &uniform);
    let mut sets = Vec::new();
    if budgets == BudgetRule::Optimal {
        let turns =
            Turns { request, workload: asked(request, frame, rows, &system), system: Arc::new(system) };
        if is_grouped(&rows.rows, &groups) {
            sets.push(
                turns.take(&uniform, &groups, |s| {
                    Some(by_group.tight(by_group.closed_form(request, Some(s))))
                }),
            );
        } else if rows.rows.len() > MOST_VARIABLES {
            sets.push(turns.take(&uniform, &groups, |s| by_group.convex(s)));
        }
        if rows.rows.len() <= MOST_VARIABLES {
            let alone: Vec<(u32, Vec<usize>)> = (0..rows.rows.len()).map(|r| (0, vec![r])).collect();
            let by_row = Sharing::new(request, rows, &alone);
            sets.push(turns.take(&uniform, &alone, |s| by_row.convex(s)));
        }
    }
    sets.push(uniform);
    sets.into_iter().map(|u| blocks(request, rows, &u)).collect()
}

/// All rows with the same noise, as little as the budget allows.
pub(super) fn alike(request: &Request, rows: &Rows) -> Result<Vec<Measurement>, NotApplicable> {
    let all: [(u32, Vec<usize>); 1] = [(0, (0..rows.rows.len()).collect())];
    let u = Sharing::new(request, rows, &all).tight(vec![1.0]);
    blocks(request, rows, &spread(&all, &u))
}

/// What the workload asks in terms of the rows' basis, by the weights of its tables.
fn asked(request: &Request, frame: &Frame, rows: &Rows, system: &RowSystem) -> Workload {
    let mut workload = Workload::new(system);
    for t in request.workload.iter().filter(|t| !request.is_exact(&t.cuboid)) {
        each_query(&request.cube, frame, t, &mut |query| {
            if let Some(c) = system.express(&frame.pull_back(&t.cuboid, &rows.cuboid, query)) {
                workload.add(&c, t.weight.to_f64());
            }
        });
    }
    workload
}

/// `u` of every row from that of its group.
fn spread(groups: &[(u32, Vec<usize>)], u: &[f64]) -> Vec<f64> {
    let mut of_row: Vec<(usize, f64)> =
        groups.iter().zip(u).flat_map(|((_, rows), &u)| rows.iter().map(move |&r| (r, u))).collect();
    of_row.sort_unstable_by_key(|&(r, _)| r);
    of_row.into_iter().map(|(_, u)| u).collect()
}

/// One block for all rows that get the same noise: what they cost is judged cell by cell.
fn blocks(request: &Request, rows: &Rows, u: &[f64]) -> Result<Vec<Measurement>, NotApplicable> {
    let mut out: Vec<Measurement> = Vec::new();
    let mut place = HashMap::new();
    for (row, &u) in rows.rows.iter().zip(u) {
        let out_of_range = || NotApplicable::ScaleOutOfRange(request.cube.describe(&rows.cuboid));
        let scale = round::up(1.0 / u).ok_or_else(out_of_range)?;
        let at = *place.entry(scale).or_insert_with(|| {
            let block = Block::Rows(Rows { cuboid: rows.cuboid.clone(), rows: Vec::new() });
            out.push(Measurement { block, scale });
            out.len() - 1
        });
        if let Block::Rows(block) = &mut out[at].block {
            block.rows.push(row.clone());
        }
    }
    Ok(out)
}

/// How groups of rows share the budget: `u = 1/scale` of each, and what that costs every cell or pair of cells.
struct Sharing {
    noise: Noise,
    /// `C_r`, squared for Gaussian noise.
    norm: Vec<f64>,
    /// For each cell or pair what a unit of `u` costs, as a part of the budget.
    cost: Vec<Vec<(u32, f64)>>,
}

impl Sharing {
    fn new(request: &Request, rows: &Rows, groups: &[(u32, Vec<usize>)]) -> Sharing {
        let noise = request.noise;
        let price = |f: f64| noise.power(f);
        let mut group_of = vec![0u32; rows.rows.len()];
        for (g, (_, members)) in groups.iter().enumerate() {
            members.iter().for_each(|&r| group_of[r] = g as u32);
        }
        let norm = groups.iter().map(|(c, _)| price(f64::from(*c))).collect();
        let k = f64::from(request.max_rows);
        let budget = request.budget.to_f64();
        let unit = noise.power(k) / price::spent(noise, budget);
        let mut columns = columns(rows);
        let substitute = request.neighbours == Neighbours::Substitute;
        let pairs = substitute && columns.len() * (columns.len() + 1) / 2 <= MOST_PAIRS;
        let bound = if substitute && !pairs { noise.power(2.0) } else { 1.0 };
        let mut seen = HashSet::new();
        let mut cost = Vec::new();
        let mut add = |differences: &mut dyn Iterator<Item = (u32, f64)>| {
            let mut of: Vec<(u32, f64)> =
                differences.map(|(r, f)| (group_of[r as usize], price(f) * unit * bound)).collect();
            of.sort_by_key(|e| e.0);
            let mut merged: Vec<(u32, f64)> = Vec::with_capacity(of.len());
            for (g, c) in of.into_iter().filter(|e| e.1 > 0.0) {
                match merged.last_mut() {
                    Some((last, sum)) if *last == g => *sum += c,
                    _ => merged.push((g, c)),
                }
            }
            let key: Vec<(u32, u64)> = merged.iter().map(|&(g, c)| (g, c.to_bits())).collect();
            if !merged.is_empty() && seen.insert(key) {
                cost.push(merged);
            }
        };
        if pairs {
            // A cell against one in no row: it may exist, and of several rows a unit may own fewer.
            columns.push(Vec::new());
            for (i, a) in columns.iter().enumerate() {
                for b in &columns[..i] {
                    let mut difference: HashMap<u32, f64> =
                        a.iter().map(|&(r, f)| (r, f64::from(f))).collect();
                    b.iter().for_each(|&(r, f)| *difference.entry(r).or_insert(0.0) -= f64::from(f));
                    let mut difference: Vec<(u32, f64)> = difference.into_iter().collect();
                    difference.sort_by_key(|e| e.0);
                    add(&mut difference.into_iter());
                }
            }
        } else {
            for column in &columns {
                add(&mut column.iter().map(|&(r, f)| (r, f64::from(f))));
            }
        }
        Sharing { noise, norm, cost }
    }

    /// As much precision as the worst cell allows.
    fn tight(&self, mut u: Vec<f64>) -> Vec<f64> {
        let of = |row: &Vec<(u32, f64)>| row.iter().map(|&(g, c)| c * u[g as usize]).sum::<f64>();
        let worst = self.cost.iter().map(of).fold(0.0, f64::max);
        u.iter_mut().for_each(|u| *u /= worst);
        u
    }

    /// The shares for groups whose costs add up: equal ones, or the best for these weights.
    fn closed_form(&self, request: &Request, weights: Option<&[f64]>) -> Vec<f64> {
        let mut groups = Groups::new();
        for (g, &norm) in self.norm.iter().enumerate() {
            let block = Block::Table(crate::cube::Cuboid::total());
            groups.push(block, norm, weights.map_or(1.0, |w| w[g]), 1.0);
        }
        let rule = if weights.is_some() { BudgetRule::Optimal } else { BudgetRule::Uniform };
        let budget = request.budget.to_f64();
        scales(self.noise, budget, &groups, rule).into_iter().map(|scale| 1.0 / scale).collect()
    }

    /// The best shares for these weights, whatever cell is the worst.
    fn convex(&self, weights: &[f64]) -> Option<Vec<f64>> {
        let (price, power) = (weights.to_vec(), price::gain(self.noise));
        let solution = Minimax { price, rows: self.cost.clone(), power }.solve();
        solution.u.iter().all(|u| u.is_finite() && *u > 0.0).then_some(solution.u)
    }
}

/// The distinct columns, factors by row.
fn columns(rows: &Rows) -> Vec<Vec<(u32, i32)>> {
    let mut of_cell: HashMap<u32, Vec<(u32, i32)>> = HashMap::new();
    for (r, row) in rows.rows.iter().enumerate() {
        row.iter().for_each(|&(cell, f)| of_cell.entry(cell).or_default().push((r as u32, f)));
    }
    let mut columns: Vec<_> = of_cell.into_values().collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Budgets and recovery in turns.
struct Turns<'a> {
    request: &'a Request,
    system: Arc<RowSystem>,
    workload: Workload,
}

impl Turns<'_> {
    /// The best `u` of every row found from `start`; `share` gives that of every group for the groups' weights.
    fn take(
        &self,
        start: &[f64],
        groups: &[(u32, Vec<usize>)],
        share: impl Fn(&[f64]) -> Option<Vec<f64>>,
    ) -> Vec<f64> {
        let mut now = start.to_vec();
        let mut best = (f64::INFINITY, now.clone());
        for _ in 0..self.most() {
            // Up to a factor that all have in common.
            let gain = price::gain(self.request.noise);
            let weights = now.iter().map(|u| gain.raise(*u)).collect();
            let Ok(weighed) = self.system.weighed(weights) else { break };
            let (error, s) = weighed.shares(&self.workload);
            let gained = error < best.0 * (1.0 - SETTLED);
            if error < best.0 {
                best = (error, now.clone());
            }
            if !gained {
                break;
            }
            let sum: f64 = s.iter().sum();
            let least = LEAST_WEIGHT / s.len() as f64;
            let s: Vec<f64> = s.iter().map(|s| (s / sum).max(least)).collect();
            let of_group: Vec<f64> =
                groups.iter().map(|(_, rows)| rows.iter().map(|&r| s[r]).sum()).collect();
            let Some(u) = share(&of_group) else { break };
            now = spread(groups, &u);
        }
        best.1
    }

    /// Fewer turns where each is a lot of work; counted, not timed.
    fn most(&self) -> usize {
        let size = self.system.rank().max(1) as u64;
        ((1u64 << 33) / (size * size * size)).clamp(4, 100) as usize
    }
}

#[cfg(test)]
mod tests;
