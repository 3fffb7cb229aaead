//! What `margins query` is given.

use crate::answer::{Options, Simultaneous};
use crate::law::{Interval, Method};
use crate::posterior::{PriorChoice, Statement};
use crate::render::Naming;
use std::path::PathBuf;

/// Answer SQL queries from a release.
///
/// One SELECT: COUNT(*), COUNT(*) FILTER (WHERE …), SUM and AVG of an amount, a numeric dimension or CASE WHEN …,
/// MEDIAN and QUANTILE, totals such as SUM(COUNT(*)) OVER (), and arithmetic of these (differences, shares); WHERE with
/// =, <>, <, <=, >, >=, BETWEEN, IN, LIKE, NOT, AND, OR over any dimension or level (age, age.band); GROUP BY, HAVING,
/// ORDER BY, LIMIT. Every figure comes with its standard error and an interval that covers the truth with the stated
/// probability.
///
/// Several releases of one dataset (the same id, signed with the same key) give the best estimate from all of them; those
/// of different periods are compared, with the change and its interval. Others are refused.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    margins query out/town.margins \\\n    \
    \"SELECT sex, COUNT(*) FROM town WHERE age BETWEEN 20 AND 39 GROUP BY sex\"\n  \
    margins query out/town.margins \\\n    \
    \"SELECT sex, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS percent \\\n    \
    FROM town GROUP BY sex\"\n  \
    margins query out/town.margins --prob '> 100' \\\n    \
    \"SELECT COUNT(*) FROM town WHERE age >= 90\"\n  \
    margins query out/town.margins --batch queries.sql --jsonl\n  \
    margins query out/town.margins --areas catchments.csv \\\n    \
    \"SELECT school, COUNT(*) FROM town GROUP BY school\"\n  \
    margins query out/visits.margins --keys codes.csv > counts.csv")]
pub struct Args {
    /// One or more release files, then the query
    #[arg(required = true, value_names = ["FILE", "SQL"])]
    pub(super) words: Vec<String>,
    /// The probability with which each interval covers the truth
    #[arg(long, default_value_t = 0.95, value_name = "P")]
    pub(in crate::cli) level: f64,
    /// Add the probability of a statement: '> 100', '>= 100', '< 5', '<= 5', 'BETWEEN 50 AND 80'
    #[arg(long, value_name = "STATEMENT")]
    pub(in crate::cli) prob: Option<Statement>,
    /// Add the exact two-sided p-value of the hypothesis that the figure equals this number (0 for a difference)
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true, value_parser = finite)]
    pub(in crate::cli) test: Option<f64>,
    /// Add the posterior of each count under a prior: flat, non-negative, binomial(p), binomial(n,p), uniform(n), known-total
    #[arg(long, value_name = "PRIOR")]
    pub(in crate::cli) prior: Option<PriorChoice>,
    /// How probabilities are computed; a program around the command may choose
    #[arg(skip)]
    pub method: Method,
    /// The kind of interval; the two differ only on coarse lattices and for posteriors
    #[arg(long, value_enum, default_value_t = Kind::Equal)]
    interval: Kind,
    /// Widen the intervals so that all of them together cover with probability P
    #[arg(
        long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "auto",
        value_name = "WAY"
    )]
    pub(in crate::cli) joint: Option<JointWay>,
    /// Explain which measurements each answer rests on, and what would narrow it
    #[arg(long)]
    pub(super) explain: bool,
    /// Answer a file of queries, one per line; `--` starts a comment, and a line that is indented or begins with a clause continues the one before
    #[arg(long, value_name = "FILE", conflicts_with = "explain")]
    pub(super) batch: Option<PathBuf>,
    /// Ask about these areas alone: a CSV file of labels of one dimension or level, which its header names; with a second column,
    /// of the districts they are in, these can be grouped by
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) areas: Option<PathBuf>,
    /// For projections: count every key of a CSV file, whose header names the key's dimensions; prints CSV
    #[arg(long, value_name = "FILE", conflicts_with_all = ["batch", "explain", "json"])]
    pub(in crate::cli) keys: Option<PathBuf>,
    /// Count these records of `margins records` as well, beside the release's estimates and intervals
    #[arg(long, value_name = "FILE", conflicts_with_all = ["batch", "keys", "explain"])]
    pub(super) records: Option<PathBuf>,
    /// Show what codes stand for in a column beside them; --labels=only in their place
    #[arg(
        long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "beside",
        value_name = "WHERE"
    )]
    pub(super) labels: Option<LabelPlace>,
    /// Add each figure's coefficient of variation in per cent (cv), and its class (reliability: A, B, C; cuts at 16.6 and 33.3 % unless
    /// the spec names others)
    #[arg(long)]
    reliability: bool,
    /// Refuse SUM, AVG and comparisons that meet categories without a number, instead of noting how many rows they leave out
    #[arg(long)]
    complete: bool,
    /// For sketches: use the mean of the rows, with Chebyshev's interval, instead of the median
    #[arg(long)]
    pub(in crate::cli) mean: bool,
    /// Keep sums over the whole release in this folder, so that later queries are faster; answers are the same
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) cache: Option<PathBuf>,
    /// Stop a batch at the first query without an answer
    #[arg(long, requires = "batch")]
    pub(super) strict: bool,
    /// Print CSV
    #[arg(long, conflicts_with_all = ["json", "jsonl"])]
    pub(super) csv: bool,
    /// Print JSON; a batch as one array
    #[arg(long)]
    pub(super) json: bool,
    /// Print a batch as JSON, one answer per line
    #[arg(long, requires = "batch", conflicts_with = "json")]
    pub(super) jsonl: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Kind {
    /// Equal tails: the same probability below as above
    Equal,
    /// The shortest interval
    Shortest,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum LabelPlace {
    /// In a column beside the codes
    Beside,
    /// In place of the codes
    Only,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(in crate::cli) enum JointWay {
    /// The narrower of the two below
    Auto,
    /// The simulated law of the largest error, in standard errors
    MaxZ,
    /// Bonferroni's inequality
    Bonferroni,
}

impl Args {
    /// Whether the way of probabilities or intervals differs from the default.
    pub(in crate::cli) fn other_way(&self) -> bool {
        self.method != Method::Auto || !matches!(self.interval, Kind::Equal)
    }

    pub(in crate::cli) fn options(&self) -> Options {
        Options {
            level: self.level,
            method: self.method,
            interval: match self.interval {
                Kind::Equal => Interval::EqualTailed,
                Kind::Shortest => Interval::Shortest,
            },
            prob: self.prob,
            test: self.test,
            prior: self.prior,
            joint: self.joint.map(|way| match way {
                // A forced method is used for every interval.
                JointWay::Auto if self.method != Method::Auto => Simultaneous::Bonferroni,
                JointWay::Auto => Simultaneous::Auto,
                JointWay::MaxZ => Simultaneous::MaxZ,
                JointWay::Bonferroni => Simultaneous::Bonferroni,
            }),
            complete: self.complete,
            reliability: self.reliability,
            naming: match self.labels {
                None => Naming::Codes,
                Some(LabelPlace::Beside) => Naming::Both,
                Some(LabelPlace::Only) => Naming::Labels,
            },
        }
    }
}

/// A number that a figure can equal.
fn finite(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|x: &f64| x.is_finite()).ok_or_else(|| "expected a number".to_owned())
}
