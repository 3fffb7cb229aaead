//! Which tables records are fitted to, and of a dimension of too many areas to draw records from all at once from which of its levels they are parted: see
//! [`super::areas`].

use super::RecordsError;
use crate::answer::Answers;
use crate::cube::{Cube, Cuboid, Level};
use std::collections::BTreeSet;

/// So many areas are drawn from at once.
const MOST_AREAS: usize = 1 << 8;
/// A dimension of fewer areas is no tree that is parted.
const PARTED: usize = 1 << 13;

/// Of a table of more dimensions than this, no pairs are looked at.
const WIDE: usize = 8;

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
    pub(super) fn among(cube: &Cube, asked: &BTreeSet<Cuboid>) -> Option<Tree> {
        let tree = |dimension: usize| {
            let used: BTreeSet<usize> = asked.iter().map(|c| c.level(dimension)).filter(|&l| l > 0).collect();
            let size = |level: usize| cube.dimensions[dimension].levels[level].len();
            let finest = used.last().copied()?;
            let top = used.into_iter().filter(|&level| level < finest && size(level) <= MOST_AREAS).max()?;
            (size(finest) >= PARTED).then_some((size(finest), Tree { dimension, top, finest }))
        };
        let all = (0..cube.dimensions.len()).filter_map(tree);
        all.max_by_key(|(size, tree)| (*size, tree.dimension)).map(|(_, tree)| tree)
    }

    /// That of releases, unless cells are declared empty below its level.
    pub(super) fn of(releases: &[Answers], asked: &BTreeSet<Cuboid>) -> Result<Option<Tree>, RecordsError> {
        let Some(cube) = releases.first().map(Answers::cube) else { return Ok(None) };
        let Some(tree) = Tree::among(cube, asked) else { return Ok(None) };
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

    /// The levels that tables have, from the one above which nothing is parted down.
    pub(super) fn levels(&self, asked: &BTreeSet<Cuboid>) -> BTreeSet<usize> {
        asked.iter().map(|c| c.level(self.dimension)).filter(|&l| l >= self.top).collect()
    }

    /// The tables that areas of a level are fitted to, with those of finer levels summed up to it.
    pub(super) fn tables(&self, asked: &BTreeSet<Cuboid>, level: usize) -> Vec<Cuboid> {
        let deep = asked.iter().filter(|c| c.level(self.dimension) >= level);
        let deep = deep.map(|c| self.up_to(c, level)).collect();
        with_lower(&deep).into_iter().filter(|c| c.level(self.dimension) == level).collect()
    }
}

/// The tables with those of one and two of their dimensions: fewer dimensions first.
pub(super) fn with_lower(asked: &BTreeSet<Cuboid>) -> Vec<Cuboid> {
    let mut all: BTreeSet<(usize, Cuboid)> = BTreeSet::new();
    let mut add = |c: Cuboid| {
        all.insert((c.len(), c));
    };
    for cuboid in asked {
        let levels: Vec<Level> = cuboid.iter().collect();
        add(cuboid.clone());
        for (i, &a) in levels.iter().enumerate() {
            add(Cuboid::new([a]));
            if levels.len() <= WIDE {
                levels[..i].iter().for_each(|&b| add(Cuboid::new([a, b])));
            }
        }
    }
    all.into_iter().map(|(_, cuboid)| cuboid).collect()
}
