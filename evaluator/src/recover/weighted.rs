//! Measured tables with the precision of their numbers: what least squares is made of.

use crate::cube::{Cuboid, Frame, Level, walsh};
use crate::plan::{Form, Measurement, Noise, Plan, Seen, noise_variance};
use std::collections::HashMap;

/// A vector with a part in each component.
pub type Parts = HashMap<Cuboid, Vec<f64>>;

/// A measured table and the reciprocal of its values' noise variance.
#[derive(Debug, Clone)]
pub struct Weighted {
    /// The table.
    pub cuboid: Cuboid,
    /// How it was measured.
    pub seen: Seen,
    /// `w_B`.
    pub weight: f64,
}

impl Weighted {
    /// The transpose of how it was measured: what its values say of the table's cells.
    pub(crate) fn to_cells(&self, frame: &Frame, values: Vec<f64>) -> Vec<f64> {
        match self.seen {
            Seen::Cells => values,
            Seen::Walsh => frame.walsh_transpose(&self.cuboid, values),
        }
    }

    /// The dimensions that a component must have for this measurement to tell anything of it: of coefficients those whose categories fill all
    /// codes, as [`Weighted::precision`] has it. And the others.
    pub fn needed(&self, frame: &Frame) -> (Cuboid, Cuboid) {
        let full = |level: &Level| {
            let n = frame.rung(*level).real_len();
            self.seen == Seen::Walsh && walsh::padded(n) == n
        };
        let (needed, free): (Vec<Level>, Vec<Level>) = self.cuboid.iter().partition(full);
        (Cuboid::new(needed), Cuboid::new(free))
    }

    /// What this measurement adds to the precision of a component below it. Cells: one part in `n_i` of the weight
    /// for every dimension the component leaves out. Coefficients: `HᵀH = 2^k I − 11ᵀ` in every dimension.
    pub fn precision(&self, frame: &Frame, component: &Cuboid) -> f64 {
        match self.seen {
            Seen::Cells => self.weight * frame.cells(component) / frame.cells(&self.cuboid),
            Seen::Walsh => {
                let part = |level: Level| {
                    let n = frame.rung(level).real_len();
                    let padded = walsh::padded(n);
                    if component.level(level.dimension) > 0 {
                        padded as f64
                    } else {
                        (padded - n) as f64 / n as f64
                    }
                };
                self.weight * self.cuboid.iter().map(part).product::<f64>()
            }
        }
    }
}

/// The measured tables with the reciprocals of their noise variances.
pub fn measured_tables(plan: &Plan) -> Vec<Weighted> {
    of_measurements(plan.noise, &plan.only().measurements)
}

/// By how much a weight may exceed the next smaller one. Noise that is 0 but once in 10¹² releases has next to no variance, and beside weights of
/// 10²⁴ double precision sees nothing of what the other tables say. So wider gaps are narrowed to this, and the ratios of all others kept:
/// estimates are without bias all the same, the law of the error is made of what values really are multiplied by, and what that adds to the
/// variance of the precise side of a gap is 10⁻²⁰ of that of the other.
const GAP: f64 = 1e10;

/// By how much the largest weight may exceed the smallest where there are several such gaps.
const SPREAD: f64 = 1e14;

/// From this ratio of weights on the normal equations are solved more closely: what imprecise tables say is a small part of their right-hand
/// side.
const CLOSER: f64 = 1e8;

/// The same tables, with narrower gaps between their weights: for normal equations that conjugate gradients solve.
pub fn narrowed(mut tables: Vec<Weighted>) -> Vec<Weighted> {
    let mut order: Vec<usize> = (0..tables.len()).filter(|&i| tables[i].weight > 0.0).collect();
    order.sort_by(|&a, &b| tables[a].weight.total_cmp(&tables[b].weight));
    let ratios: Vec<f64> =
        order.windows(2).map(|pair| tables[pair[1]].weight / tables[pair[0]].weight).collect();
    let gaps = ratios.iter().filter(|ratio| **ratio > GAP).count();
    if gaps > 0 {
        let most = GAP.min(libm::pow(SPREAD, 1.0 / gaps as f64));
        for (pair, ratio) in order.windows(2).zip(ratios) {
            tables[pair[1]].weight = tables[pair[0]].weight * if ratio > GAP { most } else { ratio };
        }
    }
    tables
}

/// The same of measurements that are no plan yet.
pub fn of_measurements(noise: Noise, measurements: &[Measurement]) -> Vec<Weighted> {
    measurements
        .iter()
        .filter_map(|m| {
            let Form::Table(seen) = m.block.form() else { return None };
            // Also of noise that is 0 to the last digit.
            let weight = (1.0 / noise_variance(noise, m)).min(1e200);
            Some(Weighted { cuboid: m.block.cuboid().clone(), seen, weight })
        })
        .collect()
}

/// Why the normal equations have no solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsolved {
    /// Some component is told by no table.
    NotHeld,
    /// It would take more steps than may be made, or more digits than there are. What has been reached is not the best estimate.
    Steps,
}

/// By what a tolerance is smaller, for what the least precise tables say to be solved for as closely as ever.
pub(super) fn closer(tables: &[Weighted]) -> f64 {
    let weights = || tables.iter().map(|t| t.weight).filter(|w| *w > 0.0);
    let (least, most) = (weights().fold(f64::INFINITY, f64::min), weights().fold(0.0, f64::max));
    if most > CLOSER * least { libm::sqrt(CLOSER * least / most) } else { 1.0 }
}
