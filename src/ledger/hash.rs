//! How hashes are written in a ledger.

/// Whether a text is a hash: 64 hexadecimal digits with small letters.
pub(crate) fn is_hash(text: &str) -> bool {
    is_hex(text, 64)
}

/// The same of other lengths.
pub(super) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}
