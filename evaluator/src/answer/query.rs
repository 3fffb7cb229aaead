//! A SQL query from one release, or several of one dataset: figures with their intervals, ready to show.

use super::asked::{self, Asked, Row};
use super::caveats;
use super::figure::Pairs;
use super::joint::How;
use super::labels::Labels;
use super::making::Making;
use super::nearest::note;
use super::notes::Notes;
use super::open::{Answers, QueryError};
use super::options::Options;
use super::quantile;
use super::render::ResultTable;
use super::rows::{Sortable, kept};
use super::simultaneous::Together;
use super::statement::PriorChoice;
use super::tell::Teller;
use crate::recover::Nearest;
use crate::sql::Query;

impl Answers {
    /// Answers one SELECT with intervals at `level`.
    pub fn query(&self, sql: &str, level: f64) -> Result<ResultTable, QueryError> {
        self.ask(sql, &Options::at(level))
    }

    /// Answers one SELECT.
    pub fn ask(&self, sql: &str, options: &Options) -> Result<ResultTable, QueryError> {
        self.answer(&self.parse(sql)?, options)
    }

    /// Answers a query that has been parsed.
    pub fn answer(&self, query: &Query, options: &Options) -> Result<ResultTable, QueryError> {
        asked(self, query, options)
    }
}

/// The answer of a teller.
pub(super) fn asked(
    teller: &dyn Teller,
    query: &Query,
    options: &Options,
) -> Result<ResultTable, QueryError> {
    if query.has_quantiles() {
        return quantile::answer(teller, query, options);
    }
    answer(teller, &Asked::new(query)?, options)
}

/// The same of a query without quantiles.
pub(super) fn answer(
    teller: &dyn Teller,
    asked: &Asked,
    options: &Options,
) -> Result<ResultTable, QueryError> {
    if !(options.level > 0.0 && options.level < 1.0) {
        return Err(QueryError::Level(options.level));
    }
    let with_total: Asked;
    let mut asked = asked;
    if let Some(PriorChoice::Binomial { n: None, .. }) = options.prior {
        with_total = asked.with_total();
        asked = &with_total;
    }
    let caveats = caveats::untrue(teller, asked, options, None)?;
    let rows = asked::rows(teller, asked)?;
    let mut how = How { level: options.level, method: options.method, interval: options.interval };
    let mut notes = Notes::default();
    let mut pairs = Pairs::default();
    let joint = |choice| Together::choose(choice, teller, asked, &rows, &how, &mut pairs);
    let together = options.joint.map(joint).transpose()?.flatten();
    if let Some(together) = &together {
        how.level = together.each;
        notes.add(together.note(options.level));
    }
    let releases = teller.releases();
    // Figures in another sense than least squares are those of a single release.
    let other = releases.iter().find_map(|r| Some((*r, r.nearest()?)));
    if let Some((_, nearest)) = other {
        notes.add(note(nearest));
    }
    let prior = options.prior.map(|p| asked.prior(p, teller, &mut notes)).transpose()?;
    let labels = Labels::new(asked.query, teller.cube());
    let max_z = together.as_ref().and_then(|t| t.max_z);
    let mut making = Making::new(asked, labels, options, how, prior, max_z, pairs);
    let mut table = ResultTable { level: options.level, caveats, ..ResultTable::default() };
    table.columns = making.columns(other.is_some())?;
    let nearest = other.map(|(release, to)| nearest(release, to, asked, &rows)).transpose()?;
    let mut out: Vec<Sortable> = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let other = nearest.as_ref().and_then(|n| n.get(at));
        out.push(making.row(row, other.map(Vec::as_slice), &mut notes)?);
    }
    table.rows = kept(asked.query, out, &mut notes);
    table.methods = making.methods(&releases, &mut notes);
    table.together = together;
    releases.iter().flat_map(|r| r.told()).for_each(|note| notes.add(note));
    if let [only] = &releases[..] {
        let laws = rows.iter().map(|row| (row.portion, &row.told.law));
        super::planned::note(only, asked, laws).into_iter().for_each(|note| notes.add(note));
    }
    table.notes = notes.0;
    Ok(table)
}

/// The aggregates of every row, from the consistent tables nearest to the measured ones.
fn nearest(
    release: &Answers,
    to: &Nearest,
    asked: &Asked,
    rows: &[Row],
) -> Result<Vec<Vec<f64>>, QueryError> {
    let mut out = vec![Vec::new(); rows.len()];
    for (portion, own) in asked.portions.iter().enumerate() {
        let (places, nodes): (Vec<usize>, Vec<&[u32]>) = (0..rows.len())
            .filter(|&at| rows[at].portion == portion)
            .map(|at| (at, &rows[at].told.nodes[..]))
            .unzip();
        let found = release.evaluator().nearest(to, &own.aggregates, &asked.query.group_by, &nodes)?;
        places.into_iter().zip(found).for_each(|(at, known)| out[at] = known);
    }
    Ok(out)
}
