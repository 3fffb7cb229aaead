//! A release that fails leaves nothing half done: no file, no overwritten release, no charge without noise.

use crate::session::{folder, margins};
use margins::compile::{self, CompileError, Options, Watcher};
use margins::ledger::Ledger;
use margins::release::SigningKey;
use margins::secret::noise::Entropy;
use margins::spec;
use std::path::Path;

/// What is in a folder, hidden files included.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn charges(ledger: &Path) -> usize {
    if ledger.exists() { Ledger::read(ledger).unwrap().entries().unwrap().len() } else { 0 }
}

/// Releases the spec in `folder`; `watcher` may fail it.
fn release(folder: &Path, out: &Path, ledger: &Path, watcher: &dyn Watcher) -> Result<(), CompileError> {
    let spec = spec::load(&folder.join("residual.toml")).unwrap();
    let options = Options {
        out,
        data: None,
        ledger,
        key: &SigningKey::not_private().unwrap(),
        replace: true,
        day: "2026-01-01",
        entropy: Entropy::fixed(1),
    };
    compile::release(&spec, options, watcher).map(drop)
}

fn append(path: &Path, line: &str) {
    let text = std::fs::read_to_string(path).unwrap() + line;
    std::fs::write(path, text).unwrap();
}

#[test]
fn a_bad_row_leaves_nothing_and_costs_nothing() {
    let folder = folder();
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    append(&folder.path().join("data/people.csv"), "F,9,elsewhere,yes\n");
    let run = margins(folder.path())
        .args(["release", "residual.toml", "--insecure-seed", "1", "--out", "out"])
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert_eq!(names(&out), [""; 0]);
}

#[test]
fn a_failed_replacement_leaves_the_release_as_it_was() {
    let folder = folder();
    let (out, ledger) = (folder.path().join("out"), folder.path().join("ledger.jsonl"));
    std::fs::create_dir(&out).unwrap();
    release(folder.path(), &out, &ledger, &()).unwrap();
    let before: Vec<_> = names(&out).iter().map(|n| std::fs::read(out.join(n)).unwrap()).collect();
    let spent = charges(&ledger);
    append(&folder.path().join("data/people.csv"), "F,9,elsewhere,yes\n");
    assert!(release(folder.path(), &out, &ledger, &()).is_err());
    let after: Vec<_> = names(&out).iter().map(|n| std::fs::read(out.join(n)).unwrap()).collect();
    assert!(before == after);
    assert_eq!(charges(&ledger), spent);
}

/// Stops the program, as a crash would, when the first measurements are there.
struct Crash;

impl Watcher for Crash {
    fn reading(&self, _: u64, _: u64) {}
    fn measuring(&self, _: u64, _: u64) {
        panic!("the power is out");
    }
}

#[test]
fn noise_that_was_drawn_stays_charged() {
    let folder = folder();
    let (out, ledger) = (folder.path().join("out"), folder.path().join("ledger.jsonl"));
    std::fs::create_dir(&out).unwrap();
    let crashed = std::panic::catch_unwind(|| release(folder.path(), &out, &ledger, &Crash));
    assert!(crashed.is_err());
    assert_eq!(names(&out), [""; 0], "a half-written file is left");
    let ledger = Ledger::read(&ledger).unwrap();
    assert_eq!(ledger.check().unwrap().open, 1);
    assert_eq!(ledger.totals().unwrap()[0].charges, 1);
}

#[test]
fn a_ledger_that_cannot_be_written_stops_everything() {
    let folder = folder();
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    // A folder where the ledger should be.
    let ledger = folder.path().join("ledger.jsonl");
    std::fs::create_dir(&ledger).unwrap();
    let measured = std::sync::atomic::AtomicBool::new(false);
    struct Saw<'a>(&'a std::sync::atomic::AtomicBool);
    impl Watcher for Saw<'_> {
        fn reading(&self, _: u64, _: u64) {}
        fn measuring(&self, _: u64, _: u64) {
            self.0.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }
    assert!(matches!(
        release(folder.path(), &out, &ledger, &Saw(&measured)),
        Err(CompileError::Ledger(_) | CompileError::Measure(_))
    ));
    assert!(!measured.into_inner());
    assert_eq!(names(&out), [""; 0]);
}

#[test]
fn a_folder_that_cannot_be_made_is_said_before_data_is_read() {
    let folder = folder();
    std::fs::write(folder.path().join("file"), "").unwrap();
    std::fs::remove_file(folder.path().join("data/people.csv")).unwrap();
    let run = margins(folder.path())
        .args(["release", "residual.toml", "--insecure-seed", "1", "--out", "file/out"])
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(2));
    let text = String::from_utf8(run.stderr).unwrap();
    assert!(text.contains("cannot make the folder file/out"), "{text}");
}
