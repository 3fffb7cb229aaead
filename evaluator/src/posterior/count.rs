//! The posterior of a whole number given a noisy answer and a prior, in log space.
//!
//! Weights are `prior(k) · f(y − k)`, f the error's mass or density. Only a window around where the mass is gets
//! evaluated, so a count out of a billion costs what its uncertainty costs. A window too long to enumerate is
//! thinned: each evaluated point then stands for a run of equally many whole numbers.

use super::prior::Prior;
use crate::law::{ErrorLaw, Interval, Term};
use std::cell::Cell;

/// Why there is no posterior.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PosteriorError {
    /// A parameter out of its range.
    #[error("a prior's parameter is out of range")]
    Parameter,
    /// The answer has probability 0 under the prior.
    #[error("the answer is impossible under this prior")]
    Impossible,
    /// More than can be computed.
    #[error("the problem is too large to compute exactly")]
    TooLarge,
}

/// The posterior of a count.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CountPosterior {
    /// The smallest evaluated count, and how many counts each weight stands for.
    first: i64,
    stride: i64,
    last: i64,
    /// Normalised.
    weights: Vec<f64>,
    left_out: f64,
    /// Whether some weights are only bounds.
    rough: bool,
    work: u64,
}

/// Weights whose bound is below e^{−50} of the largest are left out.
pub(super) const DEPTH: f64 = 50.0;
/// More points than this are thinned out.
const MAX_POINTS: i64 = 1 << 13;

/// The weights of runs of `stride` counts from `first` to `last`, of sum one, from their logarithms; with the largest logarithm and the
/// sum of the weights relative to it.
fn normalised(
    ln: &[f64],
    (first, stride, last): (i64, i64, i64),
) -> Result<(Vec<f64>, f64, f64), PosteriorError> {
    let most = ln.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !most.is_finite() {
        return Err(PosteriorError::Impossible);
    }
    let mut weights: Vec<f64> = ln.iter().map(|l| libm::exp(l - most)).collect();
    if stride > 1
        && let Some(end) = weights.last_mut()
    {
        // The last run may be shorter.
        *end *= ((last - first) % stride + 1) as f64 / stride as f64;
    }
    let total: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= total);
    Ok((weights, most, total))
}

/// The posterior where there is no noise, or hardly ever any: one count, or none at all. `None` where noise is to be reckoned with.
fn certain(law: &ErrorLaw, estimate: f64, prior: Prior) -> Option<Result<CountPosterior, PosteriorError>> {
    let k = libm::round(estimate) as i64;
    let there = (estimate - k as f64).abs() <= 1e-9 && prior.ln(k) > f64::NEG_INFINITY;
    let discrete = |t: &Term| t.noise.is_discrete();
    // P(|E| >= 1/2), by Chebyshev. All other counts together weigh no more than that, no prior being above 1.
    let other = 4.0 * law.variance();
    if !law.terms().iter().all(discrete) {
        return None;
    }
    if !there {
        return (other <= 1e-24).then_some(Err(PosteriorError::Impossible));
    }
    let point = || CountPosterior {
        first: k,
        stride: 1,
        last: k,
        weights: vec![1.0],
        left_out: 0.0,
        rough: false,
        work: 1,
    };
    (other <= 1e-12 * libm::exp(prior.ln(k))).then(|| Ok(point()))
}

impl CountPosterior {
    /// The posterior of θ given `estimate = θ + E`.
    pub(crate) fn new(law: &ErrorLaw, estimate: f64, prior: Prior) -> Result<CountPosterior, PosteriorError> {
        match prior {
            Prior::Uniform { n } | Prior::Binomial { n, .. } if n >= 1 << 52 => {
                return Err(PosteriorError::TooLarge);
            }
            Prior::Binomial { p, .. } if !(0.0..=1.0).contains(&p) => return Err(PosteriorError::Parameter),
            _ => {}
        }
        if estimate.is_nan() || estimate.abs() >= 1e15 {
            return Err(PosteriorError::Parameter);
        }
        let (low, high) = prior.support();
        if let Some(certain) = certain(law, estimate, prior) {
            return certain;
        }
        // Chernoff's bound on the error is concave in k, and so are the priors: a bound on the weights whose top
        // is between the top of either, and beyond whose edges everything is a geometric tail.
        let work = Cell::new(0);
        let score = |k: i64| {
            work.set(work.get() + 1);
            prior.ln(k) + law.ln_mass_bound(estimate - k as f64)
        };
        let answer = (libm::round(estimate) as i64).clamp(low, high);
        let likely = match prior {
            Prior::Binomial { n, p } => (libm::round(n as f64 * p) as i64).clamp(low, high),
            _ => answer,
        };
        let (mut a, mut b) = (answer.min(likely), answer.max(likely));
        // By thirds: neighbours far from the answer differ by less than what their bounds are off by.
        while b - a > 2 {
            let third = (b - a) / 3;
            if score(a + third) < score(b - third) { a += third + 1 } else { b -= third }
        }
        let top = (a..=b).max_by(|x, y| score(*x).total_cmp(&score(*y))).unwrap_or(a);
        let floor = score(top) - DEPTH;
        let edge = |end: i64| {
            // From the top to the end of the support: the last count that is still above the floor.
            let (mut inside, mut outside) = (top, end);
            if score(end) >= floor {
                return end;
            }
            while (outside - inside).abs() > 1 {
                let mid = inside + (outside - inside) / 2;
                if score(mid) >= floor { inside = mid } else { outside = mid }
            }
            inside
        };
        let (first, last) = (edge(low), edge(high));
        let stride = (last - first) / MAX_POINTS + 1;
        let points: Vec<i64> = (0..=(last - first) / stride)
            .map(|i| {
                let start = first + i * stride;
                start + (stride - 1).min(last - start) / 2
            })
            .collect();
        let offsets: Vec<f64> = points.iter().map(|k| estimate - *k as f64).collect();
        // Off the lattice an error is impossible, not merely rounded.
        let possible = |x: f64| law.on_lattice(x);
        let (ln_f, bounds) = law.ln_density_or_bound(&offsets);
        let ln: Vec<f64> = points
            .iter()
            .zip(offsets.iter().zip(&ln_f))
            .map(|(k, (x, f))| if possible(*x) && !f.is_nan() { prior.ln(*k) + f } else { f64::NEG_INFINITY })
            .collect();
        let (weights, most, total) = normalised(&ln, (first, stride, last))?;
        let tail = |edge: i64, end: i64| {
            if edge == end {
                return 0.0;
            }
            // Concave: beyond the edge it falls at least as fast as on average from the top to the edge.
            let rate = (score(top) - score(edge)) / (edge - top).abs().max(1) as f64;
            libm::exp(score(edge) - most) / -libm::expm1(-rate.max(1e-300))
        };
        // A density on a lattice is a mass over the spacing.
        let unit = law.lattice().unwrap_or(1.0);
        let left_out = (tail(first, low) + tail(last, high)) / (total * stride as f64 * unit);
        let work = work.get() + points.len() as u64;
        Ok(CountPosterior { first, stride, last, weights, left_out, rough: bounds > 0, work })
    }

    /// From the logarithms of the weights of runs of `stride` counts.
    pub(super) fn from_logarithms(
        first: i64,
        stride: i64,
        last: i64,
        ln: &[f64],
        rough: bool,
        work: u64,
    ) -> Result<CountPosterior, PosteriorError> {
        let (weights, ..) = normalised(ln, (first, stride, last))?;
        Ok(CountPosterior { first, stride, last, weights, left_out: 0.0, rough, work })
    }

    /// A bound on the posterior probability outside the evaluated window.
    #[cfg(test)]
    pub(crate) fn left_out(&self) -> f64 {
        self.left_out
    }

    /// Whether the error's law was too dear to compute for some counts, so that a bound on its density stood in its place: the
    /// posterior is then approximate.
    pub(crate) fn is_rough(&self) -> bool {
        self.rough
    }

    /// How many prior probabilities and bounds were evaluated, which is what it cost beside the law's own bounded work.
    #[cfg(test)]
    pub(crate) fn work(&self) -> u64 {
        self.work
    }

    /// The first and last count of run `i`.
    fn run(&self, i: usize) -> (i64, i64) {
        let start = self.first + i as i64 * self.stride;
        (start, (start + self.stride - 1).min(self.last))
    }

    /// The posterior mean: least mean squared error.
    pub(crate) fn mean(&self) -> f64 {
        // Around the middle, so that large counts keep their digits.
        let base = self.first as f64;
        let shift: f64 = self
            .weights
            .iter()
            .enumerate()
            .map(|(i, w)| {
                let (a, b) = self.run(i);
                w * (0.5 * ((a - self.first) as f64 + (b - self.first) as f64))
            })
            .sum();
        base + shift
    }

    /// The posterior standard deviation.
    pub(crate) fn std_dev(&self) -> f64 {
        let mean = self.mean();
        let variance: f64 = self
            .weights
            .iter()
            .enumerate()
            .map(|(i, w)| {
                let (a, b) = self.run(i);
                let (off, n) = (0.5 * (a as f64 + b as f64) - mean, (b - a + 1) as f64);
                w * (off * off + (n * n - 1.0) / 12.0)
            })
            .sum();
        libm::sqrt(variance)
    }

    /// `Pr(θ <= c)`.
    pub(crate) fn cdf(&self, c: i64) -> f64 {
        let mut sum = 0.0;
        for (i, w) in self.weights.iter().enumerate() {
            let (a, b) = self.run(i);
            if c >= b {
                sum += w;
            } else {
                if c >= a {
                    sum += w * (c - a + 1) as f64 / (b - a + 1) as f64;
                }
                break;
            }
        }
        sum.min(1.0)
    }

    /// The smallest count c with `Pr(θ <= c) >= p`.
    pub(crate) fn quantile(&self, p: f64) -> i64 {
        let mut sum = 0.0;
        for (i, w) in self.weights.iter().enumerate() {
            if sum + w >= p {
                let (a, b) = self.run(i);
                let share = libm::ceil((p - sum) / w * (b - a + 1) as f64).max(1.0) as i64;
                return (a + share - 1).min(b);
            }
            sum += w;
        }
        self.last
    }

    /// The posterior median: least mean absolute error.
    pub(crate) fn median(&self) -> i64 {
        self.quantile(0.5)
    }

    /// An interval with posterior probability at least `level`.
    pub(crate) fn interval(&self, level: f64, kind: Interval) -> (i64, i64) {
        let level = (level + self.left_out).min(1.0);
        match kind {
            Interval::EqualTailed => {
                (self.quantile(0.5 * (1.0 - level)), self.quantile(1.0 - 0.5 * (1.0 - level)))
            }
            Interval::Shortest => {
                // Two pointers over the runs.
                let (mut lo, mut sum) = (0usize, 0.0);
                let mut best = (0, self.weights.len().saturating_sub(1), f64::NEG_INFINITY);
                for (hi, w) in self.weights.iter().enumerate() {
                    sum += w;
                    while lo < hi && self.weights.get(lo).is_some_and(|w| sum - w >= level) {
                        sum -= self.weights.get(lo).copied().unwrap_or(0.0);
                        lo += 1;
                    }
                    // Of equally long ones the more probable.
                    let better = (hi - lo) < best.1 - best.0 || (hi - lo == best.1 - best.0 && sum > best.2);
                    if sum >= level && better {
                        best = (lo, hi, sum);
                    }
                }
                (self.run(best.0).0, self.run(best.1).1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::prior::ln_binomial;
    use super::*;
    use crate::law::{NoiseLaw, Term};

    fn law(terms: &[(f64, u64, NoiseLaw)]) -> ErrorLaw {
        let term = |&(coefficient, copies, noise)| Term { coefficient, copies, noise };
        ErrorLaw::new(terms.iter().map(term).collect()).unwrap()
    }
    fn near(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b}");
    }

    #[test]
    fn binomial_masses() {
        // Pascal's triangle, and the whole sums to one far away from it.
        let choose = [1.0, 10.0, 45.0, 120.0, 210.0, 252.0, 210.0, 120.0, 45.0, 10.0, 1.0];
        for (k, c) in choose.iter().enumerate() {
            let want = c * 0.3f64.powi(k as i32) * 0.7f64.powi(10 - k as i32);
            near(ln_binomial(10, 0.3, k as u64).exp() / want, 1.0, 1e-13);
        }
        for (n, p) in [(1000u64, 0.3), (1_000_000, 0.001), (1_000_000_000, 1e-8)] {
            let (mean, reach) = (n as f64 * p, 12.0 * (n as f64 * p).sqrt() + 40.0);
            let range = (mean - reach).max(0.0) as u64..=((mean + reach) as u64).min(n);
            near(range.map(|k| ln_binomial(n, p, k).exp()).sum(), 1.0, 1e-10);
        }
    }

    #[test]
    fn against_plain_enumeration() {
        let b: f64 = 4.0;
        let e = law(&[(1.0, 1, NoiseLaw::DiscreteLaplace { scale: b })]);
        let two = law(&[(1.0, 2, NoiseLaw::DiscreteLaplace { scale: b })]);
        // The mass of the difference of two: (1−q)²/(1+q)² q^{|k|} (|k| + (1+q²)/(1−q²)).
        let q = (-1.0 / b).exp();
        let one_mass = |k: f64| q.powf(k.abs());
        let two_mass = |k: f64| q.powf(k.abs()) * (k.abs() + (1.0 + q * q) / (1.0 - q * q));
        for (y, n, p) in [(12.0, 40u64, 0.3), (-5.0, 40, 0.3), (60.0, 40, 0.5), (3.0, 40, 0.9)] {
            for prior in [Prior::Binomial { n, p }, Prior::Uniform { n }] {
                for pair in [false, true] {
                    let mass = |k: f64| if pair { two_mass(k) } else { one_mass(k) };
                    let w: Vec<f64> = (0..=n)
                        .map(|k| {
                            let pi = if let Prior::Binomial { .. } = prior {
                                ln_binomial(n, p, k).exp()
                            } else {
                                1.0
                            };
                            pi * mass(y - k as f64)
                        })
                        .collect();
                    let total: f64 = w.iter().sum();
                    let mean = w.iter().enumerate().map(|(k, w)| k as f64 * w).sum::<f64>() / total;
                    let got = CountPosterior::new(if pair { &two } else { &e }, y, prior).unwrap();
                    near(got.mean(), mean, 1e-7);
                    assert!(got.left_out() < 1e-9);
                    let mut sum = 0.0;
                    let median = w
                        .iter()
                        .position(|w| {
                            sum += w;
                            sum >= 0.5 * total
                        })
                        .unwrap();
                    assert_eq!(got.median(), median as i64);
                    for c in [0, 10, 20, 39] {
                        near(got.cdf(c), w[..=c as usize].iter().sum::<f64>() / total, 1e-7);
                    }
                    for level in [0.5, 0.95] {
                        let (lo, hi) = got.interval(level, Interval::Shortest);
                        let inside: f64 = w[lo as usize..=hi as usize].iter().sum();
                        assert!(inside >= (level - 1e-9) * total);
                        let length = (hi - lo) as usize;
                        assert!(
                            length == 0 || w.windows(length).all(|v| v.iter().sum::<f64>() < level * total)
                        );
                        let (lo, hi) = got.interval(level, Interval::EqualTailed);
                        assert!(w[lo as usize..=hi as usize].iter().sum::<f64>() >= (level - 1e-9) * total);
                    }
                }
            }
        }
    }

    #[test]
    fn conjugate_and_limiting_cases() {
        // Normal noise and a binomial that is nearly normal: precisions add.
        let (n, p, s2) = (1_000_000_000u64, 0.3, 1e8);
        let e = law(&[(1.0, 1, NoiseLaw::Gaussian { variance: s2 })]);
        let (m, v) = (3e8, 2.1e8);
        let y = m + 20_000.0;
        let got = CountPosterior::new(&e, y, Prior::Binomial { n, p }).unwrap();
        let want = (m / v + y / s2) / (1.0 / v + 1.0 / s2);
        near(got.mean(), want, 2.0);
        let sd = (1.0 / (1.0 / v + 1.0 / s2)).sqrt();
        let (lo, hi) = got.interval(0.95, Interval::EqualTailed);
        near((hi - lo) as f64 / (2.0 * 1.959_964 * sd), 1.0, 1e-3);
        // A flat prior mirrors the law; a wide uniform one does too.
        let e = law(&[(1.0, 1, NoiseLaw::DiscreteLaplace { scale: 1e6 })]);
        for prior in [Prior::Flat, Prior::Uniform { n: 1_000_000_000 }, Prior::NonNegative] {
            let got = CountPosterior::new(&e, 500_000_000.0, prior).unwrap();
            near(got.mean() / 5e8, 1.0, 1e-8);
            let (lo, hi) = got.interval(0.95, Interval::EqualTailed);
            near((hi - lo) as f64 / (2.0 * e.half_width(0.95)), 1.0, 1e-3);
            assert!(got.left_out() < 1e-12);
        }
        // A negative answer about a count: all that is left is geometric.
        let b: f64 = 3.0;
        let e = law(&[(1.0, 1, NoiseLaw::DiscreteLaplace { scale: b })]);
        let got = CountPosterior::new(&e, -7.0, Prior::NonNegative).unwrap();
        let q = (-1.0 / b).exp();
        near(got.mean(), q / (1.0 - q), 1e-9);
    }

    #[test]
    fn impossible_and_exact_answers() {
        let exact = law(&[]);
        let got = CountPosterior::new(&exact, 5.0, Prior::Uniform { n: 9 }).unwrap();
        assert_eq!((got.mean(), got.median()), (5.0, 5));
        assert_eq!(
            CountPosterior::new(&exact, 5.0, Prior::Uniform { n: 4 }),
            Err(PosteriorError::Impossible)
        );
        assert_eq!(
            CountPosterior::new(&exact, 5.0, Prior::Binomial { n: 4, p: 2.0 }),
            Err(PosteriorError::Parameter)
        );
        assert!(CountPosterior::new(&exact, f64::NAN, Prior::Flat).is_err());
        // Noise on even numbers only: parity is known.
        let even = law(&[(2.0, 1, NoiseLaw::DiscreteLaplace { scale: 1.0 })]);
        let got = CountPosterior::new(&even, 7.0, Prior::NonNegative).unwrap();
        near(got.cdf(7) - got.cdf(6), got.cdf(7) - got.cdf(5), 1e-15);
        let certain = CountPosterior::new(&even, 7.0, Prior::Binomial { n: 3, p: 1.0 }).unwrap();
        assert_eq!(certain.median(), 3);
    }
}
