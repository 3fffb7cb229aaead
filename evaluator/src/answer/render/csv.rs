//! Comma-separated values after RFC 4180.

use super::{ResultTable, Shown};
use std::borrow::Cow;
use std::fmt::Write;

/// A header line and one line for each row, ended by CR LF. Numbers have full precision; infinite bounds are
/// `inf` and `-inf`, which readers of numbers understand. Names and labels are written as [`label`] says. Where something
/// besides noise makes the numbers untrue, a last column `status` says so in a word or two (see [`super::Caveat::status`]), so
/// that a file that is passed on still tells.
pub fn csv(result: &ResultTable) -> String {
    let keys = result.keys();
    let mut text = String::new();
    let status = result.status_column();
    let header = status.iter().map(|(name, _)| Cow::Borrowed(name.as_str()));
    line(&mut text, keys.iter().map(|k| label(&k.name)).chain(header));
    for row in &result.rows {
        let fields = keys.iter().map(|k| match k.of(row) {
            Shown::Text(text) => label(text),
            Shown::Number(value) if value.is_nan() => Cow::Borrowed(""),
            Shown::Number(value) => Cow::Owned(number(value)),
            Shown::Nothing => Cow::Borrowed(""),
        });
        line(&mut text, fields.chain(status.iter().map(|(_, words)| Cow::Borrowed(words.as_str()))));
    }
    text
}

/// A label as spreadsheets may have it: one that begins like a formula (`=`, `+`, `-`, `@`, also in the wide forms
/// of East Asian keyboards, a tab or a carriage return) gets an apostrophe before it, which a spreadsheet takes for
/// "this is text". Otherwise a label made up by whoever wrote the spec would run in the reader's spreadsheet. What
/// reads as a finite number stays a number.
pub fn label(text: &str) -> Cow<'_, str> {
    let formula = text.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r', '\n']);
    if formula && !text.parse::<f64>().is_ok_and(f64::is_finite) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
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
        if field.contains([',', '"', '\r', '\n']) {
            text.push('"');
            text.push_str(&field.replace('"', "\"\""));
            text.push('"');
        } else {
            text.push_str(&field);
        }
    }
    text.push_str("\r\n");
}
