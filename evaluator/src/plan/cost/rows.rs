//! The exact worst case for rows that the agency wrote: over all cells, or over all pairs of them.
//!
//! A unit in cell `j` moves every row by its factor of `j`, so what it costs is the sum over the blocks of the price of their
//! column `j`; the worst cell decides. Blocks whose columns are small where those of others are large may thus together
//! cost less than one by one. Under `substitute` two columns are compared instead. A unit that may own several rows may own fewer, and a row may have no value, so
//! that the worst change is `k e` or `k(e − e')`: all others are mixtures of those, and norms are convex.
//!
//! Cells with equal columns cost the same: only distinct columns are looked at.

use super::joint::price;
use super::terms::{CostError, WorstCase};
use crate::cube::{Cuboid, Frame};
use crate::plan::{Block, Channel, Neighbours, Plan};
use std::collections::HashMap;

/// The most comparisons of factors.
const MOST_STEPS: usize = 1 << 25;

/// One cell's factors: measurement, row in it, factor; ascending.
type Column = Vec<(u32, u32, i32)>;

/// The cost of all rows of a channel in fixed point, and how exactly it is known. `None` when there are no rows.
pub(super) fn rows_cost(
    plan: &Plan,
    channel: &Channel,
    frame: &Frame,
) -> Result<Option<(u128, WorstCase)>, CostError> {
    let mut cuboids: Vec<&Cuboid> = Vec::new();
    for m in &channel.measurements {
        if matches!(m.block, Block::Rows(_)) && !cuboids.contains(&m.block.cuboid()) {
            cuboids.push(m.block.cuboid());
        }
    }
    let mut found: Option<(u128, WorstCase)> = None;
    for cuboid in cuboids {
        let overflow = CostError::Overflow(0);
        let (cost, case) = of_table(plan, channel, frame, cuboid).ok_or(overflow.clone())?;
        found = Some(match found {
            None => (cost, case),
            Some((sum, _)) => (sum.checked_add(cost).ok_or(overflow)?, WorstCase::Bound),
        });
    }
    Ok(found)
}

/// The rows over one table. `None` on overflow.
fn of_table(plan: &Plan, channel: &Channel, frame: &Frame, cuboid: &Cuboid) -> Option<(u128, WorstCase)> {
    let (mut columns, touched) = columns(channel, cuboid);
    let mut prices = Prices { plan, channel, known: HashMap::new() };
    let mut alone = 0;
    for column in &columns {
        alone = prices.of(column, &[])?.max(alone);
    }
    if plan.neighbours == Neighbours::AddRemove {
        return Some((alone, WorstCase::Cells));
    }
    let factors: usize = columns.iter().map(Vec::len).sum();
    if columns.len().checked_mul(factors).is_none_or(|steps| steps > MOST_STEPS) {
        // |a − b| ≤ |a| + |b|, and (a − b)² ≤ 2a² + 2b².
        return Some((alone.checked_mul(plan.noise.powered(2)?)?, WorstCase::Bound));
    }
    if touched < frame.len(cuboid) || channel.subject.may_be_less(plan.max_rows) {
        columns.push(Column::new());
    }
    let mut worst = 0;
    for (at, column) in columns.iter().enumerate() {
        for other in &columns[..at] {
            worst = prices.of(column, other)?.max(worst);
        }
    }
    Some((worst, WorstCase::Joint))
}

/// The distinct columns of the rows over one table, and how many cells are in some row.
fn columns(channel: &Channel, cuboid: &Cuboid) -> (Vec<Column>, usize) {
    let mut entries: Vec<(u32, (u32, u32, i32))> = Vec::new();
    for (index, m) in channel.measurements.iter().enumerate() {
        let Block::Rows(rows) = &m.block else { continue };
        if rows.cuboid != *cuboid {
            continue;
        }
        for (r, row) in rows.rows.iter().enumerate() {
            entries.extend(row.iter().map(|&(cell, factor)| (cell, (index as u32, r as u32, factor))));
        }
    }
    entries.sort_unstable();
    let of_cell = entries.chunk_by(|a, b| a.0 == b.0);
    let mut columns: Vec<Column> = of_cell.map(|c| c.iter().map(|e| e.1).collect()).collect();
    let touched = columns.len();
    columns.sort_unstable();
    columns.dedup();
    (columns, touched)
}

struct Prices<'a> {
    plan: &'a Plan,
    channel: &'a Channel,
    /// By measurement and distance: few are distinct.
    known: HashMap<(u32, u128), u128>,
}

impl Prices<'_> {
    /// What the difference of two columns costs.
    fn of(&mut self, a: &[(u32, u32, i32)], b: &[(u32, u32, i32)]) -> Option<u128> {
        let (mut i, mut j) = (0, 0);
        let (mut total, mut current, mut distance) = (0u128, u32::MAX, 0u128);
        loop {
            let place = |c: &[(u32, u32, i32)], at: usize| c.get(at).map(|&(m, r, _)| (m, r));
            let (x, y) = (place(a, i), place(b, j));
            let Some((m, r)) = [x, y].into_iter().flatten().min() else { break };
            let mut difference = 0i64;
            if x == Some((m, r)) {
                difference += i64::from(a[i].2);
                i += 1;
            }
            if y == Some((m, r)) {
                difference -= i64::from(b[j].2);
                j += 1;
            }
            if m != current {
                total = total.checked_add(self.price(current, distance)?)?;
                (current, distance) = (m, 0);
            }
            let moved = self.plan.noise.powered(difference.unsigned_abs().into())?;
            distance = distance.checked_add(moved)?;
        }
        total.checked_add(self.price(current, distance)?)
    }

    fn price(&mut self, measurement: u32, distance: u128) -> Option<u128> {
        if distance == 0 {
            return Some(0);
        }
        if let Some(&known) = self.known.get(&(measurement, distance)) {
            return Some(known);
        }
        let m = self.channel.measurements.get(measurement as usize)?;
        let price = price(self.plan, &self.channel.subject, m, distance)?;
        self.known.insert((measurement, distance), price);
        Some(price)
    }
}
