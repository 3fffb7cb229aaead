//! For each dimension with a basis how close to the best it was found.

use crate::cube::Cube;
use crate::plan::{Basis, Telling};
use crate::planner::Planned;
use crate::planner::closure::bases::bases_of;
use serde_json::{Value, json};

/// The levels that have bases.
pub(crate) fn bases(planned: &Planned) -> Vec<((usize, usize), std::sync::Arc<Basis>)> {
    let basis = |(at, told): ((usize, usize), Telling)| Some((at, told.basis()?.clone()));
    bases_of(&planned.plan).into_iter().filter_map(basis).collect()
}

/// For scripts.
pub(crate) fn json(cube: &Cube, planned: &Planned) -> Vec<Value> {
    let one = |((d, l), basis): ((usize, usize), std::sync::Arc<Basis>)| json!({ "of": cube.level_name(crate::cube::Level::new(d, l)), "rows": basis.rows(), "gap": basis.gap() });
    bases(planned).into_iter().map(one).collect()
}
