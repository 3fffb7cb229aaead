//! The errors of sums of a number, from a plan alone: those of two channels, whose noises are independent.

use super::Evaluator;
use crate::answer::error::AnswerError;
use crate::cube::{Cube, Cuboid, NoValue, Quantity};
use crate::law::{ErrorLaw, Term};
use crate::plan::{Plan, Subject};
use crate::recover::{Nothing, Recovery};
use std::sync::Arc;

impl Evaluator<Nothing> {
    /// For each of these tables the law of the error of the sum that is known least well: the worst of each channel.
    pub fn worst_sums<'a>(
        cube: &Cube,
        plan: &Plan,
        quantity: &Arc<Quantity>,
        tables: impl Iterator<Item = &'a Cuboid>,
    ) -> Result<Vec<Result<ErrorLaw, AnswerError>>, AnswerError> {
        let of = |subject: Subject| {
            Ok::<_, AnswerError>(Evaluator::new(Recovery::of(&subject, cube.clone(), plan.clone(), Nothing)?))
        };
        let sum = of(Subject::Sum(quantity.clone()))?;
        let count = match (quantity.needs_count(), quantity.missing) {
            (false, _) => None,
            (true, NoValue::Skip) => Some(of(Subject::Valued(quantity.clone()))?),
            (true, NoValue::Stop | NoValue::Zero) => Some(of(Subject::Rows)?),
        };
        let times = |by: f64, law: &ErrorLaw| -> Vec<Term> {
            law.terms().iter().map(|t| Term { coefficient: by * t.coefficient, ..*t }).collect()
        };
        let worst = |cuboid: &Cuboid| {
            let mut terms = times(quantity.half_step(), &*sum.worst_cell_law(cuboid)?);
            if let Some(count) = &count {
                terms.extend(times(quantity.middle(), &*count.worst_cell_law(cuboid)?));
            }
            Ok(ErrorLaw::new(terms)?)
        };
        Ok(tables.map(worst).collect())
    }
}
