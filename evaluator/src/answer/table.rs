//! The one place where tables of answers are built.

use crate::render::{ResultCell, ResultColumn, ResultTable};

/// Columns and rows, with intervals at `level`, and nothing said of them yet.
pub fn table(columns: Vec<ResultColumn>, rows: Vec<Vec<ResultCell>>, level: f64) -> ResultTable {
    ResultTable { columns, rows, level, ..ResultTable::default() }
}

/// A table whose columns and rows are still to come.
pub fn empty(level: f64) -> ResultTable {
    table(Vec::new(), Vec::new(), level)
}
