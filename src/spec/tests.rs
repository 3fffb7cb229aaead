//! The spec language as a whole: real specs, golden mistakes, meaning against brute force.

use super::*;
use crate::cube::Cuboid;
use crate::exact::Rational;
use crate::plan::Objective;
use crate::plan::{BudgetRule, Measure, Neighbours};
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Parses a text that refers to no files.
fn read(source: &str) -> Result<Spec, SpecErrors> {
    parse(source, Path::new("t.toml"), |_| Err(std::io::Error::other("no files here")))
}

/// A whole spec around some dimensions and tables.
fn around(dimensions: &str, tables: &str) -> String {
    format!("name = \"t\"\ntitle = \"T\"\n[privacy]\nunit = \"row\"\nrho = 1\n{dimensions}\n{tables}\n")
}

/// A name or a category that no release has room for is refused where it stands.
#[test]
fn names_that_are_too_long() {
    let long = "x".repeat(4097);
    let of = |name: &str, rest: &str| format!("[[dimension]]\nname = '{name}'\n{rest}");
    for (dimension, what) in [
        (of(&long, "codes = 2"), "the dimension's name"),
        (of("k", &format!("categories = ['a', '{long}']")), "an entry of `categories`"),
        (of("k", &format!("categories = ['a', 'b']\nmissing = '{long}'")), "`missing`"),
        (
            of(
                "k",
                &format!(
                    "categories = ['a', 'b', 'c']\nlevels = [{{ name = 'g', map = {{ {long} = ['a'], z = ['b', 'c'] }} }}]"
                ),
            ),
            "a group of `map`",
        ),
        (of("k", "hierarchy = 'long.csv'"), "a category"),
    ] {
        let text = around(&dimension, "[[table]]\nevery = 1");
        let file = |_: &str| Ok(format!("k\na\n{long}\n").into_bytes());
        let refused = parse(&text, Path::new("t.toml"), file).unwrap_err();
        let [one] = refused.diagnostics() else { panic!("{refused}") };
        assert_eq!(one.message, format!("{what} is longer than 4096 bytes"));
        assert!(one.span.as_ref().is_some_and(|at| at.len() >= 4097), "{what}");
    }
    let longest = of("k", &format!("categories = ['a', '{}']", "x".repeat(4096)));
    assert!(read(&around(&longest, "[[table]]\nevery = 1")).is_ok());
}

/// What is wrong with a dimension is not said again as if tables, sums and shares that name it were wrong, too.
#[test]
fn mistakes_that_follow_from_others() {
    let amount = "[[amount]]\nname = 'los'\nlow = 0\nhigh = 10\n";
    let given = "[strategy]\nmeasure = 'given'\nshares = [{ of = ['v'], share = 1 }]";
    let targets = "[strategy]\nobjective = 'targets'";
    for (dimension, strategy, why) in [
        ("range = [0, 9]\nlevels = [{ name = 'z', width = 0 }]", "", "`width` is too small"),
        ("range = [9, 0]", given, "`range` runs backwards"),
        ("range = [9, 0]", targets, "`range` runs backwards"),
    ] {
        let dimension = format!("{amount}[[dimension]]\nname = 'v'\n{dimension}\n");
        let tables = format!("[[table]]\nof = ['v']\nsum = ['los']\nmargin = {{ count = 5 }}\n{strategy}");
        let refused = read(&around(&dimension, &tables)).unwrap_err();
        let [one] = refused.diagnostics() else { panic!("{refused}") };
        assert_eq!(one.message, why);
    }
}

/// A manifest says whole numbers up to 2^53.
#[test]
fn bounds_of_amounts_fit_a_manifest() {
    let read = |high: &str, step: &str| {
        let amount = format!("[[amount]]\nname = 'x'\nlow = 0\nhigh = {high}\nstep = {step}\n");
        let dimension = "[[dimension]]\nname = 'k'\nrange = [0, 1]";
        read(&around(&format!("{amount}{dimension}"), "[[table]]\nof = ['k']\nsum = ['x']"))
    };
    assert!(read("800000000400000", "800000000.4").is_ok());
    let refused = read("1000000000500000", "1000000000.5").unwrap_err().to_string();
    assert!(
        refused.contains("too many digits: with 1 decimal places they hold no more than 2^53"),
        "{refused}"
    );
}

/// What is said of bounds that cannot be is about just that.
#[test]
fn mistakes_of_amounts_have_their_own_help() {
    let said = |bounds: &str| {
        let amount = format!("[[amount]]\nname = 'x'\n{bounds}\n");
        let dimension = "[[dimension]]\nname = 'k'\nrange = [0, 1]";
        let text = around(&format!("{amount}{dimension}"), "[[table]]\nof = ['k']\nsum = ['x']");
        read(&text)
            .unwrap_err()
            .diagnostics()
            .iter()
            .map(|d| (d.message.clone(), d.help.clone().unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    let one = |bounds: &str| {
        let all = said(bounds);
        assert_eq!(all.len(), 1, "{bounds} {all:?}");
        all.into_iter().next().unwrap()
    };
    let (why, help) = one("low = 5\nhigh = 5");
    assert!(why.contains("`low` is not below `high`") && !help.contains("steps"), "{why} {help}");
    let (why, help) = one("low = 10\nhigh = 50\nstep = 10\nmissing = 'zero'");
    assert!(why.contains("cannot count as 0") && help.contains("with 0 between them"), "{why} {help}");
    let (why, _) = one("low = 0\nhigh = 5\nstep = 1e-10");
    assert!(why.contains("`step` is not a decimal number"), "{why}");
    let (why, _) = one("low = 0\nhigh = 5\nstep = -1");
    assert!(why.contains("`step` is below 0"), "{why}");
    // The step is that which was chosen, and one that fits is named where there is one.
    let (why, help) = one("low = -0.5\nhigh = 7e6");
    assert!(why.contains("not multiples of 1") && help.contains("such as 0.5"), "{why} {help}");
    let (why, help) = one("low = 0\nhigh = 55\nstep = 10");
    assert!(
        why.contains("not multiples of `step`")
            && help.contains("multiples of 10, or another `step`, such as 55"),
        "{why} {help}"
    );
    let (why, help) = one("low = 0\nhigh = 1e9\nstep = 1");
    assert!(why.contains("steps between") && help.contains("at most 16777216 steps"), "{why} {help}");
}

/// What a spec says of a dimension for people, and every mistake in it.
#[test]
fn legends() {
    let file = "code,label,level\n1,one,\n\"2\",\"two, and no more\",x\nlow,few,band\n";
    let read = |said: &str| {
        let levels = "levels = [{ name = 'band', map = { low = ['0', '1'], high = ['2'] } }]";
        let text = around(
            &format!("[[dimension]]\nname = 'x'\ncategories = ['0', '1', '2']\n{levels}\n{said}"),
            "[[table]]\nof = ['x']",
        );
        parse(&text, Path::new("t.toml"), |name| match name {
            "x.csv" => Ok(file.into()),
            "wrong.csv" => Ok("code,label\n1,one\n3,three\n1,two\n2,\n0,\u{202e}eno\n".into()),
            "other.csv" => Ok("a,b\n1,one\n".into()),
            "more.csv" => Ok("code,label,note\n1,one,of somebody\n".into()),
            _ => Err(std::io::Error::other("no such file")),
        })
    };
    let spec = read("description = 'How many'\nunit = 'things'\nconcept = 'time'\nlabels = 'x.csv'").unwrap();
    let said = serde_json::to_value(spec.words().legends).unwrap();
    let pairs = |level: &str, of: &[[&str; 2]]| serde_json::json!({ "level": level, "of": of });
    let wanted = serde_json::json!([{
        "dimension": "x", "description": "How many", "unit": "things", "concept": "time",
        "labels": [pairs("band", &[["low", "few"]]), pairs("x", &[["1", "one"], ["2", "two, and no more"]])],
    }]);
    assert_eq!(said, wanted);
    assert_eq!(spec.attachments, [("x.csv".to_owned(), file.as_bytes().to_vec())]);
    let inline = read("labels = { 2 = 'two', 0 = 'none', band = { high = 'many', low = 'two' } }").unwrap();
    assert_eq!(inline.cube.dimensions[0].called(2), ["none", "1", "two"]);
    assert_eq!(inline.cube.dimensions[0].called(1), ["two", "many"]);
    assert!(read("").unwrap().words().legends.is_empty());
    // The category of empty cells is said where it is of nothing else.
    for (said, missing) in [
        ("missing = 'none'", Some("none")),
        ("missing = 'none'\nother = 'else'", Some("none")),
        ("missing = 'else'\nother = 'else'", None),
        ("missing = '0'", None),
        ("other = 'else'", None),
    ] {
        let legends = read(said).unwrap().words().legends;
        let found = legends.first().and_then(|l| l.missing.as_deref());
        assert_eq!((found, legends.len()), (missing, usize::from(missing.is_some())), "{said}");
    }
    for (said, why) in [
        ("labels = { 3 = 'three' }", "`3` is no category of `x`"),
        ("labels = { bond = { low = 'few' } }", "`x` has no level `bond`"),
        ("labels = { 0 = \"a\\u001bb\" }", "the label of `0` is no line for people"),
        ("labels = { 0 = ' ' }", "the label of `0` is empty"),
        ("labels = { 0 = 'few', 2 = 'few' }", "`0` and `2` have one label, `few`"),
        ("labels = { 0 = 'a few', 2 = 'a  few' }", "`0` and `2` have one label, `a  few`"),
        ("labels = { 0 = '2' }", "the label of `0` is `2`, which is another code"),
        ("labels = 3", "`labels` is not a table, or the name of a file"),
        ("labels = 'none.csv'", "cannot read `none.csv`"),
        ("labels = 'other.csv'", "lacks the column `code` or `label`"),
        ("labels = 'more.csv'", "`more.csv` has other columns than `code`, `label` and `level`"),
        ("description = \"two\\nlines\"", "`description` is no line for people"),
        ("concept = 'place'", "unknown concept `place`"),
        ("unit = 5", "`unit` is not text"),
    ] {
        let error = read(said).unwrap_err().to_string();
        assert!(error.contains(why), "{said}: {error} does not say {why:?}");
    }
    let long = read(&format!("labels = {{ 0 = '{}' }}", "x".repeat(301))).unwrap_err().to_string();
    assert!(long.contains("more than 300 characters"), "{long}");
    let several = read("labels = 'wrong.csv'").unwrap_err().to_string();
    for why in ["`3` is no category", "`1` has two labels", "it is empty", "turn the direction"] {
        assert!(several.contains(why), "{several} does not say {why:?}");
    }
    let any = read_any("labels = { a = 'A' }").unwrap_err().to_string();
    assert!(any.contains("`labels` beside `text`"), "{any}");
}

/// Where classes of reliability end.
#[test]
fn classes_of_reliability() {
    let read = |said: &str| {
        let text = around("[[dimension]]\nname = 'x'\ncodes = 2", "[[table]]\nof = ['x']");
        read(&text.replace("[privacy]", &format!("[release]\n{said}\n[privacy]")))
    };
    let cuts = read("reliability = [16.6, \"100/3\"]").unwrap().words().about.reliability;
    assert_eq!(cuts, ["83/5", "100/3"].map(|cut| cut.parse::<Rational>().unwrap()));
    assert!(read("").unwrap().words().about.reliability.is_empty());
    for (said, why) in [
        ("reliability = []", "is no list of cuts"),
        ("reliability = [33.3, 16.6]", "is no list of cuts"),
        ("reliability = [5, 5]", "is no list of cuts"),
        ("reliability = [1, 2, 3, 4, 5]", "is no list of cuts"),
        ("reliability = [0]", "must be more than zero"),
        ("reliable = [5]", "unknown key `reliable`"),
    ] {
        let error = read(said).unwrap_err().to_string();
        assert!(error.contains(why), "{said}: {error} does not say {why:?}");
    }
}

/// A projection of a dimension that can be any text.
fn read_any(said: &str) -> Result<Spec, SpecErrors> {
    let projection = "[projection]\nof = ['x']\nrows = 64\nsparsity = 4";
    read(&around(&format!("[[dimension]]\nname = 'x'\ntext = true\n{said}"), projection))
}

/// Wherever the rows are, no list may be these: a mistake in a list is shown with its line, and rows are private.
#[test]
fn no_list_is_read_from_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("rows")).unwrap();
    std::fs::write(at("rows/a.csv"), "place\nsecret\nsecret\n").unwrap();
    let spec = "name = \"m\"\ntitle = \"M\"\n[privacy]\nunit = \"row\"\nrho = \"1\"\n[[dimension]]\nname = \"place\"\nhierarchy = \"rows/a.csv\"\n[[table]]\nevery = 1\n";
    std::fs::write(at("m.toml"), spec).unwrap();
    let told = |rows: Option<&str>| {
        let rows = rows.map(at);
        load_beside(&at("m.toml"), rows.as_deref()).map_err(|e| e.to_string())
    };
    for rows in ["rows/a.csv", "rows", ".", "rows/*.csv", "ro?s/a.csv", "r*"] {
        let why = told(Some(rows)).unwrap_err();
        assert!(why.contains("it is the data file") && !why.contains("secret"), "{rows}: {why}");
    }
    for rows in [None, Some("-"), Some("other.csv"), Some("rows/b*.csv"), Some("rows/[")] {
        let why = told(rows).unwrap_err();
        assert!(why.contains("secret"), "{rows:?}: {why}");
    }
}

/// The large published specs, which are not part of the package.
#[test]
fn published_specs() {
    let folder = root().join("../shared/specs");
    if !folder.is_dir() {
        eprintln!("skipped: the published specs are not here");
        return;
    }
    let load = |name: &str| load(&folder.join(name)).unwrap_or_else(|e| panic!("{e}"));
    let adult = load("adult8-pairs.toml");
    assert_eq!(adult.workload.len(), 28);
    assert_eq!(adult.cube.dimensions[0].levels[1].labels[0], "?");
    assert_eq!(adult.privacy.budget, Budget::Rho(Rational::new(1, 2).unwrap()));
    assert_eq!(
        adult.strategy,
        StrategySpec {
            measure: Some(Measure::Residual),
            budgets: BudgetRule::Optimal,
            objective: Objective::Total,
            shares: vec![],
            rows: None,
            effort: 1,
            expected: vec![],
        }
    );
    let wide = load("adult14-triples.toml");
    assert_eq!(wide.workload.len(), 470);
    let cells: u64 = wide.workload.iter().map(|t| wide.cube.cells(&t.cuboid).unwrap()).sum();
    assert!((21_000_000..22_000_000).contains(&cells), "{cells}");
    let nltcs = load("nltcs-pairs.toml");
    assert_eq!(nltcs.privacy.budget, Budget::Epsilon(Rational::ONE));
    assert_eq!((nltcs.workload.len(), nltcs.strategy.measure), (120, None));
    let hundred = load("wide100-triples.toml");
    assert_eq!(hundred.workload.len(), 166_751);
    assert!(hundred.data.is_none());
    let cells: u64 = hundred.workload.iter().map(|t| hundred.cube.cells(&t.cuboid).unwrap()).sum();
    assert!((162_000_000..163_000_000).contains(&cells), "{cells}");
}

/// Every `tests/spec/NAME.toml` has a mistake, and `NAME.stderr` beside it is what the reader says.
/// `UPDATE=1` writes the answers anew: read the difference before it is kept.
#[test]
fn golden_mistakes() {
    let folder = root().join("tests/spec");
    let update = std::env::var_os("UPDATE").is_some();
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter_map(|n| n.strip_suffix(".toml").map(str::to_owned))
        .collect();
    names.sort();
    assert!(names.len() >= 40, "the mistakes have gone missing");
    let mut wrong = Vec::new();
    for name in names {
        let source = std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
        let origin = PathBuf::from(format!("{name}.toml"));
        let parsed = parse(&source, &origin, |file| match std::fs::read(folder.join(file)) {
            Ok(bytes) => Ok(bytes),
            // The system's own words differ from machine to machine.
            Err(_) => Err(std::io::Error::other("no such file")),
        });
        let said = match parsed {
            Ok(_) => panic!("{name} has no mistake"),
            Err(e) => {
                let color = e.render(true);
                assert!(color.contains("\u{1b}[") && !e.to_string().contains('\u{1b}'), "{name}");
                e.to_string()
            }
        };
        let expected = folder.join(format!("{name}.stderr"));
        if update {
            std::fs::write(&expected, said).unwrap();
        } else if std::fs::read_to_string(&expected).ok().as_deref() != Some(&*said) {
            wrong.push(format!("{name}:\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Days with their levels, against counting on the fingers.
#[test]
fn dates() {
    let dimension = "[[dimension]]\nname = \"visit\"\ndates = [\"2023-12-30\", 2024-07-02]\nmissing = \"unknown\"\nother = \"else\"\n\
        levels = [{ name = \"half\", map = { a = [\"2023-Q4\"], b = [\"2024-Q1\", \"2024-Q2\"], c = \"2024-Q3\" } }]";
    let dimension = dimension.replace("c = \"2024-Q3\"", "\"2024-Q3\" = \"c\"");
    let spec =
        read(&around(&dimension, "[[table]]\nof = [\"visit.month\"]")).unwrap_or_else(|e| panic!("{e}"));
    let visit = &spec.cube.dimensions[0];
    let names: Vec<&str> = visit.levels.iter().map(|l| &*l.name).collect();
    assert_eq!(names, ["total", "year", "half", "quarter", "month", "visit"]);
    let level = |name: &str| visit.levels.iter().find(|l| l.name == name).unwrap();
    assert_eq!(level("year").labels, ["2023", "2024", "unknown", "else"]);
    assert_eq!(level("quarter").labels, ["2023-Q4", "2024-Q1", "2024-Q2", "2024-Q3", "unknown", "else"]);
    assert_eq!(
        level("month").labels,
        [
            "2023-12", "2024-01", "2024-02", "2024-03", "2024-04", "2024-05", "2024-06", "2024-07",
            "unknown", "else"
        ]
    );
    let finest = &level("visit").labels;
    assert_eq!(
        (finest.len(), &*finest[0], &*finest[61], &*finest[185]),
        (188, "2023-12-30", "2024-02-29", "2024-07-02")
    );
    assert_eq!(spec.columns[0].coding, Coding::Dates { first: 19_721, last: 19_906 });
    // A day is in its month, and so on up.
    for (day, label) in finest.iter().enumerate().take(186) {
        let up = |to: &str| {
            let at = visit.levels.iter().position(|l| l.name == to).unwrap();
            let node = visit.ancestors(visit.finest(), at)[day];
            visit.levels[at].labels[node as usize].clone()
        };
        assert_eq!((up("year"), up("month")), (label[..4].to_owned(), label[..7].to_owned()));
    }
    let cells = |condition: &str| -> Vec<String> {
        let sql = format!("SELECT COUNT(*) FROM t WHERE {condition}");
        let query = crate::sql::Query::parse(&sql, &spec.cube).unwrap_or_else(|e| panic!("{e}"));
        let dim = &query.filter.dims[0];
        let inside = |class: u32| query.filter.weights[class as usize] == 1.0;
        finest
            .iter()
            .zip(dim.class_of.iter())
            .filter(|(_, class)| inside(**class))
            .map(|(l, _)| l.clone())
            .collect()
    };
    let of = |from: &str, to: &str| -> Vec<String> {
        finest
            .iter()
            .filter(|l| l.as_str() >= from && l.as_str() <= to && l.starts_with("20"))
            .cloned()
            .collect()
    };
    assert_eq!(cells("visit >= '2024-03-30'"), of("2024-03-30", "9"));
    assert_eq!(cells("visit < '2024-01'"), of("", "2023-12-31"));
    assert_eq!(cells("visit BETWEEN '2024-01-31' AND '2024-02'"), of("2024-01-31", "2024-02-29"));
    assert_eq!(cells("visit.month > '2024-Q1'"), of("2024-04-01", "9"));
    assert_eq!(cells("visit.year <= 2023"), of("", "2023-12-31"));
    assert_eq!(cells("visit.year = '2023'"), of("", "2023-12-31"));
    let refused = |condition: &str| {
        let sql = format!("SELECT COUNT(*) FROM t WHERE {condition}");
        crate::sql::Query::parse(&sql, &spec.cube).unwrap_err().to_string()
    };
    assert!(refused("visit.month < '2024-01-15'").contains("visit.month 2024-01 lies across 2024-01-15"));
    assert!(refused("visit < 'spring'").contains("'spring' is no date"));
    // One day, and those of five thousand years; ten thousand would take more memory than a spec may.
    for (last, fits) in [("0000-01-01", true), ("4999-12-31", true), ("9999-12-31", false)] {
        let dimension = format!("[[dimension]]\nname = \"d\"\ndates = [\"0000-01-01\", \"{last}\"]");
        assert_eq!(read(&around(&dimension, "[[table]]\nof = [\"d.year\"]")).is_ok(), fits, "{last}");
    }
}

/// The example's generator, so that a test can hold its files to it.
#[allow(dead_code, reason = "its `main` is for people")]
#[path = "../../examples/make_town.rs"]
mod make_town;

#[test]
fn the_example_s_data_are_what_the_generator_makes() {
    let file = |name: &str| std::fs::read_to_string(root().join("specs/data").join(name)).unwrap();
    assert!(file("areas.csv") == make_town::areas(), "run `cargo run --example make_town`");
    assert!(file("town.csv") == make_town::people(), "run `cargo run --example make_town`");
}

/// The example loads, and every row of its data has a place in its domain.
#[test]
fn the_example() {
    let spec = load(&root().join("specs/town.toml")).unwrap_or_else(|e| panic!("{e}"));
    assert!(spec.demo && spec.name == "town");
    let names: Vec<Vec<&str>> =
        spec.cube.dimensions.iter().map(|d| d.levels.iter().map(|l| &*l.name).collect()).collect();
    assert_eq!(names[0], ["total", "district", "tract"]);
    assert_eq!(names[2], ["total", "group", "band", "age"]);
    let shapes: Vec<String> = spec.workload.iter().map(|t| spec.cube.describe(&t.cuboid)).collect();
    assert_eq!(shapes.len(), 13, "{shapes:?}");
    assert!(shapes.contains(&"area.district × sex × age.band".to_owned()));
    assert_eq!(spec.attachments.len(), 1);
    let data = spec.data.as_ref().unwrap();
    let mut reader = csv::Reader::from_path(&data.path).unwrap();
    let header = reader.headers().unwrap().clone();
    let at: Vec<usize> =
        spec.columns.iter().map(|c| header.iter().position(|h| h == c.column).unwrap()).collect();
    let mut missing = 0;
    for row in reader.records() {
        let row = row.unwrap();
        for (column, &at) in spec.columns.iter().zip(&at) {
            match (&row[at], &column.coding) {
                (_, Coding::Text) => {}
                ("", _) => {
                    assert!(column.missing.is_some());
                    missing += 1;
                }
                (value, Coding::Labels(nodes)) => assert!(nodes.contains_key(value)),
                (value, Coding::Range { lo, hi }) => assert!((*lo..=*hi).contains(&value.parse().unwrap())),
                (_, Coding::Bins { .. } | Coding::Dates { .. }) => unreachable!(),
            }
        }
    }
    assert!(missing > 500);
}

#[test]
fn a_draft_of_the_example_loads() {
    let data = root().join("specs/data/town.csv");
    let text = draft(&[Part::from(&*data)], &data, &root().join("specs"), None).unwrap();
    assert!(text.contains("path = \"data/town.csv\""));
    let spec = read(&text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(spec.cube.dimensions.len(), 5);
    assert_eq!(spec.columns[2].coding, Coding::Range { lo: 0, hi: 99 });
}

#[test]
fn budgets_are_read_exactly() {
    let budget = |text: &str| {
        let spec = around("[[dimension]]\nname = \"a\"\ncodes = 2", "[[table]]\nevery = 1");
        read(&spec.replace("rho = 1\n", &format!("{text}\n")))
            .unwrap_or_else(|e| panic!("{e}"))
            .privacy
            .budget
    };
    let r = |n, d| Rational::new(n, d).unwrap();
    assert_eq!(budget("rho = 0.1"), Budget::Rho(r(1, 10)));
    assert_eq!(budget("rho = 1_000.5"), Budget::Rho(r(2001, 2)));
    assert_eq!(budget("rho = \"542/339\""), Budget::Rho(r(542, 339)));
    assert_eq!(budget("rho = 2"), Budget::Rho(r(2, 1)));
    assert_eq!(budget("epsilon = +3.0e-1"), Budget::Epsilon(r(3, 10)));
    assert_eq!(
        budget("epsilon = 0.30000000000000004\ndelta = 1e-10"),
        Budget::EpsilonDelta(r(30_000_000_000_000_004, 100_000_000_000_000_000), r(1, 10_000_000_000))
    );
}

#[test]
fn everything_optional() {
    let text = r#"
name = "all"
title = "All"
description = "d"
licence = "l"
contact = "c"
supersedes = "old"
[data]
path = "../rows.dat"
format = "csv"
delimiter = "\t"
quote = "'"
columns = ["id", "s", "a"]
[privacy]
unit = { column = "id", max_rows = 3 }
neighbours = "substitute"
epsilon = 1
[[dimension]]
name = "sex"
column = "s"
categories = ["F", "M"]
other = "unknown"
missing = "F"
[[dimension]]
name = "a"
bins = [0, 0.5, 10, 100]
levels = [{ name = "half", cuts = [10] }]
missing = "none"
[[table]]
of = []
[[table]]
up_to = 2
weight = "3/2"
[[table]]
every = 1
among = ["a.half", "sex"]
weight = 2
[strategy]
measure = "base"
budgets = "uniform"
"#;
    let spec = parse(text, Path::new("specs/all.toml"), |_| unreachable!()).unwrap_or_else(|e| panic!("{e}"));
    let data = spec.data.unwrap();
    assert_eq!(data.path, Path::new("specs/../rows.dat"));
    assert_eq!((data.format, data.csv.delimiter, data.csv.quote), (Some(Format::Csv), b'\t', b'\''));
    assert_eq!(data.csv.columns.unwrap(), ["id", "s", "a"]);
    assert_eq!(
        spec.privacy.unit,
        Unit::Column { column: "id".into(), max_rows: 3, order: vec![], without: None }
    );
    assert_eq!(spec.privacy.neighbours, Neighbours::Substitute);
    assert_eq!(
        spec.strategy,
        StrategySpec {
            measure: Some(Measure::Base),
            budgets: BudgetRule::Uniform,
            objective: Objective::Total,
            shares: vec![],
            rows: None,
            effort: 1,
            expected: vec![],
        }
    );
    assert_eq!((spec.columns[0].missing, spec.columns[0].other), (Some(0), Some(2)));
    assert_eq!(spec.source, text);
    let a = &spec.cube.dimensions[1];
    assert_eq!(a.levels[2].labels, ["[0, 0.5)", "[0.5, 10)", "[10, 100]", "none"]);
    assert_eq!(a.levels[1].labels, ["[0, 10)", "[10, 100]", "none"]);
    let closed: Vec<_> = a.levels[1].bounds.iter().map(|b| b.map(|b| (b.lo, b.hi, b.closed))).collect();
    assert_eq!(closed, [Some((0.0, 10.0, false)), Some((10.0, 100.0, true)), None]);
    // A table in several entries is there once, with its largest weight.
    let tables: Vec<(String, String)> =
        spec.workload.iter().map(|t| (spec.cube.describe(&t.cuboid), t.weight.to_string())).collect();
    let expected = [("total", "3/2"), ("sex", "2"), ("a", "3/2"), ("sex × a", "3/2"), ("a.half", "2")];
    assert_eq!(tables, expected.map(|(t, w)| (t.to_owned(), w.to_owned())));
}

/// A map may go through another level, in either direction of writing, and levels may be listed in
/// any order.
#[test]
fn maps_compose() {
    let spec = read(&around(
        r#"[[dimension]]
name = "age"
range = [0, 5]
missing = "unknown"
levels = [
  { name = "phase", map = { grown = ["2-3", "4-5"], small = ["0-1"] } },
  { name = "band", width = 2 },
  { name = "life", map = { grown = "alive", small = "alive", unknown = "perhaps" } },
  { name = "odd", map = { small = [0, 1], "4-5" = ["4", 5], rest = ["2", "3", "unknown"] } },
]"#,
        "[[table]]\nof = [\"age.life\"]",
    ));
    // `odd` puts missing values among numbers where `phase` does not: not one chain.
    let errors = spec.unwrap_err();
    assert!(errors.diagnostics().iter().any(|d| d.message.contains("`rest`")), "{errors}");
    let spec = read(&around(
        r#"[[dimension]]
name = "age"
range = [0, 5]
missing = "unknown"
levels = [
  { name = "phase", map = { grown = ["2-3", "4-5"], small = ["0-1"] } },
  { name = "band", width = 2 },
  { name = "life", map = { grown = "alive", small = "alive", unknown = "perhaps" } },
]"#,
        "[[table]]\nof = [\"age.life\"]",
    ))
    .unwrap_or_else(|e| panic!("{e}"));
    let age = &spec.cube.dimensions[0];
    let names: Vec<&str> = age.levels.iter().map(|l| &*l.name).collect();
    assert_eq!(names, ["total", "life", "phase", "band", "age"]);
    let life: Vec<&str> = age.ancestors(4, 1).iter().map(|&n| &*age.levels[1].labels[n as usize]).collect();
    assert_eq!(life, ["alive", "alive", "alive", "alive", "alive", "alive", "perhaps"]);
    let phase: Vec<&str> = age.ancestors(4, 2).iter().map(|&n| &*age.levels[2].labels[n as usize]).collect();
    assert_eq!(phase, ["small", "small", "grown", "grown", "grown", "grown", "unknown"]);
    assert_eq!(age.levels[2].bounds.len(), 3, "whole runs of numbers keep their bounds");
}

/// Groups with gaps, or numbers beside missing values, have no bounds to compare with.
#[test]
fn no_bounds_for_gaps() {
    for map in ["a = [0, 2], b = [1, 3]", "a = [0, 1], b = [2, 3, \"unknown\"]"] {
        let spec = read(&around(
            &format!(
                "[[dimension]]\nname = \"n\"\ncodes = 4\nmissing = \"unknown\"\n\
                 levels = [{{ name = \"g\", map = {{ {map} }} }}]"
            ),
            "[[table]]\nevery = 1",
        ))
        .unwrap_or_else(|e| panic!("{e}"));
        assert!(spec.cube.dimensions[0].levels[1].bounds.is_empty(), "{map}");
    }
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    /// What `width` and `cuts` mean, number by number.
    fn by_hand(lo: i64, hi: i64, starts_group: impl Fn(i64) -> bool) -> Vec<(i64, i64)> {
        let mut groups: Vec<(i64, i64)> = Vec::new();
        let mut of = Vec::new();
        for n in lo..=hi {
            if n == lo || starts_group(n) {
                groups.push((n, n));
            }
            groups.last_mut().unwrap().1 = n;
            of.push(groups.len() - 1);
        }
        of.into_iter().map(|g| groups[g]).collect()
    }

    fn label((a, b): (i64, i64)) -> String {
        match (a == b, a < 0) {
            (true, _) => format!("{a}"),
            (_, true) => format!("{a} to {b}"),
            _ => format!("{a}-{b}"),
        }
    }

    /// Specs to break: the example several times, and every golden mistake.
    static SPECS: std::sync::LazyLock<Vec<String>> = std::sync::LazyLock::new(|| {
        let golden = std::fs::read_dir(root().join("tests/spec")).unwrap().map(|e| e.unwrap().path());
        let mut golden: Vec<_> = golden.filter(|p| p.extension().is_some_and(|e| e == "toml")).collect();
        golden.sort();
        let town = std::iter::repeat_n(root().join("specs/town.toml"), 40);
        town.chain(golden).map(|p| std::fs::read_to_string(p).unwrap()).collect()
    });

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Bands and cuts, with a node for missing values: labels, parents and bounds against counting
        /// by hand; refused exactly when a band crosses a cut.
        #[test]
        fn levels_mean_what_they_say(
            lo in -20i64..20, n in 3i64..40, width in 2i64..12,
            cuts in prop::collection::btree_set(1i64..39, 1..3), missing: bool,
        ) {
            let hi = lo + n - 1;
            let cuts: Vec<i64> = cuts.into_iter().filter(|&c| c < n).map(|c| lo + c).collect();
            let cuts = if cuts.is_empty() { vec![lo + 1] } else { cuts };
            let width = width.min(n - 1);
            let text = around(
                &format!(
                    "[[dimension]]\nname = \"n\"\nrange = [{lo}, {hi}]\n{}\nlevels = [\
                     {{ name = \"cut\", cuts = {cuts:?} }}, {{ name = \"band\", width = {width} }}]",
                    if missing { "missing = \"none\"" } else { "" },
                ),
                "[[table]]\nof = [\"n.band\"]",
            );
            let bands = by_hand(lo, hi, |k| (k - lo) % width == 0);
            let groups = by_hand(lo, hi, |k| cuts.contains(&k));
            let count = |of: &[(i64, i64)]| of.iter().collect::<std::collections::BTreeSet<_>>().len();
            // The level with fewer categories is the coarser one, and must be a union of the other's.
            let (fine, coarse) = if count(&bands) >= count(&groups) { (&bands, &groups) } else { (&groups, &bands) };
            let refines = fine.iter().zip(coarse).all(|(f, c)| c.0 <= f.0 && f.1 <= c.1);
            let useful = count(fine) < n as usize;
            let parsed = read(&text);
            prop_assert_eq!(parsed.is_ok(), refines && useful, "{}", text);
            let Ok(spec) = parsed else { return Ok(()) };
            let d = &spec.cube.dimensions[0];
            prop_assert_eq!(spec.columns[0].missing, missing.then_some(n as u32));
            prop_assert_eq!(d.finest(), 3);
            for (name, expected) in [("band", &bands), ("cut", &groups)] {
                let l = d.levels.iter().position(|l| l.name == name).unwrap();
                let level = &d.levels[l];
                for (at, &node) in d.ancestors(3, l).iter().enumerate() {
                    let Some(&group) = expected.get(at) else {
                        prop_assert_eq!(&level.labels[node as usize], "none");
                        prop_assert!(level.bounds[node as usize].is_none());
                        continue;
                    };
                    prop_assert_eq!(&level.labels[node as usize], &label(group));
                    let bounds = level.bounds[node as usize].unwrap();
                    prop_assert_eq!((bounds.lo, bounds.hi, bounds.closed), (group.0 as f64, group.1 as f64, true));
                }
                prop_assert_eq!(level.len(), count(expected) + usize::from(missing));
            }
        }

        /// The tables of `every` and `up_to` against all subsets.
        #[test]
        fn tables_are_all_subsets(n in 1usize..8, k in 1usize..8, up_to: bool) {
            let k = k.min(n);
            let dimensions: String =
                (0..n).map(|i| format!("[[dimension]]\nname = \"d{i}\"\ncodes = 2\n")).collect();
            let key = if up_to { "up_to" } else { "every" };
            let spec = read(&around(&dimensions, &format!("[[table]]\n{key} = {k}"))).unwrap();
            let mut got: Vec<Cuboid> = spec.workload.into_iter().map(|t| t.cuboid).collect();
            got.sort();
            let mut expected: Vec<Cuboid> = (0u32..1 << n)
                .filter(|m| if up_to { m.count_ones() as usize <= k } else { m.count_ones() as usize == k })
                .map(|m| Cuboid::new((0..n).filter(|i| m >> i & 1 == 1).map(|i| (i, 1))))
                .collect();
            expected.sort();
            prop_assert_eq!(got, expected);
        }

        /// Broken in any way, a spec is refused or read; reading and rendering never panic.
        #[test]
        fn mutations_do_not_panic(
            edits in prop::collection::vec(
                (0.0f64..1.0, 0usize..12, prop_oneof![
                    Just(""), Just("\""), Just("["), Just("]"), Just("{"), Just("}"), Just("="), Just("."), Just(","),
                    Just("\n"), Just("#"), Just("-"), Just("0"), Just("9"), Just("1e9"), Just("é"), Just("\u{feff}"), Just("inf"),
                    Just("[[table]]\n"), Just("[data]\n"), Just("name"), Just("'''"), Just("true"), Just("\u{0}"), Just("\r"),
                ]),
                1..8,
            ),
            broken_file: bool,
            which: prop::sample::Index,
        ) {
            let mut text: Vec<char> = which.get(&SPECS).chars().collect();
            let mut areas: Vec<char> = make_town::areas().chars().collect();
            for (at, remove, insert) in edits {
                let target = if broken_file { &mut areas } else { &mut text };
                let from = (at * target.len() as f64) as usize;
                let to = (from + remove).min(target.len());
                target.splice(from..to, insert.chars());
            }
            let (text, areas): (String, String) = (text.into_iter().collect(), areas.into_iter().collect());
            if let Err(e) = parse(&text, Path::new("town.toml"), |_| Ok(areas.clone().into_bytes())) {
                prop_assert!(!e.diagnostics().is_empty());
                prop_assert!(e.render(true).contains("mistake"));
            }
        }
    }
}
