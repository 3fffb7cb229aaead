//! MEDIAN and QUANTILE: values of an ordered dimension.

use super::Fate;
use super::error::SqlError;
use super::figure::{Figures, QUANTILES};
use super::literal::{Literal, literal};
use super::tree::{self, Args, Node};
use crate::cube::{Filter, Level, Number};

impl Figures<'_> {
    /// The level and the share of `MEDIAN(age)` or `QUANTILE(age, 0.9)`; `None` for anything else.
    pub(super) fn quantile(&mut self, expr: &tree::Expr) -> Result<Option<(Level, f64)>, SqlError> {
        let Node::Function(function) = &expr.node else { return Ok(None) };
        let median = function.name.eq_ignore_ascii_case("median");
        if !median && !function.name.eq_ignore_ascii_case("quantile") {
            return Ok(None);
        }
        let wrong = || {
            SqlError::new(format!("{} cannot be asked so", function.name))
                .at(expr.span())
                .help("write MEDIAN(age), or QUANTILE(age, 0.9) with a share between 0 and 1; conditions belong in WHERE")
        };
        self.unweighted(function, expr)?;
        let plain = function.over.is_none() && function.filter.is_none() && function.duplicates.is_none();
        let Args::List(list) = &function.args else { return Err(wrong()) };
        let (of, p) = match (&list[..], median && plain) {
            ([of], true) => (of, 0.5),
            ([of, share], false) if plain => match literal(share) {
                Some(Literal::Number(p, _)) if p > 0.0 && p < 1.0 => (of, p),
                _ => return Err(wrong()),
            },
            _ => return Err(wrong()),
        };
        let Some(column) = self.names.column(of) else { return Err(wrong()) };
        let column = column?;
        let (level, name) = (self.names.level(column), self.names.name(column));
        if !level.is_numeric() {
            return Err(SqlError::new(format!("{name} has no numbers to take a quantile of"))
                .at(of.span())
                .help("a quantile is a value of a dimension whose categories are numbers"));
        }
        if level.in_order().is_none() {
            return Err(SqlError::new(format!(
                "categories of {name} overlap: a quantile has no place among them"
            ))
            .at(of.span())
            .help(QUANTILES));
        }
        let unknown: Vec<bool> = (0..level.len()).map(|node| level.number(node) == Number::Unknown).collect();
        let dimension = &self.names.cube.dimensions[column.dim];
        let up = dimension.ancestors(dimension.finest(), column.level);
        let finest: Vec<bool> = up.iter().map(|&node| unknown[node as usize]).collect();
        let units = self.condition.and(&Filter::nodes(column.dim, &finest))?;
        self.pass_over(column, Fate::NotAdded, units);
        Ok(Some((column.at(), p)))
    }
}
