//! What is said of a figure beside its interval.

pub(super) mod posterior;
pub(super) mod simultaneous;
