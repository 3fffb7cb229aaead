//! Rows from delimited text.

use super::Progress;
use super::error::{IngestError, Place};
use super::fields::{Fields, find};
use super::rows::Rows;
use crate::spec::CsvOptions;
use ::csv::{ByteRecord, Reader, ReaderBuilder};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

/// How many bytes are read between two reports of progress.
const REPORT: u64 = 1 << 20;

/// Reads a CSV file as RFC 4180 has it: quotes are doubled inside quotes, quoted fields may span lines,
/// lines end in LF, CR or CRLF. A UTF-8 byte order mark at the start is skipped, and so are lines with
/// nothing on them at all (a lone empty cell must therefore be written as `""`).
pub(super) fn read(
    file: File,
    size: u64,
    options: &CsvOptions,
    fields: &mut Fields<'_>,
    progress: &dyn Progress,
) -> Result<Rows, IngestError> {
    let mut reader = ReaderBuilder::new()
        .delimiter(options.delimiter)
        .quote(options.quote)
        .has_headers(false)
        .flexible(true) // so that we count the cells ourselves
        .buffer_capacity(1 << 16)
        .from_reader(file);
    let mut record = ByteRecord::new();
    let mut row = 0;
    let (width, at) = match &options.columns {
        Some(names) => (names.len(), Positions::find(fields, names.iter().map(|name| name.as_bytes()))?),
        None => {
            if !next(&mut reader, &mut record, row)? {
                return Err(IngestError::NoHeader);
            }
            (record.len(), Positions::find(fields, record.iter())?)
        }
    };

    let mut rows = fields.rows();
    let mut report = REPORT;
    while next(&mut reader, &mut record, row)? {
        row += 1;
        if record.len() != width {
            let place = place(&mut reader, &record, row);
            return Err(IngestError::Ragged { place, expected: width, found: record.len() });
        }
        code(&record, &at, fields, &mut rows).map_err(|(column, fault)| IngestError::Cell {
            place: place(&mut reader, &record, row),
            column: column.to_owned(),
            fault,
        })?;
        let done = reader.position().byte();
        if done >= report {
            progress.step(done.min(size), size);
            report = done + REPORT;
        }
    }
    progress.step(size, size);
    Ok(rows)
}

/// Where the fields are in a record.
struct Positions {
    dimensions: Vec<usize>,
    unit: Option<usize>,
}

impl Positions {
    fn find<'a>(
        fields: &Fields<'_>,
        names: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<Positions, IngestError> {
        let dimensions = fields.dimensions.iter().map(|field| find(field.column, names.clone()));
        let unit = fields.unit.as_ref().map(|unit| find(unit.column, names.clone()));
        Ok(Positions { dimensions: dimensions.collect::<Result<_, _>>()?, unit: unit.transpose()? })
    }
}

/// Codes one record. A row beyond its unit's bound is checked like every other and then left out.
#[inline]
fn code<'s>(
    record: &ByteRecord,
    at: &Positions,
    fields: &mut Fields<'s>,
    rows: &mut Rows,
) -> Result<(), (&'s str, super::Fault)> {
    let cell = |at: usize| record.get(at).unwrap_or_default(); // the width has been checked
    let passes = match (&mut fields.unit, at.unit) {
        (Some(unit), Some(at)) => unit.pass(cell(at)).map_err(|fault| (unit.column, fault))?,
        _ => true,
    };
    for (dimension, (field, &at)) in fields.dimensions.iter().zip(&at.dimensions).enumerate() {
        let code = field.coder.code(cell(at)).map_err(|fault| (field.column, fault))?;
        if passes {
            rows.push(dimension, code);
        }
    }
    rows.grow(usize::from(passes));
    Ok(())
}

fn next(reader: &mut Reader<File>, record: &mut ByteRecord, row: u64) -> Result<bool, IngestError> {
    reader.read_byte_record(record).map_err(|error| {
        let error = match error.kind() {
            ::csv::ErrorKind::Io(error) => error.kind(),
            _ => std::io::ErrorKind::InvalidData,
        };
        IngestError::Read { after: Place { row, line: None }, error }
    })
}

/// Where a record is. The reader's own line number is the one at which it began to look for the record:
/// before the LF of a CRLF and before empty lines. So look at what stands there; a pipe cannot go back and
/// keeps the reader's number.
#[cold]
fn place(reader: &mut Reader<File>, record: &ByteRecord, row: u64) -> Place {
    let Some(start) = record.position() else { return Place { row, line: None } };
    let mut line = start.line();
    let file = reader.get_mut();
    if file.seek(SeekFrom::Start(start.byte())).is_ok() {
        let skipped = BufReader::new(file).bytes().map_while(Result::ok);
        line += skipped.take_while(|b| matches!(b, b'\r' | b'\n')).filter(|b| *b == b'\n').count() as u64;
    }
    Place { row, line: Some(line) }
}
