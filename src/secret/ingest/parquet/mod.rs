//! Rows from Parquet: row groups one beside the other, each a few thousand rows at a time.
//!
//! | file | idea |
//! |---|---|
//! | `place` | bytes of the file, for as many threads as ask |
//! | `pages`, `hybrid` | what is in a column chunk |
//! | `sizes` | how much memory pages take, before they are read |
//! | `slow` | column chunks in rarer encodings |
//! | `stored` | how values are stored, and what they say |
//! | `types` | what a column's type says that it holds |
//! | `cells` | what becomes of the cells |
//! | `all` | every cell, for drafts of specs |

pub(super) mod all;
mod cells;
mod hybrid;
mod pages;
mod place;
mod sizes;
mod slow;
mod stored;
#[cfg(test)]
mod tests;
mod types;

use super::chunk::{CHUNK, Chunk};
use super::code::Kind;
use super::error::IngestError;
use super::fields::{Field, Fields, find, places};
use super::files::DataFile;
use super::keyed::Key;
use super::piece::{Bad, Stop, What};
use ::parquet::basic::{Compression, Encoding};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::reader::{FileReader, RowGroupReader};
use ::parquet::file::serialized_reader::SerializedFileReader;
use ::parquet::record::Field as Held;
use ::parquet::schema::types::SchemaDescriptor;
use cells::{Cells, To};
use pages::Pages;
use place::OnDisk;
use slow::Slow;
use std::cell::Cell;
use std::io::Read;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Once};
use stored::{Stored, Value};
use zeroize::Zeroizing;

/// A Parquet file whose footer has been read, as if it were the CSV file of the same table: a null is an empty cell, whole numbers
/// are written in decimal, decimals with all the digits that their column has behind the point, fractions with the fewest digits that mean the same
/// number, booleans as `true` and `false`. A column's type must fit its dimension: see [`types`].
pub(super) struct Groups {
    reader: SerializedFileReader<OnDisk>,
    file: OnDisk,
    /// Where each dimension is.
    dimensions: Vec<Source>,
    /// Where each column is that is multiplied.
    factors: Vec<Source>,
    unit: Option<Source>,
    /// What orders the rows of a unit.
    orders: Vec<Source>,
}

impl Groups {
    /// Reads the footer, and finds the columns.
    pub(super) fn open(file: &DataFile, fields: &Fields<'_>) -> Result<Groups, IngestError> {
        keep_memory();
        let open = || {
            let reader = reader(file)?;
            let schema = reader.metadata().file_metadata().schema_descr();
            let find = |column: &str, kind| Source::find(schema, &file.keys, column, kind);
            let unit = fields.unit.as_ref().map(|unit| find(unit.column, Kind::Labels));
            let unit = unit.transpose()?;
            let orders = fields.unit.iter().flat_map(|unit| &unit.order);
            let orders = orders.map(|column| find(column, Kind::Order));
            let orders = orders.collect::<Result<Vec<_>, _>>()?;
            let dimensions = fields.dimensions.iter().map(|f| find(f.column, f.coder.kind()));
            let dimensions = dimensions.collect::<Result<Vec<_>, _>>()?;
            let factors = fields.factors().map(|(column, coder)| find(column, coder.kind()));
            let factors = factors.collect::<Result<Vec<_>, _>>()?;
            let file = OnDisk(file.clone());
            Ok(Groups { reader, file, dimensions, factors, unit, orders })
        };
        undamaged(open).unwrap_or(Err(IngestError::Parquet(DAMAGED)))
    }

    /// How many row groups there are.
    pub(super) fn len(&self) -> usize {
        self.reader.num_row_groups()
    }

    /// How many rows the file says that it has.
    pub(super) fn rows(&self) -> u64 {
        u64::try_from(self.reader.metadata().file_metadata().num_rows()).unwrap_or(u64::MAX)
    }

    /// How many bytes of the file a row group has.
    pub(super) fn bytes(&self, group: usize) -> u64 {
        let group = self.reader.metadata().row_groups().get(group);
        group.map_or(0, |group| u64::try_from(group.compressed_size()).unwrap_or(0))
    }

    /// Codes all rows of a row group, and hands them on by the chunk. Returns how many there were.
    pub(crate) fn decode(
        &self,
        group: usize,
        fields: &Fields<'_>,
        chunk: &mut Chunk,
        take: &mut dyn FnMut(&mut Chunk),
    ) -> Result<u64, Stop> {
        undamaged(|| self.decode_group(group, fields, chunk, take))
            .unwrap_or(Err(Stop::File(IngestError::Parquet(DAMAGED))))
    }

    fn decode_group(
        &self,
        group: usize,
        fields: &Fields<'_>,
        chunk: &mut Chunk,
        take: &mut dyn FnMut(&mut Chunk),
    ) -> Result<u64, Stop> {
        let group = self.reader.get_row_group(group).map_err(undecodable)?;
        let sources = self.unit.iter().chain(&self.orders).chain(&self.dimensions).chain(&self.factors);
        sizes::fits(&self.file, group.metadata(), sources, fields.memory)?;
        let rows = u64::try_from(group.metadata().num_rows()).map_err(|_| IngestError::Parquet(BROKEN))?;
        // The place in the order of complaints, and the cells.
        let mut columns = Vec::new();
        if let Some((source, unit)) = self.unit.as_ref().zip(fields.unit.as_ref()) {
            columns.push((0, Stream::new(source, &*group, To::Unit(unit, fields.blanks), chunk)?));
        }
        for (order, source) in self.orders.iter().enumerate() {
            columns.push((1 + order, Stream::new(source, &*group, To::Order(order, fields.blanks), chunk)?));
        }
        let factors = self.factors.iter().zip(fields.factors());
        for (factor, (source, (_, coder))) in factors.enumerate() {
            let to = To::Factor(factor, coder);
            columns.push((fields.place_of(factor), Stream::new(source, &*group, to, chunk)?));
        }
        let own = |field: &Field<'_>| field.factors.is_empty();
        let dimensions = self.dimensions.iter().zip(&fields.dimensions).enumerate();
        for (d, (source, field)) in dimensions.filter(|(_, (_, field))| own(field)) {
            let to = To::Dimension(d, &field.coder);
            columns.push((1 + self.orders.len() + d, Stream::new(source, &*group, to, chunk)?));
        }
        let mut before = 0;
        while before < rows {
            chunk.clear();
            let len = usize::try_from(rows - before).unwrap_or(CHUNK).min(CHUNK);
            let mut first: Option<(usize, usize, _)> = None;
            let mut faults = chunk.faults.take();
            let mut wrong = vec![false; if faults.is_some() { len } else { 0 }];
            for (order, stream) in &mut columns {
                stream.fill(chunk, len)?;
                if let Some(faults) = &mut faults {
                    for (row, fault) in stream.cells().all() {
                        faults.cell(*order, fault, before + row as u64 + 1, None);
                        wrong.iter_mut().skip(row).take(1).for_each(|wrong| *wrong = true);
                    }
                    continue;
                }
                if let Some((row, fault)) = stream.cells().bad()
                    && first.is_none_or(|(earliest, ..)| row < earliest)
                {
                    first = Some((row, *order, fault));
                }
            }
            if let Some((row, order, fault)) = first {
                let what = What::Cell { column: fields.column(order), fault };
                return Err(Bad { row: before + row as u64 + 1, offset: None, what }.into());
            }
            // Of rows that are left out below whatever their factors make.
            if !chunk.multiply_all(fields, len) {
                return Err(IngestError::Parquet(BROKEN).into());
            }
            chunk.fill(len);
            if let Some(faults) = &mut faults {
                faults.rows += wrong.iter().filter(|wrong| **wrong).count() as u64;
            }
            if faults.is_some() || !chunk.dropped.is_empty() {
                let dropped = std::mem::take(&mut chunk.dropped);
                chunk.retain(|row| wrong.get(row) != Some(&true) && dropped.binary_search(&row).is_err());
            }
            chunk.faults = faults;
            take(chunk);
            before += len as u64;
        }
        chunk.clear();
        for (_, stream) in &mut columns {
            if !stream.finished(chunk)? {
                return Err(IngestError::Parquet(BROKEN).into());
            }
        }
        // Each for the same column of the next group.
        chunk.spare = columns.iter_mut().rev().map(|(_, stream)| stream.cells().take_nodes()).collect();
        Ok(rows)
    }
}

/// The columns `names` of a file of whole numbers, row by row. There may be no others.
pub(super) fn numbers<E: From<IngestError>>(
    file: &DataFile,
    names: &[String],
    take: &mut dyn FnMut(&[Option<i64>]) -> Result<(), E>,
) -> Result<(), E> {
    let all = || -> Result<(), E> {
        let reader = SerializedFileReader::new(OnDisk(file.clone())).map_err(undecodable)?;
        let roots = reader.metadata().file_metadata().schema_descr().root_schema().get_fields().to_vec();
        let places = places(names, roots.iter().map(|root| root.name().as_bytes()))?;
        for (row, number) in reader.get_row_iter(None).map_err(undecodable)?.zip(1..) {
            let row = row.map_err(undecodable)?;
            let cells: Vec<&Held> = row.get_column_iter().map(|(_, field)| field).collect();
            let cell = |&at: &usize| whole(cells.get(at)?);
            let cells = places.iter().map(cell).collect::<Option<Vec<_>>>();
            take(&cells.ok_or(IngestError::Number { row: number })?)?;
        }
        Ok(())
    };
    undamaged(all).unwrap_or(Err(IngestError::Parquet(DAMAGED).into()))
}

/// A whole number or a null; `None` is anything else.
fn whole(field: &Held) -> Option<Option<i64>> {
    Some(match field {
        Held::Null => None,
        Held::Byte(n) => Some((*n).into()),
        Held::Short(n) => Some((*n).into()),
        Held::Int(n) => Some((*n).into()),
        Held::Long(n) => Some(*n),
        Held::UByte(n) => Some((*n).into()),
        Held::UShort(n) => Some((*n).into()),
        Held::UInt(n) => Some((*n).into()),
        Held::ULong(n) => Some(i64::try_from(*n).ok()?),
        _ => return None,
    })
}

/// Pages are in memory that is taken and given back again and again. The C library of Linux gives back to the system at once what is longer than 128 kB,
/// unless something longer was given back before, and new memory of the system is slower to touch than a page is to read. Nothing of this block is touched.
fn keep_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(8 << 20)));
}

/// Runs what reads a file. The library panics on some damaged ones (negative offsets, pages out of order): then there is nothing. What
/// was being filled is given up, so nothing half-made can be seen.
fn undamaged<T>(f: impl FnOnce() -> T) -> Option<T> {
    quietly(|| std::panic::catch_unwind(AssertUnwindSafe(f))).ok()
}

thread_local! {
    /// Whether panics of this thread are expected, and say nothing.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` without the message that a panic prints: its text is the library's, not ours to vouch for, and may hold values of the data.
/// Only the process's hook prints it, and prints before anybody can catch the panic: the library has no way to decode without panics,
/// and the standard library no hook for one thread. So a hook of ours stands before the one found, once, and is silent only where this
/// thread says so: panics elsewhere, and in other threads meanwhile, are printed as always.
fn quietly<T>(f: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic);
            }
        }));
    });
    QUIET.set(true);
    let out = f();
    QUIET.set(false);
    out
}

const DAMAGED: &str = "cannot be decoded: it is damaged or encrypted";
const UNREADABLE: &str = "has no readable footer: it is cut short, encrypted, or not Parquet at all";
const BROKEN: &str = "is damaged: its row groups and columns contradict each other";
const LONG: &str = "has values that are too long for the limit of memory";
const WIDE: &str = "has long values in more columns than the limit of memory has room for on so many threads";
const UNKNOWN: &str = "uses an encoding that this build does not know";

/// The library's texts are not passed on: nobody has checked that they are free of values.
fn undecodable(error: ParquetError) -> IngestError {
    IngestError::Parquet(match error {
        ParquetError::NYI(_) => UNKNOWN,
        ParquetError::EOF(_) => "is cut short",
        _ => DAMAGED,
    })
}

/// Reads the footer of a file; of what is no Parquet, told by its first bytes, it is said what it is.
fn reader(file: &DataFile) -> Result<SerializedFileReader<OnDisk>, IngestError> {
    SerializedFileReader::new(OnDisk(file.clone())).map_err(|_| {
        let mut start = Zeroizing::new(Vec::new());
        let read = file.at(0).and_then(|file| file.take(START).read_to_end(&mut start));
        let what = read.ok().filter(|_| !start.starts_with(MAGIC)).and(crate::files::foreign(&start));
        what.map_or(IngestError::Parquet(UNREADABLE), IngestError::Foreign)
    })
}

/// How Parquet begins.
const MAGIC: &[u8] = b"PAR1";
/// So many bytes tell what a file is.
const START: u64 = 4096;

/// Refuses what is packed in a way that this build cannot unpack.
fn unpackable(column: &ColumnChunkMetaData) -> Result<(), IngestError> {
    match column.compression() {
        Compression::LZO | Compression::BROTLI(_) => {
            Err(IngestError::Parquet("is compressed with LZO or Brotli, which this build does not know"))
        }
        _ => Ok(()),
    }
}

/// The cells of one column in one row group.
enum Stream<'f> {
    /// One value in all rows.
    Key(Box<Cells<'f>>),
    Pages(Box<Pages<'f>>),
    Slow(Box<Slow<'f>>),
}

impl<'f> Stream<'f> {
    fn new(
        source: &Source,
        group: &dyn RowGroupReader,
        to: To<'f>,
        chunk: &mut Chunk,
    ) -> Result<Stream<'f>, IngestError> {
        let mut cells = Cells::new(to, chunk.spare.pop().unwrap_or_default());
        let (leaf, stored) = match source {
            Source::Column(leaf, stored) => (*leaf, *stored),
            Source::Key(value) => {
                cells.entry(Value::Bytes(value.as_bytes()));
                return Ok(Stream::Key(Box::new(cells)));
            }
        };
        let column = group.metadata().columns().get(leaf).ok_or(IngestError::Parquet(BROKEN))?;
        unpackable(column)?;
        if column.column_type() != stored.physical {
            return Err(IngestError::Parquet(BROKEN));
        }
        Ok(if known(column) {
            let pages = group.get_column_page_reader(leaf).map_err(undecodable)?;
            Stream::Pages(Box::new(Pages::new(pages, stored, cells)))
        } else {
            let reader = group.get_column_reader(leaf).map_err(undecodable)?;
            Stream::Slow(Box::new(Slow::new(reader, stored, cells)))
        })
    }

    fn cells(&mut self) -> &mut Cells<'f> {
        match self {
            Stream::Key(cells) => cells,
            Stream::Pages(pages) => pages.cells(),
            Stream::Slow(slow) => slow.cells(),
        }
    }

    fn fill(&mut self, chunk: &mut Chunk, len: usize) -> Result<(), IngestError> {
        match self {
            Stream::Key(cells) => {
                cells.begin(chunk, len);
                cells.places(chunk, 0, &vec![0; len], 1).ok_or(IngestError::Parquet(BROKEN))
            }
            Stream::Pages(pages) => pages.fill(chunk, len),
            Stream::Slow(slow) => slow.fill(chunk, len),
        }
    }

    fn finished(&mut self, chunk: &mut Chunk) -> Result<bool, IngestError> {
        match self {
            Stream::Key(_) => Ok(true),
            Stream::Pages(pages) => pages.finished(),
            Stream::Slow(slow) => slow.finished(chunk),
        }
    }
}

/// Whether a column chunk says that it is made of what [`pages`] knows.
fn known(chunk: &ColumnChunkMetaData) -> bool {
    let easy = |encoding| {
        matches!(
            encoding,
            Encoding::PLAIN | Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY | Encoding::RLE
        )
    };
    chunk.encodings().all(easy)
}

/// Where a column is.
enum Source {
    /// It is a flat column of the file.
    Column(usize, Stored),
    /// The file's folders say it.
    Key(Arc<Zeroizing<String>>),
}

impl Source {
    fn find(
        schema: &SchemaDescriptor,
        keys: &[Key],
        column: &str,
        wanted: Kind,
    ) -> Result<Source, IngestError> {
        let roots = schema.root_schema().get_fields();
        let names = roots.iter().map(|root| root.name()).chain(keys.iter().map(|(name, _)| name.as_str()));
        let root = find(column, &names.map(str::as_bytes).collect::<Vec<_>>(), roots.len())?;
        if let Some((_, value)) = root.checked_sub(roots.len()).and_then(|key| keys.get(key)) {
            return Ok(Source::Key(value.clone()));
        }
        let refuse = |found| {
            let wanted = wanted.wanted();
            IngestError::ColumnType { column: column.to_owned(), found, wanted }
        };
        let flat = |leaf: &usize| {
            let leaf = schema.column(*leaf);
            leaf.path().parts().len() == 1 && leaf.max_rep_level() == 0 && leaf.max_def_level() <= 1
        };
        let leaf = (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == root);
        let leaf = leaf.filter(flat).ok_or_else(|| refuse("nested"))?;
        let descriptor = schema.column(leaf);
        let held = types::held(descriptor.self_type());
        let meaning = types::meaning(held, wanted).map_err(refuse)?;
        let stored = Stored {
            physical: descriptor.physical_type(),
            meaning,
            length: usize::try_from(descriptor.type_length()).unwrap_or(0),
            nullable: descriptor.max_def_level() == 1,
        };
        Ok(Source::Column(leaf, stored))
    }
}
