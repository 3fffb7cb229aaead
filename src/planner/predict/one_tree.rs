//! The error of cells over one dimension of unequal groups beside balanced ones, in as many steps as the tree has kinds of nodes.
//!
//! Along balanced dimensions least squares falls into components (`recover/gls.rs`). For one of them, `A`, a table measured at level `ℓ` of the tree sees the sum
//! below each node `v` with precision `w_ℓ`: its weight times `n_A/n_B`, the cells of `A` for one of the table's, the tree left out of both. So what all tables say of
//! `A` is a tree of precisions, and two passes tell every variance:
//!
//! * up, `α_v = w_v + β_v`, `β_v = 1/Σ 1/α_c` over its children: what is said of the sum below `v` by what hangs there and by `v` itself;
//! * down, `out_c = 1/(1/(out_v + w_v) + Σ 1/α_s)` over the siblings `s` of `c`: what all else says of it. The variance is `1/(α_v + out_v)`.
//!
//! A cell of a table has the sum over its components `A` of this variance, each times the square of its weight there. Tables published exactly are levels of infinite
//! precision. Nodes that are alike are one node, as in [`Axis::lump`].

use super::Told;
use crate::cube::{Axis, Cuboid, Frame, Level};
use crate::plan::Seen;
use crate::planner::closure::Spread;
use crate::planner::closure::cells::margin;
use crate::recover::gls::Weighted;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// A frame of one dimension of unequal groups, and what is measured over it.
pub(super) struct OneTree<'a> {
    frame: &'a Frame,
    dimension: usize,
    /// The tree, nodes that are alike as one.
    axis: Axis,
    /// For each rung and node of `axis` the first real node that it stands for.
    first: Vec<Vec<u32>>,
    /// For each rung and real node the one of `axis` that stands for it.
    lumps: Vec<Vec<u32>>,
}

/// Which dimension is the only one of unequal groups; `None` where there are none or several, or where something else than cells is measured.
pub(super) fn only(frame: &Frame, measured: &[Weighted]) -> Option<usize> {
    let mut unequal = (0..frame.axes.len()).filter(|&d| !frame.axes[d].is_balanced());
    let dimension = unequal.next().filter(|_| unequal.next().is_none())?;
    measured.iter().all(|t| t.seen == Seen::Cells).then_some(dimension)
}

/// About how many steps on one number the prediction of these tables takes; `None` where it does not go this way.
pub(super) fn work<'a>(
    frame: &Frame,
    measured: &[Weighted],
    cuboids: impl Iterator<Item = &'a Cuboid>,
) -> Option<f64> {
    let dimension = only(frame, measured)?;
    let nodes: f64 = frame.axes[dimension].rungs.iter().map(|r| r.len() as f64).sum();
    let others: FxHashSet<Cuboid> = cuboids.map(|c| c.without(dimension)).collect();
    let below: f64 = others.iter().map(|c| components(frame, c)).sum();
    // Two passes of some divisions a node; what each table is to a component; and finding nodes that are alike.
    Some(nodes * (32.0 * below + 64.0) + below * measured.len() as f64)
}

/// How many components there are below a cuboid, at most.
fn components(frame: &Frame, cuboid: &Cuboid) -> f64 {
    cuboid.iter().map(|at| frame.axes[at.dimension].rung(at.level).map_or(1.0, |r| r as f64 + 1.0)).product()
}

impl<'a> OneTree<'a> {
    /// `None` where there is not just one such dimension, or something else than cells is measured.
    pub(super) fn of(frame: &'a Frame, measured: &[Weighted]) -> Option<OneTree<'a>> {
        let dimension = only(frame, measured)?;
        let (axis, lumps) = frame.axes[dimension].lump(0, &[0]);
        let first = (axis.rungs.iter().zip(&lumps))
            .map(|(rung, lumps)| {
                let mut first = vec![0; rung.len()];
                lumps.iter().enumerate().rev().for_each(|(node, &lump)| first[lump as usize] = node as u32);
                first
            })
            .collect();
        Some(OneTree { frame, dimension, axis, first, lumps })
    }

    /// The same with every node by itself.
    pub(super) fn whole(frame: &'a Frame, measured: &[Weighted]) -> Option<OneTree<'a>> {
        let dimension = only(frame, measured)?;
        let axis = frame.axes[dimension].clone();
        let first: Vec<Vec<u32>> = axis.rungs.iter().map(|rung| (0..rung.len() as u32).collect()).collect();
        Some(OneTree { frame, dimension, axis, lumps: first.clone(), first })
    }

    /// Of each table, with what each of its cells weighs, mean and largest variance of its cells, and a cell of the largest.
    pub(super) fn spreads(
        &self,
        measured: &[Weighted],
        exact: &[Cuboid],
        cuboids: &[(&Cuboid, Option<&[f64]>)],
    ) -> Vec<(Told, Vec<u32>)> {
        // Tables that differ only in the level of the tree have the same components beside it.
        let mut place: FxHashMap<Cuboid, usize> = FxHashMap::default();
        let mut others: Vec<Cuboid> = Vec::new();
        let of: Vec<usize> = (cuboids.iter())
            .map(|(c, _)| {
                *place.entry(c.without(self.dimension)).or_insert_with_key(|own| {
                    others.push(own.clone());
                    others.len() - 1
                })
            })
            .collect();
        let variances: Vec<Vec<Vec<f64>>> =
            others.par_iter().map(|own| self.variances(measured, exact, own)).collect();
        let one = |((c, cells), &at): (&(&Cuboid, Option<&[f64]>), &usize)| {
            let rung = self.axis.rung(c.level(self.dimension)).unwrap_or(0);
            self.spread(c, *cells, rung, &variances[at][rung])
        };
        cuboids.iter().zip(&of).map(one).collect()
    }

    fn spread(
        &self,
        cuboid: &Cuboid,
        cells: Option<&[f64]>,
        rung: usize,
        variances: &[f64],
    ) -> (Told, Vec<u32>) {
        let own = &self.axis.rungs[rung];
        let (mut sum, mut max, mut worst) = (0.0, 0.0f64, 0);
        for ((&variance, &many), &node) in variances.iter().zip(&own.multiplicity).zip(&self.first[rung]) {
            sum += many as f64 * variance;
            if variance > max {
                (max, worst) = (variance, node);
            }
        }
        let node = |at: Level| if at.dimension == self.dimension { worst } else { 0 };
        // Without an error no cell is the worst.
        let nodes = if max > 0.0 { cuboid.iter().map(node).collect() } else { Vec::new() };
        let spread = Spread { mean: sum / own.real_len() as f64, max };
        let weighed = cells.map(|cells| self.weighed(cuboid, cells, rung, variances));
        (Told { spread, weighed: weighed.unwrap_or(spread.mean) }, nodes)
    }

    /// The mean of the cells' variances by what each of them weighs: those of one node have the same.
    fn weighed(&self, cuboid: &Cuboid, cells: &[f64], rung: usize, variances: &[f64]) -> f64 {
        let sizes: Vec<usize> = cuboid.iter().map(|at| self.frame.rung(at).len()).collect();
        let sum = match cuboid.iter().position(|at| at.dimension == self.dimension) {
            Some(at) => {
                let own = margin(cells, &sizes, at);
                own.iter().zip(&self.lumps[rung]).map(|(r, &lump)| r * variances[lump as usize]).sum::<f64>()
            }
            None => cells.iter().sum::<f64>() * variances[0],
        };
        sum / cells.len() as f64
    }

    /// For every rung and node the variance of a cell there of the table with these levels beside the tree.
    pub(super) fn variances(&self, measured: &[Weighted], exact: &[Cuboid], own: &Cuboid) -> Vec<Vec<f64>> {
        let mut out: Vec<Vec<f64>> = self.axis.rungs.iter().map(|r| vec![0.0; r.len()]).collect();
        for component in self.frame.below(own) {
            let weights = self.weights(measured, exact, &component);
            let part = self.part(own, &component);
            for (sum, variances) in out.iter_mut().zip(self.passes(&weights)) {
                sum.iter_mut().zip(variances).for_each(|(s, v)| *s += part * v);
            }
        }
        out
    }

    /// How precisely the nodes of each rung are measured, as far as a component beside the tree goes.
    fn weights(&self, measured: &[Weighted], exact: &[Cuboid], component: &Cuboid) -> Vec<f64> {
        let mut weights = vec![0.0; self.axis.rungs.len()];
        for t in measured {
            let at = t.cuboid.at(self.dimension);
            let whole = Cuboid::new(component.iter().chain([at]));
            if whole.is_below(&t.cuboid)
                && let Some(rung) = self.axis.rung(at.level)
            {
                weights[rung] += t.precision(self.frame, &whole);
            }
        }
        for e in exact.iter().filter(|e| component.is_below(&e.without(self.dimension))) {
            let level = e.level(self.dimension);
            if let Some(rung) = self.axis.rungs.iter().rposition(|r| r.level <= level) {
                weights[rung] = f64::INFINITY;
            }
        }
        weights
    }

    /// The square of what a component's noise has of weight in one cell: of one such dimension, all cells have the same.
    fn part(&self, own: &Cuboid, component: &Cuboid) -> f64 {
        let of = |at: Level| {
            let axis = &self.frame.axes[at.dimension];
            let nodes = |rung: usize| axis.rungs[rung].real_len() as f64;
            let rung = axis.rung(component.level(at.dimension)).unwrap_or(0);
            let share = nodes(rung) / self.frame.rung(at).real_len() as f64;
            let left = if rung > 0 { 1.0 - nodes(rung - 1) / nodes(rung) } else { 1.0 };
            share * share * left
        };
        own.iter().map(of).product()
    }

    /// The variance of every node, from one precision for each rung.
    fn passes(&self, weights: &[f64]) -> Vec<Vec<f64>> {
        let rungs = &self.axis.rungs;
        let mut alpha: Vec<Vec<f64>> =
            rungs.iter().zip(weights).map(|(rung, &w)| vec![w; rung.len()]).collect();
        for r in (1..rungs.len()).rev() {
            let groups = Groups::of(&rungs[r].parent, &rungs[r].copies, &alpha[r], rungs[r - 1].len());
            (0..rungs[r - 1].len()).for_each(|p| alpha[r - 1][p] += 1.0 / groups.whole(p));
        }
        let mut out = vec![0.0];
        let mut variances = Vec::with_capacity(rungs.len());
        for (r, own) in alpha.iter().enumerate() {
            if r > 0 {
                let rung = &rungs[r];
                let groups = Groups::of(&rung.parent, &rung.copies, own, rungs[r - 1].len());
                let above = |(&p, (v, &a)): (&u32, (usize, &f64))| {
                    let said = out[p as usize] + weights[r - 1];
                    1.0 / (1.0 / said + groups.without(p as usize, v, a))
                };
                out = rung.parent.iter().zip(own.iter().enumerate()).map(above).collect();
            }
            variances.push(own.iter().zip(&out).map(|(a, o)| 1.0 / (a + o)).collect());
        }
        variances
    }
}

/// Sums of `1/α` over groups of siblings, from which one can be left out without losing digits.
struct Groups {
    /// Over siblings with `α > 0`.
    sum: Vec<f64>,
    /// How many have `α = 0`.
    open: Vec<u64>,
    /// A node that is more than half of the sum of its group, and the sum of the others.
    most: Vec<Option<usize>>,
    rest: Vec<f64>,
}

impl Groups {
    fn of(parent: &[u32], copies: &[u32], alpha: &[f64], groups: usize) -> Groups {
        let mut out = Groups {
            sum: vec![0.0; groups],
            open: vec![0; groups],
            most: vec![None; groups],
            rest: vec![0.0; groups],
        };
        let nodes = || parent.iter().map(|&p| p as usize).zip(copies).zip(alpha).enumerate();
        for (_, ((p, &copies), &a)) in nodes() {
            if a > 0.0 {
                out.sum[p] += f64::from(copies) / a;
            } else {
                out.open[p] += u64::from(copies);
            }
        }
        for (v, ((p, &copies), &a)) in nodes() {
            if copies == 1 && a > 0.0 && 2.0 / a > out.sum[p] {
                out.most[p] = Some(v);
            }
        }
        for (v, ((p, &copies), &a)) in nodes() {
            if a > 0.0 && out.most[p] != Some(v) {
                out.rest[p] += f64::from(copies) / a;
            }
        }
        out
    }

    /// Of all siblings.
    fn whole(&self, p: usize) -> f64 {
        if self.open[p] > 0 { f64::INFINITY } else { self.sum[p] }
    }

    /// Of all but one real node that node `v` stands for.
    fn without(&self, p: usize, v: usize, alpha: f64) -> f64 {
        let open = alpha <= 0.0;
        if self.open[p] > u64::from(open) {
            f64::INFINITY
        } else if open {
            self.sum[p]
        } else if self.most[p] == Some(v) {
            self.rest[p]
        } else {
            self.sum[p] - 1.0 / alpha
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::unequal::{kinds, query_variance};
    use super::*;
    use crate::cube::{Categories, Cube, Dimension};

    fn dimension(name: &str, parents: &[&[u32]]) -> Dimension {
        let level = |(l, own): (usize, &&[u32])| Categories {
            name: format!("{name}{l}"),
            labels: (0..own.len()).map(|i| i.to_string()).collect(),
            parent: own.to_vec(),
            bounds: Vec::new(),
        };
        let finer = parents.iter().enumerate().map(level);
        Dimension::new(name, [Categories::total()].into_iter().chain(finer).collect())
    }

    /// Solves `n x = b` by elimination, for each b.
    fn solved(mut n: Vec<Vec<f64>>, of: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let size = n.len();
        // Each row with all right sides behind it.
        for (i, row) in n.iter_mut().enumerate() {
            row.extend(of.iter().map(|b| b[i]));
        }
        for i in 0..size {
            let pivot = (i..size).max_by(|&a, &c| n[a][i].abs().total_cmp(&n[c][i].abs())).unwrap();
            n.swap(i, pivot);
            let row = n[i].clone();
            for below in &mut n[i + 1..] {
                let times = below[i] / row[i];
                below[i..].iter_mut().zip(&row[i..]).for_each(|(x, y)| *x -= times * y);
            }
        }
        let mut out = vec![vec![0.0; size]; of.len()];
        for (q, x) in out.iter_mut().enumerate() {
            for i in (0..size).rev() {
                let known: f64 = (i + 1..size).map(|j| n[i][j] * x[j]).sum();
                x[i] = (n[i][size + q] - known) / n[i][i];
            }
        }
        out
    }

    /// Every unit vector of a table, as a query of the finest one.
    fn queries(frame: &Frame, of: &Cuboid, base: &Cuboid) -> Vec<Vec<f64>> {
        let n = frame.len(of);
        let unit = |i: usize| (0..n).map(|k| f64::from(u8::from(k == i))).collect();
        (0..n).map(|i| frame.pull_back(of, base, unit(i))).collect()
    }

    fn frame() -> Frame {
        // 3 regions, one of a single county, counties of 1 to 3 towns; beside sex, and six classes in two sections.
        let area = dimension("a", &[&[0, 0, 0], &[0, 0, 1, 2, 2, 2], &[0, 1, 1, 2, 3, 3, 3, 4, 4, 5]]);
        let sex = dimension("s", &[&[0, 0]]);
        let class = dimension("c", &[&[0, 0], &[0, 0, 0, 1, 1, 1]]);
        let cube = Cube { dimensions: vec![sex, area, class] };
        Frame::new(&cube, &[vec![0, 1], vec![0, 1, 2, 3], vec![0, 1, 2]])
    }

    fn table(levels: [usize; 3], weight: f64) -> Weighted {
        Weighted { cuboid: Cuboid::new(levels.into_iter().enumerate()), seen: Seen::Cells, weight }
    }

    #[test]
    fn as_by_matrices_and_by_kinds() {
        let frame = frame();
        let base = table([1, 3, 2], 0.0).cuboid;
        let asked: Vec<Cuboid> = [[0, 0, 0], [0, 1, 0], [1, 2, 1], [0, 3, 1], [1, 3, 2], [1, 0, 2]]
            .map(|at| table(at, 0.0).cuboid)
            .to_vec();
        let levels =
            [table([1, 0, 2], 2.0), table([1, 1, 2], 0.5), table([1, 2, 2], 3.0), table([1, 3, 2], 1.0)];
        // Levels that are not measured, and tables of other dimensions at each.
        let some =
            [table([0, 1, 0], 40.0), table([1, 3, 2], 0.7), table([1, 2, 0], 5.0), table([0, 3, 1], 2.0)];
        // Two tables with next to no part of the budget.
        let mut far = levels.clone();
        far.iter_mut().take(2).for_each(|t| t.weight = 3e-14);
        for measured in [&levels[..], &some[..], &levels[3..], &far] {
            // Conjugate gradients see what lies so far apart less closely.
            let near = if std::ptr::eq(measured, &far[..]) { 1e-6 } else { 1e-9 };
            for exact in [None, Some([0, 2, 1]), Some([1, 0, 0])] {
                let exact: Vec<Cuboid> = exact.map(|e| table(e, 0.0).cuboid).into_iter().collect();
                let known = exact.iter().map(|e| (e, 1e8));
                let mut n = vec![vec![0.0; frame.len(&base)]; frame.len(&base)];
                for (of, weight) in measured.iter().map(|t| (&t.cuboid, t.weight)).chain(known) {
                    for q in queries(&frame, of, &base) {
                        for (row, a) in n.iter_mut().zip(&q) {
                            row.iter_mut().zip(&q).for_each(|(sum, b)| *sum += weight * a * b);
                        }
                    }
                }
                let tree = OneTree::of(&frame, measured).unwrap();
                let cuboids: Vec<(&Cuboid, Option<&[f64]>)> = asked.iter().map(|c| (c, None)).collect();
                for (of, (Told { spread, .. }, worst)) in
                    asked.iter().zip(tree.spreads(measured, &exact, &cuboids))
                {
                    let units = queries(&frame, of, &base);
                    let told = solved(n.clone(), &units);
                    let dense: Vec<f64> = units
                        .iter()
                        .zip(&told)
                        .map(|(q, x)| q.iter().zip(x).map(|(a, b)| a * b).sum())
                        .collect();
                    let mean = dense.iter().sum::<f64>() / dense.len() as f64;
                    let max = dense.iter().copied().fold(0.0, f64::max);
                    let close = |a: f64, b: f64| (a - b).abs() <= 1e-6 + 1e-6 * b;
                    assert!(
                        close(spread.mean, mean) && close(spread.max, max),
                        "{of:?} {spread:?} {mean} {max}"
                    );
                    let at = of
                        .iter()
                        .zip(&worst)
                        .fold(0, |at, (l, &node)| at * frame.rung(l).len() + node as usize);
                    assert!(close(dense[at], max), "{worst:?}");
                    let (mut sum, mut count) = (0.0, 0.0);
                    for kind in kinds(&frame, of) {
                        sum += kind.count * query_variance(&kind.frame, measured, &exact, of, kind.query);
                        count += kind.count;
                    }
                    assert!(
                        (spread.mean - sum / count).abs() <= near * mean + 1e-12,
                        "{of:?} {} {}",
                        spread.mean,
                        sum / count
                    );
                }
            }
        }
    }

    /// A level that nothing tells is not known; in a group of one it is.
    #[test]
    fn what_is_not_told() {
        let frame = frame();
        let measured = [table([0, 1, 0], 1.0)];
        let tree = OneTree::of(&frame, &measured).unwrap();
        let [regions, counties] = [table([0, 1, 0], 0.0).cuboid, table([0, 2, 0], 0.0).cuboid];
        let [(told, _), (open, _)] = tree.spreads(&measured, &[], &[(&regions, None), (&counties, None)])[..]
        else {
            panic!()
        };
        assert_eq!(told.spread, Spread { mean: 1.0, max: 1.0 });
        assert_eq!(open.spread.max, f64::INFINITY);
        let counties = &tree.variances(&measured, &[], &Cuboid::total())[2];
        assert_eq!(counties.iter().filter(|v| **v == 1.0).count(), 1);
    }

    /// Two such dimensions go another way.
    #[test]
    fn one_only() {
        let area = |name| dimension(name, &[&[0, 0], &[0, 0, 1]]);
        let cube = Cube { dimensions: vec![area("a"), area("b")] };
        let frame = Frame::new(&cube, &[vec![0, 1, 2], vec![0, 1, 2]]);
        assert!(OneTree::of(&frame, &[]).is_none());
        let frame = Frame::new(&cube, &[vec![0, 1, 2], vec![0, 2]]);
        assert!(OneTree::of(&frame, &[]).is_some());
    }
}
