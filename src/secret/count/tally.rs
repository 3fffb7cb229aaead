//! Tables that are counted while the rows stream by.

use super::cover::size;
use super::words::{self, Words};
use super::{Addend, Counts, MAX_CELLS};
use crate::cube::{Cube, Cuboid};
use crate::secret::ingest::{CHUNK, Chunk, Take};
use std::sync::{Mutex, PoisonError};
use zeroize::Zeroizing;

/// How rows become cells of the tables: shared by all threads.
pub(super) struct Layouts {
    tables: Vec<Layout>,
    /// What rows add up to beside their number.
    added: Vec<Addend>,
    /// Where that is in a cell.
    words: Words,
    /// How many rows a thread counts at most before it settles.
    full: u64,
    /// Of each table all that was settled: counts, and for each addend what rows add up to.
    all: Mutex<Vec<Vec<Counts>>>,
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
        let tables = tables.iter().map(layout).collect::<Option<Vec<_>>>()?;
        // Settling takes as long as a few rows for each cell.
        let cells: usize = tables.iter().map(|table| table.cells).sum();
        let words = Words::new(added.iter().map(|addend| addend.span()), (4 * cells as u64).max(1 << 16));
        let full = if added.is_empty() { u32::MAX.into() } else { words.rows };
        Some(Layouts { tables, added: added.to_vec(), words, full, all: Mutex::default() })
    }
}

/// The tables as one thread counts them.
pub(super) struct Tally<'l> {
    layouts: &'l Layouts,
    /// Where rows are only counted: half the memory of what they are added to.
    narrow: Vec<Zeroizing<Vec<u32>>>,
    /// Where they add more, the words of each cell beside each other, as whoever looks for one needs them all.
    words: Vec<Zeroizing<Vec<u64>>>,
    /// What the rows of a chunk add, in the same order.
    adds: Zeroizing<Vec<u64>>,
    index: Zeroizing<Vec<u32>>,
    rows: u64,
    /// How many rows have not been settled.
    fresh: u64,
}

impl<'l> Tally<'l> {
    pub(super) fn new(layouts: &'l Layouts) -> Tally<'l> {
        let Layouts { tables, added, words, .. } = layouts;
        let (counts, sums) = tables.split_at(if added.is_empty() { tables.len() } else { 0 });
        Tally {
            layouts,
            narrow: counts.iter().map(|table| Zeroizing::new(vec![0; table.cells])).collect(),
            words: sums.iter().map(|table| Zeroizing::new(vec![0; table.cells * words.each])).collect(),
            adds: Zeroizing::new(vec![0; CHUNK * words.each]),
            index: Zeroizing::new(vec![0; CHUNK]),
            rows: 0,
            fresh: 0,
        }
    }

    /// Adds everything to what all threads have counted.
    fn settle(&mut self) {
        self.fresh = 0;
        let Layouts { tables, words, all, .. } = self.layouts;
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.is_empty() {
            *all =
                tables.iter().map(|t| words.places.iter().map(|_| Counts::zero(t.cells)).collect()).collect();
        }
        for (sums, narrow) in all.iter_mut().zip(&mut self.narrow) {
            let counts = sums.iter_mut().flat_map(|counts| counts.cells_mut());
            counts.zip(narrow.iter_mut()).for_each(|(sum, narrow)| *sum += i64::from(std::mem::take(narrow)));
        }
        for (sums, own) in all.iter_mut().zip(&mut self.words) {
            for (sums, &place) in sums.iter_mut().zip(&words.places) {
                for (sum, own) in sums.cells_mut().iter_mut().zip(own.chunks_exact(words.each)) {
                    *sum = sum.wrapping_add(words.of(place, own));
                }
            }
            own.fill(0);
        }
    }

    /// How many rows there were, what all threads counted, and for each addend what else they added up.
    pub(super) fn together(
        layouts: &Layouts,
        tallies: Vec<Tally<'_>>,
    ) -> (u64, Vec<Counts>, Vec<Vec<Counts>>) {
        let mut rows = 0;
        for mut tally in tallies {
            tally.settle();
            rows += tally.rows;
        }
        let all = std::mem::take(&mut *layouts.all.lock().unwrap_or_else(PoisonError::into_inner));
        let mut counts = Vec::new();
        let mut beside: Vec<Vec<Counts>> = layouts.added.iter().map(|_| Vec::new()).collect();
        for mut sums in all.into_iter().map(Vec::into_iter) {
            counts.extend(sums.next());
            beside.iter_mut().zip(sums).for_each(|(beside, sums)| beside.push(sums));
        }
        (rows, counts, beside)
    }
}

impl Take for Tally<'_> {
    fn take(&mut self, _: usize, chunk: &Chunk) {
        let Layouts { tables, added, words, full, .. } = self.layouts;
        if self.fresh + chunk.len() as u64 > *full {
            self.settle();
        }
        self.fresh += chunk.len() as u64;
        self.rows += chunk.len() as u64;
        if !added.is_empty() {
            words.fill_rows(&mut self.adds);
        }
        for (place, addend) in words.places.iter().skip(1).zip(added) {
            addend.fill(&mut self.adds, words.each, *place, chunk.nodes(addend.column));
        }
        let Some(index) = self.index.get_mut(..chunk.len()) else { return };
        for (at, layout) in tables.iter().enumerate() {
            index.fill(0);
            for axis in &layout.axes {
                axis.extend(index, chunk.nodes(axis.dimension));
            }
            if let Some(own) = self.words.get_mut(at) {
                words::add(own, index, &self.adds, words.each);
            } else if let Some(narrow) = self.narrow.get_mut(at) {
                for &cell in &*index {
                    // Below `full` rows, so it cannot overflow.
                    let count = &mut narrow[cell as usize];
                    *count = count.wrapping_add(1);
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
