//! Rows that an agency wrote itself: estimates, variances and what can be estimated at all, by pseudo-inverses.

use crate::answers::{Bits, Case, answers, case, cell_at, query_matrix};
use crate::dense::{Blue, table_matrix};
use crate::plans::request;
use margins::answer::Evaluator;
use margins::cube::Filter;
use margins::cube::{Cube, Cuboid, Frame};
use margins::numeric::tries::tries;
use margins::plan::{BudgetRule, Measure, Neighbours, Noise, Rows, Table};
use margins::planner::{PlanError, Request, compare, plan};
use margins::recover::{Recovery, zeros};
use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Rows over a table at least as fine as all those asked for: every cell of these, times some factor, some of them twice, and a
/// few rows of any factors; in any order. They may leave many cells of their own table open.
fn rows(cube: &Cube, workload: &[Table], bits: &mut Bits) -> Rows {
    let mut of = workload.iter().fold(Cuboid::total(), |c, t| c.join(&t.cuboid));
    if bits.next().is_multiple_of(2) {
        let finest = cube.dimensions.iter().enumerate().map(|(d, x)| (d, x.finest()));
        of = of.join(&Cuboid::new(finest.filter(|_| bits.next().is_multiple_of(2))));
    }
    let levels = Frame::levels_of(cube, workload.iter().map(|t| &t.cuboid).chain([&of]));
    let frame = Frame::new(cube, &levels);
    let cells = frame.len(&of);
    let sparse = |row: Vec<f64>| -> Vec<(u32, i32)> {
        row.iter().enumerate().filter(|(_, f)| **f != 0.0).map(|(c, f)| (c as u32, *f as i32)).collect()
    };
    let mut rows = Vec::new();
    for t in workload {
        let n = frame.len(&t.cuboid);
        for cell in 0..n {
            let factor = [1.0, 1.0, 1.0, -1.0, 2.0, 7.0][bits.next() as usize % 6];
            let unit = (0..n).map(|i| if i == cell { factor } else { 0.0 }).collect();
            rows.push(sparse(frame.pull_back(&t.cuboid, &of, unit)));
            if bits.next().is_multiple_of(7) {
                rows.extend(rows.last().cloned());
            }
        }
    }
    for _ in 0..bits.next() % 4 {
        let any = (0..cells).map(|_| (bits.next() % 7) as f64 - 3.0).collect();
        rows.push(sparse(any));
    }
    rows.retain(|row| !row.is_empty());
    for i in (1..rows.len()).rev() {
        rows.swap(i, bits.next() as usize % (i + 1));
    }
    Rows { cuboid: of, rows }
}

fn asked(case: &Case) -> (Cube, Vec<Table>, Request) {
    let cube = case.cube();
    let workload = case.workload(&cube);
    let noise = if case.laplace { Noise::Laplace } else { Noise::Gaussian };
    let mut r = request(cube.clone(), workload.clone(), noise, "1/3");
    r.measure = Some(Measure::Matrix);
    r.budgets = if case.uniform { BudgetRule::Uniform } else { BudgetRule::Optimal };
    r.rows = Some(rows(&cube, &workload, &mut Bits(case.noise ^ 1)));
    (cube, workload, r)
}

fn rank(m: &DMatrix<f64>) -> usize {
    m.clone().svd(false, false).singular_values.iter().filter(|v| **v > 1e-9).count()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: tries(5, 120) as u32,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(42),
        ..ProptestConfig::default()
    })]

    /// Whatever the rows determine is answered as dense least squares answers it, and nothing else is answered.
    #[test]
    fn rows_are_answered_by_dense_least_squares(case in case()) {
        // Singular values of large matrices take their time.
        prop_assume!(case.cells() <= 100);
        let (cube, workload, mut r) = asked(&case);
        r.zeros.extend(case.zero(&cube, &workload));
        let planned = plan(&r).unwrap();
        prop_assert!(planned.cost.total <= r.budget);
        let plan = planned.plan;
        let (values, dense, mut blocks) = answers(&cube, &plan, case.noise);
        if plan.zeros.is_empty() {
            let blue = Blue::new(&blocks, blocks[0].rows.ncols());
            for (table, spread) in plan.rows().workload.iter().zip(&planned.prediction.tables) {
                let v = blue.covariance(&table_matrix(&cube, &table.cuboid)).diagonal();
                prop_assert!((spread.mean / v.mean() - 1.0).abs() < 1e-7, "mean {} is not {}", spread.mean, v.mean());
                prop_assert!((spread.max / v.max() - 1.0).abs() < 1e-7, "max {} is not {}", spread.max, v.max());
            }
        }
        let declared = plan.zeros.first().map(|z| zeros::filter(&cube, z).unwrap());
        let filled = DVector::from_fn(blocks[0].rows.ncols(), |at, _| match &declared {
            Some(f) if f.weight_at(&cell_at(&cube, at)).unwrap() != 0.0 => 0.0,
            _ => 1.0,
        });
        for b in &mut blocks {
            b.rows *= DMatrix::from_diagonal(&filled);
        }
        let blue = Blue::new(&blocks, filled.len());
        let all: Vec<_> = blocks.iter().flat_map(|b| b.rows.row_iter()).collect();
        let all = DMatrix::from_rows(&all);
        let of = plan.rows().measurements[0].block.cuboid().clone();
        let evaluator = Evaluator::new(Recovery::new(cube.clone(), plan, values).unwrap());
        // The last one is of the rows' own table: it may be open.
        let first = &workload[case.asked % workload.len()].cuboid;
        let questions = [
            (Filter::everything(), vec![]),
            (case.filter(&cube, first), case.group_by(first)),
            (case.filter(&cube, &of), vec![]),
        ];
        for (filter, by) in questions {
            let q = query_matrix(&cube, &filter, &by) * DMatrix::from_diagonal(&filled);
            let both: Vec<_> = all.row_iter().chain(q.row_iter()).collect();
            let open = rank(&DMatrix::from_rows(&both)) > rank(&all);
            let groups = match evaluator.aggregate(&filter, &by) {
                Ok(groups) => groups,
                Err(e) => {
                    prop_assert!(open && e.to_string().contains("do not determine"), "{e}");
                    continue;
                }
            };
            prop_assert!(!open, "answered what nothing tells");
            let estimates = blue.estimate(&dense, &q);
            let variances = blue.covariance(&q).diagonal();
            prop_assert_eq!(groups.len(), q.nrows());
            for (g, (e, v)) in groups.iter().zip(estimates.iter().zip(variances.iter())) {
                prop_assert!((g.estimate - e).abs() < 1e-5 * (1.0 + e.abs()), "{} is not {e}", g.estimate);
                let law = g.law.variance();
                prop_assert!((law - v).abs() < 1e-6 * (1e-3 + v.abs()), "variance {law} is not {v}");
            }
        }
        // Whole tables: those asked for, and the rows' own where it is determined.
        for cuboid in workload.iter().map(|t| &t.cuboid).chain([&of]) {
            let q = table_matrix(&cube, cuboid) * DMatrix::from_diagonal(&filled);
            let both: Vec<_> = all.row_iter().chain(q.row_iter()).collect();
            let open = rank(&DMatrix::from_rows(&both)) > rank(&all);
            match evaluator.recovery().table(cuboid) {
                Ok(table) => {
                    prop_assert!(!open);
                    for (x, e) in table.iter().zip(blue.estimate(&dense, &q).iter()) {
                        prop_assert!((x - e).abs() < 1e-5 * (1.0 + e.abs()), "{x} is not {e}");
                    }
                }
                Err(e) => prop_assert!(open && e.to_string().contains("every cell of"), "{e}"),
            }
        }
    }

    /// Optimal budgets are never worse than uniform ones, both spend all there is, and the same request gives the same plan.
    #[test]
    fn optimal_budgets_are_never_worse(case in case(), substitute in any::<bool>(), max_rows in 1u32..3) {
        prop_assume!(case.cells() <= 100);
        let (_, _, mut r) = asked(&case);
        if substitute {
            r.neighbours = Neighbours::Substitute;
        }
        r.max_rows = max_rows;
        let mut error = [0.0; 2];
        for (e, budgets) in error.iter_mut().zip([BudgetRule::Uniform, BudgetRule::Optimal]) {
            r.budgets = budgets;
            let planned = plan(&r);
            // The number of rows alone is no secret where rows are only changed.
            prop_assume!(!matches!(planned, Err(PlanError::Public)));
            let p = planned.unwrap();
            prop_assert!(p.cost.total <= r.budget);
            // Where two units can differ in nothing that is measured, substituting costs nothing.
            prop_assert!(p.cost.total.to_f64() > r.budget.to_f64() * (1.0 - 1e-8) || p.cost.total.is_zero());
            *e = p.prediction.weighted_total;
            prop_assert_eq!(plan(&r).unwrap().plan, p.plan);
        }
        prop_assert!(error[1] <= error[0] * (1.0 + 1e-9), "{} and {}", error[1], error[0]);
    }
}

/// `auto` and comparisons look at the rows if there are any, and only then.
#[test]
fn auto_looks_at_rows() {
    let cube = Cube { dimensions: vec![crate::dense::plain("a", 4)] };
    let of = Cuboid::new(vec![(0, 1)]);
    let mut r = request(cube.clone(), crate::plans::every(&cube, 1), Noise::Laplace, "1");
    // Halves and quarters in other weights than any other strategy's: cells, two of them with a sum.
    r.rows = Some(Rows {
        cuboid: of,
        rows: vec![vec![(0, 1)], vec![(1, 1)], vec![(2, 1)], vec![(3, 1)], vec![(0, 1), (1, 1)]],
    });
    let count = |r: &Request| {
        let all = compare(r, &BudgetRule::ALL).unwrap();
        all.iter().filter(|c| c.measure == Measure::Matrix && c.outcome.is_ok()).count()
    };
    assert_eq!(count(&r), 2);
    let auto = plan(&r).unwrap().prediction.weighted_total;
    r.measure = Some(Measure::Matrix);
    assert!(auto <= plan(&r).unwrap().prediction.weighted_total * 1.001);
    r.rows = None;
    assert_eq!(count(&r), 0);
}

/// What the rows leave open is named; so is a table finer than theirs.
#[test]
fn tables_must_be_determined() {
    let cube = Cube { dimensions: vec![crate::dense::plain("a", 2), crate::dense::plain("b", 3)] };
    let tables = crate::plans::every(&cube, 1);
    let mut r = request(cube, tables, Noise::Laplace, "1");
    r.measure = Some(Measure::Matrix);
    let error = |r: &Request| match plan(r) {
        Err(PlanError::NotApplicable("matrix", why)) => why.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(error(&r).contains("it needs `rows`"));
    let whole = Cuboid::new(vec![(0, 1), (1, 1)]);
    // The two of a, and two of the three of b: the third is what is left of the sum.
    let mut sums: Vec<Vec<(u32, i32)>> = vec![
        vec![(0, 1), (1, 1), (2, 1)],
        vec![(3, 1), (4, 1), (5, 1)],
        vec![(0, 1), (3, 1)],
        vec![(1, 5), (4, 5)],
    ];
    r.rows = Some(Rows { cuboid: whole.clone(), rows: sums.clone() });
    assert!(plan(&r).is_ok());
    let last = sums.pop();
    r.rows = Some(Rows { cuboid: whole, rows: sums.clone() });
    assert_eq!(error(&r), "its rows do not determine every cell of b");
    sums.extend(last);
    r.rows = Some(Rows { cuboid: Cuboid::new(vec![(0, 1)]), rows: vec![vec![(0, 1)], vec![(1, 1)]] });
    assert_eq!(error(&r), "no measured table holds b");
}

/// A matrix of full rank is plain weighted regression: four
/// cells, eight rows of a worked example with its published answers.
#[test]
fn a_published_example() {
    let h: [[i32; 4]; 8] = [
        [1, 1, 0, 0],
        [0, 0, 1, 1],
        [0, 0, 0, 1],
        [0, 0, 1, 0],
        [0, 1, 0, 1],
        [2, 1, 0, 0],
        [0, 0, 2, -1],
        [0, -1, 0, 1],
    ];
    let rows: Vec<Vec<(u32, i32)>> =
        h.iter().map(|row| (0..4u32).zip(*row).filter(|(_, f)| *f != 0).collect()).collect();
    let alpha = [0.05, 0.1, 0.05, 0.1, 0.1, 0.05, 0.05, 0.1];
    let y = [30.8, 30.3, 46.9, 20.2, 30.4, 68.9, 38.9, 9.5];
    let largest = h.map(|row| row.iter().map(|f| f.abs()).max().unwrap());
    let weights = alpha.iter().zip(largest).map(|(a, s)| (a / f64::from(s)).powi(2)).collect();
    let system = margins::recover::rows::RowSystem::new(rows.iter().map(|r| r.as_slice()), &[]).unwrap();
    assert_eq!(system.rank(), 4);
    let weighed = std::sync::Arc::new(system).weighed(weights).unwrap();
    let x = weighed.cells(&y, &[], 4);
    for (x, published) in x.iter().zip([24.992308, 10.176923, 17.021495, 19.501869]) {
        assert!((x - published).abs() < 1e-6, "{x}");
    }
    let q = weighed.system().express(&[1.0, 0.0, 1.0, 0.0]).unwrap();
    let coefficients = weighed.coefficients(q.clone());
    let estimate: f64 = coefficients.iter().zip(y).map(|(c, y)| c * y).sum();
    assert!((estimate - 42.013803).abs() < 1e-6, "{estimate}");
    assert!((2.0 * weighed.variance(q) - 554.450036).abs() < 1e-5);
}
