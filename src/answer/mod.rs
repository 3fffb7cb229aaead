//! Query -> estimate, interval, posterior.
//!
//! Everything here happens after a release is public, so floating point is welcome. Functions come from
//! `libm`, so that every platform prints the same interval.

pub mod law;
pub mod posterior;
