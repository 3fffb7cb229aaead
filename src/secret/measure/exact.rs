//! The second door: tables that the agency has declared to publish as they are.
//!
//! **Guarantee.** None, for what these tables say: they are counts without noise, and everything that follows from
//! them about anybody is public. What is measured with noise beside them keeps its guarantee; the release as a
//! whole is private relative to these tables. That is why they leave only through here, only when the spec
//! names them one by one with a reason, and only after the plan, the ledger and the manifest declare them.

use super::charged::Charged;
use super::copies::Copies;
use super::error::MeasureError;
use crate::cube::Cube;
use crate::secret::count::Data;
use crate::spec::ExactTable;

/// The exact counts of the declared tables, in the order of the plan. Refuses a declaration that is not the plan's, and one
/// without a reason.
pub(crate) fn exact_tables(
    data: &Data,
    cube: &Cube,
    charged: &Charged<Copies>,
    declared: &[ExactTable],
) -> Result<Vec<Vec<i64>>, MeasureError> {
    let plan = charged.work().first();
    let same = plan.exact.iter().eq(declared.iter().map(|e| &e.cuboid));
    if !same || declared.iter().any(|e| e.reason.trim().is_empty()) {
        return Err(MeasureError::Undeclared);
    }
    let mut counter = data.counter();
    plan.exact
        .iter()
        .map(|cuboid| Ok(std::mem::take(&mut *counter.cuboid(cube, cuboid)?.into_cells())))
        .collect()
}
