//! One aggregate: the coarsest table whose cells it can tell apart, and what to add up of it.

use super::Evaluator;
use super::suggestion::suggestion;
use crate::answer::error::AnswerError;
use crate::cube::{Cuboid, Filter, Level, one_class};
use crate::recover::Source;
use crate::sql::Aggregate;
use std::collections::BTreeSet;

/// What one dimension contributes to one aggregate.
pub(super) struct Reach {
    pub(super) dim: usize,
    /// The level of the table it is estimated from.
    pub(super) level: usize,
    /// For each of its nodes the class of the filter.
    pub(super) class_of: Vec<u32>,
    pub(super) classes: usize,
    /// Where the level it is grouped by stands in GROUP BY, if it is.
    pub(super) group: Option<usize>,
    /// For each node the group it belongs to (0 without grouping).
    pub(super) group_of: Vec<u32>,
    /// For each node which of all it is, where these are not all: sums go along in that order.
    pub(super) nodes: Vec<u32>,
}

/// One aggregate: a table and what to add up of it.
pub(crate) struct Part<'a> {
    pub(super) filter: &'a Filter,
    pub(super) cuboid: Cuboid,
    pub(super) reaches: Vec<Reach>,
}

impl<'a> Part<'a> {
    /// The same with groups numbered among a few.
    pub(super) fn among(&self, few: &Few) -> Part<'a> {
        let own = |r: &Reach| {
            let number = |&group: &u32| match r.group {
                Some(i) => few.place(i, group).map_or(NOBODYS, |at| at as u32),
                None => group,
            };
            Reach {
                class_of: r.class_of.clone(),
                group_of: r.group_of.iter().map(number).collect(),
                nodes: r.nodes.clone(),
                ..*r
            }
        };
        Part {
            filter: self.filter,
            cuboid: self.cuboid.clone(),
            reaches: self.reaches.iter().map(own).collect(),
        }
    }

    /// For each class of a dimension whether any cell in it has a weight, whatever the other dimensions say.
    pub(super) fn used(&self, at: usize) -> Vec<bool> {
        match self.filter.classes(self.reaches[at].dim) {
            Some(own) => self.filter.weighing(own),
            None => vec![!self.filter.is_nothing()],
        }
    }

    /// The filter's weight of each lump of the part's table, 0 outside of a group. `lumps` gives for a dimension one
    /// node of each lump and whether it is inside.
    pub(super) fn query(&self, lumps: impl Fn(&Reach) -> Option<Vec<(u32, bool)>>) -> Vec<f64> {
        let mut query = vec![Some(0usize)];
        for reach in &self.reaches {
            let Some(lumps) = lumps(reach) else { continue };
            let class = |node: u32| reach.class_of[node as usize] as usize;
            query = query
                .iter()
                .flat_map(|&q| {
                    let at = move |&(node, inside): &(u32, bool)| {
                        q.filter(|_| inside).map(|q| q * reach.classes + class(node))
                    };
                    lumps.iter().map(at)
                })
                .collect();
        }
        query.into_iter().map(|q| q.map_or(0.0, |q| self.filter.weights[q])).collect()
    }
}

/// Of very many groups the few that rows of an answer are of: along each level that is grouped by these nodes, in ascending order.
pub(super) struct Few(Vec<Vec<u32>>);

/// A node's group that no row is of.
const NOBODYS: u32 = u32::MAX;

impl Few {
    pub(super) fn of(rows: &[Vec<u32>], sizes: &[usize]) -> Few {
        let along = |position: usize| {
            let nodes: BTreeSet<u32> = rows.iter().filter_map(|row| row.get(position).copied()).collect();
            nodes.into_iter().collect()
        };
        Few((0..sizes.len()).map(along).collect())
    }

    pub(super) fn sizes(&self) -> Vec<usize> {
        self.0.iter().map(|nodes| nodes.len().max(1)).collect()
    }

    /// The number of a node among them.
    pub(super) fn place(&self, position: usize, node: u32) -> Option<usize> {
        self.0.get(position)?.binary_search(&node).ok()
    }

    /// Rows by these numbers.
    pub(super) fn rows(&self, rows: &[Vec<u32>]) -> Vec<Vec<u32>> {
        let number = |(i, &node): (usize, &u32)| self.place(i, node).map_or(NOBODYS, |at| at as u32);
        rows.iter().map(|row| row.iter().enumerate().map(number).collect()).collect()
    }
}

impl<S: Source> Evaluator<S> {
    /// The dimensions an aggregate touches, each at the coarsest level in use that tells apart what it tells
    /// apart.
    pub(crate) fn part<'a>(
        &self,
        aggregate: &'a Aggregate,
        group_by: &[Level],
    ) -> Result<Part<'a>, AnswerError> {
        self.part_of(aggregate, group_by, std::slice::from_ref(aggregate))
    }

    /// The same of each of several aggregates, which a question is made of.
    pub(super) fn parts<'a>(
        &self,
        asked: &'a [Aggregate],
        group_by: &[Level],
    ) -> Result<Vec<Part<'a>>, AnswerError> {
        asked.iter().map(|aggregate| self.part_of(aggregate, group_by, asked)).collect()
    }

    fn part_of<'a>(
        &self,
        aggregate: &'a Aggregate,
        group_by: &[Level],
        asked: &[Aggregate],
    ) -> Result<Part<'a>, AnswerError> {
        let cube = self.cube();
        let filter = &aggregate.filter;
        let kept = |position: usize| aggregate.partition.as_ref().is_none_or(|p| p.contains(&position));
        let group_at = |dim: usize| {
            group_by
                .iter()
                .enumerate()
                .find(|&(i, at)| at.dimension == dim && at.level > 0 && kept(i))
                .map(|(i, at)| (i, at.level))
        };
        let groups = group_by
            .iter()
            .enumerate()
            .filter(|&(i, at)| at.level > 0 && kept(i))
            .map(|(_, at)| at.dimension);
        let mut dims: Vec<usize> = filter.dims.iter().map(|c| c.dim).chain(groups).collect();
        dims.sort_unstable();
        dims.dedup();
        let mut reaches = Vec::new();
        let mut wanted = Vec::new();
        for dim in dims {
            let d = &cube.dimensions[dim];
            let group = group_at(dim);
            let group_level = group.map_or(0, |(_, l)| l);
            let classed = filter.classes(dim);
            let coarsest = d.told_by(group_level);
            let told = classed.map(|c| one_class(d, coarsest, &c.class_of));
            let needed = told.as_ref().map_or(coarsest, |told| told.0);
            if needed == 0 {
                continue;
            }
            let level = self.recovery.frame().axes[dim].level_for(needed).ok_or_else(|| {
                let finest = self.recovery.frame().axes[dim].rungs.last().map_or(0, |r| r.level);
                let reason = if finest == 0 {
                    format!("it holds no table of {}", d.name)
                } else {
                    let name = |level: usize| cube.level_name(Level::new(dim, level));
                    let (has, needs) = (name(finest), name(needed));
                    format!("it holds {} only down to {has}; the query needs {needs}", d.name)
                };
                self.not_held(reason, &Cuboid::new([(dim, needed)]), (filter, asked), group_by)
            })?;
            wanted.push((dim, level));
            let nodes = d.levels[level].len();
            let class_of = match told {
                None => vec![0; nodes],
                Some((_, classes)) if level == needed => classes.into_owned(),
                Some((_, classes)) => {
                    d.ancestors(level, needed).iter().map(|&node| classes[node as usize]).collect()
                }
            };
            let group_of = group.map_or_else(|| vec![0; nodes], |(_, g)| d.ancestors(level, g));
            reaches.push(Reach {
                dim,
                level,
                class_of,
                classes: classed.map_or(1, |c| c.classes as usize),
                group: group.map(|(i, _)| i),
                group_of,
                nodes: Vec::new(),
            });
        }
        let cuboid = Cuboid::new(wanted);
        if !self.recovery.holds(&cuboid) {
            let together = if cuboid.len() > 1 { " together" } else { "" };
            let reason = format!("no released table holds {}{together}", cube.describe(&cuboid));
            return Err(self.not_held(reason, &cuboid, (filter, asked), group_by));
        }
        Ok(Part { filter, cuboid, reaches })
    }

    pub(super) fn not_held(
        &self,
        reason: String,
        wanted: &Cuboid,
        asked: (&Filter, &[Aggregate]),
        groups: &[Level],
    ) -> AnswerError {
        let cube = self.cube();
        let shared = |t: &Cuboid| {
            wanted
                .iter()
                .map(|at| match t.level(at.dimension) {
                    0 => 0,
                    level if level < at.level => 1,
                    _ => 2,
                })
                .sum::<usize>()
        };
        let mut tables: Vec<&Cuboid> =
            self.recovery.plan().only().workload.iter().map(|t| &t.cuboid).collect();
        tables.retain(|t| shared(t) > 0);
        tables.sort_by_key(|t| (usize::MAX - shared(t), t.len()));
        let nearest = tables.iter().take(3).map(|t| cube.describe(t)).collect();
        let suggestion = tables.iter().find_map(|t| suggestion(cube, t, wanted, asked, groups));
        AnswerError::NotHeld { of: None, reason, nearest, suggestion }
    }

    /// The same, from the cells of the part's table.
    pub(crate) fn sums(part: &Part, table: &[f64], sizes: &[usize]) -> (Vec<usize>, Vec<f64>) {
        let mut strides = vec![0; sizes.len()];
        let mut length = 1;
        for (position, size) in sizes.iter().enumerate().rev() {
            if part.reaches.iter().any(|r| r.group == Some(position)) {
                strides[position] = length;
                length *= size;
            }
        }
        let weights = &part.filter.weights;
        let (mut cell_stride, mut weight_stride) = (table.len(), weights.len());
        let steps: Vec<Vec<Step>> = part
            .reaches
            .iter()
            .enumerate()
            .map(|(at, r)| {
                cell_stride /= r.class_of.len();
                weight_stride /= r.classes;
                // Nodes whose weight is 0 whatever the other dimensions say are passed over.
                let used = part.used(at);
                let group_stride = r.group.map_or(0, |i| strides[i]);
                let mut steps: Vec<Step> = (r.class_of.iter().zip(&r.group_of).enumerate())
                    .filter(|(_, (c, g))| used[**c as usize] && **g != NOBODYS)
                    .map(|(node, (&c, &g))| Step {
                        cell: node * cell_stride,
                        group: g as usize * group_stride,
                        class: c as usize * weight_stride,
                    })
                    .collect();
                if !r.nodes.is_empty() {
                    steps.sort_by_key(|step| r.nodes[step.cell / cell_stride]);
                }
                steps
            })
            .collect();
        let mut out = vec![0.0; length];
        add_cells(&steps, Step { cell: 0, group: 0, class: 0 }, weights, table, &mut out);
        (strides, out)
    }
}

/// Where a node, or a combination of nodes, leads: in the table, in the answer, in the filter's weights.
#[derive(Clone, Copy)]
struct Step {
    cell: usize,
    group: usize,
    class: usize,
}

/// Adds every cell, times its weight, to its group.
fn add_cells(steps: &[Vec<Step>], at: Step, weights: &[f64], cells: &[f64], out: &mut [f64]) {
    match steps {
        [] => out[at.group] += weights[at.class] * cells[at.cell],
        [last] => {
            for s in last {
                out[at.group + s.group] += weights[at.class + s.class] * cells[at.cell + s.cell];
            }
        }
        [first, rest @ ..] => {
            for s in first {
                let next =
                    Step { cell: at.cell + s.cell, group: at.group + s.group, class: at.class + s.class };
                add_cells(rest, next, weights, cells, out);
            }
        }
    }
}
