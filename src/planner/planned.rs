//! A plan with what it costs and promises, and why there is none.

use super::objective::{CARE, CARED, Certificate, MET, Objective};
use super::parts::MOST_PARTS;
use super::predict::Prediction;
use super::request::Request;
use super::strategy::NotApplicable;
use crate::exact::Rational;
use crate::plan::cost::{Cost, CostError};
use crate::plan::limits::MAX_CELLS;
use crate::plan::{BudgetRule, Measure, Plan, Subject, Table, Target};
use std::sync::Arc;

/// The most cells of a table that is asked for: with so many a section of a release is full. One over groups of areas has a section for each slice.
pub(crate) const MOST_ASKED: u64 = 1 << 28;

/// Why no plan could be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The workload has no table.
    #[error("the workload asks for no table")]
    NoTables,
    /// A table that no release has room for, and no reader.
    #[error(
        "{0} has {1} cells: no table may have more than {MOST_ASKED}, which is what a section of a release has room for, or {MAX_CELLS} where groups \
         of areas (or other categories of a coarser level that is asked for) part it. Ask for fewer dimensions together, or for coarser levels of \
         them"
    )]
    TooLarge(String, String),
    /// A table of too many dimensions or levels to plan.
    #[error(
        "{0} comes apart into {1} parts, one for each way to leave out dimensions or take coarser levels of them: planning has room for {MOST_PARTS:.1e} of a \
         table. Ask for fewer dimensions together"
    )]
    TooManyParts(String, String),
    /// A program's request that weighs other cells than its tables have.
    #[error("there is not one weight for each cell of a table")]
    Weights,
    /// Every table is published without noise.
    #[error("every table asked for is exact: nothing would be protected, so there is nothing to release")]
    AllExact,
    /// Every table of an amount is published without noise.
    #[error(
        "every table of sums of {0} is exact, so nothing of it would be protected: ask for its sums in a table with noise, too, or leave it out"
    )]
    AmountExact(String),
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
    #[error(
        "this budget is too {}: no noise that can be drawn in 64-bit integers fits it",
        if *.0 > Rational::ONE { "large" } else { "small" }
    )]
    Budget(Rational),
    /// With `auto`: nothing applies.
    #[error("no strategy applies: {0}")]
    NothingApplies(String),
    /// The cost cannot be computed.
    #[error(transparent)]
    Cost(#[from] CostError),
    /// Whoever waits for it asked it to stop.
    #[error("interrupted")]
    Stopped,
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
    /// Beside sums, with objectives other than the total, what the objective makes small, of counts and sums.
    pub ratio: Option<f64>,
    /// The request's [`care`](Request::care).
    pub(crate) care: Arc<[f64]>,
    /// What is promised of sums, channel by channel.
    pub(crate) sums: Vec<SumSpread>,
}

/// The errors of a channel beside rows, and its part of the budget.
#[derive(Debug, Clone)]
pub(crate) struct SumSpread {
    /// What is added up.
    pub subject: Subject,
    /// For each of its tables the mean and the largest variance of what is added up in a cell.
    pub tables: Vec<(Table, (f64, f64))>,
    /// Its part of the budget of the tables.
    pub share: Rational,
    /// The weighted sum of variances that it adds to the plan's.
    pub weighted_total: f64,
    /// Of sums: what of their targets is reached.
    pub(crate) aimed: Vec<Aimed>,
}

/// A target of a table's sums, and what is reached of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Aimed {
    /// The number of the table among those of the amount's sums.
    pub(crate) table: usize,
    pub(crate) target: Target,
    /// Half the width of the interval of the cell that is known least well, in the unit of the amount.
    pub(crate) margin: f64,
    /// The same if errors were normal.
    pub(crate) normal: f64,
}

impl Aimed {
    /// The squared margin over that of the target.
    pub(crate) fn ratio(&self) -> f64 {
        let ratio = self.margin / self.target.margin.to_f64();
        ratio * ratio
    }

    /// How much smaller a variance must be than a normal error's to have a margin as small.
    pub(crate) fn tail(&self) -> f64 {
        let ratio = self.normal / self.margin;
        if ratio.is_finite() && ratio > 0.0 { ratio * ratio } else { 1.0 }
    }
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

impl Candidate {
    /// Whether it is of the strategy and the rule that were asked for.
    pub(super) fn is_wanted(&self, request: &Request) -> bool {
        self.budgets == request.budgets && request.measure.is_none_or(|m| m == self.measure)
    }
}

/// What strategies are compared by. `exact` is the largest ratio of a squared margin to its target's, where it is known from the law of the
/// noise; normal errors are assumed otherwise.
pub(crate) fn score(request: &Request, prediction: &Prediction, exact: Option<f64>) -> f64 {
    let worst_by = |scale: &dyn Fn(usize) -> f64| -> f64 {
        prediction.tables.iter().enumerate().map(|(t, s)| s.max * scale(t)).fold(0.0, f64::max)
    };
    match request.objective {
        Objective::Total => prediction.weighted_total,
        Objective::Worst => worst_by(&|t| request.workload[t].weight.to_f64()),
        Objective::Targets => {
            let normal = || worst_by(&|t| request.target_variance(t).map_or(0.0, f64::recip));
            let ratio = exact.unwrap_or_else(normal);
            // Met is met: then the total decides. Missed plans come after all that meet their targets.
            if ratio <= 1.0 + MET { prediction.weighted_total } else { 1e300 * (1.0 + libm::log(ratio)) }
        }
    }
}

impl Planned {
    /// What this plan is compared by, see [`score`].
    pub fn score(&self, request: &Request) -> f64 {
        match self.sums.is_empty() {
            true => match self.careless(request) {
                Some(times) => 1e303 * (1.0 + libm::log(times)),
                None => score(request, &self.prediction, self.ratio),
            },
            false => {
                let worst = self.ratio.unwrap_or(0.0);
                match request.objective {
                    Objective::Worst => worst,
                    Objective::Targets if worst > 1.0 + MET => 1e300 * (1.0 + libm::log(worst)),
                    Objective::Total | Objective::Targets => self.weighted_total(),
                }
            }
        }
    }

    /// The request with care for its tables that have no target, by this plan for the least total.
    pub(super) fn caring(&self, request: &Request) -> Request {
        Request { care: self.prediction.tables.iter().map(|s| s.max).collect(), ..request.clone() }
    }

    /// How many times the standard error that the least total would give it the worst-off table without a target has. `None` where nothing is to be
    /// taken care of.
    pub(crate) fn others(&self, request: &Request) -> Option<f64> {
        let all = self.prediction.tables.iter().zip(self.care.iter()).enumerate();
        let without = all.filter(|&(t, (_, kept))| request.target_variance(t).is_none() && *kept > 0.0);
        without.map(|(_, (own, kept))| (own.max / kept).sqrt()).reduce(f64::max)
    }

    /// The same where it is more than is allowed.
    pub(crate) fn careless(&self, request: &Request) -> Option<f64> {
        self.others(request).filter(|times| !(*times <= CARE * (1.0 + CARED)))
    }

    /// The largest ratio of a squared margin to its target's, where it is more than that.
    pub(crate) fn missed(&self, request: &Request) -> Option<f64> {
        let normal = || {
            let all = self.prediction.tables.iter().enumerate();
            all.filter_map(|(t, s)| Some(s.max / request.target_variance(t)?)).fold(0.0, f64::max)
        };
        Some(self.ratio.unwrap_or_else(normal)).filter(|ratio| *ratio > 1.0 + MET)
    }

    /// The weighted total variance of counts and sums, the latter in squares of their largest value.
    pub(crate) fn weighted_total(&self) -> f64 {
        self.prediction.weighted_total + self.sums.iter().map(|s| s.weighted_total).sum::<f64>()
    }
}
