//! The numbers whose sums a release has: their bounds, and how well each table's sums are known.

use super::Table;
use crate::answer::{AnswerError, Answers, Evaluator, QueryError};
use crate::cube::{Cuboid, NoValue, Quantity};
use crate::law::{ErrorLaw, Term};
use crate::plan::{Plan, Subject};
use crate::recover::{Nothing, RecoverError, Recovery};
use crate::render::{self, ResultFigure};
use serde::Serialize;
use std::sync::Arc;

/// A number that rows have, and what can be asked of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DescribedAmount {
    /// As queries name it: `SUM(name)`.
    pub name: String,
    /// What it is measured in.
    pub unit: Option<String>,
    /// More for people.
    pub description: Option<String>,
    /// The least value: values below count as it.
    pub low: f64,
    /// The largest value: values beyond count as it.
    pub high: f64,
    /// What values are rounded to.
    pub step: f64,
    /// What is done with rows without a value.
    pub missing: NoValue,
    /// All of this in a sentence.
    pub note: String,
    /// How many rows were moved to the low and to the high end, where that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<[ResultFigure; 2]>,
    /// The tables of its sums, at most as many as were wanted. Errors are those of a sum, in the unit of the number.
    pub tables: Vec<Table>,
    /// How many more there are.
    pub more_tables: u64,
}

/// The channels that a sum is told by, without their integers: what their errors are is in the plan.
struct Told {
    quantity: Arc<Quantity>,
    sum: Evaluator<Nothing>,
    count: Option<Evaluator<Nothing>>,
}

impl Told {
    fn new(answers: &Answers, plan: &Plan, quantity: &Arc<Quantity>) -> Result<Told, QueryError> {
        let of = |subject: Subject| {
            Ok::<_, QueryError>(Evaluator::new(Recovery::of(
                &subject,
                answers.cube().clone(),
                plan.clone(),
                Nothing,
            )?))
        };
        let count = match (quantity.needs_count(), quantity.missing) {
            (false, _) => None,
            (true, NoValue::Skip) => Some(of(Subject::Valued(quantity.clone()))?),
            (true, NoValue::Stop | NoValue::Zero) => Some(of(Subject::Rows)?),
        };
        Ok(Told { quantity: quantity.clone(), sum: of(Subject::Sum(quantity.clone()))?, count })
    }

    /// The law of the error of the sum that is known least well: the worst of each channel, whose noises are independent.
    fn worst(&self, cuboid: &Cuboid) -> Result<ErrorLaw, AnswerError> {
        let times = |by: f64, law: &ErrorLaw| -> Vec<Term> {
            law.terms().iter().map(|t| Term { coefficient: by * t.coefficient, ..*t }).collect()
        };
        let mut terms = times(self.quantity.half_step(), &*self.sum.worst_cell_law(cuboid)?);
        if let Some(count) = &self.count {
            terms.extend(times(self.quantity.middle(), &*count.worst_cell_law(cuboid)?));
        }
        Ok(ErrorLaw::new(terms)?)
    }
}

impl Answers {
    /// The numbers whose sums can be asked for, with the errors of at most so many tables of each.
    pub(crate) fn amounts(&self, level: f64, tables: usize) -> Result<Vec<DescribedAmount>, QueryError> {
        let (cube, plan) = (self.cube(), self.release().plan(self.cube())?);
        let mut out = Vec::new();
        for (quantity, asked) in plan.summed() {
            let told = Told::new(self, &plan, quantity)?;
            let mut own = Vec::new();
            for t in asked.iter().take(tables) {
                let (std_error, margin) = match told.worst(&t.cuboid) {
                    // A description is no place to wait.
                    Err(AnswerError::Recover(RecoverError::TooMuch(_))) => (None, None),
                    law => law.map(|law| (Some(law.std_error()), Some(law.half_width(level))))?,
                };
                own.push(Table {
                    levels: t.cuboid.iter().map(|level| cube.level_name(level)).collect(),
                    cells: cube.cells(&t.cuboid),
                    exact: false,
                    std_error,
                    margin,
                });
            }
            let moved = self.moved(quantity, level)?;
            let counted = moved.as_ref().map_or(String::new(), |of| {
                format!(" Counted with noise: {}", render::moved(&quantity.ends(), of, level))
            });
            let note = format!("{}{counted}", quantity.note());
            out.push(DescribedAmount {
                name: quantity.name.clone(),
                unit: quantity.unit.clone(),
                description: quantity.description.clone(),
                low: quantity.low(),
                high: quantity.high(),
                step: quantity.step(),
                missing: quantity.missing,
                note,
                moved,
                tables: own,
                more_tables: asked.len().saturating_sub(tables) as u64,
            });
        }
        Ok(out)
    }
}
