//! From what is asked to what will be measured, and how precisely: a pure function of the spec that never sees data.
//!
//! [`plan`] chooses the blocks and their noise, predicts the error of every table under the noise that
//! will really be drawn, and checks the cost against the budget in exact arithmetic. The same request
//! gives the same plan, bit for bit, on any machine: all functions beyond `+ − × ÷ √` come from `libm`.

mod answering;
pub mod bases;
mod choice;
pub mod closure;
pub mod copies;
mod delta;
pub mod minimax;
pub mod objective;
pub mod predict;
pub mod price;
pub mod questions;
pub mod reading;
mod request;
pub mod room;
mod shaped;
pub mod strategy;
pub mod targets;
mod turns;
mod wanted;
pub mod worst;

pub use answering::{EQUAL, answering, best, largest as largest_asked};
pub use choice::{Choice, Look, choose};
pub use delta::{DELTA, WithDelta, with_delta};
pub use objective::{Certificate, Objective, Target};
pub use request::Request;

use crate::cube::{Cuboid, Frame};
use crate::exact::Rational;
use crate::plan::cost::{self, Cost, CostError};
use crate::plan::{BudgetRule, Channel, Measure, Measurement, Neighbours, Plan, Table, round};
use crate::recover::gls;
use closure::{Closure, Spread};
use predict::Prediction;
use room::NoRoom;
use std::borrow::Cow;
use std::sync::Arc;
use strategy::{Ask, Measured, NotApplicable};

/// The most work that goes into predicting what one search has found, in steps on one number.
const MOST_WORK: f64 = (1u64 << 30) as f64;

/// The most cells of a table that is asked for: with so many a section of a release is full.
pub const MOST_ASKED: u64 = 1 << 28;

/// Why no plan could be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The workload has no table.
    #[error("the workload asks for no table")]
    NoTables,
    /// A table that no release has room for, and no reader.
    #[error(
        "{0} has {1} cells: no table may have more than {MOST_ASKED}, which is what a section of a release has room for. Ask for fewer \
         dimensions together, or for coarser levels of them"
    )]
    TooLarge(String, String),
    /// Every table is published without noise.
    #[error("every table asked for is exact: nothing would be protected, so there is nothing to release")]
    AllExact,
    /// Nothing that the neighbour relation protects is asked for.
    #[error(
        "the only table has one cell, the number of rows, which `neighbours = \"substitute\"` makes public: it costs \
         nothing and needs no noise. Ask for another table, or protect the number of rows with \
         `neighbours = \"add-remove\"`"
    )]
    Public,
    /// The strategy that was asked for does not apply.
    #[error("strategy `{0}` does not apply: {1}")]
    NotApplicable(&'static str, NotApplicable),
    /// Too small or too large for any noise.
    #[error("this budget is too small or too large: no noise that can be drawn in 64-bit integers fits it")]
    Budget,
    /// With `auto`: nothing applies.
    #[error("no strategy applies: {0}")]
    NothingApplies(String),
    /// The cost cannot be computed.
    #[error(transparent)]
    Cost(#[from] CostError),
    /// Rounding cannot reach the budget from below. A defect, never released.
    #[error("the plan would cost {0}, more than the budget {1}")]
    OverBudget(Rational, Rational),
}

/// A plan with what it costs and what it promises.
#[derive(Debug, Clone)]
pub struct Planned {
    /// What goes into the release.
    pub plan: Plan,
    /// Its exact cost.
    pub cost: Cost,
    /// The error of every table.
    pub prediction: Prediction,
    /// For objectives without a closed form: the proof that the plan is close to the best.
    pub certificate: Option<Certificate>,
    /// With targets under Laplace noise: the largest ratio of a squared margin to its target's, by the law of the noise.
    pub ratio: Option<f64>,
}

/// One line of a comparison: a strategy and either its plan or the reason it does not apply.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// What is measured.
    pub measure: Measure,
    /// How the budget is shared.
    pub budgets: BudgetRule,
    /// The plan.
    pub outcome: Result<Arc<Planned>, PlanError>,
    /// More cells than anybody expects who asks for this workload: `auto` does not choose it.
    pub vast: bool,
}

/// The plan for a request: see [`choose`].
pub fn plan(request: &Request) -> Result<Planned, PlanError> {
    choose(request, Look::Needed).map(|choice| Arc::unwrap_or_clone(choice.planned))
}

/// Every known strategy under each of the given budget rules.
pub fn compare(request: &Request, budgets: &[BudgetRule]) -> Result<Vec<Candidate>, PlanError> {
    // What is wrong with the request is wrong with all.
    for_tables(request)?;
    // Most strategies use the same levels, and what stands on those is worked out once.
    let mut contexts: Vec<Context> = Vec::new();
    let mut candidates = Vec::new();
    for (measure, rules) in strategy::compared(request, budgets) {
        let at = Scene::new(request, measure).map(|scene| {
            contexts.iter().position(|c| c.scene.is_like(&scene)).unwrap_or_else(|| {
                contexts.push(Context::of(scene));
                contexts.len() - 1
            })
        });
        for budgets in rules {
            let context = at.clone().map(|at| &contexts[at]);
            let outcome = context.clone().and_then(|c| c.plan(measure, budgets).map(Arc::new));
            let vast = context.is_ok_and(|c| outcome.as_ref().is_ok_and(|p| c.is_vast(&p.plan)));
            candidates.push(Candidate { measure, budgets, outcome, vast });
        }
    }
    Ok(candidates)
}

/// What a plan would promise with `times` its budget: the same tables and shares, all noise scaled.
pub fn predict_at(request: &Request, plan: &Plan, times: f64) -> Result<Prediction, PlanError> {
    let context = Context::new(request, plan.measure)?;
    let mut scaled = plan.clone();
    for m in scaled.measurements_mut() {
        m.scale = round::up(m.scale.to_f64() / times).ok_or_else(|| {
            let name = request.cube.describe(m.block.cuboid());
            PlanError::NotApplicable(plan.measure.name(), NotApplicable::ScaleOutOfRange(name))
        })?;
    }
    Ok(predict::predict(&context.scene.request, &context.frame, &context.closure, &scaled))
}

/// What a plan promises for these tables and questions, asked for or not. The request is that of the plan, over its levels.
pub fn judge(request: &Request, plan: &Plan, tables: Vec<Table>) -> Vec<Spread> {
    let frame = Frame::new(&request.cube, &plan.levels);
    let closure = Closure::new(&request.cube, &frame, &tables);
    let plan = plan.with_workload(tables.clone());
    let request = Request { workload: tables, ..request.clone() };
    predict::predict(&request, &frame, &closure, &plan).tables
}

/// The budget of the tables, of a request that something can be planned for.
fn for_tables(request: &Request) -> Result<Rational, PlanError> {
    if request.workload.is_empty() {
        return Err(PlanError::NoTables);
    }
    let cells = |t: &&Table| request.cube.cells(&t.cuboid).unwrap_or(u64::MAX);
    if let Some(table) = request.workload.iter().find(|t| cells(t) > MOST_ASKED) {
        let cells = match request.cube.cells(&table.cuboid) {
            Some(n) if n < 1_000_000_000_000 => n.to_string(),
            _ => format!(
                "{:.1e}",
                table.cuboid.iter().map(|l| l.of(&request.cube).len() as f64).product::<f64>()
            ),
        };
        return Err(PlanError::TooLarge(request.cube.describe(&table.cuboid), cells));
    }
    if request.workload.iter().all(|t| request.is_exact(&t.cuboid)) {
        return Err(PlanError::AllExact);
    }
    // A unit is one row, and rows only change: every table of a single cell holds their number.
    let rows_are_public = request.neighbours == Neighbours::Substitute && request.max_rows == 1;
    let single = |c: &Cuboid| request.cube.cells(c) == Some(1);
    if rows_are_public && request.workload.iter().all(|t| request.is_exact(&t.cuboid) || single(&t.cuboid)) {
        return Err(PlanError::Public);
    }
    if request.cut_units.is_none() {
        return Ok(request.budget);
    }
    let part = request.for_tables().and_then(|part| request.budget.checked_mul(part));
    part.ok_or(PlanError::Cost(CostError::Overflow(0)))
}

/// A request as a strategy sees it.
struct Scene<'a> {
    request: Cow<'a, Request>,
    refined: bool,
    levels: Vec<Vec<u8>>,
    /// All that may be spent; the request's own budget is what is left of it for the tables.
    whole: Rational,
}

impl<'a> Scene<'a> {
    fn new(request: &'a Request, measure: Measure) -> Result<Scene<'a>, PlanError> {
        let budget = for_tables(request)?;
        let refined = measure.refines(&request.workload);
        let mut request = request.over(measure);
        let whole = request.budget;
        if budget != whole {
            request.to_mut().budget = budget;
        }
        let levels = strategy::levels(measure, &request)
            .map_err(|why| PlanError::NotApplicable(measure.name(), why))?;
        Ok(Scene { request, refined, levels, whole })
    }

    /// Whether two strategies see the same request in the same way.
    fn is_like(&self, other: &Scene) -> bool {
        self.refined == other.refined && self.levels == other.levels
    }
}

/// A scene with what the searches and predictions stand on.
struct Context<'a> {
    scene: Scene<'a>,
    frame: Frame,
    closure: Closure,
}

impl<'a> Context<'a> {
    fn new(request: &'a Request, measure: Measure) -> Result<Context<'a>, PlanError> {
        Scene::new(request, measure).map(Context::of)
    }

    fn of(scene: Scene<'a>) -> Context<'a> {
        let request = &scene.request;
        let frame = Frame::new(&request.cube, &scene.levels);
        let closure = Closure::new(&request.cube, &frame, &request.workload);
        Context { scene, frame, closure }
    }

    fn is_vast(&self, plan: &Plan) -> bool {
        let cells = |c: &Cuboid| self.frame.cells(c);
        let measured = plan.rows().measurements.iter().map(|m| cells(m.block.cuboid()));
        let asked = plan.rows().workload.iter().map(|t| cells(&t.cuboid)).sum();
        measured.sum::<f64>() > strategy::MANY_CELLS.max(asked)
    }

    fn plan(&self, measure: Measure, budgets: BudgetRule) -> Result<Planned, PlanError> {
        let request = &*self.scene.request;
        let ask = Ask { request, frame: &self.frame, closure: &self.closure, budgets };
        let sets = strategy::measurements(measure, &ask).map_err(|why| match why {
            NotApplicable::ScaleOutOfRange(_) => PlanError::Budget,
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
            plans.extend(self.shaped(measure, &plans));
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
            request.workload.iter().map(|t| predict::work(&self.frame, &tables, &t.cuboid)).sum()
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

    /// A plan's own proof, or for the worst cell that of another plan of the same tables: it is one for all scales of theirs.
    fn proof(&self, plans: &[Planned], best: usize, score: f64) -> Option<Certificate> {
        let own = &plans[best];
        if own.certificate.is_some() || self.scene.request.objective != Objective::Worst {
            return own.certificate;
        }
        let blocks =
            |p: &Planned| p.plan.rows().measurements.iter().map(|m| m.block.clone()).collect::<Vec<_>>();
        let same = plans.iter().filter(|p| p.certificate.is_some() && blocks(p) == blocks(own));
        let proofs = same.filter_map(|p| p.certificate);
        let tightest = proofs.reduce(|a, b| if b.bound > a.bound { b } else { a })?;
        Some(Certificate { value: score, bound: tightest.bound.min(score), ..tightest })
    }

    fn finish(
        &self,
        measure: Measure,
        budgets: BudgetRule,
        measurements: Vec<Measurement>,
        certificate: Option<Certificate>,
    ) -> Result<Planned, PlanError> {
        let request = &*self.scene.request;
        let mut plan = Plan {
            noise: request.noise,
            budget: request.budget,
            neighbours: request.neighbours,
            max_rows: request.max_rows,
            measure,
            budgets,
            levels: self.scene.levels.clone(),
            channels: vec![Channel::rows(request.workload.clone(), measurements)],
            exact: request.exact.clone(),
            zeros: request.zeros.clone(),
            copy: None,
        };
        let mut cost = self.fit(&mut plan)?;
        if cost.total.is_zero() {
            // What is left beside exact tables has no cell that could change; or all of it is public.
            return Err(if plan.rows().measurements.is_empty() {
                PlanError::AllExact
            } else {
                PlanError::Public
            });
        }
        if let Some(share) = request.cut_units {
            plan.budget = self.scene.whole;
            let scale = cost::scale_within(plan.noise, self.scene.whole, share)?;
            plan.channels.push(Channel::cut_units(scale));
            cost = cost::cost(&plan, &self.frame)?;
            if cost.total > plan.budget {
                return Err(PlanError::OverBudget(cost.total, plan.budget));
            }
        }
        drawable(request, &self.frame, &plan)?;
        let prediction = predict::predict(request, &self.frame, &self.closure, &plan);
        let measured = gls::of_measurements(plan.noise, &plan.rows().measurements);
        let too_much = |t: &Table| match t.asks.is_cells() {
            true => predict::is_too_much(&self.frame, &measured, &t.cuboid),
            false => true,
        };
        let mut unknown =
            plan.rows().workload.iter().zip(&prediction.tables).filter(|(_, s)| !s.mean.is_finite());
        if let Some((table, _)) = unknown.find(|(t, _)| too_much(t)) {
            let name = request.cube.describe(&table.cuboid);
            let why = match table.asks.is_cells() {
                true => NotApplicable::TooManyKinds(name),
                false => NotApplicable::TooManyQueries(name),
            };
            return Err(PlanError::NotApplicable(measure.name(), why));
        }
        let mut planned = Planned { plan, cost, prediction, certificate, ratio: None };
        if request.objective == Objective::Targets && !request.noise.is_normal() {
            planned.ratio = targets::ratio(request, &planned);
        }
        Ok(planned)
    }

    /// Scales all noise by one factor until the exact cost is just within the budget. Without surprises
    /// the first pass is already there; under `substitute` the exact worst case is below the sum of the
    /// bounds, and what is left over is taken back as precision.
    fn fit(&self, plan: &mut Plan) -> Result<Cost, PlanError> {
        let mut cost = cost::cost(plan, &self.frame)?;
        for attempt in 0..8 {
            let used = cost.total.to_f64() / plan.budget.to_f64();
            let within = cost.total <= plan.budget;
            if within && used > 1.0 - 1e-8 {
                break;
            }
            // Aim a little lower each time, in case rounding of the double is what went wrong.
            let factor = used * (1.0 + 1e-12 * f64::from(1 << attempt));
            let mut next = plan.clone();
            let mut fits = true;
            for m in next.measurements_mut() {
                match round::up(m.scale.to_f64() * factor) {
                    Some(scale) => m.scale = scale,
                    None => fits = false,
                }
            }
            if !fits {
                break;
            }
            let next_cost = cost::cost(&next, &self.frame)?;
            let better = next_cost.total <= next.budget && (!within || next_cost.total > cost.total);
            if !better && within {
                break;
            }
            (*plan, cost) = (next, next_cost);
        }
        if cost.total > plan.budget {
            // Costs are summed in parts of 2^-96, each rounded up.
            let tiny = plan.budget.to_f64() < 1e-22;
            return Err(if tiny {
                PlanError::Budget
            } else {
                PlanError::OverBudget(cost.total, plan.budget)
            });
        }
        Ok(cost)
    }
}

/// Refuses what could not be measured: noise beyond the samplers, integers beyond 64 bits, tables beyond a file.
fn drawable(request: &Request, frame: &Frame, plan: &Plan) -> Result<(), PlanError> {
    let refuse = |why| Err(PlanError::NotApplicable(plan.measure.name(), why));
    let name = |i: usize| {
        let cuboid = plan.measurement(i).map(|(_, m)| m.block.cuboid());
        cuboid.map_or(String::new(), |c| request.cube.describe(c))
    };
    let largest = plan.noise.largest_scale();
    if plan.measurements().any(|m| m.scale > largest) {
        return Err(PlanError::Budget);
    }
    match room::check(plan, frame, room::ROWS) {
        Ok(()) => Ok(()),
        Err(NoRoom::Integers(i)) => refuse(NotApplicable::IntegersTooLarge(name(i))),
        Err(NoRoom::Section(i)) => refuse(NotApplicable::SectionTooLarge(name(i))),
        Err(NoRoom::Exact(i)) => {
            let table = plan.exact.get(i).map_or(String::new(), |c| request.cube.describe(c));
            refuse(NotApplicable::SectionTooLarge(table))
        }
        Err(NoRoom::Sections) => refuse(NotApplicable::TooManySections),
    }
}
