//! A request as a strategy sees it, and how what the strategy measures becomes a plan.

use super::capacity::{self, NoRoom};
use super::closure::Closure;
use super::objective::{Certificate, Objective};
use super::planned::{MOST_ASKED, PlanError, Planned};
use super::request::Summed;
use super::strategy::{self, NotApplicable};
use super::{Request, parts, predict, tails};
use crate::cube::{Cuboid, Frame, Level};
use crate::exact::Rational;
use crate::plan::cost::{self, Cost, CostError};
use crate::plan::limits::MAX_CELLS;
use crate::plan::{BudgetRule, Channel, Measure, Measurement, Neighbours, Plan, Subject, Table, round};
use crate::recover::gls;
use std::borrow::Cow;

/// The budget of the tables, of a request that something can be planned for.
pub(super) fn for_tables(request: &Request) -> Result<Rational, PlanError> {
    // Sums from zero need no table of counts.
    if request.workload.is_empty() && request.sums.is_empty() {
        return Err(PlanError::NoTables);
    }
    let cells = |t: &Table| request.cube.cells(&t.cuboid).unwrap_or(u64::MAX);
    // A table whose groups can be parted is never held whole: see `plan::slices`.
    let parted = |t: &Table| {
        let levels = Frame::levels_of(&request.cube, request.workload.iter().map(|t| &t.cuboid));
        let above = |at: Level| levels[at.dimension].iter().filter(|&&l| usize::from(l) < at.level).max();
        let groups = |at: Level| {
            let above = above(at).map_or(1, |&l| Level::new(at.dimension, l.into()).of(&request.cube).len());
            above > 1
        };
        t.cuboid.iter().any(groups)
    };
    let too_large = |t: &&Table| cells(t) > MOST_ASKED && (cells(t) > MAX_CELLS || !parted(t));
    if let Some(table) = request.workload.iter().find(too_large) {
        let cells = match request.cube.cells(&table.cuboid) {
            Some(n) if n < 1_000_000_000_000 => n.to_string(),
            _ => format!(
                "{:.1e}",
                table.cuboid.iter().map(|l| l.of(&request.cube).len() as f64).product::<f64>()
            ),
        };
        return Err(PlanError::TooLarge(request.cube.describe(&table.cuboid), cells));
    }
    if let Some((table, parts)) = parts::too_many(&request.cube, &request.workload) {
        return Err(PlanError::TooManyParts(request.cube.describe(&table.cuboid), format!("{parts:.1e}")));
    }
    // Whoever reads weights of cells takes them for those of all cells of their table.
    let each = [0, request.workload.len()].contains(&request.by_cell.len());
    let fits =
        |(t, table): (usize, &Table)| request.cells_of(t).is_none_or(|own| own.len() as u64 == cells(table));
    if !each || !request.workload.iter().enumerate().all(fits) {
        return Err(PlanError::Weights);
    }
    let counted = !request.workload.is_empty();
    if counted && request.workload.iter().all(|t| request.is_exact(&t.cuboid)) {
        return Err(PlanError::AllExact);
    }
    // Beside tables with noise it is one number alone that has none.
    let exact = |sum: &&Summed| {
        let of = |t: &Table| sum.exact.iter().any(|e| t.cuboid.is_below(e));
        !sum.tables.is_empty() && sum.tables.iter().all(of)
    };
    if let Some(sum) = request.sums.iter().find(exact) {
        return Err(PlanError::AmountExact(sum.quantity.name.clone()));
    }
    // A unit is one row, and rows only change: every table of a single cell holds their number. Sums of what they have are not public.
    let rows_are_public = request.neighbours == Neighbours::Substitute && request.max_rows == 1;
    let rows_are_public = rows_are_public && request.beside.is_empty() && request.sums.is_empty();
    let single = |c: &Cuboid| request.cube.cells(c) == Some(1);
    if rows_are_public && request.workload.iter().all(|t| request.is_exact(&t.cuboid) || single(&t.cuboid)) {
        return Err(PlanError::Public);
    }
    let part = request.for_tables().and_then(|part| request.budget.checked_mul(part));
    part.ok_or(PlanError::Cost(CostError::Overflow(0)))
}

/// A request as a strategy sees it.
pub(super) struct Scene<'a> {
    pub(super) request: Cow<'a, Request>,
    refined: bool,
    levels: Vec<Vec<u8>>,
    /// All that may be spent; the request's own budget is what is left of it for the tables.
    whole: Rational,
}

impl<'a> Scene<'a> {
    pub(super) fn new(request: &'a Request, measure: Measure) -> Result<Scene<'a>, PlanError> {
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
    pub(super) fn is_like(&self, other: &Scene) -> bool {
        self.refined == other.refined && self.levels == other.levels
    }
}

/// A scene with what the searches and predictions stand on.
pub(super) struct Context<'a> {
    pub(super) scene: Scene<'a>,
    pub(super) frame: Frame,
    pub(super) closure: Closure,
}

impl<'a> Context<'a> {
    pub(super) fn new(request: &'a Request, measure: Measure) -> Result<Context<'a>, PlanError> {
        Scene::new(request, measure).map(Context::of)
    }

    pub(super) fn of(scene: Scene<'a>) -> Context<'a> {
        let request = &scene.request;
        let frame = Frame::new(&request.cube, &scene.levels);
        let closure = Closure::new(&request.cube, &frame, &request.workload);
        Context { scene, frame, closure }
    }

    /// The same levels, looked at for targets.
    pub(super) fn turned_to(&mut self, asked: &Request) {
        let request = self.scene.request.to_mut();
        request.objective = asked.objective;
        request.care = asked.care.clone();
    }

    pub(super) fn finish(
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
            return Err(match plan.rows().measurements.is_empty() {
                true => PlanError::AllExact,
                // A sum of all rows is planned as their number is, which has no component that anybody could change.
                false if !request.beside.is_empty() => {
                    PlanError::NotApplicable(measure.name(), NotApplicable::AllRows)
                }
                false => PlanError::Public,
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
        let care = request.care.clone();
        let mut planned =
            Planned { plan, cost, prediction, certificate, ratio: None, care, sums: Vec::new() };
        let by_law = !request.noise.is_normal() && !request.by_variance;
        if request.objective == Objective::Targets && by_law {
            planned.ratio = tails::ratio(request, &planned);
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
                PlanError::Budget(plan.budget)
            } else {
                PlanError::OverBudget(cost.total, plan.budget)
            });
        }
        Ok(cost)
    }
}

/// Refuses what could not be measured: noise beyond the samplers, integers beyond 64 bits, tables beyond a file.
pub(super) fn drawable(request: &Request, frame: &Frame, plan: &Plan) -> Result<(), PlanError> {
    let refuse = |why| Err(PlanError::NotApplicable(plan.measure.name(), why));
    let name = |i: usize| {
        let cuboid = plan.measurement(i).map(|(_, m)| m.block.cuboid());
        cuboid.map_or(String::new(), |c| request.cube.describe(c))
    };
    let largest = plan.noise.largest_scale();
    if plan.measurements().any(|m| m.scale > largest) {
        return Err(PlanError::Budget(plan.budget));
    }
    match capacity::check(plan, frame) {
        Ok(()) => Ok(()),
        Err(NoRoom::Integers(i)) => refuse(match plan.measurement(i).map(|(channel, _)| &channel.subject) {
            Some(Subject::Sum(of)) => {
                NotApplicable::SumsTooLarge(format!("the sums of {} by {}", of.name, name(i)))
            }
            Some(Subject::Squares(of)) => {
                NotApplicable::SumsTooLarge(format!("the squares of {} by {}", of.name, name(i)))
            }
            _ => NotApplicable::IntegersTooLarge(name(i)),
        }),
        Err(NoRoom::Section(i)) => refuse(NotApplicable::SectionTooLarge(name(i))),
        Err(NoRoom::Exact(i)) => {
            let table = plan.exact.get(i).map_or(String::new(), |c| request.cube.describe(c));
            refuse(NotApplicable::SectionTooLarge(table))
        }
        Err(NoRoom::Sections) => refuse(NotApplicable::TooManySections),
    }
}
