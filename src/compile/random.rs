//! Small specs made at random: whatever a release would refuse, its plan refuses, and nothing panics.

use super::{Job, Options, plan, release};
use crate::numeric::tries::tries;
use crate::planner::Look;
use crate::release::{Release, SigningKey};
use crate::secret::ingest::Means;
use crate::secret::noise::Entropy;
use crate::spec::Spec;
use proptest::prelude::*;
use std::fmt::Write;
use std::path::Path;

#[derive(Debug, Clone)]
struct Case {
    spec: String,
    rows: String,
}

fn budget() -> impl Strategy<Value = String> {
    let amount = prop_oneof![
        3 => prop::sample::select(vec!["1/2", "1", "0.1", "17/3"]).prop_map(String::from),
        1 => (-36i32..20, 1u32..10).prop_map(|(e, m)| format!("{m}e{e}")),
    ];
    let delta = prop::sample::select(vec!["1e-9", "0.5", "1e-30"]);
    prop_oneof![
        amount.clone().prop_map(|a| format!("rho = \"{a}\"\n")),
        amount.clone().prop_map(|a| format!("epsilon = \"{a}\"\n")),
        (amount, delta).prop_map(|(a, d)| format!("epsilon = \"{a}\"\ndelta = \"{d}\"\n")),
    ]
}

/// The values of a dimension that has `n` of them, how it is declared, and its coarser level.
fn dimension(kind: usize, n: usize, at: usize, grouped: bool) -> String {
    let domain = match kind {
        0 => format!("categories = [{}]", (0..n).map(|i| format!("\"{i}\"")).collect::<Vec<_>>().join(", ")),
        1 => format!("range = [0, {}]", n - 1),
        _ => format!("codes = {n}"),
    };
    let levels = if grouped && kind > 0 && n > 2 { "levels = [{ name = \"g\", width = 2 }]\n" } else { "" };
    format!("[[dimension]]\nname = \"d{at}\"\n{domain}\n{levels}\n")
}

fn case() -> impl Strategy<Value = Case> {
    let dimensions = prop::collection::vec((0usize..3, 1usize..6, any::<bool>()), 1..4);
    let strategy = prop::sample::select(vec![
        "auto",
        "auto",
        "residual",
        "queries",
        "base",
        "hierarchy",
        "cluster",
        "tables",
        "wavelet",
        "fourier",
    ]);
    let rest = (
        prop::sample::select(vec!["add-remove", "substitute"]),
        prop::option::of(1u32..4),
        prop::sample::select(vec!["optimal", "uniform"]),
        prop::sample::select(vec!["total", "worst", "targets"]),
        prop::collection::vec((0usize..5, 0usize..3, prop::option::of(1u32..60)), 1..4),
        prop::collection::vec(any::<u16>(), 0..30),
        prop::bool::weighted(0.2),
    );
    (dimensions, budget(), strategy, rest).prop_map(
        |(dimensions, budget, measure, (neighbours, max_rows, budgets, objective, tables, cells, exact))| {
            let mut spec = String::from("name = \"r\"\ntitle = \"R\"\ndemo = true\n[privacy]\n");
            let unit =
                max_rows.map_or("\"row\"".into(), |n| format!("{{ column = \"who\", max_rows = {n} }}"));
            let _ = write!(spec, "unit = {unit}\nneighbours = \"{neighbours}\"\n{budget}\n");
            for (at, &(kind, n, grouped)) in dimensions.iter().enumerate() {
                spec.push_str(&dimension(kind, n, at, grouped));
            }
            for &(kind, which, margin) in &tables {
                let d = which % dimensions.len();
                let shape = match kind {
                    0 => "of = []".into(),
                    1 => format!("of = [\"d{d}\"]"),
                    2 => format!(
                        "of = [{}]",
                        (0..=d).map(|d| format!("\"d{d}\"")).collect::<Vec<_>>().join(", ")
                    ),
                    3 => format!("up_to = {}", d + 1),
                    _ => format!("every = {}", d + 1),
                };
                let margin = margin.map_or(String::new(), |m| format!("margin = {m}\n"));
                let _ = write!(spec, "[[table]]\n{shape}\n{margin}\n");
            }
            if exact {
                spec.push_str("[[table]]\nof = [\"d0\"]\nexact = true\nreason = \"known\"\n");
            }
            let _ = write!(
                spec,
                "[strategy]\nmeasure = \"{measure}\"\nbudgets = \"{budgets}\"\nobjective = \"{objective}\"\n"
            );
            let mut rows = String::from("who");
            (0..dimensions.len()).for_each(|at| {
                let _ = write!(rows, ",d{at}");
            });
            rows.push('\n');
            for (i, cell) in cells.iter().enumerate() {
                let _ = write!(rows, "{}", i % 7);
                for (at, &(_, n, _)) in dimensions.iter().enumerate() {
                    let _ = write!(rows, ",{}", (usize::from(*cell) >> at) % n);
                }
                rows.push('\n');
            }
            Case { spec, rows }
        },
    )
}

fn parse(text: &str) -> Option<Spec> {
    crate::spec::parse(text, Path::new("r.toml"), |_| Err(std::io::ErrorKind::NotFound.into())).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tries(12, 96) as u32))]

    #[test]
    fn what_release_refuses_plan_refuses(case in case()) {
        let Some(spec) = parse(&case.spec) else { return Ok(()) };
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("rows.csv");
        std::fs::write(&data, &case.rows).unwrap();
        let day = "2026-01-31";
        let planned = plan(&spec, Look::Needed, day);
        let ledger = dir.path().join("ledger.jsonl");
        let key = SigningKey::throw_away().unwrap();
        let options = Options {
            out: dir.path(),
            data: Some((&data).into()),
            counts: None,
            ledger: &ledger,
            key: &key,
            replace: false,
            day,
            entropy: Entropy::from_os().unwrap(),
        };
        let released = release(&spec, options, &Means::default());
        match (planned, released) {
            (Ok(planned), Ok(made)) => {
                prop_assert!(planned.cost() <= planned.budget() && !planned.cost().is_zero());
                let (Job::Tables(planned), Job::Tables(job)) = (planned, made.job) else {
                    return Err(TestCaseError::fail("tables became a projection"));
                };
                prop_assert_eq!(&planned.planned.plan, &job.planned.plan);
                let audit = crate::audit::audit(&Release::open(&made.sealed.path).unwrap(), None).unwrap();
                prop_assert!(audit.passed(), "{audit:?}\n{}", case.spec);
            }
            (Err(planned), Err(released)) => {
                prop_assert_eq!(planned.to_string(), released.to_string());
                prop_assert!(!ledger.exists(), "{}", case.spec);
            }
            (planned, released) => {
                let planned = planned.map(|p| p.cost());
                prop_assert!(false, "{planned:?} {:?}\n{}", released.map(|_| ()), case.spec);
            }
        }
    }
}
