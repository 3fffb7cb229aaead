//! Triangular solves and Cholesky's factorisation, in one fixed order of operations: recovery from rows needs no more dense algebra.

/// Eight sums side by side, so that the compiler may use wide registers; always in this order.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0f64; 8];
    let (mut x, mut y) = (x.chunks_exact(8), y.chunks_exact(8));
    for (x, y) in x.by_ref().zip(y.by_ref()) {
        for k in 0..8 {
            sums[k] += x[k] * y[k];
        }
    }
    let rest: f64 = x.remainder().iter().zip(y.remainder()).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f64>() + rest
}

/// A lower triangle, row by row: row `i` has `i + 1` entries.
#[derive(Debug, Clone, Default)]
pub struct Lower(Vec<f64>);

impl Lower {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        // Of n(n+1)/2 entries the root is 2n + 1.
        (8 * self.0.len() + 1).isqrt() / 2
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        let start = i * (i + 1) / 2;
        &self.0[start..=start + i]
    }

    /// One more row, one longer than the last.
    pub fn push(&mut self, row: &[f64]) {
        self.0.extend_from_slice(row);
    }

    /// A triangle of zeros.
    pub fn zero(n: usize) -> Lower {
        Lower(vec![0.0; n * (n + 1) / 2])
    }

    /// Adds `w · x xᵀ` for a sparse `x` with ascending indices.
    pub fn add_outer(&mut self, x: &[(u32, f64)], w: f64) {
        debug_assert!(x.is_sorted_by(|a, b| a.0 < b.0));
        for (at, &(i, a)) in x.iter().enumerate() {
            let start = i as usize * (i as usize + 1) / 2;
            for &(j, b) in &x[..=at] {
                self.0[start + j as usize] += w * a * b;
            }
        }
    }

    /// `L⁻¹ b`.
    pub fn forward(&self, b: &mut [f64]) {
        // Leading zeros stay zeros: unit vectors are frequent.
        let first = b.iter().position(|v| *v != 0.0).unwrap_or(b.len());
        for i in first..b.len() {
            let row = self.row(i);
            b[i] = (b[i] - dot(&row[first..i], &b[first..i])) / row[i];
        }
    }

    /// `L⁻ᵀ b`.
    pub fn backward(&self, b: &mut [f64]) {
        for i in (0..b.len()).rev() {
            let row = self.row(i);
            b[i] /= row[i];
            let x = b[i];
            if x != 0.0 {
                b[..i].iter_mut().zip(row).for_each(|(b, l)| *b -= l * x);
            }
        }
    }
}

/// A symmetric positive definite matrix, factored: `M = S⁻¹ L Lᵀ S⁻¹` with a unit diagonal inside.
#[derive(Debug)]
pub struct Cholesky {
    lower: Lower,
    scale: Vec<f64>,
}

impl Cholesky {
    /// Factors the matrix of which this is the lower triangle. `None` when it is not positive definite.
    pub fn new(mut m: Lower) -> Option<Cholesky> {
        let n = m.rows();
        // Where the diagonal is not positive the pivot is no number.
        let scale: Vec<f64> = (0..n).map(|i| 1.0 / m.row(i)[i].sqrt()).collect();
        for i in 0..n {
            let (done, rest) = m.0.split_at_mut(i * (i + 1) / 2);
            let row = &mut rest[..=i];
            row.iter_mut().zip(&scale).for_each(|(v, s)| *v *= s * scale[i]);
            for j in 0..i {
                let other = &done[j * (j + 1) / 2..=j * (j + 1) / 2 + j];
                row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
            }
            let pivot = row[i] - dot(&row[..i], &row[..i]);
            row[i] = (pivot > 0.0).then(|| pivot.sqrt())?;
        }
        Some(Cholesky { lower: m, scale })
    }

    fn scaled(&self, b: &mut [f64]) {
        b.iter_mut().zip(&self.scale).for_each(|(b, s)| *b *= s);
    }

    /// `M⁻¹ b`.
    pub fn solve(&self, b: &mut [f64]) {
        self.scaled(b);
        self.lower.forward(b);
        self.lower.backward(b);
        self.scaled(b);
    }

    /// `bᵀ M⁻¹ b`.
    pub fn quadratic(&self, mut b: Vec<f64>) -> f64 {
        self.scaled(&mut b);
        self.lower.forward(&mut b);
        dot(&b, &b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_what_it_is_given() {
        // AᵀA + I for a matrix of small whole numbers, once with rows of very different sizes.
        for stretch in [1.0, 1e5] {
            let n = 23;
            let a = |i: usize, j: usize| ((i * 7 + j * j * 3 + 1) % 11) as f64 - 5.0;
            let size = |i: usize| if i.is_multiple_of(2) { stretch } else { 1.0 };
            let m = |i: usize, j: usize| {
                let sum: f64 = (0..n).map(|k| a(k, i) * a(k, j)).sum();
                (sum + if i == j { 1.0 } else { 0.0 }) * size(i) * size(j)
            };
            let mut lower = Lower::default();
            (0..n).for_each(|i| lower.push(&(0..=i).map(|j| m(i, j)).collect::<Vec<_>>()));
            assert_eq!(lower.rows(), n);
            let cholesky = Cholesky::new(lower).unwrap();
            let x: Vec<f64> = (0..n).map(|i| (i as f64 - 9.0) / size(i)).collect();
            let b: Vec<f64> = (0..n).map(|i| (0..n).map(|j| m(i, j) * x[j]).sum()).collect();
            let mut solved = b.clone();
            cholesky.solve(&mut solved);
            for i in 0..n {
                assert!((solved[i] - x[i]).abs() * size(i) < 1e-8, "{i}");
            }
            let q: f64 = b.iter().zip(&x).map(|(b, x)| b * x).sum();
            assert!((cholesky.quadratic(b) / q - 1.0).abs() < 1e-9);
        }
        let mut singular = Lower::zero(2);
        singular.add_outer(&[(0, 1.0), (1, 2.0)], 3.0);
        assert_eq!(singular.row(1), [6.0, 12.0]);
        let definite = Cholesky::new(singular).is_some_and(|c| c.lower.row(1)[1] > 1e-7);
        assert!(!definite);
        for bad in [
            [4.0, 4.0, 4.0],
            [0.0, 0.0, 1.0],
            [-1.0, 0.0, 1.0],
            [1.0, f64::NAN, 1.0],
            [f64::INFINITY, 0.0, 1.0],
        ] {
            assert!(Cholesky::new(Lower(bad.to_vec())).is_none(), "{bad:?}");
        }
    }
}
