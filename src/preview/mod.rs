//! What a plan promises before any data is opened, for programs: the JSON of `margins plan --json`. A page that plans in a browser gets the same,
//! from the same function.
//!
//! | file | idea |
//! |---|---|
//! | `plan` | the whole of it |
//! | `tables`, `asked`, `margins` | every table, what is asked of it beyond cells, and the half-widths of its intervals |
//! | `levels` | how exact each level is where groups differ in size |
//! | `sums`, `copies`, `bases`, `loss` | what is said of sums, of copies for recipients, of bases, and in (ε, δ) |
//! | `warnings`, `reserved` | what the holder of the data should know before a release |
//! | `text` | from a spec's text to all of this |

pub(crate) mod asked;
pub(crate) mod bases;
pub(crate) mod copies;
pub(crate) mod levels;
pub(crate) mod loss;
pub(crate) mod margins;
mod plan;
mod reserved;
pub(crate) mod sums;
mod tables;
mod text;
mod warnings;
pub(crate) mod words;

pub(crate) use plan::{of_tables, optimum};
pub(crate) use reserved::{device, is_reserved};
pub use text::{NoPreview, preview};
pub(crate) use warnings::{no_part, unconfirmed};
pub use words::{counted, figure, grouped};

use crate::cube::{Cube, Cuboid};

/// The levels of a table by their names.
pub(crate) fn names(cube: &Cube, cuboid: &Cuboid) -> Vec<String> {
    cuboid.iter().map(|level| cube.level_name(level)).collect()
}
