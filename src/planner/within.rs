//! The plan for a budget in (ε, δ): the largest ρ that the law of the plan's own loss allows, and not what a conversion leaves of it.
//!
//! **Guarantee.** A plan that is returned has δ(ε) within the budget by [`Losses::within`], computed of its own scales, or costs no more than the ρ
//! that [`convert::largest_rho`] gives. **Proof.** Whatever was tried on the way: only that is asked of what is returned. δ does not
//! always grow with ρ where steps of the noise are coarse, so that the search proves nothing.
//!
//! Of most plans the law is that of continuous noise to seven digits, and the first plan that is made is the one.

use super::choice::choose;
use super::chosen::{Choice, Look};
use super::planned::PlanError;
use super::request::Request;
use crate::exact::Rational;
use crate::plan::{Losses, Neighbours, convert};
use margins_law::loss::Loss;

/// How far below the limit of continuous noise the first plan stays: what is added to δ in proving it.
const BELOW: f64 = 1e-7;
/// Plans that are made before the conversion's ρ is taken.
const MOST_PLANS: usize = 4;
/// With less than this part of its δ spent, a plan is made for more.
const MUCH_LEFT: f64 = 0.8;
/// Steps of the search for a ρ, and how far apart they are.
const STEPS: i32 = 24;
const APART: f64 = 0.01;

/// [`choose`], for a request whose budget is the ρ that (ε, δ) convert to: with a larger one where the plan's own law allows that.
pub(crate) fn choose_within(
    request: &Request,
    look: Look,
    (epsilon, delta): (Rational, Rational),
) -> Result<Choice, PlanError> {
    let lawful = Request { with_law: true, ..request.clone() };
    let Some(mut proved) = more(&lawful, (epsilon, delta)) else { return choose(request, look) };
    if look == Look::Needed {
        return Ok(proved);
    }
    let larger = Request { budget: proved.planned.plan.budget, ..lawful };
    let choice = choose(&larger, look)?;
    if choice.planned.plan == proved.planned.plan {
        (proved.candidates, proved.chosen) = (choice.candidates, choice.chosen);
        return Ok(proved);
    }
    // A wider look has found another plan.
    let fits = losses(&larger, &choice).is_some_and(|losses| losses.within(epsilon, delta));
    if fits { Ok(choice) } else { choose(request, look) }
}

/// A plan that was proved; `None` where none was found above the conversion's ρ.
fn more(request: &Request, (epsilon, delta): (Rational, Rational)) -> Option<Choice> {
    let plain =
        request.neighbours == Neighbours::AddRemove && request.max_rows == 1 && request.rows.is_none();
    if !plain || request.noise.is_pure() {
        return None;
    }
    let (e, d, goal) = (epsilon.to_f64(), delta.to_f64(), Losses::goal(delta));
    let limit = smooth(e, d)?;
    let mut rho = limit * (1.0 - BELOW);
    let mut proved = None;
    for _ in 0..MOST_PLANS {
        let Some(budget) = convert::down(rho).filter(|budget| *budget > request.budget) else { break };
        let larger = Request { budget, ..request.clone() };
        let choice = choose(&larger, Look::Needed).ok()?;
        let losses = losses(&larger, &choice)?;
        let found = losses.at(epsilon);
        if found <= goal {
            let spare = found < MUCH_LEFT * goal;
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

/// The laws of a plan.
fn losses<'a>(request: &Request, choice: &'a Choice) -> Option<&'a Losses> {
    choice.losses(&request.over(choice.planned.plan.measure).cube).ok()
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
    let within = |times: f64| losses.scaled(1.0 / times).delta(epsilon) <= delta * (1.0 - 1e-6);
    let times = |step: i32| (1.0 + APART).powi(way * step);
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
