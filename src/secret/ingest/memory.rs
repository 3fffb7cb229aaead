//! The memory that a release may take, and what it is shared out to.

use crate::spec::Format;
use std::sync::atomic::{AtomicU64, Ordering};

/// Unless told otherwise rows of units may take this: enough that most data is never written to the disk.
const MEMORY: usize = 256 << 20;

/// What [`limit_memory`] said; 0 is nothing.
static LIMIT: AtomicU64 = AtomicU64::new(0);

/// Limits the memory that a release takes, in bytes. No number in it depends on that.
pub fn limit_memory(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// The limit, if there is one.
pub fn memory_limit() -> Option<u64> {
    Some(LIMIT.load(Ordering::Relaxed)).filter(|limit| *limit > 0)
}

/// What reading takes in any case: the program, and of each thread a block of text, perhaps decoded, and its rows.
pub fn least_memory(threads: usize) -> u64 {
    (12 << 20) + (threads as u64) * (3 << 19)
}

/// Of the memory that may be taken, what is for rows of units: half of what reading leaves.
pub(super) fn for_units(threads: usize, format: Format) -> usize {
    let least = least_memory(threads) + least_for_units(threads, format);
    let half = |limit: u64| limit.saturating_sub(least) / 2;
    memory_limit().map_or(MEMORY, |limit| usize::try_from(half(limit)).unwrap_or(usize::MAX))
}

/// What units take in any case: of each thread rows that are parted, and of a Parquet file the entries of two dictionaries, which hold the names of
/// units and their order. Measured on two threads, where hardly anything else is held: 67 MB of Parquet, 20 MB of CSV.
pub fn least_for_units(threads: usize, format: Format) -> u64 {
    let each = match format {
        Format::Csv => 2 << 20,
        Format::Parquet => 28 << 20,
    };
    (threads as u64) * each
}

/// A record may be this long. A quote that is never closed would make the rest of the file one record.
const LONGEST: usize = 1 << 26;

/// A record may be as long as that, and where memory is short no longer than an eighth of it: it is held more than once.
pub(super) fn longest() -> usize {
    let short = memory_limit().map_or(LONGEST, |limit| usize::try_from(limit / 8).unwrap_or(LONGEST));
    short.min(LONGEST)
}
