//! Rows from a data frame: whatever has `__arrow_c_stream__`. They are private: read batch by batch into memory that is wiped, and handed to
//! the reader of files. No error shows a value.

use crate::error::Error;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::types::{
    Date32Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatchReader};
use arrow_pyarrow::FromPyArrow;
use arrow_schema::DataType;
use margins::secret::ingest::{Frame, Held, day_text};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::io::Write;
use zeroize::Zeroizing;

/// After so many rows somebody looks for signals.
const LOOK: usize = 1 << 16;

/// What went wrong in somebody else's code. Its text may quote cells, so it is not handed on, nor is the exception itself: a log would show it as the cause.
fn unreadable(error: &PyErr, py: Python<'_>) -> PyErr {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return PyKeyboardInterrupt::new_err(());
    }
    Error::new_err(
        "the data frame cannot be read as an Arrow stream. A column of values of several types is the usual reason: give each column that the spec \
         names one type",
    )
}

/// Which columns a data frame says that it has; none where it does not say.
fn names(data: &Bound<'_, PyAny>) -> Vec<String> {
    let of = |attribute: &str| -> Option<Vec<String>> {
        let names = data.getattr(attribute).ok()?.try_iter().ok()?;
        Some(names.filter_map(|name| name.ok()?.extract().ok()).collect())
    };
    of("column_names").or_else(|| of("columns")).unwrap_or_default()
}

/// The named columns alone, in the way of each kind of frame; the whole frame where it has another way or none of them. Columns that nobody named
/// are not turned into Arrow's types: that takes time and memory, and may fail.
fn chosen<'py>(data: &Bound<'py, PyAny>, named: &[String]) -> PyResult<Option<Bound<'py, PyAny>>> {
    let module: String = data.get_type().module()?.extract()?;
    let mut own = names(data);
    own.retain(|name| named.contains(name));
    own.sort_unstable();
    own.dedup();
    if own.is_empty() {
        return Ok(None);
    }
    match module.split('.').next().unwrap_or_default() {
        "pandas" | "polars" => data.get_item(own).map(Some),
        "pyarrow" => data.call_method1("select", (own,)).map(Some),
        "duckdb" | "_duckdb" => data.call_method1("select", PyTuple::new(data.py(), own)?).map(Some),
        _ => Ok(None),
    }
}

/// Copies the named columns of a data frame. They keep their types: the spec says what each is to be read as.
pub fn frame(data: &Bound<'_, PyAny>, named: &[String]) -> PyResult<Frame> {
    let py = data.py();
    let dropped = |e: PyErr| unreadable(&e, py);
    if !data.hasattr("__arrow_c_stream__").map_err(dropped)? {
        return Err(Error::new_err(format!(
            "data is a path or a data frame (with __arrow_c_stream__), not {}",
            data.get_type().name()?
        )));
    }
    let part = chosen(data, named).unwrap_or_default();
    let reader =
        RecordBatchStreamReader::from_pyarrow_bound(part.as_ref().unwrap_or(data)).map_err(dropped)?;
    let schema = reader.schema();
    // With a column that nobody named every row has a line, whatever the spec names.
    let fields = schema.fields();
    let mut taken: Vec<usize> = (0..fields.len()).filter(|&i| named.contains(fields[i].name())).collect();
    if taken.is_empty() {
        taken.extend((0..fields.len()).take(1));
    }
    let columns = taken.iter().map(|&i| (fields[i].name().clone(), held(fields[i].data_type()))).collect();
    data.py().detach(|| {
        let mut frame = Frame::new(columns);
        let mut text = Zeroizing::new(Vec::with_capacity(1 << 12));
        for batch in reader {
            // What Arrow says of it is not ours to vouch for.
            let batch = batch.map_err(|_| Error::new_err("the data frame cannot be read"))?;
            let columns: Vec<Column> = taken
                .iter()
                .filter_map(|&i| batch.columns().get(i))
                .map(|c| Column::of(c.as_ref()))
                .collect();
            for row in 0..batch.num_rows() {
                if row % LOOK == 0 {
                    Python::attach(|py| py.check_signals())?;
                }
                for column in &columns {
                    text.clear();
                    column.write(row, &mut text);
                    frame.cell(&text);
                }
            }
        }
        Ok(frame)
    })
}

/// What a column holds, as the spec's reader knows it.
fn held(kind: &DataType) -> Held {
    use DataType::{
        Binary, BinaryView, Boolean, Date32, Dictionary, FixedSizeList, Float16, Float32, Float64, Int8,
        Int16, Int32, Int64, LargeBinary, LargeList, LargeUtf8, List, ListView, Map, Null, Struct, UInt8,
        UInt16, UInt32, UInt64, Union, Utf8, Utf8View,
    };
    match kind {
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | Null => Held::Text,
        Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => Held::Whole,
        Float16 | Float32 | Float64 => Held::Fraction,
        Boolean => Held::Truth,
        Date32 => Held::Date,
        Dictionary(_, values) => held(values),
        List(_) | LargeList(_) | FixedSizeList(..) | ListView(_) | Struct(_) | Map(..) | Union(..) => {
            Held::Nested
        }
        _ => Held::Special,
    }
}

/// A column of a batch as text; of a dictionary (a categorical column) which of its values every row has.
pub enum Column<'a> {
    Plain(&'a dyn Array),
    Dictionary { own: &'a dyn Array, keys: Vec<usize>, values: Box<Column<'a>> },
}

impl<'a> Column<'a> {
    /// Any column.
    pub fn of(own: &'a dyn Array) -> Column<'a> {
        match own.as_any_dictionary_opt() {
            Some(dictionary) if !dictionary.values().is_empty() => Column::Dictionary {
                own,
                keys: dictionary.normalized_keys(),
                values: Box::new(Column::of(dictionary.values().as_ref())),
            },
            _ => Column::Plain(own),
        }
    }

    /// Adds a cell's text; nothing for a null.
    pub fn write(&self, row: usize, text: &mut Vec<u8>) {
        match self {
            Column::Plain(column) => write(*column, row, text),
            Column::Dictionary { own, keys, values } => {
                if let (false, Some(&key)) = (own.is_null(row), keys.get(row)) {
                    values.write(key, text);
                }
            }
        }
    }
}

/// A cell as text; nothing for a null, and for what no dimension is read from.
fn write(column: &dyn Array, row: usize, text: &mut Vec<u8>) {
    if column.is_null(row) {
        return;
    }
    // Writing into a vector cannot fail.
    macro_rules! number {
        ($kind:ty, $format:literal) => {
            drop(write!(text, $format, column.as_primitive::<$kind>().value(row)))
        };
    }
    match column.data_type() {
        DataType::Utf8 => text.extend_from_slice(column.as_string::<i32>().value(row).as_bytes()),
        DataType::LargeUtf8 => text.extend_from_slice(column.as_string::<i64>().value(row).as_bytes()),
        DataType::Utf8View => text.extend_from_slice(column.as_string_view().value(row).as_bytes()),
        DataType::Binary => text.extend_from_slice(column.as_binary::<i32>().value(row)),
        DataType::LargeBinary => text.extend_from_slice(column.as_binary::<i64>().value(row)),
        DataType::BinaryView => text.extend_from_slice(column.as_binary_view().value(row)),
        DataType::Int8 => number!(Int8Type, "{}"),
        DataType::Int16 => number!(Int16Type, "{}"),
        DataType::Int32 => number!(Int32Type, "{}"),
        DataType::Int64 => number!(Int64Type, "{}"),
        DataType::UInt8 => number!(UInt8Type, "{}"),
        DataType::UInt16 => number!(UInt16Type, "{}"),
        DataType::UInt32 => number!(UInt32Type, "{}"),
        DataType::UInt64 => number!(UInt64Type, "{}"),
        DataType::Float16 => number!(Float16Type, "{}"),
        DataType::Float32 => number!(Float32Type, "{:?}"),
        DataType::Float64 => number!(Float64Type, "{:?}"),
        DataType::Date32 => {
            let day = i64::from(column.as_primitive::<Date32Type>().value(row));
            text.extend_from_slice(day_text(day).as_bytes());
        }
        DataType::Boolean => drop(write!(text, "{}", column.as_boolean().value(row))),
        _ => {}
    }
}
