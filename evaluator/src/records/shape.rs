//! What records are fitted to, with nothing of a release left in it: columns of nodes, tables of them, and cells that are never drawn.

use super::share;
use std::ops::Range;

/// A dimension of the records.
#[derive(Debug, Clone)]
pub(crate) struct Attribute {
    /// Its levels that some table has, as places in [`Shape::columns`]; the first is the finest, whose nodes are drawn.
    pub columns: Vec<usize>,
}

/// An attribute at one of its levels.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// Which of [`Shape::attributes`].
    pub attribute: usize,
    /// How many nodes it has.
    pub size: usize,
    /// For each node of the attribute's finest column the node here that contains it.
    pub up: Vec<u32>,
}

/// A table that records are to have.
#[derive(Debug, Clone)]
pub(crate) struct Target {
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
pub(crate) struct Closed {
    /// The columns that tell them apart.
    pub columns: Vec<usize>,
    /// Of each cell whether it is closed, the last column quickest.
    pub cells: Vec<bool>,
}

/// All of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
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
        match *columns {
            [only] => {
                for &node in &nodes[only][..rows] {
                    counts[node as usize] += 1;
                }
            }
            [one, other] => {
                let (one, other, size) =
                    (&nodes[one][..rows], &nodes[other][..rows], self.columns[other].size);
                for r in 0..rows {
                    counts[one[r] as usize * size + other[r] as usize] += 1;
                }
            }
            _ => {
                for cell in self.cells(columns, nodes, rows) {
                    counts[cell] += 1;
                }
            }
        }
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

/// Numbers are added so many at a time: the nodes of an attribute fill up to a whole number of these.
pub(super) type Lanes = [f32; 4];

/// So many numbers, filled up.
pub(super) fn padded(size: usize) -> usize {
    size.next_multiple_of(std::mem::size_of::<Lanes>() / 4)
}

/// Numbers of cells, seen from one attribute: its nodes lie side by side, filled up with zeros.
pub(super) struct View {
    /// Which of the attribute's columns.
    pub level: usize,
    /// How many nodes, filled up.
    size: usize,
    /// The other columns with their steps.
    pub others: Vec<(usize, usize)>,
    pub values: Vec<f32>,
}

impl View {
    fn of(
        shape: &Shape,
        columns: &[usize],
        position: usize,
        level: usize,
        numbers: &[f32],
        weight: f32,
    ) -> View {
        let strides = shape.strides(columns);
        let (inner, own) = (strides[position], shape.columns[columns[position]].size);
        let size = padded(own);
        let step = |(i, &c): (usize, &usize)| {
            (c, if i < position { strides[i] / own * size } else { strides[i] * size })
        };
        let others = columns.iter().enumerate().filter(|(i, _)| *i != position).map(step).collect();
        let mut values = vec![0.0; numbers.len() / own * size];
        for (from, to) in numbers.chunks_exact(inner * own).zip(values.chunks_exact_mut(inner * size)) {
            // In small squares, so that both sides stay near.
            for (at, to) in to.chunks_mut(16 * size).enumerate() {
                for (v, from) in from.chunks_exact(inner).enumerate() {
                    let from = &from[at * 16..];
                    to.chunks_exact_mut(size).zip(from).for_each(|(to, x)| to[v] = *x * weight);
                }
            }
        }
        View { level, size, others, values }
    }

    /// Where the numbers of a record begin.
    pub(super) fn place(&self, nodes: &Nodes, row: usize) -> usize {
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

/// The numbers of the tables that have an attribute, each times its table's weight, and the bars, seen from it. The first are those of tables, with their places.
pub(super) fn views(
    shape: &Shape,
    attribute: usize,
    numbers: &[Vec<f32>],
    weights: &[f32],
    bars: &[Vec<f32>],
    threads: usize,
) -> (Vec<usize>, Vec<View>) {
    let own = &shape.attributes[attribute].columns;
    let has = |columns: &[usize]| {
        columns.iter().enumerate().find_map(|(i, c)| Some((i, own.iter().position(|o| o == c)?)))
    };
    let tables = shape.tables.iter().enumerate();
    let tables =
        tables.filter_map(|(t, of)| Some((&of.columns, has(&of.columns)?, &numbers[t], weights[t], Some(t))));
    let closed = shape.closed.iter().zip(bars);
    let closed = closed.filter_map(|(of, bar)| Some((&of.columns, has(&of.columns)?, bar, 1.0, None)));
    let all: Vec<_> = tables.chain(closed).collect();
    let mut made: Vec<Option<View>> = all.iter().map(|_| None).collect();
    share::each(threads, all.iter().zip(&mut made), |((columns, (i, level), numbers, weight, _), to)| {
        *to = Some(View::of(shape, columns, *i, *level, numbers, *weight));
    });
    (all.iter().filter_map(|(.., t)| *t).collect(), made.into_iter().flatten().collect())
}

/// What is added up for some records: of each of an attribute's columns a row of all nodes a record, filled up with what is never drawn.
pub(super) struct Sums {
    empty: Vec<Vec<f32>>,
    pub of: Vec<Vec<f32>>,
}

impl Sums {
    /// For an attribute and at most so many records.
    pub(super) fn new(shape: &Shape, attribute: usize, records: usize) -> Sums {
        let one = |size: usize| {
            let row = |_| (0..padded(size)).map(|n| if n < size { 0.0 } else { NEVER });
            (0..records).flat_map(row).collect()
        };
        let empty: Vec<Vec<f32>> = shape.sizes(&shape.attributes[attribute].columns).map(one).collect();
        Sums { of: empty.clone(), empty }
    }

    /// Adds up what the views say of each node, given the other attributes of the records.
    pub(super) fn add_up(
        &mut self,
        views: &[View],
        nodes: &Nodes,
        records: impl Iterator<Item = usize> + Clone,
    ) {
        self.of.iter_mut().zip(&self.empty).for_each(|(to, from)| to.copy_from_slice(from));
        for view in views {
            let to = self.of[view.level].chunks_exact_mut(view.size).zip(records.clone());
            match view.others[..] {
                [(c, step)] => {
                    let nodes = &nodes[c][..];
                    to.for_each(|(to, r)| add(to, &view.values[nodes[r] as usize * step..]));
                }
                _ => to.for_each(|(to, r)| add(to, &view.values[view.place(nodes, r)..])),
            }
        }
    }
}

/// Adds up what the views say of each node of an attribute, and hands it over record by record.
pub(super) fn scored(
    shape: &Shape,
    attribute: usize,
    views: &[View],
    nodes: &Nodes,
    records: Range<usize>,
    mut then: impl FnMut(usize, &mut [f32]),
) {
    let own = &shape.attributes[attribute].columns;
    let sizes: Vec<usize> = shape.sizes(own).map(padded).collect();
    let piece = piece(sizes[0]).min(records.len());
    let mut sums = Sums::new(shape, attribute, piece);
    for first in records.clone().step_by(piece.max(1)) {
        let some = first..(first + piece).min(records.end);
        sums.add_up(views, nodes, some.clone());
        let (fine, coarse) = sums.of.split_at_mut(1);
        for ((i, record), scores) in some.enumerate().zip(fine[0].chunks_exact_mut(sizes[0])) {
            for ((coarse, &c), &n) in coarse.iter().zip(&own[1..]).zip(&sizes[1..]) {
                let (coarse, up) = (&coarse[i * n..(i + 1) * n], &shape.columns[c].up);
                scores.iter_mut().zip(up).for_each(|(s, &up)| *s += coarse[up as usize]);
            }
            then(record - records.start, scores);
        }
    }
}

/// So many records at once that what is added up for them, of so many nodes each, stays near.
pub(super) fn piece(size: usize) -> usize {
    ((1 << 13) / size.max(1)).clamp(16, 512)
}

/// A view as it is looked at for one record after the other.
pub(super) struct Look<'a> {
    values: &'a [f32],
    /// The nodes of the other columns with their steps.
    others: Vec<(&'a [u32], usize)>,
}

impl<'a> Look<'a> {
    pub(super) fn all(views: &'a [View], nodes: &'a Nodes) -> Vec<Look<'a>> {
        let others = |view: &'a View| view.others.iter().map(|&(c, step)| (&nodes[c][..], step)).collect();
        views.iter().map(|view| Look { values: &view.values, others: others(view) }).collect()
    }

    #[inline(always)]
    fn place(&self, record: usize) -> usize {
        match self.others[..] {
            [(nodes, step)] => nodes[record] as usize * step,
            _ => self.others.iter().map(|(nodes, step)| nodes[record] as usize * step).sum(),
        }
    }
}

/// What is added up for one record of an attribute with one level and few nodes, without a way through memory; in the order of [`Sums::add_up`], so that
/// the sums are the same.
#[inline(always)]
pub(super) fn few<const N: usize>(looks: &[Look], record: usize, empty: &[Lanes; N]) -> [Lanes; N] {
    let mut sums = *empty;
    for look in looks {
        let (row, _) = look.values[look.place(record)..].as_chunks::<4>();
        let row = &row[..N];
        for lane in 0..N {
            for i in 0..4 {
                sums[lane][i] += row[lane][i];
            }
        }
    }
    sums
}

/// What is there before anything is added: closed where there are no nodes.
pub(super) fn nothing<const N: usize>(size: usize) -> [Lanes; N] {
    std::array::from_fn(|lane| std::array::from_fn(|i| if lane * 4 + i < size { 0.0 } else { NEVER }))
}

/// Adds numbers to as many. Four are read before four are written: else they are added one by one, as the ones might lie among the others.
#[inline(always)]
fn add(to: &mut [f32], from: &[f32]) {
    for (to, from) in to.as_chunks_mut::<4>().0.iter_mut().zip(from.as_chunks::<4>().0) {
        let (a, b) = (*to, *from);
        *to = [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]];
    }
}
