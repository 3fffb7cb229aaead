//! The copy of the repository with all changes in it, each behind a question whether it is on.

use crate::find::{self, Edit, Found, Kind};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the guarantee rests on: samplers, measuring, costs, laws, claims; ledger; audit.
const CHANGED: [&str; 9] = [
    "law/src/",
    "src/secret/noise/",
    "src/secret/measure/",
    "evaluator/src/plan/cost.rs",
    "evaluator/src/plan/cost/",
    "evaluator/src/plan/channel.rs",
    "evaluator/src/release/claims.rs",
    "src/ledger/",
    "src/audit/",
];
/// Helpers of tests, and the list of modules.
const LEFT_OUT: [&str; 3] = ["law/src/lib.rs", "law/src/numeric/dice.rs", "law/src/numeric/tries.rs"];
/// The packages that the changes are in, and the tests that may notice them.
const PACKAGES: [&str; 7] = ["-p", "margins-law", "-p", "margins-evaluator", "-p", "margins", "--lib"];
const TESTS: [&str; 10] = [
    "--test",
    "vectors",
    "--test",
    "hostile",
    "--test",
    "reference",
    "--test",
    "statistical",
    "--test",
    "cmd",
];
pub struct Tree {
    pub root: PathBuf,
    pub found: Found,
    /// Those that do not compile.
    pub unviable: BTreeSet<u32>,
    files: Vec<Changed>,
    /// The package of which the own tests alone are tried.
    alone: Option<String>,
}

struct Changed {
    path: String,
    text: String,
    edits: Vec<Edit>,
}

/// Where text is put into a file. At one place, ends come before starts, inner ends before outer ones, outer starts before inner ones.
struct Insert {
    at: usize,
    rank: (bool, i64),
    parts: Vec<(u32, String)>,
}

/// A written file, with the places of the changes in it, and the places that stand for several.
#[derive(Default)]
struct Written {
    text: String,
    places: Vec<(Range<usize>, Vec<u32>)>,
}

/// The paths of the changed files of a repository, in the order of `CHANGED`.
fn changed(all: &[String], root: &Path) -> Vec<String> {
    let tests = |part: &str| part == "tests" || part == "tests.rs" || part.starts_with("tests_");
    let source = |path: &&String| {
        path.ends_with(".rs") && !path.split('/').any(tests) && !LEFT_OUT.contains(&&***path)
    };
    let within = |start: &str| {
        all.iter().filter(source).filter(move |path| path.starts_with(start)).cloned().collect::<Vec<_>>()
    };
    let paths: Vec<String> = CHANGED.iter().flat_map(|start| within(start)).collect();
    let read = |path: &String| std::fs::read_to_string(root.join(path)).expect("git lists it");
    let only: BTreeSet<String> = paths
        .iter()
        .flat_map(|path| {
            let folder = if path.ends_with("/mod.rs") {
                path.trim_end_matches("mod.rs").to_owned()
            } else {
                path.replace(".rs", "/")
            };
            find::tests_only(&read(path)).into_iter().map(move |name| format!("{folder}{name}.rs"))
        })
        .collect();
    paths.into_iter().filter(|path| !only.contains(path)).collect()
}

/// Writes a file unless it is there already, so that what did not change is not compiled again.
fn write(path: &Path, bytes: &[u8]) {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return;
    }
    std::fs::create_dir_all(path.parent().expect("a file stands in a folder")).expect("a folder can be made");
    std::fs::write(path, bytes).expect("a file can be written");
}

impl Tree {
    /// A copy of what git knows of the repository, without changes so far.
    pub fn copy(from: &Path, root: PathBuf, alone: Option<String>) -> Tree {
        let listed =
            Command::new("git").args(["ls-files", "-z"]).current_dir(from).output().expect("git runs");
        let listed = String::from_utf8(listed.stdout).expect("paths are UTF-8");
        let all: Vec<String> = listed.split_terminator('\0').map(str::to_owned).collect();
        let mut found = Found::default();
        let files = changed(&all, from).into_iter().map(|path| {
            let text = std::fs::read_to_string(from.join(&path)).expect("git lists it");
            let edits = find::edits(&path, &text, &mut found);
            Changed { path, text, edits }
        });
        let files: Vec<Changed> = files.collect();
        for path in all.iter().filter(|path| files.iter().all(|file| file.path != **path)) {
            let Ok(bytes) = std::fs::read(from.join(path)) else { continue };
            // Lints speak of how code is written.
            let allow =
                "#![allow(warnings, arithmetic_overflow, unconditional_panic, overflowing_literals)]\n";
            let (before, after) = match &path[..] {
                "law/src/lib.rs" => (allow, "\npub mod mutant;\n"),
                "evaluator/src/lib.rs" | "src/lib.rs" => (allow, ""),
                _ => ("", ""),
            };
            write(&root.join(path), &[before.as_bytes(), &bytes, after.as_bytes()].concat());
        }
        write(&root.join("law/src/mutant.rs"), include_bytes!("chosen.rs"));
        Tree { root, found, unviable: BTreeSet::new(), files, alone }
    }

    fn cargo(&self, command: &str) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.args([command, "--locked", "--message-format=json"]).current_dir(&self.root);
        // Built once, run thousands of times.
        cargo
            .env(
                "CARGO_TARGET_DIR",
                self.root.with_file_name(if command == "check" { "check" } else { "build" }),
            )
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
        cargo.env("CARGO_INCREMENTAL", "0").stderr(Stdio::inherit());
        cargo
    }

    /// What did not compile before, and need not be tried again.
    pub fn recall(&mut self, kept: &Path) {
        let before = std::fs::read_to_string(kept).unwrap_or_default();
        let before: BTreeSet<&str> = before.lines().collect();
        let numbered = (1..).zip(&self.found.mutants);
        self.unviable.extend(
            numbered.filter(|(_, mutant)| before.contains(&mutant.name[..])).map(|(number, _)| number),
        );
    }

    /// Writes the changed files, and leaves out what does not compile until everything does. What
    /// cargo says of the tests that were built.
    pub fn settle(&mut self, kept: &Path) -> String {
        loop {
            let mut written = HashMap::new();
            for file in &self.files {
                let one = self.written(file);
                write(&self.root.join(&file.path), one.text.as_bytes());
                written.insert(file.path.clone(), one);
            }
            // Checking is quicker, and misses what only tests turn on.
            let mut check = self.cargo("check");
            let mut test = self.cargo("test");
            match &self.alone {
                Some(package) => (
                    check.args(["-p", package, "--lib", "--all-features"]),
                    test.args(["-p", package, "--lib", "--all-features"]),
                ),
                None => (check.args(PACKAGES).arg("--keep-going"), test.args(PACKAGES).args(TESTS)),
            };
            let mut out = check.output().expect("cargo runs");
            if out.status.success() {
                out = test.arg("--no-run").output().expect("cargo runs");
            }
            let said = String::from_utf8(out.stdout).expect("cargo writes UTF-8");
            if out.status.success() {
                return said;
            }
            let mut wrong = BTreeMap::new();
            for line in said.lines() {
                let message: Value = serde_json::from_str(line).expect("cargo writes JSON");
                if message["message"]["level"] == "error" {
                    wrong.extend(blamed(&message["message"], &written));
                }
            }
            assert!(
                !wrong.is_empty(),
                "it does not compile, and not because of a change: see `cargo check` in {}",
                self.root.display()
            );
            println!("{} changes do not compile", wrong.len());
            for (number, why) in &wrong {
                println!("  {} ({why})", self.found.mutants[*number as usize - 1].name);
            }
            self.unviable.extend(wrong.into_keys());
            let names = self
                .unviable
                .iter()
                .map(|number| format!("{}\n", self.found.mutants[*number as usize - 1].name));
            std::fs::write(kept, names.collect::<String>()).expect("a file can be written");
        }
    }

    fn written(&self, file: &Changed) -> Written {
        let on =
            if file.path.starts_with("law/") { "crate::mutant::on" } else { "::margins_law::mutant::on" };
        let viable = |number: &u32| !self.unviable.contains(number);
        let mut inserts = Vec::new();
        let mut wholes = Vec::new();
        for (order, edit) in file.edits.iter().enumerate() {
            let order = order as i64;
            let mut start = |at, parts| inserts.push(Insert { at, rank: (true, order), parts });
            let plain = |text: &str| (0, text.to_owned());
            let (numbers, end) = match &edit.kind {
                Kind::Function => (Vec::new(), None),
                Kind::Instead(all) => {
                    let all: Vec<_> = all.iter().filter(|(number, _)| viable(number)).collect();
                    let one =
                        |(number, text): &&(u32, String)| (*number, format!("if {on}({number}){{{text}}}"));
                    let parts = all.iter().flat_map(|part| [one(part), plain("else ")]);
                    let parts = std::iter::once(plain("(")).chain(parts).chain([plain("{(")]).collect();
                    if !all.is_empty() {
                        start(edit.range.start, parts);
                    }
                    (all.iter().map(|(number, _)| *number).collect(), Some(")})"))
                }
                Kind::Condition([yes, no]) => {
                    let yes_text = if viable(yes) { format!("{on}({yes})||") } else { String::new() };
                    let no_text = if viable(no) { format!("!{on}({no})&&") } else { String::new() };
                    start(edit.range.start, vec![plain("("), (*yes, yes_text), (*no, no_text), plain("(")]);
                    (vec![*yes, *no], Some("))"))
                }
                Kind::Body(all) => {
                    let all = all.iter().filter(|(number, _)| viable(number));
                    let all =
                        all.map(|(number, text)| (*number, format!("if {on}({number}){{return {text};}}")));
                    start(edit.range.start + 1, all.collect());
                    (Vec::new(), None)
                }
                Kind::Arm(number, guarded) if viable(number) => match guarded {
                    true => {
                        start(edit.range.start, vec![(*number, format!("!{on}({number})&&("))]);
                        (vec![*number], Some(")"))
                    }
                    false => {
                        start(edit.range.end, vec![(*number, format!(" if !{on}({number})"))]);
                        (Vec::new(), None)
                    }
                },
                Kind::Arm(..) => (Vec::new(), None),
            };
            if let Some(end) = end.filter(|_| !numbers.is_empty()) {
                inserts.push(Insert {
                    at: edit.range.end,
                    rank: (false, -order),
                    parts: vec![(0, end.to_owned())],
                });
            }
            wholes.push((edit.range.clone(), numbers));
        }
        // A function stands for all that is in it.
        for (at, edit) in
            file.edits.iter().enumerate().filter(|(_, edit)| matches!(edit.kind, Kind::Function))
        {
            let inner = wholes
                .iter()
                .filter(|(range, _)| edit.range.start <= range.start && range.end <= edit.range.end);
            wholes[at].1 = inner.flat_map(|(_, numbers)| numbers.clone()).collect();
        }
        inserts.sort_by_key(|insert| (insert.at, insert.rank));
        let mut out = Written::default();
        // Of each place in the source where it is in what is written: before and after what is put in there.
        let (mut last, mut moved) = (0, BTreeMap::new());
        for insert in inserts {
            out.text.push_str(&file.text[last..insert.at]);
            last = insert.at;
            moved.entry(last).or_insert(out.text.len());
            for (number, part) in insert.parts {
                let from = out.text.len();
                out.text.push_str(&part);
                if number > 0 {
                    out.places.push((from..out.text.len(), vec![number]));
                }
            }
        }
        out.text.push_str(&file.text[last..]);
        let place = |at: usize| moved.range(..=at).next_back().map_or(at, |(from, to)| to + at - from);
        let added: usize = out.text.len() - file.text.len();
        wholes.retain(|(_, numbers)| !numbers.is_empty());
        // An end may lie within what is put in at it, which is too small by some signs and does no harm: what errs lies before it.
        out.places.extend(wholes.into_iter().map(|(range, numbers)| {
            (place(range.start)..place(range.end).min(file.text.len() + added), numbers)
        }));
        out
    }
}

/// The changes that an error speaks of: the smallest place around one of its spans, that of the first that lies in any.
fn blamed(error: &Value, written: &HashMap<String, Written>) -> BTreeMap<u32, String> {
    let mut spans: Vec<&Value> = error["spans"].as_array().into_iter().flatten().collect();
    spans.sort_by_key(|span| span["is_primary"] != true);
    for child in error["children"].as_array().into_iter().flatten() {
        spans.extend(child["spans"].as_array().into_iter().flatten());
    }
    let around = spans.into_iter().filter_map(|span| {
        let file = written.get(span["file_name"].as_str()?)?;
        let (from, to) = (span["byte_start"].as_u64()? as usize, span["byte_end"].as_u64()? as usize);
        let places = file.places.iter().filter(|(place, _)| place.start <= from && to <= place.end);
        places.min_by_key(|(place, _)| place.len())
    });
    // A place of one change is better than that of a function.
    let Some((_, numbers)) = around.min_by_key(|(_, numbers)| numbers.len()) else { return BTreeMap::new() };
    let why = error["message"].as_str().unwrap_or_default();
    numbers.iter().map(|number| (*number, why.to_owned())).collect()
}
