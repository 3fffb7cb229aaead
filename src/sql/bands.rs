//! GROUP BY a CASE: groups that no level has, made of conditions.
//!
//! A band is a condition, so each combination of bands is a query of its own, the same but for its WHERE; the answer is the rows of all of
//! them. Whether the release tells the bands apart is asked of each as of any condition.

use super::Query;
use super::compare::{Literal, literal};
use super::error::SqlError;
use super::names::Names;
use super::predicate::named;
use super::tree::{Expr, Node, Operator};
use super::truth::Truth;
use crate::cube::Filter;

/// The most combinations of bands.
const MOST: usize = 1 << 10;

/// A CASE that is grouped by.
pub(super) struct Bands<'a> {
    pub expr: &'a Expr,
    /// What SELECT calls it.
    pub alias: Option<&'a str>,
    /// The conditions as they are written, for those who must know what they leave open.
    pub truths: Vec<Truth>,
    /// Every label with its units, in the order in which the CASE names them.
    pub each: Vec<(String, Filter)>,
}

/// A query of one combination of bands.
#[derive(Debug, Clone, PartialEq)]
pub struct InBands {
    /// The place of each band among those of its CASE.
    pub ranks: Vec<usize>,
    /// Its labels.
    pub labels: Vec<String>,
    /// What is asked of its units: HAVING, ORDER BY, LIMIT and OFFSET are of all together, and not in it.
    pub query: Query,
}

const HOW: &str = "for example: GROUP BY CASE WHEN age < 18 THEN 'minor' ELSE 'adult' END";

impl<'a> Bands<'a> {
    /// Reads a CASE; `rows` are the units it must have a label for.
    pub fn new(
        expr: &'a Expr,
        alias: Option<&'a str>,
        names: &Names,
        rows: &Filter,
    ) -> Result<Bands<'a>, SqlError> {
        let Node::Case { operand, when, otherwise } = &expr.node else {
            return Err(SqlError::new(format!("{} cannot be grouped by", named(expr))).at(expr.span()));
        };
        let mut bands = Bands { expr, alias, truths: Vec::new(), each: Vec::new() };
        let mut rest = Filter::everything();
        for (condition, result) in when {
            // `CASE a WHEN b` is `CASE WHEN a = b`.
            let truth = match operand {
                None => names.truth(condition)?,
                Some(of) => {
                    let equal = Node::Binary(of.clone(), Operator::Eq, Box::new(condition.clone()));
                    names.truth(&Expr::new(equal, condition.span()))?
                }
            };
            let here = rest.and(&truth.holds).map_err(|e| SqlError::from(e).at(condition.span()))?;
            rest = rest
                .and(&truth.holds.clone().complement())
                .map_err(|e| SqlError::from(e).at(condition.span()))?;
            bands.truths.push(truth);
            bands.add(result, here)?;
        }
        match otherwise {
            Some(result) => bands.add(result, rest)?,
            None => {
                let left = rows.and(&rest).map_err(|e| SqlError::from(e).at(expr.span()))?;
                if left.weights.iter().any(|w| *w != 0.0) {
                    return Err(SqlError::new("CASE leaves units without a label")
                        .at(expr.span())
                        .help("add ELSE and a label, or leave those units out with WHERE"));
                }
            }
        }
        Ok(bands)
    }

    /// Whether an expression is this CASE, or its name.
    pub fn is_meant(&self, expr: &Expr) -> bool {
        match &expr.node {
            Node::Nested(inner) => self.is_meant(inner),
            Node::Name(parts) => match &parts[..] {
                [name] => self.alias == Some(&name.value),
                _ => false,
            },
            _ => expr == self.expr,
        }
    }

    fn add(&mut self, result: &Expr, units: Filter) -> Result<(), SqlError> {
        let label = match literal(result) {
            Some(Literal::Text(text)) => text,
            Some(Literal::Number(_, text)) => text,
            _ => {
                return Err(SqlError::new(format!("{} is not the label of a group", named(result)))
                    .at(result.span())
                    .help(HOW));
            }
        };
        match self.each.iter_mut().find(|band| band.0 == label) {
            Some(band) => {
                band.1 = band.1.or(&units).map_err(|e| SqlError::from(e).at(result.span()))?;
            }
            None => self.each.push((label, units)),
        }
        Ok(())
    }
}

/// The place of each band in every combination of them, the last one fastest.
pub(super) fn combinations(bands: &[Bands]) -> Result<Vec<Vec<usize>>, SqlError> {
    let sizes = bands.iter().map(|b| b.each.len());
    let several = sizes.clone().try_fold(1usize, |n, s| n.checked_mul(s).filter(|n| *n <= MOST));
    if let (None, Some(first)) = (several, bands.first()) {
        return Err(SqlError::new(format!("the most combinations of bands is {MOST}")).at(first.expr.span()));
    }
    let mut all = vec![Vec::new()];
    for size in sizes {
        all = all
            .into_iter()
            .flat_map(|ranks: Vec<usize>| {
                (0..size).map(move |rank| ranks.iter().copied().chain([rank]).collect())
            })
            .collect();
    }
    Ok(all)
}
