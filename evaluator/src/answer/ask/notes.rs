//! What is said beside a table: what makes its numbers untrue besides noise, with what the release knows of it, and remarks.

use super::options::Options;
use crate::answer::error::QueryError;
use crate::answer::figure::question::Question;
use crate::answer::figure::{Figure, Pairs};
use crate::answer::tell::open::{Answers, Noisy};
use crate::answer::tell::{Family, Teller, Told, pool};
use crate::cube::{Filter, Quantity, Summand, Weighing};
use crate::joint::How;
use crate::law::{Interval, LawError, Method};
use crate::render::{Caveat, ResultFigure, named};
use crate::sql::Aggregate;
use std::sync::Arc;

impl Answers {
    /// What every answer of this release must say, with intervals at `level`.
    pub fn caveats(&self, level: f64) -> Result<Vec<Caveat>, LawError> {
        truncated(&[self], level, None).map(|c| c.into_iter().chain(self.ends().iter().cloned()).collect())
    }

    /// How many rows were moved to the low and to the high end of a number, where that was measured.
    pub(crate) fn moved(
        &self,
        quantity: &Quantity,
        level: f64,
    ) -> Result<Option<[ResultFigure; 2]>, LawError> {
        let Some([below, above]) = self.moved_of(quantity) else { return Ok(None) };
        Ok(Some([count(&alone(below), level)?, count(&alone(above), level)?]))
    }
}

/// A count as a cell of a table, with its own interval at the level asked for.
fn count(told: &Told, level: f64) -> Result<ResultFigure, LawError> {
    let how = How { level, method: Method::Auto, interval: Interval::EqualTailed };
    let all = [Aggregate::rows(Filter::everything(), None)];
    Ok(Figure::aggregate(0, &all).answer(0, told, &how, &mut Pairs::default())?.shown())
}

/// A number that has no cells.
fn alone((estimate, law): &Noisy) -> Told {
    Told::new(Vec::new(), vec![*estimate], law.clone())
}

/// The numbers that a question adds up, and the weights that some of them were multiplied by.
pub(super) fn quantities(releases: &[&Answers], asked: &Question) -> Vec<Arc<Quantity>> {
    let mut out: Vec<Arc<Quantity>> = Vec::new();
    for quantity in asked.aggregates.iter().filter_map(|a| a.subject.quantity()) {
        let mut all = releases.iter().flat_map(|r| r.channels().quantities());
        let weight = || all.find(|q| q.weighing == Weighing::Weight);
        let weight = (quantity.weighing == Weighing::Weighted).then(weight).flatten();
        for own in [Some(quantity.clone()), weight].into_iter().flatten() {
            if !out.contains(&own) {
                out.push(own);
            }
        }
    }
    out
}

/// By what rows were weighed, and what the ends of numbers did to the figures made of them, where that was measured.
fn clamped(
    releases: &[&Answers],
    asked: &Question,
    level: f64,
    period: Option<&str>,
) -> Result<Vec<Caveat>, LawError> {
    let mut out = Vec::new();
    let quantities = quantities(releases, asked);
    if let Some(weighed) = quantities.iter().find(|q| q.weighing != Weighing::Plain) {
        let weight = quantities.iter().find(|q| q.weighing == Weighing::Weight);
        let by = weight.unwrap_or(weighed).name.clone();
        out.push(Caveat::Weighted { by, period: period.map(str::to_owned) });
    }
    // How many rows have a value is the same wherever values are moved to.
    let counts_rows = |a: &Aggregate| matches!(a.subject, Summand::Valued(_));
    let moves = |q: &Arc<Quantity>| {
        asked.aggregates.iter().any(|a| !counts_rows(a) && a.subject.quantity() == Some(q))
    };
    for quantity in quantities.iter().filter(|q| q.weighing == Weighing::Weight || moves(q)) {
        let end = |at: usize| -> Result<Option<ResultFigure>, LawError> {
            let measured = releases.iter().filter_map(|r| r.moved_of(quantity));
            let measured = measured.filter_map(|ends| ends.get(at)).map(alone).collect();
            pool::together(measured)?.map(|told| count(&told, level)).transpose()
        };
        if let (Some(below), Some(above)) = (end(0)?, end(1)?) {
            let moved = [below, above];
            let (amount, ends, period) = (quantity.name.clone(), quantity.ends(), period.map(str::to_owned));
            out.push(Caveat::Clamped { amount, ends, moved, period });
        }
    }
    Ok(out)
}

/// What the bound on the rows of a unit did. All releases have the same bound.
pub(super) fn truncated(
    releases: &[&Answers],
    level: f64,
    period: Option<&str>,
) -> Result<Option<Caveat>, LawError> {
    let Some((unit, max_rows)) = releases.first().and_then(|r| r.bound()) else { return Ok(None) };
    let measured: Vec<Told> = releases.iter().filter_map(|r| r.cut()).map(alone).collect();
    let cut = pool::together(measured)?.map(|told| count(&told, level)).transpose()?;
    // The bound is that of every period; only the count is of one.
    let period = period.filter(|_| cut.is_some()).map(str::to_owned);
    let without = releases.first().and_then(|r| r.release().manifest().privacy.without);
    Ok(Some(Caveat::Truncated { unit: unit.into(), max_rows, cut, without, period }))
}

/// What makes the figures untrue besides noise.
pub(super) fn untrue(
    teller: &dyn Teller,
    asked: &Question,
    options: &Options,
    period: Option<&str>,
) -> Result<Vec<Caveat>, QueryError> {
    let ends = ends(teller, asked, period);
    let mut caveats = left_out(teller, asked, options, (period, &ends))?;
    caveats.extend(teller.caveats());
    caveats.extend(ends);
    caveats.extend(truncated(&teller.releases(), options.level, period)?);
    caveats.extend(clamped(&teller.releases(), asked, options.level, period)?);
    Ok(caveats)
}

/// The dimensions whose values beyond their ends are known to be in the categories at these.
pub(super) fn clamped_dimensions(teller: &dyn Teller) -> Vec<usize> {
    let releases = teller.releases();
    let known = releases.iter().flat_map(|r| r.ends()).filter_map(|caveat| match caveat {
        Caveat::Ends { dimension, .. } => teller.cube().dimensions.iter().position(|d| d.name == *dimension),
        _ => None,
    });
    known.collect()
}

/// Which of the dimensions that a question is about have the values beyond their ends in the categories at these.
fn ends(teller: &dyn Teller, asked: &Question, period: Option<&str>) -> Vec<Caveat> {
    let releases = teller.releases();
    let all = releases.iter().flat_map(|r| r.ends());
    let mut out = Vec::new();
    for known in all {
        let Caveat::Ends { dimension, within, .. } = known else { continue };
        let at = teller.cube().dimensions.iter().position(|d| d.name == *dimension);
        let (dimension, within, period) = (dimension.clone(), *within, period.map(str::to_owned));
        let own = Caveat::Ends { dimension, within, period };
        let is_asked = |at: usize| asked.query.named.contains(&at) || releases.iter().any(|r| r.is_among(at));
        if at.is_some_and(is_asked) && !out.contains(&own) {
            out.push(own);
        }
    }
    out
}

/// Which units a query has no number for. Refused where only complete answers are wanted.
fn left_out(
    teller: &dyn Teller,
    asked: &Question,
    options: &Options,
    (period, ends): (Option<&str>, &[Caveat]),
) -> Result<Vec<Caveat>, QueryError> {
    let is_open = |level: &str| {
        let of = |d: &str| level.strip_prefix(d).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        ends.iter().any(|c| matches!(c, Caveat::Ends { dimension, .. } if of(dimension)))
    };
    let mut caveats = Vec::new();
    for left in &asked.query.left_out {
        let column = left.column.and_then(|at| asked.query.columns.get(at));
        let figure = column.map(|c| c.name().to_owned());
        if options.complete {
            let what = figure.map_or("WHERE".into(), |name| format!("`{name}`"));
            let (fate, level, categories) = (left.fate, left.level.clone(), named(&left.categories));
            return Err(QueryError::Incomplete { what, fate, level, categories });
        }
        // Of one count over all rows: no group.
        let units = [Aggregate::rows(left.units.clone(), None)];
        let told = teller.tell(&Family::whole(&units));
        let told = told.ok().and_then(|told| told.into_iter().next());
        let units = told.map(|told| count(&told, options.level)).transpose()?;
        // Of nobody there is nothing to say.
        if units.is_some_and(ResultFigure::is_surely_zero) {
            continue;
        }
        caveats.push(Caveat::LeftOut {
            figure,
            fate: left.fate,
            level: left.level.clone(),
            categories: left.categories.clone(),
            // Where values beyond the ends are counted at these, the rest is not within them.
            within: left.within.filter(|_| !is_open(&left.level)),
            units,
            period: period.map(str::to_owned),
        });
    }
    Ok(caveats)
}

/// Remarks, each once.
#[derive(Default)]
pub(super) struct Notes(pub Vec<String>);

impl Notes {
    pub(super) fn add(&mut self, note: String) {
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }
}

/// Which release had which share in a figure.
pub(super) fn contributions(name: &str, releases: &[&Answers], shares: &[f64]) -> String {
    let parts: Vec<String> = releases
        .iter()
        .enumerate()
        .map(|(at, r)| (r, shares.get(at).copied().unwrap_or(0.0)))
        .map(|(r, s)| format!("{:.1} % from {}", 100.0 * s, r.title()))
        .collect();
    format!("{name}: combined by precision: {} (first row).", parts.join(", "))
}
