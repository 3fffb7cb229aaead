//! Against vectors written out: cell by cell, integer by integer.

use super::*;
use crate::cube::{Categories, Cube, Cuboid, Dimension, NoValue, Quantity};
use crate::exact::Rational;
use crate::plan::block::component_scale;
use crate::plan::{BudgetRule, Channel, Measure, Measurement, NodeWeights, Telling, cost};

fn tree(name: &str, groups: &[u32]) -> Dimension {
    let nodes = |n: usize, parent: Vec<u32>, name: &str| Categories {
        name: name.into(),
        labels: (0..n).map(|i| i.to_string()).collect(),
        parent,
        bounds: Vec::new(),
    };
    let below: Vec<u32> = groups.iter().zip(0..).flat_map(|(&c, p)| vec![p; c as usize]).collect();
    let levels = vec![
        Categories::total(),
        nodes(groups.len(), vec![0; groups.len()], "group"),
        nodes(below.len(), below, name),
    ];
    Dimension::new(name, levels)
}

fn plain(name: &str, n: usize) -> Dimension {
    Dimension::plain(name, (0..n).map(|i| i.to_string()).collect())
}

fn plan(cube: &Cube, blocks: Vec<Block>) -> Plan {
    let scales = ["37/2", "5", "123", "60", "11/3", "800"].iter().cycle();
    let measurements = blocks
        .into_iter()
        .zip(scales)
        .map(|(block, scale)| {
            // Wider where counts are scaled.
            let unit = component_scale(&Frame::new(cube, &levels(cube)), block.cuboid()).unwrap();
            let scale = scale.parse::<Rational>().unwrap().checked_mul(Rational::whole(unit)).unwrap();
            Measurement { block, scale }
        })
        .collect();
    Plan {
        noise: Noise::Gaussian,
        budget: Rational::ONE,
        neighbours: Neighbours::AddRemove,
        max_rows: 1,
        measure: Measure::Residual,
        budgets: BudgetRule::Optimal,
        levels: levels(cube),
        channels: vec![Channel::rows(Vec::new(), measurements)],
        exact: Vec::new(),
        zeros: Vec::new(),
        copy: None,
    }
}

fn levels(cube: &Cube) -> Vec<Vec<u8>> {
    cube.dimensions.iter().map(|d| (0..d.levels.len() as u8).collect()).collect()
}

/// What a unit in a node moves of one dimension, less what the contrasts do not see.
fn written_out(frame: &Frame, level: Level, told: &Told, node: usize) -> Vec<i64> {
    let rung = frame.rung(level);
    let n = rung.len();
    let group = rung.parent[node];
    match told {
        Told::Cell => (0..n).map(|k| i64::from(k == node)).collect(),
        Told::Scaled => {
            let (own, others) = component_part(rung, rung.siblings[group as usize]).unwrap();
            let entry = |k: usize| match () {
                () if k == node => own as i64,
                () if rung.parent[k] == group => -(others as i64),
                () => 0,
            };
            (0..n).map(entry).collect()
        }
        Told::Basis(basis) => (0..basis.rows()).map(|r| i64::from(basis.row(r)[node])).collect(),
        // These have no kernel: what a unit in the cell adds up to.
        Told::Pair | Told::Signs => {
            let cuboid = Cuboid::new([level]);
            let block = if matches!(told, Told::Pair) { Block::Pairs(cuboid) } else { Block::Walsh(cuboid) };
            block.apply(frame, (0..n).map(|k| i64::from(k == node)).collect()).unwrap()
        }
    }
}

/// The loss of a unit in a cell given by its node of the finest level in each dimension; on the way the proof that what is
/// published moves just as this vector does.
fn of_cell(plan: &Plan, cube: &Cube, frame: &Frame, cell: &[usize]) -> Loss {
    let mut moved = Vec::new();
    for m in plan.measurements() {
        let (mut vector, mut index, mut cells) = (vec![1i64], 0, 1);
        for (level, told) in told(&m.block).unwrap() {
            let d = level.dimension;
            let mut node = cell[d];
            for l in (level.level..cube.dimensions[d].levels.len() - 1).rev() {
                node = cube.dimensions[d].levels[l + 1].parent[node] as usize;
            }
            let own = written_out(frame, level, &told, node);
            vector = vector.iter().flat_map(|v| own.iter().map(move |o| v * o)).collect();
            index = index * frame.rung(level).len() + node;
            cells *= frame.rung(level).len();
        }
        let unit: Vec<i64> = (0..cells).map(|k| i64::from(k == index)).collect();
        let seen = m.block.publish(frame, m.block.apply(frame, unit).unwrap());
        assert_eq!(seen, m.block.publish(frame, vector.clone()), "{:?} {cell:?}", m.block);
        let variance = m.scale.to_f64();
        moved.extend(vector.iter().map(|v| Moved { by: v.unsigned_abs(), copies: 1, variance }));
    }
    Loss::new(moved).unwrap()
}

fn check(cube: Cube, blocks: Vec<Block>, kinds: usize) {
    let (plan, frame) = (plan(&cube, blocks), Frame::new(&cube, &levels(&cube)));
    let losses = Losses::of(&plan, &frame).unwrap();
    assert_eq!(losses.0.len(), kinds);
    let mut cells: Vec<Vec<usize>> = vec![Vec::new()];
    for d in &cube.dimensions {
        let n = d.levels.last().unwrap().len();
        cells = cells.iter().flat_map(|c| (0..n).map(move |k| [&c[..], &[k]].concat())).collect();
    }
    let all: Vec<Loss> = cells.iter().map(|c| of_cell(&plan, &cube, &frame, c)).collect();
    let most = |f: &dyn Fn(&Loss) -> f64| all.iter().map(f).fold(0.0, f64::max);
    for epsilon in [0.1, 2.0] {
        let (found, known) = (losses.delta(epsilon), most(&|l| l.delta(epsilon).above));
        assert!((found / known - 1.0).abs() < 2e-6, "{epsilon}: {found} {known}");
    }
    let epsilon = losses.epsilon(Rational::new(1, 1_000_000).unwrap()).unwrap();
    assert!(losses.delta(epsilon) <= 1e-6 && losses.delta(epsilon * (1.0 - 1e-6)) > 1e-6);
    let rho = cost::cost(&plan, &frame).unwrap().total.to_f64();
    let known = most(&Loss::rho);
    assert!((losses.rho() / known - 1.0).abs() < 1e-12 && rho > known * (1.0 - 1e-12), "{rho} {known}");
    // Where cells are of one kind the cost is that ρ.
    assert!(kinds > 1 || (rho / known - 1.0).abs() < 1e-9, "{rho} {known}");
    assert!((losses.scaled(2.0).rho() / known - 0.5).abs() < 1e-12);
}

fn cuboid(levels: &[(usize, usize)]) -> Cuboid {
    Cuboid::new(levels.iter().copied())
}

#[test]
fn plain_dimensions_have_one_law() {
    let cube = Cube { dimensions: vec![plain("a", 3), plain("b", 2), plain("c", 5)] };
    let blocks = vec![
        Block::Component(cuboid(&[])),
        Block::Component(cuboid(&[(0, 1)])),
        Block::Component(cuboid(&[(0, 1), (2, 1)])),
        Block::Table(cuboid(&[(1, 1), (2, 1)])),
        Block::Walsh(cuboid(&[(0, 1), (2, 1)])),
        Block::Component(cuboid(&[(0, 1), (1, 1), (2, 1)])),
    ];
    check(cube, blocks, 1);
}

#[test]
fn groups_of_one_size_have_one_law() {
    let cube = Cube { dimensions: vec![tree("a", &[2, 2, 2]), plain("b", 3)] };
    let blocks = vec![
        Block::Component(cuboid(&[(0, 1)])),
        Block::Component(cuboid(&[(0, 2), (1, 1)])),
        Block::Pairs(cuboid(&[(0, 2)])),
        Block::Table(cuboid(&[(0, 1), (1, 1)])),
    ];
    check(cube, blocks, 1);
}

/// The worst kind of cell: groups of 1, 2 and 4 below one dimension, and pairs of which one has no sibling below the other.
#[test]
fn groups_of_several_sizes_have_a_law_for_each() {
    let cube = Cube { dimensions: vec![tree("a", &[2, 4, 1, 4]), tree("b", &[2, 1])] };
    let blocks = vec![
        Block::Component(cuboid(&[(0, 2)])),
        Block::Component(cuboid(&[(0, 2), (1, 1)])),
        Block::Pairs(cuboid(&[(1, 2)])),
        Block::Component(cuboid(&[(0, 1)])),
    ];
    check(cube, blocks, 3 * 2);
}

#[test]
fn columns_of_a_basis_are_kinds_of_cells() {
    let basis = Arc::new(Basis::new(vec![0; 4], vec![3, -4, 0, 1, 1, 1, 1, -2, 0, 5, 2, 2]).unwrap());
    let cube = Cube { dimensions: vec![plain("a", 3), plain("b", 4)] };
    let based = |levels: &[(usize, usize)], axes| Block::Based(Based { cuboid: cuboid(levels), axes });
    let blocks = vec![
        based(&[(0, 1)], vec![Telling::Siblings]),
        based(&[(1, 1)], vec![Telling::Basis(basis.clone())]),
        based(&[(0, 1), (1, 1)], vec![Telling::Siblings, Telling::Basis(basis)]),
    ];
    check(cube, blocks, 4);
}

/// A number of four steps, of which rows may have none: what is told of it with its squares, and of the rows beyond its ends.
fn number() -> Arc<Quantity> {
    Arc::new(Quantity { high: 400, missing: NoValue::Skip, ..Quantity::income() })
}

/// A plan of rows and of a number, with these scales.
fn with_number(cube: &Cube, block: &Block, scales: [&str; 5]) -> Plan {
    let total = Block::Table(cuboid(&[]));
    let scale = |n: usize| scales[n].parse::<Rational>().unwrap();
    let channel = |subject, n, block: &Block| Channel {
        subject,
        measurements: vec![Measurement { block: block.clone(), scale: scale(n) }],
        ..Channel::rows(Vec::new(), Vec::new())
    };
    let q = number();
    let channels = vec![
        channel(Subject::Rows, 0, block),
        channel(Subject::Sum(q.clone()), 1, block),
        channel(Subject::Valued(q.clone()), 2, block),
        channel(Subject::Squares(q.clone()), 3, block),
        channel(Subject::Below(q.clone()), 4, &total),
        channel(Subject::Above(q), 4, &total),
    ];
    Plan { channels, ..plan(cube, Vec::new()) }
}

/// How far a row moves what each channel adds up: one with this many half steps from the middle, beyond an end or not; one without a value.
fn rows_of(t: Option<i64>) -> [u64; 5] {
    let Some(t) = t else { return [1, 0, 0, 0, 0] };
    [1, t.unsigned_abs(), 1, (2 * t * t - 16).unsigned_abs(), u64::from(t.abs() == 4)]
}

/// Of all rows one at an end is the dearest at every ε, in every cell; and δ is what it has.
#[test]
fn a_row_at_an_end_is_the_dearest() {
    let cube = Cube { dimensions: vec![tree("a", &[2, 1, 3])] };
    let frame = Frame::new(&cube, &levels(&cube));
    let block = Block::Component(cuboid(&[(0, 2)]));
    for scales in [["700", "9000", "500", "60000", "3"], ["9", "50", "4", "9000", "1/3"]] {
        let plan = with_number(&cube, &block, scales);
        let losses = Losses::of(&plan, &frame).unwrap();
        assert_eq!(losses.0.len(), 3);
        for epsilon in [0.01, 0.3, 1.0, 4.0] {
            let mut most: f64 = 0.0;
            for (node, t) in
                (0..6).flat_map(|node| (-4..=4).step_by(2).map(Some).chain([None]).map(move |t| (node, t)))
            {
                let moved = plan.channels.iter().zip([0, 1, 2, 3, 4, 4]).flat_map(|(channel, n)| {
                    let m = &channel.measurements[0];
                    let own = match told(&m.block).unwrap().first() {
                        Some((level, told)) => written_out(&frame, *level, told, node),
                        None => vec![1],
                    };
                    // Nobody is beyond both ends.
                    let times = rows_of(t)[n] * u64::from(!matches!(channel.subject, Subject::Above(_)));
                    let variance = m.scale.to_f64();
                    own.into_iter().map(move |v| Moved { by: v.unsigned_abs() * times, copies: 1, variance })
                });
                most = most.max(Loss::new(moved).unwrap().delta(epsilon).above);
            }
            let found = losses.delta(epsilon);
            assert!((found / most - 1.0).abs() < 2e-6, "{scales:?} {epsilon}: {found} {most}");
        }
    }
}

/// Outcome by outcome: one cell, its count and its sum, under noise of few steps. No row has more than the δ that is found, and one has nearly that.
#[test]
fn sums_beside_counts_outcome_by_outcome() {
    let cube = Cube { dimensions: vec![plain("a", 2)] };
    let frame = Frame::new(&cube, &levels(&cube));
    let q = Arc::new(Quantity { missing: NoValue::Stop, ..Arc::unwrap_or_clone(number()) });
    let (rows, sums) = (1.5, 20.0);
    let one = |subject, scale: &str| Channel {
        subject,
        measurements: vec![Measurement {
            block: Block::Table(cuboid(&[(0, 1)])),
            scale: scale.parse().unwrap(),
        }],
        ..Channel::rows(Vec::new(), Vec::new())
    };
    let channels = vec![one(Subject::Rows, "3/2"), one(Subject::Sum(q), "20")];
    let losses = Losses::of(&Plan { channels, ..plan(&cube, Vec::new()) }, &frame).unwrap();
    let law = |variance: f64| -> Vec<(i64, f64)> {
        let weight = |z: i64| libm::exp(-((z * z) as f64) / (2.0 * variance));
        let all: f64 = (-90..=90).map(weight).sum();
        (-90..=90).map(|z| (z, weight(z) / all)).collect()
    };
    let (counts, amounts) = (law(rows), law(sums));
    for epsilon in [0.1, 1.0, 2.5] {
        let found = losses.delta(epsilon);
        let mut most: f64 = 0.0;
        for t in (-4..=4).step_by(2) {
            // Of everything: what is likelier with the row than without, by more than ε.
            let loss = |x: i64, by: i64, variance: f64| (2 * x * by - by * by) as f64 / (2.0 * variance);
            let mut delta = 0.0;
            for (x, p) in &counts {
                for (y, q) in &amounts {
                    let with = loss(x + 1, 1, rows) + loss(y + t, t, sums);
                    delta += p * q * (1.0 - libm::exp(epsilon - with)).max(0.0);
                }
            }
            most = most.max(delta);
        }
        assert!(most <= found && found <= most * (1.0 + 1e-5), "{epsilon}: {found} {most}");
    }
}

#[test]
fn what_has_no_law_of_its_own_says_why() {
    let cube = Cube { dimensions: vec![plain("a", 3)] };
    let frame = Frame::new(&cube, &levels(&cube));
    let good = plan(&cube, vec![Block::Table(cuboid(&[(0, 1)]))]);
    assert!(Losses::of(&good, &frame).is_ok());
    let why = |plan: &Plan| Losses::of(plan, &frame).unwrap_err();
    assert_eq!(why(&Plan { noise: Noise::Laplace, ..good.clone() }), Apart::Pure);
    assert_eq!(why(&Plan { neighbours: Neighbours::Substitute, ..good.clone() }), Apart::Substitute);
    assert_eq!(why(&Plan { max_rows: 2, ..good.clone() }), Apart::Rows);
    let mut ends = with_number(&cube, &good.channels[0].measurements[0].block, ["9", "9", "9", "9", "9"]);
    assert!(Losses::of(&ends, &frame).is_ok());
    ends.channels[5].measurements[0].scale = Rational::whole(10);
    assert_eq!(why(&ends), Apart::Ends);
    let rows = crate::plan::Rows { cuboid: cuboid(&[(0, 1)]), rows: vec![vec![(0, 1)]] };
    assert_eq!(why(&plan(&cube, vec![Block::Rows(rows)])), Apart::Own);
    let weights = Telling::Weights(Arc::new(NodeWeights::new(vec![0; 3], vec![2, 3, 4]).unwrap()));
    let weighted = Block::Based(Based { cuboid: cuboid(&[(0, 1)]), axes: vec![weights] });
    assert_eq!(why(&plan(&cube, vec![weighted])), Apart::Weights);
    let uneven: Vec<u32> = (1..=70).collect();
    let cube = Cube { dimensions: vec![tree("a", &uneven)] };
    let frame = Frame::new(&cube, &levels(&cube));
    let many = plan(&cube, vec![Block::Component(cuboid(&[(0, 2)]))]);
    assert_eq!(Losses::of(&many, &frame).unwrap_err(), Apart::Kinds);
}
