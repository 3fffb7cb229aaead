//! The errors of sums of a number, from a plan alone: those of two channels, whose noises are independent.

use super::Evaluator;
use crate::answer::error::AnswerError;
use crate::cube::{Cube, Cuboid, NoValue, Quantity};
use crate::law::{ErrorLaw, Term};
use crate::plan::{Plan, Subject, Target};
use crate::recover::{Nothing, Recovery};
use std::sync::Arc;

impl Evaluator<Nothing> {
    /// How exact a plan's tables are: half the width of the interval of the cell known least well, at the level of each target, of counts and then of the sums of
    /// each number. `None` where its law takes long to find. Gaussian noise is taken for normal, as plans do; a copy's centre is in it.
    pub fn half_widths(
        cube: &Arc<Cube>,
        plan: &Plan,
        counts: &[(&Cuboid, Target)],
        sums: &[(&Arc<Quantity>, Vec<(&Cuboid, Target)>)],
    ) -> Vec<Option<f64>> {
        let normal = plan.noise.is_normal() && plan.centres().is_none();
        let half = |target: &Target, law: &ErrorLaw| match normal {
            true => target.margin.to_f64() * libm::sqrt(law.variance() / target.variance()),
            false => law.half_width(target.level.to_f64()),
        };
        let rows = || Recovery::new(cube.clone(), plan.clone(), Nothing).ok().map(Evaluator::new);
        let rows = if counts.is_empty() { None } else { rows() };
        let of_count = |(cuboid, target): &(&Cuboid, Target)| {
            if plan.exact_above(cuboid).is_some() {
                return Some(0.0);
            }
            rows.as_ref()?.worst_cell_law(cuboid).ok().map(|law| half(target, &law))
        };
        let mut out: Vec<Option<f64>> = counts.iter().map(of_count).collect();
        for (quantity, aims) in sums {
            let laws = Evaluator::worst_sums(cube, plan, quantity, aims.iter().map(|(c, _)| *c));
            let mut laws = laws.unwrap_or_default().into_iter().map(Result::ok);
            out.extend(aims.iter().map(|(_, target)| laws.next().flatten().map(|law| half(target, &law))));
        }
        out
    }

    /// For each of these tables the law of the error of the sum that is known least well: the worst of each channel.
    pub(crate) fn worst_sums<'a>(
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
            let mut terms = own(quantity.grain(), &sum, cuboid)?;
            if let Some(count) = &count {
                terms.extend(own(quantity.origin(), count, cuboid)?);
            }
            Ok(ErrorLaw::new(terms)?)
        };
        Ok(tables.map(worst).collect())
    }
}
