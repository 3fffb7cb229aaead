//! How likely places in an order are, by the joint law of the errors behind it.
//!
//! A draw of all noises moves every figure by its error, and the figures that are left have an order. The share of draws in which a row has a place
//! is its probability as far as the noise alone tells, as that of a statement about one figure is: nothing is known of the true figures beforehand.

use super::Noise;
use super::largest::Draws;

/// Figures whose order is asked for.
pub(crate) struct Ranking<'a> {
    /// Their estimates.
    pub values: &'a [f64],
    /// Whether the largest is the first.
    pub descending: bool,
    /// The figures that are put in order together.
    pub groups: &'a [Vec<usize>],
}

/// Fewer would tell little.
const FEWEST_DRAWS: f64 = 1_000.0;

impl Ranking<'_> {
    /// For each figure the share of draws in which its place is from the first to the last of two, and how many draws there were. A place is one
    /// more than the figures before it: equal figures have one place. `None` when there are too many noises to draw.
    pub(crate) fn probabilities<'a>(
        &self,
        (first, last): (u64, u64),
        noises: impl Iterator<Item = (&'a Noise, &'a [f64])> + Clone,
    ) -> Option<(Vec<f64>, u32)> {
        let mut hits = vec![0u32; self.values.len()];
        let sign = if self.descending { 1.0 } else { -1.0 };
        let draws = match Draws::new(self.values.len(), noises, FEWEST_DRAWS)? {
            Some(draws) => draws,
            None => {
                self.hit(
                    &self.values.iter().map(|v| v * sign).collect::<Vec<_>>(),
                    0.0,
                    (first, last),
                    &mut hits,
                );
                return Some((hits.into_iter().map(f64::from).collect(), 1));
            }
        };
        // Sums of the same terms in another order differ in their last digits.
        let trace = 1e-9 * draws.used.iter().fold(0.0f64, |most, (_, sigma)| most.max(*sigma));
        let mut drawn = vec![0.0; self.values.len()];
        draws.each(|errors| {
            drawn.iter_mut().zip(self.values).for_each(|(d, v)| *d = v * sign);
            for ((at, sigma), error) in draws.used.iter().zip(errors) {
                drawn[*at] -= sign * sigma * error;
            }
            self.hit(&drawn, trace, (first, last), &mut hits);
        });
        let share = |n: &u32| f64::from(*n) / f64::from(draws.draws);
        Some((hits.iter().map(share).collect(), draws.draws))
    }

    /// Adds one to the figures whose place is asked for.
    fn hit(&self, drawn: &[f64], trace: f64, (first, last): (u64, u64), hits: &mut [u32]) {
        for group in self.groups {
            let mut own: Vec<f64> = group.iter().map(|&i| drawn[i]).collect();
            // A figure is among the first k where no k others are before it: where it is not below the k-th.
            let mut least = |k: u64| match usize::try_from(k).ok().filter(|k| *k <= own.len()) {
                None => f64::NEG_INFINITY,
                Some(0) => f64::INFINITY,
                Some(k) => *own.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1,
            };
            let (below, above) = (least(last), least(first - 1));
            let slack = |x: f64| trace + 1e-13 * if x.is_finite() { x.abs() } else { 0.0 };
            for &i in group {
                let is = drawn[i] >= below - slack(below) && drawn[i] < above - slack(above);
                hits[i] += u32::from(is);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::NoiseLaw;

    fn asked(
        values: &[f64],
        groups: &[Vec<usize>],
        descending: bool,
        places: (u64, u64),
        noises: &[(Noise, Vec<f64>)],
    ) -> (Vec<f64>, u32) {
        let order = Ranking { values, descending, groups };
        order.probabilities(places, noises.iter().map(|(n, c)| (n, &c[..]))).unwrap()
    }

    fn noise(law: NoiseLaw) -> Noise {
        Noise { release: 0, measurement: 0, copies: 1, law }
    }

    /// Two noises that both enter three figures, small and discrete: every pair of them by enumeration, and places by counting.
    #[test]
    fn places_are_those_of_all_noises_enumerated() {
        let law = NoiseLaw::DiscreteGaussian { variance: 2.0 };
        let noises = vec![(noise(law), vec![1.0, 0.0, -1.0]), (noise(law), vec![0.0, 1.0, 1.0])];
        let values = [4.0, 3.0, 3.0];
        let mass = |k: i32| (-f64::from(k * k) / 4.0).exp();
        let total: f64 = (-12..=12).map(mass).sum();
        for descending in [true, false] {
            for (first, last) in [(1, 1), (1, 2), (2, 2), (2, 3), (3, u64::MAX), (1, 3)] {
                let mut want = [0.0; 3];
                for a in -12..=12 {
                    for b in -12..=12 {
                        let truth: Vec<f64> = (0..3)
                            .map(|i| {
                                values[i] - noises[0].1[i] * f64::from(a) - noises[1].1[i] * f64::from(b)
                            })
                            .collect();
                        for (i, w) in want.iter_mut().enumerate() {
                            let before = |x: &&f64| if descending { **x > truth[i] } else { **x < truth[i] };
                            let place = 1 + truth.iter().filter(before).count() as u64;
                            if (first..=last).contains(&place) {
                                *w += mass(a) * mass(b) / total.powi(2);
                            }
                        }
                    }
                }
                let (found, draws) = asked(&values, &[vec![0, 1, 2]], descending, (first, last), &noises);
                assert_eq!(draws, 50_000);
                for (f, w) in found.iter().zip(want) {
                    // Four standard errors of so many draws.
                    assert!(
                        (f - w).abs() < 4.0 * 0.5 / f64::from(draws).sqrt(),
                        "{first} {last}: {found:?} {want:?}"
                    );
                }
            }
        }
    }

    /// Groups are put in order by themselves, and what has no error has its place for certain.
    #[test]
    fn groups_and_exact_figures() {
        let (found, draws) = asked(&[5.0, 7.0, 7.0, 1.0], &[vec![0, 1, 2], vec![3]], true, (1, 1), &[]);
        assert_eq!((found, draws), (vec![0.0, 1.0, 1.0, 1.0], 1));
        let one = [(noise(NoiseLaw::Gaussian { variance: 1.0 }), vec![1.0, 0.0, 0.0])];
        let (found, _) = asked(&[0.0, 0.0, 9.0], &[vec![0, 1], vec![2]], true, (1, 1), &one);
        assert!(
            (found[0] - 0.5).abs() < 0.01 && (found[0] + found[1] - 1.0).abs() < 1e-9 && found[2] == 1.0,
            "{found:?}"
        );
    }
}
