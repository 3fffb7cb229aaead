//! Targets: which a plan meets, and the least budget that would meet them all.
//!
//! Components measured one by one for the objective `targets` need the `K/2` of [`super::minimax`] and what care for the other tables
//! asks for, with a certified lower bound. All other plans keep their shape: their noise shrinks as the budget grows, so the least budget
//! at which the predicted margins meet every target follows from the worst of them, or is found by bisection on the budget.

use super::objective::{self, MET, Objective};
use super::strategy::{self, Ask};
use super::{Context, PlanError, Planned, Request, worst};
use crate::answer::Evaluator;
use crate::exact::Rational;
use crate::plan::{BudgetRule, Form};
use crate::recover::{Recovery, Source, SourceError};

/// One table and its target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// The number of the table in the workload.
    pub table: usize,
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
    /// without a target has; at most [`objective::CARE`], but for rounding. `None` when there is no such table.
    pub others: Option<f64>,
    /// `None` when no budget that can be drawn meets them.
    pub least: Option<Least>,
}

/// A source of nothing: predictions read no measurement.
pub struct Nothing;

impl Source for Nothing {
    fn values(&self, _: usize) -> Result<Vec<i64>, SourceError> {
        Err(SourceError("a plan has no measurements".into()))
    }
}

/// Exact laws are worked out one by one for up to so many targets; with more, normal ones.
const EXACT_LAWS: usize = 64;

fn outcomes(request: &Request, planned: &Planned) -> Vec<Outcome> {
    let request = request.over(planned.plan.measure);
    let wanted = || request.targets.iter().enumerate().filter_map(|(t, target)| Some((t, (*target)?)));
    let laplace = planned.plan.noise == crate::plan::Noise::Laplace;
    let exact = (laplace && wanted().count() <= EXACT_LAWS)
        .then(|| Recovery::new(request.cube.clone(), planned.plan.clone(), Nothing).ok().map(Evaluator::new))
        .flatten();
    wanted()
        .filter_map(|(table, target)| {
            let spread = planned.prediction.tables.get(table)?;
            let level = target.level.to_f64();
            let asked = request.workload.get(table);
            let law = exact.as_ref().zip(asked).and_then(|(e, t)| worst::law(e, &request, &planned.plan, t));
            // Gaussian plans are made for a variance; the law of theirs is that normal to all digits that matter.
            let normal = (spread.max / target.variance()).sqrt() * target.margin.to_f64();
            let predicted = law.map_or(normal, |law| law.half_width(level));
            let wanted = target.margin.to_f64();
            Some(Outcome { table, wanted, level, predicted, met: predicted <= wanted * (1.0 + MET) })
        })
        .collect()
}

/// Judges a plan by the request's targets. `None` when there are none.
pub fn targets(request: &Request, planned: &Planned) -> Result<Option<Targets>, PlanError> {
    if request.targets.iter().all(Option::is_none) {
        return Ok(None);
    }
    let outcomes = outcomes(request, planned);
    let components = planned.plan.measurements.iter().all(|m| m.block.form() == Form::Component);
    let shaped =
        components && request.objective == Objective::Targets && planned.plan.budgets == BudgetRule::Optimal;
    if !shaped {
        let least = by_bisection(request, planned, &outcomes);
        return Ok(Some(Targets { outcomes, others: None, least }));
    }
    let context = Context::new(request, planned.plan.measure)?;
    // Of the whole budget the tables get a part.
    let part = request.for_tables().map_or(1.0, Rational::to_f64);
    let (frame, closure) = (&context.frame, &context.closure);
    let ask = Ask { request, frame, closure, budgets: BudgetRule::Optimal };
    let least = strategy::component_prices(&ask)
        .ok()
        .and_then(|(price, gain)| objective::least_rho(request, ask.closure, &price, &gain))
        .and_then(|(rho, bound)| {
            Some(Least { budget: tried(request, planned, rho / part)?, bound: Some(bound / part) })
        });
    Ok(Some(Targets { outcomes, others: others(request, planned), least }))
}

/// How much the tables without a target give up for the others' targets.
fn others(request: &Request, planned: &Planned) -> Option<f64> {
    let total = Request { objective: Objective::Total, ..request.clone() };
    let free = Context::new(&total, planned.plan.measure).ok()?;
    let free = free.plan(planned.plan.measure, planned.plan.budgets).ok()?;
    let pairs = planned.prediction.tables.iter().zip(&free.prediction.tables).enumerate();
    let without = pairs.filter(|&(t, (_, free))| request.target_variance(t).is_none() && free.max > 0.0);
    without.map(|(_, (own, free))| (own.max / free.max).sqrt()).reduce(f64::max)
}

/// Whether the same strategy meets all targets with this budget.
fn meets(request: &Request, planned: &Planned, budget: Rational) -> bool {
    let mut at = request.clone();
    at.budget = budget;
    let Ok(context) = Context::new(&at, planned.plan.measure) else { return false };
    let Ok(plan) = context.plan(planned.plan.measure, planned.plan.budgets) else { return false };
    outcomes(&at, &plan).iter().all(|o| o.met)
}

/// The first budget of nine digits from `x` on that meets all targets when it is given: scales are rounded and fitted to the budget, so
/// that the computed least may miss them by a few parts in a million.
fn tried(request: &Request, planned: &Planned, x: f64) -> Option<Rational> {
    (0..12)
        .map(|i| if i == 0 { x } else { x * (1.0 + 1e-8 * f64::from(1 << (2 * i))) })
        .filter_map(nine_digits)
        .find(|&budget| meets(request, planned, budget))
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

/// The least budget at which the same strategy meets all targets. With Gaussian noise every variance falls as 1/ρ, which says it
/// at once; margins of Laplace noise are searched.
fn by_bisection(request: &Request, planned: &Planned, outcomes: &[Outcome]) -> Option<Least> {
    if planned.plan.noise == crate::plan::Noise::Gaussian {
        let worst = outcomes.iter().map(|o| o.predicted / o.wanted).fold(0.0, f64::max);
        if let Some(budget) = tried(request, planned, request.budget.to_f64() * worst * worst) {
            return Some(Least { budget, bound: None });
        }
    }
    let meets = |budget: f64| nine_digits(budget).is_some_and(|b| meets(request, planned, b));
    let start = request.budget.to_f64();
    // A factor of two on whichever side the answer is.
    let mut high = start;
    let up = !meets(high);
    loop {
        let next = if up { high * 2.0 } else { high / 2.0 };
        let met = meets(next);
        if up == met {
            high = high.max(next);
            break;
        }
        high = next;
        if !(start * 1e-9..=start * 1e9).contains(&high) {
            return None;
        }
    }
    let mut low = high / 2.0;
    while high / low > 1.0 + 1e-4 {
        let middle = (low * high).sqrt();
        if meets(middle) { high = middle } else { low = middle }
    }
    Some(Least { budget: tried(request, planned, high)?, bound: None })
}
