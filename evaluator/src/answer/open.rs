//! A release opened for questions.

use super::Evaluator;
use super::evaluate::AnswerError;
use super::joint::JointLaw;
use super::planned::Looked;
use super::posterior::PosteriorError;
use crate::cube::{Cube, Filter, Frame};
use crate::law::LawError;
use crate::plan::cost::{self, CostError};
use crate::plan::{Copy, Plan, Subject};
use crate::recover::{RecoverError, Recovery};
use crate::release::values::Values;
use crate::release::{Dataset, Kind, Release, ReleaseError};
use crate::sql::{Aggregate, Fate, Query, SqlError, quote_names};
use std::path::Path;
use std::sync::Arc;

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
    /// What is not said of releases of different periods.
    #[error("releases of different periods are compared, and {0}: ask them one at a time")]
    Compared(&'static str),
    /// Units without a number that is needed, where only complete answers were wanted.
    #[error(
        "{what} {} the units whose {level} is {categories}: there is no number to {}\n\
         leave out --complete to see how many they are, or name them in WHERE (with IN or NOT IN)",
        if matches!(fate, Fate::Met | Fate::Otherwise) { "counts" } else { "leaves out" },
        if *fate == Fate::NotAdded { "add up" } else { "compare" }
    )]
    Incomplete {
        /// The column, or WHERE.
        what: String,
        /// What becomes of the units.
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
         the law of such an error depends on the unknown counts, so there is no interval to state\n\
         ask for its parts, each with its own interval"
    )]
    Product(String),
    /// What is not said of a quantile.
    #[error("MEDIAN and QUANTILE {0}")]
    Quantile(&'static str),
    /// A prior for something that is no count.
    #[error("a prior speaks of a count of units; `{0}` is another figure: ask COUNT(*) with a WHERE")]
    NotACount(String),
    /// `known-total` without a known total.
    #[error("this release does not state its total exactly: give one with --prior 'uniform(n)'")]
    TotalNotExact,
    /// The name after FROM.
    #[error("this release is called `{0}`: write FROM {0}, not FROM {1}")]
    From(String, String),
}

impl From<RecoverError> for QueryError {
    fn from(e: RecoverError) -> QueryError {
        QueryError::Answer(AnswerError::Recover(e))
    }
}

/// A release whose signature over the manifest has been checked, ready for questions. Each section's hash is
/// checked when a question first needs it.
pub struct Answers {
    evaluator: Evaluator<Values>,
    name: String,
    pub(super) looked: Looked,
    /// How many units had more rows than count: the noisy number, and the law of its error.
    cut: Option<(f64, Arc<JointLaw>)>,
}

impl Answers {
    /// Opens a release file.
    pub fn open(path: impl AsRef<Path>) -> Result<Answers, QueryError> {
        Answers::from_release(Release::open(path)?)
    }

    /// From a release that is already open.
    pub fn from_release(release: Release) -> Result<Answers, QueryError> {
        Answers::kept_in(release, None)
    }

    /// The same; what an answer goes through the whole release for is kept in this folder, and taken from there the next time:
    /// see [`crate::release::kept`]. Answers are the same to the last bit.
    pub fn kept_in(release: Release, folder: Option<&Path>) -> Result<Answers, QueryError> {
        let name = release.manifest().about.name.clone();
        if release.count(Kind::Projection) > 0 {
            return Err(QueryError::Projection(name));
        }
        let cube = release.cube()?;
        let plan = release.plan(&cube)?;
        // A plan whose arithmetic does not fit is refused here, before anything is computed from it.
        cost::check(&plan, &Frame::new(&cube, &plan.levels))?;
        let mut values = Values::new(release, &cube, &plan)?;
        let cut = cut_units(&cube, &plan, &values)?;
        if let Some(folder) = folder {
            values = values.kept_in(folder)?;
        }
        let evaluator = Evaluator::new(Recovery::new(cube, plan, values)?);
        Ok(Answers { evaluator, name, looked: Looked::default(), cut })
    }

    /// The file behind the answers.
    pub fn release(&self) -> &Release {
        self.evaluator.recovery().source().release()
    }

    /// Why nothing was kept in the folder of [`Answers::kept_in`], where it should have been.
    pub fn not_kept(&self) -> Option<String> {
        self.evaluator.recovery().source().not_kept()
    }

    /// The release's name, as FROM wants it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The release's name with the start of its manifest's hash, to tell releases of one name apart.
    pub fn title(&self) -> String {
        let hash = blake3::hash(self.release().manifest_bytes()).to_hex();
        format!("{} ({})", self.name, &hash[..8])
    }

    /// What readers are told of a release with tables published without noise.
    pub fn exact_note(&self) -> Option<String> {
        const NAMED: usize = 5;
        let exact = &self.evaluator.recovery().plan().exact;
        let mut tables: Vec<String> = exact.iter().take(NAMED).map(|e| self.cube().describe(e)).collect();
        if exact.len() > NAMED {
            tables.push(format!("{} more", exact.len() - NAMED));
        }
        let (name, tables) = (&self.name, tables.join("; "));
        (!exact.is_empty()).then(|| {
            format!("{name} publishes WITHOUT NOISE: {tables}. The rest is protected beyond what these tell.")
        })
    }

    /// What readers are told wherever numbers of this release are shown.
    pub fn told(&self) -> impl Iterator<Item = String> {
        [self.exact_note(), self.centre_note()].into_iter().flatten()
    }

    /// Which copy of a measuring with several recipients it is, if it is one.
    pub fn copy(&self) -> Option<&Copy> {
        self.evaluator.recovery().plan().copy.as_deref()
    }

    /// What readers are told of a copy whose numbers are shifted by a secret centre.
    pub fn centre_note(&self) -> Option<String> {
        let centres = self.evaluator.recovery().plan().centres()?;
        let allowed = match centres.mean {
            0 => "intervals allow for it".to_owned(),
            mean => format!("estimates take off its mean, {mean}, and intervals allow for the rest"),
        };
        Some(format!(
            "{} is shifted by a secret whole number, the same for all its integers, uniform on {centres}: {allowed}.",
            self.name
        ))
    }

    /// Of whom the counts are, if the release says it.
    pub fn dataset(&self) -> Option<&Dataset> {
        self.release().manifest().dataset.as_ref()
    }

    /// Where rows beyond a bound were left out: whose rows, and how many of each count.
    pub fn bound(&self) -> Option<(&str, u32)> {
        self.release().manifest().privacy.bound()
    }

    /// How many units had more rows than count, where that was measured, and the law of its error.
    pub(super) fn cut(&self) -> Option<(&f64, &Arc<JointLaw>)> {
        self.cut.as_ref().map(|(noisy, law)| (noisy, law))
    }

    /// The dimensions.
    pub fn cube(&self) -> &Cube {
        self.evaluator.cube()
    }

    /// Linear queries, one level below SQL.
    pub fn evaluator(&self) -> &Evaluator<Values> {
        &self.evaluator
    }

    /// Reads a query and checks that it is for this release.
    pub fn parse(&self, sql: &str) -> Result<Query, QueryError> {
        let query = self.read(sql, &[])?;
        if !query.from.eq_ignore_ascii_case(&self.name) {
            return Err(QueryError::From(self.name.clone(), query.from));
        }
        Ok(query)
    }

    /// Reads a query, whatever release it names; `releases` are further names that need no quotes.
    pub(super) fn read(&self, sql: &str, releases: &[&str]) -> Result<Query, QueryError> {
        let dimensions = self.cube().dimensions.iter().map(|d| d.name.as_str());
        let names: Vec<&str> =
            dimensions.chain([self.name.as_str()]).chain(releases.iter().copied()).collect();
        Ok(Query::parse(&quote_names(sql, &names), self.cube())?)
    }
}

/// How many units had more rows than count: the noisy number, and the law of its error.
fn cut_units(cube: &Cube, plan: &Plan, values: &Values) -> Result<Option<(f64, Arc<JointLaw>)>, QueryError> {
    let subject = Subject::CutUnits;
    if plan.channel(&subject).is_none() {
        return Ok(None);
    }
    let evaluator = Evaluator::new(Recovery::of(&subject, cube.clone(), plan.clone(), values)?);
    let all = Aggregate { filter: Filter::everything(), partition: None };
    let told = evaluator.joint(&[all], &[])?;
    Ok(told.into_iter().next().and_then(|g| Some((*g.estimates.first()?, g.law))))
}
