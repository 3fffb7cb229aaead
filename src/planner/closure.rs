//! The components below a workload, and how much each one's noise adds to what is asked of each table.

pub(crate) mod bases;
pub(crate) mod cells;
mod ranges;

use crate::cube::{Axis, Cube, Cuboid, Frame, Level};
use crate::plan::{Asks, Ranges, Selected, Table};
use ranges::{Kind, Sums};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::sync::Arc;

/// A workload's components, indexed. The order is that of first need, so it depends on the spec alone.
pub(crate) struct Closure {
    /// All components below the workload's tables.
    pub components: Vec<Cuboid>,
    /// For each table the indices of its components, in the order of [`Frame::below`].
    pub tables: Vec<Vec<u32>>,
    index: FxHashMap<Cuboid, u32>,
    gains: Vec<AxisGains>,
    /// For each table what is asked beyond its cells, if anything is.
    asked: Vec<Option<Box<AskedOf>>>,
    /// How levels are told that are not told by siblings' differences.
    told: bases::Bases,
    /// What searches for its tables have found.
    pub(super) found: super::found::Found,
}

/// What is asked of a table beyond its cells.
struct AskedOf {
    queries: f64,
    held: f64,
    how: How,
}

enum How {
    /// For each of its dimensions the sums of nodes, `None` for single nodes.
    Products(Vec<Option<Arc<Sums>>>),
    /// Rows: for each of the table's components what they add on average, and the kinds.
    Rows { mean: Vec<f64>, kinds: Vec<Vec<f64>> },
}

impl AskedOf {
    fn sums(&self, i: usize) -> Option<&Sums> {
        let How::Products(sums) = &self.how else { return None };
        sums.get(i)?.as_deref()
    }
}

/// For one axis: how a level-`ℓ` cell depends on each coarser rung's component.
#[derive(Clone)]
struct AxisGains {
    /// `mean[r][j]`: the mean over nodes of rung r of `‖P_j Upᵀ e‖²`.
    mean: Vec<Vec<f64>>,
    /// The distinct kinds of nodes of rung r, each once.
    kinds: Vec<Vec<Kind>>,
    /// The rungs that hold something.
    live: Vec<bool>,
    /// From level to rung.
    rung_of: Vec<usize>,
}

impl AxisGains {
    fn new(axis: &Axis, levels: usize) -> AxisGains {
        // Nodes of one orbit have the same norms, so a lumped axis shows every kind.
        let (lumped, lump_of) = axis.lump(0, &[0]);
        let mut mean = Vec::new();
        let mut kinds = Vec::new();
        for r in 0..axis.rungs.len() {
            let norms = lumped.cell_norms(r);
            let total = lumped.rungs[r].real_len() as f64;
            let mut average = vec![0.0; r + 1];
            for (n, &m) in norms.iter().zip(&lumped.rungs[r].multiplicity) {
                average.iter_mut().zip(n).for_each(|(a, v)| *a += m as f64 * v);
            }
            average.iter_mut().for_each(|a| *a /= total);
            mean.push(average);
            // The first node of each lump.
            let mut first = vec![0; norms.len()];
            lump_of[r].iter().enumerate().rev().for_each(|(node, &lump)| first[lump as usize] = node as u32);
            kinds
                .push(norms.into_iter().zip(first).map(|(norms, at)| Kind { norms, at: (at, at) }).collect());
        }
        let live = axis.rungs.iter().map(|r| !r.adds_nothing()).collect();
        let mut rung_of = vec![0; levels];
        for (r, rung) in axis.rungs.iter().enumerate() {
            rung_of[rung.level] = r;
        }
        AxisGains { mean, kinds, live, rung_of }
    }
}

/// The mean and the largest variance of what is asked of one table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Averaged over the queries.
    pub mean: f64,
    /// Of the worst one.
    pub max: f64,
}

impl Spread {
    /// Of what cannot be predicted.
    pub(crate) const UNKNOWN: Spread = Spread { mean: f64::INFINITY, max: f64::INFINITY };
}

impl Closure {
    /// The closure of a workload.
    pub(crate) fn new(cube: &Cube, frame: &Frame, workload: &[Table]) -> Closure {
        let mut closure = Closure {
            components: Vec::new(),
            tables: Vec::new(),
            index: FxHashMap::default(),
            gains: frame
                .axes
                .iter()
                .zip(&cube.dimensions)
                .map(|(axis, d)| AxisGains::new(axis, d.levels.len()))
                .collect(),
            asked: Vec::new(),
            told: bases::Bases::new(),
            found: Default::default(),
        };
        // Of many tables each has most often a component of its own.
        closure.index.reserve(workload.len());
        let mut known = FxHashMap::default();
        for table in workload {
            closure.asked.push(asked_of(cube, frame, table, &mut known));
            let ids = frame
                .below(&table.cuboid)
                .into_iter()
                .map(|a| {
                    let next = closure.components.len() as u32;
                    *closure.index.entry(a).or_insert_with_key(|a| {
                        closure.components.push(a.clone());
                        next
                    })
                })
                .collect();
            closure.tables.push(ids);
        }
        closure
    }

    /// The index of a component.
    pub(crate) fn find(&self, component: &Cuboid) -> Option<usize> {
        self.index.get(component).map(|&i| i as usize)
    }

    /// How many queries are asked of table number `t`: one for every cell, unless told.
    pub(crate) fn queries(&self, frame: &Frame, t: usize, cuboid: &Cuboid) -> f64 {
        self.asked(t).map_or_else(|| frame.cells(cuboid), |asked| asked.queries)
    }

    /// How many of the queries asked of table number `t` hold a cell, on average over the cells and each by the square of its weight there: one,
    /// unless told. What reading the queries from the cells directly makes of their noise.
    pub(crate) fn held(&self, t: usize) -> f64 {
        self.asked(t).map_or(1.0, |asked| asked.held)
    }

    fn asked(&self, t: usize) -> Option<&AskedOf> {
        self.asked.get(t)?.as_deref()
    }

    /// Calls `visit(component index, mean gain)` for each component of table number `t`, where the mean
    /// variance of what is asked of it is `Σ σ_A² · gain`.
    pub(crate) fn mean_gains(&self, t: usize, cuboid: &Cuboid, mut visit: impl FnMut(usize, f64)) {
        let asked = self.asked(t);
        if let Some(How::Rows { mean, .. }) = asked.map(|a| &a.how) {
            self.tables[t].iter().zip(mean).for_each(|(&id, &gain)| visit(id as usize, gain));
            return;
        }
        let mut gains: Gains = smallvec![1.0];
        for (i, at) in cuboid.iter().enumerate() {
            let axis = &self.gains[at.dimension];
            let row = match asked.and_then(|a| a.sums(i)) {
                Some(sums) => &sums.mean,
                None => &axis.mean[axis.rung_of[at.level]],
            };
            gains = product(&gains, row, &axis.live);
        }
        for (&id, gain) in self.tables[t].iter().zip(gains) {
            visit(id as usize, gain);
        }
    }

    /// Calls `visit(component indices, gains)` for each kind of query of table number `t`: one of that kind has
    /// variance `Σ σ_A² · gain`. Of many kinds of sums these are bounds, about [`MOST_ROWS`] of them.
    pub(crate) fn kind_gains(&self, t: usize, cuboid: &Cuboid, mut visit: impl FnMut(&[u32], &[f64])) {
        if let Some(How::Rows { kinds, .. }) = self.asked(t).map(|a| &a.how) {
            kinds.iter().for_each(|gains| visit(&self.tables[t], gains));
            return;
        }
        let mut kinds: SmallVec<[Gains; 1]> = smallvec![smallvec![1.0]];
        for (i, at) in cuboid.iter().enumerate() {
            let live = &self.gains[at.dimension].live;
            let rows = self.rows(t, i, cuboid, true);
            let rows = &rows;
            kinds =
                kinds.iter().flat_map(|k| rows.iter().map(move |row| product(k, &row.norms, live))).collect();
        }
        kinds.iter().for_each(|gains| visit(&self.tables[t], gains));
    }

    /// The kinds of queries along dimension number `i` of a table.
    fn rows(&self, t: usize, i: usize, cuboid: &Cuboid, few: bool) -> Cow<'_, [Kind]> {
        let Some(at) = cuboid.iter().nth(i) else { return Cow::Borrowed(&[]) };
        let axis = &self.gains[at.dimension];
        let Some((asked, sums)) = self.asked(t).and_then(|a| Some((a, a.sums(i)?))) else {
            return Cow::Borrowed(&axis.kinds[axis.rung_of[at.level]]);
        };
        let several = (0..cuboid.len()).filter(|&i| asked.sums(i).is_some()).count();
        if let Some(alone) = (few && several == 1).then(|| sums.kinds().alone()).flatten() {
            return Cow::Borrowed(alone);
        }
        if few {
            let most = libm::pow(MOST_ROWS as f64, 1.0 / several as f64) as usize;
            if sums.kinds().front.len() > most {
                return Cow::Owned(ranges::front(&sums.kinds().front, most));
            }
        }
        // Alone it may have as many as there are.
        let alone = sums.kinds().all.as_ref().filter(|_| !few && several == 1);
        Cow::Borrowed(alone.unwrap_or(&sums.kinds().front))
    }

    /// Mean and largest variance of what is asked of table `t` when component A has variance `sigma2[A]` and components
    /// are independent.
    pub(crate) fn spread(&self, t: usize, cuboid: &Cuboid, sigma2: &[f64]) -> Spread {
        let mut mean = 0.0;
        self.mean_gains(t, cuboid, |id, gain| mean += sigma2[id] * gain);
        if matches!(self.asked(t), Some(AskedOf { how: How::Products(_), .. })) {
            return Spread { mean, max: self.largest(t, cuboid, sigma2).0.max(mean) };
        }
        let one_kind = |at: Level| {
            let axis = &self.gains[at.dimension];
            axis.kinds[axis.rung_of[at.level]].len() == 1
        };
        if self.asked(t).is_none() && cuboid.iter().all(one_kind) {
            return Spread { mean, max: mean };
        }
        let (mut kinds, mut max) = (0, 0.0f64);
        self.kind_gains(t, cuboid, |ids, gains| {
            kinds += 1;
            max = max.max(ids.iter().zip(gains).map(|(&id, g)| sigma2[id as usize] * g).sum());
        });
        // One kind is the mean, but for rounding, or bounds all.
        Spread { mean, max: if kinds == 1 && max <= mean * (1.0 + 1e-9) { mean } else { max } }
    }

    /// The largest variance over all kinds of products, and one that has it: the first and the last node along each dimension.
    pub(crate) fn largest(&self, t: usize, cuboid: &Cuboid, sigma2: &[f64]) -> (f64, Vec<(u32, u32)>) {
        let rows: Vec<Vec<(Vec<f64>, (u32, u32))>> = cuboid
            .iter()
            .enumerate()
            .map(|(i, at)| {
                let live = &self.gains[at.dimension].live;
                let kept = |kind: &Kind| {
                    let norms = kind.norms.iter().zip(live).filter(|(_, live)| **live).map(|(g, _)| *g);
                    (norms.collect(), kind.at)
                };
                self.rows(t, i, cuboid, false).iter().map(kept).collect()
            })
            .collect();
        let own: Vec<f64> = self.tables[t].iter().map(|&id| sigma2[id as usize]).collect();
        let mut best = (0.0, vec![(0, 0); rows.len()]);
        largest(&rows, &own, &mut Vec::new(), &mut best);
        best
    }
}

/// The largest `Σ_A own_A Π_i rows_i[k_i][A_i]` over all choices of `k`, contracted dimension by dimension; the last one fastest.
fn largest(
    rows: &[Vec<(Vec<f64>, (u32, u32))>],
    own: &[f64],
    at: &mut Vec<(u32, u32)>,
    best: &mut (f64, Vec<(u32, u32)>),
) {
    let Some((first, rest)) = rows.split_first() else {
        let value = own.first().copied().unwrap_or(0.0);
        if value > best.0 {
            *best = (value, at.clone());
        }
        return;
    };
    let width = first.first().map_or(1, |row| row.0.len()).max(1);
    let inner = own.len() / width;
    for (row, place) in first {
        let mut sum = vec![0.0; inner];
        for (part, g) in own.chunks_exact(inner).zip(row).filter(|(_, g)| **g > 0.0) {
            sum.iter_mut().zip(part).for_each(|(s, v)| *s += g * v);
        }
        at.push(*place);
        largest(rest, &sum, at, best);
        at.pop();
    }
}

/// What is asked of a table, `None` for its cells. `known` has what was worked out for axes.
fn asked_of(
    cube: &Cube,
    frame: &Frame,
    table: &Table,
    known: &mut FxHashMap<(usize, usize, Ranges), Arc<Sums>>,
) -> Option<Box<AskedOf>> {
    if table.asks.is_cells() {
        return None;
    }
    if matches!(table.asks, Asks::Query(_)) {
        // Queries have been read before; one that cannot be is none.
        return Some(Box::new(rows_of(&Selected::of(cube, table)?, cube, frame)));
    }
    let mut queries = 1.0;
    let mut sums = Vec::with_capacity(table.cuboid.len());
    for Level { dimension: d, level: l } in table.cuboid.iter() {
        let axis = frame.axes.get(d)?;
        let r = axis.rung(l)?;
        let own = table.asks.of(d).map(|asked| {
            let new = || Arc::new(Sums::new(axis, r, asked));
            known.entry((d, r, asked.clone())).or_insert_with(new).clone()
        });
        queries *= own.as_ref().map_or(axis.rungs[r].real_len() as f64, |s| s.queries);
        sums.push(own);
    }
    let held = table.asks.held(&table.cuboid, |d, l| frame.rung(Level::new(d, l)).real_len());
    Some(Box::new(AskedOf { queries, held, how: How::Products(sums) }))
}

/// What the rows of a SELECT add.
fn rows_of(selected: &Selected, cube: &Cube, frame: &Frame) -> AskedOf {
    let below: FxHashMap<Cuboid, usize> = frame.below(&selected.cuboid).into_iter().zip(0..).collect();
    let mut mean = vec![0.0; below.len()];
    let (mut kinds, mut queries, mut squares) = (Vec::new(), 0.0, 0.0);
    for kind in selected.kinds(cube, frame) {
        let copies = kind.frame.multiplicity(&selected.cuboid);
        for query in kind.queries {
            let square: f64 = query.iter().zip(&copies).map(|(q, &m)| q * q * m as f64).sum();
            squares += kind.count * square;
            let mut norms = vec![0.0; below.len()];
            // What is left of rounding is nothing.
            let least = 1e-24 * square;
            kind.frame.decompose(&selected.cuboid, query, &mut |a, part| {
                let copies = kind.frame.multiplicity(&a);
                let norm: f64 = part.iter().zip(&copies).map(|(v, &m)| v * v * m as f64).sum();
                if let Some(own) = below.get(&a).and_then(|&at| norms.get_mut(at)).filter(|_| norm > least) {
                    *own = norm;
                }
            });
            mean.iter_mut().zip(&norms).for_each(|(m, n)| *m += kind.count * n);
            queries += kind.count;
            if !kinds.contains(&norms) {
                kinds.push(norms);
            }
        }
    }
    mean.iter_mut().for_each(|m| *m /= queries.max(1.0));
    AskedOf { queries, held: squares / frame.cells(&selected.cuboid), how: How::Rows { mean, kinds } }
}

/// About the most kinds of queries of one table that programmes have a row for.
const MOST_ROWS: usize = 1024;

/// One number for each component below a table of up to four dimensions, without an allocation.
type Gains = SmallVec<[f64; 16]>;

/// All products of an outer vector with one axis's row, in the order of [`Frame::below`].
fn product(outer: &[f64], row: &[f64], live: &[bool]) -> Gains {
    // Loops, as many hundred thousand tables go through them.
    let mut out = Gains::with_capacity(outer.len() * row.len());
    for &o in outer {
        for (&g, &live) in row.iter().zip(live) {
            if live {
                out.push(o * g);
            }
        }
    }
    out
}
