//! What has been spent on the people of one dataset, over all releases, and the bound that it may never pass.
//!
//! A text file of JSON lines. A charge is on the disk before noise is drawn, so a crash can lose a release but never the memory of
//! what it may have spent; and it is only written if everything charged before, and it, is within the bound. Every line holds the
//! hash of the line before it, and charges are signed with the agency's key: a line that is changed, removed or put in between shows, and who
//! writes the whole file anew needs the key. Cutting lines off the end, or going on from an older copy, leaves a chain that
//! holds; so every release carries the hash of its own charge's line, and a ledger that does not have that line is not the
//! one that was charged ([`published`]).
//!
//! The ledger knows labels, amounts and hashes of what is public; nothing in it comes from private data.
//!
//! | file | idea |
//! |---|---|
//! | `entry` | one line |
//! | `chain` | all lines, read and checked |
//! | [`spent`] | what the charges come to |
//! | [`cells`] | what a measured question costs whom |
//! | `bound` | all that may be spent, and what is left |
//! | [`published`] | whether the releases that are out were charged here |
//! | [`proof`] | the lines from a release's charge to a later head, which show the same to who has only that head |

mod bound;
pub(crate) mod cells;
mod chain;
mod charge;
mod entry;
mod hash;
pub(crate) mod proof;
pub(crate) mod published;
pub(crate) mod spent;
#[cfg(test)]
mod tests;

pub(crate) use bound::Bound;
pub(crate) use chain::{Chain, MAX_LEDGER, ROOT};
pub(crate) use charge::{Alone, Charge};
pub(crate) use entry::{Entry, LEDGER_FORMAT, Said};
pub(crate) use hash::is_hash;
pub(crate) use spent::{Exact, Spent};

use crate::exact::Rational;
use crate::price::price;
use crate::release::{Currency, KeyError, SigningKey, canonical, claims, parts};
use crate::visible::visible;
use crate::watch::Watch;
use rand::TryRng;
use rand::rngs::SysRng;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Why a ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The file could not be read or written.
    #[error("cannot use the ledger: {0}")]
    Io(#[from] io::Error),
    /// A ledger of the first kind.
    #[error(
        "this ledger is of the first kind, which was neither signed nor about one dataset. Keep it with your records and \
         begin a new one, with a bound that is lower by what the old one charged: margins ledger init ID --rho …"
    )]
    FirstKind,
    /// A line that is not an entry.
    #[error("line {line} of the ledger is not an entry: {why}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// Which rule is broken.
        why: String,
    },
    /// A line whose hash of the line before does not fit.
    #[error(
        "line {line} of the ledger does not follow from the line before: a line was changed, removed or inserted"
    )]
    Chain {
        /// Counted from 1.
        line: usize,
    },
    /// The last line has no end.
    #[error(
        "line {line}, the last of the ledger, is incomplete: a program stopped while writing it, {}; remove that line by hand",
        if *.closing {
            "and it closes a charge of a line above. Noise was drawn for that charge, which stays, and its release may be out"
        } else {
            "before any noise was drawn for it"
        }
    )]
    Torn {
        /// Counted from 1.
        line: usize,
        /// Whether it was to say what files a charge became.
        closing: bool,
    },
    /// The last line is whole, and only what ends it is gone.
    #[error(
        "line {line}, the last of the ledger, is whole and has lost only the end of the line, as in an editor or a copy. It may be a charge: do not remove it. \
         Put the end back, by one newline at the end of the file (echo >> FILE)"
    )]
    Unended {
        /// Counted from 1.
        line: usize,
    },
    /// Somebody else's account.
    #[error("{path} is the ledger of `{found}`, not of `{wanted}`: every dataset has its own", path = .path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        found: String,
        /// Whose it should be.
        wanted: String,
    },
    /// A charge that would pass the bound.
    #[error(
        "the bound of `{id}` is {bound}, and {}: this charge of {} = {asked} would pass it{}",
        left_text(.left, *.currency),
        .currency.symbol(),
        finer(.bound)
    )]
    Bound {
        /// Whose account.
        id: String,
        /// The bound.
        bound: Box<Bound>,
        /// What the charge is in.
        currency: Currency,
        /// How much it is.
        asked: String,
        /// How much such a charge could be.
        left: Rational,
    },
    /// A currency that no bound of pure ε can hold.
    #[error(
        "the bound of `{id}` is {bound}, and Gaussian noise has no pure ε at any price: use `epsilon` without `delta` in the \
         spec, or keep an account in ρ or in ε with δ"
    )]
    Currency {
        /// Whose account.
        id: String,
        /// The bound.
        bound: Box<Bound>,
    },
    /// A bound where there is one.
    #[error("`{id}` has a ledger with the bound {bound}, and a bound is never changed")]
    Bounded {
        /// Whose account.
        id: String,
        /// The bound.
        bound: Box<Bound>,
    },
    /// A bound that is passed already.
    #[error("more than {0} has been spent already")]
    Passed(Box<Bound>),
    /// An entry that may not be written.
    #[error("the ledger does not take this entry: {0}")]
    Refused(String),
    /// A part that has no name.
    #[error("{}", crate::preview::no_part(.0))]
    Part(String),
    /// The key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The file is longer than any ledger.
    #[error("the ledger is longer than {MAX_LEDGER} bytes")]
    TooLarge,
}

fn left_text(left: &Rational, currency: Currency) -> String {
    match left.is_zero() {
        true => "nothing of it is left".into(),
        false => format!("{} = {} of it is left", currency.symbol(), short(*left)),
    }
}

/// Of a bound in (ε, δ) with more digits than a release states of its ε: why one of a spec with this very ε may not be within it.
fn finer(bound: &Bound) -> &'static str {
    let finer = |e: Rational| claims::decimals_up(e.to_f64()).parse().is_ok_and(|up: Rational| up > e);
    match bound.epsilon.zip(bound.delta).is_some_and(|(e, _)| finer(e)) {
        true => {
            ". A release states its ε rounded up to four digits, so one of a spec with this very ε is above it: give the bound no more digits"
        }
        false => "",
    }
}

/// An amount for people: exact where that is short.
pub(crate) fn short(r: Rational) -> String {
    let text = r.to_string();
    if text.len() <= 15 { text } else { price(r.to_f64()) }
}

/// Where the ledger of a dataset is unless a spec says otherwise: in the folder `ledger` of the working folder.
pub(crate) fn default_path(id: &str) -> PathBuf {
    Path::new("ledger").join(format!("{id}.jsonl"))
}

/// A ledger file. Every operation locks the file, reads it, checks the whole chain, and lets go.
#[derive(Debug, Clone)]
pub struct Ledger {
    path: PathBuf,
    id: String,
    watch: Watch,
}

/// A charge that is on the disk: the permission to draw noise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Receipt {
    /// The hash of the charge's line: the head of the ledger after it.
    pub charge: String,
    /// Which line it is, counted from 1.
    pub line: u64,
}

/// Whose ledger a file is, where it should be another's.
pub(crate) fn of_another(chain: &Chain, path: &Path, id: &str) -> Option<LedgerError> {
    let found = chain.id().filter(|found| *found != id)?;
    Some(LedgerError::Other { path: path.into(), found: found.into(), wanted: id.into() })
}

/// What makes a charge the only one with its hash.
fn nonce() -> Result<String, LedgerError> {
    let mut bytes = [0; 16];
    SysRng.try_fill_bytes(&mut bytes).map_err(io::Error::other)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Of a ledger that is another file at every look.
const REPLACED: &str = "another program replaces its file meanwhile. Nothing is written while that goes on";
/// How often a ledger is opened anew.
const MOST_REPLACED: usize = 16;

/// Whether the name still leads to the file that was opened by it. Where there is no telling it is taken to.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let own = file.metadata()?;
        match std::fs::metadata(path) {
            Ok(there) => Ok((own.dev(), own.ino()) == (there.dev(), there.ino())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e),
        }
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        Ok(true)
    }
}

/// The JSON Schema of an entry. A test generates it from [`Entry`].
pub(crate) const SCHEMA: &str = include_str!("../../schemas/ledger-entry.schema.json");

impl Ledger {
    /// The ledger of `id` in this file, which need not be there yet. What is there is checked.
    pub(crate) fn at(path: impl Into<PathBuf>, id: &str) -> Result<Ledger, LedgerError> {
        let ledger = Ledger { path: path.into(), id: id.into(), watch: Watch::default() };
        ledger.chain()?;
        Ok(ledger)
    }

    /// The same ledger, for work that may be ended: its lines are written whole.
    pub(crate) fn watched(self, watch: &Watch) -> Ledger {
        Ledger { watch: watch.clone(), ..self }
    }

    /// The chain in a file, which must be there, whoever it is about.
    pub fn read(path: &Path) -> Result<Chain, LedgerError> {
        let file = crate::files::open(path)?;
        file.lock_shared()?;
        Chain::read(&file)
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Every line, checked; none where there is no file.
    pub(crate) fn chain(&self) -> Result<Chain, LedgerError> {
        let chain = match Ledger::read(&self.path) {
            Err(LedgerError::Io(e)) if e.kind() == io::ErrorKind::NotFound => Chain::default(),
            read => read?,
        };
        self.ours(chain)
    }

    fn ours(&self, chain: Chain) -> Result<Chain, LedgerError> {
        of_another(&chain, &self.path, &self.id).map_or(Ok(chain), Err)
    }

    /// Sets the bound, of an account that is new or had none. The next charge signs it.
    pub(crate) fn bind(&self, bound: Bound, day: &str) -> Result<(), LedgerError> {
        self.append(day, |chain| {
            if let Some(bound) = chain.bound() {
                return Err(LedgerError::Bounded { id: self.id.clone(), bound: Box::new(bound) });
            }
            if !bound.holds(&chain.spent()) {
                return Err(LedgerError::Passed(Box::new(bound)));
            }
            Ok((Said::Bound(bound), None))
        })
        .map(drop)
    }

    /// Checks, without writing anything, that the ledger would take this charge now: that its chain holds and it can be written, or
    /// that it can be made, and that there is budget. The chain as it is.
    pub(crate) fn ready(&self, charge: &Charge) -> Result<Chain, LedgerError> {
        self.looked_at(charge).map_err(|e| self.named(e))
    }

    fn looked_at(&self, charge: &Charge) -> Result<Chain, LedgerError> {
        if let Ok(there) = std::fs::metadata(&self.path) {
            crate::files::regular(&there)?;
            OpenOptions::new().append(true).open(&self.path)?;
        } else {
            // The nearest folder that is there must let the others, or the file, be made.
            let there = self.path.ancestors().skip(1).find(|d| d.exists()).unwrap_or(Path::new("."));
            tempfile::tempfile_in(there)?;
        }
        let chain = self.chain()?;
        self.room(&chain, charge)?;
        Ok(chain)
    }

    /// Whether the charge may be made.
    fn room(&self, chain: &Chain, charge: &Charge) -> Result<(), LedgerError> {
        chain.same_unit(charge).map_err(LedgerError::Refused)?;
        if let Some(part) = charge.part.as_ref().filter(|p| parts::folded(p).is_none()) {
            return Err(LedgerError::Part(part.clone()));
        }
        let Some(bound) = chain.bound() else { return Ok(()) };
        if !bound.admits(charge.currency) {
            return Err(LedgerError::Currency { id: self.id.clone(), bound: Box::new(bound) });
        }
        if bound.holds(&chain.spent_with(charge)) {
            return Ok(());
        }
        Err(LedgerError::Bound {
            id: self.id.clone(),
            bound: Box::new(bound),
            currency: charge.currency,
            asked: short(charge.charged),
            left: chain.left(charge).unwrap_or(Rational::ZERO),
        })
    }

    /// Writes a charge, signed, and waits until it is on the disk. Only then may noise be drawn.
    pub(crate) fn charge(&self, charge: Charge, key: &SigningKey, day: &str) -> Result<Receipt, LedgerError> {
        let charge = Charge { nonce: Some(nonce()?), ..charge };
        let (charge, line) = self.append(day, |chain| {
            self.room(chain, &charge)?;
            Ok((Said::Charged(Box::new(charge)), Some(key)))
        })?;
        Ok(Receipt { charge, line })
    }

    /// Notes that the charge became these files.
    pub(crate) fn sealed(
        &self,
        receipt: &Receipt,
        files: &[&str],
        key: &SigningKey,
        day: &str,
    ) -> Result<(), LedgerError> {
        let files = files.iter().map(|f| (*f).to_owned()).collect();
        self.append(day, |chain| {
            let charge = receipt.charge.clone();
            let open = chain.charges().any(|(hash, _)| hash == charge)
                && !chain.lines().iter().any(|(_, e)| e.closed() == Some(&charge));
            match open {
                true => Ok((Said::Sealed { charge, files }, Some(key))),
                false => Err(LedgerError::Refused("it closes no open charge".into())),
            }
        })
        .map(drop)
    }

    /// Locks, checks, writes one line (of a new ledger also its first), waits for the disk; returns the line's hash and number.
    /// The lock goes with the file.
    fn append<'k>(
        &self,
        day: &str,
        say: impl FnOnce(&Chain) -> Result<(Said, Option<&'k SigningKey>), LedgerError>,
    ) -> Result<(String, u64), LedgerError> {
        let held = self.held().and_then(|file| self.watch.whole(|| self.append_whole(file, day, say)));
        held.map_err(|e| self.named(e))
    }

    /// An error of the disk with the file's name: who releases has not named it, and knows of other files.
    fn named(&self, e: LedgerError) -> LedgerError {
        match e {
            LedgerError::Io(e) => {
                let text = format!("{}: {e}", visible(&self.path.display().to_string()));
                LedgerError::Io(io::Error::new(e.kind(), text))
            }
            e => e,
        }
    }

    /// The file, locked, under its name: who waits for the lock may hold what was replaced meanwhile, as editors do it. What is written there is nowhere.
    fn held(&self) -> Result<File, LedgerError> {
        for _ in 0..MOST_REPLACED {
            let file = self.watch.whole(|| self.make())?;
            file.lock()?;
            if is_at(&file, &self.path)? {
                return Ok(file);
            }
        }
        Err(io::Error::other(REPLACED).into())
    }

    fn append_whole<'k>(
        &self,
        mut file: File,
        day: &str,
        say: impl FnOnce(&Chain) -> Result<(Said, Option<&'k SigningKey>), LedgerError>,
    ) -> Result<(String, u64), LedgerError> {
        let mut chain = self.ours(Chain::read(&file)?)?;
        let mut bytes = Vec::new();
        if chain.id().is_none() {
            let opened = Said::Opened { format: LEDGER_FORMAT, id: self.id.clone() };
            let (line, with) = self.line(&chain, opened, None, day)?;
            bytes.extend(line);
            chain = with;
        }
        let (said, key) = say(&chain)?;
        let (line, chain) = self.line(&chain, said, key, day)?;
        bytes.extend(line);
        let length = file.seek(SeekFrom::End(0))?;
        if length + bytes.len() as u64 > MAX_LEDGER {
            return Err(LedgerError::TooLarge);
        }
        file.write_all(&bytes).and_then(|()| file.sync_all()).inspect_err(|_| {
            // Half a line would block the ledger; nothing was promised yet.
            let _ = file.set_len(length);
        })?;
        // The line is on the disk: only who sees another file there has a reason to doubt it.
        if matches!(is_at(&file, &self.path), Ok(false)) {
            return Err(io::Error::other(REPLACED).into());
        }
        Ok((chain.head().into(), chain.lines().len() as u64))
    }

    /// One more line, signed if there is a key, and the chain with it.
    fn line(
        &self,
        chain: &Chain,
        said: Said,
        key: Option<&SigningKey>,
        day: &str,
    ) -> Result<(Vec<u8>, Chain), LedgerError> {
        let refused = |e: canonical::CanonicalError| LedgerError::Refused(e.to_string());
        let mut entry = Entry {
            said,
            day: day.into(),
            previous: chain.head().into(),
            signer: key.map(SigningKey::public_key),
            signature: None,
        };
        if let Some(key) = key {
            let message = entry.message().map_err(refused)?;
            entry.signature = Some(key.sign_words(&message, &chain::comment(&self.id))?);
        }
        chain.accepts(&entry).map_err(LedgerError::Refused)?;
        let bytes = canonical::to_bytes(&entry).map_err(refused)?;
        Ok((bytes, chain.with(chain::hash(&entry).map_err(refused)?, entry)))
    }

    /// Opens the file to be written, and makes it and its folder where they are not there.
    fn make(&self) -> Result<File, LedgerError> {
        // A device would forget the account, and a pipe would never end.
        if let Ok(there) = std::fs::metadata(&self.path) {
            crate::files::regular(&there)?;
        }
        let folder = self.path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
        crate::files::folders(folder)?;
        let file = OpenOptions::new().read(true).append(true).create(true).open(&self.path)?;
        file.sync_all()?;
        // A new name is only safe when its folder is on the disk too; only Unix can do that.
        #[cfg(unix)]
        File::open(folder)?.sync_all()?;
        Ok(file)
    }
}
