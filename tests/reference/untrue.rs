//! What makes numbers untrue besides noise, through whole releases: whose they are, what was left out, and what it
//! costs to measure that.

use margins::answer::{Answers, Options, QueryError, Several, Simultaneous, agreeing};
use margins::compile::{self, Options as Making};
use margins::cube::Frame;
use margins::exact::Rational;
use margins::plan::{Channel, Neighbours, Noise, Plan, Subject, cost};
use margins::release::keys::keygen;
use margins::release::{Kind, Release, SigningKey};
use margins::render::{self, Caveat, ResultCell, ResultFigure, ResultTable};
use margins::secret::ingest::Means;
use margins::secret::noise::Entropy;
use margins::spec::{self, Spec};
use std::path::Path;

/// Households: one column says which; kids from 0 to 8, `9+`, or unknown.
fn text(name: &str, head: &str, privacy: &str) -> String {
    format!(
        "name = \"{name}\"\ntitle = \"Households\"\ndemo = true\n{head}\n[privacy]\n{privacy}\n\
         [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n\
         [[dimension]]\nname = \"kids\"\nrange = [0, 8]\nother = \"9+\"\nmissing = \"unknown\"\n\
         [[table]]\nof = [\"sex\", \"kids\"]\n"
    )
}

fn read(text: &str) -> Spec {
    spec::parse(text, Path::new("spec.toml"), |_| Err(std::io::ErrorKind::NotFound.into()))
        .unwrap_or_else(|e| panic!("{}", e.render(false)))
}

fn agency() -> SigningKey {
    SigningKey::from_text(&keygen(None).unwrap().secret, None).unwrap()
}

/// A release of `rows` in a folder of its own, opened. Its noise is new every time, and small beside what is tested.
fn opened(text: &str, rows: &str, key: &SigningKey) -> Answers {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("rows.csv");
    std::fs::write(&data, rows).unwrap();
    let spec = read(text);
    let options = Making {
        out: folder.path(),
        data: Some((&data).into()),
        counts: None,
        ledger: &crate::ledger_of(&spec, key),
        key,
        replace: false,
        day: "2026-01-31",
        entropy: Entropy::from_os().unwrap(),
    };
    let made = compile::release(&spec, options, &Means::default()).unwrap();
    let release = Release::from_bytes(std::fs::read(made.sealed.path).unwrap()).unwrap();
    assert!(margins::audit::audit(&release, None).unwrap().passed());
    Answers::from_release(release).unwrap()
}

/// `(sex, kids, how many)`, all in households of one row.
fn rows(of: &[(&str, &str, usize)]) -> String {
    let mut out = "household,sex,kids\n".to_string();
    let mut household = 0;
    for &(sex, kids, n) in of {
        for _ in 0..n {
            household += 1;
            out.push_str(&format!("h{household},{sex},{kids}\n"));
        }
    }
    out
}

fn figure(table: &ResultTable, name: &str) -> ResultFigure {
    let at = table.columns.iter().position(|c| c.name == name).unwrap_or_else(|| panic!("no column {name}"));
    match table.rows[0][at] {
        ResultCell::Figure(f) => f,
        _ => panic!("{name} is no figure"),
    }
}

const ROW: &str = "unit = \"row\"\nrho = \"1/2\"";

fn dataset(id: &str, period: &str) -> String {
    let period = if period.is_empty() { String::new() } else { format!("period = \"{period}\"\n") };
    format!("[dataset]\nid = \"{id}\"\n{period}")
}

/// Only releases that say the same id, were signed with the same key and count alike are taken together.
#[test]
fn unrelated_releases_are_refused() {
    let (key, other) = (agency(), agency());
    let data = rows(&[("F", "1", 40), ("M", "2", 30)]);
    let of = |name: &str, head: &str, key: &SigningKey| opened(&text(name, head, ROW), &data, key);
    let refused = |a: Answers, b: Answers, said: &[&str]| {
        for pair in [vec![a, b]] {
            let names: Vec<String> = pair.iter().map(|r| r.title()).collect();
            let Err(QueryError::Together(why)) = Several::new(pair) else {
                panic!("taken together: {said:?}")
            };
            for word in said.iter().copied().chain(names.iter().map(String::as_str)) {
                assert!(why.contains(word), "{why:?} does not say {word:?}");
            }
        }
    };
    let town = dataset("town", "");
    refused(of("a", &town, &key), of("b", &dataset("city", ""), &key), &["`town`", "`city`"]);
    refused(
        of("a", &town, &key),
        of("b", &town, &other),
        &["`town`", &key.public_key(), &other.public_key()],
    );
    let (one, two) = (SigningKey::throw_away().unwrap(), SigningKey::throw_away().unwrap());
    refused(of("a", &town, &one), of("b", &town, &two), &["throw-away", "margins keygen", "--key"]);
    refused(of("a", &town, &key), of("b", &dataset("town", "2025"), &key), &["no period", "2025"]);
    for pair in [[&town[..], ""], ["", &town], ["", ""]] {
        let pair = [of("a", pair[0], &key), of("b", pair[1], &key)];
        let Err(QueryError::Together(why)) = Several::new(pair.into()) else { panic!("no id") };
        assert!(why.contains("does not say of whom it is"), "{why}");
    }
    let bounded = "unit = { column = \"household\", max_rows = 2 }\nrho = 50";
    refused(
        of("a", &town, &key),
        opened(&text("b", &town, bounded), &data, &key),
        &["every row", "at most 2 rows of each household"],
    );
    let part = |is: &str| format!("{town}\nperiod = \"2026\"\npart = \"{is}\"\n");
    refused(
        of("a", &part("region=north"), &key),
        of("b", &part("region=south"), &key),
        &["region=north", "region=south"],
    );
    refused(of("a", &town, &key), of("b", &part("region=north"), &key), &["region=north", "no part"]);
    let spelt = vec![of("a", &part("region=north"), &key), of("b", &part("Region=North"), &key)];
    assert!(Several::new(spelt).is_ok());
    // The same in both: combined.
    let both = Several::new(vec![of("a", &town, &key), of("b", &town, &key)]).unwrap();
    let answer = both.ask("SELECT COUNT(*) AS n FROM a", &Options::at(0.95)).unwrap();
    let n = figure(&answer, "n");
    assert!((n.estimate - 70.0).abs() < 12.0 * n.std_error && answer.columns.len() == 1, "{n:?}");
}

/// One measuring has one noise, however often it was signed; and what two ledgers each held against one bound is not one account.
#[test]
fn one_measuring_is_never_combined_with_itself() {
    use margins::release::forged::resealed;
    let key = agency();
    let data = rows(&[("F", "1", 40), ("M", "2", 30)]);
    let of = |name: &str, privacy: &str| opened(&text(name, &dataset("town", ""), privacy), &data, &key);
    let (a, b) = (of("a", ROW), of("b", ROW));
    let forged = |of: &Answers, edit: &dyn Fn(&mut serde_json::Value)| {
        Answers::from_release(resealed(of.release(), &key, |m, _| edit(m)).unwrap()).unwrap()
    };
    let why = |one: &Answers, other: Answers| {
        let one = Answers::from_release(resealed(one.release(), &key, |_, _| ()).unwrap()).unwrap();
        match Several::new(vec![one, other]) {
            Ok(_) => String::new(),
            Err(QueryError::Together(why)) => why,
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!(why(&a, forged(&b, &|_| ())), "");
    let again = forged(&a, &|m| m["created"] = "2026-02-01".into());
    assert!(why(&a, again).contains("name one charge, line 2"));
    // What is measured is another thing, and the line is the same one: two ledgers.
    let line = a.release().manifest().account.as_ref().unwrap().line;
    let fork = forged(&b, &|m| m["account"]["line"] = line.into());
    assert!(why(&a, fork).contains("an older copy"));
    // Whatever line it names, or none.
    let elsewhere = forged(&a, &|m| {
        m["account"]["head"] = "a".repeat(64).into();
        m["account"]["line"] = 99.into();
    });
    let silent = forged(&a, &|m| drop(m.as_object_mut().unwrap().remove("account")));
    for other in [elsewhere, silent] {
        let why = why(&a, other);
        assert!(why.contains("the same noisy integers"), "{why}");
    }
    // One integer is another one, and that file names no charge.
    let changed = resealed(a.release(), &key, |m, sections| {
        drop(m.as_object_mut().unwrap().remove("account"));
        let counts = sections.iter_mut().find(|(tag, _)| *tag == Kind::Measurements.tag()).unwrap();
        counts.1[1] ^= 2;
    });
    let why_changed = why(&a, Answers::from_release(changed.unwrap()).unwrap());
    assert!(why_changed.contains("the same noisy integers"), "{why_changed}");
    // Noise that is nearly always zero gives the same integers twice, and both are honest.
    let exact = || of("exact", "unit = \"row\"\nepsilon = 500");
    assert_eq!(why(&exact(), exact()), "");
}

/// What is published without noise of the same rows is the same, in every table that two of them tell: of counts, and of the sums of a number.
#[test]
fn exact_tables_that_contradict_each_other_are_refused() {
    let key = agency();
    let spec = |name: &str, head: &str, tables: &str| {
        format!(
            "name = \"{name}\"\ntitle = \"Households\"\ndemo = true\n{head}\n[privacy]\n{ROW}\n\
             [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n\
             [[dimension]]\nname = \"kids\"\nrange = [0, 8]\nlevels = [{{ name = \"band\", cuts = [2, 5] }}]\n\
             [[amount]]\nname = \"rooms\"\nlow = 0\nhigh = 10\nstep = 1\n\
             [[table]]\nof = [\"sex\", \"kids\"]\nsum = [\"rooms\"]\n{tables}"
        )
    };
    let exact = |of: &str| format!("[[table]]\nof = [{of}]\nexact = true\nreason = \"law\"\n");
    let summed = |of: &str| exact(of) + "sum = [\"rooms\"]\n";
    // A row of M with so many kids and rooms, then so many rows of each sex.
    let data = |sexes: [usize; 2], kids: u32, rooms: u32| {
        let mut out = format!("sex,kids,rooms\nM,{kids},{rooms}\n");
        for (sex, n) in ["F", "M"].iter().zip(sexes) {
            (0..n).for_each(|_| out.push_str(&format!("{sex},3,2\n")));
        }
        out
    };
    let usual = data([40, 30], 3, 2);
    let town = dataset("town", "");
    let of = |name: &str, tables: &str, rows: &str| opened(&spec(name, &town, tables), rows, &key);
    let why = |a: Answers, b: Answers| {
        let names = [a.title(), b.title()];
        match Several::new(vec![a, b]) {
            Ok(_) => String::new(),
            Err(QueryError::Together(why)) => {
                assert!(names.iter().all(|n| why.contains(n.as_str())) && why.contains("ask one"), "{why}");
                why
            }
            Err(other) => panic!("{other}"),
        }
    };
    let (sex, both, kids) = (exact("\"sex\""), exact("\"kids.band\", \"sex\""), exact("\"kids\""));
    // One row is of the other sex: the same tables, one that rolls up to the other, and two with another order of dimensions.
    let moved = data([41, 29], 3, 2);
    for (one, other, at) in
        [(&sex, &sex, "table sex:"), (&sex, &both, "table sex:"), (&both, &sex, "table sex:")]
    {
        let why = why(of("a", one, &usual), of("b", other, &moved));
        assert!(why.contains(at) && why.contains("the counts of rows by"), "{why}");
    }
    // What `ask` combines is held to the same.
    let two = |rows: &str| agreeing(vec![of("a", &both, &usual), of("b", &sex, rows)]);
    assert!(matches!(two(&moved), Err(QueryError::Together(_))) && two(&usual).unwrap().len() == 2);
    // One row has other kids, which two tables tell by bands only; within a band nothing shows.
    assert!(why(of("a", &both, &usual), of("b", &kids, &data([40, 30], 6, 2))).contains("table kids.band:"));
    assert_eq!(why(of("a", &both, &usual), of("b", &kids, &data([40, 30], 4, 2))), "");
    // Tables of other dimensions have the total in common.
    assert!(why(of("a", &sex, &usual), of("b", &kids, &data([40, 31], 3, 2))).contains("table total:"));
    assert_eq!(why(of("a", &sex, &usual), of("b", &kids, &moved)), "");
    // Counts agree, and a sum does not.
    let (by_sex, by_kids) = (summed("\"sex\""), summed("\"kids\""));
    let why_sums = why(of("a", &by_sex, &usual), of("b", &by_kids, &data([40, 30], 3, 9)));
    assert!(why_sums.contains("the sums of rooms by sex") && why_sums.contains("table total:"), "{why_sums}");
    // The same rows agree, and are told as they are; releases of other years need not.
    assert_eq!(why(of("a", &by_kids, &usual), of("b", &by_sex, &usual)), "");
    let agreed = Several::new(vec![of("a", &both, &usual), of("b", &sex, &usual)]).unwrap();
    let n = agreed.ask("SELECT COUNT(*) AS n FROM a WHERE sex = 'F'", &Options::at(0.95)).unwrap();
    assert_eq!((figure(&n, "n").estimate, figure(&n, "n").std_error), (40.0, 0.0));
    let year = |year: &str, rows: &str| opened(&spec(year, &dataset("town", year), &sex), rows, &key);
    assert!(Several::new(vec![year("2023", &usual), year("2024", &moved)]).is_ok());
}

/// Two years are shown beside each other with the change; no number is a mean of both.
#[test]
fn periods_are_compared_and_never_averaged() {
    let key = agency();
    let of = |year: &str, women: usize| {
        let name = format!("people{year}");
        opened(&text(&name, &dataset("town", year), ROW), &rows(&[("F", "1", women), ("M", "4", 300)]), &key)
    };
    let years = || Several::new(vec![of("2023", 1000), of("2024", 1500)]).unwrap();
    let several = years();
    assert_eq!(several.periods(), ["2023", "2024"]);
    let options = Options::at(0.95);
    let table = several.ask("SELECT COUNT(*) AS n FROM people2024 WHERE sex = 'F'", &options).unwrap();
    let names: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["n_2023", "n_2024", "n_change", "n_percent"]);
    let [a, b, change, percent] = [0, 1, 2, 3].map(|i| figure(&table, names[i]));
    for (found, truth) in [(a, 1000.0), (b, 1500.0), (change, 500.0), (percent, 50.0)] {
        assert!((found.estimate - truth).abs() < 12.0 * found.std_error, "{found:?} {truth}");
        assert!(
            found.std_error < 0.02 * truth && found.low <= found.estimate && found.estimate <= found.high
        );
    }
    // Independent errors: variances add; the percentage is that of the two estimates.
    assert!((change.estimate - (b.estimate - a.estimate)).abs() < 1e-9);
    assert!((change.std_error - a.std_error.hypot(b.std_error)).abs() < 1e-9);
    assert!((percent.estimate - 100.0 * (b.estimate / a.estimate - 1.0)).abs() < 1e-9);
    // A ratio has a change, too, at least as wide as its parts ask for.
    let mean = several.ask("SELECT AVG(kids) AS m FROM people2024", &options).unwrap();
    let (a, b, change) = (figure(&mean, "m_2023"), figure(&mean, "m_2024"), figure(&mean, "m_change"));
    assert!(change.low <= b.low - a.high && change.high >= b.high - a.low, "{change:?}");
    // What is not defined for a change is refused.
    let prior = Options { prior: Some("flat".parse().unwrap()), ..options };
    assert!(matches!(
        several.ask("SELECT COUNT(*) AS n FROM people2024", &prior),
        Err(QueryError::Compared(_))
    ));
    // All together: Bonferroni over four intervals.
    let joint = Options { joint: Some(Simultaneous::Auto), ..options };
    let table = several.ask("SELECT COUNT(*) AS n FROM people2023", &joint).unwrap();
    let together = table.together.unwrap();
    assert_eq!(together.intervals, 4);
    assert!((together.each - (1.0 - 0.05 / 4.0)).abs() < 1e-12);
    // Explained one by one.
    let explained = several.explain("SELECT COUNT(*) AS n FROM people2023").unwrap();
    let names: Vec<&str> = explained.iter().map(|e| e.figure.as_str()).collect();
    assert_eq!(names, ["n_2023", "n_2024"]);
    // Three periods: each against the first. Two releases of one of them are combined first.
    let three = [of("2023", 1000), of("2024", 1500), of("2024", 1500), of("2025", 900)].into();
    let three = Several::new(three).unwrap();
    let table = three.ask("SELECT COUNT(*) AS n FROM people2025 WHERE sex = 'F'", &options).unwrap();
    let change = figure(&table, "n_change_2025");
    assert!((change.estimate + 100.0).abs() < 12.0 * change.std_error, "{change:?}");
    assert!(
        table.notes.iter().any(|n| n.starts_with("n in 2024: combined by precision")),
        "{:?}",
        table.notes
    );
}

/// Rows beyond the bound, and units without a number: told as data, and in every format.
#[test]
fn what_is_left_out_is_told() {
    let mut data = rows(&[("F", "1", 500), ("M", "3", 400), ("F", "12", 60), ("M", "", 40)]);
    for household in 0..100 {
        for _ in 0..5 {
            data.push_str(&format!("big{household},F,2\n"));
        }
    }
    let privacy = "unit = { column = \"household\", max_rows = 2 }\nrho = 50\nmeasure_truncation = 0.5";
    let answers = opened(&text("homes", "", privacy), &data, &agency());
    let count = answers.query("SELECT COUNT(*) AS n FROM homes", 0.99).unwrap();
    let n = figure(&count, "n");
    assert!((n.estimate - 1200.0).abs() < 12.0 * n.std_error, "300 rows are left out: {n:?}");
    let [Caveat::Truncated { unit, max_rows: 2, cut: Some(cut), without: None, period: None }] =
        &count.caveats[..]
    else {
        panic!("{:?}", count.caveats)
    };
    assert!(unit == "household" && (cut.estimate - 100.0).abs() < 12.0 * cut.std_error, "{cut:?}");
    // ρ = 50 · 1/2 is a variance of 1/50, of a lattice noise less: the interval is a whole number or two.
    assert!(cut.low <= cut.estimate && cut.estimate <= cut.high && cut.high - cut.low < 3.0, "{cut:?}");
    let shown = render::table(&count);
    let said = "Counts at most 2 rows of each household; those beyond are left out";
    assert!(shown.replace('\n', " ").contains(said), "{shown}");

    let sum = answers.query("SELECT SUM(kids) AS s, AVG(kids) AS a FROM homes", 0.95).unwrap();
    let left: Vec<(&str, f64)> = sum
        .caveats
        .iter()
        .filter_map(|c| match c {
            Caveat::LeftOut { figure, categories, units: Some(units), .. } => {
                assert_eq!(categories, &["unknown", "9+"]);
                Some((figure.as_deref()?, units.estimate))
            }
            _ => None,
        })
        .collect();
    assert_eq!(left.iter().map(|l| l.0).collect::<Vec<_>>(), ["s", "a"]);
    assert!(left.iter().all(|l| (l.1 - 100.0).abs() < 12.0), "{left:?}");
    let csv = render::csv(&sum);
    let mut reader = csv_fields(&csv);
    assert_eq!(reader.next().unwrap().last().unwrap(), "status");
    assert_eq!(reader.next().unwrap().last().unwrap(), "incomplete truncated");
    let json: serde_json::Value =
        serde_json::from_str(&render::json(&sum, &serde_json::Map::new()).unwrap()).unwrap();
    assert_eq!(json["caveats"][0]["categories"], serde_json::json!(["unknown", "9+"]));
    assert_eq!(json["caveats"][2]["max_rows"], 2);
    assert_eq!(json["notes"].as_array().unwrap().len(), 4, "{}", json["notes"]);

    let complete = Options { complete: true, ..Options::at(0.95) };
    let refused = answers.ask("SELECT SUM(kids) AS s FROM homes", &complete).unwrap_err().to_string();
    assert!(refused.contains("`s` leaves out the rows whose kids is unknown or 9+"), "{refused}");
    let named = "SELECT SUM(kids) AS s FROM homes WHERE kids NOT IN ('9+', 'unknown')";
    assert!(answers.ask(named, &complete).is_ok());
    // What a comparison cannot compare is told with as many units, of all columns at once, and refused where only the whole is wanted.
    for (condition, fate, status) in
        [("kids >= 3", "left out", "incomplete"), ("NOT (kids < 3)", "counted", "undecided")]
    {
        let sql = format!("SELECT COUNT(*) AS n FROM homes WHERE {condition}");
        let table = answers.query(&sql, 0.95).unwrap();
        let told = table.caveats[0].to_json();
        assert_eq!(
            (&told["fate"], &told["status"], &told["figure"]),
            (&fate.into(), &status.into(), &serde_json::Value::Null)
        );
        let units = told["units"]["estimate"].as_f64().unwrap();
        assert!((units - 100.0).abs() < 12.0, "{told}");
        assert!(answers.ask(&sql, &complete).is_err(), "{sql}");
    }

    // Nothing is left out, nothing is said.
    let plain = opened(&text("homes", "", ROW), &data, &agency());
    let table = plain.query("SELECT COUNT(*) AS n FROM homes", 0.95).unwrap();
    assert!(table.caveats.is_empty() && !render::csv(&table).contains("status"));
}

fn csv_fields(text: &str) -> impl Iterator<Item = Vec<String>> {
    text.lines().map(|l| l.split(',').map(str::to_owned).collect())
}

/// The number of units with more than `most` rows, the plain way.
fn cut(rows_of: &[u32], most: u32) -> i64 {
    rows_of.iter().filter(|&&n| n > most).count() as i64
}

/// Every dataset of up to three units with up to five rows each, and every neighbour: none moves the count by more than one,
/// some do; and what the plan charges is just that, beside its tables.
#[test]
fn the_cost_of_counting_cut_units_is_that_of_the_worst_neighbour() {
    const MOST: u32 = 2;
    let datasets = || (0..6u32).flat_map(|a| (0..6).flat_map(move |b| (0..6).map(move |c| [a, b, c])));
    for neighbours in ["add-remove", "substitute"] {
        let mut worst = 0;
        for data in datasets() {
            for unit in 0..3 {
                let others: Vec<u32> = (0..3).filter(|&u| u != unit).map(|u| data[u]).collect();
                let changed: Vec<Vec<u32>> = match neighbours {
                    "add-remove" => vec![others],
                    _ => (0..6).map(|n| [&others[..], &[n]].concat()).collect(),
                };
                for other in changed {
                    worst = worst.max((cut(&data, MOST) - cut(&other, MOST)).abs());
                }
            }
        }
        assert_eq!(worst, 1);
        for (budget, noise) in [("rho = \"1/3\"", Noise::Gaussian), ("epsilon = 2", Noise::Laplace)] {
            for share in ["true", "0.2", "\"1/3\""] {
                let privacy = format!(
                    "unit = {{ column = \"household\", max_rows = {MOST} }}\n{budget}\nneighbours = \"{neighbours}\"\n\
                     measure_truncation = {share}"
                );
                let spec = read(&text("homes", "", &privacy));
                let planned = margins::planner::plan(&spec.request().unwrap()).unwrap();
                let plan = &planned.plan;
                assert_eq!((plan.noise, plan.max_rows), (noise, MOST));
                let cut = plan.channel(&Subject::CutUnits).unwrap();
                let scale = cut.measurements[0].scale.to_f64();
                let price = match noise {
                    Noise::Gaussian => (worst * worst) as f64 / (2.0 * scale),
                    Noise::Laplace => worst as f64 / scale,
                };
                let part: f64 = match share {
                    "true" => 0.01,
                    "0.2" => 0.2,
                    _ => 1.0 / 3.0,
                };
                let whole = plan.budget.to_f64();
                assert!(price <= part * whole && price > part * whole * (1.0 - 1e-6), "{price} {part}");
                let frame = Frame::new(&spec.cube, &plan.levels);
                let total = |plan: &Plan| cost::cost(plan, &frame).unwrap().total.to_f64();
                let tables = total(&plan.clone().alone(&Subject::Rows));
                assert!((total(plan) - tables - price).abs() < 1e-12 * whole);
                assert!(
                    planned.cost.total <= plan.budget && total(plan) > whole * (1.0 - 1e-6),
                    "{}",
                    total(plan)
                );
                assert_eq!(cost::cost(plan, &frame).unwrap().total, planned.cost.total);
                let mut none = plan.clone();
                none.channels[1] = Channel::cut_units(Rational::ZERO);
                assert!(cost::cost(&none, &frame).is_err(), "no noise");
                assert!(matches!(plan.neighbours, Neighbours::AddRemove) == (neighbours == "add-remove"));
            }
        }
    }
}
