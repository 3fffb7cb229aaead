//! Estimates and intervals from a projection.
//!
//! **Dense.** `θ̂ = ⟨A q, v⟩/T` for `θ = Σ x_j` over m cells is unbiased. Its error is the other counts' leaking
//! through the random signs, variance at most `(m‖x‖² + (1 − 2/m) θ²)/T`, plus noise of variance `var(z)‖A q‖²/T²`, which is known exactly
//! because the signs are. The interval is where `|θ̂ − θ|` is within the normal quantile times the standard deviation *at θ* (as
//! Wilson does for shares). The normal law is justified by T: the error is a mean of T terms that are uncorrelated, of equal
//! law, and have the moments of independent ones up to order r/2; for one cell its even moments up to r/2 never exceed the normal law's,
//! which also gives the wider interval of [`proven_factor`] that needs no limit theorem.
//!
//! **‖x‖².** The error depends on it, and it is private. What is used is an upper confidence bound from the released
//! integers themselves, which is post-processing and costs nothing: the mean S of `v²` estimates `μ = ‖x‖² + var(z)`, and a mean of T
//! non-negative terms with `E v⁴ ≤ κμ²` (κ = 3, with Laplace noise 6) is below `(1−η)μ` with probability at most
//! `exp(−Tη²/2κ)` (Maurer 2003). A fiftieth of the interval's failure rate is spent on this. A declared bound is used where it is smaller.
//!
//! **Sketch.** Each row estimates θ on its own, and the rows' hashes are independent. For one cell the error of a row is
//! symmetric: flipping the cell's own sign flips it. So each row is above or below the truth with probability at most
//! one half, and the interval between two rows in order covers by the binomial law alone: no variance, no ‖x‖², whatever the data.
//! For m cells the same holds in a row where no two of them share a bucket; that fails with probability at most
//! `γ = m(m−1)/2B`, which raises one half to `(1+γ)/2`. The estimate is the median; the mean comes with
//! Chebyshev's interval, because a few large counts give its error heavy tails.

use super::design::Shape;
use super::coset::Cosets;
use super::signs::{SIGNS, SignFamily, block_bits, point};
use super::{Projection, key};
use crate::answer::law::normal_upper_quantile as upper_quantile;
use crate::plan::Noise;

/// Which estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Estimator {
    /// The mean of a dense projection, the median of a sketch's rows.
    #[default]
    Best,
    /// The mean, also for a sketch.
    Mean,
}

/// An estimate and what is known of its error. Bounds may be infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// The estimate.
    pub estimate: f64,
    /// Its standard error.
    pub std_error: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Released integers, ready for questions.
#[derive(Debug, Clone)]
pub struct Projected {
    projection: Projection,
    families: Vec<SignFamily>,
    /// A dense projection's signs, for all blocks at once.
    cosets: Option<Cosets>,
    values: Vec<i64>,
    /// The sum of the squares of all values.
    energy: f64,
}

/// The families of signs of a projection: one for a dense one, one a row for a sketch.
pub fn families(projection: &Projection) -> Vec<SignFamily> {
    let count = match projection.design.shape {
        Shape::Dense { .. } => 1,
        Shape::Sketch { rows, .. } => rows,
    };
    (0..count).map(|i| SignFamily::new(&projection.seed, i, projection.design.independence)).collect()
}

/// The bucket and sign in a sketch's row of `buckets` (a power of two): the word's top bits, and its lowest.
#[inline]
pub fn bucket(word: u64, buckets: u32) -> (usize, bool) {
    let bits = buckets.trailing_zeros();
    let bucket = word.checked_shr(64 - bits).unwrap_or(0);
    (bucket as usize, word & 1 == 1)
}

impl Projected {
    /// From the integers; `None` when there are not as many as the design says.
    pub fn new(projection: Projection, values: Vec<i64>) -> Option<Projected> {
        if values.len() as u64 != projection.design.shape.values() {
            return None;
        }
        let energy = values.iter().map(|&v| v as f64 * v as f64).sum();
        let families = families(&projection);
        let cosets = match projection.design.shape {
            Shape::Dense { rows } => families.first().map(|f| f.cosets(block_bits(rows.into()))),
            Shape::Sketch { .. } => None,
        };
        Some(Projected { families, cosets, projection, values, energy })
    }

    /// What was released beside the integers.
    pub fn projection(&self) -> &Projection {
        &self.projection
    }

    /// The cells' numbers for a key of these parts.
    pub fn key(&self, parts: Vec<key::Part>) -> key::Key {
        key::Key::new(parts, self.projection.design.shape.cell_bits(), &self.projection.seed)
    }

    /// The count of the units in these cells (each once, whatever their order) with an interval at `level`.
    pub fn answer(&self, cells: &[u64], level: f64, estimator: Estimator) -> Answer {
        let mut cells = cells.to_vec();
        cells.sort_unstable();
        cells.dedup();
        match self.projection.design.shape {
            Shape::Dense { rows } => self.dense(&cells, rows, level),
            Shape::Sketch { rows, buckets } => self.sketch(&cells, rows, buckets, level, estimator),
        }
    }

    /// μ = E S as estimated and as an upper confidence bound with failure rate alpha.
    fn bound(&self, mean: f64, alpha: f64) -> f64 {
        let gaussian = self.projection.design.noise == Noise::Gaussian;
        let n = self.values.len() as f64;
        let eta = match self.projection.design.shape {
            Shape::Dense { .. } => {
                let kappa = if gaussian { 3.0 } else { 6.0 };
                libm::sqrt(2.0 * kappa * -libm::log(alpha) / n)
            }
            // Few rows: by Cantelli, from the variance of the rows' own estimates.
            Shape::Sketch { .. } => {
                let v = if gaussian { 2.0 } else { 5.0 } / n;
                libm::sqrt(v * (1.0 - alpha) / alpha)
            }
        };
        if eta < 1.0 { mean / (1.0 - eta) } else { f64::INFINITY }
    }

    /// ‖x‖² as estimated, and an upper bound that fails with probability alpha.
    fn norm(&self, alpha: f64) -> (f64, f64) {
        let design = &self.projection.design;
        // Each value has ‖x‖²·share of the counts and all of its noise.
        let share = design.shape.column() as f64 / self.values.len() as f64;
        let mean = self.energy / self.values.len() as f64;
        let clean = |mu: f64| ((mu - design.noise_variance()) / share).max(0.0);
        let declared = design.norm_bound.map_or(f64::INFINITY, |b| b as f64);
        (clean(mean).min(declared), clean(self.bound(mean, alpha)).min(declared))
    }

    fn dense(&self, cells: &[u64], rows: u32, level: f64) -> Answer {
        let Some(cosets) = &self.cosets else { return nothing() };
        let bits = block_bits(rows.into());
        let blocks = self.values.len().div_ceil(SIGNS);
        let starts: Vec<u64> = cells
            .iter()
            .flat_map(|&cell| (0..blocks).step_by(cosets.size()).map(move |b| point(cell, b as u64, bits)))
            .collect();
        // How often each integer counts against, over all cells.
        let mut against = vec![0u32; blocks.next_multiple_of(cosets.size()) * SIGNS];
        let span = cosets.size() * SIGNS;
        let mut words = vec![[0; 4]; cosets.size()];
        let places = (0..against.len() / span).cycle();
        let starts: Vec<(u64, usize)> = starts.into_iter().zip(places).collect();
        for four in starts.chunks(4) {
            let start = |i: usize| four.get(i).map_or(0, |s| s.0);
            cosets.values([start(0), start(1), start(2), start(3)], &mut words);
            for (lane, (_, place)) in four.iter().enumerate() {
                let counts = against.get_mut(place * span..(place + 1) * span).unwrap_or_default();
                for (counts, words) in counts.chunks_exact_mut(SIGNS).zip(&words) {
                    let word = words.get(lane).copied().unwrap_or(0);
                    for (i, count) in counts.iter_mut().enumerate() {
                        *count += (word >> i & 1) as u32;
                    }
                }
            }
        }
        let (mut sum, mut squares) = (0i128, 0i128);
        for (&v, &against) in self.values.iter().zip(&against) {
            let weight = cells.len() as i64 - 2 * i64::from(against);
            sum += i128::from(weight) * i128::from(v);
            squares += i128::from(weight * weight);
        }
        let t = f64::from(rows);
        let alpha = (1.0 - level) / 50.0;
        let (norm, bound) = self.norm(alpha);
        let noise = self.projection.design.noise_variance() * squares as f64 / (t * t);
        let z = upper_quantile((1.0 - level - alpha) / 2.0);
        interval(sum as f64 / t, cells.len() as f64, t, norm, bound, noise, z)
    }

    fn sketch(&self, cells: &[u64], rows: u32, buckets: u32, level: f64, estimator: Estimator) -> Answer {
        let mut words = vec![0; cells.len()];
        let mut estimates: Vec<f64> = Vec::with_capacity(rows as usize);
        for (family, values) in self.families.iter().zip(self.values.chunks(buckets as usize)) {
            family.words(cells, &mut words);
            let sum: i128 = words
                .iter()
                .map(|&word| {
                    let (at, negative) = bucket(word, buckets);
                    let v = values.get(at).map_or(0, |&v| i128::from(v));
                    if negative { -v } else { v }
                })
                .sum();
            estimates.push(sum as f64);
        }
        let (t, m) = (f64::from(rows), cells.len() as f64);
        if estimator == Estimator::Mean {
            let alpha = (1.0 - level) / 50.0;
            let (norm, bound) = self.norm(alpha);
            // Two cells of the query in one bucket carry its noise twice: on average ‖q‖², at most m of it.
            let collide = 1.0 + (m - 1.0) / f64::from(buckets);
            let noise = self.projection.design.noise_variance() * m * collide / t;
            let mean = estimates.iter().sum::<f64>() / t;
            let z = 1.0 / libm::sqrt(1.0 - level - alpha);
            return interval(mean, m, t * f64::from(buckets), norm, bound, noise, z);
        }
        estimates.sort_by(f64::total_cmp);
        let gamma = (m * (m - 1.0) / 2.0 / f64::from(buckets)).min(1.0);
        let median = {
            let at = |i: usize| estimates.get(i).copied().unwrap_or(f64::NAN);
            let n = estimates.len();
            (at((n - 1) / 2) + at(n / 2)) / 2.0
        };
        let Some(cut) = order_cut(rows, (1.0 + gamma) / 2.0, 1.0 - level) else {
            return Answer {
                estimate: median,
                std_error: f64::INFINITY,
                low: f64::NEG_INFINITY,
                high: f64::INFINITY,
            };
        };
        let low = estimates.get(cut).copied().unwrap_or(f64::NEG_INFINITY);
        let high = estimates.get(estimates.len() - 1 - cut).copied().unwrap_or(f64::INFINITY);
        let std_error = (high - low) / (2.0 * upper_quantile((1.0 - level) / 2.0));
        Answer { estimate: median, std_error, low, high }
    }
}

/// No cells: nothing to count.
fn nothing() -> Answer {
    Answer { estimate: 0.0, std_error: 0.0, low: 0.0, high: 0.0 }
}

/// The θ with |θ̂ − θ| ≤ z √((m·bound + (1−2/m)θ²)/T + noise).
fn interval(estimate: f64, m: f64, t: f64, norm: f64, bound: f64, noise: f64, z: f64) -> Answer {
    if m == 0.0 {
        return nothing();
    }
    // For one cell θ² − 2θ²; for more at most (1 − 2/m)θ², as Σ x_j² ≥ θ²/m.
    let own = (1.0 - 2.0 / m) / t;
    let std_error = libm::sqrt((m * norm / t + own * estimate * estimate).max(0.0) + noise);
    let base = m * bound / t + noise;
    let c = z * z * own;
    if !base.is_finite() || c >= 1.0 {
        return Answer { estimate, std_error, low: f64::NEG_INFINITY, high: f64::INFINITY };
    }
    // (1 − c)θ² − 2θ̂θ + θ̂² − z²·base = 0
    let root = libm::sqrt((c * estimate * estimate + (1.0 - c) * z * z * base).max(0.0));
    Answer { estimate, std_error, low: (estimate - root) / (1.0 - c), high: (estimate + root) / (1.0 - c) }
}

/// How many of `rows` ordered estimates may be cut off at each end so that both tails together have at most
/// probability tau, each row being on one side with probability at most p. `None` when not even all rows suffice.
fn order_cut(rows: u32, p: f64, tau: f64) -> Option<usize> {
    // P(Bin(t, p) ≥ t − k) = Σ_{i ≤ k} C(t, i) p^{t−i} (1−p)^i.
    let t = f64::from(rows);
    let mut term = libm::pow(p, t);
    let mut tail = term;
    let mut cut = None;
    let mut k = 0u32;
    while 2.0 * tail <= tau && 2 * k + 1 < rows {
        cut = Some(k as usize);
        term *= (t - f64::from(k)) / f64::from(k + 1) * (1.0 - p) / p;
        tail += term;
        k += 1;
    }
    cut
}

/// How many standard deviations a single cell's error provably stays within, from r-wise independence and Gaussian
/// noise alone.
///
/// **Proof.** The error is a sum of products of two signs, and noise. Its p-th moment, p even and at most r/2, is that under fully
/// independent signs; conditioned on the cell's own signs that is a Rademacher sum, whose even moments are at most the normal
/// law's (compare the coefficients of both expansions: Khintchine). So are the discrete
/// Gaussian's, and the sum's. Markov's inequality with the best p gives the factor.
pub fn proven_factor(level: f64, independence: u32) -> f64 {
    let mut best = f64::INFINITY;
    let mut ln_moment = 0.0;
    for p in (2..=independence / 2).step_by(2) {
        ln_moment += libm::log(f64::from(p - 1));
        best = best.min(libm::exp((ln_moment - libm::log(1.0 - level)) / f64::from(p)));
    }
    best
}

#[cfg(test)]
mod tests;
