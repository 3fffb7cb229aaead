//! Sums that are published without noise, and sums of more than cells: from the spec to the answer, against the rows.

use super::*;
use crate::compile::{Job, Released};
use crate::planner::Look;
use crate::release::Outcome;

/// Sums of pay without noise by sex, and with noise by sex and age.
pub(super) fn exactly(privacy: &str, missing: &str, more: &str) -> Spec {
    let reason = "exact = true\nreason = \"known from the books\"";
    paid(privacy, missing, "", &format!("{more}\n[[table]]\nof = [\"sex\"]\nsum = [\"pay\"]\n{reason}"))
}

fn open(released: &Released) -> Answers {
    Answers::open(&released.sealed.path).unwrap()
}

/// Figures of each row of an answer.
fn figures(answers: &Answers, sql: &str) -> Vec<Vec<ResultFigure>> {
    let table = answers.query(sql, 0.9).unwrap();
    table.rows.iter().map(|row| row.iter().filter_map(figure).collect()).collect()
}

/// Sums leave without noise where the spec says it of just them and of the counts beside them.
#[test]
fn undeclared_exact_sums_do_not_leave() {
    use crate::secret::Charged;
    use crate::secret::ingest::Rows;
    use crate::secret::measure::{Copies, MeasureError, exact_tables};
    let spec = exactly("rho = 1", "zero", "");
    let Job::Tables(choice) = Job::of(&spec, Look::Needed).unwrap() else { panic!("a projection") };
    let plan = choice.planned.plan.clone();
    let data = Rows::from_codes(&[2, 3, 506], &[vec![0, 1], vec![2, 0], vec![5, 7]]).unwrap().into();
    let leave = |plan: &Plan, declared: &Spec| {
        let alone = Copies::new(vec![plan.clone()]).unwrap();
        let (charged, ()) = Charged::copies(&spec.cube, alone, |_| Ok::<(), std::fmt::Error>(())).unwrap();
        exact_tables(&data, &spec.cube, &charged, declared).map(|exact| exact.beside)
    };
    // In half steps from the middle of the bounds, 505 of them above the least.
    assert_eq!(leave(&plan, &spec).unwrap().concat(), [[2 * 5 - 505, 2 * 7 - 505]]);
    // One table more in the plan alone; and in both, where its counts have noise.
    let (mut other, mut declared) = (plan.clone(), spec.clone());
    let more = spec.workload[0].cuboid.clone();
    let sums = other.channels.iter_mut().find(|c| matches!(c.subject, Subject::Sum(_))).unwrap();
    sums.exact.push(more.clone());
    declared.amounts[0].exact.push(more);
    for (plan, declared) in [(&other, &spec), (&plan, &declared), (&other, &declared)] {
        assert!(matches!(leave(plan, declared), Err(MeasureError::Undeclared)));
    }
}

/// Exact sums, counts and means are those of the rows; noisy ones add up to them, and cover what they should. All of it verifies, is declared and is said.
#[test]
fn exact_sums_are_those_of_the_rows() {
    let (text, rows) = rows();
    for (privacy, missing) in
        [("rho = 1", "skip"), ("epsilon = 3", "zero"), ("rho = 1\nneighbours = \"substitute\"", "stop")]
    {
        let stop = missing == "stop";
        let text = if stop { text.replace(",\n", ",0\n") } else { text.clone() };
        let spec = squared(&exactly(privacy, missing, ""));
        let truth = |sex: usize, age: Option<usize>| {
            let own = rows.iter().filter(|r| r.0 == sex && age.is_none_or(|age| r.1 == age));
            let own: Vec<f64> =
                own.filter(|r| missing != "skip" || r.2.is_some()).map(|r| r.2.unwrap_or(0.0)).collect();
            let (n, sum) = (own.len() as f64, own.iter().sum::<f64>());
            let squares = own.iter().map(|v| (v - sum / n).powi(2)).sum::<f64>();
            [sum, sum / n, n, squares / n]
        };
        let one = |draw: usize| {
            let dir = tempfile::tempdir().unwrap();
            let made = released_from(dir.path(), &spec, &text);
            let answers = open(&made);
            let exact = figures(
                &answers,
                "SELECT sex, SUM(pay), AVG(pay), COUNT(pay), VAR_POP(pay) FROM shop GROUP BY sex",
            );
            for (sex, found) in exact.iter().enumerate() {
                for (f, want) in found.iter().zip(truth(sex, None)) {
                    assert!(
                        (f.estimate - want).abs() < 1e-6 * want.abs().max(1.0),
                        "{privacy}: {found:?} {want}"
                    );
                    assert!(
                        f.std_error == 0.0 && f.low <= want + 1e-6 && f.high >= want - 1e-6,
                        "{privacy}: {found:?}"
                    );
                }
            }
            let cells = figures(&answers, "SELECT sex, age, SUM(pay) FROM shop GROUP BY sex, age");
            let sums = cells.chunks(3).map(|of| of.iter().map(|f| f[0].estimate).sum::<f64>());
            sums.zip(&exact).for_each(|(sum, exact)| assert!((sum - exact[0].estimate).abs() < 1e-6));
            let mut covered = [0usize];
            for (i, cell) in cells.iter().enumerate() {
                let [want, ..] = truth(i / 3, Some(i % 3));
                assert!(cell[0].std_error > 0.0);
                covered[0] += usize::from(cell[0].low - 1e-6 <= want && want <= cell[0].high + 1e-6);
            }
            if draw == 0 {
                let audit = audit::audit(answers.release(), None).unwrap();
                assert!(audit.passed(), "{audit:?}");
                let warned =
                    audit.checks.iter().find(|c| c.outcome == Outcome::Warning && c.what == "exact tables");
                assert!(
                    warned.is_some_and(|c| c.detail.contains("sums of pay by sex: known from the books"))
                );
                let told: Vec<String> = answers.told().collect();
                assert!(
                    told.iter().any(|t| t.contains("WITHOUT NOISE: sex; sums of pay by sex.")),
                    "{told:?}"
                );
                let declared = &answers.release().manifest().declared.invariants;
                assert_eq!(
                    *declared,
                    ["sex: known from the books", "sums of pay by sex: known from the books"]
                );
                let lines = std::fs::read_to_string(dir.path().join("ledger.jsonl")).unwrap();
                assert!(lines.contains("sums of pay by sex: known from the books"), "{lines}");
            }
            covered
        };
        let draws = tries(12, 200);
        let [covered] = added_up(draws, one);
        let rate = covered as f64 / (6 * draws) as f64;
        assert!(rate >= least_covered(2 * draws), "{privacy}: {rate}");
    }
}

/// What noise is left: a table's sums below exact ones are told no worse, and predicted as they are.
#[test]
fn exact_sums_are_predicted() {
    let planned = |spec: &Spec| planner::plan(&spec.request().unwrap()).unwrap();
    for privacy in ["rho = 1", "epsilon = 3"] {
        let (with, without) = (exactly(privacy, "skip", ""), paid(privacy, "skip", "", ""));
        let (with, without) = (planned(&with), planned(&without));
        let cube = exactly(privacy, "skip", "").cube;
        assert!(with.cost.total <= with.plan.budget);
        for (sums, before) in with.sums.iter().zip(&without.sums) {
            let recovery = Recovery::of(&sums.subject, cube.clone(), with.plan.clone(), Nothing).unwrap();
            let evaluator = Evaluator::new(recovery);
            for (table, (mean, _)) in &sums.tables {
                let laws = evaluator.cell_laws(&table.cuboid, 100).unwrap().unwrap();
                let cells: f64 = laws.iter().map(|l| l.0).sum();
                let real = laws.iter().map(|(n, law)| n * law.variance()).sum::<f64>() / cells;
                assert!((mean - real).abs() <= 1e-6 * real.max(1.0), "{privacy}: {mean} {real}");
                assert_eq!(real == 0.0, table.cuboid.len() == 1);
            }
            assert!(sums.tables[0].1.0 < before.tables[0].1.0, "{privacy}");
        }
    }
}

/// Exact sums that no rows could have, or that speak otherwise of their tables than the manifest and the counts, are refused; so are specs that cannot say it.
#[test]
fn lies_about_exact_sums_are_found() {
    let (text, _) = rows();
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::from_text(&keys::keygen(None).unwrap().secret, None).unwrap();
    let made = released_by(&key, dir.path(), &exactly("rho = 1", "zero", ""), &text);
    let release = Release::open(&made.sealed.path).unwrap();
    let passes = |forged: Result<Release, crate::release::ReleaseError>| {
        forged.is_ok_and(|release| audit::audit(&release, None).is_ok_and(|audit| audit.passed()))
    };
    assert!(passes(resealed(&release, &key, |_, _| {})));
    assert!(!passes(resealed(&release, &key, |m, _| {
        m["declared"]["invariants"].as_array_mut().unwrap().pop();
    })));
    assert!(!passes(resealed(&release, &key, |m, _| {
        m["declared"]["invariants"][1] = "sums of pay by sex: because".into();
    })));
    // The section: what says which table it is, and a sum beyond what thirty rows can have.
    let cube = release.cube().unwrap();
    let plan = release.plan(&cube).unwrap();
    let (channel, values, exact) = release.beside(&plan.of_rows(), &cube).unwrap().remove(0);
    assert_eq!((channel.exact.len(), exact.len(), exact[0].len()), (1, 1, 2));
    let with = |exact: Vec<Vec<i64>>, channel: &crate::plan::Channel| {
        let mut plan = plan.clone();
        let at = plan.channels.iter().position(|c| c.subject == channel.subject).unwrap();
        plan.channels[at] = channel.clone();
        let encoded = crate::release::channels::encode(&plan, &cube, channel, (&values[..], &exact[..]));
        let (_, bytes) = encoded.unwrap();
        resealed(&release, &key, |_, bodies| {
            bodies.iter_mut().find(|(tag, _)| *tag == Kind::Sums.tag()).unwrap().1.clone_from(&bytes);
        })
    };
    assert!(passes(with(exact.clone(), &channel)));
    let most = channel.subject.most(1) as i64 * 30;
    assert!(passes(with(vec![vec![exact[0][0] - 2, exact[0][1]]], &channel)), "nobody but the signer knows");
    for wrong in [vec![most + 2, 0], vec![0, -most - 2], vec![i64::MAX, i64::MIN]] {
        assert!(!passes(with(vec![wrong.clone()], &channel)), "{wrong:?}");
    }
    let none = crate::plan::Channel { exact: Vec::new(), ..channel.clone() };
    assert!(!passes(with(Vec::new(), &none)));
    let other = crate::plan::Channel { exact: vec![plan.rows().workload[0].cuboid.clone()], ..channel };
    assert!(!passes(with(vec![vec![0; 6]], &other)));
    // What a spec cannot say.
    let refused = |more: &str, why: &str| {
        let text = exactly("rho = 1", "zero", "").source.replace("reason = \"known from the books\"", more);
        let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let found = crate::spec::parse(&text, std::path::Path::new("shop.toml"), none);
        let found = found.map(|_| ()).unwrap_err().to_string();
        assert!(found.contains(why), "{more}: {found}");
    };
    refused("reason = \"r\"\ncount = false", "`exact` beside `count = false`");
    refused("reason = \"r\"\nweight = 2", "`weight` beside `exact`");
    refused("reason = \"r\"\nmargin = { pay = 2 }", "`margin` beside `exact`");
    refused("", "reason");
}

/// What is exact of a number must fit together: no sum is more than the rows with a value can have, or of half a step, and squares are those of such values.
#[test]
fn exact_sums_fit_the_rows_that_have_a_value() {
    let (text, _) = rows();
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::from_text(&keys::keygen(None).unwrap().secret, None).unwrap();
    let made = released_by(&key, dir.path(), &squared(&exactly("rho = 1", "skip", "")), &text);
    let release = Release::open(&made.sealed.path).unwrap();
    let cube = release.cube().unwrap();
    let plan = release.plan(&cube).unwrap();
    let channels = release.beside(&plan.of_rows(), &cube).unwrap();
    let what: Vec<&str> = channels.iter().map(|(channel, ..)| channel.subject.name()).collect();
    assert_eq!(what, ["sums", "rows with a value", "sums of squares"]);
    let why = |told: &[Vec<i64>; 3]| {
        let bodies = channels.iter().zip(told).map(|((channel, values, _), told)| {
            let told = std::slice::from_ref(told);
            crate::release::channels::encode(&plan, &cube, channel, (&values[..], told)).unwrap().1
        });
        let forged = resealed(&release, &key, |_, all| {
            let sections = all.iter_mut().filter(|(tag, _)| *tag == Kind::Sums.tag());
            sections.zip(bodies).for_each(|((_, own), body)| *own = body);
        });
        let forged = forged.unwrap();
        let why = match audit::audit(&forged, None) {
            Ok(audit) => (!audit.passed()).then(|| format!("{audit:?}")),
            Err(e) => Some(e.to_string()),
        };
        // Nor does such a file answer.
        let opened = Answers::from_release(forged).err().map(|e| e.to_string());
        assert_eq!(opened.is_some(), why.is_some(), "{why:?} {opened:?}");
        why
    };
    let honest: [Vec<i64>; 3] = std::array::from_fn(|at| channels[at].2[0].clone());
    assert_eq!(why(&honest), None);
    let [sums, valued, squares] = &honest;
    let reach = channels[0].0.subject.most(1) as i64;
    assert!(valued[0] < 30 && reach == 505, "of thirty women some have no value");
    let refused = |at: usize, first: i64, text: &str| {
        let mut told = honest.clone();
        told[at][0] = first;
        let why = why(&told);
        assert!(why.as_ref().is_some_and(|why| why.contains(text)), "{at} {first}: {why:?}");
    };
    // All thirty at an end: a mean beyond the bounds, as only those who have a value count.
    for end in [30 * reach, -30 * reach, valued[0] * reach + 2, -valued[0] * reach - 2] {
        refused(0, end, "more than the rows that have a value can have");
    }
    for half in [sums[0] + 1, sums[0] - 1] {
        refused(0, half, "whole steps");
    }
    // A variance below 0, one beyond what is possible, and squares of no whole numbers.
    let most = valued[0] * reach * reach;
    for of in [-most, most, squares[0] + 1, squares[0] + 8] {
        refused(2, of, "not those of values that have the exact sum");
    }
    // Fewer values than the sum needs, or another number.
    refused(1, 0, "more than the rows that have a value can have");
    refused(1, valued[0] - 1, "whole steps");
    let mut two = honest.clone();
    (two[0][0], two[2][0]) = (valued[0] * reach, most);
    assert_eq!(why(&two), None, "all at the high end");
}

/// Weighted counts and sums without noise.
#[test]
fn exact_weighted_figures_are_those_of_the_rows() {
    let (text, all) = weighing::workers();
    let spec = spec(&format!(
        "{}[[table]]\nof = [\"sex\"]\nsum = [\"pay\"]\nexact = true\nreason = \"known\"\n",
        weighing::weighted("rho = 1", "").source
    ));
    let dir = tempfile::tempdir().unwrap();
    let made = released_from(dir.path(), &spec, &text);
    let answers = open(&made);
    let audit = audit::audit(answers.release(), None).unwrap();
    assert!(audit.passed(), "{audit:?}");
    let found =
        figures(&answers, "SELECT sex, COUNT(*), SUM(pay), AVG(pay), SUM(bill) FROM shop GROUP BY sex");
    for (sex, found) in found.iter().enumerate() {
        let own = || all.iter().filter(|w| w.sex == sex);
        let (weight, pay): (f64, f64) = (own().map(|w| w.weight).sum(), own().map(|w| w.pay).sum());
        for (f, want) in found.iter().zip([weight, pay, pay / weight]) {
            assert!((f.estimate - want).abs() < 1e-6 * want.abs() && f.std_error == 0.0, "{found:?} {want}");
        }
        assert!(found[3].std_error > 0.0, "another amount has noise");
    }
}

/// Ages 0 to 15, of which ranges are asked: of pay by sex, and where rows weigh.
fn ranges(strategy: &str, weights: &str) -> Spec {
    spec(&format!(
        "name = \"shop\"\ntitle = \"Shop\"\ndemo = true\n[privacy]\nunit = \"row\"\nrho = 1\n{strategy}\n{weights}\n\
         [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n[[dimension]]\nname = \"age\"\nrange = [0, 15]\n\
         [[amount]]\nname = \"pay\"\nlow = -10\nhigh = 1000\nstep = 2\nmissing = \"zero\"\n\
         [[table]]\nof = [\"sex\", \"age\"]\nsum = [\"pay\"]\nask = {{ age = \"ranges\" }}\n"
    ))
}

/// Sums over ranges are planned as ranges: better than by differences of siblings, predicted as they are, in a file that says so and verifies.
#[test]
fn sums_of_ranges_are_planned_as_ranges() {
    let mut text = "sex,age,pay,w\n".to_owned();
    (0..200).for_each(|i| {
        text.push_str(&format!("{},{},{},{}\n", ["F", "M"][i % 2], i % 16, (i * 37) % 900, 1 + i % 4))
    });
    for weights in ["", "[weights]\ncolumn = \"w\"\nhigh = 4\nstep = 1"] {
        let spec = ranges("", weights);
        let Job::Tables(choice) = Job::of(&spec, Look::Needed).unwrap() else { panic!("a projection") };
        let planned = &choice.planned;
        assert_eq!(planned.plan.measure, crate::plan::Measure::Bases);
        let residual = ranges("[strategy]\nmeasure = \"residual\"", weights);
        let residual = planner::plan(&residual.request().unwrap()).unwrap();
        let total = |p: &planner::Planned| {
            p.prediction.weighted_total + p.sums.iter().map(|s| s.weighted_total).sum::<f64>()
        };
        assert!(total(planned) < 0.9 * total(&residual), "{} {}", total(planned), total(&residual));
        let dir = tempfile::tempdir().unwrap();
        let made = released_from(dir.path(), &spec, &text);
        let answers = open(&made);
        let audit = audit::audit(answers.release(), None).unwrap();
        assert!(audit.passed(), "{audit:?}");
        let again = audit.checks.iter().find(|c| c.what == "plan").unwrap();
        assert!(again.outcome == Outcome::Passed && again.detail.contains("very plan"), "{again:?}");
        // A description gives each table's sums the error of the worst cell: at most, as sums and counts may be worst in different cells.
        let described = answers.describe(0.95, 9).unwrap();
        let told = described.amounts.iter().find(|a| a.name == "pay").unwrap().tables[0].std_error.unwrap();
        let of_cells = figures(&answers, "SELECT sex, age, SUM(pay) FROM shop GROUP BY sex, age");
        let most = of_cells.iter().map(|row| row[0].std_error).fold(0.0, f64::max);
        assert!(told >= most * (1.0 - 1e-9) && told < most * 1.001, "{told} {most}");
        // The mean variance over all ranges of both sexes is what was predicted.
        let (mut sum, mut n) = (0.0, 0.0);
        for low in 0..16 {
            for high in low..16 {
                let sql =
                    format!("SELECT sex, SUM(pay) FROM shop WHERE age BETWEEN {low} AND {high} GROUP BY sex");
                for row in figures(&answers, &sql) {
                    (sum, n) = (sum + row[0].std_error.powi(2), n + 1.0);
                }
            }
        }
        let sums =
            planned.sums.iter().find(|s| matches!(&s.subject, Subject::Sum(q) if q.name == "pay")).unwrap();
        let (table, own) = &sums.tables[0];
        let (mean, _) = planned.sum_variances(sums.subject.quantity().unwrap(), table, *own);
        assert!((mean / (sum / n) - 1.0).abs() < 1e-6, "{mean} {}", sum / n);
    }
    // Squares have no margin of their own; beside margins they are told, and the margins are kept.
    let margins = plain_margins();
    let squares = squared(&margins);
    let kept = planner::plan(&squares.request().unwrap()).unwrap();
    let aimed: Vec<_> = kept.sums.iter().flat_map(|s| &s.aimed).collect();
    assert!(kept.sums.len() == 3 && aimed.len() == 1 && aimed[0].ratio() <= 1.0, "{aimed:?}");
    // Where it is not done it is refused, with the reason.
    let refused = |text: &str, why: &str| {
        let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let found = crate::spec::parse(text, std::path::Path::new("shop.toml"), none);
        let found = found.map(|_| ()).unwrap_err().to_string();
        assert!(found.contains(why), "{found}");
    };
    let plain = ranges("", "").source;
    refused(&plain.replace("ask =", "margin = { pay = 5 }\nask ="), "`ask` beside `margin`");
    refused(
        &ranges("[strategy]\nobjective = \"total\"", "").source.replace("\"total\"", "\"worst\""),
        "least total alone",
    );
}

/// Margins of counts and sums.
fn plain_margins() -> Spec {
    let strategy = "[strategy]\nobjective = \"targets\"";
    paid("rho = 4", "skip", strategy, "margin = { count = 5, pay = 2000 }")
}
