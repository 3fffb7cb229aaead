//! `cluster`: fewer, larger tables by greedy merging (Ding, Winslett, Han & Li, SIGMOD 2011).
//!
//! Start from the workload's tables. As long as replacing two measured tables by their join lowers the
//! error predicted after least squares, make the best such replacement. A table's weight in the budget is that of
//! the workload tables it stands for, each read from it directly: `s_B = n_B Σ w_t` (METHODS 1.2).

use super::landscape::{Choice, Landscape, Shape};
use std::collections::HashMap;
use std::rc::Rc;

/// Pairs are tried anew after every merge, so the work grows with the cube of this.
const MOST_TABLES: usize = 512;

struct Cluster {
    id: usize,
    shape: Rc<Shape>,
    weight: f64,
    share: f64,
}

impl Cluster {
    fn new(land: &Landscape, id: usize, shape: Rc<Shape>, weight: f64) -> Cluster {
        let share = land.closed_form(shape.cells * weight);
        Cluster { id, shape, weight, share }
    }
}

/// The merged tables. `None` when there are too many to try all pairs. No table gets more than `most` cells.
pub fn cluster(land: &Landscape, most: f64) -> Option<Choice> {
    let mut clusters = start(land);
    if clusters.len() > MOST_TABLES {
        return None;
    }
    let mut next_id = clusters.len();
    let mut joins: HashMap<(usize, usize), Rc<Shape>> = HashMap::new();
    loop {
        let tables: Vec<_> = clusters.iter().map(|c| c.shape.clone()).collect();
        let shares: Vec<_> = clusters.iter().map(|c| c.share).collect();
        let known = land.known(&tables, &shares);
        let sum: f64 = shares.iter().sum();
        let terms: f64 = known.iter().enumerate().map(|(a, &k)| land.term(a, k)).sum();
        let mut best: Option<(f64, usize, usize)> = None;
        for i in 0..clusters.len() {
            for j in i + 1..clusters.len() {
                let (x, y) = (&clusters[i], &clusters[j]);
                let join = joins
                    .entry((x.id, y.id))
                    .or_insert_with(|| land.shape(x.shape.steps.join(y.shape.steps)));
                if join.cells > most {
                    continue;
                }
                let share = land.closed_form(join.cells * (x.weight + y.weight));
                let precision = |share: f64, shape: &Shape| land.precision(share) / shape.cells;
                let (tx, ty, tj) =
                    (precision(x.share, &x.shape), precision(y.share, &y.shape), precision(share, join));
                let mut change = 0.0;
                for &a in &join.below {
                    let a = a as usize;
                    let mut k = known[a];
                    if land.is_below(a, &x.shape.steps) {
                        k -= tx;
                    }
                    if land.is_below(a, &y.shape.steps) {
                        k -= ty;
                    }
                    change += land.term(a, k.max(0.0) + tj) - land.term(a, known[a]);
                }
                let error = land.precision(sum - x.share - y.share + share) * (terms + change);
                if best.is_none_or(|b| error < b.0) {
                    best = Some((error, i, j));
                }
            }
        }
        match best {
            Some((error, i, j)) if error < land.precision(sum) * terms * (1.0 - 1e-12) => {
                let (y, x) = (clusters.remove(j), clusters.remove(i));
                let shape = land.shape(x.shape.steps.join(y.shape.steps));
                clusters.push(Cluster::new(land, next_id, shape, x.weight + y.weight));
                next_id += 1;
            }
            _ => return Some(land.choice(tables, shares)),
        }
    }
}

/// The workload's tables; where they are too many, those that roll up from another are merged into it first.
fn start(land: &Landscape) -> Vec<Cluster> {
    let new = |(id, (steps, weight))| Cluster::new(land, id, land.shape(steps), weight);
    if land.workload.len() <= MOST_TABLES {
        return land.workload.iter().copied().enumerate().map(new).collect();
    }
    let mut largest_first = land.workload.clone();
    largest_first.sort_by_cached_key(|(steps, _)| std::cmp::Reverse(land.cuboid(steps).len()));
    let mut kept: Vec<(_, f64)> = Vec::new();
    for (steps, weight) in largest_first {
        match kept.iter_mut().find(|(k, _)| steps.is_below(k)) {
            Some((_, w)) => *w += weight,
            None => kept.push((steps, weight)),
        }
        if kept.len() > MOST_TABLES {
            break;
        }
    }
    kept.into_iter().enumerate().map(new).collect()
}
