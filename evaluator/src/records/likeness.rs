//! How near records would come to the truth: tried out on people that everybody may know.
//!
//! The people are those of an earlier release, as its own records have them, or so many that are spread evenly; nobody is in a cell declared empty. A release of
//! them is made elsewhere, with the noise of a plan. Here records are drawn from it as from any other, and compared with the people in all tables of two and of
//! three dimensions, at the levels that records have: the total variation distance, half the sum of all |p − q|.

use super::random::{Purpose, Stream};
use super::shape::{Nodes, Shape};
use super::tabulate::{Read, node_of};
use super::targets::{self, closed, columns};
use super::tree::{Tree, with_lower};
use super::{Fitted, Options, Records, RecordsError, areas, fit, fitted, records, share, start};
use crate::answer::Several;
use crate::cube::{Cube, Cuboid, Level};
use crate::plan::Plan;
use crate::recover::Recovery;
use crate::watch::Watch;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::fmt;

/// Sets of dimensions that are compared at most, of a size.
const MOST_SETS: usize = 2000;
/// Tables of so many cells are counted in a list, larger ones by the cells that somebody is in.
const LISTED: u64 = 1 << 20;

/// People that everybody may know: of each dimension of a cube the finest node of each of them.
#[derive(Debug, Clone)]
pub struct People {
    /// Dimension by dimension.
    pub nodes: Vec<Vec<u32>>,
    /// Those of the earlier release that were in cells declared empty, and are left out.
    pub left_out: u64,
    /// Dimensions that the earlier release's records do not have: people are spread evenly there.
    pub evenly: Vec<String>,
}

/// How near records came to people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Likeness {
    /// How many people there were.
    pub(crate) people: u64,
    /// How many records.
    pub(crate) records: u64,
    /// Of tables of two and of three dimensions the mean distance.
    pub(crate) all: Distances,
    /// That of as many people drawn among the people, which chance alone makes.
    pub(crate) chance: Distances,
    /// The mean over those tables that have a dimension.
    pub(crate) dimensions: Vec<OfDimension>,
    /// Dimensions that are in no table that was asked for.
    pub(crate) absent: Vec<String>,
}

/// Mean total variation distances; nothing where there are too few dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Distances {
    /// Of tables of two dimensions.
    pub pairs: Option<f64>,
    /// How many of them.
    pub of_pairs: usize,
    /// Of tables of three.
    pub triples: Option<f64>,
    /// How many of them.
    pub of_triples: usize,
}

/// The distances of the tables that have a dimension.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct OfDimension {
    /// At the level that records have.
    pub dimension: String,
    /// Mean distances.
    #[serde(flatten)]
    pub distances: Distances,
}

impl People {
    /// Those of an earlier release of like people; or so many, spread evenly. `plan` says which cells are empty.
    pub fn new(
        cube: &Cube,
        plan: &Plan,
        earlier: Result<&Several, u64>,
        seed: u64,
        watch: &Watch,
    ) -> Result<People, RecordsError> {
        let (shape, of) = empty(cube, plan)?;
        let rows = match earlier {
            Ok(earlier) => {
                let made = records(earlier, &Options { seed, ..Options::default() }, watch)?;
                let (nodes, evenly) = among(&made, cube, seed)?;
                let (nodes, left_out) = outside(&shape, &of, nodes, made.len());
                return Ok(People { nodes, left_out, evenly });
            }
            Err(rows) => rows,
        };
        let most = super::MOST_NODES / shape.columns.len().max(1) as u64;
        if rows > most {
            return Err(RecordsError::Rows { rows, attributes: shape.attributes.len(), most });
        }
        let mut drawn = start::start(&shape, rows as usize, seed, 1)?;
        let nodes = of.iter().map(|&c| std::mem::take(&mut drawn[c])).collect();
        Ok(People { nodes, left_out: 0, evenly: Vec::new() })
    }

    /// How many there are.
    fn len(&self) -> usize {
        self.nodes.first().map_or(0, Vec::len)
    }

    /// Draws records from a release of these people, and compares.
    pub fn likeness(&self, of: &Several, options: &Options, watch: &Watch) -> Result<Likeness, RecordsError> {
        let mut fitted = fitted(of, targets::wanted(of, watch)?, options, watch)?;
        let Fitted { rows, threads, .. } = fitted;
        let cube = of.releases().first().ok_or(RecordsError::Nothing)?.cube();
        let attributes = fitted.wanted.shape.attributes.len();
        let own: Vec<(Level, Vec<u32>)> = (0..attributes).map(|a| fitted.finest(a)).collect();
        let at = |level: &Level| -> Vec<u32> {
            let dimension = &cube.dimensions[level.dimension];
            let up = dimension.ancestors(dimension.finest(), level.level);
            self.nodes[level.dimension].iter().map(|&n| up[n as usize]).collect()
        };
        let truth: Vec<Vec<u32>> = own.iter().map(|(level, _)| at(level)).collect();
        let mut stream = Stream::new(options.seed, Purpose::People, 1, 0);
        let picked: Vec<u32> = (0..self.len()).map(|_| stream.below(self.len()) as u32).collect();
        let again = |nodes: &Vec<u32>| -> Vec<u32> { picked.iter().map(|&r| nodes[r as usize]).collect() };
        let again: Vec<Vec<u32>> = truth.iter().map(again).collect();
        let sizes: Vec<u64> = own.iter().map(|(level, _)| level.of(cube).len() as u64).collect();
        let records: Vec<&[u32]> = own.iter().map(|(_, nodes)| &nodes[..]).collect();
        let truth: Vec<&[u32]> = truth.iter().map(Vec::as_slice).collect();
        let again: Vec<&[u32]> = again.iter().map(Vec::as_slice).collect();
        let compared = |other: &[&[u32]], what| compare(&sizes, &truth, other, (threads, what), watch);
        let [near, chance] = [compared(&records, "comparing")?, compared(&again, "comparing with chance")?];
        let has = |level: &Level| cube.dimensions[level.dimension].name.as_str();
        let told: Vec<&str> = own.iter().map(|(level, _)| has(level)).collect();
        let names = cube.dimensions.iter().map(|d| d.name.clone());
        Ok(Likeness {
            people: self.len() as u64,
            records: rows as u64,
            all: mean(&near, |_| true),
            chance: mean(&chance, |_| true),
            dimensions: (0..own.len())
                .map(|a| OfDimension {
                    dimension: cube.level_name(own[a].0),
                    distances: mean(&near, |set| set.contains(&a)),
                })
                .collect(),
            absent: names.filter(|name| !told.contains(&name.as_str())).collect(),
        })
    }
}

impl fmt::Display for Likeness {
    /// A table of dimensions, and what chance alone makes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |x: Option<f64>| x.map_or("–".into(), |x| format!("{x:.4}"));
        let all = [("all", &self.all), ("as many people, drawn again", &self.chance)];
        let each = self.dimensions.iter().map(|d| (d.dimension.as_str(), &d.distances));
        let rows: Vec<(&str, &Distances)> = each.chain(all).collect();
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        writeln!(f, "  {:width$}   pairs  triples", "tables with")?;
        writeln!(f, "  {}", "─".repeat(width + 17))?;
        for (name, d) in rows {
            writeln!(f, "  {name:width$}  {:>6}  {:>7}", number(d.pairs), number(d.triples))?;
        }
        Ok(())
    }
}

/// All dimensions at their finest levels with the cells that are empty, and no table; and the column of each dimension.
fn empty(cube: &Cube, plan: &Plan) -> Result<(Shape, Vec<usize>), RecordsError> {
    let recovery = Recovery::new(cube.clone(), plan.clone(), Vec::<Vec<i64>>::new())?;
    let finest = |(d, dimension): (usize, &crate::cube::Dimension)| Level::new(d, dimension.finest());
    let finest: Vec<Cuboid> =
        cube.dimensions.iter().enumerate().map(finest).map(|level| Cuboid::new([level])).collect();
    let zeros: Vec<&Cuboid> = recovery.zeros().iter().map(|z| &z.cuboid).collect();
    let (mut shape, levels) = columns(cube, finest.iter().chain(zeros.iter().copied()));
    for cuboid in zeros {
        shape.closed.push(closed(&recovery, &levels, cuboid));
    }
    let of = shape.attributes.iter().map(|a| a.columns[0]).collect();
    Ok((shape, of))
}

/// The finest nodes of records in another cube: those that a record has, any below a coarser one, and any at all of dimensions that records do not have,
/// which are named.
fn among(made: &Records, cube: &Cube, seed: u64) -> Result<(Nodes, Vec<String>), RecordsError> {
    let (mut nodes, mut evenly) = (Vec::new(), Vec::new());
    for (d, dimension) in cube.dimensions.iter().enumerate() {
        let mut stream = Stream::new(seed, Purpose::People, 0, d as u64);
        let own = |c: &&super::RecordColumn| cube.resolve(&c.name).is_some_and(|l| l.dimension == d);
        let all = dimension.levels[dimension.finest()].len();
        let Some(column) = made.columns().iter().find(own) else {
            evenly.push(dimension.name.clone());
            nodes.push((0..made.len()).map(|_| stream.below(all) as u32).collect());
            continue;
        };
        let level = cube.resolve(&column.name).unwrap_or(Level::new(d, dimension.finest()));
        let mut below = vec![Vec::new(); level.of(cube).len()];
        for (node, &up) in dimension.ancestors(dimension.finest(), level.level).iter().enumerate() {
            below[up as usize].push(node as u32);
        }
        let (mut read, mut known) =
            (Read { name: column.name.clone(), texts: vec![], which: vec![] }, HashMap::new());
        (0..made.len()).for_each(|r| read.push(&mut known, column.values.text(r).into_owned()));
        let strange =
            |text: &String| RecordsError::Category { column: column.name.clone(), text: text.clone() };
        let places: Vec<u32> = read
            .texts
            .iter()
            .map(|text| node_of(cube, level, text).ok_or_else(|| strange(text)))
            .collect::<Result<_, _>>()?;
        let finest = |&which: &u32| {
            let own = &below[places[which as usize] as usize];
            own.get(stream.below(own.len())).copied().unwrap_or(0)
        };
        nodes.push(read.which.iter().map(finest).collect());
    }
    Ok((nodes, evenly))
}

/// Those that are in no closed cell, and how many others there were.
fn outside(shape: &Shape, of: &[usize], finest: Nodes, rows: usize) -> (Nodes, u64) {
    let mut all: Nodes = vec![Vec::new(); shape.columns.len()];
    of.iter().zip(finest).for_each(|(&c, nodes)| all[c] = nodes);
    (0..shape.attributes.len()).for_each(|a| {
        let coarser = &shape.attributes[a].columns[1..];
        coarser.iter().for_each(|&c| all[c] = vec![0; rows]);
        shape.roll_up(a, &mut all);
    });
    let mut keeps = vec![true; rows];
    for closed in &shape.closed {
        let cells = shape.cells(&closed.columns, &all, rows);
        keeps.iter_mut().zip(cells).for_each(|(keeps, cell)| *keeps &= !closed.cells[cell]);
    }
    let kept =
        |nodes: &Vec<u32>| nodes.iter().zip(&keeps).filter(|(_, keeps)| **keeps).map(|(n, _)| *n).collect();
    let left_out = keeps.iter().filter(|keeps| !**keeps).count() as u64;
    (of.iter().map(|&c| kept(&all[c])).collect(), left_out)
}

/// Sets of two and of three of so many dimensions: of very many as many as are compared, evenly among all.
fn sets(dimensions: usize) -> Vec<Vec<usize>> {
    let pairs = (0..dimensions).flat_map(|a| (0..a).map(move |b| vec![b, a]));
    let triples = (0..dimensions).flat_map(|a| (0..a).flat_map(move |b| (0..b).map(move |c| vec![c, b, a])));
    let few = |all: Vec<Vec<usize>>| -> Vec<Vec<usize>> {
        let every = all.len().div_ceil(MOST_SETS).max(1);
        all.into_iter().step_by(every).collect()
    };
    few(pairs.collect()).into_iter().chain(few(triples.collect())).collect()
}

/// The distance of two lists of people in each set of dimensions.
fn compare(
    sizes: &[u64],
    one: &[&[u32]],
    other: &[&[u32]],
    (threads, what): (usize, &'static str),
    watch: &Watch,
) -> Result<Vec<(Vec<usize>, f64)>, RecordsError> {
    let mut out: Vec<(Vec<usize>, f64)> = sets(sizes.len()).into_iter().map(|set| (set, 0.0)).collect();
    let stage = watch.stage(what, out.len() as u64);
    share::each(threads, out.iter_mut(), |(set, apart)| {
        if !watch.is_stopped() {
            *apart = distance(set, sizes, one, other);
            stage.advance(1);
        }
    });
    if watch.is_stopped() { Err(RecordsError::Stopped) } else { Ok(out) }
}

/// Half the sum of all |p − q|, in whole numbers up to the last division.
fn distance(set: &[usize], sizes: &[u64], one: &[&[u32]], other: &[&[u32]]) -> f64 {
    let rows = |of: &[&[u32]]| of.first().map_or(0, |nodes| nodes.len());
    let (m, n) = (rows(one) as i128, rows(other) as i128);
    let cell = |of: &[&[u32]], r: usize| {
        set.iter().fold(0u128, |at, &d| at * u128::from(sizes[d]) + u128::from(of[d][r]))
    };
    let cells = set.iter().fold(1u128, |all, &d| all * u128::from(sizes[d]));
    let mut counts: Vec<[i128; 2]> = Vec::new();
    if cells <= u128::from(LISTED) {
        counts.resize(cells as usize, [0; 2]);
        (0..rows(one)).for_each(|r| counts[cell(one, r) as usize][0] += 1);
        (0..rows(other)).for_each(|r| counts[cell(other, r) as usize][1] += 1);
    } else {
        let mut found: FxHashMap<u128, [i128; 2]> = FxHashMap::default();
        (0..rows(one)).for_each(|r| found.entry(cell(one, r)).or_default()[0] += 1);
        (0..rows(other)).for_each(|r| found.entry(cell(other, r)).or_default()[1] += 1);
        counts.extend(found.into_values());
    }
    let apart: i128 = counts.iter().map(|[p, q]| (p * n - q * m).abs()).sum();
    if m * n > 0 { apart as f64 / (2 * m * n) as f64 } else { 0.0 }
}

/// The means over the sets that are kept.
fn mean(of: &[(Vec<usize>, f64)], keeps: impl Fn(&[usize]) -> bool) -> Distances {
    let of = |size: usize| {
        let own = of.iter().filter(|(set, _)| set.len() == size && keeps(set));
        let (n, sum) = own.fold((0, 0.0), |(n, sum), (_, apart)| (n + 1, sum + apart));
        ((n > 0).then(|| sum / n as f64), n)
    };
    let ((pairs, of_pairs), (triples, of_triples)) = (of(2), of(3));
    Distances { pairs, of_pairs, triples, of_triples }
}

/// About how many seconds of one processor it takes to draw so many records from these tables, in an optimised build.
pub fn seconds(cube: &Cube, plan: &Plan, rows: u64) -> f64 {
    let asked = plan.rows().workload.iter().map(|t| t.cuboid.clone()).chain(plan.exact.iter().cloned());
    let (asked, rows): (BTreeSet<Cuboid>, f64) = (asked.collect(), rows as f64);
    let tree = Tree::among(cube, &asked);
    let all = with_lower(&tree.map_or_else(|| asked.clone(), |tree| tree.above(&asked)));
    let sizes = |c: &Cuboid| c.iter().map(|level| level.of(cube).len() as f64 + PER_ATTRIBUTE).sum::<f64>();
    let work: f64 = all.iter().map(sizes).sum();
    let drawn = fit::rounds(work, rows) * work * rows;
    // Then each record is parted, level by level, among the areas in its own.
    let parted = tree.map_or(0.0, |tree| {
        let levels: Vec<usize> = tree.levels(&asked).into_iter().collect();
        let size = |level: usize| cube.dimensions[tree.dimension].levels[level].len() as f64;
        let step = |pair: &[usize]| {
            let each = size(pair[1]) / size(pair[0]) + PER_ATTRIBUTE;
            let tables = tree.tables(&asked, pair[1]);
            let cells: f64 = tables.iter().filter_map(|t| cube.cells(t)).map(|n| n as f64).sum();
            let rounds = (areas::SWEEPS + 2 * areas::PASSES) as f64;
            // θ of every cell is learnt in every sweep, whoever is in it.
            rounds * (rows * each * tables.len() as f64 + cells * PER_CELL)
        };
        levels.windows(2).map(step).sum()
    });
    (drawn + parted) * PER_NUMBER
}

/// What a look at one attribute in one table costs beside its numbers, in numbers; a cell that is learnt; and the seconds of one number.
const PER_ATTRIBUTE: f64 = 32.0;
const PER_CELL: f64 = 10.0;
const PER_NUMBER: f64 = 0.19e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_two_laws() {
        // Three against five people in a table of 2 × 3, by hand: (2/3, 1/3, 0, 0, 0, 0) and (1/5, 1/5, 1/5, 0, 0, 2/5).
        let one: [&[u32]; 2] = [&[0, 0, 0], &[0, 0, 1]];
        let other: [&[u32]; 2] = [&[0, 0, 0, 1, 1], &[0, 1, 2, 2, 2]];
        let half = ((2.0f64 / 3.0 - 0.2) + (1.0 / 3.0 - 0.2) + 0.2 + 0.4) / 2.0;
        assert!((distance(&[0, 1], &[2, 3], &one, &other) - half).abs() < 1e-15);
        // The same where the cells are too many for a list.
        assert!((distance(&[0, 1], &[2, 1 << 40], &one, &other) - half).abs() < 1e-15);
        assert_eq!(distance(&[0, 1], &[2, 3], &one, &one), 0.0);
        let nobody: [&[u32]; 2] = [&[], &[]];
        assert_eq!(distance(&[0, 1], &[2, 3], &one, &nobody), 0.0);
    }

    #[test]
    fn every_set_once_or_few_of_them() {
        for k in 0..7 {
            let all = sets(k);
            let of = |size| all.iter().filter(|s| s.len() == size).count();
            assert_eq!(
                (of(2), of(3)),
                (k * k.saturating_sub(1) / 2, k * k.saturating_sub(1) * k.saturating_sub(2) / 6)
            );
            let mut unique = all.clone();
            unique.sort();
            unique.dedup();
            assert_eq!(unique.len(), all.len());
        }
        assert!(sets(120).len() <= 2 * MOST_SETS);
        let found =
            mean(&[(vec![0, 1], 0.5), (vec![0, 2], 0.1), (vec![0, 1, 2], 0.7)], |set| set.contains(&1));
        assert_eq!(found, Distances { pairs: Some(0.5), of_pairs: 1, triples: Some(0.7), of_triples: 1 });
        assert_eq!(mean(&[], |_| true).pairs, None);
    }
}
