//! The rows that count, as columns of codes.

use super::chunk::Chunk;
use super::error::IngestError;
use super::fields::Fields;
use super::run::Take;
use std::fmt;
use zeroize::{Zeroize, Zeroizing};

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

    /// No rows yet, of these columns.
    pub(super) fn of(fields: &Fields<'_>) -> Rows {
        let mut rows = Rows::new(fields.dimensions.iter().map(|field| field.nodes));
        for (at, _) in fields.dimensions.iter().enumerate().filter(|(_, field)| field.coder.is_text()) {
            rows.text(at);
        }
        rows
    }

    /// Makes a column one of texts, before anything is in it.
    pub(super) fn text(&mut self, column: usize) {
        if let Some(codes) = self.columns.get_mut(column) {
            codes.values = Values::Text(Vec::new());
        }
    }

    /// No rows, of the same dimensions.
    pub(super) fn like(&self) -> Rows {
        let column = |codes: &Codes| Codes { nodes: codes.nodes, values: codes.values.like() };
        Rows { columns: self.columns.iter().map(column).collect(), len: 0, cut: 0 }
    }

    /// Appends coded rows.
    fn append(&mut self, chunk: &Chunk) {
        for (dimension, codes) in self.columns.iter_mut().enumerate() {
            let nodes = chunk.nodes(dimension);
            match &mut codes.values {
                Values::U8(values) => values.extend(nodes.iter().map(|&node| node as u8)),
                Values::U16(values) => values.extend(nodes.iter().map(|&node| node as u16)),
                Values::U32(values) => values.extend_from_slice(nodes),
                Values::Text(values) => values.extend_from_slice(chunk.texts(dimension)),
            }
        }
        self.len += chunk.len();
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

    /// How many bytes a row takes.
    pub(super) fn row_bytes(&self) -> u64 {
        let bytes = |codes: &Codes| match codes.values {
            Values::U8(_) => 1,
            Values::U16(_) => 2,
            Values::U32(_) => 4,
            Values::Text(_) => 8,
        };
        self.columns.iter().map(bytes).sum()
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

    /// Brings the rows in the order of the nodes of a column: where those of each node begin, and where the last ones end. One column after the
    /// other, so that little is held twice.
    pub(in crate::secret) fn sort_by(&mut self, column: usize) -> Option<Vec<usize>> {
        let key = self.columns.get(column)?;
        if matches!(key.values, Values::Text(_)) {
            return None;
        }
        let mut starts = vec![0usize; key.nodes() + 1];
        (0..self.len).for_each(|row| starts[key.values.at(row) as usize + 1] += 1);
        for node in 1..starts.len() {
            starts[node] += starts[node - 1];
        }
        let mut next = Zeroizing::new(starts.clone());
        let (before, rest) = self.columns.split_at_mut(column);
        let (key, after) = rest.split_first_mut()?;
        for codes in before.iter_mut().chain(after) {
            next.copy_from_slice(&starts);
            let places = (0..self.len).map(|row| {
                let place = &mut next[key.values.at(row) as usize];
                *place += 1;
                *place - 1
            });
            codes.values = codes.values.moved(places);
        }
        next.copy_from_slice(&starts);
        let places = (0..self.len).map(|row| {
            let place = &mut next[key.values.at(row) as usize];
            *place += 1;
            *place - 1
        });
        let sorted = key.values.moved(places);
        key.values = sorted;
        Some(starts)
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

    /// How many nodes the finest level has: every code is below.
    pub(in crate::secret) fn nodes(&self) -> usize {
        self.nodes as usize
    }

    pub(in crate::secret) fn values(&self) -> &Values {
        &self.values
    }
}

impl Values {
    /// Nothing, of the same kind.
    fn like(&self) -> Values {
        match self {
            Values::U8(_) => Values::U8(Vec::new()),
            Values::U16(_) => Values::U16(Vec::new()),
            Values::U32(_) => Values::U32(Vec::new()),
            Values::Text(_) => Values::Text(Vec::new()),
        }
    }

    /// The same, each at a place of its own.
    fn moved(&self, places: impl Iterator<Item = usize>) -> Values {
        fn all<C: Copy + Default>(codes: &[C], places: impl Iterator<Item = usize>) -> Vec<C> {
            let mut moved = vec![C::default(); codes.len()];
            codes.iter().zip(places).for_each(|(&code, place)| moved[place] = code);
            moved
        }
        match self {
            Values::U8(codes) => Values::U8(all(codes, places)),
            Values::U16(codes) => Values::U16(all(codes, places)),
            Values::U32(codes) => Values::U32(all(codes, places)),
            Values::Text(codes) => Values::Text(all(codes, places)),
        }
    }

    fn reserve(&mut self, more: usize) {
        match self {
            Values::U8(values) => values.reserve_exact(more),
            Values::U16(values) => values.reserve_exact(more),
            Values::U32(values) => values.reserve_exact(more),
            Values::Text(values) => values.reserve_exact(more),
        }
    }

    /// Appends what is of the same kind.
    fn append(&mut self, other: &Values) {
        match (self, other) {
            (Values::U8(values), Values::U8(more)) => values.extend_from_slice(more),
            (Values::U16(values), Values::U16(more)) => values.extend_from_slice(more),
            (Values::U32(values), Values::U32(more)) => values.extend_from_slice(more),
            (Values::Text(values), Values::Text(more)) => values.extend_from_slice(more),
            _ => debug_assert!(false, "columns of different kinds"),
        }
    }

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

/// Keeps the rows of the pieces that one thread coded.
pub(super) struct Pieces {
    /// What an empty one is like.
    none: Rows,
    pieces: Vec<(usize, Rows)>,
}

impl Pieces {
    pub(super) fn new(none: Rows) -> Pieces {
        Pieces { none, pieces: Vec::new() }
    }

    /// All rows in their order. Column after column, so that little is held twice.
    pub(super) fn together(mut rows: Rows, threads: Vec<Pieces>) -> Rows {
        let mut pieces: Vec<(usize, Rows)> = threads.into_iter().flat_map(|t| t.pieces).collect();
        pieces.sort_by_key(|(piece, _)| *piece);
        rows.len = pieces.iter().map(|(_, rows)| rows.len).sum();
        for (at, codes) in rows.columns.iter_mut().enumerate() {
            codes.values.reserve(rows.len);
            for piece in &mut pieces {
                let Some(of_piece) = piece.1.columns.get_mut(at) else { continue };
                codes.values.append(&of_piece.values);
                of_piece.values = Values::U8(Vec::new()); // wiped
            }
        }
        rows
    }
}

impl Take for Pieces {
    fn take(&mut self, piece: usize, chunk: &Chunk) {
        match self.pieces.last_mut() {
            Some((last, rows)) if *last == piece => rows.append(chunk),
            _ => {
                let mut rows = self.none.like();
                rows.append(chunk);
                self.pieces.push((piece, rows));
            }
        }
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rows { <private> }")
    }
}
