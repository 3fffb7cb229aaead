//! Linear queries over a release: for each group the best estimates and the exact joint law of their errors.
//!
//! Every aggregate of a query is estimated from one recovered table, the coarsest whose cells it can tell apart.
//! The errors of all aggregates come from the same noises, so their joint law is worked out on one set of axes,
//! on which all that no aggregate can tell apart is lumped. It needs no table at all: groups that look alike to
//! the release (same shape of levels, same classes of the filters) have the same law, and it is worked
//! out once for each kind of group and kept for later queries that look alike too.

mod joint_rows;
mod merge_gaussians;
pub(in crate::answer) mod off_plan_note;
mod suggestion;

use super::joint::{JointLaw, Noise};
use super::{Family, Told};
use crate::cube::{Axis, Cube, Cuboid, Frame, Level};
use crate::cube::{Filter, MAX_WEIGHTS, odometer, required_level};
use crate::law::{ErrorLaw, LawError, NoiseLaw};
use crate::recover::{RecoverError, Recovery, Source};
use crate::sql::Aggregate;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use suggestion::suggestion;

/// Why a query has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// No released table tells the query's dimensions together.
    #[error("this release cannot answer that: {reason}\n{}{}", nearest_text(.nearest), suggestion_text(.suggestion))]
    NotHeld {
        /// What is missing.
        reason: String,
        /// Tables that come closest, nearest first.
        nearest: Vec<String>,
        /// How the question would have to change to be answered.
        suggestion: Option<String>,
    },
    /// The table could not be recovered.
    #[error(transparent)]
    Recover(#[from] RecoverError),
    /// The error has no law.
    #[error(transparent)]
    Law(#[from] LawError),
    /// Too many classes of cells to tell apart.
    #[error("the query is too intricate: its columns tell more than 2^20 classes of cells apart")]
    Intricate,
    /// More rows than can be shown.
    #[error("the answer would have {0} rows; the most is {MOST_ROWS}")]
    TooManyRows(u64),
}

fn nearest_text(nearest: &[String]) -> String {
    match nearest {
        [] => "it holds no table of any of these dimensions".into(),
        some => format!("nearest tables it does hold: {}", some.join("; ")),
    }
}

fn suggestion_text(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map_or(String::new(), |text| format!("\nit answers the question with {text}"))
}

/// The most groups of one query.
pub const MOST_ROWS: u64 = 1 << 24;

/// The most kinds of cells that are gone through for the one that is known least well, where each takes a solution of equations.
const MOST_KINDS: f64 = 512.0;

/// The most coefficients of noises behind all kinds of rows of one answer, where rows do not look alike.
const MOST_COEFFICIENTS: f64 = 1e10;

/// One group of an answer.
#[derive(Debug, Clone)]
pub struct Group {
    /// The node of each grouped level.
    pub nodes: Vec<u32>,
    /// The best linear unbiased estimate.
    pub estimate: f64,
    /// The law of `estimate − truth`.
    pub law: Arc<ErrorLaw>,
}

/// Answers linear queries from one release.
pub struct Evaluator<S> {
    recovery: Recovery<S>,
    tables: Mutex<Vec<(Cuboid, Arc<[f64]>)>>,
    laws: Mutex<HashMap<Vec<u64>, Arc<JointLaw>>>,
}

/// How many cells of recovered tables are kept for the next query: 256 MB at most.
const KEPT_CELLS: usize = 1 << 25;
/// How many joint laws are kept for the next query.
const KEPT_LAWS: usize = 1 << 12;

/// What one dimension contributes to one aggregate.
struct Reach {
    dim: usize,
    /// The level of the table it is estimated from.
    level: usize,
    /// For each of its nodes the class of the filter.
    class_of: Vec<u32>,
    classes: usize,
    /// Where the level it is grouped by stands in GROUP BY, if it is.
    group: Option<usize>,
    /// For each node the group it belongs to (0 without grouping).
    group_of: Vec<u32>,
}

/// One aggregate: a table and what to add up of it.
pub(in crate::answer) struct Part<'a> {
    filter: &'a Filter,
    pub(in crate::answer) cuboid: Cuboid,
    reaches: Vec<Reach>,
}

impl Part<'_> {
    /// The filter's weight of each lump of the part's table, 0 outside of a group. `lumps` gives for a dimension one
    /// node of each lump and whether it is inside.
    fn query(&self, lumps: impl Fn(&Reach) -> Option<Vec<(u32, bool)>>) -> Vec<f64> {
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

/// What one dimension contributes to all aggregates together.
struct Side {
    dim: usize,
    /// The finest level of any part.
    level: usize,
    /// For each of its nodes what all filters together say of it.
    colour: Vec<u32>,
    /// Where the level grouped by stands in GROUP BY, if any part keeps to its groups, and the level.
    group: Option<(usize, usize)>,
    /// For each node the group it belongs to (0 without grouping).
    group_of: Vec<u32>,
    groups: usize,
}

/// One kind of group along one dimension: what its error law depends on.
struct Kind {
    axis: Axis,
    /// For each lump of the side's level: the colour, and whether it is in the group.
    lumps: Vec<(u32, bool)>,
    /// For each rung up to the side's one node of each lump.
    nodes: Vec<Vec<u32>>,
    /// A group of this kind.
    group: u32,
}

impl<S: Source> Evaluator<S> {
    /// Answers from these estimates.
    pub fn new(recovery: Recovery<S>) -> Evaluator<S> {
        Evaluator { recovery, tables: Mutex::default(), laws: Mutex::default() }
    }

    /// The estimates behind the answers.
    pub fn recovery(&self) -> &Recovery<S> {
        &self.recovery
    }

    /// The dimensions.
    pub fn cube(&self) -> &Cube {
        self.recovery.cube()
    }

    /// `Σ weight` over each group's cells: one [`Group`] for every combination of nodes of the grouped levels,
    /// in the order of their nodes, the last one fastest. With nothing grouped there is one.
    pub fn aggregate(&self, filter: &Filter, group_by: &[Level]) -> Result<Vec<Group>, AnswerError> {
        let aggregate = Aggregate { filter: filter.clone(), partition: None };
        // Groups of one kind share the joint law's address; the plain law is made once for each.
        let mut laws: HashMap<usize, Arc<ErrorLaw>> = HashMap::new();
        self.joint(std::slice::from_ref(&aggregate), group_by)?
            .into_iter()
            .map(|g| {
                let address = Arc::as_ptr(&g.law) as usize;
                let law = match laws.get(&address) {
                    Some(law) => law.clone(),
                    None => {
                        let law = Arc::new(g.law.combine(&[1.0])?);
                        laws.insert(address, law.clone());
                        law
                    }
                };
                Ok(Group { nodes: g.nodes, estimate: g.estimates.first().copied().unwrap_or(0.0), law })
            })
            .collect()
    }

    /// Several aggregates at once, with the joint law of their errors: one [`Told`] for every combination
    /// of nodes of the grouped levels, in the order of their nodes, the last one fastest.
    pub fn joint(&self, aggregates: &[Aggregate], group_by: &[Level]) -> Result<Vec<Told>, AnswerError> {
        self.rows(&Family { figures: aggregates, group_by, asked: &|_| true })
    }

    /// The same of those groups alone whose nodes are asked for.
    pub fn rows(&self, family: &Family) -> Result<Vec<Told>, AnswerError> {
        let Family { figures: aggregates, group_by, .. } = *family;
        let sizes: Vec<usize> = group_by.iter().map(|level| level.of(self.cube()).len()).collect();
        let rows = sizes.iter().try_fold(1u64, |n, &s| n.checked_mul(s as u64)).unwrap_or(u64::MAX);
        if rows > MOST_ROWS {
            return Err(AnswerError::TooManyRows(rows));
        }
        let parts: Vec<Part> = aggregates.iter().map(|a| self.part(a, group_by)).collect::<Result<_, _>>()?;
        let estimates: Vec<(Vec<usize>, Vec<f64>)> =
            parts.iter().map(|p| self.estimates(p, &sizes)).collect::<Result<_, _>>()?;
        let mut laws = Laws::new(self, &parts, group_by)?;
        let mut out = Vec::new();
        let mut nodes = vec![0u32; sizes.len()];
        for _ in 0..rows {
            if (family.asked)(&nodes) {
                let at = |strides: &[usize]| {
                    nodes.iter().zip(strides).map(|(&n, s)| n as usize * s).sum::<usize>()
                };
                let estimates =
                    estimates.iter().map(|(strides, values)| values.get(at(strides)).copied().unwrap_or(0.0));
                out.push(Told {
                    nodes: nodes.clone(),
                    estimates: estimates.collect(),
                    law: laws.of(&nodes)?,
                    others: Vec::new(),
                    each: true,
                });
            }
            odometer::next(&mut nodes, |i| sizes[i]);
        }
        Ok(out)
    }

    /// The dimensions an aggregate touches, each at the coarsest level in use that tells apart what it tells
    /// apart.
    pub(in crate::answer) fn part<'a>(
        &self,
        aggregate: &'a Aggregate,
        group_by: &[Level],
    ) -> Result<Part<'a>, AnswerError> {
        let cube = self.cube();
        let filter = &aggregate.filter;
        let kept = |position: usize| aggregate.partition.as_ref().is_none_or(|p| p.contains(&position));
        let group_at = |dim: usize| {
            group_by
                .iter()
                .enumerate()
                .find(|&(i, at)| at.dimension == dim && kept(i))
                .map(|(i, at)| (i, at.level))
        };
        let groups = group_by.iter().enumerate().filter(|&(i, _)| kept(i)).map(|(_, at)| at.dimension);
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
            let needed = match classed {
                Some(c) => required_level(cube, dim, &c.class_of, group_level),
                None => group_level,
            };
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
                self.not_held(reason, &Cuboid::new([(dim, needed)]), filter, group_by)
            })?;
            wanted.push((dim, level));
            // A class is the same for all finest nodes below a node of the level: any of them tells it.
            let nodes = d.levels[level].len();
            let mut class_of = vec![0; nodes];
            if let Some(c) = classed {
                for (finest, &node) in d.ancestors(d.finest(), level).iter().enumerate() {
                    class_of[node as usize] = c.class_of[finest];
                }
            }
            let group_of = group.map_or_else(|| vec![0; nodes], |(_, g)| d.ancestors(level, g));
            reaches.push(Reach {
                dim,
                level,
                class_of,
                classes: classed.map_or(1, |c| c.classes as usize),
                group: group.map(|(i, _)| i),
                group_of,
            });
        }
        let cuboid = Cuboid::new(wanted);
        if !self.recovery.holds(&cuboid) {
            let reason = format!("no released table holds {} together", cube.describe(&cuboid));
            return Err(self.not_held(reason, &cuboid, filter, group_by));
        }
        Ok(Part { filter, cuboid, reaches })
    }

    /// What all parts together tell apart along each dimension.
    fn sides(&self, parts: &[Part], group_by: &[Level]) -> Vec<Side> {
        let mut levels: BTreeMap<usize, usize> = BTreeMap::new();
        for reach in parts.iter().flat_map(|p| &p.reaches) {
            let level = levels.entry(reach.dim).or_default();
            *level = reach.level.max(*level);
        }
        // What is known to be empty weighs on every estimate, also of dimensions that no part names.
        let zeros = self.recovery.zeros();
        for (dim, _) in zeros.iter().flat_map(|z| z.classes()) {
            let in_use = self.recovery.frame().axes[dim].rungs.last().map_or(0, |r| r.level);
            levels.insert(dim, in_use);
        }
        levels
            .into_iter()
            .map(|(dim, level)| {
                let d = &self.cube().dimensions[dim];
                let mut colour = vec![0u32; d.levels[level].len()];
                let mut group = None;
                // The common refinement of the classes so far and some others.
                let refine = |colour: &mut [u32], from: usize, class_of: &[u32]| {
                    let mut known = HashMap::new();
                    for (c, up) in colour.iter_mut().zip(d.ancestors(level, from)) {
                        let next = known.len() as u32;
                        *c = *known.entry((*c, class_of[up as usize])).or_insert(next);
                    }
                };
                for (_, class_of) in zeros.iter().flat_map(|z| z.classes()).filter(|(at, _)| *at == dim) {
                    // A class is the same for all finest nodes below a node in use, or no table tells them apart.
                    let mut of_node = vec![0; colour.len()];
                    for (finest, &node) in d.ancestors(d.finest(), level).iter().enumerate() {
                        of_node[node as usize] = class_of[finest];
                    }
                    refine(&mut colour, level, &of_node);
                }
                for reach in parts.iter().flat_map(|p| &p.reaches).filter(|r| r.dim == dim) {
                    group = group.or(reach.group.map(|i| (i, group_by[i].level)));
                    if reach.classes > 1 {
                        refine(&mut colour, reach.level, &reach.class_of);
                    }
                }
                let group_of = match group {
                    Some((_, g)) => d.ancestors(level, g),
                    None => vec![0; colour.len()],
                };
                let groups = group.map_or(1, |(_, g)| d.levels[g].len());
                Side { dim, level, colour, group, group_of, groups }
            })
            .collect()
    }

    fn not_held(&self, reason: String, wanted: &Cuboid, filter: &Filter, groups: &[Level]) -> AnswerError {
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
        let suggestion = tables.iter().find_map(|t| suggestion(cube, t, wanted, filter, groups));
        AnswerError::NotHeld { reason, nearest, suggestion }
    }

    /// A recovered table, kept for the next query while it is not too large.
    pub fn table(&self, cuboid: &Cuboid) -> Result<Arc<[f64]>, RecoverError> {
        self.recovery.check_determined(cuboid)?;
        self.kept(cuboid)
    }

    /// A table whose sums are the best estimates of all queries that can be estimated from it.
    pub fn summands(&self, cuboid: &Cuboid) -> Result<Arc<[f64]>, RecoverError> {
        self.kept(cuboid)
    }

    fn kept(&self, cuboid: &Cuboid) -> Result<Arc<[f64]>, RecoverError> {
        let lock = || self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut kept = lock();
            if let Some(at) = kept.iter().position(|(c, _)| c == cuboid) {
                let entry = kept.remove(at);
                let table = entry.1.clone();
                kept.push(entry);
                return Ok(table);
            }
        }
        let table: Arc<[f64]> = self.recovery.summands(cuboid)?.into();
        let mut kept = lock();
        kept.push((cuboid.clone(), table.clone()));
        while kept.len() > 1 && kept.iter().map(|(_, t)| t.len()).sum::<usize>() > KEPT_CELLS {
            kept.remove(0);
        }
        Ok(table)
    }

    /// The aggregate of every combination of the groups the part keeps to, and the stride of each grouped level
    /// (0 where it does not).
    fn estimates(&self, part: &Part, sizes: &[usize]) -> Result<(Vec<usize>, Vec<f64>), AnswerError> {
        // What the queries below cannot tell has no error law either, and is refused there.
        Ok(Self::sums(part, &self.kept(&part.cuboid)?, sizes))
    }

    /// The same, from the cells of the part's table.
    pub(in crate::answer) fn sums(part: &Part, table: &[f64], sizes: &[usize]) -> (Vec<usize>, Vec<f64>) {
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
            .map(|r| {
                cell_stride /= r.class_of.len();
                weight_stride /= r.classes;
                // Nodes whose weight is 0 whatever the other dimensions say are passed over.
                let used: Vec<bool> = (0..r.classes)
                    .map(|c| {
                        let start = c * weight_stride;
                        weights
                            .chunks(weight_stride * r.classes)
                            .any(|w| w[start..start + weight_stride].iter().any(|&w| w != 0.0))
                    })
                    .collect();
                let group_stride = r.group.map_or(0, |i| strides[i]);
                (r.class_of.iter().zip(&r.group_of).enumerate())
                    .filter(|(_, (c, _))| used[**c as usize])
                    .map(|(node, (&c, &g))| Step {
                        cell: node * cell_stride,
                        group: g as usize * group_stride,
                        class: c as usize * weight_stride,
                    })
                    .collect()
            })
            .collect();
        let mut out = vec![0.0; length];
        add_cells(&steps, Step { cell: 0, group: 0, class: 0 }, weights, table, &mut out);
        (strides, out)
    }

    /// The error law of the cell of a table that is known least well.
    pub fn worst_cell_law(&self, cuboid: &Cuboid) -> Result<Arc<ErrorLaw>, AnswerError> {
        let everything = Aggregate { filter: Filter::everything(), partition: None };
        let group_by: Vec<_> = cuboid.iter().collect();
        let parts = [self.part(&everything, &group_by)?];
        let mut laws = Laws::new(self, &parts, &group_by)?;
        // One group of each kind along every dimension.
        let firsts: Vec<Vec<u32>> = (0..group_by.len())
            .map(|position| {
                let side = laws.sides.iter().position(|s| s.group.is_some_and(|(i, _)| i == position));
                side.map_or(vec![0], |s| laws.kinds[s].0.iter().map(|k| k.group).collect())
            })
            .collect();
        let kinds: f64 = firsts.iter().map(|f| f.len() as f64).product();
        if self.recovery.couples() && kinds > MOST_KINDS {
            return Err(RecoverError::TooMuch("finding the cell that is known least well".into()).into());
        }
        if let Some(nodes) = self.recovery.worst_cell(cuboid)? {
            return Ok(Arc::new(laws.of(&nodes)?.combine(&[1.0])?));
        }
        let mut worst: Option<ErrorLaw> = None;
        let mut pick = vec![0; firsts.len()];
        loop {
            let nodes: Vec<u32> = firsts.iter().zip(&pick).map(|(f, &p)| f[p as usize]).collect();
            let law = laws.of(&nodes)?.combine(&[1.0])?;
            if worst.as_ref().is_none_or(|w| law.variance() > w.variance()) {
                worst = Some(law);
            }
            if !odometer::next(&mut pick, |i| firsts[i].len()) {
                break;
            }
        }
        let none =
            || self.not_held("the table has no cells".into(), cuboid, &Filter::everything(), &group_by);
        worst.map(Arc::new).ok_or_else(none)
    }

    /// The law of the error of a combination of aggregates in the group with these nodes. It needs no measurement.
    pub fn law(
        &self,
        aggregates: &[Aggregate],
        coefficients: &[f64],
        group_by: &[Level],
        nodes: &[u32],
    ) -> Result<ErrorLaw, AnswerError> {
        let parts: Vec<Part> = aggregates.iter().map(|a| self.part(a, group_by)).collect::<Result<_, _>>()?;
        Ok(Laws::new(self, &parts, group_by)?.of(nodes)?.combine(coefficients)?)
    }

    /// The cells of a table by kinds that neither what was measured nor any declared empty cell tells apart: of each kind how many there are,
    /// and the law of their error. `None` when there are more than `most` kinds. It needs no measurement.
    pub fn cell_laws(
        &self,
        cuboid: &Cuboid,
        most: usize,
    ) -> Result<Option<Vec<(f64, ErrorLaw)>>, AnswerError> {
        let everything = Aggregate { filter: Filter::everything(), partition: None };
        let group_by: Vec<_> = cuboid.iter().collect();
        let parts = [self.part(&everything, &group_by)?];
        let mut laws = Laws::new(self, &parts, &group_by)?;
        // For every dimension one group of each kind, and how many there are.
        let of = |position: usize| {
            let side = laws.sides.iter().position(|s| s.group.is_some_and(|(i, _)| i == position));
            let Some((kinds, kind_of)) = side.map(|s| &laws.kinds[s]) else { return vec![(0, 1.0)] };
            let mut each: Vec<(u32, f64)> = kinds.iter().map(|k| (k.group, 0.0)).collect();
            kind_of.iter().for_each(|&k| each[k].1 += 1.0);
            each
        };
        let kinds: Vec<Vec<(u32, f64)>> = (0..group_by.len()).map(of).collect();
        if kinds.iter().map(|k| k.len() as f64).product::<f64>() > most as f64 {
            return Ok(None);
        }
        let mut out = Vec::new();
        let mut pick = vec![0; kinds.len()];
        loop {
            let picked = kinds.iter().zip(&pick).map(|(k, &p)| k[p as usize]);
            let (nodes, counts): (Vec<u32>, Vec<f64>) = picked.unzip();
            let law = laws.of(&nodes)?.combine(&[1.0])?;
            out.push((counts.iter().product(), law));
            if !odometer::next(&mut pick, |i| kinds[i].len()) {
                return Ok(Some(out));
            }
        }
    }

    /// The kinds of groups along one dimension, and for each group its kind.
    fn kinds(&self, side: &Side) -> (Vec<Kind>, Vec<usize>) {
        let axis = &self.recovery.frame().axes[side.dim];
        let at = axis.rung(side.level).unwrap_or(0);
        let lumps = self.recovery.lumps(side.dim);
        let marked = |group: u32| {
            let inside = |node: usize| side.group.is_none() || side.group_of[node] == group;
            let colour: Vec<u32> =
                (0..side.colour.len()).map(|n| side.colour[n] * 2 + u32::from(inside(n))).collect();
            let (axis, nodes) = self.recovery.lump(side.dim, at, &colour);
            let lumps = nodes[at].iter().map(|&n| (side.colour[n as usize], inside(n as usize))).collect();
            Kind { axis, lumps, nodes, group }
        };
        // Groups that a symmetry of the (coloured) axis maps to each other are of one kind.
        let orbit: Vec<u32> = match side.group.map(|(_, g)| axis.rung(g)) {
            None => vec![0],
            Some(Some(rung)) if lumps => axis.lump(at, &side.colour).1.swap_remove(rung),
            // A level that was not measured has no rung of its own, and signed sums have no symmetry: every group
            // is worked out by itself.
            Some(_) => (0..side.groups as u32).collect(),
        };
        let mut kinds: Vec<Kind> = Vec::new();
        let mut of_orbit: HashMap<u32, usize> = HashMap::new();
        let kind_of = orbit
            .iter()
            .enumerate()
            .map(|(group, &o)| {
                *of_orbit.entry(o).or_insert_with(|| {
                    let kind = marked(group as u32);
                    match kinds.iter().position(|k| k.axis == kind.axis && k.lumps == kind.lumps) {
                        Some(known) => known,
                        None => {
                            kinds.push(kind);
                            kinds.len() - 1
                        }
                    }
                })
            })
            .collect();
        (kinds, kind_of)
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

/// The joint laws of a query's groups, each kind worked out when it is first needed.
struct Laws<'a, S> {
    evaluator: &'a Evaluator<S>,
    parts: &'a [Part<'a>],
    sides: Vec<Side>,
    kinds: Vec<(Vec<Kind>, Vec<usize>)>,
    known: HashMap<Vec<usize>, Arc<JointLaw>>,
}

impl<'a, S: Source> Laws<'a, S> {
    fn new(
        evaluator: &'a Evaluator<S>,
        parts: &'a [Part<'a>],
        group_by: &[Level],
    ) -> Result<Laws<'a, S>, AnswerError> {
        let sides = evaluator.sides(parts, group_by);
        let classes = |s: &Side| s.colour.iter().max().map_or(1, |&c| c as usize + 1);
        let told_apart = sides.iter().try_fold(1usize, |n, s| n.checked_mul(classes(s)));
        if told_apart.is_none_or(|n| n > MAX_WEIGHTS) {
            return Err(AnswerError::Intricate);
        }
        let kinds: Vec<_> = sides.iter().map(|s| evaluator.kinds(s)).collect();
        let several = kinds.iter().map(|(kinds, _)| kinds.len() as f64).product::<f64>();
        let each: f64 = parts.iter().map(|p| evaluator.recovery.coefficients_behind(&p.cuboid)).sum();
        if several * each > MOST_COEFFICIENTS {
            return Err(RecoverError::TooMuch("the law of every row's error".into()).into());
        }
        Ok(Laws { evaluator, parts, sides, kinds, known: HashMap::new() })
    }

    /// The joint law of the group with these nodes.
    fn of(&mut self, nodes: &[u32]) -> Result<Arc<JointLaw>, AnswerError> {
        let key: Vec<usize> = self
            .sides
            .iter()
            .zip(&self.kinds)
            .map(|(side, (_, kind_of))| kind_of[side.group.map_or(0, |(i, _)| nodes[i] as usize)])
            .collect();
        if let Some(law) = self.known.get(&key) {
            return Ok(law.clone());
        }
        let kinds: Vec<&Kind> = self.kinds.iter().zip(&key).map(|((kinds, _), &k)| &kinds[k]).collect();
        let queries: Vec<Vec<f64>> = self.parts.iter().map(|p| self.query(p, &kinds)).collect();
        let look = self.look(&kinds, &queries);
        let kept = || self.evaluator.laws.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept().get(&look).cloned();
        let law = match found {
            Some(law) => law,
            None => {
                let law = Arc::new(self.work_out(&kinds, queries)?);
                let mut kept = kept();
                if kept.len() >= KEPT_LAWS {
                    kept.clear();
                }
                kept.insert(look, law.clone());
                law
            }
        };
        self.known.insert(key, law.clone());
        Ok(law)
    }

    /// A part's query on the lumps of its table: the filter's weight where all its dimensions are inside the
    /// group.
    fn query(&self, part: &Part, kinds: &[&Kind]) -> Vec<f64> {
        part.query(|reach| {
            // Every reach has a side; its lumps never mix what this part tells apart.
            let side = self.sides.iter().position(|s| s.dim == reach.dim)?;
            let kind = kinds[side];
            let rung = kind.axis.rung(reach.level).unwrap_or(0);
            let inside = |node: u32| reach.group.is_none() || reach.group_of[node as usize] == kind.group;
            Some(kind.nodes[rung].iter().map(|&n| (n, inside(n))).collect())
        })
    }

    /// All a joint law depends on, as a key.
    fn look(&self, kinds: &[&Kind], queries: &[Vec<f64>]) -> Vec<u64> {
        let mut key = Vec::new();
        for (part, query) in self.parts.iter().zip(queries) {
            key.push(part.cuboid.len() as u64);
            key.extend(part.cuboid.iter().flat_map(|at| [at.dimension as u64, at.level as u64]));
            key.push(query.len() as u64);
            key.extend(query.iter().map(|w| w.to_bits()));
        }
        for (side, kind) in self.sides.iter().zip(kinds) {
            key.push(side.dim as u64);
            for rung in &kind.axis.rungs {
                key.push(rung.len() as u64);
                key.extend(rung.parent.iter().map(|&p| u64::from(p)));
                key.extend(rung.copies.iter().map(|&c| u64::from(c)));
                key.extend(&rung.multiplicity);
            }
        }
        key
    }

    fn work_out(&self, kinds: &[&Kind], queries: Vec<Vec<f64>>) -> Result<JointLaw, AnswerError> {
        let recovery = &self.evaluator.recovery;
        let axes = self.sides.iter().zip(kinds).map(|(s, k)| (s.dim, k.axis.clone(), k.nodes.clone()));
        let lumped = recovery.lumped_frame(axes);
        let width = self.parts.len();
        let mut by_measurement: BTreeMap<usize, Vec<Vec<f64>>> = BTreeMap::new();
        let mut slack = Vec::with_capacity(width);
        for (column, (part, query)) in self.parts.iter().zip(queries).enumerate() {
            slack.push(recovery.slack(&part.cuboid, &query)?);
            for (measurement, coefficients) in recovery.coefficients(&lumped, &part.cuboid, query)? {
                let cells = by_measurement
                    .entry(measurement)
                    .or_insert_with(|| vec![vec![0.0; width]; coefficients.len()]);
                for (cell, c) in cells.iter_mut().zip(coefficients) {
                    cell[column] += c;
                }
            }
        }
        Ok(joint_law(recovery, &lumped.frame, by_measurement, slack))
    }
}

/// The joint law of figures, from the coefficients of every noise of every measurement in each: with all layers of each noise, and with
/// the secret centre that they have in common, where there is one. `slack` is what each figure may be off by beside its noises.
fn joint_law<S: Source>(
    recovery: &Recovery<S>,
    frame: &Frame,
    by_measurement: BTreeMap<usize, Vec<Vec<f64>>>,
    mut slack: Vec<f64>,
) -> JointLaw {
    let width = slack.len();
    let mut noises = Vec::new();
    let mut shares: Vec<Vec<(f64, u64)>> = vec![Vec::new(); width];
    let centre = recovery.centre();
    for (measurement, cells) in by_measurement {
        let copies = recovery.copies(frame, measurement);
        if centre.is_some() {
            for (coefficients, &copies) in cells.iter().zip(&copies) {
                shares.iter_mut().zip(coefficients).for_each(|(s, &c)| s.push((c, copies)));
            }
        }
        for law in recovery.noise(measurement) {
            if let NoiseLaw::DiscreteGaussian { variance } = law
                && merge_gaussians::is_wide(cells.len(), variance)
                && recovery.copies_are_one(measurement)
            {
                let (few, off) = merge_gaussians::merged(&cells, width);
                slack.iter_mut().zip(off).for_each(|(s, off)| *s += off);
                let law = NoiseLaw::Gaussian { variance };
                noises
                    .extend(few.into_iter().map(|c| (Noise { release: 0, measurement, copies: 1, law }, c)));
                continue;
            }
            let each = cells.iter().zip(&copies);
            noises
                .extend(each.map(|(c, &copies)| (Noise { release: 0, measurement, copies, law }, c.clone())));
        }
    }
    if let Some(law) = centre {
        let coefficients = shares.into_iter().map(|s| recovery.shift(s.into_iter())).collect();
        noises.push((Noise { release: 0, measurement: Noise::CENTRE, copies: 1, law }, coefficients));
    }
    JointLaw::new(width, noises).with_slack(slack)
}
