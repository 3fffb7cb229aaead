//! Faults that are planted in the product, each found by an audit; and faults that no statistic sees, which exact tests find.
//!
//! **Power.** With so few releases an audit finds a cost of half as much again, nine times out of ten, under either noise: it says so itself, and each case asks it. The
//! mildest fault, noise a tenth too small, costs a quarter more under Gaussian noise and a ninth under Laplace noise: it has audits of more releases.

use super::super::found::Findings;
use super::{audited, heavy_total, spec};
use crate::audit::found::{Effort, audit};
use crate::audit::samples::Seeds;
use margins::Spec;
use margins::cli::Failure;
use margins::numeric::tries::tries;
use margins::planted::{Planted, plant};
use margins::watch::Watch;
use std::sync::atomic::AtomicU64;

const ROW: &str = "unit = \"row\"\n";
const RHO: &str = "rho = \"1/2\"\n";
const EPSILON: &str = "epsilon = 1\n";
const TWO: &str = "[strategy]\nmeasure = \"queries\"\n[[table]]\nof = [\"sex\"]\n[[table]]\nof = [\"age\"]\n";

/// Either noise; Gaussian alone in quick builds.
fn budgets() -> impl Iterator<Item = &'static str> {
    [RHO, EPSILON].into_iter().take(tries(1, 2))
}

/// The audit of a spec that is planned and released with a fault; or why there is none.
fn planted(fault: Planted, spec: &Spec, releases: usize) -> Result<Findings, String> {
    // The fault is there on one thread alone: plans are made on it, and every thread that makes releases has its own.
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let plan = alone.install(|| {
        plant(Some(fault));
        spec.plan().unwrap_or_else(|e| panic!("{e}"))
    });
    let effort = Effort { releases, alpha: 1e-3, power: 0.9 };
    let found = audit(
        &plan,
        &effort,
        Seeds::Counted(AtomicU64::new(7 << 32)),
        &|| plant(Some(fault)),
        &Watch::default(),
    );
    found.map_err(|failure| match failure {
        Failure::Message(text) | Failure::Refused(text) | Failure::Rendered(text) => text,
        Failure::Refuted => "refuted".into(),
    })
}

/// The fault is found, and nothing is found without it.
fn caught(fault: Planted, spec: &Spec, releases: usize) -> Findings {
    let found = planted(fault, spec, releases).unwrap_or_else(|e| panic!("{fault:?}: {e}"));
    assert!(found.refuted(), "{fault:?} is not found: {found:?}");
    let sound = audited(spec, releases, 1e-3, 7);
    assert!(!sound.refuted(), "{sound:?}");
    let found_beyond = |b: &super::super::found::Bound| b.detected.is_none_or(|d| d < 1.5 * b.claim);
    assert!(sound.bounds.first().is_some_and(found_beyond), "so few releases find too little: {sound:?}");
    found
}

/// Which bounds are above their claims.
fn above(found: &Findings) -> Vec<&str> {
    found.bounds.iter().filter(|b| b.least > b.claim).map(|b| &b.way[..]).collect()
}

#[test]
fn noise_a_tenth_too_small() {
    caught(Planted::SmallNoise, &spec(&format!("{ROW}{RHO}"), TWO), tries(400, 2000));
    caught(Planted::SmallNoise, &spec(&format!("{ROW}{EPSILON}"), TWO), tries(500, 2000));
}

#[test]
fn one_row_is_charged_instead_of_three() {
    let unit = "unit = { column = \"who\", max_rows = 3 }\n";
    for budget in budgets() {
        caught(Planted::OneRow, &spec(&format!("{unit}{budget}"), TWO), tries(230, 1000));
    }
}

#[test]
fn values_that_go_are_not_charged() {
    let spec = spec(&format!("{ROW}neighbours = \"substitute\"\n{RHO}"), &heavy_total("1e5"));
    let found = caught(Planted::LostValues, &spec, tries(200, 1000));
    assert!([&found.pair.0, &found.pair.1].iter().any(|one| one.contains("not known")), "{found:?}");
}

#[test]
fn a_measurement_that_is_not_charged() {
    for budget in budgets() {
        caught(Planted::Forgotten, &spec(&format!("{ROW}{budget}"), TWO), tries(200, 1000));
    }
}

#[test]
fn noise_that_two_tables_share() {
    let found = caught(Planted::Reused, &spec(&format!("{ROW}{RHO}"), TWO), tries(230, 1000));
    assert!(above(&found)[0].starts_with("covariance"), "{found:?}");
    let found = caught(Planted::Reused, &spec(&format!("{ROW}{EPSILON}"), TWO), tries(200, 1000));
    assert!(found.dependent, "{found:?}");
}

#[test]
fn a_copy_that_is_not_nested() {
    for (key, budget, most, less) in [("rho", RHO, "1/2", "2/5"), ("epsilon", EPSILON, "1", "4/5")] {
        let one =
            |name: &str, amount: &str| format!("[[recipient]]\nname = \"{name}\"\n{key} = \"{amount}\"\n");
        let copies = format!("{TWO}[recipients]\nmode = \"nested\"\n{}{}", one("a", most), one("b", less));
        caught(Planted::NotNested, &spec(&format!("{ROW}{budget}"), &copies), tries(200, 1000));
    }
}

/// A count that is rounded moves by ten or not at all: ten rows move it as far as they should, and only a single step shows it.
#[test]
fn counts_that_are_rounded_before_noise() {
    for budget in budgets() {
        let found = caught(Planted::Rounded, &spec(&format!("{ROW}{budget}"), TWO), tries(200, 1000));
        assert!(above(&found).iter().any(|way| way.contains("single steps")), "{found:?}");
    }
}

#[test]
fn sums_that_are_clamped_instead_of_values() {
    let amounts = "[[amount]]\nname = \"income\"\nlow = 0\nhigh = 1000\nstep = 10\nmeasure_clamping = true\n[[table]]\nof = [\"sex\"]\nsum = [\"income\"]\n";
    for budget in budgets() {
        let found = caught(Planted::ClampedSums, &spec(&format!("{ROW}{budget}"), amounts), tries(200, 1000));
        assert!(found.pair.1.contains("beyond"), "{found:?}");
    }
}

#[test]
fn rows_beyond_those_that_count() {
    let unit = "unit = { column = \"who\", max_rows = 3 }\n";
    for budget in budgets() {
        let found = caught(Planted::Unbounded, &spec(&format!("{unit}{budget}"), TWO), tries(200, 1000));
        assert!(found.pair.1.starts_with("11 rows"), "{found:?}");
    }
}

/// Neither a shift nor a tail shows it, but on which side of a threshold releases are.
#[test]
fn noise_that_depends_on_the_data() {
    for budget in budgets() {
        let found = caught(Planted::NoiseOfData, &spec(&format!("{ROW}{budget}"), TWO), tries(200, 1000));
        assert!(above(&found).iter().any(|way| way.starts_with("thresholds")), "{found:?}");
    }
}

#[test]
fn tables_whose_size_depends_on_the_data() {
    let why = planted(Planted::Shaped, &spec(&format!("{ROW}{RHO}"), TWO), 100).unwrap_err();
    assert!(why.starts_with("how many integers a release has depends on the rows"), "{why}");
}

/// What no statistic sees is not found here; the tests that find it are named in docs/testing.md.
#[test]
fn faults_that_no_statistic_sees() {
    for fault in [Planted::ScaleOff, Planted::NoTails, Planted::RoundedDown] {
        for budget in budgets() {
            let found = planted(fault, &spec(&format!("{ROW}{budget}"), TWO), tries(130, 1000)).unwrap();
            assert!(!found.refuted(), "{fault:?}: {found:?}");
        }
    }
}

/// What is made with a fault is signed by no key.
#[test]
fn what_is_made_with_a_fault_is_not_private() {
    use margins::{Frame, Held, ReleaseOptions};
    let spec = spec(&format!("{ROW}{RHO}"), TWO);
    let refusal = |fault: Option<Planted>| {
        let folder = tempfile::tempdir().unwrap();
        let mut rows = Frame::new(vec![("sex".into(), Held::Text), ("age".into(), Held::Whole)]);
        ["F", "1"].iter().for_each(|cell| rows.cell(cell.as_bytes()));
        plant(fault);
        let options =
            ReleaseOptions::new().out(folder.path()).ledger(folder.path().join("l.jsonl")).rows(&rows);
        let made = spec.release(options);
        plant(None);
        assert_eq!(made.is_ok(), folder.path().join("made.margins").exists());
        made.err().map(|e| e.to_string())
    };
    assert_eq!(refusal(None), None);
    let why = refusal(Some(Planted::SmallNoise)).unwrap();
    assert!(why.contains("NOT PRIVATE"), "{why}");
}
