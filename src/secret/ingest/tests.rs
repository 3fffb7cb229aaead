//! Whole files: every dialect, every mistake.
#![allow(clippy::unwrap_used)]

use super::rows::Values;
use super::*;
use crate::cube::{Cube, Dimension};
use crate::exact::Rational;
use crate::numeric::tries::tries;
use crate::plan::{BudgetRule, Neighbours};
use crate::release::Without;
use crate::secret::ingest::Means;
use crate::spec::{
    Blanks, Budget, Coding, Column, CsvOptions, Data, DayFormat, Digits, Encoding, Format, Privacy,
    StrategySpec, Taken, Unit,
};
use crate::watch::Watch;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A dimension that reads the column of its own name and has this many nodes.
pub(in crate::secret) fn column(name: &str, nodes: usize, coding: Coding) -> (Dimension, Column) {
    let labels = (0..nodes).map(|node| format!("{name}{node}")).collect();
    (
        Dimension::plain(name, labels),
        Column { column: name.into(), coding, missing: None, other: None, taken: Default::default() },
    )
}

pub(in crate::secret) fn labels(name: &str, labels: &[&str]) -> (Dimension, Column) {
    let map = labels.iter().zip(0..).map(|(label, node)| (label.to_string(), node)).collect();
    column(name, labels.len(), Coding::Labels(map))
}

/// With two further nodes, for missing and other values.
pub(in crate::secret) fn lenient((mut dimension, mut column): (Dimension, Column)) -> (Dimension, Column) {
    let n = dimension.levels[1].len() as u32;
    dimension.levels[1].labels.extend(["missing".to_string(), "other".to_string()]);
    dimension.levels[1].parent.extend([0, 0]);
    (column.missing, column.other) = (Some(n), Some(n + 1));
    (dimension, column)
}

pub(in crate::secret) fn spec(columns: impl IntoIterator<Item = (Dimension, Column)>) -> Spec {
    let (dimensions, columns) = columns.into_iter().unzip();
    Spec {
        file: None,
        name: "test".into(),
        title: String::new(),
        description: None,
        licence: None,
        amounts: Vec::new(),
        contact: None,
        supersedes: None,
        reliability: Vec::new(),
        demo: true,
        dataset: None,
        account: Default::default(),
        projection: None,
        recipients: None,
        data: Some(Data {
            path: PathBuf::from("nowhere.csv"),
            format: Some(Format::Csv),
            csv: CsvOptions::default(),
            blanks: Default::default(),
        }),
        privacy: Privacy {
            unit: Unit::Row,
            neighbours: Neighbours::AddRemove,
            budget: Budget::Rho(Rational::ONE),
            cut_units: None,
        },
        cube: Cube { dimensions }.into(),
        columns,
        workload: Vec::new(),
        targets: Vec::new(),
        exact: Vec::new(),
        zeros: Vec::new(),
        strategy: StrategySpec {
            measure: None,
            budgets: BudgetRule::Uniform,
            objective: crate::planner::Objective::Total,
            shares: Vec::new(),
            rows: None,
            effort: 1,
            expected: Vec::new(),
        },
        source: String::new(),
        unconfirmed: None,
        attachments: Vec::new(),
    }
}

/// sex: a, b; age: 18..=99 whole; pay: three bins.
fn three() -> [(Dimension, Column); 3] {
    [
        labels("sex", &["a", "b"]),
        column("age", 82, Coding::Range { lo: 18, hi: 99 }),
        column("pay", 3, Coding::Bins { edges: vec![-0.5, 0.1, 10.0, 1e3] }),
    ]
}

fn with_options(mut spec: Spec, edit: impl FnOnce(&mut CsvOptions)) -> Spec {
    edit(&mut spec.data.as_mut().unwrap().csv);
    spec
}

pub(in crate::secret) fn with_unit(mut spec: Spec, column: &str, max_rows: u32) -> Spec {
    spec.privacy.unit = Unit::Column { column: column.into(), max_rows, order: Vec::new(), without: None };
    spec
}

/// The codes, row by row.
pub(in crate::secret) fn codes(rows: &Rows) -> Vec<Vec<u32>> {
    let width = (0..).take_while(|&d| rows.column(d).is_some()).count();
    let code = |d: usize, row: usize| match rows.column(d).unwrap().values() {
        Values::U8(values) => values[row].into(),
        Values::U16(values) => values[row].into(),
        Values::U32(values) => values[row],
        Values::Text(_) => unreachable!(),
    };
    (0..rows.len()).map(|row| (0..width).map(|d| code(d, row)).collect()).collect()
}

fn read_bytes(spec: &Spec, bytes: &[u8]) -> Result<Vec<Vec<u32>>, IngestError> {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    std::fs::write(&path, bytes).unwrap();
    read(spec, &path, &Means::default()).map(|rows| in_order(spec, codes(&rows)))
}

/// Rows of units come in no order of the file.
pub(in crate::secret) fn in_order(spec: &Spec, mut rows: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    if spec.privacy.unit != Unit::Row {
        rows.sort_unstable();
    }
    rows
}

#[track_caller]
fn good(spec: &Spec, text: &str, expected: &[&[u32]]) {
    assert_eq!(read_bytes(spec, text.as_bytes()).unwrap(), expected, "{text:?}");
}

/// For cells that are too short to be told from the words of an error: its exact text must do.
const NONE: &str = "\0";

/// The error's text is as expected, and `secret` occurs in none of its forms.
#[track_caller]
fn bad(spec: &Spec, bytes: impl AsRef<[u8]>, secret: &str, expected: &str) {
    let error = read_bytes(spec, bytes.as_ref()).unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert!(!format!("{error} {error:?} {error:#?}").contains(secret), "{error:?}");
}

#[test]
fn codes_of_values() {
    let spec = spec(three());
    good(&spec, "sex,age,pay\na,18,0\nb,99,1000\n", &[&[0, 0, 0], &[1, 81, 2]]);
    // Whole numbers: sign and digits. Bins: lower edges belong to their bin, the last edge to the last.
    good(
        &spec,
        "sex,age,pay\na,+20,-.5\na,020,1e-1\na,20,+9.999e0\na,20,10.",
        &[&[0, 2, 0], &[0, 2, 1], &[0, 2, 1], &[0, 2, 2]],
    );
    // Columns in any order, and columns that nobody asked for, whatever they hold.
    good(&spec, "x,pay,age,sex,x\n?,5,30,b,\n", &[&[1, 12, 1]]);
    good(&spec, "sex,age,pay\n", &[]);
}

#[test]
fn extreme_whole_numbers() {
    let top = spec([column("n", 2, Coding::Range { lo: i64::MAX - 1, hi: i64::MAX })]);
    good(&top, "n\n9223372036854775807\n9223372036854775806\n", &[&[1], &[0]]);
    bad(&top, "n\n9223372036854775808\n", "9223", OUTSIDE);
    bad(&top, "n\n-9223372036854775808\n", "9223", OUTSIDE);
    let bottom = spec([column("n", 2, Coding::Range { lo: i64::MIN, hi: i64::MIN + 1 })]);
    good(&bottom, "n\n-9223372036854775807\n-9223372036854775808\n", &[&[1], &[0]]);
    bad(&bottom, "n\n-9223372036854775809\n", "9223", OUTSIDE);
    bad(&bottom, "n\n0\n", NONE, OUTSIDE);
}

const OUTSIDE: &str =
    "row 1 (line 2), column \"n\": the value is outside the domain, and the dimension has no `other`";

#[test]
fn missing_and_other() {
    let spec = spec(three().map(lenient));
    good(
        &spec,
        "sex,age,pay\n,,\nc,17,-0.6\n a,20.5,nan\nA,2e1,inf\nb,x,1e999\n\"\",99999999999999999999,ten\n",
        &[&[2, 82, 3], &[3, 83, 4], &[3, 83, 4], &[3, 83, 4], &[1, 83, 4], &[2, 83, 4]],
    );
    // Whole numbers with gaps, as data frames write them.
    good(&spec, "sex,age,pay\na,20.0,1\nb,+18.000,1\n", &[&[0, 2, 1], &[1, 0, 1]]);
    // An empty text may be a category by itself, but `missing` comes first.
    let mut own = labels("sex", &["a", ""]);
    good(&self::spec([own.clone(), labels("x", &["y"])]), "sex,x\n,y\na,y\n", &[&[1, 0], &[0, 0]]);
    own.1.missing = Some(0);
    good(&self::spec([own, labels("x", &["y"])]), "sex,x\n,y\n", &[&[0, 0]]);
}

fn with_cells(mut spec: Spec, empty: &[&str], trim: bool) -> Spec {
    let empty = empty.iter().map(|text| (*text).to_owned()).collect();
    spec.data.as_mut().unwrap().blanks = Blanks { empty, trim };
    spec
}

/// Texts that are no value, and blanks that are no part of one: of dimensions, units, and what orders rows.
#[test]
fn empty_texts_and_blanks() {
    let lenient = || spec(three().map(lenient));
    let said = with_cells(lenient(), &["", "NA", "20"], false);
    good(&said, "sex,age,pay\nNA,NA,NA\na,20,20\nb, 20,20.0\n", &[&[2, 82, 3], &[0, 82, 3], &[1, 83, 3]]);
    // Of numbers every way to write one of them; of labels the text.
    let said = with_cells(lenient(), &["21", "2.5e-1", "1"], false);
    good(
        &said,
        "sex,age,pay\n1.0,21.00,0.250\n1,+021,.25\na,22,0.2500000000000000000000001\n",
        &[&[3, 82, 3], &[2, 82, 3], &[0, 4, 1]],
    );
    let said = with_cells(lenient(), &["NA"], true);
    good(
        &said,
        "sex,age,pay\n a , 21\t, 0.5\n NA ,\t, NA\nb,2 1,1\n",
        &[&[0, 3, 1], &[2, 82, 3], &[1, 83, 1]],
    );
    let strict = with_cells(spec([labels("x", &["a"])]), &["NA"], true);
    bad(
        &strict,
        "x,y\nNA,MARS\n",
        "MARS",
        "row 1 (line 2), column \"x\": the cell is empty, and the dimension has no `missing`",
    );
    let units = with_unit(strict, "who", 1);
    good(&units, "who,x\nu,a\n u,a\nv,a\n", &[&[0], &[0]]);
    bad(
        &units,
        "who,x\nNA,a\n",
        NONE,
        "row 1 (line 2), column \"who\": the cell is empty, so the row belongs to no unit of privacy",
    );
}

/// Digits as other languages write them: groups are whole, and what the spec does not say is no number.
#[test]
fn numbers_of_other_languages() {
    let lenient = || spec(three().map(lenient));
    let written = |decimal, thousands| {
        with_options(lenient(), |o| {
            o.delimiter = b';';
            o.numbers = Digits { decimal, thousands };
        })
    };
    let pay = |spec: &Spec, cell: &str| {
        read_bytes(spec, format!("sex;age;pay\na;20;{cell}\n").as_bytes()).unwrap()[0][2]
    };
    let german = written(b',', Some('.'));
    for (cell, node) in [
        ("0,05", 0),
        ("0,1", 1),
        ("-0,5", 0),
        ("1.000", 2),
        ("1.000,00", 2),
        ("1000", 2),
        ("1,5e1", 2),
        ("999", 2),
        ("1.00", 4),
        ("10.00,0", 4),
        ("1..000", 4),
        (".100", 4),
        ("1.000.", 4),
        ("1000.000", 4),
        ("0,1.000", 4),
        ("1,2,3", 4),
        ("+", 4),
        ("", 3),
        ("0.001", 4),
        ("-0.001", 4),
        ("000.001,0", 4),
        ("0,001", 0),
    ] {
        assert_eq!(pay(&german, cell), node, "{cell}");
    }
    assert_eq!((pay(&written(b',', Some(' ')), "1 000,0"), pay(&written(b',', Some(' ')), "1 00")), (2, 4));
    for (cell, node) in [("1 000", 4), ("1\u{202f}000,0", 2), ("1.5", 4), ("1,5", 1)] {
        assert_eq!(pay(&written(b',', Some('\u{202f}')), cell), node, "{cell}");
    }
    assert_eq!((pay(&written(b'.', Some(',')), "1,000.0"), pay(&written(b',', None), "1.000")), (2, 4));
    let long = format!("0,{}1", "0".repeat(80));
    assert_eq!(pay(&german, &long), 4);
    let whole = with_options(
        spec([column("n", 3, Coding::Range { lo: 9_999, hi: 10_001 }), labels("x", &["y"])]),
        |o| {
            o.delimiter = b';';
            o.numbers = Digits { decimal: b',', thousands: Some('.') };
        },
    );
    good(&whole, "n;x\n10.000;y\n10.001,0;y\n9999;y\n", &[&[1, 0], &[2, 0], &[0, 0]]);
}

/// What is beyond the ends counts there; what is no number does not.
#[test]
fn far_numbers() {
    let mut dimensions = three().map(lenient);
    dimensions.iter_mut().for_each(|(_, column)| column.taken.clamp = true);
    good(
        &spec(dimensions),
        "sex,age,pay\na,17,-0.6\na,120,1e9\na,-99999999999999999999,-1e300\na,99999999999999999999.0,10\na,17.5,inf\na,x,x\na,-3.5,1\na,120.5,1\na,1e400,1e400\na,-1e400,-1e400\n",
        &[
            &[0, 0, 0],
            &[0, 81, 2],
            &[0, 0, 0],
            &[0, 81, 2],
            &[0, 0, 4],
            &[0, 83, 4],
            &[0, 0, 1],
            &[0, 81, 1],
            &[0, 81, 2],
            &[0, 0, 0],
        ],
    );
}

/// Days in a stated way, and days with a time behind them.
#[test]
fn days_of_other_ways() {
    let days = |format: Option<&str>, time| {
        let mut days = lenient(column("d", 2, Coding::Dates { first: 19_782, last: 19_783 }));
        days.1.taken = Taken { format: format.map(|f| DayFormat::new(f).unwrap()), time, clamp: false };
        spec([days, labels("x", &["y"])])
    };
    let one =
        |spec: &Spec, cell: &str| read_bytes(spec, format!("d,x\n{cell},y\n").as_bytes()).unwrap()[0][0];
    for (format, time, cell, node) in [
        (None, false, "2024-02-29", 0),
        (None, false, "2024-02-29 12:00", 3),
        (None, true, "2024-02-29", 0),
        (None, true, "2024-03-01T23:59:59.999Z", 1),
        (None, true, "2024-03-01 24:00", 3),
        (None, true, "2024-03-01 ", 3),
        (Some("DD.MM.YYYY"), false, "01.03.2024", 1),
        (Some("DD.MM.YYYY"), false, "2024-03-01", 3),
        (Some("M/D/YYYY"), true, "3/1/2024 9:00", 3),
        (Some("M/D/YYYY"), true, "3/1/2024 09:00", 1),
        (Some("M/D/YYYY"), true, "", 2),
    ] {
        assert_eq!(one(&days(format, time), cell), node, "{format:?} {cell}");
    }
    // A time with an offset is no value outside the list: it stops a run even where those have a category.
    for cell in [
        "2024-02-29 12:00+02:00",
        "2024-02-29T12:00:00.5-0500",
        "2024-02-29 12:00:00 +01",
        "2024-02-29 23:59:59-11:30",
    ] {
        let said = "row 1 (line 2), column \"d\": the value is a time with an offset from UTC such as +02:00, so which day it means is not known: \
            write the day, or the time without an offset";
        bad(&days(None, true), format!("d,x\n{cell},y\n"), cell, said);
    }
    for cell in ["MARS 12:00+02:00", "2024-02-30 12:00+02:00", "2024-02-29 12:00+", "2024-02-29 x+02:00"] {
        assert_eq!(one(&days(None, true), cell), 3, "{cell}");
    }
    assert_eq!(one(&days(None, false), "2024-02-29 12:00+02:00"), 3);
    // Without `other` it is said how the days of this spec are written.
    let strict = |format: Option<&str>| {
        let mut days = column("d", 2, Coding::Dates { first: 19_782, last: 19_783 });
        days.1.taken.format = format.map(|f| DayFormat::new(f).unwrap());
        spec([days, labels("x", &["y"])])
    };
    for (format, cell, expected) in [
        (Some("DD.MM.YYYY"), "2024-03-01", "a day as `format` says"),
        (None, "01.03.2024", "a date (year-month-day)"),
    ] {
        let expected = format!(
            "row 1 (line 2), column \"d\": the value is not {expected}, and the dimension has no `other`"
        );
        bad(&strict(format), format!("d,x\n{cell},y\n"), cell, &expected);
    }
}

/// One column's empty line is a row, as those write it who do not quote; of several columns it is none.
#[test]
fn empty_lines() {
    let age = || column("age", 10, Coding::Range { lo: 0, hi: 9 });
    let one = spec([lenient(age())]);
    let expected: &[&[u32]] = &[&[1], &[10], &[2], &[10], &[10], &[3]];
    good(&one, "age\n1\n\n2\n\n\n3\n", expected);
    good(&one, "age\n1\n\n2\n\n\n3", expected);
    good(&one, "\u{feff}\n\nage\n1\n", &[&[1]]);
    good(&one, "\r\n\nage\r\n1\r\n\r\n2\r\n\r\n\"\"\r\n3\r\n", expected);
    good(&one, "age\r1\r\r2\r\r\r3\r", expected);
    good(&one, "age\n\n", &[&[10]]);
    good(&one, "age\n", &[]);
    good(&one, "age\r\n", &[]);
    let headless = with_options(one, |o| o.columns = Some(vec!["age".into()]));
    good(&headless, "\n1\n\n", &[&[10], &[1], &[10]]);
    bad(
        &spec([age()]),
        "age\n1\n\n2\n",
        NONE,
        "row 2 (line 3), column \"age\": the cell is empty, and the dimension has no `missing`",
    );
    let two = spec([lenient(age()), lenient(labels("x", &["a"]))]);
    good(&two, "age,x\n\n1,a\n\n\n2,a\n\n", &[&[1, 0], &[2, 0]]);
}

#[test]
fn two_dimensions_of_one_column() {
    let mut coarse = column("band", 2, Coding::Bins { edges: vec![0.0, 50.0, 100.0] });
    coarse.1.column = "age".into();
    let spec = spec([column("age", 100, Coding::Range { lo: 0, hi: 99 }), coarse]);
    good(&spec, "age\n49\n50\n", &[&[49, 0], &[50, 1]]);
}

#[test]
fn dialects() {
    let own =
        || spec([labels("sex", &["a", "b,\"\nc", "é"]), column("age", 100, Coding::Range { lo: 0, hi: 99 })]);
    let expected: &[&[u32]] = &[&[0, 1], &[1, 2], &[2, 3]];
    let text = "sex,age\na,1\n\"b,\"\"\nc\",\"2\"\né,3\n";
    good(&own(), text, expected);
    good(&own(), text.trim_end(), expected);
    good(&own(), &format!("\u{feff}{text}"), expected);
    good(&own(), &format!("\n{}\n\n", text.replace("\né", "\n\né")), expected);
    // CRLF between rows; the LF inside the quotes stays.
    good(&own(), "sex,age\r\na,1\r\n\"b,\"\"\nc\",2\r\né,3\r\n", expected);
    good(&own(), "sex,age\ra,1\r\"b,\"\"\nc\",2\ré,3", expected);
    let semicolon = with_options(own(), |o| o.delimiter = b';');
    good(&semicolon, "sex;age\na;1\n\"b,\"\"\nc\";2\né;3\n", expected);
    let single = with_options(own(), |o| o.quote = b'\'');
    good(&single, "sex,age\na,1\n'b,\"\nc','2'\né,3\n", expected);
    let names = vec!["age".to_string(), "other".to_string(), "sex".to_string()];
    let headless = with_options(own(), |o| o.columns = Some(names));
    good(&headless, "1,,a\n2,,\"b,\"\"\nc\"\n3,x,é\n", expected);
    good(&headless, "\u{feff}1,,a\n", &[&[0, 1]]);
    // No bytes at all are no data; no rows are written as an empty line.
    good(&headless, "\n", &[]);
    bad(
        &headless,
        "",
        NONE,
        "the file is empty: it has no bytes, so it is most likely not the one that was meant (data that is known to have no rows is a file of \
         one empty line)",
    );
    // A byte order mark anywhere else is part of the value.
    bad(
        &own(),
        "sex,age\n\u{feff}a,1\n",
        "\u{feff}",
        "row 1 (line 2), column \"sex\": the value is outside the \
         domain, and the dimension has no `other`",
    );
}

#[test]
fn errors_of_cells() {
    let spec = || spec(three());
    let at = |row: u64, column: &str, fault: &str| {
        format!("row {row} (line {}), column \"{column}\": {fault}", row + 1)
    };
    let outside = "the value is outside the domain, and the dimension has no `other`";
    bad(&spec(), "sex,age,pay\na,20,1\nMARS,20,1\n", "MARS", &at(2, "sex", outside));
    for almost in ["A", " a", "a ", "aa"] {
        bad(&spec(), format!("sex,age,pay\n{almost},20,1\n"), NONE, &at(1, "sex", outside));
    }
    bad(&spec(), "sex,age,pay\na,7117,1\n", "7117", &at(1, "age", outside));
    for pay in ["-0.6789", "1000.1", "-7777"] {
        bad(&spec(), format!("sex,age,pay\na,20,{pay}\n"), pay, &at(1, "pay", outside));
    }
    let whole = "the value is not a whole number, and the dimension has no `other`";
    for age in
        ["77.5", "77.0x", "77.", ".0", "77.0.0", "77e1", "77 ", " 77", "0x77", "٢٠٢٠", "MARS", "7-7", "+-77"]
    {
        bad(&spec(), format!("sex,age,pay\na,{age},1\n"), age, &at(1, "age", whole));
    }
    for age in ["+", "-"] {
        bad(&spec(), format!("sex,age,pay\na,{age},1\n"), NONE, &at(1, "age", whole));
    }
    let number = "the value is not a number, and the dimension has no `other`";
    bad(&spec(), "sex,age,pay\na,20,77e999\n", "77e999", &at(1, "pay", outside));
    for pay in ["nan", "inf", "-infinity", "7,7", "0x7p7", "7_7", "1e", "7 7"] {
        bad(&spec(), format!("sex,age,pay\na,20,\"{pay}\"\n"), pay, &at(1, "pay", number));
    }
    bad(&spec(), "sex,age,pay\na,20,.\n", NONE, &at(1, "pay", number));
    let empty = "the cell is empty, and the dimension has no `missing`";
    bad(&spec(), "sex,age,pay\na,77,\n", "77", &at(1, "pay", empty));
    // `other` alone does not take empty cells; no node takes bytes that are no text.
    let mut only_other = lenient(labels("sex", &["a"]));
    only_other.1.missing = None;
    bad(&self::spec([only_other, labels("x", &["MARS"])]), "sex,x\n,MARS\n", "MARS", &at(1, "sex", empty));
    for name in ["sex", "age", "pay"] {
        let lenient = self::spec(three().map(lenient));
        let row =
            ["sex", "age", "pay"].map(|n| if n == name { &b"Mac\xe9"[..] } else { b"" }).join(&b","[..]);
        let text = [b"sex,age,pay\n", row.as_slice()].concat();
        bad(&lenient, text, "Mac", &at(1, name, "the cell is not valid UTF-8"));
    }
}

#[test]
fn errors_of_files() {
    let spec = || spec(three());
    bad(&spec(), "", NONE, "the file is empty: it has no header row");
    bad(
        &spec(),
        "sex,Age,pay\nMARS,,\n",
        "MARS",
        "the data has no column \"age\" among its 3; column 2 is spelt nearly so (a file without a header row needs `columns` in the spec)",
    );
    bad(
        &spec(),
        "sex,agee,pay\nMARS,,\n",
        "agee",
        "the data has no column \"age\" among its 3; column 2 is spelt nearly so (a file without a header row needs `columns` in the spec)",
    );
    // The header may be data: its names are not printed.
    bad(
        &spec(),
        "MARS,20,7\n",
        "MARS",
        "the data has no column \"sex\" among its 3 (a file without a header row needs `columns` in the spec)",
    );
    bad(&spec(), "sex,age,sex,pay\nMARS,,\n", "MARS", "the data has more than one column \"sex\"");
    bad(
        &spec(),
        "sex,age,pay\na,20,1\nMARS,20\n",
        "MARS",
        "row 2 (line 3): the number of cells is 2, that of columns 3",
    );
    bad(
        &spec(),
        "sex,age,pay\nMARS,20,1,4\n",
        "MARS",
        "row 1 (line 2): the number of cells is 4, that of columns 3",
    );
    let headless =
        with_options(spec(), |o| o.columns = Some(["sex", "age", "pay"].map(String::from).to_vec()));
    bad(&headless, "a,7117\n", "7117", "row 1 (line 1): the number of cells is 2, that of columns 3");
    let headless = with_options(spec(), |o| o.columns = Some(["sex", "age"].map(String::from).to_vec()));
    bad(
        &headless,
        "MARS,20\n",
        "MARS",
        "the data has no column \"pay\" among its 2 (a file without a header row needs `columns` in the spec)",
    );
    // An open quote swallows the rest of the file: the row where it opens is named.
    bad(
        &spec(),
        "sex,age,pay\na,20,1\n\"MARS,20,1\na,20,1\n",
        "MARS",
        "row 2 (line 3): a quote is opened and never closed: what follows may be rows",
    );

    let dir = TempDir::new().unwrap();
    let absent = read(&spec(), &dir.path().join("absent.csv"), &Means::default()).unwrap_err();
    assert!(matches!(absent, IngestError::Open { error: std::io::ErrorKind::NotFound, .. }), "{absent}");
    let folder = read(&spec(), dir.path(), &Means::default()).unwrap_err();
    assert!(matches!(folder, IngestError::Folder(_)), "{folder}");
    for name in ["rows.csv", "rows.csv.gz"] {
        std::fs::write(dir.path().join(name), "").unwrap();
    }
    let twice = read(&spec(), dir.path(), &Means::default()).unwrap_err().to_string();
    assert!(twice.ends_with("names a file packed and unpacked: the same rows may be in both"), "{twice}");
    #[cfg(unix)]
    for device in ["/dev/zero", "/dev/null"] {
        let refused = read(&spec(), std::path::Path::new(device), &Means::default()).unwrap_err();
        assert!(matches!(refused, IngestError::NotAFile { .. }), "{refused}");
    }
}

#[test]
fn lines_of_errors() {
    let spec = spec([labels("sex", &["a", "b\nc"]), labels("x", &["y"])]);
    let expected = |row, line| {
        format!(
            "row {row} (line {line}), column \"sex\": the value is outside the domain, and the dimension has no `other`"
        )
    };
    bad(&spec, "sex,x\na,y\na,y\nMARS,y\n", "MARS", &expected(3, 4));
    bad(&spec, "sex,x\r\na,y\r\na,y\r\nMARS,y\r\n", "MARS", &expected(3, 4));
    bad(&spec, "sex,x\n\"b\nc\",y\nMARS,y\n", "MARS", &expected(2, 4));
    bad(&spec, "sex,x\r\na,y\r\n\r\n\r\nMARS,y\r\n", "MARS", &expected(2, 5));
    bad(&spec, "\u{feff}\n\nsex,x\n\nMARS,y", "MARS", &expected(1, 5));
}

#[test]
fn errors_of_specs() {
    let bad = |columns: (Dimension, Column), expected: &str| {
        assert_eq!(
            read_bytes(&spec([columns]), b"x\n").unwrap_err().to_string(),
            format!("dimension \"x\": {expected}")
        );
    };
    let bins = |edges: &[f64]| column("x", 2, Coding::Bins { edges: edges.to_vec() });
    for edges in [
        &[0.0][..],
        &[],
        &[0.0, 1.0, 1.0],
        &[1.0, 0.0],
        &[0.0, f64::NAN],
        &[0.0, f64::INFINITY],
        &[0.0, 1.0, 2.0, 3.0],
    ] {
        bad(bins(edges), "its bins do not fit its categories");
    }
    bad(column("x", 2, Coding::Range { lo: 0, hi: 2 }), "its numbers do not fit its categories");
    bad(
        column("x", 2, Coding::Range { lo: i64::MIN, hi: i64::MAX }),
        "its numbers do not fit its categories",
    );
    bad(column("x", 2, Coding::Range { lo: 1, hi: 0 }), "its numbers do not fit its categories");
    bad(
        column("x", 2, Coding::Labels([("a".into(), 2)].into())),
        "a label stands for none of its categories",
    );
    let mut stray = labels("x", &["a"]);
    stray.1.other = Some(1);
    bad(stray, "`missing` or `other` is not one of its categories");
    let mut headless = spec([labels("x", &["a"])]);
    headless.columns.clear();
    assert!(matches!(read_bytes(&headless, b"x\n").unwrap_err(), IngestError::Coding { .. }));
}

#[test]
fn units_are_bounded() {
    let bounded = with_unit(spec([labels("x", &["a", "b"])]), "who", 2);
    good(&bounded, "who,x\nu,a\nv,a\nu,b\nu,a\nw,b\nu,a\nv,b\n", &[&[0], &[0], &[1], &[1], &[1]]);
    // Identifiers are compared exactly.
    good(
        &with_unit(spec([labels("x", &["a"])]), "who", 1),
        "who,x\nu,a\nU,a\nu ,a\nu,a\n",
        &[&[0], &[0], &[0]],
    );
    good(&with_unit(spec([labels("x", &["a"])]), "who", 0), "who,x\nu,a\n", &[]);
    // The unit may be a dimension too.
    good(&with_unit(spec([labels("x", &["a"])]), "x", 2), "x\na\na\na\n", &[&[0], &[0]]);
    // A bad row is an error even where it would not have counted.
    bad(
        &bounded,
        "who,x\nu,a\nu,a\nu,MARS\n",
        "MARS",
        "row 3 (line 4), column \"x\": the value is outside the domain, and the dimension has no `other`",
    );
    bad(
        &bounded,
        "who,x\n,a\n",
        "a'",
        "row 1 (line 2), column \"who\": the cell is empty, so the row belongs to no unit of privacy",
    );
    bad(
        &bounded,
        b"who,x\nMac\xe9,a\n",
        "Mac",
        "row 1 (line 2), column \"who\": the cell is not valid UTF-8",
    );
    bad(
        &bounded,
        "hwo,x\nMARS,a\n",
        "hwo",
        "the data has no column \"who\" among its 2; column 1 is spelt nearly so (a file without a header row needs `columns` in the spec)",
    );
}

/// Rows without a unit: each by itself, or none of them; whatever the others' identifiers are, and rows that stand before or behind.
#[test]
fn rows_without_a_unit() {
    let bounded = |without, order: bool| {
        let mut spec = with_unit(spec([labels("x", &["a", "b"]), lenient(labels("y", &["c"]))]), "who", 1);
        if let Unit::Column { without: own, order: by, .. } = &mut spec.privacy.unit {
            *own = without;
            if order {
                by.push("t".into());
            }
        }
        with_cells(spec, &["NA"], false)
    };
    let text = "who,x,y,t\nu,a,c,2\n,a,c,1\nu,b,c,1\nNA,b,,3\n,a,d,1\nv,b,c,1\n";
    let mut sorted = read_bytes(&bounded(Some(Without::Own), false), text.as_bytes()).unwrap();
    sorted.sort();
    assert_eq!(sorted, [[0, 0], [0, 0], [0, 2], [1, 0], [1, 1]]);
    let mut sorted = read_bytes(&bounded(Some(Without::Drop), true), text.as_bytes()).unwrap();
    sorted.sort();
    assert_eq!(sorted, [[1, 0], [1, 0]]);
    let strange = "who,x,y,t\n,MARS,c,1\n";
    for without in [None, Some(Without::Own), Some(Without::Drop)] {
        assert!(
            read_bytes(&bounded(without, false), strange.as_bytes()).is_err(),
            "a bad row is an error even where it does not count"
        );
    }
    // Many of them are as many units, however the work is shared out.
    let many = format!("who,x,y,t\n{}", ",a,c,1\nw,b,c,1\n".repeat(9000));
    assert_eq!(read_bytes(&bounded(Some(Without::Own), false), many.as_bytes()).unwrap().len(), 9001);
    assert_eq!(read_bytes(&bounded(Some(Without::Drop), false), many.as_bytes()).unwrap().len(), 1);
}

/// Packed text is read as the text itself, line by line, beside text that is not packed; what is cut short is told, and not as less.
#[cfg(feature = "parquet")]
#[test]
fn packed_texts() {
    use std::io::Write;
    let spec = spec([labels("x", &["a", "b"]), column("n", 20_000, Coding::Range { lo: 0, hi: 19_999 })]);
    let text = |rows: std::ops::Range<usize>| {
        let rows: String = rows.map(|n| format!("{},{n}\n", ["a", "b"][n % 2])).collect();
        format!("x,n\n{rows}")
    };
    let dir = TempDir::new().unwrap();
    let gzip = |text: &str| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    };
    let whole = text(0..9000);
    let (head, tail) = whole.split_at(7777);
    // As `cat` puts two of them together.
    std::fs::write(dir.path().join("a.csv.gz"), [gzip(head), gzip(tail)].concat()).unwrap();
    std::fs::write(dir.path().join("b.csv.zst"), zstd::encode_all(text(9000..15_000).as_bytes(), 3).unwrap())
        .unwrap();
    std::fs::write(dir.path().join("c.csv"), text(15_000..20_000)).unwrap();
    let all = read(&spec, dir.path(), &Means::default()).unwrap();
    let mut numbers: Vec<u32> = codes(&all).into_iter().map(|row| row[1]).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..20_000));
    // Of what is packed nobody knows how many rows it may be.
    let little = Means { memory: Memory::at_most(1 << 30), ..Means::default() };
    assert!(matches!(read(&spec, &dir.path().join("a.csv.gz"), &little), Err(IngestError::Little { .. })));
    let path = dir.path().join("d.csv.gz");
    std::fs::write(&path, gzip(&format!("{}MARS,1\n", text(0..10)))).unwrap();
    let wrong = read(&spec, &path, &Means::default()).unwrap_err().to_string();
    assert_eq!(
        wrong,
        "row 11 (line 12), column \"x\": the value is outside the domain, and the dimension has no `other`"
    );
    let whole = gzip(&text(0..9000));
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let wrong = read(&spec, &path, &Means::default()).unwrap_err().to_string();
    assert!(wrong.ends_with("the file is cut off"), "{wrong}");
    for name in ["d.csv.gz", "d.csv.zst"] {
        let path = dir.path().join(name);
        std::fs::write(&path, "x,n\na,1\nand so on\n").unwrap();
        let wrong = read(&spec, &path, &Means::default()).unwrap_err().to_string();
        assert!(wrong.ends_with("not packed as its name says (.gz, .zst)"), "{name}: {wrong}");
    }
    // Over more than eight megabytes nothing looks back.
    let far = zstd::bulk::Compressor::new(1).and_then(|mut packer| {
        packer.set_parameter(zstd::zstd_safe::CParameter::WindowLog(26))?;
        packer.compress(&vec![b'\n'; 1 << 26])
    });
    let path = dir.path().join("e.csv.zst");
    std::fs::write(&path, far.unwrap()).unwrap();
    assert!(read(&spec, &path, &Means::default()).is_err());
}

#[test]
fn columns_are_narrow() {
    let of = |nodes: u32| {
        let rows = Rows::from_codes(&[nodes], &[vec![nodes - 1, 0]]).unwrap();
        let width = match rows.column(0).unwrap().values() {
            Values::U8(_) => 8,
            Values::U16(_) => 16,
            Values::U32(_) => 32,
            Values::Text(_) => unreachable!(),
        };
        assert_eq!(codes(&rows), [[nodes - 1], [0]]);
        width
    };
    assert_eq!([1, 256, 257, 65_536, 65_537].map(of), [8, 8, 16, 16, 32]);
    assert!(Rows::from_codes(&[2], &[vec![2]]).is_err());
    assert!(Rows::from_codes(&[2, 2], &[vec![1], vec![]]).is_err());
    assert!(Rows::from_codes(&[2], &[]).is_err());
}

/// A file that ends within a quoted cell may have lost rows, whether or not the column is asked for.
#[test]
fn a_quote_must_be_closed() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    for (end, closed) in
        [("\"a\nb,2\nc,3\n", false), ("\"a\"\"", false), ("\"", false), ("\"a\nb,2\"", true), ("\"\"", true)]
    {
        std::fs::write(&path, format!("x,note\nx,1\nx,{end}")).unwrap();
        let spec = spec([labels("x", &["x"])]);
        match read(&spec, &path, &Means::default()) {
            Ok(rows) => assert!(closed && codes(&rows).len() == 2, "{end}"),
            Err(IngestError::Unclosed { place }) => {
                assert!(!closed && place.row == 2 && place.line == Some(3), "{end}")
            }
            Err(other) => panic!("{end}: {other:?}"),
        }
    }
}

#[test]
fn debug_shows_nothing() {
    let rows = Rows::from_codes(&[9], &[vec![7; 31]]).unwrap();
    assert_eq!(format!("{rows:?} {rows:#?}"), "Rows { <private> } Rows { <private> }");
}

/// Progress is in bytes, never runs back, and ends with the size of the file.
#[test]
fn progress_is_bytes() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    std::fs::write(&path, format!("x\n{}", "a\n".repeat(1_500_000))).unwrap();
    let steps = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = steps.clone();
    let watch = Watch::hearing(move |_, done, of| heard.lock().unwrap().push((done, of)));
    let means = Means { watch, ..Means::default() };
    read(&spec([labels("x", &["a"])]), &path, &means).unwrap();
    let steps = steps.lock().unwrap();
    assert!(
        steps.len() >= 3
            && steps.is_sorted()
            && steps.iter().all(|&(done, of)| done <= of && of == 3_000_002)
    );
    assert_eq!(steps.last(), Some(&(3_000_002, 3_000_002)));
}

/// Reading that is asked to stop ends with an error, on any number of threads.
#[test]
fn reading_stops() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    std::fs::write(&path, format!("x\n{}", "a\n".repeat(1_500_000))).unwrap();
    for threads in [1, 3] {
        let watch = Watch::default();
        let stops = std::sync::Arc::new(std::sync::OnceLock::new());
        let own: std::sync::Arc<std::sync::OnceLock<Watch>> = stops.clone();
        let hears = Watch::hearing(move |_, _, _| own.get().unwrap().stop());
        stops.set(hears.clone()).unwrap();
        let settings = Settings { threads, block: 1 << 16, memory: 1 << 20 };
        let read = |watch| {
            read_with(&spec([labels("x", &["a"])]), &path, &Means { watch, ..Means::default() }, settings)
        };
        assert!(matches!(read(hears), Err(IngestError::Stopped)));
        assert!(read(watch).is_ok());
    }
}

/// All settings that must make no difference: threads, and bytes read at a time.
const SETTINGS: [(usize, usize); 6] = [(1, 1 << 18), (1, 1), (2, 3), (8, 1), (8, 7), (2, 64)];

/// The rows as the CSV library and a plain map have them; or the number of the first row with a mistake.
fn naive(spec: &Spec, text: &[u8]) -> Result<Vec<Vec<u32>>, u64> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text);
    let mut records = reader.byte_records().map(|r| r.unwrap());
    let header = records.next().unwrap();
    let at: Vec<usize> =
        spec.columns.iter().map(|c| header.iter().position(|n| n == c.column.as_bytes()).unwrap()).collect();
    let records: Vec<csv::ByteRecord> = records.collect();
    // What follows a cell that nothing closes is in the cell.
    let more = [text, b"\nx"].concat();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&*more);
    let unclosed = reader.byte_records().count() == 1 + records.len();
    let mut rows = Vec::new();
    for (record, row) in records.iter().zip(1..) {
        if record.len() != header.len() || unclosed && row == records.len() as u64 {
            return Err(row);
        }
        let code = |(column, &at): (&Column, &usize)| {
            let Coding::Labels(labels) = &column.coding else { unreachable!() };
            let cell = &record[at];
            let label = std::str::from_utf8(cell).ok().and_then(|cell| labels.get(cell).copied());
            match column.missing {
                Some(missing) if cell.is_empty() => Some(missing),
                _ if cell.is_empty() => label,
                _ if std::str::from_utf8(cell).is_err() => None,
                _ => label.or(column.other),
            }
        };
        let codes: Option<Vec<u32>> = spec.columns.iter().zip(&at).map(code).collect();
        rows.push(codes.ok_or(row)?);
    }
    Ok(rows)
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(tries(32, 256) as u32))]
    /// Random files: every way to end a line, quotes anywhere, wrong widths, a missing last line end.
    #[test]
    fn as_a_naive_reader(
        parts in proptest::collection::vec(proptest::sample::select(vec![
            "a", "b", ",", ",", ",", "\n", "\n", "\r\n", "\r", "\"a\"", "\"b,\"\"\n\"", "\"", "\"\"", "é", "x", "a,b\n", "a,\"a\"\n", "\"\r\n\",x\r\n",
        ]), 0..60),
        strict in proptest::bool::ANY,
        mark in proptest::bool::ANY,
    ) {
        let x = labels("x", &["a", "b", "b,\"\n", "\r\n", "x"]);
        let y = labels("y", &["a", "b", "é", ""]);
        let spec = if strict { spec([y, x]) } else { spec([lenient(y), lenient(x)]) };
        let text = format!("{}x,y\n{}", if mark { "\u{feff}" } else { "" }, parts.concat());
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("rows.csv");
        std::fs::write(&path, &text).unwrap();
        let expected = naive(&spec, text.as_bytes());
        let mut errors = Vec::new();
        for (threads, block) in SETTINGS {
            let rows = read_with(&spec, &path, &Means::default(), Settings { threads, block, memory: 1 << 20 }).map(|rows| codes(&rows));
            match (rows, &expected) {
                (Ok(rows), Ok(expected)) => proptest::prop_assert_eq!(&rows, expected),
                (Err(IngestError::Ragged { place, .. } | IngestError::Unclosed { place } | IngestError::Cell { place, .. }), Err(row)) if place.row == *row => {
                    errors.push(read_with(&spec, &path, &Means::default(), Settings { threads, block, memory: 1 << 20 }).unwrap_err());
                }
                (other, _) => proptest::prop_assert!(false, "{:?} {:?} at {} {}", other, expected, threads, block),
            }
        }
        proptest::prop_assert!(errors.windows(2).all(|two| two[0] == two[1]), "{errors:?}");
    }

    /// One column, line by line.
    #[test]
    fn one_column_in_any_blocks(
        parts in proptest::collection::vec(proptest::sample::select(vec!["a", "\n", "\n", "\r\n", "\r", "\"\n\"\n", "\"\"\r", "b\n"]), 0..40),
        end in proptest::sample::select(vec!["\n", "\r\n", "\r"]),
    ) {
        let text = parts.concat();
        proptest::prop_assume!(!text.contains("a\""));
        let spec = spec([lenient(labels("x", &["a", "b", "\n", "aa"]))]);
        // What stands in quotes is no line end.
        let plain = text.replace("\"\n\"", "Q").replace("\"\"", "").replace("\r\n", "\n").replace('\r', "\n");
        let plain = if end == "\r" { /* then it is CRLF */ plain.strip_prefix('\n').filter(|_| text.starts_with('\n')).unwrap_or(&plain) } else { &plain };
        let mut lines: Vec<&str> = plain.split('\n').collect();
        if lines.last() == Some(&"") {
            lines.pop();
        }
        let code = |line: &&str| vec![["a", "b", "Q", "aa", ""].iter().position(|l| l == line).unwrap_or(5) as u32];
        let expected: Vec<Vec<u32>> = lines.iter().map(code).collect();
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("rows.csv");
        std::fs::write(&path, format!("x{end}{text}")).unwrap();
        for (threads, block) in SETTINGS {
            let rows = read_with(&spec, &path, &Means::default(), Settings { threads, block, memory: 1 << 20 }).unwrap();
            proptest::prop_assert_eq!(&codes(&rows), &expected, "{:?} at {} {}", text, threads, block);
        }
    }

    /// Which rows of a unit count does not depend on who reads them.
    #[test]
    fn units_in_any_blocks(ids in proptest::collection::vec(0u8..5, 0..60), max_rows in 0u32..4) {
        let spec = with_unit(spec([labels("x", &["a", "b", "c"])]), "who", max_rows);
        let mut text = "x,who\n".to_owned();
        let mut seen = [0; 5];
        let mut expected = Vec::new();
        for (at, &id) in ids.iter().enumerate() {
            text += &format!("{},{id}\n", ["a", "b", "c"][at % 3]);
            if seen[id as usize] < max_rows {
                expected.push(vec![at as u32 % 3]);
            }
            seen[id as usize] += 1;
        }
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("rows.csv");
        std::fs::write(&path, text).unwrap();
        for (threads, block) in SETTINGS {
            let rows = read_with(&spec, &path, &Means::default(), Settings { threads, block, memory: 1 << 20 }).unwrap();
            let mut counted = codes(&rows);
            counted.sort_unstable();
            expected.sort_unstable();
            proptest::prop_assert_eq!(&counted, &expected);
            proptest::prop_assert_eq!(rows.cut(), seen.iter().filter(|&&n| n > max_rows).count() as u64);
        }
    }
}

#[test]
fn another_delimiter_is_suspected() {
    let expected = |better: &str| {
        format!(
            "the data has no column \"sex\" where it is split at \",\", but has it where it is split at {better}: say `delimiter = {better}` in [data]"
        )
    };
    let spec = || spec([labels("sex", &["a"]), labels("x", &["y"])]);
    bad(&spec(), "x;sex\ny;MARS\n", "MARS", &expected("\";\""));
    bad(&spec(), "x\tsex\ny\tMARS\n", "MARS", &expected("\"\\t\""));
    bad(
        &spec(),
        "MARS;sax\na;y\n",
        "MARS",
        "the data has no column \"sex\" among its 1 (a file without a header row needs `columns` in the spec)",
    );
}

/// More rows than fit a chunk, on several threads: their order is that of the file, and so is the row that is told.
#[test]
fn long_files() {
    let spec = spec([column("n", 100_000, Coding::Range { lo: 0, hi: 99_999 }), labels("x", &["y"])]);
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    let row = |n: u32| format!("{n},\"y\"\r\n");
    let text: String = (0..100_000).map(row).collect();
    std::fs::write(&path, format!("n,x\r\n{text}")).unwrap();
    for (threads, block) in [(1, 1 << 18), (2, 1000), (8, 30_000)] {
        let rows =
            read_with(&spec, &path, &Means::default(), Settings { threads, block, memory: 1 << 20 }).unwrap();
        assert!((0..100_000).map(|n| vec![n, 0]).eq(codes(&rows)));
    }
    // Two bad rows far apart: the first is told, whoever meets which.
    let bad = text.replace("70001,", "MARS,").replace("99000,", "MARS,");
    std::fs::write(&path, format!("n,x\r\n{bad}")).unwrap();
    for (threads, block) in [(1, 1 << 18), (2, 1000), (8, 30_000)] {
        let error = read_with(&spec, &path, &Means::default(), Settings { threads, block, memory: 1 << 20 })
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "row 70002 (line 70003), column \"n\": the value is not a whole number, and the dimension has no `other`"
        );
    }
}

#[test]
fn several_files() {
    let spec = spec([labels("x", &["a", "b"])]);
    let dir = TempDir::new().unwrap();
    let put = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    let pattern = dir.path().join("part-*.csv");
    let read = |path: &Path| super::read(&spec, path, &Means::default()).map(|rows| codes(&rows));
    let refused = |path: &Path| read(path).unwrap_err().to_string();
    assert_eq!(refused(dir.path()), "the data's path names no file");
    assert_eq!(refused(&pattern), "the data's path names no file");
    put("part-2.csv", "x\nb\n");
    put("part-1.csv", "y,x\n0,a\n0,a");
    put("_SUCCESS", "");
    put(".part-1.csv.crc", "MARS");
    let expected = vec![vec![0], vec![0], vec![1]];
    assert_eq!(read(dir.path()).unwrap(), expected);
    assert_eq!(read(&pattern).unwrap(), expected);
    assert_eq!(read(&dir.path().join("part-?.csv")).unwrap(), expected);
    put("part-3.csv", "x\na\nMARS\n");
    assert_eq!(
        refused(dir.path()),
        "part-3.csv (file 3 of 3): row 2 (line 3), column \"x\": the value is outside the domain, and the dimension has no `other`"
    );
    // A wrong file is told before others are read, and a wrong row.
    put("part-4.csv", "z\na\n");
    assert!(refused(dir.path()).starts_with("part-4.csv (file 4 of 4): the data has no column \"x\""));
    // What would be left out, and what would be counted twice.
    put("more.txt", "x\na\n");
    assert!(refused(dir.path()).contains("neither in .csv nor in .parquet"));
    std::fs::remove_file(dir.path().join("more.txt")).unwrap();
    put("part-1.parquet", "");
    assert!(refused(dir.path()).contains("both .csv and .parquet"));
    std::fs::remove_file(dir.path().join("part-1.parquet")).unwrap();
    std::fs::create_dir(dir.path().join("more")).unwrap();
    assert!(refused(dir.path()).contains("holds other folders"));
    // The unit's rows are counted across files.
    let dir = TempDir::new().unwrap();
    for file in ["1.csv", "2.csv"] {
        std::fs::write(dir.path().join(file), "who,x\nu,a\nv,b\n").unwrap();
    }
    let rows = super::read(&with_unit(spec.clone(), "who", 1), dir.path(), &Means::default()).unwrap();
    let mut seen = codes(&rows);
    seen.sort_unstable();
    assert_eq!((seen, rows.cut()), (vec![vec![0], vec![1]], 2));
}

fn in_encoding(spec: Spec, encoding: Encoding) -> Spec {
    with_options(spec, |o| o.encoding = encoding)
}

#[test]
fn encodings_of_one_byte() {
    let own = || [labels("plaça", &["Málaga", "Ã©", "a,é", "ÿ"]), labels("x", &["y"])];
    let latin = |columns: [_; 2]| in_encoding(spec(columns), Encoding::Latin1);
    let read = |spec: &Spec, bytes: &[u8]| read_bytes(spec, bytes);
    // What is written must be what the spec lists, however odd: nothing is guessed.
    let text = b"pla\xe7a,x\nM\xe1laga,y\n\xc3\xa9,y\n\"a,\xe9\",y\n\xff,y\n";
    assert_eq!(read(&latin(own()), text).unwrap(), [[0, 0], [1, 0], [2, 0], [3, 0]]);
    let windows = |columns: [_; 2]| in_encoding(spec(columns), Encoding::Windows1252);
    assert_eq!(read(&windows(own()), text).unwrap(), [[0, 0], [1, 0], [2, 0], [3, 0]]);
    let euro = windows([labels("p", &["€", "’"]), labels("x", &["y"])]);
    assert_eq!(read(&euro, b"p,x\n\x80,y\n\x92,y\n").unwrap(), [[0, 0], [1, 0]]);
    // Other encodings than the spec says: by row and column, also where `other` would swallow them; never with a value.
    let no_character = "row 2 (line 3), column \"plaça\": the cell holds bytes that are no characters in latin-1, the `encoding` of the spec";
    bad(&latin(own().map(lenient)), b"pla\xe7a,x\nM\xe1laga,y\nMARS\x80,y\n", "MARS", no_character);
    let utf8 =
        "row 2 (line 3), column \"plaça\": the cell is UTF-8 text, not latin-1, the `encoding` of the spec";
    let text = [&b"pla\xe7a,x\nM\xe1laga,y\n"[..], "MARSá,y\n".as_bytes()].concat();
    bad(&latin(own().map(lenient)), &text, "MARS", utf8);
    bad(&latin(own()), &text, "MARS", utf8);
    // A strange value in the right encoding is a strange value.
    assert_eq!(read(&latin(own().map(lenient)), b"pla\xe7a,x\nM\xe4rz,y\n").unwrap(), [[5, 0]]);
    // The header says it, too.
    let header = read(&spec(own()), b"pla\xe7a,x\n").unwrap_err().to_string();
    assert!(header.contains("its header row is not utf-8") && header.contains("latin-1"), "{header}");
    let header = read(&latin(own()), "plaça,x\n".as_bytes()).unwrap_err().to_string();
    assert!(header.contains("its header row is UTF-8, not latin-1"), "{header}");
    // Columns that nobody reads may hold anything.
    let one = in_encoding(spec([labels("x", &["y"])]), Encoding::Latin1);
    assert_eq!(read(&one, b"x,other\ny,\x80\n").unwrap(), [[0]]);
    // Any text is taken as it is read.
    let any = in_encoding(spec([column("x", 1, Coding::Text)]), Encoding::Latin1);
    assert!(read_bytes_of(&any, b"x\n\xe9\n").is_ok() && read_bytes_of(&any, b"x\n\x80\n").is_err());
}

fn read_bytes_of(spec: &Spec, bytes: &[u8]) -> Result<Rows, IngestError> {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    std::fs::write(&path, bytes).unwrap();
    super::read(spec, &path, &Means::default())
}

proptest::proptest! {
    /// Latin-1 in any pieces, on any number of threads, is the same file in UTF-8; and so is the row of the first mistake.
    #[test]
    fn latin_is_utf8_of_the_same_characters(
        cells in proptest::collection::vec(proptest::sample::select(vec!["é", "a\n\"ü", "", "ÿÿ", "z"]), 0..300),
        wrong in proptest::option::of(0usize..300),
        block in 1usize..60,
        threads in 1usize..4,
    ) {
        let mut text = "x,y\n".to_owned();
        for (row, cell) in cells.iter().enumerate() {
            let cell = if wrong == Some(row) { "þ" } else { cell };
            text += &format!("\"{}\",é\n", cell.replace('"', "\"\""));
        }
        let bytes: Vec<u8> = text.chars().map(|c| c as u8).collect();
        let spec = spec([labels("x", &["é", "a\n\"ü", "", "ÿÿ", "z"]), labels("y", &["é"])]);
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("rows.csv");
        let read = |spec: &Spec, bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let settings = Settings { threads, block, memory: 1 << 20 };
            super::read_with(spec, &path, &Means::default(), settings).map(|rows| codes(&rows)).map_err(|e| e.to_string())
        };
        let expected = read(&spec, text.as_bytes());
        proptest::prop_assert_eq!(read(&in_encoding(spec, Encoding::Latin1), &bytes), expected);
    }
}

#[test]
fn days_of_the_calendar() {
    let days = |first, last: i64| column("d", (last - first + 1) as usize, Coding::Dates { first, last });
    // From 2024-02-28 to 2024-03-01.
    let own = || days(19_781, 19_783);
    let strict = spec([own(), labels("x", &["y"])]);
    good(&strict, "d,x\n2024-02-28,y\n2024-02-29,y\n2024-03-01,y\n", &[&[0, 0], &[1, 0], &[2, 0]]);
    let at = |fault: &str| format!("row 1 (line 2), column \"d\": {fault}");
    let outside = at("the value is outside the domain, and the dimension has no `other`");
    for day in ["2024-03-02", "2024-02-27", "0001-01-01", "9999-12-31"] {
        bad(&strict, format!("d,x\n{day},y\n"), day, &outside);
    }
    let none = at("the value is not a date (year-month-day), and the dimension has no `other`");
    for text in [
        "2024-02-30",
        "2023-02-29",
        "2024-2-29",
        "29.02.2024",
        "2024-02-29T00:00",
        " 2024-02-29",
        "20240229",
        "19782",
        "MARS",
    ] {
        bad(&strict, format!("d,x\n{text},y\n"), text, &none);
    }
    bad(&strict, "d,x\n,y\n", NONE, &at("the cell is empty, and the dimension has no `missing`"));
    let lenient_ = spec([lenient(own()), labels("x", &["y"])]);
    good(&lenient_, "d,x\n,y\n2024-03-02,y\nMARS,y\n2024-02-29,y\n", &[&[3, 0], &[4, 0], &[4, 0], &[1, 0]]);
    // A range too long to be looked up.
    let long = spec([days(-719_528, 2_932_896), labels("x", &["y"])]);
    good(&long, "d,x\n0000-01-01,y\n9999-12-31,y\n", &[&[0, 0], &[3_652_424, 0]]);
}

/// Files that are no tables are told by their beginning.
#[test]
fn files_of_another_kind() {
    let spec = spec(three());
    for (start, what) in [
        (&b"PAR1"[..], "is Parquet, not delimited text"),
        (b"\x1f\x8b\x08", "is compressed with gzip"),
        (b"PK\x03\x04", "is a ZIP archive or a spreadsheet"),
        (b"\xff\xfes\0e\0x\0", "is UTF-16"),
        (b"\x7fELF\0\0\n", "holds bytes that are no text"),
    ] {
        let error = read_bytes(&spec, &[start, &[0; 100_000]].concat()).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    // Excel writes this line for itself.
    for text in ["sep=;\r\nplanet;x\r\n", "\u{feff}SEP=,\nplanet,x\n", "\"sep=;\"\nplanet;x\n"] {
        let error = read_bytes(&spec, text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("begins with a line `sep=`"), "{text:?} {error}");
    }
    // A header without an end is not read to the end.
    let error = read_bytes(&spec, &vec![b'x'; 30 << 20]).unwrap_err();
    assert!(matches!(error, IngestError::Long { .. }), "{error}");
}

/// A quote that is never closed is no reason to hold the rest of a large file in memory.
#[test]
fn records_without_an_end() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    std::fs::write(&path, format!("x\na\n\"MARS\n{}", "a\n".repeat(33 << 20))).unwrap();
    let error = read(&spec([labels("x", &["a"])]), &path, &Means::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "row 2 (line 3): the record is longer than 64 MiB: a quote that is never closed, or no text at all"
    );
}
