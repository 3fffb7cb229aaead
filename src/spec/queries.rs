//! `[[query]]`: questions of the workload in SQL.

use super::diagnostic::{Diagnostic, Sink};
use super::keys::{Keys, Shape, key, required};
use super::read::{self, Fields, Value};
use super::tables;
use super::types::AmountSpec;
use crate::answer::QueryError;
use crate::answer::sums::SumsAsked;
use crate::cube::Cube;
use crate::exact::Rational;
use crate::plan::Target;
use crate::plan::limits::MAX_CONDITION;
use crate::plan::{Asks, Selected, SelectedError, Table};
use crate::sql::{SqlError, quote_names};
use std::ops::Range;

/// The keys of `[[query]]`.
pub(super) const KEYS: Keys = Keys {
    what: "A question that the plan is made for.",
    keys: &[
        required(
            "sql",
            Shape::Text,
            "a SELECT of counts and sums, and of sums and differences of them, with WHERE, FILTER and GROUP BY (a CASE too). The name \
             after FROM does not matter",
        ),
        key("weight", Shape::Exact, "how much the error of each figure matters (default 1)"),
        key(
            "margin",
            Shape::Exact,
            "a target: the interval of every figure in every row is at most ± this number",
        ),
        key("level", Shape::Exact, "with `margin`: the coverage of that interval (default 0.95)"),
    ],
    one_of: &[],
    rules: r#"{"dependentRequired": {"level": ["margin"]}}"#,
};

/// More of them than this are a workload for `[[table]]`.
const MOST_QUERIES: usize = 65_535;

/// Reads all `[[query]]` entries. One that is there twice is asked once, with the larger weight and the stricter target.
pub(super) fn read(
    value: &Value<'_>,
    (name, source): (&str, &str),
    (cube, amounts): (&Cube, &[AmountSpec]),
    sink: &mut Sink,
) -> Option<Vec<(Table, Option<Target>)>> {
    let items = read::list(value, "`query`", sink)?;
    let before = sink.count();
    let mut out: Vec<(Table, Option<Target>)> = Vec::new();
    if items.len() > MOST_QUERIES {
        sink.push(Diagnostic::at(value.span(), "too many of `[[query]]`").label("at most 65535"));
        return None;
    }
    for item in items.iter() {
        let Some((table, target)) = one(item, (name, source), (cube, amounts), sink) else { continue };
        match out.iter_mut().find(|(t, _)| t.asks == table.asks) {
            Some((known, own)) => {
                known.weight = known.weight.max(table.weight);
                *own = tables::stricter(*own, target);
            }
            None => out.push((table, target)),
        }
    }
    (sink.count() == before).then_some(out)
}

fn one(
    item: &Value<'_>,
    (name, source): (&str, &str),
    (cube, amounts): (&Cube, &[AmountSpec]),
    sink: &mut Sink,
) -> Option<(Table, Option<Target>)> {
    let fields = Fields::open(item, "`[[query]]`", &KEYS, sink)?;
    let weight = match fields.get("weight") {
        Some(v) => read::positive(v, "`weight`", sink),
        None => Some(Rational::ONE),
    };
    let target = tables::target(&fields, sink);
    let example = "`sql = \"SELECT sex, COUNT(*) FROM t WHERE age < 18 GROUP BY sex\"`";
    let value = fields.require("sql", example, sink)?;
    let text = read::text(value, "`sql`", sink)?;
    if text.len() as u64 > MAX_CONDITION {
        let long = Diagnostic::at(value.span(), "`sql` is too long");
        sink.push(long.label(format!("must have at most {MAX_CONDITION} bytes")));
        return None;
    }
    // Names need no quotes, as when the release is asked.
    let names: Vec<&str> = cube.dimensions.iter().map(|d| d.name.as_str()).chain([name]).collect();
    let quoted = quote_names(text, &names);
    // With quotes put in, places in the query are not those of the spec.
    let source = if quoted == text { source } else { "" };
    if is_of_sums(&quoted, name, cube, amounts) {
        sink.push(
            Diagnostic::at(value.span(), "`sql` asks for sums of an amount")
                .label("only counts are planned")
                .help("a `[[table]]` with `sum` is for sums, `ask` in it for their ranges".to_owned()),
        );
        return None;
    }
    let selected = Selected::new(cube, &quoted).map_err(|why| refuse(why, text, value.span(), source, sink));
    let cuboid = selected.ok()?.cuboid;
    Some((Table { cuboid, weight: weight?, asks: Asks::Query(quoted.into_owned()) }, target?))
}

/// Whether a question adds up an amount, which no plan of questions does.
fn is_of_sums(sql: &str, name: &str, cube: &Cube, amounts: &[AmountSpec]) -> bool {
    let quantities: Vec<_> = amounts.iter().map(|a| a.quantity.clone()).collect();
    match SumsAsked::read(cube, &quantities, name, sql) {
        Ok(asked) => asked.is_some(),
        // Of whatever it is: here the name after FROM says nothing.
        Err(why) => matches!(why, QueryError::From(..)),
    }
}

/// Shows what is wrong, in the query itself where that is known.
fn refuse(why: SelectedError, text: &str, span: Range<usize>, source: &str, sink: &mut Sink) {
    let help = match &why {
        SelectedError::Sql(e) => {
            let place = place(e, text, &span, source).unwrap_or(span);
            let d = Diagnostic::at(place, format!("`sql`: {}", e.message)).label("in this query");
            return sink.push(d.help(e.help.clone()));
        }
        SelectedError::NotLinear(_) => {
            "ask for what it is made of: `SELECT COUNT(*), SUM(…)`; shares and means of these are answered all the same"
        }
        SelectedError::Limit => "leave it out",
        SelectedError::Nothing => "every weight in it is zero: leave it out",
        SelectedError::Sets => "GROUP BY dimensions or levels",
        SelectedError::TooIntricate => "group by coarser levels, or ask several simpler queries",
    };
    sink.push(Diagnostic::at(span, format!("`sql`: {why}")).label("in this query").help(help.to_owned()));
}

/// Where in the spec a place of the query is; `None` where the spec writes the query otherwise than it reads.
fn place(e: &SqlError, text: &str, span: &Range<usize>, source: &str) -> Option<Range<usize>> {
    let at = e.place?;
    let inside = source.get(span.clone())?.find(text)?;
    let line: usize = text.split('\n').take(at.line.checked_sub(1)?).map(|l| l.len() + 1).sum();
    let rest = text.get(line..)?;
    let byte = |chars: usize| rest.char_indices().nth(chars).map_or(rest.len(), |(i, _)| i);
    let (from, to) = (byte(at.column.checked_sub(1)?), byte(at.column - 1 + at.width));
    let start = span.start + inside + line;
    Some(start + from..start + to.max(from + 1))
}
