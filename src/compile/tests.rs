use super::*;
use crate::answer::Answers;
use crate::cube::{Cube, Frame, Integers};
use crate::plan::{Measure, Plan};
use crate::planner::Planned;
use crate::release::packing::{layout, pack};
use crate::release::{Kind, Outcome, Release, Writer, claims, wire};
use crate::render::ResultCell;
use crate::secret::Charged;
use crate::secret::ingest::Means;
use crate::secret::ingest::Rows;
use crate::secret::measure::{Copies, exact_tables, measure_copies};

const SPEC: &str = r#"
name = "shop"
title = "Shop"
demo = true

[privacy]
unit = "row"
rho = "1/2"

[[dimension]]
name = "sex"
categories = ["F", "M"]

[[dimension]]
name = "age"
range = [0, 9]
levels = [{ name = "half", width = 5 }]

[[table]]
of = ["sex", "age"]

[[table]]
of = ["sex", "age.half"]
exact = true
reason = "known from the register"
"#;

const ROWS: &str = "sex,age\nF,1\nF,2\nM,7\nM,7\nF,9\nM,0\n";

pub(super) fn spec(text: &str) -> Spec {
    crate::spec::parse(text, Path::new("shop.toml"), |_| Err(std::io::ErrorKind::NotFound.into())).unwrap()
}

/// What is measured for every copy, from this seed: of one measurement, or slice of one, after the other.
pub(super) fn measured<T>(
    cube: &Cube,
    plans: &[Plan],
    data: impl Into<Data>,
    seed: u64,
    of: fn(Integers) -> T,
) -> Vec<Vec<T>> {
    let copies = Copies::new(plans.to_vec()).unwrap();
    let (charged, ()) = Charged::copies(cube, copies, |_| Ok::<(), std::fmt::Error>(())).unwrap();
    let mut out: Vec<Vec<T>> = plans.iter().map(|_| Vec::new()).collect();
    let mut sink = |copy: usize, _: usize, values: Integers| {
        out[copy].push(of(values));
        Ok(())
    };
    measure_copies(data.into(), cube, charged, Entropy::fixed(seed), &Watch::default(), &mut sink).unwrap();
    out
}

/// Integers of which all have 64 bits.
pub(super) fn narrow(values: Integers) -> Vec<i64> {
    values.iter().map(|v| v as i64).collect()
}

fn tables(job: Job) -> Planned {
    let Job::Tables(choice) = job else { panic!("a projection") };
    std::sync::Arc::unwrap_or_clone(choice.planned)
}

fn planned(spec: &Spec) -> Result<Planned, CompileError> {
    Job::of(spec, Look::Needed).map(tables)
}

pub(super) fn plan_of(made: &Released) -> Plan {
    tables(made.job.clone()).plan
}

fn released(dir: &Path, spec: &Spec) -> Released {
    released_from(dir, spec, ROWS)
}

pub(super) fn released_from(dir: &Path, spec: &Spec, rows: &str) -> Released {
    released_by(&SigningKey::throw_away().unwrap(), dir, spec, rows)
}

pub(super) fn released_by(key: &SigningKey, dir: &Path, spec: &Spec, rows: &str) -> Released {
    let data = dir.join("rows.csv");
    std::fs::write(&data, rows).unwrap();
    let mut spec = spec.clone();
    spec.data = Some(crate::spec::Data {
        path: data,
        format: Some(crate::spec::Format::Csv),
        csv: Default::default(),
        blanks: Default::default(),
    });
    // The noise differs from run to run; nothing below depends on it.
    let options = Options {
        out: dir,
        data: None,
        counts: None,
        ledger: &dir.join("ledger.jsonl"),
        key,
        replace: false,
        day: "2026-01-31",
        entropy: Entropy::from_os().unwrap(),
    };
    release(&spec, options, &Means::default()).unwrap()
}

/// From the spec through the file to the answer: declared at every station, exact in every answer.
#[test]
fn exact_tables_are_declared_and_answered_exactly() {
    let dir = tempfile::tempdir().unwrap();
    let made = released(dir.path(), &spec(SPEC));
    let release = Release::open(&made.sealed.path).unwrap();
    assert_eq!(release.manifest().declared.invariants, ["sex × age.half: known from the register"]);
    assert!(release.manifest().privacy.note.contains("relative to the tables declared"));
    let ledger = std::fs::read_to_string(dir.path().join("ledger.jsonl")).unwrap();
    let mut charges = ledger.lines().filter(|l| l.contains("\"kind\":\"charged\""));
    assert!(charges.next().is_some_and(|l| l.contains("known from the register")));
    let audit = crate::audit::audit(&release, None).unwrap();
    assert!(audit.passed(), "{audit:?}");
    let note = audit.checks.iter().find(|c| c.what == "exact tables").unwrap();
    assert_eq!(note.outcome, Outcome::Warning);

    let answers = Answers::open(&made.sealed.path).unwrap();
    let counts = |sql: &str| -> Vec<(f64, f64)> {
        let query = answers.parse(sql).unwrap();
        let groups = answers.evaluator().aggregate(&query.filter, &query.group_by).unwrap();
        groups.iter().map(|g| (g.estimate, g.law.half_width(0.95))).collect()
    };
    assert_eq!(counts("SELECT COUNT(*) FROM shop"), [(6.0, 0.0)]);
    assert_eq!(counts("SELECT sex, COUNT(*) FROM shop GROUP BY sex"), [(3.0, 0.0), (3.0, 0.0)]);
    let halves = counts("SELECT sex, age.half, COUNT(*) FROM shop GROUP BY sex, age.half");
    assert_eq!(halves, [(2.0, 0.0), (1.0, 0.0), (1.0, 0.0), (2.0, 0.0)]);
    let ages = counts("SELECT age, COUNT(*) FROM shop GROUP BY age");
    assert!(ages.iter().all(|a| a.1 > 0.0));
    assert!((ages[..5].iter().map(|a| a.0).sum::<f64>() - 3.0).abs() < 1e-9, "noisy cells add up");
}

/// A description has an error for every table that is answered: beside bases, a table without noise and empty cells, too.
#[test]
fn a_description_has_the_error_of_every_table() {
    let dir = tempfile::tempdir().unwrap();
    let dimensions = SPEC.split("[[table]]").next().unwrap();
    let spec = spec(&format!(
        "{dimensions}[[table]]\nof = [\"age\", \"sex\"]\nask = {{ age = \"prefixes\" }}\n[[table]]\nof = [\"sex\"]\nexact = true\n\
         reason = \"known\"\n[[zero]]\nwhere = \"sex = 'M' AND age = 1\"\n[strategy]\nmeasure = \"bases\"\n"
    ));
    let rows = "sex,age\nF,1\nF,2\nM,7\nM,7\nF,9\nM,0\n";
    let answers = Answers::open(&released_from(dir.path(), &spec, rows).sealed.path).unwrap();
    let tables = answers.describe(0.95, 9).unwrap().tables;
    let [noisy, exact] = &tables[..] else { panic!("{tables:?}") };
    assert!(exact.exact && (exact.std_error, exact.margin) == (Some(0.0), Some(0.0)), "{exact:?}");
    // The worst of its cells, one by one.
    let query = answers.parse("SELECT age, sex, COUNT(*) FROM shop GROUP BY age, sex").unwrap();
    let groups = answers.evaluator().aggregate(&query.filter, &query.group_by).unwrap();
    let worst = groups.iter().map(|g| g.law.std_error()).fold(0.0, f64::max);
    assert!((noisy.std_error.unwrap() - worst).abs() < 1e-9 * worst, "{noisy:?} {worst}");
}

/// No row, or a single one, is a dataset like any other: nothing in the release's form tells.
#[test]
fn hardly_any_rows() {
    let plain = SPEC.split("[[table]]\nof = [\"sex\", \"age.half\"]").next().unwrap();
    let all = crate::planner::strategy::general()
        .map(|m| (m, if m == Measure::Residual { "rho = \"1/2\"" } else { "epsilon = 1" }));
    for (measure, budget) in all {
        let strategy = format!("\n[strategy]\nmeasure = \"{}\"\n", measure.name());
        let spec = spec(&[&plain.replace("rho = \"1/2\"", budget), &*strategy].concat());
        let mut sizes = Vec::new();
        for rows in ["sex,age\n", "sex,age\nF,3\n"] {
            let dir = tempfile::tempdir().unwrap();
            let made = released_from(dir.path(), &spec, rows);
            sizes.push(made.values);
            let release = Release::open(&made.sealed.path).unwrap();
            assert!(crate::audit::audit(&release, None).unwrap().passed(), "{measure:?}");
            let answers = Answers::open(&made.sealed.path).unwrap();
            let query = answers.parse("SELECT sex, COUNT(*) FROM shop GROUP BY sex").unwrap();
            let groups = answers.evaluator().aggregate(&query.filter, &query.group_by).unwrap();
            // Twelve standard errors: never by chance.
            assert!(groups.iter().all(|g| g.estimate.abs() < 1.0 + 12.0 * g.law.std_error()), "{measure:?}");
        }
        assert_eq!(sizes[0], sizes[1]);
    }
}

/// Declared at every station, assumed in every answer, and checked against the rows.
#[test]
fn zeros_are_declared_and_imposed() {
    const ZERO: &str = "\n[[zero]]\nwhere = \"sex = 'F' AND age BETWEEN 3 AND 8\"\n";
    let plain = SPEC.split("[[table]]\nof = [\"sex\", \"age.half\"]").next().unwrap();
    for measure in ["residual", "base", "wavelet", "fourier"] {
        let dir = tempfile::tempdir().unwrap();
        let strategy = format!("\n[strategy]\nmeasure = \"{measure}\"\n");
        let text = [plain, ZERO, &strategy].concat();
        let made = released(dir.path(), &spec(&text));
        let release = Release::open(&made.sealed.path).unwrap();
        assert_eq!(release.manifest().declared.constraints, ["sex = 'F' AND age BETWEEN 3 AND 8"]);
        assert!(crate::audit::audit(&release, None).unwrap().passed());
        let answers = Answers::open(&made.sealed.path).unwrap();
        let counts = |sql: &str| -> Vec<(f64, f64)> {
            let query = answers.parse(sql).unwrap();
            let groups = answers.evaluator().aggregate(&query.filter, &query.group_by).unwrap();
            groups.iter().map(|g| (g.estimate, g.law.half_width(0.95))).collect()
        };
        let few = counts("SELECT COUNT(*) FROM shop WHERE sex = 'F' AND age IN (4, 5)");
        assert_eq!(few, [(0.0, 0.0)], "{measure}");
        let cells = counts("SELECT sex, age, COUNT(*) FROM shop GROUP BY sex, age");
        assert!(cells.iter().enumerate().all(|(i, c)| ((3..9).contains(&i)) == (c.1 == 0.0)), "{cells:?}");
        let women = counts("SELECT COUNT(*) FROM shop WHERE sex = 'F'");
        assert!((cells[..10].iter().map(|c| c.0).sum::<f64>() - women[0].0).abs() < 1e-8, "{measure}");
    }
    // M, 7 is in the data.
    let wrong = [plain, "\n[[zero]]\nwhere = \"sex = 'M' AND age = 7\"\n"].concat();
    let rows = tempfile::tempdir().unwrap();
    let data = rows.path().join("rows.csv");
    std::fs::write(&data, ROWS).unwrap();
    let refused = crate::secret::ingest::read(&spec(&wrong), &data, &Means::default()).unwrap_err();
    assert!(matches!(refused, IngestError::Zero { .. }), "{refused}");
    assert!(refused.to_string().contains("where sex = 'M' AND age = 7"), "{refused}");
}

/// A row's error is its own, whatever was asked before it: lumps that are alike but for what is known to be empty of them have other laws.
#[test]
fn what_is_empty_is_part_of_a_law() {
    let text = "name = \"t\"\ntitle = \"T\"\ndemo = true\n[privacy]\nunit = \"row\"\nrho = 1\n\
                [[dimension]]\nname = \"sex\"\ncategories = [\"a\", \"b\", \"c\"]\n\
                [[dimension]]\nname = \"age\"\nrange = [1, 5]\nother = \"else\"\n\
                [[table]]\nof = [\"age\", \"sex\"]\n[[zero]]\nwhere = \"age = 3 AND sex = 'c'\"\n[strategy]\nmeasure = \"residual\"\n";
    let dir = tempfile::tempdir().unwrap();
    let made = released_from(dir.path(), &spec(text), "sex,age\na,1\nb,2\nc,9\na,3\n");
    let errors = |conditions: &[&str]| -> Vec<f64> {
        let answers = Answers::open(&made.sealed.path).unwrap();
        let asked = conditions.iter().map(|condition| {
            let sql = format!("SELECT age, COUNT(*) FROM t WHERE {condition} GROUP BY age");
            let of = |cell: &ResultCell| match cell {
                ResultCell::Figure(figure) => Some(figure.std_error),
                _ => None,
            };
            answers.query(&sql, 0.9).unwrap().rows.iter().filter_map(|row| row.iter().find_map(of)).collect()
        });
        asked.last().unwrap()
    };
    let (few, range) = ("age IN (2, 3)", "age BETWEEN 2 AND 3");
    let alone = errors(&[few]);
    assert!((alone[0] * alone[0] - 1.5).abs() < 1e-9 && (alone[1] - 1.0).abs() < 1e-9, "{alone:?}");
    for asked in
        [&[range][..], &[few, range], &[range, few], &["age = 4", "age = 3", few], &["age <> 3", range]]
    {
        assert_eq!(errors(asked), alone, "{asked:?}");
    }
}

/// What is said of a dimension stays said where a strategy puts levels of its own into it.
#[test]
fn helping_levels_keep_what_is_said() {
    for (measure, budget) in [("wavelet", "rho = 1"), ("hierarchy", "epsilon = 1"), ("tables", "epsilon = 1")]
    {
        let text = format!(
            "name = \"t\"\ntitle = \"T\"\ndemo = true\n[privacy]\nunit = \"row\"\n{budget}\n\
             [[dimension]]\nname = \"age\"\nrange = [0, 20]\nmissing = \"unknown\"\nunit = \"years\"\n\
             [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\nlabels = {{ F = \"women\" }}\n\
             [[table]]\nof = [\"age\", \"sex\"]\nask = {{ age = \"ranges\" }}\n[strategy]\nmeasure = \"{measure}\"\neffort = 0\n"
        );
        let dir = tempfile::tempdir().unwrap();
        let made = released_from(dir.path(), &spec(&text), "sex,age\nF,1\nM,\nF,9\n");
        let audit = crate::audit::audit(&Release::open(&made.sealed.path).unwrap(), None).unwrap();
        assert!(audit.passed(), "{measure}: {}", audit.to_text("t"));
        let answers = Answers::open(&made.sealed.path).unwrap();
        assert_eq!(
            answers.cube().dimensions[0].legend().unwrap().unit.as_deref(),
            Some("years"),
            "{measure}"
        );
        for sql in
            ["SELECT COUNT(*) FROM t WHERE age IS NULL", "SELECT COUNT(age) FROM t WHERE sex = 'women'"]
        {
            answers.query(sql, 0.9).unwrap_or_else(|e| panic!("{measure}, {sql}: {e}"));
        }
    }
}

const MATRIX: &str = r#"
name = "shop"
title = "Shop"
demo = true

[privacy]
unit = "row"
epsilon = 2

[[dimension]]
name = "sex"
categories = ["F", "M"]

[[dimension]]
name = "age"
range = [0, 9]
levels = [{ name = "half", width = 5 }]

[[table]]
of = ["sex"]

[[table]]
of = ["age.half"]

[strategy]
measure = "matrix"
rows = { file = "rows.csv", of = ["sex", "age.half"] }
"#;

/// Rows from their file through plan, release and audit to the answers; what they leave open is refused.
#[test]
fn rows_are_released_audited_and_answered() {
    let rows = "1,1,0,0\n0,0,1,1\n1,0,1,0\n0,1,0,1\n0,0,0,0\n";
    let read = |text: &'static str| {
        crate::spec::parse(MATRIX, Path::new("shop.toml"), move |name| {
            assert_eq!(name, "rows.csv");
            Ok(text.as_bytes().to_vec())
        })
    };
    let broken = read("1,1,0,0\n0,0,0,0\n").unwrap_err().to_string();
    assert!(broken.contains("`rows.csv`, line 2: a query of nothing"), "{broken}");
    let open = planned(&read("1,1,0,0\n1,0,1,0\n0,1,0,1\n").unwrap()).map(|p| p.cost.total);
    assert!(open.is_ok(), "the other sex is what is left of the total: {open:?}");
    let open = planned(&read("1,1,0,0\n0,0,1,1\n").unwrap()).unwrap_err().to_string();
    assert!(open.contains("its rows do not determine every cell of age.half"), "{open}");

    let dir = tempfile::tempdir().unwrap();
    let made = released(dir.path(), &read(rows.strip_suffix("0,0,0,0\n").unwrap()).unwrap());
    assert_eq!((made.values, plan_of(&made).measure.name()), (4, "matrix"));
    let release = Release::open(&made.sealed.path).unwrap();
    assert_eq!(release.manifest().sources.attachments[0].name, "rows.csv");
    assert!(release.manifest().privacy.note.contains("the exact maximum over all cells"));
    let cube = release.cube().unwrap();
    assert_eq!(release.plan(&cube).unwrap(), plan_of(&made));
    let audit = crate::audit::audit(&release, None).unwrap();
    assert!(audit.passed(), "{audit:?}");
    let cost = audit.checks.iter().find(|c| c.what == "privacy cost").unwrap();
    assert!(cost.detail.contains("exact maximum over all cells"), "{}", cost.detail);

    let answers = Answers::open(&made.sealed.path).unwrap();
    let ask = |sql: &str| {
        let query = answers.parse(sql).unwrap();
        answers.evaluator().aggregate(&query.filter, &query.group_by)
    };
    let sum = |sql: &str| ask(sql).unwrap().iter().map(|g| g.estimate).sum::<f64>();
    let total = sum("SELECT COUNT(*) FROM shop");
    assert!((total - sum("SELECT sex, COUNT(*) FROM shop GROUP BY sex")).abs() < 1e-9);
    assert!((total - sum("SELECT age.half, COUNT(*) FROM shop GROUP BY age.half")).abs() < 1e-9);
    // The sums of a half and of a sex differ by cells across: F under 5 less M from 5 on.
    let query = "SELECT COUNT(*) FROM shop WHERE sex = 'F' AND age < 5";
    let refused = ask(query).unwrap_err().to_string();
    assert!(refused.contains("do not determine this sum of cells of sex × age.half"), "{refused}");
    let finer = ask("SELECT COUNT(*) FROM shop WHERE age < 3").unwrap_err().to_string();
    assert!(finer.contains("only down to age.half"), "{finer}");
}

/// What does not depend on data is refused before the data is opened: here it could not even be found.
#[test]
fn the_data_is_opened_last() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path();
    let key = SigningKey::throw_away().unwrap();
    let absent = out.join("absent.csv");
    let refused = |spec: &Spec, out: &Path, ledger: &Path| {
        let options = Options {
            out,
            data: Some((&absent).into()),
            counts: None,
            ledger,
            key: &key,
            replace: false,
            day: "2026-01-31",
            entropy: Entropy::from_os().unwrap(),
        };
        release(spec, options, &Means::default()).unwrap_err().to_string()
    };
    let good = spec(SPEC);
    let ledger = out.join("ledger.jsonl");
    assert!(refused(&good, out, &ledger).contains("cannot open"), "nothing else is wrong");
    assert!(refused(&good, out, out).contains("cannot use the ledger"));
    std::fs::write(out.join("broken.jsonl"), "{}\n").unwrap();
    assert!(refused(&good, out, &out.join("broken.jsonl")).contains("line 1 of the ledger"));
    assert!(refused(&good, &out.join("nowhere"), &ledger).contains("cannot write"));
    std::fs::write(out.join("shop.margins"), "").unwrap();
    assert!(refused(&good, out, &ledger).contains("exists"));
    std::fs::remove_file(out.join("shop.margins")).unwrap();
    let draft = spec(&SPEC.replace("name = \"age\"", "name = \"age\"\nconfirmed = false"));
    assert!(refused(&draft, out, &ledger).contains("confirmed = false"));
    for (budget, is) in [("1e-33", "small"), ("1e-30", "small"), ("1e12", "large"), ("1e30", "large")] {
        let tiny = spec(&SPEC.replace("1/2", budget));
        let why = refused(&tiny, out, &ledger);
        assert!(why.contains(&format!("this budget is too {is}:")), "{budget}: {why}");
    }
    // Laplace scales beyond 2^40, which the planner alone would allow.
    let tiny = spec(&SPEC.replace("rho = \"1/2\"", "epsilon = \"1e-13\""));
    assert!(refused(&tiny, out, &ledger).contains("this budget is too small:"));
    assert!(!ledger.exists(), "nothing was charged");
}

/// A file that is published with the spec is not the data, whatever it is called.
#[test]
fn the_data_is_not_published_with_the_spec() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let rows = "place,region\nn1,north\ns1,south\n";
    std::fs::write(at("people.csv"), rows).unwrap();
    let head = "name = \"p\"\ntitle = \"P\"\ndemo = true\n[data]\npath = \"people.csv\"\n[privacy]\nunit = \"row\"\nrho = 1\n";
    let with = |file: &str| {
        let text = format!(
            "{head}[[dimension]]\nname = \"place\"\nhierarchy = \"{file}\"\n[[table]]\nof = [\"place\"]\n"
        );
        std::fs::write(at("p.toml"), text).unwrap();
        crate::spec::load(&at("p.toml"))
    };
    assert!(with("people.csv").unwrap_err().to_string().contains("is the data file"));
    assert!(with("./people.csv").unwrap_err().to_string().contains("is the data file"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(at("people.csv"), at("other.csv")).unwrap();
        assert!(with("other.csv").unwrap_err().to_string().contains("is the data file"));
    }
    // Not a line of it is shown, whatever would be wrong with it as a list.
    std::fs::write(at("people.csv"), "place,region\nsecret,1\nsecret,2\n").unwrap();
    let why = with("people.csv").unwrap_err().to_string();
    assert!(why.contains("is the data file") && !why.contains("secret"), "{why}");
    std::fs::write(at("people.csv"), rows).unwrap();
    // The same bytes under another name show when the data is opened.
    let key = SigningKey::throw_away().unwrap();
    let again = |copy: &str| {
        std::fs::write(at("copy.csv"), copy).unwrap();
        let options = Options {
            out: dir.path(),
            data: None,
            counts: None,
            ledger: &at("ledger.jsonl"),
            key: &key,
            replace: false,
            day: "2026-01-31",
            entropy: Entropy::from_os().unwrap(),
        };
        release(&with("copy.csv").unwrap(), options, &Means::default())
    };
    // So do its lines in another order, with other ends.
    for copy in
        [rows, "\u{feff}place,region\r\ns1,south\r\nn1,north\r\n", "place,region\ns1,south\n\nn1,north"]
    {
        let refused = again(copy).unwrap_err().to_string();
        assert!(refused.contains("private data file itself"), "{refused}");
        assert!(!at("p.margins").exists() && !at("ledger.jsonl").exists());
    }
    // A hierarchy of other places is none of its business.
    assert!(again("place,region\nn1,north\ns1,south\ns2,south\n").is_ok());
}

/// Reported ε never less than it is, and short.
#[test]
fn epsilons_are_rounded_up() {
    for (x, want) in [
        (6.474_05, "6.4741"),
        (17.143_600_000_1, "17.1437"),
        (1.0, "1.0000"),
        (0.000_000_1, "0.0000001000"),
        (0.012_345_6, "0.01235"),
        (0.0, "0.0000"),
    ] {
        assert_eq!(claims::decimals_up(x), want);
    }
    // A probability of nothing, or of everything, has no ε beside it.
    for format in [1, 2] {
        let of = |delta: &str| claims::approximate(format, Rational::ONE, delta.parse().unwrap());
        assert_eq!(["1/2", "1/3", "1e-9"].map(|delta| of(delta).unwrap().delta), ["5e-1", "1/3", "1e-9"]);
        assert!(["0", "1", "3/2"].into_iter().all(|delta| of(delta).is_none()));
    }
}

/// What the plan does not name does not leave, nor does anything without a reason.
#[test]
fn undeclared_exact_tables_do_not_leave() {
    let spec = spec(SPEC);
    let planned = planned(&spec).unwrap();
    let alone = Copies::new(vec![planned.plan]).unwrap();
    let (charged, ()) = Charged::copies(&spec.cube, alone, |_| Ok::<(), std::fmt::Error>(())).unwrap();
    let data: crate::secret::count::Data =
        Rows::from_codes(&[2, 10], &[vec![0, 1], vec![3, 4]]).unwrap().into();
    assert_eq!(exact_tables(&data, &spec.cube, &charged, &spec).unwrap().counts, [[1, 0, 1, 0]]);
    let mut other = spec.exact.clone();
    other[0].cuboid = spec.workload[0].cuboid.clone();
    let mut silent = spec.exact.clone();
    silent[0].reason = " ".into();
    for exact in [Vec::new(), other, silent] {
        let refused = exact_tables(&data, &spec.cube, &charged, &Spec { exact, ..spec.clone() });
        assert!(matches!(refused, Err(MeasureError::Undeclared)));
    }
}

/// What has no noise, or no price under its kind of noise, costs nothing that could be charged.
#[test]
fn what_has_no_price_is_refused() {
    use crate::plan::cost::{CostError, cost};
    let spec = spec(&SPEC.replacen("[[table]]", "[strategy]\nmeasure = \"residual\"\n\n[[table]]", 1));
    let plan = planned(&spec).unwrap().plan;
    let frame = Frame::new(&spec.cube, &plan.levels);
    let of = |plan: &Plan| cost(plan, &frame).map(|cost| cost.total);
    assert!(of(&plan).is_ok());
    let mut silent = plan.clone();
    silent.measurements_mut().last().unwrap().scale = Rational::ZERO;
    assert_eq!(of(&silent), Err(CostError::NoNoise(plan.measured() - 1)));
    let pure = Plan { noise: crate::plan::Noise::Laplace, ..plan };
    assert!(matches!(of(&pure), Err(CostError::Squares(_))));
}

/// Whoever asks measuring to stop is heard before anything is handed over.
#[test]
fn measuring_stops_where_it_is_told_to() {
    let spec = spec(SPEC);
    let alone = Copies::new(vec![planned(&spec).unwrap().plan]).unwrap();
    let (charged, ()) = Charged::copies(&spec.cube, alone, |_| Ok::<(), std::fmt::Error>(())).unwrap();
    let data = Rows::from_codes(&[2, 10], &[vec![0, 1], vec![3, 4]]).unwrap().into();
    let watch = Watch::default();
    watch.stop();
    let mut sink = |_, _, _| panic!("something is handed over");
    let found = measure_copies(data, &spec.cube, charged, Entropy::fixed(1), &watch, &mut sink);
    assert!(matches!(found, Err(MeasureError::Stopped)));
}

/// The cost is held against the budget to the last digit, before anything is charged; what is charged is the cost.
#[test]
fn what_costs_more_than_its_budget_is_not_charged() {
    let spec = spec(SPEC);
    let plan = planned(&spec).unwrap().plan;
    let cost = crate::plan::cost::cost(&plan, &Frame::new(&spec.cube, &plan.levels)).unwrap().total;
    let charged = |budget: Rational| {
        let mut paid = None;
        let charge = |cost: Rational| {
            paid = Some(cost);
            Ok::<(), std::fmt::Error>(())
        };
        let done = Charged::plan(&spec.cube, Plan { budget, ..plan.clone() }, charge).map(|_| ());
        (done, paid)
    };
    assert!(matches!(charged(cost), (Ok(()), Some(paid)) if paid == cost));
    let (num, den) = (2 * cost.numerator(), 2 * cost.denominator());
    let (less, part) = (Rational::new(num - 1, den).unwrap(), Rational::new(1, den).unwrap());
    assert_eq!(less.checked_add(part), Some(cost));
    for budget in [less, Rational::ZERO] {
        let refused = charged(budget);
        assert!(matches!(refused, (Err(MeasureError::OverBudget(c, b)), None) if (c, b) == (cost, budget)));
    }
    let refused = Charged::plan(&spec.cube, plan.clone(), |_| Err::<(), _>(std::fmt::Error));
    assert!(matches!(refused, Err(MeasureError::Sink(_))), "no receipt for what is not charged");
}

/// Sections of exact tables that a writer would not make, each properly signed, are refused.
#[test]
fn broken_exact_sections_are_refused() {
    let spec = spec(SPEC);
    let planned = planned(&spec).unwrap();
    let frame = Frame::new(&spec.cube, &planned.plan.levels);
    let good = crate::release::exact::encode(&spec.exact[0].cuboid, &[2, 1, 1, 2]).unwrap();
    let open = |bodies: &[&[u8]], declared: &[&str]| -> Result<(), String> {
        let dir = tempfile::tempdir().unwrap();
        let chunks = layout(&planned.plan, &frame).chunks;
        let mut w =
            Writer::create(dir.path(), "shop", (3 + chunks.len() + bodies.len()) as u32, false).unwrap();
        w.write_section(Kind::Domain, 0, &wire::encode_domain(&spec.cube).unwrap()).unwrap();
        w.write_section(Kind::Plan, 0, &wire::encode_plan(&planned.plan, &spec.cube).unwrap()).unwrap();
        w.write_section(Kind::Spec, 0, SPEC.as_bytes()).unwrap();
        for (i, chunk) in chunks.iter().enumerate() {
            let mut packed = Vec::new();
            for m in chunk.measurements.clone() {
                let count = planned.plan.rows().measurements[m].block.values(&frame);
                pack(&vec![1; count].into(), &mut packed);
            }
            w.write_section(Kind::Measurements, i as u32, &packed).unwrap();
        }
        for (i, body) in bodies.iter().enumerate() {
            w.write_section(Kind::Exact, i as u32, body).unwrap();
        }
        let job = Job::of(&spec, Look::Needed).unwrap();
        let draft = Draft::new(&job, &spec, [1; 32]).unwrap();
        let mut input = draft.manifest(0, "2026-01-31", false).unwrap();
        input.declared.invariants = declared.iter().map(|d| d.to_string()).collect();
        let path = w.seal(input, &SigningKey::throw_away().unwrap()).unwrap().path;
        let release = Release::open(path).map_err(|e| e.to_string())?;
        let audit = crate::audit::audit(&release, None).map_err(|e| e.to_string())?;
        if audit.passed() { Ok(()) } else { Err(format!("{audit:?}")) }
    };
    const ONE: &str = "sex × age.half: known from the register";
    open(&[&good], &[ONE]).unwrap();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    let not_asked = crate::release::exact::encode(&crate::cube::Cuboid::new(vec![(1, 1)]), &[1, 1]).unwrap();
    let negative = crate::release::exact::encode(&spec.exact[0].cuboid, &[2, -1, 1, 2]).unwrap();
    let longer = [&good[..], &[0]].concat();
    for (bodies, declared, why) in [
        (vec![&good[..]], vec![], "declares 0"),
        (vec![&good], vec!["total: known from the register"], "does not declare"),
        (vec![&good], vec!["sex × age.half: "], "does not declare"),
        (vec![&good], vec!["sex × age.half: another reason"], "another reason"),
        (vec![], vec![ONE], "declares 1"),
        (vec![&good, &good], vec![ONE, ONE], "twice"),
        (vec![&good[..good.len() - 1]], vec![ONE], ""),
        (vec![&good[..3]], vec![ONE], "too early"),
        (vec![&[]], vec![ONE], "too early"),
        (vec![&longer], vec![ONE], "too many"),
        (vec![&negative], vec![ONE], "below zero"),
        (vec![&not_asked], vec![ONE], "not a table"),
        (vec![&with(1, 1)], vec![ONE], "ascending"),
        (vec![&with(4, 9)], vec![ONE], "does not exist"),
        (vec![&with(6, 0)], vec![ONE], "total"),
    ] {
        let error = open(&bodies, &declared).unwrap_err();
        assert!(error.contains(why), "{error:?} does not say {why:?}");
    }
}

/// Whatever the number of threads, and whether rows are read or counts that somebody else made of them: the same release.
#[test]
fn threads_and_counts_make_no_difference() {
    use crate::secret::count::given::{column, fingerprint, levels, needed};
    let dir = tempfile::tempdir().unwrap();
    let spec = spec(SPEC);
    let rows: String = (0..5000usize)
        .map(|row| row.wrapping_mul(0x9e37_79b9) >> 5)
        .map(|hash| format!("{},{}\n", ["F", "M"][hash % 2], hash / 2 % 10))
        .collect();
    std::fs::write(dir.path().join("rows.csv"), format!("sex,age\n{rows}")).unwrap();
    let key = SigningKey::not_private().unwrap();
    let made = |name: &str, threads: usize, counts: Option<&Path>| {
        let out = dir.path().join(name);
        std::fs::create_dir(&out).unwrap();
        let data = dir.path().join("rows.csv");
        let options = Options {
            out: &out,
            data: counts.is_none().then(|| data.as_path().into()),
            counts,
            ledger: &out.join("ledger.jsonl"),
            key: &key,
            replace: false,
            day: "2026-01-31",
            entropy: Entropy::fixed(5),
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let file = pool.install(|| release(&spec, options, &Means::default()))?.sealed.path;
        let mut bytes = std::fs::read(file).unwrap();
        // A signature has a salt.
        let signature = bytes.windows(17).rposition(|w| w == b"untrusted comment").unwrap();
        bytes.truncate(signature);
        // Every charge has random bytes, and the manifest names the line they are in.
        let head = bytes.windows(8).rposition(|w| w == b"\"head\":\"").unwrap() + 8;
        bytes[head..head + 64].fill(b'0');
        Ok::<_, CompileError>(bytes)
    };
    let expected = made("one", 1, None).unwrap();
    assert!(made("two", 2, None).unwrap() == expected);
    assert!(made("eight", 8, None).unwrap() == expected);

    // Counted with a map, cell by cell.
    let plan = planned(&spec).unwrap().plan;
    let wanted: Vec<_> =
        plan.rows().measurements.iter().map(|m| m.block.cuboid()).chain(&plan.exact).collect();
    let tables = needed(&wanted).unwrap();
    let levels = levels(&tables);
    let mut cells: std::collections::BTreeMap<Vec<Option<u32>>, u64> = Default::default();
    for line in rows.lines() {
        let (sex, age) = line.split_once(',').unwrap();
        let fine = [u32::from(sex == "M"), age.parse().unwrap()];
        for table in &tables {
            let node = |level: &crate::cube::Level| {
                let of = table.iter().find(|l| l == level)?;
                let coarse = of.dimension == 1 && of.level == 1;
                Some(if coarse { fine[1] / 5 } else { fine[of.dimension] })
            };
            *cells.entry(levels.iter().map(node).collect()).or_default() += 1;
        }
    }
    let names: Vec<String> = levels.iter().map(|level| column(*level)).collect();
    let mut text = format!("n,{},spec,cut,impossible\n", names.join(","));
    let own = fingerprint(&spec, &spec.cube, &tables);
    for (cell, count) in &cells {
        let cell: Vec<String> =
            cell.iter().map(|node| node.map_or(String::new(), |n| n.to_string())).collect();
        text += &format!("{count},{},{own},0,0\n", cell.join(","));
    }
    let counts = dir.path().join("counts.csv");
    std::fs::write(&counts, &text).unwrap();
    assert!(made("counted", 2, Some(&counts)).unwrap() == expected);

    // What is not whole, not in agreement, or of another plan.
    let mut number = 0;
    let mut refused = |text: &str| {
        number += 1;
        std::fs::write(&counts, text).unwrap();
        made(&format!("refused{number}"), 2, Some(&counts)).unwrap_err().to_string()
    };
    let lines: Vec<&str> = text.lines().collect();
    let with = |at: usize, line: &str| {
        let mut lines = lines.clone();
        lines[at] = line;
        lines.join("\n")
    };
    let last = lines.len() - 1;
    assert!(refused(&lines[..last].join("\n")).contains("has not as many rows"));
    // Agreeing, and more than the plan's integers have room for.
    let many = lines.iter().map(|line| {
        let (count, rest) = line.split_once(',').unwrap();
        count.parse().map_or((*line).to_owned(), |count: u64| format!("{},{rest}", count << 49))
    });
    let why = refused(&many.collect::<Vec<_>>().join("\n"));
    assert!(why.contains("has more rows than the") && why.contains("nothing was charged"), "{why}");
    let fields: Vec<&str> = lines[last].split(',').collect();
    let changed = |at: usize, to: &str| {
        let mut fields = fields.clone();
        fields[at] = to;
        fields.join(",")
    };
    assert!(refused(&with(last, &changed(0, "-1"))).contains("its n is no number of rows"));
    assert!(refused(&with(last, &changed(0, "x"))).contains("a cell is no whole number"));
    assert!(refused(&with(last, &changed(1, "7"))).contains("not in the domain"));
    assert!(refused(&with(last, &changed(1, "-1"))).contains("whose sex is outside the domain"));
    assert!(refused(&with(last, &changed(fields.len() - 1, "1"))).contains("impossible"));
    assert!(refused(&with(last, &changed(fields.len() - 2, "-1"))).contains("its cut is no number of units"));
    assert!(refused(&with(last, &changed(fields.len() - 2, "1"))).contains("as many units with more"));
    assert!(refused(&with(last, lines[last - 1])).contains("was given before"));
    assert!(refused(&with(0, &lines[0].replace("cut", "cat"))).contains("has no column \"cut\""));
    assert!(refused(&text.replace(",cut,impossible", ",cut")).contains("number of columns"));
    assert!(refused(&text.replace(&format!(",{own},"), ",7,")).contains("those of another spec"));
    assert!(refused(&with(last, &changed(fields.len() - 3, ""))).contains("those of another spec"));
    let total = lines.iter().position(|l| l.starts_with("5000,")).unwrap();
    let without: Vec<&str> =
        lines.iter().enumerate().filter(|(at, _)| *at != total).map(|(_, l)| *l).collect();
    assert!(refused(&without.join("\n")).contains("the total is missing"));
}

/// What is edited so that a row would count elsewhere makes the answer to an older statement another spec's; what only changes words or budgets does not.
#[test]
fn counts_are_of_one_spec() {
    use crate::secret::count::given::{fingerprint, needed};
    let of = |text: &str| {
        let spec = spec(text);
        let tables: Vec<_> = spec.workload.iter().map(|table| &table.cuboid).collect();
        fingerprint(&spec, &spec.cube, &needed(&tables).unwrap())
    };
    let own = of(SPEC);
    assert!(own < 1 << 48);
    for (from, to) in [
        (r#"["F", "M"]"#, r#"["M", "F"]"#),
        (r#"["F", "M"]"#, r#"["F", "M", "X"]"#),
        ("range = [0, 9]", "range = [1, 10]"),
        ("range = [0, 9]", "range = [0, 9]\nmissing = \"unknown\""),
        ("range = [0, 9]", "column = \"years\"\nrange = [0, 9]"),
        ("width = 5", "width = 4"),
        (r#"of = ["sex", "age"]"#, r#"of = ["age"]"#),
        (r#"unit = "row""#, r#"unit = { column = "who", max_rows = 3, order = "nr" }"#),
        ("[[table]]", "[[zero]]\nwhere = \"age = 0\"\n\n[[table]]"),
    ] {
        assert_ne!(of(&SPEC.replacen(from, to, 1)), own, "{to}");
    }
    let pay = SPEC.replacen(
        "[[table]]",
        "[[amount]]\nname = \"pay\"\nlow = 0\nhigh = 10\nstep = 1\n\n[[table]]\nsum = [\"pay\"]",
        1,
    );
    assert_ne!(of(&pay), own);
    for (from, to) in [
        ("low = 0", "low = 1"),
        ("high = 10", "high = 11"),
        ("step = 1", "step = 0.5"),
        ("step = 1", "step = 1\nsquare = true"),
        ("step = 1", "step = 1\nmissing = \"zero\""),
        ("step = 1", "step = 1\ncolumn = \"salary\""),
    ] {
        assert_ne!(of(&pay.replacen(from, to, 1)), of(&pay), "{to}");
    }
    for (from, to) in [("1/2", "1/3"), (r#"title = "Shop""#, r#"title = "Another""#), ("known", "taken")] {
        assert_eq!(of(&SPEC.replacen(from, to, 1)), own, "{to}");
    }
}

/// Where the law's bound is too loose to prove a budget in (ε, δ), what ρ converts to does.
#[test]
fn budgets_that_the_law_cannot_prove_are_proved_by_rho() {
    for (epsilon, delta) in [("30", "0.9999999"), ("1000000", "1e-9"), ("1", "1e-9")] {
        let budget = format!("epsilon = \"{epsilon}\"\ndelta = \"{delta}\"");
        let text = SPEC.replace("rho = \"1/2\"", &budget);
        assert!(text != SPEC);
        plan(&spec(&text), Look::Needed, "2026-01-31").unwrap();
    }
}

/// What no reader would let pass is refused before anything is charged: here another spec would be sealed than the one that was planned.
#[test]
fn what_would_not_verify_is_refused_in_the_rehearsal() {
    let honest = spec(SPEC);
    plan(&honest, Look::Needed, "2026-01-31").unwrap();
    for (from, to, about) in [
        ("rho = \"1/2\"", "rho = \"1/3\"", "budgets"),
        ("range = [0, 9]", "range = [0, 8]", "dimensions"),
        ("title = \"Shop\"", "title = \"Stop\"", "title"),
        ("demo = true", "demo = true\nno_such_key = 1", "1 mistakes"),
    ] {
        let mut other = honest.clone();
        assert!(other.source.contains(from), "{from}");
        other.source = other.source.replace(from, to);
        let why = plan(&other, Look::Needed, "2026-01-31").unwrap_err().to_string();
        assert!(why.contains("would not be verified: spec") && why.contains(about), "{why}");
    }
    let copies = "[[recipient]]\nname = \"a\"\nrho = \"1/2\"\n[[recipient]]\nname = \"b\"\nrho = \"1/4\"\n";
    let mut other = spec(&format!("{SPEC}{copies}"));
    plan(&other, Look::Needed, "2026-01-31").unwrap();
    other.source = other.source.replace("\"1/4\"", "\"1/5\"");
    let why = plan(&other, Look::Needed, "2026-01-31").unwrap_err().to_string();
    assert!(why.contains("budgets of recipients"), "{why}");
    // A draft is planned; nothing is released of it.
    let draft = spec(&SPEC.replace("range = [0, 9]", "range = [0, 9]\nconfirmed = false"));
    plan(&draft, Look::Needed, "2026-01-31").unwrap();
}
