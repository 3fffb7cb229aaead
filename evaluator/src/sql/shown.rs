//! Which rows of an answer are shown, in which order, and how their figures are rounded: HAVING, ORDER BY, OFFSET, LIMIT and ROUND.

use super::{Query, SelectColumn};
use std::cmp::Ordering;

/// An estimate to twelve digits: what was worked out in two ways may differ in the last ones, and equal figures have one place.
pub(crate) fn told_apart(x: f64) -> f64 {
    format!("{x:.11e}").parse().unwrap_or(x)
}

impl Query {
    /// The rows that are shown, from a number for each column of SELECT: of a figure its estimate, of a label its place among those of its level.
    pub(crate) fn shown<T>(&self, mut rows: Vec<(Vec<f64>, T)>) -> Vec<T> {
        rows.iter_mut().flat_map(|(keys, _)| keys).for_each(|key| *key = told_apart(*key));
        if let Some(having) = &self.having {
            rows.retain(|(keys, _)| having.holds(keys));
        }
        rows.sort_by(|(a, _), (b, _)| {
            for &(column, descending) in &self.order_by {
                // Labels in their own order, figures by estimate. Ties stay in the order of nodes.
                let order = a[column].total_cmp(&b[column]);
                let order = if descending { order.reverse() } else { order };
                if order.is_ne() {
                    return order;
                }
            }
            Ordering::Equal
        });
        let most = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let limit = self.limit.map_or(usize::MAX, most);
        rows.into_iter().skip(most(self.offset)).take(limit).map(|(_, row)| row).collect()
    }

    /// Whether some of so many rows are left out, and estimates say which.
    pub(crate) fn chooses(&self, rows: usize) -> bool {
        let by_estimates = |(column, _): &(usize, bool)| {
            !matches!(
                self.columns.get(*column),
                Some(SelectColumn::Group { .. } | SelectColumn::Band { .. } | SelectColumn::Grouping { .. })
            )
        };
        let left_out = self.offset > 0 || self.limit.is_some_and(|limit| limit < rows as u64);
        left_out && self.order_by.iter().any(by_estimates)
    }

    /// A number of a column as ROUND shows it; `how` is to the nearest, up or down.
    pub(crate) fn round(&self, column: usize, x: f64, how: fn(f64) -> f64) -> f64 {
        let Some(&(_, decimals)) = self.rounded.iter().find(|r| r.0 == column) else { return x };
        let scale = libm::pow(10.0, f64::from(decimals.abs()));
        // What is on the grid but for the last bits of a double is not moved a whole step outwards.
        let how = |x: f64| {
            let nearest = libm::round(x);
            // No zero with a sign.
            if (x - nearest).abs() <= 8.0 * f64::EPSILON * x.abs() { nearest + 0.0 } else { how(x) + 0.0 }
        };
        let y = if decimals < 0 { how(x / scale) * scale } else { how(x * scale) / scale };
        if y.is_finite() { y } else { x }
    }
}
