//! Which columns lie in others: every district in one region.

use std::collections::HashMap;

/// Of more different values nobody needs to know.
const MOST: usize = 1 << 17;

/// For every two columns, as long as no row contradicts it, in which value of the coarse one each value of the fine one lies.
pub(super) struct Nested {
    pairs: Vec<Pair>,
}

struct Pair {
    fine: usize,
    coarse: usize,
    /// From the hash of a value to the number of another.
    of: HashMap<u64, u32>,
    rows: u64,
}

impl Nested {
    pub(super) fn new(columns: usize) -> Nested {
        let pairs = (0..columns).flat_map(|fine| (0..columns).map(move |coarse| (fine, coarse)));
        let pair = |(fine, coarse)| Pair { fine, coarse, of: HashMap::new(), rows: 0 };
        // Beyond that looking at all pairs would take longer than reading.
        let pairs = if columns > 64 { Vec::new() } else { pairs.filter(|(a, b)| a != b).map(pair).collect() };
        Nested { pairs }
    }

    /// Takes a row: hashes of its values, and their numbers in columns with few.
    pub(crate) fn see(&mut self, hashes: &[Option<u64>], places: &[Option<u32>]) {
        let cell = |cells: &[Option<u32>], at: usize| cells.get(at).copied().flatten();
        self.pairs.retain_mut(|pair| {
            // Where the finer value is missing nothing lies anywhere.
            let Some(fine) = hashes.get(pair.fine).copied().flatten() else { return true };
            let Some(coarse) = cell(places, pair.coarse) else { return false };
            pair.rows += 1;
            *pair.of.entry(fine).or_insert(coarse) == coarse && pair.of.len() <= MOST
        });
    }

    fn pair(&self, fine: usize, coarse: usize) -> Option<&Pair> {
        self.pairs.iter().find(|pair| (pair.fine, pair.coarse) == (fine, coarse))
    }

    /// Whether a column lies in another, in more than one of its values, and with rows enough that it does not by chance alone.
    pub(crate) fn lies_in(&self, fine: usize, coarse: usize) -> bool {
        self.pair(fine, coarse).is_some_and(|pair| {
            let groups = pair.groups();
            groups > 1 && groups < pair.of.len() && pair.rows >= 2 * pair.of.len() as u64
        })
    }

    /// The number of the value in which a value lies.
    pub(crate) fn parent(&self, fine: usize, coarse: usize, value: u64) -> Option<u32> {
        self.pair(fine, coarse)?.of.get(&value).copied()
    }

    /// The columns in which a column lies, each in the next, the finest first.
    pub(super) fn chain(&self, fine: usize) -> Vec<usize> {
        let mut coarser: Vec<&Pair> =
            self.pairs.iter().filter(|pair| pair.fine == fine && self.lies_in(fine, pair.coarse)).collect();
        coarser.sort_by_key(|pair| (std::cmp::Reverse(pair.groups()), pair.coarse));
        let mut chain: Vec<usize> = Vec::new();
        for pair in coarser {
            if chain.last().is_none_or(|&last| self.lies_in(last, pair.coarse)) {
                chain.push(pair.coarse);
            }
        }
        chain
    }
}

impl Pair {
    /// How many values of the coarse column there are.
    fn groups(&self) -> usize {
        let mut all: Vec<u32> = self.of.values().copied().collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    }
}
