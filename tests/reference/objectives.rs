//! Objectives, targets and tables published exactly, against dense algebra and against each other.

use crate::bases::dense_answers;
use crate::dense::{
    Measured, Memory, blue_covariance, blue_estimate, component_projection, cube_of_plan, grouped, measured,
    noise_variance, plain, table_matrix, unit,
};
use crate::plans::{every, request};
use margins::cube::{Cube, Cuboid, Frame};
use margins::exact::Rational;
use margins::law::ErrorLaw;
use margins::numeric::tries::tries;
use margins::plan::{Block, Measure, Noise, Rows, cost};
use margins::plan::{Objective, Target};
use margins::planner::targets::targets;
use margins::planner::{PlanError, Planned, Request, plan, predict_at, strategy};
use margins::recover::Recovery;
use margins::recover::zeros::Lumped;
use nalgebra::{DMatrix, DVector};

/// How much worse than without targets a table without one may become, as the manual promises.
const CARE: f64 = 4.0;

fn cubes() -> Vec<Cube> {
    vec![
        Cube { dimensions: vec![plain("a", 3), plain("b", 2), plain("c", 4)] },
        Cube { dimensions: vec![grouped("a", &[2, 3, 1]), plain("b", 3)] },
    ]
}

fn residual(cube: &Cube, objective: Objective) -> Request {
    let mut workload = every(cube, 2);
    workload.extend(every(cube, 1));
    let mut r = request(cube.clone(), workload, Noise::Gaussian, "1/100");
    r.measure = Some(Measure::Residual);
    r.objective = objective;
    r
}

fn within_budget(p: &Planned) {
    assert!(p.cost.total <= p.plan.budget);
    assert!(p.cost.total.to_f64() > p.plan.budget.to_f64() * (1.0 - 1e-8));
}

fn target(margin: &str, level: &str) -> Option<Target> {
    Some(Target { margin: margin.parse().unwrap(), level: level.parse().unwrap() })
}

/// The worst objective has a smaller worst cell and a larger total than the total objective; its certified value is
/// what the plan predicts; and no other scaling at the same cost has a smaller worst cell.
#[test]
fn the_worst_cell_cannot_be_improved() {
    for cube in cubes() {
        let r = residual(&cube, Objective::Worst);
        let worst = plan(&r).unwrap();
        within_budget(&worst);
        let total = plan(&residual(&cube, Objective::Total)).unwrap();
        assert!(worst.prediction.max < total.prediction.max * 0.99);
        assert!(worst.prediction.total > total.prediction.total);
        let certificate = worst.certificate.unwrap();
        assert!(certificate.gap() < 1e-6);
        assert!((worst.prediction.max / certificate.value - 1.0).abs() < 1e-6);
        assert!(worst.prediction.max > certificate.bound * (1.0 - 1e-6));
        let frame = Frame::new(&cube, &worst.plan.levels);
        for i in 0..worst.plan.rows().measurements.len() {
            for factor in ["9/10", "11/10"] {
                let mut p = worst.plan.clone();
                let m = &mut p.rows_mut().measurements[i];
                m.scale = m.scale.checked_mul(factor.parse().unwrap()).unwrap();
                let spent = cost::cost(&p, &frame).unwrap().total.to_f64() / p.budget.to_f64();
                let error = predict_at(&r, &p, 1.0).unwrap().max;
                assert!(error * spent > worst.prediction.max * (1.0 - 1e-6), "group {i} by {factor}");
            }
        }
    }
}

/// A weight of four makes a table twice as precise under the worst objective, where it can.
#[test]
fn weights_count_in_the_worst_cell() {
    let cube = Cube { dimensions: vec![plain("a", 30), plain("b", 30)] };
    let mut r = residual(&cube, Objective::Worst);
    r.workload = every(&cube, 1);
    r.workload[0].weight = Rational::whole(4);
    let p = plan(&r).unwrap();
    let ratio = p.prediction.tables[1].max / p.prediction.tables[0].max;
    assert!((ratio - 4.0).abs() < 1e-3, "{ratio}");
}

/// The least budget meets every target, a slightly smaller one does not, for both kinds of noise.
#[test]
fn the_least_budget_is_the_least() {
    // Noises of several scales in one cell take long where little is optimised.
    let whole = [Measure::Base, Measure::Queries][tries(0, 1)];
    for (which, cube) in cubes().into_iter().take(tries(1, 2)).enumerate() {
        for (noise, measure, less) in
            [(Noise::Gaussian, Measure::Residual, 0.999), (Noise::Laplace, whole, 0.95)]
        {
            if which == 1 && noise == Noise::Laplace {
                continue;
            }
            let mut r = residual(&cube, Objective::Targets);
            (r.noise, r.measure) = (noise, Some(measure));
            r.targets = vec![None; r.workload.len()];
            r.targets[0] = target("40", "0.95");
            r.targets[1] = target("25", "0.9");
            let report = targets(&r, &plan(&r).unwrap()).unwrap().unwrap();
            assert_eq!(report.outcomes.len(), 2);
            let least = report.least.unwrap();
            let judged = |budget: Rational| {
                let mut at = r.clone();
                at.budget = budget;
                let p = plan(&at).unwrap();
                within_budget(&p);
                targets(&at, &p).unwrap().unwrap().outcomes.iter().all(|o| o.met)
            };
            // Given back literally it meets all of them, and it is short enough to be given back.
            assert!(judged(least.budget), "{noise:?}");
            assert_eq!(least.budget.to_f64().to_string().parse(), Ok(least.budget));
            assert!(!judged(margins::plan::round::up(least.budget.to_f64() * less).unwrap()), "{noise:?}");
            if let Some(bound) = least.bound {
                assert!(least.budget.to_f64() / bound - 1.0 < 1e-5);
            }
        }
    }
}

/// With budget to spare the targets are met at the least total: between the free optimum and the ratio's plan.
#[test]
fn targets_bind_only_as_far_as_they_must() {
    let cube = &cubes()[0];
    let mut r = residual(cube, Objective::Targets);
    let free = plan(&residual(cube, Objective::Total)).unwrap();
    let loose = free.prediction.tables[0].max.sqrt() * 1.96;
    // Twice as wide as the free plan: nothing to do. A tenth narrower: the total pays for it, a little.
    for (factor, binds) in [(2.0, false), (0.9, true)] {
        r.targets[0] = target(&format!("{:.6}", loose * factor), "0.95");
        let p = plan(&r).unwrap();
        within_budget(&p);
        let dearer = p.prediction.total / free.prediction.total - 1.0;
        assert!(targets(&r, &p).unwrap().unwrap().outcomes[0].met);
        if binds {
            assert!(dearer > 1e-5 && dearer < 0.1, "{dearer}")
        } else {
            assert!(dearer.abs() < 1e-9)
        }
        if let Some(c) = p.certificate {
            assert!(c.gap() < 1e-5, "{}", c.gap());
        }
    }
    // Out of reach: the plan says so, and comes as close as it can.
    r.targets[0] = target("1/100", "0.95");
    let p = plan(&r).unwrap();
    within_budget(&p);
    let report = targets(&r, &p).unwrap().unwrap();
    assert!(!report.outcomes[0].met && report.least.unwrap().budget > r.budget);
}

fn as_integers(v: &DVector<f64>) -> Vec<i64> {
    v.iter().map(|v| v.round() as i64).collect()
}

/// Every cell of every table that is not exact, as rows of the agency's own.
fn rows(r: &Request) -> Rows {
    let noisy: Vec<&Cuboid> = r.workload.iter().map(|t| &t.cuboid).filter(|c| !r.is_exact(c)).collect();
    let of = noisy.iter().fold(Cuboid::total(), |a, c| a.join(c));
    let frame = Frame::new(&r.cube, &Frame::levels_of(&r.cube, r.workload.iter().map(|t| &t.cuboid)));
    let row = |c: &Cuboid, cell: usize| -> Vec<(u32, i32)> {
        let unit = (0..frame.len(c)).map(|i| if i == cell { 1.0 } else { 0.0 }).collect();
        let pulled = frame.pull_back(c, &of, unit);
        (0u32..).zip(pulled).filter(|(_, v)| *v != 0.0).map(|(i, _)| (i, 1)).collect()
    };
    let rows = noisy.iter().flat_map(|c| (0..frame.len(c)).map(|cell| row(c, cell))).collect();
    Rows { cuboid: of.clone(), rows }
}

/// Predictions, estimates and error laws beside exact tables, against least squares with those rows as equalities: for every strategy, over
/// groups of equal and of unequal size, for both kinds of noise.
#[test]
fn exact_tables_are_equality_constraints() {
    let each = cubes().into_iter().enumerate();
    let each =
        each.flat_map(|(which, cube)| [Noise::Gaussian, Noise::Laplace].map(|n| (which, cube.clone(), n)));
    // Of both kinds one each, where the build is a quick one.
    for (which, plain_cube, noise) in each.step_by(tries(3, 1)) {
        for measure in strategy::general().chain([Measure::Matrix]) {
            let mut r = residual(&plain_cube, Objective::Total);
            (r.measure, r.noise) = (Some(measure), noise);
            let shapes = [Cuboid::new(vec![(0, 1)]), Cuboid::new(vec![(1, 1)])];
            if which == 1 {
                let weight = Rational::ONE;
                r.workload.push(margins::plan::Table::new(shapes[0].clone(), weight));
            }
            r.exact = shapes.to_vec();
            r.rows = (measure == Measure::Matrix).then(|| rows(&r));
            let p = match plan(&r) {
                Ok(p) => p,
                // Residuals are Gaussian; bits of one level do not tell the groups of another.
                Err(PlanError::NotApplicable(..))
                    if measure == Measure::Residual && noise == Noise::Laplace
                        || measure == Measure::Fourier && which == 1 =>
                {
                    continue;
                }
                Err(e) => panic!("{measure:?}: {e}"),
            };
            let cube = cube_of_plan(&plain_cube, &p.plan);
            within_budget(&p);
            // Nothing is spent on what is known.
            for m in &p.plan.rows().measurements {
                let c = m.block.cuboid();
                assert!(p.plan.exact_above(c).is_none());
            }
            let frame = Frame::new(&cube, &p.plan.levels);
            let cells: usize = cube.dimensions.iter().map(|d| d.levels[d.finest()].len()).product();
            let truth = DVector::from_fn(cells, |i, _| ((i * 7919 + 13) % 50) as f64);
            let fixed: Vec<DMatrix<f64>> = p.plan.exact.iter().map(|e| table_matrix(&cube, e)).collect();
            let e = DMatrix::from_rows(&fixed.iter().flat_map(|m| m.row_iter()).collect::<Vec<_>>());
            let inverse = e.clone().pseudo_inverse(1e-9).unwrap();
            let known = &inverse * (&e * &truth);
            let free = DMatrix::identity(cells, cells) - &inverse * &e;

            let (mut blocks, mut answers, mut values) = (Vec::new(), Vec::new(), Vec::new());
            for (i, m) in p.plan.rows().measurements.iter().enumerate() {
                let c = m.block.cuboid();
                let scale = unit(&cube, &p.plan, &m.block);
                let b = measured(&cube, &p.plan, i, noise_variance(p.plan.noise, m.scale.to_f64()), scale);
                if let Block::Based(based) = &m.block {
                    let any = |k: usize| ((k * 7919 + i * 17) % 2001) as i64 - 1000;
                    let noisy: Vec<i64> = (0..m.block.values(&frame)).map(any).collect();
                    answers.push(dense_answers(&cube, &p.plan, based, &noisy) - &b.rows * &known);
                    values.push(noisy);
                    blocks.push(Measured { rows: &b.rows * &free, covariance: b.covariance });
                    continue;
                }
                let table = match &m.block {
                    Block::Component(_) => table_matrix(&cube, c) * &truth,
                    _ => &b.rows * &truth,
                };
                // Any numbers will do for noise.
                let noisy: Vec<i64> = table
                    .iter()
                    .enumerate()
                    .map(|(k, v)| (v * scale) as i64 + ((k * 31 + i * 17) % 23) as i64 - 11)
                    .collect();
                let y = DVector::from_iterator(noisy.len(), noisy.iter().map(|&v| v as f64 / scale));
                answers.push(match &m.block {
                    Block::Component(a) => {
                        values.push(frame.contrast(a, noisy).unwrap());
                        component_projection(&cube, &p.plan.levels, a) * y - &b.rows * &known
                    }
                    _ => {
                        values.push(noisy);
                        y - &b.rows * &known
                    }
                });
                blocks.push(Measured { rows: &b.rows * &free, covariance: b.covariance });
            }
            let exact = fixed.iter().map(|m| as_integers(&(m * &truth))).collect();
            let recovery = Recovery::new(cube.clone(), p.plan.clone(), Memory { values, exact }).unwrap();
            for (table, spread) in p.plan.rows().workload.iter().zip(&p.prediction.tables) {
                let q = table_matrix(&cube, &table.cuboid);
                let v = blue_covariance(&blocks, &(&q * &free)).diagonal();
                assert!((spread.mean - v.mean()).abs() < 1e-6 * (1.0 + v.mean()), "{measure:?}");
                assert!((spread.max - v.max()).abs() < 1e-6 * (1.0 + v.max()), "{measure:?}");
                let want = &q * &known + blue_estimate(&blocks, &answers, &(&q * &free));
                let got = recovery.table(&table.cuboid).unwrap();
                for (a, b) in got.iter().zip(want.iter()) {
                    assert!((a - b).abs() < 1e-6, "{measure:?}: {a} {b}");
                }
                // Agreement with every exact table, through whatever they share.
                for (i, e) in p.plan.exact.iter().enumerate() {
                    let shared = e.meet(&table.cuboid);
                    let rolled = frame.roll_up(&table.cuboid, &shared, got.clone());
                    let counts = recovery.source().exact[i].iter().map(|&v| v as f64).collect();
                    for (a, b) in rolled.iter().zip(frame.roll_up(e, &shared, counts)) {
                        assert!((a - b).abs() < 1e-8, "{a} {b}");
                    }
                }
                let mut query = vec![0.0; got.len()];
                query[0] = 1.0;
                let law: ErrorLaw = recovery.error_law(&Lumped::whole(&frame), &table.cuboid, query).unwrap();
                assert!((law.variance() - v[0]).abs() < 1e-6 * (1.0 + v[0]), "{} {}", law.variance(), v[0]);
            }
            // An exact table itself: whole numbers, no error, an interval of width zero.
            for (i, e) in p.plan.exact.iter().enumerate() {
                let counts: Vec<i64> = recovery.table(e).unwrap().iter().map(|&v| v as i64).collect();
                assert_eq!(counts, recovery.source().exact[i]);
                let law = recovery.error_law(&Lumped::whole(&frame), e, vec![1.0; counts.len()]).unwrap();
                assert_eq!((law.variance(), law.half_width(0.99)), (0.0, 0.0));
            }
        }
    }
}

/// Exact tables that leave nothing to protect are refused.
#[test]
fn exact_tables_that_cannot_be_are_refused() {
    let cubes = cubes();
    let mut r = residual(&cubes[0], Objective::Total);
    r.exact = every(&cubes[0], 2).into_iter().map(|t| t.cuboid).collect();
    assert!(plan(&r).unwrap_err().to_string().contains("nothing would be protected"));
}

/// A table without a target pays for the others' targets within limits, at the least budget and where targets are out of reach.
#[test]
fn tables_without_a_target_are_taken_care_of() {
    let cube = &cubes()[0];
    let mut tried = 0;
    for margin in ["0.5", "3", "25"] {
        let mut r = residual(cube, Objective::Targets);
        r.targets[0] = target(margin, "0.95");
        let report = targets(&r, &plan(&r).unwrap()).unwrap().unwrap();
        let least = report.least.unwrap().budget;
        for budget in [r.budget, least] {
            r.budget = budget;
            let p = plan(&r).unwrap();
            within_budget(&p);
            let mut free = r.clone();
            free.objective = Objective::Total;
            let free = plan(&free).unwrap();
            for (own, usual) in p.prediction.tables.iter().zip(&free.prediction.tables).skip(1) {
                let times = (own.max / usual.max).sqrt();
                assert!(times <= CARE * 1.001, "{margin} {budget}: {times}");
            }
            let others = targets(&r, &p).unwrap().unwrap().others.unwrap();
            assert!(others <= CARE * 1.001, "{others}");
            tried += 1;
        }
    }
    assert_eq!(tried, 6);
}

/// Where a budget leaves no margin at all, the least that meets a wide target is found all the same.
#[test]
fn far_too_large_a_budget_has_a_least() {
    let mut r = request(cubes().remove(1), every(&cubes()[1], 2), Noise::Laplace, "10");
    (r.measure, r.objective) = (Some(Measure::Base), Objective::Targets);
    r.targets = vec![target("12", "0.95"); r.workload.len()];
    let report = targets(&r, &plan(&r).unwrap()).unwrap().unwrap();
    assert!(report.outcomes.iter().all(|o| o.met && o.predicted == 0.0));
    let least = report.least.unwrap().budget.to_f64();
    assert!((0.05..1.0).contains(&least), "{least}");
}
