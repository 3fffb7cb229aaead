//! All cells of a file as text, for drafts of specs: made by whoever may see the data, and shown to nobody else.

use super::super::error::IngestError;
use super::place::OnDisk;
use super::{DAMAGED, UNREADABLE, undamaged, undecodable};
use crate::calendar;
use ::parquet::file::reader::FileReader;
use ::parquet::file::serialized_reader::SerializedFileReader;
use ::parquet::record::Field;
use ::parquet::schema::types::Type;
use std::path::Path;

/// Why no dimension can be made of a column.
const NESTED: &str = "a column of nested values: no dimension is made of it";
const SPECIAL: &str = "times, decimals or raw bytes: no dimension is made of them";

/// The columns of a file with what keeps them from being dimensions, and then its rows, a null as an empty text.
pub fn all<S, E: From<IngestError>>(
    path: &Path,
    begin: impl FnOnce(Vec<(String, Option<&'static str>)>) -> Result<S, E>,
    mut row: impl FnMut(&mut S, &[String]),
) -> Result<S, E> {
    let read = || -> Result<S, E> {
        let size = super::super::files::regular(path)?;
        let reader = SerializedFileReader::new(OnDisk::new(path, size));
        let reader = reader.map_err(|_| IngestError::Parquet(UNREADABLE))?;
        let roots = reader.metadata().file_metadata().schema_descr().root_schema().get_fields().to_vec();
        let columns = roots.iter().map(|root| (root.name().to_owned(), strange(root))).collect();
        let mut state = begin(columns)?;
        let mut cells: Vec<String> = Vec::new();
        for record in reader.get_row_iter(None).map_err(undecodable)? {
            let record = record.map_err(undecodable)?;
            cells.clear();
            cells.extend(record.get_column_iter().map(|(_, field)| text(field)));
            row(&mut state, &cells);
        }
        Ok(state)
    };
    undamaged(read).unwrap_or(Err(IngestError::Parquet(DAMAGED).into()))
}

/// What keeps a column from being a dimension.
fn strange(root: &Type) -> Option<&'static str> {
    use ::parquet::basic::{ConvertedType as C, LogicalType as L, Repetition, Type as T};
    if !root.is_primitive() || root.get_basic_info().repetition() == Repetition::REPEATED {
        return Some(NESTED);
    }
    let info = root.get_basic_info();
    let logical =
        matches!(info.logical_type_ref(), None | Some(L::Integer(_) | L::String | L::Enum | L::Date));
    let converted = matches!(
        info.converted_type(),
        C::NONE
            | C::UTF8
            | C::ENUM
            | C::DATE
            | C::INT_8
            | C::INT_16
            | C::INT_32
            | C::INT_64
            | C::UINT_8
            | C::UINT_16
            | C::UINT_32
            | C::UINT_64
    );
    let physical = !matches!(root.get_physical_type(), T::INT96 | T::FIXED_LEN_BYTE_ARRAY);
    (!(logical && converted && physical)).then_some(SPECIAL)
}

/// A cell as it is read when a release is made.
fn text(field: &Field) -> String {
    match field {
        Field::Bool(v) => v.to_string(),
        Field::Byte(v) => v.to_string(),
        Field::Short(v) => v.to_string(),
        Field::Int(v) => v.to_string(),
        Field::Long(v) => v.to_string(),
        Field::UByte(v) => v.to_string(),
        Field::UShort(v) => v.to_string(),
        Field::UInt(v) => v.to_string(),
        Field::ULong(v) => v.to_string(),
        Field::Float(v) => format!("{v:?}"),
        Field::Double(v) => format!("{v:?}"),
        Field::Str(v) => v.clone(),
        Field::Bytes(v) => String::from_utf8(v.data().to_vec()).unwrap_or_default(),
        Field::Date(v) => calendar::written(i64::from(*v)),
        _ => String::new(),
    }
}
