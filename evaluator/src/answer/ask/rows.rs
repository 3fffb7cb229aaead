//! Which rows of an answer are shown, and in which order: HAVING, ORDER BY, OFFSET, LIMIT. And figures as ROUND shows them.

use super::notes::Notes;
use crate::render::{ResultCell, ResultFigure};
use crate::sql::{Query, SelectColumn};

/// A row with what it is sorted by.
pub(super) struct Sortable {
    /// For each column of SELECT its estimate, or where its label stands among those of its level.
    pub keys: Vec<f64>,
    pub cells: Vec<ResultCell>,
}

/// The rows that are shown.
pub(super) fn kept(query: &Query, mut rows: Vec<Sortable>, notes: &mut Notes) -> Vec<Vec<ResultCell>> {
    if let Some(having) = &query.having {
        rows.retain(|row| having.holds(&row.keys));
        notes.add(
            "HAVING: rows are kept by their noisy estimates, so chance decides on those near the bound, and the intervals of rows \
             that were kept for being far out cover less often than stated, unless --joint widens them."
                .into(),
        );
    }
    for &(column, decimals) in &query.rounded {
        let name = query.columns.get(column).map_or("", SelectColumn::name);
        let to = match decimals {
            0 => "whole numbers".to_owned(),
            1 => "1 decimal".to_owned(),
            2.. => format!("{decimals} decimals"),
            _ => format!("multiples of {}", libm::pow(10.0, f64::from(-decimals))),
        };
        notes.add(format!("{name}: the estimate is rounded to {to}, its interval outwards."));
    }
    rows.sort_by(|a, b| {
        for &(column, descending) in &query.order_by {
            // Labels in their own order, figures by estimate. Ties stay in the order of nodes.
            let order = a.keys[column].total_cmp(&b.keys[column]);
            let order = if descending { order.reverse() } else { order };
            if order.is_ne() {
                return order;
            }
        }
        std::cmp::Ordering::Equal
    });
    let most = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let limit = query.limit.map_or(usize::MAX, most);
    rows.into_iter().skip(most(query.offset)).take(limit).map(|r| r.cells).collect()
}

/// A figure of a column as ROUND shows it: the estimate to the nearest, the ends of the interval outwards.
pub(super) fn rounded(query: &Query, column: usize, figure: ResultFigure) -> ResultFigure {
    let Some(&(_, decimals)) = query.rounded.iter().find(|r| r.0 == column) else { return figure };
    let scale = libm::pow(10.0, f64::from(decimals.abs()));
    let to = |x: f64, how: fn(f64) -> f64| {
        let y = if decimals < 0 { how(x / scale) * scale } else { how(x * scale) / scale };
        if y.is_finite() { y } else { x }
    };
    ResultFigure {
        estimate: to(figure.estimate, libm::round),
        low: to(figure.low, libm::floor),
        high: to(figure.high, libm::ceil),
        ..figure
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::Filter;

    #[test]
    fn intervals_are_rounded_outwards() {
        let query = |decimals| Query {
            columns: vec![SelectColumn::Count { name: "n".into() }],
            group_by: Vec::new(),
            filter: Filter::everything(),
            aggregates: Vec::new(),
            order_by: Vec::new(),
            having: None,
            limit: None,
            offset: 0,
            rounded: vec![(0, decimals)],
            from: String::new(),
            left_out: Vec::new(),
            bands: Vec::new(),
        };
        let figure = ResultFigure { estimate: 1234.56, std_error: 1.5, low: 1231.01, high: f64::INFINITY };
        let to = |decimals| rounded(&query(decimals), 0, figure);
        assert_eq!((to(1).estimate, to(1).low, to(1).high), (1234.6, 1231.0, f64::INFINITY));
        assert_eq!((to(-2).estimate, to(-2).low, to(-2).std_error), (1200.0, 1200.0, 1.5));
        assert_eq!(rounded(&query(0), 1, figure), figure);
    }
}
