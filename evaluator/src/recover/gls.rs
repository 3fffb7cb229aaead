//! Generalised least squares over measured tables, without matrices.
//!
//! Every measured table `B` is `F_B r + noise`, where `r` collects all components and `F_B` builds the table
//! from those below it. With weights `w_B = 1/variance` the normal operator is `N = Σ w_B F_Bᵀ F_B`; the best
//! linear unbiased estimate of a query with component coefficients `q` puts the weights `w_B F_B N⁻¹ q` on the
//! cells of table `B`.
//!
//! When all sibling groups of every level have one size, `N` is a number on each component:
//! `τ_A = Σ_{B ⊇ A} w_B Π 1/n_i` (`n_i` cells of B for one of A, per dimension). Otherwise it falls into blocks, see
//! [`super::coupled`], and `N v = q` is solved block by block.
//!
//! Components below a table that is published without noise are known. They are taken off what was measured, and the
//! normal equations are those of the others: least squares under the equality constraints, since every component has numbers of its own.
//!
//! Tables measured as Walsh–Hadamard coefficients are `H F_B r + noise`; over plain dimensions their normal operator
//! is a number on each component too.

use super::coupled::Coupling;
use crate::cube::{Cuboid, Frame, Level, walsh};
use crate::plan::noise::noise_variance;
use crate::plan::{Form, Measurement, Noise, Plan, Seen};
use std::collections::HashMap;
use std::convert::Infallible;

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
    pub fn to_cells(&self, frame: &Frame, values: Vec<f64>) -> Vec<f64> {
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

/// The normal equations of a set of measured tables over a (possibly lumped) frame.
pub struct Gls<'a> {
    frame: &'a Frame,
    tables: &'a [Weighted],
    /// The tables that are published without noise.
    exact: &'a [Cuboid],
    balanced: bool,
    most_steps: usize,
    tolerance: f64,
}

/// How closely conjugate gradients solve the normal equations, relative to the right-hand side.
const TOLERANCE: f64 = 1e-12;

/// The most steps of conjugate gradients.
pub const MOST_STEPS: usize = 2000;

/// Why the normal equations have no solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsolved {
    /// Some component is told by no table.
    NotHeld,
    /// It would take more steps than may be made, or more digits than there are. What has been reached is not the best estimate.
    Steps,
}

impl<'a> Gls<'a> {
    /// `frame` may be lumped as long as the query is constant on the lumps.
    pub fn new(frame: &'a Frame, tables: &'a [Weighted], balanced: bool) -> Gls<'a> {
        Gls { frame, tables, exact: &[], balanced, most_steps: MOST_STEPS, tolerance: TOLERANCE }
    }

    /// Beside tables that are published without noise: what is solved for has no part in a component below one of them.
    pub fn beside(self, exact: &'a [Cuboid]) -> Gls<'a> {
        Gls { exact, ..self }
    }

    /// With at most so many steps of conjugate gradients.
    pub fn within(self, most_steps: usize) -> Gls<'a> {
        Gls { most_steps, ..self }
    }

    /// As closely as variances need: `qᵀv` is off by the square of how far `v` is, since conjugate gradients minimise just that.
    pub fn for_variances(self) -> Gls<'a> {
        Gls { tolerance: TOLERANCE.sqrt(), ..self }
    }

    /// How many numbers a step of conjugate gradients goes through.
    pub fn step(frame: &Frame, tables: &[Weighted]) -> f64 {
        tables.iter().map(|t| 4.0 * frame.spread(&t.cuboid)).sum()
    }

    /// `τ_A`: exact when balanced, a good scaling otherwise.
    pub fn precision(&self, component: &Cuboid) -> f64 {
        self.tables
            .iter()
            .filter(|t| component.is_below(&t.cuboid))
            .map(|t| t.precision(self.frame, component))
            .sum()
    }

    /// `N⁻¹ q`: a component that is not in it is zero.
    pub fn solve(&self, q: Parts) -> Result<Parts, Unsolved> {
        // Coefficients of a table say nothing of some components below it.
        let known = |a: &Cuboid| {
            self.tables.iter().any(|t| a.is_below(&t.cuboid) && t.precision(self.frame, a) > 0.0)
        };
        if !q.keys().all(known) {
            return Err(Unsolved::NotHeld);
        }
        if self.balanced {
            let share = |(a, mut part): (Cuboid, Vec<f64>)| {
                let share = 1.0 / self.precision(&a);
                part.iter_mut().for_each(|v| *v *= share);
                (a, part)
            };
            return Ok(q.into_iter().map(share).collect());
        }
        Coupling::new(self.frame).solve(self, q, self.most_steps, self.tolerance)
    }

    /// By what the tolerance is smaller, for what the least precise tables say to be solved for as closely as ever.
    pub(super) fn closer(&self) -> f64 {
        let weights = || self.tables.iter().map(|t| t.weight).filter(|w| *w > 0.0);
        let (least, most) = (weights().fold(f64::INFINITY, f64::min), weights().fold(0.0, f64::max));
        if most > CLOSER * least { libm::sqrt(CLOSER * least / most) } else { 1.0 }
    }

    /// The components that must be known to solve for these: themselves, and over unequal groups those that mix with them.
    pub fn touched(&self, components: Vec<Cuboid>) -> Vec<Cuboid> {
        if self.balanced { components } else { Coupling::new(self.frame).touched(self, &components) }
    }

    /// The measured tables.
    pub(super) fn tables(&self) -> &[Weighted] {
        self.tables
    }

    /// Those that are published without noise.
    pub(super) fn exact(&self) -> &[Cuboid] {
        self.exact
    }

    /// `F_B v`, as a table.
    pub fn build(&self, cuboid: &Cuboid, v: &Parts) -> Vec<f64> {
        let built: Result<_, Infallible> = self.frame.rebuild(cuboid, &mut |a| Ok(v.get(a).cloned()));
        match built {
            Ok(table) => table,
        }
    }

    /// Adds `F_Bᵀ t` to `into`.
    pub fn gather(frame: &Frame, cuboid: &Cuboid, table: Vec<f64>, into: &mut Parts) {
        frame.decompose(cuboid, table, &mut |a, part| match into.get_mut(&a) {
            Some(sum) => sum.iter_mut().zip(&part).for_each(|(s, v)| *s += v),
            None => {
                into.insert(a, part);
            }
        });
    }

    /// What the values of measurement `t` are multiplied by in the estimate whose solution is `v`.
    pub fn weights(&self, t: &Weighted, v: &Parts) -> Vec<f64> {
        let mut c = self.build(&t.cuboid, v);
        if t.seen == Seen::Walsh {
            c = self.frame.walsh_weights(&t.cuboid, c);
        }
        c.iter_mut().for_each(|v| *v *= t.weight);
        c
    }
}
