//! What a plan promises at another budget, or for other tables.

use super::closure::{Closure, Spread};
use super::context::Context;
use super::planned::PlanError;
use super::predict::{self, Prediction};
use super::request::Request;
use super::strategy::NotApplicable;
use crate::cube::Frame;
use crate::plan::{Plan, Table, round};

/// What a plan would promise with `times` its budget: the same tables and shares, all noise scaled.
pub fn predict_at(request: &Request, plan: &Plan, times: f64) -> Result<Prediction, PlanError> {
    let context = Context::new(request, plan.measure)?;
    let mut scaled = plan.clone();
    for m in scaled.measurements_mut() {
        m.scale = round::up(m.scale.to_f64() / times).ok_or_else(|| {
            let name = request.cube.describe(m.block.cuboid());
            PlanError::NotApplicable(plan.measure.name(), NotApplicable::ScaleOutOfRange(name))
        })?;
    }
    Ok(predict::predict(&context.scene.request, &context.frame, &context.closure, &scaled))
}

/// What a plan promises for these tables and questions, asked for or not. The request is that of the plan, over its levels.
pub(crate) fn judge(request: &Request, plan: &Plan, tables: Vec<Table>) -> Vec<Spread> {
    let frame = Frame::new(&request.cube, &plan.levels);
    let closure = Closure::new(&request.cube, &frame, &tables);
    let plan = plan.with_workload(tables.clone());
    let request = Request { workload: tables, ..request.clone() };
    predict::predict(&request, &frame, &closure, &plan).tables
}
