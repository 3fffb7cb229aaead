//! Which tables are counted while the rows stream by, so that all that are needed follow from them.
//!
//! Chosen from the domain and the plan alone. A table over more dimensions, or finer levels, holds all over fewer: one that is small enough to
//! stay in the caches costs one addition a row, whatever number of tables it holds.

use crate::cube::{Cube, Cuboid, Level};
use crate::secret::ingest::Memory;

/// Tables are put together up to so many bytes, of what a thread counts: they stay in the second cache.
const TOGETHER: usize = 1 << 18;
/// Of more tables none are put together: finding out which would take longer than it saves.
const FEW: usize = 128;
/// More tables are counted one by one.
const MANY: usize = 1 << 10;
/// The bytes that all tables may take, or less where little memory is.
const MEMORY: u64 = 160 << 20;

/// Tables are put together up to so many cells, where rows add up to so many things beside their number.
fn most(added: usize) -> usize {
    TOGETHER / (8 * added).max(4)
}

/// The bytes that a cell takes at most while it is counted: for each thread a narrow count, or a word for it and for each thing else that rows add up to (nearly
/// always fewer), and all of them together.
pub(super) fn of_cell(added: usize, threads: usize) -> u64 {
    let (all, threads) = (8 * (added as u64 + 1), threads as u64);
    let own = if added == 0 { 4 } else { all };
    own * threads + all
}

/// The bytes that tables take while they are counted.
fn bytes(cube: &Cube, tables: &[Cuboid], added: usize, threads: usize) -> Option<u64> {
    let cells = tables.iter().try_fold(0usize, |cells, table| cells.checked_add(size(cube, table)?))?;
    (cells as u64).checked_mul(of_cell(added, threads))
}

/// The bytes that are taken at least to count `wanted` while rows stream by; `None` where rows must be kept.
pub(super) fn needed(
    cube: &Cube,
    wanted: &[&Cuboid],
    added: usize,
    threads: usize,
    memory: Memory,
) -> Option<u64> {
    bytes(cube, &cover(cube, wanted, added, threads, memory)?, added, threads)
}

/// Tables that hold all of `wanted`; `None` where they would take too much memory on so many threads, or there are too many. Then the
/// rows are kept, and each table is counted by itself.
pub(super) fn cover(
    cube: &Cube,
    wanted: &[&Cuboid],
    added: usize,
    threads: usize,
    memory: Memory,
) -> Option<Vec<Cuboid>> {
    let fits = |tables: &[Cuboid]| {
        let most = memory.limit().map_or(MEMORY, |limit| MEMORY.min(limit / 2));
        (bytes(cube, tables, added, threads)? <= most).then_some(())
    };
    let apart = largest(wanted)?;
    fits(&apart)?;
    if apart.len() > FEW {
        return Some(apart);
    }
    let tables = together(cube, &apart, most(added))?;
    Some(if fits(&tables).is_some() { tables } else { apart })
}

/// How many cells a table has.
pub(super) fn size(cube: &Cube, table: &Cuboid) -> Option<usize> {
    table.iter().try_fold(1usize, |cells, level| {
        let dimension = cube.dimensions.get(level.dimension)?;
        cells.checked_mul(dimension.levels.get(level.level)?.len())
    })
}

/// Whether `table` holds `part`: all its dimensions, at these levels or finer ones.
pub(super) fn holds(table: &Cuboid, part: &Cuboid) -> bool {
    let mut of_table = table.iter();
    part.iter().all(|level| of_table.any(|l| l.dimension == level.dimension && l.level >= level.level))
}

/// The tables that no other one holds, each once.
pub(super) fn largest(wanted: &[&Cuboid]) -> Option<Vec<Cuboid>> {
    let mut sorted: Vec<&Cuboid> = wanted.to_vec();
    sorted.sort_by_key(|table| std::cmp::Reverse(table.len()));
    let mut largest: Vec<Cuboid> = Vec::new();
    for table in sorted {
        // At equal lengths a coarser one may come first.
        if !largest.iter().any(|other| holds(other, table)) {
            largest.retain(|other| !holds(table, other));
            largest.push(table.clone());
        }
        if largest.len() > MANY {
            return None;
        }
    }
    Some(largest)
}

/// The smallest table that holds both.
fn union(a: &Cuboid, b: &Cuboid) -> Cuboid {
    let mut levels: Vec<(usize, usize)> = a.iter().map(|l| (l.dimension, l.level)).collect();
    for Level { dimension, level } in b.iter() {
        match levels.iter_mut().find(|(d, _)| *d == dimension) {
            Some((_, own)) => *own = level.max(*own),
            None => levels.push((dimension, level)),
        }
    }
    Cuboid::new(levels)
}

/// Puts tables together, up to so many cells: each begins with the largest that is left, and takes in what brings most others with it.
fn together(cube: &Cube, tables: &[Cuboid], most: usize) -> Option<Vec<Cuboid>> {
    let mut left: Vec<&Cuboid> = tables.iter().collect();
    let mut order = Vec::with_capacity(tables.len());
    for table in &left {
        order.push((size(cube, table)?, table.len()));
    }
    let mut out = Vec::new();
    while let Some(first) = (0..left.len()).max_by_key(|&i| size(cube, left[i])) {
        let mut one = left.swap_remove(first).clone();
        loop {
            left.retain(|table| !holds(&one, table));
            // What the union would hold, first; then the smaller.
            let best = left
                .iter()
                .map(|table| union(&one, table))
                .filter_map(|union| {
                    size(cube, &union).filter(|&cells| cells <= most).map(|cells| (cells, union))
                })
                .max_by_key(|(cells, union)| {
                    let held = left.iter().filter(|table| holds(union, table)).count();
                    (held, std::cmp::Reverse(*cells))
                });
            match best {
                Some((_, union)) => one = union,
                None => break,
            }
        }
        out.push(one);
    }
    Some(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cube::Dimension;
    use proptest::prelude::*;

    fn cube(sizes: &[usize]) -> Cube {
        let dimension = |(at, &n): (usize, &usize)| {
            Dimension::plain(&format!("d{at}"), (0..n).map(|v| v.to_string()).collect())
        };
        Cube { dimensions: sizes.iter().enumerate().map(dimension).collect() }
    }

    proptest! {
        #[test]
        fn all_is_covered(
            sizes in prop::collection::vec(1usize..60, 1..7),
            picks in prop::collection::vec(prop::collection::btree_set(0usize..7, 0..4), 0..12),
        ) {
            let cube = cube(&sizes);
            let tables: Vec<Cuboid> = picks
                .iter()
                .map(|of| Cuboid::new(of.iter().filter(|&&d| d < sizes.len()).map(|&d| (d, 1)).collect::<Vec<_>>()))
                .collect();
            let wanted: Vec<&Cuboid> = tables.iter().collect();
            if let Some(cover) = cover(&cube, &wanted, 0, 2, Memory::default()) {
                for table in &tables {
                    prop_assert!(cover.iter().any(|one| holds(one, table)));
                }
                for one in &cover {
                    prop_assert!(size(&cube, one).unwrap() <= most(0) || tables.contains(one));
                }
                prop_assert!(cover.len() <= tables.len());
            }
        }
    }

    #[test]
    fn pairs_are_put_together() {
        let cube = cube(&[9, 16, 7, 15, 6, 5, 2, 2]);
        let pairs: Vec<Cuboid> =
            (0..8).flat_map(|a| (a + 1..8).map(move |b| Cuboid::new(vec![(a, 1), (b, 1)]))).collect();
        let wanted: Vec<&Cuboid> = pairs.iter().collect();
        let cover = cover(&cube, &wanted, 0, 2, Memory::default()).unwrap();
        assert!(cover.len() <= 6, "{cover:?}");
        let huge = self::cube(&[5000, 5000, 5000]);
        assert_eq!(super::cover(&huge, &wanted[..1], 0, 2, Memory::default()).map(|c| c.len()), None);
        let small = self::cube(&[3, 3, 3, 3, 3, 3, 3, 3]);
        assert_eq!(super::cover(&small, &wanted, 0, 2, Memory::default()).unwrap().len(), 1);
    }
}
