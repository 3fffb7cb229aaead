//! `[asked]`: questions that are measured themselves, each figure with noise of its own, instead of tables.
//!
//! It is what `margins ask` writes when what is out does not answer a question well enough; an agency may write it, too. Every figure
//! of every question becomes a row over the cells that the questions tell apart, and all rows get the same noise: questions
//! about disjoint cells cost what one of them does.

use super::diagnostic::{Diagnostic, Sink};
use super::keys::{Keys, Shape, required};
use super::read::{self, Fields, Value};
use crate::answer::linear;
use crate::cube::Cube;
use crate::plan::Rows;
use crate::sql::{Query, quote_names};

/// The keys of `[asked]`.
pub(super) const KEYS: Keys = Keys {
    what: "Instead of tables: questions to measure, each figure with its own noise.",
    keys: &[required(
        "queries",
        Shape::List(&Shape::Text),
        "a list of SELECTs whose figures are sums of counts with whole factors: at most 512 figures each, which tell at most 2²⁰ cells \
         apart",
    )],
    one_of: &[],
    rules: "{}",
};

/// Reads the questions.
pub(super) fn read(value: &Value<'_>, cube: &Cube, sink: &mut Sink) -> Option<Rows> {
    let fields = Fields::open(value, "`[asked]`", &KEYS, sink)?;
    let example = "`queries = [\"SELECT COUNT(*) FROM release WHERE age < 18\"]`";
    let list = fields.require("queries", example, sink)?;
    let before = sink.count();
    let mut filters = Vec::new();
    for item in read::list(list, "`queries`", sink)?.iter() {
        let Some(sql) = read::text(item, "a question", sink) else { continue };
        let names: Vec<&str> = cube.dimensions.iter().map(|d| d.name.as_str()).collect();
        let figures = Query::parse(&quote_names(sql, &names), cube)
            .map_err(|e| e.to_string())
            .and_then(|q| linear::figures(&q, cube).map_err(|e| e.to_string()));
        match figures {
            Ok(figures) => filters.extend(figures.into_iter().map(|f| f.filter)),
            Err(why) => {
                let first = why.lines().next().unwrap_or_default().to_owned();
                sink.push(Diagnostic::at(item.span(), format!("a question: {first}")).label("this one"));
            }
        }
    }
    let rows = match Rows::of(&filters.iter().collect::<Vec<_>>(), cube) {
        _ if sink.count() > before => return None,
        Ok(rows) => rows,
        Err(why) => {
            sink.push(Diagnostic::at(list.span(), why.to_string()).label("these questions"));
            return None;
        }
    };
    if rows.rows.is_empty() {
        sink.push(Diagnostic::at(list.span(), "`queries` asks for no figure").label("expected at least one"));
        return None;
    }
    Some(rows)
}
