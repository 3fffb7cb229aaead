//! The four noises an error can be made of: variances and moment generating functions.
//!
//! Everything later needs is `ln M(c + it)`, the logarithm of the moment generating function on a vertical
//! line. It is written so that it keeps its *relative* accuracy near 0: a million equal noises
//! are one noise whose logarithm is multiplied by a million.

use super::complex::Complex;
use std::f64::consts::PI;

/// The law of one noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoiseLaw {
    /// On the integers, `P(k) ∝ e^{−k²/2s²}`.
    DiscreteGaussian {
        /// The parameter `s²`; the true variance is [`gaussian_variance`], slightly less.
        variance: f64,
    },
    /// On the integers, `P(k) ∝ q^{|k|}` with `q = e^{−1/b}`.
    DiscreteLaplace {
        /// The scale `b`.
        scale: f64,
    },
    /// The normal law.
    Gaussian {
        /// Its variance.
        variance: f64,
    },
    /// Density `e^{−|x|/b}/2b`.
    Laplace {
        /// The scale `b`.
        scale: f64,
    },
    /// Uniform on the whole numbers −reach … reach: a secret centre around its mean.
    Uniform {
        /// A whole number.
        reach: f64,
    },
}

/// Below this `s²` the discrete Gaussian is summed directly, above it by its Poisson dual; both converge
/// in a handful of terms on their side.
pub(super) const DUAL_FROM: f64 = 0.5;

/// The true variance of the discrete Gaussian with parameter `s²`.
///
/// Directly `Σ k² e^{−k²/2s²} / Σ e^{−k²/2s²}`; by Poisson summation
/// `s² − 8π²s⁴ Σ_{j≥1} j² e^{−2π²s²j²} / (1 + 2 Σ_{j≥1} e^{−2π²s²j²})`. Each is used where it converges fast and
/// cancels nothing, so the relative error is a few units in the last place for every `s²`.
pub(crate) fn gaussian_variance(s2: f64) -> f64 {
    if s2.is_nan() || s2 <= 0.0 {
        return 0.0;
    }
    let (mut mass, mut moment) = (1.0, 0.0);
    if s2 < DUAL_FROM {
        for k in (1..=12).rev() {
            let k2 = f64::from(k * k);
            let w = 2.0 * libm::exp(-k2 / (2.0 * s2));
            mass += w;
            moment += k2 * w;
        }
        moment / mass
    } else {
        for j in (1..=3).rev() {
            let j2 = f64::from(j * j);
            let w = 2.0 * libm::exp(-2.0 * PI * PI * s2 * j2);
            mass += w;
            moment += j2 * w;
        }
        if moment == 0.0 { s2 } else { s2 - 4.0 * PI * PI * s2 * s2 * moment / mass }
    }
}

/// The variance `2q/(1−q)²` of the discrete Laplace with scale `b`, as `1/(2 sinh²(1/2b))`: accurate for tiny
/// and for huge `b`.
pub(crate) fn laplace_variance(b: f64) -> f64 {
    if b.is_nan() || b <= 0.0 {
        return 0.0;
    }
    let sinh = libm::sinh(0.5 / b);
    0.5 / sinh / sinh
}

impl NoiseLaw {
    /// The root of the variance.
    pub fn std(&self) -> f64 {
        libm::sqrt(self.variance())
    }

    /// The exact variance.
    pub fn variance(&self) -> f64 {
        match *self {
            NoiseLaw::DiscreteGaussian { variance } => gaussian_variance(variance),
            NoiseLaw::DiscreteLaplace { scale } => laplace_variance(scale),
            NoiseLaw::Gaussian { variance } => variance,
            NoiseLaw::Laplace { scale } => 2.0 * scale * scale,
            NoiseLaw::Uniform { reach } => reach * (reach + 1.0) / 3.0,
        }
    }

    /// Whether it lives on the integers.
    pub fn is_discrete(&self) -> bool {
        !matches!(self, NoiseLaw::Gaussian { .. } | NoiseLaw::Laplace { .. })
    }

    /// `ln P(N = 0)`; minus infinity for continuous laws.
    pub(super) fn ln_zero(&self) -> f64 {
        match *self {
            NoiseLaw::DiscreteLaplace { scale } => libm::log(libm::tanh(0.5 / scale)),
            NoiseLaw::DiscreteGaussian { variance: s2 } => {
                // 1/Σ e^{−k²/2s²}, and the sum is s√2π Σ e^{−2π²s²j²}.
                let (exponent, front) = if s2 < DUAL_FROM {
                    (-0.5 / s2, 0.0)
                } else {
                    (-2.0 * PI * PI * s2, 0.5 * libm::log(2.0 * PI * s2))
                };
                let sum: f64 = (1..=12).rev().map(|k| 2.0 * libm::exp(exponent * f64::from(k * k))).sum();
                -front - libm::log1p(sum)
            }
            NoiseLaw::Uniform { reach } => -libm::log(2.0 * reach + 1.0),
            _ => f64::NEG_INFINITY,
        }
    }

    /// Its one parameter.
    pub(super) fn parameter(&self) -> f64 {
        match *self {
            NoiseLaw::DiscreteGaussian { variance } | NoiseLaw::Gaussian { variance } => variance,
            NoiseLaw::DiscreteLaplace { scale } | NoiseLaw::Laplace { scale } => scale,
            NoiseLaw::Uniform { reach } => reach,
        }
    }

    /// The moment generating function is finite below this.
    pub(super) fn max_tilt(&self) -> f64 {
        match *self {
            NoiseLaw::DiscreteLaplace { scale } | NoiseLaw::Laplace { scale } => 1.0 / scale,
            _ => f64::INFINITY,
        }
    }

    /// `K(c) = ln M(c)` and its slope, for real `0 <= c < max_tilt`.
    pub(super) fn cumulant(&self, c: f64) -> (f64, f64) {
        match *self {
            NoiseLaw::Gaussian { variance } => (variance * c * c / 2.0, variance * c),
            NoiseLaw::Laplace { scale } => {
                let gap = 1.0 - scale * scale * c * c;
                (-libm::log1p(-scale * scale * c * c), 2.0 * scale * scale * c / gap)
            }
            NoiseLaw::DiscreteLaplace { scale } => {
                let (v, sinh) = (laplace_variance(scale), libm::sinh(c / 2.0));
                let u = 2.0 * v * sinh * sinh;
                (-libm::log1p(-u), v * libm::sinh(c) / (1.0 - u))
            }
            NoiseLaw::Uniform { reach } => {
                let n = 2.0 * reach + 1.0;
                if n * c < 1e-2 {
                    let (square, fourth) = (n * n - 1.0, n * n * n * n - 1.0);
                    let k = c * c * (square / 24.0 - fourth * c * c / 2880.0);
                    return (k, c * (square / 12.0 - fourth * c * c / 720.0));
                }
                let slope = 0.5 * n / libm::tanh(0.5 * n * c) - 0.5 / libm::tanh(0.5 * c);
                (Tilted::new(*self, c).real(), slope)
            }
            NoiseLaw::DiscreteGaussian { variance } => {
                let tilted = Tilted::new(*self, c);
                let slope = match &tilted {
                    Tilted::Sum { weights, total, .. } => {
                        weights.iter().zip(1..).fold(0.0, |m, (w, k)| {
                            let k = f64::from(k);
                            m - k * w * libm::expm1(-2.0 * k * c)
                        }) / libm::exp(*total)
                    }
                    Tilted::Far { middle, shares, .. } => {
                        middle + shares.iter().map(|(j, share)| j * share).sum::<f64>()
                    }
                    _ => {
                        // Of ln(1 + 2Σ q^{j²} cos(2πjs²c)), q = e^{−2π²s²}.
                        let (mut sum, mut rise) = (1.0, 0.0);
                        for j in (1..=3).rev().map(f64::from) {
                            let w = 2.0 * libm::exp(-2.0 * PI * PI * variance * j * j);
                            let (sin, cos) = libm::sincos(2.0 * PI * j * variance * c);
                            sum += w * cos;
                            rise -= 2.0 * PI * j * variance * w * sin;
                        }
                        variance * c + rise / sum
                    }
                };
                (tilted.real(), slope)
            }
        }
    }
}

/// `t ↦ ln M(c + it)` for one noise and one fixed `c`.
pub(super) enum Tilted {
    Gaussian {
        variance: f64,
        c: f64,
    },
    Laplace {
        scale: f64,
        c: f64,
    },
    DiscreteLaplace {
        variance: f64,
        cosh: f64,
        sinh: f64,
    },
    /// The discrete Gaussian through its Poisson dual.
    Dual {
        s2: f64,
        c: f64,
        mass: f64,
        phases: [(f64, f64); 3],
    },
    /// The discrete Gaussian, tilted far: its masses around the whole number where they are greatest.
    Far {
        ln_total: f64,
        middle: f64,
        /// For each whole number from the middle its share.
        shares: Vec<(f64, f64)>,
    },
    /// The discrete Gaussian by direct summation: `weights[k−1] = P(k) e^{kc}`, `total = ln M(c)`.
    Sum {
        c: f64,
        weights: Vec<f64>,
        total: f64,
    },
    /// Uniform on `n` consecutive whole numbers around 0.
    Uniform {
        n: f64,
        c: f64,
    },
}

impl Tilted {
    pub(super) fn new(law: NoiseLaw, c: f64) -> Tilted {
        match law {
            NoiseLaw::Gaussian { variance } => Tilted::Gaussian { variance, c },
            NoiseLaw::Laplace { scale } => Tilted::Laplace { scale, c },
            NoiseLaw::Uniform { reach } => Tilted::Uniform { n: 2.0 * reach + 1.0, c },
            NoiseLaw::DiscreteLaplace { scale } => Tilted::DiscreteLaplace {
                variance: laplace_variance(scale),
                cosh: libm::cosh(c / 2.0),
                sinh: libm::sinh(c / 2.0),
            },
            NoiseLaw::DiscreteGaussian { variance: s2 } if s2 >= DUAL_FROM => {
                let phase = |j: f64| {
                    let (sin, cos) = libm::sincos(2.0 * PI * j * s2 * c);
                    (cos, sin)
                };
                let mass = (1..=3)
                    .rev()
                    .map(|j| 2.0 * libm::exp(-2.0 * PI * PI * s2 * f64::from(j * j)))
                    .sum::<f64>();
                Tilted::Dual { s2, c, mass: libm::log1p(mass), phases: [phase(1.0), phase(2.0), phase(3.0)] }
            }
            NoiseLaw::DiscreteGaussian { variance: s2 } if s2 * c > 3.0 => {
                // −k²/2s² + kc with k = m + j is −m²/2s² + mc − j²/2s² + j(c − m/s²).
                let middle = libm::round(s2 * c);
                let rest = c - middle / s2;
                let weight = |j: f64| libm::exp(-j * j / (2.0 * s2) + j * rest);
                let last = (9.5 * s2.sqrt()).ceil() as i32 + 1;
                let mut shares: Vec<(f64, f64)> =
                    (-last..=last).map(|j| (f64::from(j), weight(f64::from(j)))).collect();
                let total: f64 = shares.iter().map(|s| s.1).sum();
                shares.iter_mut().for_each(|s| s.1 /= total);
                let ln_total = law.ln_zero() - middle * middle / (2.0 * s2) + middle * c + libm::log(total);
                Tilted::Far { ln_total, middle, shares }
            }
            NoiseLaw::DiscreteGaussian { variance: s2 } => {
                let ln = |k: f64| -k * k / (2.0 * s2);
                let mass = (1..=12).rev().map(|k| 2.0 * libm::exp(ln(f64::from(k)))).sum::<f64>();
                let norm = libm::log1p(mass);
                let last = (s2 * c + 9.5 * s2.sqrt()).ceil().min(1e5) as u32 + 1;
                let weights: Vec<f64> = (1..=last)
                    .map(|k| {
                        let k = f64::from(k);
                        libm::exp(k * c + ln(k) - norm)
                    })
                    .collect();
                let total = libm::log1p(
                    weights
                        .iter()
                        .zip(1..)
                        .map(|(w, k)| {
                            let e = libm::expm1(-f64::from(k) * c);
                            w * e * e
                        })
                        .sum(),
                );
                Tilted::Sum { c, weights, total }
            }
        }
    }

    /// `ln M(c)`.
    pub(crate) fn real(&self) -> f64 {
        match self {
            Tilted::Sum { total, .. } => *total,
            _ => self.at(0.0).re,
        }
    }

    /// A bound on `ln |M(c + it)|` from above that falls from 0 to half the period: of most laws that itself. Of the uniform one,
    /// `|sinh(ns/2)|² = sinh²(nc/2) + sin²(nt/2)` turns up and down, and is at most `cosh²(nc/2)`.
    pub(crate) fn falling(&self, t: f64) -> f64 {
        let Tilted::Uniform { n, c } = self else { return self.at(t).re };
        let ln_cosh = 0.5 * n * c + libm::log1p(libm::exp(-n * c)) - std::f64::consts::LN_2;
        let (sinh, sin) = (libm::sinh(0.5 * c), libm::sin(0.5 * t));
        let bound = ln_cosh - libm::log(*n) - 0.5 * libm::log(sinh * sinh + sin * sin);
        // Never more than at t = 0.
        bound.min(self.at(0.0).re)
    }

    /// What [`Tilted::at`] costs, in looked-up bounds.
    pub(super) fn cost(&self) -> u64 {
        match self {
            Tilted::Sum { weights, .. } => 8 + 24 * weights.len() as u64,
            Tilted::Far { shares, .. } => 8 + 12 * shares.len() as u64,
            Tilted::Dual { .. } => 24,
            _ => 12,
        }
    }

    /// `ln M(c + it)`, up to a multiple of 2πi; for the discrete laws `|t| <= π`.
    pub(super) fn at(&self, t: f64) -> Complex {
        match self {
            Tilted::Gaussian { variance, c } => {
                Complex::new(variance * (c - t) * (c + t) / 2.0, variance * c * t)
            }
            Tilted::Laplace { scale, c } => {
                let s = Complex::new(scale * c, scale * t);
                -(-(s * s)).ln_1p()
            }
            Tilted::DiscreteLaplace { variance, cosh, sinh } => {
                let (sin, cos) = libm::sincos(t / 2.0);
                let s = Complex::new(sinh * cos, cosh * sin);
                -(s * s).scale(-2.0 * variance).ln_1p()
            }
            Tilted::Dual { s2, c, mass, phases } => {
                let main = Complex::new(s2 * (c - t) * (c + t) / 2.0, s2 * c * t);
                let mut sum = Complex::ZERO;
                for (j, (cos, sin)) in (1..).zip(phases) {
                    let j = f64::from(j);
                    let base = -2.0 * PI * PI * s2 * j * j;
                    let shift = 2.0 * PI * j * s2 * t;
                    if base + shift.abs() < -50.0 {
                        break;
                    }
                    let (down, up) = (libm::exp(base - shift), libm::exp(base + shift));
                    sum = sum + Complex::new((down + up) * cos, (down - up) * sin);
                }
                let r = main + sum.ln_1p();
                Complex::new(r.re - mass, r.im)
            }
            Tilted::Uniform { n, c } => {
                // M = sinh(ns/2)/(n sinh(s/2)), and ln sinh z = z + ln(1 − e^{−2z}) − ln 2.
                let s = Complex::new(*c, t);
                if s.norm_sqr() == 0.0 {
                    return Complex::ZERO;
                }
                let ln_rest = |z: Complex| {
                    let rest = -(-z).exp_m1();
                    Complex::new(0.5 * libm::log(rest.norm_sqr()), libm::atan2(rest.im, rest.re))
                };
                let main = s.scale(0.5 * (n - 1.0)) + ln_rest(s.scale(*n)) - ln_rest(s);
                Complex::new(main.re - libm::log(*n), main.im)
            }
            Tilted::Far { ln_total, middle, shares } => {
                // The shares add up to one: Σ share (e^{ijt} − 1), for small t.
                let sum = shares.iter().fold(Complex::ZERO, |sum, (j, share)| {
                    sum + Complex::new(0.0, j * t).exp_m1().scale(*share)
                });
                sum.ln_1p() + Complex::new(*ln_total, middle * t)
            }
            Tilted::Sum { c, weights, .. } => {
                let mut sum = Complex::ZERO;
                for (w, k) in weights.iter().zip(1..) {
                    let k = f64::from(k);
                    // P(k)(e^{ks} + e^{−ks} − 2) = P(k) e^{ks} (1 − e^{−ks})²
                    let d = Complex::new(-k * c, -k * t).exp_m1();
                    let (sin, cos) = libm::sincos(k * t);
                    sum = sum + (Complex::new(cos, sin) * d * d).scale(*w);
                }
                sum.ln_1p()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noises_of_no_size_do_not_vary() {
        for none in [f64::NAN, 0.0, -1.0] {
            assert_eq!((gaussian_variance(none), laplace_variance(none)), (0.0, 0.0), "{none}");
        }
        // The square of this is no double.
        assert_eq!(gaussian_variance(1e200), 1e200);
        assert_eq!(Tilted::new(NoiseLaw::Uniform { reach: 3.0 }, 0.0).at(0.0), Complex::ZERO);
    }

    /// Tilted so far that `e^{kc}` is no double, and half way between two whole numbers: by the definition, all terms over the greatest.
    #[test]
    fn far_tilts_are_sums_around_their_middle() {
        for (s2, c) in [(0.4, 20.0), (0.4, 200.0), (0.3, 15.5), (0.01, 350.0), (0.01, 420.0), (0.05, 70.0)] {
            let noise = NoiseLaw::DiscreteGaussian { variance: s2 };
            let tilted = Tilted::new(noise, c);
            assert!(matches!(tilted, Tilted::Far { .. }));
            let ln = |k: f64| k * c - k * k / (2.0 * s2);
            let (middle, norm) =
                ((s2 * c).round(), (-30..=30).map(|k| (-f64::from(k * k) / (2.0 * s2)).exp()));
            let ks = || (-40..=40).map(|j| middle + f64::from(j));
            let sum = |t: f64| {
                ks().fold(Complex::ZERO, |sum, k| {
                    sum + Complex::new(0.0, k * t).exp().scale((ln(k) - ln(middle)).exp())
                })
            };
            let (total, norm) = (sum(0.0).re, norm.sum::<f64>().ln());
            let want = ln(middle) + total.ln() - norm;
            let mean = ks().map(|k| k * (ln(k) - ln(middle)).exp()).sum::<f64>() / total;
            let (k, slope) = noise.cumulant(c);
            assert!(
                (k / want - 1.0).abs() < 1e-13 && (tilted.real() - k).abs() == 0.0,
                "{s2} {c}: {k} {want}"
            );
            assert!((slope / mean - 1.0).abs() < 1e-13, "{s2} {c}: {slope} {mean}");
            for t in [0.0, 0.3, 2.0, 3.1] {
                let (got, want) =
                    (Complex::new(tilted.at(t).re - k, tilted.at(t).im).exp(), sum(t).scale(1.0 / total));
                assert!((got - want).norm_sqr() < 1e-24, "{s2} {c} {t}: {got:?} {want:?}");
            }
        }
    }
}
