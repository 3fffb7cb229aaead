//! Against simulation: noise is drawn, shifted to where the loss is large, and weighed by how much likelier that made it.

use super::*;
use crate::law::{Generator, NoiseLaw};

/// The mean of so many draws of `(1 − e^{ε−ρ−S})₊`, and its standard error.
fn simulated(moved: &[Moved], epsilon: f64, draws: u32, seed: u64) -> (f64, f64) {
    let rho: f64 = moved.iter().map(|m| m.copies as f64 * (m.by * m.by) as f64 / (2.0 * m.variance)).sum();
    let x = epsilon - rho;
    let tilt = (x + rho.sqrt()) / (2.0 * rho);
    let mut generator = Generator::new(seed);
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..draws {
        let (mut loss, mut ln_weight) = (0.0, 0.0);
        for m in moved {
            let shift = (m.by as f64 * tilt).round();
            for _ in 0..m.copies {
                let k = shift + generator.draw(&NoiseLaw::DiscreteGaussian { variance: m.variance });
                loss += m.by as f64 * k / m.variance;
                ln_weight += shift * (shift - 2.0 * k) / (2.0 * m.variance);
            }
        }
        let value = if loss > x { -(x - loss).exp_m1() * ln_weight.exp() } else { 0.0 };
        sum += value;
        squares += value * value;
    }
    let mean = sum / f64::from(draws);
    (mean, ((squares / f64::from(draws) - mean * mean) / f64::from(draws)).sqrt())
}

#[test]
fn laws_of_whole_plans_as_simulated() {
    let tables: Vec<Moved> = (0..28).map(|i| one(1, 1, 9.0 + f64::from(i * i) / 50.0)).collect();
    let census = [one(1, 1, 1.3), one(1, 4, 4.0), one(3, 2, 40.0), one(1, 40, 21.0)];
    let cases: [(&str, &[Moved], f64); 6] = [
        ("pairs of Adult", &pairs(&ADULT, 0.0164), 1.0),
        ("pairs of Adult, large", &pairs(&ADULT, 1.061), 10.0),
        ("pairs of NLTCS", &pairs(&NLTCS, 0.2236), 4.0),
        ("pairs of NLTCS, often", &pairs(&NLTCS, 0.5), 1.0),
        ("tables of their own scales", &tables, 8.0),
        ("all sorts", &census, 9.0),
    ];
    for (seed, (name, moved, epsilon)) in (1..).zip(cases) {
        let noises: u64 = moved.iter().map(|m| m.copies).sum();
        let draws = tries(500_000, 20_000_000) as u64 / noises + 1;
        let (mean, error) = simulated(moved, epsilon, draws as u32, seed);
        let found = loss(moved).delta(epsilon);
        println!("{name}: {:e} {mean:e} ± {error:e}", found.above);
        assert!(
            (mean - found.above).abs() < 4.5 * error + found.excess,
            "{name}: {found:?} {mean:e} ± {error:e}"
        );
        assert!(error < 0.25 * mean, "{name}: {mean:e} ± {error:e}");
    }
}
