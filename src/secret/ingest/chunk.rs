//! A few thousand coded rows, on their way from a file to what counts them.

use super::fields::Fields;
use zeroize::{Zeroize, Zeroizing};

/// How many rows are coded before they are handed on: few enough that they stay in the nearest caches.
pub(in crate::secret) const CHUNK: usize = 4096;

/// At most [`CHUNK`] coded rows, column by column; the memory is used again and again, and wiped on drop.
pub(in crate::secret) struct Chunk {
    /// Dimension after dimension, [`CHUNK`] nodes for each.
    nodes: Zeroizing<Vec<u32>>,
    /// For dimensions of any text their codes, as many as there are rows; empty for the others.
    texts: Vec<Zeroizing<Vec<u64>>>,
    /// Identifiers of units, one after the other, and where each ends.
    ids: Zeroizing<Vec<u8>>,
    ends: Vec<usize>,
    len: usize,
}

impl Chunk {
    /// Room for the dimensions of `fields`.
    pub(super) fn new(fields: &Fields<'_>) -> Chunk {
        let dimensions = fields.dimensions.len();
        Chunk {
            nodes: Zeroizing::new(vec![0; dimensions * CHUNK]),
            texts: (0..dimensions).map(|_| Zeroizing::default()).collect(),
            ids: Zeroizing::default(),
            ends: Vec::new(),
            len: 0,
        }
    }

    /// Sets the node of a row that is being filled in.
    #[inline]
    pub(super) fn set(&mut self, dimension: usize, row: usize, node: u32) {
        self.nodes[dimension * CHUNK + row] = node;
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
    pub(super) fn push_id(&mut self, id: &[u8]) {
        self.ids.extend_from_slice(id);
        self.ends.push(self.ids.len());
    }

    /// So many rows are filled in.
    pub(super) fn fill(&mut self, len: usize) {
        self.len = len;
    }

    /// Makes room for other rows.
    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.texts.iter_mut().for_each(|texts| texts.clear());
        self.ids.clear();
        self.ends.clear();
    }

    /// Leaves out the rows for which `keep` is false. Identifiers stay as they are.
    pub(super) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let kept: Vec<usize> = (0..self.len).filter(|&row| keep(row)).collect();
        if kept.len() == self.len {
            return;
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
    }
}
