//! The plan, made again from the sealed spec. For information: it never decides.

use super::Audit;
use super::content::Content;
use crate::cube::Cuboid;
use crate::plan::{Measure, Plan};
use crate::planner::{self, Objective};
use crate::release::Outcome;
use crate::spec::Spec;

use Outcome::{Passed, Skipped, Warning};

/// Plans are made again up to so many cells of the tables asked for and measured: well within a second.
const MOST_CELLS: f64 = 1e6;
/// And up to so many tables and measurements; a tenth where plans are searched for.
const MOST_TABLES: usize = 300;
/// And up to so many components of all those tables.
const MOST_COMPONENTS: f64 = 65_536.0;
/// And up to so many steps of what takes the cube of a size: bases of a dimension, rows, sums of categories.
const MOST_STEPS: f64 = (1u64 << 27) as f64;
/// And up to so many cells where there are conditions.
const MOST_CONSTRAINED: f64 = 1e4;

/// Makes the plan again, where that is little work by a count made beforehand. A sealed `effort` is not for readers: their search is short.
pub(super) fn plan(audit: &mut Audit, spec: &Spec, content: &Content) {
    let same = match &content.projection {
        Some(p) => spec.projection_request().map(|r| r.and_then(|r| r.design()).is_ok_and(|d| d == p.design)),
        None => replanned(spec, &content.plan),
    };
    let (outcome, detail) = match same {
        Some(true) => (Passed, "made again from the spec: the very plan of the file"),
        Some(false) if spec.strategy.effort > 1 => (
            Skipped,
            "not made again from the spec: it was searched for longer than a reader waits (`effort`)",
        ),
        Some(false) => (
            Warning,
            "made again from the spec, it comes out otherwise: planners improve, and a hand-made plan is no less private",
        ),
        None => (Skipped, "not made again from the spec: it would take long"),
    };
    audit.add("plan", outcome, detail.into());
}

/// Whether making a plan is little work.
pub(super) fn is_quick(spec: &Spec, over: &Spec, plan: &Plan) -> bool {
    let cells = |c: &Cuboid| over.cube.cells(c).map_or(f64::INFINITY, |n| n as f64);
    let of_tables = || {
        plan.rows()
            .workload
            .iter()
            .map(|t| &t.cuboid)
            .chain(plan.rows().measurements.iter().map(|m| m.block.cuboid()))
    };
    let all: f64 = of_tables().map(cells).sum();
    let tables = plan.rows().workload.len().max(plan.rows().measurements.len());
    let searched = matches!(plan.measure, Measure::Tables | Measure::Cluster);
    let slow = searched || !plan.noise.squares() || spec.strategy.objective != Objective::Total;
    let levels = |d: usize| plan.levels.get(d).map_or(1.0, |l| l.len() as f64);
    let components: f64 = of_tables().map(|c| c.iter().map(|l| levels(l.dimension)).product::<f64>()).sum();
    let cube = |n: f64| n * n * n;
    let summed = plan.rows().workload.iter().filter(|t| !t.asks.is_cells()).map(|t| cube(cells(&t.cuboid)));
    let own: f64 = match plan.measure {
        Measure::Bases => {
            let mut used: Vec<_> = of_tables().flat_map(|c| c.iter().map(|l| l.dimension)).collect();
            used.sort_unstable();
            used.dedup();
            let finest =
                |d: &usize| over.cube.dimensions.get(*d).and_then(|d| d.levels.last()).map_or(0, |l| l.len());
            used.iter().map(|d| cube(finest(d) as f64)).sum()
        }
        // Predicting what its rows tell is most of the work.
        Measure::Together => of_tables().map(cells).fold(0.0, |most: f64, n| most.max(cube(n))),
        Measure::Matrix => {
            let rows = spec.strategy.rows.as_ref();
            rows.map_or(0.0, |r| 16.0 * cube((r.rows.len() as f64).min(cells(&r.cuboid))) + cells(&r.cuboid))
        }
        _ => 0.0,
    };
    all <= if plan.zeros.is_empty() { MOST_CELLS } else { MOST_CONSTRAINED }
        && tables <= if slow { MOST_TABLES / 10 } else { MOST_TABLES }
        && components <= MOST_COMPONENTS
        && summed.sum::<f64>() + own <= MOST_STEPS
}

/// Whether the plan's own strategy makes this plan of the spec today; `None` where it would take long to know.
fn replanned(spec: &Spec, plan: &Plan) -> Option<bool> {
    if !is_quick(spec, &spec.planned(plan), plan) {
        return None;
    }
    let mut request = spec.request_of(plan)?;
    (request.measure, request.effort) = (Some(plan.measure), 1);
    let first = plan.first();
    if plan.copy.is_some() {
        request.budget = first.budget;
    }
    Some(planner::plan(&request).is_ok_and(|p| p.plan == first))
}
