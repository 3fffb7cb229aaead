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
fn proven_factors() {
    // p = 6: (15/0.05)^(1/6)
    assert!((proven_factor(0.95, 60) - 300f64.powf(1.0 / 6.0)).abs() < 1e-12);
    // p = 2 alone: Chebyshev.
    assert!((proven_factor(0.95, 4) - 20f64.sqrt()).abs() < 1e-12);
    assert!(proven_factor(0.99, 60) > proven_factor(0.95, 60));
}

#[test]
fn intervals_solve_their_equation() {
    for m in [1.0f64, 2.0, 10.0, 100.0] {
        let (t, norm, noise, z) = (500.0, 4e4, 3.0, 2.0);
        let a = interval(70.0, m, t, norm, norm, noise, z);
        for end in [a.low, a.high] {
            let own = 1.0f64 - 2.0 / m;
            let sd = ((m * norm + own * end * end) / t + noise).sqrt();
            assert!(((end - 70.0).abs() / sd - z).abs() < 1e-9, "{m}");
        }
        assert!(a.low < 70.0 && a.high > 70.0);
    }
    // So few rows that no interval is finite.
    assert_eq!(interval(1.0, 100.0, 3.0, 1.0, 1.0, 1.0, 2.0).high, f64::INFINITY);
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
