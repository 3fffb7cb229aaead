//! Products of columns, and rows that have weights: against the rows themselves, against brute force, over many releases, and on a real file.

use super::*;
use crate::cube::Weighing;
use crate::release::forged::Bodies;

const HEAD: &str = "name = \"shop\"\ntitle = \"Shop\"\ndemo = true\n";
const DIMENSIONS: &str = "[[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n[[dimension]]\nname = \"age\"\nrange = [0, 2]\n";

/// Rows have weights, and pay times weight is summed; beside it what rows have of a product of two columns, without weights.
pub(super) fn weighted(privacy: &str, weights: &str) -> Spec {
    spec(&format!(
        "{HEAD}[privacy]\nunit = \"row\"\n{privacy}\n{DIMENSIONS}\
         [weights]\ncolumn = \"w\"\nhigh = 4\nstep = 0.01\n{weights}\n\
         [[amount]]\nname = \"pay\"\nlow = -10\nhigh = 1000\nstep = 0.5\nmissing = \"zero\"\n\
         [[amount]]\nname = \"bill\"\ncolumn = [\"hours\", \"rate\"]\nlow = 0\nhigh = 500\nstep = 0.25\nmissing = \"skip\"\nweighted = false\n\
         [[table]]\nof = [\"sex\", \"age\"]\nsum = [\"pay\", \"bill\"]\n[[table]]\nof = [\"age\"]\n"
    ))
}

pub(super) struct Worker {
    pub(super) sex: usize,
    pub(super) age: usize,
    /// Moved to its bounds, in hundredths.
    pub(super) weight: f64,
    /// Times the weight as it counts, moved and rounded.
    pub(super) pay: f64,
    pub(super) bill: Option<f64>,
}

/// Values whose products are known in whole numbers; some beyond all bounds, some empty.
pub(super) fn workers() -> (String, Vec<Worker>) {
    let mut text = "sex,age,w,pay,hours,rate\n".to_owned();
    let mut all = Vec::new();
    let even = |twice: i64, of: i64| -> i64 {
        // Half of `twice/of`, rounded half to even.
        let (down, rest) = ((twice).div_euclid(2 * of), twice.rem_euclid(2 * of));
        down + i64::from(rest > of || (rest == of && down % 2 != 0))
    };
    let mut state = 11u64;
    for i in 0..90usize {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let draw = |shift: u32, below: u64| (state >> shift) % below;
        // In thousandths; in halves; in tenths; in twentieths.
        let (w, pay, hours, rate) =
            (draw(40, 4500) as i64, draw(20, 900) as i64 - 40, draw(9, 90) as i64, draw(50, 2000) as i64);
        let (no_pay, no_rate) = (i % 7 == 0, i % 11 == 0);
        let cell = |v: f64, none: bool| if none { String::new() } else { format!("{v}") };
        let (sex, age) = (i % 2, i % 3);
        text.push_str(&format!(
            "{},{age},{},{},{}e-1,{}\n",
            ["F", "M"][sex],
            w as f64 / 1000.0,
            cell(pay as f64 / 2.0, no_pay),
            hours,
            cell(rate as f64 / 20.0, no_rate)
        ));
        // Steps of 0.01, 0.5 and 0.25.
        let weight = even(2 * w, 10).clamp(0, 400);
        let paid = if no_pay { 0 } else { even(2 * weight * pay, 100).clamp(-20, 2000) };
        let bill = even(2 * hours * rate, 50).clamp(0, 2000);
        let bill = (!no_rate).then_some(bill as f64 / 4.0);
        all.push(Worker { sex, age, weight: weight as f64 / 100.0, pay: paid as f64 / 2.0, bill });
    }
    (text, all)
}

/// What a query's figures are in each row.
fn figures(answers: &Answers, sql: &str) -> Vec<Vec<ResultFigure>> {
    let table = answers.query(sql, 0.9).unwrap();
    table.rows.iter().map(|row| row.iter().filter_map(figure).collect()).collect()
}

/// Almost without noise every figure is that of the rows: weighted counts, sums and means, rows beside them, products.
#[test]
fn without_noise_weighted_figures_are_those_of_the_rows() {
    let (text, all) = workers();
    let sum = |own: &dyn Fn(&&Worker) -> bool, of: &dyn Fn(&Worker) -> f64| -> f64 {
        all.iter().filter(own).map(of).sum()
    };
    for privacy in ["rho = 1e7", "epsilon = 1e4"] {
        let dir = tempfile::tempdir().unwrap();
        let made = released_from(dir.path(), &weighted(privacy, "unweighted = true"), &text);
        let answers = Answers::open(&made.sealed.path).unwrap();
        let sql = "SELECT age, COUNT(*), COUNT(w), SUM(pay), AVG(pay), SUM(bill), AVG(bill), COUNT(bill), SUM(w), AVG(w), \
                   COUNT(*) FILTER (WHERE sex = 'F') / COUNT(*), AVG(age), SUM(CASE WHEN sex = 'F' THEN 2 ELSE 1 END) \
                   FROM shop GROUP BY age HAVING COUNT(*) > 1 ORDER BY age";
        let found = figures(&answers, sql);
        assert_eq!(found.len(), 3);
        for (age, found) in found.iter().enumerate() {
            let own = |r: &&Worker| r.age == age;
            let women = |r: &&Worker| r.age == age && r.sex == 0;
            let (n, w) = (sum(&own, &|_| 1.0), sum(&own, &|r| r.weight));
            let (pay, bill) = (sum(&own, &|r| r.pay), sum(&own, &|r| r.bill.unwrap_or(0.0)));
            let billed = sum(&own, &|r| f64::from(u8::from(r.bill.is_some())));
            let f = sum(&women, &|r| r.weight);
            let want = [w, n, pay, pay / w, bill, bill / billed, billed, w, w / n, f / w, age as f64, w + f];
            for (found, want) in found.iter().zip(want) {
                assert!(
                    (found.estimate - want).abs() <= 0.003 * want.abs().max(1.0),
                    "{privacy} {found:?} {want}"
                );
                assert!(found.low - 1e-9 <= found.high);
            }
            assert_eq!(found.len(), 12);
        }
        let told = answers.query("SELECT COUNT(*) FROM shop", 0.9).unwrap();
        assert!(
            told.notes.iter().any(|n| n.starts_with("COUNT(*) adds up the weights w of rows")),
            "{:?}",
            told.notes
        );
        assert!(told.notes.iter().any(|n| n.contains("the error of sampling is not in them")));
        assert_eq!((told.caveats.len(), &crate::render::Caveat::words(&told.caveats)[..]), (1, "weighted"));
        assert_eq!(told.columns[0].name, "count");
    }
}

/// Beside an amount that is as rows have it, the rows of ELSE count as they are, in its mean and in its sum.
#[test]
fn the_rows_of_else_count_as_those_of_then() {
    let spec = spec(
        "name = \"shop\"\ntitle = \"Shop\"\ndemo = true\n[privacy]\nunit = \"row\"\nrho = 1e7\n\
         [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n[weights]\ncolumn = \"w\"\nhigh = 10\nstep = 1\nunweighted = true\n\
         [[amount]]\nname = \"plain\"\ncolumn = \"v\"\nlow = 0\nhigh = 100\nstep = 1\nweighted = false\n\
         [[amount]]\nname = \"times\"\ncolumn = \"v\"\nlow = 0\nhigh = 1000\nstep = 1\n\
         [[table]]\nof = [\"sex\"]\nsum = [\"plain\", \"times\"]\n",
    );
    let rows: String = ["F,1,20\n", "M,3,0\n"].iter().map(|row| row.repeat(50)).collect();
    let dir = tempfile::tempdir().unwrap();
    let made = released_from(dir.path(), &spec, &format!("sex,w,v\n{rows}"));
    let answers = Answers::open(&made.sealed.path).unwrap();
    for (sql, want) in [
        ("AVG(CASE WHEN sex = 'F' THEN plain ELSE 0 END)", 10.0),
        ("SUM(CASE WHEN sex = 'F' THEN plain ELSE 1 END)", 1050.0),
        ("AVG(CASE WHEN sex = 'F' THEN w ELSE 0 END)", 0.5),
        // A weighted mean is one of weights.
        ("AVG(CASE WHEN sex = 'F' THEN times ELSE 0 END)", 5.0),
        ("SUM(CASE WHEN sex = 'F' THEN times ELSE 1 END)", 1150.0),
        ("AVG(CASE WHEN sex = 'F' THEN 20 ELSE 0 END)", 5.0),
    ] {
        let found = figures(&answers, &format!("SELECT {sql} FROM shop"))[0][0];
        assert!((found.estimate - want).abs() < 0.01 * want, "{sql}: {found:?} {want}");
    }
}

/// A weight beyond its ends, between its steps or below 0 is one and the same in the count and in every product: of rows that all have 1 the mean is 1, and of rows that
/// all have -1 it is -1.
#[test]
fn weights_are_the_same_in_counts_and_products() {
    let spec = spec(&format!(
        "{HEAD}[privacy]\nunit = \"row\"\nrho = 1e7\n{DIMENSIONS}[weights]\ncolumn = \"w\"\nhigh = 10\nstep = 1\n\
         [[amount]]\nname = \"h\"\nlow = 0\nhigh = 100\nstep = 1\n[[amount]]\nname = \"loss\"\nlow = -100\nhigh = 100\nstep = 1\n\
         [[table]]\nof = [\"sex\", \"age\"]\nsum = [\"h\", \"loss\"]\n"
    ));
    for weights in [&["60"][..], &["60", "-60", "0.5", "1.5", "2.5", "3.49", "1e9"], &["-7", "-0.4", "4"]] {
        let mut text = "sex,age,w,h,loss\n".to_owned();
        for i in 0..60 {
            text += &format!("{},{},{},1,-1\n", ["F", "M"][i % 2], i % 3, weights[i % weights.len()]);
        }
        let dir = tempfile::tempdir().unwrap();
        let made = released_from(dir.path(), &spec, &text);
        let answers = Answers::open(&made.sealed.path).unwrap();
        let found = figures(&answers, "SELECT AVG(h), AVG(loss), SUM(h) / COUNT(*) FROM shop");
        for (found, want) in found[0].iter().zip([1.0, -1.0, 1.0]) {
            assert!((found.estimate - want).abs() < 0.01, "{weights:?} {found:?}");
        }
    }
}

/// How far one row moves what is measured, where it has a value of each number: steps above the least, beyond it and beyond the largest.
fn moved_by(plan: &Plan, frame: &Frame, cell: [usize; 2], has: &[(&str, Option<i64>)]) -> Vec<f64> {
    let mut out = Vec::new();
    for channel in &plan.channels {
        let name = channel.subject.quantity().map_or("", |q| q.name.as_str());
        let code = has.iter().find(|(own, _)| *own == name).and_then(|(_, code)| *code);
        let alone = Plan { channels: vec![channel.clone()], ..plan.clone() };
        out.extend(moves(&alone, frame, cell, code));
    }
    out
}

/// No row is told from its absence by more than the cost says, whatever weight and values it has; and the dearest row nearly by that.
#[test]
fn the_cost_is_that_of_the_dearest_weighted_row() {
    for privacy in ["rho = 1", "epsilon = 2", "rho = 1\nneighbours = \"substitute\""] {
        let spec = weighted(privacy, "measure_clamping = 0.05");
        let planned = planner::plan(&spec.request().unwrap()).unwrap();
        let (plan, frame) = (&planned.plan, Frame::new(&spec.cube, &planned.plan.levels));
        let reach: Vec<i64> = plan.summed().map(|(q, _)| q.reach() as i64).collect();
        let (mut each, ends) = (Vec::new(), |reach: i64| [-1, 0, reach / 2, reach, reach + 1].map(Some));
        for cell in (0..6).map(|c| [c / 3, c % 3]) {
            for w in ends(reach[0]) {
                for pay in [Some(0), Some(reach[1])] {
                    for bill in [None, Some(0), Some(reach[2])] {
                        each.push(moved_by(plan, &frame, cell, &[("w", w), ("pay", pay), ("bill", bill)]));
                    }
                }
            }
        }
        let cost = |v: &[f64]| match plan.noise {
            Noise::Gaussian => v.iter().map(|x| x * x).sum::<f64>() / 2.0,
            Noise::Laplace => v.iter().map(|x| x.abs()).sum::<f64>(),
        };
        let pair =
            |a: &Vec<f64>, b: &Vec<f64>| cost(&a.iter().zip(b).map(|(x, y)| x - y).collect::<Vec<_>>());
        let dearest = match plan.neighbours {
            Neighbours::AddRemove => each.iter().map(|v| cost(v)).fold(0.0, f64::max),
            Neighbours::Substitute => {
                each.iter().flat_map(|a| each.iter().map(move |b| pair(a, b))).fold(0.0, f64::max)
            }
        };
        let said = planned.cost.total.to_f64();
        assert!(dearest <= said * (1.0 + 1e-9), "{privacy}: {dearest} {said}");
        let least = if plan.neighbours == Neighbours::Substitute { 0.3 } else { 1.0 - 1e-6 };
        assert!(dearest >= said * least && said <= plan.budget.to_f64(), "{privacy}: {dearest} {said}");
    }
}

/// Intervals of weighted counts, sums and means cover as they say.
#[test]
fn weighted_figures_are_covered() {
    let (text, all) = workers();
    let of = |f: &dyn Fn(&Worker) -> f64| all.iter().filter(|r| r.sex == 0).map(f).sum::<f64>();
    let (w, pay) = (of(&|r| r.weight), of(&|r| r.pay));
    let truth = [w, pay, pay / w, w / 45.0];
    let sql = "SELECT COUNT(*), SUM(pay), AVG(pay), COUNT(*) / COUNT(w) FROM shop WHERE sex = 'F'";
    let draws = tries(40, 300);
    let mut covered = [0usize; 4];
    for draw in 0..draws {
        let dir = tempfile::tempdir().unwrap();
        let made = released_from(dir.path(), &weighted("rho = 2", ""), &text);
        let release = Release::open(&made.sealed.path).unwrap();
        if draw == 0 {
            let audit = audit::audit(&release, None).unwrap();
            assert!(audit.passed(), "{audit:?}");
            let of = &release.manifest().plan.sums;
            assert_eq!((of[0].of.weighing, of[1].of.weighing), (Weighing::Weight, Weighing::Weighted));
        }
        let found = figures(&Answers::from_release(release).unwrap(), sql);
        for ((covered, f), want) in covered.iter_mut().zip(&found[0]).zip(truth) {
            *covered += usize::from(f.low - 1e-6 <= want && want <= f.high + 1e-6);
        }
    }
    let least = least_covered(draws);
    assert!(covered.iter().all(|c| *c as f64 / draws as f64 >= least), "{covered:?} of {draws}");
}

/// What a signer might say otherwise of weights is found.
#[test]
fn lies_about_weights_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::from_text(&keys::keygen(None).unwrap().secret, None).unwrap();
    let made = released_by(&key, dir.path(), &weighted("rho = 1", ""), &workers().0);
    let release = Release::open(&made.sealed.path).unwrap();
    let failed = |forged: Result<Release, crate::release::ReleaseError>| {
        let audit = audit::audit(&forged.map_err(|e| e.to_string())?, None).map_err(|e| e.to_string())?;
        let failed = audit.checks.iter().find(|c| c.outcome == crate::release::Outcome::Failed);
        failed.map_or(Ok(()), |c| Err(c.detail.clone()))
    };
    assert_eq!(failed(resealed(&release, &key, |_, _| {})), Ok(()));
    let section = |bodies: &Bodies, nth: usize| {
        let own = bodies.iter().enumerate().filter(|(_, (tag, _))| *tag == Kind::Sums.tag());
        own.map(|(i, _)| i).nth(nth).unwrap()
    };
    // What is done with empty cells, and what the number is to weights, stand behind subject, name and bounds.
    let missing = |body: &[u8]| body.iter().position(|b| [17, 18, 34].contains(b)).unwrap();
    let weights = release.section(Kind::Sums, 0).unwrap();
    assert_eq!(weights[missing(&weights)], 17);
    for (nth, from, to, why) in [
        (0, 17, 1, "the file holds none"),
        (0, 17, 33, "the file holds none"),
        (0, 17, 19, "weighted mean"),
        (0, 17, 49, "nothing says"),
        (1, 34, 2, "of.weighing"),
        (1, 34, 35, "weighted mean"),
        (1, 34, 18, "weights begin at 0"),
    ] {
        let forged = resealed(&release, &key, |_, bodies| {
            let i = section(bodies, nth);
            let at = bodies[i].1.iter().position(|b| *b == from).unwrap();
            bodies[i].1[at] = to;
        });
        let found = failed(forged).unwrap_err();
        assert!(found.contains(why), "{nth} {to}: {found}");
    }
    // In the manifest alone.
    for (nth, to) in [(0, "weighted"), (1, "weight"), (1, "plain")] {
        assert!(
            failed(resealed(&release, &key, |m, _| m["plan"]["sums"][nth]["of"]["weighing"] = to.into()))
                .is_err()
        );
    }
    // In the spec: the column of weights is a factor, or not.
    for (from, to) in [
        ("weighted = false", "weighted = true"),
        ("high = 4", "high = 5"),
        ("column = \"w\"\nhigh", "column = \"w\"\nname = \"v\"\nhigh"),
    ] {
        let forged = resealed(&release, &key, |_, bodies| {
            let i = bodies.iter().position(|(tag, _)| *tag == Kind::Spec.tag()).unwrap();
            let spec = String::from_utf8(bodies[i].1.clone()).unwrap();
            assert!(spec.contains(from), "{from}");
            bodies[i].1 = spec
                .replace(from, to)
                .replace("missing = \"skip\"\nweighted = true", "missing = \"zero\"\nweighted = true")
                .into_bytes();
        });
        assert!(failed(forged).is_err(), "{to}");
    }
}

/// What cannot be weighed is refused where the spec is read, and what cannot be asked where the question is.
#[test]
fn what_weights_are_refused() {
    let text = weighted("rho = 1", "").source;
    let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let read = |text: &str| crate::spec::parse(text, std::path::Path::new("shop.toml"), none);
    for (from, to, why) in [
        ("step = 0.01", "step = 0.01\nmissing = \"skip\"", "unknown `missing` `skip`"),
        ("high = 4", "high = -4", "is not above 0"),
        ("column = \"w\"\nhigh", "high", "needs `column`"),
        ("column = \"w\"\nhigh", "column = [\"w\", \"v\"]\nhigh", "`column` is not text"),
        ("missing = \"zero\"", "missing = \"skip\"", "weights of all rows"),
        ("missing = \"zero\"", "square = true", "not a weighted variance"),
        ("[\"hours\", \"rate\"]", "[]", "names 0 columns"),
        ("[\"hours\", \"rate\"]", "[\"a\", \"b\", \"c\", \"d\", \"e\"]", "names 5 columns"),
        ("weighted = false", "weighted = 1", "weighted"),
        ("[[table]]\nof = [\"age\"]", "[[table]]\nof = [\"age\"]\nmargin = 5", "beside `[weights]`"),
        ("[[table]]\nof = [\"age\"]", "[[query]]\nsql = \"SELECT COUNT(*) FROM shop\"", "beside `query`"),
    ] {
        assert!(text.contains(from), "{from}");
        let found = read(&text.replacen(from, to, 1)).map(|_| ()).unwrap_err().to_string();
        assert!(found.contains(why), "{to}: {found}");
    }
    for (key, why) in [
        ("margin = { count = 5, pay = 100 }", "a margin of `count` beside `count = false`"),
        ("weight = { count = 5 }", "a weight of `count` beside `count = false`"),
    ] {
        let beside = |counted: &str| {
            let told = format!("sum = [\"pay\", \"bill\"]\n{counted}{key}");
            let text = text.replace("sum = [\"pay\", \"bill\"]", &told);
            let bare = text
                .replace("[weights]\ncolumn = \"w\"\nhigh = 4\nstep = 0.01\n", "")
                .replace("weighted = false\n", "");
            assert!(bare.len() < text.len());
            [text, bare].map(|text| read(&text).map(|_| ()).map_err(|e| e.to_string()))
        };
        for found in beside("count = false\n") {
            assert!(found.as_ref().unwrap_err().contains(why), "{key}: {found:?}");
        }
        assert_eq!(beside(""), [Ok(()), Ok(())], "{key}");
    }
    let silent = text.replace("sum = [\"pay\", \"bill\"]", "sum = [\"pay\", \"bill\"]\ncount = false");
    let silent = silent.replace("[[table]]\nof = [\"age\"]\n", "");
    assert!(read(&silent).unwrap_err().to_string().contains("no table tells the sum of weights"));
    let dir = tempfile::tempdir().unwrap();
    let made = released_from(dir.path(), &weighted("rho = 1", ""), &workers().0);
    let answers = Answers::open(&made.sealed.path).unwrap();
    for (sql, why) in [
        ("SELECT MEDIAN(age) FROM shop", "rows have the weights w"),
        ("SELECT COUNT(*) FROM shop WHERE w > 1", "is an amount"),
        ("SELECT VAR_POP(pay) FROM shop", "square = true"),
    ] {
        let refused = answers.query(sql, 0.9).unwrap_err().to_string();
        assert!(refused.contains(why), "{sql}: {refused}");
    }
}

/// A real file: hours and gains of the census of adults by education and sex, weighed as its sample is (all as codes, as the file has them). Every
/// figure is within what its interval says at a level that all of them together miss once in ten thousand runs.
#[test]
fn a_real_survey_is_weighed() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/adult14.csv");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: there is no {}", path.display());
        return;
    };
    let spec = spec(
        "name = \"adult\"\ntitle = \"Adult\"\ndemo = true\n[privacy]\nunit = \"row\"\nrho = \"1/10\"\n\
         [[dimension]]\nname = \"education\"\ncolumn = \"education-num\"\nrange = [0, 15]\n[[dimension]]\nname = \"sex\"\nrange = [0, 1]\n\
         [weights]\ncolumn = \"fnlwgt\"\nhigh = 40\nstep = 1\n\
         [[amount]]\nname = \"hours\"\ncolumn = \"hours-per-week\"\nlow = 0\nhigh = 1000\nstep = 1\n\
         [[amount]]\nname = \"gain\"\ncolumn = \"capital-gain\"\nlow = 0\nhigh = 50\nstep = 1\nweighted = false\n\
         [[table]]\nof = [\"education\", \"sex\"]\nsum = [\"hours\", \"gain\"]\n",
    );
    // Education, sex, weight, hours times weight, gain: by hand.
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| names.iter().position(|n| *n == name).unwrap();
    let columns = ["education-num", "sex", "fnlwgt", "hours-per-week", "capital-gain"].map(at);
    let mut truth = vec![[0.0f64; 5]; 32];
    for line in lines {
        let cells: Vec<i64> = line.split(',').map(|c| c.parse().unwrap()).collect();
        let [education, sex, w, hours, gain] = columns.map(|c| cells[c]);
        let own = &mut truth[(education * 2 + sex) as usize];
        let told = [1, w.min(40), (w.min(40) * hours).min(1000), gain.min(50)].map(|v| v as f64);
        own.iter_mut().zip(told).for_each(|(sum, v)| *sum += v);
    }
    let dir = tempfile::tempdir().unwrap();
    let made = released_from(dir.path(), &spec, &text);
    let answers = Answers::open(&made.sealed.path).unwrap();
    assert!(audit::audit(&Release::open(&made.sealed.path).unwrap(), None).unwrap().passed());
    let sql = "SELECT education, sex, COUNT(fnlwgt), COUNT(*), SUM(hours), AVG(hours), SUM(gain), AVG(gain) FROM adult GROUP BY education, sex";
    // Of 192 intervals, each missed once in two million.
    let table = answers.query(sql, 1.0 - 5e-7).unwrap();
    let mut narrow = 0;
    for (row, [n, w, hours, gain, _]) in table.rows.iter().zip(truth) {
        let found: Vec<ResultFigure> = row.iter().filter_map(figure).collect();
        let want = [n, w, hours, hours / w, gain, gain / n];
        for (f, want) in found.iter().zip(want) {
            assert!(want.is_nan() || (f.low <= want && want <= f.high), "{f:?} {want}");
            narrow += usize::from(f.std_error < 0.1 * want);
        }
    }
    // Cells of some thousand rows are known well, those of a dozen are not.
    assert!(narrow > 100, "{narrow}");
}
