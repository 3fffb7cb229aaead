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
    let period = fields.get("period").and_then(|v| read::text(v, "`period`", sink));
    // Each is judged beside one that has no fault, so that both mistakes are shown.
    let parts = [
        ("id", id, "expected letters, digits, dots, - and _, a letter or digit first, at most 100"),
        ("period", period, "expected at most 100 printable characters, such as \"2026\" or \"2026-Q1\""),
    ];
    for (key, said, label) in parts {
        let Some(said) = said else { continue };
        let (id, period) = if key == "id" { (said, None) } else { ("id", Some(said.to_owned())) };
        if let Some(fault) = (Dataset { id: id.to_owned(), period }).fault() {
            let span = fields.get(key).map_or(value.span(), |v| v.span());
            sink.push(Diagnostic::at(span, fault).label(label));
        }
    }
    let dataset = Dataset { id: id?.to_owned(), period: period.map(str::to_owned) };
    (sink.count() == before).then_some(dataset)
}
