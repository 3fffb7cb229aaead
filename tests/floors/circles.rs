//! No files know of each other in a circle, save a module and the files in its own folder: they are one thing, told in several files.

use super::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// Whether a file stands in the folder of a module, which has the other as its own file: all that stands in a module may know it.
fn above(file: &str, module: &str) -> bool {
    let folder = module.strip_suffix("mod.rs").unwrap_or_else(|| module.trim_end_matches(".rs"));
    file.strip_prefix(folder)
        .is_some_and(|rest| folder.is_empty() || folder.ends_with('/') || rest.starts_with('/'))
}

/// The circles of files, each as its files and what ties them.
fn circles<'a>(tree: &Tree<'a>) -> Vec<(Vec<&'a str>, Vec<String>)> {
    let mut imports = tree.imports();
    imports.retain(|(from, to), _| !above(from, to));
    let mut next: BTreeMap<&str, Vec<&'a str>> = BTreeMap::new();
    for (from, to) in imports.keys() {
        next.entry(from).or_default().push(to);
    }
    let reached = |from: &'a str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(file) = open.pop() {
            open.extend(next.get(file).into_iter().flatten().filter(|to| seen.insert(**to)));
        }
        seen
    };
    let reach: BTreeMap<&str, BTreeSet<&'a str>> =
        tree.files().iter().map(|file| (*file, reached(file))).collect();
    let round: BTreeSet<Vec<&'a str>> = tree
        .files()
        .iter()
        .map(|file| reach[file].iter().copied().filter(|to| reach[to].contains(file)).collect())
        .filter(|circle: &Vec<_>| !circle.is_empty())
        .collect();
    let ties = |circle: &[&str]| {
        let inside = imports.iter().filter(|((from, to), _)| circle.contains(from) && circle.contains(to));
        let names = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
        inside.map(|((from, to), all)| format!("{from} takes from {to}: {}", names(all))).collect()
    };
    round.into_iter().map(|circle| (circle.clone(), ties(&circle))).collect()
}

#[test]
fn no_files_stand_in_a_circle() {
    let mut wrong = Vec::new();
    for (package, files) in super::packages() {
        for (circle, ties) in circles(&Tree::of(&files)) {
            wrong.push(format!("{package}: {} files\n  {}", circle.len(), ties.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_circle_is_seen() {
    let found = |files: &[(&str, &str)]| {
        let files: Vec<_> =
            files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
        circles(&Tree::of(&files)).into_iter().map(|(circle, _)| circle.join(" ")).collect::<Vec<_>>()
    };
    let root = ("lib.rs", "mod a; mod b; mod c;");
    let a = ("a.rs", "use crate::b::B; pub struct A;");
    assert_eq!(found(&[root, a, ("b.rs", "pub struct B(crate::a::A);")]), ["a.rs b.rs"]);
    assert_eq!(found(&[root, a, ("b.rs", "pub struct B;")]), [""; 0]);
    let three =
        [root, a, ("b.rs", "use super::c; pub struct B(c::C);"), ("c.rs", "pub struct C(super::a::A);")];
    assert_eq!(found(&three), ["a.rs b.rs c.rs"]);
    // What names it is no code, or there for tests.
    for text in [
        "/* crate::a::A /* */ crate::a::A */ pub struct B; // crate::a::A",
        "pub struct B; const TEXT: &str = \"\\\" crate::a::A\"; const RAW: &str = r#\"\" crate::a::A\"#;",
        "const QUOTE: [char; 2] = ['\\'', '\"']; pub struct B; #[cfg(test)]\nmod tests { use crate::a::A; }",
        "#[cfg(test)]\n#[allow(unused)]\nuse crate::{a::A, c}; pub struct B<'a>(&'a u8);",
    ] {
        assert_eq!(found(&[root, a, ("b.rs", text)]), [""; 0], "{text}");
    }
    assert_eq!(
        found(&[root, a, ("b.rs", "pub struct B; #[cfg(test)]\nmod far;"), ("b/far.rs", "use crate::a::A;")]),
        [""; 0]
    );
    // By way of what a module hands on, under another name, of all that it has, of a macro.
    let folder = ("a/mod.rs", "mod one; mod two; pub use one::One as First; pub use two::*;");
    let one = ("a/one.rs", "pub struct One(super::Two);");
    let circle = ["a/one.rs a/two.rs"];
    for two in [
        "use super::First; pub struct Two;",
        "pub struct Two(crate::a::First);",
        "use crate::a as x; pub struct Two(x::First);",
    ] {
        assert_eq!(found(&[root, folder, one, ("a/two.rs", two)]), circle, "{two}");
    }
    let all = "use super::one::*; pub struct Two; fn f() -> Option<One> { None }";
    assert_eq!(found(&[root, folder, one, ("a/two.rs", all)]), circle);
    let made = "made!(One); pub struct Two; mod inner { fn f(_: super::super::one::Made) {} }";
    assert_eq!(found(&[root, folder, one, ("a/two.rs", made)]), circle);
    // A module's own files know it, and it knows them.
    let own = [
        root,
        ("a/mod.rs", "mod one; pub struct A(one::One);"),
        ("a/one.rs", "pub struct One(Option<super::A>);"),
    ];
    assert_eq!(found(&own), [""; 0]);
    assert_eq!(found(&[root, ("a.rs", "mod one; pub struct A(one::One);"), own[2]]), [""; 0]);
    // A path that leads back to itself leads nowhere.
    assert_eq!(
        found(&[root, ("a.rs", "pub use crate::b::*;"), ("b.rs", "pub use crate::a::*; fn f() { g() }")]),
        [""; 0]
    );
}
