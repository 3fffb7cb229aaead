//! Where fields and records may end: the separating bytes of a text, found 64 at a time.
//!
//! With the processor's comparisons of sixteen bytes where every one has them (x86-64), with ordinary ones elsewhere; both find the
//! same marks, and the tests hold them against each other. `unsafe` are the calls of SSE2, and how it reads sixteen bytes.
#![allow(unsafe_code)]

/// How many bytes are looked at together: one bit of a word for each.
const STEP: usize = 64;

/// Finds the next delimiter, line feed or carriage return, whatever stands around it.
pub(super) struct Marks<'t> {
    text: &'t [u8],
    delimiter: u8,
    /// Where the step begins that is being looked at.
    base: usize,
    /// Its marks that have not been given out.
    bits: u64,
}

impl<'t> Marks<'t> {
    pub(super) fn new(text: &'t [u8], delimiter: u8) -> Marks<'t> {
        Marks { text, delimiter, base: 0, bits: bits(text, 0, delimiter) }
    }

    /// Where the next mark is; the text's length when there is none.
    #[inline]
    pub(super) fn next(&mut self) -> usize {
        while self.bits == 0 {
            if self.base + STEP >= self.text.len() {
                return self.text.len();
            }
            self.base += STEP;
            self.bits = bits(self.text, self.base, self.delimiter);
        }
        let at = self.base + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        at
    }

    /// Gives out no more marks before `at`, and all from there on.
    pub(crate) fn seek(&mut self, at: usize) {
        self.base = at / STEP * STEP;
        self.bits = bits(self.text, self.base, self.delimiter) & (u64::MAX << (at % STEP));
    }
}

/// The marks of the step that begins at `base`, the lowest bit first.
#[inline]
fn bits(text: &[u8], base: usize, delimiter: u8) -> u64 {
    let rest = text.get(base..).unwrap_or_default();
    match rest.first_chunk::<STEP>() {
        Some(step) => marks(step, delimiter),
        None => {
            let mut step = [0; STEP];
            step[..rest.len()].copy_from_slice(rest);
            marks(&step, delimiter) & !(u64::MAX << rest.len())
        }
    }
}

/// Always in the place of its call, of which each row has several: so nothing here is a call of its own.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn marks(step: &[u8; STEP], delimiter: u8) -> u64 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };
    // SAFETY: what is called needs SSE2, which every processor of this architecture has; sixteen bytes are read, wherever they begin, and there are as many.
    unsafe {
        let delimiter = _mm_set1_epi8(delimiter.cast_signed());
        let (feed, carriage) = (_mm_set1_epi8(b'\n'.cast_signed()), _mm_set1_epi8(b'\r'.cast_signed()));
        let mut word = 0;
        for (at, bytes) in step.as_chunks::<16>().0.iter().enumerate() {
            let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
            let ends = _mm_or_si128(_mm_cmpeq_epi8(bytes, feed), _mm_cmpeq_epi8(bytes, carriage));
            let found = _mm_or_si128(_mm_cmpeq_epi8(bytes, delimiter), ends);
            word |= u64::from(_mm_movemask_epi8(found).cast_unsigned()) << (16 * at);
        }
        word
    }
}

#[cfg(not(target_arch = "x86_64"))]
use portable as marks;

/// Eight bytes at a time: a byte is 0 exactly where its sum with `0x7f`, without its own highest bit, and itself leave the highest bit
/// unset; sums of seven bits do not reach into the next byte.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn portable(step: &[u8; STEP], delimiter: u8) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // Gathers the lowest bit of each byte in the highest byte, the first byte's lowest.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let zeros = |x: u64| !(((x & LOW) + LOW) | x | LOW);
    let mut word = 0;
    for (at, bytes) in step.as_chunks::<8>().0.iter().enumerate() {
        let bytes = u64::from_le_bytes(*bytes);
        let is = |byte: u8| zeros(bytes ^ u64::from_le_bytes([byte; 8]));
        let found = is(delimiter) | is(b'\n') | is(b'\r');
        word |= ((found >> 7).wrapping_mul(GATHER) >> 56) << (8 * at);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_ways_find_the_same(step: [u8; STEP], delimiter: u8, some in prop::collection::vec((0..STEP, 0u8..4), 0..STEP)) {
            let mut step = step;
            // Marks, and bytes that differ from one in their highest or lowest bit.
            some.into_iter().for_each(|(at, which)| step[at] = [delimiter, b'\n', b'\n' ^ 0x80, delimiter ^ 1][usize::from(which)]);
            let plain = step.iter().enumerate().filter(|(_, b)| [delimiter, b'\n', b'\r'].contains(b));
            let plain = plain.fold(0, |word, (at, _)| word | 1u64 << at);
            prop_assert_eq!(super::marks(&step, delimiter), plain);
            prop_assert_eq!(portable(&step, delimiter), plain);
        }

        #[test]
        fn as_byte_by_byte(text in prop::collection::vec(prop::sample::select(b"ab,;\n\r\"\0".to_vec()), 0..300), from in 0usize..300) {
            let is_mark = |at: &usize| matches!(text[*at], b',' | b'\n' | b'\r');
            let mut marks = Marks::new(&text, b',');
            for at in (0..text.len()).filter(is_mark) {
                prop_assert_eq!(marks.next(), at);
            }
            prop_assert_eq!((marks.next(), marks.next()), (text.len(), text.len()));
            marks.seek(from);
            for at in (from..text.len()).filter(is_mark) {
                prop_assert_eq!(marks.next(), at);
            }
            prop_assert_eq!(marks.next(), text.len());
        }
    }
}
