//! `--finish`: whole numbers in the place of estimates, within what is published exactly and declared empty.

use super::{Failure, Finish};
use crate::answer::Answers;
use crate::cube::{Cube, Cuboid, Filter, Level, odometer};
use crate::recover::bounds::{Bounds, Fixed};
use crate::recover::consistent::{self, MOST, Rolled};
use crate::recover::finish;
use crate::recover::zeros::Lumped;

/// Finishes tables of one release.
pub(crate) struct Finisher<'a> {
    answers: &'a Answers,
    /// The common cells of all tables, where these are finished together.
    common: Option<(Cuboid, Vec<u64>)>,
}

/// The estimates of a table, the last level quickest.
pub(super) fn estimates(answers: &Answers, levels: &[Level]) -> Result<Vec<f64>, Failure> {
    let groups = answers.evaluator().aggregate(&Filter::everything(), levels)?;
    Ok(groups.iter().map(|g| g.estimate).collect())
}

fn levels(cuboid: &Cuboid) -> Vec<Level> {
    cuboid.iter().collect()
}

/// Of each cell of a table its place in a coarser one.
fn place(cube: &Cube, from: &Cuboid, to: &Cuboid) -> Vec<u32> {
    let up = |at: Level| cube.dimensions[at.dimension].ancestors(at.level, to.level(at.dimension));
    let steps: Vec<(Vec<u32>, u32)> =
        from.iter().map(|at| (up(at), to.at(at.dimension).of(cube).len() as u32)).collect();
    let mut pick = vec![0; steps.len()];
    let all: usize = steps.iter().map(|s| s.0.len()).product();
    (0..all)
        .map(|_| {
            let own = steps.iter().zip(&pick);
            let at = own.fold(0, |at, ((up, size), &node)| at * size + up[node as usize]);
            odometer::next(&mut pick, |i| steps[i].0.len());
            at
        })
        .collect()
}

/// Of each cell in the order that was asked for its place in the order of dimensions.
fn order(cube: &Cube, asked: &[Level]) -> Vec<usize> {
    let mut sorted = asked.to_vec();
    sorted.sort_unstable();
    let sizes: Vec<usize> = asked.iter().map(|l| l.of(cube).len()).collect();
    let mut pick = vec![0u32; asked.len()];
    let at = |pick: &[u32]| {
        sorted.iter().fold(0, |at, level| {
            let node = asked.iter().position(|a| a == level).map_or(0, |i| pick[i]);
            at * level.of(cube).len() + node as usize
        })
    };
    (0..sizes.iter().product())
        .map(|_| {
            let own = at(&pick);
            odometer::next(&mut pick, |i| sizes[i]);
            own
        })
        .collect()
}

impl<'a> Finisher<'a> {
    /// Of all tables at once the common cells are worked out here.
    pub(crate) fn new(answers: &'a Answers, how: Finish) -> Result<Finisher<'a>, Failure> {
        let mut finisher = Finisher { answers, common: None };
        if matches!(how, Finish::Consistent) {
            finisher.common = Some(finisher.common()?);
        }
        Ok(finisher)
    }

    fn cube(&self) -> &Cube {
        self.answers.cube()
    }

    /// A table of these levels, finished; estimates and counts in their order.
    pub(crate) fn table(&self, asked: &[Level], estimates: &[f64]) -> Result<Vec<u64>, Failure> {
        let (cube, own) = (self.cube(), Cuboid::new(asked.iter().copied()));
        let order = order(cube, asked);
        let counts = match &self.common {
            Some((base, _)) if !own.is_below(base) => {
                return Err(Failure::Message(format!(
                    "{} cannot be finished so that all tables agree: it is finer than the tables that were asked for when the release was made",
                    cube.describe(&own)
                )));
            }
            Some((base, counts)) => consistent::rolled_up(counts, &place(cube, base, &own), order.len()),
            None => {
                let mut sorted = vec![0.0; order.len()];
                order.iter().zip(estimates).for_each(|(&at, y)| sorted[at] = *y);
                let total = finish::total(&sorted).map_err(unfinished)?;
                finish::nonnegative_integral(&sorted, &self.bounds(&own, total)?).map_err(unfinished)?
            }
        };
        Ok(order.iter().filter_map(|&at| counts.get(at).copied()).collect())
    }

    fn common(&self) -> Result<(Cuboid, Vec<u64>), Failure> {
        let (cube, recovery) = (self.cube(), self.answers.evaluator().recovery());
        let workload = &recovery.plan().rows().workload;
        let tables = workload.iter().map(|t| &t.cuboid).chain(recovery.zeros().iter().map(|z| &z.cuboid));
        let base = tables.fold(Cuboid::total(), |all, t| all.join(t));
        if self.cells(&base).is_none_or(|c| c.saturating_mul(workload.len()) > MOST) {
            let all = cube.describe(&base);
            return Err(Failure::Message(format!(
                "{all} together has too many cells to make all tables agree: 2^25 over all tables"
            )));
        }
        let first = workload.first().map(|t| levels(&t.cuboid)).unwrap_or_default();
        let total = finish::total(&estimates(self.answers, &first)?).map_err(unfinished)?;
        let rolled = |own: &Cuboid| -> Result<Rolled, Failure> {
            Ok(Rolled {
                estimates: estimates(self.answers, &levels(own))?,
                place: place(cube, &base, own),
                bounds: self.bounds(own, total)?,
            })
        };
        let tables = workload.iter().map(|t| rolled(&t.cuboid)).collect::<Result<Vec<_>, _>>()?;
        let counts = consistent::consistent(&tables, &self.bounds(&base, total)?).map_err(unfinished)?;
        Ok((base, counts))
    }

    fn cells(&self, cuboid: &Cuboid) -> Option<usize> {
        self.cube().cells(cuboid).and_then(|c| usize::try_from(c).ok()).filter(|&c| c <= MOST)
    }

    /// What the cells of a table must be: tables published exactly are rolled up to it and it to them, and where none is, this is its total.
    fn bounds(&self, own: &Cuboid, total: u64) -> Result<Bounds, Failure> {
        let (cube, plan) = (self.cube(), self.answers.evaluator().recovery().plan());
        let open = self.open(own)?;
        let mut exact: Vec<Cuboid> = plan.exact.iter().map(|e| e.meet(own)).collect();
        exact.sort_unstable();
        exact.dedup();
        let all = exact.clone();
        exact.retain(|e| !all.iter().any(|other| other != e && e.is_below(other)));
        let fixed = |e: &Cuboid| -> Result<Fixed, Failure> {
            let groups = self.answers.evaluator().aggregate(&Filter::everything(), &levels(e))?;
            // Exact counts are whole; of a file made to harm they may be anything.
            let count =
                |y: f64| if (-0.25..9e15).contains(&y) { Some(libm::round(y).max(0.0) as u64) } else { None };
            let counts = groups.iter().map(|g| count(g.estimate)).collect::<Option<Vec<u64>>>();
            let none = || {
                Failure::Message("a table published exactly has counts below 0: it cannot be finished".into())
            };
            Ok(Fixed { place: place(cube, own, e), counts: counts.ok_or_else(none)? })
        };
        let mut fixed = exact.iter().map(fixed).collect::<Result<Vec<_>, _>>()?;
        if fixed.is_empty() {
            fixed.push(Fixed { place: vec![0; open.len()], counts: vec![total] });
        }
        Ok(Bounds { open, fixed })
    }

    /// Which cells of a table may be other than 0: those with a finest cell that is not declared empty. Several conditions may empty
    /// a cell that none of them empties alone, so they are looked up in cells that tell all of them apart.
    fn open(&self, own: &Cuboid) -> Result<Vec<bool>, Failure> {
        let (cube, recovery) = (self.cube(), self.answers.evaluator().recovery());
        let too_many = || {
            let name = cube.describe(own);
            Failure::Message(format!("{name} has too many cells to be finished, with what is declared empty"))
        };
        let cells = self.cells(own).ok_or_else(too_many)?;
        if recovery.zeros().is_empty() {
            return Ok(vec![true; cells]);
        }
        let in_use = |at: Level| {
            let level = recovery.frame().axes.get(at.dimension).and_then(|axis| axis.level_for(at.level));
            level.map(|level| Level::new(at.dimension, level))
        };
        let fine = own.iter().map(in_use).collect::<Option<Vec<_>>>().ok_or_else(too_many)?;
        let fine = recovery.zeros().iter().fold(Cuboid::new(fine), |all, z| all.join(&z.cuboid));
        let mut weights = vec![1.0; self.cells(&fine).ok_or_else(too_many)?];
        recovery.zeros().clear(cube, &Lumped::whole(recovery.frame()), &fine, &mut weights);
        let mut open = vec![false; cells];
        place(cube, &fine, own).iter().zip(weights).for_each(|(&at, w)| open[at as usize] |= w != 0.0);
        Ok(open)
    }
}

fn unfinished(why: crate::recover::bounds::Unfinished) -> Failure {
    Failure::Message(why.to_string())
}
