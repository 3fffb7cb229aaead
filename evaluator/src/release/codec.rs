//! bincode's wire format, with one configuration for ever.
//!
//! Little endian; whole numbers with a variable number of bytes (0–250 in one byte, then 251, 252, 253 or 254 and two,
//! four, eight or sixteen bytes; signed numbers zigzagged); lengths as `u64` in the same way; `u8`, `bool` and floats as they are;
//! enums by a fixed one-byte tag. Every byte must be used, and a value has one encoding: what decodes
//! is encoded again and compared.

use super::ReleaseError;
use wincode::config::Configuration;
use wincode::int_encoding::{LittleEndian, VarInt};
use wincode::len::BincodeLen;
use wincode::{SchemaRead, SchemaWrite};

/// The most memory one declared length may make the decoder reserve, in bytes.
pub(crate) const PREALLOCATION_LIMIT: usize = 64 << 20;
/// The same for short texts: an item takes at least a byte of the file and less than 128 of memory, so no list of a file of
/// this many bytes needs more than 128 times as many.
const SHORT: usize = 8 << 10;
const SHORT_LIMIT: usize = SHORT << 7;

/// The one configuration; it reserves at most so many bytes for what one length declares.
pub(crate) type Limited<const LIMIT: usize> =
    Configuration<true, LIMIT, BincodeLen, LittleEndian, VarInt, u8>;

/// The one configuration.
pub(crate) type Wire = Limited<PREALLOCATION_LIMIT>;
/// The same for short texts.
pub(crate) type Short = Limited<SHORT_LIMIT>;

/// The one configuration, as a value.
const fn wire<const LIMIT: usize>() -> Limited<LIMIT> {
    Configuration::default()
        .with_preallocation_size_limit::<LIMIT>()
        .with_varint_encoding()
        .with_tag_encoding::<u8>()
}

/// The bytes of a value; `what` names it in the error.
pub(crate) fn encode<T>(what: &'static str, value: &T) -> Result<Vec<u8>, ReleaseError>
where
    T: SchemaWrite<Wire, Src = T> + ?Sized,
{
    wincode::config::serialize(value, wire::<PREALLOCATION_LIMIT>())
        .map_err(|e| ReleaseError::Decode { what, why: e.to_string() })
}

/// The value of these bytes, all of them; `what` names it in the error.
pub(crate) fn decode<T>(what: &'static str, bytes: &[u8]) -> Result<T, ReleaseError>
where
    T: for<'de> SchemaRead<'de, Wire, Dst = T>
        + for<'de> SchemaRead<'de, Short, Dst = T>
        + SchemaWrite<Wire, Src = T>,
{
    let value: T = if bytes.len() <= SHORT {
        wincode::config::deserialize_exact(bytes, wire::<SHORT_LIMIT>())
    } else {
        wincode::config::deserialize_exact(bytes, wire::<PREALLOCATION_LIMIT>())
    }
    .map_err(|e| ReleaseError::Decode { what, why: e.to_string() })?;
    if encode(what, &value)? != bytes {
        return Err(ReleaseError::Decode { what, why: "a number is not in its shortest form".into() });
    }
    Ok(value)
}

/// Reads values one after the other, without a tree of them in between: what a plan of hundreds of thousands of
/// measurements needs. It takes what [`decode`] takes.
pub(crate) struct Cursor<'b> {
    what: &'static str,
    rest: &'b [u8],
}

impl<'b> Cursor<'b> {
    /// From the first of these bytes on; `what` names them in errors.
    pub(crate) fn new(what: &'static str, bytes: &'b [u8]) -> Cursor<'b> {
        Cursor { what, rest: bytes }
    }

    /// An error of these bytes.
    pub(crate) fn error(&self, why: impl Into<String>) -> ReleaseError {
        ReleaseError::Decode { what: self.what, why: why.into() }
    }

    /// A byte that is what it is: a `u8`, or a tag.
    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, ReleaseError> {
        let Some((&byte, rest)) = self.rest.split_first() else {
            return Err(self.error("it ends too early"));
        };
        self.rest = rest;
        Ok(byte)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], ReleaseError> {
        let Some((bytes, rest)) = self.rest.split_first_chunk() else {
            return Err(self.error("it ends too early"));
        };
        self.rest = rest;
        Ok(*bytes)
    }

    /// A number with a point, of which every pattern of bits is one.
    pub(crate) fn float(&mut self) -> Result<f64, ReleaseError> {
        self.bytes().map(f64::from_le_bytes)
    }

    /// A text.
    pub(crate) fn text(&mut self) -> Result<String, ReleaseError> {
        let length = self.length()?;
        let (text, rest) = self.rest.split_at(length);
        let text = std::str::from_utf8(text).map_err(|_| self.error("a text is not UTF-8"))?;
        self.rest = rest;
        Ok(text.to_owned())
    }

    /// A whole number in its shortest form.
    #[inline]
    pub(crate) fn number(&mut self) -> Result<u128, ReleaseError> {
        match self.byte()? {
            small @ 0..=250 => Ok(small.into()),
            marker => self.long(marker),
        }
    }

    fn long(&mut self, marker: u8) -> Result<u128, ReleaseError> {
        let (number, most_of_shorter) = match marker {
            251 => (u16::from_le_bytes(self.bytes()?).into(), 250),
            252 => (u32::from_le_bytes(self.bytes()?).into(), u16::MAX.into()),
            253 => (u64::from_le_bytes(self.bytes()?).into(), u32::MAX.into()),
            254 => (u128::from_le_bytes(self.bytes()?), u64::MAX.into()),
            _ => return Err(self.error("a number has no such marker")),
        };
        if number <= most_of_shorter {
            Err(self.error("a number is not in its shortest form"))
        } else {
            Ok(number)
        }
    }

    /// The same of a type that it must fit.
    #[inline]
    pub(crate) fn whole<T: TryFrom<u128>>(&mut self) -> Result<T, ReleaseError> {
        let number = self.number()?;
        T::try_from(number).map_err(|_| self.error("a number is too large"))
    }

    /// A signed number.
    pub(crate) fn signed<T: TryFrom<i128>>(&mut self) -> Result<T, ReleaseError> {
        let coded: u64 = self.whole()?;
        let number = i128::from(coded >> 1) ^ -i128::from(coded & 1);
        T::try_from(number).map_err(|_| self.error("a number is too large"))
    }

    /// The length of a list whose items have a byte at least: no more of them than there are bytes left.
    pub(crate) fn length(&mut self) -> Result<usize, ReleaseError> {
        let length = self.number()?;
        match usize::try_from(length) {
            Ok(length) if length <= self.rest.len() => Ok(length),
            _ => Err(self.error("a list is longer than what is left")),
        }
    }

    /// Every byte must be used.
    pub(crate) fn end(self) -> Result<(), ReleaseError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.error("there are bytes behind its end")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Written by hand from the documented rules.
    #[test]
    fn bytes_are_pinned() {
        let enc = |v: &(u64, i64, u8, String)| encode("test", v).unwrap();
        assert_eq!(enc(&(250, -1, 255, "é".into())), [250, 1, 255, 2, 0xc3, 0xa9]);
        assert_eq!(enc(&(251, 125, 0, String::new())), [251, 251, 0, 250, 0, 0]);
        assert_eq!(enc(&(65_536, i64::MIN, 0, String::new()))[..5], [252, 0, 0, 1, 0]);
        assert_eq!(encode("test", &u64::MAX).unwrap(), [253, 255, 255, 255, 255, 255, 255, 255, 255]);
        let mut sixteen = [0; 17];
        (sixteen[0], sixteen[9]) = (254, 1);
        assert_eq!(encode("test", &(1u128 << 64)).unwrap(), sixteen);
        assert_eq!(encode("test", &1.5f64).unwrap(), 1.5f64.to_bits().to_le_bytes());
    }

    #[test]
    fn strict() {
        assert_eq!(decode::<u64>("test", &[7]).unwrap(), 7);
        assert!(decode::<u64>("test", &[7, 0]).is_err(), "trailing byte");
        assert!(decode::<u64>("test", &[251, 7, 0]).is_err(), "longer than needed");
        assert!(decode::<u64>("test", &[255]).is_err(), "no such marker");
        assert!(decode::<bool>("test", &[2]).is_err());
        // A length of 2^60 with nothing behind it.
        assert!(decode::<Vec<u8>>("test", &[253, 0, 0, 0, 0, 0, 0, 0, 16]).is_err());
    }

    proptest! {
        /// Two readers of one format: this one, and the library's with what it reads written again.
        #[test]
        fn a_cursor_reads_what_is_decoded(mut bytes in prop::collection::vec(any::<u8>(), 0..40), marker in 245u8.., small: bool) {
            if let Some(first) = bytes.first_mut().filter(|_| small) {
                *first = marker;
            }
            fn read<T>(bytes: &[u8], of: impl FnOnce(&mut Cursor) -> Result<T, ReleaseError>) -> Option<T> {
                let mut cursor = Cursor::new("test", bytes);
                of(&mut cursor).ok().filter(|_| cursor.end().is_ok())
            }
            prop_assert_eq!(read(&bytes, |c| c.whole::<u16>()), decode::<u16>("test", &bytes).ok());
            prop_assert_eq!(read(&bytes, |c| c.whole::<u64>()), decode::<u64>("test", &bytes).ok());
            prop_assert_eq!(read(&bytes, |c| c.number()), decode::<u128>("test", &bytes).ok());
            prop_assert_eq!(read(&bytes, |c| c.signed::<i32>()), decode::<i32>("test", &bytes).ok());
            prop_assert_eq!(read(&bytes, |c| c.byte()), decode::<u8>("test", &bytes).ok());
            let list = |c: &mut Cursor| (0..c.length()?).map(|_| c.whole::<u32>()).collect::<Result<Vec<_>, _>>();
            prop_assert_eq!(read(&bytes, list), decode::<Vec<u32>>("test", &bytes).ok());
        }
    }
}
