//! The second door: tables that the agency has declared to publish as they are.
//!
//! **Guarantee.** None, for what these tables say: they are counts without noise, and everything that follows from
//! them about anybody is public. What is measured with noise beside them keeps its guarantee; the release as a
//! whole is private relative to these tables. That is why they leave only through here, only when the spec
//! names them one by one with a reason, and only after the plan, the ledger and the manifest declare them.

use super::charged::Charged;
use super::copies::Copies;
use super::error::MeasureError;
use super::{added_up, column_of};
use crate::cube::{Cube, Cuboid};
use crate::secret::count::Data;
use crate::spec::Spec;

/// The exact tables of one release: of counts, and for each channel beside rows, in the order of the plan, its own.
pub(crate) struct ExactTables {
    pub counts: Vec<Vec<i64>>,
    pub beside: Vec<Vec<Vec<i64>>>,
}

/// The exact tables that a spec declares, in the order of the plan. Refuses declarations that are not the plan's, and one
/// without a reason.
pub(crate) fn exact_tables(
    data: &Data,
    cube: &Cube,
    charged: &Charged<Copies>,
    declared: &Spec,
) -> Result<ExactTables, MeasureError> {
    let plan = charged.work().first();
    let same = plan.exact.iter().eq(declared.exact.iter().map(|e| &e.cuboid));
    // Sums are exact where the spec says it of just these, and of the counts beside them, with its reason.
    let of_sums = |channel: &crate::plan::Channel| {
        let amount = channel.subject.quantity().filter(|_| channel.subject.has_cells());
        let amount = amount.and_then(|q| declared.summed().find(|a| a.quantity == *q));
        let said = amount.map_or(&[][..], |a| &a.exact[..]);
        channel.exact == said && said.iter().all(|e| plan.exact.contains(e))
    };
    if !same || !plan.beside().all(of_sums) || declared.exact.iter().any(|e| e.reason.trim().is_empty()) {
        return Err(MeasureError::Undeclared);
    }
    let mut counter = data.counter();
    let counts = plan
        .exact
        .iter()
        .map(|cuboid| Ok(std::mem::take(&mut *counter.cuboid(cube, cuboid)?.into_cells())))
        .collect::<Result<_, MeasureError>>()?;
    let mut beside = Vec::new();
    for channel in plan.beside() {
        let subject = (&channel.subject, column_of(plan, cube, &channel.subject));
        let mut one = |cuboid: &Cuboid| -> Result<Vec<i64>, MeasureError> {
            let sums = added_up((data, &mut counter), cube, subject, cuboid)?;
            Ok(std::mem::take(&mut *sums.ok_or(MeasureError::Undeclared)?))
        };
        beside.push(channel.exact.iter().map(&mut one).collect::<Result<_, MeasureError>>()?);
    }
    Ok(ExactTables { counts, beside })
}
