//! What a plan promises at another budget, or for other tables.

use super::between;
use super::closure::{Closure, Spread};
use super::context::Context;
use super::planned::{PlanError, Planned};
use super::predict::{self, Prediction};
use super::request::Request;
use super::strategy::NotApplicable;
use crate::cube::Frame;
use crate::plan::{Plan, Table, round};

/// What a plan would promise with `times` its budget: the same tables and shares, all noise scaled.
pub fn predict_at(request: &Request, plan: &Plan, times: f64) -> Result<Prediction, PlanError> {
    let told = request.told_by(plan);
    let context = Context::new(&told, plan.measure)?;
    let mut scaled = plan.with_workload(context.scene.request.workload.clone());
    for m in scaled.measurements_mut() {
        m.scale = round::up(m.scale.to_f64() / times).ok_or_else(|| {
            let name = request.cube.describe(m.block.cuboid());
            PlanError::NotApplicable(plan.measure.name(), NotApplicable::ScaleOutOfRange(name))
        })?;
    }
    Ok(predict::predict(&context.scene.request, &context.frame, &context.closure, &scaled))
}

/// Discrete Gaussian noise of two steps or more has the variance that its scale says, to all digits.
const TWO_STEPS: f64 = 4.0;

/// [`predict_at`] of what is planned: where noise is that of its scale before and after, errors scale with it, and nothing is predicted anew.
pub(crate) fn promised_at(request: &Request, planned: &Planned, times: f64) -> Result<Prediction, PlanError> {
    let plan = &planned.plan;
    let least = plan.rows().measurements.iter().map(|m| m.scale.to_f64()).fold(f64::INFINITY, f64::min);
    if plan.noise.is_normal() && least.min(least / times) >= TWO_STEPS {
        return Ok(planned.prediction.scaled(1.0 / times));
    }
    predict_at(request, plan, times)
}

/// What a plan promises for these tables and questions, asked for or not. The request is that of the plan, over its levels.
pub(crate) fn judge(request: &Request, plan: &Plan, tables: Vec<Table>) -> Vec<Spread> {
    let frame = Frame::new(&request.cube, &plan.levels);
    let told: Vec<Option<Table>> =
        tables.iter().map(|t| between::told(&request.cube, &plan.levels, t)).collect();
    let tables: Vec<Table> = told.iter().flatten().cloned().collect();
    let closure = Closure::new(&request.cube, &frame, &tables);
    let plan = plan.with_workload(tables.clone());
    let request = Request { workload: tables, by_cell: Vec::new(), ..request.clone() };
    let mut found = predict::predict(&request, &frame, &closure, &plan).tables.into_iter();
    told.iter().map(|t| t.as_ref().and_then(|_| found.next()).unwrap_or(Spread::UNKNOWN)).collect()
}
