//! The digits of what laws are made of, where no law shows them: coarse noise, large tilts, bounds that are hardly ever the best. See [`crate::tests`].

use super::*;
use crate::tests::Digits;

fn noises() -> Vec<NoiseLaw> {
    let mut all: Vec<NoiseLaw> =
        [0.02, 0.3, 0.5, 2.0, 40.0].map(|variance| NoiseLaw::DiscreteGaussian { variance }).into();
    all.extend([0.1, 1.0, 30.0].map(|scale| NoiseLaw::DiscreteLaplace { scale }));
    all.extend([0.3, 7.0].map(|scale| NoiseLaw::Laplace { scale }));
    all.push(NoiseLaw::Gaussian { variance: 3.0 });
    all.extend([1.0, 20.0, 400.0].map(|reach| NoiseLaw::Uniform { reach }));
    all
}

#[test]
fn of_noises() {
    let mut digits = Digits::default();
    for noise in noises() {
        let known = [noise.variance(), noise.std(), noise.ln_zero(), noise.max_tilt(), noise.parameter()];
        digits.say(&format!("{noise:?}:"), known);
        for c in [1e-6, 1e-4, 4e-3, 0.05, 0.7, 2.5, 9.0].into_iter().filter(|c| *c < 0.99 * noise.max_tilt())
        {
            let (k, slope) = noise.cumulant(c);
            let tilted = noise::Tilted::new(noise, c);
            digits.say(&format!("  {c}"), [k, slope, tilted.real(), tilted.cost() as f64]);
            for t in [1e-3, 0.4, 1.9, 3.1, 17.0] {
                let at = tilted.at(t);
                digits.say(&format!("    {t}"), [at.re, at.im, tilted.falling(t)]);
            }
        }
    }
    digits.are_those_of("noises.txt");
}

#[test]
fn of_normal_bounds() {
    let mut digits = Digits::default();
    let term = |coefficient, copies, noise| Term { coefficient, copies, noise };
    let gauss = |variance| NoiseLaw::Gaussian { variance };
    let coarse = |variance| NoiseLaw::DiscreteGaussian { variance };
    for terms in [
        vec![term(2.0, 3, gauss(0.7)), term(1.0, 2, gauss(3.0))],
        vec![term(1.0, 1, coarse(0.3))],
        vec![term(1.0, 5, coarse(0.3)), term(0.7, 3, coarse(0.4))],
        vec![term(1.0, 400, coarse(1.0)), term(3.0, 20, gauss(0.4))],
        vec![term(1.5, 30, coarse(4.0)), term(0.2, 1, coarse(90.0))],
        vec![term(1.0, 1, coarse(1e6))],
        vec![term(1.0, 1, NoiseLaw::Laplace { scale: 1.0 })],
    ] {
        let found = [0.5, 0.1, 0.05, 1e-6].map(|tau| normal::conservative_half_width(&terms, tau));
        digits.say(&format!("{terms:?}:"), found.into_iter().flatten());
    }
    for p in [0.0, 1e-300, 0.025, 0.3, 0.5, 0.7, 0.999, 1.0, f64::NAN] {
        digits.say(&format!("{p:e}"), [normal::upper_quantile(p), normal::upper_tail(8.0 * p - 3.0)]);
    }
    digits.are_those_of("normal-bounds.txt");
}

#[test]
fn of_spacings() {
    let mut digits = Digits::default();
    for coefficients in [
        vec![1.0],
        vec![1.0, 0.5, 0.25],
        vec![1.0 / 3.0, 0.25, 0.1],
        vec![7.0 / 9.0, 5.0 / 12.0, 1e-3],
        vec![6.0, 4.0, 1.5],
        vec![1e6 / 7.0, 1.0 / 7.0],
        vec![1.0, std::f64::consts::SQRT_2],
        vec![1.0, 1e-13],
    ] {
        let found = lattice::spacing(&coefficients);
        let numbers =
            found.into_iter().flat_map(|(h, by)| std::iter::once(h).chain(by.into_iter().map(|n| n as f64)));
        digits.say(&format!("{coefficients:?}:"), numbers);
    }
    digits.are_those_of("spacings.txt");
}
