//! The ways from measurements to unconstrained estimates: a closed list, one file each.

use super::based::BasedOn;
use super::components::Components;
use super::context::Context;
use super::estimate::Estimate;
use super::row_estimator::RowEstimator;
use super::tables::Tables;
use super::{RecoverError, Source};
use crate::plan::{Form, Plan, Seen};

/// The estimator of a plan.
pub(super) enum Estimator {
    Components(Components),
    Tables(Tables),
    Rows(RowEstimator),
    Based(BasedOn),
}

impl Estimator {
    pub(super) fn of<S: Source>(context: &Context<S>) -> Result<Estimator, RecoverError> {
        let plan: &Plan = &context.plan;
        if let Some(written) = RowEstimator::of(plan)? {
            return Ok(Estimator::Rows(written));
        }
        // Each form by name: a new one must say whose it is.
        let (mut components, mut based, mut tables) = (false, false, false);
        for m in &plan.only().measurements {
            match m.block.form() {
                Form::Component => components = true,
                Form::Based => based = true,
                Form::Table(Seen::Cells | Seen::Walsh) => tables = true,
                Form::Rows => return Err(RecoverError::Plan("the plan mixes rows with other blocks".into())),
            }
        }
        match (tables, components, based) {
            (true, true, _) | (true, _, true) => {
                Err(RecoverError::Plan("the plan mixes components and tables".into()))
            }
            (false, _, true) => Ok(Estimator::Based(BasedOn::of(plan)?)),
            (false, true, false) => Ok(Estimator::Components(Components::of(plan))),
            (_, false, false) => Ok(Estimator::Tables(Tables::of(plan, context.balanced))),
        }
    }

    pub(super) fn each<S: Source>(&self) -> &dyn Estimate<S> {
        match self {
            Estimator::Components(c) => c,
            Estimator::Tables(t) => t,
            Estimator::Rows(r) => r,
            Estimator::Based(b) => b,
        }
    }
}
