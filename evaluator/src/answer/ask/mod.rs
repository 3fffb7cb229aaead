//! From SQL to a table of answers: of one release, of several, of a projection; and what an answer rests on.

mod apart;
mod areas;
pub mod collude;
mod compare;
mod contradict;
pub(crate) mod explain;
pub mod keys;
pub mod linear;
mod notes;
mod off_plan_note;
pub(super) mod options;
mod query;
pub(super) mod read_from;
mod rows;
pub(super) mod several;
pub mod sums;
mod union;
