//! What `plan --records` says is what comes of a release and of records that are made one after the other, compared here text by text.

use super::{margins, play};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Two specs of the same people: a first release, and one that is planned with less budget and fewer tables.
const DIMENSIONS: &str = r#"
[data]
path = "people.csv"
[privacy]
unit = "row"
rho = "RHO"
[[dimension]]
name = "a"
categories = ["x", "y", "z"]
[[dimension]]
name = "b"
categories = ["1st", "2nd", "3rd", "4th"]
[[dimension]]
name = "c"
categories = ["no", "yes"]
[[dimension]]
name = "d"
range = [0, 4]
[[dimension]]
name = "e"
categories = ["l", "r"]
"#;

fn run(folder: &Path, words: &[&str]) -> String {
    let done = margins(folder).args(words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// The rows of a file by the names of its columns.
fn rows(path: &Path) -> (Vec<String>, Vec<Vec<String>>) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    (lines.next().unwrap(), lines.collect())
}

/// Half the sum of all |p − q| in the table of these columns.
fn distance(
    one: &(Vec<String>, Vec<Vec<String>>),
    other: &(Vec<String>, Vec<Vec<String>>),
    of: &[&str],
) -> f64 {
    let table = |(names, rows): &(Vec<String>, Vec<Vec<String>>)| {
        let at: Vec<usize> = of.iter().map(|of| names.iter().position(|n| n == of).unwrap()).collect();
        let mut table: BTreeMap<Vec<String>, f64> = BTreeMap::new();
        for row in rows {
            *table.entry(at.iter().map(|&i| row[i].clone()).collect()).or_default() +=
                1.0 / rows.len() as f64;
        }
        table
    };
    let (one, other) = (table(one), table(other));
    let cells: BTreeSet<&Vec<String>> = one.keys().chain(other.keys()).collect();
    let at = |table: &BTreeMap<Vec<String>, f64>, cell| table.get(cell).copied().unwrap_or(0.0);
    cells.into_iter().map(|cell| (at(&one, cell) - at(&other, cell)).abs()).sum::<f64>() / 2.0
}

#[test]
fn what_is_tried_out_is_what_comes_of_it() {
    let folder = play::folder();
    let folder = folder.path();
    let mut people = String::from("a,b,c,d,e\n");
    let mut seed = 12345u64;
    let mut below = |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((seed >> 33) % n) as usize
    };
    for _ in 0..900 {
        let (a, noise) = (below(3), below(4));
        let b = if noise > 0 { a } else { below(4) };
        let cells = [["x", "y", "z"][a], ["1st", "2nd", "3rd", "4th"][b], ["no", "yes"][below(5) / 4]];
        people += &format!("{},{},{}\n", cells.join(","), (b + below(2)).min(4), ["l", "r"][below(2)]);
    }
    std::fs::write(folder.join("people.csv"), people).unwrap();
    let spec = |name: &str, rho: &str, tables: &str| {
        let head = format!("name = \"{name}\"\ntitle = \"Made up\"\n");
        std::fs::write(
            folder.join(name.to_owned() + ".toml"),
            head + &DIMENSIONS.replace("RHO", rho) + tables,
        )
        .unwrap();
    };
    spec("earlier", "2", "[[table]]\nevery = 2\n[[zero]]\nwhere = \"b = '4th' AND c = 'yes'\"\n");
    spec("next", "0.05", "[[table]]\nof = [\"a\", \"b\"]\n[[table]]\nof = [\"b\", \"c\", \"d\"]\n");
    let _ = std::fs::remove_file(folder.join("out/earlier.margins"));
    // Nobody may be where nobody can be.
    let text = std::fs::read_to_string(folder.join("people.csv")).unwrap();
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains("4th,yes")).collect();
    std::fs::write(folder.join("people.csv"), kept.join("\n") + "\n").unwrap();
    run(folder, &["release", "earlier.toml", "--insecure-seed", "3"]);

    let tried = ["plan", "next.toml", "--records", "out/earlier.margins", "--insecure-seed", "7", "--json"];
    let tried: serde_json::Value = serde_json::from_str(&run(folder, &tried)).unwrap();
    let tried = &tried["records"];

    run(folder, &["records", "out/earlier.margins", "--out", "truth.csv"]);
    run(folder, &["release", "next.toml", "--data", "truth.csv", "--insecure-seed", "7"]);
    run(folder, &["records", "out/next.margins", "--out", "made.csv"]);
    let (truth, made) = (rows(&folder.join("truth.csv")), rows(&folder.join("made.csv")));
    assert_eq!(tried["people"], truth.1.len());
    assert_eq!(tried["records"], made.1.len());
    assert_eq!(tried["absent"], serde_json::json!(["e"]));

    let names = ["a", "b", "c", "d"];
    let sets: Vec<Vec<&str>> = (0u32..16)
        .map(|bits| {
            names.into_iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, n)| n).collect()
        })
        .collect();
    let mean = |size: usize, has: Option<&str>| {
        let own = sets.iter().filter(|s| s.len() == size && has.is_none_or(|name| s.contains(&name)));
        let all: Vec<f64> = own.map(|set| distance(&truth, &made, set)).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    let same = |found: &serde_json::Value, has: Option<&str>| {
        for (key, size) in [("pairs", 2), ("triples", 3)] {
            let (found, want) = (found[key].as_f64().unwrap(), mean(size, has));
            assert!((found - want).abs() < 1e-12 && want > 0.001, "{has:?} {key}: {found} for {want}");
        }
    };
    same(&tried["all"], None);
    for (i, name) in names.into_iter().enumerate() {
        assert_eq!(tried["dimensions"][i]["dimension"], name);
        same(&tried["dimensions"][i], Some(name));
    }
    // Chance alone: about what so many independent draws make of a table.
    let chance = tried["chance"]["pairs"].as_f64().unwrap();
    assert!((0.005..0.06).contains(&chance), "{chance}");
}
