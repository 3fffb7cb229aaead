use super::*;
use crate::exact::Rational;
use crate::numeric::tries::tries;
use crate::plan::{Neighbours, Noise, convert};
use crate::projection::answer::{Estimator, Law, Projected};
use crate::projection::design::{Design, Request, Size};
use crate::projection::key::Part;
use crate::projection::order::sure;
use crate::watch::Watch;
use std::collections::HashMap;

fn request() -> Request {
    Request {
        sketch: None,
        key: vec![0],
        text: vec![false],
        size: Size::Rows(256),
        sparsity: 100,
        queries: 100,
        failure: "0.01".parse().unwrap(),
        noise: Noise::Gaussian,
        budget: "1/20".parse().unwrap(),
        published: None,
        neighbours: Neighbours::AddRemove,
        max_rows: 1,
        norm_bound: None,
    }
}

fn seeded(design: &Design, i: u64) -> Projection {
    let mut seed = [1; 32];
    seed[..8].copy_from_slice(&i.to_le_bytes());
    Projection { design: design.clone(), seed }
}

const NODES: u32 = 3000;

fn key(p: &Projection) -> Key {
    Key::new(vec![Part::Nodes(NODES.into())], p.design.shape.cell_bits(), &p.seed)
}

fn rows(column: &[u32]) -> Rows {
    Rows::from_codes(&[NODES], &[column.to_vec()]).unwrap()
}

/// Counts that fall like one over the rank: cell 7j has 600/(j + 1).
fn skewed() -> Vec<u32> {
    (0..300u32).flat_map(|j| vec![7 * j; 600 / (j as usize + 1)]).collect()
}

fn exact(p: &Projection, column: &[u32]) -> Vec<i64> {
    let cells = Cells::count(&rows(column), &key(p), &[0]).unwrap();
    sums(&cells, p, &Watch::default()).unwrap().to_vec()
}

fn sketch() -> Request {
    Request { sketch: Some(16), size: Size::Rows(1024), ..request() }
}

#[test]
fn a_tally_counts_bits() {
    for n in [0u64, 1, 2, 3, 7, 8, 64, 1000] {
        let words: Vec<u64> =
            (0..n).map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (i << 7)).collect();
        let mut tally = Tally::new();
        words.iter().for_each(|&w| tally.add(w));
        for lane in 0..64 {
            let want = words.iter().filter(|&w| w >> lane & 1 == 1).count() as u64;
            assert_eq!(tally.ones(lane), want, "{n} words, bit {lane}");
        }
    }
}

/// Against signs looked up one by one, row by row of the data.
#[test]
fn sums_are_those_by_hand() {
    let column: Vec<u32> = skewed().into_iter().step_by(tries(8, 1)).collect();
    for request in [request(), sketch()] {
        let p = seeded(&request.design().unwrap(), 3);
        let families = answer::families(&p);
        let mut want = vec![0i64; p.design.shape.values() as usize];
        for &cell in &column {
            let word = |family: &SignFamily, point: u64| {
                let mut word = [0];
                family.words_portable(&[point], &mut word);
                word[0]
            };
            match p.design.shape {
                Shape::Dense { .. } => {
                    for (b, sums) in want.chunks_mut(64).enumerate() {
                        let w = word(&families[0], u64::from(cell) << 2 | b as u64);
                        sums.iter_mut().enumerate().for_each(|(i, s)| *s += 1 - 2 * (w >> i & 1) as i64);
                    }
                }
                Shape::Sketch { buckets, .. } => {
                    for (family, row) in families.iter().zip(want.chunks_mut(buckets as usize)) {
                        let w = word(family, cell.into());
                        row[(w >> 58) as usize] += 1 - 2 * (w & 1) as i64;
                    }
                }
            }
        }
        assert_eq!(exact(&p, &column), want);
    }
}

/// One row more moves the sums of a dense projection by a vector of squared norm exactly T, those of a sketch by one of
/// its number of rows; one row changed, by at most four times that.
#[test]
fn sensitivity_is_exact() {
    let norm = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<i64>();
    let column: Vec<u32> = skewed().into_iter().step_by(tries(8, 1)).collect();
    for (request, column_norm) in [(request(), 256), (sketch(), 16)] {
        let p = seeded(&request.design().unwrap(), 5);
        let before = exact(&p, &column);
        for new in [0, 7, 1234, NODES - 1] {
            let mut more = column.clone();
            more.push(new);
            assert_eq!(norm(&exact(&p, &more), &before), column_norm);
            let mut changed = column.clone();
            changed[0] = new;
            assert!(norm(&exact(&p, &changed), &before) <= 4 * column_norm);
        }
        // Of Gaussian noise, whose scale is σ².
        let twice = p.design.scale.checked_mul(Rational::whole(2)).unwrap();
        let cost = Rational::whole(column_norm as u128).checked_div(twice);
        assert_eq!(crate::projection::cost::cost(&p.design), cost);
    }
}

fn release(p: &Projection, column: &[u32], noise: u64) -> Vec<i64> {
    let (charged, ()) = Charged::projection(p.clone(), |_| Ok::<(), std::io::Error>(())).unwrap();
    project(rows(column), &key(p), charged, Entropy::fixed(noise), &Watch::default()).unwrap()
}

#[test]
fn threads_make_no_difference() {
    for request in [request(), sketch()] {
        let p = seeded(&request.design().unwrap(), 8);
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| release(&p, &skewed(), 4))
        };
        assert_eq!(with(1), with(3));
    }
}

#[test]
fn a_budget_cannot_be_exceeded() {
    let mut p = seeded(&request().design().unwrap(), 1);
    p.design.budget = "1/21".parse().unwrap();
    let refused = Charged::projection(p, |_| -> Result<(), std::io::Error> { panic!("charged") });
    assert!(matches!(refused, Err(MeasureError::OverBudget(..))));
}

/// What came of many releases of one query.
#[derive(Default, Clone)]
struct Outcomes {
    errors: Vec<f64>,
    /// Stated variances.
    stated: Vec<f64>,
    covered: usize,
    /// By intervals of a share of the width.
    shrunk: usize,
    /// Whether intervals came from the order of rows.
    order: bool,
}

impl Outcomes {
    fn mean(x: &[f64], of: impl Fn(f64) -> f64) -> f64 {
        x.iter().map(|&x| of(x)).sum::<f64>() / x.len() as f64
    }
}

/// Releases the skewed data under many seeds and asks for the 1, 10 and 100 largest cells. Also how often the bound of
/// ‖x‖² with failure rate 5 % was wrong, and its mean.
fn simulate(design: &Design, releases: usize, estimator: Estimator, share: f64) -> (Vec<Outcomes>, f64, f64) {
    let column = skewed();
    let mut truth: HashMap<u64, f64> = HashMap::new();
    column.iter().for_each(|&c| *truth.entry(c.into()).or_default() += 1.0);
    let norm: f64 = truth.values().map(|x| x * x).sum();
    let mut out = vec![Outcomes::default(); 3];
    let all: Vec<_> = (0..releases as u64)
        .into_par_iter()
        .map(|i| {
            let p = seeded(design, i);
            let released = Projected::new(p.clone(), release(&p, &column, i)).unwrap();
            let answers = [1u64, 10, 100].map(|m| {
                let cells: Vec<u64> = (0..m).map(|j| 7 * j).collect();
                let sum: f64 = cells.iter().map(|c| truth[c]).sum();
                (released.answer(&cells, 0.95, estimator), sum)
            });
            (answers, released.norm(0.05).1)
        })
        .collect();
    let (mut wrong, mut bounds) = (0.0, 0.0);
    for (answers, bound) in &all {
        wrong += f64::from(*bound < norm);
        bounds += bound;
        for (o, (a, sum)) in out.iter_mut().zip(answers) {
            let sum = *sum;
            o.errors.push(a.estimate - sum);
            o.stated.push(a.std_error * a.std_error);
            o.covered += usize::from(a.low <= sum && sum <= a.high);
            let end = |end: f64| a.estimate + (end - a.estimate) * share;
            o.shrunk += usize::from(end(a.low) <= sum && sum <= end(a.high));
            o.order = matches!(a.law, Law::Order { .. });
        }
    }
    (out, wrong / releases as f64, bounds / releases as f64 / norm)
}

/// The variance that theory gives a query over the m largest cells.
fn variance(design: &Design, m: usize) -> f64 {
    let x: Vec<f64> = (0..300).map(|j| (600 / (j + 1)) as f64).collect();
    let norm: f64 = x.iter().map(|x| x * x).sum();
    let sum: f64 = x[..m].iter().sum();
    let own: f64 = x[..m].iter().map(|x| x * x).sum();
    (m as f64 * norm + sum * sum - 2.0 * own) / design.shape.values() as f64
        + m as f64 * design.noise_variance() / design.shape.column() as f64
}

/// Means are zero and variances those of theory, within 4.5 standard errors (that of a variance from the sample's own kurtosis).
/// The variance of the noise and of other counts are about equal, so neither could be half or double unnoticed; in quick builds, of which
/// fewer releases are made, neither could be thrice.
fn errors_are_as_predicted(outcomes: &[Outcomes], design: &Design, most: f64) {
    for (o, m) in outcomes.iter().zip([1, 10, 100]) {
        let n = o.errors.len() as f64;
        let mean = Outcomes::mean(&o.errors, |e| e);
        let square = Outcomes::mean(&o.errors, |e| (e - mean).powi(2));
        let kurtosis = Outcomes::mean(&o.errors, |e| (e - mean).powi(4)) / (square * square);
        let z = mean / (square / n).sqrt();
        assert!(z.abs() < 4.5, "{m} cells: bias {mean}, z = {z}");
        let limit = 4.5 * ((kurtosis - 1.0) / n).sqrt();
        assert!(limit < most, "{m} cells: no power: {limit}");
        let ratio = square / variance(design, m);
        assert!((ratio - 1.0).abs() < limit, "{m} cells: variance is {ratio} of what it should be");
        // What an analyst is told.
        let told = Outcomes::mean(&o.stated, |v| v) / variance(design, m);
        assert!((told - 1.0).abs() < 0.1, "{m} cells: the stated variance is {told} of what it should be");
    }
}

/// 95 % intervals cover: in no fewer than 3.5 standard errors below, 93.3 % of 2000. 0.7 of a dense interval's width would not do, nor
/// half of one from the order of rows.
fn intervals_cover(outcomes: &[Outcomes]) {
    for (o, m) in outcomes.iter().zip([1, 10, 100]) {
        let all = o.errors.len() as f64;
        let rate = |n: usize| n as f64 / all;
        let least = 0.95 - 3.5 * (0.95 * 0.05 / all).sqrt();
        assert!(rate(o.covered) > least, "{m} cells: covered {}", rate(o.covered));
        assert!(rate(o.shrunk) < least, "{m} cells: a narrower interval would do: {}", rate(o.shrunk));
    }
}

/// A variance that is off by so much is found out.
const POWER: f64 = tries(6, 2) as f64 / 10.0;

/// And intervals of this share of the width.
const NARROWER: f64 = tries(5, 7) as f64 / 10.0;

fn noisy() -> Request {
    Request { size: Size::Rows(1024), budget: "1/1000".parse().unwrap(), ..request() }
}

#[test]
fn dense_estimates_err_as_predicted_and_intervals_cover() {
    let design = noisy().design().unwrap();
    let (outcomes, wrong, bound) = simulate(&design, tries(250, 2000), Estimator::Best, NARROWER);
    errors_are_as_predicted(&outcomes, &design, POWER);
    intervals_cover(&outcomes);
    // Proved, so never too often, and not far off.
    assert!(wrong <= 0.05 && (1.0..1.7).contains(&bound), "{wrong} {bound}");
}

#[test]
fn published_noise_errs_as_predicted_and_intervals_cover() {
    let (epsilon, delta) = ("1/2".parse().unwrap(), "1e-6".parse().unwrap());
    let budget = convert::rho_for(epsilon, delta).unwrap();
    let request = Request { noise: Noise::Laplace, published: Some((epsilon, delta)), budget, ..noisy() };
    let design = request.design().unwrap();
    let (outcomes, wrong, bound) = simulate(&design, tries(250, 2000), Estimator::Best, NARROWER);
    errors_are_as_predicted(&outcomes, &design, POWER);
    intervals_cover(&outcomes);
    assert!(wrong <= 0.05 && (1.0..2.2).contains(&bound), "{wrong} {bound}");
}

/// One and ten cells have enough rows without a clash for an interval from their order, a hundred do not.
#[test]
fn sketches_cover() {
    let design = Request { sketch: Some(16), size: Size::Rows(16_384), ..request() }.design().unwrap();
    let (outcomes, ..) = simulate(&design, tries(300, 1000), Estimator::Best, 0.5);
    assert_eq!(outcomes.iter().map(|o| o.order).collect::<Vec<_>>(), [true, true, false]);
    intervals_cover(&outcomes[..2]);
    assert!(outcomes[2].covered * 20 > outcomes[2].errors.len() * 19);
    // A median has no standard error; a mean, of the few rows' sketches, has its own, within a quarter.
    assert!(outcomes[..2].iter().all(|o| o.stated.iter().all(|v| v.is_nan())));
    let of_means = outcomes[2].errors.iter().zip(&outcomes[2].stated).filter(|(_, stated)| !stated.is_nan());
    let (errors, stated): (Vec<f64>, Vec<f64>) = of_means.unzip();
    assert!(stated.len() * 10 > outcomes[2].stated.len() * 9);
    let ratio = Outcomes::mean(&errors, |e| e * e) / Outcomes::mean(&stated, |v| v);
    let most = tries(45, 25) as f64 / 100.0;
    assert!((ratio - 1.0).abs() < most, "squared errors are {ratio} of what is stated");
}

/// A statement that is false is told to be surer than 1 − α with probability at most α: of counts and of keys that are not there, at budgets at which
/// rows differ and at which they agree to the last unit. Of 1 250 false statements (5 000 in all) 0.3 % may be sure to 99.7 %, and 0.84 % (0.57 %)
/// fail the test; the normal law with a standard error from the rows' distances, which is fed to it, makes 1 to 2 % so sure.
#[test]
fn false_statements_of_sketches_are_not_sure() {
    for budget in ["2", "1/20", "8"].into_iter().take(tries(1, 3)) {
        let request = Request { sketch: Some(16), size: Size::Rows(16_384), ..request() };
        let design = Request { budget: budget.parse().unwrap(), ..request }.design().unwrap();
        let column = skewed();
        let cells: [(u64, f64); 5] = [(0, 600.0), (7, 300.0), (70, 54.0), (1, 0.0), (2, 0.0)];
        let releases = tries(250, 1000) as u64;
        let told: Vec<(f64, bool)> = (0..releases)
            .into_par_iter()
            .flat_map_iter(|i| {
                let p = seeded(&design, i);
                let released = Projected::new(p.clone(), release(&p, &column, i)).unwrap();
                cells.map(|(cell, truth)| {
                    let rows = released.answer(&[cell], 0.95, Estimator::Best).rows;
                    let above = rows.iter().filter(|&&row| row > truth).count();
                    // A law that is wrong: normal, with a standard error from the distances of rows around the median.
                    let apart = |k: usize, z: f64| (rows[15 - k] - rows[k]) / (2.0 * z);
                    let error = 0.5 * (apart(5, 1.2536) + apart(6, 0.7481));
                    let middle = (rows[7] + rows[8]) / 2.0;
                    let normal = middle > truth && middle - truth >= 2.7478 * error;
                    (sure(above, rows.len()), normal)
                })
            })
            .collect();
        let share = |of: &dyn Fn(&(f64, bool)) -> bool| {
            told.iter().filter(|t| of(t)).count() as f64 / told.len() as f64
        };
        let (now, normal) = (share(&|t| t.0 >= 0.997), share(&|t| t.1));
        println!("ρ = {budget}: {now}, by the normal law {normal}");
        let limit = 0.003 + 3.5 * (0.003 * 0.997 / told.len() as f64).sqrt();
        assert!(now <= limit, "ρ = {budget}: {now} of the false statements are sure to 99.7 %");
        assert!(normal > limit, "ρ = {budget}: no power: {normal}");
    }
}

/// A few large counts give the mean of a sketch heavy tails: so many releases tell its variance to half of itself.
#[test]
fn the_mean_of_a_sketch_errs_as_predicted() {
    let design = Request { budget: "1/1000".parse().unwrap(), ..sketch() }.design().unwrap();
    let (outcomes, ..) = simulate(&design, tries(600, 4000), Estimator::Mean, 1.0);
    errors_are_as_predicted(&outcomes, &design, tries(10, 5) as f64 / 10.0);
    assert!(outcomes.iter().all(|o| !o.order && o.covered * 20 > o.errors.len() * 19));
}
