//! Many noises that are mostly 0: the law of a neighbour on a lattice of our own.
//!
//! Every coefficient `a` is moved to the nearest multiple `a' = mh`. The neighbour `E' = Σ a'_k N_k` lives on a lattice and is a Fourier
//! sum of products of looked-up characteristic functions. What was moved is `D = E − E' = Σ (a_k − a'_k) N_k`, a law of the same kind with
//! tiny coefficients, so Chernoff's bound says how far it may be: `P(E > w + η) <= P(E' > w) + P(D > η)`. Where noises are
//! mostly 0 that is little more than h, however many there are; and their characteristic functions, which never decay, do no harm.

use super::inversion;
use super::parts::Parts;
use super::{Group, NoiseLaw, Tilted};
use realfft::RealFftPlanner;
use realfft::num_complex::Complex as Bin;

/// Points of the lattice.
const MOST_POINTS: usize = 1 << 17;
/// Looked-up factors for all points together, and kinds of noise that tables are made of.
const MOST_LOOKUPS: usize = 1 << 24;
const MOST_KINDS: usize = 8;
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
    pub fn new(groups: &[Group], reach: f64) -> Option<Grid> {
        let points = (MOST_LOOKUPS / groups.len().max(1)).min(MOST_POINTS);
        if points < 1 << 12 || !groups.iter().all(|g| g.noise.is_discrete()) || !reach.is_finite() {
            return None;
        }
        let points = 1usize << points.ilog2();
        let h = 2.0 * reach / points as f64;
        let mut kinds: Vec<(NoiseLaw, u64, Vec<f64>)> = Vec::new();
        let mut product = vec![1.0; points / 2 + 1];
        for g in groups {
            let at = match kinds.iter().position(|k| k.0 == g.noise && k.1 == g.copies) {
                Some(at) => at,
                None if kinds.len() == MOST_KINDS => return None,
                None => {
                    let law = Tilted::new(g.noise, 0.0);
                    let turn = 2.0 * std::f64::consts::PI / points as f64;
                    let table = (0..=points / 2)
                        .map(|i| libm::exp(g.copies as f64 * law.at(i as f64 * turn).re))
                        .collect();
                    kinds.push((g.noise, g.copies, table));
                    kinds.len() - 1
                }
            };
            let (_, _, table) = kinds.get(at)?;
            let multiple = libm::round(g.coefficient / h) as usize % points;
            let mut angle = 0;
            for value in &mut product {
                let folded = if angle > points / 2 { points - angle } else { angle };
                *value *= table.get(folded).copied().unwrap_or(0.0);
                angle = (angle + multiple) % points;
            }
        }
        let mut spectrum: Vec<Bin<f64>> = product.iter().map(|v| Bin::new(*v, 0.0)).collect();
        let inverse = RealFftPlanner::new().plan_fft_inverse(points);
        let mut tails = inverse.make_output_vec();
        // The lengths are the plan's own, and both ends are real.
        inverse.process(&mut spectrum, &mut tails).ok()?;
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
    pub fn half_width(&self, p: f64) -> Option<f64> {
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
    pub fn above(&self, x: f64) -> f64 {
        let at = libm::floor(x / self.h) + 1.0;
        self.tails.get(at as usize).copied().unwrap_or(0.0)
    }
}
