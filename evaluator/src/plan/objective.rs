//! What a plan makes small, and how precise a table must be: what a spec asks for and a planner goes by.

use crate::exact::Rational;
use serde::{Deserialize, Serialize};

/// What the noise is shared out for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// The least weighted total variance.
    #[default]
    Total,
    /// The least largest cell variance, times its table's weight.
    Worst,
    /// The least total variance among plans that meet every target and keep all other tables within a factor of what they would have; when none does,
    /// the smallest largest ratio of variance to target.
    Targets,
}

impl Objective {
    /// The name in specs and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Objective::Total => "total",
            Objective::Worst => "worst",
            Objective::Targets => "targets",
        }
    }
}

/// How precise a table must be: its interval at `level` at most `± margin`, in every cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The half-width asked for.
    pub margin: Rational,
    /// The probability with which the interval covers the truth.
    pub level: Rational,
}

impl Target {
    /// The variance at which a normal error just meets the target: `(margin/z)²`.
    pub fn variance(self) -> f64 {
        let z = crate::law::normal_upper_quantile(0.5 * (1.0 - self.level.to_f64()));
        let s = self.margin.to_f64() / z;
        s * s
    }
}
