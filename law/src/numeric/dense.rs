//! What planning asks of dense symmetric matrices: `nalgebra`, compiled here, where quick builds are optimised too.
//!
//! Plans are the same on every machine, and `nalgebra` keeps to that without its default features: every function beyond + − × ÷ comes
//! from `libm`, and none of these decompositions reaches its kernels of matrix products, which depend on the processor.

use nalgebra::{Cholesky, DMatrix, DVector, SymmetricEigen};

/// `A = Σ_j values[j] · vectors[j] vectors[j]ᵀ`; the vectors are orthonormal, the values in no order.
pub struct Eigen {
    /// The eigenvalues.
    pub values: Vec<f64>,
    /// An eigenvector each.
    pub vectors: Vec<Vec<f64>>,
}

/// The most steps for each eigenvalue: three are usual.
const MOST_STEPS: usize = 60;

/// A matrix from its rows, if all entries are numbers.
fn finite(rows: &[Vec<f64>]) -> Option<DMatrix<f64>> {
    let n = rows.len();
    rows.iter().flatten().all(|v| v.is_finite()).then(|| DMatrix::from_fn(n, n, |i, j| rows[i][j]))
}

fn columns(m: &DMatrix<f64>) -> Option<Vec<Vec<f64>>> {
    let all = m.as_slice();
    all.iter()
        .all(|v| v.is_finite())
        .then(|| all.chunks_exact(m.nrows().max(1)).map(<[f64]>::to_vec).collect())
}

/// The decomposition of a symmetric matrix, given by its rows. `None` when it has entries that are no numbers.
pub fn eigen(rows: &[Vec<f64>]) -> Option<Eigen> {
    if rows.is_empty() {
        return Some(Eigen { values: Vec::new(), vectors: Vec::new() });
    }
    let found = SymmetricEigen::try_new(finite(rows)?, f64::EPSILON, MOST_STEPS * rows.len())?;
    let values = found.eigenvalues.as_slice().to_vec();
    values.iter().all(|v| v.is_finite()).then_some(Eigen { values, vectors: columns(&found.eigenvectors)? })
}

/// The inverse of a positive definite matrix, given by its rows.
pub fn inverse(rows: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    columns(&Cholesky::new(finite(rows)?)?.inverse())
}

/// A symmetric matrix as a sum of sparse squares; its lower triangle.
pub struct Normal(DMatrix<f64>);

impl Normal {
    /// Of zeros.
    pub fn zero(n: usize) -> Normal {
        Normal(DMatrix::zeros(n, n))
    }

    /// Adds `w · x xᵀ` for a sparse `x` with ascending indices.
    pub fn add_outer(&mut self, x: &[(u32, f64)], w: f64) {
        for (at, &(j, b)) in x.iter().enumerate() {
            for &(i, a) in &x[at..] {
                self.0[(i as usize, j as usize)] += w * a * b;
            }
        }
    }

    /// `M⁻¹ b` for an `M` that is positive definite but for rounding, which can push a pivot below zero where rows nearly repeat each other.
    pub fn solve(self, mut b: Vec<f64>) -> Option<Vec<f64>> {
        let Normal(mut m) = self;
        let scale = m.diagonal().map(|d| 1.0 / d.sqrt());
        if !scale.iter().all(|s| s.is_finite() && *s > 0.0) {
            return None;
        }
        m.column_iter_mut().zip(&scale).for_each(|(mut c, s)| c.component_mul_assign(&(&scale * *s)));
        let scaled = |b: &mut [f64]| b.iter_mut().zip(&scale).for_each(|(b, s)| *b *= s);
        scaled(&mut b);
        let solved = Cholesky::new_with_substitute(m, 1e-14)?.solve(&DVector::from_vec(b));
        let mut x = solved.as_slice().to_vec();
        scaled(&mut x);
        x.iter().all(|x| x.is_finite()).then_some(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::cholesky::dot;
    use crate::numeric::dice::Dice;

    fn lengths(a: &[Vec<f64>], found: &Eigen, off: f64) {
        for (v, value) in found.vectors.iter().zip(&found.values) {
            for (w, other) in found.vectors.iter().zip(&found.values) {
                let same = f64::from(u8::from(std::ptr::eq(value, other)));
                assert!((dot(v, w) - same).abs() < 1e-12);
            }
            for (row, v_row) in a.iter().zip(v) {
                assert!((dot(row, v) - value * v_row).abs() < off);
            }
        }
    }

    /// By the definition: matrices with equal eigenvalues, with three diagonals, and of low rank in sizes twenty digits apart.
    #[test]
    fn eigenvectors_are_such() {
        let mut dice = Dice::new(5);
        for n in [1, 2, 3, 7, 24, 40] {
            for kind in 0..12 {
                let size: Vec<f64> = (0..n).map(|_| libm::pow(10.0, -10.0 * dice.unit())).collect();
                let low: Vec<Vec<f64>> = (0..1 + dice.below(n))
                    .map(|_| (0..n).map(|_| f64::from(u8::from(dice.unit() < 0.4))).collect())
                    .collect();
                let mut a = vec![vec![0.0; n]; n];
                for i in 0..n {
                    for j in 0..=i {
                        let v = match kind {
                            0 => dice.unit() - 0.5,
                            1 => f64::from(u8::from(i == j)) + 3.0,
                            2 => f64::from(u8::from(i - j < 2)) * (dice.unit() + 0.1),
                            _ => low.iter().map(|r| r[i] * r[j]).sum::<f64>() * size[i] * size[j],
                        };
                        (a[i][j], a[j][i]) = (v, v);
                    }
                }
                lengths(&a, &eigen(&a).unwrap(), 1e-12 * n as f64);
            }
        }
        assert!(eigen(&[vec![f64::NAN; 2], vec![0.0; 2]]).is_none() && eigen(&[]).unwrap().values.is_empty());
        // Steps are as many as there are eigenvalues, and more.
        let mut large = vec![vec![0.0; 200]; 200];
        for i in 0..200 {
            for j in 0..=i {
                let v = dice.unit() - 0.5;
                (large[i][j], large[j][i]) = (v, v);
            }
        }
        assert!(eigen(&large).is_some());
    }

    #[test]
    fn inverses_are_such() {
        let mut dice = Dice::new(6);
        let n = 13;
        let r: Vec<Vec<f64>> = (0..n).map(|_| (0..n).map(|_| dice.unit() - 0.5).collect()).collect();
        let a: Vec<Vec<f64>> = r.iter().map(|x| r.iter().map(|y| dot(x, y)).collect()).collect();
        let inverse = inverse(&a).unwrap();
        for i in 0..n {
            for j in 0..n {
                let one = f64::from(u8::from(i == j));
                assert!((dot(&a[i], &inverse[j]) - one).abs() < 1e-9);
            }
        }
        assert!(super::inverse(&[vec![1.0, 1.0], vec![1.0, 1.0]]).is_none());
    }

    /// Rows of very different sizes are solved, and a row that repeats another is taken as nearly the same.
    #[test]
    fn what_is_nearly_definite_is_solved() {
        let mut m = Normal::zero(3);
        (0..3).for_each(|i| m.add_outer(&[(i, 1.0)], libm::pow(1e9, f64::from(i))));
        m.add_outer(&[(0, 1.0), (2, 1e4)], 1.0);
        let x = m.solve(vec![2.0 + 1e4, 1e9, 1e4 + 1e18 + 1e8]).unwrap();
        x.iter().for_each(|x| assert!((x - 1.0).abs() < 1e-9, "{x}"));
        let mut repeated = Normal::zero(2);
        repeated.add_outer(&[(0, 1.0), (1, 1.0)], 1.0);
        let x = repeated.solve(vec![3.0, 3.0]).unwrap();
        assert!((x[0] + x[1] - 3.0).abs() < 1e-6);
        assert!(Normal::zero(1).solve(vec![1.0]).is_none());
        let mut endless = Normal::zero(1);
        endless.add_outer(&[(0, 1.0)], f64::INFINITY);
        assert!(endless.solve(vec![1.0]).is_none());
    }
}
