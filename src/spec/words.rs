//! The closed lists of words in a spec. A rule that is added to the plan is added here; strategies have their own list.

use super::{Encoding, Format};
use crate::plan::Objective;
use crate::plan::strategy::strategies;
use crate::plan::{BudgetRule, Measure, Neighbours};

/// `unit`, where it is a word.
pub(super) const UNITS: &[(&str, ())] = &[("row", ())];

/// `format`, and the endings of files.
pub(super) const FORMATS: &[(&str, Format)] = &[("csv", Format::Csv), ("parquet", Format::Parquet)];

/// `encoding`.
pub(super) const ENCODINGS: &[(&str, Encoding)] =
    &[("utf-8", Encoding::Utf8), ("latin-1", Encoding::Latin1), ("windows-1252", Encoding::Windows1252)];

/// `neighbours`.
pub(super) const NEIGHBOURS: &[(&str, Neighbours)] =
    &[("add-remove", Neighbours::AddRemove), ("substitute", Neighbours::Substitute)];

macro_rules! measures {
    ($($(#[$help:meta])* $name:ident = $tag:literal $word:literal $file:ident;)+) => {
        /// `measure`; `None` lets the planner choose.
        pub(super) const MEASURES: &[(&str, Option<Measure>)] =
            &[("auto", None), $(($word, Some(Measure::$name))),+];
    };
}
strategies!(measures);

/// `budgets`.
pub(super) const BUDGETS: &[(&str, BudgetRule)] =
    &[("optimal", BudgetRule::Optimal), ("uniform", BudgetRule::Uniform)];

/// `objective`.
pub(super) const OBJECTIVES: &[(&str, Objective)] =
    &[("total", Objective::Total), ("worst", Objective::Worst), ("targets", Objective::Targets)];

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(value: impl serde::Serialize) -> String {
        serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
    }

    /// The words are the names that a release stores.
    #[test]
    fn words_are_the_names_in_a_plan() {
        for &(word, value) in NEIGHBOURS {
            assert_eq!(stored(value), word);
        }
        for &(word, value) in MEASURES {
            assert_eq!(value.map_or("auto".to_owned(), stored), word);
        }
        let manual = include_str!("../../docs/spec.md");
        let line = manual.lines().find(|l| l.starts_with("| `measure` |")).unwrap();
        for (word, _) in MEASURES {
            assert!(line.contains(&format!("`\"{word}\"`")), "docs/spec.md does not have {word}");
        }
        for &(word, value) in BUDGETS {
            assert_eq!(stored(value), word);
        }
        for &(word, value) in OBJECTIVES {
            assert_eq!(stored(value), word);
            assert_eq!(value.name(), word);
        }
    }
}
