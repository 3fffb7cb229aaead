//! Measurements -> consistent estimates and the law of their error.

pub mod gls;
