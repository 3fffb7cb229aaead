//! What a plan costs in privacy, recomputed from the blocks and scales alone.
//!
//! **Guarantee.** Drawing iid discrete Gaussian noise of variance parameter `s²` on the integers and adding
//! it to integer counts that move by an integer vector of squared length at most `Δ²` is `Δ²/(2s²)`-zCDP
//! (Canonne, Kamath & Steinke 2020, Theorem 4 and its multivariate form); discrete Laplace noise of scale `b`
//! on counts that move by `Δ` in L1 is `Δ/b`-DP (Ghosh, Roughgarden & Sundararajan 2009). Measurements made
//! one after the other add up (composition).
//!
//! How far one row moves the integers of each kind of block is proved in the kind's own file, see [`super::block`]; how far a unit moves
//! what a channel adds up, in [`Subject`]'s answers.
//!
//! **Channels.** One unit moves all of them, so their costs add up (composition). *Rows:* a unit has at most `max_rows` that count. A
//! changed unit's rows may be in other cells. *The units that were cut:* whether a unit has more than `max_rows` rows depends on its own
//! rows alone, so their number is a sum over units of 0 or 1. A unit more or less changes one term; under `substitute` one term is put in
//! another's place, `|1 − 0|` at most: the number moves by at most 1, whatever `max_rows` is. The number of *rows* that are left out would
//! not do: one unit may bring any number of them. *The rows that were moved to the ends of a number:* a row is moved to one end at most, so of a
//! unit's `k` rows `a` are moved to the low end and `b` to the high, `a + b ≤ k`. So `a² + b² ≤ k²`, and with a unit more or less both numbers cost
//! together what the dearer costs that moves by `k`. A unit that changes may move both by `k`: then their costs add up.
//!
//! **Rows** that the agency wrote need not cost every unit the same: see [`rows`]. Nor do components with weights of nodes: see [`cells`].
//!
//! Costs are summed in fixed point with 96 fractional bits, every term rounded up, so the sum is never less than
//! the true cost.

mod cells;
mod joint;
mod rows;
mod terms;

pub use terms::{CostError, WorstCase};

use super::{Channel, Copy, Form, Measurement, Mode, Neighbours, Noise, Plan, Subject};
use crate::cube::{Frame, Quantity};
use crate::exact::Rational;
#[cfg(feature = "faults")]
use crate::planted::{self, Planted};
use std::sync::Arc;
use terms::{FRACTION_BITS, fixed_point_up};

/// The privacy cost of a plan.
#[derive(Debug, Clone)]
pub struct Cost {
    /// The whole release, in the noise's currency, rounded up.
    pub total: Rational,
    /// Each measurement alone.
    pub each: Vec<Rational>,
    /// How `total` follows from the blocks.
    pub worst_case: WorstCase,
}

impl Cost {
    /// Where the rows are counted that are moved to the ends of a number: the scale of the noise of either count, and what both cost together.
    pub fn of_ends(&self, plan: &Plan, quantity: &Arc<Quantity>) -> Option<(Rational, Rational)> {
        let one = |subject: Subject| {
            let index = plan.numbers(&subject).next()?;
            Some((plan.measurement(index)?.1.scale, *self.each.get(index)?))
        };
        let (scale, below) = one(Subject::Below(quantity.clone()))?;
        let (_, above) = one(Subject::Above(quantity.clone()))?;
        let both = match plan.neighbours {
            Neighbours::AddRemove => Some(below.max(above)),
            Neighbours::Substitute => sum_up(&[below, above]),
        };
        Some((scale, both?))
    }
}

/// How far a unit moves the integers of a measurement (squared L2 for Gaussian, L1 for Laplace), and the scale of their noise.
fn moved(
    plan: &Plan,
    frame: &Frame,
    subject: &Subject,
    m: &Measurement,
    index: usize,
) -> Result<(u128, Rational), CostError> {
    let overflow = CostError::Overflow(index);
    let scale = plan.accounted(index).ok_or(overflow.clone())?;
    if scale.is_zero() {
        return Err(CostError::NoNoise(index));
    }
    if m.block.needs_squares() && !plan.noise.squares() {
        return Err(CostError::Squares(index));
    }
    let most = subject.most(plan.max_rows);
    let changed = subject.changed(plan.neighbours, plan.noise, m.block.is_signed());
    let change = || changed?.checked_mul(plan.noise.powered(most)?);
    let norm = m.block.sensitivity(frame, plan.noise);
    let sensitivity = norm.and_then(|n| n.checked_mul(change()?)).ok_or(overflow)?;
    Ok((sensitivity, scale))
}

/// What one measurement costs on its own: (sensitivity: squared L2 for Gaussian, L1 for Laplace; cost).
pub fn measurement_cost(plan: &Plan, frame: &Frame, index: usize) -> Result<(Rational, Rational), CostError> {
    let (channel, m) = plan.measurement(index).ok_or(CostError::Overflow(index))?;
    let (sensitivity, scale) = moved(plan, frame, &channel.subject, m, index)?;
    let cost = plan.noise.cost(sensitivity, scale).ok_or(CostError::Overflow(index))?;
    Ok((Rational::whole(sensitivity), cost))
}

/// The scale at which the measuring of one integer that a unit moves by one is just within a part of the budget.
pub fn scale_within(noise: Noise, budget: Rational, share: Rational) -> Result<Rational, CostError> {
    let overflow = CostError::Overflow(0);
    let halves = Rational::whole(noise.divisor().into());
    let spent = budget.checked_mul(share).and_then(|b| b.checked_mul(halves)).ok_or(overflow.clone())?;
    // Towards more noise, and a little beyond, so that rounding of the sum stays within the budget.
    super::round::up(1.0 / spent.to_f64() * (1.0 + 1e-9)).ok_or(overflow)
}

/// The channels of the rows that are moved to the low and to the high end of a number, just within a part of a plan's budget.
pub fn moved_within(
    plan: &Plan,
    quantity: &Arc<Quantity>,
    share: Rational,
) -> Result<[Channel; 2], CostError> {
    let one = scale_within(plan.noise, plan.budget, share)?;
    // One that comes or goes pays for one end, one that changes for both.
    let ends = if plan.neighbours == Neighbours::Substitute { 2 } else { 1 };
    let times = plan.noise.powered(plan.max_rows.into()).and_then(|way| way.checked_mul(ends));
    let scale = times.and_then(|n| one.checked_mul(Rational::whole(n))).ok_or(CostError::Overflow(0))?;
    let subjects = [Subject::Below(quantity.clone()), Subject::Above(quantity.clone())];
    Ok(subjects.map(|subject| Channel::total(subject, scale)))
}

/// What all copies of a measuring cost together, of which this plan is one: of nested ones what the most precise costs, of
/// shifted ones the sum; see [`super::copies`]. Of a plan without copies its own cost.
pub fn joint_cost(plan: &Plan, frame: &Frame) -> Result<Rational, CostError> {
    let Some(copy) = &plan.copy else { return Ok(cost(plan, frame)?.total) };
    let first = plan.first();
    if copy.mode == Mode::Nested {
        return Ok(cost(&first, frame)?.total);
    }
    if copy.recipients.len() > MOST_ALONE {
        // Scales of shifted copies are those of the first times a factor, so costs are its cost over that: no pair of cells is looked at twice.
        let own = first.copy_of(Copy { own: 0, ..(**copy).clone() }).map_err(|_| CostError::Overflow(0))?;
        let total = cost(&own, frame)?.total;
        let each = copy.recipients.iter().map(|r| total.checked_div(r.factor)).collect::<Option<Vec<_>>>();
        return each.and_then(|each| sum_up(&each)).ok_or(CostError::Overflow(0));
    }
    let each = |own: usize| {
        let plan = first.copy_of(Copy { own, ..(**copy).clone() }).map_err(|_| CostError::Overflow(0))?;
        Ok(cost(&plan, frame)?.total)
    };
    let costs = (0..copy.recipients.len()).map(each).collect::<Result<Vec<_>, CostError>>()?;
    sum_up(&costs).ok_or(CostError::Overflow(0))
}

/// So many shifted copies are priced one by one, each over all pairs of cells.
const MOST_ALONE: usize = 16;

/// A sum, exact where that fits and otherwise in fixed point, every term rounded up.
pub(crate) fn sum_up(terms: &[Rational]) -> Option<Rational> {
    let exact = terms.iter().try_fold(Rational::ZERO, |sum, t| sum.checked_add(*t));
    exact.or_else(|| {
        let sum = terms.iter().try_fold(0u128, |sum, t| sum.checked_add(fixed_point_up(*t)?))?;
        Rational::new(sum, 1 << FRACTION_BITS)
    })
}

/// What may be spent on all copies together: see [`joint_cost`].
pub fn joint_budget(plan: &Plan) -> Option<Rational> {
    match &plan.copy {
        None => Some(plan.budget),
        Some(copy) if copy.mode == Mode::Nested => Some(copy.budget),
        Some(copy) => {
            let each = copy.recipients.iter().map(|r| copy.budget.checked_div(r.factor));
            sum_up(&each.collect::<Option<Vec<_>>>()?)
        }
    }
}

/// The cost of a whole plan; of a copy that of this copy alone.
pub fn cost(plan: &Plan, frame: &Frame) -> Result<Cost, CostError> {
    let mut each = Vec::with_capacity(plan.measured());
    let (mut total, worst_case) = summed(plan, frame, &mut |cost| each.push(cost))?;
    // Shares that add up to the whole budget cost just that: the terms' rounding must not make it more.
    if total > plan.budget
        && each.iter().try_fold(Rational::ZERO, |sum, c| sum.checked_add(*c)) == Some(plan.budget)
    {
        total = plan.budget;
    }
    Ok(Cost { total, each, worst_case })
}

/// Refuses a plan whose cost does not fit the arithmetic: all that a reader of answers wants to know of it.
pub(crate) fn check(plan: &Plan, frame: &Frame) -> Result<(), CostError> {
    summed(plan, frame, &mut |_| {}).map(|_| ())
}

/// The whole cost, and each measurement's by itself.
fn summed(
    plan: &Plan,
    frame: &Frame,
    each: &mut dyn FnMut(Rational),
) -> Result<(Rational, WorstCase), CostError> {
    // Sums of noises are reckoned with as one noise that costs no less.
    let reckoned;
    let plan = match &plan.copy {
        None => plan,
        Some(_) => {
            reckoned = reckoned_with(plan)?;
            &reckoned
        }
    };
    let (mut total, mut worst_case, mut first) = (0u128, WorstCase::Sum, 0);
    let mut low: Option<(&Arc<Quantity>, u128)> = None;
    for channel in &plan.channels {
        let (own, case) = of_channel(plan, frame, channel, first, each)?;
        first += channel.measurements.len();
        // A row is at one end of a number at most: with the low end the high one costs no more than it costs beyond that.
        let more = match (&channel.subject, low) {
            (Subject::Above(q), Some((of, paid))) if q == of && plan.neighbours == Neighbours::AddRemove => {
                own.saturating_sub(paid)
            }
            _ => own,
        };
        low = match &channel.subject {
            Subject::Below(q) => Some((q, own)),
            _ => None,
        };
        total = total.checked_add(more).ok_or(CostError::Overflow(first.saturating_sub(1)))?;
        worst_case = worst_case.beside(case);
    }
    Ok((Rational::new(total, 1 << FRACTION_BITS).ok_or(CostError::Overflow(0))?, worst_case))
}

/// What one channel costs, in fixed point, and each of its measurements by itself, whose numbers begin at `first`.
fn of_channel(
    plan: &Plan,
    frame: &Frame,
    channel: &Channel,
    first: usize,
    each: &mut dyn FnMut(Rational),
) -> Result<(u128, WorstCase), CostError> {
    let mut total: u128 = 0;
    let mut others = false;
    // Neighbours in a long plan are often alike.
    let mut last: Option<((u128, Rational), (Rational, Option<u128>))> = None;
    for (index, m) in (first..).zip(&channel.measurements) {
        let moved = moved(plan, frame, &channel.subject, m, index)?;
        let (cost, fixed) = match last {
            Some((like, known)) if like == moved => known,
            _ => {
                let cost = plan.noise.cost(moved.0, moved.1).ok_or(CostError::Overflow(index))?;
                (cost, fixed_point_up(cost))
            }
        };
        last = Some((moved, (cost, fixed)));
        each(cost);
        #[cfg(feature = "faults")]
        if planted::on(Planted::Forgotten) && index == 1 {
            continue;
        }
        if m.block.form() != Form::Rows {
            others = true;
            total = fixed.and_then(|c| total.checked_add(c)).ok_or(CostError::Overflow(index))?;
        }
    }
    let mut worst_case = WorstCase::Sum;
    let weighted = cells::differ(channel);
    if weighted {
        // Under `substitute` each of two cells is at most as dear as the dearest: their difference costs four times that.
        total = cells::dearest(plan, channel, frame, first)?;
        let exact = plan.neighbours == Neighbours::AddRemove;
        worst_case = if exact { WorstCase::Cells } else { WorstCase::Bound };
    }
    let rows = rows::rows_cost(plan, channel, frame)?;
    if let Some((cost, case)) = rows {
        total = total.checked_add(cost).ok_or(CostError::Overflow(0))?;
        worst_case = if others { WorstCase::Bound } else { case };
    }
    // Two rows in whole tables are always in different cells, or the same; in signed sums they may be opposite.
    let signed = channel.measurements.iter().any(|m| m.block.is_signed());
    // Two rows in one cell may have values at both ends, so no two cells are the worst pair.
    let sums = matches!(channel.subject, Subject::Sum(_) | Subject::Squares(_));
    if rows.is_none() && signed && !weighted && plan.neighbours == Neighbours::Substitute {
        worst_case = WorstCase::Bound;
        if let Some(joint) = (!sums).then(|| joint::joint_cost(plan, channel, frame)).flatten() {
            total = total.min(joint);
            let exact = channel.measurements.iter().all(|m| m.block.form() != Form::Based);
            worst_case = if exact { WorstCase::Joint } else { WorstCase::Bound };
        }
    }
    Ok((total, worst_case))
}

/// A copy's plan with one noise in the place of each sum.
fn reckoned_with(plan: &Plan) -> Result<Plan, CostError> {
    let mut out = Plan { copy: None, ..plan.clone() };
    let overflow = |i: usize| CostError::Overflow(i);
    for (i, m) in out.measurements_mut().enumerate() {
        m.scale = plan.accounted(i).ok_or(overflow(i))?;
    }
    Ok(out)
}
