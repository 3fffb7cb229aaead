//! Which blocks each strategy measures, and at which scale: a file each, behind the private trait [`Strategy`].
//!
//! The files stand in the list of strategies (`plan/strategy.rs`). What they have in common is in [`ask`], and what those that search
//! for tables share in [`landscape`].

mod annealing;
mod ask;
mod base;
mod bases;
mod bound;
mod cluster;
mod designs;
mod fourier;
mod given;
mod hierarchy;
mod kind;
mod landscape;
mod matrix;
mod queries;
mod refusal;
mod residual;
mod tables;
mod together;
mod trees;
mod wavelet;
mod weighted;

pub(crate) use ask::Ask;
pub(crate) use refusal::{MANY_CELLS, Measured, NotApplicable};
pub(crate) use residual::linearised_components;
pub(crate) use weighted::{even, own_kinds};

use super::request::Request;
use crate::plan::strategy::strategies;
use crate::plan::{BudgetRule, Measure};
use kind::{Rules, Strategy};

macro_rules! files {
    ($($(#[$help:meta])* $name:ident = $tag:literal $word:literal $file:ident;)+) => {
        /// The strategy's own file.
        fn of(measure: Measure) -> &'static dyn Strategy {
            match measure {
                $(Measure::$name => &$file::$name),+
            }
        }
    };
}
strategies!(files);

/// The strategies that need no more than a workload, in the order of comparisons.
pub fn general() -> impl Iterator<Item = Measure> {
    Measure::ALL.iter().copied().filter(|&m| of(m).needs().is_none())
}

/// What a comparison under these rules looks at: all that is general, then what the request brings something for.
pub(crate) fn compared(request: &Request, budgets: &[BudgetRule]) -> Vec<(Measure, Vec<BudgetRule>)> {
    let brought = |m: &Measure| of(*m).needs().is_some_and(|brings| brings(request));
    let rules = |m| match of(m).rules() {
        Rules::Fixed => vec![request.budgets],
        Rules::Apart | Rules::Within => budgets.to_vec(),
    };
    general().chain(Measure::ALL.iter().copied().filter(brought)).map(|m| (m, rules(m))).collect()
}

/// The levels that a strategy uses, for a request [over](Request::over) them.
pub(crate) fn levels(measure: Measure, request: &Request) -> Result<Vec<Vec<u8>>, NotApplicable> {
    of(measure).levels(request)
}

/// The levels of a strategy's second plan, where it has one.
pub(crate) fn fewer(measure: Measure, request: &Request) -> Option<Vec<Vec<u8>>> {
    of(measure).fewer(request)
}

/// Whether a strategy shares out the budget itself.
pub(crate) fn shares(measure: Measure) -> bool {
    of(measure).rules() != Rules::Fixed
}

/// The measurements of one strategy: sets of which the one with the least exact prediction is meant.
///
/// The closed forms of the budgets are the best for direct recovery, and a search under one rule may end where one under
/// the other does not. So with optimal budgets equal ones are in the set as well: optimal is never the worse of the two.
pub(crate) fn measurements(measure: Measure, ask: &Ask) -> Result<Vec<Measured>, NotApplicable> {
    let strategy = of(measure);
    let sets = strategy.measure(ask);
    if ask.budgets != BudgetRule::Optimal || strategy.rules() != Rules::Apart {
        return sets;
    }
    let equal = strategy.measure(&Ask { budgets: BudgetRule::Uniform, ..*ask });
    match (sets, equal) {
        (Ok(mut sets), equal) => {
            sets.extend(equal.into_iter().flatten());
            Ok(sets)
        }
        (Err(_), Ok(equal)) => Ok(equal),
        (Err(why), Err(_)) => Err(why),
    }
}
