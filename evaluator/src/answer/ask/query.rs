//! A query answered by a teller: figures with their intervals, ready to show.

use super::notes::{Notes, clamped_dimensions, quantities, untrue};
use super::options::Options;
use super::rows::{Met, RowBuilder, Sortable, kept};
use super::union;
use crate::answer::decorate::places;
use crate::answer::decorate::posterior::Posteriors;
use crate::answer::error::QueryError;
use crate::answer::figure::question::{self, Labels, Question};
use crate::answer::figure::{Figure, Pairs, quantile};
use crate::answer::tell::open::Answers;
use crate::answer::tell::{Errors, Teller};
use crate::joint::How;
use crate::posterior::PriorChoice;
use crate::render::{ResultTable, Together};
use crate::sql::{Query, SelectColumn};

const OF_THESE: &str = "A total over all rows is of the keys that this query lists, not of all that were counted: a projection knows no total.";

impl Answers {
    /// Answers one SELECT with intervals at `level`.
    pub fn query(&self, sql: &str, level: f64) -> Result<ResultTable, QueryError> {
        self.ask(sql, &Options::at(level))
    }

    /// Answers one SELECT.
    pub fn ask(&self, sql: &str, options: &Options) -> Result<ResultTable, QueryError> {
        match union::below(sql, options, |part| self.ask(part, options))? {
            Some(table) => Ok(table),
            None => self.answer(&self.parse(sql)?, options),
        }
    }

    /// Answers a query that has been parsed.
    pub(crate) fn answer(&self, query: &Query, options: &Options) -> Result<ResultTable, QueryError> {
        asked(&self, query, options)
    }
}

/// The answer of a teller.
pub(super) fn asked(
    teller: &dyn Teller,
    query: &Query,
    options: &Options,
) -> Result<ResultTable, QueryError> {
    if query.has_quantiles() {
        options.fit_quantiles(query)?;
    }
    let mut question = Question::with_quantiles(query, teller.cube())?;
    let clamped = clamped_dimensions(teller);
    for (column, quantile) in query.columns.iter().zip(&mut question.quantiles) {
        if let (SelectColumn::Quantile { level, .. }, Some(quantile)) = (column, quantile)
            && clamped.contains(&level.dimension)
        {
            quantile.clamped();
        }
    }
    answer(teller, &question, options)
}

fn answer(teller: &dyn Teller, asked: &Question, options: &Options) -> Result<ResultTable, QueryError> {
    let errors = teller.errors();
    options.fit(errors)?;
    if errors != Errors::Noises && asked.figures.iter().flatten().any(Figure::is_shifted_ratio) {
        return Err(QueryError::TablesOnly("share of sums to which a number is added"));
    }
    if errors != Errors::Noises || options.prob.is_some() || options.test.is_some() {
        asked.without_curved()?;
    }
    let with_total: Question;
    let mut asked = asked;
    if let Some(PriorChoice::Binomial { n: None, .. }) = options.prior {
        with_total = asked.with_total();
        asked = &with_total;
    }
    let caveats = untrue(teller, asked, options, None)?;
    let mut rows = question::rows(teller, asked)?;
    if let (Some(limit), None, true, false) =
        (asked.query.limit, &asked.query.having, asked.query.order_by.is_empty(), asked.query.has_ranks())
    {
        // The others are never shown, whatever their estimates.
        rows.truncate(usize::try_from(limit.saturating_add(asked.query.offset)).unwrap_or(usize::MAX));
    }
    let mut how = How { level: options.level, method: options.method, interval: options.interval };
    let places = places::places(teller, asked, &rows, &how)?;
    let mut notes = Notes::default();
    let mut pairs = Pairs::default();
    let joint = |choice| Together::choose(choice, teller, asked, &rows, &how, &mut pairs);
    let together = options.joint.map(joint).transpose()?.flatten();
    if let Some(together) = &together {
        how.level = together.each;
        notes.add(together.note(options.level));
    }
    let releases = teller.releases();
    let prior = options.prior.map(|p| asked.prior(p, teller)).transpose()?;
    let prior = prior.map(|(prior, note)| {
        notes.add(note);
        prior
    });
    let labels = Labels::new(asked.query, teller.cube());
    let max_z = together.as_ref().and_then(|t| t.max_z);
    let mut making = RowBuilder {
        asked,
        labels,
        options,
        how,
        prior,
        max_z,
        pairs,
        posteriors: Posteriors::default(),
        cuts: teller.cuts(),
        each: true,
        met: vec![Met::default(); asked.figures.len()],
    };
    let mut table = ResultTable::new(Vec::new(), Vec::new(), options.level);
    table.caveats = caveats;
    (table.columns, table.labels) = making.columns()?;
    let mut out: Vec<Sortable> = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let places: Vec<_> = places.iter().map(|p| p.as_ref().and_then(|p| p.rows.get(at))).collect();
        out.push(making.row(row, &places, &mut notes)?);
    }
    if options.reliability {
        notes.add(making.cuts.note());
    }
    table.rows = kept(asked.query, out, &mut notes);
    table.methods = making.methods(&releases, &mut notes);
    table.together = together;
    if errors != Errors::Noises && asked.aggregates.iter().any(|a| a.partition.is_some()) {
        notes.add(OF_THESE.into());
    }
    options.note(errors).into_iter().for_each(|note| notes.add(note.into()));
    releases.iter().flat_map(|r| r.told()).for_each(|note| notes.add(note));
    quantities(&releases, asked).iter().for_each(|q| notes.add(q.note()));
    if let [only] = &releases[..] {
        let laws = rows.iter().map(|row| (row.portion, &row.told.law));
        super::off_plan_note::note(only, asked, laws).into_iter().for_each(|note| notes.add(note));
    }
    let quantiles: Vec<_> = quantile::notes(asked.query, &asked.quantiles, teller.cube(), &table).collect();
    for (name, note) in quantiles {
        table.methods.push((name, quantile::METHOD.into()));
        notes.add(note);
    }
    for (column, places) in asked.query.columns.iter().zip(places) {
        let Some(places) = places else { continue };
        table.methods.push((column.name().into(), places.method));
        notes.add(places.note);
    }
    table.notes = notes.0;
    Ok(table)
}
