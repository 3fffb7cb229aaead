//! One release, from spec to sealed file: the stages in their order, the same for tables and projections.
//!
//! Plan and rehearse (no data) → open the ledger and the output → read rows → charge the ledger → count and measure →
//! seal. What can fail without data is done before data is opened: the whole file is written once with zeros in place of what is
//! measured ([`Job::rehearse`]). The budget is charged before noise is drawn; the file appears under its name only when it is whole.
//!
//! | file | idea |
//! |---|---|
//! | `job` | what is made of a spec, and what every stage asks of it |
//! | `tables`, `projection` | what is of its own in each kind |
//! | [`statement`] | the SQL that counts where the data lives |
//! | [`asked`] | a question that is measured itself |
//! | [`extending`] | what is missing beside a release that is out |
//! | `simulated` | a release of people that everybody may know, before data is opened |
//! | [`effort`] | bytes, time and memory of a release, from the plan alone |
//! | `accuracy` | what is left of a bound, as the accuracy that it buys |

mod accuracy;
pub mod asked;
pub mod effort;
pub(crate) mod extending;
mod job;
mod projection;
#[cfg(test)]
mod random;
#[cfg(test)]
mod recipients;
#[cfg(test)]
mod relative;
pub(crate) mod simulated;
#[cfg(test)]
mod sliced;
pub(crate) mod statement;
#[cfg(test)]
mod sums;
mod tables;
#[cfg(test)]
mod tests;

pub(crate) use accuracy::share;
pub(crate) use job::Job;
pub(crate) use projection::Designed;

use crate::exact::Rational;
use crate::ledger::{self, Chain, Ledger, LedgerError, Receipt};
use crate::plan::cost::CostError;
use crate::planner::copies::CopiesError;
use crate::planner::{self, Look, PlanError, Unplanned};
use crate::recover::RecoverError;
use crate::release::claims::{self, ClaimError};
use crate::release::{Amount, ReleaseError, SealError, Sealed, SigningKey};
use crate::secret::count::Data;
use crate::secret::count::given::GivenError;
use crate::secret::ingest::{self, Frame, IngestError, Means, Origin};
use crate::secret::measure::MeasureError;
use crate::secret::noise::{Entropy, NoiseError};
use crate::spec::{Format, Spec, SpecErrors};
use crate::watch::Watch;
use job::{Draft, going};
use std::path::{Path, PathBuf};

/// Why no release was made.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// (ε, δ) with no room for noise.
    #[error("{}", Unplanned::NoBudget)]
    NoBudget,
    /// No projection.
    #[error(transparent)]
    Design(#[from] crate::projection::DesignError),
    /// No plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// No copies for the recipients.
    #[error(transparent)]
    Copies(#[from] CopiesError),
    /// The cost.
    #[error(transparent)]
    Cost(#[from] CostError),
    /// A spec without `[data]` and no data given.
    #[error("the spec names no data file: add a [data] section or give --data FILE")]
    NoData,
    /// Lists that came from a draft and nobody has confirmed.
    #[error(transparent)]
    Unconfirmed(#[from] SpecErrors),
    /// A file that becomes part of the release is the data.
    #[error("`{0}` becomes part of the release, byte for byte, and it is the private data file itself")]
    Sealed(String),
    /// A file could not be compared with the data.
    #[error("cannot read {}: {}", .0.display(), .1)]
    Compare(PathBuf, std::io::Error),
    /// What no reader would answer.
    #[error(
        "no reader could answer from this release: {0}\nmeasure smaller tables, or leave out the `[[zero]]` conditions"
    )]
    Unanswerable(#[from] RecoverError),
    /// What `verify` would not let pass.
    #[error("a release of this plan would not be verified: {0}: {1}")]
    Unverifiable(String, String),
    /// Less memory than it may take.
    #[error(
        "a release of this plan may take {} MB, more than the limit of {}: raise it, use fewer threads, or ask for smaller tables",
        needs.div_ceil(1_000_000),
        if *limit < 1_000_000 { format!("{limit} bytes") } else { format!("{} MB", limit / 1_000_000) }
    )]
    Memory {
        /// What it may take.
        needs: u64,
        /// What it is let.
        limit: u64,
    },
    /// The rehearsal has no place to write.
    #[error("cannot write a temporary file in {place}, the folder that TMPDIR names or else the system's: {0}", place = std::env::temp_dir().display())]
    Temporary(std::io::Error),
    /// The data.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// Counted tables.
    #[error(transparent)]
    Given(#[from] GivenError),
    /// No statement.
    #[error("{0}")]
    Statement(String),
    /// The random source.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// Measuring.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// The manifest.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// Encoding.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// Writing and signing.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] ledger::LedgerError),
    /// A charge that would pass the bound of the account.
    #[error("{why}\n{buys}")]
    OverBound {
        /// What the bound is, and what is left.
        #[source]
        why: Box<ledger::LedgerError>,
        /// How precise tables would be for what is left.
        buys: String,
    },
    /// A question that cannot be measured.
    #[error(transparent)]
    NoRows(crate::plan::NoRows),
    /// The law of an error.
    #[error(transparent)]
    Law(#[from] crate::law::LawError),
    /// Who was asked whether to charge said no.
    #[error("nothing was charged, and nothing was replaced")]
    Declined,
    /// Whoever waits for it asked it to stop: how things stand.
    #[error("interrupted{}{_0}", if _0.is_empty() { "" } else { ": " })]
    Stopped(String),
    /// What went wrong after the charge: how things stand.
    #[error("{why}\n{stands}")]
    Spent {
        /// What went wrong.
        #[source]
        why: Box<CompileError>,
        /// What was charged, and which files there are.
        stands: String,
    },
    /// Groups so large that what they cost is no number.
    #[error("with so many units in one of the account's, the charge does not fit the arithmetic")]
    TooDear,
}

impl From<Unplanned> for CompileError {
    fn from(why: Unplanned) -> CompileError {
        match why {
            Unplanned::NoBudget => CompileError::NoBudget,
            Unplanned::Plan(why) => why.into(),
            Unplanned::Copies(why) => why.into(),
        }
    }
}

/// Where a release goes and who signs it.
pub struct Options<'a> {
    /// The folder of the release.
    pub out: &'a Path,
    /// Instead of the spec's own data file.
    pub data: Option<Origin<'a>>,
    /// Instead of rows the counts that [`statement`] asks for.
    pub counts: Option<&'a Path>,
    /// The ledger file.
    pub ledger: &'a Path,
    /// Who signs.
    pub key: &'a SigningKey,
    /// Overwrite a release of the same name.
    pub replace: bool,
    /// The day, `YYYY-MM-DD`.
    pub day: &'a str,
    /// The random source.
    pub entropy: Entropy,
}

/// Ranges when all that can be refused without data has been: whether so much is to be charged, to an account that stands so.
pub(crate) type Consent<'a> = dyn FnMut(&Chain, &ledger::Charge) -> bool + 'a;

/// All rows are read.
const READ: &str = "read";
/// The charge is on the disk; there is no noise yet.
const CHARGED: &str = "charged";
/// Everything is measured and written to the temporary file.
const MEASURED: &str = "measured";
/// The file has its name.
const SEALED: &str = "sealed";
/// The ledger knows it.
const NOTED: &str = "noted";

/// The steps of a release from when data is opened, in their order, as a [`Watch`] hears of them: the first in bytes, the others as one
/// part of one.
pub const STEPS: [&str; 6] = [crate::secret::ingest::READING, READ, CHARGED, MEASURED, SEALED, NOTED];

/// How a cost is charged: it gives the ledger's receipt.
type Charge<'a> = Box<dyn FnOnce(Rational) -> Result<Receipt, LedgerError> + 'a>;

/// A finished release.
#[derive(Debug)]
pub struct Released {
    /// The files and their hashes; with several recipients those of the most precise copy.
    pub sealed: Sealed,
    /// Those of all other copies, less and less precise.
    pub further: Vec<Sealed>,
    /// What was made, with what was predicted of it.
    pub job: Job,
    /// The number of noisy integers in the file.
    pub values: u64,
    /// The ledger that was charged.
    pub ledger: PathBuf,
    /// All that it holds now.
    pub chain: Chain,
}

/// What a release of a spec would be: what it would refuse without data is refused here. `day` is `YYYY-MM-DD`.
pub fn plan(spec: &Spec, look: Look, day: &str) -> Result<Job, CompileError> {
    plan_with(spec, look, day, &Means::default())
}

/// The same, with a limit of memory, and with who hears how far it is and may stop it.
pub(crate) fn plan_with(spec: &Spec, look: Look, day: &str, means: &Means) -> Result<Job, CompileError> {
    let planned = || {
        let job = job_within(spec, look, means)?;
        let rows = spec.data.as_ref().and_then(|data| data.format).unwrap_or(Format::Csv);
        job.rehearse(spec, day, Some(rows), means)?;
        Ok(job)
    };
    planned().map_err(|e| stopped(e, &means.watch))
}

/// What is made of a spec; or a refusal to plan with less memory than that takes by itself.
fn job_within(spec: &Spec, look: Look, means: &Means) -> Result<Job, CompileError> {
    let needs = planner::parts::memory(&spec.cube, &spec.workload);
    match means.memory.limit() {
        Some(limit) if limit < needs => Err(CompileError::Memory { needs, limit }),
        _ => Job::watched(spec, look, &means.watch),
    }
}

/// What goes wrong in work that was asked to stop is that it was.
fn stopped(error: CompileError, watch: &Watch) -> CompileError {
    match watch.is_stopped() {
        true => CompileError::Stopped(watch.noted().unwrap_or_default()),
        false => error,
    }
}

/// How things stand before anything is charged.
const UNSPENT: &str = "nothing was charged, and nothing is left behind";

/// What goes wrong after the charge says so.
fn spent(error: CompileError, watch: &Watch) -> CompileError {
    match watch.noted().filter(|stands| stands != UNSPENT) {
        Some(stands) if !watch.is_stopped() => CompileError::Spent { why: Box::new(error), stands },
        _ => stopped(error, watch),
    }
}

/// How things stand between the charge and the first file.
const NO_RELEASE: &str = "; there is no release of it";

/// How things stand once some files have their names, and no line closes the charge.
fn kept(named: usize, all: usize, out: &Path) -> String {
    let there = match named {
        1 if all == 1 => "the release".to_owned(),
        n if n == all => format!("all {n} files of the release"),
        n => format!("{n} of the {all} files of the release"),
    };
    let folder = crate::visible::visible(&out.display().to_string()).into_owned();
    let missing = match all - named {
        0 => "only the line of the ledger that closes the charge is missing",
        1 => "the other one is not there, and the line of the ledger that closes the charge is missing",
        _ => "the others are not there, and the line of the ledger that closes the charge is missing",
    };
    format!(
        "{there}, whole and signed, can be used and lies in {folder}: keep it, {missing}. A second release would be charged again"
    )
}

/// The data file of a release: the one given, or the spec's own.
fn data_file<'a>(spec: &'a Spec, options: &Options<'a>) -> Result<Origin<'a>, CompileError> {
    options.data.or_else(|| spec.data.as_ref().map(|d| (&d.path).into())).ok_or(CompileError::NoData)
}

/// Refuses a spec whose hierarchy or rows are the data itself: they would be published with it. Names and places are compared
/// when a spec is read; here the contents are.
pub(crate) fn keep_data_out(spec: &Spec, data: Origin<'_>) -> Result<(), CompileError> {
    for file in ingest::files(spec, data)? {
        let failed = |e| CompileError::Compare(file.named(), e);
        for (name, bytes) in &spec.attachments {
            if file.has_lines(bytes).map_err(failed)? {
                return Err(CompileError::Sealed(name.clone()));
            }
        }
    }
    Ok(())
}

/// Where the counts are made from.
enum Source<'a> {
    File(Origin<'a>),
    Memory(&'a Frame),
    Counts(&'a Path),
}

impl Source<'_> {
    fn read(&self, draft: &Draft<'_>, spec: &Spec, means: &Means) -> Result<Data, CompileError> {
        match self {
            Source::File(from) => {
                keep_data_out(spec, *from)?;
                Ok(draft.read(spec, *from, means)?)
            }
            Source::Counts(path) => {
                keep_data_out(spec, (*path).into())?;
                draft.given(spec, path)
            }
            Source::Memory(frame) => {
                let same = |(_, bytes): &&(String, Vec<u8>)| frame.has_lines(bytes);
                if let Some((name, _)) = spec.attachments.iter().find(same) {
                    return Err(CompileError::Sealed(name.clone()));
                }
                Ok(ingest::read_frame(spec, frame, means)?.into())
            }
        }
    }
}

/// Makes a release.
pub fn release(spec: &Spec, options: Options<'_>, means: &Means) -> Result<Released, CompileError> {
    release_with(spec, None, options, None, means, &mut |_, _| true)
}

/// The same, of rows in memory where there are some, wherever the spec says its data is; and only if there is consent to what it costs. What was planned
/// of the spec before need not be planned again.
pub(crate) fn release_with(
    spec: &Spec,
    planned: Option<Job>,
    options: Options<'_>,
    frame: Option<&Frame>,
    means: &Means,
    consent: &mut Consent<'_>,
) -> Result<Released, CompileError> {
    means.watch.note(UNSPENT);
    let data = match (frame, options.counts) {
        (Some(frame), _) => Ok(Source::Memory(frame)),
        (None, Some(counts)) => Ok(Source::Counts(counts)),
        (None, None) => data_file(spec, &options).map(Source::File),
    };
    made(spec, planned, options, data, means, consent).map_err(|e| spent(e, &means.watch))
}

fn made(
    spec: &Spec,
    planned: Option<Job>,
    options: Options<'_>,
    data: Result<Source<'_>, CompileError>,
    means: &Means,
    consent: &mut Consent<'_>,
) -> Result<Released, CompileError> {
    spec.confirmed()?;
    let watch = &means.watch;
    let rows = match &data {
        Ok(Source::File(from)) => Some(ingest::format(spec, *from)),
        Ok(Source::Memory(_)) | Err(_) => Some(Format::Csv),
        Ok(Source::Counts(_)) => None,
    };
    let job = match planned {
        Some(job) => job,
        None => job_within(spec, Look::Needed, means)?,
    };
    job.rehearse(spec, options.day, rows, means)?;
    let data = data?;
    let draft = Draft::new(&job, spec, projection::seed(&options.entropy))?;
    let not_private = !options.entropy.is_private();
    let copies = 0..draft.copies();
    let mut inputs =
        copies.clone().map(|c| draft.manifest(c, options.day, not_private)).collect::<Result<Vec<_>, _>>()?;
    let mut writers =
        copies.map(|c| draft.begin(c, options.out, options.replace, watch)).collect::<Result<Vec<_>, _>>()?;
    let mut entry = draft.charge(&job)?;
    let ledger = Ledger::at(options.ledger, &spec.account_name().id)?.watched(watch);
    let before = ledger.ready(&entry).map_err(|why| accuracy::over_bound(spec, &job, why))?;
    if !consent(&before, &entry) {
        return Err(CompileError::Declined);
    }

    // Rows are read as the spec says; all else is about the levels that the plan speaks of.
    let data = data.read(&draft, spec, means)?;
    draft.has_room(&data)?;
    watch.tell(READ, 1, 1);
    going(watch)?;
    // The cost as it was recomputed from what will be emitted is what is charged.
    let charge: Charge<'_> = Box::new(|cost| {
        let cost = Amount { currency: entry.currency, amount: cost };
        let charged = claims::charged(cost, entry.unit_of);
        entry.charged =
            charged.ok_or_else(|| LedgerError::Refused("it does not fit the arithmetic".into()))?.amount;
        let receipt = watch.whole(|| {
            let receipt = ledger.charge(entry.clone(), options.key, options.day)?;
            watch.note(format!(
                "{} = {} was charged before any noise was drawn, and stays charged (line {} of {}){NO_RELEASE}",
                entry.currency.symbol(),
                entry.charged.shown(),
                receipt.line,
                crate::visible::visible(&options.ledger.display().to_string())
            ));
            Ok::<_, LedgerError>(receipt)
        })?;
        let account = job::account(spec, &entry, &receipt);
        inputs.iter_mut().for_each(|input| input.account = Some(account.clone()));
        watch.tell(CHARGED, 1, 1);
        Ok(receipt)
    });
    let (receipt, values) = draft.measure(data, charge, options.entropy, watch, &mut writers)?;
    watch.tell(MEASURED, 1, 1);
    going(watch)?;
    // From the first name on all is done, or nothing is.
    let files = watch.whole(|| -> Result<Vec<Sealed>, CompileError> {
        let charged = watch.noted().unwrap_or_default();
        let charged = charged.strip_suffix(NO_RELEASE).unwrap_or(&charged);
        let (all, mut files) = (writers.len(), Vec::new());
        for (writer, input) in writers.into_iter().zip(inputs) {
            let sealed = writer.seal(input, options.key);
            // Where only the folder failed the file is there, too.
            let named = files.len()
                + usize::from(matches!(sealed, Ok(_) | Err(SealError::Folder(_) | SealError::Beside(_))));
            if named > 0 {
                watch.note(format!("{charged}; {}", kept(named, all, options.out)));
            }
            files.push(sealed?);
        }
        watch.tell(SEALED, 1, 1);
        let hashes: Vec<&str> = files.iter().map(|f| f.blake3.as_str()).collect();
        ledger.sealed(&receipt, &hashes, options.key, options.day)?;
        watch.note("it came too late: the release is made, charged and whole");
        Ok(files)
    })?;
    watch.tell(NOTED, 1, 1);
    let mut files = files.into_iter();
    // Every draft has a file.
    let sealed = files.next().ok_or(MeasureError::NotCopies)?;
    let (ledger, chain) = (options.ledger.to_owned(), ledger.chain()?);
    Ok(Released { sealed, further: files.collect(), job, values, ledger, chain })
}
