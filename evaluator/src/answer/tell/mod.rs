//! Tellers: who knows estimates of linear figures, and the joint law of their errors.

pub(crate) mod best;
pub mod cells;
pub(in crate::answer) mod channels;
pub(crate) mod joint;
pub(crate) mod open;
pub mod pool;
pub(crate) mod sums;
pub mod tables;

use crate::answer::error::QueryError;
use crate::answer::tell::joint::JointLaw;
use crate::answer::tell::open::Answers;
use crate::answer::tell::tables::MOST_ROWS;
use crate::cube::{Cube, Level};
use crate::render::Caveat;
use crate::sql::Aggregate;
use std::sync::Arc;

/// An estimate whose standard error is so many times that of the best has no narrower interval at any level that is asked for.
pub(in crate::answer) const MOST_WIDER: f64 = 3.0;

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
        for (noise, coefficients) in self.way(way).1.noises() {
            let c: f64 = coefficients.iter().zip(weights).map(|(c, w)| c * w).sum();
            parts.resize(parts.len().max(noise.release + 1), 0.0);
            parts[noise.release] += c * c * noise.copies as f64 * noise.law.variance();
        }
        let all: f64 = parts.iter().sum();
        parts.iter_mut().for_each(|p| *p /= all);
        if all > 0.0 { parts } else { Vec::new() }
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

    /// The most rows of an answer.
    fn most_rows(&self) -> u64 {
        MOST_ROWS
    }

    /// What is known of each group.
    fn tell(&self, family: &Family) -> Result<Vec<Told>, QueryError>;

    /// The joint law of all figures of many rows: each is of one of the portions, whose figures (as many in each) are taken, and has a
    /// node of every level. Figure `i` of row `r` is number `r · figures + i`. `None` where that would take more than `most` coefficients.
    fn jointly(
        &self,
        portions: &[&[Aggregate]],
        group_by: &[Level],
        rows: &[(usize, &[u32])],
        most: usize,
    ) -> Result<Option<JointLaw>, QueryError>;
}

impl Teller for &Answers {
    fn cube(&self) -> &Cube {
        Answers::cube(self)
    }

    fn releases(&self) -> Vec<&Answers> {
        vec![self]
    }

    fn tell(&self, family: &Family) -> Result<Vec<Told>, QueryError> {
        self.channels().rows(self.evaluator(), family)
    }

    fn jointly(
        &self,
        portions: &[&[Aggregate]],
        group_by: &[Level],
        rows: &[(usize, &[u32])],
        most: usize,
    ) -> Result<Option<JointLaw>, QueryError> {
        self.channels().jointly(self.evaluator(), portions, group_by, rows, most)
    }
}
