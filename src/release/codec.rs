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
pub const PREALLOCATION_LIMIT: usize = 64 << 20;
/// The same for short texts: an item takes at least a byte of the file and less than 128 of memory, so no list of a file of
/// this many bytes needs more than 128 times as many.
const SHORT: usize = 8 << 10;
const SHORT_LIMIT: usize = SHORT << 7;

/// The one configuration; it reserves at most so many bytes for what one length declares.
pub type Limited<const LIMIT: usize> = Configuration<true, LIMIT, BincodeLen, LittleEndian, VarInt, u8>;

/// The one configuration.
pub type Wire = Limited<PREALLOCATION_LIMIT>;
/// The same for short texts.
pub type Short = Limited<SHORT_LIMIT>;

/// The one configuration, as a value.
const fn wire<const LIMIT: usize>() -> Limited<LIMIT> {
    Configuration::default()
        .with_preallocation_size_limit::<LIMIT>()
        .with_varint_encoding()
        .with_tag_encoding::<u8>()
}

/// The bytes of a value; `what` names it in the error.
pub fn encode<T>(what: &'static str, value: &T) -> Result<Vec<u8>, ReleaseError>
where
    T: SchemaWrite<Wire, Src = T> + ?Sized,
{
    wincode::config::serialize(value, wire::<PREALLOCATION_LIMIT>())
        .map_err(|e| ReleaseError::Decode { what, why: e.to_string() })
}

/// The value of these bytes, all of them; `what` names it in the error.
pub fn decode<T>(what: &'static str, bytes: &[u8]) -> Result<T, ReleaseError>
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
