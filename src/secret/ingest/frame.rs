//! Rows that another program holds in memory: written into memory as the CSV that they would be in a file, and read from there. They
//! never touch the disk.

use super::code::Kind;
use super::error::IngestError;
use super::fields::{Fields, find};
use super::files::{self, DataFile, Text};
use super::leak_check;
use crate::spec::{CsvOptions, Format};
use std::path::PathBuf;

/// What the cells of a column are where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Text.
    Text,
    /// Whole numbers.
    Whole,
    /// Numbers with fractions, however round.
    Fraction,
    /// True or false.
    Truth,
    /// Days of the calendar, as `2024-01-31`.
    Date,
    /// Times, decimals, raw bytes.
    Special,
    /// Cells that hold several values.
    Nested,
}

/// A table in memory. What it held is wiped when it is dropped, also what it outgrew; nothing of it can be seen but the names of its
/// columns.
pub struct Frame {
    columns: Vec<(String, Held)>,
    text: Text,
    /// The column of the next cell.
    at: usize,
}

impl Frame {
    /// No rows yet.
    pub fn new(columns: Vec<(String, Held)>) -> Frame {
        let mut frame = Frame { columns: Vec::new(), text: Text::default(), at: 0 };
        let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        frame.columns = columns;
        names.iter().for_each(|name| frame.cell(name.as_bytes()));
        frame
    }

    /// The next cell of the row, or the first of the next row: whole numbers in decimal, fractions as short as they can be, `true` and
    /// `false`; nothing for a null.
    pub fn cell(&mut self, cell: &[u8]) {
        let last = self.at + 1 == self.columns.len();
        // A line with nothing on it at all would be no row.
        let quoted = cell.iter().any(|b| matches!(b, b',' | b'"' | b'\r' | b'\n'))
            || (cell.is_empty() && self.columns.len() == 1);
        let text = self.text.room(2 * cell.len() + 3);
        if quoted {
            text.push(b'"');
            for &b in cell {
                if b == b'"' {
                    text.push(b);
                }
                text.push(b);
            }
            text.push(b'"');
        } else {
            text.extend_from_slice(cell);
        }
        text.push(if last { b'\n' } else { b',' });
        self.at = if last { 0 } else { self.at + 1 };
    }

    /// Its text, as a file of CSV with a header, however the spec's own file is written.
    pub(super) fn file(&self) -> (DataFile, CsvOptions) {
        let held = Some(files::Held::Memory(self.text.clone()));
        let size = self.text.as_ref().len() as u64;
        let file = DataFile { path: PathBuf::new(), size, format: Format::Csv, keys: Vec::new(), held };
        (file, CsvOptions::default())
    }

    /// Whether a table that would be published has the same lines in this frame's columns, whatever other columns it has: those that the
    /// spec does not name are not in the frame.
    pub(crate) fn has_lines(&self, public: &[u8]) -> bool {
        let mut rows = csv::ReaderBuilder::new().flexible(true).from_reader(public);
        let Ok(header) = rows.byte_headers() else { return false };
        let place = |(name, _): &(String, Held)| header.iter().position(|h| h == name.as_bytes());
        let Some(places) = self.columns.iter().map(place).collect::<Option<Vec<_>>>() else { return false };
        let mut part = Frame::new(self.columns.clone());
        for row in rows.byte_records() {
            let Ok(row) = row else { return false };
            places.iter().for_each(|&at| part.cell(row.get(at).unwrap_or_default()));
        }
        leak_check::same_lines(part.text.as_ref(), self.text.as_ref())
    }

    /// Refuses columns of a type that does not fit: as in Parquet, fractions are no labels, for with `other` in the dimension all of them would go there
    /// unnoticed.
    pub(super) fn fits(&self, fields: &Fields<'_>) -> Result<(), IngestError> {
        let unit = fields.unit.iter().map(|unit| (unit.column, Kind::Labels));
        let dimensions = fields.dimensions.iter().map(|field| (field.column, field.coder.kind()));
        let orders = fields.unit.iter().flat_map(|unit| &unit.order).map(|column| (*column, Kind::Order));
        let factors = fields.factors().map(|(column, coder)| (*column, coder.kind()));
        let names: Vec<&[u8]> = self.columns.iter().map(|(name, _)| name.as_bytes()).collect();
        for (column, kind) in unit.chain(orders).chain(dimensions).chain(factors) {
            let at = find(column, &names, names.len())?;
            let held = self.columns.get(at).map_or(Held::Nested, |(_, held)| *held);
            let found = match (held, kind) {
                (Held::Text, _)
                | (Held::Whole, Kind::Labels | Kind::Whole | Kind::Number | Kind::Order)
                | (Held::Truth, Kind::Labels)
                | (Held::Fraction, Kind::Whole | Kind::Number)
                | (Held::Date, Kind::Dates | Kind::Times | Kind::Order) => continue,
                (Held::Whole, Kind::Dates | Kind::Times) => "whole numbers",
                (Held::Date, _) => "dates",
                (Held::Truth, _) => "true or false",
                (Held::Fraction, _) => "fractions",
                (Held::Special, _) => "a time, a decimal or of another special type",
                (Held::Nested, _) => "nested",
            };
            return Err(IngestError::ColumnType { column: column.to_owned(), found, wanted: kind.wanted() });
        }
        Ok(())
    }
}

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Frame { <private> }")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::tests::{codes, column, labels, lenient, spec, with_unit};
    use super::super::{read, read_frame};
    use super::*;
    use crate::secret::ingest::Means;
    use crate::spec::Coding;

    fn frame(columns: &[(&str, Held)], rows: &[&[&str]]) -> Frame {
        let mut frame = Frame::new(columns.iter().map(|(n, h)| ((*n).to_owned(), *h)).collect());
        rows.iter().flat_map(|row| row.iter()).for_each(|cell| frame.cell(cell.as_bytes()));
        frame
    }

    #[test]
    fn the_same_as_a_file_of_the_rows() {
        let hostile = ["a,b", "q\"uote", "two\nlines", "", "é", " a", "\r"];
        let dimensions = || lenient(labels("x,\"", &hostile));
        let spec = spec([dimensions(), column("n", 30, Coding::Range { lo: 0, hi: 29 })]);
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (i, x) in hostile.iter().enumerate() {
            rows.push(vec![i.to_string(), (*x).into()]);
        }
        let refs: Vec<Vec<&str>> = rows.iter().map(|r| r.iter().map(String::as_str).collect()).collect();
        let refs: Vec<&[&str]> = refs.iter().map(Vec::as_slice).collect();
        let held = [("n", Held::Whole), ("x,\"", Held::Text)];
        let from_memory = read_frame(&spec, &frame(&held, &refs), &Means::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        let mut writer = csv::Writer::from_path(&path).unwrap();
        writer.write_record(["n", "x,\""]).unwrap();
        rows.iter().for_each(|row| writer.write_record(row).unwrap());
        writer.flush().unwrap();
        assert_eq!(codes(&from_memory), codes(&read(&spec, &path, &Means::default()).unwrap()));
        assert_eq!(codes(&from_memory).len(), hostile.len());
    }

    #[test]
    fn one_column_of_nothing_is_rows_all_the_same() {
        let spec = spec([lenient(labels("x", &["a"]))]);
        let rows: [&[&str]; 4] = [&["a"], &[""], &["b"], &[""]];
        assert_eq!(
            codes(&read_frame(&spec, &frame(&[("x", Held::Text)], &rows), &Means::default()).unwrap()).len(),
            4
        );
        assert_eq!(
            codes(&read_frame(&spec, &frame(&[("x", Held::Text)], &[]), &Means::default()).unwrap()).len(),
            0
        );
    }

    #[test]
    fn errors_hold_no_values_and_no_lines() {
        let strict = spec([labels("x", &["a"])]);
        let wrong = |spec, frame: &Frame| read_frame(spec, frame, &Means::default()).unwrap_err().to_string();
        let rows = frame(&[("x", Held::Text)], &[&["a"], &["MARS"]]);
        assert_eq!(
            wrong(&strict, &rows),
            "row 2, column \"x\": the value is outside the domain, and the dimension has no `other`"
        );
        let held = |held| frame(&[("x", held)], &[]);
        for (type_, found) in [
            (Held::Fraction, "fractions"),
            (Held::Date, "dates"),
            (Held::Special, "a time, a decimal or of another special type"),
            (Held::Nested, "nested"),
        ] {
            let expected = format!("column \"x\" is {found}, but it is to be read as labels");
            assert_eq!(wrong(&strict, &held(type_)), expected);
        }
        assert!(read_frame(&strict, &held(Held::Truth), &Means::default()).is_ok());
        let bins = spec([column("x", 1, Coding::Bins { edges: vec![0.0, 9.0] })]);
        assert!(read_frame(&bins, &held(Held::Fraction), &Means::default()).is_ok());
        assert!(wrong(&bins, &held(Held::Truth)).contains("true or false"));
        let none = frame(&[("y", Held::Text)], &[]);
        assert!(wrong(&strict, &none).contains("the data has no column \"x\" among its 1"));
        let twice = frame(&[("x", Held::Text), ("x", Held::Text)], &[]);
        assert!(wrong(&strict, &twice).contains("more than one column"));
        let unit = with_unit(strict.clone(), "id", 1);
        let rows = frame(&[("id", Held::Whole), ("x", Held::Text)], &[&["7", "a"], &["7", "a"], &["8", "a"]]);
        assert_eq!(codes(&read_frame(&unit, &rows, &Means::default()).unwrap()).len(), 2);
        assert_eq!(format!("{rows:?}"), "Frame { <private> }");
    }
}
