//! Histories over many cells: conjugate gradients on `√W·H`, of which only the non-zero entries are ever touched.
//!
//! For a query q the system `(AᵀA) v = q`, `A = √W·H`, is solved from v = 0. If q lies in the row space of A the residual goes
//! to 0 and `A v` are the coefficients of the unit noises. Otherwise there is no solution; what tells that from slow
//! convergence is the part of q that A does not see, from a second system that always has a solution.

use sprs::CsMat;

/// `√W·H` and `√W·y`.
#[derive(Debug, Clone)]
pub(super) struct Sparse {
    matrix: CsMat<f64>,
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

impl Sparse {
    pub fn new(matrix: CsMat<f64>, answers: Vec<f64>) -> Sparse {
        let mut scale = vec![0.0; matrix.cols()];
        for (value, (_, j)) in &matrix {
            scale[j] += value * value;
        }
        scale.iter_mut().filter(|s| **s > 0.0).for_each(|s| *s = 1.0 / *s);
        Sparse { matrix, answers, scale }
    }

    /// `A v`.
    pub fn image(&self, v: &[f64]) -> Vec<f64> {
        self.matrix.outer_iterator().map(|row| row.iter().map(|(j, a)| a * v[j]).sum()).collect()
    }

    /// `Aᵀ u`.
    fn transposed(&self, u: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.matrix.cols()];
        for (row, u) in self.matrix.outer_iterator().zip(u) {
            for (j, a) in row.iter() {
                out[j] += a * u;
            }
        }
        out
    }

    /// `√W y`, in the order of the rows.
    pub fn answers(&self) -> &[f64] {
        &self.answers
    }

    /// `(AᵀA) v = q`.
    pub fn solve(&self, q: &[f64]) -> Solved {
        if q.iter().zip(&self.scale).any(|(q, s)| *q != 0.0 && *s == 0.0) {
            return Solved::Outside;
        }
        if let Some(v) = self.descend(q) {
            return Solved::Solution(v);
        }
        // With Ã = A·scale^½ the query is q̃ = scale^½·q, and what Ã sees of it is w̃ with ÃᵀÃ w̃ = ÃᵀÃ q̃, which always
        // has a solution. In v = scale^½·w̃ that is AᵀA v = AᵀA·scale·q.
        let scaled: Vec<f64> = q.iter().zip(&self.scale).map(|(q, s)| q * s).collect();
        let Some(v) = self.descend(&self.transposed(&self.image(&scaled))) else { return Solved::Unclear };
        let (mut hidden, mut whole) = (0.0, 0.0);
        for ((q, s), v) in q.iter().zip(&self.scale).zip(&v).filter(|((_, s), _)| **s > 0.0) {
            hidden += s * (q - v / s) * (q - v / s);
            whole += s * q * q;
        }
        if hidden > 1e-12 * whole { Solved::Outside } else { Solved::Unclear }
    }

    /// Conjugate gradients for `(AᵀA) v = q`, preconditioned by the diagonal; `None` when the residual does not vanish.
    fn descend(&self, q: &[f64]) -> Option<Vec<f64>> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let precondition =
            |r: &[f64]| -> Vec<f64> { r.iter().zip(&self.scale).map(|(r, s)| r * s).collect() };
        let mut v = vec![0.0; q.len()];
        let mut r = q.to_vec();
        let mut z = precondition(&r);
        let mut direction = z.clone();
        let start = dot(&r, &z);
        let mut rz = start;
        let mut best = (rz, v.clone());
        for _ in 0..(8 * q.len() + 200).min(MOST_STEPS) {
            if rz < best.0 {
                best = (rz, v.clone());
            }
            if rz <= TOLERANCE * TOLERANCE * start {
                return Some(v);
            }
            let image = self.image(&direction);
            let curvature = dot(&image, &image);
            // Where there is no solution the steps grow without bound.
            if curvature <= 0.0 || rz > 1e6 * best.0 {
                break;
            }
            let by = rz / curvature;
            v.iter_mut().zip(&direction).for_each(|(v, d)| *v += by * d);
            let fall = self.transposed(&image);
            r.iter_mut().zip(&fall).for_each(|(r, f)| *r -= by * f);
            z = precondition(&r);
            let next = dot(&r, &z);
            let keep = next / rz;
            rz = next;
            direction.iter_mut().zip(&z).for_each(|(d, z)| *d = z + keep * *d);
        }
        (best.0 <= ENOUGH * ENOUGH * start).then_some(best.1)
    }

    /// The least-squares estimate of every cell, `None` for cells that the rows do not determine.
    ///
    /// A cell is determined when every vector of the null space is 0 there. The null-space parts of two vectors without
    /// any pattern show which are not.
    pub fn cells(&self) -> Option<Vec<Option<f64>>> {
        let x = self.descend(&self.transposed(&self.answers))?;
        let mut hidden = vec![0.0f64; x.len()];
        for seed in [1u64, 2] {
            let mut state = seed;
            let u: Vec<f64> = (0..x.len())
                .map(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 11) as f64 / (1u64 << 53) as f64 + 0.5
                })
                .collect();
            let w = self.descend(&self.transposed(&self.image(&u)))?;
            hidden.iter_mut().zip(u.iter().zip(&w)).for_each(|(h, (u, w))| *h = h.max((u - w).abs()));
        }
        Some(x.into_iter().zip(hidden).map(|(x, h)| (h < 1e-6).then_some(x)).collect())
    }
}
