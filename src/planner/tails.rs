//! How far out errors with long tails lie, beside normal ones of their variances: by the exact laws of the worst cells.

use super::objective::Target;
use super::planned::Planned;
use super::{Request, worst};
use crate::answer::Evaluator;
use crate::plan::Measurement;
use crate::recover::Nothing;
use crate::recover::Recovery;

/// Exact laws are worked out one by one for up to so many targets; with more, normal ones.
const EXACT_LAWS: usize = 64;

/// The targets, each with its table.
pub(super) fn wanted(request: &Request) -> impl Iterator<Item = (usize, Target)> {
    request.targets.iter().enumerate().filter_map(|(t, target)| Some((t, (*target)?)))
}

/// Half-widths of the worst cells of the tables with targets, by the exact laws of their errors, for a request over the plan's levels.
/// `None` where the normal law is exact enough, or laws are too many to work out.
pub(super) fn exact_margins(
    request: &Request,
    planned: &Planned,
    which: impl Fn(usize) -> bool,
) -> Vec<Option<f64>> {
    let possible = !planned.plan.noise.is_normal() && wanted(request).count() <= EXACT_LAWS;
    let exact = possible
        .then(|| Recovery::new(request.cube.clone(), planned.plan.clone(), Nothing).ok().map(Evaluator::new))
        .flatten();
    let margin = |(t, target): (usize, Target)| {
        let evaluator = exact.as_ref().filter(|_| which(t))?;
        let law = worst::law(evaluator, request, planned, t)?;
        Some(law.half_width(target.level.to_f64()))
    };
    wanted(request).map(margin).collect()
}

/// The variance of a table's worst cell over that at which a normal error just meets the target.
pub(super) fn normal_ratio(planned: &Planned, (t, target): (usize, Target)) -> f64 {
    planned.prediction.tables.get(t).map_or(f64::INFINITY, |s| s.max / target.variance())
}

/// No error of Laplace noise has an interval wider than this many times that of a normal one of its variance, squared; nor is the
/// normal one wider by more than this.
const LONGEST_TAIL: f64 = 2.5;

/// Signed sums tell every cell apart: laws of larger tables are not worked out for each plan that is tried.
const APART: f64 = 512.0;

/// Whether the law of a table's worst cell is quickly worked out.
fn quick(request: &Request, planned: &Planned, t: usize) -> bool {
    let cells = |t: usize| request.workload.get(t).and_then(|t| request.cube.cells(&t.cuboid));
    let dimensions = 0..request.cube.dimensions.len();
    let lumps = |m: &Measurement| dimensions.clone().all(|d| m.block.lumps(d));
    planned.plan.rows().measurements.iter().all(lumps) || cells(t).is_some_and(|n| n as f64 <= APART)
}

/// The largest ratio of a squared margin to its target's, by the exact laws of errors. `None` when those are not known.
pub(super) fn ratio(request: &Request, planned: &Planned) -> Option<f64> {
    if wanted(request).count() > EXACT_LAWS {
        return None;
    }
    let normal: Vec<f64> = wanted(request).map(|target| normal_ratio(planned, target)).collect();
    let most = normal.iter().fold(0.0f64, |a, b| a.max(*b));
    if !most.is_finite() {
        return Some(most);
    }
    // Only those that could be the largest are worked out.
    let near: Vec<usize> = wanted(request)
        .zip(&normal)
        .filter(|(_, r)| **r * LONGEST_TAIL * LONGEST_TAIL >= most)
        .map(|((t, _), _)| t)
        .collect();
    let exact = exact_margins(request, planned, |t| near.contains(&t) && quick(request, planned, t));
    let each = wanted(request).zip(exact).zip(normal).map(|(((_, target), margin), normal)| {
        margin.map_or(normal, |m| (m / target.margin.to_f64()).powi(2))
    });
    Some(each.fold(0.0, f64::max))
}

/// By which factor each table's variance must be smaller than a normal error's to be as far out.
pub(super) fn tails(request: &Request, planned: &Planned) -> Vec<f64> {
    let mut out = vec![1.0; request.workload.len()];
    let exact = exact_margins(request, planned, |t| quick(request, planned, t));
    for ((t, target), margin) in wanted(request).zip(exact) {
        if let Some(margin) = margin.filter(|m| *m > 0.0) {
            let exact = (margin / target.margin.to_f64()).powi(2);
            out[t] = (normal_ratio(planned, (t, target)) / exact).clamp(1.0 / LONGEST_TAIL, LONGEST_TAIL);
        }
    }
    out
}
