//! Query -> estimate, interval, posterior.
//!
//! Everything here happens after a release is public, so floating point is welcome. Functions come from
//! `libm`, so that every platform prints the same interval.

mod apart;
mod asked;
mod before;
pub mod best;
mod caveats;
pub mod collude;
mod compare;
pub mod describe;
pub mod evaluate;
pub mod explain;
mod figure;
pub mod history;
pub mod joint;
pub mod keys;
mod labels;
pub mod linear;
mod making;
pub mod max_z;
mod meaning;
mod notes;
pub mod open;
mod options;
mod planned;
pub mod posterior;
mod quantile;
mod query;
pub mod render;
mod rows;
mod several;
mod simultaneous;
mod statement;
pub mod tell;

pub use evaluate::{AnswerError, Evaluator, Group};
pub use figure::whole_ends;
pub use open::{Answers, QueryError};
pub use options::Options;
pub use several::{Several, best_copies};
pub use simultaneous::{Simultaneous, Together};
pub use statement::{NotUnderstood, PriorChoice, Statement};

#[cfg(all(test, feature = "test-seed"))]
mod tests;
