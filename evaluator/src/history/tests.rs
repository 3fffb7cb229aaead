//! Against normal equations by hand and by pseudo-inverse.

use super::*;
use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn small() -> History {
    // Three cells; only x₀ + x₁ and x₂ are ever seen.
    let rows = vec![vec![1., 1., 0.], vec![0., 0., 1.], vec![1., 1., 1.], vec![0., 0., 0.]];
    History::new(rows, vec![10.0, 4.0, 15.0, 7.0], vec![0.1, 0.2, 0.1, 1.0], None).unwrap()
}

#[test]
fn what_was_not_seen_has_no_estimate() {
    let inferred = small().infer().unwrap();
    assert_eq!(inferred.rank(), Some(2));
    assert_eq!((inferred.cells()[0], inferred.cells()[1]), (None, None));
    assert!(inferred.cells()[2].is_some());
    assert_eq!(inferred.query(&[1., 0., 0.]).unwrap_err(), HistoryError::NotEstimable);
    // By hand: a = x₀+x₁ seen as 10 (var 200), c as 4 (var 50), a+c as 15 (var 200).
    // Normal equations [2 1; 1 5]/200 · (a, c) = (25, 31)/200.
    let a = inferred.query(&[2., 2., 0.]).unwrap();
    assert!((a.estimate - 2.0 * (25.0 * 5.0 - 31.0) / 9.0).abs() < 1e-9);
    assert!((a.law.variance() - 4.0 * 200.0 * 5.0 / 9.0).abs() < 1e-9);
    assert!((inferred.cells()[2].unwrap() - (2.0 * 31.0 - 25.0) / 9.0).abs() < 1e-9);
}

/// A query whose squares doubles do not hold is refused: it is neither exact nor searched for without end.
#[test]
fn queries_that_lead_too_far_are_refused() {
    let rows = vec![vec![1.0, 0.0], vec![1.0, 1.0]];
    let history = History::new(rows, vec![10.0, 14.0], vec![0.1, 0.2], None).unwrap();
    for solver in [Solver::Dense, Solver::Blocked, Solver::Sparse] {
        let inferred = history.infer_by(solver).unwrap();
        for far in [1e-320, 1e-200, 1e200, 1e308] {
            let refused = inferred.query(&[far, 0.0]).unwrap_err();
            assert!(matches!(refused, HistoryError::Number(_)), "{solver:?} {far}: {refused:?}");
        }
        let plain = inferred.query(&[1.0, 0.0]).unwrap().interval(0.9);
        let scaled = inferred.query(&[1e90, 0.0]).unwrap().interval(0.9);
        assert!((scaled.0 / plain.0 * 1e-90 - 1.0).abs() < 1e-6, "{solver:?}");
        assert_eq!(inferred.query(&[0.0, 0.0]).unwrap().law.variance(), 0.0);
    }
}

/// The second row takes the first away from a query: a sum of rows whose parts cancel.
#[test]
fn what_cancels_is_estimable() {
    let rows = vec![vec![0., 0., 1., -2.], vec![0., -1., -1., 2.], vec![0., 0., 1., -2.]];
    let history = History::new(rows, vec![1.0, 2.0, 3.0], vec![0.05, 0.07, 0.03], None).unwrap();
    for solver in [Solver::Dense, Solver::Blocked, Solver::Sparse] {
        let inferred = history.infer_by(solver).unwrap();
        let x = inferred.query(&[0., -1., 0., 0.]).unwrap().estimate;
        assert!((inferred.cells()[1].unwrap() + x).abs() < 1e-9, "{solver:?}");
        // Of 1 and 3 the average by squared budgets, and 2.
        let first = (25.0 * 1.0 + 9.0 * 3.0) / 34.0;
        assert!((x - (first + 2.0)).abs() < 1e-9, "{solver:?} {x}");
        assert_eq!(inferred.query(&[0., 0., 1., 0.]).unwrap_err(), HistoryError::NotEstimable);
    }
}

#[test]
fn mistakes_are_named() {
    let new = |rows: Vec<Vec<f64>>, y: &[f64], b: &[f64], s: Option<Vec<f64>>| {
        History::new(rows, y.to_vec(), b.to_vec(), s).unwrap_err().to_string()
    };
    assert!(new(vec![vec![1.0], vec![1.0, 2.0]], &[1., 2.], &[1., 1.], None).contains("row 2"));
    assert!(new(vec![vec![1.0]], &[], &[1.], None).contains("answers"));
    assert!(new(vec![vec![1.0]], &[1.], &[0.], None).contains("budget 1"));
    assert!(new(vec![vec![3.0]], &[1.], &[1.], Some(vec![2.0])).contains("at least 3"));
    assert!(new(vec![], &[], &[], None).contains("at least one"));
    assert!(History::from_entries((1 << 27, 1), [], vec![], vec![], None).is_err());
    assert!(History::from_entries((1, 1), [(1, 0, 1.0)], vec![0.0], vec![1.0], None).is_err());
}

#[test]
fn precision_on_demand() {
    let h = small();
    let inferred = h.infer().unwrap();
    let spend = |q: &[f64], w: f64, bound| h.spending(&inferred, q, w, 0.95, bound).unwrap();
    let q = [1., 1., 0.];
    let have = inferred.query(&q).unwrap().law.half_width(0.95);
    assert_eq!(spend(&q, have * 1.001, None), Spending::Nothing { half_width: have });
    let Spending::Ask { budget, alone, half_width, cost } = spend(&q, have / 2.0, None) else {
        panic!("the history is not that precise")
    };
    let want = 20f64.ln() / (have / 2.0);
    assert!((alone - want).abs() < 1e-12 && budget < 0.9 * alone);
    assert!(half_width <= have / 2.0 && half_width > 0.999 * have / 2.0);
    assert!(
        (cost - h.cell_cost().iter().zip(q).map(|(b, q)| b + budget * q).fold(0.0, f64::max)).abs() < 1e-12
    );
    // Slightly less does not do.
    let less = NoiseLaw::Laplace { scale: 1.0 / (budget * 0.99) };
    let old = inferred.query(&q).unwrap().law;
    let share = old.variance() / (old.variance() + less.variance());
    let mut terms: Vec<Term> =
        old.terms().iter().map(|t| Term { coefficient: t.coefficient * (1.0 - share), ..*t }).collect();
    terms.push(Term { coefficient: share, copies: 1, noise: less });
    assert!(ErrorLaw::new(terms).unwrap().half_width(0.95) > have / 2.0);
    // Something never asked: alone is all there is. And a bound that is passed.
    assert!(
        matches!(spend(&[1., 0., 0.], 5.0, None), Spending::Ask { budget, alone, .. } if budget == alone)
    );
    assert!(matches!(spend(&[1., 0., 0.], 0.5, Some(1.0)), Spending::Refused { .. }));
}

/// Columns that differ by a millionth part: squares see nothing of it, and the blocked solver must give way to one that does.
#[test]
fn nearly_dependent_rows_are_not_taken_for_dependent() {
    let rows = vec![vec![1.0, 1.0], vec![1.0, 1.0 + 1e-6], vec![2.0, 2.0]];
    let history = History::new(rows, vec![10.0, 11.0, 20.0], vec![0.5; 3], None).unwrap();
    let [dense, blocked] = [Solver::Dense, Solver::Blocked].map(|s| history.infer_by(s).unwrap());
    assert_eq!((dense.rank(), blocked.rank()), (Some(2), Some(2)));
    let [a, b] = [&dense, &blocked].map(|i| i.query(&[0.0, 1.0]).unwrap());
    assert_eq!((a.estimate, a.law.variance()), (b.estimate, b.law.variance()));
}

/// More than one block of columns, half of them combinations of others, against the QR factorisation.
#[test]
fn blocks_are_as_the_whole() {
    let (mut dice, cells) = (crate::numeric::dice::Dice::new(8), 150);
    let mut rows: Vec<Vec<f64>> = (0..220)
        .map(|_| {
            let mut row = vec![0.0; cells];
            (0..1 + dice.below(10)).for_each(|_| row[dice.below(cells / 2)] += 1.0);
            // The other half only ever comes in pairs, of which nothing is known apart.
            let pair = cells / 2 + dice.below(cells / 4);
            row[pair] += 1.0;
            row[pair + cells / 4] += 1.0;
            row
        })
        .collect();
    rows.push(vec![1.0; cells]);
    let answers: Vec<f64> = rows.iter().map(|_| dice.unit() * 100.0).collect();
    let budgets: Vec<f64> = rows.iter().map(|_| 0.01 + dice.unit()).collect();
    let history = History::new(rows.clone(), answers, budgets, None).unwrap();
    let [dense, blocked] = [Solver::Dense, Solver::Blocked].map(|s| history.infer_by(s).unwrap());
    assert_eq!(dense.rank(), blocked.rank());
    for (a, b) in dense.cells().iter().zip(blocked.cells()) {
        assert_eq!(a.is_some(), b.is_some());
        assert!((a.unwrap_or(0.0) - b.unwrap_or(0.0)).abs() < 1e-6);
    }
    for at in [0, 7, 219, 220] {
        let [a, b] = [&dense, &blocked].map(|i| i.query(&rows[at]).unwrap());
        assert!(
            (a.estimate - b.estimate).abs() < 1e-7
                && (a.law.variance() / b.law.variance() - 1.0).abs() < 1e-7
        );
    }
    let mut one = vec![0.0; cells];
    one[cells / 2] = 1.0;
    for inferred in [&dense, &blocked] {
        assert_eq!(inferred.query(&one).unwrap_err(), HistoryError::NotEstimable);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64, failure_persistence: None, rng_seed: RngSeed::Fixed(17), ..ProptestConfig::default()
    })]
    /// Against the normal equations with a pseudo-inverse from an SVD.
    #[test]
    fn as_dense_algebra_says(
        entries in prop::collection::vec(-2i32..3, 5 * 4),
        y in prop::collection::vec(-50.0..50.0f64, 5),
        budgets in prop::collection::vec(0.05..1.0f64, 5),
        mix in prop::collection::vec(-2i32..3, 5),
    ) {
        let rows: Vec<Vec<f64>> = entries.chunks(4).map(|r| r.iter().map(|&v| f64::from(v)).collect()).collect();
        let h = History::new(rows.clone(), y.clone(), budgets.clone(), None).unwrap();
        let inferred = h.infer().unwrap();
        let flat: Vec<f64> = rows.iter().flatten().copied().collect();
        let matrix = DMatrix::from_row_slice(5, 4, &flat);
        let w = DMatrix::from_diagonal(&DVector::from_fn(5, |i, _| h.weight(i) * h.weight(i)));
        let normal = matrix.transpose() * &w * &matrix;
        let inverse = normal.clone().pseudo_inverse(1e-10).unwrap();
        let x = &inverse * matrix.transpose() * &w * DVector::from_vec(y);
        // A query in the row space, and a random one that may not be.
        let q = DVector::from_fn(4, |j, _| (0..5).map(|i| f64::from(mix[i]) * rows[i][j]).sum::<f64>());
        let got = inferred.query(q.as_slice()).unwrap();
        let scale = 1.0 + x.amax() * q.amax();
        prop_assert!((got.estimate - q.dot(&x)).abs() < 1e-7 * scale, "{} {}", got.estimate, q.dot(&x));
        let variance = 2.0 * (q.transpose() * &inverse * &q)[0];
        prop_assert!((got.law.variance() - variance).abs() < 1e-7 * (1.0 + variance));
        let any = DVector::from_fn(4, |j, _| f64::from(mix[j]));
        let inside = (&normal * &inverse * &any - &any).amax() < 1e-7;
        prop_assert_eq!(inferred.query(any.as_slice()).is_ok(), inside);
        // The other solvers.
        for solver in [Solver::Blocked, Solver::Sparse] {
            let other = h.infer_by(solver).unwrap();
            let again = other.query(q.as_slice()).unwrap();
            prop_assert!((again.estimate - got.estimate).abs() < 1e-6 * scale);
            prop_assert!((again.law.variance() - variance).abs() < 1e-6 * (1.0 + variance));
            prop_assert_eq!(other.query(any.as_slice()).is_ok(), inside);
            for (a, b) in other.cells().iter().zip(inferred.cells()) {
                prop_assert_eq!(a.is_some(), b.is_some());
                prop_assert!((a.unwrap_or(0.0) - b.unwrap_or(0.0)).abs() < 1e-6 * scale);
            }
            if solver == Solver::Blocked {
                prop_assert_eq!(other.rank(), inferred.rank());
            }
        }
        // Two halves, one after the other.
        let half = |r: std::ops::Range<usize>| {
            History::new(rows[r.clone()].to_vec(), h.answers[r.clone()].to_vec(), budgets[r].to_vec(), None).unwrap()
        };
        let joined = half(0..2).and(&half(2..5)).unwrap().infer().unwrap().query(q.as_slice()).unwrap();
        prop_assert!((joined.estimate - got.estimate).abs() < 1e-9 * scale);
    }
}
