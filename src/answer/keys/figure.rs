//! The figures of a SELECT over a projection: counts, sums of numbers that depend on the key, totals over all rows, and shares in these.

use super::ask::Chosen;
use super::{QueryError, Questions};
use crate::projection::answer::{Answer, Estimator, Projected};
use crate::projection::weighted::Weighed;
use crate::sql::SqlError;
use sqlparser::ast::{
    self, BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
    Spanned, WindowType,
};

const POSSIBLE: &str = "possible are COUNT(*), SUM(CASE …), SUM(COUNT(*)) OVER () and shares of it";

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
    Answer {
        estimate: a.estimate * by,
        std_error: a.std_error * by.abs(),
        low: low * by,
        high: high * by,
        noise: a.noise * by.abs(),
        ..a
    }
}

impl Questions {
    /// What a column of SELECT asks for.
    pub(super) fn figure(&self, expr: &Expr) -> Result<Figure, QueryError> {
        match expr {
            Expr::Nested(inner) => self.figure(inner),
            Expr::BinaryOp { left, op: BinaryOperator::Multiply, right } => {
                let (number, other) = match (number(left), number(right)) {
                    (Some(n), _) => (n, right),
                    (None, Some(n)) => (n, left),
                    (None, None) => return Err(no(expr)),
                };
                let figure = self.figure(other)?;
                Ok(Figure { factor: figure.factor * number, ..figure })
            }
            Expr::BinaryOp { left, op: BinaryOperator::Divide, right } => {
                let (part, whole) = (self.figure(left)?, self.figure(right)?);
                if part.whole.is_some() || whole.whole.is_some() || whole.factor == 0.0 || !whole.sum.total {
                    return Err(SqlError::new("a share is of a total over all rows")
                        .at(right.span())
                        .help("write … / SUM(COUNT(*)) OVER ()")
                        .into());
                }
                Ok(Figure { factor: part.factor / whole.factor, sum: part.sum, whole: Some(whole.sum) })
            }
            Expr::Function(f) => {
                let list = called(f).ok_or_else(|| no(expr))?;
                let total = f.over.is_some();
                let weights = match (&f.over, &list.args[..]) {
                    (None, _) => self.weights(f, expr)?,
                    (
                        Some(WindowType::WindowSpec(spec)),
                        [FunctionArg::Unnamed(FunctionArgExpr::Expr(inner @ Expr::Function(of)))],
                    ) if name(f) == "sum"
                        && of.over.is_none()
                        && *spec
                            == ast::WindowSpec {
                                window_name: None,
                                partition_by: Vec::new(),
                                order_by: Vec::new(),
                                window_frame: None,
                            } =>
                    {
                        self.weights(of, inner)?
                    }
                    _ => return Err(no(expr)),
                };
                Ok(Figure { factor: 1.0, sum: Sum { weights, total }, whole: None })
            }
            _ => Err(no(expr)),
        }
    }

    /// How much each cell counts in COUNT(*) or SUM of something.
    fn weights(&self, f: &ast::Function, expr: &Expr) -> Result<Weights, QueryError> {
        let list = called(f).ok_or_else(|| no(expr))?;
        match (name(f).as_str(), &list.args[..]) {
            ("count", [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]) => {
                Ok(Weights { cases: Vec::new(), otherwise: 1.0 })
            }
            ("sum", [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))]) => self.argument(argument),
            _ => Err(no(expr)),
        }
    }

    fn argument(&self, expr: &Expr) -> Result<Weights, QueryError> {
        let value = |expr: &Expr| number(expr).ok_or_else(|| no(expr));
        match expr {
            Expr::Nested(inner) => self.argument(inner),
            Expr::Case { operand: None, conditions, else_result, .. } => {
                let mut cases = Vec::with_capacity(conditions.len());
                for when in conditions {
                    let mut chosen = Chosen::new();
                    self.condition(&when.condition, &mut chosen)?;
                    let mut parts: Vec<(usize, Vec<u64>)> = chosen
                        .into_iter()
                        .map(|(part, list)| (part, list.into_iter().map(|l| l.1).collect()))
                        .collect();
                    parts.sort_by_key(|p| p.0);
                    cases.push((parts, value(&when.result)?));
                }
                let otherwise = else_result.as_deref().map_or(Ok(0.0), value)?;
                Ok(Weights { cases, otherwise })
            }
            _ => Ok(Weights { cases: Vec::new(), otherwise: value(expr)? }),
        }
    }
}

fn no(expr: &Expr) -> QueryError {
    SqlError::new(format!("a projection cannot be asked for {expr}")).at(expr.span()).help(POSSIBLE).into()
}

fn name(f: &ast::Function) -> String {
    f.name.to_string().to_ascii_lowercase()
}

/// A plain call, with or without OVER.
fn called(f: &ast::Function) -> Option<&FunctionArgumentList> {
    match f {
        ast::Function {
            name: _,
            uses_odbc_syntax: false,
            parameters: FunctionArguments::None,
            args: FunctionArguments::List(list),
            within_group,
            filter: None,
            null_treatment: None,
            over: _,
        } if within_group.is_empty() && list.clauses.is_empty() && list.duplicate_treatment.is_none() => {
            Some(list)
        }
        _ => None,
    }
}

/// A literal number.
fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Nested(inner) => number(inner),
        Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } => Some(-number(expr)?),
        Expr::Value(v) => match &v.value {
            ast::Value::Number(text, _) => text.parse().ok().filter(|v: &f64| v.is_finite()),
            _ => None,
        },
        _ => None,
    }
}
