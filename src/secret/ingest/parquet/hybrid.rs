//! Parquet's runs of small integers: repeated values and packed bits, in turns.
//!
//! Definition levels, booleans and places in a dictionary are stored so. Nothing of a stream is believed: every length is compared with
//! what there is.

use std::ops::Range;

/// A place in a stream of integers of `width` bits; the stream itself is handed in with every call.
pub(super) struct Hybrid {
    at: usize,
    width: u32,
    run: Run,
}

enum Run {
    /// This value, so many times more.
    Same(u32, usize),
    /// Packed values in these bytes: so many, of which so many are taken.
    Packed { bytes: Range<usize>, taken: usize, len: usize },
}

impl Hybrid {
    /// At the start of a stream. `None` for integers of more than 32 bits.
    pub(super) fn new(width: u8) -> Option<Hybrid> {
        (width <= 32).then_some(Hybrid { at: 0, width: width.into(), run: Run::Same(0, 0) })
    }

    /// A stream of so many bytes that is packed bits and nothing else.
    pub(super) fn bits(bytes: usize) -> Hybrid {
        Hybrid {
            at: bytes,
            width: 1,
            run: Run::Packed { bytes: 0..bytes, taken: 0, len: bytes.saturating_mul(8) },
        }
    }

    /// Whether the next `n` are a run of this value. Then they are taken.
    pub(super) fn skip(&mut self, value: u32, n: usize) -> bool {
        match &mut self.run {
            Run::Same(own, left) if *own == value && *left >= n => {
                *left -= n;
                true
            }
            _ => false,
        }
    }

    /// The next integers. `None` when there are not so many.
    pub(super) fn read(&mut self, stream: &[u8], out: &mut [u32]) -> Option<()> {
        let mut rest = out;
        while !rest.is_empty() {
            match &mut self.run {
                Run::Same(_, 0) => self.next_run(stream)?,
                Run::Same(value, left) => {
                    let n = rest.len().min(*left);
                    let (now, later) = rest.split_at_mut(n);
                    now.fill(*value);
                    *left -= n;
                    rest = later;
                }
                Run::Packed { taken, len, .. } if taken == len => self.next_run(stream)?,
                Run::Packed { bytes, taken, len } => {
                    let n = rest.len().min(*len - *taken);
                    let (now, later) = rest.split_at_mut(n);
                    unpack(stream.get(bytes.clone())?, self.width, *taken, now)?;
                    *taken += n;
                    rest = later;
                }
            }
        }
        Some(())
    }

    fn next_run(&mut self, stream: &[u8]) -> Option<()> {
        let header = self.varint(stream)?;
        let count = usize::try_from(header >> 1).ok()?;
        if header & 1 == 0 {
            let bytes = self.width.div_ceil(8) as usize;
            let value = stream.get(self.at..self.at + bytes)?;
            self.at += bytes;
            let value = value.iter().rev().fold(0, |value: u32, &b| value << 8 | u32::from(b));
            self.run = Run::Same(value, count);
        } else {
            let bytes = count.checked_mul(self.width as usize)?;
            // Some writers leave out the end of the last group.
            let end = self.at.checked_add(bytes)?.min(stream.len());
            self.run = Run::Packed { bytes: self.at..end, taken: 0, len: count.checked_mul(8)? };
            self.at = end;
        }
        Some(())
    }

    fn varint(&mut self, stream: &[u8]) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..).step_by(7).take(5) {
            let byte = *stream.get(self.at)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

/// The packed values from the one numbered `first` on.
fn unpack(bytes: &[u8], width: u32, first: usize, out: &mut [u32]) -> Option<()> {
    let bits = |values: usize| values.checked_mul(width as usize);
    if bits(first.checked_add(out.len())?)? > bytes.len().checked_mul(8)? {
        return None;
    }
    let mask = ((1u64 << width) - 1) as u32; // of at most 32 bits
    if !first.is_multiple_of(8) {
        // To the next whole byte.
        let n = out.len().min(8 - first % 8);
        let (now, later) = out.split_at_mut(n);
        for (at, value) in (first..).zip(now) {
            *value = one(bytes, width, at, mask);
        }
        return if later.is_empty() { Some(()) } else { unpack(bytes, width, first + n, later) };
    }
    let from = bits(first)? / 8;
    let (groups, tail) = out.as_chunks_mut::<8>();
    let whole = first + 8 * groups.len();
    match width {
        1..=8 => {
            for (at, group) in (from..).step_by(width as usize).zip(groups) {
                let word = word(bytes, at);
                for (i, value) in (0..).zip(group) {
                    *value = (word >> (i * width)) as u32 & mask;
                }
            }
        }
        _ => {
            let done = 8 * wide(bytes.get(from..)?, width, groups);
            for (at, value) in (first + done..).zip(groups.as_flattened_mut().iter_mut().skip(done)) {
                *value = one(bytes, width, at, mask);
            }
        }
    }
    for (at, value) in (whole..).zip(tail) {
        *value = one(bytes, width, at, mask);
    }
    Some(())
}

/// Unpacks groups of eight wider values, and says how many it has: all but the last, behind which the bytes may end, and none of widths that dictionaries
/// do not have.
fn wide(bytes: &[u8], width: u32, groups: &mut [[u32; 8]]) -> usize {
    /// With a width that the compiler knows shifts are constants, and nothing is checked in a group.
    fn of<const WIDTH: usize>(bytes: &[u8], groups: &mut [[u32; 8]]) -> usize {
        let mask = ((1u64 << WIDTH) - 1) as u32;
        for (done, group) in groups.iter_mut().enumerate() {
            let from = done * WIDTH;
            let Some(bytes) = bytes.get(from..from + 7 * WIDTH / 8 + 8) else { return done };
            for (i, value) in group.iter_mut().enumerate() {
                let word = bytes.get(i * WIDTH / 8..).and_then(|rest| rest.first_chunk::<8>());
                *value = word.map_or(0, |word| (u64::from_le_bytes(*word) >> (i * WIDTH % 8)) as u32 & mask);
            }
        }
        groups.len()
    }
    macro_rules! widths {
        ($($width:literal)*) => {
            match width {
                $($width => of::<$width>(bytes, groups),)*
                _ => 0,
            }
        };
    }
    widths!(9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24)
}

/// The packed value numbered `at`.
#[inline]
fn one(bytes: &[u8], width: u32, at: usize, mask: u32) -> u32 {
    let bit = at * width as usize;
    (word(bytes, bit / 8) >> (bit % 8)) as u32 & mask
}

/// The eight bytes from `at` on, zeros behind the last.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None => rest.iter().rev().fold(0, |word, &b| word << 8 | u64::from(b)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As the format's text has it.
    fn write(runs: &[(bool, Vec<u32>)], width: u32) -> (Vec<u8>, Vec<u32>) {
        let (mut bytes, mut values) = (Vec::new(), Vec::new());
        let varint = |mut n: usize, bytes: &mut Vec<u8>| {
            while n >= 0x80 {
                bytes.push(n as u8 | 0x80);
                n >>= 7;
            }
            bytes.push(n as u8);
        };
        for (packed, run) in runs {
            let mask = ((1u64 << width) - 1) as u32;
            let mut run: Vec<u32> = run.iter().map(|v| v & mask).collect();
            if *packed {
                run.resize(run.len().next_multiple_of(8), 0);
                varint(run.len() / 8 * 2 + 1, &mut bytes);
                let bits: Vec<bool> =
                    run.iter().flat_map(|v| (0..width).map(move |b| v >> b & 1 == 1)).collect();
                bytes.extend(
                    bits.chunks(8).map(|b| b.iter().rev().fold(0u8, |byte, &bit| byte << 1 | u8::from(bit))),
                );
            } else {
                let first = run[0];
                run.fill(first);
                varint(run.len() * 2, &mut bytes);
                bytes.extend(&first.to_le_bytes()[..width.div_ceil(8) as usize]);
            }
            values.extend(run);
        }
        (bytes, values)
    }

    proptest! {
        #[test]
        fn reads_what_was_written(
            width in 0u32..=32,
            runs in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u32>(), 1..200)), 0..6),
            step in 1usize..70,
        ) {
            let (bytes, values) = write(&runs, width);
            let mut hybrid = Hybrid::new(width as u8).unwrap();
            let mut read = vec![0; values.len()];
            for part in read.chunks_mut(step) {
                if hybrid.skip(1, part.len()) {
                    part.fill(1);
                } else {
                    hybrid.read(&bytes, part).unwrap();
                }
            }
            prop_assert_eq!(read, values);
            prop_assert!(hybrid.read(&bytes, &mut [0]).is_none());
        }

        #[test]
        fn noise_is_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..100), width in 0u8..40, len in 0usize..500) {
            if let Some(mut hybrid) = Hybrid::new(width) {
                let _ = hybrid.read(&bytes, &mut vec![0; len]);
            }
        }
    }
}
