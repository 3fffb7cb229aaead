//! The published Bayesian estimator of a count under Laplace noise (Naldi & D'Acquisto), and its exact mean
//! absolute error.
//!
//! A predicate holds for each of n units with probability p; the released count is `y = θ + Laplace(1/ε)`, θ ~
//! Binomial(n, p). The estimator is the posterior mean of θ. Its mean absolute error
//! `Σ_k π_k ∫ f(y−k) |θ̂(y) − k| dy` is integrated numerically: between whole numbers everything is smooth, and
//! beyond the prior's window `θ̂` is constant and the integral closed.

use super::closer::{clipped_error, prior};
use margins::posterior::PosteriorError;

/// How θ is estimated from the noisy count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Estimator {
    /// The noisy count itself.
    NoisyCount,
    /// The noisy count, moved to 0 or n where it lies outside.
    Clipped,
    /// The published one: least mean squared error.
    PosteriorMean,
    /// Least mean absolute error.
    PosteriorMedian,
}

/// Gauss–Legendre nodes and weights on [0, 1], four points.
const GAUSS: [(f64, f64); 4] = [
    (0.069_431_844_202_973_71, 0.173_927_422_568_726_93),
    (0.330_009_478_207_571_87, 0.326_072_577_431_273_07),
    (0.669_990_521_792_428_1, 0.326_072_577_431_273_07),
    (0.930_568_155_797_026_3, 0.173_927_422_568_726_93),
];
/// Panels between two whole numbers.
const PANELS: u32 = 8;

/// The exact mean absolute error of an estimator under Laplace noise of scale 1/ε, about 1e-6 of it.
///
/// Takes time proportional to n p (1−p).
pub(super) fn expected_absolute_error(
    n: u64,
    p: f64,
    epsilon: f64,
    estimator: Estimator,
) -> Result<f64, PosteriorError> {
    if !((0.0..=1.0).contains(&p) && epsilon > 0.0 && epsilon.is_finite()) {
        return Err(PosteriorError::Parameter);
    }
    if estimator == Estimator::NoisyCount {
        return Ok(1.0 / epsilon);
    }
    if estimator == Estimator::Clipped {
        return clipped_error(n, p, epsilon);
    }
    let mean = n as f64 * p;
    let (first, masses) = prior(n, p)?;
    let last = first + masses.len() as u64 - 1;
    let prior: Vec<(f64, f64)> = (first..).map(|k| k as f64).zip(masses).filter(|(_, m)| *m > 0.0).collect();

    let mut weights = vec![0.0; prior.len()];
    // ∫ over y of Σ_k π_k f(y−k)|θ̂−k|, for one y.
    let mut risk = |y: f64| {
        let mut total = 0.0;
        for (w, (k, m)) in weights.iter_mut().zip(&prior) {
            *w = m * libm::exp(-epsilon * (y - k).abs());
            total += *w;
        }
        if total <= 0.0 {
            return 0.0;
        }
        let estimate = match estimator {
            Estimator::PosteriorMedian => {
                let mut sum = 0.0;
                weights
                    .iter()
                    .zip(&prior)
                    .find(|(w, _)| {
                        sum += **w;
                        sum >= 0.5 * total
                    })
                    .map_or(mean, |(_, (k, _))| *k)
            }
            _ => weights.iter().zip(&prior).map(|(w, (k, _))| w * k).sum::<f64>() / total,
        };
        0.5 * epsilon * weights.iter().zip(&prior).map(|(w, (k, _))| w * (estimate - k).abs()).sum::<f64>()
    };
    let mut sum = 0.0;
    for j in first..last {
        for panel in 0..PANELS {
            for (at, weight) in GAUSS {
                let u = (f64::from(panel) + at) / f64::from(PANELS);
                sum += weight / f64::from(PANELS) * risk(j as f64 + u);
            }
        }
    }
    // Outside, the integrand is e^{−ε·distance} times its value at the end.
    sum += (risk(first as f64) + risk(last as f64)) / epsilon;
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_errors() {
        for (n, epsilon, want) in [
            (100, 0.1, 3.39728),
            (100, 0.5, 1.79575),
            (100, 1.0, 0.98048),
            (1000, 0.1, 7.64572),
            (1000, 0.5, 1.99003),
            (1000, 1.0, 0.99693),
        ] {
            let mean = expected_absolute_error(n, 0.3, epsilon, Estimator::PosteriorMean).unwrap();
            assert!((mean - want).abs() < 1e-4, "{n} {epsilon}: {mean}");
            assert_eq!(
                expected_absolute_error(n, 0.3, epsilon, Estimator::NoisyCount).unwrap(),
                1.0 / epsilon
            );
        }
        // Never worse than the noisy count, and hardly better where 0 and n are far.
        let clipped = |n, epsilon| expected_absolute_error(n, 0.3, epsilon, Estimator::Clipped).unwrap();
        assert!(clipped(100, 0.1) < 9.9 && clipped(1000, 1.0) > 1.0 - 1e-9);
        // The median is the best there is for this loss.
        for epsilon in [0.1, 1.0] {
            let median = expected_absolute_error(100, 0.3, epsilon, Estimator::PosteriorMedian).unwrap();
            let mean = expected_absolute_error(100, 0.3, epsilon, Estimator::PosteriorMean).unwrap();
            assert!(median <= mean && median > 0.5 * mean);
        }
        assert!(expected_absolute_error(10, 1.5, 1.0, Estimator::PosteriorMean).is_err());
    }
}
