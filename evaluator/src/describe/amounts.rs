//! The numbers whose sums a release has: their bounds, and how well each table's sums are known.

use super::Table;
use crate::answer::{AnswerError, Answers, Evaluator, QueryError};
use crate::cube::{MeasuredFrom, NoValue, Weighing};
use crate::plan::Subject;
use crate::recover::RecoverError;
use crate::render::{self, ResultFigure};
use serde::Serialize;

/// A number that rows have, and what can be asked of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DescribedAmount {
    /// As queries name it: `SUM(name)`.
    pub name: String,
    /// What it is to weights of rows.
    #[serde(skip_serializing_if = "Weighing::is_plain")]
    pub weighing: Weighing,
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
    /// Whether variances and standard deviations can be asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub square: bool,
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

impl Answers {
    /// The numbers whose sums can be asked for, with the errors of at most so many tables of each.
    pub(crate) fn amounts(&self, level: f64, tables: usize) -> Result<Vec<DescribedAmount>, QueryError> {
        let (cube, plan) = (self.cube(), self.release().plan(self.cube())?);
        let mut out = Vec::new();
        let exact: Vec<_> = plan.exact_sums().collect();
        for (quantity, asked) in plan.summed() {
            let few = || asked.iter().take(tables);
            let laws = Evaluator::worst_sums(self.cube(), &plan, quantity, few().map(|t| &t.cuboid))?;
            let mut own = Vec::new();
            for (t, law) in few().zip(laws) {
                let (std_error, margin) = match law {
                    // A description is no place to wait.
                    Err(AnswerError::Recover(RecoverError::TooMuch(_))) => (None, None),
                    law => law.map(|law| (Some(law.std_error()), Some(law.half_width(level))))?,
                };
                own.push(Table {
                    levels: t.cuboid.iter().map(|level| cube.level_name(level)).collect(),
                    cells: cube.cells(&t.cuboid),
                    exact: exact.contains(&(quantity, &t.cuboid)),
                    std_error,
                    margin,
                });
            }
            let moved = self.moved(quantity, level)?;
            let counted = moved.as_ref().map_or(String::new(), |of| {
                format!(" Counted with noise: {}", render::moved(&quantity.ends(), of, level))
            });
            let square = plan.channel(&Subject::Squares(quantity.clone())).is_some();
            let variances = if square { " VAR_POP, VAR_SAMP and STDDEV of it are told, too." } else { "" };
            let means = match quantity.from {
                MeasuredFrom::Middle => "",
                MeasuredFrom::Zero => " It is measured from zero: means are told of tables that have counts.",
            };
            let note = format!("{}{means}{variances}{counted}", quantity.note());
            out.push(DescribedAmount {
                name: quantity.name.clone(),
                weighing: quantity.weighing,
                unit: quantity.unit.clone(),
                description: quantity.description.clone(),
                low: quantity.low(),
                high: quantity.high(),
                step: quantity.step(),
                missing: quantity.missing,
                square,
                note,
                moved,
                tables: own,
                more_tables: asked.len().saturating_sub(tables) as u64,
            });
        }
        Ok(out)
    }
}
