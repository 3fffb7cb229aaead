//! Measurements that are cut into slices: what rows add to each integer, whichever slice holds it.

use super::tests::{measured, narrow, spec};
use super::*;
use crate::cube::{Cuboid, Frame};
use crate::secret::ingest::Rows;
use std::collections::BTreeMap;

/// Two tables of more than 2^20 cells, which are cut along different dimensions, and a small one between them. So large a budget that no noise is ever drawn.
const SPEC: &str = r#"
name = "large"
title = "Large tables"
demo = true
[privacy]
unit = "row"
rho = 1e9
[strategy]
measure = "queries"
[[dimension]]
name = "a"
range = [0, 1023]
levels = [{ name = "band", width = 32 }]
[[dimension]]
name = "b"
range = [0, 1039]
levels = [{ name = "band", width = 20 }]
[[dimension]]
name = "c"
range = [0, 1029]
[[table]]
of = ["a", "b"]
[[table]]
of = ["a.band", "b.band"]
[[table]]
of = ["a", "c"]
"#;

const SIZES: [u32; 3] = [1024, 1040, 1030];
const BANDS: [u32; 3] = [32, 20, 1];

/// The category of row i in a dimension.
fn of_row(i: u32, dimension: usize) -> u32 {
    (i.wrapping_mul([2_654_435_761, 40_503, 77_777][dimension]) >> 7) % SIZES[dimension]
}

#[test]
fn rows_are_counted_in_the_slice_that_holds_them() {
    let spec = spec(SPEC);
    let plan = spec.choose(Look::Needed, &Watch::default()).unwrap().planned.plan.clone();
    let frame = Frame::new(&spec.cube, &plan.levels);
    let rows = 3000;
    let columns = [0, 1, 2].map(|d| (0..rows).map(|i| of_row(i, d)).collect::<Vec<u32>>());
    let data = Rows::from_codes(&SIZES, &columns).unwrap();
    let mut parts = measured(&spec.cube, std::slice::from_ref(&plan), data, 5, narrow).remove(0).into_iter();
    let mut cut = Vec::new();
    for (index, m) in plan.measurements().enumerate() {
        let cuboid: &Cuboid = m.block.cuboid();
        let [(first, fine), (second, finer)] = [0, 1].map(|i| {
            let level = cuboid.iter().nth(i).unwrap();
            (level.dimension, level.level + 1 == spec.cube.dimensions[level.dimension].levels.len())
        });
        let nodes =
            |d: usize, fine: bool| (0..SIZES[d] / if fine { 1 } else { BANDS[d] }).collect::<Vec<u32>>();
        let of = |i: u32, d: usize, fine: bool| of_row(i, d) / if fine { 1 } else { BANDS[d] };
        let mut counts: BTreeMap<(u32, u32), i64> = BTreeMap::new();
        (0..rows).for_each(|i| *counts.entry((of(i, first, fine), of(i, second, finer))).or_default() += 1);
        let slices = m.block.slices(&frame);
        let found: Vec<_> = parts.by_ref().take(slices.as_ref().map_or(1, |slices| slices.count())).collect();
        cut.extend(slices.as_ref().map(|slices| slices.level.dimension));
        for (slice, found) in found.iter().enumerate() {
            let own = |d: usize, fine: bool| match &slices {
                Some(slices) if slices.level.dimension == d => slices.nodes(slice).to_vec(),
                _ => nodes(d, fine),
            };
            let rest = own(second, finer);
            let cells = own(first, fine).into_iter().flat_map(|x| rest.iter().map(move |&y| (x, y)));
            let want: Vec<i64> = cells.map(|at| counts.get(&at).copied().unwrap_or(0)).collect();
            assert!(*found == want, "measurement {index}, slice {slice}");
        }
    }
    // Along b, then along a, which has more groups than c.
    cut.sort_unstable();
    assert_eq!((cut, parts.next()), (vec![0, 1], None));
}
