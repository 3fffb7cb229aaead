//! Copies for several recipients: their laws, alone and together; their files; what is charged for them.
//!
//! Statistical tests use fixed seeds. Each allows 4.5 standard errors (seven in a million, two-sided), and shows beside it what it would
//! not let pass.

use super::tests::narrow;
use super::*;
use crate::answer::tell::AllRows;
use crate::answer::{Answers, Evaluator, Several};
use crate::cube::{Cube, Filter, Level};
use crate::law::{ErrorLaw, NoiseLaw, Term};
use crate::numeric::tries::tries;
use crate::plan::copies::Centres;
use crate::plan::{Mode, Plan};
use crate::planner::copies::Copies as Planned;
use crate::recover::{Recovery, noise_of};
use crate::release::{Currency, Outcome, Release};
use crate::secret::Charged;
use crate::secret::ingest::Means;
use crate::secret::ingest::Rows;
use crate::secret::measure::Copies;
use std::collections::BTreeMap;

const HEAD: &str = r#"
name = "shop"
title = "Shop"
demo = true

[[dimension]]
name = "sex"
categories = ["F", "M"]

[[dimension]]
name = "age"
range = [0, 7]
levels = [{ name = "half", width = 4 }]

[[table]]
of = ["sex", "age"]

[[table]]
of = ["age.half"]
"#;

/// Three recipients; the budgets in ρ or ε.
fn text(strategy: &str, laplace: bool, mode: &str, more: &str) -> String {
    let key = if laplace { "epsilon" } else { "rho" };
    let recipient =
        |name: &str, amount: &str| format!("[[recipient]]\nname = \"{name}\"\n{key} = \"{amount}\"\n");
    format!(
        "{HEAD}{more}\n[privacy]\nunit = \"row\"\n{key} = \"1/2\"\n[strategy]\nmeasure = \"{strategy}\"\n[recipients]\n{mode}\n{}{}{}",
        recipient("press", "1/20"),
        recipient("office", "1/2"),
        recipient("school", "1/7"),
    )
}

const NESTED: &str = "mode = \"nested\"";
const SHIFTED: &str = "mode = \"shifted\"\nmean = 20";
/// Centres that distort nothing in the mean, and some to either side of 0 that do.
const AROUND: &str = "mode = \"shifted\"\nmean = 0\ncentres = [-20, 20]";
const BELOW: &str = "mode = \"shifted\"\ncentres = [-9, 1]";

fn spec(text: &str) -> Spec {
    crate::spec::parse(text, Path::new("shop.toml"), |_| Err(std::io::ErrorKind::NotFound.into()))
        .unwrap_or_else(|e| panic!("{}", e.render(false)))
}

fn planned(spec: &Spec) -> Planned {
    let Job::Tables(choice) = Job::of(spec, Look::Needed).unwrap_or_else(|e| panic!("{e}")) else {
        panic!("a projection")
    };
    *choice.copies.unwrap()
}

/// The true counts: cell i of 16 has i + 3 rows.
fn rows() -> Rows {
    let cells = || (0..16u32).flat_map(|i| std::iter::repeat_n(i, i as usize + 3));
    Rows::from_codes(&[2, 8], &[cells().map(|i| i / 8).collect(), cells().map(|i| i % 8).collect()]).unwrap()
}

/// What is measured for every copy, from this seed.
fn measured(cube: &Cube, plans: &[Plan], seed: u64) -> Vec<Vec<Vec<i64>>> {
    super::tests::measured(cube, plans, rows(), seed, narrow)
}

/// The cube over whose levels a plan speaks.
fn cube_of(spec: &Spec, plan: &Plan) -> Cube {
    (*spec.planned(plan).cube).clone()
}

/// The law of one integer's noise, with every scale so many times as wide.
fn own_law(plan: &Plan, wider: f64) -> ErrorLaw {
    let widen = |noise: NoiseLaw| match noise {
        NoiseLaw::DiscreteGaussian { variance } => {
            NoiseLaw::DiscreteGaussian { variance: wider * wider * variance }
        }
        NoiseLaw::DiscreteLaplace { scale } => NoiseLaw::DiscreteLaplace { scale: wider * scale },
        other => other,
    };
    let terms =
        noise_of(plan, 0).into_iter().map(|noise| Term { coefficient: 1.0, copies: 1, noise: widen(noise) });
    ErrorLaw::new(terms.collect()).unwrap()
}

/// How many standard errors the proportion of errors up to each of some points is off, at most.
fn off(errors: &[f64], law: &ErrorLaw) -> f64 {
    let n = errors.len() as f64;
    (-6..=6)
        .map(|i| {
            let x = (f64::from(i) * 0.4 * law.std_error()).floor() + 0.5;
            let p = law.cdf(x);
            let below = errors.iter().filter(|e| **e <= x).count() as f64 / n;
            (below - p).abs() / (p * (1.0 - p) / n).sqrt()
        })
        .fold(0.0, f64::max)
}

/// The correlation of the sizes, and of the signs, of two lists: in standard errors.
fn dependence(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let median = |v: &[f64]| {
        let mut sizes: Vec<f64> = v.iter().map(|x| x.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        sizes[sizes.len() / 2]
    };
    let z = |a: &[f64], b: &[f64]| {
        let mean = |v: &[f64]| v.iter().sum::<f64>() / n;
        let (ma, mb) = (mean(a), mean(b));
        let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
        for (x, y) in a.iter().zip(b) {
            ab += (x - ma) * (y - mb);
            aa += (x - ma) * (x - ma);
            bb += (y - mb) * (y - mb);
        }
        if aa == 0.0 || bb == 0.0 { 0.0 } else { (ab / (aa * bb).sqrt() * n.sqrt()).abs() }
    };
    let large = |v: &[f64]| -> Vec<f64> {
        let median = median(v);
        v.iter().map(|x| f64::from(u8::from(x.abs() > median))).collect()
    };
    z(a, b).max(z(&large(a), &large(b)))
}

#[test]
fn nested_copies_have_their_own_laws_and_their_steps_are_independent() {
    for laplace in [true, false].into_iter().take(tries(1, 2)) {
        let spec = spec(&text("queries", laplace, NESTED, ""));
        let plans = planned(&spec).plans;
        assert_eq!(
            plans.iter().map(|p| p.recipient().unwrap()).collect::<Vec<_>>(),
            ["office", "school", "press"]
        );
        let other = planned(&self::spec(&text("queries", laplace, SHIFTED, ""))).plans;
        let errors = |plans: &[Plan]| -> Vec<Vec<f64>> {
            let mut out = vec![Vec::new(); plans.len()];
            for seed in 0..500 {
                for (out, values) in out.iter_mut().zip(measured(&spec.cube, plans, seed)) {
                    // The first block is the table of 16 cells.
                    assert_eq!(values[0].len(), 16);
                    out.extend(values[0].iter().zip(3..).map(|(v, truth)| (v - truth) as f64));
                }
            }
            out
        };
        let found = errors(&plans);
        for (plan, errors) in plans.iter().zip(&found) {
            let found = off(errors, &own_law(plan, 1.0));
            assert!(found < 4.5, "{laplace} {:?}: {found}", plan.recipient());
            assert!(off(errors, &own_law(plan, 1.15)) > 5.0, "a law 15 % wider would pass");
        }
        for pair in found.windows(2) {
            let step: Vec<f64> = pair[0].iter().zip(&pair[1]).map(|(a, b)| b - a).collect();
            assert!(step.iter().any(|s| *s != 0.0));
            assert!(dependence(&pair[0], &step) < 4.5, "{}", dependence(&pair[0], &step));
        }
        // Copies that are measured by themselves have no such steps.
        let apart = errors(&other);
        let step: Vec<f64> = apart[0].iter().zip(&apart[1]).map(|(a, b)| b - a).collect();
        assert!(dependence(&apart[0], &step) > 9.0);
    }
}

/// Estimates of some queries from what was measured: one cell, a sum, and the difference of two halves.
fn estimates(cube: &Cube, plan: &Plan, values: Vec<Vec<i64>>) -> [f64; 3] {
    let evaluator = Evaluator::new(Recovery::new(cube.clone(), plan.clone(), values).unwrap());
    let age = cube.dimension("age").unwrap();
    let half = cube.dimensions[age].levels.iter().position(|l| l.name == "half").unwrap();
    let cells: Vec<Level> = (0..2).map(|d| Level::new(d, cube.dimensions[d].finest())).collect();
    let cell = evaluator.aggregate(&Filter::everything(), &cells).unwrap();
    let halves = evaluator.aggregate(&Filter::everything(), &[Level::new(age, half)]).unwrap();
    let at = |g: &crate::answer::Group| g.estimate;
    [at(&cell[5]), halves.iter().map(at).sum(), at(&halves[1]) - at(&halves[0])]
}

/// The laws of the errors of the same.
fn laws(cube: &Cube, plan: &Plan) -> [ErrorLaw; 3] {
    let evaluator =
        Evaluator::new(Recovery::new(cube.clone(), plan.clone(), crate::recover::Nothing).unwrap());
    let age = cube.dimension("age").unwrap();
    let half = cube.dimensions[age].levels.iter().position(|l| l.name == "half").unwrap();
    let cells: Vec<Level> = (0..2).map(|d| Level::new(d, cube.dimensions[d].finest())).collect();
    let all = crate::sql::Aggregate::rows(Filter::everything(), None);
    let all = std::slice::from_ref(&all);
    let one = evaluator
        .joint_rows(&AllRows {
            portions: &[all],
            group_by: &cells,
            coarser: &[],
            rows: &[(0, &[0, 5])],
            most: 1 << 20,
        })
        .unwrap()
        .unwrap();
    let two = evaluator
        .joint_rows(&AllRows {
            portions: &[all],
            group_by: &[Level::new(age, half)],
            coarser: &[],
            rows: &[(0, &[0]), (0, &[1])],
            most: 1 << 20,
        })
        .unwrap()
        .unwrap();
    [one.combine(&[1.0]).unwrap(), two.combine(&[1.0, 1.0]).unwrap(), two.combine(&[-1.0, 1.0]).unwrap()]
}

#[test]
fn intervals_of_every_copy_cover() {
    let truth: [f64; 3] = [8.0, 168.0, 32.0];
    let runs = tries(100, 800) as u32;
    for (strategy, laplace, mode) in [
        ("queries", true, SHIFTED),
        ("queries", true, AROUND),
        ("residual", false, NESTED),
        ("queries", true, NESTED),
        ("queries", false, NESTED),
        ("residual", false, BELOW),
        ("wavelet", true, SHIFTED),
    ]
    .into_iter()
    .take(tries(4, 7))
    {
        let spec = spec(&text(strategy, laplace, mode, ""));
        let plans = planned(&spec).plans;
        let cube = cube_of(&spec, &plans[0]);
        let laws: Vec<[ErrorLaw; 3]> = plans.iter().map(|p| laws(&cube, p)).collect();
        let levels = [0.5, 0.8, 0.95];
        let halves: Vec<Vec<[f64; 3]>> = laws
            .iter()
            .map(|laws| laws.iter().map(|law| levels.map(|level| law.half_width(level))).collect())
            .collect();
        // What each law says, which on a coarse lattice is above the level.
        let mut covered: BTreeMap<(usize, usize, usize), u32> = BTreeMap::new();
        let mut squares = vec![[0.0; 3]; plans.len()];
        for seed in 0..runs {
            for (k, values) in measured(&cube, &plans, 7000 + u64::from(seed)).into_iter().enumerate() {
                for (q, estimate) in estimates(&cube, &plans[k], values).into_iter().enumerate() {
                    let error = estimate - truth[q];
                    squares[k][q] += error * error / f64::from(runs);
                    for l in 0..levels.len() {
                        let inside = error.abs() <= halves[k][q][l] + 1e-9;
                        *covered.entry((k, q, l)).or_default() += u32::from(inside);
                    }
                }
            }
        }
        for (&(k, q, l), &count) in &covered {
            let law = &laws[k][q];
            let (half, level) = (halves[k][q][l], levels[l]);
            let said = 1.0 - 2.0 * law.sf(half + 1e-9);
            let found = f64::from(count) / f64::from(runs);
            let one = (said * (1.0 - said) / f64::from(runs)).sqrt().max(1e-4);
            let who = format!("{strategy} {laplace} {mode}: copy {k}, query {q}, level {level}");
            // Tails of laws without a lattice are smoothed a little, half-widths are not: only those are bounds.
            assert!(said >= level - 2e-3, "{who}: {said}");
            assert!((found - said).abs() < 4.5 * one + 2e-3, "{who}: {found} of {said}");
        }
        for (k, squares) in squares.iter().enumerate() {
            for (q, square) in squares.iter().enumerate() {
                let ratio = square / laws[k][q].variance();
                // The kurtosis of no law here is above 6.
                assert!(
                    (ratio - 1.0).abs() < 4.5 * (5.0 / f64::from(runs)).sqrt(),
                    "{strategy} {mode} {k} {q}: {ratio}"
                );
            }
        }
        if mode != NESTED && strategy == "queries" {
            // The centre is in a cell; in a difference it cancels.
            let centred =
                |law: &ErrorLaw| law.terms().iter().any(|t| matches!(t.noise, NoiseLaw::Uniform { .. }));
            assert!(centred(&laws[0][0]) && centred(&laws[0][1]) && !centred(&laws[0][2]));
        }
    }
}

#[test]
fn colluders_of_shifted_copies_get_what_is_predicted_and_of_nested_ones_nothing() {
    for laplace in [true, false].into_iter().take(tries(1, 2)) {
        let runs = tries(200, 1000) as u32;
        let averages = |mode: &str| {
            let spec = spec(&text("queries", laplace, mode, ""));
            let plans = planned(&spec).plans;
            let laws: Vec<ErrorLaw> = plans.iter().map(|p| laws(&spec.cube, p)[0].clone()).collect();
            let weights: Vec<f64> = laws.iter().map(|l| 1.0 / l.variance()).collect();
            let total: f64 = weights.iter().sum();
            let (mut best, mut average, mut sum) = (0.0, 0.0, 0.0);
            for seed in 0..runs {
                let copies = measured(&spec.cube, &plans, 90_000 + u64::from(seed)).into_iter().zip(&plans);
                let errors: Vec<f64> =
                    copies.map(|(values, p)| estimates(&spec.cube, p, values)[0] - 8.0).collect();
                best += errors[0] * errors[0] / f64::from(runs);
                let mean: f64 = errors.iter().zip(&weights).map(|(e, w)| e * w / total).sum();
                average += mean * mean / f64::from(runs);
                sum += mean / f64::from(runs);
            }
            (best, average, sum, 1.0 / total)
        };
        let (best, average, sum, predicted) = averages(if laplace { AROUND } else { SHIFTED });
        let near = 4.5 * (3.0 / f64::from(runs)).sqrt();
        assert!((average / predicted - 1.0).abs() < near, "{laplace}: {average} {predicted}");
        assert!(sum.abs() < 4.5 * (predicted / f64::from(runs)).sqrt(), "{laplace}: {sum}");
        assert!(average < 0.95 * best, "{laplace}: three copies are better than one");
        let (best, average, _, independent) = averages(NESTED);
        // Were they independent, the average would be better than the best copy. It is worse.
        assert!(average > best && independent < 0.97 * best, "{laplace}: {average} {best} {independent}");
    }
}

/// A release of made-up rows.
fn released(dir: &Path, spec: &Spec) -> Released {
    let data = dir.join("rows.csv");
    let mut lines = String::from("sex,age,who\n");
    for i in 0..40 {
        lines.push_str(&format!("{},{},{}\n", if i % 3 == 0 { "F" } else { "M" }, i % 8, i / 4));
    }
    std::fs::write(&data, lines).unwrap();
    let key = SigningKey::throw_away().unwrap();
    let options = Options {
        out: dir,
        data: Some((&data).into()),
        counts: None,
        ledger: &dir.join("ledger.jsonl"),
        key: &key,
        replace: false,
        day: "2026-01-31",
        entropy: Entropy::from_os().unwrap(),
    };
    release(spec, options, &Means::default()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn every_strategy_makes_copies_that_verify_and_answer() {
    let mut made = 0;
    for strategy in
        ["auto", "base", "wavelet", "residual", "queries", "hierarchy", "cluster", "tables", "fourier"]
            .into_iter()
            .take(tries(2, 9))
    {
        for laplace in [false, true] {
            for mode in [NESTED, if laplace { SHIFTED } else { BELOW }] {
                let mut text = text(strategy, laplace, mode, "");
                if strategy == "base" {
                    let unit = "unit = { column = \"who\", max_rows = 2 }\nmeasure_truncation = true";
                    text = text.replace("unit = \"row\"", unit);
                }
                let spec = spec(&text);
                if Job::of(&spec, Look::Needed).is_err() {
                    continue;
                }
                made += 1;
                let dir = tempfile::tempdir().unwrap();
                let released = released(dir.path(), &spec);
                let files: Vec<_> = std::iter::once(&released.sealed).chain(&released.further).collect();
                assert_eq!(files.len(), 3);
                let mut costs = Vec::new();
                for (file, name) in files.iter().zip(["office", "school", "press"]) {
                    assert!(file.path.ends_with(format!("shop-{name}.margins")));
                    let release = Release::open(&file.path).unwrap();
                    let audit = crate::audit::audit(&release, None).unwrap();
                    assert!(audit.passed(), "{strategy} {laplace} {mode}\n{}", audit.to_text(name));
                    assert!(
                        audit.checks.iter().any(|c| c.what == "recipient" && c.outcome == Outcome::Passed)
                    );
                    let manifest = release.manifest();
                    let recipient = manifest.recipient.as_ref().unwrap();
                    assert_eq!((recipient.name.as_str(), recipient.copies), (name, 3));
                    assert_eq!(recipient.joint_cost.amount, released.job.cost());
                    assert!(manifest.privacy.cost.amount <= manifest.privacy.budget.amount);
                    costs.push(manifest.privacy.cost.amount.to_f64());
                    let answers = Answers::open(&file.path).unwrap();
                    let table =
                        answers.query("SELECT age.half, COUNT(*) FROM shop GROUP BY age.half", 0.9).unwrap();
                    assert_eq!(table.rows.len(), 2);
                    assert_eq!(table.notes.iter().any(|n| n.contains("secret whole number")), mode != NESTED);
                }
                // What is charged: the most precise one's cost, or the sum.
                let joint = if mode == NESTED { costs[0] } else { costs.iter().sum() };
                assert!((released.job.cost().to_f64() / joint - 1.0).abs() < 1e-12, "{costs:?}");
                let lines = std::fs::read_to_string(dir.path().join("ledger.jsonl")).unwrap();
                assert!(lines.contains(&format!("\"charged\":\"{}\"", released.job.cost())), "{lines}");
                assert!(costs.windows(2).all(|w| w[1] < w[0]), "{costs:?}");
            }
        }
    }
    assert!(made >= tries(6, 26), "{made}");
}

#[test]
fn copies_asked_together() {
    let sql = "SELECT sex, COUNT(*) FROM shop GROUP BY sex";
    for mode in [NESTED, SHIFTED] {
        let dir = tempfile::tempdir().unwrap();
        let released = released(dir.path(), &spec(&text("queries", true, mode, "")));
        let files: Vec<_> =
            std::iter::once(&released.sealed).chain(&released.further).map(|s| s.path.clone()).collect();
        let open =
            |at: &[usize]| Several::new(at.iter().map(|&i| Answers::open(&files[i]).unwrap()).collect());
        let options = crate::answer::Options::at(0.9);
        let figures = |several: &Several| -> Vec<(f64, f64)> {
            let table = several.ask(sql, &options).unwrap();
            let cell = |c: &crate::render::ResultCell| match c {
                crate::render::ResultCell::Figure(f) => Some((f.estimate, f.std_error)),
                _ => None,
            };
            table.rows.iter().filter_map(|r| r.iter().find_map(cell)).collect()
        };
        let best = open(&[0]).unwrap();
        for at in [&[0, 1, 2][..], &[2, 1, 0], &[1, 0]] {
            let together = open(at).unwrap();
            let notes = together.ask(sql, &options).unwrap().notes;
            if mode == NESTED {
                // The best one's own answer, and a word on each that was left aside.
                assert_eq!(figures(&together), figures(&best));
                assert_eq!(
                    notes.iter().filter(|n| n.contains("adds nothing to that of office")).count(),
                    at.len() - 1
                );
                assert_eq!(together.releases().len(), 1);
            } else {
                // Independent of each other: their mean is better than each.
                assert!(figures(&together).iter().zip(&figures(&best)).all(|(t, b)| t.1 < 0.9 * b.1));
                assert_eq!(together.releases().len(), at.len());
            }
        }
        assert!(open(&[1, 1]).is_err());
        // Copies of another measuring are no copies of this one, and nothing says that they are of the same people.
        let elsewhere = tempfile::tempdir().unwrap();
        let again = self::released(elsewhere.path(), &spec(&text("queries", true, mode, "")));
        let mixed = vec![Answers::open(&files[0]).unwrap(), Answers::open(&again.sealed.path).unwrap()];
        assert!(Several::new(mixed).is_err());
    }
}

#[test]
fn margins_are_kept_by_as_little_as_does() {
    for (laplace, mode, margin) in [(true, NESTED, 40), (false, NESTED, 40), (false, SHIFTED, 60)] {
        let key = if laplace { "epsilon" } else { "rho" };
        let text = text("queries", laplace, mode, "").replace(
            &format!("name = \"press\"\n{key} = \"1/20\""),
            &format!("name = \"press\"\nmargin = {margin}"),
        );
        let copies = planned(&spec(&text));
        let press = copies.plans.iter().position(|p| p.recipient() == Some("press")).unwrap();
        let half = copies.margins[press].unwrap();
        assert!(half <= f64::from(margin) && half >= 0.93 * f64::from(margin), "{laplace} {mode}: {half}");
    }
    let text = text("queries", true, NESTED, "")
        .replace("name = \"press\"\nepsilon = \"1/20\"", "name = \"press\"\nmargin = 2");
    let refused = Job::of(&spec(&text), Look::Needed).unwrap_err().to_string();
    assert!(refused.contains("`press` wants every cell to within 2"), "{refused}");
}

/// A margin behind a copy of a fixed budget: its noise is whole numbers in three steps, and verifying, of which planning is a rehearsal, counts them, too.
#[test]
fn a_margin_behind_another_copy_can_be_verified() {
    let text = "name = \"s\"\ntitle = \"T\"\ndemo = true\n[privacy]\nunit = \"row\"\nrho = 2\n[[dimension]]\nname = \"a\"\ncodes = 7\n\
                [[table]]\nof = [\"a\"]\n[[table]]\nof = []\n[strategy]\nmeasure = \"wavelet\"\nbudgets = \"uniform\"\n\
                [[recipient]]\nname = \"r1\"\nrho = 2\n[[recipient]]\nname = \"r2\"\nrho = \"1/50\"\n[[recipient]]\nname = \"r3\"\nmargin = 60\n";
    plan(&spec(text), Look::Needed, "2026-01-31").unwrap();
}

/// What may be spent on a copy is what its recipient may have, whatever plan claims to be its copy.
#[test]
fn plans_that_are_not_copies_of_one_measuring_are_refused() {
    let spec = spec(&text("queries", false, NESTED, ""));
    let plans = planned(&spec).plans;
    let refused = |plans: Vec<Plan>| Copies::new(plans).is_err();
    assert!(!refused(plans.clone()));
    assert!(refused(Vec::new()) && refused(plans[..2].to_vec()) && refused(plans[1..].to_vec()));
    let mut swapped = plans.clone();
    swapped.swap(1, 2);
    assert!(refused(swapped));
    let mut less = plans.clone();
    less[2].rows_mut().measurements[0].scale = less[1].rows().measurements[0].scale;
    assert!(refused(less));
    let mut mixed = plans.clone();
    if let Some(copy) = mixed[1].copy.as_mut() {
        copy.mode = Mode::Shifted { centres: Centres::new(0, 6).unwrap() };
    }
    assert!(refused(mixed));
    // A copy is not measured by itself: its own cost would be charged for the most precise one's noise.
    let charge = |_| Ok::<(), std::fmt::Error>(());
    assert!(Charged::plan(&spec.cube, plans[2].clone(), charge).is_err());
    assert_eq!(Job::of(&spec, Look::Needed).unwrap().currency(), Currency::Rho);
}

/// Where noise is about a count at the whole budget, the plan for a wide margin is another one, on another lattice.
#[test]
fn wide_margins_do_not_take_the_whole_budget() {
    let text = |rho: &str, margin: &str, mode: &str| {
        format!(
            "name = \"t\"\ntitle = \"t\"\n[data]\npath = \"d.csv\"\n[privacy]\nunit = \"row\"\nrho = {rho}\n[[dimension]]\nname = \"sex\"\n\
             categories = [\"F\", \"M\"]\n[[dimension]]\nname = \"kids\"\nrange = [0, 4]\n[[table]]\nof = [\"sex\"]\n{mode}\n\
             [[recipient]]\nname = \"press\"\nmargin = {margin}\n"
        )
    };
    let shifted = "[recipients]\nmode = \"shifted\"\nmean = 1";
    let cases = [
        ("\"1/2\"", "50", ""),
        ("1", "4", ""),
        ("4", "20", ""),
        ("1", "300", ""),
        ("4", "447", shifted),
        ("20", "62", ""),
    ];
    for (rho, margin, mode) in cases {
        let copies = planned(&spec(&text(rho, margin, mode)));
        let (half, most) = (copies.margins[0].unwrap(), margin.parse::<f64>().unwrap());
        assert!(half <= most && half >= 0.85 * most, "{rho} {margin} {mode}: {half}");
        // Whoever wants the same has the same.
        let two = format!("{}[[recipient]]\nname = \"school\"\nmargin = {margin}\n", text(rho, margin, mode));
        let plans = planned(&spec(&two)).plans;
        assert_eq!(plans[0].budget, plans[1].budget, "{rho} {margin} {mode}");
    }
}

/// A margin is one of cells, and there are none beside questions; units that were cut are counted there as beside tables.
#[test]
fn questions_take_no_margins_and_count_cut_units() {
    let text = |more: &str| {
        format!(
            "name = \"t\"\ntitle = \"t\"\n[data]\npath = \"d.csv\"\n[privacy]\nunit = {{ column = \"who\", max_rows = 2 }}\nrho = 4\n\
             measure_truncation = true\n[[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n[asked]\n\
             queries = [\"SELECT sex, COUNT(*) FROM t GROUP BY sex\"]\n{more}"
        )
    };
    let refused = Job::of(&spec(&text("[[recipient]]\nname = \"press\"\nmargin = 50\n")), Look::Needed);
    assert!(refused.unwrap_err().to_string().contains("give it a budget"));
    let plan = planned(&spec(&text("[[recipient]]\nname = \"press\"\nrho = 1\n"))).plans.remove(0);
    assert_eq!(plan.channels.len(), 2);
}

/// So many different margins that finding the noise for them would take long are refused, whatever they are.
#[test]
fn too_many_margins_are_refused() {
    let text = |margin: fn(usize) -> usize| {
        let all: String =
            (0..130).map(|i| format!("[[recipient]]\nname = \"r{i}\"\nmargin = {}\n", margin(i))).collect();
        format!("{HEAD}[privacy]\nunit = \"row\"\nrho = \"1/2\"\n[recipients]\nmode = \"nested\"\n{all}")
    };
    let planned = |text: &str| Job::of(&spec(text), Look::Needed).map(drop).map_err(|e| e.to_string());
    let why = planned(&text(|i| 40 + i)).unwrap_err();
    assert!(why.contains("recipients want 130 different margins of 2 tables"), "{why}");
    // So many recipients take long to plan for where nothing is optimised.
    if tries(0, 1) == 1 {
        assert_eq!(planned(&text(|i| 40 + i % 3)), Ok(()));
    }
}
