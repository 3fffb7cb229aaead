//! Standard output that nobody reads to its end.

use crate::margins;
use crate::play::folder;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = folder();
    for words in [
        &["plan", "residual.toml"][..],
        &["plan", "residual.toml", "--json"],
        &["schema", "spec"],
        &["man"],
        &["--help"],
        &["completions", "bash"],
    ] {
        let mut child =
            margins(folder.path()).args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The reader is gone before anything is written.
        drop(child.stdout.take());
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{words:?}: {:?}", done.status);
        assert!(done.stderr.is_empty(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

/// Whoever reads one line and leaves, `| head -1`, hears no complaint, and the exit code is what it would have been.
#[test]
fn one_line_is_enough() {
    let folder = folder();
    std::fs::write(folder.path().join("many.sql"), "SELECT COUNT(*) FROM v1-residual\n".repeat(9000))
        .unwrap();
    let keys = "A10,day\n".repeat(30_000);
    std::fs::write(folder.path().join("many.csv"), format!("code,ward\n{keys}")).unwrap();
    for words in [&["release", "residual.toml", "--insecure-seed", "1"][..], &["release", "codes.toml"]] {
        assert!(margins(folder.path()).args(words).output().unwrap().status.success());
    }
    let file = "out/v1-residual.margins";
    for (words, code) in [
        (&["verify", file][..], 1),
        (&["verify", file, "--json"], 1),
        (&["inspect", file], 0),
        (&["inspect", file, "--json"], 0),
        (&["inspect", file, "--spec"], 0),
        (&["export", file, "--table", "sex,age.band", "--format", "csv"], 0),
        (&["query", file, "--batch", "many.sql"], 0),
        (&["query", file, "--batch", "many.sql", "--jsonl"], 0),
        (&["query", "out/codes.margins", "--keys", "many.csv"], 0),
        (&["ledger"], 0),
        (&["init", "data/people.csv"], 0),
    ] {
        let mut child =
            margins(folder.path()).args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::with_capacity(1, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let done = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{words:?}: {said}");
        assert!(
            said.is_empty() || said.starts_with("warning: v1-residual is NOT PRIVATE"),
            "{words:?}: {said}"
        );
    }
}

/// No standard output, no standard error, neither, or a full disk: never a panic (101).
#[cfg(target_os = "linux")]
#[test]
fn closed_and_full_outputs() {
    let folder = folder();
    let done =
        margins(folder.path()).args(["release", "residual.toml", "--insecure-seed", "1"]).output().unwrap();
    assert!(done.status.success());
    let program = env!("CARGO_BIN_EXE_margins");
    for words in [
        "verify out/v1-residual.margins",
        "inspect out/v1-residual.margins --json",
        "export out/v1-residual.margins --table sex",
        "plan residual.toml",
        "plan broken.toml",
        "plan nowhere.toml",
        "ledger",
        "ledger verify v1-residual",
        "ask asked.toml --within 1000 'SELECT COUNT(*) FROM asked'",
        "query out/v1-residual.margins 'SELECT COUNT(*) FROM v1-residual'",
        "query out/v1-residual.margins --batch batch.sql",
        "--help",
        "frobnicate",
    ] {
        for way in [">&-", "2>&-", ">&- 2>&-", ">/dev/full", "2>/dev/full", ">/dev/full 2>&1", "2>&1 | true"]
        {
            // The program's own code, not that of the pipe.
            let script = format!("{{ {program} {words}; echo $? >code; }} {way}");
            Command::new("sh")
                .arg("-c")
                .arg(script)
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .status()
                .unwrap();
            let code = std::fs::read_to_string(folder.path().join("code")).unwrap();
            assert!(["0", "1", "2"].contains(&code.trim()), "{words} {way}: {code}");
        }
    }
}

/// The exit code of a command with this on its standard input, and what it says.
fn piped(command: &mut Command, rows: &[u8]) -> (Option<i32>, String, String) {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // What is refused before reads nothing.
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), rows);
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    (done.status.code(), String::from_utf8(done.stdout).unwrap(), said)
}

/// What is wrong with rows of a pipe is told in words that help with a pipe; and where a draft cannot be put is told before there are rows, as they come once.
#[test]
fn what_pipes_are_told() {
    let folder = folder();
    std::fs::write(folder.path().join("there.toml"), "").unwrap();
    let long = b"id,sex\n".iter().chain(b"1,F\n".repeat(1 << 20).iter()).copied().collect::<Vec<u8>>();
    let spec = std::fs::read_to_string(folder.path().join("residual.toml")).unwrap();
    let unclear: String = spec
        .lines()
        .map(|l| if l.starts_with("path ") { "path = \"-\"\n".into() } else { format!("{l}\n") })
        .collect();
    assert!(unclear.contains("\"-\"") && !unclear.contains("format"), "{unclear}");
    std::fs::write(folder.path().join("unclear.toml"), unclear).unwrap();
    for (words, rows, why) in [
        (
            &["init", "-", "--format", "csv"][..],
            &b"\x1f\x8b\x08\0"[..],
            "unpack what goes through a pipe (gunzip)",
        ),
        (
            &["release", "unclear.toml", "--data", "-", "--format", "csv", "--insecure-seed", "1"],
            b"PAR1",
            "of standard input say --format parquet",
        ),
        (&["init", "-", "--format", "csv"], b"", "standard input has no rows"),
        (&["init", "-", "--format", "csv"], b"a,b\n", "standard input has no rows"),
        (&["init", "-", "--format", "csv", "--out", "there.toml"], b"", "there.toml: it exists"),
        (
            &["init", "-", "--format", "csv", "--out", "no/where.toml"],
            b"",
            "no/where.toml: its folder does not exist",
        ),
        (&["init", "-", "--format", "csv"], &long, "which needs room for all of it"),
        (&["release", "unclear.toml", "--insecure-seed", "1"], b"", "Say --format csv or --format parquet"),
    ] {
        let mut command = margins(folder.path());
        command.args(words);
        if rows.len() > 1 << 20 {
            command.env("TMPDIR", "/no/where");
        }
        let (code, _, said) = piped(&mut command, rows);
        let said = said.replace("\n       ", " ");
        assert!(
            code == Some(2) && said.contains(why) && !said.contains("limit of memory"),
            "{words:?}: {said}"
        );
    }
    let rows = std::fs::read(folder.path().join("data/people.csv")).unwrap();
    let words = ["release", "unclear.toml", "--data", "-", "--format", "csv", "--insecure-seed", "1"];
    let (code, _, said) = piped(margins(folder.path()).args(words), &rows);
    assert_eq!(code, Some(0), "{said}");
    let verified = margins(folder.path()).args(["verify", "out/v1-residual.margins"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&verified.stdout).contains("cannot be read"), "{verified:?}");
}

/// Rows on standard input are those of a file: `check`, `init` and `release` read them, and nothing is guessed of what they are.
#[test]
fn rows_on_standard_input() {
    let folder = folder();
    let rows = std::fs::read(folder.path().join("data/people.csv")).unwrap();
    let piped = |words: &[&str], rows: &[u8]| piped(margins(folder.path()).args(words), rows);
    let counts = |words: &[&str]| {
        let made = piped(words, &rows);
        assert_eq!(made.0, Some(0), "{words:?}: {}", made.2);
        let asked = ["query", "out/v1-residual.margins", "SELECT * FROM v1-residual GROUP BY sex", "--csv"];
        piped(&asked, b"").1
    };
    let release = ["release", "residual.toml", "--insecure-seed", "1"];
    let expected = counts(&release);
    assert!(expected.lines().count() > 2, "{expected}");
    let again = [&release[..], &["--replace", "--data", "-"]].concat();
    assert_eq!(counts(&again), expected);
    assert_eq!(counts(&[&again[..], &["--format", "csv"]].concat()), expected);
    let check = ["check", "residual.toml", "--print-private-counts", "--data", "-"];
    let checked = piped(&check, &rows);
    assert!(checked.0 == Some(0) && checked.1.contains("standard input: "), "{checked:?}");
    let wrong = piped(&check, b"sex\nF\n");
    assert!(wrong.0 == Some(1) && wrong.1.contains("no column \"age\" among its 1"), "{wrong:?}");
    for (words, refused) in [
        (&["init", "-"][..], "what is on standard input? Say --format csv or --format parquet"),
        (&["init", "data/people.csv", "--format", "csv"], "--format is for standard input"),
        (&["init", "-", "--format", "parquet"], "the Parquet file has no readable footer"),
        (&["init", "-", "--format", "json"], "csv or parquet"),
        (&["release", "residual.toml", "--format", "csv"], "--data <PATH>"),
    ] {
        let (code, _, said) = piped(words, &rows);
        assert!(code == Some(2) && said.replace("\n       ", " ").contains(refused), "{words:?}: {said}");
    }
    // A draft of a pipe is of a pipe.
    let drafted = piped(&["init", "-", "--format", "csv", "--out", "drafted.toml"], &rows);
    assert_eq!(drafted.0, Some(0), "{}", drafted.2);
    let draft = std::fs::read_to_string(folder.path().join("drafted.toml")).unwrap();
    assert!(draft.contains("path = \"-\"                  # standard input\nformat = \"csv\"\n"), "{draft}");
    let lines = draft.lines().filter(|line| !line.starts_with("#?"));
    let ready: String =
        lines.map(|line| line.replace("confirmed = false", "confirmed = true") + "\n").collect();
    std::fs::write(folder.path().join("drafted.toml"), ready).unwrap();
    let made = piped(&["release", "drafted.toml", "--insecure-seed", "1"], &rows);
    assert_eq!(made.0, Some(0), "{}", made.2);
    let nothing = piped(&["check", "drafted.toml", "--print-private-counts"], b"");
    assert!(nothing.0 == Some(2) && nothing.2.contains("the file is empty"), "{nothing:?}");
}
