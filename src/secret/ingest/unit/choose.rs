//! Of the rows of each unit the first ones.

use super::record::{Record, Shape, hash};
use zeroize::{Zeroize, Zeroizing};

/// Rows of some units, of which only so many of each are kept as can matter: those that count, and one more that tells that there are more.
pub(super) struct Chooser<'s> {
    shape: &'s Shape,
    max_rows: usize,
    bytes: Zeroizing<Vec<u8>>,
    /// For each row its unit's hash and where it is.
    index: Vec<(u64, usize)>,
}

/// What is known of some units.
pub(super) struct Chosen {
    /// How many have more rows than count.
    pub cut: u64,
    /// Whether somewhere the last row that counts and the first that does not have the same place by `order`.
    pub tied: bool,
}

impl<'s> Chooser<'s> {
    pub(super) fn new(shape: &'s Shape, max_rows: u32) -> Chooser<'s> {
        Chooser { shape, max_rows: max_rows as usize, bytes: Zeroizing::default(), index: Vec::new() }
    }

    /// How much memory it takes.
    pub(super) fn size(&self) -> usize {
        self.bytes.len() + self.index.len() * size_of::<(u64, usize)>()
    }

    /// Adds a row.
    pub(super) fn push(&mut self, record: Record<'_>) {
        self.index.push((hash(record.unit()), self.bytes.len()));
        record.copy(&mut self.bytes);
    }

    fn record(&self, at: usize) -> Option<Record<'_>> {
        Record::at(&self.bytes, at).map(|(record, _)| record)
    }

    /// Orders rows by unit, and those of a unit as they count.
    fn sort(&mut self) {
        let mut index = std::mem::take(&mut self.index);
        let order = |at| self.record(at).map(|record| (record.unit(), self.shape.rank(record)));
        index.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| order(a.1).cmp(&order(b.1))));
        self.index = index;
    }

    /// The rows of each unit in turn, sorted.
    fn units(&self) -> impl Iterator<Item = &[(u64, usize)]> {
        self.index.chunk_by(|a, b| {
            a.0 == b.0 && self.record(a.1).map(Record::unit) == self.record(b.1).map(Record::unit)
        })
    }

    /// Leaves away what cannot matter.
    pub(crate) fn compact(&mut self) {
        self.sort();
        let mut kept = Zeroizing::new(Vec::with_capacity(self.bytes.len()));
        let mut index = Vec::with_capacity(self.index.len());
        for unit in self.units() {
            for &(hash, at) in unit.iter().take(self.max_rows.saturating_add(1)) {
                if let Some(record) = self.record(at) {
                    index.push((hash, kept.len()));
                    record.copy(&mut kept);
                }
            }
        }
        self.index.zeroize();
        (self.bytes, self.index) = (kept, index);
    }

    /// The rows as they are written.
    pub(super) fn into_bytes(mut self) -> Zeroizing<Vec<u8>> {
        std::mem::take(&mut self.bytes)
    }

    /// All rows that are left, in no order.
    pub(super) fn rows(&self) -> impl Iterator<Item = Record<'_>> {
        self.index.iter().filter_map(|&(_, at)| self.record(at))
    }

    /// Hands out the rows that count.
    pub(crate) fn choose(&mut self, mut take: impl FnMut(Record<'_>)) -> Chosen {
        self.sort();
        let mut chosen = Chosen { cut: 0, tied: false };
        for unit in self.units() {
            let key = |at: usize| unit.get(at).and_then(|(_, at)| Some(self.shape.key(self.record(*at)?)));
            if unit.len() > self.max_rows {
                chosen.cut += 1;
                let last = self.max_rows.checked_sub(1).and_then(key).filter(|key| !key.is_empty());
                chosen.tied |= last.is_some() && last == key(self.max_rows);
            }
            unit.iter().take(self.max_rows).filter_map(|(_, at)| self.record(*at)).for_each(&mut take);
        }
        chosen
    }
}

impl Drop for Chooser<'_> {
    fn drop(&mut self) {
        self.index.zeroize();
    }
}
