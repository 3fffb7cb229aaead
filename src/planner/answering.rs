//! How much work answers from a plan's release are, to a reader who has asked nothing yet.

use super::objective::Objective;
use super::planned::{Candidate, Planned};
use super::request::Request;
use crate::cube::{Cuboid, Frame};
use crate::plan::{Form, Measure, Plan};
use std::sync::Arc;

/// Plans whose errors differ by less than this part are equally good: then the one that is easier to answer from is taken.
const EQUAL: f64 = 1e-3;

/// The largest table that is asked for, of levels in use.
pub(crate) fn largest(frame: &Frame, plan: &Plan) -> Option<Cuboid> {
    let asked = plan.rows().workload.iter().filter_map(|t| frame.telling(&t.cuboid));
    asked.max_by(|a, b| frame.cells(a).total_cmp(&frame.cells(b)))
}

/// Rows over all cells are harder to answer from, and the exact law of their loss is not known: they are taken where that saves this part.
const WORTH_ROWS: f64 = 5e-3;

/// How many numbers the first answer of the largest table goes through: of components measured one by one those below it; of whole tables all
/// there are, since each tells something of the total.
pub(crate) fn answering(frame: &Frame, plan: &Plan) -> f64 {
    let single = |m: &crate::plan::Measurement| matches!(m.block.form(), Form::Component | Form::Based);
    if plan.rows().measurements.iter().all(single) {
        return largest(frame, plan).map_or(0.0, |t| frame.spread(&t));
    }
    plan.rows().measurements.iter().map(|m| m.block.values(frame) as f64).sum()
}

/// Answers that go through fewer numbers take no time worth speaking of.
const QUICK: f64 = (1u64 << 16) as f64;

/// The index of the candidate that is best by the request's objective, the first of equals; but where answers from it go through many numbers,
/// and those from one that is [`EQUAL`] to it through half as many or fewer, that one. Vast ones only if there are no others.
pub(crate) fn best<'a>(
    request: &Request,
    candidates: impl Iterator<Item = (usize, &'a Candidate)> + Clone,
) -> Option<usize> {
    let scored = candidates.filter_map(|(i, c)| {
        let plan = c.outcome.as_ref().ok()?;
        Some((i, c.vast, plan.score(request), plan))
    });
    let less = |a: (usize, bool, f64, &'a Arc<Planned>), b: (usize, bool, f64, &'a Arc<Planned>)| {
        if (b.1, b.2) < (a.1, a.2) { b } else { a }
    };
    let mut best = scored.clone().reduce(less)?;
    if best.3.plan.measure == Measure::Together {
        let others = scored.clone().filter(|c| c.3.plan.measure != Measure::Together);
        let worth =
            |c: &(usize, bool, f64, &'a Arc<Planned>)| c.1 == best.1 && c.2 <= best.2 * (1.0 + WORTH_ROWS);
        best = others.reduce(less).filter(worth).unwrap_or(best);
    }
    let reads = |p: &Planned| {
        let frame = Frame::new(&request.over(p.plan.measure).cube, &p.plan.levels);
        answering(&frame, &p.plan)
    };
    let most = reads(best.3);
    // A target is met or missed, by however little.
    if most <= QUICK || request.objective == Objective::Targets {
        return Some(best.0);
    }
    let equal = scored.filter(|c| c.1 == best.1 && c.2 <= best.2 * (1.0 + EQUAL));
    let easiest = equal.map(|c| (c.0, reads(c.3))).reduce(|a, b| if b.1 < a.1 { b } else { a });
    Some(easiest.filter(|e| 2.0 * e.1 <= most).map_or(best.0, |e| e.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::{Cube, Dimension};
    use crate::exact::Rational;
    use crate::plan::{BudgetRule, Noise, Table};
    use crate::planner::plan;

    /// The same plans with other errors: a tenth of a percent is given for answers that read less, no more, and only where that is much.
    #[test]
    fn of_equals_the_easier_to_answer_from() {
        let planned = |sizes: [usize; 3], measure| {
            let dimension = |(i, &n): (usize, &usize)| {
                Dimension::plain(&format!("d{i}"), (0..n).map(|v| v.to_string()).collect())
            };
            let cube = Cube { dimensions: sizes.iter().enumerate().map(dimension).collect() };
            let pairs = [[0, 1], [0, 2], [1, 2]];
            let tables = pairs.map(|p| Table::new(Cuboid::new(p.map(|d| (d, 1))), Rational::ONE));
            let mut request = Request::new(cube, tables.to_vec(), Noise::Gaussian, Rational::ONE);
            request.measure = Some(measure);
            let outcome = plan(&request).map(Arc::new);
            (request, Candidate { measure, budgets: BudgetRule::Optimal, outcome, vast: false })
        };
        let chosen = |sizes, worse: f64| {
            let (request, mut tables) = planned(sizes, Measure::Queries);
            let (_, components) = planned(sizes, Measure::Residual);
            let error = components.outcome.as_ref().unwrap().prediction.weighted_total;
            Arc::make_mut(tables.outcome.as_mut().unwrap()).prediction.weighted_total = error / worse;
            let all = [tables, components];
            all[best(&request, all.iter().enumerate()).unwrap()].measure
        };
        let large = [300, 290, 5];
        assert_eq!(chosen(large, 1.0009), Measure::Queries, "not half as much to read");
        let many = [300, 290, 280];
        assert_eq!(chosen(many, 1.0009), Measure::Residual);
        assert_eq!(chosen(many, 1.0011), Measure::Queries);
        assert_eq!(chosen(many, 0.5), Measure::Residual);
        assert_eq!(chosen([30, 20, 10], 1.0009), Measure::Queries, "all is quick");
    }
}
