//! From a condition to the cells that satisfy it.

use super::compare::{self, Literal, Order, literal};
use super::error::SqlError;
use super::names::{Column, Names, list, quoted};
use super::truth::Truth;
use crate::cube::{Filter, Number};
use sqlparser::ast::{BinaryOperator, Expr, Function, Spanned, UnaryOperator, Value};

impl Names<'_> {
    /// The cells that satisfy a condition, and those of which nobody knows. NOT is the exact complement over all categories:
    /// `NOT (age < 18)` includes a category of missing ages, because missing is a category here and not SQL's NULL.
    pub(super) fn truth(&self, expr: &Expr) -> Result<Truth, SqlError> {
        match expr {
            Expr::Nested(inner) => self.truth(inner),
            Expr::Value(value) if matches!(value.value, Value::Boolean(_)) => {
                Ok(Truth::certain(if value.value == Value::Boolean(true) {
                    Filter::everything()
                } else {
                    Filter::constant(0.0)
                }))
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => Ok(self.truth(expr)?.not()),
            Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } => {
                self.chain(expr, op)
            }
            Expr::BinaryOp { left, op, right } => self.comparison(left, op, right, expr),
            Expr::Between { expr: column, negated, low, high } => {
                let column = self.operand(column)?;
                let (lo, hi) = (self.value(low)?, self.value(high)?);
                if let (Literal::Number(a, _), Literal::Number(b, _)) = (&lo, &hi)
                    && a > b
                {
                    return Err(SqlError::new("nothing lies between a larger and a smaller number")
                        .at(low.span().union(&high.span()))
                        .help("write the smaller number first"));
                }
                let from = compare::ordered(self, column, Order::GreaterEqual, &lo, low.span())?;
                let to = compare::ordered(self, column, Order::LessEqual, &hi, high.span())?;
                let both = from.iter().zip(&to).map(|(a, b)| *a && *b).collect();
                Ok(negate(self.ordered(column, both)?, *negated))
            }
            Expr::InList { expr: column, list, negated } => {
                let column = self.operand(column)?;
                let mut members = vec![false; self.level(column).len()];
                for item in list {
                    let equal = compare::equal(self, column, &self.value(item)?, item.span())?;
                    members.iter_mut().zip(equal).for_each(|(m, e)| *m |= e);
                }
                Ok(negate(Truth::certain(self.finest(column, members)), *negated))
            }
            Expr::IsNull(inner) | Expr::IsNotNull(inner) => {
                let column = self.operand(inner)?;
                Err(compare::null(self, column).at(inner.span()))
            }
            _ => Err(self.no_condition(expr)),
        }
    }

    /// `a AND b AND c`, which the syntax tree nests to the left: walked in a loop, not by recursion.
    fn chain(&self, expr: &Expr, chained: &BinaryOperator) -> Result<Truth, SqlError> {
        let mut terms = Vec::new();
        let mut rest = expr;
        while let Expr::BinaryOp { left, op, right } = rest
            && op == chained
        {
            terms.push(&**right);
            rest = left;
        }
        let mut all = self.truth(rest)?;
        for term in terms.into_iter().rev() {
            let next = self.truth(term)?;
            all = match chained {
                BinaryOperator::And => all.and(&next),
                _ => all.or(&next),
            }
            .map_err(|e| SqlError::from(e).at(term.span()))?;
        }
        Ok(all)
    }

    fn comparison(
        &self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
        whole: &Expr,
    ) -> Result<Truth, SqlError> {
        let order = match op {
            BinaryOperator::Lt => Some(Order::Less),
            BinaryOperator::LtEq => Some(Order::LessEqual),
            BinaryOperator::Gt => Some(Order::Greater),
            BinaryOperator::GtEq => Some(Order::GreaterEqual),
            BinaryOperator::Eq | BinaryOperator::NotEq => None,
            _ => return Err(self.no_condition(whole)),
        };
        let (column, value, order) = match (literal(left), literal(right)) {
            (Some(a), Some(b)) => {
                let known = constant(&a, op, &b).map(Truth::certain);
                return known.ok_or_else(|| self.no_condition(whole));
            }
            (Some(_), None) => (right, left, order.map(Order::mirrored)),
            (None, _) => (left, right, order),
        };
        let column = self.operand(column)?;
        let literal = self.value(value)?;
        if let Some(order) = order {
            return self.ordered(column, compare::ordered(self, column, order, &literal, value.span())?);
        }
        let members = compare::equal(self, column, &literal, value.span())?;
        Ok(negate(Truth::certain(self.finest(column, members)), *op == BinaryOperator::NotEq))
    }

    /// The column side of a comparison.
    fn operand(&self, expr: &Expr) -> Result<Column, SqlError> {
        self.column(expr).unwrap_or_else(|| {
            Err(SqlError::new(format!("{} cannot be compared", named(expr)))
                .at(expr.span())
                .help("compare a dimension or a level with numbers or labels"))
        })
    }

    /// The literal side of a comparison.
    fn value(&self, expr: &Expr) -> Result<Literal, SqlError> {
        if let Some(value) = literal(expr) {
            return Ok(value);
        }
        let error = match (expr, self.column(expr)) {
            (_, Some(Ok(_))) => SqlError::new("two columns cannot be compared with each other")
                .help("compare each with numbers or labels, and combine with AND and OR"),
            (Expr::Identifier(name), _) => {
                SqlError::new(format!("{} is a name, not a value", quoted(&name.value)))
                    .help(format!("text is written in single quotes: '{}'", name.value.replace('\'', "''")))
            }
            _ => SqlError::new(format!("{} is not a value to compare with", named(expr)))
                .help("write a number or a label in single quotes"),
        };
        Err(error.at(expr.span()))
    }

    /// The nodes whose numbers meet a comparison; of those without numbers nobody knows.
    fn ordered(&self, column: Column, members: Vec<bool>) -> Result<Truth, SqlError> {
        let level = self.level(column);
        let unknown = (0..level.len()).map(|node| level.number(node) == Number::Unknown).collect();
        Ok(Truth::compared(column, self.finest(column, members), self.finest(column, unknown))?)
    }

    /// Nodes of any level as a condition on the finest ones.
    fn finest(&self, column: Column, members: Vec<bool>) -> Filter {
        let dimension = &self.cube.dimensions[column.dim];
        let up = dimension.ancestors(dimension.finest(), column.level);
        let members: Vec<bool> = up.iter().map(|&node| members.get(node as usize) == Some(&true)).collect();
        Filter::nodes(column.dim, &members)
    }

    fn no_condition(&self, expr: &Expr) -> SqlError {
        let help = match self.column(expr) {
            Some(Err(error)) => return error,
            Some(Ok(column)) => {
                format!("compare it with a label: {}", list(&self.level(column).labels))
            }
            None => "possible are = <> < <= > >= BETWEEN, IN, NOT, AND, OR on dimensions and levels".into(),
        };
        SqlError::new(format!("{} is not a condition a release can answer", named(expr)))
            .at(expr.span())
            .help(help)
    }
}

fn negate(truth: Truth, negated: bool) -> Truth {
    if negated { truth.not() } else { truth }
}

/// `1 = 1`, which programs that write SQL like to begin with.
fn constant(a: &Literal, op: &BinaryOperator, b: &Literal) -> Option<Filter> {
    let (Literal::Number(a, _), Literal::Number(b, _)) = (a, b) else { return None };
    let holds = match op {
        BinaryOperator::Eq => a == b,
        BinaryOperator::NotEq => a != b,
        BinaryOperator::Lt => a < b,
        BinaryOperator::LtEq => a <= b,
        BinaryOperator::Gt => a > b,
        BinaryOperator::GtEq => a >= b,
        _ => return None,
    };
    Some(Filter::constant(f64::from(u8::from(holds))))
}

/// What an expression is called in an error.
pub(super) fn named(expr: &Expr) -> String {
    match expr {
        Expr::Nested(inner) => named(inner),
        Expr::Function(Function { name, .. }) => format!("the function {name}"),
        Expr::Like { .. } => "LIKE".into(),
        Expr::ILike { .. } => "ILIKE".into(),
        Expr::SimilarTo { .. } => "SIMILAR TO".into(),
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => "a sub-query".into(),
        Expr::Case { .. } => "CASE".into(),
        Expr::Cast { .. } => "a cast".into(),
        Expr::BinaryOp { op, .. } => format!("an expression with {op}"),
        Expr::UnaryOp { op, .. } => format!("an expression with {op}"),
        Expr::Identifier(name) => quoted(&name.value),
        Expr::CompoundIdentifier(parts) => quoted(&super::names::join(parts)),
        Expr::Value(value) => format!("{value}"),
        Expr::IsTrue(_) | Expr::IsFalse(_) | Expr::IsNotTrue(_) | Expr::IsNotFalse(_) => {
            "IS TRUE or IS FALSE".into()
        }
        Expr::AnyOp { .. } | Expr::AllOp { .. } => "ANY or ALL".into(),
        _ => "this expression".into(),
    }
}
