//! A Gibbs chain that learns while it runs: records of maximum entropy whose tables are, on average, the ones asked for.
//!
//! A record has the probability `∝ exp Σ_t θ_t(its cell in t)`. In a sweep every record draws each of its attributes anew, given its others; then θ moves
//! towards what the records' own tables `c_t` lack of the estimates `e_t`. Tables of one attribute after another share what they say: two tables of sex tell
//! its margin twice. So tables of fewer columns move first, and a finer table only by what is left: with `w_b` the moves of the tables below it,
//!
//! `w_t = (e_t − c_t (1 + Σ_{b<t} w_b)) / (c_t + 2 s_t + 5)`, `θ_t += η w_t`.
//!
//! To first order this takes each interaction once, however many tables hold it, so that η need not shrink with their number. 2 s_t is what noise may make of a
//! cell. There is no tree of cliques, and any tables may overlap.

use super::exp::weights;
use super::random::{Purpose, Stream};
use super::shape::{NEVER, Nodes, Shape, add_up, barred, views};
use super::{CHUNK, share};
use crate::watch::Watch;
use std::borrow::Cow;
use std::sync::{Arc, Mutex};

/// How records are fitted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub seed: u64,
    pub threads: usize,
    /// How many records.
    pub rows: usize,
}

/// θ stays within this.
const MOST: f32 = 12.0;
/// The first sweeps' step.
const ETA: f32 = 0.5;
/// It falls as `1/sweep` after so many.
const AFTER: f32 = 15.0;

/// The chain: what is learnt, beside the records.
pub(super) struct Chain<'a> {
    shape: &'a Shape,
    way: Way,
    /// For each table a number for each cell.
    theta: Vec<Vec<f32>>,
    bars: Vec<Vec<f32>>,
    /// For each table those whose columns are among its own.
    below: Vec<Vec<usize>>,
}

impl<'a> Chain<'a> {
    /// Nothing is learnt yet.
    pub fn new(shape: &'a Shape, way: Way) -> Chain<'a> {
        let theta = shape.tables.iter().map(|t| vec![0.0; t.estimates.len()]).collect();
        Chain { shape, way, theta, bars: barred(shape), below: below(shape) }
    }

    /// Every record draws all its attributes anew; then θ moves. Says whether it came to its end.
    pub fn sweep(&mut self, nodes: &mut Nodes, sweep: usize, watch: &Watch) -> bool {
        let mut order: Vec<usize> = (0..self.shape.attributes.len()).collect();
        Stream::new(self.way.seed, Purpose::Order, sweep as u64, 0).shuffle(&mut order);
        for j in order {
            if watch.is_stopped() {
                return false;
            }
            self.draw(nodes, j, sweep);
        }
        self.learn(nodes, ETA * (AFTER / (sweep + 1) as f32).min(1.0));
        true
    }

    /// Every record draws one attribute anew.
    fn draw(&self, nodes: &mut Nodes, attribute: usize, sweep: usize) {
        let Chain { shape, way, .. } = self;
        let own = &shape.attributes[attribute].columns;
        let numbers = |t: usize| Cow::Borrowed(&self.theta[t][..]);
        let (_, views) = views(shape, attribute, &numbers, &self.bars, way.threads);
        let sizes: Vec<usize> = shape.sizes(own).collect();
        // So many records at once that what is added up for them stays near.
        let piece = ((1 << 15) / sizes[0].max(1)).clamp(16, 512);
        let place = (sweep * shape.attributes.len() + attribute) as u64;
        let mut finest = std::mem::take(&mut nodes[own[0]]);
        share::each(way.threads, finest.chunks_mut(CHUNK).enumerate(), |(chunk, drawn)| {
            let mut stream = Stream::new(way.seed, Purpose::Sweep, place, chunk as u64);
            let mut sums: Vec<Vec<f32>> = sizes.iter().map(|n| vec![0.0; n * piece]).collect();
            for (at, drawn) in drawn.chunks_mut(piece).enumerate() {
                let first = chunk * CHUNK + at * piece;
                add_up(&views, nodes, first..first + drawn.len(), &mut sums);
                let (fine, coarse) = sums.split_at_mut(1);
                let scores = fine[0].chunks_exact_mut(sizes[0]);
                for (i, (drawn, scores)) in drawn.iter_mut().zip(scores).enumerate() {
                    for ((coarse, &c), &n) in coarse.iter().zip(&own[1..]).zip(&sizes[1..]) {
                        let (coarse, up) = (&coarse[i * n..(i + 1) * n], &shape.columns[c].up);
                        scores.iter_mut().zip(up).for_each(|(s, &up)| *s += coarse[up as usize]);
                    }
                    let unit = stream.unit();
                    // Where all nodes are closed, given the others, the record stays as it is.
                    if weights(scores) > NEVER / 2.0 {
                        *drawn = pick(scores, unit);
                    }
                }
            }
        });
        nodes[own[0]] = finest;
        shape.roll_up(attribute, nodes);
    }

    /// Moves θ towards what the records lack: first that of tables of fewer columns.
    fn learn(&mut self, nodes: &Nodes, eta: f32) {
        let Chain { shape, way, below, theta, .. } = self;
        let scale = (shape.total / way.rows.max(1) as f64) as f32;
        // Moves of the tables that others stand on.
        let mut needed = vec![false; shape.tables.len()];
        below.iter().flatten().for_each(|&b| needed[b] = true);
        let moves: Vec<Mutex<Arc<[f32]>>> = needed.iter().map(|_| Mutex::default()).collect();
        let widest = shape.tables.iter().map(|t| t.columns.len()).max().unwrap_or(0);
        for width in 0..=widest {
            let own = theta.iter_mut().enumerate().filter(|(t, _)| shape.tables[*t].columns.len() == width);
            share::each(way.threads, own, |(t, theta)| {
                let under = below[t].iter().map(|&b| (&shape.tables[b].columns[..], lock(&moves[b]).clone()));
                let counts = shape.count(&shape.tables[t].columns, nodes, way.rows);
                let moved =
                    step(shape, t, &counts, scale, &under.collect::<Vec<_>>(), theta, (eta, needed[t]));
                if needed[t] {
                    *lock(&moves[t]) = moved.into();
                }
            });
        }
    }
}

/// A node with probability in proportion to its weight.
fn pick(weights: &mut [f32], unit: f32) -> u32 {
    let mut sum = 0.0;
    weights.iter_mut().for_each(|w| {
        sum += *w;
        *w = sum;
    });
    let at = unit * sum;
    let below = weights.iter().filter(|w| **w <= at).count();
    below.min(weights.len() - 1) as u32
}

/// For each table those whose columns are among its own.
fn below(shape: &Shape) -> Vec<Vec<usize>> {
    let one = |(t, of): (usize, &super::shape::Target)| {
        let has = |b: &usize| {
            let other = &shape.tables[*b].columns;
            other.len() < of.columns.len() && other.iter().all(|c| of.columns.contains(c))
        };
        (0..t).filter(has).collect()
    };
    shape.tables.iter().enumerate().map(one).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Moves θ of one table by η times what it lacks; gives back that, where it is needed.
fn step(
    shape: &Shape,
    t: usize,
    counts: &[u32],
    scale: f32,
    under: &[(&[usize], Arc<[f32]>)],
    theta: &mut [f32],
    (eta, needed): (f32, bool),
) -> Vec<f32> {
    let of = &shape.tables[t];
    let floor = 2.0 * of.error + 5.0 * scale;
    let (last, outer) = match of.columns.split_last() {
        Some((last, outer)) => (shape.columns[*last].size, outer),
        None => (1, &[][..]),
    };
    // Of each table below: its steps along the outer columns, and whether it has the last one.
    let steps: Vec<(Vec<usize>, bool)> = under
        .iter()
        .map(|(columns, _)| {
            let strides = shape.strides(columns);
            let step = |c: &usize| columns.iter().position(|b| b == c).map_or(0, |i| strides[i]);
            (outer.iter().map(step).collect(), columns.last() == of.columns.last())
        })
        .collect();
    let sizes: Vec<usize> = shape.sizes(outer).collect();
    let mut pick = vec![0u32; outer.len()];
    let mut lower = vec![0.0f32; last];
    let mut moved = vec![0.0; if needed { theta.len() } else { 0 }];
    for (row, theta) in theta.chunks_exact_mut(last).enumerate() {
        lower.fill(1.0);
        for ((_, moves), (steps, has_last)) in under.iter().zip(&steps) {
            let at: usize = pick.iter().zip(steps).map(|(&p, s)| p as usize * s).sum();
            match has_last {
                true => lower.iter_mut().zip(&moves[at..at + last]).for_each(|(l, m)| *l += m),
                false => lower.iter_mut().for_each(|l| *l += moves[at]),
            }
        }
        let range = row * last..(row + 1) * last;
        let (estimates, counts) = (&of.estimates[range.clone()], &counts[range.clone()]);
        for (((theta, lower), estimate), count) in theta.iter_mut().zip(&mut lower).zip(estimates).zip(counts)
        {
            let count = *count as f32 * scale;
            *lower = (estimate - count * *lower) / (count + floor);
            *theta = (*theta + eta * *lower).clamp(-MOST, MOST);
        }
        if let Some(moved) = moved.get_mut(range) {
            moved.copy_from_slice(&lower);
        }
        crate::cube::odometer::next(&mut pick, |i| sizes[i]);
    }
    moved
}
