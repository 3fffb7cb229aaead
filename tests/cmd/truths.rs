//! Releases whose counts have different truths are never taken together, in whatever order they are given and whatever stands between them.

use super::margins;
use std::path::Path;
use std::process::Output;

fn run(folder: &Path, words: &[&str]) -> Output {
    margins(folder).args(words).output().unwrap()
}

fn said(of: &Output) -> String {
    let text = [&of.stdout[..], &of.stderr[..]].concat();
    String::from_utf8(text).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn keys(folder: &Path) {
    assert!(run(folder, &["keygen", "--out", "agency.key", "--no-passphrase"]).status.success());
}

/// Releases a spec of these people, with what it says of them, of its unit and of a dimension.
fn release(folder: &Path, name: &str, [people, unit, data, dimension]: [&str; 4]) {
    write(folder, name, [people, unit, data, dimension]);
    let made = run(folder, &["release", &format!("{name}.toml"), "--key", "agency.key"]);
    assert!(made.status.success(), "{name}: {}", said(&made));
}

fn write(folder: &Path, name: &str, [people, unit, data, dimension]: [&str; 4]) {
    let (of, _) = dimension.split_once('\n').unwrap();
    let spec = format!(
        "name = '{name}'\ntitle = 'T'\n[dataset]\n{people}\n[data]\npath = '{data}'\n[privacy]\nunit = {unit}\nrho = '1/10'\n\
         [[dimension]]\nname = {dimension}\n[[table]]\nof = [{of}]\n"
    );
    std::fs::write(folder.join(format!("{name}.toml")), spec).unwrap();
}

const SEX: &str = "'sex'\ncategories = ['F', 'M']";

/// All orders of three releases are refused for this reason.
fn refused(folder: &Path, names: [&str; 3], why: &str, sql: &str) {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let files = order.map(|at| format!("out/{}.margins", names[at]));
        let sql = sql.replace("FROM x", &format!("FROM {}", names[order[0]]));
        let asked = run(folder, &["query", &files[0], &files[1], &files[2], &sql]);
        let said = said(&asked);
        assert!(!asked.status.success() && said.contains(why), "{files:?}: {said}");
    }
}

#[test]
fn what_says_nothing_brings_no_two_truths_together() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    keys(folder);
    let rows = |n: usize| {
        (0..n).fold("sex,who\n".to_owned(), |all, i| all + ["F", "M"][i % 2] + &format!(",p{}\n", i / 3))
    };
    std::fs::write(folder.join("few.csv"), rows(300)).unwrap();
    std::fs::write(folder.join("many.csv"), rows(600)).unwrap();
    let year = |of: &str, more: &str| format!("id = 'people'\nperiod = '{of}'\n{more}");
    release(folder, "none", [&year("2026", ""), "'row'", "few.csv", SEX]);
    release(folder, "may", [&year("2026", "snapshot = 'may'"), "'row'", "few.csv", SEX]);
    release(folder, "june", [&year("2026", "snapshot = 'june'"), "'row'", "many.csv", SEX]);
    release(folder, "old", [&year("2025", ""), "'row'", "few.csv", SEX]);
    let total = "SELECT COUNT(*) FROM x";
    let differ = "their counts have different truths";
    refused(folder, ["none", "may", "june"], differ, total);
    refused(folder, ["old", "may", "june"], differ, total);
    let asked = run(
        folder,
        &["query", "out/none.margins", "out/may.margins", "out/old.margins", "SELECT COUNT(*) FROM may"],
    );
    assert!(asked.status.success(), "{}", said(&asked));

    // A run that stops at rows without a unit had none; the others count them or do not.
    std::fs::write(folder.join("nobody.csv"), rows(300) + &"F,\n".repeat(90)).unwrap();
    let units = "id = 'units'";
    let unit = |without: &str| format!("{{ column = 'who', max_rows = 3{without} }}");
    release(folder, "stop", [units, &unit(""), "few.csv", SEX]);
    release(folder, "own", [units, &unit(", without = 'own'"), "nobody.csv", SEX]);
    release(folder, "drop", [units, &unit(", without = 'drop'"), "nobody.csv", SEX]);
    refused(folder, ["stop", "own", "drop"], differ, total);

    // A list of days says no format, and the two that do read days in different ways.
    let day = |days: &str| format!("day\n{}", days.repeat(40));
    std::fs::write(folder.join("listed.csv"), day("2024-01-02\n2024-02-01\n2024-02-01\n")).unwrap();
    std::fs::write(folder.join("days.csv"), day("01/02/2024\n01/02/2024\n02/01/2024\n")).unwrap();
    let days: Vec<String> =
        (1..=31).map(|d| format!("'2024-01-{d:02}'")).chain(["'2024-02-01'".into()]).collect();
    let listed = format!("'day'\ncategories = [{}]", days.join(", "));
    let read = |format: &str| format!("'day'\ndates = ['2024-01-01', '2024-02-01']\nformat = '{format}'");
    release(folder, "listed", ["id = 'days'", "'row'", "listed.csv", &listed]);
    release(folder, "day-first", ["id = 'days'", "'row'", "days.csv", &read("DD/MM/YYYY")]);
    release(folder, "month-first", ["id = 'days'", "'row'", "days.csv", &read("MM/DD/YYYY")]);
    let sql = "SELECT COUNT(*) FROM x WHERE day = '2024-01-02'";
    let files = ["out/listed.margins", "out/day-first.margins", "out/month-first.margins"];
    for order in [[0, 1, 2], [1, 0, 2], [1, 2, 0]] {
        let asked = run(
            folder,
            &[
                "query",
                files[order[0]],
                files[order[1]],
                files[order[2]],
                &sql.replace("FROM x", "FROM listed"),
            ],
        );
        let said = said(&asked);
        assert!(!asked.status.success() && said.contains("their truths are different ones"), "{said}");
    }
}

/// What a question about these people spends, where something is out.
fn spent(folder: &Path, name: &str, within: &str) -> f64 {
    let sql = format!("SELECT COUNT(*) FROM {name}");
    let words = ["ask", &format!("{name}.toml"), "--key", "agency.key", "--within", within, "--json", &sql];
    let asked = run(folder, &words);
    assert!(asked.status.success(), "{name}: {}", said(&asked));
    let told: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap();
    let spent = told["spent"].as_str().unwrap();
    let (over, under) = spent.split_once('/').unwrap_or((spent, "1"));
    over.parse::<f64>().unwrap() / under.parse::<f64>().unwrap()
}

#[test]
fn questions_are_answered_from_no_other_truth() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    keys(folder);
    let rows =
        (0..300).fold("sex,who,nr\n".to_owned(), |all, i| all + &format!("F,p{},{}\n", i / 3, 300 - i));
    std::fs::write(folder.join("people.csv"), rows).unwrap();
    let unit = |more: &str| format!("{{ column = 'who', max_rows = 1{more} }}");
    let years = ["id = 'p'\nperiod = '2026'", "id = 'p'\nperiod = '2026'\nsnapshot = 'may'"];
    let cases = [
        ("a", "", ", without = 'own'"),
        ("b", "", ", order = 'nr'"),
        ("c", ", without = 'drop'", ""),
        ("d", ", order = 'nr'", ""),
    ];
    for (id, out, asked) in cases {
        let (people, first, second) = (format!("id = '{id}'"), format!("{id}-out"), format!("{id}-ask"));
        release(folder, &first, [&people, &unit(out), "people.csv", SEX]);
        write(folder, &second, [&people, &unit(asked), "people.csv", SEX]);
        assert!(spent(folder, &second, "60") > 0.0, "{out} {asked}");
        assert_eq!(spent(folder, &second, "60"), 0.0, "what is out of the same truth answers it");
    }
    release(folder, "may", [years[1], "'row'", "people.csv", SEX]);
    write(folder, "none", [years[0], "'row'", "people.csv", SEX]);
    assert!(spent(folder, "none", "60") > 0.0);
}

/// A question that hardly needs a budget costs hardly any.
#[test]
fn wide_questions_cost_little() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    keys(folder);
    std::fs::write(folder.join("people.csv"), "sex\nF\nM\n").unwrap();
    for (name, budget) in [("gaussian", "rho"), ("laplace", "epsilon")] {
        write(folder, name, [&format!("id = '{name}'"), "'row'", "people.csv", SEX]);
        let spec = std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
        std::fs::write(folder.join(format!("{name}.toml")), spec.replace("rho", budget)).unwrap();
        // The answer of each is wider than the next may be.
        for within in ["1e12", "1e11", "1e9", "45000", "100"] {
            let spent = spent(folder, name, within);
            let half: f64 = within.parse().unwrap();
            // The variance of the one, the scale of the other that leaves a twentieth outside.
            let needed = if budget == "rho" { 0.5 * (1.96 / half).powi(2) } else { 3.0 / half };
            assert!(spent > 0.0 && spent < 1.1 * needed + 1e-12, "{name} {within}: {spent} for {needed}");
        }
    }
}

/// What a question measured is asked together with what was out, whatever the order in which the spec names groups.
#[test]
fn what_is_asked_keeps_the_order_of_groups() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    keys(folder);
    std::fs::write(folder.join("people.csv"), "icd\nz1\na2\n").unwrap();
    let icd = "'icd'\ncategories = ['z1', 'z2', 'a1', 'a2']\nlevels = [{ name = 'part', map = { Z = ['z1', 'z2'], A = ['a1', 'a2'] } }]";
    release(folder, "codes", ["id = 'codes'", "'row'", "people.csv", icd]);
    let sql = "SELECT icd.part, COUNT(*) FROM codes GROUP BY icd.part";
    let asked = run(folder, &["ask", "codes.toml", "--key", "agency.key", "--within", "5", "--json", sql]);
    assert!(asked.status.success(), "{}", said(&asked));
    let both = run(folder, &["query", "out/codes.margins", "out/codes-asked-1.margins", sql, "--json"]);
    assert!(both.status.success(), "{}", said(&both));
    let rows = |of: &Output| serde_json::from_slice::<serde_json::Value>(&of.stdout).unwrap()["rows"].clone();
    assert_eq!(rows(&both)[0]["estimate"], rows(&asked)[0]["estimate"]);
}

/// A copy may be so wide that it hardly needs a budget.
#[test]
fn wide_copies_are_planned() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for margin in ["1e5", "1e7", "1e9"] {
        for budget in ["rho", "epsilon"] {
            write(folder, "copies", ["id = 'copies'", "'row'", "people.csv", SEX]);
            let spec = std::fs::read_to_string(folder.join("copies.toml")).unwrap().replace("rho", budget);
            let copies = format!(
                "{spec}[[recipient]]\nname = 'office'\n{budget} = '1/10'\n[[recipient]]\nname = 'school'\nmargin = {margin}\n"
            );
            std::fs::write(folder.join("copies.toml"), copies).unwrap();
            let planned = run(folder, &["plan", "copies.toml", "--json"]);
            assert!(planned.status.success(), "{margin}: {}", said(&planned));
            let planned: serde_json::Value = serde_json::from_slice(&planned.stdout).unwrap();
            let school = &planned["recipients"]["recipients"][1];
            let (kept, wanted) = (school["margin95"].as_f64().unwrap(), margin.parse::<f64>().unwrap());
            assert!(kept <= wanted && kept > 0.97 * wanted, "{school}");
        }
    }
}
