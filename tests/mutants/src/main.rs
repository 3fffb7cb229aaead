//! Mutation testing of what the guarantee rests on: all changes are compiled at once, and one is chosen when a test runs.
//!
//!     cargo run --manifest-path tests/mutants/Cargo.toml -- [--file PART] [--shard K/N] [--again] [--tests PART] [--most SECONDS] [--alone PACKAGE] [--fresh] [--only-report]
//!
//! What was tried before is not tried again, but with `--again` what survived and is not listed; `--fresh` forgets everything. `--tests` tries only tests whose
//! names have a part, and finds out anew what they reach: for tests that were just written. `--alone` is for the
//! changes of a package and its own tests alone, which is quick. Everything is in `target/mutants`.

mod find;
mod order;
mod reach;
mod report;
mod tree;
mod trial;

use report::{Outcome, Outcomes};
use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use tree::Tree;
use trial::{Test, package_of, together};

/// What is asked for.
struct Asked {
    file: String,
    shard: (usize, usize),
    again: bool,
    tests: String,
    alone: Option<String>,
    /// Seconds of tests that one change may take at most.
    most: f64,
}

fn asked(mut arguments: VecDeque<String>) -> Result<Asked, String> {
    let mut asked = Asked {
        file: String::new(),
        shard: (0, 1),
        again: false,
        alone: None,
        tests: String::new(),
        most: 20.0,
    };
    while let Some(word) = arguments.pop_front() {
        let mut value = || arguments.pop_front().ok_or(format!("{word} needs a value"));
        match &word[..] {
            "--file" => asked.file = value()?,
            "--tests" => asked.tests = value()?,
            "--alone" => asked.alone = Some(value()?),
            "--again" => asked.again = true,
            "--most" => asked.most = value()?.parse().map_err(|_| "--most SECONDS")?,
            "--shard" => {
                let value = value()?;
                let parts = value.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
                asked.shard = parts.filter(|(k, n)| k < n).ok_or("--shard K/N")?;
            }
            "--fresh" | "--only-report" => {}
            _ => return Err(format!("{word} is not known")),
        }
    }
    Ok(asked)
}

fn main() {
    let arguments: VecDeque<String> = std::env::args().skip(1).collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let (fresh, only_report) = (has("--fresh"), has("--only-report"));
    let asked = asked(arguments).unwrap_or_else(|why| {
        eprintln!("{why}");
        std::process::exit(2)
    });
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("it stands in the repository");
    let folder = source.join("target/mutants");
    fs::create_dir_all(&folder).expect("a folder can be made");
    if fresh {
        for name in ["outcomes.txt", "reached.txt", "unviable.txt"] {
            let _ = fs::remove_file(folder.join(name));
        }
    }
    let mut tree = Tree::copy(&source, folder.join("tree"), asked.alone.clone());
    println!(
        "{} changes, and {} functions that the compiler runs",
        tree.found.mutants.len(),
        tree.found.constant
    );
    let unviable = folder.join("unviable.txt");
    tree.recall(&unviable);
    let mut outcomes = Outcomes::open(&folder, &source.join("tests/mutants/known.txt"));
    if !only_report {
        let said = tree.settle(&unviable);
        let tests = trial::list(&said, &tree);
        let reached = reach::reach(&tests, &tree, &asked.tests);
        let mut reaching: Vec<Vec<(&Test, f64)>> = vec![Vec::new(); tree.found.mutants.len() + 1];
        for test in tests.iter().filter(|test| test.id().contains(&asked.tests)) {
            let Some(reach) = reached.get(&test.id()) else { continue };
            reach.numbers.iter().for_each(|number| reaching[*number as usize].push((test, reach.seconds)));
        }
        let numbered = (1u32..).zip(&tree.found.mutants);
        let wanted: Vec<(u32, &str)> = numbered
            .map(|(number, mutant)| (number, &mutant.name[..]))
            .filter(|(number, name)| {
                name.contains(&asked.file)
                    && asked.alone.as_deref().is_none_or(|package| package_of(name) == package)
                    && *number as usize % asked.shard.1 == asked.shard.0
            })
            .filter(|(number, name)| !tree.unviable.contains(number) && outcomes.wanted(name, asked.again))
            .collect();
        println!("{} changes are tried", wanted.len());
        let (noticed, shared) = (order::Noticed::default(), Mutex::new(&mut outcomes));
        together(&wanted, &tree.root, |room, (number, name)| {
            let outcome =
                order::try_one(room, *number, name, &reaching[*number as usize], &noticed, asked.most);
            // Some tests alone cannot tell that no other notices it.
            if asked.tests.is_empty() || matches!(outcome, Outcome::Noticed(_) | Outcome::Endless) {
                shared.lock().expect("no worker panics").add(name, outcome);
            }
        });
    }
    let good = outcomes.report(&tree);
    std::process::exit(if good { 0 } else { 1 });
}
