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
fn material(line: &str) -> Option<[u8; 32]> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut key, mut at, mut bits, mut held) = ([0; 32], 0, 0u32, 0u32);
    for (i, letter) in line.as_bytes().get(13..)?.iter().enumerate() {
        let value = ALPHABET.iter().position(|c| c == letter)?;
        (held, bits) = if i == 0 { (value as u32 % 16, 4) } else { (held << 6 | value as u32, bits + 6) };
        if bits >= 8 {
            bits -= 8;
            *key.get_mut(at)? = (held >> bits) as u8;
            (held, at) = (held & ((1 << bits) - 1), at + 1);
        }
    }
    (at == 32).then_some(key)
}

/// Whether everybody can sign for a key: a point of small order, of which signatures are guessed without any secret. A point that is not written as it should be is
/// refused with them. The first 255 bits are the point's y: 0, 1, −1 and two more are those of small order, and from 2²⁵⁵ − 19 on it is none.
fn is_weak(key: &[u8; 32]) -> bool {
    const OF_ORDER_8: [[u8; 32]; 2] = [
        *b"\x26\xe8\x95\x8f\xc2\xb2\x27\xb0\x45\xc3\xf4\x89\xf2\xef\x98\xf0\xd5\xdf\xac\x05\xd3\xc6\x33\x39\xb1\x38\x02\x88\x6d\x53\xfc\x05",
        *b"\xc7\x17\x6a\x70\x3d\x4d\xd8\x4f\xba\x3c\x0b\x76\x0d\x10\x67\x0f\x2a\x20\x53\xfa\x2c\x39\xcc\xc6\x4e\xc7\xfd\x77\x92\xac\x03\x7a",
    ];
    let mut y = *key;
    y[31] &= 0x7f;
    let (first, rest, last) = (y[0], &y[1..31], y[31]);
    let small = first <= 1 && last == 0 && rest.iter().all(|&b| b == 0);
    // From p − 1 on, which is of order 2.
    let large = first >= 0xec && last == 0x7f && rest.iter().all(|&b| b == 0xff);
    small || large || OF_ORDER_8.contains(&y)
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
    if material(line).as_ref().is_none_or(is_weak) {
        return Err(bad("everybody can sign for it"));
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

    /// Signatures of all eight points of small order, and of other ways to write them, are found without a secret.
    #[test]
    fn keys_that_everybody_can_sign_for_are_none() {
        let line = |key: &[u8; 32]| {
            let bytes = [&b"Ed12345678"[..], key].concat();
            let letter = |bits: u32| {
                char::from(
                    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[bits as usize & 63],
                )
            };
            let three = |b: &[u8]| u32::from_be_bytes([0, b[0], b[1], b[2]]);
            let four = |b: &[u8]| [18, 12, 6, 0].map(|shift| letter(three(b) >> shift));
            bytes.chunks_exact(3).flat_map(four).collect::<String>()
        };
        // 2²⁵⁵ − 19 and so many less or more, as it is written.
        let around = |by: i16| {
            let mut bytes = [0xff; 32];
            (bytes[0], bytes[31]) = ((0xed + by) as u8, 0x7f);
            bytes
        };
        let small = |y: u8| {
            let mut bytes = [0; 32];
            bytes[0] = y;
            bytes
        };
        let hex = |text: &str| -> [u8; 32] {
            std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
        };
        let eight = [
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        ]
        .map(hex);
        let weak = [small(0), small(1), around(-1), around(0), around(1), around(18)];
        for mut key in weak.into_iter().chain(eight) {
            for sign in [0, 0x80] {
                key[31] = key[31] & 0x7f | sign;
                let line = line(&key);
                assert!(material(&line) == Some(key) && parse_key(&line).is_err(), "{key:?}");
            }
        }
        for key in [small(2), around(-2), small(9)] {
            assert!(parse_key(&line(&key)).is_ok(), "{key:?}");
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
