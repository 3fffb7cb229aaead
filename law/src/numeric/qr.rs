//! A QR factorisation with pivoted columns, by Householder's reflections: what is independent in a matrix, and solutions in it.
//!
//! `A P = Q R`: of the columns that are left the one with the longest rest comes next (Businger & Golub 1965), until no rest is
//! longer than rounding. So the number of steps is the rank, and the first columns of `A P` span the others. Lengths are carried
//! along as LAPACK's `dgeqp3` does (Drmač & Bujanović 2008): worked out anew where too many digits cancelled.
//!
//! The matrix lies column by column, and every loop runs down columns.

use super::cholesky::dot;

/// The factors of a matrix.
#[derive(Debug, Clone)]
pub struct Qr {
    rows: usize,
    rank: usize,
    /// In pivoted order, column by column: above the diagonal `R`, from it down the reflections.
    columns: Vec<f64>,
    /// The diagonal of `R`.
    diagonal: Vec<f64>,
    /// For each reflection `2/vᵀv`.
    scales: Vec<f64>,
    order: Vec<usize>,
}

/// `x − v (vᵀx) scale`.
fn reflect(v: &[f64], scale: f64, x: &mut [f64]) {
    let by = dot(v, x) * scale;
    x.iter_mut().zip(v).for_each(|(x, v)| *x -= by * v);
}

fn length(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

impl Qr {
    /// Factors a matrix of so many rows, given column by column.
    pub fn new(rows: usize, mut columns: Vec<f64>) -> Qr {
        let count = columns.len().checked_div(rows).unwrap_or(0);
        let mut order: Vec<usize> = (0..count).collect();
        let (mut diagonal, mut scales) = (Vec::new(), Vec::new());
        // What is left of each column, and what it was when last worked out from its entries.
        let mut rest: Vec<f64> = columns.chunks_exact(rows.max(1)).map(length).collect();
        let mut known = rest.clone();
        let mut smallest = 0.0;
        for k in 0..rows.min(count) {
            let at = |j: usize| j * rows + k..(j + 1) * rows;
            let longest = |rest: &[f64]| (k..count).fold(k, |p, j| if rest[j] > rest[p] { j } else { p });
            let p = longest(&rest);
            let norm = length(&columns[at(p)]);
            if k == 0 {
                smallest = norm * f64::EPSILON * 8.0 * rows.max(count) as f64;
            }
            if !(norm > smallest) {
                break;
            }
            if p > k {
                let (left, right) = columns.split_at_mut(p * rows);
                left[k * rows..(k + 1) * rows].swap_with_slice(&mut right[..rows]);
                order.swap(k, p);
                rest.swap(k, p);
                known.swap(k, p);
            }
            let (done, todo) = columns.split_at_mut((k + 1) * rows);
            let v = &mut done[at(k)];
            let first = v[0];
            diagonal.push(if first > 0.0 { -norm } else { norm });
            scales.push(1.0 / (norm * (norm + first.abs())));
            v[0] -= diagonal[k];
            for (j, column) in (k + 1..count).zip(todo.chunks_exact_mut(rows)) {
                let x = &mut column[k..];
                reflect(v, scales[k], x);
                // Of a column of zeros neither is a number.
                let share = (1.0 - (x[0] / rest[j]) * (x[0] / rest[j])).max(0.0);
                let digits = share * (rest[j] / known[j]) * (rest[j] / known[j]);
                if digits > 1e-8 {
                    rest[j] *= share.sqrt();
                } else {
                    rest[j] = length(&x[1..]);
                    known[j] = rest[j];
                }
            }
        }
        Qr { rows, rank: diagonal.len(), columns, diagonal, scales, order }
    }

    /// How many columns are independent.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// For each place of the pivoted order its column.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The first entries, as many as the rank, of column `j` of `R` in the pivoted order, for a column that is not in the basis.
    pub fn dependent(&self, j: usize) -> &[f64] {
        &self.columns[j * self.rows..][..self.rank]
    }

    /// Column `j` of `R` above the diagonal.
    fn above(&self, j: usize) -> &[f64] {
        &self.columns[j * self.rows..][..j]
    }

    fn reflection(&self, k: usize, x: &mut [f64]) {
        reflect(&self.columns[k * self.rows + k..(k + 1) * self.rows], self.scales[k], &mut x[k..]);
    }

    /// `Q₁ᵀ y`.
    pub fn project(&self, mut y: Vec<f64>) -> Vec<f64> {
        (0..self.rank).for_each(|k| self.reflection(k, &mut y));
        y.truncate(self.rank);
        y
    }

    /// `Q₁ t`.
    pub fn spread(&self, mut t: Vec<f64>) -> Vec<f64> {
        t.resize(self.rows, 0.0);
        (0..self.rank).rev().for_each(|k| self.reflection(k, &mut t));
        t
    }

    /// `R₁₁⁻¹ b`.
    pub fn solve(&self, mut b: Vec<f64>) -> Vec<f64> {
        for i in (0..self.rank).rev() {
            b[i] /= self.diagonal[i];
            let x = b[i];
            b[..i].iter_mut().zip(self.above(i)).for_each(|(b, r)| *b -= r * x);
        }
        b
    }

    /// `R₁₁⁻ᵀ b`.
    pub fn solve_transposed(&self, mut b: Vec<f64>) -> Vec<f64> {
        for i in 0..self.rank {
            b[i] = (b[i] - dot(self.above(i), &b[..i])) / self.diagonal[i];
        }
        b
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::dice::Dice;
    use nalgebra::DVector;

    fn near(a: &DVector<f64>, b: &DVector<f64>, what: &str) {
        assert!((a - b).norm() <= 1e-8 * (1.0 + b.norm()), "{what}: {a} {b}");
    }

    /// Rank, projection and solutions, against singular values and a pseudo-inverse.
    #[test]
    fn as_singular_values_say() {
        let mut dice = Dice::new(1);
        for (m, n, rank) in
            [(1, 1, 1), (7, 4, 4), (4, 7, 4), (20, 12, 9), (12, 20, 5), (33, 33, 33), (5, 3, 0)]
        {
            let a = dice.matrix(m, n, rank);
            let svd = a.clone().svd(true, true);
            let rank = svd.rank(1e-9 * svd.singular_values.amax().max(1e-300));
            let qr = Qr::new(m, a.as_slice().to_vec());
            assert_eq!(qr.rank(), rank, "{m} × {n}");
            let mut order = qr.order().to_vec();
            order.sort_unstable();
            assert!(order.iter().copied().eq(0..n));
            // Q₁Q₁ᵀ y is what the columns see of y.
            let y = DVector::from_fn(m, |_, _| dice.unit());
            let projected = qr.project(y.as_slice().to_vec());
            let inverse = svd.clone().pseudo_inverse(1e-9 * svd.singular_values.amax().max(1e-300)).unwrap();
            let seen = DVector::from_vec(qr.spread(projected.clone()));
            near(&seen, &(&a * &inverse * &y), "projection");
            // The basic solution gives the same.
            let mut x = DVector::zeros(n);
            qr.order().iter().zip(qr.solve(projected)).for_each(|(&j, v)| x[j] = v);
            near(&(&a * &x), &seen, "solution");
            // R₁₁ᵀ t = b and R₁₁ t = b, through Q: AᵀQ₁ is Rᵀ.
            let b: Vec<f64> = (0..rank).map(|_| dice.unit()).collect();
            let t = DVector::from_vec(qr.spread(qr.solve_transposed(b.clone())));
            let back = a.tr_mul(&t);
            let again = DVector::from_fn(rank, |k, _| back[qr.order()[k]]);
            near(&again, &DVector::from_vec(b), "transposed");
            // Columns outside the basis are combinations of it.
            for j in rank..n {
                let mut x = DVector::zeros(n);
                let share = qr.solve(qr.dependent(j).to_vec());
                qr.order().iter().zip(share).for_each(|(&j, v)| x[j] = v);
                near(&(&a * x), &a.column(qr.order()[j]).into_owned(), "dependent");
            }
        }
    }

    /// Columns that are the same but for very little: lengths that are only carried along have no digit left after the first step.
    #[test]
    fn lengths_are_worked_out_anew() {
        let (mut dice, n) = (Dice::new(2), 12);
        let a: Vec<f64> = (0..n)
            .flat_map(|j| (0..20).map(move |_| j))
            .map(|j| 1.0 + 1e-11 * f64::from(1 << (5 * j % n)) * (dice.unit() - 0.5))
            .collect();
        // In every unit.
        for unit in [2f64.powi(-30), 1.0, 2f64.powi(30)] {
            let qr = Qr::new(20, a.iter().map(|x| x * unit).collect());
            assert_eq!(qr.rank(), n);
            assert!(qr.diagonal.windows(2).all(|d| d[1].abs() <= d[0].abs()), "{unit}: {:?}", qr.diagonal);
        }
    }

    /// What is left of a column counts from a few roundings on.
    #[test]
    fn roundings_are_no_column() {
        for (left, rank) in [(0.0, 1), (4.0, 1), (64.0, 2)] {
            assert_eq!(Qr::new(2, vec![1.0, 0.0, 1.0, left * f64::EPSILON]).rank(), rank, "{left}");
        }
    }

    #[test]
    fn nothing_to_factor() {
        assert_eq!(Qr::new(0, vec![]).rank(), 0);
        let zero = Qr::new(2, vec![0.0; 6]);
        assert_eq!((zero.rank(), zero.spread(vec![])), (0, vec![0.0; 2]));
        for odd in [f64::NAN, f64::INFINITY, f64::MIN_POSITIVE] {
            let qr = Qr::new(2, vec![odd, 1.0, 1.0, odd]);
            assert!(qr.rank() <= 2);
        }
    }
}
