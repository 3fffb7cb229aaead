//! Query -> estimate, interval, posterior.

pub mod sql;
