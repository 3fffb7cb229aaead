//! Private rows become coded columns: files are read in pieces, on all cores, a few thousand rows at a time.
//!
//! Only the columns that the spec names are looked at. Every value must be in its dimension's domain, or
//! the dimension must say where empty cells (`missing`) and strange values (`other`) belong; nothing is
//! trimmed, folded, guessed or dropped. A bad row stops the reading before anything is
//! released, so errors are seen by the holder of the data alone; they still name rows and columns and
//! never values, because error messages travel.
//!
//! Every cell is coded on its own, by the public spec. That is why coding costs no privacy: a row more or
//! less is a coded row more or less.
//!
//! | file | idea |
//! |---|---|
//! | `files` | one file, a folder, a pattern |
//! | `run`, `piece` | who reads what, and whose error is told |
//! | `text/`, `parquet/` | from bytes to cells |
//! | `code`, `lookup` | from a cell to a node |
//! | `chunk`, `rows` | coded rows: some thousand, or all |
//! | `unit`, `zeros` | which rows count, and which must not be |

mod chunk;
mod code;
mod error;
mod fields;
mod files;
mod frame;
mod lookup;
mod numbers;
#[cfg(feature = "parquet")]
mod parquet;
mod piece;
mod rows;
mod run;
#[cfg(test)]
pub(in crate::secret) mod tests;
mod text;
mod unit;
#[cfg(not(feature = "parquet"))]
mod without;
mod zeros;

pub(in crate::secret) use chunk::{CHUNK, Chunk};
pub use error::{Fault, IngestError, Place};
pub use files::{DataFile, files};
pub use frame::{Frame, Held};
pub use numbers::Number;
pub(in crate::secret) use numbers::numbers;
pub use rows::Rows;
pub(in crate::secret) use rows::{Codes, Values};
pub(in crate::secret) use run::{Settings, Take};

use crate::spec::{CsvOptions, Spec, Unit};
use fields::{Fields, Wanted};
#[cfg(feature = "parquet")]
use parquet::Groups;
use run::Run;
use std::path::Path;
use unit::{Bounding, Kept};
#[cfg(not(feature = "parquet"))]
use without::Groups;
use zeros::Zeros;

/// Told how far the data has been read.
///
/// The unit is bytes of the files, so that a progress bar shows their size and no number of rows.
pub trait Progress: Sync {
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
    read_with(spec, path, progress, Settings::default())
}

/// [`read`], with the work shared out in this way.
pub(in crate::secret) fn read_with(
    spec: &Spec,
    path: &Path,
    progress: &dyn Progress,
    settings: Settings,
) -> Result<Rows, IngestError> {
    let rows = Fields::of(spec)?.rows();
    let seen = each(spec, path, progress, settings, &|| rows::Pieces::new(rows.like()))?;
    let mut rows = rows::Pieces::together(rows, seen.takers);
    rows.set_cut(seen.cut);
    Ok(rows)
}

/// What has taken all rows that count.
pub(in crate::secret) struct Seen<S> {
    pub takers: Vec<S>,
    /// How many units had more rows than count.
    pub cut: u64,
}

/// Hands all rows of `path` that count to what `make` makes, one for each thread.
pub(in crate::secret) fn each<S: Take>(
    spec: &Spec,
    path: &Path,
    progress: &dyn Progress,
    settings: Settings,
    make: &(dyn Fn() -> S + Sync),
) -> Result<Seen<S>, IngestError> {
    let default = CsvOptions { delimiter: b',', quote: b'"', columns: None };
    let options = spec.data.as_ref().map_or(&default, |data| &data.csv);
    each_of(spec, &files(spec, path)?, options, progress, settings, make)
}

/// [`read`], of rows in memory.
pub fn read_frame(spec: &Spec, frame: &Frame, progress: &dyn Progress) -> Result<Rows, IngestError> {
    let fields = Fields::of(spec)?;
    frame.fits(&fields)?;
    let (file, options) = frame.file();
    let rows = fields.rows();
    let make = || rows::Pieces::new(rows.like());
    let seen = each_of(spec, &[file], &options, progress, Settings::default(), &make)?;
    let mut rows = rows::Pieces::together(rows, seen.takers);
    rows.set_cut(seen.cut);
    Ok(rows)
}

/// [`each`], of these files.
fn each_of<S: Take>(
    spec: &Spec,
    files: &[DataFile],
    options: &CsvOptions,
    progress: &dyn Progress,
    settings: Settings,
    make: &(dyn Fn() -> S + Sync),
) -> Result<Seen<S>, IngestError> {
    let fields = Fields::of(spec)?;
    let zeros = Zeros::of(spec)?;
    let size = files.iter().map(|file| file.size).fold(0, u64::saturating_add);
    let passes = if matches!(spec.privacy.unit, Unit::Row) { 1 } else { 2 };
    let step = |pass: u64, done: u64| progress.step((pass * size + done.min(size)) / passes, size);
    let run = Run {
        files,
        options,
        fields: &fields,
        wanted: Wanted::Dimensions,
        kept: None,
        zeros: &zeros,
        settings,
        progress: &|done| step(passes - 1, done),
    };
    let kept: Option<Kept> = match &fields.unit {
        None => None,
        Some(unit) => {
            let bounding = Bounding::new(unit.max_rows);
            let first = Run { wanted: Wanted::Units, progress: &|done| step(0, done), ..run };
            let (_, pieces) = first.all(&|| &bounding)?;
            Some(bounding.kept(&pieces))
        }
    };
    let (takers, _) = Run { kept: kept.as_ref(), ..run }.all(make)?;
    zeros.check()?;
    progress.step(size, size);
    Ok(Seen { takers, cut: kept.map_or(0, |kept| kept.cut) })
}
