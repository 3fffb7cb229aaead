//! Where releases are put and what is read: links, folders, pipes, two runs at once, runs that are killed.

use crate::margins;
use crate::play::folder;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const RELEASE: [&str; 4] = ["release", "residual.toml", "--insecure-seed", "1"];
const FILE: &str = "out/v1-residual.margins";

fn run(folder: &Path, words: &[&str]) -> Output {
    margins(folder).args(words).stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// How the file and the signature beside it go together.
fn whole_file_signature(folder: &Path) -> String {
    let out = run(folder, &["verify", FILE, "--json"]);
    let audit: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let checks = audit["checks"].as_array().unwrap();
    let check = checks.iter().find(|c| c["what"] == "whole-file signature").unwrap();
    check["outcome"].as_str().unwrap().to_owned()
}

#[cfg(unix)]
#[test]
fn records_never_go_where_a_link_points_to() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("private.csv"), "precious").unwrap();
    for name in ["d.csv", "d.report.json", "nowhere.csv"] {
        let to = if name == "nowhere.csv" { "not-there" } else { "private.csv" };
        std::os::unix::fs::symlink(to, at(name)).unwrap();
    }
    let words = |out: &'static str| ["records", "v1-residual.margins", "--rows", "5", "--out", out];
    for out in ["d.csv", "nowhere.csv", "private.csv"] {
        let done = run(folder.path(), &words(out));
        assert_eq!(done.status.code(), Some(2), "{out}");
        let told = said(&done).replace("\n       ", " ");
        assert!(told.contains("it exists, and nothing is replaced without --replace"), "{told}");
        assert!(!told.contains("NOT PRIVATE"), "the release was opened: {told}");
    }
    let told = said(&run(folder.path(), &words("no/folder.csv")));
    assert!(told.contains("there is no such folder") && !told.contains("NOT PRIVATE"), "{told}");
    for out in ["d.csv", "nowhere.csv"] {
        let done = run(folder.path(), &[&words(out)[..], &["--replace"]].concat());
        assert!(done.status.success(), "{}", said(&done));
        assert!(at(out).symlink_metadata().unwrap().is_file(), "{out} is a link");
    }
    assert!(at("d.report.json").symlink_metadata().unwrap().is_file());
    assert!(!at("not-there").exists());
    assert_eq!(std::fs::read_to_string(at("private.csv")).unwrap(), "precious");
    // What is no file is not replaced at all, and nothing of what was begun stays.
    std::fs::create_dir(at("folder.csv")).unwrap();
    let done = run(folder.path(), &[&words("folder.csv")[..], &["--replace"]].concat());
    assert_eq!(done.status.code(), Some(2));
    assert!(names(folder.path()).iter().all(|name| !name.ends_with(".part")), "{:?}", names(folder.path()));
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_found_before_anything_is_spent() {
    use std::os::unix::fs::symlink;
    for replace in [false, true] {
        for at in ["v1-residual.margins", "v1-residual.margins.minisig"] {
            for kind in ["nowhere", "somewhere", "folder", "pipe"] {
                let folder = folder();
                let out = folder.path().join("out");
                std::fs::create_dir(&out).unwrap();
                std::fs::write(folder.path().join("other"), "precious").unwrap();
                match kind {
                    "nowhere" => symlink("nowhere", out.join(at)).unwrap(),
                    "somewhere" => symlink("../other", out.join(at)).unwrap(),
                    "folder" => std::fs::create_dir(out.join(at)).unwrap(),
                    _ => assert!(Command::new("mkfifo").arg(out.join(at)).status().unwrap().success()),
                }
                let words = if replace { [&RELEASE[..], &["--replace"]].concat() } else { RELEASE.to_vec() };
                let done = run(folder.path(), &words);
                assert_eq!(done.status.code(), Some(2), "{kind} {at}");
                assert!(said(&done).contains("is not a file"), "{kind} {at}: {}", said(&done));
                // No ledger was begun, so nothing was spent.
                assert_eq!(names(&out), [at], "{kind}");
                assert_eq!(std::fs::read_to_string(folder.path().join("other")).unwrap(), "precious");
            }
        }
    }
}

/// The ledger, the key, the data and the spec are not what a release may take the place of.
#[test]
fn a_release_does_not_replace_what_it_needs() {
    for option in ["--ledger", "--data", "--key"] {
        let folder = folder();
        assert!(run(folder.path(), &["keygen", "--no-passphrase"]).status.success());
        std::fs::create_dir(folder.path().join("out")).unwrap();
        std::fs::write(folder.path().join(FILE), "").unwrap();
        let done = run(
            folder.path(),
            &[
                "release",
                "residual.toml",
                "--insecure-seed",
                "1",
                "--replace",
                option,
                "out/../out/v1-residual.margins",
            ],
        );
        assert_eq!(done.status.code(), Some(2), "{option}");
        assert!(said(&done).contains("would take the place of"), "{option}: {}", said(&done));
        assert_eq!(names(&folder.path().join("out")), ["v1-residual.margins"], "{option}");
    }
}

/// Waiting for the other end of a pipe would be waiting for ever.
#[cfg(unix)]
#[test]
fn pipes_and_devices_are_refused() {
    let folder = folder();
    let folder = folder.path();
    assert!(run(folder, &RELEASE).status.success());
    assert!(run(folder, &["release", "codes.toml"]).status.success());
    assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    for what in ["pipe", "/dev/zero"] {
        for words in [
            &["query", FILE, "--batch", what][..],
            &["query", "out/codes.margins", "--keys", what],
            &["verify", FILE, "--pubkey", what],
            &["release", "residual.toml", "--key", what, "--replace"],
            &["infer", what],
            &["ledger", "show", what],
            &["ledger", "verify", what],
            &["ask", "residual.toml", "--within", "5", "--batch", what],
            &["init", what],
            &["release", "residual.toml", "--insecure-seed", "1", "--replace", "--ledger", what],
            &["plan", what],
            &["plan", "residual.toml", "--svg", what],
            &["keygen", "--no-passphrase", "--out", what],
            &["init", "data/people.csv", "--out", what],
        ] {
            let done = run(folder, words);
            assert_eq!(done.status.code(), Some(2), "{words:?}: {}", said(&done));
            let why = said(&done);
            let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(why.contains("a pipe or a device") || why.contains("exists"), "{words:?}: {why}");
        }
    }
    // The signature beside a release: said, and never waited for.
    std::fs::remove_file(folder.join("out/v1-residual.margins.minisig")).unwrap();
    std::fs::rename(folder.join("pipe"), folder.join("out/v1-residual.margins.minisig")).unwrap();
    assert_eq!(whole_file_signature(folder), "failed");
}

/// Whatever cannot be read or written is named.
/// As on a full disk: the keys are there, and a second try would only say that they are in the way.
#[cfg(target_os = "linux")]
#[test]
fn what_is_done_and_cannot_be_printed_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let done = margins(folder.path()).args(["keygen", "--no-passphrase"]).stdout(full).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    let said = said(&done);
    assert!(
        said.contains("cannot write to standard output") && said.contains("both keys are made"),
        "{said}"
    );
    assert_eq!(names(folder.path()), ["agency.key", "agency.pub"]);
}

#[test]
fn what_is_wrong_is_named() {
    let folder = folder();
    let folder = folder.path();
    std::fs::create_dir(folder.join("parts")).unwrap();
    for name in ["a.parquet", "b.parquet"] {
        std::fs::write(folder.join("parts").join(name), "PAR1 and no more PAR1").unwrap();
    }
    for (words, name) in [
        (&["keygen", "--no-passphrase", "--out", "no/where.key"][..], "cannot write no/where.key"),
        (&["init", "parts"], "a.parquet: the Parquet file"),
    ] {
        let done = run(folder, words);
        assert!(done.status.code() == Some(2) && said(&done).contains(name), "{words:?}: {}", said(&done));
    }
}

/// A picture of a plan with sums says that these are not in it.
#[test]
fn pictures_say_what_they_leave_out() {
    let folder = folder();
    let folder = folder.path();
    for (spec, sums) in [("pay.toml", true), ("residual.toml", false)] {
        let done = run(folder, &["plan", spec, "--svg", "plan.svg"]);
        assert!(done.status.success(), "{}", said(&done));
        let picture = std::fs::read_to_string(folder.join("plan.svg")).unwrap();
        assert_eq!(picture.contains("counts of rows alone, sums are not drawn"), sums, "{spec}");
    }
}

/// Runs that replace the same release at once: each pair of names belongs together whenever all are done.
#[test]
fn racing_replacements_leave_one_release() {
    let folder = folder();
    for round in 0..3 {
        let racers: Vec<_> = (0..8)
            .map(|i| {
                let seed = (round * 8 + i).to_string();
                margins(folder.path())
                    .args(["release", "residual.toml", "--insecure-seed", &seed, "--replace"])
                    .args(["--ledger", &format!("ledger{i}.jsonl")])
                    .stdout(Stdio::null())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for racer in racers {
            let done = racer.wait_with_output().unwrap();
            assert!(done.status.success(), "{}", said(&done));
        }
        assert_eq!(whole_file_signature(folder.path()), "passed", "round {round}");
        assert_eq!(names(&folder.path().join("out")), ["v1-residual.margins", "v1-residual.margins.minisig"]);
    }
}

/// Commands that change one list of keys at once: each key that a command says it has added is in it, and whoever came too late says so.
#[test]
fn racing_changes_of_a_list_of_keys_lose_none() {
    let folder = folder();
    let made = |name: &str| {
        assert!(run(folder.path(), &["keygen", "--no-passphrase", "--out", name]).status.success());
    };
    made("list.key");
    (0..6).for_each(|i| made(&format!("k{i}.key")));
    let add = |keys: &[usize]| {
        let racers: Vec<_> = keys
            .iter()
            .map(|i| {
                let words = ["keys", "trusted", "--key", "list.key", "--until", "2099-12-31", "--add"];
                let mut command = margins(folder.path());
                command.args(words).arg(format!("k{i}.pub"));
                (*i, command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
            })
            .collect();
        let late = |(i, racer): (usize, std::process::Child)| {
            let done = racer.wait_with_output().unwrap();
            let too_late = said(&done).contains("another command has just changed the list");
            assert!(done.status.success() != too_late, "{}", said(&done));
            too_late.then_some(i)
        };
        racers.into_iter().filter_map(late).collect::<Vec<usize>>()
    };
    let mut left: Vec<usize> = (0..6).collect();
    for _ in 0..6 {
        left = add(&left);
    }
    assert!(left.is_empty(), "the first to write is never too late");
    let list = String::from_utf8(run(folder.path(), &["keys", "trusted"]).stdout).unwrap();
    for i in 0..6 {
        let key = std::fs::read_to_string(folder.path().join(format!("k{i}.pub"))).unwrap();
        assert!(list.contains(key.lines().last().unwrap()), "{i} is not in {list}");
    }
}

/// Ten asks of one question in one folder: one measures it, and the others answer from what that one made. Of ten different ones each measures
/// its own, one after the other, and every charge became a file.
#[test]
fn racing_asks_are_charged_for_what_they_get() {
    for same in [true, false] {
        let folder = folder();
        let racers: Vec<_> = (0..10)
            .map(|i| {
                let age = if same { 7 } else { 1 + i };
                let sql = format!("SELECT COUNT(*) FROM asked WHERE age = {age}");
                margins(folder.path())
                    .args(["ask", "asked.toml", "--insecure-seed", &i.to_string(), "--within", "40", &sql])
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        let mut free = 0;
        for racer in racers {
            let done = racer.wait_with_output().unwrap();
            assert!(done.status.success(), "{}", said(&done));
            free += usize::from(String::from_utf8_lossy(&done.stdout).contains("spent     nothing"));
        }
        let made = if same { 1 } else { 10 };
        assert_eq!(free, 10 - made);
        let chain = margins::ledger::Ledger::read(&folder.path().join("ledger/town-people.jsonl")).unwrap();
        assert_eq!((chain.charges().count(), chain.open()), (made, 0));
        assert_eq!(names(&folder.path().join("out")).len(), 2 * made);
    }
}

/// Of two releases of one name the second is refused while the first is at work, before it is charged.
#[cfg(unix)]
#[test]
fn a_name_is_taken_before_the_charge() {
    let folder = folder();
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    // As a run holds it that is at work.
    let held = std::fs::File::create(out.join(".v1-residual.margins.abcdef.tmp")).unwrap();
    held.lock().unwrap();
    let ledger = folder.path().join("ledger.jsonl");
    let words = [&RELEASE[..], &["--ledger", "ledger.jsonl"]].concat();
    let done = run(folder.path(), &words);
    assert_eq!(done.status.code(), Some(2));
    assert!(
        said(&done).contains("another run is making out/v1-residual.margins just now"),
        "{}",
        said(&done)
    );
    assert!(!ledger.exists());
    drop(held);
    assert!(run(folder.path(), &words).status.success());
    assert!(ledger.exists());
}

/// Killed at whatever moment, a run leaves at worst what the next one puts right.
#[test]
fn killed_runs_are_put_right_by_the_next() {
    let folder = folder();
    assert!(run(folder.path(), &RELEASE).status.success());
    let mut killed = 0;
    for i in 0..24 {
        let seed = (100 + i).to_string();
        let mut child = margins(folder.path())
            .args(["release", "residual.toml", "--insecure-seed", &seed, "--replace", "--ledger", "l.jsonl"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(i * 3));
        // Only its kill may fail, when it is done already.
        killed += usize::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        // A ledger that was torn by the kill says so and is not the matter here.
        let _ = std::fs::remove_file(folder.path().join("l.jsonl"));
        // The next run need not even succeed to put things right.
        let refused = run(folder.path(), &RELEASE);
        assert!(said(&refused).contains("exists"), "{}", said(&refused));
        assert_eq!(whole_file_signature(folder.path()), "passed", "after kill {i}");
        let left = names(&folder.path().join("out"));
        assert_eq!(left, ["v1-residual.margins", "v1-residual.margins.minisig"], "after kill {i}");
    }
    assert!(killed > 0, "no run was killed: the test shows nothing");
}
