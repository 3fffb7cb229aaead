//! Figures of several channels at once: of rows, and of the sums of numbers that rows have.
//!
//! Each channel has measurements and noise of its own, so what it tells is independent of what the others tell: estimates stand side by side, and
//! so do the noises of their errors. What a figure makes of them is the figure's own affair.

use super::tables::Evaluator;
use super::{AllRows, Family, Told};
use crate::answer::error::{AnswerError, QueryError};
use crate::cube::{Cube, Cuboid, Integers, Quantity, Summand};
use crate::joint::{JointLaw, Noise};
use crate::law::NoiseLaw;
use crate::memo::Memo;
use crate::plan::{Block, Plan, Subject};
use crate::recover::{Recovery, Source, SourceError};
use crate::release::values::Values;
use crate::sql::Aggregate;
use std::sync::Arc;

/// The channels beside rows whose figures can be asked for.
#[derive(Default)]
pub(crate) struct Channels {
    each: Vec<Beside>,
}

/// The integers of a channel beside rows: of its measurements, and of its exact tables.
pub(crate) struct ChannelValues {
    values: Vec<Integers>,
    exact: Vec<Vec<i64>>,
}

impl Source for ChannelValues {
    fn values(&self, index: usize) -> Result<Integers, SourceError> {
        self.values.get(index).cloned().ok_or_else(|| SourceError(format!("no measurement {index}").into()))
    }

    fn exact(&self, index: usize) -> Result<Vec<i64>, SourceError> {
        self.exact.get(index).cloned().ok_or_else(|| SourceError(format!("no exact table {index}").into()))
    }
}

/// A channel beside rows.
pub(super) struct Beside {
    pub subject: Summand,
    pub evaluator: Evaluator<ChannelValues>,
    /// The number of its first measurement in the plan.
    pub first: usize,
}

impl Channels {
    /// Those of a plan; `values` are the integers of a measurement, `exact` those of the exact tables of a channel.
    pub(crate) fn new<E: From<crate::recover::RecoverError>>(
        cube: &Arc<Cube>,
        plan: &Plan,
        mut values: impl FnMut(usize) -> Result<Integers, E>,
        exact: impl Fn(&Subject) -> Vec<Vec<i64>>,
    ) -> Result<Channels, E> {
        let mut each = Vec::new();
        for channel in plan.beside().filter(|c| c.subject.quantity().is_some()) {
            let numbers = plan.numbers(&channel.subject);
            let first = numbers.start;
            let values = numbers.map(&mut values).collect::<Result<Vec<_>, _>>()?;
            let Some(subject) = channel.subject.summand() else { continue };
            let alone = plan.clone().alone(&channel.subject);
            let values = ChannelValues { values, exact: exact(&channel.subject) };
            let recovery = Recovery::of(&channel.subject, cube.clone(), alone, values)?;
            each.push(Beside { subject, evaluator: Evaluator::new(recovery), first });
        }
        Ok(Channels { each })
    }

    /// From now on questions are put in the terms of this cube.
    pub(super) fn put_in(&mut self, cube: &Arc<Cube>) {
        self.each.iter_mut().for_each(|beside| beside.evaluator.put_in(cube.clone()));
    }

    /// The numbers whose sums can be asked for.
    pub(crate) fn quantities(&self) -> Vec<Arc<Quantity>> {
        let sum = |b: &Beside| match &b.subject {
            Summand::Sum(quantity) => Some(quantity.clone()),
            _ => None,
        };
        self.each.iter().filter_map(sum).collect()
    }

    /// The tables of sums that are published without noise, each with its number.
    pub(super) fn exact_sums(&self) -> Vec<(Arc<Quantity>, Cuboid)> {
        let of = |b: &Beside| match &b.subject {
            Summand::Sum(quantity) => {
                let exact = b.evaluator.recovery().plan().exact.iter();
                exact.map(|e| (quantity.clone(), e.clone())).collect()
            }
            _ => Vec::new(),
        };
        self.each.iter().flat_map(of).collect()
    }

    /// The block of a measurement by its number in the plan, what it is of, and the independent noises in each of its integers.
    pub(crate) fn block(&self, measurement: usize) -> Option<(&Block, String, Vec<NoiseLaw>)> {
        let own = |b: &&Beside| {
            let count = b.evaluator.recovery().plan().only().measurements.len();
            (b.first..b.first + count).contains(&measurement)
        };
        let beside = self.each.iter().find(own)?;
        let recovery = beside.evaluator.recovery();
        let at = measurement - beside.first;
        let block = &recovery.plan().only().measurements.get(at)?.block;
        let name = &beside.subject.quantity()?.name;
        let what = match beside.subject {
            Summand::Valued(_) => format!("rows with {name}"),
            Summand::Squares(_) => format!("squares of {name}"),
            Summand::Sum(_) | Summand::Rows => name.clone(),
        };
        Some((block, what, recovery.noise(at)))
    }

    /// What tells the tables of a subject, if it was measured.
    pub(crate) fn teller(&self, subject: &Summand) -> Option<&Evaluator<ChannelValues>> {
        self.each.iter().find(|b| b.subject == *subject).map(|b| &b.evaluator)
    }

    /// All of them.
    pub(super) fn each(&self) -> &[Beside] {
        &self.each
    }

    /// What both have of the same things that rows add up to.
    pub(crate) fn shared<'a>(
        &'a self,
        other: &'a Channels,
    ) -> impl Iterator<Item = (&'a Summand, &'a Recovery<ChannelValues>, &'a Recovery<ChannelValues>)> {
        self.each.iter().filter_map(|own| {
            let other = other.each.iter().find(|b| b.subject.is_alike(&own.subject))?;
            Some((&own.subject, own.evaluator.recovery(), other.evaluator.recovery()))
        })
    }

    fn of(&self, subject: &Summand) -> Result<&Beside, QueryError> {
        self.each.iter().find(|b| b.subject == *subject).ok_or_else(|| none(subject))
    }
}

/// That nothing tells a subject.
pub(super) fn none(subject: &Summand) -> QueryError {
    let name = subject.quantity().map_or("", |q| &q.name).to_owned();
    match subject {
        Summand::Squares(_) => QueryError::NoSquares(name),
        _ => QueryError::NoSums(name),
    }
}

/// The figures of one channel: which of all they are.
struct Own<'a> {
    subject: &'a Summand,
    at: Vec<usize>,
}

/// Which figures are of which channel.
fn parted(figures: &[Aggregate]) -> Vec<Own<'_>> {
    let mut out: Vec<Own> = Vec::new();
    for (i, figure) in figures.iter().enumerate() {
        match out.iter_mut().find(|own| *own.subject == figure.subject) {
            Some(own) => own.at.push(i),
            None => out.push(Own { subject: &figure.subject, at: vec![i] }),
        }
    }
    out
}

fn picked(figures: &[Aggregate], own: &Own) -> Vec<Aggregate> {
    own.at.iter().filter_map(|&i| figures.get(i).cloned()).collect()
}

/// Whether all figures are of rows.
fn of_rows(figures: &[Aggregate]) -> bool {
    figures.iter().all(|f| f.subject == Summand::Rows)
}

/// What rows add up to, as people say it.
pub(crate) fn named(subject: &Summand) -> String {
    match subject {
        Summand::Rows => "the counts of rows".to_owned(),
        Summand::Sum(quantity) => format!("the sums of {}", quantity.name),
        Summand::Valued(quantity) => format!("the rows with a value of {}", quantity.name),
        Summand::Squares(quantity) => format!("the squares of {}", quantity.name),
    }
}

/// Says of what there is no table: one of others may be there.
fn of(subject: &Summand, e: QueryError) -> QueryError {
    match e {
        QueryError::Answer(AnswerError::NotHeld { reason, nearest, suggestion, .. }) => {
            QueryError::Answer(AnswerError::NotHeld { of: Some(named(subject)), reason, nearest, suggestion })
        }
        e => e,
    }
}

/// Figures of several subjects, which independent noises tell: by whom each is told, and what its noises are called among all.
pub(super) trait Subjects {
    /// What is told of figures of one subject.
    fn told(&self, subject: &Summand, asked: &Family) -> Result<Vec<Told>, QueryError>;

    /// The same of many rows together.
    fn told_jointly(&self, subject: &Summand, asked: &AllRows) -> Result<Option<JointLaw>, QueryError>;

    /// A noise of one subject as one among those of all.
    fn numbered(&self, subject: &Summand, noise: Noise) -> Result<Noise, QueryError>;
}

/// What is told of each group.
pub(super) fn rows(by: &impl Subjects, family: &Family) -> Result<Vec<Told>, QueryError> {
    if of_rows(family.figures) {
        return by.told(&Summand::Rows, family);
    }
    let width = family.figures.len();
    let (mut out, mut laws): (Vec<Told>, Vec<Vec<Arc<JointLaw>>>) = (Vec::new(), Vec::new());
    let parts = parted(family.figures);
    for own in &parts {
        let figures = picked(family.figures, own);
        let asked = Family { figures: &figures, ..*family };
        let told = by.told(own.subject, &asked).map_err(|e| of(own.subject, e))?;
        if out.is_empty() {
            laws = vec![Vec::new(); told.len()];
            let empty = |t: &Told| Told { estimates: vec![0.0; width], others: Vec::new(), ..t.clone() };
            out = told.iter().map(empty).collect();
        }
        for ((all, laws), told) in out.iter_mut().zip(&mut laws).zip(told) {
            own.at.iter().zip(&told.estimates).for_each(|(&at, e)| all.estimates[at] = *e);
            all.each &= told.each;
            laws.push(told.law);
        }
    }
    // Groups of one kind share the law of each subject, so they share that of all.
    let known: Memo<Vec<usize>, Arc<JointLaw>> = Memo::default();
    let places: Vec<&[usize]> = parts.iter().map(|own| &own.at[..]).collect();
    for (told, laws) in out.iter_mut().zip(&laws) {
        let key = laws.iter().map(|l| Arc::as_ptr(l) as usize).collect();
        let law = || beside(by, &parts, laws.iter().map(Arc::as_ref), &places, width).map(Arc::new);
        told.law = known.of(key, law)?;
    }
    Ok(out)
}

/// The joint law of all figures of many rows: see [`super::Teller::jointly`].
pub(super) fn jointly(by: &impl Subjects, all: &AllRows) -> Result<Option<JointLaw>, QueryError> {
    let first = all.portions.first().copied().unwrap_or_default();
    if of_rows(first) {
        return by.told_jointly(&Summand::Rows, all);
    }
    let parts = parted(first);
    let (mut laws, mut places) = (Vec::new(), Vec::new());
    for own in &parts {
        let portions: Vec<Vec<Aggregate>> = all.portions.iter().map(|p| picked(p, own)).collect();
        let portions: Vec<&[Aggregate]> = portions.iter().map(Vec::as_slice).collect();
        let asked = AllRows { portions: &portions, ..*all };
        let law = by.told_jointly(own.subject, &asked).map_err(|e| of(own.subject, e))?;
        let Some(law) = law else { return Ok(None) };
        let place = |r: usize| own.at.iter().map(move |at| r * first.len() + at);
        places.push((0..all.rows.len()).flat_map(place).collect::<Vec<usize>>());
        laws.push(law);
    }
    let places: Vec<&[usize]> = places.iter().map(Vec::as_slice).collect();
    Ok(Some(beside(by, &parts, laws.iter(), &places, all.width())?))
}

/// The laws of independent subjects side by side: figure `i` of a law is figure `places[i]` of all.
fn beside<'l>(
    by: &impl Subjects,
    parts: &[Own],
    laws: impl Iterator<Item = &'l JointLaw>,
    places: &[&[usize]],
    width: usize,
) -> Result<JointLaw, QueryError> {
    let (mut noises, mut slack) = (Vec::new(), vec![0.0; width]);
    for ((own, law), places) in parts.iter().zip(laws).zip(places) {
        for (noise, coefficients) in law.noises() {
            let mut all = vec![0.0; width];
            places.iter().zip(coefficients).for_each(|(&at, c)| all[at] = *c);
            noises.push((by.numbered(own.subject, *noise)?, all));
        }
        for (i, &at) in places.iter().enumerate() {
            slack[at] = law.slack_of(i);
        }
    }
    let law = JointLaw::new(width, noises);
    Ok(if slack.iter().any(|s| *s > 0.0) { law.with_slack(slack) } else { law })
}

/// One release: its counts, and its channels beside them.
pub(super) struct OfOne<'a>(pub &'a Evaluator<Values>, pub &'a Channels);

impl Subjects for OfOne<'_> {
    fn told(&self, subject: &Summand, asked: &Family) -> Result<Vec<Told>, QueryError> {
        Ok(match subject {
            Summand::Rows => self.0.rows(asked)?,
            subject => self.1.of(subject)?.evaluator.rows(asked)?,
        })
    }

    fn told_jointly(&self, subject: &Summand, asked: &AllRows) -> Result<Option<JointLaw>, QueryError> {
        Ok(match subject {
            Summand::Rows => self.0.joint_rows(asked)?,
            subject => self.1.of(subject)?.evaluator.joint_rows(asked)?,
        })
    }

    fn numbered(&self, subject: &Summand, noise: Noise) -> Result<Noise, QueryError> {
        let first = match subject {
            Summand::Rows => 0,
            subject => self.1.of(subject)?.first,
        };
        Ok(Noise { measurement: noise.measurement.saturating_add(first), ..noise })
    }
}
