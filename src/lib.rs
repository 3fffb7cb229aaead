//! # margins
//!
//! Compiles a private dataset into signed statistical tables with exact margins of error.
//!
//! The way of the data: `spec -> plan -> secret (count -> measure) -> release -> recover -> answer`.
//! Each stage is a function from immutable values to one immutable value.
//!
//! | module | what it is | feature |
//! |---|---|---|
//! | [`exact`] | rationals that are never rounded: budgets, scales, costs | – |
//! | [`cube`] | dimensions, levels, cuboids, components: the algebra, no data and no noise | – |
//! | [`plan`] | what will be measured and how precisely; a pure function of the spec | – |
//! | [`release`] | the signed file: sections, manifest, hashes, signature | – |
//! | [`recover`] | measurements -> consistent estimates and the law of their error | – |
//! | [`answer`] | query -> estimate, interval, posterior | – |
//! | [`audit`] | is the file whole, and does its privacy arithmetic add up | – |
//! | `spec` | what the agency asks for | `compile` |
//! | `secret` | the only rooms that ever hold private data | `compile` |
//! | `compile` | all stages in their order: spec to sealed file | `compile` |
//! | `ledger` | what has been spent, over all releases of a dataset | `compile` |
//! | `cli` | the `margins` command, one verb a file | `cli` |
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod answer;
pub mod audit;
pub mod cube;
pub mod exact;
pub mod plan;
pub mod projection;
pub mod recover;
pub mod release;

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "compile")]
pub mod compile;
#[cfg(feature = "compile")]
pub mod ledger;
#[cfg(feature = "compile")]
pub mod secret;
#[cfg(feature = "compile")]
pub mod spec;
