//! The plans that the tests of `margins-evaluator` stand on, made by the planner. That package knows of no planner, so it reads their bytes.
//!
//! `UPDATE=1 cargo test --test vectors plans` writes what the planner makes now; read why it changed before keeping it.

use margins::cube::Cuboid;
use margins::exact::Rational;
use margins::plan::{Measure, Noise, Table};
use margins::planner::{self, Request};
use margins::release::wire;
use std::path::Path;

const PLANS: [(Noise, Measure, &str); 15] = [
    (Noise::Gaussian, Measure::Residual, "1/20"),
    (Noise::Gaussian, Measure::Residual, "1"),
    (Noise::Gaussian, Measure::Queries, "1/20"),
    (Noise::Gaussian, Measure::Queries, "2"),
    (Noise::Gaussian, Measure::Queries, "4"),
    (Noise::Gaussian, Measure::Base, "1/2"),
    (Noise::Laplace, Measure::Hierarchy, "1/20"),
    (Noise::Laplace, Measure::Queries, "1/20"),
    (Noise::Laplace, Measure::Queries, "1/10"),
    (Noise::Laplace, Measure::Queries, "1/5"),
    (Noise::Laplace, Measure::Queries, "4"),
    (Noise::Laplace, Measure::Queries, "6"),
    (Noise::Laplace, Measure::Base, "1/20"),
    (Noise::Laplace, Measure::Base, "1/5"),
    (Noise::Laplace, Measure::Base, "3"),
];

#[test]
fn the_planner_makes_the_plans_that_answers_are_tested_with() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("evaluator/tests/plans");
    let cube = wire::decode_domain(&std::fs::read(folder.join("domain")).unwrap()).unwrap();
    for (noise, measure, budget) in PLANS {
        let workload = [vec![(0, 1), (1, 1)], vec![(0, 1), (2, 2)], vec![(1, 1)]];
        let workload = workload.map(|t| Table::new(Cuboid::new(t), Rational::ONE)).to_vec();
        let plain = Request::new(cube.clone(), workload, noise, budget.parse().unwrap());
        let plan = planner::plan(&Request { measure: Some(measure), ..plain }).unwrap().plan;
        let bytes = wire::encode_plan(&plan, &cube).unwrap();
        let file = folder.join(format!(
            "{}-{}-{}",
            noise.name().to_lowercase(),
            measure.name(),
            budget.replace('/', "_")
        ));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&file, &bytes).unwrap();
        }
        assert!(std::fs::read(&file).unwrap() == bytes, "{}", file.display());
    }
}
