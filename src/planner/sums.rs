//! Counts and sums planned together: each channel by itself, and the budget shared out among them.
//!
//! **Claim.** Of all plans in which each channel is measured by the strategy at hand with noise of its own, none has a smaller weighted total
//! variance than this one, up to rounding. **Proof.** A row moves every channel, so their costs add up. At a budget β a channel's least total is
//! `K/β` under Gaussian noise (β is ρ) and `K/β²` under Laplace noise (β is ε), since all its noise scales alike; K is what it is at β = 1. `Σ K_c/β_c`
//! under `Σ β_c = β` is least where `β_c ∝ √K_c`, `Σ K_c/β_c²` where `β_c ∝ K_c^{1/3}` (Lagrange). ∎ Noise of fewer steps than a few has less variance than its
//! scale says; shares are as if it had not. That no correlated noise does better for one component is
//! shown in docs/methods/amounts.md.
//!
//! A channel of sums is planned as if each row added at most one, and its noise is then multiplied by how far one row may move it
//! ([`Quantity::reach`](crate::cube::Quantity::reach)).

mod aims;
mod reached;
mod shares;
#[cfg(test)]
mod tests;

pub(crate) use aims::own_weights;

use super::chosen::{Choice, Look};
use super::context::{drawable, for_tables};
use super::judge::predict_at;
use super::planned::{Aimed, Candidate, PlanError, Planned, SumSpread};
use super::predict::Prediction;
use super::request::{Request, Summed};
use super::search::single;
use super::strategy::NotApplicable;
use super::tails;
use crate::cube::{Cuboid, Frame};
use crate::exact::Rational;
use crate::plan::cost::{self, CostError};
use crate::plan::{Channel, Measure, Noise, Objective, Plan, Subject, Table, round, subjects};
use crate::spec::PLAN_SUMS;
use std::cmp::Ordering;
use std::sync::Arc;

/// With long tails: how often plans are made anew with the tails of the last one.
const TAILS: usize = 3;

/// Shares of the budget are whole multiples of this part of it.
const PARTS: u128 = 1 << 20;

/// The plan of a request with sums.
pub(super) fn choose(request: &Request, look: Look) -> Result<Choice, PlanError> {
    let tables = request.workload.iter().chain(request.sums.iter().flat_map(|s| &s.tables));
    let more = { tables }.any(|t| !t.asks.is_cells());
    let applies = |m: &Measure| match m {
        // The search over sets of tables runs once a channel: it is for those who ask for it by its name.
        Measure::Tables => request.measure == Some(*m),
        Measure::Bases => more,
        _ => true,
    };
    let applying: Vec<Measure> = PLAN_SUMS.into_iter().filter(applies).collect();
    if let Some(refused) = request.measure.filter(|m| !applying.contains(m)) {
        return Err(PlanError::NotApplicable(refused.name(), NotApplicable::Sums));
    }
    let measures = match (request.measure, look) {
        (Some(measure), Look::Needed) => vec![measure],
        _ => applying,
    };
    let mut candidates = Vec::new();
    for measure in measures {
        let outcome = whole(request, measure).map(Arc::new);
        candidates.push(Candidate { measure, budgets: request.budgets, outcome, vast: false });
    }
    let scored = candidates.iter().enumerate().filter(|(_, c)| c.is_wanted(request));
    let scored = scored.filter_map(|(i, c)| Some((i, c.outcome.as_ref().ok()?)));
    let best = scored.min_by(|a, b| a.1.score(request).total_cmp(&b.1.score(request)));
    match best.map(|(i, planned)| (i, planned.clone())) {
        Some((chosen, planned)) => Ok(Choice::new(planned, candidates, chosen)),
        None => Err(refusal(candidates)),
    }
}

/// Why there is no plan: what is wrong with this budget and these bounds, before what a strategy is not made for.
fn refusal(candidates: Vec<Candidate>) -> PlanError {
    let reasons = candidates.into_iter().filter_map(|c| c.outcome.err());
    let rank = |why: &PlanError| match why {
        PlanError::Budget(_) => 0,
        PlanError::NotApplicable(_, NotApplicable::NeedsGaussian | NotApplicable::Sums) => 2,
        _ => 1,
    };
    reasons.min_by_key(rank).unwrap_or(PlanError::NoTables)
}

/// One channel, as if of rows.
struct Part {
    subject: Subject,
    /// The tables that were asked for: those of the request, but for what they weigh there.
    asked: Vec<Table>,
    request: Request,
}

/// The channels of a request: of rows, then of every amount.
fn parts(request: &Request, budget: Rational) -> Vec<Part> {
    let plain = Request {
        budget,
        sums: Vec::new(),
        cut_units: None,
        by_variance: true,
        beside: request.sums.iter().flat_map(|s| s.tables.iter().map(|t| t.cuboid.clone())).collect(),
        ..request.clone()
    };
    let mut parts = Vec::new();
    if !request.workload.is_empty() {
        parts.push(Part { subject: Subject::Rows, asked: request.workload.clone(), request: plain.clone() });
    }
    let of = |subject: Subject, workload: Vec<Table>, exact: &[Cuboid]| {
        let targets = vec![None; workload.len()];
        let beside = request.workload.iter().map(|t| t.cuboid.clone()).chain(plain.beside.clone()).collect();
        let asked = workload.clone();
        let reach = subject.most(1);
        let request = Request { workload, targets, exact: exact.to_vec(), beside, reach, ..plain.clone() };
        Part { subject, asked, request }
    };
    for Summed { quantity, tables, square, exact, .. } in &request.sums {
        let own = subjects(quantity, tables, *square);
        parts.extend(own.into_iter().map(|(subject, asked)| of(subject, asked, exact)));
    }
    parts
}

fn whole(request: &Request, measure: Measure) -> Result<Planned, PlanError> {
    let budget = for_tables(request)?;
    let mut tails = Tails::default();
    let mut best: Option<Planned> = None;
    for _ in 0..TAILS {
        let planned = shared_out(request, measure, budget, &tails)?;
        let now = Tails::of(request, &planned);
        let order = best.as_ref().map(|b| planned.score(request).total_cmp(&b.score(request)));
        if order.is_none_or(|o| o == Ordering::Less) {
            best = Some(planned);
        }
        if !now.differ(&tails) {
            break;
        }
        tails = now;
    }
    best.ok_or(PlanError::NoTables)
}

/// How much smaller than normal errors' variances must be to have margins as small: of counts, one a table, and of sums, one a target.
#[derive(Default)]
struct Tails {
    counts: Vec<f64>,
    sums: Vec<f64>,
}

impl Tails {
    /// Those of a plan, by the exact laws of its errors.
    fn of(request: &Request, planned: &Planned) -> Tails {
        if request.objective != Objective::Targets || request.noise.is_normal() {
            return Tails::default();
        }
        let sums = planned.sums.iter().flat_map(|s| &s.aimed).map(Aimed::tail).collect();
        Tails { counts: tails::tails(request, planned), sums }
    }

    fn differ(&self, other: &Tails) -> bool {
        let differs = |(i, tail): (usize, &f64), other: &[f64]| {
            (tail / other.get(i).unwrap_or(&1.0) - 1.0).abs() > 2e-3
        };
        self.counts.iter().enumerate().any(|t| differs(t, &other.counts))
            || self.sums.iter().enumerate().any(|t| differs(t, &other.sums))
    }
}

/// The plan of one channel. Bases are for what more than cells is asked of; elsewhere differences of siblings are the best there is.
fn alone(request: &Request, measure: Measure) -> Result<Planned, PlanError> {
    let cells = request.workload.iter().all(|t| t.asks.is_cells());
    single(request, if cells && measure == Measure::Bases { Measure::Residual } else { measure })
}

/// All channels, with their parts of the budget.
fn shared_out(
    request: &Request,
    measure: Measure,
    budget: Rational,
    tails: &Tails,
) -> Result<Planned, PlanError> {
    let overflow = || PlanError::Cost(CostError::Overflow(0));
    let one = |part: &Part, budget: Rational| alone(&Request { budget, ..part.request.clone() }, measure);
    let mut parts = parts(request, budget);
    // A file has one list of levels for all that is measured, and those of halves follow from what is asked of counts.
    if parts.iter().any(|part| measure.refines(&part.request.workload)) {
        return Err(PlanError::NotApplicable(measure.name(), NotApplicable::SumsOfHalves));
    }
    // What each costs in error at the whole budget, and its share by that.
    let power = if request.noise == Noise::Gaussian { 1.0 / 2.0 } else { 1.0 / 3.0 };
    let (mut roots, mut needs, mut counted) = (vec![0.0; parts.len()], vec![0.0; parts.len()], Vec::new());
    // What sums want of their own depends on how well counts are told.
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&i| {
        parts.get(i).is_some_and(|p| !matches!(p.subject, Subject::Rows | Subject::Valued(_)))
    });
    for i in order {
        let part = &mut parts[i];
        aims::aim(request, tails, part, &counted).ok_or_else(overflow)?;
        let planned = one(part, budget)?;
        let (_, more) = scaled(request, part, &planned, budget)?;
        let dearer = growth(request.noise, more);
        roots[i] = libm::pow(in_wide_noise(part, &planned)?.weighted_total * dearer, power);
        if request.objective != Objective::Total {
            let need = shares::need(request, measure, part, budget, &planned)?;
            needs[i] = need.share;
            counted.extend(need.counted);
        }
    }
    let shares = shares::shares(request, &needs, &roots);
    let mut left = PARTS;
    let mut planned = Vec::with_capacity(parts.len());
    for (i, (part, share)) in parts.iter().zip(&shares).enumerate() {
        let after = (parts.len() - 1 - i) as u128;
        let own = libm::round(share * PARTS as f64) as u128;
        let own = if after == 0 { left } else { own.clamp(1, left.saturating_sub(after).max(1)) };
        left = left.saturating_sub(own);
        let share = Rational::new(own, PARTS).ok_or_else(overflow)?;
        let own = budget.checked_mul(share).ok_or_else(overflow)?;
        planned.push((part, share, own, one(part, own)?));
    }
    together(request, measure, planned)
}

/// By what variances grow where scales grow so many times.
fn growth(noise: Noise, times: f64) -> f64 {
    if noise == Noise::Gaussian { times } else { times * times }
}

/// Noise of so large a scale differs from a continuous law by nothing that matters here.
const WIDE: f64 = 256.0;

/// A part's errors at its budget, as noise of many steps would have them: what scales with the budget. Noise of a step or less all but vanishes, as if it cost
/// nothing; a share of the budget by that would be next to none, and the noise at such a share large.
fn in_wide_noise(part: &Part, planned: &Planned) -> Result<Prediction, PlanError> {
    let scales = planned.plan.rows().measurements.iter().map(|m| m.scale.to_f64());
    let times = (scales.fold(f64::INFINITY, f64::min) / WIDE).min(1.0);
    Ok(predict_at(&part.request, &planned.plan, times)?.scaled(growth(planned.plan.noise, times)))
}

/// The error of a part's sums, in squares of what is added up: under the noise that its own rows' reach needs, whose steps are no larger than those of counts,
/// `more` times as large as that.
fn predicted(part: &Part, planned: &Planned, more: f64) -> Result<Prediction, PlanError> {
    let overflow = || PlanError::Cost(CostError::Overflow(0));
    let times = planned.plan.noise.powered(part.subject.most(1)).ok_or_else(overflow)?;
    predict_at(&part.request, &planned.plan, 1.0 / (times as f64 * more))
}

/// A part's channel with the noise that its own rows' reach needs, within its part of the budget; and how many times as large its scales are beside those of
/// counts. Under `substitute` a value may go from one end to the other, or go away, which costs more than a row that goes from cell to cell.
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
    Ok((alone.channels.swap_remove(0), used))
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
        measure,
        channels: Vec::new(),
        exact: request.exact.clone(),
        ..first.plan.clone()
    };
    let mut sums: Vec<SumSpread> = Vec::new();
    let mut prediction = Prediction::default();
    // Rows come first in a file, also where nobody asks for them.
    if parts.iter().all(|(part, ..)| part.subject != Subject::Rows) {
        plan.channels.push(Channel::rows(Vec::new(), Vec::new()));
    }
    for (part, share, own, planned) in parts {
        if planned.plan.levels != plan.levels {
            return Err(PlanError::NotApplicable(measure.name(), NotApplicable::Sums));
        }
        let (mut channel, more) = scaled(request, part, &planned, own)?;
        // What is planned for may be weighed otherwise than it was asked for.
        channel.workload.clone_from(&part.asked);
        if part.subject != Subject::Rows {
            channel.exact.clone_from(&part.request.exact);
        }
        if part.subject == Subject::Rows {
            let weighted_total = weighed(&part.asked, &planned.prediction);
            prediction = Prediction { weighted_total, ..planned.prediction };
        } else {
            let found = predicted(part, &planned, more)?;
            let reach = part.subject.most(1) as f64;
            let weighted_total = weighed(&part.asked, &found) / (reach * reach);
            let tables = part.asked.iter().cloned();
            let tables = tables.zip(found.tables.iter().map(|s| (s.mean, s.max))).collect();
            let subject = part.subject.clone();
            sums.push(SumSpread { subject, tables, share, weighted_total, aimed: Vec::new() });
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
    let mut planned =
        Planned { plan, cost, prediction, certificate: None, ratio: None, care: Arc::default(), sums };
    let aimed = reached::margins(request, &planned);
    planned.sums.iter_mut().zip(aimed).for_each(|(sums, aimed)| sums.aimed = aimed);
    planned.ratio = reached::reached(request, &planned);
    Ok(planned)
}

/// The weighted total variance of what was asked for.
fn weighed(asked: &[Table], found: &Prediction) -> f64 {
    let each = asked.iter().zip(&found.tables).zip(&found.asked);
    each.map(|((table, spread), queries)| table.weight.to_f64() * queries * spread.mean).sum()
}
