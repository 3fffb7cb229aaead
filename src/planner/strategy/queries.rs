//! `queries`: the workload's own tables, each by itself.

use super::ask::{Ask, Groups};
use super::kind::Strategy;
use super::refusal::{Measured, NotApplicable};

pub(super) struct Queries;

impl Strategy for Queries {
    fn measure(&self, ask: &Ask) -> Result<Vec<Measured>, NotApplicable> {
        ask.closed(groups(ask)?)
    }
}

/// Every table that is not known without noise.
pub(super) fn groups(ask: &Ask) -> Result<Groups, NotApplicable> {
    ask.whole(ask.noisy().cloned())
}
