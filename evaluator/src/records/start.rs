//! Records before anything is learnt: each attribute by itself, from its own table.

use super::random::{Purpose, Stream};
use super::shape::{Nodes, Shape};
use super::{CHUNK, RecordsError, share};

/// A record is drawn anew so often before its attributes are searched for ones that close no cell.
const TRIES: usize = 64;
/// So many nodes are looked at in that search.
const SEARCHED: usize = 1 << 20;

/// For each attribute the running sums of what its nodes weigh: its own table, cut at 0.
fn running(shape: &Shape) -> Vec<Vec<f64>> {
    let one = |columns: &[usize]| {
        let finest = columns[0];
        let own = shape.tables.iter().find(|t| t.columns == [finest]);
        let size = shape.columns[finest].size;
        let mut weights: Vec<f64> =
            own.map_or(vec![1.0; size], |t| t.estimates.iter().map(|e| f64::from(e.max(0.0))).collect());
        if weights.iter().sum::<f64>() <= 0.0 {
            weights.fill(1.0);
        }
        let mut sum = 0.0;
        weights.iter_mut().for_each(|w| {
            sum += *w;
            *w = sum;
        });
        weights
    };
    shape.attributes.iter().map(|a| one(&a.columns)).collect()
}

/// Looks whether a record is in a closed cell, as far as its attributes are drawn.
struct Bars<'a> {
    shape: &'a Shape,
    /// For each of [`Shape::closed`] the attributes, with the columns and steps.
    of: Vec<Vec<(usize, usize, usize)>>,
}

impl<'a> Bars<'a> {
    fn new(shape: &'a Shape) -> Bars<'a> {
        let one = |c: &super::shape::Closed| {
            let steps = shape.strides(&c.columns);
            c.columns.iter().zip(steps).map(|(&c, s)| (shape.columns[c].attribute, c, s)).collect()
        };
        Bars { shape, of: shape.closed.iter().map(one).collect() }
    }

    /// Of the first `drawn` attributes.
    fn closed(&self, record: &[u32], drawn: usize) -> bool {
        self.of.iter().zip(&self.shape.closed).any(|(of, closed)| {
            of.iter().all(|(a, ..)| *a < drawn) && {
                let node = |&(a, c, step): &(usize, usize, usize)| {
                    self.shape.columns[c].up[record[a] as usize] as usize * step
                };
                closed.cells[of.iter().map(node).sum::<usize>()]
            }
        })
    }

    /// A record in no closed cell, attribute by attribute and back again where there is none.
    fn search(&self, stream: &mut Stream, record: &mut [u32]) -> bool {
        let size = |a: usize| self.shape.columns[self.shape.attributes[a].columns[0]].size;
        let mut orders: Vec<Vec<u32>> = Vec::new();
        let (mut left, mut at) = (SEARCHED, 0);
        while at < record.len() {
            if orders.len() == at {
                let mut order: Vec<u32> = (0..size(at) as u32).collect();
                stream.shuffle(&mut order);
                orders.push(order);
            }
            let Some(rest) = left.checked_sub(1) else { return false };
            left = rest;
            match orders[at].pop() {
                Some(node) => {
                    record[at] = node;
                    at += usize::from(!self.closed(record, at + 1));
                }
                None if at == 0 => return false,
                None => {
                    orders.pop();
                    at -= 1;
                }
            }
        }
        true
    }
}

/// So many records.
pub(super) fn start(shape: &Shape, rows: usize, seed: u64, threads: usize) -> Result<Nodes, RecordsError> {
    let (running, bars) = (running(shape), Bars::new(shape));
    let k = shape.attributes.len();
    let mut finest: Nodes = vec![vec![0; rows]; k];
    let mut parts: Vec<Vec<&mut [u32]>> = (0..rows.div_ceil(CHUNK)).map(|_| Vec::with_capacity(k)).collect();
    for column in &mut finest {
        parts.iter_mut().zip(column.chunks_mut(CHUNK)).for_each(|(part, own)| part.push(own));
    }
    let failed = std::sync::atomic::AtomicBool::new(false);
    share::each(threads, parts.into_iter().enumerate(), |(chunk, mut part)| {
        let mut stream = Stream::new(seed, Purpose::Start, chunk as u64, 0);
        let mut record = vec![0u32; k];
        for i in 0..part.first().map_or(0, |own| own.len()) {
            let done = (0..TRIES).any(|_| {
                for (node, sums) in record.iter_mut().zip(&running) {
                    let at = stream.fine() * sums.last().copied().unwrap_or(1.0);
                    *node = sums.partition_point(|s| *s <= at).min(sums.len() - 1) as u32;
                }
                !bars.closed(&record, k)
            });
            if !done && !bars.search(&mut stream, &mut record) {
                failed.store(true, std::sync::atomic::Ordering::Relaxed);
                return;
            }
            part.iter_mut().zip(&record).for_each(|(own, node)| own[i] = *node);
        }
    });
    if failed.into_inner() {
        return Err(RecordsError::Closed);
    }
    let mut nodes: Nodes = shape.columns.iter().map(|_| Vec::new()).collect();
    for (a, (attribute, own)) in shape.attributes.iter().zip(finest).enumerate() {
        attribute.columns[1..].iter().for_each(|&c| nodes[c] = vec![0; rows]);
        nodes[attribute.columns[0]] = own;
        shape.roll_up(a, &mut nodes);
    }
    Ok(nodes)
}
