//! What happens at limits: exact meets, allowances that are hardly ever used up, points that are no numbers, units of all sizes.

use super::tests::{dg, dl, law};
use super::*;
use std::f64::consts::{PI, SQRT_2};

#[test]
fn methods_refuse_what_takes_too_long() {
    let laws =
        |n: u32, copies: u64| law(&(1..=n).map(|i| (f64::from(i), copies, dl(1.0))).collect::<Vec<_>>());
    let most = Method::Mc { draws: u32::MAX, seed: 0 };
    assert!(laws(2, 1).with_method(most).is_ok() && laws(3, 1).with_method(most).is_err());
    let by_masses = Method::Pc { gamma: 1e-6 };
    assert!(laws(1, 1 << 32).with_method(by_masses).is_ok());
    assert!(laws(1, 1 << 33).with_method(by_masses).is_err());
}

#[test]
fn laws_that_share_draw_less_often() {
    let shared = |draws, laws| {
        law(&[(1.0, 1, dl(1.0))]).with_method(Method::Mc { draws, seed: 3 }).unwrap().sharing(laws).method
    };
    assert_eq!(shared(1_000_000, 10), Method::Mc { draws: 100_000, seed: 3 });
    assert_eq!(shared(1_000_000, 1000), Method::Mc { draws: 10_000, seed: 3 });
    assert_eq!(shared(500, 10), Method::Mc { draws: 500, seed: 3 });
}

/// A law of dense atoms, listed, and as if so much had been left out of the list.
fn listed(lost: f64) -> ErrorLaw {
    let law = law(&[(1.0, 1, dl(0.4)), (SQRT_2, 1, dl(0.7))]);
    let mut atoms = Atoms::new(&law.groups, LOST[0], 1 << 20).unwrap();
    atoms.lost = lost;
    law.atoms.set(Some(Arc::new(atoms))).unwrap();
    law
}

/// What was left out of a list counts as beyond every point; and a half-width may be just an atom.
#[test]
fn comparisons_by_lists_are_safe() {
    let compared = |law: &ErrorLaw, x: f64, p: f64| {
        let level = 1.0 - 2.0 * p;
        (law.may_reach(x, level), law.reaches(x, level))
    };
    let law = listed(9e-7);
    let x = 1.2;
    let p = law.atoms(1.0).unwrap().above(x);
    assert!(p > 0.1);
    assert_eq!(compared(&law, x, p + 0.25 * 9e-7), (true, Some(true)));
    assert_eq!(compared(&law, x, p + 9e-7), (false, Some(false)));
    let law = listed(0.0);
    let x = 1.0 + SQRT_2;
    let (before, p) = [x * (1.0 - 1e-6), x * (1.0 + 1e-6)].map(|x| law.atoms(1.0).unwrap().above(x)).into();
    assert!(before > 1.01 * p);
    assert_eq!(compared(&law, x, 0.5 * (before + p)), (true, Some(true)));
}

/// The density that smoothing moves past a point is allowed for to the last digit: nothing is said too early.
#[test]
fn comparisons_by_smoothing_are_safe() {
    let e = law(&[(1.0, 20, dl(2.0)), (SQRT_2, 10, dl(1.0))]);
    e.atoms.set(None).unwrap();
    let x = 2.0 * e.std_error();
    let eta = SMOOTH * x;
    // The least η of both, what they may cut off there and what they drop.
    for (eta, tolerance, depth, may) in [
        (eta, 1e-9, DEPTH_WIDTH, true),
        (eta / 36.0, 1e-3 * eta / 36.0 / x, (libm::log(eta / 36.0 / x) - 8.0).max(DEPTH_WIDTH), false),
    ] {
        let tail = |p: f64| {
            let (c, bound) = inversion::tilt_for_tail(&e.parts, e.std_error(), p);
            let period = inversion::period(&e.parts, c, bound, p);
            let domain = Domain::Real { smoothing: eta / REACH, tolerance, at: x };
            e.nodes(c, period, domain, depth, WORK).unwrap().tail_bound(x - eta)
        };
        // So probable is the point that its bound is just that.
        let p = (0..8).fold(0.025, |p, _| tail(p));
        assert!((tail(p) / p - 1.0).abs() < 1e-7, "{p}");
        let level = 1.0 - 2.0 * p;
        if may {
            assert!(e.may_reach(x, level));
        } else {
            assert_eq!(e.reaches(x, level), None);
        }
    }
}

/// A factor of a power of two changes no bit but the exponents: no limit has a unit.
#[test]
fn limits_have_no_unit() {
    let many: Vec<(f64, u64, NoiseLaw)> = (0..300)
        .map(|i| (1.0 + (f64::from(i) * SQRT_2).fract(), 1, if i % 4 == 0 { dg(0.08) } else { dl(0.2) }))
        .collect();
    for (terms, shared) in [
        (vec![(1.0, 1, dg(1.0)), (SQRT_2, 1, dg(2.0))], 1),
        (vec![(1.0, 20, dl(2.0)), (SQRT_2, 10, dl(1.0))], 16),
        (many, 40),
        (vec![(1.0, 3, dl(1.5)), (3.0, 1, dg(2.0))], 1),
        (vec![(1.0, 2, NoiseLaw::Laplace { scale: 1.0 }), (SQRT_2, 3, NoiseLaw::Laplace { scale: 2.0 })], 1),
    ] {
        let figures = |unit: f64| {
            let scaled: Vec<_> = terms.iter().map(|t| (t.0 * unit, t.1, t.2)).collect();
            let e = law(&scaled).sharing(shared);
            let w = e.half_width(0.95);
            let x = 1.7 * e.std_error();
            let near = [0.9, 0.999, 1.001].map(|by| (e.may_reach(by * w, 0.95), e.reaches(by * w, 0.95)));
            (w / unit, e.sf(x), e.cdf(-0.3 * x), near)
        };
        let plain = figures(1.0);
        for exponent in [-40, -20, 20] {
            assert_eq!(figures(f64::powi(2.0, exponent)), plain, "{exponent}: {terms:?}");
        }
    }
}

/// Where the smoothing came out coarse a lattice of our own answers, in every unit.
#[test]
fn coarse_smoothing_has_no_unit() {
    let made = |unit: f64, shared: u64| {
        let noise = |i: u32| if i.is_multiple_of(4) { dg(0.08) } else { dl(0.2) };
        let weight = |i: u32| unit * (1.0 + (f64::from(i) * SQRT_2).fract());
        law(&(0..300).map(|i| (weight(i), 1, noise(i))).collect::<Vec<_>>()).sharing(shared)
    };
    let mut coarse = 0;
    for shared in (0..8).map(|i| 1u64 << (2 * i)) {
        let e = made(1.0, shared);
        let x = 1.3 * e.std_error();
        if e.nodes_at(x, e.work).is_some_and(|n| n.smoothing() > 2e-3 * e.std_error()) {
            coarse += 1;
            let unit = f64::powi(2.0, -40);
            assert_eq!(made(unit, shared).sf(unit * x), e.sf(x), "{shared}");
            assert_eq!(e.sf(x), e.grid().unwrap().above(x));
        }
    }
    assert!(coarse > 0);
}

#[test]
fn no_number_has_no_probability() {
    let none = law(&[]);
    assert!(none.cdf(f64::NAN).is_nan() && none.sf(f64::NAN).is_nan());
    assert_eq!((none.pmf(0.0), none.pmf(1.0)), (1.0, 0.0));
    assert_eq!(none.ln_density(&[0.0, 1.0]), [f64::INFINITY, f64::NEG_INFINITY]);
    let listed = none.clone().with_method(Method::Pc { gamma: 1e-6 }).unwrap();
    for x in [0.0, 1.0] {
        assert_eq!((listed.sf(x), listed.cdf(x), listed.cdf(-x - 1.0)), (0.0, 1.0, 0.0));
    }
    let laplace = law(&[(1.0, 1, dl(1.0))]);
    for level in [0.0, 1.0, f64::NAN] {
        let ((low, high), engine) = laplace.interval_by(level, Interval::Shortest);
        assert!(low.is_nan() && high.is_nan() && engine.is_empty(), "{level}");
    }
}

/// Nothing is further away than everything, whoever answers.
#[test]
fn nothing_is_beyond_all() {
    for terms in [
        vec![],
        vec![(1.0, 1, dl(1.0))],
        vec![(1.0, 1, dg(1.0))],
        vec![(1.0, 3, dg(1.0))],
        vec![(1.0, 1, NoiseLaw::Laplace { scale: 1.0 })],
        vec![(1.0, 2, NoiseLaw::Laplace { scale: 1.0 })],
        vec![(1.0, 1, NoiseLaw::Gaussian { variance: 1.0 })],
        vec![(1.0, 1, dl(0.4)), (SQRT_2, 1, dl(0.7))],
    ] {
        let e = law(&terms);
        for method in [Method::Auto, Method::Pc { gamma: 1e-6 }, Method::Mc { draws: 100, seed: 1 }] {
            let e = e.clone().with_method(method).unwrap();
            let far = f64::INFINITY;
            let beyond = if let Method::Pc { .. } = method { 1e-6 } else { 0.0 };
            assert!(e.sf(far) <= beyond && e.cdf(far) >= 1.0 - beyond && e.cdf(-far) <= beyond, "{terms:?}");
        }
    }
}

#[test]
fn points_near_a_lattice_are_on_it() {
    let e = law(&[(1.0, 2, dl(1.0))]);
    for (x, on) in [(3.0, true), (3.5, false), (1e6 + 5e-7, true), (1e6 + 5e-6, false), (5e-9, false)] {
        assert_eq!((on_lattice(x, 1.0), e.on_lattice(x)), (on, on), "{x}");
    }
    assert!(law(&[(1.0, 2, NoiseLaw::Laplace { scale: 1.0 })]).on_lattice(0.3));
}

/// Of equally short intervals the first is taken, and one that falls short by less than cdfs are known to is none.
#[test]
fn intervals_that_just_fall_short_are_none() {
    let scale = 1.5;
    let e = law(&[(1.0, 1, dl(scale))]);
    let q = (-1.0 / scale).exp();
    for a in [1, 2, 4] {
        let level = 1.0 - 2.0 * q.powi(a + 1) / (1.0 + q) + 5e-12;
        let found = e.interval_by(level, Interval::Shortest).0;
        assert_eq!(found, (-f64::from(a) - 1.0, f64::from(a)));
    }
}

/// Without work there is a bound: half the probability of any error near 0, Chernoff's further out.
#[test]
fn without_work_there_is_a_bound() {
    let terms = [(1.0, 1, dl(0.3)), (SQRT_2, 1, NoiseLaw::Uniform { reach: 2.0 })];
    let (e, known) = (law(&terms).sharing(u64::MAX), law(&terms));
    let none = (0.5f64 / 0.3).tanh() / 5.0;
    assert!((e.sf(1e-3) - 0.5 * (1.0 - none)).abs() < 1e-12, "{}", e.sf(1e-3));
    for x in [1.0, 3.0, 4.5, 6.0] {
        assert!(e.sf(x) >= known.sf(x) && e.sf(x) <= 0.5 * (1.0 - none) + 1e-12, "{x}");
    }
    assert!(e.sf(20.0) < 1e-15);
}

#[test]
fn closed_forms_are_of_laws_that_are_not_asked_for_otherwise() {
    let e = law(&[(1.0, 1, NoiseLaw::Laplace { scale: 1.0 })]);
    let words = |method| e.clone().with_method(method).unwrap().interval_by(0.9, Interval::Shortest).1;
    assert_eq!(words(Method::Auto), "the Laplace law, closed form");
    assert_eq!(words(Method::Exact), "the Laplace law, closed form");
    assert_eq!(words(Method::Mc { draws: 100, seed: 1 }), "Monte Carlo simulation");
    assert_eq!(words(Method::Pc { gamma: 1e-6 }), "discrete probability calculation");
}

/// A probability that just meets the level counts as short of it.
#[test]
fn exact_meets_count_as_short() {
    let scale = 1000.0;
    let e = law(&[(1.0, 1, dl(scale))]);
    for k in 1000..1100 {
        // P(|N| > k − 1) = 2q^k/(1 + q).
        let tau = 2.0 * (-f64::from(k) / scale).exp() / (1.0 + (-1.0 / scale).exp());
        assert_eq!(e.half_width(1.0 - tau), f64::from(k));
        assert_eq!(e.half_width(1.0 - tau * (1.0 + 1e-9)), f64::from(k - 1));
    }
    let e = law(&[(1.0, 1, dg(0.3))]);
    let none = e.ln_zero().exp();
    assert_eq!((e.half_width(none), e.half_width(none - 1e-6)), (1.0, 0.0));
}

/// 0 covers where errors cancel often enough, though some noise is there oftener than the level allows.
#[test]
fn errors_that_cancel_are_none() {
    let q = (-2.0f64).exp();
    // P(N = k) of one, of two and of four: the chance of no noise, and of no error.
    let one = |k: i32| (1.0 - q) / (1.0 + q) * q.powi(k.abs());
    let two = |k: i32| (-40..=40).map(|j| one(j) * one(k - j)).sum::<f64>();
    let cancelled: f64 = (-40..=40).map(|j| two(j) * two(-j)).sum();
    let none = one(0).powi(4);
    assert!(cancelled > none + 0.01);
    let e = law(&[(1.0, 4, dl(0.5))]);
    assert_eq!([e.half_width(0.5 * (none + cancelled)), e.half_width(cancelled + 1e-6)], [0.0, 1.0]);
}

/// Where whole numbers lie closer than doubles the search ends, too.
#[test]
fn lattices_finer_than_doubles_are_searched() {
    let sigma = 2e16f64.sqrt() * 1e8;
    let e = law(&[(1.0, 2, dg(1e32))]);
    for level in [0.8, 0.9, 0.95, 0.97, 0.98, 0.99] {
        let want = sigma * normal_upper_quantile(0.5 * (1.0 - level));
        assert!((e.half_width(level) / want - 1.0).abs() < 1e-6, "{level}");
    }
}

/// The least point is found where 0 is it, and where the first guess is too near.
#[test]
fn least_points_are_found_from_any_start() {
    assert_eq!(least(|_| 0.01, 0.5, 1.0, |_| 1e-9), 0.0);
    for start in [2.9, 3.0, 3.1, 40.0] {
        let p = (-3.0f64).exp();
        let found = least(|x| (-x).exp(), p, start, |_| 1e-9);
        assert!((-found).exp() <= p && (found - 3.0).abs() < 1e-8, "{start}: {found}");
    }
    // A law whose parts are pi apart has no lattice, and its half-width is an atom or just above it.
    let e = law(&[(1.0, 1, dl(0.3)), (PI, 1, dl(0.3))]);
    let (w, sigma) = (e.half_width(0.95), e.std_error());
    assert!(e.sf(w) <= 0.025 && e.sf(w - 1e-8 * sigma) > 0.025, "{w}");
}
