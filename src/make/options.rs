//! How a plan or a release is made, where it is not as the spec says.

use super::charging::Charging;
use crate::secret::ingest::{Frame, Memory, Piped};
use crate::watch::Watch;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// How a plan is made.
///
/// ```
/// let options = margins::PlanOptions::new().compare(true).effort(2);
/// # let _ = options;
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
#[must_use = "options do nothing until a plan is made with them"]
pub struct PlanOptions {
    pub(super) compare: bool,
    pub(super) effort: Option<u32>,
    pub(super) memory: Memory,
    pub(super) watch: Watch,
}

impl PlanOptions {
    /// As the spec says.
    pub fn new() -> PlanOptions {
        PlanOptions::default()
    }

    /// Tries every strategy, to compare them.
    pub fn compare(self, compare: bool) -> PlanOptions {
        PlanOptions { compare, ..self }
    }

    /// Searches for tables this long, in rounds of a few seconds, instead of the spec's `effort`.
    pub fn effort(self, effort: impl Into<Option<u32>>) -> PlanOptions {
        PlanOptions { effort: effort.into(), ..self }
    }

    /// Refuses a plan whose release may need more bytes of memory.
    pub fn memory(self, bytes: impl Into<Option<u64>>) -> PlanOptions {
        PlanOptions { memory: bytes.into().map_or(Memory::default(), Memory::at_most), ..self }
    }

    /// Hears how far the search is, and may stop it.
    pub fn watch(self, watch: &Watch) -> PlanOptions {
        PlanOptions { watch: watch.clone(), ..self }
    }
}

/// Reads the passphrase of a key's file, or says why it cannot.
pub(super) type Passphrase<'a> = Box<dyn FnOnce(&Path) -> Result<Zeroizing<String>, String> + Send + 'a>;

/// How a release is made.
///
/// ```
/// let options = margins::ReleaseOptions::new().key("agency.key").out("public").replace(false);
/// # let _ = options;
/// ```
#[non_exhaustive]
#[must_use = "options do nothing until a release is made with them"]
pub struct ReleaseOptions<'a> {
    pub(super) data: Option<PathBuf>,
    pub(super) piped: Option<Piped>,
    pub(super) counts: Option<PathBuf>,
    pub(super) rows: Option<&'a Frame>,
    pub(super) key: Option<PathBuf>,
    pub(super) passphrase: Option<Passphrase<'a>>,
    #[cfg(feature = "test-seed")]
    pub(super) seed: Option<u64>,
    pub(super) out: PathBuf,
    pub(super) ledger: Option<PathBuf>,
    pub(super) extends: Option<PathBuf>,
    pub(super) replace: bool,
    pub(super) effort: Option<u32>,
    pub(super) memory: Memory,
    pub(super) threads: Option<usize>,
    pub(super) watch: Watch,
    pub(super) warn: Box<dyn FnMut(&str) + Send + 'a>,
    pub(super) consent: Box<dyn FnMut(&Charging<'_>) -> bool + Send + 'a>,
}

impl Default for ReleaseOptions<'_> {
    fn default() -> Self {
        ReleaseOptions {
            data: None,
            piped: None,
            counts: None,
            rows: None,
            key: None,
            passphrase: None,
            #[cfg(feature = "test-seed")]
            seed: None,
            out: PathBuf::from("out"),
            ledger: None,
            extends: None,
            replace: false,
            effort: None,
            memory: Memory::default(),
            threads: None,
            watch: Watch::default(),
            warn: Box::new(|_| ()),
            consent: Box::new(|_| true),
        }
    }
}

impl<'a> ReleaseOptions<'a> {
    /// As the spec says, into the folder `out`, with nobody's key: enough for made-up data alone.
    pub fn new() -> Self {
        ReleaseOptions::default()
    }

    /// Reads the rows from here instead of the spec's own file: a file, a folder, or a pattern such as `rows/*.parquet`.
    pub fn data(mut self, path: impl Into<PathBuf>) -> Self {
        self.data = Some(path.into());
        self
    }

    /// Reads the rows that come through a pipe, wherever the spec says its data is.
    pub(crate) fn piped(self, rows: Piped) -> Self {
        ReleaseOptions { piped: Some(rows), ..self }
    }

    /// Takes the counts that [the statement of a plan](crate::PlannedRelease::statement) gave, instead of rows.
    pub fn counts(mut self, path: impl Into<PathBuf>) -> Self {
        self.counts = Some(path.into());
        self
    }

    /// Takes these rows, wherever the spec says its data is. They never touch the disk.
    pub fn rows(mut self, rows: &'a Frame) -> Self {
        self.rows = Some(rows);
        self
    }

    /// The file of the secret key that signs.
    pub fn key(mut self, file: impl Into<PathBuf>) -> Self {
        self.key = Some(file.into());
        self
    }

    /// The key's passphrase. It is wiped from memory after use.
    pub fn passphrase(self, passphrase: String) -> Self {
        let passphrase = Zeroizing::new(passphrase);
        self.passphrase_by(move |_| Ok(passphrase))
    }

    /// Who is asked for the key's passphrase if it has one.
    pub(crate) fn passphrase_by(
        mut self,
        ask: impl FnOnce(&Path) -> Result<Zeroizing<String>, String> + Send + 'a,
    ) -> Self {
        self.passphrase = Some(Box::new(ask));
        self
    }

    /// Draws the noise from a fixed seed: NOT PRIVATE, and marked so for good.
    #[cfg(feature = "test-seed")]
    #[doc(hidden)]
    pub(crate) fn insecure_seed(mut self, seed: impl Into<Option<u64>>) -> Self {
        self.seed = seed.into();
        self
    }

    /// The folder for the release. It is made where it is not there.
    pub fn out(mut self, folder: impl Into<PathBuf>) -> Self {
        self.out = folder.into();
        self
    }

    /// The ledger to charge, where the spec names none; the default is `ledger/ID.jsonl` in the working folder.
    pub fn ledger(mut self, file: impl Into<PathBuf>) -> Self {
        self.ledger = Some(file.into());
        self
    }

    /// Measures only what this release of the same people does not tell well enough; ask both together afterwards.
    pub fn extends(mut self, file: impl Into<PathBuf>) -> Self {
        self.extends = Some(file.into());
        self
    }

    /// Replaces a release of the same name. Its charge stays, and this one is added.
    pub fn replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }

    /// Searches for tables this long, in rounds of a few seconds, instead of the spec's `effort`.
    pub fn effort(mut self, effort: impl Into<Option<u32>>) -> Self {
        self.effort = effort.into();
        self
    }

    /// Takes at most so many bytes of memory.
    pub fn memory(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.memory = bytes.into().map_or(Memory::default(), Memory::at_most);
        self
    }

    /// Reads and counts on so many threads; the release is the same on any number. The default is one for each core.
    pub fn threads(mut self, threads: impl Into<Option<usize>>) -> Self {
        self.threads = threads.into();
        self
    }

    /// Hears how far the work is, and may stop it.
    pub fn watch(mut self, watch: &Watch) -> Self {
        self.watch = watch.clone();
        self
    }

    /// Hears what the holder of the data should know, before anything is charged: sentences that begin with `warning:` or `note:`.
    pub fn warn(mut self, hears: impl FnMut(&str) + Send + 'a) -> Self {
        self.warn = Box::new(hears);
        self
    }

    /// Is asked before the ledger is charged; without its consent nothing is charged and nothing is replaced.
    pub fn consent(mut self, asks: impl FnMut(&Charging<'_>) -> bool + Send + 'a) -> Self {
        self.consent = Box::new(asks);
        self
    }
}

impl std::fmt::Debug for ReleaseOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReleaseOptions").field("out", &self.out).finish_non_exhaustive()
    }
}
