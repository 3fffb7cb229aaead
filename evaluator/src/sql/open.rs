//! Dimensions that can be any text. For one query such a dimension has the texts that the query names, and one category for all others.
//!
//! Of the others nobody can list the counts, so a query whose groups or figures count any of them is refused.

use super::clauses::Clauses;
use super::error::SqlError;
use super::literal::{Literal, literal};
use super::names::{Names, quoted};
use super::select;
use super::tree::{Expr, Item, Node, Operator};
use super::{Query, SelectColumn, syntax};
use crate::cube::{Cube, Dimension, Filter};
use std::cell::RefCell;
use std::collections::HashSet;

/// The category of the texts that a query does not name.
const OTHER: &str = "any other text";

impl Query {
    /// Reads one SELECT about dimensions some of which are `open`: they can be any text. With the query the dimensions as it knows them: the
    /// last category of an open one is that of all other texts.
    pub(crate) fn of_texts(text: &str, cube: &Cube, open: &[usize]) -> Result<(Query, Cube), SqlError> {
        let read = |clauses: Clauses| {
            let mut named = named(&clauses, cube, open);
            let mut query = select::resolve(&clauses, &named, open, &[])?;
            let by = query.order_by.iter().filter_map(|&(at, _)| match query.columns.get(at)? {
                SelectColumn::Group { level, .. } => Some(level.dimension).filter(|d| open.contains(d)),
                _ => None,
            });
            let by: Vec<usize> = by.collect();
            if !by.is_empty() {
                for d in by {
                    let dimension = &mut named.dimensions[d];
                    let mut texts = dimension.level(dimension.finest()).labels.clone();
                    // The last one is that of all others.
                    let end = texts.len().saturating_sub(1);
                    texts[..end].sort();
                    *dimension = Dimension::plain(&dimension.name.clone(), texts);
                }
                query = select::resolve(&clauses, &named, open, &[])?;
            }
            match open.iter().find(|&&d| query.counts_others(d)) {
                None => Ok((query, named)),
                Some(&d) => {
                    let name = quoted(&cube.dimensions[d].name);
                    Err(SqlError::new(format!("`{name}` can be any text: say which"))
                        .at(clauses.select)
                        .help(format!("for example: WHERE {name} IN ('…', '…')")))
                }
            }
        };
        syntax::parse(text).and_then(read).map_err(|e| e.in_text(text))
    }

    /// Whether a group or a figure is of texts that the query does not name.
    fn counts_others(&self, dimension: usize) -> bool {
        let rows = self.group_by.iter().any(|level| level.dimension == dimension)
            || self
                .columns
                .iter()
                .any(|c| matches!(c, SelectColumn::Count { .. } | SelectColumn::Quantile { .. }));
        let weighs = |filter: &Filter| match filter.classes(dimension) {
            None => !filter.is_nothing(),
            Some(classes) => {
                let last = classes.class_of.last().map(|&class| filter.weighing(classes)[class as usize]);
                last.unwrap_or(false)
            }
        };
        rows && weighs(&self.filter) || self.aggregates.iter().any(|a| weighs(&a.filter))
    }
}

/// The dimensions, the open ones with the texts that are named: those of WHERE first, in the order in which they are.
fn named(clauses: &Clauses, cube: &Cube, open: &[usize]) -> Cube {
    let names =
        Names { cube, tables: select::tables(clauses), open, quantities: &[], named: RefCell::default() };
    let mut cube = cube.clone();
    for &d in open {
        let items = clauses.items.iter().filter_map(|item| match item {
            Item::Expr { expr, .. } => Some(expr),
            Item::Star(_) => None,
        });
        let (mut texts, mut seen) = (Vec::new(), HashSet::new());
        for expr in clauses.condition.iter().chain(items).chain(&clauses.groups) {
            let mut own: Vec<(&Expr, String)> = expr.all().flat_map(|e| compared(e, d, &names)).collect();
            own.sort_by_key(|(at, _)| at.span().start);
            texts.extend(own.into_iter().map(|(_, text)| text).filter(|text| seen.insert(text.clone())));
        }
        let mut other = OTHER.to_owned();
        while seen.contains(&other) {
            other.push('…');
        }
        texts.push(other);
        cube.dimensions[d] = Dimension::plain(&cube.dimensions[d].name, texts);
    }
    cube
}

/// The texts that an expression compares a dimension with, and where they stand.
fn compared<'e>(expr: &'e Expr, dimension: usize, names: &Names) -> Vec<(&'e Expr, String)> {
    let is = |e: &Expr| matches!(names.column(e), Some(Ok(column)) if column.dim == dimension);
    let with: Vec<&Expr> = match &expr.node {
        Node::Binary(left, Operator::Eq | Operator::NotEq, right) if is(left) => vec![right],
        Node::Binary(left, Operator::Eq | Operator::NotEq, right) if is(right) => vec![left],
        Node::In { expr, list, .. } if is(expr) => list.iter().collect(),
        Node::Case { operand: Some(of), when, .. } if is(of) => when.iter().map(|w| &w.0).collect(),
        _ => Vec::new(),
    };
    let text = |e: &'e Expr| match literal(e)? {
        Literal::Text(text) | Literal::Number(_, text) => Some((e, text)),
        Literal::Boolean(_) | Literal::Null => None,
    };
    with.into_iter().filter_map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube() -> Cube {
        let labels = |all: &[&str]| all.iter().map(|l| (*l).to_owned()).collect();
        let dimensions = vec![
            Dimension::plain("code", labels(&["?"])),
            Dimension::plain("ward", labels(&["day", "night"])),
        ];
        Cube { dimensions }
    }

    fn read(sql: &str) -> Result<(Query, Cube), String> {
        Query::of_texts(sql, &cube(), &[0]).map_err(|e| e.to_string())
    }

    /// The texts of WHERE stand first, as they are written; those of CASE and FILTER follow; numbers are texts.
    #[test]
    fn a_query_knows_the_texts_that_it_names() {
        let texts = |sql: &str| read(sql).unwrap().1.dimensions[0].levels[1].labels.clone();
        let two =
            "SELECT SUM(CASE WHEN code = 'd' THEN 1 END) FROM t WHERE code IN ('b', 'a') AND ward = 'day'";
        assert_eq!(texts(two), ["b", "a", "d", OTHER]);
        assert_eq!(texts("SELECT COUNT(*) FROM t WHERE 7 = code OR t.code = -1.50"), ["7", "-1.50", OTHER]);
        assert_eq!(texts("SELECT COUNT(*) FILTER (WHERE CODE = 'x') AS n FROM t"), ["x", OTHER]);
        let cases = "SELECT CASE code WHEN 'p' THEN 1 ELSE 2 END AS g, COUNT(*) FROM t WHERE code IN ('q', 'p') GROUP BY g";
        assert_eq!(texts(cases), ["q", "p", OTHER]);
        // What is put in order by its text is in the order of texts, and not of the list.
        let ordered =
            "SELECT code, COUNT(*) FROM t WHERE code IN ('b', 'c', 'a') GROUP BY code ORDER BY code";
        assert_eq!(texts(ordered), ["a", "b", "c", OTHER]);
        // No text is the category of the others, whatever it says.
        assert_eq!(texts("SELECT COUNT(*) FROM t WHERE code = 'any other text'"), [OTHER, "any other text…"]);
    }

    #[test]
    fn other_texts_are_not_counted() {
        for sql in [
            "SELECT COUNT(*) FROM t",
            "SELECT COUNT(*) FROM t WHERE ward = 'day'",
            "SELECT COUNT(*) FROM t WHERE code <> 'a'",
            "SELECT COUNT(*) FROM t WHERE code = 'a' OR ward = 'day'",
            "SELECT code, SUM(CASE WHEN code = 'a' THEN 1 END) FROM t GROUP BY code",
            "SELECT SUM(CASE WHEN code = 'a' THEN 1 ELSE 2 END) FROM t",
            "SELECT CASE WHEN code = 'a' THEN 1 ELSE 2 END AS g, COUNT(*) FROM t GROUP BY g",
        ] {
            assert!(read(sql).unwrap_err().contains("`code` can be any text: say which"), "{sql}");
        }
        for sql in
            ["code LIKE 'a%'", "code < 'a'", "'a' <= code", "code NOT BETWEEN 1 AND 2", "code > '2024-01-01'"]
        {
            let error =
                read(&format!("SELECT COUNT(*) FROM t WHERE code = '2024-05-05' AND {sql}")).unwrap_err();
            assert!(error.contains("= and IN alone"), "{sql}: {error}");
        }
        for sql in [
            "SELECT ward, SUM(CASE WHEN code = 'a' THEN 2 END) FROM t GROUP BY ward",
            "SELECT COUNT(*) FROM t WHERE NOT (code <> 'a')",
            "SELECT code, COUNT(*) FROM t WHERE code IN ('a', 'b') AND code <> 'b' GROUP BY code",
        ] {
            assert!(read(sql).is_ok(), "{sql}");
        }
    }
}
