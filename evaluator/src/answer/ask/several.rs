//! Several releases, asked together.
//!
//! Two releases of the same people have noise of their own, so their answers to one question are independent unbiased
//! estimates of one truth. They are combined by precision, which is best among all weightings, and the law of the
//! combined error is the law of the weighted sum: exact again.
//!
//! Releases of *other* people, or of the same people at another time, have no truth in common, and a mean of their answers
//! is an interval around nothing. So releases are taken together only if each says of whom it is ([`Dataset`]), all say
//! the same, one key signed them all (anybody can write the same id), and all count the same rows of a unit. Those of one period are
//! combined; those of different periods are compared, never averaged: see [`super::compare`].

use super::apart;
use super::compare::{Party, compare};
use super::contradict;
use super::explain::explain;
use super::options::Options;
use super::query::asked;
use super::read_from::{ReadFrom, What, read_otherwise};
use super::union;
use crate::answer::error::QueryError;
use crate::answer::tell::open::Answers;
use crate::answer::tell::{Teller, pool::Pooled};
use crate::cube::{Level, Quantity, Weighing};
use crate::plan::Mode;
use crate::release::parts::folded;
use crate::release::{Dataset, Release, SignerKind};
use crate::render::{Explained, Naming, ResultTable};
use crate::sql::meaning::Meaning;
use crate::sql::{Query, SelectColumn};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Releases of one dataset. With a single one, the same as that one.
pub struct Several {
    releases: Vec<Answers>,
    /// What was left aside, and why.
    aside: Vec<String>,
    /// The periods in the order they were given, and which releases are of each.
    periods: Vec<(Option<String>, Vec<usize>)>,
    /// How each reads what it names, where that is known.
    read_from: Vec<ReadFrom>,
}

impl Several {
    /// Opens them together.
    ///
    /// # Errors
    /// The same release twice (its noise is not independent of itself), also under other manifests ([`apart`]), and releases that are not known to
    /// be of the same people, counted alike, or whose exact tables show that they are not ([`contradict`]).
    pub fn new(releases: Vec<Answers>) -> Result<Several, QueryError> {
        let (releases, aside) = best_copies(releases)?;
        for (i, a) in releases.iter().enumerate() {
            let again = |b: &&Answers| b.release().manifest_bytes() == a.release().manifest_bytes();
            if releases.iter().take(i).any(|b| again(&b)) {
                return Err(QueryError::Together(format!("{} is given twice", a.title())));
            }
        }
        // Each with each: one that says nothing of its snapshot agrees with two that contradict each other.
        for (a, b) in pairs(&releases) {
            same_people(a, b)?;
        }
        if let Some(why) = pairs(&releases).find_map(|(a, b)| apart::why_not(a, b)) {
            return Err(QueryError::Together(why));
        }
        let mut periods: Vec<(Option<String>, Vec<usize>)> = Vec::new();
        for (at, release) in releases.iter().enumerate() {
            let period = release.dataset().and_then(|d| d.period.clone());
            match periods.iter_mut().find(|(p, _)| *p == period) {
                Some((_, members)) => members.push(at),
                None => periods.push((period, vec![at])),
            }
        }
        for (_, members) in &periods {
            let own: Vec<&Answers> = members.iter().filter_map(|&at| releases.get(at)).collect();
            contradict::refused(&own)?;
        }
        Ok(Several { releases, aside, periods, read_from: Vec::new() })
    }

    /// The same, for which the sealed specs are known, which nothing here reads. What one name means in two columns, or with other texts that stand for no value, is
    /// then neither combined nor compared unsaid.
    #[must_use]
    pub fn reading(mut self, read_from: impl Fn(&Release) -> ReadFrom) -> Several {
        if self.releases.len() > 1 {
            self.read_from = self.releases.iter().map(|r| read_from(r.release())).collect();
        }
        self
    }

    /// The releases.
    pub fn releases(&self) -> &[Answers] {
        &self.releases
    }

    /// The periods that are compared, in the order they were given; none where all releases are of one.
    pub fn periods(&self) -> Vec<&str> {
        let all = self.periods.iter().filter_map(|(p, _)| p.as_deref());
        if self.periods.len() > 1 { all.collect() } else { Vec::new() }
    }

    /// Which releases an answer is from, and in which sense, as JSON says it.
    pub fn about(&self) -> Map<String, Value> {
        let mut more = Map::new();
        match &self.releases[..] {
            [only] => more.insert("release".into(), only.name().into()),
            some => {
                more.insert("releases".into(), some.iter().map(Answers::title).collect::<Vec<_>>().into())
            }
        };
        let periods = self.periods();
        if !periods.is_empty() {
            more.insert("periods".into(), periods.into());
        }
        more
    }

    /// What a question means to the releases of each period.
    fn parties(&self, sql: &str) -> Result<Vec<Party<'_>>, QueryError> {
        let several = self.periods.len() > 1;
        let queries: Vec<_> = self.read(sql);
        if several || self.releases.len() == 1 {
            // Every figure is of every period: each must understand the question.
            if let Some(at) = queries.iter().position(Result::is_err) {
                return { queries }.swap_remove(at).map(|_| Vec::new());
            }
        }
        let read: Vec<(&Answers, Query)> = self
            .releases
            .iter()
            .zip(queries.iter())
            .filter_map(|(r, q)| Some((r, q.as_ref().ok()?.clone())))
            .collect();
        self.named(&read)?;
        means_the_same(&read)?;
        for (_, members) in &self.periods {
            if let Some(why) = self.read_otherwise(members, &queries) {
                return Err(QueryError::Together(format!("{why}: their truths are different ones")));
            }
        }
        let party = |(period, members): &'_ (Option<String>, Vec<usize>)| {
            let releases: Vec<&Answers> = members.iter().filter_map(|&at| self.releases.get(at)).collect();
            let own = members
                .iter()
                .find_map(|&at| Some((self.releases.get(at)?, queries.get(at)?.as_ref().ok()?)));
            let Some((first, query)) = own else { return Ok(None) };
            let period = period.clone().filter(|_| several);
            Ok(Some(Party { period, teller: told_by(first, &releases)?, query: query.clone() }))
        };
        let parties = self.periods.iter().map(party).collect::<Result<Option<Vec<_>>, QueryError>>()?;
        match (parties, queries.into_iter().find_map(Result::err)) {
            (Some(parties), _) => Ok(parties),
            (None, Some(why)) => Err(why),
            (None, None) => Ok(Vec::new()),
        }
    }

    /// Checks that a question names one of the releases.
    fn named(&self, read: &[(&Answers, Query)]) -> Result<(), QueryError> {
        let Some(((_, query), first)) = read.first().zip(self.releases.first()) else { return Ok(()) };
        match self.releases.iter().any(|r| r.name().eq_ignore_ascii_case(&query.from)) {
            true => Ok(()),
            false => Err(QueryError::From(first.name().into(), query.from.clone())),
        }
    }

    /// Answers one SELECT, which may name any of the releases after FROM.
    pub(crate) fn select(&self, sql: &str, options: &Options) -> Result<ResultTable, QueryError> {
        if let Some(table) = union::below(sql, options, |part| self.select(part, options))? {
            return Ok(table);
        }
        let mut table = self.answer(sql, options)?;
        table.notes.extend(self.aside.iter().cloned());
        let renamed = self.periods.len() > 1 && !self.read_from.is_empty();
        let labelled = options.naming != Naming::Codes;
        let read = if renamed || labelled { self.read(sql) } else { Vec::new() };
        if renamed {
            let all: Vec<usize> = (0..self.releases.len()).collect();
            // Columns are renamed from year to year, so that alone is no reason to refuse.
            let note = self.read_otherwise(&all, &read);
            table.notes.extend(
                note.map(|how| format!("By their specs {how}: compare them only if both mean the same.")),
            );
        }
        if labelled {
            table.notes.extend(self.called_differently(&read));
        }
        Ok(table)
    }

    /// Which name of a question two of these releases read otherwise. What the one does not say does not make the other two agree.
    fn read_otherwise(&self, members: &[usize], queries: &[Result<Query, QueryError>]) -> Option<String> {
        let known = members.iter().filter_map(|&at| {
            let (release, query) = (self.releases.get(at)?, queries.get(at)?.as_ref().ok()?);
            Some((release, query, self.read_from.get(at)?))
        });
        let known: Vec<_> = known.collect();
        let (first, query, _) = known.first()?;
        let names = Meaning::of(first.cube(), query).names();
        let mut what: Vec<What> = names.into_iter().map(What::Named).chain([What::Unit]).collect();
        for quantity in query.aggregates.iter().filter_map(|a| a.subject.quantity()) {
            what.push(What::Named(quantity.name.to_lowercase()));
            if quantity.weighing != Weighing::Plain {
                what.push(What::Weight);
            }
        }
        pairs(&known).find_map(|((one, _, own), (other, _, theirs))| {
            read_otherwise(what.iter(), (&one.title(), own), (&other.title(), theirs))
        })
    }

    /// Where labels are shown and two releases have different ones for one code: the first of these codes.
    fn called_differently(&self, read: &[Result<Query, QueryError>]) -> Option<String> {
        let mut known = self.releases.iter().zip(read).filter_map(|(r, q)| Some((r, q.as_ref().ok()?)));
        let (first, query) = known.next()?;
        let level = |column: &SelectColumn| match column {
            SelectColumn::Group { level, .. } => Some(*level),
            _ => None,
        };
        let labels = |r: &'_ Answers, at: Level| -> Option<Vec<String>> {
            Some(r.cube().dimensions.get(at.dimension)?.labels(at.level)?.to_vec())
        };
        known.find_map(|(other, theirs)| {
            query.columns.iter().zip(&theirs.columns).find_map(|(a, b)| {
                let (at, own) = (level(a)?, level(b)?);
                let (ours, theirs) = (labels(first, at)?, labels(other, own)?);
                let mut pairs = ours.iter().zip(&theirs).enumerate();
                let differ = |(_, (a, b)): &(usize, (&String, &String))| !a.is_empty() && !b.is_empty() && a != b;
                let (node, (ours, theirs)) = pairs.find(differ)?;
                let (name, code) = (first.cube().level_name(at), at.of(first.cube()).labels.get(node)?);
                let (first, other) = (first.title(), other.title());
                Some(format!(
                    "Labels contradict each other: {name} {code} is '{ours}' in {first} and '{theirs}' in {other}. The labels of {first} are shown."
                ))
            })
        })
    }

    fn answer(&self, sql: &str, options: &Options) -> Result<ResultTable, QueryError> {
        if let [only] = &self.releases[..] {
            return only.ask(sql, options);
        }
        let parties = self.parties(sql)?;
        match &parties[..] {
            [] => Ok(ResultTable::default()),
            [one] => asked(&*one.teller, &one.query, options),
            parties if parties.iter().any(|p| p.query.has_quantiles()) => {
                Err(QueryError::Compared("MEDIAN and QUANTILE are of one"))
            }
            parties if parties.iter().any(|p| p.query.has_ranks()) => {
                Err(QueryError::Compared("places are those of one"))
            }
            parties => compare(parties, options),
        }
    }

    /// Explains the first rows of a query's answer, in the order of its groups.
    pub fn explain(&self, sql: &str) -> Result<Vec<Explained>, QueryError> {
        let mut out = Vec::new();
        for party in self.parties(sql)? {
            let explained = explain(&*party.teller, &party.query)?;
            // A figure of several periods is as many figures.
            out.extend(explained.into_iter().map(|e| match &party.period {
                Some(period) => Explained { figure: format!("{}_{period}", e.figure), ..e },
                None => e,
            }));
        }
        Ok(out)
    }

    /// The query as each release understands it.
    pub(crate) fn read(&self, sql: &str) -> Vec<Result<Query, QueryError>> {
        let names: Vec<&str> = self.releases.iter().map(Answers::name).collect();
        self.releases.iter().map(|r| r.read(sql, &names)).collect()
    }
}

/// Each with each, the earlier one first.
fn pairs<T>(of: &[T]) -> impl Iterator<Item = (&T, &T)> {
    of.iter().enumerate().flat_map(|(i, b)| of.iter().take(i).map(move |a| (a, b)))
}

/// Who tells what releases of one period know, for questions as the first of these understands them.
fn told_by<'a>(first: &'a Answers, releases: &[&'a Answers]) -> Result<Box<dyn Teller + 'a>, QueryError> {
    match releases {
        [only] => Ok(Box::new(*only)),
        several => Ok(Box::new(Pooled::new(first.cube(), several)?)),
    }
}

/// Checks that a query speaks of the same categories to all releases, and has the same rows and figures.
fn means_the_same(read: &[(&Answers, Query)]) -> Result<(), QueryError> {
    let mut meanings = read.iter().map(|(r, q)| (*r, q, Meaning::of(r.cube(), q)));
    let Some((one, query, first)) = meanings.next() else { return Ok(()) };
    for (release, other, meaning) in meanings {
        let unlike = numbers_differ(query, other).or_else(|| first.unlike(&meaning)).or_else(|| {
            let left_out =
                |q: &Query| -> Vec<Vec<String>> { q.left_out.iter().map(|l| l.categories.clone()).collect() };
            let same = query.columns.len() == other.columns.len() && left_out(query) == left_out(other);
            (!same).then(|| "take the query to mean different things".into())
        });
        if let Some(how) = unlike {
            return Err(QueryError::Together(format!("{} and {} {how}", one.title(), release.title())));
        }
    }
    Ok(())
}

/// In what the numbers that a query adds up differ between two releases, if they do: their truths are different ones then.
fn numbers_differ(one: &Query, other: &Query) -> Option<String> {
    let of = |query: &'_ Query| -> Vec<_> {
        query.aggregates.iter().filter_map(|a| a.subject.quantity().cloned()).collect()
    };
    let theirs = of(other);
    let elsewhere =
        |a: &Arc<Quantity>| theirs.iter().any(|b| a.name.eq_ignore_ascii_case(&b.name) && a.from != b.from);
    // The one needs counts, and the other has none: their figures are not even as many.
    if let Some(sum) = of(one).iter().find(|a| elsewhere(a)) {
        return Some(format!(
            "measure {} from different origins, the middle of its bounds and zero",
            sum.name
        ));
    }
    let pairs = one.aggregates.iter().zip(&other.aggregates).map(|(a, b)| (&a.subject, &b.subject));
    let (a, b) = pairs.into_iter().find(|(a, b)| !a.is_alike(b))?;
    let of_name = a.quantity().zip(b.quantity()).filter(|(a, b)| a.name.eq_ignore_ascii_case(&b.name));
    Some(match of_name.and_then(|(a, b)| Some((a, a.unlike(b)?))) {
        Some((a, how)) => format!("do not add up one {}: {how}", a.name),
        None => "weigh rows by different numbers, or one of them by none".into(),
    })
}

/// Releases that are known to be of the same people and period, without the copies that others know better.
///
/// # Errors
/// Exact tables that contradict each other.
pub fn agreeing(releases: Vec<Answers>) -> Result<Vec<Answers>, QueryError> {
    let (releases, _) = best_copies(releases)?;
    contradict::refused(&releases.iter().collect::<Vec<_>>())?;
    Ok(releases)
}

/// Of nested copies of one measuring only the most precise: the others were made from it, so they know nothing that it does not, and
/// their errors are not independent of its own. With what is told of those left aside.
///
/// # Errors
/// A copy whose exact tables are not those of the one that it would have been made from: no copy changes these.
fn best_copies(releases: Vec<Answers>) -> Result<(Vec<Answers>, Vec<String>), QueryError> {
    fit(&releases)?;
    let rank = |a: &Answers| a.copy().map(|copy| copy.own);
    let mut aside = Vec::new();
    let kept = releases
        .iter()
        .map(|a| {
            if a.copy().is_none_or(|copy| copy.mode != Mode::Nested) {
                return Ok(true);
            }
            // The most precise of all that are more precise.
            let others = releases.iter().filter(|b| one_measuring(a, b) && rank(b) < rank(a));
            let better = others.min_by_key(|b| rank(b));
            if let Some(better) = better {
                contradict::refused(&[better, a])?;
                let name = |a: &Answers| a.copy().map_or(String::new(), |c| c.recipient().to_owned());
                aside.push(format!(
                    "The copy of {} was made from a more precise one and adds nothing to that of {}, which answers.",
                    name(a),
                    name(better)
                ));
            }
            Ok(better.is_none())
        })
        .collect::<Result<Vec<bool>, QueryError>>()?;
    let mut kept = kept.into_iter();
    let releases = releases.into_iter().filter(|_| kept.next().unwrap_or(true)).collect();
    Ok((releases, aside))
}

/// Whether two releases say that they are copies of one measuring.
pub(super) fn one_measuring(a: &Answers, b: &Answers) -> bool {
    let key = |r: &Answers| r.release().manifest().signer.public_key.clone();
    a.copy().zip(b.copy()).is_some_and(|(a, b)| a.measuring == b.measuring) && key(a) == key(b)
}

/// Refuses copies of one measuring that contradict each other. Each is held against the least precise one, which tells all that the others tell of
/// the noise that was added.
pub(super) fn fit(releases: &[Answers]) -> Result<(), QueryError> {
    for a in releases {
        let copies = releases.iter().filter(|b| one_measuring(a, b));
        if let Some(least) = copies.max_by_key(|b| b.copy().map(|copy| copy.own)) {
            a.release().is_measured_with(least.release()).map_err(QueryError::Together)?;
        }
    }
    Ok(())
}

/// Of which part of the people a release is. What no program of today takes for a name is only the same as itself.
fn part(of: &Answers) -> Option<(String, String)> {
    let part = of.release().manifest().account.as_ref()?.name.part.as_ref()?;
    Some(folded(part).unwrap_or_else(|| (part.clone(), String::new())))
}

/// Whether two releases are of one part of the people, or both of none.
fn same_part(a: &Answers, b: &Answers) -> Result<(), QueryError> {
    if part(a) == part(b) {
        return Ok(());
    }
    let said = |r: &Answers| match part(r) {
        Some((by, is)) => format!("the part {by}={is} of them"),
        None => "no part of them by name".into(),
    };
    let (first, second) = (a.title(), b.title());
    let (one, other) = (said(a), said(b));
    Err(QueryError::Together(format!(
        "{first} is of {one}, {second} of {other}: other people, so there is no figure of both"
    )))
}

/// Whether two releases are known to be of the same people, counted alike.
fn same_people(a: &Answers, b: &Answers) -> Result<(), QueryError> {
    // Copies of one measuring are, whether or not they say of whom.
    if one_measuring(a, b) {
        return Ok(());
    }
    let refuse = |why: String| Err(QueryError::Together(why));
    let (first, second) = (a.title(), b.title());
    let (of_a, of_b) = match (a.dataset(), b.dataset()) {
        (Some(of_a), Some(of_b)) => (of_a, of_b),
        (none, _) => {
            let silent = if none.is_none() { &first } else { &second };
            return refuse(format!(
                "{silent} does not say of whom it is, so it is combined with no other: a spec says it with \
                 [dataset] id (files of format 1 cannot)"
            ));
        }
    };
    if of_a.id != of_b.id {
        return refuse(format!(
            "{first} is of the dataset `{}`, {second} of `{}`: other people, so there is no figure of both",
            of_a.id, of_b.id
        ));
    }
    same_part(a, b)?;
    let (signer, other) = (&a.release().manifest().signer, &b.release().manifest().signer);
    if signer.public_key != other.public_key {
        let throw_away = [signer, other].iter().any(|s| s.kind == SignerKind::ThrowAway);
        let help = if throw_away {
            ". A throw-away key is new each time: make one with `margins keygen --out agency.key` and \
             release both with --key agency.key"
        } else {
            ""
        };
        return refuse(format!(
            "both say they are of the dataset `{}`, but {first} is signed by {} and {second} by {}: nothing shows that \
             they are of the same people{help}",
            of_a.id, signer.public_key, other.public_key
        ));
    }
    if of_a.period.is_some() != of_b.period.is_some() {
        let said = |d: &Dataset| d.period.as_ref().map_or("no period".into(), |p| format!("the period {p}"));
        return refuse(format!(
            "{first} names {} and {second} {}: whether they are of the same time is not known",
            said(of_a),
            said(of_b)
        ));
    }
    if let (Some(x), Some(y)) = (&of_a.snapshot, &of_b.snapshot)
        && of_a.period == of_b.period
        && x != y
    {
        return refuse(format!(
            "{first} is of the snapshot {x} of these data and {second} of the snapshot {y}: their counts have different truths"
        ));
    }
    if a.bound() != b.bound() {
        let said = |r: &Answers| match r.bound() {
            None => "counts every row".into(),
            Some((unit, 1)) => format!("counts at most 1 row of each {unit}"),
            Some((unit, rows)) => format!("counts at most {rows} rows of each {unit}"),
        };
        return refuse(format!(
            "{first} {}, {second} {}: their counts have different truths",
            said(a),
            said(b)
        ));
    }
    let rows = |r: &Answers| r.release().manifest().privacy.clone();
    let (of_a, of_b) = (rows(a), rows(b));
    if of_a.order != of_b.order {
        let said = |order: &[String]| match order {
            [] => "in the order of the data".to_owned(),
            columns => format!("by {}", columns.join(", ")),
        };
        return refuse(format!(
            "the rows of a {} that count are its first {} in {first} and {} in {second}: their counts have different truths",
            of_a.unit,
            said(&of_a.order),
            said(&of_b.order)
        ));
    }
    // A run that stops at rows without a unit had none.
    if of_a.without.zip(of_b.without).is_some_and(|(x, y)| x != y) {
        return refuse(format!(
            "one of {first} and {second} counts rows without a {} and the other leaves them out: their counts have different truths",
            of_a.unit
        ));
    }
    Ok(())
}
