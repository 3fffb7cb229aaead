//! Bases of ordered dimensions, fitted to what is asked of them: the search behind the strategy `bases`.
//!
//! | file | idea |
//! |---|---|
//! | [`optimum`] | the best mechanism for one Gram matrix, with its certificate |
//! | [`split`] | what such a mechanism tells of each level, and its rows in whole numbers |
//! | [`bound`] | what no Gaussian mechanism can be better than |
//! | [`together`] | the best rows over all cells at once, for all that is asked of all dimensions |
//! | [`worst`] | which questions matter where the worst answer does, and what no mechanism tells better |
//! | [`descent`] | which Gram matrix each dimension should be given, for all tables together |

pub(crate) mod bound;
pub(crate) mod descent;
pub(crate) mod optimum;
pub(crate) mod split;
pub(crate) mod together;
pub(crate) mod worst;
