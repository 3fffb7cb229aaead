//! Skewed amounts: whether the intervals of sums, means, variances and differences of means cover as they say, whatever the values are like.

use super::*;

/// What rows have, by a number between 0 and 1.
type Shape = fn(f64) -> f64;

/// Log-normal with a long tail beyond the bound; mostly zeros; mostly at the two ends.
const SHAPES: [(&str, Shape); 3] = [
    ("log-normal", |u| {
        // The logistic stands in for the normal: its tail is even longer.
        let z = (u / (1.0 - u)).ln() / 1.7;
        40.0 * (1.1 * z).exp()
    }),
    ("zeros", |u| if u < 0.8 { 0.0 } else { 2000.0 * (u - 0.8) }),
    ("ends", |u| {
        if u < 0.45 {
            -50.0
        } else if u < 0.9 {
            5000.0
        } else {
            400.0 * (u - 0.9)
        }
    }),
];

/// Sixty rows of a shape, as text and as sex and value, moved to the bounds and rounded.
fn people(shape: Shape) -> (String, Vec<(usize, f64)>) {
    let (mut text, mut all) = ("sex,age,pay\n".to_owned(), Vec::new());
    for i in 0..60usize {
        let u = ((i * 37 + 11) % 60) as f64 / 60.0 + 0.5 / 60.0;
        let value = (shape(u) * 4.0).round() / 4.0;
        text.push_str(&format!("{},{},{value}\n", ["F", "M"][i % 2], i % 3));
        all.push((i % 2, 2.0 * (value.clamp(-10.0, 1000.0) / 2.0).round_ties_even()));
    }
    (text, all)
}

/// Each figure's share of covering intervals is at least 0.9 less five standard errors, so one that covers as it says fails once in three million runs. A quick
/// build makes 45 releases, an optimised one 900: below 0.85 they fail, which finds a figure that covers with 0.81 only with a probability of 0.999. `DRAWS=1334`
/// makes 12,006, which find one that covers with 0.88 with a probability of 0.98.
#[test]
fn skewed_amounts_are_covered() {
    let told = std::env::var("DRAWS").ok().and_then(|n| n.parse().ok());
    let draws = told.unwrap_or(tries(5, 100));
    let sql = "SELECT SUM(pay), AVG(pay), VAR_POP(pay), \
               AVG(pay) FILTER (WHERE sex = 'F') - AVG(pay) FILTER (WHERE sex = 'M') FROM shop";
    let mut of_all = [0usize; 4];
    for (name, shape) in SHAPES {
        let (text, rows) = people(shape);
        let mean = |own: &dyn Fn(usize) -> bool, f: &dyn Fn(f64) -> f64| {
            let all: Vec<f64> = rows.iter().filter(|r| own(r.0)).map(|r| f(r.1)).collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        let all = mean(&|_| true, &|v| v);
        let truth = [
            60.0 * all,
            all,
            mean(&|_| true, &|v| (v - all) * (v - all)),
            mean(&|s| s == 0, &|v| v) - mean(&|s| s == 1, &|v| v),
        ];
        for privacy in ["rho = 8", "epsilon = 12", "rho = 1"] {
            let spec = squared(&paid(privacy, "stop", "", ""));
            let one = |_: usize| {
                let dir = tempfile::tempdir().unwrap();
                let made = released_from(dir.path(), &spec, &text);
                let table = Answers::open(&made.sealed.path).unwrap().query(sql, 0.9).unwrap();
                let figures: Vec<ResultFigure> = table.rows[0].iter().filter_map(figure).collect();
                let covers =
                    |i: usize| figures[i].low - 1e-6 <= truth[i] && truth[i] <= figures[i].high + 1e-6;
                [0, 1, 2, 3].map(|i| usize::from(covers(i)))
            };
            let covered = added_up(draws, one);
            println!("{name}, {privacy}: {:?}", covered.map(|c| c as f64 / draws as f64));
            of_all.iter_mut().zip(covered).for_each(|(all, own)| *all += own);
        }
    }
    let all = (9 * draws) as f64;
    println!("SUM, AVG, VAR_POP, difference of means: {:?} of {all}", of_all.map(|c| c as f64 / all));
    let least = least_covered(9 * draws);
    assert!(of_all.iter().all(|c| *c as f64 / all >= least), "{of_all:?}");
}
