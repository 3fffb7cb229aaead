//! Which columns lie in others: every district in one region.

use std::collections::{BTreeMap, HashMap};

/// Of more different values nobody needs to know.
const MOST: usize = 1 << 17;

/// No value yet.
const NONE: u32 = u32::MAX;

/// For every two columns, as long as no row contradicts it, in which value of the coarse one each value of the fine one lies.
pub(super) struct Nested {
    columns: Vec<Values>,
    pairs: Vec<Pair>,
}

/// The values of a column that lies in another, or has others in it.
#[derive(Default)]
struct Values {
    numbers: HashMap<u64, u32>,
    labels: Vec<String>,
    /// No pair has it any more.
    apart: bool,
}

struct Pair {
    fine: usize,
    coarse: usize,
    /// From the number of a value to that of another.
    of: Vec<u32>,
    rows: u64,
}

impl Values {
    /// The number of a value. `None` where there are too many, or nobody wants to know.
    fn number(&mut self, hash: u64, value: &str) -> Option<u32> {
        if self.apart {
            return None;
        }
        if let Some(&number) = self.numbers.get(&hash) {
            return Some(number);
        }
        let number = self.labels.len();
        if number >= MOST {
            return None;
        }
        self.numbers.insert(hash, number as u32);
        self.labels.push(value.to_owned());
        Some(number as u32)
    }
}

impl Nested {
    pub(super) fn new(columns: usize) -> Nested {
        let pairs = (0..columns).flat_map(|fine| (0..columns).map(move |coarse| (fine, coarse)));
        let pair = |(fine, coarse)| Pair { fine, coarse, of: Vec::new(), rows: 0 };
        // Beyond that looking at all pairs would take longer than reading.
        let pairs = if columns > 64 { Vec::new() } else { pairs.filter(|(a, b)| a != b).map(pair).collect() };
        let mut nested = Nested { columns: Vec::new(), pairs };
        nested.columns.resize_with(columns, Values::default);
        nested.part();
        nested
    }

    /// Forgets the values of columns that no pair has.
    fn part(&mut self) {
        for (at, column) in self.columns.iter_mut().enumerate() {
            if !column.apart && !self.pairs.iter().any(|pair| pair.fine == at || pair.coarse == at) {
                *column = Values { apart: true, ..Values::default() };
            }
        }
    }

    /// The number of a column's value, if it is wanted.
    pub(super) fn number(&mut self, column: usize, hash: u64, value: &str) -> Option<u32> {
        self.columns.get_mut(column)?.number(hash, value)
    }

    /// Takes a row: the numbers of its values, and whether there are any.
    pub(super) fn see(&mut self, cells: &[Option<Option<u32>>]) {
        let cell = |at: usize| cells.get(at).copied().flatten();
        let before = self.pairs.len();
        self.pairs.retain_mut(|pair| {
            // Where the finer value is missing nothing lies anywhere.
            let Some(fine) = cell(pair.fine) else { return true };
            let (Some(fine), Some(Some(coarse))) = (fine, cell(pair.coarse)) else { return false };
            pair.rows += 1;
            let fine = fine as usize;
            if pair.of.len() <= fine {
                pair.of.resize(fine + 1, NONE);
            }
            pair.of.get_mut(fine).is_some_and(|of| {
                if *of == NONE {
                    *of = coarse;
                }
                *of == coarse
            })
        });
        if self.pairs.len() < before {
            self.part();
        }
    }

    fn pair(&self, fine: usize, coarse: usize) -> Option<&Pair> {
        self.pairs.iter().find(|pair| (pair.fine, pair.coarse) == (fine, coarse))
    }

    /// Whether a column lies in another, in more than one of its values, and with rows enough that it does not by chance alone.
    pub(super) fn lies_in(&self, fine: usize, coarse: usize) -> bool {
        self.pair(fine, coarse).is_some_and(|pair| {
            let (groups, values) = (pair.groups(), pair.values());
            groups > 1 && groups < values && pair.rows >= 2 * values as u64
        })
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

    /// The values of a coarse column, and those that lie in each.
    pub(super) fn groups(&self, fine: usize, coarse: usize) -> BTreeMap<&str, Vec<&str>> {
        let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for row in self.rows(&[fine, coarse]) {
            if let [fine, coarse] = row[..] {
                groups.entry(coarse).or_default().push(fine);
            }
        }
        groups.values_mut().for_each(|own| own.sort_unstable());
        groups
    }

    /// For each value of the first column that one and those of the others in which it lies.
    pub(super) fn rows(&self, chain: &[usize]) -> Vec<Vec<&str>> {
        let Some((&fine, coarser)) = chain.split_first() else { return Vec::new() };
        let label = |column: usize, number: usize| {
            self.columns.get(column).and_then(|c| c.labels.get(number)).map(String::as_str)
        };
        let values = self.columns.get(fine).map_or(0, |column| column.labels.len());
        let row = |number: usize| {
            let parent = |&coarse: &usize| {
                let of = *self.pair(fine, coarse)?.of.get(number)?;
                label(coarse, of as usize)
            };
            std::iter::once(label(fine, number)).chain(coarser.iter().map(parent)).collect()
        };
        (0..values).filter_map(row).collect()
    }
}

impl Pair {
    /// How many values of the coarse column there are.
    fn groups(&self) -> usize {
        let mut all: Vec<u32> = self.of.iter().copied().filter(|&of| of != NONE).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    }

    /// How many values of the fine column lie in some.
    fn values(&self) -> usize {
        self.of.iter().filter(|&&of| of != NONE).count()
    }
}
