//! What a noisy answer says about the truth.
//!
//! With a flat prior the posterior of θ is the mirrored error law ([`flat`]). With prior knowledge of a count
//! ([`count`]) it is sharper, also where the total that it is a part of is only estimated ([`total`]); a prior is never applied silently, the caller names it.

pub mod count;
pub mod flat;
pub mod prior;
mod statement;
pub mod total;

pub use count::{CountPosterior, PosteriorError};
pub use flat::{Alternative, p_value, posterior_interval, prob_between, prob_greater};
pub use prior::{Prior, ln_binomial};
pub use statement::{NotUnderstood, PriorChoice, Statement};
pub use total::Total;

#[cfg(test)]
mod tests;
