//! Generalised least squares over measured tables, without matrices.
//!
//! Every measured table `B` is `F_B r + noise`, where `r` collects all components and `F_B` builds the table
//! from those below it. With weights `w_B = 1/variance` the normal operator is `N = Σ w_B F_Bᵀ F_B`; the best
//! linear unbiased estimate of a query with component coefficients `q` puts the weights `w_B F_B N⁻¹ q` on the
//! cells of table `B`.
//!
//! When all sibling groups of every level have one size, `N` is a number on each component:
//! `τ_A = Σ_{B ⊇ A} w_B Π 1/n_i` (`n_i` cells of B for one of A, per dimension). Otherwise `N v = q` is
//! solved by conjugate gradients, preconditioned with those numbers.
//!
//! Components below a table that is published without noise are known. They are taken off what was measured, and the
//! normal equations are those of the others: least squares under the equality constraints, since every component has numbers of its own.
//!
//! Tables measured as Walsh–Hadamard coefficients are `H F_B r + noise`; over plain dimensions their normal operator
//! is a number on each component too.

use crate::cube::{Cuboid, Frame, Level, walsh};
use crate::numeric::conjugate::{self, Rules, System};
use crate::plan::noise::noise_variance;
use crate::plan::{Form, Plan, Seen};
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
    plan.measurements
        .iter()
        .filter_map(|m| {
            let Form::Table(seen) = m.block.form() else { return None };
            let weight = 1.0 / noise_variance(plan.noise, m);
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
}

/// How closely conjugate gradients solve the normal equations, relative to the right-hand side.
const TOLERANCE: f64 = 1e-12;
/// The most steps of conjugate gradients.
pub const MOST_STEPS: usize = 2000;

impl<'a> Gls<'a> {
    /// `frame` may be lumped as long as the query is constant on the lumps.
    pub fn new(frame: &'a Frame, tables: &'a [Weighted], balanced: bool) -> Gls<'a> {
        Gls { frame, tables, exact: &[], balanced, most_steps: MOST_STEPS }
    }

    /// Beside tables that are published without noise: what is solved for has no part in a component below one of them.
    pub fn beside(self, exact: &'a [Cuboid]) -> Gls<'a> {
        Gls { exact, ..self }
    }

    /// With at most so many steps of conjugate gradients.
    pub fn within(self, most_steps: usize) -> Gls<'a> {
        Gls { most_steps, ..self }
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

    /// `N⁻¹ q`. `None` when `q` has a part in a component that no table knows.
    pub fn solve(&self, q: Parts) -> Option<Parts> {
        // Coefficients of a table say nothing of some components below it.
        let known = |a: &Cuboid| {
            self.tables.iter().any(|t| a.is_below(&t.cuboid) && t.precision(self.frame, a) > 0.0)
        };
        if !q.keys().all(known) {
            return None;
        }
        if self.balanced {
            return Some(
                q.into_iter()
                    .map(|(a, mut part)| {
                        let share = 1.0 / self.precision(&a);
                        part.iter_mut().for_each(|v| *v *= share);
                        (a, part)
                    })
                    .collect(),
            );
        }
        Some(self.conjugate_gradients(q))
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

    fn normal(&self, v: &Parts) -> Parts {
        let mut out = Parts::new();
        for t in self.tables {
            Self::gather(self.frame, &t.cuboid, t.to_cells(self.frame, self.weights(t, v)), &mut out);
        }
        out
    }

    fn conjugate_gradients(&self, q: Parts) -> Parts {
        // A fixed order of the components, so that sums round the same way every time.
        let mut order: Vec<Cuboid> = self.tables.iter().flat_map(|t| self.frame.below(&t.cuboid)).collect();
        order.sort_unstable();
        order.dedup();
        order.retain(|a| !self.exact.iter().any(|e| a.is_below(e)));
        let weights: Vec<Vec<f64>> =
            order.iter().map(|a| self.frame.multiplicity(a).iter().map(|&m| m as f64).collect()).collect();
        let scale: Vec<f64> = order.iter().map(|a| 1.0 / self.precision(a)).collect();
        let rules =
            Rules { tolerance: TOLERANCE, most_steps: self.most_steps, singular: false, growth: None };
        let normal = Normal { gls: self, order, weights, scale };
        conjugate::solve(&normal, Parts::new(), q, &rules).map(|s| s.solution).unwrap_or_default()
    }
}

/// `N`, for conjugate gradients.
struct Normal<'a> {
    gls: &'a Gls<'a>,
    order: Vec<Cuboid>,
    /// For each component how many real cells each of its numbers stands for.
    weights: Vec<Vec<f64>>,
    scale: Vec<f64>,
}

impl System for Normal<'_> {
    type Vector = Parts;

    fn apply(&self, v: &Parts) -> Option<(Parts, f64)> {
        let image = self.gls.normal(v);
        let curvature = self.dot(v, &image);
        Some((image, curvature))
    }

    fn dot(&self, x: &Parts, y: &Parts) -> f64 {
        let mut sum = 0.0;
        for (a, w) in self.order.iter().zip(&self.weights) {
            if let (Some(x), Some(y)) = (x.get(a), y.get(a)) {
                sum += x.iter().zip(y).zip(w).map(|((x, y), w)| x * y * w).sum::<f64>();
            }
        }
        sum
    }

    fn precondition(&self, r: &Parts) -> Parts {
        let part = |(a, s): (&Cuboid, &f64)| Some((a.clone(), r.get(a)?.iter().map(|v| v * s).collect()));
        self.order.iter().zip(&self.scale).filter_map(part).collect()
    }

    fn add(&self, x: &mut Parts, by: f64, y: &Parts) {
        self.each(x, y, |x, y| x + by * y);
    }

    fn turn(&self, y: &mut Parts, by: f64, x: &Parts) {
        self.each(y, x, |y, x| x + by * y);
    }
}

impl Normal<'_> {
    /// Puts `f(x, y)` in the place of `x`, a part that `x` does not have being 0.
    fn each(&self, x: &mut Parts, y: &Parts, f: impl Fn(f64, f64) -> f64) {
        for a in &self.order {
            if let Some(y) = y.get(a) {
                let x = x.entry(a.clone()).or_insert_with(|| vec![0.0; y.len()]);
                x.iter_mut().zip(y).for_each(|(x, y)| *x = f(*x, *y));
            }
        }
    }
}
