//! Levels of ordered dimensions that are told by their finest categories: groups of neighbours are intervals of those.

use crate::bases::{Dice, dense, queries, rolled};
use crate::dense::{Blue, Memory, grouped, plain, table_matrix};
use crate::plans::request;
use margins::answer::Evaluator;
use margins::cube::{Cube, Cuboid, Dimension};
use margins::exact::Rational;
use margins::numeric::tries::tries;
use margins::plan::{Asks, Block, Measure, Measurement, Noise, Ranges, Table};
use margins::planner::{Planned, Request, plan};
use margins::recover::Recovery;
use margins::release::wire;
use nalgebra::DMatrix;

fn ask(cuboid: &[(usize, usize)], asked: &[(u16, Ranges)]) -> Table {
    Table {
        asks: Asks::product(asked.to_vec()),
        ..Table::new(Cuboid::new(cuboid.iter().copied()), Rational::ONE)
    }
}

fn based(dimensions: Vec<Dimension>, tables: Vec<Table>) -> (Request, Planned) {
    let r = request(Cube { dimensions }, tables, Noise::Gaussian, "1/2");
    let r = Request { measure: Some(Measure::Bases), ..r };
    let p = plan(&r).unwrap();
    (r, p)
}

/// Which levels of the first dimension are in use.
fn used(p: &Planned) -> &[u8] {
    &p.plan.levels[0]
}

/// The same questions, written of groups and of categories, are the same plan: blocks, scales and cost. What was asked stays as it was written.
#[test]
fn questions_of_groups_are_those_of_intervals() {
    let groups = [3usize, 4, 3, 4];
    let (_, ages) = based(
        vec![plain("age", 14)],
        vec![
            ask(&[(0, 1)], &[(0, Ranges::All)]),
            ask(&[(0, 1)], &[(0, Ranges::Intervals(vec![(0, 2), (0, 6), (0, 9), (0, 13)]))]),
        ],
    );
    let tables = vec![ask(&[(0, 2)], &[(0, Ranges::All)]), ask(&[(0, 1)], &[(0, Ranges::Prefixes)])];
    let (r, p) = based(vec![grouped("age", &groups)], tables.clone());
    assert_eq!((used(&p), &p.plan.rows().workload), (&[0u8, 2][..], &tables));
    assert_eq!((p.prediction.cells, p.prediction.queries), (18.0, 109.0));
    assert_eq!(p.prediction.asked, ages.prediction.asked);
    assert_eq!(p.prediction.tables, ages.prediction.tables);
    assert_eq!(p.cost.total, ages.cost.total);
    for (own, of_ages) in p.plan.rows().measurements.iter().zip(&ages.plan.rows().measurements) {
        assert_eq!(own.scale, of_ages.scale);
        let basis = |m: &Measurement| match &m.block {
            Block::Based(b) => b.axes.iter().map(|told| told.basis().cloned()).collect::<Vec<_>>(),
            block => panic!("{block:?}"),
        };
        assert_eq!(basis(own), basis(of_ages));
    }
    let proof = p.certificate.unwrap();
    assert!(proof.gap() < 1e-3, "{}", proof.gap());
    // `auto` takes it.
    let auto = plan(&Request { measure: None, ..r.clone() }).unwrap();
    assert_eq!((auto.plan.measure, &auto.plan.levels), (Measure::Bases, &p.plan.levels));
    // The file says what was asked, and is read again.
    let bytes = wire::encode_plan(&p.plan, &r.cube).unwrap();
    let read = wire::decode_plan(&bytes, &r.cube).unwrap();
    assert_eq!((&read.levels, &read.rows().measurements), (&p.plan.levels, &p.plan.rows().measurements));
    assert!(read.rows().workload.iter().zip(&tables).all(|(a, b)| a.cuboid == b.cuboid));
}

fn frame(r: &Request, p: &Planned) -> margins::cube::Frame {
    margins::cube::Frame::new(&r.cube, &p.plan.levels)
}

/// Where the levels are a basis each, by the old way: something else speaks of the groups.
fn by_levels(r: &Request, level: usize) -> Planned {
    plan(&Request { beside: vec![Cuboid::new([(0, level)])], ..r.clone() }).unwrap()
}

/// A hundred ages with two cuts, all ranges of both, and fourteen ages with four groups: less noise than by a basis for each level, and next to none above the least there is.
#[test]
fn less_noise_than_by_levels() {
    let hundred = vec![ask(&[(0, 2)], &[(0, Ranges::All)]), ask(&[(0, 1)], &[(0, Ranges::All)])];
    let fourteen = vec![ask(&[(0, 2)], &[(0, Ranges::All)]), ask(&[(0, 1)], &[(0, Ranges::Prefixes)])];
    for (groups, tables) in [(&[18usize, 47, 35][..], hundred), (&[3, 4, 3, 4], fourteen)] {
        let (r, p) = based(vec![grouped("age", groups)], tables);
        let (levels, proof) = (by_levels(&r, 1), p.certificate.unwrap());
        let (own, before) = (p.prediction.weighted_total, levels.prediction.weighted_total);
        println!(
            "ages in groups of {groups:?}: {own:.1} for {before:.1} by levels, at least {:.1}",
            proof.bound
        );
        assert_eq!((used(&p), used(&levels)), (&[0u8, 2][..], &[0u8, 1, 2][..]));
        assert!(own < 0.96 * before && proof.gap() < 1e-3, "{own} {before} {}", proof.gap());
    }
}

/// Groups that are asked for beside many others are cheaper by themselves: the better plan is taken, and that is the one with the level.
#[test]
fn groups_alone_keep_their_level() {
    let tables = vec![ask(&[(0, 1), (1, 1)], &[]), ask(&[(0, 2)], &[(0, Ranges::All)])];
    let (_, p) = based(vec![grouped("age", &[10, 10, 10]), plain("area", 60)], tables);
    assert_eq!(used(&p), [0, 1, 2]);
}

/// Over random workloads: predictions, estimates' laws and the cell that is known least well are those of dense algebra, also of tables over levels that are not in use.
#[test]
fn as_by_dense_algebra() {
    let mut dice = Dice(77);
    let mut between = 0;
    for round in 0..tries(10, 60) {
        let groups: Vec<usize> = (0..2 + dice.below(2)).map(|_| 1 + dice.below(4)).collect();
        let cube = Cube { dimensions: vec![grouped("age", &groups), plain("sex", 2)] };
        let asked = |dice: &mut Dice| match dice.below(4) {
            0 => Ranges::Cells,
            1 => Ranges::Prefixes,
            2 => Ranges::Total,
            _ => Ranges::All,
        };
        let mut tables = Vec::new();
        for level in [2, 1] {
            let own = (0, asked(&mut dice));
            tables.push(if dice.below(2) == 0 {
                ask(&[(0, level)], &[own])
            } else {
                ask(&[(0, level), (1, 1)], &[own])
            });
        }
        let r = request(cube, tables, Noise::Gaussian, "1/3");
        let Ok(p) = plan(&Request { measure: Some(Measure::Bases), ..r.clone() }) else { continue };
        let values = |m: &Measurement| vec![0; m.block.values(&frame(&r, &p)) as usize];
        let values = p.plan.rows().measurements.iter().map(values).collect();
        let source = Memory { values, exact: Vec::new() };
        let evaluator = Evaluator::new(Recovery::new(r.cube.clone(), p.plan.clone(), source).unwrap());
        let blocks = dense(&r.cube, &p.plan);
        let blue = Blue::new(&blocks, blocks[0].rows.ncols());
        for (table, spread) in r.workload.iter().zip(&p.prediction.tables) {
            between += usize::from(frame(&r, &p).telling(&table.cuboid).unwrap() != table.cuboid);
            let cells: DMatrix<f64> = table_matrix(&r.cube, &table.cuboid);
            let all = blue.covariance(&(queries(&r.cube, table) * &cells));
            assert!((spread.mean * all.nrows() as f64 / all.trace() - 1.0).abs() < 1e-6, "round {round}");
            assert!(spread.max > all.diagonal().max() * (1.0 - 1e-6), "round {round}");
            let own = blue.covariance(&cells).diagonal();
            let law = evaluator.worst_cell_law(&table.cuboid).unwrap();
            assert!(
                (law.variance() / own.max() - 1.0).abs() < 1e-6,
                "round {round}: {} {own}",
                law.variance()
            );
            let laws = evaluator.cell_laws(&table.cuboid, 4096).unwrap().unwrap();
            let sum: f64 = laws.iter().map(|(n, law)| n * law.variance()).sum();
            assert!((sum / own.sum() - 1.0).abs() < 1e-6, "round {round}: {sum} {}", own.sum());
        }
    }
    assert!(between > tries(4, 25), "{between}");
}

/// Whatever was measured: a table of a level that is not in use has the sums of the next finer one that is, with their law.
#[test]
fn of_any_plan() {
    let cube = Cube { dimensions: vec![grouped("age", &[2, 1, 3]), plain("sex", 2)] };
    let (fine, coarse) = (Cuboid::new([(0, 2), (1, 1)]), Cuboid::new([(0, 1), (1, 1)]));
    let mut dice = Dice(5);
    for measure in [Measure::Residual, Measure::Queries, Measure::Wavelet, Measure::Bases] {
        let asked = if measure == Measure::Bases { Ranges::All } else { Ranges::Cells };
        let table =
            Table { asks: Asks::product(vec![(0, asked)]), ..Table::new(fine.clone(), Rational::ONE) };
        let r = request(cube.clone(), vec![table], Noise::Gaussian, "1/2");
        let p = plan(&Request { measure: Some(measure), ..r.clone() }).unwrap();
        // Halves of halves are levels of another cube.
        let over = r.over(measure).into_owned();
        let at = |c: &Cuboid| if measure == Measure::Wavelet { cube.refined().cuboid(c) } else { c.clone() };
        let frame = margins::cube::Frame::new(&over.cube, &p.plan.levels);
        let of = |m: &Measurement| {
            (0..m.block.values(&frame)).map(|_| dice.below(200) as i64 - 100).collect::<Vec<_>>()
        };
        let values = p.plan.rows().measurements.iter().map(of).collect();
        let asked = vec![Table::new(at(&coarse), Rational::ONE)];
        let plan = p.plan.with_workload(asked);
        let bytes = wire::encode_plan(&plan, &over.cube).unwrap();
        assert_eq!(wire::decode_plan(&bytes, &over.cube).unwrap().rows().workload, plan.rows().workload);
        let recovery = Recovery::new(over.cube.clone(), plan, Memory { values, exact: Vec::new() }).unwrap();
        let (cells, sums) = (recovery.table(&at(&fine)).unwrap(), recovery.table(&at(&coarse)).unwrap());
        let rolled = rolled(&cube, &fine, &coarse);
        let want = &rolled * nalgebra::DVector::from_vec(cells);
        assert!(
            sums.iter().zip(want.iter()).all(|(a, b)| (a - b).abs() < 1e-6),
            "{measure:?}: {sums:?} {want}"
        );
        if measure == Measure::Wavelet {
            continue;
        }
        let blocks: Vec<_> = (0..p.plan.measured())
            .map(|i| {
                let m = &p.plan.rows().measurements[i];
                let variance = crate::dense::noise_variance(r.noise, m.scale.to_f64());
                crate::dense::measured(
                    &cube,
                    &p.plan,
                    i,
                    variance,
                    crate::dense::unit(&cube, &p.plan, &m.block),
                )
            })
            .collect();
        let blue = Blue::new(&blocks, blocks[0].rows.ncols());
        let own = blue.covariance(&(rolled * table_matrix(&cube, &fine))).diagonal();
        let law = Evaluator::new(recovery).worst_cell_law(&coarse).unwrap();
        assert!((law.variance() / own.max() - 1.0).abs() < 1e-6, "{measure:?}: {} {own}", law.variance());
    }
}
