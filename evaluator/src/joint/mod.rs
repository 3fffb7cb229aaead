//! The joint law of the errors of several linear figures that come from the same noises.
//!
//! Every figure's error is `Σ_k a_k N_k` over one set of independent noises. Keeping the coefficients of all
//! figures side by side keeps every covariance: the error of any linear combination is the combination of the
//! coefficients, and its law is exact.

mod largest;
pub(crate) mod merge_gaussians;
mod ranks;

pub(crate) use largest::MaxZ;
pub(crate) use ranks::Ranking;

use crate::law::{ErrorLaw, Interval, LawError, Method, NoiseLaw, Term};
use crate::memo::Memo;
use crate::projection::Sums;
use std::sync::{Arc, OnceLock};

/// `copies` independent noises of one measurement that enter every figure in the same way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Noise {
    /// Which of several releases they are of.
    pub release: usize,
    /// The measurement they were added to.
    pub measurement: usize,
    /// How many there are.
    pub copies: u64,
    /// Their law.
    pub law: NoiseLaw,
}

impl Noise {
    /// In the place of a measurement: the secret centre that all noises of a release have in common.
    pub(crate) const CENTRE: usize = usize::MAX;
}

/// The joint law of the errors of `width` figures.
#[derive(Debug, Default)]
pub struct JointLaw {
    width: usize,
    noises: Vec<Noise>,
    /// `width` coefficients for each noise.
    coefficients: Vec<f64>,
    /// What each figure may be off by beside its noise; nothing, where this is empty.
    slack: Vec<f64>,
    solved: Memo<Vec<u64>, Arc<Solved>, KEPT>,
    /// Intervals by bounds, see [`JointLaw::signs`].
    bounded: Memo<Vec<u64>, Arc<Bounded>, KEPT>,
    /// Where the figures are a projection's: then there is no list of noises.
    sums: Option<Sums>,
}

/// A law with one of its intervals.
#[derive(Debug)]
pub(crate) struct Solved {
    /// The law of the error.
    pub law: ErrorLaw,
    /// The interval of the error: `low <= E <= high` has at least the level's probability.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// How it was found.
    pub method: &'static str,
}

/// Intervals that are certainly wide enough.
#[derive(Debug)]
struct Bounded {
    /// By Chebyshev's bound.
    wide: Arc<Solved>,
    /// By Chernoff's, made when it is needed.
    near: OnceLock<Arc<Solved>>,
}

/// How an interval is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct How {
    /// The probability with which it covers.
    pub level: f64,
    /// How probabilities are computed.
    pub method: Method,
    /// Which interval.
    pub interval: Interval,
}

/// The most intervals one joint law remembers: a quantile asks for one a value, and each row for the same.
const KEPT: usize = 1024;

impl JointLaw {
    /// From noises and, for each, its coefficient in every figure.
    pub(crate) fn new(width: usize, noises: Vec<(Noise, Vec<f64>)>) -> JointLaw {
        let mut law = JointLaw { width, ..JointLaw::default() };
        for (noise, coefficients) in noises {
            if coefficients.iter().any(|&c| c != 0.0) {
                law.noises.push(noise);
                law.coefficients.extend(coefficients);
            }
        }
        law
    }

    /// Of a projection's figures, whose errors have no noises that can be listed.
    pub(crate) fn of_sums(sums: Sums) -> JointLaw {
        JointLaw { width: sums.figures.len(), sums: Some(sums), ..JointLaw::default() }
    }

    /// The figures as sums of a projection's cells, where they are.
    pub(crate) fn sums(&self) -> Option<&Sums> {
        self.sums.as_ref()
    }

    /// The same, each figure being off by as much as this beside its noise: what inverses in doubles leave.
    pub(crate) fn with_slack(mut self, slack: Vec<f64>) -> JointLaw {
        self.slack = slack;
        self
    }

    /// What `Σ weights · figures` may be off by beside its noise.
    fn slack(&self, weights: &[f64]) -> f64 {
        self.slack.iter().zip(weights).map(|(s, w)| s * w.abs()).sum()
    }

    /// What one figure may be off by beside its noise.
    pub(crate) fn slack_of(&self, figure: usize) -> f64 {
        self.slack.get(figure).copied().unwrap_or(0.0)
    }

    /// The number of figures.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The noises, each with its coefficients.
    pub(crate) fn noises(&self) -> impl Iterator<Item = (&Noise, &[f64])> {
        self.noises.iter().zip(self.coefficients.chunks_exact(self.width.max(1)))
    }

    /// The noises, each with its coefficient in `Σ weights · errors`.
    pub(crate) fn weighed(&self, weights: &[f64]) -> impl Iterator<Item = (&Noise, f64)> {
        // Of hundreds of figures a combination takes two or three.
        let taken: Vec<(usize, f64)> =
            weights.iter().copied().enumerate().filter(|(_, w)| *w != 0.0).collect();
        self.noises().map(move |(noise, coefficients)| {
            let own = |&(i, w): &(usize, f64)| coefficients.get(i).map_or(0.0, |c| c * w);
            (noise, taken.iter().map(own).sum())
        })
    }

    /// The terms of `Σ weights · errors`.
    pub(crate) fn terms(&self, weights: &[f64]) -> impl Iterator<Item = Term> {
        self.weighed(weights).map(|(noise, coefficient)| Term {
            coefficient,
            copies: noise.copies,
            noise: noise.law,
        })
    }

    /// Whether some noise is so small that single whole numbers of it matter.
    pub(crate) fn is_coarse(&self) -> bool {
        self.noises.iter().any(|n| n.law.is_discrete() && n.law.variance() > 0.0 && n.law.variance() < 16.0)
    }

    /// The law of `Σ weights · errors`.
    pub fn combine(&self, weights: &[f64]) -> Result<ErrorLaw, LawError> {
        if self.sums.is_some() {
            return Err(LawError::Method("a projection's errors have no exact law"));
        }
        // What cancels in exact arithmetic leaves a trace in floating point; such a trace is no noise. What counts is how far it moves
        // the figure: where nodes have weights noises are as wide as their coefficients are small. Figures that have no weight here say nothing of that: squares
        // are larger than sums by any factor.
        let reach = |(noise, own): (&Noise, &[f64])| {
            noise.law.std() * own.iter().zip(weights).fold(0.0f64, |m, (c, w)| m.max((c * w).abs()))
        };
        let most = self.noises().map(reach).fold(0.0, f64::max);
        let real =
            |t: &Term| t.coefficient.abs() * t.noise.std() > 1e-14 * most || !t.coefficient.is_finite();
        ErrorLaw::new(self.terms(weights).filter(real).collect())
    }

    /// The covariance of two combinations of the figures.
    pub(crate) fn covariance(&self, a: &[f64], b: &[f64]) -> f64 {
        self.terms(a)
            .zip(self.terms(b))
            .map(|(x, y)| x.coefficient * y.coefficient * x.copies as f64 * x.noise.variance())
            .sum()
    }

    /// The variance of each figure.
    pub(crate) fn variances(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.width];
        for (noise, coefficients) in self.noises() {
            let one = noise.copies as f64 * noise.law.variance();
            out.iter_mut().zip(coefficients).for_each(|(v, c)| *v += one * c * c);
        }
        out
    }

    /// The covariances of all figures, row by row.
    pub(crate) fn covariances(&self) -> Vec<f64> {
        let n = self.width;
        let mut out = vec![0.0; n * n];
        for (noise, coefficients) in self.noises() {
            let one = noise.copies as f64 * noise.law.variance();
            for (i, c) in coefficients.iter().enumerate().filter(|(_, c)| **c != 0.0) {
                let row = &mut out[i * n..(i + 1) * n];
                row.iter_mut().zip(coefficients).for_each(|(v, other)| *v += one * c * other);
            }
        }
        out
    }

    /// The law of a combination and its interval, remembered: rows that look alike share this object.
    pub(crate) fn solve(&self, weights: &[f64], how: &How) -> Result<Arc<Solved>, LawError> {
        self.solved.of(how.key(weights), || {
            let law = self.combine(weights)?.with_method(how.method)?;
            let ((low, high), method) = law.interval_by(how.level, how.interval);
            let slack = self.slack(weights);
            Ok(Arc::new(Solved { law, low: low - slack, high: high + slack, method }))
        })
    }

    /// The same where only the signs of the ends of the interval around `estimate` matter: a wider one where its ends have the same
    /// signs. Chebyshev's bound takes a variance, Chernoff's a tilt and a comparison one coarse inversion, where the half-width itself takes
    /// several; figures are mostly far from 0.
    pub(crate) fn signs(&self, weights: &[f64], how: &How, estimate: f64) -> Result<Arc<Solved>, LawError> {
        if how.method != Method::Auto {
            return self.solve(weights, how);
        }
        let slack = self.slack(weights);
        let around = |law: ErrorLaw, half: f64| {
            Arc::new(Solved { law, low: -half - slack, high: half + slack, method: "a bound on its law" })
        };
        let bounded = self.bounded.of(how.key(weights), || {
            let law = self.combine(weights)?;
            // P(|E| > σ/√τ) <= τ.
            let half = law.std_error() / libm::sqrt(1.0 - how.level) * (1.0 + 1e-9);
            Ok::<_, LawError>(Arc::new(Bounded { wide: around(law, half), near: OnceLock::new() }))
        })?;
        if estimate.abs() > bounded.wide.high {
            return Ok(bounded.wide.clone());
        }
        let near = || around(bounded.wide.law.clone(), bounded.wide.law.half_width_bound(how.level));
        let near = bounded.near.get_or_init(near);
        if estimate.abs() > near.high {
            return Ok(near.clone());
        }
        let x = estimate.abs() - slack;
        match near.law.reaches(x, how.level) {
            Some(true) => Ok(near.clone()),
            Some(false) => Ok(around(near.law.clone(), x * (1.0 - 1e-12))),
            None => self.solve(weights, how),
        }
    }

    /// The noises, each with its coefficients in new figures that have these weights of the figures.
    pub(crate) fn mixed<'a>(
        &'a self,
        weights: &'a [Vec<f64>],
    ) -> impl Iterator<Item = (Noise, Vec<f64>)> + 'a {
        self.noises().map(move |(noise, own)| {
            let mixed = |w: &Vec<f64>| w.iter().zip(own).map(|(w, c)| w * c).sum::<f64>();
            (*noise, weights.iter().map(mixed).collect())
        })
    }

    /// What new figures that have these weights of the figures may be off by.
    pub(crate) fn slacks<'a>(&'a self, weights: &'a [Vec<f64>]) -> impl Iterator<Item = f64> + 'a {
        weights.iter().map(|w| self.slack(w))
    }

    /// Independent sources of the same figures, each with its weights in every new figure: `Σ_s Σ_i weights[s][j][i] · errors_s[i]`,
    /// for each new figure `j`.
    pub(crate) fn pool(sources: &[(&JointLaw, Vec<Vec<f64>>)]) -> JointLaw {
        let width = sources.iter().map(|(_, figures)| figures.len()).max().unwrap_or(0);
        let noises = sources.iter().flat_map(|(law, figures)| law.mixed(figures)).collect();
        let mut slack = vec![0.0; width];
        for (law, figures) in sources {
            slack.iter_mut().zip(law.slacks(figures)).for_each(|(sum, s)| *sum += s);
        }
        JointLaw::new(width, noises).with_slack(slack)
    }
}

/// What cancels in exact arithmetic leaves a trace in floating point; such a trace is no noise. What counts is how far it moves the figure:
/// less than this part of what the strongest noise does.
pub(crate) fn without_traces(noises: &mut [(Noise, Vec<f64>)], part: f64) {
    let mut most = vec![0.0f64; noises.first().map_or(0, |(_, own)| own.len())];
    for (noise, own) in &*noises {
        let std = noise.law.std();
        most.iter_mut().zip(own).for_each(|(m, c)| *m = m.max(c.abs() * std));
    }
    for (noise, own) in noises {
        let std = noise.law.std();
        let traces = own.iter_mut().zip(&most).filter(|(c, most)| c.abs() * std <= part * **most);
        traces.for_each(|(c, _)| *c = 0.0);
    }
}

impl How {
    fn key(&self, weights: &[f64]) -> Vec<u64> {
        let method = match self.method {
            Method::Auto => [0, 0, 0],
            Method::Exact => [1, 0, 0],
            Method::Pc { gamma } => [2, gamma.to_bits(), 0],
            Method::Mc { draws, seed } => [3, u64::from(draws), seed],
        };
        let interval = u64::from(self.interval == Interval::Shortest);
        let mut key = vec![self.level.to_bits(), interval];
        key.extend(method);
        key.extend(weights.iter().map(|w| w.to_bits()));
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covariances_survive() {
        let unit = NoiseLaw::Laplace { scale: 1.0 };
        let noise = |copies| Noise { release: 0, measurement: 0, copies, law: unit };
        let joint = JointLaw::new(2, vec![(noise(3), vec![1.0, 1.0]), (noise(1), vec![0.0, 2.0])]);
        // Var A = 6, Var B = 6 + 8, Cov = 6: Var(A − B) = 8.
        assert_eq!(joint.covariance(&[1.0, 0.0], &[0.0, 1.0]), 6.0);
        assert_eq!(joint.combine(&[1.0, -1.0]).unwrap().variance(), 8.0);
        assert_eq!(joint.combine(&[1.0, 0.0]).unwrap().variance(), 6.0);
        let half = vec![vec![0.5, 0.0]];
        let pooled = JointLaw::pool(&[(&joint, half.clone()), (&joint, half)]);
        assert_eq!(pooled.combine(&[1.0]).unwrap().variance(), 3.0);
        assert_eq!(pooled.width(), 1);
        // What is off beside the noise widens intervals on both sides.
        let how = How { level: 0.9, method: Method::Auto, interval: Interval::EqualTailed };
        let narrow = joint.solve(&[1.0, -1.0], &how).unwrap();
        let off = JointLaw::new(2, vec![(noise(3), vec![1.0, 1.0]), (noise(1), vec![0.0, 2.0])])
            .with_slack(vec![0.25, 0.5]);
        let wide = off.solve(&[1.0, -1.0], &how).unwrap();
        assert_eq!((wide.low, wide.high), (narrow.low - 0.75, narrow.high + 0.75));
        let pooled = JointLaw::pool(&[(&off, vec![vec![2.0, 0.0]]), (&joint, vec![vec![1.0, 1.0]])]);
        assert_eq!(pooled.slack, [0.5]);
    }

    /// Wherever the estimate is, the ends of the interval have the signs of those of the exact one, and they are no nearer.
    #[test]
    fn signs_are_those_of_the_exact_interval() {
        let noise = |copies, scale| Noise {
            release: 0,
            measurement: 0,
            copies,
            law: NoiseLaw::DiscreteLaplace { scale },
        };
        let laws = [
            vec![(noise(3, 2.0), vec![1.0]), (noise(40, 2.0), vec![-0.3])],
            vec![(noise(1, 0.1), vec![1.0])],
            vec![(noise(1, 1.0), vec![0.0])],
        ];
        for noises in laws {
            let joint = JointLaw::new(1, noises).with_slack(vec![0.01]);
            for level in [0.5, 0.95, 0.999] {
                let how = How { level, method: Method::Auto, interval: Interval::EqualTailed };
                let exact = joint.solve(&[1.0], &how).unwrap();
                let (mut wider, mut same) = (0, 0);
                for i in -100..=100 {
                    let estimate = f64::from(i) * 0.1 * exact.law.std_error().max(0.1);
                    let found = joint.signs(&[1.0], &how, estimate).unwrap();
                    let signs = |s: &Solved| (estimate - s.high < 0.0, estimate - s.low >= 0.0);
                    assert_eq!(signs(&found), signs(&exact), "{level} {estimate}");
                    assert!(found.high >= exact.high && found.low <= exact.low, "{level} {estimate}");
                    if found.high > exact.high { wider += 1 } else { same += 1 }
                }
                // Where a comparison is no cheaper it is the exact one near 0.
                let compared =
                    exact.law.reaches(exact.high, level).is_some() || exact.law.lattice().is_none();
                assert!(
                    (compared || same > 0) && (wider > 0 || exact.law.variance() == 0.0),
                    "{wider} {same}"
                );
            }
        }
    }
}
