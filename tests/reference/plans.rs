//! Plans against dense linear algebra and closed forms.

use crate::dense::{
    Blue, Measured, cube_of_plan, grouped, measured, noise_variance, plain, table_matrix, unit,
};
use margins::cube::{Cube, Cuboid, Frame};
use margins::exact::Rational;
use margins::numeric::tries::tries;
use margins::plan::{Block, BudgetRule, Measure, Neighbours, Noise, Plan, Table, cost};
use margins::planner::{PlanError, Planned, Request, plan, predict_at, strategy};
use nalgebra::DMatrix;

pub(crate) fn every(cube: &Cube, k: usize) -> Vec<Table> {
    let n = cube.dimensions.len();
    (0u32..1 << n)
        .filter(|s| s.count_ones() as usize == k)
        .map(|s| {
            let pairs = (0..n).filter(|d| s >> d & 1 == 1).map(|d| (d, cube.dimensions[d].finest()));
            Table::new(Cuboid::new(pairs), Rational::ONE)
        })
        .collect()
}

pub(crate) fn request(cube: Cube, workload: Vec<Table>, noise: Noise, budget: &str) -> Request {
    Request::new(cube, workload, noise, budget.parse().unwrap())
}

fn cube_of(sizes: &[usize]) -> Cube {
    Cube { dimensions: sizes.iter().enumerate().map(|(i, &n)| plain(&format!("d{i}"), n)).collect() }
}

pub(crate) fn planned(r: Request, measure: Measure, budgets: BudgetRule) -> Planned {
    applicable(r, measure, budgets).unwrap()
}

/// `None` where the strategy does not apply.
pub(crate) fn applicable(mut r: Request, measure: Measure, budgets: BudgetRule) -> Option<Planned> {
    r.measure = Some(measure);
    r.budgets = budgets;
    let p = match plan(&r) {
        Err(PlanError::NotApplicable(..)) => return None,
        p => p.unwrap(),
    };
    assert!(p.cost.total <= p.plan.budget, "over budget");
    assert!(p.cost.total.to_f64() > p.plan.budget.to_f64() * (1.0 - 1e-8), "budget left over");
    Some(p)
}

const ADULT8: [usize; 8] = [9, 16, 7, 15, 6, 5, 2, 2];

#[track_caller]
fn close(x: f64, y: f64, relative: f64) {
    assert!((x / y - 1.0).abs() < relative, "{x} is not {y}");
}

#[test]
fn published_totals() {
    let pairs = |sizes: &[usize], noise, budget| {
        let cube = cube_of(sizes);
        let w = every(&cube, 2);
        request(cube, w, noise, budget)
    };
    let total = |r: Request, m, b| planned(r, m, b).prediction.total;
    let adult = || pairs(&ADULT8, Noise::Gaussian, "1/2");
    close(total(adult(), Measure::Residual, BudgetRule::Optimal), 23515.0, 1e-4);
    close(total(adult(), Measure::Queries, BudgetRule::Optimal), 26481.0, 1e-4);
    let nltcs = || pairs(&[2; 16], Noise::Gaussian, "1/2");
    close(total(nltcs(), Measure::Residual, BudgetRule::Optimal), 9304.7, 1e-4);
    close(total(nltcs(), Measure::Queries, BudgetRule::Optimal), 16440.0, 1e-4);
    // One coefficient for each component: the same mechanism as residuals.
    close(total(nltcs(), Measure::Fourier, BudgetRule::Optimal), 9304.7, 1e-4);
    close(total(nltcs(), Measure::Wavelet, BudgetRule::Optimal), 9304.7, 1e-4);
    let coefficients = |rule| total(pairs(&[2; 16], Noise::Laplace, "1"), Measure::Fourier, rule);
    close(coefficients(BudgetRule::Uniform), 2.0 * 137.0 * 137.0 * 120.0, 1e-4);
    close(coefficients(BudgetRule::Optimal), 2.221e6, 3e-4);
    let laplace = pairs(&ADULT8, Noise::Laplace, "1");
    close(total(laplace, Measure::Queries, BudgetRule::Optimal), 1.337e6, 1e-3);
}

/// The worked check: 3 binary attributes, tables {A} and {A,B}, ε = 1.
#[test]
fn two_tables_by_least_squares() {
    let cube = cube_of(&[2, 2, 2]);
    let tables = [vec![(0, 1)], vec![(0, 1), (1, 1)]];
    let workload: Vec<_> = tables.into_iter().map(|t| Table::new(Cuboid::new(t), Rational::ONE)).collect();
    let r = request(cube, workload, Noise::Laplace, "1/1000");
    // At a small ε the discrete law's variance is the continuous one's to 1e-6.
    let optimal = planned(r.clone(), Measure::Queries, BudgetRule::Optimal);
    let uniform = planned(r, Measure::Queries, BudgetRule::Uniform);
    let direct = |p: &Planned| -> f64 {
        let frame = Frame::new(&cube_of(&[2, 2, 2]), &p.plan.levels);
        p.plan
            .rows()
            .measurements
            .iter()
            .map(|m| {
                let Block::Table(b) = &m.block else { panic!("tables only") };
                2.0 * m.scale.to_f64().powi(2) * frame.cells(b)
            })
            .sum()
    };
    close(direct(&uniform) * 1e-6, 48.0, 1e-6);
    close(direct(&optimal) * 1e-6, 46.168, 1e-4);
    // Uniform identity: L tables, m' coefficients per table below: 2 L² m' / ε² summed over components in use.
    assert!(uniform.prediction.total < direct(&uniform));
}

/// Published budgets 4/9, 5/9: generalised least squares gives 30.0126 (cells 5.6842 and 4.6611).
#[test]
fn least_squares_at_given_budgets() {
    let cube = cube_of(&[2, 2, 2]);
    let tables = [vec![(0, 1)], vec![(0, 1), (1, 1)]];
    let workload: Vec<_> = tables.into_iter().map(|t| Table::new(Cuboid::new(t), Rational::ONE)).collect();
    let r = request(cube.clone(), workload.clone(), Noise::Laplace, "1/1000");
    let mut p = planned(r.clone(), Measure::Queries, BudgetRule::Uniform).plan;
    for (m, epsilon) in p.rows_mut().measurements.iter_mut().zip(["4/9000", "5/9000"]) {
        m.scale = Rational::ONE.checked_div(epsilon.parse().unwrap()).unwrap();
    }
    let prediction = predict_at(&r, &p, 1.0).unwrap();
    close(prediction.total * 1e-6, 30.0126, 1e-5);
    close(prediction.tables[0].mean * 1e-6, 5.6842, 1e-4);
    close(prediction.tables[1].mean * 1e-6, 4.6611, 1e-4);
}

fn dense_blocks(cube: &Cube, p: &Planned) -> Vec<Measured> {
    (0..p.plan.rows().measurements.len())
        .map(|i| {
            let m = &p.plan.rows().measurements[i];
            let scale = unit(cube, &p.plan, &m.block);
            measured(cube, &p.plan, i, noise_variance(p.plan.noise, m.scale.to_f64()), scale)
        })
        .collect()
}

/// Predictions count on cells declared empty, and on tables published exactly beside them: against least squares over the other cells alone.
#[test]
fn predictions_count_on_empty_cells() {
    let cubes = [
        Cube { dimensions: vec![plain("a", 3), plain("b", 2), plain("c", 3)] },
        Cube { dimensions: vec![grouped("a", &[2, 3, 1]), plain("b", 3)] },
    ];
    let cases = [(Noise::Laplace, true), (Noise::Gaussian, false), (Noise::Laplace, false)];
    for (which, cube) in cubes.into_iter().enumerate() {
        let mut workload = every(&cube, 2);
        workload.extend(every(&cube, 1));
        for (noise, exact) in cases.into_iter().skip(tries(which, 0)).take(tries(1, 3)) {
            for measure in strategy::general() {
                let mut r = request(cube.clone(), workload.clone(), noise, "1/2");
                r.zeros = vec!["a = '1' AND b = '0'".into(), "a = '2'".into()];
                if exact {
                    r.exact = vec![Cuboid::new(vec![(1, 1)])];
                }
                let Some(p) = applicable(r.clone(), measure, BudgetRule::Optimal) else { continue };
                let free = applicable(Request { zeros: vec![], ..r }, measure, BudgetRule::Optimal).unwrap();
                assert!(p.prediction.zeros && !free.prediction.zeros);
                assert!(p.prediction.total < free.prediction.total);
                let cube = cube_of_plan(&cube, &p.plan);
                let at = |d: usize| table_matrix(&cube, &Cuboid::new(vec![(d, cube.dimensions[d].finest())]));
                let (a, b) = (at(0), at(1));
                let possible =
                    |cell: usize| a[(2, cell)] == 0.0 && (a[(1, cell)] == 0.0 || b[(0, cell)] == 0.0);
                let without = |m: &DMatrix<f64>| {
                    DMatrix::from_fn(m.nrows(), m.ncols(), |i, j| if possible(j) { m[(i, j)] } else { 0.0 })
                };
                let mut blocks: Vec<Measured> = dense_blocks(&cube, &p)
                    .into_iter()
                    .map(|m| Measured { rows: without(&m.rows), covariance: m.covariance })
                    .collect();
                for e in &p.plan.exact {
                    let rows = without(&table_matrix(&cube, e));
                    let n = rows.nrows();
                    // As good as without noise.
                    blocks.push(Measured { rows, covariance: DMatrix::identity(n, n) * 1e-7 });
                }
                let blue = Blue::new(&blocks, blocks[0].rows.ncols());
                for (table, spread) in p.plan.rows().workload.iter().zip(&p.prediction.tables) {
                    let v = blue.covariance(&without(&table_matrix(&cube, &table.cuboid))).diagonal();
                    assert!(
                        (spread.mean - v.mean()).abs() < 1e-5 * (1.0 + v.mean()),
                        "{measure:?} {noise:?}"
                    );
                    assert!((spread.max - v.max()).abs() < 1e-5 * (1.0 + v.max()), "{measure:?} {noise:?}");
                }
            }
        }
    }
}

/// Every predicted variance, mean and worst, against the pseudo-inverse; plain dimensions and unequal groups.
#[test]
fn predictions_match_dense_least_squares() {
    let cubes = [
        Cube { dimensions: vec![plain("a", 3), plain("b", 2), plain("c", 4)] },
        Cube { dimensions: vec![grouped("a", &[2, 3, 1]), plain("b", 3)] },
        Cube { dimensions: vec![grouped("a", &[2, 2]), grouped("b", &[1, 3])] },
    ];
    for cube in cubes {
        let n = cube.dimensions.len();
        let mut workload = every(&cube, 2);
        workload.extend(every(&cube, 1));
        // A coarser level, where there is one.
        if cube.dimensions[0].finest() == 2 {
            workload.push(Table::new(Cuboid::new(vec![(0, 1), (1, 1)]), "3/2".parse().unwrap()));
            workload.push(Table::new(Cuboid::new(vec![(0, 1)]), Rational::ONE));
        }
        assert!(n >= 2);
        for (noise, budget) in [(Noise::Gaussian, "1/2"), (Noise::Laplace, "1")] {
            for measure in strategy::general() {
                if measure == Measure::Residual && noise == Noise::Laplace {
                    continue;
                }
                for rule in BudgetRule::ALL.into_iter().take(tries(1, 2)) {
                    let r = request(cube.clone(), workload.clone(), noise, budget);
                    let Some(p) = applicable(r, measure, rule) else {
                        // Bits of one level do not tell the groups of another.
                        assert!(measure == Measure::Fourier && cube.dimensions[0].finest() > 1);
                        continue;
                    };
                    let cube = cube_of_plan(&cube, &p.plan);
                    let blocks = dense_blocks(&cube, &p);
                    let workload = &p.plan.rows().workload;
                    let blue = Blue::new(&blocks, blocks[0].rows.ncols());
                    for (table, spread) in workload.iter().zip(&p.prediction.tables) {
                        let q = table_matrix(&cube, &table.cuboid);
                        let v = blue.covariance(&q).diagonal();
                        close(spread.mean, v.mean(), 1e-7);
                        close(spread.max, v.max(), 1e-7);
                    }
                }
            }
        }
    }
}

/// The claim "optimal" itself: no other scaling of the groups does better at the same cost.
#[test]
fn residual_budgets_cannot_be_improved() {
    let cube = cube_of(&[3, 4, 2, 5]);
    let mut w = every(&cube, 2);
    w[1].weight = Rational::whole(5);
    let r = request(cube.clone(), w.clone(), Noise::Gaussian, "1/100");
    let best = planned(r.clone(), Measure::Residual, BudgetRule::Optimal);
    let frame = Frame::new(&cube, &best.plan.levels);
    for i in 0..best.plan.rows().measurements.len() {
        for factor in ["9/10", "11/10"] {
            let mut p = best.plan.clone();
            let m = &mut p.rows_mut().measurements[i];
            m.scale = m.scale.checked_mul(factor.parse().unwrap()).unwrap();
            let spent = cost::cost(&p, &frame).unwrap().total.to_f64() / p.budget.to_f64();
            let error = predict_at(&r, &p, 1.0).unwrap().weighted_total;
            assert!(error * spent > best.prediction.weighted_total * (1.0 - 1e-9), "group {i}");
        }
    }
}

/// `substitute`: the joint worst case over pairs of cells, against trying all pairs; of what is planned, and where the total has hardly any noise, which
/// nobody moves who is changed.
#[test]
fn substitute_costs_the_worst_pair() {
    for (sizes, measure, noise) in [
        ([3, 2, 4], Measure::Residual, Noise::Gaussian),
        ([3, 2, 4], Measure::Fourier, Noise::Gaussian),
        ([3, 2, 4], Measure::Fourier, Noise::Laplace),
        ([2, 2, 2], Measure::Wavelet, Noise::Laplace),
    ] {
        let cube = cube_of(&sizes);
        let mut r = request(cube.clone(), every(&cube, 2), noise, "1/2");
        r.neighbours = Neighbours::Substitute;
        for max_rows in [1, 3] {
            r.max_rows = max_rows;
            let planned = planned(r.clone(), measure, BudgetRule::Optimal).plan;
            let cube = r.over(measure).cube.clone();
            let mut known = planned.clone();
            let total = known.measurements_mut().find(|m| m.block.cuboid().iter().next().is_none()).unwrap();
            total.scale = total.scale.checked_div(Rational::whole(1000)).unwrap();
            for plan in [planned, known] {
                let found = cost::cost(&plan, &Frame::new(&cube, &plan.levels)).unwrap();
                assert_eq!(found.worst_case, cost::WorstCase::Joint);
                close(found.total.to_f64(), worst_pair(&cube, &plan), 1e-9);
            }
        }
    }
}

/// What the dearest two cells cost, of which a unit leaves one and enters the other with all its rows; where it may own several also those of no cell at all.
pub(crate) fn worst_pair(cube: &Cube, plan: &Plan) -> f64 {
    let frame = Frame::new(cube, &plan.levels);
    let cells: usize = cube.dimensions.iter().map(|d| d.levels[d.finest()].len()).product();
    let rows = f64::from(plan.max_rows);
    let blocks = plan.rows().measurements.iter().enumerate().map(|(k, m)| {
        let times = match &m.block {
            Block::Component(a) => margins::plan::block::component_scale(&frame, a).unwrap() as f64,
            _ => 1.0,
        };
        (measured(cube, plan, k, 1.0, 1.0).rows * (times * rows), m.scale.to_f64())
    });
    let blocks: Vec<(DMatrix<f64>, f64)> = blocks.collect();
    let mut worst: f64 = 0.0;
    for i in 0..cells {
        for j in 0..if plan.max_rows > 1 { cells + 1 } else { cells } {
            let moved = |of: &DMatrix<f64>| match j < cells {
                true => of.column(i) - of.column(j),
                false => of.column(i).into(),
            };
            let price = |(of, scale): &(DMatrix<f64>, f64)| match plan.noise {
                Noise::Gaussian => moved(of).norm_squared() / (2.0 * scale),
                Noise::Laplace => moved(of).lp_norm(1) / scale,
            };
            worst = worst.max(blocks.iter().map(price).sum());
        }
    }
    worst
}

/// `substitute` with an agency's own rows, against all pairs of cells. A cell that is in no row is one of them; where a unit owns one row,
/// no cell at all is not: sums over everybody cost nothing.
#[test]
fn substitute_costs_the_worst_pair_of_columns() {
    let cube = cube_of(&[4]);
    let cuboid = Cuboid::new(vec![(0, 1)]);
    let row = |factors: [i32; 4]| (0..).zip(factors).filter(|f| f.1 != 0).collect::<Vec<(u32, i32)>>();
    for factors in [
        vec![[1, 1, 1, 1]],
        vec![[5, 5, 5, 5], [3, 3, 2, 3]],
        vec![[1, 1, 1, 0]],
        vec![[7, 6, 7, 0], [0, 1, 0, 0]],
        vec![[-1, 2, 0, 3], [4, 0, 4, 1]],
    ] {
        for (noise, max_rows) in [Noise::Gaussian, Noise::Laplace]
            .into_iter()
            .zip([1, 2])
            .chain([(Noise::Gaussian, 2), (Noise::Laplace, 1)])
        {
            let mut r = request(cube.clone(), every(&cube, 1), noise, "1000");
            (r.neighbours, r.max_rows) = (Neighbours::Substitute, max_rows);
            let mut p = planned(r, Measure::Queries, BudgetRule::Optimal).plan;
            let rows = margins::plan::Rows {
                cuboid: cuboid.clone(),
                rows: factors.iter().copied().map(row).collect(),
            };
            let scale: Rational = "37/2".parse().unwrap();
            p.rows_mut().measurements = vec![margins::plan::Measurement { block: Block::Rows(rows), scale }];
            let power = if noise == Noise::Gaussian { 2 } else { 1 };
            // The last one stands for no cell at all.
            let at = |cell: usize, row: &[i32; 4]| row.get(cell).copied().unwrap_or(0);
            let mut worst = 0;
            for i in 0..4 {
                for j in 0..if max_rows > 1 { 5 } else { 4 } {
                    let apart = |row: &[i32; 4]| (at(i, row) - at(j, row)).unsigned_abs().pow(power);
                    worst = factors.iter().map(apart).sum::<u32>().max(worst);
                }
            }
            let want = f64::from(worst * max_rows.pow(power)) / (f64::from(power) * 18.5);
            let found = cost::cost(&p, &Frame::new(&cube, &p.levels)).unwrap();
            assert_eq!(found.worst_case, cost::WorstCase::Joint);
            assert!((found.total.to_f64() - want).abs() < 1e-12, "{factors:?} {noise:?} {max_rows}");
        }
    }
}

/// Rows over different tables: whoever is dearest in one may be dearest in the other, so both add up.
#[test]
fn rows_over_several_tables_cost_their_sum() {
    let cube = cube_of(&[4, 3]);
    let block = |dimension: usize, rows: Vec<Vec<(u32, i32)>>, scale: &str| {
        let rows = margins::plan::Rows { cuboid: Cuboid::new(vec![(dimension, 1)]), rows };
        margins::plan::Measurement { block: Block::Rows(rows), scale: scale.parse().unwrap() }
    };
    for neighbours in [Neighbours::AddRemove, Neighbours::Substitute] {
        let mut r = request(cube.clone(), every(&cube, 1), Noise::Laplace, "1000");
        r.neighbours = neighbours;
        let mut p = planned(r, Measure::Queries, BudgetRule::Optimal).plan;
        p.rows_mut().measurements = vec![
            block(0, vec![vec![(0, 3), (1, 1)], vec![(0, -2), (3, 4)]], "2"),
            block(1, vec![vec![(0, 1), (2, 7)]], "4"),
        ];
        // 3 + 2 in cell 0, or as far apart as 4 and (3, −2); 7 in cell 2, and its distance from a cell in no row.
        let want = if neighbours == Neighbours::AddRemove { 5.0 / 2.0 } else { 9.0 / 2.0 } + 7.0 / 4.0;
        let found = cost::cost(&p, &Frame::new(&cube, &p.levels)).unwrap();
        let case = found.worst_case.words(neighbours).unwrap();
        assert!(case.contains("upper bound"), "{case}");
        assert!((found.total.to_f64() - want).abs() < 1e-12, "{neighbours:?} {}", found.total.to_f64());
    }
}

#[test]
fn same_request_same_plan() {
    let cube = Cube { dimensions: vec![grouped("a", &[2, 3, 1]), plain("b", 3), plain("c", 7)] };
    let r = request(cube.clone(), every(&cube, 2), Noise::Laplace, "0.3");
    assert_eq!(plan(&r).unwrap().plan, plan(&r).unwrap().plan);
}
