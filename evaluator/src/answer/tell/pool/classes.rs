//! Which categories of a dimension neither a question nor any release tells apart.
//!
//! Everything a release measures along a dimension is made of its levels: partitions of the finest categories. A colouring is *stable* when
//! any two categories of one colour lie, at every level, in blocks that have as many categories of every colour (the coarsest equitable
//! refinement). Least squares then maps what is constant on the colours to what is constant on them: so the best weights are, too, and
//! sums over colours tell all there is to know of the question.

use std::collections::BTreeMap;

/// A stable colouring of a dimension. Its numbers do not depend on the order of categories: two categories that look alike have colourings
/// that are equal but for `of` and the order of blocks.
#[derive(Debug)]
pub(super) struct Classes {
    /// For each of the finest categories its class.
    pub of: Vec<u32>,
    /// For each level the class of each of its blocks, and how many classes those have.
    pub blocks: Vec<(Vec<u32>, usize)>,
    /// All that is the same for dimensions that look alike.
    pub look: Vec<u64>,
}

/// Numbers lists in their own order; equal ones alike.
fn ranks(lists: &[Vec<u32>]) -> (Vec<u32>, usize) {
    let distinct: BTreeMap<&[u32], ()> = lists.iter().map(|l| (l.as_slice(), ())).collect();
    let number: BTreeMap<&[u32], u32> = distinct.into_keys().zip(0..).collect();
    (lists.iter().map(|l| number[l.as_slice()]).collect(), number.len())
}

/// For each block of a partition how many categories of each colour it has.
fn contents(colour: &[u32], partition: &[u32]) -> Vec<Vec<u32>> {
    let blocks = partition.iter().max().map_or(0, |&b| b as usize + 1);
    let mut inside = vec![Vec::new(); blocks];
    partition.iter().zip(colour).for_each(|(&b, &c)| inside[b as usize].push(c));
    for list in &mut inside {
        list.sort_unstable();
        let mut counted: Vec<u32> = Vec::new();
        for &c in list.iter() {
            match &mut counted[..] {
                [.., last, count] if *last == c => *count += 1,
                _ => counted.extend([c, 1]),
            }
        }
        *list = counted;
    }
    inside
}

impl Classes {
    /// The coarsest stable colouring that tells apart what `colour` does.
    pub(super) fn new(colour: &[u32], partitions: &[Vec<u32>]) -> Classes {
        let (mut of, mut count) = ranks(&colour.iter().map(|&c| vec![c]).collect::<Vec<_>>());
        loop {
            let blocks: Vec<Vec<u32>> = partitions.iter().map(|p| ranks(&contents(&of, p)).0).collect();
            let seen = |x: usize| {
                let levels = partitions.iter().zip(&blocks).map(|(p, b)| b[p[x] as usize]);
                std::iter::once(of[x]).chain(levels).collect::<Vec<u32>>()
            };
            let (next, more) = ranks(&(0..of.len()).map(seen).collect::<Vec<_>>());
            let settled = more == count;
            (of, count) = (next, more);
            if settled {
                break;
            }
        }
        let mut look = vec![count as u64];
        let mut sizes = vec![(0, 0); count];
        of.iter().zip(colour).for_each(|(&c, &first)| sizes[c as usize] = (first, sizes[c as usize].1 + 1));
        look.extend(sizes.into_iter().flat_map(|(first, size)| [u64::from(first), size]));
        let mut blocks = Vec::with_capacity(partitions.len());
        for partition in partitions {
            let inside = contents(&of, partition);
            let (rank, kinds) = ranks(&inside);
            let mut each: BTreeMap<u32, (u64, &[u32])> = BTreeMap::new();
            rank.iter().zip(&inside).for_each(|(&r, list)| each.entry(r).or_insert((0, list)).0 += 1);
            for (many, list) in each.into_values() {
                look.extend([many, list.len() as u64]);
                look.extend(list.iter().map(|&c| u64::from(c)));
            }
            blocks.push((rank, kinds));
        }
        Classes { of, blocks, look }
    }

    /// How many classes there are.
    pub(super) fn count(&self) -> usize {
        self.of.iter().max().map_or(0, |&c| c as usize + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six districts in states of three, two and one.
    const STATES: [u32; 6] = [0, 0, 0, 1, 1, 2];

    #[test]
    fn what_is_alike_is_lumped() {
        let each: Vec<u32> = (0..6).collect();
        let levels = [vec![0; 6], STATES.to_vec(), each];
        // Nothing is asked: states of different sizes are told apart all the same.
        let all = Classes::new(&[0; 6], &levels);
        assert_eq!((all.count(), all.blocks[1].1, all.blocks[2].1), (3, 3, 3));
        // One district: itself, its neighbours, and the other states.
        let one = Classes::new(&[0, 1, 0, 0, 0, 0], &levels);
        assert_eq!(one.count(), 4);
        assert!(one.of[0] == one.of[2] && one.of[3] == one.of[4] && one.of[0] != one.of[1]);
        // Its neighbour looks like it, a district of another state does not.
        let next = Classes::new(&[0, 0, 1, 0, 0, 0], &levels);
        assert_eq!(one.look, next.look);
        assert_eq!((one.of[1], one.of[0]), (next.of[2], next.of[0]));
        assert_ne!(one.look, Classes::new(&[0, 0, 0, 1, 0, 0], &levels).look);
        // Without levels between it is inside or outside.
        assert_eq!(Classes::new(&[0, 1, 0, 0, 0, 0], &levels[2..]).count(), 2);
    }
}
