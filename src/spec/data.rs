//! `[data]`: where the rows are, and how their cells are written.

use super::diagnostic::{Diagnostic, Sink};
use super::dimension::DeclaredDimension;
use super::keys::{Keys, Shape, key, required, shown, words};
use super::read::{self, Fields, Value};
use super::words::{ENCODINGS, FORMATS};
use super::{Blanks, Coding, Column, CsvOptions, Data, Digits, Encoding, Format, Privacy, Unit, suggest};
use std::path::Path;

/// The keys of `[data]`.
pub(super) const KEYS: Keys = Keys {
    what: "Where the rows are. `--data FILE` replaces the path.",
    keys: &[
        required(
            "path",
            Shape::Text,
            "a file, a folder, or a pattern such as `rows/part-*.parquet`, relative to the spec; `-` is standard input, for the command. An absolute path draws a warning: it would \
             publish the names of folders and people",
        ),
        key(
            "format",
            words!(FORMATS),
            "the format of the data (default: by the ending of `path`; required for a folder, and for `-` unless `--format` says it)",
        ),
        key("delimiter", Shape::Json(ONE_CHARACTER), "CSV: the character between fields (default `,`)"),
        key(
            "quote",
            Shape::Json(ONE_CHARACTER),
            "CSV: the character around fields (default `\"`). A quote that is never closed is refused, because rows may follow it",
        ),
        key("columns", Shape::List(&Shape::Text), "CSV: the columns' names, for a file without a header"),
        key("encoding", words!(ENCODINGS), "CSV: the text encoding"),
        key(
            "decimal",
            Shape::Json(r#"{"enum": [".", ","]}"#),
            "CSV: what stands before the fraction of a number (default `.`)",
        ),
        key(
            "thousands",
            Shape::Json(ONE_CHARACTER),
            "CSV: what stands between groups of three digits: `1.234` with `\".\"` (default: nothing may)",
        ),
        shown(
            "empty",
            "empty = [\"\", \"NA\"]",
            Shape::Json(r#"{"type": "array", "items": {"type": "string"}}"#),
            "texts that stand for no value: a cell with one of them is empty, as one with nothing in it is",
        ),
        key("trim", Shape::Truth, "`true` if blanks before and behind a value are no part of it"),
    ],
    one_of: &[],
    rules: "{}",
};

const ONE_CHARACTER: &str = r#"{"type": "string", "minLength": 1, "maxLength": 1}"#;

pub(super) fn read(value: &Value<'_>, origin: &Path, sink: &mut Sink) -> Option<Data> {
    let fields = Fields::open(value, "`[data]`", &KEYS, sink)?;
    let before = sink.count();
    let path = fields
        .require("path", "`path = \"rows.csv\"`, relative to this file", sink)
        .and_then(|v| Some((read::text(v, "`path`", sink)?, v.span())));
    let format = match (fields.get("format"), &path) {
        (Some(v), _) => read::choice(v, "format", FORMATS, sink),
        (None, Some((path, _))) if super::is_pipe(Path::new(path)) => None,
        (None, Some((path, span))) => {
            // Packed text is text; Parquet packs itself.
            let text = path
                .strip_suffix(".gz")
                .or(path.strip_suffix(".zst"))
                .filter(|path| path.to_ascii_lowercase().ends_with(".csv"));
            let extension = Path::new(text.unwrap_or(path))
                .extension()
                .and_then(|e| e.to_str())
                .map(str::to_ascii_lowercase);
            let known = FORMATS.iter().find(|w| Some(w.0) == extension.as_deref()).map(|w| w.1);
            if known.is_none() {
                sink.push(
                    Diagnostic::at(span.clone(), "the format of the data is not clear from its name")
                        .label("ends in neither .csv nor .parquet")
                        .help("add `format = \"csv\"` or `format = \"parquet\"`".to_owned()),
                );
            }
            known
        }
        (None, None) => None,
    };
    let delimiter = fields.get("delimiter").map_or(Some(b','), |v| byte(v, "`delimiter`", sink));
    let quote = fields.get("quote").map_or(Some(b'"'), |v| byte(v, "`quote`", sink));
    if let (Some(a), Some(b)) = (delimiter, quote)
        && a == b
    {
        let v = fields.get("delimiter").or(fields.get("quote")).unwrap_or(value);
        sink.push(Diagnostic::at(v.span(), "`delimiter` and `quote` are the same").label("must differ"));
    }
    let columns = fields.get("columns").and_then(|v| {
        let names = read::names(v, "`columns`", sink)?;
        if names.is_empty() {
            sink.push(Diagnostic::at(v.span(), "`columns` is empty").label("expected the columns' names"));
        }
        Some(names.into_iter().map(|(name, _)| name.to_owned()).collect())
    });
    let encoding =
        fields.get("encoding").map_or(Some(Encoding::Utf8), |v| read::choice(v, "encoding", ENCODINGS, sink));
    if format == Some(Format::Parquet) {
        for key in ["delimiter", "quote", "columns", "encoding", "decimal", "thousands"] {
            if let Some(span) = fields.key_span(key) {
                sink.push(
                    Diagnostic::at(span, format!("`{key}` for a Parquet file"))
                        .label("only for CSV: leave it out"),
                );
            }
        }
    }
    let numbers = numbers(&fields, sink);
    let trim = fields.get("trim").map_or(Some(false), |v| read::boolean(v, "`trim`", sink));
    let empty = fields.get("empty").map_or(Some(Vec::new()), |v| empty(v, sink));
    if sink.count() > before {
        return None;
    }
    let path = match path?.0 {
        path if super::is_pipe(Path::new(path)) => path.into(),
        path => origin.parent().unwrap_or(Path::new("")).join(path),
    };
    let csv =
        CsvOptions { delimiter: delimiter?, quote: quote?, columns, encoding: encoding?, numbers: numbers? };
    Some(Data { path, format, csv, blanks: Blanks { empty: empty?, trim: trim? } })
}

/// `decimal` and `thousands`.
fn numbers(fields: &Fields<'_, '_>, sink: &mut Sink) -> Option<Digits> {
    let mut numbers = Digits::default();
    if let Some(v) = fields.get("decimal") {
        numbers.decimal = byte(v, "`decimal`", sink)?;
        if !matches!(numbers.decimal, b'.' | b',') {
            sink.push(
                Diagnostic::at(v.span(), "`decimal` is neither a point nor a comma")
                    .label("expected \".\" or \",\""),
            );
            return None;
        }
    }
    if let Some(v) = fields.get("thousands") {
        // A blank is a mark, too.
        let text = match v.get_ref().as_str() {
            Some(" ") => " ",
            _ => read::text(v, "`thousands`", sink)?,
        };
        let mut said = text.chars();
        let one = said.next().filter(|_| said.next().is_none());
        let Some(mark) = one
            .filter(|c| !c.is_alphanumeric() && !matches!(c, '+' | '-') && *c != char::from(numbers.decimal))
        else {
            let diagnostic = Diagnostic::at(v.span(), "`thousands` is not one mark between digits");
            sink.push(diagnostic.label("expected one character, such as \".\" with `decimal = \",\"`"));
            return None;
        };
        numbers.thousands = Some(mark);
    }
    Some(numbers)
}

/// `empty`.
fn empty(value: &Value<'_>, sink: &mut Sink) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    for item in read::list(value, "`empty`", sink)?.iter() {
        match item.get_ref().as_str() {
            Some(text) => texts.push(text.to_owned()),
            None => {
                read::expected(item, "a text of `empty`", "text in quotes", sink);
                return None;
            }
        }
    }
    Some(texts)
}

/// One ASCII character.
fn byte(value: &Value<'_>, what: &str, sink: &mut Sink) -> Option<u8> {
    match value.get_ref().as_str().map(str::as_bytes) {
        Some(&[b]) if b.is_ascii() && b != b'\n' && b != b'\r' => Some(b),
        Some(_) => {
            let diagnostic = Diagnostic::at(value.span(), format!("{what} is not one ASCII character"));
            sink.push(diagnostic.label("expected one character, such as \";\" or \"\\t\""));
            None
        }
        None => {
            read::expected(value, what, "text in quotes", sink);
            None
        }
    }
}

/// A text that stands for no value is no category either: no cell would ever be in it.
pub(super) fn check_empty(data: &Data, dimensions: &[DeclaredDimension], sink: &mut Sink) {
    for declared in dimensions {
        let Some((name, span)) = &declared.name else { continue };
        let Some((_, Column { coding: Coding::Labels(labels), missing, .. })) = &declared.built else {
            continue;
        };
        let never = |text: &&String| labels.get(*text).is_some_and(|node| Some(*node) != *missing);
        if let Some(text) = data.blanks.empty.iter().find(never) {
            let message = format!("{text:?} is a category of `{name}`, and by `empty` of `[data]` no value");
            sink.push(Diagnostic::at(span.clone(), message).label("no row would be counted there"));
        }
        let blank = |label: &&String| label.trim_ascii().len() < label.len();
        if let Some(text) = labels.keys().find(blank).filter(|_| data.blanks.trim) {
            let message = format!(
                "{text:?} is a category of `{name}`, and by `trim` of `[data]` its blanks are no part of it"
            );
            sink.push(Diagnostic::at(span.clone(), message).label("no row would be counted there"));
        }
    }
}

/// When the spec names the columns of a file without header, the others must be among them.
pub(super) fn check_columns(
    data: &Data,
    root: &Fields<'_, '_>,
    dimensions: &[DeclaredDimension],
    privacy: Option<&Privacy>,
    sink: &mut Sink,
) {
    let Some(columns) = &data.csv.columns else { return };
    let known = || columns.iter().map(|c| c.as_str());
    let mut check = |column: &str, span| {
        if !known().any(|c| c == column) {
            sink.push(
                Diagnostic::at(span, format!("the data has no column `{column}`"))
                    .label("not in `columns` of `[data]`")
                    .help(suggest::help(column, known())),
            );
        }
    };
    for (column, span) in dimensions.iter().filter_map(|d| d.column.clone()) {
        check(&column, span);
    }
    if let Some(Privacy { unit: Unit::Column { column, order, .. }, .. }) = privacy
        && let Some(unit) = root.get("privacy").and_then(|p| p.get_ref().get("unit"))
    {
        let place = |key| unit.get_ref().get(key).map_or(unit.span(), |c| c.span());
        check(column, place("column"));
        order.iter().for_each(|column| check(column, place("order")));
    }
}
