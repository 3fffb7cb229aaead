//! The rows that count, as columns of codes.

use super::error::IngestError;
use std::fmt;
use zeroize::Zeroize;

/// Private rows, coded: for every dimension of the spec a column of nodes of its finest level.
///
/// Nothing outside `secret` can look inside, not even at the number of rows: where a neighbour is one
/// unit more, that number is private. There is no `Serialize`, `Debug` shows nothing, and the memory is
/// wiped on drop.
pub struct Rows {
    columns: Vec<Codes>,
    len: usize,
    /// How many units had more rows than count.
    cut: u64,
}

/// One column in the narrowest type that holds its nodes: counting is bound by memory.
pub(in crate::secret) struct Codes {
    nodes: u32,
    values: Values,
}

/// The codes of a column.
pub(in crate::secret) enum Values {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    /// Texts by their 64-bit codes; such a column is one node to everything that counts.
    Text(Vec<u64>),
}

impl Rows {
    /// No rows yet, for dimensions with these numbers of finest nodes.
    pub(super) fn new(nodes: impl IntoIterator<Item = u32>) -> Rows {
        Rows { columns: nodes.into_iter().map(Codes::new).collect(), len: 0, cut: 0 }
    }

    /// Makes a column one of texts, before anything is in it.
    pub(super) fn text(&mut self, column: usize) {
        if let Some(codes) = self.columns.get_mut(column) {
            codes.values = Values::Text(Vec::new());
        }
    }

    /// From codes in memory: `columns` are parallel to `nodes`, the numbers of finest nodes.
    pub fn from_codes(nodes: &[u32], columns: &[Vec<u32>]) -> Result<Rows, IngestError> {
        let wrong = |dimension: usize, what| IngestError::Coding { dimension: dimension.to_string(), what };
        if nodes.len() != columns.len() {
            return Err(wrong(columns.len(), "there are not as many columns as dimensions"));
        }
        let mut rows = Rows::new(nodes.iter().copied());
        rows.len = columns.first().map_or(0, Vec::len);
        for (at, (codes, column)) in rows.columns.iter_mut().zip(columns).enumerate() {
            if column.len() != rows.len {
                return Err(wrong(at, "its column is longer or shorter than the first"));
            }
            for &code in column {
                if code >= codes.nodes {
                    return Err(wrong(at, "a code is none of its nodes"));
                }
                codes.push(code.into());
            }
        }
        Ok(rows)
    }

    /// Appends to one column. Whoever fills the columns calls [`Rows::grow`] for the whole rows.
    #[inline]
    pub(super) fn push(&mut self, column: usize, code: u64) {
        self.columns[column].push(code);
    }

    /// So many rows are now complete in every column.
    pub(super) fn grow(&mut self, by: usize) {
        self.len += by;
        debug_assert!(self.columns.iter().all(|column| column.len() == self.len));
    }

    pub(super) fn set_cut(&mut self, units: u64) {
        self.cut = units;
    }

    /// How many units had more rows than count. It leaves with noise only.
    pub(in crate::secret) fn cut(&self) -> u64 {
        self.cut
    }

    pub(in crate::secret) fn len(&self) -> usize {
        self.len
    }

    pub(in crate::secret) fn column(&self, dimension: usize) -> Option<&Codes> {
        self.columns.get(dimension)
    }
}

impl Codes {
    fn new(nodes: u32) -> Codes {
        let values = match nodes {
            0..=0x100 => Values::U8(Vec::new()),
            0x101..=0x1_0000 => Values::U16(Vec::new()),
            _ => Values::U32(Vec::new()),
        };
        Codes { nodes, values }
    }

    /// The code is below `nodes` or that of a text, so it fits.
    #[inline]
    fn push(&mut self, code: u64) {
        debug_assert!(matches!(self.values, Values::Text(_)) || code < u64::from(self.nodes));
        match &mut self.values {
            Values::U8(values) => values.push(code as u8),
            Values::U16(values) => values.push(code as u16),
            Values::U32(values) => values.push(code as u32),
            Values::Text(values) => values.push(code),
        }
    }

    fn len(&self) -> usize {
        match &self.values {
            Values::U8(values) => values.len(),
            Values::U16(values) => values.len(),
            Values::U32(values) => values.len(),
            Values::Text(values) => values.len(),
        }
    }

    /// How many nodes the finest level has: every code is below.
    pub(in crate::secret) fn nodes(&self) -> usize {
        self.nodes as usize
    }

    pub(in crate::secret) fn values(&self) -> &Values {
        &self.values
    }
}

impl Values {
    /// The code of a row: a node, or what stands for a text.
    #[inline]
    pub(in crate::secret) fn at(&self, row: usize) -> u64 {
        match self {
            Values::U8(values) => values[row].into(),
            Values::U16(values) => values[row].into(),
            Values::U32(values) => values[row].into(),
            Values::Text(values) => values[row],
        }
    }
}

impl Drop for Values {
    fn drop(&mut self) {
        match self {
            Values::U8(values) => values.zeroize(),
            Values::U16(values) => values.zeroize(),
            Values::U32(values) => values.zeroize(),
            Values::Text(values) => values.zeroize(),
        }
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rows { <private> }")
    }
}
