//! Bases of ordered dimensions against dense algebra: prices, predictions, estimates, laws; zeros and exact tables beside them.

use crate::dense::{
    Blue, Measured, Memory, grouped, measured, plain, pseudo_inverse, table_matrix, weighted_contrasts,
};
use crate::plans::{planned, request, worst_pair};
use margins::cube::{Cube, Cuboid, Frame};
use margins::exact::Rational;
use margins::numeric::tries::tries;
use margins::plan::{
    Asks, Block, BudgetRule, Measure, Neighbours, Noise, Plan, Ranges, Table, Telling, cost,
};
use margins::planner::{Planned, Request, plan};
use margins::recover::Recovery;
use margins::recover::zeros::Lumped;
use margins::release::wire;
use nalgebra::{DMatrix, DVector};

/// The same numbers on every machine.
pub(crate) struct Dice(pub u64);

impl Dice {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % n as u64) as usize
    }
}

fn asked(dice: &mut Dice, n: usize) -> Ranges {
    match dice.below(6) {
        0 => Ranges::Cells,
        1 => Ranges::Prefixes,
        2 | 3 => Ranges::All,
        4 => Ranges::Total,
        _ => Ranges::Intervals(
            (0..1 + dice.below(3))
                .map(|_| (dice.below(n) as u32, dice.below(n) as u32))
                .map(|(a, b)| (a.min(b), a.max(b)))
                .collect(),
        ),
    }
}

/// A few tables over a few dimensions, with levels in some, each asked for something else.
fn random(dice: &mut Dice) -> Request {
    let dimension = |dice: &mut Dice, i: usize| match dice.below(4) {
        0 => grouped(&format!("d{i}"), &[1 + dice.below(3), 2 + dice.below(2), 2]),
        _ => plain(&format!("d{i}"), 2 + dice.below(4)),
    };
    let dimensions: Vec<_> = (0..2 + dice.below(2)).map(|i| dimension(dice, i)).collect();
    let cube = Cube { dimensions };
    let mut workload: Vec<Table> = Vec::new();
    while workload.is_empty() || workload.len() < 1 + dice.below(4) {
        let mut pairs = Vec::new();
        let mut asks = Vec::new();
        for (d, dimension) in cube.dimensions.iter().enumerate() {
            let level = dice.below(dimension.levels.len());
            if level > 0 {
                pairs.push((d, level));
                asks.push((d as u16, asked(dice, dimension.levels[level].len())));
            }
        }
        let table = Table {
            asks: Asks::product(asks),
            ..Table::new(Cuboid::new(pairs), Rational::new(1 + dice.below(5) as u128, 2).unwrap())
        };
        if !workload.iter().any(|t| t.cuboid == table.cuboid) {
            workload.push(table);
        }
    }
    request(cube, workload, Noise::Gaussian, "1/3")
}

/// What is asked of a table, as rows over its cells.
pub(crate) fn queries(cube: &Cube, table: &Table) -> DMatrix<f64> {
    table.cuboid.iter().fold(DMatrix::identity(1, 1), |m, at| {
        let (d, l) = (at.dimension, at.level);
        let n = cube.dimensions[d].levels[l].len();
        let asked = table.asks.of(d).cloned().unwrap_or_default();
        let list: Vec<(u32, u32)> = asked.intervals(n as u32).collect();
        m.kronecker(&DMatrix::from_fn(list.len(), n, |i, j| {
            f64::from(u8::from((list[i].0..=list[i].1).contains(&(j as u32))))
        }))
    })
}

pub(crate) fn dense(cube: &Cube, plan: &Plan) -> Vec<Measured> {
    let scale = |i: usize| plan.rows().measurements[i].scale.to_f64();
    let unit = |i: usize| match &plan.rows().measurements[i].block {
        Block::Component(a) => {
            margins::plan::block::component_scale(&Frame::new(cube, &plan.levels), a).unwrap() as f64
        }
        _ => 1.0,
    };
    (0..plan.rows().measurements.len()).map(|i| measured(cube, plan, i, scale(i), unit(i))).collect()
}

/// `None` where nothing but cells is asked for.
fn based(mut r: Request) -> Option<Planned> {
    r.measure = Some(Measure::Bases);
    plan(&r).ok()
}

/// `substitute`: where bases tell categories the cost is a bound, never below what the dearest two cells cost, and is called one.
#[test]
fn substitute_costs_no_less_than_the_worst_pair() {
    let (mut dice, mut made) = (Dice(3), 0);
    for round in 0..tries(12, 60) {
        let r = Request { neighbours: Neighbours::Substitute, ..random(&mut dice) };
        let Some(p) = based(r.clone()) else { continue };
        if !p.plan.measurements().any(|m| matches!(m.block, Block::Based(_))) {
            continue;
        }
        made += 1;
        assert_eq!(p.cost.worst_case, cost::WorstCase::Bound, "round {round}");
        let worst = worst_pair(&r.cube, &p.plan);
        assert!(p.cost.total.to_f64() >= worst * (1.0 - 1e-9), "round {round}: {worst}");
    }
    assert!(made > 3, "{made}");
}

/// The prediction is that of dense least squares; optimal budgets are no worse than equal ones; the cost is within the budget; the
/// plan survives its encoding.
#[test]
fn predictions_are_those_of_dense_algebra() {
    let mut dice = Dice(1);
    let mut made = 0;
    for round in 0..tries(6, 36) {
        let r = random(&mut dice);
        let Some(p) = based(r.clone()) else { continue };
        made += 1;
        assert!(
            p.cost.total <= p.plan.budget && p.cost.total.to_f64() > p.plan.budget.to_f64() * (1.0 - 1e-8)
        );
        let blocks = dense(&r.cube, &p.plan);
        let blue = Blue::new(&blocks, blocks[0].rows.ncols());
        let (mut total, mut weighted, mut most) = (0.0, 0.0, 0.0f64);
        for (table, spread) in r.workload.iter().zip(&p.prediction.tables) {
            let all = blue.covariance(&(queries(&r.cube, table) * table_matrix(&r.cube, &table.cuboid)));
            let sum = all.trace();
            total += sum;
            weighted += table.weight.to_f64() * sum;
            most = most.max(all.diagonal().max());
            assert!(
                (spread.mean * all.nrows() as f64 / sum - 1.0).abs() < 1e-6,
                "round {round}: {} {sum}",
                spread.mean
            );
            // Bounds, where there are too many kinds; never less than the truth.
            assert!(spread.max > all.diagonal().max() * (1.0 - 1e-6), "round {round}");
        }
        assert!((p.prediction.total / total - 1.0).abs() < 1e-6);
        assert!((p.prediction.weighted_total / weighted - 1.0).abs() < 1e-6);
        if let Some(proof) = p.certificate {
            assert!(proof.bound <= weighted * (1.0 + 1e-6), "round {round}: {} {weighted}", proof.bound);
        }
        let mut uniform = r.clone();
        (uniform.measure, uniform.budgets) = (Some(Measure::Bases), BudgetRule::Uniform);
        assert!(
            weighted <= plan(&uniform).unwrap().prediction.weighted_total * (1.0 + 1e-6),
            "round {round}"
        );
        let bytes = wire::encode_plan(&p.plan, &r.cube).unwrap();
        assert_eq!(
            wire::decode_plan(&bytes, &r.cube).unwrap().rows().measurements,
            p.plan.rows().measurements
        );
    }
    assert!(made > tries(2, 14), "{made}");
}

/// A unit moves each block by no more than its sensitivity says, and some unit by just that where all its dimensions have bases; two units'
/// difference costs no more than the joint cost.
#[test]
fn prices_are_those_of_the_columns() {
    let mut dice = Dice(5);
    let mut joint = 0;
    for _ in 0..24 {
        let mut r = random(&mut dice);
        r.neighbours = Neighbours::Substitute;
        let Some(p) = based(r.clone()) else { continue };
        let frame = Frame::new(&r.cube, &p.plan.levels);
        let blocks = dense(&r.cube, &p.plan);
        let cells = blocks[0].rows.ncols();
        for (m, block) in p.plan.rows().measurements.iter().zip(&blocks) {
            let Block::Based(own) = &m.block else { panic!("{:?}", m.block) };
            if own.axes.iter().all(|told| told.basis().is_some()) {
                let longest = (0..cells).map(|c| block.rows.column(c).norm_squared()).fold(0.0, f64::max);
                let stated = m.block.sensitivity(&frame, Noise::Gaussian).unwrap() as f64;
                assert!((stated / longest - 1.0).abs() < 1e-12, "{stated} {longest}");
            }
        }
        // Of what is left of a column after the contrasts, in units of the noise: scalar products of all columns, block by block.
        let stated = cost::cost(&p.plan, &frame).unwrap().total.to_f64();
        let mut products = DMatrix::<f64>::zeros(cells, cells);
        for block in &blocks {
            products += block.rows.transpose() * pseudo_inverse(&block.covariance) * &block.rows;
        }
        let mut worst = 0.0f64;
        for a in 0..cells {
            for b in 0..a {
                worst = worst.max((products[(a, a)] + products[(b, b)] - 2.0 * products[(a, b)]) / 2.0);
            }
        }
        assert!(worst <= stated * (1.0 + 1e-9), "{worst} {stated}");
        joint += usize::from(worst > stated * 0.6);
    }
    assert!(joint > 3, "{joint}");
}

/// The variance of what is known, for least squares that knows of noise alone.
const KNOWN: f64 = 1e-7;

/// Integers of any values: estimates, coefficients and variances are those of dense least squares, also over lumped axes, beside exact tables
/// and under zeros.
#[test]
fn estimates_and_laws_are_those_of_dense_algebra() {
    let mut dice = Dice(9);
    let (mut made, mut exact_too, mut zeros_too, mut between) = (0, 0, 0, 0);
    for round in 0..tries(12, 36) {
        let mut r = random(&mut dice);
        if round % 3 == 1 && r.workload.len() > 1 {
            r.exact = vec![r.workload[0].cuboid.clone()];
        }
        if round % 3 == 2 {
            r.zeros = vec!["d0 = '0' AND d1 = '1'".into()];
        }
        let Some(p) = based(r.clone()) else { continue };
        let frame = Frame::new(&r.cube, &p.plan.levels);
        let values: Vec<Vec<i64>> = p
            .plan
            .rows()
            .measurements
            .iter()
            .map(|m| (0..m.block.values(&frame)).map(|_| dice.below(2_000_000) as i64 - 1_000_000).collect())
            .collect();
        let cells = table_matrix(&r.cube, &Cuboid::total()).ncols();
        let counts = DVector::from_fn(cells, |_, _| dice.below(50) as f64);
        let exact: Vec<Vec<i64>> = r
            .exact
            .iter()
            .map(|e| (table_matrix(&r.cube, e) * &counts).iter().map(|v| *v as i64).collect())
            .collect();
        let mut blocks = dense(&r.cube, &p.plan);
        let mut answers: Vec<DVector<f64>> = Vec::new();
        for (m, v) in p.plan.rows().measurements.iter().zip(&values) {
            let Block::Based(b) = &m.block else { panic!() };
            answers.push(dense_answers(&r.cube, &p.plan, b, v));
        }
        // Exact tables are measured with hardly any noise.
        for (e, v) in r.exact.iter().zip(&exact) {
            let rows = table_matrix(&r.cube, e);
            let n = rows.nrows();
            blocks.push(Measured { rows, covariance: DMatrix::identity(n, n) * KNOWN });
            answers.push(DVector::from_fn(n, |i, _| v[i] as f64));
        }
        let recovery = match Recovery::new(r.cube.clone(), p.plan.clone(), Memory { values, exact }) {
            Ok(recovery) => recovery,
            // Not every workload tells the condition.
            Err(_) if !r.zeros.is_empty() => continue,
            Err(e) => panic!("{e}"),
        };
        made += 1;
        exact_too += usize::from(!r.exact.is_empty());
        zeros_too += usize::from(!r.zeros.is_empty());
        let zero: Vec<bool> = match r.zeros.is_empty() {
            true => vec![false; cells],
            false => {
                let below: usize =
                    r.cube.dimensions[1..].iter().map(|d| d.levels[d.finest()].len()).product();
                let after: usize =
                    r.cube.dimensions[2..].iter().map(|d| d.levels[d.finest()].len()).product();
                (0..cells).map(|c| c / below == 0 && c % below / after == 1).collect()
            }
        };
        // What a table says of cells that are empty whatever the data, is nothing.
        for table in r.workload.iter().filter(|_| !r.zeros.is_empty()) {
            let all = table_matrix(&r.cube, &table.cuboid);
            let empty: Vec<usize> =
                (0..all.nrows()).filter(|&i| (0..cells).all(|c| all[(i, c)] == 0.0 || zero[c])).collect();
            if !empty.is_empty() {
                let rows = all.select_rows(&empty);
                answers.push(DVector::zeros(rows.nrows()));
                blocks.push(Measured {
                    covariance: DMatrix::identity(rows.nrows(), rows.nrows()) * KNOWN,
                    rows,
                });
            }
        }
        let blue = Blue::new(&blocks, blocks[0].rows.ncols());
        for table in &r.workload {
            let all = table_matrix(&r.cube, &table.cuboid);
            let found = recovery.table(&table.cuboid).unwrap();
            let want = blue.estimate(&answers, &all);
            let size = want.amax().max(1.0);
            for (a, b) in found.iter().zip(want.iter()) {
                assert!(
                    (a - b).abs() < 1e-4 * size,
                    "round {round} {}: {a} {b}",
                    r.cube.describe(&table.cuboid)
                );
            }
            let asked = queries(&r.cube, table);
            let covariance = blue.covariance(&(&asked * &all));
            // Of levels between those in use the sums of the next finer one that is.
            let told = frame.telling(&table.cuboid).unwrap();
            between += usize::from(told != table.cuboid);
            let lifted = &asked * rolled(&r.cube, &told, &table.cuboid);
            for q in 0..asked.nrows().min(12) {
                let query: Vec<f64> = lifted.row(q).iter().copied().collect();
                let law = recovery.error_law(&Lumped::whole(&frame), &told, query).unwrap();
                let want = covariance[(q, q)];
                assert!(
                    (law.variance() - want).abs() < 1e-5 * want + 100.0 * KNOWN,
                    "round {round}: {} {want}",
                    law.variance()
                );
            }
        }
    }
    assert!(
        made > tries(1, 12) && exact_too > tries(0, 1) && zeros_too > tries(0, 1) && between > 0,
        "{made} {exact_too} {zeros_too} {between}"
    );
}

/// A finer table's cells in those of a coarser one.
pub(crate) fn rolled(cube: &Cube, fine: &Cuboid, coarse: &Cuboid) -> DMatrix<f64> {
    fine.iter().fold(DMatrix::identity(1, 1), |m, at| {
        let up = cube.dimensions[at.dimension].ancestors(at.level, coarse.level(at.dimension));
        let n = coarse.at(at.dimension).of(cube).len();
        m.kronecker(&DMatrix::from_fn(n, up.len(), |i, j| f64::from(u8::from(up[j] as usize == i))))
    })
}

/// Published integers as the dense rows have them: contrasts become projections, and scales are taken off.
pub(crate) fn dense_answers(
    cube: &Cube,
    plan: &Plan,
    block: &margins::plan::Based,
    values: &[i64],
) -> DVector<f64> {
    let frame = Frame::new(cube, &plan.levels);
    let mut back = DMatrix::<f64>::identity(1, 1);
    for (d, l, told) in block.dimensions() {
        let own = match told {
            Telling::Basis(basis) => DMatrix::identity(basis.rows(), basis.rows()),
            Telling::Weights(weights) => {
                let n = weighted_contrasts(weights).nrows();
                DMatrix::identity(n, n)
            }
            Telling::Siblings => {
                let one = Cuboid::new(vec![(d, l)]);
                let m = margins::plan::block::component_scale(&frame, &one).unwrap() as f64;
                let k = frame.contrasts(&one);
                let columns: Vec<DVector<f64>> = (0..k)
                    .map(|i| {
                        let unit = (0..k).map(|j| f64::from(u8::from(i == j))).collect();
                        DVector::from_vec(frame.expand(&one, unit)) / m
                    })
                    .collect();
                DMatrix::from_columns(&columns)
            }
        };
        back = back.kronecker(&own);
    }
    back * DVector::from_fn(values.len(), |i, _| values[i] as f64)
}

/// Random workloads over plain dimensions; `same`: every table asks the same of a dimension.
pub(crate) fn natural(dice: &mut Dice, same: bool) -> Request {
    let kinds = [Ranges::Cells, Ranges::Prefixes, Ranges::All];
    let sizes: Vec<usize> = (0..2 + dice.below(2)).map(|_| 3 + dice.below(3)).collect();
    let fixed: Vec<Ranges> = sizes.iter().map(|_| kinds[dice.below(3)].clone()).collect();
    let cube =
        Cube { dimensions: sizes.iter().enumerate().map(|(i, &n)| plain(&format!("d{i}"), n)).collect() };
    let mut workload: Vec<Table> = Vec::new();
    for _ in 0..1 + dice.below(4) {
        let set = 1 + dice.below((1 << sizes.len()) - 1);
        let dims: Vec<usize> = (0..sizes.len()).filter(|d| set >> d & 1 == 1).collect();
        let asks = dims.iter().map(|&d| {
            let own = kinds[dice.below(3)].clone();
            (d as u16, if same { fixed[d].clone() } else { own })
        });
        let asks = Asks::product(asks.collect());
        let table = Table { asks, ..Table::new(Cuboid::new(dims.iter().map(|&d| (d, 1))), Rational::ONE) };
        if !workload.iter().any(|t| t.cuboid == table.cuboid) {
            workload.push(table);
        }
    }
    request(cube, workload, Noise::Gaussian, "1/3")
}

/// How far product bases are from what any Gaussian mechanism can do, over random small workloads: the figures of docs/methods/bases.md.
#[test]
fn close_to_the_least_there_is() {
    for (same, most) in [(true, 1.01), (false, 1.12)] {
        let mut dice = Dice(3);
        let (mut worst, mut sum, mut made) = (1.0f64, 0.0, 0.0);
        let rounds = tries(12, 60);
        for _ in 0..rounds {
            let Some(proof) = based(natural(&mut dice, same)).and_then(|p| p.certificate) else { continue };
            let ratio = proof.value / proof.bound;
            assert!(ratio > 1.0 - 1e-6);
            worst = worst.max(ratio);
            sum += ratio;
            made += 1.0;
        }
        println!("same {same}: ratio of {made} plans to the bound: mean {:.5}, worst {worst:.5}", sum / made);
        assert!(made > rounds as f64 / 2.0 && worst < most, "{made} {worst}");
    }
}

/// A SELECT of an interval shapes bases as the same interval of a table does; the bound is that of its own rows, also where it is no product.
#[test]
fn selects_shape_bases() {
    let cube = Cube { dimensions: vec![plain("age", 12), plain("sex", 2), plain("area", 3)] };
    let list: Vec<String> = (3..9).map(|i| format!("'{i}'")).collect();
    let sql = |more: &str| {
        format!("SELECT sex, COUNT(*) FROM t WHERE age IN ({}){more} GROUP BY sex", list.join(", "))
    };
    let select = |sql: String| {
        let cuboid = margins::plan::Selected::new(&cube, &sql).unwrap().cuboid;
        Table { asks: Asks::Query(sql), ..Table::new(cuboid, Rational::whole(50)) }
    };
    let cells = Table::new(Cuboid::new(vec![(0, 1), (1, 1)]), Rational::ONE);
    let product = Table {
        asks: Asks::product(vec![(0, Ranges::Intervals(vec![(3, 8)]))]),
        weight: Rational::whole(50),
        ..cells.clone()
    };
    let of = |more: Table| {
        let r = request(cube.clone(), vec![cells.clone(), more], Noise::Gaussian, "1/2");
        (based(r.clone()).unwrap(), planned(r, Measure::Residual, BudgetRule::Optimal))
    };
    let ((table, _), (query, residual)) = (of(product), of(select(sql(""))));
    let total = |p: &Planned| p.prediction.weighted_total;
    assert!((total(&table) / total(&query) - 1.0).abs() < 1e-9);
    assert!(total(&query) < 0.75 * total(&residual), "{} {}", total(&query), total(&residual));
    let (a, b) = (table.certificate.unwrap(), query.certificate.unwrap());
    assert!((a.bound / b.bound - 1.0).abs() < 1e-9 && b.gap() < 0.05, "{} {} {}", a.bound, b.bound, b.gap());
    // A union of areas beside the interval: the ages are fitted to all the same, and the bound is from the rows.
    let (union, residual) = of(select(sql(" AND area IN ('0', '2')")));
    let proof = union.certificate.unwrap();
    println!(
        "gain {} and {}, gap {}",
        total(&query) / total(&residual),
        total(&union) / total(&residual),
        proof.gap()
    );
    assert!(total(&union) < total(&residual) && proof.bound <= total(&union) && proof.gap() < 1.0);
}

/// What is asked under declared zeros is predicted with them, whatever is asked.
#[test]
fn predictions_count_on_zeros() {
    let mut dice = Dice(31);
    let mut made = 0;
    for round in 0..tries(3, 24) {
        let mut r = random(&mut dice);
        r.zeros = vec!["d0 = '0' AND d1 = '1'".into()];
        if round % 3 == 0 && r.workload.len() > 1 {
            r.exact = vec![r.workload[0].cuboid.clone()];
        }
        for measure in [Measure::Bases, Measure::Residual, Measure::Tables] {
            let Ok(p) = plan(&Request { measure: Some(measure), effort: 0, ..r.clone() }) else { continue };
            let finest = |c: &Cuboid, d: usize| c.level(d) == r.cube.dimensions[d].finest();
            if !p.plan.rows().workload.iter().any(|t| finest(&t.cuboid, 0) && finest(&t.cuboid, 1)) {
                continue;
            }
            if !p.prediction.zeros {
                // Whole tables over unequal groups beside exact ones may be too much: then the prediction is an upper bound, and says so.
                assert_eq!(measure, Measure::Tables, "round {round}");
                continue;
            }
            made += 1;
            let cube = crate::dense::cube_of_plan(&r.cube, &p.plan);
            let mut blocks: Vec<Measured> = (0..p.plan.rows().measurements.len())
                .map(|i| {
                    let m = &p.plan.rows().measurements[i];
                    let variance = crate::dense::noise_variance(r.noise, m.scale.to_f64());
                    measured(&cube, &p.plan, i, variance, crate::dense::unit(&cube, &p.plan, &m.block))
                })
                .collect();
            let cells = table_matrix(&cube, &Cuboid::total()).ncols();
            let n = |d: usize| cube.dimensions[d].levels[cube.dimensions[d].finest()].len();
            let (below, after): (usize, usize) =
                ((1..cube.dimensions.len()).map(n).product(), (2..cube.dimensions.len()).map(n).product());
            let zero = |c: usize| c / below == 0 && c % below / after == 1;
            let tables = p.plan.rows().workload.iter().map(|t| &t.cuboid);
            for (i, table) in tables.enumerate() {
                let all = table_matrix(&cube, table);
                let is_known = p.plan.exact.iter().any(|e| table.is_below(e));
                let known: Vec<usize> = (0..all.nrows())
                    .filter(|&i| is_known || (0..cells).all(|c| all[(i, c)] == 0.0 || zero(c)))
                    .collect();
                if !known.is_empty() {
                    let rows = all.select_rows(&known);
                    let covariance = DMatrix::identity(rows.nrows(), rows.nrows()) * KNOWN;
                    blocks.push(Measured { rows, covariance });
                }
                assert!(i < r.workload.len());
            }
            let blue = Blue::new(&blocks, blocks[0].rows.ncols());
            for (table, spread) in r.workload.iter().zip(&p.prediction.tables) {
                let query = queries(&r.cube, table) * table_matrix(&r.cube, &table.cuboid);
                let all = blue.covariance(&query);
                let (mean, max) = (all.trace() / all.nrows() as f64, all.diagonal().max());
                let same = |a: f64, b: f64| (a - b).abs() < 1e-5 * b + 100.0 * KNOWN;
                assert!(
                    same(spread.mean, mean) && same(spread.max, max),
                    "round {round}, {measure:?}: {spread:?} {mean} {max}"
                );
            }
        }
    }
    assert!(made > tries(1, 12), "{made}");
}

/// `auto` takes bases where they are best, and what asks for cells alone plans as before.
#[test]
fn chosen_where_they_are_best() {
    let cube = Cube { dimensions: vec![plain("age", 30), plain("sex", 2)] };
    let table = |asked: Ranges| Table {
        asks: Asks::product(vec![(0, asked)]),
        ..Table::new(Cuboid::new(vec![(0, 1), (1, 1)]), Rational::ONE)
    };
    for asked in [Ranges::All, Ranges::Prefixes] {
        let r = request(cube.clone(), vec![table(asked)], Noise::Gaussian, "1/2");
        let best = plan(&r).unwrap();
        assert_eq!(best.plan.measure, Measure::Bases);
        let residual = planned(r, Measure::Residual, BudgetRule::Optimal);
        assert!(best.prediction.total < 0.9 * residual.prediction.total);
    }
    let mut r = request(cube, vec![table(Ranges::Cells)], Noise::Gaussian, "1/2");
    assert_ne!(plan(&r).unwrap().plan.measure, Measure::Bases);
    r.measure = Some(Measure::Bases);
    assert!(plan(&r).unwrap_err().to_string().contains("residual"));
    r.workload = vec![table(Ranges::All)];
    r.noise = Noise::Laplace;
    assert!(plan(&r).unwrap_err().to_string().contains("Gaussian"));
}
