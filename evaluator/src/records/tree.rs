//! A dimension of too many areas to draw records from all at once, and from which of its levels they are parted: see [`super::areas`].

use super::RecordsError;
use crate::answer::Answers;
use crate::cube::{Cuboid, Level};
use std::collections::BTreeSet;

/// So many areas are drawn from at once.
const MOST_AREAS: usize = 1 << 8;
/// A dimension of fewer areas is no tree that is parted.
const PARTED: usize = 1 << 13;

/// A tree that is parted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tree {
    pub dimension: usize,
    /// The level from which areas are parted.
    pub top: usize,
    /// The finest that some table has.
    pub finest: usize,
}

impl Tree {
    /// The dimension of most areas, where there are that many, and a level above them of few.
    pub(super) fn of(releases: &[Answers], asked: &BTreeSet<Cuboid>) -> Result<Option<Tree>, RecordsError> {
        let Some(cube) = releases.first().map(Answers::cube) else { return Ok(None) };
        let tree = |dimension: usize| {
            let used: BTreeSet<usize> = asked.iter().map(|c| c.level(dimension)).filter(|&l| l > 0).collect();
            let size = |level: usize| cube.dimensions[dimension].levels[level].len();
            let finest = used.last().copied()?;
            let top = used.into_iter().filter(|&level| level < finest && size(level) <= MOST_AREAS).max()?;
            (size(finest) >= PARTED).then_some((size(finest), Tree { dimension, top, finest }))
        };
        let all = (0..cube.dimensions.len()).filter_map(tree);
        let Some((_, tree)) = all.max_by_key(|(size, tree)| (*size, tree.dimension)) else { return Ok(None) };
        for release in releases {
            let recovery = release.evaluator().recovery();
            if recovery.zeros().iter().any(|z| z.cuboid.level(tree.dimension) > tree.top) {
                let level = cube.level_name(Level::new(tree.dimension, tree.top));
                return Err(RecordsError::ClosedAreas(level));
            }
        }
        Ok(Some(tree))
    }

    /// A table with areas no finer than this level.
    pub(super) fn up_to(&self, table: &Cuboid, level: usize) -> Cuboid {
        let at = |l: Level| {
            Level::new(l.dimension, if l.dimension == self.dimension { l.level.min(level) } else { l.level })
        };
        Cuboid::new(table.iter().map(at))
    }

    /// The tables that records are drawn by before areas are parted.
    pub(super) fn above(&self, asked: &BTreeSet<Cuboid>) -> BTreeSet<Cuboid> {
        asked.iter().map(|c| self.up_to(c, self.top)).collect()
    }
}
