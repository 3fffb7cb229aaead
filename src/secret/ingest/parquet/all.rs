//! All cells of a file as text, for drafts of specs: made by whoever may see the data, and shown to nobody else.

use super::super::error::IngestError;
use super::super::files::DataFile;
use super::super::memory::LONGEST;
use super::place::OnDisk;
use super::types::{self, Held};
use super::{BROKEN, DAMAGED, reader, sizes, undamaged, undecodable, unpackable};
use crate::calendar;
use crate::spec::Holds;
use ::parquet::basic::Repetition;
use ::parquet::file::reader::FileReader;
use ::parquet::record::Field;
use ::parquet::schema::types::Type;

/// Why no dimension can be made of a column.
const NESTED: &str = "a column of nested values: no dimension is made of it";
const ENDLESS: &str = "has values that are too long to draft a spec of";
const SPECIAL: &str = "of a special type, or raw bytes: no dimension is made of them";

/// The columns of a file with what keeps them from being dimensions, and then its rows, a null as an empty text.
pub(crate) fn all<S, E: From<IngestError>>(
    file: &DataFile,
    begin: impl FnOnce(Vec<(String, Holds)>) -> Result<S, E>,
    mut row: impl FnMut(&mut S, &[String]),
) -> Result<S, E> {
    let read = || -> Result<S, E> {
        let reader = reader(file)?;
        let roots = reader.metadata().file_metadata().schema_descr().root_schema().get_fields().to_vec();
        let own = roots.iter().map(|root| (root.name().to_owned(), holds(root)));
        let columns = own.chain(file.keys.iter().map(|(name, _)| (name.clone(), Holds::Anything))).collect();
        let on_disk = OnDisk(file.clone());
        for chunk in reader.metadata().row_groups().iter().flat_map(|group| group.columns()) {
            unpackable(chunk)?;
            let longest = sizes::longest(&on_disk, chunk).map_err(|_| IngestError::Parquet(BROKEN))?;
            if longest > LONGEST as u64 {
                return Err(IngestError::Parquet(ENDLESS).into());
            }
        }
        let held: Vec<Held> = roots.iter().map(|root| types::held(root)).collect();
        let mut state = begin(columns)?;
        let mut cells: Vec<String> = Vec::new();
        for record in reader.get_row_iter(None).map_err(undecodable)? {
            let record = record.map_err(undecodable)?;
            cells.clear();
            cells.extend(record.get_column_iter().zip(&held).map(|((_, field), held)| text(field, *held)));
            cells.extend(file.keys.iter().map(|(_, value)| value.to_string()));
            row(&mut state, &cells);
        }
        Ok(state)
    };
    undamaged(read).unwrap_or(Err(IngestError::Parquet(DAMAGED).into()))
}

/// What a draft has to know of a column's type.
fn holds(root: &Type) -> Holds {
    if !root.is_primitive() || root.get_basic_info().repetition() == Repetition::REPEATED {
        return Holds::Nothing(NESTED);
    }
    match types::held(root) {
        Held::Other(_) => Holds::Nothing(SPECIAL),
        Held::Fractions => Holds::Fractions,
        _ => Holds::Anything,
    }
}

/// A cell as it is read when a release is made.
fn text(field: &Field, held: Held) -> String {
    match field {
        Field::Bool(v) => v.to_string(),
        Field::UByte(v) => v.to_string(),
        Field::UShort(v) => v.to_string(),
        Field::UInt(v) => v.to_string(),
        Field::ULong(v) => v.to_string(),
        Field::Float(v) => format!("{v:?}"),
        Field::Double(v) => format!("{v:?}"),
        Field::TimestampMillis(v) => day(*v, 1_000),
        Field::TimestampMicros(v) => day(*v, 1_000_000),
        Field::Str(v) => v.clone(),
        Field::Date(v) => calendar::written(i64::from(*v)),
        Field::Byte(v) => whole((*v).into(), held),
        Field::Short(v) => whole((*v).into(), held),
        Field::Int(v) => whole((*v).into(), held),
        Field::Long(v) => match held {
            Held::Times(unit) => day(*v, unit),
            _ => whole((*v).into(), held),
        },
        Field::Decimal(v) => types::unscaled(v.data()).map(|n| whole(n, held)).unwrap_or_default(),
        Field::Bytes(v) => match held {
            Held::Decimals(_) => types::unscaled(v.data()).map(|n| whole(n, held)).unwrap_or_default(),
            _ => String::from_utf8(v.data().to_vec()).unwrap_or_default(),
        },
        _ => String::new(),
    }
}

/// The day of a time, so many units of which are a second. Drafts say no more of it, but that there is a time.
fn day(time: i64, unit: i64) -> String {
    format!("{} 00:00", calendar::written(time.div_euclid(86_400 * unit)))
}

/// A whole number, of decimals the digits of one.
fn whole(number: i128, held: Held) -> String {
    let places = if let Held::Decimals(places) = held { places } else { 0 };
    let mut text = Vec::new();
    types::write_decimal(number, places, &mut text);
    String::from_utf8(text).unwrap_or_default()
}
