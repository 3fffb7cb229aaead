use super::super::design::{Request, Size, tests::request};
use super::*;

#[test]
fn order_statistics_by_brute_force() {
    for rows in [1u32, 5, 6, 9, 16] {
        for p in [0.5f64, 0.55] {
            // The probability that at least `rows − k` of all rows are on one side, over all outcomes.
            let tail = |k: u32| -> f64 {
                (0..1u32 << rows)
                    .filter(|o| o.count_ones() >= rows - k)
                    .map(|o| p.powi(o.count_ones() as i32) * (1.0 - p).powi((rows - o.count_ones()) as i32))
                    .sum()
            };
            let want = (0..rows / 2 + rows % 2).filter(|&k| 2 * k + 1 < rows && 2.0 * tail(k) <= 0.05).max();
            assert_eq!(order_cut(rows, p, 0.05), want.map(|k| k as usize), "{rows} {p}");
        }
    }
    assert_eq!(order_cut(16, 0.5, 0.05), Some(3));
    assert_eq!(order_cut(5, 0.5, 0.05), None);
}

#[test]
fn intervals_solve_their_equation() {
    for m in [1.0f64, 2.0, 10.0, 100.0] {
        let (t, norm, noise, z) = (500.0, 4e4, 3.0, 2.0);
        let error = Error { estimate: 70.0, cells: m, squares: m, values: t, norm, bound: norm, noise };
        let a = error.interval(z, Law::Normal);
        for end in [a.low, a.high] {
            let own = 1.0f64 - 2.0 / m;
            let sd = ((m * norm + own * end * end) / t + noise).sqrt();
            assert!(((end - 70.0).abs() / sd - z).abs() < 1e-9, "{m}");
        }
        assert!(a.low < 70.0 && a.high > 70.0);
    }
    // So few rows that no interval is finite.
    let few =
        Error { estimate: 1.0, cells: 100.0, squares: 100.0, values: 3.0, norm: 1.0, bound: 1.0, noise: 1.0 };
    assert_eq!(few.interval(2.0, Law::Normal).high, f64::INFINITY);
}

/// Integers without any data: every estimate is noise alone, and a cell twice is a cell once.
#[test]
fn answers_are_the_signed_means() {
    let design = Request { size: Size::Rows(128), ..request() }.design().unwrap();
    let projection = Projection { design, seed: [9; 32] };
    let values: Vec<i64> = (0..128).map(|i| i * i - 5000).collect();
    let p = Projected::new(projection.clone(), values.clone()).unwrap();
    let family = families(&projection).remove(0);
    let sign = |cell: u64, row: usize| {
        let mut word = [0];
        family.words_portable(&[point(cell, row as u64 / 64, 1)], &mut word);
        1 - 2 * (word[0] >> (row % 64) & 1) as i64
    };
    let by_hand = |cells: &[u64]| {
        values
            .iter()
            .enumerate()
            .map(|(i, v)| v * cells.iter().map(|&c| sign(c, i)).sum::<i64>())
            .sum::<i64>() as f64
            / 128.0
    };
    let ask = |cells: &[u64]| p.answer(cells, 0.95, Estimator::Best).estimate;
    assert_eq!(ask(&[77]), by_hand(&[77]));
    assert_eq!(ask(&[5, 77, 1 << 50]), by_hand(&[5, 77, 1 << 50]));
    assert_eq!(ask(&[77, 5, 77]), by_hand(&[5, 77]));
    assert_eq!(ask(&[]), 0.0);
    assert!(Projected::new(projection, vec![0; 64]).is_none());
}

/// A declared bound of ‖x‖² is refuted by integers that are much larger than it lets them be, and by no smaller ones.
#[test]
fn false_bounds_are_refuted() {
    for sketch in [None, Some(16)] {
        let design = |norm_bound| Request { sketch, norm_bound, ..request() }.design().unwrap();
        let refuted = |norm_bound, times: f64| {
            let design = design(norm_bound);
            let n = design.shape.values() as f64;
            let mean = 100_000.0 * design.shape.column() as f64 / n + design.noise_variance();
            let size = (times * mean).sqrt() as i64;
            let values = vec![size; n as usize];
            Projected::new(Projection { design, seed: [9; 32] }, values).unwrap().refutes_bound()
        };
        assert!(!refuted(Some(100_000), 0.9) && !refuted(Some(100_000), 1.05), "{sketch:?}");
        assert!(refuted(Some(100_000), 4.0) && refuted(Some(1000), 1.0), "{sketch:?}");
        assert!(!refuted(None, 100.0) && !refuted(Some(1_000_000), 4.0), "{sketch:?}");
    }
}

/// A bound that is refuted is not used: the interval is that without it, and has its estimate. One that is too small and not refuted leaves the estimate in its
/// interval, too.
#[test]
fn refuted_bounds_are_not_used() {
    for sketch in [None, Some(16)] {
        let answered = |norm_bound, size: i64| {
            let design = Request { sketch, norm_bound, ..request() }.design().unwrap();
            let n = design.shape.values() as usize;
            let family = families(&Projection { design: design.clone(), seed: [9; 32] }).remove(0);
            // One key with a large count, whose signs a dense projection's integers have.
            let mut word = [0];
            let mut sign = |row: usize| {
                family.words_portable(&[point(77, row as u64 / 64, block_bits(n as u64))], &mut word);
                if word[0] >> (row % 64) & 1 == 1 { -size } else { size }
            };
            let values = (0..n).map(|row| if sketch.is_none() { sign(row) } else { size }).collect();
            let projected = Projected::new(Projection { design, seed: [9; 32] }, values).unwrap();
            let answer = projected.answer(&[77], 0.95, Estimator::Mean);
            assert!(answer.low <= answer.estimate && answer.estimate <= answer.high, "{answer:?}");
            (projected.refutes_bound(), answer)
        };
        let (refuted, with) = answered(Some(1000), 5034);
        let (_, without) = answered(None, 5034);
        assert!(refuted && with == without, "{sketch:?}: {with:?} {without:?}");
        // More than is estimated, and less than it is at most: of a sketch each row spreads it over 256 buckets.
        let between = if sketch.is_none() { 26_000_000 } else { 26_000_000 * 256 };
        let (refuted, with) = answered(Some(between), 5034);
        assert!(!refuted && with.high - with.low < without.high - without.low, "{sketch:?}: {with:?}");
        assert_eq!(with.std_error, without.std_error, "{sketch:?}");
    }
    let near =
        Error { estimate: 103.0, cells: 1.0, squares: 1.0, values: 64.0, norm: 1e4, bound: 1e4, noise: 0.0 };
    let answer = near.interval(1.96, Law::Normal);
    assert!(answer.low < 103.0 && answer.high == 103.0, "{answer:?}");
}

/// A sketch's mean is over all rows; its median over those where no bucket holds cells with both signs, each bucket once.
#[test]
fn sketches_use_the_rows_that_count() {
    let size = Size::Rows(1024);
    let design = Request { sketch: Some(32), size, ..request() }.design().unwrap();
    let Shape::Sketch { buckets, .. } = design.shape else { panic!("a sketch") };
    let projection = Projection { design, seed: [5; 32] };
    let values: Vec<i64> = (0..1024).map(|i| i * 37 % 1009 - 500).collect();
    let p = Projected::new(projection.clone(), values.clone()).unwrap();
    let cells: Vec<u64> = (0..4).map(|i| 1000 * i + 7).collect();
    let (mut all, mut clean, mut shared) = (Vec::new(), Vec::new(), 0);
    for (family, row) in families(&projection).iter().zip(values.chunks(buckets as usize)) {
        let mut words = vec![0; 4];
        family.words_portable(&cells, &mut words);
        let signed: Vec<i64> = words.iter().map(|&w| 1 - 2 * (w & 1) as i64).collect();
        let at: Vec<usize> = words.iter().map(|&w| (w >> 59) as usize).collect();
        all.push((0..4).map(|i| signed[i] * row[at[i]]).sum::<i64>() as f64);
        let against = (0..4).any(|i| (0..i).any(|j| at[i] == at[j] && signed[i] != signed[j]));
        let first = (0..4).filter(|&i| (0..i).all(|j| at[i] != at[j]));
        if !against {
            clean.push(first.clone().map(|i| signed[i] * row[at[i]]).sum::<i64>() as f64);
            shared += usize::from(first.count() < 4);
        }
    }
    clean.sort_by(f64::total_cmp);
    assert!(clean.len() < 32 && shared > 0, "all kinds of rows: {} {shared}", clean.len());
    let n = clean.len();
    let best = p.answer(&cells, 0.95, Estimator::Best);
    assert_eq!(best.estimate, (clean[(n - 1) / 2] + clean[n / 2]) / 2.0);
    let Law::Order { rows, cut } = best.law else { panic!("{:?}", best.law) };
    assert_eq!((rows as usize, best.low, best.high), (n, clean[cut as usize], clean[n - 1 - cut as usize]));
    assert!(best.std_error.is_nan() && best.rows == clean);
    // The estimate is the same at every level, also where so many rows have no interval.
    for level in [0.5, 0.999, 0.999_999_999_999] {
        let at = p.answer(&cells, level, Estimator::Best);
        assert!(at.estimate == best.estimate && at.low <= at.estimate && at.estimate <= at.high);
        assert_eq!(at.law == Law::Around, level > 0.9999);
    }
    let mean = p.answer(&cells, 0.95, Estimator::Mean);
    assert_eq!((mean.estimate, mean.law), (all.iter().sum::<f64>() / 32.0, Law::Variance));
    // So many cells that hardly a row is left: the mean stands in.
    let many: Vec<u64> = (0..100).collect();
    assert_eq!(p.answer(&many, 0.95, Estimator::Best), p.answer(&many, 0.95, Estimator::Mean));
}
