//! A Gibbs chain that learns while it runs: records of maximum entropy whose tables are, on average, the ones asked for.
//!
//! A record has the probability `∝ exp Σ_t θ_t(its cell in t)`. In a sweep every record draws each of its attributes anew, given its others; after each
//! attribute the tables that have it move towards what they lack: with `e_t` the estimates and `c_t` the records' own table, `θ_t += η (e_t − c_t)/(c_t + 2 s_t + 5)`.
//! 2 s_t is what noise may make of a cell. What all the tables of an attribute lack together, each of them adds: so η falls with their number, and they are heard at
//! once, since those that wait for the end of a sweep answer what is gone. There is no tree of cliques, and any tables may overlap.

use super::exp::weights;
use super::kinds::{Kinds, kind};
use super::random::{Purpose, Stream};
use super::shape::{Look, NEVER, Nodes, Shape, Target, View, barred, few, nothing, padded, scored, views};
use super::{CHUNK, RecordsError, share, start};
use crate::watch::Watch;

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
/// The first sweeps' step, of all tables of an attribute together.
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
    /// What a table weighs here.
    ones: Vec<f32>,
}

impl<'a> Chain<'a> {
    /// Of each attribute its own table is known, as records are drawn from it at first.
    pub(super) fn new(shape: &'a Shape, way: Way) -> Chain<'a> {
        let finest = |t: &Target| shape.attributes.iter().any(|a| t.columns == [a.columns[0]]);
        let one = |t: &Target| {
            let most = t.estimates.iter().fold(1.0f32, |m, e| m.max(*e));
            let log = |e: &f32| (libm::log(f64::from(e.max(1.0) / most)) as f32).max(-MOST);
            t.estimates.iter().map(|e| if finest(t) { log(e) } else { 0.0 }).collect()
        };
        let theta = shape.tables.iter().map(one).collect();
        Chain { shape, way, theta, ones: vec![1.0; shape.tables.len()], bars: barred(shape) }
    }

    /// Every record draws all its attributes anew, and θ moves. Says whether it came to its end.
    pub(super) fn sweep(&mut self, nodes: &mut Nodes, sweep: usize, watch: &Watch) -> bool {
        let eta = ETA * (AFTER / (sweep + 1) as f32).min(1.0);
        self.each(nodes, sweep, watch, |chain, nodes, j| chain.learn(nodes, j, eta))
    }

    /// Other records, of a chain that begins anew and learns nothing more: where the first has come to an end, they are alike.
    pub(super) fn second(mut self, rows: usize, sweeps: usize, watch: &Watch) -> Result<Nodes, RecordsError> {
        self.way = Way { seed: !self.way.seed, rows, ..self.way };
        let mut nodes = start::start(self.shape, rows, self.way.seed, self.way.threads)?;
        for sweep in 0..sweeps {
            if !self.each(&mut nodes, sweep, watch, |_, _, _| ()) {
                return Err(RecordsError::Stopped);
            }
        }
        Ok(nodes)
    }

    /// Every record draws each of its attributes anew, in random order.
    fn each(
        &mut self,
        nodes: &mut Nodes,
        sweep: usize,
        watch: &Watch,
        then: impl Fn(&mut Self, &Nodes, usize),
    ) -> bool {
        let mut order: Vec<usize> = (0..self.shape.attributes.len()).collect();
        Stream::new(self.way.seed, Purpose::Order, sweep as u64, 0).shuffle(&mut order);
        for j in order {
            if watch.is_stopped() {
                return false;
            }
            self.draw(nodes, j, sweep);
            then(self, nodes, j);
        }
        true
    }

    /// Every record draws one attribute anew.
    fn draw(&self, nodes: &mut Nodes, attribute: usize, sweep: usize) {
        let Chain { shape, way, .. } = self;
        let own = &shape.attributes[attribute].columns;
        let (_, views) = views(shape, attribute, &self.theta, &self.ones, &self.bars, way.threads);
        let size = padded(shape.columns[own[0]].size);
        let place = (sweep * shape.attributes.len() + attribute) as u64;
        let mut finest = std::mem::take(&mut nodes[own[0]]);
        let laws = self.laws(attribute, &views, finest.len());
        share::each(way.threads, finest.chunks_mut(CHUNK).enumerate(), |(chunk, drawn)| {
            let mut stream = Stream::new(way.seed, Purpose::Sweep, place, chunk as u64);
            let first = chunk * CHUNK;
            if let Some(laws) = &laws {
                return laws.draw(nodes, first, drawn, &mut stream);
            }
            if own.len() == 1 {
                let few: Option<Few> = match size / 4 {
                    1 => Some(draw_few::<1>),
                    2 => Some(draw_few::<2>),
                    3 => Some(draw_few::<3>),
                    4 => Some(draw_few::<4>),
                    5 => Some(draw_few::<5>),
                    6 => Some(draw_few::<6>),
                    _ => None,
                };
                if let Some(few) = few {
                    let size = shape.columns[own[0]].size;
                    return few(&Look::all(&views, nodes), size, first, drawn, &mut stream);
                }
            }
            scored(shape, attribute, &views, nodes, first..first + drawn.len(), |i, scores| {
                let unit = stream.unit();
                // Where all nodes are closed, given the others, the record stays as it is.
                if weights(scores) > NEVER / 2.0 {
                    drawn[i] = pick(scores, unit);
                }
            });
        });
        nodes[own[0]] = finest;
        shape.roll_up(attribute, nodes);
    }

    /// The laws of an attribute, where there are fewer of them than records.
    fn laws(&self, attribute: usize, views: &[View], records: usize) -> Option<Laws> {
        let kinds = Kinds::of(self.shape, attribute, views, records)?;
        let size = padded(self.shape.columns[self.shape.attributes[attribute].columns[0]].size);
        let mut running = vec![0.0; kinds.len * size];
        share::each(self.way.threads, running.chunks_mut(CHUNK * size).enumerate(), |(chunk, running)| {
            let (first, some) = (chunk * CHUNK, running.len() / size);
            scored(self.shape, attribute, views, &kinds.nodes, first..first + some, |law, scores| {
                if weights(scores) > NEVER / 2.0 {
                    run(scores);
                    running[law * size..][..size].copy_from_slice(scores);
                }
            });
        });
        Some(Laws { kinds, size, running })
    }

    /// Moves θ of the tables that have an attribute towards what the records lack.
    fn learn(&mut self, nodes: &Nodes, attribute: usize, eta: f32) {
        let Chain { shape, way, theta, .. } = self;
        let scale = (shape.total / way.rows.max(1) as f64) as f32;
        let has = |t: &Target| t.columns.iter().any(|&c| shape.columns[c].attribute == attribute);
        let own: Vec<_> = shape.tables.iter().zip(theta).filter(|(t, _)| has(t)).collect();
        let eta = eta / own.len().max(1) as f32;
        share::each(way.threads, own.into_iter(), |(t, theta)| {
            let counts = shape.count(&t.columns, nodes, way.rows);
            let floor = 2.0 * t.error + 5.0 * scale;
            for ((theta, estimate), count) in theta.iter_mut().zip(&t.estimates).zip(counts) {
                let count = count as f32 * scale;
                *theta = (*theta + eta * (estimate - count) / (count + floor)).clamp(-MOST, MOST);
            }
        });
    }
}

/// Draws one attribute of records from a first one on, where it has one level and few nodes.
type Few = fn(&[Look], usize, usize, &mut [u32], &mut Stream);

fn draw_few<const N: usize>(
    looks: &[Look],
    size: usize,
    first: usize,
    drawn: &mut [u32],
    stream: &mut Stream,
) {
    let empty = nothing::<N>(size);
    for (i, drawn) in drawn.iter_mut().enumerate() {
        let mut sums = few::<N>(looks, first + i, &empty);
        let (scores, unit) = (sums.as_flattened_mut(), stream.unit());
        if weights(scores) > NEVER / 2.0 {
            *drawn = pick(scores, unit);
        }
    }
}

/// The law of an attribute for each kind of records.
struct Laws {
    kinds: Kinds,
    size: usize,
    /// The running sums of what the nodes weigh, kind by kind: all of them 0 where every node is closed.
    running: Vec<f32>,
}

impl Laws {
    /// Draws the attribute of records from a first one on.
    fn draw(&self, nodes: &Nodes, first: usize, drawn: &mut [u32], stream: &mut Stream) {
        let among = self.kinds.among(nodes);
        for (i, drawn) in drawn.iter_mut().enumerate() {
            let (law, unit) = (kind(&among, first + i) * self.size, stream.unit());
            let law = &self.running[law..][..self.size];
            if law[self.size - 1] > 0.0 {
                *drawn = place(law, unit);
            }
        }
    }
}

/// A node with probability in proportion to its weight.
#[inline]
fn pick(weights: &mut [f32], unit: f32) -> u32 {
    run(weights);
    place(weights, unit)
}

/// Puts the sum of it and all before it in the place of each number.
#[inline]
fn run(weights: &mut [f32]) {
    let mut sum = 0.0;
    for w in weights {
        sum += *w;
        *w = sum;
    }
}

/// Where among running sums a part of the last of them lies.
#[inline]
fn place(running: &[f32], unit: f32) -> u32 {
    let (at, mut below) = (unit * running.last().copied().unwrap_or(0.0), 0u32);
    for sum in running {
        // Nothing that might overflow: several are compared at a time.
        below = below.wrapping_add(u32::from(*sum <= at));
    }
    below.min(running.len() as u32 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_closed_is_not_picked() {
        for unit in [0.0, 0.5, 1.0 - 1.0 / (1 << 24) as f32] {
            let mut scores = [NEVER, 0.5, NEVER, NEVER];
            weights(&mut scores);
            assert_eq!(pick(&mut scores, unit), 1);
        }
    }
}
