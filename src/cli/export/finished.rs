//! `--finish`: whole numbers in the place of estimates, within what is published exactly and declared empty.

use super::kept::Kept;
use super::parted::Parted;
use super::parting::{MOST, place, unfinished, whole};
use super::{Failure, Finish};
use crate::answer::Answers;
use crate::cube::{Cube, Cuboid, Level, odometer};
use crate::recover::bounds::{Bounds, Fixed};
use crate::recover::consistent::{self, Rolled};
use crate::recover::finish;
use crate::recover::zeros::Lumped;

/// Finishes tables of one release.
pub(crate) struct Finisher<'a> {
    answers: &'a Answers,
    made: Made,
}

/// What is there before a table is asked for.
enum Made {
    /// Nothing: each table is finished by itself.
    Nothing,
    /// The common cells of all tables.
    Common(Cuboid, Vec<u64>),
    /// Tables that go down a tree; `None` where one is finer than those of the release.
    Parted(Vec<(Cuboid, Option<Kept>)>),
}

/// A finished table that is wanted part by part, each of some nodes of its first level.
pub(super) enum InParts<'f> {
    /// All cells in the order that was asked for, and how many each node has.
    Held(Vec<u64>, usize),
    /// And for each cell of a node its place among those that are kept.
    Kept(&'f Kept, Vec<usize>),
}

impl InParts<'_> {
    pub(super) fn of(&self, nodes: &[u32]) -> Result<Vec<u64>, Failure> {
        let mut out = Vec::new();
        for &node in nodes {
            match self {
                InParts::Held(counts, each) => {
                    out.extend(counts.iter().skip(node as usize * each).take(*each))
                }
                InParts::Kept(kept, order) => {
                    let own = kept.of(node)?;
                    out.extend(order.iter().filter_map(|&at| own.get(at)));
                }
            }
        }
        Ok(out)
    }
}

/// The estimates of a table, the last level quickest.
pub(super) fn estimates(answers: &Answers, levels: &[Level]) -> Result<Vec<f64>, Failure> {
    Ok(answers.evaluator().estimates_of(levels, None)?)
}

fn levels(cuboid: &Cuboid) -> Vec<Level> {
    cuboid.iter().collect()
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
    /// Of all tables at once the common cells are worked out here, or over a tree, and where these are too many, the tables that are wanted.
    pub(crate) fn new(
        answers: &'a Answers,
        how: Finish,
        wanted: &[Vec<Level>],
    ) -> Result<Finisher<'a>, Failure> {
        let mut finisher = Finisher { answers, made: Made::Nothing };
        if matches!(how, Finish::Consistent) {
            finisher.made = finisher.together(wanted, MOST)?;
        }
        Ok(finisher)
    }

    fn together(&self, wanted: &[Vec<Level>], most: usize) -> Result<Made, Failure> {
        let recovery = self.answers.evaluator().recovery();
        let workload = &recovery.plan().rows().workload;
        let tables = workload.iter().map(|t| &t.cuboid).chain(recovery.zeros().iter().map(|z| &z.cuboid));
        let base = tables.fold(Cuboid::total(), |all, t| all.join(t));
        // Both ways give other numbers. Over a tree there is one, however large it is.
        let few = self.cells(&base).is_some_and(|c| c.saturating_mul(workload.len()) <= most);
        if few && !Parted::has_tree(self.answers) {
            let counts = self.common(&base)?;
            return Ok(Made::Common(base, counts));
        }
        let mut wanted: Vec<Cuboid> = wanted.iter().map(|t| Cuboid::new(t.iter().copied())).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let counts = Parted::tables(self.answers, &wanted)?;
        Ok(Made::Parted(wanted.into_iter().zip(counts).collect()))
    }

    fn cube(&self) -> &Cube {
        self.answers.cube()
    }

    /// A table of these levels, finished; estimates and counts in their order.
    pub(crate) fn table(&self, asked: &[Level], estimates: &[f64]) -> Result<Vec<u64>, Failure> {
        let (cube, own) = (self.cube(), Cuboid::new(asked.iter().copied()));
        let order = order(cube, asked);
        let counts = match &self.made {
            Made::Common(base, _) if !own.is_below(base) => return Err(self.finer(&own)),
            Made::Common(base, counts) => {
                consistent::rolled_up(counts, &place(cube, base, &own), order.len())
            }
            Made::Parted(tables) => self.kept(tables, &own)?.all()?,
            Made::Nothing => {
                let mut sorted = vec![0.0; order.len()];
                order.iter().zip(estimates).for_each(|(&at, y)| sorted[at] = *y);
                let total = finish::total(&sorted).map_err(unfinished)?;
                finish::nonnegative_integral(&sorted, &self.bounds(&own, total)?).map_err(unfinished)?
            }
        };
        Ok(order.iter().filter_map(|&at| counts.get(at).copied()).collect())
    }

    /// A table of these levels, finished, of which a part is taken after the other.
    pub(super) fn in_parts(&self, asked: &[Level]) -> Result<InParts<'_>, Failure> {
        let rest = asked.get(1..).unwrap_or_default();
        if let (Made::Parted(tables), Some(first)) = (&self.made, asked.first()) {
            let kept = self.kept(tables, &Cuboid::new(asked.iter().copied()))?;
            if kept.dimension() == first.dimension {
                return Ok(InParts::Kept(kept, order(self.cube(), rest)));
            }
        }
        let estimates = match self.made {
            Made::Nothing => self.answers.evaluator().estimates_of(asked, None)?,
            _ => Vec::new(),
        };
        let each = rest.iter().map(|l| l.of(self.cube()).len()).product();
        Ok(InParts::Held(self.table(asked, &estimates)?, each))
    }

    fn kept<'f>(&self, tables: &'f [(Cuboid, Option<Kept>)], own: &Cuboid) -> Result<&'f Kept, Failure> {
        let found = tables.iter().find(|(table, _)| table == own).and_then(|(_, kept)| kept.as_ref());
        found.ok_or_else(|| self.finer(own))
    }

    fn finer(&self, own: &Cuboid) -> Failure {
        Failure::Message(format!(
            "{} cannot be finished so that all tables agree: it is finer than the tables that were asked for when the release was made",
            self.cube().describe(own)
        ))
    }

    /// The common cells of all tables.
    fn common(&self, base: &Cuboid) -> Result<Vec<u64>, Failure> {
        let (cube, recovery) = (self.cube(), self.answers.evaluator().recovery());
        let workload = &recovery.plan().rows().workload;
        let first = workload.first().map(|t| levels(&t.cuboid)).unwrap_or_default();
        let total = finish::total(&estimates(self.answers, &first)?).map_err(unfinished)?;
        let rolled = |own: &Cuboid| -> Result<Rolled, Failure> {
            Ok(Rolled {
                estimates: estimates(self.answers, &levels(own))?,
                place: place(cube, base, own),
                bounds: self.bounds(own, total)?,
            })
        };
        let tables = workload.iter().map(|t| rolled(&t.cuboid)).collect::<Result<Vec<_>, _>>()?;
        consistent::consistent(&tables, &self.bounds(base, total)?).map_err(unfinished)
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
            let counts = whole(&estimates(self.answers, &levels(e))?)?;
            Ok(Fixed { place: place(cube, own, e), counts })
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
        let fine = recovery.frame().telling(own).ok_or_else(too_many)?;
        let fine = recovery.zeros().iter().fold(fine, |all, z| all.join(&z.cuboid));
        let mut weights = vec![1.0; self.cells(&fine).ok_or_else(too_many)?];
        recovery.zeros().clear(cube, &Lumped::whole(recovery.frame()), &fine, &mut weights);
        let mut open = vec![false; cells];
        place(cube, &fine, own).iter().zip(weights).for_each(|(&at, w)| open[at as usize] |= w != 0.0);
        Ok(open)
    }
}

#[cfg(test)]
mod tests {
    use super::super::parted::tests::release;
    use super::*;

    /// The cells of some nodes are those that the whole table has there, in whatever order its dimensions were asked for.
    #[test]
    fn parts_are_of_the_table() {
        let (_folder, answers) = release(5, "");
        let [county, tract, sex, age] = [(0, 1), (0, 2), (1, 1), (2, 1)].map(|(d, l)| Level::new(d, l));
        let mut kept = 0;
        for asked in [vec![county, age, sex], vec![sex, county, age], vec![tract, age], vec![age]] {
            for how in [Finish::NonnegativeIntegral, Finish::Consistent] {
                for most in [0, MOST] {
                    let mut finisher = Finisher { answers: &answers, made: Made::Nothing };
                    if matches!(how, Finish::Consistent) {
                        finisher.made = finisher.together(std::slice::from_ref(&asked), most).ok().unwrap();
                    }
                    let estimates = estimates(&answers, &asked).ok().unwrap();
                    let whole = finisher.table(&asked, &estimates).ok().unwrap();
                    let each = whole.len() / asked[0].of(answers.cube()).len();
                    let parts = finisher.in_parts(&asked).ok().unwrap();
                    kept += u32::from(matches!(parts, InParts::Kept(..)));
                    assert_eq!(parts.of(&[1]).ok().unwrap(), whole[each..2 * each], "{asked:?}");
                    assert_eq!(parts.of(&[0, 1]).ok().unwrap(), whole[..2 * each], "{asked:?}");
                    assert!(whole.iter().sum::<u64>() > 0);
                }
            }
        }
        assert_eq!(kept, 2, "the tree comes first in two");
    }
}
