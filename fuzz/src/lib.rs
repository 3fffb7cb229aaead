//! What the targets share: sound files of every kind, one of whose sections is replaced by what the fuzzer made, signed
//! again, and then read in every way there is. The files are those of `tests/hostile`.

// Tests use more of them.
#[path = "../../tests/hostile/asked.rs"]
pub mod asked;
#[path = "../../tests/hostile/chain.rs"]
pub mod chain;
#[allow(dead_code)]
#[path = "../../tests/hostile/corpus.rs"]
pub mod corpus;
#[path = "../../tests/hostile/file.rs"]
pub mod file;
pub mod ledger;
#[allow(dead_code)]
#[path = "../../tests/hostile/raw.rs"]
pub mod raw;
#[path = "../../tests/hostile/sound.rs"]
pub mod sound;

use file::{File, Key};
use margins::audit;
use margins::secret::ingest::Means;
use margins::{Options, Release};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The sections that targets replace.
pub const DOMAIN: u32 = file::DOMAIN;
pub const PLAN: u32 = file::PLAN;
pub const MEASUREMENTS: u32 = file::MEASUREMENTS;
pub const EXACT: u32 = file::EXACT;
pub const ZERO: u32 = file::ZERO;
pub const PROJECTION: u32 = file::PROJECTION;
pub const TRUNCATION: u32 = file::CRITICAL | 9;
pub const WORKLOAD: u32 = 10;
pub const COPIES: u32 = file::CRITICAL | 11;
pub const SUMS: u32 = file::CRITICAL | 12;
/// What the sections of a kind are called by the target that replaces them.
const TARGETS: [(u32, &str); 10] = [
    (DOMAIN, "domain"),
    (PLAN, "plan"),
    (MEASUREMENTS, "measurements"),
    (EXACT, "exact"),
    (ZERO, "zero"),
    (PROJECTION, "projection"),
    (TRUNCATION, "truncation"),
    (WORKLOAD, "workload"),
    (COPIES, "copies"),
    (SUMS, "sums"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

static KEY: LazyLock<Key> = LazyLock::new(Key::new);
static BASES: LazyLock<Vec<File>> = LazyLock::new(|| {
    let made = corpus::bases().into_iter().map(|(_, made)| made.file());
    made.chain(sound::quick(&root()).into_iter().map(|(_, file)| file)).collect()
});
static OPEN: LazyLock<Vec<Release>> = LazyLock::new(|| {
    let sound = sound::files(&root()).into_iter().map(|(_, file)| Release::from_bytes(file.sealed(&KEY)));
    sound.map(|release| release.expect("a release")).collect()
});

/// What stands for the public key in a manifest that the fuzzer makes: the key is new in every run.
const PLACE: &[u8] = b"PUBLICKEYPUBLICKEYPUBLICKEYPUBLICKEYPUBLICKEYPUBLICKEYPK";

/// Opened, audited and asked.
pub fn read(bytes: Vec<u8>) {
    let Ok(file) = margins::release::Release::from_bytes(bytes.clone()) else { return };
    // Also what no question can be asked of.
    if let Ok(audit) = audit::audit(&file, None) {
        let _ = (audit.to_text("file"), audit.to_json());
    }
    if let Ok(release) = Release::from_bytes(bytes) {
        let _ = asked::asked(&release);
    }
}

/// Which sections of which files have this tag.
fn having(tag: u32) -> Vec<(&'static File, usize)> {
    let of = |file: &'static File| {
        let places = file.sections.iter().enumerate().filter(move |(_, s)| s.tag == tag);
        places.map(move |(at, _)| (file, at))
    };
    BASES.iter().flat_map(of).collect()
}

/// The first byte picks a section of this kind, the rest replaces it.
pub fn section(tag: u32, data: &[u8]) {
    let Some((&pick, body)) = data.split_first() else { return };
    let having = having(tag);
    let (file, at) = having[usize::from(pick) % having.len()];
    let mut file = file.clone();
    if tag == file::ZERO {
        // What a condition says, the manifest must say, too.
        file.manifest["declared"]["constraints"] = serde_json::json!([String::from_utf8_lossy(body)]);
    }
    file.sections[at].bytes = body.to_vec();
    read(file.sealed(&KEY));
}

/// A manifest in any text, over the sound file whose domain it names.
pub fn manifest(data: &[u8]) {
    let key = KEY.public();
    let text = match data.windows(PLACE.len()).position(|w| w == PLACE) {
        Some(at) => [&data[..at], key.as_bytes(), &data[at + PLACE.len()..]].concat(),
        None => data.to_vec(),
    };
    let named = |file: &&File| {
        let hash = blake3::hash(&file.sections[0].bytes).to_hex();
        text.windows(hash.len()).any(|w| w == hash.as_bytes())
    };
    read(BASES.iter().rev().find(named).unwrap_or(&BASES[0]).signed(&text, &KEY));
}

/// A question in any text; its first letter picks the release that is asked.
pub fn question(text: &str) {
    let Some(first) = text.chars().next() else { return };
    let release = &OPEN[first as usize % OPEN.len()];
    let sql = &text[first.len_utf8()..];
    match release.ask(sql, &Options::at(0.95)) {
        Ok(answer) => drop((answer.to_csv(), answer.to_json(), answer.notes())),
        Err(error) => drop(error.to_string()),
    }
    let _ = release.explain(sql);
}

/// Writes where fuzzing begins into the folders of the targets: the sections, manifests and examples of sound files, and the files.
pub fn start(corpus: &Path) -> std::io::Result<()> {
    let write = |target: &str, name: String, bytes: &[u8]| {
        std::fs::create_dir_all(corpus.join(target))?;
        std::fs::write(corpus.join(target).join(name), bytes)
    };
    for (tag, target) in TARGETS {
        for (pick, (file, at)) in having(tag).into_iter().enumerate().take(256) {
            write(target, format!("sound-{pick}"), &[&[pick as u8], &file.sections[at].bytes[..]].concat())?;
        }
    }
    for (i, file) in BASES.iter().enumerate() {
        let sealed = file.sealed(&KEY);
        write("open_release", format!("sound-{i}"), &sealed)?;
        let release = margins::release::Release::from_bytes(sealed).map_err(std::io::Error::other)?;
        let text = String::from_utf8_lossy(release.manifest_bytes())
            .replace(&KEY.public(), str::from_utf8(PLACE).unwrap_or_default());
        write("manifest", format!("sound-{i}"), text.as_bytes())?;
    }
    for (i, release) in OPEN.iter().enumerate() {
        for (j, sql) in release.examples().iter().enumerate() {
            write(
                "question",
                format!("sound-{i}-{j}"),
                format!("{}{sql}", (b'0' + i as u8) as char).as_bytes(),
            )?;
        }
    }
    Ok(())
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
