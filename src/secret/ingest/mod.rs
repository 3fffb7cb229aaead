//! Private rows become coded columns: one streaming pass over a CSV or Parquet file.
//!
//! Only the columns that the spec names are looked at. Every value must be in its dimension's domain, or
//! the dimension must say where empty cells (`missing`) and strange values (`other`) belong; nothing is
//! trimmed, folded, guessed or dropped. A bad row stops the reading before anything is counted or
//! released, so errors are seen by the holder of the data alone; they still name rows and columns and
//! never values, because error messages travel.
//!
//! Every cell is coded on its own, by the public spec. That is why coding costs no privacy: a row more or
//! less is a coded row more or less.

mod code;
mod csv;
mod error;
mod fields;
#[cfg(feature = "parquet")]
mod parquet;
mod rows;
#[cfg(test)]
pub(in crate::secret) mod tests;
mod unit;
mod zeros;

pub use error::{Fault, IngestError, Place};
pub use rows::Rows;
pub(in crate::secret) use rows::{Codes, Values};

use crate::spec::{CsvOptions, Format, Spec};
use fields::Fields;
use std::fs::File;
use std::path::Path;

/// Told how far a file has been read.
///
/// The unit is bytes of the file, so that a progress bar shows the file's size and no number of rows.
pub trait Progress {
    /// `done` of `of` bytes are read. The last call has `done == of`, unless reading fails.
    fn step(&self, done: u64, of: u64);
}

/// Nobody watches.
impl Progress for () {
    fn step(&self, _done: u64, _of: u64) {}
}

/// Reads the rows of `path`, coded by the spec and bounded by its unit of privacy.
///
/// The spec's own format and CSV options apply. A file other than the spec's own whose name ends in
/// `.parquet` or `.csv` is taken to be that.
pub fn read(spec: &Spec, path: &Path, progress: &dyn Progress) -> Result<Rows, IngestError> {
    let mut fields = Fields::of(spec)?;
    let unreadable = |error: std::io::Error| IngestError::Open { path: path.to_owned(), error: error.kind() };
    // A pipe would be waited for, and a device has no end.
    let size = match crate::spec::regular(path) {
        Err(e) if e.kind() == std::io::ErrorKind::InvalidInput => {
            return Err(IngestError::NotAFile { path: path.to_owned() });
        }
        size => size.map_err(unreadable)?,
    };
    let file = File::open(path).map_err(unreadable)?;
    let mut rows = match format(spec, path) {
        Format::Csv => {
            let default = CsvOptions { delimiter: b',', quote: b'"', columns: None };
            let options = spec.data.as_ref().map_or(&default, |data| &data.csv);
            csv::read(file, size, options, &mut fields, progress)
        }
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::read(file, size, &mut fields, progress),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(IngestError::NoParquet),
    }?;
    rows.set_cut(fields.unit.as_ref().map_or(0, |unit| unit.cut()));
    zeros::check(&rows, spec)?;
    Ok(rows)
}

fn format(spec: &Spec, path: &Path) -> Format {
    let own = spec.data.as_ref();
    let by_name = match path.extension() {
        _ if own.is_some_and(|data| data.path == path) => None,
        Some(end) if end.eq_ignore_ascii_case("parquet") => Some(Format::Parquet),
        Some(end) if end.eq_ignore_ascii_case("csv") => Some(Format::Csv),
        _ => None,
    };
    by_name.or(own.map(|data| data.format)).unwrap_or(Format::Csv)
}
