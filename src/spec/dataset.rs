//! `[dataset]`: of whom the counts are.
//!
//! Two releases may be put together only if they are of the same people. Nothing in the numbers shows that, so the
//! agency says it: the same `id` is the same people (or other units), and `period` is of when. What a release
//! does not say, its readers may not assume: without an id it is combined with no other.

use super::diagnostic::{Diagnostic, Sink};
use super::read::{self, Fields, Value};
use crate::release::Dataset;

/// The keys of `[dataset]`.
pub(super) const KEYS: &[&str] = &["id", "period"];

/// Reads the table.
pub(super) fn read(value: &Value<'_>, sink: &mut Sink) -> Option<Dataset> {
    let fields = Fields::open(value, "`[dataset]`", KEYS, sink)?;
    let before = sink.count();
    let id = fields
        .require("id", "`id = \"people-of-the-town\"`: the same in every release of these people", sink)
        .and_then(|v| read::text(v, "`id`", sink));
    let period = match fields.get("period") {
        None => None,
        Some(v) => Some(read::text(v, "`period`", sink)?.to_owned()),
    };
    let dataset = Dataset { id: id?.to_owned(), period };
    if let Some(fault) = dataset.fault() {
        let at = |key: &str| fields.get(key).map_or(value.span(), |v| v.span());
        let whole = Dataset { period: None, ..dataset.clone() };
        let (key, label) = match whole.fault() {
            Some(_) => {
                ("id", "expected letters, digits, dots, - and _, a letter or digit first, at most 100")
            }
            None => ("period", "expected at most 100 printable characters, such as \"2026\" or \"2026-Q1\""),
        };
        sink.push(Diagnostic::at(at(key), fault).label(label));
    }
    (sink.count() == before).then_some(dataset)
}
