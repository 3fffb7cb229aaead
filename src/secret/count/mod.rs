//! Rows become exact counts: the table of a cuboid, cell by cell.
//!
//! A count is a pure function of the rows and the axes: it does not depend on threads, on what was counted
//! before, or on the order of the rows.
//!
//! | file | idea |
//! |---|---|
//! | `addend` | what rows add up to beside their number |
//! | `cover` | which tables hold all others |
//! | `tally` | those, counted while the rows stream by |
//! | `words` | what rows add to a cell, beside each other |
//! | `given` | tables that were counted where the data lives |
//! | `slice` | a slice of a large table, from its own rows |
//! | `data` | what tables are counted from: rows or such tables |
//! | `index` | the cells of a block of rows |

mod addend;
mod counts;
mod cover;
mod data;
pub(crate) mod given;
mod index;
mod slice;
mod tally;
#[cfg(test)]
mod tests;
mod words;

pub(in crate::secret) use addend::{Addend, joined};
pub(crate) use counts::Counts;
pub(crate) use data::Data;
pub(in crate::secret) use data::Tabulator;
pub(in crate::secret) use slice::Shares;

use crate::cube::{Cube, Cuboid, Level};
use crate::secret::ingest::{Memory, Rows, Settings};
use std::ops::Range;
use zeroize::Zeroizing;

/// The most cells a table can have: indices stay well inside 32 bits.
pub(crate) const MAX_CELLS: usize = 1 << 31;

/// Rows whose cell indices are worked out together: the block's indices stay in the first-level cache
/// while one column after the other is multiplied in.
const BLOCK: usize = 4096;

/// One axis of a table: a dimension at its finest or at a coarser level.
#[derive(Debug, Clone, Copy)]
pub struct Axis<'a> {
    /// Which dimension.
    pub dimension: usize,
    /// For each finest node the node of the level wanted; `None` is the finest level itself.
    pub ancestors: Option<&'a [u32]>,
    /// How many nodes the level wanted has.
    pub nodes: usize,
}

/// Why a table cannot be counted. Public facts only: nothing here depends on the rows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CountError {
    /// A table beyond [`MAX_CELLS`].
    #[error("the table has more than {MAX_CELLS} cells")]
    TooManyCells,
    /// An axis that does not belong to these rows.
    #[error("axis {0} does not fit its dimension")]
    Axis(usize),
    /// A sum beyond 64 bits.
    #[error("a sum does not fit 64 bits")]
    Sum,
    /// A table that the counted ones do not hold.
    #[error("a table was asked for that had not been announced before the data was read")]
    NotCounted,
}

/// What counting the tables of a plan takes, known from the domain alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Work {
    /// Steps on each row: one for each dimension of each counted table, and one for the table.
    pub steps: usize,
    /// The bytes that counts, or what is kept of each row, take.
    pub bytes: Held,
}

/// What is held while rows are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// Counted tables: so many bytes in all.
    Tables(usize),
    /// The rows themselves: so many bytes for each.
    Rows(usize),
}

/// What counting the tables `wanted` takes, where rows add up to so many things beside their number.
pub(crate) fn work(cube: &Cube, wanted: &[&Cuboid], added: usize, memory: Memory) -> Work {
    let threads = Settings::default().threads;
    let steps = |tables: &mut dyn Iterator<Item = &Cuboid>| tables.map(|t| t.len() + 1 + added).sum();
    match cover::cover(cube, wanted, added, threads, memory) {
        Some(tables) => {
            let cells = tables.iter().filter_map(|t| cover::size(cube, t)).fold(0, usize::saturating_add);
            let bytes = Held::Tables(cells.saturating_mul(cover::of_cell(added, threads) as usize));
            Work { steps: steps(&mut tables.iter()), bytes }
        }
        None => {
            let code = |nodes: usize| match nodes {
                0..=0x100 => 1,
                0x101..=0x1_0000 => 2,
                _ => 4,
            };
            // Of numbers there may be more than 2^16 steps.
            let row =
                cube.dimensions.iter().map(|d| code(d.levels[d.finest()].len())).sum::<usize>() + 4 * added;
            Work { steps: steps(&mut wanted.iter().copied()), bytes: Held::Rows(row) }
        }
    }
}

/// The table of `rows` over `axes`, row-major: the last axis runs fastest. No axes give the total.
#[cfg(test)]
pub(crate) fn table(rows: &Rows, axes: &[Axis<'_>]) -> Result<Counts, CountError> {
    Counter::new(rows).table(axes)
}

/// Counts many tables of the same rows, with one set of buffers. Each thread has its own.
pub struct Counter<'r> {
    rows: &'r Rows,
    /// The cells of one block of rows: as private as the rows.
    index: Zeroizing<Vec<u32>>,
}

impl<'r> Counter<'r> {
    /// A counter of these rows.
    pub fn new(rows: &'r Rows) -> Counter<'r> {
        Counter { rows, index: Zeroizing::new(vec![0; BLOCK]) }
    }

    /// The table over `axes`, row-major: the last axis runs fastest. No axes give the total.
    pub fn table(&mut self, axes: &[Axis<'_>]) -> Result<Counts, CountError> {
        self.blocks(axes, |cells, index, _| {
            for &cell in index {
                // Cannot overflow: no cell counts more rows than fit in memory.
                cells[cell as usize] += 1;
            }
            Ok(())
        })
    }

    /// Cells filled block by block of rows: from the cell of each row, and which rows they are.
    fn blocks(
        &mut self,
        axes: &[Axis<'_>],
        mut fill: impl FnMut(&mut [i64], &[u32], Range<usize>) -> Result<(), CountError>,
    ) -> Result<Counts, CountError> {
        let mut counts = Counts::zero(self.checked_cells(axes)?);
        for start in (0..self.rows.len()).step_by(BLOCK) {
            let block = start..self.rows.len().min(start + BLOCK);
            let index = &mut self.index[..block.len()];
            index.fill(0);
            for axis in axes {
                if let Some(codes) = self.rows.column(axis.dimension) {
                    index::extend(index, axis, codes, block.clone());
                }
            }
            fill(counts.cells_mut(), index, block)?;
        }
        Ok(counts)
    }

    /// What the rows add up to in each cell of a cuboid.
    pub(in crate::secret) fn added(
        &mut self,
        cube: &Cube,
        cuboid: &Cuboid,
        addend: Addend,
    ) -> Result<Counts, CountError> {
        let column = addend.column;
        self.over(cube, cuboid, |counter, axes| {
            let codes = counter.rows.column(column).ok_or(CountError::Axis(column))?;
            counter.blocks(axes, |cells, index, block| {
                for (&cell, row) in index.iter().zip(block) {
                    let cell = &mut cells[cell as usize];
                    *cell = addend.plus(*cell, addend.of(codes.values().at(row))).ok_or(CountError::Sum)?;
                }
                Ok(())
            })
        })
    }

    /// The table of a cuboid, dimensions ascending, the last one fastest.
    pub(crate) fn cuboid(&mut self, cube: &Cube, cuboid: &Cuboid) -> Result<Counts, CountError> {
        self.over(cube, cuboid, |counter, axes| counter.table(axes))
    }

    /// The axes of a cuboid.
    fn over<T>(
        &mut self,
        cube: &Cube,
        cuboid: &Cuboid,
        then: impl FnOnce(&mut Self, &[Axis<'_>]) -> Result<T, CountError>,
    ) -> Result<T, CountError> {
        let mut levels = Vec::with_capacity(cuboid.len());
        for (at, Level { dimension: d, level: l }) in cuboid.iter().enumerate() {
            let dimension = cube.dimensions.get(d).filter(|d| l <= d.finest()).ok_or(CountError::Axis(at))?;
            let up = (l < dimension.finest()).then(|| dimension.ancestors(dimension.finest(), l));
            levels.push((d, up, dimension.levels[l].len()));
        }
        let axes: Vec<Axis<'_>> = levels
            .iter()
            .map(|(dimension, up, nodes)| Axis {
                dimension: *dimension,
                ancestors: up.as_deref(),
                nodes: *nodes,
            })
            .collect();
        then(self, &axes)
    }

    /// The number of cells, once every axis is known to stay inside the table: from here on an index is
    /// below the number of cells, which is at most 2^31, so 32-bit arithmetic on indices cannot wrap.
    fn checked_cells(&self, axes: &[Axis<'_>]) -> Result<usize, CountError> {
        let mut cells = 1usize;
        for (at, axis) in axes.iter().enumerate() {
            let codes = self.rows.column(axis.dimension).ok_or(CountError::Axis(at))?;
            let fits = match axis.ancestors {
                None => codes.nodes() == axis.nodes,
                Some(up) => codes.nodes() == up.len() && up.iter().all(|&node| (node as usize) < axis.nodes),
            };
            if !fits {
                return Err(CountError::Axis(at));
            }
            cells =
                cells.checked_mul(axis.nodes).filter(|&n| n <= MAX_CELLS).ok_or(CountError::TooManyCells)?;
        }
        Ok(cells)
    }
}
