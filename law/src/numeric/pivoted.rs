//! Cholesky's factorisation with pivots, of a matrix that is only semidefinite: what is independent in a Gram matrix.
//!
//! `M ≈ L Lᵀ`: of what is left of the diagonal the largest comes next, until no rest is larger than rounding (LAPACK's `dpstrf`; Higham
//! 1990). So the number of steps is the rank. Rows are never moved: `L` keeps each row at its own index, and the order is a list. The
//! work is done in blocks of columns, so that what is read often stays in the processor's cache: 2000 × 2000 takes about a second.

use super::cholesky::dot;

/// A symmetric matrix by its lower triangle, row by row: row `i` has `i + 1` entries.
#[derive(Debug, Clone)]
pub struct Gram {
    side: usize,
    lower: Vec<f64>,
}

/// Where row `i` of a triangle starts.
fn start(i: usize) -> usize {
    i * (i + 1) / 2
}

/// Rows of a dense matrix that are taken at once.
const CHUNK: usize = 256;

impl Gram {
    /// Of zeros.
    pub fn zero(side: usize) -> Gram {
        Gram { side, lower: vec![0.0; start(side)] }
    }

    /// `AᵀA` of a matrix of so many columns, from its rows: columns, ascending, and values.
    pub fn of_rows<R>(side: usize, rows: impl Iterator<Item = R>) -> Gram
    where
        R: Iterator<Item = (usize, f64)>,
    {
        let mut gram = Gram::zero(side);
        // Rows with many entries wait here, column by column, until there are enough of them.
        let (mut dense, mut waiting) = (Vec::new(), 0);
        for row in rows {
            let row: Vec<(usize, f64)> = row.collect();
            if row.len() * 8 < side {
                gram.add_outer(&row, 1.0);
                continue;
            }
            dense.resize(side * CHUNK, 0.0);
            row.iter().for_each(|&(j, v)| dense[j * CHUNK + waiting] = v);
            waiting += 1;
            if waiting == CHUNK {
                gram.add_dense(&dense);
                dense.fill(0.0);
                waiting = 0;
            }
        }
        gram.add_dense(&dense);
        gram
    }

    fn add_dense(&mut self, dense: &[f64]) {
        let mut columns = dense.chunks_exact(CHUNK);
        for i in 0..self.side {
            let Some(own) = columns.next() else { break };
            let row = &mut self.lower[start(i)..=start(i) + i];
            row.iter_mut().zip(dense.chunks_exact(CHUNK)).for_each(|(m, other)| *m += dot(own, other));
        }
    }

    /// Adds `w · x xᵀ` for a sparse `x` with ascending indices.
    pub fn add_outer(&mut self, x: &[(usize, f64)], w: f64) {
        for (at, &(i, a)) in x.iter().enumerate() {
            for &(j, b) in &x[..=at] {
                self.lower[start(i) + j] += w * a * b;
            }
        }
    }

    /// From all of its entries, row by row.
    pub fn dense(matrix: &[f64], side: usize) -> Gram {
        let rows = (0..side).flat_map(|i| &matrix[i * side..=i * side + i]);
        Gram { side, lower: rows.copied().collect() }
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.lower[start(i.max(j)) + i.min(j)]
    }
}

/// The factor.
#[derive(Debug, Clone)]
pub struct Pivoted {
    side: usize,
    /// The pivots, in the order they were taken: as many as the rank.
    order: Vec<usize>,
    /// Row by row, `side` entries each: column `k` belongs to pivot `k`.
    lower: Vec<f64>,
    /// What the matrix was multiplied by on both sides to have a unit diagonal; 0 where there was nothing.
    scale: Vec<f64>,
}

/// Columns that are worked out at once.
const BLOCK: usize = 64;
/// What is left of a unit diagonal counts as 0 below this, in large systems.
const LEAST: f64 = 1e-10;
/// A solution leaves no more than this.
const LEFT: f64 = 1e-8;

impl Pivoted {
    /// Factors `M`.
    pub fn new(m: Gram) -> Pivoted {
        Pivoted::down_to(m, LEAST)
    }

    /// Factors `M`, until what is left of its diagonal, brought to one, is no more than `least`.
    pub fn down_to(mut m: Gram, least: f64) -> Pivoted {
        let n = m.side;
        let root = |i: usize| m.at(i, i).sqrt();
        let scale: Vec<f64> = (0..n).map(root).map(|s| if s > 0.0 { 1.0 / s } else { 0.0 }).collect();
        for i in 0..n {
            let row = &mut m.lower[start(i)..=start(i) + i];
            row.iter_mut().zip(&scale).for_each(|(v, s)| *v *= s * scale[i]);
        }
        let mut factor = Pivoted { side: n, order: Vec::new(), lower: vec![0.0; n * n], scale };
        let mut rest: Vec<usize> = (0..n).collect();
        while !rest.is_empty() {
            let done = factor.order.len();
            if factor.block(&m, &mut rest, least) {
                break;
            }
            factor.subtract(&mut m, &rest, done);
        }
        factor
    }

    /// Takes up to a block of pivots; true when there are no more.
    fn block(&mut self, m: &Gram, rest: &mut Vec<usize>, least: f64) -> bool {
        let (n, done) = (self.side, self.order.len());
        let mut left: Vec<f64> = rest.iter().map(|&i| m.at(i, i)).collect();
        for k in done..(done + BLOCK).min(n) {
            let longest = (0..rest.len()).reduce(|p, at| if left[at] > left[p] { at } else { p });
            let Some(p) = longest.filter(|&p| left[p] > least) else { return true };
            let pivot = rest.remove(p);
            let root = left.remove(p).sqrt();
            let own: Vec<f64> = self.lower[pivot * n + done..pivot * n + k].to_vec();
            self.lower[pivot * n + k] = root;
            for (&i, left) in rest.iter().zip(&mut left) {
                let row = &mut self.lower[i * n + done..=i * n + k];
                let value = (m.at(i, pivot) - dot(&row[..k - done], &own)) / root;
                row[k - done] = value;
                *left -= value * value;
            }
            self.order.push(pivot);
        }
        rest.is_empty()
    }

    /// Takes from what is left of the matrix what the pivots since `done` say of it.
    fn subtract(&self, m: &mut Gram, rest: &[usize], done: usize) {
        let (n, to) = (self.side, self.order.len());
        let panel = |i: usize| &self.lower[i * n + done..i * n + to];
        // Side by side in memory, in the order of the rest.
        let together: Vec<f64> = rest.iter().flat_map(|&i| panel(i)).copied().collect();
        let width = (to - done).max(1);
        for (at, &i) in rest.iter().enumerate() {
            let own = &together[at * width..(at + 1) * width];
            let row = &mut m.lower[start(i)..=start(i) + i];
            // The rest stays in ascending order: those up to `at` are the ones of the lower triangle.
            for (&j, other) in rest[..=at].iter().zip(together.chunks_exact(width)) {
                row[j] -= dot(own, other);
            }
        }
    }

    /// How many rows are independent.
    pub fn rank(&self) -> usize {
        self.order.len()
    }

    /// The rows that were taken for pivots, in their order; the others are combinations of them.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.lower[i * self.side..][..self.order.len()]
    }

    /// `v` with `(M v)_i = b_i` for every pivot `i`, and `v_i = 0` for all others.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        self.spread(self.forward(b))
    }

    /// The same where it solves the whole system `M v = b`; `None` where nothing does.
    pub fn solution(&self, b: &[f64]) -> Option<Vec<f64>> {
        let t = self.forward(b);
        // A row of zeros has no scale: what it asks for stays as it is.
        let scaled = |i: usize| if self.scale[i] > 0.0 { b[i] * self.scale[i] } else { b[i] };
        let size = (0..self.side).fold(0.0f64, |m, i| m.max(scaled(i).abs()));
        let fits = |i: usize| {
            let terms: f64 = self.row(i).iter().zip(&t).map(|(l, t)| (l * t).abs()).sum();
            (dot(self.row(i), &t) - scaled(i)).abs() <= LEFT * size.max(terms * 1e-3)
        };
        (0..self.side).all(fits).then(|| self.spread(t))
    }

    /// `L⁻¹ b` over the pivots.
    fn forward(&self, b: &[f64]) -> Vec<f64> {
        let mut t = Vec::with_capacity(self.order.len());
        for (k, &i) in self.order.iter().enumerate() {
            let row = self.row(i);
            t.push((b[i] * self.scale[i] - dot(&row[..k], &t)) / row[k]);
        }
        t
    }

    /// How row `i` is a combination of the pivots: `v` with `Σ_k v_k M_k = M_i` over the pivots `k`.
    pub fn combination(&self, i: usize) -> Vec<f64> {
        // M_i = L L_iᵀ in scaled terms; back in the rows' own units.
        let mut v = self.spread(self.row(i).to_vec());
        let unit = if self.scale[i] > 0.0 { 1.0 / self.scale[i] } else { 0.0 };
        v.iter_mut().for_each(|v| *v *= unit);
        v
    }

    /// `L⁻ᵀ t` over the pivots, back in the matrix's own units.
    fn spread(&self, mut t: Vec<f64>) -> Vec<f64> {
        let mut out = vec![0.0; self.side];
        for (k, &i) in self.order.iter().enumerate().rev() {
            let row = self.row(i);
            t[k] /= row[k];
            let x = t[k];
            t[..k].iter_mut().zip(row).for_each(|(t, l)| *t -= l * x);
            out[i] = x * self.scale[i];
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::dice::Dice;
    use nalgebra::{DMatrix, DVector};

    fn gram(a: &DMatrix<f64>) -> Gram {
        let rows = (0..a.nrows())
            .map(|i| (0..a.ncols()).map(move |j| (j, a[(i, j)])).filter(|e| e.1 != 0.0).collect::<Vec<_>>());
        Gram::of_rows(a.ncols(), rows.map(Vec::into_iter))
    }

    /// Rank, solutions and combinations against dense algebra, on both sides of a block and of a chunk of rows.
    #[test]
    fn as_dense_algebra_says() {
        let mut dice = Dice::new(5);
        for (m, n, rank) in [
            (1, 1, 1),
            (9, 4, 4),
            (4, 9, 4),
            (30, 20, 7),
            (300, 70, 70),
            (300, 150, 90),
            (300, 200, 150),
            (5, 3, 0),
        ] {
            let a = dice.matrix(m, n, rank);
            let normal = a.transpose() * &a;
            let g = gram(&a);
            (0..n).for_each(|i| {
                (0..n).for_each(|j| {
                    let size = (normal[(i, i)] * normal[(j, j)]).sqrt();
                    assert!((g.at(i, j) - normal[(i, j)]).abs() <= 1e-12 * size, "{m} × {n}: {i}, {j}");
                })
            });
            let factor = Pivoted::new(g);
            assert_eq!(factor.rank(), rank, "{m} × {n}");
            // A right-hand side in the row space has a solution, and it is one over the pivots alone.
            let q = a.transpose() * DVector::from_fn(m, |_, _| dice.unit() - 0.5);
            let v = DVector::from_vec(factor.solve(q.as_slice()));
            let (back, pivots) = (&normal * &v, factor.order());
            (0..n).for_each(|i| {
                assert!((back[i] - q[i]).abs() <= 1e-7 * (1.0 + q.amax()), "{m} × {n}: {i}");
                assert!(pivots.contains(&i) || v[i] == 0.0);
            });
            for i in 0..n {
                let c = DVector::from_vec(factor.combination(i));
                let other = (&a * c - a.column(i)).norm();
                assert!(other <= 1e-7 * (1.0 + a.column(i).norm()), "{m} × {n}: column {i}: {other}");
            }
        }
    }

    #[test]
    fn sparse_rows_and_dense_ones_are_the_same() {
        let mut dice = Dice::new(6);
        let a = DMatrix::from_fn(40, 50, |i, _| {
            let chance = if i % 2 == 0 { 0.05 } else { 0.9 };
            if dice.unit() < chance { dice.unit() } else { 0.0 }
        });
        let (g, normal) = (gram(&a), a.transpose() * &a);
        (0..50).for_each(|i| (0..=i).for_each(|j| assert!((g.at(i, j) - normal[(i, j)]).abs() < 1e-12)));
    }

    #[test]
    fn singular_systems() {
        // Three vectors in the plane, and their scalar products.
        let v = [[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]];
        let gram: Vec<f64> =
            v.iter().flat_map(|a| v.iter().map(move |b| a[0] * b[0] + a[1] * b[1])).collect();
        let factors = Pivoted::new(Gram::dense(&gram, 3));
        assert_eq!(factors.order().len(), 2);
        // The scalar products of (5, 6) with them.
        let x = factors.solution(&[5.0, 12.0, 39.0]).unwrap();
        let made: Vec<f64> = (0..2).map(|i| (0..3).map(|j| x[j] * v[j][i]).sum()).collect();
        assert!((made[0] - 5.0).abs() < 1e-12 && (made[1] - 6.0).abs() < 1e-12, "{made:?}");
        // Those of no vector.
        assert!(factors.solution(&[5.0, 12.0, 38.0]).is_none());
        assert!(Pivoted::new(Gram::zero(1)).solution(&[1.0]).is_none());
    }

    #[test]
    fn nothing_to_factor() {
        assert_eq!(Pivoted::new(Gram::zero(0)).rank(), 0);
        let zero = Pivoted::new(Gram::zero(3));
        assert_eq!((zero.rank(), zero.solve(&[1.0; 3])), (0, vec![0.0; 3]));
        let mut odd = Gram::zero(2);
        odd.add_outer(&[(0, f64::NAN), (1, 1.0)], 1.0);
        assert!(Pivoted::new(odd).rank() <= 2);
    }
}
