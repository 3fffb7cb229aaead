//! How often the published estimator is nearer to the truth than the noisy count, and how often that is no count at all.
//!
//! For a truth k and an observation y the estimate `θ̂(y)` is nearer than y exactly when k lies on its side of the middle `(θ̂(y)+y)/2`. So
//! `P(nearer) = ∫ Σ_{k on θ̂'s side} π_k f(y−k) dy`. Between two whole numbers both sums of `π_k e^{−ε|y−k|}`, from the left and from the right, are their
//! values at the ends times an exponential: each y costs a handful of operations. The integral is a midpoint rule; the integrand jumps where
//! the middle passes a whole number, so its error is below a step's share of those masses: 1e-4 at most, mostly far less.

use margins::posterior::{PosteriorError, ln_binomial};

/// Steps between two whole numbers.
const STEPS: usize = 256;
/// Beyond the prior's window the noise is followed until e to this power of its mass is left.
const DEPTH: f64 = 30.0;
/// The most whole numbers of the window and what follows it.
const MOST: f64 = 100_000.0;

/// The binomial law where all but 1e-15 of it is: its first count, and the masses.
pub(super) fn prior(n: u64, p: f64) -> Result<(u64, Vec<f64>), PosteriorError> {
    let (mean, sd) = (n as f64 * p, libm::sqrt(n as f64 * p * (1.0 - p)));
    // By Bernstein.
    let reach = 9.0 * sd + 30.0;
    let first = libm::floor(mean - reach).max(0.0) as u64;
    let last = n.min(libm::ceil(mean + reach) as u64);
    if last - first > 20_000 {
        return Err(PosteriorError::TooLarge);
    }
    Ok((first, (first..=last).map(|k| libm::exp(ln_binomial(n, p, k))).collect()))
}

/// The sums over k on one side of a place: of `π_k e^{−ε·distance}`, and the same times k.
#[derive(Clone, Copy, Default)]
struct Side {
    mass: f64,
    first: f64,
}

impl Side {
    fn step(self, decay: f64, mass: f64, k: f64) -> Side {
        Side { mass: self.mass * decay + mass, first: self.first * decay + mass * k }
    }
}

/// The probability that the posterior mean is strictly nearer to the true count than the noisy one, under Laplace noise of scale 1/ε and
/// a binomial truth.
pub(super) fn probability_closer(n: u64, p: f64, epsilon: f64) -> Result<f64, PosteriorError> {
    if !((0.0..=1.0).contains(&p) && epsilon > 0.0 && epsilon.is_finite()) {
        return Err(PosteriorError::Parameter);
    }
    let (first, window) = prior(n, p)?;
    let tail = libm::ceil(DEPTH / epsilon);
    if 2.0 * tail + window.len() as f64 > MOST {
        return Err(PosteriorError::TooLarge);
    }
    // Whole numbers from `start` on; the prior has no mass outside its window.
    let (tail, start) = (tail as usize, first as f64 - tail);
    let masses: Vec<f64> =
        std::iter::repeat_n(0.0, tail).chain(window).chain(std::iter::repeat_n(0.0, tail)).collect();
    let decay = libm::exp(-epsilon);
    let sums = |order: &mut dyn Iterator<Item = usize>| {
        let mut all = vec![Side::default(); masses.len()];
        let mut sum = Side::default();
        for i in order {
            sum = sum.step(decay, masses[i], start + i as f64);
            all[i] = sum;
        }
        all
    };
    let left = sums(&mut (0..masses.len()));
    let right = sums(&mut (0..masses.len()).rev());
    // Σ of π_k e^{−ε|y−k|} over k up to index `to`, y between the indices j and j+1.
    let up_to = |to: usize, j: usize, (before, after): (f64, f64)| match to <= j {
        true => before * libm::exp(-epsilon * (j - to) as f64) * left[to].mass,
        false => {
            let beyond = right.get(to + 1).map_or(0.0, |r| r.mass);
            let whole = before * left[j].mass + after * right[j + 1].mass;
            whole - after * libm::exp(-epsilon * (to - j) as f64) * beyond
        }
    };
    let mut total = 0.0;
    for j in 0..masses.len() - 1 {
        for i in 0..STEPS {
            let u = (i as f64 + 0.5) / STEPS as f64;
            let (before, after) = (libm::exp(-epsilon * u), libm::exp(-epsilon * (1.0 - u)));
            let whole = before * left[j].mass + after * right[j + 1].mass;
            if whole <= 0.0 {
                continue;
            }
            let estimate = (before * left[j].first + after * right[j + 1].first) / whole;
            let y = start + j as f64 + u;
            let middle = 0.5 * (estimate + y) - start;
            // k below the middle, when the estimate is; k above it otherwise. A k at the middle is as near to both.
            total += if estimate < y {
                let to = libm::ceil(middle) - 1.0;
                if to < 0.0 { 0.0 } else { up_to((to as usize).min(masses.len() - 1), j, (before, after)) }
            } else {
                let to = libm::floor(middle);
                whole
                    - if to < 0.0 {
                        0.0
                    } else {
                        up_to((to as usize).min(masses.len() - 1), j, (before, after))
                    }
            };
        }
    }
    Ok(0.5 * epsilon * total / STEPS as f64)
}

/// The probability that the noisy count of a true count k lies below 0 or above n. It is least at n/2.
pub(super) fn out_of_range(n: u64, k: f64, epsilon: f64) -> f64 {
    0.5 * (libm::exp(-epsilon * k) + libm::exp(-epsilon * (n as f64 - k)))
}

/// The same over a binomial truth.
pub(super) fn mean_out_of_range(n: u64, p: f64, epsilon: f64) -> Result<f64, PosteriorError> {
    let (first, masses) = prior(n, p)?;
    Ok(masses.iter().zip(first..).map(|(m, k)| m * out_of_range(n, k as f64, epsilon)).sum())
}

/// The exact mean absolute error of the noisy count moved to the nearer of 0 and n where it lies outside.
pub(super) fn clipped_error(n: u64, p: f64, epsilon: f64) -> Result<f64, PosteriorError> {
    let (first, masses) = prior(n, p)?;
    // ∫ P(|noise| > s) on either side, up to the end that stops it.
    let side = |room: f64| -0.5 * libm::expm1(-epsilon * room) / epsilon;
    Ok(masses.iter().zip(first..).map(|(m, k)| m * (side(k as f64) + side((n - k) as f64))).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use margins::law::{Generator, NoiseLaw};

    #[test]
    fn published_probabilities() {
        let at = |n, epsilon| probability_closer(n, 0.3, epsilon).unwrap();
        assert!((at(100, 0.1) - 0.761).abs() < 5e-4, "{}", at(100, 0.1));
        assert!((at(1000, 0.1) - 0.591).abs() < 5e-4, "{}", at(1000, 0.1));
        // More noise does not always make the prior more useful, nor less: between these it falls and rises again.
        let several: Vec<f64> = [0.02, 0.5, 2.0, 4.0].map(|e| at(100, e)).into();
        assert!(
            several.windows(2).any(|w| w[0] > w[1]) && several.windows(2).any(|w| w[0] < w[1]),
            "{several:?}"
        );
        assert!(probability_closer(10, 0.5, 0.0).is_err() && probability_closer(10, 1.5, 1.0).is_err());
        assert_eq!(probability_closer(1 << 40, 0.5, 1.0), Err(PosteriorError::TooLarge));
    }

    /// 40 000 simulated counts for each: a deviation of five standard errors has probability 6e-7.
    #[test]
    fn as_simulation_says() {
        let mut random = Generator::new(12);
        for (n, p, epsilon) in [(6u64, 0.5, 1.5), (30, 0.1, 0.3), (12, 0.4, 4.0)] {
            let (first, masses) = prior(n, p).unwrap();
            let draws = 40_000;
            let (mut closer, mut outside, mut clipped) = (0.0, 0.0, 0.0);
            for _ in 0..draws {
                let k = (0..n).filter(|_| random.uniform() < p).count() as f64;
                let y = k + random.draw(&NoiseLaw::Laplace { scale: 1.0 / epsilon });
                let weights = masses.iter().zip(first..).map(|(m, k)| {
                    let k = k as f64;
                    (k, m * libm::exp(-epsilon * (y - k).abs()))
                });
                let (sum, mean) = weights.fold((0.0, 0.0), |s, (k, w)| (s.0 + w, s.1 + w * k));
                closer += f64::from((mean / sum - k).abs() < (y - k).abs());
                outside += f64::from(y < 0.0 || y > n as f64);
                clipped += (y.clamp(0.0, n as f64) - k).abs();
            }
            let n_draws = f64::from(draws);
            let within = |seen: f64, want: f64, what: &str| {
                let error = 5.0 * (want * (1.0 - want) / n_draws).sqrt();
                assert!(
                    (seen / n_draws - want).abs() < error + 1e-4,
                    "{what} {n} {p} {epsilon}: {} {want}",
                    seen / n_draws
                );
            };
            within(closer, probability_closer(n, p, epsilon).unwrap(), "closer");
            within(outside, mean_out_of_range(n, p, epsilon).unwrap(), "outside");
            let want = clipped_error(n, p, epsilon).unwrap();
            let error = 5.0 * 1.5 / epsilon / n_draws.sqrt();
            assert!((clipped / n_draws - want).abs() < error, "clipped {n} {p} {epsilon}");
        }
        let least = (0..=100).min_by(|a, b| {
            out_of_range(100, f64::from(*a), 0.1).total_cmp(&out_of_range(100, f64::from(*b), 0.1))
        });
        assert_eq!(least, Some(50));
    }
}
