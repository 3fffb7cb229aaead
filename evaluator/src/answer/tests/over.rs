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
