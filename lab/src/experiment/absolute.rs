//! The mean absolute error of a cell, by its exact law.
//!
//! With `φ` the characteristic function of a symmetric error `X`, `E|X| = (2/π) ∫_0^∞ (1 − φ(t))/t² dt`; on a lattice of step 1, where `φ`
//! has the period 2π, that is `(1/π) ∫_0^π (1 − φ(u))/(1 − cos u) du`, for `∫_0^π (1 − cos ku)/(1 − cos u) du = kπ`. Where `φ` is
//! nothing any more, the rest is closed.

use margins::answer::Evaluator;
use margins::cube::Cube;
use margins::law::{ErrorLaw, NoiseLaw};
use margins::plan::{Plan, Table};
use margins::recover::Recovery;
use std::collections::HashMap;

/// Tables with more kinds of cells than this are not looked at one by one: each of their cells is a sum of many noises, and nearly normal.
const MOST_KINDS: usize = 16;

/// A noise of an error: its weight, how many there are of it, its law.
#[derive(Clone, Copy, PartialEq)]
struct Part {
    weight: f64,
    copies: u64,
    noise: NoiseLaw,
}

/// An error as the noises that it is the sum of, equal ones together, in a fixed order.
type Parts = Vec<Part>;

/// The kinds of cells of a table: of each how many there are. `None` for too many.
type Kinds = Option<Vec<(f64, Parts)>>;

/// The cells of every table of a plan.
pub(super) struct Cells(Vec<Kinds>);

fn parts(law: &ErrorLaw) -> Parts {
    let mut all: Parts = Vec::new();
    for t in law.terms() {
        let (weight, noise) = (t.coefficient.abs(), t.noise);
        match all.iter_mut().find(|p| (p.weight - weight).abs() <= 1e-12 * weight && p.noise == noise) {
            Some(known) => known.copies += t.copies,
            None => all.push(Part { weight, copies: t.copies, noise }),
        }
    }
    all.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.noise.variance().total_cmp(&b.noise.variance())));
    all
}

impl Cells {
    /// Works out the laws of all kinds of cells. Nothing is measured for it.
    pub(super) fn new(cube: &Cube, plan: &Plan, tables: &[Table]) -> Result<Cells, String> {
        let nothing: Vec<Vec<i64>> = Vec::new();
        let recovery = Recovery::new(cube.clone(), plan.clone(), nothing).map_err(|e| e.to_string())?;
        let evaluator = Evaluator::new(recovery);
        let kinds = |t: &Table| -> Result<Kinds, String> {
            let laws = evaluator.cell_laws(&t.cuboid, MOST_KINDS).map_err(|e| e.to_string())?;
            Ok(laws.map(|all| all.iter().map(|(count, law)| (*count, parts(law))).collect()))
        };
        tables.iter().map(kinds).collect::<Result<_, _>>().map(Cells)
    }

    /// Whether some table has too many kinds of cells.
    pub(super) fn has_normal(&self) -> bool {
        self.0.iter().any(Option::is_none)
    }

    /// The sum of the mean absolute errors of the cells of each table, at so many times the budget. `variance` is the mean one of a table, at
    /// that budget, for those that are normal but for nothing.
    pub(super) fn absolute(&self, times: f64, variance: impl Fn(usize) -> (f64, f64)) -> Vec<f64> {
        let mut known: HashMap<Vec<[u64; 3]>, f64> = HashMap::new();
        let table = |(at, kinds): (usize, &Kinds)| match kinds {
            None => {
                let (cells, mean) = variance(at);
                cells * (mean * std::f64::consts::FRAC_2_PI).sqrt()
            }
            Some(kinds) => kinds
                .iter()
                .map(|(count, law)| {
                    let law: Parts =
                        law.iter().map(|p| Part { noise: scaled(p.noise, times), ..*p }).collect();
                    let key = |p: &Part| {
                        [
                            (p.weight as f32).to_bits().into(),
                            p.copies,
                            (p.noise.variance() as f32).to_bits().into(),
                        ]
                    };
                    count * *known.entry(law.iter().map(key).collect()).or_insert_with(|| mean_absolute(&law))
                })
                .sum(),
        };
        self.0.iter().enumerate().map(table).collect()
    }
}

/// The noise at so many times the budget in its own currency: a Laplace scale by that, a Gaussian variance by that, for ρ is `1/2σ²`.
fn scaled(noise: NoiseLaw, times: f64) -> NoiseLaw {
    match noise {
        NoiseLaw::DiscreteLaplace { scale } => NoiseLaw::DiscreteLaplace { scale: scale / times },
        NoiseLaw::DiscreteGaussian { variance } => NoiseLaw::DiscreteGaussian { variance: variance / times },
        other => other,
    }
}

/// The characteristic function of a noise.
fn characteristic(noise: &NoiseLaw, t: f64) -> f64 {
    match *noise {
        NoiseLaw::DiscreteLaplace { scale } => {
            let (sin, sinh) = (libm::sin(0.5 * t), libm::sinh(0.5 / scale));
            1.0 / (1.0 + (sin / sinh) * (sin / sinh))
        }
        NoiseLaw::DiscreteGaussian { variance } if variance < 0.5 => {
            let sum = |t: f64| {
                1.0 + 2.0
                    * (1..12)
                        .map(f64::from)
                        .map(|k| libm::exp(-0.5 * k * k / variance) * libm::cos(k * t))
                        .sum::<f64>()
            };
            sum(t) / sum(0.0)
        }
        // By Poisson's summation: a normal law's function around every multiple of 2π.
        NoiseLaw::DiscreteGaussian { variance } => {
            let turn = std::f64::consts::TAU;
            let near = t - turn * (t / turn).round();
            let sum = |t: f64| {
                (-3..=3)
                    .map(|k| t - turn * f64::from(k))
                    .map(|x| libm::exp(-0.5 * variance * x * x))
                    .sum::<f64>()
            };
            sum(near) / sum(0.0)
        }
        NoiseLaw::Gaussian { variance } => libm::exp(-0.5 * variance * t * t),
        NoiseLaw::Laplace { scale } => 1.0 / (1.0 + scale * scale * t * t),
        NoiseLaw::Uniform { reach } => {
            let n = 2.0 * reach + 1.0;
            let half = libm::sin(0.5 * t);
            if half.abs() < 1e-12 { 1.0 } else { libm::sin(0.5 * n * t) / (n * half) }
        }
    }
}

/// Gauss–Legendre nodes and weights on [0, 1], four points.
const GAUSS: [(f64, f64); 4] = [
    (0.069_431_844_202_973_71, 0.173_927_422_568_726_93),
    (0.330_009_478_207_571_87, 0.326_072_577_431_273_07),
    (0.669_990_521_792_428_1, 0.326_072_577_431_273_07),
    (0.930_568_155_797_026_3, 0.173_927_422_568_726_93),
];
/// So many standard deviations of the frequency are gone through; beyond, `φ` counts as its mean.
const REACH: f64 = 120.0;
/// Where the error is this much wider than the step of any noise, nothing comes back once `φ` is gone.
const WIDE: f64 = 30.0;

/// `E|X|` of a sum of symmetric noises, to about 10⁻⁵ of it; of very few narrow ones with different weights, to 3·10⁻⁴.
fn mean_absolute(parts: &[Part]) -> f64 {
    let variance: f64 =
        parts.iter().map(|p| p.weight * p.weight * p.copies as f64 * p.noise.variance()).sum();
    if variance <= 0.0 {
        return 0.0;
    }
    let sigma = variance.sqrt();
    let phi = |t: f64| -> f64 {
        let mut product = 1.0;
        for p in parts {
            let one = characteristic(&p.noise, p.weight * t);
            product *= if p.copies == 1 { one } else { libm::pow(one, p.copies as f64) };
            if product.abs() < 1e-12 {
                return 0.0;
            }
        }
        product
    };
    // Of equal weights the error is on a lattice of that step.
    let step = parts
        .first()
        .map(|p| p.weight)
        .filter(|w| parts.iter().all(|p| (p.weight - w).abs() <= 1e-9 * w && p.noise.is_discrete()));
    let end = step.map_or(REACH / sigma, |s| (REACH / sigma).min(std::f64::consts::PI / s));
    let density = |t: f64| match step {
        Some(s) => s * s / (1.0 - libm::cos(s * t)),
        None => 2.0 / (t * t),
    };
    let panels = (end * sigma).ceil().max(8.0) as u32;
    let width = end / f64::from(panels);
    let widest = parts.iter().map(|p| p.weight).fold(0.0, f64::max);
    let (mut sum, mut mean, mut end) = (0.0, 0.0, end);
    for panel in 0..panels {
        let mut largest: f64 = 0.0;
        for (at, weight) in GAUSS {
            let t = width * (f64::from(panel) + at);
            let value = phi(t);
            sum += weight * width * (1.0 - value) * density(t);
            // In the second half of the way.
            mean += if 2 * panel >= panels { weight * width * value } else { 0.0 };
            largest = largest.max(value.abs());
        }
        if largest < 1e-8 && sigma > WIDE * widest {
            (mean, end) = (0.0, width * f64::from(panel + 1));
            break;
        }
    }
    mean /= 0.5 * end;
    // The rest, φ being there in the mean what it was: nothing, but for the mass at 0 of errors that have one.
    let rest = match step {
        Some(s) => s / libm::tan(0.5 * s * end),
        None => 2.0 / end,
    };
    (sum + rest * (1.0 - mean)) / std::f64::consts::PI
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(all: &[(f64, u64, NoiseLaw)]) -> f64 {
        mean_absolute(
            &all.iter().map(|&(weight, copies, noise)| Part { weight, copies, noise }).collect::<Vec<_>>(),
        )
    }

    /// Closed forms: one noise of every law, and sums by enumeration.
    #[test]
    fn closed_forms() {
        for b in [0.4, 1.0, 7.0, 90.0] {
            let q: f64 = (-1.0f64 / b).exp();
            let exact = 2.0 * q / (1.0 - q * q);
            let found = of(&[(3.0, 1, NoiseLaw::DiscreteLaplace { scale: b })]);
            assert!((found / (3.0 * exact) - 1.0).abs() < 1e-5, "{b} {found} {exact}");
            let found = of(&[(2.0, 1, NoiseLaw::Laplace { scale: b })]);
            assert!((found / (2.0 * b) - 1.0).abs() < 1e-4, "{b} {found}");
        }
        let normal = of(&[(1.0, 1, NoiseLaw::Gaussian { variance: 9.0 })]);
        assert!((normal / (18.0 / std::f64::consts::PI).sqrt() - 1.0).abs() < 1e-6, "{normal}");
        for variance in [0.3f64, 0.6, 4.0, 50.0] {
            let mass = |k: i32| (-0.5 * f64::from(k * k) / variance).exp();
            let all: f64 = (-90..=90).map(mass).sum();
            let exact: f64 = (-90..=90).map(|k: i32| f64::from(k.abs()) * mass(k) / all).sum();
            let found = of(&[(1.0, 1, NoiseLaw::DiscreteGaussian { variance })]);
            assert!((found / exact - 1.0).abs() < 1e-6, "{variance} {found} {exact}");
        }
    }

    /// Sums of different weights, against the convolution.
    #[test]
    fn sums() {
        let b = 1.5f64;
        let mass = |k: i32| (-f64::from(k.abs()) / b).exp();
        let all: f64 = (-60..=60).map(mass).sum();
        let law = NoiseLaw::DiscreteLaplace { scale: b };
        for (c, d) in [(1.0, 1.0), (1.0, 0.5), (1.0, 0.31)] {
            let mut exact = 0.0;
            for i in -60..=60 {
                for j in -60..=60 {
                    exact += (c * f64::from(i) + d * f64::from(j)).abs() * mass(i) * mass(j) / (all * all);
                }
            }
            let found = of(&[(c, 1, law), (d, 1, law)]);
            assert!((found / exact - 1.0).abs() < 5e-4, "{c} {d}: {found} {exact}");
        }
    }
}
