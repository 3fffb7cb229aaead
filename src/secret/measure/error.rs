//! What may be wrong with a measuring.

use crate::exact::Rational;
use crate::plan::cost::CostError;
use crate::secret::count::CountError;
use crate::secret::noise::NoiseError;

/// Why measuring stopped. Nothing here depends on the data, save that a count times its scale did not fit.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The plan's cost cannot be computed.
    #[error(transparent)]
    Cost(#[from] CostError),
    /// The plan costs more than it says.
    #[error("the plan costs {0}, which is more than its budget {1}; nothing was measured")]
    OverBudget(Rational, Rational),
    /// The plan is for other rows.
    #[error(transparent)]
    Count(#[from] CountError),
    /// The noise cannot be drawn.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// Exact tables that the plan does not name, or without a reason.
    #[error("the tables to be published exactly are not those the plan declares; nothing was counted")]
    Undeclared,
    /// More rows than the plan's integers have room for.
    #[error(
        "the data has more rows than the {0} that this plan's integers or the sections of a release have room for; nothing \
         was charged. Ask for smaller tables, or for amounts with fewer steps"
    )]
    TooManyRows(u64),
    /// Plans that are not the copies of one measuring.
    #[error("these plans are not the copies of one measuring; nothing was counted")]
    NotCopies,
    /// Whoever waits for it asked it to stop.
    #[error("interrupted")]
    Stopped,
    /// An integer did not fit.
    #[error("measurement {0} does not fit its integers")]
    Overflow(usize),
    /// The receiver of the measurements failed.
    #[error(transparent)]
    Sink(Box<dyn std::error::Error + Send + Sync>),
}
