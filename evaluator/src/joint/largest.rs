//! The largest error of several figures: how many standard errors reach around *all* truths at once.
//!
//! The errors of an answer's figures are `E_i = Σ_k a_ik N_k` over common independent noises. With `Z_i = E_i/σ_i` the
//! intervals `θ̂_i ± c σ_i` cover all truths exactly when `max |Z_i| <= c`. The law of that maximum is simulated from the
//! noises themselves, so every covariance counts and nothing is taken to be normal.
//!
//! The simulation errs, and that is made to count on the safe side. Of D simulated maxima the r-th smallest is taken,
//! where r is the least rank with `P(Binomial(D, level) >= r) <= 1/1000`: whatever the law of the maximum, the
//! probability that it is below the true quantile is at most that. So with confidence 99.9 % the intervals cover
//! together with at least the stated probability. The generator's seed is fixed and public: the same question has the
//! same answer.

use super::Noise;
use crate::law::{Generator, NoiseLaw, Sum};
use crate::posterior::ln_binomial;
use std::collections::HashMap;

/// A simulated critical value.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct MaxZ {
    /// How many standard errors each interval reaches.
    pub critical: f64,
    /// How many maxima were simulated.
    pub draws: u32,
    /// The proportion of simulated maxima within the critical value: above the level by the simulation's error.
    pub covered: f64,
}

/// How often a simulation may come out too small.
const DOUBT: f64 = 1e-3;
const SEED: u64 = 20_250_101;
/// Multiplications for one simulation; one drawn noise counts as [`DRAW`].
const WORK: f64 = 6e8;
const DRAW: f64 = 40.0;
const MOST_DRAWS: f64 = 50_000.0;
/// With fewer the allowance for the simulation's error costs more than Bonferroni's inequality.
const FEWEST_DRAWS: f64 = 4_000.0;

impl MaxZ {
    /// For figures with these noises behind them, each noise with its coefficient in every figure. Figures without
    /// error do not matter. `None` when there is nothing to simulate, it would take too long, or the level is too
    /// high for it.
    pub(crate) fn simulate<'a>(
        width: usize,
        noises: impl Iterator<Item = (&'a Noise, &'a [f64])> + Clone,
        level: f64,
    ) -> Option<MaxZ> {
        let all = Draws::new(width, noises, FEWEST_DRAWS)??;
        let draws = all.draws;
        let rank = rank(draws, level)?;
        let mut maxima: Vec<f64> = Vec::with_capacity(draws as usize);
        all.each(|errors| maxima.push(errors.iter().fold(0.0f64, |most, e| most.max(e.abs()))));
        let (_, critical, _) = maxima.select_nth_unstable_by(rank - 1, f64::total_cmp);
        // Sums of the same terms in another order differ in their last digits.
        let critical = *critical * (1.0 + 1e-9);
        let covered = maxima.iter().filter(|z| **z <= critical).count() as f64 / f64::from(draws);
        Some(MaxZ { critical, draws, covered })
    }
}

/// Draws of the errors of several figures, always the same ones.
pub(super) struct Draws {
    /// The figures that have an error, each with its standard deviation.
    pub used: Vec<(usize, f64)>,
    sources: Vec<Source>,
    /// How many draws there are.
    pub draws: u32,
}

impl Draws {
    /// For figures with these noises behind them. `None` when fewer draws than so many can be afforded; `Some(None)` when there is nothing to draw.
    pub(super) fn new<'a>(
        width: usize,
        noises: impl Iterator<Item = (&'a Noise, &'a [f64])> + Clone,
        fewest: f64,
    ) -> Option<Option<Draws>> {
        let mut variances = vec![0.0; width];
        for (noise, coefficients) in noises.clone() {
            let one = noise.copies as f64 * noise.law.variance();
            variances.iter_mut().zip(coefficients).for_each(|(v, c)| *v += one * c * c);
        }
        let used: Vec<(usize, f64)> = variances
            .iter()
            .enumerate()
            .filter(|(_, v)| **v > 0.0)
            .map(|(i, v)| (i, libm::sqrt(*v)))
            .collect();
        if used.is_empty() {
            return Some(None);
        }
        let sources = sources(&used, noises);
        let effort: u64 = sources.iter().map(|s| s.sum.effort()).sum();
        let work = (sources.len() * used.len()) as f64 + DRAW * effort as f64;
        let draws = libm::floor(WORK / work).min(MOST_DRAWS);
        (draws >= fewest).then_some(Some(Draws { used, sources, draws: draws as u32 }))
    }

    /// Shows each draw: of every figure in `used` its error, in standard errors.
    pub(super) fn each(&self, mut see: impl FnMut(&[f64])) {
        let mut generator = Generator::new(SEED);
        let mut errors = vec![0.0; self.used.len()];
        for _ in 0..self.draws {
            errors.fill(0.0);
            for source in &self.sources {
                let z = source.sum.draw(&mut generator);
                if z != 0.0 {
                    errors.iter_mut().zip(&source.coefficients).for_each(|(e, c)| *e += c * z);
                }
            }
            see(&errors);
        }
    }
}

/// Equal noises that enter all figures alike, as one sum.
struct Source {
    sum: Sum,
    /// For each figure in use, in its standard errors.
    coefficients: Vec<f64>,
}

fn sources<'a>(used: &[(usize, f64)], noises: impl Iterator<Item = (&'a Noise, &'a [f64])>) -> Vec<Source> {
    let mut merged: Vec<(NoiseLaw, u64, Vec<f64>)> = Vec::new();
    let mut places: HashMap<Vec<u64>, usize> = HashMap::new();
    for (noise, coefficients) in noises {
        let mut own: Vec<f64> =
            used.iter().map(|&(i, sigma)| coefficients.get(i).map_or(0.0, |c| c / sigma)).collect();
        // The laws are symmetric: a noise may as well enter with the opposite sign everywhere.
        match own.iter().find(|c| **c != 0.0) {
            None => continue,
            Some(c) if *c < 0.0 => own.iter_mut().for_each(|c| *c = -*c),
            Some(_) => {}
        }
        let (kind, parameter) = match noise.law {
            NoiseLaw::DiscreteGaussian { variance } => (0, variance),
            NoiseLaw::DiscreteLaplace { scale } => (1, scale),
            NoiseLaw::Gaussian { variance } => (2, variance),
            NoiseLaw::Laplace { scale } => (3, scale),
            NoiseLaw::Uniform { reach } => (4, reach),
        };
        let key = [kind, parameter.to_bits()].into_iter().chain(own.iter().map(|c| c.to_bits())).collect();
        let place = *places.entry(key).or_insert(merged.len());
        match merged.get_mut(place) {
            Some((_, copies, _)) => *copies = copies.saturating_add(noise.copies),
            None => merged.push((noise.law, noise.copies, own)),
        }
    }
    merged
        .into_iter()
        .map(|(law, copies, coefficients)| Source { sum: Sum::new(law, copies), coefficients })
        .collect()
}

/// The least r with `P(Binomial(draws, level) >= r) <= DOUBT`.
fn rank(draws: u32, level: f64) -> Option<usize> {
    let mut tail = 0.0;
    let mut r = draws;
    loop {
        tail += libm::exp(ln_binomial(u64::from(draws), level, u64::from(r)));
        if tail > DOUBT {
            return (r < draws).then_some(r as usize + 1);
        }
        r = r.checked_sub(1)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::normal_upper_tail;

    fn noise(copies: u64, law: NoiseLaw) -> Noise {
        Noise { release: 0, measurement: 0, copies, law }
    }

    fn simulate(width: usize, noises: &[(Noise, Vec<f64>)], level: f64) -> Option<MaxZ> {
        MaxZ::simulate(width, noises.iter().map(|(n, c)| (n, &c[..])), level)
    }

    #[test]
    fn ranks_are_upper_confidence_limits() {
        // P(Binomial(4000, 0.9) >= r), summed the plain way.
        let r = rank(4000, 0.9).unwrap();
        let tail = |r: usize| -> f64 { (r..=4000).map(|k| ln_binomial(4000, 0.9, k as u64).exp()).sum() };
        assert!(tail(r) <= DOUBT && tail(r - 1) > DOUBT);
        assert_eq!(rank(4000, 1.0 - 1e-9), None);
        assert!(rank(100_000, 0.999).is_some());
    }

    /// Independent figures: `P(max |Z| <= c) = Π P(|Z_i| <= c)`, in closed form.
    #[test]
    fn independent_figures_have_a_closed_form() {
        let (m, level) = (8, 0.95);
        let rows = |law: NoiseLaw| -> Vec<(Noise, Vec<f64>)> {
            (0..m)
                .map(|i| {
                    let mut c = vec![0.0; m];
                    c[i] = (i + 1) as f64;
                    (noise(1, law), c)
                })
                .collect()
        };
        // Laplace: P(|Z| <= c) = 1 − e^{−√2 c}. Normal: 1 − 2Q(c).
        let laplace = |c: f64| (1.0 - (-(2.0f64.sqrt()) * c).exp()).powi(m as i32);
        let normal = |c: f64| (1.0 - 2.0 * normal_upper_tail(c)).powi(m as i32);
        let cases: [(NoiseLaw, &dyn Fn(f64) -> f64); 2] =
            [(NoiseLaw::Laplace { scale: 3.0 }, &laplace), (NoiseLaw::Gaussian { variance: 9.0 }, &normal)];
        for (law, truth) in cases {
            let z = simulate(m, &rows(law), level).unwrap();
            let covers = truth(z.critical);
            // Above the level, by no more than the stated error twice over.
            assert!(covers >= level && covers <= level + 2.0 * (z.covered - level), "{law:?} {z:?} {covers}");
            assert!(z.covered > level && z.covered < level + 0.01);
            assert_eq!(simulate(m, &rows(law), level), Some(z), "the same question has the same answer");
        }
    }

    /// Small discrete noise that enters several figures: the maximum's law by enumeration of all noises.
    #[test]
    fn shared_discrete_noises_are_enumerated() {
        let law = NoiseLaw::DiscreteGaussian { variance: 0.6 };
        let coefficients = [vec![1.0, 1.0, 1.0], vec![1.0, -1.0, 0.0], vec![0.0, 2.0, 1.0]];
        let noises: Vec<_> = coefficients.iter().map(|c| (noise(1, law), c.clone())).collect();
        let mass = |k: i32| (-f64::from(k * k) / 1.2).exp();
        let total: f64 = (-9..=9).map(mass).sum();
        let sigma: Vec<f64> = (0..3)
            .map(|i| (coefficients.iter().map(|c| c[i] * c[i]).sum::<f64>() * law.variance()).sqrt())
            .collect();
        let covers = |c: f64| -> f64 {
            let mut sum = 0.0;
            for a in -9..=9 {
                for b in -9..=9 {
                    for d in -9..=9 {
                        let z = [a, b, d].map(f64::from);
                        let inside = (0..3).all(|i| {
                            let e: f64 = coefficients.iter().zip(z).map(|(c, z)| c[i] * z).sum();
                            e.abs() <= c * sigma[i]
                        });
                        if inside {
                            sum += mass(a) * mass(b) * mass(d) / total.powi(3);
                        }
                    }
                }
            }
            sum
        };
        for level in [0.5, 0.8, 0.95, 0.99] {
            let z = simulate(3, &noises, level).unwrap();
            assert!(covers(z.critical) >= level, "{level} {z:?}");
            // The next smaller possible maximum would not do, unless the level is met within the error.
            let below = covers(z.critical * (1.0 - 1e-6));
            assert!(below < level + 2.0 * (z.covered - level).abs() + 0.004, "{level} {z:?} {below}");
        }
    }

    /// One noise behind every figure: all intervals are one interval, and no wider than that.
    #[test]
    fn figures_that_err_together_cost_nothing() {
        let one = [(noise(1, NoiseLaw::Gaussian { variance: 4.0 }), vec![1.0, -3.0, 0.5, 0.0, 7.0])];
        let z = simulate(5, &one, 0.95).unwrap();
        assert!(z.critical > 1.959 && z.critical < 2.0, "{z:?}");
        assert_eq!(
            simulate(2, &[(noise(1, NoiseLaw::Gaussian { variance: 0.0 }), vec![1.0, 1.0])], 0.9),
            None
        );
        assert_eq!(simulate(5, &one, 1.0 - 1e-9), None);
    }
}
