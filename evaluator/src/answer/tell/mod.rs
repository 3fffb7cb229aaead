//! Tellers: who knows estimates of linear figures, and the joint law of their errors.

pub(crate) mod channels;
pub(crate) mod open;
pub mod pool;
pub mod tables;

use crate::answer::error::{MOST_ROWS, QueryError};
use crate::answer::tell::open::Answers;
use crate::cube::{Cube, Level};
use crate::joint::JointLaw;
use crate::law::{ErrorLaw, Interval};
use crate::render::{Caveat, Cuts};
use crate::sql::Aggregate;
use std::sync::Arc;

/// An estimate whose standard error is so many times that of the best has no narrower interval at any level that is asked for.
pub(crate) const MOST_WIDER: f64 = 3.0;

/// Linear figures: the same ones for each group of some levels.
#[derive(Clone, Copy)]
pub(crate) struct Family<'a> {
    /// The figures of a group.
    pub figures: &'a [Aggregate],
    /// The levels.
    pub group_by: &'a [Level],
    /// The groups that are asked for, by their nodes.
    pub rows: &'a [Vec<u32>],
}

impl<'a> Family<'a> {
    /// Figures over all units, of which there is one row.
    pub(crate) fn whole(figures: &'a [Aggregate]) -> Family<'a> {
        static ONE: [Vec<u32>; 1] = [Vec::new()];
        Family { figures, group_by: &[], rows: &ONE }
    }
}

/// Linear figures of many rows, whose errors are looked at together. Figure `i` of row `r` is number `r · figures + i`.
#[derive(Clone, Copy)]
pub struct AllRows<'a> {
    /// The figures of rows of one kind, as many in each.
    pub portions: &'a [&'a [Aggregate]],
    /// The levels.
    pub group_by: &'a [Level],
    /// For each portion its own levels, each the same or a coarser one; with none all have the same.
    pub coarser: &'a [&'a [Level]],
    /// Each with its portion, and a node of every level.
    pub rows: &'a [(usize, &'a [u32])],
    /// The most coefficients of noises that are worth it.
    pub most: usize,
}

impl<'a> AllRows<'a> {
    /// The levels of a portion's rows.
    pub(crate) fn levels(&self, portion: usize) -> &'a [Level] {
        self.coarser.get(portion).copied().unwrap_or(self.group_by)
    }

    /// How many figures a row has.
    pub(crate) fn figures(&self) -> usize {
        self.portions.first().map_or(0, |p| p.len())
    }

    /// How many there are in all.
    pub(crate) fn width(&self) -> usize {
        self.rows.len() * self.figures()
    }
}

/// What is told of one group.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    /// The node of each level.
    pub nodes: Vec<u32>,
    /// The best linear unbiased estimate of each figure.
    pub estimates: Vec<f64>,
    /// The joint law of `estimate − truth`; shared by groups of one kind.
    pub law: Arc<JointLaw>,
    /// Other unbiased estimates with their laws, from some of the releases: at some levels one of these has the narrower interval.
    pub others: Vec<(Vec<f64>, Arc<JointLaw>)>,
    /// Whether each release alone tells all of it.
    pub each: bool,
}

impl Told {
    /// By one release, which has no other estimates.
    pub(crate) fn new(nodes: Vec<u32>, estimates: Vec<f64>, law: Arc<JointLaw>) -> Told {
        Told { nodes, estimates, law, others: Vec::new(), each: true }
    }

    /// The best estimates with their law, or one of the others.
    pub(crate) fn way(&self, at: usize) -> (&[f64], &Arc<JointLaw>) {
        match at.checked_sub(1).and_then(|at| self.others.get(at)) {
            Some((estimates, law)) => (estimates, law),
            None => (&self.estimates, &self.law),
        }
    }

    /// Which part of a combination's variance each release has; where it has none, nothing.
    pub(crate) fn shares(&self, weights: &[f64], way: usize) -> Vec<f64> {
        let mut parts: Vec<f64> = Vec::new();
        for (noise, c) in self.way(way).1.weighed(weights) {
            parts.resize(parts.len().max(noise.release + 1), 0.0);
            parts[noise.release] += c * c * noise.copies as f64 * noise.law.variance();
        }
        let all: f64 = parts.iter().sum();
        parts.iter_mut().for_each(|p| *p /= all);
        if all > 0.0 { parts } else { Vec::new() }
    }
}

/// The whole numbers inside an interval: it covers a whole number exactly when the interval between the
/// outermost of them does. An end within rounding error of a whole number counts as that number.
pub fn whole_ends(low: f64, high: f64) -> (f64, f64) {
    let slack = 1e-9 * (1.0 + low.abs().max(high.abs()) * 1e-3);
    let (inner_low, inner_high) = (libm::ceil(low - slack) + 0.0, libm::floor(high + slack) + 0.0);
    if inner_low <= inner_high {
        (inner_low, inner_high)
    } else {
        (libm::floor(low) + 0.0, libm::ceil(high) + 0.0)
    }
}

/// The best estimate of a figure. Where further measurements were supposed it is none, and the law is what it would be.
pub struct Best {
    /// The estimate.
    pub estimate: f64,
    /// The law of its error.
    pub law: ErrorLaw,
}

impl Best {
    /// Low and high end at a level; of a figure whose truth is a whole number to whole numbers.
    pub(crate) fn interval(&self, level: f64, whole: bool) -> (f64, f64) {
        let ((low, high), _) = self.law.interval_by(level, Interval::EqualTailed);
        let ends = (self.estimate - high, self.estimate - low);
        if whole { whole_ends(ends.0, ends.1) } else { ends }
    }

    /// Half the length of the error's own interval.
    pub fn reach(&self, level: f64) -> f64 {
        let ((low, high), _) = self.law.interval_by(level, Interval::EqualTailed);
        0.5 * (high - low)
    }
}

/// What is known of the errors of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errors {
    /// They are sums of independent noises whose laws are known: every statement about them is exact.
    Noises,
    /// Nearly normal, as those of a dense projection.
    Normal,
    /// On which side of the truth each of a sketch's rows is, is a matter of chance: nothing else.
    Rows,
}

/// Who knows linear figures.
pub(crate) trait Teller {
    /// The dimensions that figures are put in.
    fn cube(&self) -> &Cube;

    /// Who measured.
    fn releases(&self) -> Vec<&Answers>;

    /// What is known of the errors.
    fn errors(&self) -> Errors {
        Errors::Noises
    }

    /// What makes all numbers untrue besides noise, where it is not for the releases to say.
    fn caveats(&self) -> Vec<Caveat> {
        Vec::new()
    }

    /// Where classes of reliability end.
    fn cuts(&self) -> Cuts {
        let first = self.releases().first().map(|r| Cuts::of(&r.release().manifest().about));
        first.unwrap_or_default()
    }

    /// The most rows of an answer.
    fn most_rows(&self) -> u64 {
        MOST_ROWS
    }

    /// What is known of each group.
    fn tell(&self, family: &Family) -> Result<Vec<Told>, QueryError>;

    /// The joint law of all figures of many rows; `None` where nobody knows it, or it would take too many coefficients.
    fn jointly(&self, _: &AllRows) -> Result<Option<JointLaw>, QueryError> {
        Ok(None)
    }
}

impl Teller for &Answers {
    fn cube(&self) -> &Cube {
        Answers::cube(self)
    }

    fn releases(&self) -> Vec<&Answers> {
        vec![self]
    }

    fn tell(&self, family: &Family) -> Result<Vec<Told>, QueryError> {
        channels::rows(&channels::OfOne(self.evaluator(), self.channels()), family)
    }

    fn jointly(&self, all: &AllRows) -> Result<Option<JointLaw>, QueryError> {
        channels::jointly(&channels::OfOne(self.evaluator(), self.channels()), all)
    }
}
