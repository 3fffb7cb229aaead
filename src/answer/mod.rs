//! Query -> estimate, interval, posterior.

pub mod render;
pub mod sql;
