//! Annealing: sets of tables that differ from any a descent leads to.
//!
//! Under Laplace noise the landscape has many local optima. Descent lets tables die and keeps few large ones; designs of many small
//! tables, each pair of attributes in one of them, can be much better, and no step of a descent leads from the one to the
//! other. So a chain of random changes is made, and a change for the worse is accepted with probability
//! `exp(−Δ/(E·T))`, while the temperature `T` falls (Kirkpatrick, Gelatt & Vecchi, Science 1983).
//!
//! A state is a number of slots, each a table or empty. A change raises or lowers a level of one table, both at once, exchanges the levels
//! that two tables have in one dimension or in two, empties a slot, or puts a table asked for into it.
//!
//! A state is judged by the error after **one** round of shares from equal ones, `x_B ∝ G_B^{1/2}`. So a table that is good for
//! nothing now does not lose its share for good, and judging is fast. Not the exponent 1/3 that never makes the error grow:
//! a longer step comes closer to where many rounds lead, and where it does not help, the state is judged too badly, which harms nobody.
//! (A square root is also the same on every machine.) What a chain finds is judged again with all rounds.
//!
//! Chains differ in their number of slots, in temperature and in their dice; they run side by side, and their number and lengths
//! depend on the workload alone, so the same comes out for any number of threads. More effort is more rounds: the first is the same
//! whatever the effort; in later ones chains are half as many and twice as long, and half of them go on from the best so far.

use super::landscape::{Choice, Landscape, Shape, Steps};
use crate::numeric::dice::Dice;
use crate::plan::BudgetRule;
use crate::watch::Stage;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// How many chains there are, where each is long enough to be of use.
const CHAINS: usize = 12;
/// The most work of all chains of a round, in visits of a component.
const WORK: f64 = 1.5e10;
/// The most changes in a chain of the first round, and how few are too few.
const MOST_CHANGES: f64 = 300_000.0;
const FEW_CHANGES: f64 = 20_000.0;
/// The temperatures at the end, and at the start of every other chain. The last chain goes on from where it is put.
const COLD: f64 = 0.003;
const HOT: [f64; 2] = [0.01, 0.02];
const WARM: f64 = 0.006;
/// An annealing is told of in so many parts.
pub(crate) const PARTS: u64 = 1000;
/// Rounds of shares for what a chain found.
const SETTLE: usize = 400;

/// What each chain of a round (0, 1, …) found, with its shares. `from` is the best known so far. No choice has more than `most` cells.
pub(crate) fn anneal(land: &Landscape, from: &Choice, most: f64, round: u32, stage: &Stage) -> Vec<Choice> {
    // Where precision is linear in the shares, they are a convex problem and there is little to find.
    if !land.is_steep() || land.components().len() < 3 {
        return Vec::new();
    }
    let size = land.components().len() as f64;
    let visits = Chain::visits(from.tables.iter().map(|t| t.below.len()).sum::<usize>() as f64, size);
    let longer = if round == 0 { 1.0 } else { 2.0 };
    let changes = (20.0 * size * size * size).min(MOST_CHANGES) * longer;
    let work = if land.is_uniform() { 0.25 * WORK } else { WORK };
    let chains = ((work / (visits * FEW_CHANGES * longer)) as usize).clamp(2, CHAINS / longer as usize);
    let plans: Vec<(usize, Landscape)> = (0..chains).map(|c| (c, land.again(land.rule()))).collect();
    plans
        .into_par_iter()
        .map(|(c, land)| {
            let warm = if round == 0 { c + 1 == chains } else { c % 2 == 1 };
            let few = from.tables.len() + 2;
            let slots = if warm { from.tables.len() + 4 } else { 2 * few + few * (c % 3) / 2 };
            let seed = u64::from(round) * CHAINS as u64 + c as u64 + 1;
            let mut chain = Chain::new(&land, slots, most, Dice::new(seed));
            if warm {
                chain.put(&from.tables);
            } else {
                chain.cover();
            }
            let hot = if warm { WARM } else { HOT[c / 3 % 2] };
            chain.run(hot, changes, work / chains as f64);
            stage.advance(PARTS / chains as u64);
            chain.best()
        })
        .collect::<Vec<Option<Choice>>>()
        .into_iter()
        .flatten()
        .collect()
}

/// One chain from each of these choices.
pub(crate) fn anneal_each(land: &Landscape, from: &[Choice], most: f64, stage: &Stage) -> Vec<Choice> {
    let size = land.components().len() as f64;
    let changes = (20.0 * size * size * size).min(MOST_CHANGES);
    let work = if land.is_uniform() { 0.25 * WORK } else { WORK } / CHAINS as f64;
    let plans: Vec<(&Choice, Landscape)> =
        from.iter().map(|choice| (choice, land.again(land.rule()))).collect();
    let found: Vec<Option<Choice>> = plans
        .into_par_iter()
        .map(|(choice, land)| {
            let dice = Dice::new(choice.tables.len() as u64);
            let mut chain = Chain::new(&land, choice.tables.len() + 4, most, dice);
            chain.put(&choice.tables);
            chain.run(WARM, changes, work);
            stage.advance(PARTS / from.len() as u64);
            chain.best()
        })
        .collect();
    found.into_iter().flatten().collect()
}

type Slot = Option<Arc<Shape>>;

struct Chain<'a> {
    land: &'a Landscape,
    dimensions: Vec<Range<usize>>,
    dice: Dice,
    slots: Vec<Slot>,
    error: f64,
    cells: f64,
    most: f64,
    best_slots: Vec<Slot>,
    best_error: f64,
    judge: Judge,
}

/// One or two slots with what would be in them.
type Change = [Option<(usize, Slot)>; 2];

impl<'a> Chain<'a> {
    fn new(land: &'a Landscape, slots: usize, most: f64, dice: Dice) -> Chain<'a> {
        let empty: Vec<Slot> = vec![None; slots];
        Chain {
            dimensions: land.dimensions(),
            judge: Judge::new(land, slots),
            land,
            dice,
            best_slots: empty.clone(),
            slots: empty,
            error: f64::INFINITY,
            best_error: f64::INFINITY,
            cells: 0.0,
            most,
        }
    }

    /// What one change costs about.
    fn visits(below: f64, components: f64) -> f64 {
        3.0 * below + 4.0 * components + 100.0
    }

    /// Starts with these tables.
    fn put(&mut self, tables: &[Arc<Shape>]) {
        self.slots.iter_mut().zip(tables).for_each(|(slot, t)| *slot = Some(t.clone()));
        self.begin();
    }

    /// Starts with tables that hold the workload: each table asked for goes where the cells grow least.
    fn cover(&mut self) {
        for &(w, _) in &self.land.workload {
            if self.slots.iter().flatten().any(|t| w.is_below(&t.steps)) {
                continue;
            }
            let joined = |slot: &Slot| match slot {
                Some(t) => self.land.shape(t.steps.join(w)),
                None => self.land.shape(w),
            };
            // An empty slot is taken while there are some.
            let price = |slot: &Slot| match slot {
                Some(_) => joined(slot).cells,
                None => 0.0,
            };
            let at = (0..self.slots.len())
                .min_by(|&i, &j| price(&self.slots[i]).total_cmp(&price(&self.slots[j])));
            if let Some(at) = at {
                self.slots[at] = Some(joined(&self.slots[at]));
            }
        }
        self.begin();
    }

    fn begin(&mut self) {
        self.cells = self.slots.iter().flatten().map(|t| t.cells).sum();
        self.error = self.judge.error(self.land, &self.slots);
        self.keep();
    }

    fn keep(&mut self) {
        if self.error < self.best_error && self.cells <= self.most {
            self.best_error = self.error;
            self.best_slots.clone_from(&self.slots);
        }
    }

    /// Changes until there have been so many, or so much work.
    fn run(&mut self, hot: f64, changes: f64, work: f64) {
        let mut temperature = hot;
        let (mut made, mut done) = (0u64, 0.0f64);
        let fall = libm::log(COLD / hot);
        loop {
            if made.is_multiple_of(64) {
                let part = (made as f64 / changes).max(done / work);
                if part >= 1.0 || self.land.watch.is_stopped() {
                    return;
                }
                temperature = hot * libm::exp(part * fall);
            }
            made += 1;
            // What comes to nothing is work, too.
            done += 50.0;
            let Some(mut change) = self.draw() else { continue };
            let cells = self.cells + self.growth(&change);
            if cells > self.most.max(self.cells) {
                continue;
            }
            self.swap(&mut change);
            let error = self.judge.error(self.land, &self.slots);
            done += self.judge.visits;
            let worse = (error - self.error) / (self.error * temperature);
            if worse <= 0.0 || worse < 40.0 && self.dice.unit() < libm::exp(-worse) {
                (self.error, self.cells) = (error, cells);
                self.keep();
            } else {
                self.swap(&mut change);
            }
        }
    }

    /// By how many cells a change lets the tables grow.
    fn growth(&self, change: &Change) -> f64 {
        let cells = |slot: &Slot| slot.as_ref().map_or(0.0, |t| t.cells);
        change.iter().flatten().map(|(at, new)| cells(new) - cells(&self.slots[*at])).sum()
    }

    /// Puts the change in place and remembers what was there in its place.
    fn swap(&mut self, change: &mut Change) {
        for (at, slot) in change.iter_mut().flatten() {
            std::mem::swap(&mut self.slots[*at], slot);
        }
    }

    /// A change; none when the dice ask for what cannot be.
    fn draw(&mut self) -> Option<Change> {
        let at = self.dice.below(self.slots.len());
        let Some(steps) = self.slots[at].as_ref().map(|t| t.steps) else {
            let asked = self.dice.below(self.land.workload.len());
            let shape = self.land.shape(self.land.workload[asked].0);
            return Some([Some((at, Some(shape))), None]);
        };
        let one = |new: Steps| Some([Some((at, Some(self.land.shape(new)))), None]);
        match self.dice.below(40) {
            0 => Some([Some((at, None)), None]),
            1..8 => {
                let new = self.raised(steps)?;
                one(new)
            }
            8..16 => {
                let new = self.lowered(steps)?;
                one(new)
            }
            16..28 => {
                let raised = self.raised(steps)?;
                // In another dimension than the one that was raised.
                let d = self.pick(|bits| steps.level(bits) > 0 && raised.level(bits) == steps.level(bits))?;
                let new = raised.at_level(&d, self.dice.below(steps.level(&d)));
                one(new)
            }
            kind => {
                let other = self.dice.below(self.slots.len());
                let theirs = self.slots[other].as_ref()?.steps;
                let (mut new, mut new_theirs) = (steps, theirs);
                let mut exchange = |bits: Range<usize>| {
                    new = new.at_level(&bits, theirs.level(&bits));
                    new_theirs = new_theirs.at_level(&bits, steps.level(&bits));
                };
                exchange(self.pick(|bits| steps.level(bits) > theirs.level(bits))?);
                if kind >= 32 {
                    exchange(self.pick(|bits| steps.level(bits) < theirs.level(bits))?);
                }
                Some([
                    Some((at, Some(self.land.shape(new)))),
                    Some((other, Some(self.land.shape(new_theirs)))),
                ])
            }
        }
    }

    fn raised(&mut self, steps: Steps) -> Option<Steps> {
        let d = self.pick(|bits| steps.level(bits) < bits.len())?;
        let level = steps.level(&d);
        Some(steps.at_level(&d, level + 1 + self.dice.below(d.len() - level)))
    }

    fn lowered(&mut self, steps: Steps) -> Option<Steps> {
        let d = self.pick(|bits| steps.level(bits) > 0)?;
        Some(steps.at_level(&d, self.dice.below(steps.level(&d))))
    }

    /// One of the dimensions that fit.
    fn pick(&mut self, fits: impl Fn(&Range<usize>) -> bool) -> Option<Range<usize>> {
        let count = self.dimensions.iter().filter(|d| fits(d)).count();
        let at = (count > 0).then(|| self.dice.below(count))?;
        self.dimensions.iter().filter(|d| fits(d)).nth(at).cloned()
    }

    /// The best state, with the best shares found for it.
    fn best(self) -> Option<Choice> {
        let mut tables: Vec<Arc<Shape>> = self.best_slots.into_iter().flatten().collect();
        // Two slots may hold the same table: one with both shares is better.
        tables.sort_by_key(|t| t.steps);
        tables.dedup_by_key(|t| t.steps);
        let equal = vec![1.0; tables.len()];
        let mut choice = self.land.choice(tables, equal);
        if !choice.error.is_finite() {
            return None;
        }
        self.land.descend(&mut choice, SETTLE);
        Some(self.land.prune(&choice))
    }
}

/// The judgement of a state.
struct Judge {
    equal: bool,
    known: Vec<f64>,
    steep: Vec<f64>,
    shares: Vec<f64>,
    /// What the last judgement cost.
    visits: f64,
}

impl Judge {
    fn new(land: &Landscape, slots: usize) -> Judge {
        let n = land.components().len();
        Judge {
            equal: land.rule() == BudgetRule::Uniform,
            known: vec![0.0; n],
            steep: vec![0.0; n],
            shares: vec![0.0; slots],
            visits: 0.0,
        }
    }

    /// `E` of the tables in the slots, after one round from equal shares (or in equal ones); infinite when
    /// they do not hold the workload.
    fn error(&mut self, land: &Landscape, slots: &[Slot]) -> f64 {
        // Shares need not be normed: `E` falls with the square of their sum.
        let below = self.learn(slots, |_| 1.0);
        self.visits = Chain::visits(below as f64, self.known.len() as f64);
        if self.known.contains(&0.0) {
            return f64::INFINITY;
        }
        let mut sum = slots.iter().flatten().count() as f64;
        if !self.equal {
            for ((s, k), c) in self.steep.iter_mut().zip(&self.known).zip(land.stakes()) {
                *s = c / (k * k);
            }
            sum = 0.0;
            for (slot, share) in slots.iter().zip(&mut self.shares) {
                let Some(t) = slot else { continue };
                let slope: f64 = t.below.iter().map(|&a| self.steep[a as usize]).sum();
                *share = (slope / t.cells).sqrt();
                sum += *share;
            }
            let shares = std::mem::take(&mut self.shares);
            self.learn(slots, |i| shares[i]);
            self.shares = shares;
        }
        let error: f64 =
            self.known.iter().zip(land.stakes()).map(|(k, c)| if *c > 0.0 { c / k } else { 0.0 }).sum();
        error * sum * sum
    }

    /// What is known of each component, and how many visits that took.
    fn learn(&mut self, slots: &[Slot], share: impl Fn(usize) -> f64) -> usize {
        self.known.fill(0.0);
        let mut below = 0;
        for (i, slot) in slots.iter().enumerate() {
            let Some(t) = slot else { continue };
            let x = share(i);
            let w = x * x / t.cells;
            t.below.iter().for_each(|&a| self.known[a as usize] += w);
            below += t.below.len();
        }
        below
    }
}

#[cfg(test)]
mod tests;
