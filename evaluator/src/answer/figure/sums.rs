//! Figures of a projection. Of a dense one the error is nearly normal; of a sketch the order of its rows is all that is known.

use super::{Answered, Basis, ErrorOf, Figure};
use crate::answer::tell::joint::Solved;
use crate::answer::tell::sums::Sums;
use crate::law::{ErrorLaw, LawError, NoiseLaw, Term};
use crate::projection::Shape;
use std::sync::Arc;

impl Figure {
    /// The figure of sums of cells. Its ends are not brought to whole numbers: the estimate is none.
    pub(super) fn of_sums(&self, sums: &Sums, level: f64) -> Result<Answered, LawError> {
        let answer = match &self.denominator {
            None => sums.sum(&self.numerator, level)?,
            Some(whole) => sums.share(&self.numerator, whole, level)?,
        };
        let noise = NoiseLaw::Gaussian { variance: answer.std_error * answer.std_error };
        let law = match sums.projected.projection().design.shape {
            Shape::Dense { .. } => ErrorLaw::new(vec![Term { coefficient: 1.0, copies: 1, noise }]).ok(),
            Shape::Sketch { .. } => None,
        };
        let method = answer.law.name();
        let (low, high) = (answer.estimate - answer.high, answer.estimate - answer.low);
        Ok(Answered {
            estimate: answer.estimate,
            std_error: answer.std_error,
            low: answer.low,
            high: answer.high,
            basis: Basis::Cells(method),
            way: 0,
            error: match law {
                Some(law) => ErrorOf::Linear(Arc::new(Solved { law, low, high, method })),
                None => ErrorOf::Rows(answer.rows),
            },
        })
    }
}
