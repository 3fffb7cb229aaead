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
    /// For each table what rows add up to: of a cell all addends beside each other, as whoever looks for one needs them all.
    beside: Vec<Zeroizing<Vec<i64>>>,
    /// What the rows of a chunk add, in the same order.
    adds: Zeroizing<Vec<i64>>,
    index: Zeroizing<Vec<u32>>,
    rows: u64,
    /// How many rows are in the narrow counts.
    fresh: u64,
    /// With how many they are added up: before one can overflow.
    full: u64,
}

impl<'l> Tally<'l> {
    pub(super) fn new(layouts: &'l Layouts) -> Tally<'l> {
        let added = layouts.added.len();
        Tally {
            layouts,
            narrow: layouts.tables.iter().map(|table| Zeroizing::new(vec![0; table.cells])).collect(),
            sums: Vec::new(),
            beside: layouts.tables.iter().map(|table| Zeroizing::new(vec![0; table.cells * added])).collect(),
            adds: Zeroizing::new(vec![0; CHUNK * added]),
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
        let mut tallies = tallies.into_iter();
        let Some(mut all) = tallies.next() else { return Default::default() };
        all.settle();
        for mut tally in tallies {
            tally.settle();
            all.sums.iter_mut().zip(&tally.sums).for_each(|(sum, more)| sum.add(more));
            let each = all.beside.iter_mut().flat_map(|table| table.iter_mut());
            each.zip(tally.beside.iter().flat_map(|table| table.iter()))
                .for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
        }
        let added = all.layouts.added.len();
        let of =
            |addend: usize| all.beside.iter().map(move |table| Counts::every(table, added, addend)).collect();
        let beside = (0..added).map(of).collect();
        (rows, all.sums, beside)
    }
}

impl Take for Tally<'_> {
    fn take(&mut self, _: usize, chunk: &Chunk) {
        if self.fresh >= self.full {
            self.settle();
        }
        self.fresh += chunk.len() as u64;
        self.rows += chunk.len() as u64;
        let added = self.layouts.added.len();
        for (at, addend) in self.layouts.added.iter().enumerate() {
            addend.fill(&mut self.adds, (at, added), chunk.nodes(addend.column));
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
            match self.beside.get_mut(at) {
                Some(sums) if added > 0 => add(sums, index, &self.adds, added),
                _ => {}
            }
        }
    }
}

/// Adds what rows add up to in their cells. What rows so many that this overflows would make is never looked at: see `has_room` in `measure`.
fn add(sums: &mut [i64], index: &[u32], adds: &[i64], added: usize) {
    /// So many at once: beside each other in few registers.
    fn many<const N: usize>(sums: &mut [i64], index: &[u32], adds: &[i64]) {
        let (sums, adds) = (sums.as_chunks_mut::<N>().0, adds.as_chunks::<N>().0);
        for (&cell, adds) in index.iter().zip(adds) {
            let sums = &mut sums[cell as usize];
            for at in 0..N {
                sums[at] = sums[at].wrapping_add(adds[at]);
            }
        }
    }
    match added {
        1 => many::<1>(sums, index, adds),
        2 => many::<2>(sums, index, adds),
        3 => many::<3>(sums, index, adds),
        4 => many::<4>(sums, index, adds),
        _ => {
            for (&cell, adds) in index.iter().zip(adds.chunks_exact(added)) {
                let sums = sums.iter_mut().skip(cell as usize * added);
                sums.zip(adds).for_each(|(sum, adds)| *sum = sum.wrapping_add(*adds));
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
