//! Encodings of one byte a character.

use super::Encoding;
use std::borrow::Cow;

/// The characters 0x80 to 0x9F of Windows-1252 as <https://encoding.spec.whatwg.org/index-windows-1252.txt> has them, but without the five
/// control characters that it puts where Windows has nothing.
const WINDOWS: [Option<char>; 32] = [
    Some('€'),
    None,
    Some('‚'),
    Some('ƒ'),
    Some('„'),
    Some('…'),
    Some('†'),
    Some('‡'),
    Some('ˆ'),
    Some('‰'),
    Some('Š'),
    Some('‹'),
    Some('Œ'),
    None,
    Some('Ž'),
    None,
    None,
    Some('‘'),
    Some('’'),
    Some('“'),
    Some('”'),
    Some('•'),
    Some('–'),
    Some('—'),
    Some('˜'),
    Some('™'),
    Some('š'),
    Some('›'),
    Some('œ'),
    None,
    Some('ž'),
    Some('Ÿ'),
];

impl Encoding {
    /// As specs write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Latin1 => "latin-1",
            Encoding::Windows1252 => "windows-1252",
        }
    }

    /// The character of a byte that is not ASCII; `None` where it is none, and for every byte in UTF-8.
    pub(crate) fn character(self, byte: u8) -> Option<char> {
        match (self, byte) {
            (Encoding::Utf8, _) | (Encoding::Latin1, 0x80..=0x9f) => None,
            (Encoding::Windows1252, 0x80..=0x9f) => WINDOWS[usize::from(byte - 0x80)],
            _ => Some(char::from(byte)),
        }
    }

    /// A text; `None` where its bytes are none in this encoding.
    pub(crate) fn text(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Encoding::Utf8 => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            _ if bytes.is_ascii() => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            _ => {
                let character = |&b: &u8| if b.is_ascii() { Some(char::from(b)) } else { self.character(b) };
                bytes.iter().map(character).collect::<Option<String>>().map(Cow::Owned)
            }
        }
    }
}
