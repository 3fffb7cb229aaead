//! Records by area: where a dimension has too many areas to draw from all at once, records get an area level by level.
//!
//! First all records are drawn as if the tree ended at a level of few areas: finer tables are summed up to it. Then, level by level, the records of each area are
//! parted among the areas in it: as many as there are, with all else that they have, so what was fitted above stays fitted, and every area is a fit of its
//! own, to its own part of the tables of the next level, under what its parents gave it. Given all else, each record's area is drawn from its very
//! law, so there is no chain that would have to come to an end; θ is learnt and records are moved as in [`super::chain`] and [`super::quench`].
//!
//! Tables are read for some areas at a time, so memory is that of the records and of [`BATCH`] cells. An area's random numbers are its own, so its
//! records do not depend on when, or by which thread, it is parted.

use super::chain::{Chain, Way};
use super::quench::Quench;
use super::random::{Purpose, Stream};
use super::report::gap;
use super::shape::{Attribute, Column, Nodes, Shape, Target};
use super::targets::{Shares, Wanted, asked, at, single, tellers};
use super::tree::Tree;
use super::{Gap, RecordsError, exact, share};
use crate::answer::Answers;
use crate::cube::{Cuboid, Level};
use crate::watch::Watch;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// So many cells of a table are read at once.
const BATCH: usize = 1 << 20;
/// What a table known exactly is known by until its counts are met.
const EXACT: f32 = 0.5;
/// What θ is learnt in, and how often records are moved.
pub(super) const SWEEPS: usize = 24;
pub(super) const PASSES: usize = 4;

/// What came of it.
pub(super) struct Parted {
    /// The finest level that some table has.
    pub finest: Level,
    /// The area of each record there.
    pub areas: Vec<u32>,
    /// The gaps of the tables of those levels.
    pub gaps: Vec<Gap>,
}

/// Which records there are.
pub(super) struct Drawn<'a> {
    pub wanted: &'a Wanted,
    pub nodes: &'a Nodes,
    pub way: Way,
    /// What a record stands for.
    pub weight: f64,
}

/// A table of a step, all areas of it.
struct Table<'a> {
    /// With the area first.
    levels: Vec<Level>,
    columns: Vec<usize>,
    /// Cells of one area.
    beside: usize,
    told: Shares<'a>,
    error: f64,
    /// Its name, where it was asked for.
    name: Option<String>,
}

/// One step down.
struct Step<'a> {
    drawn: &'a Drawn<'a>,
    level: usize,
    tables: Vec<Table<'a>>,
    /// The areas of the step by those of the step before.
    children: Vec<Vec<u32>>,
}

/// The areas in one area, and its records.
struct Part<'a> {
    parent: usize,
    children: &'a [u32],
    records: &'a [u32],
    /// Where its children are among those of the batch.
    at: Vec<usize>,
}

/// Which child each record of a part got, and for each table the sum and the largest of its gaps.
type Got = (Vec<u32>, Vec<(f64, f64)>);

/// Gives every record an area of the finest level.
pub(super) fn part(
    tree: Tree,
    releases: &[Answers],
    drawn: &Drawn<'_>,
    watch: &Watch,
) -> Result<Parted, RecordsError> {
    let cube = releases[0].cube();
    let (asked, _) = asked(releases)?;
    let top = Level::new(tree.dimension, tree.top);
    let column = drawn.wanted.levels.iter().position(|l| *l == top).ok_or(RecordsError::Nothing)?;
    let finest = Level::new(tree.dimension, tree.finest);
    let mut out = Parted { finest, areas: drawn.nodes[column].clone(), gaps: Vec::new() };
    let size = |level: usize| cube.dimensions[tree.dimension].levels[level].len();
    let used = tree.levels(&asked);
    let steps: Vec<(usize, usize)> = used.iter().copied().zip(used.iter().copied().skip(1)).collect();
    let stage = watch.stage("parting", steps.iter().map(|(above, _)| size(*above) as u64).sum());
    for (above, level) in steps {
        let step = Step::new(tree, releases, (&asked, above, level), drawn)?;
        let mut gaps = vec![(0.0, 0.0f64); step.tables.len()];
        let (order, ends) = by_area(&out.areas, size(above));
        let mut first = 0;
        while first < ends.len() {
            if watch.is_stopped() {
                return Err(RecordsError::Stopped);
            }
            let batch = step.batch(first);
            let records =
                |area: usize| &order[area.checked_sub(1).map_or(0, |before| ends[before])..ends[area]];
            step.parted(batch.clone(), &records, &mut out.areas, &mut gaps)?;
            stage.advance(batch.len() as u64);
            first = batch.end;
        }
        for (table, (sum, largest)) in step.tables.iter().zip(gaps) {
            let Some(name) = &table.name else { continue };
            let cells = (table.beside * size(level)) as u64;
            let mean = sum / cells.max(1) as f64;
            out.gaps.push(Gap { table: name.clone(), cells, std_error: table.error, mean, largest });
        }
    }
    Ok(out)
}

/// The records in the order of their areas, and where those of each end.
fn by_area(areas: &[u32], size: usize) -> (Vec<u32>, Vec<usize>) {
    let mut ends = vec![0usize; size];
    areas.iter().for_each(|&a| ends[a as usize] += 1);
    let mut sum = 0;
    ends.iter_mut().for_each(|end| {
        sum += *end;
        *end = sum;
    });
    let mut next: Vec<usize> = std::iter::once(0).chain(ends.iter().copied()).collect();
    let mut order = vec![0u32; areas.len()];
    for (record, &area) in areas.iter().enumerate() {
        order[next[area as usize]] = record as u32;
        next[area as usize] += 1;
    }
    (order, ends)
}

impl<'a> Step<'a> {
    fn new(
        tree: Tree,
        releases: &'a [Answers],
        (asked, above, level): (&BTreeSet<Cuboid>, usize, usize),
        drawn: &'a Drawn<'a>,
    ) -> Result<Step<'a>, RecordsError> {
        let cube = releases[0].cube();
        let area = Level::new(tree.dimension, level);
        let mut tables = Vec::new();
        for cuboid in tree.tables(asked, level) {
            let Some((told, variance)) = tellers(releases, &cuboid)? else { continue };
            let beside = Cuboid::new(cuboid.iter().filter(|l| *l != area));
            // The first column is that of the areas.
            let columns = at(&drawn.wanted.levels, &beside).into_iter().map(|c| c + 1);
            tables.push(Table {
                levels: std::iter::once(area).chain(beside.iter()).collect(),
                columns: std::iter::once(0).chain(columns).collect(),
                beside: beside.iter().map(|l| l.of(cube).len()).product(),
                told,
                error: libm::sqrt(variance),
                name: asked.contains(&cuboid).then(|| cube.describe(&cuboid)),
            });
        }
        let dimension = &cube.dimensions[tree.dimension];
        let mut children = vec![Vec::new(); dimension.levels[above].len()];
        for (child, &parent) in dimension.ancestors(level, above).iter().enumerate() {
            children[parent as usize].push(child as u32);
        }
        Ok(Step { drawn, level, tables, children })
    }

    /// The areas from a first one on whose parts are read at once.
    fn batch(&self, first: usize) -> Range<usize> {
        let each = self.tables.iter().map(|t| t.beside).max().unwrap_or(1).max(1);
        let (mut end, mut cells) = (first, 0);
        while end < self.children.len() && (end == first || cells < BATCH) {
            cells += self.children[end].len() * each;
            end += 1;
        }
        first..end
    }

    /// Parts the records of some areas, and adds up how far the tables of all areas in them are off.
    fn parted<'r>(
        &'r self,
        batch: Range<usize>,
        records: &dyn Fn(usize) -> &'r [u32],
        areas: &mut [u32],
        gaps: &mut [(f64, f64)],
    ) -> Result<(), RecordsError> {
        let mut among: Vec<u32> = self.children[batch.clone()].iter().flatten().copied().collect();
        among.sort_unstable();
        let estimates = self.tables.iter().map(|t| t.estimates(&among)).collect::<Result<Vec<_>, _>>()?;
        let place: BTreeMap<u32, usize> = among.iter().enumerate().map(|(i, &child)| (child, i)).collect();
        let part = |parent: usize| {
            let children = &self.children[parent][..];
            let at = children.iter().filter_map(|c| place.get(c).copied()).collect();
            Part { parent, children, records: records(parent), at }
        };
        let parts: Vec<Part> = batch.map(part).filter(|part| !part.children.is_empty()).collect();
        let mut got: Vec<Got> = parts.iter().map(|_| Got::default()).collect();
        share::each(self.drawn.way.threads, parts.iter().zip(&mut got), |(part, got)| {
            *got = self.fit(part, &estimates);
        });
        for (part, (nodes, own)) in parts.iter().zip(got) {
            part.records.iter().zip(nodes).for_each(|(&r, n)| areas[r as usize] = part.children[n as usize]);
            for (all, own) in gaps.iter_mut().zip(own) {
                *all = (all.0 + own.0, all.1.max(own.1));
            }
        }
        Ok(())
    }

    /// Parts the records of one area.
    fn fit(&self, part: &Part<'_>, estimates: &[Vec<f64>]) -> Got {
        let Drawn { wanted, nodes, way, weight } = self.drawn;
        let rows = part.records.len();
        let mut shape = Shape { total: rows as f64 * weight, ..Shape::default() };
        let size = part.children.len();
        shape.attributes.push(Attribute { columns: vec![0] });
        shape.columns.push(Column { attribute: 0, size, up: (0..size as u32).collect() });
        // All else stays as it is, so no attribute is drawn there.
        let fixed = |c: &Column| Column { attribute: exact::FIXED, size: c.size, up: Vec::new() };
        shape.columns.extend(wanted.shape.columns.iter().map(fixed));
        for (table, all) in self.tables.iter().zip(estimates) {
            let of = |&at: &usize| &all[at * table.beside..(at + 1) * table.beside];
            let own = || part.at.iter().flat_map(of);
            let whole = |e: &f64| if *e > 0.0 { (*e + 0.5) as u64 } else { 0 };
            shape.tables.push(Target {
                columns: table.columns.clone(),
                exact: (table.error == 0.0).then(|| own().map(whole).collect()),
                estimates: own().map(|e| *e as f32).collect(),
                error: if table.error == 0.0 { EXACT } else { single(table.error) },
                asked: table.name.is_some(),
            });
        }
        let gathered = |nodes: &Vec<u32>| part.records.iter().map(|&r| nodes[r as usize]).collect();
        let mut own: Nodes = std::iter::once(vec![0; rows]).chain(nodes.iter().map(gathered)).collect();
        if rows > 0 && size > 1 {
            let seed = Stream::new(way.seed, Purpose::Areas, part.parent as u64, self.level as u64).seed();
            settle(&mut shape, Way { seed, threads: 1, rows }, &mut own, *weight == 1.0);
        }
        let gaps = shape.tables.iter().map(|t| gap(&shape, t, &own, rows, *weight)).collect();
        (own.swap_remove(0), gaps)
    }
}

/// Draws the one attribute of records, learns, and moves what is left. What is exact is one aim among others until the end: once its counts are met no record could move
/// alone.
fn settle(shape: &mut Shape, way: Way, nodes: &mut Nodes, whole: bool) {
    let watch = Watch::default();
    let exact: Vec<_> = shape.tables.iter_mut().map(|t| t.exact.take()).collect();
    let mut chain = Chain::new(shape, way);
    for sweep in 0..SWEEPS {
        chain.sweep(nodes, sweep, &watch);
    }
    let mut quench = Quench::new(shape, &way, nodes);
    for pass in 0..PASSES {
        if quench.pass(shape, &way, nodes, pass, &watch).is_none_or(|moved| moved == 0) {
            break;
        }
    }
    shape.tables.iter_mut().zip(exact).for_each(|(t, exact)| t.exact = exact);
    if whole {
        exact::Exact::of(shape).meet(way.seed, nodes, way.rows, true);
    }
}

impl Table<'_> {
    /// What is said of these areas, combined by precision.
    fn estimates(&self, among: &[u32]) -> Result<Vec<f64>, RecordsError> {
        let mut out = Vec::new();
        for (teller, share) in &self.told {
            let own = teller.estimates_of(&self.levels, Some(among))?;
            if own.iter().any(|e| !e.is_finite()) {
                return Err(RecordsError::NotFinite);
            }
            match out.is_empty() {
                true => out = own.into_iter().map(|e| share * e).collect(),
                false => out.iter_mut().zip(own).for_each(|(to, e)| *to += share * e),
            }
        }
        Ok(out)
    }
}
