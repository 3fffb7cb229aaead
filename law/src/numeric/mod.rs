//! The little numerical machinery that several floors share, in one fixed order of operations.

pub mod cholesky;
pub mod conjugate;
pub(crate) mod cosine;
#[cfg(feature = "dense")]
pub mod dense;
pub mod dice;
pub mod pivoted;
pub mod qr;
pub mod sparse;
pub mod symmetric;
pub mod tries;
