//! A proven lower bound for every Gaussian mechanism, whatever it measures.
//!
//! With the Gram matrix `G` of the whole workload over all cells and any weights `λ` of the cells that add up to one, no Gaussian mechanism has a
//! weighted total variance below `(tr (Λ^½GΛ^½)^½)²/(2ρ)` (see [`super::optimum`]). For one product table `G` is a product and the bound is the
//! product of its dimensions' bounds. For several tables `λ` starts as a product of the dimensions' own weights and is improved while there is
//! time. A dimension of which just cells are asked falls apart: with equal weights its identity and its matrix of ones have the same two eigenspaces, so that one dense
//! matrix over the other dimensions is left for every choice of them.

use super::descent::{Chosen, Problem};
use super::optimum::Family;
use super::split::Matrix;
use crate::cube::{Frame, Level};
use crate::numeric::symmetric::{eigen, eigenvalues};
use crate::plan::{Asked, Neighbours};
use crate::planner::Request;

/// The most cells of the dimensions that do not fall apart.
const MOST_CELLS: usize = 640;
/// The most steps of dense algebra.
const MOST_STEPS: f64 = 2e9;
/// The most rounds that `λ` is improved for.
const MOST_ROUNDS: usize = 40;
/// The most dense matrices, times their size to the third power.
const MOST_DENSE: f64 = 1e9;

/// The least weighted total variance, where it can be computed. Tables published exactly, and neighbours that change a unit, are beyond it.
pub fn least(request: &Request, frame: &Frame, problem: &Problem, chosen: &[Chosen]) -> Option<f64> {
    if !request.exact.is_empty() || request.neighbours != Neighbours::AddRemove {
        return None;
    }
    let rows = f64::from(request.max_rows);
    let factor = rows * rows / (2.0 * request.budget.to_f64());
    let value = match request.workload.as_slice() {
        [_] => one_table(request, frame)?,
        _ => several(request, frame, problem, chosen)?,
    };
    Some(value * factor)
}

/// One product table: dimension by dimension.
fn one_table(request: &Request, frame: &Frame) -> Option<f64> {
    let [table] = request.workload.as_slice() else { return None };
    let mut bound = table.weight.to_f64();
    for (d, l) in table.cuboid.pairs() {
        let n = frame.rung(Level::new(d, l)).len();
        bound *= match super::descent::asked_of(table, d)? {
            Asked::Cells => n as f64,
            Asked::Total => 1.0,
            asked => Family::new(super::descent::ridged(&asked, n)).best(0.0, None)?.bound * (1.0 - 1e-6),
        };
    }
    Some(bound)
}

/// One dimension that does not fall apart.
struct Dense {
    number: usize,
    nodes: usize,
    weights: Vec<f64>,
}

fn several(request: &Request, frame: &Frame, problem: &Problem, chosen: &[Chosen]) -> Option<f64> {
    let mut dense: Vec<Dense> = Vec::new();
    let mut cells: Vec<(usize, f64)> = Vec::new();
    for (number, axis) in frame.axes.iter().enumerate() {
        if axis.rungs.len() < 2 {
            continue;
        }
        let nodes = axis.rungs.last()?.len();
        match problem.dimensions.iter().position(|d| d.number == number) {
            Some(at) => dense.push(Dense { number, nodes, weights: chosen[at].best.weights.clone() }),
            None if axis.rungs.len() == 2 => cells.push((number, nodes as f64)),
            None => dense.push(Dense { number, nodes, weights: vec![1.0 / nodes as f64; nodes] }),
        }
    }
    let size = dense.iter().try_fold(1usize, |n, d| n.checked_mul(d.nodes)).filter(|&n| n <= MOST_CELLS)?;
    // Of each table the product over the dense dimensions; equal ones are added up by what the others make of them.
    let mut grams: Vec<(Vec<Option<Asked>>, Vec<usize>)> = Vec::new();
    for (t, table) in request.workload.iter().enumerate() {
        let key: Vec<Option<Asked>> = dense
            .iter()
            .map(|d| match table.cuboid.level(d.number) {
                0 => Some(None),
                _ => super::descent::asked_of(table, d.number).map(Some),
            })
            .collect::<Option<_>>()?;
        let levels: Vec<usize> = dense.iter().map(|d| table.cuboid.level(d.number)).collect();
        let same = |of: &(Vec<Option<Asked>>, Vec<usize>)| {
            let first = &request.workload[of.1[0]].cuboid;
            of.0 == key && dense.iter().zip(&levels).all(|(d, l)| first.level(d.number) == *l)
        };
        match grams.iter_mut().find(|g| same(g)) {
            Some((_, tables)) => tables.push(t),
            None => grams.push((key, vec![t])),
        }
    }
    // For each kind of dense product and each set of cells' dimensions the factor of the block.
    let sets = 1usize.checked_shl(cells.len() as u32).filter(|&s| s <= 1 << 12)?;
    let mut blocks: Vec<(Vec<f64>, f64)> = Vec::new();
    for set in 0..sets {
        let mut times = 1.0;
        for (bit, (_, n)) in cells.iter().enumerate() {
            times *= if set >> bit & 1 == 1 { n - 1.0 } else { 1.0 };
        }
        let of = |t: &usize| {
            let table = &request.workload[*t];
            let own = cells.iter().enumerate().map(|(bit, &(d, n))| {
                let sums =
                    table.cuboid.level(d) == 0 || super::descent::asked_of(table, d) == Some(Asked::Total);
                match (set >> bit & 1 == 1, sums) {
                    (true, true) => 0.0,
                    (true, false) | (false, false) => 1.0 / n,
                    (false, true) => 1.0,
                }
            });
            table.weight.to_f64() * own.product::<f64>()
        };
        let factors: Vec<f64> = grams.iter().map(|(_, tables)| tables.iter().map(of).sum()).collect();
        if times == 0.0 || factors.iter().all(|f| *f == 0.0) {
            continue;
        }
        match blocks.iter_mut().find(|(known, _)| *known == factors) {
            Some((_, sum)) => *sum += times,
            None => blocks.push((factors, times)),
        }
    }
    if libm::pow(size as f64, 3.0) * blocks.len() as f64 > MOST_DENSE {
        return None;
    }
    let dear = 10.0 * libm::pow(size as f64, 3.0) * blocks.len() as f64;
    let products: Vec<Matrix> = grams
        .iter()
        .map(|(key, tables)| product(frame, &dense, key, &request.workload[tables[0]].cuboid))
        .collect();
    let start = dense.iter().fold(vec![1.0], |outer, d| {
        outer.iter().flat_map(|o| d.weights.iter().map(move |w| o * w)).collect()
    });
    let rounds = (MOST_STEPS / dear) as usize;
    climb(&products, &blocks, start, rounds.min(MOST_ROUNDS))
}

/// The largest `(tr (Λ^½GΛ^½)^½)²` on the way of `λ ← λ X` for so many rounds; where there is time for none, of the first `λ` alone.
fn climb(
    products: &[Matrix],
    blocks: &[(Vec<f64>, f64)],
    mut weights: Vec<f64>,
    rounds: usize,
) -> Option<f64> {
    let size = weights.len();
    let mut best = 0.0f64;
    for _ in 0..rounds.max(1) {
        let roots: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
        let (mut trace, mut own) = (0.0, vec![0.0; size]);
        for (factors, times) in blocks {
            let mut m = vec![vec![0.0; size]; size];
            for (product, factor) in products.iter().zip(factors).filter(|(_, f)| **f > 0.0) {
                for ((row, own), ri) in m.iter_mut().zip(product).zip(&roots) {
                    row.iter_mut()
                        .zip(own.iter().zip(&roots))
                        .for_each(|(m, (p, rj))| *m += factor * p * ri * rj);
                }
            }
            if rounds < 2 {
                let found = eigenvalues(m)?;
                trace += times * found.iter().map(|v| v.max(0.0).sqrt()).sum::<f64>();
                continue;
            }
            let found = eigen(m)?;
            for (v, value) in found.vectors.iter().zip(&found.values) {
                let root = times * value.max(0.0).sqrt();
                trace += root;
                own.iter_mut().zip(v).for_each(|(o, v)| *o += root * v * v);
            }
        }
        best = best.max(trace);
        // A plain step, half as far again: see `optimum`.
        let next = weights.iter().zip(&own).map(|(w, o)| w * libm::pow(o / (w * trace), 1.5));
        let next: Vec<f64> = next.map(|w| w.max(1e-30)).collect();
        let sum: f64 = next.iter().sum();
        weights = next.into_iter().map(|w| w / sum).collect();
    }
    // Roundings of eigenvalues go either way.
    (best > 0.0 && best.is_finite()).then_some(best * best * (1.0 - 1e-7))
}

/// `G` of one kind of table, over the dense dimensions.
fn product(frame: &Frame, dense: &[Dense], key: &[Option<Asked>], cuboid: &crate::cube::Cuboid) -> Matrix {
    let mut out: Matrix = vec![vec![1.0]];
    for (d, asked) in dense.iter().zip(key) {
        let axis = &frame.axes[d.number];
        let rung = axis.rung(cuboid.level(d.number)).unwrap_or(0);
        let mut up: Vec<u32> = (0..d.nodes as u32).collect();
        for r in (rung + 1..axis.rungs.len()).rev() {
            up.iter_mut().for_each(|node| *node = axis.rungs[r].parent[*node as usize]);
        }
        let n = axis.rungs[rung].len() as u32;
        let entry = |i: usize, j: usize| asked.as_ref().map_or(1.0, |asked| asked.gram(n, up[i], up[j]));
        let own: Matrix = (0..d.nodes).map(|i| (0..d.nodes).map(|j| entry(i, j)).collect()).collect();
        out = out
            .iter()
            .flat_map(|a| {
                own.iter().map(move |b| a.iter().flat_map(|x| b.iter().map(move |y| x * y)).collect())
            })
            .collect();
    }
    out
}
