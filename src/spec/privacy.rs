//! `[privacy]`: who is protected, and the budget.

use super::diagnostic::{Diagnostic, Sink};
use super::keys::{Keys, Shape, key, required, shown, words};
use super::read::{self, Fields, Value};
use super::words::{NEIGHBOURS, UNITS, WITHOUT};
use super::{Budget, Privacy, Unit, amounts};
use crate::exact::Rational;
use crate::plan::Neighbours;

/// The keys of `[privacy]`.
pub(super) const KEYS: Keys = Keys {
    what: "Who is protected, and the budget: exactly one of `rho`, `epsilon`, or `epsilon` with `delta`.",
    keys: &[
        required(
            "unit",
            Shape::Either(&[words!(UNITS), Shape::Table(&UNIT)]),
            "whom the guarantee protects: `\"row\"` if every row is a different person, or `{ column = \"person_id\", max_rows = 3 }`",
        ),
        key("neighbours", words!(NEIGHBOURS), "the difference between neighbouring datasets"),
        key("rho", Shape::Exact, "the budget in zCDP, for discrete Gaussian noise"),
        key("epsilon", Shape::Exact, "the budget in pure differential privacy, for discrete Laplace noise"),
        shown(
            "delta",
            "epsilon` and `delta",
            Shape::Exact,
            "the budget as (ε, δ), for discrete Gaussian noise: the largest ρ [found](methods/loss.md#budgets-in-ε-δ) that the exact law of the plan's own noises allows, and where that is not known as much as converts to it; δ is below 1",
        ),
        key(
            "measure_truncation",
            Shape::Either(&[Shape::Truth, Shape::Exact]),
            "if the unit is a column: `true` spends a hundredth of the budget on a noisy count of the units that had more than `max_rows` \
             rows; a number below 1 is another part of the budget",
        ),
    ],
    one_of: &["rho", "epsilon"],
    rules: r#"{"dependentRequired": {"delta": ["epsilon"]}}"#,
};

/// The keys of `unit`, where it is a table.
pub(super) const UNIT: Keys = Keys {
    what: "All rows with the same value of a column are one unit.",
    keys: &[
        required("column", Shape::Text, "the column that identifies units"),
        required(
            "max_rows",
            Shape::Whole(1, u32::MAX as i64),
            "the most rows of one unit that count: its first ones",
        ),
        key(
            "order",
            Shape::Either(&[
                Shape::Text,
                Shape::Json(
                    r#"{"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 8}"#,
                ),
            ]),
            "the column of whole numbers, days or times that orders a unit's rows, or a list of such columns (default: the order of the file)",
        ),
        key("without", words!(WITHOUT), "what becomes of rows in which that column is empty"),
    ],
    one_of: &[],
    rules: "{}",
};

pub(super) fn read(value: &Value<'_>, sink: &mut Sink) -> Option<Privacy> {
    let fields = Fields::open(value, "`[privacy]`", &KEYS, sink)?;
    let unit = fields
        .require("unit", "`unit = \"row\"` or `unit = { column = \"person_id\", max_rows = 3 }`", sink)
        .and_then(|v| unit(v, sink));
    let neighbours = fields
        .get("neighbours")
        .map_or(Some(Neighbours::AddRemove), |v| read::choice(v, "neighbour relation", NEIGHBOURS, sink));
    let delta = fields.get("delta").map(|v| {
        let delta = read::positive(v, "`delta`", sink)?;
        if delta >= Rational::ONE {
            let diagnostic = Diagnostic::at(v.span(), "`delta` is not less than one");
            sink.push(diagnostic.label("expected a very small number, such as 1e-9"));
            return None;
        }
        Some(delta)
    });
    let stray_delta = |sink: &mut Sink, message: &str, help: &str| {
        if let Some(span) = fields.key_span("delta") {
            sink.push(Diagnostic::at(span, message).label("goes with `epsilon` only").help(help.to_owned()));
        }
    };
    if fields.get("rho").is_none() && fields.get("epsilon").is_none() && delta.is_some() {
        stray_delta(sink, "`delta` without `epsilon`", "add `epsilon = 1`");
        return None;
    }
    let (key, v) = fields.exactly_one(&["rho", "epsilon"], "one of them, such as `rho = \"1/2\"`", sink)?;
    let amount = read::positive(v, &format!("`{key}`"), sink);
    if key == "rho" && delta.is_some() {
        stray_delta(sink, "`delta` beside `rho`", "leave `delta` out: rho alone is the whole budget");
        return None;
    }
    let budget = match (key, delta) {
        ("rho", _) => Budget::Rho(amount?),
        (_, None) => Budget::Epsilon(amount?),
        (_, Some(delta)) => Budget::EpsilonDelta(amount?, delta?),
    };
    let cut_units = match fields.get("measure_truncation") {
        None => None,
        Some(v) => cut_units(v, unit.as_ref(), sink)?,
    };
    Some(Privacy { unit: unit?, neighbours: neighbours?, budget, cut_units })
}

/// Whether the units that have more rows than count are measured, and with which part of the budget.
fn cut_units(value: &Value<'_>, unit: Option<&Unit>, sink: &mut Sink) -> Option<Option<Rational>> {
    let share = amounts::part_of_budget(value, "`measure_truncation`", sink)?;
    if share.is_some() && unit == Some(&Unit::Row) {
        sink.push(
            Diagnostic::at(value.span(), "`measure_truncation` where every row is its own unit")
                .label("no row is left out, so there is nothing to measure"),
        );
        return None;
    }
    Some(share)
}

fn unit(value: &Value<'_>, sink: &mut Sink) -> Option<Unit> {
    if !value.get_ref().is_table() {
        return read::choice(value, "unit", UNITS, sink).map(|()| Unit::Row);
    }
    let fields = Fields::open(value, "`unit`", &UNIT, sink)?;
    let column = fields
        .require("column", "`column = \"person_id\"`", sink)
        .and_then(|v| Some((read::shown(v, "`column`", true, sink)?, v.span())));
    let column = match column {
        // A release names its unit in one word: its readers would take every row for a unit of its own.
        Some(("row", span)) => {
            sink.push(
                Diagnostic::at(span, "the column of the unit cannot be called `row`")
                    .label("in a release that means that every row is its own unit")
                    .help("give the column another name in the data".to_owned()),
            );
            None
        }
        other => other.map(|(column, _)| column),
    };
    let max_rows = fields
        .require("max_rows", "`max_rows = 1`: how many rows of one unit count", sink)
        .and_then(|v| read::whole(v, "`max_rows`", 1, i64::from(u32::MAX), sink));
    let order = fields.get("order").map_or(Some(Vec::new()), |v| order(v, sink));
    let without = fields.get("without").map_or(Some(None), |v| read::choice(v, "`without`", WITHOUT, sink));
    let (column, max_rows) = (column?.to_owned(), u32::try_from(max_rows?).ok()?);
    Some(Unit::Column { column, max_rows, order: order?, without: without? })
}

/// The columns that order the rows of a unit.
fn order(value: &Value<'_>, sink: &mut Sink) -> Option<Vec<String>> {
    const MOST: usize = 8;
    if value.get_ref().is_str() {
        return read::text(value, "`order`", sink).map(|column| vec![column.to_owned()]);
    }
    let columns = read::names(value, "`order`", sink)?;
    if columns.is_empty() || columns.len() > MOST {
        sink.push(
            Diagnostic::at(value.span(), "`order` names no column, or too many")
                .label(format!("expected one to {MOST}")),
        );
        return None;
    }
    Some(columns.into_iter().map(|(column, _)| column.to_owned()).collect())
}
