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
pub(crate) use super::weighted::Unsolved;
pub use super::weighted::{Parts, Weighted, measured_tables, narrowed, of_measurements};
use crate::cube::{Cuboid, Frame};
use crate::plan::Seen;
use std::convert::Infallible;

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
pub(crate) const MOST_STEPS: usize = 2000;

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
    pub(crate) fn within(self, most_steps: usize) -> Gls<'a> {
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
    pub(crate) fn precision(&self, component: &Cuboid) -> f64 {
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
        self.coupling().solve(q, self.most_steps, self.tolerance)
    }

    fn coupling(&self) -> Coupling<'a> {
        Coupling::new(self.frame, self.tables, self.exact)
    }

    /// The components that must be known to solve for these: themselves, and over unequal groups those that mix with them.
    pub(crate) fn touched(&self, components: Vec<Cuboid>) -> Vec<Cuboid> {
        if self.balanced { components } else { self.coupling().touched(&components) }
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
