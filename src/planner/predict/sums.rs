//! The error of sums of cells where components are not recovered independently of each other: from the covariances of the cells.

use super::unequal::{kinds_of, narrower, noises, query_variance};
use crate::cube::{Cube, Cuboid, Frame, Level, odometer};
use crate::plan::{Asks, Selected, Table};
use crate::planner::closure::Spread;
use crate::recover::gls::{Gls, Parts, Weighted};
use std::collections::HashMap;

/// Not more than so many steps, each on one number, for one table.
const MOST_STEPS: f64 = (1u64 << 34) as f64;
/// What a solution by conjugate gradients takes, in passes over its frame.
const PASSES: f64 = 60.0;
/// The most queries that are looked at one by one for the largest error.
const MOST_QUERIES: f64 = (1u64 << 22) as f64;

/// The most covariances that are held.
const MOST_COVARIANCES: f64 = (1u64 << 24) as f64;

/// What was measured, and which tables are known without noise.
type Known<'a> = (&'a [Weighted], &'a [Cuboid]);

/// Mean and largest variance of what is asked of a table beyond its cells; infinite where finding out would take too long.
pub(super) fn spread(cube: &Cube, frame: &Frame, known: Known, table: &Table) -> Spread {
    match &table.asks {
        Asks::Query(_) => Selected::of(cube, table)
            .map_or(Spread::UNKNOWN, |selected| of_rows(&selected, cube, frame, known, &table.cuboid)),
        Asks::Product(_) => of_products(frame, known, table),
    }
}

fn of_rows(
    selected: &Selected,
    cube: &Cube,
    frame: &Frame,
    (measured, exact): Known,
    cuboid: &Cuboid,
) -> Spread {
    let kinds = selected.kinds(cube, frame);
    let steps: f64 = kinds.iter().map(|k| Gls::step(&k.frame, measured) * k.queries.len() as f64).sum();
    if steps * PASSES > MOST_STEPS {
        return Spread::UNKNOWN;
    }
    let (mut sum, mut count, mut max) = (0.0, 0.0, 0.0f64);
    for kind in kinds {
        for query in kind.queries {
            let variance = query_variance(&kind.frame, measured, exact, cuboid, query);
            sum += kind.count * variance;
            count += kind.count;
            max = max.max(variance);
        }
    }
    Spread { mean: sum / f64::max(count, 1.0), max }
}

/// Along dimensions that are asked for sums all nodes are told apart; along the others one node of each kind stands for all like it.
fn of_products(frame: &Frame, known: Known, table: &Table) -> Spread {
    let cuboid = &table.cuboid;
    // (node, copies) of every kind, for dimensions asked for cells.
    let kinds: Vec<Vec<(usize, u64)>> = cuboid
        .iter()
        .map(|Level { dimension: d, level: l }| match table.asks.of(d) {
            Some(_) => vec![(0, 1)],
            None => frame.axes[d].rung(l).map_or_else(Vec::new, |r| kinds_of(&frame.axes[d], r)),
        })
        .collect();
    let rest: Vec<_> = frame.axes.iter().map(|a| a.lump(0, &[0]).0).collect();
    let (mut sum, mut count, mut max) = (0.0, 0.0, 0.0f64);
    let mut pick = vec![0u32; kinds.len()];
    loop {
        let mut small = Frame { axes: rest.clone() };
        // For each dimension of the table: its nodes, and where the kind's own node is.
        let mut shape = Vec::new();
        let mut copies = 1.0;
        for (Level { dimension: d, level: l }, (kind, &p)) in cuboid.iter().zip(kinds.iter().zip(&pick)) {
            let axis = &frame.axes[d];
            let r = axis.rung(l).unwrap_or(0);
            if table.asks.of(d).is_some() {
                small.axes[d] = axis.clone();
                shape.push((axis.rungs[r].len(), None));
                continue;
            }
            let (node, of_kind) = kind[p as usize];
            copies *= of_kind as f64;
            let mut colour = vec![0; axis.rungs[r].len()];
            colour[node] = 1;
            let (lumped, lumps) = axis.lump(r, &colour);
            shape.push((lumped.rungs[r].len(), Some(lumps[r][node] as usize)));
            small.axes[d] = lumped;
        }
        let own = Block::new(&small, known, table, &shape).map_or(Spread::UNKNOWN, |block| block.spread());
        sum += copies * own.mean;
        count += copies;
        max = max.max(own.max);
        if !odometer::next(&mut pick, |i| kinds[i].len()) {
            break;
        }
    }
    Spread { mean: sum / count, max }
}

/// The covariances of the cells that differ only in the dimensions asked for sums.
struct Block {
    /// Row-major over the product of those dimensions, the last one fastest.
    covariance: Vec<Vec<f64>>,
    asked: Vec<(crate::plan::Ranges, u32)>,
}

impl Block {
    fn new(
        frame: &Frame,
        (measured, exact): Known,
        table: &Table,
        shape: &[(usize, Option<usize>)],
    ) -> Option<Block> {
        let asked: Vec<_> = table
            .cuboid
            .iter()
            .zip(shape)
            .filter_map(|(at, &(n, _))| Some((table.asks.of(at.dimension)?.clone(), n as u32)))
            .collect();
        let nodes: f64 = asked.iter().map(|a| f64::from(a.1)).product();
        let queries: f64 = asked.iter().map(|(a, n)| a.queries((*n).into())).product();
        let work = nodes * Gls::step(frame, measured) * PASSES;
        if work > MOST_STEPS || queries > MOST_QUERIES || nodes * nodes > MOST_COVARIANCES {
            return None;
        }
        // Where the cells of the block lie among those of the table.
        let mut places = vec![0usize];
        for &(n, own) in shape {
            let nodes: Vec<usize> = own.map_or_else(|| (0..n).collect(), |own| vec![own]);
            places = places.iter().flat_map(|&p| nodes.iter().map(move |&k| p * n + k)).collect();
        }
        let cells: usize = shape.iter().map(|s| s.0).product();
        let narrow = narrower(measured);
        let gls = Gls::new(frame, narrow.as_deref().unwrap_or(measured), false).beside(exact);
        let solved = places
            .iter()
            .map(|&place| {
                let mut query = vec![0.0; cells];
                query[place] = 1.0;
                let mut parts = Parts::new();
                Gls::gather(frame, &table.cuboid, query, &mut parts);
                parts.retain(|a, _| !exact.iter().any(|e| a.is_below(e)));
                gls.solve(parts).ok()
            })
            .collect::<Option<Vec<Parts>>>()?;
        let covariance: Vec<Vec<f64>> = match &narrow {
            None => {
                let row = |v| {
                    let column = gls.build(&table.cuboid, v);
                    places.iter().map(|&p| column[p]).collect()
                };
                solved.iter().map(row).collect()
            }
            Some(narrow) => {
                let noises: Vec<Vec<f64>> =
                    solved.iter().map(|v| noises(&gls, frame, measured, narrow, v)).collect();
                let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum();
                noises.iter().map(|a| noises.iter().map(|b| product(a, b)).collect()).collect()
            }
        };
        Some(Block { covariance, asked })
    }

    /// Sums over intervals of one dimension after the other, of both sides of the covariances.
    fn spread(&self) -> Spread {
        let (mut sum, mut count, mut max) = (0.0, 0.0, 0.0f64);
        each(&self.covariance, &self.asked, &mut |variance| {
            sum += variance;
            count += 1.0;
            max = max.max(variance);
        });
        Spread { mean: sum / count, max }
    }
}

/// Calls `visit` with the variance of every product of intervals.
fn each(covariance: &[Vec<f64>], asked: &[(crate::plan::Ranges, u32)], visit: &mut dyn FnMut(f64)) {
    let Some(((first, n), rest)) = asked.split_first() else {
        return visit(covariance.first().and_then(|r| r.first()).copied().unwrap_or(0.0));
    };
    let inner = covariance.len() / (*n as usize).max(1);
    let mut known: HashMap<u32, (u32, Vec<Vec<f64>>)> = HashMap::new();
    for (low, high) in first.intervals(*n) {
        // The one before with the same first node, if it ended before this one does, and the nodes it lacks.
        let (from, mut block) = match known.remove(&low) {
            Some((last, block)) if last <= high => (last + 1, block),
            _ => (low, vec![vec![0.0; inner]; inner]),
        };
        for new in from..=high {
            for old in low..=new {
                let sides: &[(u32, u32)] = if old == new { &[(new, new)] } else { &[(new, old), (old, new)] };
                for &(a, b) in sides {
                    for (i, row) in block.iter_mut().enumerate() {
                        let (a, b) = (a as usize * inner + i, b as usize * inner);
                        row.iter_mut().zip(&covariance[a][b..b + inner]).for_each(|(s, v)| *s += v);
                    }
                }
            }
        }
        each(&block, rest, visit);
        known.insert(low, (high, block));
    }
}
