//! What finishing all tables at once, finishing them part by part and writing them so have in common.

use super::Failure;
use crate::cube::{Cube, Cuboid, Level, odometer};
use crate::recover::bounds::Unfinished;

/// The most cells that are finished at once, times tables.
pub(super) const MOST: usize = 1 << 25;

/// A table's cells in parts of at most so many: for each the nodes of the first level, which ascend. They follow the tree of these, as the release's sections do.
/// None of a table that is one part.
pub(super) fn parts(cube: &Cube, levels: &[Level], most: usize) -> Vec<Vec<u32>> {
    let Some((first, rest)) = levels.split_first() else { return Vec::new() };
    let each = rest.iter().fold(1, |n: usize, l| n.saturating_mul(l.of(cube).len()));
    let size = first.of(cube).len();
    if size.saturating_mul(each) <= most {
        return Vec::new();
    }
    let dimension = &cube.dimensions[first.dimension];
    let up: Vec<Vec<u32>> = (1..first.level).map(|l| dimension.ancestors(first.level, l)).collect();
    let mut nodes: Vec<u32> = (0..size as u32).collect();
    nodes.sort_by_cached_key(|&node| up.iter().map(|up| up[node as usize]).collect::<Vec<u32>>());
    let sorted = |part: &[u32]| {
        let mut part = part.to_vec();
        part.sort_unstable();
        part
    };
    nodes.chunks((most / each).max(1)).map(sorted).collect()
}

/// Of each cell of a table its place in a coarser one.
pub(super) fn place(cube: &Cube, from: &Cuboid, to: &Cuboid) -> Vec<u32> {
    let up = |at: Level| cube.dimensions[at.dimension].ancestors(at.level, to.level(at.dimension));
    let steps: Vec<(Vec<u32>, u32)> =
        from.iter().map(|at| (up(at), to.at(at.dimension).of(cube).len() as u32)).collect();
    let mut pick = vec![0; steps.len()];
    let all: usize = steps.iter().map(|s| s.0.len()).product();
    (0..all)
        .map(|_| {
            let own = steps.iter().zip(&pick);
            let at = own.fold(0, |at, ((up, size), &node)| at * size + up[node as usize]);
            odometer::next(&mut pick, |i| steps[i].0.len());
            at
        })
        .collect()
}

/// The counts of a table published exactly: whole, but of a file made to harm they may be anything.
pub(super) fn whole(counts: &[f64]) -> Result<Vec<u64>, Failure> {
    let count =
        |y: &f64| if (-0.25..9e15).contains(y) { Some(libm::round(*y).max(0.0) as u64) } else { None };
    let none =
        || Failure::Message("a table published exactly has counts below 0: it cannot be finished".into());
    counts.iter().map(count).collect::<Option<Vec<u64>>>().ok_or_else(none)
}

pub(super) fn unfinished(why: Unfinished) -> Failure {
    Failure::Message(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::{Categories, Dimension};

    /// Parts have each node once, are as small as was asked for, and keep areas together that lie in one.
    #[test]
    fn parts_follow_the_tree() {
        let labels = |n: usize| (0..n).map(|v| v.to_string()).collect::<Vec<_>>();
        let level = |name: &str, parent: Vec<u32>| Categories {
            name: name.into(),
            labels: labels(parent.len()),
            parent,
            bounds: Vec::new(),
        };
        // Blocks 0, 3, 6 … lie in tract 0.
        let blocks = level("block", (0..12).map(|b| b % 3).collect());
        let levels = vec![Categories::total(), level("tract", vec![0; 3]), blocks];
        let cube =
            Cube { dimensions: vec![Dimension::new("block", levels), Dimension::plain("sex", labels(2))] };
        let table = [Level::new(0, 2), Level::new(1, 1)];
        assert_eq!(parts(&cube, &table, 8), [vec![0, 3, 6, 9], vec![1, 4, 7, 10], vec![2, 5, 8, 11]]);
        assert_eq!(parts(&cube, &table, 1).len(), 12);
        assert_eq!(parts(&cube, &[table[1], table[0]], 12), [[0], [1]]);
        assert!(parts(&cube, &table, 24).is_empty() && parts(&cube, &[], 0).is_empty());
    }
}
