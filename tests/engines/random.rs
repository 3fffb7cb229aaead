//! Random specs and hostile cells: a Parquet file, the CSV text of the same rows and a statement's counts on DuckDB lead to one release, or
//! all are refused.

use super::{margins, run};
use std::fmt::Write as _;
use std::path::Path;

/// Cases of one run. With `ENGINE_CASES=500` there are more, with `PROPTEST_RNG_SEED=2` others.
const CASES: u64 = 40;

struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A column of the table: its type there, what its cells mostly are, and what they are now and then, as SQL.
struct Column {
    name: &'static str,
    sql: &'static str,
    usual: &'static [&'static str],
    hostile: &'static [&'static str],
}

const COLUMNS: &[Column] = &[
    Column {
        name: "word",
        sql: "VARCHAR",
        usual: &["'a'", "'b'", "'it''s'", "'é'", "'a\\b'"],
        hostile: &[
            "NULL",
            "''",
            "' a'",
            "'A'",
            "'b '",
            "'NA'",
            "'e' || chr(769)",
            "'\"'",
            "'x,y'",
            "'null'",
            "'-1'",
            "chr(10)",
            "'a' || chr(13)",
            "'unknown'",
            "'rest'",
            "'%'",
            "'--'",
        ],
    },
    Column {
        name: "second",
        sql: "VARCHAR",
        usual: &["'a'", "'c'"],
        hostile: &["NULL", "'a '", "'NA'", "'rest'"],
    },
    Column {
        name: "small",
        sql: "TINYINT",
        usual: &["0", "1", "2", "3"],
        hostile: &["NULL", "-1", "4", "-99", "127", "-128"],
    },
    Column {
        name: "large",
        sql: "BIGINT",
        usual: &["0", "1", "2", "3"],
        hostile: &["NULL", "-1", "-99", "9223372036854775807", "-9223372036854775808", "4294967296"],
    },
    Column {
        name: "unsigned",
        sql: "UBIGINT",
        usual: &["0", "1", "2"],
        hostile: &["NULL", "3", "18446744073709551615", "9223372036854775808"],
    },
    Column {
        name: "fraction",
        sql: "DOUBLE",
        usual: &["0", "1", "2.0", "0.5", "1.25"],
        hostile: &[
            "NULL",
            "'nan'",
            "'inf'",
            "'-inf'",
            "-0.0",
            "1e300",
            "-1e-300",
            "0.1",
            "2.9999999999999996",
            "3",
            "-99",
            "-0.5",
        ],
    },
    Column {
        name: "single",
        sql: "FLOAT",
        usual: &["0", "1", "2.0", "0.5"],
        hostile: &["NULL", "'nan'", "'inf'", "'-inf'", "-0.0", "0.1", "0.7", "3", "-99", "16777216"],
    },
    Column {
        name: "decimal",
        sql: "DECIMAL(20, 3)",
        usual: &["0", "1", "2", "0.5", "1.250"],
        hostile: &["NULL", "-0.001", "2.999", "3", "-99", "0.1", "999999999.999"],
    },
    Column {
        name: "day",
        sql: "DATE",
        usual: &["'2024-02-28'", "'2024-02-29'", "'2024-03-01'"],
        hostile: &["NULL", "'2024-02-27'", "'2024-03-03'", "'0001-01-01'", "'9999-12-31'", "'1969-12-31'"],
    },
    Column { name: "flag", sql: "BOOLEAN", usual: &["true", "false"], hostile: &["NULL"] },
];

/// Text of a dimension over a column, the names of its levels, and a condition that only some rows meet.
fn dimension(draw: &mut Draw, nr: usize) -> (String, Vec<String>, Option<String>) {
    let column = &COLUMNS[draw.below(COLUMNS.len())];
    let name = format!("d{nr}");
    let kind = match column.name {
        "word" | "second" => 0,
        "day" => 3,
        "flag" => 4,
        _ => [1, 1, 1, 2, 2, 5][draw.below(6)],
    };
    let mut text = format!("[[dimension]]\nname = '{name}'\ncolumn = '{}'\n", column.name);
    let mut levels = vec![name.clone()];
    let (values, level) = match kind {
        0 => (
            draw.one(&[
                r#"categories = ["a", "b", "it's", "é", 'a\b']"#,
                r#"categories = ["a", "b", "c", "it's", "é", 'a\b', " a", "A"]"#,
                r#"categories = ["c", "a"]"#,
            ]),
            None,
        ),
        1 => (
            draw.one(&["range = [0, 3]", "range = [-1, 2]", "range = [1, 2]", "range = [-99, 3]"]),
            Some("width = 2"),
        ),
        2 => (draw.one(&["bins = [0, 0.5, 1.25, 2]", "bins = [-1, 0, 0.1, 0.7, 3]", "bins = [0, 3]"]), None),
        3 => (
            draw.one(&["dates = ['2024-02-28', '2024-03-02']", "dates = ['2024-02-29', '2024-03-01']"]),
            None,
        ),
        4 => (draw.one(&["categories = ['true', 'false']", "categories = ['false', 'true', 'x']"]), None),
        _ => (draw.one(&["codes = 4", "codes = 3"]), None),
    };
    writeln!(text, "{values}").unwrap();
    if (kind == 1 || kind == 2) && draw.chance(40) {
        text += "clamp = true\n";
    }
    if let Some(level) = level.filter(|_| draw.chance(40)) {
        writeln!(text, "levels = [{{ name = 'band', {level} }}]").unwrap();
        levels.push(format!("{name}.band"));
    }
    if kind == 3 {
        levels.push(format!("{name}.month"));
    }
    if draw.chance(80) {
        writeln!(text, "missing = '{}'", ["unknown", "rest"][usize::from(draw.chance(10))]).unwrap();
    }
    if draw.chance(80) {
        text += "other = 'rest'\n";
    }
    let cell = match kind {
        0 => "'a'",
        3 => "'2024-02-29'",
        4 => "'true'",
        5 => "'1'",
        _ => "1",
    };
    let empty = (kind != 2).then(|| format!("{name} = {cell}"));
    (text, levels, empty)
}

/// Text of an amount over one or two columns.
fn amount(draw: &mut Draw, nr: usize) -> String {
    let column =
        draw.one(&["'small'", "'large'", "'fraction'", "'decimal'", "['small', 'decimal']", "'unsigned'"]);
    let bounds = draw.one(&[
        "low = 0\nhigh = 2\nstep = 1",
        "low = -0.5\nhigh = 1.5\nstep = 0.25",
        "low = -10.5\nhigh = 2.1\nstep = 0.7",
        "low = -100\nhigh = 1e6\nstep = 100",
    ]);
    let missing = draw.one(&["missing = 'skip'", "missing = 'zero'", ""]);
    let more = draw.one(&["square = true", "measure_clamping = true", ""]);
    format!("[[amount]]\nname = 'a{nr}'\ncolumn = {column}\n{bounds}\n{missing}\n{more}\n")
}

/// A spec, and what is asked of its tables.
fn spec(draw: &mut Draw) -> (String, Vec<String>) {
    let several = draw.chance(25);
    let unit = match several {
        true => "unit = { column = 'who', max_rows = 2, order = 'nr' }\nmeasure_truncation = true",
        false => "unit = 'row'",
    };
    let mut text = format!(
        "name = 'people'\ntitle = 'People'\ndemo = true\n[privacy]\n{unit}\nrho = 1\n[data]\npath = 'rows.csv'\n"
    );
    // With units or amounts the statement wants a view in which such texts are NULL.
    let summed = draw.chance(40);
    if !several && !summed && draw.chance(60) {
        let empty =
            ["'NA', '-99'", "'', '-99', 'NaN'", "'NaN', 'inf', '-inf'", "'-1', 'null'", "'3'"][draw.below(5)];
        writeln!(text, "empty = [{empty}]").unwrap();
    }
    let dimensions = 1 + draw.below(4);
    let (mut levels, mut conditions) = (Vec::new(), Vec::new());
    for nr in 0..dimensions {
        let (more, of, condition) = dimension(draw, nr);
        text += &more;
        levels.push(of);
        conditions.extend(condition);
    }
    if draw.chance(30) && conditions.len() > 1 {
        writeln!(text, "[[zero]]\nwhere = \"{}\"", conditions.join(" AND ")).unwrap();
    }
    let amounts = match summed {
        true => 1 + draw.below(2),
        false => 0,
    };
    for nr in 0..amounts {
        text += &amount(draw, nr);
    }
    let mut tables = Vec::new();
    let mut queries = Vec::new();
    for nr in 0..1 + draw.below(3) {
        let mut of = Vec::new();
        for levels in &levels {
            if draw.chance(45) {
                of.push(levels[draw.below(levels.len())].clone());
            }
        }
        if tables.contains(&of) {
            continue;
        }
        let quoted: Vec<String> = of.iter().map(|level| format!("'{level}'")).collect();
        writeln!(text, "[[table]]\nof = [{}]", quoted.join(", ")).unwrap();
        let mut figures = "COUNT(*)".to_owned();
        if amounts > 0 && (nr == 0 || draw.chance(50)) {
            text += ["sum = ['a0']\n", "sum = ['a0', 'a1']\n"][amounts - 1];
            figures += [", SUM(a0)", ", SUM(a0), SUM(a1)"][amounts - 1];
        } else if nr > 0 && draw.chance(20) {
            text += "exact = true\nreason = 'a test'\n";
        }
        queries.push(match of.is_empty() {
            true => format!("SELECT {figures} FROM people"),
            false => format!("SELECT {0}, {figures} FROM people GROUP BY {0}", of.join(", ")),
        });
        tables.push(of);
    }
    (text, queries)
}

/// SQL that makes the table of people and writes it as both kinds of files.
fn people(draw: &mut Draw) -> String {
    let hostile = [0, 0, 1, 3, 20][draw.below(5)];
    let columns: Vec<String> =
        COLUMNS.iter().map(|column| format!("\"{}\" {}", column.name, column.sql)).collect();
    let columns = columns.join(", ");
    let mut text = format!("CREATE TABLE rows (who VARCHAR, nr INTEGER, {columns});\n");
    for nr in 0..8 + draw.below(40) {
        let cells: Vec<String> = COLUMNS
            .iter()
            .map(|column| match draw.chance(hostile) {
                true => draw.one(column.hostile),
                false => draw.one(column.usual),
            })
            .map(str::to_owned)
            .collect();
        writeln!(text, "INSERT INTO rows VALUES ('u{}', {nr}, {});", draw.below(9), cells.join(", "))
            .unwrap();
    }
    text += "CREATE VIEW people AS SELECT * FROM rows;\n";
    text += "COPY people TO 'FOLDER/rows.parquet';\nCOPY people TO 'FOLDER/rows.csv' (HEADER);\n";
    text
}

/// What a release tells, or why there is none.
fn told(folder: &Path, name: &str, more: &[&str], queries: &[String]) -> Result<Vec<String>, String> {
    let ledger = format!("{name}/ledger.jsonl");
    let arguments = ["release", "spec.toml", "--insecure-seed", "7", "--out", name, "--ledger", &ledger];
    let made = margins(folder, &[&arguments, more].concat());
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    if !made.status.success() {
        assert!(!said.contains("panicked") && !said.contains("a bug"), "{said}");
        return Err(said);
    }
    let file = format!("{name}/people.margins");
    let mut answers = Vec::new();
    for sql in queries {
        let asked = margins(folder, &["query", &file, sql, "--csv"]);
        assert!(asked.status.success(), "{sql}: {}", String::from_utf8_lossy(&asked.stderr));
        answers.push(String::from_utf8(asked.stdout).unwrap());
    }
    let described = margins(folder, &["describe", &file, "--json"]);
    let described: serde_json::Value = serde_json::from_slice(&described.stdout).unwrap();
    answers.extend(described["amounts"].as_array().into_iter().flatten().map(|of| of["moved"].to_string()));
    Ok(answers)
}

#[test]
fn random_on_duckdb() {
    let cases = std::env::var("ENGINE_CASES").map_or(CASES, |cases| cases.parse().unwrap());
    let (mut released, mut refused) = (0, 0);
    let seed = std::env::var("PROPTEST_RNG_SEED").map_or(0, |seed| seed.parse::<u64>().unwrap());
    for case in 0..cases {
        let draw = &mut Draw((seed << 32 ^ case).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 77);
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (spec, queries) = spec(draw);
        std::fs::write(folder.join("spec.toml"), &spec).unwrap();
        let people = people(draw).replace("FOLDER", &folder.display().to_string());
        std::fs::write(folder.join("people.sql"), &people).unwrap();
        let statement = margins(folder, &["plan", "spec.toml", "--sql", "duckdb", "--from", "people"]);
        let said = String::from_utf8_lossy(&statement.stderr);
        if !statement.status.success() {
            // Of such a spec there is no statement and no release, whatever the rows are.
            assert!(!said.contains("panicked"), "{said}");
            continue;
        }
        std::fs::write(folder.join("statement.sql"), statement.stdout).unwrap();
        let Some(ran) = run(folder, "duckdb", "people.sql", "counts.csv") else { return };
        let counted = match ran.status.success() {
            true => told(folder, "counted", &["--counts", "counts.csv"], &queries),
            false => Err(String::from_utf8_lossy(&ran.stderr).into_owned()),
        };
        let parquet = told(folder, "parquet", &["--data", "rows.parquet"], &queries);
        let csv = told(folder, "csv", &["--data", "rows.csv"], &queries);
        let shown =
            |told: &Result<_, String>| told.as_ref().err().map_or("released", String::as_str).to_owned();
        let why = format!("{case}: {:?}\n{spec}\n{people}", [&counted, &parquet, &csv].map(shown));
        match [counted, parquet, csv] {
            [Ok(counted), Ok(parquet), Ok(csv)] => {
                assert_eq!(counted, parquet, "{why}");
                assert_eq!(csv, parquet, "{why}");
                released += 1;
            }
            [Err(_), Err(_), Err(_)] => refused += 1,
            _ => panic!("{why}"),
        }
    }
    println!("{released} released, {refused} refused");
    assert!(released >= cases / 4 && refused >= cases / 20, "the cases say too little");
}
