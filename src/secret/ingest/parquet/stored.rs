//! How a column's values are stored, and what they say.

use super::super::amount::Scale;
use super::types::{self, Meaning, write_decimal};
use crate::calendar;
use ::parquet::basic::Type;
use std::io::Write;

/// A value as the file holds it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'p> {
    Null,
    Bytes(&'p [u8]),
    Flag(bool),
    Whole(i64),
    Unsigned(u64),
    /// Days since 1970-01-01.
    Day(i64),
    /// Seconds since the beginning of that day, and billionths of one.
    Time(i64, i64),
    /// The bytes of a whole number, and how many of its digits are behind the point. As bytes, for they need no room to be placed well.
    Decimal([u8; 16], u8),
    /// As the file has it: it is its shortest text ([`Value::write`]), and nothing is reckoned with it but by its bits, in whole numbers.
    Single(f32),
    /// Likewise.
    Double(f64),
}

impl Value<'_> {
    pub(super) fn decimal(unscaled: i128, places: u8) -> Value<'static> {
        Value::Decimal(unscaled.to_be_bytes(), places)
    }

    /// As text: whole numbers in decimal, decimals with all their digits, fractions with the fewest digits that mean the same number.
    pub(super) fn write(self, to: &mut Vec<u8>) {
        to.clear();
        // Writing into a vector cannot fail.
        let _ = match self {
            Value::Null => Ok(()),
            Value::Bytes(bytes) => to.write_all(bytes),
            Value::Flag(v) => write!(to, "{v}"),
            Value::Whole(v) => write!(to, "{v}"),
            Value::Unsigned(v) => write!(to, "{v}"),
            Value::Day(v) => write!(to, "{}", calendar::written(v)),
            Value::Time(seconds, nanos) => {
                let (day, clock) =
                    (calendar::written(seconds.div_euclid(86_400)), seconds.rem_euclid(86_400));
                write!(to, "{day}T{:02}:{:02}:{:02}.{nanos:09}", clock / 3600, clock / 60 % 60, clock % 60)
            }
            Value::Decimal(bytes, places) => {
                write_decimal(i128::from_be_bytes(bytes), places, to);
                Ok(())
            }
            Value::Single(v) => write!(to, "{v:?}"),
            Value::Double(v) => write!(to, "{v:?}"),
        };
    }
}

/// How values are stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stored {
    pub physical: Type,
    pub meaning: Meaning,
    /// How many bytes each value has where all have as many.
    pub length: usize,
    pub nullable: bool,
}

impl Stored {
    /// What four bytes say. `None` where there can be nothing.
    pub(crate) fn narrow(self, value: i32) -> Option<Value<'static>> {
        Some(match self.meaning {
            Meaning::Plain => Value::Whole(value.into()),
            Meaning::Unsigned => Value::Unsigned(value.cast_unsigned().into()),
            Meaning::Day => Value::Day(value.into()),
            Meaning::Time(_) | Meaning::Decimal(_) | Meaning::Nothing => return self.wide(value.into()),
        })
    }

    /// What eight bytes say.
    pub(crate) fn wide(self, value: i64) -> Option<Value<'static>> {
        Some(match self.meaning {
            Meaning::Plain => Value::Whole(value),
            Meaning::Unsigned => Value::Unsigned(value.cast_unsigned()),
            Meaning::Day => Value::Day(value),
            Meaning::Time(unit) => {
                let nanos = value.rem_euclid(unit) * (1_000_000_000 / unit);
                Value::Time(value.div_euclid(unit), nanos)
            }
            Meaning::Decimal(places) => Value::decimal(value.into(), places),
            Meaning::Nothing => return None,
        })
    }

    /// How many bytes each value has, where all have as many; of others 0.
    pub(super) fn width(self) -> usize {
        match self.physical {
            Type::INT32 | Type::FLOAT => 4,
            Type::INT64 | Type::DOUBLE => 8,
            Type::FIXED_LEN_BYTE_ARRAY => self.length,
            _ => 0,
        }
    }

    /// The value in just these bytes.
    pub(super) fn read(self, bytes: &[u8]) -> Option<Value<'_>> {
        plain(bytes, 0, self).map(|(value, _)| value)
    }

    /// Hands on values of an amount, one by one: of each its bytes, and its node if that needs no text. What is stored is asked once for all of them.
    #[inline]
    pub(super) fn nodes<'b>(
        self,
        scale: &Scale<'_>,
        bytes: &'b [u8],
        mut take: impl FnMut(&'b [u8], Option<u32>) -> Option<()>,
    ) -> Option<()> {
        let (fours, eights) = (bytes.as_chunks::<4>().0, bytes.as_chunks::<8>().0);
        let places = match self.meaning {
            Meaning::Decimal(places) => places.into(),
            _ => 0,
        };
        match (self.physical, self.meaning) {
            (Type::DOUBLE, _) => {
                eights.iter().try_for_each(|b| take(b, scale.of_double(u64::from_le_bytes(*b))))
            }
            (Type::FLOAT, _) => {
                fours.iter().try_for_each(|b| take(b, scale.of_single(u32::from_le_bytes(*b))))
            }
            (Type::INT64, Meaning::Plain | Meaning::Decimal(_)) => {
                eights.iter().try_for_each(|b| take(b, scale.node(i64::from_le_bytes(*b), places)))
            }
            (Type::INT32, Meaning::Plain | Meaning::Decimal(_)) => {
                fours.iter().try_for_each(|b| take(b, scale.node(i32::from_le_bytes(*b).into(), places)))
            }
            (Type::FIXED_LEN_BYTE_ARRAY, Meaning::Decimal(_)) => {
                bytes.chunks_exact(self.length.max(1)).try_for_each(|b| {
                    let unscaled = i64::try_from(types::unscaled(b)?).ok();
                    take(b, unscaled.and_then(|unscaled| scale.node(unscaled, places)))
                })
            }
            _ => bytes.chunks_exact(self.width().max(1)).try_for_each(|b| take(b, None)),
        }
    }

    /// What any number of bytes say.
    pub(super) fn bytes(self, value: &[u8]) -> Option<Value<'_>> {
        match self.meaning {
            Meaning::Decimal(places) => Some(Value::decimal(types::unscaled(value)?, places)),
            _ => Some(Value::Bytes(value)),
        }
    }
}

/// The value that begins at a byte, and where it ends.
#[inline]
pub(super) fn plain(bytes: &[u8], from: usize, stored: Stored) -> Option<(Value<'_>, usize)> {
    let rest = bytes.get(from..)?;
    let four = || Some((*rest.first_chunk::<4>()?, from + 4));
    let eight = || Some((*rest.first_chunk::<8>()?, from + 8));
    Some(match stored.physical {
        Type::BYTE_ARRAY => {
            let len = usize::try_from(u32::from_le_bytes(four()?.0)).ok()?;
            (stored.bytes(rest.get(4..)?.get(..len)?)?, from + 4 + len)
        }
        Type::FIXED_LEN_BYTE_ARRAY => (stored.bytes(rest.get(..stored.length)?)?, from + stored.length),
        Type::INT32 => four().and_then(|(b, end)| Some((stored.narrow(i32::from_le_bytes(b))?, end)))?,
        Type::INT64 => eight().and_then(|(b, end)| Some((stored.wide(i64::from_le_bytes(b))?, end)))?,
        Type::FLOAT => four().map(|(b, end)| (Value::Single(f32::from_le_bytes(b)), end))?,
        Type::DOUBLE => eight().map(|(b, end)| (Value::Double(f64::from_le_bytes(b)), end))?,
        Type::BOOLEAN | Type::INT96 => return None,
    })
}
