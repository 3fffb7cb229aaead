//! What a question that no table tells would have to ask to be answered: coarser groups, or a condition whose ends lie where a
//! released table has its own.

use crate::cube::{Categories, Cube, Cuboid, Filter, Level};

/// Of categories without order so many are named.
const NAMED: usize = 4;

/// The change that makes table `t` tell the question; `None` if it lacks one of its dimensions.
pub(super) fn suggestion(
    cube: &Cube,
    t: &Cuboid,
    wanted: &Cuboid,
    filter: &Filter,
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
