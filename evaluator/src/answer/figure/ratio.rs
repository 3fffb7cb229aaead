//! Ratios of two linear figures, by Fieller's method.

use super::{Answered, Basis, ErrorOf};
use crate::answer::tell::joint::{How, JointLaw};
use crate::law::{ErrorLaw, Interval, LawError};
use crate::render::ResultFigure;
use std::sync::Arc;

/// How many laws the interval of a ratio is found with share the work of one.
const RATIO_LAWS: u64 = 16;

/// A figure's numerator and denominator (1 for a linear figure).
#[derive(Debug, Clone)]
pub struct Part {
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
        let (numerator, denominator) = (*numerator, *denominator);
        let exact = |figure: &[f64; 2]| law.covariance(figure, figure) <= 0.0;
        if denominator.abs() < 1e-9 && exact(&[0.0, 1.0]) {
            // Of certainly no units: NULL, as in SQL.
            let ResultFigure { estimate, std_error, low, high } = ResultFigure::NULL;
            let error = ErrorOf::Ratio { pair: law.clone(), numerator, denominator };
            return Ok(Answered { estimate, std_error, low, high, basis: Basis::Fieller, way: 0, error });
        }
        let estimate = numerator / denominator;
        let variance = law.covariance(&[1.0, -estimate], &[1.0, -estimate]);
        let (low, high) = fieller(numerator, denominator, law, how)?;
        Ok(Answered {
            estimate,
            std_error: if low == high { 0.0 } else { libm::sqrt(variance) / denominator.abs() },
            low,
            high,
            basis: if low.is_finite() { Basis::Fieller } else { Basis::Unbounded },
            way: 0,
            error: ErrorOf::Ratio { pair: law.clone(), numerator, denominator },
        })
    }
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
    // A negated comparison, so that what is not a number is unbounded too.
    let below = pair.solve(&[0.0, 1.0], &How { interval: Interval::EqualTailed, ..*how })?;
    if !(d.abs() > below.high) || !n.is_finite() {
        return Ok(UNBOUNDED);
    }
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
    if apart <= 1e-11 * libm::sqrt(v_nn + ratio * ratio * v_dd) {
        return Ok((ratio, ratio)); // numerator and denominator are proportional, noise and all
    }
    let scale = at_ratio / d.abs();
    let inside =
        |c: f64| -> Result<bool, LawError> { Ok(alone(1.0, -c)?.may_reach((n - c * d).abs(), how.level)) };
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
        if pair.is_coarse() {
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
