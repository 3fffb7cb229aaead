//! The cells of a block of rows, one column at a time.

use super::Axis;
use crate::secret::ingest::{Codes, Values};
use std::ops::Range;

/// Makes the index of a table over some axes that of the table with one more axis:
/// `index[row] · nodes + node(row)`, for the rows of `block`.
///
/// The column's width and the map are looked at once a block; the loops inside are simple enough for the
/// compiler to vectorise.
pub(super) fn extend(index: &mut [u32], axis: &Axis<'_>, codes: &Codes, block: Range<usize>) {
    match codes.values() {
        Values::U8(codes) => extend_from(index, axis, &codes[block]),
        Values::U16(codes) => extend_from(index, axis, &codes[block]),
        Values::U32(codes) => extend_from(index, axis, &codes[block]),
        // One node: its index is 0 wherever it stands.
        Values::Text(_) => index.iter_mut().for_each(|cell| *cell = cell.wrapping_mul(axis.nodes as u32)),
    }
}

fn extend_from<C: Copy + Into<u32>>(index: &mut [u32], axis: &Axis<'_>, codes: &[C]) {
    // `wrapping` only keeps the overflow checks of release builds out of the loop: the counter has checked
    // that every index is below the number of cells, at most 2^31.
    let nodes = axis.nodes as u32;
    let step = |cell: &mut u32, node: u32| *cell = cell.wrapping_mul(nodes).wrapping_add(node);
    match axis.ancestors {
        None => index.iter_mut().zip(codes).for_each(|(cell, &code)| step(cell, code.into())),
        Some(up) => {
            index.iter_mut().zip(codes).for_each(|(cell, &code)| step(cell, up[code.into() as usize]));
        }
    }
}
