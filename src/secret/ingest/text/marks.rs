//! Where fields and records may end: the separating bytes of a text, found 64 at a time.

use wide::u8x16;

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
    pub fn new(text: &'t [u8], delimiter: u8) -> Marks<'t> {
        Marks { text, delimiter, base: 0, bits: bits(text, 0, delimiter) }
    }

    /// Where the next mark is; the text's length when there is none.
    #[inline]
    pub fn next(&mut self) -> usize {
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
    pub fn seek(&mut self, at: usize) {
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

#[inline]
fn marks(step: &[u8; STEP], delimiter: u8) -> u64 {
    let (delimiter, feed, carriage) = (u8x16::splat(delimiter), u8x16::splat(b'\n'), u8x16::splat(b'\r'));
    let mut word = 0;
    for (at, bytes) in step.as_chunks::<16>().0.iter().enumerate() {
        let bytes = u8x16::new(*bytes);
        let found = bytes.simd_eq(delimiter) | bytes.simd_eq(feed) | bytes.simd_eq(carriage);
        word |= u64::from(found.to_bitmask()) << (16 * at);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
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
