//! What a SELECT says, before its names mean anything. Printed, it is the query in one spelling.

use super::span::Span;
use std::fmt::{self, Display, Formatter};

/// A name, or one part of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ident {
    pub value: String,
    pub quote: Option<char>,
}

/// An expression and where it stands. Two are equal when they say the same, wherever they stand.
#[derive(Debug, Clone)]
pub(crate) struct Expr {
    pub node: Node,
    span: Span,
}

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        self.node == other.node
    }
}

impl Expr {
    pub(crate) fn new(node: Node, span: Span) -> Expr {
        Expr { node, span }
    }

    /// Where it stands.
    pub(crate) fn span(&self) -> Span {
        self.span
    }
}

/// The kinds of expressions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// `age` or `age.band`.
    Name(Vec<Ident>),
    Number(String),
    Text(String),
    Boolean(bool),
    Null,
    /// In brackets.
    Nested(Box<Expr>),
    /// `-a`, `NOT a`.
    Unary(Unary, Box<Expr>),
    /// `a + b`, `a = b`, `a AND b`.
    Binary(Box<Expr>, Operator, Box<Expr>),
    Between {
        expr: Box<Expr>,
        negated: bool,
        low: Box<Expr>,
        high: Box<Expr>,
    },
    In {
        expr: Box<Expr>,
        negated: bool,
        list: Vec<Expr>,
    },
    /// `a LIKE 'x%'`; ILIKE in any capitals.
    Like {
        expr: Box<Expr>,
        negated: bool,
        any_case: bool,
        pattern: Box<Expr>,
    },
    IsNull {
        expr: Box<Expr>,
        negated: bool,
    },
    Case {
        operand: Option<Box<Expr>>,
        when: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    Function(Box<Function>),
    /// What SQL can say and a release cannot be asked, by what it is called.
    Foreign(&'static str),
}

/// `COUNT(*) FILTER (WHERE …) OVER (PARTITION BY …)`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Function {
    pub name: String,
    /// `DISTINCT` or `ALL` before the arguments.
    pub duplicates: Option<&'static str>,
    pub args: Args,
    pub filter: Option<Expr>,
    pub over: Option<Window>,
}

/// What stands in a function's brackets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Args {
    /// `*`.
    Star,
    List(Vec<Expr>),
}

/// What follows OVER.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Window {
    /// `OVER name`.
    Named(Ident),
    /// `OVER (PARTITION BY … ORDER BY … ROWS …)`.
    Over { partition: Vec<Expr>, order: Vec<Order>, span: Option<Nearby> },
}

/// `ROWS BETWEEN 6 PRECEDING AND CURRENT ROW`: from so many rows after the current one to so many; `None`: without a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Nearby {
    pub from: Option<i64>,
    pub to: Option<i64>,
}

/// What stands before an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Plus,
    Minus,
}

/// What stands between two expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Or,
    And,
    Eq,
    NotEq,
    Lt,
    LtEq,
    Gt,
    GtEq,
    Plus,
    Minus,
    Multiply,
    Divide,
    /// Operators that mean nothing to a release.
    Other(&'static str),
}

/// A column of SELECT.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// `*`.
    Star(Span),
    Expr {
        expr: Expr,
        alias: Option<Ident>,
    },
}

/// A column of ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Order {
    pub expr: Expr,
    pub descending: bool,
}

impl Display for Ident {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self.quote {
            Some(quote) => {
                write!(f, "{quote}{}{quote}", self.value.replace(quote, &format!("{quote}{quote}")))
            }
            None => f.write_str(&self.value),
        }
    }
}

impl Display for Unary {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(match self {
            Unary::Not => "NOT",
            Unary::Plus => "+",
            Unary::Minus => "-",
        })
    }
}

impl Display for Operator {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(match self {
            Operator::Or => "OR",
            Operator::And => "AND",
            Operator::Eq => "=",
            Operator::NotEq => "<>",
            Operator::Lt => "<",
            Operator::LtEq => "<=",
            Operator::Gt => ">",
            Operator::GtEq => ">=",
            Operator::Plus => "+",
            Operator::Minus => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Other(sign) => sign,
        })
    }
}

impl Display for Order {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "{}{}", self.expr, if self.descending { " DESC" } else { "" })
    }
}

impl Display for Nearby {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let end = |at: Option<i64>, open: &str| match at {
            None => format!("UNBOUNDED {open}"),
            Some(0) => "CURRENT ROW".into(),
            Some(n) if n < 0 => format!("{} PRECEDING", -n),
            Some(n) => format!("{n} FOLLOWING"),
        };
        write!(f, "ROWS BETWEEN {} AND {}", end(self.from, "PRECEDING"), end(self.to, "FOLLOWING"))
    }
}

/// Things with something between them.
fn joined(f: &mut Formatter, items: &[impl Display], between: &str) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if i == 0 { "" } else { between })?;
    }
    Ok(())
}

fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match &self.node {
            Node::Name(parts) => joined(f, parts, "."),
            Node::Number(text) => f.write_str(text),
            Node::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Node::Boolean(value) => write!(f, "{value}"),
            Node::Null => f.write_str("NULL"),
            Node::Nested(inner) => write!(f, "({inner})"),
            Node::Unary(Unary::Not, inner) => write!(f, "NOT {inner}"),
            Node::Unary(sign, inner) => write!(f, "{sign}{inner}"),
            Node::Binary(left, op, right) => write!(f, "{left} {op} {right}"),
            Node::Between { expr, negated, low, high } => {
                write!(f, "{expr} {}BETWEEN {low} AND {high}", not(*negated))
            }
            Node::In { expr, negated, list } => {
                write!(f, "{expr} {}IN (", not(*negated))?;
                joined(f, list, ", ")?;
                f.write_str(")")
            }
            Node::Like { expr, negated, any_case, pattern } => {
                write!(f, "{expr} {}{} {pattern}", not(*negated), if *any_case { "ILIKE" } else { "LIKE" })
            }
            Node::IsNull { expr, negated } => write!(f, "{expr} IS {}NULL", not(*negated)),
            Node::Case { operand, when, otherwise } => {
                f.write_str("CASE")?;
                if let Some(operand) = operand {
                    write!(f, " {operand}")?;
                }
                for (condition, result) in when {
                    write!(f, " WHEN {condition} THEN {result}")?;
                }
                if let Some(otherwise) = otherwise {
                    write!(f, " ELSE {otherwise}")?;
                }
                f.write_str(" END")
            }
            Node::Function(function) => write!(f, "{function}"),
            Node::Foreign(what) => f.write_str(what),
        }
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        if let Some(duplicates) = self.duplicates {
            write!(f, "{duplicates} ")?;
        }
        match &self.args {
            Args::Star => f.write_str("*")?,
            Args::List(list) => match &list[..] {
                [Expr { node: Node::Text(part), .. }, of] if self.name == "EXTRACT" => {
                    write!(f, "{part} FROM {of}")?
                }
                list => joined(f, list, ", ")?,
            },
        }
        f.write_str(")")?;
        if let Some(filter) = &self.filter {
            write!(f, " FILTER (WHERE {filter})")?;
        }
        match &self.over {
            None => Ok(()),
            Some(Window::Named(name)) => write!(f, " OVER {name}"),
            Some(Window::Over { partition, order, span }) => {
                let between = if partition.is_empty() || order.is_empty() { "" } else { " " };
                f.write_str(" OVER (")?;
                if !partition.is_empty() {
                    f.write_str("PARTITION BY ")?;
                    joined(f, partition, ", ")?;
                }
                if !order.is_empty() {
                    write!(f, "{between}ORDER BY ")?;
                    joined(f, order, ", ")?;
                }
                match span {
                    Some(span) => write!(f, " {span})"),
                    None => f.write_str(")"),
                }
            }
        }
    }
}
