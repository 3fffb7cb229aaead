//! Generalised least squares from rows that the agency wrote itself: any whole coefficients, any rank.
//!
//! The measured rows are `y = H x + noise` over the cells of one table. Some of the rows, as many as the rank, are
//! independent and make a *basis*; every row is a combination of those, `H = T B`. So the unknowns are not the cells but the
//! answers `t = B x` of the basis, all of which the data determine: `N = TᵀWT` is never singular, `t̂ = N⁻¹TᵀWy`.
//!
//! A query `q` of the cells can be estimated without bias if and only if it is a combination of the rows, `q = Bᵀc`. Then
//! `q·x = c·t`, the estimate is `c·t̂`, and the best weights of the answers are `W T N⁻¹ c`: the variance is `cᵀN⁻¹c`. No other
//! query has an unbiased estimate at all, whatever the noise.
//!
//! **Beside tables published exactly** some sums of the cells are known. They come first in the basis, so that `t = (t_e, t_f)` with `t_e`
//! known; what they contribute is taken off the answers, and all of the above is said of `t_f`: least squares under the equality constraints.
//!
//! **Finding the basis:** Cholesky's factorisation of `H Hᵀ` with pivoting, rows scaled to length one. It does not depend on the
//! noise, so nobody's choice of budgets changes what can be asked. That the left-out rows are combinations of the basis is
//! checked afterwards; rows that are almost combinations of others, and not quite, are refused.

use crate::numeric::cholesky::{Cholesky, Lower, dot};
use crate::numeric::dice::{GOLDEN, mix};
use std::sync::Arc;

/// The most numbers in `T`: rows times rank.
pub(crate) const MOST_WORK: usize = 1 << 24;
/// A row this close to the span of others (squared, of length one) is taken as one of their combinations.
const DEPENDENT: f64 = 1e-10;
/// How exactly it must be one.
const COMBINED: f64 = 1e-8;
/// How exactly a query must be a combination of the rows, relative to its largest coefficient.
const DETERMINED: f64 = 1e-6;

/// Why rows cannot be worked with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowsError {
    /// More than fits.
    #[error("too many rows: their number times their rank is more than {MOST_WORK}")]
    TooMany,
    /// Digits run out.
    #[error("some of the rows are so nearly combinations of others that digits run out")]
    NearlyDependent,
    /// Noise scales too far apart.
    #[error("the noise scales of the rows are too far apart")]
    Weights,
}

/// Rows over one table, with a basis of them.
#[derive(Debug)]
pub struct RowSystem {
    /// The cells that are in some row, ascending.
    touched: Vec<u32>,
    /// The basis, scaled to length one; indices into `touched`.
    basis: Vec<Vec<(u32, f64)>>,
    /// `B Bᵀ = L Lᵀ`.
    lower: Lower,
    /// `T`: every row in terms of the basis.
    combined: Vec<Vec<(u32, f64)>>,
    /// The first of the basis are sums that are known: which, and their length.
    known: Vec<(usize, f64)>,
}

/// A fixed sequence of numbers in ±[½, 1] that look random.
fn mixed(seed: u64, index: usize) -> f64 {
    let z = mix(seed.wrapping_mul(GOLDEN).wrapping_add(index as u64 + 1));
    let size = 0.5 + (z >> 12) as f64 / (1u64 << 53) as f64;
    if z & 1 == 0 { size } else { -size }
}

fn times(row: &[(u32, f64)], x: &[f64]) -> f64 {
    row.iter().map(|&(i, a)| a * x[i as usize]).sum()
}

impl RowSystem {
    /// Finds a basis. In each row cells ascend; cells marked `empty` are left out.
    pub fn new<'a>(
        rows: impl Iterator<Item = &'a [(u32, i32)]> + Clone,
        empty: &[bool],
    ) -> Result<RowSystem, RowsError> {
        RowSystem::beside(rows, empty, &[])
    }

    /// The same beside sums of cells that are known.
    pub fn beside<'a>(
        rows: impl Iterator<Item = &'a [(u32, i32)]> + Clone,
        empty: &[bool],
        known: &'a [Vec<(u32, i32)>],
    ) -> Result<RowSystem, RowsError> {
        let exact = known.len();
        let rows = known.iter().map(|row| row.as_slice()).chain(rows);
        let open = |row: &'a [(u32, i32)]| {
            row.iter().filter(|&&(cell, _)| !empty.get(cell as usize).is_some_and(|e| *e))
        };
        let mut touched: Vec<u32> = rows.clone().flat_map(open).map(|&(cell, _)| cell).collect();
        touched.sort_unstable();
        touched.dedup();
        let at = |cell: u32| touched.binary_search(&cell).map_or(0, |at| at as u32);
        let mut lengths = Vec::new();
        let unit: Vec<Vec<(u32, f64)>> = rows
            .map(|row| {
                let length = open(row).map(|&(_, f)| f64::from(f) * f64::from(f)).sum::<f64>().sqrt();
                lengths.push(length);
                open(row).map(|&(cell, f)| (at(cell), f64::from(f) / length)).collect()
            })
            .collect();
        let (pivots, factors) = pivoted(&unit, touched.len(), exact)?;
        let mut lower = Lower::default();
        for (k, &p) in pivots.iter().enumerate() {
            lower.push(&factors[p][..=k]);
        }
        // Tᵢ L = Lᵢ, for each row by itself.
        let mut combined: Vec<Vec<(u32, f64)>> = factors
            .into_iter()
            .map(|mut t| {
                t.resize(pivots.len(), 0.0);
                lower.backward(&mut t);
                let kept = t.into_iter().enumerate().filter(|(_, v)| v.abs() > 1e-12);
                kept.map(|(k, v)| (k as u32, v)).collect()
            })
            .collect();
        let basis: Vec<Vec<(u32, f64)>> = pivots.iter().map(|&p| unit[p].clone()).collect();
        for (k, &p) in pivots.iter().enumerate() {
            combined[p] = vec![(k as u32, 1.0)];
        }
        // Both sides of `H = T B`, applied to vectors that know nothing of either.
        for seed in 1..=3 {
            let x: Vec<f64> = (0..touched.len()).map(|i| mixed(seed, i)).collect();
            let t: Vec<f64> = basis.iter().map(|b| times(b, &x)).collect();
            let same = |(row, t_i): (&Vec<(u32, f64)>, &Vec<(u32, f64)>)| {
                let size: f64 = 1.0 + t_i.iter().map(|(_, v)| v.abs()).sum::<f64>();
                (times(row, &x) - times(t_i, &t)).abs() <= COMBINED * size
            };
            if !unit.iter().zip(&combined).all(same) {
                return Err(RowsError::NearlyDependent);
            }
        }
        for (t, length) in combined.iter_mut().zip(&lengths) {
            t.iter_mut().for_each(|(_, v)| *v *= length);
        }
        let known = pivots.iter().take_while(|&&p| p < exact).map(|&p| (p, lengths[p])).collect();
        let combined = combined.split_off(exact);
        Ok(RowSystem { touched, basis, lower, combined, known })
    }

    /// A row's part in what is not known, and in what is.
    fn split<'a>(
        &self,
        row: &'a [(u32, f64)],
    ) -> (impl Iterator<Item = (usize, f64)> + 'a, &'a [(u32, f64)]) {
        let k = self.known.len();
        let (known, free) = row.split_at(row.partition_point(|&(i, _)| (i as usize) < k));
        (free.iter().map(move |&(i, v)| (i as usize - k, v)), known)
    }

    /// How many rows are independent.
    pub fn rank(&self) -> usize {
        self.basis.len()
    }

    /// `c` with `q = Bᵀc`, for a query of all cells of the table. `None` when the rows do not determine it.
    pub fn express(&self, q: &[f64]) -> Option<Vec<f64>> {
        let mut rest: Vec<f64> =
            self.touched.iter().map(|&cell| q.get(cell as usize).copied().unwrap_or(0.0)).collect();
        let count = |q: &[f64]| q.iter().filter(|v| **v != 0.0).count();
        if count(&rest) < count(q) {
            return None;
        }
        let largest = rest.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let mut c = vec![0.0; self.rank()];
        // Twice: the second time takes off what rounding left.
        for _ in 0..2 {
            let mut step: Vec<f64> = self.basis.iter().map(|b| times(b, &rest)).collect();
            self.lower.forward(&mut step);
            self.lower.backward(&mut step);
            for (b, s) in self.basis.iter().zip(&step).filter(|(_, s)| **s != 0.0) {
                b.iter().for_each(|&(i, a)| rest[i as usize] -= a * s);
            }
            c.iter_mut().zip(&step).for_each(|(c, s)| *c += s);
        }
        let left = rest.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        (left <= DETERMINED * largest).then_some(c)
    }

    /// Whether the rows determine every cell of a table, whose queries `pull_back` writes over the cells of the rows' own
    /// table. Two sums of all cells with weights that nobody chose stand for all of them: if a single cell is not
    /// determined, nor is such a sum.
    pub fn determines(&self, cells: usize, pull_back: impl Fn(Vec<f64>) -> Vec<f64>) -> bool {
        (1..=2).all(|seed| self.express(&pull_back((0..cells).map(|i| mixed(seed, i)).collect())).is_some())
    }

    /// With the reciprocal of each row's noise variance.
    pub fn weighed(self: &Arc<Self>, weights: Vec<f64>) -> Result<Weighed, RowsError> {
        let mut normal = Lower::zero(self.rank() - self.known.len());
        for (t, &w) in self.combined.iter().zip(&weights) {
            let free: Vec<(u32, f64)> = self.split(t).0.map(|(i, v)| (i as u32, v)).collect();
            normal.add_outer(&free, w);
        }
        let normal = Cholesky::new(normal).ok_or(RowsError::Weights)?;
        Ok(Weighed { system: self.clone(), weights, normal })
    }
}

/// Pivoted Cholesky of the rows' scalar products: the pivots, and for each row its factors (as many as pivots
/// came before it was one, or all).
///
/// The first `known` of the rows are pivots before any other is.
fn pivoted(
    rows: &[Vec<(u32, f64)>],
    width: usize,
    known: usize,
) -> Result<(Vec<usize>, Vec<Vec<f64>>), RowsError> {
    let mut factors: Vec<Vec<f64>> = vec![Vec::new(); rows.len()];
    let mut left: Vec<f64> =
        rows.iter().map(|row| if row.is_empty() { f64::MIN_POSITIVE } else { 1.0 }).collect();
    let mut pivots = Vec::new();
    let mut spread = vec![0.0; width];
    let mut from = 0..known;
    // The first of the largest.
    loop {
        let largest = from.clone().reduce(|a, b| if left[b] > left[a] { b } else { a });
        let Some(p) = largest.filter(|&p| left[p] > DEPENDENT) else {
            if from.end == rows.len() {
                break;
            }
            from = known..rows.len();
            continue;
        };
        if (pivots.len() + 1) * rows.len() > MOST_WORK {
            return Err(RowsError::TooMany);
        }
        rows[p].iter().for_each(|&(i, a)| spread[i as usize] = a);
        let root = left[p].sqrt();
        let mut own = std::mem::take(&mut factors[p]);
        for i in 0..rows.len() {
            // Zero is reserved for the pivots.
            if i == p || left[i] == 0.0 {
                continue;
            }
            let product = times(&rows[i], &spread) - dot(&factors[i], &own);
            let factor = product / root;
            factors[i].push(factor);
            left[i] = (left[i] - factor * factor).max(f64::MIN_POSITIVE);
        }
        rows[p].iter().for_each(|&(i, _)| spread[i as usize] = 0.0);
        own.push(root);
        factors[p] = own;
        left[p] = 0.0;
        pivots.push(p);
    }
    Ok((pivots, factors))
}

/// Rows with their noise: ready for estimates.
#[derive(Debug)]
pub struct Weighed {
    system: Arc<RowSystem>,
    weights: Vec<f64>,
    normal: Cholesky,
}

impl Weighed {
    /// The rows.
    pub fn system(&self) -> &RowSystem {
        &self.system
    }

    /// The variance of the best estimate of a query.
    pub fn variance(&self, expressed: Vec<f64>) -> f64 {
        self.normal.quadratic(self.free(expressed))
    }

    /// The part that is not known.
    fn free(&self, mut expressed: Vec<f64>) -> Vec<f64> {
        expressed.split_off(self.system.known.len().min(expressed.len()))
    }

    /// What each row's answer is multiplied by in it.
    pub fn coefficients(&self, expressed: Vec<f64>) -> Vec<f64> {
        let mut free = self.free(expressed);
        self.normal.solve(&mut free);
        let rows = self.system.combined.iter().zip(&self.weights);
        rows.map(|(t, w)| w * self.system.split(t).0.map(|(i, v)| v * free[i]).sum::<f64>()).collect()
    }

    /// A table of which every determined query has its best estimate. What is not determined is arbitrary in it. `known` are the values
    /// of the sums that are known.
    pub fn cells(&self, answers: &[f64], known: &[f64], length: usize) -> Vec<f64> {
        let value = |&(row, length): &(usize, f64)| known.get(row).copied().unwrap_or(0.0) / length;
        let mut t: Vec<f64> = self.system.known.iter().map(value).collect();
        let mut free = vec![0.0; self.system.rank() - t.len()];
        for ((row, w), y) in self.system.combined.iter().zip(&self.weights).zip(answers) {
            let (own, known) = self.system.split(row);
            let left = y - times(known, &t);
            own.for_each(|(i, v)| free[i] += v * w * left);
        }
        self.normal.solve(&mut free);
        t.extend(free);
        // x = Bᵀ(BBᵀ)⁻¹t has B x = t.
        self.system.lower.forward(&mut t);
        self.system.lower.backward(&mut t);
        let mut cells = vec![0.0; length];
        for (b, t) in self.system.basis.iter().zip(&t) {
            for &(i, a) in b {
                if let Some(cell) = cells.get_mut(self.system.touched[i as usize] as usize) {
                    *cell += a * t;
                }
            }
        }
        cells
    }

    /// For many queries at once, given as `M = Σ weight · c cᵀ`: `Σ weight · variance`, and each row's `s = Σ weight · coefficient²`.
    pub fn shares(&self, m: &Workload) -> (f64, Vec<f64>) {
        let k = self.system.known.len();
        let r = self.system.rank() - k;
        // Z = N⁻¹ M, column by column of the symmetric M; then X = N⁻¹ Zᵀ.
        let mut z: Vec<Vec<f64>> = m.rows().into_iter().skip(k).map(|row| self.free(row)).collect();
        z.iter_mut().for_each(|column| self.normal.solve(column));
        let total = (0..r).map(|i| z[i][i]).sum();
        let mut x: Vec<Vec<f64>> = (0..r).map(|i| z.iter().map(|column| column[i]).collect()).collect();
        x.iter_mut().for_each(|column| self.normal.solve(column));
        let square = |t: &[(u32, f64)]| -> f64 {
            let free: Vec<(u32, f64)> = self.system.split(t).0.map(|(i, v)| (i as u32, v)).collect();
            free.iter().map(|&(i, v)| v * times(&free, &x[i as usize])).sum()
        };
        let rows = self.system.combined.iter().zip(&self.weights);
        (total, rows.map(|(t, w)| (w * w * square(t)).max(0.0)).collect())
    }
}

/// `Σ weight · c cᵀ` over the queries of a workload.
#[derive(Debug, Clone)]
pub struct Workload(Lower);

impl Workload {
    /// Of no query yet.
    pub fn new(system: &RowSystem) -> Workload {
        Workload(Lower::zero(system.rank()))
    }

    /// One more query.
    pub fn add(&mut self, expressed: &[f64], weight: f64) {
        let sparse: Vec<(u32, f64)> =
            expressed.iter().enumerate().filter(|(_, v)| **v != 0.0).map(|(k, &v)| (k as u32, v)).collect();
        self.0.add_outer(&sparse, weight);
    }

    fn rows(&self) -> Vec<Vec<f64>> {
        let r = self.0.rows();
        let at = |i: usize, j: usize| if j <= i { self.0.row(i)[j] } else { self.0.row(j)[i] };
        (0..r).map(|i| (0..r).map(|j| at(i, j)).collect()).collect()
    }
}
