//! Which strategy is taken, and which others were looked at.

use super::answering::best;
use super::chosen::{Choice, Look};
use super::planned::{Candidate, PlanError, Planned};
use super::request::Request;
use super::search::{compare, single};
use super::sums;
use crate::plan::BudgetRule;
use std::sync::Arc;

/// The plan for a request: see [`choose`].
pub fn plan(request: &Request) -> Result<Planned, PlanError> {
    choose(request, Look::Needed).map(|choice| Arc::unwrap_or_clone(choice.planned))
}

/// The plan for a request: the strategy asked for, or of all that apply the one that is best by its objective
/// (the weighted total variance, by default). The choice looks at the workload only, so it costs no privacy.
pub(crate) fn choose(request: &Request, look: Look) -> Result<Choice, PlanError> {
    let found = if request.sums.is_empty() { search(request, look) } else { sums::choose(request, look) };
    // A search that was stopped has found something, or nothing: nobody may take it for the best.
    if request.watch.is_stopped() { Err(PlanError::Stopped) } else { found }
}

fn search(request: &Request, look: Look) -> Result<Choice, PlanError> {
    if let (true, Some(rows)) = (request.workload.is_empty(), &request.rows) {
        return super::questions::choose(request, rows);
    }
    let candidates = match (request.measure, look) {
        (Some(measure), Look::Needed) => {
            let outcome = Ok(Arc::new(single(request, measure)?));
            vec![Candidate { measure, budgets: request.budgets, outcome, vast: false }]
        }
        (None, Look::Needed) => compare(request, &[request.budgets])?,
        (_, Look::Everywhere) => compare(request, &BudgetRule::ALL)?,
    };
    match picked(request, &candidates) {
        Some((chosen, planned)) => Ok(Choice::new(planned, candidates, chosen)),
        None => Err(refusal(request, candidates.iter().filter(|c| c.is_wanted(request)))),
    }
}

/// The best of those that were asked for, and its number.
pub(super) fn picked(request: &Request, candidates: &[Candidate]) -> Option<(usize, Arc<Planned>)> {
    let chosen = best(request, candidates.iter().enumerate().filter(|(_, c)| c.is_wanted(request)))?;
    Some((chosen, candidates.get(chosen)?.outcome.as_ref().ok()?.clone()))
}

/// Why none of those that were wanted is a plan.
fn refusal<'a>(request: &Request, candidates: impl Iterator<Item = &'a Candidate>) -> PlanError {
    let reasons: Vec<&PlanError> = candidates.filter_map(|c| c.outcome.as_ref().err()).collect();
    match (request.measure, &reasons[..]) {
        (Some(_), [own, ..]) => (*own).clone(),
        // What is wrong with the budget is wrong with all.
        (None, all) if all.iter().any(|e| matches!(e, PlanError::Budget(_))) => {
            PlanError::Budget(request.budget)
        }
        (None, all) => {
            let all: Vec<String> = all.iter().map(|e| e.to_string()).collect();
            PlanError::NothingApplies(all.join("; "))
        }
        (Some(_), []) => PlanError::NoTables,
    }
}
