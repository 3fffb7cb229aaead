//! The most precise rows for everything that is asked, over all kinds of cells at once.
//!
//! What makes `tr(G X⁻¹)` small with no entry on the diagonal of `X` above one is the programme of [`super::optimum`], whatever the cells are: one dimension's, or all that
//! questions about several tell apart. Where there are fewer questions than cells `G` is singular, and the best `λ` of some cells is next to nothing. So the start is the best for a
//! little more than `G`. From there the columns of rows `R` go downhill, `X = RᵀR`, each kept at length one: nothing but the value itself is looked at. Each cell's
//! own row, with which a kind is told apart, is in `X` from the beginning.

use super::bound;
use super::optimum::Family;
use super::split::Matrix;
use crate::numeric::cholesky::dot;
use crate::numeric::dense::inverse;
use crate::planner::downhill::downhill;
use rayon::prelude::*;

/// What is added to the diagonal of `G`, as a part of it: the less, the nearer and the slower.
const RIDGES: [f64; 2] = [1e-3, 1e-4];
/// The most steps of the decompositions of either.
const MOST_STEPS: f64 = 4e9;
const MOST_ROUNDS: usize = 24;
/// The most steps of the descent.
const MOST_DESCENT: f64 = 8e9;
const MOST_DESCENTS: usize = 300;

/// Rows over kinds of cells.
pub(crate) struct BestRows {
    /// A triangle, each of whose columns has the length one.
    pub rows: Matrix,
    /// No Gaussian mechanism whose cost is one has less.
    pub bound: f64,
}

/// For a Gram matrix with a positive diagonal. `own`: what is added to the diagonal of `X` whatever is measured; `part`: how much of a column's cost is left for rows.
pub(crate) fn together(gram: &Matrix, own: &[f64], part: f64) -> Option<BestRows> {
    let n = gram.len();
    let cube = libm::pow(n as f64, 3.0);
    let rounds = ((MOST_STEPS / (25.0 * cube)) as usize).clamp(3, MOST_ROUNDS);
    let (mut start, mut bound, mut x) = (None::<Vec<f64>>, 0.0f64, Matrix::new());
    for ridge in RIDGES {
        let mut more = gram.clone();
        more.iter_mut().enumerate().for_each(|(i, row)| row[i] *= 1.0 + ridge);
        let family = Family::new(more);
        // After a mixture that led astray there is nothing to show for just that round.
        let found = (rounds..rounds + 3).find_map(|rounds| family.nearly(start.as_deref(), rounds))?;
        bound = bound.max(bound::of_weights(gram, &found.weights)?);
        (start, x) = (Some(found.weights), found.x);
    }
    let descents = ((MOST_DESCENT / (6.0 * cube)) as usize).clamp(10, MOST_DESCENTS);
    let at = triangle(&x)?.concat();
    value(gram, own, part, &at)?;
    let at = downhill(at, descents, |at| {
        // What cannot be computed with is no step to take.
        value(gram, own, part, at).unwrap_or((f64::INFINITY, Vec::new()))
    });
    let columns: Matrix = unit(&at, n).0;
    let products = products(&columns);
    let columns = triangle(&products)?;
    let rows = (0..n).map(|k| columns.iter().map(|c| c[k]).collect()).collect();
    Some(BestRows { rows, bound })
}

/// The columns of the upper triangle `U` with `UᵀU` next to `X`, made as long as one.
fn triangle(x: &Matrix) -> Option<Matrix> {
    let mut columns: Matrix = Vec::with_capacity(x.len());
    for (j, row) in x.iter().enumerate() {
        let mut column = vec![0.0; x.len()];
        for i in 0..=j {
            let before = if i < j { &columns[i][..i] } else { &column[..i] };
            let left = row[i] - dot(&column[..i], before);
            column[i] = if i < j { left / columns[i][i] } else { left.max(1e-9 * row[j]).sqrt() };
        }
        columns.push(column);
    }
    let all: Vec<f64> = columns.concat();
    all.iter().all(|v| v.is_finite()).then(|| unit(&all, x.len()).0)
}

/// Columns as long as one, and how long they were.
fn unit(at: &[f64], n: usize) -> (Matrix, Vec<f64>) {
    let one = |column: &[f64]| {
        let length = dot(column, column).sqrt();
        (column.iter().map(|v| v / length).collect::<Vec<f64>>(), length)
    };
    at.chunks_exact(n).map(one).unzip()
}

/// The products of all columns.
fn products(columns: &Matrix) -> Matrix {
    columns.par_iter().map(|a| columns.iter().map(|b| dot(a, b)).collect()).collect()
}

/// `tr(G X⁻¹)`, `X = part·RᵀR + own`, and its slopes by the columns of `R` before they are made as long as one. `None` beyond what can be computed with.
fn value(gram: &Matrix, own: &[f64], part: f64, at: &[f64]) -> Option<(f64, Vec<f64>)> {
    let n = gram.len();
    let (columns, lengths) = unit(at, n);
    let mut x = products(&columns);
    for (i, row) in x.iter_mut().enumerate() {
        row.iter_mut().for_each(|v| *v *= part);
        row[i] += own[i];
    }
    let inverse = inverse(&x)?;
    let half: Matrix = inverse.par_iter().map(|i| gram.iter().map(|g| dot(i, g)).collect()).collect();
    let value: f64 = (0..n).map(|i| half[i][i]).sum();
    let slopes: Matrix = (inverse.par_iter().zip(columns.par_iter()).zip(&lengths))
        .map(|((own, column), length)| {
            let mut slope = vec![0.0; n];
            for (other, half) in columns.iter().zip(&half) {
                let by = -2.0 * part * dot(own, half);
                slope.iter_mut().zip(other).for_each(|(s, o)| *s += by * o);
            }
            let along = dot(&slope, column);
            slope.iter().zip(column).map(|(s, c)| (s - along * c) / length).collect()
        })
        .collect();
    Some((value, slopes.concat()))
}
