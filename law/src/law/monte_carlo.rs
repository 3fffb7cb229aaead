//! Monte Carlo: simulated errors, sorted.
//!
//! They are errors of releases that are already public: nothing private is drawn here.

use super::generator::Generator;
use super::sums::Sum;
use super::{Group, NoiseLaw, probability};

/// The absolute values of a narrow discrete noise, to be looked up: Walker's alias method. A draw takes two random words.
struct Table {
    /// For each value the share of it that is its own, and whose the rest is.
    cells: Vec<(f64, u32)>,
}

/// Tables are made for a noise that enters this often with different weights, and of at most this standard deviation.
const RECURRING: usize = 16;
const NARROW: f64 = 500.0;
const MOST_TABLES: usize = 64;

impl Table {
    /// Of the sum of so many; all but 1e-12 of its law.
    fn new(noise: NoiseLaw, copies: u64) -> Option<Table> {
        let sigma = libm::sqrt(copies as f64 * noise.variance());
        if !noise.is_discrete() || sigma > NARROW || copies > 1 << 16 {
            return None;
        }
        let group = Group { coefficient: 1.0, copies, noise };
        let masses = probability::Mass::new(&[group], Some(1.0), 1e-12).of_absolute();
        let total: f64 = masses.iter().sum();
        let n = masses.len();
        // Vose's way: what is too little takes the rest of its cell from what is too much.
        let mut cells: Vec<(f64, u32)> =
            masses.iter().zip(0..).map(|(m, i)| (m / total * n as f64, i)).collect();
        let (mut little, mut much): (Vec<usize>, Vec<usize>) = (0..n).partition(|i| cells[*i].0 < 1.0);
        while let (Some(i), Some(&j)) = (little.pop(), much.last()) {
            cells[i].1 = j as u32;
            cells[j].0 -= 1.0 - cells[i].0;
            if cells[j].0 < 1.0 {
                much.pop();
                little.push(j);
            }
        }
        Some(Table { cells })
    }

    fn draw(&self, generator: &mut Generator) -> f64 {
        let place = generator.uniform() * self.cells.len() as f64;
        let index = place as usize;
        let (own, alias) = self.cells.get(index).copied().unwrap_or((1.0, 0));
        let value = if place - index as f64 <= own { index as f64 } else { f64::from(alias) };
        value * generator.sign()
    }
}

/// `|E|` for so many simulated errors, ascending.
pub(super) fn absolute_errors(groups: &[Group], draws: u32, seed: u64) -> Vec<f64> {
    let mut generator = Generator::new(seed);
    let mut errors = vec![0.0; draws as usize];
    // What has its own sum, and what shares a table with many others.
    let mut kinds: Vec<(NoiseLaw, u64, Vec<f64>)> = Vec::new();
    for g in groups {
        let kept = kinds.len();
        match kinds.iter_mut().find(|k| k.0 == g.noise && k.1 == g.copies) {
            Some(kind) => kind.2.push(g.coefficient),
            None if kept < MOST_TABLES => kinds.push((g.noise, g.copies, vec![g.coefficient])),
            None => {}
        }
    }
    kinds.retain(|k| k.2.len() >= RECURRING);
    let tables: Vec<(NoiseLaw, u64, Table, Vec<f64>)> = kinds
        .into_iter()
        .filter_map(|(noise, n, all)| Some((noise, n, Table::new(noise, n)?, all)))
        .collect();
    let sums: Vec<(f64, Sum)> = groups
        .iter()
        .filter(|g| !tables.iter().any(|t| t.0 == g.noise && t.1 == g.copies))
        .map(|g| (g.coefficient, Sum::new(g.noise, g.copies)))
        .collect();
    for error in &mut errors {
        let mut sum: f64 = sums.iter().map(|(a, sum)| a * sum.draw(&mut generator)).sum();
        for (.., table, coefficients) in &tables {
            sum += coefficients.iter().map(|a| a * table.draw(&mut generator)).sum::<f64>();
        }
        *error = sum.abs();
    }
    errors.sort_unstable_by(f64::total_cmp);
    errors
}

/// An upper confidence limit (three standard errors) for the point that `tau` of the `|E|` exceed;
/// infinite when the sample is too small to say.
pub(super) fn upper_quantile(sample: &[f64], tau: f64) -> f64 {
    let n = sample.len() as f64;
    let rank = libm::ceil(n * (1.0 - tau) + 3.0 * libm::sqrt(n * tau * (1.0 - tau))).max(1.0);
    sample.get(rank as usize - 1).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looked-up noises have the law of drawn ones: five standard errors at each of nine points, of 200 000 draws.
    #[test]
    fn tables_have_the_law_of_their_noise() {
        let draws = 200_000;
        for (noise, copies) in [
            (NoiseLaw::DiscreteLaplace { scale: 0.3 }, 1),
            (NoiseLaw::DiscreteLaplace { scale: 20.0 }, 3),
            (NoiseLaw::DiscreteGaussian { variance: 0.4 }, 5),
            (NoiseLaw::DiscreteGaussian { variance: 90.0 }, 1),
        ] {
            let law = crate::law::ErrorLaw::new(vec![Group { coefficient: 1.0, copies, noise }]).unwrap();
            let table = Table::new(noise, copies).unwrap();
            let mut generator = Generator::new(3);
            let mut errors: Vec<f64> = (0..draws).map(|_| table.draw(&mut generator)).collect();
            errors.sort_by(f64::total_cmp);
            for i in -4..=4 {
                let x = (f64::from(i) * 0.5 * law.std_error()).floor() + 0.5;
                let (below, p) = (errors.partition_point(|e| *e <= x) as f64 / f64::from(draws), law.cdf(x));
                let limit = 5.0 * (p * (1.0 - p) / f64::from(draws)).sqrt();
                assert!((below - p).abs() <= limit, "{noise:?} {copies} {x}: {below} {p}");
            }
        }
    }

    /// Tables are of narrow noises on the integers.
    #[test]
    fn tables_are_of_what_is_narrow() {
        let gaussian = |variance| NoiseLaw::DiscreteGaussian { variance };
        assert!(Table::new(NoiseLaw::Laplace { scale: 1.0 }, 1).is_none());
        assert!(Table::new(gaussian(150_000.0), 1).is_some() && Table::new(gaussian(150_000.0), 2).is_none());
        let rare = NoiseLaw::DiscreteLaplace { scale: 0.1 };
        assert!(Table::new(rare, 1 << 10).is_some() && Table::new(rare, 1 << 17).is_none());
    }

    /// Many noises of few kinds, with tables and without: five standard errors at each of nine points.
    #[test]
    fn simulated_errors_have_their_law() {
        let (two, three) =
            (NoiseLaw::DiscreteLaplace { scale: 2.0 }, NoiseLaw::DiscreteGaussian { variance: 3.0 });
        let group = |coefficient, copies, noise| Group { coefficient, copies, noise };
        let weights = || (0..20).map(|i| 1.0 + 0.05 * f64::from(i));
        let mut groups: Vec<Group> = weights().map(|w| group(w, 1, two)).collect();
        groups.extend(weights().map(|w| group(w, 3, two)));
        groups.extend(weights().map(|w| group(2.0 * w, 1, three)));
        groups.push(group(12.0, 5, two));
        let law = crate::law::ErrorLaw::new(groups.clone()).unwrap();
        let draws = 20_000;
        let errors = absolute_errors(&groups, draws, 9);
        for i in 1..=9 {
            let x = 0.3 * f64::from(i) * law.std_error();
            let p = 2.0 * law.sf(x);
            let above = errors.iter().filter(|e| **e > x).count() as f64 / f64::from(draws);
            let limit = 5.0 * (p * (1.0 - p) / f64::from(draws)).sqrt();
            assert!((above - p).abs() <= limit, "{x}: {above} {p}");
        }
    }

    #[test]
    fn quantiles_of_small_samples() {
        assert_eq!(upper_quantile(&[1.0, 2.0], 1.0), 1.0);
        assert_eq!(upper_quantile(&[1.0, 2.0], 0.5), f64::INFINITY);
        assert_eq!(upper_quantile(&[], 0.5), f64::INFINITY);
    }
}
