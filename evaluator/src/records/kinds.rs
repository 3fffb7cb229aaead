//! Kinds of records: those that agree in all that tables tell beside an attribute. What an attribute is drawn from, or moves to, is the same for all records
//! of a kind: where there are far fewer kinds than records, it is worked out once a kind, and what comes of it is the same to the last bit.

use super::shape::{Nodes, Shape, View, padded};
use std::collections::BTreeSet;

/// So many numbers may all kinds have together.
const MOST: usize = 1 << 22;

/// The kinds of records, seen from an attribute.
pub(super) struct Kinds {
    /// How many there are.
    pub len: usize,
    /// As if there were one record of each.
    pub nodes: Nodes,
    /// The columns that tell them apart, with their steps.
    by: Vec<(usize, usize)>,
}

impl Kinds {
    /// The kinds of so many records, if they are far fewer.
    pub(super) fn of(shape: &Shape, attribute: usize, views: &[View], records: usize) -> Option<Kinds> {
        let by: BTreeSet<usize> = views.iter().flat_map(|v| &v.others).map(|(c, _)| *c).collect();
        let by: Vec<usize> = by.into_iter().collect();
        let len = shape.sizes(&by).try_fold(1usize, |n, size| n.checked_mul(size))?;
        let size = padded(shape.columns[shape.attributes[attribute].columns[0]].size);
        if len > records / 2 || len.checked_mul(size)? > MOST {
            return None;
        }
        let mut nodes: Nodes = vec![Vec::new(); shape.columns.len()];
        let by: Vec<(usize, usize)> = by.iter().copied().zip(shape.strides(&by)).collect();
        for &(c, step) in &by {
            nodes[c] = (0..len).map(|kind| (kind / step % shape.columns[c].size) as u32).collect();
        }
        Some(Kinds { len, nodes, by })
    }

    /// The columns of records that tell kinds apart, to look one record up after the other.
    pub(super) fn among<'a>(&self, nodes: &'a Nodes) -> Vec<(&'a [u32], usize)> {
        self.by.iter().map(|&(c, step)| (&nodes[c][..], step)).collect()
    }
}

/// The kind of a record.
#[inline(always)]
pub(super) fn kind(among: &[(&[u32], usize)], record: usize) -> usize {
    among.iter().map(|(nodes, step)| nodes[record] as usize * step).sum()
}
