//! Targets: which a plan meets, and the least budget that would meet them all.
//!
//! Components measured one by one for the objective `targets` need the `K/2` of [`super::minimax`] and what care for the other tables
//! asks for, with a certified lower bound. All other plans keep their shape: their noise shrinks as the budget grows, so the least budget
//! at which the predicted margins meet every target follows from the worst of them, or is found by bisection on the budget.

#[cfg(test)]
mod tests;

use super::alternate;
use super::choice::plan;
use super::context::Context;
use super::objective::{MET, Objective, keeps};
use super::planned::{PlanError, Planned};
use super::request::Request;
use super::search::single;
use super::strategy::{self, Ask};
use super::tails::{exact_margins, normal_ratio, wanted};
use crate::answer::Evaluator;
use crate::exact::Rational;
use crate::plan::copies::MOST_LAWS;
use crate::plan::{BudgetRule, Measure, Measurement, Plan, Target, round};
use std::sync::Arc;

/// One table and its target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// The number of the table in the workload, or among those of sums.
    pub table: usize,
    /// Of sums the number of the channel among [`Planned::sums`](super::planned::Planned).
    pub(crate) sums: Option<usize>,
    /// The half-width asked for.
    pub wanted: f64,
    /// The probability with which intervals cover the truth.
    pub level: f64,
    /// The half-width of the worst cell's interval that the plan promises.
    pub predicted: f64,
    /// Whether the plan meets the target.
    pub met: bool,
}

/// The least budget that meets every target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Least {
    /// In the plan's own currency: nine digits, rounded up, and tried out. In the same spec instead of the budget it meets every target.
    pub budget: Rational,
    /// A proof that no smaller budget than this does, for strategies that have one.
    pub bound: Option<f64>,
}

/// What a plan makes of its targets.
#[derive(Debug, Clone, PartialEq)]
pub struct Targets {
    /// Every table with a target, in the workload's order.
    pub outcomes: Vec<Outcome>,
    /// With the objective `targets`: how many times the standard error that the objective `total` would give it the worst-off table
    /// without a target has; at most [`super::objective::CARE`], but for rounding. `None` when there is no such table.
    pub others: Option<f64>,
    /// `None` when no budget that can be drawn meets them.
    pub least: Option<Least>,
}

fn outcomes(request: &Request, planned: &Planned) -> Vec<Outcome> {
    let request = request.over(planned.plan.measure);
    let exact = exact_margins(&request, planned, |_| true);
    wanted(&request)
        .zip(exact)
        .map(|((table, target), exact)| {
            // Gaussian plans are made for a variance; the law of theirs is that normal to all digits that matter.
            let normal = || normal_ratio(planned, (table, target)).sqrt() * target.margin.to_f64();
            let (predicted, wanted) = (exact.unwrap_or_else(normal), target.margin.to_f64());
            let level = target.level.to_f64();
            Outcome { table, sums: None, wanted, level, predicted, met: keeps(wanted, predicted) }
        })
        .chain(of_sums(planned))
        .collect()
}

/// How many of the targets a copy keeps, its centre included. `None` where there are none, or more than laws are looked for, or one takes long to find.
pub(crate) fn kept(request: &Request, plan: &Plan) -> Option<usize> {
    let request = request.over(plan.measure);
    let counts = wanted(&request).filter_map(|(t, target)| Some((&request.workload.get(t)?.cuboid, target)));
    let counts: Vec<_> = counts.collect();
    let sums: Vec<_> = request.sums.iter().map(|s| (&s.quantity, s.aims().collect::<Vec<_>>())).collect();
    let each = counts.iter().map(|c| c.1).chain(sums.iter().flat_map(|(_, of)| of.iter().map(|s| s.1)));
    let each: Vec<Target> = each.collect();
    if each.is_empty() || each.len() > MOST_LAWS {
        return None;
    }
    let halves = Evaluator::half_widths(&request.cube, plan, &counts, &sums);
    let met = |(target, half): (&Target, Option<f64>)| Some(keeps(target.margin.to_f64(), half?));
    each.iter().zip(halves).map(met).try_fold(0, |n, met| Some(n + usize::from(met?)))
}

/// The same of sums.
fn of_sums(planned: &Planned) -> impl Iterator<Item = Outcome> {
    planned.sums.iter().enumerate().flat_map(|(i, sums)| {
        sums.aimed.iter().map(move |a| {
            let (wanted, level, predicted) = (a.target.margin.to_f64(), a.target.level.to_f64(), a.margin);
            let met = keeps(wanted, predicted);
            Outcome { table: a.table, sums: Some(i), wanted, level, predicted, met }
        })
    })
}

/// Judges a plan by the request's targets. `None` when there are none.
pub fn targets(request: &Request, planned: &Planned) -> Result<Option<Targets>, PlanError> {
    let all = request.sums.iter().flat_map(|s| &s.targets).chain(&request.targets);
    if all.into_iter().all(Option::is_none) {
        return Ok(None);
    }
    let outcomes = outcomes(request, planned);
    let others = planned.others(request);
    // What is said of components is said of those of `residual`.
    let shaped = planned.plan.measure == Measure::Residual
        && request.objective == Objective::Targets
        && planned.plan.budgets == BudgetRule::Optimal
        && request.sums.is_empty();
    if !shaped {
        let least = by_scaling(request, planned, &outcomes);
        return Ok(Some(Targets { outcomes, others, least }));
    }
    let context = Context::new(request, planned.plan.measure)?;
    // Of the whole budget the tables get a part.
    let part = request.for_tables().map_or(1.0, Rational::to_f64);
    let (frame, closure) = (&context.frame, &context.closure);
    let ask = Ask { request, frame, closure, budgets: BudgetRule::Optimal };
    let least = strategy::linearised_components(&ask)
        .ok()
        .and_then(|mut linearised| linearised.least_budget(request))
        .and_then(|(budget, bound)| {
            // Of 2ρ.
            let [rho, bound] = [budget, bound].map(|b| b / (2.0 * part));
            Some(Least { budget: tried(request, rho)?, bound: Some(bound) })
        });
    Ok(Some(Targets { outcomes, others, least }))
}

/// The same tables for another budget: what they are worth does not depend on the budget, but for the noise being whole numbers. Of counts and
/// sums, and of what is not whole tables, a plan of the same strategy.
fn again(request: &Request, planned: &Planned, budget: Rational) -> Option<Planned> {
    let mut at = request.clone();
    at.budget = budget;
    if !request.sums.is_empty() {
        (at.measure, at.budgets) = (Some(planned.plan.measure), planned.plan.budgets);
        return plan(&at).ok();
    }
    if !alternate::fits(&planned.plan.rows().measurements) {
        at.budgets = planned.plan.budgets;
        return single(&at, planned.plan.measure).ok();
    }
    let times = request.budget.to_f64() / budget.to_f64();
    at.care = planned.care.iter().map(|kept| kept * of_variance(planned, times)).collect();
    let context = Context::new(&at, planned.plan.measure).ok()?;
    let scaled =
        |m: &Measurement| Some(Measurement { scale: round::up(m.scale.to_f64() * times)?, ..m.clone() });
    let start: Vec<Measurement> =
        planned.plan.rows().measurements.iter().map(scaled).collect::<Option<_>>()?;
    let same = context.finish(planned.plan.measure, planned.plan.budgets, start.clone(), None).ok();
    let turned = (planned.plan.budgets == BudgetRule::Optimal && at.objective == Objective::Targets)
        .then(|| context.alternated(planned.plan.measure, &start))
        .flatten();
    same.into_iter().chain(turned).min_by(|a, b| a.score(&at).total_cmp(&b.score(&at)))
}

/// By what variances grow with so many times the noise.
fn of_variance(planned: &Planned, times: f64) -> f64 {
    if planned.plan.noise.squares() { times } else { times * times }
}

/// Whether the same tables meet all targets with this budget.
fn meets(request: &Request, planned: &Planned, budget: Rational) -> bool {
    let Some(plan) = again(request, planned, budget) else { return false };
    let at = Request { budget, ..request.clone() };
    plan.careless(&at).is_none() && outcomes(&at, &plan).iter().all(|o| o.met)
}

/// The first budget of nine digits from `x` on that meets all targets when it is given: scales are rounded and fitted to the budget, so
/// that the computed least may miss them by a few parts in a million, and other tables may be found at another budget. It is tried as whoever gives
/// it does, by the request's own strategy and objective.
fn tried(request: &Request, x: f64) -> Option<Rational> {
    let given = |budget: Rational| {
        let at = Request { budget, care: Arc::default(), ..request.clone() };
        plan(&at).is_ok_and(|plan| outcomes(&at, &plan).iter().all(|o| o.met))
    };
    (0..14)
        .map(|i| if i == 0 { x } else { x * (1.0 + 1e-8 * f64::from(1 << (2 * i))) })
        .filter_map(nine_digits)
        .find(|&budget| given(budget))
}

/// The least decimal number of nine digits that is not below `x`.
fn nine_digits(x: f64) -> Option<Rational> {
    let text = format!("{x:.8e}");
    let (mantissa, exponent) = text.split_once('e')?;
    let exponent = exponent.parse::<i32>().ok()? - 8;
    let digits: u64 = mantissa.replace('.', "").parse().ok()?;
    (digits..=digits + 1)
        .filter_map(|d| format!("{d}e{exponent}").parse::<Rational>().ok())
        .find(|r| r.to_f64() >= x)
}

/// By how much the worst margin is off its target. Noise in whole numbers may leave no margin at all, which says nothing of a smaller budget:
/// it counts as a hundredth.
fn off(outcomes: &[Outcome]) -> f64 {
    outcomes.iter().map(|o| o.predicted / o.wanted).fold(0.01, f64::max)
}

/// The least budget for plans of whole tables. A budget that does not suffice makes a plan as precise as it can be by the targets, and what it
/// lacks says how much more is needed, but for rounding: so such a plan is asked for first. With `auto` that is the best of all
/// strategies; near the least budget of one another may be better.
fn by_scaling(request: &Request, planned: &Planned, outcomes: &[Outcome]) -> Option<Least> {
    let noise = planned.plan.noise;
    let mut at = request.clone();
    let mut tight = planned.clone();
    let mut worst = off(outcomes);
    let shaped = request.objective == Objective::Targets && request.budgets == BudgetRule::Optimal;
    for _ in 0..4 {
        let enough = at.budget.to_f64() * noise.power(worst);
        if worst > 1.0 + MET || !shaped {
            break;
        }
        // Out of reach, and not by far.
        let Some((poorer, plan)) = planned_with(&at, 0.7 * enough) else { break };
        (at, tight) = (poorer, plan);
        worst = off(&self::outcomes(&at, &tight));
    }
    let mut least = scaled(&at, &tight, worst)?;
    let rounds = if shaped && request.measure.is_none() { 3 } else { 0 };
    for _ in 0..rounds {
        let Some((at, plan)) = planned_with(request, NEARER * least) else { break };
        let worst = off(&self::outcomes(&at, &plan));
        if plan.plan.measure == tight.plan.measure && worst > 1.0 + MET {
            break;
        }
        let other = scaled(&at, &plan, worst);
        let Some(other) = other.filter(|other| *other < least) else { break };
        (least, tight) = (other, plan);
    }
    Some(Least { budget: tried(request, least)?, bound: None })
}

/// How far below a least budget it is looked whether another strategy is better there.
const NEARER: f64 = 0.985;

/// The request with another budget, and its plan.
fn planned_with(request: &Request, budget: f64) -> Option<(Request, Planned)> {
    let at = Request { budget: nine_digits(budget)?, ..request.clone() };
    let planned = plan(&at).ok()?;
    Some((at, planned))
}

/// The least budget at which a plan's tables meet all targets, by a plan whose worst margin is so far off.
fn scaled(at: &Request, tight: &Planned, worst: f64) -> Option<f64> {
    let enough = at.budget.to_f64() * tight.plan.noise.power(worst);
    // The law of whole-number noise is not quite that of another scale. A plan of counts and sums is many plans.
    let fine = if at.sums.is_empty() { 1e-6 } else { 2.5e-4 };
    let meets = |x: f64| nine_digits(x).is_some_and(|b| meets(at, tight, b));
    let mut step = fine;
    let mut high = enough;
    while !meets(high) {
        high *= 1.0 + step;
        step *= 4.0;
        if step > 1e3 {
            return None;
        }
    }
    let mut low = high / (1.0 + step);
    if high == enough {
        step = fine;
        low = high;
        while meets(low) {
            high = low;
            low /= 1.0 + step;
            step *= 4.0;
            if step > 1e3 {
                return None;
            }
        }
    }
    while high / low > 1.0 + 10.0 * fine {
        let middle = (low * high).sqrt();
        if meets(middle) { high = middle } else { low = middle }
    }
    Some(high)
}
