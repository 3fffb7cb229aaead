//! How each level of each dimension is told by a plan's components: in one way by all of them; or, in one dimension, by weights of nodes that each component of the
//! others has for itself.
//!
//! **Why one dimension.** Recovery goes dimension by dimension. With a component of the others fixed, what is along the one dimension is told as if there were no others, so its levels may be
//! put together by that component's own shares before the others are. Two such dimensions would each have to come before the other.

use super::{Block, NodeWeights, Telling};
use crate::cube::Cuboid;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The weights of one kind of components, by level.
pub type Levels = BTreeMap<usize, Arc<NodeWeights>>;

/// How levels are told, by dimension and level.
pub type Told = BTreeMap<(usize, usize), Telling>;

/// The dimension in which components of the others have weights of their own.
#[derive(Debug, Clone)]
pub struct Own {
    dimension: usize,
    /// Those that differ.
    kinds: Vec<Levels>,
    /// Which of them a component of the others has.
    of: HashMap<Cuboid, usize>,
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
    fn of_blocks<'a>(dimension: usize, blocks: impl Iterator<Item = &'a Block>) -> Own {
        let mut all: BTreeMap<Cuboid, Levels> = BTreeMap::new();
        for block in blocks {
            let Block::Based(block) = block else { continue };
            let levels = all.entry(without(&block.cuboid, dimension)).or_default();
            let along = block.dimensions().find(|(d, ..)| *d == dimension);
            if let Some((_, l, Telling::Weights(weights))) = along {
                levels.insert(l, weights.clone());
            }
        }
        let mut kinds: Vec<Levels> = Vec::new();
        let number = |(beside, levels): (Cuboid, Levels)| {
            let known = kinds.iter().position(|own| *own == levels).unwrap_or_else(|| {
                kinds.push(levels);
                kinds.len() - 1
            });
            (beside, known)
        };
        let of = all.into_iter().map(number).collect();
        Own { dimension, kinds, of }
    }

    /// Of these kinds; `of` says which of them each component of the others has.
    pub fn new(dimension: usize, kinds: Vec<Levels>, of: HashMap<Cuboid, usize>) -> Own {
        Own { dimension, kinds, of }
    }

    /// Its number.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The weights of each kind of components.
    pub fn kinds(&self) -> &[Levels] {
        &self.kinds
    }

    /// Of which kind a component is, whatever its level in this dimension. Those that are known without noise have no weights: they are of any.
    pub fn kind(&self, component: &Cuboid) -> usize {
        self.of.get(&without(component, self.dimension)).copied().unwrap_or(0)
    }
}

/// A component of the dimensions beside this one.
fn without(cuboid: &Cuboid, dimension: usize) -> Cuboid {
    Cuboid::new(cuboid.iter().filter(|at| at.dimension != dimension))
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
        Ok(Tellings { alike, own: several.map(|dimension| Own::of_blocks(dimension, blocks)) })
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
