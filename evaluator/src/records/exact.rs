//! Tables published without noise are met exactly: records in cells that have too many go to cells that have too few.
//!
//! One table after the other. A record that goes to another cell of a table changes nothing that a table before has: so what was met stays met. A table can be met where a
//! single one before it has all that it shares with those before, since then as many records as it wants agree in that. Tables that can be put in such an order are said to have the running
//! intersection property, and if there is an order, a maximum cardinality search finds one: next comes a table of which most columns are in tables before. Tables that share no
//! attribute, not even by way of others, do not stand in each other's way. Where there is no order, those of most columns come first, and what is missed is left to the report.
//!
//! Of more or fewer records than the tables count, each table is rounded first: what the table before has given to cells that agree in what is shared is given out among them in
//! proportion, and what is left goes to the largest remainders.

use super::random::{Purpose, Stream};
use super::shape::{Nodes, Shape};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The attribute of columns that stay as they are.
pub(super) const FIXED: usize = usize::MAX;

/// The tables to be met, in their order.
pub(super) struct Exact<'a> {
    shape: &'a Shape,
    order: Vec<usize>,
    /// The tables among which others share attributes in such a way that there is no order.
    tangled: BTreeSet<usize>,
}

impl<'a> Exact<'a> {
    pub(super) fn of(shape: &'a Shape) -> Exact<'a> {
        let mut order: Vec<usize> =
            (0..shape.tables.len()).filter(|&t| shape.tables[t].exact.is_some()).collect();
        order.sort_by_key(|&t| (std::cmp::Reverse(shape.tables[t].columns.len()), t));
        let mut out = Exact { shape, order, tangled: BTreeSet::new() };
        for mut family in out.families() {
            if !out.runs(&family) {
                let found = out.searched(&family);
                if out.runs(&found) {
                    let places: Vec<usize> =
                        (0..out.order.len()).filter(|&i| family.contains(&out.order[i])).collect();
                    places.into_iter().zip(&found).for_each(|(i, &t)| out.order[i] = t);
                } else {
                    out.tangled.extend(family.drain(..));
                }
            }
        }
        out
    }

    /// The columns that a table tells: its own, and coarser ones of the same attributes.
    fn told(&self, t: usize) -> BTreeSet<usize> {
        let told = |&c: &usize| match self.shape.columns[c].attribute {
            FIXED => vec![c],
            a => self.shape.attributes[a].columns.iter().copied().skip_while(|&o| o != c).collect(),
        };
        self.shape.tables[t].columns.iter().flat_map(told).collect()
    }

    /// Columns that stay as they are, as if a table before all others had them.
    fn fixed(&self) -> BTreeSet<usize> {
        (0..self.shape.columns.len()).filter(|&c| self.shape.columns[c].attribute == FIXED).collect()
    }

    /// Those tables together that share attributes, be it by way of others.
    fn families(&self) -> Vec<Vec<usize>> {
        let attributes = |t: usize| -> BTreeSet<usize> {
            let of = self.shape.tables[t].columns.iter().map(|&c| self.shape.columns[c].attribute);
            of.filter(|a| *a != FIXED).collect()
        };
        let mut families: Vec<(BTreeSet<usize>, Vec<usize>)> = Vec::new();
        for &t in &self.order {
            let (mut own, mut tables) = (attributes(t), Vec::new());
            let near = attributes(t);
            for (others, more) in families.extract_if(.., |(others, _)| !others.is_disjoint(&near)) {
                own.extend(others);
                tables.extend(more);
            }
            tables.push(t);
            families.push((own, tables));
        }
        let place = |t: &usize| self.order.iter().position(|o| o == t);
        let mut families: Vec<Vec<usize>> = families.into_iter().map(|(_, tables)| tables).collect();
        families.iter_mut().for_each(|tables| tables.sort_by_key(place));
        families
    }

    /// Whether a single table before each has all that it shares with those before.
    fn runs(&self, order: &[usize]) -> bool {
        let mut before = vec![self.fixed()];
        let mut all = self.fixed();
        order.iter().all(|&t| {
            let own = self.told(t);
            let shared: BTreeSet<usize> = own.intersection(&all).copied().collect();
            let single = before.iter().any(|one| shared.is_subset(one));
            all.extend(&own);
            before.push(own);
            single
        })
    }

    /// Tables by maximum cardinality search.
    fn searched(&self, tables: &[usize]) -> Vec<usize> {
        let mut left: Vec<(usize, BTreeSet<usize>)> = tables.iter().map(|&t| (t, self.told(t))).collect();
        let (mut all, mut order) = (self.fixed(), Vec::new());
        // Of several the first.
        let most = |left: &[(usize, BTreeSet<usize>)], all: &BTreeSet<usize>| {
            let shared = |i: &usize| left[*i].1.intersection(all).count();
            (0..left.len()).rev().max_by_key(shared)
        };
        while let Some(next) = most(&left, &all) {
            let (t, own) = left.remove(next);
            all.extend(own);
            order.push(t);
        }
        order
    }

    /// Moves records, as few as are too many. Of more or fewer than the tables count (not `whole`), tables are rounded, where there are as many records as cells.
    pub(super) fn meet(&self, seed: u64, nodes: &mut Nodes, rows: usize, whole: bool) {
        let few = |t: &usize| {
            let cells = self.shape.tables[*t].exact.iter().flatten().filter(|n| **n > 0).count();
            !self.tangled.contains(t) && cells <= rows
        };
        let fits = |family: &Vec<usize>| whole || family.iter().all(few);
        let met: BTreeSet<usize> = self.families().into_iter().filter(fits).flatten().collect();
        let stream = Stream::new(seed, Purpose::Exact, 0, 0);
        self.settle_all(stream, nodes, rows, whole, |t| met.contains(&t));
    }

    /// Meets again those that can all be met, if records have moved away from them in the meantime.
    pub(super) fn mend(&self, seed: u64, nodes: &mut Nodes, rows: usize) {
        let orderly = |t: usize| !self.tangled.contains(&t);
        let missed = |t: usize| {
            let of = &self.shape.tables[t];
            let counts = self.shape.count(&of.columns, nodes, rows);
            let unlike = |wanted: &Vec<u64>| counts.iter().zip(wanted).any(|(h, w)| u64::from(*h) != *w);
            of.exact.as_ref().is_some_and(unlike)
        };
        if self.order.iter().any(|&t| orderly(t) && missed(t)) {
            self.settle_all(Stream::new(seed, Purpose::Exact, 1, 0), nodes, rows, true, orderly);
        }
    }

    /// Settles some of the tables in their order; what others tell stays as it is.
    fn settle_all(
        &self,
        mut stream: Stream,
        nodes: &mut Nodes,
        rows: usize,
        whole: bool,
        met: impl Fn(usize) -> bool,
    ) {
        let mut settled = self.fixed();
        settled.extend(self.order.iter().filter(|t| !met(**t)).flat_map(|t| self.told(*t)));
        for &t in self.order.iter().filter(|t| met(**t)) {
            let told = self.told(t);
            if !told.is_subset(&settled) {
                self.settle(t, &settled, &mut stream, nodes, rows, whole);
                settled.extend(told);
            }
        }
    }

    /// Makes one table's counts right, group by group of cells that agree in what is settled.
    fn settle(
        &self,
        t: usize,
        settled: &BTreeSet<usize>,
        stream: &mut Stream,
        nodes: &mut Nodes,
        rows: usize,
        whole: bool,
    ) {
        let shape = self.shape;
        let of = &shape.tables[t];
        let Some(wanted) = &of.exact else { return };
        let strides = shape.strides(&of.columns);
        let node = |cell: usize, i: usize| (cell / strides[i] % shape.columns[of.columns[i]].size) as u32;
        let fixed: Vec<(usize, Vec<u32>)> = (0..of.columns.len())
            .filter_map(|i| Some((i, self.as_settled(of.columns[i], settled)?)))
            .collect();
        let group =
            |cell: usize| -> Vec<u32> { fixed.iter().map(|(i, to)| to[node(cell, *i) as usize]).collect() };
        let counts = shape.count(&of.columns, nodes, rows);
        let rounded = (!whole).then(|| rounded(wanted, &counts, &group, stream));
        let wanted = rounded.as_ref().unwrap_or(wanted);
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
        let mut order: Vec<u32> = (0..rows as u32).collect();
        stream.shuffle(&mut order);
        let own = |a: usize| of.columns.iter().any(|&c| shape.columns[c].attribute == a);
        let untouched =
            |a: &usize| !own(*a) && shape.attributes[*a].columns.iter().all(|c| !settled.contains(c));
        let free: Vec<usize> = (0..shape.attributes.len()).filter(untouched).collect();
        let mut still: Vec<bool> = vec![true; rows];
        // First those records that may go as they are; then with another attribute changed, where a cell would be closed.
        for others in [&[][..], &free] {
            for record in order.iter().map(|&record| record as usize) {
                let step = |(&c, stride): (&usize, &usize)| nodes[c][record] as usize * stride;
                let cell: usize = of.columns.iter().zip(&strides).map(step).sum();
                let list = lacking.get_mut(&group(cell)).filter(|list| !list.is_empty());
                let Some(list) = list.filter(|_| over[cell] > 0 && still[record]) else { continue };
                if place(shape, t, nodes, record, &node, list, others) {
                    over[cell] -= 1;
                    still[record] = false;
                }
            }
        }
    }

    /// For each node of a column what it is in the finest column of its attribute that is settled and that it tells; nothing where there is none.
    fn as_settled(&self, column: usize, settled: &BTreeSet<usize>) -> Option<Vec<u32>> {
        let of = &self.shape.columns[column];
        if settled.contains(&column) {
            return Some((0..of.size as u32).collect());
        }
        let own = &self.shape.attributes.get(of.attribute)?.columns;
        let above = *own.iter().skip_while(|&&c| c != column).find(|c| settled.contains(c))?;
        let mut out = vec![0; of.size];
        of.up.iter().zip(&self.shape.columns[above].up).for_each(|(&n, &up)| out[n as usize] = up);
        Some(out)
    }
}

/// A table for as many records as there are: those of each group are given out among its cells in proportion, and what is left to the largest remainders, of equal ones by lot.
fn rounded(
    wanted: &[u64],
    counts: &[u32],
    group: &dyn Fn(usize) -> Vec<u32>,
    stream: &mut Stream,
) -> Vec<u64> {
    let mut groups: BTreeMap<Vec<u32>, (u128, u128, Vec<usize>)> = BTreeMap::new();
    for (cell, (&want, &have)) in wanted.iter().zip(counts).enumerate() {
        let (sum, rows, cells) = groups.entry(group(cell)).or_default();
        *sum += u128::from(want);
        *rows += u128::from(have);
        cells.push(cell);
    }
    let mut out = vec![0; wanted.len()];
    for (sum, rows, mut cells) in groups.into_values().filter(|(sum, ..)| *sum > 0) {
        let share = |cell: usize| u128::from(wanted[cell]) * rows;
        cells.iter().for_each(|&cell| out[cell] = (share(cell) / sum) as u64);
        let left = cells.iter().map(|&cell| share(cell) % sum).sum::<u128>() / sum;
        stream.shuffle(&mut cells);
        cells.sort_by_key(|&cell| std::cmp::Reverse(share(cell) % sum));
        cells.iter().take(left as usize).for_each(|&cell| out[cell] += 1);
    }
    out
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
