//! Exact counts by cell, summed with public signs, plus noise: the integers of a projection.
//!
//! **Guarantee.** What leaves is `A x + z` with `z` independent exact noise of the design's scale in every integer: private at
//! the cost that [`crate::projection::cost`] states and proves. All arithmetic on counts and noise is in integers.
//!
//! A cell's words of 64 signs for all blocks of a coset come from one transform ([`Cosets`]). The counts are added up bit by bit: of
//! each count's binary digits, every digit's cells are counted in carry-save adders over these words. So three products and a few
//! logical operations serve 64 integers.

use crate::projection::coset::Cosets;
use crate::projection::design::Shape;
use crate::projection::key::Key;
use crate::projection::signs::{SIGNS, SignFamily, block_bits, point};
use crate::projection::{Projection, answer};
use crate::secret::Charged;
use crate::secret::ingest::{Rows, Values};
use crate::secret::measure::MeasureError;
use crate::secret::noise::{Entropy, Sampler};
use crate::watch::Watch;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use zeroize::{Zeroize, Zeroizing};

/// The cells of the data, each once, with their counts. Wiped on drop.
struct Cells {
    cells: Zeroizing<Vec<u64>>,
    counts: Zeroizing<Vec<u64>>,
}

impl Cells {
    /// One pass over the rows, then a sort: the order leaves no trace in the sums.
    fn count(rows: &Rows, key: &Key, dimensions: &[u16]) -> Result<Cells, MeasureError> {
        let columns = dimensions
            .iter()
            .map(|&d| rows.column(d.into()).map(|c| c.values()))
            .collect::<Option<Vec<&Values>>>()
            .ok_or(MeasureError::Overflow(0))?;
        let mut all = Zeroizing::new(vec![0u64; rows.len()]);
        all.par_iter_mut().enumerate().for_each_init(
            || vec![0u64; columns.len()],
            |codes, (row, cell)| {
                for (code, column) in codes.iter_mut().zip(&columns) {
                    *code = column.at(row);
                }
                *cell = key.cell(codes);
            },
        );
        all.par_sort_unstable();
        let mut out = Cells { cells: Zeroizing::default(), counts: Zeroizing::default() };
        for same in all.chunk_by(|a, b| a == b) {
            out.cells.extend(same.first());
            out.counts.push(same.len() as u64);
        }
        Ok(out)
    }
}

/// Counts how often each of 64 bits is set in a stream of words.
///
/// Plane l holds words of weight 2^l: a settled one, and one that waits for the next. When it comes, the three are added bit
/// by bit; the carries go one plane up. So a word costs about one such addition.
struct Tally {
    settled: [u64; PLANES],
    waiting: [u64; PLANES],
    /// How many words there were: bit l says whether plane l has a word waiting.
    added: u64,
}

/// More words than fit a `u64` of counts never come.
const PLANES: usize = 64;

impl Tally {
    fn new() -> Tally {
        Tally { settled: [0; PLANES], waiting: [0; PLANES], added: 0 }
    }

    #[inline]
    fn add(&mut self, mut word: u64) {
        let full = self.added.trailing_ones() as usize;
        for (settled, waiting) in self.settled.iter_mut().zip(&self.waiting).take(full) {
            let half = *settled ^ word;
            let carry = (*settled & word) | (half & waiting);
            *settled = half ^ waiting;
            word = carry;
        }
        if let Some(waiting) = self.waiting.get_mut(full) {
            *waiting = word;
        }
        self.added += 1;
    }

    /// How often bit `lane` was set.
    fn ones(&self, lane: usize) -> u64 {
        let planes = self.settled.iter().zip(&self.waiting).enumerate();
        planes
            .map(|(l, (settled, waiting))| {
                let held = if self.added >> l & 1 == 1 { waiting >> lane & 1 } else { 0 };
                // Weights beyond the number of words have no bits.
                ((settled >> lane & 1) + held) << l
            })
            .fold(0, u64::wrapping_add)
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.settled.zeroize();
        self.waiting.zeroize();
    }
}

/// How many cells are evaluated at a time: few enough that their words stay in the nearest cache.
const BATCH: usize = 64;
/// How many cells one thread works on before it looks for more work.
const PIECE: usize = 1 << 14;

/// The sums of all blocks of one coset over some cells: Σ count · sign.
fn piece(
    cells: &[u64],
    counts: &[u64],
    cosets: &Cosets,
    first: u64,
    bits: u32,
) -> Option<Zeroizing<Vec<i64>>> {
    let size = cosets.size();
    let mut words = Zeroizing::new(vec![[0; 4]; BATCH / 4 * size]);
    // For each digit of the counts a tally for each block.
    let mut tallies: Vec<Vec<Tally>> = Vec::new();
    let mut total = 0u64;
    for (cells, counts) in cells.chunks(BATCH).zip(counts.chunks(BATCH)) {
        for (cells, words) in cells.chunks(4).zip(words.chunks_exact_mut(size)) {
            let start = |i: usize| cells.get(i).map_or(0, |&cell| point(cell, first, bits));
            cosets.values([start(0), start(1), start(2), start(3)], words);
        }
        for &count in counts {
            total = total.checked_add(count)?;
        }
        let digits = counts.iter().map(|c| 64 - c.leading_zeros()).max().unwrap_or(0) as usize;
        if tallies.len() < digits {
            tallies.resize_with(digits, || (0..size).map(|_| Tally::new()).collect());
        }
        for (digit, tallies) in tallies.iter_mut().enumerate().take(digits) {
            let mut chosen = 0u64;
            for (i, count) in counts.iter().enumerate() {
                chosen |= (count >> digit & 1) << i;
            }
            for (block, tally) in tallies.iter_mut().enumerate() {
                let mut left = chosen;
                while left != 0 {
                    let at = left.trailing_zeros() as usize;
                    left &= left - 1;
                    let lanes = words.get(at / 4 * size + block)?;
                    tally.add(*lanes.get(at % 4)?);
                }
            }
        }
    }
    let mut sums = Zeroizing::new(vec![0; size * SIGNS]);
    for (block, sums) in sums.chunks_exact_mut(SIGNS).enumerate() {
        for (lane, sum) in sums.iter_mut().enumerate() {
            let minus = tallies
                .iter()
                .enumerate()
                .map(|(digit, t)| t.get(block).map_or(0, |t| i128::from(t.ones(lane)) << digit))
                .sum::<i128>();
            *sum = i64::try_from(i128::from(total) - 2 * minus).ok()?;
        }
    }
    Some(sums)
}

fn add(mut a: Zeroizing<Vec<i64>>, b: Zeroizing<Vec<i64>>) -> Option<Zeroizing<Vec<i64>>> {
    for (a, &b) in a.iter_mut().zip(b.iter()) {
        *a = a.checked_add(b)?;
    }
    Some(a)
}

/// One row of a sketch: every count in its bucket, with its sign.
fn sketch_row(cells: &Cells, family: &SignFamily, buckets: u32) -> Option<Zeroizing<Vec<i64>>> {
    let mut row = Zeroizing::new(vec![0i64; buckets as usize]);
    let mut words = [0; BATCH];
    for (cells, counts) in cells.cells.chunks(BATCH).zip(cells.counts.chunks(BATCH)) {
        family.words(cells, &mut words);
        for (&word, &count) in words.iter().zip(counts) {
            let (at, negative) = answer::bucket(word, buckets);
            let count = i64::try_from(count).ok()?;
            let sum = row.get_mut(at)?;
            *sum = sum.checked_add(if negative { -count } else { count })?;
        }
    }
    Some(row)
}

/// `A x`, exactly: private until noise is added.
fn sums(cells: &Cells, projection: &Projection, watch: &Watch) -> Option<Zeroizing<Vec<i64>>> {
    let families = answer::families(projection);
    let done = AtomicU64::new(0);
    // In units of sums: how many steps there are depends on the data.
    let step = |steps: u64| {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        let values = projection.design.shape.values();
        let part = u128::from(done) * u128::from(values) / u128::from(steps.max(1));
        watch.tell("measuring", part as u64, values);
        (!watch.is_stopped()).then_some(())
    };
    match projection.design.shape {
        Shape::Dense { rows } => {
            let bits = block_bits(rows.into());
            let cosets = families.first()?.cosets(bits);
            let size = cosets.size();
            let mut out = Zeroizing::new(vec![0i64; rows as usize]);
            let steps = (rows as usize).div_ceil(size * SIGNS) * cells.cells.len().div_ceil(PIECE);
            // Sums of whole numbers: however the work is shared out, they are the same.
            out.par_chunks_mut(size * SIGNS).enumerate().try_for_each(|(coset, out)| {
                let pieces = cells.cells.par_chunks(PIECE).zip(cells.counts.par_chunks(PIECE));
                let sums = pieces
                    .map(|(cells, counts)| {
                        let sums = piece(cells, counts, &cosets, (coset * size) as u64, bits);
                        step(steps as u64)?;
                        sums
                    })
                    .try_reduce(|| Zeroizing::new(vec![0; size * SIGNS]), add)?;
                out.copy_from_slice(sums.get(..out.len())?);
                Some(())
            })?;
            Some(out)
        }
        Shape::Sketch { rows, buckets } => {
            let mut out = Zeroizing::new(vec![0i64; rows as usize * buckets as usize]);
            out.par_chunks_mut(buckets as usize).zip(&families).try_for_each(|(out, family)| {
                out.copy_from_slice(&sketch_row(cells, family, buckets)?);
                step(rows.into())
            })?;
            Some(out)
        }
    }
}

/// The integers of a projection. The result depends on rows, seed and key of the noise alone, not on threads.
/// `watch` hears of public facts only.
pub fn project(
    rows: Rows,
    key: &Key,
    charged: Charged<Projection>,
    entropy: Entropy,
    watch: &Watch,
) -> Result<Vec<i64>, MeasureError> {
    let projection = charged.into_work();
    let cells = Cells::count(&rows, key, &projection.design.key)?;
    drop(rows);
    let mut sums = sums(&cells, &projection, watch).ok_or_else(|| match watch.is_stopped() {
        true => MeasureError::Stopped,
        false => MeasureError::Overflow(0),
    })?;
    let sampler = Sampler::of(projection.design.noise, projection.design.scale)?;
    let mut stream = entropy.stream(0);
    for sum in sums.iter_mut() {
        *sum = sum.checked_add(sampler.draw(&mut stream)).ok_or(MeasureError::Overflow(0))?;
    }
    // From here on the numbers are private no more.
    Ok(std::mem::take(&mut *sums))
}

#[cfg(test)]
mod tests;
