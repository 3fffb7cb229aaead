//! Which tests are tried on a change, and in which order.

use crate::report::Outcome;
use crate::trial::{End, Room, Test};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Of every function and file the tests that noticed a change in it, the last one last.
pub type Noticed = Mutex<BTreeMap<String, Vec<String>>>;

/// Tests that are tried in one process: those of one program that take a quarter of a second together. A process runs all of its tests, whichever fails.
fn groups(order: Vec<(&Test, f64)>) -> Vec<(Vec<&Test>, f64)> {
    let mut groups: Vec<(Vec<&Test>, f64)> = Vec::new();
    for (test, seconds) in order {
        let open = groups.iter_mut().rev().take(3).find(|(tests, all)| {
            tests[0].program == test.program && tests.len() < 30 && all + seconds < 0.25
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
pub fn try_one(
    room: &Room,
    number: u32,
    name: &str,
    reaching: &[(&Test, f64)],
    noticed: &Noticed,
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
