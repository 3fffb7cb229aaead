//! What a noisy answer says about the truth.
//!
//! With a flat prior the posterior of θ is the mirrored error law ([`flat`]). With prior knowledge of a count
//! ([`count`]) it is sharper, also where the total that it is a part of is only estimated ([`total`]); a prior is never applied silently, the caller names it.

pub(crate) mod count;
pub(crate) mod flat;
pub(crate) mod prior;
mod statement;
pub(crate) mod total;

pub(crate) use count::CountPosterior;
pub use count::PosteriorError;
pub(crate) use flat::p_value;
pub(crate) use flat::prob_at_least;
pub use flat::{prob_between, prob_greater};
pub(crate) use prior::Prior;
pub use prior::ln_binomial;
pub use statement::{NotUnderstood, PriorChoice, Statement};
pub(crate) use total::Total;

#[cfg(test)]
mod tests;
