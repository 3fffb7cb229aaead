//! Where a row stands among those of its unit, by a column of whole numbers, days or times.
//!
//! Only what every database orders alike can be named: texts are ordered by one rule here and by another there.

use crate::calendar;
use crate::spec::clock;

/// How many bytes a place has: compared byte by byte they are ordered as what they stand for.
pub(in crate::secret::ingest) const KEY: usize = 13;

/// The first byte of a key that is a number, and of one that is a day or a time. A column holds one or the other.
const NUMBER: u8 = 1;
const TIME: u8 = 2;

/// The place that a cell says: a whole number of 64 bits, with a sign or without, a day `2024-01-31`, or a time of a day `2024-01-31 13:45:00.123456789`, with a `T`
/// in the place of the blank or a `Z` behind it if you like, seconds and their fraction as you like.
pub(in crate::secret::ingest) fn key(cell: &[u8]) -> Option<[u8; KEY]> {
    if let Some((date, rest)) = cell.split_at_checked(10)
        && let Some(day) = calendar::read(date)
    {
        let (seconds, nanos) = clock(rest)?;
        let seconds = day * 86_400 + seconds;
        return Some(bytes(TIME, i128::from(seconds) << 32 | i128::from(nanos)));
    }
    let text = std::str::from_utf8(cell).ok()?;
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let whole = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let number: i128 = whole.then(|| text.parse().ok())??;
    (i64::MIN.into()..=u64::MAX.into()).contains(&number).then(|| bytes(NUMBER, number))
}

/// A number of at most 96 bits; negative ones come first.
fn bytes(kind: u8, number: i128) -> [u8; KEY] {
    let [_, _, _, _, first, rest @ ..] = number.to_be_bytes();
    let mut key = [kind; KEY];
    key[1] = first ^ 0x80;
    key[2..].copy_from_slice(&rest);
    key
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_as_what_they_say() {
        for ascending in [
            &[
                "-9223372036854775808",
                "-7",
                "0",
                "3",
                "+4",
                "10",
                "9223372036854775807",
                "9223372036854775808",
                "18446744073709551615",
            ][..],
            &[
                "0000-01-01",
                "1969-12-31",
                "1969-12-31 23:59:59.999999999",
                "1970-01-01",
                "1970-01-01T00:01",
                "1970-01-01 00:01:00.5Z",
                "2024-02-29",
                "2024-03-01 00:00:01",
                "9999-12-31",
            ],
        ] {
            let keys: Vec<_> = ascending.iter().map(|text| key(text.as_bytes()).unwrap()).collect();
            assert!(keys.windows(2).all(|two| two[0] < two[1] && two[0][0] == two[1][0]), "{ascending:?}");
        }
        assert_eq!(key(b"007"), key(b"7"));
        assert_eq!(key(b"2024-02-29"), key(b"2024-02-29 00:00:00.000"));
        for wrong in [
            "",
            "x",
            "1.0",
            "18446744073709551616",
            "-9223372036854775809",
            "2024-02-30",
            "2024-02-29x",
            "2024-02-29 ",
            "2024-02-29 24:00",
            "2024-02-29 1:00:00",
            "2024-02-29 12:00:60",
            "2024-02-29 12:00:00.",
            "2024-02-29 12:00:00.1234567890",
            "2024-02-29 12:00.5",
            "2024-02-29 12:00:00+01:00",
            "--1",
            "é",
        ] {
            assert_eq!(key(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
