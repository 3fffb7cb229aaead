use super::*;
use crate::answer::QueryError;
use crate::answer::keys::Questions;
use crate::audit::audit;
use crate::compile::{Job, Options, release};
use crate::projection::Shape;
use crate::projection::answer::Estimator;
use crate::release::projection as stored;
use crate::release::{Outcome, Release, SigningKey};
use crate::secret::ingest::Means;
use std::path::Path;

const SPEC: &str = r#"
name = "visits"
title = "Visits"
[privacy]
unit = "row"
rho = "1/2"
[[dimension]]
name = "code"
text = true
[[dimension]]
name = "ward"
categories = ["day", "night"]
[projection]
rows = 4096
sparsity = 6
"#;

/// 900 times a at day, 100 times a at night, 300 times b at day, one each of 200 more.
fn data() -> String {
    let mut text = String::from("code,ward\n");
    text.push_str(&"a,day\n".repeat(900));
    text.push_str(&"a,night\n".repeat(100));
    text.push_str(&"b,day\n".repeat(300));
    (0..200).for_each(|i| text.push_str(&format!("rare {i},night\n")));
    text
}

fn parse(source: &str) -> Spec {
    crate::spec::parse(source, Path::new("visits.toml"), |_| Err(std::io::Error::other("no files"))).unwrap()
}

fn read_shape(job: &Job) -> u64 {
    let Job::Projection(designed) = job else { panic!("tables") };
    designed.design.shape.values()
}

fn released(source: &str) -> (tempfile::TempDir, Release) {
    let dir = tempfile::tempdir().unwrap();
    let rows = dir.path().join("rows.csv");
    std::fs::write(&rows, data()).unwrap();
    let key = SigningKey::throw_away().unwrap();
    let options = Options {
        out: dir.path(),
        data: Some((&rows).into()),
        counts: None,
        ledger: &dir.path().join("ledger.jsonl"),
        key: &key,
        replace: false,
        day: "2026-01-01",
        entropy: Entropy::from_os().unwrap(),
    };
    let made = release(&parse(source), options, &Means::default()).unwrap();
    assert!(made.job.cost() <= made.job.budget() && made.values == read_shape(&made.job));
    let release = Release::open(&made.sealed.path).unwrap();
    (dir, release)
}

#[test]
fn from_spec_to_answers() {
    for kind in ["", "kind = \"sketch\"\n", "norm_bound = 2000000\n"] {
        let (_dir, release) = released(&format!("{SPEC}{kind}"));
        let audit = audit(&release, None).unwrap();
        assert!(audit.passed(), "{}", audit.to_text("x"));
        assert!(audit.checks.iter().any(|c| c.what == "privacy cost" && c.outcome == Outcome::Passed));
        let q = Questions::open(&release).unwrap().unwrap();
        // ‖x‖² is about 910 000, so a cell's standard error is 15; eight of them are never exceeded.
        let near = |sql: &str, want: &[f64]| {
            let table = q.query(sql, 0.95, Estimator::Best).unwrap();
            let found: Vec<f64> = table
                .rows
                .iter()
                .flatten()
                .filter_map(|c| match c {
                    crate::render::ResultCell::Figure(f) => Some(f.estimate),
                    _ => None,
                })
                .collect();
            assert_eq!(found.len(), want.len(), "{sql}");
            for (f, w) in found.iter().zip(want) {
                assert!((f - w).abs() < 8.0 * 15.0 * 2.0, "{kind}{sql}: {f}, not {w}");
            }
        };
        near("SELECT COUNT(*) FROM visits WHERE code = 'a' AND ward = 'day'", &[900.0]);
        near("SELECT COUNT(*) FROM visits WHERE code = 'a'", &[1000.0]);
        near(
            "SELECT code, COUNT(*) AS n FROM visits WHERE code IN ('a', 'b', 'c') GROUP BY code",
            &[1000.0, 300.0, 0.0],
        );
        near("SELECT ward, COUNT(*) FROM visits WHERE code IN ('a', 'b') GROUP BY ward", &[1200.0, 100.0]);
        let cell = q.cell(&["a", "day"]).unwrap();
        assert!((q.count(&[cell], 0.9, Estimator::Mean).estimate - 900.0).abs() < 240.0);
        assert!(q.cell(&["a", "noon"]).is_err() && q.cell(&["a"]).is_err());
    }
}

#[test]
fn questions_that_are_refused() {
    let (_dir, release) = released(SPEC);
    let q = Questions::open(&release).unwrap().unwrap();
    let refused = |sql: &str| q.query(sql, 0.95, Estimator::Best).unwrap_err();
    let many = refused("SELECT COUNT(*) FROM visits WHERE code IN ('a', 'b', 'c', 'd')");
    assert!(matches!(many, QueryError::TooManyCells { cells: 8, most: 6 }), "{many}");
    for (sql, why) in [
        // Each count has six cells at most, both together eight.
        (
            "SELECT COUNT(*) FILTER (WHERE code IN ('a', 'b', 'c')) + COUNT(*) FILTER (WHERE code = 'd') FROM visits",
            "more cells than this release allows",
        ),
        ("SELECT COUNT(*) FROM visits", "any text"),
        ("SELECT COUNT(*) FROM town WHERE code = 'a'", "FROM visits"),
        ("SELECT COUNT(*) FROM visits WHERE code > 'a'", "= and IN alone"),
        ("SELECT COUNT(*) FROM visits WHERE code NOT IN ('a')", "any text"),
        ("SELECT COUNT(*) FROM visits WHERE code = 'a' AND ward = 'noon'", "no category"),
        ("SELECT code, COUNT(*) FROM visits WHERE code = 'a'", "GROUP BY"),
        ("SELECT COUNT(*) FROM visits WHERE color = 'a'", "no dimension"),
        ("SELECT code FROM visits WHERE code = 'a' GROUP BY code", "nothing is counted"),
    ] {
        let error = refused(sql).to_string();
        assert!(error.contains(why), "{sql}: {error}");
    }
}

/// A description that does not fit the integers, or is not the one the manifest names, is refused.
#[test]
fn a_broken_seed_or_size_is_refused() {
    let (_dir, release) = released(SPEC);
    let cube = release.cube().unwrap();
    let good = stored::projection(&release, &cube).unwrap().unwrap();
    assert_eq!(stored::values(&release, &good).unwrap().len(), 4096);
    for rows in [64, 4032, 4160, 1 << 20] {
        let mut other = good.clone();
        other.design.shape = Shape::Dense { rows };
        assert!(stored::values(&release, &other).is_err(), "{rows}");
    }
    let bytes = wire::encode_projection(&good, &cube).unwrap();
    assert_eq!(wire::decode_projection(&bytes, &cube).unwrap(), good);
    let at = bytes.windows(32).position(|w| w == good.seed).unwrap();
    let mut zero = bytes.clone();
    zero[at..at + 32].fill(0);
    assert!(wire::decode_projection(&zero, &cube).is_err());
    for end in 0..bytes.len() {
        assert!(wire::decode_projection(&bytes[..end], &cube).is_err());
    }
    let mut odd = good.clone();
    odd.design.shape = Shape::Dense { rows: 4095 };
    assert!(wire::encode_projection(&odd, &cube).is_err());
    let mut costly = good;
    costly.design.scale = Rational::ZERO;
    assert!(wire::encode_projection(&costly, &cube).is_err());
}

#[test]
fn specs_that_are_refused() {
    let broken = |from: &str, to: &str| {
        let source = SPEC.replace(from, to);
        crate::spec::parse(&source, Path::new("x.toml"), |_| Err(std::io::Error::other("no files")))
            .unwrap_err()
            .render(false)
    };
    for (from, to, why) in [
        ("rows = 4096", "", "`rows`"),
        ("rows = 4096", "rows = 1\nsize = \"2 MB\"", "both"),
        ("rows = 4096", "size = \"2 bananas\"", "not a size"),
        ("rows = 4096", "rows = 4096\nof = [\"cod\"]", "unknown dimension"),
        ("rows = 4096", "rows = 4096\nsketch_rows = 3", "without a sketch"),
        ("rows = 4096", "rows = 4096\nfailure = 2", "less than one"),
        ("text = true", "text = true\nother = \"x\"", "beside `text`"),
        ("[projection]", "[[table]]\nevery = 1\n[projection]", "tables beside a projection"),
    ] {
        let text = broken(from, to);
        assert!(text.contains(why), "{to}: {text}");
    }
    let tables = SPEC.split("[projection]").next().unwrap().to_owned() + "[[table]]\nevery = 1\n";
    assert!(crate::spec::parse(&tables, Path::new("x.toml"), |_| Err(std::io::Error::other(""))).is_err());
    let pure = parse(&SPEC.replace("rho = \"1/2\"", "epsilon = 1"));
    assert!(design(&pure).unwrap().is_err());
}
