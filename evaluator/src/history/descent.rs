//! Histories over many cells: conjugate gradients on `√W·H`, of which only the non-zero entries are ever touched.
//!
//! For a query q the system `(AᵀA) v = q`, `A = √W·H`, is solved from v = 0. If q lies in the row space of A the residual goes
//! to 0 and `A v` are the coefficients of the unit noises. Otherwise there is no solution; what tells that from slow
//! convergence is the part of q that A does not see, from a second system that always has a solution.

use crate::numeric::conjugate::{self, Rules, System};
use crate::numeric::dice::Dice;
use crate::numeric::sparse::Sparse;

/// `√W·H` and `√W·y`.
#[derive(Debug, Clone)]
pub(super) struct Descent {
    matrix: Sparse,
    answers: Vec<f64>,
    /// The reciprocals of the diagonal of `AᵀA`; 0 for a cell that is in no row.
    scale: Vec<f64>,
}

/// What a solve came to.
pub(super) enum Solved {
    /// `v`.
    Solution(Vec<f64>),
    /// The right-hand side is outside the row space.
    Outside,
    /// Neither is clear after so many steps.
    Unclear,
}

/// How small a residual is 0, relative to the right-hand side.
const TOLERANCE: f64 = 1e-11;
/// How far off the solution may be when rounding keeps it from the tolerance.
const ENOUGH: f64 = 1e-8;
const MOST_STEPS: usize = 20_000;

impl Descent {
    pub(super) fn new(matrix: Sparse, answers: Vec<f64>) -> Descent {
        let mut scale = vec![0.0; matrix.columns()];
        for (_, j, value) in matrix.entries() {
            scale[j] += value * value;
        }
        scale.iter_mut().filter(|s| **s > 0.0).for_each(|s| *s = 1.0 / *s);
        Descent { matrix, answers, scale }
    }

    /// `A v`.
    pub(crate) fn image(&self, v: &[f64]) -> Vec<f64> {
        self.matrix.times(v)
    }

    /// `√W y`, in the order of the rows.
    pub(super) fn answers(&self) -> &[f64] {
        &self.answers
    }

    /// `(AᵀA) v = q`.
    pub(super) fn solve(&self, q: &[f64]) -> Solved {
        if q.iter().zip(&self.scale).any(|(q, s)| *q != 0.0 && *s == 0.0) {
            return Solved::Outside;
        }
        if let Some(v) = self.descend(q) {
            return Solved::Solution(v);
        }
        // With Ã = A·scale^½ the query is q̃ = scale^½·q, and what Ã sees of it is w̃ with ÃᵀÃ w̃ = ÃᵀÃ q̃, which always
        // has a solution. In v = scale^½·w̃ that is AᵀA v = AᵀA·scale·q.
        let scaled: Vec<f64> = q.iter().zip(&self.scale).map(|(q, s)| q * s).collect();
        let Some(v) = self.descend(&self.matrix.transposed_times(&self.image(&scaled))) else {
            return Solved::Unclear;
        };
        let (mut hidden, mut whole) = (0.0, 0.0);
        for ((q, s), v) in q.iter().zip(&self.scale).zip(&v).filter(|((_, s), _)| **s > 0.0) {
            hidden += s * (q - v / s) * (q - v / s);
            whole += s * q * q;
        }
        if hidden > 1e-12 * whole { Solved::Outside } else { Solved::Unclear }
    }

    /// Conjugate gradients for `(AᵀA) v = q`, preconditioned by the diagonal; `None` when the residual does not vanish.
    fn descend(&self, q: &[f64]) -> Option<Vec<f64>> {
        let most_steps = (8 * q.len() + 200).min(MOST_STEPS);
        let rules = Rules { tolerance: TOLERANCE, floor: 0.0, most_steps, singular: true, growth: Some(1e6) };
        let solved = conjugate::solve(self, vec![0.0; q.len()], q.to_vec(), &rules)?;
        (solved.left <= ENOUGH * ENOUGH * solved.start).then_some(solved.solution)
    }

    /// The least-squares estimate of every cell, `None` for cells that the rows do not determine.
    ///
    /// A cell is determined when every vector of the null space is 0 there. The null-space parts of two vectors without
    /// any pattern show which are not.
    pub(super) fn cells(&self) -> Option<Vec<Option<f64>>> {
        let x = self.descend(&self.matrix.transposed_times(&self.answers))?;
        let mut hidden = vec![0.0f64; x.len()];
        for seed in [1u64, 2] {
            let mut dice = Dice::new(seed);
            let u: Vec<f64> = (0..x.len()).map(|_| dice.unit() + 0.5).collect();
            let w = self.descend(&self.matrix.transposed_times(&self.image(&u)))?;
            hidden.iter_mut().zip(u.iter().zip(&w)).for_each(|(h, (u, w))| *h = h.max((u - w).abs()));
        }
        Some(x.into_iter().zip(hidden).map(|(x, h)| (h < 1e-6).then_some(x)).collect())
    }
}

/// `AᵀA`, preconditioned by its diagonal.
impl System for Descent {
    type Vector = Vec<f64>;

    fn apply(&self, v: &Vec<f64>) -> Option<(Vec<f64>, f64)> {
        let image = self.image(v);
        let curvature = self.dot(&image, &image);
        Some((self.matrix.transposed_times(&image), curvature))
    }

    fn dot(&self, x: &Vec<f64>, y: &Vec<f64>) -> f64 {
        x.iter().zip(y).map(|(x, y)| x * y).sum()
    }

    fn precondition(&self, r: &Vec<f64>) -> Vec<f64> {
        r.iter().zip(&self.scale).map(|(r, s)| r * s).collect()
    }

    fn add(&self, x: &mut Vec<f64>, by: f64, y: &Vec<f64>) {
        x.iter_mut().zip(y).for_each(|(x, y)| *x += by * y);
    }

    fn turn(&self, y: &mut Vec<f64>, by: f64, x: &Vec<f64>) {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = x + by * *y);
    }
}
