//! What the types of columns hold: which are read, and as what; what the others are called.

use super::super::code::Kind;
use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use ::parquet::schema::types::Type;

/// What whole numbers, and bytes that are such, stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Plain,
    Unsigned,
    /// Days since 1970-01-01.
    Day,
    /// So many to a second, since the beginning of 1970-01-01.
    Time(i64),
    /// So many of the digits are behind the point.
    Decimal(u8),
    /// There are no values at all.
    Nothing,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    Texts,
    Flags,
    /// Plain or unsigned.
    Whole(Meaning),
    Fractions,
    Days,
    /// Days with a time, so many to a second.
    Times(i64),
    /// So many digits are behind the point.
    Decimals(u8),
    /// Nulls only.
    Nothing,
    /// What nothing is read from, by its name.
    Other(&'static str),
}

/// What stands beside the way in which values are stored.
enum Note {
    None,
    Text,
    Whole(Meaning),
    Day,
    Time(i64),
    Decimal,
    Null,
    Other(&'static str),
}

const NESTED: &str = "nested";
const TIMES: &str = "days with a time (TIMESTAMP)";
const CLOCK: &str = "times of day (TIME)";
const JSON: &str = "JSON";
const BSON: &str = "BSON";
const SPECIAL: &str = "of a type that this build does not know";

/// As many digits as 128 bits hold.
const DIGITS: i32 = 38;

/// What a column of this type holds.
pub(super) fn held(column: &Type) -> Held {
    use Physical::{BOOLEAN, BYTE_ARRAY, DOUBLE, FIXED_LEN_BYTE_ARRAY, FLOAT, INT32, INT64, INT96};
    let Type::PrimitiveType { physical_type, precision, scale, .. } = column else {
        return Held::Other(NESTED);
    };
    match (note(column), *physical_type) {
        (Note::Other(name), _) => Held::Other(name),
        (Note::None | Note::Text, BYTE_ARRAY) => Held::Texts,
        (Note::None, BOOLEAN) => Held::Flags,
        (Note::None, FLOAT | DOUBLE) => Held::Fractions,
        (Note::None, INT32 | INT64) => Held::Whole(Meaning::Plain),
        (Note::Whole(meaning), INT32 | INT64) => Held::Whole(meaning),
        (Note::Day, INT32) => Held::Days,
        (Note::Time(unit), INT64) => Held::Times(unit),
        // Stored as the whole numbers that they are.
        (Note::Decimal, INT32 | INT64) if *scale == 0 => Held::Whole(Meaning::Plain),
        (Note::Decimal, INT32 | INT64 | FIXED_LEN_BYTE_ARRAY | BYTE_ARRAY) => match u8::try_from(*scale) {
            Ok(places) if (1..=DIGITS).contains(precision) && scale <= precision => Held::Decimals(places),
            _ => Held::Other("decimals of more than 38 digits (DECIMAL)"),
        },
        (Note::Null, INT32) => Held::Nothing,
        (Note::None, INT96) => Held::Other("days with a time, as INT96"),
        (Note::None, FIXED_LEN_BYTE_ARRAY) => Held::Other("raw bytes of a fixed length"),
        _ => Held::Other(SPECIAL),
    }
}

fn note(column: &Type) -> Note {
    use ConvertedType as C;
    use LogicalType as L;
    let info = column.get_basic_info();
    match (info.logical_type_ref(), info.converted_type()) {
        (Some(L::String | L::Enum), _) | (None, C::UTF8 | C::ENUM) => Note::Text,
        (Some(L::Integer(int)), _) if int.is_signed => Note::Whole(Meaning::Plain),
        (Some(L::Integer(_)), _) | (None, C::UINT_8 | C::UINT_16 | C::UINT_32 | C::UINT_64) => {
            Note::Whole(Meaning::Unsigned)
        }
        (None, C::INT_8 | C::INT_16 | C::INT_32 | C::INT_64) => Note::Whole(Meaning::Plain),
        (Some(L::Date), _) | (None, C::DATE) => Note::Day,
        (Some(L::Timestamp(time)), _) => Note::Time(match time.unit {
            TimeUnit::MILLIS => 1_000,
            TimeUnit::MICROS => 1_000_000,
            TimeUnit::NANOS => 1_000_000_000,
        }),
        (None, C::TIMESTAMP_MILLIS) => Note::Time(1_000),
        (None, C::TIMESTAMP_MICROS) => Note::Time(1_000_000),
        (Some(L::Decimal(_)), _) | (None, C::DECIMAL) => Note::Decimal,
        (Some(L::Unknown), _) => Note::Null,
        (Some(L::Time(_)), _) | (None, C::TIME_MILLIS | C::TIME_MICROS) => Note::Other(CLOCK),
        (Some(L::Json), _) | (None, C::JSON) => Note::Other(JSON),
        (Some(L::Bson), _) | (None, C::BSON) => Note::Other(BSON),
        (Some(L::Uuid), _) => Note::Other("UUIDs"),
        (Some(L::Float16), _) => Note::Other("fractions of two bytes (FLOAT16)"),
        (None, C::INTERVAL) => Note::Other("lengths of time (INTERVAL)"),
        (Some(L::Variant(_)), _) => Note::Other("of no one type (VARIANT)"),
        (Some(L::Geometry(_) | L::Geography(_)), _) => Note::Other("shapes (GEOMETRY)"),
        (None, C::NONE) => Note::None,
        (Some(_), _) | (None, _) => Note::Other(SPECIAL),
    }
}

/// What a column's values mean, if its type fits; or what it is instead. Fractions are no labels, however round: with `other` in the dimension all of
/// them would go there unnoticed. Where whole numbers are due, fractions and decimals are such if nothing but zeros is behind the point.
pub(super) fn meaning(held: Held, wanted: Kind) -> Result<Meaning, &'static str> {
    match (held, wanted) {
        (Held::Nothing, _) => Ok(Meaning::Nothing),
        (Held::Days, Kind::Dates | Kind::Times | Kind::Order) => Ok(Meaning::Day),
        (Held::Days, _) => Err("dates"),
        (Held::Times(unit), Kind::Times | Kind::Order) => Ok(Meaning::Time(unit)),
        (Held::Times(_), _) => Err(TIMES),
        (Held::Whole(_), Kind::Dates | Kind::Times) => Err("whole numbers"),
        (Held::Whole(meaning), _) => Ok(meaning),
        (Held::Decimals(_), Kind::Dates | Kind::Times) => Err("decimals"),
        (Held::Decimals(1..), Kind::Order) => Err("decimals with digits behind the point"),
        (Held::Decimals(places), _) => Ok(Meaning::Decimal(places)),
        (Held::Texts, _) => Ok(Meaning::Plain),
        (Held::Flags, Kind::Labels) | (Held::Fractions, Kind::Whole | Kind::Number) => Ok(Meaning::Plain),
        (Held::Flags, _) => Err("true or false"),
        (Held::Fractions, _) => Err("fractions"),
        (Held::Other(name), _) => Err(name),
    }
}

/// The whole number that bytes are, the highest first, as decimals have it. `None` beyond 128 bits.
pub(super) fn unscaled(bytes: &[u8]) -> Option<i128> {
    const ALL: usize = size_of::<i128>();
    let sign = if *bytes.first()? < 0x80 { 0 } else { 0xff };
    let (above, low) = bytes.split_at(bytes.len().saturating_sub(ALL));
    let mut all = [sign; ALL];
    all.get_mut(ALL - low.len()..)?.copy_from_slice(low);
    // What stands above says the sign again.
    let same = above.iter().all(|&b| b == sign) && (low.first()? & 0x80 == sign & 0x80 || above.is_empty());
    same.then_some(i128::from_be_bytes(all))
}

/// Writes a decimal with all the digits that its column has behind the point.
pub(super) fn write_decimal(unscaled: i128, places: u8, to: &mut Vec<u8>) {
    use std::io::Write;
    if unscaled < 0 {
        to.push(b'-');
    }
    let places = usize::from(places);
    // Writing into a vector cannot fail.
    let _ = write!(to, "{:0width$}", unscaled.unsigned_abs(), width = places + 1);
    if places > 0 {
        to.insert(to.len().saturating_sub(places), b'.');
    }
}
