//! Histories of a few thousand cells: a pivoted Cholesky factor of the normal matrix, and conjugate gradients that undo what squaring cost.
//!
//! `AᵀA`, `A = √W·H`, is factored in blocks; its pivots are columns of `A` that span the others. A query q is solved over these columns alone, where
//! `(AᵀA) v = q` has one solution. The factor is used as a preconditioner of conjugate gradients whose products are with `A` and `Aᵀ`, never
//! with the rounded `AᵀA`: two or three steps reach the accuracy of a QR factorisation. Whether q is estimable is then read off the other columns.
//!
//! What was left out as dependent may be independent but for very little: seen from the rest of a random combination of these columns, worked out
//! from `A` itself. Then there is no factor ([`Blocked::new`] gives none) and the slower QR factorisation decides.

use super::descent::Solved;
use crate::numeric::conjugate::{self, Rules, System};
use crate::numeric::dice::Dice;
use crate::numeric::pivoted::{Gram, Pivoted};
use crate::numeric::sparse::Sparse;

/// The factor, with the rows it is of.
#[derive(Debug, Clone)]
pub(super) struct Blocked {
    matrix: Sparse,
    answers: Vec<f64>,
    factor: Pivoted,
    /// Which columns are pivots.
    pivots: Vec<bool>,
    /// The length of each column.
    lengths: Vec<f64>,
}

/// How small a residual is 0, relative to the right-hand side.
const TOLERANCE: f64 = 1e-13;
/// What rounding may leave of one that is.
const ENOUGH: f64 = 1e-9;
/// Steps: the factor is nearly the inverse.
const MOST_STEPS: usize = 40;

impl Blocked {
    /// From `√W·H` and `√W·y`; `None` where rows are too nearly dependent for squares to tell.
    pub(super) fn new(matrix: Sparse, answers: Vec<f64>) -> Option<Blocked> {
        let rows = (0..matrix.rows()).map(|i| matrix.row(i));
        let factor = Pivoted::new(Gram::of_rows(matrix.columns(), rows));
        let mut pivots = vec![false; matrix.columns()];
        factor.order().iter().for_each(|&i| pivots[i] = true);
        let mut lengths = vec![0.0; matrix.columns()];
        matrix.entries().for_each(|(_, j, v)| lengths[j] += v * v);
        lengths.iter_mut().for_each(|l| *l = l.sqrt());
        let blocked = Blocked { matrix, answers, factor, pivots, lengths };
        blocked.dependent_are_dependent().then_some(blocked)
    }

    /// The rank of the history.
    pub(super) fn rank(&self) -> usize {
        self.factor.rank()
    }

    /// `A v`.
    pub(crate) fn image(&self, v: &[f64]) -> Vec<f64> {
        self.matrix.times(v)
    }

    /// `√W y`.
    pub(super) fn answers(&self) -> &[f64] {
        &self.answers
    }

    /// Whether a random combination of the columns that are no pivots is one of the pivots.
    fn dependent_are_dependent(&self) -> bool {
        [1u64, 2].into_iter().all(|seed| {
            let mut dice = Dice::new(seed);
            let mut mix = |(pivot, length): (&bool, &f64)| {
                let share = dice.unit() + 0.5;
                if *pivot || *length == 0.0 { 0.0 } else { share / length }
            };
            let u: Vec<f64> = self.pivots.iter().zip(&self.lengths).map(&mut mix).collect();
            let wanted = self.image(&u);
            let size = norm(&wanted);
            let Some(v) = self.descend(&self.matrix.transposed_times(&wanted)) else { return false };
            let rest: Vec<f64> = wanted.iter().zip(self.image(&v)).map(|(w, a)| w - a).collect();
            norm(&rest) <= ENOUGH * size
        })
    }

    /// `v` over the pivots with `(AᵀA v)_i = q_i` there; `None` when the digits do not suffice.
    fn descend(&self, q: &[f64]) -> Option<Vec<f64>> {
        let rules = Rules {
            tolerance: TOLERANCE,
            floor: 0.0,
            most_steps: MOST_STEPS,
            singular: true,
            growth: Some(1e6),
        };
        let solved = conjugate::solve(self, vec![0.0; q.len()], self.masked(q.to_vec()), &rules)?;
        (solved.left <= ENOUGH * ENOUGH * solved.start).then_some(solved.solution)
    }

    fn masked(&self, mut v: Vec<f64>) -> Vec<f64> {
        v.iter_mut().zip(&self.pivots).filter(|(_, pivot)| !**pivot).for_each(|(v, _)| *v = 0.0);
        v
    }

    /// `(AᵀA) v = q`.
    pub(super) fn solve(&self, q: &[f64]) -> Solved {
        let Some(v) = self.descend(q) else { return Solved::Unclear };
        let image = self.image(&v);
        let size = norm(&image);
        let back = self.matrix.transposed_times(&image);
        // Of a column of A with A v the product is known to rounding of both lengths.
        let differs = |((back, q), length): ((&f64, &f64), &f64)| {
            (back - q).abs() > ENOUGH * (q.abs() + length * size).max(1e-300)
        };
        if back.iter().zip(q).zip(&self.lengths).any(differs) { Solved::Outside } else { Solved::Solution(v) }
    }

    /// The least-squares estimate of every cell, `None` for cells that the rows do not determine.
    pub(super) fn cells(&self) -> Option<Vec<Option<f64>>> {
        let x = self.descend(&self.matrix.transposed_times(&self.answers))?;
        // A pivot is determined when no other column needs it.
        let mut seen = self.pivots.clone();
        for (i, _) in self.pivots.iter().enumerate().filter(|(_, pivot)| !**pivot) {
            let needs = self.factor.combination(i);
            // In units of columns of one length.
            let least = 1e-6 * self.lengths[i];
            let used = needs.iter().zip(&self.lengths).map(|(v, length)| (v * length).abs() > least);
            seen.iter_mut().zip(used).for_each(|(seen, used)| *seen &= !used);
        }
        Some(x.into_iter().zip(seen).map(|(x, seen)| seen.then_some(x)).collect())
    }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// `AᵀA` over the pivots, with its factor for a preconditioner.
impl System for Blocked {
    type Vector = Vec<f64>;

    fn apply(&self, v: &Vec<f64>) -> Option<(Vec<f64>, f64)> {
        let image = self.image(v);
        let curvature = self.dot(&image, &image);
        Some((self.masked(self.matrix.transposed_times(&image)), curvature))
    }

    fn dot(&self, x: &Vec<f64>, y: &Vec<f64>) -> f64 {
        x.iter().zip(y).map(|(x, y)| x * y).sum()
    }

    fn precondition(&self, r: &Vec<f64>) -> Vec<f64> {
        self.factor.solve(r)
    }

    fn add(&self, x: &mut Vec<f64>, by: f64, y: &Vec<f64>) {
        x.iter_mut().zip(y).for_each(|(x, y)| *x += by * y);
    }

    fn turn(&self, y: &mut Vec<f64>, by: f64, x: &Vec<f64>) {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = x + by * *y);
    }
}
