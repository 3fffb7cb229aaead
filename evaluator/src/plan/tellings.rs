//! How each level of each dimension is told by a plan's components: in one way by all of them; or, in one dimension, by weights of nodes that each component of the
//! others has for itself.
//!
//! **Why one dimension.** Recovery goes dimension by dimension. With a component of the others fixed, what is along the one dimension is told as if there were no others, so its levels may be
//! put together by that component's own shares before the others are. Two such dimensions would each have to come before the other.

use super::{Block, NodeWeights, Telling};
use crate::cube::Cuboid;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// How many kinds of components may have weights of their own, and how many weights a level.
pub(crate) const MOST_KINDS: usize = 256;

/// The weights of one kind of components, by level.
type Levels = BTreeMap<usize, Arc<NodeWeights>>;

/// How levels are told, by dimension and level.
type Told = BTreeMap<(usize, usize), Telling>;

/// The dimension in which components of the others have weights of their own.
#[derive(Debug, Clone)]
pub struct Own {
    /// Its number.
    pub dimension: usize,
    /// The weights of each kind of components, by level.
    pub kinds: Vec<Levels>,
    /// Of which kind each component of the others is.
    pub of: HashMap<Cuboid, usize>,
}

/// How the levels of all dimensions are told.
#[derive(Debug, Clone, Default)]
pub struct Tellings {
    /// By dimension and level, but for those told by siblings' differences; where weights differ, those of the first component.
    pub alike: Told,
    /// Where they differ.
    pub own: Option<Own>,
}

impl Own {
    fn of_blocks<'a>(dimension: usize, blocks: impl Iterator<Item = &'a Block>) -> Option<Own> {
        let mut all: BTreeMap<Cuboid, Levels> = BTreeMap::new();
        for block in blocks {
            let Block::Based(block) = block else { continue };
            let levels = all.entry(block.cuboid.without(dimension)).or_default();
            let along = block.dimensions().find(|(d, ..)| *d == dimension);
            if let Some((_, l, Telling::Weights(weights))) = along {
                levels.insert(l, weights.clone());
            }
        }
        let (mut kinds, mut of): (Vec<Levels>, HashMap<Cuboid, usize>) = Default::default();
        for (beside, levels) in all {
            // Some have no block at some of the levels.
            let fits = |own: &Levels| levels.iter().all(|(l, w)| own.get(l).is_none_or(|known| known == w));
            let known = kinds.iter().position(fits).unwrap_or(kinds.len());
            if known == MOST_KINDS {
                return None;
            }
            kinds.resize(kinds.len().max(known + 1), Levels::new());
            kinds[known].extend(levels);
            of.insert(beside, known);
        }
        Some(Own { dimension, kinds, of })
    }

    /// Of which kind a component is, whatever its level in this dimension. Those without blocks are of any.
    pub(crate) fn kind(&self, component: &Cuboid) -> usize {
        self.of.get(&component.without(self.dimension)).copied().unwrap_or(0)
    }
}

impl Tellings {
    /// Of a plan's blocks. The error says which of them do not fit each other.
    pub fn of<'a>(blocks: impl Iterator<Item = &'a Block> + Clone) -> Result<Tellings, &'static str> {
        let mut alike: BTreeMap<(usize, usize), &Telling> = BTreeMap::new();
        let mut several: Option<usize> = None;
        let mut note = |at: (usize, usize), told: &'a Telling| {
            let first = *alike.entry(at).or_insert(told);
            if first == told {
                return Ok(());
            }
            match (first, told, several) {
                (Telling::Weights(_), Telling::Weights(_), None) => several = Some(at.0),
                (Telling::Weights(_), Telling::Weights(_), Some(d)) if d == at.0 => {}
                (Telling::Weights(_), Telling::Weights(_), _) => {
                    return Err("components have weights of their own in two dimensions");
                }
                _ => return Err("a level is told in two ways"),
            }
            Ok(())
        };
        for block in blocks.clone() {
            match block {
                Block::Based(b) => b.dimensions().try_for_each(|(d, l, own)| note((d, l), own))?,
                Block::Component(c) => c.pairs().try_for_each(|at| note(at, &Telling::Siblings))?,
                _ => {}
            }
        }
        let alike = alike.into_iter().filter(|(_, told)| **told != Telling::Siblings);
        let alike = alike.map(|(at, told)| (at, told.clone())).collect();
        let own = match several {
            Some(dimension) => {
                Some(Own::of_blocks(dimension, blocks).ok_or("components have weights of too many kinds")?)
            }
            None => None,
        };
        Ok(Tellings { alike, own })
    }

    /// How all levels are told to each kind of components: one, where nothing differs.
    pub fn each(&self) -> Vec<Told> {
        let Some(own) = &self.own else { return vec![self.alike.clone()] };
        let of = |levels: &Levels| {
            let mut told = self.alike.clone();
            told.retain(|at, _| at.0 != own.dimension);
            told.extend(levels.iter().map(|(&l, w)| ((own.dimension, l), Telling::Weights(w.clone()))));
            told
        };
        own.kinds.iter().map(of).collect()
    }

    /// The number of a component's kind.
    pub fn kind(&self, component: &Cuboid) -> usize {
        self.own.as_ref().map_or(0, |own| own.kind(component))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Based, Basis};

    fn block(told: &[(usize, usize, Telling)]) -> Block {
        let cuboid = Cuboid::new(told.iter().map(|(d, l, _)| (*d, *l)).collect::<Vec<_>>());
        Block::Based(Based { cuboid, axes: told.iter().map(|(.., told)| told.clone()).collect() })
    }

    fn weights(factor: u32) -> Telling {
        Telling::Weights(Arc::new(NodeWeights::new(vec![0, 0], vec![factor, 1]).unwrap()))
    }

    fn of(blocks: &[Block]) -> Result<Tellings, &'static str> {
        Tellings::of(blocks.iter())
    }

    #[test]
    fn kinds_by_what_they_have_beside() {
        let blocks = [
            block(&[(1, 1, weights(2))]),
            block(&[(1, 2, weights(3))]),
            block(&[(0, 1, Telling::Siblings), (1, 1, weights(5))]),
            // What it has fits the first kind.
            block(&[(1, 2, weights(3)), (2, 1, Telling::Siblings)]),
            Block::Component(Cuboid::new([(0, 1)])),
        ];
        let told = of(&blocks).unwrap();
        let own = told.own.as_ref().unwrap();
        assert_eq!((own.dimension, own.kinds.len()), (1, 2));
        let kind = |levels: &[(usize, usize)]| told.kind(&Cuboid::new(levels.to_vec()));
        assert_eq!([kind(&[]), kind(&[(1, 2)]), kind(&[(0, 1), (1, 1)]), kind(&[(0, 1)])], [0, 0, 1, 1]);
        assert_eq!(kind(&[(1, 2), (2, 1)]), 0);
        let each = told.each();
        assert_eq!((&each[0][&(1, 1)], &each[0][&(1, 2)]), (&weights(2), &weights(3)));
        assert_eq!((each[1].len(), &each[1][&(1, 1)]), (1, &weights(5)));
        // All alike: no dimension has several.
        let alike = of(&blocks[..2]).unwrap();
        assert!(alike.own.is_none() && alike.each() == [alike.alike.clone()]);
        assert!(of(&blocks[4..]).unwrap().alike.is_empty());
    }

    #[test]
    fn what_does_not_fit() {
        let basis = Telling::Basis(Arc::new(Basis::new(vec![0, 0], vec![1, -1]).unwrap()));
        for other in [Telling::Siblings, basis] {
            let blocks = [block(&[(1, 1, weights(2))]), block(&[(0, 1, Telling::Siblings), (1, 1, other)])];
            assert!(of(&blocks).unwrap_err().contains("two ways"));
        }
        let both = |a: u32, b: u32| block(&[(0, 1, weights(a)), (1, 1, weights(b))]);
        assert!(of(&[both(2, 3), both(2, 5)]).unwrap().own.is_some());
        assert!(of(&[both(2, 3), both(2, 5), both(3, 5)]).unwrap_err().contains("two dimensions"));
        let many = |n: usize| -> Vec<Block> {
            (1..=n).map(|d| block(&[(0, 1, weights(d as u32 + 1)), (d, 1, Telling::Siblings)])).collect()
        };
        assert_eq!(of(&many(MOST_KINDS)).unwrap().each().len(), MOST_KINDS);
        assert!(of(&many(MOST_KINDS + 1)).unwrap_err().contains("too many kinds"));
    }
}
