//! Text from elsewhere, made safe to show.
//!
//! Names, titles, notes, labels, specs and paths come from whoever made a file. A terminal obeys some of their
//! characters: escape sequences move the cursor and recolour, a carriage return or a backspace writes over what
//! stands there, marks of direction turn a line round, and characters without width make two names look alike. Any of these
//! could hide a warning. They are shown as what they are, `\u{1b}`, and never sent.
//!
//! [`visible`] is for one line, [`visible_lines`] for text that has lines of its own, [`visible_json`] for JSON,
//! whose meaning it keeps. The command applies one of the last two to whatever it prints.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a terminal may do something else with this character than show it: the control characters (C0, DEL,
/// C1), Unicode's separators of lines and annotations, and everything it calls Default_Ignorable_Code_Point
/// (DerivedCoreProperties), which has the marks of direction and what has no width.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// The text with every such character, but for those in `kept`, replaced by `escape`.
fn escaped<'a>(text: &'a str, kept: &[char], escape: impl Fn(&mut String, char)) -> Cow<'a, str> {
    let bad = |c: char| hidden(c) && !kept.contains(&c);
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if bad(c) { escape(&mut out, c) } else { out.push(c) }
    }
    Cow::Owned(out)
}

fn name(out: &mut String, c: char) {
    // Writing to a String does not fail.
    let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
}

/// A name or a label, in one line: line feeds and tabs are shown as `\u{a}` and `\u{9}`, too.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, &[], name)
}

/// Text of several lines: line feeds and tabs stay.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    escaped(text, &['\n', '\t'], name)
}

/// JSON that means the same: in it such characters only stand inside strings, where JSON has escapes for them.
pub fn visible_json(text: &str) -> Cow<'_, str> {
    escaped(text, &['\n', '\t'], |out, c| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// [`visible_lines`] of a diagnostic that was given colours: sequences that only set a colour stay.
#[cfg(feature = "compile")]
pub fn visible_coloured(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut pieces = text.split('\u{1b}');
    out.push_str(&visible_lines(pieces.next().unwrap_or_default()));
    for piece in pieces {
        let colour = piece.strip_prefix('[').and_then(|rest| rest.split_once('m'));
        match colour {
            Some((codes, rest)) if codes.bytes().all(|b| b.is_ascii_digit() || b == b';') => {
                let _ = write!(out, "\u{1b}[{codes}m{}", visible_lines(rest));
            }
            _ => {
                name(&mut out, '\u{1b}');
                out.push_str(&visible_lines(piece));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str =
        "a\u{1b}[2K\r\u{8}\u{7f}\u{9b}31m\u{202e}b\u{2066}\u{200b}\u{feff}\u{e0041}\u{2028}é 東 🙂";

    #[test]
    fn nothing_hidden_is_left() {
        for text in [visible(HOSTILE), visible_lines(HOSTILE), visible_json(HOSTILE)] {
            assert!(!text.contains(hidden), "{text:?}");
            assert!(text.ends_with("é 東 🙂"), "{text}");
        }
        assert!(visible(HOSTILE).starts_with("a\\u{1b}[2K\\u{d}\\u{8}\\u{7f}\\u{9b}31m\\u{202e}b"));
        for c in (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| c.is_control()) {
            assert!(visible(&c.to_string()).starts_with("\\u{"), "{c:?}");
        }
        for c in ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}').chain('\u{200b}'..='\u{200f}') {
            assert!(visible(&c.to_string()).starts_with("\\u{"), "{c:?}");
        }
    }

    #[test]
    fn what_is_safe_is_not_touched() {
        let text = "Zürich — 1 234 × \"q\" \\u{1b} ρ ∞ −";
        assert!(matches!(visible(text), Cow::Borrowed(t) if t == text));
        assert_eq!(visible_lines("a\n\tb"), "a\n\tb");
        assert_eq!(visible("a\n\tb"), "a\\u{a}\\u{9}b");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = serde_json::json!({ HOSTILE: [HOSTILE, 1] });
        for text in [value.to_string(), format!("{value:#}")] {
            let shown = visible_json(&text);
            assert!(!shown.contains(|c| hidden(c) && c != '\n'), "{shown:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }

    #[cfg(feature = "compile")]
    #[test]
    fn only_colours_pass() {
        assert_eq!(
            visible_coloured("\u{1b}[1m\u{1b}[38;5;9merror\u{1b}[0m\n"),
            "\u{1b}[1m\u{1b}[38;5;9merror\u{1b}[0m\n"
        );
        let bad = visible_coloured("\u{1b}[2J \u{1b}]0;title\u{7} \u{1b}[31\rm \u{1b}");
        assert!(!bad.contains(hidden), "{bad:?}");
    }
}
