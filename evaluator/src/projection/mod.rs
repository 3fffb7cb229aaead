//! Hashed random projections: releases for domains too large to list.
//!
//! A table of every diagnosis code, web address or pair of places has more cells than any file. What is released
//! instead is `v = A x + z`: some thousands of integers, each the sum of all counts with public random signs, plus noise. Any few
//! cells can be asked for afterwards, also ones nobody thought of when the release was made: a cell's count is the
//! mean of the integers with its own signs.
//!
//! | file | idea |
//! |---|---|
//! | [`field`], [`clmul`] | GF(2^64), with the processor's carry-less product and without |
//! | [`coset`] | a polynomial at all points of a cell at once |
//! | [`signs`] | the r-wise independent family of signs, from a public seed |
//! | [`key`] | any combination of labels and texts becomes a cell number |
//! | [`design`] | how many integers, which noise: what is decided before data is seen |
//! | [`cost`] | the privacy cost, recomputed from what was released |
//! | [`answer`] | estimates and intervals |
//! | [`order`] | what the order of a sketch's rows proves |
//! | [`sums`] | which cells each figure sums up |
//! | [`share`] | the share of one sum in another from a sketch's rows |
//! | [`weighted`] | cells that count differently, and shares |
//! | [`bound`] | what the signs' independence proves of errors |
//! | [`explained`] | what an answer rests on |
//! | [`class`] | how far off the worst of all queries of a class can be |
//!
//! Everything here is public arithmetic; `secret::project` makes the integers.

pub mod answer;
pub(crate) mod bound;
pub(crate) mod class;
pub(crate) mod clmul;
pub mod coset;
pub mod cost;
pub mod design;
mod explained;
pub(crate) mod field;
pub mod key;
pub mod order;
mod share;
pub mod signs;
mod sums;
pub(crate) mod weighted;

pub use answer::Projected;
pub use design::{Design, DesignError, Shape, Size};
pub use explained::Grounds;
pub use key::{Key, Part};
pub use signs::Seed;
pub(crate) use sums::Sums;

/// A finished projection's public half: everything but the integers.
#[derive(Debug, Clone, PartialEq)]
pub struct Projection {
    /// What was decided before data was seen.
    pub design: Design,
    /// Where the signs come from.
    pub seed: Seed,
}
