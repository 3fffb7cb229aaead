//! The worst pair of neighbours: which unit moves a release most, tried with groups of alike units, so that few releases show it.

use super::normal::{Scatter, Squared};
use super::people::{Domain, Person, Row, Size};
use super::samples::{Maker, Sample};
use margins::cli::{Failure, Outcome};
use margins::cube::Cube;
use margins::numeric::dice::Dice;
use margins::plan::{Block, Plan};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A unit that may come, go, or stand in another's place; and how far one of it moves each number.
struct Tried {
    person: Person,
    shift: Vec<f64>,
}

/// Two neighbours: what one unit is in the one and in the other.
pub(super) struct Pair {
    pub before: Person,
    pub after: Person,
    /// How far one moves each number, roughly.
    pub shift: Vec<f64>,
    /// And how far each of these may be off.
    pub unsure: Vec<f64>,
}

/// How much of each is tried.
const CELLS: usize = 24;
const NODES: usize = 12;
/// Costs in such a ratio are not told apart.
const LIKE: f64 = 1.02;
/// So many releases show how far a group moves a number.
const RELEASES: usize = 8;

pub(super) struct Search<'a> {
    pub domain: &'a Domain,
    pub maker: &'a Maker<'a>,
    /// How many alike units come together.
    pub group: usize,
    /// Whether costs are sums of squares.
    pub squares: bool,
    means: Vec<f64>,
    spread: Vec<f64>,
    scatter: Option<Scatter>,
    /// Why the last rows were none.
    refused: RefCell<String>,
}

impl<'a> Search<'a> {
    /// `base` are releases of nobody.
    pub(super) fn new(
        (domain, maker): (&'a Domain, &'a Maker<'a>),
        (group, squares): (usize, bool),
        base: &Sample,
    ) -> Search<'a> {
        let (means, n) = (base.means(), base.len() as f64);
        let mut spread = vec![0.0; means.len()];
        for row in base.rows() {
            spread.iter_mut().zip(row).zip(&means).for_each(|((s, x), m)| *s += (x - m) * (x - m) / n);
        }
        let spread = spread.into_iter().map(f64::sqrt).collect();
        // Of more numbers than so many releases tell, each is looked at by itself.
        let scatter = (3 * means.len() < base.len()).then(|| Scatter::of(&[base]));
        Search { domain, maker, group, squares, means, spread, scatter, refused: RefCell::default() }
    }

    /// How much a shift costs, in units that are the same for all.
    fn cost(&self, shift: &[f64]) -> f64 {
        let alone = |(d, s): (&f64, &f64)| match (*d == 0.0, *s == 0.0) {
            (true, _) => 0.0,
            (_, true) => f64::INFINITY,
            _ => (d / s).abs(),
        };
        let each = shift.iter().zip(&self.spread).map(alone);
        match (&self.scatter, self.squares) {
            (_, false) => each.sum(),
            (Some(scatter), true) => match scatter.squared(shift) {
                Squared::Of(cost) => cost,
                Squared::NoNoise => f64::INFINITY,
            },
            (None, true) => each.map(|x| x * x).sum(),
        }
    }

    /// How far groups of these move each number, for one of them. Rows that the spec does not let be (in cells that are empty, say) are left out: why,
    /// is kept.
    fn shifts(&self, people: impl Iterator<Item = Person>, all: &mut Vec<Tried>) -> Outcome {
        for person in people {
            let frame = self.domain.frame(std::iter::repeat_n(&person, self.group));
            let means = match self.maker.sample(&frame, RELEASES) {
                Ok(sample) => sample.means(),
                Err(Failure::Message(why)) => {
                    self.refused.replace(why);
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            let moved = |((after, before), spread): ((&f64, &f64), &f64)| {
                let by = after - before;
                // What noise alone may do is none.
                if by.abs() > 5.0 * spread / (RELEASES as f64).sqrt() { by / self.group as f64 } else { 0.0 }
            };
            let shift = means.iter().zip(&self.means).zip(&self.spread).map(moved).collect();
            all.push(Tried { person, shift });
        }
        Ok(())
    }

    fn alike(&self, cell: &[usize], size: Size, rows: usize) -> Person {
        Person(vec![Row { cell: cell.to_vec(), size }; rows])
    }

    /// Cells that are tried: all of few; of many the first, the last, those that the plan's own rows make dear, and some more.
    fn cells(&self, plan: Option<&Plan>, cube: &Cube) -> Vec<Vec<usize>> {
        let sizes = self.domain.sizes();
        let at = |mut number: usize| -> Vec<usize> {
            let mut cell: Vec<usize> = Vec::with_capacity(sizes.len());
            for size in sizes.iter().rev() {
                cell.push(number % size);
                number /= size;
            }
            cell.reverse();
            cell
        };
        if let Some(all) = self.few() {
            return (0..all).map(at).collect();
        }
        let mut dice = Dice::new(1);
        let mut cells = vec![vec![0; sizes.len()], sizes.iter().map(|s| s - 1).collect()];
        cells.extend(plan.and_then(|plan| dearest(plan, cube)));
        while cells.len() < CELLS {
            cells.push(sizes.iter().map(|&size| dice.below(size)).collect());
        }
        cells
    }

    /// How many cells there are, where all are tried.
    fn few(&self) -> Option<usize> {
        let all = self.domain.sizes().iter().try_fold(1usize, |n, s| n.checked_mul(*s))?;
        (all <= CELLS).then_some(all)
    }

    /// Units, among them those that move a release furthest when they come or go.
    fn tried(&self, plan: Option<&Plan>, cube: &Cube) -> Result<Vec<Tried>, Failure> {
        let rows = self.domain.max_rows;
        let cost = |t: &Tried| self.cost(&t.shift);
        let dearest = |all: &[Tried]| -> Option<Row> {
            all.iter().max_by(|a, b| cost(a).total_cmp(&cost(b)))?.person.0.first().cloned()
        };
        let mut all = Vec::new();
        let cells = self.cells(plan, cube).into_iter();
        self.shifts(cells.map(|cell| self.alike(&cell, Size::High, rows)), &mut all)?;
        // One dimension after the other, from the best cell on.
        for (dimension, &size) in self.domain.sizes().iter().enumerate().filter(|_| self.few().is_none()) {
            let Some(best) = dearest(&all) else { break };
            let other = |node: usize| {
                let mut cell = best.cell.clone();
                cell[dimension] = node;
                self.alike(&cell, Size::High, rows)
            };
            self.shifts((0..size).step_by(size.div_ceil(NODES)).map(other), &mut all)?;
        }
        if let Some(best) = dearest(&all).filter(|_| self.domain.has_amounts()) {
            let sizes = || Size::ALL.into_iter().skip(1);
            // Units that change may also move from one cell to another meanwhile.
            let elsewhere = |t: &&Tried| t.person.0.first().is_some_and(|row| row.cell != best.cell);
            let other = all.iter().filter(elsewhere).max_by(|a, b| cost(a).total_cmp(&cost(b)));
            let other = other.filter(|_| self.domain.substitute).and_then(|t| t.person.0.first().cloned());
            self.shifts(sizes().map(|size| self.alike(&best.cell, size, rows)), &mut all)?;
            if let Some(other) = other {
                self.shifts(sizes().map(|size| self.alike(&other.cell, size, rows)), &mut all)?;
            }
        }
        if let Some(best) = dearest(&all).filter(|_| self.domain.has_units()) {
            // More rows than count; fewer, for units that change.
            let others = [rows + 1, 3 * rows + 2, 1].into_iter();
            self.shifts(others.map(|rows| self.alike(&best.cell, best.size, rows)), &mut all)?;
        }
        Ok(all)
    }

    /// The worst pair that was found.
    pub(super) fn worst(&self, plan: Option<&Plan>, cube: &Cube) -> Result<Pair, Failure> {
        let mut all = self.tried(plan, cube)?;
        if all.is_empty() {
            let why = self.refused.borrow();
            return Err(Failure::Message(format!(
                "an audit reads no data and makes its rows up from the spec, and none that it made up fits this one; of the last it was said: {why}"
            )));
        }
        let nobody = Tried { person: Person(Vec::new()), shift: vec![0.0; self.means.len()] };
        let between =
            |a: &Tried, b: &Tried| -> Vec<f64> { b.shift.iter().zip(&a.shift).map(|(x, y)| x - y).collect() };
        let mut best: Option<(f64, usize, usize)> = None;
        all.push(nobody);
        let last = all.len() - 1;
        for (i, a) in all.iter().enumerate() {
            for (j, b) in all.iter().enumerate().take(i) {
                // Units come and go, or change; of those with several rows some may have none that count.
                let allowed = match self.domain.substitute {
                    true => i < last || self.domain.max_rows > 1,
                    false => i == last,
                };
                let cost = if allowed { self.cost(&between(a, b)) } else { 0.0 };
                // One that is as dear, but for the noise, is taken if it is simpler: it comes first.
                if allowed && best.is_none_or(|best| cost > LIKE * best.0) {
                    best = Some((cost, i, j));
                }
            }
        }
        let (_, i, j) = best.unwrap_or((0.0, last, 0));
        let unsure = self.spread.iter().map(|s| s * 5.0 / ((RELEASES as f64).sqrt() * self.group as f64));
        Ok(Pair {
            shift: between(&all[i], &all[j]),
            before: all[i].person.clone(),
            after: all[j].person.clone(),
            unsure: unsure.collect(),
        })
    }
}

/// The cell that is dearest among the plan's own rows, where it has any.
fn dearest(plan: &Plan, cube: &Cube) -> Option<Vec<usize>> {
    let mut best: Option<(f64, Vec<usize>)> = None;
    let mut costs: BTreeMap<u32, f64> = BTreeMap::new();
    let mut table = None;
    for m in &plan.rows().measurements {
        let Block::Rows(rows) = &m.block else { continue };
        let own = table.get_or_insert_with(|| rows.cuboid.clone());
        if *own != rows.cuboid {
            continue;
        }
        for &(cell, factor) in rows.rows.iter().flatten() {
            *costs.entry(cell).or_default() += plan.noise.power(f64::from(factor)) / m.scale.to_f64();
        }
    }
    let table = table?;
    for (cell, cost) in costs {
        if best.as_ref().is_none_or(|b| cost > b.0) {
            let (mut nodes, mut number) = (vec![0; cube.dimensions.len()], cell as usize);
            for level in table.iter().rev() {
                let dimension = cube.dimensions.get(level.dimension)?;
                let size = dimension.levels.get(level.level)?.len();
                let up = dimension.ancestors(dimension.finest(), level.level);
                let node = (number % size) as u32;
                nodes[level.dimension] = up.iter().position(|&above| above == node)?;
                number /= size;
            }
            best = Some((cost, nodes));
        }
    }
    best.map(|b| b.1)
}
