//! What a mechanism for the finest level of a dimension tells of each of its levels.
//!
//! Of the precision `P` of a level, with `S = P⁻¹`, the next coarser level has `P' = (Π S Πᵀ)⁻¹`: what is left, `P − Πᵀ P' Π`, is what the
//! finer level's own component tells. Its null space is spanned by `U = S Πᵀ P'`, and any rows `R` with `RᵀR = P − ΠᵀP'Π` go with `U` and
//! `K = S Rᵀ` in `[Π; R]⁻¹ = [U, K]`. So all that planning needs of a Gram matrix `G` follows without `R`: its part that is asked of the coarser
//! levels is `G' = Uᵀ G U`, and the component adds `tr(G KKᵀ) = tr(G S) − tr(G' S')` to the variance. With total as the
//! only coarser level, `P' = a` and `U = u` are those of docs/methods/bases.md.

use crate::numeric::cholesky::dot;
use crate::numeric::dense::inverse;
use crate::plan::basis::{Basis, MAX_ENTRY};

/// A dense matrix by its rows.
pub(crate) type Matrix = Vec<Vec<f64>>;

/// One level, the coarser one of which it knows.
struct Level {
    parent: Vec<u32>,
    precision: Matrix,
    inverse: Matrix,
    /// `U`: for each node its share of each coarser one.
    spread: Matrix,
}

/// All levels but total, the coarsest first.
pub(crate) struct Split {
    levels: Vec<Level>,
    /// `S` of total.
    total: f64,
}

impl Split {
    /// Of a precision of the finest level, with each level's parents in the next coarser one, the coarsest first. `None` where the precision is
    /// singular.
    pub(crate) fn new(x: &Matrix, parents: &[Vec<u32>]) -> Option<Split> {
        let mut levels = Vec::new();
        let (mut precision, mut own) = (x.clone(), inverse(x)?);
        for parent in parents.iter().rev() {
            let m = parent.iter().max().map_or(0, |&p| p as usize + 1);
            // S Πᵀ, and Π S Πᵀ.
            let rolled: Matrix = own
                .iter()
                .map(|row| {
                    let mut sums = vec![0.0; m];
                    row.iter().zip(parent).for_each(|(v, &p)| sums[p as usize] += v);
                    sums
                })
                .collect();
            let mut coarse = vec![vec![0.0; m]; m];
            for (row, &p) in rolled.iter().zip(parent) {
                coarse[p as usize].iter_mut().zip(row).for_each(|(c, v)| *c += v);
            }
            let next = inverse(&coarse)?;
            let spread =
                rolled.iter().map(|row| next.iter().map(|column| dot(row, column)).collect()).collect();
            levels.push(Level { parent: parent.clone(), precision, inverse: own, spread });
            (precision, own) = (next, coarse);
        }
        levels.reverse();
        let total = own.first()?.first().copied().filter(|v| *v > 0.0)?;
        Some(Split { levels, total })
    }

    /// What a unit of noise in each component adds to the total variance of queries of rung `r` with this Gram matrix: total first.
    pub(crate) fn gains(&self, r: usize, gram: &Matrix) -> Vec<f64> {
        let mut gram = gram.clone();
        let mut known = Vec::with_capacity(r + 1);
        for level in self.levels[..r].iter().rev() {
            known.push(gram.iter().zip(&level.inverse).map(|(g, s)| dot(g, s)).sum::<f64>());
            gram = pulled(&gram, &level.spread);
        }
        let total = gram.first().and_then(|row| row.first()).copied().unwrap_or(0.0);
        let mut out = vec![total];
        let mut below = total * self.total;
        for all in known.into_iter().rev() {
            out.push((all - below).max(0.0));
            below = all;
        }
        out
    }

    /// The largest entry on the diagonal of what each component tells: total, one, first.
    pub(crate) fn prices(&self) -> Vec<f64> {
        let of = |r: usize| {
            let level = &self.levels[r];
            let left = level
                .parent
                .iter()
                .enumerate()
                .map(|(i, &p)| level.precision[i][i] - self.coarser(r, p as usize, p as usize));
            left.fold(0.0, f64::max)
        };
        std::iter::once(1.0).chain((0..self.levels.len()).map(of)).collect()
    }

    /// An entry of the precision of the level above level number `r`.
    fn coarser(&self, r: usize, p: usize, q: usize) -> f64 {
        if r == 0 { 1.0 / self.total } else { self.levels[r - 1].precision[p][q] }
    }

    /// The rows `R` of rung `r`, in whole numbers, no column of which is longer than `size`. `None` when that leaves nothing.
    ///
    /// `R` is a triangle by Cholesky's factorisation, one node of every group left to the end: the one that has most of what the group's
    /// parent has. Entries are rounded to the nearest, and those closest to a half the other way until no column is longer than it was: a
    /// column that is too long makes all of them dearer, one that is too short costs little.
    pub(crate) fn whole(&self, r: usize, size: f64) -> Option<Basis> {
        let level = &self.levels[r - 1];
        let n = level.parent.len();
        let m = level.spread.first()?.len();
        let mut last: Vec<Option<usize>> = vec![None; m];
        for (i, &p) in level.parent.iter().enumerate() {
            let share = |i: usize| level.spread[i][p as usize];
            let slot = &mut last[p as usize];
            if slot.is_none_or(|known| share(i) > share(known)) {
                *slot = Some(i);
            }
        }
        let last: Vec<usize> = last.into_iter().collect::<Option<_>>()?;
        let kept: Vec<usize> = (0..n).filter(|i| !last.contains(i)).collect();
        let order: Vec<usize> = kept.iter().chain(&last).copied().collect();
        let left = |i: usize, j: usize| {
            level.precision[i][j] - self.coarser(r - 1, level.parent[i] as usize, level.parent[j] as usize)
        };
        // Column by column of R: R_kk² = left_kk − Σ R_ik², row k then from the rest.
        let mut rows: Matrix = Vec::new();
        let mut columns: Matrix = order.iter().map(|_| Vec::new()).collect();
        for (k, &i) in kept.iter().enumerate() {
            let pivot = left(i, i) - dot(&columns[k], &columns[k]);
            if !(pivot > 0.0) {
                return None;
            }
            let by = 1.0 / pivot.sqrt();
            let mut row = vec![0.0; n];
            for at in k..n {
                let value = by * (left(i, order[at]) - dot(&columns[k][..k], &columns[at][..k]));
                row[order[at]] = value;
                if at > k {
                    columns[at].push(value);
                }
            }
            rows.push(row);
        }
        rounded(&rows, level.parent.clone(), size)
    }
}

/// `Uᵀ G U`.
fn pulled(gram: &Matrix, spread: &Matrix) -> Matrix {
    let m = spread.first().map_or(0, Vec::len);
    let half: Matrix = gram
        .iter()
        .map(|row| {
            let mut sums = vec![0.0; m];
            for (g, u) in row.iter().zip(spread) {
                sums.iter_mut().zip(u).for_each(|(s, u)| *s += g * u);
            }
            sums
        })
        .collect();
    let mut out = vec![vec![0.0; m]; m];
    for (u, row) in spread.iter().zip(&half) {
        for (out, u) in out.iter_mut().zip(u) {
            out.iter_mut().zip(row).for_each(|(o, h)| *o += u * h);
        }
    }
    out
}

/// Rows in whole numbers, the longest column about `size` long.
fn rounded(rows: &Matrix, parent: Vec<u32>, size: f64) -> Option<Basis> {
    let n = parent.len();
    let squared = |j: usize| rows.iter().map(|row| row[j] * row[j]).sum::<f64>();
    let longest = (0..n).map(squared).fold(0.0, f64::max);
    let scale = size.min(f64::from(MAX_ENTRY)) / longest.sqrt();
    if !scale.is_finite() {
        return None;
    }
    let mut entries = vec![0i32; rows.len() * n];
    for j in 0..n {
        // What is too long by less than rounding is not.
        let mut off = -1e-9 * longest * scale * scale;
        // What turning an entry the other way would cost, and what it would change.
        let mut turns: Vec<(f64, usize, f64, f64)> = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            let value = row[j] * scale;
            let near = value.round();
            off += near * near - value * value;
            entries[i * n + j] = near as i32;
            if value != near {
                let other = if value > near { near + 1.0 } else { near - 1.0 };
                turns.push((1.0 - 2.0 * (value - near).abs(), i, other, other * other - near * near));
            }
        }
        // First what is too long, then what that left too short.
        turns.sort_by(|a, b| a.0.total_cmp(&b.0));
        for longer in [false, true] {
            turns.retain(|&(_, i, other, change)| {
                let turn =
                    if longer { change > 0.0 && off + change <= 0.0 } else { change < 0.0 && off > 0.0 };
                if turn {
                    off += change;
                    entries[i * n + j] = other as i32;
                }
                !turn
            });
        }
    }
    Basis::new(parent, entries).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::dice::Dice;
    use nalgebra::DMatrix;

    fn any(dice: &mut Dice, n: usize) -> Matrix {
        let r = DMatrix::from_fn(n, n, |i, j| dice.unit() - 0.5 + f64::from(u8::from(i == j)));
        let x = r.transpose() * r;
        (0..n).map(|i| (0..n).map(|j| x[(i, j)]).collect()).collect()
    }

    /// One chain of three levels and one of one, against nalgebra: the parts add up to the whole, prices are those of the parts, and
    /// the rows in whole numbers have what is asked of their component, at nearly the same price.
    #[test]
    fn levels_of_a_precision() {
        let mut dice = Dice::new(2);
        for parents in [vec![vec![0u32; 7]], vec![vec![0, 0, 0], vec![0, 0, 1, 1, 1, 2, 2, 2]]] {
            let n = parents.last().unwrap().len();
            let x = any(&mut dice, n);
            let split = Split::new(&x, &parents).unwrap();
            let gram = any(&mut dice, n);
            let (top, dense) = (parents.len(), DMatrix::from_fn(n, n, |i, j| x[i][j]));
            let inverse = dense.clone().try_inverse().unwrap();
            let g = DMatrix::from_fn(n, n, |i, j| gram[i][j]);
            let gains = split.gains(top, &gram);
            // Σ over components of gain / precision is tr(G X⁻¹): components have precision one, total has `a`.
            let sum = gains[0] * split.total + gains[1..].iter().sum::<f64>();
            assert!((sum / (&g * &inverse).trace() - 1.0).abs() < 1e-10);
            // The finest component, by its definition.
            let parent = parents.last().unwrap();
            let m = *parent.iter().max().unwrap() as usize + 1;
            let pi = DMatrix::from_fn(m, n, |p, i| f64::from(u8::from(parent[i] as usize == p)));
            let coarse = (&pi * &inverse * pi.transpose()).try_inverse().unwrap();
            let left = &dense - pi.transpose() * &coarse * &pi;
            assert!((split.prices()[top] - left.diagonal().max()).abs() < 1e-10);
            let basis = split.whole(top, 3000.0).unwrap();
            let rows = DMatrix::from_fn(n - m, n, |i, j| f64::from(basis.row(i)[j]));
            let scale = basis.norm() as f64 / left.diagonal().max();
            let off = (rows.transpose() * &rows / scale - &left).norm() / left.norm();
            assert!(off < 2e-3, "{off}");
            assert!((basis.norm() as f64).sqrt() < 3001.0);
            let inverse = basis.inverse().unwrap();
            let k = DMatrix::from_fn(n, n - m, |i, j| inverse.recover(i)[j]);
            let found = (g * &k * k.transpose()).trace() * scale;
            assert!((found / gains[top] - 1.0).abs() < 5e-3, "{found} {}", gains[top]);
        }
    }
}
