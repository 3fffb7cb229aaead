//! Rows that are moved to the ends of a number: what counting them costs, that the counts are right, and what a signer might say otherwise.

use super::*;
use crate::release::{Outcome, ReleaseError};
use crate::render::Caveat;

/// The same spec, with such a part of the budget for the rows that are moved.
pub(super) fn watched(of: &Spec, part: &str) -> Spec {
    spec(&of.source.replace("step = 2", &format!("step = 2\nmeasure_clamping = {part}")))
}

/// Units with several rows.
fn of_units(privacy: &str, missing: &str, part: &str, max_rows: u32) -> Spec {
    let unit = format!("unit = {{ column = \"who\", max_rows = {max_rows} }}");
    let plain = paid(privacy, missing, "", "").source.replace("unit = \"row\"", &unit);
    watched(&spec(&plain), part)
}

/// How many rows an answer says were moved to either end.
fn told(answers: &Answers, sql: &str) -> Option<[ResultFigure; 2]> {
    let table = answers.query(sql, 0.9).unwrap();
    let moved = table.caveats.iter().find_map(|c| match c {
        Caveat::Clamped { amount, moved, .. } if amount == "pay" => Some(*moved),
        _ => None,
    });
    assert_eq!(
        moved.is_some(),
        table.told().iter().any(|t| t.starts_with("pay: of the rows that were counted "))
    );
    moved
}

/// A unit with all its rows at one end, at both, or elsewhere costs no more than the plan says; one that comes or goes just that.
#[test]
fn the_cost_is_that_of_the_dearest_unit() {
    for privacy in [
        "rho = 1",
        "epsilon = 2",
        "rho = 1\nneighbours = \"substitute\"",
        "epsilon = 1\nneighbours = \"substitute\"",
    ] {
        for max_rows in [1, 3] {
            let spec = of_units(privacy, "skip", "0.2", max_rows);
            let planned = planner::plan(&spec.request().unwrap()).unwrap();
            let plan = &planned.plan;
            let frame = Frame::new(&spec.cube, &plan.levels);
            let quantity = plan.summed().next().unwrap().0.clone();
            let reach = quantity.reach() as i64;
            let kinds: Vec<Vec<f64>> = [Some(-1), Some(reach / 2), Some(reach + 1), None]
                .iter()
                .flat_map(|code| [[0, 0], [1, 2]].map(|cell| moves(plan, &frame, cell, *code)))
                .collect();
            let mut units = vec![vec![0.0; kinds[0].len()]];
            for _ in 0..max_rows {
                let more = units.iter().flat_map(|unit| {
                    kinds
                        .iter()
                        .map(move |row| unit.iter().zip(row).map(|(a, b)| a + b).collect::<Vec<f64>>())
                });
                let more: Vec<Vec<f64>> = more.collect();
                units.extend(more);
            }
            units.sort_by(|a, b| a.partial_cmp(b).unwrap());
            units.dedup();
            let cost = |v: &mut dyn Iterator<Item = f64>| match plan.noise {
                Noise::Gaussian => v.map(|x| x * x).sum::<f64>() / 2.0,
                Noise::Laplace => v.map(f64::abs).sum::<f64>(),
            };
            // What all of it costs, and what the two counts of moved rows cost alone.
            assert_eq!(plan.channels.iter().filter(|c| c.subject.is_of_an_end()).count(), 2);
            let (mut whole, mut alone) = (0.0f64, 0.0f64);
            let last = kinds[0].len() - 2;
            let mut look = |v: Vec<f64>| {
                whole = whole.max(cost(&mut v.iter().copied()));
                alone = alone.max(cost(&mut v[last..].iter().copied()));
            };
            match plan.neighbours {
                Neighbours::AddRemove => units.iter().for_each(|u| look(u.clone())),
                Neighbours::Substitute => {
                    for a in &units {
                        units.iter().for_each(|b| look(a.iter().zip(b).map(|(a, b)| a - b).collect()));
                    }
                }
            }
            let said = planned.cost.total.to_f64();
            let (_, both) = planned.cost.of_ends(plan, &quantity).unwrap();
            let (both, budget) = (both.to_f64(), plan.budget.to_f64());
            assert!(whole <= said * (1.0 + 1e-9) && said <= budget, "{privacy} {max_rows}: {whole} {said}");
            assert!((both / alone - 1.0).abs() < 1e-6, "{privacy} {max_rows}: {alone} {both}");
            assert!((both / budget - 0.2).abs() < 1e-6, "{privacy} {max_rows}: {both}");
            if plan.neighbours == Neighbours::AddRemove {
                assert!(whole >= said * (1.0 - 1e-6), "{privacy} {max_rows}: {whole} {said}");
            }
        }
    }
}

/// The counts are those of the rows that count, within the noise that the plan has for them; intervals cover as they say.
#[test]
fn moved_rows_are_counted() {
    let (text, rows) = rows();
    // Two rows of each of thirty, and a third of some: which is not counted.
    let mut of_units_text = "sex,age,pay,who\n".to_owned();
    for (i, line) in text.lines().skip(1).enumerate() {
        of_units_text.push_str(&format!("{line},{}\n", i / 2));
    }
    (0..10).for_each(|who| of_units_text.push_str(&format!("F,0,1e6,{who}\n")));
    // What is at the ends by itself was not moved.
    let cells: Vec<f64> = text.lines().skip(1).filter_map(|l| l.split(',').nth(2)?.parse().ok()).collect();
    let truth = [
        cells.iter().filter(|v| **v < -10.0).count() as f64,
        cells.iter().filter(|v| **v > 1000.0).count() as f64,
    ];
    let at_ends = rows.iter().filter_map(|r| r.2).filter(|v| [-10.0, 1000.0].contains(v)).count() as f64;
    assert!(truth.iter().all(|n| *n > 2.0) && at_ends >= truth[0] + truth[1]);
    let ways: Vec<(Spec, &str)> = vec![
        (watched(&paid("rho = 1", "skip", "", ""), "0.1"), &text),
        (watched(&paid("epsilon = 2", "zero", "", ""), "true"), &text),
        (watched(&paid("rho = 1\nneighbours = \"substitute\"", "skip", "", ""), "\"1/20\""), &text),
        (of_units("rho = 2", "skip", "0.05", 2), &of_units_text),
        (of_units("epsilon = 4", "zero", "0.1", 2), &of_units_text),
    ];
    let draws = tries(8, 300);
    for (spec, text) in &ways {
        let privacy = &spec.source[..120];
        let (mut covered, mut sums, mut variance) = ([0usize; 2], [0.0; 2], 0.0);
        for draw in 0..draws {
            let dir = tempfile::tempdir().unwrap();
            let made = released_from(dir.path(), spec, text);
            let release = Release::open(&made.sealed.path).unwrap();
            if draw == 0 {
                let audit = audit::audit(&release, None).unwrap();
                assert!(audit.passed(), "{audit:?}");
                let sums = &release.manifest().plan.sums;
                assert!(sums[0].clamping.is_some() && sums[1..].iter().all(|s| s.clamping.is_none()));
            }
            let answers = Answers::from_release(release).unwrap();
            let moved = told(&answers, "SELECT sex, AVG(pay) FROM shop GROUP BY sex").unwrap();
            assert_eq!(told(&answers, "SELECT SUM(pay), COUNT(pay) FROM shop"), Some(moved));
            assert_eq!(told(&answers, "SELECT COUNT(*) FROM shop"), None);
            for i in 0..2 {
                covered[i] += usize::from(moved[i].low <= truth[i] && truth[i] <= moved[i].high);
                sums[i] += moved[i].estimate;
            }
            variance = moved[0].std_error * moved[0].std_error;
        }
        let least = least_covered(draws);
        for i in 0..2 {
            let (rate, mean) = (covered[i] as f64 / draws as f64, sums[i] / draws as f64);
            assert!(rate >= least, "{privacy}: {rate}");
            let off = (mean - truth[i]) / (variance / draws as f64).sqrt();
            assert!(off.abs() < 5.5, "{privacy}: {mean} for {}", truth[i]);
        }
    }
    // Almost without noise they are exact; and nothing is said where nothing was measured.
    for (missing, unit) in [("skip", false), ("zero", true)] {
        let dir = tempfile::tempdir().unwrap();
        let (spec, text) = match unit {
            true => (of_units("rho = 1e6", missing, "0.5", 2), &of_units_text),
            false => (watched(&paid("epsilon = 1e4", missing, "", ""), "0.5"), &text),
        };
        let answers = Answers::open(released_from(dir.path(), &spec, text).sealed.path).unwrap();
        let moved = told(&answers, "SELECT SUM(pay) FROM shop").unwrap();
        assert_eq!(moved.map(|f| f.estimate), truth);
        let description = answers.describe(0.9, 10).unwrap().to_string();
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(description.contains("Counted with noise: of the rows that were counted"), "{description}");
    }
    let dir = tempfile::tempdir().unwrap();
    let plain = watched(&paid("rho = 1", "skip", "", ""), "false");
    let answers = Answers::open(released_from(dir.path(), &plain, &text).sealed.path).unwrap();
    assert_eq!(told(&answers, "SELECT SUM(pay) FROM shop"), None);
}

/// What a signer might say otherwise of moved rows is found.
#[test]
fn lies_about_moved_rows_are_found() {
    let (text, _) = rows();
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::from_text(&keys::keygen(None).unwrap().secret, None).unwrap();
    let spec = watched(&paid("rho = 1", "skip", "", ""), "0.1");
    let made = released_by(&key, dir.path(), &spec, &text);
    let release = Release::open(&made.sealed.path).unwrap();
    let found = |forged: Result<Release, ReleaseError>| {
        let audit = audit::audit(&forged.map_err(|e| e.to_string())?, None).map_err(|e| e.to_string())?;
        let failed = audit.checks.iter().find(|c| c.outcome == Outcome::Failed);
        failed.map_or(Ok(()), |c| Err(c.detail.clone()))
    };
    type Bodies = crate::release::forged::Bodies;
    let at = |bodies: &Bodies, tag: u32, nth: usize| {
        bodies.iter().enumerate().filter(|(_, (t, _))| *t == tag).map(|(i, _)| i).nth(nth).unwrap()
    };
    let sums = Kind::Sums.tag();
    let with = |change: &dyn Fn(&mut Bodies)| found(resealed(&release, &key, |_, bodies| change(bodies)));
    assert_eq!(with(&|_| {}), Ok(()));
    let [below, above] = [2, 3].map(|nth| release.section(Kind::Sums, nth).unwrap());
    assert_eq!((below[0], above[0], &below[1..below.len() - 4]), (4, 5, &above[1..above.len() - 4]));
    // Each for the other, twice, as something else, alone, or not at all.
    let tag = |nth: usize, to: u8| {
        with(&move |bodies: &mut Bodies| {
            let i = at(bodies, sums, nth);
            bodies[i].1[0] = to;
        })
    };
    for (nth, to, why) in [
        (2, 5, "summed twice"),
        (3, 4, "summed twice"),
        (2, 1, "summed twice"),
        (3, 2, "summed twice"),
        (3, 3, "not counted at both ends"),
        (0, 4, "not one number"),
        (1, 5, "not one number"),
        (2, 6, "no known subject"),
    ] {
        let refused = tag(nth, to).unwrap_err();
        assert!(refused.contains(why), "{nth} {to}: {refused}");
    }
    for gone in [2, 3] {
        let refused = with(&|bodies| drop(bodies.remove(at(bodies, sums, gone)))).unwrap_err();
        assert!(refused.contains("not counted at both ends"), "{refused}");
    }
    let both = with(&|bodies| {
        bodies.remove(at(bodies, sums, 3));
        bodies.remove(at(bodies, sums, 2));
    });
    assert!(both.is_err());
    // In the other order.
    let swapped = with(&|bodies| {
        let (i, j) = (at(bodies, sums, 2), at(bodies, sums, 3));
        bodies.swap(i, j);
    });
    assert!(swapped.unwrap_err().contains("not counted at both ends"));
    let double = with(&|bodies| {
        let (i, j) = (at(bodies, sums, 2), at(bodies, sums, 3));
        bodies[j].1 = bodies[i].1.clone();
    });
    assert!(double.unwrap_err().contains("summed twice"));
    // All but the noisy numbers at the end, of which nobody but the signer knows.
    for nth in [2, 3] {
        for byte in 1..below.len() - 4 {
            let forged = with(&|bodies| {
                let i = at(bodies, sums, nth);
                bodies[i].1[byte] ^= 1;
            });
            assert!(forged.is_err(), "{nth} {byte}");
        }
    }
    // The spec must ask for just this part of the budget.
    let asked = |to: &str| {
        with(&|bodies| {
            let i = at(bodies, Kind::Spec.tag(), 0);
            let spec = String::from_utf8(bodies[i].1.clone()).unwrap();
            bodies[i].1 = spec.replace("measure_clamping = 0.1", to).into_bytes();
        })
    };
    assert_eq!(asked("measure_clamping = \"1/10\""), Ok(()));
    let why = "the spec has other counts of rows that were moved to the ends of amounts than the release";
    for to in ["", "measure_clamping = true", "measure_clamping = 0.2", "measure_clamping = false"] {
        assert_eq!(asked(to).unwrap_err(), why, "{to}");
    }
    // The manifest says what it costs.
    let said = found(resealed(&release, &key, |manifest, _| {
        manifest["plan"]["sums"][0]["clamping"]["cost"] = "1/1000".into();
    }));
    assert!(said.is_err());
}

/// Parts of the budget leave something for the tables.
#[test]
fn parts_of_the_budget_that_leave_nothing_are_refused() {
    let unit = "unit = { column = \"who\", max_rows = 2 }";
    let read = |part: &str, cut: &str| {
        let plain = paid("rho = 1", "skip", "", "").source;
        let text = plain.replace("unit = \"row\"", &format!("{unit}{cut}"));
        let text = text.replace("step = 2", &format!("step = 2\nmeasure_clamping = {part}"));
        let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let read = crate::spec::parse(&text, std::path::Path::new("shop.toml"), none);
        read.map(|s| s.summed().next().unwrap().clamping).map_err(|e| e.to_string())
    };
    let hundredth = crate::exact::Rational::new(1, 100);
    assert_eq!(read("true", ""), Ok(hundredth));
    assert_eq!(read("\"1/100\"", "\nmeasure_truncation = 0.9"), Ok(hundredth));
    assert_eq!(read("false", "\nmeasure_truncation = 0.999"), Ok(None));
    for (part, cut, why) in [
        ("1", "", "takes the whole budget"),
        ("0", "", "not a positive number"),
        ("-0.1", "", "not a positive number"),
        ("[]", "", "a number such as 0.5"),
        ("0.5", "\nmeasure_truncation = 0.5", "leave a part for the tables"),
    ] {
        let refused = read(part, cut).unwrap_err();
        assert!(refused.contains(why), "{part}: {refused}");
    }
}
