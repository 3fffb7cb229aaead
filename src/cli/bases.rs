//! What `plan` says of bases: for each dimension how close to the best the basis was found.

use super::output;
use crate::cube::Cube;
use crate::plan::Basis;
use crate::planner::{Planned, Request, strategy};
use crate::preview::bases::bases;

/// A gap as people read it: two digits are enough, and below a millionth of a millionth it is rounding.
fn shown(gap: f64) -> String {
    format!("{:.0e}", gap.max(1e-12))
}

/// A line for each level that has a basis; nothing where none has.
pub(super) fn text(cube: &Cube, planned: &Planned) -> String {
    let line = |((d, l), basis): ((usize, usize), std::sync::Arc<Basis>)| {
        let gap = basis.gap().map_or(String::new(), |gap| {
            format!(", within {} of the least variance for its own questions", shown(gap))
        });
        let name = cube.level_name(crate::cube::Level::new(d, l));
        output::wrapped(&format!("basis of {name}: {} rows{gap}", basis.rows()), 2) + "\n"
    };
    bases(planned).into_iter().map(line).collect()
}

/// In which dimension kinds of components have weights of nodes of their own.
pub(super) fn own(request: &Request, planned: &Planned) -> String {
    let Some((name, kinds)) = strategy::own_kinds(request, &planned.plan) else { return String::new() };
    let line = format!("weights of nodes of {name}: {kinds} kinds of components have their own");
    output::wrapped(&line, 2) + "\n"
}

/// Why nodes of groups that differ in size share evenly, where they do.
pub(super) fn even(request: &Request, planned: &Planned) -> String {
    let Some((name, why)) = strategy::even(request, &planned.plan) else { return String::new() };
    let note = format!(
        "note: nodes of {name} share evenly with their siblings, though its groups differ in size: {why}"
    );
    output::wrapped(&note, 6) + "\n"
}
