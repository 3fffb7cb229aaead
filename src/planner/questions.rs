//! A plan for questions that are measured themselves: one row a figure, all with the same noise.
//!
//! There is nothing to choose. What the rows cost together at scale 1 is known exactly ([`cost`](crate::plan::cost)), cost goes with the
//! reciprocal of the scale (of σ² under Gaussian noise), so the scale that spends the budget is an exact quotient.

use super::capacity::{self, NoRoom};
use super::chosen::Choice;
use super::planned::{Candidate, PlanError, Planned};
use super::predict::Prediction;
use super::request::Request;
use super::strategy::NotApplicable;
use crate::cube::Frame;
use crate::exact::Rational;
use crate::plan::cost::{self, CostError};
use crate::plan::{Block, BudgetRule, Channel, Measure, Measurement, Plan, Rows, noise_variance, round};
use std::sync::Arc;

/// The rows at a scale; its budget is what the request allows.
fn plan(request: &Request, rows: &Rows, scale: Rational) -> Plan {
    let measurement = Measurement { block: Block::Rows(rows.clone()), scale };
    Plan {
        noise: request.noise,
        budget: request.budget,
        neighbours: request.neighbours,
        max_rows: request.max_rows,
        measure: Measure::Matrix,
        budgets: BudgetRule::Optimal,
        levels: Frame::levels_of(&request.cube, std::iter::once(&rows.cuboid)),
        channels: vec![Channel::rows(Vec::new(), vec![measurement])],
        exact: Vec::new(),
        zeros: Vec::new(),
        copy: None,
    }
}

/// The rows at scale 1, and what they cost there, exactly.
pub(crate) fn at_one(request: &Request, rows: &Rows) -> Result<(Plan, Rational), PlanError> {
    let plan = plan(request, rows, Rational::ONE);
    let cost = cost::cost(&plan, &Frame::new(&request.cube, &plan.levels))?.total;
    if cost.is_zero() { Err(PlanError::Public) } else { Ok((plan, cost)) }
}

/// The rows of a request that has no tables, at its whole budget.
pub(super) fn choose(request: &Request, rows: &Rows) -> Result<Choice, PlanError> {
    let part = request.for_tables().and_then(|part| request.budget.checked_mul(part));
    let part = part.ok_or(CostError::Overflow(0))?;
    let scale = at_one(request, rows)?.1.checked_div(part).ok_or(CostError::Overflow(0))?;
    if scale > request.noise.largest_scale() {
        return Err(PlanError::Budget(request.budget));
    }
    let at = |scale: Rational| {
        let mut plan = plan(request, rows, scale);
        if let Some(share) = request.cut_units {
            plan.channels.push(Channel::cut_units(cost::scale_within(plan.noise, request.budget, share)?));
        }
        let frame = Frame::new(&request.cube, &plan.levels);
        let cost = cost::cost(&plan, &frame)?;
        Ok::<_, PlanError>((plan, frame, cost))
    };
    let (mut plan, mut frame, mut cost) = at(scale)?;
    if cost.total > plan.budget {
        // Costs are summed in parts, each rounded up: a little more noise makes room for that.
        let more = round::up(scale.to_f64() * (1.0 + 1e-12)).ok_or(PlanError::Budget(request.budget))?;
        (plan, frame, cost) = at(more)?;
    }
    if cost.total > plan.budget {
        return Err(PlanError::OverBudget(cost.total, plan.budget));
    }
    capacity::check(&plan, &frame).map_err(|why| {
        let name = request.cube.describe(&rows.cuboid);
        let why = match why {
            NoRoom::Integers(_) => NotApplicable::IntegersTooLarge(name),
            NoRoom::Section(_) | NoRoom::Exact(_) => NotApplicable::SectionTooLarge(name),
            NoRoom::Sections => NotApplicable::TooManySections,
        };
        PlanError::NotApplicable(plan.measure.name(), why)
    })?;
    // Of each figure alone, whatever else is known of it.
    let each = plan.rows().measurements.first().map_or(0.0, |m| noise_variance(plan.noise, m));
    let cells = rows.rows.len() as f64;
    let total = each * cells;
    let queries = cells;
    let prediction =
        Prediction { total, weighted_total: total, max: each, cells, queries, ..Prediction::default() };
    let planned = Arc::new(Planned {
        plan,
        cost,
        prediction,
        certificate: None,
        ratio: None,
        care: Arc::default(),
        sums: Vec::new(),
    });
    let candidate = Candidate {
        measure: planned.plan.measure,
        budgets: planned.plan.budgets,
        outcome: Ok(planned.clone()),
        vast: false,
    };
    Ok(Choice::new(planned, vec![candidate], 0))
}
