//! What is said of a figure beside its interval.

pub(super) mod prior;
pub(super) mod simultaneous;
pub(super) mod statement;
