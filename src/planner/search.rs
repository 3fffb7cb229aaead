//! The best plan of each strategy.

use super::answering::best;
use super::context::{Context, Scene, for_tables};
use super::objective::{Certificate, Objective, is_coarse};
use super::planned::{Candidate, PlanError, Planned};
use super::strategy::{self, Ask, Measured, NotApplicable};
use super::{Request, predict};
use crate::cube::Cuboid;
use crate::plan::{BudgetRule, Measure, Plan, Seen, Table};
use crate::recover::gls::{self, Weighted};
use std::sync::Arc;

/// The most work that goes into predicting what one search has found, in steps on one number.
const MOST_WORK: f64 = (1u64 << 30) as f64;
/// The most that goes into predicting whole tables where nobody asked for just that strategy, and components measured one by one do as well or better.
const MOST_WAITED: f64 = (1u64 << 29) as f64;

/// The plan of one strategy.
pub(super) fn single(request: &Request, measure: Measure) -> Result<Planned, PlanError> {
    let second = second(request, measure);
    if !request.lacks_care() {
        let planned = Context::new(request, measure)?.plan(measure, request.budgets);
        return better(request, planned, second.as_ref(), measure, request.budgets);
    }
    if measure == Measure::Together {
        return Err(PlanError::NotApplicable(measure.name(), NotApplicable::NotTogether));
    }
    let total = request.of_total();
    let mut context = Context::new(&total, measure)?;
    let planned = context.plan(measure, request.budgets);
    let of_total = second.as_ref().map(Request::of_total);
    let least = better(&total, planned, of_total.as_ref(), measure, request.budgets)?;
    let caring = least.caring(request);
    context.turned_to(&caring);
    let planned = context.plan(measure, request.budgets);
    let second = second.map(|own| least.caring(&own));
    better(&caring, planned, second.as_ref(), measure, request.budgets)
}

/// The request as a strategy's second plan sees it.
fn second(request: &Request, measure: Measure) -> Option<Request> {
    request.at(&strategy::fewer(measure, request)?)
}

/// Of a plan and the one with fewer levels the better.
fn better(
    request: &Request,
    planned: Result<Planned, PlanError>,
    second: Option<&Request>,
    measure: Measure,
    budgets: BudgetRule,
) -> Result<Planned, PlanError> {
    let other = second.and_then(|own| Context::new(own, measure).ok()?.plan(measure, budgets).ok());
    match (planned, other.map(|other| other.of(request))) {
        (Ok(planned), Some(other)) if planned.score(request) <= other.score(request) => Ok(planned),
        (_, Some(other)) => Ok(other),
        (planned, None) => planned,
    }
}

/// Every known strategy under each of the given budget rules.
pub fn compare(request: &Request, budgets: &[BudgetRule]) -> Result<Vec<Candidate>, PlanError> {
    // What is wrong with the request is wrong with all.
    for_tables(request)?;
    // Most strategies use the same levels, and what stands on those is worked out once.
    let (total, caring);
    let mut contexts: Vec<Context> = Vec::new();
    if !request.lacks_care() {
        return each(request, strategy::compared(request, budgets), &mut contexts);
    }
    total = request.of_total();
    // What is taken care of is what whoever asks for the total would have, by strategies that have targets, too.
    let least = match request.measure {
        Some(measure) => Arc::new(single(&total, measure)?),
        None => {
            let measures = strategy::compared(request, &[request.budgets]);
            let all = each(&total, measures, &mut contexts)?;
            let at = best(&total, all.iter().enumerate());
            let Some(Ok(least)) = at.and_then(|i| Some(all.get(i)?.outcome.clone())) else { return Ok(all) };
            least
        }
    };
    caring = least.caring(request);
    contexts.iter_mut().for_each(|context| context.turned_to(&caring));
    each(&caring, strategy::compared(&caring, budgets), &mut contexts)
}

/// The plans of these strategies, each under its rules.
fn each<'a>(
    request: &'a Request,
    measures: Vec<(Measure, Vec<BudgetRule>)>,
    contexts: &mut Vec<Context<'a>>,
) -> Result<Vec<Candidate>, PlanError> {
    let mut candidates = Vec::new();
    for (measure, rules) in measures {
        let at = Scene::new(request, measure).map(|scene| {
            contexts.iter().position(|c| c.scene.is_like(&scene)).unwrap_or_else(|| {
                contexts.push(Context::of(scene));
                contexts.len() - 1
            })
        });
        let second = second(request, measure);
        for budgets in rules {
            if request.watch.is_stopped() {
                return Err(PlanError::Stopped);
            }
            let context = at.clone().map(|at| &contexts[at]);
            let planned = context.clone().and_then(|c| c.plan(measure, budgets));
            let outcome = better(request, planned, second.as_ref(), measure, budgets).map(Arc::new);
            let vast = context.is_ok_and(|c| outcome.as_ref().is_ok_and(|p| c.is_vast(&p.plan)));
            candidates.push(Candidate { measure, budgets, outcome, vast });
        }
    }
    Ok(candidates)
}

impl Context<'_> {
    fn is_vast(&self, plan: &Plan) -> bool {
        let cells = |c: &Cuboid| self.frame.cells(c);
        let measured = plan.rows().measurements.iter().map(|m| cells(m.block.cuboid()));
        let asked = plan.rows().workload.iter().map(|t| cells(&t.cuboid)).sum();
        measured.sum::<f64>() > strategy::MANY_CELLS.max(asked)
    }

    /// A table whose prediction would make `auto` wait, over groups of unequal size.
    fn waited_for(&self, measure: Measure) -> Option<&Cuboid> {
        use Measure::{Base, Cluster, Hierarchy, Queries, Tables};
        let request = &*self.scene.request;
        let whole = matches!(measure, Queries | Base | Hierarchy | Cluster | Tables);
        let other = request.noise.squares() && request.zeros.is_empty();
        if request.measure.is_some() || !whole || !other || self.frame.is_balanced() {
            return None;
        }
        let tables = || request.workload.iter().filter(|t| t.asks.is_cells()).map(|t| &t.cuboid);
        let cells = |t: &Cuboid| Weighted { cuboid: t.clone(), seen: Seen::Cells, weight: 1.0 };
        let measured: Vec<Weighted> = tables().map(cells).collect();
        let work = |n: usize| predict::work(&self.frame, &measured, tables().take(n));
        if work(measured.len()) <= MOST_WAITED {
            return None;
        }
        (1..=measured.len()).find(|&n| work(n) > MOST_WAITED).and_then(|n| tables().nth(n - 1))
    }

    pub(super) fn plan(&self, measure: Measure, budgets: BudgetRule) -> Result<Planned, PlanError> {
        let request = &*self.scene.request;
        if let Some(table) = self.waited_for(measure) {
            let why = NotApplicable::TooLong(request.cube.describe(table));
            return Err(PlanError::NotApplicable(measure.name(), why));
        }
        let ask = Ask { request, frame: &self.frame, closure: &self.closure, budgets };
        let sets = strategy::measurements(measure, &ask).map_err(|why| match why {
            NotApplicable::ScaleOutOfRange(_) => PlanError::Budget(request.budget),
            why => PlanError::NotApplicable(measure.name(), why),
        })?;
        let mut plans = Vec::new();
        let mut refused = None;
        for (measurements, certificate) in self.few(sets) {
            match self.finish(measure, budgets, measurements, certificate) {
                Ok(plan) => plans.push(plan),
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        // Of several sets some may be beyond what can be drawn or predicted.
        if let (true, Some(why)) = (plans.is_empty(), refused) {
            return Err(why);
        }
        if budgets == BudgetRule::Optimal
            && request.objective != Objective::Total
            && strategy::shares(measure)
        {
            plans.extend(self.improved(measure, &plans));
        }
        let scores: Vec<f64> = plans.iter().map(|p| p.score(request)).collect();
        let best = (0..plans.len()).reduce(|a, b| if scores[b] < scores[a] { b } else { a });
        let best = best.ok_or(PlanError::NoTables)?;
        let proof = self.proof(&plans, best, scores[best]);
        let mut plan = plans.swap_remove(best);
        plan.certificate = proof;
        Ok(plan)
    }

    /// Of sets that take long to predict, which those over unequal groups do, no more than work allows: the best at a glance.
    fn few(&self, sets: Vec<Measured>) -> Vec<Measured> {
        let request = &*self.scene.request;
        let cells = || request.workload.iter().all(|t| t.asks.is_cells());
        if self.frame.is_balanced() || sets.len() < 2 || !cells() {
            return sets;
        }
        let tables = |(measurements, _): &Measured| gls::of_measurements(request.noise, measurements);
        let work = |set: &Measured| -> f64 {
            let tables = tables(set);
            predict::work(&self.frame, &tables, request.workload.iter().map(|t| &t.cuboid))
        };
        let each: Vec<f64> = sets.iter().map(work).collect();
        if each.iter().sum::<f64>() <= MOST_WORK {
            return sets;
        }
        let glance = |set: &Measured| -> f64 {
            let tables = tables(set);
            let of = |t: &Table| {
                let mean = predict::glance(&self.frame, &tables, &request.exact, &t.cuboid);
                t.weight.to_f64() * self.frame.cells(&t.cuboid) * mean
            };
            request.workload.iter().filter(|t| !request.is_exact(&t.cuboid)).map(of).sum()
        };
        let mut glanced: Vec<(f64, f64, Measured)> =
            sets.into_iter().zip(each).map(|(set, work)| (glance(&set), work, set)).collect();
        glanced.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut left = MOST_WORK;
        let fits = |(at, (_, work, set)): (usize, (f64, f64, Measured))| {
            left -= work;
            (at == 0 || left >= 0.0).then_some(set)
        };
        glanced.into_iter().enumerate().map_while(fits).collect()
    }

    /// A plan's own proof, or for the worst cell that of another plan of the same tables: it is one for all scales of theirs. The worst cell's value is what whole numbers
    /// make of it where that is more.
    fn proof(&self, plans: &[Planned], best: usize, score: f64) -> Option<Certificate> {
        let own = &plans[best];
        if self.scene.request.objective != Objective::Worst {
            return own.certificate;
        }
        if let Some(proof) = own.certificate {
            return Some(Certificate { value: proof.value.max(score), ..proof });
        }
        // Of noise that is less than a step wide the score is no value of what the other's bound is about.
        if is_coarse(&own.plan) {
            return None;
        }
        let blocks =
            |p: &Planned| p.plan.rows().measurements.iter().map(|m| m.block.clone()).collect::<Vec<_>>();
        let same = plans.iter().filter(|p| p.certificate.is_some() && blocks(p) == blocks(own));
        let proofs = same.filter_map(|p| p.certificate);
        let tightest = proofs.reduce(|a, b| if b.bound > a.bound { b } else { a })?;
        Some(Certificate { value: score, bound: tightest.bound.min(score), ..tightest })
    }
}
