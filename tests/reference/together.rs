//! Rows for all that is asked together, against dense algebra: the cost of every cell, predictions, the bound, and that `auto` is no worse for them.

use crate::bases::{Dice, dense, queries};
use crate::dense::{Blue, grouped, plain, table_matrix};
use crate::plans::request;
use margins::cube::{Cube, Cuboid};
use margins::exact::Rational;
use margins::numeric::tries::tries;
use margins::plan::{Asks, Block, Measure, Neighbours, Noise, Ranges, Table};
use margins::planner::{Planned, Request, plan};
use margins::release::wire;

/// Tables over one to three dimensions, some with groups, each asked for a few intervals of each.
fn lists(dice: &mut Dice) -> Request {
    let dimension = |dice: &mut Dice, i: usize| match dice.below(4) {
        0 => grouped(&format!("d{i}"), &[1 + dice.below(3), 2 + dice.below(2), 2]),
        _ => plain(&format!("d{i}"), 2 + dice.below(6)),
    };
    let cube = Cube { dimensions: (0..1 + dice.below(3)).map(|i| dimension(dice, i)).collect() };
    let mut workload: Vec<Table> = Vec::new();
    for _ in 0..1 + dice.below(4) {
        let (mut pairs, mut asks) = (Vec::new(), Vec::new());
        for (d, dimension) in cube.dimensions.iter().enumerate() {
            let level = dice.below(dimension.levels.len());
            if level > 0 || (d == 0 && pairs.is_empty()) {
                let (level, n) = (level.max(1), dimension.levels[level.max(1)].len());
                let ends = |dice: &mut Dice| (dice.below(n) as u32, dice.below(n) as u32);
                let mut list: Vec<(u32, u32)> =
                    (0..1 + dice.below(5)).map(|_| ends(dice)).map(|(a, b)| (a.min(b), a.max(b))).collect();
                list.sort_unstable();
                list.dedup();
                pairs.push((d, level));
                asks.push((d as u16, Ranges::Intervals(list)));
            }
        }
        let weight = Rational::new(1 + dice.below(5) as u128, 2).unwrap();
        let table = Table { asks: Asks::product(asks), ..Table::new(Cuboid::new(pairs), weight) };
        if !workload.iter().any(|t| t.cuboid == table.cuboid) {
            workload.push(table);
        }
    }
    request(cube, workload, Noise::Gaussian, "1/3")
}

fn with(r: &Request, measure: Option<Measure>) -> Option<Planned> {
    plan(&Request { measure, ..r.clone() }).ok()
}

/// Against the dense covariance and each cell's own cost; and how near the plans are to the least of every Gaussian mechanism.
#[test]
fn nearly_the_least_of_every_mechanism() {
    let mut dice = Dice(26);
    let (mut made, mut sum, mut worst, mut chosen) = (0.0, 0.0, 1.0f64, 0);
    for round in 0..tries(8, 60) {
        let r = lists(&mut dice);
        let p = with(&r, Some(Measure::Together)).unwrap();
        let blocks = dense(&r.cube, &p.plan);
        let [block] = &blocks[..] else { panic!("{} blocks", blocks.len()) };
        let variance = block.covariance[(0, 0)];
        let cell = |c: usize| block.rows.column(c).norm_squared() / (2.0 * variance);
        let dearest = (0..block.rows.ncols()).map(cell).fold(0.0, f64::max);
        assert!(
            p.cost.total <= r.budget && (dearest / r.budget.to_f64() - 1.0).abs() < 1e-6,
            "round {round}: {dearest}"
        );
        let blue = Blue::new(&blocks, block.rows.ncols());
        let mut weighted = 0.0;
        for (table, spread) in r.workload.iter().zip(&p.prediction.tables) {
            let cells = table_matrix(&r.cube, &table.cuboid);
            let all = blue.covariance(&(queries(&r.cube, table) * &cells));
            assert!((spread.mean * all.nrows() as f64 / all.trace() - 1.0).abs() < 1e-6, "round {round}");
            assert!((spread.max / all.diagonal().max() - 1.0).abs() < 1e-6, "round {round}");
            weighted += table.weight.to_f64() * all.trace();
            // Whatever nobody asked for is told as well.
            assert!(blue.covariance(&cells).diagonal().max().is_finite());
        }
        assert!((p.prediction.weighted_total / weighted - 1.0).abs() < 1e-6);
        let proof = p.certificate.unwrap();
        assert!((proof.value / weighted - 1.0).abs() < 1e-3, "round {round}: {} {weighted}", proof.value);
        let ratio = weighted / proof.bound;
        assert!(ratio > 1.0 - 1e-6, "round {round}: {ratio}");
        (made, sum, worst) = (made + 1.0, sum + ratio, worst.max(ratio));
        let auto = with(&r, None).unwrap();
        chosen += usize::from(auto.plan.measure == Measure::Together);
        for other in [Measure::Together, Measure::Bases, Measure::Hierarchy, Measure::Queries] {
            let other = with(&r, Some(other)).map_or(f64::INFINITY, |p| p.prediction.weighted_total);
            // Where rows save next to nothing others are taken.
            assert!(auto.prediction.weighted_total <= other * 1.005, "round {round}");
        }
        let bytes = wire::encode_plan(&p.plan, &r.cube).unwrap();
        assert_eq!(
            wire::decode_plan(&bytes, &r.cube).unwrap().rows().measurements,
            p.plan.rows().measurements
        );
    }
    println!("{made} plans: mean {:.4} of the bound, worst {worst:.4}; `auto` takes {chosen}", sum / made);
    assert!(sum / made < 1.01 && worst < 1.05 && chosen > 0, "{} {worst} {chosen}", sum / made);
}

/// What is asked of nothing else is refused with the reason, and `auto` goes on without.
#[test]
fn only_where_it_is_made_for() {
    let cube = Cube { dimensions: vec![plain("age", 12), plain("sex", 2)] };
    let table = Table {
        asks: Asks::product(vec![(0, Ranges::Intervals(vec![(0, 3), (2, 8), (5, 11)]))]),
        ..Table::new(Cuboid::new(vec![(0, 1), (1, 1)]), Rational::ONE)
    };
    let r = request(cube, vec![table.clone()], Noise::Gaussian, "1/2");
    let made = with(&r, Some(Measure::Together)).unwrap();
    assert!(made.plan.rows().measurements.iter().all(|m| matches!(m.block, Block::Rows(_))));
    for other in [
        Request { neighbours: Neighbours::Substitute, ..r.clone() },
        Request { noise: Noise::Laplace, ..r.clone() },
        Request { zeros: vec!["age = '0' AND sex = '1'".into()], ..r.clone() },
        Request { with_law: true, ..r.clone() },
    ] {
        assert!(with(&other, Some(Measure::Together)).is_none());
        assert_ne!(with(&other, None).unwrap().plan.measure, Measure::Together);
    }
    // k rows of one unit: k times the noise.
    let several = with(&Request { max_rows: 3, ..r.clone() }, Some(Measure::Together)).unwrap();
    assert!((several.prediction.total / made.prediction.total - 9.0).abs() < 1e-6);
}
