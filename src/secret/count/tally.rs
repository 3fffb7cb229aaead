//! Tables that are counted while the rows stream by.

use super::cover::size;
use super::{Addend, Counts, MAX_CELLS};
use crate::cube::{Cube, Cuboid};
use crate::secret::ingest::{CHUNK, Chunk, Take};
use zeroize::Zeroizing;

/// How rows become cells of the tables: shared by all threads.
pub(super) struct Layouts {
    tables: Vec<Layout>,
    /// What rows add up to beside their number.
    added: Vec<Addend>,
}

struct Layout {
    axes: Vec<Axis>,
    cells: usize,
}

/// A dimension and a level of it.
struct Axis {
    dimension: usize,
    /// For each finest node that of the level; `None` is the finest itself.
    up: Option<Vec<u32>>,
    nodes: u32,
}

impl Layouts {
    /// Of these tables and what rows add up to in them. `None` where one is no table of the cube, or has too many cells.
    pub(super) fn new(cube: &Cube, tables: &[Cuboid], added: &[Addend]) -> Option<Layouts> {
        let layout = |cuboid: &Cuboid| {
            let cells = size(cube, cuboid).filter(|&cells| cells <= MAX_CELLS)?;
            let axes = cuboid.iter().map(|level| {
                let dimension = cube.dimensions.get(level.dimension)?;
                let finest = dimension.finest();
                let up = (level.level < finest).then(|| dimension.ancestors(finest, level.level));
                let nodes = u32::try_from(dimension.levels.get(level.level)?.len()).ok()?;
                Some(Axis { dimension: level.dimension, up, nodes })
            });
            Some(Layout { axes: axes.collect::<Option<_>>()?, cells })
        };
        Some(Layouts { tables: tables.iter().map(layout).collect::<Option<_>>()?, added: added.to_vec() })
    }
}

/// The tables as one thread counts them.
pub(super) struct Tally<'l> {
    layouts: &'l Layouts,
    /// Counts of at most `full` rows: half the memory of what they are added to.
    narrow: Vec<Zeroizing<Vec<u32>>>,
    sums: Vec<Counts>,
    /// For each addend and each table what rows add up to.
    beside: Vec<Vec<Counts>>,
    /// For each addend what each row of a chunk adds.
    adds: Vec<Zeroizing<Vec<i64>>>,
    index: Zeroizing<Vec<u32>>,
    rows: u64,
    /// How many rows are in the narrow counts.
    fresh: u64,
    /// With how many they are added up: before one can overflow.
    full: u64,
}

impl<'l> Tally<'l> {
    pub(super) fn new(layouts: &'l Layouts) -> Tally<'l> {
        Tally {
            layouts,
            narrow: layouts.tables.iter().map(|table| Zeroizing::new(vec![0; table.cells])).collect(),
            sums: Vec::new(),
            beside: (layouts.added.iter())
                .map(|_| layouts.tables.iter().map(|table| Counts::zero(table.cells)).collect())
                .collect(),
            adds: layouts.added.iter().map(|_| Zeroizing::new(vec![0; CHUNK])).collect(),
            index: Zeroizing::new(vec![0; CHUNK]),
            rows: 0,
            fresh: 0,
            full: u64::from(u32::MAX) - CHUNK as u64,
        }
    }

    /// Adds the narrow counts up.
    fn settle(&mut self) {
        self.fresh = 0;
        if self.sums.is_empty() {
            self.sums = self.narrow.iter().map(|table| Counts::zero(table.len())).collect();
        }
        for (sums, narrow) in self.sums.iter_mut().zip(&mut self.narrow) {
            for (sum, narrow) in sums.cells_mut().iter_mut().zip(narrow.iter_mut()) {
                *sum += i64::from(std::mem::take(narrow));
            }
        }
    }

    /// How many rows there were, what all threads counted, and for each addend what else they added up.
    pub(super) fn together(tallies: Vec<Tally<'_>>) -> (u64, Vec<Counts>, Vec<Vec<Counts>>) {
        let rows = tallies.iter().map(|tally| tally.rows).sum();
        let (mut sums, mut beside): (Vec<Counts>, Vec<Vec<Counts>>) = Default::default();
        for mut tally in tallies {
            tally.settle();
            if sums.is_empty() {
                (sums, beside) = (tally.sums, tally.beside);
                continue;
            }
            sums.iter_mut().zip(&tally.sums).for_each(|(sum, more)| sum.add(more));
            let each = beside.iter_mut().flatten().zip(tally.beside.iter().flatten());
            each.for_each(|(sum, more)| sum.add(more));
        }
        (rows, sums, beside)
    }
}

impl Take for Tally<'_> {
    fn take(&mut self, _: usize, chunk: &Chunk) {
        if self.fresh >= self.full {
            self.settle();
        }
        self.fresh += chunk.len() as u64;
        self.rows += chunk.len() as u64;
        for (addend, adds) in self.layouts.added.iter().zip(&mut self.adds) {
            let codes = chunk.nodes(addend.column).iter();
            adds.iter_mut().zip(codes).for_each(|(adds, &code)| *adds = addend.of(code.into()));
        }
        let Some(index) = self.index.get_mut(..chunk.len()) else { return };
        for (at, (layout, narrow)) in self.layouts.tables.iter().zip(&mut self.narrow).enumerate() {
            index.fill(0);
            for axis in &layout.axes {
                axis.extend(index, chunk.nodes(axis.dimension));
            }
            for &cell in &*index {
                // Below `full` rows, so it cannot overflow.
                let count = &mut narrow[cell as usize];
                *count = count.wrapping_add(1);
            }
            for (sums, adds) in self.beside.iter_mut().zip(&self.adds) {
                let Some(sums) = sums.get_mut(at).map(Counts::cells_mut) else { continue };
                for (&cell, &adds) in index.iter().zip(adds.iter()) {
                    // What rows so many that this overflows would make is never looked at: see `has_room` in `measure`.
                    let sum = &mut sums[cell as usize];
                    *sum = sum.wrapping_add(adds);
                }
            }
        }
    }
}

impl Axis {
    /// Makes cells of a table those of the table with one more axis. Every index is below the number of cells, at most 2^31.
    fn extend(&self, index: &mut [u32], nodes: &[u32]) {
        let step = |cell: &mut u32, node: u32| *cell = cell.wrapping_mul(self.nodes).wrapping_add(node);
        match &self.up {
            None => index.iter_mut().zip(nodes).for_each(|(cell, &node)| step(cell, node)),
            Some(up) => index.iter_mut().zip(nodes).for_each(|(cell, &node)| step(cell, up[node as usize])),
        }
    }
}
