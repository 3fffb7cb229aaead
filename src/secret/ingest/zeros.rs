//! Rows against the cells that the spec declares to be empty.
//!
//! A row in such a cell contradicts the spec, as a value outside its domain does: reading stops before anything is
//! counted, and says which condition, not which row. Estimates would be wrong by as much as there are such rows.

use super::error::IngestError;
use super::rows::{Rows, Values};
use crate::cube::Filter;
use crate::recover::zeros;
use crate::spec::Spec;

/// Refuses rows in cells that are declared to be empty.
pub(super) fn check(rows: &Rows, spec: &Spec) -> Result<(), IngestError> {
    for condition in &spec.zeros {
        let undeclared = || IngestError::Zero { condition: condition.clone() };
        let filter = zeros::filter(&spec.cube, condition).map_err(|_| undeclared())?;
        if any(rows, &filter).unwrap_or(true) {
            return Err(undeclared());
        }
    }
    Ok(())
}

/// Whether a row satisfies the filter. `None` when they are of other dimensions.
fn any(rows: &Rows, filter: &Filter) -> Option<bool> {
    let columns: Vec<(&Values, &[u32], usize)> = filter
        .dims
        .iter()
        .map(|d| Some((rows.column(d.dim)?.values(), d.class_of.as_slice(), d.classes as usize)))
        .collect::<Option<_>>()?;
    for row in 0..rows.len() {
        let mut at = 0;
        for (values, class_of, classes) in &columns {
            at = at * classes + *class_of.get(usize::try_from(values.at(row)).ok()?)? as usize;
        }
        if *filter.weights.get(at)? != 0.0 {
            return Some(true);
        }
    }
    Some(false)
}
