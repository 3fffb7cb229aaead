//! Ledgers that lie, with the agency's own key: lines said otherwise, chained and signed again, beside releases that name them.

use super::chain::{chained, hash};
use super::lies::{LEDGER, agency, released_in};
use margins::release::forged::bytes as said;
use margins::release::{Release, SigningKey};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A question about some ages, measured, of a declared snapshot.
fn question(name: &str, ages: &str) -> String {
    format!(
        "name = \"{name}\"\ntitle = \"T\"\n[dataset]\nid = \"shop\"\nperiod = \"2026\"\nsnapshot = \"may\"\n[privacy]\nunit = \"row\"\n\
         epsilon = \"1/4\"\n[[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n[[dimension]]\nname = \"age\"\nrange = [0, 9]\n\
         [asked]\nqueries = [\"SELECT COUNT(*) FROM {name} WHERE {ages}\"]\n"
    )
}

/// An honest ledger of two questions: its lines, and the releases.
struct Honest {
    key: SigningKey,
    lines: Vec<Value>,
    releases: Vec<Release>,
}

impl Honest {
    /// Releases of these specs.
    fn of(specs: &[String]) -> Honest {
        let (key, dir) = (agency(), tempfile::tempdir().unwrap());
        let release = |spec: &String| released_in(dir.path(), LEDGER, spec, "sex,age\nF,1\nM,7\n", &key);
        let releases: Vec<Release> = specs.iter().map(release).collect();
        let text = std::fs::read_to_string(dir.path().join(LEDGER)).unwrap();
        let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let kinds: Vec<&str> = lines.iter().map(|l| l["kind"].as_str().unwrap()).collect();
        let two = ["opened", "charged", "sealed", "charged", "sealed"];
        assert_eq!(kinds, two[..1 + 2 * specs.len()]);
        Honest { key, lines, releases }
    }

    fn chained(&self, lines: &[Value]) -> Vec<Value> {
        chained(lines, &self.key, "shop")
    }

    /// A release that names a line of these as its charge, and the lines with its file in the one that closes that charge.
    fn naming(&self, which: usize, lines: &[Value], at: usize) -> (Vec<u8>, Vec<Value>) {
        let lines = self.chained(lines);
        let file = said(&self.releases[which], &self.key, |m, _| {
            m["account"]["line"] = json!(at + 1);
            m["account"]["head"] = hash(&lines[at]).into();
        });
        let mut lines = lines;
        lines[at + 1]["files"] = json!([blake3::hash(&file).to_hex().to_string()]);
        (file, self.chained(&lines))
    }
}

/// What `ledger verify` says of a ledger and a release, in one line, and whether it passes.
fn verified(folder: &Path, lines: &[Value], file: &[u8]) -> (bool, String) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    shown(folder, &text, Some(file))
}

fn shown(folder: &Path, ledger: &str, file: Option<&[u8]>) -> (bool, String) {
    let path = |name: &str| -> PathBuf { folder.join(name) };
    std::fs::write(path("ledger.jsonl"), ledger).unwrap();
    let beside = file.map(|file| {
        std::fs::write(path("it.margins"), file).unwrap();
        ["--release", "it.margins"]
    });
    let run = Command::new(env!("CARGO_BIN_EXE_margins"))
        .args(["ledger", "verify", "ledger.jsonl"])
        .args(beside.into_iter().flatten())
        .current_dir(folder)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    let last = text.contains("VERIFIED: ");
    assert_eq!(run.status.code(), Some(i32::from(!last)), "{run:?}");
    (last, text)
}

/// A bound that holds only by the exact law that a charge names is unchecked without the release that shows this law, and one that it does not show is refused.
fn a_law_of_its_own() {
    let table = "name = \"shop\"\ntitle = \"T\"\n[dataset]\nid = \"shop\"\nperiod = \"2026\"\n[privacy]\nunit = \"row\"\n\
        epsilon = 1\ndelta = 1e-9\n[[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n[[dimension]]\nname = \"age\"\n\
        range = [0, 9]\n[[table]]\nof = [\"sex\"]\n[[table]]\nof = [\"age\"]\n";
    let honest = Honest::of(&[table.to_owned()]);
    let dir = tempfile::tempdir().unwrap();
    let with = |bound: &str, law: Option<&str>| {
        let mut lines = honest.lines.clone();
        let bound = json!({
            "kind": "bound", "day": lines[0]["day"], "previous": "", "epsilon": bound, "delta": "1/1000000000",
        });
        assert!(lines[1]["alone"]["epsilon"].is_string());
        if let Some(law) = law {
            lines[1]["alone"]["epsilon"] = law.into();
        }
        lines.insert(1, bound);
        let (file, lines) = honest.naming(0, &lines, 2);
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        (shown(dir.path(), &text, None), shown(dir.path(), &text, Some(&file)))
    };
    let unchecked = "bound unchecked: ";
    let (bare, beside) = with("1", None);
    assert!(
        bare.0 && bare.1.contains(unchecked) && bare.1.contains("which only its release shows"),
        "{bare:?}"
    );
    assert!(
        beside.0 && beside.1.contains("within ε = 1 at δ = 1e-9") && !beside.1.contains(unchecked),
        "{beside:?}"
    );
    let (bare, beside) = with("1/5", Some("1/10"));
    assert!(bare.0 && bare.1.contains(unchecked), "{bare:?}");
    assert!(!beside.0 && beside.1.contains("charges something else"), "{beside:?}");
    // By ρ it holds, whatever law is named.
    let (bare, beside) = with("2", Some("1/10"));
    assert!(bare.0 && bare.1.contains("within ε = 2 at δ = 1e-9") && !bare.1.contains(unchecked), "{bare:?}");
    assert!(!beside.0, "{beside:?}");
}

/// Every lie is refused, and for its own reason.
pub(crate) fn forged_lines() {
    a_law_of_its_own();
    let honest = Honest::of(&[question("young", "age < 5"), question("old", "age >= 5")]);
    let dir = tempfile::tempdir().unwrap();
    let lines = &honest.lines;
    // What is changed below is sound as it is, and chained and signed again it still is.
    let (file, same) = honest.naming(0, lines, 1);
    let (passed, text) = verified(dir.path(), &same, &file);
    assert!(passed && text.contains("whom it costs how much was derived again"), "{text}");
    let forged = |what: &str, why: &str, at: usize, edit: &dyn Fn(&mut Vec<Value>)| {
        let mut changed = lines.clone();
        edit(&mut changed);
        let (file, changed) = honest.naming(0, &changed, at);
        let (passed, text) = verified(dir.path(), &changed, &file);
        assert!(!passed && text.contains(why), "{what}: {text}");
    };
    let runs = |lines: &mut Vec<Value>, at: u64| lines[1]["cells"]["by"][0]["runs"][1][0] = json!(at);
    forged("a class", "and the release does not: ", 1, &|lines| runs(lines, 4));
    forged("shares", "other shares", 1, &|lines| {
        lines[1]["cells"]["shares"].as_array_mut().unwrap().reverse();
    });
    forged("a sum", "charges something else", 1, &|lines| lines[1]["charged"] = "1/8".into());
    forged("a name", "charges something else", 1, &|lines| lines[1]["release"] = "other".into());
    forged("an exact table", "charges something else", 1, &|lines| {
        lines[1]["invariants"] = json!(["sex: because"]);
    });
    forged("a line of another release", "charges something else", 3, &|_| {});
    // A sum that the release says, too: its cost is another.
    let mut changed = lines.clone();
    changed[1]["charged"] = "1/8".into();
    let changed = honest.chained(&changed);
    let file = said(&honest.releases[0], &honest.key, |m, _| {
        m["account"]["head"] = hash(&changed[1]).into();
        m["account"]["charged"]["amount"] = "1/8".into();
    });
    let mut changed = changed;
    changed[2]["files"] = json!([blake3::hash(&file).to_hex().to_string()]);
    let (passed, text) = verified(dir.path(), &honest.chained(&changed), &file);
    assert!(!passed && text.contains("the file is not what it says"), "{text}");
    // Moved: without the key the chain breaks; chained again, no release names what stands there now.
    let (file, same) = honest.naming(0, lines, 1);
    let moved: Vec<Value> = [0, 3, 4, 1, 2].map(|i| same[i].clone()).into();
    let (passed, text) = verified(dir.path(), &moved, &file);
    assert!(!passed && text.contains("line 2 of the ledger does not follow from the line before"), "{text}");
    let (passed, text) = verified(dir.path(), &honest.chained(&moved), &file);
    assert!(!passed && text.contains("lines were cut off, an older copy was put back"), "{text}");
    // Cut: the line that closes the charge, the charge itself, half a line, everything.
    for (kept, why) in [
        (2, "no line says that this file came of it"),
        (1, "lines were cut off"),
        (0, "this ledger is empty"),
    ] {
        let (passed, text) = verified(dir.path(), &same[..kept], &file);
        assert!(!passed && text.contains(why), "{kept} lines: {text}");
    }
    let text: String = same.iter().map(|line| format!("{line}\n")).collect();
    let (passed, text) = shown(dir.path(), &text[..text.len() - 20], Some(&file));
    assert!(!passed && text.contains("the last of the ledger, is incomplete"), "{text}");
}
