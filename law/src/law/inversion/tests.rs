//! Bounds, limits and slack of an inversion, each by itself.

use super::super::NoiseLaw;
use super::*;

fn group(coefficient: f64, copies: u64, noise: NoiseLaw) -> Group {
    Group { coefficient, copies, noise }
}

/// Hundreds of small noises, and a few large ones.
fn parts(large: &[Group]) -> Parts {
    let small = (0..3000).map(|i| {
        let noise = match i % 3 {
            0 => NoiseLaw::DiscreteGaussian { variance: 4.0 },
            1 => NoiseLaw::DiscreteLaplace { scale: 2.0 },
            _ => NoiseLaw::Gaussian { variance: 3.0 },
        };
        group(1.0 + f64::from(i) / 6000.0, 1, noise)
    });
    let all: Vec<Group> = small.chain(large.iter().copied()).collect();
    let variance: f64 =
        all.iter().map(|g| g.copies as f64 * g.coefficient * g.coefficient * g.noise.variance()).sum();
    let parts = Parts::new(&all, variance.sqrt());
    assert!(parts.small.len() >= 3000 && parts.lump.is_some());
    parts
}

fn line(parts: &Parts, c: f64, period: f64, depth: f64) -> Line {
    let domain = Domain::Real { smoothing: 0.0, tolerance: 1e-9, at: 1.0 };
    let mut factors = Factors::new(parts, c, domain, depth, &mut Work::new(1 << 40)).unwrap();
    factors.place(period, None);
    let Factors { large, small } = factors;
    Line { factors: large, small, step: 2.0 * PI / period, c, smoothing: 0.0, lattice: None, depth }
}

/// What is jumped over is bounded from above at every node of its block; and of a node where the series of small noises holds the bound is what it is.
#[test]
fn bounds_are_above_every_node() {
    let large = [
        group(40.0, 2, NoiseLaw::DiscreteLaplace { scale: 1.5 }),
        group(9.0, 1, NoiseLaw::Uniform { reach: 7.0 }),
    ];
    for large in [&[][..], &large[..]] {
        let parts = parts(large);
        let c = 0.5 / 120.0;
        let line = line(&parts, c, 4000.0, -200.0);
        let ln = |g: &Group, t: f64| {
            let tilted = Tilted::new(g.noise, c * g.coefficient);
            let turns = t * g.coefficient / (2.0 * PI);
            let at =
                if g.noise.is_discrete() { 2.0 * PI * (turns - turns.round()) } else { t * g.coefficient };
            g.copies as f64 * (tilted.at(at).re - tilted.real())
        };
        let node = |j: u64| {
            let t = j as f64 * line.step;
            parts.small.iter().chain(&parts.large).map(|g| ln(g, t)).sum::<f64>()
        };
        let nodes: Vec<f64> = (0..2200).map(node).collect();
        let mut jumps = 0;
        for size in [1usize, 2, 7, 64, 300] {
            for j in (0..nodes.len() - size).step_by(1 + size / 3) {
                let bound = line.bound(j as u64, size as u64, &mut 0);
                let most = nodes[j..j + size].iter().copied().fold(f64::NEG_INFINITY, f64::max);
                assert!(bound >= most - 1e-7 * most.abs().max(1.0), "{j} {size}: {bound} {most}");
                jumps += usize::from(bound < -24.0);
                if size == 1 && large.is_empty() && !line.is_beyond(j as u64) {
                    assert!((bound - most).abs() <= 1e-7 * most.abs().max(1.0), "{j}: {bound} {most}");
                }
            }
        }
        assert!(jumps > 100, "{jumps}");
    }
}

/// At a multiple of a factor's period it is as large as at 0, and after a thousand million turns a product no longer says where that is.
#[test]
fn a_product_of_many_turns_is_no_place() {
    let noise = NoiseLaw::DiscreteLaplace { scale: 1e8 };
    let parts = Parts { large: vec![group(1.0, 1, noise)], small: Vec::new(), lump: None };
    let (c, n) = (1e-9, 1_000_003u64);
    let domain = Domain::Lattice { h: 1.0 };
    let mut factors = Factors::new(&parts, c, domain, DEEP, &mut Work::new(1 << 40)).unwrap();
    factors.large[0].multiple = 333_667;
    factors.place(n as f64, Some(n));
    let Factors { large, small } = factors;
    let lattice = Some((1.0, n));
    let line =
        Line { factors: large, small, step: 2.0 * PI / n as f64, c, smoothing: 0.0, lattice, depth: DEEP };
    for times in 4900..5100 {
        // This many turns, to the last one.
        assert_eq!(line.bound(n * times, 1, &mut 0), 0.0, "{times}");
    }
    assert!(line.bound(n * 3000 + 1, 1, &mut 0) < -20.0);
}

const DEEP: f64 = -60.0;

/// The place of a node keeps its digits where a product of whole numbers does not fit 64 bits.
#[test]
fn places_of_long_periods_are_exact() {
    let n = (1u64 << 62) | 1;
    let tilted = Tilted::new(NoiseLaw::DiscreteLaplace { scale: 1.0 }, 0.0);
    let (copies, coefficient, at0, envelope, turns, cost) = (1.0, 1.0, 0.0, None, 0.0, 0);
    let factor = Factor { tilted, copies, coefficient, at0, envelope, multiple: n - 1, turns, cost };
    for j in [1u64, 7, (1 << 40) + 5, 1 << 61] {
        // (n − 1) j is −j to the modulus.
        assert_eq!(factor.position(j, Some(n)), -(j as f64) / n as f64, "{j}");
    }
}

/// Beyond 2^31 nodes phases are no longer products of 64 bits.
#[test]
fn phases_of_long_periods_are_close() {
    let n = (1u64 << 40) | 1;
    let one = |j: u64, lattice| Nodes {
        c: 0.0,
        k: 0.0,
        period: n as f64,
        lattice,
        nodes: vec![(j, Complex::new(0.5, 0.0), Complex::ZERO)],
        smoothing: 0.0,
        cut: Cut::NONE,
        slack: 0.0,
    };
    for x in [0.5, 3.5, (1u64 << 38) as f64 + 0.5] {
        for j in [1u64, 1 << 20, (1 << 39) - 3] {
            let twice = 2 * (x as u128) + 1;
            let turns = (u128::from(j) * twice % (2 * u128::from(n))) as f64 / (2 * n) as f64;
            let want = (2.0 * PI * turns).cos() / n as f64;
            let got = one(j, Some((1.0, n))).sum(x, |node| node.1);
            assert!((got - want).abs() < 1e-3 / n as f64, "{x} {j}: {got} {want}");
        }
    }
}

/// What may be missing is added to a bound from above and taken from one from below, with what aliases may add.
#[test]
fn bounds_allow_for_all_that_is_missing() {
    let nodes = Nodes {
        c: 0.0,
        k: 0.0,
        period: 1.0,
        lattice: None,
        nodes: vec![(0, Complex::ZERO, Complex::new(0.5, 0.0))],
        smoothing: 0.0,
        cut: Cut { at: 0.0, plain: 0.0625, edge: f64::INFINITY, period: 1.0 },
        slack: 0.25,
    };
    assert_eq!(nodes.tail(0.3), 0.5);
    assert_eq!(nodes.tail_bound(0.3), 0.5 + 0.25 + 0.0625);
    assert!((nodes.tail_least(0.3) - (0.5 * (1.0 - 1e-9) - 0.25 - 0.0625)).abs() < 1e-14);
}

/// The small noises' series ends at its reach, and no tilt comes near.
#[test]
fn tilts_stay_where_the_series_holds() {
    let parts = parts(&[]);
    let reach = parts.lump.unwrap().reach;
    assert_eq!(max_tilt(&parts), 0.7 * reach);
    assert!(tilts(&parts, 40.0).iter().all(|(c, k)| *c < 0.7 * reach && k.is_finite()));
}

/// A tilt is found from any first guess: where that cannot be computed, and where no tilt is large enough.
#[test]
fn tilts_are_found_from_any_guess() {
    let none = Parts { large: Vec::new(), small: Vec::new(), lump: None };
    let far = |beyond: f64| move |c: f64, _: f64, _: f64| if c > 1e-100 { beyond } else { c * 1e120 };
    for beyond in [f64::INFINITY, f64::NAN] {
        let c = solve_tilt(&none, 1.0, 1.0, far(beyond));
        assert!((c * 1e120 - 1.0).abs() < 1e-2, "{beyond}: {c}");
    }
    let never = solve_tilt(&none, 1.0, 1.0, |_, _, _| -1.0);
    assert!(never > 1e299 && never.is_finite(), "{never}");
    // Nothing is small enough: the guess gets no smaller than doubles of full length.
    assert_eq!(solve_tilt(&none, 1.0, 1.0, |_, _, _| f64::INFINITY), 0.0);
}

/// Where to cut is looked for as far as there are not too many nodes, and a period without end or length has no place.
#[test]
fn cuts_are_looked_for_up_to_a_limit() {
    let cut = |period: f64, from: f64| truncation(&[], true, 1.0, 0.0, period, |cut| cut.at > from);
    assert!(cut(1.0, 4.5e12).is_some() && cut(1.0, 7e12).is_none());
    assert!(cut(1e-6, 4.5e18).is_some() && cut(1e-6, 7e18).is_none());
    for period in [f64::INFINITY, 0.0, f64::NAN] {
        assert!(cut(period, f64::INFINITY).is_none(), "{period}");
    }
}

/// A lattice of so many nodes is none.
#[test]
fn a_lattice_has_an_end() {
    let parts = Parts {
        large: vec![group(1.0, 1, NoiseLaw::DiscreteLaplace { scale: 1.0 })],
        small: Vec::new(),
        lump: None,
    };
    let nodes = |period: f64| {
        Nodes::new(&parts, 0.3, period, Domain::Lattice { h: 1.0 }, -24.0, &mut Work::new(1 << 40)).is_some()
    };
    assert!(nodes(100.0) && !nodes(1e18) && !nodes(f64::INFINITY));
}
