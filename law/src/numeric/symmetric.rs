//! Eigenvalues of a dense symmetric matrix, in one fixed order of operations: Householder's reduction to three diagonals, then QL steps with
//! implicit shifts (Golub & Van Loan, *Matrix Computations*, 8.3). Who needs eigenvectors as well asks [`super::dense`].

use super::cholesky::dot;

/// The most QL steps for one eigenvalue: three are usual.
const MOST_STEPS: usize = 60;

/// The eigenvalues, in no order, of a matrix given by its lower triangle: row `i` has `i + 1` entries. Thousands of rows take seconds, on two
/// threads. `None` when it has entries that are no numbers, or whose squares are too small for one.
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
    ql(&mut diagonal, &mut beside)?;
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
    let (few, mut all) = match cfg!(target_family = "wasm") {
        // A browser has no second thread: one part after the other gives the same sums.
        true => (part(low, 0), part(high, middle)),
        false => std::thread::scope(|scope| {
            let few = scope.spawn(|| part(low, 0));
            let all = part(high, middle);
            (few.join().unwrap_or_else(|_| vec![f64::NAN]), all)
        }),
    };
    all.iter_mut().zip(few).for_each(|(a, f)| *a += f);
    all
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

/// Eigenvalues in the place of the diagonal.
fn ql(d: &mut [f64], e: &mut [f64]) -> Option<()> {
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
            for i in (l..m).rev() {
                let (f, b) = (s * e[i], c * e[i]);
                r = (f * f + g * g).sqrt();
                e[i + 1] = r;
                (s, c) = (f / r, g / r);
                g = d[i + 1] - p;
                r = (d[i] - g) * s + 2.0 * c * b;
                p = s * r;
                d[i + 1] = g + p;
                g = c * r - b;
            }
            d[l] -= p;
            e[l] = g;
            e[m] = 0.0;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::dice::Dice;

    /// Against nalgebra: random matrices, ones with equal eigenvalues, and three diagonals.
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
                let dense = nalgebra::DMatrix::from_fn(n, n, |i, j| a[i][j]);
                let mut want = dense.symmetric_eigenvalues().as_slice().to_vec();
                want.sort_by(f64::total_cmp);
                let lower = a.iter().enumerate().map(|(i, row)| row[..=i].to_vec()).collect();
                let mut alone = eigenvalues(lower).unwrap();
                alone.sort_by(f64::total_cmp);
                alone.iter().zip(&want).for_each(|(a, b)| assert!((a - b).abs() < 1e-11 * n as f64));
            }
        }
        assert!(eigenvalues(vec![vec![f64::NAN], vec![0.0; 2]]).is_none());
        assert!(eigenvalues(Vec::new()).unwrap().is_empty());
        assert_eq!(eigenvalues((1..4).map(|n| vec![0.0; n]).collect()).unwrap(), [0.0; 3]);
        assert!(eigenvalues(vec![vec![0.0], vec![1e-170, 0.0]]).is_none());
    }
}
