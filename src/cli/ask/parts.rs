//! What may be measured in place of a question: the parts that its sums are made of, so that later questions about some of them cost less.
//!
//! A part is one combination of the finest categories that the question names. Parts have no cell in common, so all of them together cost what
//! one costs. A sum of n parts has n noises where the sum itself would have one; so this question needs more, and others less.

use crate::answer::linear::Linear;
use crate::cube::{Cube, Level};
use crate::sql::{quoted, quoted_level};

/// Questions of more parts are measured as they stand: one answer would have too many noises.
const MOST: usize = 32;
/// No more cells are looked at.
const MOST_CELLS: usize = 1 << 16;

/// The question after all parts of these figures; `None` where there are none, or too many.
pub(super) fn question(figures: &[Linear], cube: &Cube, from: &str) -> Option<String> {
    let mut dims: Vec<usize> = figures.iter().flat_map(|f| &f.filter.dims).map(|d| d.dim).collect();
    dims.sort_unstable();
    dims.dedup();
    let finest = |d: usize| Level::new(d, cube.dimensions[d].finest());
    let sizes: Vec<usize> = dims.iter().map(|&d| finest(d).of(cube).len()).collect();
    let cells = sizes.iter().try_fold(1usize, |n, &s| n.checked_mul(s)).filter(|n| *n <= MOST_CELLS)?;
    let mut parts = Vec::new();
    let mut cell = vec![0; cube.dimensions.len()];
    for number in 0..cells {
        let mut rest = number;
        for (&d, &size) in dims.iter().zip(&sizes).rev() {
            cell[d] = rest % size;
            rest /= size;
        }
        if figures.iter().any(|f| f.filter.weight_at(&cell).is_some_and(|w| w != 0.0)) {
            let of = |&d: &usize| {
                let label = &finest(d).of(cube).labels[cell[d]];
                format!("{} = '{}'", quoted_level(cube, finest(d)), label.replace('\'', "''"))
            };
            let all: Vec<String> = dims.iter().map(of).collect();
            parts.push(format!("COUNT(*) FILTER (WHERE {})", all.join(" AND ")));
        }
        if parts.len() > MOST {
            return None;
        }
    }
    let several = !dims.is_empty() && parts.len() > 1;
    several.then(|| format!("SELECT {} FROM {}", parts.join(", "), quoted(from)))
}

/// Whether the parts are the question's own figures: then there is nothing else to measure.
pub(super) fn are(parts: &[Linear], figures: &[Linear]) -> bool {
    let among = |all: &[Linear], f: &Linear| all.iter().any(|other| other.filter == f.filter);
    parts.iter().all(|f| among(figures, f)) && figures.iter().all(|f| among(parts, f))
}
