//! A proven lower bound for every Gaussian mechanism, whatever it measures.
//!
//! With the Gram matrix `G` of the whole workload over all cells and any weights `λ` of the cells that add up to one, no Gaussian mechanism has a
//! weighted total variance below `(tr (Λ^½GΛ^½)^½)²/(2ρ)` (see [`super::optimum`]). For one product table `G` is a product and the bound is the
//! product of its dimensions' bounds. For several tables, and for SELECTs that are no products, `λ` starts as a product of the dimensions' own
//! weights and is improved while there is time. A dimension of which just cells are asked falls apart: with equal weights its identity and its
//! matrix of ones have the same two eigenspaces, so that one dense matrix over the other dimensions is left for every choice of them.

use super::descent::{self, Chosen, Problem};
use super::optimum::Family;
use super::split::Matrix;
use crate::cube::{Cuboid, Frame, Level};
use crate::numeric::dense::eigen;
use crate::numeric::symmetric::eigenvalues;
use crate::plan::{Asks, Neighbours, Ranges, Table};
use crate::planner::Request;
use crate::planner::predict::each_query;

/// The most cells of all dimensions together that it is always worked out for.
const MOST_CELLS: usize = 4096;
/// The most steps of dense algebra for more cells than that, most of them in dimensions that fall apart.
const MOST_DENSE: f64 = 1e9;
/// The most steps of dense algebra that `λ` is improved for.
const MOST_STEPS: f64 = 2e9;
/// The most rounds that `λ` is improved for.
const MOST_ROUNDS: usize = 40;
/// The most numbers of the Gram matrices of SELECTs.
const MOST_NUMBERS: usize = 1 << 25;
/// The most products of two weights that the rows of SELECTs may have.
const MOST_PRODUCTS: f64 = 4e9;

/// The least weighted total variance, where it can be computed. Tables published exactly, and neighbours that change a unit, are beyond it. `workload`
/// has SELECTs that are products of intervals as such.
pub(crate) fn least(
    request: &Request,
    workload: &[Table],
    frame: &Frame,
    problem: &Problem,
    chosen: &[Chosen],
) -> Option<f64> {
    if !request.exact.is_empty() || request.neighbours != Neighbours::AddRemove {
        return None;
    }
    let rows = f64::from(request.max_rows);
    let factor = rows * rows / (2.0 * request.budget.to_f64());
    let value = match workload {
        [table] if matches!(table.asks, Asks::Product(_)) && !request.weighs_cells() => {
            one_table(table, frame)?
        }
        _ => Several::new(request, workload, frame, problem, chosen)?.bound()?,
    };
    Some(value * factor)
}

/// One product table: dimension by dimension.
fn one_table(table: &Table, frame: &Frame) -> Option<f64> {
    let mut bound = table.weight.to_f64();
    for (d, l) in table.cuboid.pairs() {
        let n = frame.rung(Level::new(d, l)).len();
        bound *= match descent::asked_of(table, d)? {
            Ranges::Cells => n as f64,
            Ranges::Total => 1.0,
            Ranges::Intervals(list) => some_intervals(&Ranges::Intervals(list), n)?,
            asked => Family::new(descent::gram(&asked, n)).best(0.0, None)?.bound * (1.0 - 1e-6),
        };
    }
    Some(bound)
}

/// Of some intervals `G` may be singular: weights that are the best for a little more than `G` are weights for `G`, too.
fn some_intervals(asked: &Ranges, n: usize) -> Option<f64> {
    let gram = descent::gram(asked, n);
    let ridge = 1e-6 * (0..n).map(|i| gram[i][i]).sum::<f64>() / n as f64;
    let ridged = gram.iter().enumerate().map(|(i, row)| {
        let mut row = row.clone();
        row[i] += ridge;
        row
    });
    let weights = Family::new(ridged.collect()).best(0.0, None)?.weights;
    of_weights(&gram, &weights)
}

/// What no Gaussian mechanism of cost one is below, by these weights.
pub(crate) fn of_weights(gram: &Matrix, weights: &[f64]) -> Option<f64> {
    let row = |i: usize| (0..=i).map(|j| gram[i][j] * (weights[i] * weights[j]).sqrt()).collect();
    let trace = roots((0..weights.len()).map(row).collect())?;
    Some(trace * trace)
}

/// The trace of the root of a matrix that is given by its lower triangle; certainly no more. An eigenvalue is off by a few roundings of the
/// largest one, and the root of next to nothing is not next to nothing.
fn roots(lower: Vec<Vec<f64>>) -> Option<f64> {
    let off = 4.0 * lower.len() as f64 * f64::EPSILON;
    let found = eigenvalues(lower)?;
    Some(sum_of_roots(&found, off))
}

fn sum_of_roots(values: &[f64], off: f64) -> f64 {
    let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    values.iter().map(|v| (v - off * largest).max(0.0).sqrt()).sum()
}

/// One dimension that does not fall apart.
struct Dense {
    number: usize,
    nodes: usize,
    weights: Vec<f64>,
}

/// What some tables ask of the dense dimensions.
enum Asking {
    /// For each of them its Gram matrix.
    Product(Vec<Matrix>),
    /// Over the cells of a table, and for each dense cell which one it is in.
    Rows(Matrix, Vec<u32>),
}

/// A workload of several tables.
struct Several {
    dense: Vec<Dense>,
    size: usize,
    kinds: Vec<Asking>,
    /// For each choice of the dimensions that fall apart: what the kinds are multiplied by, and how many such choices there are.
    blocks: Vec<(Vec<f64>, f64)>,
}

impl Several {
    fn new(
        request: &Request,
        workload: &[Table],
        frame: &Frame,
        problem: &Problem,
        chosen: &[Chosen],
    ) -> Option<Several> {
        // Cells that weigh each by itself are rows.
        let rows = |t: usize| matches!(workload[t].asks, Asks::Query(_)) || request.cells_of(t).is_some();
        let products = !(0..workload.len()).any(rows);
        let mut dense: Vec<Dense> = Vec::new();
        let mut cells: Vec<(usize, f64)> = Vec::new();
        for (number, axis) in frame.axes.iter().enumerate().filter(|(_, axis)| axis.rungs.len() > 1) {
            let nodes = axis.rungs.last()?.len();
            match problem.dimensions.iter().position(|d| d.number == number) {
                Some(at) => dense.push(Dense { number, nodes, weights: chosen[at].best.weights.clone() }),
                None if axis.rungs.len() == 2 && products => cells.push((number, nodes as f64)),
                None => dense.push(Dense { number, nodes, weights: vec![1.0 / nodes as f64; nodes] }),
            }
        }
        let size =
            dense.iter().try_fold(1usize, |n, d| n.checked_mul(d.nodes)).filter(|&n| n <= MOST_CELLS)?;
        // Tables that ask the same of the dense dimensions are added up by what the others make of them.
        let mut kinds: Vec<(Vec<Option<Ranges>>, Vec<usize>)> = Vec::new();
        let mut selects: Vec<Vec<usize>> = Vec::new();
        for (t, table) in workload.iter().enumerate() {
            if rows(t) {
                match selects.iter_mut().find(|of| workload[of[0]].cuboid == table.cuboid) {
                    Some(of) => of.push(t),
                    None => selects.push(vec![t]),
                }
                continue;
            }
            let asked = |d: &Dense| match table.cuboid.level(d.number) {
                0 => Some(None),
                _ => descent::asked_of(table, d.number).map(Some),
            };
            let key: Vec<Option<Ranges>> = dense.iter().map(asked).collect::<Option<_>>()?;
            let levels = |t: usize| dense.iter().map(move |d| workload[t].cuboid.level(d.number));
            let same =
                |of: &&mut (Vec<Option<Ranges>>, Vec<usize>)| of.0 == key && levels(of.1[0]).eq(levels(t));
            match kinds.iter_mut().find(same) {
                Some((_, tables)) => tables.push(t),
                None => kinds.push((key, vec![t])),
            }
        }
        let mut tables: Vec<Vec<usize>> = kinds.iter().map(|(_, tables)| tables.clone()).collect();
        tables.extend(selects.iter().map(|of| vec![of[0]]));
        let blocks = blocks(workload, &tables, &cells)?;
        let all = cells.iter().fold(size as f64, |n, c| n * c.1);
        if all > MOST_CELLS as f64 && libm::pow(size as f64, 3.0) * blocks.len() as f64 > MOST_DENSE {
            return None;
        }
        let product = |(key, of): &(Vec<Option<Ranges>>, Vec<usize>)| {
            Asking::Product(of_products(frame, &dense, key, &workload[of[0]].cuboid))
        };
        let mut kinds: Vec<Asking> = kinds.iter().map(product).collect();
        let mut room = MOST_NUMBERS;
        for of in selects {
            let tables: Vec<(usize, &Table)> = of.into_iter().map(|t| (t, &workload[t])).collect();
            kinds.push(of_rows(request, frame, &tables, &dense, &mut room)?);
        }
        Some(Several { dense, size, kinds, blocks })
    }

    /// The best of a few `λ`.
    fn bound(&self) -> Option<f64> {
        let start = self.dense.iter().fold(vec![1.0], |outer, d| {
            outer.iter().flat_map(|o| d.weights.iter().map(move |w| o * w)).collect()
        });
        let steps = 10.0 * libm::pow(self.size as f64, 3.0) * self.blocks.len() as f64;
        let rounds = ((MOST_STEPS / steps) as usize).min(MOST_ROUNDS);
        let trace = if rounds < 2 { self.trace(&start)? } else { self.climb(start, rounds)? };
        (trace > 0.0 && trace.is_finite()).then_some(trace * trace * (1.0 - 1e-9))
    }

    /// `tr (Λ^½GΛ^½)^½`.
    fn trace(&self, weights: &[f64]) -> Option<f64> {
        let root: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
        let mut trace = 0.0;
        for (factors, times) in &self.blocks {
            let mut lower = Vec::with_capacity(self.size);
            self.each_row(factors, &root, &mut |i, row| lower.push(row[..=i].to_vec()));
            trace += times * roots(lower)?;
        }
        Some(trace)
    }

    /// The largest trace on the way of `λ ← λ X` for so many rounds.
    fn climb(&self, mut weights: Vec<f64>, rounds: usize) -> Option<f64> {
        let off = 4.0 * self.size as f64 * f64::EPSILON;
        let mut best = 0.0f64;
        for _ in 0..rounds {
            let root: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
            let (mut safe, mut trace, mut own) = (0.0, 0.0, vec![0.0; self.size]);
            for (factors, times) in &self.blocks {
                let mut m = Vec::with_capacity(self.size);
                self.each_row(factors, &root, &mut |_, row| m.push(row));
                let found = eigen(&m)?;
                safe += times * sum_of_roots(&found.values, off);
                for (v, value) in found.vectors.iter().zip(&found.values) {
                    let root = times * value.max(0.0).sqrt();
                    trace += root;
                    own.iter_mut().zip(v).for_each(|(o, v)| *o += root * v * v);
                }
            }
            best = best.max(safe);
            // A plain step, half as far again: see `optimum`.
            let next = weights.iter().zip(&own).map(|(w, o)| w * libm::pow(o / (w * trace), 1.5));
            let next: Vec<f64> = next.map(|w| w.max(1e-30)).collect();
            let sum: f64 = next.iter().sum();
            weights = next.into_iter().map(|w| w / sum).collect();
        }
        Some(best)
    }

    /// The rows of `Λ^½GΛ^½`.
    fn each_row(&self, factors: &[f64], root: &[f64], visit: &mut dyn FnMut(usize, Vec<f64>)) {
        for i in 0..self.size {
            let mut row = vec![0.0; self.size];
            for (kind, factor) in self.kinds.iter().zip(factors).filter(|(_, f)| **f > 0.0) {
                match kind {
                    Asking::Product(sides) => {
                        let mut place = self.size;
                        let own = sides.iter().fold(vec![*factor], |outer, side| {
                            place /= side.len();
                            let inner = &side[i / place % side.len()];
                            outer.iter().flat_map(|o| inner.iter().map(move |g| o * g)).collect()
                        });
                        row.iter_mut().zip(own).for_each(|(m, g)| *m += g);
                    }
                    Asking::Rows(gram, cell) => {
                        let own = &gram[cell[i] as usize];
                        row.iter_mut().zip(cell).for_each(|(m, &c)| *m += factor * own[c as usize]);
                    }
                }
            }
            row.iter_mut().zip(root).for_each(|(m, r)| *m *= root[i] * r);
            visit(i, row);
        }
    }
}

/// For each choice of the dimensions that fall apart what each kind of table is multiplied by; equal ones together.
fn blocks(workload: &[Table], kinds: &[Vec<usize>], cells: &[(usize, f64)]) -> Option<Vec<(Vec<f64>, f64)>> {
    let sets = 1usize.checked_shl(cells.len() as u32).filter(|&s| s <= 1 << 12)?;
    let mut blocks: Vec<(Vec<f64>, f64)> = Vec::new();
    for set in 0..sets {
        let mut times = 1.0;
        for (bit, (_, n)) in cells.iter().enumerate() {
            times *= if set >> bit & 1 == 1 { n - 1.0 } else { 1.0 };
        }
        let of = |t: &usize| {
            let table = &workload[*t];
            let own = cells.iter().enumerate().map(|(bit, &(d, n))| {
                let sums = table.cuboid.level(d) == 0 || descent::asked_of(table, d) == Some(Ranges::Total);
                match (set >> bit & 1 == 1, sums) {
                    (true, true) => 0.0,
                    (true, false) | (false, false) => 1.0 / n,
                    (false, true) => 1.0,
                }
            });
            table.weight.to_f64() * own.product::<f64>()
        };
        let factors: Vec<f64> = kinds.iter().map(|tables| tables.iter().map(of).sum()).collect();
        if times == 0.0 || factors.iter().all(|f| *f == 0.0) {
            continue;
        }
        match blocks.iter_mut().find(|(known, _)| *known == factors) {
            Some((_, sum)) => *sum += times,
            None => blocks.push((factors, times)),
        }
    }
    Some(blocks)
}

/// For each node of a dense dimension the one of a table that it is below.
fn up(frame: &Frame, dense: &Dense, cuboid: &Cuboid) -> (usize, Vec<u32>) {
    let axis = &frame.axes[dense.number];
    let rung = axis.rung(cuboid.level(dense.number)).unwrap_or(0);
    let mut up: Vec<u32> = (0..dense.nodes as u32).collect();
    for r in (rung + 1..axis.rungs.len()).rev() {
        up.iter_mut().for_each(|node| *node = axis.rungs[r].parent[*node as usize]);
    }
    (axis.rungs[rung].len(), up)
}

/// `G` of one kind of product, for each dense dimension.
fn of_products(frame: &Frame, dense: &[Dense], key: &[Option<Ranges>], cuboid: &Cuboid) -> Vec<Matrix> {
    let one = |(d, asked): (&Dense, &Option<Ranges>)| {
        let (n, up) = up(frame, d, cuboid);
        let entry = |i: usize, j: usize| asked.as_ref().map_or(1.0, |a| a.gram(n as u32, up[i], up[j]));
        (0..d.nodes).map(|i| (0..d.nodes).map(|j| entry(i, j)).collect()).collect()
    };
    dense.iter().zip(key).map(one).collect()
}

/// `G` of the rows of SELECTs over one table, by the weight of the first of them. Then every dimension is dense.
fn of_rows(
    request: &Request,
    frame: &Frame,
    tables: &[(usize, &Table)],
    dense: &[Dense],
    room: &mut usize,
) -> Option<Asking> {
    let (_, first) = tables.first()?;
    let n = frame.len(&first.cuboid);
    *room = room.checked_sub(n.checked_mul(n)?)?;
    let mut gram = vec![vec![0.0; n]; n];
    let mut left = MOST_PRODUCTS;
    for (t, table) in tables {
        let alike = table.weight.to_f64() / first.weight.to_f64();
        let mut each = request.cells_of(*t).into_iter().flatten();
        each_query(&request.cube, frame, table, &mut |query| {
            let weight = alike * each.next().unwrap_or(&1.0);
            let weighs: Vec<usize> = (0..n).filter(|&i| query[i] != 0.0).collect();
            left -= (n + weighs.len() * weighs.len()) as f64;
            if left > 0.0 {
                let add = |i: usize, gram: &mut Vec<f64>| {
                    weighs.iter().for_each(|&j| gram[j] += weight * query[i] * query[j]);
                };
                weighs.iter().for_each(|&i| add(i, &mut gram[i]));
            }
        });
    }
    if left <= 0.0 {
        return None;
    }
    let mut cell = vec![0u32];
    for d in dense {
        let (n, up) = up(frame, d, &first.cuboid);
        cell = cell.iter().flat_map(|c| up.iter().map(move |u| c * n as u32 + u)).collect();
    }
    Some(Asking::Rows(gram, cell))
}
