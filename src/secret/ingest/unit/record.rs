//! A coded row with its unit and its place, as bytes.

use super::super::chunk::Chunk;
use super::super::fields::Fields;
use super::order::KEY;
use std::hash::Hasher;
use zeroize::Zeroizing;

/// How rows are written.
///
/// ```text
/// length of all that follows (4) | length of the unit (4) | unit | places by `order` | piece of the data (6) | row of the piece (6) | nodes
/// ```
pub(super) struct Shape {
    /// The bytes of all places by `order`.
    keys: usize,
    /// The bytes of each dimension's node: 1, 2 or 4, and 8 for a text.
    widths: Vec<usize>,
}

/// How many bytes say in which piece of the data a row is, and which row of it.
const PLACE: usize = 12;

/// A row that was written.
#[derive(Clone, Copy)]
pub(super) struct Record<'r> {
    bytes: &'r [u8],
    unit: usize,
}

impl Shape {
    pub(super) fn of(fields: &Fields<'_>) -> Shape {
        let width = |nodes: u32| match nodes {
            0..=0x100 => 1,
            0x101..=0x1_0000 => 2,
            _ => 4,
        };
        let widths = fields.dimensions.iter().map(|f| if f.coder.is_text() { 8 } else { width(f.nodes) });
        Shape {
            keys: fields.unit.as_ref().map_or(0, |unit| unit.order.len() * KEY),
            widths: widths.collect(),
        }
    }

    /// Writes a row of a chunk behind others. `place` is the piece of the data and the row of the piece.
    pub(super) fn write(
        &self,
        to: &mut Zeroizing<Vec<u8>>,
        chunk: &Chunk,
        row: usize,
        id: &[u8],
        place: (u64, u64),
    ) {
        let rest = self.keys + PLACE + self.widths.iter().sum::<usize>();
        let length = 4 + id.len() + rest;
        room(to, 4 + length);
        // A record is no longer than 64 MiB.
        to.extend_from_slice(&(length as u32).to_le_bytes());
        to.extend_from_slice(&(id.len() as u32).to_le_bytes());
        to.extend_from_slice(id);
        chunk.orders(row).for_each(|key| to.extend_from_slice(key));
        // 48 bits: no data has more pieces, and no piece more rows.
        to.extend_from_slice(&place.0.to_be_bytes()[2..]);
        to.extend_from_slice(&place.1.to_be_bytes()[2..]);
        for (dimension, width) in self.widths.iter().enumerate() {
            match width {
                8 => {
                    to.extend_from_slice(&chunk.texts(dimension).get(row).copied().unwrap_or(0).to_le_bytes())
                }
                _ => {
                    let node = chunk.nodes(dimension).get(row).copied().unwrap_or(0).to_le_bytes();
                    to.extend_from_slice(node.get(..*width).unwrap_or(&node));
                }
            }
        }
    }

    /// Puts a row into a chunk.
    pub(crate) fn fill(&self, record: Record<'_>, chunk: &mut Chunk, row: usize) {
        let mut nodes = record.bytes.get(4 + record.unit + self.keys + PLACE..).unwrap_or_default();
        for (dimension, width) in self.widths.iter().enumerate() {
            let (own, rest) = nodes.split_at_checked(*width).unwrap_or((nodes, &[]));
            nodes = rest;
            let mut bytes = [0; 8];
            bytes.iter_mut().zip(own).for_each(|(to, from)| *to = *from);
            let code = u64::from_le_bytes(bytes);
            match (width, chunk.texts_mut(dimension)) {
                (8, Some(texts)) => texts.push(code),
                _ => chunk.set(dimension, row, code as u32),
            }
        }
    }

    /// The place by `order` alone.
    pub(super) fn key<'r>(&self, record: Record<'r>) -> &'r [u8] {
        record.bytes.get(4 + record.unit..4 + record.unit + self.keys).unwrap_or_default()
    }

    /// What rows of a unit are ordered by: the place by `order`, and where that says nothing the place in the data.
    pub(super) fn rank<'r>(&self, record: Record<'r>) -> &'r [u8] {
        record.bytes.get(4 + record.unit..4 + record.unit + self.keys + PLACE).unwrap_or_default()
    }
}

impl<'r> Record<'r> {
    /// The row that is written at a place, and where the next one is.
    #[inline]
    pub(super) fn at(bytes: &'r [u8], at: usize) -> Option<(Record<'r>, usize)> {
        let rest = bytes.get(at..)?;
        let length = u32::from_le_bytes(*rest.first_chunk()?) as usize;
        let bytes = rest.get(4..)?.get(..length)?;
        let unit = u32::from_le_bytes(*bytes.first_chunk()?) as usize;
        Some((Record { bytes, unit }, at + 4 + length))
    }

    /// Whose row it is.
    pub(super) fn unit(self) -> &'r [u8] {
        self.bytes.get(4..4 + self.unit).unwrap_or_default()
    }

    /// The row as it was written, with its length.
    pub(crate) fn copy(self, to: &mut Zeroizing<Vec<u8>>) {
        room(to, 4 + self.bytes.len());
        to.extend_from_slice(&(self.bytes.len() as u32).to_le_bytes());
        to.extend_from_slice(self.bytes);
    }
}

/// By which units are told apart at first; compared they are byte for byte.
pub(super) fn hash(unit: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(unit);
    hasher.finish()
}

/// Makes room for more bytes; what is outgrown is wiped.
fn room(bytes: &mut Zeroizing<Vec<u8>>, more: usize) {
    if bytes.capacity() - bytes.len() < more {
        let wanted = (2 * bytes.capacity()).max(bytes.len() + more).max(1 << 10);
        let mut larger = Zeroizing::new(Vec::with_capacity(wanted));
        larger.extend_from_slice(bytes);
        *bytes = larger;
    }
}
