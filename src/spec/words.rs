//! The closed lists of words in a spec. A rule that is added to the plan is added here; strategies have their own list.

use super::keys::Words;
use super::{Encoding, Format, expected};
use crate::cube::Concept;
use crate::plan::Objective;
use crate::plan::strategy::strategies;
use crate::plan::{BudgetRule, Measure, Neighbours};
use crate::release::Without;

/// `unit`, where it is a word.
pub(super) const UNITS: Words<()> = &[("row", (), "every row is a unit")];

/// `format`, and the endings of files.
pub(crate) const FORMATS: Words<Format> =
    &[("csv", Format::Csv, "delimited text"), ("parquet", Format::Parquet, "Apache Parquet")];

/// `encoding`.
pub(super) const ENCODINGS: Words<Encoding> = &[
    ("utf-8", Encoding::Utf8, "UTF-8 (default)"),
    ("latin-1", Encoding::Latin1, "ISO 8859-1"),
    ("windows-1252", Encoding::Windows1252, "Windows' western alphabet"),
];

/// `without`, of a unit.
pub(super) const WITHOUT: Words<Option<Without>> = &[
    ("stop", None, "the run stops (default)"),
    ("own", Some(Without::Own), "each counts, and is protected by itself as if it were a unit of one row"),
    ("drop", Some(Without::Drop), "they are left out of every count"),
];

/// `time`, of a dimension of days.
pub(super) const TIMES: Words<()> = &[("day", (), "the day counts")];

/// `concept`, of a dimension.
pub(super) const CONCEPTS: Words<Concept> = &[
    ("geography", Concept::Geography, "places, such as areas"),
    ("time", Concept::Time, "when something was"),
];

/// `neighbours`.
pub(super) const NEIGHBOURS: Words<Neighbours> = &[
    ("add-remove", Neighbours::AddRemove, "one unit more or one unit less (default)"),
    (
        "substitute",
        Neighbours::Substitute,
        "one unit changed: the number of units is public, and of one row a unit so is the number of rows: a spec that asks for nothing but their total is refused",
    ),
];

macro_rules! measures {
    ($($(#[doc = $help:literal])* $name:ident = $tag:literal $word:literal $file:ident;)+) => {
        /// `measure`; `None` lets the planner choose.
        pub(super) const MEASURES: Words<Option<Measure>> = &[
            ("auto", None, "The strategy with the least predicted error (under ε and δ each at the ρ of its own law); the choice depends on the spec alone, never on the data (default)"),
            $(($word, Some(Measure::$name), concat!($($help),*).trim_ascii())),+
        ];
    };
}
strategies!(measures);

/// `budgets`.
pub(super) const BUDGETS: Words<BudgetRule> = &[
    (
        "optimal",
        BudgetRule::Optimal,
        "shares made for the objective (default): for the total the least of all shares, but of `queries` and `hierarchy` where they may be a tenth above it",
    ),
    ("uniform", BudgetRule::Uniform, "equal shares for everything that is measured"),
];

/// `objective`.
pub(super) const OBJECTIVES: Words<Option<Objective>> = &[
    ("total", Some(Objective::Total), "the least weighted total variance (default)"),
    ("worst", Some(Objective::Worst), "the least largest variance of an answer, times its table's weight"),
    (
        "targets",
        Some(Objective::Targets),
        "every `margin` met, then the least weighted total variance; `plan` says the least budget that meets them, or the least found",
    ),
    (expected::RELATIVE, None, "the least sum of variances over `expected` counts, each cell's over its own"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(value: impl serde::Serialize) -> String {
        serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
    }

    /// The words are the names that a release stores.
    #[test]
    fn words_are_the_names_in_a_plan() {
        for &(word, value, _) in NEIGHBOURS {
            assert_eq!(stored(value), word);
        }
        for &(word, value, _) in MEASURES {
            assert_eq!(value.map_or("auto".to_owned(), stored), word);
        }
        for &(word, value, _) in BUDGETS {
            assert_eq!(stored(value), word);
        }
        for &(word, value, _) in OBJECTIVES {
            assert_eq!(value.map_or(expected::RELATIVE.to_owned(), stored), word);
            assert_eq!(value.map_or(expected::RELATIVE, Objective::name), word);
        }
    }
}
