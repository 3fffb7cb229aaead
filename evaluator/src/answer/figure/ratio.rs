//! Ratios of two linear figures, by Fieller's method.

use super::{Answered, Basis, ErrorOf};
use crate::joint::{How, JointLaw};
use crate::law::{ErrorLaw, Interval, LawError};
use crate::render::ResultFigure;
use std::sync::Arc;

/// How many laws the interval of a ratio is found with share the work of one.
const RATIO_LAWS: u64 = 16;

/// A figure's numerator and denominator (1 for a linear figure).
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// The estimate of the numerator.
    pub numerator: f64,
    /// The estimate of the denominator.
    pub denominator: f64,
    /// The joint law of their errors.
    pub law: Arc<JointLaw>,
}

impl Part {
    /// The ratio, with Fieller's interval.
    pub(crate) fn ratio(&self, how: &How) -> Result<Answered, LawError> {
        let Part { numerator, denominator, law } = self;
        let variance_below = law.covariance(&[0.0, 1.0], &[0.0, 1.0]);
        // Far below its own noise it is 0, whatever rounding made of it.
        let rounded = denominator.abs() < 1e-9 * libm::sqrt(variance_below);
        let (numerator, denominator) = (*numerator, if rounded { 0.0 } else { *denominator });
        let error = ErrorOf::Ratio { pair: law.clone(), numerator, denominator };
        if is_nothing(denominator, variance_below) {
            // Of certainly no units: NULL, as in SQL.
            return Ok(Answered::new(ResultFigure::NULL, Basis::Fieller, error));
        }
        let estimate = numerator / denominator;
        let variance = law.covariance(&[1.0, -estimate], &[1.0, -estimate]);
        let (low, high) = fieller(numerator, denominator, law, how)?;
        let certain = low == high;
        let std_error = if certain { 0.0 } else { libm::sqrt(variance) / denominator.abs() };
        let estimate = if certain { low } else { estimate };
        let basis = if low.is_finite() { Basis::Fieller } else { Basis::Unbounded };
        Ok(Answered::new(ResultFigure { estimate, std_error, low, high }, basis, error))
    }
}

/// Whether a denominator is known to be 0: what rounding leaves of it, and of the variance of its error, is far below any count's noise.
pub(super) fn is_nothing(denominator: f64, variance: f64) -> bool {
    denominator.abs() < 1e-9 && variance < 1e-18
}

/// The hull of the c for which `|n − c·d|` is at most the half-width of the law of `N − c·D`; infinite when
/// `|d|` is at most the half-width of D. `pair` is the joint law of the errors of N and D.
fn fieller(n: f64, d: f64, pair: &JointLaw, how: &How) -> Result<(f64, f64), LawError> {
    // Discrete laws of incommensurable noises are inverted with an allowance of 1e-3: finer steps mean nothing.
    const SETTLED: f64 = 1e-7;
    const UNBOUNDED: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
    // All laws of one ratio together may cost what two or three figures do.
    let alone = |a: f64, b: f64| -> Result<ErrorLaw, LawError> {
        Ok(pair.combine(&[a, b])?.with_method(how.method)?.sharing(RATIO_LAWS))
    };
    let half = |a: f64, b: f64| -> Result<f64, LawError> { Ok(alone(a, b)?.half_width(how.level)) };
    let ratio = n / d;
    let (v_nn, v_nd, v_dd) = (
        pair.covariance(&[1.0, 0.0], &[1.0, 0.0]),
        pair.covariance(&[1.0, 0.0], &[0.0, 1.0]),
        pair.covariance(&[0.0, 1.0], &[0.0, 1.0]),
    );
    let variance = |c: f64| (v_nn - 2.0 * c * v_nd + c * c * v_dd).max(0.0);
    let at_ratio = libm::sqrt(variance(ratio));
    // Noise by noise: the difference of the variances would have lost half of its digits.
    let apart = libm::sqrt(pair.covariance(&[1.0, -ratio], &[1.0, -ratio]));
    let size = libm::sqrt(v_nn + ratio * ratio * v_dd);
    if ratio.is_finite() && size.is_finite() && apart <= 1e-11 * size {
        // Numerator and denominator are proportional, noise and all, whatever the denominator is.
        let ratio = unrounded(ratio);
        return Ok((ratio, ratio));
    }
    // A negated comparison, so that what is not a number is unbounded too.
    let below = pair.solve(&[0.0, 1.0], &How { interval: Interval::EqualTailed, ..*how })?;
    if !(d.abs() > below.high) || !n.is_finite() {
        return Ok(UNBOUNDED);
    }
    let scale = at_ratio / d.abs();
    let inside =
        |c: f64| -> Result<bool, LawError> { Ok(alone(1.0, -c)?.may_reach((n - c * d).abs(), how.level)) };
    // Whether nothing from c outwards is a member. Let N and D stand for the errors there. Where c'·D − N reaches c'·d − n, c' being further
    // out, either c·D − N reaches c·d − n or D reaches d: the difference is (c' − c)(D − d). The latter is so improbable, by Chernoff's bound,
    // that a little of what may be left out pays for it.
    let rare = 0.04 * (1.0 - how.level) / 2.0;
    let below_rarely = below.law.half_width_bound(1.0 - 2.0 * rare) < d.abs();
    let none_beyond = |c: f64| -> Result<bool, LawError> {
        Ok(below_rarely && !alone(1.0, -c)?.may_reach((n - c * d).abs(), how.level + 2.0 * rare))
    };
    // Both ends begin here.
    let first = half(1.0, -ratio)? / at_ratio;
    let end = |side: f64| -> Result<f64, LawError> {
        // With a fixed quantile k (in standard deviations) the end is a root of a quadratic; k changes little
        // with c, so that a few rounds settle.
        let mut c = ratio;
        let mut settled = None;
        for round in 0..12 {
            let k = if round == 0 { first } else { half(1.0, -c)? / libm::sqrt(variance(c)) };
            let a = d * d - k * k * v_dd;
            let b = n * d - k * k * v_nd;
            let root = b * b - a * (n * n - k * k * v_nn);
            if !(a > 0.0 && root >= 0.0) {
                break;
            }
            let next = (b + side * libm::sqrt(root)) / a;
            let moved = (next - c).abs();
            c = next;
            if moved <= SETTLED * ((c - ratio).abs() + 1e-3 * scale) {
                settled = Some(c);
                break;
            }
        }
        // From a member outwards to the first point beyond the set, and back to its edge.
        let edge_beyond = |mut lo: f64| -> Result<f64, LawError> {
            let mut hi = lo.max(scale) * 1.25;
            while inside(ratio + side * hi)? && hi < 1e12 * scale {
                (lo, hi) = (hi, hi * 2.0);
            }
            for _ in 0..24 {
                let mid = 0.5 * (lo + hi);
                if inside(ratio + side * mid)? { lo = mid } else { hi = mid }
            }
            Ok(ratio + side * hi)
        };
        let Some(c) = settled else { return edge_beyond(0.0) };
        let reach = (c - ratio).abs();
        if pair.is_coarse() && !none_beyond(ratio + side * reach * 1.05)? {
            // The law of N − c·D has atoms that move with c: the set may have gaps, and its hull is reported.
            for i in (1..=8).rev() {
                let further = reach * (1.0 + 0.05 * f64::from(i));
                if inside(ratio + side * further)? {
                    return edge_beyond(further);
                }
            }
        }
        Ok(ratio + side * reach * (1.0 + 10.0 * SETTLED))
    };
    Ok((end(-1.0)?, end(1.0)?))
}

/// The number of few digits that a quotient of two rounded numbers stands for, if there is one as near as rounding may have moved it: of 3 times a count over that count 3.
fn unrounded(ratio: f64) -> f64 {
    let few: f64 = format!("{ratio:.11e}").parse().unwrap_or(ratio);
    if (few - ratio).abs() <= 4.0 * f64::EPSILON * ratio.abs() { few } else { ratio }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::Noise;
    use crate::law::{Method, NoiseLaw};

    /// A mean of what is the same for all rows is that, and rounds nothing; what has no few digits stays as it is.
    #[test]
    fn proportional_figures_have_a_ratio_of_few_digits() {
        let how = How { level: 0.95, method: Method::Auto, interval: Interval::EqualTailed };
        let (mut rounded, third) = (0, 1.0 / 3.0);
        for step in 1..500 {
            let count = 0.1 + 13.0 / 7.0 * f64::from(step);
            for times in [3.0, 0.07, -41.5, third] {
                let noise = Noise {
                    release: 0,
                    measurement: 0,
                    copies: 2,
                    law: NoiseLaw::Gaussian { variance: 5.0 },
                };
                let law = Arc::new(JointLaw::new(2, vec![(noise, vec![times, 1.0])]));
                let of = Part { numerator: times * count, denominator: count, law };
                let found = of.ratio(&how).unwrap();
                rounded += u32::from(times * count / count != times);
                assert!(
                    found.low == found.estimate && found.high == found.estimate && found.std_error == 0.0
                );
                let off = if times == third { 1e-15 } else { 0.0 };
                assert!((found.estimate - times).abs() <= off, "{times} {count} {}", found.estimate);
            }
        }
        assert!(rounded > 0);
    }

    /// Of cells that are declared empty rounding leaves a count of nearly 0, and a noise of nearly 0: their mean is of nobody.
    #[test]
    fn a_mean_of_what_rounding_left_is_none() {
        let how = How { level: 0.95, method: Method::Auto, interval: Interval::EqualTailed };
        let noise =
            Noise { release: 0, measurement: 0, copies: 2, law: NoiseLaw::Gaussian { variance: 5.0 } };
        let other = Noise { measurement: 1, ..noise };
        for (left, nobody) in [(1e-17, true), (0.0, true), (1e-3, false)] {
            let law = Arc::new(JointLaw::new(2, vec![(noise, vec![1.0, left]), (other, vec![0.0, left])]));
            let found = Part { numerator: 4.0, denominator: -1.2e-16, law }.ratio(&how).unwrap();
            assert_eq!(found.estimate.is_nan(), nobody, "{left}");
            // A noisy count of 0 is 0, and no tiny number that a mean of 1e17 is made of.
            assert_eq!(found.estimate == f64::INFINITY, !nobody, "{left}");
            assert!(nobody || found.low == f64::NEG_INFINITY && found.high == f64::INFINITY);
            assert_eq!(found.error.is_by_zero().unwrap(), nobody, "{left}");
        }
    }

    /// Of noise whose single steps matter no member is beyond the ends, however the set's gaps lie, and the ends are at members.
    #[test]
    fn the_hull_holds_all_members() {
        let noise = |copies, scale| Noise {
            release: 0,
            measurement: 0,
            copies,
            law: NoiseLaw::DiscreteLaplace { scale },
        };
        let how = |level| How { level, method: Method::Auto, interval: Interval::EqualTailed };
        let mut gaps = 0;
        for (scale, n, d) in
            [(1.3, 17.0, 40.0), (0.4, 3.0, 9.0), (0.25, -2.0, 7.0), (1.3, 5.0, -31.0), (2.0, 1.0, 12.0)]
        {
            let pair =
                JointLaw::new(2, vec![(noise(2, scale), vec![1.0, 1.0]), (noise(3, scale), vec![0.0, 1.0])]);
            for level in [0.8, 0.95, 0.99] {
                let (low, high) = fieller(n, d, &pair, &how(level)).unwrap();
                if !low.is_finite() {
                    continue;
                }
                let member =
                    |c: f64| pair.combine(&[1.0, -c]).unwrap().half_width(level) >= (n - c * d).abs();
                let ratio = n / d;
                for (side, end) in [(-1.0, low), (1.0, high)] {
                    let reach = (end - ratio).abs();
                    let beyond = (1..=60).map(|i| ratio + side * reach * (1.0 + 0.02 * f64::from(i)));
                    assert!(beyond.clone().all(|c| !member(c)), "{scale} {n} {d} {level} {end}");
                    assert!(
                        reach == 0.0
                            || (0..=200).any(|i| member(ratio + side * reach * (1.0 - 0.005 * f64::from(i)))),
                        "{scale} {n} {d} {level} {end}"
                    );
                    gaps += (1..60).filter(|i| !member(ratio + side * reach * f64::from(*i) / 60.0)).count();
                }
            }
        }
        assert!(gaps > 0, "no set has a gap");
    }
}
