//! Where the worst answer matters: which questions about one dimension make it.
//!
//! Let queries have weights `θ` that add up to one. The largest variance of any mechanism is at least `Σ θ_q Var_q`, which is at least the best total for
//! `G = Σ θ_q q qᵀ` (see [`super::optimum`]). That is concave in `θ`, and its slopes are the variances of the best mechanism. So a query that is told worse
//! than others gains weight, `θ_q ← θ_q (Var_q / Σ θ Var)⁴`, until all that have any weight are told alike. Every `θ` on the way proves a bound. Over several
//! dimensions products of weights are weights, and the product of the bounds is a bound.

use super::descent::gram;
use super::optimum::Family;
use super::split::Matrix;
use crate::numeric::dense::inverse;
use crate::plan::Ranges;

/// How near the worst answer comes to the bound at the end.
const CLOSE: f64 = 1e-4;
const MOST_ROUNDS: usize = 600;
/// Rounds of a search for the best mechanism of some weights: it goes on from the last one's, so that few do as well as many.
const INNER_ROUNDS: usize = 3;
/// No question has less than this part of the mean weight: what has none leaves a matrix that cannot be worked with.
const LEAST: f64 = 1e-7;
/// The most steps of dense algebra for one dimension.
const MOST_STEPS: f64 = 4e9;

/// Questions weighed by how much they matter to the worst answer.
pub(crate) struct Worst {
    /// `Σ θ_q q qᵀ`.
    pub gram: Matrix,
    /// No Gaussian mechanism whose cost is one tells all questions with less variance than this.
    pub bound: f64,
}

/// For what is asked of `n` nodes. `None` where the numbers are beyond what can be computed with.
pub(crate) fn worst(asked: &Ranges, n: usize) -> Option<Worst> {
    let queries: Vec<(usize, usize)> =
        asked.intervals(n as u32).map(|(a, b)| (a as usize, b as usize)).collect();
    let mut theta = vec![1.0 / queries.len() as f64; queries.len()];
    if matches!(asked, Ranges::Cells | Ranges::Total) {
        let weight = theta[0];
        let gram =
            gram(asked, n).into_iter().map(|row| row.into_iter().map(|g| g * weight).collect()).collect();
        return Some(Worst { gram, bound: 1.0 });
    }
    let mut start: Option<Vec<f64>> = None;
    let (mut least, mut gram, mut bound) = (f64::INFINITY, Matrix::new(), 0.0f64);
    let mut left = MOST_STEPS;
    for round in 0..MOST_ROUNDS {
        let weighed = weighed(&queries, &theta, n);
        let family = Family::new(weighed.clone());
        left -= INNER_ROUNDS as f64 * family.work() + libm::pow(n as f64, 3.0);
        if round > 0 && left < 0.0 {
            break;
        }
        let found = family.onwards(start.as_deref(), INNER_ROUNDS)?;
        let variances = variances(&queries, &inverse(&found.x)?);
        let most = variances.iter().copied().fold(0.0, f64::max);
        bound = bound.max(found.bound);
        if most < least {
            (least, gram) = (most, weighed);
        }
        if least < bound * (1.0 + CLOSE) {
            break;
        }
        let mean: f64 = theta.iter().zip(&variances).map(|(t, v)| t * v).sum();
        theta
            .iter_mut()
            .zip(&variances)
            .for_each(|(t, v)| *t *= (v / mean) * (v / mean) * (v / mean) * (v / mean));
        let sum: f64 = theta.iter().sum();
        let least_of_all = LEAST * sum / theta.len() as f64;
        theta.iter_mut().for_each(|t| *t = t.max(least_of_all));
        let sum: f64 = theta.iter().sum();
        theta.iter_mut().for_each(|t| *t /= sum);
        start = Some(found.weights);
    }
    // Roundings of dense algebra are far below this.
    Some(Worst { gram, bound: bound * (1.0 - 1e-6) })
}

/// `Σ θ_q q qᵀ`: intervals that hold both nodes, with a little for nodes that none holds.
fn weighed(queries: &[(usize, usize)], theta: &[f64], n: usize) -> Matrix {
    let mut sum = vec![vec![0.0; n]; n];
    for (&(a, b), t) in queries.iter().zip(theta) {
        sum[a][b] += t;
    }
    // From those that begin at `a` and end at `b` to those that begin at or before it, and end at or after it.
    for a in 0..n {
        for b in (0..n).rev() {
            let before = if a > 0 { sum[a - 1][b] } else { 0.0 };
            let after = if b + 1 < n { sum[a][b + 1] } else { 0.0 };
            let both = if a > 0 && b + 1 < n { sum[a - 1][b + 1] } else { 0.0 };
            sum[a][b] += before + after - both;
        }
    }
    // Prefixes tell all nodes apart, and without it their matrix has an inverse of three diagonals.
    let prefixes = queries.len() == n && queries.iter().enumerate().all(|(b, q)| *q == (0, b));
    let part = if prefixes { 0.0 } else { 1e-9 };
    let ridge = part * (0..n).map(|i| sum[i][i]).sum::<f64>() / n as f64;
    (0..n)
        .map(|i| (0..n).map(|j| sum[i.min(j)][i.max(j)] + if i == j { ridge } else { 0.0 }).collect())
        .collect()
}

/// What each interval's variance is: sums of blocks of a covariance.
fn variances(queries: &[(usize, usize)], covariance: &[Vec<f64>]) -> Vec<f64> {
    let n = covariance.len();
    let mut sums = vec![vec![0.0; n + 1]; n + 1];
    for i in 0..n {
        for j in 0..n {
            sums[i + 1][j + 1] = covariance[i][j] + sums[i][j + 1] + sums[i + 1][j] - sums[i][j];
        }
    }
    let of = |&(a, b): &(usize, usize)| sums[b + 1][b + 1] - 2.0 * sums[a][b + 1] + sums[a][a];
    queries.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::dice::Dice;

    /// The bounds meet mechanisms, and no other mechanism is below.
    #[test]
    fn nothing_is_below() {
        let some = Ranges::Intervals(vec![(0, 2), (1, 5), (3, 3), (4, 6), (0, 6)]);
        let mut dice = Dice::new(3);
        for (asked, n, want) in
            [(Ranges::All, 8, Some(2.6772)), (Ranges::Prefixes, 8, Some(2.28156)), (some, 7, None)]
        {
            let found = worst(&asked, n).unwrap();
            assert!(
                want.is_none_or(|want| (found.bound / want - 1.0).abs() < 2e-4),
                "{asked:?} {}",
                found.bound
            );
            let queries: Vec<(usize, usize)> =
                asked.intervals(n as u32).map(|(a, b)| (a as usize, b as usize)).collect();
            let best = Family::new(found.gram).best(0.0, None).unwrap();
            let most = |x: &Matrix| variances(&queries, &inverse(x).unwrap()).into_iter().fold(0.0, f64::max);
            assert!(most(&best.x) < found.bound * (1.0 + 2.0 * CLOSE), "{asked:?}");
            // Others near it, of the same cost.
            for _ in 0..200 {
                let mut x = best.x.clone();
                for i in 0..n {
                    for j in 0..=i {
                        let by = 0.02 * (dice.unit() - 0.5);
                        x[i][j] += by;
                        x[j][i] = x[i][j];
                    }
                }
                let largest = (0..n).map(|i| x[i][i]).fold(0.0, f64::max);
                x.iter_mut().flatten().for_each(|v| *v /= largest);
                if crate::numeric::dense::eigen(&x).unwrap().values.iter().all(|v| *v > 0.0) {
                    assert!(most(&x) >= found.bound);
                }
            }
        }
    }

    /// Against each interval's own sums.
    #[test]
    fn sums_of_blocks() {
        let mut dice = Dice::new(4);
        let n = 6;
        let queries: Vec<(usize, usize)> = (0..n).flat_map(|a| (a..n).map(move |b| (a, b))).collect();
        let theta: Vec<f64> = queries.iter().map(|_| dice.unit()).collect();
        let gram = weighed(&queries, &theta, n);
        let holds = |(a, b): (usize, usize), i: usize| a <= i && i <= b;
        for i in 0..n {
            for j in 0..n {
                let both = queries.iter().zip(&theta).filter(|(q, _)| holds(**q, i) && holds(**q, j));
                assert!((gram[i][j] - both.map(|(_, t)| t).sum::<f64>()).abs() < 1e-6);
            }
        }
        for (q, v) in queries.iter().zip(variances(&queries, &gram)) {
            let cells = (q.0..=q.1).flat_map(|i| (q.0..=q.1).map(move |j| (i, j)));
            assert!((v - cells.map(|(i, j)| gram[i][j]).sum::<f64>()).abs() < 1e-9);
        }
    }
}
