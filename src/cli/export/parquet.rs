//! A table as Parquet: labels as text or whole numbers, figures as doubles.

use super::super::output::{Written, no_parquet};
use super::super::{Failure, Outcome};
use super::FINISHED;
use super::tidy::{FIGURES, Tidy};
use crate::render::{ColumnKind, ResultFigure};
use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::Type;
use std::sync::Arc;

fn put<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Written>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

/// Numbers, of which those that are none are left out where that may be.
fn put_known(
    group: &mut SerializedRowGroupWriter<'_, Written>,
    values: &[f64],
    optional: bool,
) -> Result<(), ParquetError> {
    if !optional {
        return put::<DoubleType>(group, values);
    }
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    let known: Vec<f64> = values.iter().copied().filter(|x| !x.is_nan()).collect();
    let defined: Vec<i16> = values.iter().map(|x| (!x.is_nan()).into()).collect();
    column.typed::<DoubleType>().write_batch(&known, Some(&defined), None)?;
    column.close()
}

/// Whether some cells have no numbers: what is hidden, and means of nobody. Tables that have means are held whole.
fn has_gaps(tidy: &Tidy) -> bool {
    tidy.hide_above.is_some() || tidy.cells.iter().any(ResultFigure::is_null)
}

/// Whether each cell has a whole number: sums and means have none, nor has what is hidden.
fn all_finished(tidy: &Tidy) -> bool {
    tidy.hide_above.is_none() && tidy.untrue.len() <= 1
}

fn schema(tidy: &Tidy) -> Result<Type, ParquetError> {
    let text = |name: &str| {
        Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::String))
            .build()
    };
    let plain = |name: &str, physical| {
        Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED).build()
    };
    let mut fields = Vec::new();
    for axis in &tidy.axes {
        let field = match axis.kind {
            ColumnKind::Integer => plain(&axis.name, Physical::INT64)?,
            _ => text(&axis.name)?,
        };
        fields.push(Arc::new(field));
    }
    // What has no number is nothing, and not a number.
    let gaps = has_gaps(tidy);
    for name in tidy.figures() {
        let field = match name {
            "status" | "reliability" => text(name)?,
            // An estimate of 0 has no coefficient of variation.
            _ if gaps || name == "cv" => Type::primitive_type_builder(name, Physical::DOUBLE)
                .with_repetition(Repetition::OPTIONAL)
                .build()?,
            _ => plain(name, Physical::DOUBLE)?,
        };
        fields.push(Arc::new(field));
    }
    if tidy.finished.is_some() {
        let all = all_finished(tidy);
        let field = Type::primitive_type_builder(FINISHED, Physical::INT64)
            .with_repetition(if all { Repetition::REQUIRED } else { Repetition::OPTIONAL })
            .build()?;
        fields.push(Arc::new(field));
    }
    Type::group_type_builder("table").with_fields(fields).build()
}

/// Writes the cells of this part as a group of rows.
fn rows(writer: &mut SerializedFileWriter<Written>, tidy: &Tidy) -> Result<(), ParquetError> {
    let gaps = has_gaps(tidy);
    let mut group = writer.next_row_group()?;
    for (at, axis) in tidy.axes.iter().enumerate() {
        let labels = tidy.nodes().map(|(nodes, _)| axis.labels[nodes[at]].as_str());
        match axis.kind {
            ColumnKind::Integer => {
                let numbers: Vec<i64> = labels.map(|l| l.parse().unwrap_or_default()).collect();
                put::<Int64Type>(&mut group, &numbers)?;
            }
            _ => put::<ByteArrayType>(&mut group, &labels.map(ByteArray::from).collect::<Vec<_>>())?,
        }
    }
    for figure in 0..FIGURES.len() - 1 {
        let numbers: Vec<f64> = tidy.cells.iter().map(|cell| tidy.numbers(cell)[figure]).collect();
        put_known(&mut group, &numbers, gaps)?;
    }
    let status: Vec<ByteArray> =
        (0..tidy.cells.len()).map(|at| ByteArray::from(tidy.status(at).as_str())).collect();
    put::<ByteArrayType>(&mut group, &status)?;
    if let Some(cuts) = &tidy.cuts {
        put_known(&mut group, &tidy.cells.iter().map(|cell| cell.cv()).collect::<Vec<_>>(), true)?;
        let classes: Vec<ByteArray> = tidy.cells.iter().map(|cell| cuts.class(cell).into()).collect();
        put::<ByteArrayType>(&mut group, &classes)?;
    }
    if let Some(finished) = &tidy.finished {
        // No more than 2^53. Sums and means have none.
        let known: Vec<i64> = finished.iter().flatten().map(|&n| n as i64).collect();
        let defined: Vec<i16> = finished.iter().map(|n| n.is_some().into()).collect();
        if let Some(mut column) = group.next_column()? {
            let defined = Some(&defined[..]).filter(|_| !all_finished(tidy));
            column.typed::<Int64Type>().write_batch(&known, defined, None)?;
            column.close()?;
        }
    }
    group.close()?;
    Ok(())
}

/// A file that a table is written to, part by part.
pub(super) struct Parquet(SerializedFileWriter<Written>);

impl Parquet {
    pub(super) fn new(tidy: &Tidy, file: Written) -> Result<Parquet, Failure> {
        let begin = || {
            let properties = WriterProperties::builder()
                .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
                .build();
            SerializedFileWriter::new(file, Arc::new(schema(tidy)?), Arc::new(properties))
        };
        begin().map(Parquet).map_err(no_parquet)
    }

    pub(super) fn put(&mut self, part: &Tidy) -> Outcome {
        rows(&mut self.0, part).map_err(no_parquet)
    }

    /// Ends the file with what it says of itself.
    pub(super) fn close(mut self, said: Vec<(&'static str, String)>) -> Outcome {
        let said = said.into_iter().map(|(key, text)| KeyValue::new(key.to_owned(), text));
        said.for_each(|one| self.0.append_key_value_metadata(one));
        self.0.close().map_err(no_parquet)?;
        Ok(())
    }
}
