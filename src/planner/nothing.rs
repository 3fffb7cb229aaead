//! Predictions read no measurement.

use crate::recover::{Source, SourceError};

/// A source of nothing: predictions read no measurement.
pub struct Nothing;

impl Source for Nothing {
    fn values(&self, _: usize) -> Result<Vec<i64>, SourceError> {
        Err(SourceError("a plan has no measurements".into()))
    }
}
