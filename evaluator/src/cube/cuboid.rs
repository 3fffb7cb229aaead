//! A choice of level in every dimension; total is left out.

use super::Level;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A table's shape, or a component's name: [`Level`]s, dimensions ascending, none at total (level 0).
/// Dimensions that are not listed are at *total*. Levels are indices into
/// [`crate::cube::Dimension::levels`].
///
/// Up to four dimensions are held without an allocation: a plan over a hundred attributes handles
/// hundreds of thousands of these.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Cuboid(SmallVec<[(u16, u8); 4]>);

impl Cuboid {
    /// The grand total: one cell.
    pub fn total() -> Cuboid {
        Cuboid::default()
    }

    /// From levels in any order. Level 0 is dropped; of two levels of one dimension the finer wins.
    pub fn new(levels: impl IntoIterator<Item: Into<Level>>) -> Cuboid {
        let narrow = |at: Level| (at.dimension as u16, at.level as u8);
        let mut pairs: SmallVec<[(u16, u8); 4]> =
            levels.into_iter().map(Into::into).filter(|at| at.level > 0).map(narrow).collect();
        pairs.sort_unstable();
        // Sorted, so the finer level of a dimension comes last: keep that one.
        pairs.reverse();
        pairs.dedup_by_key(|&mut (d, _)| d);
        pairs.reverse();
        Cuboid(pairs)
    }

    /// From pairs of dimension and level as files have them: `None` unless dimensions ascend and none is at total.
    pub(crate) fn ascending(pairs: SmallVec<[(u16, u8); 4]>) -> Option<Cuboid> {
        let ascend = pairs.windows(2).all(|w| w[0].0 < w[1].0) && pairs.iter().all(|&(_, level)| level > 0);
        ascend.then_some(Cuboid(pairs))
    }

    /// This cuboid with one more dimension, which must come after all it has; level 0 adds nothing.
    pub(super) fn and_then(&self, at: Level) -> Cuboid {
        let mut pairs = self.0.clone();
        if at.level > 0 {
            pairs.push((at.dimension as u16, at.level as u8));
        }
        Cuboid(pairs)
    }

    /// Its levels, dimensions ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Level> + ExactSizeIterator + Clone + '_ {
        self.0.iter().map(|&(d, l)| Level::new(d.into(), l.into()))
    }

    /// The same as pairs of dimension and level: what maps of bases have as keys.
    pub fn pairs(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> + ExactSizeIterator + Clone + '_ {
        self.iter().map(|at| (at.dimension, at.level))
    }

    /// How many dimensions are not at total.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether this is the grand total.
    pub fn is_total(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this is the grand total (the name clippy wants beside `len`).
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The level of a dimension; 0 when it is not listed.
    pub fn level(&self, dimension: usize) -> usize {
        self.0
            .binary_search_by_key(&dimension, |&(d, _)| usize::from(d))
            .map_or(0, |at| usize::from(self.0[at].1))
    }

    /// The same with the dimension beside it.
    pub fn at(&self, dimension: usize) -> Level {
        Level::new(dimension, self.level(dimension))
    }

    /// Whether this cuboid rolls up from `other`: every level coarser or equal.
    pub fn is_below(&self, other: &Cuboid) -> bool {
        self.iter().all(|at| at.level <= other.level(at.dimension))
    }

    /// The same with this dimension at total.
    pub fn without(&self, dimension: usize) -> Cuboid {
        Cuboid::new(self.iter().filter(|at| at.dimension != dimension))
    }

    /// The coarsest cuboid both roll up from.
    pub fn join(&self, other: &Cuboid) -> Cuboid {
        Cuboid::new(self.iter().chain(other.iter()))
    }

    /// The finest cuboid that rolls up from both.
    pub fn meet(&self, other: &Cuboid) -> Cuboid {
        Cuboid::new(self.iter().map(|at| (at.dimension, at.level.min(other.level(at.dimension)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lattice() {
        let a = Cuboid::new(vec![(3, 1), (0, 2), (0, 1), (5, 0)]);
        assert_eq!(a.iter().collect::<Vec<_>>(), [Level::new(0, 2), Level::new(3, 1)]);
        let b = Cuboid::new(vec![(0, 1), (4, 1)]);
        assert_eq!(a.join(&b), Cuboid::new(vec![(0, 2), (3, 1), (4, 1)]));
        assert_eq!(a.meet(&b), Cuboid::new(vec![(0, 1)]));
        assert!(a.meet(&b).is_below(&a) && a.is_below(&a.join(&b)) && !a.is_below(&b));
        assert!(Cuboid::total().is_below(&a));
    }
}
