//! One release that is open in the page, and what the page asks of it.
//!
//! Texts in replies come from whoever made the file, so they pass [`margins::visible`] as on the command line; the page shows them as
//! text and nothing else. Three are for programs and stay as they are: `sql`, which goes back into the box of queries, `csv`, and `json`.

use crate::answer::{Answered, Manner};
use crate::records::Pieces;
use margins::audit::LIMITS;
use margins::describe::Dimension;
use margins::release::{Approximate, Privacy};
use margins::visible::{visible, visible_lines};
use margins::{Description, Release, Watch};
use serde::Deserialize;
use serde_json::{Value, json};

/// A release, the answer that was shown last, and the records that were drawn last.
#[derive(Default)]
pub struct Session {
    release: Option<Release>,
    /// What it is, once somebody has asked.
    about: Option<Description>,
    answer: Option<Answered>,
    records: Pieces,
}

/// A level: its dimension, and its place in that dimension from the finest on.
type Place = (usize, usize);

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    /// Every check.
    Verify { key: Option<String> },
    /// What it is.
    Describe,
    /// Questions that it answers.
    Examples,
    /// The tables whose names have all these words, some of them from a place on.
    Tables { words: String, from: usize, most: usize },
    /// The margin of the cell of a table that is known least well.
    Margin { table: usize },
    /// Asks SQL.
    Query {
        sql: String,
        level: f64,
        #[serde(default)]
        reliability: bool,
    },
    /// Asks for a table: of these levels, for these categories alone.
    Table {
        by: Vec<Place>,
        only: Vec<(Place, usize)>,
        level: f64,
        #[serde(default)]
        reliability: bool,
    },
    /// Asks a projection for the count of a key: of every dimension that is not left open what it is.
    Key { key: Vec<(usize, Is)>, level: f64 },
    /// More rows of the answer.
    Rows { answer: u64, from: usize },
    /// The answer by one of its columns, up or down.
    Sort { answer: u64, column: usize, down: bool },
    /// The whole answer.
    Csv { answer: u64 },
    /// Draws synthetic records.
    Records { rows: Option<u64>, seed: u64 },
    /// The next piece of them.
    Piece,
}

/// What a dimension of a key is: the number of its category, or any text where it has no list of them.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Is {
    Category(usize),
    Text(String),
}

/// A reply, or why there is none.
type Reply = Result<Value, String>;

impl Session {
    /// Nothing open.
    pub const fn new() -> Session {
        Session { release: None, about: None, answer: None, records: Pieces::new() }
    }

    /// Opens a release, with the text of the `.minisig` beside it or none. The reply says what it is called, and whether it is a projection.
    pub fn open(&mut self, bytes: Vec<u8>, minisig: Vec<u8>) -> String {
        *self = Session::new();
        let opened = match minisig.is_empty() {
            true => Release::from_bytes(bytes),
            false => Release::from_bytes_with_signature(bytes, minisig),
        };
        written(opened.map_err(|e| e.to_string()).map(|release| {
            let manifest = release.manifest();
            let reply = json!({
                "name": seen(release.name()),
                "title": manifest.map(|m| seen(&m.about.title)),
                "projection": release.tables().iter().any(|t| t.cells.is_none()),
            });
            self.release = Some(release);
            reply
        }))
    }

    /// Answers a request; long work tells the watch how far it is.
    pub fn ask(&mut self, request: &[u8], watch: &Watch) -> String {
        let request = serde_json::from_slice(request).map_err(|e| format!("the request cannot be read: {e}"));
        written(request.and_then(|request| self.reply(request, watch)))
    }

    fn reply(&mut self, request: Request, watch: &Watch) -> Reply {
        let Session { release, about, answer, records } = self;
        let release = release.as_ref().ok_or("no release is open")?;
        let about = match about {
            Some(about) => about,
            None => about.insert(release.summary(0).map_err(|e| e.to_string())?),
        };
        match request {
            Request::Verify { key } => verify(release, key.as_deref()),
            Request::Describe => describe(release, about),
            Request::Examples => {
                let sql = release.examples();
                Ok(json!({ "shown": sql.iter().map(|s| seen(s)).collect::<Vec<_>>(), "sql": sql }))
            }
            Request::Tables { words, from, most } => Ok(tables(release, about, &words, from, most)),
            Request::Margin { table } => {
                Ok(json!({ "margin": release.table_margin(table).map_err(|e| e.to_string())? }))
            }
            Request::Query { sql, level, reliability } => {
                Answered::ask(release, about, sql, Manner { level, reliability }, answer)
            }
            Request::Table { by, only, level, reliability } => {
                let sql = table_sql(release, about, &by, &only)?;
                Answered::ask(release, about, sql, Manner { level, reliability }, answer)
            }
            Request::Key { key, level } => {
                let sql = key_sql(release, about, &key)?;
                Answered::ask(release, about, sql, Manner { level, reliability: false }, answer)
            }
            Request::Sort { answer: number, column, down } => {
                Answered::numbered(answer, number)?.sort(about, column, down)
            }
            Request::Rows { answer: number, from } => Ok(Answered::numbered(answer, number)?.rows(from)),
            Request::Csv { answer: number } => {
                Ok(json!({ "csv": Answered::numbered(answer, number)?.csv() }))
            }
            Request::Records { rows, seed } => {
                let report = records.draw(release, rows, seed, watch)?;
                let json = serde_json::to_string_pretty(&report).map_err(|e| e.to_string())? + "\n";
                Ok(
                    json!({ "records": report.records, "report": visible_lines(&report.text()), "json": json }),
                )
            }
            Request::Piece => Ok(json!({ "csv": records.next() })),
        }
    }
}

/// A text in one line, safe to show.
fn seen(text: &str) -> String {
    visible(text).into_owned()
}

fn written(reply: Reply) -> String {
    let reply = reply.unwrap_or_else(|why| json!({ "error": visible_lines(&why) }));
    reply.to_string()
}

/// All texts of a reply as they are shown.
fn safe(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(visible_lines(&text).into_owned()),
        Value::Array(values) => values.into_iter().map(safe).collect(),
        Value::Object(map) => map.into_iter().map(|(k, v)| (k, safe(v))).collect(),
        other => other,
    }
}

/// As `margins verify` has it.
fn verify(release: &Release, key: Option<&str>) -> Reply {
    let audit = release.verify(key).map_err(|e| e.to_string())?;
    let checks = audit.checks.iter().map(|c| json!([c.outcome.mark(), seen(&c.what), seen(&c.detail)]));
    Ok(json!({
        "passed": audit.passed(),
        "verdict": audit.verdict().word(),
        "said": audit.last_word(),
        "limits": LIMITS.replace('\n', " "),
        "blake3": audit.blake3,
        "checks": checks.collect::<Vec<_>>(),
    }))
}

/// As `margins describe --json` has it, without what takes a moment: the errors of tables, and examples.
fn describe(release: &Release, about: &Description) -> Reply {
    let mut value = serde_json::to_value(about).map_err(|e| e.to_string())?;
    if let Value::Object(map) = &mut value {
        map.insert("errors".into(), about.errors().into());
        map.insert("promise".into(), release.manifest().map(|m| promise(&m.privacy)).into());
    }
    Ok(safe(value))
}

/// Whom it protects and how well, in the numbers that people compare: `verify` derives each of them again.
fn promise(of: &Privacy) -> String {
    let whom = match of.unit.as_str() {
        "row" => "every row".to_owned(),
        unit => format!("every {unit}"),
    };
    match &of.approximate {
        Some(Approximate { epsilon, delta, .. }) => {
            format!("Differential privacy for {whom}: ε = {epsilon} at δ = {delta}.")
        }
        None => format!("Differential privacy for {whom}: ε = {}.", of.cost.amount.to_f64()),
    }
}

/// Where a level is that a query names so.
fn place(dimensions: &[Dimension], name: &str) -> Option<Place> {
    let in_dimension = |d: &Dimension| d.levels.iter().position(|l| l.name == name);
    dimensions.iter().enumerate().find_map(|(i, d)| Some((i, in_dimension(d)?)))
}

/// The tables whose names have all the words.
fn tables(release: &Release, about: &Description, words: &str, from: usize, most: usize) -> Value {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let name = |t: &margins::Table| if t.levels.is_empty() { "total".into() } else { t.levels.join(" × ") };
    let mut found: Vec<_> = release.tables().into_iter().enumerate().collect();
    found.retain(|(_, t)| {
        let name = name(t).to_lowercase();
        words.iter().all(|w| name.contains(w))
    });
    let one = |(i, t): &(usize, margins::Table)| {
        let places: Option<Vec<Place>> = t.levels.iter().map(|l| place(&about.dimensions, l)).collect();
        json!({ "table": i, "name": seen(&name(t)), "levels": places, "cells": t.cells, "exact": t.exact })
    };
    json!({
        "all": found.len(),
        "tables": found.iter().skip(from).take(most).map(one).collect::<Vec<_>>(),
    })
}

/// The question for the count of a key.
fn key_sql(release: &Release, about: &Description, key: &[(usize, Is)]) -> Result<String, String> {
    let dimensions = &about.dimensions;
    let named = key.iter().map(|(at, is)| {
        let dimension = dimensions.get(*at).ok_or("there is no such dimension")?;
        let text = match is {
            Is::Text(text) => text,
            Is::Category(at) => {
                let finest = dimension.levels.first();
                finest.and_then(|l| l.categories.get(*at)).ok_or("there is no such category")?
            }
        };
        Ok((dimension.name.as_str(), text.as_str()))
    });
    Ok(release.cells_sql(&[], &named.collect::<Result<Vec<_>, String>>()?))
}

/// The question for a table, from the places of its levels and of the categories it is restricted to.
fn table_sql(
    release: &Release,
    about: &Description,
    by: &[Place],
    only: &[(Place, usize)],
) -> Result<String, String> {
    let dimensions = &about.dimensions;
    let level = |(d, l): Place| {
        dimensions.get(d).and_then(|d| d.levels.get(l)).ok_or_else(|| "there is no such level".to_string())
    };
    let names = by.iter().map(|&p| Ok(level(p)?.name.as_str())).collect::<Result<Vec<_>, String>>()?;
    let only = only.iter().map(|&(p, category)| {
        let level = level(p)?;
        let label = level.categories.get(category).ok_or("there is no such category")?;
        Ok((level.name.as_str(), label.as_str()))
    });
    Ok(release.cells_sql(&names, &only.collect::<Result<Vec<_>, String>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELEASE: &str = "v1/v1-residual.margins";

    fn vector(name: &str) -> Vec<u8> {
        std::fs::read(format!("../tests/vectors/{name}")).unwrap()
    }

    fn opened(name: &str) -> Session {
        let mut session = Session::new();
        let reply: Value = serde_json::from_str(&session.open(vector(name), Vec::new())).unwrap();
        assert!(reply["title"].is_string(), "{reply}");
        session
    }

    fn ask(session: &mut Session, request: Value) -> Value {
        serde_json::from_str(&session.ask(request.to_string().as_bytes(), &Watch::default())).unwrap()
    }

    #[test]
    fn what_is_open_is_verified_described_and_asked() {
        let mut session = opened(RELEASE);
        let audit = ask(&mut session, json!({ "do": "verify", "key": "nonsense" }));
        let failed = audit["checks"].as_array().unwrap().iter().any(|c| c[0] == "FAIL" && c[1] == "signer");
        assert!(failed && audit["passed"] == false, "{audit}");
        let about = ask(&mut session, json!({ "do": "describe" }));
        let examples = ask(&mut session, json!({ "do": "examples" }));
        for sql in examples["sql"].as_array().unwrap() {
            let reply = ask(&mut session, json!({ "do": "query", "sql": sql, "level": 0.9 }));
            assert!(reply["rows"].as_u64().unwrap() > 0 && reply["level"] == 0.9, "{reply}");
        }
        let tables = ask(&mut session, json!({ "do": "tables", "words": "", "from": 0, "most": 3 }));
        for table in tables["tables"].as_array().unwrap() {
            let reply =
                ask(&mut session, json!({ "do": "table", "by": table["levels"], "only": [], "level": 0.95 }));
            assert_eq!(reply["rows"], table["cells"], "{reply}");
            let margin = ask(&mut session, json!({ "do": "margin", "table": table["table"] }));
            assert!(margin["margin"].as_str().unwrap().starts_with("± "), "{margin}");
            let csv = ask(&mut session, json!({ "do": "csv", "answer": reply["answer"] }));
            assert_eq!(
                csv["csv"].as_str().unwrap().lines().count() as u64,
                reply["rows"].as_u64().unwrap() + 1
            );
            let rest = ask(&mut session, json!({ "do": "rows", "answer": reply["answer"], "from": 1 }));
            assert_eq!(rest["columns"][0]["cells"][0], reply["columns"][0]["cells"][1]);
        }
        let total = |session: &mut Session, only: Value| {
            let reply = ask(session, json!({ "do": "table", "by": [], "only": only, "level": 0.95 }));
            reply["picture"]["series"][0]["points"][0][1][0].as_f64().unwrap()
        };
        // The parts add up to the whole: a category is the one that is meant.
        let (all, level) = (total(&mut session, json!([])), &about["dimensions"][0]["levels"][0]);
        let parts = 0..level["categories"].as_array().unwrap().len();
        let sum: f64 = parts.map(|i| total(&mut session, json!([[[0, 0], i]]))).sum();
        assert!((sum - all).abs() < 1e-6, "{sum} {all}");
    }

    #[test]
    fn a_projection_is_asked_for_keys() {
        let mut session = opened("v2/v2-sketch.margins");
        let about = ask(&mut session, json!({ "do": "describe" }));
        assert!(about["errors"].as_str().unwrap().contains("± "), "{about}");
        let key: Vec<Value> = about["dimensions"]
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
            .map(|(at, d)| match d["levels"].as_array().unwrap()[..] {
                [] => json!([at, { "text": "it's \u{202e}\"<b>" }]),
                _ => json!([at, { "category": 0 }]),
            })
            .collect();
        let reply = ask(&mut session, json!({ "do": "key", "key": key, "level": 0.9 }));
        assert_eq!((&reply["rows"], &reply["level"]), (&json!(1), &json!(0.9)), "{reply}");
        // The same question in SQL has the same answer.
        let again = ask(&mut session, json!({ "do": "query", "sql": reply["sql"], "level": 0.9 }));
        assert_eq!(again["columns"], reply["columns"]);
        for wrong in [json!([[99, { "text": "a" }]]), json!([[0, { "category": 1_000_000 }]])] {
            let reply = ask(&mut session, json!({ "do": "key", "key": wrong, "level": 0.9 }));
            assert!(reply["error"].is_string(), "{reply}");
        }
    }

    #[test]
    fn answers_are_sorted_and_scales_run_as_they_do() {
        let mut session = opened(RELEASE);
        let about = ask(&mut session, json!({ "do": "describe" }));
        assert!(about["promise"].as_str().unwrap().contains("ε = "), "{about}");
        let tables = ask(&mut session, json!({ "do": "tables", "words": "", "from": 0, "most": 100 }));
        let mut sorted = 0;
        for table in tables["tables"].as_array().unwrap() {
            let reply =
                ask(&mut session, json!({ "do": "table", "by": table["levels"], "only": [], "level": 0.9 }));
            for (at, column) in reply["columns"].as_array().unwrap().iter().enumerate() {
                let sort = |session: &mut Session, down: bool| {
                    let by = json!({ "do": "sort", "answer": reply["answer"], "column": at, "down": down });
                    let sorted = ask(session, by);
                    let cells = sorted["columns"][at]["cells"].as_array().unwrap().clone();
                    (cells, sorted)
                };
                let (up, _) = sort(&mut session, false);
                let (mut down, all) = sort(&mut session, true);
                assert_eq!((&all["rows"], &all["sql"]), (&reply["rows"], &reply["sql"]));
                down.reverse();
                assert_eq!(up, down, "equal texts have equal keys: {reply}");
                if column["number"] == true {
                    let number =
                        |cell: &Value| cell.as_str().unwrap().replace(',', "").parse::<f64>().unwrap_or(0.0);
                    assert!(up.windows(2).all(|w| number(&w[0]) <= number(&w[1])), "{up:?}");
                    sorted += 1;
                }
                let before = &reply["picture"];
                if before["scale"] == true {
                    assert_eq!(all["picture"]["series"], before["series"]);
                }
            }
        }
        assert!(sorted > 3);
        let wrong = json!({ "do": "sort", "answer": 1, "column": 0, "down": true });
        assert!(ask(&mut session, wrong)["error"].is_string());
    }

    #[test]
    fn records_come_in_pieces_with_their_report() {
        let mut session = opened(RELEASE);
        let draw = |session: &mut Session, seed: u64| {
            let drawn = ask(session, json!({ "do": "records", "rows": 5000, "seed": seed }));
            let mut csv = String::new();
            let mut pieces = 0;
            while let Some(piece) = ask(session, json!({ "do": "piece" }))["csv"].as_str() {
                csv.push_str(piece);
                pieces += 1;
            }
            (drawn, csv, pieces)
        };
        let (drawn, csv, pieces) = draw(&mut session, 1);
        assert_eq!((drawn["records"].as_u64(), csv.lines().count()), (Some(5000), 5001), "{drawn}");
        assert_eq!(pieces, 3, "the names of columns, and 4096 and 904 records");
        assert!(drawn["report"].as_str().unwrap().contains("5000 of ") && csv.contains("weight"));
        let report: Value = serde_json::from_str(drawn["json"].as_str().unwrap()).unwrap();
        assert_eq!((&report["seed"], &report["records"]), (&json!(1), &json!(5000)));
        assert_eq!(draw(&mut session, 1).1, csv);
        assert_ne!(draw(&mut session, 2).1, csv);
        let mut sketch = opened("v2/v2-sketch.margins");
        let refused = ask(&mut sketch, json!({ "do": "records", "rows": null, "seed": 1 }));
        assert!(refused["error"].as_str().unwrap().contains("is a projection"), "{refused}");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let mut session = Session::new();
        assert_eq!(ask(&mut session, json!({ "do": "describe" }))["error"], "no release is open");
        let mut bytes = vector(RELEASE);
        let middle = bytes.len() * 3 / 4;
        bytes[middle] ^= 1;
        let reply = session.open(bytes, Vec::new());
        assert!(
            reply.contains("error")
                || ask(&mut session, json!({ "do": "verify", "key": null }))["passed"] == false
        );
        let mut session = opened(RELEASE);
        for wrong in [
            json!({ "do": "dance" }),
            json!({ "do": "csv", "answer": 1 }),
            json!({ "do": "rows", "answer": 0, "from": 0 }),
            json!({ "do": "table", "by": [[99, 0]], "only": [], "level": 0.95 }),
            json!({ "do": "table", "by": [], "only": [[[0, 0], 9999]], "level": 0.95 }),
            json!({ "do": "query", "sql": "SELECT", "level": 0.95 }),
            json!({ "do": "query", "sql": "SELECT COUNT(*) FROM nowhere", "level": 1.5 }),
        ] {
            assert!(ask(&mut session, wrong.clone())["error"].is_string(), "{wrong}");
        }
        let beside = session.open(vector(RELEASE), b"no signature".to_vec());
        assert!(!beside.contains("error"));
        let audit = ask(&mut session, json!({ "do": "verify", "key": null }));
        assert!(
            audit["checks"]
                .as_array()
                .unwrap()
                .iter()
                .any(|c| c[0] == "FAIL" && c[1] == "whole-file signature"),
            "{audit}"
        );
    }

    #[test]
    fn texts_are_safe_to_show_and_queries_stay_as_they_are() {
        let turned = json!({ "a": ["x\u{202e}y", 1], "b": { "c": "\u{1b}[2J" } });
        assert_eq!(safe(turned), json!({ "a": ["x\\u{202e}y", 1], "b": { "c": "\\u{1b}[2J" } }));
    }
}
