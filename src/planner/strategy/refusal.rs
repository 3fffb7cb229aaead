//! What a strategy finds, or why it does not apply.

use crate::plan::Measurement;
use crate::plan::limits::MAX_MEASUREMENTS;
use crate::planner::objective::Certificate;

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
    /// Where `auto` compares.
    #[error(
        "the errors of {0} would take long to be worked out, as its groups have so many different sizes, and `auto` does not wait for that: ask for this \
         strategy by its name"
    )]
    TooLong(String),
    /// Of weights of nodes; these three are shown beside a plan with even shares.
    #[error("the budgets are to be uniform")]
    EvenBudgets,
    /// Known zeros are not used by components with weights.
    #[error("cells are declared empty")]
    EvenZeros,
    /// By the exact prediction.
    #[error("weights are predicted to be no better")]
    NoBetter,
    /// Sums of all rows.
    #[error(
        "of one number, the sum of all rows, it measures nothing where `neighbours = \"substitute\"` makes the number of rows public: take `queries` or `base`"
    )]
    AllRows,
    /// Sums of numbers.
    #[error(
        "sums are planned by `residual`, `queries`, `base` or `tables`, and by `bases` where `ask` wants more than cells"
    )]
    Sums,
    /// Sums by a strategy that takes halves of halves.
    #[error(
        "of one dimension that ranges are asked of it measures halves of halves, which are planned for counts alone: take `bases`, `residual` or `queries`"
    )]
    SumsOfHalves,
    /// Rows over all cells at once.
    #[error(
        "it is for the least total variance of counts: beside sums, exact tables, cells declared empty, changed units, other budgets and where the exact law \
         of the loss is counted on it is not looked for"
    )]
    NotTogether,
    /// `given` without shares.
    #[error("it needs `shares`: which tables to measure, and each one's part of the budget")]
    NoShares,
    /// The budget is so small or so large that the noise cannot be drawn.
    #[error(
        "the budget is so small or so large, or an amount has so many steps, that the noise for {0} cannot be drawn"
    )]
    ScaleOutOfRange(String),
    /// Counts times the integer scale, with noise.
    #[error("with 2^40 rows the integers of {0} would not fit: those of coarser levels are smaller")]
    IntegersTooLarge(String),
    /// The same of what rows have of a number, which is in steps.
    #[error(
        "with 2^40 rows the integers of {0} would not fit. A larger `step` makes them smaller, or bounds nearer to each other"
    )]
    SumsTooLarge(String),
    /// A measurement is one section of a file.
    #[error("{0} and its noise would take more than the 2^30 bytes of a section of a release")]
    SectionTooLarge(String),
    /// The file would have too many sections.
    #[error("its measurements would take more sections than a release may have")]
    TooManySections,
}

/// The largest table that is counted.
pub(crate) const MOST_CELLS: u64 = crate::plan::limits::MAX_CELLS;
/// A strategy that searches measures no more cells than this, or than the workload itself has; nor does
/// `auto` choose one that does.
pub(crate) const MANY_CELLS: f64 = (1u64 << 26) as f64;
/// A set of measurements, with its certificate where the objective asks for one.
pub(crate) type Measured = (Vec<Measurement>, Option<Certificate>);
