//! Lies of a signer, and work that a signer makes for a reader: honest releases, of which something is said otherwise, sealed again with
//! the same key.

use margins::compile::{self, Options};
use margins::cube::Frame;
use margins::plan::cost;
use margins::release::claims::{self, Words};
use margins::release::forged::{Bodies, bytes as said};
use margins::release::{Kind, Release, SigningKey, keys};
use margins::secret::noise::Entropy;
use serde_json::Value;
use std::path::Path;

/// One file, what its verification comes to, and a word of what is said of it.
pub(crate) struct Lie {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    /// `verified` or `failed`: what [`margins::audit::Verdict::word`] says.
    pub verdict: &'static str,
    pub why: &'static str,
}

const SHOP: &str = "name = \"shop\"\ntitle = \"Shop\"\n[dataset]\nid = \"shop\"\nperiod = \"2026\"\n[privacy]\n\
    unit = { column = \"person\", max_rows = 2 }\nrho = 1\n[[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n\
    [[dimension]]\nname = \"age\"\nrange = [0, 9]\n[[table]]\nof = [\"sex\", \"age\"]\n";
const ROWS: &str = "person,sex,age\n1,F,1\n1,F,2\n2,M,7\n3,M,7\n4,F,9\n5,M,0\n";

/// The ledger of what has one.
pub(crate) const LEDGER: &str = "ledger.jsonl";

pub(crate) fn agency() -> SigningKey {
    SigningKey::from_text(&keys::keygen(None).unwrap().secret, None).unwrap()
}

/// A release of these rows; of several copies the least precise.
fn released(text: &str, rows: &str, key: &SigningKey) -> Release {
    released_in(tempfile::tempdir().unwrap().path(), LEDGER, text, rows, key)
}

/// The same in a folder, with the ledger of that name, and files that the spec names.
pub(crate) fn released_in(dir: &Path, ledger: &str, text: &str, rows: &str, key: &SigningKey) -> Release {
    let data = dir.join("rows.csv");
    std::fs::write(&data, rows).unwrap();
    let read = |name: &str| std::fs::read(dir.join(name));
    let spec = margins::spec::parse(text, Path::new("shop.toml"), read).unwrap_or_else(|e| panic!("{e}"));
    let options = Options {
        out: dir,
        data: Some((&data).into()),
        counts: None,
        ledger: &dir.join(ledger),
        key,
        replace: false,
        day: "2026-01-31",
        entropy: Entropy::from_os().unwrap(),
    };
    let made = compile::release(&spec, options, &margins::secret::ingest::Means::default()).unwrap();
    let path = made.further.last().map_or(made.sealed.path, |s| s.path.clone());
    Release::from_bytes(std::fs::read(path).unwrap()).unwrap()
}

fn body(bodies: &mut Bodies, kind: Kind) -> &mut Vec<u8> {
    &mut bodies.iter_mut().find(|(tag, _)| *tag == kind.tag()).unwrap().1
}

/// With another text in the sealed spec.
fn respecified(release: &Release, key: &SigningKey, from: &str, to: &str) -> Vec<u8> {
    said(release, key, |_, bodies| {
        let spec = body(bodies, Kind::Spec);
        let text = String::from_utf8(spec.clone()).unwrap();
        assert!(text.contains(from), "{from}");
        *spec = text.replace(from, to).into_bytes();
    })
}

/// Rows of people where the spec should be.
pub(crate) fn raw_rows(rows: usize) -> Vec<u8> {
    let key = agency();
    said(&released(SHOP, ROWS, &key), &key, |_, bodies| {
        let row = |i: usize| format!("{},{}\n", ["F", "M"][i % 2], i % 10);
        *body(bodies, Kind::Spec) = (0..rows).map(row).collect::<String>().into_bytes();
    })
}

/// What fits in a few kilobytes, is kept as files, and is opened by everything that verifies. The first is honest.
pub(crate) fn kept() -> Vec<Lie> {
    let key = agency();
    let honest = released(SHOP, ROWS, &key);
    let lie = |name, why, edit: fn(&mut Value)| Lie {
        name,
        bytes: said(&honest, &key, |m, _| edit(m)),
        verdict: "failed",
        why,
    };
    let mut all = vec![
        Lie { name: "honest", bytes: said(&honest, &key, |_, _| ()), verdict: "verified", why: "read again" },
        lie("another-unit", "the spec says", |m| {
            m["privacy"]["unit"] = "household".into();
            m["account"]["unit"] = "household".into();
        }),
        lie("another-title", "the spec says", |m| m["about"]["title"] = "All shops".into()),
        lie("another-dataset", "the spec says", |m| {
            m["dataset"]["id"] = "market".into();
            m["account"]["id"] = "market".into();
        }),
        lie("other-classes", "the spec says", |m| m["about"]["reliability"] = vec!["50"].into()),
        lie("another-period", "the spec says", |m| m["dataset"]["period"] = "2025".into()),
        Lie {
            name: "rows-for-a-spec",
            bytes: raw_rows(1000),
            verdict: "failed",
            why: "the sealed spec cannot be read",
        },
        Lie {
            name: "another-question",
            bytes: respecified(&honest, &key, "of = [\"sex\", \"age\"]", "of = [\"sex\"]"),
            verdict: "failed",
            why: "the spec has other tables",
        },
        Lie {
            name: "more-rho-than-the-law-allows",
            bytes: more_than_allowed(),
            verdict: "failed",
            why: "by the law of all noises together",
        },
        lie("exact-law-of-several-rows", "the plan gives nothing", |m| {
            m["privacy"]["approximate"]["accounting"] = "exact".into();
        }),
        Lie {
            name: "spec-that-grows",
            bytes: grown(),
            verdict: "failed",
            why: "too many categories together",
        },
    ];
    all.extend(of_amounts(&key));
    all.extend(of_labels(&key));
    all.extend(of_nothing(&key));
    all.push(Lie {
        name: "sums-of-another-strategy",
        bytes: sums_of_another_strategy(&key),
        verdict: "failed",
        why: "the spec has other measurements",
    });
    all
}

/// Sums that are measured by one finest table, where `queries` measures each table by itself. All that follows from it is said as it is.
fn sums_of_another_strategy(key: &SigningKey) -> Vec<u8> {
    let text = |measure: &str| {
        let amount = "[[amount]]\nname = \"pay\"\ncolumn = \"age\"\nlow = 0\nhigh = 40\nstep = 1\n";
        let table = |of: &str| format!("[[table]]\nof = [\"{of}\"]\nsum = [\"pay\"]\n");
        let asked = format!("{amount}{}{}[strategy]\nmeasure = \"{measure}\"\n", table("sex"), table("age"));
        let spec = SHOP.replace("[[table]]\nof = [\"sex\", \"age\"]\n", &asked);
        spec.replace("{ column = \"person\", max_rows = 2 }", "\"row\"")
    };
    let (own, other) = (released(&text("queries"), ROWS, key), released(&text("base"), ROWS, key));
    let mut sums = other.section(Kind::Sums, 0).unwrap();
    // Noise, budget over one, neighbours, one row: then how it is measured.
    let at = sums.windows(6).position(|w| w == [1, 1, 1, 1, 1, BASE]).unwrap();
    sums[at + 5] = QUERIES;
    let changed = said(&own, key, |_, bodies| body(bodies, Kind::Sums).clone_from(&sums));
    let changed = Release::from_bytes(changed).unwrap();
    let cube = changed.cube().unwrap();
    let plan = changed.plan(&cube).unwrap();
    assert_ne!(plan, own.plan(&cube).unwrap());
    let cost = cost::cost(&plan, &Frame::new(&cube, &plan.levels)).unwrap();
    let words = Words::of(changed.manifest(), &cube, &plan);
    let claims = claims::of_tables(changed.manifest().format, &cube, &plan, &cost, &words).unwrap();
    said(&changed, key, |manifest, _| {
        let Value::Object(claims) = serde_json::to_value(claims).unwrap() else { unreachable!() };
        for (name, claim) in claims.into_iter().filter(|(_, claim)| !claim.is_null()) {
            manifest[name] = claim;
        }
        manifest["account"]["charged"] = manifest["privacy"]["cost"].clone();
    })
}

/// Which category may be said to be that of empty cells.
fn of_nothing(key: &SigningKey) -> Vec<Lie> {
    let text = SHOP.replace("range = [0, 9]", "range = [0, 9]\nother = \"9+\"\nmissing = \"unknown\"");
    let honest = released(&text, ROWS, key);
    let lie = |name, why, edit: fn(&mut Value)| Lie {
        name,
        bytes: said(&honest, key, |m, _| edit(m)),
        verdict: "failed",
        why,
    };
    vec![
        Lie { verdict: "verified", ..lie("honest-missing", "read again", |_| ()) },
        // As files are that were made before it could be said: they say less.
        Lie {
            verdict: "verified",
            ..lie("missing-unsaid", "read again", |m| {
                m.as_object_mut().unwrap().remove("legends");
            })
        },
        lie("another-missing", "the spec says", |m| m["legends"][0]["missing"] = "9+".into()),
        lie("missing-of-no-code", "no category nobody", |m| m["legends"][0]["missing"] = "nobody".into()),
        lie("missing-that-is-listed", "the spec says", |m| {
            let own = serde_json::json!({ "dimension": "sex", "missing": "M" });
            m["legends"].as_array_mut().unwrap().insert(0, own);
        }),
    ]
}

/// What codes may be said to stand for.
fn of_labels(key: &SigningKey) -> Vec<Lie> {
    let text = SHOP.replace(
        "categories = [\"F\", \"M\"]",
        "categories = [\"F\", \"M\"]\nlabels = { F = \"women\", M = \"men\" }",
    );
    let honest = released(&text, ROWS, key);
    let lie = |name, why, edit: fn(&mut Value)| Lie {
        name,
        bytes: said(&honest, key, |m, _| edit(m)),
        verdict: "failed",
        why,
    };
    vec![
        Lie { verdict: "verified", ..lie("honest-labels", "read again", |_| ()) },
        lie("swapped-labels", "the spec says", |m| {
            let of = m["legends"][0]["labels"][0]["of"].as_array_mut().unwrap();
            let (women, men) = (of[0][1].clone(), of[1][1].clone());
            (of[0][1], of[1][1]) = (men, women);
        }),
        lie("labels-unsaid", "the spec says", |m| {
            m.as_object_mut().unwrap().remove("legends");
        }),
        lie("label-of-no-code", "no category X", |m| m["legends"][0]["labels"][0]["of"][0][0] = "X".into()),
        lie("label-of-two-lines", "control characters", |m| {
            m["legends"][0]["labels"][0]["of"][0][1] = "women\nM  9,999".into();
        }),
        lie("legend-of-no-dimension", "no dimension size", |m| m["legends"][0]["dimension"] = "size".into()),
    ]
}

/// What may be said otherwise of amounts and weights: their bounds, which of them weighs rows, and what it cost to count those that were moved.
fn of_amounts(key: &SigningKey) -> Vec<Lie> {
    let text = SHOP.replace("[[table]]\n", "[weights]\ncolumn = \"person\"\nhigh = 5\nstep = 1\n\
        [[amount]]\nname = \"pay\"\ncolumn = \"age\"\nlow = 0\nhigh = 40\nstep = 1\nmeasure_clamping = true\n[[table]]\nsum = [\"pay\"]\n");
    let honest = released(&text, ROWS, key);
    let lie = |name, why, bytes| Lie { name, bytes, verdict: "failed", why };
    let other = "the spec has other amounts";
    let of = |bodies: &mut Bodies, nth: usize, from: u8, to: u8| {
        let sums = bodies.iter_mut().filter(|(tag, _)| *tag == Kind::Sums.tag());
        let own = sums.map(|(_, bytes)| bytes).nth(nth).unwrap();
        let at = own.iter().position(|b| *b == from).unwrap();
        own[at] = to;
    };
    vec![
        Lie { verdict: "verified", ..lie("honest-amounts", "read again", said(&honest, key, |_, _| ())) },
        lie("another-bound", other, respecified(&honest, key, "high = 40", "high = 400")),
        // COUNT(*) would count rows, and call them people.
        lie(
            "weights-unsaid",
            other,
            said(&honest, key, |manifest, bodies| {
                for sum in manifest["plan"]["sums"].as_array_mut().unwrap() {
                    sum["of"].as_object_mut().unwrap().remove("weighing");
                }
                of(bodies, 0, 17, 1);
                (1..4).for_each(|nth| of(bodies, nth, 33, 1));
            }),
        ),
        lie(
            "moved-rows-for-less",
            "clamping",
            said(&honest, key, |manifest, _| {
                manifest["plan"]["sums"][1]["clamping"]["cost"] = "1/1000".into()
            }),
        ),
    ]
}

/// A release at ε = 1.01, that says ε = 1 of itself and of its spec, both by the exact law.
fn more_than_allowed() -> Vec<u8> {
    let key = agency();
    let text = SHOP
        .replace("{ column = \"person\", max_rows = 2 }", "\"row\"")
        .replace("rho = 1", "epsilon = 1.01\ndelta = 1e-9");
    said(&released(&text, ROWS, &key), &key, |manifest, bodies| {
        let spec = body(bodies, Kind::Spec);
        *spec = String::from_utf8(spec.clone()).unwrap().replace("1.01", "1").into_bytes();
        let stated = &mut manifest["privacy"]["approximate"];
        assert_eq!((&stated["epsilon"], &stated["accounting"]), (&"1.0100".into(), &"exact".into()));
        stated["epsilon"] = "1.0000".into();
    })
}

/// 11 kB of a spec, of which 2,000,001 ages with 190 levels above them would be made: some gigabytes.
fn grown() -> Vec<u8> {
    let key = agency();
    let levels: String = (2..420).map(|w| format!("{{ name = \"l{w}\", width = {w} }},")).collect();
    let grown = format!("range = [0, 2000000]\nlevels = [{levels}]");
    let text = respecified(&released(SHOP, ROWS, &key), &key, "range = [0, 9]", &grown);
    assert!(grown.len() < 14_000 && text.len() < 30_000);
    text
}

/// A search of tables that its spec lets run for days.
fn long_search() -> Vec<u8> {
    let key = agency();
    let names: Vec<String> = (0..6).map(|d| format!("d{d}")).collect();
    let mut text =
        "name = \"shop\"\ntitle = \"Shop\"\n[privacy]\nunit = \"row\"\nrho = 1\n[strategy]\nmeasure = \"tables\"\neffort = 0\n"
            .to_owned();
    names.iter().for_each(|n| text += &format!("[[dimension]]\nname = \"{n}\"\nrange = [0, 4]\n"));
    text += "[[table]]\nup_to = 2\n";
    let rows = format!("{}\n{}\n", names.join(","), ["1"; 6].join(","));
    respecified(&released(&text, &rows, &key), &key, "effort = 0", "effort = 100000")
}

/// 24 dimensions of 1,000 nodes, measured by residuals, of which the signer says that they are searched bases.
fn relabelled_bases() -> Vec<u8> {
    let key = agency();
    let names: Vec<String> = (0..24).map(|d| format!("d{d}")).collect();
    let mut text =
        "name = \"shop\"\ntitle = \"Shop\"\n[privacy]\nunit = \"row\"\nrho = 1\n[strategy]\nmeasure = \"residual\"\n"
            .to_owned();
    for n in &names {
        text += &format!("[[dimension]]\nname = \"{n}\"\nrange = [0, 999]\n[[table]]\nof = [\"{n}\"]\n");
    }
    let rows = format!("{}\n{}\n", names.join(","), ["1"; 24].join(","));
    said(&released(&text, &rows, &key), &key, |manifest, bodies| {
        let spec = body(bodies, Kind::Spec);
        *spec = String::from_utf8(spec.clone()).unwrap().replace("residual", "bases").into_bytes();
        // Noise, budget over one, neighbours, one row: then how it is measured, `residual`.
        let plan = body(bodies, Kind::Plan);
        assert_eq!(plan[..6], [1, 1, 1, 1, 1, 1]);
        plan[5] = BASES;
        manifest["plan"]["measure"] = "bases".into();
    })
}

/// Tags of strategies in a plan.
const QUERIES: u8 = 2;
const BASE: u8 = 3;
const BASES: u8 = 11;

/// 1,000 recipients of copies that are measured each for itself, of a table whose cost is looked up pair by pair.
fn many_copies() -> Vec<u8> {
    let key = agency();
    let mut text = "name = \"shop\"\ntitle = \"Shop\"\n[privacy]\nunit = \"row\"\nrho = 1\nneighbours = \"substitute\"\n\
        [strategy]\nmeasure = \"hierarchy\"\n[[dimension]]\nname = \"age\"\nrange = [0, 399]\n\
        [[table]]\nof = [\"age\"]\nask = { age = \"prefixes\" }\n\
        [recipients]\nmode = \"shifted\"\nmean = 9\n"
        .to_owned();
    (0..1000).for_each(|i| text += &format!("[[recipient]]\nname = \"r{i}\"\nrho = \"1/{}\"\n", 2 + i / 250));
    said(&released(&text, "age\n1\n", &key), &key, |_, _| ())
}

/// Rows without a person that count, of which the signer says that they stopped the run, or were left out: a promise that the spec does not make.
fn without(said_of_them: &str) -> Vec<u8> {
    let key = agency();
    let text = SHOP.replace("max_rows = 2", "max_rows = 2, without = \"own\"");
    said(&released(&text, &format!("{ROWS},F,3\n,M,4\n"), &key), &key, |m, _| {
        let note = m["privacy"]["note"].as_str().unwrap().to_owned();
        assert!(note.contains(", and for every single row without one, whether"), "{note}");
        let of_rows = m["privacy"].as_object_mut().unwrap();
        match said_of_them {
            "own" => return,
            "stop" => drop(of_rows.remove("without")),
            other => drop(of_rows.insert("without".into(), other.into())),
        }
        let (promise, rest) = note.split_once(".").unwrap_or((&note, ""));
        let dropped = if said_of_them == "drop" { " Rows without a person are left out." } else { "" };
        of_rows.insert(
            "note".into(),
            format!("{}.{dropped}{rest}", promise.replace(", and for every single row without one", ""))
                .into(),
        );
    })
}

/// Work for readers: too large to keep, and each bounded by a count.
pub(crate) fn laborious() -> Vec<Lie> {
    let lie = |name, verdict, why, bytes| Lie { name, bytes, verdict, why };
    vec![
        lie("30,000 rows for a spec", "failed", "the sealed spec cannot be read", raw_rows(30_000)),
        lie("effort of days", "verified", "made again from the spec", long_search()),
        lie("24 relabelled bases", "verified", "it would take long", relabelled_bases()),
        lie("rows without a unit", "verified", "privacy cost", without("own")),
        lie("rows without a unit that never were", "failed", "the spec says", without("stop")),
        lie("rows without a unit left out", "failed", "the spec says", without("drop")),
        lie("1,000 shifted copies", "verified", "privacy cost", many_copies()),
    ]
}
