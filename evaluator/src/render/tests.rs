use super::csv::label as safe_label;
use super::*;
use crate::cube::Bounds;
use serde_json::{Map, Value, json as value};

fn figure(estimate: f64, std_error: f64) -> ResultCell {
    ResultCell::Figure(ResultFigure {
        estimate,
        std_error,
        low: estimate - 1.96 * std_error,
        high: estimate + 1.96 * std_error,
    })
}

fn label(text: &str) -> ResultCell {
    ResultCell::Label(text.into())
}

fn column(name: &str, kind: ColumnKind) -> ResultColumn {
    ResultColumn { name: name.into(), kind }
}

fn small() -> ResultTable {
    ResultTable {
        columns: vec![
            column("sex", ColumnKind::Text),
            column("year", ColumnKind::Integer),
            column("n", ColumnKind::Figure),
        ],
        rows: vec![
            vec![label("F"), label("2001"), figure(12_345.678, 3.21)],
            vec![label("M, or \"other\""), label("2002"), figure(-0.04, 3.21)],
            vec![
                label("all\u{1b}[31m"),
                label("2003"),
                ResultCell::Figure(ResultFigure {
                    estimate: 1.0,
                    std_error: f64::INFINITY,
                    low: f64::NEG_INFINITY,
                    high: f64::INFINITY,
                }),
            ],
        ],
        level: 0.95,
        ..ResultTable::default()
    }
}

/// No column hides a part of a figure, whatever it is called.
#[test]
fn names_of_parts_are_theirs() {
    let keys = |columns: &[(&str, ColumnKind)]| {
        let columns = columns.iter().map(|(name, kind)| column(name, *kind)).collect();
        let table = ResultTable { columns, ..ResultTable::default() };
        table.keys().into_iter().map(|k| k.name).collect::<Vec<_>>().join(" ")
    };
    let (text, of) = (ColumnKind::Text, ColumnKind::Figure);
    assert_eq!(keys(&[("low", text), ("n", of)]), "low_ n estimate std_error low high");
    assert_eq!(keys(&[("estimate", of)]), "estimate std_error low high");
    assert_eq!(keys(&[("high", of)]), "high_ estimate std_error low high");
    let both = [("a_low", text), ("a", of), ("b", of)];
    assert_eq!(
        keys(&both),
        "a_low_ a a_std_error a_low a_high b b_std_error b_low b_high estimate std_error low high"
    );
}

#[test]
fn a_table_for_people() {
    let expected = "\
sex            year         n  std error  95 % from        to
─────────────  ────  ────────  ─────────  ─────────  ────────
F              2001  12,345.7        3.2   12,339.3  12,352.0
M, or \"other\"  2002       0.0        3.2       -6.4       6.3
all\\u{1b}[31m  2003       1.0          ∞         −∞         ∞
";
    assert_eq!(table(&small()), expected);
}

#[test]
fn digits_follow_the_standard_error_and_intervals_round_outwards() {
    let row = |estimate, std_error| ResultTable {
        columns: vec![column("n", ColumnKind::Figure)],
        rows: vec![vec![figure(estimate, std_error)]],
        level: 0.9,
        ..ResultTable::default()
    };
    for (estimate, std_error, expected) in [
        (1_234_567.0, 320.0, "1,234,570        320  1,233,930  1,235,200"),
        (0.123456, 0.0456, "0.123      0.046      0.034  0.213"),
        (5.0, 0.0, "5      exact          5   5"),
        (2.5, 0.0, "2.5      exact        2.5  2.5"),
        (10.0, 1.0, "10.0        1.0        8.0  12.0"),
    ] {
        let text = table(&row(estimate, std_error));
        assert_eq!(text.lines().nth(2).map(str::trim), Some(expected), "{text}");
        assert!(text.contains("90 % from"));
    }
}

#[test]
fn everything_fits_eighty_columns() {
    let long = "a very long label that nobody could ever print in full on a terminal of eighty columns";
    for labels in [1, 3, 12] {
        for figures in [1, 2, 3, 9] {
            for size in [1.0, 1e9, -1e13, 1e300] {
                let columns = (0..labels)
                    .map(|i| column(&format!("{long} {i}"), ColumnKind::Text))
                    .chain((0..figures).map(|i| column(&format!("{long} {i}"), ColumnKind::Figure)))
                    .collect();
                let row: Vec<ResultCell> = (0..labels)
                    .map(|_| label(long))
                    .chain((0..figures).map(|_| figure(size, 0.01)))
                    .collect();
                let text = table(&ResultTable {
                    columns,
                    rows: vec![row; 3],
                    level: 0.95,
                    ..ResultTable::default()
                });
                assert!(text.lines().all(|l| l.chars().count() <= WIDTH), "{text}");
                assert!(text.lines().count() >= 5);
            }
        }
    }
}

#[test]
fn several_figures_stand_side_by_side_or_are_left_out() {
    let with = |names: &[&str], value: f64| ResultTable {
        columns: [column("sex", ColumnKind::Text)]
            .into_iter()
            .chain(names.iter().map(|n| column(n, ColumnKind::Figure)))
            .collect(),
        rows: vec![[label("F")].into_iter().chain(names.iter().map(|_| figure(value, 1.5))).collect()],
        level: 0.95,
        ..ResultTable::default()
    };
    assert_eq!(
        table(&with(&["n", "share"], 20.0)),
        "sex     n  ± s.e.   low  high  share  ± s.e.   low  high\n\
         ───  ────  ──────  ────  ────  ─────  ──────  ────  ────\n\
         F    20.0     1.5  17.0  23.0   20.0     1.5  17.0  23.0\n"
    );
    assert_eq!(
        table_within(&with(&["n", "share"], 20.0), 60),
        table(&with(&["n", "share"], 20.0)),
        "57 characters fit"
    );
    let told = |width, what: &str| {
        let text = table_within(&with(&["n", "share", "more"], 20.0), width);
        assert!(
            text.lines().all(|l| l.chars().count() <= width) && text.lines().nth(3) == Some(""),
            "{text}"
        );
        assert!(text.replace('\n', " ").contains(what), "{text}");
    };
    told(80, "for want of room: standard errors. A wider terminal");
    told(60, "for want of room: standard errors. A wider terminal");
    told(50, "for want of room: standard errors, more. A");
    told(40, "for want of room: standard errors, more. A");
    told(30, "for want of room: standard errors, share, more. A");
    let wide = table_within(&with(&["n", "share", "more"], 20.0), 120);
    assert!(wide.lines().count() == 3 && wide.contains("± s.e."), "{wide}");
}

/// What says how good a figure is goes before it does, and is named among what is not shown.
#[test]
fn classes_stand_with_their_figures() {
    let names = ["x", "y", "z"];
    let beside = |name: &str| {
        [
            column(name, ColumnKind::Figure),
            column(&format!("{name}_cv"), ColumnKind::Number),
            column(&format!("{name}_reliability"), ColumnKind::Text),
        ]
    };
    let cells = || [figure(20.0, 1.5), ResultCell::Number(7.5), label("A")];
    let result = ResultTable {
        columns: [column("sex", ColumnKind::Text)]
            .into_iter()
            .chain(names.into_iter().flat_map(beside))
            .collect(),
        rows: vec![[label("F")].into_iter().chain(names.into_iter().flat_map(|_| cells())).collect()],
        level: 0.95,
        ..ResultTable::default()
    };
    for width in 25..160 {
        let text = table_within(&result, width);
        let head: Vec<&str> = text.lines().next().unwrap_or_default().split_whitespace().collect();
        for name in names {
            let beside = head.iter().any(|h| h.starts_with(&format!("{name}_")));
            assert!(head.contains(&name) || !beside, "{width}: {text}");
        }
    }
    let text = table_within(&result, 80).replace('\n', " ");
    assert!(text.contains("for want of room: standard errors, z, z_cv, z_reliability. A wider"), "{text}");
    // A label of that name is a label.
    let mut labels = result.clone();
    labels.columns[3].name = "place".into();
    let text = table_within(&labels, 40);
    assert!(text.lines().next().is_some_and(|l| l.contains("place")), "{text}");
}

/// Levels that are nearly none or all are not shown as these.
#[test]
fn levels_are_never_rounded_to_all() {
    let shown = |level: f64| format!("{} %", super::percent(level));
    for (level, text) in [
        (0.95, "95 %"),
        (0.9995, "99.95 %"),
        (0.123_456_78, "12.3457 %"),
        (0.999_999_999_9, "99.99999999 %"),
        (0.000_000_1, "0.00001 %"),
        (1.0 - f64::EPSILON / 2.0, "99.99999999999999 %"),
    ] {
        assert_eq!(shown(level), text);
    }
    let together = Together {
        intervals: 4,
        each: 0.999_999_999_97,
        max_z: None,
        ratios: false,
        steps: false,
        refused: None,
    };
    let note = together.note(0.999_999_999_9);
    assert!(note.contains("each alone with 0.99999999997"), "{note}");
    let max_z = Some(crate::joint::MaxZ { critical: 5.0, draws: 50_000, covered: 0.999_98 });
    let note = Together { max_z, ..together }.note(0.9999);
    assert!(note.contains(" 99.998 % of"), "{note}");
}

/// Rows are counted, of which a unit may have several.
#[test]
fn what_is_left_out_are_rows() {
    let left = |units| Caveat::LeftOut {
        figure: None,
        fate: crate::sql::Fate::Unmet,
        level: "age".into(),
        categories: vec!["na".into()],
        within: None,
        units,
        period: None,
    };
    let three = ResultFigure { estimate: 3.0, std_error: 0.1, low: 3.0, high: 3.0 };
    assert_eq!(
        left(Some(three)).text(0.95),
        "WHERE: leaves out 3.00 (95 %: 3.00 to 3.00) rows whose age is na: no number to compare."
    );
    assert_eq!(
        left(None).text(0.95),
        "WHERE: leaves out rows (how many, this release does not tell) whose age is na: no number to compare."
    );
}

#[test]
fn csv_keeps_every_digit() {
    let mut result = small();
    result.rows[0][2] =
        ResultCell::Figure(ResultFigure { estimate: 0.1 + 0.2, std_error: 1e-9, low: -0.0, high: 1e20 });
    assert_eq!(
        csv(&result),
        "sex,year,n,estimate,std_error,low,high\r\n\
         F,2001,0.30000000000000004,0.30000000000000004,1e-9,0,1e20\r\n\
         \"M, or \"\"other\"\"\",2002,-0.04,-0.04,3.21,-6.3316,6.2516\r\n\
         all\u{1b}[31m,2003,1,1,inf,-inf,inf\r\n"
    );
    // Read back by another implementation.
    #[cfg(feature = "compile")]
    {
        let text = csv(&result);
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let second = reader.records().nth(1).and_then(Result::ok).expect("a second row");
        assert_eq!(second.get(0), Some("M, or \"other\""));
        assert_eq!(second.get(3).and_then(|v| v.parse::<f64>().ok()), Some(-0.04));
    }
}

#[test]
fn json_has_the_selected_names_and_the_four() {
    let mut further = Map::new();
    further.insert("release".into(), value!("town"));
    further.insert("level".into(), value!("never twice"));
    let text = json(&small(), &further).expect("finite");
    assert!(text.starts_with(
        "{\"rows\":[{\"sex\":\"F\",\"year\":2001,\"n\":12345.678,\"estimate\":12345.678,\"std_error\":3.21,\"low\":"
    ));
    assert!(text.ends_with(",\"level\":0.95,\"release\":\"town\"}"));
    let read: Value = serde_json::from_str(&text).expect("valid");
    assert_eq!(read["rows"][2]["low"], Value::Null);
    assert_eq!(read["rows"][1]["sex"], "M, or \"other\"");
}

#[test]
fn several_figures_have_names_of_their_own() {
    let result = ResultTable {
        columns: vec![column("estimate", ColumnKind::Figure), column("s", ColumnKind::Figure)],
        rows: vec![vec![figure(4.0, 1.0), figure(0.5, 0.25)]],
        level: 0.95,
        ..ResultTable::default()
    };
    assert_eq!(
        csv(&result).lines().next(),
        Some(
            "estimate,estimate_std_error,estimate_low,estimate_high,s,s_std_error,s_low,s_high,std_error,low,high"
        )
    );
    let read: Value = serde_json::from_str(&json(&result, &Map::new()).expect("finite")).expect("valid");
    assert_eq!(
        (&read["rows"][0]["std_error"], &read["rows"][0]["s_std_error"]),
        (&value!(1.0), &value!(0.25))
    );
}

#[test]
fn whole_number_labels_are_numbers_only_if_all_are() {
    let level = |labels: &[&str], bounds: Vec<Option<Bounds>>| Categories {
        name: "x".into(),
        labels: labels.iter().map(|l| l.to_string()).collect(),
        parent: vec![0; labels.len()],
        bounds,
    };
    let one = |v: f64| Some(Bounds { lo: v, hi: v, closed: true });
    for (labels, bounds, kind) in [
        (&["1", "-2"][..], vec![one(1.0), one(-2.0)], ColumnKind::Integer),
        (&["1", "02"], vec![one(1.0), one(2.0)], ColumnKind::Text),
        (&["1", "unknown"], vec![one(1.0), None], ColumnKind::Text),
        (&["1", "2"], vec![], ColumnKind::Text),
        (&["1", "2"], vec![one(1.0), Some(Bounds { lo: 2.0, hi: 3.0, closed: true })], ColumnKind::Text),
    ] {
        assert_eq!(ColumnKind::of_level(&level(labels, bounds)), kind, "{labels:?}");
    }
}

#[test]
fn only_probabilities_are_nearly_certain() {
    let mut result = small();
    for name in ["prob", "std_error"] {
        result.columns.push(column(name, ColumnKind::Number));
    }
    for row in &mut result.rows {
        row.extend([ResultCell::Number(0.999_999_89), ResultCell::Number(0.999_999_89)]);
    }
    let text = table(&result);
    let line = text.lines().nth(2).unwrap_or_default();
    assert!(line.contains(">0.9999") && line.trim_end().ends_with("  1"), "{text}");
}

#[test]
fn notes_and_plain_numbers_stand_with_their_figures() {
    let mut result = small();
    result.columns.push(column("prob", ColumnKind::Number));
    for (row, p) in result.rows.iter_mut().zip([0.25, 1.0, 0.123456]) {
        row.push(ResultCell::Number(p));
    }
    result.methods = vec![("n".into(), "by hand".into())];
    result.notes = vec!["word ".repeat(40).trim_end().into(), "short".into()];
    let text = table(&result);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].ends_with("    prob") && lines[2].ends_with("  0.25") && lines[4].ends_with("  0.1235"),
        "{text}"
    );
    assert_eq!(lines[5], "");
    assert_eq!(lines[6], "word ".repeat(16).trim_end());
    assert_eq!(lines.last(), Some(&"short"));
    assert!(lines.iter().all(|l| l.chars().count() <= WIDTH));
    let read: Value = serde_json::from_str(&json(&result, &Map::new()).expect("finite")).expect("valid");
    assert_eq!((&read["rows"][0]["prob"], &read["method"]["n"]), (&value!(0.25), &value!("by hand")));
    assert_eq!(read["notes"][1], "short");
    // Too wide for one line: what is left out is named, and the first figure stays.
    for name in ["a figure with a long name", "another figure", "a third one"] {
        result.columns.push(column(name, ColumnKind::Figure));
        result.rows.iter_mut().for_each(|r| r.push(figure(1e6, 0.5)));
    }
    let text = table(&result);
    assert_eq!(text.lines().filter(|l| l.contains("0.25")).count(), 1, "{text}");
    assert!(text.contains("Not shown, for want of room: standard errors,"), "{text}");
}

/// A spreadsheet takes such labels for formulas; numbers stay numbers.
#[test]
fn labels_that_look_like_formulas() {
    for text in
        ["=1+1", "+a", "-a", "@x", "\tx", "\rx", "\nx", "＝1", "-inf", "-NaN", "+", "=", "- 5", "-5 to -1"]
    {
        assert_eq!(safe_label(text), format!("'{text}"));
    }
    for text in ["", "F", "-5", "+5", "-1e3", "-.5", "a=b", "1-2", "'=1", " =1", "0-4"] {
        assert_eq!(safe_label(text), text);
    }
    // What parts fields elsewhere makes beginnings, quotes or not.
    for (text, safe) in [
        ("a;=1+1", "a;'=1+1"),
        ("a;\"=1+1;b", "a;\"'=1+1;b"),
        ("a\t @x;b;+c", "a\t '@x;b;'+c"),
        ("a\n-b", "a\n'-b"),
        ("\t=x", "'\t'=x"),
    ] {
        assert_eq!(safe_label(text), safe);
    }
    for text in ["a;b", "1;-5", "a; b=c", ";;", "0;1;+2"] {
        assert_eq!(safe_label(text), text);
    }
    let fields = ["a", "a;b", "a\tb", "a,b", "say \"a\"", "a;=1"].map(|t| csv_field(t).into_owned());
    assert_eq!(fields, ["a", "\"a;b\"", "\"a\tb\"", "\"a,b\"", "\"say \"\"a\"\"\"", "\"a;'=1\""]);
}
