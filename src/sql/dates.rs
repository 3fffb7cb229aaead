//! Comparisons of days, months, quarters and years with a day, a month, a quarter or a year.
//!
//! A category stands for its days, and so does the literal: `visit.month <= '2024-Q1'` is every month up to March.

use super::compare::{Literal, Order};
use super::error::SqlError;
use super::names::{Column, Names};
use super::token::Span;
use crate::calendar;
use crate::cube::Dimension;

/// Whether a dimension is made of days: every category but those for missing and other values is one.
fn of_days(dimension: &Dimension) -> bool {
    let Some(finest) = dimension.levels.last() else { return false };
    let others = finest.labels.iter().filter(|label| calendar::read(label.as_bytes()).is_none()).count();
    others <= 2 && others < finest.len()
}

/// The nodes whose days compare as asked; `None` where the dimension has no days.
pub(super) fn ordered(
    names: &Names,
    column: Column,
    order: Order,
    value: &Literal,
    span: Span,
) -> Option<Result<Vec<bool>, SqlError>> {
    let dimension = names.cube.dimensions.get(column.dim).filter(|d| of_days(d))?;
    let level = names.level(column);
    let text = match value {
        Literal::Text(text) | Literal::Number(_, text) => text,
        Literal::Null | Literal::Boolean(_) => return None,
    };
    let name = names.name(column);
    let Some((first, last)) = calendar::span(text) else {
        let wrong = SqlError::new(format!("'{text}' is no date")).at(span);
        let help = format!(
            "compare {name} with a day, a month, a quarter or a year: '2024-01-31', '2024-01', '2024-Q1', '2024'"
        );
        return Some(Err(wrong.help(help)));
    };
    let compared = |node: usize| {
        let label = level.labels.get(node).map_or("", String::as_str);
        // Missing and other values are no days.
        let Some((begins, ends)) = calendar::span(label) else { return Ok(false) };
        let (true_, false_) = match order {
            Order::Less => (ends < first, begins >= first),
            Order::LessEqual => (ends <= last, begins > last),
            Order::Greater => (begins > last, ends <= last),
            Order::GreaterEqual => (begins >= first, ends < first),
        };
        match (true_, false_) {
            (true, _) => Ok(true),
            (_, true) => Ok(false),
            _ => {
                let what = SqlError::new(format!("{name} {label} lies across {text}")).at(span);
                Err(what.help(format!(
                    "compare at {}, or with the first or last day of a {name}",
                    dimension.name
                )))
            }
        }
    };
    Some((0..level.len()).map(compared).collect())
}
