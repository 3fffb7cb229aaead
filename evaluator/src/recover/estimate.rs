//! What an estimator can do.

use super::context::Context;
use super::gls::Parts;
use super::{RecoverError, Source};
use crate::cube::{Cuboid, Frame};

/// What the noises of some measurements are multiplied by in an estimate.
pub(super) type Coefficients = Vec<(usize, Vec<f64>)>;

/// What an estimator can do. Estimates live in components; where there is a shorter way, the `direct_…` functions take it.
pub(super) trait Estimate<S: Source> {
    /// Whether the measurements, with the tables published exactly, tell a table over levels in use.
    fn holds(&self, context: &Context<S>, cuboid: &Cuboid) -> bool;

    /// A table whose sums are the best estimates, where that needs no components.
    fn direct_table(
        &self,
        _context: &Context<S>,
        _cuboid: &Cuboid,
    ) -> Option<Result<Vec<f64>, RecoverError>> {
        None
    }

    /// A table on a frame of which some axes are [pruned](crate::cube::Axis::prune), for each node that stands for others what one has whose groups are as
    /// the first's, where that takes no more than what is beside those that are told apart. Nothing is imposed on it.
    fn near(
        &self,
        _context: &Context<S>,
        _near: &Frame,
        _cuboid: &Cuboid,
    ) -> Option<Result<Vec<f64>, RecoverError>> {
        None
    }

    /// Gets ready what [`Estimate::component`] needs for all components below a table.
    fn prepare(&self, _context: &Context<S>, _cuboid: &Cuboid) -> Result<(), RecoverError> {
        Ok(())
    }

    /// The estimate of a component that no exact table holds.
    fn component(&self, context: &Context<S>, a: &Cuboid) -> Result<Vec<f64>, RecoverError>;

    /// How many numbers a step of [`Estimate::covariance`] goes through, for the components of these tables.
    fn step(&self, _: &Context<S>, _: &Frame, _: &mut dyn Iterator<Item = &Cuboid>) -> f64 {
        0.0
    }

    /// `N⁻¹` of components: the covariance of their estimates. `None` when there is one that nothing tells.
    fn covariance(&self, context: &Context<S>, frame: &Frame, parts: Parts) -> Option<Parts>;

    /// The coefficients of a query of a table, where that needs no components.
    fn direct_coefficients(
        &self,
        _context: &Context<S>,
        _frame: &Frame,
        _cuboid: &Cuboid,
        _query: &[f64],
    ) -> Option<Result<Coefficients, RecoverError>> {
        None
    }

    /// The coefficients of a query that is given by its components, none of them below an exact table.
    fn coefficients(
        &self,
        context: &Context<S>,
        frame: &Frame,
        query: Parts,
    ) -> Result<Coefficients, RecoverError>;
}
