//! Against 256 bits, by the definition: outcome by outcome.

use super::*;
use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;

type Big = FBig<HalfEven, 2>;

fn big(x: f64) -> Big {
    Big::try_from(x).unwrap().with_precision(256).value()
}

/// One noise's outcomes: the loss `az`, `e^{−az}`, and how probable.
fn outcomes(m: &Moved) -> Vec<(Big, Big, Big)> {
    let variance = big(m.variance);
    let step = big(m.by as f64) / &variance;
    // Beyond there is less than 1e-100.
    let reach = (470.0 * m.variance).sqrt().ceil() as i64 + 1;
    let weight = |k: i64| (-(big((k * k) as f64) / (big(2.0) * &variance))).exp();
    let half: Vec<Big> = (0..=reach).map(weight).collect();
    let total = half.iter().skip(1).fold(half[0].clone(), |sum, w| sum + big(2.0) * w);
    (-reach..=reach)
        .map(|k| {
            let loss = big(k as f64) * &step;
            let ratio = (-loss.clone()).exp();
            (loss, ratio, &half[k.unsigned_abs() as usize] / &total)
        })
        .collect()
}

/// `E[(1 − e^{ε−L})₊]`, by all outcomes of all noises.
fn delta(moved: &[Moved], epsilon: f64) -> f64 {
    let noises: Vec<_> = moved.iter().flat_map(|m| vec![outcomes(m); m.copies as usize]).collect();
    let rho = moved
        .iter()
        .fold(Big::ZERO, |sum, m| sum + big((m.copies * m.by * m.by) as f64) / (big(2.0) * big(m.variance)));
    let x = big(epsilon) - rho;
    fn all(noises: &[Vec<(Big, Big, Big)>], x: &Big, e: &Big) -> Big {
        match noises {
            // x is what is left of it, e its exponential.
            [] if *x < Big::ZERO => big(1.0) - e,
            [] => Big::ZERO,
            [first, others @ ..] => first.iter().fold(Big::ZERO, |sum, (loss, ratio, mass)| {
                sum + mass * all(others, &(x - loss), &(e * ratio))
            }),
        }
    }
    all(&noises, &x, &x.exp()).to_f64().value()
}

/// Few noises, narrow and wide, alike and not; ε where δ is large and where it is tiny.
#[test]
fn small_laws_in_256_bits() {
    let cases: [(&[Moved], &[f64]); 8] = [
        (&[one(1, 1, 0.25)], &[0.0, 1.0, 5.9, 6.1, 20.0, 40.0]),
        (&[one(1, 1, 0.5 / 1.07)], &[0.3, 10.0, 25.0]),
        (&[one(1, 1, 64.0)], &[0.01, 0.3, 0.8]),
        (&[one(3, 1, 200.0)], &[-0.1, 0.5, 1.0]),
        (&[one(1, 1, 2.0), one(1, 1, 0.6)], &[0.5, 6.0, 14.0]),
        (&[one(2, 1, 9.0), one(1, 1, 9.0)], &[0.4, 3.0]),
        (&[one(1, 1, 30.0), one(1, 1, 17.3)], &[0.2, 1.9]),
        (&[one(1, 2, 1.5), one(2, 1, 3.25)], &[2.0, 9.0]),
    ];
    let mut tried = 0;
    for (moved, epsilons) in cases {
        for epsilon in epsilons {
            let truth = delta(moved, *epsilon);
            let loss = loss(moved);
            let found = loss.delta(*epsilon);
            let inverted = inverted::delta(&loss, *epsilon, LONG, CLOSE);
            let listed = listed::delta(&loss, *epsilon, inverted.above, LISTED).unwrap();
            let rough = loss.rough(*epsilon);
            for bound in [found, inverted, listed, rough] {
                assert!(is_near(bound, truth), "{moved:?} {epsilon}: {bound:?} {truth:e}");
            }
            assert!(found.excess < CLOSE * found.above, "{moved:?} {epsilon}: {found:?} {truth:e}");
            let some = [0.9, 1.0 - 1e-5, 1.0 - 1e-7, 1.0, 1.0 + 1e-7, 1.1].map(|part| part * found.above);
            assert_eq!(some.map(|d| loss.within(*epsilon, d)), some.map(|d| found.above <= d));
            assert!(rough.excess < ROUGH * rough.above, "{moved:?} {epsilon}: {rough:?} {truth:e}");
            tried += 1;
        }
    }
    assert!(tried > 20);
}
