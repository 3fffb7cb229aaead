//! How probable a statement is of a figure; what is known of a count before it is asked, and its posterior then.

use crate::answer::error::QueryError;
use crate::answer::figure::question::Question;
use crate::answer::figure::{Answered, ErrorOf, Figure};
use crate::answer::tell::{Family, Teller, Told};
use crate::cube::Filter;
use crate::joint::{JointLaw, Solved};
use crate::law::{ErrorLaw, LawError};
use crate::memo::Memo;
use crate::posterior::{
    CountPosterior, Prior, PriorChoice, Statement, Total, prob_at_least, prob_between, prob_greater,
};
use crate::sql::Aggregate;
use std::sync::Arc;

/// What is known of a count beforehand.
#[derive(Clone, Copy)]
pub(crate) enum CountPrior {
    Prior(Prior),
    /// Binomial with probability p, of a total that is only estimated: the last aggregate.
    OfTotal {
        p: f64,
    },
}

/// The probability of more than `c`, or of at least so much.
fn greater(law: &ErrorLaw, estimate: f64, c: f64, too: bool) -> f64 {
    if too { prob_at_least(law, estimate, c) } else { prob_greater(law, estimate, c) }
}

impl Statement {
    /// Its probability under the flat prior. For a ratio the denominator is taken to be positive.
    pub(crate) fn probability(&self, answered: &Answered) -> Result<f64, LawError> {
        match &answered.error {
            ErrorOf::Linear(solved) => {
                let (law, y) = (&solved.law, answered.estimate);
                if let Statement::Between(a, b) = *self {
                    return Ok(prob_between(law, y, a, b).clamp(0.0, 1.0));
                }
                self.probability_by(|c, too| Ok(greater(law, y, c, too)))
            }
            error if error.is_by_zero()? => Ok(f64::NAN),
            // R > c exactly when N − c·D > 0.
            ErrorOf::Ratio { pair, numerator, denominator } => self.probability_by(|c, too| {
                let law = pair.combine(&[1.0, -c])?;
                let y = numerator - c * denominator;
                Ok(greater(&law, y, 0.0, too))
            }),
            ErrorOf::Rows(rows) if !rows.is_empty() => Ok(self.sure(rows)),
            // No cells are no units, for sure; and of a mean of a sketch's rows nothing is known.
            ErrorOf::Rows(_) if answered.low == answered.high => {
                Ok(f64::from(u8::from(self.holds(answered.estimate))))
            }
            ErrorOf::Rows(_) => Ok(f64::NAN),
        }
    }
}

impl Question<'_> {
    /// Fills in the totals a prior speaks of. With what is said of it.
    pub(crate) fn prior(
        &self,
        choice: PriorChoice,
        from: &dyn Teller,
    ) -> Result<(CountPrior, String), QueryError> {
        // Where it is known exactly.
        let total = || -> Result<Option<u64>, QueryError> {
            let all = [Aggregate::rows(Filter::everything(), None)];
            let told = from.tell(&Family::whole(&all))?;
            let known = told.first().is_none_or(|t| t.law.covariance(&[1.0], &[1.0]) <= 0.0);
            let n = told.first().and_then(|t| t.estimates.first()).map_or(0.0, |n| libm::round(*n).max(0.0));
            Ok(known.then_some(n as u64))
        };
        let (prior, text) = match choice {
            PriorChoice::Flat => (Prior::Flat, "flat: any whole number".to_owned()),
            PriorChoice::NonNegative => (Prior::NonNegative, "any whole number from 0 up".into()),
            PriorChoice::Uniform { n } => (Prior::Uniform { n }, format!("uniform on 0 … {n}")),
            PriorChoice::KnownTotal => {
                let n = total()?.ok_or(QueryError::TotalNotExact)?;
                (Prior::Uniform { n }, format!("uniform on 0 … {n}, the exact total"))
            }
            PriorChoice::Binomial { n: Some(n), p } => {
                (Prior::Binomial { n, p }, format!("binomial, n = {n}, p = {p}"))
            }
            PriorChoice::Binomial { n: None, p } => match total()? {
                Some(n) => (Prior::Binomial { n, p }, format!("binomial, p = {p}, n = {n}, the exact total")),
                None => {
                    let text =
                        format!("binomial, p = {p}, n the total, itself estimated: any number from 0 up");
                    return Ok((CountPrior::OfTotal { p }, noted(&text)));
                }
            },
        };
        Ok((CountPrior::Prior(prior), noted(&text)))
    }
}

fn noted(prior: &str) -> String {
    format!(
        "posterior: mean, standard deviation and interval given the prior \u{201c}{prior}\u{201d}; it is only as good \
         as the prior. The other columns use no prior."
    )
}

/// Posteriors: one for each law, estimate and total.
#[derive(Default)]
pub(crate) struct Posteriors {
    made: Memo<(usize, u64, u64), (Arc<Solved>, Arc<CountPosterior>)>,
    /// What the total's error is beside the count's: β and U, by the laws they come from, which are kept alive.
    beside: Memo<(usize, usize), (Arc<Solved>, Arc<JointLaw>, f64, ErrorLaw)>,
}

impl Posteriors {
    /// The posterior of a count; where a prior speaks of an estimated total, that is the last aggregate.
    pub(crate) fn of(
        &self,
        answered: &Answered,
        figure: &Figure,
        told: &Told,
        prior: CountPrior,
    ) -> Result<Arc<CountPosterior>, QueryError> {
        let ErrorOf::Linear(solved) = &answered.error else {
            return Err(QueryError::NotACount("a ratio".into()));
        };
        let (estimates, law) = told.way(answered.way);
        let total = match prior {
            CountPrior::Prior(_) => 0.0,
            CountPrior::OfTotal { .. } => estimates.last().copied().unwrap_or(0.0),
        };
        let key = (Arc::as_ptr(solved) as usize, answered.estimate.to_bits(), total.to_bits());
        // The laws are kept alive, so that their addresses stay their own.
        let (_, posterior) = self.made.of(key, || {
            let made = match prior {
                CountPrior::Prior(prior) => CountPosterior::new(&solved.law, answered.estimate, prior)?,
                CountPrior::OfTotal { p } => {
                    let laws = (Arc::as_ptr(solved) as usize, Arc::as_ptr(law) as usize);
                    let (.., slope, rest) = self.beside.of(laws, || {
                        let (slope, rest) = beside(&solved.law, figure, law)?;
                        Ok::<_, QueryError>((solved.clone(), law.clone(), slope, rest))
                    })?;
                    let total = Total { estimate: total, slope, rest };
                    CountPosterior::of_total(&solved.law, answered.estimate, p, &total)?
                }
            };
            Ok::<_, QueryError>((solved.clone(), Arc::new(made)))
        })?;
        Ok(posterior)
    }
}

/// β and the law of U of a count whose error has this law, from the noises that it shares with the total, the last of the figures.
fn beside(law: &ErrorLaw, figure: &Figure, pair: &JointLaw) -> Result<(f64, ErrorLaw), QueryError> {
    let width = pair.width();
    let count = figure.weights(width).into_iter().next().unwrap_or_default();
    let total = (0..width).map(|i| f64::from(u8::from(i + 1 == width))).collect();
    let pair = JointLaw::pool(&[(pair, vec![count, total])]);
    let variance = law.variance();
    let slope = if variance > 0.0 { pair.covariance(&[1.0, 0.0], &[0.0, 1.0]) / variance } else { 0.0 };
    // What is a whole number but for rounding is one.
    let near = libm::round(slope);
    let slope = if (slope - near).abs() < 1e-9 { near } else { slope };
    Ok((slope, pair.combine(&[-slope, 1.0])?))
}
