//! The proven scale of a sum of discrete Gaussians, against the divergences of its law.

use super::*;

fn r(text: &str) -> Rational {
    text.parse().unwrap()
}

/// The masses of the sum of discrete Gaussians, at −n … n.
fn masses(layers: &[f64], n: i64) -> Vec<f64> {
    let one = |s: f64| -> Vec<f64> {
        let weights: Vec<f64> = (-n..=n).map(|k| (-(k * k) as f64 / (2.0 * s)).exp()).collect();
        let total: f64 = weights.iter().sum();
        weights.into_iter().map(|w| w / total).collect()
    };
    layers.iter().skip(1).fold(one(layers[0]), |law, &s| {
        let other = one(s);
        (-n..=n)
            .map(|x| {
                (-n..=n)
                    .filter(|k| (x - k).abs() <= n)
                    .map(|k| law[(k + n) as usize] * other[(x - k + n) as usize])
                    .sum()
            })
            .collect()
    })
}

/// The largest `D_α(P_d ‖ P)/(α d²)` over many orders, by the definition: what zCDP asks for, for every unit of squared length.
fn divergence(law: &[f64], d: usize) -> f64 {
    let orders = [1.0005, 1.01, 1.1, 1.5, 2.0, 3.0, 5.0, 9.0];
    let pairs = || law.iter().skip(d).zip(law).filter(|(p, q)| **p > 1e-250 && **q > 1e-250);
    orders
        .iter()
        .map(|a| {
            let sum: f64 = pairs().map(|(p, q)| (a * p.ln() + (1.0 - a) * q.ln()).exp()).sum();
            sum.ln() / (a - 1.0) / (a * (d * d) as f64)
        })
        .fold(0.0, f64::max)
}

#[test]
fn the_proven_scale_costs_no_less_than_the_sum() {
    for layers in [
        &["1", "1"][..],
        &["1/2", "1/2"],
        &["2", "2"],
        &["3", "1"],
        &["5", "7"],
        &["10", "1/3"],
        &["4", "4", "4"],
        &["9", "3", "20"],
        &["2", "3", "5", "7"],
    ] {
        let layers: Vec<Rational> = layers.iter().map(|s| r(s)).collect();
        let proven = proven(&layers).unwrap().to_f64();
        let floats: Vec<f64> = layers.iter().map(|l| l.to_f64()).collect();
        let (sum, most) = (floats.iter().sum::<f64>(), floats.iter().fold(0.0f64, |m, s| m.max(*s)));
        assert!(proven <= sum && proven >= most, "{floats:?}: {proven}");
        let law = masses(&floats, 40 + (9.0 * sum.sqrt()) as i64);
        for d in [1, 2, 3] {
            let worst = divergence(&law, d);
            assert!(worst <= 0.5 / proven * (1.0 + 1e-9), "{floats:?} by {d}: {worst} of {}", 0.5 / proven);
        }
        // No law of this variance costs less than its variance allows; so the bound is not far off where it is about the sum.
        if proven > 0.9 * sum {
            assert!(divergence(&law, 1) >= 0.5 / sum * (1.0 - 1e-3), "{floats:?}");
        }
    }
}

#[test]
fn little_is_lost_where_noise_is_not_tiny() {
    for (layers, at_least) in [
        (&["1", "1"][..], 0.7),
        (&["3", "3"], 0.9999),
        (&["10", "10"], 1.0 - 1e-9),
        (&["1e6", "1e6"], 1.0 - 1e-9),
        (&["1e30", "2e30", "1e30"], 1.0 - 1e-9),
        (&["1000", "20"], 1.0 - 1e-9),
    ] {
        let layers: Vec<Rational> = layers.iter().map(|s| r(s)).collect();
        let sum: f64 = layers.iter().map(|l| l.to_f64()).sum();
        assert!(proven(&layers).unwrap().to_f64() >= at_least * sum, "{layers:?}");
    }
    // Of layers that prove nothing together, the largest counts.
    assert_eq!(proven(&[r("1/5"), r("1/4"), r("1/7")]), Some(r("1/4")));
    assert_eq!(proven(&[r("7/3")]), Some(r("7/3")));
    assert_eq!(proven(&[]), None);
}

#[test]
fn a_step_reaches_its_target_with_little_more() {
    for first in ["1e-6", "0.2", "1", "17/3", "12345.678", "1e12", "1e28"] {
        let first = r(first);
        let mut layers = vec![first];
        for factor in ["1", "1001/1000", "4/3", "2", "5", "1000"] {
            let target = first.checked_mul(r(factor)).unwrap();
            let more = further(&layers, target).unwrap();
            if more.is_zero() {
                assert!(proven(&layers).unwrap() >= target);
                continue;
            }
            layers.push(more);
            let proven = proven(&layers).unwrap();
            assert!(proven >= target, "{first} × {factor}");
            // Never more than the whole target anew.
            assert!(more.to_f64() <= target.to_f64() * (1.0 + 1e-8), "{first} × {factor}: {more}");
            // From the most precise copy itself, where there is more to add than noise that proves nothing.
            let alone = further(&[first], target).unwrap();
            if first.to_f64() >= 5.0 && alone.to_f64() >= 3.0 {
                let sum = first.to_f64() + alone.to_f64();
                assert!(sum <= target.to_f64() * (1.0 + 1e-3), "{first} × {factor}: {sum}");
            }
        }
    }
}

#[test]
fn rounding_down_keeps_the_leading_digits() {
    for text in [
        "1",
        "3",
        "1/3",
        "22/7",
        "123456789123456789123456789",
        "1e-9",
        "542/339",
        "999999999999/1000000000000",
    ] {
        let exact = r(text);
        let (m, x) = leading(exact);
        let down = rational(m, x).unwrap();
        assert!(down <= exact && down.to_f64() >= exact.to_f64() * (1.0 - 1e-11), "{text}: {down}");
        assert!(m < 1 << DIGITS);
    }
}
