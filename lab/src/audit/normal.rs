//! What a shift costs under normal noise: `Δ² = δᵀ Σ⁻¹ δ`, with Σ the covariance of all numbers of a release together, whatever made it.
//!
//! **Bound.** `A`, the scatter of releases around their means, is Wishart's with ν degrees of freedom and independent of the means. So `δ̂ᵀΣ⁻¹δ̂` is
//! `δ̂ᵀA⁻¹δ̂` times a χ² of `ν − n + 1` degrees of freedom (Muirhead 1982, theorem 3.2.12), and `√(δ̂ᵀΣ⁻¹δ̂)` is no further from Δ than the
//! means' own error, whose square is a χ² of n over the releases.

use super::chances::chi_square;
use super::samples::Sample;
use margins::law::normal_upper_quantile as normal;

/// The scatter of releases around their means, as `L D Lᵀ`.
pub(super) struct Scatter {
    side: usize,
    /// The rows of the unit lower triangle, without its diagonal.
    lower: Vec<Vec<f64>>,
    /// What is left of each number when those before it are known; 0 where they determine it.
    left: Vec<f64>,
    /// Numbers that were always the same.
    constant: Vec<bool>,
    /// ν.
    freedom: f64,
}

/// What is left of a number that others determine, in parts of its own scatter.
const NOTHING: f64 = 1e-9;

/// A squared shift in units of the scatter, or a shift where there is no noise at all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Squared {
    Of(f64),
    NoNoise,
}

impl Scatter {
    pub(super) fn of(samples: &[&Sample]) -> Scatter {
        let side = samples.first().map_or(0, |s| s.width);
        let mut matrix: Vec<Vec<f64>> = (0..side).map(|i| vec![0.0; i + 1]).collect();
        let mut freedom = 0.0;
        for sample in samples {
            let means = sample.means();
            let mut centred = vec![0.0; side];
            for row in sample.rows() {
                centred.iter_mut().zip(row).zip(&means).for_each(|((c, x), m)| *c = x - m);
                for (i, line) in matrix.iter_mut().enumerate() {
                    let own = centred[i];
                    line.iter_mut().zip(&centred).for_each(|(sum, other)| *sum += own * other);
                }
            }
            freedom += sample.len() as f64 - 1.0;
        }
        let (mut lower, mut left): (Vec<Vec<f64>>, Vec<f64>) = (Vec::new(), Vec::new());
        for (i, line) in matrix.iter().enumerate() {
            // `L D` row by row.
            let mut own: Vec<f64> = Vec::with_capacity(i);
            for j in 0..i {
                let before: f64 = (0..j).map(|k| own[k] * lower[j][k]).sum();
                own.push(line[j] - before);
            }
            let divided = |(x, d): (&f64, &f64)| if *d > 0.0 { x / d } else { 0.0 };
            let row: Vec<f64> = own.iter().zip(&left).map(divided).collect();
            let rest = line[i] - own.iter().zip(&row).map(|(a, b)| a * b).sum::<f64>();
            left.push(if rest > NOTHING * line[i] { rest } else { 0.0 });
            lower.push(row);
        }
        let constant = matrix.iter().map(|line| line.last().is_none_or(|own| *own <= 0.0)).collect();
        Scatter { side, lower, left, constant, freedom }
    }

    /// How many numbers the others do not determine.
    pub(super) fn rank(&self) -> f64 {
        self.left.iter().filter(|d| **d > 0.0).count() as f64
    }

    /// The least variance that is left of a number when all others before it are known. Numbers that were always the same count where `moves` says that
    /// they differ between datasets: noise that is hardly ever there need not be seen.
    pub(super) fn least(&self, moves: impl Fn(usize) -> bool) -> f64 {
        if (0..self.side).any(|i| self.constant[i] && moves(i)) {
            return 0.0;
        }
        let left = self.left.iter().filter(|d| **d > 0.0);
        left.fold(f64::INFINITY, |least, d| least.min(d / self.freedom))
    }

    /// `L⁻¹δ`.
    fn solved(&self, shift: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = Vec::with_capacity(self.side);
        for (row, x) in self.lower.iter().zip(shift) {
            let known: f64 = row.iter().zip(&out).map(|(l, w)| l * w).sum();
            out.push(x - known);
        }
        out
    }

    /// `δᵀA⁻¹δ`.
    pub(super) fn squared(&self, shift: &[f64]) -> Squared {
        let size = shift.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let mut sum = 0.0;
        for (w, d) in self.solved(shift).into_iter().zip(&self.left) {
            match *d > 0.0 {
                true => sum += w * w / d,
                false if w.abs() > 1e-6 * size => return Squared::NoNoise,
                false => {}
            }
        }
        Squared::Of(sum)
    }

    /// The direction that tells two datasets apart best: `A⁻¹δ`, or one in which there is no noise.
    pub(super) fn direction(&self, shift: &[f64]) -> Vec<f64> {
        let size = shift.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let solved = self.solved(shift);
        let bare = (0..self.side).find(|&i| self.left[i] == 0.0 && solved[i].abs() > 1e-6 * size);
        let mut out: Vec<f64> = match bare {
            Some(bare) => (0..self.side).map(|i| f64::from(u8::from(i == bare))).collect(),
            None => {
                let weigh = |(w, d): (&f64, &f64)| if *d > 0.0 { w / d } else { 0.0 };
                solved.iter().zip(&self.left).map(weigh).collect()
            }
        };
        // L⁻ᵀ.
        for i in (0..self.side).rev() {
            let own = out[i];
            for (j, l) in self.lower[i].iter().enumerate() {
                out[j] -= l * own;
            }
        }
        out
    }

    /// Of a difference of means, of samples of these sizes: an estimate of Δ², and a lower bound of Δ that is too large with probability
    /// `alpha` at most.
    pub(super) fn bound(&self, difference: &[f64], sizes: (usize, usize), alpha: f64) -> (f64, f64) {
        let Squared::Of(found) = self.squared(difference) else { return (f64::INFINITY, f64::INFINITY) };
        let (rank, each) = (self.rank(), 1.0 / sizes.0 as f64 + 1.0 / sizes.1 as f64);
        let freedom = self.freedom - rank + 1.0;
        let estimate = (found * (freedom - 2.0) - each * rank).max(0.0);
        let least = (found * chi_square(0.5 * alpha, freedom)).sqrt();
        let error = (each * chi_square(1.0 - 0.5 * alpha, rank.max(1.0))).sqrt();
        (estimate, (least - error).max(0.0))
    }

    /// The least Δ whose lower bound is above `limit` with this probability.
    pub(super) fn detected(&self, limit: f64, sizes: (usize, usize), alpha: f64, power: f64) -> f64 {
        let (rank, each) = (self.rank(), 1.0 / sizes.0 as f64 + 1.0 / sizes.1 as f64);
        let freedom = self.freedom - rank + 1.0;
        let error = (each * chi_square(1.0 - 0.5 * alpha, rank.max(1.0))).sqrt();
        let missed = 0.5 * (1.0 - power);
        let spread = chi_square(1.0 - missed, freedom) / chi_square(0.5 * alpha, freedom);
        (limit + error) * spread.sqrt() + normal(missed) * each.sqrt()
    }
}

/// By which part at most the variance of a discrete Gaussian is less than its parameter, if it is this at least: Poisson's sum gives `8π²s·exp(−2π²s)` to
/// first order, and less with the others. So much more than it is a cost seems to be that is reckoned from variances.
pub(super) fn rough(variance: f64) -> f64 {
    let squared = std::f64::consts::PI * std::f64::consts::PI;
    8.0 * squared * variance * libm::exp(-2.0 * squared * variance)
}
