//! Linear queries over a release: for each group the best estimate and the exact law of its error.
//!
//! The estimate of every group comes from one recovered table, the coarsest whose cells the query can tell
//! apart. Its error law needs no table at all: groups that look alike to the release (same shape of levels,
//! same classes of the filter) have the same law, so it is worked out once for each kind of group, on axes
//! where all that the query cannot tell apart is lumped.

use super::law::ErrorLaw;
use super::sql::{Filter, required_level};
use crate::cube::{Axis, Cube, Cuboid};
use crate::recover::{RecoverError, Recovery, Source};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Why a query has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// No released table tells the query's dimensions together.
    #[error("this release cannot answer that: {reason}\n{}", nearest_text(.nearest))]
    NotHeld {
        /// What is missing.
        reason: String,
        /// Tables that come closest, nearest first.
        nearest: Vec<String>,
    },
    /// The table could not be recovered.
    #[error(transparent)]
    Recover(#[from] RecoverError),
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

/// The most groups of one query.
pub const MOST_ROWS: u64 = 1 << 24;

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
}

/// How many cells of recovered tables are kept for the next query.
const KEPT_CELLS: usize = 1 << 23;

/// What one dimension contributes to a query.
struct Side {
    dim: usize,
    /// The level whose nodes the query can tell apart.
    level: usize,
    /// For each of its nodes the class of the filter.
    class_of: Vec<u32>,
    classes: usize,
    /// The level grouped by, if any.
    group: Option<usize>,
    /// For each node the group it belongs to (0 without grouping).
    group_of: Vec<u32>,
    groups: usize,
}

/// One kind of group along one dimension: what its error law depends on.
struct Kind {
    axis: Axis,
    /// For each lump of the side's level: the filter's class, and whether it is in the group.
    lumps: Vec<(u32, bool)>,
}

impl<S: Source> Evaluator<S> {
    /// Answers from these estimates.
    pub fn new(recovery: Recovery<S>) -> Evaluator<S> {
        Evaluator { recovery, tables: Mutex::default() }
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
    pub fn aggregate(&self, filter: &Filter, group_by: &[(usize, usize)]) -> Result<Vec<Group>, AnswerError> {
        let (sides, cuboid) = self.sides(filter, group_by)?;
        let sizes: Vec<usize> =
            group_by.iter().map(|&(d, l)| self.cube().dimensions[d].levels[l].len()).collect();
        let rows = sizes.iter().try_fold(1u64, |n, &s| n.checked_mul(s as u64)).unwrap_or(u64::MAX);
        if rows > MOST_ROWS {
            return Err(AnswerError::TooManyRows(rows));
        }
        let estimates = self.estimates(filter, &sides, &cuboid, group_by, &sizes)?;
        let mut laws = self.laws(filter, &sides, &cuboid)?;
        let place: Vec<Option<usize>> = sides
            .iter()
            .map(|s| group_by.iter().position(|&(d, _)| s.group.is_some() && d == s.dim))
            .collect();
        let mut out = Vec::with_capacity(estimates.len());
        let mut nodes = vec![0u32; sizes.len()];
        for estimate in estimates {
            let pick: Vec<usize> = place.iter().map(|p| p.map_or(0, |p| nodes[p] as usize)).collect();
            out.push(Group { nodes: nodes.clone(), estimate, law: laws.of(&pick)? });
            for (node, &size) in nodes.iter_mut().zip(&sizes).rev() {
                *node += 1;
                if (*node as usize) < size {
                    break;
                }
                *node = 0;
            }
        }
        Ok(out)
    }

    /// The dimensions a query touches, each at the coarsest level in use that tells apart what it tells apart.
    fn sides(
        &self,
        filter: &Filter,
        group_by: &[(usize, usize)],
    ) -> Result<(Vec<Side>, Cuboid), AnswerError> {
        let cube = self.cube();
        let mut dims: Vec<usize> =
            filter.dims.iter().map(|c| c.dim).chain(group_by.iter().map(|&(d, _)| d)).collect();
        dims.sort_unstable();
        dims.dedup();
        let mut sides = Vec::new();
        let mut wanted = Vec::new();
        for dim in dims {
            let d = &cube.dimensions[dim];
            let group = group_by.iter().find(|&&(g, _)| g == dim).map(|&(_, l)| l);
            let classed = filter.classes(dim);
            let needed = match classed {
                Some(c) => required_level(cube, dim, &c.class_of, group.unwrap_or(0)),
                None => group.unwrap_or(0),
            };
            if needed == 0 {
                continue;
            }
            let level = self.recovery.frame().axes[dim].level_for(needed).ok_or_else(|| {
                let finest = self.recovery.frame().axes[dim].rungs.last().map_or(0, |r| r.level);
                let reason = if finest == 0 {
                    format!("it holds no table of {}", d.name)
                } else {
                    let (has, needs) = (cube.level_name(dim, finest), cube.level_name(dim, needed));
                    format!("it holds {} only down to {has}; the query needs {needs}", d.name)
                };
                self.not_held(reason, &Cuboid::new(vec![(dim, needed)]))
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
            let group_of = group.map_or_else(|| vec![0; nodes], |g| d.ancestors(level, g));
            sides.push(Side {
                dim,
                level,
                class_of,
                classes: classed.map_or(1, |c| c.classes as usize),
                group,
                group_of,
                groups: group.map_or(1, |g| d.levels[g].len()),
            });
        }
        let cuboid = Cuboid::new(wanted);
        if !self.recovery.holds(&cuboid) {
            let reason = format!("no released table holds {} together", cube.describe(&cuboid));
            return Err(self.not_held(reason, &cuboid));
        }
        Ok((sides, cuboid))
    }

    fn not_held(&self, reason: String, wanted: &Cuboid) -> AnswerError {
        let cube = self.cube();
        let shared = |t: &Cuboid| {
            wanted
                .iter()
                .map(|(d, l)| if t.level(d) >= l { 2 } else { usize::from(t.level(d) > 0) })
                .sum::<usize>()
        };
        let mut tables: Vec<&Cuboid> = self.recovery.plan().workload.iter().map(|t| &t.cuboid).collect();
        tables.retain(|t| shared(t) > 0);
        tables.sort_by_key(|t| (usize::MAX - shared(t), t.len()));
        let nearest = tables.iter().take(3).map(|t| cube.describe(t)).collect();
        AnswerError::NotHeld { reason, nearest }
    }

    /// A recovered table, kept for the next query while it is not too large.
    pub fn table(&self, cuboid: &Cuboid) -> Result<Arc<[f64]>, RecoverError> {
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
        let table: Arc<[f64]> = self.recovery.table(cuboid)?.into();
        let mut kept = lock();
        kept.push((cuboid.clone(), table.clone()));
        while kept.len() > 1 && kept.iter().map(|(_, t)| t.len()).sum::<usize>() > KEPT_CELLS {
            kept.remove(0);
        }
        Ok(table)
    }

    fn estimates(
        &self,
        filter: &Filter,
        sides: &[Side],
        cuboid: &Cuboid,
        group_by: &[(usize, usize)],
        sizes: &[usize],
    ) -> Result<Vec<f64>, AnswerError> {
        let table = self.table(cuboid)?;
        let mut out = vec![0.0; sizes.iter().product()];
        // For each node of each side: where it leads in the answer and in the filter's weights.
        let stride_of = |position: usize| sizes[position + 1..].iter().product::<usize>();
        let mut weight_stride = filter.weights.len();
        let steps: Vec<Vec<(usize, usize)>> = sides
            .iter()
            .map(|s| {
                weight_stride /= s.classes;
                let position = s.group.and_then(|_| group_by.iter().position(|&(d, _)| d == s.dim));
                let stride = position.map_or(0, stride_of);
                let node = |(&g, &c): (&u32, &u32)| (g as usize * stride, c as usize * weight_stride);
                s.group_of.iter().zip(&s.class_of).map(node).collect()
            })
            .collect();
        let mut cells = table.iter();
        add_cells(&steps, 0, 0, &filter.weights, &mut cells, &mut out);
        Ok(out)
    }

    fn laws<'a>(
        &'a self,
        filter: &'a Filter,
        sides: &'a [Side],
        cuboid: &'a Cuboid,
    ) -> Result<Laws<'a, S>, AnswerError> {
        let kinds = sides.iter().map(|s| self.kinds(s)).collect();
        Ok(Laws { evaluator: self, filter, sides, cuboid, kinds, known: HashMap::new() })
    }

    /// The error law of the cell of a table that is known least well.
    pub fn worst_cell_law(&self, cuboid: &Cuboid) -> Result<Arc<ErrorLaw>, AnswerError> {
        let filter = Filter::everything();
        let group_by: Vec<_> = cuboid.iter().collect();
        let (sides, cuboid) = self.sides(&filter, &group_by)?;
        let mut laws = self.laws(&filter, &sides, &cuboid)?;
        // One group of each kind along every dimension.
        let firsts: Vec<Vec<usize>> = laws
            .kinds
            .iter()
            .map(|(kinds, kind_of)| {
                (0..kinds.len()).filter_map(|k| kind_of.iter().position(|&of| of == k)).collect()
            })
            .collect();
        let mut worst: Option<Arc<ErrorLaw>> = None;
        let mut pick = vec![0; firsts.len()];
        loop {
            let groups: Vec<usize> = firsts.iter().zip(&pick).map(|(f, &p)| f[p]).collect();
            let law = laws.of(&groups)?;
            if worst.as_ref().is_none_or(|w| law.variance() > w.variance()) {
                worst = Some(law);
            }
            let Some(i) = (0..pick.len()).rev().find(|&i| pick[i] + 1 < firsts[i].len()) else { break };
            pick[i] += 1;
            pick[i + 1..].fill(0);
        }
        worst.ok_or_else(|| self.not_held("the table has no cells".into(), &cuboid))
    }

    /// The kinds of groups along one dimension, and for each group its kind.
    fn kinds(&self, side: &Side) -> (Vec<Kind>, Vec<usize>) {
        let axis = &self.recovery.frame().axes[side.dim];
        let at = axis.rung(side.level).unwrap_or(0);
        let marked = |group: u32| {
            let inside = |node: usize| side.group.is_none() || side.group_of[node] == group;
            let colour: Vec<u32> =
                (0..side.class_of.len()).map(|n| side.class_of[n] * 2 + u32::from(inside(n))).collect();
            let (axis, lump_of) = axis.lump(at, &colour);
            let mut lumps = vec![(0, false); axis.rungs[at].len()];
            for (node, &lump) in lump_of[at].iter().enumerate() {
                lumps[lump as usize] = (side.class_of[node], inside(node));
            }
            Kind { axis, lumps }
        };
        // Groups that a symmetry of the (filtered) axis maps to each other are of one kind.
        let orbit: Vec<u32> = match side.group.map(|g| axis.rung(g)) {
            None => vec![0],
            Some(Some(rung)) => axis.lump(at, &side.class_of).1.swap_remove(rung),
            // A level that was not measured has no rung of its own: every group is worked out by itself.
            Some(None) => (0..side.groups as u32).collect(),
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

/// Adds every cell, times its weight, to its group.
fn add_cells(
    steps: &[Vec<(usize, usize)>],
    group: usize,
    class: usize,
    weights: &[f64],
    cells: &mut std::slice::Iter<'_, f64>,
    out: &mut [f64],
) {
    match steps {
        [] => {
            if let Some(cell) = cells.next() {
                out[group] += weights[class] * cell;
            }
        }
        [last] => {
            for (&(g, c), cell) in last.iter().zip(cells) {
                out[group + g] += weights[class + c] * cell;
            }
        }
        [first, rest @ ..] => {
            for &(g, c) in first {
                add_cells(rest, group + g, class + c, weights, cells, out);
            }
        }
    }
}

/// The error laws of a query's groups, each kind worked out when it is first needed.
struct Laws<'a, S> {
    evaluator: &'a Evaluator<S>,
    filter: &'a Filter,
    sides: &'a [Side],
    cuboid: &'a Cuboid,
    kinds: Vec<(Vec<Kind>, Vec<usize>)>,
    known: HashMap<Vec<usize>, Arc<ErrorLaw>>,
}

impl<S: Source> Laws<'_, S> {
    fn of(&mut self, groups: &[usize]) -> Result<Arc<ErrorLaw>, AnswerError> {
        let key: Vec<usize> = self.kinds.iter().zip(groups).map(|((_, kind_of), &g)| kind_of[g]).collect();
        if let Some(law) = self.known.get(&key) {
            return Ok(law.clone());
        }
        let kinds: Vec<&Kind> = self.kinds.iter().zip(&key).map(|((kinds, _), &k)| &kinds[k]).collect();
        let frame = self
            .evaluator
            .recovery
            .lumped_frame(self.sides.iter().zip(&kinds).map(|(s, k)| (s.dim, k.axis.clone())));
        // The query on the lumps: the filter's weight where all sides are inside the group.
        let mut query = vec![Some(0usize)];
        for (side, kind) in self.sides.iter().zip(&kinds) {
            query = query
                .iter()
                .flat_map(|&q| {
                    kind.lumps.iter().map(move |&(class, inside)| {
                        q.filter(|_| inside).map(|q| q * side.classes + class as usize)
                    })
                })
                .collect();
        }
        let query = query.into_iter().map(|q| q.map_or(0.0, |q| self.filter.weights[q])).collect();
        let law = Arc::new(self.evaluator.recovery.error_law(&frame, self.cuboid, query)?);
        self.known.insert(key, law.clone());
        Ok(law)
    }
}
