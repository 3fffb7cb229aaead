//! Looking through an expression, and writing it anew. Chains such as `a AND b AND c …` nest to the left, thousands deep: they are walked in
//! a loop.

use super::error::SqlError;
use super::tree::{Args, Expr, Function, Node, Order, Window};

impl Expr {
    /// What it is made of.
    fn parts(&self) -> Vec<&Expr> {
        match &self.node {
            Node::Nested(inner) | Node::Unary(_, inner) | Node::IsNull { expr: inner, .. } => vec![inner],
            Node::Binary(left, _, right) => vec![left, right],
            Node::Between { expr, low, high, .. } => vec![expr, low, high],
            Node::In { expr, list, .. } => std::iter::once(&**expr).chain(list).collect(),
            Node::Like { expr, pattern, .. } => vec![expr, pattern],
            Node::Case { operand, when, otherwise } => {
                let mut parts: Vec<&Expr> = operand.iter().chain(otherwise).map(|e| &**e).collect();
                parts.extend(when.iter().flat_map(|(condition, result)| [condition, result]));
                parts
            }
            Node::Function(function) => {
                let args = match &function.args {
                    Args::Star => &[][..],
                    Args::List(list) => list,
                };
                let (over, order) = match &function.over {
                    Some(Window::Over { partition, order, .. }) => (&partition[..], &order[..]),
                    _ => (&[][..], &[][..]),
                };
                let order = order.iter().map(|o| &o.expr);
                args.iter().chain(&function.filter).chain(over).chain(order).collect()
            }
            Node::Name(_)
            | Node::Number(_)
            | Node::Text(_)
            | Node::Boolean(_)
            | Node::Null
            | Node::Foreign(_) => Vec::new(),
        }
    }

    /// Whether this or anything inside is so.
    pub(crate) fn any(&self, is: impl Fn(&Expr) -> bool) -> bool {
        self.all().any(is)
    }

    /// This and everything inside, in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Expr> {
        let mut left = vec![self];
        std::iter::from_fn(move || {
            let expr = left.pop()?;
            left.extend(expr.parts());
            Some(expr)
        })
    }

    /// The same with parts replaced: `instead` says by what, and `None` leaves a part to be looked through.
    pub(crate) fn rewritten(
        &self,
        instead: &mut dyn FnMut(&Expr) -> Result<Option<Expr>, SqlError>,
    ) -> Result<Expr, SqlError> {
        if let Some(other) = instead(self)? {
            return Ok(other);
        }
        if !matches!(self.node, Node::Binary(..)) {
            return self.parts_rewritten(instead);
        }
        let (mut steps, mut rest) = (Vec::new(), self);
        let mut first = None;
        while let Node::Binary(left, op, right) = &rest.node {
            if !std::ptr::eq(rest, self)
                && let Some(other) = instead(rest)?
            {
                first = Some(other);
                break;
            }
            steps.push((*op, &**right, rest.span()));
            rest = left;
        }
        let mut made = match first {
            Some(made) => made,
            None => rest.rewritten(instead)?,
        };
        for (op, right, span) in steps.into_iter().rev() {
            let right = right.rewritten(instead)?;
            made = Expr::new(Node::Binary(Box::new(made), op, Box::new(right)), span);
        }
        Ok(made)
    }

    fn parts_rewritten(
        &self,
        instead: &mut dyn FnMut(&Expr) -> Result<Option<Expr>, SqlError>,
    ) -> Result<Expr, SqlError> {
        let mut one = |expr: &Expr| expr.rewritten(instead);
        let node = match &self.node {
            Node::Nested(inner) => Node::Nested(Box::new(one(inner)?)),
            Node::Unary(op, inner) => Node::Unary(*op, Box::new(one(inner)?)),
            Node::IsNull { expr, negated } => Node::IsNull { expr: Box::new(one(expr)?), negated: *negated },
            Node::Between { expr, negated, low, high } => Node::Between {
                expr: Box::new(one(expr)?),
                negated: *negated,
                low: Box::new(one(low)?),
                high: Box::new(one(high)?),
            },
            Node::In { expr, negated, list } => Node::In {
                expr: Box::new(one(expr)?),
                negated: *negated,
                list: list.iter().map(one).collect::<Result<_, _>>()?,
            },
            Node::Like { expr, negated, any_case, pattern } => Node::Like {
                expr: Box::new(one(expr)?),
                negated: *negated,
                any_case: *any_case,
                pattern: pattern.clone(),
            },
            Node::Case { operand, when, otherwise } => Node::Case {
                operand: operand.as_ref().map(|o| one(o).map(Box::new)).transpose()?,
                when: when.iter().map(|(c, r)| Ok((one(c)?, one(r)?))).collect::<Result<_, SqlError>>()?,
                otherwise: otherwise.as_ref().map(|o| one(o).map(Box::new)).transpose()?,
            },
            Node::Function(function) => Node::Function(Box::new(Function {
                name: function.name.clone(),
                duplicates: function.duplicates,
                args: match &function.args {
                    Args::Star => Args::Star,
                    Args::List(list) => Args::List(list.iter().map(&mut one).collect::<Result<_, _>>()?),
                },
                filter: function.filter.as_ref().map(&mut one).transpose()?,
                over: match &function.over {
                    Some(Window::Over { partition, order, span }) => Some(Window::Over {
                        partition: partition.iter().map(&mut one).collect::<Result<_, _>>()?,
                        order: order
                            .iter()
                            .map(|o| Ok(Order { expr: one(&o.expr)?, descending: o.descending }))
                            .collect::<Result<_, SqlError>>()?,
                        span: *span,
                    }),
                    other => other.clone(),
                },
            })),
            other => other.clone(),
        };
        Ok(Expr::new(node, self.span()))
    }
}
