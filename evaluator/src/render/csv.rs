//! Comma-separated values after RFC 4180.

use super::{ResultTable, Shown};
use std::borrow::Cow;
use std::fmt::Write;

/// A header line and one line for each row, ended by CR LF. Numbers have full precision; infinite bounds are
/// `inf` and `-inf`, which readers of numbers understand. Names and labels are written as [`label`] says. Where something
/// besides noise makes the numbers untrue, a last column `status` says so in a word or two (see [`super::Caveat::words`]), so
/// that a file that is passed on still tells.
pub fn csv(result: &ResultTable) -> String {
    let keys = result.keys();
    let mut text = String::new();
    let status = result.status_column();
    let header = status.iter().map(|(name, _)| Cow::Borrowed(name.as_str()));
    line(&mut text, keys.iter().map(|k| label(&k.name)).chain(header));
    for (at, row) in result.rows.iter().enumerate() {
        let fields = keys.iter().map(|k| match k.of(row) {
            Shown::Text(text) => label(text),
            Shown::Number(value) if value.is_nan() => Cow::Borrowed(""),
            Shown::Number(value) => Cow::Owned(number(value)),
            Shown::Nothing => Cow::Borrowed(""),
        });
        line(
            &mut text,
            fields.chain(status.iter().map(|(_, words)| Cow::Borrowed(result.status_of(at, words)))),
        );
    }
    text
}

/// A label as spreadsheets may have it: where it begins like a formula (`=`, `+`, `-`, `@`, also in the wide forms
/// of East Asian keyboards, a tab or a line end) it gets an apostrophe before it, which a spreadsheet takes for
/// "this is text". Otherwise a label made up by whoever wrote the spec would run in the reader's spreadsheet. What
/// reads as a finite number stays a number.
///
/// Where semicolons part fields, as in much of Europe, or tabs, quotes in the middle of a line hold nothing together: `F,"a;=1+1;b"` has three fields there, of which
/// the second is a formula. So what follows a semicolon, a tab or a line end is taken for a beginning, too, behind any quotes and blanks.
pub fn label(text: &str) -> Cow<'_, str> {
    const SIGNS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    const ENDS: [char; 4] = [';', '\t', '\r', '\n'];
    let mut out = String::new();
    if text.starts_with(&ENDS[1..]) {
        out.push('\'');
    }
    for (i, part) in text.split_inclusive(ENDS).enumerate() {
        let whole = part.trim_end_matches(ENDS);
        let rest = if i == 0 { whole } else { whole.trim_start_matches(['"', ' ']) };
        out.push_str(&whole[..whole.len() - rest.len()]);
        if rest.starts_with(SIGNS) && !rest.parse::<f64>().is_ok_and(f64::is_finite) {
            out.push('\'');
        }
        out.push_str(rest);
        out.push_str(&part[whole.len()..]);
    }
    if out.len() == text.len() { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

/// A label as a field: in quotes where a comma, a semicolon, a tab, a quote or a line end is in it.
pub fn field(text: &str) -> Cow<'_, str> {
    quoted(label(text))
}

fn quoted(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.contains([',', ';', '"', '\t', '\r', '\n']) {
        true => Cow::Owned(format!("\"{}\"", text.replace('"', "\"\""))),
        false => text,
    }
}

/// The shortest text that reads back as the same number.
fn number(value: f64) -> String {
    let mut text = String::new();
    let plain = value + 0.0; // no -0
    let _ = if plain == 0.0 || !plain.is_finite() || (1e-5..1e17).contains(&plain.abs()) {
        write!(text, "{plain}")
    } else {
        write!(text, "{plain:e}")
    };
    text
}

fn line<'a>(text: &mut String, fields: impl Iterator<Item = Cow<'a, str>>) {
    for (i, field) in fields.enumerate() {
        if i > 0 {
            text.push(',');
        }
        text.push_str(&quoted(field));
    }
    text.push_str("\r\n");
}
