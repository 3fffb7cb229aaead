//! HAVING: which rows are shown, by their estimates.

use super::SelectColumn;
use super::error::SqlError;
use super::literal::{Comparison, Literal, literal};
use super::names::{list, quoted};
use super::predicate::named;
use super::tree::{Expr, Node, Operator, Unary};

/// A condition on the estimates of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Having {
    /// All hold.
    All(Vec<Having>),
    /// At least one holds.
    Any(Vec<Having>),
    /// It does not hold.
    Not(Box<Having>),
    /// The figure in this column of SELECT compares so with a number.
    Compare(usize, Comparison, f64),
}

impl Having {
    /// Whether a row with these estimates, one for each column of SELECT, is shown.
    pub(crate) fn holds(&self, estimates: &[f64]) -> bool {
        self.truth(estimates) == Some(true)
    }

    /// As SQL has it: what compares with NULL is neither true nor false, and neither is its opposite.
    fn truth(&self, estimates: &[f64]) -> Option<bool> {
        let settled = |of: &[Having], by: bool| {
            let mut truths = of.iter().map(|h| h.truth(estimates));
            match truths.clone().any(|t| t == Some(by)) {
                true => Some(by),
                false => truths.all(|t| t.is_some()).then_some(!by),
            }
        };
        match self {
            Having::All(all) => settled(all, false),
            Having::Any(any) => settled(any, true),
            Having::Not(inner) => inner.truth(estimates).map(|t| !t),
            Having::Compare(column, how, value) => {
                let estimate = estimates.get(*column).filter(|e| !e.is_nan())?;
                Some(how.holds(*estimate, *value))
            }
        }
    }

    /// Reads a condition; `column` finds the column of SELECT that an expression names.
    pub(super) fn new(
        expr: &Expr,
        columns: &[SelectColumn],
        column: &dyn Fn(&Expr) -> Option<usize>,
    ) -> Result<Having, SqlError> {
        let of = |expr: &Expr| -> Result<usize, SqlError> {
            match column(expr) {
                Some(at) if matches!(columns.get(at), Some(SelectColumn::Quantile { .. })) => {
                    Err(SqlError::new("HAVING compares counts and sums, not quantiles").at(expr.span()))
                }
                Some(at) if columns.get(at).is_some_and(|c| !c.is_label()) => Ok(at),
                Some(_) => Err(SqlError::new("HAVING compares figures")
                    .at(expr.span())
                    .help("conditions on labels belong in WHERE")),
                None => Err(SqlError::new(format!("{} is no column of SELECT", named(expr)))
                    .at(expr.span())
                    .help(format!(
                        "HAVING compares the figures that are shown with numbers: {}",
                        list(
                            &columns
                                .iter()
                                .filter(|c| !c.is_label())
                                .map(|c| quoted(c.name()))
                                .collect::<Vec<_>>()
                        )
                    ))),
            }
        };
        let number = |expr: &Expr| match literal(expr) {
            Some(Literal::Number(value, _)) => Some(value),
            _ => None,
        };
        let need = |expr: &Expr| {
            number(expr).ok_or_else(|| SqlError::new("HAVING compares with a number").at(expr.span()))
        };
        Ok(match &expr.node {
            Node::Nested(inner) => return Having::new(inner, columns, column),
            Node::Unary(Unary::Not, inner) => Having::Not(Box::new(Having::new(inner, columns, column)?)),
            Node::Binary(_, op @ (Operator::And | Operator::Or), _) => {
                // The syntax tree nests such chains to the left: walked in a loop, not by recursion.
                let (mut terms, mut rest) = (Vec::new(), expr);
                while let Node::Binary(left, same, right) = &rest.node
                    && same == op
                {
                    terms.push(Having::new(right, columns, column)?);
                    rest = left;
                }
                terms.push(Having::new(rest, columns, column)?);
                terms.reverse();
                if *op == Operator::And { Having::All(terms) } else { Having::Any(terms) }
            }
            Node::Between { expr: inner, negated, low, high } => {
                let at = of(inner)?;
                let low = Having::Compare(at, Comparison::GreaterEqual, need(low)?);
                let high = Having::Compare(at, Comparison::LessEqual, need(high)?);
                let both = Having::All(vec![low, high]);
                if *negated { Having::Not(Box::new(both)) } else { both }
            }
            Node::Binary(a, op, b) if Comparison::new(*op).is_some() => {
                let how = Comparison::new(*op).unwrap_or(Comparison::Equal);
                match (number(a), number(b)) {
                    (Some(value), None) => Having::Compare(of(b)?, how.mirrored(), value),
                    _ => Having::Compare(of(a)?, how, need(b)?),
                }
            }
            _ => {
                return Err(SqlError::new(format!("{} is not a condition on figures", named(expr)))
                    .at(expr.span())
                    .help("possible are = <> < <= > >= BETWEEN with a number, NOT, AND, OR"));
            }
        })
    }
}
