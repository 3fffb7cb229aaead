//! The bounds themselves: on samples of known laws they are too large as seldom as they say, and find what they say that they find.

use crate::audit::normal::{Scatter, rough};
use crate::audit::parts::{Noises, Paid};
use crate::audit::samples::{Column, Sample};
use crate::audit::threshold::{self, Claimed};
use margins::law::normal_upper_quantile as normal;
use margins::numeric::dice::Dice;
use margins::numeric::tries::tries;

/// Normal numbers.
fn gaussian(dice: &mut Dice) -> f64 {
    normal((dice.unit() + 1e-17).min(1.0 - 1e-17))
}

/// A discrete Laplace number: the difference of two geometric ones.
fn laplace(dice: &mut Dice, scale: f64) -> f64 {
    let mut one = || (-scale * (1.0 - dice.unit()).ln()).floor();
    one() - one()
}

/// Releases of three numbers whose noises depend on each other, of which the first moves by `shift`.
fn normals(dice: &mut Dice, n: usize, shift: f64) -> Sample {
    let row = |_| {
        let [a, b, c] = [(); 3].map(|()| gaussian(dice));
        [a + b + shift, b - 0.5 * c, 3.0 * c + a]
    };
    Sample::new(3, (0..n).flat_map(row).collect())
}

/// How far apart a shift of 1 is: `δᵀΣ⁻¹δ` of those three, with Σ = M Mᵀ and so `‖M⁻¹δ‖²`.
fn apart() -> f64 {
    // M⁻¹e₁ for M = [[1, 1, 0], [0, 1, −1/2], [1, 0, 3]]: x + y = 1, y = z/2, x = −3z.
    let z: f64 = 1.0 / (0.5 - 3.0);
    ((3.0 * z).powi(2) + (0.5 * z).powi(2) + z * z).sqrt()
}

/// A share of runs, and how much it may be by chance: 4.5 standard errors.
fn near(k: usize, n: usize, p: f64) -> f64 {
    let n = n as f64;
    (k as f64 / n - p) / (4.5 * (p * (1.0 - p) / n).sqrt())
}

#[test]
fn normal_bounds_are_too_large_as_seldom_as_they_say() {
    let (runs, n, alpha, power) = (tries(300, 2000), 60, 0.2, 0.9);
    let (mut dice, mut wrong, mut tenth, mut found) = (Dice::new(3), 0, 0, 0);
    let limit = 50.0;
    for _ in 0..runs {
        let bound = |dice: &mut Dice, distance: f64| {
            let (a, b) = (normals(dice, n, 0.0), normals(dice, n, distance / apart()));
            let scatter = Scatter::of(&[&a, &b]);
            let shift: Vec<f64> = b.means().iter().zip(a.means()).map(|(b, a)| b - a).collect();
            (scatter.bound(&shift, (n, n), alpha).1, scatter.detected(limit, (n, n), alpha, power))
        };
        let (least, detected) = bound(&mut dice, limit);
        wrong += usize::from(least > limit);
        // The same, were the bound a seventh larger.
        tenth += usize::from(8.0 / 7.0 * least > limit);
        found += usize::from(bound(&mut dice, detected).0 > limit);
    }
    assert!(near(wrong, runs, alpha) < 1.0, "{wrong} of {runs}");
    assert!(near(tenth, runs, alpha) > 1.0, "a bound that is a seventh too large would pass: {tenth}");
    assert!(near(found, runs, power) > -1.0, "{found} of {runs} were found");
}

#[test]
fn bounds_of_tails_are_too_large_as_seldom_as_they_say() {
    let (runs, n, alpha, power, scale) = (tries(300, 2000), 400, 0.2, 0.9, 3.0);
    let columns = [Column { part: 0, terms: vec![(0, 1.0)] }, Column { part: 1, terms: vec![(1, 1.0)] }];
    let (mut dice, mut wrong, mut tenth, mut found, mut dependent) = (Dice::new(5), 0, 0, 0, 0);
    for _ in 0..runs {
        let added = |dice: &mut Dice, times: f64| {
            let draw = |_| [laplace(dice, scale / times), laplace(dice, 2.0 * scale / times)];
            let sample = Sample::new(2, (0..n).flat_map(draw).collect());
            let noises = Noises::of(&[&sample]);
            let dependent = noises.dependence(alpha).is_some();
            let added = noises.added(&columns, (&[1.0, 1.0], &[0.0, 0.0]), (Paid::Epsilon, alpha));
            (added.least, noises.detected(&added, 1.5 / scale, power), dependent)
        };
        let claim = 1.5 / scale;
        let (least, detected, depends) = added(&mut dice, 1.0);
        dependent += usize::from(depends);
        wrong += usize::from(least > claim);
        tenth += usize::from(8.0 / 7.0 * least > claim);
        found += usize::from(added(&mut dice, detected / claim).0 > claim);
    }
    assert!(near(wrong, runs, alpha) < 1.0, "{wrong} of {runs}");
    assert!(near(tenth, runs, alpha) > 1.0, "a bound that is a seventh too large would pass: {tenth}");
    assert!(near(found, runs, power) > -1.0, "{found} of {runs} were found");
    assert!(near(dependent, runs, alpha) < 1.0, "{dependent} of {runs} are said to depend");
}

/// So many columns of few releases each that tails around the mean of each column, which seem to fall faster by a hundredth, would be too large in more
/// than half of all runs.
#[test]
fn bounds_of_tails_of_few_releases_are_too_large_as_seldom_as_they_say() {
    let (runs, n, alpha, power) = (tries(100, 1000), 100, 0.2, 0.9);
    for (scale, width) in [(20.0, 640), (60.0, 640), (5.0, 320)].into_iter().take(tries(1, 3)) {
        let columns: Vec<Column> = (0..width).map(|i| Column { part: 0, terms: vec![(i, 1.0)] }).collect();
        let (shift, short) = (vec![1.0; width], vec![0.0; width]);
        let (mut dice, mut wrong, mut tenth, mut found) = (Dice::new(11), 0, 0, 0);
        let claim = width as f64 / scale;
        for run in 0..runs {
            let added = |dice: &mut Dice, times: f64| {
                let numbers = (0..n * width).map(|_| laplace(dice, scale / times)).collect();
                let noises = Noises::of(&[&Sample::new(width, numbers)]);
                let added = noises.added(&columns, (&shift, &short), (Paid::Epsilon, alpha));
                (added.least, noises.detected(&added, claim, power))
            };
            let (least, detected) = added(&mut dice, 1.0);
            wrong += usize::from(least > claim);
            tenth += usize::from(1.04 * least > claim);
            if run % 4 == 0 {
                found += usize::from(added(&mut dice, detected / claim).0 > claim);
            }
        }
        assert!(near(wrong, runs, alpha) < 1.0, "{scale} {width}: {wrong} of {runs}");
        assert!(near(tenth, runs, alpha) > 1.0, "a bound that is a 25th too large would pass: {tenth}");
        assert!(near(found, runs / 4, power) > -1.0, "{scale} {width}: {found} of {} were found", runs / 4);
    }
}

/// By which part variances of discrete Gaussians are less than their parameters, against sums over all numbers.
#[test]
fn variances_of_whole_numbers_are_less_by_so_much() {
    for s in [0.5, 0.6, 0.8, 1.0, 2.0] {
        let weight = |x: i32| (-f64::from(x * x) / (2.0 * s)).exp();
        let all: f64 = (-60..=60).map(weight).sum();
        let variance = (-60..=60).map(|x| f64::from(x * x) * weight(x)).sum::<f64>() / all;
        let (less, most) = ((s - variance) / s, rough(variance));
        assert!(less <= most + 1e-14 && most < 1.1 * less + 1e-14, "{s}: {less}, {most}");
    }
}

/// Noises that are the same, or of the same size, are seen.
#[test]
fn dependent_noises_are_seen() {
    let mut dice = Dice::new(7);
    let row = |_| {
        let [a, b] = [(); 2].map(|()| laplace(&mut dice, 4.0));
        let sign = if dice.bits() & 1 == 0 { 1.0 } else { -1.0 };
        [a, b, 2.0 * a + (b / 4.0).round(), sign * b]
    };
    let sample = Sample::new(4, (0..300).flat_map(row).collect());
    let noises = Noises::of(&[&sample]);
    let pair = noises.dependence(1e-6).map(|d| d.columns);
    assert!(pair == Some((0, 2)) || pair == Some((1, 3)), "{pair:?}");
}

#[test]
fn thresholds_are_too_large_as_seldom_as_they_say() {
    let (runs, n, alpha) = (tries(200, 1000), 300, 0.2);
    let (mut dice, mut wrong, mut tenth) = (Dice::new(9), [0; 3], [0; 3]);
    let (scale, apart) = (2.0f64, 1.0f64);
    for _ in 0..runs {
        let mut both = |law: bool, by: f64| -> [Vec<f64>; 2] {
            [0.0, by].map(|by| {
                (0..n)
                    .map(|_| if law { laplace(&mut dice, scale) } else { gaussian(&mut dice) } + by)
                    .collect()
            })
        };
        let laws = [
            (both(true, 2.0), both(true, 2.0)),
            (both(false, apart), both(false, apart)),
            (both(false, apart), both(false, apart)),
        ];
        // P(x < 1/2) − e^ε P(x < −1/2) is largest where the ratio of the densities is e^ε: at ε = 0 in the middle.
        let claims = [
            (Claimed::Epsilon(2.0), 1.0 / scale),
            (Claimed::Rho(1.0), 0.5 * apart * apart),
            (Claimed::Delta(0.0), 0.382_924_923),
        ];
        for (i, ((first, second), (claimed, truth))) in laws.into_iter().zip(claims).enumerate() {
            let least = threshold::least(&[(first, second)], claimed, alpha);
            wrong[i] += usize::from(least > truth);
            tenth[i] += usize::from(4.0 * least > truth);
        }
    }
    for (wrong, tenth) in wrong.into_iter().zip(tenth) {
        assert!(near(wrong, runs, alpha) < 1.0, "{wrong} of {runs}");
        assert!(tenth > runs / 2, "bounds four times as large would pass: {tenth}");
    }
}
