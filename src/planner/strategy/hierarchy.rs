//! `hierarchy`: every level. All tables below the workload's that are made of levels in use are measured.
//!
//! Coarse tables are cheap to know well and their answers then need not be summed from many noisy cells
//! (Hay, Rastogi, Miklau & Suciu, VLDB 2010, for intervals). The optimal budgets are one step of
//! [`Landscape::descend`] from equal shares: the closed form for the recovery that least
//! squares would use then. All tables stay; `tables` is what drops some.

use super::landscape::{Choice, Landscape};

/// Every table with a component of its own, and the workload's tables.
pub fn hierarchy(land: &Landscape) -> Choice {
    let tables: Vec<_> = land.components().iter().map(|&s| land.shape(s)).collect();
    let equal = vec![1.0; tables.len()];
    let mut choice = land.choice(tables, equal);
    land.descend(&mut choice, 1);
    choice
}
