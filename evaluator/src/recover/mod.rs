//! Measurements -> consistent estimates and the law of their error.
//!
//! There is one best linear unbiased estimate `x̂` behind every table and every query, so recovered tables
//! agree on all they share. It is never written down: it lives in its components, which are recovered when
//! a table or a query needs them.
//!
//! | file | idea |
//! |---|---|
//! | [`components`] | components measured one by one: `r̂_A = P_A y_A`, independent of each other |
//! | [`based`] | components told by bases in whole numbers, dimension by dimension |
//! | [`tables`] | whole tables: rolled up, or combined by generalised least squares ([`gls`], over unequal groups [`coupled`]) |
//! | [`sums`] | what all measured tables together say of a component |
//! | [`row_estimator`] | the agency's own rows: least squares over a basis of them ([`rows`]) |
//! | [`near`] | a few nodes of a component, from the slices that they are in |
//! | [`context`] | tables published exactly, laid over all of these |
//! | [`zeros`] | cells declared empty whatever the data: equality constraints around all of these |

pub mod based;
pub mod bounds;
mod cache;
mod components;
pub mod consistent;
mod context;
mod coupled;
mod error;
mod estimate;
mod estimator;
pub mod finish;
pub mod gls;
mod near;
mod recovery;
pub mod row_estimator;
pub mod rows;
mod source;
mod sums;
mod tables;
mod weighted;
pub mod zeros;

pub use error::RecoverError;
pub use recovery::{Recovery, noise_of};
pub(crate) use source::{Keeps, Sum};
pub use source::{Nothing, Source, SourceError};
