//! Rows against the cells that the spec declares to be empty.
//!
//! A row in such a cell contradicts the spec, as a value outside its domain does: the data is refused before anything is
//! charged, and the error says which condition, not which row. Estimates would be wrong by as much as there are such rows.

use super::chunk::Chunk;
use super::error::IngestError;
use crate::cube::Filter;
use crate::recover::zeros::Zero;
use crate::spec::Spec;
use std::sync::atomic::{AtomicBool, Ordering};

/// The conditions, and whether a row was found in one.
pub(super) struct Zeros {
    conditions: Vec<(String, Filter, AtomicBool)>,
}

impl Zeros {
    pub(super) fn of(spec: &Spec) -> Zeros {
        let each = |zero: &Zero| (zero.condition.clone(), zero.filter().clone(), AtomicBool::new(false));
        Zeros { conditions: spec.zeros.iter().map(each).collect() }
    }

    /// No conditions.
    pub(super) fn none() -> Zeros {
        Zeros { conditions: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.conditions.len()
    }

    pub(crate) fn conditions(&self) -> impl Iterator<Item = &str> {
        self.conditions.iter().map(|(condition, ..)| condition.as_str())
    }

    /// How many of some rows satisfy a condition.
    pub(super) fn rows(&self, condition: usize, chunk: &Chunk) -> u64 {
        let filter = self.conditions.get(condition).map(|(_, filter, _)| filter);
        filter
            .map_or(0, |filter| (0..chunk.len()).filter(|&row| satisfies(chunk, filter, row)).count() as u64)
    }

    /// Looks at some rows.
    pub(crate) fn see(&self, chunk: &Chunk) {
        for (_, filter, found) in &self.conditions {
            if !found.load(Ordering::Relaxed) && any(chunk, filter) {
                found.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Refuses rows in cells that are declared to be empty.
    pub(super) fn check(&self) -> Result<(), IngestError> {
        let found = self.conditions.iter().find(|(.., found)| found.load(Ordering::Relaxed));
        found.map_or(Ok(()), |(condition, ..)| Err(IngestError::Zero { condition: condition.clone() }))
    }
}

/// Whether some row satisfies the filter.
fn any(chunk: &Chunk, filter: &Filter) -> bool {
    (0..chunk.len()).any(|row| satisfies(chunk, filter, row))
}

/// Whether a row satisfies the filter, or the two are of other dimensions.
fn satisfies(chunk: &Chunk, filter: &Filter, row: usize) -> bool {
    let at = filter.dims.iter().try_fold(0, |at, dim| {
        let node = *chunk.nodes(dim.dim).get(row)?;
        Some(at * dim.classes as usize + *dim.class_of.get(node as usize)? as usize)
    });
    at.and_then(|at| filter.weights.get(at)) != Some(&0.0)
}
