//! How hashes are written in a ledger.

pub(super) use crate::release::is_hex;

/// Whether a text is a hash: 64 hexadecimal digits with small letters.
pub(crate) fn is_hash(text: &str) -> bool {
    is_hex(text, 64)
}
