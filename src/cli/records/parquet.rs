//! Records as Parquet, with their report among the file's key-values.

use crate::cli::output::Written;
use crate::records::{Read, Records, RecordsReport, Values};
use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::record::Field;
use ::parquet::schema::types::Type;
use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

/// The name of the report among the key-values.
const REPORT: &str = "margins.records";
/// Records of one row group.
const GROUP: usize = 1 << 18;

fn field(name: &str, physical: Physical, some: bool) -> Result<Arc<Type>, ParquetError> {
    let repetition = if some { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let text = (physical == Physical::BYTE_ARRAY).then_some(LogicalType::String);
    let built = Type::primitive_type_builder(name, physical).with_repetition(repetition);
    Ok(Arc::new(built.with_logical_type(text).build()?))
}

fn put<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Written>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

/// The numbers of those records that have one.
fn put_some<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Written>,
    values: &[Option<T::T>],
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    let there: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
    let own: Vec<T::T> = values.iter().flatten().cloned().collect();
    column.typed::<T>().write_batch(&own, Some(&there), None)?;
    column.close()
}

/// Writes a file.
pub(super) fn write(made: &Records, file: Written) -> Result<(), ParquetError> {
    let physical = |values: &Values| match values {
        Values::Labels(..) | Values::Texts(_) => Physical::BYTE_ARRAY,
        Values::Whole(_) | Values::SomeWhole(_) => Physical::INT64,
        Values::Numbers(_) | Values::SomeNumbers(_) => Physical::DOUBLE,
    };
    let columns = made.columns();
    let some = |values: &Values| matches!(values, Values::SomeWhole(_) | Values::SomeNumbers(_));
    let fields = columns.iter().map(|c| field(&c.name, physical(&c.values), some(&c.values)));
    let weight = made.weight_name();
    let weights = weight.iter().map(|name| field(name, Physical::DOUBLE, false));
    let fields = fields.chain(weights).collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("records").with_fields(fields).build()?);
    let report = serde_json::to_string(made.report()).map_err(|e| ParquetError::External(Box::new(e)))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_key_value_metadata(Some(vec![KeyValue::new(REPORT.to_owned(), report)]))
        .build();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
    for from in (0..made.len()).step_by(GROUP) {
        let rows = from..(from + GROUP).min(made.len());
        let mut group = writer.next_row_group()?;
        for c in columns {
            match &c.values {
                Values::Labels(labels, nodes) => {
                    // Of a million labels a group of rows has few.
                    let mut known: HashMap<u32, ByteArray> = HashMap::new();
                    let text = |n: u32| ByteArray::from(labels[n as usize].as_str());
                    let own = nodes[rows.clone()]
                        .iter()
                        .map(|&n| known.entry(n).or_insert_with(|| text(n)).clone());
                    put::<ByteArrayType>(&mut group, &own.collect::<Vec<_>>())?;
                }
                Values::Texts(texts) => {
                    let own = texts[rows.clone()].iter().map(|t| ByteArray::from(t.as_str()));
                    put::<ByteArrayType>(&mut group, &own.collect::<Vec<_>>())?;
                }
                Values::Whole(numbers) => put::<Int64Type>(&mut group, &numbers[rows.clone()])?,
                Values::Numbers(numbers) => put::<DoubleType>(&mut group, &numbers[rows.clone()])?,
                Values::SomeWhole(numbers) => put_some::<Int64Type>(&mut group, &numbers[rows.clone()])?,
                Values::SomeNumbers(numbers) => put_some::<DoubleType>(&mut group, &numbers[rows.clone()])?,
            }
        }
        if weight.is_some() {
            put::<DoubleType>(&mut group, &vec![made.report().weight; rows.len()])?;
        }
        group.close()?;
    }
    writer.close().map(|_| ())
}

/// Reads a file: its columns as texts, and its report.
pub(super) fn read(file: File) -> Result<(Vec<Read>, Option<RecordsReport>), ParquetError> {
    let reader = SerializedFileReader::new(file)?;
    let about = reader.metadata().file_metadata();
    let report = about.key_value_metadata().into_iter().flatten().find(|kv| kv.key == REPORT);
    let report = report.and_then(|kv| serde_json::from_str(kv.value.as_deref()?).ok());
    let names = about.schema().get_fields().iter().map(|f| f.name().to_owned());
    let mut columns: Vec<Read> =
        names.map(|name| Read { name, texts: Vec::new(), which: Vec::new() }).collect();
    let mut known: Vec<HashMap<String, u32>> = columns.iter().map(|_| HashMap::new()).collect();
    for row in reader.get_row_iter(None)? {
        for (((_, value), column), known) in row?.get_column_iter().zip(&mut columns).zip(&mut known) {
            let text = match value {
                Field::Str(text) => text.clone(),
                Field::Double(number) => number.to_string(),
                Field::Long(number) => number.to_string(),
                Field::Null => String::new(),
                other => other.to_string(),
            };
            column.push(known, text);
        }
    }
    Ok((columns, report))
}
