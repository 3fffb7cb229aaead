//! Simulated sums of many equal noises, at the cost of about one.
//!
//! * Discrete Gaussians with `s² >= 4`: the sum of n is again one, with parameter `n s²`. Two of parameters u and v convolve to
//!   `e^{−k²/2(u+v)} Σ_j e^{−(j−c_k)²/2τ}`, `τ = uv/(u+v)`; by Poisson summation the second factor is the same for
//!   every k to within `1 ± 2e^{−2π²τ}`, and `τ >= s²/2`: 2e-17 a noise.
//! * Discrete Laplace: the difference of two negative binomials, each a Poisson count of a gamma mean.
//! * Laplace: the difference of two gammas. Normal: one normal.
//! * Narrower discrete Gaussians: by their convolved masses (all but 1e-12 of them).

use super::generator::Generator;
use super::{Group, NoiseLaw, probability};

/// From this parameter on sums of discrete Gaussians are taken to be discrete Gaussians.
const CLOSED: f64 = 4.0;
/// Up to this many noises are drawn one by one.
const FEW: u64 = 6;

/// The law of a sum of equal noises, ready to be drawn from.
#[derive(Debug, Clone)]
pub enum Sum {
    /// One noise after the other.
    Each(NoiseLaw, u64),
    /// The difference of two gammas of whole shape.
    Gammas {
        /// How many noises.
        shape: f64,
        /// Of one noise.
        scale: f64,
    },
    /// The difference of two Poisson counts of gamma means.
    Counts {
        /// How many noises.
        shape: f64,
        /// The odds of going on.
        scale: f64,
    },
    /// `P(|E| > k)` for k from 0.
    Masses(probability::Mass),
}

impl Sum {
    /// Of so many noises of this law.
    pub fn new(noise: NoiseLaw, copies: u64) -> Sum {
        let n = copies as f64;
        match noise {
            NoiseLaw::Gaussian { variance } => Sum::Each(NoiseLaw::Gaussian { variance: n * variance }, 1),
            NoiseLaw::DiscreteGaussian { variance } if variance >= CLOSED => {
                Sum::Each(NoiseLaw::DiscreteGaussian { variance: n * variance }, 1)
            }
            _ if copies <= FEW => Sum::Each(noise, copies),
            NoiseLaw::Uniform { .. } => Sum::Each(noise, copies),
            NoiseLaw::Laplace { scale } => Sum::Gammas { shape: n, scale },
            // A geometric count has odds q/(1−q) of going on.
            NoiseLaw::DiscreteLaplace { scale } => {
                Sum::Counts { shape: n, scale: 1.0 / libm::expm1(1.0 / scale) }
            }
            NoiseLaw::DiscreteGaussian { .. } => {
                let group = Group { coefficient: 1.0, copies, noise };
                Sum::Masses(probability::Mass::new(&[group], Some(1.0), 1e-12))
            }
        }
    }

    /// How many noises one draw simulates one by one.
    pub fn effort(&self) -> u64 {
        match self {
            Sum::Each(_, copies) => *copies,
            _ => FEW,
        }
    }

    /// One sum.
    pub fn draw(&self, generator: &mut Generator) -> f64 {
        match self {
            Sum::Each(noise, copies) => (0..*copies).map(|_| generator.draw(noise)).sum(),
            Sum::Gammas { shape, scale } => scale * (gamma(generator, *shape) - gamma(generator, *shape)),
            Sum::Counts { shape, scale } => {
                let (up, down) = (gamma(generator, *shape), gamma(generator, *shape));
                poisson(generator, scale * up) - poisson(generator, scale * down)
            }
            Sum::Masses(mass) => mass.absolute(generator.uniform()) * generator.sign(),
        }
    }
}

/// A gamma variable of shape at least 1 and scale 1 (Marsaglia & Tsang 2000).
fn gamma(generator: &mut Generator, shape: f64) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    let normal = NoiseLaw::Gaussian { variance: 1.0 };
    loop {
        let x = generator.draw(&normal);
        let t = 1.0 + c * x;
        if t <= 0.0 {
            continue;
        }
        let v = t * t * t;
        if libm::log(generator.uniform()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

/// A Poisson count: products of uniforms for small means, Hörmann's transformed rejection (PTRS, 1993) for others.
fn poisson(generator: &mut Generator, mean: f64) -> f64 {
    if mean < 10.0 {
        let (limit, mut product, mut count) = (libm::exp(-mean), generator.uniform(), 0.0);
        while product > limit {
            product *= generator.uniform();
            count += 1.0;
        }
        return count;
    }
    let root = libm::sqrt(mean);
    let b = 0.931 + 2.53 * root;
    let a = -0.059 + 0.02483 * b;
    let squeeze = 0.9277 - 3.6224 / (b - 2.0);
    let ln_alpha = libm::log(1.1239 + 1.1328 / (b - 3.4));
    loop {
        let u = generator.uniform() - 0.5;
        let v = generator.uniform();
        let us = 0.5 - u.abs();
        let k = libm::floor((2.0 * a / us + b) * u + mean + 0.43);
        if us >= 0.07 && v <= squeeze {
            return k;
        }
        if k < 0.0 || (us < 0.013 && v > us) {
            continue;
        }
        let left = libm::log(v) + ln_alpha - libm::log(a / (us * us) + b);
        if left <= -mean + k * libm::log(mean) - libm::lgamma(k + 1.0) {
            return k;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ErrorLaw, Term};
    use super::*;

    /// Hörmann's counts as they are without what only saves time: no squeeze, and no early refusal but of what is negative.
    fn plain_poisson(generator: &mut Generator, mean: f64) -> f64 {
        let b = 0.931 + 2.53 * mean.sqrt();
        let a = -0.059 + 0.02483 * b;
        let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        loop {
            let (u, v) = (generator.uniform() - 0.5, generator.uniform());
            let us = 0.5 - u.abs();
            let k = ((2.0 * a / us + b) * u + mean + 0.43).floor();
            let ln_mass = k * mean.ln() - mean - libm::lgamma(k + 1.0);
            if k >= 0.0 && (v * inverse_alpha / (a / (us * us) + b)).ln() <= ln_mass {
                return k;
            }
        }
    }

    /// Shortcuts change no count, and the counts have the law of Poisson: five standard errors of every one that is expected ten times.
    #[test]
    fn counts_are_those_of_poisson() {
        let draws = 200_000;
        for mean in [0.3, 4.0, 10.0, 13.7, 80.0] {
            let (mut generator, mut plain) = (Generator::new(4), Generator::new(4));
            let mut counts = vec![0u32; 400];
            for _ in 0..draws {
                let k = poisson(&mut generator, mean);
                counts[k as usize] += 1;
                assert!(mean < 10.0 || plain_poisson(&mut plain, mean) == k, "{mean}: {k}");
            }
            for (k, count) in (0..).map(f64::from).zip(counts) {
                let p = (k * mean.ln() - mean - libm::lgamma(k + 1.0)).exp();
                let (n, count) = (f64::from(draws), f64::from(count));
                let limit = 5.0 * (n * p).sqrt() + 5.0;
                assert!((count - n * p).abs() <= limit, "{mean} {k}: {count} {}", n * p);
            }
        }
    }

    /// Five standard errors of a proportion at every tenth of the law; a law 3 % wider is found out.
    #[test]
    fn sums_have_the_law_of_sums() {
        let cases = [
            (NoiseLaw::DiscreteGaussian { variance: 0.3 }, 40),
            (NoiseLaw::DiscreteGaussian { variance: 2.0 }, 9),
            (NoiseLaw::DiscreteGaussian { variance: 4.0 }, 3),
            (NoiseLaw::DiscreteGaussian { variance: 30.0 }, 50),
            (NoiseLaw::DiscreteLaplace { scale: 0.4 }, 12),
            (NoiseLaw::DiscreteLaplace { scale: 3.0 }, 7),
            (NoiseLaw::DiscreteLaplace { scale: 50.0 }, 200),
            (NoiseLaw::Laplace { scale: 2.0 }, 8),
            (NoiseLaw::Gaussian { variance: 2.0 }, 5),
        ];
        for (noise, copies) in cases {
            let law = ErrorLaw::new(vec![Term { coefficient: 1.0, copies, noise }]).unwrap();
            let sum = Sum::new(noise, copies);
            let mut generator = Generator::new(5);
            let draws = 200_000;
            let mut errors: Vec<f64> = (0..draws).map(|_| sum.draw(&mut generator)).collect();
            errors.sort_by(f64::total_cmp);
            let misses = |factor: f64| {
                (-9..=9)
                    .filter(|i| {
                        // Between lattice points, where there are any.
                        let x = (f64::from(*i) * 0.2 * law.std_error()).floor() + 0.5;
                        let below = errors.partition_point(|e| *e * factor <= x) as f64 / f64::from(draws);
                        let p = law.cdf(x);
                        (below - p).abs() > 5.0 * (p * (1.0 - p) / f64::from(draws)).sqrt()
                    })
                    .count()
            };
            assert_eq!(misses(1.0), 0, "{noise:?} {copies}");
            if law.std_error() > 30.0 {
                assert!(misses(1.03) > 4, "{noise:?} {copies}");
            }
        }
    }
}
