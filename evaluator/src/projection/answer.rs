//! Estimates and intervals from a projection.
//!
//! **Dense.** `θ̂ = ⟨A q, v⟩/T` for `θ = Σ x_j` over m cells is unbiased. Its error is the other counts' leaking
//! through the random signs, variance at most `(m‖x‖² + (1 − 2/m) θ²)/T`, plus noise of variance `var(z)‖A q‖²/T²`, which is known exactly
//! because the signs are. The interval is where `|θ̂ − θ|` is within the normal quantile times the standard deviation *at θ* (as
//! Wilson does for shares). The normal law is justified by T: the error is a mean of T terms that are uncorrelated, of equal
//! law, and have the moments of independent ones up to order r/2; for one cell its even moments up to r/2 never exceed the normal law's,
//! which also gives the wider interval of [`bound::proven_factor`] that needs no limit theorem.
//!
//! **‖x‖².** The error depends on it, and it is private. What is used is an upper confidence bound from the released
//! integers themselves, which is post-processing and costs nothing: the mean S of `v²` estimates `μ = ‖x‖² + var(z)`, and
//! [`bound::shortfall`] says how far it falls short. A fiftieth of the interval's failure rate is spent on this. A declared bound is used
//! where it is smaller and the integers do not refute it. Standard errors are from the estimate alone.
//!
//! **Sketch.** Each row estimates θ on its own, and the rows' hashes are independent. A row counts for a query if no bucket holds
//! cells of the query with both signs; which rows do is public, and says nothing about the data. In such a row the error is symmetric:
//! flipping the signs of the query's cells flips it. So each is above or below the truth with probability at
//! most one half, and the interval between two rows in order covers by the binomial law alone: no variance, no ‖x‖², whatever the
//! data. (This takes the signs to be independent, not only r at a time.) The estimate is the median of these rows. Where they are too
//! few, or on demand, it is the mean of all rows, which needs four-wise independence only, with Chebyshev's
//! interval, because a few large counts give its error heavy tails.

use super::bound::{self, cantelli};
use super::coset::Cosets;
use super::design::{Design, Shape};
use super::order::{self, order_cut};
use super::signs::{SIGNS, SignFamily, block_bits, point};
use super::{Projection, key};
use crate::law::normal_upper_quantile as upper_quantile;

/// Which estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Estimator {
    /// The mean of a dense projection; of a sketch the median of its rows where enough of them count, else the mean.
    #[default]
    Best,
    /// The mean of all rows, also for a sketch.
    Mean,
}

/// An estimate and what is known of its error. Bounds may be infinite.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The estimate.
    pub estimate: f64,
    /// Its standard error; not a number for the median of a sketch's rows, which has none that is known.
    pub std_error: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// What the interval rests on.
    pub law: Law,
    /// The standard deviation of the noise in the estimate. It is known, but for a median.
    pub noise: f64,
    /// The ordered rows whose median the estimate is; none for a mean.
    pub rows: Vec<f64>,
}

impl Answer {
    /// The same times a number.
    pub(crate) fn scaled(self, by: f64) -> Answer {
        if by == 1.0 {
            return self;
        }
        let (low, high) = if by < 0.0 { (self.high, self.low) } else { (self.low, self.high) };
        let mut rows: Vec<f64> = self.rows.iter().map(|row| row * by).collect();
        if by < 0.0 {
            rows.reverse();
        }
        Answer {
            estimate: self.estimate * by,
            std_error: self.std_error * by.abs(),
            low: low * by,
            high: high * by,
            noise: self.noise * by.abs(),
            law: self.law,
            rows,
        }
    }

    /// The same and a number more.
    pub(crate) fn shifted(mut self, by: f64) -> Answer {
        if by != 0.0 {
            self.rows
                .iter_mut()
                .chain([&mut self.estimate, &mut self.low, &mut self.high])
                .for_each(|x| *x += by);
        }
        self
    }
}

/// What an interval rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// The normal law of a mean of many sums.
    Normal,
    /// The order of so many of a sketch's rows, so many cut off at each end.
    Order {
        /// The rows that count for this query.
        rows: u32,
        /// How many lie outside at each end.
        cut: u32,
    },
    /// The variance alone, by Chebyshev's inequality.
    Variance,
    /// Too few rows for an interval from their order at this level.
    Around,
}

impl Law {
    /// In words, as `method` of an answer.
    pub const fn name(self) -> &'static str {
        match self {
            Law::Normal => "normal law of a mean of many sums, with an upper bound of ‖x‖² from the sums",
            Law::Order { .. } => "order of a sketch's rows",
            Law::Variance => "Chebyshev's inequality, with an upper bound of ‖x‖² from the sums",
            Law::Around => {
                "Chebyshev's inequality for the mean of a sketch's rows, made to hold their median: they are too few for this level"
            }
        }
    }
}

/// An estimate, the parts of its error's variance, and how wide an interval may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Error {
    pub estimate: f64,
    /// How many cells it sums up.
    pub cells: f64,
    /// The sum of the squares of their weights: as many where each counts once.
    pub squares: f64,
    /// How many integers there are.
    pub values: f64,
    /// ‖x‖² as estimated.
    pub norm: f64,
    /// An upper bound of ‖x‖².
    pub bound: f64,
    /// The variance of the noise.
    pub noise: f64,
}

/// A true bound of ‖x‖² is called false with at most this probability.
const REFUTED: f64 = 1e-3;

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
    /// Whether they refute the declared bound of ‖x‖².
    refuted: bool,
}

/// Whether integers of so large squares in all refute the declared bound of ‖x‖²: data with no more than that has integers as large as these with probability
/// at most [`REFUTED`].
///
/// **Proof.** With ‖x‖² = X the squares have a mean `μ` that grows with X, and theirs exceeds it by more than `ημ` with probability at most `REFUTED`: by the
/// even moments of [`bound::shortfall`], which bound both tails, or by Cantelli from the variance. Where X is at most what is declared, `μ(1 + η)` is no more than
/// it is there. ∎
fn refuted(design: &Design, energy: f64) -> bool {
    let Some(declared) = design.norm_bound else { return false };
    let n = design.shape.values() as f64;
    let (normal, kappa) = (design.noise.is_normal(), design.noise.kurtosis());
    let eta = match design.shape {
        Shape::Dense { .. } if normal => bound::shortfall(n, kappa, true, design.independence, REFUTED),
        // The other bound is of what falls short alone.
        Shape::Dense { .. } | Shape::Sketch { .. } => cantelli((kappa - 1.0) / n, REFUTED),
    };
    let mean = declared as f64 * design.shape.column() as f64 / n + design.noise_variance();
    energy / n > mean * (1.0 + eta)
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
        let refuted = refuted(&projection.design, energy);
        Some(Projected { families, cosets, projection, values, energy, refuted })
    }

    /// The integers.
    pub(super) fn values(&self) -> &[i64] {
        &self.values
    }

    /// The families of signs.
    pub(super) fn families(&self) -> &[SignFamily] {
        &self.families
    }

    /// What was released beside the integers.
    pub fn projection(&self) -> &Projection {
        &self.projection
    }

    /// The cells' numbers for a key of these parts.
    pub(crate) fn key(&self, parts: Vec<key::Part>) -> key::Key {
        key::Key::new(parts, self.projection.design.shape.cell_bits(), &self.projection.seed)
    }

    /// The count of the units in these cells (each once, whatever their order) with an interval at `level`.
    pub fn answer(&self, cells: &[u64], level: f64, estimator: Estimator) -> Answer {
        let mut cells = cells.to_vec();
        cells.sort_unstable();
        cells.dedup();
        match self.projection.design.shape {
            Shape::Dense { rows } => self.dense(&cells, rows, level),
            Shape::Sketch { buckets, .. } => self.sketch(&cells, buckets, level, estimator),
        }
    }

    /// ‖x‖² as estimated, and an upper bound that fails with probability alpha: the declared one where that is smaller and not refuted.
    pub fn norm(&self, alpha: f64) -> (f64, f64) {
        let design = &self.projection.design;
        let (normal, kappa) = (design.noise.is_normal(), design.noise.kurtosis());
        let n = self.values.len() as f64;
        let eta = match design.shape {
            Shape::Dense { .. } => bound::shortfall(n, kappa, normal, design.independence, alpha),
            // A row's bucket and sign are from one word: by Cantelli, from the variance of the rows' own estimates.
            Shape::Sketch { .. } => cantelli((kappa - 1.0) / n, alpha),
        };
        // Each value has ‖x‖²·share of the counts and all of its noise.
        let share = design.shape.column() as f64 / n;
        let mean = self.energy / n;
        let clean = |mu: f64| ((mu - design.noise_variance()) / share).max(0.0);
        let declared = design.norm_bound.filter(|_| !self.refuted).map_or(f64::INFINITY, |b| b as f64);
        let upper = if eta < 1.0 { clean(mean / (1.0 - eta)) } else { f64::INFINITY };
        (clean(mean), upper.min(declared))
    }

    /// Whether the released integers refute the declared bound of ‖x‖²: then no answer rests on it.
    pub(crate) fn refutes_bound(&self) -> bool {
        self.refuted
    }

    /// The part of an interval's failure rate that may go to ‖x‖².
    pub fn norm_failure(level: f64) -> f64 {
        (1.0 - level) / 50.0
    }

    /// For one cell of a dense projection with Gaussian noise, an interval that needs the signs' r-wise independence alone.
    pub(crate) fn proven(&self, answer: &Answer, level: f64) -> Option<Answer> {
        let design = &self.projection.design;
        let Shape::Dense { rows } = design.shape else { return None };
        if !design.noise.is_normal() {
            return None;
        }
        let alpha = Self::norm_failure(level);
        let (norm, bound) = self.norm(alpha);
        let noise = answer.noise * answer.noise;
        let error = Error {
            estimate: answer.estimate,
            cells: 1.0,
            squares: 1.0,
            values: f64::from(rows),
            norm,
            bound,
            noise,
        };
        Some(error.interval(bound::proven_factor(level + alpha, design.independence), Law::Variance))
    }

    fn dense(&self, cells: &[u64], rows: u32, level: f64) -> Answer {
        let Some(cosets) = &self.cosets else { return nothing() };
        let bits = block_bits(rows.into());
        let blocks = self.values.len().div_ceil(SIGNS);
        let span = cosets.size() * SIGNS;
        // How often each integer counts against, over all cells.
        let mut against = vec![0u32; (blocks * SIGNS).next_multiple_of(span)];
        let places = against.len() / span;
        let mut starts = cells.iter().flat_map(move |&cell| {
            (0..places).map(move |place| (point(cell, (place * cosets.size()) as u64, bits), place))
        });
        let mut words = vec![[0; 4]; cosets.size()];
        loop {
            let four: [Option<(u64, usize)>; 4] = std::array::from_fn(|_| starts.next());
            if four.iter().all(Option::is_none) {
                break;
            }
            cosets.values(four.map(|s| s.map_or(0, |s| s.0)), &mut words);
            for (lane, (_, place)) in four.iter().flatten().enumerate() {
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
        let alpha = Self::norm_failure(level);
        let (norm, bound) = self.norm(alpha);
        let noise = self.projection.design.noise_variance() * squares as f64 / (t * t);
        let z = upper_quantile((1.0 - level - alpha) / 2.0);
        let cells = cells.len() as f64;
        Error { estimate: sum as f64 / t, cells, squares: cells, values: t, norm, bound, noise }
            .interval(z, Law::Normal)
    }

    fn sketch(&self, cells: &[u64], buckets: u32, level: f64, estimator: Estimator) -> Answer {
        if cells.is_empty() {
            return nothing();
        }
        let mut words = vec![0; cells.len()];
        // In each row the buckets of the cells, with their signs.
        let mut places: Vec<(usize, bool)> = Vec::with_capacity(cells.len());
        let (mut sum, mut squares) = (0i128, 0u64);
        let mut clean: Vec<f64> = Vec::new();
        for (family, values) in self.families.iter().zip(self.values.chunks(buckets as usize)) {
            family.words(cells, &mut words);
            places.clear();
            places.extend(words.iter().map(|&word| bucket(word, buckets)));
            places.sort_unstable();
            let mut once = 0i128;
            let mut sound = true;
            for same in places.chunk_by(|a, b| a.0 == b.0) {
                let (Some(first), Some(last)) = (same.first(), same.last()) else { continue };
                let v = values.get(first.0).map_or(0, |&v| i128::from(v));
                let minus = same.iter().filter(|s| s.1).count() as i64;
                let weight = same.len() as i64 - 2 * minus;
                sum += i128::from(weight) * v;
                squares += weight.unsigned_abs().pow(2);
                once += if first.1 { -v } else { v };
                sound &= first.1 == last.1;
            }
            if sound {
                clean.push(once as f64);
            }
        }
        let mean = || {
            let alpha = Self::norm_failure(level);
            let (norm, bound) = self.norm(alpha);
            let t = self.families.len() as f64;
            let noise = self.projection.design.noise_variance() * squares as f64 / (t * t);
            let z = 1.0 / libm::sqrt(1.0 - level - alpha);
            let (cells, values) = (cells.len() as f64, self.values.len() as f64);
            Error { estimate: sum as f64 / t, cells, squares: cells, values, norm, bound, noise }
                .interval(z, Law::Variance)
        };
        if estimator == Estimator::Mean || clean.len() < order::FEWEST {
            return mean();
        }
        clean.sort_by(f64::total_cmp);
        let estimate = order::median(&clean);
        let at = |i: usize| clean.get(i).copied().unwrap_or(f64::NAN);
        let (low, high, law) = match order_cut(clean.len() as u32, 0.5, 1.0 - level) {
            Some(cut) => {
                let law = Law::Order { rows: clean.len() as u32, cut: cut as u32 };
                (at(cut), at(clean.len() - 1 - cut), law)
            }
            None => {
                let mean = mean();
                (mean.low.min(estimate), mean.high.max(estimate), Law::Around)
            }
        };
        Answer { estimate, std_error: f64::NAN, low, high, law, noise: f64::NAN, rows: clean }
    }
}

/// No cells: nothing to count.
pub(super) fn nothing() -> Answer {
    Answer {
        estimate: 0.0,
        std_error: 0.0,
        low: 0.0,
        high: 0.0,
        law: Law::Variance,
        noise: 0.0,
        rows: Vec::new(),
    }
}

impl Error {
    /// The θ with |θ̂ − θ| ≤ z √((‖q‖²·bound + (1−2/m)θ²)/T + noise), and θ̂: of one cell it is not among them where a declared bound is below θ̂² by more than
    /// the noise.
    pub(super) fn interval(self, z: f64, law: Law) -> Answer {
        let Error { estimate, cells: m, squares, values: t, norm, bound, noise } = self;
        if m == 0.0 {
            return nothing();
        }
        // For one cell θ² − 2θ²; for more at most (1 − 2/m)θ², as Σ x_j² ≥ θ²/m.
        let own = (1.0 - 2.0 / m) / t;
        let std_error = libm::sqrt((squares * norm / t + own * estimate * estimate).max(0.0) + noise);
        let base = squares * bound / t + noise;
        let c = z * z * own;
        let (low, high) = if !base.is_finite() || c >= 1.0 {
            (f64::NEG_INFINITY, f64::INFINITY)
        } else {
            // (1 − c)θ² − 2θ̂θ + θ̂² − z²·base = 0
            let root = libm::sqrt((c * estimate * estimate + (1.0 - c) * z * z * base).max(0.0));
            (((estimate - root) / (1.0 - c)).min(estimate), ((estimate + root) / (1.0 - c)).max(estimate))
        };
        Answer { estimate, std_error, low, high, law, noise: libm::sqrt(noise), rows: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
