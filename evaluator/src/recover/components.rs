//! Components measured one by one: `r̂_A = P_A y_A / m_A`, independent of each other.

use super::estimator::{Coefficients, Estimate};
use super::gls::Parts;
use super::stored::Stored;
use super::{RecoverError, Source};
use crate::cube::{Cuboid, Frame};
use crate::plan::index::Index;
use crate::plan::{Plan, noise};

/// For each component the measurement that holds it.
pub(super) struct Components(Index);

impl Components {
    pub fn of(plan: &Plan) -> Components {
        Components(Index::of(&plan.only().measurements))
    }

    fn find<S>(&self, stored: &Stored<S>, a: &Cuboid) -> Option<usize> {
        self.0.find(&stored.plan.only().measurements, a)
    }

    /// The measurement of a component.
    fn index<S: Source>(&self, stored: &Stored<S>, a: &Cuboid) -> Result<usize, RecoverError> {
        self.find(stored, a).ok_or_else(|| stored.not_held(a))
    }

    /// The integers that stand for one unit of the component.
    fn unit<S: Source>(stored: &Stored<S>, index: usize) -> Result<f64, RecoverError> {
        let block = &stored.plan.only().measurements[index].block;
        block.unit(&stored.frame).ok_or_else(|| {
            RecoverError::Plan(format!("the scale of {} does not fit", stored.cube.describe(block.cuboid())))
        })
    }
}

impl<S: Source> Estimate<S> for Components {
    fn holds(&self, stored: &Stored<S>, cuboid: &Cuboid) -> bool {
        stored.fits(cuboid, stored.values)
            && stored.frame.below(cuboid).iter().all(|a| self.find(stored, a).is_some() || stored.is_exact(a))
    }

    fn component(&self, stored: &Stored<S>, a: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        let index = self.index(stored, a)?;
        let values = stored.read(index)?;
        let unit = Self::unit(stored, index)?;
        let mut part = stored.frame.expand(a, values.iter().map(|&v| v as f64).collect());
        part.iter_mut().for_each(|v| *v /= unit);
        stored.cache.offer(a, &part);
        Ok(part)
    }

    fn covariance(&self, stored: &Stored<S>, _: &Frame, mut parts: Parts) -> Option<Parts> {
        for (a, part) in &mut parts {
            // The scale is that of the whole frame: lumping changes no group's size.
            let m = &stored.plan.only().measurements[self.find(stored, a)?];
            let sigma2 = noise::component_variance(&stored.frame, stored.plan.noise, m)?;
            part.iter_mut().for_each(|v| *v *= sigma2);
        }
        Some(parts)
    }

    fn coefficients(
        &self,
        stored: &Stored<S>,
        frame: &Frame,
        query: Parts,
    ) -> Result<Coefficients, RecoverError> {
        let mut out = Vec::new();
        for (a, mut q) in query {
            let index = self.index(stored, &a)?;
            let unit = Self::unit(stored, index)?;
            q.iter_mut().for_each(|v| *v /= unit);
            stored.plan.only().measurements[index].block.keep_drawn(frame, &mut q);
            out.push((index, q));
        }
        Ok(out)
    }
}
