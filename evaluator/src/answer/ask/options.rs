//! What may be asked for beside an interval.

use crate::answer::decorate::simultaneous::Simultaneous;
use crate::answer::error::QueryError;
use crate::answer::tell::Errors;
use crate::law::{Interval, Method};
use crate::posterior::{PriorChoice, Statement};
use crate::render::Naming;
use crate::sql::{Query, SelectColumn};

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
    /// How groups are named.
    pub naming: Naming,
    /// Also the coefficient of variation of each figure, and its class.
    pub reliability: bool,
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
            naming: Naming::Codes,
            reliability: false,
        }
    }

    /// Refuses what cannot be said of such errors.
    pub(super) fn fit(&self, errors: Errors) -> Result<(), QueryError> {
        if !(self.level > 0.0 && self.level < 1.0) {
            return Err(QueryError::Level(self.level));
        }
        if errors == Errors::Noises {
            return Ok(());
        }
        if errors == Errors::Rows && self.prior.is_some() {
            return Err(QueryError::NoPrior);
        }
        if let Some(PriorChoice::Binomial { n: None, .. } | PriorChoice::KnownTotal) = self.prior {
            return Err(QueryError::NoTotal);
        }
        let refused = [
            (self.test.is_some(), "p-values: its errors have no exact law"),
            (self.method != Method::Auto, "choice of method: its errors have no exact law"),
            (
                self.joint == Some(Simultaneous::MaxZ),
                "simulated law of the largest error: --joint=bonferroni needs none",
            ),
        ];
        refused.into_iter().find(|r| r.0).map_or(Ok(()), |(_, what)| Err(QueryError::TablesOnly(what)))
    }

    /// Refuses what nobody says of quantiles.
    pub(super) fn fit_quantiles(&self, query: &Query) -> Result<(), QueryError> {
        let refuse = |why| Err(QueryError::Quantile(why));
        let plain = Options {
            complete: self.complete,
            method: self.method,
            naming: self.naming,
            reliability: self.reliability,
            ..Options::at(self.level)
        };
        if *self != plain {
            return refuse(
                "have an interval with equal tails: leave out --prob, --test, --prior, --joint and --interval",
            );
        }
        if query.filter.is_nothing() {
            return refuse("have no value here: WHERE leaves nothing");
        }
        let is_quantile = |at: usize| matches!(query.columns.get(at), Some(SelectColumn::Quantile { .. }));
        match query.order_by.iter().any(|&(at, _)| is_quantile(at)) {
            true => refuse("are no order: sort the answer by another column"),
            false => Ok(()),
        }
    }

    /// What must be said of probabilities under such errors.
    pub(super) fn note(&self, errors: Errors) -> Option<&'static str> {
        match errors {
            Errors::Normal if self.prior.is_some() || self.prob.is_some() => Some(
                "Probabilities take the error to be normal with its standard error; what other counts leave behind is so only nearly.",
            ),
            Errors::Rows if self.prob.is_some() => Some(
                "Probabilities: how sure the order of a sketch's rows makes the statement, at least, whatever the data; where the \
                 estimate is a mean of all rows, nothing is known of them.",
            ),
            _ => None,
        }
    }
}
