//! Linear queries over a release: for each group the best estimates and the exact joint law of their errors.
//!
//! Every aggregate of a query is estimated from one recovered table, the coarsest whose cells it can tell apart.
//! The errors of all aggregates come from the same noises, so their joint law is worked out on one set of axes,
//! on which all that no aggregate can tell apart is lumped. It needs no table at all: groups that look alike to
//! the release (same shape of levels, same classes of the filters) have the same law, and it is worked
//! out once for each kind of group and kept for later queries that look alike too.

mod laws;
mod near;
mod part;
mod suggestion;
mod sums;

use super::{Family, Told};
use crate::answer::error::{AnswerError, MOST_ROWS};
use crate::cube::{Cube, Cuboid, Filter, Level, odometer};
use crate::joint::JointLaw;
use crate::law::ErrorLaw;
use crate::memo::Memo;
use crate::recover::{RecoverError, Recovery, Source};
use crate::sql::{Aggregate, Present};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use laws::Laws;
use part::{Few, Part};

/// The most kinds of cells that are gone through for the one that is known least well, where each takes a solution of equations.
const MOST_KINDS: f64 = 512.0;

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
    /// The tables that questions were about: of one that comes back it is worth it to recover all.
    asked: Mutex<HashSet<Cuboid>>,
    /// By all that they depend on.
    laws: Memo<Vec<u64>, Arc<JointLaw>, KEPT_LAWS>,
}

/// How many joint laws are kept for the next query.
const KEPT_LAWS: usize = 1 << 12;
/// How many cells of recovered tables are kept for the next query: 256 MB at most.
const KEPT_CELLS: usize = 1 << 25;
/// How many cells a table may have to be recovered whole where some nodes of it are asked for.
const WHOLE_CELLS: usize = 1 << 20;

impl<S: Source> Evaluator<S> {
    /// Answers from these estimates.
    pub fn new(recovery: Recovery<S>) -> Evaluator<S> {
        Evaluator { recovery, tables: Mutex::default(), asked: Mutex::default(), laws: Memo::default() }
    }

    /// The estimates behind the answers.
    pub fn recovery(&self) -> &Recovery<S> {
        &self.recovery
    }

    /// From now on questions are put in the terms of this cube: the same but for groups of a reader's own, which no law and no table depends on.
    pub(crate) fn put_in(&mut self, cube: Arc<Cube>) {
        self.recovery.put_in(cube);
    }

    /// The dimensions.
    pub(crate) fn cube(&self) -> &Cube {
        self.recovery.cube()
    }

    /// `Σ weight` over each group's cells: one [`Group`] for every combination of nodes of the grouped levels,
    /// in the order of their nodes, the last one fastest. With nothing grouped there is one.
    pub fn aggregate(&self, filter: &Filter, group_by: &[Level]) -> Result<Vec<Group>, AnswerError> {
        let aggregate = Aggregate::rows(filter.clone(), None);
        // Groups of one kind share the joint law's address; the plain law is made once for each.
        let laws: Memo<usize, Arc<ErrorLaw>> = Memo::default();
        self.joint(std::slice::from_ref(&aggregate), group_by)?
            .into_iter()
            .map(|g| {
                let made = || g.law.combine(&[1.0]).map(Arc::new);
                let law = laws.of(Arc::as_ptr(&g.law) as usize, made)?;
                Ok(Group { nodes: g.nodes, estimate: g.estimates.first().copied().unwrap_or(0.0), law })
            })
            .collect()
    }

    /// Several aggregates at once, with the joint law of their errors: one [`Told`] for every combination
    /// of nodes of the grouped levels, in the order of their nodes, the last one fastest.
    pub(crate) fn joint(
        &self,
        aggregates: &[Aggregate],
        group_by: &[Level],
    ) -> Result<Vec<Told>, AnswerError> {
        let everything = Filter::everything();
        let all = Present::new(&everything, group_by, self.cube()).rows(group_by, self.cube(), MOST_ROWS);
        let rows = all.map_err(AnswerError::TooManyRows)?;
        self.rows(&Family { figures: aggregates, group_by, rows: &rows })
    }

    /// The same of the groups that are asked for.
    pub(crate) fn rows(&self, family: &Family) -> Result<Vec<Told>, AnswerError> {
        let Family { figures: aggregates, group_by, rows } = *family;
        let sizes: Vec<usize> = group_by.iter().map(|level| level.of(self.cube()).len()).collect();
        let cells = sizes.iter().try_fold(1u64, |n, &s| n.checked_mul(s as u64)).unwrap_or(u64::MAX);
        // Of very many groups those that are asked for are numbered by themselves.
        let few = (cells > MOST_ROWS).then(|| Few::of(rows, &sizes));
        let sizes = few.as_ref().map_or(sizes, Few::sizes);
        let cells = sizes.iter().try_fold(1u64, |n, &s| n.checked_mul(s as u64)).unwrap_or(u64::MAX);
        if cells > MOST_ROWS {
            return Err(AnswerError::TooManyRows(cells));
        }
        let place = |position: usize, node: u32| match &few {
            None => Some(node as usize),
            Some(few) => few.place(position, node),
        };
        let parts = self.parts(aggregates, group_by)?;
        let again = self.asked_again(&parts);
        let estimates: Vec<(Vec<usize>, Vec<f64>)> = (parts.iter().zip(again))
            .map(|(p, again)| match &few {
                None => self.estimates(p, &sizes, rows, (KEPT_CELLS, again)),
                Some(few) => self.estimates(&p.among(few), &sizes, &few.rows(rows), (KEPT_CELLS, again)),
            })
            .collect::<Result<_, _>>()?;
        let mut laws = Laws::new(self, &parts, group_by, false)?;
        let row = |nodes: &Vec<u32>| {
            let at = |strides: &[usize]| -> Option<usize> {
                let each = nodes.iter().zip(strides).enumerate();
                each.map(|(i, (&node, stride))| Some(place(i, node)? * stride)).sum()
            };
            let estimate = |values: &[f64], at: Option<usize>| at.and_then(|at| values.get(at)).copied();
            let estimates =
                estimates.iter().map(|(strides, values)| estimate(values, at(strides)).unwrap_or(0.0));
            Ok(Told::new(nodes.clone(), estimates.collect(), laws.of(nodes)?))
        };
        rows.iter().map(row).collect()
    }

    /// A table whose sums are the best estimates of all queries that can be estimated from it, kept for the next query while it is not too large.
    pub(crate) fn summands(&self, cuboid: &Cuboid) -> Result<Arc<[f64]>, RecoverError> {
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

    /// For each part whether an earlier question was about its table.
    fn asked_again(&self, parts: &[Part]) -> Vec<bool> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let again = parts.iter().map(|p| asked.contains(&p.cuboid)).collect();
        asked.extend(parts.iter().map(|p| p.cuboid.clone()));
        again
    }

    /// The aggregate of every combination of the groups the part keeps to, and the stride of each grouped level
    /// (0 where it does not). Of tables of more cells than `whole` only those of the rows that are asked for are right, and of large ones that are not
    /// asked for `again`.
    fn estimates(
        &self,
        part: &Part,
        sizes: &[usize],
        rows: &[Vec<u32>],
        (whole, again): (usize, bool),
    ) -> Result<(Vec<usize>, Vec<f64>), AnswerError> {
        // What the queries below cannot tell has no error law either, and is refused there.
        let cells = self.recovery.frame().len(&part.cuboid);
        // What is nearly all of a table is better kept for the next part of it.
        let most = if whole < KEPT_CELLS { KEPT_CELLS.min(cells / 2) } else { KEPT_CELLS };
        let near = match cells > whole {
            true => Some((most, false)),
            false => (cells > WHOLE_CELLS && !again).then_some((cells / 16, true)),
        };
        if let Some(near) = near
            && let Some(sums) = self.near(part, sizes, rows, near)?
        {
            return Ok(sums);
        }
        Ok(Self::sums(part, &self.summands(&part.cuboid)?, sizes))
    }

    /// The estimates of a table without the laws of their errors, the last level quickest; along the first level of these nodes alone, which ascend,
    /// where they are named.
    pub fn estimates_of(&self, levels: &[Level], among: Option<&[u32]>) -> Result<Vec<f64>, AnswerError> {
        if among.is_some_and(<[u32]>::is_empty) {
            return Ok(Vec::new());
        }
        let all = Aggregate::rows(Filter::everything(), None);
        let part = self.part(&all, levels)?;
        self.recovery.check_determined(&part.cuboid)?;
        let along = |(i, level): (usize, &Level)| match among.filter(|_| i == 0) {
            Some(nodes) => nodes.to_vec(),
            None => (0..level.of(self.cube()).len() as u32).collect(),
        };
        let along: Vec<Vec<u32>> = levels.iter().enumerate().map(along).collect();
        // Rows that name every node once, and not every combination of them.
        let most = along.iter().map(Vec::len).max().unwrap_or(0);
        let row = |r: usize| along.iter().map(|nodes| nodes[r % nodes.len()]).collect();
        let rows: Vec<Vec<u32>> = (0..most).map(row).collect();
        let sizes: Vec<usize> = levels.iter().map(|level| level.of(self.cube()).len()).collect();
        let few = Few::of(&rows, &sizes);
        let whole = if among.is_some() { WHOLE_CELLS } else { KEPT_CELLS };
        Ok(self.estimates(&part.among(&few), &few.sizes(), &few.rows(&rows), (whole, true))?.1)
    }

    /// What [`Evaluator::aggregate`] says of the cells of a table, part by part, each of some nodes of the first level, which ascend. No more than a part is held,
    /// nor recovered where that is enough. `each` says whether to go on.
    pub fn in_parts<E: From<AnswerError>>(
        &self,
        levels: &[Level],
        parts: &[Vec<u32>],
        mut each: impl FnMut(&[u32], Vec<Group>) -> Result<bool, E>,
    ) -> Result<(), E> {
        let everything = Aggregate::rows(Filter::everything(), None);
        let own = [self.part(&everything, levels)?];
        let mut laws = Laws::new(self, &own, levels, false)?;
        for part in parts {
            let estimates = self.estimates_of(levels, Some(part))?;
            let size = |i: usize| if i == 0 { part.len() } else { levels[i].of(self.cube()).len() };
            // As groups of one kind share the joint law, they share this.
            let mut plain: HashMap<usize, Arc<ErrorLaw>> = HashMap::new();
            let mut pick = vec![0u32; levels.len()];
            let group = |estimate: f64| {
                if laws.forget() {
                    plain.clear();
                }
                let along = |(i, &node): (usize, &u32)| if i == 0 { part[node as usize] } else { node };
                let nodes: Vec<u32> = pick.iter().enumerate().map(along).collect();
                odometer::next(&mut pick, size);
                let law = laws.of(&nodes)?;
                let law = match plain.entry(Arc::as_ptr(&law) as usize) {
                    Entry::Occupied(known) => known.get().clone(),
                    Entry::Vacant(new) => new.insert(Arc::new(law.combine(&[1.0])?)).clone(),
                };
                Ok(Group { nodes, estimate, law })
            };
            let groups = estimates.into_iter().map(group).collect::<Result<Vec<Group>, AnswerError>>()?;
            if !each(part, groups)? {
                break;
            }
        }
        Ok(())
    }

    /// The error law of the cell of a table that is known least well.
    pub fn worst_cell_law(&self, cuboid: &Cuboid) -> Result<Arc<ErrorLaw>, AnswerError> {
        let everything = Aggregate::rows(Filter::everything(), None);
        let group_by: Vec<_> = cuboid.iter().collect();
        let parts = [self.part(&everything, &group_by)?];
        let mut laws = Laws::new(self, &parts, &group_by, false)?;
        // One group of each kind along every dimension.
        let firsts: Vec<Vec<u32>> = (0..group_by.len())
            .map(|position| {
                let side = laws.sides.iter().position(|s| s.group.is_some_and(|(i, _)| i == position));
                side.map_or(vec![0], |s| laws.kinds[s].groups().into_iter().map(|g| g.0).collect())
            })
            .collect();
        let kinds: f64 = firsts.iter().map(|f| f.len() as f64).product();
        if self.recovery.is_slow() && kinds > MOST_KINDS {
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
        let none = || {
            self.not_held("the table has no cells".into(), cuboid, (&Filter::everything(), &[]), &group_by)
        };
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
        let parts = self.parts(aggregates, group_by)?;
        Ok(Laws::new(self, &parts, group_by, true)?.of(nodes)?.combine(coefficients)?)
    }

    /// The cells of a table by kinds that neither what was measured nor any declared empty cell tells apart: of each kind how many there are,
    /// and the law of their error. `None` when there are more than `most` kinds. It needs no measurement.
    pub fn cell_laws(
        &self,
        cuboid: &Cuboid,
        most: usize,
    ) -> Result<Option<Vec<(f64, ErrorLaw)>>, AnswerError> {
        let everything = Aggregate::rows(Filter::everything(), None);
        let group_by: Vec<_> = cuboid.iter().collect();
        let parts = [self.part(&everything, &group_by)?];
        let mut laws = Laws::new(self, &parts, &group_by, false)?;
        // For every dimension one group of each kind, and how many there are.
        let of = |position: usize| {
            let side = laws.sides.iter().position(|s| s.group.is_some_and(|(i, _)| i == position));
            side.map_or(vec![(0, 1.0)], |s| laws.kinds[s].groups())
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
}
