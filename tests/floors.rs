//! The house is built in floors: a file imports from its own floor and from those below, never from above.

use std::path::{Path, PathBuf};

/// From the ground up. A name is a folder of `src`, or a file of it.
const FLOORS: [&str; 19] = [
    "files",
    "visible",
    "exact",
    "cube",
    "numeric",
    "law",
    "sql",
    "plan",
    "recover",
    "projection",
    "release",
    "answer",
    "planner",
    "spec",
    "secret",
    "ledger",
    "audit",
    "compile",
    "cli",
];

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, out),
            false if path.extension().is_some_and(|e| e == "rs") => out.push(path),
            false => {}
        }
    }
}

/// What a line of code names behind `crate::`, each once for every name in braces.
fn named(line: &str) -> Vec<&str> {
    let code = line.split("//").next().unwrap_or("");
    let word = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    code.match_indices("crate::")
        .flat_map(|(at, found)| {
            let rest = &code[at + found.len()..];
            match rest.strip_prefix('{') {
                Some(list) => list.split(['{', '}', ',']).map(str::trim).map(|n| &n[..word(n)]).collect(),
                None => vec![&rest[..word(rest)]],
            }
        })
        .collect()
}

/// Every import from a floor above: what is wrong, where.
fn climbs(file: &str, text: &str) -> Vec<String> {
    let floor_of = |name: &str| FLOORS.iter().position(|f| *f == name);
    let own = file.split('/').next().unwrap_or(file).trim_end_matches(".rs");
    let Some(own) = floor_of(own) else { return vec![format!("{file} stands on no floor")] };
    // A file's own tests may stand on any floor.
    text.lines()
        .enumerate()
        .take_while(|(_, line)| *line != "#[cfg(test)]" && !line.starts_with("#[cfg(all(test"))
        .flat_map(|(n, line)| named(line).into_iter().map(move |name| (n, name)))
        .filter(|(_, name)| floor_of(name).is_some_and(|floor| floor > own))
        .map(|(n, name)| format!("{file}:{}: {} imports from {name}, above it", n + 1, FLOORS[own]))
        .collect()
}

#[test]
fn nobody_climbs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&root, &mut all);
    all.sort();
    assert!(all.len() > 100, "{} files are not the house", all.len());
    let mut wrong = Vec::new();
    for path in all {
        let file = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        let tests = file.split('/').any(|part| part == "tests" || part == "tests.rs");
        if !tests && !["lib.rs", "main.rs"].contains(&&*file) {
            wrong.extend(climbs(&file, &std::fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_climb_is_seen() {
    assert_eq!(climbs("plan/types.rs", "use crate::exact::Rational;\nuse super::Noise;\n"), [""; 0]);
    for text in ["use crate::planner::Request;", "let x = crate::answer::Answers::open(f);"] {
        assert_eq!(climbs("plan/types.rs", text).len(), 1, "{text}");
    }
    assert_eq!(climbs("plan/types.rs", "use crate::{cube::{Cube, Frame}, planner::Request};").len(), 1);
    assert_eq!(climbs("plan/types.rs", "// as crate::planner does\n#[cfg(test)]\nuse crate::cli;"), [""; 0]);
    assert_eq!(climbs("attic/types.rs", "").len(), 1);
}
