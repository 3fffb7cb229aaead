//! Linear queries of one table that the agency wrote itself.

use super::kind::{Factors, Form, Kind};
use crate::cube::{Cube, Cuboid, Frame, Integer};
use crate::plan::{Noise, limits};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Linear queries of one table with whole coefficients.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rows {
    /// The table.
    pub cuboid: Cuboid,
    /// For each query its non-zero coefficients: cell of the table (row-major, the last dimension fastest) and factor,
    /// cells ascending.
    pub rows: Vec<Vec<(u32, i32)>>,
}

/// The largest sum, over the queries, of one cell's prices.
fn largest_column(rows: &Rows, price: impl Fn(i32) -> Option<u128>) -> Option<u128> {
    let mut columns: BTreeMap<u32, u128> = BTreeMap::new();
    for &(cell, factor) in rows.rows.iter().flatten() {
        let column = columns.entry(cell).or_insert(0);
        *column = column.checked_add(price(factor)?)?;
    }
    columns.into_values().max()
}

impl Kind for Rows {
    type Data = Rows;
    const NAME: &'static str = "rows";
    const FORM: Form = Form::Rows;
    const SIGNED: bool = true;
    const LUMPS: bool = false;
    const MOST_CELLS: u64 = limits::MAX_ROW_CELLS;

    fn cuboid(data: &Rows) -> &Cuboid {
        &data.cuboid
    }

    fn values(data: &Rows, _: &Frame) -> Option<u64> {
        Some(data.rows.len() as u64)
    }

    fn check(data: &Rows, _: &[Vec<u8>], cube: &Cube, _: &Frame) -> Result<(), String> {
        let cells = cube.cells(&data.cuboid).unwrap_or(u64::MAX);
        let good = |row: &Vec<(u32, i32)>| {
            row.windows(2).all(|w| w[0].0 < w[1].0)
                && row.iter().all(|&(cell, factor)| u64::from(cell) < cells && factor != 0)
                && !row.is_empty()
        };
        match data.rows.iter().all(good) {
            true => Ok(()),
            false => {
                Err("a row is empty, has a cell twice, one that does not exist, or a factor of zero".into())
            }
        }
    }

    /// Sums of counts, still secret: noise is added to each. `None` also when a cell does not exist.
    fn apply<T: Integer>(data: &Rows, _: &Frame, counts: Vec<T>) -> Option<Vec<T>> {
        let one = |row: &Vec<(u32, i32)>| {
            row.iter().try_fold(T::from(0), |sum, &(cell, factor)| {
                sum.plus(counts.get(cell as usize)?.times(factor.into())?)
            })
        };
        data.rows.iter().map(one).collect()
    }

    /// The largest sum, over the queries, of one cell's absolute or squared coefficients.
    fn sensitivity(data: &Rows, _: &Frame, noise: Noise) -> Option<u128> {
        largest_column(data, |factor| noise.powered(factor.unsigned_abs().into()))
    }

    /// Columns are compared one by one: see `plan::cost::rows`.
    fn factors(_: Noise) -> Option<Factors> {
        None
    }

    fn largest(data: &Rows, _: &Frame, rows: u128, tail: u128) -> Option<u128> {
        let factor = data.rows.iter().flatten().map(|&(_, f)| f.unsigned_abs()).max().unwrap_or(0);
        rows.checked_mul(factor.into())?.checked_add(tail)
    }

    fn copies(data: &Rows, _: &Frame) -> Vec<u64> {
        vec![1; data.rows.len()]
    }

    fn noises(data: &Rows, _: &Frame) -> usize {
        data.rows.len()
    }
}
