//! Discrete probability calculation (PC), after Xiao & Xiong: each noise becomes a truncated vector of masses on a
//! grid, and the vectors are convolved, the two shortest first.
//!
//! The published method is kept honest in two ways. The mass lost to truncation (at most γ in all) is counted as if it lay
//! beyond every interval. And when the grid is not the error's own lattice, each noise is moved by at most
//! half a cell; these moves are independent and symmetric, so Hoeffding's inequality bounds their sum, and that
//! bound is added to the half-width (its failure probability, a thousandth of the tail, to the tail).

use super::{Group, NoiseLaw, normal};
use crate::numeric::cosine::Cosines;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// More cells than this and the error's own lattice is too fine to use.
const MAX_CELLS: f64 = (1 << 20) as f64;
/// Cells per standard deviation of a grid of our own.
const CELLS_PER_SIGMA: f64 = 8192.0;
/// Direct summation of a discrete Gaussian up to this s; beyond, it is the normal law to within one step.
const WIDE: f64 = 1e4;
/// The rounding of the FFTs, per tail.
const ROUNDING: f64 = 1e-13;

/// Masses of a symmetric law on `step · ℤ`.
#[derive(Debug, Clone)]
pub struct Mass {
    step: f64,
    /// `tails[i] = P(E > i·step)`, lost mass not included.
    tails: Vec<f64>,
    lost: f64,
    /// Σ over the noises of the squared width of the range a noise may be moved in; 0 on its own lattice.
    moved_sqr: f64,
    /// The most they can be moved together.
    moved_max: f64,
}

/// The masses at −r..=r; symmetric, so only 0..=r are kept.
#[derive(Debug, Clone, PartialEq)]
struct Vector {
    half: Vec<f64>,
    lost: f64,
    /// How many noises are in it.
    noises: f64,
}

impl Mass {
    pub(crate) fn new(groups: &[Group], lattice: Option<f64>, gamma: f64) -> Mass {
        let noises: f64 = groups.iter().map(|g| g.copies as f64).sum();
        let each = |g: &Group| g.copies as f64 * g.coefficient * g.coefficient * g.noise.variance();
        let sigma = libm::sqrt(groups.iter().map(each).sum());
        let per_noise = gamma / (4.0 * noises);
        // The result is about as long as 2√(2 ln(1/γ)) σ, whatever the parts are.
        let own = lattice.filter(|h| {
            let cells =
                groups.iter().map(|g| g.coefficient * cut(&g.noise, per_noise)).fold(8.0 * sigma, f64::max);
            cells / h <= MAX_CELLS
        });
        let step = own.unwrap_or(sigma / CELLS_PER_SIGMA);
        let (mut moved_sqr, mut moved_max) = (0.0, 0.0);
        // What may be cut off a vector of m noises after a convolution: levels · (m/n) · share <= γ/4 in all.
        let share = gamma / (4.0 * noises * (64.0 + groups.len() as f64));
        let mut cosines = Cosines::default();
        let mut heap = Heap::default();
        for g in groups {
            let single = discretise(g, step, own.is_some(), per_noise);
            if own.is_none() {
                let wide =
                    matches!(g.noise, NoiseLaw::DiscreteGaussian { variance } if variance > WIDE * WIDE);
                let range = step + if wide { 2.0 * g.coefficient } else { 0.0 };
                moved_sqr += g.copies as f64 * range * range;
                moved_max += g.copies as f64 * range / 2.0;
            }
            // Equal noises: powers by squaring.
            let (mut power, mut left) = (single, g.copies);
            loop {
                if left & 1 == 1 {
                    heap.push(power.clone());
                }
                left >>= 1;
                if left == 0 {
                    break;
                }
                power = convolve(&power, &power, share, &mut cosines);
            }
        }
        while let Some((a, b)) = heap.pop_two() {
            let c = convolve(&a, &b, share, &mut cosines);
            heap.push(c);
        }
        let vector = heap.last();
        let mut tails = vec![0.0; vector.half.len()];
        let mut sum = 0.0;
        for (tail, mass) in tails.iter_mut().zip(&vector.half).rev() {
            *tail = sum;
            sum += mass;
        }
        Mass { step, tails, lost: vector.lost, moved_sqr, moved_max }
    }

    fn tail(&self, i: f64) -> f64 {
        // A negative index: P(E > −step) = P(E >= 0).
        if i < 0.0 {
            return 1.0 - self.tails.first().copied().unwrap_or(0.0);
        }
        self.tails.get(i as usize).copied().unwrap_or(0.0) + self.lost / 2.0
    }

    /// `P(E > x)`, `x >= 0`.
    pub(crate) fn above(&self, x: f64) -> f64 {
        self.tail(libm::floor(x / self.step * (1.0 + 1e-12) + 1e-9))
    }

    /// `P(E >= x)`, `x > 0`.
    pub(crate) fn at_least(&self, x: f64) -> f64 {
        self.tail(libm::ceil(x / self.step * (1.0 - 1e-12) - 1e-9) - 1.0)
    }

    /// `P(|E| = i·step)` for i from 0, without what was lost.
    pub(crate) fn of_absolute(&self) -> Vec<f64> {
        let first = self.tails.first().map(|t| 1.0 - self.lost - 2.0 * t);
        let others = self.tails.windows(2).map(|t| 2.0 * (t[0] - t[1]));
        first.into_iter().chain(others).map(|m| m.max(0.0)).collect()
    }

    /// The absolute value that a uniform variable stands for.
    pub(crate) fn absolute(&self, uniform: f64) -> f64 {
        self.tails.partition_point(|t| 2.0 * t > uniform) as f64 * self.step
    }

    /// A half-width that leaves out at most `tau`; infinite when γ is too large for that.
    pub(crate) fn half_width(&self, tau: f64) -> f64 {
        let (mut target, mut allowance) = (tau, 0.0);
        if self.moved_sqr > 0.0 {
            target = 0.999 * tau;
            let hoeffding = libm::sqrt(0.5 * self.moved_sqr * libm::log(2000.0 / tau));
            allowance = self.moved_max.min(hoeffding);
        }
        let i = self.tails.partition_point(|t| 2.0 * (t + ROUNDING) + self.lost > target);
        if i == self.tails.len() { f64::INFINITY } else { i as f64 * self.step + allowance }
    }
}

/// A point that a noise exceeds in absolute value with probability at most `mass`.
fn cut(noise: &NoiseLaw, mass: f64) -> f64 {
    match *noise {
        NoiseLaw::Laplace { scale } | NoiseLaw::DiscreteLaplace { scale } => 1.0 - scale * libm::log(mass),
        // Chernoff: the discrete Gaussian is subgaussian with its own parameter.
        NoiseLaw::Gaussian { variance } | NoiseLaw::DiscreteGaussian { variance } => {
            1.0 + libm::sqrt(2.0 * variance * libm::log(2.0 / mass))
        }
        NoiseLaw::Uniform { reach } => reach,
    }
}

fn discretise(g: &Group, step: f64, own: bool, lose: f64) -> Vector {
    let a = g.coefficient;
    let reach = cut(&g.noise, lose);
    let cells = libm::round(a * reach / step) as usize + 1;
    let mut half = vec![0.0; cells + 1];
    // P(aN > x), for the laws whose tails have a closed form.
    let tail = |x: f64| match g.noise {
        NoiseLaw::Laplace { scale } => 0.5 * libm::exp(-x / (a * scale)),
        NoiseLaw::DiscreteLaplace { scale } => {
            libm::exp(-(libm::floor(x / a) + 1.0) / scale) / (1.0 + libm::exp(-1.0 / scale))
        }
        NoiseLaw::Gaussian { variance } | NoiseLaw::DiscreteGaussian { variance } => {
            normal::upper_tail(x / (a * libm::sqrt(variance)))
        }
        NoiseLaw::Uniform { reach } => (reach - libm::floor(x / a)).max(0.0) / (2.0 * reach + 1.0),
    };
    let masses: Option<Vec<f64>> = match g.noise {
        NoiseLaw::DiscreteGaussian { variance } if own || variance <= WIDE * WIDE => Some(
            (0..=libm::ceil(reach) as u64)
                .map(|k| libm::exp(-(k as f64) * (k as f64) / (2.0 * variance)))
                .collect(),
        ),
        NoiseLaw::DiscreteLaplace { scale } if own => {
            Some((0..=libm::ceil(reach) as u64).map(|k| libm::exp(-(k as f64) / scale)).collect())
        }
        NoiseLaw::Uniform { reach } if own => Some(vec![1.0; reach as usize + 1]),
        _ => None,
    };
    match masses {
        Some(masses) => {
            let total = masses.iter().skip(1).rev().sum::<f64>() * 2.0 + 1.0;
            for (k, m) in masses.iter().enumerate() {
                let at = libm::round(a * k as f64 / step) as usize;
                // What rounds to cell 0 comes from both sides.
                let both = if at == 0 && k > 0 { 2.0 } else { 1.0 };
                if let Some(cell) = half.get_mut(at) {
                    *cell += both * m / total;
                }
            }
        }
        None => {
            let mut above = tail(0.5 * step);
            half[0] = 1.0 - 2.0 * above;
            for (i, cell) in half.iter_mut().enumerate().skip(1) {
                let next = tail((i as f64 + 0.5) * step);
                *cell = above - next;
                above = next;
            }
        }
    }
    Vector { half, lost: lose, noises: 1.0 }
}

/// The law of the sum of two independent noises, trimmed.
fn convolve(a: &Vector, b: &Vector, share: f64, cosines: &mut Cosines) -> Vector {
    let reach = a.half.len() + b.half.len() - 2;
    let mut half = if a.half.len().min(b.half.len()) <= 32 {
        let at = |v: &Vector, i: i64| v.half.get(i.unsigned_abs() as usize).copied().unwrap_or(0.0);
        let (short, long) = if a.half.len() < b.half.len() { (a, b) } else { (b, a) };
        let r = short.half.len() as i64 - 1;
        (0..=reach as i64).map(|i| (-r..=r).map(|j| at(short, j) * at(long, i - j)).sum()).collect()
    } else {
        // Circular, the two symmetric vectors wrapped around 0; long enough that nothing overlaps.
        let n = (2 * reach + 2).next_power_of_two();
        let mut transform = |v: &Vector| {
            let mut wrapped = v.half.clone();
            wrapped.resize(n / 2 + 1, 0.0);
            cosines.transform(&wrapped)
        };
        let mut product = transform(a);
        if a == b {
            product.iter_mut().for_each(|x| *x *= *x);
        } else {
            let other = transform(b);
            product.iter_mut().zip(&other).for_each(|(x, y)| *x *= y);
        }
        let mut output = cosines.transform(&product);
        output.truncate(reach + 1);
        output.iter().map(|x| (x / n as f64).max(0.0)).collect::<Vec<f64>>()
    };
    let noises = a.noises + b.noises;
    let mut lost = a.lost + b.lost;
    let mut trimmed = 0.0;
    while half.len() > 1 {
        let next = trimmed + 2.0 * half.last().copied().unwrap_or(0.0);
        if next > share * noises {
            break;
        }
        trimmed = next;
        half.pop();
    }
    lost += trimmed;
    Vector { half, lost, noises }
}

/// Vectors, the shortest first.
#[derive(Default)]
struct Heap {
    order: BinaryHeap<Reverse<(usize, usize)>>,
    vectors: Vec<Option<Vector>>,
}

impl Heap {
    fn push(&mut self, v: Vector) {
        self.order.push(Reverse((v.half.len(), self.vectors.len())));
        self.vectors.push(Some(v));
    }

    fn pop(&mut self) -> Option<Vector> {
        let Reverse((_, at)) = self.order.pop()?;
        self.vectors.get_mut(at)?.take()
    }

    fn pop_two(&mut self) -> Option<(Vector, Vector)> {
        if self.order.len() < 2 {
            return None;
        }
        self.pop().zip(self.pop())
    }

    fn last(&mut self) -> Vector {
        self.pop().unwrap_or(Vector { half: vec![1.0], lost: 0.0, noises: 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(coefficient: f64, copies: u64, noise: NoiseLaw) -> Group {
        Group { coefficient, copies, noise }
    }

    /// On a grid of our own a noise is moved by half a cell, and one that is taken for normal by a step of its own, too.
    #[test]
    fn moves_are_counted() {
        for (variance, own) in [(4e8, 5.0), (1e4, 0.0)] {
            let groups = [group(2.5, 3, NoiseLaw::DiscreteGaussian { variance })];
            let mass = Mass::new(&groups, None, 1e-6);
            let range = mass.step + own;
            let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-12;
            assert!(near(mass.step, 2.5 * (3.0 * variance).sqrt() / CELLS_PER_SIGMA), "{}", mass.step);
            assert!(
                near(mass.moved_max, 1.5 * range) && near(mass.moved_sqr, 3.0 * range * range),
                "{variance}"
            );
        }
    }

    /// Everything that is lost or rounded counts as beyond, and what cannot be reached is infinite.
    #[test]
    fn half_widths_allow_for_what_was_lost() {
        let tails = vec![0.3, 0.1, 0.02, 0.0];
        let mass = Mass { step: 1.0, tails, lost: 0.01, moved_sqr: 0.0, moved_max: 0.0 };
        assert_eq!(mass.half_width(0.21), 2.0);
        assert_eq!(mass.half_width(0.21 + 1e-12), 1.0);
        assert_eq!(mass.half_width(0.005), f64::INFINITY);
        let half = Mass { step: 0.5, ..mass };
        assert_eq!([0.7, 0.5, 0.1, 0.01].map(|u| half.absolute(u)), [0.0, 0.5, 1.0, 1.5]);
    }

    #[test]
    fn masses_and_what_was_lost_are_one() {
        let noise = NoiseLaw::DiscreteLaplace { scale: 2.0 };
        let mass = Mass::new(&[group(1.0, 1, noise)], Some(1.0), 0.3);
        let sum: f64 = mass.of_absolute().iter().sum();
        assert!(mass.lost > 0.01 && (sum + mass.lost - 1.0).abs() < 1e-12, "{sum} {}", mass.lost);
        // P(N >= 0) = 1/(1+q): nearer to 0 than any point is 0.
        let mass = Mass::new(&[group(1.0, 1, noise)], Some(1.0), 1e-12);
        let q = (-0.5f64).exp();
        assert!((mass.at_least(1e-12) - 1.0 / (1.0 + q)).abs() < 1e-11);
        assert!((mass.at_least(1.0) - q / (1.0 + q)).abs() < 1e-11);
    }

    /// Cells hold the masses that round to them, from both sides of 0, and none is taken for normal.
    #[test]
    fn cells_hold_what_rounds_to_them() {
        let (variance, step) = (1e6, 7.3);
        let cells = discretise(&group(1.0, 1, NoiseLaw::DiscreteGaussian { variance }), step, false, 1e-12);
        let mut want = vec![0.0; cells.half.len()];
        for k in -8000i32..=8000 {
            let k = f64::from(k);
            let cell = (k / step).round();
            if cell >= 0.0 && (cell as usize) < want.len() {
                want[cell as usize] +=
                    (-k * k / (2.0 * variance)).exp() / (2.0 * std::f64::consts::PI * variance).sqrt();
            }
        }
        for (i, (got, want)) in cells.half.iter().zip(want).enumerate() {
            assert!((got - want).abs() < 1e-11, "{i}: {got} {want}");
        }
    }

    /// Both ways of convolving against the sum written out, at lengths on both sides of a power of two.
    #[test]
    fn convolutions_are_sums() {
        let vector = |n: usize| {
            let half: Vec<f64> = (0..n).map(|i| (1 + (i * i) % 5) as f64 / (3 * n) as f64).collect();
            Vector { half, lost: 0.0, noises: 1.0 }
        };
        for (m, n) in [(1, 1), (1, 7), (5, 5), (32, 40), (33, 33), (40, 33), (34, 64), (65, 65)] {
            let (a, b) = (vector(m), vector(n));
            let got = convolve(&a, &b, 0.0, &mut Cosines::default());
            let at = |v: &Vector, i: i64| v.half.get(i.unsigned_abs() as usize).copied().unwrap_or(0.0);
            let wide = m as i64;
            assert_eq!((got.half.len(), got.noises, got.lost), (m + n - 1, 2.0, 0.0));
            for (i, x) in (0..).zip(&got.half) {
                let want: f64 = (-wide..=wide).map(|j| at(&a, j) * at(&b, i - j)).sum();
                assert!((x - want).abs() < 1e-14, "{m} {n} {i}: {x} {want}");
            }
        }
    }
}
