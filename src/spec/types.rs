//! A spec that has been read, checked and resolved: names are indices, lists are domains.

use super::digits::Digits;
use super::{DayFormat, SpecErrors};
use crate::cube::Quantity;
use crate::cube::{Cube, Cuboid};
use crate::exact::Rational;
use crate::plan::copies::Mode;
use crate::plan::{BudgetRule, Measure, Neighbours, Noise, Rows, Share, Table};
use crate::plan::{Objective, Target};
use crate::projection::Size;
use crate::recover::zeros::Zero;
use crate::release::{Dataset, Without};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A whole spec, ready to plan.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The release's name: file name and the FROM name of queries.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// More for people.
    pub description: Option<String>,
    /// Under which terms the release may be used.
    pub licence: Option<String>,
    /// Whom to ask.
    pub contact: Option<String>,
    /// The release this one replaces.
    pub supersedes: Option<String>,
    /// Where classes of reliability end, in per cent, where they are not the usual ones.
    pub(crate) reliability: Vec<Rational>,
    /// A bundled example with made-up data: may be sealed with a throw-away key.
    pub demo: bool,
    /// Of whom the counts are; without it the release is combined with no other.
    pub dataset: Option<Dataset>,
    /// Where and for whom its account is kept.
    pub(crate) account: AccountSpec,
    /// Who gets a copy; `None` is one release for everybody.
    pub(crate) recipients: Option<Recipients>,
    /// A projection instead of tables.
    pub(crate) projection: Option<ProjectionSpec>,
    /// Where the rows are; `None` when the spec is for planning only.
    pub(crate) data: Option<Data>,
    /// Who is protected and how well.
    pub(crate) privacy: Privacy,
    /// Dimensions and their levels.
    pub cube: Arc<Cube>,
    /// How each dimension is read from the data, parallel to `cube.dimensions`.
    pub(crate) columns: Vec<Column>,
    /// The tables asked for, each once.
    pub workload: Vec<Table>,
    /// Numbers that rows have, each with the tables of its sums.
    pub(crate) amounts: Vec<AmountSpec>,
    /// For each table of the workload how precise it must be, where the spec says so.
    pub targets: Vec<Option<Target>>,
    /// The tables of the workload that are published without noise.
    pub(crate) exact: Vec<ExactTable>,
    /// Conditions whose cells are empty whatever the data, resolved.
    pub zeros: Vec<Zero>,
    /// What to measure.
    pub(crate) strategy: StrategySpec,
    /// What `margins init` drafted from the data and nobody has confirmed: why there can be no release yet.
    pub(crate) unconfirmed: Option<Unconfirmed>,
    /// Where the spec is, if it is a file.
    pub file: Option<PathBuf>,
    /// The spec file, byte for byte.
    pub source: String,
    /// Files the spec refers to that became part of it (hierarchies, rows): name and bytes.
    pub attachments: Vec<(String, Vec<u8>)>,
}

/// What keeps a draft from being released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unconfirmed {
    /// Each of its places.
    pub mistakes: SpecErrors,
    /// How many of them are lists with `confirmed = false`.
    pub lists: usize,
    /// How many of them are lines of suggestions.
    pub suggestions: usize,
}

impl Spec {
    /// Refuses a spec with lists that nobody has confirmed: a release would publish values of the data that its holder never
    /// looked at.
    pub(crate) fn confirmed(&self) -> Result<(), SpecErrors> {
        self.unconfirmed.as_ref().map_or(Ok(()), |u| Err(u.mistakes.clone()))
    }

    /// The paths in the spec that begin at the root or at somebody's home. They are sealed with the spec, and tell names of folders
    /// and of people.
    pub(crate) fn absolute_paths(&self) -> Vec<String> {
        let Ok(table) = self.source.parse::<toml::Table>() else { return Vec::new() };
        let data = table.get("data").and_then(|d| d.get("path"));
        let ledger = table.get("dataset").and_then(|d| d.get("ledger"));
        let strategy = table.get("strategy");
        let of_strategy = ["rows", "expected"].into_iter().filter_map(|key| strategy?.get(key)?.get("file"));
        let dimensions = table.get("dimension").and_then(|d| d.as_array()).into_iter().flatten();
        let of_dimensions = dimensions.flat_map(|d| [d.get("hierarchy"), d.get("labels")]).flatten();
        let said = data.into_iter().chain(ledger).chain(of_dimensions).chain(of_strategy);
        let absolute = |p: &&str| {
            let drive = p.as_bytes().get(1) == Some(&b':');
            p.starts_with(['/', '\\', '~']) || drive
        };
        said.filter_map(|v| v.as_str()).filter(absolute).map(str::to_owned).collect()
    }
}

/// What `[dataset]` says of the account that a release is charged to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AccountSpec {
    /// The ledger's file, resolved against the spec's folder.
    pub ledger: Option<PathBuf>,
    /// Whom the account protects, where that is not the release's own unit.
    pub unit: Option<String>,
    /// How many units of the release one of those is at most.
    pub unit_of: u32,
    /// The part of the data that is counted, `region=north`.
    pub part: Option<String>,
}

impl Default for AccountSpec {
    /// The release's own unit, in the default ledger.
    fn default() -> AccountSpec {
        AccountSpec { ledger: None, unit: None, unit_of: 1, part: None }
    }
}

/// The most columns whose product a number is.
pub(crate) const MOST_FACTORS: usize = 4;

/// A number that rows have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AmountSpec {
    /// Its name, bounds and step.
    pub quantity: Arc<Quantity>,
    /// The columns of the data: of several the value is their product.
    pub columns: Vec<String>,
    /// The tables of its sums, weighed by what they want of what is measured from the middle.
    pub tables: Vec<Table>,
    /// For each of these tables how precise its sums must be.
    pub(crate) targets: Vec<Option<Target>>,
    /// Those of them whose sums are published without noise.
    pub exact: Vec<Cuboid>,
    /// Whether squares are summed, too: for variances.
    pub square: bool,
    /// The part of the budget with which the rows are counted whose value is moved to an end.
    pub clamping: Option<Rational>,
    /// Of weights: whether tables also tell how many rows there are, for its own sake.
    pub unweighted: bool,
}

impl Spec {
    /// The numbers that are added up, in this order everywhere: those that tables ask for.
    pub(crate) fn summed(&self) -> impl Iterator<Item = &AmountSpec> {
        self.amounts.iter().filter(|a| !a.tables.is_empty())
    }
}

/// Where the rows are.
#[derive(Debug, Clone)]
pub(crate) struct Data {
    /// Resolved against the spec's folder.
    pub path: PathBuf,
    /// CSV or Parquet; of standard input the command may say it.
    pub format: Option<Format>,
    /// How the CSV is written.
    pub csv: CsvOptions,
    /// What cells say, whatever the file.
    pub blanks: Blanks,
}

/// What the cells of all columns say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Blanks {
    /// Texts that are no values: such a cell is empty.
    pub empty: Vec<String>,
    /// Whether blanks before and behind a value are no part of it.
    pub trim: bool,
}

impl Blanks {
    /// What a cell says; nothing where it is empty.
    pub(crate) fn value<'c>(&self, cell: &'c [u8]) -> &'c [u8] {
        let cell = if self.trim { cell.trim_ascii() } else { cell };
        if self.empty.iter().any(|empty| empty.as_bytes() == cell) { &[] } else { cell }
    }

    /// Whether all cells say what they are.
    pub(crate) fn is_plain(&self) -> bool {
        !self.trim && self.empty.is_empty()
    }
}

/// A file format for rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Comma-separated values.
    Csv,
    /// Apache Parquet.
    Parquet,
}

/// How a CSV file is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CsvOptions {
    /// Between fields; a comma by default.
    pub delimiter: u8,
    /// Around fields; a double quote by default.
    pub quote: u8,
    /// The columns' names when the file has no header row.
    pub columns: Option<Vec<String>>,
    /// How its text is written in bytes; UTF-8 by default.
    pub encoding: Encoding,
    /// How its numbers are written.
    pub numbers: Digits,
}

impl Default for CsvOptions {
    /// Commas, double quotes, a header, UTF-8, `1234.5`.
    fn default() -> CsvOptions {
        CsvOptions {
            delimiter: b',',
            quote: b'"',
            columns: None,
            encoding: Encoding::Utf8,
            numbers: Digits::default(),
        }
    }
}

/// How text is written in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// UTF-8.
    Utf8,
    /// ISO 8859-1: every byte is the character of its number, 0x80 to 0x9F are none.
    Latin1,
    /// Windows-1252: as ISO 8859-1, with punctuation and letters at most of 0x80 to 0x9F.
    Windows1252,
}

/// Who is protected and how well.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Privacy {
    /// Whom the guarantee protects.
    pub unit: Unit,
    /// What a neighbouring dataset is.
    pub neighbours: Neighbours,
    /// How much may be spent.
    pub budget: Budget,
    /// The part of the budget that measures how many units had more rows than count; `None` measures nothing.
    pub cut_units: Option<Rational>,
}

/// Whom the guarantee protects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Every row is its own unit.
    Row,
    /// All rows with the same value in a column are one unit, and at most `max_rows` of them count.
    Column {
        /// The identifying column.
        column: String,
        /// How many of a unit's rows count.
        max_rows: u32,
        /// The columns that order them; where there are none, the file does.
        order: Vec<String>,
        /// What becomes of rows without one; `None` stops the run.
        without: Option<Without>,
    },
}

/// How much may be spent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Budget {
    /// zCDP.
    Rho(Rational),
    /// Pure differential privacy.
    Epsilon(Rational),
    /// Approximate differential privacy, spent as zCDP.
    EpsilonDelta(Rational, Rational),
}

/// How one dimension is read from the data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    /// The column's name in the data.
    pub column: String,
    /// How its values become nodes of the finest level.
    pub coding: Coding,
    /// The node for empty cells.
    pub missing: Option<u32>,
    /// The node for values outside the domain.
    pub other: Option<u32>,
    /// How its values are written and taken, where that is said.
    pub taken: Taken,
}

/// How the values of one column are written, and what is made of those that are far away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Numbers beyond the ends count at the ends.
    pub clamp: bool,
    /// How days are written, if not as `2024-01-31`.
    pub format: Option<DayFormat>,
    /// Days have a time behind them, which does not count.
    pub time: bool,
}

/// How values become nodes of the finest level.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Coding {
    /// Text that must equal a label.
    Labels(HashMap<String, u32>),
    /// Whole numbers `lo ..= hi`; node = value − lo.
    Range {
        /// The first number.
        lo: i64,
        /// The last number.
        hi: i64,
    },
    /// Any text, hashed: for projections.
    Text,
    /// Days, as days since 1970-01-01; node = day − first.
    Dates {
        /// The first day.
        first: i64,
        /// The last day.
        last: i64,
    },
    /// Numbers; node i holds `edges[i] <= v < edges[i+1]`, the last node also its upper edge.
    Bins {
        /// Ascending, one more than there are nodes.
        edges: Vec<f64>,
    },
}

/// `[projection]`: sums with random signs, for domains too large to list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProjectionSpec {
    /// The rows of a sketch; `None` is dense.
    pub sketch: Option<u32>,
    /// The dimensions of the key.
    pub of: Vec<u16>,
    /// How many integers.
    pub size: Size,
    /// The most cells of one query.
    pub sparsity: u32,
    /// For how many queries the signs are to be good.
    pub queries: u64,
    /// With which probability they are not.
    pub failure: Rational,
    /// Which noise.
    pub noise: Noise,
    /// A public bound of the sum of all squared counts.
    pub norm_bound: Option<u64>,
}

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StrategySpec {
    /// `None` is `auto`: the least predicted error of all that apply.
    pub measure: Option<Measure>,
    /// How the budget is shared.
    pub budgets: BudgetRule,
    /// What the noise is shared out for.
    pub objective: Objective,
    /// For `given`: what is measured, and each table's part of the budget.
    pub shares: Vec<Share>,
    /// For `matrix`: the agency's own linear queries.
    pub rows: Option<Rows>,
    /// How long to search for tables.
    pub effort: u32,
    /// For each table what is expected of its cells, where counts are.
    pub expected: Vec<Expected>,
}

/// What is expected of a table's cells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expected {
    /// The mean of 1/expected, by which the table's weight was multiplied.
    pub factor: Rational,
    /// 1/expected of each cell over that mean; empty where all are alike.
    pub cells: Arc<[f64]>,
}

impl Default for StrategySpec {
    /// What a spec without a strategy gets.
    fn default() -> StrategySpec {
        StrategySpec {
            measure: None,
            budgets: BudgetRule::Optimal,
            objective: Objective::Total,
            shares: Vec::new(),
            rows: None,
            effort: 1,
            expected: Vec::new(),
        }
    }
}

/// A table published without noise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExactTable {
    /// Its shape; it is in the workload too.
    pub cuboid: Cuboid,
    /// Why the agency publishes it so: part of the promise, shown with the release.
    pub reason: String,
}

/// Who gets a copy, and how the copies hang together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Recipients {
    /// How they hang together.
    pub mode: Mode,
    /// In the order of the spec.
    pub list: Vec<Wanted>,
}

/// One recipient.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    /// The name.
    pub name: String,
    /// How precise its copy is.
    pub precision: Precision,
}

/// How precise a copy is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Precision {
    /// What its budget gives: ρ for Gaussian noise, ε for Laplace.
    Budget(Rational),
    /// No more precise than this needs: every cell's 95 % interval of every table is at most ± this.
    Margin(Rational),
}
