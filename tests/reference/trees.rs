//! Weights of nodes over trees of unequal groups, against matrices over all cells: estimates, laws, predictions, and the cost by going through every cell.

use crate::bases::{dense, dense_answers, queries};
use crate::dense::{Memory, blue_covariance, blue_estimate, plain, pseudo_inverse, table_matrix};
use margins::answer::Evaluator;
use margins::cube::{Categories, Cube, Cuboid, Dimension, Filter, Frame, Level};
use margins::exact::Rational;
use margins::numeric::dice::Dice;
use margins::numeric::tries::tries;
use margins::plan::{
    Asks, Based, Block, BudgetRule, Channel, Measure, Measurement, Neighbours, NodeWeights, Noise, Objective,
    Plan, Ranges, Table, Target, Telling, Tellings, cost,
};
use margins::planner::{Planned, Request, plan};
use margins::recover::Recovery;
use margins::release::wire;
use nalgebra::DVector;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A dimension of up to three levels whose groups have any size, one among them.
fn tree(dice: &mut Dice, name: &str) -> Dimension {
    let mut d = plain(name, 1);
    let finest = d.levels.pop().unwrap();
    let mut above = 1;
    let depth = 2 + dice.below(2);
    for level in 0..depth {
        let own: Vec<u32> = (0..above).flat_map(|p| vec![p; 1 + dice.below(3)]).collect();
        above = own.len() as u32;
        let labels = (0..own.len()).map(|i| format!("{level}-{i}")).collect();
        let name = if level + 1 == depth { finest.name.clone() } else { format!("l{level}") };
        d.levels.push(Categories { name, labels, parent: own, bounds: Vec::new() });
    }
    d
}

/// One tree or two, beside a plain dimension.
fn cube(dice: &mut Dice) -> Cube {
    let two = dice.below(2) == 0;
    loop {
        let mut dimensions = vec![tree(dice, "a")];
        if two {
            dimensions.push(tree(dice, "b"));
        }
        dimensions.push(plain("c", 2 + dice.below(2)));
        let cells: usize = dimensions.iter().map(|d| d.levels[d.finest()].len()).product();
        if cells <= 100 {
            return Cube { dimensions };
        }
    }
}

fn tables(dice: &mut Dice, cube: &Cube) -> Vec<Cuboid> {
    let count = 2 + dice.below(3);
    let mut one = |_| {
        let levels = cube.dimensions.iter().map(|of| dice.below(of.levels.len())).enumerate();
        Cuboid::new(levels.collect::<Vec<_>>())
    };
    (0..count).map(&mut one).collect()
}

/// Every component below the tables, with any factors; at times each has one of two in the first dimension, its own.
fn any_plan(dice: &mut Dice, cube: &Cube, tables: &[Cuboid], exact: Vec<Cuboid>) -> Plan {
    let levels = Frame::levels_of(cube, tables);
    let frame = Frame::new(cube, &levels);
    let mut told: BTreeMap<(usize, usize), [Telling; 2]> = BTreeMap::new();
    let own = dice.below(2) == 0;
    for (d, axis) in frame.axes.iter().enumerate() {
        for rung in
            axis.rungs.iter().skip(1).filter(|r| !r.adds_nothing() && cube.dimensions[d].levels.len() > 2)
        {
            let mut any = || [2, 3, 4, 5, 6, 8, 12, 40][dice.below(8)];
            let alone = |p: &u32| rung.siblings[*p as usize] == 1;
            let mut weights = || {
                let factors = rung.parent.iter().map(|p| if alone(p) { 1 } else { any() }).collect();
                let weights = NodeWeights::new(rung.parent.to_vec(), factors).unwrap();
                Telling::Weights(Arc::new(weights))
            };
            told.insert((d, rung.level), [weights(), weights()]);
        }
    }
    let mut components: Vec<Cuboid> = tables.iter().flat_map(|t| frame.below(t)).collect();
    components.sort();
    components.dedup();
    components.retain(|a| !exact.iter().any(|e| a.is_below(e)));
    let mut measurement = |cuboid: Cuboid| {
        let mut telling = |at: (usize, usize)| {
            let which = if own && at.0 == 0 { dice.below(2) } else { 0 };
            told.get(&at).map_or(Telling::Siblings, |both| both[which].clone())
        };
        let axes = cuboid.pairs().map(&mut telling).collect();
        Measurement {
            block: Block::Based(Based { cuboid, axes }),
            scale: Rational::whole(1 + dice.below(60) as u128),
        }
    };
    let measurements = components.into_iter().map(&mut measurement).collect();
    let workload = tables.iter().map(|t| Table::new(t.clone(), Rational::ONE)).collect();
    Plan {
        noise: Noise::Gaussian,
        budget: Rational::whole(1 << 20),
        neighbours: Neighbours::AddRemove,
        max_rows: 1,
        measure: Measure::Residual,
        budgets: BudgetRule::Optimal,
        levels,
        channels: vec![Channel::rows(workload, measurements)],
        exact,
        zeros: Vec::new(),
        copy: None,
    }
}

/// What the dearest cell costs: by every cell's nodes at every level.
fn dearest(cube: &Cube, plan: &Plan) -> f64 {
    let finest: Vec<Vec<u32>> =
        cube.dimensions.iter().map(|d| (0..d.levels[d.finest()].len() as u32).collect()).collect();
    let mut cells: Vec<Vec<u32>> = vec![Vec::new()];
    for own in &finest {
        cells = cells.iter().flat_map(|c| own.iter().map(move |v| [&c[..], &[*v]].concat())).collect();
    }
    let frame = Frame::new(cube, &plan.levels);
    let price = |cell: &Vec<u32>| -> f64 {
        let of = |m: &Measurement| {
            let Block::Based(block) = &m.block else { panic!() };
            let along = |(d, l, told): (usize, usize, &Telling)| -> f64 {
                let dimension = &cube.dimensions[d];
                let node = dimension.ancestors(dimension.finest(), l)[cell[d] as usize] as usize;
                match told {
                    Telling::Weights(weights) => weights.norms()[node] as f64,
                    _ => {
                        let one = Cuboid::new(vec![(d, l)]);
                        let m = margins::plan::block::component_scale(&frame, &one).unwrap() as f64;
                        let rung = &frame.axes[d].rungs[frame.axes[d].rung(l).unwrap()];
                        let group = rung.parent.iter().filter(|p| **p == rung.parent[node]).count();
                        m * m * (1.0 - 1.0 / group as f64)
                    }
                }
            };
            block.dimensions().map(along).product::<f64>() / (2.0 * m.scale.to_f64())
        };
        let k = f64::from(plan.max_rows);
        plan.rows().measurements.iter().map(of).sum::<f64>() * k * k
    };
    cells.iter().map(price).fold(0.0, f64::max)
}

/// What any mechanism of this information costs a unit, at least.
fn informed(cube: &Cube, plan: &Plan) -> f64 {
    let blocks = dense(cube, plan);
    let cells = cube.dimensions.iter().map(|d| d.levels[d.finest()].len()).product();
    let mut products = nalgebra::DMatrix::<f64>::zeros(cells, cells);
    for block in &blocks {
        products += block.rows.transpose() * pseudo_inverse(&block.covariance) * &block.rows;
    }
    let k = f64::from(plan.max_rows);
    (0..cells).map(|c| products[(c, c)]).fold(0.0, f64::max) * k * k / 2.0
}

/// Estimates and laws over all that is held, on whole and on lumped axes; the bytes of the plan; and its cost.
#[test]
fn as_matrices_say() {
    let (mut made, mut two, mut own) = (0, 0, 0);
    for seed in 0..tries(32, 300) {
        let mut dice = Dice::new(seed as u64);
        let cube = cube(&mut dice);
        let tables = tables(&mut dice, &cube);
        let exact = if dice.below(3) == 0 { vec![tables[0].clone()] } else { Vec::new() };
        let plan = any_plan(&mut dice, &cube, &tables, exact.clone());
        if plan.rows().measurements.is_empty() {
            continue;
        }
        two += usize::from(cube.dimensions.len() == 3);
        made += 1;
        let tellings = Tellings::of(plan.rows().measurements.iter().map(|m| &m.block)).unwrap();
        own += usize::from(tellings.own.is_some());
        let bytes = wire::encode_plan(&Plan { exact: Vec::new(), ..plan.clone() }, &cube).unwrap();
        let again = wire::decode_plan(&bytes, &cube).unwrap();
        assert_eq!(Plan { exact: exact.clone(), ..again }, plan);

        let frame = Frame::new(&cube, &plan.levels);
        let stated = cost::cost(&plan, &frame).unwrap().total.to_f64();
        let want = dearest(&cube, &plan);
        assert!((stated / want - 1.0).abs() < 1e-12, "{stated} {want}");
        if exact.is_empty() {
            let least = informed(&cube, &plan);
            assert!(stated >= least * (1.0 - 1e-9), "{stated} {least}");
        }

        let cells: usize = cube.dimensions.iter().map(|d| d.levels[d.finest()].len()).product();
        let counts = DVector::from_fn(cells, |_, _| dice.below(50) as f64);
        let whole = |v: DVector<f64>| v.iter().map(|v| *v as i64).collect::<Vec<i64>>();
        let values: Vec<Vec<i64>> = (plan.rows().measurements.iter())
            .map(|m| {
                let table = whole(table_matrix(&cube, m.block.cuboid()) * &counts);
                let noisy =
                    m.block.apply(&frame, table).unwrap().into_iter().map(|v| v + dice.below(9) as i64 - 4);
                m.block.publish(&frame, noisy.collect()).unwrap()
            })
            .collect();
        let told = exact.iter().map(|e| whole(table_matrix(&cube, e) * &counts)).collect();
        let memory = Memory { values: values.clone(), exact: told };
        let evaluator = Evaluator::new(Recovery::new(cube.clone(), plan.clone(), memory).unwrap());
        let mut blocks = dense(&cube, &plan);
        let mut answers = Vec::new();
        for (m, v) in plan.rows().measurements.iter().zip(&values) {
            let Block::Based(b) = &m.block else { panic!() };
            answers.push(dense_answers(&cube, &plan, b, v));
        }
        // What is known without noise leaves only what it does not tell: projected on that, it is least squares without constraints.
        let mut open = nalgebra::DMatrix::identity(cells, cells);
        for e in &exact {
            let rows = table_matrix(&cube, e);
            let told = rows.transpose() * rows;
            open -= pseudo_inverse(&told) * told;
        }
        for (block, y) in blocks.iter_mut().zip(&mut answers) {
            *y -= &block.rows * &counts;
            block.rows = (&block.rows * &open).map(|v| if v.abs() < 1e-12 { 0.0 } else { v });
        }
        for t in &tables {
            let query = table_matrix(&cube, t);
            let query_open = &query * &open;
            let want = &query * &counts + blue_estimate(&blocks, &answers, &query_open);
            let covariance = blue_covariance(&blocks, &query_open);
            let got = evaluator.recovery().table(t).unwrap();
            for (a, b) in got.iter().zip(want.iter()) {
                assert!((a - b).abs() < 1e-5 * (1.0 + b.abs()), "{seed} {t:?}: {a} is not {b}");
            }
            let levels: Vec<Level> = t.iter().collect();
            let groups = evaluator.aggregate(&Filter::everything(), &levels).unwrap();
            for (i, g) in groups.iter().enumerate() {
                let (law, dense) = (g.law.variance(), covariance[(i, i)]);
                assert!((g.estimate - want[i]).abs() < 1e-5 * (1.0 + want[i].abs()));
                assert!((law - dense).abs() < 1e-5 * (1.0 + dense), "{seed} {t:?}: {law} is not {dense}");
            }
        }
    }
    assert!(made > 10 && two > 3 && own > 5, "{made} {two} {own}");
}

/// Every level of the first tree, and some tables more.
fn request(dice: &mut Dice, cube: Cube) -> Request {
    let last = cube.dimensions.len() - 1;
    let mut all: Vec<Cuboid> =
        (1..=cube.dimensions[0].finest()).map(|l| Cuboid::new([(0, l), (last, l % 2)])).collect();
    all.extend(tables(dice, &cube));
    all.sort();
    all.dedup();
    let workload = all.into_iter().map(|t| Table::new(t, Rational::ONE)).collect();
    let mut request = Request::new(cube, workload, Noise::Gaussian, Rational::new(1, 2).unwrap());
    request.measure = Some(Measure::Residual);
    request
}

fn is_weighted(planned: &Planned) -> bool {
    let weighted =
        |m: &Measurement| matches!(&m.block, Block::Based(b) if b.axes.iter().any(|t| t.weights().is_some()));
    planned.plan.rows().measurements.iter().any(weighted)
}

/// Plans keep their budget and their promises, by matrices, whatever the objective and the neighbours; and are no worse than even shares.
#[test]
fn plans_keep_what_they_promise() {
    let (mut weighted, mut beside, mut bounds) = (0, 0, 0);
    for seed in 0..tries(21, 140) {
        let mut dice = Dice::new(100 + seed as u64);
        let cube = cube(&mut dice);
        let mut request = request(&mut dice, cube);
        let plain = request.cube.dimensions.len() - 1;
        let mut asks = |d: usize, asked: Ranges| {
            let has = |t: &&mut Table| t.cuboid.level(d) > 0;
            request.workload.iter_mut().filter(has).take(1).for_each(|t| {
                t.asks = Asks::product(vec![(d as u16, asked.clone())]);
            });
        };
        match seed % 7 {
            // Sums of nodes of a tree, and of a dimension beside it.
            5 => asks(0, Ranges::Prefixes),
            6 => asks(plain, Ranges::All),
            _ => {}
        }
        match seed % 7 {
            6 => request.measure = Some(Measure::Bases),
            1 => request.objective = Objective::Worst,
            2 => {
                request.objective = Objective::Targets;
                let level = Rational::new(19, 20).unwrap();
                request.targets[0] = Some(Target { margin: Rational::whole(5), level });
            }
            3 => request.neighbours = Neighbours::Substitute,
            4 => request.max_rows = 3,
            _ => {}
        }
        let Ok(planned) = plan(&request) else { continue };
        weighted += usize::from(is_weighted(&planned));
        beside += usize::from(is_weighted(&planned) && seed % 7 > 4);
        let plan = &planned.plan;
        assert!(planned.cost.total <= plan.budget);
        assert!(planned.cost.total.to_f64() > plan.budget.to_f64() * (1.0 - 1e-6));
        if let Some(proof) = planned.certificate.filter(|_| is_weighted(&planned)) {
            let score = planned.score(&request);
            assert!((proof.value / score - 1.0).abs() < 0.01, "{seed}: {} is not {score}", proof.value);
            for (of, bound) in proof.wider.into_iter().flatten() {
                assert!(bound <= proof.value * 1.01, "{seed}: {of} {bound} {}", proof.value);
                bounds += 1;
            }
        }
        if is_weighted(&planned)
            && request.neighbours == Neighbours::AddRemove
            && planned.plan.measure == Measure::Residual
        {
            let want = dearest(&request.cube, plan);
            assert!((planned.cost.total.to_f64() / want - 1.0).abs() < 1e-9, "{seed}: {want}");
        }
        let blocks = dense(&request.cube, plan);
        for (t, spread) in request.workload.iter().zip(&planned.prediction.tables) {
            let asked = queries(&request.cube, t) * table_matrix(&request.cube, &t.cuboid);
            let covariance = blue_covariance(&blocks, &asked);
            let mean = covariance.diagonal().mean();
            assert!((spread.mean / mean - 1.0).abs() < 1e-6, "{seed} {} {mean}", spread.mean);
            assert!(spread.max >= covariance.diagonal().max() * (1.0 - 1e-6));
        }
    }
    assert!(weighted > 10 && beside > 1 && bounds > 1, "{weighted} {beside} {bounds}");
}

/// Where coarse levels are asked for with more of the other dimensions than fine ones, components have weights of their own: they spend the budget, cost and tell what matrices say, and gain.
/// Totals in real numbers with them and without are another program's (`benches/own_weights.py` has it for larger trees).
#[test]
fn weights_of_their_own() {
    let parents: [&[u32]; 3] = [&[0, 0, 0], &[0, 0, 1, 2, 2, 2], &[0, 0, 0, 1, 2, 3, 3, 4, 5, 5]];
    let mut area = plain("a", 1);
    area.levels.pop();
    for (l, own) in parents.iter().enumerate() {
        let labels = (0..own.len()).map(|i| format!("{l}-{i}")).collect();
        area.levels.push(Categories { name: format!("a{l}"), labels, parent: own.to_vec(), bounds: vec![] });
    }
    // The tree may stand anywhere; and components may reach the same level, but not be asked for beside the same.
    for (place, other) in [(0, false), (1, false), (2, false), (1, true)] {
        let mut dimensions = vec![plain("s", 2), plain("c", 3)];
        dimensions.insert(place, area.clone());
        let [s, c] = [usize::from(place == 0), 1 + usize::from(place < 2)];
        let cube = Cube { dimensions };
        let tables = match other {
            false => vec![vec![(place, 1), (s, 1), (c, 1)], vec![(place, 2), (s, 1)], vec![(place, 3)]],
            true => {
                vec![
                    vec![(place, 1), (s, 1)],
                    vec![(place, 2)],
                    vec![(place, 3), (s, 1)],
                    vec![(place, 3), (c, 1)],
                ]
            }
        };
        let tables = tables.into_iter().map(Cuboid::new);
        let workload = tables.map(|t| Table::new(t, Rational::ONE)).collect();
        let mut request = Request::new(cube, workload, Noise::Gaussian, Rational::new(1, 2).unwrap());
        request.measure = Some(Measure::Residual);
        let planned = plan(&request).unwrap();
        let plan = &planned.plan;
        let tellings = Tellings::of(plan.rows().measurements.iter().map(|m| &m.block)).unwrap();
        assert_eq!(tellings.own.map(|own| (own.dimension, own.kinds.len())), Some((place, 3)));
        let total = planned.prediction.weighted_total;
        let (least, shared) = if other { (123.714, 124.289) } else { (75.895, 76.455) };
        assert!(total > least && total < shared, "{total}");
        let proof = planned.certificate.unwrap();
        assert!((proof.value / total - 1.0).abs() < 1e-4 && proof.bound <= proof.value);
        let spent = planned.cost.total.to_f64();
        assert!(
            planned.cost.total <= plan.budget && (spent / dearest(&request.cube, plan) - 1.0).abs() < 1e-9
        );
        let bytes = wire::encode_plan(plan, &request.cube).unwrap();
        assert_eq!(wire::decode_plan(&bytes, &request.cube).unwrap(), *plan);
        let blocks = dense(&request.cube, plan);
        let frame = Frame::new(&request.cube, &plan.levels);
        let values = |m: &Measurement| {
            let nothing = vec![0; table_matrix(&request.cube, m.block.cuboid()).nrows()];
            m.block.publish(&frame, m.block.apply(&frame, nothing).unwrap()).unwrap()
        };
        let values: Vec<Vec<i64>> = plan.rows().measurements.iter().map(values).collect();
        let evaluator = Evaluator::new(Recovery::new(request.cube.clone(), plan.clone(), values).unwrap());
        for (t, spread) in request.workload.iter().zip(&planned.prediction.tables) {
            let covariance = blue_covariance(&blocks, &table_matrix(&request.cube, &t.cuboid));
            let (mean, max) = (covariance.diagonal().mean(), covariance.diagonal().max());
            let near = (spread.mean / mean - 1.0).abs() < 1e-6 && (spread.max / max - 1.0).abs() < 1e-6;
            assert!(near, "{:?}: {spread:?}, {mean} {max}", t.cuboid);
            let law = evaluator.worst_cell_law(&t.cuboid).unwrap();
            assert!((law.variance() / max - 1.0).abs() < 1e-6, "{} {max}", law.variance());
        }
    }
}
