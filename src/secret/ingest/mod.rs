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
//! | `files`, `keyed`, `piped` | one file, a folder, a pattern; folders that say a column; a pipe |
//! | `spill` | a temporary file that nobody else can read |
//! | `run`, `piece` | who reads what, and whose error is told |
//! | `text/`, `parquet/` | from bytes to cells |
//! | `code`, `lookup` | from a cell to a node |
//! | `memory` | how much of it all of that may take |
//! | `chunk`, `rows` | coded rows: some thousand, or all |
//! | `unit`, `zeros` | which rows count, and which must not be |

mod amount;
mod check;
mod chunk;
mod code;
mod error;
mod faults;
mod fields;
mod files;
mod frame;
#[cfg(fuzzing)]
pub mod fuzzed;
mod keyed;
mod leak_check;
mod lookup;
mod memory;
mod numbers;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
mod parquet_off;
mod piece;
mod piped;
mod rows;
mod run;
mod spill;
#[cfg(test)]
pub(in crate::secret) mod tests;
mod text;
mod unit;
mod zeros;

pub use crate::calendar::written as day_text;
pub(in crate::secret) use amount::beyond;
pub(crate) use check::Problem;
pub(crate) use check::{Report, check};
pub(in crate::secret) use chunk::{CHUNK, Chunk};
pub use error::IngestError;
pub(crate) use files::Origin;
pub(crate) use files::{DataFile, files, files_of, format};
pub use frame::{Frame, Held};
pub use memory::{Means, Memory};
pub(crate) use memory::{least_for_units, least_memory};
pub(crate) use numbers::Number;
pub(in crate::secret) use numbers::numbers;
#[cfg(feature = "parquet")]
pub(crate) use parquet::all::all as all_of_parquet;
pub(crate) use piped::Piped;
pub use rows::Rows;
pub(in crate::secret) use rows::{Codes, Values};
pub(in crate::secret) use run::{Settings, Take};

use crate::spec::{CsvOptions, Format, Spec};
use fields::Fields;
#[cfg(feature = "parquet")]
use parquet::Groups;
#[cfg(not(feature = "parquet"))]
use parquet_off::Groups;
use run::Run;
use std::collections::BTreeSet;
use unit::Bounding;
use zeros::Zeros;

/// The stage of reading, in bytes of the files: a bar shows their size, and no number of rows.
pub(crate) const READING: &str = "reading";

/// Reads the rows of a file, a folder or a pipe, coded by the spec and bounded by its unit of privacy.
///
/// The spec's own format and CSV options apply. A file other than the spec's own whose name ends in
/// `.parquet` or `.csv` is taken to be that.
pub fn read<'o>(spec: &Spec, from: impl Into<Origin<'o>>, means: &Means) -> Result<Rows, IngestError> {
    read_with(spec, from.into(), means, Settings::default())
}

/// [`read`], with the work shared out in this way.
pub(in crate::secret) fn read_with<'o>(
    spec: &Spec,
    from: impl Into<Origin<'o>>,
    means: &Means,
    settings: Settings,
) -> Result<Rows, IngestError> {
    let from = from.into();
    room_for_rows(spec, from, means.memory)?;
    let rows = Rows::of(&Fields::of(spec, means.memory)?);
    let seen = each(spec, from, means, settings, &|| rows::Pieces::new(rows.like()))?;
    let mut rows = rows::Pieces::together(rows, seen.takers);
    rows.set_cut(seen.cut);
    Ok(rows)
}

/// Refuses rows that are all kept and may not fit, before one is read: of text as many as its bytes could be.
fn room_for_rows(spec: &Spec, from: Origin<'_>, memory: Memory) -> Result<(), IngestError> {
    let Some(limit) = memory.limit() else { return Ok(()) };
    let fields = Fields::of(spec, memory)?;
    let mut rows = 0u64;
    for file in files(spec, from)? {
        rows = rows.saturating_add(match file.format {
            // A byte may be any number of rows.
            Format::Csv if file.is_packed() => u64::MAX,
            // A cell is a byte at least, or what parts it from the next: of each column that is in the file, once.
            Format::Csv => {
                let in_file = |column: &&str| file.keys.iter().all(|(key, _)| key != column);
                let own: BTreeSet<&str> =
                    fields.dimensions.iter().map(|f| f.column).filter(in_file).collect();
                file.size / (own.len() as u64).max(1)
            }
            Format::Parquet => Groups::open(&file, &fields)?.rows(),
        });
    }
    // While columns are put together one of them is there twice.
    let row = Rows::of(&fields).row_bytes() + 8;
    let needs = rows.saturating_mul(row).saturating_add(least_memory(rayon::current_num_threads()));
    if needs > limit { Err(IngestError::Little { needs, limit }) } else { Ok(()) }
}

/// What has taken all rows that count.
pub(in crate::secret) struct Seen<S> {
    pub takers: Vec<S>,
    /// How many units had more rows than count.
    pub cut: u64,
}

/// Hands all rows that count to what `make` makes, one for each thread.
pub(in crate::secret) fn each<S: Take>(
    spec: &Spec,
    from: Origin<'_>,
    means: &Means,
    settings: Settings,
    make: &(dyn Fn() -> S + Sync),
) -> Result<Seen<S>, IngestError> {
    each_of(spec, &files(spec, from)?, &options(spec), means, settings, make)
}

/// The columns of these files, which are all of one format: only text has numbers that are written somehow.
fn fields<'s>(
    spec: &'s Spec,
    files: &[DataFile],
    options: &CsvOptions,
    memory: Memory,
) -> Result<Fields<'s>, IngestError> {
    let fields = Fields::of(spec, memory)?;
    let text = files.first().is_some_and(|file| file.format == Format::Csv);
    Ok(if text { fields.written(options.numbers) } else { fields })
}

/// How the spec says that text is written.
fn options(spec: &Spec) -> CsvOptions {
    spec.data.as_ref().map_or_else(CsvOptions::default, |data| data.csv.clone())
}

/// [`read`], of rows in memory.
pub(crate) fn read_frame(spec: &Spec, frame: &Frame, means: &Means) -> Result<Rows, IngestError> {
    let fields = Fields::of(spec, means.memory)?;
    frame.fits(&fields)?;
    let (file, options) = frame.file();
    let rows = Rows::of(&fields);
    let make = || rows::Pieces::new(rows.like());
    // Of a few rows no more memory is wiped than they take.
    let settings =
        Settings { block: text::BLOCK.min(file.size as usize + 1).max(1 << 12), ..Settings::default() };
    let seen = each_of(spec, &[file], &options, means, settings, &make)?;
    let mut rows = rows::Pieces::together(rows, seen.takers);
    rows.set_cut(seen.cut);
    Ok(rows)
}

/// [`each`], of these files.
fn each_of<S: Take>(
    spec: &Spec,
    files: &[DataFile],
    options: &CsvOptions,
    means: &Means,
    settings: Settings,
    make: &(dyn Fn() -> S + Sync),
) -> Result<Seen<S>, IngestError> {
    let fields = fields(spec, files, options, means.memory)?;
    let zeros = Zeros::of(spec);
    let size = files.iter().map(|file| file.size).fold(0, u64::saturating_add);
    // Choosing among rows that were read takes about as long as reading them again.
    let passes = if fields.unit.is_some() { 2 } else { 1 };
    let tell = |done: u64| means.watch.tell(READING, done, size);
    let step = |done: u64| tell(done.min(size) / passes);
    // All files are of one format.
    let format = files.first().map_or(Format::Csv, |file| file.format);
    let memory = settings.memory.min(means.memory.for_units(settings.threads, format));
    let watch = &means.watch;
    let run =
        Run { files, options, fields: &fields, zeros: None, check: false, settings, watch, progress: &step };
    let (takers, cut) = match &fields.unit {
        None => (Run { zeros: Some(&zeros), ..run }.all(make)?.0, 0),
        Some(unit) => {
            let bounding = Bounding::new(&fields, unit, memory, settings.threads, watch);
            let (parted, _) = run.all(&|| bounding.parting())?;
            let part = |done: usize, of: usize| {
                tell(size / 2 + (size / 2 / of as u64).saturating_mul(done as u64));
            };
            bounding.choose(parted, &zeros, make, &part)?
        }
    };
    zeros.check()?;
    tell(size);
    Ok(Seen { takers, cut })
}
