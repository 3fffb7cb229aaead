//! The house is built in floors: a file imports from its own floor and from those below, never from above. And in rooms that
//! can be seen at a glance: no function is longer than a hundred lines.

use std::path::{Path, PathBuf};

/// The packages of the house, from the ground up.
const PACKAGES: [&str; 3] = ["law/src", "evaluator/src", "src"];

/// From the ground up. A name is a folder of a package, or a file of it.
const FLOORS: [&str; 24] = [
    "exact",
    "numeric",
    "law",
    "calendar",
    "interrupt",
    "progress",
    "files",
    "visible",
    "cube",
    "sql",
    "plan",
    "recover",
    "projection",
    "release",
    "answer",
    "lone",
    "spec",
    "planner",
    "secret",
    "ledger",
    "audit",
    "face",
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

/// The word that a text begins with.
fn word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("")
}

/// What of the crate a statement names, in a file that stands so many modules deep: behind `crate::` or as many `super::`, each
/// once for every name in braces.
fn named(code: &str, depth: usize) -> Vec<&str> {
    let supers = "super::".repeat(depth);
    let own = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
    let roots = code.match_indices("crate::").chain(code.match_indices(&*supers).filter(|_| depth > 0));
    let mut all = Vec::new();
    for (at, found) in roots.filter(|(at, _)| own(*at)) {
        let rest = &code[at + found.len()..];
        let Some(list) = rest.strip_prefix('{') else {
            all.push(word(rest));
            continue;
        };
        let (mut inside, mut from) = (0, 0);
        for (end, c) in list.char_indices() {
            match c {
                '{' => inside += 1,
                ',' | '}' if inside == 0 => {
                    all.push(word(list[from..end].trim_start()));
                    from = end + 1;
                    if c == '}' {
                        break;
                    }
                }
                '}' => inside -= 1,
                _ => {}
            }
        }
    }
    all
}

/// The lines of code, an import that takes several as one, each with its number.
fn statements(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (n, line) in untested(text) {
        let code = line.split("//").next().unwrap_or("").trim();
        match all.last_mut().filter(|_| open) {
            Some((_, statement)) => statement.push_str(code),
            None => all.push((n, code.into())),
        }
        let begins =
            ["use ", "pub use ", "pub(crate) use ", "pub(super) use "].iter().any(|b| code.starts_with(b));
        open = (open || begins) && !code.ends_with(';');
    }
    all
}

/// The lines of a file without what is there for tests: each such item ends with a `;` on its line, or with a brace at the margin.
fn untested(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut test, mut inside) = (false, false);
    text.lines().enumerate().filter(move |(_, line)| {
        if *line == "#[cfg(test)]" || line.starts_with("#[cfg(all(test") {
            test = true;
            return false;
        }
        if test && !line.starts_with("#[") {
            (test, inside) = (false, !line.ends_with(';'));
            return false;
        }
        let out = inside;
        inside &= !line.starts_with('}');
        !out && !test
    })
}

/// Every import from a floor above: what is wrong, where. What the crate exports at its top has no floor: it is named where it stands.
fn climbs(file: &str, text: &str) -> Vec<String> {
    let floor_of = |name: &str| FLOORS.iter().position(|f| *f == name);
    let path: Vec<&str> = file.trim_end_matches(".rs").split('/').filter(|part| *part != "mod").collect();
    let Some(own) = path.first().and_then(|own| floor_of(own)) else {
        return vec![format!("{file} stands on no floor")];
    };
    let wrong = |(n, name): (usize, &str)| match floor_of(name) {
        Some(floor) if floor > own => {
            Some(format!("{file}:{}: {} imports from {name}, above it", n + 1, FLOORS[own]))
        }
        None if name.starts_with(char::is_uppercase) => {
            Some(format!("{file}:{}: `{name}` is from no floor", n + 1))
        }
        _ => None,
    };
    // A file's own tests may stand on any floor.
    let named = |(n, code): &(usize, String)| {
        named(code, path.len()).into_iter().filter_map(|name| wrong((*n, name))).collect::<Vec<_>>()
    };
    statements(text).iter().flat_map(named).collect()
}

/// Every file of the house by its path inside its package, with its text; those that are tests only are left out.
fn house() -> Vec<(String, String)> {
    let below = |root: &Path| {
        let mut all = Vec::new();
        files(root, &mut all);
        all.sort();
        let named = |path: PathBuf| {
            let file = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            (file, std::fs::read_to_string(&path).unwrap())
        };
        all.into_iter().map(named).collect::<Vec<_>>()
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let packages = PACKAGES.map(|package| below(&root.join(package)));
    for (package, files) in PACKAGES.iter().zip(&packages) {
        assert!(files.len() > 20, "{} files are not {package}", files.len());
    }
    let named = packages.into_iter().flatten();
    let tests = |file: &str| file.split('/').any(|part| part == "tests" || part == "tests.rs");
    named.filter(|(file, _)| !tests(file)).collect()
}

#[test]
fn nobody_climbs() {
    let house = house().into_iter().filter(|(file, _)| !["lib.rs", "main.rs"].contains(&&**file));
    let wrong: Vec<String> = house.flat_map(|(file, text)| climbs(&file, &text)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where a float may stand under `secret`: in what a cell of the data is, and in its comparison with the public edges of bins.
const CELLS: [&str; 3] =
    ["secret/ingest/code.rs", "secret/ingest/parquet/cells.rs", "secret/ingest/parquet/pages.rs"];

/// The lines of code in which a float stands.
fn floats(text: &str) -> Vec<usize> {
    let is_float = |line: &str| {
        let code = line.split("//").next().unwrap_or("");
        code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| ["f32", "f64"].contains(&word))
    };
    untested(text).filter(|(_, line)| is_float(line)).map(|(n, _)| n + 1).collect()
}

/// No float touches a count or its noise: none can, as there is none.
#[test]
fn no_float_is_under_secret_but_in_cells() {
    assert_eq!(floats("let x: f64 = 1.0;\n// an f64\nlet y = n as f32;\n#[cfg(test)]\nlet z: f64;"), [1, 3]);
    let secret: Vec<_> = house().into_iter().filter(|(file, _)| file.starts_with("secret/")).collect();
    let found: Vec<&str> =
        secret.iter().filter(|(_, text)| !floats(text).is_empty()).map(|(file, _)| &file[..]).collect();
    assert_eq!(found, CELLS);
}

/// A function that cannot be seen at a glance has more lines than this, from `fn` to its last brace.
const LONG: usize = 100;

/// The functions of a text that is formatted: names and how many lines each has. A body ends at the brace that is indented as its `fn`.
fn functions(text: &str) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let name = |line: &str| -> Option<(usize, usize)> {
        let code = line.trim_start();
        let at = if code.starts_with("fn ") { 0 } else { code.find(" fn ")? + 1 };
        // What stands before it is `pub(super) const` and the like: no string, no comment, no type.
        let before = code.get(..at)?;
        let plain = before.chars().all(|c| c.is_ascii_alphanumeric() || "_(): ".contains(c));
        let from = line.len() - code.len() + at + 3;
        let rest = line.get(from..)?;
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        (plain && end > 0).then_some((from, from + end))
    };
    let ends = |open: &str, line: &str| {
        let indent = open.len() - open.trim_start().len();
        line.len() == indent + 1 && line.ends_with('}') && line.trim_start() == "}"
    };
    let starts = lines.iter().enumerate().filter_map(|(at, line)| Some((at, line, name(line)?)));
    starts
        .filter(|(_, line, _)| !line.ends_with(['}', ';']))
        .filter_map(|(at, line, (from, to))| {
            let length = lines.get(at..)?.iter().position(|l| ends(line, l))? + 1;
            Some((line.get(from..to)?, length))
        })
        .collect()
}

#[test]
fn no_function_is_long() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for (file, text) in house() {
        for (name, lines) in functions(&text) {
            seen += 1;
            if lines > LONG {
                wrong.push(format!("{file}: {name} has {lines} lines, more than {LONG}"));
            }
        }
    }
    assert!(seen > 1000, "{seen} functions are not the house");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_long_function_is_seen() {
    let text = |lines: usize| {
        let body = "        f();\n".repeat(lines - 2);
        format!(
            "impl A {{\n    pub(super) const fn long<T>(\n{body}    }}\n\n    fn short() {{\n        f()\n    }}\n}}\n"
        )
    };
    assert_eq!(functions(&text(101)), [("long", 101), ("short", 3)]);
    assert_eq!(
        functions("trait A {\n    fn a(&self);\n}\nfn b() {}\n// a fn c() {\nlet f: Box<dyn fn ()> = {\n}\n"),
        []
    );
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
    // Over several lines, by way of the modules above, by what stands at the top.
    assert_eq!(
        climbs("plan/index.rs", "use crate::{\n    answer::Answers,\n    compile::{Job, cube},\n};\n").len(),
        2
    );
    assert_eq!(climbs("plan/round.rs", "use super::super::planner::Request;").len(), 1);
    assert_eq!(climbs("plan/block/table.rs", "super::super::super::{cube, planner}::f();").len(), 1);
    assert_eq!(climbs("plan/mod.rs", "use super::cli;").len(), 1);
    assert_eq!(climbs("cube/level.rs", "fn f() -> crate::Release {").len(), 1);
    assert_eq!(
        climbs("plan/block/table.rs", "use super::super::answer;\nuse crate::cube::{planner, Cube};\n"),
        [""; 0]
    );
}
