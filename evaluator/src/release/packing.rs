//! How measured integers are packed into sections.
//!
//! A measurement is `width: u8` (0 to 64) and then its values, zigzag-coded, `width` bits each, least significant bit
//! first, padded with zero bits to a whole byte. 64 values or more take at least one bit each, also if all are 0: so a
//! file is as large as what it makes a reader hold. The number of values follows from the plan. Section `i` holds the
//! `i`-th chunk of the [`layout`]: consecutive measurements, closed once they have 2^16 values or more; or one [slice](crate::plan::slices) of a
//! large measurement, packed like a measurement. So a query reads and
//! hashes only the sections of the measurements it needs, a release of many small ones does not need as many
//! sections, and the layout follows from the plan alone.

use super::ReleaseError;
use crate::cube::Frame;
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
pub fn pack(values: &[i64], out: &mut Vec<u8>) {
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

/// Appends a measurement of `count` zeros.
#[cfg(feature = "compile")]
pub fn pack_zeros(count: usize, out: &mut Vec<u8>) {
    let bits = usize::from(count >= ALWAYS_A_BIT);
    out.push(bits as u8);
    out.resize(out.len() + (count * bits).div_ceil(8), 0);
}

/// Takes one measurement of `count` values off the front of `bytes`.
pub(crate) fn unpack(bytes: &mut &[u8], count: usize) -> Result<Vec<i64>, ReleaseError> {
    let body = skip(bytes, count)?;
    let (&width, mut packed) = body.split_first().ok_or_else(malformed)?;
    if width == 0 {
        return Ok(vec![0; count]);
    }
    let width = u32::from(width);
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
        packed_len(count, width).filter(|&n| width <= 64 && n <= bytes.len()).ok_or_else(malformed)?;
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
                pack(l, &mut bytes);
            }
            let mut rest = &bytes[..];
            for l in &lists {
                prop_assert_eq!(&unpack(&mut rest, l.len()).unwrap(), l);
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn garbage_is_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..50), count in 0usize..100) {
            let _ = unpack(&mut &bytes[..], count);
        }
    }

    #[test]
    fn extremes_and_padding() {
        let mut bytes = Vec::new();
        pack(&[i64::MIN, i64::MAX, 0, -1], &mut bytes);
        assert_eq!(unpack(&mut &bytes[..], 4).unwrap(), [i64::MIN, i64::MAX, 0, -1]);
        let mut bytes = Vec::new();
        pack(&[1, -1, 1], &mut bytes);
        assert_eq!(bytes, [2, 0b10_01_10]);
        // Bits set in the padding are another encoding of the same values: refused.
        bytes[1] |= 0x80;
        assert!(unpack(&mut &bytes[..], 3).is_err());
        assert!(unpack(&mut &[65u8, 0, 0][..], 1).is_err());
        assert!(unpack(&mut &[64u8][..], usize::MAX).is_err());
        // One byte for as many zeros as somebody likes.
        assert_eq!(unpack(&mut &[0u8][..], 63).unwrap(), [0; 63]);
        assert!(unpack(&mut &[0u8][..], 64).is_err() && unpack(&mut &[0u8][..], usize::MAX).is_err());
        let mut bytes = Vec::new();
        pack(&[0; 64], &mut bytes);
        assert_eq!(bytes, [1, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
