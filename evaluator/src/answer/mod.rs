//! Query -> estimate, interval, posterior.
//!
//! A *teller* knows estimates and the joint law of their errors (`tell`): the tables of a release, several releases pooled. A *figure* is
//! made of what was told (`figure`): a linear one, a ratio, a change between periods, a quantile. A *decoration* says more of any figure
//! (`decorate`): a probability, a posterior, intervals that cover together. And a question is asked (`ask`): SQL becomes a table of all these.
//!
//! Everything here happens after a release is public, so floating point is welcome. Functions come from
//! `libm`, so that every platform prints the same interval.

mod ask;
mod decorate;
mod error;
mod figure;
pub mod tell;

pub use ask::{
    collude, keys, linear,
    options::Options,
    read_from::{ReadFrom, What, read_otherwise},
    several::{Several, agreeing},
    sums,
};
pub use decorate::simultaneous::Simultaneous;
pub use error::{AnswerError, QueryError};
pub use tell::{
    Best,
    open::Answers,
    tables::{Evaluator, Group},
    whole_ends,
};

#[cfg(test)]
mod tests;
