//! How much work answers from a plan's release are, to a reader who has asked nothing yet.

use super::{Candidate, Objective, Request};
use crate::cube::{Cuboid, Frame};
use crate::plan::{Form, Plan};

/// Plans whose errors differ by less than this part are equally good: then the one that is easier to answer from is taken.
pub const EQUAL: f64 = 1e-3;

/// The largest table that is asked for.
pub fn largest<'a>(frame: &Frame, plan: &'a Plan) -> Option<&'a Cuboid> {
    let asked = plan.workload.iter().map(|t| &t.cuboid);
    asked.max_by(|a, b| frame.cells(a).total_cmp(&frame.cells(b)))
}

/// How many numbers the first answer of the largest table goes through: of components measured one by one those below it; of whole tables all
/// there are, since each tells something of the total.
pub fn answering(frame: &Frame, plan: &Plan) -> f64 {
    let single = |m: &crate::plan::Measurement| matches!(m.block.form(), Form::Component | Form::Based);
    if plan.measurements.iter().all(single) {
        return largest(frame, plan).map_or(0.0, |t| frame.spread(t));
    }
    plan.measurements.iter().map(|m| m.block.values(frame) as f64).sum()
}

/// Of what is [`EQUAL`] to the best the easiest to answer from: its place. Vast ones only if there are no others.
pub fn easiest<'a>(
    request: &Request,
    candidates: impl Iterator<Item = (usize, &'a Candidate)> + Clone,
) -> Option<usize> {
    let scored = candidates.filter_map(|(i, c)| {
        let plan = c.outcome.as_ref().ok()?;
        Some((i, c.vast, plan.score(request), plan))
    });
    let (vast, least) =
        scored.clone().map(|(_, vast, score, _)| (vast, score)).reduce(|a, b| if b < a { b } else { a })?;
    // A target is met or missed, by however little.
    let equal = if request.objective == Objective::Targets { 0.0 } else { EQUAL };
    scored
        .filter(|&(_, v, score, _)| v == vast && score <= least * (1.0 + equal))
        .map(|(i, _, score, p)| {
            let frame = Frame::new(&request.over(p.plan.measure).cube, &p.plan.levels);
            (i, answering(&frame, &p.plan), score)
        })
        .reduce(|a, b| if (b.1, b.2) < (a.1, a.2) { b } else { a })
        .map(|(i, ..)| i)
}
