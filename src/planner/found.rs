//! Tables that searches look at, and what one has found already.

use crate::plan::BudgetRule;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// So many words hold the levels of a cuboid.
pub(super) const WORDS: usize = 4;

/// A cuboid as the set of levels it passes on its way down, a bit each. So joins are unions, and a
/// cuboid rolls up from another when its set is within the other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct Steps(pub(super) [u64; WORDS]);

impl Steps {
    pub(super) fn set(&mut self, bit: usize) {
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    pub(super) fn clear(&mut self, bit: usize) {
        self.0[bit / 64] &= !(1 << (bit % 64));
    }

    pub(super) fn has(&self, bit: usize) -> bool {
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// The join of two cuboids.
    #[inline]
    pub(crate) fn join(mut self, other: Steps) -> Steps {
        for i in 0..WORDS {
            self.0[i] |= other.0[i];
        }
        self
    }

    /// How many levels of `bits` it passes.
    pub(crate) fn level(&self, bits: &Range<usize>) -> usize {
        bits.clone().take_while(|&bit| self.has(bit)).count()
    }

    /// The cuboid with another level in the dimension of `bits`.
    pub(crate) fn at_level(mut self, bits: &Range<usize>, level: usize) -> Steps {
        for bit in bits.clone() {
            if bit - bits.start < level { self.set(bit) } else { self.clear(bit) }
        }
        self
    }

    /// Whether this cuboid rolls up from `other`.
    #[inline]
    pub(crate) fn is_below(&self, other: &Steps) -> bool {
        // Much asked for: without branches.
        (0..WORDS).fold(0, |out, i| out | self.0[i] & !other.0[i]) == 0
    }
}

/// A table that is or could be measured.
#[derive(Debug)]
pub(crate) struct Shape {
    /// Which one.
    pub steps: Steps,
    /// Its number of cells.
    pub cells: f64,
    /// The workload's components below it.
    pub below: Vec<u32>,
}

/// Tables with their shares of the budget, which add up to one.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    /// What is measured.
    pub tables: Vec<Arc<Shape>>,
    /// Parallel to `tables`.
    pub shares: Vec<f64>,
    /// `E`.
    pub error: f64,
}

impl Choice {
    /// All cells that would be measured.
    pub(crate) fn cells(&self) -> f64 {
        self.tables.iter().map(|t| t.cells).sum()
    }
}

/// What a search was for: all that its result depends on, for one workload over one frame.
#[derive(PartialEq)]
pub(super) struct Sought {
    pub(super) rule: BudgetRule,
    pub(super) steep: bool,
    pub(super) most: f64,
    pub(super) workload: Vec<(Steps, f64)>,
    pub(super) stakes: Vec<f64>,
}

/// What was found already: `tables` starts from where `cluster` ends, and each is looked at under both rules.
#[derive(Default)]
pub(super) struct Found(Mutex<Vec<(Sought, Option<Choice>)>>);

impl Found {
    /// What was found for this, or what a search finds now.
    pub(super) fn or(&self, sought: Sought, search: impl FnOnce() -> Option<Choice>) -> Option<Choice> {
        // A panic elsewhere leaves nothing half-written here.
        let found = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, choice)) = found().iter().find(|(s, _)| *s == sought) {
            return choice.clone();
        }
        let choice = search();
        found().push((sought, choice.clone()));
        choice
    }
}
