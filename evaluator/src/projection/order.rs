//! What the order of a sketch's rows proves.
//!
//! Each row that counts is above or below the truth with probability at most one half, and rows are independent (see
//! [`super::answer`]). So if a statement "more than c" is false, each row is above c with probability at most one half, and a or more of t are
//! with at most `P(Bin(t, ½) ≥ a)`: the sign test. Where a are above c the statement is therefore sure to
//! `P(Bin(t, ½) < a)`: whatever the data, a false one is told to be surer than 1 − α with probability at most α. That is as sure as the
//! widest one-sided interval of rows that lies above c. Rows at c speak for neither side. Distances between rows say nothing here: a law of
//! the error's size, hence a standard error, would need to know the counts that spoil rows.

/// A median is of at least so many rows: fewer have no interval at 95 %.
pub(super) const FEWEST: usize = 6;

/// The median of ordered numbers.
pub(super) fn median(ordered: &[f64]) -> f64 {
    let at = |i: usize| ordered.get(i).copied().unwrap_or(f64::NAN);
    match ordered.len() {
        0 => f64::NAN,
        n => (at((n - 1) / 2) + at(n / 2)) / 2.0,
    }
}

/// How many of `rows` ordered estimates may be cut off at each end so that both tails together have at most
/// probability tau, each row being on one side with probability at most p. `None` when not even all rows suffice.
pub(super) fn order_cut(rows: u32, p: f64, tau: f64) -> Option<usize> {
    // P(Bin(t, p) ≥ t − k) = Σ_{i ≤ k} C(t, i) p^{t−i} (1−p)^i.
    let t = f64::from(rows);
    let mut term = libm::pow(p, t);
    let mut tail = term;
    let mut cut = None;
    let mut k = 0u32;
    while 2.0 * tail <= tau && 2 * k + 1 < rows {
        cut = Some(k as usize);
        term *= (t - f64::from(k)) / f64::from(k + 1) * (1.0 - p) / p;
        tail += term;
        k += 1;
    }
    cut
}

/// How sure it is that the truth is on the side on which so many of all rows are: `P(Bin(rows, ½) < side)`, at least.
pub fn sure(side: usize, rows: usize) -> f64 {
    // From the end with fewer terms, so that nearly one is not one.
    let below = |n: usize| -> f64 {
        let t = rows as f64;
        let mut term = libm::pow(0.5, t);
        let mut sum = 0.0;
        for i in 0..n {
            sum += term;
            term *= (t - i as f64) / (i + 1) as f64;
        }
        sum
    };
    match 2 * side <= rows {
        true => below(side),
        false => 1.0 - below(rows + 1 - side),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sureness_by_brute_force() {
        for rows in 1..=12usize {
            let all = f64::from(1u32 << rows);
            for side in 0..=rows {
                let fewer = (0..1u32 << rows).filter(|o| (o.count_ones() as usize) < side).count();
                assert!((sure(side, rows) - fewer as f64 / all).abs() < 1e-14, "{side} of {rows}");
            }
        }
        assert_eq!((sure(0, 5), median(&[1.0, 2.0, 4.0]), median(&[1.0, 2.0])), (0.0, 2.0, 1.5));
        assert_eq!(order_cut(FEWEST as u32, 0.5, 0.05), Some(0));
        assert_eq!(order_cut(FEWEST as u32 - 1, 0.5, 0.05), None);
    }
}
