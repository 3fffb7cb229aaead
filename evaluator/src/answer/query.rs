//! A SQL query from one release, or several of one dataset: figures with their intervals, ready to show.

use super::asked::{self, Asked, Row};
use super::caveats::{left_out, truncated};
use super::figure::Pools;
use super::joint::How;
use super::labels::Labels;
use super::making::Making;
use super::nearest::note;
use super::notes::Notes;
use super::open::{Answers, QueryError};
use super::options::Options;
use super::quantile;
use super::render::{Caveat, ResultTable};
use super::rows::{Sortable, kept};
use super::simultaneous::Together;
use super::statement::PriorChoice;
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
        if query.has_quantiles() {
            return quantile::answer(&[(self, query)], options);
        }
        answer(&[(self, &Asked::new(query)?)], options)
    }
}

/// What makes the figures untrue besides noise.
pub(super) fn untrue(releases: &[(&Answers, &Asked)], options: &Options) -> Result<Vec<Caveat>, QueryError> {
    let mut caveats = left_out(releases, options, None)?;
    caveats.extend(truncated(&releases.iter().map(|(r, _)| *r).collect::<Vec<_>>(), options.level, None)?);
    Ok(caveats)
}

/// The answer of one release, or of several whose queries say the same.
pub(super) fn answer(releases: &[(&Answers, &Asked)], options: &Options) -> Result<ResultTable, QueryError> {
    if !(options.level > 0.0 && options.level < 1.0) {
        return Err(QueryError::Level(options.level));
    }
    let totals: Vec<Asked>;
    let with_totals: Vec<(&Answers, &Asked)>;
    let mut releases = releases;
    if let Some(PriorChoice::Binomial { n: None, .. }) = options.prior {
        totals = releases.iter().map(|(_, asked)| asked.with_total()).collect();
        with_totals = releases.iter().zip(&totals).map(|(r, asked)| (r.0, asked)).collect();
        releases = &with_totals;
    }
    let Some(&(first, asked)) = releases.first() else { return Ok(ResultTable::default()) };
    let caveats = untrue(releases, options)?;
    let rows = asked::rows(releases)?;
    let mut how = How { level: options.level, method: options.method, interval: options.interval };
    let mut notes = Notes::default();
    let mut pools = Pools::default();
    let together = options.joint.map(|choice| Together::choose(choice, releases, &rows, &how, &mut pools));
    let together = together.transpose()?.flatten();
    if let Some(together) = &together {
        how.level = together.each;
        notes.add(together.note(options.level));
    }
    if let Some(nearest) = first.nearest() {
        notes.add(note(nearest));
    }
    let prior = options.prior.map(|p| asked.prior(p, first, &mut notes)).transpose()?;
    let labels = Labels::new(asked.query, first.cube());
    let max_z = together.as_ref().and_then(|t| t.max_z);
    let mut making = Making::new(asked, labels, options, how, prior, max_z, pools);
    let mut table = ResultTable { level: options.level, caveats, ..ResultTable::default() };
    table.columns = making.columns(first.nearest().is_some())?;
    // Figures in another sense than least squares, of a single release.
    let nearest = first.nearest().map(|n| nearest(first, n, asked, &rows)).transpose()?;
    let mut out: Vec<Sortable> = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let other = nearest.as_ref().and_then(|n| n.get(at));
        out.push(making.row(row, other.map(Vec::as_slice), &mut notes)?);
    }
    table.rows = kept(asked.query, out, &mut notes);
    table.methods = making.methods(releases, &mut notes);
    table.together = together;
    releases.iter().flat_map(|(r, _)| r.told()).for_each(|note| notes.add(note));
    if let [_] = releases {
        let laws = rows.iter().filter_map(|row| Some((row.portion, &row.groups.first()?.law)));
        super::planned::note(first, asked, laws).into_iter().for_each(|note| notes.add(note));
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
            .map(|at| (at, rows[at].nodes()))
            .unzip();
        let found = release.evaluator().nearest(to, &own.aggregates, &asked.query.group_by, &nodes)?;
        places.into_iter().zip(found).for_each(|(at, known)| out[at] = known);
    }
    Ok(out)
}
