//! The receipt for a budget, which every measuring asks for.

use super::copies::Copies;
use super::error::MeasureError;
use crate::cube::{Cube, Frame};
use crate::exact::Rational;
use crate::plan::Plan;
use crate::plan::cost::{self, CostError};
use crate::projection::{self, Projection};

/// The receipt for what is about to be measured: its cost was recomputed, is within the budget, and has been charged. Measuring takes
/// it by value, so a budget cannot be spent twice.
#[derive(Debug)]
pub struct Charged<W> {
    work: W,
}

impl<W> Charged<W> {
    /// Refuses what exceeds the budget, and charges the ledger before any noise exists. With the receipt comes what the ledger gave.
    fn new<R, E: std::error::Error + Send + Sync + 'static>(
        work: W,
        (cost, budget): (Rational, Rational),
        charge: impl FnOnce(Rational) -> Result<R, E>,
    ) -> Result<(Charged<W>, R), MeasureError> {
        if cost > budget {
            return Err(MeasureError::OverBudget(cost, budget));
        }
        let given = charge(cost).map_err(|e| MeasureError::Sink(Box::new(e)))?;
        Ok((Charged { work }, given))
    }

    /// What was charged for.
    pub(crate) fn work(&self) -> &W {
        &self.work
    }

    /// The same, to be measured.
    pub(in crate::secret) fn into_work(self) -> W {
        self.work
    }
}

impl Charged<Plan> {
    /// For the tables of a plan.
    pub fn plan<R, E: std::error::Error + Send + Sync + 'static>(
        cube: &Cube,
        plan: Plan,
        charge: impl FnOnce(Rational) -> Result<R, E>,
    ) -> Result<(Charged<Plan>, R), MeasureError> {
        // A copy is not measured by itself.
        if plan.copy.is_some() {
            return Err(MeasureError::NotCopies);
        }
        let cost = cost::cost(&plan, &Frame::new(cube, &plan.levels))?.total;
        let budget = plan.budget;
        Charged::new(plan, (cost, budget), charge)
    }
}

impl Charged<Plan> {
    /// The same as the only copy.
    pub(super) fn alone(self) -> Charged<Copies> {
        Charged { work: Copies::alone(self.work) }
    }
}

impl Charged<Copies> {
    /// For the copies of one measuring: what they cost **together** is what is charged, and no copy may cost more than its own
    /// budget.
    pub(crate) fn copies<R, E: std::error::Error + Send + Sync + 'static>(
        cube: &Cube,
        copies: Copies,
        charge: impl FnOnce(Rational) -> Result<R, E>,
    ) -> Result<(Charged<Copies>, R), MeasureError> {
        let frame = Frame::new(cube, &copies.first().levels);
        for plan in copies.plans() {
            let cost = cost::cost(plan, &frame)?.total;
            if cost > plan.budget {
                return Err(MeasureError::OverBudget(cost, plan.budget));
            }
        }
        let cost = cost::joint_cost(copies.first(), &frame)?;
        let budget = cost::joint_budget(copies.first()).ok_or(CostError::Overflow(0))?;
        Charged::new(copies, (cost, budget), charge)
    }
}

impl Charged<Projection> {
    /// For the integers of a projection.
    pub fn projection<R, E: std::error::Error + Send + Sync + 'static>(
        projection: Projection,
        charge: impl FnOnce(Rational) -> Result<R, E>,
    ) -> Result<(Charged<Projection>, R), MeasureError> {
        let cost = projection::cost::cost(&projection.design);
        let cost = cost.ok_or(MeasureError::Cost(CostError::Overflow(0)))?;
        let budget = projection.design.budget;
        Charged::new(projection, (cost, budget), charge)
    }
}
