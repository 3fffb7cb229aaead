//! `hierarchy`: every level. All tables below the workload's that are made of levels in use are measured.
//!
//! Coarse tables are cheap to know well and their answers then need not be summed from many noisy cells
//! (Hay, Rastogi, Miklau & Suciu, VLDB 2010, for intervals). The optimal budgets are one step of
//! [`Landscape::descend`] from equal shares: the closed form for the recovery that least
//! squares would use then. All tables stay; `tables` is what drops some.
//!
//! Where sums of neighbouring categories are asked for, a tree of halves of halves is put between the levels, of the branching factor that is best
//! for what is asked ([`super::trees`]); the budgets of its levels then descend to the end, and levels that get next to nothing are left out.

use super::ask::Ask;
use super::kind::{Strategy, levels_of};
use super::refusal::{Measured, NotApplicable};
use super::trees;
use crate::plan::strategy::asks_sums;
use crate::planner::request::Request;

pub(super) struct Hierarchy;

impl Strategy for Hierarchy {
    fn measure(&self, ask: &Ask) -> Result<Vec<Measured>, NotApplicable> {
        let land = ask.landscape()?;
        let choice = trees::hierarchy(&land, asks_sums(&ask.request.workload));
        choice.tables.iter().try_for_each(|t| ask.check_size(&land.cuboid(&t.steps)))?;
        Ok(vec![(ask.chosen(&land, &choice)?, None)])
    }

    fn levels(&self, request: &Request) -> Result<Vec<Vec<u8>>, NotApplicable> {
        Ok(if asks_sums(&request.workload) { trees::best(request) } else { levels_of(request, None) })
    }
}
