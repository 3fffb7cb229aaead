//! What components add to a table of which each cell weighs by itself.
//!
//! A cell's variance is `Σ_A σ_A² Π_i n_i(c_i, A_i)`, a product over dimensions, and so is what a unit of a component's noise adds to all cells together, `Σ_c r_c Π_i n_i(c_i, A_i)`,
//! once the dimensions are summed one after the other.

use super::Closure;
use super::bases::of_cells;
use crate::cube::{Cuboid, Frame, Level};

impl Closure {
    /// As [`Closure::mean_gains`], but each cell counts by what it weighs; all alike where nothing is given.
    pub(crate) fn weighed_gains(
        &self,
        frame: &Frame,
        t: usize,
        cuboid: &Cuboid,
        cells: Option<&[f64]>,
        mut visit: impl FnMut(usize, f64),
    ) {
        let alike = |at: Level| {
            let told = self.told.range((at.dimension, 0)..=(at.dimension, at.level)).next().is_some();
            frame.axes[at.dimension].is_balanced() && !told
        };
        // Of groups of one size all cells of a table have the same gains.
        let Some(cells) = cells.filter(|_| !cuboid.iter().all(alike)) else {
            return self.mean_gains(t, cuboid, visit);
        };
        let rows: Vec<Vec<Vec<f64>>> = (cuboid.iter())
            .map(|at| {
                let axis = &self.gains[at.dimension];
                let kept = |norms: Vec<f64>| {
                    norms.into_iter().zip(&axis.live).filter(|(_, live)| **live).map(|(g, _)| g).collect()
                };
                let all = of_cells(frame, at.dimension, axis.rung_of[at.level], &self.told);
                all.into_iter().map(kept).collect()
            })
            .collect();
        let sums = contracted(cells, &rows);
        let all = cells.len() as f64;
        self.tables[t].iter().zip(sums).for_each(|(&id, sum)| visit(id as usize, sum / all));
    }
}

/// `Σ_c r_c Π_i rows_i[c_i][a_i]` for every choice of `a`, the last dimension fastest.
pub(crate) fn contracted(cells: &[f64], rows: &[Vec<Vec<f64>>]) -> Vec<f64> {
    let mut now = cells.to_vec();
    let mut inner = 1;
    for row in rows.iter().rev() {
        let (nodes, width) = (row.len(), row.first().map_or(0, Vec::len));
        let mut next = Vec::with_capacity(now.len() / (nodes * inner).max(1) * width * inner);
        for outer in now.chunks_exact((nodes * inner).max(1)) {
            let start = next.len();
            next.resize(start + width * inner, 0.0);
            for (own, gains) in outer.chunks_exact(inner).zip(row) {
                for (part, g) in next[start..].chunks_exact_mut(inner).zip(gains) {
                    part.iter_mut().zip(own).for_each(|(sum, v)| *sum += g * v);
                }
            }
        }
        (now, inner) = (next, inner * width);
    }
    now
}

/// What the cells of every node of a table's dimension number `at` weigh together.
pub(crate) fn margin(cells: &[f64], sizes: &[usize], at: usize) -> Vec<f64> {
    let mut out = vec![0.0; sizes[at]];
    let inner: usize = sizes[at + 1..].iter().product();
    for (node, own) in (0..sizes[at]).cycle().zip(cells.chunks(inner.max(1))) {
        out[node] += own.iter().sum::<f64>();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_over_all_cells() {
        let rows = vec![
            vec![vec![1.0, 2.0], vec![0.5, -1.0], vec![3.0, 0.25]],
            vec![vec![1.0, 4.0, 0.0], vec![2.0, 1.5, 1.0]],
        ];
        let cells = [1.0, 7.0, 0.5, 2.0, 0.0, 3.0];
        let mut want = vec![0.0; 6];
        for (c, r) in cells.iter().enumerate() {
            for (a, sum) in want.iter_mut().enumerate() {
                *sum += r * rows[0][c / 2][a / 3] * rows[1][c % 2][a % 3];
            }
        }
        assert_eq!(contracted(&cells, &rows), want);
        assert_eq!(contracted(&[2.0], &[]), vec![2.0]);
        assert_eq!(margin(&cells, &[3, 2], 0), vec![8.0, 2.5, 3.0]);
        assert_eq!(margin(&cells, &[3, 2], 1), vec![1.5, 12.0]);
    }
}
