//! What every test reaches, and how long it takes.

use crate::tree::Tree;
use crate::trial::{End, Test, together};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

/// How long a test takes, and which changes it reaches.
pub struct Reach {
    pub seconds: f64,
    pub numbers: Vec<u32>,
}

/// What every test reaches, each in a process of its own; those that are known stay, but what the tests do
/// that are asked for by a part of their names. A test that fails without a change says nothing.
pub fn reach(tests: &[Test], tree: &Tree, of: &str) -> HashMap<String, Reach> {
    let path = tree.root.with_file_name("reached.txt");
    // Numbers are those of one list of changes.
    let names: Vec<&str> = tree.found.mutants.iter().map(|mutant| &mutant.name[..]).collect();
    let stamp = tree.root.with_file_name("numbered.txt");
    if fs::read_to_string(&stamp).unwrap_or_default() != names.join("\n") {
        let _ = fs::remove_file(&path);
        fs::write(&stamp, names.join("\n")).expect("a file can be written");
    }
    let line = |line: &str| {
        let mut parts = line.split('\t');
        let (test, seconds) = (parts.next()?.to_owned(), parts.next()?.parse().ok()?);
        let numbers = parts.next()?.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        Some((test, Reach { seconds, numbers }))
    };
    let known: HashMap<_, _> =
        fs::read_to_string(&path).unwrap_or_default().lines().filter_map(line).collect();
    let anew = |test: &&Test| match of.is_empty() {
        true => !known.contains_key(&test.id()),
        false => test.id().contains(of),
    };
    let missing: Vec<&Test> = tests.iter().filter(anew).collect();
    println!("{} tests, of {} it is found out what they reach", tests.len(), missing.len());
    let done = Mutex::new(known);
    together(&missing, &tree.root, |room, test| {
        let file = tree.root.with_file_name(format!("reached-{:?}", std::thread::current().id()));
        let _ = fs::remove_file(&file);
        let (end, mut seconds) = room.run(&[test], ("MUTANTS_REACHED", &file.to_string_lossy()), 600.0);
        // Writing down takes longer than the test does.
        if seconds > 0.2 {
            seconds = room.run(&[test], ("MUTANT", "0"), 600.0).1;
        }
        let mut numbers: Vec<u32> = Vec::new();
        match end {
            End::Passed => {
                let text = fs::read_to_string(&file).unwrap_or_default();
                let is = |number: &u32| (1..=names.len()).contains(&(*number as usize));
                numbers.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()).filter(is));
            }
            _ => println!("{} fails without a change", test.id()),
        }
        numbers.sort_unstable();
        numbers.dedup();
        let mut done = done.lock().expect("no worker panics");
        done.insert(test.id(), Reach { seconds, numbers });
        if done.len() % 200 == 0 {
            keep(&path, &done);
        }
    });
    let done = done.into_inner().expect("no worker panics");
    keep(&path, &done);
    done
}

fn keep(path: &Path, all: &HashMap<String, Reach>) {
    let numbers = |reach: &Reach| reach.numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    let lines = all.iter().map(|(test, reach)| format!("{test}\t{:.3}\t{}\n", reach.seconds, numbers(reach)));
    fs::write(path, lines.collect::<String>()).expect("a file can be written");
}
