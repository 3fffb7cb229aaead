//! A SQL query from one release, or several of one dataset: figures with their intervals, ready to show.

use super::asked::{self, Asked, Row};
use super::caveats::{left_out, truncated};
use super::figure::{Answered, ErrorOf, Figure, Known, Pools};
use super::joint::{How, JointLaw, Solved};
use super::labels::Labels;
use super::making::Making;
use super::nearest::note;
use super::open::{Answers, QueryError};
use super::posterior::{CountPosterior, Prior, Total};
use super::quantile;
use super::render::{Caveat, ResultFigure, ResultTable};
use super::rows::{Sortable, kept};
use super::simultaneous::{Simultaneous, Together};
use super::statement::{PriorChoice, Statement};
use crate::cube::Filter;
use crate::law::{Interval, Method};
use crate::recover::Nearest;
use crate::sql::Query;
use std::collections::HashMap;
use std::sync::Arc;

/// What is wanted of an answer beside the figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The probability with which each interval covers the truth.
    pub level: f64,
    /// How probabilities are computed.
    pub method: Method,
    /// Which interval.
    pub interval: Interval,
    /// Also the probability of this statement about each figure.
    pub prob: Option<Statement>,
    /// Also the two-sided p-value of the hypothesis that each figure is this number.
    pub test: Option<f64>,
    /// Also the posterior of each count under this prior.
    pub prior: Option<PriorChoice>,
    /// The intervals cover all together with probability `level`.
    pub joint: Option<Simultaneous>,
    /// Refuse sums and comparisons of units without a number, instead of saying how many they are.
    pub complete: bool,
}

impl Options {
    /// Intervals at `level`, nothing else.
    pub fn at(level: f64) -> Options {
        Options {
            level,
            method: Method::Auto,
            interval: Interval::EqualTailed,
            prob: None,
            test: None,
            prior: None,
            joint: None,
            complete: false,
        }
    }
}

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

impl Asked<'_> {
    /// Fills in the totals a prior speaks of.
    fn prior(&self, choice: PriorChoice, from: &Answers, notes: &mut Notes) -> Result<Before, QueryError> {
        let total = || -> Result<(f64, f64), QueryError> {
            let all = from.evaluator().aggregate(&Filter::everything(), &[])?;
            Ok(all.first().map_or((0.0, 0.0), |g| (g.estimate, g.law.variance())))
        };
        let (prior, text) = match choice {
            PriorChoice::Flat => (Before::Prior(Prior::Flat), "flat: any whole number".to_string()),
            PriorChoice::NonNegative => {
                (Before::Prior(Prior::NonNegative), "any whole number from 0 up".into())
            }
            PriorChoice::Uniform { n } => {
                (Before::Prior(Prior::Uniform { n }), format!("uniform on 0 … {n}"))
            }
            PriorChoice::Binomial { n: Some(n), p } => {
                (Before::Prior(Prior::Binomial { n, p }), format!("binomial, n = {n}, p = {p}"))
            }
            PriorChoice::Binomial { n: None, p } => {
                let (n, variance) = total()?;
                if variance == 0.0 {
                    let n = libm::round(n).max(0.0) as u64;
                    (
                        Before::Prior(Prior::Binomial { n, p }),
                        format!("binomial, p = {p}, n = {n}, the exact total"),
                    )
                } else {
                    let text =
                        format!("binomial, p = {p}, n the total, itself estimated: any number from 0 up");
                    (Before::OfTotal { p }, text)
                }
            }
            PriorChoice::KnownTotal => {
                let (n, variance) = total()?;
                if variance > 0.0 {
                    return Err(QueryError::TotalNotExact);
                }
                let n = libm::round(n).max(0.0) as u64;
                (Before::Prior(Prior::Uniform { n }), format!("uniform on 0 … {n}, the exact total"))
            }
        };
        notes.add(format!(
            "posterior: mean, standard deviation and interval given the prior \u{201c}{text}\u{201d}; it is only as good \
             as the prior. The other columns use no prior."
        ));
        Ok(prior)
    }
}

/// What is known of a count beforehand.
#[derive(Clone, Copy)]
pub(super) enum Before {
    Prior(Prior),
    /// Binomial with probability p, of a total that is only estimated: the last aggregate.
    OfTotal {
        p: f64,
    },
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

/// Remarks, each once.
#[derive(Default)]
pub(super) struct Notes(pub Vec<String>);

impl Notes {
    pub fn add(&mut self, note: String) {
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }
}

pub(super) fn contributions(name: &str, releases: &[(&Answers, &Asked)], shares: &[f64]) -> String {
    let parts: Vec<String> = releases
        .iter()
        .zip(shares)
        .map(|((r, _), s)| format!("{:.1} % from {}", 100.0 * s, r.title()))
        .collect();
    format!("{name}: combined by precision: {} (first row).", parts.join(", "))
}

pub(super) fn shown(a: &Answered) -> ResultFigure {
    ResultFigure { estimate: a.estimate, std_error: a.std_error, low: a.low, high: a.high }
}

/// Posteriors: one for each law, estimate and total.
#[derive(Default)]
pub(super) struct Posteriors(HashMap<(usize, u64, u64), (Arc<Solved>, Arc<CountPosterior>)>);

impl Posteriors {
    pub fn of(&mut self, answered: &Answered, prior: Prior) -> Result<Arc<CountPosterior>, QueryError> {
        let ErrorOf::Linear(solved) = &answered.error else {
            return Err(QueryError::NotACount("a ratio".into()));
        };
        let key = (Arc::as_ptr(solved) as usize, answered.estimate.to_bits(), 0);
        if let Some((_, known)) = self.0.get(&key) {
            return Ok(known.clone());
        }
        let made = Arc::new(CountPosterior::new(&solved.law, answered.estimate, prior)?);
        // The law is kept alive, so that its address stays its own.
        self.0.insert(key, (solved.clone(), made.clone()));
        Ok(made)
    }

    /// The total is the last aggregate.
    pub fn of_total(
        &mut self,
        answered: &Answered,
        figure: &Figure,
        known: &[Known],
        p: f64,
    ) -> Result<Arc<CountPosterior>, QueryError> {
        let ErrorOf::Linear(solved) = &answered.error else {
            return Err(QueryError::NotACount("a ratio".into()));
        };
        let shares = answered.shares.iter();
        let estimate: f64 = known
            .iter()
            .zip(shares.clone())
            .map(|(k, s)| s * k.estimates.last().copied().unwrap_or(0.0))
            .sum();
        let key = (Arc::as_ptr(solved) as usize, answered.estimate.to_bits(), estimate.to_bits());
        if let Some((_, posterior)) = self.0.get(&key) {
            return Ok(posterior.clone());
        }
        // The errors of the count and of the total, from the same noises.
        let sources: Vec<(&JointLaw, Vec<Vec<f64>>)> = known
            .iter()
            .zip(shares)
            .map(|(k, s)| {
                let width = k.estimates.len();
                let count = figure.weights(width).into_iter().next().unwrap_or_default();
                let total = (0..width).map(|i| if i + 1 == width { *s } else { 0.0 }).collect();
                (&**k.law, vec![count.iter().map(|w| w * s).collect(), total])
            })
            .collect();
        let pair = JointLaw::pool(&sources);
        let variance = solved.law.variance();
        let slope = if variance > 0.0 { pair.covariance(&[1.0, 0.0], &[0.0, 1.0]) / variance } else { 0.0 };
        // What is a whole number but for rounding is one.
        let near = libm::round(slope);
        let slope = if (slope - near).abs() < 1e-9 { near } else { slope };
        let total = Total { estimate, slope, rest: pair.combine(&[-slope, 1.0])? };
        let made = Arc::new(CountPosterior::of_total(&solved.law, answered.estimate, p, &total)?);
        self.0.insert(key, (solved.clone(), made.clone()));
        Ok(made)
    }
}
