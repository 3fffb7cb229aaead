//! A name has one meaning: no two floors have public types of the same name.

use super::floor;
use super::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// The names of public types that stand on several floors, with these.
fn shared<'a>(trees: &[Tree<'a>]) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, file) in trees.iter().flat_map(Tree::types) {
        all.entry(name).or_default().insert(floor(file));
    }
    all.retain(|_, floors| floors.len() > 1);
    all
}

/// Names that several floors have today. Each must still be such a one: whoever gives one of its types another name takes it out.
const TOLERATED: &[&str] = &[
    "Answer",
    "Args",
    "Axis",
    "Basis",
    "Bounds",
    "Categories",
    "Column",
    "Copies",
    "Data",
    "Dimension",
    "Family",
    "Frame",
    "Key",
    "Kind",
    "Level",
    "Linear",
    "Noise",
    "Options",
    "Outcome",
    "Part",
    "Place",
    "Privacy",
    "Problem",
    "Release",
    "Request",
    "Row",
    "Rows",
    "Said",
    "Shape",
    "Solved",
    "Source",
    "Sum",
    "System",
    "Table",
    "Target",
    "Values",
    "Work",
];

#[test]
fn a_type_has_its_name_for_itself() {
    let house = super::house();
    let trees: Vec<Tree> = house.iter().map(|files| Tree::of(files)).collect();
    let found = shared(&trees);
    let wrong: Vec<_> = found.iter().filter(|(name, _)| !TOLERATED.contains(name)).collect();
    assert!(wrong.is_empty(), "public types of one name on several floors: {wrong:?}");
    let gone: Vec<_> = TOLERATED.iter().filter(|name| !found.contains_key(*name)).collect();
    assert!(gone.is_empty(), "on one floor only, so not to be tolerated: {gone:?}");
}

#[test]
fn a_shared_name_is_seen() {
    let cube = "pub struct Kind; pub(crate) enum Level { A } struct Own; pub fn f() { struct Inner; }";
    let plan = "pub trait Kind {} pub(super) struct Level; pub struct Own; #[cfg(test)]\npub struct Inner;";
    let files =
        [("lib.rs", ""), ("cube.rs", cube), ("cube/level.rs", "pub struct Level;"), ("plan/mod.rs", plan)];
    let files: Vec<_> = files.map(|(file, text)| (file.to_owned(), text.to_owned())).into();
    let other =
        vec![("main.rs".to_owned(), String::new()), ("answer.rs".to_owned(), "pub struct Own;".to_owned())];
    let trees = [Tree::of(&files), Tree::of(&other)];
    let found: Vec<_> =
        shared(&trees).into_iter().map(|(name, floors)| (name, Vec::from_iter(floors))).collect();
    assert_eq!(found, [("Kind", vec!["cube", "plan"]), ("Own", vec!["answer", "plan"])]);
}
