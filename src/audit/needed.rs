//! What the tables that were asked for need: whether they follow from what was measured. By sets of blocks alone, where those tell; of rows by what they answer.

use crate::answer::Evaluator;
use crate::cube::{Cube, Cuboid, Filter, Frame, Level};
use crate::plan::{Asks, Block, Channel, Plan, Ranges, Selected, Subject, Table};
use crate::recover::Source;
use std::collections::HashSet;

/// So many pairs of tables are compared, about a second.
const MOST_PAIRS: usize = 1 << 27;
/// The most questions of one table that are asked one by one, and steps of all that rows are asked, some seconds.
const MOST_ASKED: usize = 4096;
const MOST_STEPS: u64 = 1 << 33;

/// Why it is not known that all tables follow.
pub(super) enum Open {
    /// This one does not.
    Missing(String),
    /// There are too many to compare.
    Many,
}

/// Whether every table that was asked for, of counts and of sums, follows from what was measured with what is exact. Rows are not looked at, see [`from_rows`]: what
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

/// The same of rows: whether they tell every cell of a table, or else each of the questions that are asked of it.
pub(super) fn from_rows<S: Source>(evaluator: &Evaluator<S>, plan: &Plan) -> Result<(), Open> {
    let (recovery, channel) = (evaluator.recovery(), plan.rows());
    let rows = |block: &Block| if let Block::Rows(rows) = block { rows.rows.len() } else { 0 };
    let rows: usize = channel.measurements.iter().map(|m| rows(&m.block)).sum();
    if rows == 0 {
        return Ok(());
    }
    let cube = recovery.cube();
    let mut left = MOST_STEPS;
    let mut spend = |questions: usize| {
        let steps = (rows as u64).saturating_mul(rows as u64).saturating_mul(questions as u64);
        left.checked_sub(steps).map(|rest| left = rest).ok_or(Open::Many)
    };
    for table in &channel.workload {
        spend(1)?;
        if recovery.table(&table.cuboid).is_ok() {
            continue;
        }
        match &table.asks {
            // Differences of those are the cells.
            Asks::Product(of) if of.iter().all(|(_, r)| matches!(r, Ranges::Prefixes | Ranges::All)) => {
                return Err(Open::Missing(cube.describe(&table.cuboid)));
            }
            Asks::Product(_) => {
                let all = questions(cube, table).ok_or(Open::Many)?;
                spend(all.len())?;
                if !all.iter().all(|filter| evaluator.aggregate(filter, &[]).is_ok()) {
                    return Err(Open::Missing(table.describe(cube)));
                }
            }
            // What adds up several counts may be told where each of them is not.
            Asks::Query(_) => {
                let asked = Selected::of(cube, table).ok_or(Open::Many)?;
                spend(asked.queries(cube) as usize)?;
                if !asked.aggregates.iter().all(|a| evaluator.aggregate(&a.filter, &asked.group_by).is_ok()) {
                    return Err(Open::Many);
                }
            }
        }
    }
    Ok(())
}

/// The questions that a product asks, each a condition; `None` where they are many.
fn questions(cube: &Cube, table: &Table) -> Option<Vec<Filter>> {
    let mut all = vec![Filter::everything()];
    for at in table.cuboid.iter() {
        let dimension = cube.dimensions.get(at.dimension)?;
        let node_of = dimension.ancestors(dimension.finest(), at.level);
        let asked = table.asks.of(at.dimension).unwrap_or(&Ranges::Cells);
        let nodes = at.of(cube).len();
        if asked.queries(nodes as u64) * all.len() as f64 > MOST_ASKED as f64 {
            return None;
        }
        let each: Vec<Filter> = asked
            .intervals(nodes as u32)
            .map(|(first, last)| {
                let inside: Vec<bool> = node_of.iter().map(|node| (first..=last).contains(node)).collect();
                Filter::nodes(at.dimension, &inside)
            })
            .collect();
        all = all.iter().flat_map(|f| each.iter().map(|g| f.and(g))).collect::<Result<_, _>>().ok()?;
    }
    Some(all)
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
