//! Components measured one by one: `r̂_A = P_A y_A / m_A`, independent of each other.

use super::context::Context;
use super::estimate::{Coefficients, Estimate};
use super::gls::Parts;
use super::{RecoverError, Source, near};
use crate::cube::{Cuboid, Frame};
use crate::plan::index::Index;
use crate::plan::{Plan, component_variance};

/// For each component the measurement that holds it.
pub(super) struct Components(Index);

impl Components {
    pub(super) fn of(plan: &Plan) -> Components {
        Components(Index::of(&plan.only().measurements))
    }

    fn find<S>(&self, context: &Context<S>, a: &Cuboid) -> Option<usize> {
        self.0.find(&context.plan.only().measurements, a)
    }

    /// The measurement of a component.
    fn index<S: Source>(&self, context: &Context<S>, a: &Cuboid) -> Result<usize, RecoverError> {
        self.find(context, a).ok_or_else(|| context.not_held(a))
    }

    /// The integers that stand for one unit of the component.
    fn unit<S: Source>(context: &Context<S>, index: usize) -> Result<f64, RecoverError> {
        let block = &context.plan.only().measurements[index].block;
        block.unit(&context.frame).ok_or_else(|| {
            RecoverError::Plan(format!("the scale of {} does not fit", context.cube.describe(block.cuboid())))
        })
    }
}

impl<S: Source> Estimate<S> for Components {
    fn holds(&self, context: &Context<S>, cuboid: &Cuboid) -> bool {
        context.fits(cuboid, context.values)
            && context
                .frame
                .below(cuboid)
                .iter()
                .all(|a| self.find(context, a).is_some() || context.is_exact(a))
    }

    fn component(&self, context: &Context<S>, a: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        let index = self.index(context, a)?;
        let values = context.read(index)?;
        let unit = Self::unit(context, index)?;
        let mut part = context.frame.expand(a, values.floats());
        part.iter_mut().for_each(|v| *v /= unit);
        context.cache.offer(a, &part);
        Ok(part)
    }

    fn near(
        &self,
        context: &Context<S>,
        near: &Frame,
        cuboid: &Cuboid,
    ) -> Option<Result<Vec<f64>, RecoverError>> {
        Some(near.rebuild(cuboid, &mut |a| {
            let index = self.index(context, a)?;
            let unit = Self::unit(context, index)?;
            let mut part = near::component(context, index, near)?;
            part.iter_mut().for_each(|v| *v /= unit);
            Ok(Some(part))
        }))
    }

    fn covariance(&self, context: &Context<S>, _: &Frame, mut parts: Parts) -> Option<Parts> {
        for (a, part) in &mut parts {
            // The scale is that of the whole frame: lumping changes no group's size.
            let m = &context.plan.only().measurements[self.find(context, a)?];
            let sigma2 = component_variance(&context.frame, context.plan.noise, m)?;
            part.iter_mut().for_each(|v| *v *= sigma2);
        }
        Some(parts)
    }

    fn coefficients(
        &self,
        context: &Context<S>,
        frame: &Frame,
        query: Parts,
    ) -> Result<Coefficients, RecoverError> {
        let mut out = Vec::new();
        for (a, mut q) in query {
            let index = self.index(context, &a)?;
            let unit = Self::unit(context, index)?;
            q.iter_mut().for_each(|v| *v /= unit);
            context.plan.only().measurements[index].block.keep_drawn(frame, &mut q);
            out.push((index, q));
        }
        Ok(out)
    }
}
