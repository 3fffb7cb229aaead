//! What finishing all tables at once and finishing them part by part have in common.

use super::Failure;
use crate::cube::{Cube, Cuboid, Level, odometer};
use crate::recover::bounds::Unfinished;

/// The most cells that are finished at once, times tables.
pub(super) const MOST: usize = 1 << 25;

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
