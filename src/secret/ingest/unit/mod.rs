//! At most `max_rows` rows of a unit count.
//!
//! Rows are parted by a hash of their unit while they are read; what does not fit the memory goes to a file (see [`super::spill`]). Then every part is looked
//! at by itself: it has all rows of its units. A part that is too large is parted again, after rows that cannot matter were left away.
//!
//! | file | idea |
//! |---|---|
//! | `order` | where a row stands among those of its unit |
//! | `record` | a row as bytes |
//! | `choose` | the first rows of each unit |

mod choose;
pub(super) mod order;
mod record;
#[cfg(test)]
mod tests;

use super::chunk::{CHUNK, Chunk};
use super::error::IngestError;
use super::fields::{Fields, UnitField};
use super::run::Take;
use super::spill::{Block, Spill};
use super::zeros::Zeros;
#[cfg(feature = "faults")]
use crate::planted::{self, Planted};
use crate::watch::Watch;
use choose::Chooser;
use record::{Record, Shape, hash};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use zeroize::Zeroizing;

/// Into so many parts rows are parted at a time.
const PARTS: usize = 1 << BITS;
const BITS: u32 = 6;
/// How often a part can be parted again: so many bits a hash has.
const DEEPEST: u32 = 64 / BITS - 1;

/// Lets the first `max_rows` rows of every unit pass: in the order of the columns that `order` names, or in that of the file.
///
/// **Guarantee.** Datasets that differ in all rows of one unit differ, after this bound, in at most
/// `max_rows` rows; so every column norm of a measurement is multiplied by `max_rows` and by no more.
///
/// **Proof.** Whether a row passes depends on nothing but the rows of its own unit: on how many of them stand before it. Taking out all rows of
/// unit u (or putting them in, anywhere) changes neither the rows of any other unit nor their order among each other, so the rows of the others
/// that pass are the same ones; of u's own rows at most `max_rows` passed. Replacing one unit by another is one removal and one addition. ∎
///
/// Rows with the same place by `order` where it matters, on both sides of the bound, are refused: which of them count would depend on the
/// order of the file, and a database has none.
///
/// The rule never looks at the values of the dimensions. A rule that did (keep the rows that are most
/// frequent, say) could tie the rows of different units together and break the proof. How many *rows* were
/// left out depends on the data in an unbounded way (one unit may bring any number), so it is not reported to anyone. How many
/// *units* had rows left out moves by at most one with any unit: that can be measured, with noise (see
/// [`crate::plan::cost`]).
///
/// Identifiers are compared byte for byte; a hash only decides what is compared. All memory is wiped when it is left.
pub(super) struct Bounding<'f> {
    fields: &'f Fields<'f>,
    shape: Shape,
    max_rows: u32,
    spill: Spill,
    /// What a thread may hold while rows are parted, and again while they are chosen.
    share: usize,
    threads: usize,
    /// Of each column of `order` whether numbers were seen in it, or times.
    kinds: Vec<AtomicU8>,
    failed: Mutex<Option<IngestError>>,
    stopped: AtomicBool,
    watch: &'f Watch,
}

/// All rows of some units.
#[derive(Default)]
struct Part {
    held: Vec<Zeroizing<Vec<u8>>>,
    blocks: Vec<Block>,
}

impl<'f> Bounding<'f> {
    pub(super) fn new(
        fields: &'f Fields<'f>,
        unit: &UnitField<'_>,
        memory: usize,
        threads: usize,
        watch: &'f Watch,
    ) -> Bounding<'f> {
        let threads = threads.max(1);
        #[cfg(feature = "faults")]
        let max_rows = if planted::on(Planted::Unbounded) { u32::MAX } else { unit.max_rows };
        #[cfg(not(feature = "faults"))]
        let max_rows = unit.max_rows;
        Bounding {
            fields,
            shape: Shape::of(fields),
            max_rows,
            spill: Spill::new(),
            // Half for what was parted, half for what is chosen from.
            share: memory / (2 * threads),
            threads,
            kinds: unit.order.iter().map(|_| AtomicU8::new(0)).collect(),
            failed: Mutex::new(None),
            stopped: AtomicBool::new(false),
            watch,
        }
    }

    fn fail(&self, error: IngestError) {
        self.stopped.store(true, Ordering::Relaxed);
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn check(&self) -> Result<(), IngestError> {
        match &*self.failed.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Takes rows, on one thread.
    pub(crate) fn parting(&self) -> Parting<'_> {
        Parting { bounding: self, parts: Parts::new(0), piece: usize::MAX, row: 0 }
    }

    /// Hands the rows that count to what `make` makes, one for each thread. Gives back those, and how many units had more rows.
    pub(crate) fn choose<S: Take>(
        &self,
        parted: Vec<Parting<'_>>,
        zeros: &Zeros,
        make: &(dyn Fn() -> S + Sync),
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<(Vec<S>, u64), IngestError> {
        self.check()?;
        if self.kinds.iter().any(|kinds| kinds.load(Ordering::Relaxed).count_ones() > 1) {
            return Err(IngestError::MixedOrder);
        }
        let parts: Vec<Mutex<Part>> =
            together(parted.into_iter().map(|p| p.parts)).into_iter().map(Mutex::new).collect();
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            let mut out =
                Out { chunk: Chunk::new(self.fields), len: 0, sink: make(), zeros, part: 0, cut: 0 };
            loop {
                out.part = next.fetch_add(1, Ordering::Relaxed);
                let Some(part) = parts.get(out.part) else { break };
                if self.watch.is_stopped() {
                    self.fail(IngestError::Stopped);
                }
                if self.stopped.load(Ordering::Relaxed) {
                    break;
                }
                let part = std::mem::take(&mut *part.lock().unwrap_or_else(PoisonError::into_inner));
                let chosen = self.part(part, 0, &mut out);
                // Whoever keeps rows has them in the order of parts, whatever thread came first.
                out.flush();
                match chosen {
                    Ok(()) => progress(done.fetch_add(1, Ordering::Relaxed) + 1, PARTS),
                    Err(error) => self.fail(error),
                }
            }
            (out.sink, out.cut)
        };
        let done: Vec<(S, u64)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        self.check()?;
        let cut = done.iter().map(|(_, cut)| cut).sum();
        Ok((done.into_iter().map(|(sink, _)| sink).collect(), cut))
    }

    /// Chooses from one part, parting it again where it is too large.
    fn part<S: Take>(&self, part: Part, depth: u32, out: &mut Out<'_, S>) -> Result<(), IngestError> {
        let mut chooser = Chooser::new(&self.shape, self.max_rows);
        // While it leaves rows away it holds them twice.
        let limit = self.share / 2;
        let Part { held, blocks } = part;
        let blocks = blocks.iter().map(|block| self.spill.read(block));
        let mut rest = held.into_iter().map(Ok).chain(blocks);
        let mut parts: Option<Parts> = None;
        for bytes in rest.by_ref() {
            let bytes = bytes?;
            let mut at = 0;
            while let Some((record, next)) = Record::at(&bytes, at) {
                at = next;
                if let Some(parts) = &mut parts {
                    parts.push(record, self, limit)?;
                    continue;
                }
                chooser.push(record);
                if chooser.size() > limit {
                    chooser.compact();
                    if chooser.size() > limit / 4 * 3 {
                        if depth == DEEPEST {
                            return Err(IngestError::Memory);
                        }
                        let mut finer = Parts::new(depth + 1);
                        chooser.rows().try_for_each(|record| finer.push(record, self, limit))?;
                        chooser = Chooser::new(&self.shape, self.max_rows);
                        parts = Some(finer);
                    }
                }
            }
        }
        match parts {
            Some(parts) => {
                for part in together(std::iter::once(parts)) {
                    self.part(part, depth + 1, out)?;
                }
            }
            None => {
                let chosen = chooser.choose(|record| out.row(&self.shape, record));
                if chosen.tied {
                    return Err(IngestError::Tied);
                }
                out.cut += chosen.cut;
            }
        }
        Ok(())
    }
}

/// The parts that several threads made, put together.
fn together(threads: impl Iterator<Item = Parts>) -> Vec<Part> {
    let mut all: Vec<Part> = (0..PARTS).map(|_| Part::default()).collect();
    for parts in threads {
        for ((all, held), blocks) in all.iter_mut().zip(parts.held).zip(parts.blocks) {
            if !held.is_empty() {
                all.held.push(held);
            }
            all.blocks.extend(blocks);
        }
    }
    all
}

/// Rows by bits of their unit's hash.
struct Parts {
    /// Which bits.
    depth: u32,
    held: Vec<Zeroizing<Vec<u8>>>,
    blocks: Vec<Vec<Block>>,
    size: usize,
}

impl Parts {
    fn new(depth: u32) -> Parts {
        Parts {
            depth,
            held: (0..PARTS).map(|_| Zeroizing::default()).collect(),
            blocks: (0..PARTS).map(|_| Vec::new()).collect(),
            size: 0,
        }
    }

    fn of(&self, unit: &[u8]) -> usize {
        (hash(unit) >> (64 - BITS * (self.depth + 1))) as usize % PARTS
    }

    /// Adds a row that was written before.
    fn push(&mut self, record: Record<'_>, bounding: &Bounding<'_>, limit: usize) -> Result<(), IngestError> {
        let part = self.of(record.unit());
        if let Some(held) = self.held.get_mut(part) {
            let before = held.len();
            record.copy(held);
            self.size += held.len() - before;
        }
        self.settle(bounding, limit)
    }

    /// Leaves away what cannot matter, and writes the rest to the disk, where there is more than may be.
    fn settle(&mut self, bounding: &Bounding<'_>, limit: usize) -> Result<(), IngestError> {
        if self.size <= limit {
            return Ok(());
        }
        for held in &mut self.held {
            let mut chooser = Chooser::new(&bounding.shape, bounding.max_rows);
            let mut at = 0;
            while let Some((record, next)) = Record::at(held, at) {
                chooser.push(record);
                at = next;
            }
            chooser.compact();
            *held = chooser.into_bytes();
        }
        self.size = self.held.iter().map(|held| held.len()).sum();
        if self.size <= limit / 2 {
            return Ok(());
        }
        for (held, blocks) in self.held.iter_mut().zip(&mut self.blocks) {
            if !held.is_empty() {
                blocks.push(bounding.spill.write(held)?);
                *held = Zeroizing::default();
            }
        }
        self.size = 0;
        Ok(())
    }
}

/// Parts rows as they are read, on one thread.
pub(super) struct Parting<'b> {
    bounding: &'b Bounding<'b>,
    parts: Parts,
    /// The piece that is being read, and how many rows of it have been.
    piece: usize,
    row: u64,
}

impl Take for Parting<'_> {
    fn take(&mut self, piece: usize, chunk: &Chunk) {
        if self.piece != piece {
            (self.piece, self.row) = (piece, 0);
        }
        let bounding = self.bounding;
        for (at, kinds) in bounding.kinds.iter().enumerate() {
            let seen = chunk.kinds(at);
            kinds.fetch_or(seen, Ordering::Relaxed);
        }
        for (row, id) in chunk.ids().enumerate() {
            let part = self.parts.of(id);
            if let Some(held) = self.parts.held.get_mut(part) {
                let before = held.len();
                bounding.shape.write(held, chunk, row, id, (piece as u64, self.row + row as u64));
                self.parts.size += held.len() - before;
            }
        }
        self.row += chunk.len() as u64;
        if !bounding.stopped.load(Ordering::Relaxed)
            && let Err(error) = self.parts.settle(bounding, bounding.share)
        {
            bounding.fail(error);
        }
    }
}

/// Where rows that count go.
struct Out<'o, S> {
    chunk: Chunk,
    len: usize,
    sink: S,
    zeros: &'o Zeros,
    part: usize,
    cut: u64,
}

impl<S: Take> Out<'_, S> {
    fn row(&mut self, shape: &Shape, record: Record<'_>) {
        shape.fill(record, &mut self.chunk, self.len);
        self.len += 1;
        if self.len == CHUNK {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.chunk.fill(self.len);
        self.zeros.see(&self.chunk);
        self.sink.take(self.part, &self.chunk);
        self.chunk.clear();
        self.len = 0;
    }
}
