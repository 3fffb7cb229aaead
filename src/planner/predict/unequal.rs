//! The error of cells over groups of unequal size, where components are not recovered independently of each other: one solution of the normal
//! equations for each kind of cell, in counted work. With one such dimension it goes over its tree instead, see [`super::one_tree`].

use super::Told;
use super::one_tree::{self, OneTree};
use crate::cube::{Axis, Cuboid, Frame, Level, odometer};
use crate::planner::closure::Spread;
use crate::planner::closure::cells::contracted;
use crate::recover::gls::{Gls, Parts, Weighted, narrowed};
use crate::watch::Watch;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::collections::HashMap;

/// Cells of a table that no measured table tells apart, and one of them as a query.
pub(crate) struct Kind {
    /// Axes on which all that look alike to that cell are lumped.
    pub frame: Frame,
    /// Over the lumped table.
    pub query: Vec<f64>,
    /// How many cells there are of this kind.
    pub count: f64,
}

/// A prediction takes no more work than this, in steps on one number: some seconds.
const MOST_WORK: f64 = (1u64 << 32) as f64;
/// So many kinds of cells are looked at, where only the better of two is wanted.
const GLANCED: usize = 48;
/// What a solution by conjugate gradients takes, in passes over its system.
const PASSES: f64 = 30.0;

/// The kinds of cells of a table: nodes of one orbit in every dimension.
pub(crate) fn kinds(frame: &Frame, cuboid: &Cuboid) -> Vec<Kind> {
    let all = Kinds::new(frame, cuboid);
    all.picks().iter().map(|pick| all.kind(pick)).collect()
}

/// What is to be combined into kinds.
struct Kinds<'a> {
    frame: &'a Frame,
    cuboid: &'a Cuboid,
    /// For each dimension of the table its kinds of nodes.
    nodes: Vec<Vec<(usize, u64)>>,
    /// All axes as far lumped as they go.
    rest: Vec<Axis>,
}

impl<'a> Kinds<'a> {
    fn new(frame: &'a Frame, cuboid: &'a Cuboid) -> Kinds<'a> {
        let of = |at: Level| {
            let axis = &frame.axes[at.dimension];
            kinds_of(axis, axis.rung(at.level).unwrap_or(0))
        };
        let rest = frame.axes.iter().map(|a| a.lump(0, &[0]).0).collect();
        Kinds { frame, cuboid, nodes: cuboid.iter().map(of).collect(), rest }
    }

    /// How many there are. As a float: it may be large.
    fn count(&self) -> f64 {
        self.nodes.iter().map(|n| n.len() as f64).product()
    }

    /// Every one, as a kind of node in each dimension.
    fn picks(&self) -> Vec<Vec<u32>> {
        let mut out = Vec::new();
        let mut pick = vec![0; self.nodes.len()];
        loop {
            out.push(pick.clone());
            if !odometer::next(&mut pick, |i| self.nodes[i].len()) {
                return out;
            }
        }
    }

    /// What the cells of every kind weigh together, in the order of [`Kinds::picks`].
    fn weights(&self, each: &[f64]) -> Vec<f64> {
        let row = |(at, kinds): (Level, &Vec<(usize, u64)>)| -> Vec<Vec<f64>> {
            let axis = &self.frame.axes[at.dimension];
            let lumps = &axis.lump(0, &[0]).1[axis.rung(at.level).unwrap_or(0)];
            let is = |lump: u32, of: usize| f64::from(u8::from(lumps[of] == lump));
            lumps.iter().map(|&lump| kinds.iter().map(|kind| is(lump, kind.0)).collect()).collect()
        };
        contracted(each, &self.cuboid.iter().zip(&self.nodes).map(row).collect::<Vec<_>>())
    }

    fn kind(&self, pick: &[u32]) -> Kind {
        let mut lumped = Frame { axes: self.rest.clone() };
        let mut query = vec![1.0];
        let mut count = 1.0;
        for (level, (kind, &p)) in self.cuboid.iter().zip(self.nodes.iter().zip(pick)) {
            let axis = &self.frame.axes[level.dimension];
            let r = axis.rung(level.level).unwrap_or(0);
            let (node, copies) = kind[p as usize];
            count *= copies as f64;
            let mut colour = vec![0; axis.rungs[r].len()];
            colour[node] = 1;
            let (small, lumps) = axis.lump(r, &colour);
            let at = lumps[r][node] as usize;
            let n = small.rungs[r].len();
            query = query.iter().flat_map(|&q| (0..n).map(move |k| if k == at { q } else { 0.0 })).collect();
            lumped.axes[level.dimension] = small;
        }
        Kind { frame: lumped, query, count }
    }
}

/// About how many steps on one number the prediction of these tables' cells takes.
pub(crate) fn work<'a>(
    frame: &Frame,
    measured: &[Weighted],
    cuboids: impl Iterator<Item = &'a Cuboid> + Clone,
) -> f64 {
    one_tree::work(frame, measured, cuboids.clone())
        .unwrap_or_else(|| cuboids.map(|c| by_kinds(frame, measured, c)).sum())
}

/// The same, going through its kinds of cells one by one. Tables that differ only in dimensions whose groups are of one size are one to the normal equations.
pub(crate) fn by_kinds(frame: &Frame, measured: &[Weighted], cuboid: &Cuboid) -> f64 {
    let kinds = Kinds::new(frame, cuboid);
    let unequal = |at: &Level| !frame.axes[at.dimension].is_balanced();
    let distinct: FxHashSet<Cuboid> =
        measured.iter().map(|t| Cuboid::new(t.cuboid.iter().filter(unequal))).collect();
    let lumped = Frame { axes: kinds.rest.clone() };
    let step: f64 = distinct.iter().map(|t| 4.0 * lumped.spread(t)).sum();
    kinds.count() * step * PASSES
}

/// The mean variance of a table's cells, about: of some of their kinds, the same for whatever is measured. To compare by.
pub(crate) fn glance(frame: &Frame, measured: &[Weighted], exact: &[Cuboid], cuboid: &Cuboid) -> f64 {
    if is_too_much(frame, measured, cuboid) {
        return f64::INFINITY;
    }
    if let Some(tree) = OneTree::of(frame, measured) {
        return tree
            .spreads(measured, exact, &[(cuboid, None)])
            .first()
            .map_or(f64::INFINITY, |s| s.0.spread.mean);
    }
    let all = Kinds::new(frame, cuboid);
    let picks = all.picks();
    // No whole number of steps is a row of the last dimension.
    let some: Vec<&Vec<u32>> = picks.iter().step_by(picks.len().div_ceil(GLANCED) | 1).collect();
    let one = |pick: &&Vec<u32>| {
        let kind = all.kind(pick);
        (kind.count, query_variance(&kind.frame, measured, exact, cuboid, kind.query))
    };
    let variances: Vec<(f64, f64)> = some.par_iter().map(one).collect();
    let (sum, cells) = variances.iter().fold((0.0, 0.0), |(sum, cells), (n, v)| (sum + n * v, cells + n));
    sum / cells
}

/// Whether a prediction takes more work than is spent on one.
pub(crate) fn is_too_much(frame: &Frame, measured: &[Weighted], cuboid: &Cuboid) -> bool {
    !frame.is_balanced() && work(frame, measured, std::iter::once(cuboid)) > MOST_WORK
}

/// Of each table, with what each of its cells weighs, mean and largest variance of its cells, and a cell of the largest. Infinite where that takes too long.
pub(super) fn spreads(
    frame: &Frame,
    measured: &[Weighted],
    exact: &[Cuboid],
    cuboids: &[(&Cuboid, Option<&[f64]>)],
    watch: &Watch,
) -> Vec<(Told, Vec<u32>)> {
    match OneTree::of(frame, measured) {
        Some(tree) if work(frame, measured, cuboids.iter().map(|c| c.0)) <= MOST_WORK => {
            tree.spreads(measured, exact, cuboids)
        }
        Some(_) => vec![(Told::alike(Spread::UNKNOWN), Vec::new()); cuboids.len()],
        None => cuboids.iter().map(|(c, cells)| spread(frame, (measured, exact), c, *cells, watch)).collect(),
    }
}

/// One solution for each kind.
fn spread(
    frame: &Frame,
    (measured, exact): (&[Weighted], &[Cuboid]),
    cuboid: &Cuboid,
    each: Option<&[f64]>,
    watch: &Watch,
) -> (Told, Vec<u32>) {
    if is_too_much(frame, measured, cuboid) || watch.is_stopped() {
        return (Told::alike(Spread::UNKNOWN), Vec::new());
    }
    let all = Kinds::new(frame, cuboid);
    let picks = all.picks();
    let stage = watch.stage("predicting", picks.len() as u64);
    let one = |pick: &Vec<u32>| {
        stage.advance(1);
        let kind = all.kind(pick);
        if watch.is_stopped() {
            return (kind.count, f64::INFINITY);
        }
        (kind.count, query_variance(&kind.frame, measured, exact, cuboid, kind.query))
    };
    let variances: Vec<(f64, f64)> = picks.par_iter().map(one).collect();
    // Added up in their order, however many threads there are.
    let weights = each.map(|each| all.weights(each));
    let (mut largest, mut worst) = (0.0, &picks[0]);
    for ((_, variance), pick) in variances.iter().zip(&picks) {
        if *variance > largest {
            (largest, worst) = (*variance, pick);
        }
    }
    let node = |(kinds, &p): (&Vec<(usize, u64)>, &u32)| kinds.get(p as usize).map(|kind| kind.0 as u32);
    let nodes =
        if largest > 0.0 { all.nodes.iter().zip(worst).filter_map(node).collect() } else { Vec::new() };
    (Told::of(variances, weights.as_deref()), nodes)
}

/// Kinds of nodes of a rung: orbits of the uncoloured tree, each by one of its nodes and their number.
pub(super) fn kinds_of(axis: &Axis, r: usize) -> Vec<(usize, u64)> {
    let (lumped, lumps) = axis.lump(0, &[0]);
    let mut first: HashMap<u32, usize> = HashMap::new();
    for (node, &lump) in lumps[r].iter().enumerate() {
        first.entry(lump).or_insert(node);
    }
    let mut kinds: Vec<_> =
        first.into_iter().map(|(lump, node)| (node, lumped.rungs[r].multiplicity[lump as usize])).collect();
    kinds.sort_unstable();
    kinds
}

/// The variance of the best linear unbiased estimate of a query; infinite when it cannot be estimated.
pub(super) fn query_variance(
    frame: &Frame,
    measured: &[Weighted],
    exact: &[Cuboid],
    cuboid: &Cuboid,
    query: Vec<f64>,
) -> f64 {
    let mut q = Parts::new();
    Gls::gather(frame, cuboid, query, &mut q);
    q.retain(|a, _| !exact.iter().any(|e| a.is_below(e)));
    if let Some(narrow) = narrower(measured) {
        let gls = Gls::new(frame, &narrow, false).beside(exact);
        let Ok(v) = gls.solve(q) else { return f64::INFINITY };
        return noises(&gls, frame, measured, &narrow, &v).into_iter().map(|c| c * c).sum();
    }
    let gls = Gls::new(frame, measured, false).beside(exact).for_variances();
    let Ok(v) = gls.solve(q.clone()) else { return f64::INFINITY };
    // In a fixed order: the sum's last digit may decide between two plans.
    let mut q: Vec<_> = q.iter().collect();
    q.sort_unstable_by_key(|(a, _)| *a);
    q.into_iter()
        .map(|(a, q)| {
            let m = frame.multiplicity(a);
            v.get(a).map_or(0.0, |v| v.iter().zip(q).zip(m).map(|((v, q), m)| v * q * m as f64).sum())
        })
        .sum()
}

/// The tables by which recovery solves, where these weights lie too far apart for double precision.
pub(super) fn narrower(measured: &[Weighted]) -> Option<Vec<Weighted>> {
    let narrow = narrowed(measured.to_vec());
    let changed = narrow.iter().zip(measured).any(|(n, m)| n.weight != m.weight);
    changed.then_some(narrow)
}

/// How much of every noise is in an estimate that is solved by narrower weights, in standard deviations: the law that its answer has.
pub(super) fn noises(
    gls: &Gls,
    frame: &Frame,
    measured: &[Weighted],
    narrow: &[Weighted],
    solved: &Parts,
) -> Vec<f64> {
    let of = |(n, m): (&Weighted, &Weighted)| {
        let copies = frame.multiplicity(&m.cuboid);
        let scale = 1.0 / m.weight;
        let one = move |(c, m): (f64, u64)| c * libm::sqrt(m as f64 * scale);
        gls.weights(n, solved).into_iter().zip(copies).map(one).collect::<Vec<f64>>()
    };
    narrow.iter().zip(measured).filter(|(_, m)| m.weight > 0.0).flat_map(of).collect()
}
