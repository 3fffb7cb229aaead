//! Typed access to a parsed TOML document, every refusal placed.

use super::diagnostic::{Diagnostic, Sink};
use super::keys::{Keys, Words};
use super::suggest;
use crate::exact::Rational;
use crate::plan::limits::MAX_TEXT;
use crate::release::texts::is_plain;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeArray, DeInteger, DeTable, DeValue};

/// A value and its place.
pub(super) type Value<'i> = Spanned<DeValue<'i>>;

/// What a value is, for people.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// "expected X, found Y" at a value.
pub(super) fn expected(value: &Value<'_>, what: &str, wanted: &str, sink: &mut Sink) {
    let found = kind(value.get_ref());
    sink.push(
        Diagnostic::at(value.span(), format!("{what} is not {wanted}"))
            .label(format!("expected {wanted}, found {found}")),
    );
}

/// A table whose keys are all known.
pub(super) struct Fields<'a, 'i> {
    table: &'a DeTable<'i>,
    /// Where the table is: its header, or its braces.
    pub(super) span: Option<Range<usize>>,
    /// `[privacy]`, for messages.
    what: String,
    /// The known keys that misspelt ones were probably meant to be: not to be missed as well.
    meant: Vec<String>,
}

impl<'a, 'i> Fields<'a, 'i> {
    /// The whole document.
    pub(super) fn root(table: &'a DeTable<'i>, keys: &Keys, sink: &mut Sink) -> Fields<'a, 'i> {
        let mut fields = Fields { table, span: None, what: "the spec".into(), meant: Vec::new() };
        fields.check_keys(keys, sink);
        fields
    }

    /// A value that must be a table with no other keys than these.
    pub(super) fn open(
        value: &'a Value<'i>,
        what: impl Into<String>,
        keys: &Keys,
        sink: &mut Sink,
    ) -> Option<Fields<'a, 'i>> {
        let what = what.into();
        let Some(table) = value.get_ref().as_table() else {
            expected(value, &what, "a table", sink);
            return None;
        };
        let mut fields = Fields { table, span: Some(value.span()), what, meant: Vec::new() };
        fields.check_keys(keys, sink);
        Some(fields)
    }

    fn check_keys(&mut self, keys: &Keys, sink: &mut Sink) {
        for (key, _) in self.table.iter() {
            if !keys.names().any(|name| name == key.get_ref()) {
                self.meant.extend(suggest::nearest(key.get_ref(), keys.names()).map(str::to_owned));
                sink.push(
                    Diagnostic::at(key.span(), format!("unknown key `{}` in {}", key.get_ref(), self.what))
                        .label("not a key of this table")
                        .help(suggest::help(key.get_ref(), keys.names())),
                );
            }
        }
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value<'i>> {
        self.table.get(key)
    }

    /// Where a key stands.
    pub(super) fn key_span(&self, key: &str) -> Option<Range<usize>> {
        self.table.get_key_value(key).map(|(k, _)| k.span())
    }

    /// The value of a key that must be there; `example` shows how to write it.
    pub(super) fn require(&self, key: &str, example: &str, sink: &mut Sink) -> Option<&'a Value<'i>> {
        let value = self.get(key);
        if value.is_none() {
            self.lacks(&[key], example, sink);
        }
        value
    }

    /// Reports that none of some keys is in this table.
    fn lacks(&self, keys: &[&str], example: &str, sink: &mut Sink) {
        if self.meant.iter().any(|meant| keys.contains(&&**meant)) {
            return;
        }
        let missing = suggest::any_of(keys.iter().map(|k| format!("`{k}`")));
        let message = format!("{} has no {missing}", self.what);
        let diagnostic = match &self.span {
            Some(span) => Diagnostic::at(span.clone(), message).label(format!("needs {missing}")),
            None => Diagnostic::nowhere(message),
        };
        sink.push(diagnostic.help(format!("add {example}")));
    }

    /// The one of `keys` that is there; none or several is a mistake.
    pub(super) fn exactly_one(
        &self,
        keys: &[&'static str],
        example: &str,
        sink: &mut Sink,
    ) -> Option<(&'static str, &'a Value<'i>)> {
        let mut present: Vec<_> = keys
            .iter()
            .filter_map(|&key| self.table.get_key_value(key).map(|(k, v)| (k.span(), key, v)))
            .collect();
        present.sort_by_key(|(span, ..)| span.start);
        let mut rest = present.iter();
        let Some((first_span, key, value)) = rest.next() else {
            self.lacks(keys, example, sink);
            return None;
        };
        let mut alone = true;
        for (span, other, _) in rest {
            alone = false;
            sink.push(
                Diagnostic::at(span.clone(), format!("both `{key}` and `{other}` in {}", self.what))
                    .label("only one of them can hold")
                    .related(first_span.clone(), "the other one")
                    .help(format!("keep exactly one of {}", suggest::listed(keys.iter().copied()))),
            );
        }
        alone.then_some((key, *value))
    }
}

/// Entries of a table in the order of the file (the parser keeps them by name).
pub(super) fn entries<'a, 'i>(table: &'a DeTable<'i>) -> Vec<(&'a str, Range<usize>, &'a Value<'i>)> {
    let mut entries: Vec<_> = table.iter().map(|(k, v)| (&**k.get_ref(), k.span(), v)).collect();
    entries.sort_by_key(|(_, span, _)| span.start);
    entries
}

/// Text that is not empty.
pub(super) fn text<'a>(value: &'a Value<'_>, what: &str, sink: &mut Sink) -> Option<&'a str> {
    let Some(text) = value.get_ref().as_str() else {
        let wanted = "text in quotes";
        expected(value, what, wanted, sink);
        return None;
    };
    if text.trim().is_empty() {
        sink.push(Diagnostic::at(value.span(), format!("{what} is empty")).label("expected text"));
        return None;
    }
    Some(text)
}

/// Text that releases show to people: without control characters and what turns the direction of writing, since no release may have these; with line ends
/// where `lines` allows them. Others are names and labels of the domain.
pub(super) fn shown<'a>(value: &'a Value<'_>, what: &str, lines: bool, sink: &mut Sink) -> Option<&'a str> {
    let found = text(value, what, sink)?;
    let wrong = match lines {
        false => strange(found, what),
        true if found.split(['\n', '\t']).all(is_plain) => None,
        true => Some((
            format!("{what} {STRANGE}"),
            "control characters, or some that turn the direction of writing",
        )),
    };
    let Some((message, label)) = wrong else { return Some(found) };
    sink.push(Diagnostic::at(value.span(), message).label(label));
    None
}

const STRANGE: &str = "has characters that no release may show";
const STRANGE_HERE: &str =
    "line ends or other control characters, or some that turn the direction of writing";

/// What is wrong with a name or label of the domain that no release may show, and what to say where it stands.
pub(super) fn strange(text: &str, what: &str) -> Option<(String, &'static str)> {
    if text.len() > MAX_TEXT {
        return Some((
            format!("{what} is longer than {MAX_TEXT} bytes"),
            "no release may show so long a one",
        ));
    }
    (!is_plain(text)).then(|| (format!("{what} {STRANGE}"), STRANGE_HERE))
}

/// `true` or `false`.
pub(super) fn boolean(value: &Value<'_>, what: &str, sink: &mut Sink) -> Option<bool> {
    let read = value.get_ref().as_bool();
    if read.is_none() {
        expected(value, what, "true or false", sink);
    }
    read
}

fn integer(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// A whole number within bounds.
pub(super) fn whole(value: &Value<'_>, what: &str, lo: i64, hi: i64, sink: &mut Sink) -> Option<i64> {
    let Some(number) = value.get_ref().as_integer() else {
        expected(value, what, "a whole number", sink);
        return None;
    };
    match integer(number) {
        Some(n) if (lo..=hi).contains(&n) => Some(n),
        read => {
            let (message, label) = match read {
                Some(n) if n < lo => (format!("{what} is too small"), format!("must be at least {lo}")),
                _ => (format!("{what} is too large"), format!("must be at most {hi}")),
            };
            sink.push(Diagnostic::at(value.span(), message).label(label));
            None
        }
    }
}

/// Any number, as a double.
pub(super) fn number(value: &Value<'_>, what: &str, sink: &mut Sink) -> Option<f64> {
    let read = match value.get_ref() {
        DeValue::Integer(n) => integer(n).map(|n| n as f64),
        DeValue::Float(n) => n.as_str().parse::<f64>().ok().filter(|n| n.is_finite()),
        _ => {
            expected(value, what, "a number", sink);
            return None;
        }
    };
    if read.is_none() {
        sink.push(Diagnostic::at(value.span(), format!("{what} is not finite")).label("expected a number"));
    }
    read
}

/// A rational greater than zero, read from its decimal text: 0.1 is 1/10.
pub(super) fn positive(value: &Value<'_>, what: &str, sink: &mut Sink) -> Option<Rational> {
    let digits = match value.get_ref() {
        DeValue::Integer(n) if n.radix() == 10 => n.as_str(),
        DeValue::Float(n) => n.as_str(),
        DeValue::String(s) => &**s,
        _ => {
            expected(value, what, "a number such as 0.5, or text such as \"1/2\"", sink);
            return None;
        }
    };
    let problem = match digits.parse::<Rational>() {
        Ok(r) if r.is_zero() => "must be more than zero".to_owned(),
        Ok(r) => return Some(r),
        Err(_) if digits.trim_start().starts_with('-') => "must be more than zero".to_owned(),
        Err(e) => e.to_string(),
    };
    sink.push(Diagnostic::at(value.span(), format!("{what} is not a positive number")).label(problem));
    None
}

/// A list.
pub(super) fn list<'a, 'i>(value: &'a Value<'i>, what: &str, sink: &mut Sink) -> Option<&'a DeArray<'i>> {
    let read = value.get_ref().as_array();
    if read.is_none() {
        expected(value, what, "a list", sink);
    }
    read
}

/// A list of texts, none empty, none twice. `None` when anything is wrong.
pub(super) fn names<'a>(
    value: &'a Value<'_>,
    what: &str,
    sink: &mut Sink,
) -> Option<Vec<(&'a str, Range<usize>)>> {
    let items = list(value, what, sink)?;
    let mut seen = std::collections::HashMap::with_capacity(items.len());
    let mut out = Vec::with_capacity(items.len());
    let before = sink.count();
    for item in items.iter() {
        if let DeValue::Integer(n) = item.get_ref() {
            sink.push(
                Diagnostic::at(item.span(), format!("{what} holds a number without quotes"))
                    .label(format!("write it as text: \"{n}\"")),
            );
            continue;
        }
        let Some(name) = text(item, &format!("an entry of {what}"), sink) else { continue };
        match seen.insert(name, item.span()) {
            Some(first) => sink.push(
                Diagnostic::at(item.span(), format!("`{name}` is twice in {what}"))
                    .label("the second time")
                    .related(first, "the first time"),
            ),
            None => out.push((name, item.span())),
        }
    }
    (sink.count() == before).then_some(out)
}

/// One of a closed list of words.
pub(super) fn choice<T: Copy>(value: &Value<'_>, what: &str, known: Words<T>, sink: &mut Sink) -> Option<T> {
    let word = text(value, what, sink)?;
    let found = known.iter().find(|w| w.0 == word).map(|w| w.1);
    if found.is_none() {
        sink.push(
            Diagnostic::at(value.span(), format!("unknown {what} `{word}`"))
                .label(format!("expected {}", suggest::any_of(known.iter().map(|w| format!("\"{}\"", w.0)))))
                .help(
                    suggest::nearest(word, known.iter().map(|k| k.0)).map(|k| format!("did you mean `{k}`?")),
                ),
        );
    }
    found
}

/// The items of `[[what]]`; a single `[what]` is a likely slip.
pub(super) fn several<'a, 'i>(
    value: &'a Value<'i>,
    what: &str,
    sink: &mut Sink,
) -> Option<Vec<&'a Value<'i>>> {
    if value.get_ref().is_table() {
        sink.push(
            Diagnostic::at(value.span(), format!("`{what}` is a single table"))
                .label("expected two brackets")
                .help(format!("write `[[{what}]]`: there may be several")),
        );
        return None;
    }
    let items = list(value, &format!("`{what}`"), sink)?;
    if items.is_empty() {
        sink.push(Diagnostic::at(value.span(), format!("`{what}` is empty")).label("expected at least one"));
        return None;
    }
    if items.len() > usize::from(u16::MAX) {
        sink.push(Diagnostic::at(value.span(), format!("too many of `[[{what}]]`")).label("at most 65535"));
        return None;
    }
    Some(items.iter().collect())
}

/// A list of numbers, each greater than the one before.
pub(super) fn ascending(value: &Value<'_>, what: &str, sink: &mut Sink) -> Option<Vec<(f64, Range<usize>)>> {
    let items = list(value, what, sink)?;
    let before = sink.count();
    let mut out: Vec<(f64, Range<usize>)> = Vec::with_capacity(items.len());
    for item in items.iter() {
        let Some(number) = number(item, &format!("an entry of {what}"), sink) else { continue };
        if let Some((last, span)) = out.last()
            && *last >= number
        {
            sink.push(
                Diagnostic::at(item.span(), format!("{what} is not ascending"))
                    .label(format!("must be more than {last}"))
                    .related(span.clone(), "comes before"),
            );
        }
        out.push((number, item.span()));
    }
    (sink.count() == before).then_some(out)
}
