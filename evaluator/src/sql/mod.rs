//! One SELECT, resolved against a cube: which table to group by, which cells count, what to show.
//!
//! Nothing is computed here. A query is `SELECT` levels and counts `FROM` a release `WHERE` … `GROUP BY` …
//! `HAVING` … `ORDER BY` … `LIMIT` … `OFFSET`; everything else SQL can say is refused with its place and a way out.
//!
//! How SQL is read:
//! * `age` is the finest level of dimension age, `age.band` a coarser one. Names that are not plain words
//!   stand in double quotes or backticks. A name is looked up as it is written, then in any capitals.
//! * A condition is a set of categories. A category satisfies a comparison with a number when all its
//!   numbers do; one that is cut through is an error. `=` and `IN` take labels or numbers.
//! * A missing value is a category of its own, not NULL: it satisfies only `=`, `<>` and `IN` with its
//!   label, and NOT is the exact complement, so that `NOT (age < 18)` includes it and `age >= 18` does not.
//! * Beside `COUNT(*)` a column can be `COUNT(*) FILTER (WHERE …)`, SUM or AVG of a numeric dimension or of
//!   `CASE WHEN … THEN … ELSE … END`, a total over groups (`SUM(COUNT(*)) OVER (PARTITION BY …)`), and
//!   arithmetic of these and constants. SUM and AVG pass over missing values, as in SQL.

mod bands;
pub(crate) mod clauses;
mod compare;
mod dated;
mod dates;
mod error;
mod expression;
mod figure;
mod flatten;
mod formula;
mod having;
mod like;
mod literal;
pub(crate) mod meaning;
mod names;
mod open;
mod parser;
mod predicate;
mod present;
mod quantile;
mod quote;
mod rank;
mod select;
mod sets;
mod shown;
mod span;
pub(crate) mod syntax;
#[cfg(test)]
mod tests;
mod token;
pub(crate) mod tree;
mod truth;
mod union;
mod walk;

pub(crate) use bands::{Banded, Portion};
pub use error::{Place, SqlError};
pub use expression::Aggregate;
pub(crate) use expression::{Expr, Linear, root};
pub(crate) use formula::{Formula, Operation};
pub(crate) use having::Having;
pub(crate) use names::did_you_mean;
pub(crate) use present::Present;
pub use quote::{quote_names, quoted, quoted_level};
pub(crate) use rank::Ranked;
pub(crate) use shown::told_apart;
pub(crate) use union::united;

use crate::cube::Quantity;
use crate::cube::{Cube, Filter, Level};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A resolved query.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// What to show, in the order of SELECT.
    pub(crate) columns: Vec<SelectColumn>,
    /// The levels to group by, each dimension at most once, in the order of GROUP BY.
    pub group_by: Vec<Level>,
    /// The sets of rows: one, of all groups, but with ROLLUP, CUBE and GROUPING SETS.
    pub(crate) sets: Vec<GroupingSet>,
    /// Which rows count.
    pub filter: Filter,
    /// What the [`SelectColumn::Figure`]s are made of; empty when COUNT(*) is all that is asked.
    pub(crate) aggregates: Vec<Aggregate>,
    /// What to sort by: (index into `columns`, descending).
    pub(crate) order_by: Vec<(usize, bool)>,
    /// Which rows to show, by their estimates.
    pub(crate) having: Option<Having>,
    /// The most rows to show.
    pub limit: Option<u64>,
    /// How many rows before them are not shown.
    pub offset: u64,
    /// Figures that are rounded to so many decimals: (index into `columns`, decimals).
    pub(crate) rounded: Vec<(usize, i32)>,
    /// The name after FROM.
    pub from: String,
    /// What has no number where one is needed.
    pub(crate) left_out: Vec<LeftOut>,
    /// What rows are told apart by beside levels: each CASE of GROUP BY, then levels above those of GROUP BY that a total keeps to. In
    /// [`Aggregate::partition`] they come after the levels.
    pub(crate) bands: Vec<Banded>,
    /// The dimensions that it names, also where no category of them decides.
    pub(crate) named: BTreeSet<usize>,
}

/// What rows of one set are grouped by.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GroupingSet {
    /// For each of [`Query::group_by`] the level, which is that one, a coarser one, or total.
    pub levels: Vec<Level>,
    /// The levels that it names.
    pub named: Vec<Level>,
    /// Whether it has each band that a CASE of GROUP BY makes.
    pub bands: Vec<bool>,
}

/// Categories without a number, where a number is needed. An answer without them is no answer about all units, and whoever reads it
/// must be told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LeftOut {
    /// Index into [`Query::columns`], of a band its label; `None`: all of them, by WHERE, or by a band that is not shown.
    pub column: Option<usize>,
    /// What becomes of their units.
    pub fate: Fate,
    /// The level that is added up or compared: `kids`.
    pub level: String,
    /// Those of its categories that have no number.
    pub categories: Vec<String>,
    /// From which number to which its other categories are.
    pub within: Option<(f64, f64)>,
    /// Which units are in them, over all rows of the answer.
    pub units: Filter,
}

/// What becomes of units that have no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Fate {
    /// A SUM or AVG passes over them.
    NotAdded,
    /// They count as not meeting a comparison.
    Unmet,
    /// They count as meeting the opposite of a comparison.
    Met,
    /// They count where the comparison of a CASE does not hold: in its ELSE, or in a later WHEN.
    Otherwise,
}

impl Fate {
    /// For data.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Fate::NotAdded => "not added",
            Fate::Unmet => "left out",
            Fate::Met => "counted",
            Fate::Otherwise => "counted as not met",
        }
    }
}

/// A column of the answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SelectColumn {
    /// The label of a group.
    Group {
        /// Index into [`Query::group_by`].
        index: usize,
        /// The level it is shown at: that one, or one above it.
        level: Level,
        /// Its alias, or the level's name.
        name: String,
    },
    /// The label of a band of a CASE.
    Band {
        /// Index into [`Query::bands`].
        index: usize,
        /// Its alias, or the CASE as it is written.
        name: String,
    },
    /// `GROUPING(level)`: 1 in rows that are not of single categories of a level, or of a band, and 0 in the others.
    Grouping {
        /// Its alias, or how it is written.
        name: String,
        /// The level; without one the band.
        level: Option<Level>,
        /// Index into [`Query::bands`].
        band: usize,
    },
    /// `COUNT(*)`.
    Count {
        /// Its alias, or `count`.
        name: String,
    },
    /// The least value of an ordered level that at least the share `p` of the units do not exceed.
    Quantile {
        /// Its alias, or how it is written.
        name: String,
        /// Of what: each of its nodes stands for one number, or for none.
        level: Level,
        /// Between 0 and 1.
        p: f64,
    },
    /// The place of a row by a figure, or the probability of some places.
    Rank {
        /// Its alias, or how it is written.
        name: String,
        /// By what, and among which rows.
        ranked: Ranked,
    },
    /// A figure derived from counts and sums.
    Figure {
        /// Its alias, or how it is written.
        name: String,
        /// How it is computed from [`Query::aggregates`].
        expr: Expr,
    },
}

impl SelectColumn {
    /// Whether it says which group a row is of.
    pub(crate) fn is_label(&self) -> bool {
        matches!(self, SelectColumn::Group { .. } | SelectColumn::Band { .. } | SelectColumn::Grouping { .. })
    }

    /// What the column is called in the answer.
    pub(crate) fn name(&self) -> &str {
        match self {
            SelectColumn::Group { name, .. }
            | SelectColumn::Band { name, .. }
            | SelectColumn::Grouping { name, .. }
            | SelectColumn::Count { name }
            | SelectColumn::Quantile { name, .. }
            | SelectColumn::Rank { name, .. }
            | SelectColumn::Figure { name, .. } => name,
        }
    }
}

impl Query {
    /// Whether it asks for a quantile.
    pub(crate) fn has_quantiles(&self) -> bool {
        self.columns.iter().any(|c| matches!(c, SelectColumn::Quantile { .. }))
    }

    /// Whether it asks for places.
    pub(crate) fn has_ranks(&self) -> bool {
        self.columns.iter().any(|c| matches!(c, SelectColumn::Rank { .. }))
    }

    /// Reads one SELECT.
    pub fn parse(text: &str, cube: &Cube) -> Result<Query, SqlError> {
        Query::with_quantities(text, cube, &[])
    }

    /// The same, where sums of numbers can be asked for beside counts.
    pub(crate) fn with_quantities(
        text: &str,
        cube: &Cube,
        quantities: &[Arc<Quantity>],
    ) -> Result<Query, SqlError> {
        let clauses = syntax::parse(text);
        clauses.and_then(|c| select::resolve(&c, cube, &[], quantities)).map_err(|e| e.in_text(text))
    }
}
