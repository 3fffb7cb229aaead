//! Which nodes of a level satisfy a comparison with a literal.
//!
//! A node stands for numbers (`Categories::bounds`). It satisfies a comparison when all its numbers do and
//! fails when none does; a node that is cut through has no answer and the query is refused, naming it. A
//! node without numbers (a missing value) satisfies no comparison but `=`, `<>` and `IN` with its label.

use super::dates;
use super::error::SqlError;
use super::literal::{Literal, Order, number};
use super::names::{Column, Names, did_you_mean, list};
use super::span::Span;
use crate::cube::{Bounds, Categories};

/// The nodes equal to a literal: by label, else by number.
pub(super) fn equal(
    names: &Names,
    column: Column,
    value: &Literal,
    span: Span,
) -> Result<Vec<bool>, SqlError> {
    let level = names.level(column);
    let one = |node: usize| (0..level.len()).map(|n| n == node).collect();
    let (text, value) = match value {
        Literal::Text(text) => (text.clone(), number(text)),
        Literal::Number(value, text) => (text.clone(), Some(*value)),
        Literal::Boolean(value) => {
            let text = value.to_string();
            match level.labels.iter().position(|l| l.eq_ignore_ascii_case(&text)) {
                Some(node) => return Ok(one(node)),
                None => (text, None),
            }
        }
        Literal::Null => return Err(null(names, column).at(span)),
    };
    if let Some(node) = level.node(&text).filter(|_| names.is_named(column, &text)) {
        return Ok(one(node));
    }
    if let Some(value) = value {
        let members = by_number(
            names,
            column,
            |b| {
                let inside = b.lo <= value && (value < b.hi || (value == b.hi && (b.closed || b.lo == b.hi)));
                if !inside { Some(false) } else { (b.lo == b.hi).then_some(true) }
            },
            value,
            span,
        )?;
        if members.contains(&true) {
            return Ok(members);
        }
        // Codes such as 01 and 1.0 are numbers too, when only one label can be meant.
        let same: Vec<usize> =
            (0..level.len()).filter(|&n| number(&level.labels[n]) == Some(value)).collect();
        match same[..] {
            [] => {}
            [node] => return Ok(one(node)),
            _ => {
                let labels: Vec<String> = same.iter().map(|&n| format!("'{}'", level.labels[n])).collect();
                return Err(SqlError::new(format!("{text} could be {}", labels.join(" or ")))
                    .at(span)
                    .help("write the label in single quotes"));
            }
        }
    }
    if let Some(node) = labelled(names, column, &text, span)? {
        return Ok(one(node));
    }
    let help = match covered(level) {
        Some((lo, hi)) if value.is_some() => format!("{} covers {lo} to {hi}", names.name(column)),
        _ => {
            let labels = names.labels(column).unwrap_or_default().iter().chain(&level.labels);
            let known: Vec<String> = labels.filter(|label| !label.is_empty()).cloned().collect();
            did_you_mean(&text, &known, "its labels")
        }
    };
    Err(SqlError::new(format!("{} has no category '{text}'", names.name(column))).at(span).help(help))
}

/// The one node that people call so, where its text is no code.
fn labelled(names: &Names, column: Column, text: &str, span: Span) -> Result<Option<usize>, SqlError> {
    let labels = names.labels(column).unwrap_or_default();
    let same: Vec<usize> = (0..labels.len()).filter(|&n| labels[n] == text).collect();
    match same[..] {
        [] => Ok(None),
        [node] => Ok(Some(node)),
        _ => {
            let codes = &names.level(column).labels;
            let codes: Vec<String> = same.iter().map(|&n| format!("'{}'", codes[n])).collect();
            Err(SqlError::new(format!("'{text}' is the label of several codes: {}", list(&codes)))
                .at(span)
                .help("write the code, or name all of them with IN"))
        }
    }
}

/// The nodes all of whose numbers compare as asked.
pub(super) fn ordered(
    names: &Names,
    column: Column,
    order: Order,
    value: &Literal,
    span: Span,
) -> Result<Vec<bool>, SqlError> {
    let level = names.level(column);
    let name = names.name(column);
    if let Some(answer) = dates::ordered(names, column, order, value, span) {
        return answer;
    }
    if level.bounds.iter().all(Option::is_none) {
        return Err(SqlError::new(format!("{name} has no order"))
            .at(column.span)
            .help("use = or IN with its labels"));
    }
    let value = match value {
        Literal::Number(value, _) => *value,
        Literal::Null => return Err(null(names, column).at(span)),
        Literal::Text(text) => number(text).ok_or_else(|| {
            SqlError::new(format!("'{text}' is not a number"))
                .at(span)
                .help(format!("compare {name} with a number, or use = or IN with its labels"))
        })?,
        Literal::Boolean(_) => return Err(SqlError::new("this is not a number").at(span)),
    };
    let below = |b: &Bounds| {
        if b.hi < value || (b.hi == value && !b.closed && b.lo < b.hi) {
            Some(true)
        } else if b.lo >= value {
            Some(false)
        } else {
            None
        }
    };
    let at_most = |b: &Bounds| {
        if b.hi <= value {
            Some(true)
        } else if b.lo > value {
            Some(false)
        } else {
            None
        }
    };
    match order {
        Order::Less => by_number(names, column, below, value, span),
        Order::LessEqual => by_number(names, column, at_most, value, span),
        Order::Greater => by_number(names, column, |b| at_most(b).map(|yes| !yes), value, span),
        Order::GreaterEqual => by_number(names, column, |b| below(b).map(|yes| !yes), value, span),
    }
}

/// The nodes whose numbers satisfy `test`; `test` says `None` of a node that is cut through.
fn by_number(
    names: &Names,
    column: Column,
    test: impl Fn(&Bounds) -> Option<bool>,
    value: f64,
    span: Span,
) -> Result<Vec<bool>, SqlError> {
    let level = names.level(column);
    (0..level.len())
        .map(|node| match level.bounds.get(node) {
            Some(Some(bounds)) => test(bounds).ok_or_else(|| {
                let dimension = &names.cube.dimensions[column.dim];
                let elsewhere = match column.level == dimension.finest() {
                    true => String::new(),
                    false => format!("compare at {}, or ", dimension.name),
                };
                let end = if bounds.closed { "to" } else { "up to, but without," };
                SqlError::new(format!("{} {} lies across {value}", names.name(column), level.labels[node]))
                    .at(span)
                    .help(format!(
                        "{elsewhere}use its edges: it stands for {} {end} {}",
                        bounds.lo, bounds.hi
                    ))
            }),
            _ => Ok(false),
        })
        .collect()
}

/// The smallest and the largest number of a level.
fn covered(level: &Categories) -> Option<(f64, f64)> {
    let lo = level.bounds.iter().flatten().map(|b| b.lo).reduce(f64::min)?;
    let hi = level.bounds.iter().flatten().map(|b| b.hi).reduce(f64::max)?;
    Some((lo, hi))
}

/// Missing values are categories of their own, so there is no NULL to compare with.
pub(super) fn null(names: &Names, column: Column) -> SqlError {
    let level = names.level(column);
    let name = super::names::quoted(&names.name(column));
    if names.present(column).is_some() {
        return SqlError::new("nothing equals NULL").help(format!("write {name} IS NULL"));
    }
    let without_number = match level.bounds.iter().any(Option::is_some) {
        true => level.bounds.iter().position(Option::is_none),
        false => level.labels.iter().position(|l| {
            ["missing", "unknown", "null", "na", "n/a", "none", "?"].contains(&l.to_lowercase().as_str())
        }),
    };
    let help = match without_number.and_then(|node| level.labels.get(node)) {
        Some(label) => format!("compare with its label: {name} = '{label}'"),
        None => {
            let named: Vec<String> = level.labels.iter().filter(|label| !label.is_empty()).cloned().collect();
            format!("compare with a label; {name} has: {}", list(&named))
        }
    };
    SqlError::new("there is no NULL here: a missing value is a category of its own").help(help)
}
