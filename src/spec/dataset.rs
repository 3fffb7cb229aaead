//! `[dataset]`: of whom the counts are.
//!
//! Two releases may be put together only if they are of the same people. Nothing in the numbers shows that, so the
//! agency says it: the same `id` is the same people (or other units), and `period` is of when. What a release
//! does not say, its readers may not assume: without an id it is combined with no other.
//!
//! The id is also that of the account to which all releases of these people are charged: `ledger` says where that is kept, `unit`
//! and `unit_of` whom it protects where the release protects somebody else, `part` of which part of the people the data is.

use super::AccountSpec;
use super::diagnostic::{Diagnostic, Sink};
use super::keys::{Keys, Shape, key, required};
use super::read::{self, Fields, Value};
use crate::release::{Dataset, parts};

/// The keys of `[dataset]`.
pub(super) const KEYS: Keys = Keys {
    what: "Whose data this is. Without it the release cannot be combined with others.",
    keys: &[
        required(
            "id",
            Shape::Matches(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"),
            "the name of these people in all their releases, and in no others: letters, digits, dots, `-`, `_`",
        ),
        key("period", Shape::Short(100), "the time that the data describes: `\"2026\"`, `\"2026-Q1\"`"),
        key(
            "snapshot",
            Shape::Short(100),
            "the name of this very state of the data, so that [questions about different people](ledger.md#questions-about-different-people) cost \
             the dearest of them: `\"2026-01-31\"`. The same name is the same rows in the same order",
        ),
        key(
            "ledger",
            Shape::Short(200),
            "the ledger's file, relative to the spec (default `ledger/ID.jsonl` in the working folder)",
        ),
        key(
            "unit",
            Shape::Short(200),
            "the unit that the ledger protects, if it is not the release's own: `unit = \"household\"`",
        ),
        key(
            "unit_of",
            Shape::Whole(1, MOST_OF),
            "with `unit`: the most units of this release that one unit of the ledger has: `unit_of = 4`",
        ),
        key(
            "part",
            Shape::Matches(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}=[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"),
            "the part of the people whose data this is, such as `\"region=north\"`: in one `period` and `snapshot`, of which it wants one, nobody is in two parts of one partition. Both sides \
             have the characters of an id; capitals make no difference",
        ),
    ],
    one_of: &[],
    rules: "{}",
};

/// The most units of a release that one of an account may be.
const MOST_OF: i64 = 1_000_000;

/// Reads the account's part of the table. `own` is whom the release protects, as far as it is known. What is sealed is as it was when it was released.
pub(super) fn account(
    value: &Value<'_>,
    folder: &std::path::Path,
    (own, sealed): (Option<&str>, bool),
    sink: &mut Sink,
) -> Option<AccountSpec> {
    // What is no table is told by `read`.
    let fields =
        Fields::open(value, "`[dataset]`", &KEYS, &mut Sink::new(String::new(), String::new(), 0, 0))?;
    let before = sink.count();
    let text = |key: &str, sink: &mut Sink| {
        let value = fields.get(key)?;
        let said = read::text(value, &format!("`{key}`"), sink)?;
        if said.is_empty() || said.len() > 200 || said.chars().any(char::is_control) {
            sink.push(Diagnostic::at(value.span(), format!("`{key}` is not 1 to 200 printable characters")));
        }
        Some(said.to_owned())
    };
    let unit = text("unit", sink);
    let ledger = text("ledger", sink).map(|path| folder.join(path));
    let part = text("part", sink);
    if let (Some(part), Some(value)) = (&part, fields.get("part"))
        && parts::sides(part).is_none()
    {
        sink.push(
            Diagnostic::at(value.span(), "`part` does not name a partition and one of its parts")
                .label("expected `NAME=PART`, such as \"region=north\""),
        );
    }
    if let (Some(part), None, None, false) =
        (fields.get("part"), fields.get("period"), fields.get("snapshot"), sealed)
    {
        sink.push(
            Diagnostic::at(part.span(), "`part` without `period`")
                .label("people move from part to part: of which time are these data?")
                .help("say it: `period = \"2026\"`, or a `snapshot`".to_owned()),
        );
    }
    // Taken for one, a household of four would be charged as one person.
    if let (Some(said), Some(value), None, Some(own), false) =
        (&unit, fields.get("unit"), fields.get("unit_of"), own, sealed)
        && said != own
    {
        sink.push(
            Diagnostic::at(value.span(), "`unit` without `unit_of`")
                .label(format!("how many units of this release, each a {own}, is one of these?"))
                .help("say at most how many: `unit_of = 4`".to_owned()),
        );
    }
    let unit_of = fields.get("unit_of").and_then(|v| read::whole(v, "`unit_of`", 1, MOST_OF, sink));
    if let (Some(of), None) = (fields.get("unit_of"), &unit) {
        sink.push(
            Diagnostic::at(of.span(), "`unit_of` without `unit`")
                .label("how many units of this release is one of whom?")
                .help("name whom the account protects: `unit = \"household\"`".to_owned()),
        );
    }
    let unit_of = unit_of.and_then(|n| u32::try_from(n).ok()).unwrap_or(1);
    (sink.count() == before).then_some(AccountSpec { ledger, unit, unit_of, part })
}

/// Reads the table.
pub(super) fn read(value: &Value<'_>, sink: &mut Sink) -> Option<Dataset> {
    let fields = Fields::open(value, "`[dataset]`", &KEYS, sink)?;
    let before = sink.count();
    let id = fields
        .require("id", "`id = \"people-of-the-town\"`: the same in every release of these people", sink)
        .and_then(|v| read::text(v, "`id`", sink));
    let period = fields.get("period").and_then(|v| read::text(v, "`period`", sink));
    // Each is judged beside one that has no fault, so that both mistakes are shown.
    let snapshot = fields.get("snapshot").and_then(|v| read::text(v, "`snapshot`", sink));
    let parts = [
        ("id", id, "expected letters, digits, dots, - and _, a letter or digit first, at most 100"),
        ("period", period, "expected at most 100 printable characters, such as \"2026\" or \"2026-Q1\""),
        ("snapshot", snapshot, "expected at most 100 printable characters, such as \"2026-01-31\""),
    ];
    for (key, said, label) in parts {
        let Some(said) = said else { continue };
        let mut alone = Dataset { id: "id".to_owned(), period: None, snapshot: None };
        match key {
            "id" => alone.id = said.to_owned(),
            "period" => alone.period = Some(said.to_owned()),
            _ => alone.snapshot = Some(said.to_owned()),
        }
        if let Some(fault) = alone.fault() {
            let span = fields.get(key).map_or(value.span(), |v| v.span());
            sink.push(Diagnostic::at(span, fault).label(label));
        }
    }
    let own = |said: Option<&str>| said.map(str::to_owned);
    let dataset = Dataset { id: id?.to_owned(), period: own(period), snapshot: own(snapshot) };
    (sink.count() == before).then_some(dataset)
}
