//! What the columns of an answer are.

use margins::Description;
use margins::render::ColumnKind;

/// In how many columns a column is shown.
pub(crate) fn width(kind: ColumnKind) -> usize {
    if kind == ColumnKind::Figure { 4 } else { 1 }
}

/// The level of that name.
pub(crate) fn level<'a>(about: &'a Description, name: &str) -> Option<&'a margins::describe::Categories> {
    let mut levels = about.dimensions.iter().flat_map(|d| &d.levels);
    levels.find(|l| l.name.eq_ignore_ascii_case(name))
}
