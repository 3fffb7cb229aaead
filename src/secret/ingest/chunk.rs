//! A few thousand coded rows, on their way from a file to what counts them.

use super::amount::Factor;
use super::faults::Faults;
use super::fields::{Fields, Whose};
use super::unit::order::KEY;
use crate::spec::MOST_FACTORS;
use zeroize::{Zeroize, Zeroizing};

/// How many rows are coded before they are handed on: few enough that they stay in the nearest caches.
pub(in crate::secret) const CHUNK: usize = 4096;

/// At most [`CHUNK`] coded rows, column by column; the memory is used again and again, and wiped on drop.
pub(in crate::secret) struct Chunk {
    /// Dimension after dimension, [`CHUNK`] nodes for each.
    nodes: Zeroizing<Vec<u32>>,
    /// For dimensions of any text their codes, as many as there are rows; empty for the others.
    texts: Vec<Zeroizing<Vec<u64>>>,
    /// Of each column that is multiplied, what its cells say, [`CHUNK`] for each.
    factors: Zeroizing<Vec<Factor>>,
    /// Identifiers of units, one after the other, and where each ends.
    ids: Zeroizing<Vec<u8>>,
    ends: Vec<usize>,
    /// For each column that orders the rows of a unit, where each row stands.
    orders: Vec<Zeroizing<Vec<u8>>>,
    /// Where rows that cannot be used are counted; `None` ends the reading at the first.
    pub(super) faults: Option<Faults>,
    /// How many rows belong to no unit.
    pub(super) without: u64,
    /// Those of them that do not count, while they still have a place.
    pub(super) dropped: Zeroizing<Vec<usize>>,
    /// Memory of dictionaries, to be used again: a column's nodes.
    #[cfg(feature = "parquet")]
    pub(super) spare: Vec<Zeroizing<Vec<u32>>>,
    /// Levels and places in a dictionary, of one column after the other: few enough bytes for the nearest cache.
    #[cfg(feature = "parquet")]
    pub(super) scratch: [Zeroizing<Vec<u32>>; 2],
    len: usize,
}

impl Chunk {
    /// Room for the dimensions of `fields`.
    pub(super) fn new(fields: &Fields<'_>) -> Chunk {
        let dimensions = fields.dimensions.len();
        Chunk {
            nodes: Zeroizing::new(vec![0; dimensions * CHUNK]),
            texts: (0..dimensions).map(|_| Zeroizing::default()).collect(),
            factors: Zeroizing::new(vec![Factor::default(); fields.factors().count() * CHUNK]),
            ids: Zeroizing::default(),
            ends: Vec::new(),
            orders: fields.unit.iter().flat_map(|unit| &unit.order).map(|_| Zeroizing::default()).collect(),
            faults: None,
            without: 0,
            dropped: Zeroizing::default(),
            #[cfg(feature = "parquet")]
            spare: Vec::new(),
            #[cfg(feature = "parquet")]
            scratch: Default::default(),
            len: 0,
        }
    }

    /// Sets the node of a row that is being filled in.
    #[inline]
    pub(super) fn set(&mut self, dimension: usize, row: usize, node: u32) {
        self.nodes[dimension * CHUNK + row] = node;
    }

    /// Sets what a factor is in a row that is being filled in.
    pub(super) fn set_factor(&mut self, factor: usize, row: usize, said: Factor) {
        if let Some(own) = self.factors.get_mut(factor * CHUNK + row) {
            *own = said;
        }
    }

    /// Multiplies the factors of a row. `false` where a product has no node: never, as its factors were read.
    #[inline]
    pub(super) fn multiply(&mut self, fields: &Fields<'_>, row: usize) -> bool {
        if self.factors.is_empty() {
            return true;
        }
        let mut good = true;
        for (dimension, field, from) in fields.products() {
            let mut own = Zeroizing::new([Factor::default(); MOST_FACTORS]);
            let many = field.factors.len();
            for (at, to) in own.iter_mut().take(many).enumerate() {
                *to = self.factors.get((from + at) * CHUNK + row).copied().unwrap_or_default();
            }
            match own.get(..many).map(|own| field.coder.product(own)) {
                Some(Ok(node)) => self.set(dimension, row, node),
                _ => good = false,
            }
        }
        good
    }

    /// The same of so many rows.
    #[cfg(feature = "parquet")]
    pub(super) fn multiply_all(&mut self, fields: &Fields<'_>, rows: usize) -> bool {
        self.factors.is_empty() || (0..rows).all(|row| self.multiply(fields, row))
    }

    /// All nodes of a dimension, to be filled in.
    #[cfg(feature = "parquet")]
    pub(super) fn nodes_mut(&mut self, dimension: usize) -> &mut [u32] {
        let from = dimension * CHUNK;
        self.nodes.get_mut(from..from + CHUNK).unwrap_or_default()
    }

    /// The codes of a dimension of texts, to be filled in.
    pub(super) fn texts_mut(&mut self, dimension: usize) -> Option<&mut Zeroizing<Vec<u64>>> {
        self.texts.get_mut(dimension)
    }

    /// Adds the identifier of the next row.
    fn push_id(&mut self, id: &[u8]) {
        self.ids.extend_from_slice(id);
        self.ends.push(self.ids.len());
    }

    /// Adds where the next row stands by one of the columns that order them.
    pub(super) fn push_order(&mut self, column: usize, key: &[u8; KEY]) {
        if let Some(keys) = self.orders.get_mut(column) {
            keys.extend_from_slice(key);
        }
    }

    /// Where a row stands by each of those columns.
    pub(super) fn orders(&self, row: usize) -> impl Iterator<Item = &[u8]> {
        self.orders.iter().map(move |keys| keys.get(row * KEY..(row + 1) * KEY).unwrap_or_default())
    }

    /// Of which kinds the places by one of those columns are: a bit for each.
    pub(super) fn kinds(&self, column: usize) -> u8 {
        let keys = self.orders.get(column).map_or(&[][..], |keys| keys);
        keys.iter().step_by(KEY).fold(0, |kinds, kind| kinds | kind)
    }

    /// So many rows are filled in.
    pub(super) fn fill(&mut self, len: usize) {
        self.len = len;
    }

    /// Adds whose the next row is.
    pub(super) fn push_whose(&mut self, row: usize, whose: &Whose<'_>) {
        self.without += u64::from(!matches!(whose, Whose::Unit(_)));
        match whose {
            Whose::Unit(id) => self.push_id(id),
            Whose::Own(id) => self.push_id(id),
            Whose::Nobody => {
                self.push_id(&[]);
                self.dropped.push(row);
            }
        }
    }

    /// Makes room for other rows.
    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.without = 0;
        self.dropped.clear();
        self.texts.iter_mut().for_each(|texts| texts.clear());
        self.ids.clear();
        self.ends.clear();
        self.orders.iter_mut().for_each(|keys| keys.clear());
    }

    /// Takes back what was added of rows behind the first `rows`.
    pub(super) fn shorten(&mut self, rows: usize) {
        self.texts.iter_mut().for_each(|texts| texts.truncate(rows));
        self.ends.truncate(rows);
        self.ids.truncate(self.ends.last().copied().unwrap_or(0));
        self.orders.iter_mut().for_each(|keys| keys.truncate(rows * KEY));
    }

    /// Leaves out the rows for which `keep` is false.
    #[cfg(feature = "parquet")]
    pub(super) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let kept: Vec<usize> = (0..self.len).filter(|&row| keep(row)).collect();
        if kept.len() == self.len {
            return;
        }
        if !self.ends.is_empty() {
            let ids: Vec<Zeroizing<Vec<u8>>> = self.ids().map(|id| Zeroizing::new(id.to_vec())).collect();
            let orders = std::mem::take(&mut self.orders);
            (self.ids, self.ends) = (Zeroizing::default(), Vec::new());
            kept.iter().filter_map(|&row| ids.get(row)).for_each(|id| self.push_id(id));
            let keys = |keys: &Zeroizing<Vec<u8>>| {
                kept.iter()
                    .flat_map(|&row| keys.get(row * KEY..(row + 1) * KEY).unwrap_or_default())
                    .copied()
                    .collect()
            };
            self.orders = orders.iter().map(|of| Zeroizing::new(keys(of))).collect();
        }
        for nodes in self.nodes.chunks_exact_mut(CHUNK) {
            for (to, &from) in kept.iter().enumerate() {
                nodes[to] = nodes[from];
            }
        }
        for texts in self.texts.iter_mut().filter(|texts| !texts.is_empty()) {
            for (to, &from) in kept.iter().enumerate() {
                texts[to] = texts[from];
            }
            texts.truncate(kept.len());
        }
        self.len = kept.len();
    }

    pub(in crate::secret) fn len(&self) -> usize {
        self.len
    }

    /// The nodes of a dimension.
    pub(in crate::secret) fn nodes(&self, dimension: usize) -> &[u32] {
        self.nodes.get(dimension * CHUNK..dimension * CHUNK + self.len).unwrap_or_default()
    }

    /// The codes of a dimension of texts.
    pub(in crate::secret) fn texts(&self, dimension: usize) -> &[u64] {
        self.texts.get(dimension).map_or(&[], |texts| texts)
    }

    /// The identifiers, where they were asked for.
    pub(super) fn ids(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(from, &to)| self.ids.get(from..to).unwrap_or_default())
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.ends.zeroize();
        // All else wipes itself.
    }
}
