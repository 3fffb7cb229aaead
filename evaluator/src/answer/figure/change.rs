//! How a figure changed from one period to another.

use super::Answered;
use super::ratio::Part;
use crate::joint::{How, JointLaw};
use crate::law::LawError;
use crate::render::ResultFigure;
use std::collections::HashMap;
use std::sync::Arc;

/// A linear figure from two independent sources, the earlier one first.
#[derive(Debug)]
pub(crate) struct Change {
    pub(super) before: Part,
    pub(super) after: Part,
    pub(super) laws: Arc<ChangeLaws>,
}

/// The laws of a change; rows that look alike share them.
#[derive(Debug)]
pub(super) struct ChangeLaws {
    pub(super) difference: JointLaw,
    /// Of 100 times the difference, and of the earlier figure.
    percent: Arc<JointLaw>,
}

/// Laws of changes, by those of their two sources. These are kept alive, so that their addresses stay their own.
#[derive(Default)]
pub(crate) struct Changes(HashMap<(usize, usize), (Arc<JointLaw>, Arc<JointLaw>, Arc<ChangeLaws>)>);

impl Changes {
    /// The change from one to the other.
    pub(crate) fn of(&mut self, before: &Part, after: &Part) -> Change {
        let key = (Arc::as_ptr(&before.law) as usize, Arc::as_ptr(&after.law) as usize);
        let (.., laws) = self.0.entry(key).or_insert_with(|| {
            let pool = |old: Vec<f64>, new: Vec<f64>| {
                let column = |v: Vec<f64>| v.into_iter().map(|w| vec![w]).collect();
                JointLaw::pool(&[(&*before.law, column(old)), (&*after.law, column(new))])
            };
            let laws = ChangeLaws {
                difference: pool(vec![-1.0], vec![1.0]),
                percent: Arc::new(pool(vec![-100.0, 1.0], vec![100.0, 0.0])),
            };
            (before.law.clone(), after.law.clone(), Arc::new(laws))
        });
        Change { before: before.clone(), after: after.clone(), laws: laws.clone() }
    }
}

impl Change {
    /// The change in percent of the earlier figure: a ratio of two linear figures whose errors hang together through
    /// the earlier one, so that Fieller's interval is as exact as for any ratio.
    pub(crate) fn percent(&self, how: &How) -> Result<Answered, LawError> {
        Part {
            numerator: 100.0 * (self.after.numerator - self.before.numerator),
            denominator: self.before.numerator,
            law: self.laws.percent.clone(),
        }
        .ratio(how)
    }

    /// Whether the change may be so many percent: Fieller's criterion itself.
    #[cfg(test)]
    pub(crate) fn holds(&self, percent: f64, level: f64) -> Result<bool, LawError> {
        let (a, b) = (self.before.numerator, self.after.numerator);
        let law = self.laws.percent.combine(&[1.0, -percent])?;
        Ok(law.may_reach((100.0 * (b - a) - percent * a).abs(), level))
    }
}

/// Difference and change in percent of two ratios, from intervals that hold together.
pub(crate) fn of_ratios(a: &Answered, b: &Answered) -> [ResultFigure; 2] {
    let difference = ResultFigure {
        estimate: b.estimate - a.estimate,
        std_error: libm::hypot(a.std_error, b.std_error),
        low: b.low - a.high,
        high: b.high - a.low,
    };
    let quotient = b.estimate / a.estimate;
    // A quotient is bounded only where the number below the line is not 0.
    let bounded =
        (a.low > 0.0 || a.high < 0.0) && [a.low, a.high, b.low, b.high].iter().all(|x| x.is_finite());
    let corners = [b.low / a.low, b.low / a.high, b.high / a.low, b.high / a.high];
    let (low, high) = match bounded {
        true => (
            corners.iter().copied().fold(f64::INFINITY, f64::min),
            corners.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        ),
        false => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let percent = ResultFigure {
        estimate: 100.0 * (quotient - 1.0),
        std_error: 100.0 * libm::hypot(b.std_error, quotient * a.std_error) / a.estimate.abs(),
        low: 100.0 * (low - 1.0),
        high: 100.0 * (high - 1.0),
    };
    [difference, percent]
}
