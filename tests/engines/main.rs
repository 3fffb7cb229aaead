//! The statements of `margins plan --sql` on real engines: what is released from their counts is what is released from the rows, number for
//! number.
//!
//! An engine that is not installed is skipped with a message; with `MARGINS_ENGINES=all` that is a failure. `MARGINS_PYTHON` names the
//! Python that has the packages duckdb and pyspark.
#![allow(clippy::unwrap_used)]

mod random;

use std::path::Path;
use std::process::{Command, Output};

const SPEC: &str = r#"
name = "people"
title = "People"

[data]
path = "rows.csv"

[privacy]
unit = "row"
rho = 1

[[dimension]]
name = "home place"
column = "place"
categories = ["it's", "a\\b", "no/*rth", "south;--", "é"]
other = "elsewhere"
missing = "unknown"

[[dimension]]
name = "age"
range = [0, 99]
levels = [{ name = "band", width = 10 }, { name = "group", cuts = [20, 60] }]
missing = "unknown"

[[dimension]]
name = "pay"
bins = [0, 0.1, 10, 1000]
other = "more"
missing = "unknown"

[[dimension]]
name = "sex"
categories = ["F", "M"]

[[dimension]]
name = "day"
dates = ["2023-12-20", "2024-03-10"]
other = "another day"
missing = "unknown"

[[dimension]]
name = "change"
range = [-120, 100]

[[dimension]]
name = "rate"
bins = [0, 0.1, 0.3, 0.7, 1.1]
other = "another rate"

[[dimension]]
name = "capped"
column = "pay"
range = [0, 5]
clamp = true
other = "a part"
missing = "unknown"

# Of these no table tells anything.
[[dimension]]
name = "either"
column = "sex"
categories = ["M", "F"]

[[table]]
of = ["home place", "age.band", "sex"]

[[table]]
of = ["rate"]

[[table]]
of = ["capped"]

[[table]]
of = ["change"]

[[table]]
of = ["day", "sex"]

[[table]]
of = ["day.quarter", "pay"]

[[table]]
of = ["age", "sex"]

[[table]]
of = ["pay", "home place"]

[[table]]
of = ["age.group", "pay"]
exact = true
reason = "a test"

[[zero]]
where = "age = 0 AND sex = 'M'"

[strategy]
measure = "residual"
"#;

/// What `ansi` has no sums of.
const AMOUNTS: &str = r#"
# Of fractions of 64 bits: no half of a hundredth is one.
[[amount]]
name = "wage"
low = -1.5
high = 8.5
step = 0.01
missing = "skip"
square = true
measure_clamping = true

# Decimals of 38 digits.
[[amount]]
name = "costs"
column = "fee"
low = -300
high = 12000
step = 100
missing = "zero"
measure_clamping = 0.1

# Whole numbers.
[[amount]]
name = "moved"
column = "change"
low = -100
high = 99.5
step = 0.5
measure_clamping = "1/9"

# Products of whole numbers and decimals.
[[amount]]
name = "paid"
column = ["change", "price"]
low = -500
high = 2000.5
step = 0.5
missing = "skip"
square = true
measure_clamping = "1/50"

[[amount]]
name = "thrice"
column = ["nr", "price", "change"]
low = -100000
high = 300000
step = 10
missing = "zero"

[[table]]
of = ["sex"]
sum = ["paid", "thrice"]

[[table]]
of = ["home place", "age.band", "sex"]
sum = ["wage", "costs"]

[[table]]
of = ["age", "sex"]
sum = ["moved", "wage", "costs"]
count = false
"#;

fn rows() -> String {
    let mut text = "place,age,pay,sex,who,day,nr,change,rate,wage,fee,price\n".to_owned();
    let mut state = 9u64;
    let mut draw = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for nr in 0..3000 {
        let place = ["it's", "a\\b", "no/*rth", "south;--", "é", "", "\"quo\"\"ted\"", "MARS"][draw(8)];
        let age = draw(101);
        let sex = if age < 5 { "F" } else { ["F", "M"][draw(2)] };
        let age = if age == 100 { String::new() } else { age.to_string() };
        let pay = ["0.1", "0.05", "", "10", "999.5", "1000", "1e9", "-1", "5", "NaN"][draw(10)];
        // Days across a leap day and beyond the range on both sides; of a unit several rows have the same.
        let day = match draw(100) {
            0 => String::new(),
            day => format!(
                "{}-{:02}-{:02}",
                [2023, 2024][usize::from(day > 20)],
                [12, 1, 2, 3][day / 25],
                1 + day % 25 + 4 * (day % 2)
            ),
        };
        let day =
            if day.starts_with("2023-01") || day.starts_with("2024-12") { "2024-02-29".into() } else { day };
        let who = draw(700);
        let change = draw(221) as i64 - 120;
        // Of 32 bits there: 0.7 and 1.1 are other numbers than of 64.
        let rate = ["0", "0.1", "0.25", "0.3", "0.7", "0.69999", "1.1", "1.2"][draw(8)];
        // Ends, halves of steps and what is beside them, and what is far beyond. Of more than 15 digits fractions do not tell texts apart.
        let wage = match draw(12) {
            0 => ["", "-1.5", "-1.505", "1e300", "-1e300", "1e-300", "8.5", "8.495", "8.49499999999999", "0"]
                [draw(10)]
            .into(),
            1..4 => format!("{}{}.{:02}5", ["", "-"][draw(2)], draw(9), draw(100)),
            4..6 => format!("{}.{:02}500000000001", draw(9), draw(100)),
            6..8 => format!("{}.{:02}499999999999", draw(9), draw(100)),
            _ => format!("{}.{:03}", draw(10) * draw(10), draw(1000)),
        };
        let fee = match draw(8) {
            0 => [
                "",
                "-300",
                "12000",
                "-350",
                "99999999999999999999.5",
                "-99999999999999999999.5",
                "0.000000000000000001",
                "-250",
            ][draw(8)]
            .into(),
            1..4 => format!("{}", 50 * draw(250) as i64 - 400),
            4 => format!("{}.000000000000000001", 100 * draw(120) + 50),
            5 => format!("{}.999999999999999999", 100 * draw(120) + 49),
            _ => format!("-{}.{}", draw(400), draw(10_000)),
        };
        // Halves of steps with whole numbers, and products of which the last digit decides.
        let price = match draw(10) {
            0 => ["", "-0", "-12.25", "999999.999999", "0.000001", "-999999.999999"][draw(6)].into(),
            1..5 => format!("{}.{}", draw(40), ["25", "5", "75", "125"][draw(4)]),
            5..7 => format!("{}.{:06}", draw(40), draw(1_000_000)),
            _ => format!("{}", draw(60)),
        };
        text +=
            &format!("{place},{age},{pay},{sex},u{who},{day},{nr},{change},{rate},{wage},{fee},{price}\n");
    }
    text
}

fn margins(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_margins")).args(arguments).current_dir(folder).output().unwrap()
}

/// All numbers of a release with a fixed seed.
fn released(folder: &Path, name: &str, more: &[&str]) -> Vec<String> {
    let ledger = format!("{name}/ledger.jsonl");
    let arguments = ["release", "spec.toml", "--insecure-seed", "7", "--out", name, "--ledger", &ledger];
    let made = margins(folder, &[&arguments, more].concat());
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let file = format!("{name}/people.margins");
    let sums = [
        r#"SELECT "home place", age.band, sex, SUM(wage), SUM(costs) FROM people GROUP BY "home place", age.band, sex"#,
        "SELECT age, sex, COUNT(wage), SUM(wage), SUM(moved) FROM people GROUP BY age, sex",
        "SELECT sex, VAR_POP(wage) FROM people GROUP BY sex",
        "SELECT sex, COUNT(paid), SUM(paid), SUM(thrice), VAR_POP(paid) FROM people GROUP BY sex",
    ];
    let counts = [
        r#"SELECT "home place", age.band, sex, COUNT(*) FROM people GROUP BY "home place", age.band, sex"#,
        "SELECT age, sex, COUNT(*) FROM people GROUP BY age, sex",
        r#"SELECT pay, "home place", COUNT(*) FROM people GROUP BY pay, "home place""#,
        "SELECT age.group, pay, COUNT(*) FROM people GROUP BY age.group, pay",
        "SELECT change, COUNT(*) FROM people GROUP BY change",
        "SELECT rate, COUNT(*) FROM people GROUP BY rate",
        "SELECT capped, COUNT(*) FROM people GROUP BY capped",
        "SELECT day, sex, COUNT(*) FROM people GROUP BY day, sex",
        "SELECT day.quarter, pay, COUNT(*) FROM people GROUP BY day.quarter, pay",
    ];
    let answer = |sql: &&str| {
        let answer = margins(folder, &["query", &file, sql, "--csv"]);
        assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
        String::from_utf8(answer.stdout).unwrap()
    };
    let summed = std::fs::read_to_string(folder.join("spec.toml")).unwrap().contains("[[amount]]");
    let mut told: Vec<String> = counts.iter().chain(sums.iter().filter(|_| summed)).map(answer).collect();
    if summed {
        // How many rows were moved to the ends of amounts.
        let described = margins(folder, &["describe", &file, "--json"]);
        let described: serde_json::Value = serde_json::from_slice(&described.stdout).unwrap();
        let moved: Vec<String> = described["amounts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|amount| amount["moved"].to_string())
            .collect();
        assert!(moved.len() == 5 && moved.iter().take(4).all(|of| of.contains("estimate")), "{moved:?}");
        told.extend(moved);
    }
    told
}

fn compare(engine: &str, dialect: &str, out: &str) {
    for unit in [
        r#"unit = "row""#,
        r#"unit = { column = "who", max_rows = 3, order = "nr" }
measure_truncation = true"#,
    ] {
        compare_with(engine, dialect, out, unit);
    }
}

/// Counts the rows with the statement of a folder's spec; `false` where the engine is not installed.
fn counted(folder: &Path, engine: &str, dialect: &str, out: &str) -> bool {
    std::fs::write(folder.join("rows.csv"), rows()).unwrap();
    let statement = margins(folder, &["plan", "spec.toml", "--sql", dialect, "--from", "people"]);
    assert!(statement.status.success(), "{}", String::from_utf8_lossy(&statement.stderr));
    std::fs::write(folder.join("statement.sql"), statement.stdout).unwrap();
    let Some(ran) = run(folder, engine, "rows.csv", out) else { return false };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    true
}

fn compare_with(engine: &str, dialect: &str, out: &str, unit: &str) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let amounts = if dialect == "ansi" { "" } else { AMOUNTS };
    let spec = format!("{SPEC}{amounts}").replace(r#"unit = "row""#, unit);
    std::fs::write(folder.join("spec.toml"), spec).unwrap();
    if !counted(folder, engine, dialect, out) {
        return;
    }
    let direct = released(folder, "direct", &[]);
    assert!(direct[0].lines().count() > 100, "{}", direct[0]);
    assert_eq!(released(folder, "counted", &["--counts", out]), direct);
    if folder.join("people.parquet").is_dir() {
        assert_eq!(released(folder, "several", &["--data", "people.parquet"]), direct);
    }
}

/// Weights beyond their ends, below 0, empty, and on halves of steps and beside them multiply by what they count as: fractions of 64 bits, and decimals of 38 digits.
fn weigh(engine: &str, dialect: &str, out: &str) {
    for weights in ["column = 'wage'\nhigh = 8.5\nstep = 0.01", "column = 'fee'\nhigh = 12000\nstep = 100"] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let amount = |name: &str, columns: &str| {
            format!(
                "[[amount]]\nname = '{name}'\ncolumn = {columns}\nlow = -20000\nhigh = 90000\nstep = 0.25\nmissing = 'zero'\nmeasure_clamping = true\n"
            )
        };
        let spec = format!(
            "name = 'people'\ntitle = 'People'\ndemo = true\n[privacy]\nunit = 'row'\nrho = 1\n[data]\npath = 'rows.csv'\n\
             [[dimension]]\nname = 'sex'\ncategories = ['F', 'M']\n[weights]\n{weights}\nmissing = 'zero'\nmeasure_clamping = true\n\
             {}{}{}[[table]]\nof = ['sex']\nsum = ['one', 'two', 'three']\n",
            amount("one", "'price'"),
            amount("two", "['change', 'price']"),
            amount("three", "['change', 'change', 'nr']"),
        );
        std::fs::write(folder.join("spec.toml"), spec).unwrap();
        if !counted(folder, engine, dialect, out) {
            return;
        }
        let made = |name: &str, more: &[&str]| {
            let ledger = format!("{name}/ledger.jsonl");
            let arguments =
                ["release", "spec.toml", "--insecure-seed", "7", "--out", name, "--ledger", &ledger];
            let made = margins(folder, &[&arguments, more].concat());
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
            let file = format!("{name}/people.margins");
            let sql =
                "SELECT sex, COUNT(*), COUNT(one), SUM(one), SUM(two), SUM(three) FROM people GROUP BY sex";
            let asked = margins(folder, &["query", &file, sql, "--csv"]);
            assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
            let described = margins(folder, &["describe", &file, "--json"]);
            let described: serde_json::Value = serde_json::from_slice(&described.stdout).unwrap();
            let moved =
                described["amounts"].as_array().unwrap().iter().map(|amount| amount["moved"].to_string());
            (String::from_utf8(asked.stdout).unwrap(), moved.collect::<Vec<_>>())
        };
        assert_eq!(made("counted", &["--counts", out]), made("direct", &[]), "{weights}");
    }
}

/// Runs the folder's statement on an engine. Nothing where that is not installed.
fn run(folder: &Path, engine: &str, rows: &str, out: &str) -> Option<Output> {
    let python = std::env::var("MARGINS_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/engines/engines.py");
    let ran = Command::new(python)
        .args([script, engine])
        .args(["statement.sql", rows, out].map(|name| folder.join(name)))
        .output()
        .unwrap();
    if ran.status.code() == Some(77) {
        let why = String::from_utf8_lossy(&ran.stdout);
        println!("skipped: {}", why.trim());
        assert!(std::env::var("MARGINS_ENGINES").as_deref() != Ok("all"), "{why}");
        return None;
    }
    Some(ran)
}

/// What files' readers refuse by its type is not counted as something else: neither by a value's text nor by the engine's own rules.
#[test]
fn types_on_duckdb() {
    let unit = |unit: &str| format!("name = 's'\ntitle = 't'\ndemo = true\n[privacy]\nrho = 1\n{unit}\n");
    let row = unit("unit = 'row'");
    let ordered = unit("unit = { column = 'who', max_rows = 1, order = 'day' }");
    let misfit = "or the column is of a type";
    let words =
        "[[dimension]]\nname = 'x'\ncategories = ['a', '2.0', 'true', '1']\nother = 'o'\nmissing = 'm'\n";
    let days =
        "[[dimension]]\nname = 'x'\ndates = ['2024-01-01', '2024-01-02']\nother = 'o'\nmissing = 'm'\n";
    let range = "[[dimension]]\nname = 'x'\nrange = [0, 5]\nmissing = 'm'\n";
    let capped = &range.replace("missing", "clamp = true\nmissing");
    // Of y no table tells anything.
    let both = &format!("{range}[[dimension]]\nname = 'y'\nrange = [0, 5]\n");
    let slashed = &range.replace("range", "column = 'a\\Eb\\'\nrange");
    let blank = format!("{row}[data]\npath = 'x.csv'\nempty = ['NaN', '-inf']\n");
    let codes = "[[dimension]]\nname = 'x'\ncodes = 2\n";
    let summed =
        "[[amount]]\nname = 'x'\nlow = 0\nhigh = 10\nstep = 1\n[[dimension]]\nname = 'k'\nrange = [0, 1]\n";
    let long = &summed.replace("high = 10\nstep = 1\n", "high = 800000000400000\nstep = 800000000.4\n");
    let times = &summed.replace("name = 'x'\n", "name = 'x'\ncolumn = ['x', 'y']\n");
    let cases = [
        (&row, range, "2.5::DOUBLE AS x", "x is outside the domain"),
        (&row, range, "2.0::DOUBLE AS x", ""),
        (&row, capped, "7.5::DOUBLE AS x", ""),
        (&row, capped, "-0.5::DECIMAL(4, 2) AS x", ""),
        (&row, capped, "2.5::DOUBLE AS x", "x is outside the domain"),
        (&row, capped, "'nan'::DOUBLE AS x", "x is outside the domain"),
        (&row, capped, "'inf'::DOUBLE AS x", "x is outside the domain"),
        (&row, capped, "'-inf'::FLOAT AS x", "x is outside the domain"),
        (&blank, capped, "'nan'::DOUBLE AS x", ""),
        (&blank, range, "'-inf'::DOUBLE AS x", ""),
        (&blank, range, "'inf'::DOUBLE AS x", "x is outside the domain"),
        (&row, both, "1 AS x, 5 AS y", ""),
        (&row, both, "1 AS x, 6 AS y", "y is outside the domain"),
        (&row, both, "1 AS x, NULL::INTEGER AS y", "y is outside the domain"),
        (&ordered, both, "1 AS x, 5 AS y, 1 AS who, 1 AS day", ""),
        (&ordered, both, "1 AS x, 6 AS y, 1 AS who, 1 AS day", "y is outside the domain"),
        (&row, slashed, "1 AS \"a\\Eb\\\"", ""),
        (&row, codes, "true AS x", "No function matches"),
        (&row, codes, "1::TINYINT AS x", ""),
        (&row, words, "'a'::BLOB AS x", misfit),
        (&row, words, "2.0::DOUBLE AS x", misfit),
        (&row, words, "NULL::DOUBLE AS x", ""),
        (&row, words, "true AS x", ""),
        (&row, words, "'a'::ENUM('a', 'b') AS x", ""),
        (&row, words, "'a' AS \"X\"", "No matching columns"),
        (&row, days, "TIMESTAMP '2024-01-02 03:00:00' AS x", misfit),
        (&row, days, "DATE '2024-01-02' AS x", ""),
        (&row, summed, "1.5::DOUBLE AS x", ""),
        (&row, summed, "1.5::DECIMAL(38, 30) AS x", ""),
        (&row, summed, "1e37::DECIMAL(38, 0) AS x", ""),
        (&row, summed, "NULL AS x", "whose x is empty"),
        (&row, summed, "'nan'::DOUBLE AS x", "whose x is empty"),
        (&row, summed, "'-inf'::DOUBLE AS x", "whose x is empty"),
        (&row, summed, "1.5::FLOAT AS x", "whose x is empty"),
        (&row, summed, "1::HUGEINT AS x", "whose x is empty"),
        (&row, summed, "'1' AS x", "Cannot compare"),
        (&row, summed, "true AS x", "Cannot compare"),
        // With so many digits several decimals mean one fraction.
        (&row, times, "2.5::DECIMAL(10, 4) AS x, 3 AS y", ""),
        (&row, times, "NULL::INTEGER AS x, 3 AS y", "whose x is empty"),
        // A factor is one of at most 18 digits, 9 of them behind the point, and never a fraction of 64 bits.
        (&row, times, "2.0::DOUBLE AS x, 3 AS y", "whose x is empty"),
        (&row, times, "0.0000000001::DECIMAL(20, 10) AS x, 3 AS y", "whose x is empty"),
        (&row, times, "1000000000::BIGINT AS x, 3 AS y", "whose x is empty"),
        (
            &row,
            times,
            "999999999.999999999::DECIMAL(38, 9) AS x, 999999999.999999999::DECIMAL(38, 9) AS y",
            "",
        ),
        (&row, long, "1.5::DOUBLE AS x", "whose x is empty"),
        (&row, long, "1.5::DECIMAL(38, 20) AS x", ""),
        // A middle has no such decimal.
        (&row, long, "1.5::DECIMAL(38, 30) AS x", "out of range"),
        (&ordered, words, "'a' AS x, 1 AS who, '10' AS day", "or a column of `order`"),
        (&ordered, words, "'a' AS x, 1 AS who, 1.5::DOUBLE AS day", "or a column of `order`"),
        (&ordered, words, "'a' AS x, 1 AS who, 18446744073709551615::UBIGINT AS day", ""),
        (&ordered, words, "'a' AS x, 1 AS who, DATE '2024-01-02' AS day", ""),
    ];
    for (head, dimension, select, why) in cases {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let of = if dimension.contains("[[amount]]") { "['k']\nsum = ['x']" } else { "['x']" };
        std::fs::write(folder.join("spec.toml"), format!("{head}{dimension}[[table]]\nof = {of}\n")).unwrap();
        std::fs::write(folder.join("people.sql"), format!("CREATE TABLE people AS SELECT {select}, 1 AS k"))
            .unwrap();
        let statement = margins(folder, &["plan", "spec.toml", "--sql", "duckdb", "--from", "people"]);
        std::fs::write(folder.join("statement.sql"), statement.stdout).unwrap();
        let Some(ran) = run(folder, "duckdb", "people.sql", "counts.csv") else { return };
        let released = match ran.status.success() {
            true => {
                margins(folder, &["release", "spec.toml", "--counts", "counts.csv", "--insecure-seed", "7"])
            }
            false => ran,
        };
        let said = String::from_utf8_lossy(&released.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(released.status.success(), why.is_empty(), "{select}: {said}");
        assert!(said.contains(why), "{select}: {said}");
    }
}

#[test]
fn on_duckdb() {
    compare("duckdb", "duckdb", "counts.csv");
    compare("duckdb", "ansi", "counts.parquet");
    weigh("duckdb", "duckdb", "counts.csv");
}

#[test]
fn on_postgres() {
    compare("postgres", "postgres", "counts.csv");
    weigh("postgres", "postgres", "counts.csv");
}

#[test]
fn on_spark() {
    compare("spark", "spark", "counts.parquet");
    weigh("spark", "spark", "counts.parquet");
}
