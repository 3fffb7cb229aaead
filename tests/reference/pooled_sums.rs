//! Sums and means of several releases asked together, against dense least squares over each channel by itself.

use crate::dense::{Blue, Measured, measured, noise_variance, unit};
use crate::past::{all_of, released, row};
use margins::answer::{Answers, Options, Several, linear};
use margins::plan::{Channel, Plan, Subject};
use margins::release::keys::keygen;
use margins::release::{Release, SigningKey};
use margins::render::{ResultCell, ResultFigure};
use margins::sql::Query;
use nalgebra::{DMatrix, DVector};

fn spec(name: &str, what: &str) -> String {
    format!(
        "name = \"{name}\"\ntitle = \"Pooled\"\n[dataset]\nid = \"people\"\n[privacy]\nunit = \"row\"\n{what}\n\
         [[dimension]]\nname = \"a\"\ncategories = [\"0\", \"1\", \"2\"]\n[[dimension]]\nname = \"b\"\nrange = [0, 3]\n"
    )
}

fn opened(text: &str, key: &SigningKey) -> Release {
    let rows: String = (0..300)
        .map(|i| {
            format!(
                "{},{},{}\n",
                i % 3,
                i / 3 % 4,
                if i % 7 == 0 { String::new() } else { (i * 13 % 120).to_string() }
            )
        })
        .collect();
    Release::from_bytes(released(text, &format!("a,b,pay\n{rows}"), key)).unwrap()
}

const PAY: &str = "[[amount]]\nname = \"pay\"\nlow = -20\nhigh = 100\nstep = 1\n";

fn summed(name: &str, budget: &str, measure: &str, missing: &str, tables: &[&str]) -> String {
    let tables: String = tables.iter().map(|t| format!("[[table]]\nof = {t}\nsum = [\"pay\"]\n")).collect();
    let text = format!("{PAY}missing = \"{missing}\"\n{tables}[strategy]\nmeasure = \"{measure}\"\n");
    spec(name, &format!("{budget}\n{text}"))
}

/// What a release measured of one subject beside rows.
fn of_channel(release: &Release, own: &dyn Fn(&Subject) -> bool) -> Vec<(Measured, DVector<f64>)> {
    let cube = release.cube().unwrap();
    let plan = release.plan(&cube).unwrap();
    let mut out = Vec::new();
    for (channel, values, _) in release.beside(&plan.of_rows(), &cube).unwrap() {
        if !own(&channel.subject) {
            continue;
        }
        let channels = vec![Channel::rows(channel.workload.clone(), channel.measurements.clone())];
        let alone = Plan { channels, ..plan.clone() };
        for (i, (m, values)) in channel.measurements.iter().zip(values).enumerate() {
            let variance = noise_variance(plan.noise, m.scale.to_f64());
            let block = measured(&cube, &alone, i, variance, unit(&cube, &alone, &m.block));
            out.push((block, DVector::from_vec(values.iter().map(|v| v as f64).collect())));
        }
    }
    out
}

/// The best estimate of a question's cells and its variance, of all that some releases measured of one thing.
fn best(all: &[(Measured, DVector<f64>)], q: &DMatrix<f64>) -> (f64, f64) {
    let blocks: Vec<Measured> = all
        .iter()
        .map(|(m, _)| Measured { rows: m.rows.clone(), covariance: m.covariance.clone() })
        .collect();
    let values: Vec<DVector<f64>> = all.iter().map(|(_, v)| v.clone()).collect();
    let blue = Blue::new(&blocks, q.ncols());
    (blue.estimate(&values, q)[0], blue.covariance(q)[(0, 0)])
}

fn figures(cells: &[ResultCell]) -> Vec<ResultFigure> {
    cells.iter().filter_map(|cell| if let ResultCell::Figure(f) = cell { Some(*f) } else { None }).collect()
}

/// Of releases with other noises, other tables and in part without sums: every sum has the estimate and the standard error of the dense optimum of its
/// channel and that of the rows that it is of, and a mean is their quotient.
#[test]
fn sums_together_are_the_dense_best() {
    let key = SigningKey::from_text(&keygen(None).unwrap().secret, None).unwrap();
    for missing in ["zero", "skip"] {
        let texts = [
            summed("r0", "rho = \"1/3\"", "queries", missing, &["[\"a\", \"b\"]"]),
            summed("r1", "rho = 1", "queries", missing, &["[\"a\"]"]),
            summed("r2", "rho = \"1/2\"", "base", missing, &["[\"b\"]", "[\"a\"]"]),
            spec("r3", "rho = 2\n[[table]]\nof = [\"a\"]\n[strategy]\nmeasure = \"queries\"\n"),
        ];
        let made: Vec<Release> = texts.iter().map(|t| opened(t, &key)).collect();
        let of = |own: &dyn Fn(&Subject) -> bool| -> Vec<(Measured, DVector<f64>)> {
            made.iter().flat_map(|r| of_channel(r, own)).collect()
        };
        let sums = of(&|s| matches!(s, Subject::Sum(_)));
        let valued = of(&|s| matches!(s, Subject::Valued(_)));
        let all: Vec<Answers> = made.into_iter().map(|r| Answers::from_release(r).unwrap()).collect();
        let cube = all[0].cube().clone();
        let rows: Vec<(Measured, DVector<f64>)> = all.iter().flat_map(all_of).collect();
        let counted = if missing == "skip" { &valued } else { &rows };
        assert_eq!((sums.len(), valued.is_empty()), (3, missing != "skip"));
        let several = Several::new(all).unwrap();
        for groups in ["a", "b", "a, b"] {
            let sql = format!("SELECT {groups}, COUNT(*) FROM r0 GROUP BY {groups}");
            let of = linear::figures(&Query::parse(&sql, &cube).unwrap(), &cube).unwrap();
            let sql = format!("SELECT {groups}, SUM(pay), AVG(pay), COUNT(*) FROM r0 GROUP BY {groups}");
            let table = several.ask(&sql, &Options::at(0.95)).unwrap();
            assert_eq!(table.rows.len(), of.len());
            for (cells, figure) in table.rows.iter().zip(&of) {
                let q = row(&figure.filter, &cube);
                let ((t, of_t), (n, of_n), (all, of_all)) =
                    (best(&sums, &q), best(counted, &q), best(&rows, &q));
                // From the middle, 40, in halves of a step.
                let (sum, variance) = (0.5 * t + 40.0 * n, 0.25 * of_t + 1600.0 * of_n);
                let got = figures(cells);
                let near = |a: f64, b: f64| (a - b).abs() < 1e-5 * (1.0 + b.abs());
                assert!(
                    near(got[0].estimate, sum) && near(got[0].std_error, variance.sqrt()),
                    "{sql} {got:?} {sum} {variance}"
                );
                assert!(near(got[1].estimate, sum / n), "{sql} {got:?}");
                assert!(near(got[2].estimate, all) && near(got[2].std_error, of_all.sqrt()), "{sql} {got:?}");
            }
        }
        // Only the first and the third have it, and neither alone is as precise.
        assert!(several.ask("SELECT SUM(pay) FROM r0 WHERE b = 1", &Options::at(0.95)).is_ok());
    }
}

/// What is moved to other ends has another sum.
#[test]
fn other_bounds_are_other_sums() {
    let key = SigningKey::from_text(&keygen(None).unwrap().secret, None).unwrap();
    let one = summed("r0", "rho = 1", "queries", "zero", &["[\"a\"]"]);
    for (from, to) in [("high = 100", "high = 120"), ("step = 1", "step = 2"), ("\"zero\"", "\"skip\"")] {
        let other = one.replace(from, to).replace("r0", "r1");
        let made: Vec<Answers> =
            [&one, &other].map(|t| Answers::from_release(opened(t, &key)).unwrap()).into();
        let several = Several::new(made).unwrap();
        let refused = several.ask("SELECT SUM(pay) FROM r0", &Options::at(0.95)).unwrap_err().to_string();
        assert!(refused.contains("do not add up one pay"), "{refused}");
        assert!(several.ask("SELECT COUNT(*) FROM r0", &Options::at(0.95)).is_ok());
    }
}
