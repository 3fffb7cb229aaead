//! The plan, made again from the sealed spec. For information: it never decides.

use super::Audit;
use super::content::Content;
use crate::plan::Plan;
use crate::planner::{self, Objective};
use crate::release::Outcome;
use crate::spec::Spec;

use Outcome::{Passed, Skipped, Warning};

/// Plans are made again up to so many cells of the tables asked for and measured: well within a second.
const REPLANNED_CELLS: f64 = 1e6;
/// And up to so many tables and measurements.
const REPLANNED_TABLES: usize = 300;

/// Makes the plan again, where that is quick.
pub(super) fn plan(audit: &mut Audit, spec: &Spec, content: &Content) {
    let same = match &content.projection {
        Some(p) => spec.projection_request().map(|r| r.and_then(|r| r.design()).is_ok_and(|d| d == p.design)),
        None => replanned(spec, &content.plan),
    };
    let (outcome, detail) = match same {
        Some(true) => (Passed, "made again from the spec: the very plan of the file"),
        Some(false) => (
            Warning,
            "made again from the spec, it comes out otherwise: planners improve, and a hand-made plan is no less private",
        ),
        None => (Skipped, "not made again from the spec: it would take long"),
    };
    audit.add("plan", outcome, detail.into());
}

/// Whether the plan's own strategy makes this plan of the spec today; `None` where it would take long to know.
fn replanned(spec: &Spec, plan: &Plan) -> Option<bool> {
    let over = &*spec.planned(plan);
    let cells = |c| over.cube.cells(c).map_or(f64::INFINITY, |n| n as f64);
    let asked: f64 = plan.rows().workload.iter().map(|t| cells(&t.cuboid)).sum();
    let measured: f64 = plan.rows().measurements.iter().map(|m| cells(m.block.cuboid())).sum();
    let tables = plan.rows().workload.len().max(plan.rows().measurements.len());
    let slow = !plan.noise.squares() || spec.strategy.objective != Objective::Total;
    if asked + measured > REPLANNED_CELLS
        || tables > if slow { REPLANNED_TABLES / 10 } else { REPLANNED_TABLES }
    {
        return None;
    }
    let mut request = spec.request()?;
    request.measure = Some(plan.measure);
    let first = plan.first();
    if plan.copy.is_some() {
        request.budget = first.budget;
    }
    Some(planner::plan(&request).is_ok_and(|p| p.plan == first))
}
