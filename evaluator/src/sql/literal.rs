//! What a literal of a query says, and how it is compared.

use super::tree::{Expr, Node, Operator, Unary};

/// A literal of a query.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Text(String),
    /// A number, and how it was written.
    Number(f64, String),
    Boolean(bool),
    Null,
}

/// `<` and its relatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Order {
    /// The same comparison with its sides exchanged.
    pub(crate) fn mirrored(self) -> Order {
        match self {
            Order::Less => Order::Greater,
            Order::LessEqual => Order::GreaterEqual,
            Order::Greater => Order::Less,
            Order::GreaterEqual => Order::LessEqual,
        }
    }
}

/// `<`, its relatives, `=` and `<>`: between numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `=`
    Equal,
    /// `<>`
    Different,
}

impl Comparison {
    pub(super) fn new(op: Operator) -> Option<Comparison> {
        Some(match op {
            Operator::Lt => Comparison::Less,
            Operator::LtEq => Comparison::LessEqual,
            Operator::Gt => Comparison::Greater,
            Operator::GtEq => Comparison::GreaterEqual,
            Operator::Eq => Comparison::Equal,
            Operator::NotEq => Comparison::Different,
            _ => return None,
        })
    }

    /// With its sides exchanged.
    pub(super) fn mirrored(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessEqual => Comparison::GreaterEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterEqual => Comparison::LessEqual,
            same => same,
        }
    }

    pub(super) fn holds(self, a: f64, b: f64) -> bool {
        // NULL compares with nothing.
        if a.is_nan() {
            return false;
        }
        match self {
            Comparison::Less => a < b,
            Comparison::LessEqual => a <= b,
            Comparison::Greater => a > b,
            Comparison::GreaterEqual => a >= b,
            Comparison::Equal => a == b,
            Comparison::Different => a != b,
        }
    }
}

/// What a literal expression says; `None` for anything that is not a literal.
pub(super) fn literal(expr: &Expr) -> Option<Literal> {
    let of_number = |text: String| number(&text).map(|value| Literal::Number(value, text));
    match &expr.node {
        Node::Nested(inner) => literal(inner),
        Node::Unary(sign @ (Unary::Minus | Unary::Plus), inner) => match &inner.node {
            Node::Number(text) if *sign == Unary::Minus => of_number(format!("-{text}")),
            Node::Number(text) => of_number(text.clone()),
            _ => None,
        },
        Node::Number(text) => of_number(text.clone()),
        Node::Text(text) => Some(Literal::Text(text.clone())),
        Node::Boolean(value) => Some(Literal::Boolean(*value)),
        Node::Null => Some(Literal::Null),
        _ => None,
    }
}

/// The finite number a text writes.
pub(super) fn number(text: &str) -> Option<f64> {
    // Rust also reads "inf" and "nan", which are words here.
    let numeric = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    if numeric { text.parse().ok().filter(|v: &f64| v.is_finite()) } else { None }
}
