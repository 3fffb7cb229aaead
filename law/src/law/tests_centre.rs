//! A uniform law beside others: a secret centre. Against enumeration, simulation and the other engines.

use super::tests::law;
use super::*;

/// `P(E + aμ > x)` by enumeration: the masses of each kind of noise, and of the centre, over all their values.
fn enumerated(terms: &[(f64, u64, NoiseLaw)], a: f64, reach: f64, x: f64) -> f64 {
    let masses = |noise: &NoiseLaw, copies: u64| -> Vec<(f64, f64)> {
        let weight = |k: i64| match *noise {
            NoiseLaw::DiscreteLaplace { scale } => (-(k.abs() as f64) / scale).exp(),
            NoiseLaw::DiscreteGaussian { variance } => (-(k * k) as f64 / (2.0 * variance)).exp(),
            _ => unreachable!(),
        };
        let far = (1..).find(|k| weight(*k) < 1e-17).unwrap();
        let one: Vec<f64> = (-far..=far).map(weight).collect();
        let total: f64 = one.iter().sum();
        let mut many = vec![1.0];
        for _ in 0..copies {
            let mut next = vec![0.0; many.len() + one.len() - 1];
            for (i, p) in many.iter().enumerate() {
                one.iter().enumerate().for_each(|(j, q)| next[i + j] += p * q / total);
            }
            many = next;
        }
        let middle = (many.len() / 2) as f64;
        many.into_iter().enumerate().map(|(i, p)| (i as f64 - middle, p)).collect()
    };
    // Two lists at most: of the last one what lies above is summed from the end.
    let lists: Vec<Vec<(f64, f64)>> = terms
        .iter()
        .map(|(c, n, noise)| masses(noise, *n).into_iter().map(|(k, p)| (c * k, p)).collect())
        .collect();
    let (first, rest) = lists.split_first().unwrap();
    let mut tails = vec![0.0; first.len() + 1];
    for i in (0..first.len()).rev() {
        tails[i] = tails[i + 1] + first[i].1;
    }
    let alone = vec![(0.0, 1.0)];
    let second = rest.first().unwrap_or(&alone);
    let n = 2 * reach as i64 + 1;
    let mut sum = 0.0;
    for i in 0..n {
        let shift = a * (i as f64 - reach);
        for (v, p) in second {
            let need = x - shift - v;
            let at = first.partition_point(|(u, _)| *u <= need + 1e-9);
            sum += p * tails[at];
        }
    }
    sum / n as f64
}

fn cases() -> Vec<(Vec<(f64, u64, NoiseLaw)>, f64, f64)> {
    let dl = |scale| NoiseLaw::DiscreteLaplace { scale };
    let dg = |variance| NoiseLaw::DiscreteGaussian { variance };
    vec![
        (vec![(1.0, 1, dl(2.0))], 1.0, 20.0),
        (vec![(1.0, 1, dl(0.3))], 1.0, 20.0),
        (vec![(1.0, 3, dl(5.0))], 3.0, 7.0),
        (vec![(1.0, 1, dg(100.0))], 1.0, 1.0),
        (vec![(1.0, 4, dg(3.0)), (2.0, 1, dl(1.0))], 2.0, 1000.0),
        (vec![(0.5, 2, dg(40.0))], 0.25, 20.0),
        // No lattice.
        (vec![(1.0, 1, dl(4.0)), (std::f64::consts::SQRT_2, 2, dg(9.0))], 0.77, 20.0),
        (vec![(1.0, 1, dg(50.0)), (0.3371, 5, dg(20.0))], std::f64::consts::FRAC_1_PI, 3.0),
    ]
}

#[test]
fn tails_are_means_over_the_centre() {
    for (terms, a, reach) in cases() {
        let rest = law(&terms);
        let mut all = terms.clone();
        all.push((a, 1, NoiseLaw::Uniform { reach }));
        let whole = law(&all);
        let variance = rest.variance() + a * a * reach * (reach + 1.0) / 3.0;
        assert!((whole.variance() / variance - 1.0).abs() < 1e-14);
        for i in 0..14 {
            let x = whole.std_error() * f64::from(i) * 0.37;
            let (got, want) = (whole.sf(x), enumerated(&terms, a, reach, x));
            // Where atoms lie densely the law is smoothed a little.
            let near = if whole.lattice().is_some() { 1e-8 } else { 2e-2 };
            assert!((got - want).abs() <= near * want + 1e-13, "{all:?} at {x}: {got} {want}");
        }
    }
}

#[test]
fn half_widths_are_safe_and_no_wider_than_need_be() {
    for (terms, a, reach) in cases() {
        let mut all = terms.clone();
        all.push((a, 1, NoiseLaw::Uniform { reach }));
        let whole = law(&all);
        for level in [0.5, 0.8, 0.95, 0.999] {
            let w = whole.half_width(level);
            let tail = |x: f64| 2.0 * enumerated(&terms, a, reach, x);
            assert!(
                tail(w * (1.0 + 1e-9)) <= (1.0 - level) * (1.0 + 1e-6),
                "{all:?} {level}: {w} is too narrow"
            );
            let less = whole.lattice().map_or(0.985 * w - 0.02 * whole.std_error(), |h| w - h);
            assert!(
                less < 0.0 || tail(less * (1.0 + 1e-9)) > 1.0 - level,
                "{all:?} {level}: {w} is too wide"
            );
        }
        // The other engines agree: on the error's own lattice to what they cut off, in simulations to what chance allows.
        let pc = law(&all).with_method(Method::Pc { gamma: 1e-9 }).unwrap().half_width(0.95);
        let mc = law(&all).with_method(Method::Mc { draws: 40_000, seed: 5 }).unwrap().half_width(0.95);
        let w = whole.half_width(0.95);
        assert!((pc - w).abs() <= 0.03 * w + 1e-6, "{all:?}: {pc} {w}");
        assert!((mc - w).abs() <= 0.05 * w + whole.lattice().unwrap_or(0.0), "{all:?}: {mc} {w}");
    }
}

/// A centre that is far wider than the noise: the interval is that of the uniform law, not of a normal one.
#[test]
fn a_wide_centre_is_not_taken_for_normal() {
    let whole = law(&[
        (1.0, 1, NoiseLaw::DiscreteLaplace { scale: 0.5 }),
        (1.0, 1, NoiseLaw::Uniform { reach: 500.0 }),
    ]);
    let w = whole.half_width(0.95);
    assert!((475.0..=477.0).contains(&w), "{w}");
    assert!(whole.half_width(0.9999) < 505.0);
    assert!(1.96 * whole.std_error() > 560.0);
}

#[test]
fn bounds_of_a_uniform_factor_hold_and_fall() {
    for reach in [1.0, 2.0, 20.0, 400.0] {
        for c in [1e-3, 0.05, 1.0] {
            let tilted = noise::Tilted::new(NoiseLaw::Uniform { reach }, c);
            let mut last = f64::INFINITY;
            for i in 0..=400 {
                let t = std::f64::consts::PI * f64::from(i) / 400.0;
                let (bound, real) = (tilted.falling(t), tilted.at(t).re);
                assert!(bound >= real - 1e-12 && bound <= last + 1e-12, "{reach} {c} {t}: {bound} {real}");
                last = bound;
            }
            // By the definition.
            let n = 2.0 * reach + 1.0;
            let direct: f64 = (0..n as i32).map(|k| ((f64::from(k) - reach) * c).exp()).sum::<f64>() / n;
            assert!((tilted.real() - direct.ln()).abs() < 1e-11, "{reach} {c}");
            let (k, slope) = NoiseLaw::Uniform { reach }.cumulant(c);
            let up = NoiseLaw::Uniform { reach }.cumulant(c * (1.0 + 1e-6)).0;
            assert!(
                (k - direct.ln()).abs() < 1e-9 && ((up - k) / (c * 1e-6) / slope - 1.0).abs() < 1e-3,
                "{reach} {c}"
            );
        }
    }
}

/// A sum of cells moves by all of them for each step of a centre, so its law has gaps: within one a probability is what it is at either end.
#[test]
fn gaps_are_flat() {
    for (cells, scale) in [(16.0, 1.0 / 6.0), (16.0, 0.7), (40.0, 0.3), (5.0, 0.2)] {
        let law = ErrorLaw::new(vec![
            Term { coefficient: cells, copies: 1, noise: NoiseLaw::Uniform { reach: 2.0 } },
            Term { coefficient: 1.0, copies: cells as u64, noise: NoiseLaw::DiscreteLaplace { scale } },
        ])
        .unwrap();
        for x in 1..=(3.0 * cells) as i64 {
            let x = x as f64;
            let mass = law.sf(x - 1.0) - law.sf(x);
            assert!(
                (law.pmf(x) - mass).abs() < 1e-10,
                "{cells} {scale}: {x} has {} and not {mass}",
                law.pmf(x)
            );
            let all = 1.0 - law.cdf(-x) - law.sf(x);
            let inside: f64 = (-x as i64 + 1..=x as i64).map(|k| law.pmf(k as f64)).sum();
            assert!((all - inside).abs() < 1e-9, "{cells} {scale}: up to {x} {inside} and not {all}");
        }
    }
}
