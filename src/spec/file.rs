//! The shape of a spec file, for editors: its doc comments are the descriptions they show.
//!
//! Nothing is read into these types: [`super::parse`] walks the document itself, so that it can place
//! every mistake. A test holds the two together.

#![allow(dead_code, reason = "only the shape is used")]

use schemars::{JsonSchema, json_schema};
use std::collections::BTreeMap;

/// A release spec of margins: whose data, how it is protected, which tables are released.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    rename = "Spec",
    extend("oneOf" = [
        {"anyOf": [{"required": ["table"]}, {"required": ["query"]}]},
        {"required": ["projection"]},
        {"required": ["asked"]},
    ])
)]
pub(super) struct SpecFile {
    /// The release's name: letters, digits, `-` and `_`. It becomes the file's name and the name of
    /// the table in queries.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"))]
    name: String,
    /// One line for people.
    #[schemars(length(min = 1))]
    title: String,
    /// More for people.
    description: Option<String>,
    /// Under which terms the release may be used.
    licence: Option<String>,
    /// Whom to ask about the release.
    contact: Option<String>,
    /// The release that this one replaces.
    supersedes: Option<String>,
    /// The data are made up, so the release may be sealed with a throw-away key.
    demo: Option<bool>,
    /// Of whom the counts are. Without it the release is combined with no other.
    dataset: Option<DatasetFile>,
    /// Where the rows are. Leave it out to plan without data.
    data: Option<DataFile>,
    /// Who is protected and how well.
    privacy: PrivacyFile,
    /// One attribute each: its public list of categories and coarser levels of them.
    #[schemars(length(min = 1))]
    dimension: Vec<DimensionFile>,
    /// The tables to release.
    #[schemars(length(min = 1))]
    table: Option<Vec<TableFile>>,
    /// Questions in SQL that the release is to answer well.
    #[schemars(length(min = 1))]
    query: Option<Vec<QueryFile>>,
    /// Cells that are empty whatever the data.
    zero: Option<Vec<ZeroFile>>,
    /// What is measured. May be left out.
    strategy: Option<StrategyFile>,
    /// Instead of tables, sums with random signs: for domains too large to list.
    projection: Option<ProjectionFile>,
    /// Instead of tables, questions that are measured themselves: what `margins ask` writes.
    asked: Option<QuestionsFile>,
    /// How the copies for several recipients hang together. May be left out.
    recipients: Option<RecipientsFile>,
    /// Who gets a copy: a file for each, as precise as that recipient may have it.
    #[schemars(length(min = 1))]
    recipient: Option<Vec<RecipientFile>>,
}

/// Questions whose every figure is measured, all with the same noise.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Questions")]
pub(super) struct QuestionsFile {
    /// A SELECT each, of sums of counts with whole factors.
    #[schemars(length(min = 1))]
    queries: Vec<String>,
}

/// How the copies for several recipients hang together.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    rename = "Recipients",
    extend("dependentSchemas" = {"mean": {"required": ["mode"], "properties": {"mode": {"const": "shifted"}}}})
)]
pub(super) struct RecipientsFile {
    /// "nested" unless told.
    mode: Option<RecipientsMode>,
    /// With "shifted": the mean of the secret centres, which are whole numbers, uniform on 0 to twice the mean.
    #[schemars(range(min = 1, max = 1_073_741_824))]
    mean: Option<u32>,
}

/// How copies hang together.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", rename = "RecipientsMode")]
enum RecipientsMode {
    /// Every copy is made from the next more precise one by further noise: together they cost what the most precise one costs.
    Nested,
    /// Every copy is measured by itself, with noise around a secret centre: together they cost the sum.
    Shifted,
}

/// Who gets a copy. Exactly one of `epsilon`, `rho` and `margin` says how precise it is.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    rename = "Recipient",
    extend("oneOf" = [{"required": ["epsilon"]}, {"required": ["rho"]}, {"required": ["margin"]}])
)]
pub(super) struct RecipientFile {
    /// The name, part of the file's name: letters, digits, dots, `-` and `_`.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"))]
    name: String,
    /// What this copy alone may cost, where `[privacy]` has `epsilon`.
    epsilon: Option<RationalText>,
    /// What this copy alone may cost, where `[privacy]` has `rho` or `delta`.
    rho: Option<RationalText>,
    /// No more precise than this needs: every cell's 95 % interval at most plus or minus this.
    margin: Option<RationalText>,
}

/// Of whom the counts are: releases with the same id, signed with the same key, are of the same people.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Dataset")]
pub(super) struct DatasetFile {
    /// The same in every release of these people (or other units): letters, digits, dots, `-` and `_`.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"))]
    id: String,
    /// Of when the data is. Releases of different periods are compared and never averaged.
    #[schemars(length(min = 1, max = 100))]
    period: Option<String>,
    /// Where the ledger is, relative to the spec; `ledger/ID.jsonl` of the working folder unless told.
    #[schemars(length(min = 1, max = 200))]
    ledger: Option<String>,
    /// Whom the account protects, where the release protects somebody else.
    #[schemars(length(min = 1, max = 200))]
    unit: Option<String>,
    /// How many units of this release one of those is at most.
    #[schemars(range(min = 1, max = 1_000_000))]
    unit_of: Option<u32>,
    /// The part of the people whose data this is, `region=north`: nobody is in two parts of one partition.
    #[schemars(regex(pattern = r"^[^=]+=.+$"))]
    part: Option<String>,
}

/// Sums with random signs. Exactly one of `rows`, `size` and `error` says how many.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    rename = "Projection",
    extend("oneOf" = [{"required": ["rows"]}, {"required": ["size"]}, {"required": ["error"]}])
)]
pub(super) struct ProjectionFile {
    /// Every count in every sum, or in one bucket of each row; "dense" unless told.
    kind: Option<ProjectionWord>,
    /// The dimensions of the key; all unless told.
    #[schemars(length(min = 1))]
    of: Option<Vec<String>>,
    /// How many sums.
    #[schemars(range(min = 1))]
    rows: Option<u32>,
    /// As many sums as fit this size: "20 MB", or a number of bytes.
    size: Option<SizeText>,
    /// As few sums as give a single cell this standard error.
    error: Option<RationalText>,
    /// The most cells of one query; 1000 unless told.
    #[schemars(range(min = 1))]
    sparsity: Option<u32>,
    /// For how many queries the signs are to be good; 1000 unless told.
    #[schemars(range(min = 1))]
    queries: Option<u32>,
    /// With which probability they are not; 0.01 unless told.
    failure: Option<RationalText>,
    /// Gaussian noise unless told; "laplace" is the noise of the published algorithm.
    noise: Option<ProjectionNoise>,
    /// A public bound of the sum of all squared counts.
    #[schemars(range(min = 1))]
    norm_bound: Option<u32>,
    /// Of a sketch, how many rows of buckets.
    #[schemars(range(min = 1, max = 4096))]
    sketch_rows: Option<u32>,
}

/// How counts are summed.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", rename = "ProjectionKind")]
enum ProjectionWord {
    /// Every count in every sum.
    Dense,
    /// Every count in one bucket of each row.
    Sketch,
}

/// The noise of a projection.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", rename = "ProjectionNoise")]
enum ProjectionNoise {
    /// Discrete Gaussian noise.
    Gaussian,
    /// Discrete Laplace noise, as published.
    Laplace,
}

/// A size of a file.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "Size")]
enum SizeText {
    /// Bytes.
    Bytes(u32),
    /// A number and a unit.
    Text(String),
}

/// Where the rows are.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Data")]
pub(super) struct DataFile {
    /// The file, relative to the spec.
    path: String,
    /// The file's format, if its name does not end in .csv or .parquet.
    format: Option<FormatWord>,
    /// CSV only: the character between fields, a comma unless told.
    #[schemars(length(min = 1, max = 1))]
    delimiter: Option<String>,
    /// CSV only: the character around fields, a double quote unless told.
    #[schemars(length(min = 1, max = 1))]
    quote: Option<String>,
    /// CSV only: the columns' names, for a file with no header row.
    #[schemars(length(min = 1))]
    columns: Option<Vec<String>>,
    /// CSV only: how text is written in bytes, "utf-8" unless told.
    encoding: Option<EncodingWord>,
}

/// How text is written in bytes.
#[derive(JsonSchema)]
#[schemars(rename = "Encoding")]
enum EncodingWord {
    /// UTF-8.
    #[schemars(rename = "utf-8")]
    Utf8,
    /// ISO 8859-1.
    #[schemars(rename = "latin-1")]
    Latin1,
    /// Windows-1252.
    #[schemars(rename = "windows-1252")]
    Windows1252,
}

/// A file format.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", rename = "Format")]
enum FormatWord {
    /// Comma-separated values.
    Csv,
    /// Apache Parquet.
    Parquet,
}

/// Who is protected and how well. Exactly one of `rho`, `epsilon`, or `epsilon` with `delta`.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    rename = "Privacy",
    extend("oneOf" = [{"required": ["rho"]}, {"required": ["epsilon"]}]),
    extend("dependentRequired" = {"delta": ["epsilon"]})
)]
pub(super) struct PrivacyFile {
    /// Whom the guarantee protects: "row" if every row is another person, or the column that
    /// identifies people and how many rows of one person count.
    unit: UnitFile,
    /// What may differ between neighbouring datasets; "add-remove" unless told.
    neighbours: Option<NeighboursWord>,
    /// The budget in zero-concentrated differential privacy: Gaussian noise.
    rho: Option<RationalText>,
    /// The budget in differential privacy: Laplace noise, or Gaussian noise if there is a `delta`.
    epsilon: Option<RationalText>,
    /// With `epsilon`: the failure probability. Less than one.
    delta: Option<RationalText>,
    /// Where a column is the unit: measure, with noise, how many units have more rows than count. True spends a
    /// hundredth of the budget on it; a number below one is the part of the budget.
    measure_truncation: Option<CutUnitsFile>,
}

/// Whether, or with which part of the budget.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "Truncation")]
enum CutUnitsFile {
    /// Whether.
    Word(bool),
    /// Which part.
    Share(RationalText),
}

/// Whom the guarantee protects.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "Unit")]
enum UnitFile {
    /// Every row is its own unit.
    Word(UnitWord),
    /// All rows with the same value of a column are one unit.
    Column(UnitColumn),
}

/// Every row is its own unit.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", rename = "UnitWord")]
enum UnitWord {
    /// Every row is its own unit.
    Row,
}

/// All rows with the same value of a column are one unit.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct UnitColumn {
    /// The column that identifies units.
    column: String,
    /// How many rows of one unit count.
    #[schemars(range(min = 1))]
    max_rows: u32,
    /// Which rows come first: by this column of whole numbers, days or times, or by these; as the file has them unless told.
    order: Option<OrderText>,
}

/// One column, or several.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "Order")]
enum OrderText {
    /// One.
    Column(String),
    /// The next where the former are equal.
    Columns(#[schemars(length(min = 1, max = 8))] Vec<String>),
}

/// What may differ between neighbouring datasets.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", rename = "Neighbours")]
enum NeighboursWord {
    /// One unit more or one unit less.
    AddRemove,
    /// One unit changed; the number of units is public.
    Substitute,
}

/// One attribute. Exactly one of `categories`, `codes`, `range`, `bins`, `dates`, `hierarchy` and `text` says what
/// its values are. That list is public: never copy it from private data unseen.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    rename = "Dimension",
    extend("oneOf" = [
        {"required": ["categories"]}, {"required": ["codes"]}, {"required": ["range"]},
        {"required": ["bins"]}, {"required": ["dates"]}, {"required": ["hierarchy"]}, {"required": ["text"]},
    ])
)]
pub(super) struct DimensionFile {
    /// The attribute's name in tables and queries.
    #[schemars(length(min = 1))]
    name: String,
    /// The column in the data, if it is called otherwise.
    column: Option<String>,
    /// The values, as text.
    #[schemars(length(min = 1))]
    categories: Option<Vec<String>>,
    /// The values are the whole numbers from 0 to one less than this.
    #[schemars(range(min = 1, max = 10_000_000))]
    codes: Option<u32>,
    /// The values are the whole numbers from the first to the last, both included.
    range: Option<[i64; 2]>,
    /// The ascending edges of bins: each holds its lower edge, the last one also its upper edge.
    #[schemars(length(min = 2))]
    bins: Option<Vec<f64>>,
    /// The values are the days from the first to the last, both included, with the levels `year`, `quarter` and `month`.
    dates: Option<[DayText; 2]>,
    /// A CSV file, relative to the spec: a column for each level, finest first, with a header. The
    /// first column holds the values.
    hierarchy: Option<String>,
    /// Coarser levels, in any order. Each must group whole categories of the next finer one.
    levels: Option<Vec<LevelFile>>,
    /// The category for empty cells; added if it is not one of the categories.
    missing: Option<String>,
    /// The category for values outside the domain; added if it is not one of the categories.
    other: Option<String>,
    /// Any text: for the key of a projection.
    text: Option<bool>,
    /// `false` in drafts of `margins init`: the list came from the data, and there is no release before its holder has read
    /// it and says `true` or removes this.
    confirmed: Option<bool>,
}

/// A day: year, month and day of the month.
#[derive(JsonSchema)]
#[schemars(rename = "Day")]
struct DayText(#[schemars(regex(pattern = r"^\d{4}-\d{2}-\d{2}$"))] String);

/// A coarser level: exactly one of `width`, `cuts` and `map` says how it groups.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    rename = "Level",
    extend("oneOf" = [{"required": ["width"]}, {"required": ["cuts"]}, {"required": ["map"]}])
)]
pub(super) struct LevelFile {
    /// The level's name: `band` in `age.band`.
    #[schemars(length(min = 1))]
    name: String,
    /// For `range` and `codes`: bands of this many numbers, counted from the first.
    #[schemars(range(min = 1))]
    width: Option<u32>,
    /// For numbers: where a new group begins. [18, 65] makes three groups.
    #[schemars(length(min = 1))]
    cuts: Option<Vec<f64>>,
    /// From each category to its group, or from each group to the list of its categories.
    map: Option<BTreeMap<String, MapValue>>,
}

/// A group, or the categories of a group.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum MapValue {
    /// The group of this category.
    Group(String),
    /// The categories of this group.
    Categories(Vec<MapLabel>),
}

/// A category: text, or a whole number of a `range` or `codes`.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum MapLabel {
    /// As text.
    Text(String),
    /// As a number.
    Number(i64),
}

/// Cells that are empty whatever the data: no rows may be in them, and every answer knows it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Zero")]
pub(super) struct ZeroFile {
    /// The condition, as after WHERE in a query: `age < 15 AND work <> 'none'`.
    #[schemars(rename = "where", length(min = 1))]
    condition: String,
}

/// Tables: exactly one of `every`, `up_to` and `of`. A table that comes up in several entries is
/// released once, with the largest of its weights.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    rename = "Table",
    extend("oneOf" = [{"required": ["every"]}, {"required": ["up_to"]}, {"required": ["of"]}]),
    extend("dependentSchemas" = {
        "among": {"not": {"required": ["of"]}},
        "exact": {
            "required": ["of", "reason"],
            "properties": {"exact": {"const": true}},
            "not": {"anyOf": [{"required": ["weight"]}, {"required": ["margin"]}, {"required": ["ask"]}]},
        },
        "reason": {"required": ["exact"]},
        "level": {"required": ["margin"]},
    })
)]
pub(super) struct TableFile {
    /// Every table of this many dimensions.
    #[schemars(range(min = 1))]
    every: Option<u16>,
    /// Every table of this many dimensions or fewer, the total included.
    #[schemars(range(min = 1))]
    up_to: Option<u16>,
    /// One table: its dimensions, such as `sex`, or coarser levels, such as `age.band`. An empty list
    /// is the total.
    of: Option<Vec<String>>,
    /// With `every` and `up_to`: only these dimensions, at these levels.
    among: Option<Vec<String>>,
    /// What is asked of these tables along a dimension (or a level such as `age.band`): "cells" unless told, "prefixes",
    /// "ranges", "total", or a list of intervals. Tables without the dimension ignore it.
    ask: Option<BTreeMap<String, AskedFile>>,
    /// How much the error of each answer matters, relative to the others; 1 unless told.
    weight: Option<RationalText>,
    /// How precise the table must be: every cell's interval at most plus or minus this.
    margin: Option<RationalText>,
    /// With `margin`: the probability with which that interval covers the truth; 0.95 unless told.
    level: Option<RationalText>,
    /// Publish the table without noise. Everything it says about anybody is then public: the release protects
    /// people only beyond that, and says so.
    exact: Option<bool>,
    /// With `exact`: why, shown with the release.
    #[schemars(length(min = 1))]
    reason: Option<String>,
}

/// What is asked of the categories of one level, in the order of the spec.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "Asked")]
pub(super) enum AskedFile {
    /// All of one kind.
    Word(AskedWord),
    /// Just these.
    Intervals(#[schemars(length(min = 1))] Vec<IntervalFile>),
}

/// What may be asked of all categories of a level.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(super) enum AskedWord {
    /// Each category.
    Cells,
    /// The first k categories, for every k: for medians and distribution functions.
    Prefixes,
    /// All categories from one to another, for every two.
    Ranges,
    /// All categories together.
    Total,
}

/// An interval: a category, a stretch such as "18-64" or "65+", or its first and last category.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "Interval")]
pub(super) enum IntervalFile {
    /// "18", "18-64", "65+".
    Text(String),
    /// The first and the last category.
    Ends(#[schemars(length(min = 2, max = 2))] Vec<EndFile>),
}

/// A category, or the number at which one begins or ends.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "End")]
pub(super) enum EndFile {
    /// A category.
    Text(String),
    /// A number.
    Number(f64),
}

/// A question that the release is to answer well.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    rename = "Query",
    extend("dependentSchemas" = {"level": {"required": ["margin"]}})
)]
pub(super) struct QueryFile {
    /// SELECT of counts and sums, as asked of the release.
    #[schemars(length(min = 1))]
    sql: String,
    /// How much the error of each of its figures matters, relative to the others; 1 unless told.
    weight: Option<RationalText>,
    /// How precise each figure must be: its interval at most plus or minus this.
    margin: Option<RationalText>,
    /// With `margin`: the probability with which that interval covers the truth; 0.95 unless told.
    level: Option<RationalText>,
}

/// What is measured.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Strategy")]
pub(super) struct StrategyFile {
    /// Which queries get noise; "auto" takes the least predicted error.
    measure: Option<MeasureWord>,
    /// How the budget is shared; "optimal" unless told.
    budgets: Option<BudgetsWord>,
    /// What the noise is shared out for; "total" unless told.
    objective: Option<ObjectiveWord>,
    /// For "given": the tables that are measured, each with its part of the budget. The parts add up to one.
    #[schemars(length(min = 1))]
    shares: Option<Vec<ShareFile>>,
    /// For "matrix": your own linear queries.
    rows: Option<RowsFile>,
    /// How long to search for tables under Laplace noise, in parts of what takes some seconds; 1 unless told, 0 leaves annealing out. More is
    /// never worse, and the same effort gives the same plan.
    #[schemars(range(min = 0, max = 100_000))]
    effort: Option<u32>,
}

/// Linear queries with whole factors.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Rows")]
pub(super) struct RowsFile {
    /// The file, relative to the spec: a .csv file with a line for each query and a column for each cell, without a
    /// header, or a Matrix Market .mtx file in coordinate form.
    file: String,
    /// The table whose cells the columns are, the last dimension fastest.
    of: Vec<String>,
}

/// A table that is measured.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Share")]
pub(super) struct ShareFile {
    /// Its dimensions or coarser levels. An empty list is the total.
    of: Vec<String>,
    /// Its part of the budget, such as "1256/4099".
    share: RationalText,
}

/// What the noise is shared out for.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", rename = "Objective")]
enum ObjectiveWord {
    /// The least weighted total variance.
    Total,
    /// The least largest cell variance, times its table's weight.
    Worst,
    /// The least total variance among plans that meet every table's `margin`.
    Targets,
}

macro_rules! measure_word {
    ($($(#[$help:meta])* $name:ident = $tag:literal $word:literal $file:ident;)+) => {
        /// Which queries get noise.
        #[derive(JsonSchema)]
        #[schemars(rename = "Measure")]
        enum MeasureWord {
            /// The least predicted error of all that apply. Looks at the tables asked for, never at the data.
            #[schemars(rename = "auto")]
            Auto,
            $($(#[$help])* #[schemars(rename = $word)] $name),+
        }
    };
}
crate::plan::strategy::strategies!(measure_word);

/// How the budget is shared.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", rename = "Budgets")]
enum BudgetsWord {
    /// For the least total error.
    Optimal,
    /// The same for everything that is measured.
    Uniform,
}

/// A number greater than zero that is kept exactly: 0.1 is one tenth.
struct RationalText;

impl JsonSchema for RationalText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Rational".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        json_schema!({
            "description": "A number greater than zero, kept exactly: 0.1 is one tenth, \"542/339\" is a ratio.",
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "string", "pattern": r"^\s*[0-9._eE+-]+\s*(/\s*[0-9._eE+-]+\s*)?$"},
            ],
        })
    }
}
