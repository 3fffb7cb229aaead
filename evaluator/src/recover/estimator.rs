//! The ways from measurements to unconstrained estimates: a closed list, one file each.

use super::based::BasedOn;
use super::components::Components;
use super::gls::Parts;
use super::stored::Stored;
use super::tables::Tables;
use super::written::Written;
use super::{RecoverError, Source};
use crate::cube::{Cuboid, Frame};
use crate::plan::{Form, Plan, Seen};

/// What the noises of some measurements are multiplied by in an estimate.
pub(super) type Coefficients = Vec<(usize, Vec<f64>)>;

/// What an estimator can do. Estimates live in components; where there is a shorter way, the `direct_…` functions take it.
pub(super) trait Estimate<S: Source> {
    /// Whether the measurements, with the tables published exactly, tell a table over levels in use.
    fn holds(&self, stored: &Stored<S>, cuboid: &Cuboid) -> bool;

    /// A table whose sums are the best estimates, where that needs no components.
    fn direct_table(&self, _stored: &Stored<S>, _cuboid: &Cuboid) -> Option<Result<Vec<f64>, RecoverError>> {
        None
    }

    /// Gets ready what [`Estimate::component`] needs for all components below a table.
    fn prepare(&self, _stored: &Stored<S>, _cuboid: &Cuboid) -> Result<(), RecoverError> {
        Ok(())
    }

    /// The estimate of a component that no exact table holds.
    fn component(&self, stored: &Stored<S>, a: &Cuboid) -> Result<Vec<f64>, RecoverError>;

    /// How many numbers a step of [`Estimate::covariance`] goes through, for the components of these tables.
    fn step(&self, _: &Stored<S>, _: &Frame, _: &mut dyn Iterator<Item = &Cuboid>) -> f64 {
        0.0
    }

    /// `N⁻¹` of components: the covariance of their estimates. `None` when there is one that nothing tells.
    fn covariance(&self, stored: &Stored<S>, frame: &Frame, parts: Parts) -> Option<Parts>;

    /// The coefficients of a query of a table, where that needs no components.
    fn direct_coefficients(
        &self,
        _stored: &Stored<S>,
        _frame: &Frame,
        _cuboid: &Cuboid,
        _query: &[f64],
    ) -> Option<Result<Coefficients, RecoverError>> {
        None
    }

    /// The coefficients of a query that is given by its components, none of them below an exact table.
    fn coefficients(
        &self,
        stored: &Stored<S>,
        frame: &Frame,
        query: Parts,
    ) -> Result<Coefficients, RecoverError>;
}

/// The estimator of a plan.
pub(super) enum Estimator {
    Components(Components),
    Tables(Tables),
    Rows(Written),
    Based(BasedOn),
}

impl Estimator {
    pub fn of<S: Source>(stored: &Stored<S>) -> Result<Estimator, RecoverError> {
        let plan: &Plan = &stored.plan;
        if let Some(written) = Written::of(plan)? {
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
            (_, false, false) => Ok(Estimator::Tables(Tables::of(plan, stored.balanced))),
        }
    }

    pub fn each<S: Source>(&self) -> &dyn Estimate<S> {
        match self {
            Estimator::Components(c) => c,
            Estimator::Tables(t) => t,
            Estimator::Rows(r) => r,
            Estimator::Based(b) => b,
        }
    }
}
