//! Many noises that are mostly 0: the law of a neighbour on a lattice of our own.
//!
//! Every coefficient `a` is moved to the nearest multiple `a' = mh`. The neighbour `E' = Σ a'_k N_k` lives on a lattice and is a Fourier
//! sum of products of looked-up characteristic functions. What was moved is `D = E − E' = Σ (a_k − a'_k) N_k`, a law of the same kind with
//! tiny coefficients, so Chernoff's bound says how far it may be: `P(E > w + η) <= P(E' > w) + P(D > η)`. Where noises are
//! mostly 0 that is little more than h, however many there are; and their characteristic functions, which never decay, do no harm.

use super::inversion;
use super::parts::Parts;
use super::{Group, NoiseLaw, Tilted};
use crate::numeric::cosine::Cosines;
use std::f64::consts::PI;

/// Points of the lattice, at most and at least.
const MOST_POINTS: u32 = 18;
const LEAST_POINTS: u32 = 12;
/// Looked-up logarithms for all points together, and kinds of noise that tables are made of.
const MOST_LOOKUPS: f64 = (1 << 23) as f64;
const MOST_KINDS: usize = 8;
/// More noises than this are not even moved.
const MOST_GROUPS: usize = 1 << 18;
/// A characteristic function below e to this power is 0: a point loses 4e-19, a tail 5e-14.
const NEGLIGIBLE: f64 = -42.5;
/// The rounding of the Fourier sum, in all.
const ROUNDING: f64 = 1e-12;

/// The neighbour's law.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    h: f64,
    /// `P(E' >= ih)`.
    tails: Vec<f64>,
    /// What `D` is made of.
    moved: Vec<Group>,
}

impl Grid {
    /// `reach` is beyond all but 1e-13 of the law. `None` when there are too many noises, or continuous ones.
    ///
    /// Of very many noises many move to the same place, and at most frequencies a few of them already bring the product to
    /// nothing: then the lattice may be finer.
    pub(super) fn new(groups: &[Group], reach: f64) -> Option<Grid> {
        // The tables are of logarithms: of a uniform law's function, which changes its sign, there are none.
        let tabled = |g: &Group| g.noise.is_discrete() && !matches!(g.noise, NoiseLaw::Uniform { .. });
        if groups.len() > MOST_GROUPS || !groups.iter().all(tabled) || !reach.is_finite() {
            return None;
        }
        let mut kinds: Vec<(NoiseLaw, f64)> = Vec::new();
        for g in groups {
            if !kinds.iter().any(|k| k.0 == g.noise) {
                if kinds.len() == MOST_KINDS {
                    return None;
                }
                kinds.push((g.noise, mean_fall(&g.noise)));
            }
        }
        // What all of them make a frequency fall by, on average.
        let fall: f64 = groups
            .iter()
            .map(|g| g.copies as f64 * kinds.iter().find(|k| k.0 == g.noise).map_or(0.0, |k| k.1))
            .sum();
        let (points, h, merged) = (LEAST_POINTS..=MOST_POINTS).rev().find_map(|bits| {
            let points = 1usize << bits;
            let h = 2.0 * reach / points as f64;
            let merged = merge(groups, &kinds, h, points);
            let n = merged.len() as f64;
            // Frequencies differ, so twice as many as it takes on average.
            let each = n.min(1.0 + 2.0 * n * -NEGLIGIBLE / fall);
            (0.5 * points as f64 * each <= MOST_LOOKUPS).then_some((points, h, merged))
        })?;
        let turn = 2.0 * PI / points as f64;
        let tables: Vec<Vec<f64>> = kinds
            .iter()
            .map(|(noise, _)| {
                let law = Tilted::new(*noise, 0.0);
                (0..=points / 2).map(|i| law.at(i as f64 * turn).re).collect()
            })
            .collect();
        // What was estimated may have been too little; it is never exceeded by much.
        let mut left = 4.0 * MOST_LOOKUPS;
        let mut product = vec![0.0; points / 2 + 1];
        for (i, value) in product.iter_mut().enumerate() {
            let mut ln = 0.0;
            for (kind, multiple, copies) in &merged {
                let angle = (i * multiple) & (points - 1);
                let folded = angle.min(points - angle);
                ln += copies * tables.get(*kind)?.get(folded)?;
                left -= 1.0;
                if ln < NEGLIGIBLE {
                    break;
                }
            }
            if left < 0.0 {
                return None;
            }
            if ln >= NEGLIGIBLE {
                *value = libm::exp(ln);
            }
        }
        let mut tails = Cosines::default().transform(&product);
        tails.truncate(points / 2);
        let mut tail = 0.0;
        for mass in tails.iter_mut().rev() {
            tail += mass.max(0.0) / points as f64;
            *mass = tail;
        }
        let moved = groups
            .iter()
            .map(|g| Group { coefficient: (g.coefficient - libm::round(g.coefficient / h) * h).abs(), ..*g })
            .filter(|g| g.coefficient > 0.0)
            .collect();
        Some(Grid { h, tails, moved })
    }

    /// A half-width that leaves out at most `p` on each side.
    pub(super) fn half_width(&self, p: f64) -> Option<f64> {
        // P(D > η) is at most a thousandth of p.
        let share = 1e-3 * p;
        let target = p - share - ROUNDING;
        if target < 100.0 * ROUNDING {
            return None;
        }
        let eta = if self.moved.is_empty() {
            0.0
        } else {
            let each = |g: &Group| g.copies as f64 * g.coefficient * g.coefficient * g.noise.variance();
            let sigma = libm::sqrt(self.moved.iter().map(each).sum());
            inversion::tilt_for_tail(&Parts::new(&self.moved, f64::NAN), sigma, share).1
        };
        // The first point whose tail from the next on fits.
        let beyond = self.tails.partition_point(|t| *t > target);
        Some(beyond.saturating_sub(1) as f64 * self.h + eta)
    }

    /// `P(E' > x)`, `x >= 0`.
    pub(crate) fn above(&self, x: f64) -> f64 {
        let at = libm::floor(x / self.h) + 1.0;
        self.tails.get(at as usize).copied().unwrap_or(0.0)
    }
}

/// What one noise makes a frequency fall by, on average.
fn mean_fall(noise: &NoiseLaw) -> f64 {
    let law = Tilted::new(*noise, 0.0);
    let steps = 64;
    (0..steps).map(|i| -law.at(PI * (f64::from(i) + 0.5) / f64::from(steps)).re).sum::<f64>()
        / f64::from(steps)
}

/// The moved noises: their kind, their coefficient as a multiple of `h`, and how many there are; in an order that mixes sizes.
fn merge(groups: &[Group], kinds: &[(NoiseLaw, f64)], h: f64, points: usize) -> Vec<(usize, usize, f64)> {
    let mut all: Vec<(usize, usize, f64)> = groups
        .iter()
        .map(|g| {
            let kind = kinds.iter().position(|k| k.0 == g.noise).unwrap_or(0);
            (kind, libm::round(g.coefficient / h) as usize % points, g.copies as f64)
        })
        .filter(|m| m.1 > 0)
        .collect();
    all.sort_unstable_by_key(|m| (m.0, m.1));
    all.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        if same {
            kept.2 += next.2;
        }
        same
    });
    // Neighbours are in phase at the same frequencies: apart they bring a product down sooner.
    all.sort_by_key(|m| (m.1 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What moves may take, and rounding, count on the safe side; and what is smaller than they are is not told.
    #[test]
    fn half_widths_leave_room_for_rounding() {
        let p = 0.01;
        let half_width =
            |tail: f64, p: f64| Grid { h: 1.0, tails: vec![0.5, tail, 0.0], moved: Vec::new() }.half_width(p);
        assert_eq!(half_width(p - 1e-3 * p, p), Some(1.0));
        assert_eq!(half_width(p - 1e-3 * p - 2.0 * ROUNDING, p), Some(0.0));
        assert_eq!(half_width(1e-13, 1e-11), None);
    }

    /// The characteristic function of a discrete Laplace noise is `(1−q)²/|1 − qe^{it}|²`, and the mean of `ln |1 − qe^{it}|` is 0.
    #[test]
    fn frequencies_fall_by_what_they_do_on_average() {
        for scale in [0.2f64, 0.7, 1.0, 3.0] {
            let want = -2.0 * (-(-1.0 / scale).exp()).ln_1p();
            let got = mean_fall(&NoiseLaw::DiscreteLaplace { scale });
            assert!((got - want).abs() < 1e-12, "{scale}: {got} {want}");
        }
    }
}
