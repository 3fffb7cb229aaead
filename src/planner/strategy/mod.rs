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
mod landscape;
mod matrix;
mod queries;
mod residual;
mod tables;
mod trees;
mod wavelet;

pub use ask::Ask;
pub use cluster::Found;
pub use residual::component_reading;

use super::Request;
use super::objective::Certificate;
use crate::cube::{Cuboid, Frame};
use crate::plan::limits::MAX_MEASUREMENTS;
use crate::plan::strategy::strategies;
use crate::plan::{BudgetRule, Measure, Measurement};

/// Why a strategy does not apply to a workload. Shown in comparisons.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotApplicable {
    /// Residuals are measured with Gaussian noise.
    #[error("needs Gaussian noise (rho, or epsilon with delta)")]
    NeedsGaussian,
    /// Nothing but cells is asked for.
    #[error("only cells and totals are asked for; `residual` is the best for those")]
    NothingOrdered,
    /// The numbers are beyond what can be computed with.
    #[error("found no basis in whole numbers for what is asked of a dimension")]
    NoBasis,
    /// The finest cuboid is too large to count.
    #[error("its one table would have {0} cells; the most is {MOST_CELLS}")]
    TooManyCells(String),
    /// The integers would not fit.
    #[error("the integer scale of {0} does not fit")]
    ScaleTooLarge(String),
    /// The searches try pairs of tables.
    #[error("the workload has too many tables or levels to search")]
    TooManyTables,
    /// A table that was asked for does not follow from those that are measured.
    #[error("no measured table holds {0}")]
    NotHeld(String),
    /// A binary tree has more components than a release may measure.
    #[error("its binary trees have more than {MAX_MEASUREMENTS} groups of differences")]
    TooManyComponents,
    /// Bits of one level do not tell the groups of another.
    #[error("codes each dimension in bits at one level only; the workload uses several levels of {0}")]
    SeveralLevels(String),
    /// `matrix` without rows.
    #[error("it needs `rows`: a file of linear queries")]
    NoRows,
    /// A table that was asked for is no combination of the rows.
    #[error("its rows do not determine {0}")]
    NotDetermined(String),
    /// Rows that cannot be worked with.
    #[error("{0}")]
    Rows(String),
    /// Sums of cells over unequal groups, or from rows, are predicted one by one.
    #[error("what is asked of {0} is too much to be predicted one by one, as it would have to be here")]
    TooManyQueries(String),
    /// Each kind of cell over unequal groups is predicted by itself.
    #[error(
        "the cells of {0} are of too many kinds, as its groups have so many different sizes: the errors of whole tables would have to be worked out \
         one by one. Ask for it at one level of each dimension, in fewer dimensions together, or by groups of one size"
    )]
    TooManyKinds(String),
    /// `given` without shares.
    #[error("it needs `shares`: which tables to measure, and each one's part of the budget")]
    NoShares,
    /// The budget is so small or so large that the noise cannot be drawn.
    #[error("the budget is so small or so large that the noise for {0} cannot be drawn")]
    ScaleOutOfRange(String),
    /// Counts times the integer scale, with noise.
    #[error("with a billion rows the integers of {0} would not fit 64 bits")]
    IntegersTooLarge(String),
    /// A measurement is one section of a file.
    #[error("{0} and its noise would take more than the 2^30 bytes of a section of a release")]
    SectionTooLarge(String),
    /// The file would have too many sections.
    #[error("its measurements would take more sections than a release may have")]
    TooManySections,
}

/// The largest table that is counted.
pub const MOST_CELLS: u64 = 1 << 31;
/// A strategy that searches measures no more cells than this, or than the workload itself has; nor does
/// `auto` choose one that does.
pub const MANY_CELLS: f64 = (1u64 << 26) as f64;
/// A set of measurements, with its certificate where the objective asks for one.
pub type Measured = (Vec<Measurement>, Option<Certificate>);

/// What the rules for sharing the budget are to a strategy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rules {
    /// It measures by one or the other.
    Apart,
    /// With optimal budgets it looks at equal ones itself.
    Within,
    /// They change nothing.
    Fixed,
}

/// What a strategy knows about itself. To most questions most give the same answer.
trait Strategy {
    /// Sets of measurements, of which the one with the least exact prediction is meant: what a search predicts itself is for
    /// continuous noise and balanced levels.
    fn measure(&self, ask: &Ask) -> Result<Vec<Measured>, NotApplicable>;

    /// What tells whether a request brings what it needs beside a workload. `None`: it needs no more.
    fn needs(&self) -> Option<fn(&Request) -> bool> {
        None
    }

    /// What the rules for the budgets are to it.
    fn rules(&self) -> Rules {
        Rules::Apart
    }

    /// Whether it searches for its tables, which takes seconds.
    fn searches(&self) -> bool {
        false
    }

    /// The levels in use.
    fn levels(&self, request: &Request) -> Result<Vec<Vec<u8>>, NotApplicable> {
        Ok(levels_of(request, None))
    }
}

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

/// The levels of the tables asked for, of those that have a share, and of one more.
fn levels_of(request: &Request, more: Option<&Cuboid>) -> Vec<Vec<u8>> {
    let tables = request.workload.iter().map(|t| &t.cuboid);
    let shares = request.shares.iter().map(|s| &s.cuboid);
    Frame::levels_of(&request.cube, tables.chain(shares).chain(more))
}

/// The strategies that need no more than a workload, in the order of comparisons.
pub fn general() -> impl Iterator<Item = Measure> {
    Measure::ALL.iter().copied().filter(|&m| of(m).needs().is_none())
}

/// What a comparison under these rules looks at: all that is general, then what the request brings something for.
pub fn compared(request: &Request, budgets: &[BudgetRule]) -> Vec<(Measure, Vec<BudgetRule>)> {
    let brought = |m: &Measure| of(*m).needs().is_some_and(|brings| brings(request));
    let rules = |m| match of(m).rules() {
        Rules::Fixed => vec![request.budgets],
        Rules::Apart | Rules::Within => budgets.to_vec(),
    };
    general().chain(Measure::ALL.iter().copied().filter(brought)).map(|m| (m, rules(m))).collect()
}

/// The levels that a strategy uses, for a request [over](Request::over) them.
pub fn levels(measure: Measure, request: &Request) -> Result<Vec<Vec<u8>>, NotApplicable> {
    of(measure).levels(request)
}

/// Whether a strategy shares out the budget itself.
pub fn shares(measure: Measure) -> bool {
    of(measure).rules() != Rules::Fixed
}

/// Whether a strategy searches for its tables, which takes seconds.
pub fn searches(measure: Measure) -> bool {
    of(measure).searches()
}

/// The measurements of one strategy: sets of which the one with the least exact prediction is meant.
///
/// The closed forms of the budgets are the best for direct recovery, and a search under one rule may end where one under
/// the other does not. So with optimal budgets equal ones are in the set as well: optimal is never the worse of the two.
pub fn measurements(measure: Measure, ask: &Ask) -> Result<Vec<Measured>, NotApplicable> {
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
