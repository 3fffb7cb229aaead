//! The rows of a SELECT as linear queries of the cells of a table.
//!
//! A row's figure is `Σ coefficient · Σ_cells weight(cell)` over its aggregates. Rows that the levels cannot tell apart (same shape of the
//! trees, same classes of the conditions) have the same error under every plan, so only one of each kind is written down, and over axes
//! on which all that it does not tell apart is lumped.

pub(super) mod product;

use super::{Asks, Table};
use crate::cube::{Axis, Cube, Cuboid, Frame, Level, odometer, required_level};
use crate::sql::{Aggregate, Present, Query, SelectColumn, SqlError};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The most rows of a query times the nodes that they tell apart.
const MOST_WORK: f64 = (1u64 << 26) as f64;

/// A SELECT of counts and sums.
#[derive(Debug, Clone)]
pub struct Selected {
    /// The coarsest table whose cells tell all that it asks.
    pub cuboid: Cuboid,
    /// The levels that its rows are groups of.
    pub group_by: Vec<Level>,
    /// Weighted counts of cells.
    pub aggregates: Vec<Aggregate>,
    /// For each figure the aggregates that it adds up.
    pub figures: Vec<Vec<(usize, f64)>>,
    /// Of queries with bands: for each figure the aggregate that counts the units of its row. Where that is of none, there is no such row.
    pub rows: Vec<usize>,
}

/// Why a SELECT cannot be part of a workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectedError {
    /// It cannot be read.
    #[error("{0}")]
    Sql(SqlError),
    /// A share, a mean, a product.
    #[error("`{0}` is not linear: a plan weighs counts, sums, and their sums and differences")]
    NotLinear(String),
    /// Which rows are shown depends on the data.
    #[error("`HAVING`, `LIMIT` and `OFFSET` show some of the rows, and a plan is made for all")]
    Limit,
    /// Rows of several sets of groups.
    #[error("`ROLLUP`, `CUBE` and `GROUPING SETS` are several questions: write one for each set of groups")]
    Sets,
    /// Nothing depends on the data.
    #[error("no unit is in any of its rows")]
    Nothing,
    /// Too much to plan for.
    #[error("it tells too many rows and cells apart to plan for")]
    TooIntricate,
}

/// Rows of one kind, each of them a query over the cells of the table of a (lumped) frame.
pub struct Kind {
    /// How many rows there are of it.
    pub count: f64,
    /// The axes.
    pub frame: Frame,
    /// For each figure that weighs any of them a weight for each cell; the last dimension fastest.
    pub queries: Vec<Vec<f64>>,
}

/// One dimension of the table: for every aggregate the class of each node, and the group of each node.
struct Side {
    dim: usize,
    level: usize,
    /// `class_of[aggregate][node]`.
    class_of: Vec<Vec<u32>>,
    /// What all aggregates together tell apart.
    colour: Vec<u32>,
    /// For each node its group, and where the dimension stands in GROUP BY.
    group: Option<(usize, Vec<u32>)>,
}

/// A node of an axis that stands for all that are like it.
type Lumps = Vec<(u32, bool)>;

impl Selected {
    /// Reads a SELECT over a cube.
    pub fn new(cube: &Cube, text: &str) -> Result<Selected, SelectedError> {
        let query = Query::parse(text, cube).map_err(SelectedError::Sql)?;
        if query.limit.is_some() || query.offset > 0 || query.having.is_some() {
            return Err(SelectedError::Limit);
        }
        if query.sets.len() > 1 {
            return Err(SelectedError::Sets);
        }
        let mut aggregates = query.aggregates.clone();
        let mut figures = Vec::new();
        for column in &query.columns {
            match column {
                SelectColumn::Group { .. } | SelectColumn::Band { .. } | SelectColumn::Grouping { .. } => {}
                SelectColumn::Quantile { name, .. } | SelectColumn::Rank { name, .. } => {
                    return Err(SelectedError::NotLinear(name.clone()));
                }
                SelectColumn::Count { .. } => {
                    figures.push(vec![(aggregates.len(), 1.0)]);
                    aggregates.push(Aggregate::rows(query.filter.clone(), None));
                }
                SelectColumn::Figure { name, expr } => {
                    let linear = expr.ratio().filter(|(_, below)| below.terms.is_empty());
                    let (above, _) = linear.ok_or_else(|| SelectedError::NotLinear(name.clone()))?;
                    figures.push(above.terms);
                }
            }
        }
        // What is asked of each combination of bands are figures of their own, and each must say which rows it has.
        let row = Aggregate::rows(query.filter.clone(), None);
        let row_at = aggregates.iter().position(|a| *a == row).unwrap_or(aggregates.len());
        if row_at == aggregates.len() && !query.bands.is_empty() {
            aggregates.push(row);
        }
        let portions = query.portions(&aggregates).map_err(|e| SelectedError::Sql(e.into()))?;
        let width = aggregates.len();
        let of_portion = |at: usize| {
            let moved = move |&(a, c): &(usize, f64)| (at * width + a, c);
            figures.iter().map(move |terms: &Vec<(usize, f64)>| terms.iter().map(moved).collect())
        };
        let mut selected = Selected {
            cuboid: Cuboid::total(),
            figures: (0..portions.len()).flat_map(of_portion).collect(),
            rows: match query.bands.is_empty() {
                true => Vec::new(),
                false => {
                    (0..portions.len() * figures.len()).map(|f| f / figures.len() * width + row_at).collect()
                }
            },
            aggregates: portions.into_iter().flat_map(|p| p.aggregates).collect(),
            group_by: query.group_by,
        };
        let weighs = |terms: &Vec<(usize, f64)>| {
            terms
                .iter()
                .any(|&(a, c)| c != 0.0 && selected.aggregates.get(a).is_some_and(|a| !a.filter.is_nothing()))
        };
        if !selected.figures.iter().any(weighs) {
            return Err(SelectedError::Nothing);
        }
        selected.cuboid = selected.table(cube);
        if selected.work(cube) > MOST_WORK {
            return Err(SelectedError::TooIntricate);
        }
        Ok(selected)
    }

    /// A count in each group.
    pub(crate) fn of_count(cube: &Cube, aggregate: Aggregate, group_by: Vec<Level>) -> Selected {
        let (aggregates, figures) = (vec![aggregate], vec![vec![(0, 1.0)]]);
        let mut selected =
            Selected { cuboid: Cuboid::total(), group_by, aggregates, figures, rows: Vec::new() };
        selected.cuboid = selected.table(cube);
        selected
    }

    /// What is asked of a table of a workload, where that is a SELECT: over the cells of that table.
    pub fn of(cube: &Cube, table: &Table) -> Option<Selected> {
        let Asks::Query(text) = &table.asks else { return None };
        let mut selected = Selected::new(cube, text).ok()?;
        // Levels may have been put between those that the table was chosen among.
        let holds = selected.cuboid.is_below(&table.cuboid);
        selected.cuboid = table.cuboid.clone();
        holds.then_some(selected)
    }

    /// The level that each aggregate needs of each dimension, the finest of them.
    fn table(&self, cube: &Cube) -> Cuboid {
        let mut pairs = Vec::new();
        for aggregate in &self.aggregates {
            let mut levels: BTreeMap<usize, usize> = BTreeMap::new();
            for (i, at) in self.group_by.iter().enumerate() {
                if aggregate.keeps(i) {
                    levels.insert(at.dimension, at.level);
                }
            }
            for c in &aggregate.filter.dims {
                let group = levels.get(&c.dim).copied().unwrap_or(0);
                levels.insert(c.dim, required_level(cube, c.dim, &c.class_of, group));
            }
            pairs.extend(levels);
        }
        Cuboid::new(pairs)
    }

    /// A bound of the rows that differ, times the nodes of their axes.
    fn work(&self, cube: &Cube) -> f64 {
        let sides = self.sides(cube);
        let of = |s: &Side| {
            let nodes = s.colour.len() as f64;
            let colours = f64::from(s.colour.iter().max().map_or(0, |m| m + 1));
            let groups =
                s.group.as_ref().map_or(1.0, |(_, g)| f64::from(g.iter().max().map_or(0, |m| m + 1)));
            // A group is looked at node by node; rows that differ come from groups of different colours.
            let kinds = if colours > 1.0 { groups } else { 1.0 };
            (groups * nodes, kinds * (colours + 2.0))
        };
        let parts: Vec<(f64, f64)> = sides.iter().map(of).collect();
        let look: f64 = parts.iter().map(|p| p.0).sum();
        let written: f64 = parts.iter().map(|p| p.1).product();
        let terms: usize = self.figures.iter().map(|f| f.len() + 1).sum();
        look.max(written * terms as f64 * libm::exp2(sides.len() as f64))
    }

    /// How many queries it is at most: a figure in a row.
    pub fn queries(&self, cube: &Cube) -> f64 {
        let nodes = |level: &Level| level.of(cube).len() as f64;
        self.figures.len() as f64 * self.group_by.iter().map(nodes).product::<f64>()
    }

    fn sides(&self, cube: &Cube) -> Vec<Side> {
        let side = |Level { dimension: dim, level }: Level| {
            let d = &cube.dimensions[dim];
            let nodes = d.levels[level].len();
            let up = d.ancestors(d.finest(), level);
            let mut colour = vec![0u32; nodes];
            let mut class_of = Vec::with_capacity(self.aggregates.len());
            for aggregate in &self.aggregates {
                // A class is the same for all finest nodes below a node of the level: any of them tells it.
                let mut own = vec![0u32; nodes];
                if let Some(c) = aggregate.filter.classes(dim) {
                    up.iter().zip(c.class_of.iter()).for_each(|(&node, &class)| own[node as usize] = class);
                }
                let mut known = FxHashMap::default();
                for (colour, own) in colour.iter_mut().zip(&own) {
                    let next = known.len() as u32;
                    *colour = *known.entry((*colour, *own)).or_insert(next);
                }
                class_of.push(own);
            }
            let at = self.group_by.iter().position(|g| g.dimension == dim && g.level <= level);
            let group = at.and_then(|i| Some((i, d.ancestors(level, self.group_by.get(i)?.level))));
            Side { dim, level, class_of, colour, group }
        };
        self.cuboid.iter().map(side).collect()
    }

    /// The kinds of its rows, over axes on which all that a row does not tell apart is one node. The frame must have the levels of its table.
    pub fn kinds(&self, cube: &Cube, frame: &Frame) -> Vec<Kind> {
        let rest: Vec<Axis> = frame.axes.iter().map(|a| a.lump(0, &[0]).0).collect();
        let sides = self.sides(cube);
        let choices: Vec<Vec<(f64, Axis, Lumps)>> =
            sides.iter().map(|side| kinds_of_groups(side, &frame.axes[side.dim])).collect();
        let mut pick = vec![0u32; sides.len()];
        let mut out = Vec::new();
        loop {
            let mut lumped = Frame { axes: rest.clone() };
            let mut count = 1.0;
            let mut lumps = Vec::with_capacity(sides.len());
            for ((side, choices), &p) in sides.iter().zip(&choices).zip(&pick) {
                let (copies, axis, own) = &choices[p as usize];
                count *= copies;
                lumped.axes[side.dim] = axis.clone();
                lumps.push(own);
            }
            out.push(Kind { count, frame: lumped, queries: self.row(&sides, &lumps).collect() });
            if !odometer::next(&mut pick, |i| choices[i].len()) {
                break;
            }
        }
        // Groups of dimensions that no column tells apart are rows all the same.
        let missing = |at: &Level| match sides.iter().any(|s| s.dim == at.dimension && s.group.is_some()) {
            true => 1.0,
            false => at.of(cube).len() as f64,
        };
        let times: f64 = self.group_by.iter().map(missing).product();
        out.iter_mut().for_each(|k| k.count *= times);
        out
    }

    /// Every row of every figure that weighs any cell, over all cells of the table of a whole frame.
    pub fn each(&self, cube: &Cube, visit: &mut dyn FnMut(Vec<f64>)) {
        let sides = self.sides(cube);
        let sizes: Vec<usize> = self.group_by.iter().map(|level| level.of(cube).len()).collect();
        let mut row = vec![0u32; sizes.len()];
        loop {
            let lumps: Vec<Lumps> = sides
                .iter()
                .map(|side| {
                    let inside = |node: usize| side.group.as_ref().is_none_or(|(i, of)| of[node] == row[*i]);
                    (0..side.colour.len()).map(|node| (node as u32, inside(node))).collect()
                })
                .collect();
            let lumps: Vec<&Lumps> = lumps.iter().collect();
            self.row(&sides, &lumps).for_each(&mut *visit);
            if !odometer::next(&mut row, |i| sizes[i]) {
                break;
            }
        }
    }

    /// The figures of one row that are of anything: a group that its condition leaves nothing of, or a band that it does not meet, is no row
    /// of the answer.
    fn row<'a>(&'a self, sides: &'a [Side], lumps: &'a [&'a Lumps]) -> impl Iterator<Item = Vec<f64>> + 'a {
        let weighs = |query: &Vec<f64>| query.iter().any(|w| *w != 0.0);
        let figures = self.figures.iter().enumerate();
        let there = move |&(at, _): &(usize, _)| {
            self.rows.get(at).is_none_or(|&a| weighs(&self.query(&[(a, 1.0)], sides, lumps)))
        };
        figures.filter(there).map(move |(_, figure)| self.query(figure, sides, lumps)).filter(weighs)
    }

    /// Whether a figure has a row of the group with these nodes.
    pub fn has_row(&self, cube: &Cube, figure: usize, nodes: &[u32]) -> bool {
        let of = self.rows.get(figure).and_then(|&a| self.aggregates.get(a));
        of.is_none_or(|row| Present::new(&row.filter, &self.group_by, cube).holds(nodes))
    }

    /// The weights of the cells over some nodes of each dimension, each with whether it is in the row's group.
    fn query(&self, figure: &[(usize, f64)], sides: &[Side], lumps: &[&Lumps]) -> Vec<f64> {
        let cells: usize = lumps.iter().map(|l| l.len()).product();
        let mut out = vec![0.0; cells];
        for &(a, coefficient) in figure {
            let Some(aggregate) = self.aggregates.get(a) else { continue };
            // Where the weight of each cell lies; nowhere outside of the row's groups.
            let mut at: Vec<Option<usize>> = vec![Some(0)];
            for (side, lumps) in sides.iter().zip(lumps) {
                let classes = aggregate.filter.classes(side.dim).map_or(1, |c| c.classes as usize);
                let kept = side.group.as_ref().is_some_and(|(i, _)| aggregate.keeps(*i));
                let one = |&(node, inside): &(u32, bool)| {
                    let class = if classes == 1 { 0 } else { side.class_of[a][node as usize] as usize };
                    (inside || !kept).then_some(class)
                };
                at = at
                    .iter()
                    .flat_map(|&before| lumps.iter().map(move |l| Some(before? * classes + one(l)?)))
                    .collect();
            }
            for (sum, at) in out.iter_mut().zip(at) {
                *sum += coefficient * at.and_then(|at| aggregate.filter.weights.get(at)).unwrap_or(&0.0);
            }
        }
        out
    }
}

/// The kinds of groups along one axis: how many groups are of it, the axis with all lumped that such a group does not tell apart, and one node
/// of each lump of the table's level.
fn kinds_of_groups(side: &Side, axis: &Axis) -> Vec<(f64, Axis, Lumps)> {
    let at = axis.rung(side.level).unwrap_or(0);
    let Some((_, group_of)) = &side.group else {
        let (axis, lumps) = lumped(axis, at, &side.colour, &[]);
        return vec![(1.0, axis, lumps)];
    };
    let groups = group_of.iter().max().map_or(0, |m| m + 1);
    let mut shapes = FxHashMap::default();
    let mut seen: FxHashMap<u32, usize> = FxHashMap::default();
    let mut out: Vec<(f64, Axis, Lumps)> = Vec::new();
    for group in 0..groups {
        let inside: Vec<bool> = group_of.iter().map(|&g| g == group).collect();
        let shape = shape(axis, at, &side.colour, &inside, &mut shapes);
        match seen.get(&shape).and_then(|&known| out.get_mut(known)) {
            Some(known) => known.0 += 1.0,
            None => {
                seen.insert(shape, out.len());
                let (axis, lumps) = lumped(axis, at, &side.colour, &inside);
                out.push((1.0, axis, lumps));
            }
        }
    }
    out
}

fn lumped(axis: &Axis, at: usize, colour: &[u32], inside: &[bool]) -> (Axis, Lumps) {
    let is_in = |node: usize| inside.get(node).copied().unwrap_or(true);
    let own: Vec<u32> = colour.iter().enumerate().map(|(n, &c)| 2 * c + u32::from(is_in(n))).collect();
    let (small, lump_of) = axis.lump(at, &own);
    let mut first = vec![None; small.rungs[at].len()];
    for (node, &lump) in lump_of[at].iter().enumerate() {
        first[lump as usize].get_or_insert((node as u32, is_in(node)));
    }
    (small, first.into_iter().map(|f| f.unwrap_or((0, false))).collect())
}

/// The number of the shape of the whole tree, coloured: equal for groups that symmetries of the tree turn into each other.
fn shape(
    axis: &Axis,
    at: usize,
    colour: &[u32],
    inside: &[bool],
    known: &mut FxHashMap<(u32, Vec<u32>), u32>,
) -> u32 {
    let mut number = |key: (u32, Vec<u32>)| {
        let next = known.len() as u32;
        *known.entry(key).or_insert(next)
    };
    let top = axis.rungs.len() - 1;
    let mut below: Vec<u32> = Vec::new();
    for r in (0..=top).rev() {
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); axis.rungs[r].len()];
        if r < top {
            for (node, &p) in axis.rungs[r + 1].parent.iter().enumerate() {
                children[p as usize].push(below[node]);
            }
        }
        let own = |node: usize| if r == at { 1 + 2 * colour[node] + u32::from(inside[node]) } else { 0 };
        below = children
            .into_iter()
            .enumerate()
            .map(|(node, mut c)| {
                c.sort_unstable();
                number((own(node), c))
            })
            .collect();
    }
    below.first().copied().unwrap_or(0)
}
