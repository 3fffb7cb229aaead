//! Several releases of the same people, taken together: for every figure the best unbiased combination of all their noises.
//!
//! Each release tells its own best estimates of whatever it holds, with the joint law of their errors. Which sums of cells matter for a
//! question follows from symmetry ([`classes`]): what neither the question nor any release tells apart is summed. Of these sums each release
//! tells some, and generalised least squares over all of them ([`combine`]) has the least variance of all unbiased linear combinations of
//! all that was measured. So another release never makes an answer less precise. Rows that an agency wrote itself are told one by one.
//!
//! The weights depend on the noises alone and never on an answer: the error of the combination is a fixed sum of known
//! independent noises, and its law is exact.
//!
//! **How far.** Of at most [`MOST_SUMS`] sums. A question that would need more is combined over its own dimensions, and past that
//! figure by figure: each release's own estimates of the question's figures, by least squares. That is never worse than any release
//! alone, and need not be the best.

mod classes;
mod combine;
mod rows;
mod several;

pub use combine::{Combined, Solved};
pub(crate) use rows::together;
pub(crate) use several::Pooled;

use crate::answer::error::QueryError;
use crate::answer::tell::open::Answers;
use crate::answer::tell::tables::Evaluator;
use crate::cube::{Cube, Cuboid, Dimension, Filter, Level};
use crate::law::NoiseLaw;
use crate::plan::Block;
use crate::recover::RecoverError;
use crate::recover::Source;
use crate::release::values::Values;
use classes::Classes;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The most sums of cells that one question is told by.
pub(crate) const MOST_SUMS: usize = 384;
/// So many rows at most are taken together with tables: the newest.
const WITH_TABLES: usize = 192;
/// And so many in all.
const MOST_ROWS: usize = 4096;

/// A row of a release: what was measured, what came out, and the law of its noise.
struct Measured {
    /// Which release, and which measurement of it.
    place: (usize, usize),
    filter: Filter,
    value: f64,
    noise: NoiseLaw,
}

/// A release that tells sums of cells.
struct Tables<'a, S> {
    /// Which release.
    release: usize,
    evaluator: &'a Evaluator<S>,
    /// The number of each of its dimensions here.
    dims: Vec<usize>,
    /// For each of its dimensions and levels in use the number of that partition here.
    levels: Vec<HashMap<usize, usize>>,
    /// What an agency's own rows ask for, where their noises are not independent of each other.
    rows: Vec<Filter>,
}

/// Releases of one dataset and period: what they tell of rows, or of another thing that rows add up to.
pub struct Pool<'a, S = Values> {
    /// That questions are put in.
    pub(super) cube: &'a Cube,
    pub(super) releases: Vec<&'a Answers>,
    /// What tells it of each release.
    evaluators: Vec<&'a Evaluator<S>>,
    /// Those of that cube, then others.
    dims: Vec<&'a Dimension>,
    rows: Vec<Measured>,
    tables: Vec<Tables<'a, S>>,
    /// For each dimension the partitions of its finest categories that are in use.
    partitions: Vec<Vec<Vec<u32>>>,
    /// For each dimension what releases tell apart beside their levels, and what rows do.
    fixed: Vec<[Vec<u32>; 2]>,
    /// For each dimension how many releases have more than its total.
    shared: Vec<usize>,
}

/// Whether two dimensions have one name and the same finest categories.
pub(crate) fn alike(a: &Dimension, b: &Dimension) -> bool {
    a.name == b.name && a.levels.last().map(|l| &l.labels) == b.levels.last().map(|l| &l.labels)
}

/// Makes a colouring finer.
fn refine(colour: &mut [u32], by: impl Fn(usize) -> u32) {
    let mut known = HashMap::new();
    for (node, c) in colour.iter_mut().enumerate() {
        let next = known.len() as u32;
        *c = *known.entry((*c, by(node))).or_insert(next);
    }
}

impl<'a> Pool<'a> {
    /// Of the rows of releases, for questions that are put in the terms of a cube.
    pub fn new(cube: &'a Cube, releases: &[&'a Answers]) -> Result<Pool<'a>, QueryError> {
        Pool::of(cube, releases, releases.iter().map(|r| r.evaluator()).collect())
    }
}

impl<'a, S: Source> Pool<'a, S> {
    /// Of what these tell of the releases, each of one.
    pub(super) fn of(
        cube: &'a Cube,
        releases: &[&'a Answers],
        evaluators: Vec<&'a Evaluator<S>>,
    ) -> Result<Pool<'a, S>, QueryError> {
        let mut pool = Pool {
            cube,
            releases: releases.to_vec(),
            evaluators,
            dims: cube.dimensions.iter().collect(),
            rows: Vec::new(),
            tables: Vec::new(),
            partitions: Vec::new(),
            fixed: Vec::new(),
            shared: Vec::new(),
        };
        let dims: Vec<Vec<usize>> = releases
            .iter()
            .map(|r| r.cube().dimensions.iter().map(|d| pool.dimension(d)).collect())
            .collect();
        let finest = |d: &&Dimension| d.levels[d.finest()].len();
        pool.partitions = vec![Vec::new(); pool.dims.len()];
        pool.fixed = pool.dims.iter().map(|d| [vec![0; finest(d)], vec![0; finest(d)]]).collect();
        pool.shared = vec![0; pool.dims.len()];
        for (release, dims) in dims.into_iter().enumerate() {
            pool.add(release, dims)?;
        }
        let old = pool.rows.len().saturating_sub(MOST_ROWS);
        pool.rows.drain(..old);
        let near = pool.rows.len().saturating_sub(WITH_TABLES);
        for row in &pool.rows[near..] {
            for class in &row.filter.dims {
                refine(&mut pool.fixed[class.dim][1], |node| class.class_of[node]);
            }
        }
        Ok(pool)
    }

    /// The number of a dimension: of the same name, with the same finest categories.
    fn dimension(&mut self, own: &'a Dimension) -> usize {
        self.dims.iter().position(|d| alike(d, own)).unwrap_or_else(|| {
            self.dims.push(own);
            self.dims.len() - 1
        })
    }

    /// An agency's own rows, each with the number of its measurement.
    fn written(&self, release: usize, dims: &[usize]) -> Vec<(usize, Filter)> {
        let recovery = self.evaluators[release].recovery();
        let mut out = Vec::new();
        for (i, m) in recovery.plan().only().measurements.iter().enumerate() {
            let Block::Rows(block) = &m.block else { continue };
            let own = block.filters(recovery.cube()).flatten();
            out.extend(own.filter_map(|f| f.renumbered(|d| dims.get(d).copied())).map(|f| (i, f)));
        }
        out
    }

    /// Takes in rows that have one noise each, and tables; copies may have several noises, and a centre that all rows of a copy share.
    fn add(&mut self, release: usize, dims: Vec<usize>) -> Result<(), QueryError> {
        let evaluator = self.evaluators[release];
        let recovery = evaluator.recovery();
        let plan = recovery.plan();
        let written = self.written(release, &dims);
        let mut spoken: Vec<usize> = written.iter().flat_map(|(_, f)| &f.dims).map(|c| c.dim).collect();
        spoken.sort_unstable();
        spoken.dedup();
        spoken.into_iter().for_each(|d| self.shared[d] += 1);
        let one = |i: usize| <[NoiseLaw; 1]>::try_from(recovery.noise(i)).ok();
        let plain = plan.zeros.is_empty() && plan.exact.is_empty() && recovery.centre().is_none();
        if !written.is_empty() && plain && written.iter().all(|(i, _)| one(*i).is_some()) {
            let mut values = Vec::new();
            for i in 0..plan.only().measurements.len() {
                values.extend(recovery.source().values(i).map_err(RecoverError::from)?.floats());
            }
            for ((i, filter), value) in written.into_iter().zip(values) {
                let Some([noise]) = one(i) else { continue };
                self.rows.push(Measured { place: (release, i), filter, value, noise });
            }
            return Ok(());
        }
        if !written.is_empty() {
            let rows: Vec<Filter> = written.into_iter().map(|(_, filter)| filter).take(WITH_TABLES).collect();
            for class in rows.iter().flat_map(|f| &f.dims) {
                refine(&mut self.fixed[class.dim][1], |node| class.class_of[node]);
            }
            self.tables.push(Tables { release, evaluator, dims, levels: Vec::new(), rows });
            return Ok(());
        }
        let mut levels = Vec::new();
        for (own, (axis, &d)) in recovery.frame().axes.iter().zip(&dims).enumerate() {
            let dimension = &recovery.cube().dimensions[own];
            let up = |level: usize| dimension.ancestors(dimension.finest(), level);
            let mut at = HashMap::new();
            for rung in &axis.rungs[1..] {
                let partition = up(rung.level);
                let known = &mut self.partitions[d];
                let place = known.iter().position(|p| *p == partition).unwrap_or_else(|| {
                    known.push(partition);
                    known.len() - 1
                });
                at.insert(rung.level, place);
            }
            self.shared[d] += usize::from(!at.is_empty());
            // Signed sums are not alike under exchanges of categories.
            if let Some(finest) = axis.rungs.last().filter(|r| r.level > 0 && !recovery.lumps(own)) {
                let up = up(finest.level);
                refine(&mut self.fixed[d][0], |node| up[node]);
            }
            levels.push(at);
        }
        for (own, class_of) in recovery.zeros().iter().flat_map(|z| z.classes()) {
            refine(&mut self.fixed[dims[own]][0], |node| class_of[node]);
        }
        self.tables.push(Tables { release, evaluator, dims, levels, rows: Vec::new() });
        Ok(())
    }

    /// Whether a dimension with these classes matters: it is asked about, or releases that share it do not treat all of it alike.
    fn matters(&self, d: usize, classes: &Classes, asked: bool) -> bool {
        classes.count() > 1 && (asked || self.shared[d] > 1)
    }

    /// The classes of a dimension that has colours below `base`. Beside `rows` what rows tell apart is told apart, too.
    fn classed(&self, d: usize, mut colour: Vec<u32>, base: u32, rows: bool) -> Classes {
        let [fixed, of_rows] = &self.fixed[d];
        // Colours are kept as they are, so that like categories have like colours.
        let mut other = fixed.clone();
        if rows {
            refine(&mut other, |node| of_rows[node]);
        }
        colour.iter_mut().zip(other).for_each(|(c, other)| *c += base * other);
        Classes::new(&colour, &self.partitions[d])
    }
}

/// Sums over the classes of some levels: those of one table that a release holds.
#[derive(Debug)]
struct Sums {
    /// Of the table, in the release's own terms.
    cuboid: Cuboid,
    /// For each of its dimensions its number and that of the partition here, in the release's order.
    at: Vec<(usize, usize)>,
    /// The number of each combination of classes among all functionals, the last dimension fastest.
    numbers: Vec<usize>,
}

/// All sums of a question.
#[derive(Default)]
struct AllSums {
    filters: Vec<Filter>,
    /// For each release of tables those it tells.
    of: Vec<Vec<Sums>>,
}

impl<S: Source> Tables<'_, S> {
    /// The tables it holds over dimensions that matter, none of them below another.
    fn held(&self, matters: &dyn Fn(usize) -> bool) -> Vec<Cuboid> {
        let recovery = self.evaluator.recovery();
        let cut = |c: &Cuboid| Cuboid::new(c.iter().filter(|at| matters(self.dims[at.dimension])));
        let mut seen = HashSet::new();
        let mut all: Vec<Cuboid> = recovery.held().map(cut).filter(|c| seen.insert(c.clone())).collect();
        all.retain(|c| recovery.holds(c));
        let top = |c: &&Cuboid| !all.iter().any(|other| other != *c && c.is_below(other));
        all.iter().filter(top).cloned().collect()
    }
}

impl<S: Source> Pool<'_, S> {
    /// The sums of a question; `None` where there are more than can be taken together.
    fn sums(&self, classes: &[Arc<Classes>], matters: &dyn Fn(usize) -> bool) -> Option<AllSums> {
        let mut all = AllSums::default();
        let mut known: HashMap<Vec<(usize, usize, u32)>, usize> = HashMap::new();
        for tables in &self.tables {
            let mut own = Vec::new();
            let held = if tables.rows.is_empty() { tables.held(matters) } else { Vec::new() };
            for cuboid in held {
                let place = |at: Level| {
                    Some((tables.dims[at.dimension], *tables.levels[at.dimension].get(&at.level)?))
                };
                let at: Vec<(usize, usize)> = cuboid.iter().filter_map(place).collect();
                let sizes: Vec<usize> = at.iter().map(|&(d, p)| classes[d].blocks[p].1).collect();
                let count = sizes.iter().try_fold(1usize, |n, &s| n.checked_mul(s))?;
                if count > MOST_SUMS {
                    return None;
                }
                let mut numbers = Vec::with_capacity(count);
                for number in 0..count {
                    let mut rest = number;
                    let mut key: Vec<(usize, usize, u32)> = Vec::with_capacity(at.len());
                    for (&(d, p), &size) in at.iter().zip(&sizes).rev() {
                        key.push((d, p, (rest % size) as u32));
                        rest /= size;
                    }
                    key.sort_unstable();
                    let next = all.filters.len();
                    let number = *known.entry(key).or_insert_with_key(|key| {
                        all.filters.push(self.sum(classes, key));
                        next
                    });
                    numbers.push(number);
                }
                own.push(Sums { cuboid, at, numbers });
                if all.filters.len() > MOST_SUMS {
                    return None;
                }
            }
            all.of.push(own);
        }
        Some(all)
    }

    /// The cells of some classes.
    fn sum(&self, classes: &[Arc<Classes>], key: &[(usize, usize, u32)]) -> Filter {
        key.iter().fold(Filter::everything(), |filter, &(d, p, class)| {
            let (partition, blocks) = (&self.partitions[d][p], &classes[d].blocks[p].0);
            let inside: Vec<bool> = partition.iter().map(|&b| blocks[b as usize] == class).collect();
            // Two classes a dimension: no more weights than there are dimensions to the power of two.
            filter.and(&Filter::nodes(d, &inside)).unwrap_or(filter)
        })
    }
}
