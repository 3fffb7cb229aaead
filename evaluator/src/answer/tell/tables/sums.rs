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
        // What is published exactly has no error.
        let own = |by: f64, of: &Evaluator<Nothing>, cuboid: &Cuboid| -> Result<Vec<Term>, AnswerError> {
            match of.recovery().plan().exact_above(cuboid) {
                Some(_) => Ok(Vec::new()),
                None => Ok(times(by, &*of.worst_cell_law(cuboid)?)),
            }
        };
        let worst = |cuboid: &Cuboid| {
            let mut terms = own(quantity.half_step(), &sum, cuboid)?;
            if let Some(count) = &count {
                terms.extend(own(quantity.middle(), count, cuboid)?);
            }
            Ok(ErrorLaw::new(terms)?)
        };
        Ok(tables.map(worst).collect())
    }
}
