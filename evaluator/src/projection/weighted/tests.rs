use super::*;
use crate::law::{Generator, NoiseLaw};
use crate::numeric::dice::Dice;
use crate::numeric::tries::tries;
use crate::projection::answer::Estimator;
use crate::projection::design::{Design, Request, Size, tests::request};
use crate::projection::{Projection, answer::families};

fn design(sketch: Option<u32>) -> Design {
    Request { sketch, size: Size::Rows(512), norm_bound: None, ..request() }.design().unwrap()
}

/// Integers of made-up counts of the cells 0, 1, …, with noise.
fn projected(design: &Design, counts: &[i64], seed: u64) -> Projected {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let projection = Projection { design: design.clone(), seed: bytes };
    let size = design.shape.values() as usize;
    // A q of one cell at a time is its column.
    let blank = Projected::new(projection.clone(), vec![0; size]).unwrap();
    let mut noise = Generator::new(seed);
    let gaussian = NoiseLaw::DiscreteGaussian { variance: design.noise_variance() };
    let mut values: Vec<i64> = (0..size).map(|_| noise.draw(&gaussian) as i64).collect();
    for (cell, &count) in counts.iter().enumerate() {
        for (value, sign) in values.iter_mut().zip(blank.signed(&[(cell as u64, 1.0)])) {
            *value += count * sign as i64;
        }
    }
    assert_eq!(families(&projection).len(), if design.shape.name() == "dense" { 1 } else { 16 });
    Projected::new(projection, values).unwrap()
}

/// Weights of one are the sum of the cells; a cell named twice counts twice; a weight that cancels is none.
#[test]
fn plain_sums_are_as_before() {
    for sketch in [None, Some(16)] {
        let p = projected(&design(sketch), &[30, 5, 80, 0, 9], 3);
        let plain = p.answer(&[0, 2, 4], 0.9, Estimator::Mean);
        let weighted = p.weighted(&[(0, 1.0), (2, 1.0), (4, 1.0)], 0.9);
        let near = |a: f64, b: f64| assert!(a == b || (a - b).abs() < 1e-9 * (1.0 + b.abs()), "{a} {b}");
        near(weighted.estimate, plain.estimate);
        near(weighted.std_error, plain.std_error);
        near(weighted.low, plain.low);
        near(weighted.high, plain.high);
        let twice = p.weighted(&[(0, 1.0), (2, 0.5), (0, 1.0), (2, 0.5), (4, 1.0), (4, -1.0)], 0.9);
        let other = p.weighted(&[(0, 2.0), (2, 1.0)], 0.9);
        near(twice.estimate, other.estimate);
        near(twice.high, other.high);
        assert_eq!(p.weighted(&[(4, 1.0), (4, -1.0)], 0.9), nothing());
        near(p.weighted(&[(1, 3.0)], 0.9).estimate, 3.0 * p.weighted(&[(1, 1.0)], 0.9).estimate);
    }
}

/// 500 projections: unbiased, intervals of 90 % cover in no fewer than 85 % (four standard errors below), and shares too; in 120, 79 %.
#[test]
fn intervals_cover() {
    let mut dice = Dice::new(2);
    let counts: Vec<i64> = (0..50).map(|_| dice.below(60) as i64).collect();
    let query = [(0, 1.0), (3, 2.5), (9, -1.0), (20, 0.5)];
    let truth: f64 = query.iter().map(|&(c, w): &(u64, f64)| w * counts[c as usize] as f64).sum();
    let whole: Vec<Weighed> = (0..50).map(|c| (c, 1.0)).collect();
    let part: Vec<Weighed> = (0..20).map(|c| (c, 1.0)).collect();
    let sum = |cells: &[Weighed]| cells.iter().map(|c| counts[c.0 as usize]).sum::<i64>() as f64;
    let share = sum(&part) / sum(&whole);
    for sketch in [None, Some(16)] {
        let design = design(sketch);
        let (mut covered, mut shares, mut mean, mut error, runs) = (0, 0, 0.0, 0.0, tries(120, 500) as u64);
        for seed in 0..runs {
            let p = projected(&design, &counts, seed);
            let a = p.weighted(&query, 0.9);
            covered += u32::from(a.low <= truth && truth <= a.high);
            mean += a.estimate - truth;
            error += a.std_error;
            let s = p.share(&part, &whole, 0.9, Estimator::Mean);
            assert!(
                (s.estimate - p.weighted(&part, 0.9).estimate / p.weighted(&whole, 0.9).estimate).abs()
                    < 1e-9
            );
            shares += u32::from(s.low <= share && share <= s.high);
        }
        let runs = runs as f64;
        assert!((mean / runs).abs() < 4.5 * error / runs / runs.sqrt(), "{sketch:?}: bias {}", mean / runs);
        let least = (0.9 - 4.0 * (0.09 / runs).sqrt()) * runs;
        let (covered, shares) = (f64::from(covered), f64::from(shares));
        assert!(covered >= least && shares >= least, "{sketch:?}: {covered}, {shares} of {runs}");
    }
}

/// A whole that may be nothing has no share with ends.
#[test]
fn a_share_of_nothing_has_no_ends() {
    // It has ends only where the noise happens to look like a count: in about one of twenty.
    let without = |seed: &u64| {
        let p = projected(&design(None), &[30, 5, 80], *seed);
        let s = p.share(&[(0, 1.0)], &[(1000, 1.0)], 0.95, Estimator::Best);
        (s.low, s.high) == (f64::NEG_INFINITY, f64::INFINITY)
    };
    assert!((0..20).filter(without).count() >= 14);
}

/// Shares from a sketch's rows: intervals of 90 % cover, are finite, and are narrower than those of the means.
#[test]
fn shares_by_the_order_of_rows_cover() {
    let mut dice = Dice::new(3);
    let counts: Vec<i64> = (0..60).map(|c| 40 + dice.below(if c < 6 { 400 } else { 20 }) as i64).collect();
    let (part, whole) = ([(0, 1.0), (3, 1.0)], [(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0)]);
    let sum = |cells: &[Weighed]| cells.iter().map(|c| counts[c.0 as usize]).sum::<i64>() as f64;
    let share = sum(&part) / sum(&whole);
    let design = Request { size: Size::Rows(4096), ..request() };
    let design = Request { sketch: Some(16), norm_bound: None, ..design }.design().unwrap();
    let (mut covered, mut finite, mut narrower, runs) = (0, 0, 0, tries(120, 500) as u64);
    for seed in 0..runs {
        let p = projected(&design, &counts, seed);
        let found = p.share(&part, &whole, 0.9, Estimator::Best);
        let mean = p.share(&part, &whole, 0.9, Estimator::Mean);
        assert!(found.std_error.is_nan() && matches!(found.law, Law::Order { .. }));
        covered += u32::from(found.low <= share && share <= found.high);
        finite += u32::from((found.high - found.low).is_finite());
        narrower += u32::from(found.high - found.low < mean.high - mean.low);
    }
    let runs = runs as f64;
    assert!(f64::from(covered) >= (0.9 - 4.0 * (0.09 / runs).sqrt()) * runs, "{covered} of {runs}");
    assert!(f64::from(finite) > 0.9 * runs && f64::from(narrower) > 0.8 * runs, "{finite} {narrower}");
}
