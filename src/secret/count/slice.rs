//! Rows in the order of the nodes of one dimension, so that a [slice](crate::plan::slices) of a table is counted from its own rows alone.
//!
//! Whose rows are how many is as private as the rows: what is made of them here is wiped on drop like them.

use super::{BLOCK, CountError, Counts, MAX_CELLS};
use crate::cube::{Cube, Cuboid, Dimension, Level};
use crate::plan::slices::Slices;
use crate::secret::ingest::{Codes, Rows, Values};
use zeroize::Zeroizing;

/// Where the rows of each finest node of a dimension begin, in rows that are [in their order](Rows::sort_by), and where the last ones end.
pub(in crate::secret) struct Starts {
    pub(super) dimension: usize,
    of_node: Zeroizing<Vec<usize>>,
}

impl Starts {
    /// Brings rows in order. `None` for a column that is not there, or one of texts.
    pub(super) fn sort(rows: &mut Rows, dimension: usize) -> Option<Starts> {
        let of_node = Zeroizing::new(rows.sort_by(dimension)?);
        Some(Starts { dimension, of_node })
    }
}

/// How the finest nodes of a dimension are in the slices of a table: public, and made once for all slices of it.
pub(in crate::secret) struct Shares {
    slices: std::sync::Arc<Slices>,
    /// The finest nodes, those of one slice after those of another, and where those of each end.
    finest: Vec<u32>,
    ends: Vec<usize>,
    /// For each of them the node of the table's level it is below, as a place in the slice.
    place: Vec<u32>,
}

impl Shares {
    pub(in crate::secret) fn new(cube: &Cube, slices: std::sync::Arc<Slices>) -> Option<Shares> {
        let Level { dimension, level } = slices.level;
        let dimension: &Dimension = cube.dimensions.get(dimension)?;
        let nodes = dimension.levels.get(level)?.len();
        let (mut slice_of, mut at) = (vec![0u32; nodes], vec![0u32; nodes]);
        for slice in 0..slices.count() {
            for (&node, place) in slices.nodes(slice).iter().zip(0..) {
                (slice_of[node as usize], at[node as usize]) = (slice as u32, place);
            }
        }
        let up = dimension.ancestors(dimension.finest(), level);
        let of_finest: Vec<u32> = up.iter().map(|&node| slice_of[node as usize]).collect();
        let mut next = vec![0usize; slices.count() + 1];
        of_finest.iter().for_each(|&slice| next[slice as usize + 1] += 1);
        (1..next.len()).for_each(|slice| next[slice] += next[slice - 1]);
        let mut finest = vec![0; of_finest.len()];
        for (&slice, node) in of_finest.iter().zip(0..) {
            finest[next[slice as usize]] = node;
            next[slice as usize] += 1;
        }
        let place = up.iter().map(|&node| at[node as usize]).collect();
        Some(Shares { slices, finest, ends: next, place })
    }

    pub(super) fn level(&self) -> Level {
        self.slices.level
    }

    /// The finest nodes of a slice.
    fn finest(&self, slice: usize) -> &[u32] {
        let start = slice.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.finest[start..self.ends[slice]]
    }

    fn nodes(&self, slice: usize) -> usize {
        self.slices.nodes(slice).len()
    }
}

/// An axis of a table, but for the one that is cut.
struct Beside {
    dimension: usize,
    up: Option<Vec<u32>>,
    nodes: u32,
}

/// Each axis in the order of the table; nothing for the one that is cut.
fn axes(cube: &Cube, cuboid: &Cuboid, cut: Level) -> Result<Vec<Option<Beside>>, CountError> {
    let one = |(at, level): (usize, Level)| {
        if level == cut {
            return Ok(None);
        }
        let dimension = cube.dimensions.get(level.dimension).filter(|d| level.level <= d.finest());
        let dimension = dimension.ok_or(CountError::Axis(at))?;
        let finest = dimension.finest();
        let up = (level.level < finest).then(|| dimension.ancestors(finest, level.level));
        let nodes = dimension.levels[level.level].len() as u32;
        Ok(Some(Beside { dimension: level.dimension, up, nodes }))
    };
    cuboid.iter().enumerate().map(one).collect()
}

/// The counts of one slice of a table from rows in the order of the dimension that is cut.
pub(super) fn of_rows(
    rows: &Rows,
    starts: &Starts,
    (cube, cuboid): (&Cube, &Cuboid),
    (shares, slice): (&Shares, usize),
) -> Result<Counts, CountError> {
    let axes = axes(cube, cuboid, shares.level())?;
    let nodes = shares.nodes(slice);
    let mut cells = nodes;
    for beside in axes.iter().flatten() {
        cells = cells.checked_mul(beside.nodes as usize).ok_or(CountError::TooManyCells)?;
    }
    if cells > MAX_CELLS || starts.dimension != shares.level().dimension {
        return Err(CountError::TooManyCells);
    }
    let mut counts = Counts::zero(cells);
    // Rows that are looked at together: which they are, and where their nodes are in the slice. As private as the rows.
    let mut row = Zeroizing::new(vec![0usize; BLOCK]);
    let mut place = Zeroizing::new(vec![0u32; BLOCK]);
    let mut index = Zeroizing::new(vec![0u32; BLOCK]);
    let mut held = 0;
    let mut add = |row: &[usize], place: &[u32]| -> Result<(), CountError> {
        let index = &mut index[..row.len()];
        index.fill(0);
        for (at, axis) in axes.iter().enumerate() {
            match axis {
                None => (index.iter_mut().zip(place))
                    .for_each(|(cell, &p)| *cell = cell.wrapping_mul(nodes as u32).wrapping_add(p)),
                Some(axis) => {
                    let codes = rows.column(axis.dimension).ok_or(CountError::Axis(at))?;
                    extend(index, axis, codes, row);
                }
            }
        }
        let cells = counts.cells_mut();
        for &cell in index.iter() {
            // Below the number of cells, as codes are below that of nodes; no cell counts more rows than fit in memory.
            cells[cell as usize] += 1;
        }
        Ok(())
    };
    for &node in shares.finest(slice) {
        let own = starts.of_node[node as usize]..starts.of_node[node as usize + 1];
        let at = shares.place[node as usize];
        for r in own {
            (row[held], place[held]) = (r, at);
            held += 1;
            if held == BLOCK {
                add(&row, &place)?;
                held = 0;
            }
        }
    }
    add(&row[..held], &place[..held])?;
    Ok(counts)
}

/// Makes the cells of a table those of the table with one more axis, for rows that need not stand beside each other.
fn extend(index: &mut [u32], axis: &Beside, codes: &Codes, rows: &[usize]) {
    match codes.values() {
        Values::U8(codes) => extend_from(index, axis, codes, rows),
        Values::U16(codes) => extend_from(index, axis, codes, rows),
        Values::U32(codes) => extend_from(index, axis, codes, rows),
        Values::Text(_) => index.iter_mut().for_each(|cell| *cell = cell.wrapping_mul(axis.nodes)),
    }
}

fn extend_from<C: Copy + Into<u32>>(index: &mut [u32], axis: &Beside, codes: &[C], rows: &[usize]) {
    for (cell, &row) in index.iter_mut().zip(rows) {
        let code: u32 = codes[row].into();
        let node = axis.up.as_ref().map_or(code, |up| up[code as usize]);
        *cell = cell.wrapping_mul(axis.nodes).wrapping_add(node);
    }
}

/// Along one dimension of a counted table: where each node that is in the slice stands in it, and in the slice.
pub(super) type Pairs = Vec<(usize, usize)>;

/// One slice of the table of a cuboid, from a counted table that holds it.
pub(super) fn of_table(
    cube: &Cube,
    cuboid: &Cuboid,
    (table, counts): (&Cuboid, &Counts),
    (shares, slice): (&Shares, usize),
) -> Result<Counts, CountError> {
    let cut = shares.level();
    let (mut from, mut to) = (counts.cells().len(), 1usize);
    let size = |level: Level| match level == cut {
        true => shares.nodes(slice),
        false => level.of(cube).len(),
    };
    for level in cuboid.iter() {
        to = to.checked_mul(size(level)).filter(|&n| n <= MAX_CELLS).ok_or(CountError::TooManyCells)?;
    }
    let mut own = Counts::zero(to);
    let mut axes: Vec<Pairs> = Vec::with_capacity(table.len());
    for (at, level) in table.iter().enumerate() {
        let dimension = cube.dimensions.get(level.dimension).ok_or(CountError::Axis(at))?;
        let nodes = dimension.levels.get(level.level).ok_or(CountError::Axis(at))?.len();
        from /= nodes.max(1);
        let Some(kept) = cuboid.iter().find(|l| l.dimension == level.dimension) else {
            axes.push((0..nodes).map(|node| (node * from, 0)).collect());
            continue;
        };
        to /= size(kept).max(1);
        axes.push(match kept == cut {
            true if level.level == dimension.finest() => {
                let place = |&node: &u32| (node as usize * from, shares.place[node as usize] as usize * to);
                shares.finest(slice).iter().map(place).collect()
            }
            true => {
                let up = dimension.ancestors(level.level, kept.level);
                let place = |(node, up): (usize, &u32)| {
                    let place = shares.slices.nodes(slice).binary_search(up).ok()?;
                    Some((node * from, place * to))
                };
                up.iter().enumerate().filter_map(place).collect()
            }
            false => {
                let up = dimension.ancestors(level.level, kept.level);
                up.iter().enumerate().map(|(node, &up)| (node * from, up as usize * to)).collect()
            }
        });
    }
    add(&axes, (0, 0), counts.cells(), own.cells_mut());
    Ok(own)
}

/// Adds every combination of nodes to where it belongs. All rows together fit: see `has_room` in `measure`.
pub(super) fn add(axes: &[Pairs], (from, to): (usize, usize), counts: &[i64], own: &mut [i64]) {
    let mut one = |from: usize, to: usize| own[to] = own[to].wrapping_add(counts[from]);
    match axes {
        [] => one(from, to),
        [axis] => axis.iter().for_each(|&(f, t)| one(from + f, to + t)),
        [axis, rest @ ..] => axis.iter().for_each(|&(f, t)| add(rest, (from + f, to + t), counts, own)),
    }
}
