//! Query -> estimate, interval, posterior.
//!
//! A *teller* knows estimates and the joint law of their errors (`tell`): the tables of a release, several releases pooled. A *figure* is
//! made of what was told (`figure`): a linear one, a ratio, a change between periods, a quantile. A *decoration* says more of any figure
//! (`decorate`): a probability, a posterior, intervals that cover together.
//!
//! Everything here happens after a release is public, so floating point is welcome. Functions come from
//! `libm`, so that every platform prints the same interval.

mod apart;
mod ask;
pub mod best;
mod caveats;
pub mod collude;
mod compare;
mod decorate;
mod error;
pub mod explain;
mod figure;
pub mod keys;
mod labels;
pub mod linear;
mod meaning;
mod notes;
pub mod open;
mod options;
mod query;
mod question;
mod row_builder;
mod rows;
mod several;
pub mod tell;
mod whole;

pub use decorate::simultaneous::Simultaneous;
pub use decorate::statement::{NotUnderstood, PriorChoice, Statement};
pub use error::QueryError;
pub use open::Answers;
pub use options::Options;
pub use several::{Several, best_copies};
pub use tell::tables::{AnswerError, Evaluator, Group};
pub use whole::whole_ends;

#[cfg(test)]
mod tests;
