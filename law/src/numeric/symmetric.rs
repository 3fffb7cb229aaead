//! Eigenvalues and eigenvectors of a dense symmetric matrix, in one fixed order of operations: Householder's reduction to
//! three diagonals, then QL steps with implicit shifts (Golub & Van Loan, *Matrix Computations*, 8.3).

use super::cholesky::dot;

/// `A = Σ_j values[j] · vectors[j] vectors[j]ᵀ`; the vectors are orthonormal, the values in no order.
pub struct Eigen {
    /// The eigenvalues.
    pub values: Vec<f64>,
    /// An eigenvector each.
    pub vectors: Vec<Vec<f64>>,
}

/// The most QL steps for one eigenvalue: three are usual.
const MOST_STEPS: usize = 60;

/// The decomposition of a symmetric matrix, given by its rows. `None` when it has entries that are no numbers.
pub fn eigen(a: Vec<Vec<f64>>) -> Option<Eigen> {
    let n = a.len();
    let (mut diagonal, mut beside, mirrors) = three_diagonals(a);
    let mut vectors = transposed_product(n, &mirrors);
    ql(&mut diagonal, &mut beside, &mut vectors)?;
    let finite = diagonal.iter().all(|v| v.is_finite());
    finite.then_some(Eigen { values: diagonal, vectors })
}

/// The eigenvalues alone, in no order, of a matrix given by its lower triangle: row `i` has `i + 1` entries. Thousands of rows take seconds, on
/// two threads.
///
/// Rows are reduced from the last on, so that what is left is always the first rows. Each sweep takes from every row what the last mirror
/// changes, and gathers its products with the next mirror while it is at hand.
pub fn eigenvalues(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = rows.len();
    let (mut diagonal, mut beside) = (vec![0.0; n], vec![0.0; n]);
    // The last mirror and what it takes off; none at first.
    let (mut v, mut w): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    while let Some(mut last) = rows.pop() {
        let k = rows.len();
        take_off(&mut last, k, &v, &w);
        diagonal[k] = last.pop()?;
        if k == 0 {
            break;
        }
        // What is in the row moves into its last entry.
        last.reverse();
        let (mut next, beta, left) = mirror(last);
        beside[k - 1] = left;
        next.reverse();
        let mut image = sweep(&mut rows, &v, &w, &next);
        image.iter_mut().for_each(|p| *p *= beta);
        let half = 0.5 * beta * dot(&image, &next);
        image.iter_mut().zip(&next).for_each(|(p, v)| *p -= half * v);
        (v, w) = (next, image);
    }
    // Vectors of no entries are turned in no time.
    ql(&mut diagonal, &mut beside, &mut vec![Vec::new(); n])?;
    diagonal.iter().all(|v| v.is_finite()).then_some(diagonal)
}

/// Takes `v wᵀ + w vᵀ` off row `i`.
fn take_off(row: &mut [f64], i: usize, v: &[f64], w: &[f64]) {
    if let (Some(&vi), Some(&wi)) = (v.get(i), w.get(i)) {
        row.iter_mut().zip(v.iter().zip(w)).for_each(|(a, (v, w))| *a -= vi * w + wi * v);
    }
}

/// From so many rows on a sweep is shared by two threads.
const SHARED: usize = 700;

/// Takes `v wᵀ + w vᵀ` off, and multiplies what is left with `next`.
fn sweep(rows: &mut [Vec<f64>], v: &[f64], w: &[f64], next: &[f64]) -> Vec<f64> {
    let part = |rows: &mut [Vec<f64>], from: usize| {
        let mut image = vec![0.0; from + rows.len()];
        for (i, row) in (from..).zip(rows) {
            take_off(row, i, v, w);
            let (own, x) = (row[i], next[i]);
            let before = &row[..i];
            image[i] += dot(before, &next[..i]) + own * x;
            image.iter_mut().zip(before).for_each(|(p, a)| *p += a * x);
        }
        image
    };
    if rows.len() < SHARED {
        return part(rows, 0);
    }
    // Two parts of as many entries, whatever machine it is.
    let middle = rows.len() * 181 / 256;
    let (low, high) = rows.split_at_mut(middle);
    let (few, mut all) = std::thread::scope(|scope| {
        let few = scope.spawn(|| part(low, 0));
        let all = part(high, middle);
        (few.join().unwrap_or_else(|_| vec![f64::NAN]), all)
    });
    all.iter_mut().zip(few).for_each(|(a, f)| *a += f);
    all
}

/// The diagonal, what is beside it, and the mirrors that made it so.
fn three_diagonals(mut a: Vec<Vec<f64>>) -> (Vec<f64>, Vec<f64>, Vec<(Vec<f64>, f64)>) {
    let n = a.len();
    let (mut diagonal, mut beside) = (vec![0.0; n], vec![0.0; n]);
    let mut mirrors: Vec<(Vec<f64>, f64)> = Vec::new();
    for k in 0..n {
        diagonal[k] = a[k][k];
        if k + 1 == n {
            break;
        }
        let (mirror, beta, left) = mirror(a[k + 1..].iter().map(|row| row[k]).collect());
        beside[k] = left;
        if beta != 0.0 {
            reflect(&mut a[k + 1..], k + 1, &mirror, beta);
        }
        mirrors.push((mirror, beta));
    }
    (diagonal, beside, mirrors)
}

/// `v` and `β` for which `(I − β v vᵀ) x` has its first entry alone, and that entry.
fn mirror(mut x: Vec<f64>) -> (Vec<f64>, f64, f64) {
    let rest: f64 = x[1..].iter().map(|v| v * v).sum();
    if rest == 0.0 {
        let first = x[0];
        return (x, 0.0, first);
    }
    let length = (x[0] * x[0] + rest).sqrt();
    let left = if x[0] > 0.0 { -length } else { length };
    x[0] -= left;
    (x.clone(), 2.0 / (x[0] * x[0] + rest), left)
}

/// `H S H` with `H = I − β v vᵀ`, for the square `S` in the rows' columns from `from` on.
fn reflect(rows: &mut [Vec<f64>], from: usize, v: &[f64], beta: f64) {
    let mut w: Vec<f64> = rows.iter().map(|row| beta * dot(&row[from..], v)).collect();
    let half = 0.5 * beta * dot(&w, v);
    w.iter_mut().zip(v).for_each(|(w, v)| *w -= half * v);
    for ((row, &vi), &wi) in rows.iter_mut().zip(v).zip(&w) {
        row[from..].iter_mut().zip(v.iter().zip(&w)).for_each(|(a, (v, w))| *a -= vi * w + wi * v);
    }
}

/// The rows of `Qᵀ`, `Q` being the product of all mirrors.
fn transposed_product(n: usize, mirrors: &[(Vec<f64>, f64)]) -> Vec<Vec<f64>> {
    let mut q: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    // From the last mirror on, so that only the lower right corner is touched: row i of `q` is column i of Q.
    for (k, (v, beta)) in mirrors.iter().enumerate().rev() {
        for column in &mut q[k + 1..] {
            let step = beta * dot(&column[k + 1..], v);
            column[k + 1..].iter_mut().zip(v).for_each(|(c, v)| *c -= step * v);
        }
    }
    q
}

/// Eigenvalues in the place of the diagonal. `vectors`, row by row, are turned along.
fn ql(d: &mut [f64], e: &mut [f64], vectors: &mut [Vec<f64>]) -> Option<()> {
    let n = d.len();
    for l in 0..n {
        for step in 0.. {
            let small = |m: usize| e[m].abs() <= f64::EPSILON * (d[m].abs() + d[m + 1].abs());
            let m = (l..n - 1).find(|&m| small(m)).unwrap_or(n - 1);
            if m == l {
                break;
            }
            if step == MOST_STEPS || !e[l].is_finite() {
                return None;
            }
            let mut g = (d[l + 1] - d[l]) / (2.0 * e[l]);
            let mut r = (g * g + 1.0).sqrt();
            g = d[m] - d[l] + e[l] / (g + if g >= 0.0 { r } else { -r });
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            let mut early = false;
            for i in (l..m).rev() {
                let (f, b) = (s * e[i], c * e[i]);
                r = (f * f + g * g).sqrt();
                e[i + 1] = r;
                if r == 0.0 {
                    d[i + 1] -= p;
                    e[m] = 0.0;
                    early = true;
                    break;
                }
                (s, c) = (f / r, g / r);
                g = d[i + 1] - p;
                r = (d[i] - g) * s + 2.0 * c * b;
                p = s * r;
                d[i + 1] = g + p;
                g = c * r - b;
                let (low, high) = vectors.split_at_mut(i + 1);
                for (x, y) in low[i].iter_mut().zip(&mut high[0]) {
                    (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
                }
            }
            if !early {
                d[l] -= p;
                e[l] = g;
                e[m] = 0.0;
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::dice::Dice;

    /// Against nalgebra, and against the definition: random matrices, ones with equal eigenvalues, and three diagonals.
    #[test]
    fn against_nalgebra() {
        let mut dice = Dice::new(5);
        for n in [1, 2, 3, 7, 40, 720] {
            for kind in if n > 700 { 0..1 } else { 0..3 } {
                let mut a = vec![vec![0.0; n]; n];
                for i in 0..n {
                    for j in 0..=i {
                        let v = match kind {
                            0 => dice.unit() - 0.5,
                            1 => f64::from(u8::from(i == j)) + 3.0,
                            _ => f64::from(u8::from(i - j < 2)) * (dice.unit() + 0.1),
                        };
                        (a[i][j], a[j][i]) = (v, v);
                    }
                }
                let found = eigen(a.clone()).unwrap();
                let dense = nalgebra::DMatrix::from_fn(n, n, |i, j| a[i][j]);
                let mut want: Vec<f64> =
                    nalgebra::SymmetricEigen::new(dense).eigenvalues.iter().copied().collect();
                let mut values = found.values.clone();
                want.sort_by(f64::total_cmp);
                values.sort_by(f64::total_cmp);
                let lower = a.iter().enumerate().map(|(i, row)| row[..=i].to_vec()).collect();
                let mut alone = eigenvalues(lower).unwrap();
                alone.sort_by(f64::total_cmp);
                alone.iter().zip(&want).for_each(|(a, b)| assert!((a - b).abs() < 1e-11 * n as f64));
                values.iter().zip(&want).for_each(|(a, b)| assert!((a - b).abs() < 1e-11 * n as f64));
                for (i, v) in found.vectors.iter().enumerate() {
                    for (j, w) in found.vectors.iter().enumerate() {
                        assert!((dot(v, w) - f64::from(u8::from(i == j))).abs() < 1e-12);
                    }
                    for row in 0..n {
                        assert!((dot(&a[row], v) - found.values[i] * v[row]).abs() < 1e-11 * n as f64);
                    }
                }
            }
        }
        assert!(eigenvalues(vec![vec![f64::NAN], vec![0.0; 2]]).is_none());
        assert!(eigen(vec![vec![f64::NAN; 3]; 3]).is_none() && eigen(Vec::new()).unwrap().values.is_empty());
    }
}
