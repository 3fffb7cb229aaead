//! Tables published without noise are met exactly: records in cells that have too many go to cells that have too few.
//!
//! One table after the other, those of most columns first. A record that goes to another cell of a table changes those attributes alone that no table before has:
//! so what was met stays met. Where the tables can be put in an order in which each meets what came before it in columns of a single one of those
//! (and of one table there always is), all are met; where not, what is missed is left to the report.

use super::random::{Purpose, Stream};
use super::shape::{Nodes, Shape};
use std::collections::{BTreeSet, HashMap};

/// The attribute of columns that stay as they are.
pub(super) const FIXED: usize = usize::MAX;

/// Moves records, as few as are too many.
pub(super) fn meet(shape: &Shape, seed: u64, nodes: &mut Nodes, rows: usize) {
    let mut tables: Vec<usize> =
        (0..shape.tables.len()).filter(|&t| shape.tables[t].exact.is_some()).collect();
    tables.sort_by_key(|&t| (std::cmp::Reverse(shape.tables[t].columns.len()), t));
    let mut settled: BTreeSet<usize> = BTreeSet::from([FIXED]);
    let mut stream = Stream::new(seed, Purpose::Exact, 0, 0);
    for t in tables {
        let columns = &shape.tables[t].columns;
        let attribute = |c: &usize| shape.columns[*c].attribute;
        if !columns.iter().all(|c| settled.contains(&attribute(c))) {
            settle(shape, t, &settled, &mut stream, nodes, rows);
            settled.extend(columns.iter().map(attribute));
        }
    }
}

/// Makes one table's counts right, group by group of cells that agree in what is settled.
fn settle(
    shape: &Shape,
    t: usize,
    settled: &BTreeSet<usize>,
    stream: &mut Stream,
    nodes: &mut Nodes,
    rows: usize,
) {
    let of = &shape.tables[t];
    let Some(wanted) = &of.exact else { return };
    let strides = shape.strides(&of.columns);
    let node = |cell: usize, i: usize| (cell / strides[i] % shape.columns[of.columns[i]].size) as u32;
    let fixed: Vec<usize> = (0..of.columns.len())
        .filter(|&i| settled.contains(&shape.columns[of.columns[i]].attribute))
        .collect();
    let group = |cell: usize| -> Vec<u32> { fixed.iter().map(|&i| node(cell, i)).collect() };
    let counts = shape.count(&of.columns, nodes, rows);
    let mut lacking: HashMap<Vec<u32>, Vec<usize>> = HashMap::new();
    for (cell, (&want, &have)) in wanted.iter().zip(&counts).enumerate() {
        let list = (u64::from(have)..want).map(|_| cell);
        if want > u64::from(have) {
            lacking.entry(group(cell)).or_default().extend(list.take(rows));
        }
    }
    lacking.values_mut().for_each(|list| list.sort_unstable());
    let mut groups: Vec<&Vec<u32>> = lacking.keys().collect();
    groups.sort_unstable();
    let groups: Vec<Vec<u32>> = groups.into_iter().cloned().collect();
    groups.iter().for_each(|g| lacking.get_mut(g).into_iter().for_each(|list| stream.shuffle(list)));
    let mut over: Vec<u64> =
        wanted.iter().zip(&counts).map(|(&w, &h)| u64::from(h).saturating_sub(w)).collect();
    let mut order: Vec<usize> = (0..rows).collect();
    stream.shuffle(&mut order);
    let own = |a: usize| of.columns.iter().any(|&c| shape.columns[c].attribute == a);
    let free: Vec<usize> = (0..shape.attributes.len()).filter(|a| !settled.contains(a) && !own(*a)).collect();
    let cells: Vec<usize> = shape.cells(&of.columns, nodes, rows).collect();
    let mut still: Vec<bool> = vec![true; rows];
    // First those records that may go as they are; then with another attribute changed, where a cell would be closed.
    for others in [&[][..], &free] {
        for &record in &order {
            let cell = cells[record];
            let list = lacking.get_mut(&group(cell)).filter(|list| !list.is_empty());
            let Some(list) = list.filter(|_| over[cell] > 0 && still[record]) else { continue };
            if place(shape, t, nodes, record, &node, list, others) {
                over[cell] -= 1;
                still[record] = false;
            }
        }
    }
}

/// Whether a record is in a closed cell.
fn closed(shape: &Shape, nodes: &Nodes, record: usize) -> bool {
    let at = |c: &super::shape::Closed| -> usize {
        c.columns.iter().zip(shape.strides(&c.columns)).map(|(&c, s)| nodes[c][record] as usize * s).sum()
    };
    shape.closed.iter().any(|c| c.cells[at(c)])
}

/// Puts a record into one of the last cells of a list that is open to it, after a change of one of the other attributes where need be; the cell is taken off.
fn place(
    shape: &Shape,
    t: usize,
    nodes: &mut Nodes,
    record: usize,
    node: &dyn Fn(usize, usize) -> u32,
    list: &mut Vec<usize>,
    others: &[usize],
) -> bool {
    const LOOKED: usize = 64;
    let before: Vec<u32> = nodes.iter().map(|n| n[record]).collect();
    for at in (list.len().saturating_sub(LOOKED)..list.len()).rev() {
        let cell = list[at];
        put(shape, t, nodes, record, &|i| node(cell, i));
        let mut open = !closed(shape, nodes, record);
        for &a in others {
            let own = &shape.attributes[a].columns;
            for finest in 0..shape.columns[own[0]].size {
                if !open {
                    own.iter().for_each(|&c| nodes[c][record] = shape.columns[c].up[finest]);
                    open = !closed(shape, nodes, record);
                }
            }
            if !open {
                own.iter().for_each(|&c| nodes[c][record] = before[c]);
            }
        }
        if open {
            list.swap_remove(at);
            return true;
        }
        nodes.iter_mut().zip(&before).for_each(|(n, &b)| n[record] = b);
    }
    false
}

/// Puts a record into a cell: of an attribute that the table has at a coarser level, any node of the new one.
fn put(shape: &Shape, t: usize, nodes: &mut Nodes, record: usize, node: &dyn Fn(usize) -> u32) {
    for (i, &c) in shape.tables[t].columns.iter().enumerate() {
        if nodes[c][record] == node(i) {
            continue;
        }
        let own = &shape.attributes[shape.columns[c].attribute].columns;
        // The nodes of the finest level are in the order of those above them.
        let up = &shape.columns[c].up;
        let inside: Vec<usize> = (0..up.len()).filter(|&f| up[f] == node(i)).collect();
        let Some(&finest) = inside.get(record % inside.len().max(1)) else { continue };
        own.iter().for_each(|&o| nodes[o][record] = shape.columns[o].up[finest]);
    }
}
