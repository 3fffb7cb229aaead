//! The plan for a budget in (ε, δ): the largest ρ found that the law of the plan's own loss allows, and not what a conversion leaves of it.
//!
//! **Guarantee.** A plan that is returned has δ(ε) within the budget by [`Losses::within`], computed of its own scales, or costs no more than the ρ
//! that [`convert::largest_rho`] gives. **Proof.** Whatever was tried on the way: only that is asked of what is returned. δ does not
//! always grow with ρ where steps of the noise are coarse, so that the search proves nothing.
//!
//! Of most plans the law is that of continuous noise to seven digits, and the first plan that is made is the one.

use super::choice::{choose, picked};
use super::chosen::{Choice, Look};
use super::planned::{Candidate, PlanError, Planned};
use super::request::Request;
use crate::cube::Frame;
use crate::exact::Rational;
use crate::plan::{Losses, Neighbours, Plan, convert};
use margins_law::loss::Loss;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How far below the limit of continuous noise the first plan stays: what is added to δ in proving it.
const BELOW: f64 = 1e-7;
/// Plans that are made before the conversion's ρ is taken.
const MOST_PLANS: usize = 4;
/// With less than this part of its δ spent, a plan is made for more.
const MUCH_LEFT: f64 = 0.8;
/// Steps of the search for a ρ, and how far apart they are.
const STEPS: i32 = 24;
const APART: f64 = 0.01;
/// Plans of more blocks have laws that are close to that of continuous noise.
const FEW_BLOCKS: usize = 8;
/// Where laws are compared with it, and how close they must be for nothing to be found further up.
const PROBES: [f64; 5] = [1.0, 1.1, 1.3, 1.6, 2.0];
const SMOOTH: f64 = 0.02;
/// The most values of the loss that are listed, those that are looked at, and steps of the search further up.
const MOST_VALUES: usize = 4096;
const MOST_LOOKS: usize = 128;
const FAR: i32 = 80;

/// [`choose`], for a request whose budget is the ρ that (ε, δ) convert to: with a larger one where the plan's own law allows that.
///
/// Where several strategies are looked at, each has the ρ that its own law allows it.
pub(crate) fn choose_within(
    request: &Request,
    look: Look,
    budget: (Rational, Rational),
) -> Result<Choice, PlanError> {
    let found = match more(&Request { with_law: true, ..request.clone() }, look, budget) {
        Some(proved) => Ok(beside(request, look, proved, budget)),
        None => choose(request, look),
    };
    // One that was stopped on its way has not looked everywhere.
    if request.watch.is_stopped() { Err(PlanError::Stopped) } else { found }
}

/// What was proved, or what has no law where that is better at the conversion's ρ: weights where groups differ in size, and rows for all that is asked together.
fn beside(request: &Request, look: Look, mut proved: Choice, budget: (Rational, Rational)) -> Choice {
    let plan = &proved.planned.plan;
    let is_alike = Frame::new(&request.over(plan.measure).cube, &plan.levels).is_balanced()
        && !request.weighs_cells()
        && request.workload.iter().all(|t| t.asks.is_cells());
    if is_alike {
        return proved;
    }
    let Ok(others) = choose(request, look) else { return proved };
    let mut candidates = proved.candidates.clone();
    let score = |c: &Candidate| c.outcome.as_ref().map_or(f64::INFINITY, |planned| planned.score(request));
    for other in others.candidates {
        match candidates.iter_mut().find(|c| (c.measure, c.budgets) == (other.measure, other.budgets)) {
            Some(own) if score(&other) < score(own) => *own = other,
            Some(_) => {}
            None => candidates.push(other),
        }
    }
    match picked(request, &candidates) {
        Some((chosen, planned)) if planned.plan != proved.planned.plan => {
            // What was not the first before has not been asked for its law.
            if is_allowed(request, &planned, budget) {
                Choice::new(planned, candidates, chosen)
            } else {
                proved
            }
        }
        Some((chosen, _)) => {
            (proved.candidates, proved.chosen) = (candidates, chosen);
            proved
        }
        None => proved,
    }
}

/// A choice whose plan was proved; `None` where none was found above the conversion's ρ.
fn more(request: &Request, look: Look, budget: (Rational, Rational)) -> Option<Choice> {
    let plain =
        request.neighbours == Neighbours::AddRemove && request.max_rows == 1 && request.rows.is_none();
    if !plain || request.noise.is_pure() {
        return None;
    }
    let close = near(request, budget);
    let is_near = close.is_some();
    let mut first = close.or_else(|| choose(request, Look::Needed).ok())?;
    let (mut candidates, mut chosen) = match look {
        Look::Needed => (first.candidates.clone(), first.chosen),
        Look::Everywhere => {
            let wide =
                choose(&Request { budget: first.planned.plan.budget, ..request.clone() }, look).ok()?;
            (wide.candidates, wide.chosen)
        }
    };
    // The laws of what has more than the ρ that all had, by number.
    let mut moved: BTreeMap<usize, Losses> = BTreeMap::new();
    let own = |c: &Candidate| Request { measure: Some(c.measure), budgets: c.budgets, ..request.clone() };
    // What its law does not allow is planned as it is by its name.
    let by_name = |c: &Candidate| {
        let found = near(&own(c), budget);
        let found = found.map_or_else(|| choose(&Request { with_law: false, ..own(c) }, Look::Needed), Ok);
        found.map(|choice| choice.planned)
    };
    let mut is_changed = false;
    for (at, candidate) in candidates.iter_mut().enumerate() {
        let Ok(planned) = &candidate.outcome else { continue };
        let known = (planned.plan == first.planned.plan).then_some(&first);
        if let Some((planned, losses)) = further(&own(candidate), planned, known, budget) {
            candidate.outcome = Ok(planned);
            moved.insert(at, losses);
        } else if look == Look::Everywhere && known.is_none() && !is_allowed(request, planned, budget) {
            candidate.outcome = by_name(candidate);
            is_changed = true;
        }
    }
    is_changed |= !moved.is_empty();
    let mut planned = candidates.get(chosen)?.outcome.as_ref().ok()?.clone();
    loop {
        if is_changed {
            (chosen, planned) = picked(request, &candidates)?;
        }
        if let Some(losses) = moved.remove(&chosen) {
            return Some(Choice::new(planned, candidates, chosen).with(losses));
        }
        if !is_near && !is_changed {
            return None;
        }
        if planned.plan == first.planned.plan {
            (first.planned, first.candidates, first.chosen) = (planned, candidates, chosen);
            return Some(first);
        }
        if is_allowed(request, &planned, budget) {
            return Some(Choice::new(planned, candidates, chosen));
        }
        let candidate = candidates.get_mut(chosen)?;
        candidate.outcome = by_name(candidate);
        is_changed = true;
    }
}

/// Whether a plan's own law is within the budget. What is made for no more than the conversion's ρ needs none.
fn is_allowed(request: &Request, planned: &Planned, (epsilon, delta): (Rational, Rational)) -> bool {
    planned.plan.budget <= request.budget
        || losses(request, planned).is_some_and(|losses| losses.within(epsilon, delta))
}

/// One close to what continuous noise allows.
fn near(request: &Request, (epsilon, delta): (Rational, Rational)) -> Option<Choice> {
    let (e, d) = (epsilon.to_f64(), delta.to_f64());
    let limit = smooth(e, d)?;
    let mut rho = limit * (1.0 - BELOW);
    let mut proved = None;
    for _ in 0..MOST_PLANS {
        let Some(budget) = convert::down(rho).filter(|budget| *budget > request.budget) else { break };
        let larger = Request { budget, ..request.clone() };
        let Ok(choice) = choose(&larger, Look::Needed) else { break };
        let Ok(losses) = choice.losses(&larger.over(choice.planned.plan.measure).cube) else { break };
        if losses.within(epsilon, delta) {
            let spare = losses.fits(e, MUCH_LEFT * d);
            let next = spare.then(|| largest(losses, rho, (e, d), 1)).flatten();
            let next = next.filter(|next| *next > rho * (1.0 + 1e-6) && rho <= limit);
            proved = Some(choice);
            match next {
                Some(next) => rho = next,
                None => break,
            }
        } else if proved.is_some() {
            break;
        } else {
            // Other digits at another ρ: a hair less than was found.
            rho = largest(losses, rho, (e, d), -1)? * (1.0 - BELOW);
        }
    }
    proved
}

/// One far beyond that, where the noise has so few steps that its law is far from a continuous one: δ falls and rises as values of the loss pass ε.
///
/// It is least where a value that the loss often takes is just ε: scaled by `t`, the loss `ρ + x` is `t (ρ + x)`, as ρ and what a step of noise is worth, `1/s²`, grow
/// alike. So the plan's ρ is looked at times `ε/(ρ + x)` for sums `x` of such steps, and in small steps besides, the largest first.
///
/// The laws of `known`, if it is this plan, may be there already.
fn further(
    request: &Request,
    begin: &Planned,
    known: Option<&Choice>,
    (epsilon, delta): (Rational, Rational),
) -> Option<(Arc<Planned>, Losses)> {
    let plan = &begin.plan;
    let rho = begin.cost.total.to_f64();
    if plan.measured() > FEW_BLOCKS || !(rho > 0.0) {
        return None;
    }
    let own = match known {
        Some(choice) => choice.losses(&request.over(plan.measure).cube).ok()?.clone(),
        None => losses(request, begin)?,
    };
    let (e, d) = (epsilon.to_f64(), delta.to_f64());
    let is_smooth = |times: &f64| {
        let (own, smooth) = (own.scaled(1.0 / times), Loss::smooth(rho * times).delta(e).above);
        own.fits(e, smooth * (1.0 + SMOOTH)) && !own.fits(e, smooth * (1.0 - SMOOTH))
    };
    if PROBES.iter().all(is_smooth) {
        return None;
    }
    let within = |times: f64| own.scaled(1.0 / times).fits(e, d * (1.0 - 1e-6));
    let mut plans = 0;
    for times in looked_at(plan, rho, e).into_iter().filter(|times| within(*times)) {
        // As far up as goes from there.
        let (mut good, mut wide) = (times, 1e-6);
        while wide < APART && within(good * (1.0 + wide)) {
            good *= 1.0 + wide;
            wide *= 4.0;
        }
        let mut bad = good * (1.0 + wide);
        for _ in 0..8 {
            let middle = 0.5 * (good + bad);
            if within(middle) { good = middle } else { bad = middle }
        }
        let budget = convert::down(rho * good * (1.0 - BELOW)).filter(|budget| *budget > plan.budget)?;
        let larger = Request { budget, ..request.clone() };
        let planned = choose(&larger, Look::Needed).ok()?.planned;
        let losses = losses(&larger, &planned)?;
        if losses.within(epsilon, delta) {
            return Some((planned, losses));
        }
        plans += 1;
        if plans == MOST_PLANS {
            break;
        }
    }
    None
}

/// By how much the plan's ρ is multiplied, the largest first.
fn looked_at(plan: &Plan, rho: f64, epsilon: f64) -> Vec<f64> {
    let mut steps: Vec<f64> = plan.measurements().map(|m| 1.0 / m.scale.to_f64()).collect();
    steps.sort_by(|a, b| b.total_cmp(a));
    steps.dedup();
    let mut values = vec![rho];
    for step in steps {
        // With each value so far all that are some steps further up.
        let mut from = 0;
        while let Some(next) = values.get(from).map(|value| value + step) {
            if next <= epsilon && values.len() < MOST_VALUES {
                values.push(next);
            }
            from += 1;
        }
    }
    values.sort_by(|a, b| b.total_cmp(a));
    let at_values = values.into_iter().map(|value| epsilon / value * (1.0 - BELOW)).take(MOST_LOOKS);
    let grid = (1..=FAR).map(|k| libm::pow(1.0 + APART, f64::from(k)));
    let mut all: Vec<f64> = at_values.chain(grid).filter(|times| *times > 1.0 + 1e-6).collect();
    all.sort_by(|a, b| b.total_cmp(a));
    all.dedup_by(|b, a| *b > *a * (1.0 - 1e-9));
    all
}

/// The laws of a plan.
fn losses(request: &Request, planned: &Planned) -> Option<Losses> {
    let plan = &planned.plan;
    Losses::of(plan, &Frame::new(&request.over(plan.measure).cube, &plan.levels)).ok()
}

/// The ρ of continuous noise.
fn smooth(epsilon: f64, delta: f64) -> Option<f64> {
    let within = |rho: f64| Loss::smooth(rho).delta(epsilon).above <= delta;
    if !(epsilon > 0.0 && delta > 0.0 && delta < 1.0) {
        return None;
    }
    let (mut low, mut high) = (0.0, epsilon);
    while within(high) {
        (low, high) = (high, 2.0 * high);
        if !(high < 1e12) {
            return None;
        }
    }
    // The answer may be the square of ε.
    while high - low > 1e-10 * high {
        let middle = if low == 0.0 { high / 16.0 } else { 0.5 * (low + high) };
        if within(middle) {
            low = middle
        } else {
            high = middle
        }
        if high < 1e-30 {
            return None;
        }
    }
    Some(low)
}

/// Along the way from a plan's ρ up or down, by scaling its noises: the furthest up that is within, or the first down. `None` where there is none.
fn largest(losses: &Losses, rho: f64, (epsilon, delta): (f64, f64), way: i32) -> Option<f64> {
    let within = |times: f64| losses.scaled(1.0 / times).fits(epsilon, delta * (1.0 - 1e-6));
    let times = |step: i32| libm::pow(1.0 + APART, f64::from(way * step));
    let mut steps = 1..=STEPS;
    let mut good = if way > 0 {
        // Not the first that fails: δ may fall again.
        steps.rev().map(times).find(|t| within(*t))?
    } else {
        steps.find_map(|s| Some(times(s)).filter(|t| within(*t)))?
    };
    let mut bad = good * (1.0 + APART);
    for _ in 0..8 {
        let middle = 0.5 * (good + bad);
        if within(middle) { good = middle } else { bad = middle }
    }
    Some(rho * good)
}

#[cfg(test)]
mod tests;
