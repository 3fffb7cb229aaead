//! The memory that a release may take, what it is shared out to, and who watches it.

use crate::spec::Format;
use crate::watch::Watch;

/// Rows of units may take this where no limit is given: enough that most data is never written to the disk.
const MEMORY: usize = 256 << 20;

/// What reading and counting may take, and who hears how far they are. No number in a release depends on it.
#[derive(Debug, Clone, Default)]
pub struct Means {
    /// Hears and stops.
    pub watch: Watch,
    /// The limit.
    pub memory: Memory,
}

/// A limit of the memory that a release takes; the default is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory(Option<u64>);

impl Memory {
    /// A limit in bytes.
    pub(crate) fn at_most(bytes: u64) -> Memory {
        Memory(Some(bytes))
    }

    /// The limit, if there is one.
    pub(crate) fn limit(self) -> Option<u64> {
        self.0
    }

    /// What of it is for rows of units: half of what reading leaves.
    pub(super) fn for_units(self, threads: usize, format: Format) -> usize {
        let least = least_memory(threads) + least_for_units(threads, format);
        let half = |limit: u64| limit.saturating_sub(least) / 2;
        self.0.map_or(MEMORY, |limit| usize::try_from(half(limit)).unwrap_or(usize::MAX))
    }

    /// A record may be as long as [`LONGEST`], and where memory is short no longer than an eighth of it: it is held more than once.
    pub(super) fn longest(self) -> usize {
        let short = self.0.map_or(LONGEST, |limit| usize::try_from(limit / 8).unwrap_or(LONGEST));
        short.min(LONGEST)
    }
}

/// What reading takes in any case: the program, and of each thread a block of text, perhaps decoded, and its rows.
pub(crate) fn least_memory(threads: usize) -> u64 {
    (12 << 20) + (threads as u64) * (3 << 19)
}

/// What units take in any case: of each thread rows that are parted, and of a Parquet file the entries of two dictionaries, which hold the names of
/// units and their order. Measured on two threads, where hardly anything else is held: 67 MB of Parquet, 20 MB of CSV.
pub(crate) fn least_for_units(threads: usize, format: Format) -> u64 {
    let each = match format {
        Format::Csv => 2 << 20,
        Format::Parquet => 28 << 20,
    };
    (threads as u64) * each
}

/// A quote that is never closed would make the rest of the file one record. Nor is a Parquet file with a longer page drafted a spec of.
pub(super) const LONGEST: usize = 1 << 26;
