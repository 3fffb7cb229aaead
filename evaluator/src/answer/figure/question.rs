//! A query made ready for releases: what its figures are made of, and its rows.
//!
//! A row is of one combination of bands (a [`Portion`]; of all units where the query has no bands) and of one node of every level of GROUP BY.

use super::Figure;
use super::labels::{Labels, Place};
use super::quantile::Quantile;
use crate::answer::error::QueryError;
use crate::answer::tell::{Family, Teller, Told};
use crate::cube::{Cube, Filter};
use crate::sql::{Aggregate, Portion, Present, Query, SelectColumn, SqlError};

/// A query whose figures are resolved.
#[derive(Clone)]
pub(in crate::answer) struct Question<'a> {
    pub query: &'a Query,
    /// What figures are made of, over the units of all bands.
    pub aggregates: Vec<Aggregate>,
    /// For each column that is neither a label nor a quantile its figure.
    pub figures: Vec<Option<Figure>>,
    /// For each column that is one its quantile.
    pub quantiles: Vec<Option<Quantile>>,
    /// The same aggregates over each combination of bands; without bands one, of all units.
    pub portions: Vec<Portion>,
}

impl<'a> Question<'a> {
    pub(in crate::answer) fn new(query: &'a Query) -> Result<Question<'a>, QueryError> {
        match query.has_quantiles() {
            true => Err(QueryError::Quantile("cannot be asked here")),
            false => Question::with_quantiles(query, &Cube { dimensions: Vec::new() }),
        }
    }

    /// Of a query that may have quantiles of a cube's values.
    pub(in crate::answer) fn with_quantiles(
        query: &'a Query,
        cube: &Cube,
    ) -> Result<Question<'a>, QueryError> {
        let mut aggregates = query.aggregates.clone();
        let quantiles = query.columns.iter().map(|column| match column {
            SelectColumn::Quantile { level, p, .. } => {
                Quantile::new(*level, *p, query, cube, &mut aggregates).map(Some)
            }
            _ => Ok(None),
        });
        let quantiles = quantiles.collect::<Result<_, _>>()?;
        let count = Aggregate::rows(query.filter.clone(), None);
        let figures = query.columns.iter().map(|column| match column {
            SelectColumn::Group { .. } | SelectColumn::Band { .. } | SelectColumn::Quantile { .. } => None,
            SelectColumn::Count { .. } => {
                let at = aggregates.iter().position(|a| *a == count).unwrap_or_else(|| {
                    aggregates.push(count.clone());
                    aggregates.len() - 1
                });
                Some(Figure::aggregate(at, &aggregates))
            }
            SelectColumn::Figure { expr, .. } => Some(Figure::new(expr, &aggregates)),
        });
        let figures = figures.collect();
        let portions = query.portions(&aggregates).map_err(SqlError::from)?;
        Ok(Question { query, aggregates, figures, quantiles, portions })
    }

    /// Refuses figures that are neither linear nor a ratio: where more than an interval of them is wanted.
    pub(in crate::answer) fn without_curved(&self) -> Result<(), QueryError> {
        let mut columns = self.query.columns.iter().zip(&self.figures);
        let curved = columns.find(|(_, f)| f.as_ref().is_some_and(Figure::is_curved));
        curved.map_or(Ok(()), |(column, _)| Err(QueryError::Product(column.name().into())))
    }

    /// The same with one more aggregate, the last: the total.
    pub(crate) fn with_total(&self) -> Question<'a> {
        let mut asked = self.clone();
        let total = Aggregate::rows(Filter::everything(), Some(Vec::new()));
        asked.portions.iter_mut().for_each(|p| p.aggregates.push(total.clone()));
        asked.aggregates.push(total);
        asked
    }

    /// Where a row stands.
    pub(in crate::answer) fn place<'b>(&'b self, portion: usize, nodes: &'b [u32]) -> Place<'b> {
        Place { ranks: self.portions.get(portion).map_or(&[], |p| &p.ranks), nodes }
    }
}

/// What is told of one row.
pub(in crate::answer) struct Row {
    /// Which portion of the query it is of.
    pub portion: usize,
    /// Of its aggregates.
    pub told: Told,
}

/// The rows of an answer in their own order.
pub(in crate::answer) fn rows(teller: &dyn Teller, asked: &Question) -> Result<Vec<Row>, QueryError> {
    let (query, cube) = (asked.query, teller.cube());
    let (mut rows, most) = (Vec::new(), teller.most_rows());
    // Without groups there is one row, also of nothing, as SQL has it.
    let one = query.group_by.is_empty() && query.bands.is_empty();
    for (portion, own) in asked.portions.iter().enumerate() {
        let present = Present::new(&own.filter, &query.group_by, cube);
        let groups = match one {
            true => vec![Vec::new()],
            false => present
                .rows(&query.group_by, cube, most)
                .map_err(|rows| QueryError::TooManyRows { rows, most })?,
        };
        let family = Family { figures: &own.aggregates, group_by: &query.group_by, rows: &groups };
        rows.extend(teller.tell(&family)?.into_iter().map(|told| Row { portion, told }));
    }
    if !query.bands.is_empty() {
        let labels = Labels::new(query, cube);
        rows.sort_by_cached_key(|row| {
            let order = labels.order(asked.place(row.portion, &row.told.nodes));
            // Ranks are never negative, so their bits are in the same order.
            order.into_iter().map(f64::to_bits).collect::<Vec<_>>()
        });
    }
    Ok(rows)
}
