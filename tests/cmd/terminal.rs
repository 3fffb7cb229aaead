//! What a hostile file, spec or name can do to a terminal: nothing.

use crate::margins;
use crate::play::folder;
use std::path::Path;
use std::process::Output;

/// Clears the line, returns to its start, steps back, hides, turns the line round, and has no width.
const ATTACK: &str =
    "x\u{1b}[2K\u{1b}[8m\r\u{8}\u{7f}\u{9b}2J\u{202e}\u{2066}\u{200b}\u{feff}\nVERIFIED: the file is whole";

/// The same in a TOML string.
const IN_TOML: &str =
    "x\\u001b[2K\\u001b[8m\\r\\b\\u007f\\u009b2J\\u202e\\u2066\\u200b\\ufeff\\nVERIFIED: the file is whole";

/// What a release may hold all the same: characters without width in names, and in texts also lines of their own.
const SLY: &str = "x\u{200b}\u{feff}y";
const SLY_IN_TOML: &str = "x\\u200b\\ufeffy";
const SLY_TEXT: &str = "x\u{200b}\u{feff}y\nVERIFIED: the file is whole";

fn run(folder: &Path, words: &[&str]) -> Output {
    margins(folder).args(words).output().unwrap()
}

fn text_of(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap() + &String::from_utf8(output.stderr.clone()).unwrap()
}

fn is_safe(text: &str) -> bool {
    !text.contains(|c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}'..='\u{200f}' | '\u{feff}')
    })
}

/// A spec with this text and this category.
fn spec(text: &str, category: &str) -> String {
    format!(
        "name = \"bad\"\ntitle = \"{text}\"\ndescription = \"{text}\"\nlicence = \"{text}\"\ncontact = \"{text}\"\n\
         [data]\npath = \"bad.csv\"\n[privacy]\nunit = \"row\"\nrho = 1\n\
         [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"{category}\", \"=1+1\", \"-2\"]\n\
         [[table]]\nof = [\"sex\"]\n"
    )
}

/// What could act on a terminal is not released at all.
#[test]
fn attacks_are_not_released() {
    let folder = folder();
    let folder = folder.path();
    std::fs::write(folder.join("bad.csv"), "sex\nF\n").unwrap();
    for (text, category) in [(IN_TOML, "M"), ("t", IN_TOML)] {
        std::fs::write(folder.join("bad.toml"), spec(text, category)).unwrap();
        for words in [
            &["plan", "bad.toml"][..],
            &["plan", "bad.toml", "--json"],
            &["release", "bad.toml", "--insecure-seed", "1"],
        ] {
            let out = run(folder, words);
            let shown = text_of(&out);
            assert!(!out.status.success() && is_safe(&shown), "{words:?}: {shown:?}");
            assert!(!shown.lines().any(|l| l.starts_with("VERIFIED")), "{words:?}: {shown}");
        }
        assert!(!folder.join(BAD).exists() && !folder.join("ledger").exists());
    }
}

/// A spec whose every text is as bad as a release's may be, released.
fn hostile(folder: &Path) {
    let text = format!("{SLY_IN_TOML}\\nVERIFIED: the file is whole");
    std::fs::write(folder.join("bad.toml"), spec(&text, SLY_IN_TOML)).unwrap();
    std::fs::write(folder.join("bad.csv"), format!("sex\nF\n\"{SLY}\"\n=1+1\n-2\nF\n")).unwrap();
    let out = run(folder, &["release", "bad.toml", "--insecure-seed", "1"]);
    assert!(out.status.success(), "{}", text_of(&out));
    assert!(is_safe(&text_of(&out)), "{:?}", text_of(&out));
}

const BAD: &str = "out/bad.margins";
const BY_SEX: &str = "SELECT sex, COUNT(*) FROM bad GROUP BY sex";

#[test]
fn nothing_of_a_hostile_release_reaches_a_terminal() {
    let folder = folder();
    let folder = folder.path();
    hostile(folder);
    for words in [
        &["plan", "bad.toml"][..],
        &["plan", "bad.toml", "--json"],
        &["plan", "bad.toml", "--compare"],
        &["verify", BAD],
        &["verify", BAD, "--json"],
        &["inspect", BAD],
        &["query", BAD, BY_SEX],
        &["query", BAD, BY_SEX, "--json"],
        &["query", BAD, BY_SEX, "--explain"],
        &["query", BAD, BY_SEX, "--explain", "--json"],
        &["query", BAD, "SELECT COUNT(*) FROM bad WHERE sex = 'y'"],
        &["query", BAD, "SELECT COUNT(*) FROM bad WHERE sex = 'VERIFIED'"],
        &["export", BAD, "--table", "sex"],
        &["export", BAD, "--table", "sex", "--json"],
        &["ledger"],
    ] {
        let shown = text_of(&run(folder, words));
        assert!(is_safe(&shown), "{words:?}: {shown:?}");
        // Nor does a line of it look like one of ours.
        assert!(!shown.lines().any(|l| l.starts_with("VERIFIED")), "{words:?}: {shown}");
    }
}

/// JSON loses nothing by being safe: it means the same.
#[test]
fn json_says_what_the_label_is() {
    let folder = folder();
    hostile(folder.path());
    let out = run(folder.path(), &["query", BAD, BY_SEX, "--json"]);
    let answer: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let labels: Vec<&str> =
        answer["rows"].as_array().unwrap().iter().map(|r| r["sex"].as_str().unwrap()).collect();
    assert_eq!(labels, ["F", SLY, "=1+1", "-2"]);
}

/// What programs read from a pipe is byte for byte what it was: the manifest as signed, the spec as written.
#[test]
fn programs_get_the_bytes() {
    let folder = folder();
    hostile(folder.path());
    let out = run(folder.path(), &["inspect", BAD, "--spec"]);
    assert_eq!(out.stdout, std::fs::read(folder.path().join("bad.toml")).unwrap());
    let out = run(folder.path(), &["inspect", BAD, "--json"]);
    let manifest: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(manifest["about"]["title"], SLY_TEXT);
}

#[test]
fn spreadsheets_run_no_label() {
    let folder = folder();
    hostile(folder.path());
    for words in [&["query", BAD, BY_SEX, "--csv"][..], &["export", BAD, "--table", "sex", "--format", "csv"]]
    {
        let out = String::from_utf8(run(folder.path(), words).stdout).unwrap();
        assert!(out.contains("\r\n'=1+1,"), "{out:?}");
        assert!(out.contains("\r\n-2,"), "{out:?}");
    }
    // A header, too.
    let sql = "SELECT sex AS \"@sum\", COUNT(*) AS \"+a\" FROM bad GROUP BY sex";
    let out = String::from_utf8(run(folder.path(), &["query", BAD, sql, "--csv"]).stdout).unwrap();
    assert!(out.starts_with("'@sum,'+a,"), "{out:?}");
}

/// Keys of a projection are whatever the reader asked for, but they come from a file, too.
#[test]
fn spreadsheets_run_no_key() {
    let folder = folder();
    assert!(run(folder.path(), &["release", "codes.toml"]).status.success());
    std::fs::write(folder.path().join("ask.csv"), "code,ward\n=1+1,day\n-5,night\n@x,day\n").unwrap();
    let out = run(folder.path(), &["query", "out/codes.margins", "--keys", "ask.csv"]);
    let lines = String::from_utf8(out.stdout).unwrap();
    let first: Vec<&str> = lines.lines().map(|l| l.split(',').next().unwrap()).collect();
    assert_eq!(first, ["code", "'=1+1", "-5", "'@x"], "{lines}");
}

/// The names of files are text from elsewhere.
#[cfg(unix)]
#[test]
fn names_of_files_are_shown_safely() {
    let folder = folder();
    let folder = folder.path();
    hostile(folder);
    let name = ATTACK.replace('/', "");
    std::fs::copy(folder.join(BAD), folder.join(&name)).unwrap();
    std::fs::write(folder.join("junk").with_file_name(format!("{name}2")), "junk").unwrap();
    let other = format!("{name}2");
    for words in [
        &["verify", &name][..],
        &["verify", &other],
        &["verify", BAD, "--pubkey", &other],
        &["inspect", &other],
        &["query", &other, BY_SEX],
        &["query", BAD, "--batch", "nowhere\u{1b}[2J"],
        &["infer", &other],
        &["plan", &other],
        &["plan", "nowhere\u{1b}[2J"],
        &["init", "nowhere\u{1b}[2J"],
        &["release", "bad.toml", "--key", &other],
        &["release", "bad.toml", "--key", "nowhere\u{1b}[2J"],
        &["ledger", "show", &other],
        &["ledger", "verify", &other],
        &["ask", "bad.toml", "--within", "1", "--batch", "nowhere\u{1b}[2J"],
        &["\u{1b}[2J"],
        &["verify", "--\u{1b}[2J"],
    ] {
        let out = run(folder, words);
        let shown = text_of(&out);
        assert!(!shown.is_empty() && is_safe(&shown), "{words:?}: {shown:?}");
        assert!(!shown.lines().any(|l| l.starts_with("VERIFIED")), "{words:?}: {shown}");
        assert_ne!(out.status.code(), Some(101), "{shown}");
    }
}

/// Whatever is above it, and however long, the verdict is the last thing on the screen.
#[test]
fn the_verdict_is_the_last_line() {
    let folder = folder();
    let folder = folder.path();
    hostile(folder);
    let last = |words: &[&str]| text_of(&run(folder, words)).lines().last().unwrap().to_owned();
    assert_eq!(last(&["verify", BAD]), "VERIFICATION FAILED: do not trust this file.");
    assert_eq!(last(&["verify", "bad.csv"]), "VERIFICATION FAILED: do not trust this file.");
    assert!(run(folder, &["keygen", "--out", "agency.key", "--no-passphrase"]).status.success());
    assert!(run(folder, &["release", "residual.toml", "--key", "agency.key"]).status.success());
    assert!(last(&["verify", "out/v1-residual.margins"]).starts_with("VERIFIED"));
}

/// A path that is no text must not stop a release after its budget is spent.
#[cfg(target_os = "linux")]
#[test]
fn paths_that_are_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let folder = folder();
    for spec in ["residual.toml", "codes.toml"] {
        let out = margins(folder.path())
            .args(["release", spec, "--insecure-seed", "1", "--json", "--out"])
            .arg(std::ffi::OsStr::from_bytes(b"b\xffd"))
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", text_of(&out));
        assert!(serde_json::from_slice::<serde_json::Value>(&out.stdout).is_ok());
    }
}
