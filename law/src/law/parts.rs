//! Very many noises, of which most are small: the small ones' cumulants are added up once.
//!
//! With `y = (s/S)²`, `S = 14/σ`, the small ones' `Σ ln M_k(a_k s)` is a power series `Σ_j C_j y^j` whose coefficients are sums over the
//! noises. A noise is small when `a_k S` is at most two fifths of the radius within which its series converges; then 14 terms are
//! exact to 1e-11 wherever `|s| <= S`, which is where the whole law's generating function is not negligible.

use super::complex::Complex;
use super::noise::{DUAL_FROM, laplace_variance};
use super::{Group, NoiseLaw};
use std::collections::HashMap;
use std::f64::consts::PI;

/// The noises of a law: the large ones each, the small ones also as one.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    pub large: Vec<Group>,
    /// The largest first.
    pub small: Vec<Group>,
    pub lump: Option<Lump>,
}

/// The small noises' logarithm as a series in `(s/reach)²`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lump {
    /// `|s|` up to which it holds.
    pub reach: f64,
    terms: [f64; TERMS],
}

const TERMS: usize = 14;
/// `S σ`.
const REACH: f64 = 14.0;
/// So few groups are kept each.
const FEW: usize = 48;

impl Parts {
    pub(super) fn new(groups: &[Group], sigma: f64) -> Parts {
        let all = || Parts { large: groups.to_vec(), small: Vec::new(), lump: None };
        let reach = REACH / sigma;
        // Of a spread without end nothing is small.
        let is_small = |g: &&Group| reach > 0.0 && 2.5 * g.coefficient * reach <= radius(&g.noise);
        let (mut small, large): (Vec<Group>, Vec<Group>) = groups.iter().partition(|g| is_small(g));
        if small.len() <= FEW {
            return all();
        }
        let size = |g: &Group| g.coefficient * g.coefficient * g.copies as f64 * g.noise.variance();
        small.sort_by(|a, b| size(b).total_cmp(&size(a)));
        let mut known: HashMap<(bool, u64), [f64; TERMS]> = HashMap::new();
        let mut terms = [0.0; TERMS];
        // The smallest first, for their digits.
        for g in small.iter().rev() {
            let kind = (
                matches!(g.noise, NoiseLaw::DiscreteGaussian { .. } | NoiseLaw::Laplace { .. }),
                g.noise.parameter().to_bits(),
            );
            let own = match g.noise {
                NoiseLaw::DiscreteGaussian { .. } | NoiseLaw::DiscreteLaplace { .. } => {
                    *known.entry(kind).or_insert_with(|| series(&g.noise))
                }
                _ => series(&g.noise),
            };
            let ratio = g.coefficient * reach / radius(&g.noise);
            let mut power = g.copies as f64;
            for (sum, term) in terms.iter_mut().zip(own) {
                power *= ratio * ratio;
                *sum += power * term;
            }
        }
        if terms.iter().any(|t| !t.is_finite()) {
            return all();
        }
        Parts { large, small, lump: Some(Lump { reach, terms }) }
    }
}

impl Lump {
    /// `Σ ln M_k(a_k s)`.
    pub(crate) fn ln(&self, s: Complex) -> Complex {
        let z = s.scale(1.0 / self.reach);
        let y = z * z;
        let mut sum = Complex::ZERO;
        for term in self.terms.iter().rev() {
            sum = (sum + Complex::new(*term, 0.0)) * y;
        }
        sum
    }

    /// The same and its slope, for real `s`.
    pub(crate) fn cumulant(&self, c: f64) -> (f64, f64) {
        let z = c / self.reach;
        let y = z * z;
        let (mut sum, mut slope) = (0.0, 0.0);
        for (j, term) in self.terms.iter().enumerate().rev() {
            sum = (sum + term) * y;
            slope = slope * y + (j + 1) as f64 * term;
        }
        (sum, slope * 2.0 * z / self.reach)
    }
}

/// Where a noise's `ln M(u)` is taken to be a series: within its nearest pole or zero, and where `|M|` still falls.
fn radius(noise: &NoiseLaw) -> f64 {
    match *noise {
        NoiseLaw::DiscreteLaplace { scale } => (1.0 / scale).min(PI),
        NoiseLaw::Laplace { scale } => 1.0 / scale,
        // The theta function's zeros are at (j + ½)/s² + (2l + 1)πi.
        NoiseLaw::DiscreteGaussian { .. } => PI,
        NoiseLaw::Gaussian { variance } => 1.0 / libm::sqrt(variance),
        // There is one at most: never lumped.
        NoiseLaw::Uniform { .. } => 0.0,
    }
}

/// The coefficients of `ln M(u)` in `(u/radius)²`, from the first power on.
fn series(noise: &NoiseLaw) -> [f64; TERMS] {
    let r = radius(noise);
    // Of `cosh(xr z) − 1` in z².
    let cosh = |x: f64| {
        let mut term = 1.0;
        std::array::from_fn::<f64, TERMS, _>(|j| {
            let k = 2.0 * (j + 1) as f64;
            term *= x * r / (k - 1.0) * (x * r / k);
            term
        })
    };
    match *noise {
        NoiseLaw::Gaussian { .. } => std::array::from_fn(|j| if j == 0 { 0.5 } else { 0.0 }),
        NoiseLaw::Uniform { .. } => [0.0; TERMS],
        NoiseLaw::Laplace { .. } => std::array::from_fn(|j| 1.0 / (j + 1) as f64),
        NoiseLaw::DiscreteLaplace { scale } => {
            let v = laplace_variance(scale);
            logarithm(cosh(1.0).map(|w| -v * w)).map(|k| -k)
        }
        NoiseLaw::DiscreteGaussian { variance: s2 } if s2 < DUAL_FROM => {
            let mut sum = [0.0; TERMS];
            let mass = |k: f64| libm::exp(-k * k / (2.0 * s2));
            let total = 1.0 + 2.0 * (1..=12).map(|k| mass(f64::from(k))).sum::<f64>();
            for k in (1..=12).rev() {
                let k = f64::from(k);
                let own = cosh(k);
                sum.iter_mut().zip(own).for_each(|(s, c)| *s += 2.0 * mass(k) / total * c);
            }
            logarithm(sum)
        }
        NoiseLaw::DiscreteGaussian { variance: s2 } => {
            let mut sum = [0.0; TERMS];
            // Beyond, what the dual adds is below 1e-80.
            if s2 < 16.0 {
                let weight = |j: f64| libm::exp(-2.0 * PI * PI * s2 * j * j);
                let total = 1.0 + 2.0 * (1..=3).map(|j| weight(f64::from(j))).sum::<f64>();
                for j in 1..=3 {
                    let j = f64::from(j);
                    let mut sign = 1.0;
                    for (s, c) in sum.iter_mut().zip(cosh(2.0 * PI * j * s2)) {
                        sign = -sign;
                        *s += sign * 2.0 * weight(j) / total * c;
                    }
                }
            }
            let mut out = logarithm(sum);
            out[0] += s2 * r * r / 2.0;
            out
        }
    }
}

/// The coefficients of `ln(1 + Σ w_j z^j)`.
fn logarithm(w: [f64; TERMS]) -> [f64; TERMS] {
    let mut k = [0.0; TERMS];
    for j in 0..TERMS {
        let n = (j + 1) as f64;
        let rest: f64 = (0..j).map(|i| (i + 1) as f64 * k[i] * w[j - i - 1]).sum();
        k[j] = w[j] - rest / n;
    }
    k
}

#[cfg(test)]
mod tests {
    use super::super::noise::Tilted;
    use super::*;

    /// What is small does not depend on the unit; and there is no series where its sums or the spread have no end.
    #[test]
    fn a_large_noise_is_none_of_the_lump() {
        let laplace = NoiseLaw::DiscreteLaplace { scale: 1.0 };
        let group = |coefficient, noise| Group { coefficient, copies: 1, noise };
        for unit in [1e-6, 1.0, 1e6] {
            let mut groups = vec![group(unit, laplace); 3000];
            groups.push(group(4.0 * unit, laplace));
            let parts = Parts::new(&groups, unit * (3016.0 * laplace.variance()).sqrt());
            assert_eq!((parts.large.len(), parts.small.len()), (1, 3000), "{unit}");
            assert_eq!(Parts::new(&groups, f64::INFINITY).small.len(), 0);
        }
        let huge = vec![group(1e-3, NoiseLaw::DiscreteGaussian { variance: 1e308 }); 60];
        let parts = Parts::new(&huge, (60.0 * 1e302f64).sqrt());
        assert!(parts.lump.is_none() && parts.large.len() == 60);
    }

    #[test]
    fn a_lump_is_the_sum_of_its_noises() {
        let noises = [
            NoiseLaw::DiscreteLaplace { scale: 0.07 },
            NoiseLaw::DiscreteLaplace { scale: 3.0 },
            NoiseLaw::DiscreteLaplace { scale: 1e9 },
            NoiseLaw::DiscreteGaussian { variance: 0.1 },
            NoiseLaw::DiscreteGaussian { variance: 0.5 },
            NoiseLaw::DiscreteGaussian { variance: 0.9 },
            NoiseLaw::DiscreteGaussian { variance: 7.0 },
            NoiseLaw::DiscreteGaussian { variance: 1e20 },
            NoiseLaw::Laplace { scale: 5.0 },
            NoiseLaw::Gaussian { variance: 5.0 },
        ];
        for noise in noises {
            let groups: Vec<Group> = (0..40_000)
                .map(|i| Group { coefficient: 1.0 + f64::from(i) * 1e-5, copies: 1 + i as u64 % 3, noise })
                .collect();
            let sigma = libm::sqrt(
                groups
                    .iter()
                    .map(|g| g.copies as f64 * g.coefficient * g.coefficient * noise.variance())
                    .sum(),
            );
            let parts = Parts::new(&groups, sigma);
            if noise.variance() < 1e-3 {
                assert!(parts.lump.is_none(), "mostly 0: {noise:?}");
                continue;
            }
            let lump = parts.lump.unwrap();
            assert_eq!((parts.large.len(), parts.small.len()), (0, groups.len()));
            // Each of the others is known to the last digit of one.
            for (c, t) in [(0.0, 1e-4), (2.0, 0.0), (2.0, 3.0), (5.0, 7.0), (1.0, 9.0)] {
                let (c, t) = (c / sigma, t / sigma);
                let want = groups.iter().fold(Complex::ZERO, |sum, g| {
                    let tilted = Tilted::new(g.noise, c * g.coefficient);
                    sum + tilted.at(t * g.coefficient).scale(g.copies as f64)
                });
                let got = lump.ln(Complex::new(c, t));
                assert!(
                    (got - want).norm_sqr().sqrt() <= 1e-9 * want.norm_sqr().sqrt() + 1e-15,
                    "{noise:?} {c} {t} {got:?} {want:?}"
                );
            }
            let (k, slope) = lump.cumulant(3.0 / sigma);
            let want = groups.iter().fold((0.0, 0.0), |(k, s), g| {
                let (own, up) = g.noise.cumulant(3.0 / sigma * g.coefficient);
                (k + g.copies as f64 * own, s + g.copies as f64 * g.coefficient * up)
            });
            assert!((k / want.0 - 1.0).abs() < 1e-10 && (slope / want.1 - 1.0).abs() < 1e-10, "{noise:?}");
        }
    }
}
