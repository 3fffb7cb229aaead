//! What a strategy answers about itself.

use super::ask::Ask;
use super::refusal::{Measured, NotApplicable};
use crate::cube::{Cuboid, Frame};
use crate::planner::request::Request;

/// What the rules for sharing the budget are to a strategy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    /// It measures by one or the other.
    Apart,
    /// With optimal budgets it looks at equal ones itself.
    Within,
    /// They change nothing.
    Fixed,
}

/// What a strategy knows about itself. To most questions most give the same answer.
pub(super) trait Strategy {
    /// Sets of measurements, of which the one with the least exact prediction is meant: what a search predicts itself is for
    /// continuous noise and balanced levels.
    fn measure(&self, ask: &Ask) -> Result<Vec<Measured>, NotApplicable>;

    /// What tells whether a request brings what it needs beside a workload. `None`: it needs no more.
    fn needs(&self) -> Option<fn(&Request) -> bool> {
        None
    }

    /// What the rules for the budgets are to it.
    fn rules(&self) -> Rules {
        Rules::Apart
    }

    /// The levels in use.
    fn levels(&self, request: &Request) -> Result<Vec<Vec<u8>>, NotApplicable> {
        Ok(levels_of(request, None))
    }

    /// Fewer levels, with which a second plan is made: the better of the two is taken.
    fn fewer(&self, _: &Request) -> Option<Vec<Vec<u8>>> {
        None
    }
}

/// The levels of the tables asked for, of those that have a share, and of one more.
pub(super) fn levels_of(request: &Request, more: Option<&Cuboid>) -> Vec<Vec<u8>> {
    let tables = request.workload.iter().map(|t| &t.cuboid);
    let shares = request.shares.iter().map(|s| &s.cuboid);
    Frame::levels_of(&request.cube, tables.chain(shares).chain(more).chain(&request.beside))
}
