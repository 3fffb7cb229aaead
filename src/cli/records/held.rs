//! A file of records, read again.

use super::{Format, output, report_beside};
use crate::cli::Failure;
use crate::records::{Read, RecordsReport};
use std::collections::HashMap;
use std::path::Path;

/// The most bytes of a report.
const MOST_REPORT: u64 = 1 << 28;

/// Its columns and its report.
pub(super) fn read(path: &Path) -> Result<(Vec<Read>, RecordsReport), Failure> {
    let cannot =
        |why: &dyn std::fmt::Display| Failure::Message(format!("cannot read {}: {why}", output::path(path)));
    let (columns, report) = match Format::of(path)? {
        #[cfg(feature = "parquet")]
        Format::Parquet => {
            let file = std::fs::File::open(path).map_err(|e| cannot(&e))?;
            // What a file that somebody made claims may be more than the library expects.
            let read = std::panic::catch_unwind(|| super::parquet::read(file));
            read.map_err(|_| cannot(&"it is no sound Parquet file"))?.map_err(|e| cannot(&e))?
        }
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => return Err(cannot(&"Parquet is not built in")),
        Format::Csv => {
            let report = crate::files::text(&report_beside(path), MOST_REPORT)
                .map_err(|e| cannot(&format!("its report, {}: {e}", output::path(&report_beside(path)))))?;
            (csv(path).map_err(|e| cannot(&e))?, serde_json::from_str(&report).ok())
        }
    };
    let report = report.ok_or_else(|| cannot(&"it has no report of `margins records`"))?;
    Ok((columns, report))
}

fn csv(path: &Path) -> Result<Vec<Read>, csv::Error> {
    let mut reader = csv::ReaderBuilder::new().from_path(path)?;
    let head = reader.headers()?.clone();
    let column = |name: &str| Read { name: name.to_owned(), texts: Vec::new(), which: Vec::new() };
    let mut columns: Vec<Read> = head.iter().map(column).collect();
    let mut known: Vec<HashMap<String, u32>> = columns.iter().map(|_| HashMap::new()).collect();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record)? {
        for ((text, column), known) in record.iter().zip(&mut columns).zip(&mut known) {
            column.push(known, text.to_owned());
        }
    }
    Ok(columns)
}
