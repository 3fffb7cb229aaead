//! minisign signatures, read more strictly than minisign does.
//!
//! minisign's text format leaves the first line and the line ends unsigned. A release fixes both, so that
//! no byte of a release can change without being noticed.

use super::ReleaseError;
use super::layout::MAX_SIGNATURE;
use minisign_verify::{PublicKey, Signature};

/// The public half of the key everybody knows. It signs files whose noise came from a known seed;
/// whatever it signs protects nobody.
pub(crate) const NOT_PRIVATE_PUBLIC_KEY: &str = "RWR0TOycRz0cUe0S537v4VMiB75JoiMrJuy5lPkkqxOEycRPjI4rtxVb";

/// The unsigned first line of every signature of a release.
pub(super) const UNTRUSTED: &str = "signature by margins, verify with minisign";

/// The 32 bytes that are a key, whatever its number: minisign writes `Ed`, 8 bytes of any number, and those. They are the characters from the 15th on and
/// four bits of the 14th.
fn material(line: &str) -> Option<(usize, &[u8])> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (first, rest) = line.as_bytes().get(13..)?.split_first()?;
    Some((ALPHABET.iter().position(|c| c == first)? % 16, rest))
}

/// Whether two lines are one key, whatever their numbers.
pub(super) fn same_key(a: &str, b: &str) -> bool {
    material(a).is_some() && material(a) == material(b)
}

/// Whether a key is the one everybody has, whatever its number.
pub fn is_not_private_key(line: &str) -> bool {
    same_key(line, NOT_PRIVATE_PUBLIC_KEY)
}

/// The base64 line of a public key, given that line alone or a whole `.pub` file.
pub fn public_key_text(text: &str) -> Result<String, ReleaseError> {
    let line = match text.trim_end().split_once('\n') {
        Some((_comment, line)) => line.trim(),
        None => text.trim(),
    };
    parse_key(line)?;
    Ok(line.into())
}

/// The key in one line of base64. There is one way to write a key, so keys are compared as texts.
pub(super) fn parse_key(line: &str) -> Result<PublicKey, ReleaseError> {
    let bad = |why: &str| ReleaseError::Signature(format!("the public key is malformed: {why}"));
    // `RW` and one of `Q`..`T`: the letters `Ed`, the algorithm of minisign keys, and the key's number.
    if line.len() != 56 || !line.starts_with("RW") {
        return Err(bad("expected 56 characters starting with RW"));
    }
    PublicKey::from_base64(line).map_err(|e| bad(&e.to_string()))
}

/// Reads a signature that must be written exactly as releases write it, with this trusted comment.
pub(super) fn parse(text: &[u8], trusted: &str) -> Result<Signature, ReleaseError> {
    let bad = |why: &str| Err(ReleaseError::Signature(why.into()));
    if text.len() as u64 > MAX_SIGNATURE {
        return bad("it is too long");
    }
    let Ok(text) = std::str::from_utf8(text) else { return bad("it is not text") };
    let lines: Vec<&str> = text.split('\n').collect();
    let [first, signature, comment, global, ""] = lines[..] else {
        return bad("it does not have four lines, each with a newline");
    };
    if first.strip_prefix("untrusted comment: ") != Some(UNTRUSTED) {
        return bad("its untrusted comment is not that of a release");
    }
    if comment.strip_prefix("trusted comment: ") != Some(trusted) {
        return bad("its trusted comment does not name this release and this manifest");
    }
    if signature.len() != 100 || global.len() != 88 || text.contains('\r') {
        return bad("its lines do not have the lengths of a minisign signature");
    }
    Signature::decode(text).map_err(|e| ReleaseError::Signature(e.to_string()))
}

/// Whether `signature` is this key's prehashed signature of `bytes`.
pub(super) fn verify(key: &PublicKey, bytes: &[u8], signature: &Signature) -> Result<(), ReleaseError> {
    key.verify(bytes, signature, false).map_err(|e| ReleaseError::Signature(e.to_string()))
}

/// Whether a text is this key's prehashed signature of these bytes, whatever its comments say: stock minisign's, too.
#[cfg(feature = "compile")]
pub(super) fn verify_text(key: &str, bytes: &[u8], text: &str) -> Result<(), ReleaseError> {
    let signature = Signature::decode(text).map_err(|e| ReleaseError::Signature(e.to_string()))?;
    verify(&parse_key(key)?, bytes, &signature)
}

/// Whether `words` are this key's signature of `bytes` and of a trusted comment: a minisign signature without the lines that
/// always are the same.
#[cfg(feature = "compile")]
pub fn verify_words(key: &str, bytes: &[u8], words: &str, trusted: &str) -> Result<(), ReleaseError> {
    let two = || ReleaseError::Signature("it does not have two words".into());
    let (signature, global) = words.split_once(' ').ok_or_else(two)?;
    let text = format!("untrusted comment: {UNTRUSTED}\n{signature}\ntrusted comment: {trusted}\n{global}\n");
    verify(&parse_key(key)?, bytes, &parse(text.as_bytes(), trusted)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_key_under_any_number() {
        assert!(is_not_private_key(NOT_PRIVATE_PUBLIC_KEY));
        // Two bits of the 14th character are the number's last.
        let (number, rest) = NOT_PRIVATE_PUBLIC_KEY.split_at(13);
        assert!(rest.starts_with("e0S5"));
        for (number, first) in
            [(number, "u"), ("RWQAAAAAAAAAA", "O"), ("RWQ++abc+/999", "e"), ("RWTTTTTTTTTTT", "+")]
        {
            let line = format!("{number}{first}{}", &rest[1..]);
            assert!(parse_key(&line).is_ok() && is_not_private_key(&line), "{line}");
        }
        for other in [
            "",
            "RWQ",
            &NOT_PRIVATE_PUBLIC_KEY.replace("e0S5", "d0S5"),
            &NOT_PRIVATE_PUBLIC_KEY.replace("xVb", "xVa"),
        ] {
            assert!(!is_not_private_key(other), "{other}");
        }
    }

    #[test]
    fn keys_as_line_or_file() {
        let file = format!("untrusted comment: minisign public key 1\n{NOT_PRIVATE_PUBLIC_KEY}\n");
        assert_eq!(public_key_text(&file).unwrap(), NOT_PRIVATE_PUBLIC_KEY);
        assert_eq!(public_key_text(NOT_PRIVATE_PUBLIC_KEY).unwrap(), NOT_PRIVATE_PUBLIC_KEY);
        for bad in ["", "RWR0", &NOT_PRIVATE_PUBLIC_KEY[1..], &NOT_PRIVATE_PUBLIC_KEY.replace('R', "=")] {
            assert!(public_key_text(bad).is_err(), "{bad}");
        }
    }
}
