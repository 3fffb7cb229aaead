//! Small cubes, small datasets, and releases of them in memory.

use crate::dense::{grouped, plain};
use margins::cube::{Cube, Cuboid};
use margins::exact::Rational;
use margins::plan::{BudgetRule, Measure, Noise, Plan, Table};
use margins::planner::{PlanError, Planned, Request, plan};
use margins::secret::Charged;
use margins::secret::ingest::Rows;
use margins::secret::measure::measure;
use margins::secret::noise::Entropy;
use margins::watch::Watch;
use std::convert::Infallible;

/// Three plain dimensions.
pub(crate) fn plain_cube() -> Cube {
    Cube { dimensions: vec![plain("a", 2), plain("b", 3), plain("c", 2)] }
}

/// Equal sibling groups: least squares decouples.
pub(crate) fn equal_cube() -> Cube {
    Cube { dimensions: vec![grouped("a", &[2, 2]), plain("b", 3)] }
}

/// Unequal sibling groups, one of them of a single node.
pub(crate) fn unequal_cube() -> Cube {
    Cube { dimensions: vec![grouped("a", &[2, 3, 1]), plain("b", 2)] }
}

/// The tables `shapes` asks for, all of weight 1.
pub(crate) fn workload(shapes: &[&[(usize, usize)]]) -> Vec<Table> {
    shapes.iter().map(|s| Table::new(Cuboid::new(s.to_vec()), Rational::ONE)).collect()
}

/// The finest levels of two dimensions together, and what rolls up from them.
pub(crate) fn mixed_workload(cube: &Cube) -> Vec<Table> {
    let finest = |d: usize| cube.dimensions[d].finest();
    if cube.dimensions.len() == 3 {
        workload(&[&[(0, 1), (1, 1)], &[(1, 1), (2, 1)], &[(0, 1)], &[]])
    } else {
        workload(&[&[(0, finest(0)), (1, 1)], &[(0, 1), (1, 1)], &[(0, 1)], &[]])
    }
}

/// What to ask of the planner.
pub(crate) fn request(cube: &Cube, workload: Vec<Table>, noise: Noise, budget: &str) -> Request {
    Request::new(cube.clone(), workload, noise, budget.parse().unwrap())
}

pub(crate) fn planned(mut request: Request, measure: Measure, budgets: BudgetRule) -> Planned {
    request.measure = Some(measure);
    request.budgets = budgets;
    plan(&request).unwrap()
}

/// The plan with optimal budgets; `None` where the strategy does not apply.
pub(crate) fn applicable(mut request: Request, measure: Measure) -> Option<Planned> {
    request.measure = Some(measure);
    match plan(&request) {
        Ok(planned) => Some(planned),
        Err(PlanError::NotApplicable(..)) => None,
        Err(e) => panic!("{e}"),
    }
}

/// Rows that are the same on every run: finest nodes, one column a dimension.
pub(crate) fn rows(cube: &Cube, count: usize) -> Vec<Vec<u32>> {
    let mut state = 11u64;
    cube.dimensions
        .iter()
        .map(|d| {
            let nodes = d.levels[d.finest()].len() as u64;
            (0..count)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    ((state >> 33) % nodes) as u32
                })
                .collect()
        })
        .collect()
}

/// One release, kept in memory.
pub(crate) fn release(cube: &Cube, plan: &Plan, columns: &[Vec<u32>], seed: u64) -> Vec<Vec<i64>> {
    let nodes: Vec<u32> = cube.dimensions.iter().map(|d| d.levels[d.finest()].len() as u32).collect();
    let rows = Rows::from_codes(&nodes, columns).unwrap();
    let (charged, ()) = Charged::plan(cube, plan.clone(), |_| Ok::<(), Infallible>(())).unwrap();
    let mut out = Vec::new();
    measure(rows.into(), cube, charged, Entropy::fixed(seed), &Watch::default(), &mut |_, values| {
        out.push(values.iter().map(|v| v as i64).collect());
        Ok(())
    })
    .unwrap();
    out
}
