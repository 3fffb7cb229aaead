//! What is asked of a projection's answers beside their intervals: that all cover together, the probability of a statement, a prior.
//!
//! An estimate from a dense projection has no law that is known exactly: other counts leak into it. Statements and priors take its error to be normal
//! with the standard error that stands beside it, and a note says so. The median of a sketch's rows has the law that gives its interval, the
//! order of the rows, and a statement is as sure as that proves; no prior can be weighed with it. Intervals together are
//! Bonferroni's, which needs no law.

use crate::answer::decorate::simultaneous::Simultaneous;
use crate::answer::decorate::statement::{PriorChoice, Statement};
use crate::answer::error::QueryError;
use crate::answer::options::Options;
use crate::law::{ErrorLaw, Interval, NoiseLaw, Term};
use crate::posterior::{CountPosterior, PosteriorError, Prior, prob_between, prob_greater};
use crate::projection::answer::{Answer, Law};
use crate::projection::order::sure;
use crate::render::{ColumnKind, ResultCell, ResultFigure};

/// What is asked, resolved.
pub(super) struct Statements {
    together: f64,
    each: f64,
    intervals: usize,
    prob: Option<Statement>,
    prior: Option<(Prior, String)>,
    interval: Interval,
    /// Whether it is a sketch that answers.
    sketch: bool,
}

impl Statements {
    /// For an answer of so many intervals, by a sketch or a dense projection. What only tables can be asked is refused.
    pub(super) fn new(options: &Options, intervals: usize, sketch: bool) -> Result<Statements, QueryError> {
        if sketch && options.prior.is_some() {
            return Err(QueryError::NoPrior);
        }
        if options.test.is_some() {
            return Err(QueryError::TablesOnly("p-values: its errors have no exact law"));
        }
        if options.method != Options::at(0.5).method {
            return Err(QueryError::TablesOnly("choice of method: its errors have no exact law"));
        }
        if options.joint == Some(Simultaneous::MaxZ) {
            return Err(QueryError::TablesOnly(
                "simulated law of the largest error: --joint=bonferroni needs none",
            ));
        }
        let prior = match options.prior {
            None => None,
            Some(PriorChoice::Flat) => Some((Prior::Flat, "flat".to_owned())),
            Some(PriorChoice::NonNegative) => {
                Some((Prior::NonNegative, "any whole number from 0 up".to_owned()))
            }
            Some(PriorChoice::Uniform { n }) => Some((Prior::Uniform { n }, format!("uniform on 0 … {n}"))),
            Some(PriorChoice::Binomial { n: Some(n), p }) => {
                Some((Prior::Binomial { n, p }, format!("binomial, p = {p}, n = {n}")))
            }
            Some(PriorChoice::Binomial { n: None, .. } | PriorChoice::KnownTotal) => {
                return Err(QueryError::NoTotal);
            }
        };
        let together = options.joint.is_some() && intervals > 1;
        let each = if together { 1.0 - (1.0 - options.level) / intervals as f64 } else { options.level };
        Ok(Statements {
            together: options.level,
            each,
            intervals: if together { intervals } else { 1 },
            prob: options.prob,
            prior,
            interval: options.interval,
            sketch,
        })
    }

    /// The level of each interval.
    pub(super) fn each(&self) -> f64 {
        self.each
    }

    pub(super) fn has_prior(&self) -> bool {
        self.prior.is_some()
    }

    /// What stands below the answer.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.intervals > 1 {
            notes.push(format!(
                "All {} intervals cover together with probability {}, by Bonferroni's inequality: each alone with {}.",
                self.intervals,
                self.together,
                format!("{:.6}", self.each).trim_end_matches('0')
            ));
        }
        if let Some((_, text)) = &self.prior {
            notes.push(format!(
                "posterior: mean, standard deviation and interval given the prior \u{201c}{text}\u{201d}; it is only as good as the prior."
            ));
        }
        if self.sketch && self.prob.is_some() {
            notes.push(
                "Probabilities: how sure the order of a sketch's rows makes the statement, at least, whatever the data; where the \
                 estimate is a mean of all rows, nothing is known of them."
                    .to_owned(),
            );
        } else if self.prior.is_some() || self.prob.is_some() {
            notes.push(
                "Probabilities take the error to be normal with its standard error; what other counts leave behind is so only nearly."
                    .to_owned(),
            );
        }
        notes
    }

    /// The further columns of each figure.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&'static str, ColumnKind)> {
        let posterior = self
            .prior
            .iter()
            .flat_map(|_| [("posterior", ColumnKind::Figure), ("median", ColumnKind::Number)]);
        posterior.chain(self.prob.iter().map(|_| ("prob", ColumnKind::Number)))
    }

    /// The further cells of a figure.
    pub(super) fn add(&self, a: &Answer, row: &mut Vec<ResultCell>) -> Result<(), QueryError> {
        if self.prior.is_none() && self.prob.is_none() {
            return Ok(());
        }
        if let (true, Some(statement)) = (self.sketch, self.prob) {
            row.push(ResultCell::Number(by_order(statement, a)));
            return Ok(());
        }
        let noise = NoiseLaw::Gaussian { variance: a.std_error * a.std_error };
        let law = ErrorLaw::new(vec![Term { coefficient: 1.0, copies: 1, noise }])
            .map_err(|_| QueryError::Posterior(PosteriorError::Parameter))?;
        let posterior =
            self.prior.as_ref().map(|(p, _)| CountPosterior::new(&law, a.estimate, *p)).transpose()?;
        if let Some(p) = &posterior {
            let (low, high) = p.interval(self.together, self.interval);
            row.push(ResultCell::Figure(ResultFigure {
                estimate: p.mean(),
                std_error: p.std_dev(),
                low: low as f64,
                high: high as f64,
            }));
            row.push(ResultCell::Number(p.median() as f64));
        }
        if let Some(statement) = &self.prob {
            row.push(ResultCell::Number(match &posterior {
                Some(p) => statement.posterior(p),
                None => flat(*statement, &law, a.estimate),
            }));
        }
        Ok(())
    }
}

/// What the order of a sketch's rows proves of a statement; not a number where the estimate is no median.
fn by_order(statement: Statement, a: &Answer) -> f64 {
    if a.rows.is_empty() {
        // No cells are no units, for sure; and of a mean nothing is known.
        let none = a.low == a.high && a.law == Law::Variance;
        return if none { f64::from(u8::from(statement.holds(a.estimate))) } else { f64::NAN };
    }
    let side =
        |holds: &dyn Fn(f64) -> bool| sure(a.rows.iter().filter(|&&row| holds(row)).count(), a.rows.len());
    match statement {
        Statement::Between(from, to) => (side(&|row| row >= from) + side(&|row| row <= to) - 1.0).max(0.0),
        _ => side(&|row| statement.holds(row)),
    }
}

/// The probability under the flat prior. No single number has one of its own.
fn flat(statement: Statement, law: &ErrorLaw, estimate: f64) -> f64 {
    match statement {
        Statement::Above(c) | Statement::AtLeast(c) => prob_greater(law, estimate, c),
        Statement::Below(c) | Statement::AtMost(c) => 1.0 - prob_greater(law, estimate, c),
        Statement::Between(a, b) => prob_between(law, estimate, a, b),
    }
}
