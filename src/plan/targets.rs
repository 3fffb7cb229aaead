//! Targets: which a plan meets, and the least budget that would meet them all.
//!
//! Components measured one by one need exactly the `K/2` of [`super::minimax`], with a certified lower bound. Plans
//! of whole tables get a one-dimensional search instead: their noise shrinks as the budget grows, so the least
//! budget at which the predicted margins meet every target is found by bisection on the budget.

use super::objective::{self, MET};
use super::{Block, Context, PlanError, Planned, Request};
use crate::answer::Evaluator;
use crate::exact::Rational;
use crate::plan::round;
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
    /// In the plan's own currency, rounded up.
    pub budget: Rational,
    /// A proof that no smaller budget than this does, for strategies that have one.
    pub bound: Option<f64>,
}

/// What a plan makes of its targets.
#[derive(Debug, Clone, PartialEq)]
pub struct Targets {
    /// Every table with a target, in the workload's order.
    pub outcomes: Vec<Outcome>,
    /// `None` when no budget that can be drawn meets them.
    pub least: Option<Least>,
}

/// A source of nothing: predictions read no measurement.
struct Nothing;

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
    let laplace = planned.plan.noise == super::Noise::Laplace;
    let exact = (laplace && wanted().count() <= EXACT_LAWS)
        .then(|| Recovery::new(request.cube.clone(), planned.plan.clone(), Nothing).ok().map(Evaluator::new))
        .flatten();
    wanted()
        .filter_map(|(table, target)| {
            let spread = planned.prediction.tables.get(table)?;
            let level = target.level.to_f64();
            let law =
                exact.as_ref().and_then(|e| e.worst_cell_law(&request.workload.get(table)?.cuboid).ok());
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
    let components = planned.plan.measurements.iter().all(|m| matches!(m.block, Block::Component(_)));
    let least = if components {
        let context = Context::new(request, planned.plan.measure)?;
        let prices = super::strategy::component_prices(request, &context.frame, &context.closure);
        // Of the whole budget the tables get a part.
        let part = request.for_tables().map_or(1.0, Rational::to_f64);
        prices.ok().and_then(|prices| objective::least_rho(request, &context.closure, &prices)).and_then(
            |(rho, bound)| {
                Some(Least { budget: round::up(rho / part * (1.0 + MET))?, bound: Some(bound / part) })
            },
        )
    } else {
        by_bisection(request, planned)
    };
    Ok(Some(Targets { outcomes, least }))
}

/// The least budget at which the same strategy meets all targets.
fn by_bisection(request: &Request, planned: &Planned) -> Option<Least> {
    let meets = |budget: Rational| -> bool {
        let mut at = request.clone();
        at.budget = budget;
        let Ok(context) = Context::new(&at, planned.plan.measure) else { return false };
        let Ok(plan) = context.plan(planned.plan.measure, planned.plan.budgets) else { return false };
        outcomes(&at, &plan).iter().all(|o| o.met)
    };
    let start = request.budget.to_f64();
    // A factor of two on whichever side the answer is.
    let mut high = start;
    let up = !meets(round::up(high)?);
    loop {
        let next = if up { high * 2.0 } else { high / 2.0 };
        let met = meets(round::up(next)?);
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
        if meets(round::up(middle)?) { high = middle } else { low = middle }
    }
    Some(Least { budget: round::up(high)?, bound: None })
}
