//! A large measurement is counted, measured, packed and read slice by slice, so that nobody holds it whole.
//!
//! A slice is made of some nodes of one dimension, whole groups of siblings: differences are taken within groups, so what is published of a slice
//! follows from its own cells, and what a cell costs does not depend on how a measurement is cut. The cut follows from the plan alone.

use super::{Based, Block, Telling};
use crate::cube::{Axis, Cuboid, Frame, Integer, Level, Members, Rung};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A measurement of more integers than this is cut, and no slice has more cells if groups are so small.
const SLICE: u64 = 1 << 20;

/// How a measurement is cut.
pub struct Slices {
    /// The level whose nodes are parted.
    pub level: Level,
    /// For each node the one that it hangs from, and for each of those the slice.
    parent: Arc<Vec<u32>>,
    of_group: Vec<u32>,
    /// The nodes of each slice, in ascending order: of most measurements nobody asks.
    members: OnceLock<Members>,
    /// For each slice how many nodes there are along that level in what is published.
    published: Vec<usize>,
    /// How many numbers are published before and behind each node.
    around: (usize, usize),
    /// Whether all nodes are published, or all but the first of each group.
    all: bool,
    /// For each node where it is among those that are published, and one: 0 where it is not.
    places: OnceLock<Vec<u32>>,
}

/// How many integers a rung of a block publishes for so many nodes in so many groups.
fn rows(block: &Block, dimension: usize, (nodes, groups): (u64, u64)) -> u64 {
    match block {
        Block::Based(based) => match based.told(dimension) {
            Telling::Basis(basis) => basis.rows() as u64,
            Telling::Siblings | Telling::Weights(_) => nodes - groups,
        },
        Block::Component(_) => nodes - groups,
        _ => nodes,
    }
}

impl Block {
    /// How it is cut. `None` where it is measured whole: it is small, or has no groups that could be parted.
    pub fn slices(&self, frame: &Frame) -> Option<Arc<Slices>> {
        self.slices_of(frame, SLICE)
    }

    /// The same with slices of other sizes.
    #[doc(hidden)]
    pub fn slices_of(&self, frame: &Frame, most: u64) -> Option<Arc<Slices>> {
        let cuboid = self.cuboid();
        let cells = cuboid.iter().try_fold(1u64, |n, at| n.checked_mul(frame.rung(at).real_len()))?;
        // Of its integers: as many bits are in the file, before anybody looks at all nodes.
        if self.checked_values(frame)? <= most {
            return None;
        }
        let parted = |at: &Level| match self {
            Block::Based(based) => based.told(at.dimension).basis().is_none(),
            Block::Component(_) | Block::Table(_) => true,
            Block::Pairs(_) | Block::Walsh(_) | Block::Rows(_) => false,
        };
        let groups = |at: &Level| frame.rung(*at).siblings.len();
        let level = cuboid.iter().filter(parted).max_by_key(groups).filter(|at| groups(at) > 1)?;
        let rung = frame.rung(level);
        let each = cells / rung.real_len();
        let (mut slice, mut held) = (0u32, 0u64);
        let of_group: Vec<u32> = (rung.siblings.iter())
            .map(|&nodes| {
                let cells = u64::from(nodes) * each;
                if held > 0 && held + cells > most {
                    (slice, held) = (slice + 1, 0);
                }
                held += cells;
                slice
            })
            .collect();
        let slices = slice as usize + 1;
        if slices == 1 {
            return None;
        }
        // Of each slice the nodes and the groups.
        let mut sizes = vec![(0u64, 0u64); slices];
        for (&slice, &nodes) in of_group.iter().zip(&rung.siblings) {
            let (all, groups) = &mut sizes[slice as usize];
            (*all, *groups) = (*all + u64::from(nodes), *groups + 1);
        }
        let d = level.dimension;
        let published = sizes.into_iter().map(|size| rows(self, d, size) as usize).collect();
        let beside = |at: Level| {
            let rung = frame.rung(at);
            rows(self, at.dimension, (rung.real_len(), rung.siblings.len() as u64)) as usize
        };
        let before = cuboid.iter().take_while(|at| *at != level).map(beside).product();
        let behind = cuboid.iter().skip_while(|at| *at != level).skip(1).map(beside).product();
        Some(Arc::new(Slices {
            level,
            parent: rung.parent.clone(),
            of_group,
            members: OnceLock::new(),
            published,
            around: (before, behind),
            all: matches!(self, Block::Table(_)),
            places: OnceLock::new(),
        }))
    }

    /// A slice of it as a block of its own, with its frame.
    pub fn slice(&self, frame: &Frame, slices: &Slices, slice: usize) -> (Block, Frame) {
        let nodes = slices.nodes(slice);
        let d = slices.level.dimension;
        let own = frame.rung(slices.level).slice(nodes);
        let block = match self {
            Block::Based(based) => {
                let axes = based.dimensions().map(|(dimension, _, told)| match told {
                    Telling::Weights(weights) if dimension == d => {
                        Telling::Weights(Arc::new(weights.slice(nodes, own.parent.to_vec())))
                    }
                    told => told.clone(),
                });
                Block::Based(Based { axes: axes.collect(), cuboid: based.cuboid.clone() })
            }
            block => block.clone(),
        };
        (block, sliced(frame, self.cuboid(), d, own))
    }
}

/// A frame with the levels of one table alone, of which one is `own`.
fn sliced(frame: &Frame, cuboid: &Cuboid, dimension: usize, own: Rung) -> Frame {
    let axis = |(d, axis): (usize, &Axis)| {
        let level = cuboid.level(d);
        let mut rungs = vec![axis.rungs[0].clone()];
        match level {
            0 => {}
            _ if d == dimension => rungs.push(own.clone()),
            level => rungs.push(frame.rung(Level::new(d, level)).clone()),
        }
        Axis { rungs }
    };
    Frame { axes: frame.axes.iter().enumerate().map(axis).collect() }
}

impl Slices {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.published.len()
    }

    /// The nodes of one, in ascending order.
    pub fn nodes(&self, slice: usize) -> &[u32] {
        let members = || {
            let of_node: Vec<u32> = self.parent.iter().map(|&p| self.of_group[p as usize]).collect();
            Members::new(&of_node, self.count())
        };
        self.members.get_or_init(members).of(slice as u32)
    }

    /// How many integers are published of one.
    pub fn values(&self, slice: usize) -> usize {
        self.published[slice] * self.around.0 * self.around.1
    }

    /// The slices in which these nodes are, each once, in ascending order.
    pub(crate) fn of_nodes(&self, nodes: impl Iterator<Item = u32>) -> Vec<usize> {
        let mut found = vec![false; self.count()];
        nodes.for_each(|n| found[self.of_group[self.parent[n as usize] as usize] as usize] = true);
        found.iter().enumerate().filter(|(_, found)| **found).map(|(slice, _)| slice).collect()
    }

    fn places(&self) -> Vec<u32> {
        let mut seen = vec![self.all; self.of_group.len()];
        let mut next = 0;
        let place = |&p: &u32| {
            let first = !std::mem::replace(&mut seen[p as usize], true);
            if first {
                return 0;
            }
            next += 1;
            next
        };
        self.parent.iter().map(place).collect()
    }

    /// Puts the published integers of one slice where they stand among all of the measurement.
    pub(crate) fn put<T: Integer>(&self, slice: usize, values: &[T], whole: &mut [T]) {
        let (before, behind) = self.around;
        let rows = whole.len() / (before * behind).max(1);
        let places = self.places.get_or_init(|| self.places());
        let own: Vec<Range<usize>> = (self.nodes(slice).iter())
            .filter_map(|&node| (places[node as usize] as usize).checked_sub(1))
            .map(|at| at * behind..(at + 1) * behind)
            .collect();
        let parts = values.chunks_exact((own.len() * behind).max(1));
        for (rows, values) in whole.chunks_exact_mut((rows * behind).max(1)).zip(parts) {
            for (at, values) in own.iter().zip(values.chunks_exact(behind)) {
                rows[at.clone()].copy_from_slice(values);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::{Categories, Cube, Dimension};
    use crate::plan::weights::NodeWeights;
    use proptest::prelude::*;

    fn labels(n: usize) -> Vec<String> {
        (0..n).map(|v| v.to_string()).collect()
    }

    /// Areas of two levels, whose groups lie scattered, between two plain dimensions.
    fn cube(groups: &[u32]) -> Cube {
        let above = Categories {
            name: "up".into(),
            labels: labels(1 + *groups.iter().max().unwrap() as usize),
            parent: vec![0; 1 + *groups.iter().max().unwrap() as usize],
            bounds: Vec::new(),
        };
        let fine = Categories {
            name: "area".into(),
            labels: labels(groups.len()),
            parent: groups.to_vec(),
            bounds: Vec::new(),
        };
        let area = Dimension::new("area", vec![Categories::total(), above, fine]);
        Cube { dimensions: vec![Dimension::plain("a", labels(3)), area, Dimension::plain("b", labels(2))] }
    }

    proptest! {
        /// What is published of the slices is what is published of the whole, whichever way it is told, and nothing of it is twice or nowhere.
        #[test]
        fn slices_are_the_whole(
            more in prop::collection::vec(0u32..5, 4..30),
            counts in prop::collection::vec(0i64..50, 6 * 40),
            factors in prop::collection::vec(1u32..4, 40),
            most in 6u64..60,
            kind in 0usize..4,
        ) {
            let groups: Vec<u32> = (0..5).chain(more).collect();
            let cube = cube(&groups);
            let frame = Frame::new(&cube, &[vec![0, 1], vec![0, 1, 2], vec![0, 1]]);
            let cuboid = Cuboid::new([(0, 1), (1, 2), (2, 1)]);
            let siblings = |group: &u32| groups.iter().filter(|g| *g == group).count();
            let own = || groups.iter().zip(&factors).map(|(g, &c)| if siblings(g) == 1 { 1 } else { c });
            let weights = || NodeWeights::new(groups.clone(), own().collect()).unwrap();
            let block = match kind {
                0 => Block::Table(cuboid),
                1 => Block::Component(cuboid),
                2 => Block::Based(Based { cuboid, axes: vec![Telling::Siblings; 3] }),
                _ => {
                    let axes = vec![Telling::Siblings, Telling::Weights(Arc::new(weights())), Telling::Siblings];
                    Block::Based(Based { cuboid, axes })
                }
            };
            let counts = &counts[..6 * groups.len()];
            let whole = block.publish(&frame, block.apply(&frame, counts.to_vec()).unwrap()).unwrap();
            let Some(slices) = block.slices_of(&frame, most) else {
                prop_assert!(whole.len() as u64 <= most);
                return Ok(());
            };
            let mut built = vec![i64::MIN; whole.len()];
            let mut all = Vec::new();
            for s in 0..slices.count() {
                let (own, frame) = block.slice(&frame, &slices, s);
                let nodes = slices.nodes(s);
                let cell = |o: usize, node: u32, i: usize| counts[(o * groups.len() + node as usize) * 2 + i];
                let cells = (0..3).flat_map(|o| nodes.iter().map(move |&n| (o, n)));
                let counts = cells.flat_map(|(o, n)| [cell(o, n, 0), cell(o, n, 1)]).collect();
                let values = own.publish(&frame, own.apply(&frame, counts).unwrap()).unwrap();
                prop_assert_eq!(values.len(), slices.values(s));
                prop_assert_eq!(own.values(&frame), values.len());
                slices.put(s, &values, &mut built);
                prop_assert_eq!(slices.of_nodes(nodes.iter().copied()), vec![s]);
                all.extend_from_slice(nodes);
                let of_groups = |s: usize| -> Vec<u32> { slices.nodes(s).iter().map(|&n| groups[n as usize]).collect() };
                prop_assert!((0..s).all(|o| of_groups(o).iter().all(|g| !of_groups(s).contains(g))));
            }
            prop_assert_eq!(built, whole);
            all.sort_unstable();
            prop_assert_eq!(all, (0..groups.len() as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_is_small_or_has_one_group_stays_whole() {
        let cube = cube(&[0, 0, 1, 1, 2]);
        let frame = Frame::new(&cube, &[vec![0, 1], vec![0, 1, 2], vec![0, 1]]);
        let table = |levels: &[(usize, usize)]| Block::Table(Cuboid::new(levels.to_vec()));
        assert!(table(&[(0, 1), (1, 2)]).slices_of(&frame, 15).is_none());
        assert!(table(&[(0, 1), (2, 1)]).slices_of(&frame, 5).is_none(), "no groups");
        assert!(table(&[(0, 1), (1, 1)]).slices_of(&frame, 8).is_none(), "one group");
        assert_eq!(table(&[(0, 1), (1, 2)]).slices_of(&frame, 7).unwrap().count(), 3);
        assert_eq!(table(&[(0, 1), (1, 2)]).slices_of(&frame, 12).unwrap().count(), 2);
        assert_eq!(table(&[(1, 2)]).slices_of(&frame, 1).unwrap().count(), 3, "no group is parted");
    }
}
