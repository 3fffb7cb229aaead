//! How the numbers of records are spread: of all laws on `0 ..= reach` with one mean the one of largest entropy, `P(k) ∝ e^{s k/reach}`.
//!
//! With `a = −s/reach` and `n = reach + 1` it is a geometric law that ends at `reach`: its mean is `1/(eᵃ − 1) − n/(eⁿᵃ − 1)`, and one number of it is had from
//! one uniform number. Laws that rise are the others seen from the other end.

/// Below this `n a` the closed forms lose digits, and the first terms of their series at 0 are exact enough.
const FLAT: f64 = 0.1;
/// The largest |s| in parts of `reach`: a mean of e⁻⁶⁴ steps.
const STEEP: f64 = 64.0;

/// A law, by how steep it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    reach: u32,
    /// How steeply it falls, a step: never below 0.
    falls: f64,
    /// Whether it is seen from the other end.
    rises: bool,
}

impl Spread {
    /// `s` is kept within ±64 `reach`.
    pub(super) fn new(s: f64, reach: u32) -> Spread {
        Spread { reach, falls: (s.abs() / f64::from(reach.max(1))).min(STEEP), rises: s > 0.0 }
    }

    /// Its mean and its variance.
    pub(super) fn moments(self) -> (f64, f64) {
        let (a, n) = (self.falls, f64::from(self.reach) + 1.0);
        let z = a * n;
        let (mean, variance) = if z < FLAT {
            let (second, fourth) = (n * n - 1.0, n * n * n * n - 1.0);
            let mean = f64::from(self.reach) / 2.0 - a * second / 12.0 + a * a * a * fourth / 720.0;
            (mean, second / 12.0 - a * a * fourth / 240.0)
        } else {
            let square = |x: f64| -1.0 / (libm::expm1(x) * libm::expm1(-x));
            (1.0 / libm::expm1(a) - n / libm::expm1(z), square(a) - n * n * square(z))
        };
        (if self.rises { f64::from(self.reach) - mean } else { mean }, variance.max(0.0))
    }

    /// A number of it, from one that is uniform from 0 to below 1.
    pub(super) fn draw(self, uniform: f64) -> u32 {
        let (a, n) = (self.falls, f64::from(self.reach) + 1.0);
        let at = if a * n < 1e-9 { uniform * n } else { -libm::log1p(uniform * libm::expm1(-a * n)) / a };
        let steps = (at as u32).min(self.reach);
        if self.rises { self.reach - steps } else { steps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by adding up all numbers.
    fn listed(s: f64, reach: u32) -> (f64, f64, Vec<f64>) {
        let most = s.max(0.0);
        let weights: Vec<f64> =
            (0..=reach).map(|k| libm::exp(s * f64::from(k) / f64::from(reach) - most)).collect();
        let all: f64 = weights.iter().sum();
        let mean = weights.iter().zip(0u32..).map(|(w, k)| w * f64::from(k)).sum::<f64>() / all;
        let variance =
            weights.iter().zip(0u32..).map(|(w, k)| w * (f64::from(k) - mean).powi(2)).sum::<f64>() / all;
        (mean, variance, weights.iter().map(|w| w / all).collect())
    }

    #[test]
    fn moments_are_those_of_the_listed_law() {
        for reach in [1, 2, 7, 1000] {
            for s in [0.0, 1e-9, 0.05, -0.09, 0.1, -0.11, 0.5, 3.0, -20.0, 400.0, -6000.0] {
                let (mean, variance, _) = listed(s, reach);
                let found = Spread::new(s, reach).moments();
                let size = f64::from(reach);
                assert!((found.0 - mean).abs() < 1e-8 * size, "{reach} {s}: {} {mean}", found.0);
                assert!(
                    (found.1 - variance).abs() < 1e-7 * size * size,
                    "{reach} {s}: {} {variance}",
                    found.1
                );
            }
        }
        // The ends of what is kept.
        let (mean, variance) = Spread::new(f64::NEG_INFINITY, 1 << 24).moments();
        assert!(mean < 1e-27 && variance < 1e-27);
        assert_eq!(Spread::new(f64::INFINITY, 5).draw(0.999), 5);
    }

    #[test]
    fn numbers_follow_the_law() {
        for (s, reach) in [(0.0, 3), (-2.5, 9), (4.0, 6), (0.7, 1), (1e-12, 4), (-90.0, 12)] {
            let (.., law) = listed(s, reach);
            let mut found = vec![0.0; law.len()];
            let points = 200_000;
            for i in 0..points {
                let at = (f64::from(i) + 0.5) / f64::from(points);
                found[Spread::new(s, reach).draw(at) as usize] += 1.0 / f64::from(points);
            }
            let far = found.iter().zip(&law).map(|(f, l)| (f - l).abs()).fold(0.0, f64::max);
            assert!(far < 2e-5, "{s} {reach}: {found:?} {law:?}");
        }
    }
}
