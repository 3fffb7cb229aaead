//! Dimensions with a single category: they tell nothing, and every table with them must be there all the same, under every
//! strategy, both noises, with and without zeros, even where the data is one row.

use crate::dense::plain;
use margins::answer::Evaluator;
use margins::cube::{Cube, Cuboid, Frame, Level};
use margins::exact::Rational;
use margins::numeric::tries::tries;
use margins::plan::{Block, Measure, Noise, Plan, Table};
use margins::planner::{PlanError, Request, plan, strategy};
use margins::recover::Recovery;
use margins::release::wire;

/// a: two categories, b and d: one, c: three.
fn cube() -> Cube {
    Cube { dimensions: vec![plain("a", 2), plain("b", 1), plain("c", 3), plain("d", 1)] }
}

/// Tables at the finest levels.
fn tables(cube: &Cube) -> Vec<Cuboid> {
    let finest = |d: &[usize]| Cuboid::new(d.iter().map(|&d| (d, cube.dimensions[d].finest())));
    [&[0, 1][..], &[1], &[0, 1, 2], &[2, 3], &[], &[1, 3]].into_iter().map(finest).collect()
}

/// Counted the plain way, cell by cell. Only a and c tell cells apart.
fn counted(cube: &Cube, of: &Cuboid, truth: &[i64; 6]) -> Vec<i64> {
    let mut table = vec![0; of.iter().map(|level| level.of(cube).len()).product()];
    for (cell, count) in truth.iter().enumerate() {
        let finest = [cell / 3, 0, cell % 3, 0];
        let node = |level: Level| {
            let dimension = &cube.dimensions[level.dimension];
            dimension.ancestors(dimension.finest(), level.level)[finest[level.dimension]] as usize
        };
        table[of.iter().fold(0, |at, level| at * level.of(cube).len() + node(level))] += count;
    }
    table
}

/// What is measured, when no noise happens to be drawn.
fn measured(plan: &Plan, cube: &Cube, truth: &[i64; 6]) -> Vec<Vec<i64>> {
    let frame = Frame::new(cube, &plan.levels);
    let one = |block: &Block| {
        let table = counted(cube, block.cuboid(), truth);
        match block {
            Block::Table(_) => table,
            Block::Pairs(a) => frame.contrast(a, table).unwrap(),
            Block::Walsh(a) => frame.walsh(a, table).unwrap(),
            Block::Rows(_) => block.apply(&frame, table).unwrap(),
            Block::Based(_) => block.publish(&frame, block.apply(&frame, table).unwrap()).unwrap(),
            Block::Component(a) => {
                let scale = margins::plan::block::component_scale(&frame, a).unwrap() as i64;
                frame.contrast(a, table.iter().map(|v| v * scale).collect()).unwrap()
            }
        }
    };
    plan.rows().measurements.iter().map(|m| one(&m.block)).collect()
}

#[test]
fn tables_of_one_category_are_there() {
    let mut tried = 0;
    for measure in strategy::general() {
        for (noise, zeros) in [
            (Noise::Gaussian, false),
            (Noise::Gaussian, true),
            (Noise::Laplace, false),
            (Noise::Laplace, true),
        ] {
            let workload =
                tables(&cube()).into_iter().map(|cuboid| Table::new(cuboid, Rational::ONE)).collect();
            let mut request = Request::new(cube(), workload, noise, Rational::ONE);
            request.measure = Some(measure);
            if zeros {
                request.zeros = vec!["a = '0' AND c = '2'".into()];
            }
            let plan = match plan(&request) {
                Ok(planned) => planned.plan,
                Err(PlanError::NotApplicable(..)) => {
                    assert!(measure == Measure::Residual && noise == Noise::Laplace, "{measure:?} {noise:?}");
                    continue;
                }
                Err(e) => panic!("{measure:?} {noise:?}: {e}"),
            };
            // Readers accept what is planned.
            let cube = request.over(measure).cube.clone();
            let bytes = wire::encode_plan(&plan, &cube).unwrap();
            assert_eq!(
                wire::decode_plan(&bytes, &cube).unwrap().rows().measurements,
                plan.rows().measurements
            );
            for truth in [[0, 1, 0, 0, 0, 0], [40, 12, 0, 30, 25, 18]].into_iter().take(tries(1, 2)) {
                let values = measured(&plan, &cube, &truth);
                let recovery = Recovery::new(cube.clone(), plan.clone(), values).unwrap();
                let evaluator = Evaluator::new(recovery);
                for of in tables(&cube) {
                    let name = format!("{measure:?} {noise:?} zeros {zeros}: {}", cube.describe(&of));
                    assert!(evaluator.recovery().holds(&of), "{name} is not held");
                    let table = evaluator.recovery().table(&of).unwrap();
                    let want = counted(&cube, &of, &truth);
                    assert_eq!(table.len(), want.len(), "{name}");
                    for (found, want) in table.iter().zip(&want) {
                        assert!((found - *want as f64).abs() < 1e-6, "{name}: {table:?}, not {want:?}");
                    }
                    let law = evaluator.worst_cell_law(&of).unwrap();
                    assert!(law.variance() > 0.0 && law.variance().is_finite(), "{name}: {}", law.variance());
                }
                tried += 1;
            }
        }
    }
    assert_eq!(tried, (2 * strategy::general().count() - 1) * 2 * tries(1, 2));
}
