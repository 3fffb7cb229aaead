//! tmp
pub mod law;
