//! Query -> estimate, interval, posterior.
//!
//! Everything here happens after a release is public, so floating point is welcome. Functions come from
//! `libm`, so that every platform prints the same interval.

pub mod evaluate;
pub mod law;
pub mod open;
pub mod posterior;
mod query;
pub mod render;
pub mod sql;

pub use evaluate::{AnswerError, Evaluator, Group};
pub use open::{Answers, QueryError};
