//! Release files that every later version must read and answer alike, and what must be refused.
//!
//! The files in `v1` and `v2` were made once, with a fixed seed, from the specs beside them; they are NOT PRIVATE and say
//! so. Beside each lie the answers it must give. README.md tells how they came about.

mod broken;
mod make;
mod plans;

use margins::answer::Answers;
use margins::answer::keys::Questions;
use margins::audit;
use margins::release::{Kind, Outcome, Release};
use margins::render;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Format version 1.
const FILES: [&str; 3] = ["v1-residual", "v1-queries-laplace", "v1-base"];
/// Format version 2.
const SECOND: [&str; 5] = ["v2-amount", "v2-exact", "v2-zeros", "v2-sketch", "v2-bases"];

fn all() -> impl Iterator<Item = &'static str> {
    FILES.into_iter().chain(SECOND)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

fn path(name: &str) -> PathBuf {
    folder().join(&name[..2]).join(name)
}

/// Equal, numbers to nine digits: the last ones may depend on the order of sums.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-9 * (1.0 + a.abs())
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, v)| b.get(k).is_some_and(|w| same(v, w)))
        }
        _ => a == b,
    }
}

/// The rows of an answer. Other fields may grow with time.
fn rows(name: &str, sql: &str, level: f64) -> Value {
    let release = Release::open(path(&format!("{name}.margins"))).unwrap();
    let table = match Questions::open(&release).unwrap() {
        Some(questions) => questions.query(sql, level, Default::default()).unwrap(),
        None => Answers::from_release(release).unwrap().query(sql, level).unwrap(),
    };
    let text = render::json(&table, &serde_json::Map::new()).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["rows"].take()
}

#[test]
fn frozen_files_answer_as_ever() {
    for name in all() {
        let beside = path(&format!("{name}.json"));
        let expected: Value = serde_json::from_str(&std::fs::read_to_string(&beside).unwrap()).unwrap();
        let mut found = expected.clone();
        for (e, f) in expected.as_array().unwrap().iter().zip(found.as_array_mut().unwrap()) {
            let (sql, level) = (e["sql"].as_str().unwrap(), e["level"].as_f64().unwrap());
            f["rows"] = rows(name, sql, level);
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&beside, format!("{found:#}\n")).unwrap();
            continue;
        }
        assert!(expected.as_array().unwrap().len() >= 4);
        for (e, f) in expected.as_array().unwrap().iter().zip(found.as_array().unwrap()) {
            assert!(same(e, f), "{name}: {e:#}\nis now\n{f:#}");
        }
    }
}

#[test]
fn frozen_files_are_whole_and_say_that_they_are_not_private() {
    for name in all() {
        let release = Release::open(path(&format!("{name}.margins"))).unwrap();
        assert!(release.manifest().is_not_private());
        assert_eq!(release.manifest().format.to_string(), name[1..2]);
        let audit = audit::audit(&release, None).unwrap();
        let failed: Vec<&str> =
            audit.checks.iter().filter(|c| c.outcome == Outcome::Failed).map(|c| c.what.as_str()).collect();
        assert_eq!(failed, ["privacy", "signer"], "{name}");
        assert!(!audit.passed());
        // What it claims follows from what it holds, by the rules of its version.
        for what in ["manifest's claims", "spec", "answers"] {
            let passed = audit.checks.iter().any(|c| c.what == what && c.outcome == Outcome::Passed);
            assert!(passed, "{name}: {what} in {audit:?}");
        }
    }
}

/// The list of sections of version 1 is closed.
#[test]
fn version_1_is_closed() {
    for name in FILES {
        let release = Release::open(path(&format!("{name}.margins"))).unwrap();
        assert!(release.manifest().sections.iter().all(|s| s.tag & !(1 << 31) <= 8));
        assert!(release.manifest().dataset.is_none() && release.count(Kind::CutUnits) == 0);
    }
}
