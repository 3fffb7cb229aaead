//! How often the intervals of a change between two releases cover.

use super::*;
use crate::answer::figure::{Answered, Changes, of_ratios};
use proptest::prelude::*;

/// What the later period has more of in every aggregate.
const MORE: f64 = 17.0;

/// The later release: noise of its own, other people.
fn later(mut rows: Vec<Told>) -> Vec<Told> {
    rows.iter_mut().flat_map(|g| &mut g.estimates).for_each(|e| *e += MORE);
    rows
}

/// With 6000 pairs of releases a coverage of 0.9 is seen within 0.016 (four standard errors of one row), with 1500 within 0.032. An interval that forgot
/// the noise of one of the two releases would cover 0.76, one of 0.8 of the width 0.82: both are found out. For the percentage
/// Fieller's criterion at the truth is counted, and the interval itself is held against it on some draws.
#[test]
fn intervals_of_a_change_cover_as_they_say() {
    const DRAWS: u64 = tries(1500, 6000) as u64;
    let near = 0.016 * (6000.0 / DRAWS as f64).sqrt();
    const LEVEL: f64 = 0.9;
    let query = Query::parse("SELECT a, COUNT(*) AS n, SUM(b) AS s FROM t GROUP BY a", &cube()).unwrap();
    let asked = Question::new(&query).unwrap();
    for (noise, measure) in [(Noise::Gaussian, Measure::Residual), (Noise::Laplace, Measure::Queries)] {
        let plan = planned(noise, measure, "1/20");
        let response = Response::new(&plan, &asked);
        let (before, after) = (&response.rows, later(response.rows.clone()));
        let (mut pairs, mut changes) = (Pairs::default(), Changes::default());
        let figures: Vec<_> =
            asked.figures.iter().enumerate().filter_map(|(i, f)| Some((i, f.as_ref()?))).collect();
        let (mut difference, mut narrow, mut percent, mut seen) = (0u64, 0u64, 0u64, 0u64);
        for seed in 0..DRAWS {
            let drawn = [response.draw(2 * seed), later(response.draw(2 * seed + 1))];
            // One row and figure after the other.
            let row = seed as usize % before.len();
            let (i, figure) = figures[seed as usize / before.len() % figures.len()];
            let part = |g: &Told, law: &Arc<JointLaw>, pairs: &mut Pairs| {
                figure.part(i, &told(&g.estimates, law), pairs)
            };
            let law = &response.rows[row].law;
            let (a, b) = (part(&before[row], law, &mut pairs), part(&after[row], law, &mut pairs));
            let truth = (b.numerator - a.numerator, 100.0 * (b.numerator / a.numerator - 1.0));
            let (a, b) = (part(&drawn[0][row], law, &mut pairs), part(&drawn[1][row], law, &mut pairs));
            let change = changes.of(&a, &b);
            let found = figure.difference(&change, &how(LEVEL)).unwrap();
            difference += u64::from(found.low - 1e-7 <= truth.0 && truth.0 <= found.high + 1e-7);
            narrow += u64::from((found.estimate - truth.0).abs() <= 0.8 * found.reach());
            let inside = change.holds(truth.1, LEVEL).unwrap();
            percent += u64::from(inside);
            if seed % 1000 < 4 {
                let found = change.percent(&how(LEVEL)).unwrap();
                let holds = found.low <= truth.1 && truth.1 <= found.high;
                assert!(holds || !inside, "{} not in {} … {}", truth.1, found.low, found.high);
                seen += 1;
            }
        }
        assert_eq!(seen, 4 * DRAWS.div_ceil(1000));
        let share = |n: u64| n as f64 / DRAWS as f64;
        for (what, covered) in [("difference", difference), ("percent", percent)] {
            assert!((share(covered) - LEVEL).abs() < near, "{noise:?} {what}: {}", share(covered));
        }
        assert!(share(narrow) < LEVEL - near, "{noise:?}: {}", share(narrow));
    }
}

/// Nothing is left of a share: its change is -100 %, with the error that the nothing has.
#[test]
fn a_change_to_nothing_has_an_error() {
    let of = |estimate: f64, std_error: f64| Answered {
        estimate,
        std_error,
        low: estimate - 2.0 * std_error,
        high: estimate + 2.0 * std_error,
        basis: Basis::Fieller,
        way: 0,
        error: ErrorOf::Rows(Vec::new()),
    };
    let percent = |a: (f64, f64), b: (f64, f64)| of_ratios(&of(a.0, a.1), &of(b.0, b.1))[1];
    let found = percent((0.5, 0.03), (0.0, 0.02));
    assert_eq!((found.estimate, found.std_error), (-100.0, 4.0));
    let found = percent((-0.5, 0.03), (0.25, 0.02));
    assert!((found.std_error - 5.0).abs() < 1e-12, "{found:?}");
}

proptest! {
    /// Whatever two ratios may be, their difference and quotient are inside.
    #[test]
    fn changes_of_ratios_hold_all_that_their_parts_allow(
        ends in prop::array::uniform4(-50.0f64..50.0), at in prop::array::uniform2(0.0f64..1.0)
    ) {
        let interval = |x: f64, y: f64| (x.min(y), x.max(y));
        let ((al, ah), (bl, bh)) = (interval(ends[0], ends[1]), interval(ends[2], ends[3]));
        let of = |low: f64, high: f64| Answered {
            estimate: 0.5 * (low + high),
            std_error: 1.0,
            low,
            high,
            basis: Basis::Fieller,
            way: 0,
            error: ErrorOf::Ratio { pair: Arc::default(), numerator: 0.0, denominator: 1.0 },
        };
        let (a, b) = (al + at[0] * (ah - al), bl + at[1] * (bh - bl));
        let [difference, percent] = of_ratios(&of(al, ah), &of(bl, bh));
        prop_assert!(difference.low - 1e-9 <= b - a && b - a <= difference.high + 1e-9);
        let change = 100.0 * (b / a - 1.0);
        let slack = 1e-9 * (1.0 + change.abs());
        prop_assert!(percent.low - slack <= change && change <= percent.high + slack, "{percent:?} {change}");
        prop_assert_eq!(percent.low.is_finite(), al > 0.0 || ah < 0.0);
    }
}
