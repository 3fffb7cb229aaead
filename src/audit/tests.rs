//! Files that lie, signed with the agency's own key; and honest ones of every make.

use super::*;
use crate::answer::Answers;
use crate::compile::{self, Options};
use crate::exact::Rational;
use crate::numeric::tries::tries;
use crate::plan::Plan;
use crate::planner::Look;
use crate::release::forged::{Bodies, resealed};
use crate::release::{Kind, SigningKey, keys};
use crate::secret::ingest::Means;
use crate::secret::noise::Entropy;
use crate::spec::Spec;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

const TABLES: &str = r#"
name = "shop"
title = "Shop"
description = "Who shops"

[privacy]
unit = { column = "person", max_rows = 2 }
epsilon = 1
delta = 1e-6

[[dimension]]
name = "sex"
categories = ["F", "M"]

[[dimension]]
name = "age"
range = [0, 9]
levels = [{ name = "half", width = 5 }]

[[dimension]]
name = "place"
hierarchy = "places.csv"

[[table]]
of = ["sex", "age"]

[[table]]
of = ["place", "sex"]
weight = 2

[[table]]
of = ["sex", "age.half"]
exact = true
reason = "known from the register"

[strategy]
measure = "residual"
"#;

const ZEROS: &str = r#"
name = "shop"
title = "Shop"

[privacy]
unit = "row"
epsilon = 2
neighbours = "substitute"

[[dimension]]
name = "sex"
categories = ["F", "M"]

[[dimension]]
name = "age"
range = [0, 9]

[[table]]
of = ["sex", "age"]

[[table]]
of = ["sex"]

[[zero]]
where = "sex = 'F' AND age BETWEEN 3 AND 5"

[strategy]
measure = "queries"
"#;

const PROJECTION: &str = r#"
name = "shop"
title = "Shop"

[privacy]
unit = "row"
rho = "1/2"

[[dimension]]
name = "sex"
categories = ["F", "M"]

[[dimension]]
name = "place"
text = true

[projection]
rows = 256
sparsity = 6
kind = "sketch"
"#;

const ROWS: &str = "person,sex,age,place\n1,F,1,a1\n1,F,2,a2\n2,M,7,b1\n3,M,7,b1\n4,F,9,a1\n5,M,0,b2\n";
const PLACES: &str = "place,region\na1,a\na2,a\nb1,b\nb2,b\n";

fn spec(text: &str) -> Spec {
    let read = |name: &str| match name {
        "places.csv" => Ok(PLACES.as_bytes().to_vec()),
        "rows.csv" => Ok(b"1,0\n0,1\n".to_vec()),
        "mixed.csv" => Ok(b"1,1\n2,0\n0,1\n".to_vec()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    crate::spec::parse(text, Path::new("shop.toml"), read).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn agency() -> SigningKey {
    SigningKey::from_text(&keys::keygen(None).unwrap().secret, None).unwrap()
}

/// A release of these rows, in memory.
fn released(text: &str, rows: &str, key: &SigningKey) -> Release {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("rows.csv");
    std::fs::write(&data, rows).unwrap();
    let spec = spec(text);
    let options = Options {
        out: dir.path(),
        data: Some((&data).into()),
        counts: None,
        ledger: &dir.path().join("ledger.jsonl"),
        key,
        replace: false,
        day: "2026-01-31",
        entropy: Entropy::from_os().unwrap(),
    };
    let made = compile::release(&spec, options, &Means::default()).unwrap();
    // Of several copies the least precise: it has the most to say.
    let path = made.further.last().map_or(made.sealed.path, |s| s.path.clone());
    Release::from_bytes(std::fs::read(path).unwrap()).unwrap()
}

fn same(_: &mut Value, _: &mut Bodies) {}

/// The same file in format version 1.
fn first_format(release: &Release, key: &SigningKey) -> Release {
    resealed(release, key, |m, _| {
        m["format"] = 1.into();
        // What only version 2 has.
        m.as_object_mut().unwrap().remove("account");
    })
    .unwrap()
}

/// Why a file does not pass; `None` where it does.
fn refused(release: Result<Release, ReleaseError>) -> Option<String> {
    let failed = |audit: Audit| {
        let failed: Vec<Check> =
            audit.checks.iter().filter(|c| c.outcome == Outcome::Failed).cloned().collect();
        (!failed.is_empty()).then(|| format!("{failed:?}"))
    };
    match release.and_then(|r| audit(&r, None)) {
        Ok(audit) => failed(audit),
        Err(e) => Some(e.to_string()),
    }
}

/// Whether a program without the spec language lets a file pass.
fn passes_without_spec(release: &Release) -> bool {
    let Ok(verification) = release.verify_all(None) else { return false };
    let mut audit = Audit { checks: verification.checks, blake3: String::new() };
    let checked = Content::of(release).and_then(|c| c.check(&mut audit, release));
    checked.is_ok() && audit.passed()
}

/// Everything that differs from a value in one place, with the path of the place.
fn lies(v: &Value) -> Vec<(String, Value)> {
    let mut out: Vec<(String, Value)> = Vec::new();
    let mut put = |path: String, lie: Value| out.push((path, lie));
    match v {
        Value::Null => {}
        Value::Bool(b) => put("".into(), (!b).into()),
        Value::Number(n) => {
            let n = n.as_i64().unwrap();
            [n + 1, n - 1, 0].into_iter().filter(|&m| m != n).for_each(|m| put("".into(), m.into()));
        }
        Value::String(s) => {
            let mut others = vec![format!("{s}x"), format!("x{s}"), "".into(), "0".into()];
            // What reads as a number: smaller and larger, as ratio and as decimal.
            if let Ok(r) = s.parse::<Rational>() {
                others.extend(r.checked_div(Rational::whole(2)).map(|h| h.to_string()));
                others.extend(r.checked_add(Rational::ONE).map(|m| m.to_string()));
                others.push(format!("{:.4}", r.to_f64() / 3.0));
            }
            others.into_iter().filter(|o| o != s).for_each(|o| put("".into(), o.into()));
        }
        Value::Array(items) => {
            let mut more = items.clone();
            more.push(items.first().cloned().unwrap_or_else(|| "x".into()));
            put("".into(), more.into());
            for i in 0..items.len() {
                let mut fewer = items.clone();
                fewer.remove(i);
                put(format!("/{i}"), fewer.into());
                for (path, lie) in lies(&items[i]) {
                    let mut other = items.clone();
                    other[i] = lie;
                    put(format!("/{i}{path}"), other.into());
                }
            }
            if items.len() > 1 && items[0] != items[1] {
                let mut swapped = items.clone();
                swapped.swap(0, 1);
                put("".into(), swapped.into());
            }
        }
        Value::Object(fields) => {
            let with = |key: &str, field: Option<Value>| -> Value {
                let mut other = fields.clone();
                match field {
                    Some(field) => other.insert(key.into(), field),
                    None => other.remove(key),
                };
                other.into()
            };
            put("/zz_note".into(), with("zz_note", Some("ρ = 0".into())));
            for (key, field) in fields {
                put(format!("/{key}"), with(key, None));
                for (path, lie) in lies(field) {
                    put(format!("/{key}{path}"), with(key, Some(lie)));
                }
            }
        }
    }
    out
}

/// Fields that were not there, each with something to say.
fn additions(manifest: &Value) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    let mut put = |path: &str, field: Value| {
        let (object, key) = path.rsplit_once('/').unwrap();
        let mut other = manifest.clone();
        let fields = other.pointer_mut(object).unwrap().as_object_mut().unwrap();
        if !fields.contains_key(key) {
            fields.insert(key.into(), field);
            out.push((path.to_owned(), other));
        }
    };
    for key in ["description", "licence", "contact", "supersedes", "errata"] {
        put(&format!("/about/{key}"), "nobody can be found in this".into());
    }
    put("/dataset", json!({"id": "census"}));
    put("/privacy/approximate", json!({"epsilon": "0.0010", "delta": "1e-9", "conversion": "x"}));
    let projection = json!({"kind": "dense", "key": [], "rows": 64, "independence": 4, "seed": "", "sparsity": 1,
        "collision": "0"});
    put("/projection", projection);
    if manifest.get("account").is_some() {
        put("/account/part", "region=north".into());
    }
    put("/privacy/truncation", json!({"scale": "1"}));
    let joint = json!({"currency": "rho", "amount": "1/1000"});
    let recipient = json!({"name": "a", "mode": "nested", "copies": 1, "measuring": "00", "joint_cost": joint, "note": ""});
    put("/recipient", recipient);
    out
}

/// Tables of a named dataset, with a count of the units that were cut.
fn counted() -> String {
    let counted = TABLES.replace("epsilon = 1\n", "measure_truncation = true\nepsilon = 1\n");
    counted + "\n[dataset]\nid = \"census\"\nperiod = \"2026\"\n"
}

/// The same for two recipients, of whom the second has the less precise copy.
fn recipients(text: &str, key: &str, mode: &str) -> String {
    format!(
        "{text}\n[recipients]\nmode = \"{mode}\"\n[[recipient]]\nname = \"a\"\n{key} = \"1/99\"\n[[recipient]]\nname = \"b\"\n\
         {key} = \"1/400\"\n"
    )
}

/// The makes of releases that the lies are told of: in both formats.
fn honest(key: &SigningKey) -> Vec<Release> {
    let second = [TABLES, ZEROS, PROJECTION].map(|text| released(text, ROWS, key));
    let first: Vec<Release> = second.iter().map(|r| first_format(r, key)).collect();
    // What only version 2 has.
    let later = [
        counted(),
        recipients(&counted(), "rho", "nested"),
        recipients(ZEROS, "epsilon", "shifted\"\ncentres = \"[-3, 9]"),
    ]
    .map(|text| released(&text.replace("\"[-3, 9]\"", "[-3, 9]"), ROWS, key));
    second.into_iter().chain(first).chain(later).collect()
}

#[test]
fn honest_files_pass() {
    let key = agency();
    for release in honest(&key) {
        let audit = audit(&release, Some(&key.public_key())).unwrap();
        assert!(audit.passed(), "{}", audit.to_text("shop.margins"));
        assert!(audit.checks.iter().any(|c| c.what == "spec" && c.outcome == Outcome::Passed));
        assert!(passes_without_spec(&release));
        assert_eq!(refused(resealed(&release, &key, same)), None);
        let text = audit.to_text("shop.margins");
        assert!(text.contains("the signer says: made on 2026-01-31 by \"margins"), "{text}");
    }
}

/// What was charged is what the cost comes to: less fails, and more.
#[test]
fn what_was_charged_follows_from_what_was_spent() {
    let key = agency();
    let release = released(TABLES, ROWS, &key);
    let spent = release.manifest().account.as_ref().unwrap().charged.amount;
    assert_eq!(said(&release, "account").outcome, Outcome::Passed);
    for times in ["1/2", "2"] {
        let lie = spent.checked_mul(times.parse().unwrap()).unwrap().to_string();
        let other = resealed(&release, &key, |m, _| m["account"]["charged"]["amount"] = lie.clone().into());
        let told = said(&other.unwrap(), "account");
        assert!(
            told.outcome == Outcome::Failed && told.detail.contains(&format!("{lie} is not what")),
            "{told:?}"
        );
    }
}

/// A file that names no ledger says so, also where its format does not know any; and how long the sealed spec is stands beside that it was read.
#[test]
fn what_no_ledger_confirms_is_noted() {
    let key = agency();
    let release = released(TABLES, ROWS, &key);
    let silent = resealed(&release, &key, |m, _| drop(m.as_object_mut().unwrap().remove("account"))).unwrap();
    for release in [silent, first_format(&release, &key)] {
        let audit = audit(&release, None).unwrap();
        let noted = audit.checks.iter().filter(|c| c.what == "account" && c.outcome == Outcome::Warning);
        assert!(noted.clone().count() == 1 && noted.clone().all(|c| c.detail.contains("charged anywhere")));
        let first = release.manifest().format == crate::release::FIRST_FORMAT;
        assert!(noted.clone().all(|c| c.detail.contains("files of format 1 never do") == first));
        let size = format!("{} bytes", TABLES.len());
        assert!(audit.checks.iter().any(|c| c.what == "spec" && c.detail.contains(&size)));
    }
}

/// A place of the manifest that nothing in the file confirms: it is shown as what the signer says.
fn unchecked(path: &str) -> bool {
    // A release that names no account is noted; which line is its own only the ledger knows.
    let account = matches!(path, "/account" | "/account/line" | "/account/head");
    account || matches!(path, "/created" | "/compiler" | "/about/errata" | "/signer/kind")
}

/// The same, for a program that does not read the spec.
fn unchecked_without_spec(path: &str) -> bool {
    unchecked(path)
        || path.starts_with("/dataset")
        || matches!(path, "/account/id" | "/account/unit" | "/account/part")
        || path.starts_with("/sources/attachments/") && path.ends_with("/name")
        || path.starts_with("/about")
        || path.starts_with("/declared/invariants/")
}

#[test]
fn every_falsified_field_of_a_manifest_is_noticed() {
    let key = agency();
    let mut told = 0;
    // Where the build is a quick one, each release has a fifth of them, another one than that before it.
    let step = tries(5, 1);
    for (at, release) in honest(&key).into_iter().enumerate() {
        let manifest = serde_json::to_value(release.manifest()).unwrap();
        let all = lies(&manifest).into_iter().chain(additions(&manifest));
        for (path, lie) in all.skip(at % step).step_by(step) {
            let said = lie.pointer(&path).map_or(String::new(), Value::to_string);
            // The same file in the other version, header and all, is no lie.
            if path == "/format" && (1..=2).contains(&lie["format"].as_i64().unwrap_or(0)) {
                continue;
            }
            let forged = resealed(&release, &key, |m, _| *m = lie);
            told += 1;
            if let Ok(forged) = &forged {
                let passes = passes_without_spec(forged);
                assert!(!passes || unchecked_without_spec(&path), "without the spec: {path} = {said}");
            }
            let refused = refused(forged);
            assert!(refused.is_some() || unchecked(&path), "{path} = {said} passes");
        }
    }
    assert!(told > 1000 / step, "{told}");
}

/// A recipient's file is not another's, whoever writes its name on it; and says what all copies cost.
#[test]
fn a_copy_is_nobody_elses() {
    let key = agency();
    for text in [recipients(&counted(), "rho", "nested"), recipients(ZEROS, "epsilon", "nested")] {
        let release = released(&text, ROWS, &key);
        assert_eq!(release.manifest().recipient.as_ref().unwrap().name, "b");
        for said in [true, false] {
            let mut audit = audit(&release, None).unwrap();
            audit.made_for(&release, if said { "b" } else { "a" });
            assert_eq!(audit.passed(), said);
        }
        let why = refused(resealed(&release, &key, |m, _| m["recipient"]["name"] = "a".into())).unwrap();
        assert!(why.contains("another recipient"), "{why}");
        // The section says so too, and everything in the manifest but what follows from it.
        let why = refused(resealed(&release, &key, |m, bodies| {
            let (tag, body) = bodies.last_mut().unwrap();
            assert_eq!(*tag, Kind::Copies.tag());
            assert_eq!(body[18], 1);
            body[18] = 0;
            m["recipient"]["name"] = "a".into();
        }))
        .unwrap();
        assert!(!why.is_empty(), "{why}");
        // A copy without the section is no release by itself.
        let why = refused(resealed(&release, &key, |m, bodies| {
            bodies.pop();
            m.as_object_mut().unwrap().remove("recipient");
        }));
        assert!(why.is_some());
        // Garbage in the section.
        for at in 0..40 {
            let broken = resealed(&release, &key, |_, bodies| {
                let body = &mut bodies.last_mut().unwrap().1;
                if let Some(b) = body.get_mut(16 + at) {
                    *b = b.wrapping_add(1);
                }
            });
            let same = at + 16 >= release.section(Kind::Copies, 0).unwrap().len();
            assert!(same || refused(broken).is_some(), "byte {at}");
        }
    }
}

/// What is not checked is shown as what the signer says, whoever looks.
#[test]
fn what_is_not_checked_is_shown() {
    let key = agency();
    let release = released(TABLES, ROWS, &key);
    let forged = resealed(&release, &key, |m, _| {
        m["created"] = "1999-12-31".into();
        m["compiler"] = "honest 9".into();
        m["about"]["errata"] = "a slip".into();
    });
    let audit = audit(&forged.unwrap(), None).unwrap();
    assert!(audit.passed());
    let text = audit.to_text("x").split_whitespace().collect::<Vec<_>>().join(" ");
    for said in ["the signer says: made on 1999-12-31", "honest 9", "a slip"] {
        assert!(text.contains(said), "{said} is not in {text}");
    }
}

/// Claims that fit each other and not the plan: what was VERIFIED once.
#[test]
fn a_guarantee_that_is_too_good_is_noticed() {
    let key = agency();
    let release = released(ZEROS, ROWS, &key);
    let why = refused(resealed(&release, &key, |m, _| {
        m["privacy"]["note"] = "ε <= 1/1000000 of pure differential privacy for every row.".into();
    }));
    assert!(why.unwrap().contains("privacy.note"));
    // Every word of it consistent: only the spec knows better.
    let persons = resealed(&release, &key, |m, _| {
        m["privacy"]["unit"] = "person".into();
        let note = m["privacy"]["note"].as_str().unwrap();
        m["privacy"]["note"] =
            note.replace("every row", "every person, of which at most 1 rows count").into();
    });
    assert!(passes_without_spec(persons.as_ref().unwrap()));
    let why = refused(persons).unwrap();
    assert!(why.contains("unit: the manifest says") && why.contains("the spec says"), "{why}");
}

/// Version 1 said of every bound that it is one over pairs of cells, whoever is protected; files of version 2 say what it is over.
#[test]
fn a_bound_is_told_as_its_format_tells_it() {
    use crate::plan::{Block, Measurement, Rows, cost};
    use crate::release::claims::{self, Words};
    let release = released(&format!("{HEAD}[[table]]\nof = [\"sex\", \"age\"]\n"), ROWS, &agency());
    let Content { cube, mut plan, .. } = Content::of(&release).unwrap();
    let mut words = Words::of(release.manifest(), &cube, &plan);
    // Rows over two tables, of which no one cell need be the dearest in both.
    let rows = |dimension: usize| {
        let cuboid = crate::cube::Cuboid::new(vec![(dimension, cube.dimensions[dimension].finest())]);
        let block = Block::Rows(Rows { cuboid, rows: vec![vec![(0, 1)]] });
        Measurement { block, scale: Rational::whole(4) }
    };
    plan.rows_mut().measurements = vec![rows(0), rows(1)];
    let cost = cost::cost(&plan, &crate::cube::Frame::new(&cube, &plan.levels)).unwrap();
    for (format, over) in
        [(1, "an upper bound over all pairs of cells"), (2, "an upper bound over all cells")]
    {
        let note = claims::of_tables(format, &cube, &plan, &cost, &words).unwrap().privacy.note;
        assert!(note.contains(over), "{format}: {note}");
    }
    words.reasons.push("of no table".into());
    assert!(claims::of_tables(2, &cube, &plan, &cost, &words).is_err());
}

/// What a manifest says in words: rows that are left out, what a secret centre is for, and ε as its format rounds it.
#[test]
fn claims_say_what_there_is() {
    use crate::plan::cost;
    use crate::release::Without;
    use crate::release::claims::{self, Words};
    let key = agency();
    let table = "[[table]]\nof = [\"sex\"]\n";
    let release = released(&format!("{HEAD}{table}"), ROWS, &key);
    let Content { cube, plan, .. } = Content::of(&release).unwrap();
    let words = Words::of(release.manifest(), &cube, &plan);
    let cost = cost::cost(&plan, &crate::cube::Frame::new(&cube, &plan.levels)).unwrap();
    for (without, says) in [(None, false), (Some(Without::Own), false), (Some(Without::Drop), true)] {
        let words = Words { without, unit: "person".into(), ..words.clone() };
        let note = claims::of_tables(2, &cube, &plan, &cost, &words).unwrap().privacy.note;
        assert_eq!(note.ends_with("Rows without a person are left out."), says, "{note}");
    }
    // Four decimals in the first format, and of a small number four digits in the second.
    let of =
        |format| claims::approximate(format, "1/100000".parse().unwrap(), "1e-9".parse().unwrap()).unwrap();
    let (first, second) = (of(1).epsilon, of(2).epsilon);
    assert_eq!((first.len(), second.len()), (6, 7), "{first} {second}");
    assert!(first.parse::<f64>().unwrap() >= second.parse::<f64>().unwrap());

    let amount = "[[amount]]\nname = \"age\"\nlow = 0\nhigh = 9\nstep = 1\n";
    let sums = format!(
        "{}{amount}{table}sum = [\"age\"]\n",
        HEAD.replace("[[dimension]]\nname = \"age\"\nrange = [0, 9]\n", "")
    );
    for (text, what) in [(format!("{HEAD}{table}"), "all integers of"), (sums, "all counts of")] {
        let text =
            recipients(&text, "rho", "shifted\"\ncentres = \"[-3, 9]").replace("\"[-3, 9]\"", "[-3, 9]");
        let copy = released(&text, ROWS, &key);
        let centre = copy.manifest().recipient.as_ref().unwrap().centre.clone().unwrap();
        assert!(centre.contains(what), "{centre}");
    }
}

/// Noise so small that its cost does not fit is refused by whoever opens the file to ask it.
#[test]
fn a_cost_that_does_not_fit_answers_nothing() {
    let key = agency();
    let release = released(&format!("{HEAD}[[table]]\nof = [\"sex\"]\n"), ROWS, &key);
    let Content { cube, mut plan, .. } = Content::of(&release).unwrap();
    plan.rows_mut().measurements[0].scale = Rational::new(1, u128::MAX).unwrap();
    let forged = resealed(&release, &key, |_, bodies| {
        let own = bodies.iter_mut().find(|(tag, _)| *tag == Kind::Plan.tag()).unwrap();
        own.1 = crate::release::wire::encode_plan(&plan, &cube).unwrap();
    });
    let why = Answers::from_release(forged.unwrap()).err().unwrap().to_string();
    assert!(why.contains("does not fit"), "{why}");
}

/// A file from which not even a total follows does not pass: here another component is measured in the total's place.
#[test]
fn what_answers_nothing_is_noticed() {
    use crate::plan::Block;
    let key = agency();
    let area = "[[dimension]]\nname = \"area\"\ncategories = [\"a\", \"b\"]\n[[table]]\nof = [\"sex\"]\n[strategy]\nmeasure = \"residual\"\n";
    let release = released(&format!("{HEAD}{area}"), "sex,age,area\nF,0,a\nM,0,b\n", &key);
    let Content { cube, mut plan, .. } = Content::of(&release).unwrap();
    plan.levels[2] = vec![0, 1];
    let of = |dimension| Block::Component(crate::cube::Cuboid::new([(dimension, 1)]));
    for (m, block) in plan.rows_mut().measurements.iter_mut().zip([of(0), of(2)]) {
        m.block = block;
    }
    let forged = resealed(&release, &key, |_, bodies| {
        let own = bodies.iter_mut().find(|(tag, _)| *tag == Kind::Plan.tag()).unwrap();
        own.1 = crate::release::wire::encode_plan(&plan, &cube).unwrap();
    });
    let answers = said(&forged.unwrap(), "answers");
    assert!(
        answers.outcome == Outcome::Failed && answers.detail.contains("no query is answered"),
        "{answers:?}"
    );
}

/// What rounding takes otherwise is the same; what anybody could see is not.
#[test]
fn nearly_the_same_is_told_from_another() {
    let times =
        |of: Rational, digits: u128| of.checked_mul(Rational::new(digits + 1, digits).unwrap()).unwrap();
    for of in ["1/1000", "1000"].map(|of| of.parse::<Rational>().unwrap()) {
        let near = |digits| super::spec::close(times(of, digits), of);
        assert!(near(10u128.pow(11)) && !near(10u128.pow(8)), "{of}");
    }
    let spec = spec(PROJECTION);
    let asked = spec.projection_request().unwrap().unwrap().design().unwrap();
    let same = |change: &dyn Fn(&mut crate::projection::Design)| {
        let mut design = asked.clone();
        change(&mut design);
        super::spec::designed(&spec, &design)
    };
    assert!(same(&|_| {}) && same(&|d| d.scale = times(d.scale, 10u128.pow(7))));
    assert!(!same(&|d| d.scale = times(d.scale, 10u128.pow(5))));
    assert!(same(&|d| d.independence += 2) && !same(&|d| d.independence -= 2));
}

/// Of (ε, δ) that allow less than was spent the check of δ fails, too, whether it knows the law of all noises or goes by ρ.
#[test]
fn what_delta_allows_is_checked_by_itself() {
    let key = agency();
    let both = "epsilon = 1\ndelta = 1e-6";
    for text in [
        TABLES.to_owned(),
        PROJECTION.replace("rho = \"1/2\"", both),
        format!("{}[[table]]\nof = [\"sex\"]\n", HEAD.replace("rho = 1", both)),
    ] {
        let release = released(&text, ROWS, &key);
        assert_eq!(with_spec(&release, &key, "delta = 1e-6", "delta = 1e-6"), None);
        let why = with_spec(&release, &key, "delta = 1e-6", "delta = 1e-9").unwrap();
        assert!(why.contains("what: \"delta\"") && why.contains("other budgets"), "{why}");
    }
    let first = first_format(&released(TABLES, ROWS, &key), &key);
    assert!(said(&first, "delta").detail.contains("by ρ: its format is the first"));
}

/// What is said of something that is checked once.
fn said(release: &Release, what: &str) -> Check {
    let mut checks = audit(release, None).unwrap().checks;
    checks.retain(|c| c.what == what);
    assert_eq!(checks.len(), 1, "{what}: {checks:?}");
    checks.remove(0)
}

/// What is said of tables without noise, of empty cells and of shares that are not compared is said where there are any.
#[test]
fn what_is_told_beside_is_there() {
    let key = agency();
    let exact = said(&released(TABLES, ROWS, &key), "exact tables").detail;
    assert!(exact.contains(" counts WITHOUT NOISE"), "{exact}");
    assert_eq!(said(&released(ZEROS, ROWS, &key), "zeros").outcome, Outcome::Passed);
    let tables = "[[table]]\nof = [\"sex\", \"age\"]\n[[table]]\nof = [\"sex\"]\n[strategy]\nbudgets = \"uniform\"\nmeasure = \"tables\"\n";
    let together = format!("{HEAD}[[table]]\nof = [\"sex\"]\n[strategy]\nmeasure = \"together\"\n");
    assert_eq!(refused(Ok(released(&together, ROWS, &key))), None);
    let searched = said(&released(&format!("{HEAD}{tables}"), ROWS, &key), "spec").detail;
    assert!(
        searched.contains("unchecked: whether the tables that were searched for have equal shares"),
        "{searched}"
    );
    // Of a spec that says something else nothing is said to be as it should.
    let other = respecified(&released(ZEROS, ROWS, &key), &key, "epsilon = 2", "epsilon = 3").unwrap();
    assert_eq!(said(&other, "spec").outcome, Outcome::Failed);
    assert!(audit(&other, None).unwrap().checks.iter().all(|c| c.what != "plan"));
}

/// The margins that a spec asks for are reckoned from the file's own noise.
#[test]
fn margins_that_are_asked_for_are_reckoned() {
    let key = agency();
    let text = format!("{HEAD}[[table]]\nof = [\"sex\", \"age\"]\nmargin = 30\n");
    let release = released(&text, ROWS, &key);
    assert_eq!(said(&release, "targets").outcome, Outcome::Passed);
    let kept = |margin: f64| {
        let other = respecified(&release, &key, "margin = 30", &format!("margin = {margin}"));
        said(&other.unwrap(), "targets")
    };
    let missed = kept(0.5);
    let half = missed.detail.split_once("the first: ").unwrap().1.split_once("± ").unwrap().1;
    let half: f64 = half.split_once(" instead of").unwrap().0.parse().unwrap();
    assert_eq!(kept(half + 1e-4).outcome, Outcome::Passed, "{half}");
    let missed = kept(half - 1e-4);
    assert!(
        missed.outcome == Outcome::Warning && missed.detail.contains("does not keep 1 of 1 margins"),
        "{missed:?}"
    );
    // Of ranges it is not reckoned, which is said; what is published as it is keeps any.
    let more = "[[table]]\nof = [\"age\"]\nask = { age = \"ranges\" }\nmargin = 90\n\
        [[table]]\nof = [\"sex\"]\nexact = true\nreason = \"known\"\n[[table]]\nof = []\nmargin = 1\n";
    let told = said(&released(&format!("{text}{more}"), ROWS, &key), "targets");
    assert!(
        told.outcome == Outcome::Skipped
            && told.detail.starts_with("1 of 3 margins")
            && told.detail.contains("ranges"),
        "{told:?}"
    );
}

/// Specs that allow or ask for something else than was made, or that cannot be read.
#[test]
fn the_sealed_spec_is_read_again() {
    let key = agency();
    let edit = |text: &str, from: &str, to: &str| with_spec(&released(text, ROWS, &key), &key, from, to);
    for (from, to, why) in [
        ("epsilon = 1", "epsilon = \"1/2\"", "budgets"),
        ("epsilon = 1", "epsilon = 2", "budgets"),
        ("delta = 1e-6", "delta = 1e-7", "budgets"),
        ("\"person\"", "\"household\"", "unit"),
        ("max_rows = 2", "max_rows = 3", "max_rows"),
        ("[privacy]", "[privacy]\nneighbours = \"substitute\"", "neighbours"),
        ("\"shop\"", "\"shops\"", "about.name"),
        ("\"Shop\"", "\"Shops\"", "about.title"),
        ("\"Who shops\"", "\"Nobody\"", "about.description"),
        ("of = [\"place\", \"sex\"]", "of = [\"place.region\", \"sex\"]", "other tables"),
        ("weight = 2", "weight = 3", "other tables"),
        ("known from the register", "an old habit", "reasons"),
        ("\nexact = true\nreason = \"known from the register\"", "", "reasons"),
        ("[\"F\", \"M\"]", "[\"M\", \"F\"]", "dimensions"),
        ("[0, 9]", "[0, 10]", ""),
        ("width = 5", "width = 2", "dimensions"),
        ("\"residual\"", "\"queries\"", "strategies"),
        ("\"residual\"", "\"residual\"\nbudgets = \"uniform\"", "strategies"),
        ("[\"F\", \"M\"]", "[\"F\", \"M\"]\nconfirmed = false", "nobody has confirmed"),
        ("name = ", "nome = ", "cannot be read"),
        ("\"places.csv\"", "\"other.csv\"", "cannot be read"),
        ("hierarchy = \"places.csv\"", "categories = [\"a1\", \"a2\", \"b1\", \"b2\"]", "attachments"),
    ] {
        let found = edit(TABLES, from, to).unwrap_or_else(|| panic!("{from} as {to} passes"));
        assert!(found.contains(why), "{from} as {to}: {found}");
    }
    for (from, to, why) in [
        ("epsilon = 2", "rho = 2", ""),
        ("3 AND 5", "3 AND 4", "empty cells"),
        ("[[zero]]\nwhere = \"sex = 'F' AND age BETWEEN 3 AND 5\"", "", "empty cells"),
    ] {
        let found = edit(ZEROS, from, to).unwrap_or_else(|| panic!("{from} as {to} passes"));
        assert!(found.contains(why), "{from} as {to}: {found}");
    }
    for (from, to) in [
        ("1/2", "1/3"),
        ("sparsity = 6", "sparsity = 7"),
        ("kind = \"sketch\"", ""),
        ("kind = \"sketch\"", "kind = \"sketch\"\nqueries = 9"),
        ("kind = \"sketch\"", "kind = \"sketch\"\nsketch_rows = 4"),
        ("rows = 256", "rows = 4096"),
        ("rows = 256", "error = 50"),
        ("rows = 256", "size = \"1 MB\""),
        ("kind = \"sketch\"", "kind = \"sketch\"\nof = [\"place\"]"),
        ("text = true", "categories = [\"a1\", \"a2\"]"),
    ] {
        assert!(edit(PROJECTION, from, to).is_some(), "{from} as {to} passes");
    }
    assert!(edit(PROJECTION, PROJECTION, ZEROS).is_some() && edit(ZEROS, ZEROS, PROJECTION).is_some());
    let garbage = refused(resealed(&released(ZEROS, ROWS, &key), &key, |_, bodies| {
        bodies[2].1 = b"\xff\xfeperson 17 is ill".to_vec();
    }));
    assert!(garbage.unwrap().contains("not UTF-8"));
}

/// A section that nothing refers to may hold the rows themselves.
#[test]
fn nothing_travels_along() {
    let key = agency();
    for release in honest(&key) {
        let rows = ROWS.as_bytes().to_vec();
        let stowaway = resealed(&release, &key, |_, bodies| bodies.push((77, rows.clone()))).unwrap();
        assert!(refused(Ok(stowaway)).unwrap().contains("section 77 0"));
        // Readers skip it.
        let skips = resealed(&release, &key, |_, bodies| bodies.push((77, rows.clone()))).unwrap();
        if skips.count(Kind::Projection) == 0 {
            let answers = Answers::from_release(skips).unwrap();
            assert!(answers.query("SELECT COUNT(*) FROM shop", 0.95).is_ok());
        }
        for name in ["rows.csv", "places.csv"] {
            let attached = resealed(&release, &key, |m, bodies| {
                let spec = bodies.iter().rposition(|(tag, _)| *tag <= Kind::Attachment.tag()).unwrap();
                bodies.insert(spec + 1, (Kind::Attachment.tag(), rows.clone()));
                let listed = m["sources"]["attachments"].as_array_mut().unwrap();
                listed.push(json!({"name": name, "blake3": ""}));
            });
            assert!(refused(attached).unwrap().contains("attachments"), "{name}");
        }
    }
}

/// Exact tables are declared by name; a projection has none, nor empty cells.
#[test]
fn nothing_is_exact_without_a_word() {
    let key = agency();
    let release = released(TABLES, ROWS, &key);
    let declared = |text: &'static str| {
        resealed(&release, &key, move |m, _| m["declared"]["invariants"][0] = text.into()).unwrap()
    };
    for text in ["total: known from the register", "sex × age.half", "sex × age.half: ", "sex × age.half:x"]
    {
        assert!(refused(Ok(declared(text))).unwrap().contains("does not declare"), "{text}");
        assert!(Answers::from_release(declared(text)).is_err(), "{text}");
    }
    let audit = audit(&release, None).unwrap();
    let exact = audit.checks.iter().find(|c| c.what == "exact tables").unwrap();
    assert!(exact.detail.contains("WITHOUT NOISE") && exact.detail.contains("sex × age.half: known from"));
    let answers = Answers::from_release(declared("sex × age.half: known from the register")).unwrap();
    let table = answers.query("SELECT COUNT(*) FROM shop", 0.95).unwrap();
    assert!(table.notes.iter().any(|n| n.contains("WITHOUT NOISE: sex × age.half")), "{:?}", table.notes);

    let projection = released(PROJECTION, ROWS, &key);
    let body = crate::release::exact::encode(&crate::cube::Cuboid::new(vec![(0, 1)]), &[3, 2]).unwrap();
    for (tag, body) in [(Kind::Exact.tag(), body), (Kind::Zero.tag(), b"sex = 'F'".to_vec())] {
        for declared in [false, true] {
            let beside = resealed(&projection, &key, |m, bodies| {
                bodies.insert(bodies.len() - 1, (tag, body.clone()));
                let list = if tag == Kind::Exact.tag() { "invariants" } else { "constraints" };
                if declared {
                    m["declared"][list] = json!(["sex = 'F'"]);
                }
            });
            let beside = beside.unwrap();
            assert!(crate::answer::keys::Questions::open(&beside).is_err());
            assert!(refused(Ok(beside)).is_some());
        }
    }
}

/// A number is the spec's to the letter of its name: under another spelling its exact sums would be declared by nobody.
#[test]
fn exact_sums_of_another_spelling_are_not_declared() {
    let key = agency();
    let amount = "[[amount]]\nname = \"pay\"\nlow = 0\nhigh = 40\nstep = 1\nmissing = \"zero\"\n";
    let asked = "[[table]]\nof = [\"sex\", \"age\"]\nsum = [\"pay\"]\n";
    let exact = "[[table]]\nof = [\"sex\"]\nsum = [\"pay\"]\nexact = true\nreason = \"r\"\n";
    let rows = "sex,age,pay\nF,1,3\nM,2,9\n";
    let release = released(&format!("{HEAD}{amount}{asked}{exact}"), rows, &key);
    let whole = format!("{amount}{asked}{exact}");
    assert_eq!(with_spec(&release, &key, &whole, &whole), None);
    for name in ["pay", "PAY", "Pay"] {
        let named = |text: &str| text.replace("\"pay\"", &format!("\"{name}\""));
        let counted = exact.replace("sum = [\"pay\"]\n", "");
        let summed = named("[[table]]\nof = [\"sex\"]\nsum = [\"pay\"]\ncount = false\n");
        let other = format!("{}column = \"pay\"\n{}{counted}{summed}", named(amount), named(asked));
        let why = with_spec(&release, &key, &whole, &other);
        assert!(why.is_some_and(|why| why.contains("exact sums")), "{name}");
    }
}

/// Files that were made before a manifest said which category stands for empty cells say less, dimension by dimension, and nothing untrue.
#[test]
fn what_older_files_do_not_say_is_no_difference() {
    let key = agency();
    let text = format!("{HEAD}[[table]]\nof = [\"sex\", \"age\"]\n")
        .replace(
            "categories = [\"F\", \"M\"]",
            "categories = [\"F\", \"M\"]\nmissing = \"none\"\ndescription = \"Sex\"",
        )
        .replace("range = [0, 9]", "range = [0, 9]\nmissing = \"none\"\ndescription = \"Age\"");
    let release = released(&text, ROWS, &key);
    for older in [0, 1] {
        let forged = resealed(&release, &key, |m, _| {
            let gone = m["legends"][older].as_object_mut().unwrap().remove("missing");
            assert_eq!(gone, Some("none".into()));
        });
        assert_eq!(refused(forged), None, "{older}");
    }
}

/// Answers of rows, whatever they are.
struct Fives(usize);

impl crate::recover::Source for Fives {
    fn values(&self, _: usize) -> Result<crate::cube::Integers, crate::recover::SourceError> {
        Ok(vec![5i64; self.0].into())
    }
}

/// What was asked for follows from rows, whoever found them, or the file does not pass.
#[test]
fn rows_tell_what_was_asked_for() {
    use crate::cube::Cuboid;
    use crate::plan::{Block, Measure, Measurement, Rows, Subject};
    let told = |asked: &str, rows: &[std::ops::Range<u32>]| {
        let asked = spec(&format!("{HEAD}{asked}[strategy]\nmeasure = \"queries\"\n"));
        let mut plan = crate::planner::plan(&asked.request().unwrap()).unwrap().plan;
        (plan.measure, plan.levels) = (Measure::Together, vec![vec![0], vec![0, 1]]);
        plan.rows_mut().workload = asked.workload.clone();
        let cells = rows.iter().map(|row| row.clone().map(|cell| (cell, 1)).collect());
        let block = Block::Rows(Rows { cuboid: Cuboid::new([(1, 1)]), rows: cells.collect() });
        plan.rows_mut().measurements = vec![Measurement { block, scale: Rational::whole(9) }];
        let recovery =
            crate::recover::Recovery::of(&Subject::Rows, asked.cube.clone(), plan.clone(), Fives(rows.len()));
        match needed::from_rows(&crate::answer::Evaluator::new(recovery.unwrap()), &plan) {
            Ok(()) => "all",
            Err(needed::Open::Missing(_)) => "less",
            Err(needed::Open::Many) => "unknown",
        }
    };
    let table = |ask: &str| format!("[[table]]\nof = [\"age\"]\n{ask}\n");
    let asks = |list: &str| table(&format!("ask = {{ age = {list} }}"));
    let query = |where_: &str| format!("[[query]]\nsql = \"SELECT COUNT(*) FROM shop WHERE {where_}\"\n");
    let each: Vec<_> = (0..10).map(|i| i..i + 1).collect();
    let prefixes: Vec<_> = (1..11).map(|i| 0..i).collect();
    for (asked, rows, what) in [
        (table(""), &each[..], "all"),
        (table(""), &prefixes, "all"),
        (table(""), &prefixes[1..], "less"),
        (table(""), &[0..10, 0..10], "less"),
        (asks("\"prefixes\""), &prefixes, "all"),
        (asks("\"prefixes\""), &prefixes[..9], "less"),
        (asks("\"ranges\""), &[0..5, 5..10], "less"),
        (asks("[\"0-4\", \"0-9\"]"), &[0..5, 5..10], "all"),
        (asks("[\"0-4\", \"0-8\"]"), &[0..5, 5..10], "less"),
        (query("age < 5"), &[0..5, 5..10], "all"),
        (query("age < 6"), &[0..5, 5..10], "unknown"),
    ] {
        assert_eq!(told(&asked, rows), what, "{asked} {rows:?}");
    }
}

/// What no query could be answered from does not pass.
#[test]
fn conditions_that_nobody_can_read_are_noticed() {
    let key = agency();
    let release = released(ZEROS, ROWS, &key);
    for condition in ["sex = ", "nonsense", "sex = 'X'", "", "1 = 1"] {
        let forged = resealed(&release, &key, |m, bodies| {
            let (tag, body) = bodies.last_mut().unwrap();
            assert_eq!(*tag, Kind::Zero.tag());
            *body = condition.as_bytes().to_vec();
            m["declared"]["constraints"] = json!([condition]);
        })
        .unwrap();
        assert!(!passes_without_spec(&forged), "{condition}");
        assert!(Answers::from_release(forged).is_err(), "{condition}");
    }
}

const HEAD: &str = r#"
name = "shop"
title = "Shop"

[privacy]
unit = "row"
rho = 1

[[dimension]]
name = "sex"
categories = ["F", "M"]

[[dimension]]
name = "age"
range = [0, 9]
"#;

/// A release with another spec sealed in it; the spec's own attachments stay.
fn respecified(release: &Release, key: &SigningKey, from: &str, to: &str) -> Result<Release, ReleaseError> {
    resealed(release, key, |_, bodies| {
        let spec = bodies.iter_mut().find(|(tag, _)| *tag == Kind::Spec.tag()).unwrap();
        let text = String::from_utf8(spec.1.clone()).unwrap();
        assert!(text.contains(from), "{from}");
        spec.1 = text.replace(from, to).into_bytes();
    })
}

/// What is said of it.
fn with_spec(release: &Release, key: &SigningKey, from: &str, to: &str) -> Option<String> {
    refused(respecified(release, key, from, to))
}

/// Nothing is made of a few words of a spec that the sealed domain does not hold.
#[test]
fn a_spec_takes_no_more_room_than_the_domain() {
    let key = agency();
    let levels: String = (2..190).map(|w| format!("{{ name = \"l{w}\", width = {w} }}, ")).collect();
    let release = released(TABLES, ROWS, &key);
    for (from, to) in [
        ("range = [0, 9]", "range = [0, 2000000]".to_owned()),
        ("range = [0, 9]", "codes = 9000000".into()),
        ("range = [0, 9]", "dates = [\"0001-01-01\", \"9999-12-31\"]".into()),
        ("levels = [{ name = \"half\", width = 5 }]", format!("levels = [{levels}]")),
    ] {
        let why = with_spec(&release, &key, from, &to).unwrap();
        assert!(why.contains("too many categories together"), "{why}");
    }
    // An agency is told at the place: of what would take more than a gibibyte until it is planned.
    let vast = format!("{HEAD}levels = [{levels}]\n[[table]]\nof = [\"age\"]\n");
    let told = |read: Result<Spec, crate::spec::SpecErrors>| {
        let errors = read.err().unwrap();
        let told = &errors.diagnostics()[0];
        assert!(told.message.contains("too many categories together") && told.span.is_some(), "{errors}");
    };
    for (from, to) in [
        ("[0, 9]", "[0, 2000000]"),
        ("range = [0, 9]", "dates = [\"0001-01-01\", \"9999-12-31\"]"),
        ("range = [0, 9]", "codes = 9000000"),
    ] {
        let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        told(crate::spec::parse(&vast.replace(from, to), Path::new("shop.toml"), none));
    }
    // Of a file of categories, too: no less than the domain takes, and hardly more, or no release of it would be verified.
    let lines: String = (0..600).map(|i| format!("{i},{},{}\n", i / 2, i / 30)).collect();
    let text =
        format!("{HEAD}[[table]]\nof = [\"age\"]\n").replace("range = [0, 9]", "hierarchy = \"many.csv\"");
    let within = |room| {
        let many = |_: &str| Ok(format!("age,pair,thirty\n{lines}").into_bytes());
        crate::spec::parse_within(&text, Path::new("shop.toml"), room, 100, many)
    };
    let takes = crate::spec::size_of(&within(1 << 30).unwrap().cube);
    assert!(takes > 400 * (600 + 300 + 20) && within(takes).is_ok());
    told(within(takes - takes / 8));
}

/// Nothing is made of a few words of a spec that asks for more tables than the plan has, nor of one that asks for more than a plan may hold.
#[test]
fn a_spec_asks_for_no_more_tables_than_there_are() {
    let key = agency();
    let dimensions: String =
        (0..24).map(|d| format!("[[dimension]]\nname = \"d{d}\"\ncodes = 2\n")).collect();
    let head = "name = \"shop\"\ntitle = \"Shop\"\n[privacy]\nunit = \"row\"\nrho = 1\n";
    let amount = "[[amount]]\nname = \"pay\"\nlow = 0\nhigh = 40\nstep = 1\n";
    let text = |tables: &str| format!("{head}{dimensions}{amount}{tables}");
    let sums = "[[table]]\nof = [\"d0\"]\nsum = [\"pay\"]\n";
    let own = "[[table]]\nof = [\"d1\"]\n";
    let names: Vec<String> = (0..24).map(|d| format!("d{d}")).collect();
    let row = vec!["1"; 24].join(",");
    let release =
        released(&text(&format!("{sums}{own}")), &format!("{},pay\n{row},3\n", names.join(",")), &key);
    assert_eq!(refused(resealed(&release, &key, same)), None);
    for (other, says) in [
        ("[[table]]\nevery = 12\n", "`every = 12` asks for 2704156 tables"),
        ("[[table]]\nevery = 10\nsum = [\"pay\"]\n", "`every = 10` asks for 1961256 tables"),
        ("[[table]]\nevery = 3\n", "`every = 3` asks for 2024 tables"),
        ("[[table]]\nevery = 2\n", "other tables"),
        ("[[table]]\nevery = 3\namong = [\"d0\"]\n", "needs 3 dimensions"),
    ] {
        let why = with_spec(&release, &key, own, other).unwrap();
        assert!(why.contains(says), "{why}");
    }
    let many = "[[table]]\nevery = 12\nask = { d1 = \"total\" }\n";
    let why = with_spec(&release, &key, own, many).unwrap();
    assert!(why.contains("the spec asks for 2704157 tables"), "{why}");
    // Of the agency's own spec, at the place.
    let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let errors =
        crate::spec::parse(&text("[[table]]\nevery = 8\n"), Path::new("shop.toml"), none).unwrap_err();
    let told = &errors.diagnostics()[0];
    assert!(told.message == "`every = 8` asks for 735471 tables" && told.span.is_some(), "{errors}");
    // What several entries ask for alike is one table.
    let within = |tables: &str, most| {
        crate::spec::parse_within(&text(tables), Path::new("shop.toml"), 1 << 30, most, none)
    };
    let alike = "[[table]]\nevery = 2\n[[table]]\nup_to = 2\nsum = [\"pay\"]\n";
    assert_eq!(within(alike, 301).unwrap().workload.len(), 301);
    let errors = within(alike, 300).unwrap_err();
    assert_eq!(errors.diagnostics()[0].message, "`up_to = 2` asks for 301 tables");
    let apart = within("[[table]]\nevery = 2\nsum = [\"pay\"]\n[[table]]\nevery = 1\n", 299).unwrap_err();
    assert_eq!(apart.diagnostics()[0].message, "the spec asks for 300 tables");
}

/// Of tens of thousands of tables with sums each is found at once: comparing all with all would take minutes.
#[test]
fn many_tables_of_sums_are_read_in_their_number() {
    let dimensions: String =
        (0..24).map(|d| format!("[[dimension]]\nname = \"d{d}\"\ncodes = 2\n")).collect();
    let text = format!(
        "name = \"shop\"\ntitle = \"Shop\"\n[privacy]\nunit = \"row\"\nepsilon = 1\n{dimensions}[[amount]]\nname = \"pay\"\nlow = 0\nhigh = 40\n\
         step = 1\n[[table]]\nevery = 5\nsum = [\"pay\"]\n[[table]]\nevery = 5\nsum = [\"pay\"]\nweight = 3\ncount = false\n"
    );
    let spec = spec(&text);
    assert_eq!((spec.workload.len(), spec.amounts[0].tables.len()), (42_504, 42_504));
    // A count weighs what was said, and what the sum of weight 3 wants of it: the middle is half of the largest value.
    assert!(spec.workload.iter().all(|t| t.weight == spec.workload[0].weight));
    assert!(spec.all_from_zero().is_none());
}

/// A plan without one of the blocks that a table needs answers it no more, and one with a block that no table needs tells more than was asked.
#[test]
fn what_is_measured_is_no_less_and_no_more_than_tables_need() {
    use crate::cube::Cuboid;
    use crate::plan::{Block, Measurement};
    let asked = "[[dimension]]\nname = \"area\"\ncodes = 3\n[[amount]]\nname = \"pay\"\nlow = 0\nhigh = 40\nstep = 1\nmissing = \"skip\"\n\
        [[table]]\nof = [\"sex\"]\nsum = [\"pay\"]\n[[table]]\nof = [\"age\"]\nsum = [\"pay\"]\n[[table]]\nof = [\"area\", \"sex\"]\n[strategy]\nmeasure = ";
    for measure in ["residual", "wavelet", "queries", "base", "hierarchy", "fourier"] {
        let sums = !matches!(measure, "wavelet" | "hierarchy" | "fourier");
        let asked = if sums {
            asked.to_owned()
        } else {
            asked
                .replace("sum = [\"pay\"]\n", "")
                .replace("[[amount]]\nname = \"pay\"\nlow = 0\nhigh = 40\nstep = 1\nmissing = \"skip\"\n", "")
        };
        let spec = spec(&format!("{HEAD}{asked}\"{measure}\"\n"));
        let plan = crate::planner::plan(&spec.request().unwrap()).unwrap().plan;
        let planned = spec.planned(&plan);
        let follow = |plan: &crate::plan::Plan| needed::all_follow(&planned.cube, plan).is_ok();
        let same = |plan: &crate::plan::Plan| measured::blocks(&planned, &planned.cube, plan);
        assert!(follow(&plan) && same(&plan), "{measure}");
        for (at, channel) in plan.channels.iter().enumerate() {
            for i in 0..channel.measurements.len() {
                let mut fewer = plan.clone();
                let gone = fewer.channels[at].measurements.remove(i);
                // Every level below a table may be told by the table itself.
                let own = channel.workload.iter().any(|t| t.cuboid == *gone.block.cuboid());
                let needed = measure != "hierarchy" || own;
                // Of two tables one may hold the other.
                let held = measure == "queries"
                    && fewer.channels[at]
                        .measurements
                        .iter()
                        .any(|m| gone.block.cuboid().is_below(m.block.cuboid()));
                assert_eq!(
                    follow(&fewer),
                    !needed
                        || held
                        || measure == "hierarchy" && gone.block.cuboid() == &Cuboid::new([(0, 1)]),
                    "{measure}: {:?}",
                    gone.block
                );
                assert_eq!(same(&fewer), measure == "hierarchy", "{measure}");
            }
            let mut more = plan.clone();
            let all = Cuboid::new([(0, 1), (1, 1), (2, 1)]);
            let Measurement { block, scale } = more.channels[at].measurements[0].clone();
            let block = match block {
                Block::Component(_) => Block::Component(all),
                Block::Pairs(_) => Block::Pairs(all),
                Block::Walsh(_) => Block::Walsh(all),
                _ => Block::Table(all),
            };
            more.channels[at].measurements.push(Measurement { block, scale });
            let whole = measure == "hierarchy" || measure == "base" && at == 0;
            assert!(follow(&more) && (!same(&more) || whole), "{measure}");
        }
    }
}

/// Where equal shares are asked for, everything has one.
#[test]
fn equal_shares_are_equal() {
    use crate::plan::Block;
    let tables = "[[dimension]]\nname = \"area\"\ncodes = 3\n[[table]]\nof = [\"sex\", \"age\"]\n[[table]]\nof = [\"area\"]\n[strategy]\nbudgets = \"uniform\"\nmeasure = ";
    let rows = "\"matrix\"\nrows = { file = \"rows.csv\", of = [\"sex\"] }";
    // One of these rows moves by two: it has a block of its own, and more noise.
    let mixed = "\"matrix\"\nrows = { file = \"mixed.csv\", of = [\"sex\"] }";
    // Shares that are given are no rule's.
    let given = "\"given\"\nshares = [{ of = [\"sex\", \"age\"], share = \"1/4\" }, { of = [\"area\"], share = \"3/4\" }]";
    for (measure, tables) in [
        (given, tables),
        ("\"residual\"", tables),
        ("\"queries\"", tables),
        ("\"base\"", tables),
        ("\"hierarchy\"", tables),
        ("\"cluster\"", tables),
        ("\"wavelet\"", tables),
        ("\"fourier\"", tables),
        (rows, "[[table]]\nof = [\"sex\"]\n[strategy]\nbudgets = \"uniform\"\nmeasure = "),
        (mixed, "[[table]]\nof = [\"sex\"]\n[strategy]\nbudgets = \"uniform\"\nmeasure = "),
    ] {
        for privacy in ["rho = 1", "rho = 1e4", "epsilon = 1", "rho = 1\nneighbours = \"substitute\""] {
            let head = HEAD.replace("rho = 1", privacy);
            let spec = spec(&format!("{head}{tables}{measure}\n"));
            let planned = match crate::planner::plan(&spec.request().unwrap()) {
                Ok(planned) => planned,
                Err(why) => {
                    assert!(
                        measure == "\"residual\"" && privacy == "epsilon = 1",
                        "{measure}, {privacy}: {why}"
                    );
                    continue;
                }
            };
            let over = spec.planned(&planned.plan);
            let same = |plan: &crate::plan::Plan| measured::blocks(&over, &over.cube, plan);
            assert!(same(&planned.plan), "{measure}, {privacy}");
            let mut other = planned.plan.clone();
            if other.channels[0].measurements.len() > 1 {
                let scale = &mut other.channels[0].measurements[0].scale;
                *scale = scale.checked_div(Rational::whole(2)).unwrap();
                assert!(!same(&other), "{measure}, {privacy}");
            }
            if measure == mixed {
                let mut other = planned.plan.clone();
                let measured = &mut other.channels[0].measurements;
                assert_eq!(measured.len(), 2, "{privacy}");
                let Some(Block::Rows(second)) = measured.pop().map(|m| m.block) else { panic!("no rows") };
                let Block::Rows(first) = &mut measured[0].block else { panic!("no rows") };
                first.rows.extend(second.rows);
                assert!(!same(&other), "rows that move by one and by two have the same noise: {privacy}");
            }
        }
    }
}

/// How long a search was to take is for the agency alone; and what would take long is not done again.
#[test]
fn plans_are_made_again_in_counted_work() {
    let key = agency();
    let text = format!(
        "{HEAD}[[table]]\nof = [\"sex\", \"age\"]\n[[table]]\nof = [\"sex\"]\n[strategy]\nmeasure = \"tables\"\n"
    );
    let release = released(&text, ROWS, &key);
    assert_eq!(with_spec(&release, &key, "\"tables\"", "\"tables\"\neffort = 100000"), None);
    let told = |release: &Release, text: &str, change: bool| {
        let mut content = Content::of(release).unwrap();
        if change {
            let first = content.plan.measurements_mut().next().unwrap();
            first.scale = first.scale.checked_mul(Rational::whole(3)).unwrap();
        }
        let mut audit = Audit { checks: Vec::new(), blake3: String::new() };
        again::plan(&mut audit, &spec(text), &content);
        audit.checks.remove(0)
    };
    assert_eq!(told(&release, &text, false).outcome, Outcome::Passed);
    assert_eq!(told(&release, &text, true).outcome, Outcome::Warning);
    let longer = text.replace("\"tables\"\n", "\"tables\"\neffort = 2\n");
    let why = told(&release, &longer, true);
    assert!(why.outcome == Outcome::Skipped && why.detail.contains("`effort`"), "{why:?}");
    // A copy's plan is that of the most precise one, which may have less than all that is allowed.
    let copies = recipients(&counted(), "rho", "nested");
    assert_eq!(told(&released(&copies, ROWS, &key), &copies, false).outcome, Outcome::Passed);

    let dimensions: String = (0..24)
        .map(|d| format!("[[dimension]]\nname = \"d{d}\"\ncodes = 1000\n[[table]]\nof = [\"d{d}\"]\n"))
        .collect();
    let wide =
        spec(&format!("name = \"w\"\ntitle = \"W\"\n[privacy]\nunit = \"row\"\nrho = 1\n{dimensions}"));
    let mut request = wide.request().unwrap();
    request.measure = Some(crate::plan::Measure::Residual);
    let mut plan = crate::planner::plan(&request).unwrap().plan;
    assert!(again::is_quick(&wide, &wide, &plan));
    plan.measure = crate::plan::Measure::Bases;
    assert!(!again::is_quick(&wide, &wide, &plan));
}

/// What is measured is what the questions and rows of the spec come to.
#[test]
fn questions_and_rows_are_those_of_the_spec() {
    let key = agency();
    let asked = format!("{HEAD}[asked]\nqueries = [\"SELECT COUNT(*) FROM shop WHERE age < 2\"]\n");
    let release = released(&asked, ROWS, &key);
    assert_eq!(with_spec(&release, &key, "age < 2", "age < 2"), None);
    for other in ["age < 3", "sex = 'F'", "age < 2 AND sex = 'F'"] {
        let why = with_spec(&release, &key, "age < 2", other).unwrap();
        assert!(why.contains("rows or questions"), "{other}: {why}");
    }
    let rows = format!(
        "{HEAD}[[table]]\nof = [\"sex\"]\n[strategy]\nmeasure = \"matrix\"\nrows = {{ file = \"rows.csv\", of = [\"sex\"] }}\n"
    );
    let release = released(&rows, ROWS, &key);
    assert_eq!(refused(resealed(&release, &key, same)), None);
    for other in ["1,1\n0,1\n", "1,0\n0,1\n1,1\n", "1,0\n", "0,1\n1,-1\n"] {
        let why = refused(resealed(&release, &key, |_, bodies| {
            let rows = bodies.iter_mut().find(|(tag, _)| *tag == Kind::Attachment.tag()).unwrap();
            rows.1 = other.as_bytes().to_vec();
        }));
        assert!(why.as_ref().is_some_and(|w| w.contains("rows or questions")), "{other}: {why:?}");
    }
}

/// Of a strategy whose tables follow from the spec just those are measured, and of `given` at its shares.
#[test]
fn what_is_measured_is_what_the_strategy_says() {
    let key = agency();
    let tables = "[[table]]\nof = [\"sex\", \"age\"]\n[[table]]\nof = [\"sex\"]\n[strategy]\nmeasure = ";
    let shares = |half: &str, rest: &str| {
        format!(
            "\"given\"\nshares = [{{ of = [\"sex\", \"age\"], share = \"{half}\" }}, {{ of = [\"sex\"], share = \"{rest}\" }}]"
        )
    };
    for privacy in
        ["rho = 1", "epsilon = 1\nneighbours = \"substitute\"", "rho = 1\nmeasure_truncation = \"1/50\""]
    {
        let unit = if privacy.contains("truncation") {
            "unit = { column = \"person\", max_rows = 2 }"
        } else {
            "unit = \"row\""
        };
        let head = HEAD.replace("rho = 1", privacy).replace("unit = \"row\"", unit);
        let given = shares("1/4", "3/4");
        let release = released(&format!("{head}{tables}{given}\n"), ROWS, &key);
        assert_eq!(refused(resealed(&release, &key, same)), None, "{head}");
        let only = "\"given\"\nshares = [{ of = [\"sex\", \"age\"], share = 1 }]";
        for other in [&shares("3/4", "1/4"), &shares("1/3", "2/3"), only] {
            let why = with_spec(&release, &key, &given, other).unwrap_or_else(|| panic!("{other} passes"));
            assert!(why.contains("shares of them"), "{why}");
        }
        let moved = shares("1/4", "3/4").replace("of = [\"sex\"]", "of = [\"age\"]");
        let why = with_spec(&release, &key, &given, &moved).unwrap();
        assert!(why.contains("shares of them"), "{why}");
    }
    // The blocks of one strategy under the name of another.
    let strategies = ["residual", "queries", "base", "hierarchy", "wavelet", "fourier"];
    for own in strategies {
        let request = |measure: &str| {
            let spec = spec(&format!("{HEAD}{tables}\"{measure}\"\n"));
            (crate::planner::plan(&spec.request().unwrap()).unwrap().plan, spec)
        };
        let (plan, _) = request(own);
        for named in strategies {
            let (other, spec) = request(named);
            let mut plan = plan.clone();
            plan.measure = other.measure;
            let same = named == own || (named == "hierarchy" && matches!(own, "queries" | "base"));
            assert_eq!(
                measured::blocks(&spec.planned(&plan), &spec.planned(&plan).cube, &plan),
                same,
                "{own} as {named}"
            );
        }
    }
}

/// A table of a level that the plan does not speak of does not follow from what is coarser.
#[test]
fn levels_that_are_asked_for_are_in_use() {
    let text = format!("{HEAD}[[table]]\nof = [\"sex\", \"age\"]\n[strategy]\nmeasure = \"residual\"\n");
    let spec = spec(&text);
    let plan = crate::planner::plan(&spec.request().unwrap()).unwrap().plan;
    let same = |plan: &Plan| measured::blocks(&spec, &spec.cube, plan);
    assert!(same(&plan));
    let mut other = plan;
    other.levels[1].truncate(1);
    other.rows_mut().measurements.retain(|m| m.block.cuboid().iter().all(|at| at.dimension != 1));
    assert!(other.rows().measurements.len() == 2 && !same(&other));
    // Nor is more measured than what is asked for needs: here all ages, for a table of halves.
    let halves = text.replace("range = [0, 9]", "range = [0, 9]\nlevels = [{ name = \"half\", width = 5 }]");
    let of = |text: &str| {
        let spec = super::tests::spec(text);
        let plan = crate::planner::plan(&spec.request().unwrap()).unwrap().plan;
        (spec, plan)
    };
    let (_, mut fine) = of(&halves);
    let (spec, plan) = of(&halves.replace("\"age\"]", "\"age.half\"]"));
    assert!(measured::blocks(&spec, &spec.cube, &plan));
    fine.rows_mut().workload = plan.rows().workload.clone();
    assert!(!measured::blocks(&spec, &spec.cube, &fine));
}

/// Sums are measured as the strategy says, like counts.
#[test]
fn sums_are_measured_as_the_strategy_says() {
    use crate::plan::{Block, Subject};
    let asked = "[[amount]]\nname = \"pay\"\nlow = 0\nhigh = 40\nstep = 1\nmissing = \"skip\"\nmeasure_clamping = true\n\
        [[table]]\nof = [\"sex\"]\nsum = [\"pay\"]\n[[table]]\nof = [\"age\"]\nsum = [\"pay\"]\n[strategy]\nmeasure = ";
    for measure in ["residual", "queries", "base"] {
        let spec = spec(&format!("{HEAD}{asked}\"{measure}\"\n"));
        let plan = crate::planner::plan(&spec.request().unwrap()).unwrap().plan;
        let same =
            |plan: &crate::plan::Plan| measured::blocks(&spec.planned(plan), &spec.planned(plan).cube, plan);
        assert!(same(&plan) && plan.channels.len() == 5, "{measure}");
        // Merged tables are of counts alone.
        let merged = crate::plan::Plan { measure: crate::plan::Measure::Cluster, ..plan.clone() };
        assert!(!same(&merged), "{measure}");
        for (at, channel) in plan.channels.iter().enumerate() {
            let mut other = plan.clone();
            let block = &mut other.channels[at].measurements[0].block;
            *block = match (block.clone(), measure) {
                (Block::Component(cuboid), _) => Block::Pairs(cuboid),
                (Block::Table(cuboid), "queries") => {
                    Block::Table(cuboid.join(&crate::cube::Cuboid::new([(0, 1), (1, 1)])))
                }
                _ => Block::Table(crate::cube::Cuboid::new([(0, 1)])),
            };
            // What has no cells is compared whole.
            let cells = channel.subject.has_cells();
            assert!(cells || matches!(channel.subject, Subject::Below(_) | Subject::Above(_)));
            assert_eq!(same(&other), !cells, "{measure}, {}", channel.subject.name());
        }
    }
}

/// A word that is said of an amount is one difference, and no other bounds, exact tables or counts.
#[test]
fn a_word_about_an_amount_is_one_difference() {
    let key = agency();
    let text = format!(
        "{HEAD}[[amount]]\nname = \"pay\"\nlow = 0\nhigh = 40\nstep = 1\nmeasure_clamping = true\ndescription = \"Before tax\"\n\
         [[table]]\nof = [\"sex\"]\nsum = [\"pay\"]\n"
    );
    let release = released(&text, "sex,age,pay\nF,0,7\nM,1,50\nM,2,40\n", &key);
    assert_eq!(with_spec(&release, &key, "Before tax", "Before tax"), None);
    let why = with_spec(&release, &key, "Before tax", "After tax").unwrap();
    assert!(why.contains("other descriptions of amounts"), "{why}");
    let why = with_spec(&release, &key, "high = 40", "high = 50").unwrap();
    assert!(why.contains("other amounts or tables of sums") && !why.contains("descriptions"), "{why}");
    for (from, to) in [("Before tax", "After tax"), ("high = 40", "high = 50")] {
        let why = with_spec(&release, &key, from, to).unwrap();
        assert!(!why.contains("exact sums") && !why.contains("moved to the ends"), "{why}");
    }
    let why =
        with_spec(&release, &key, "measure_clamping = true\n", "measure_clamping = \"1/50\"\n").unwrap();
    assert!(why.contains("counts of rows that were moved to the ends"), "{why}");
}

/// A recipient of a wide margin does not get more of the budget than it needs.
#[test]
fn margins_of_recipients_are_reckoned_anew() {
    let key = agency();
    for privacy in ["rho = 1", "epsilon = 1"] {
        for mode in ["nested\"", "shifted\"\nmean = 9"] {
            // Two tables, whose noises are both to be kept within the margin.
            let text = format!(
                "{}[[table]]\nof = [\"sex\", \"age\"]\n[[table]]\nof = [\"sex\"]\n[recipients]\nmode = \"{mode}\n[[recipient]]\nname = \"a\"\n{privacy}\n\
                 [[recipient]]\nname = \"b\"\nmargin = 120\n",
                HEAD.replace("rho = 1", privacy)
            );
            let release = released(&text, ROWS, &key);
            assert_eq!(with_spec(&release, &key, "margin = 120", "margin = 120"), None, "{text}");
            for wider in ["margin = 150", "margin = 12000"] {
                let why = with_spec(&release, &key, "margin = 120", wider)
                    .unwrap_or_else(|| panic!("{wider} passes\n{text}"));
                assert!(why.contains("more of the budget than that needs"), "{why}");
            }
        }
    }
}

/// Where exact tables and empty cells leave nothing unknown, a margin needs no budget, and none is too much for it.
#[test]
fn a_margin_of_nothing_unknown_is_kept() {
    let key = agency();
    let text = format!(
        "{HEAD}[[table]]\nof = [\"sex\"]\nexact = true\nreason = \"known\"\n[[table]]\nof = [\"sex\", \"age\"]\n[[zero]]\nwhere = \"age > 0\"\n\
         [recipients]\nmode = \"nested\"\n[[recipient]]\nname = \"a\"\nrho = 1\n[[recipient]]\nname = \"b\"\nmargin = 40\n"
    );
    let release = released(&text, "sex,age\nF,0\nM,0\nM,0\n", &key);
    assert_eq!(with_spec(&release, &key, "margin = 40", "margin = 40"), None);
    let answers = Answers::from_release(release).unwrap();
    let table =
        answers.query("SELECT sex, COUNT(*) AS n FROM shop WHERE age > 0 GROUP BY sex", 0.95).unwrap();
    // And what is certainly empty is 0 to the last digit.
    for row in table.rows {
        let Some(crate::render::ResultCell::Figure(n)) = row.last() else { panic!("{row:?}") };
        assert_eq!([n.std_error, n.estimate, n.low, n.high], [0.0; 4]);
    }
}

/// Margins are reckoned anew in counted work: beyond it nothing is said to hold.
#[test]
fn margins_of_too_many_tables_are_unchecked() {
    let key = agency();
    let dimensions: String =
        (0..8).map(|d| format!("[[dimension]]\nname = \"d{d}\"\ncategories = [\"x\", \"y\"]\n")).collect();
    let text = format!(
        "name = \"w\"\ntitle = \"W\"\n[privacy]\nunit = \"row\"\nrho = 1\n{dimensions}[[table]]\nup_to = 4\n[strategy]\nmeasure = \"residual\"\n[recipients]\nmode = \"nested\"\n\
         [[recipient]]\nname = \"a\"\nrho = \"1/2\"\n[[recipient]]\nname = \"b\"\nrho = \"1/4\"\n"
    );
    let rows = "d0,d1,d2,d3,d4,d5,d6,d7\nx,y,x,y,x,y,x,y\n";
    let release = released(&text, rows, &key);
    let promised = resealed(&release, &key, |_, bodies| {
        let spec = bodies.iter_mut().find(|(tag, _)| *tag == Kind::Spec.tag()).unwrap();
        let text = String::from_utf8(spec.1.clone()).unwrap();
        spec.1 =
            text.replace("rho = \"1/2\"", "margin = 5").replace("rho = \"1/4\"", "margin = 7").into_bytes();
    });
    let audit = audit(&promised.unwrap(), None).unwrap();
    let margins = audit.checks.iter().find(|c| c.what == "margins").unwrap();
    assert_eq!(margins.outcome, Outcome::Unchecked, "{margins:?}");
    assert!(
        margins.detail.contains("too many to reckon anew") && audit.verdict() != Verdict::Verified,
        "{margins:?}"
    );
}

/// No spec may be as long as to hold the data.
#[test]
fn a_sealed_spec_is_no_longer_than_a_spec() {
    let key = agency();
    let release = released(TABLES, ROWS, &key);
    let long = format!("# {}\ntitle", "x".repeat(crate::spec::MAX_SPEC as usize));
    let why = with_spec(&release, &key, "title", &long).unwrap();
    assert!(why.contains("no spec may be longer than"), "{why}");
}

/// Many shifted copies cost what they cost one by one.
#[test]
fn many_shifted_copies_are_priced_by_the_first() {
    use crate::plan::{Mode, Recipient, cost};
    let text = format!("{HEAD}[[table]]\nof = [\"sex\", \"age\"]\n[[table]]\nof = [\"age\"]\n[strategy]\nmeasure = \"residual\"\n")
        .replace("rho = 1", "rho = 1\nneighbours = \"substitute\"");
    let spec = spec(&text);
    let plan = crate::planner::plan(&spec.request().unwrap()).unwrap().plan;
    let frame = crate::cube::Frame::new(&spec.cube, &plan.levels);
    let recipients = (0..40)
        .map(|i| Recipient { name: format!("r{i}"), factor: Rational::new(10 + i, 10).unwrap() })
        .collect();
    let plans = plan
        .copies(Mode::Shifted { centres: crate::plan::copies::Centres::new(0, 10).unwrap() }, recipients)
        .unwrap();
    let together = cost::joint_cost(&plans[7], &frame).unwrap().to_f64();
    let alone: f64 = plans.iter().map(|p| cost::cost(p, &frame).unwrap().total.to_f64()).sum();
    assert!((together - alone).abs() < 1e-12 * alone, "{together} {alone}");
    assert!(cost::joint_cost(&plans[7], &frame).unwrap() <= cost::joint_budget(&plans[0]).unwrap());
}

/// What cannot be checked verifies nothing; what is only good to know does not stand in the way.
#[test]
fn one_verdict_of_all_outcomes() {
    let of = |outcomes: &[Outcome]| {
        let check = |o: &Outcome| Check { what: "x".into(), outcome: *o, detail: String::new() };
        Audit { checks: outcomes.iter().map(check).collect(), blake3: String::new() }
    };
    use Outcome::{Failed, Passed, Skipped, Unchecked, Warning};
    for (outcomes, verdict, word) in [
        (&[Passed, Warning, Skipped][..], Verdict::Verified, "VERIFIED"),
        (&[Passed, Unchecked], Verdict::Whole, "WHOLE, NOT VERIFIED"),
        (&[Unchecked, Failed], Verdict::Failed, "VERIFICATION FAILED"),
    ] {
        let audit = of(outcomes);
        assert_eq!((audit.verdict(), audit.passed()), (verdict, verdict == Verdict::Verified));
        assert!(
            audit.last_word().starts_with(word) && audit.to_text("f").trim_end().ends_with(audit.last_word())
        );
        assert_eq!(audit.to_json()["verdict"], verdict.word());
        assert_eq!(audit.to_json()["checks"][0]["outcome"], outcomes[0].word());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tries(16, 48) as u32))]

    /// Whatever is released verifies.
    #[test]
    fn every_release_verifies(
        sizes in prop::collection::vec(2u32..7, 1..4),
        halves: bool,
        strategy in prop::sample::select(vec!["auto", "residual", "queries", "base", "hierarchy", "wavelet", "fourier"]),
        budgets in prop::sample::select(vec!["optimal", "uniform"]),
        budget in prop::sample::select(vec!["rho = \"1/3\"", "epsilon = 0.7", "epsilon = 3\ndelta = 1e-5"]),
        neighbours in prop::sample::select(vec!["add-remove", "substitute"]),
        unit in prop::sample::select(vec!["\"row\"", "{ column = \"who\", max_rows = 2 }", "{ column = \"row\", max_rows = 1 }"]),
        extra in 0..4,
        n in 0usize..20,
    ) {
        let mut text = format!("name = \"x\"\ntitle = \"X\"\n[privacy]\nunit = {unit}\nneighbours = \"{neighbours}\"\n{budget}\n");
        let names: Vec<String> = (0..sizes.len()).map(|d| format!("d{d}")).collect();
        for (name, size) in names.iter().zip(&sizes) {
            text += &format!("[[dimension]]\nname = \"{name}\"\nrange = [0, {}]\n", size - 1);
            if halves && size % 2 == 0 && *size > 2 {
                text += &format!("levels = [{{ name = \"half\", width = {} }}]\n", size / 2);
            }
        }
        let key = agency();
        if extra == 3 && budget != "epsilon = 0.7" {
            text += "[projection]\nrows = 64\n";
        } else {
            text += &format!("[[table]]\nof = [{}]\n", names.iter().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(", "));
            if names.len() > 1 {
                let exact = extra == 1 && strategy == "residual" && !budget.starts_with("epsilon = 0.7");
                text += "[[table]]\nof = [\"d1\"]\n";
                text += if exact { "exact = true\nreason = \"known\"\n" } else { "" };
            }
            if extra == 2 && names.len() > 1 {
                text += "[[zero]]\nwhere = \"d0 = 1 AND d1 = 0\"\n";
            }
            let measure = if strategy == "auto" { String::new() } else { format!("measure = \"{strategy}\"\n") };
            text += &format!("[strategy]\n{measure}budgets = \"{budgets}\"\n");
        }
        let read = crate::spec::parse(&text, Path::new("x.toml"), |_| Err(std::io::ErrorKind::NotFound.into()));
        let Ok(read) = read else { return Err(TestCaseError::reject("not a spec")) };
        let planned = compile::Job::of(&read, Look::Needed).is_ok();
        prop_assume!(planned);
        let mut rows = format!("who,row,{}\n", names.join(","));
        for i in 0..n {
            let cells: Vec<String> = sizes.iter().map(|s| (if extra == 2 { 0 } else { i as u32 % s }).to_string()).collect();
            rows += &format!("{},{i},{}\n", i / 2, cells.join(","));
        }
        let release = released(&text, &rows, &key);
        let audit = audit(&release, Some(&key.public_key())).unwrap();
        prop_assert!(audit.passed(), "{}\n{}", text, audit.to_text("x"));
        // The first format knew no exact law.
        if release.manifest().privacy.lossless().is_none() {
            prop_assert_eq!(refused(Ok(first_format(&release, &key))), None);
        }
    }
}
