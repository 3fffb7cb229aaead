//! Sums of cells as filters: the weight of every cell in an aggregate of one group, or in a row that was measured.

use crate::cube::{ClassedDimension, Cube, Cuboid, Filter, Level, TooIntricate};
use crate::sql::Aggregate;

/// The weight of every cell in an aggregate of the group with these nodes.
pub(crate) fn cells(
    aggregate: &Aggregate,
    group_by: &[Level],
    nodes: &[u32],
    cube: &Cube,
) -> Result<Filter, TooIntricate> {
    let mut filter = aggregate.filter.clone();
    for (i, (by, &node)) in group_by.iter().zip(nodes).enumerate() {
        if aggregate.keeps(i) {
            let (d, dimension) = (by.dimension, &cube.dimensions[by.dimension]);
            let inside = dimension.ancestors(dimension.finest(), by.level);
            let inside: Vec<bool> = inside.into_iter().map(|n| n == node).collect();
            filter = filter.and(&Filter::nodes(d, &inside))?;
        }
    }
    Ok(filter)
}

/// A measured row as a filter.
pub fn of_row(cuboid: &Cuboid, row: &[(u32, i32)], cube: &Cube) -> Option<Filter> {
    let dims: Vec<ClassedDimension> = cuboid
        .iter()
        .map(|Level { dimension: dim, level }| {
            let d = &cube.dimensions[dim];
            let class_of = d.ancestors(d.finest(), level);
            ClassedDimension { dim, class_of, classes: d.levels[level].len() as u32 }
        })
        .collect();
    // Classes are numbered in the order of their first node; those of levels are.
    let cells = dims.iter().try_fold(1usize, |n, d| n.checked_mul(d.classes as usize))?;
    let mut weights = vec![0.0; cells];
    for &(cell, factor) in row {
        *weights.get_mut(cell as usize)? = f64::from(factor);
    }
    Filter { dims, weights }.plus(&Filter::constant(0.0)).ok()
}
