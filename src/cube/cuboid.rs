//! A choice of level in every dimension; total is left out.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A table's shape, or a component's name: (dimension, level) pairs, dimensions ascending, levels
/// at least 1. Dimensions that are not listed are at *total*. Levels are indices into
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

    /// From (dimension, level) pairs in any order. Level 0 is dropped; of two levels of one dimension
    /// the finer wins.
    pub fn new(mut pairs: Vec<(usize, usize)>) -> Cuboid {
        pairs.retain(|&(_, level)| level > 0);
        pairs.sort_unstable();
        // Sorted, so the finer level of a dimension comes last: keep that one.
        pairs.reverse();
        pairs.dedup_by_key(|&mut (d, _)| d);
        pairs.reverse();
        Cuboid(pairs.into_iter().map(|(d, l)| (d as u16, l as u8)).collect())
    }

    /// This cuboid with one more dimension, which must come after all it has; level 0 adds nothing.
    pub(super) fn and_then(&self, dimension: usize, level: usize) -> Cuboid {
        let mut pairs = self.0.clone();
        if level > 0 {
            pairs.push((dimension as u16, level as u8));
        }
        Cuboid(pairs)
    }

    /// (dimension, level), dimensions ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> + ExactSizeIterator + Clone + '_ {
        self.0.iter().map(|&(d, l)| (usize::from(d), usize::from(l)))
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

    /// Whether this cuboid rolls up from `other`: every level coarser or equal.
    pub fn is_below(&self, other: &Cuboid) -> bool {
        self.iter().all(|(d, l)| l <= other.level(d))
    }

    /// The coarsest cuboid both roll up from.
    pub fn join(&self, other: &Cuboid) -> Cuboid {
        Cuboid::new(self.iter().chain(other.iter()).collect())
    }

    /// The finest cuboid that rolls up from both.
    pub fn meet(&self, other: &Cuboid) -> Cuboid {
        Cuboid::new(self.iter().map(|(d, l)| (d, l.min(other.level(d)))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lattice() {
        let a = Cuboid::new(vec![(3, 1), (0, 2), (0, 1), (5, 0)]);
        assert_eq!(a.iter().collect::<Vec<_>>(), [(0, 2), (3, 1)]);
        let b = Cuboid::new(vec![(0, 1), (4, 1)]);
        assert_eq!(a.join(&b), Cuboid::new(vec![(0, 2), (3, 1), (4, 1)]));
        assert_eq!(a.meet(&b), Cuboid::new(vec![(0, 1)]));
        assert!(a.meet(&b).is_below(&a) && a.is_below(&a.join(&b)) && !a.is_below(&b));
        assert!(Cuboid::total().is_below(&a));
    }
}
