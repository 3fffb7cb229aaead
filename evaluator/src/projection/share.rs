//! The share of one sum of cells in another from a sketch's rows.
//!
//! A row in which no bucket holds cells of the query with different signs or weights estimates both sums, and its error of `a − r·b` is symmetric for
//! every r: flipping the signs of the query's cells flips it. So each such row is above or below 0 with probability at most one half where r is the share,
//! and the interval is the set of r that the order of these rows does not refute ([`super::order`]), whatever the data. Their signs change only where r is
//! some row's own share: what lies between is known from those, and what lies beyond all from the signs of the wholes.

use super::answer::{Answer, Law};
use super::order::{FEWEST, median, order_cut};

/// From the rows' estimates of part and whole. Where all wholes are above 0 each row has a share of its own, and the estimate is their median; else that of them for which
/// `a − r·b` is most nearly as often above 0 as below. `None` where there are too few rows for the level.
pub(super) fn by_order(rows: &[(f64, f64)], level: f64) -> Option<Answer> {
    let cut = order_cut(rows.len() as u32, 0.5, 1.0 - level).filter(|_| rows.len() >= FEWEST)?;
    // How many rows are above 0, and how many below.
    let sides = |value: &dyn Fn(&(f64, f64)) -> f64| {
        let of = |side: f64| rows.iter().filter(|row| value(row) * side > 0.0).count();
        (of(1.0), of(-1.0))
    };
    let open = |(above, below): (usize, usize)| above.max(below) + cut < rows.len();
    let beyond = |r: f64| open(sides(&|&(a, b)| if b == 0.0 { a } else { -r * b }));
    let mut own: Vec<f64> = rows.iter().filter(|row| row.1 != 0.0).map(|(a, b)| a / b).collect();
    own.sort_by(f64::total_cmp);
    let at = |r: f64| sides(&|&(a, b)| if a / b == r { 0.0 } else { a - r * b });
    let at: Vec<(f64, (usize, usize))> = own.iter().map(|&r| (r, at(r))).collect();
    let mut left = at.iter().filter(|(_, sides)| open(*sides)).map(|(r, _)| *r);
    let low = if beyond(-1.0) { f64::NEG_INFINITY } else { left.clone().next()? };
    let high = if beyond(1.0) { f64::INFINITY } else { left.next_back()? };
    let law = Law::Order { rows: rows.len() as u32, cut: cut as u32 };
    let (estimate, rows) = match rows.iter().all(|row| row.1 > 0.0) {
        true => (median(&own), own),
        false => (at.iter().min_by_key(|(_, (above, below))| above.abs_diff(*below))?.0, Vec::new()),
    };
    Some(Answer { estimate, std_error: f64::NAN, low, high, law, noise: f64::NAN, rows })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::dice::Dice;

    /// The interval is the hull of the shares that the ordered rows of `a − r·b` have 0 within, tried one by one; with wholes above 0 it is
    /// that of the ordered shares, and the estimate is their median.
    #[test]
    fn intervals_by_brute_force() {
        let mut dice = Dice::new(5);
        let (mut finite, mut infinite) = (0, 0);
        for case in 0..60 {
            let least = if case % 2 == 0 { 1 } else { -6 };
            let mut pair = || (dice.below(40) as f64 - 10.0, dice.below(30) as f64 + f64::from(least));
            let rows: Vec<(f64, f64)> = (0..6 + case % 9).map(|_| pair()).collect();
            let found = by_order(&rows, 0.9).unwrap();
            let cut = order_cut(rows.len() as u32, 0.5, 0.1).unwrap();
            let holds = |r: f64| {
                let mut all: Vec<f64> = rows.iter().map(|(a, b)| a - r * b).collect();
                all.sort_by(f64::total_cmp);
                all[cut] <= 1e-9 && all[all.len() - 1 - cut] >= -1e-9
            };
            let shares = rows.iter().filter(|row| row.1 != 0.0).map(|(a, b)| a / b);
            let tried: Vec<f64> = shares.chain([-1e9, 1e9]).filter(|&r| holds(r)).collect();
            let hull =
                tried.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &r| (l.min(r), h.max(r)));
            let clamped = (found.low.max(-1e9), found.high.min(1e9));
            assert!((clamped.0 - hull.0).abs() < 1e-6 && (clamped.1 - hull.1).abs() < 1e-6, "{rows:?}");
            assert!(found.low <= found.estimate && found.estimate <= found.high, "{rows:?}");
            if found.high == f64::INFINITY {
                infinite += 1
            } else {
                finite += 1
            }
            assert_eq!(found.rows.is_empty(), rows.iter().any(|row| row.1 <= 0.0));
            if !found.rows.is_empty() {
                assert_eq!(found.estimate, median(&found.rows));
                assert_eq!((found.low, found.high), (found.rows[cut], found.rows[rows.len() - 1 - cut]));
            }
        }
        assert!(finite > 30 && infinite > 5, "{finite} {infinite}");
        assert!(by_order(&[(1.0, 2.0); 5], 0.9).is_none() && by_order(&[(1.0, 2.0); 6], 0.999).is_none());
    }
}
