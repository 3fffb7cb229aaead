//! A SQL query from a release: estimates with their intervals, ready to show.

use super::evaluate::Group;
use super::open::{Answers, QueryError};
use super::render::{ColumnKind, ResultCell, ResultColumn, ResultFigure, ResultTable};
use super::sql::{Query, SelectColumn};
use std::collections::HashMap;
use std::sync::Arc;

impl Answers {
    /// Answers one SELECT with intervals at `level`.
    pub fn query(&self, sql: &str, level: f64) -> Result<ResultTable, QueryError> {
        self.answer(&self.parse(sql)?, level)
    }

    /// Answers a query that has been parsed.
    pub fn answer(&self, query: &Query, level: f64) -> Result<ResultTable, QueryError> {
        if !(level > 0.0 && level < 1.0) {
            return Err(QueryError::Level(level));
        }
        let groups = self.evaluator().aggregate(&query.filter, &query.group_by)?;
        let mut widths = Widths { level, known: HashMap::new() };
        let cube = self.cube();
        let columns = query
            .columns
            .iter()
            .map(|c| ResultColumn {
                name: c.name().into(),
                kind: match c {
                    SelectColumn::Group { index, .. } => {
                        let (d, l) = query.group_by[*index];
                        ColumnKind::of_level(&cube.dimensions[d].levels[l])
                    }
                    SelectColumn::Count { .. } | SelectColumn::Figure { .. } => ColumnKind::Figure,
                },
            })
            .collect();
        let mut rows = Vec::with_capacity(groups.len());
        for group in &groups {
            let cells = query.columns.iter().map(|c| match c {
                SelectColumn::Group { index, .. } => {
                    let (d, l) = query.group_by[*index];
                    ResultCell::Label(
                        cube.dimensions[d].levels[l].labels[group.nodes[*index] as usize].clone(),
                    )
                }
                SelectColumn::Count { .. } | SelectColumn::Figure { .. } => {
                    ResultCell::Figure(widths.of(group))
                }
            });
            rows.push((group.nodes.clone(), cells.collect::<Vec<_>>()));
        }
        sort(query, &mut rows);
        let limit = query.limit.map_or(usize::MAX, |l| usize::try_from(l).unwrap_or(usize::MAX));
        let rows = rows.into_iter().take(limit).map(|(_, cells)| cells).collect();
        Ok(ResultTable { columns, rows, level })
    }
}

/// Half-widths of intervals: groups of one kind share a law, so each is worked out once.
struct Widths {
    level: f64,
    known: HashMap<usize, (f64, f64)>,
}

impl Widths {
    fn of(&mut self, group: &Group) -> ResultFigure {
        let law = &group.law;
        let (std_error, half) = *self
            .known
            .entry(Arc::as_ptr(law) as usize)
            .or_insert_with(|| (law.std_error(), law.half_width(self.level)));
        let estimate = group.estimate;
        ResultFigure { estimate, std_error, low: estimate - half, high: estimate + half }
    }
}

/// By the columns of ORDER BY: labels in their own order, figures by estimate. Ties stay in the order of nodes.
fn sort(query: &Query, rows: &mut [(Vec<u32>, Vec<ResultCell>)]) {
    rows.sort_by(|a, b| {
        for &(column, descending) in &query.order_by {
            let order = match (&query.columns[column], &a.1[column], &b.1[column]) {
                (SelectColumn::Group { index, .. }, _, _) => a.0[*index].cmp(&b.0[*index]),
                (_, ResultCell::Figure(x), ResultCell::Figure(y)) => x.estimate.total_cmp(&y.estimate),
                _ => std::cmp::Ordering::Equal,
            };
            let order = if descending { order.reverse() } else { order };
            if order.is_ne() {
                return order;
            }
        }
        std::cmp::Ordering::Equal
    });
}
