//! # The ground floor of margins
//!
//! Exact rationals, the numerical machinery that the floors above share, and the laws of sums of noises: what is computed over and over, and
//! needs nothing of what a release is. It is a package of its own so that it is optimised where everything above is built quickly.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod exact;
pub mod law;
pub mod loss;
pub mod numeric;

#[cfg(test)]
mod tests;
