//! What the targets share: sound files of every kind, one of whose sections is replaced by what the fuzzer made, signed
//! again, and then read in every way there is. The files are those of `tests/hostile`.

// Tests use more of them.
#[allow(dead_code)]
#[path = "../../tests/hostile/corpus.rs"]
pub mod corpus;
#[path = "../../tests/hostile/file.rs"]
pub mod file;
#[allow(dead_code)]
#[path = "../../tests/hostile/raw.rs"]
pub mod raw;

use file::{File, Key};
use margins::answer::Answers;
use margins::answer::keys::Questions;
use margins::audit;
use margins::projection::answer::Estimator;
use margins::release::Release;
use margins::secret::ingest::Means;
use std::sync::LazyLock;

/// The sections that targets replace.
pub const DOMAIN: u32 = file::DOMAIN;
pub const PLAN: u32 = file::PLAN;
pub const MEASUREMENTS: u32 = file::MEASUREMENTS;
pub const EXACT: u32 = file::EXACT;
pub const ZERO: u32 = file::ZERO;
pub const PROJECTION: u32 = file::PROJECTION;

static KEY: LazyLock<Key> = LazyLock::new(Key::new);
static BASES: LazyLock<Vec<File>> =
    LazyLock::new(|| corpus::bases().into_iter().map(|(_, made)| made.file()).collect());

/// What stands for the public key in a manifest that the fuzzer makes: the key is new in every run.
const PLACE: &[u8] = b"PUBLICKEYPUBLICKEYPUBLICKEYPUBLICKEYPUBLICKEYPUBLICKEYPK";

/// Opened, audited and asked.
pub fn read(bytes: Vec<u8>) {
    let Ok(release) = Release::from_bytes(bytes) else { return };
    if let Ok(audit) = audit::audit(&release, None) {
        let _ = (audit.to_text("file"), audit.to_json());
    }
    if let Ok(Some(questions)) = Questions::open(&release) {
        let all: Vec<String> = questions.key_names().iter().map(|n| format!("\"{n}\" = '1'")).collect();
        let sql = format!("SELECT COUNT(*) FROM \"{}\" WHERE {}", questions.name(), all.join(" AND "));
        let _ = questions.query(&sql, 0.95, Estimator::Best);
    }
    if let Ok(answers) = Answers::from_release(release) {
        let name = answers.name();
        for what in ["COUNT(*)", "sex, COUNT(*)", "sex, age, COUNT(*)"] {
            let grouped =
                what.strip_suffix(", COUNT(*)").map_or(String::new(), |by| format!(" GROUP BY {by}"));
            let _ = answers.query(&format!("SELECT {what} FROM \"{name}\"{grouped}"), 0.95);
        }
    }
}

/// The first byte picks a file that has such a section, the rest becomes the section.
pub fn section(tag: u32, data: &[u8]) {
    let Some((&pick, body)) = data.split_first() else { return };
    let having: Vec<&File> = BASES.iter().filter(|f| f.sections.iter().any(|s| s.tag == tag)).collect();
    let mut file = having[usize::from(pick) % having.len()].clone();
    if tag == file::ZERO {
        // What a condition says, the manifest must say, too.
        file.manifest["declared"]["constraints"] = serde_json::json!([String::from_utf8_lossy(body)]);
    }
    file.put(tag, vec![body.to_vec()]);
    read(file.sealed(&KEY));
}

/// A manifest in any text, over a sound file.
pub fn manifest(data: &[u8]) {
    let key = KEY.public();
    let text = match data.windows(PLACE.len()).position(|w| w == PLACE) {
        Some(at) => [&data[..at], key.as_bytes(), &data[at + PLACE.len()..]].concat(),
        None => data.to_vec(),
    };
    read(BASES[0].signed(&text, &KEY));
}

const SPEC: &str = r#"
name = "rows"
title = "Rows"

[data]
path = "rows.csv"
encoding = "ENCODING"

[privacy]
unit = { column = "who", max_rows = 2, order = "at" }
rho = 1

[[dimension]]
name = "x"
categories = ["a", "b", "é"]
other = "other"
missing = "missing"

[[dimension]]
name = "n"
range = [0, 9]
other = "other"
missing = "missing"

[[dimension]]
name = "d"
dates = ["2024-02-28", "2024-03-01"]
other = "other"
missing = "missing"

[[zero]]
where = "x = 'a' AND n = 3"

[[table]]
of = ["x", "n", "d"]
"#;

/// Private rows from a file whose name has this end: read with and without an order of the rows of units, in either encoding, checked, and
/// drafted from.
pub fn rows(data: &[u8], end: &str) {
    static ROOM: LazyLock<(tempfile::TempDir, Vec<margins::spec::Spec>)> = LazyLock::new(|| {
        let spec = |text: &str| {
            let path = std::path::Path::new("rows.toml");
            margins::spec::parse(text, path, |_| Err(std::io::ErrorKind::NotFound.into())).expect("a spec")
        };
        let utf8 = SPEC.replace("ENCODING", "utf-8");
        let specs =
            [&*utf8, &*utf8.replace(", order = \"at\"", ""), &*SPEC.replace("ENCODING", "latin-1")].map(spec);
        (tempfile::tempdir().expect("a folder"), specs.into())
    });
    let path = ROOM.0.path().join(format!("rows.{end}"));
    if std::fs::write(&path, data).is_err() {
        return;
    }
    for spec in &ROOM.1 {
        let read = margins::secret::ingest::read(spec, path.as_path(), &Means::default());
        let checked = margins::secret::ingest::fuzzed::passes(spec, &path);
        // What a release refuses, a check finds; and nothing else.
        match (&read, &checked) {
            (Ok(_), Ok(passed)) => assert!(*passed, "a check finds what a release does not mind"),
            (Err(error), Ok(passed)) => assert!(!passed, "a check is silent about {error}"),
            (Ok(_), Err(error)) => panic!("only a check refuses: {error}"),
            (Err(_), Err(_)) => {}
        }
        read.err().into_iter().chain(checked.err()).for_each(|error| drop(error.to_string()));
    }
    match end {
        "csv" => drop(margins::spec::draft(&[path.as_path().into()], &path, ROOM.0.path(), None)),
        _ => drop(margins::secret::ingest::fuzzed::draft_of_parquet(&path, ROOM.0.path())),
    }
}
