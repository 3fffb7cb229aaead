//! Audits of small specs of every kind: none is refuted, and the pair that is found costs nearly what is claimed.
//!
//! **Power.** What an estimate may be off is what the audit itself says that it would find: the distance of two bounds' quantiles, more than four standard
//! errors. A claim of that much less is thus refuted nine times out of ten; each case tries one, which is still further off, and must be.

use super::super::found::Findings;
use super::{audited, heavy_total, spec};
use margins::numeric::tries::tries;
use margins::{Frame, Held, ReleaseOptions, Spec};
use std::path::Path;

const ROW: &str = "unit = \"row\"\n";
const UNIT: &str = "unit = { column = \"who\", max_rows = 3 }\nmeasure_truncation = true\n";
const CHANGED: &str = "neighbours = \"substitute\"\n";
const TABLES: &str = "[[table]]\nup_to = 2\n";
const AMOUNTS: &str = "[[amount]]\nname = \"income\"\nlow = 0\nhigh = 1000\nstep = 10\nmissing = \"skip\"\nmeasure_clamping = true\n\
                       [[table]]\nof = [\"sex\"]\nsum = [\"income\"]\n";

/// A kind of release, and which part of its claim the worst pair costs at the least.
struct Case {
    name: String,
    spec: Spec,
    part: f64,
}

fn case(name: &str, privacy: &[&str], rest: &str, part: f64) -> Case {
    Case { name: format!("{name} {}", privacy.concat()), spec: spec(&privacy.concat(), rest), part }
}

fn measure(strategy: &str) -> String {
    format!("[strategy]\nmeasure = \"{strategy}\"\n{TABLES}")
}

const RHO: &str = "rho = \"1/2\"\n";
const EPSILON: &str = "epsilon = 1\n";

/// Every strategy, with both noises where it has them.
fn strategies() -> Vec<Case> {
    let mut all = vec![case("residual", &[ROW, RHO], &measure("residual"), 1.0)];
    for strategy in ["queries", "base", "hierarchy", "cluster", "tables", "wavelet", "fourier"] {
        for budget in [RHO, EPSILON] {
            all.push(case(strategy, &[ROW, budget], &measure(strategy), 1.0));
        }
    }
    let ask =
        "[strategy]\nmeasure = \"bases\"\n[[table]]\nof = [\"age\", \"sex\"]\nask = { age = \"ranges\" }\n";
    all.push(case("bases", &[ROW, RHO], ask, 1.0));
    let given = "[strategy]\nmeasure = \"given\"\nshares = [{ of = [\"sex\"], share = \"1/3\" }, { of = [\"age\", \"sex\"], share = \"2/3\" }]\n\
                 [[table]]\nof = [\"sex\", \"age\"]\n";
    all.push(case("given", &[ROW, EPSILON], given, 1.0));
    // Trees of unequal groups.
    let trees = "[[table]]\nof = [\"age.group\", \"sex\"]\n[[table]]\nof = [\"age\"]\n";
    for strategy in ["residual", "hierarchy"] {
        all.push(case("a tree", &[ROW, RHO], &format!("[strategy]\nmeasure = \"{strategy}\"\n{trees}"), 1.0));
    }
    all
}

/// Units that change, and units of several rows.
fn units() -> Vec<Case> {
    let mut all = Vec::new();
    // Of tables one is the total, which a unit that changes does not move: the rest is at least this.
    for (strategy, budget, part) in
        [("residual", RHO, 1.0), ("queries", RHO, 0.8), ("fourier", RHO, 1.0), ("queries", EPSILON, 0.7)]
    {
        all.push(case(strategy, &[ROW, CHANGED, budget], &measure(strategy), part));
    }
    all.push(case("rows of a unit", &[UNIT, RHO], &measure("queries"), 1.0));
    all.push(case("rows of a unit", &[UNIT, EPSILON], &measure("queries"), 1.0));
    all.push(case("rows of a unit", &[UNIT, RHO], &measure("residual"), 1.0));
    all.push(case("rows of a unit", &[UNIT, CHANGED, RHO], &measure("queries"), 0.75));
    all
}

/// Amounts, budgets of two numbers, copies, projections, and what else a spec may ask for.
fn others() -> Vec<Case> {
    let square = "[[amount]]\nname = \"income\"\nlow = 0\nhigh = 1000\nstep = 10\nsquare = true\n[[table]]\nof = [\"sex\"]\nsum = [\"income\"]\n";
    let mut all = vec![
        case("amounts", &[ROW, RHO], AMOUNTS, 0.98),
        case("amounts", &[ROW, EPSILON], AMOUNTS, 0.95),
        case("amounts", &[ROW, CHANGED, RHO], AMOUNTS, 0.7),
        case("squares", &[ROW, RHO], square, 0.9),
        case("two numbers", &[ROW, "epsilon = 1\ndelta = 1e-6\n"], &measure("queries"), 0.97),
        case("dense", &[ROW, RHO], "[projection]\nrows = 256\n", 0.85),
        case("sketch", &[ROW, RHO], "[projection]\nkind = \"sketch\"\nrows = 256\n", 0.95),
    ];
    // A row that loses its value moves the total.
    all.push(case("a heavy total", &[ROW, CHANGED, RHO], &heavy_total("10"), 0.85));
    let weights = "[weights]\ncolumn = \"w\"\nhigh = 40\n[[amount]]\nname = \"pay\"\ncolumn = [\"hours\", \"rate\"]\nlow = -100\nhigh = 1000\nstep = 10\n\
                   [[table]]\nof = [\"sex\"]\nsum = [\"pay\"]\n";
    for budget in [RHO, EPSILON] {
        all.push(case("weights and products", &[ROW, budget], weights, 0.95));
    }
    let asked = "[asked]\nqueries = [\"SELECT sex, COUNT(*) FROM made WHERE age < 3 GROUP BY sex\", \"SELECT COUNT(*) FROM made\"]\n";
    for budget in [RHO, EPSILON] {
        all.push(case("asked", &[ROW, budget], asked, 1.0));
    }
    let empty = format!("{}[[zero]]\nwhere = \"sex = 'F' AND age > 3\"\n", measure("queries"));
    all.push(case("empty cells", &[ROW, RHO], &empty, 1.0));
    let exact = "[strategy]\nmeasure = \"queries\"\n[[table]]\nof = [\"sex\"]\nexact = true\nreason = \"known\"\n[[table]]\nof = [\"age\"]\n";
    all.push(case("an exact table", &[ROW, RHO], exact, 1.0));
    for (mode, part) in [("mode = \"nested\"", 1.0), ("mode = \"shifted\"\nmean = 20", 0.0)] {
        for (key, most, less) in [("rho", "1/2", "1/5"), ("epsilon", "1", "1/2")] {
            let one = |name: &str, budget: &str| {
                format!("[[recipient]]\nname = \"{name}\"\n{key} = \"{budget}\"\n")
            };
            let copies =
                format!("{}[recipients]\n{mode}\n{}{}", measure("queries"), one("a", most), one("b", less));
            all.push(case(mode, &[ROW, &format!("{key} = \"{most}\"\n")], &copies, part));
        }
    }
    all
}

/// A spec of files: its own, and those that it names.
fn of_files(files: &[(&str, &str)]) -> Spec {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
    Spec::load(folder.path().join(files[0].0)).unwrap_or_else(|e| panic!("{e}"))
}

/// The agency's own queries, one cell of which is dearer than all others; and a tree from a file.
fn files() -> Vec<Case> {
    let head =
        "name = \"made\"\ntitle = \"Made up\"\ndemo = true\n[privacy]\nunit = \"row\"\nrho = \"1/2\"\n";
    let own = "[[dimension]]\nname = \"age\"\nrange = [0, 39]\n[[table]]\nof = [\"age\"]\n\
               [strategy]\nmeasure = \"matrix\"\nrows = { file = \"rows.csv\", of = [\"age\"] }\n";
    // Every cell, and the thirtieth five times as much.
    let line = |of: &dyn Fn(usize) -> String| (0..40).map(of).collect::<Vec<_>>().join(",") + "\n";
    let mut rows: String = (0..40).map(|i| line(&|j| u8::from(i == j).to_string())).collect();
    rows += &line(&|j| if j == 29 { "5".into() } else { "0".into() });
    let tree = "[[dimension]]\nname = \"place\"\nhierarchy = \"places.csv\"\n[[table]]\nof = [\"place\"]\n[[table]]\nof = [\"place.county\"]\n\
                [strategy]\nmeasure = \"residual\"\n";
    let places = "place,county,state\na,A,N\nb,A,N\nc,A,N\nd,B,N\ne,C,S\nf,C,S\n";
    vec![
        Case {
            name: "own queries".into(),
            spec: of_files(&[("s.toml", &format!("{head}{own}")), ("rows.csv", &rows)]),
            part: 1.0,
        },
        Case {
            name: "a tree of a file".into(),
            spec: of_files(&[("s.toml", &format!("{head}{tree}")), ("places.csv", places)]),
            part: 1.0,
        },
    ]
}

/// What is missing beside a release: the spec that its file holds.
fn extending() -> Case {
    let folder = tempfile::tempdir().unwrap();
    // Both are signed by one key: that is what makes them one.
    let key = folder.path().join("agency.key");
    std::fs::write(&key, margins::release::keys::keygen(None).unwrap().secret.as_bytes()).unwrap();
    let text = |name: &str, tables: &str| {
        let text = spec(&format!("{ROW}{RHO}"), tables)
            .source
            .replace("name = \"made\"", &format!("name = \"{name}\""));
        let dataset = "[dataset]\nid = \"people\"\nperiod = \"2026\"\nsnapshot = \"2026-01-31\"\n";
        Spec::from_toml(&format!("{text}{dataset}")).unwrap_or_else(|e| panic!("{e}"))
    };
    let rows = || {
        let mut rows = Frame::new(vec![("sex".into(), Held::Text), ("age".into(), Held::Whole)]);
        [["F", "1"], ["M", "4"]].iter().flatten().for_each(|cell| rows.cell(cell.as_bytes()));
        rows
    };
    let released = |spec: &Spec, extends: Option<&Path>| {
        let rows = rows();
        let mut options = ReleaseOptions::new()
            .out(folder.path())
            .ledger(folder.path().join("l.jsonl"))
            .key(&key)
            .rows(&rows);
        if let Some(file) = extends {
            options = options.extends(file);
        }
        spec.release(options).unwrap_or_else(|e| panic!("{e}")).path().to_owned()
    };
    let first = released(&text("first", "[[table]]\nof = [\"sex\"]\n"), None);
    let more =
        released(&text("more", "[[table]]\nof = [\"sex\"]\n[[table]]\nof = [\"age\"]\n"), Some(&first));
    let file = margins::release::Release::open(&more).unwrap();
    let sealed = file.section(margins::release::Kind::Spec, 0).unwrap();
    let spec = Spec::from_toml(std::str::from_utf8(&sealed).unwrap()).unwrap_or_else(|e| panic!("{e}"));
    assert!(spec.description.as_ref().is_some_and(|d| d.contains("Extends")), "{}", spec.source);
    Case { name: "extending".into(), spec, part: 1.0 }
}

/// The first bound is the most precise one.
fn holds(case: &Case, found: &Findings) {
    let Case { name, part, .. } = case;
    assert!(!found.refuted(), "{name}: {found:?}");
    let first = &found.bounds[0];
    // Of shifted copies under Laplace noise there are thresholds only.
    let (Some(estimate), Some(detected)) = (first.estimate, first.detected) else {
        assert!(*part == 0.0, "{name}: {found:?}");
        return;
    };
    let off = detected / first.claim - 1.0;
    let costs = estimate / first.claim;
    assert!(costs > part - off && costs < 1.0 + off, "{name}: {costs} of the claim, within {off}: {found:?}");
    // A claim of so much less than the pair costs is refuted.
    let least = first.least / first.claim;
    assert!(*part == 0.0 || least > part / (1.0 + off) / (1.0 + 0.5 * off), "{name}: {least}, {off}");
}

fn all() -> Vec<Case> {
    let mut all = strategies();
    all.extend(units().into_iter().chain(others()).chain(files()));
    all.push(extending());
    // Laplace noise that is paid in ρ.
    let published = "[projection]\nkind = \"dense\"\nrows = 64\nnoise = \"laplace\"\n";
    all.push(case("published noise", &[ROW, "epsilon = 1\ndelta = 1e-6\n"], published, 0.97));
    all
}

#[test]
fn every_family_keeps_its_claim() {
    // In quick builds fewer releases of every sixth.
    let (releases, each) = (tries(120, 2000), tries(6, 1));
    for (seed, case) in all().iter().enumerate().filter(|(i, _)| i % each == 0) {
        holds(case, &audited(&case.spec, releases, 1e-4, seed as u64));
    }
}

/// An hour's work: `just audit`.
#[test]
#[ignore = "an hour: just audit"]
fn every_family_keeps_its_claim_at_length() {
    for (seed, case) in all().iter().enumerate() {
        let found = audited(&case.spec, 40_000, 1e-5, 1000 + seed as u64);
        println!("{}: {}", case.name, crate::audit::to_json(&found, &super::effort(40_000, 1e-5)));
        holds(case, &found);
    }
}
