//! Rows from delimited text.

mod blocks;
mod marks;
mod record;

pub(super) use blocks::Block;

use super::chunk::{CHUNK, Chunk};
use super::error::{IngestError, Place};
use super::fields::{Fields, Wanted, find};
use super::files::DataFile;
use super::piece::{Bad, What};
use crate::spec::CsvOptions;
use blocks::{Blocks, Broken};
use record::Records;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// How many bytes are read at a time: little enough to be still in the cache when they are coded.
pub(super) const BLOCK: usize = 1 << 18;

/// A text file whose header has been read.
pub(super) struct Text {
    blocks: Blocks,
}

/// Where the columns of the spec are in every record.
pub(super) struct Layout {
    delimiter: u8,
    quote: u8,
    /// For each column of the file what is made of it.
    columns: Vec<Uses>,
}

/// What is made of one column: most are one dimension, or nothing.
enum Uses {
    Nothing,
    Nodes(usize),
    Many(Vec<Use>),
}

#[derive(Clone, Copy)]
enum Use {
    Dimension(usize),
    Unit,
}

impl Text {
    /// Reads the header, and finds the columns. `block` is how many bytes are read at a time.
    ///
    /// A UTF-8 byte order mark at the start is skipped, and so are lines with nothing on them at all (a lone empty cell must therefore be
    /// written as `""`).
    pub fn open(
        file: &DataFile,
        options: &CsvOptions,
        fields: &Fields<'_>,
        wanted: Wanted,
        block: usize,
    ) -> Result<(Text, Layout), IngestError> {
        let file = file.open()?;
        let (delimiter, quote) = (options.delimiter, options.quote);
        let broken = |broken| match broken {
            Broken::Io(error) => IngestError::Read { after: Place { row: 0, line: None }, error },
            Broken::Long(_) => IngestError::Long { after: Place { row: 0, line: None } },
        };
        let mut blocks = Blocks::new(file, delimiter, quote, block).map_err(broken)?;
        let layout = match &options.columns {
            Some(names) => Layout::find(
                options,
                fields,
                wanted,
                &names.iter().map(|n| n.as_bytes()).collect::<Vec<_>>(),
            )?,
            None => {
                let first = |text: &[u8]| {
                    let mut records = Records::new(text, delimiter, quote);
                    records.whole().map(|_| records.position())
                };
                let header = blocks.first_record(first).map_err(broken)?;
                let mut records = Records::new(&header.bytes, delimiter, quote);
                let (_, names) = records.whole().ok_or(IngestError::NoHeader)?;
                let names: Vec<&[u8]> = names.iter().map(|n| n.as_slice()).collect();
                Layout::find(options, fields, wanted, &names)
                    .map_err(|error| suspect(error, &header.bytes, options))?
            }
        };
        Ok((Text { blocks }, layout))
    }

    /// The next block of whole records.
    pub fn next(&mut self) -> Result<Option<Block>, Stopped> {
        self.blocks.next().map_err(|broken| match broken {
            Broken::Io(error) => Stopped::Io(error),
            Broken::Long(at) => Stopped::Long(at),
        })
    }
}

/// Delimiters that people use.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Where a column is missing that another delimiter would find, says so.
fn suspect(error: IngestError, header: &[u8], options: &CsvOptions) -> IngestError {
    let IngestError::NoColumn { column, .. } = &error else { return error };
    let finds = |delimiter: &u8| {
        let names = Records::new(header, *delimiter, options.quote).whole();
        names.is_some_and(|(_, names)| {
            names.len() > 1 && names.iter().any(|n| n.as_slice() == column.as_bytes())
        })
    };
    match DELIMITERS.into_iter().filter(|d| *d != options.delimiter && *d != options.quote).find(finds) {
        Some(better) => IngestError::Delimiter { column: column.clone(), split: options.delimiter, better },
        None => error,
    }
}

/// Why a text cannot be read on.
pub(super) enum Stopped {
    Io(std::io::ErrorKind),
    /// A record that is too long begins at this byte of the file.
    Long(u64),
}

impl Layout {
    fn find(
        options: &CsvOptions,
        fields: &Fields<'_>,
        wanted: Wanted,
        names: &[&[u8]],
    ) -> Result<Layout, IngestError> {
        let mut uses = vec![Vec::new(); names.len()];
        if let Some(unit) = &fields.unit {
            let at = find(unit.column, names.iter().copied())?;
            uses[at].extend((wanted == Wanted::Units).then_some(Use::Unit));
        }
        for (dimension, field) in fields.dimensions.iter().enumerate() {
            let at = find(field.column, names.iter().copied())?;
            uses[at].extend((wanted == Wanted::Dimensions).then_some(Use::Dimension(dimension)));
        }
        let columns = uses.into_iter().map(|uses| match *uses {
            [] => Uses::Nothing,
            [Use::Dimension(d)] if !fields.dimensions[d].coder.is_text() => Uses::Nodes(d),
            _ => Uses::Many(uses),
        });
        Ok(Layout { delimiter: options.delimiter, quote: options.quote, columns: columns.collect() })
    }

    /// Codes all records of a block, and hands them on by the chunk. Returns how many there were.
    pub fn decode(
        &self,
        block: &[u8],
        fields: &Fields<'_>,
        chunk: &mut Chunk,
        take: &mut dyn FnMut(&mut Chunk),
    ) -> Result<u64, Bad> {
        let mut records = Records::new(block, self.delimiter, self.quote);
        let (mut row, mut before) = (0, 0);
        chunk.clear();
        while let Some(begin) = records.begin() {
            if !self.record(&mut records, fields, chunk, row) {
                let rows = before + row as u64;
                return Err(self.explain(block.get(begin..).unwrap_or_default(), fields, rows + 1, begin));
            }
            row += 1;
            if row == CHUNK {
                chunk.fill(row);
                take(chunk);
                chunk.clear();
                before += row as u64;
                row = 0;
            }
        }
        chunk.fill(row);
        take(chunk);
        Ok(before + row as u64)
    }

    /// Codes one record, and says whether all is well with it.
    #[inline]
    fn record(&self, records: &mut Records<'_>, fields: &Fields<'_>, chunk: &mut Chunk, row: usize) -> bool {
        let mut good = true;
        let mut columns = self.columns.iter();
        loop {
            let (field, last) = records.field();
            match columns.next() {
                Some(Uses::Nothing) => {}
                Some(Uses::Nodes(dimension)) => {
                    let (text, from, to) = records.bytes(&field);
                    match fields.dimensions[*dimension].coder.quick(text, from, to) {
                        Some(node) => chunk.set(*dimension, row, node),
                        None => good = false,
                    }
                }
                Some(Uses::Many(uses)) => {
                    let (text, from, to) = records.bytes(&field);
                    let cell = text.get(from..to).unwrap_or_default();
                    good &= uses.iter().all(|one| one.code(cell, fields, chunk, row));
                }
                None => good = false,
            }
            if last {
                return good && columns.next().is_none();
            }
        }
    }

    /// What is wrong with the first record of `text`: its width first, then its unit, then the dimensions in their order.
    #[cold]
    fn explain(&self, text: &[u8], fields: &Fields<'_>, row: u64, begin: usize) -> Bad {
        let cells = Records::new(text, self.delimiter, self.quote).whole().map_or(Vec::new(), |(_, f)| f);
        let expected = self.columns.len();
        let what = if cells.len() != expected {
            What::Ragged { expected, found: cells.len() }
        } else {
            let uses = self.columns.iter().zip(&cells).flat_map(|(uses, cell)| {
                let uses: Vec<Use> = match uses {
                    Uses::Nothing => Vec::new(),
                    Uses::Nodes(d) => vec![Use::Dimension(*d)],
                    Uses::Many(uses) => uses.clone(),
                };
                uses.into_iter().map(move |one| (one, cell))
            });
            let faults = uses.filter_map(|(one, cell)| match one {
                Use::Dimension(d) => Some((d + 1, fields.dimensions.get(d)?.coder.code(cell).err()?)),
                Use::Unit => Some((0, super::fields::unit_of(cell).err()?)),
            });
            match faults.min_by_key(|(order, _)| *order) {
                Some((order, fault)) => What::Cell { column: fields.column(order), fault },
                // Never: what was refused quickly is refused slowly.
                None => What::Ragged { expected, found: cells.len() },
            }
        };
        Bad { row, offset: Some(begin as u64), what }
    }
}

impl Use {
    fn code(self, cell: &[u8], fields: &Fields<'_>, chunk: &mut Chunk, row: usize) -> bool {
        match self {
            Use::Unit => {
                chunk.push_id(cell);
                super::fields::unit_of(cell).is_ok()
            }
            Use::Dimension(dimension) => {
                let coder = &fields.dimensions[dimension].coder;
                let Ok(code) = coder.code(cell) else { return false };
                match chunk.texts_mut(dimension) {
                    Some(texts) if coder.is_text() => texts.push(code),
                    _ => chunk.set(dimension, row, code as u32),
                }
                true
            }
        }
    }
}

/// The line, from 1, that begins at a byte of the file or contains it.
pub(super) fn line(path: &Path, offset: u64) -> Option<u64> {
    let mut file = File::open(path).ok()?.take(offset);
    let mut bytes = zeroize::Zeroizing::new(vec![0; BLOCK]);
    let mut lines = 1;
    loop {
        match file.read(&mut bytes).ok()? {
            0 => return Some(lines),
            read => lines += memchr::memchr_iter(b'\n', bytes.get(..read)?).count() as u64,
        }
    }
}
