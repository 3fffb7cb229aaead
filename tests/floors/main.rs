//! The house is built in floors: a file imports from its own floor and from those below, never from above (`climbs`), no files know of
//! each other in a circle (`circles`), and a name means one thing (`names`). And in rooms that can be seen at a glance: no function is
//! longer than a hundred lines, no folder has more than forty files.

mod circles;
mod climbs;
mod names;
mod planted;
mod proof;
mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The packages of the house, from the ground up.
const PACKAGES: [&str; 3] = ["law/src", "evaluator/src", "src"];
/// Those that stand beside it.
const BESIDE: [&str; 4] = ["lab/src", "explorer/src", "studio/src", "python/src"];

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

/// The floor that a file stands on, by its path inside its package.
fn floor(file: &str) -> &str {
    file.split('/').next().unwrap_or("").trim_end_matches(".rs")
}

/// The files of every package by their paths inside it, with their texts.
fn packages() -> Vec<(&'static str, Vec<(String, String)>)> {
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
    PACKAGES.iter().chain(&BESIDE).map(|package| (*package, below(&root.join(package)))).collect()
}

/// Of each package of the house its files.
fn house() -> Vec<Vec<(String, String)>> {
    let inside = packages().into_iter().filter(|(package, _)| PACKAGES.contains(package));
    let seen = inside
        .inspect(|(package, files)| assert!(files.len() > 20, "{} files are not {package}", files.len()));
    seen.map(|(_, files)| files).collect()
}

/// Every file of the house by its path inside its package, with its text; those that are tests only are left out.
fn untested_files() -> Vec<(String, String)> {
    let tests = |file: &str| file.split('/').any(|part| part == "tests" || part == "tests.rs");
    house().into_iter().flatten().filter(|(file, _)| !tests(file)).collect()
}

/// Where a float may stand under `secret`: in what a cell of the data is, and in its comparison with the public edges of bins.
const CELLS: [&str; 2] = ["secret/ingest/code.rs", "secret/ingest/parquet/stored.rs"];

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
    let secret: Vec<_> =
        untested_files().into_iter().filter(|(file, _)| file.starts_with("secret/")).collect();
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
    for (file, text) in untested_files() {
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

/// A folder of more files cannot be seen at a glance either.
const MANY: usize = 40;

#[test]
fn no_folder_has_many_files() {
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    for (package, files) in packages() {
        for (file, _) in files {
            let folder = file.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("/{folder}"));
            *folders.entry(format!("{package}{folder}")).or_default() += 1;
        }
    }
    assert!(folders.len() > 20, "{} folders are not the house", folders.len());
    folders.retain(|_, files| *files > MANY);
    assert!(folders.is_empty(), "more than {MANY} files: {folders:?}");
}

/// So many `pub` items the house and the lab have at the most: what nobody outside a package uses is `pub(crate)`. It grows by what programs and readers
/// get, and by nothing else.
const PUBLIC: usize = 1433;

/// How many items of a text are public to other packages. What only tests of the audit build is not counted, nor what fuzz targets do.
fn public(text: &str) -> usize {
    const ITEMS: [&str; 11] =
        ["async", "const", "enum", "fn", "mod", "static", "struct", "trait", "type", "unsafe", "use"];
    let word = |line: &str| line.trim_start().strip_prefix("pub ")?.split(' ').next().map(str::to_owned);
    let text = text
        .replace("#[cfg(fuzzing)]\npub ", "")
        .replace("#[cfg(feature = \"faults\")]\n#[doc(hidden)]\npub ", "")
        .replace("#[cfg(feature = \"faults\")]\npub ", "");
    text.lines().filter_map(word).filter(|word| ITEMS.contains(&&word[..])).count()
}

#[test]
fn few_items_are_public() {
    let text = "pub fn f() {\n    pub const N: u8 = 0;\n}\npub(crate) fn g() {}\npub struct S {\n    pub field: u8,\n}\n// pub fn";
    assert_eq!(public(text), 3);
    let counted =
        packages().into_iter().filter(|(package, _)| PACKAGES.contains(package) || *package == BESIDE[0]);
    let files = counted
        .flat_map(|(_, files)| files)
        .filter(|(file, _)| file != "planted.rs" && !file.ends_with("fuzzed.rs"));
    let found: usize = files.map(|(_, text)| public(&text)).sum();
    assert!(found > PUBLIC / 2 && found <= PUBLIC, "{found} items are public, and {PUBLIC} may be");
}
