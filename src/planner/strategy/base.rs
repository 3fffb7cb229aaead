//! `base`: only the finest table of all dimensions, from which every other one is summed.

use super::ask::{Ask, Groups};
use super::kind::Strategy;
use super::refusal::{Measured, NotApplicable};
use crate::cube::Cuboid;

pub(super) struct Base;

impl Strategy for Base {
    fn measure(&self, ask: &Ask) -> Result<Vec<Measured>, NotApplicable> {
        ask.closed(groups(ask)?)
    }
}

/// The join of all tables that are not known without noise.
pub(super) fn groups(ask: &Ask) -> Result<Groups, NotApplicable> {
    let finest = ask.noisy().fold(Cuboid::total(), |a, c| a.join(c));
    ask.whole(std::iter::once(finest))
}
