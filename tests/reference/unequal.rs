//! Least squares over groups of different sizes, at several levels, against matrices over all cells: every table's estimates, and the law of
//! every cell's error.

use crate::dense::{
    Measured, Memory, blue_covariance, blue_estimate, noise_variance, plain, pseudo_inverse, table_matrix,
};
use margins::answer::Evaluator;
use margins::cube::{Categories, Cube, Cuboid, Dimension, Filter, Frame, Level};
use margins::exact::Rational;
use margins::numeric::tries::tries;
use margins::plan::{Block, BudgetRule, Channel, Measure, Measurement, Neighbours, Noise, Plan};
use margins::recover::Recovery;
use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A dimension whose coarser levels are these, the coarsest first: of each finest node the node of the level.
pub(crate) fn tree(name: &str, n: usize, coarser: &[Vec<u32>]) -> Dimension {
    let mut d = plain(name, n);
    let finest = d.levels.pop().unwrap();
    let mut above = vec![0; n];
    for (at, of) in coarser.iter().enumerate() {
        // A node for every pair of a node above and one of this list, so that levels nest.
        let pairs: Vec<(u32, u32)> = above.iter().copied().zip(of.iter().copied()).collect();
        let nodes: Vec<(u32, u32)> = pairs.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        d.levels.push(Categories {
            name: format!("l{at}"),
            labels: (0..nodes.len()).map(|i| format!("{at}-{i}")).collect(),
            parent: nodes.iter().map(|p| p.0).collect(),
            bounds: Vec::new(),
        });
        above = pairs.iter().map(|p| nodes.iter().position(|n| n == p).unwrap() as u32).collect();
    }
    d.levels.push(Categories { parent: above, ..finest });
    d
}

fn dimension() -> impl Strategy<Value = (usize, Vec<Vec<u32>>)> {
    (1usize..6).prop_flat_map(|n| (Just(n), prop::collection::vec(prop::collection::vec(0u32..3, n), 0..3)))
}

fn plan(cube: &Cube, tables: &[Cuboid], scales: &[u32], exact: Vec<Cuboid>) -> Plan {
    let block = |(t, s): (&Cuboid, &u32)| Measurement {
        block: Block::Table(t.clone()),
        scale: Rational::whole(u128::from(*s)),
    };
    Plan {
        noise: Noise::Gaussian,
        budget: Rational::ONE,
        neighbours: Neighbours::AddRemove,
        max_rows: 1,
        measure: Measure::Queries,
        budgets: BudgetRule::Optimal,
        levels: Frame::levels_of(cube, tables.iter().chain(&exact)),
        channels: vec![Channel::rows(Vec::new(), tables.iter().zip(scales).map(block).collect())],
        exact,
        zeros: Vec::new(),
        copy: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 60, ..ProptestConfig::with_cases(tries(12, 96) as u32) })]
    #[test]
    fn as_matrices_say(
        trees in prop::collection::vec(dimension(), 3),
        picks in prop::collection::vec((prop::collection::vec(0usize..4, 3), 1u32..60), 1..7),
        known in prop::option::weighted(0.3, prop::collection::vec(0usize..3, 3)),
        seed in prop::collection::vec(0i64..100, 600),
    ) {
        let named = |(i, (n, coarser)): (usize, &(usize, Vec<Vec<u32>>))| tree(&format!("d{i}"), *n, coarser);
        let cube = Cube { dimensions: trees.iter().enumerate().map(named).collect() };
        let cuboid = |levels: &Vec<usize>| {
            let of = levels.iter().zip(&cube.dimensions).enumerate();
            Cuboid::new(of.map(|(i, (l, d))| (i, (*l).min(d.finest()))).collect::<Vec<_>>())
        };
        let tables: Vec<Cuboid> = picks.iter().map(|p| cuboid(&p.0)).collect();
        let exact: Vec<Cuboid> = known.iter().map(&cuboid).collect();
        let scales: Vec<u32> = picks.iter().map(|p| p.1).collect();
        let plan = plan(&cube, &tables, &scales, exact.clone());

        // Some counts, and what was measured of them.
        let cells: usize = cube.dimensions.iter().map(|d| d.levels[d.finest()].len()).product();
        let mut numbers = seed.iter().cycle();
        let mut draw = |k: usize| DVector::from_fn(k, |_, _| *numbers.next().unwrap() as f64);
        let counts = draw(cells);
        let mut blocks = Vec::new();
        let mut answers = Vec::new();
        let mut memory = Memory { values: Vec::new(), exact: Vec::new() };
        let whole = |v: &DVector<f64>| v.iter().map(|v| *v as i64).collect::<Vec<_>>();
        for (t, s) in tables.iter().zip(&scales) {
            let rows = table_matrix(&cube, t);
            let n = rows.nrows();
            let y = &rows * &counts + draw(n) - DVector::from_element(n, 50.0);
            memory.values.push(whole(&y));
            answers.push(y);
            let variance = noise_variance(Noise::Gaussian, f64::from(*s));
            blocks.push(Measured { rows, covariance: DMatrix::identity(n, n) * variance });
        }
        // What is known without noise leaves only what it does not tell: projected on that, it is least squares without constraints.
        let mut open = DMatrix::identity(cells, cells);
        for t in &exact {
            let rows = table_matrix(&cube, t);
            memory.exact.push(whole(&(&rows * &counts)));
            let told = rows.transpose() * rows;
            open -= pseudo_inverse(&told) * told;
        }
        for (block, y) in blocks.iter_mut().zip(&mut answers) {
            *y -= &block.rows * &counts;
            // What is left of rounding is nothing.
            block.rows = (&block.rows * &open).map(|v| if v.abs() < 1e-12 { 0.0 } else { v });
        }

        let evaluator = Evaluator::new(Recovery::new(cube.clone(), plan, memory).unwrap());
        for t in tables.iter().chain(&exact) {
            let query = table_matrix(&cube, t);
            let query_open = &query * &open;
            let want = &query * &counts + blue_estimate(&blocks, &answers, &query_open);
            let got = evaluator.recovery().table(t).unwrap();
            for (a, b) in got.iter().zip(want.iter()) {
                prop_assert!((a - b).abs() < 1e-7 * (1.0 + b.abs()), "{t:?}: {a} is not {b}");
            }
            // The same by groups, where the law is worked out on lumps of what looks alike.
            let covariance = blue_covariance(&blocks, &query_open);
            let levels: Vec<Level> = t.iter().collect();
            let groups = evaluator.aggregate(&Filter::everything(), &levels).unwrap();
            for (i, g) in groups.iter().enumerate() {
                let (law, dense) = (g.law.variance(), covariance[(i, i)]);
                prop_assert!((g.estimate - want[i]).abs() < 1e-7 * (1.0 + want[i].abs()));
                prop_assert!((law - dense).abs() < 1e-7 * (1.0 + dense), "{t:?}: {law} is not {dense}");
            }
        }
    }
}
