//! Golden sessions: each `*.session` file is commands and what they print.
//!
//! A session runs in a folder of its own that holds the specs, data and releases of version 1 of `tests/vectors` and the files of
//! `tests/cmd/files`. Lines that start with `$` are commands: `margins …`, or one of a few helpers (`cp`, `rm`, `ls`,
//! `cut` a file after some lines, `flip` a bit of its last byte but one, `chmod`, `checks` of some names in what a verification said). Then comes standard output, standard error with `2> ` before each
//! line, and `exit N` unless it is 0. Hashes, keys, days and sizes are replaced. Behind `> FILE` standard output goes into that file, and the word `@FILE` is
//! its last line.
//!
//! `UPDATE=1 cargo test --test cmd` writes what the commands print now; read the difference before keeping it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tests of the product.
fn root() -> PathBuf {
    super::product().join("tests")
}

/// A command that sees no terminal and is 80 columns wide.
pub(crate) fn quiet(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env("COLUMNS", "80").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

/// A folder with the specs and data that sessions use, and the public files of the example in `specs`.
pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for from in [
        root().join("vectors"),
        root().join("vectors/v1"),
        root().join("vectors/data"),
        root().join("cmd/files"),
    ] {
        let to = if from.ends_with("data") { folder.path().join("data") } else { folder.path().into() };
        std::fs::create_dir_all(&to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    let specs = root().join("../specs");
    std::fs::create_dir_all(folder.path().join("specs/data")).unwrap();
    for name in ["town.toml", "data/areas.csv"] {
        std::fs::copy(specs.join(name), folder.path().join("specs").join(name)).unwrap();
    }
    folder
}

/// Words, with '…' and "…" kept together.
fn words(line: &str) -> Vec<String> {
    let (mut out, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => out.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    out.extend(word);
    out
}

/// What differs from run to run, replaced by what it is.
fn steady(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = |ok: fn(char) -> bool| rest.find(|c| !ok(c)).unwrap_or(rest.len());
        let hex = run(|c| c.is_ascii_hexdigit() && !c.is_ascii_uppercase());
        let base64 = run(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='));
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        let day = rest.get(..10).filter(|d| {
            let parts: Vec<&str> = d.split('-').collect();
            matches!(parts[..], [y, m, d] if y.len() == 4 && m.len() == 2 && d.len() == 2)
                && parts.iter().all(|p| digits(p))
        });
        // The last digits of a size depend on the noise: how many bits its widest integer has.
        let size = run(|c| c.is_ascii_digit() || c == ' ');
        let (name, length) = match () {
            () if first.is_ascii_digit() && rest[size..].starts_with("bytes") => ("<size> ", size),
            () if hex == 64 => ("<hash>", 64),
            // The start of a manifest's hash, which depends on the day.
            () if hex == 8 && out.ends_with('(') && rest[8..].starts_with(')') => ("<hash>", 8),
            () if rest.starts_with("RW") && base64 == 56 => ("<key>", 56),
            () if day.is_some() => ("<day>", 10),
            () => ("", first.len_utf8()),
        };
        if name.is_empty() {
            out.push(first);
        } else {
            out.push_str(name);
        }
        rest = &rest[length..];
    }
    out
}

fn helper(folder: &Path, words: &[String]) -> String {
    let path = |i: usize| folder.join(&words[i]);
    match words[0].as_str() {
        "cp" => {
            std::fs::copy(path(1), path(2)).unwrap();
        }
        "cat" => return steady(&std::fs::read_to_string(path(1)).unwrap()),
        "rm" => std::fs::remove_file(path(1)).unwrap(),
        "cut" => {
            let text = std::fs::read_to_string(path(1)).unwrap();
            let kept = words[2].parse().unwrap();
            std::fs::write(path(1), text.lines().take(kept).map(|l| format!("{l}\n")).collect::<String>())
                .unwrap();
        }
        #[cfg(unix)]
        "chmod" => {
            use std::os::unix::fs::PermissionsExt;
            let mode = u32::from_str_radix(&words[1], 8).unwrap();
            std::fs::set_permissions(path(2), PermissionsExt::from_mode(mode)).unwrap();
        }
        "flip" => {
            let mut bytes = std::fs::read(path(1)).unwrap();
            // The middle may be anything of the manifest: what is said of it would hang on the day's digits.
            let late = bytes.len() - 2;
            bytes[late] ^= 1;
            std::fs::write(path(1), bytes).unwrap();
        }
        // Of a list of checks those of some names.
        "checks" => {
            let (text, mut shown) = (std::fs::read_to_string(path(1)).unwrap(), false);
            let lines = text.lines().filter(|line| {
                let name = line.get(6..).unwrap_or_default();
                let last = ["VERIF", "WHOLE", "records:"].iter().any(|word| line.starts_with(word));
                if !line.starts_with(' ') {
                    shown = last || words[2..].iter().any(|w| name.starts_with(w.as_str()));
                }
                shown
            });
            return steady(&lines.map(|l| format!("{l}\n")).collect::<String>());
        }
        "ls" if !path(1).exists() => return "no such folder\n".into(),
        "ls" => {
            let mut names: Vec<String> = std::fs::read_dir(path(1))
                .unwrap()
                .map(|e| e.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            return names.iter().map(|n| format!("{n}\n")).collect();
        }
        other => panic!("no helper {other}"),
    }
    String::new()
}

/// The session as it goes now.
pub(crate) fn play(script: &str) -> String {
    let folder = folder();
    let mut out = String::new();
    for line in script.lines() {
        if line.starts_with('#') {
            writeln!(out, "{line}").unwrap();
        }
        let Some(command) = line.strip_prefix("$ ") else { continue };
        writeln!(out, "{}{line}", if out.ends_with("\n\n") || out.is_empty() { "" } else { "\n" }).unwrap();
        let words = words(command);
        let Some(program) = super::program(&words[0]) else {
            out.push_str(&helper(folder.path(), &words));
            continue;
        };
        let (words, into) = match &words[..] {
            [words @ .., arrow, file] if arrow == ">" => (words.to_vec(), Some(folder.path().join(file))),
            words => (words.to_vec(), None),
        };
        let last = |word: &String| match word.strip_prefix('@') {
            Some(file) => {
                let text = std::fs::read_to_string(folder.path().join(file)).unwrap();
                text.lines().last().unwrap().to_owned()
            }
            None => word.clone(),
        };
        let words: Vec<String> = words.iter().map(last).collect();
        let mut run = quiet(program, folder.path()).args(&words[1..]).output().unwrap();
        if let Some(file) = into {
            std::fs::write(file, std::mem::take(&mut run.stdout)).unwrap();
        }
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).unwrap();
            assert!(!text.contains('\u{1b}'), "colour in a pipe: {command}");
            let here = folder.path().display().to_string();
            steady(&text.replace("\r\n", "\n")).replace(&here, "<folder>")
        };
        out.push_str(&text(run.stdout));
        for line in text(run.stderr).lines() {
            writeln!(out, "2> {line}").unwrap();
        }
        match run.status.code() {
            Some(0) => {}
            Some(code) => writeln!(out, "exit {code}").unwrap(),
            None => panic!("{command}: killed"),
        }
    }
    out
}

/// Fails where a session prints something else than its file says.
pub(crate) fn golden(path: &Path) {
    let name = path.display();
    let expected = std::fs::read_to_string(path).unwrap();
    let found = play(&expected);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, found).unwrap();
        return;
    }
    for (i, (e, f)) in expected.lines().zip(found.lines()).enumerate() {
        assert_eq!(e, f, "{name}, line {}; UPDATE=1 keeps what is printed now", i + 1);
    }
    assert_eq!(expected.lines().count(), found.lines().count(), "{name}");
}

/// No line of a table or a message of a session is wider than a terminal of 80 columns; paths, hashes, JSON and CSV may be.
pub(crate) fn fits(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    for line in text.lines() {
        let free = ["$ ", "#", "{", "margins ", "  margins "].iter().any(|s| line.starts_with(s));
        let free = free
            || (line.matches(',').count() >= 4 && !line.contains(", "))
            || line.split(',').next_back().is_some_and(|last| last.len() > 12 && last.parse::<f64>().is_ok());
        // Of JSON: exact numbers are as long as they are.
        let free = free || line.trim_start().starts_with('"');
        let width = line.trim_start_matches("2> ").chars().count();
        assert!(free || width <= 80, "{}: {width} columns: {line}", path.display());
    }
}
