//! # What a release is, and how it is answered
//!
//! Cubes and queries, what a plan is, recovery of consistent estimates, random projections, the signed file, and answers with their
//! intervals: everything that who reads a release needs, and nothing that sees private data. Programs use it through the package `margins`,
//! whose face it is behind; it is a package of its own so that both are compiled side by side.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]
// What only some features hand on is no mistake in a build without them.
#![cfg_attr(not(feature = "compile"), allow(unreachable_pub))]

pub(crate) use margins_law::{exact, law, loss, numeric};

pub mod answer;
pub mod calendar;
pub mod cube;
pub mod describe;
pub mod files;
pub mod history;
#[cfg(feature = "compile")]
pub mod interrupt;
mod joint;
pub(crate) mod memo;
pub mod plan;
#[cfg(feature = "faults")]
pub mod planted;
pub mod posterior;
pub mod projection;
pub mod records;
pub mod recover;
pub mod release;
pub mod render;
pub mod sql;
pub mod visible;
pub mod watch;
