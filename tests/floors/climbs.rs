//! Nobody imports from above.

use super::floor;
use super::tree::Tree;

/// From the ground up. A name is a folder of a package, or a file of it.
const FLOORS: [&str; 38] = [
    "exact",
    "numeric",
    "law",
    "loss",
    "planted",
    "calendar",
    "files",
    "watch",
    "memo",
    "interrupt",
    "visible",
    "price",
    "cube",
    "sql",
    "plan",
    "recover",
    "projection",
    "release",
    "posterior",
    "joint",
    "history",
    "render",
    "answer",
    "describe",
    "records",
    "quotes",
    "blank_rows",
    "unpack",
    "spec",
    "planner",
    "preview",
    "secret",
    "ledger",
    "audit",
    "face",
    "compile",
    "make",
    "cli",
];

/// Every import from a floor above: what is wrong, where.
fn climbs(tree: &Tree) -> Vec<String> {
    let number = |file: &str| FLOORS.iter().position(|f| *f == floor(file));
    let inside = |file: &&str| !["lib.rs", "main.rs"].contains(file);
    let nowhere = tree.files().iter().filter(|file| number(file).is_none()).filter(|file| inside(file));
    let nowhere = nowhere.map(|file| format!("{file} stands on no floor"));
    let imports = tree.imports();
    let up = imports.iter().filter(|((from, to), _)| inside(from) && number(from) < number(to));
    nowhere
        .chain(up.map(|((from, to), names)| format!("{from} takes {names:?} from {to}, above it")))
        .collect()
}

#[test]
fn nobody_climbs() {
    let wrong: Vec<String> = super::house().iter().flat_map(|files| climbs(&Tree::of(files))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_climb_is_seen() {
    let climbing = |file: &str, text: &str| {
        let house = [
            ("lib.rs", "mod plan; mod planner; pub use planner::Request;"),
            ("exact.rs", "pub struct Rational;"),
            ("cube/mod.rs", "mod level; pub struct Cube; pub struct Frame;"),
            ("planner.rs", "pub struct Request; pub fn ask() {}"),
            ("answer/mod.rs", "mod open; pub use open::Answers;"),
            ("answer/open.rs", "pub struct Answers;"),
            ("plan/mod.rs", "mod types; mod round; mod block; struct Noise;"),
            ("plan/block/mod.rs", "mod table;"),
            (file, text),
        ];
        let files: Vec<_> = house.map(|(file, text)| (file.to_owned(), text.to_owned())).into();
        climbs(&Tree::of(&files)).len()
    };
    assert_eq!(climbing("plan/types.rs", "use crate::exact::Rational;\nuse super::Noise;\n"), 0);
    for text in [
        "use crate::planner::Request;",
        "let x = crate::answer::Answers::open(f);",
        "use crate::planner; fn f() { planner::ask() }",
        "use crate::{cube::{Cube, Frame}, planner::Request};",
        "fn f() -> crate::Request {",
    ] {
        assert_eq!(climbing("plan/types.rs", text), 1, "{text}");
    }
    assert_eq!(
        climbing("plan/types.rs", "// as crate::planner::ask does\n#[cfg(test)]\nuse crate::planner::ask;"),
        0
    );
    assert_eq!(climbing("attic/types.rs", ""), 1);
    // Over several lines, by way of the modules above.
    let two = "use crate::{\n    answer::Answers,\n    planner::{Request, ask},\n};\n";
    assert_eq!(climbing("plan/types.rs", two), 2);
    assert_eq!(climbing("plan/round.rs", "use super::super::planner::Request;"), 1);
    assert_eq!(
        climbing(
            "plan/block/table.rs",
            "super::super::super::{planner::Request}; super::super::super::planner::ask();"
        ),
        1
    );
    assert_eq!(climbing("cube/level.rs", "use super::super::planner::ask;"), 1);
}
