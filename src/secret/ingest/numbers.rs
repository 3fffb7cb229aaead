//! Files of whole numbers: tables that somebody else counted. Small beside the rows, so read one value after the other.

use super::error::{IngestError, Place};
use super::fields::places;
use super::files::{DataFile, files};
use crate::spec::{Format, Spec};
use std::path::Path;

/// A whole number.
pub(crate) type Number = i64;

/// Hands the columns `names` of every row to `take`, empty cells as `None`. There may be no other columns.
pub(in crate::secret) fn numbers<E: From<IngestError>>(
    spec: &Spec,
    path: &Path,
    names: &[String],
    take: &mut dyn FnMut(u64, &[Option<Number>]) -> Result<(), E>,
) -> Result<(), E> {
    let mut row = 0;
    for file in files(spec, path.into())? {
        let mut each = |cells: &[Option<Number>]| {
            row += 1;
            take(row, cells)
        };
        match file.format {
            Format::Csv => text(&file, names, &mut each)?,
            #[cfg(feature = "parquet")]
            Format::Parquet => super::parquet::numbers(&file, names, &mut each)?,
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => return Err(IngestError::NoParquet.into()),
        }
    }
    Ok(())
}

fn text<E: From<IngestError>>(
    file: &DataFile,
    names: &[String],
    take: &mut dyn FnMut(&[Option<Number>]) -> Result<(), E>,
) -> Result<(), E> {
    let mut row = 0;
    let failed = |row| {
        move |_| IngestError::Read {
            after: Place { row, line: None },
            error: std::io::ErrorKind::InvalidData,
        }
    };
    let mut reader = csv::ReaderBuilder::new().from_reader(file.open()?);
    let header = reader.byte_headers().map_err(failed(0))?.clone();
    let places = places(names, header.iter())?;
    let mut record = csv::ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(failed(row))? {
        row += 1;
        let number = |&at: &usize| {
            let cell = record.get(at).filter(|cell| !cell.is_empty());
            let parse = |cell| std::str::from_utf8(cell).ok().and_then(|cell: &str| cell.parse().ok());
            let wrong = IngestError::Number { row };
            cell.map(|cell| parse(cell).ok_or(wrong)).transpose()
        };
        let cells = places.iter().map(number).collect::<Result<Vec<_>, _>>()?;
        take(&cells)?;
    }
    Ok(())
}
