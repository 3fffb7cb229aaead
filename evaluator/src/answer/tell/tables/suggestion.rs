//! What a question that no table tells would have to ask to be answered: coarser groups, or a condition whose ends lie where a
//! released table has its own.

use crate::cube::{Categories, Cube, Cuboid, Filter, Level};
use crate::sql::Aggregate;

/// Of categories without order so many are named.
const NAMED: usize = 4;

/// The change that makes table `t` tell the question, which is made of all of `asked`; `None` if it lacks one of its dimensions, and where no change of a
/// condition or of groups would do: a sum of numbers takes each by itself, and a coarser category has none.
pub(super) fn suggestion(
    cube: &Cube,
    t: &Cuboid,
    wanted: &Cuboid,
    (filter, asked): (&Filter, &[Aggregate]),
    groups: &[Level],
) -> Option<String> {
    let mut changes = Vec::new();
    for at in wanted.iter() {
        let has = match t.level(at.dimension) {
            0 => return None,
            level => Level::new(at.dimension, level.min(at.level)),
        };
        if has == at {
            continue;
        }
        if asked.iter().any(|a| adds_up(&a.filter, at.dimension)) {
            return None;
        }
        let group = groups.iter().find(|g| g.dimension == at.dimension);
        if group.is_some_and(|g| g.level > has.level) {
            changes.push(format!("{} in place of {}", cube.level_name(has), cube.level_name(at)));
        }
        if filter.classes(at.dimension).is_some() {
            changes.push(covers(cube, has, filter)?);
        }
    }
    // Groups at a level that the table has only more coarsely, without a condition.
    (!changes.is_empty()).then(|| changes.join(" and "))
}

/// Whether the categories of a dimension have numbers of their own that are added up, beside those that a condition leaves out.
fn adds_up(filter: &Filter, dimension: usize) -> bool {
    let Some(classed) = filter.classes(dimension) else { return false };
    let after = filter.dims.iter().filter(|d| d.dim > dimension);
    let inner = after.map(|d| d.classes as usize).product::<usize>().max(1);
    // Of each combination of the other dimensions' classes all weights along this one.
    filter.weights.chunks(inner * classed.classes.max(1) as usize).any(|own| {
        (0..inner).any(|at| {
            let mut weights = own.iter().skip(at).step_by(inner).filter(|w| **w != 0.0);
            weights.next().is_some_and(|first| weights.any(|w| w != first))
        })
    })
}

/// The condition on a dimension as the nodes of a coarser level tell it: from inside, and from around.
fn covers(cube: &Cube, at: Level, filter: &Filter) -> Option<String> {
    let dimension = cube.dimensions.get(at.dimension)?;
    let (level, classed) = (at.of(cube), filter.classes(at.dimension)?);
    let weighs = filter.weighing(classed);
    let mut inside = vec![true; level.len()];
    let mut around = vec![false; level.len()];
    for (finest, &node) in dimension.ancestors(dimension.finest(), at.level).iter().enumerate() {
        let met = weighs.get(*classed.class_of.get(finest)? as usize).copied()?;
        inside[node as usize] &= met;
        around[node as usize] |= met;
    }
    let name = cube.level_name(at);
    let texts: Vec<String> = [&inside, &around].into_iter().filter_map(|nodes| named(level, nodes)).collect();
    match &texts[..] {
        [] => None,
        [one] => Some(format!("{name} {one}")),
        [inside, around, ..] if inside == around => Some(format!("{name} {inside}")),
        [inside, around, ..] => Some(format!("{name} {inside} or {around}")),
    }
}

/// Nodes as a range of numbers, or by their labels. `None` for no node, and where they are too many to name.
fn named(level: &Categories, nodes: &[bool]) -> Option<String> {
    let chosen: Vec<usize> = (0..nodes.len()).filter(|&i| nodes[i]).collect();
    let (&first, &last) = (chosen.first()?, chosen.last()?);
    let bounds = |node: usize| level.bounds.get(node).copied().flatten();
    if last - first + 1 == chosen.len()
        && chosen.iter().all(|&n| bounds(n).is_some_and(|b| b.closed))
        && let (Some(low), Some(high)) = (bounds(first), bounds(last))
    {
        return Some(format!("{}–{}", low.lo, high.hi));
    }
    if chosen.len() > NAMED {
        return None;
    }
    let labels = chosen.iter().filter_map(|&n| level.labels.get(n).map(String::as_str));
    Some(labels.collect::<Vec<_>>().join(" + "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A condition is no sum of numbers, whatever a row that meets it counts; nor is one that lies across two dimensions.
    #[test]
    fn numbers_are_told_from_conditions() {
        let ages = Filter::values(1, &[0.0, 1.0, 2.0, 3.0]);
        let old = Filter::nodes(1, &[false, false, true, true]);
        let women = Filter::nodes(0, &[true, false]);
        let twice = Filter::values(0, &[2.0, 5.0]);
        let both = |a: &Filter, b: &Filter| a.and(b).unwrap();
        for (filter, along) in [
            (ages.clone(), [false, true]),
            (both(&ages, &women), [false, true]),
            (both(&ages, &old), [false, true]),
            (old.clone(), [false, false]),
            (both(&old, &women), [false, false]),
            (old.or(&women).unwrap(), [false, false]),
            (both(&old, &twice), [true, false]),
            (Filter::constant(3.0), [false, false]),
        ] {
            assert_eq!([0, 1].map(|dimension| adds_up(&filter, dimension)), along, "{filter:?}");
        }
    }
}
