//! Files of whole numbers: tables that somebody else counted. Small beside the rows, so read one value after the other.

use super::error::{IngestError, Place};
use super::fields::places;
use super::files::{DataFile, files, named};
use crate::spec::{Format, Spec};
use std::io::{self, Read};
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
            Format::Parquet if misnamed(&file) => {
                return Err(IngestError::Unnamed { path: file.named() }.into());
            }
            Format::Csv => text(&file, names, &mut each)?,
            #[cfg(feature = "parquet")]
            Format::Parquet => super::parquet::numbers(&file, names, &mut each)?,
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => return Err(IngestError::NoParquet.into()),
        }
    }
    Ok(())
}

/// Whether a file is Parquet only by what the spec says of its rows, and does not begin like one.
fn misnamed(file: &DataFile) -> bool {
    let begins = || {
        let mut start = [0; 4];
        file.unpacked().and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"PAR1"
    };
    named(&file.path).is_none() && !begins()
}

/// What is wrong behind this row. The library's own words may have a cell in them.
fn broken(row: u64, error: &csv::Error) -> IngestError {
    let line = error.position().map(csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => IngestError::Ragged {
            place: Place { row: row + 1, line },
            expected: usize::try_from(*expected_len).unwrap_or(usize::MAX),
            found: usize::try_from(*len).unwrap_or(usize::MAX),
        },
        csv::ErrorKind::Io(error) => {
            IngestError::Read { after: Place { row, line: None }, error: error.kind() }
        }
        _ => IngestError::Read { after: Place { row, line: None }, error: io::ErrorKind::InvalidData },
    }
}

fn text<E: From<IngestError>>(
    file: &DataFile,
    names: &[String],
    take: &mut dyn FnMut(&[Option<Number>]) -> Result<(), E>,
) -> Result<(), E> {
    let mut row = 0;
    let failed = |row| move |error: csv::Error| broken(row, &error);
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::tests::{labels, spec};
    use super::*;

    /// A row that is none, such as the number of rows that a database writes below its answer, is told by its place; and a file that is Parquet by nothing but
    /// the spec's own rows by its name.
    #[test]
    fn counts_that_are_none() {
        let dir = tempfile::TempDir::new().unwrap();
        let mut spec = spec([labels("x", &["a"])]);
        let names = ["d1_1".to_owned(), "n".to_owned()];
        let said = |spec: &Spec, name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            numbers::<IngestError>(spec, &path, &names, &mut |_, _| Ok(())).map_err(|e| e.to_string())
        };
        assert_eq!(said(&spec, "c.csv", "d1_1,n\n0,3\n,3\n"), Ok(()));
        let footer = said(&spec, "c.csv", "d1_1,n\n0,3\n,3\n(2 rows)\n").unwrap_err();
        assert_eq!(footer, "row 3 (line 4): the number of cells is 1, that of columns 2");
        spec.data.as_mut().unwrap().format = Some(Format::Parquet);
        let why = said(&spec, "c.txt", "d1_1,n\n0,3\n").unwrap_err();
        assert!(why.contains("ends neither in .csv nor in .parquet"), "{why}");
    }
}
