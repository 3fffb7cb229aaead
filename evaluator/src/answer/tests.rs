//! Whole answers against draws of noise and against the dense response of every estimate to every noise.

mod change;
mod coverage;
mod over;
mod sets;
mod simultaneous;

use super::figure::question::Question;
use super::figure::{Basis, ErrorOf, Pairs};
use super::tell::tables::Evaluator;
use super::tell::{Family, Told, pool};
use crate::cube::{Bounds, Cube, Dimension, Frame, Level};
use crate::joint::{How, JointLaw};
use crate::law::{ErrorLaw, Generator, Interval, Method, NoiseLaw, Term};
use crate::numeric::tries::tries;
use crate::plan::{Block, Measure, Noise, Plan};
use crate::posterior::Statement;
use crate::posterior::{CountPosterior, Prior};
use crate::recover::Recovery;
use crate::release::wire;
use crate::sql::{Portion, Present, Query};
use std::sync::Arc;

/// a: two categories; b: the numbers 0, 1, 2; c: four categories in two halves.
fn cube() -> Cube {
    let mut b = Dimension::plain("b", ["0", "1", "2"].map(String::from).to_vec());
    b.levels[1].bounds = (0..3).map(|v| Some(Bounds { lo: v.into(), hi: v.into(), closed: true })).collect();
    let a = Dimension::plain("a", ["x", "y"].map(String::from).to_vec());
    let mut c = Dimension::plain("c", ["p", "q", "r", "s"].map(String::from).to_vec());
    let mut half = Dimension::plain("half", ["front", "back"].map(String::from).to_vec());
    c.levels.insert(1, half.levels.remove(1));
    c.levels[2].parent = vec![0, 0, 1, 1];
    Cube { dimensions: vec![a, b, c] }
}

/// A plan of the planner, as its bytes lie in `evaluator/tests/plans`. The planner stands on this package; its own test (`tests/vectors/plans.rs`)
/// makes these files and holds them against what it plans.
fn planned(noise: Noise, measure: Measure, budget: &str) -> Plan {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans");
    let domain = wire::encode_domain(&cube()).unwrap();
    assert_eq!(std::fs::read(folder.join("domain")).unwrap(), domain, "the plans are of another cube");
    let name = format!("{}-{}-{}", noise.name().to_lowercase(), measure.name(), budget.replace('/', "_"));
    wire::decode_plan(&std::fs::read(folder.join(name)).unwrap(), &cube()).unwrap()
}

const TRUTH: [i64; 24] =
    [40, 12, 9, 30, 25, 18, 33, 7, 16, 22, 11, 28, 19, 35, 24, 6, 14, 31, 27, 10, 21, 8, 17, 26];

/// What the plan measures of `truth` with the noise `z(measurement, cell)`.
fn measured(plan: &Plan, truth: &[i64], mut z: impl FnMut(usize, usize) -> i64) -> Vec<Vec<i64>> {
    let cube = cube();
    let frame = Frame::new(&cube, &plan.levels);
    plan.rows()
        .measurements
        .iter()
        .enumerate()
        .map(|(i, m)| {
            let c = m.block.cuboid();
            // Counted the plain way, cell by cell.
            let shape = frame.shape(c);
            let mut table = vec![0i64; shape.iter().product()];
            for (cell, count) in truth.iter().enumerate() {
                let finest = [cell / 12, cell / 4 % 3, cell % 4];
                let at = c.iter().zip(&shape).fold(0, |at, (Level { dimension: d, level: l }, n)| {
                    let dimension = &cube.dimensions[d];
                    at * n + dimension.ancestors(dimension.finest(), l)[finest[d]] as usize
                });
                table[at] += count;
            }
            let mut scale = 1;
            match &m.block {
                Block::Component(a) => scale = crate::plan::block::component_scale(&frame, a).unwrap() as i64,
                Block::Table(_) => {}
                Block::Pairs(a) => table = frame.contrast(a, table).unwrap(),
                Block::Walsh(a) => table = frame.walsh(a, table).unwrap(),
                own @ (Block::Rows(_) | Block::Based(_)) => table = own.apply(&frame, table).unwrap(),
            }
            for (cell, v) in table.iter_mut().enumerate() {
                *v = *v * scale + z(i, cell);
            }
            match &m.block {
                Block::Component(a) => frame.contrast(a, table).unwrap(),
                own @ Block::Based(_) => own.publish(&frame, table).unwrap(),
                _ => table,
            }
        })
        .collect()
}

/// How many noises a block has.
fn noises(frame: &Frame, block: &Block) -> usize {
    match block {
        Block::Component(a) => frame.len(a),
        Block::Based(_) => block.noises(frame),
        block => block.values(frame),
    }
}

/// The rows of every portion.
fn placed(plan: &Plan, asked: &Question, values: Vec<Vec<i64>>) -> Vec<(usize, Told)> {
    let cube = cube();
    let evaluator = Evaluator::new(Recovery::new(cube.clone(), plan.clone(), values).unwrap());
    let of = |(at, portion): (usize, &Portion)| {
        let group_by = asked.levels(at);
        let present = Present::new(&portion.filter, group_by, &cube);
        let total = group_by.iter().all(|l| l.level == 0) && portion.ranks.iter().all(|r| *r == Portion::ALL);
        let groups = match total {
            true => vec![vec![0; group_by.len()]],
            false => present.rows(group_by, &cube, 1 << 20).unwrap(),
        };
        let rows = evaluator.rows(&Family { figures: &portion.aggregates, group_by, rows: &groups }).unwrap();
        rows.into_iter().map(move |g| (at, g)).collect::<Vec<_>>()
    };
    asked.portions.iter().enumerate().flat_map(of).collect()
}

fn answered(plan: &Plan, asked: &Question, values: Vec<Vec<i64>>) -> Vec<Told> {
    placed(plan, asked, values).into_iter().map(|(_, g)| g).collect()
}

fn draw(plan: &Plan, seed: u64) -> Vec<Vec<i64>> {
    let mut generator = Generator::new(seed);
    let laws = laws(plan);
    measured(plan, &TRUTH, |i, _| generator.draw(&laws[i]) as i64)
}

/// The estimates as a linear function of the noises: what they are without any, and how they respond to each single
/// one. Thousands of releases are drawn from it in no time.
struct Response {
    rows: Vec<Told>,
    /// For each noise its measurement, and the response of every aggregate of every row.
    noises: Vec<(usize, Vec<f64>)>,
    laws: Vec<NoiseLaw>,
}

impl Response {
    fn new(plan: &Plan, asked: &Question) -> Response {
        let frame = Frame::new(&cube(), &plan.levels);
        let mut noises = Vec::new();
        for (m, measurement) in plan.rows().measurements.iter().enumerate() {
            for cell in 0..super::tests::noises(&frame, &measurement.block) {
                let unit = measured(plan, &[0; 24], |i, c| i64::from(i == m && c == cell));
                let own = answered(plan, asked, unit).into_iter().flat_map(|g| g.estimates).collect();
                noises.push((m, own));
            }
        }
        Response { rows: truth(plan, asked), noises, laws: laws(plan) }
    }

    /// The rows of the release with this seed.
    fn draw(&self, seed: u64) -> Vec<Told> {
        let mut generator = Generator::new(seed);
        let mut rows = self.rows.clone();
        for (m, response) in &self.noises {
            let z = generator.draw(&self.laws[*m]);
            if z != 0.0 {
                let estimates = rows.iter_mut().flat_map(|g| &mut g.estimates);
                estimates.zip(response).for_each(|(e, r)| *e += z * r);
            }
        }
        rows
    }
}

/// The law of each measurement's noise.
fn laws(plan: &Plan) -> Vec<NoiseLaw> {
    let law = |m: &crate::plan::Measurement| match plan.noise {
        Noise::Gaussian => NoiseLaw::DiscreteGaussian { variance: m.scale.to_f64() },
        Noise::Laplace => NoiseLaw::DiscreteLaplace { scale: m.scale.to_f64() },
    };
    plan.rows().measurements.iter().map(law).collect()
}

const FIGURES: &str = "SELECT a, COUNT(*) AS n, COUNT(*) FILTER (WHERE b >= 1) - COUNT(*) FILTER (WHERE b < 1) AS d, \
    SUM(b) / 4 AS s, SUM(CASE WHEN c = 'p' THEN 3 ELSE 1 END) - 2 * COUNT(*) + 5 AS odd, \
    COUNT(*) FILTER (WHERE b = 2) + COUNT(*) FILTER (WHERE c.half = 'front') AS apart, \
    AVG(b) AS mean, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share, \
    (COUNT(*) FILTER (WHERE b = 2) - COUNT(*) FILTER (WHERE b = 0)) / COUNT(*) FILTER (WHERE b = 0) AS change \
    FROM t GROUP BY a";

/// Bands that no level has, totals over some of them and over the labels of a level above.
const BANDS: [&str; 2] = [
    "SELECT c, COUNT(*) AS n, COUNT(*) FILTER (WHERE a = 'x') / SUM(COUNT(*)) OVER (PARTITION BY c.half) AS p, \
     SUM(COUNT(*)) OVER () - COUNT(*) AS rest FROM t WHERE c <> 'q' GROUP BY c",
    "SELECT CASE WHEN a = 'x' AND b < 2 THEN 'few' WHEN b = 2 THEN 'two' ELSE 'y' END AS band, a, COUNT(*) AS n, SUM(b) AS s, \
     COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY band) AS p, SUM(COUNT(*)) OVER (PARTITION BY a) AS q \
     FROM t GROUP BY band, a",
];

/// Running totals, within a group and over all; the row before, the second after; moving sums.
const OVER: &str = "SELECT a, c, COUNT(*) AS n, SUM(COUNT(*)) OVER (PARTITION BY a ORDER BY c) AS so_far, \
    COUNT(*) - LAG(COUNT(*)) OVER (PARTITION BY a ORDER BY c) AS more, \
    SUM(COUNT(*)) OVER (PARTITION BY a ORDER BY c DESC ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS three, \
    SUM(COUNT(*)) OVER (ORDER BY c) AS both, 2 * LEAD(COUNT(*), 2, 0) OVER (PARTITION BY a ORDER BY c) AS later, \
    SUM(COUNT(*)) OVER (PARTITION BY a ORDER BY c DESC) AS rest FROM t GROUP BY a, c";

/// Subtotals of levels of one dimension, and of bands.
const SETS: [&str; 2] = [
    "SELECT a, c.half, c, COUNT(*) AS n, SUM(CASE WHEN c = 'p' THEN 3 ELSE 1 END) AS s FROM t WHERE c <> 'r' GROUP BY ROLLUP (a, c.half, c)",
    "SELECT a, CASE WHEN b = 2 THEN 'much' ELSE 'little' END AS band, COUNT(*) AS n, SUM(b) AS s FROM t GROUP BY CUBE (a, band)",
];

const ALL: [(Noise, Measure); 5] = [
    (Noise::Gaussian, Measure::Residual),
    (Noise::Gaussian, Measure::Queries),
    (Noise::Laplace, Measure::Hierarchy),
    (Noise::Laplace, Measure::Queries),
    (Noise::Laplace, Measure::Base),
];

fn how(level: f64) -> How {
    How { level, method: Method::Auto, interval: Interval::EqualTailed }
}

/// Whoever asks for figures alone is told so of places, and not of an index.
#[test]
fn places_are_of_an_answer_alone() {
    let query = "SELECT a, RANK() OVER (ORDER BY COUNT(*) DESC) AS place, COUNT(*) FROM t GROUP BY a";
    let query = Query::parse(query, &cube()).unwrap();
    let refused = Question::new(&query).map(drop).unwrap_err().to_string();
    assert!(refused.starts_with("RANK cannot be asked here"), "{refused}");
    assert!(Question::with_ranks(&query).is_ok());
}

/// Parts that are held in different tables, totals over other groups, sums, differences: the coefficients of
/// every noise are those with which the estimates respond to it.
#[test]
fn covariances_are_the_dense_response() {
    let cube = cube();
    let mut sql = vec![FIGURES.to_string()];
    sql.push(
        "SELECT a, c.half, COUNT(*) AS n, COUNT(*) FILTER (WHERE c = 'p') / SUM(COUNT(*)) OVER (PARTITION BY c.half) AS f, \
         SUM(COUNT(*)) OVER (PARTITION BY a) - COUNT(*) AS rest FROM t GROUP BY c.half, a"
            .into(),
    );
    sql.extend(BANDS.map(String::from));
    sql.push(OVER.into());
    sql.extend(SETS.map(String::from));
    for (noise, measure) in ALL {
        let plan = planned(noise, measure, "1/20");
        let recovery = Recovery::new(cube.clone(), plan.clone(), measured(&plan, &TRUTH, |_, _| 0)).unwrap();
        for sql in &sql {
            let query = Query::parse(sql, &cube).unwrap();
            let asked = Question::new(&query).unwrap();
            let groups = answered(&plan, &asked, measured(&plan, &TRUTH, |_, _| 0));
            let width = asked.aggregates.len();
            // (row, aggregate) responses, squared and added up over all noises.
            let mut dense = vec![vec![0.0; width * width]; groups.len()];
            let frame = Frame::new(&cube, &plan.levels);
            for m in 0..plan.rows().measurements.len() {
                let law = recovery.noise(m)[0];
                for cell in 0..noises(&frame, &plan.rows().measurements[m].block) {
                    let unit = measured(&plan, &[0; 24], |i, c| i64::from(i == m && c == cell));
                    for (sum, g) in dense.iter_mut().zip(answered(&plan, &asked, unit)) {
                        for i in 0..width {
                            for j in 0..width {
                                sum[i * width + j] += g.estimates[i] * g.estimates[j] * law.variance();
                            }
                        }
                    }
                }
            }
            for (want, g) in dense.iter().zip(&groups) {
                for i in 0..width {
                    for j in 0..width {
                        let mut units = vec![vec![0.0; width]; 2];
                        units[0][i] = 1.0;
                        units[1][j] = 1.0;
                        let got = g.law.covariance(&units[0], &units[1]);
                        let scale = (want[i * width + i] * want[j * width + j]).sqrt();
                        assert!(
                            (got - want[i * width + j]).abs() <= 1e-7 * scale,
                            "{noise:?} {measure:?} {i} {j}: {got} {}",
                            want[i * width + j]
                        );
                    }
                }
            }
        }
    }
}

/// The truth, from the same figures without noise.
fn truth(plan: &Plan, asked: &Question) -> Vec<Told> {
    answered(plan, asked, measured(plan, &TRUTH, |_, _| 0))
}

/// What is told of one row.
fn told(estimates: &[f64], law: &Arc<JointLaw>) -> Told {
    Told {
        nodes: Vec::new(),
        estimates: estimates.to_vec(),
        law: law.clone(),
        others: Vec::new(),
        each: true,
    }
}

/// Two releases together: an interval that covers, and a variance no larger than by precision.
#[test]
fn two_releases_are_better_than_one() {
    let cube = cube();
    let query = Query::parse("SELECT COUNT(*) AS n, AVG(b) AS mean FROM t WHERE a = 'x'", &cube).unwrap();
    let asked = Question::new(&query).unwrap();
    let plans = [
        planned(Noise::Laplace, Measure::Queries, "1/10"),
        planned(Noise::Gaussian, Measure::Residual, "1/20"),
    ];
    let truths: Vec<Told> = plans.iter().map(|p| truth(p, &asked).remove(0)).collect();
    let laws: Vec<_> = truths.iter().map(|g| g.law.clone()).collect();
    let figure = asked.figures[0].as_ref().unwrap();
    let mut pairs = Pairs::default();
    let width = asked.aggregates.len();
    let weights = figure.weights(width).remove(0);
    let want: f64 = weights.iter().zip(&truths[0].estimates).map(|(w, e)| w * e).sum();
    let law = pool::together(truths.clone()).unwrap().unwrap().law;
    let (mut covered, draws) = (0, tries(600, 2000) as u64);
    for seed in 0..draws {
        let drawn: Vec<Told> = plans
            .iter()
            .zip([0, 1 << 32])
            .zip(&laws)
            .map(|((p, offset), law)| {
                told(&answered(p, &asked, draw(p, seed + offset)).remove(0).estimates, law)
            })
            .collect();
        let mut known = pool::together(drawn.clone()).unwrap().unwrap();
        // It depends on the laws alone.
        assert_eq!(known.law.covariance(&weights, &weights), law.covariance(&weights, &weights));
        known.law = law.clone();
        let both = figure.answer(0, &known, &how(0.9), &mut pairs).unwrap();
        if seed == 0 {
            let alone: Vec<_> =
                drawn.iter().map(|k| figure.answer(9, k, &how(0.9), &mut pairs).unwrap().std_error).collect();
            let precision: f64 = alone.iter().map(|s| 1.0 / (s * s)).sum();
            assert!(both.std_error <= precision.powf(-0.5) * (1.0 + 1e-9));
            let shares = known.shares(&weights, 0);
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12 && shares.iter().all(|s| *s > 0.0));
            let ratio = asked.figures[1].as_ref().unwrap();
            let mean = ratio.answer(1, &known, &how(0.9), &mut pairs).unwrap();
            assert!(mean.low < mean.estimate && mean.estimate < mean.high && mean.basis == Basis::Fieller);
        }
        covered += u64::from(both.low <= want && want <= both.high);
    }
    // Four standard errors.
    let near = 0.027 * (2000.0 / draws as f64).sqrt();
    assert!((covered as f64 / draws as f64 - 0.9).abs() < near, "{covered}");
}

/// Fieller against the closed form for normal noise, and against a denominator that may be 0.
#[test]
fn fieller_is_the_textbook_interval() {
    let (v, k) = (9.0, 1.644_853_626_951_472_7);
    let unit = NoiseLaw::Gaussian { variance: v };
    let noise = |m| crate::joint::Noise { release: 0, measurement: m, copies: 1, law: unit };
    // N = A, D = A + B: covariance v.
    let law = Arc::new(crate::joint::JointLaw::new(
        2,
        vec![(noise(0), vec![1.0, 1.0]), (noise(1), vec![0.0, 1.0])],
    ));
    let cube = cube();
    let query = Query::parse("SELECT COUNT(*) FILTER (WHERE a = 'x') / COUNT(*) AS r FROM t", &cube).unwrap();
    let asked = Question::new(&query).unwrap();
    let figure = asked.figures[0].as_ref().unwrap();
    let ask = |n: f64, d: f64| {
        let estimates = [n, d];
        figure.answer(0, &told(&estimates, &law), &how(0.9), &mut Pairs::default()).unwrap()
    };
    let (n, d) = (40.0, 100.0);
    let got = ask(n, d);
    let (a, b, c) = (d * d - k * k * 2.0 * v, n * d - k * k * v, n * n - k * k * v);
    let root = (b * b - a * c).sqrt();
    assert!((got.low - (b - root) / a).abs() < 1e-7 && (got.high - (b + root) / a).abs() < 1e-7);
    let r = n / d;
    assert!((got.std_error - (v * (1.0 - 2.0 * r + 2.0 * r * r)).sqrt() / d).abs() < 1e-12);
    // The interval of D is ± k √18: 6.97 is inside, 7 is not.
    assert_eq!(ask(3.0, 6.97).basis, Basis::Unbounded);
    assert_eq!(ask(3.0, 6.99).basis, Basis::Fieller);
    assert!(ask(3.0, 0.0).high.is_infinite());
    // A test of R = 0.5: N − D/2 = −10, its law normal of variance v/2.
    let p = got.p_value(0.5).unwrap();
    assert!(
        (p - 2.0 * crate::law::normal_upper_tail(10.0 / (0.5 * v).sqrt())).abs() < 1e-12 && p < 1e-5,
        "{p}"
    );
    assert!((ask(40.0, 80.0).p_value(0.5).unwrap() - 1.0).abs() < 1e-12);
    // Statements: Pr(N > c·D).
    let p = Statement::Above(0.4).probability(&got).unwrap();
    assert!((p - 0.5).abs() < 1e-12);
    let between = Statement::Between(0.3, 0.5).probability(&got).unwrap();
    let above = |c| Statement::Above(c).probability(&got).unwrap();
    assert!((between - (above(0.3) - above(0.5))).abs() < 1e-12 && between > 0.99);
    // Divided by what is 0 for sure, nothing can be said; by what is only estimated as 0, it can.
    let sure = Arc::new(crate::joint::JointLaw::new(2, vec![(noise(0), vec![1.0, 0.0])]));
    let by_zero = figure.answer(0, &told(&[40.0, 0.0], &sure), &how(0.9), &mut Pairs::default()).unwrap();
    assert!(by_zero.p_value(1.0).unwrap().is_nan());
    assert!(Statement::Above(1.0).probability(&by_zero).unwrap().is_nan());
    assert!(Statement::Above(1.0).probability(&ask(40.0, 0.0)).unwrap() > 0.99);
}

/// A part that is the whole, told by two tables: what rounding leaves between them is no noise.
#[test]
fn a_ratio_of_the_same_is_exact() {
    let noise = |m, law| crate::joint::Noise { release: 0, measurement: m, copies: 1, law };
    let cube = cube();
    let query = Query::parse("SELECT COUNT(*) FILTER (WHERE a = 'x') / COUNT(*) AS r FROM t", &cube).unwrap();
    let asked = Question::new(&query).unwrap();
    let figure = asked.figures[0].as_ref().unwrap();
    for law in [NoiseLaw::DiscreteGaussian { variance: 9.0 }, NoiseLaw::DiscreteLaplace { scale: 2.0 }] {
        for off in [0.0, 1e-16, -3e-15, 1e-14] {
            let noises =
                (0..5).map(|m| (noise(m, law), vec![1.0 / 3.0 + off * m as f64, 1.0 / 3.0])).collect();
            let law = Arc::new(crate::joint::JointLaw::new(2, noises));
            let estimates = [77.000_000_000_000_01, 77.0];
            let got = figure.answer(0, &told(&estimates, &law), &how(0.95), &mut Pairs::default()).unwrap();
            assert!(got.std_error == 0.0 && got.low == got.high && (got.low - 1.0).abs() < 1e-12, "{got:?}");
        }
    }
}

/// Statements under a prior, against the sum over all counts.
#[test]
fn statements_given_a_prior_are_enumerated() {
    for (n, p, y, b) in [(1000u64, 0.02, 31.4, 8.0), (1000, 0.5, 470.0, 20.0), (40, 0.3, -3.0, 2.0)] {
        let term = Term { coefficient: 1.0, copies: 1, noise: NoiseLaw::Laplace { scale: b } };
        let law = ErrorLaw::new(vec![term]).unwrap();
        let posterior = CountPosterior::new(&law, y, Prior::Binomial { n, p }).unwrap();
        // Binomial masses by their ratio, from the mode outwards would be safer; logs do here.
        let mut ln = vec![n as f64 * (1.0 - p).ln()];
        for k in 1..=n {
            let last = ln[k as usize - 1];
            ln.push(last + ((n - k + 1) as f64 / k as f64 * p / (1.0 - p)).ln());
        }
        let weights: Vec<f64> =
            ln.iter().enumerate().map(|(k, l)| (l - (y - k as f64).abs() / b).exp()).collect();
        let total: f64 = weights.iter().sum();
        let sum = |keep: &dyn Fn(f64) -> bool| -> f64 {
            weights.iter().enumerate().filter(|(k, _)| keep(*k as f64)).map(|(_, w)| w).sum::<f64>() / total
        };
        let mean: f64 = weights.iter().enumerate().map(|(k, w)| k as f64 * w).sum::<f64>() / total;
        let square: f64 =
            weights.iter().enumerate().map(|(k, w)| (k as f64 - mean).powi(2) * w).sum::<f64>() / total;
        assert!((posterior.mean() - mean).abs() < 1e-6 && (posterior.std_dev() - square.sqrt()).abs() < 1e-6);
        let c = mean.round();
        for (statement, want) in [
            (Statement::Above(c), sum(&|k| k > c)),
            (Statement::Above(c - 0.5), sum(&|k| k > c - 0.5)),
            (Statement::AtLeast(c), sum(&|k| k >= c)),
            (Statement::Below(c), sum(&|k| k < c)),
            (Statement::AtMost(c), sum(&|k| k <= c)),
            (Statement::Between(c - 3.0, c + 0.5), sum(&|k| k >= c - 3.0 && k <= c + 0.5)),
        ] {
            let got = statement.posterior(&posterior);
            assert!((got - want).abs() < 1e-7, "{statement:?}: {got} {want}");
        }
    }
}

/// A group of which WHERE leaves nothing is no row; one of which it leaves something is.
#[test]
fn rows_are_those_where_leaves() {
    let cube = cube();
    let rows = |sql: &str| {
        let query = Query::parse(sql, &cube).unwrap();
        let present = Present::new(&query.filter, &query.group_by, &cube);
        let sizes: Vec<u32> = query.group_by.iter().map(|level| level.of(&cube).len() as u32).collect();
        let mut all = vec![vec![]];
        for n in sizes {
            all = all.iter().flat_map(|r: &Vec<u32>| (0..n).map(move |k| [&r[..], &[k]].concat())).collect();
        }
        let rows: Vec<Vec<u32>> = all.into_iter().filter(|r| present.holds(r)).collect();
        assert_eq!(present.rows(&query.group_by, &cube, 6).unwrap(), rows);
        rows
    };
    assert_eq!(rows("SELECT b, COUNT(*) FROM t WHERE b >= 1 GROUP BY b"), [[1], [2]]);
    assert_eq!(rows("SELECT c.half, COUNT(*) FROM t WHERE c = 'r' GROUP BY c.half"), [[1]]);
    assert_eq!(
        rows("SELECT a, b, COUNT(*) FROM t WHERE a = 'x' AND b = 0 OR a = 'y' AND b = 2 GROUP BY b, a"),
        [[0, 0], [2, 1]]
    );
    assert_eq!(rows("SELECT a, COUNT(*) FROM t WHERE b = 2 GROUP BY a").len(), 2);
}
