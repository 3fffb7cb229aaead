//! The best estimate of a figure from all that several releases tell of it.

use crate::law::{ErrorLaw, Interval};

/// The whole numbers inside an interval: it covers a whole number exactly when the interval between the
/// outermost of them does. An end within rounding error of a whole number counts as that number.
pub fn whole_ends(low: f64, high: f64) -> (f64, f64) {
    let slack = 1e-9 * (1.0 + low.abs().max(high.abs()) * 1e-3);
    let (inner_low, inner_high) = (libm::ceil(low - slack) + 0.0, libm::floor(high + slack) + 0.0);
    if inner_low <= inner_high {
        (inner_low, inner_high)
    } else {
        (libm::floor(low) + 0.0, libm::ceil(high) + 0.0)
    }
}

/// The best estimate of a figure. Where further measurements were supposed it is none, and the law is what it would be.
pub struct Best {
    /// The estimate.
    pub estimate: f64,
    /// The law of its error.
    pub law: ErrorLaw,
}

impl Best {
    /// Low and high end at a level; of a figure whose truth is a whole number to whole numbers.
    pub(crate) fn interval(&self, level: f64, whole: bool) -> (f64, f64) {
        let ((low, high), _) = self.law.interval_by(level, Interval::EqualTailed);
        let ends = (self.estimate - high, self.estimate - low);
        if whole { whole_ends(ends.0, ends.1) } else { ends }
    }

    /// Half the length of the error's own interval.
    pub fn reach(&self, level: f64) -> f64 {
        let ((low, high), _) = self.law.interval_by(level, Interval::EqualTailed);
        0.5 * (high - low)
    }
}
