//! Several releases with all that they tell: rows, and what rows have of numbers.
//!
//! Every release measures each of these with noise of its own, and what is true of one says nothing of another. So least squares over all that was
//! measured is least squares over each by itself, and the estimates stand side by side, as those of one release do.

use super::Pool;
use crate::answer::error::QueryError;
use crate::answer::tell::channels::{self, ChannelValues, Subjects};
use crate::answer::tell::open::Answers;
use crate::answer::tell::{AllRows, Family, Teller, Told};
use crate::cube::{Cube, Summand};
use crate::joint::{JointLaw, Noise};

/// Releases of one dataset and period.
pub(crate) struct Pooled<'a> {
    rows: Pool<'a>,
    sums: Vec<Sums<'a>>,
}

/// What releases tell of something that rows add up to.
struct Sums<'a> {
    subject: Summand,
    pool: Pool<'a, ChannelValues>,
    /// For each of its releases the number among all, and that of the subject's first measurement.
    places: Vec<(usize, usize)>,
}

impl<'a> Pooled<'a> {
    /// Of releases, for questions that are put in the terms of a cube.
    pub(crate) fn new(cube: &'a Cube, releases: &[&'a Answers]) -> Result<Pooled<'a>, QueryError> {
        let mut sums: Vec<Sums> = Vec::new();
        for subject in releases.iter().flat_map(|r| r.channels().each()).map(|beside| &beside.subject) {
            if sums.iter().any(|s| s.subject.is_alike(subject)) {
                continue;
            }
            let (mut own, mut evaluators, mut places) = (Vec::new(), Vec::new(), Vec::new());
            for (at, release) in releases.iter().enumerate() {
                let found = release.channels().each().iter().find(|b| b.subject.is_alike(subject));
                let Some(beside) = found else { continue };
                own.push(*release);
                evaluators.push(&beside.evaluator);
                places.push((at, beside.first));
            }
            sums.push(Sums { subject: subject.clone(), pool: Pool::of(cube, &own, evaluators)?, places });
        }
        Ok(Pooled { rows: Pool::new(cube, releases)?, sums })
    }

    fn of(&self, subject: &Summand) -> Result<&Sums<'a>, QueryError> {
        let found = self.sums.iter().find(|s| s.subject.is_alike(subject));
        found.ok_or_else(|| channels::none(subject))
    }
}

impl Subjects for Pooled<'_> {
    fn told(&self, subject: &Summand, asked: &Family) -> Result<Vec<Told>, QueryError> {
        match subject {
            Summand::Rows => self.rows.tell(asked),
            subject => self.of(subject)?.pool.tell(asked),
        }
    }

    fn told_jointly(&self, subject: &Summand, asked: &AllRows) -> Result<Option<JointLaw>, QueryError> {
        match subject {
            Summand::Rows => self.rows.jointly(asked),
            subject => self.of(subject)?.pool.jointly(asked),
        }
    }

    fn numbered(&self, subject: &Summand, noise: Noise) -> Result<Noise, QueryError> {
        if *subject == Summand::Rows {
            return Ok(noise);
        }
        let place = self.of(subject)?.places.get(noise.release);
        let &(release, first) = place.ok_or_else(|| channels::none(subject))?;
        Ok(Noise { release, measurement: noise.measurement.saturating_add(first), ..noise })
    }
}

impl Teller for Pooled<'_> {
    fn cube(&self) -> &Cube {
        self.rows.cube()
    }

    fn releases(&self) -> Vec<&Answers> {
        self.rows.releases()
    }

    fn tell(&self, family: &Family) -> Result<Vec<Told>, QueryError> {
        channels::rows(self, family)
    }

    fn jointly(&self, all: &AllRows) -> Result<Option<JointLaw>, QueryError> {
        channels::jointly(self, all)
    }
}
