//! What is known of a count before it is asked, and its posterior then.

use super::statement::PriorChoice;
use crate::answer::error::QueryError;
use crate::answer::figure::question::Question;
use crate::answer::figure::{Answered, ErrorOf, Figure};
use crate::answer::tell::joint::{JointLaw, Solved};
use crate::answer::tell::{Family, Teller, Told};
use crate::cube::Filter;
use crate::law::ErrorLaw;
use crate::posterior::{CountPosterior, Prior, Total};
use crate::sql::Aggregate;
use std::collections::HashMap;
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

impl Question<'_> {
    /// Fills in the totals a prior speaks of. With what is said of it.
    pub(crate) fn prior(
        &self,
        choice: PriorChoice,
        from: &dyn Teller,
    ) -> Result<(CountPrior, String), QueryError> {
        let total = || -> Result<(f64, f64), QueryError> {
            let all = [Aggregate::rows(Filter::everything(), None)];
            let told = from.tell(&Family::whole(&all))?;
            let total = told.first().map(|t| (t.estimates.first(), t.law.covariance(&[1.0], &[1.0])));
            Ok(total.map_or((0.0, 0.0), |(estimate, variance)| (estimate.copied().unwrap_or(0.0), variance)))
        };
        let (prior, text) = match choice {
            PriorChoice::Flat => (CountPrior::Prior(Prior::Flat), "flat: any whole number".to_string()),
            PriorChoice::NonNegative => {
                (CountPrior::Prior(Prior::NonNegative), "any whole number from 0 up".into())
            }
            PriorChoice::Uniform { n } => {
                (CountPrior::Prior(Prior::Uniform { n }), format!("uniform on 0 … {n}"))
            }
            PriorChoice::Binomial { n: Some(n), p } => {
                (CountPrior::Prior(Prior::Binomial { n, p }), format!("binomial, n = {n}, p = {p}"))
            }
            PriorChoice::Binomial { n: None, p } => {
                let (n, variance) = total()?;
                if variance == 0.0 {
                    let n = libm::round(n).max(0.0) as u64;
                    (
                        CountPrior::Prior(Prior::Binomial { n, p }),
                        format!("binomial, p = {p}, n = {n}, the exact total"),
                    )
                } else {
                    let text =
                        format!("binomial, p = {p}, n the total, itself estimated: any number from 0 up");
                    (CountPrior::OfTotal { p }, text)
                }
            }
            PriorChoice::KnownTotal => {
                let (n, variance) = total()?;
                if variance > 0.0 {
                    return Err(QueryError::TotalNotExact);
                }
                let n = libm::round(n).max(0.0) as u64;
                (CountPrior::Prior(Prior::Uniform { n }), format!("uniform on 0 … {n}, the exact total"))
            }
        };
        let note = format!(
            "posterior: mean, standard deviation and interval given the prior \u{201c}{text}\u{201d}; it is only as good \
             as the prior. The other columns use no prior."
        );
        Ok((prior, note))
    }
}

/// Posteriors: one for each law, estimate and total.
#[derive(Default)]
pub(crate) struct Posteriors {
    made: HashMap<(usize, u64, u64), (Arc<Solved>, Arc<CountPosterior>)>,
    /// What the total's error is beside the count's: β and U, by the laws they come from, which are kept alive.
    beside: HashMap<(usize, usize), (Arc<Solved>, Arc<JointLaw>, f64, ErrorLaw)>,
}

impl Posteriors {
    pub(crate) fn of(
        &mut self,
        answered: &Answered,
        prior: Prior,
    ) -> Result<Arc<CountPosterior>, QueryError> {
        let ErrorOf::Linear(solved) = &answered.error else {
            return Err(QueryError::NotACount("a ratio".into()));
        };
        let key = (Arc::as_ptr(solved) as usize, answered.estimate.to_bits(), 0);
        if let Some((_, known)) = self.made.get(&key) {
            return Ok(known.clone());
        }
        let made = Arc::new(CountPosterior::new(&solved.law, answered.estimate, prior)?);
        // The law is kept alive, so that its address stays its own.
        self.made.insert(key, (solved.clone(), made.clone()));
        Ok(made)
    }

    /// The total is the last aggregate.
    pub(crate) fn of_total(
        &mut self,
        answered: &Answered,
        figure: &Figure,
        told: &Told,
        p: f64,
    ) -> Result<Arc<CountPosterior>, QueryError> {
        let ErrorOf::Linear(solved) = &answered.error else {
            return Err(QueryError::NotACount("a ratio".into()));
        };
        let (estimates, law) = told.way(answered.way);
        let estimate = estimates.last().copied().unwrap_or(0.0);
        let key = (Arc::as_ptr(solved) as usize, answered.estimate.to_bits(), estimate.to_bits());
        if let Some((_, posterior)) = self.made.get(&key) {
            return Ok(posterior.clone());
        }
        let laws = (Arc::as_ptr(solved) as usize, Arc::as_ptr(law) as usize);
        let (slope, rest) = match self.beside.get(&laws) {
            Some((.., slope, rest)) => (*slope, rest.clone()),
            None => {
                let (slope, rest) = beside(&solved.law, figure, law)?;
                self.beside.insert(laws, (solved.clone(), law.clone(), slope, rest.clone()));
                (slope, rest)
            }
        };
        let total = Total { estimate, slope, rest };
        let made = Arc::new(CountPosterior::of_total(&solved.law, answered.estimate, p, &total)?);
        self.made.insert(key, (solved.clone(), made.clone()));
        Ok(made)
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
