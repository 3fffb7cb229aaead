//! Distributions, coverage and privacy of whole releases: rows in, noisy integers out, answers recovered.
//!
//! Every seed is fixed. A test of a distribution also shows that it rejects a wrong one: one whose
//! variance is 20 % off, or noise that is smaller than the plan says.
mod cost;
mod coverage;
#[path = "../reference/dense.rs"]
#[allow(dead_code)]
mod dense;
mod divergence;
mod small;
mod threads;
