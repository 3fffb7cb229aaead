//! `together`: rows over all cells at once, made for everything that is asked together.
//!
//! `bases` gives every dimension one basis, whatever tables ask of it, and pays for each component what its dearest cell costs. Where tables ask different lists of
//! intervals neither is the best. But a few lists tell few *kinds* of cells apart: two cells in just the same questions are alike, and one number for both does for all that is asked. Over
//! kinds the best rows of all are found ([`crate::planner::bases::together`]). They are measured in whole numbers, as rows that an agency wrote itself would be: the cost is the longest
//! column, exactly. A small part of every cell's cost tells it from its like, so that every count can be asked for.

use super::ask::Ask;
use super::kind::{Rules, Strategy};
use super::matrix;
use super::refusal::{Measured, NotApplicable};
use crate::cube::{Cube, Cuboid, Frame};
use crate::numeric::dense::inverse;
use crate::plan::{Asks, BudgetRule, Neighbours, Ranges, Rows, Table};
use crate::planner::bases::together::together;
use crate::planner::objective::{Among, Certificate, Objective, WEIGHTED_TOTAL};
use crate::planner::predict::each_query;
use crate::planner::request::Request;
use std::collections::HashMap;

/// The most cells of all dimensions together.
const MOST_CELLS: f64 = 2048.0;
/// The most kinds of cells.
const MOST_KINDS: usize = 400;
/// The most steps of predicting all that is asked: for each question the square of the cells.
const MOST_STEPS: f64 = (1u64 << 32) as f64;
/// The length of a column.
const LONGEST: f64 = 4096.0;
/// The part of a cell's cost that tells it from its like.
const APART: f64 = 1e-3;

pub(super) struct Together;

impl Strategy for Together {
    fn measure(&self, ask: &Ask) -> Result<Vec<Measured>, NotApplicable> {
        let request = ask.request;
        if !request.noise.squares() {
            return Err(NotApplicable::NeedsGaussian);
        }
        if !plain(request) {
            return Err(NotApplicable::NotTogether);
        }
        let cuboid = whole(request);
        let kinds = Kinds::of(ask, &cuboid)?;
        let own: Vec<f64> = kinds.sizes.iter().map(|size| APART / size).collect();
        let found = together(&kinds.gram, &own, 1.0 - APART).ok_or(NotApplicable::NoBasis)?;
        let (rows, least) = kinds.rows(&found.rows, cuboid);
        let measurements = matrix::alike(request, &rows)?;
        let scale = measurements.first().map_or(0.0, |m| m.scale.to_f64());
        let value = kinds.value(&least).map(|v| v * scale);
        let factor = request.unit_price() / (2.0 * request.budget.to_f64());
        let proof = value.map(|value| {
            Certificate::new(WEIGHTED_TOTAL, value, (found.bound * factor).min(value)).among(Among::Gaussian)
        });
        Ok(vec![(measurements, proof)])
    }

    fn needs(&self) -> Option<fn(&Request) -> bool> {
        Some(|request| {
            let cells = request.cube.cells(&whole(request)).map_or(f64::INFINITY, |n| n as f64);
            request.noise.squares()
                && plain(request)
                && cells <= MOST_CELLS
                && (request.workload.iter().any(asks_for_sums) || request.weighs_cells())
        })
    }

    /// One block has the whole budget.
    fn rules(&self) -> Rules {
        Rules::Fixed
    }
}

/// Whether rows over all cells are looked for: counts alone, for the least total.
fn plain(request: &Request) -> bool {
    let counts = request.sums.is_empty() && request.exact.is_empty() && request.zeros.is_empty();
    counts
        && request.beside.is_empty()
        && !request.with_law
        && request.budgets == BudgetRule::Optimal
        && request.objective == Objective::Total
        && request.neighbours == Neighbours::AddRemove
}

fn asks_for_sums(table: &Table) -> bool {
    match &table.asks {
        Asks::Query(_) => true,
        Asks::Product(of) => of.iter().any(|(_, asked)| !matches!(asked, Ranges::Cells | Ranges::Total)),
    }
}

/// The table from which all that is asked follows.
fn whole(request: &Request) -> Cuboid {
    request.workload.iter().fold(Cuboid::total(), |all, t| all.join(&t.cuboid))
}

/// What questions tell apart.
struct Kinds {
    /// Each cell's kind; `None` where no question holds it.
    of: Vec<Option<usize>>,
    /// How many cells each has.
    sizes: Vec<f64>,
    /// The weighted Gram matrix of the questions, over kinds.
    gram: Vec<Vec<f64>>,
}

/// Cells of one table: which of them are alike, and the Gram matrix of its questions over those. `each`: what each question weighs.
fn of_table(cube: &Cube, frame: &Frame, table: &Table, each: Option<&[f64]>) -> (Vec<usize>, Vec<Vec<f64>>) {
    let mut columns: Vec<Vec<(u32, f64)>> = vec![Vec::new(); frame.len(&table.cuboid)];
    let mut number = 0;
    each_query(cube, frame, table, &mut |query| {
        let root = each.and_then(|each| each.get(number as usize)).map_or(1.0, |weight| weight.sqrt());
        let inside = columns.iter_mut().zip(query).filter(|(_, v)| *v != 0.0);
        inside.for_each(|(column, v)| column.push((number, root * v)));
        number += 1;
    });
    let mut known: HashMap<Vec<(u32, u64)>, usize> = HashMap::new();
    let mut distinct: Vec<Vec<f64>> = Vec::new();
    let mut of = Vec::with_capacity(columns.len());
    for column in columns {
        let key = column.iter().map(|&(q, v)| (q, v.to_bits())).collect();
        let next = known.len();
        of.push(*known.entry(key).or_insert_with(|| {
            let mut full = vec![0.0; number as usize];
            column.iter().for_each(|&(q, v)| full[q as usize] = v);
            distinct.push(full);
            next
        }));
    }
    let product = |a: &Vec<f64>, b: &Vec<f64>| crate::numeric::cholesky::dot(a, b);
    let gram = distinct.iter().map(|a| distinct.iter().map(|b| product(a, b)).collect()).collect();
    (of, gram)
}

impl Kinds {
    fn of(ask: &Ask, cuboid: &Cuboid) -> Result<Kinds, NotApplicable> {
        let Ask { request, frame, .. } = *ask;
        let cells = frame.cells(cuboid);
        let queries = |(t, table): (usize, &Table)| ask.closure.queries(frame, t, &table.cuboid);
        let asked: f64 = request.workload.iter().enumerate().map(queries).sum();
        if cells > MOST_CELLS || asked * cells * cells > MOST_STEPS {
            return Err(NotApplicable::TooManyQueries(ask.name(cuboid)));
        }
        let tables: Vec<(Vec<usize>, Vec<Vec<f64>>)> = (request.workload.iter())
            .enumerate()
            .map(|(at, t)| {
                let (of, gram) = of_table(&request.cube, frame, t, request.cells_of(at));
                let numbers = of.iter().map(|&kind| kind as f64).collect();
                let spread = frame.pull_back(&t.cuboid, cuboid, numbers);
                (spread.into_iter().map(|kind| kind as usize).collect(), gram)
            })
            .collect();
        let gram = |a: &[usize], b: &[usize]| -> f64 {
            let one = |((t, (_, gram)), (&a, &b)): ((&Table, &(_, Vec<Vec<f64>>)), (&usize, &usize))| {
                t.weight.to_f64() * gram[a][b]
            };
            request.workload.iter().zip(&tables).zip(a.iter().zip(b)).map(one).sum()
        };
        let mut known: HashMap<Vec<usize>, Option<usize>> = HashMap::new();
        let (mut keys, mut sizes, mut of): (Vec<Vec<usize>>, Vec<f64>, Vec<_>) = Default::default();
        for cell in 0..frame.len(cuboid) {
            let key: Vec<usize> = tables.iter().map(|(of, _)| of[cell]).collect();
            let kind = *known.entry(key.clone()).or_insert_with(|| {
                (gram(&key, &key) > 0.0).then(|| {
                    keys.push(key);
                    sizes.push(0.0);
                    sizes.len() - 1
                })
            });
            if let Some(kind) = kind {
                sizes[kind] += 1.0;
            }
            of.push(kind);
        }
        if keys.is_empty() || keys.len() > MOST_KINDS {
            return Err(NotApplicable::TooManyQueries(ask.name(cuboid)));
        }
        let gram = keys.iter().map(|a| keys.iter().map(|b| gram(a, b)).collect()).collect();
        Ok(Kinds { of, sizes, gram })
    }

    /// Rows over kinds as rows over cells in whole numbers, after one row for each cell; and their precision over kinds, by the variance of their noise.
    fn rows(&self, found: &[Vec<f64>], cuboid: Cuboid) -> (Rows, Vec<Vec<f64>>) {
        let size = LONGEST * (1.0 - APART).sqrt();
        let apart = (LONGEST * APART.sqrt()).round();
        let whole = |row: &Vec<f64>| row.iter().map(|v| (v * size).round()).collect::<Vec<f64>>();
        let found: Vec<Vec<f64>> = found.iter().map(whole).collect();
        let lifted = |row: &Vec<f64>| -> Vec<(u32, i32)> {
            let of = (0u32..).zip(&self.of).filter_map(|(cell, kind)| Some((cell, row[(*kind)?] as i32)));
            of.filter(|(_, factor)| *factor != 0).collect()
        };
        let own = (0..self.of.len() as u32).map(|cell| vec![(cell, apart as i32)]);
        let rows = own.chain(found.iter().map(lifted).filter(|row| !row.is_empty())).collect();
        let product = |a: usize, b: usize| found.iter().map(|row| row[a] * row[b]).sum::<f64>();
        let n = self.sizes.len();
        let entry =
            |a: usize, b: usize| product(a, b) + if a == b { apart * apart / self.sizes[a] } else { 0.0 };
        let precision = (0..n).map(|a| (0..n).map(|b| entry(a, b)).collect()).collect();
        (Rows { cuboid, rows }, precision)
    }

    /// `tr(G P⁻¹)`.
    fn value(&self, precision: &[Vec<f64>]) -> Option<f64> {
        let inverse = inverse(precision)?;
        Some(self.gram.iter().zip(&inverse).map(|(g, i)| crate::numeric::cholesky::dot(g, i)).sum())
    }
}
