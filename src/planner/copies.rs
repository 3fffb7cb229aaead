//! The plans of all copies of a measuring: one plan, and the same blocks with more noise for those who may know less.
//!
//! What is decided here looks at the spec only. A recipient with a budget gets as much as that buys; one with a margin gets the least
//! precise copy whose cells are all known to within it, found by trying: the law of the worst cell is exact, a secret centre included.

use super::choice::choose;
pub use super::chosen::Copies;
use super::chosen::{Choice, Look};
use super::context::drawable;
use super::planned::PlanError;
use super::request::Request;
use crate::answer::Evaluator;
use crate::cube::Frame;
use crate::exact::Rational;
use crate::plan::Plan;
use crate::plan::copies::{CopyError, MOST_LAWS, Mode, Recipient};
use crate::plan::cost;
use crate::recover::Nothing;
use crate::recover::Recovery;
use std::collections::{BTreeMap, BTreeSet};

/// What a recipient is to have.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// Who.
    pub name: String,
    /// How precise: a budget, or the widest interval.
    pub budget: Option<Rational>,
    /// The half-width that the 95 % interval of every cell may have, where there is no budget.
    pub margin: f64,
}

/// Why there are no copies.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CopiesError {
    /// No plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Numbers that do not fit.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// A margin that the budget does not reach.
    #[error(
        "`{name}` wants every cell to within {wanted}; the whole budget of [privacy] gives one copy ± {best}{tables}: allow \
         more, or ask for a wider margin"
    )]
    Margin {
        /// The recipient.
        name: String,
        /// What it wants.
        wanted: f64,
        /// What can be had.
        best: String,
        /// Of which table.
        tables: String,
    },
    /// Laws of too many tables to try.
    #[error("`{0}` has a margin, and there are too many tables to find the noise for it: give it a budget")]
    TooMany(String),
    /// The same, of too many margins.
    #[error(
        "recipients want {margins} different margins of {tables} tables, and noise is found for {MOST_LAWS} together: give them fewer different \
         margins, or budgets"
    )]
    TooManyMargins {
        /// Different ones.
        margins: usize,
        /// Of each.
        tables: usize,
    },
}

/// Exact laws are worked out for up to so many tables.
const MOST_TABLES: usize = 64;
/// How finely factors for margins are told apart: in parts of one.
const PARTS: u128 = 1024;

/// The plan for a request with recipients, and the plans of all copies.
pub fn copies(
    request: &Request,
    look: Look,
    mode: Mode,
    wishes: &[Wish],
) -> Result<(Choice, Copies), CopiesError> {
    let full = choose(request, look)?;
    let tables = full.planned.plan.rows().workload.len();
    let wanted = wishes.iter().filter(|w| w.budget.is_none()).map(|w| w.margin.to_bits());
    let margins = wanted.collect::<BTreeSet<_>>().len();
    if margins * tables > MOST_LAWS && tables <= MOST_TABLES {
        return Err(CopiesError::TooManyMargins { margins, tables });
    }
    let mut tried = Tried::default();
    let mut amounts = wishes
        .iter()
        .map(|w| match w.budget {
            Some(budget) => Ok(budget),
            None => least(request, &full.planned.plan, mode, w, &mut tried),
        })
        .collect::<Result<Vec<Rational>, CopiesError>>()?;
    loop {
        let (choice, copies) = at(request, look, &full, mode, wishes, &amounts)?;
        // The plan is made once more for what the most precise copy may cost, and its digits are others: a hair more, where one is missing.
        let mut again = false;
        for (amount, wish) in amounts.iter_mut().zip(wishes).filter(|(_, w)| w.budget.is_none()) {
            let copy = copies.plans.iter().position(|p| p.recipient() == Some(&wish.name));
            let half = copy.and_then(|at| copies.margins.get(at).copied().flatten());
            if half.is_some_and(|half| half > wish.margin) && *amount < request.budget {
                let more = Rational::new(1025, 1024).and_then(|r| amount.checked_mul(r));
                *amount = more.unwrap_or(request.budget).min(request.budget);
                again = true;
            }
        }
        if !again {
            return Ok((choice, copies));
        }
    }
}

/// The copies that these budgets give.
fn at(
    request: &Request,
    look: Look,
    full: &Choice,
    mode: Mode,
    wishes: &[Wish],
    amounts: &[Rational],
) -> Result<(Choice, Copies), CopiesError> {
    let mut choice = full.clone();
    let most = amounts.iter().copied().max().unwrap_or(request.budget);
    if most != request.budget {
        choice = choose(&Request { budget: most, ..request.clone() }, look)?;
    }
    let mut order: Vec<usize> = (0..wishes.len()).collect();
    // Stable: equals stay in the order of the spec.
    order.sort_by(|&a, &b| amounts[b].cmp(&amounts[a]));
    let overflow = |name: &str| CopyError::Scale(name.into());
    let recipients = order
        .iter()
        .map(|&i| {
            let name = wishes[i].name.clone();
            let factor = most.checked_div(amounts[i]).ok_or_else(|| overflow(&name))?;
            Ok(Recipient { name, factor })
        })
        .collect::<Result<Vec<_>, CopyError>>()?;
    let plan = &choice.planned.plan;
    let plans = plan.copies(mode, recipients)?;
    let over = request.over(plan.measure);
    let frame = Frame::new(&over.cube, &plan.levels);
    // Copies with one factor differ in nothing that they cost or tell.
    let factors: Vec<Option<Rational>> =
        plans.iter().map(|p| p.copy.as_ref().and_then(|c| Some(c.recipients.get(c.own)?.factor))).collect();
    let cost = |p: &Plan| cost::cost(p, &frame).map_err(PlanError::Cost);
    let costs = alike(&factors, &plans, cost).into_iter().collect::<Result<Vec<_>, _>>()?;
    for (p, c) in plans.iter().zip(&costs) {
        drawable(&over, &frame, p)?;
        if c.total > p.budget {
            return Err(PlanError::OverBudget(c.total, p.budget).into());
        }
    }
    let first = plans.first().unwrap_or(plan);
    let joint = cost::joint_cost(first, &frame).map_err(PlanError::Cost)?;
    let joint_budget = cost::joint_budget(first).ok_or(PlanError::Budget)?;
    if joint > joint_budget {
        return Err(PlanError::OverBudget(joint, joint_budget).into());
    }
    let different = factors.iter().collect::<BTreeSet<_>>().len();
    let few = different * plan.rows().workload.len() <= MOST_LAWS;
    let margins = alike(&factors, &plans, |p| worst(request, p).filter(|_| few).map(|w| w.0));
    Ok((choice, Copies { plans, costs, margins, joint, joint_budget }))
}

/// What is found of each plan, looked for once where neighbours have one factor.
fn alike<T: Clone>(factors: &[Option<Rational>], plans: &[Plan], find: impl Fn(&Plan) -> T) -> Vec<T> {
    let mut out: Vec<T> = Vec::with_capacity(plans.len());
    for (i, plan) in plans.iter().enumerate() {
        let before = i.checked_sub(1).filter(|&b| factors.get(b) == factors.get(i));
        let known = before.and_then(|b| out.get(b)).cloned();
        out.push(known.unwrap_or_else(|| find(plan)));
    }
    out
}

/// The half-width of the 95 % interval of the worst cell of any table, and which table that is.
fn worst(request: &Request, plan: &Plan) -> Option<(f64, String)> {
    if plan.rows().workload.len() > MOST_TABLES {
        return None;
    }
    let over = request.over(plan.measure);
    let recovery = Recovery::new(over.cube.clone(), plan.clone(), Nothing).ok()?;
    let evaluator = Evaluator::new(recovery);
    let mut most = (0.0, String::new());
    for t in plan.rows().workload.iter().filter(|t| plan.exact_above(&t.cuboid).is_none()) {
        let half = evaluator.worst_cell_law(&t.cuboid).ok()?.half_width(0.95);
        if !(half <= most.0) {
            most = (half, over.cube.describe(&t.cuboid));
        }
    }
    Some(most)
}

/// The half-widths of copies that were tried, by their factors in [`PARTS`]: more noise, wider intervals. What was tried for one margin decides
/// most of the next.
type Tried = BTreeMap<u128, (f64, String)>;

/// The least budget with which a recipient's copy keeps to its margin.
fn least(
    request: &Request,
    full: &Plan,
    mode: Mode,
    wish: &Wish,
    tried: &mut Tried,
) -> Result<Rational, CopiesError> {
    let mut at = |parts: u128| -> Result<(f64, String), CopiesError> {
        let fits = tried.range(parts..).find(|(_, (half, _))| *half <= wish.margin);
        let fails = || tried.range(..=parts).rev().find(|(_, (half, _))| !(*half <= wish.margin));
        if let Some((_, known)) = tried.get_key_value(&parts).or(fits).or_else(fails) {
            return Ok(known.clone());
        }
        let factor = Rational::new(parts, PARTS).ok_or(PlanError::Budget)?;
        let recipients = vec![
            Recipient { name: String::new(), factor: Rational::ONE },
            Recipient { name: wish.name.clone(), factor },
        ];
        let plans = full.copies(mode, recipients)?;
        let plan = plans.last().ok_or(PlanError::Budget)?;
        let found = worst(request, plan).ok_or_else(|| CopiesError::TooMany(wish.name.clone()))?;
        tried.insert(parts, found.clone());
        Ok(found)
    };
    let fits = |half: f64| half <= wish.margin;
    let (best, table) = at(PARTS)?;
    if !fits(best) {
        let tables = if table.is_empty() { String::new() } else { format!(" (in {table})") };
        let (name, wanted) = (wish.name.clone(), wish.margin);
        return Err(CopiesError::Margin { name, wanted, best: format!("{best:.6}"), tables });
    }
    let (mut low, mut high) = (PARTS, 2 * PARTS);
    while high < PARTS << 40 && at(high).is_ok_and(|(half, _)| fits(half)) {
        (low, high) = (high, 2 * high);
    }
    // To one part in a thousand.
    while high - low > 1 && (high - low) * 1000 > low {
        let middle = low.midpoint(high);
        if at(middle).is_ok_and(|(half, _)| fits(half)) { low = middle } else { high = middle }
    }
    let factor = Rational::new(low, PARTS).ok_or(PlanError::Budget)?;
    request.budget.checked_div(factor).ok_or(CopiesError::Plan(PlanError::Budget))
}
