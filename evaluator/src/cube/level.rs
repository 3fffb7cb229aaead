//! A degree of detail of one dimension: what a table is made of, what GROUP BY names.

use super::{Categories, Cube};

/// One level of one dimension, by their indices in a [`Cube`]. Level 0 is *total*.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Level {
    /// Which of [`Cube::dimensions`].
    pub dimension: usize,
    /// Which of its levels, [`super::Dimension::levels`]; the number after the finest are a reader's own groups.
    pub level: usize,
}

impl Level {
    /// From the two indices.
    pub fn new(dimension: usize, level: usize) -> Level {
        Level { dimension, level }
    }

    /// The nodes of this level.
    ///
    /// # Panics
    /// When the cube has no such level: levels are checked where they are read.
    pub fn of(self, cube: &Cube) -> &Categories {
        cube.dimensions[self.dimension].level(self.level)
    }
}

impl From<(usize, usize)> for Level {
    fn from((dimension, level): (usize, usize)) -> Level {
        Level { dimension, level }
    }
}
