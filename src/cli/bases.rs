//! What `plan` says of bases: for each dimension how close to the best the basis was found.

use crate::cube::Cube;
use crate::planner::Planned;
use crate::planner::closure::bases::bases_of;
use serde_json::{Value, json};

/// A gap as people read it: two digits are enough, and below a millionth of a millionth it is rounding.
fn shown(gap: f64) -> String {
    format!("{:.0e}", gap.max(1e-12))
}

/// A line for each level that has a basis; nothing where none has.
pub fn text(cube: &Cube, planned: &Planned) -> String {
    let line = |(&(d, l), basis): (&(usize, usize), &std::sync::Arc<crate::plan::Basis>)| {
        let gap = basis.gap().map_or(String::new(), |gap| {
            format!(", within {} of the least variance for what is asked of it", shown(gap))
        });
        format!("basis of {}: {} rows{gap}\n", cube.level_name(crate::cube::Level::new(d, l)), basis.rows())
    };
    bases_of(&planned.plan).iter().map(line).collect()
}

/// The same for scripts.
pub fn json(cube: &Cube, planned: &Planned) -> Vec<Value> {
    let one = |(&(d, l), basis): (&(usize, usize), &std::sync::Arc<crate::plan::Basis>)| json!({ "of": cube.level_name(crate::cube::Level::new(d, l)), "rows": basis.rows(), "gap": basis.gap() });
    bases_of(&planned.plan).iter().map(one).collect()
}
