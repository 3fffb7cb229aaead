//! What components told by bases add to what is asked: the same closure with other gains along some axes.

use super::ranges::{self, Kind, Sums};
use super::{AskedOf, Closure, How};
use crate::cube::{Axis, Cube, Cuboid, Frame, Level};
use crate::plan::basis::{Inverse, Part};
use crate::plan::weights::cell_norms;
use crate::plan::{Asks, Plan, Ranges, Selected, Table, Telling, Tellings};
use crate::recover::based;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How the levels are told that are not told by siblings' differences, by dimension and level.
pub(crate) type Bases = BTreeMap<(usize, usize), Telling>;

/// Kinds of queries that are told apart along one axis; more are merged to bounds.
const MOST_KINDS: usize = 48;

/// So many of those that stand beside a dimension are told apart, where its categories are looked at one by one.
const MOST_FOREMOST: usize = 256;

/// How a plan's measurements tell levels.
pub(crate) fn tellings_of(plan: &Plan) -> Tellings {
    // Those of a plan fit each other: else it would have been refused.
    Tellings::of(plan.only().measurements.iter().map(|m| &m.block)).unwrap_or_default()
}

/// The bases of a plan's measurements.
pub(crate) fn bases_of(plan: &Plan) -> Bases {
    tellings_of(plan).alike
}

impl Closure {
    /// Some kinds of cells along dimension number `i` of a table, or bounds.
    fn few(&self, t: usize, i: usize, at: Level) -> &[Kind] {
        let axis = &self.gains[at.dimension];
        match self.asked(t).and_then(|a| a.sums(i)) {
            Some(sums) => &sums.kinds().front,
            None => &axis.kinds[axis.rung_of[at.level]],
        }
    }

    /// For each dimension of table number `t` what a unit of each component's noise adds to all that is asked together: a row over
    /// the components along that dimension.
    pub(crate) fn rows_of(&self, frame: &Frame, t: usize, table: &Table) -> Vec<Vec<f64>> {
        let asked = self.asked(t);
        let mut out = Vec::with_capacity(table.cuboid.len());
        for (i, (d, l)) in table.cuboid.pairs().enumerate() {
            let axis = &self.gains[d];
            let (row, queries) = match asked.and_then(|a| a.sums(i)) {
                Some(sums) => (&sums.mean, sums.queries),
                None => (&axis.mean[axis.rung_of[l]], frame.rung(Level::new(d, l)).real_len() as f64),
            };
            out.push(
                row.iter().zip(&axis.live).filter(|(_, live)| **live).map(|(g, _)| g * queries).collect(),
            );
        }
        out
    }

    /// The same components, told in these ways.
    pub(crate) fn over_tellings(
        &self,
        cube: &Cube,
        frame: &Frame,
        workload: &[Table],
        tellings: &Tellings,
    ) -> Closure {
        let mut out = self.over_bases(cube, frame, workload, &tellings.alike);
        if let Some(own) = &tellings.own {
            let cells = workload.iter().enumerate().filter(|(_, t)| t.asks.is_cells());
            for (t, table) in cells.filter(|(_, t)| t.cuboid.level(own.dimension) > 0) {
                let how = out.apart(frame, t, &table.cuboid, tellings, own.dimension);
                let (queries, held) = (out.queries(frame, t, &table.cuboid), out.held(t));
                out.asked[t] = Some(Box::new(AskedOf { queries, held, how }));
            }
        }
        out
    }

    /// What a table's cells are, where components have weights of their own in a dimension: every node of it is looked at for all kinds of components at once.
    fn apart(&self, frame: &Frame, t: usize, cuboid: &Cuboid, tellings: &Tellings, dimension: usize) -> How {
        let axis = &frame.axes[dimension];
        let r = axis.rung(cuboid.level(dimension)).unwrap_or(0);
        let mut all: Vec<Vec<f64>> = vec![Vec::new(); axis.rungs[r].len()];
        for told in tellings.each() {
            all.iter_mut().zip(of_cells(frame, dimension, r, &told)).for_each(|(all, own)| all.extend(own));
        }
        let mut mean = vec![0.0; all.first().map_or(0, Vec::len)];
        all.iter().for_each(|own| mean.iter_mut().zip(own).for_each(|(m, v)| *m += v));
        mean.iter_mut().for_each(|m| *m /= all.len() as f64);
        let all: Vec<Kind> = (0..).zip(all).map(|(node, norms)| Kind { norms, at: (node, node) }).collect();
        let kinds = ranges::front(&all, MOST_KINDS);
        // For each component its place in the rows of every dimension.
        let place = |&id: &u32| -> Vec<usize> {
            let a = &self.components[id as usize];
            let rung = |d: usize| frame.axes[d].rung(a.level(d)).unwrap_or(0);
            let of = |d: usize| if d == dimension { tellings.kind(a) * (r + 1) + rung(d) } else { rung(d) };
            cuboid.iter().map(|at| of(at.dimension)).collect()
        };
        let places: Vec<Vec<usize>> = self.tables[t].iter().map(place).collect();
        let product = |rows: &[&[f64]]| -> Vec<f64> {
            let of = |places: &Vec<usize>| places.iter().zip(rows).map(|(&at, row)| row[at]).product();
            places.iter().map(of).collect()
        };
        let (mut means, mut rows): (Vec<&[f64]>, Vec<Vec<&[f64]>>) = (Vec::new(), vec![Vec::new()]);
        for (i, at) in cuboid.iter().enumerate() {
            let own: Vec<&[f64]> = match at.dimension == dimension {
                true => kinds.iter().map(|kind| &kind.norms[..]).collect(),
                false => self.few(t, i, at).iter().map(|kind| &kind.norms[..]).collect(),
            };
            let gains = &self.gains[at.dimension];
            means.push(match self.asked(t).and_then(|a| a.sums(i)) {
                _ if at.dimension == dimension => &mean,
                Some(sums) => &sums.mean,
                None => &gains.mean[gains.rung_of[at.level]],
            });
            rows = rows.iter().flat_map(|row| own.iter().map(|&own| [&row[..], &[own]].concat())).collect();
        }
        let kinds = rows.iter().map(|rows| product(rows)).collect();
        How::Rows { mean: product(&means), kinds }
    }

    /// The same components, told by these bases.
    pub(crate) fn over_bases(
        &self,
        cube: &Cube,
        frame: &Frame,
        workload: &[Table],
        bases: &Bases,
    ) -> Closure {
        let mut known: FxHashMap<(usize, usize, Ranges), Arc<Sums>> = FxHashMap::default();
        let mut asked = Vec::with_capacity(workload.len());
        for (t, table) in workload.iter().enumerate() {
            // A level of single children is told as the coarser ones are.
            let told = |(d, l)| bases.range((d, 0)..=(d, l)).next().is_some();
            let own = |i: usize| match self.asked(t).map(|a| &a.how) {
                Some(How::Products(sums)) => sums.get(i).cloned().flatten(),
                _ => None,
            };
            let how = match self.asked(t).map(|a| &a.how) {
                Some(How::Rows { mean, kinds }) => match table.cuboid.pairs().any(told) {
                    true => rows_told(cube, frame, table, bases),
                    false => How::Rows { mean: mean.clone(), kinds: kinds.clone() },
                },
                None if !table.cuboid.pairs().any(told) => {
                    asked.push(None);
                    continue;
                }
                _ => How::Products(
                    (table.cuboid.pairs().enumerate())
                        .map(|(i, (d, l))| {
                            let axis = &frame.axes[d];
                            let Some(r) = axis.rung(l).filter(|_| told((d, l))) else { return own(i) };
                            let what = table.asks.of(d).cloned().unwrap_or_default();
                            let new = || Arc::new(told_by(frame, d, r, &what, bases));
                            Some(known.entry((d, r, what.clone())).or_insert_with(new).clone())
                        })
                        .collect(),
                ),
            };
            let queries = self.queries(frame, t, &table.cuboid);
            asked.push(Some(Box::new(AskedOf { queries, held: self.held(t), how })));
        }
        Closure {
            components: self.components.clone(),
            tables: self.tables.clone(),
            index: self.index.clone(),
            gains: self.gains.clone(),
            asked,
            told: bases.clone(),
            found: Default::default(),
        }
    }
}

/// The most numbers that all rows of a SELECT may have over the cells of its table, for bases to be predicted.
const MOST_NUMBERS: f64 = (1u64 << 24) as f64;

/// Whether what a SELECT asks can be predicted row by row.
pub(crate) fn can_be_told(cube: &Cube, frame: &Frame, table: &Table) -> bool {
    let numbers = |s: Selected| s.queries(cube) * frame.cells(&s.cuboid);
    matches!(table.asks, Asks::Product(_))
        || Selected::of(cube, table).is_some_and(|s| numbers(s) <= MOST_NUMBERS)
}

/// What the rows of a SELECT add, one by one.
fn rows_told(cube: &Cube, frame: &Frame, table: &Table, bases: &Bases) -> How {
    let below: FxHashMap<Cuboid, usize> = frame.below(&table.cuboid).into_iter().zip(0..).collect();
    let (mut mean, mut kinds, mut queries) = (vec![0.0; below.len()], Vec::new(), 0.0);
    if let Some(selected) = Selected::of(cube, table).filter(|_| can_be_told(cube, frame, table)) {
        selected.each(cube, &mut |query| {
            let mut norms = vec![0.0; below.len()];
            based::split(bases, frame, &table.cuboid, query, &mut |a, part, copies| {
                let norm: f64 = part.iter().zip(copies).map(|(v, &m)| v * v * m as f64).sum();
                if let Some(own) = below.get(&a).and_then(|&at| norms.get_mut(at)) {
                    *own = norm;
                }
            });
            mean.iter_mut().zip(&norms).for_each(|(m, n)| *m += n);
            queries += 1.0;
            if kinds.len() < 4096 && !kinds.contains(&norms) {
                kinds.push(norms);
            }
        });
    }
    mean.iter_mut().for_each(|m| *m /= f64::max(queries, 1.0));
    How::Rows { mean, kinds }
}

/// For every node of rung `r` its factors of each component's rows, one after the other; and where each component's begin.
fn factors(axis: &Axis, dimension: usize, r: usize, bases: &Bases) -> (Vec<Vec<f64>>, Vec<usize>) {
    let n = axis.rungs[r].len();
    // From weights of nodes, one unit vector each, down to total.
    let mut weights: Vec<f64> = (0..n * n).map(|i| f64::from(u8::from(i % (n + 1) == 0))).collect();
    let mut parts = Vec::new();
    for rung in axis.rungs[1..=r].iter().rev() {
        let told = bases.get(&(dimension, rung.level));
        let (own, coarser) = match told.and_then(|t| t.basis()?.inverse()) {
            Some(inverse) => split_by(inverse, &weights),
            None => {
                let mean = crate::cube::frame::push(&weights, 1, rung);
                crate::cube::frame::take_off(&mut weights, &mean, 1, rung);
                (std::mem::take(&mut weights), mean)
            }
        };
        parts.push(own);
        weights = coarser;
    }
    parts.push(weights);
    parts.reverse();
    let widths: Vec<usize> = parts.iter().map(|p| p.len() / n).collect();
    let starts = widths.iter().scan(0, |at, w| Some(std::mem::replace(at, *at + w))).collect();
    let row = |node: usize| {
        parts.iter().zip(&widths).flat_map(|(p, &w)| p[node * w..][..w].iter().copied()).collect()
    };
    ((0..n).map(row).collect(), starts)
}

fn split_by(inverse: &Inverse, weights: &[f64]) -> (Vec<f64>, Vec<f64>) {
    (inverse.pull(weights, 1, Part::Rows), inverse.pull(weights, 1, Part::Coarser))
}

/// The cells of rung `r`, told by weights of nodes.
fn weighted(axis: &Axis, dimension: usize, r: usize, bases: &Bases) -> Sums {
    let of = |j: usize| bases.get(&(dimension, axis.rungs[j].level))?.weights().map(|w| &**w);
    let norms = cell_norms(axis, r, of);
    let mut mean = vec![0.0; r + 1];
    norms.iter().for_each(|own| mean.iter_mut().zip(own).for_each(|(m, v)| *m += v));
    mean.iter_mut().for_each(|m| *m /= norms.len().max(1) as f64);
    let mut all: Vec<Kind> = (0..).zip(norms).map(|(node, norms)| Kind { norms, at: (node, node) }).collect();
    all.sort_by(|a, b| a.norms.iter().map(|v| v.to_bits()).cmp(b.norms.iter().map(|v| v.to_bits())));
    all.dedup_by(|a, b| a.norms == b.norms);
    Sums::told(axis, r, &Ranges::Cells, mean, all, MOST_KINDS)
}

/// For every node of rung `r` what the noises of each rung's components add to the variance of its count.
pub(crate) fn of_cells(frame: &Frame, dimension: usize, r: usize, bases: &Bases) -> Vec<Vec<f64>> {
    let axis = &frame.axes[dimension];
    let told = |j: usize| bases.get(&(dimension, axis.rungs[j].level));
    if (0..=r).any(|j| told(j).is_some_and(|t| t.basis().is_some())) {
        let (rows, starts) = factors(axis, dimension, r, bases);
        let square = |part: &[f64]| part.iter().map(|v| v * v).sum();
        let ends = |row: &[f64]| starts.iter().skip(1).copied().chain([row.len()]).collect::<Vec<_>>();
        let norms = |row: Vec<f64>| starts.iter().zip(ends(&row)).map(|(&a, b)| square(&row[a..b])).collect();
        return rows.into_iter().map(norms).collect();
    }
    cell_norms(axis, r, |j| told(j)?.weights().map(|w| &**w))
}

/// The nodes that are not better known than another one whatever the noises of components are, with the same; bounds, where there are very many.
pub(crate) fn foremost(frame: &Frame, dimension: usize, r: usize, bases: &Bases) -> Vec<(u32, Vec<f64>)> {
    let all = of_cells(frame, dimension, r, bases);
    let all: Vec<Kind> = (0..).zip(all).map(|(node, norms)| Kind { norms, at: (node, node) }).collect();
    ranges::front(&all, MOST_FOREMOST).into_iter().map(|kind| (kind.at.0, kind.norms)).collect()
}

/// The same where nodes have weights.
fn shares(frame: &Frame, dimension: usize, r: usize, bases: &Bases) -> (Vec<Vec<f64>>, Vec<usize>) {
    let rungs = &frame.axes[dimension].rungs[..=r];
    let n = rungs[r].len();
    let of = Cuboid::new([(dimension, rungs[r].level)]);
    let widths: Vec<usize> = rungs.iter().map(|rung| rung.len()).collect();
    let starts: Vec<usize> = widths.iter().scan(0, |at, w| Some(std::mem::replace(at, *at + w))).collect();
    let row = |node: usize| {
        let mut row = vec![0.0; widths.iter().sum()];
        let unit = (0..n).map(|i| f64::from(u8::from(i == node))).collect();
        based::split(bases, frame, &of, unit, &mut |a, part, _| {
            let rung = rungs.iter().position(|rung| rung.level == a.level(dimension)).unwrap_or(0);
            row[starts[rung]..][..part.len()].copy_from_slice(&part);
        });
        row
    };
    ((0..n).map(row).collect(), starts)
}

/// What is asked of rung `r`, told by bases or weights.
fn told_by(frame: &Frame, dimension: usize, r: usize, asked: &Ranges, bases: &Bases) -> Sums {
    let axis = &frame.axes[dimension];
    let nodes = axis.rungs[r].len() as u32;
    let queries = asked.queries(nodes.into());
    let own = bases.range((dimension, 0)..=(dimension, axis.rungs[r].level));
    let has_weights = own.into_iter().any(|(_, told)| told.weights().is_some());
    if *asked == Ranges::Cells && has_weights {
        return weighted(axis, dimension, r, bases);
    }
    let (rows, starts) = match has_weights {
        true => shares(frame, dimension, r, bases),
        false => factors(axis, dimension, r, bases),
    };
    let width = rows.first().map_or(0, Vec::len);
    let component = |at: usize| starts.partition_point(|&s| s <= at) - 1;
    let mut mean = vec![0.0; starts.len()];
    for at in 0..width {
        let members: Vec<(u32, f64)> = (0..nodes).zip(rows.iter().map(|row| row[at])).collect();
        mean[component(at)] += asked.squares(nodes, &members) / queries;
    }
    // Sums of the first nodes, so that every interval is a difference.
    let mut sums = vec![vec![0.0; width]];
    for row in &rows {
        let before = sums.last().cloned().unwrap_or_default();
        sums.push(before.iter().zip(row).map(|(b, v)| b + v).collect());
    }
    let kind = |(first, last): (u32, u32)| -> Kind {
        let (low, high) = (&sums[first as usize], &sums[last as usize + 1]);
        let ends = starts.iter().skip(1).copied().chain([width]);
        let part = |(&start, end): (&usize, usize)| -> f64 {
            high[start..end].iter().zip(&low[start..end]).map(|(h, l)| (h - l) * (h - l)).sum()
        };
        Kind { norms: starts.iter().zip(ends).map(part).collect(), at: (first, last) }
    };
    let all: Vec<Kind> = asked.intervals(nodes).map(kind).collect();
    Sums::told(axis, r, asked, mean, all, MOST_KINDS)
}
