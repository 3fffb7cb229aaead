//! A finishing step for readers who cannot use a table with negative or fractional counts.
//!
//! **Biased.** Cutting negative estimates off at zero and making the cells add up moves every cell, the small
//! ones upwards on average. What is finished is for display and for programs that insist on counts; it is never
//! stored in a release and never the source of an interval: intervals come from the unbiased estimates.

use super::bounds::{Bounds, Fixed, Unfinished};

const MOST: f64 = 9_007_199_254_740_992.0;
/// How often a table is moved towards all its bounds.
const SWEEPS: usize = 1000;

/// The total of finished cells where none is published: that of the estimates, rounded; zero if that is negative.
pub fn total(estimates: &[f64]) -> Result<u64, Unfinished> {
    let total = libm::round(estimates.iter().sum::<f64>()).max(0.0);
    let fits = estimates.iter().all(|y| y.is_finite()) && total <= MOST;
    if fits { Ok(total as u64) } else { Err(Unfinished::TooLarge) }
}

/// Non-negative whole numbers within `bounds`. Where these fix no more than one table: the nearest point to `estimates` in least squares,
/// `x_i = max(0, y_i − θ)` (Held, Wolfe & Crowder 1974), rounded by largest remainders. Otherwise the same within groups of cells whose totals are whole numbers
/// near to those of the nearest point.
pub fn nonnegative_integral(estimates: &[f64], bounds: &Bounds) -> Result<Vec<u64>, Unfinished> {
    if !estimates.iter().all(|y| y.is_finite() && y.abs() <= MOST) || !bounds.fit(estimates.len()) {
        return Err(Unfinished::TooLarge);
    }
    let mut counts = vec![0; estimates.len()];
    for (cells, total) in bounds.groups(&nearest_within(estimates, bounds))? {
        let own: Vec<f64> = cells.iter().map(|&c| estimates[c as usize]).collect();
        let finished = largest_remainders(&nearest_nonnegative(&own, total as f64), total);
        cells.iter().zip(finished).for_each(|(&c, n)| counts[c as usize] = n);
    }
    Ok(counts)
}

/// Whole numbers with this total, which `projected` has, too, but for rounding.
fn largest_remainders(projected: &[f64], total: u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..projected.len()).collect();
    let mut counts: Vec<u64> = projected.iter().map(|x| libm::floor(x + 1e-9) as u64).collect();
    // What flooring took away goes to the largest remainders, the first of equals; what the tolerance gave too much
    // comes back from the smallest.
    let given: u64 = counts.iter().sum();
    let remainder = |i: usize| projected[i] - libm::floor(projected[i] + 1e-9);
    order.sort_by(|&a, &b| remainder(b).total_cmp(&remainder(a)).then(a.cmp(&b)));
    if given <= total {
        let (mut left, n) = (total - given, order.len().max(1) as u64);
        let each = left / n;
        left %= n;
        for (k, &i) in order.iter().enumerate() {
            counts[i] += each + u64::from((k as u64) < left);
        }
    } else {
        let mut over = given - total;
        for &i in order.iter().rev() {
            let less = over.min(counts[i]).min(1);
            counts[i] -= less;
            over -= less;
        }
    }
    counts
}

/// The nearest point to `estimates` within bounds, but for wholeness: exactly where they fix one table, otherwise as near as alternating
/// projections come (Dykstra 1983).
pub(super) fn nearest_within(estimates: &[f64], bounds: &Bounds) -> Vec<f64> {
    let open = |(y, open): (&f64, &bool)| if *open { *y } else { 0.0 };
    let mut x: Vec<f64> = estimates.iter().zip(&bounds.open).map(open).collect();
    if let [one] = &bounds.fixed[..] {
        let mut members = vec![Vec::new(); one.counts.len()];
        let cells = one.place.iter().zip(&bounds.open).enumerate().filter(|(_, (_, open))| **open);
        cells.for_each(|(cell, (&place, _))| members[place as usize].push(cell));
        for (cells, &total) in members.iter().zip(&one.counts) {
            let own: Vec<f64> = cells.iter().map(|&c| x[c]).collect();
            let nearest = nearest_nonnegative(&own, total as f64);
            cells.iter().zip(nearest).for_each(|(&c, v)| x[c] = v);
        }
        return x;
    }
    let mut cut = vec![0.0; x.len()];
    let scale = x.iter().fold(1.0f64, |m, y| m.max(y.abs()));
    for _ in 0..SWEEPS {
        let before = x.clone();
        bounds.fixed.iter().for_each(|f| shift(&mut x, f, &bounds.open));
        for (x, cut) in x.iter_mut().zip(&mut cut) {
            let y = *x + *cut;
            *x = y.max(0.0);
            *cut = y - *x;
        }
        let moved = x.iter().zip(&before).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        if moved <= 1e-12 * scale {
            break;
        }
    }
    x
}

/// Moves all open cells of each entry alike, so that they add up to it.
fn shift(x: &mut [f64], fixed: &Fixed, open: &[bool]) {
    let mut sums = vec![(0.0, 0.0); fixed.counts.len()];
    for ((x, &p), _) in x.iter().zip(&fixed.place).zip(open).filter(|(_, open)| **open) {
        sums[p as usize].0 += x;
        sums[p as usize].1 += 1.0;
    }
    for ((x, &p), _) in x.iter_mut().zip(&fixed.place).zip(open).filter(|(_, open)| **open) {
        let (sum, cells) = sums[p as usize];
        *x += (fixed.counts[p as usize] as f64 - sum) / cells;
    }
}

/// The nearest point of `{x ≥ 0, Σx = total}` in least squares, `x_i = max(0, y_i − θ)` (Held, Wolfe & Crowder 1974).
pub(super) fn nearest_nonnegative(estimates: &[f64], total: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..estimates.len()).collect();
    order.sort_by(|&a, &b| estimates[b].total_cmp(&estimates[a]));
    // θ over the largest k cells, for the largest k whose smallest cell stays above it.
    let (mut sum, mut theta) = (0.0, 0.0);
    for (k, &i) in order.iter().enumerate() {
        sum += estimates[i];
        let next = (sum - total) / (k + 1) as f64;
        if k > 0 && estimates[i] <= next {
            break;
        }
        theta = next;
    }
    estimates.iter().map(|y| (y - theta).max(0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nearest with the estimates' own total.
    fn alone(estimates: &[f64]) -> Result<Vec<u64>, Unfinished> {
        nonnegative_integral(estimates, &Bounds::total(estimates.len(), total(estimates)?))
    }

    fn distance(x: &[f64], y: &[f64]) -> f64 {
        x.iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum()
    }

    #[test]
    fn adds_up_and_is_the_nearest() {
        for y in [
            vec![3.2, -1.7, 0.4, 8.3],
            vec![-5.0, -3.0, 1.0],
            vec![0.5; 7],
            vec![2.0, 0.0, 5.0],
            vec![-0.4, 9.9, 0.2, -0.3, 0.7],
            vec![1.4],
        ] {
            let x = alone(&y).unwrap();
            let total = y.iter().sum::<f64>().round().max(0.0) as u64;
            assert_eq!(x.iter().sum::<u64>(), total, "{y:?}");
            // No other vector of counts with this sum is nearer by more than rounding can cost: brute force.
            let best = all(y.len(), total).map(|c| distance(&c, &y)).fold(f64::INFINITY, f64::min);
            let x: Vec<f64> = x.iter().map(|&v| v as f64).collect();
            assert!(distance(&x, &y) <= best + 1e-9, "{y:?} {x:?} {} {best}", distance(&x, &y));
        }
        assert_eq!(alone(&[2.0, 0.0, 5.0]).unwrap(), [2, 0, 5], "counts stay as they are");
        assert!(alone(&[f64::NAN]).is_err() && alone(&[1e300]).is_err());
        assert_eq!(alone(&[]).unwrap(), [0u64; 0]);
    }

    /// All vectors of `n` counts with this sum.
    fn all(n: usize, total: u64) -> Box<dyn Iterator<Item = Vec<f64>>> {
        if n == 1 {
            return Box::new(std::iter::once(vec![total as f64]));
        }
        Box::new((0..=total).flat_map(move |first| {
            all(n - 1, total - first).map(move |mut rest| {
                rest.push(first as f64);
                rest
            })
        }))
    }

    /// The reason for its label: around zero it moves the mean.
    #[test]
    fn it_is_biased() {
        let cells = alone(&[-2.0, 2.0, -2.0, 2.0, 20.0]).unwrap();
        assert!(cells[..4].iter().sum::<u64>() > 0);
    }
}
