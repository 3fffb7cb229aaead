//! RANK: the place of a row by a figure, and whether it is one of some places.

use super::error::SqlError;
use super::expression::Expr;
use super::figure::Figures;
use super::literal::{Comparison, Literal, literal};
use super::tree::{self, Args, Function, Node, Window};

/// The places of rows by a figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranked {
    /// What they are in the order of.
    pub of: Expr,
    /// Whether the largest is the first.
    pub descending: bool,
    /// Among which rows: those with these labels in common, as in [`crate::sql::Aggregate::partition`].
    pub partition: Vec<usize>,
    /// Asked is the probability of a place from this one to that one; without it the place itself.
    pub places: Option<(u64, u64)>,
}

const HOW: &str = "for example: RANK() OVER (ORDER BY COUNT(*) DESC), or RANK() OVER (ORDER BY COUNT(*) DESC) <= 10 for its probability";

impl Figures<'_> {
    /// What `RANK() OVER (ORDER BY COUNT(*) DESC)` or a comparison of it asks for; `None` for anything else.
    pub(super) fn rank(&mut self, expr: &tree::Expr) -> Result<Option<Ranked>, SqlError> {
        let Some((function, places)) = asked(expr) else { return Ok(None) };
        let wrong = |why: &str| SqlError::new(why).at(expr.span()).help(HOW);
        if !function.name.eq_ignore_ascii_case("rank") {
            return Err(wrong(&format!("{} cannot be asked of a release", function.name)));
        }
        let plain = function.filter.is_none()
            && function.duplicates.is_none()
            && matches!(&function.args, Args::List(list) if list.is_empty());
        let (partition, by) = match &function.over {
            Some(Window::Over { partition, order, span: None }) if plain => match &order[..] {
                [by] => (partition, by),
                _ => return Err(wrong("RANK needs one figure to put rows in order by")),
            },
            _ => return Err(wrong("RANK cannot be asked so")),
        };
        let places = places.map(|(from, to)| match (place(from, 1), place(to, u64::MAX)) {
            (Some(from), Some(to)) if 1 <= from && from <= to => Ok((from, to)),
            _ => Err(wrong("places are whole numbers from 1 on")),
        });
        let (places, partition) = (places.transpose()?, self.partition(partition)?);
        let of = self.column(&by.expr)?;
        match of.depends_on_data() {
            true => Ok(Some(Ranked { of, descending: by.descending, partition, places })),
            false => Err(SqlError::new("this order does not depend on the data").at(by.expr.span())),
        }
    }
}

/// The first and the last place of a comparison; `None` where it leaves an end open.
type Places = (Option<f64>, Option<f64>);

/// A function of places, and with which it is compared.
fn asked(expr: &tree::Expr) -> Option<(&Function, Option<Places>)> {
    let number = |expr: &tree::Expr| match literal(expr) {
        Some(Literal::Number(n, _)) => Some(n),
        _ => None,
    };
    match &expr.node {
        Node::Nested(inner) => asked(inner),
        Node::Binary(a, op, b) => {
            let how = Comparison::new(*op)?;
            let (of, how, n) = match ranks(a) {
                Some(function) => (function, how, number(b)?),
                None => (ranks(b)?, how.mirrored(), number(a)?),
            };
            let places = match how {
                Comparison::Equal => (Some(n), Some(n)),
                Comparison::LessEqual => (None, Some(n)),
                Comparison::Less => (None, Some(n - 1.0)),
                Comparison::GreaterEqual => (Some(n), None),
                Comparison::Greater => (Some(n + 1.0), None),
                Comparison::Different => return None,
            };
            Some((of, Some(places)))
        }
        Node::Between { expr: of, negated: false, low, high } => {
            Some((ranks(of)?, Some((Some(number(low)?), Some(number(high)?)))))
        }
        _ => Some((ranks(expr)?, None)),
    }
}

/// A function of places with OVER.
fn ranks(expr: &tree::Expr) -> Option<&Function> {
    const NAMES: [&str; 6] = ["rank", "dense_rank", "row_number", "percent_rank", "cume_dist", "ntile"];
    match &expr.node {
        Node::Nested(inner) => ranks(inner),
        Node::Function(function) => {
            NAMES.iter().any(|name| function.name.eq_ignore_ascii_case(name)).then_some(&**function)
        }
        _ => None,
    }
}

/// A place that is written, or this one.
fn place(written: Option<f64>, open: u64) -> Option<u64> {
    match written {
        None => Some(open),
        Some(n) => (n.fract() == 0.0 && (0.0..1e15).contains(&n)).then_some(n as u64),
    }
}
