//! Well signed files that were made to harm their reader. None is verified, none crashes, and none takes memory that its own
//! size does not explain.
//!
//! This is a test binary of its own because it counts what is allocated, so its tests run one after the other in one.

mod asked;
mod chain;
mod corpus;
mod expected;
mod file;
mod kinds;
mod ledger;
mod lies;
mod mutate;
mod raw;
mod sound;

use corpus::{Case, Made, bases, corpus, good, projected};
use file::{File, Key};
use lies::Lie;
use margins::answer::Answers;
use margins::answer::keys::Questions;
use margins::audit;
use margins::numeric::dice::Dice;
use margins::numeric::tries::tries;
use margins::projection::answer::Estimator;
use margins::release::{Outcome, Release};
use peak_alloc::PeakAlloc;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// No file of the corpus is larger than a few megabytes; most are of some kilobytes.
const MOST: usize = 64 << 20;

/// Opens, audits and asks. What failed, each on a line; and whether anybody would be told that the file is verified.
fn read(bytes: Vec<u8>) -> (bool, String) {
    let release = match Release::from_bytes(bytes) {
        Ok(release) => release,
        Err(e) => return (false, e.to_string()),
    };
    let mut said = String::new();
    let verified = match audit::audit(&release, None) {
        Ok(audit) => {
            let failed = audit.checks.iter().filter(|c| c.outcome == Outcome::Failed);
            failed.for_each(|c| said.push_str(&format!("{}: {}\n", c.what, c.detail)));
            audit.passed()
        }
        Err(e) => {
            said.push_str(&e.to_string());
            false
        }
    };
    let projected = release.manifest().projection.is_some();
    if projected && let Ok(Some(questions)) = Questions::open(&release) {
        let all: Vec<String> = questions.key_names().iter().map(|n| format!("\"{n}\" = '1'")).collect();
        let sql = format!("SELECT COUNT(*) FROM \"{}\" WHERE {}", questions.name(), all.join(" AND "));
        if let Err(e) = questions.query(&sql, 0.95, Estimator::Best) {
            said.push_str(&format!("{e}\n"));
        }
    }
    match Answers::from_release(release) {
        Ok(answers) => {
            let name = answers.name().to_string();
            for sql in [
                format!("SELECT COUNT(*) FROM \"{name}\""),
                format!("SELECT sex, COUNT(*) FROM \"{name}\" GROUP BY sex"),
                format!("SELECT sex, age, COUNT(*) FROM \"{name}\" GROUP BY sex, age"),
            ] {
                if let Err(e) = answers.query(&sql, 0.95) {
                    said.push_str(&format!("{e}\n"));
                }
            }
        }
        Err(e) => said.push_str(&format!("{e}\n")),
    }
    (verified, said)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn frozen() -> PathBuf {
    root().join("tests/hostile/frozen")
}

/// Small ones of every kind, kept as files: later versions must refuse them, too.
const KEPT: [&str; 17] = [
    "2^60 labels",
    "escape in a label",
    "2^31 cells in a byte",
    "2^64 cells",
    "one component of 2^30 cells",
    "coefficients of one category, with zeros",
    "variance 2^104 + 1",
    "exact table asked for at a level not in use",
    "exact table of 2^24 cells in a byte",
    "condition with a second query",
    "projection with a byte for each section",
    "title with an escape",
    "manifest of 4611686018427387904 bytes",
    "another unit than the spec",
    "another title than the spec",
    "licence that the spec does not name",
    "rows in place of the spec",
];

fn file_name(name: &str) -> String {
    name.replace(|c: char| !c.is_ascii_alphanumeric(), "-") + ".margins"
}

fn verified(made: &Made) -> (bool, String) {
    read(made.file().sealed(&Key::new()))
}

/// How much more was in use at one time than at the beginning.
fn peak<T>(of: impl FnOnce() -> T) -> (T, usize) {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let out = of();
    (out, MEMORY.peak_usage().saturating_sub(before))
}

#[test]
fn hostile_files() {
    // What the corpus changes is sound as it is.
    let (sound, said) = verified(&good());
    assert!(sound, "{said}");
    // Its spec asks for tables; nothing else is wrong with it.
    let (_, said) = verified(&projected());
    let known = |l: &str| l.starts_with("spec") || l.contains("is a projection");
    assert!(said.lines().all(known), "{said}");
    let key = Key::new();
    let cases = corpus(&key);
    assert!(cases.len() > 150, "{}", cases.len());
    let mut wrong = Vec::new();
    for Case { name, bytes, why } in &cases {
        let size = bytes.len();
        let ((verified, said), peak) = peak(|| read(bytes.clone()));
        if verified {
            wrong.push(format!("{name} is verified"));
        }
        if !said.contains(why) {
            wrong.push(format!("{name}: {said:?} does not say {why:?}"));
        }
        if said.chars().any(|c| c.is_control() && c != '\n') {
            wrong.push(format!("{name}: control characters in {said:?}"));
        }
        if peak >= MOST {
            wrong.push(format!("{name}: {peak} bytes of memory for a file of {size}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for name in KEPT {
        let path = frozen().join(file_name(name));
        let case = cases.iter().find(|c| c.name == name).unwrap();
        if std::env::var_os("FREEZE").is_some() && !path.exists() {
            std::fs::create_dir_all(frozen()).unwrap();
            std::fs::write(&path, &case.bytes).unwrap();
        }
        let bytes = std::fs::read(&path).unwrap();
        let ((verified, said), peak) = peak(|| read(bytes));
        assert!(!verified && said.contains(case.why) && peak < MOST, "{name}: {peak} {said}");
    }
    lies_are_noticed();
    ledger::forged_lines();
    expected::expected_counts();
    sound_files();
    damaged_sections();
    pipes_are_refused();
}

/// Nothing that a signer says otherwise passes, and no work that a signer makes is without a bound: neither in memory nor, counted before it is
/// done, in time.
fn lies_are_noticed() {
    for Lie { name, bytes, verdict, why } in lies::laborious().into_iter().chain(lies::kept()) {
        let before = cpu();
        let (audit, peak) =
            peak(|| audit::audit(&Release::from_bytes(bytes.clone()).unwrap(), None).unwrap());
        let took = cpu().zip(before).map_or(Duration::ZERO, |(after, before)| after - before);
        let text = audit.to_text(name);
        let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(audit.verdict().word() == verdict && said.contains(why), "{text}");
        assert!(peak < MOST, "{name}: {peak} bytes of memory for a file of {}", bytes.len());
        // What is counted takes seconds without optimisation; what it replaced took minutes to days with it.
        assert!(took < Duration::from_secs(60), "{name}: {took:?}");
        println!("{name}: {} bytes, {peak} bytes of memory, {took:?}", bytes.len());
    }
    for Lie { name, bytes, verdict, why } in lies::kept() {
        let path = kept_lies().join(format!("{name}.margins"));
        if std::env::var_os("FREEZE").is_some() && !path.exists() {
            std::fs::create_dir_all(kept_lies()).unwrap();
            std::fs::write(&path, &bytes).unwrap();
        }
        // As the command sees it.
        let done = Command::new(env!("CARGO_BIN_EXE_margins")).arg("verify").arg(&path).output().unwrap();
        let text = String::from_utf8_lossy(&done.stdout);
        let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (code, word) = match verdict {
            "verified" => (0, "VERIFIED: "),
            _ => (1, "VERIFICATION FAILED: "),
        };
        let last = text.trim_end().lines().last().unwrap_or_default();
        assert!(
            done.status.code() == Some(code) && last.starts_with(word) && said.contains(why),
            "{name}: {done:?}"
        );
    }
}

/// Lies that every reader's tests open: those of the command, of Python and of the page.
fn kept_lies() -> PathBuf {
    root().join("tests/hostile/lies")
}

/// How many mutations of each base: more with `MUTATIONS=100000`.
fn mutations() -> u64 {
    std::env::var("MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(tries(160, 400) as u64)
}

/// Every later version verifies and answers what was sound once, and there is a file with every kind of section.
fn sound_files() {
    if std::env::var_os("FREEZE").is_some() {
        kinds::freeze(root());
    }
    let key = Key::new();
    let mut kinds = [false; 13];
    for (name, file) in sound::files(root()) {
        file.sections.iter().for_each(|s| kinds[(s.tag & !file::CRITICAL) as usize] = true);
        let bytes = file.sealed(&key);
        let audit = audit::audit(&Release::from_bytes(bytes.clone()).unwrap(), None).unwrap();
        assert!(audit.passed(), "{}", audit.to_text(&name));
        let refused = asked::asked(&margins::Release::from_bytes(bytes).unwrap());
        let expected = [
            "the release has no table that records",
            "this release holds no squares",
            "a prior speaks of a count of units",
            "`v2-sketch` is a projection",
        ];
        let only = refused.iter().all(|why| expected.iter().any(|e| why.starts_with(e)));
        assert!(only, "{name}: {refused:?}");
    }
    assert!(kinds[1..].iter().all(|there| *there), "{kinds:?}");
}

/// Random damage behind a good signature: refused or read, never a crash, and no more memory than a small file explains.
fn damaged_sections() {
    let key = Key::new();
    for (name, made) in bases() {
        let base = made.file();
        let (_, said) = read(base.sealed(&key));
        // Their costs and specs are not those of the manifest, and not every table is in every file.
        let expected = [
            "privacy cost",
            "manifest's claims",
            "spec",
            "this release cannot answer",
            "nearest tables",
            "it answers the question",
            "`hostile` is a projection",
        ];
        let only = said.lines().all(|l| l.is_empty() || expected.iter().any(|e| l.starts_with(e)));
        assert!(only, "{name}: {said}");
        damaged(name, &base, mutations(), &key);
    }
    // What is larger takes longer.
    sound::quick(root()).iter().for_each(|(name, base)| damaged(name, base, mutations() / 16, &key));
}

fn damaged(name: &str, base: &File, times: u64, key: &Key) {
    let mut dice = Dice::new(1);
    // The same damage every time.
    let mut next = || dice.bits();
    for nth in 0..times {
        let section = next() as usize % base.sections.len();
        let mut bytes = base.sections[section].bytes.clone();
        mutate::damage(&mut bytes, &mut next);
        let kept = bytes.clone();
        let (_, peak) = peak(|| {
            let bytes = mutate::replaced(base, section, bytes, key);
            read(bytes.clone());
            match margins::Release::from_bytes(bytes) {
                Ok(release) if nth % 4 == 0 => drop(asked::asked(&release)),
                _ => {}
            }
        });
        assert!(peak < MOST, "{name}, section {section}: {peak} bytes of memory for {kept:02x?}");
    }
}

/// Opening a pipe waits for somebody to write: that would be for ever.
fn pipes_are_refused() {
    for (path, why) in [("/dev/zero", "a pipe or a device"), ("/", "a folder")] {
        if Path::new(path).exists() {
            let error = Release::open(path).unwrap_err().to_string();
            assert!(error.contains(why), "{path}: {error}");
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("a.margins");
    if !Command::new("mkfifo").arg(&pipe).status().is_ok_and(|s| s.success()) {
        eprintln!("skipped: no mkfifo on this machine");
        return;
    }
    assert!(Release::open(&pipe).unwrap_err().to_string().contains("a pipe or a device"));
    // Beside a good release: the signature of the whole file.
    let release = dir.path().join("b.margins");
    std::fs::write(&release, good().file().sealed(&Key::new())).unwrap();
    std::fs::rename(&pipe, dir.path().join("b.margins.minisig")).unwrap();
    let audit = audit::audit(&Release::open(&release).unwrap(), None).unwrap();
    assert!(!audit.passed());
}

/// The processor time of all threads so far; `None` where the system does not tell.
fn cpu() -> Option<Duration> {
    let of = |task: std::fs::DirEntry| -> Option<u64> {
        std::fs::read_to_string(task.path().join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
    };
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    Some(Duration::from_nanos(tasks.flatten().filter_map(of).sum()))
}

/// How long each takes: `cargo test --release --test hostile -- --ignored --nocapture`. With `FILES=folder` they are written there, too,
/// with the key they are signed with, for the command itself.
#[test]
#[ignore = "prints times"]
fn times() {
    let key = Key::new();
    let mut all: Vec<_> = corpus(&key)
        .into_iter()
        .map(|case| {
            if let Some(folder) = std::env::var_os("FILES") {
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(Path::new(&folder).join(file_name(&case.name)), &case.bytes).unwrap();
            }
            let (start, before) = (Instant::now(), cpu());
            let (_, peak) = peak(|| read(case.bytes));
            let used = cpu().zip(before).map(|(after, before)| after - before);
            (used.unwrap_or_else(|| start.elapsed()), peak, case.name)
        })
        .collect();
    all.sort();
    for (time, peak, name) in all.iter().rev().take(25) {
        println!("{:8.1} ms {:8} kB  {name}", time.as_secs_f64() * 1e3, peak / 1000);
    }
}
