//! What is said of a figure beside its interval.

pub(super) mod places;
pub(super) mod posterior;
pub(super) mod simultaneous;
