//! The components below a workload, and how much each one's noise adds to what is asked of each table.

mod asked;

use crate::cube::{Axis, Cube, Cuboid, Frame};
use crate::plan::{Asked, Table};
use asked::Sums;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::sync::Arc;

/// A workload's components, indexed. The order is that of first need, so it depends on the spec alone.
pub struct Closure {
    /// All components below the workload's tables.
    pub components: Vec<Cuboid>,
    /// For each table the indices of its components, in the order of [`Frame::below`].
    pub tables: Vec<Vec<u32>>,
    index: FxHashMap<Cuboid, u32>,
    gains: Vec<AxisGains>,
    /// For each table what is asked beyond its cells, if anything is.
    asked: Vec<Option<Box<AskedOf>>>,
}

/// What is asked of a table beyond its cells: for each of its dimensions the sums of nodes, `None` for single nodes.
struct AskedOf {
    queries: f64,
    sums: Vec<Option<Arc<Sums>>>,
}

/// For one axis: how a level-`ℓ` cell depends on each coarser rung's component.
struct AxisGains {
    /// `mean[r][j]`: the mean over nodes of rung r of `‖P_j Upᵀ e‖²`.
    mean: Vec<Vec<f64>>,
    /// The distinct kinds of nodes of rung r: their norms, each once.
    kinds: Vec<Vec<Vec<f64>>>,
    /// The rungs that hold something.
    live: Vec<bool>,
    /// From level to rung.
    rung_of: Vec<usize>,
}

impl AxisGains {
    fn new(axis: &Axis, levels: usize) -> AxisGains {
        // Nodes of one orbit have the same norms, so a lumped axis shows every kind.
        let (lumped, _) = axis.lump(0, &[0]);
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
            kinds.push(norms);
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

impl Closure {
    /// The closure of a workload.
    pub fn new(cube: &Cube, frame: &Frame, workload: &[Table]) -> Closure {
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
        };
        let mut known = FxHashMap::default();
        for table in workload {
            closure.asked.push(asked_of(frame, table, &mut known));
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
    pub fn find(&self, component: &Cuboid) -> Option<usize> {
        self.index.get(component).map(|&i| i as usize)
    }

    /// How many queries are asked of table number `t`: one for every cell, unless told.
    pub fn queries(&self, frame: &Frame, t: usize, cuboid: &Cuboid) -> f64 {
        self.asked(t).map_or_else(|| frame.cells(cuboid), |asked| asked.queries)
    }

    fn asked(&self, t: usize) -> Option<&AskedOf> {
        self.asked.get(t)?.as_deref()
    }

    /// Calls `visit(component index, mean gain)` for each component of table number `t`, where the mean
    /// variance of what is asked of it is `Σ σ_A² · gain`.
    pub fn mean_gains(&self, t: usize, cuboid: &Cuboid, mut visit: impl FnMut(usize, f64)) {
        let asked = self.asked(t);
        let mut gains: Gains = smallvec![1.0];
        for (i, (d, l)) in cuboid.iter().enumerate() {
            let axis = &self.gains[d];
            let row = match asked.and_then(|a| a.sums.get(i)?.as_deref()) {
                Some(sums) => &sums.mean,
                None => &axis.mean[axis.rung_of[l]],
            };
            gains = product(&gains, row, &axis.live);
        }
        for (&id, gain) in self.tables[t].iter().zip(gains) {
            visit(id as usize, gain);
        }
    }

    /// Calls `visit(component indices, gains)` for each kind of query of table number `t`: one of that kind has
    /// variance `Σ σ_A² · gain`. Of many kinds of sums these are bounds, about [`MOST_ROWS`] of them.
    pub fn kind_gains(&self, t: usize, cuboid: &Cuboid, mut visit: impl FnMut(&[u32], &[f64])) {
        let mut kinds: SmallVec<[Gains; 1]> = smallvec![smallvec![1.0]];
        for (i, (d, _)) in cuboid.iter().enumerate() {
            let live = &self.gains[d].live;
            let rows = self.rows(t, i, cuboid, true);
            kinds = kinds.iter().flat_map(|k| rows.iter().map(move |row| product(k, row, live))).collect();
        }
        kinds.iter().for_each(|gains| visit(&self.tables[t], gains));
    }

    /// The kinds of queries along dimension number `i` of a table.
    fn rows(&self, t: usize, i: usize, cuboid: &Cuboid, few: bool) -> Vec<Cow<'_, [f64]>> {
        let Some((d, l)) = cuboid.iter().nth(i) else { return Vec::new() };
        let axis = &self.gains[d];
        let Some((asked, sums)) = self.asked(t).and_then(|a| Some((a, a.sums.get(i)?.as_deref()?))) else {
            return axis.kinds[axis.rung_of[l]].iter().map(|row| Cow::Borrowed(row.as_slice())).collect();
        };
        let several = asked.sums.iter().flatten().count();
        if few {
            let most = (MOST_ROWS as f64).powf(1.0 / several as f64) as usize;
            if sums.kinds.len() > most {
                return asked::front(&sums.kinds, most).into_iter().map(Cow::Owned).collect();
            }
        }
        // Alone it may have as many as there are.
        let all = if few || several > 1 { &sums.kinds } else { sums.all.as_ref().unwrap_or(&sums.kinds) };
        all.iter().map(|k| Cow::Borrowed(k.as_slice())).collect()
    }

    /// Mean and largest variance of what is asked of table `t` when component A has variance `sigma2[A]` and components
    /// are independent.
    pub fn spread(&self, t: usize, cuboid: &Cuboid, sigma2: &[f64]) -> Spread {
        let mut mean = 0.0;
        self.mean_gains(t, cuboid, |id, gain| mean += sigma2[id] * gain);
        if self.asked(t).is_some() {
            return Spread { mean, max: self.largest(t, cuboid, sigma2).max(mean) };
        }
        let (mut kinds, mut max) = (0, 0.0f64);
        self.kind_gains(t, cuboid, |ids, gains| {
            kinds += 1;
            max = max.max(ids.iter().zip(gains).map(|(&id, g)| sigma2[id as usize] * g).sum());
        });
        Spread { mean, max: if kinds == 1 { mean } else { max } }
    }

    /// The largest variance over all kinds of queries: `Σ_A σ_A² Π_i g_i` is contracted dimension by dimension.
    fn largest(&self, t: usize, cuboid: &Cuboid, sigma2: &[f64]) -> f64 {
        let rows: Vec<Vec<Vec<f64>>> = cuboid
            .iter()
            .enumerate()
            .map(|(i, (d, _))| {
                let live = &self.gains[d].live;
                let kept = |row: Cow<'_, [f64]>| {
                    row.iter().zip(live).filter(|(_, live)| **live).map(|(g, _)| *g).collect()
                };
                self.rows(t, i, cuboid, false).into_iter().map(kept).collect()
            })
            .collect();
        let own: Vec<f64> = self.tables[t].iter().map(|&id| sigma2[id as usize]).collect();
        largest(&rows, &own)
    }
}

/// The largest `Σ_A own_A Π_i rows_i[k_i][A_i]` over all choices of `k`; the last dimension fastest.
fn largest(rows: &[Vec<Vec<f64>>], own: &[f64]) -> f64 {
    let Some((first, rest)) = rows.split_first() else { return own.first().copied().unwrap_or(0.0) };
    let width = first.first().map_or(1, Vec::len).max(1);
    let inner = own.len() / width;
    let of = |row: &Vec<f64>| {
        let mut sum = vec![0.0; inner];
        for (part, g) in own.chunks_exact(inner).zip(row).filter(|(_, g)| **g > 0.0) {
            sum.iter_mut().zip(part).for_each(|(s, v)| *s += g * v);
        }
        largest(rest, &sum)
    };
    first.iter().map(of).fold(0.0, f64::max)
}

/// What is asked of a table, `None` for its cells. `known` has what was worked out for axes.
fn asked_of(
    frame: &Frame,
    table: &Table,
    known: &mut FxHashMap<(usize, usize, Asked), Arc<Sums>>,
) -> Option<Box<AskedOf>> {
    if table.asks.is_cells() {
        return None;
    }
    let mut queries = 1.0;
    let mut sums = Vec::with_capacity(table.cuboid.len());
    for (d, l) in table.cuboid.iter() {
        let axis = frame.axes.get(d)?;
        let r = axis.rung(l)?;
        let own = table.asks.of(d).map(|asked| {
            let new = || Arc::new(Sums::new(axis, r, asked));
            known.entry((d, r, asked.clone())).or_insert_with(new).clone()
        });
        queries *= own.as_ref().map_or(axis.rungs[r].real_len() as f64, |s| s.queries);
        sums.push(own);
    }
    Some(Box::new(AskedOf { queries, sums }))
}

/// About the most kinds of queries of one table that programmes have a row for.
const MOST_ROWS: usize = 1024;

/// One number for each component below a table of up to four dimensions, without an allocation.
type Gains = SmallVec<[f64; 16]>;

/// All products of an outer vector with one axis's row, in the order of [`Frame::below`].
fn product(outer: &[f64], row: &[f64], live: &[bool]) -> Gains {
    outer
        .iter()
        .flat_map(|&o| row.iter().zip(live).filter(|&(_, &live)| live).map(move |(&g, _)| o * g))
        .collect()
}
