//! The figures of a SELECT over a projection: counts, sums of numbers that depend on the key, totals over all rows, and shares in these.

use super::Questions;
use crate::answer::error::QueryError;
use crate::projection::answer::{Answer, Estimator, Projected};
use crate::projection::weighted::Weighed;
use crate::sql::SqlError;
use crate::sql::tree::{Args, Expr, Function, Node, Operator, Unary, Window};
use std::collections::HashMap;

const POSSIBLE: &str = "possible are COUNT(*), SUM(CASE …), SUM(COUNT(*)) OVER () and shares of it";

/// For each part of the key that conditions speak of the values that meet them.
pub(super) type Chosen = HashMap<usize, Vec<(String, u64)>>;

/// How much a cell counts: the number of the first case whose conditions its key meets.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Weights {
    /// For each part of the key that is named the codes that meet it.
    cases: Vec<(Vec<(usize, Vec<u64>)>, f64)>,
    otherwise: f64,
}

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    factor: f64,
    sum: Sum,
    /// What it is a share of.
    whole: Option<Sum>,
}

#[derive(Debug, Clone, PartialEq)]
struct Sum {
    weights: Weights,
    /// Over all rows of the answer, not one.
    total: bool,
}

/// A cell with its key.
pub(super) struct Keyed {
    pub cell: u64,
    pub codes: Vec<u64>,
}

impl Weights {
    fn of(&self, codes: &[u64]) -> f64 {
        let meets = |(part, list): &(usize, Vec<u64>)| codes.get(*part).is_some_and(|c| list.contains(c));
        let case = self.cases.iter().find(|(conditions, _)| conditions.iter().all(meets));
        case.map_or(self.otherwise, |c| c.1)
    }

    fn on(&self, cells: &[Keyed]) -> Vec<Weighed> {
        cells.iter().map(|c| (c.cell, self.of(&c.codes))).filter(|c| c.1 != 0.0).collect()
    }
}

impl Figure {
    /// Whether it is over all rows, or a share of what is.
    pub(super) fn needs_all(&self) -> bool {
        self.sum.total || self.whole.is_some()
    }

    /// Whether it is a plain count.
    pub(super) fn is_count(&self) -> bool {
        let plain = self.sum.weights.cases.iter().all(|c| [0.0, 1.0].contains(&c.1));
        self.whole.is_none()
            && self.factor == 1.0
            && plain
            && [0.0, 1.0].contains(&self.sum.weights.otherwise)
    }

    /// Its value for a row of these cells, `all` being those of all rows.
    pub(super) fn answer(
        &self,
        projected: &Projected,
        own: &[Keyed],
        all: &[Keyed],
        level: f64,
        estimator: Estimator,
    ) -> Answer {
        let on = |sum: &Sum| sum.weights.on(if sum.total { all } else { own });
        let part = on(&self.sum);
        let answer = match &self.whole {
            Some(whole) => projected.share(&part, &on(whole), level),
            None => match part.split_first() {
                // Cells that all count alike are a plain sum, for which a sketch has its median.
                Some((first, rest)) if rest.iter().all(|c| c.1 == first.1) => {
                    let cells: Vec<u64> = part.iter().map(|c| c.0).collect();
                    scaled(projected.answer(&cells, level, estimator), first.1)
                }
                _ => projected.weighted(&part, level),
            },
        };
        scaled(answer, self.factor)
    }

    /// How many cells an answer of it sums up, when a row has so many and all rows together so many.
    pub(super) fn cells(&self, row: u64, all: u64) -> u64 {
        if self.needs_all() { all } else { row }
    }
}

/// An answer times a number.
fn scaled(a: Answer, by: f64) -> Answer {
    if by == 1.0 {
        return a;
    }
    let (low, high) = if by < 0.0 { (a.high, a.low) } else { (a.low, a.high) };
    let mut rows: Vec<f64> = a.rows.iter().map(|row| row * by).collect();
    if by < 0.0 {
        rows.reverse();
    }
    Answer {
        estimate: a.estimate * by,
        std_error: a.std_error * by.abs(),
        low: low * by,
        high: high * by,
        noise: a.noise * by.abs(),
        law: a.law,
        rows,
    }
}

impl Questions {
    /// What a column of SELECT asks for.
    pub(super) fn figure(&self, expr: &Expr) -> Result<Figure, QueryError> {
        match &expr.node {
            Node::Nested(inner) => self.figure(inner),
            Node::Binary(left, Operator::Multiply, right) => {
                let (number, other) = match (number(left), number(right)) {
                    (Some(n), _) => (n, right),
                    (None, Some(n)) => (n, left),
                    (None, None) => return Err(no(expr)),
                };
                let figure = self.figure(other)?;
                Ok(Figure { factor: figure.factor * number, ..figure })
            }
            Node::Binary(left, Operator::Divide, right) => {
                let (part, whole) = (self.figure(left)?, self.figure(right)?);
                if part.whole.is_some() || whole.whole.is_some() || whole.factor == 0.0 || !whole.sum.total {
                    return Err(SqlError::new("a share is of a total over all rows")
                        .at(right.span())
                        .help("write … / SUM(COUNT(*)) OVER ()")
                        .into());
                }
                Ok(Figure { factor: part.factor / whole.factor, sum: part.sum, whole: Some(whole.sum) })
            }
            Node::Function(f) if is_plain(f) => {
                let weights = match (&f.over, &f.args) {
                    (None, _) => self.weights(f, expr)?,
                    (Some(Window::Over { partition, running: false }), Args::List(list))
                        if partition.is_empty() && f.name.eq_ignore_ascii_case("sum") =>
                    {
                        match &list[..] {
                            [inner @ Expr { node: Node::Function(of), .. }] if of.over.is_none() => {
                                self.weights(of, inner)?
                            }
                            _ => return Err(no(expr)),
                        }
                    }
                    _ => return Err(no(expr)),
                };
                Ok(Figure { factor: 1.0, sum: Sum { weights, total: f.over.is_some() }, whole: None })
            }
            _ => Err(no(expr)),
        }
    }

    /// How much each cell counts in COUNT(*) or SUM of something.
    fn weights(&self, f: &Function, expr: &Expr) -> Result<Weights, QueryError> {
        if !is_plain(f) {
            return Err(no(expr));
        }
        match &f.args {
            Args::Star if f.name.eq_ignore_ascii_case("count") => {
                Ok(Weights { cases: Vec::new(), otherwise: 1.0 })
            }
            Args::List(list) if f.name.eq_ignore_ascii_case("sum") => match &list[..] {
                [argument] => self.argument(argument),
                _ => Err(no(expr)),
            },
            _ => Err(no(expr)),
        }
    }

    fn argument(&self, expr: &Expr) -> Result<Weights, QueryError> {
        let value = |expr: &Expr| number(expr).ok_or_else(|| no(expr));
        match &expr.node {
            Node::Nested(inner) => self.argument(inner),
            Node::Case { operand: None, when, otherwise } => {
                let mut cases = Vec::with_capacity(when.len());
                for (condition, result) in when {
                    let mut chosen = Chosen::new();
                    self.condition(condition, &mut chosen)?;
                    let mut parts: Vec<(usize, Vec<u64>)> = chosen
                        .into_iter()
                        .map(|(part, list)| (part, list.into_iter().map(|l| l.1).collect()))
                        .collect();
                    parts.sort_by_key(|p| p.0);
                    cases.push((parts, value(result)?));
                }
                let otherwise = otherwise.as_deref().map_or(Ok(0.0), value)?;
                Ok(Weights { cases, otherwise })
            }
            _ => Ok(Weights { cases: Vec::new(), otherwise: value(expr)? }),
        }
    }
}

fn no(expr: &Expr) -> QueryError {
    SqlError::new(format!("a projection cannot be asked for {expr}")).at(expr.span()).help(POSSIBLE).into()
}

/// A call without DISTINCT and FILTER.
fn is_plain(f: &Function) -> bool {
    f.duplicates.is_none() && f.filter.is_none()
}

/// A literal number.
fn number(expr: &Expr) -> Option<f64> {
    match &expr.node {
        Node::Nested(inner) => number(inner),
        Node::Unary(Unary::Minus, inner) => Some(-number(inner)?),
        Node::Number(text) => text.parse().ok().filter(|v: &f64| v.is_finite()),
        _ => None,
    }
}
