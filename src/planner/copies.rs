//! The plans of all copies of a measuring: one plan, and the same blocks with more noise for those who may know less.
//!
//! What is decided here looks at the spec only. A recipient with a budget gets as much as that buys; one with a margin gets the least
//! precise copy whose cells are all known to within it, found by trying: the law of the worst cell is exact, a secret centre included.

use super::choice::choose;
pub(crate) use super::chosen::Copies;
use super::chosen::{Choice, Look};
use super::context::drawable;
use super::planned::PlanError;
use super::request::{Request, Summed};
use super::targets::kept;
use crate::answer::Evaluator;
use crate::cube::Frame;
use crate::exact::Rational;
use crate::plan::copies::{CopyError, MOST_LAWS, Mode, Recipient, WIDEST};
use crate::plan::{Plan, Target};
use crate::plan::{cost, round};
use crate::recover::Nothing;
use crate::recover::Recovery;
use std::collections::{BTreeMap, BTreeSet};

/// What a recipient is to have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wish {
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
    /// Laws that are not found beforehand, of a recipient with a margin.
    #[error(
        "`{0}` has a margin, and which of all cells is known least well takes too long to find: there are too many tables, or one is asked for sums \
         (`bases`). Give it a budget, or write measure = \"residual\""
    )]
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
    /// A margin is one of cells.
    #[error(
        "`{0}` has a margin, which is one of the cells of tables, and there are only questions: give it a budget"
    )]
    NoCells(String),
}

/// Exact laws are worked out for up to so many tables.
const MOST_TABLES: usize = 64;
/// How finely factors for margins are told apart: in parts of one.
const PARTS: u128 = 1024;
/// The first step of the search for a budget, in parts of the guess; then twice that, and so on.
const FIRST_STEP: f64 = 1.0 / 32.0;
/// Where that search ends: a budget that does, and one so much smaller that does not.
const FINE: f64 = 1.0 + 1.0 / 256.0;
/// What is added to a budget that misses its margin by digits.
const HAIR: f64 = 1.0 + 1.0 / 1024.0;

/// The plan for a request with recipients, and the plans of all copies.
pub(crate) fn copies(
    request: &Request,
    look: Look,
    mode: Mode,
    wishes: &[Wish],
) -> Result<(Choice, Copies), CopiesError> {
    let full = choose(request, look)?;
    let cells = full.planned.plan.rows().workload.iter().any(|t| !request.is_exact(&t.cuboid));
    if let Some(wish) = wishes.iter().find(|w| w.budget.is_none() && !cells) {
        return Err(CopiesError::NoCells(wish.name.clone()));
    }
    let tables = full.planned.plan.rows().workload.len();
    let wanted = wishes.iter().filter(|w| w.budget.is_none()).map(|w| w.margin.to_bits());
    let margins = wanted.collect::<BTreeSet<_>>().len();
    if margins * tables > MOST_LAWS && tables <= MOST_TABLES {
        return Err(CopiesError::TooManyMargins { margins, tables });
    }
    let all = Wishes { request, look, mode, wishes };
    let (most, choice) = all.most_precise(full)?;
    let mut amounts = all.amounts(most, &choice.planned.plan)?;
    loop {
        let copies = all.at(&choice, &amounts)?;
        // A copy is made from the one before it, whose digits are others: a hair more, where one is missing.
        let mut again = false;
        for (amount, wish) in amounts.iter_mut().zip(wishes).filter(|(_, w)| w.budget.is_none()) {
            let copy = copies.plans.iter().position(|p| p.recipient() == Some(&wish.name));
            let half = copy.and_then(|at| copies.margins.get(at).copied().flatten());
            if half.is_some_and(|half| half > wish.margin) && *amount < most {
                *amount = round::up_small(amount.to_f64() * HAIR).unwrap_or(most).min(most);
                again = true;
            }
        }
        if !again {
            let copies = all.promised(copies);
            return Ok((choice, copies));
        }
    }
}

/// What is wished, and of what.
struct Wishes<'a> {
    request: &'a Request,
    look: Look,
    mode: Mode,
    wishes: &'a [Wish],
}

impl Wishes<'_> {
    /// The plan of the most precise copy, and its budget.
    ///
    /// Another budget can be another plan, whose cells lie on other lattices: so a margin that nobody's budget exceeds is searched for among
    /// plans as they would be made, and ends where this plan keeps it and would not with a little more noise.
    fn most_precise(&self, full: Choice) -> Result<(Rational, Choice), CopiesError> {
        let Wishes { request, look, .. } = self;
        let start = self.amounts(request.budget, &full.planned.plan)?;
        let start = start.into_iter().max().unwrap_or(request.budget);
        if start == request.budget {
            return Ok((start, full));
        }
        let given = self.wishes.iter().filter_map(|w| w.budget).max();
        let planned = |budget: Rational| choose(&Request { budget, ..(*request).clone() }, *look);
        if let Some(given) = given {
            let choice = planned(given)?;
            if self.narrowest().is_none_or(|w| self.keeps(w, &choice.planned.plan)) {
                return Ok((given, choice));
            }
        }
        let Some(narrowest) = self.narrowest() else { return Ok((request.budget, full)) };
        let floor = given.map_or(0.0, Rational::to_f64);
        let most = request.budget.to_f64();
        let at = |budget: f64| -> Result<Option<(Rational, Choice)>, CopiesError> {
            let budget = round::up_small(budget).filter(|b| *b < request.budget).unwrap_or(request.budget);
            let choice = planned(budget)?;
            Ok(self.keeps(narrowest, &choice.planned.plan).then_some((budget, choice)))
        };
        let (mut low, mut high) = (floor, most);
        let mut best = (request.budget, full);
        let mut step = FIRST_STEP;
        let mut guess = start.to_f64().max(floor);
        // From the guess up to what keeps it, and down to what does not.
        loop {
            match at(guess)? {
                Some(found) => {
                    (best, high) = (found, guess);
                    if !self.keeps_with_more_noise(narrowest, &best.1.planned.plan) {
                        return Ok(best);
                    }
                    guess = high / (1.0 + step);
                    if guess <= low {
                        break;
                    }
                }
                None => {
                    low = guess;
                    guess *= 1.0 + step;
                    if guess >= high {
                        break;
                    }
                }
            }
            step *= 2.0;
        }
        while high > low * FINE {
            let middle = 0.5 * (low + high);
            match at(middle)? {
                Some(found) => (best, high) = (found, middle),
                None => low = middle,
            }
        }
        Ok(best)
    }

    /// Who wants the narrowest margin.
    fn narrowest(&self) -> Option<&Wish> {
        let margins = self.wishes.iter().filter(|w| w.budget.is_none());
        margins.min_by(|a, b| a.margin.total_cmp(&b.margin))
    }

    /// Whether the most precise copy of a plan keeps a margin.
    fn keeps(&self, wish: &Wish, plan: &Plan) -> bool {
        self.worst_at(plan, PARTS, wish).is_ok_and(|(half, _)| half <= wish.margin)
    }

    /// Whether a copy with a little less budget than that keeps it, too.
    fn keeps_with_more_noise(&self, wish: &Wish, plan: &Plan) -> bool {
        self.worst_at(plan, PARTS + PARTS / 64, wish).is_ok_and(|(half, _)| half <= wish.margin)
    }

    /// The worst cell's half-width in a copy that has so many parts of the noise.
    fn worst_at(&self, plan: &Plan, parts: u128, wish: &Wish) -> Result<(f64, String), CopiesError> {
        let factor = Rational::new(parts, PARTS).ok_or(PlanError::Budget(plan.budget))?;
        let recipient = |name: &str, factor| Recipient { name: name.into(), factor };
        let recipients = vec![recipient("", Rational::ONE), recipient(&wish.name, factor)];
        let plans = plan.copies(self.mode, recipients)?;
        let copy = plans.last().ok_or(PlanError::Budget(plan.budget))?;
        worst(self.request, copy).ok_or_else(|| CopiesError::TooMany(wish.name.clone()))
    }

    /// What each recipient's copy may cost, where `plan` is that of the most precise copy and may cost `most`.
    fn amounts(&self, most: Rational, plan: &Plan) -> Result<Vec<Rational>, CopiesError> {
        let mut tried = Tried::default();
        let mut least = |w: &Wish| match w.budget {
            Some(budget) => Ok(budget),
            None => most
                .checked_div(self.least(plan, w, &mut tried)?)
                .ok_or(CopiesError::Plan(PlanError::Budget(most))),
        };
        self.wishes.iter().map(&mut least).collect()
    }

    /// The copies that these budgets give.
    fn at(&self, choice: &Choice, amounts: &[Rational]) -> Result<Copies, CopiesError> {
        let Wishes { request, mode, wishes, .. } = self;
        let most = choice.planned.plan.budget;
        let mut order: Vec<usize> = (0..wishes.len()).collect();
        // Stable: equals stay in the order of the spec.
        order.sort_by(|&a, &b| amounts[b].cmp(&amounts[a]));
        let overflow = |name: &str| CopyError::Scale(name.into());
        let recipients = order
            .iter()
            .map(|&i| {
                let name = wishes[i].name.clone();
                // Whoever has most has the plan itself: the search for the others is no finer than a part in a thousand.
                let own = if amounts[i] == amounts[order[0]] { most } else { amounts[i] };
                let factor = most.checked_div(own).ok_or_else(|| overflow(&name))?;
                Ok(Recipient { name, factor })
            })
            .collect::<Result<Vec<_>, CopyError>>()?;
        let plan = &choice.planned.plan;
        let plans = plan.copies(*mode, recipients)?;
        let over = request.over(plan.measure);
        let frame = Frame::new(&over.cube, &plan.levels);
        // Copies with one factor differ in nothing that they cost or tell.
        let factors: Vec<_> = plans.iter().map(factor).collect();
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
        let joint_budget = cost::joint_budget(first).ok_or(PlanError::Budget(first.budget))?;
        if joint > joint_budget {
            return Err(PlanError::OverBudget(joint, joint_budget).into());
        }
        let different = factors.iter().collect::<BTreeSet<_>>().len();
        let few = different * plan.rows().workload.len() <= MOST_LAWS;
        let margins = alike(&factors, &plans, |p| few.then(|| worst(request, p)).flatten().map(|w| w.0));
        Ok(Copies { plans, costs, margins, sums: Vec::new(), kept: Vec::new(), joint, joint_budget })
    }

    /// The copies, with what is said of their sums and of the spec's targets.
    fn promised(&self, copies: Copies) -> Copies {
        let factors: Vec<_> = copies.plans.iter().map(factor).collect();
        let different = factors.iter().collect::<BTreeSet<_>>().len();
        let request = self.request;
        let laws: usize = request.sums.iter().map(|s| s.tables.len()).sum();
        let sums = |plan: &Plan| -> Vec<(String, Option<f64>)> {
            let few = different * laws <= MOST_LAWS;
            let of = |s: &Summed| {
                let half = few.then(|| worst_sum(request, s, plan)).flatten();
                (s.quantity.name.clone(), half)
            };
            request.sums.iter().map(of).collect()
        };
        let kept = |plan: &Plan| if different <= MOST_TABLES { kept(request, plan) } else { None };
        let (sums, kept) = (alike(&factors, &copies.plans, sums), alike(&factors, &copies.plans, kept));
        Copies { sums, kept, ..copies }
    }

    /// By how much a recipient's copy can have more noise than the most precise one and keep its margin.
    fn least(&self, plan: &Plan, wish: &Wish, tried: &mut Tried) -> Result<Rational, CopiesError> {
        let mut at = |parts: u128| -> Result<(f64, String), CopiesError> {
            let fits = tried.range(parts..).find(|(_, (half, _))| *half <= wish.margin);
            let fails = || tried.range(..=parts).rev().find(|(_, (half, _))| !(*half <= wish.margin));
            if let Some((_, known)) = tried.get_key_value(&parts).or(fits).or_else(fails) {
                return Ok(known.clone());
            }
            let found = self.worst_at(plan, parts, wish)?;
            tried.insert(parts, found.clone());
            Ok(found)
        };
        let (best, table) = at(PARTS)?;
        if !(best <= wish.margin) {
            let tables = if table.is_empty() { String::new() } else { format!(" (in {table})") };
            let (name, wanted) = (wish.name.clone(), wish.margin);
            return Err(CopiesError::Margin { name, wanted, best: format!("{best:.6}"), tables });
        }
        let mut fits = |parts: u128| at(parts).is_ok_and(|(half, _)| half <= wish.margin);
        let (mut low, mut high) = (PARTS, 2 * PARTS);
        while high < PARTS << WIDEST && fits(high) {
            (low, high) = (high, 2 * high);
        }
        // To one part in a thousand.
        while high - low > 1 && (high - low) * 1000 > low {
            let middle = low.midpoint(high);
            if fits(middle) { low = middle } else { high = middle }
        }
        Rational::new(low, PARTS).ok_or(CopiesError::Plan(PlanError::Budget(plan.budget)))
    }
}

/// How many times the noise of the most precise copy a copy has.
fn factor(plan: &Plan) -> Option<Rational> {
    plan.copy.as_ref().and_then(|c| Some(c.recipients.get(c.own)?.factor))
}

/// Half the width of the 95 % interval of the sum that is known least well, of a number's tables of cells.
fn worst_sum(request: &Request, of: &Summed, plan: &Plan) -> Option<f64> {
    let over = request.over(plan.measure);
    let target = Target { margin: Rational::ONE, level: Rational::new(19, 20)? };
    let tables = of.tables.iter().filter(|t| t.asks.is_cells()).map(|t| (&t.cuboid, target)).collect();
    let halves = Evaluator::half_widths(&over.cube, plan, &[], &[(&of.quantity, tables)]);
    halves.into_iter().try_fold(0.0, |most: f64, half| Some(most.max(half?)))
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

/// The half-widths of copies that were tried, by their factors in [`PARTS`]: more noise, wider intervals. What was tried for one margin decides
/// most of the next.
type Tried = BTreeMap<u128, (f64, String)>;

/// The half-width of the 95 % interval of the worst cell of any table, and which table that is. `None` where there are no cells, or too many
/// tables.
fn worst(request: &Request, plan: &Plan) -> Option<(f64, String)> {
    let tables = &plan.rows().workload;
    if tables.is_empty() || tables.len() > MOST_TABLES {
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
