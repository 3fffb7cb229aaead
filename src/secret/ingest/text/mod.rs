//! Rows from delimited text.

mod blocks;
mod encoding;
mod marks;
mod record;

pub(super) use blocks::{Block, Buffer};

use super::chunk::{CHUNK, Chunk};
use super::error::{Fault, IngestError, Place};
use super::fields::{Field, Fields, find, order_of, unit_of};
use super::files::DataFile;
use super::keyed::Key;
use super::piece::{Bad, What};
use crate::spec::{CsvOptions, Encoding, line_of_excel};
use blocks::{Blocks, Broken, LONGEST_HEADER};
use record::Records;
use std::io::Read;

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
    encoding: Encoding,
    /// For each column of the file what is made of it.
    columns: Vec<Uses>,
    /// What is made of what the file's folders say.
    keys: Vec<(Use, Key)>,
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
    /// One of the columns that are multiplied.
    Factor(usize),
    Unit,
    /// One of the columns that order the rows of a unit.
    Order(usize),
}

impl Text {
    /// Reads the header, and finds the columns. `block` is how many bytes are read at a time.
    ///
    /// A UTF-8 byte order mark at the start is skipped, and so are lines with nothing on them at all; but in a file of one column such a line
    /// below the header is a row with an empty cell.
    pub(super) fn open(
        file: &DataFile,
        options: &CsvOptions,
        fields: &Fields<'_>,
        block: usize,
    ) -> Result<(Text, Layout), IngestError> {
        let (keys, file) = (&file.keys, file.open()?);
        let (delimiter, quote) = (options.delimiter, options.quote);
        let broken = |broken| match broken {
            Broken::Io(error) => IngestError::Read { after: Place { row: 0, line: None }, error },
            Broken::Long(_) => {
                IngestError::Long { after: Place { row: 0, line: None }, longest: LONGEST_HEADER }
            }
        };
        let mut blocks =
            Blocks::new(file, (delimiter, quote), block, fields.memory.longest()).map_err(broken)?;
        let start = blocks.start();
        if let Some(what) = crate::files::foreign(start).or(line_of_excel(start)) {
            return Err(IngestError::Foreign(what));
        }
        let layout = match &options.columns {
            Some(names) => {
                Layout::find(options, fields, &names.iter().map(|n| n.as_bytes()).collect::<Vec<_>>(), keys)?
            }
            None => {
                let first = |text: &[u8]| {
                    let mut records = Records::new(text, delimiter, quote);
                    records.whole()?;
                    records.end_line();
                    Some(records.position())
                };
                let header = blocks.first_record(first).map_err(broken)?;
                if memchr::memchr(0, &header.bytes).is_some() {
                    return Err(IngestError::Foreign("holds bytes that are no text in its first line"));
                }
                let header = options.encoding.decode(&header.bytes);
                let mut records = Records::new(&header, delimiter, quote);
                let (_, names) = records.whole().ok_or(IngestError::NoHeader)?;
                let names: Vec<&[u8]> = names.iter().map(|n| n.as_slice()).collect();
                Layout::find(options, fields, &names, keys)
                    .map_err(|error| suspect(error, &header, options))?
            }
        };
        Ok((Text { blocks }, layout))
    }

    /// The next block of whole records, in memory from `spare` if there is any.
    pub(super) fn next(&mut self, spare: &mut Vec<Buffer>) -> Result<Option<Block>, Stopped> {
        self.blocks.next(spare).map_err(|broken| match broken {
            Broken::Io(error) => Stopped::Io(error),
            Broken::Long(at) => Stopped::Long(at),
        })
    }
}

/// Delimiters that people use.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Where a column is missing that another delimiter or encoding would find, says so.
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
        None if std::str::from_utf8(header).is_err() => {
            IngestError::HeaderEncoding { column: column.clone(), encoding: options.encoding.name() }
        }
        None if options.encoding.mistaken(header) => {
            IngestError::HeaderUtf8 { column: column.clone(), encoding: options.encoding.name() }
        }
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
        own: &[&[u8]],
        keys: &[Key],
    ) -> Result<Layout, IngestError> {
        let names: Vec<&[u8]> =
            own.iter().copied().chain(keys.iter().map(|(name, _)| name.as_bytes())).collect();
        let find = |column: &str| find(column, &names, own.len());
        let mut uses = vec![Vec::new(); names.len()];
        if let Some(unit) = &fields.unit {
            let at = find(unit.column)?;
            uses[at].push(Use::Unit);
            for (order, column) in unit.order.iter().enumerate() {
                let at = find(column)?;
                uses[at].push(Use::Order(order));
            }
        }
        for (dimension, field) in fields.dimensions.iter().enumerate() {
            let at = find(field.column)?;
            if field.factors.is_empty() {
                uses[at].push(Use::Dimension(dimension));
            }
        }
        for (factor, (column, _)) in fields.factors().enumerate() {
            let at = find(column)?;
            uses[at].push(Use::Factor(factor));
        }
        let of_keys = uses.split_off(own.len()).into_iter().zip(keys);
        let keys =
            of_keys.flat_map(|(uses, key)| uses.into_iter().map(move |one| (one, key.clone()))).collect();
        let columns = uses.into_iter().map(|uses| match *uses {
            [] => Uses::Nothing,
            [Use::Dimension(d)] if !fields.dimensions[d].coder.is_text() => Uses::Nodes(d),
            _ => Uses::Many(uses),
        });
        let CsvOptions { delimiter, quote, encoding, .. } = *options;
        Ok(Layout { delimiter, quote, encoding, columns: columns.collect(), keys })
    }

    /// The records of a block.
    fn records<'t>(&self, text: &'t [u8]) -> Records<'t> {
        Records::new(text, self.delimiter, self.quote).of(self.columns.len())
    }

    /// Codes all records of a block, and hands them on by the chunk. Returns how many there were.
    pub(crate) fn decode(
        &self,
        block: &[u8],
        fields: &Fields<'_>,
        chunk: &mut Chunk,
        take: &mut dyn FnMut(&mut Chunk),
    ) -> Result<u64, Bad> {
        let text = self.encoding.decode(block);
        let mut records = self.records(&text);
        // Rows of this chunk, and before it; of these some may have been left out.
        let (mut row, mut before) = (0, 0);
        chunk.clear();
        while let Some(begin) = records.begin() {
            if !self.record(&mut records, fields, chunk, row) {
                let number = before + row as u64 + 1;
                let offset = Some(self.encoding.place(&text, begin) as u64);
                let what = self.explain(text.get(begin..).unwrap_or_default(), fields);
                let Some(mut faults) = chunk.faults.take() else {
                    return Err(Self::first(what, fields, number, offset));
                };
                match what {
                    Err(Shape::Cells { .. }) => faults.ragged(number, offset),
                    Err(Shape::Unclosed) => faults.unclosed(number, offset),
                    Ok(cells) => {
                        faults.rows += 1;
                        cells
                            .into_iter()
                            .for_each(|(column, fault)| faults.cell(column, fault, number, offset));
                    }
                }
                chunk.faults = Some(faults);
                chunk.dropped.clear();
                chunk.shorten(row);
                before += 1;
                continue;
            }
            if !chunk.dropped.is_empty() {
                chunk.dropped.clear();
                chunk.shorten(row);
                before += 1;
                continue;
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
                        Some(node) => {
                            chunk.set(*dimension, row, node);
                            good &= !self.stray(&fields.dimensions[*dimension], node, text, from, to);
                        }
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
                let whole = good && columns.next().is_none() && !records.unclosed();
                let keyed = |(one, key): &(Use, Key)| one.code(key.1.as_bytes(), fields, chunk, row);
                return whole && self.keys.iter().all(keyed) && chunk.multiply(fields, row);
            }
        }
    }

    /// Whether a cell went to `other` only because the file is UTF-8 and the spec says that it is not.
    #[inline]
    fn stray(&self, field: &Field<'_>, node: u32, text: &[u8], from: usize, to: usize) -> bool {
        self.encoding != Encoding::Utf8
            && field.coder.other() == Some(node)
            && self.encoding.mistaken(text.get(from..to).unwrap_or_default())
    }

    /// What is wrong with the cells of the first record of `text`, by the place in which columns are complained of; or with the record itself.
    #[cold]
    fn explain(&self, text: &[u8], fields: &Fields<'_>) -> Result<Vec<(usize, Fault)>, Shape> {
        let mut records = self.records(text);
        let cells = records.whole().map_or(Vec::new(), |(_, f)| f);
        if records.unclosed() {
            return Err(Shape::Unclosed);
        }
        let expected = self.columns.len();
        if cells.len() != expected {
            return Err(Shape::Cells { expected, found: cells.len() });
        }
        let uses = self.columns.iter().zip(&cells).flat_map(|(uses, cell)| {
            let uses: Vec<Use> = match uses {
                Uses::Nothing => Vec::new(),
                Uses::Nodes(d) => vec![Use::Dimension(*d)],
                Uses::Many(uses) => uses.clone(),
            };
            uses.into_iter().map(move |one| (one, cell))
        });
        let faults = uses.filter_map(|(one, cell)| match one {
            Use::Dimension(d) => {
                Some((1 + fields.orders() + d, self.fault(fields.dimensions.get(d)?, cell)?))
            }
            Use::Factor(factor) => {
                let (_, coder) = fields.factors().nth(factor)?;
                let fault = coder.factor(cell).err()?;
                let mistaken = self.encoding.mistaken(cell);
                let fault = if mistaken { Fault::IsUtf8(self.encoding.name()) } else { self.encoded(fault) };
                Some((fields.place_of(factor), fault))
            }
            Use::Order(_) | Use::Unit => {
                one.wrong(cell, fields).map(|(place, fault)| (place, self.encoded(fault)))
            }
        });
        let of_keys = self.keys.iter().filter_map(|(one, (_, cell))| one.wrong(cell.as_bytes(), fields));
        Ok(faults.chain(of_keys).collect())
    }

    /// The one thing that is told: the row's width first, then its unit, then what orders it, then the dimensions in their order.
    fn first(
        what: Result<Vec<(usize, Fault)>, Shape>,
        fields: &Fields<'_>,
        row: u64,
        offset: Option<u64>,
    ) -> Bad {
        let what = match what.map(|cells| cells.into_iter().min_by_key(|(place, _)| *place)) {
            Ok(Some((place, fault))) => What::Cell { column: fields.column(place), fault },
            // Never: what was refused quickly is refused slowly.
            Ok(None) => What::Ragged { expected: 0, found: 0 },
            Err(Shape::Cells { expected, found }) => What::Ragged { expected, found },
            Err(Shape::Unclosed) => What::Unclosed,
        };
        Bad { row, offset, what }
    }
}

/// What may be wrong with a record as a whole.
enum Shape {
    Cells { expected: usize, found: usize },
    Unclosed,
}

impl Layout {
    /// What is wrong with a cell.
    fn fault(&self, field: &Field<'_>, cell: &[u8]) -> Option<Fault> {
        let strange = !field.coder.is_text() && self.encoding.mistaken(cell);
        match field.coder.code(cell) {
            Err(
                Fault::Outside
                | Fault::NotWhole
                | Fault::NotNumber
                | Fault::NotAmount
                | Fault::NotDate
                | Fault::NotOfFormat,
            ) if strange => Some(Fault::IsUtf8(self.encoding.name())),
            Err(fault) => Some(self.encoded(fault)),
            Ok(node) if strange && field.coder.other().map(u64::from) == Some(node) => {
                Some(Fault::IsUtf8(self.encoding.name()))
            }
            Ok(_) => None,
        }
    }

    /// A fault in the words of the file's encoding.
    fn encoded(&self, fault: Fault) -> Fault {
        match (fault, self.encoding) {
            (Fault::NotUtf8, Encoding::Windows1252 | Encoding::Latin1) => {
                Fault::NotEncoded(self.encoding.name())
            }
            _ => fault,
        }
    }
}

impl Use {
    fn code(self, cell: &[u8], fields: &Fields<'_>, chunk: &mut Chunk, row: usize) -> bool {
        match self {
            Use::Unit => {
                let Some(unit) = &fields.unit else { return false };
                let whose = unit.whose(fields.blanks.value(cell));
                chunk.push_whose(row, &whose);
                unit_of(&whose).is_ok()
            }
            Use::Order(column) => match order_of(fields.blanks.value(cell)) {
                Ok(key) => {
                    chunk.push_order(column, &key);
                    true
                }
                Err(_) => false,
            },
            Use::Factor(factor) => {
                let said = fields.factors().nth(factor).map(|(_, coder)| coder.factor(cell));
                let Some(Ok(said)) = said else { return false };
                chunk.set_factor(factor, row, said);
                true
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

    /// What is wrong with a cell of text that is read already, and the place in which its column is complained of.
    fn wrong(self, cell: &[u8], fields: &Fields<'_>) -> Option<(usize, Fault)> {
        Some(match self {
            Use::Unit => {
                let whose = fields.unit.as_ref()?.whose(fields.blanks.value(cell));
                (0, unit_of(&whose).err()?)
            }
            Use::Order(order) => (1 + order, order_of(fields.blanks.value(cell)).err()?),
            Use::Dimension(d) => (1 + fields.orders() + d, fields.dimensions.get(d)?.coder.code(cell).err()?),
            Use::Factor(factor) => {
                let (_, coder) = fields.factors().nth(factor)?;
                (fields.place_of(factor), coder.factor(cell).err()?)
            }
        })
    }
}

/// The line, from 1, that begins at a byte of the file or contains it; rows in memory have none.
pub(super) fn line(file: &DataFile, offset: u64) -> Option<u64> {
    let mut file = file.lines()?.take(offset);
    let mut bytes = zeroize::Zeroizing::new(vec![0; BLOCK]);
    let mut lines = 1;
    loop {
        match file.read(&mut bytes).ok()? {
            0 => return Some(lines),
            read => lines += memchr::memchr_iter(b'\n', bytes.get(..read)?).count() as u64,
        }
    }
}
