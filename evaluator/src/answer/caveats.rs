//! What makes the numbers of one answer untrue besides noise, with what the release knows of it.

use super::asked::Asked;
use super::figure::{Figure, Known, Pools};
use super::joint::How;
use super::open::{Answers, QueryError};
use super::options::Options;
use super::render::{Caveat, ResultFigure, named};
use crate::cube::Filter;
use crate::law::{Interval, LawError, Method};
use crate::sql::Aggregate;

impl Answers {
    /// What every answer of this release must say, with intervals at `level`.
    pub fn caveats(&self, level: f64) -> Result<Vec<Caveat>, LawError> {
        truncated(&[self], level, None).map(|c| c.into_iter().collect())
    }
}

/// How the numbers beside an answer are found: their own intervals at the level asked for.
fn how(level: f64) -> How {
    How { level, method: Method::Auto, interval: Interval::EqualTailed }
}

/// A count from what each release knows of it.
fn count(known: &[Known], level: f64) -> Result<ResultFigure, LawError> {
    let all = [Aggregate { filter: Filter::everything(), partition: None }];
    let answered = Figure::aggregate(0, &all).answer(0, known, &how(level), &mut Pools::default())?;
    Ok(answered.shown())
}

/// What the bound on the rows of a unit did. All releases have the same bound.
pub(super) fn truncated(
    releases: &[&Answers],
    level: f64,
    period: Option<&str>,
) -> Result<Option<Caveat>, LawError> {
    let Some((unit, max_rows)) = releases.first().and_then(|r| r.bound()) else { return Ok(None) };
    let measured: Vec<Known> = releases
        .iter()
        .filter_map(|r| {
            r.cut().map(|(estimate, law)| Known { estimates: std::slice::from_ref(estimate), law })
        })
        .collect();
    let cut = if measured.is_empty() { None } else { Some(count(&measured, level)?) };
    // The bound is that of every period; only the count is of one.
    let period = period.filter(|_| cut.is_some()).map(str::to_owned);
    Ok(Some(Caveat::Truncated { unit: unit.into(), max_rows, cut, period }))
}

/// Which units a query has no number for. Refused where only complete answers are wanted.
pub(super) fn left_out(
    releases: &[(&Answers, &Asked)],
    options: &Options,
    period: Option<&str>,
) -> Result<Vec<Caveat>, QueryError> {
    let Some(&(_, asked)) = releases.first() else { return Ok(Vec::new()) };
    let mut caveats = Vec::new();
    for (at, left) in asked.query.left_out.iter().enumerate() {
        let column = left.column.and_then(|at| asked.query.columns.get(at));
        let figure = column.map(|c| c.name().to_owned());
        if options.complete {
            let what = figure.map_or("WHERE".into(), |name| format!("`{name}`"));
            let (fate, level, categories) = (left.fate, left.level.clone(), named(&left.categories));
            return Err(QueryError::Incomplete { what, fate, level, categories });
        }
        // Of one count over all rows: no group.
        let groups: Option<Vec<_>> = releases
            .iter()
            .map(|(release, asked)| {
                let filter = asked.query.left_out.get(at)?.units.clone();
                release
                    .evaluator()
                    .joint(&[Aggregate { filter, partition: None }], &[])
                    .ok()?
                    .into_iter()
                    .next()
            })
            .collect();
        let units = match &groups {
            None => None,
            Some(groups) => {
                let known: Vec<Known> =
                    groups.iter().map(|g| Known { estimates: &g.estimates, law: &g.law }).collect();
                Some(count(&known, options.level)?)
            }
        };
        caveats.push(Caveat::LeftOut {
            figure,
            fate: left.fate,
            level: left.level.clone(),
            categories: left.categories.clone(),
            units,
            period: period.map(str::to_owned),
        });
    }
    Ok(caveats)
}
