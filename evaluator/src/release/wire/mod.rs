//! Domain and plan as they are stored: mirrors of the types in memory, so that those can change
//! while the format stays. Conversion is explicit, and everything that is decoded is checked.

mod domain;
mod plan;
mod projection;
mod workload;

pub use domain::{decode_domain, encode_domain};
pub(super) use plan::decode_framed;
pub use plan::{decode_plan, encode_plan};
pub use projection::{decode_projection, encode_projection, parts};
pub(crate) use workload::decode_workload;
pub use workload::encode_workload;

use super::ReleaseError;

/// An [`ReleaseError::Invalid`] unless the rule holds.
fn rule(holds: bool, what: &'static str, why: impl FnOnce() -> String) -> Result<(), ReleaseError> {
    if holds { Ok(()) } else { Err(ReleaseError::Invalid { what, why: why() }) }
}

#[cfg(test)]
pub(super) mod tests {
    pub(crate) use super::domain::tests::example as cube;
    pub(crate) use super::plan::tests::example as plan;
}
