//! What only the fuzz targets call from outside of the package: built with `--cfg fuzzing` alone.

use super::{IngestError, Means, all_of_parquet, check, files_of};
use crate::spec::{Drawn, Spec};
use std::path::Path;

/// Whether a check finds nothing.
pub fn passes(spec: &Spec, path: &Path) -> Result<bool, IngestError> {
    Ok(check(spec, path, &Means::default())?.passed())
}

/// The draft of a spec for a Parquet file.
pub fn draft_of_parquet(path: &Path, folder: &Path) -> Result<Option<String>, IngestError> {
    let begin = |columns| Drawn::new(columns).map_err(|_| IngestError::NoHeader);
    let row = |drawn: &mut Drawn, row: &[String]| drawn.row(row.iter().map(String::as_str));
    let Some(file) = files_of(None, path.into())?.into_iter().next() else { return Ok(None) };
    Ok(all_of_parquet(&file, begin, row)?.draft(path, folder, None).ok())
}
