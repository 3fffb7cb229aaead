//! Texts that can be shown as they are.

#[cfg(feature = "compile")]
use super::ReleaseError;

/// Whether a text can be shown as it is: no control characters, and none that turn the direction of what follows.
pub fn is_plain(text: &str) -> bool {
    let turns =
        |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}');
    !text.chars().any(|c| c.is_control() || turns(c))
}

/// Whether all texts of a canonical JSON text are plain, but for line ends and tabs: descriptions may have those.
pub(crate) fn is_plain_json(text: &[u8]) -> bool {
    // Most of a manifest, a megabyte where many measurements are listed, has nothing that could be anything else.
    let line = text.strip_suffix(b"\n").unwrap_or(text);
    if line.iter().all(|b| matches!(b, b' '..=b'~')) && !line.contains(&b'\\') {
        return true;
    }
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        // Canonical JSON writes control characters as \b, \f, \r, \u00xx, and nothing else like this.
        if b == b'\\' && matches!(bytes.next(), Some(b'b' | b'f' | b'r' | b'u')) {
            return false;
        }
    }
    is_plain(text.strip_suffix('\n').unwrap_or(text))
}

/// Refuses what a reader would refuse of a manifest's texts, before data is opened.
#[cfg(feature = "compile")]
pub fn check_texts(input: &super::ManifestInput) -> Result<(), ReleaseError> {
    let (about, legends, attachments) = (&input.about, &input.legends, &input.attachments);
    let texts = (about, &input.privacy, &input.plan, &input.recipient, &input.declared, legends, attachments);
    match super::canonical::to_bytes(&texts) {
        Ok(written) if !is_plain_json(&written) => Err(ReleaseError::Manifest(NOT_PLAIN.into())),
        // What has no canonical form is refused where it is written.
        _ => Ok(()),
    }
}

/// Why a manifest with other texts is refused.
pub(super) const NOT_PLAIN: &str =
    "a text has control characters, or some that turn the direction of writing";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts() {
        for good in ["", "20–39", "it's \"q\"", "naïve 日本 עברית", "a\u{200f}b"] {
            assert!(is_plain(good), "{good:?}");
        }
        for bad in
            ["\x1b[2J", "a\tb", "a\nb", "\u{9b}1m", "\x7f", "a\u{202e}b", "\u{2066}x", "\0", "a\u{2028}b"]
        {
            assert!(!is_plain(bad), "{bad:?}");
        }
    }

    #[test]
    fn plain_json() {
        let written = |t: &str| crate::release::canonical::to_bytes(&[t]).unwrap();
        for good in ["a", "two\nlines\tand \\ back \\u001b slashes", "naïve"] {
            assert!(is_plain_json(&written(good)), "{good:?}");
        }
        for bad in ["\x1b[2J", "\r", "\x08", "\0", "\u{9b}", "\u{202e}", "\x7f", "\x0c"] {
            assert!(!is_plain_json(&written(bad)), "{bad:?}");
        }
        assert!(!is_plain_json(b"\xff"));
    }
}
