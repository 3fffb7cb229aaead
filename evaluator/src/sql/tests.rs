//! Queries against brute force, and the exact text of refusals.

mod amounts;
mod inside;

use super::*;
use crate::cube::{Bounds, Categories, Dimension, Legend, Level, LevelLabels, MAX_WEIGHTS, required_level};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;

fn level(name: &str, labels: &[&str], parent: &[u32], bounds: Vec<Option<Bounds>>) -> Categories {
    Categories {
        name: name.into(),
        labels: labels.iter().map(|l| l.to_string()).collect(),
        parent: parent.to_vec(),
        bounds,
    }
}

fn plain(name: &str, labels: &[&str]) -> Dimension {
    Dimension::plain(name, labels.iter().map(|l| l.to_string()).collect())
}

fn closed(lo: f64, hi: f64) -> Option<Bounds> {
    Some(Bounds { lo, hi, closed: true })
}

/// Single years 0..=29 with 5-year bands and a missing category at both levels.
fn age() -> Dimension {
    let years: Vec<String> = (0..30).map(|y| y.to_string()).chain(["unknown".into()]).collect();
    let years: Vec<&str> = years.iter().map(String::as_str).collect();
    let bands = ["0-4", "5-9", "10-14", "15-19", "20-24", "25-29", "unknown"];
    let parent: Vec<u32> = (0..30).map(|y| y / 5).chain([6]).collect();
    let band_bounds =
        (0..6).map(|b| closed(5.0 * f64::from(b), 5.0 * f64::from(b) + 4.0)).chain([None]).collect();
    let year_bounds = (0..30).map(|y| closed(f64::from(y), f64::from(y))).chain([None]).collect();
    Dimension::new(
        "age",
        vec![
            Categories::total(),
            level("band", &bands, &[0; 7], band_bounds),
            level("age", &years, &parent, year_bounds),
        ],
    )
}

fn town() -> Cube {
    let mut income = plain("income>50K", &["0-10", "10-20", "20+"]);
    income.levels[1].bounds = vec![
        Some(Bounds { lo: 0.0, hi: 10.0, closed: false }),
        Some(Bounds { lo: 10.0, hi: 20.0, closed: false }),
        Some(Bounds { lo: 20.0, hi: f64::INFINITY, closed: true }),
    ];
    Cube {
        dimensions: vec![
            plain("sex", &["F", "M"]),
            age(),
            plain("work", &["employed", "unemployed", "O'Hara"]),
            plain("district", &["North", "East", "South", "missing"]),
            plain("marital-status", &["single", "married"]),
            income,
            plain("edu", &["01", "02", "10"]),
        ],
    }
}

fn parse(text: &str) -> Query {
    Query::parse(text, &town()).unwrap_or_else(|e| panic!("{e}"))
}

/// In quotes they are names everywhere.
#[test]
fn words_of_sql_are_names_of_dimensions_and_amounts() {
    for word in [
        "order", "select", "from", "group", "end", "case", "all", "distinct", "null", "by", "limit", "union",
        "not", "in", "true", "False", "DESC", "with", "left", "as", "and", "like", "between", "when",
        "unknown", "user", "date", "filter", "over", "count", "sum", "rollup", "interval", "row", "range",
    ] {
        let name = super::quoted(word);
        let cube = Cube { dimensions: vec![plain(word, &["a", "b"])] };
        let text = format!(
            "SELECT {name}, COUNT(*) AS n FROM {name} WHERE {name} = 'a' GROUP BY {name} ORDER BY {name} LIMIT 3"
        );
        Query::parse(&text, &cube).unwrap_or_else(|e| panic!("{text}: {e}"));
        let quantity = std::sync::Arc::new(crate::cube::Quantity {
            name: word.into(),
            low: 0,
            high: 10,
            step: 1,
            places: 0,
            missing: crate::cube::NoValue::Skip,
            weighing: crate::cube::Weighing::Plain,
            from: Default::default(),
            unit: None,
            description: None,
        });
        let text =
            format!("SELECT sex, AVG({name}), SUM({name}) AS figure, COUNT({name}) FROM t GROUP BY sex");
        Query::with_quantities(&text, &town(), &[quantity]).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
}

fn filter(condition: &str) -> Filter {
    parse(&format!("SELECT COUNT(*) FROM town WHERE {condition}")).filter
}

fn refused(text: &str) -> String {
    match Query::parse(text, &town()) {
        Ok(query) => panic!("accepted: {text}: {query:?}"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn the_whole_query() {
    let query = parse(
        "SELECT sex, age.band AS b, COUNT(*) AS n FROM town -- who works\n\
         WHERE age BETWEEN 20 AND 29 AND (work = 'employed' OR district IN ('North','East')) \
         GROUP BY sex, age.band ORDER BY n DESC, 1 LIMIT 10;",
    );
    assert_eq!(query.columns.iter().map(SelectColumn::name).collect::<Vec<_>>(), ["sex", "b", "n"]);
    assert_eq!(
        query.columns[1],
        SelectColumn::Group { index: 1, level: query.group_by[1], name: "b".into() }
    );
    assert_eq!(query.group_by, [Level::new(0, 1), Level::new(1, 1)]);
    assert_eq!(query.order_by, [(2, true), (0, false)]);
    assert_eq!((query.limit, query.from.as_str()), (Some(10), "town"));
    // age: 20-29 or not; work: employed or not; district: North and East or not.
    assert_eq!(
        query.filter.dims.iter().map(|d| (d.dim, d.classes)).collect::<Vec<_>>(),
        [(1, 2), (2, 2), (3, 2)]
    );
    assert_eq!(query.filter.weights, [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0]);
}

/// Labels stand for their codes where the text is no code.
#[test]
fn labels_stand_for_codes() {
    let mut cube = town();
    let pair = |(code, label): (&str, &str)| [code.to_owned(), label.to_owned()];
    let of = [("North", "the hills"), ("East", "the port"), ("South", "North"), ("missing", "the port")];
    let labels = vec![LevelLabels { level: "district".into(), of: of.map(pair).to_vec() }];
    let said = Legend { dimension: "district".into(), labels, ..Legend::default() };
    cube.dimensions[3].explain(said).unwrap();
    let filter = |condition: &str| {
        let text = format!("SELECT COUNT(*) FROM town WHERE {condition}");
        Query::parse(&text, &cube).map(|q| q.filter).map_err(|e| e.to_string())
    };
    for (label, code) in [
        ("district = 'the hills'", "district = 'North'"),
        ("district IN ('the hills', 'South')", "district = 'North' OR district = 'South'"),
        ("district <> 'the hills'", "NOT district = 'North'"),
        // A code is meant before a label.
        ("district = 'North'", "district NOT IN ('East', 'South', 'missing')"),
        ("district LIKE 'the %'", "district <> 'South'"),
        ("district LIKE 'No%'", "district = 'North'"),
    ] {
        assert_eq!(filter(label).unwrap(), filter(code).unwrap(), "{label}");
    }
    let several = filter("district = 'the port'").unwrap_err();
    assert!(several.contains("is the label of several codes: 'East', 'missing'"), "{several}");
    let near = filter("district = 'the hill'").unwrap_err();
    assert!(near.contains("did you mean the hills?"), "{near}");
}

#[test]
fn names_and_literals_can_be_written_in_several_ways() {
    for same in [
        "\"age.band\" = '5-9'",
        "`age`.\"band\" = '5-9'",
        "AGE.Band = '5-9'",
        "town.age.band = '5-9'",
        "TOWN.age BETWEEN 5 AND 9",
        "age.age >= 5 AND 9 >= age",
        "age IN (5, '6', 7.0, 8, 9e0)",
        "(age < 10) AND NOT (age < 5)",
        "5 <= age.band AND age.band < 10",
        "1 = 1 AND TRUE AND age.band = '5-9'",
        "age.band <= 9.5 AND NOT age.band < 4.5",
    ] {
        assert_eq!(filter(same), filter("age.band = '5-9'"), "{same}");
    }
    assert_eq!(filter("\"marital-status\" = 'single'"), filter("`marital-status` <> 'married'"));
    assert_eq!(filter("\"income>50K\" < 10"), filter("\"income>50K\" = '0-10'"));
    assert_eq!(
        filter("\"income>50K\" >= 20"),
        filter("\"income>50K\" != '0-10' AND \"income>50K\" != '10-20'")
    );
    assert_eq!(filter("work = 'O''Hara'"), filter("work NOT IN ('employed', 'unemployed')"));
    // Codes: by text first, then as the one label that is this number.
    assert_eq!(filter("edu IN (1, '02')"), filter("edu <> 10"));
    let aliased =
        parse("SELECT t.sex AS s, COUNT(*) FROM a.town t WHERE t.sex = 'F' GROUP BY s ORDER BY t.sex");
    assert_eq!(
        (aliased.from.as_str(), &aliased.group_by[..], &aliased.order_by[..]),
        ("a.town", &[Level::new(0, 1)][..], &[(0, false)][..])
    );
    let by_position =
        parse("SELECT sex, COUNT(*), age.band FROM town GROUP BY 3, 1 ORDER BY COUNT(*) DESC, estimate");
    assert_eq!(by_position.group_by, [Level::new(1, 1), Level::new(0, 1)]);
    assert_eq!(by_position.order_by, [(1, true), (1, false)]);
}

#[test]
fn conditions_that_say_nothing_leave_no_filter() {
    for all in [
        "age < 15 OR age >= 15 OR age = 'unknown'",
        "NOT FALSE",
        "sex IN ('F','M')",
        "sex = 'F' OR sex <> 'F'",
    ] {
        assert!(filter(all).is_everything(), "{all}");
    }
    assert_eq!(filter("sex = 'F' AND sex = 'M'"), Filter::constant(0.0));
    assert_eq!(filter("sex = 'F' AND age < 5 OR sex = 'M' AND age < 5"), filter("age < 5"));
}

#[test]
fn missing_is_a_category() {
    let node = |f: Filter| f.weight_at(&[0, 30, 0, 0, 0, 0, 0]);
    for (condition, weight) in [
        ("age >= 0", 0.0),
        ("age < 10", 0.0),
        ("NOT (age < 10)", 1.0),
        ("age NOT BETWEEN 0 AND 9", 1.0),
        ("age <> 10", 1.0),
        ("age = 'unknown'", 1.0),
        ("age.band IN ('unknown', '0-4')", 1.0),
        ("age NOT IN (5, 'unknown')", 0.0),
    ] {
        assert_eq!(node(filter(condition)), Some(weight), "{condition}");
    }
}

#[test]
fn the_level_a_filter_needs() {
    let cube = town();
    for (condition, group, wanted) in [
        ("age.band = '5-9'", 0, 1),
        ("age < 10", 0, 1),
        ("age < 11", 0, 2),
        ("age < 10", 2, 2),
        ("age < 11", 1, 2),
        ("age NOT IN ('unknown')", 1, 1),
    ] {
        let filter = filter(condition);
        assert_eq!(required_level(&cube, 1, &filter.dims[0].class_of, group), wanted, "{condition}");
    }
    assert_eq!(required_level(&cube, 1, &[0; 31], 0), 0);
}

#[test]
fn refusals() {
    for (text, expected) in [
        (
            "SELECT sxe, COUNT(*) FROM town GROUP BY sxe",
            "there is no dimension or level \"sxe\"\n --> line 1, column 8\n  |\n1 | SELECT sxe, COUNT(*) FROM town GROUP BY sxe\n  |        ^^^\n  = did you mean sex?",
        ),
        (
            "SELECT COUNT(*)\nFROM town\nWHERE band = '0-4'",
            "there is no dimension or level \"band\"\n --> line 3, column 7\n  |\n3 | WHERE band = '0-4'\n  |       ^^^^\n  = did you mean age.band?",
        ),
        (
            "SELECT COUNT(*) FROM town WHERE age.band < 18",
            "age.band 15-19 lies across 18\n --> line 1, column 44\n  |\n1 | SELECT COUNT(*) FROM town WHERE age.band < 18\n  |                                            ^^\n  = compare at age, or use its edges: it stands for 15 to 19",
        ),
    ] {
        assert_eq!(refused(text), expected);
    }
}

#[test]
fn refusals_in_short() {
    let mut wrong = Vec::new();
    // (query, message, what the carets are under, help)
    for (text, message, under, help) in [
        (
            "SELECT COUNT(*) FROM town WHERE work = 'employd'",
            "work has no category 'employd'",
            "'employd'",
            "did you mean employed?",
        ),
        (
            "SELECT COUNT(*) FROM town WHERE sex = 'female'",
            "sex has no category 'female'",
            "'female'",
            "its labels: F, M",
        ),
        (
            "SELECT COUNT(*) FROM town WHERE sex = \"F\"",
            "F is a name, not a value",
            "\"F\"",
            "text is written in single quotes: 'F'",
        ),
        (
            "SELECT COUNT(*) FROM town WHERE age = 200",
            "age has no category '200'",
            "200",
            "age covers 0 to 29",
        ),
        ("SELECT COUNT(*) FROM town WHERE sex < 3", "sex has no order", "sex", "use = or IN with its labels"),
        (
            "SELECT COUNT(*) FROM town WHERE age < 'old'",
            "'old' is not a number",
            "'old'",
            "compare age with a number, or use = or IN with its labels",
        ),
        (
            "SELECT COUNT(*) FROM town WHERE age BETWEEN 9 AND 5",
            "nothing lies between a larger and a smaller number",
            "9 AND 5",
            "write the smaller number first",
        ),
        (
            "SELECT COUNT(*) FROM town WHERE age IS NULL",
            "there is no NULL here: a missing value is a category of its own",
            "age",
            "compare with its label: age = 'unknown'",
        ),
        (
            "SELECT COUNT(*) FROM town WHERE district IS NOT NULL",
            "there is no NULL here: a missing value is a category of its own",
            "district",
            "compare with its label: district = 'missing'",
        ),
        (
            "SELECT COUNT(*) FROM town WHERE sex = NULL",
            "there is no NULL here: a missing value is a category of its own",
            "NULL",
            "compare with a label; sex has: F, M",
        ),
        (
            "SELECT COUNT(*) FROM town WHERE marital-status = 'single'",
            "the name marital-status needs quotes",
            "marital-status",
            "write \"marital-status\" in double quotes or backticks",
        ),
        (
            "SELECT COUNT(*) FROM town WHERE sex = work",
            "two columns cannot be compared with each other",
            "work",
            "compare each with numbers or labels, and combine with AND and OR",
        ),
        (
            "SELECT COUNT(*) FROM town WHERE sex",
            "sex is not a condition a release can answer",
            "sex",
            "compare it with a label: F, M",
        ),
        (
            "SELECT COUNT(*) FROM town WHERE UPPER(sex) = 'F'",
            "the function UPPER cannot be compared",
            "UPPER(sex)",
            "compare a dimension or a level with numbers or labels",
        ),
        (
            "SELECT COUNT(*) FROM town WHERE sex IN (SELECT 1)",
            "a sub-query is not a condition a release can answer",
            "sex IN (SELECT 1)",
            "possible are = <> < <= > >= BETWEEN, IN, NOT, AND, OR on dimensions and levels",
        ),
        ("SELECT sex, COUNT(*) FROM town", "sex is selected but not grouped", "sex", "add GROUP BY sex"),
        ("SELECT sex FROM town GROUP BY sex", "nothing is counted", "SELECT", "add COUNT(*) to SELECT"),
        (
            "SELECT COUNT(*) FROM town GROUP BY UPPER(sex)",
            "the function UPPER cannot be grouped by",
            "UPPER(sex)",
            "group by dimensions or levels: sex, age, age.band, work, district, marital-status, income>50K, edu",
        ),
        (
            "SELECT COUNT(*) FROM town GROUP BY 2",
            "there is no column 2 in SELECT",
            "2",
            "positions go from 1 to 1",
        ),
        (
            "SELECT COUNT(*) AS n FROM town ORDER BY sex",
            "ORDER BY names no column of SELECT",
            "sex",
            "order by one of: n",
        ),
        ("SELECT COUNT(*) FROM town LIMIT 1.5", "LIMIT needs a whole number that is not negative", "1.5", ""),
        (
            "SELECT COUNT(*) FROM town JOIN b ON TRUE",
            "a join cannot be asked of a release",
            "JOIN",
            "a release is one table; its dimensions are the columns",
        ),
        (
            "SELECT COUNT(*) FROM town, b",
            "a second table cannot be asked of a release",
            "b",
            "a release is one table; its dimensions are the columns",
        ),
        ("SELECT COUNT(*)", "FROM is missing", "SELECT", "name the release: FROM …"),
        (
            "SELECT COUNT(*) FROM a UNION ALL SELECT COUNT(*) FROM b",
            "UNION ALL joins several questions, and one is asked here",
            "UNION",
            "ask the SELECTs one by one, or combine their conditions with OR and AND",
        ),
        (
            "SELECT COUNT(*) FROM a UNION SELECT COUNT(*) FROM b",
            "UNION, EXCEPT and INTERSECT cannot be asked of a release",
            "UNION",
            "ask the SELECTs one by one, or combine their conditions with OR and AND",
        ),
        (
            "DELETE FROM town",
            "only SELECT can be asked of a release",
            "DELETE",
            "for example: SELECT sex, COUNT(*) FROM release WHERE age >= 18 GROUP BY sex",
        ),
        (
            "SELECT COUNT(*) FROM town; SELECT COUNT(*) FROM b",
            "there are several statements",
            "SELECT COUNT(*) FROM b",
            "ask one SELECT at a time",
        ),
        ("SELECT COUNT(*) FROM town WHERE", "expected an expression, found the end of the query", "", ""),
        ("SELECT COUNT(*) FROM town WHERE sex = 'F", "this text has no end", "'", "close it with '"),
        (
            "SELECT COUNT(*) AS low FROM town",
            "\"low\" is a name every answer has of its own",
            "COUNT(*)",
            "give the column another name with AS",
        ),
        (
            "SELECT sex AS n, COUNT(*) AS n FROM town GROUP BY sex",
            "\"n\" would name two columns",
            "COUNT(*)",
            "give the column another name with AS",
        ),
    ] {
        let error = Query::parse(text, &town()).expect_err(text);
        let place =
            error.place.map_or(String::new(), |p| text.chars().skip(p.column - 1).take(p.width).collect());
        let got = (error.message.as_str(), place.as_str(), error.help.as_deref().unwrap_or(""));
        if got != (message, under, help) {
            wrong.push(format!("{text}\n    {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn capitals_decide_between_names_that_differ_only_by_them() {
    let cube = Cube { dimensions: vec![plain("Sex", &["F"]), plain("sex", &["F", "M"])] };
    assert_eq!(
        Query::parse("SELECT COUNT(*) FROM t GROUP BY Sex", &cube).map(|q| q.group_by),
        Ok(vec![Level::new(0, 1)])
    );
    let error = Query::parse("SELECT COUNT(*) FROM t GROUP BY SEX", &cube).expect_err("ambiguous");
    assert_eq!(error.message, "\"SEX\" could be Sex or sex");
}

#[test]
fn long_and_deep_texts_are_answered_or_refused() {
    let count =
        |condition: String| Query::parse(&format!("SELECT COUNT(*) FROM town WHERE {condition}"), &town());
    // Long lists and long chains are fine.
    let list: Vec<String> = (0..20_000).map(|i| (i % 30).to_string()).collect();
    assert_eq!(count(format!("age IN ({})", list.join(","))).map(|q| q.filter), Ok(filter("age >= 0")));
    let chain: Vec<String> = (0..450).map(|i| format!("age = {}", i % 30)).collect();
    assert_eq!(count(chain.join(" OR ")).map(|q| q.filter), Ok(filter("age >= 0")));
    for (text, message) in [
        (vec!["age = 1"; 5_000].join(" OR "), "more than 2000 words"),
        (format!("{}TRUE{}", "(".repeat(10_000), ")".repeat(10_000)), "nested too deeply"),
        (format!("{}TRUE{}", "(".repeat(100), ")".repeat(100)), "nested too deeply"),
        (format!("{}TRUE", "NOT ".repeat(1_500)), "nested too deeply"),
        (format!("age < {}1", "- ".repeat(1_500)), "nested too deeply"),
        (format!("age = 1{}", " + 1".repeat(1_900)), "not a value to compare with"),
        (format!("age{}", " IS NULL".repeat(900)), "cannot be compared"),
        (format!("age = 1{}", " = 1".repeat(1_900)), "cannot be compared"),
        ("CASE WHEN ".repeat(1_500), "more than 2000 words"),
        ("f(".repeat(60), "expected an expression"),
        ("a".repeat(MAX_WEIGHTS + 1), "longer than"),
    ] {
        let error = count(text).expect_err(message);
        assert!(error.message.contains(message), "{message}: {error}");
        assert!(error.to_string().lines().all(|l| l.chars().count() <= 80), "{error}");
    }
    assert!(count(format!("{}sex = 'F'{}", "(".repeat(20), ")".repeat(20))).is_ok());
}

#[test]
fn too_many_classes_are_refused() {
    let dimensions: Vec<Dimension> = (0..21).map(|i| plain(&format!("d{i}"), &["a", "b"])).collect();
    let all: Vec<String> = (0..21).map(|i| format!("d{i} = 'a'")).collect();
    let error =
        Query::parse(&format!("SELECT COUNT(*) FROM t WHERE {}", all.join(" AND ")), &Cube { dimensions });
    assert!(error.expect_err("2^21 classes").message.contains("too intricate"));
}

/// A condition the generator made: what to write, and what it means.
#[derive(Debug, Clone)]
enum Tree {
    Compare { column: usize, op: &'static str, half: i32, mirrored: bool },
    Between { column: usize, lo: i32, hi: i32, negated: bool },
    In { column: usize, picks: Vec<usize>, negated: bool },
    Constant(bool),
    Not(Box<Tree>),
    And(Box<Tree>, Box<Tree>),
    Or(Box<Tree>, Box<Tree>),
}

fn trees() -> impl Strategy<Value = Tree> {
    let op = prop::sample::select(vec!["<", "<=", ">", ">=", "=", "<>"]);
    let leaf = prop_oneof![
        3 => (0..2usize, op, -2..26i32, any::<bool>())
            .prop_map(|(column, op, half, mirrored)| Tree::Compare { column, op, half, mirrored }),
        2 => (0..2usize, -2..26i32, 0..20i32, any::<bool>())
            .prop_map(|(column, lo, more, negated)| Tree::Between { column, lo, hi: lo + more, negated }),
        9 => (0..5usize, prop::collection::vec(any::<usize>(), 1..4), any::<bool>())
            .prop_map(|(column, picks, negated)| Tree::In { column, picks, negated }),
        1 => any::<bool>().prop_map(Tree::Constant),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|t| Tree::Not(Box::new(t))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Tree::And(Box::new(a), Box::new(b))),
            (inner.clone(), inner).prop_map(|(a, b)| Tree::Or(Box::new(a), Box::new(b))),
        ]
    })
}

/// A random numeric dimension with integer years or half-open bins, a coarser level and perhaps a missing
/// category; and two plain ones.
fn cubes() -> impl Strategy<Value = Cube> {
    (prop::collection::vec(any::<(bool, bool)>(), 2..9), any::<bool>(), any::<bool>(), 1..4usize, 2..4usize)
        .prop_map(|(cuts, bins, missing, p, q)| {
            let mut fine: Vec<(f64, f64)> = vec![(0.0, 0.0)]; // lo, next lo
            let mut parents = vec![0u32];
            for (i, (wide, new_parent)) in cuts.iter().enumerate() {
                let lo = fine[i].0 + if *wide { 2.0 } else { 1.0 };
                fine[i].1 = lo;
                fine.push((lo, lo + 1.0));
                parents.push(parents[i] + u32::from(*new_parent));
            }
            let bound =
                |lo: f64, next: f64| Bounds { lo, hi: if bins { next } else { next - 1.0 }, closed: !bins };
            let mut bounds: Vec<Option<Bounds>> =
                fine.iter().map(|&(lo, next)| Some(bound(lo, next))).collect();
            let mut coarse: Vec<Option<Bounds>> = Vec::new();
            for (&(lo, next), &parent) in fine.iter().zip(&parents) {
                match coarse.get_mut(parent as usize) {
                    Some(Some(b)) => b.hi = bound(lo, next).hi,
                    _ => coarse.push(Some(bound(lo, next))),
                }
            }
            if missing {
                parents.push(coarse.len() as u32);
                bounds.push(None);
                coarse.push(None);
            }
            let labels = |prefix: &str, n: usize| (0..n).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>();
            let numeric = Dimension::new(
                "x",
                vec![
                    Categories::total(),
                    Categories {
                        name: "wide".into(),
                        labels: labels("w", coarse.len()),
                        parent: vec![0; coarse.len()],
                        bounds: coarse,
                    },
                    Categories {
                        name: "x".into(),
                        labels: labels("n", bounds.len()),
                        parent: parents,
                        bounds,
                    },
                ],
            );
            Cube {
                dimensions: vec![
                    Dimension::plain("p", labels("p", p)),
                    numeric,
                    Dimension::plain("q", labels("q", q)),
                ],
            }
        })
}

const COLUMNS: [(&str, usize, usize); 5] =
    [("x", 1, 2), ("x.wide", 1, 1), ("p", 0, 1), ("q", 2, 1), ("x", 1, 2)];

fn write(tree: &Tree, cube: &Cube) -> String {
    let number = |half: i32| (f64::from(half) / 2.0).to_string();
    match tree {
        Tree::Compare { column, op, half, mirrored: false } => {
            format!("{} {op} {}", COLUMNS[*column].0, number(*half))
        }
        Tree::Compare { column, op, half, mirrored: true } => {
            let op = match *op {
                "<" => ">",
                "<=" => ">=",
                ">" => "<",
                ">=" => "<=",
                same => same,
            };
            format!("{} {op} {}", number(*half), COLUMNS[*column].0)
        }
        Tree::Between { column, lo, hi, negated } => {
            let not = if *negated { "NOT " } else { "" };
            format!("{} {not}BETWEEN {} AND {}", COLUMNS[*column].0, number(*lo), number(*hi))
        }
        Tree::In { column, picks, negated } => {
            let (name, dim, level) = COLUMNS[*column];
            let labels = &cube.dimensions[dim].levels[level].labels;
            let items: Vec<String> =
                picks.iter().map(|p| format!("'{}'", labels[p % labels.len()])).collect();
            format!("{name} {}IN ({})", if *negated { "NOT " } else { "" }, items.join(", "))
        }
        Tree::Constant(value) => value.to_string(),
        Tree::Not(a) => format!("NOT ({})", write(a, cube)),
        Tree::And(a, b) => format!("({}) AND ({})", write(a, cube), write(b, cube)),
        Tree::Or(a, b) => format!("(({}) OR ({}))", write(a, cube), write(b, cube)),
    }
}

/// Many of the numbers a node stands for, so that "all", "none" and "some" can be seen by counting.
fn samples(b: &Bounds) -> Vec<f64> {
    (0..=200).map(|i| b.lo + f64::from(i) / 8.0).filter(|&v| v < b.hi || (b.closed && v == b.hi)).collect()
}

/// Whether the cell satisfies the condition; `None` when some node of any atom is cut through or an `=`
/// finds no node at all.
fn evaluate(tree: &Tree, cube: &Cube, cell: &[usize]) -> Option<bool> {
    let node = |column: usize| {
        let (_, dim, level) = COLUMNS[column];
        let d = &cube.dimensions[dim];
        (&d.levels[level], d.ancestors(d.finest(), level)[cell[dim]] as usize)
    };
    let by_samples = |column: usize, test: &dyn Fn(f64) -> bool| {
        let (level, node) = node(column);
        let verdicts: Vec<Option<bool>> = level
            .bounds
            .iter()
            .map(|bounds| match bounds {
                None => Some(false),
                Some(b) => {
                    let yes: Vec<bool> = samples(b).into_iter().map(test).collect();
                    if yes.iter().all(|y| *y) {
                        Some(true)
                    } else if yes.iter().any(|y| *y) {
                        None
                    } else {
                        Some(false)
                    }
                }
            })
            .collect();
        if verdicts.contains(&None) {
            None
        } else {
            verdicts[node].map(|v| (v, verdicts.contains(&Some(true))))
        }
    };
    match tree {
        Tree::Compare { column, op, half, .. } => {
            let value = f64::from(*half) / 2.0;
            let test: &dyn Fn(f64) -> bool = match *op {
                "<" => &|v| v < value,
                "<=" => &|v| v <= value,
                ">" => &|v| v > value,
                ">=" => &|v| v >= value,
                _ => &|v| v == value,
            };
            let (holds, any) = by_samples(*column, test)?;
            match *op {
                "=" => any.then_some(holds),
                "<>" => any.then_some(!holds),
                _ => Some(holds),
            }
        }
        Tree::Between { column, lo, hi, negated } => {
            let (lo, hi) = (f64::from(*lo) / 2.0, f64::from(*hi) / 2.0);
            let (from, _) = by_samples(*column, &|v| v >= lo)?;
            let (to, _) = by_samples(*column, &|v| v <= hi)?;
            Some((from && to) != *negated)
        }
        Tree::In { column, picks, negated } => {
            let (level, node) = node(*column);
            Some(picks.iter().any(|p| p % level.len() == node) != *negated)
        }
        Tree::Constant(value) => Some(*value),
        Tree::Not(a) => evaluate(a, cube, cell).map(|v| !v),
        Tree::And(a, b) => evaluate(a, cube, cell).and_then(|a| evaluate(b, cube, cell).map(|b| a && b)),
        Tree::Or(a, b) => evaluate(a, cube, cell).and_then(|a| evaluate(b, cube, cell).map(|b| a || b)),
    }
}

fn cells(cube: &Cube) -> Vec<Vec<usize>> {
    cube.dimensions.iter().fold(vec![Vec::new()], |cells, d| {
        let n = d.levels[d.finest()].len();
        cells.iter().flat_map(|c| (0..n).map(move |i| c.iter().copied().chain([i]).collect())).collect()
    })
}

/// Every class is told apart from every other one by some weight.
fn is_minimal(filter: &Filter) -> bool {
    filter.dims.iter().enumerate().all(|(axis, d)| {
        let inner: usize = filter.dims[axis + 1..].iter().map(|d| d.classes as usize).product();
        let n = d.classes as usize;
        let slice = |class: usize| -> Vec<f64> {
            (0..filter.weights.len()).filter(|i| i / inner % n == class).map(|i| filter.weights[i]).collect()
        };
        n > 1 && (0..n).all(|a| (0..a).all(|b| slice(a) != slice(b)))
    })
}

#[test]
fn filters_agree_with_every_cell() {
    let config = ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() };
    let (answered, filtered) = (Cell::new(0), Cell::new(0));
    TestRunner::new(config)
        .run(&(cubes(), trees()), |(cube, tree)| {
            let text = format!("SELECT COUNT(*) FROM t WHERE {}", write(&tree, &cube));
            let cells = cells(&cube);
            let expected: Option<Vec<bool>> = cells.iter().map(|cell| evaluate(&tree, &cube, cell)).collect();
            match (Query::parse(&text, &cube), expected) {
                (Ok(query), Some(expected)) => {
                    for (cell, expected) in cells.iter().zip(expected) {
                        prop_assert_eq!(
                            query.filter.weight_at(cell),
                            Some(f64::from(u8::from(expected))),
                            "{}",
                            text
                        );
                    }
                    prop_assert!(is_minimal(&query.filter), "{} {:?}", text, query.filter);
                    answered.set(answered.get() + 1);
                    filtered.set(filtered.get() + usize::from(query.filter.dims.len() > 1));
                }
                (Err(_), None) => {}
                (got, expected) => prop_assert!(false, "{text}: {got:?} {expected:?}"),
            }
            Ok(())
        })
        .unwrap_or_else(|e| panic!("{e}"));
    // Neither mostly refusals nor mostly conditions on a single dimension.
    assert!(answered.get() > 100 && filtered.get() > 30, "{} {}", answered.get(), filtered.get());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in ".{0,60}") {
        let _ = Query::parse(&text, &town()).map_err(|e| e.to_string());
        let _ = Query::parse(&format!("SELECT COUNT(*) FROM town WHERE {text}"), &town()).map_err(|e| e.to_string());
    }

    #[test]
    fn no_soup_of_words_makes_it_panic(words in prop::collection::vec(prop::sample::select(vec![
        "SELECT", "COUNT(*)", "FROM", "town", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "sex", "age", "age.band", "=", "<", "AND", "OR",
        "NOT", "IN", "(", ")", ",", "'F'", "20", "-", "BETWEEN", "AS", "n", "\n", "SUM(", "AVG(", "CASE", "WHEN", "THEN", "ELSE", "END",
        "OVER", "PARTITION BY", "FILTER (WHERE", "/", "*", "+", "NULL", "IS", "DISTINCT", "é", "\t", "'", "\"", ".", ";", "1e999", "0",
    ]), 0..30)) {
        let text = words.join(" ");
        for text in [text.clone(), format!("SELECT sex, {text} FROM town GROUP BY sex"), format!("SELECT COUNT(*) FROM town WHERE {text}")] {
            if let Err(error) = Query::parse(&text, &town()) {
                let shown = error.to_string();
                prop_assert!(!shown.is_empty());
                if error.place.is_some() {
                    prop_assert!(shown.lines().skip(1).take(4).all(|l| l.chars().count() <= 80), "{}", shown);
                }
            }
        }
    }
}

/// The only figure of a query, and its aggregates.
fn figure(text: &str) -> (Expr, Vec<Aggregate>) {
    let query = parse(text);
    match query.columns.into_iter().find(|c| matches!(c, SelectColumn::Figure { .. })) {
        Some(SelectColumn::Figure { expr, .. }) => (expr, query.aggregates),
        other => panic!("{other:?}"),
    }
}

#[test]
fn counts_under_a_condition() {
    let wanted = filter("age < 10 AND sex = 'F'");
    for same in [
        "SELECT COUNT(*) FILTER (WHERE age < 10) FROM town WHERE sex = 'F'",
        "SELECT SUM(CASE WHEN age < 10 THEN 1 ELSE 0 END) FROM town WHERE sex = 'F'",
        "SELECT sum(CASE WHEN age >= 10 OR age = 'unknown' THEN 0 WHEN sex = 'M' THEN 7 ELSE 1 END) FROM town WHERE sex = 'F'",
        "SELECT COUNT(CASE WHEN age < 10 AND sex = 'F' THEN 5 END) FROM town",
        "SELECT SUM(1) FILTER (WHERE sex = 'F') FROM town WHERE age < 10",
    ] {
        let (expr, aggregates) = figure(same);
        assert_eq!(
            (expr, &aggregates[..]),
            (Expr::Aggregate(0), &[Aggregate::rows(wanted.clone(), None)][..]),
            "{same}"
        );
    }
    assert!(parse("SELECT COUNT(*) FROM town").aggregates.is_empty());
}

#[test]
fn sums_and_averages_weigh_by_the_number() {
    let (expr, aggregates) = figure("SELECT AVG(age) FROM town WHERE sex = 'F'");
    assert_eq!(expr, Expr::Div(Box::new(Expr::Aggregate(0)), Box::new(Expr::Aggregate(1))));
    for age in 0..31 {
        for sex in 0..2 {
            let cell = [sex, age, 0, 0, 0, 0, 0];
            let counts = sex == 0 && age < 30; // 30 is the missing age
            assert_eq!(aggregates[0].filter.weight_at(&cell), Some(if counts { age as f64 } else { 0.0 }));
            assert_eq!(aggregates[1].filter.weight_at(&cell), Some(f64::from(u8::from(counts))));
        }
    }
    // A share as an average: rows without a value do not count.
    let (_, aggregates) =
        figure("SELECT AVG(CASE WHEN sex = 'F' THEN 1 WHEN age < 5 THEN NULL ELSE 0 END) FROM town");
    assert_eq!(aggregates[0].filter, filter("sex = 'F'"));
    assert_eq!(aggregates[1].filter, filter("NOT (sex = 'M' AND age < 5)"));
    // Categories of several numbers matter only where they are not excluded.
    let (_, aggregates) = figure("SELECT SUM(CASE WHEN age < 10 THEN age ELSE -1.5 END) FROM town");
    assert_eq!(aggregates[0].filter.weight_at(&[0, 7, 0, 0, 0, 0, 0]), Some(7.0));
    assert_eq!(aggregates[0].filter.weight_at(&[0, 17, 0, 0, 0, 0, 0]), Some(-1.5));
}

#[test]
fn top_coded_categories_can_be_left_out_of_a_sum() {
    let mut cube = town();
    cube.dimensions[1].levels[2].bounds[29] = Some(Bounds { lo: 29.0, hi: f64::INFINITY, closed: true });
    assert!(Query::parse("SELECT SUM(age) FROM t WHERE age < 29", &cube).is_ok());
    let error =
        Query::parse("SELECT SUM(age) FROM t WHERE age < 10 OR sex = 'F'", &cube).expect_err("29 and more");
    assert_eq!(error.message, "age 29 stands for more than one number");
}

/// What is left out is not what stands in the way, and leaving out is no way where no category has one number.
#[test]
fn categories_that_stand_in_the_way_are_named() {
    let mut cube = town();
    for (node, own) in (5..).zip(&mut cube.dimensions[1].levels[2].bounds[5..8]) {
        *own = Some(Bounds { lo: f64::from(node), hi: f64::from(node) + 0.5, closed: true });
    }
    let refused = |text: &str| {
        let error = Query::parse(text, &cube).expect_err(text);
        (error.message, error.help.unwrap_or_default())
    };
    let leave = "needs one number for each category: leave such categories out with WHERE, or count instead";
    for (condition, label) in [
        ("TRUE", "5"),
        ("age <> 5", "6"),
        ("age NOT IN (5, 6) OR sex = 'F' AND age <> 5", "6"),
        ("age IN (1, 7)", "7"),
    ] {
        let (message, help) = refused(&format!("SELECT AVG(age) FROM t WHERE {condition}"));
        assert_eq!(message, format!("age {label} stands for more than one number"), "{condition}");
        assert_eq!(help, format!("AVG {leave}"), "{condition}");
    }
    assert!(Query::parse("SELECT AVG(age) FROM t WHERE age NOT IN (5, 6, 7)", &cube).is_ok());
    let two = "SELECT SUM(CASE WHEN sex = 'F' THEN age.band ELSE \"income>50K\" END) FROM t";
    for (condition, named) in [
        ("sex = 'F' AND age.band <> '0-4'", "age.band 5-9"),
        ("sex = 'M' AND \"income>50K\" <> '0-10'", "income>50K 10-20"),
    ] {
        let (message, help) = refused(&format!("{two} WHERE {condition}"));
        assert_eq!(message, format!("{named} stands for more than one number"));
        assert!(help.contains("is one number: count") && !help.contains("leave"), "{help}");
    }
}

#[test]
fn shares_of_totals() {
    let query = parse(
        "SELECT sex, district, COUNT(*) AS n, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS percent, \
         (1 - COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY town.district)) * (2 + 3) \
         FROM town WHERE age < 10 GROUP BY sex, district ORDER BY percent",
    );
    let partitions: Vec<_> = query.aggregates.iter().map(|a| a.partition.clone()).collect();
    assert_eq!(partitions, [None, Some(vec![]), Some(vec![1])]);
    assert!(query.aggregates.iter().all(|a| a.filter == query.filter));
    let values: Vec<f64> = query
        .columns
        .iter()
        .filter_map(|c| if let SelectColumn::Figure { expr, .. } = c { Some(expr) } else { None })
        .map(|expr| {
            let (num, den) = expr.ratio().expect("a ratio");
            assert!(den.terms.len() == 1 && num.terms.len() <= 2);
            expr.evaluate(&[30.0, 120.0, 40.0])
        })
        .collect();
    assert_eq!(values, [25.0, 1.25]);
    assert_eq!(query.order_by, [(3, false)]);
    assert_eq!(query.columns[2], SelectColumn::Count { name: "n".into() });
}

const RANKS: &str = "for example: RANK() OVER (ORDER BY COUNT(*) DESC), or RANK() OVER (ORDER BY COUNT(*) DESC) <= 10 for its probability";

/// Which places are asked for, and by what.
#[test]
fn places() {
    let rank = |column: &str| {
        let query = parse(&format!("SELECT sex, work, {column} AS p FROM town GROUP BY sex, work"));
        match query.columns.into_iter().nth(2) {
            Some(SelectColumn::Rank { ranked, .. }) => (ranked.descending, ranked.partition, ranked.places),
            other => panic!("{column}: {other:?}"),
        }
    };
    let by = "RANK() OVER (ORDER BY COUNT(*) DESC)";
    assert_eq!(rank(by), (true, vec![], None));
    assert_eq!(rank("(RANK() OVER (PARTITION BY work ORDER BY AVG(age)))"), (false, vec![1], None));
    for (is, places) in [
        ("<= 10", (1, 10)),
        ("< 10", (1, 9)),
        ("= 3", (3, 3)),
        (">= 4", (4, u64::MAX)),
        ("> 4", (5, u64::MAX)),
        ("BETWEEN 2 AND 5", (2, 5)),
    ] {
        assert_eq!(rank(&format!("{by} {is}")), (true, vec![], Some(places)), "{is}");
    }
    assert_eq!(rank(&format!("10 >= {by}")), (true, vec![], Some((1, 10))));
}

/// Where the file says which category is for empty cells, it is NULL: at every level.
#[test]
fn missing_values_are_null_where_the_file_says_so() {
    let mut cube = town();
    let said = Legend { dimension: "age".into(), missing: Some("unknown".into()), ..Legend::default() };
    cube.dimensions[1].explain(said).unwrap();
    let query = |text: &str| Query::parse(text, &cube).map_err(|e| e.to_string());
    let filter =
        |condition: &str| query(&format!("SELECT COUNT(*) FROM town WHERE {condition}")).unwrap().filter;
    for (null, label) in [
        ("age IS NULL", "age = 'unknown'"),
        ("age.band IS NULL", "age = 'unknown'"),
        ("age IS NOT NULL", "age <> 'unknown'"),
        ("NOT age.band IS NULL", "age <> 'unknown'"),
        ("sex = 'F' OR (age IS NOT NULL AND age < 5)", "sex = 'F' OR age < 5"),
    ] {
        assert_eq!(filter(null), filter(label), "{null}");
    }
    let aggregates = |figure: &str| {
        query(&format!("SELECT sex, {figure} AS n FROM town GROUP BY sex")).unwrap().aggregates
    };
    let counted = aggregates("COUNT(*) FILTER (WHERE age <> 'unknown')");
    for same in ["COUNT(age)", "COUNT(age.band)", "COUNT(CASE WHEN age IS NULL THEN NULL ELSE 1 END)"] {
        assert_eq!(aggregates(same), counted, "{same}");
    }
    assert_eq!(
        aggregates("COUNT(age) FILTER (WHERE work = 'employed')"),
        aggregates("COUNT(*) FILTER (WHERE age <> 'unknown' AND work = 'employed')")
    );
    // Of another dimension the file says nothing.
    assert!(
        query("SELECT COUNT(*) FROM town WHERE district IS NULL")
            .unwrap_err()
            .contains("there is no NULL here")
    );
    assert!(query("SELECT COUNT(*) FROM town WHERE age = NULL").unwrap_err().contains("write age IS NULL"));
}

/// What a strategy put between the spec's levels is no level to ask by.
#[test]
fn levels_of_halves_are_not_offered() {
    let age = crate::cube::Dimension::plain("age", (0..11).map(|v| v.to_string()).collect());
    let refined = Cube { dimensions: vec![age] }.refined().cube;
    let why = Query::parse("SELECT x, COUNT(*) FROM t GROUP BY x", &refined).unwrap_err().to_string();
    assert!(why.contains("known: age") && !why.contains("half"), "{why}");
}

#[test]
fn refused_figures() {
    let possible = "possible are COUNT(*), SUM, AVG, VARIANCE and STDDEV of an amount, a numeric dimension or a CASE, and + - * / of them; and as columns of their own MEDIAN, QUANTILE, RANK and ROUND";
    for (column, message, help) in [
        ("COUNT(DISTINCT sex)", "COUNT with DISTINCT or ALL cannot be asked of a release", possible),
        (
            "MEDIAN(age) + 1",
            "MEDIAN stands alone: nothing is reckoned with it",
            "select it as a column of its own: possible are MEDIAN(age) and QUANTILE(age, 0.9), of a dimension whose categories are numbers, or bands that do not overlap",
        ),
        ("SKEWNESS(age)", "the function SKEWNESS cannot be asked of a release", possible),
        ("MAX(age)", "the function MAX cannot be asked of a release", possible),
        ("SUM(sex)", "sex has no numbers", possible),
        ("SUM(2 * age)", "an expression with * cannot be added up", "write 2 * SUM(age)"),
        ("SUM(age / 2)", "an expression with / cannot be added up", "write SUM(age) / 2"),
        ("SUM(-age)", "an expression with - cannot be added up", "write -SUM(age)"),
        ("SUM(age + kids)", "an expression with + cannot be added up", "write SUM(age) + SUM(kids)"),
        ("COUNT(*) / (COUNT(*) - COUNT(*))", "this divides by zero: (COUNT(*) - COUNT(*)) is always 0", ""),
        (
            "COUNT(age)",
            "the release does not say which category of age stands for a missing value",
            "COUNT(*) counts rows; leave categories out with WHERE",
        ),
        (
            "SUM(age.band)",
            "age.band 0-4 stands for more than one number",
            "no category of age.band is one number: count, or use MEDIAN(age.band)",
        ),
        (
            "SUM(COUNT(*))",
            "COUNT cannot stand inside another function",
            "for a total over groups write SUM(COUNT(*)) OVER ()",
        ),
        (
            "COUNT(*) OVER ()",
            "COUNT OVER works only as a total of totals",
            "write SUM(COUNT(*)) OVER () or SUM(COUNT(*)) OVER (PARTITION BY …)",
        ),
        (
            "SUM(COUNT(*)) OVER (ORDER BY age)",
            "ORDER BY inside of OVER needs a level of GROUP BY, or one above it",
            "the groups are: sex",
        ),
        (
            "LAG(COUNT(*)) OVER ()",
            "this needs one column to put rows in order by, and no other clause",
            "for example: SUM(COUNT(*)) OVER (ORDER BY day), LAG(COUNT(*)) OVER (ORDER BY day)",
        ),
        (
            "SUM(COUNT(*)) OVER (ROWS UNBOUNDED PRECEDING)",
            "these rows have no order",
            "add ORDER BY before ROWS, or leave ROWS out for all rows",
        ),
        (
            "LAG(COUNT(*), -1) OVER (ORDER BY sex)",
            "LAG takes a figure, and how many rows away it is",
            "for example: LAG(COUNT(*), 1) OVER (ORDER BY day); a third argument can be 0, for where there is no row",
        ),
        (
            "LEAD(COUNT(*)) OVER (PARTITION BY sex ORDER BY sex)",
            "LAG, LEAD and ROWS are of single rows: they go along one group, and PARTITION BY names the others",
            "leave out PARTITION BY, and go along what is grouped by",
        ),
        (
            "SUM(SUM(COUNT(*)) OVER ()) OVER (ORDER BY sex)",
            "SUM OVER works only as a total of totals",
            "write SUM(COUNT(*)) OVER () or SUM(COUNT(*)) OVER (PARTITION BY …)",
        ),
        ("RANK()", "RANK cannot be asked so", RANKS),
        ("RANK() OVER ()", "RANK needs one figure to put rows in order by", RANKS),
        ("RANK(sex) OVER (ORDER BY COUNT(*))", "RANK cannot be asked so", RANKS),
        ("ROW_NUMBER() OVER (ORDER BY COUNT(*))", "ROW_NUMBER cannot be asked of a release", RANKS),
        ("RANK() OVER (ORDER BY COUNT(*)) <= 0", "places are whole numbers from 1 on", RANKS),
        ("RANK() OVER (ORDER BY COUNT(*)) BETWEEN 3 AND 2", "places are whole numbers from 1 on", RANKS),
        ("RANK() OVER (ORDER BY COUNT(*)) = 1.5", "places are whole numbers from 1 on", RANKS),
        ("RANK() OVER (ORDER BY 2)", "this order does not depend on the data", ""),
        (
            "RANK() OVER (PARTITION BY work ORDER BY COUNT(*))",
            "PARTITION BY needs a level of GROUP BY, or one above it",
            "the groups are: sex",
        ),
        (
            "EXTRACT(MONTH FROM sex)",
            "sex has no days",
            "parts of days are those of a dimension of `dates`, or of a level of one",
        ),
        (
            "SUM(COUNT(*)) OVER (PARTITION BY age)",
            "PARTITION BY needs a level of GROUP BY, or one above it",
            "the groups are: sex",
        ),
        ("SUM(AVG(age)) OVER ()", "only COUNT and SUM can be added up over groups", possible),
        ("COUNT(*) / (1 - 1)", "this divides by zero", ""),
        ("COUNT(*) + (1e308 * 10)", "this number is too large", ""),
        ("COUNT(*) + sex", "sex is a label, not a figure", "write AVG(sex) or SUM(sex) if it is numeric"),
        (
            "marital-status",
            "the name marital-status needs quotes",
            "write \"marital-status\" in double quotes or backticks",
        ),
        ("1 + 1", "this column does not depend on the data", ""),
        ("CAST(COUNT(*) AS REAL)", "a cast cannot be asked of a release", possible),
        ("(SELECT 1)", "a sub-query cannot be asked of a release", possible),
        (
            "SUM(CASE sex WHEN 'F' THEN 1 END)",
            "CASE with a value after it cannot be asked of a release",
            "write CASE WHEN condition THEN number ELSE number END",
        ),
        (
            "COUNT(*), COUNT(*) + 1 AS count",
            "\"count\" would name two columns",
            "give the column another name with AS",
        ),
    ] {
        let text = format!("SELECT sex, {column} FROM town GROUP BY sex");
        let error = Query::parse(&text, &town()).expect_err(&text);
        assert_eq!((error.message.as_str(), error.help.as_deref().unwrap_or("")), (message, help), "{text}");
        assert!(error.place.is_some(), "{error}");
    }
}

/// Figures whose squares doubles do not hold are refused, however they are written.
#[test]
fn numbers_that_lead_too_far_are_refused() {
    let far = "the numbers in this figure are too large or too small";
    let small = "this number is too small";
    let part = "COUNT(*) FILTER (WHERE age = 1)";
    for (figure, message) in [
        ("COUNT(*) * 1e154".into(), far),
        ("COUNT(*) * 1e-165".into(), far),
        (format!("1e-200 * COUNT(*) / {part}"), far),
        (format!("1e170 * {part} / COUNT(*)"), far),
        ("COUNT(*) * COUNT(*) * 1e300".into(), far),
        ("STDDEV(age) / 1e90 / 1e40".into(), far),
        ("SUM(CASE WHEN sex = 'F' THEN 1e90 END) * 1e20".into(), far),
        ("RANK() OVER (ORDER BY COUNT(*) * 1e200)".into(), far),
        ("COUNT(*) * (1e-200 * 1e-200)".into(), small),
        ("COUNT(*) * 1e-400".into(), small),
        ("SUM(CASE WHEN sex = 'F' THEN 1e-400 ELSE 1 END)".into(), small),
    ] {
        let text = format!("SELECT sex, {figure} FROM town GROUP BY sex");
        let error = Query::parse(&text, &town()).expect_err(&text);
        assert_eq!(error.message, message, "{text}");
    }
    let many = vec!["100.0 * COUNT(*) / SUM(COUNT(*)) OVER ()"; 60].join(" + ");
    for figure in
        ["COUNT(*) * 1e100", "0 * COUNT(*) + COUNT(*) * 1e-100", "COUNT(*) * 0.00e5 + SUM(age)", &many]
    {
        let text = format!("SELECT sex, {figure} FROM town GROUP BY sex");
        Query::parse(&text, &town()).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
}

/// A level keeps its name, also where a part of every answer is called so; whoever names a column may choose another name.
#[test]
fn levels_may_be_called_as_parts_of_figures() {
    let dimensions = ["low", "n_high", "estimate"].map(|name| plain(name, &["a", "b"])).to_vec();
    let cube = Cube { dimensions };
    for text in [
        "SELECT low, COUNT(*) FROM t GROUP BY low ORDER BY low",
        "SELECT * FROM t",
        "SELECT n_high, low, COUNT(*) AS n, COUNT(*) / 2 AS half FROM t GROUP BY n_high, low",
    ] {
        Query::parse(text, &cube).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
    for (text, message) in [
        (
            "SELECT n_high AS low, COUNT(*) FROM t GROUP BY n_high",
            "\"low\" is a name every answer has of its own",
        ),
        (
            "SELECT low, n_high AS low_, COUNT(*) FROM t GROUP BY low, n_high",
            "\"low_\" would name two columns",
        ),
    ] {
        assert_eq!(Query::parse(text, &cube).unwrap_err().message, message);
    }
}

/// A sum over categories without a number says which they are and whose units it passes over.
#[test]
fn sums_say_what_they_leave_out() {
    let cube = town();
    let read = |sql: &str| Query::parse(sql, &cube).unwrap();
    let left = |sql: &str| -> Vec<(usize, String, Vec<String>)> {
        let named = |l: &LeftOut| (l.column.expect("a sum"), l.level.clone(), l.categories.clone());
        read(sql).left_out.iter().map(named).collect()
    };
    let unknown = |column: usize| (column, "age".to_string(), vec!["unknown".to_string()]);
    assert_eq!(left("SELECT COUNT(*) FROM t"), []);
    assert_eq!(left("SELECT SUM(age) FROM t"), [unknown(0)]);
    assert_eq!(
        left("SELECT sex, COUNT(*), AVG(age) AS a, SUM(age) / 2 AS s FROM t GROUP BY sex"),
        [unknown(2), unknown(3)]
    );
    assert_eq!(left("SELECT sex, SUM(SUM(age)) OVER () AS all_years FROM t GROUP BY sex"), [unknown(1)]);
    // WHERE, FILTER or CASE leave them out by name, or NULL is the query's own wish.
    for whole in [
        "SELECT SUM(age) FROM t WHERE age <> 'unknown'",
        "SELECT SUM(age) FROM t WHERE age <= 29 AND age <> 'unknown'",
        "SELECT SUM(age) FILTER (WHERE age IN (3, 4)) FROM t",
        "SELECT SUM(CASE WHEN age = 10 THEN age ELSE 0 END) FROM t",
        "SELECT SUM(CASE WHEN sex = 'F' THEN 2 END) FROM t",
    ] {
        assert_eq!(left(whole), [], "{whole}");
    }
    // Exactly the units that count and have no number: here women of unknown age.
    let query = read("SELECT SUM(CASE WHEN sex = 'F' THEN age END) FROM t WHERE district = 'North'");
    let units = &query.left_out[0].units;
    let cell =
        |sex: usize, age: usize, district: usize| units.weight_at(&[sex, age, 0, district, 0, 0, 0]).unwrap();
    for (sex, age, district) in [(0, 30, 0), (1, 30, 0), (0, 29, 0), (0, 30, 1)] {
        let counts = sex == 0 && age == 30 && district == 0;
        assert_eq!(cell(sex, age, district), f64::from(u8::from(counts)), "{sex} {age} {district}");
    }
}

/// A comparison says of which units nobody knows whether they meet it, and whether they are left out or counted.
#[test]
fn comparisons_say_what_has_no_number() {
    let cube = town();
    let open = |sql: &str| -> Vec<(Option<usize>, Fate)> {
        let query = Query::parse(sql, &cube).unwrap();
        query
            .left_out
            .iter()
            .for_each(|l| assert_eq!((&*l.level, &*l.categories), ("age", &["unknown".into()][..])));
        query.left_out.iter().map(|l| (l.column, l.fate)).collect()
    };
    for (condition, fates) in [
        ("age >= 10", &[Fate::Unmet][..]),
        ("age < 10 AND sex = 'F'", &[Fate::Unmet]),
        ("age BETWEEN 3 AND 9", &[Fate::Unmet]),
        ("5 <= age", &[Fate::Unmet]),
        ("NOT (age < 10)", &[Fate::Met]),
        ("age NOT BETWEEN 3 AND 9", &[Fate::Met]),
        // Known whatever their age is.
        ("age = 10", &[]),
        ("age <> 10", &[]),
        ("age >= 10 OR age = 'unknown'", &[]),
        ("age >= 10 AND age <> 'unknown'", &[]),
        ("NOT (age >= 10 OR age = 'unknown')", &[]),
        ("age >= 10 AND 1 = 2", &[]),
        ("age >= 10 OR 1 = 1", &[]),
        // By one's own age or by another's: for men they are left out, for women nobody asks.
        ("age >= 10 OR sex = 'F'", &[Fate::Unmet]),
        ("(sex = 'F' AND age < 10) OR (sex = 'M' AND NOT (age < 10))", &[Fate::Unmet, Fate::Met]),
    ] {
        let expected: Vec<_> = fates.iter().map(|fate| (None, *fate)).collect();
        assert_eq!(open(&format!("SELECT COUNT(*) FROM t WHERE {condition}")), expected, "{condition}");
    }
    assert_eq!(
        open("SELECT sex, COUNT(*), COUNT(*) FILTER (WHERE age < 10) AS young FROM t GROUP BY sex"),
        [(Some(2), Fate::Unmet)]
    );
    assert_eq!(
        open("SELECT AVG(CASE WHEN NOT (age < 10) THEN 1 ELSE 0 END) AS share FROM t"),
        [(Some(0), Fate::Met)]
    );
    // What a CASE cannot compare is in its ELSE or a later WHEN, unless that is NULL; what an earlier WHEN took is not asked again.
    let bands = |case: &str| format!("SELECT {case} AS band, COUNT(*) FROM t GROUP BY band");
    for (sql, fates) in [
        (bands("CASE WHEN age < 10 THEN 'young' ELSE 'old' END"), &[(Some(0), Fate::Otherwise)][..]),
        (bands("CASE WHEN NOT (age < 10) THEN 'old' ELSE 'young' END"), &[(Some(0), Fate::Met)]),
        (bands("CASE WHEN age = 'unknown' THEN '?' WHEN age < 10 THEN 'young' ELSE 'old' END"), &[]),
        (
            "SELECT COUNT(*) FROM t GROUP BY CASE WHEN age < 10 THEN 'young' ELSE 'old' END".into(),
            &[(None, Fate::Otherwise)],
        ),
        ("SELECT AVG(CASE WHEN age < 10 THEN 1 ELSE 0 END) FROM t".into(), &[(Some(0), Fate::Otherwise)]),
        ("SELECT AVG(CASE WHEN age < 10 THEN 1 END) FROM t".into(), &[(Some(0), Fate::Unmet)]),
        (
            "SELECT AVG(CASE WHEN age < 10 THEN 1 WHEN sex = 'F' THEN 0 END) FROM t".into(),
            &[(Some(0), Fate::Otherwise), (Some(0), Fate::Unmet)],
        ),
    ] {
        assert_eq!(open(&sql), fates, "{sql}");
    }
    // Which units: men of unknown age.
    let query = Query::parse("SELECT COUNT(*) FROM t WHERE age >= 10 OR sex = 'F'", &cube).unwrap();
    let units = &query.left_out[0].units;
    for (sex, age) in [(0, 30), (1, 30), (1, 3), (0, 3)] {
        let expected = f64::from(u8::from(sex == 1 && age == 30));
        assert_eq!(units.weight_at(&[sex, age, 0, 0, 0, 0, 0]), Some(expected), "{sex} {age}");
    }
}

#[test]
fn a_star_is_the_groups_and_their_count() {
    let same = |a: &str, b: &str| {
        assert_eq!(Query::parse(a, &town()).unwrap(), Query::parse(b, &town()).unwrap(), "{a}");
    };
    same("SELECT * FROM town GROUP BY sex", "SELECT sex, COUNT(*) FROM town GROUP BY sex");
    same(
        "SELECT *, AVG(age) AS mean FROM town WHERE age < 5 GROUP BY sex",
        "SELECT sex, COUNT(*), AVG(age) AS mean FROM town WHERE age < 5 GROUP BY sex",
    );
    let all: Vec<String> = town().dimensions.iter().map(|d| super::names::quoted(&d.name)).collect();
    let all = all.join(", ");
    same("SELECT * FROM town", &format!("SELECT {all}, COUNT(*) FROM town GROUP BY {all}"));
    assert!(Query::parse("SELECT *, * FROM town GROUP BY sex", &town()).is_err());
}

#[test]
fn rows_are_chosen_by_their_figures() {
    let query = |sql: &str| Query::parse(sql, &town()).unwrap();
    let of = query(
        "SELECT sex, COUNT(*) AS n, AVG(age) FROM town GROUP BY sex HAVING n BETWEEN 5 AND 9 AND NOT 3 < AVG(age) OR COUNT(*) = 1 LIMIT 2 OFFSET 1",
    );
    assert_eq!((of.limit, of.offset), (Some(2), 1));
    let having = of.having.unwrap();
    for (n, mean, holds) in
        [(5.0, 3.0, true), (9.0, 2.0, true), (9.0, 4.0, false), (1.0, 4.0, true), (10.0, 1.0, false)]
    {
        assert_eq!(having.holds(&[0.0, n, mean]), holds, "{n} {mean}");
    }
    let chain = vec!["COUNT(*) > 1"; 300].join(" AND ");
    assert!(query(&format!("SELECT COUNT(*) FROM town HAVING {chain}")).having.is_some());
    // What is NULL is neither above nor not above.
    for (condition, holds) in [
        ("n > 5", false),
        ("NOT n > 5", false),
        ("n NOT BETWEEN 1 AND 2", false),
        ("n > 5 OR m > 1", true),
        ("NOT (n > 5 AND m > 9)", true),
        ("NOT (n > 5 AND m > 1)", false),
    ] {
        let having =
            query(&format!("SELECT COUNT(*) AS n, AVG(age) AS m FROM town HAVING {condition}")).having;
        assert_eq!(having.unwrap().holds(&[f64::NAN, 2.0]), holds, "{condition}");
    }
    for (sql, message) in [
        ("SELECT sex, COUNT(*) FROM town GROUP BY sex HAVING sex = 'F'", "HAVING compares figures"),
        (
            "SELECT sex, COUNT(*) FROM town GROUP BY sex HAVING AVG(age) > 1",
            "the function AVG is no column of SELECT",
        ),
        ("SELECT COUNT(*) FROM town HAVING COUNT(*) > 'x'", "HAVING compares with a number"),
        ("SELECT COUNT(*) FROM town HAVING COUNT(*)", "the function COUNT is not a condition on figures"),
        ("SELECT COUNT(*) FROM town LIMIT 1 OFFSET -1", "OFFSET needs a whole number that is not negative"),
        ("SELECT DISTINCT COUNT(*) FROM town GROUP BY sex", "DISTINCT would compare noisy figures"),
        ("SELECT ROUND(sex), COUNT(*) FROM town GROUP BY sex", "a label cannot be rounded"),
        ("SELECT ROUND(COUNT(*), 0.5) FROM town", "ROUND takes a figure and how many decimals it keeps"),
    ] {
        assert_eq!(Query::parse(sql, &town()).unwrap_err().message, message, "{sql}");
    }
}

#[test]
fn rounding_and_patterns() {
    let query = |sql: &str| Query::parse(sql, &town()).unwrap();
    let rounded = query("SELECT sex, ROUND(AVG(age), 1), ROUND(COUNT(*), -2) AS n FROM town GROUP BY sex");
    assert_eq!(rounded.rounded, [(1, 1), (2, -2)]);
    assert_eq!(rounded.columns[1].name(), "ROUND(AVG(age), 1)");
    let plain = query("SELECT sex, AVG(age), COUNT(*) AS n FROM town GROUP BY sex");
    assert_eq!(rounded.aggregates, plain.aggregates);
    assert_eq!(
        query("SELECT COUNT(*) FROM town WHERE sex LIKE 'f%'").filter,
        query("SELECT COUNT(*) FROM town WHERE sex IN ('F') AND sex = 'M'").filter
    );
    assert_eq!(
        query("SELECT COUNT(*) FROM town WHERE sex NOT ILIKE 'f%'").filter,
        query("SELECT COUNT(*) FROM town WHERE sex = 'M'").filter
    );
    assert_eq!(
        query("SELECT DISTINCT sex, COUNT(*) FROM town GROUP BY sex"),
        query("SELECT sex, COUNT(*) FROM town GROUP BY sex")
    );
}

#[test]
fn quantiles_are_of_numbers() {
    let query = |sql: &str| Query::parse(sql, &town());
    let median = query("SELECT MEDIAN(age) FROM town").unwrap();
    assert!(median.has_quantiles() && median.left_out.len() == 1);
    let same = query("SELECT QUANTILE(age, 0.5) AS m FROM town").unwrap();
    let p = |q: &Query| match &q.columns[0] {
        SelectColumn::Quantile { level, p, .. } => (*level, *p),
        other => panic!("{other:?}"),
    };
    assert_eq!(p(&median), p(&same));
    for sql in [
        "SELECT MEDIAN(sex) FROM town",
        "SELECT MEDIAN(age, 0.5) FROM town",
        "SELECT QUANTILE(age) FROM town",
        "SELECT QUANTILE(age, 1) FROM town",
        "SELECT QUANTILE(age, 0) FROM town",
        "SELECT QUANTILE(age, 'x') FROM town",
        "SELECT MEDIAN(DISTINCT age) FROM town",
        "SELECT MEDIAN(age) FILTER (WHERE sex = 'F') FROM town",
        "SELECT MEDIAN(age) + 1 FROM town",
        "SELECT ROUND(MEDIAN(age)) FROM town",
        "SELECT MEDIAN(age) AS m FROM town HAVING m > 3",
        "SELECT MEDIAN(*) FROM town",
    ] {
        assert!(query(sql).is_err(), "{sql}");
    }
    // Of bands and bins that do not overlap.
    assert!(query("SELECT MEDIAN(age.band) FROM town").unwrap().has_quantiles());
    assert!(query("SELECT QUANTILE(\"income>50K\", 0.9) FROM town").unwrap().has_quantiles());
    let mut overlaps = town();
    overlaps.dimensions[5].levels[1].bounds[1] = closed(5.0, 20.0);
    let why = Query::parse("SELECT MEDIAN(\"income>50K\") FROM town", &overlaps).unwrap_err().to_string();
    assert!(why.contains("overlap"), "{why}");
    // Who knows them by another name is told of ours.
    for other in [
        "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age)",
        "APPROX_QUANTILE(age, 0.5)",
        "percentile(age, 0.5)",
        "approx_median(age)",
    ] {
        let why = refused(&format!("SELECT {other} FROM town"));
        assert!(why.contains("MEDIAN(age) and QUANTILE(age, 0.9)"), "{why}");
    }
}
