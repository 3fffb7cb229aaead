//! Running totals and neighbouring rows against sums of the counts themselves.

use super::*;

/// What SQL says of each row, from exact counts: running totals with and without a partition, moving sums, differences.
#[test]
fn running_totals_are_sums_of_counts() {
    let cube = cube();
    let plan = planned(Noise::Gaussian, Measure::Residual, "1/20");
    for left in ["", "WHERE c <> 'q'"] {
        let sql = OVER.replace("FROM t", &format!("FROM t {left}"));
        let query = Query::parse(&sql, &cube).unwrap();
        let asked = Question::new(&query).unwrap();
        let rows = placed(&plan, &asked, measured(&plan, &TRUTH, |_, _| 0));
        let count = |a: usize, c: usize| -> i64 { (0..3).map(|b| TRUTH[a * 12 + b * 4 + c]).sum() };
        let all: Vec<usize> = (0..4).filter(|&c| left.is_empty() || c != 1).collect();
        assert_eq!(rows.len(), 2 * all.len());
        let mut seen = 0;
        for (portion, told) in &rows {
            let [a, c] = [told.nodes[0] as usize, told.nodes[1] as usize];
            let at = all.iter().position(|&own| own == c).unwrap();
            let of = |from: usize, to: usize| -> i64 {
                all[from.min(all.len())..to.min(all.len())].iter().map(|&c| count(a, c)).sum()
            };
            let want = [
                Some(count(a, c)),
                Some(of(0, at + 1)),
                at.checked_sub(1).map(|before| count(a, c) - count(a, all[before])),
                Some(of(at.saturating_sub(1), at + 2)),
                Some(all[..=at].iter().map(|&c| count(0, c) + count(1, c)).sum()),
                Some(2 * all.get(at + 2).map_or(0, |&c| count(a, c))),
                Some(of(at, all.len())),
            ];
            for (figure, want) in asked.figures.iter().flatten().zip(want) {
                let null = asked.is_null(*portion, figure);
                assert_eq!(null, want.is_none(), "{a} {c}");
                let got = figure.value(&told.estimates);
                assert!(
                    null || (got - want.unwrap_or(0) as f64).abs() < 1e-6,
                    "{sql} {a} {c}: {got} {want:?}"
                );
                seen += 1;
            }
        }
        assert_eq!(seen, 7 * rows.len());
    }
}

/// Within the labels of a level above the row before is the one before in its own group.
#[test]
fn rows_before_within_a_level_above() {
    let mut cube = cube();
    // p and r are in front, q and s behind: what is together does not lie together.
    cube.dimensions[2].levels[2].parent = vec![0, 1, 0, 1];
    let sql = "SELECT c.half, c, COUNT(*) - LAG(COUNT(*)) OVER (PARTITION BY c.half ORDER BY c) AS more, \
               SUM(COUNT(*)) OVER (PARTITION BY c.half ORDER BY c ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS two \
               FROM t GROUP BY c.half, c";
    let query = Query::parse(sql, &cube).unwrap();
    let asked = Question::new(&query).unwrap();
    let counts: Vec<f64> = (0..4).map(|c| TRUTH.iter().skip(c).step_by(4).sum::<i64>() as f64).collect();
    let mut seen = 0;
    for (portion, own) in asked.portions.iter().enumerate() {
        for c in 0..4u32 {
            let cells = |a: usize| own.aggregates[a].cells(&query.group_by, &[c], &cube).unwrap();
            let sum = |a: usize| -> f64 {
                let filter = cells(a);
                let weight = |at: usize| match filter.classes(2) {
                    Some(classes) => filter.weights[classes.class_of[at] as usize],
                    None => filter.weights[0],
                };
                (0..4).map(|at| weight(at) * counts[at]).sum()
            };
            // Each portion is of one category, and empty of the others.
            if Present::new(&own.filter, &query.group_by, &cube).holds(&[c]) {
                let values: Vec<f64> = (0..asked.aggregates.len()).map(sum).collect();
                let [more, two] = [2, 3].map(|at| asked.figures[at].as_ref().unwrap());
                let c = c as usize;
                assert_eq!(asked.is_null(portion, more), c < 2, "{c}");
                let before = c.checked_sub(2).map(|at| counts[at]);
                assert!(before.is_none_or(|before| more.value(&values) == counts[c] - before), "{c}");
                assert_eq!(two.value(&values), counts[c] + before.unwrap_or(0.0), "{c}");
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 4);
}
