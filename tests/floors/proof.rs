//! `docs/proof.md` and `docs/threats.md` name functions and tests as `file#name`: each is there, and what is named as a test is one.

use std::path::Path;

/// The names of a line, as (file, name).
fn named(line: &str) -> Vec<(&str, &str)> {
    line.split('`').skip(1).step_by(2).filter_map(|code| code.split_once(".rs#")).collect()
}

/// Whether a text defines this function; and whether as a test: between it and the attribute there is no end of another item.
fn defined(text: &str, name: &str) -> Option<bool> {
    let at = text.find(&format!("fn {name}(")).or_else(|| text.find(&format!("fn {name}<")))?;
    let before = text.get(..at)?;
    let Some(attribute) = before.rfind("#[test]") else { return Some(false) };
    Some(!before.get(attribute..)?.contains('}'))
}

#[test]
fn functions_and_tests_of_the_proof_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let proof = std::fs::read_to_string(root.join("docs/proof.md")).unwrap();
    let (mut functions, mut tests) = (0, 0);
    for line in proof.lines() {
        for (file, name) in named(line) {
            let path = root.join(format!("{file}.rs"));
            let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let is_test = defined(&text, name);
            match line.starts_with("| noticed by") {
                true => assert_eq!(is_test, Some(true), "{file}.rs has no test {name}"),
                false => assert!(is_test.is_some(), "{file}.rs has no function {name}"),
            }
            *(if line.starts_with("| noticed by") { &mut tests } else { &mut functions }) += 1;
        }
    }
    assert!(functions > 40 && tests > 40, "{functions} functions, {tests} tests");
    // Every step but the last has both.
    let steps = proof.matches("\n## ").count() - 1;
    for row in ["| computed by | `", "| noticed by | `"] {
        assert_eq!(proof.matches(row).count(), steps, "{row}");
    }
}

/// What each party cannot do was tried by a test.
#[test]
fn tests_of_the_threats_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let threats = std::fs::read_to_string(root.join("docs/threats.md")).unwrap();
    let all: Vec<_> = threats.lines().flat_map(named).collect();
    assert!(all.len() > 20);
    for (file, name) in all {
        let text = std::fs::read_to_string(root.join(format!("{file}.rs"))).unwrap();
        assert_eq!(defined(&text, name), Some(true), "{file}.rs has no test {name}");
    }
}

#[test]
fn what_is_missing_is_seen() {
    let text = "fn plain() {}\n#[test]\nfn tried() {}\nfn after<T>() {}\n";
    assert_eq!((defined(text, "tried"), defined(text, "gone")), (Some(true), None));
    assert_eq!((defined(text, "plain"), defined(text, "trie")), (Some(false), None));
    assert_eq!((defined(text, "after"), named("x `a/b.rs#c`, `d`")), (Some(false), vec![("a/b", "c")]));
}
