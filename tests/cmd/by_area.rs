//! Records and finished tables of a tree of many areas: counted here from the files, beside the release's own answers.

use super::{margins, play};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn run(folder: &Path, words: &[&str]) -> String {
    let done = margins(folder).args(words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// 8 200 blocks in 410 tracts in 41 counties, of which every third has nobody.
const BLOCKS: usize = 8200;
const PEOPLE: usize = 3_000;

fn names(block: usize) -> [String; 3] {
    [format!("b{block}"), format!("t{}", block / 20), format!("c{}", block / 200)]
}

fn made(folder: &Path) {
    let mut blocks = String::from("block,tract,county\n");
    (0..BLOCKS).for_each(|b| blocks += &(names(b).join(",") + "\n"));
    std::fs::write(folder.join("blocks.csv"), blocks).unwrap();
    let mut seed = 99u64;
    let mut below = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n
    };
    let mut people = String::from("block,sex,age\n");
    for _ in 0..PEOPLE {
        let block = 3 * below(BLOCKS / 3);
        // Tracts have ages of their own.
        let age = if below(3) > 0 { block / 20 % 4 } else { below(4) };
        people += &format!("b{block},{},{}\n", ["F", "M"][below(2)], ["0-17", "18-44", "45-64", "65+"][age]);
    }
    std::fs::write(folder.join("people.csv"), people).unwrap();
    let spec = r#"
        name = "places"
        title = "People by area"
        [data]
        path = "people.csv"
        [privacy]
        unit = "row"
        rho = 4
        [[dimension]]
        name = "block"
        hierarchy = "blocks.csv"
        [[dimension]]
        name = "sex"
        categories = ["F", "M"]
        [[dimension]]
        name = "age"
        categories = ["0-17", "18-44", "45-64", "65+"]
        [[table]]
        of = ["block.county", "sex", "age"]
        [[table]]
        of = ["block.tract"]
        exact = true
        reason = "the law says so"
        [[table]]
        of = ["block.tract", "age"]
        [[table]]
        of = ["block", "sex"]
        [strategy]
        measure = "residual"
    "#;
    std::fs::write(folder.join("places.toml"), spec).unwrap();
    run(folder, &["release", "places.toml", "--insecure-seed", "5"]);
}

/// What the release says of a table: each cell with its estimate.
fn told(folder: &Path, of: &[&str]) -> BTreeMap<Vec<String>, f64> {
    let of = of.join(", ");
    let sql = format!("SELECT {of}, COUNT(*) AS n FROM places GROUP BY {of}");
    let out = run(folder, &["query", "out/places.margins", &sql, "--csv"]);
    let mut lines = out.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let n = head.iter().position(|name| *name == "n" || *name == "estimate").unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[..n].iter().map(|c| (*c).to_owned()).collect(), cells[n].parse().unwrap())
    };
    lines.map(row).collect()
}

#[test]
fn every_area_is_parted_among_those_in_it() {
    let folder = play::folder();
    let folder = folder.path();
    made(folder);
    let words = |out: &'static str, threads| {
        ["records", "out/places.margins", "--seed", "3", "--threads", threads, "--out", out]
    };
    run(folder, &words("one.csv", "1"));
    run(folder, &words("three.csv", "3"));
    let text = std::fs::read_to_string(folder.join("one.csv")).unwrap();
    assert_eq!(text, std::fs::read_to_string(folder.join("three.csv")).unwrap());
    // The release itself does not verify: everybody knows its seed.
    let done =
        margins(folder).args(["verify", "out/places.margins", "--records", "one.csv"]).output().unwrap();
    let done = String::from_utf8(done.stdout).unwrap();
    assert!(done.contains("one.csv is what this release and the seed make"), "{done}");

    let report = std::fs::read_to_string(folder.join("one.report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let head: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    assert_eq!(head, ["block", "sex", "age"]);
    // Each record with its tract and county.
    let record = |line: &str| -> BTreeMap<&str, String> {
        let cells: Vec<&str> = line.split(',').collect();
        let [block, tract, county] = names(cells[0][1..].parse().unwrap());
        let all = [("block", block), ("block.tract", tract), ("block.county", county)];
        all.into_iter().chain([("sex", cells[1].into()), ("age", cells[2].into())]).collect()
    };
    let records: Vec<_> = text.lines().skip(1).map(record).collect();
    assert_eq!(records.len(), PEOPLE);
    let tables: [(&[&str], f64); 4] = [
        (&["block.county", "sex", "age"], 0.35),
        (&["block.tract"], 0.0),
        (&["block.tract", "age"], 1.3),
        (&["block", "sex"], 0.9),
    ];
    for (of, most) in tables {
        let mut counts: BTreeMap<Vec<String>, f64> = BTreeMap::new();
        for record in &records {
            *counts.entry(of.iter().map(|name| record[name].clone()).collect()).or_default() += 1.0;
        }
        let told = told(folder, of);
        let gap =
            |(cell, estimate): (&Vec<String>, &f64)| (estimate - counts.get(cell).unwrap_or(&0.0)).abs();
        let gaps: Vec<f64> = told.iter().map(gap).collect();
        let (mean, largest) =
            (gaps.iter().sum::<f64>() / gaps.len() as f64, gaps.iter().copied().fold(0.0, f64::max));
        // The report says the same, and records are about as near as noise lets whole counts be.
        let all = report["tables"].as_array().unwrap();
        let own =
            all.iter().find(|t| t["table"] == of.join(" × ")).unwrap_or_else(|| panic!("{of:?} {report}"));
        let said = |key: &str| own[key].as_f64().unwrap();
        assert!((said("mean") - mean).abs() < 1e-4 * mean.max(1.0), "{of:?} {mean} {own}");
        assert!((said("largest") - largest).abs() < 1e-4 * largest.max(1.0), "{of:?} {largest} {own}");
        assert_eq!(own["cells"], told.len());
        assert!(mean <= most * said("std_error").max(1e-9) + 1e-9, "{of:?} {mean} {own}");
    }
}

/// Every exported table with its estimates and its finished counts, the columns in the file's order.
fn exported(folder: &Path, file: &str) -> Vec<(BTreeMap<String, String>, f64, i64)> {
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let mut lines = text.lines().map(|l| l.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let keys = head.iter().position(|h| *h == "estimate").unwrap();
    let row = |l: Vec<&str>| {
        let key = head[..keys].iter().zip(&l).map(|(h, l)| ((*h).to_owned(), (*l).to_owned())).collect();
        (key, l[keys].parse().unwrap(), l.last().unwrap().parse().unwrap())
    };
    lines.map(row).collect()
}

/// What is exported is what is answered; finished tables are whole, exact where the release is, and the same wherever two of them meet, level by level; and a
/// table that is exported alone has the same numbers.
#[test]
fn finished_tables_agree_level_by_level() {
    let folder = play::folder();
    let folder = folder.path();
    made(folder);
    let finish = ["--format", "csv", "--finish", "consistent", "--out"];
    let export = |which: &[&str], out: &str| {
        run(folder, &[&["export", "out/places.margins"], which, &finish, &[out]].concat());
    };
    export(&["--all"], "all");
    export(&["--table", "block.county,sex,age"], "alone");
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    assert_eq!(read("all/block.county_sex_age.csv"), read("alone/block.county_sex_age.csv"));

    // Summed up to counties, tracts by age, and everybody by sex.
    let mut met: BTreeMap<(&str, Vec<String>), BTreeMap<usize, i64>> = BTreeMap::new();
    let tables: [&[&str]; 4] =
        [&["block.county", "sex", "age"], &["block.tract"], &["block.tract", "age"], &["block", "sex"]];
    for (table, of) in tables.into_iter().enumerate() {
        let file = of.join("_");
        let rows = exported(folder, &format!("all/{file}.csv"));
        let told = told(folder, of);
        assert_eq!(rows.len(), told.len());
        for (mut cell, estimate, n) in rows {
            let key: Vec<String> = of.iter().map(|name| cell[*name].clone()).collect();
            assert!((told[&key] - estimate).abs() < 1e-6, "{cell:?}");
            assert!(n >= 0 && (of.len() > 1 || n as f64 == estimate.round()), "{cell:?}");
            let first = cell.get("block").and_then(|b| Some(20 * (b[1..].parse::<usize>().ok()? / 20)));
            let tract = cell.get("block.tract").and_then(|t| Some(20 * t[1..].parse::<usize>().ok()?));
            if let Some(block) = first.or(tract) {
                let [_, tract, county] = names(block);
                cell.insert("block.tract".into(), tract);
                cell.insert("block.county".into(), county);
            }
            let shared: [&[&str]; 4] =
                [&["block.county"], &["block.tract"], &["block.county", "age"], &["block.county", "sex"]];
            for columns in shared {
                let key: Option<Vec<String>> = columns.iter().map(|c| cell.get(*c).cloned()).collect();
                let Some(key) = key else { continue };
                *met.entry((columns.last().unwrap(), key)).or_default().entry(table).or_default() += n;
            }
        }
    }
    let several = met.values().filter(|tables| tables.len() > 1).count();
    assert!(several > 500, "{several}");
    for (what, tables) in met {
        let one: BTreeSet<i64> = tables.values().copied().collect();
        assert_eq!(one.len(), 1, "{what:?} {tables:?}");
    }
}
