//! `hierarchy`: every level. All tables below the workload's that are made of levels in use are measured.
//!
//! Coarse tables are cheap to know well and their answers then need not be summed from many noisy cells
//! (Hay, Rastogi, Miklau & Suciu, VLDB 2010, for intervals). The optimal budgets are one step of
//! [`Landscape::descend`] from equal shares: the closed form for the recovery that least
//! squares would use then. All tables stay; `tables` is what drops some.

use super::ask::Ask;
use super::landscape::{Choice, Landscape};
use super::{Measured, NotApplicable, Strategy};

pub struct Hierarchy;

impl Strategy for Hierarchy {
    fn measure(&self, ask: &Ask) -> Result<Vec<Measured>, NotApplicable> {
        let land = ask.landscape()?;
        let choice = hierarchy(&land);
        choice.tables.iter().try_for_each(|t| ask.check_size(&land.cuboid(&t.steps)))?;
        Ok(vec![(ask.chosen(&land, &choice)?, None)])
    }
}

/// Every table with a component of its own, and the workload's tables.
fn hierarchy(land: &Landscape) -> Choice {
    let tables: Vec<_> = land.components().iter().map(|&s| land.shape(s)).collect();
    let equal = vec![1.0; tables.len()];
    let mut choice = land.choice(tables, equal);
    land.descend(&mut choice, 1);
    choice
}
