//! Amounts that are measured from zero: when they are, what answers have, and what a file may not say of it.

use super::*;
use crate::exact::Rational;

/// One table of sums without counts, of amounts with these bounds.
fn asked(privacy: &str, strategy: &str, amounts: &[(&str, &str)], more: &str) -> Spec {
    let names: Vec<String> = (0..amounts.len()).map(|i| format!("\"x{i}\"")).collect();
    let each: String = (amounts.iter().enumerate())
        .map(|(i, (low, high))| {
            format!("[[amount]]\nname = \"x{i}\"\ncolumn = \"pay\"\nlow = {low}\nhigh = {high}\nstep = 2\nmissing = \"zero\"\n")
        })
        .collect();
    spec(&format!(
        "name = \"shop\"\ntitle = \"Shop\"\ndemo = true\n[privacy]\nunit = \"row\"\n{privacy}\n[strategy]\n{strategy}\n\
         [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n[[dimension]]\nname = \"age\"\nrange = [0, 2]\n{each}\
         [[table]]\nof = [\"sex\", \"age\"]\nsum = [{}]\ncount = false\n{more}",
        names.join(", ")
    ))
}

const PAY: [(&str, &str); 1] = [("-10", "1000")];
const BASE: &str = "measure = \"base\"";

/// Plans whose cost is compared with that of all neighbours: the further end is above zero, or below; and with both ends counted.
pub(super) fn ways() -> Vec<(&'static str, &'static str, Spec)> {
    let pure = "epsilon = 2";
    let mut ways = vec![
        (pure, "base", asked(pure, BASE, &PAY, "")),
        (pure, "any", asked(pure, "", &[("-1000", "10")], "")),
        (pure, "two", asked(pure, BASE, &[PAY[0]; 2], "")),
    ];
    let clamped =
        asked(pure, BASE, &PAY, "").source.replace("step = 2", "step = 2\nmeasure_clamping = \"0.1\"");
    ways.push((pure, "clamped", spec(&clamped)));
    let changed = format!("{pure}\nneighbours = \"substitute\"");
    ways.push(("substitute", "base", asked(&changed, BASE, &PAY, "")));
    for (.., spec) in &ways {
        let planned = spec.choose(Look::Needed, &Watch::default()).unwrap().planned;
        assert!(planned.plan.summed().all(|(q, _)| q.from == MeasuredFrom::Zero));
    }
    ways
}

/// Whether each amount is measured from zero, and the weighted total of the plan.
fn chosen(spec: &Spec) -> (Vec<bool>, f64) {
    let planned = spec.choose(Look::Needed, &Watch::default()).unwrap().planned;
    let zero = planned.plan.summed().map(|(q, _)| q.from == MeasuredFrom::Zero);
    (zero.collect(), planned.weighted_total())
}

/// From zero where that is predicted to be better, by the closed forms; and nowhere else.
#[test]
fn the_better_origin_is_taken() {
    let pure = "epsilon = \"1/1000\"";
    // In squares of the largest value, of six cells: `2/ε²` each from zero; from the middle the third power of the cubic roots of what channels weigh.
    let zero = |n: f64| 6.0 * 2.0 * 1e6 * n.powi(3);
    let middle = |n: f64, m: f64| {
        let (of_count, of_sum) = (n * m * m, (1.0 - m).powi(2));
        6.0 * 2.0 * 1e6 * (of_count.cbrt() + n * of_sum.cbrt()).powi(3)
    };
    let near = |found: f64, want: f64| assert!((found / want - 1.0).abs() < 1e-3, "{found} {want}");
    let of = |amounts: &[(&str, &str)]| chosen(&asked(pure, BASE, amounts, ""));
    for (amounts, from_zero, want) in [
        (&[("0", "1000")][..], vec![true], zero(1.0)),
        (&[("-1000", "0")], vec![true], zero(1.0)),
        (&[("0", "1000"); 2], vec![true; 2], zero(2.0)),
        // One count does for three.
        (&[("0", "1000"); 3], vec![false; 3], middle(3.0, 0.5)),
        // Zero is the middle: no count is needed either way.
        (&[("-1000", "1000")], vec![false], zero(1.0)),
    ] {
        let (found, total) = of(amounts);
        assert_eq!(found, from_zero, "{amounts:?}");
        near(total, want);
    }
    let one = |spec: Spec| chosen(&spec).0;
    assert_eq!(one(asked("rho = \"1/1000\"", BASE, &PAY, "")), [false], "Gaussian noise");
    let with = |from: &str, to: &str| one(spec(&asked(pure, BASE, &PAY, "").source.replace(from, to)));
    assert_eq!(
        with("count = false", "weight = { count = 1, x0 = 1 }"),
        [false],
        "the count is asked for, too"
    );
    assert_eq!(with("step = 2", "step = 2\nsquare = true"), [false], "a variance needs the count");
    assert_eq!(with("missing = \"zero\"", "missing = \"skip\""), [false], "a count is measured beside");
    // Counts elsewhere do not matter.
    assert_eq!(one(asked(pure, BASE, &PAY, "[[table]]\nof = []\nweight = \"1/100\"\n")), [true]);
}

/// A single sum has the error of the peers: that of discrete Laplace noise whose scale is the furthest end over ε, for margins and for the worst cell, too.
#[test]
fn one_sum_costs_its_largest_value() {
    let variance = |b: f64| 2.0 * (-1.0 / b).exp() / (1.0 - (-1.0 / b).exp()).powi(2);
    for objective in ["", "objective = \"worst\""] {
        let spec = asked("epsilon = 1", &format!("{BASE}\n{objective}"), &[("0", "1000")], "");
        let dir = tempfile::tempdir().unwrap();
        let made = released_from(dir.path(), &spec, &rows().0);
        let answers = Answers::open(&made.sealed.path).unwrap();
        let plan = answers.release().plan(answers.cube()).unwrap();
        let (quantity, _) = plan.summed().next().unwrap();
        assert_eq!(
            (quantity.from, quantity.reach(), plan.rows().measurements.len()),
            (MeasuredFrom::Zero, 500, 0)
        );
        let scale = plan.measurements().next().unwrap().scale;
        assert_eq!(scale, Rational::whole(500));
        let table = answers.query("SELECT age, SUM(x0) FROM shop GROUP BY age", 0.9).unwrap();
        for f in table.rows.iter().filter_map(|row| figure(&row[1])) {
            // Two cells each, in steps of 2.
            let want = 2.0 * (2.0 * variance(500.0)).sqrt();
            assert!((f.std_error / want - 1.0).abs() < 1e-9, "{} {want}", f.std_error);
        }
    }
}

/// Sums are near those of the rows and covered as they say; what nobody measured is refused, and the file verifies.
#[test]
fn sums_from_zero_are_covered() {
    let (text, rows) = rows();
    let truth: Vec<f64> =
        (0..2).map(|s| rows.iter().filter(|r| r.0 == s).filter_map(|r| r.2).sum()).collect();
    let (draws, draw_first) = (tries(30, 600), std::sync::atomic::AtomicBool::new(true));
    let spec = asked("epsilon = 1", "", &PAY, "");
    let covered = added_up(draws, |_| {
        let dir = tempfile::tempdir().unwrap();
        let made = released_from(dir.path(), &spec, &text);
        let release = Release::open(&made.sealed.path).unwrap();
        let answers = Answers::open(&made.sealed.path).unwrap();
        if draw_first.swap(false, std::sync::atomic::Ordering::Relaxed) {
            let audit = audit::audit(&release, None).unwrap();
            assert!(audit.passed(), "{audit:?}");
            for sql in ["SELECT COUNT(*) FROM shop", "SELECT sex, AVG(x0) FROM shop GROUP BY sex"] {
                let refused = answers.query(sql, 0.9).unwrap_err().to_string();
                assert!(refused.contains("not"), "{refused}");
            }
            answers.describe(0.9, 9).unwrap();
        }
        let table = answers.query("SELECT sex, SUM(x0) FROM shop GROUP BY sex", 0.9).unwrap();
        let of = |(row, want): (&Vec<ResultCell>, &f64)| {
            let f = figure(&row[1]).unwrap();
            usize::from(f.low - 1e-6 <= *want && *want <= f.high + 1e-6)
        };
        [table.rows.iter().zip(&truth).map(of).sum()]
    });
    let (rate, least) = (covered[0] as f64 / (2 * draws) as f64, least_covered(draws));
    assert!(rate >= least, "{rate}");
}

/// A file cannot say another origin than what was measured from: neither its section, nor its manifest, nor both.
#[test]
fn lies_about_the_origin_are_found() {
    let key = SigningKey::from_text(&keys::keygen(None).unwrap().secret, None).unwrap();
    let passes = |forged: Result<Release, crate::release::ReleaseError>| {
        forged.is_ok_and(|release| audit::audit(&release, None).is_ok_and(|audit| audit.passed()))
    };
    // Measured from the middle, and from zero.
    for privacy in ["rho = 1", "epsilon = 1"] {
        let (spec, dir) = (asked(privacy, BASE, &[("0", "1000")], ""), tempfile::tempdir().unwrap());
        let release = Release::open(&released_by(&key, dir.path(), &spec, &rows().0).sealed.path).unwrap();
        assert!(passes(resealed(&release, &key, |_, _| {})));
        // One of these bits says the origin.
        let length = release.section(Kind::Sums, 0).unwrap().len();
        for at in 0..length.saturating_sub(24) {
            for manifest in [false, true] {
                let forged = resealed(&release, &key, |m, bodies| {
                    let of = m["plan"]["sums"][0]["of"].as_object_mut().unwrap();
                    if manifest && of.remove("from").is_none() {
                        of.insert("from".into(), "zero".into());
                    }
                    let own = bodies.iter_mut().find(|(tag, _)| *tag == Kind::Sums.tag()).unwrap();
                    own.1[at] ^= 64;
                });
                assert!(!passes(forged), "{privacy} byte {at} {manifest}");
            }
        }
        assert!(!passes(resealed(&release, &key, |m, _| {
            m["plan"]["sums"][0]["of"]["from"] =
                if privacy.starts_with("rho") { "zero" } else { "middle" }.into();
        })));
    }
}
