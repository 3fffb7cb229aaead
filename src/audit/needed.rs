//! What the tables that were asked for need: whether they follow from what was measured. By sets of blocks alone, nothing is recovered.

use crate::cube::{Cube, Cuboid, Frame, Level};
use crate::plan::{Block, Channel, Plan, Subject};
use std::collections::HashSet;

/// So many pairs of tables are compared, about a second.
const MOST_PAIRS: usize = 1 << 27;

/// Why it is not known that all tables follow.
pub(super) enum Open {
    /// This one does not.
    Missing(String),
    /// There are too many to compare.
    Many,
}

/// Whether every table that was asked for, of counts and of sums, follows from what was measured with what is exact. Rows are not looked at: what
/// they tell is no set of blocks.
pub(super) fn all_follow(cube: &Cube, plan: &Plan) -> Result<(), Open> {
    let frame = Frame::new(cube, &plan.levels);
    for channel in plan.channels.iter().filter(|c| c.subject.has_cells()) {
        let blocks = || channel.measurements.iter().map(|m| &m.block);
        if blocks().any(|b| matches!(b, Block::Rows(_))) {
            continue;
        }
        let exact = exact(plan, channel);
        let tables = || channel.workload.iter().map(|t| &t.cuboid);
        let missing = |table: &Cuboid| {
            let of = channel.subject.quantity().map_or(String::new(), |q| format!(" of {}", q.name));
            Open::Missing(format!("{}{of}, {}", channel.subject.name(), cube.describe(table)))
        };
        if !blocks().any(|b| matches!(b, Block::Table(_))) {
            let measured: HashSet<&Cuboid> = blocks().map(Block::cuboid).collect();
            components(&frame, tables(), exact, &measured).map_err(|table| missing(&table))?;
            continue;
        }
        let measured: Vec<&Cuboid> =
            blocks().filter(|b| matches!(b, Block::Table(_))).map(Block::cuboid).collect();
        let known: HashSet<&Cuboid> = measured.iter().copied().collect();
        let mut pairs = 0usize;
        for table in tables().filter(|t| !known.contains(t)) {
            pairs = pairs.saturating_add(measured.len() + exact.len());
            if pairs > MOST_PAIRS {
                return Err(Open::Many);
            }
            let follows = |own: &Cuboid| measured.iter().copied().chain(exact).any(|m| own.is_below(m));
            if !own_component(&frame, table).is_some_and(|own| follows(&own)) {
                return Err(missing(table));
            }
        }
    }
    Ok(())
}

/// The tables of a channel that are published without noise.
pub(super) fn exact<'a>(plan: &'a Plan, channel: &'a Channel) -> &'a [Cuboid] {
    if channel.subject == Subject::Rows { &plan.exact } else { &channel.exact }
}

/// All components below these tables but those that are exact; or the first table below which one is not among those that were measured. Each component
/// is looked at once, and none beyond one that is missing, so this takes no more steps than there are measurements.
pub(super) fn components<'a>(
    frame: &Frame,
    tables: impl Iterator<Item = &'a Cuboid>,
    exact: &[Cuboid],
    measured: &HashSet<&Cuboid>,
) -> Result<HashSet<Cuboid>, Cuboid> {
    let mut found: HashSet<Cuboid> = HashSet::new();
    for table in tables {
        let mut open = vec![own_component(frame, table).ok_or_else(|| table.clone())?];
        while let Some(component) = open.pop() {
            if found.contains(&component) || exact.iter().any(|e| component.is_below(e)) {
                continue;
            }
            if !measured.contains(&component) {
                return Err(table.clone());
            }
            for at in component.iter() {
                let coarser = told(frame, at.dimension, at.level.saturating_sub(1)).unwrap_or(0);
                let others = component.iter().filter(|other| other.dimension != at.dimension);
                open.push(Cuboid::new(others.chain([Level::new(at.dimension, coarser)])));
            }
            found.insert(component);
        }
    }
    Ok(found)
}

/// The component that a table has of its own: the finest levels at which anything is told apart. Levels between those in use follow from the next finer
/// one that is; `None` where there is none.
fn own_component(frame: &Frame, table: &Cuboid) -> Option<Cuboid> {
    let table = frame.telling(table)?;
    let levels = table.iter().map(|at| Some(Level::new(at.dimension, told(frame, at.dimension, at.level)?)));
    Some(Cuboid::new(levels.collect::<Option<Vec<Level>>>()?))
}

/// The finest level in use, no finer than this one, at which some group has two siblings.
fn told(frame: &Frame, dimension: usize, level: usize) -> Option<usize> {
    let rungs = &frame.axes.get(dimension)?.rungs;
    rungs.iter().rev().find(|r| r.level <= level && !r.adds_nothing()).map(|r| r.level)
}
