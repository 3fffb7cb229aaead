//! How measured integers are packed into sections.
//!
//! A measurement is `width: u8` (0 to 127) and then its values, zigzag-coded, `width` bits each, least significant bit
//! first, padded with zero bits to a whole byte. 64 values or more take at least one bit each, also if all are 0: so a
//! file is as large as what it makes a reader hold, and more than 64 bits only where some value needs them: counts never do. The number of values follows from the plan. Section `i` holds the
//! `i`-th chunk of the [`layout`]: consecutive measurements, closed once they have 2^16 values or more; or one [slice](crate::plan::slices) of a
//! large measurement, packed like a measurement. So a query reads and
//! hashes only the sections of the measurements it needs, a release of many small ones does not need as many
//! sections, and the layout follows from the plan alone.

use super::ReleaseError;
use crate::cube::{Frame, Integer, Integers};
use crate::plan::Plan;
use crate::plan::limits::ALWAYS_A_BIT;
use crate::plan::slices::Slices;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A section is closed once it holds this many values.
pub const CHUNK: usize = 1 << 16;

/// What a section holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Which measurements.
    pub measurements: Range<usize>,
    /// Of the only one of them this slice alone.
    pub slice: Option<usize>,
}

/// Where measurements stand.
pub struct Layout {
    /// How many values each of them has.
    pub counts: Vec<usize>,
    /// What each section holds.
    pub chunks: Vec<Chunk>,
    /// How the large ones are cut.
    pub slices: BTreeMap<usize, Arc<Slices>>,
}

/// Where a plan's measurements stand.
pub fn layout(plan: &Plan, frame: &Frame) -> Layout {
    let measurements = &plan.rows().measurements;
    let counts: Vec<usize> = measurements.iter().map(|m| m.block.values(frame)).collect();
    let (mut chunks, mut slices) = (Vec::new(), BTreeMap::new());
    let (mut start, mut held) = (0, 0usize);
    for (i, (count, m)) in counts.iter().zip(measurements).enumerate() {
        if let Some(cut) = m.block.slices(frame) {
            if start < i {
                chunks.push(Chunk { measurements: start..i, slice: None });
            }
            chunks.extend((0..cut.count()).map(|s| Chunk { measurements: i..i + 1, slice: Some(s) }));
            slices.insert(i, cut);
            (start, held) = (i + 1, 0);
            continue;
        }
        held = held.saturating_add(*count);
        if held >= CHUNK || i + 1 == counts.len() {
            chunks.push(Chunk { measurements: start..i + 1, slice: None });
            (start, held) = (i + 1, 0);
        }
    }
    Layout { counts, chunks, slices }
}

/// The widest that a value may be.
const WIDEST: u8 = 127;

fn zigzag_wide(v: i128) -> u128 {
    ((v << 1) ^ (v >> 127)) as u128
}

fn unzigzag_wide(v: u128) -> i128 {
    (v >> 1) as i128 ^ -((v & 1) as i128)
}

fn zigzag(v: i64) -> u64 {
    ((v << 1) ^ (v >> 63)) as u64
}

fn unzigzag(v: u64) -> i64 {
    (v >> 1) as i64 ^ -((v & 1) as i64)
}

/// The bytes a measurement of `count` values of `width` bits takes; `None` when that is no sane number.
fn packed_len(count: usize, width: u8) -> Option<usize> {
    Some(count.checked_mul(usize::from(width))?.div_ceil(8) + 1)
}

/// Appends one measurement.
fn pack_narrow(values: &[i64], out: &mut Vec<u8>) {
    let widest = values.iter().fold(0, |w, &v| w | zigzag(v));
    let width = (64 - widest.leading_zeros()).max(u32::from(values.len() >= ALWAYS_A_BIT));
    out.push(width as u8);
    out.reserve(values.len() * width as usize / 8 + 9);
    let (mut buffer, mut held) = (0u128, 0);
    for &v in values {
        buffer |= u128::from(zigzag(v)) << held;
        held += width;
        if held >= 64 {
            out.extend_from_slice(&(buffer as u64).to_le_bytes());
            buffer >>= 64;
            held -= 64;
        }
    }
    out.extend_from_slice(&(buffer as u64).to_le_bytes()[..held.div_ceil(8) as usize]);
}

/// Appends one measurement, in as many bits as its values take.
pub fn pack(values: &Integers, out: &mut Vec<u8>) {
    match values.narrow() {
        Ok(values) => pack_narrow(values, out),
        Err(values) => pack_wide(values, out),
    }
}

/// Appends one of which some value takes more than 64 bits.
fn pack_wide(values: &[i128], out: &mut Vec<u8>) {
    let widest = values.iter().fold(0, |w, &v| w | zigzag_wide(v));
    let width = (128 - widest.leading_zeros()).max(65);
    out.push(width as u8);
    out.reserve(values.len() * width as usize / 8 + 17);
    let (mut buffer, mut held) = (0u128, 0);
    for &v in values {
        let v = zigzag_wide(v);
        // The low 64 bits, and the others.
        for (bits, many) in [(v as u64, 64), ((v >> 64) as u64, width - 64)] {
            buffer |= u128::from(bits) << held;
            held += many;
            if held >= 64 {
                out.extend_from_slice(&(buffer as u64).to_le_bytes());
                buffer >>= 64;
                held -= 64;
            }
        }
    }
    out.extend_from_slice(&(buffer as u64).to_le_bytes()[..held.div_ceil(8) as usize]);
}

/// Appends a measurement of `count` zeros.
#[cfg(feature = "compile")]
pub fn pack_zeros(count: usize, out: &mut Vec<u8>) {
    let bits = usize::from(count >= ALWAYS_A_BIT);
    out.push(bits as u8);
    out.resize(out.len() + (count * bits).div_ceil(8), 0);
}

/// Takes one measurement of `count` values off the front of `bytes`.
pub(crate) fn unpack_integers(bytes: &mut &[u8], count: usize) -> Result<Integers, ReleaseError> {
    match bytes.first() {
        Some(&width) if u32::from(width) > u64::BITS => {
            let (&width, packed) = skip(bytes, count)?.split_first().ok_or_else(malformed)?;
            unpack_wide(packed, count, width.into())
        }
        _ => Ok(unpack(bytes, count)?.into()),
    }
}

/// Values of 65 to 127 bits each, one after the other in the bytes as one little-endian number.
fn unpack_wide(packed: &[u8], count: usize, width: usize) -> Result<Integers, ReleaseError> {
    let mask = u128::MAX >> (128 - width);
    let at = |bit: usize| {
        // With what is before it in its first byte a value may be in 17 bytes.
        let mut bytes = [0; 17];
        let own = packed.get(bit / 8..).unwrap_or_default();
        let own = &own[..own.len().min(17)];
        bytes[..own.len()].copy_from_slice(own);
        let low = bytes.first_chunk().map_or(0, |low| u128::from_le_bytes(*low)) >> (bit % 8);
        let high = u128::from(bytes[16]).checked_shl(128 - (bit % 8) as u32).unwrap_or(0);
        unzigzag_wide((low | high) & mask)
    };
    let values = (0..count).map(|i| at(i * width)).collect();
    let behind = (count * width..packed.len() * 8).any(|bit| packed[bit / 8] >> (bit % 8) & 1 == 1);
    if behind { Err(malformed()) } else { i128::all(values).ok_or_else(malformed) }
}

/// Takes one measurement of `count` values of at most 64 bits off the front of `bytes`: all but the integers of measurements are.
pub(crate) fn unpack(bytes: &mut &[u8], count: usize) -> Result<Vec<i64>, ReleaseError> {
    let body = skip(bytes, count)?;
    let (&width, mut packed) = body.split_first().ok_or_else(malformed)?;
    if width == 0 {
        return Ok(vec![0; count]);
    }
    let width = Some(u32::from(width)).filter(|&width| width <= u64::BITS).ok_or_else(malformed)?;
    let mask = u64::MAX >> (64 - width);
    if width <= NARROW {
        return narrow(packed, count, width, mask);
    }
    let mut values = Vec::with_capacity(count);
    let (mut buffer, mut held) = (0u128, 0);
    for _ in 0..count {
        if held < width {
            let word = match packed.split_first_chunk::<8>() {
                Some((chunk, rest)) => {
                    packed = rest;
                    u64::from_le_bytes(*chunk)
                }
                None => {
                    let mut last = [0; 8];
                    last[..packed.len()].copy_from_slice(packed);
                    packed = &[];
                    u64::from_le_bytes(last)
                }
            };
            buffer |= u128::from(word) << held;
            held += 64;
        }
        values.push(unzigzag(buffer as u64 & mask));
        buffer >>= width;
        held -= width;
    }
    if buffer != 0 {
        return Err(malformed());
    }
    Ok(values)
}

/// Values of at most so many bits are within eight bytes wherever they begin.
const NARROW: u32 = 57;

/// Values of few bits, each from the eight bytes that it is in.
fn narrow(packed: &[u8], count: usize, width: u32, mask: u64) -> Result<Vec<i64>, ReleaseError> {
    let width = width as usize;
    let at = |bytes: &[u8], bit: usize| {
        let eight = bytes.get(bit / 8..).and_then(|b| b.first_chunk::<8>()).copied().unwrap_or_default();
        unzigzag(u64::from_le_bytes(eight) >> (bit % 8) & mask)
    };
    // As many as begin eight bytes before the end; the others are in the last bytes, with zeros behind them.
    let first = packed.len().checked_sub(7).map_or(0, |begins| (begins * 8).div_ceil(width)).min(count);
    let mut values = Vec::with_capacity(count);
    values.extend((0..first).map(|i| at(packed, i * width)));
    let from = first * width / 8;
    let mut last = [0; 24];
    let rest = packed.get(from..).filter(|rest| rest.len() <= 16).ok_or_else(malformed)?;
    last[..rest.len()].copy_from_slice(rest);
    values.extend((first..count).map(|i| at(&last, i * width - from * 8)));
    // The bits behind the last value.
    let used = count * width - from * 8;
    let behind = (used..rest.len() * 8).any(|bit| rest[bit / 8] >> (bit % 8) & 1 == 1);
    if behind { Err(malformed()) } else { Ok(values) }
}

/// Takes one measurement off the front without decoding it.
pub(crate) fn skip<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], ReleaseError> {
    let &width = bytes.first().ok_or_else(malformed)?;
    let length =
        packed_len(count, width).filter(|&n| width <= WIDEST && n <= bytes.len()).ok_or_else(malformed)?;
    if width == 0 && count >= ALWAYS_A_BIT {
        return Err(malformed());
    }
    let (body, rest) = bytes.split_at(length);
    *bytes = rest;
    Ok(body)
}

fn malformed() -> ReleaseError {
    ReleaseError::Decode { what: "measurements", why: "the packed values are malformed".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(lists in prop::collection::vec(prop::collection::vec(any::<i64>(), 0..40), 0..5), shift in 0u32..64) {
            let lists: Vec<Vec<i64>> =
                lists.into_iter().map(|l| l.into_iter().map(|v| v >> shift).collect()).collect();
            let mut bytes = Vec::new();
            for l in &lists {
                pack_narrow(l, &mut bytes);
            }
            let mut rest = &bytes[..];
            for l in &lists {
                prop_assert_eq!(&unpack(&mut rest, l.len()).unwrap(), l);
            }
            prop_assert!(rest.is_empty());
        }

        /// At every width from 1 to 127 bits, whatever was there before; against the definition, bit by bit.
        #[test]
        fn wide_round_trip(list in prop::collection::vec(any::<i128>(), 0..40), shift in 1u32..128, before in any::<u8>()) {
            let list: Vec<i128> = list.into_iter().map(|v| v >> shift).collect();
            let values = i128::all(list.clone()).unwrap();
            let mut bytes = vec![before];
            pack(&values, &mut bytes);
            let width = usize::from(bytes[1]);
            let bit = |at: usize| u128::from(bytes[2 + at / 8] >> (at % 8) & 1);
            for (i, &v) in list.iter().enumerate() {
                let coded = (0..width).fold(0, |coded, at| coded | bit(i * width + at) << at);
                prop_assert_eq!(coded, if v < 0 { 2 * v.unsigned_abs() - 1 } else { 2 * v.unsigned_abs() });
            }
            let mut rest = &bytes[1..];
            prop_assert_eq!(unpack_integers(&mut rest, list.len()).unwrap(), values);
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn wide_garbage_is_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..80), width in 60u8..140, count in 0usize..8) {
            let bytes: Vec<u8> = [width].into_iter().chain(bytes).collect();
            let read = unpack_integers(&mut &bytes[..], count);
            prop_assert!(width <= 127 || read.is_err());
            prop_assert!(read.is_err() || unpack(&mut &bytes[..], count).is_ok() == (width <= 64));
        }

        #[test]
        fn garbage_is_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..50), count in 0usize..100) {
            let _ = unpack(&mut &bytes[..], count);
        }
    }

    /// The widths around those of registers, and the furthest values that there are.
    #[test]
    fn wide_extremes() {
        for (width, most) in [63, 64, 65, 127].map(|width| (width, 1i128 << (width - 1))) {
            for list in [vec![-most, most - 1, 0, -1, 5], vec![most - 1; 3], vec![-most]] {
                let mut bytes = Vec::new();
                pack(&i128::all(list.clone()).unwrap(), &mut bytes);
                assert_eq!(u32::from(bytes[0]), width);
                let read = unpack_integers(&mut &bytes[..], list.len()).unwrap();
                assert_eq!(
                    (read.iter().collect::<Vec<_>>(), read.narrow().is_ok()),
                    (list.clone(), width <= 64)
                );
                // Of counts such widths are refused, of all lists 128 bits and bits behind the last value.
                assert_eq!(unpack(&mut &bytes[..], list.len()).is_ok(), width <= 64);
                let mut behind = bytes.clone();
                *behind.last_mut().unwrap() |= 0x80;
                assert!(
                    unpack_integers(&mut &behind[..], list.len()).is_err()
                        || (list.len() * width as usize).is_multiple_of(8)
                );
                assert!(unpack_integers(&mut &bytes[..bytes.len() - 1], list.len()).is_err());
                bytes[0] = 128;
                bytes.resize(200, 0);
                assert!(unpack_integers(&mut &bytes[..], list.len()).is_err());
            }
        }
        assert!(i128::all(vec![1 << 126]).is_none() && i128::all(vec![-(1 << 126) - 1]).is_none());
        // More bits than are needed are read, and are what fewer bits would be.
        let wider = [70, 3, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(unpack_integers(&mut &wider[..], 1).unwrap(), Integers::from(vec![-2]));
        assert!(unpack_integers(&mut &[127u8][..], usize::MAX).is_err());
    }

    #[test]
    fn extremes_and_padding() {
        let mut bytes = Vec::new();
        pack_narrow(&[i64::MIN, i64::MAX, 0, -1], &mut bytes);
        assert_eq!(unpack(&mut &bytes[..], 4).unwrap(), [i64::MIN, i64::MAX, 0, -1]);
        let mut bytes = Vec::new();
        pack_narrow(&[1, -1, 1], &mut bytes);
        assert_eq!(bytes, [2, 0b10_01_10]);
        // Bits set in the padding are another encoding of the same values: refused.
        bytes[1] |= 0x80;
        assert!(unpack(&mut &bytes[..], 3).is_err());
        assert!(unpack(&mut &[65u8, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], 1).is_err(), "of counts");
        assert!(unpack_integers(&mut &[65u8, 0, 0][..], 1).is_err());
        assert!(unpack(&mut &[64u8][..], usize::MAX).is_err());
        // One byte for as many zeros as somebody likes.
        assert_eq!(unpack(&mut &[0u8][..], 63).unwrap(), [0; 63]);
        assert!(unpack(&mut &[0u8][..], 64).is_err() && unpack(&mut &[0u8][..], usize::MAX).is_err());
        let mut bytes = Vec::new();
        pack_narrow(&[0; 64], &mut bytes);
        assert_eq!(bytes, [1, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
