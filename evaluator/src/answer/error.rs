//! Why a question has no answer.

use crate::law::LawError;
use crate::plan::cost::CostError;
use crate::posterior::PosteriorError;
use crate::recover::RecoverError;
use crate::release::ReleaseError;
use crate::sql::{Fate, SqlError};

/// Why a question could not be answered.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The file.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// The plan in the file.
    #[error(transparent)]
    Cost(#[from] CostError),
    /// The question.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// The answer.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// A release without tables.
    #[error(
        "`{0}` is a projection: it has no tables, and is asked for the counts of single keys (`margins query`)"
    )]
    Projection(String),
    /// The level of an interval.
    #[error("the level of an interval must lie between 0 and 1, not {0}")]
    Level(f64),
    /// Several releases that cannot be asked together.
    #[error("these releases cannot be asked together: {0}")]
    Together(String),
    /// A list of areas that makes no sense.
    #[error("{0}")]
    Areas(String),
    /// What cannot be said of several SELECTs.
    #[error("UNION ALL: {0}")]
    Union(&'static str),
    /// What is not said of releases of different periods.
    #[error("releases of different periods are compared, and {0}: ask them one at a time")]
    Compared(&'static str),
    /// Rows without a number that is needed, where only complete answers were wanted.
    #[error(
        "{what} {} the rows whose {level} is {categories}: there is no number to {}\n\
         leave out --complete to see how many they are, or name them in WHERE (with IN or NOT IN)",
        if matches!(fate, Fate::Met | Fate::Otherwise) { "counts" } else { "leaves out" },
        if *fate == Fate::NotAdded { "add up" } else { "compare" }
    )]
    Incomplete {
        /// The column, or WHERE.
        what: String,
        /// What becomes of the rows.
        fate: Fate,
        /// What is added up or compared.
        level: String,
        /// The categories without a number.
        categories: String,
    },
    /// The law of an error.
    #[error(transparent)]
    Law(#[from] LawError),
    /// A posterior.
    #[error(transparent)]
    Posterior(#[from] PosteriorError),
    /// A figure that multiplies counts.
    #[error(
        "`{0}` multiplies or divides noisy counts (adding up shares of different totals does, too): \
         the law of such an error depends on the unknown counts, so an interval in a plain answer is all that can be stated\n\
         ask for its parts"
    )]
    Product(String),
    /// What is not said of a quantile.
    #[error("MEDIAN and QUANTILE {0}")]
    Quantile(&'static str),
    /// Where no places can be asked for.
    #[error("RANK {0}")]
    Rank(&'static str),
    /// What is not said of places.
    #[error("the probability of a place {0}")]
    Places(&'static str),
    /// A prior for something that is no count.
    #[error("a prior speaks of a count of units; `{0}` is another figure: ask COUNT(*) with a WHERE")]
    NotACount(String),
    /// `known-total` without a known total.
    #[error("this release does not state its total exactly: give one with --prior 'uniform(n)'")]
    TotalNotExact,
    /// Sums that are not in a release.
    #[error("this release holds no sums of `{0}`")]
    NoSums(String),
    /// Squares that are not in a release.
    #[error("this release holds no squares of `{0}`: they need `square = true` in its spec")]
    NoSquares(String),
    /// More keys than a projection answers for.
    #[error(
        "an answer of this query sums up {cells} cells; this release allows at most {most}: list fewer, or GROUP BY what you list"
    )]
    TooManyCells {
        /// How many it names.
        cells: u64,
        /// How many there may be.
        most: u32,
    },
    /// Keys that nobody can list.
    #[error("`{0}` can be any text: only those that are named in WHERE can be counted")]
    AnyText(String),
    /// More rows than can be shown.
    #[error("the answer would have {rows} rows; the most is {most}")]
    TooManyRows {
        /// How many it would have.
        rows: u64,
        /// How many it may have.
        most: u64,
    },
    /// A key with a part that does not exist.
    #[error("`{dimension}` has no category `{value}`")]
    NoCategory {
        /// The dimension.
        dimension: String,
        /// What was asked for.
        value: String,
    },
    /// A key of another length.
    #[error("a key has {found} parts; {expected} are expected")]
    Parts {
        /// How many there are.
        found: usize,
        /// How many there must be.
        expected: usize,
    },
    /// A prior of a projection's count without its number of units.
    #[error("a projection knows no total: write binomial(n, p) or uniform(n)")]
    NoTotal,
    /// A prior of what a sketch says.
    #[error(
        "a sketch has no posterior: its interval is from the order of its rows, which no prior can be weighed with"
    )]
    NoPrior,
    /// An option that only tables know.
    #[error("a projection has no {0}")]
    TablesOnly(&'static str),
    /// The name after FROM.
    #[error("this release is called `{0}`: write FROM {0}, not FROM {1}")]
    From(String, String),
}

impl QueryError {
    /// The same without a hint: what would tell one of the counts that a quantile is made of need not tell the others.
    pub(crate) fn without_suggestion(mut self) -> QueryError {
        if let QueryError::Answer(AnswerError::NotHeld { suggestion, .. }) = &mut self {
            *suggestion = None;
        }
        self
    }
}

impl From<RecoverError> for QueryError {
    fn from(e: RecoverError) -> QueryError {
        QueryError::Answer(AnswerError::Recover(e))
    }
}

/// Why a query has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// No released table tells the query's dimensions together.
    #[error(
        "this release cannot answer that: {}{reason}\n{}{}",
        of.as_ref().map_or(String::new(), |of| format!("of {of}, ")),
        nearest_text(.nearest, .of.as_deref()),
        suggestion_text(.suggestion)
    )]
    NotHeld {
        /// What of, where the question has figures of several kinds: `the sums of income`.
        of: Option<String>,
        /// What is missing.
        reason: String,
        /// Tables that come closest, nearest first.
        nearest: Vec<String>,
        /// How the question would have to change to be answered.
        suggestion: Option<String>,
    },
    /// The table could not be recovered.
    #[error(transparent)]
    Recover(#[from] RecoverError),
    /// The error has no law.
    #[error(transparent)]
    Law(#[from] LawError),
    /// Too many classes of cells to tell apart.
    #[error("the query is too intricate: its columns tell more than 2^20 classes of cells apart")]
    Intricate,
    /// More rows than can be shown.
    #[error("the answer would have {0} rows; the most is {MOST_ROWS}")]
    TooManyRows(u64),
}

fn nearest_text(nearest: &[String], of: Option<&str>) -> String {
    match nearest {
        [] => format!(
            "it holds no table of {}any of these dimensions",
            of.map_or(String::new(), |of| format!("{of} by "))
        ),
        some => format!("nearest tables it does hold: {}", some.join("; ")),
    }
}

fn suggestion_text(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map_or(String::new(), |text| format!("\nit answers the question with {text}"))
}

/// The most groups of one query.
pub(crate) const MOST_ROWS: u64 = 1 << 24;
