//! Text in encodings of one byte a character, made into UTF-8 block by block.
//!
//! Nothing is guessed and nothing replaced: a byte that is no character becomes one that UTF-8 does not have either, so that the cell it is in
//! is refused like any other that is no text, and columns that nobody reads do not matter.

use crate::spec::Encoding;
use zeroize::Zeroizing;

/// Stands for a byte that is no character: nowhere in UTF-8.
const NONE: u8 = 0xff;

impl Encoding {
    /// The text as UTF-8.
    pub(super) fn decode(self, text: &[u8]) -> Decoded<'_> {
        if self == Encoding::Utf8 || text.is_ascii() {
            return Decoded(Text::Same(text));
        }
        let mut out = Zeroizing::new(Vec::with_capacity(text.len() + text.len() / 2 + 16));
        let mut rest = text;
        while let Some(at) = rest.iter().position(|b| !b.is_ascii()) {
            let (plain, behind) = rest.split_at(at);
            let (&byte, behind) = behind.split_first().unwrap_or((&0, &[]));
            // What is outgrown is wiped.
            if out.capacity() - out.len() < plain.len() + 4 {
                let mut larger = Zeroizing::new(Vec::with_capacity(2 * out.capacity() + plain.len() + 4));
                larger.extend_from_slice(&out);
                out = larger;
            }
            out.extend_from_slice(plain);
            match self.character(byte) {
                Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                None => out.push(NONE),
            }
            rest = behind;
        }
        if out.capacity() - out.len() < rest.len() {
            let mut larger = Zeroizing::new(Vec::with_capacity(out.len() + rest.len()));
            larger.extend_from_slice(&out);
            out = larger;
        }
        out.extend_from_slice(rest);
        Decoded(Text::Own(out))
    }

    /// Whether decoded text looks as if it had been UTF-8 in the file: then `é` was read as `Ã©`.
    pub(super) fn mistaken(self, text: &[u8]) -> bool {
        if self == Encoding::Utf8 || text.is_ascii() {
            return false;
        }
        let Ok(text) = std::str::from_utf8(text) else { return false };
        let byte = |c: char| {
            (0x80..=0xff).find(|&b| self.character(b) == Some(c)).or_else(|| c.is_ascii().then_some(c as u8))
        };
        let bytes: Option<Vec<u8>> = text.chars().map(byte).collect();
        bytes.map(Zeroizing::new).is_some_and(|bytes| std::str::from_utf8(&bytes).is_ok())
    }

    /// Where a byte of the decoded text is in the file's: every character was one byte there.
    pub(super) fn place(self, decoded: &[u8], at: usize) -> usize {
        let before = decoded.get(..at).unwrap_or_default();
        match self {
            Encoding::Utf8 => before.len(),
            _ => before.iter().filter(|&&b| b & 0xc0 != 0x80).count(),
        }
    }
}

/// A text as UTF-8, wiped if it was made here.
pub(super) struct Decoded<'t>(Text<'t>);

enum Text<'t> {
    Same(&'t [u8]),
    Own(Zeroizing<Vec<u8>>),
}

impl std::ops::Deref for Decoded<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Text::Same(text) => text,
            Text::Own(text) => text,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_byte() {
        for byte in 0..=255u8 {
            let text = [b'a', byte, b'z'];
            let latin = Encoding::Latin1.decode(&text).to_vec();
            match byte {
                0x80..=0x9f => assert!(std::str::from_utf8(&latin).is_err()),
                _ => assert_eq!(std::str::from_utf8(&latin).unwrap(), format!("a{}z", char::from(byte))),
            }
            let windows = Encoding::Windows1252.decode(&text).to_vec();
            match byte {
                0x81 | 0x8d | 0x8f | 0x90 | 0x9d => assert!(std::str::from_utf8(&windows).is_err()),
                0x80 => assert_eq!(windows, "a€z".as_bytes()),
                0x92 => assert_eq!(windows, "a’z".as_bytes()),
                0x9f => assert_eq!(windows, "aŸz".as_bytes()),
                0x82..=0x9e => assert!(std::str::from_utf8(&windows).is_ok()),
                _ => assert_eq!(windows, latin),
            }
        }
    }

    proptest! {
        /// Against the standard library, character by character; and back to the place in the file.
        #[test]
        fn places(text in prop::collection::vec(prop::sample::select(b"ab,\n\xe9\xff\xa0\x80".to_vec()), 0..300), at in 0usize..300) {
            let decoded = Encoding::Latin1.decode(&text).to_vec();
            let expected: Vec<u8> = text
                .iter()
                .flat_map(|&b| match b {
                    0x80..=0x9f => vec![NONE],
                    _ => char::from(b).to_string().into_bytes(),
                })
                .collect();
            prop_assert_eq!(&decoded, &expected);
            let at = at.min(text.len());
            let there = Encoding::Latin1.decode(&text[..at]).len();
            prop_assert_eq!(Encoding::Latin1.place(&decoded, there), at);
        }
    }

    #[test]
    fn utf8_that_was_taken_for_latin() {
        let mistaken = |encoding: Encoding, bytes: &[u8]| encoding.mistaken(&encoding.decode(bytes));
        assert!(
            mistaken(Encoding::Latin1, "Málaga".as_bytes())
                && mistaken(Encoding::Windows1252, "Ü €".as_bytes())
        );
        assert!(!mistaken(Encoding::Latin1, b"M\xe1laga") && !mistaken(Encoding::Latin1, b"Malaga"));
        assert!(!mistaken(Encoding::Utf8, "Málaga".as_bytes()));
    }
}
