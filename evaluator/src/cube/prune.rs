//! [`Axis::prune`] for one of many groups of nodes: the work grows with the nodes of the group and what hangs beside them, not with the axis.

use super::{Axis, Rung};
use std::collections::HashMap;

/// The nodes of each of some groups, in ascending order.
pub(crate) struct Members {
    nodes: Vec<u32>,
    /// Where those of each group end.
    ends: Vec<usize>,
}

impl Members {
    /// From the group of each node.
    pub(crate) fn new(group_of: &[u32], groups: usize) -> Members {
        let mut counts = vec![0usize; groups];
        group_of.iter().for_each(|&g| counts[g as usize] += 1);
        let mut sum = 0;
        // Where the next node of each group goes: in the end, where the group ends.
        let mut ends: Vec<usize> = counts
            .iter()
            .map(|n| {
                sum += n;
                sum - n
            })
            .collect();
        let mut nodes = vec![0; group_of.len()];
        for (node, &g) in group_of.iter().enumerate() {
            nodes[ends[g as usize]] = node as u32;
            ends[g as usize] += 1;
        }
        Members { nodes, ends }
    }

    /// Those of one group.
    pub(crate) fn of(&self, group: u32) -> &[u32] {
        let start = (group as usize).checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.nodes[start..self.ends[group as usize]]
    }
}

/// What hangs where in an axis.
pub(crate) struct Kin {
    /// For each rung but the last the children of its nodes.
    children: Vec<Members>,
    /// For each rung, and each rung below it, how many nodes of that hang from each of its own.
    below: Vec<Vec<Vec<u32>>>,
}

impl Kin {
    /// Of an axis on which nothing is lumped.
    pub(crate) fn new(axis: &Axis) -> Kin {
        let pairs = || axis.rungs.iter().zip(axis.rungs.iter().skip(1));
        let children = pairs().map(|(up, down)| Members::new(&down.parent, up.len())).collect();
        let mut below: Vec<Vec<Vec<u32>>> = Vec::new();
        for (up, down) in pairs().rev() {
            let sum = |of: &dyn Fn(usize) -> u32| {
                let mut sums = vec![0; up.len()];
                down.parent.iter().enumerate().for_each(|(node, &p)| sums[p as usize] += of(node));
                sums
            };
            let finer = below.last().into_iter().flatten();
            let next = std::iter::once(sum(&|_| 1)).chain(finer.map(|counts| sum(&|node| counts[node])));
            below.push(next.collect());
        }
        below.reverse();
        Kin { children, below }
    }
}

/// What stands for one or more nodes of a rung.
struct Lump {
    /// One of them.
    node: u32,
    /// The node that all of them hang from, and its rung, where nothing below that is told apart.
    under: Option<(usize, u32)>,
}

impl Axis {
    /// The axis pruned for the nodes of one group of rung `at`, with a colour each; all others are alike. In the form of [`Axis::prune`], but for
    /// the lumps one node of each. `kin` is that of this axis, on which nothing is lumped.
    pub(crate) fn prune_to(
        &self,
        at: usize,
        group: &[u32],
        colour: impl Fn(u32) -> u32,
        kin: &Kin,
    ) -> (Axis, Vec<Vec<u32>>) {
        // Bottom-up, of the nodes that any of the group hang from: the one colour below them, if it is one.
        let mut one: Vec<HashMap<u32, Option<u32>>> = vec![HashMap::new(); at + 1];
        one[at] = group.iter().map(|&node| (node, Some(colour(node)))).collect();
        for r in (0..at).rev() {
            let mut own: HashMap<u32, (usize, Option<u32>)> = HashMap::new();
            for (&node, &below) in &one[r + 1] {
                let entry = own.entry(self.rungs[r + 1].parent[node as usize]).or_insert((0, below));
                *entry = (entry.0 + 1, if entry.1 == below { below } else { None });
            }
            let whole = |p: u32, n: usize| kin.children[r].of(p).len() == n;
            one[r] = own.into_iter().map(|(p, (n, c))| (p, c.filter(|_| whole(p, n)))).collect();
        }
        let lump = |r: usize, node: u32| {
            let mixed = one.get(r).is_some_and(|one| one.get(&node) == Some(&None));
            Lump { node, under: (!mixed).then_some((r, node)) }
        };
        let mut lumps = vec![vec![lump(0, 0)]];
        let mut rungs = vec![self.rungs[0].clone()];
        for (r, rung) in self.rungs.iter().enumerate().skip(1) {
            let (mut parent, mut copies, mut multiplicity) = (Vec::new(), Vec::new(), Vec::new());
            let (mut siblings, mut own) = (Vec::new(), Vec::new());
            for (above, lump_above) in lumps[r - 1].iter().enumerate() {
                let children = kin.children[r - 1].of(lump_above.node);
                siblings.push(children.len() as u32);
                match (lump_above.under, children.first()) {
                    (None, _) => {
                        for &node in children {
                            parent.push(above as u32);
                            copies.push(1);
                            multiplicity.push(1);
                            own.push(lump(r, node));
                        }
                    }
                    (Some((from, node)), Some(&first)) => {
                        parent.push(above as u32);
                        copies.push(children.len() as u32);
                        multiplicity.push(u64::from(kin.below[from][r - from - 1][node as usize]));
                        own.push(Lump { node: first, under: lump_above.under });
                    }
                    (Some(_), None) => {}
                }
            }
            let nodes = own.iter().map(|lump| lump.node).collect();
            rungs.push(Rung::new(rung.level, parent, copies, multiplicity, siblings).standing_for(nodes));
            lumps.push(own);
        }
        let firsts = lumps.iter().take(at + 1).map(|own| own.iter().map(|lump| lump.node).collect());
        (Axis { rungs }, firsts.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The same as of the whole axis, where that is told what is in the group and what is not.
        #[test]
        fn as_if_all_nodes_were_looked_at(
            sizes in prop::collection::vec(prop::collection::vec(1u32..5, 40), 1..4),
            picked in prop::collection::vec(0u32..5, 200),
            deep in 0usize..4,
        ) {
            let mut rungs = vec![Rung::new(0, Vec::new(), vec![1], vec![1], Vec::new())];
            for (level, sizes) in sizes.iter().enumerate() {
                let above = rungs[level].len();
                let siblings: Vec<u32> = (0..above).map(|p| sizes[p % 40]).collect();
                let parent: Vec<u32> =
                    siblings.iter().zip(0..).flat_map(|(&n, p)| std::iter::repeat_n(p, n as usize)).collect();
                let n = parent.len();
                rungs.push(Rung::new(level + 1, parent, vec![1; n], vec![1; n], siblings));
            }
            let axis = Axis { rungs };
            let at = 1 + deep % sizes.len();
            let colour: Vec<u32> = (0..axis.rungs[at].len()).map(|n| picked[n % 200] / 2).collect();
            let group: Vec<u32> = (0..colour.len() as u32).filter(|&n| colour[n as usize] > 0).collect();
            let (whole, lump_of) = axis.prune(at, &colour);
            let (pruned, firsts) = axis.prune_to(at, &group, |n| colour[n as usize], &Kin::new(&axis));
            prop_assert_eq!(pruned, whole);
            for (firsts, lump_of) in firsts.iter().zip(&lump_of) {
                let own: Vec<u32> = firsts.iter().map(|&n| lump_of[n as usize]).collect();
                prop_assert_eq!(own, (0..firsts.len() as u32).collect::<Vec<_>>());
            }
        }
    }
}
