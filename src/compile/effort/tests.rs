use super::super::tests::{plan_of, released_from, spec};
use super::*;
use crate::compile::{self, CompileError, Job};
use crate::planner::{Look, PlanError};
use crate::release::Release;
use crate::secret::ingest::Memory;
use std::fmt::Write as _;

/// A spec over dimensions of these sizes, and rows with skewed codes.
fn made_up(sizes: &[u32], budget: &str, tables: &str, strategy: &str, rows: usize) -> (String, String) {
    let mut text = format!("name = \"m\"\ntitle = \"M\"\ndemo = true\n[privacy]\nunit = \"row\"\n{budget}\n");
    for (i, n) in sizes.iter().enumerate() {
        let _ = write!(text, "[[dimension]]\nname = \"a{i}\"\nrange = [0, {}]\n", n - 1);
        if *n > 20 {
            let _ = writeln!(text, "levels = [{{ name = \"band\", cuts = [3, 11] }}]");
        }
    }
    let _ = write!(text, "{tables}\n[strategy]\nmeasure = \"{strategy}\"\n");
    let names: Vec<String> = (0..sizes.len()).map(|i| format!("a{i}")).collect();
    let mut csv = names.join(",") + "\n";
    let mut state = 7u64;
    for _ in 0..rows {
        let mut code = |n: &u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (((state >> 33) as u32 % n).min((state >> 13) as u32 % n)).to_string()
        };
        let codes: Vec<String> = sizes.iter().map(&mut code).collect();
        csv.push_str(&(codes.join(",") + "\n"));
    }
    (text, csv)
}

/// What is said before data is seen, of what is there afterwards: the work to the last one, the file within a factor two.
#[test]
fn what_it_takes_is_what_it_took() {
    let (gauss, laplace) = ("rho = \"1/2\"", "epsilon = 1.0");
    let wide = [30, 9, 25, 16, 7, 15, 6];
    let banded = "[[table]]\nup_to = 2\n[[table]]\nof = [\"a0.band\", \"a2.band\", \"a1\"]";
    for (sizes, budget, tables, strategy, rows) in [
        (&[2u32][..], gauss, "[[table]]\nof = [\"a0\"]", "queries", 9),
        (&[2, 3, 2, 4], "rho = \"1/1000000\"", "[[table]]\nevery = 2", "residual", 100),
        (&wide, gauss, "[[table]]\nup_to = 3", "residual", 2000),
        (&wide, laplace, "[[table]]\nup_to = 3", "queries", 2000),
        (&wide, "epsilon = 50", banded, "hierarchy", 20_000),
        (&wide, laplace, banded, "fourier", 50),
    ] {
        let (text, csv) = made_up(sizes, budget, tables, strategy, rows);
        let spec = spec(&text);
        let job = match Job::of(&spec, Look::Needed) {
            Err(CompileError::Plan(PlanError::NotApplicable(..))) if strategy == "fourier" => continue,
            job => job.unwrap(),
        };
        let e = job.effort(&spec, Memory::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let made = released_from(folder.path(), &spec, &csv);
        let plan = plan_of(&made);
        let bytes = std::fs::metadata(&made.sealed.path).unwrap().len() as f64;
        let ratio = e.work.file / bytes;
        assert!((0.5..=2.0).contains(&ratio), "{strategy} {sizes:?}: {} said, {bytes} there", e.work.file);
        assert_eq!(e.work.values, made.values as f64);
        assert_eq!(e.work.measurements, plan.rows().measurements.len() as f64);
        let release = Release::open(&made.sealed.path).unwrap();
        let frame = Frame::new(&release.cube().unwrap(), &plan.levels);
        let cells: f64 = plan.rows().measurements.iter().map(|m| frame.len(m.block.cuboid()) as f64).sum();
        assert_eq!(e.work.cells, cells);
        assert!(e.release.seconds > 0.0 && e.row.seconds > 0.0 && e.answer.seconds > 0.0);
        assert!(e.release.memory > 1e6 && e.answer.memory > 1e6);
    }
}

#[test]
fn more_takes_more() {
    let of = |tables: &str| {
        let (text, _) = made_up(&[40, 30, 60], "rho = 1", tables, "queries", 0);
        let spec = spec(&text);
        Job::of(&spec, Look::Needed).unwrap().effort(&spec, Memory::default()).unwrap()
    };
    let (small, large) = (of("[[table]]\nevery = 1"), of("[[table]]\nup_to = 3"));
    assert!(small.work.file < large.work.file && small.release.seconds < large.release.seconds);
    assert!(small.answer.seconds < large.answer.seconds && small.answer.memory < large.answer.memory);
    assert_eq!((small.dominant, large.dominant), (None, None));
}

#[test]
fn what_grew_is_named() {
    let (text, _) = made_up(&[120, 100, 110, 5], "rho = 1", "[[table]]\nevery = 3", "queries", 0);
    let spec = spec(&text);
    let e = Job::of(&spec, Look::Needed).unwrap().effort(&spec, Memory::default()).unwrap();
    let (at, part) = e.dominant.unwrap();
    assert_eq!(spec.workload[at].cuboid.len(), 3);
    let all = 120.0 * 100.0 * 110.0 + 5.0 * (120.0 * 100.0 + 120.0 * 110.0 + 100.0 * 110.0);
    assert!((part - 1_320_000.0 / all).abs() < 1e-9, "{part}");
}

/// What no release has room for is refused by the table's name, whatever the strategy, before anything is worked out.
#[test]
fn what_cannot_be_is_refused_by_name() {
    for (sizes, strategy) in [
        (&[1200u32, 1200, 1200][..], "auto"),
        (&[1200, 1200, 1200], "wavelet"),
        (&[60_000, 60_000, 60_000, 60_000, 60_000], "residual"),
    ] {
        let names: Vec<String> = (0..sizes.len()).map(|i| format!("\"a{i}\"")).collect();
        let tables = format!("[[table]]\nof = [\"a0\"]\n[[table]]\nof = [{}]", names.join(", "));
        let (text, _) = made_up(sizes, "rho = 1", &tables, strategy, 0);
        let why = compile::plan(&spec(&text), Look::Everywhere, "2026-01-31").unwrap_err();
        let CompileError::Plan(PlanError::TooLarge(table, cells)) = &why else { panic!("{why}") };
        assert!(table.starts_with("a0 × a1 × a2"), "{table}");
        assert_eq!(cells, if sizes.len() == 3 { "1728000000" } else { "7.8e23" });
    }
}

/// Where answering the plan that was taken takes long, another is spoken of: the very one that its name gives, as quick and as exact as is said.
#[test]
fn what_is_spoken_of_instead_is_to_be_had() {
    let job_of = |measure: &str, budget: &str| {
        let (text, _) = made_up(&[24, 9, 25], budget, "[[table]]\nup_to = 2", measure, 0);
        let spec = spec(&text);
        let job = Job::of(&spec, Look::Needed).unwrap();
        let own = job.effort(&spec, Memory::default()).unwrap();
        let Job::Tables(choice) = job else { panic!() };
        (spec.request().unwrap(), *choice, own)
    };
    let (asked, choice, own) = job_of("auto", "rho = \"1/2\"");
    assert_eq!(instead(&asked, &choice, &own), None, "it is quick enough");
    let slow = |own: &Effort| {
        let mut own = own.clone();
        own.answer.seconds = 10.0;
        own
    };
    let found = instead(&asked, &choice, &slow(&own)).unwrap();
    let (named, other, quick) = job_of(found.measure.name(), "rho = \"1/2\"");
    let ratio = other.planned.score(&asked) / choice.planned.score(&asked);
    assert!((found.error - ratio.sqrt()).abs() < 1e-12 && (1.0..LITTLE).contains(&found.error), "{found:?}");
    assert_eq!(found.seconds, [quick.answer.seconds, 10.0]);
    assert!((found.file[0] / quick.work.file - 1.0).abs() < 0.01, "{found:?} {:?}", quick.work);
    // Whoever names a strategy has chosen.
    assert_eq!(instead(&named, &other, &slow(&quick)), None);
}
