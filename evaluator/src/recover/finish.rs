//! A finishing step for readers who cannot use a table with negative or fractional counts.
//!
//! **Biased.** Cutting negative estimates off at zero and making the cells add up moves every cell, the small
//! ones upwards on average. What is finished is for display and for programs that insist on counts; it is never
//! stored in a release and never the source of an interval: intervals come from the unbiased estimates.

/// Non-negative whole numbers that add up to the rounded sum of `estimates` (to zero if that is negative): the
/// nearest point of `{x ≥ 0, Σx = n}` in least squares, `x_i = max(0, y_i − θ)` (Held, Wolfe & Crowder 1974), then
/// rounded by largest remainders. `None` when an estimate is not finite or the sum is beyond 2^53.
pub fn nonnegative_integral(estimates: &[f64]) -> Option<Vec<u64>> {
    const MOST: f64 = 9_007_199_254_740_992.0;
    let total = libm::round(estimates.iter().sum::<f64>()).max(0.0);
    if !estimates.iter().all(|y| y.is_finite()) || total > MOST {
        return None;
    }
    let mut order: Vec<usize> = (0..estimates.len()).collect();
    let projected = nearest_nonnegative(estimates, total);
    let mut counts: Vec<u64> = projected.iter().map(|x| libm::floor(x + 1e-9) as u64).collect();
    // What flooring took away goes to the largest remainders, the first of equals; what the tolerance gave too much
    // comes back from the smallest.
    let given: u64 = counts.iter().sum();
    let total = total as u64;
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
    Some(counts)
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
            let x = nonnegative_integral(&y).unwrap();
            let total = y.iter().sum::<f64>().round().max(0.0) as u64;
            assert_eq!(x.iter().sum::<u64>(), total, "{y:?}");
            // No other vector of counts with this sum is nearer by more than rounding can cost: brute force.
            let best = all(y.len(), total).map(|c| distance(&c, &y)).fold(f64::INFINITY, f64::min);
            let x: Vec<f64> = x.iter().map(|&v| v as f64).collect();
            assert!(distance(&x, &y) <= best + 1e-9, "{y:?} {x:?} {} {best}", distance(&x, &y));
        }
        assert_eq!(nonnegative_integral(&[2.0, 0.0, 5.0]).unwrap(), [2, 0, 5], "counts stay as they are");
        assert!(nonnegative_integral(&[f64::NAN]).is_none() && nonnegative_integral(&[1e300]).is_none());
        assert_eq!(nonnegative_integral(&[]).unwrap(), [0u64; 0]);
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
        let cells = nonnegative_integral(&[-2.0, 2.0, -2.0, 2.0, 20.0]).unwrap();
        assert!(cells[..4].iter().sum::<u64>() > 0);
    }
}
