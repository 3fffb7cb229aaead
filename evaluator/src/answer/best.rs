//! The best estimate of a figure from all that several releases tell of it.

use super::whole::whole_ends;
use crate::law::{ErrorLaw, Interval};

/// The best estimate of a figure. Where further measurements were supposed it is none, and the law is what it would be.
pub struct Best {
    /// The estimate.
    pub estimate: f64,
    /// The law of its error.
    pub law: ErrorLaw,
}

impl Best {
    /// Low and high end at a level; of a figure whose truth is a whole number to whole numbers.
    pub fn interval(&self, level: f64, whole: bool) -> (f64, f64) {
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
