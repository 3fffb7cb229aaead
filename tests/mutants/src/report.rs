//! What became of each change, and the list of those that may survive.

use crate::tree::Tree;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

pub enum Outcome {
    /// By which test.
    Noticed(String),
    Endless,
    /// How many tests that reach it were not tried, as they take long.
    Survived(usize),
    /// No test reaches it.
    Unreached,
}

pub struct Outcomes {
    all: HashMap<String, String>,
    file: File,
    /// Changes that may survive: they change nothing, or nothing that matters. With the reasons they stand in `known.txt`.
    known: HashSet<String>,
}

impl Outcomes {
    /// What was found so far. A later line of a change takes the place of an earlier one.
    pub fn open(folder: &Path, known: &Path) -> Outcomes {
        let path = folder.join("outcomes.txt");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let all = text
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(name, outcome)| (name.to_owned(), outcome.to_owned()));
        // Names at the margin, and below them the reason, further in.
        let listed = std::fs::read_to_string(known).unwrap_or_default();
        let names = listed.lines().filter(|line| !line.is_empty() && !line.starts_with([' ', '#']));
        let file = OpenOptions::new().create(true).append(true).open(&path).expect("a file can be opened");
        Outcomes { all: all.collect(), file, known: names.map(str::to_owned).collect() }
    }

    /// What was not tried; and once more what survived and is not listed.
    pub fn wanted(&self, name: &str, again: bool) -> bool {
        self.all.get(name).is_none_or(|outcome| again && survives(outcome) && !self.known.contains(name))
    }

    pub fn add(&mut self, name: &str, outcome: Outcome) {
        let outcome = match outcome {
            Outcome::Noticed(test) => format!("noticed\t{test}"),
            Outcome::Endless => "endless".to_owned(),
            Outcome::Survived(0) => "survived".to_owned(),
            Outcome::Survived(left) => format!("survived\t{left} tests left out"),
            Outcome::Unreached => "unreached".to_owned(),
        };
        if survives(&outcome) && !self.known.contains(name) {
            println!("{name}: {outcome}");
        }
        writeln!(self.file, "{name}\t{outcome}").expect("a file can be written");
        self.all.insert(name.to_owned(), outcome);
    }

    /// Prints the figures by folder, and what survives and is not listed. Whether there is nothing of that.
    pub fn report(&self, tree: &Tree) -> bool {
        const COLUMNS: [&str; 7] =
            ["changes", "do not compile", "noticed", "never end", "listed", "survive", "not tried"];
        let mut table: BTreeMap<String, [usize; 7]> = BTreeMap::new();
        let mut left = Vec::new();
        for (number, mutant) in (1..).zip(&tree.found.mutants) {
            let path = mutant.name.split(": ").next().unwrap_or_default();
            let folder = [
                "law/src/law",
                "law/src/loss",
                "law/src/numeric",
                "src/secret/noise",
                "src/secret/measure",
                "evaluator/src/plan/cost",
            ];
            let folder = folder
                .into_iter()
                .chain(["src/ledger", "src/audit"])
                .find(|folder| path.starts_with(folder))
                .unwrap_or(path);
            let column = match self.all.get(&mutant.name).map(|outcome| &outcome[..]) {
                _ if tree.unviable.contains(&number) => 1,
                None => 6,
                Some("endless") => 3,
                Some(outcome) if !survives(outcome) => 2,
                Some(_) if self.known.contains(&mutant.name) => 4,
                Some(outcome) => {
                    left.push(format!("{path}:{}: {}: {outcome}", mutant.line, mutant.name));
                    5
                }
            };
            for row in [folder, "all"] {
                let counts = table.entry(row.to_owned()).or_default();
                counts[0] += 1;
                counts[column] += 1;
            }
        }
        println!("| where | {} |", COLUMNS.join(" | "));
        println!("|---|{}", "---|".repeat(COLUMNS.len()));
        for (folder, counts) in &table {
            println!("| `{folder}` | {} |", counts.map(|count| count.to_string()).join(" | "));
        }
        let names: HashSet<&str> = tree.found.mutants.iter().map(|mutant| &mutant.name[..]).collect();
        for name in &self.known {
            if !names.contains(&name[..]) {
                println!("listed, and no change any more: {name}");
            } else if self.all.get(name).is_some_and(|outcome| !survives(outcome)) {
                println!("listed, and noticed: {name}");
            }
        }
        left.iter().for_each(|line| println!("{line}"));
        left.is_empty()
    }
}

fn survives(outcome: &str) -> bool {
    outcome.starts_with("survived") || outcome == "unreached"
}
