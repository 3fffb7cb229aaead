//! A table as Parquet: labels as text or whole numbers, figures as doubles.

use super::super::Failure;
use super::FINISHED;
use super::tidy::{FIGURES, Tidy};
use crate::render::ColumnKind;
use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::Type;
use std::sync::Arc;

fn put<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

fn bytes(tidy: &Tidy) -> Result<Vec<u8>, ParquetError> {
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
    for name in FIGURES {
        let field = if name == "status" { text(name)? } else { plain(name, Physical::DOUBLE)? };
        fields.push(Arc::new(field));
    }
    if let Some(finished) = &tidy.finished {
        let all = finished.iter().all(Option::is_some);
        let field = Type::primitive_type_builder(FINISHED, Physical::INT64)
            .with_repetition(if all { Repetition::REQUIRED } else { Repetition::OPTIONAL })
            .build()?;
        fields.push(Arc::new(field));
    }
    let schema = Arc::new(Type::group_type_builder("table").with_fields(fields).build()?);
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?)).build();
    let mut out = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut out, schema, Arc::new(properties))?;
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
        put::<DoubleType>(&mut group, &numbers)?;
    }
    let status: Vec<ByteArray> =
        tidy.cells.iter().map(|cell| ByteArray::from(tidy.status(cell).as_str())).collect();
    put::<ByteArrayType>(&mut group, &status)?;
    if let Some(finished) = &tidy.finished {
        // No more than 2^53. Sums and means have none.
        let known: Vec<i64> = finished.iter().flatten().map(|&n| n as i64).collect();
        let defined: Vec<i16> = finished.iter().map(|n| n.is_some().into()).collect();
        if let Some(mut column) = group.next_column()? {
            let defined = Some(&defined[..]).filter(|_| known.len() < finished.len());
            column.typed::<Int64Type>().write_batch(&known, defined, None)?;
            column.close()?;
        }
    }
    group.close()?;
    writer.close()?;
    Ok(out)
}

/// The bytes of the file.
pub(super) fn file(tidy: &Tidy) -> Result<Vec<u8>, Failure> {
    bytes(tidy).map_err(|e| Failure::Message(format!("cannot write Parquet: {e}")))
}
