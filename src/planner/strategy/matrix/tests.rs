//! Grouping and budgets, against brute force and grids.

use super::*;
use crate::cube::{Cube, Cuboid, Dimension};
use crate::plan::{Measure, Table};
use proptest::prelude::*;
use proptest::strategy::Strategy;
use proptest::test_runner::RngSeed;

fn request(cells: usize, rows: Vec<Vec<(u32, i32)>>, noise: Noise, neighbours: Neighbours) -> Request {
    let of = Cuboid::new(vec![(0, 1)]);
    let cube = Cube { dimensions: vec![Dimension::plain("d", (0..cells).map(|i| i.to_string()).collect())] };
    let workload = vec![Table::new(Cuboid::total(), crate::exact::Rational::ONE)];
    Request {
        neighbours,
        measure: Some(Measure::Matrix),
        rows: Some(Rows { cuboid: of, rows }),
        ..Request::new(cube, workload, noise, "1/2".parse().unwrap())
    }
}

fn alone(rows: &[Vec<(u32, i32)>]) -> Vec<(u32, Vec<usize>)> {
    rows.iter()
        .enumerate()
        .map(|(r, row)| (row.iter().map(|e| e.1.unsigned_abs()).max().unwrap(), vec![r]))
        .collect()
}

/// What a cell or a pair of cells costs at these `u`, from the definition, as a part of the budget of one half; the worst.
fn worst(rows: &[Vec<(u32, i32)>], cells: u32, u: &[f64], noise: Noise, neighbours: Neighbours) -> f64 {
    let factor = |r: usize, cell: u32| rows[r].iter().find(|e| e.0 == cell).map_or(0.0, |e| f64::from(e.1));
    let price = |f: f64| if noise == Noise::Gaussian { f * f / 2.0 } else { f.abs() };
    let mut worst = 0.0f64;
    for i in 0..cells {
        let others: Vec<Option<u32>> =
            if neighbours == Neighbours::AddRemove { vec![None] } else { (0..cells).map(Some).collect() };
        for j in others {
            let moved = |r: usize| factor(r, i) - j.map_or(0.0, |j| factor(r, j));
            let cost: f64 = (0..rows.len()).map(|r| price(moved(r)) * u[r]).sum();
            worst = worst.max(2.0 * cost);
        }
    }
    worst
}

fn error(s: &[f64], u: &[f64], noise: Noise) -> f64 {
    s.iter().zip(u).map(|(s, u)| if noise == Noise::Laplace { s / (u * u) } else { s / u }).sum()
}

#[test]
fn rows_without_a_cell_in_common_share_a_group() {
    let rows = vec![
        vec![(0, 1), (1, -1)],
        vec![(2, 1)],
        vec![(1, 1), (2, 1)],
        vec![(3, 2)],
        vec![(3, 1)],
        vec![(0, 2), (1, 1)],
    ];
    let groups = greedy(&rows);
    assert_eq!(groups, [(1, vec![0, 1, 4]), (1, vec![2]), (2, vec![3, 5])]);
    // No cell pays one, one and two.
    assert!(!is_grouped(&rows, &groups));
    let tree =
        vec![vec![(0, 1), (1, 1), (2, 1), (3, 1)], vec![(0, 1), (1, 1)], vec![(2, 1), (3, 1)], vec![(2, 1)]];
    assert!(is_grouped(&tree, &greedy(&tree)));
    assert_eq!(greedy(&tree).len(), 3);
}

/// For groups that every cell pays in full the closed form and the convex programme are the same.
#[test]
fn the_closed_form_is_the_programme_s_optimum() {
    let rows: Vec<Vec<(u32, i32)>> = vec![
        vec![(0, 1), (1, 1), (2, 1), (3, 1)],
        vec![(0, 2), (1, 2)],
        vec![(2, 2), (3, -2)],
        vec![(0, 1), (2, 1)],
        vec![(1, 1), (3, 1)],
    ];
    let groups = greedy(&rows);
    assert_eq!(groups.len(), 3);
    assert!(is_grouped(&rows, &groups));
    for noise in [Noise::Laplace, Noise::Gaussian] {
        let r = request(4, rows.clone(), noise, Neighbours::AddRemove);
        let shared = Sharing::new(&r, r.rows.as_ref().unwrap(), &groups);
        let s = [0.2, 1.0, 5.0];
        let closed = shared.tight(shared.closed_form(&r, Some(&s)));
        let convex = shared.convex(&s).unwrap();
        for (a, b) in closed.iter().zip(&convex) {
            assert!((a / b - 1.0).abs() < 1e-4, "{noise:?}: {closed:?} {convex:?}");
        }
        // Laplace: 2(Σ (C² s)^⅓)³/ε², of which ours leaves out the two; Gaussian: (Σ C √s)²/(2ρ).
        let norms = [1.0f64, 2.0, 1.0];
        let (sum, value): (f64, f64) = match noise {
            Noise::Laplace => {
                let sum: f64 = norms.iter().zip(s).map(|(c, s)| (c * c * s).cbrt()).sum();
                (sum, sum.powi(3) / 0.25)
            }
            Noise::Gaussian => {
                let sum: f64 = norms.iter().zip(s).map(|(c, s)| c * s.sqrt()).sum();
                (sum, sum * sum)
            }
        };
        assert!(sum > 0.0 && (error(&s, &closed, noise) / value - 1.0).abs() < 1e-12);
    }
}

/// Two rows that overlap in one cell and not in others: no shares on a fine grid are better.
#[test]
fn no_shares_of_a_grid_are_better() {
    for neighbours in [Neighbours::AddRemove, Neighbours::Substitute] {
        for noise in [Noise::Laplace, Noise::Gaussian] {
            for (rows, cells) in [
                (vec![vec![(0, 1), (1, 3)], vec![(1, 1), (2, 2)]], 3),
                (vec![vec![(0, 2), (1, 1)], vec![(0, 1), (1, 2)]], 3),
                (vec![vec![(0, 5)], vec![(0, 1), (1, -3), (2, 1)]], 3),
            ] {
                let r = request(cells as usize, rows.clone(), noise, neighbours);
                let shared = Sharing::new(&r, r.rows.as_ref().unwrap(), &alone(&rows));
                let s = [1.0, 3.0];
                let u = shared.convex(&s).unwrap();
                let cost = worst(&rows, cells, &u, noise, neighbours);
                // A pair with a cell in no row may be counted that does not exist: then it costs less than stated.
                assert!(cost <= 1.0 + 1e-9, "{cost}");
                let best = (1..20_000)
                    .map(|k| {
                        let angle = f64::from(k) / 20_000.0 * std::f64::consts::FRAC_PI_2;
                        let ray = shared.tight(vec![angle.cos(), angle.sin()]);
                        error(&s, &ray, noise)
                    })
                    .fold(f64::INFINITY, f64::min);
                let ours = error(&s, &u, noise);
                assert!(ours <= best * (1.0 + 1e-6) && ours >= best * (1.0 - 1e-4), "{ours} {best}");
            }
        }
    }
}

fn any_rows() -> impl Strategy<Value = Vec<Vec<(u32, i32)>>> {
    let row = prop::collection::btree_map(0u32..5, prop_oneof![1i32..4, -3i32..0], 1..5);
    prop::collection::vec(row.prop_map(|r| r.into_iter().collect::<Vec<_>>()), 1..7)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    /// Groups are what they say, hold every row once, and budgets for given weights are within the budget, tight, and
    /// never worse than equal ones.
    #[test]
    fn budgets_for_any_rows(
        rows in any_rows(),
        laplace in any::<bool>(),
        substitute in any::<bool>(),
        weights in prop::collection::vec(1u32..1000, 7),
    ) {
        let groups = greedy(&rows);
        let mut all: Vec<usize> = groups.iter().flat_map(|g| g.1.clone()).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..rows.len()).collect::<Vec<_>>());
        for (norm, members) in &groups {
            let mut cells = HashSet::new();
            for &r in members {
                prop_assert_eq!(rows[r].iter().map(|e| e.1.unsigned_abs()).max().unwrap(), *norm);
                prop_assert!(rows[r].iter().all(|e| cells.insert(e.0)), "disjoint");
            }
        }
        let noise = if laplace { Noise::Laplace } else { Noise::Gaussian };
        let neighbours = if substitute { Neighbours::Substitute } else { Neighbours::AddRemove };
        // Six cells: one at least is in no row.
        let r = request(6, rows.clone(), noise, neighbours);
        let own = alone(&rows);
        let shared = Sharing::new(&r, r.rows.as_ref().unwrap(), &own);
        let s: Vec<f64> = rows.iter().zip(&weights).map(|(_, w)| f64::from(*w)).collect();
        let uniform = shared.tight(shared.closed_form(&r, None));
        let optimal = shared.convex(&s).unwrap();
        for u in [&uniform, &optimal] {
            let cost = worst(&rows, 6, u, noise, neighbours);
            prop_assert!((cost - 1.0).abs() < 1e-8, "{cost}");
        }
        prop_assert!(error(&s, &optimal, noise) <= error(&s, &uniform, noise) * (1.0 + 1e-7));
    }
}
