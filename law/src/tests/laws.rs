//! Every figure of laws that each engine answers for.

use super::Digits;
use crate::law::NoiseLaw::{DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Uniform};
use crate::law::{ErrorLaw, Generator, Interval, Method, NoiseLaw, Sum, Term};
use std::f64::consts::{PI, SQRT_2};

type Terms = Vec<(f64, u64, NoiseLaw)>;

fn dg(variance: f64) -> NoiseLaw {
    DiscreteGaussian { variance }
}

fn dl(scale: f64) -> NoiseLaw {
    DiscreteLaplace { scale }
}

fn lap(scale: f64) -> NoiseLaw {
    Laplace { scale }
}

fn law(terms: &Terms) -> ErrorLaw {
    let term = |&(coefficient, copies, noise): &(f64, u64, NoiseLaw)| Term { coefficient, copies, noise };
    ErrorLaw::new(terms.iter().map(term).collect()).unwrap()
}

fn yes(whether: bool) -> f64 {
    f64::from(u8::from(whether))
}

/// Half-widths and intervals at these levels, and what is compared with them.
fn widths(digits: &mut Digits, law: &ErrorLaw, levels: &[f64]) {
    for level in levels {
        let w = law.half_width(*level);
        let ((low, high), engine) = law.interval_by(*level, Interval::Shortest);
        let nearly = [0.9, 0.999, 1.001, 1.1].map(|by| {
            let reaches = law.reaches(by * w, *level).map_or(0.5, yes);
            10.0 * yes(law.may_reach(by * w, *level)) + reaches
        });
        digits.say(&format!("  {level}, {engine}:"), [w, low, high, law.half_width_bound(*level)]);
        digits.say("   ", nearly);
    }
}

/// Probabilities and densities at so many standard errors.
fn points(digits: &mut Digits, law: &ErrorLaw, far: &[f64]) {
    let xs: Vec<f64> = far.iter().map(|z| z * law.std_error()).collect();
    let (ln, bounds) = law.ln_density_or_bound(&xs);
    let above = law.ln_density_bounds(&xs);
    digits.say("  bounds in place of densities:", [bounds as f64]);
    for (i, x) in xs.iter().enumerate() {
        let probabilities = [law.sf(*x), law.cdf(-x), law.cdf(*x), law.pmf(*x)];
        digits.say(
            &format!("  at {x:e}:"),
            probabilities.into_iter().chain([ln[i], law.ln_mass_bound(*x), above[i]]),
        );
    }
}

/// Both tails at so many standard errors.
fn tails(digits: &mut Digits, law: &ErrorLaw, far: &[f64]) {
    for x in far.iter().map(|z| z * law.std_error()) {
        digits.say("  above:", [law.sf(x), law.cdf(-x)]);
    }
}

fn head(digits: &mut Digits, terms: &Terms, law: &ErrorLaw) {
    let head = [law.variance(), law.std_error(), law.lattice().unwrap_or(0.0)];
    let first: Vec<_> = terms.iter().take(4).collect();
    digits.say(&format!("{} {first:?}:", terms.len()), head);
}

const LEVELS: [f64; 4] = [0.3, 0.9, 0.95, 0.999_999];
const FAR: [f64; 6] = [0.0, 0.37, 1.3, 2.9, 7.5, 30.0];

fn say(digits: &mut Digits, terms: Terms, work: u64, levels: &[f64], far: &[f64]) {
    let law = law(&terms).sharing(work);
    head(digits, &terms, &law);
    widths(digits, &law, levels);
    points(digits, &law, far);
}

#[test]
fn in_closed_form() {
    let mut digits = Digits::default();
    for terms in [
        vec![],
        vec![(1.0, 1, dg(0.01))],
        vec![(1.0, 1, dg(0.3))],
        vec![(0.5, 1, dg(40.0))],
        vec![(1.0, 1, dg(3e6))],
        vec![(3.0, 1, dl(0.4))],
        vec![(1.0, 1, dl(12.5))],
        vec![(0.7, 1, lap(3.0))],
        vec![(3.0, 4, Gaussian { variance: 0.25 }), (4.0, 1, Gaussian { variance: 1.0 })],
    ] {
        say(&mut digits, terms, 1, &LEVELS, &FAR);
    }
    digits.are_those_of("closed-forms.txt");
}

#[test]
fn on_lattices() {
    let mut digits = Digits::default();
    for terms in [
        vec![(1.0, 3, dl(1.5))],
        vec![(1.0, 2, dg(0.2)), (3.0, 1, dg(1.5))],
        vec![(0.7, 1, dg(0.1)), (0.1, 4, dg(0.6)), (0.2, 1, dl(0.5))],
        vec![(1.0 / 3.0, 40, dl(6.0)), (1.0, 5, dl(2.0))],
        vec![(10.0, 1, dl(0.3)), (3.0, 1, dg(0.25))],
        vec![(1.0, 1, dg(0.03)), (2.0, 1, dg(0.02))],
        vec![(1.0, 20, dg(3.0)), (2.0, 1, Uniform { reach: 20.0 })],
    ] {
        say(&mut digits, terms, 1, &LEVELS, &FAR);
    }
    digits.are_those_of("lattices.txt");
}

#[test]
fn with_continuous_noise() {
    let mut digits = Digits::default();
    for terms in [
        vec![(2.0, 2, lap(1.5))],
        vec![(3.0, 1, lap(1.0)), (1.0, 1, lap(1.0)), (0.2, 1, lap(1.0)), (7.0, 1, lap(1.0))],
        vec![(1.0, 1, lap(1.3)), (1.0, 1, Gaussian { variance: 0.49 })],
        vec![(PI, 12, dg(2.0)), (1.0, 5, lap(3.0))],
        vec![(1.0, 1, lap(1.0)), (1e-4, 1, lap(1.0))],
        vec![
            (1.0, 2, dl(1.5)),
            (SQRT_2, 1, dg(2.0)),
            (0.5, 3, lap(0.8)),
            (2.0, 1, Gaussian { variance: 0.3 }),
        ],
    ] {
        say(&mut digits, terms, 8, &[0.5, 0.95], &FAR);
    }
    digits.are_those_of("continuous.txt");
}

#[test]
fn nearly_normal() {
    let mut digits = Digits::default();
    for terms in [
        vec![(1.0, 1, dg(1e8)), (SQRT_2, 3, dg(4e7))],
        vec![(1.0, 30, dg(1e6)), (0.001, 1, dg(5.0))],
        vec![(1e-20, 3, dg(1e8))],
    ] {
        let law = law(&terms).sharing(50);
        head(&mut digits, &terms, &law);
        widths(&mut digits, &law, &LEVELS);
    }
    digits.are_those_of("nearly-normal.txt");
}

#[test]
fn by_their_values() {
    let mut digits = Digits::default();
    for terms in [
        vec![(1.0, 1, dg(1.0)), (SQRT_2, 1, dg(2.0))],
        vec![(1.0, 2, dl(0.4)), (SQRT_2, 1, dl(0.7)), (PI, 3, dg(0.2))],
        vec![(1.0, 1, dg(0.15)), (0.77, 300, dg(0.03)), (SQRT_2, 5, dg(0.1))],
    ] {
        let law = law(&terms);
        head(&mut digits, &terms, &law);
        widths(&mut digits, &law, &LEVELS);
        tails(&mut digits, &law, &FAR);
    }
    digits.are_those_of("values.txt");
}

#[test]
fn smoothed() {
    let mut digits = Digits::default();
    for terms in [
        vec![(1.0, 20, dl(2.0)), (SQRT_2, 10, dl(1.0))],
        vec![(1.0, 1, dg(900.0)), (SQRT_2, 2, dl(40.0)), (PI, 1, dg(50.0))],
        vec![(1.0, 1, dl(300.0)), (0.77 * SQRT_2, 7, dg(90.0)), (1.7, 1, Uniform { reach: 20.0 })],
    ] {
        say(&mut digits, terms, 16, &[0.5, 0.95], &[0.0, 1.3, 2.9, 7.5]);
    }
    digits.are_those_of("smoothed.txt");
}

/// As many noises as plans have.
#[test]
fn of_many_noises() {
    let mut digits = Digits::default();
    let weight = |i: u32| 1.0 + (f64::from(i) * SQRT_2).fract();
    for noise in [dl(0.2), dg(0.1), dl(3.0), lap(2.0), Gaussian { variance: 3.0 }] {
        let mut terms: Terms = (0..120).map(|i| (weight(i), u64::from(1 + i % 3), noise)).collect();
        terms.push((9.0, 1, dl(4.0)));
        say(&mut digits, terms, 16, &[0.95], &[0.0, 1.3]);
    }
    digits.are_those_of("many.txt");
}

/// Of noises that are mostly 0: a lattice of our own.
#[test]
fn of_many_that_are_mostly_zero() {
    let mut digits = Digits::default();
    let weight = |i: u32| 1.0 + (f64::from(i) * SQRT_2).fract();
    for (noise, other) in [(dl(0.2), dg(0.08)), (dg(0.1), dg(0.1))] {
        let terms: Terms =
            (0..1500).map(|i| (weight(i), 1, if i % 4 == 0 { other } else { noise })).collect();
        let law = law(&terms);
        head(&mut digits, &terms, &law);
        digits.say("  half-widths:", [0.5, 0.95].map(|level| law.half_width(level)));
        digits.say("  above:", [0.5, 2.0].map(|z| law.sf(z * law.std_error())));
    }
    digits.are_those_of("mostly-zero.txt");
}

#[test]
fn by_other_methods() {
    let mut digits = Digits::default();
    let cases: [Terms; 4] = [
        vec![(1.0, 5, dl(2.0)), (1.0 / 3.0, 4, dl(6.0))],
        vec![(1.0, 7, dl(0.5)), (SQRT_2, 10, dg(1.0))],
        vec![(1.0, 8, lap(2.0)), (0.3, 20, dg(6.0))],
        vec![
            (1.0, 2, dg(0.3)),
            (1.0, 9, dg(0.2)),
            (2.0, 1, Uniform { reach: 7.0 }),
            (0.5, 1, Gaussian { variance: 2.0 }),
        ],
    ];
    for terms in cases {
        for method in [Method::Pc { gamma: 1e-6 }, Method::Mc { draws: 300, seed: 7 }] {
            let law = law(&terms).with_method(method).unwrap();
            head(&mut digits, &terms, &law);
            widths(&mut digits, &law, &[0.5, 0.95]);
            tails(&mut digits, &law, &[0.0, 0.5, 1.7]);
        }
    }
    digits.are_those_of("other-methods.txt");
}

#[test]
fn draws() {
    let (mut digits, mut generator) = (Digits::default(), Generator::new(11));
    for (noise, copies) in [
        (dg(0.3), 40),
        (dg(0.3), 2),
        (dg(2.0), 9),
        (dg(30.0), 50),
        (dl(0.4), 12),
        (dl(3.0), 3),
        (dl(50.0), 200),
        (lap(2.0), 8),
        (lap(2.0), 1),
        (Gaussian { variance: 2.0 }, 5),
        (Uniform { reach: 7.0 }, 2),
    ] {
        let sum = Sum::new(noise, copies);
        digits.say(
            &format!("{copies} {noise:?}, {}:", sum.effort()),
            (0..12).map(|_| sum.draw(&mut generator)),
        );
    }
    digits.are_those_of("draws.txt");
}
