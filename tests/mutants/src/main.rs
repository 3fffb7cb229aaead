//! Mutation testing of what the guarantee rests on: all changes are compiled at once, and one is chosen when a test runs.
//!
//!     cargo run --manifest-path tests/mutants/Cargo.toml -- [--file PART] [--shard K/N] [--again] [--tests PART] [--most SECONDS] [--alone PACKAGE] [--fresh] [--only-report]
//!
//! What was tried before is not tried again, but with `--again` what survived; `--fresh` forgets everything. `--tests` tries only tests whose
//! names have a part, and finds out anew what they reach: for tests that were just written. `--alone` is for the
//! changes of a package and its own tests alone, which is quick. Everything is in `target/mutants`.

mod find;
mod report;
mod tree;
mod trial;

use report::{Outcome, Outcomes};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tree::Tree;
use trial::{End, Room, Test};

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

/// How long a test takes, and which changes it reaches.
struct Reach {
    seconds: f64,
    numbers: Vec<u32>,
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

/// Does something to everything, two at a time.
fn together<T: Sync>(all: &[T], folder: &Path, each: impl Fn(&Room, &T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (next, each) = (&next, &each);
            scope.spawn(move || {
                let room = Room::new(folder, worker);
                while let Some(one) = all.get(next.fetch_add(1, Relaxed)) {
                    each(&room, one);
                }
            });
        }
    });
}

/// What every test reaches, each in a process of its own; those that are known stay. A test that fails without a change says nothing.
fn reach(tests: &[Test], tree: &Tree, asked: &Asked) -> HashMap<String, Reach> {
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
    let anew = |test: &&Test| match asked.tests.is_empty() {
        true => !known.contains_key(&test.id()),
        false => test.id().contains(&asked.tests),
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
                numbers.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()));
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

/// The package that a file is in.
fn package_of(path: &str) -> &'static str {
    match path.split('/').next() {
        Some("law") => "margins-law",
        Some("evaluator") => "margins-evaluator",
        _ => "margins",
    }
}

impl Test {
    /// What it is called among all.
    fn id(&self) -> String {
        format!("{} {}", self.of, self.name)
    }

    /// Whether it stands beside a file.
    fn beside(&self, path: &str) -> bool {
        let inside = path.split_once("src/").map_or(path, |(_, inside)| inside);
        let module = inside.trim_end_matches(".rs").trim_end_matches("/mod").replace('/', "::");
        self.of == package_of(path).replace('-', "_") && self.name.starts_with(&module)
    }
}

/// Tests that are tried in one process: those of one program that take a second together.
fn groups(order: Vec<(&Test, f64)>) -> Vec<(Vec<&Test>, f64)> {
    let mut groups: Vec<(Vec<&Test>, f64)> = Vec::new();
    for (test, seconds) in order {
        let open =
            groups.iter_mut().rev().take(3).find(|(tests, all)| {
                tests[0].program == test.program && tests.len() < 30 && all + seconds < 1.0
            });
        match open {
            Some((tests, all)) => {
                tests.push(test);
                *all += seconds;
            }
            None => groups.push((vec![test], seconds)),
        }
    }
    groups
}

/// Tries the tests that reach a change, those first that noticed others beside it, then the quickest.
fn try_one(
    room: &Room,
    number: u32,
    name: &str,
    reaching: &[(&Test, f64)],
    noticed: &Mutex<BTreeMap<String, Vec<String>>>,
    most: f64,
) -> Outcome {
    let path = name.split(": ").next().unwrap_or_default();
    let function = name.splitn(3, ": ").take(2).collect::<Vec<_>>().join(": ");
    let earlier = |noticed: &BTreeMap<String, Vec<String>>| {
        let of =
            |key: &str| noticed.get(key).into_iter().flatten().rev().take(4).cloned().collect::<Vec<_>>();
        [of(&function), of(path)].concat()
    };
    let earlier = earlier(&noticed.lock().expect("no worker panics"));
    let rank = |test: &Test, seconds: f64| match earlier.iter().position(|id| *id == test.id()) {
        Some(at) => at as f64 * 1e-6 + seconds * 1e-3,
        None if test.beside(path) => 0.1 + seconds * 0.2,
        None => 0.1 + seconds,
    };
    let mut order: Vec<(&Test, f64)> = reaching.to_vec();
    order.sort_by(|a, b| rank(a.0, a.1).total_cmp(&rank(b.0, b.1)));
    let (mut spent, mut left) = (0.0, 0);
    for (tests, seconds) in groups(order) {
        // The first is always tried.
        if spent > 0.0 && spent + seconds > most {
            left += tests.len();
            continue;
        }
        let (end, took) = room.run(&tests, ("MUTANT", &number.to_string()), seconds);
        spent += took;
        let failed = match end {
            End::Passed => continue,
            End::Endless => return Outcome::Endless,
            End::Failed(failed) => failed,
        };
        let test = tests.iter().find(|test| failed.contains(&test.name)).unwrap_or(&tests[0]);
        let mut noticed = noticed.lock().expect("no worker panics");
        for key in [&function, path] {
            let all = noticed.entry(key.to_owned()).or_default();
            all.retain(|id| *id != test.id());
            all.push(test.id());
        }
        return Outcome::Noticed(test.id());
    }
    match reaching.is_empty() {
        true => Outcome::Unreached,
        false => Outcome::Survived(left),
    }
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
        let reached = reach(&tests, &tree, &asked);
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
        let (noticed, shared) = (Mutex::new(BTreeMap::new()), Mutex::new(&mut outcomes));
        together(&wanted, &tree.root, |room, (number, name)| {
            let outcome = try_one(room, *number, name, &reaching[*number as usize], &noticed, asked.most);
            // Some tests alone cannot tell that no other notices it.
            if asked.tests.is_empty() || matches!(outcome, Outcome::Noticed(_) | Outcome::Endless) {
                shared.lock().expect("no worker panics").add(name, outcome);
            }
        });
    }
    let good = outcomes.report(&tree);
    std::process::exit(if good { 0 } else { 1 });
}
