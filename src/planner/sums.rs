//! Counts and sums planned together: each channel by itself, and the budget shared out among them.
//!
//! **Claim.** Of all plans in which each channel is measured by the strategy at hand with noise of its own, none has a smaller weighted total
//! variance than this one, up to rounding. **Proof.** A row moves every channel, so their costs add up. At a budget β a channel's least total is
//! `K/β` under Gaussian noise (β is ρ) and `K/β²` under Laplace noise (β is ε), since all its noise scales alike; K is what it is at β = 1. `Σ K_c/β_c`
//! under `Σ β_c = β` is least where `β_c ∝ √K_c`, `Σ K_c/β_c²` where `β_c ∝ K_c^{1/3}` (Lagrange). ∎ That no correlated noise does better for one component is
//! shown in docs/methods/amounts.md.
//!
//! A channel of sums is planned as if each row added at most one, and its noise is then multiplied by how far one row may move it
//! ([`Quantity::reach`](crate::cube::Quantity::reach)).

use super::chosen::{Choice, Look};
use super::context::{drawable, for_tables};
use super::planned::{Candidate, PlanError, Planned, SumSpread};
use super::request::{Request, Summed};
use super::search::single;
use super::strategy::NotApplicable;
use crate::cube::Frame;
use crate::exact::Rational;
use crate::plan::cost::{self, CostError};
use crate::plan::{Channel, Measure, Noise, Objective, Plan, Subject, Table, round, subjects};
use std::sync::Arc;

/// What `auto` looks at. Searches over sets of tables are left out: each would run once a channel.
const LOOKED_AT: [Measure; 3] = [Measure::Residual, Measure::Queries, Measure::Base];

/// Shares of the budget are whole multiples of this part of it.
const PARTS: u128 = 1 << 20;

/// The plan of a request with sums.
pub(super) fn choose(request: &Request, look: Look) -> Result<Choice, PlanError> {
    let of = |measure: Measure| -> Vec<Measure> {
        if LOOKED_AT.contains(&measure) { vec![measure] } else { Vec::new() }
    };
    let measures = match (request.measure, look) {
        (Some(measure), Look::Needed) => of(measure),
        _ => LOOKED_AT.to_vec(),
    };
    if let Some(refused) = request.measure.filter(|m| of(*m).is_empty()) {
        return Err(PlanError::NotApplicable(refused.name(), NotApplicable::Sums));
    }
    if request.objective != Objective::Total {
        return Err(PlanError::SumsAreTotals);
    }
    let mut candidates = Vec::new();
    for measure in measures {
        let outcome = whole(request, measure).map(Arc::new);
        candidates.push(Candidate { measure, budgets: request.budgets, outcome, vast: false });
    }
    let wanted = |c: &Candidate| request.measure.is_none_or(|m| m == c.measure);
    let scored = candidates.iter().enumerate().filter(|(_, c)| wanted(c));
    let scored = scored.filter_map(|(i, c)| Some((i, c.outcome.as_ref().ok()?)));
    let best = scored.min_by(|a, b| total(a.1).total_cmp(&total(b.1)));
    match best.map(|(i, planned)| (i, planned.clone())) {
        Some((chosen, planned)) => Ok(Choice::new(planned, candidates, chosen)),
        None => Err(candidates.into_iter().find_map(|c| c.outcome.err()).unwrap_or(PlanError::NoTables)),
    }
}

/// The weighted total over all channels.
fn total(planned: &Planned) -> f64 {
    planned.prediction.weighted_total + planned.sums.iter().map(|s| s.weighted_total).sum::<f64>()
}

/// One channel, as if of rows.
struct Part {
    subject: Subject,
    request: Request,
}

/// The channels of a request: of rows, then of every amount.
fn parts(request: &Request, budget: Rational) -> Vec<Part> {
    let plain = Request {
        budget,
        sums: Vec::new(),
        cut_units: None,
        beside: request.sums.iter().flat_map(|s| s.tables.iter().map(|t| t.cuboid.clone())).collect(),
        ..request.clone()
    };
    let mut parts = Vec::new();
    if !request.workload.is_empty() {
        parts.push(Part { subject: Subject::Rows, request: plain.clone() });
    }
    let of = |subject: Subject, workload: Vec<Table>| {
        let targets = vec![None; workload.len()];
        let beside = request.workload.iter().map(|t| t.cuboid.clone()).chain(plain.beside.clone()).collect();
        let request = Request { workload, targets, exact: Vec::new(), beside, ..plain.clone() };
        Part { subject, request }
    };
    for Summed { quantity, tables, square, .. } in &request.sums {
        parts.extend(
            subjects(quantity, tables, *square).into_iter().map(|(subject, asked)| of(subject, asked)),
        );
    }
    parts
}

fn whole(request: &Request, measure: Measure) -> Result<Planned, PlanError> {
    let overflow = || PlanError::Cost(CostError::Overflow(0));
    let budget = match request.workload.is_empty() {
        true => {
            request.for_tables().and_then(|part| request.budget.checked_mul(part)).ok_or_else(overflow)?
        }
        false => for_tables(request)?,
    };
    let one = |part: &Part, budget: Rational| single(&Request { budget, ..part.request.clone() }, measure);
    let parts = parts(request, budget);
    // What each costs in error at the whole budget, and its share by that.
    let power = if request.noise == Noise::Gaussian { 1.0 / 2.0 } else { 1.0 / 3.0 };
    let mut roots = Vec::with_capacity(parts.len());
    for part in &parts {
        let planned = one(part, budget)?;
        let (_, dearer) = scaled(request, part, &planned, budget)?;
        roots.push(libm::pow(planned.prediction.weighted_total * dearer, power));
    }
    let all: f64 = roots.iter().sum();
    let mut left = PARTS;
    let mut planned = Vec::with_capacity(parts.len());
    for (i, (part, root)) in parts.iter().zip(&roots).enumerate() {
        let after = (parts.len() - 1 - i) as u128;
        let own = libm::round(root / all * PARTS as f64) as u128;
        let own = if after == 0 { left } else { own.clamp(1, left.saturating_sub(after).max(1)) };
        left = left.saturating_sub(own);
        let share = Rational::new(own, PARTS).ok_or_else(overflow)?;
        let own = budget.checked_mul(share).ok_or_else(overflow)?;
        planned.push((part, share, own, one(part, own)?));
    }
    together(request, measure, planned)
}

/// A part's channel with the noise that its own rows' reach needs, within its part of the budget; and by what its variances grow beside those of
/// counts. Under `substitute` a value may go from one end to the other, which costs more than a row that goes from cell to cell.
fn scaled(
    request: &Request,
    part: &Part,
    planned: &Planned,
    budget: Rational,
) -> Result<(Channel, f64), PlanError> {
    let overflow = || PlanError::Cost(CostError::Overflow(0));
    let mut channel = Channel { subject: part.subject.clone(), ..planned.plan.rows().clone() };
    if part.subject == Subject::Rows {
        return Ok((channel, 1.0));
    }
    let times = request.noise.powered(part.subject.most(1)).map(Rational::whole).ok_or_else(overflow)?;
    for m in &mut channel.measurements {
        m.scale = m.scale.checked_mul(times).ok_or_else(overflow)?;
    }
    let mut alone = Plan { budget, channels: vec![channel], exact: Vec::new(), ..planned.plan.clone() };
    let frame = Frame::new(&part.request.cube, &alone.levels);
    let used = cost::cost(&alone, &frame)?.total.to_f64() / budget.to_f64();
    if used <= 1.0 {
        return Ok((alone.channels.swap_remove(0), 1.0));
    }
    for m in alone.measurements_mut() {
        m.scale = round::up(m.scale.to_f64() * used * (1.0 + 1e-9)).ok_or_else(overflow)?;
    }
    let variance = if request.noise == Noise::Gaussian { used } else { used * used };
    Ok((alone.channels.swap_remove(0), variance))
}

/// The plan of all channels.
fn together(
    request: &Request,
    measure: Measure,
    parts: Vec<(&Part, Rational, Rational, Planned)>,
) -> Result<Planned, PlanError> {
    let first = parts.first().map(|(.., planned)| planned.clone()).ok_or(PlanError::NoTables)?;
    let mut plan = Plan {
        budget: request.budget,
        channels: Vec::new(),
        exact: request.exact.clone(),
        ..first.plan.clone()
    };
    let mut sums: Vec<SumSpread> = Vec::new();
    let mut prediction = None;
    for (part, share, own, planned) in parts {
        if planned.plan.levels != plan.levels {
            return Err(PlanError::NotApplicable(measure.name(), NotApplicable::Sums));
        }
        let (channel, dearer) = scaled(request, part, &planned, own)?;
        if part.subject == Subject::Rows {
            prediction = Some(planned.prediction);
        } else {
            let weighted_total = planned.prediction.weighted_total * dearer;
            // In squares of what is added up.
            let reach = part.subject.most(1) as f64;
            let unit = reach * reach * dearer;
            let spreads = planned.prediction.tables.iter();
            let tables = channel.workload.iter().cloned();
            let tables = tables.zip(spreads.map(|s| (s.mean * unit, s.max * unit))).collect();
            sums.push(SumSpread { subject: part.subject.clone(), tables, share, weighted_total });
        }
        plan.channels.push(channel);
    }
    // A file has the rows first, then the units that were cut.
    if let Some(share) = request.cut_units {
        let scale = cost::scale_within(plan.noise, request.budget, share)?;
        let at = usize::from(plan.channels.first().is_some_and(|c| c.subject == Subject::Rows));
        plan.channels.insert(at, Channel::cut_units(scale));
    }
    // And behind what is told of a number the rows that were moved to its ends.
    for Summed { quantity, clamping, .. } in &request.sums {
        let Some(share) = *clamping else { continue };
        let last = plan.channels.iter().rposition(|c| c.subject.quantity() == Some(quantity));
        let moved = cost::moved_within(&plan, quantity, share)?;
        plan.channels.splice(last.map_or(0, |at| at + 1)..last.map_or(0, |at| at + 1), moved);
    }
    let frame = Frame::new(&request.cube, &plan.levels);
    let cost = cost::cost(&plan, &frame)?;
    if cost.total > plan.budget {
        return Err(PlanError::OverBudget(cost.total, plan.budget));
    }
    drawable(request, &frame, &plan)?;
    let prediction = prediction.ok_or(PlanError::NoCounts)?;
    Ok(Planned { plan, cost, prediction, certificate: None, ratio: None, sums })
}
