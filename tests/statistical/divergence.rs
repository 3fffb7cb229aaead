//! The law of a release on two neighbouring datasets, enumerated, and how far apart the two laws are.
//!
//! zCDP of ρ says that the Rényi divergence of every order α > 1 is at most αρ; ε-DP that no output is more
//! than e^ε times as likely. Both are computed here from the mass functions of what is released, with nothing
//! taken from the program but the plan's blocks and scales.

use crate::dense::plain;
use crate::small::{applicable, planned, request, workload};
use margins::cube::{Cube, Frame};
use margins::plan::block::component_scale;
use margins::plan::{Asks, Block, BudgetRule, Measure, Noise, Ranges, Telling};
use margins::planner::{Planned, strategy};

/// A mass function on `-reach ..= reach`, in logarithms.
struct Mass {
    reach: i64,
    ln: Vec<f64>,
}

impl Mass {
    fn noise(noise: Noise, scale: f64, reach: i64) -> Mass {
        let exponent = |x: f64| match noise {
            Noise::Gaussian => -x * x / (2.0 * scale),
            Noise::Laplace => -x.abs() / scale,
        };
        // Wide sums for the constant, so that cutting at `reach` does not matter.
        let total: f64 = (-20 * reach..=20 * reach).map(|x| exponent(x as f64).exp()).sum();
        let ln = (-reach..=reach).map(|x| exponent(x as f64) - total.ln()).collect();
        Mass { reach, ln }
    }

    /// The difference of two independent draws.
    fn difference(&self) -> Mass {
        let at = |x: i64| (x.abs() <= self.reach).then(|| self.ln[(x + self.reach) as usize]);
        let ln = (-self.reach..=self.reach)
            .map(|d| {
                let terms: Vec<f64> =
                    (-self.reach..=self.reach).filter_map(|x| Some(at(x)? + at(x + d)?)).collect();
                let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                top + terms.iter().map(|t| (t - top).exp()).sum::<f64>().ln()
            })
            .collect();
        Mass { reach: self.reach, ln }
    }

    /// `D_α` of this law moved by `shift` from this law.
    fn renyi(&self, shift: i64, alpha: f64) -> f64 {
        let terms: Vec<f64> = (-self.reach + shift.abs()..=self.reach - shift.abs())
            .map(|x| {
                let p = self.ln[(x - shift + self.reach) as usize];
                let q = self.ln[(x + self.reach) as usize];
                alpha * p + (1.0 - alpha) * q
            })
            .collect();
        let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (top + terms.iter().map(|t| (t - top).exp()).sum::<f64>().ln()) / (alpha - 1.0)
    }

    /// The largest log ratio of probabilities.
    fn worst_ratio(&self, shift: i64) -> f64 {
        (-self.reach + shift.abs()..=self.reach - shift.abs())
            .map(|x| self.ln[(x - shift + self.reach) as usize] - self.ln[(x + self.reach) as usize])
            .fold(0.0, f64::max)
    }
}

/// The independent outputs of a release of one dimension with two categories when a unit of the first is
/// added: each output's law, and by how much the unit moves it.
fn outputs(cube: &Cube, p: &Planned, shrink: f64) -> Vec<(Mass, i64)> {
    let frame = Frame::new(cube, &p.plan.levels);
    let mut out = Vec::new();
    for m in &p.plan.rows().measurements {
        let scale = m.scale.to_f64() * shrink;
        let reach = match p.plan.noise {
            Noise::Gaussian => (40.0 * scale.sqrt()).ceil() as i64 + 40,
            Noise::Laplace => (40.0 * scale).ceil() as i64 + 40,
        };
        let mass = Mass::noise(p.plan.noise, scale, reach);
        match &m.block {
            // One of two cells, or the only one, moves by one.
            Block::Table(_) => out.push((mass, 1)),
            Block::Component(a) if a.is_total() => out.push((mass, 1)),
            // The total, or the difference of the two cells; a unit moves either by one.
            Block::Pairs(_) | Block::Walsh(_) => out.push((mass, 1)),
            Block::Rows(_) => panic!("rows have tests of their own"),
            // One row, of which a unit of the first cell moves the first entry.
            Block::Based(b) => match &b.axes[..] {
                [Telling::Basis(basis)] => out.push((mass, i64::from(basis.row(0)[0]))),
                _ => out.push((mass, 1)),
            },
            // D (m x + z) = m (x₂ − x₁) + z₂ − z₁.
            Block::Component(a) => {
                out.push((mass.difference(), -(component_scale(&frame, a).unwrap() as i64)));
            }
        }
    }
    out
}

fn two_cells() -> (Cube, Vec<margins::plan::Table>) {
    (Cube { dimensions: vec![plain("a", 2)] }, workload(&[&[], &[(0, 1)]]))
}

#[test]
fn renyi_divergence_is_within_the_stated_cost() {
    let (cube, tables) = two_cells();
    for budget in ["1/8", "2"] {
        for measure in strategy::general() {
            let r = request(&cube, tables.clone(), Noise::Gaussian, budget);
            let Some(p) = applicable(r, measure) else { continue };
            let stated = p.cost.total.to_f64();
            let divergence = |shrink: f64, alpha: f64| -> f64 {
                outputs(&cube, &p, shrink).iter().map(|(mass, by)| mass.renyi(*by, alpha)).sum()
            };
            for alpha in [1.01, 1.5, 2.0, 4.0, 8.0] {
                let found = divergence(1.0, alpha);
                assert!(
                    found <= alpha * stated * (1.0 + 1e-9),
                    "{measure:?} {budget}: {found} at {alpha}, {stated} stated"
                );
            }
            // Half the noise would be seen.
            assert!(divergence(0.5, 2.0) > 2.0 * stated * 1.05, "{measure:?} {budget}");
        }
    }
}

/// The same of a basis: the largest entry decides, and it is the first cell's in one of the two orders of the cells.
#[test]
fn renyi_divergence_of_a_basis() {
    let (cube, mut tables) = two_cells();
    tables[1].asks = Asks::product(vec![(0, Ranges::Prefixes)]);
    let r = request(&cube, tables, Noise::Gaussian, "2");
    let p = applicable(r, Measure::Bases).unwrap();
    let stated = p.cost.total.to_f64();
    for alpha in [1.01, 2.0, 8.0] {
        let found: f64 = outputs(&cube, &p, 1.0).iter().map(|(mass, by)| mass.renyi(*by, alpha)).sum();
        assert!(
            found <= alpha * stated * (1.0 + 1e-9) && found > 0.5 * alpha * stated,
            "{found} {alpha} {stated}"
        );
    }
}

#[test]
fn likelihood_ratio_is_within_the_stated_cost() {
    let (cube, tables) = two_cells();
    for budget in ["1/8", "2"] {
        for measure in [Measure::Queries, Measure::Base, Measure::Wavelet, Measure::Fourier] {
            let r = request(&cube, tables.clone(), Noise::Laplace, budget);
            let p = planned(r, measure, BudgetRule::Optimal);
            let stated = p.cost.total.to_f64();
            let ratio = |shrink: f64| -> f64 {
                outputs(&cube, &p, shrink).iter().map(|(mass, by)| mass.worst_ratio(*by)).sum()
            };
            let found = ratio(1.0);
            assert!((found / stated - 1.0).abs() < 1e-9, "{measure:?} {budget}: {found}, {stated} stated");
            assert!(ratio(0.9) > stated * 1.1);
        }
    }
}
