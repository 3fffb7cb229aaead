//! ROLLUP, CUBE and GROUPING SETS against counts of masked labels.

use super::*;
use crate::answer::figure::question::Labels;
use crate::render::{Naming, ResultCell};
use std::collections::BTreeMap;

type Rows = BTreeMap<Vec<Option<String>>, (usize, Vec<f64>)>;

/// What a query with these labels of a cell, and these sets of its columns, counts: units, and the sum of a number of each.
fn counted(
    labels: impl Fn([usize; 3]) -> Option<Vec<String>>,
    number: impl Fn([usize; 3]) -> i64,
    sets: &[&[usize]],
) -> Rows {
    let mut rows = Rows::new();
    for set in sets {
        let mut own = Rows::new();
        for (cell, count) in TRUTH.iter().enumerate() {
            let cell = [cell / 12, cell / 4 % 3, cell % 4];
            let Some(labels) = labels(cell) else { continue };
            let masked = labels.into_iter().enumerate().map(|(i, l)| set.contains(&i).then_some(l));
            let (_, sums) = own.entry(masked.collect()).or_insert((1, vec![0.0; 2]));
            sums[0] += *count as f64;
            sums[1] += (*count * number(cell)) as f64;
        }
        for (labels, (_, sums)) in own {
            let (times, known) = rows.entry(labels).or_insert((0, sums.clone()));
            *times += 1;
            assert_eq!(*known, sums);
        }
    }
    rows
}

fn asked(sql: &str) -> Rows {
    let cube = cube();
    let plan = planned(Noise::Gaussian, Measure::Residual, "1/20");
    let query = Query::parse(sql, &cube).unwrap();
    let asked = Question::new(&query).unwrap();
    let names = Labels::new(&query, &cube);
    let mut rows = Rows::new();
    for (portion, told) in placed(&plan, &asked, measured(&plan, &TRUTH, |_, _| 0)) {
        let at = asked.place(portion, &told.nodes);
        let label = |c: usize| match names.cells(c, at, Naming::Codes).swap_remove(0) {
            ResultCell::Label(label) => Some(label),
            other => {
                assert!(matches!(other, ResultCell::Number(n) if n.is_nan()));
                None
            }
        };
        let labels = (0..query.columns.len()).filter(|&c| query.columns[c].is_label()).map(label);
        let figures = asked.figures.iter().flatten().map(|f| (f.value(&told.estimates) * 1e6).round() / 1e6);
        let (times, _) = rows.entry(labels.collect()).or_insert((0, figures.collect()));
        *times += 1;
    }
    rows
}

#[test]
fn sets_of_groups_are_counts_of_masked_labels() {
    let text = |s: &str| s.to_owned();
    let (a, half, c) = (["x", "y"], ["front", "back"], ["p", "q", "r", "s"]);
    let rolled = |[i, _, k]: [usize; 3]| (k != 2).then(|| vec![text(a[i]), text(half[k / 2]), text(c[k])]);
    let three = |[_, _, k]: [usize; 3]| if k == 0 { 3 } else { 1 };
    assert_eq!(asked(SETS[0]), counted(rolled, three, &[&[0, 1, 2], &[0, 1], &[0], &[]]));
    let band = |b: usize| text(if b == 2 { "much" } else { "little" });
    let cubed = |[i, j, _]: [usize; 3]| Some(vec![text(a[i]), band(j)]);
    let b = |[_, j, _]: [usize; 3]| j as i64;
    assert_eq!(asked(SETS[1]), counted(cubed, b, &[&[0, 1], &[0], &[1], &[]]));
    let both = |[i, _, k]: [usize; 3]| Some(vec![text(a[i]), text(half[k / 2]), text(c[k])]);
    let sql = "SELECT a, c.half, c, COUNT(*), SUM(CASE WHEN c = 'p' THEN 3 ELSE 1 END) AS s FROM t \
               GROUP BY a, GROUPING SETS ((c.half), c, ROLLUP (c), ())";
    assert_eq!(asked(sql), counted(both, three, &[&[0, 1], &[0, 2], &[0, 2], &[0], &[0]]));
    // A total of nothing is a row; a group of nothing is none.
    let nothing = asked("SELECT a, COUNT(*), SUM(b) FROM t WHERE FALSE GROUP BY ROLLUP (a)");
    assert_eq!(nothing, Rows::from([(vec![None], (1, vec![0.0; 2]))]));
}

/// What GROUPING says, and in which order rows are.
#[test]
fn grouping_tells_totals_from_categories() {
    let cube = cube();
    let sql = "SELECT GROUPING(a) AS g, a, COUNT(*) AS n FROM t GROUP BY CUBE (a)";
    let query = Query::parse(sql, &cube).unwrap();
    let asked = Question::new(&query).unwrap();
    let names = Labels::new(&query, &cube);
    let plan = planned(Noise::Gaussian, Measure::Residual, "1/20");
    let rows = placed(&plan, &asked, measured(&plan, &TRUTH, |_, _| 0));
    let told: Vec<(String, String, f64)> = rows
        .iter()
        .map(|(portion, told)| {
            let at = asked.place(*portion, &told.nodes);
            (names.label(0, at), names.label(1, at), names.rank(1, at))
        })
        .collect();
    let row = |g: &str, a: &str, rank| (g.to_owned(), a.to_owned(), rank);
    assert_eq!(told, [row("0", "x", 0.0), row("0", "y", 1.0), row("1", "", f64::INFINITY)]);
}
