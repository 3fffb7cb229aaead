//! What may be asked for beside an interval.

use super::decorate::simultaneous::Simultaneous;
use super::decorate::statement::{PriorChoice, Statement};
use crate::law::{Interval, Method};

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
