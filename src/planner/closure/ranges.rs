//! Sums of neighbouring nodes along one axis: how much each rung's component adds to them, on average and at most.
//!
//! Pushed to rung `j` (each node the mean of its children), an interval has the values `v_j`; the part of it that lies in component `j` has
//! the squared length `Σ v_j² − Σ c_p v_{j−1}(p)²`, `c_p` the number of children. So the mean over all queries needs only `vᵀGv` of the nodes
//! below each node of each rung, in closed form, and the list of all intervals is gone through once, adding one node at a time.

use crate::cube::Axis;
use crate::plan::Ranges;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// The most kinds of queries that are kept where several dimensions are asked for sums.
const MOST_KINDS: usize = 4096;
/// The most of other lengths where just one dimension is asked for sums.
const MOST_ALONE: usize = 512;
/// The most steps that finding them may take.
const MOST_STEPS: usize = 1 << 28;
/// The most numbers that the list of all kinds may have.
const MOST_NUMBERS: usize = 1 << 23;

/// What is asked of one axis.
pub(super) struct Sums {
    /// How many queries.
    pub queries: f64,
    /// The mean over all queries of `‖P_j q‖²`, for every rung.
    pub mean: Vec<f64>,
    axis: Axis,
    rung: usize,
    asked: Ranges,
    /// Worked out when the worst query is first looked for.
    kinds: OnceLock<Kinds>,
}

/// Queries that differ.
pub(super) struct Kinds {
    /// None of the others has a larger part in any component. Bounds, where there would be too many.
    pub front: Vec<Kind>,
    /// More of them, made when they are asked for: only of what components told by bases add.
    alone: Option<OnceLock<Vec<Kind>>>,
    /// All that differ, where they are not too many to list.
    pub all: Option<Vec<Kind>>,
}

impl Kinds {
    /// More of them than in front, for where no other dimension is asked for sums.
    pub(super) fn alone(&self) -> Option<&[Kind]> {
        let all = self.all.as_ref()?;
        Some(self.alone.as_ref()?.get_or_init(|| front(all, MOST_ALONE)))
    }
}

/// A kind of query.
#[derive(Clone)]
pub(super) struct Kind {
    /// The squared lengths of its parts.
    pub norms: Vec<f64>,
    /// One of the kind: its first and last node.
    pub at: (u32, u32),
}

impl Sums {
    /// Of the nodes of rung `r`.
    pub(super) fn new(axis: &Axis, r: usize, asked: &Ranges) -> Sums {
        let queries = asked.queries(axis.rungs[r].len() as u64);
        let mean = totals(axis, r, asked).into_iter().map(|t| t / queries).collect();
        let kinds = OnceLock::new();
        Sums { queries, mean, axis: axis.clone(), rung: r, asked: asked.clone(), kinds }
    }

    /// Of other lengths than these axes have: what components told by bases add.
    pub(super) fn told(
        axis: &Axis,
        r: usize,
        asked: &Ranges,
        mean: Vec<f64>,
        all: Vec<Kind>,
        most: usize,
    ) -> Sums {
        let queries = asked.queries(axis.rungs[r].len() as u64);
        let alone = Some(OnceLock::new());
        let kinds = OnceLock::from(Kinds { front: front(&all, most), alone, all: Some(all) });
        Sums { queries, mean, axis: axis.clone(), rung: r, asked: asked.clone(), kinds }
    }

    /// The queries that differ.
    pub(super) fn kinds(&self) -> &Kinds {
        self.kinds.get_or_init(|| {
            let all = distinct(&self.axis, self.rung, &self.asked);
            let front = front(&all, MOST_KINDS);
            let listed = all.len() * (self.rung + 1) <= MOST_NUMBERS;
            Kinds { front, alone: None, all: listed.then_some(all) }
        })
    }
}

/// For each node of rung `r` its ancestor at every coarser rung, and its part in that node's value.
struct Ladder {
    /// `up[j][node]`.
    up: Vec<Vec<u32>>,
    part: Vec<Vec<f64>>,
}

impl Ladder {
    fn new(axis: &Axis, r: usize) -> Ladder {
        let n = axis.rungs[r].len();
        let mut up = vec![(0..n as u32).collect::<Vec<u32>>()];
        let mut part = vec![vec![1.0; n]];
        for j in (1..=r).rev() {
            let rung = &axis.rungs[j];
            let (node, weight) = (&up[r - j], &part[r - j]);
            let parent: Vec<u32> = node.iter().map(|&m| rung.parent[m as usize]).collect();
            let share = parent.iter().zip(weight).map(|(&p, w)| w / f64::from(rung.siblings[p as usize]));
            part.push(share.collect());
            up.push(parent);
        }
        up.reverse();
        part.reverse();
        Ladder { up, part }
    }
}

/// The sum over all queries of `‖P_j q‖²`, for every rung up to `r`.
fn totals(axis: &Axis, r: usize, asked: &Ranges) -> Vec<f64> {
    let nodes = axis.rungs[r].len() as u32;
    let ladder = Ladder::new(axis, r);
    let mut out = Vec::with_capacity(r + 1);
    // What the coarser neighbour has of it: each node's squares times its children.
    let mut known = 0.0;
    for j in 0..=r {
        let mut members: Vec<Vec<(u32, f64)>> = vec![Vec::new(); axis.rungs[j].len()];
        for (node, (&p, &w)) in ladder.up[j].iter().zip(&ladder.part[j]).enumerate() {
            members[p as usize].push((node as u32, w));
        }
        let squares: Vec<f64> = members.iter().map(|m| asked.squares(nodes, m)).collect();
        out.push((squares.iter().sum::<f64>() - known).max(0.0));
        if let Some(finer) = axis.rungs.get(j + 1) {
            known = squares.iter().zip(&finer.siblings).map(|(s, &c)| s * f64::from(c)).sum();
        }
    }
    out
}

/// Every kind of query once.
fn distinct(axis: &Axis, r: usize, asked: &Ranges) -> Vec<Kind> {
    let n = axis.rungs[r].len();
    // Without levels between only the length tells.
    if r == 1 && matches!(asked, Ranges::Prefixes | Ranges::All) {
        let all = n as f64;
        let kind = |l: f64| vec![l * l / (all * all), l - l * l / all];
        return (1..=n).map(|l| Kind { norms: kind(l as f64), at: (0, l as u32 - 1) }).collect();
    }
    let mut found = Found { ladder: Ladder::new(axis, r), axis, seen: FxHashMap::default(), out: Vec::new() };
    let last = n.saturating_sub(1);
    match asked {
        Ranges::Cells => (0..n).for_each(|i| found.from(i, i..=i)),
        Ranges::Total => found.from(0, last..=last),
        Ranges::Prefixes => found.from(0, 0..=last),
        Ranges::All => (0..n).for_each(|i| found.from(i, i..=last)),
        Ranges::Intervals(list) => {
            list.iter().for_each(|&(i, j)| found.from(i as usize, j as usize..=j as usize))
        }
    }
    found.out
}

struct Found<'a> {
    axis: &'a Axis,
    ladder: Ladder,
    seen: FxHashMap<Vec<u64>, ()>,
    out: Vec<Kind>,
}

impl Found<'_> {
    /// The intervals from node `first` to each of `lasts`.
    fn from(&mut self, first: usize, lasts: std::ops::RangeInclusive<usize>) {
        let rungs = self.ladder.up.len();
        let mut values: Vec<Vec<f64>> = (0..rungs).map(|j| vec![0.0; self.axis.rungs[j].len()]).collect();
        // Σ v_j², and Σ c_p v_j(p)².
        let (mut own, mut below) = (vec![0.0; rungs], vec![0.0; rungs]);
        for node in first..=*lasts.end() {
            for j in 0..rungs {
                let p = self.ladder.up[j][node] as usize;
                let before = values[j][p];
                let now = before + self.ladder.part[j][node];
                values[j][p] = now;
                let grown = now * now - before * before;
                own[j] += grown;
                if j + 1 < rungs {
                    below[j] += grown * f64::from(self.axis.rungs[j + 1].siblings[p]);
                }
            }
            if lasts.contains(&node) {
                let norm = |j: usize| own[j] - if j == 0 { 0.0 } else { below[j - 1] };
                let norms: Vec<f64> = (0..rungs).map(norm).map(|v| if v > 1e-12 { v } else { 0.0 }).collect();
                let key = norms.iter().map(|v| (v.to_bits() + (1 << 23)) >> 24).collect();
                if self.seen.insert(key, ()).is_none() {
                    self.out.push(Kind { norms, at: (first as u32, node as u32) });
                }
            }
        }
    }
}

/// The kinds that no other one is above in every component. More than `most`, or more than can be found in time, are merged with the ones most
/// like them: then a kind is a bound.
pub(super) fn front(all: &[Kind], most: usize) -> Vec<Kind> {
    let width = all.first().map_or(1, |k| k.norms.len());
    let most = most.min(MOST_STEPS / (width * all.len().max(1))).max(64);
    let size = |k: &Kind| k.norms.iter().sum::<f64>();
    let mut order: Vec<(f64, &Kind)> = all.iter().map(|k| (size(k), k)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut kept: Vec<Kind> = Vec::new();
    for (_, kind) in order {
        let above = |k: &Kind| k.norms.iter().zip(&kind.norms).all(|(a, b)| *a >= *b * (1.0 - 1e-12));
        if kept.iter().any(above) {
            continue;
        }
        if kept.len() < most {
            kept.push(kind.clone());
            continue;
        }
        let excess = |k: &Kind| -> f64 {
            k.norms.iter().zip(&kind.norms).map(|(a, b)| (b - a).max(0.0) / (a + b + 1e-300)).sum()
        };
        let near = (0..kept.len()).min_by(|&a, &b| excess(&kept[a]).total_cmp(&excess(&kept[b])));
        if let Some(near) = near.and_then(|at| kept.get_mut(at)) {
            near.norms.iter_mut().zip(&kind.norms).for_each(|(a, b)| *a = a.max(*b));
        }
    }
    kept
}
