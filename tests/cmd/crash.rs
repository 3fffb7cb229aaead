//! A release that fails leaves nothing half done: no file, no overwritten release, no charge without noise.

use crate::margins;
use crate::play::folder;
use margins::compile::{self, CompileError, Options, STEPS};
use margins::ledger::Ledger;
use margins::release::SigningKey;
use margins::secret::ingest::Means;
use margins::secret::noise::Entropy;
use margins::spec::{self, Spec};
use margins::watch::Watch;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is in a folder, hidden files included.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn charges(ledger: &Path) -> usize {
    if ledger.exists() { Ledger::read(ledger).unwrap().charges().count() } else { 0 }
}

/// Releases the spec in `folder`; whoever watches may fail it.
fn release(folder: &Path, out: &Path, ledger: &Path, watch: Watch) -> Result<(), CompileError> {
    let spec = spec::load(&folder.join("residual.toml")).unwrap();
    let options = Options {
        out,
        data: None,
        counts: None,
        ledger,
        key: &SigningKey::not_private().unwrap(),
        replace: true,
        day: "2026-01-01",
        entropy: Entropy::fixed(1),
    };
    compile::release(&spec, options, &Means { watch, ..Means::default() }).map(drop)
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
    let leaves_nothing = |to: &str| {
        let run = margins(folder.path())
            .args(["release", "residual.toml", "--insecure-seed", "1", "--out", to])
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(2), "{to}");
        assert_eq!(names(&out), [""; 0], "{to}");
    };
    leaves_nothing("out");
    // Of the folders only those that it made go.
    leaves_nothing("out/of/it");
    assert!(out.exists());
}

#[test]
fn a_failed_replacement_leaves_the_release_as_it_was() {
    let folder = folder();
    let (out, ledger) = (folder.path().join("out"), folder.path().join("ledger.jsonl"));
    std::fs::create_dir(&out).unwrap();
    release(folder.path(), &out, &ledger, Watch::default()).unwrap();
    let before: Vec<_> = names(&out).iter().map(|n| std::fs::read(out.join(n)).unwrap()).collect();
    let spent = charges(&ledger);
    append(&folder.path().join("data/people.csv"), "F,9,elsewhere,yes\n");
    assert!(release(folder.path(), &out, &ledger, Watch::default()).is_err());
    let after: Vec<_> = names(&out).iter().map(|n| std::fs::read(out.join(n)).unwrap()).collect();
    assert!(before == after);
    assert_eq!(charges(&ledger), spent);
}

#[test]
fn noise_that_was_drawn_stays_charged() {
    let folder = folder();
    let (out, ledger) = (folder.path().join("out"), folder.path().join("ledger.jsonl"));
    std::fs::create_dir(&out).unwrap();
    // Stops the program, as a crash would, when the first measurements are there.
    let crash = Watch::hearing(|stage, _, _| assert_ne!(stage, "measuring", "the power is out"));
    let crashed = catch_unwind(AssertUnwindSafe(|| release(folder.path(), &out, &ledger, crash)));
    assert!(crashed.is_err());
    assert_eq!(names(&out), [""; 0], "a half-written file is left");
    let chain = Ledger::read(&ledger).unwrap();
    assert_eq!((chain.open(), chain.charges().count()), (1, 1));
}

#[test]
fn a_ledger_that_cannot_be_written_stops_everything() {
    let folder = folder();
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    // A folder where the ledger should be.
    let ledger = folder.path().join("ledger.jsonl");
    std::fs::create_dir(&ledger).unwrap();
    let measured = Arc::new(AtomicBool::new(false));
    let saw = measured.clone();
    let watch = Watch::hearing(move |stage, _, _| saw.store(stage == "measuring", Ordering::Relaxed));
    assert!(matches!(
        release(folder.path(), &out, &ledger, watch),
        Err(CompileError::Ledger(_) | CompileError::Measure(_))
    ));
    assert!(!measured.load(Ordering::Relaxed));
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

/// Ends the process, as a kill would, when a step is done.
fn killed(at: String) -> Watch {
    Watch::hearing(move |stage, _, _| {
        if stage == at {
            std::process::abort();
        }
    })
}

/// Makes a release in `folder`, if whoever watches lets it.
fn released(folder: &Path, spec: &Spec, watch: Watch) {
    let options = Options {
        out: &folder.join("out"),
        data: None,
        counts: None,
        ledger: &folder.join("ledger.jsonl"),
        key: &SigningKey::not_private().unwrap(),
        replace: false,
        day: "2026-01-01",
        entropy: Entropy::fixed(1),
    };
    compile::release(spec, options, &Means { watch, ..Means::default() }).unwrap();
}

/// What the test below runs in a process of its own.
#[test]
#[ignore = "ends the process"]
fn is_killed() {
    let Some(folder) = std::env::var_os("KILLED_IN") else { return };
    let (folder, step) = (Path::new(&folder), std::env::var("KILLED_AT").unwrap());
    let spec = spec::load(&folder.join(std::env::var("KILLED_SPEC").unwrap())).unwrap();
    released(folder, &spec, killed(step));
}

/// At whatever step a release of tables, of a question, or of copies ends: what may have been spent is in the ledger, and no file stands under its name
/// that is not whole. The next run finds a ledger it can go on with.
#[test]
fn killed_at_every_step_what_was_spent_is_known() {
    let question = |folder: &Path| {
        let text = std::fs::read_to_string(folder.join("asked.toml")).unwrap();
        let cut = text.find("[[table]]").unwrap();
        let text = text[..cut].to_owned()
            + "[asked]\nqueries = [\"SELECT sex, COUNT(*) FROM asked GROUP BY sex\"]\n";
        std::fs::write(folder.join("question.toml"), text).unwrap();
        let text = std::fs::read_to_string(folder.join("asked.toml")).unwrap();
        let recipient =
            |name: &str, amount: &str| format!("[[recipient]]\nname = \"{name}\"\nepsilon = \"{amount}\"\n");
        let text = format!("{text}\n{}{}", recipient("a", "1/4"), recipient("b", "1/9"));
        std::fs::write(folder.join("two.toml"), text).unwrap();
    };
    let one = ["asked.margins", "asked.margins.minisig"];
    let two = ["asked-a.margins", "asked-a.margins.minisig", "asked-b.margins", "asked-b.margins.minisig"];
    for (spec, files) in [("asked.toml", &one[..]), ("question.toml", &one), ("two.toml", &two)] {
        for (at, step) in STEPS.into_iter().enumerate().skip(1) {
            let folder = folder();
            question(folder.path());
            let (out, ledger) = (folder.path().join("out"), folder.path().join("ledger.jsonl"));
            std::fs::create_dir(&out).unwrap();
            let ended = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "crash::is_killed", "--ignored"])
                .env("KILLED_IN", folder.path())
                .env("KILLED_AT", step)
                .env("KILLED_SPEC", spec)
                .output()
                .unwrap();
            assert!(!ended.status.success(), "{spec} {step:?}: nothing ended it");
            let (charged, named) = (at >= 2, at >= 4);
            assert_eq!(charges(&ledger), usize::from(charged), "{spec} {step:?}");
            let visible: Vec<String> = names(&out).into_iter().filter(|n| !n.starts_with('.')).collect();
            assert_eq!(visible.len(), if named { files.len() } else { 0 }, "{spec} {step:?}: {visible:?}");
            if charged {
                let chain = Ledger::read(&ledger).unwrap();
                assert_eq!(
                    chain.spent().epsilon.map(|e| e.to_string()).as_deref(),
                    Some("1/4"),
                    "{spec} {step:?}"
                );
                assert_eq!(chain.open(), usize::from(step != "noted"), "{spec} {step:?}");
            }
            // The next run goes on from there: it charges again, or is refused because the file is there.
            let again = margins(folder.path())
                .args(["release", spec, "--insecure-seed", "2", "--ledger", "ledger.jsonl"])
                .output()
                .unwrap();
            assert_eq!(again.status.success(), !named, "{}", String::from_utf8_lossy(&again.stderr));
            assert_eq!(charges(&ledger), usize::from(charged) + usize::from(!named), "{spec} {step:?}");
            assert_eq!(names(&out), files, "{spec} {step:?}");
        }
    }
}

/// Sends its own process the signal of Ctrl-C when a step is done, and waits to be ended.
fn interrupted(at: String) -> Watch {
    Watch::hearing(move |stage, _, _| {
        if stage == at {
            let own = std::process::id().to_string();
            assert!(std::process::Command::new("kill").args(["-INT", &own]).status().unwrap().success());
            // What must not be ended in its middle goes on.
            let long = if stage == "sealed" { 1 } else { 60 };
            std::thread::sleep(std::time::Duration::from_secs(long));
        }
    })
}

/// What the test below runs in a process of its own.
#[test]
#[ignore = "ends the process"]
fn is_interrupted() {
    let Some(folder) = std::env::var_os("KILLED_IN") else { return };
    let (folder, step) = (Path::new(&folder), std::env::var("KILLED_AT").unwrap());
    let spec = spec::load(&folder.join("residual.toml")).unwrap();
    let watch = interrupted(step);
    margins::interrupt::listen(watch.clone(), |text| {
        // The harness keeps what tests print.
        std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes()).unwrap();
    });
    released(folder, &spec, watch);
    panic!("nothing ended it");
}

/// Ctrl-C at whatever step: exit code 130, nothing half written in the folder of the release or of temporary files, and the ledger and the message say
/// the same of the budget.
#[cfg(unix)]
#[test]
fn interrupted_at_every_step_nothing_is_left() {
    for step in STEPS {
        let folder = folder();
        let (out, ledger, temporary) =
            (folder.path().join("out"), folder.path().join("ledger.jsonl"), folder.path().join("tmp"));
        std::fs::create_dir(&out).unwrap();
        std::fs::create_dir(&temporary).unwrap();
        let ended = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::is_interrupted", "--ignored", "--nocapture"])
            .env("KILLED_IN", folder.path())
            .env("KILLED_AT", step)
            .env("TMPDIR", &temporary)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(130), "{step:?}: {said}");
        assert_eq!(names(&temporary), [""; 0], "{step:?}");
        let charged = !["reading", "read"].contains(&step);
        let done = ["sealed", "noted"].contains(&step);
        assert_eq!(charges(&ledger), usize::from(charged), "{step:?}");
        let files: &[&str] = if done { &["v1-residual.margins", "v1-residual.margins.minisig"] } else { &[] };
        assert_eq!(names(&out), files, "{step:?}");
        if charged {
            assert_eq!(Ledger::read(&ledger).unwrap().open(), usize::from(!done), "{step:?}");
        }
        let expected = match (charged, done) {
            (false, _) => "nothing was charged, and nothing is left behind",
            (true, false) => "stays charged (line 2 of ",
            (true, true) => "the release is made, charged and whole",
        };
        assert!(said.contains(expected), "{step:?}: {said}");
    }
}

/// The command itself, while it plans.
#[cfg(unix)]
#[test]
fn interrupted_while_planning() {
    ended_while_planning("-INT", 130);
    // A closed terminal ends it where that is not ignored, as under `nohup`.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    match ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
        Some(mask) if mask & 1 == 0 => ended_while_planning("-HUP", 129),
        _ => eprintln!("skipped: here the end of a terminal is ignored, or nobody knows"),
    }
}

#[cfg(unix)]
fn ended_while_planning(signal: &str, code: i32) {
    let folder = folder();
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let text = std::fs::read_to_string(folder.path().join("people-laplace.toml")).unwrap();
    std::fs::write(folder.path().join("long.toml"), text.replace("\"queries\"", "\"tables\"")).unwrap();
    let mut run = margins(folder.path())
        .args(["release", "long.toml", "--effort", "100000", "--insecure-seed", "1", "--out", "out/of/it"])
        .env("TMPDIR", &temporary)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Long enough to have begun; it would go on for days.
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(run.try_wait().unwrap().is_none(), "it was done at once");
    assert!(
        std::process::Command::new("kill").args([signal, &run.id().to_string()]).status().unwrap().success()
    );
    let ended = run.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(code), "{said}");
    assert!(said.contains("interrupted: nothing was charged"), "{said}");
    assert_eq!(names(&temporary), [""; 0]);
    assert!(!folder.path().join("out").exists(), "a folder that it made is left");
}

/// Runs at once, of which the bound lets two be made: just two are.
#[test]
fn runs_at_once_do_not_pass_the_bound() {
    let folder = folder();
    let bound =
        margins(folder.path()).args(["ledger", "init", "town-people", "--epsilon", "1/2"]).output().unwrap();
    assert!(bound.status.success());
    let racers: Vec<_> = (0..6)
        .map(|i| {
            margins(folder.path())
                .args(["release", "asked.toml", "--insecure-seed", "1", "--out", &format!("out{i}")])
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let codes: Vec<Option<i32>> = racers
        .into_iter()
        .map(|r| {
            let done = r.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(done.status.success() || said.contains("nothing of it is left"), "{said}");
            done.status.code()
        })
        .collect();
    assert_eq!(codes.iter().filter(|c| **c == Some(0)).count(), 2, "{codes:?}");
    assert!(codes.iter().all(|c| matches!(c, Some(0 | 1))), "{codes:?}");
    let chain = Ledger::read(&folder.path().join("ledger/town-people.jsonl")).unwrap();
    assert_eq!(chain.spent().epsilon.unwrap().to_string(), "1/2");
    let made = (0..6).filter(|i| folder.path().join(format!("out{i}/asked.margins")).exists()).count();
    assert_eq!((made, chain.open()), (2, 0));
}

/// Wherever the disk is full: no file without its charge, and no ledger that cannot be read.
#[cfg(unix)]
#[test]
fn a_full_disk_never_loses_a_charge() {
    let program = env!("CARGO_BIN_EXE_margins");
    for blocks in [0, 1, 2, 3, 4, 6, 8, 12, 16, 24] {
        let folder = folder();
        let script = format!(
            "trap '' XFSZ; ulimit -f {blocks}; {program} release asked.toml --insecure-seed 1 >/dev/null 2>&1"
        );
        std::process::Command::new("sh").arg("-c").arg(script).current_dir(folder.path()).status().unwrap();
        let ledger = folder.path().join("ledger/town-people.jsonl");
        let made = folder.path().join("out/asked.margins").exists();
        let known = if ledger.exists() { Ledger::read(&ledger).map(|c| c.charges().count()) } else { Ok(0) };
        assert!(known.as_ref().is_ok_and(|&n| n >= usize::from(made)), "{blocks}: {known:?}, made: {made}");
    }
}

/// Where the ledger cannot be written nothing is read: the data is not even there.
#[test]
fn a_ledger_that_cannot_be_made_is_said_before_data_is_read() {
    let folder = folder();
    std::fs::write(folder.path().join("ledger"), "").unwrap();
    std::fs::remove_file(folder.path().join("data/people.csv")).unwrap();
    let run =
        margins(folder.path()).args(["release", "asked.toml", "--insecure-seed", "1"]).output().unwrap();
    assert_eq!(run.status.code(), Some(2));
    let text = String::from_utf8(run.stderr).unwrap();
    assert!(text.contains("cannot use the ledger"), "{text}");
}

/// A bound refuses before the data is opened, and asks for nothing but the clock's day: one that went back changes nothing.
#[test]
fn the_bound_needs_neither_data_nor_clock() {
    let folder = folder();
    let (out, ledger) = (folder.path().join("out"), folder.path().join("ledger.jsonl"));
    std::fs::create_dir(&out).unwrap();
    let spec = spec::load(&folder.path().join("asked.toml")).unwrap();
    let release = |day: &str| {
        let options = Options {
            out: &out,
            data: None,
            counts: None,
            ledger: &ledger,
            key: &SigningKey::not_private().unwrap(),
            replace: true,
            day,
            entropy: Entropy::fixed(1),
        };
        compile::release(&spec, options, &Means::default())
    };
    let bound = margins(folder.path())
        .args(["ledger", "init", "town-people", "--epsilon", "3/4", "--ledger", "ledger.jsonl"])
        .output()
        .unwrap();
    assert!(bound.status.success());
    for day in ["2026-03-01", "2026-02-01", "1970-01-01"] {
        release(day).unwrap();
    }
    std::fs::remove_file(folder.path().join("data/people.csv")).unwrap();
    assert!(matches!(release("2026-04-01"), Err(CompileError::OverBound { .. })));
    assert_eq!(charges(&ledger), 3);
}
