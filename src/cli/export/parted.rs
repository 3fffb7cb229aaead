//! `--finish consistent` over a tree, from its top down: it takes the memory of some groups of areas, not that of the tree.
//!
//! One dimension is the tree. At each of its levels in use the cells are those of its areas by everything that a table of this level, or of a finer one,
//! has beside them; what only coarser tables have is summed up before the next step. To a group of areas the cells of the area that they lie in
//! are a table published exactly: they are parted among the group, near to the tables of their level (of finer tables the sums), as all
//! tables of a small release are ([`consistent`]). So every area is the sum of those in it, and two tables agree wherever they meet: there both are
//! sums of the cells of the coarser of their two levels. As each step keeps what is above it, no area's numbers depend on areas beside the
//! way down to it. What is finished goes into a file without a name, area by area.
//!
//! There is one list of non-negative whole cells behind all of these tables, too. Of an area's cells `o`, all that become the same cell `p` of its parts
//! have the same sum as the cells `p` of these, and what is declared empty closes cells `o` (above) and parts of `p` (below)
//! apart from each other: rows and columns of one sum, each of which may meet each. So nothing can fail but tables published exactly that
//! overlap, or that lie beside cells declared empty: what was chosen for an area may then leave its parts no whole numbers.

use super::kept::Kept;
use super::parting::{MOST, place, unfinished, whole};
use crate::answer::Answers;
use crate::cli::Failure;
use crate::cube::{Cube, Cuboid, Level};
use crate::recover::Source;
use crate::recover::bounds::{Bounds, Fixed, Unfinished};
use crate::recover::consistent::{self, Rolled};
use crate::recover::finish;
use crate::recover::zeros::Lumped;
use crate::watch::Stage;
use std::collections::BTreeSet;

/// The most cells that are finished before what lies below them.
const BATCH: usize = 1 << 21;

/// A dimension of so many categories is a tree, where tables have it at two levels.
const TREE: usize = 1 << 10;

/// What is known of a table's cells before they are finished: of each cell, and of each cell of what is known, the place in what both roll up to.
struct Known {
    of_cells: Vec<u32>,
    of_known: Vec<u32>,
    entries: usize,
}

/// A table at a step of the way down, without the tree.
struct Target {
    beside: Cuboid,
    cells: usize,
    /// Of each cell of the step the place in it.
    place: Vec<u32>,
    /// What the cells above say, unless an exact table says it.
    above: Option<Known>,
    /// What exact tables say, by their numbers.
    exact: Vec<(usize, Known)>,
}

/// A step of the way down.
struct Step {
    level: usize,
    /// The cells themselves.
    all: Target,
    tables: Vec<Target>,
    exact: Vec<Cuboid>,
    /// The areas of this step by the areas of the one before, and for each of these where its own end.
    children: (Vec<u32>, Vec<usize>),
}

/// The tables of a release: what was asked for, what is declared empty, what is published exactly.
struct Told {
    asked: Vec<Cuboid>,
    zeros: Vec<Cuboid>,
    exact: Vec<Cuboid>,
}

fn known(cube: &Cube, from: &Cuboid, to: &Cuboid) -> Known {
    let both = from.meet(to);
    Known {
        of_cells: place(cube, to, &both),
        of_known: place(cube, from, &both),
        entries: cells(cube, &both),
    }
}

fn cells(cube: &Cube, cuboid: &Cuboid) -> usize {
    cuboid.iter().fold(1, |n: usize, l| n.saturating_mul(l.of(cube).len()))
}

/// Each once, and none that another one is finer than but for those in `kept`.
fn finest(tables: impl Iterator<Item = Cuboid>, kept: &[Cuboid]) -> Vec<Cuboid> {
    let all: BTreeSet<Cuboid> = tables.collect();
    let finer = |t: &Cuboid| all.iter().any(|other| other != t && t.is_below(other));
    all.iter().filter(|t| kept.contains(t) || !finer(t)).cloned().collect()
}

impl Target {
    fn new(cube: &Cube, (all, above): (&Cuboid, &Cuboid), exact: &[Cuboid], beside: Cuboid) -> Target {
        let met = finest(exact.iter().map(|e| e.meet(&beside)), &[]);
        let of = |met: Cuboid| {
            let at = exact.iter().position(|e| e.meet(&beside) == met)?;
            Some((at, known(cube, &exact[at], &beside)))
        };
        let told = above.meet(&beside);
        Target {
            cells: cells(cube, &beside),
            place: place(cube, all, &beside),
            above: (!met.iter().any(|e| told.is_below(e))).then(|| known(cube, above, &beside)),
            exact: met.into_iter().filter_map(of).collect(),
            beside,
        }
    }

    /// What a group of areas must be in this table: `above` are the cells of the area it lies in, `exact` those of the exact tables of the group.
    fn bounds(&self, group: usize, open: Vec<bool>, above: &[u64], exact: &[Vec<u64>]) -> Bounds {
        let mut fixed = Vec::with_capacity(self.exact.len() + 1);
        if let Some(known) = &self.above {
            let place = known.of_cells.repeat(group);
            fixed.push(Fixed { place, counts: consistent::rolled_up(above, &known.of_known, known.entries) });
        }
        for (at, known) in &self.exact {
            let each = |area: usize| known.of_cells.iter().map(move |p| p + (area * known.entries) as u32);
            let own = exact[*at].chunks_exact(known.of_known.len());
            let counts = own.flat_map(|own| consistent::rolled_up(own, &known.of_known, known.entries));
            fixed.push(Fixed { place: (0..group).flat_map(each).collect(), counts: counts.collect() });
        }
        Bounds { open, fixed }
    }

    /// Of the cells of a group of areas the place in the same areas' cells of this table.
    fn places(&self, group: usize) -> Vec<u32> {
        (0..group).flat_map(|area| self.place.iter().map(move |p| p + (area * self.cells) as u32)).collect()
    }
}

/// The areas of a level by those of a coarser one, and where those of each end.
fn children(cube: &Cube, dimension: usize, (above, level): (usize, usize)) -> (Vec<u32>, Vec<usize>) {
    let up = cube.dimensions[dimension].ancestors(level, above);
    let mut ends = vec![0; cube.dimensions[dimension].levels[above].len()];
    up.iter().for_each(|&p| ends[p as usize] += 1);
    let mut sum = 0;
    ends.iter_mut().for_each(|end| {
        sum += *end;
        *end = sum;
    });
    let mut areas: Vec<u32> = (0..up.len() as u32).collect();
    areas.sort_by_key(|&area| up[area as usize]);
    (areas, ends)
}

impl Told {
    fn of(answers: &Answers) -> Told {
        let recovery = answers.evaluator().recovery();
        Told {
            asked: recovery.plan().rows().workload.iter().map(|t| t.cuboid.clone()).collect(),
            zeros: recovery.zeros().iter().map(|z| z.cuboid.clone()).collect(),
            exact: recovery.plan().exact.clone(),
        }
    }

    /// The levels of a dimension on the way down, coarse to fine, and what stands beside each.
    fn beside(&self, dimension: usize) -> Vec<(usize, Cuboid)> {
        let finest = self.asked.iter().map(|t| t.level(dimension)).max().unwrap_or(0);
        let all = self.asked.iter().chain(&self.zeros).chain(&self.exact).map(|t| t.level(dimension));
        let used: BTreeSet<usize> = all.filter(|&l| l <= finest).chain([0]).collect();
        let beside = |level: usize| {
            let told = self.asked.iter().chain(&self.zeros).filter(|t| t.level(dimension) >= level);
            (level, told.fold(Cuboid::total(), |all, t| all.join(&t.without(dimension))))
        };
        used.into_iter().map(beside).collect()
    }

    /// Whether the tables have many areas of a dimension, and larger ones that these lie in.
    fn is_tree(&self, cube: &Cube, dimension: usize) -> bool {
        let levels: BTreeSet<usize> =
            self.asked.iter().map(|t| t.level(dimension)).filter(|&l| l > 0).collect();
        let areas = levels.last().map_or(0, |&l| cube.dimensions[dimension].levels[l].len());
        levels.len() > 1 && areas >= TREE
    }

    /// How many cells the largest group of areas has, times tables. `None` of a dimension that no table has.
    fn size(&self, cube: &Cube, dimension: usize) -> Option<usize> {
        let steps = self.beside(dimension);
        let each = |i: usize| {
            let (level, beside) = &steps[i];
            let group = i.checked_sub(1).map_or(1, |before| {
                let (_, ends) = children(cube, dimension, (steps[before].0, *level));
                ends.iter().fold((0, 0), |(most, last), &end| (most.max(end - last), end)).0
            });
            let tables = self.asked.iter().filter(|t| t.level(dimension) >= *level).count().max(1);
            cells(cube, beside).saturating_mul(group).saturating_mul(tables)
        };
        if steps.len() > 1 { (0..steps.len()).map(each).max() } else { None }
    }

    fn step(&self, cube: &Cube, dimension: usize, i: usize, steps: &[(usize, Cuboid)]) -> Step {
        let (level, beside) = &steps[i];
        let (over, above) = match i.checked_sub(1) {
            Some(before) => (steps[before].0, steps[before].1.clone()),
            None => (0, Cuboid::total()),
        };
        let own = |t: &&Cuboid| t.level(dimension) == *level;
        let deep = |t: &&Cuboid| t.level(dimension) >= *level;
        let kept: Vec<Cuboid> = self.asked.iter().filter(own).map(|t| t.without(dimension)).collect();
        let tables = finest(self.asked.iter().filter(deep).map(|t| t.without(dimension)), &kept);
        let exact = self.exact.iter().filter(deep).map(|e| e.without(dimension).meet(beside));
        let exact = finest(exact, &[]);
        let target = |t: Cuboid| Target::new(cube, (beside, &above), &exact, t);
        let children = if i == 0 { (vec![0], vec![1]) } else { children(cube, dimension, (over, *level)) };
        let (all, tables) = (target(beside.clone()), tables.into_iter().map(target).collect());
        Step { level: *level, all, tables, exact, children }
    }
}

/// A table that is wanted, and where in it the cells of its step go.
struct Wanted {
    step: usize,
    /// For each area of the step the one that the table has.
    up: Vec<u32>,
    /// For each cell beside an area of the step.
    place: Vec<u32>,
    kept: Kept,
}

/// All tables that are wanted, on the way down.
pub(super) struct Parted<'a> {
    answers: &'a Answers,
    dimension: usize,
    steps: Vec<Step>,
    wanted: Vec<Wanted>,
    stage: Stage,
}

/// Areas of a step with their cells.
struct Batch {
    areas: Vec<u32>,
    counts: Vec<u64>,
}

impl<'a> Parted<'a> {
    /// Whether the tables of a release go down a tree however few they are.
    pub(super) fn has_tree(answers: &Answers) -> bool {
        let (cube, told) = (answers.cube(), Told::of(answers));
        (0..cube.dimensions.len()).any(|d| told.is_tree(cube, d))
    }

    /// These tables, finished. `None` of one that is finer than all that were asked for when the release was made.
    pub(super) fn tables(answers: &'a Answers, wanted: &[Cuboid]) -> Result<Vec<Option<Kept>>, Failure> {
        let (cube, told) = (answers.cube(), Told::of(answers));
        let sizes = (0..cube.dimensions.len()).filter_map(|d| Some((told.size(cube, d)?, d)));
        let Some((_, dimension)) = sizes.min().filter(|(size, _)| *size <= MOST) else {
            return Err(Failure::Message(
                "the tables of this release together have too many cells to make them agree, and no dimension parts them into groups of few enough: \
                 2^25 a group, over all tables"
                    .into(),
            ));
        };
        let steps = told.beside(dimension);
        let steps: Vec<Step> = (0..steps.len()).map(|i| told.step(cube, dimension, i, &steps)).collect();
        let found = wanted.iter().map(|t| Wanted::new(cube, dimension, &steps, t));
        let found = found.collect::<Result<Vec<Option<Wanted>>, _>>()?;
        let has: Vec<bool> = found.iter().map(Option::is_some).collect();
        let wanted: Vec<Wanted> = found.into_iter().flatten().collect();
        let deepest = wanted.iter().map(|w| w.step).max().unwrap_or(0);
        let areas = steps[..=deepest].iter().map(|s| s.children.0.len() as u64).sum();
        let stage = answers.evaluator().recovery().source().watch().stage("finishing", areas);
        let mut parted = Parted { answers, dimension, steps, wanted, stage };
        let total = finish::total(&parted.estimates(0, &Cuboid::total(), &[])?).map_err(unfinished)?;
        parted.below(0, &[(0, vec![total])])?;
        let mut finished = parted.wanted.into_iter().map(|w| w.kept);
        Ok(has.into_iter().map(|has| if has { finished.next() } else { None }).collect())
    }

    /// The levels of a table at a step, the tree first.
    fn levels(&self, step: usize, beside: &Cuboid) -> Vec<Level> {
        let area = Level::new(self.dimension, self.steps[step].level);
        std::iter::once(area).filter(|l| l.level > 0).chain(beside.iter()).collect()
    }

    /// The estimates of a table of these areas, which ascend.
    fn estimates(&self, step: usize, beside: &Cuboid, areas: &[u32]) -> Result<Vec<f64>, Failure> {
        let levels = self.levels(step, beside);
        let among = (self.steps[step].level > 0).then_some(areas);
        Ok(self.answers.evaluator().estimates_of(&levels, among)?)
    }

    /// Finishes the areas of a step that lie in some of the step before, given these with their cells, and all that lies below.
    fn below(&mut self, step: usize, above: &[(u32, Vec<u64>)]) -> Result<(), Failure> {
        let own = self.group(step, above)?;
        let each = self.steps[step].all.cells;
        for wanted in self.wanted.iter_mut().filter(|w| w.step == step) {
            for (&area, cells) in own.areas.iter().zip(own.counts.chunks_exact(each)) {
                let counts = consistent::rolled_up(cells, &wanted.place, wanted.kept.each());
                wanted.kept.add(wanted.up[area as usize], counts)?;
            }
        }
        self.stage.advance(own.areas.len() as u64);
        let Some(next) = self.steps.get(step + 1).filter(|_| self.wanted.iter().any(|w| w.step > step))
        else {
            return Ok(());
        };
        let (size, ends) = (next.all.cells, &next.children.1);
        let parts = |area: u32| {
            let area = area as usize;
            (ends[area] - area.checked_sub(1).map_or(0, |before| ends[before])) * size
        };
        let mut batches: Vec<Vec<(u32, Vec<u64>)>> = Vec::new();
        let mut left = 0;
        // Where nobody is there is nobody below.
        let some = own.areas.iter().zip(own.counts.chunks_exact(each));
        for (&area, cells) in some.filter(|(_, cells)| cells.iter().any(|n| *n > 0)) {
            match batches.last_mut().filter(|_| parts(area) <= left) {
                Some(batch) => {
                    batch.push((area, cells.to_vec()));
                    left -= parts(area);
                }
                None => {
                    batches.push(vec![(area, cells.to_vec())]);
                    left = BATCH.saturating_sub(parts(area));
                }
            }
        }
        drop(own);
        batches.iter().try_for_each(|batch| self.below(step + 1, batch))
    }

    /// The areas of a step that lie in these of the step before.
    fn group(&self, step: usize, above: &[(u32, Vec<u64>)]) -> Result<Batch, Failure> {
        let at = &self.steps[step];
        let (areas, ends) = &at.children;
        let members = |area: u32| {
            let area = area as usize;
            &areas[area.checked_sub(1).map_or(0, |before| ends[before])..ends[area]]
        };
        let groups: Vec<&[u32]> = above.iter().map(|(area, _)| members(*area)).collect();
        let mut sorted = groups.concat();
        sorted.sort_unstable();
        let told = at.tables.iter().map(|t| self.estimates(step, &t.beside, &sorted));
        let told = told.collect::<Result<Vec<_>, _>>()?;
        let exact = at.exact.iter().map(|e| whole(&self.estimates(step, e, &sorted)?));
        let exact = exact.collect::<Result<Vec<_>, _>>()?;
        let open = self.open(step, &sorted)?;
        let mut out = Batch { areas: groups.concat(), counts: Vec::new() };
        for (group, (_, above)) in groups.into_iter().zip(above) {
            let near: Vec<usize> = group.iter().map(|area| sorted.partition_point(|a| a < area)).collect();
            let open = of(&near, at.all.cells, &open);
            let exact: Vec<Vec<u64>> = at
                .exact
                .iter()
                .zip(&exact)
                .map(|(e, counts)| of(&near, cells(self.answers.cube(), e), counts))
                .collect();
            let rolled = |(target, told): (&Target, &Vec<f64>)| {
                let place = target.places(group.len());
                let mut own = vec![false; group.len() * target.cells];
                place.iter().zip(&open).for_each(|(&p, open)| own[p as usize] |= open);
                let bounds = target.bounds(group.len(), own, above, &exact);
                Rolled { estimates: of(&near, target.cells, told), place, bounds }
            };
            let tables: Vec<Rolled> = at.tables.iter().zip(&told).map(rolled).collect();
            let bounds = at.all.bounds(group.len(), open.clone(), above, &exact);
            let counts = consistent::consistent(&tables, &bounds).map_err(|why| match why {
                Unfinished::Contradiction | Unfinished::NotFound(_) if step > 0 => Failure::Message(
                    "these tables were not finished: for some area no whole numbers were found that add up to those of the area above it and to \
                     the tables published exactly; there may be some"
                        .into(),
                ),
                why => unfinished(why),
            });
            out.counts.extend(counts?);
        }
        Ok(out)
    }

    /// Which cells of these areas may be other than 0, by their finest cells: see [`super::finished::Finisher`].
    fn open(&self, step: usize, areas: &[u32]) -> Result<Vec<bool>, Failure> {
        let (cube, recovery) = (self.answers.cube(), self.answers.evaluator().recovery());
        let at = &self.steps[step];
        let mut open = vec![recovery.zeros().is_empty(); areas.len() * at.all.cells];
        if recovery.zeros().is_empty() {
            return Ok(open);
        }
        let frame = recovery.frame();
        let own = frame.telling(&Cuboid::new(self.levels(step, &at.all.beside)));
        let too_many =
            || Failure::Message("what is declared empty tells too many cells apart to be finished".into());
        let fine = recovery.zeros().iter().fold(own.ok_or_else(too_many)?, |all, z| all.join(&z.cuboid));
        let beside = fine.without(self.dimension);
        let size = Some(cells(cube, &beside)).filter(|&n| n <= MOST).ok_or_else(too_many)?;
        let place = place(cube, &beside, &at.all.beside);
        let level = fine.at(self.dimension);
        let up = cube.dimensions[self.dimension].ancestors(level.level, at.level);
        let below = (0..up.len() as u32)
            .filter_map(|node| Some((node, areas.binary_search(&up[node as usize]).ok()?)));
        let below: Vec<(u32, usize)> = below.collect();
        let after: usize =
            fine.iter().filter(|l| l.dimension > self.dimension).map(|l| l.of(cube).len()).product();
        for some in below.chunks((BATCH / size).max(1)) {
            let mut lumped = Lumped::whole(frame);
            if let Some((axis, nodes)) =
                frame.axes.get(self.dimension).zip(lumped.nodes.get_mut(&self.dimension))
                && let Some(nodes) = axis.rung(level.level).and_then(|rung| nodes.get_mut(rung))
            {
                *nodes = some.iter().map(|(node, _)| *node).collect();
            }
            let mut weights = vec![1.0; size * some.len()];
            recovery.zeros().clear(cube, &lumped, &fine, &mut weights);
            for (cell, _) in weights.iter().enumerate().filter(|(_, w)| **w != 0.0) {
                let (outer, node, inner) =
                    (cell / (after * some.len()), cell / after % some.len(), cell % after);
                open[some[node].1 * at.all.cells + place[outer * after + inner] as usize] = true;
            }
        }
        Ok(open)
    }
}

impl Wanted {
    fn new(cube: &Cube, dimension: usize, steps: &[Step], table: &Cuboid) -> Result<Option<Wanted>, Failure> {
        let (level, beside) = (table.at(dimension), table.without(dimension));
        let step = steps.iter().position(|s| s.level >= level.level);
        let at = step.and_then(|step| Some((step, steps.get(step)?)));
        let Some((step, at)) = at.filter(|(_, s)| beside.is_below(&s.all.beside)) else { return Ok(None) };
        let up = cube.dimensions[dimension].ancestors(at.level, level.level);
        let place = place(cube, &at.all.beside, &beside);
        Ok(Some(Wanted { step, up, place, kept: Kept::new(cube, level, &beside)? }))
    }
}

/// The cells of some areas, so many each.
fn of<T: Clone>(areas: &[usize], each: usize, cells: &[T]) -> Vec<T> {
    areas.iter().flat_map(|&area| cells[area * each..(area + 1) * each].iter().cloned()).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{Finish, finished::Finisher};
    use super::*;
    use crate::cube::{Categories, Dimension};
    use crate::make::ReleaseOptions;
    use crate::numeric::dice::Dice;
    use crate::secret::ingest::{Frame, Held};
    use crate::spec::Spec;

    /// Blocks by their tract and county: groups of one to five.
    const BLOCKS: [(usize, usize); 12] =
        [(0, 0), (0, 0), (0, 0), (1, 0), (2, 1), (2, 1), (2, 1), (2, 1), (2, 1), (3, 1), (4, 1), (4, 1)];

    pub(in crate::cli::export) fn release(seed: u64, more: &str) -> (tempfile::TempDir, Answers) {
        let folder = tempfile::tempdir().unwrap();
        let level = |name: &str, of: &dyn Fn(usize) -> usize| {
            let all: BTreeSet<usize> = (0..12).map(of).collect();
            let each = all.iter().map(|k| {
                let own: Vec<String> =
                    (0..12).filter(|b| of(*b) == *k).map(|b| format!("\"b{b}\"")).collect();
                format!("{name}{k} = [{}]", own.join(", "))
            });
            format!("{{ name = \"{name}\", map = {{ {} }} }}", each.collect::<Vec<_>>().join(", "))
        };
        let blocks: Vec<String> = (0..12).map(|b| format!("\"b{b}\"")).collect();
        let spec = format!(
            "name = \"f\"\ntitle = \"t\"\ndemo = true\n[privacy]\nunit = \"row\"\nrho = \"1/5\"\n[strategy]\nmeasure = \"residual\"\n\
             [[dimension]]\nname = \"block\"\ncategories = [{}]\nlevels = [{}, {}]\n\
             [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n[[dimension]]\nname = \"age\"\ncategories = [\"0\", \"1\", \"2\"]\n\
             [[table]]\nof = [\"sex\", \"block.county\", \"age\"]\n[[table]]\nof = [\"block.tract\", \"age\"]\n[[table]]\nof = [\"block\", \"sex\"]\n{more}",
            blocks.join(", "),
            level("county", &|b| BLOCKS[b].1),
            level("tract", &|b| BLOCKS[b].0),
        );
        let mut rows = Frame::new(["block", "sex", "age"].map(|name| (name.into(), Held::Text)).to_vec());
        let mut dice = Dice::new(seed);
        let mut left = 60;
        while left > 0 {
            let (block, sex, age) = (dice.below(12) * dice.below(12) / 11, dice.below(2), dice.below(3));
            // What the specs below declare empty.
            if (sex, age) == (0, 2) || (block, sex) == (3, 1) || (BLOCKS[block].1, age) == (1, 0) {
                continue;
            }
            rows.cell(format!("b{block}").as_bytes());
            rows.cell(["F", "M"][sex].as_bytes());
            rows.cell(age.to_string().as_bytes());
            left -= 1;
        }
        let options =
            ReleaseOptions::new().out(folder.path()).ledger(folder.path().join("l.jsonl")).rows(&rows);
        let made = Spec::from_toml(&spec).unwrap().release(options.insecure_seed(seed)).unwrap();
        let answers = Answers::open(made.path()).unwrap();
        (folder, answers)
    }

    fn off(estimates: &[f64], counts: &[u64]) -> f64 {
        estimates.iter().zip(counts).map(|(y, n)| (y - *n as f64).powi(2)).sum()
    }

    /// Whole numbers of which every two tables agree wherever they meet, empty where it is declared, as published where it is exact; about as near to the
    /// estimates as what is fitted at once, and each the same with or without tables further down.
    #[test]
    fn tables_agree_part_by_part() {
        const EMPTY: &str = "[[zero]]\nwhere = \"sex = 'F' AND age = '2'\"\n[[zero]]\nwhere = \"block = 'b3' AND sex = 'M'\"\n\
                             [[zero]]\nwhere = \"block.county = 'county1' AND age = '0'\"\n";
        const EXACT: &str = "[[table]]\nof = [\"block.county\", \"sex\"]\nexact = true\nreason = \"known\"\n";
        let (mut apart, mut together, mut empty, mut exact) = (0.0, 0.0, 0, 0);
        for (seed, more) in (1..13).zip([String::new(), EMPTY.into(), EXACT.into()].iter().cycle()) {
            let (_folder, answers) = release(seed, more);
            let (cube, recovery) = (answers.cube(), answers.evaluator().recovery());
            let mut tables: Vec<Cuboid> =
                recovery.plan().rows().workload.iter().map(|t| t.cuboid.clone()).collect();
            let met: Vec<Cuboid> = tables.iter().flat_map(|t| tables.iter().map(|u| t.meet(u))).collect();
            let asked = tables.len();
            tables.extend(met);
            tables.push(Cuboid::new([Level::new(0, 3), Level::new(2, 1)]));
            let found = Parted::tables(&answers, &tables).ok().unwrap();
            assert!(found.last().unwrap().is_none(), "no table has blocks by age");
            let found: Vec<Vec<u64>> = found.iter().flatten().map(|t| t.all().ok().unwrap()).collect();
            for (t, own) in tables.iter().zip(&found) {
                for (u, other) in tables.iter().zip(&found) {
                    let both = t.meet(u);
                    let up = |counts: &[u64], from| {
                        consistent::rolled_up(counts, &place(cube, from, &both), cells(cube, &both))
                    };
                    assert_eq!(up(own, t), up(other, u), "{seed} {t:?} {u:?}");
                }
                let alone = Parted::tables(&answers, std::slice::from_ref(t)).ok().unwrap();
                assert_eq!(alone[0].as_ref().and_then(|t| t.all().ok()).as_ref(), Some(own), "{seed}");
            }
            let total = answers.evaluator().estimates_of(&[], None).unwrap()[0];
            assert_eq!(found[0].iter().sum::<u64>() as f64, total.round().max(0.0));
            let finisher = Finisher::new(&answers, Finish::Consistent, &[]).ok().unwrap();
            for (t, own) in tables.iter().zip(&found).take(asked) {
                let levels: Vec<Level> = t.iter().collect();
                let estimates = answers.evaluator().estimates_of(&levels, None).unwrap();
                apart += off(&estimates, own);
                together += off(&estimates, &finisher.table(&levels, &estimates).ok().unwrap());
                let mut weights = vec![1.0; own.len()];
                recovery.zeros().clear(cube, &Lumped::whole(recovery.frame()), t, &mut weights);
                for (n, w) in own.iter().zip(weights) {
                    assert!(w != 0.0 || *n == 0, "{seed} {t:?}");
                    empty += u32::from(w == 0.0);
                }
                for e in &recovery.plan().exact {
                    let both = t.meet(e);
                    let counts =
                        answers.evaluator().estimates_of(&both.iter().collect::<Vec<_>>(), None).unwrap();
                    let rolled = consistent::rolled_up(own, &place(cube, t, &both), counts.len());
                    assert_eq!(off(&counts, &rolled).round(), 0.0, "{seed} {t:?}");
                    exact += 1;
                }
            }
        }
        assert!(empty > 20 && exact > 8, "{empty} {exact}");
        assert!(apart < 1.5 * together, "{apart} {together}");
    }

    /// It takes many areas, and a table of the areas that they lie in: whatever else there is, and however few cells.
    #[test]
    fn what_a_tree_is() {
        let tree = |blocks: usize, asked: &[usize]| {
            let categories = |name: &str, n: usize, parent: Vec<u32>| Categories {
                name: name.into(),
                labels: (0..n).map(|i| i.to_string()).collect(),
                parent,
                bounds: Vec::new(),
            };
            let county = categories("county", 3, vec![0; 3]);
            let block = categories("block", blocks, (0..blocks as u32).map(|b| b % 3).collect());
            let dimension = Dimension::new("block", vec![Categories::total(), county, block]);
            let cube = Cube { dimensions: vec![dimension] };
            let asked = asked.iter().map(|&level| Cuboid::new([(0, level)])).collect();
            Told { asked, zeros: Vec::new(), exact: Vec::new() }.is_tree(&cube, 0)
        };
        assert!(tree(TREE, &[1, 2]) && tree(TREE, &[0, 1, 2]));
        assert!(!tree(TREE - 1, &[1, 2]) && !tree(TREE, &[2]) && !tree(TREE, &[0, 2]) && !tree(TREE, &[1]));
    }
}
