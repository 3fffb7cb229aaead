//! What the chain leaves to chance is taken away: records move, one attribute at a time, to where their tables come nearer to the estimates.
//!
//! Moving a record's attribute from u to v changes the distance `Σ_t ‖e_t − c_t‖²/s_t²` by `2 Σ_t (1 − (r_t(v) − r_t(u)))/s_t²`, over the tables whose cell changes,
//! `r_t = e_t − c_t`; so the best v has the largest `Σ_t r_t(v)/s_t²`. It is looked for by all threads, among tables as they stood for so many records, and
//! each move is weighed again, one record after the other, before it is made.

use super::kinds::{Kinds, kind};
use super::random::{Purpose, Stream};
use super::shape::{Nodes, Shape, Sums, View, barred, padded, piece, scored, views};
use super::{chain::Way, share};
use crate::watch::Watch;

/// Records whose best moves are looked for at once: not many, since moves of one stand in the way of others.
fn block(rows: usize) -> usize {
    (rows / 64).clamp(512, 1 << 16)
}

/// So many records lie side by side in memory and stay together in any order.
const RUN: usize = 16;

/// What is moved.
pub(super) struct Quench {
    /// What each cell lacks.
    lacks: Vec<Vec<f32>>,
    /// What a table weighs: `1/s²`.
    weights: Vec<f32>,
    bars: Vec<Vec<f32>>,
}

impl Quench {
    pub(super) fn new(shape: &Shape, way: &Way, nodes: &Nodes) -> Quench {
        let (rows, threads) = (way.rows, way.threads);
        let scale = (rows as f64 / shape.total.max(1.0)) as f32;
        let mut lacks: Vec<Vec<f32>> = shape.tables.iter().map(|_| Vec::new()).collect();
        share::each(threads, shape.tables.iter().zip(&mut lacks), |(t, lacks)| {
            let counts = shape.count(&t.columns, nodes, rows);
            *lacks = t.estimates.iter().zip(counts).map(|(e, c)| e * scale - c as f32).collect();
        });
        Quench { lacks, weights: weigh(shape, scale), bars: barred(shape) }
    }

    /// One pass over all records and attributes. How many moves were made; `None` when it was stopped.
    pub(super) fn pass(
        &mut self,
        shape: &Shape,
        way: &Way,
        nodes: &mut Nodes,
        pass: usize,
        watch: &Watch,
    ) -> Option<usize> {
        let mut order: Vec<usize> = (0..shape.attributes.len()).collect();
        Stream::new(way.seed, Purpose::Order, pass as u64, 1).shuffle(&mut order);
        let mut moved = 0;
        for j in order {
            let mut runs: Vec<usize> = (0..way.rows).step_by(RUN).collect();
            let place = (pass * shape.attributes.len() + j) as u64;
            Stream::new(way.seed, Purpose::Shuffle, place, 0).shuffle(&mut runs);
            let records: Vec<u32> =
                runs.iter().flat_map(|&r| r as u32..(r + RUN).min(way.rows) as u32).collect();
            moved += self.attribute(shape, way, nodes, j, &records, watch)?;
        }
        Some(moved)
    }

    fn attribute(
        &mut self,
        shape: &Shape,
        way: &Way,
        nodes: &mut Nodes,
        attribute: usize,
        records: &[u32],
        watch: &Watch,
    ) -> Option<usize> {
        let own = &shape.attributes[attribute].columns;
        let (tables, mut views) =
            views(shape, attribute, &self.lacks, &self.weights, &self.bars, way.threads);
        let strides: Vec<Vec<usize>> =
            tables.iter().map(|&t| shape.strides(&shape.tables[t].columns)).collect();
        let sizes: Vec<usize> = shape.sizes(own).map(padded).collect();
        // What it costs to leave a node of each level.
        let mut leaving = vec![0.0f32; own.len()];
        tables.iter().zip(&views).for_each(|(&t, v)| leaving[v.level] += self.weights[t]);
        let piece = piece(sizes[0]);
        let kinds = Kinds::of(shape, attribute, &views, block(records.len()));
        let kinds = kinds.filter(|_| own.len() == 1);
        let mut moved = 0;
        for block in records.chunks(block(records.len())) {
            if watch.is_stopped() {
                return None;
            }
            let mut best = vec![0u32; block.len()];
            let once = kinds.as_ref().map(|kinds| Once::of(shape, attribute, &views, kinds));
            share::each(way.threads, block.chunks(piece).zip(best.chunks_mut(piece)), |(block, best)| {
                if let Some(once) = &once {
                    return once.best(nodes, &nodes[own[0]], leaving[0], block, best);
                }
                let mut sums = Sums::new(shape, attribute, piece);
                sums.add_up(&views, nodes, block.iter().map(|&r| r as usize));
                let (fine, coarse) = sums.of.split_at_mut(1);
                let each = block.iter().zip(best).zip(fine[0].chunks_exact_mut(sizes[0]));
                for (i, ((&record, best), scores)) in each.enumerate() {
                    let node = |level: usize| nodes[own[level]][record as usize] as usize;
                    for (l, coarse) in (1..).zip(coarse.iter_mut()) {
                        let coarse = &mut coarse[i * sizes[l]..(i + 1) * sizes[l]];
                        coarse[node(l)] += leaving[l];
                        let up = &shape.columns[own[l]].up;
                        scores.iter_mut().zip(up).for_each(|(s, &up)| *s += coarse[up as usize]);
                    }
                    let now = node(0);
                    scores[now] += leaving[0];
                    let (mut largest, mut most) = (now, scores[now]);
                    for (v, &score) in scores.iter().enumerate() {
                        if score > most {
                            (largest, most) = (v, score);
                        }
                    }
                    *best = largest as u32;
                }
            });
            for (&record, to) in block.iter().zip(best) {
                let record = record as usize;
                let from = nodes[own[0]][record];
                let at = |level: usize, node: u32| shape.columns[own[level]].up[node as usize] as usize;
                // Others may have moved in the meantime.
                let gain = |(i, view): (usize, &View)| -> f32 {
                    let (u, v) = (at(view.level, from), at(view.level, to));
                    let place = view.place(nodes, record);
                    let leaving = tables.get(i).map_or(0.0, |&t| if u == v { 0.0 } else { self.weights[t] });
                    view.values[place + v] - view.values[place + u] - leaving
                };
                if from == to || !(views.iter().enumerate().map(gain).sum::<f32>() > 0.0) {
                    continue;
                }
                moved += 1;
                for ((&t, view), strides) in tables.iter().zip(&mut views).zip(&strides) {
                    let (u, v) = (at(view.level, from), at(view.level, to));
                    let place = view.place(nodes, record);
                    let columns = &shape.tables[t].columns;
                    let cell: usize =
                        columns.iter().zip(strides).map(|(&c, s)| nodes[c][record] as usize * s).sum();
                    let step = columns.iter().position(|&c| c == own[view.level]).map_or(0, |i| strides[i]);
                    self.lacks[t][cell] += 1.0;
                    self.lacks[t][cell - u * step + v * step] -= 1.0;
                    view.values[place + u] += self.weights[t];
                    view.values[place + v] -= self.weights[t];
                }
                own.iter().enumerate().for_each(|(l, &c)| nodes[c][record] = at(l, to) as u32);
            }
        }
        Some(moved)
    }
}

/// Where records of each kind go best, as tables stand.
struct Once<'a> {
    kinds: &'a Kinds,
    size: usize,
    /// What every node gains, kind by kind.
    scores: Vec<f32>,
    /// The first of the best nodes of each kind.
    best: Vec<u32>,
}

impl<'a> Once<'a> {
    fn of(shape: &Shape, attribute: usize, views: &[View], kinds: &'a Kinds) -> Once<'a> {
        let (mut scores, mut best) = (Vec::new(), Vec::with_capacity(kinds.len));
        scored(shape, attribute, views, &kinds.nodes, 0..kinds.len, |_, own| {
            best.push((1..own.len()).fold(0, |most, v| if own[v] > own[most] { v } else { most }) as u32);
            scores.extend_from_slice(own);
        });
        Once { kinds, size: scores.len() / kinds.len.max(1), scores, best }
    }

    /// Where some records go: nowhere, unless the best node gains more than it costs to leave their own.
    fn best(&self, nodes: &Nodes, own: &[u32], leaving: f32, records: &[u32], best: &mut [u32]) {
        let among = self.kinds.among(nodes);
        for (&record, best) in records.iter().zip(best) {
            let (kind, now) = (kind(&among, record as usize), own[record as usize]);
            let scores = &self.scores[kind * self.size..][..self.size];
            let to = self.best[kind];
            *best = if scores[to as usize] > scores[now as usize] + leaving { to } else { now };
        }
    }
}

/// What the tables weigh; those known exactly far more than all others together.
fn weigh(shape: &Shape, scale: f32) -> Vec<f32> {
    let error = |t: &super::shape::Target| (t.error * scale).max(1e-3);
    let noisy = shape.tables.iter().filter(|t| t.exact.is_none());
    let most = noisy.map(|t| error(t).powi(-2)).fold(1e-6, f32::max);
    let one = |t: &super::shape::Target| if t.exact.is_some() { 1e4 * most } else { error(t).powi(-2) };
    shape.tables.iter().map(one).collect()
}
