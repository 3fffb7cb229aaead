//! What records are fitted to, with nothing of a release left in it: columns of nodes, tables of them, and cells that are never drawn.

use super::share;
use std::borrow::Cow;

/// A dimension of the records.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// Its levels that some table has, as places in [`Shape::columns`]; the first is the finest, whose nodes are drawn.
    pub columns: Vec<usize>,
}

/// An attribute at one of its levels.
#[derive(Debug, Clone)]
pub struct Column {
    /// Which of [`Shape::attributes`].
    pub attribute: usize,
    /// How many nodes it has.
    pub size: usize,
    /// For each node of the attribute's finest column the node here that contains it.
    pub up: Vec<u32>,
}

/// A table that records are to have.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its columns, no two of one attribute.
    pub columns: Vec<usize>,
    /// What its cells are to count, the last column quickest.
    pub estimates: Vec<f32>,
    /// The standard error of a cell: of cells that differ, the root of the mean of their squares.
    pub error: f32,
    /// The counts, where they are known exactly and are to be met.
    pub exact: Option<Vec<u64>>,
    /// Whether it was asked for when the release was made; the others only follow from those that were.
    pub asked: bool,
}

/// Cells that no record is in.
#[derive(Debug, Clone)]
pub struct Closed {
    /// The columns that tell them apart.
    pub columns: Vec<usize>,
    /// Of each cell whether it is closed, the last column quickest.
    pub cells: Vec<bool>,
}

/// All of it.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    /// The attributes.
    pub attributes: Vec<Attribute>,
    /// Their levels.
    pub columns: Vec<Column>,
    /// The tables: those of fewer columns first.
    pub tables: Vec<Target>,
    /// What is never drawn.
    pub closed: Vec<Closed>,
    /// What all records together stand for.
    pub total: f64,
}

/// The records: for each of [`Shape::columns`] the node of each record.
pub(super) type Nodes = Vec<Vec<u32>>;

impl Shape {
    pub(super) fn sizes<'a>(&'a self, columns: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
        columns.iter().map(|&c| self.columns[c].size)
    }

    /// Of each cell of a table or of closed cells the step of each column.
    pub(super) fn strides(&self, columns: &[usize]) -> Vec<usize> {
        let mut strides = vec![1; columns.len()];
        for i in (0..columns.len().saturating_sub(1)).rev() {
            strides[i] = strides[i + 1] * self.columns[columns[i + 1]].size;
        }
        strides
    }

    /// The cell of each record.
    pub(super) fn cells<'a>(
        &self,
        columns: &[usize],
        nodes: &'a Nodes,
        rows: usize,
    ) -> impl Iterator<Item = usize> + 'a {
        let strides = self.strides(columns);
        let of: Vec<(&'a [u32], usize)> =
            columns.iter().zip(strides).map(|(&c, s)| (&nodes[c][..], s)).collect();
        (0..rows).map(move |r| of.iter().map(|(nodes, stride)| nodes[r] as usize * stride).sum())
    }

    /// How many numbers a record's attributes are drawn from, in all tables.
    pub(super) fn work(&self) -> f64 {
        self.tables.iter().flat_map(|t| self.sizes(&t.columns)).map(|n| n as f64).sum()
    }

    /// The records' own table.
    pub(super) fn count(&self, columns: &[usize], nodes: &Nodes, rows: usize) -> Vec<u32> {
        let mut counts = vec![0; self.sizes(columns).product()];
        self.cells(columns, nodes, rows).for_each(|cell| counts[cell] += 1);
        counts
    }

    /// Writes an attribute's coarser columns after its finest has changed.
    pub(super) fn roll_up(&self, attribute: usize, nodes: &mut Nodes) {
        let (finest, coarser) = match &self.attributes[attribute].columns[..] {
            [finest, coarser @ ..] => (*finest, coarser),
            [] => return,
        };
        let own = std::mem::take(&mut nodes[finest]);
        for &c in coarser {
            nodes[c].iter_mut().zip(&own).for_each(|(to, &from)| *to = self.columns[c].up[from as usize]);
        }
        nodes[finest] = own;
    }
}

/// Numbers of cells, seen from one attribute: its nodes lie side by side.
pub(super) struct View<'a> {
    /// Which of the attribute's columns.
    pub level: usize,
    pub size: usize,
    /// The other columns with their steps.
    others: Vec<(usize, usize)>,
    pub values: Cow<'a, [f32]>,
}

impl<'a> View<'a> {
    fn of(
        shape: &Shape,
        columns: &[usize],
        position: usize,
        level: usize,
        values: Cow<'a, [f32]>,
    ) -> View<'a> {
        let strides = shape.strides(columns);
        let (inner, size) = (strides[position], shape.columns[columns[position]].size);
        let step = |(i, &c): (usize, &usize)| (c, if i < position { strides[i] } else { strides[i] * size });
        let others = columns.iter().enumerate().filter(|(i, _)| *i != position).map(step).collect();
        let values = if inner == 1 {
            values
        } else {
            let mut turned = vec![0.0; values.len()];
            for (from, to) in values.chunks_exact(inner * size).zip(turned.chunks_exact_mut(inner * size)) {
                // In small squares, so that both sides stay near.
                for (at, to) in to.chunks_mut(16 * size).enumerate() {
                    for (v, from) in from.chunks_exact(inner).enumerate() {
                        let from = &from[at * 16..];
                        to.chunks_exact_mut(size).zip(from).for_each(|(to, x)| to[v] = *x);
                    }
                }
            }
            Cow::Owned(turned)
        };
        View { level, size, others, values }
    }

    /// Where the numbers of a record begin.
    pub fn place(&self, nodes: &Nodes, row: usize) -> usize {
        self.others.iter().map(|&(c, step)| nodes[c][row] as usize * step).sum()
    }
}

/// What keeps a cell empty, as if it were a number.
pub(super) const NEVER: f32 = -1e30;

/// What is closed, as numbers: 0, or [`NEVER`].
pub(super) fn barred(shape: &Shape) -> Vec<Vec<f32>> {
    let one = |c: &Closed| c.cells.iter().map(|&closed| if closed { NEVER } else { 0.0 }).collect();
    shape.closed.iter().map(one).collect()
}

/// All numbers of the tables that have an attribute, and the bars, seen from it. The first are those of tables, with their places.
pub(super) fn views<'a>(
    shape: &Shape,
    attribute: usize,
    numbers: &(dyn Fn(usize) -> Cow<'a, [f32]> + Sync),
    bars: &'a [Vec<f32>],
    threads: usize,
) -> (Vec<usize>, Vec<View<'a>>) {
    let own = &shape.attributes[attribute].columns;
    let has = |columns: &[usize]| {
        columns.iter().enumerate().find_map(|(i, c)| Some((i, own.iter().position(|o| o == c)?)))
    };
    let of_tables = shape.tables.iter().enumerate().filter_map(|(t, of)| Some((t, has(&of.columns)?)));
    let of_tables: Vec<(usize, (usize, usize))> = of_tables.collect();
    let mut made: Vec<Option<View<'a>>> = of_tables.iter().map(|_| None).collect();
    share::each(threads, of_tables.iter().zip(&mut made), |((t, (i, level)), to)| {
        *to = Some(View::of(shape, &shape.tables[*t].columns, *i, *level, numbers(*t)));
    });
    let mut views: Vec<View<'a>> = made.into_iter().flatten().collect();
    for (closed, bar) in shape.closed.iter().zip(bars) {
        if let Some((i, level)) = has(&closed.columns) {
            views.push(View::of(shape, &closed.columns, i, level, Cow::Borrowed(bar)));
        }
    }
    (of_tables.into_iter().map(|(t, _)| t).collect(), views)
}

/// Adds up what the views say of each node of each of some records: into `sums`, one row of all nodes a record for each of the attribute's columns.
pub(super) fn add_up(
    views: &[View],
    nodes: &Nodes,
    rows: impl Iterator<Item = usize> + Clone,
    sums: &mut [Vec<f32>],
) {
    sums.iter_mut().for_each(|s| s.fill(0.0));
    for view in views {
        for (to, row) in sums[view.level].chunks_exact_mut(view.size).zip(rows.clone()) {
            let at = view.place(nodes, row);
            to.iter_mut().zip(&view.values[at..at + view.size]).for_each(|(to, x)| *to += *x);
        }
    }
}
