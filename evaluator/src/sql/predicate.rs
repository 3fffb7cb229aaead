//! From a condition to the cells that satisfy it.

use super::compare;
use super::dates;
use super::error::SqlError;
use super::like;
use super::literal::{Comparison, Literal, Order, literal};
use super::names::{Column, Names, list, quoted};
use super::tree::{Expr, Node, Operator, Unary};
use super::truth::Truth;
use crate::cube::{Filter, Number};
use std::collections::HashMap;

impl Names<'_> {
    /// The cells that satisfy a condition, and those of which nobody knows. NOT is the exact complement over all categories:
    /// `NOT (age < 18)` includes a category of missing ages, because missing is a category here and not SQL's NULL.
    pub(super) fn truth(&self, expr: &Expr) -> Result<Truth, SqlError> {
        match &expr.node {
            Node::Nested(inner) => self.truth(inner),
            Node::Boolean(true) => Ok(Truth::certain(Filter::everything())),
            Node::Boolean(false) => Ok(Truth::certain(Filter::constant(0.0))),
            Node::Unary(Unary::Not, inner) => Ok(self.truth(inner)?.not()),
            Node::Binary(_, op @ (Operator::And | Operator::Or), _) => self.chain(expr, *op),
            Node::Binary(left, op, right) => self.comparison(left, *op, right, expr),
            Node::Between { expr: column, negated, low, high } => {
                if let Some(dated) = self.dated(column) {
                    return Ok(negate(dated?.between(self, low, high)?, *negated));
                }
                let column = self.operand(column)?;
                self.listed(column)?;
                let (lo, hi) = (self.value(low)?, self.value(high)?);
                if let (Literal::Number(a, _), Literal::Number(b, _)) = (&lo, &hi)
                    && a > b
                {
                    return Err(SqlError::new("nothing lies between a larger and a smaller number")
                        .at(low.span().to(high.span()))
                        .help("write the smaller number first"));
                }
                let from = compare::ordered(self, column, Order::GreaterEqual, &lo, low.span())?;
                let to = compare::ordered(self, column, Order::LessEqual, &hi, high.span())?;
                let both = from.iter().zip(&to).map(|(a, b)| *a && *b).collect();
                Ok(negate(self.ordered(column, both)?, *negated))
            }
            Node::In { expr: column, list, negated } => {
                if let Some(dated) = self.dated(column) {
                    return Ok(negate(dated?.among(self, list)?, *negated));
                }
                let column = self.operand(column)?;
                let labels = &self.level(column).labels;
                let by_label: HashMap<&str, usize> = (labels.iter().enumerate().rev())
                    .filter(|(_, label)| self.is_named(column, label))
                    .map(|(node, label)| (label.as_str(), node))
                    .collect();
                let mut members = vec![false; labels.len()];
                for item in list {
                    let value = self.value(item)?;
                    let node = match &value {
                        Literal::Text(text) | Literal::Number(_, text) => by_label.get(text.as_str()),
                        _ => None,
                    };
                    match node {
                        Some(&node) => members[node] = true,
                        None => {
                            let equal = compare::equal(self, column, &value, item.span())?;
                            members.iter_mut().zip(equal).for_each(|(m, e)| *m |= e);
                        }
                    }
                }
                Ok(negate(Truth::certain(self.finest(column, members)), *negated))
            }
            Node::Like { expr: column, negated, any_case, pattern } => {
                let column = self.operand(column)?;
                self.listed(column)?;
                let Literal::Text(text) = self.value(pattern)? else {
                    return Err(
                        SqlError::new("LIKE compares with a text in single quotes").at(pattern.span())
                    );
                };
                let like = |all: &[String]| -> Vec<bool> {
                    let matches =
                        |one: &String| self.is_named(column, one) && like::matches(&text, one, *any_case);
                    all.iter().map(matches).collect()
                };
                let mut members = like(&self.level(column).labels);
                // As with =, labels count where no code is meant.
                if let (Some(labels), false) = (self.labels(column), members.contains(&true)) {
                    members = like(labels);
                }
                Ok(negate(Truth::certain(self.finest(column, members)), *negated))
            }
            Node::IsNull { expr: inner, negated } => {
                let column = self.operand(inner)?;
                let present =
                    self.present(column).ok_or_else(|| compare::null(self, column).at(inner.span()))?;
                Ok(negate(Truth::certain(present), !negated))
            }
            _ => Err(self.no_condition(expr)),
        }
    }

    /// `a AND b AND c`, which the syntax tree nests to the left: walked in a loop, not by recursion.
    fn chain(&self, expr: &Expr, chained: Operator) -> Result<Truth, SqlError> {
        let mut terms = Vec::new();
        let mut rest = expr;
        while let Node::Binary(left, op, right) = &rest.node
            && *op == chained
        {
            terms.push(&**right);
            rest = left;
        }
        let mut all = self.truth(rest)?;
        for term in terms.into_iter().rev() {
            let next = self.truth(term)?;
            all = match chained {
                Operator::And => all.and(&next),
                _ => all.or(&next),
            }
            .map_err(|e| SqlError::from(e).at(term.span()))?;
        }
        Ok(all)
    }

    fn comparison(&self, left: &Expr, op: Operator, right: &Expr, whole: &Expr) -> Result<Truth, SqlError> {
        if let Some(how) = Comparison::new(op) {
            for (of, with, how) in [(left, right, how), (right, left, how.mirrored())] {
                if let Some(dated) = self.dated(of) {
                    return dated?.compared(self, how, with);
                }
            }
        }
        let order = match op {
            Operator::Lt => Some(Order::Less),
            Operator::LtEq => Some(Order::LessEqual),
            Operator::Gt => Some(Order::Greater),
            Operator::GtEq => Some(Order::GreaterEqual),
            Operator::Eq | Operator::NotEq => None,
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
            self.listed(column)?;
            return self.ordered(column, compare::ordered(self, column, order, &literal, value.span())?);
        }
        let members = compare::equal(self, column, &literal, value.span())?;
        Ok(negate(Truth::certain(self.finest(column, members)), op == Operator::NotEq))
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
        let error = match (&expr.node, self.column(expr)) {
            (_, Some(Ok(_))) => SqlError::new("two columns cannot be compared with each other")
                .help("compare each with numbers or labels, and combine with AND and OR"),
            (Node::Name(name), _) if name.len() == 1 => {
                let name = super::names::join(name);
                SqlError::new(format!("{} is a name, not a value", quoted(&name)))
                    .help(format!("text is written in single quotes: '{}'", name.replace('\'', "''")))
            }
            _ => SqlError::new(format!("{} is not a value to compare with", named(expr)))
                .help("write a number or a label in single quotes"),
        };
        Err(error.at(expr.span()))
    }

    /// The cells that have a value, where the file says which category stands for none: that of the finest level, whatever level is asked.
    pub(super) fn present(&self, column: Column) -> Option<Filter> {
        let dimension = self.cube.dimensions.get(column.dim)?;
        dimension.present().map(|present| Filter::nodes(column.dim, &present))
    }

    /// The nodes that have neither a number nor a day.
    pub(super) fn incomparable(&self, column: Column) -> Vec<bool> {
        let level = self.level(column);
        let numberless = || (0..level.len()).map(|node| level.number(node) == Number::Unknown).collect();
        dates::dayless(self, column).unwrap_or_else(numberless)
    }

    /// The nodes whose numbers or days meet a comparison; of those without nobody knows.
    pub(super) fn ordered(&self, column: Column, members: Vec<bool>) -> Result<Truth, SqlError> {
        let unknown = self.incomparable(column);
        Ok(Truth::compared(column, self.finest(column, members), self.finest(column, unknown))?)
    }

    /// Nodes of any level as a condition on the finest ones.
    pub(super) fn finest(&self, column: Column, members: Vec<bool>) -> Filter {
        Filter::nodes(column.dim, &self.cube.dimensions[column.dim].down(column.level, &members))
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
fn constant(a: &Literal, op: Operator, b: &Literal) -> Option<Filter> {
    let (Literal::Number(a, _), Literal::Number(b, _)) = (a, b) else { return None };
    let holds = match op {
        Operator::Eq => a == b,
        Operator::NotEq => a != b,
        Operator::Lt => a < b,
        Operator::LtEq => a <= b,
        Operator::Gt => a > b,
        Operator::GtEq => a >= b,
        _ => return None,
    };
    Some(Filter::constant(f64::from(u8::from(holds))))
}

/// What an expression is called in an error.
pub(super) fn named(expr: &Expr) -> String {
    match &expr.node {
        Node::Nested(inner) => named(inner),
        Node::Function(function) => format!("the function {}", function.name),
        Node::Case { .. } => "CASE".into(),
        Node::Binary(_, op, _) => format!("an expression with {op}"),
        Node::Unary(op, _) => format!("an expression with {op}"),
        Node::Name(parts) => quoted(&super::names::join(parts)),
        Node::Number(_) | Node::Text(_) | Node::Boolean(_) | Node::Null => expr.to_string(),
        Node::Foreign(what) => (*what).into(),
        Node::Between { .. } | Node::In { .. } | Node::Like { .. } | Node::IsNull { .. } => {
            "this expression".into()
        }
    }
}
