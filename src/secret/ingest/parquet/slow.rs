//! A column chunk in encodings that the library knows and [`super::pages`] does not.

use super::super::chunk::Chunk;
use super::super::error::IngestError;
use super::cells::Cells;
use super::stored::{Stored, Value};
use super::{BROKEN, undecodable};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{AsBytes, DataType};

/// The rest of a column chunk.
pub(super) struct Slow<'f> {
    reader: ColumnReader,
    stored: Stored,
    cells: Cells<'f>,
}

impl<'f> Slow<'f> {
    pub(super) fn new(reader: ColumnReader, stored: Stored, cells: Cells<'f>) -> Slow<'f> {
        Slow { reader, stored, cells }
    }

    pub(super) fn cells(&mut self) -> &mut Cells<'f> {
        &mut self.cells
    }

    /// Takes the next `len` cells.
    pub(crate) fn fill(&mut self, chunk: &mut Chunk, len: usize) -> Result<(), IngestError> {
        self.cells.begin(chunk, len);
        self.read(chunk, len)
    }

    /// Whether all cells have been taken.
    pub(crate) fn finished(&mut self, chunk: &mut Chunk) -> Result<bool, IngestError> {
        match self.read(chunk, 1) {
            Ok(()) => Ok(false),
            Err(IngestError::Parquet(SHORT)) => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn read(&mut self, chunk: &mut Chunk, len: usize) -> Result<(), IngestError> {
        let Slow { reader, stored, cells } = self;
        let (n, stored) = (stored.nullable, *stored);
        match reader {
            ColumnReader::BoolColumnReader(r) => decode(r, n, chunk, len, cells, |v| Some(Value::Flag(*v))),
            ColumnReader::Int32ColumnReader(r) => decode(r, n, chunk, len, cells, |&v| stored.narrow(v)),
            ColumnReader::Int64ColumnReader(r) => decode(r, n, chunk, len, cells, |&v| stored.wide(v)),
            ColumnReader::FloatColumnReader(r) => {
                decode(r, n, chunk, len, cells, |v| Some(Value::Single(*v)))
            }
            ColumnReader::DoubleColumnReader(r) => {
                decode(r, n, chunk, len, cells, |v| Some(Value::Double(*v)))
            }
            ColumnReader::ByteArrayColumnReader(r) => {
                decode(r, n, chunk, len, cells, |v| stored.bytes(v.as_bytes()))
            }
            ColumnReader::FixedLenByteArrayColumnReader(r) => {
                decode(r, n, chunk, len, cells, |v| stored.bytes(v.as_bytes()))
            }
            // `types` let none of these through.
            ColumnReader::Int96ColumnReader(_) => Err(IngestError::Parquet(BROKEN)),
        }
    }
}

/// There are fewer cells than rows.
const SHORT: &str = "is damaged: a column has fewer values than its row group has rows";

fn decode<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    nullable: bool,
    chunk: &mut Chunk,
    len: usize,
    cells: &mut Cells<'_>,
    value: impl Fn(&T::T) -> Option<Value<'_>>,
) -> Result<(), IngestError> {
    let broken = || IngestError::Parquet(BROKEN);
    let mut row = 0;
    while row < len {
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let defined = nullable.then_some(&mut levels);
        let (read, _, _) = reader.read_records(len - row, defined, None, &mut values).map_err(undecodable)?;
        if read == 0 {
            return Err(IngestError::Parquet(SHORT));
        }
        if read > len - row {
            return Err(broken());
        }
        let mut values = values.iter();
        for at in 0..read {
            let present = !nullable || levels.get(at) == Some(&1);
            let value =
                if present { values.next().and_then(&value).ok_or_else(broken)? } else { Value::Null };
            cells.value(chunk, row + at, value).ok_or_else(broken)?;
        }
        row += read;
    }
    Ok(())
}
