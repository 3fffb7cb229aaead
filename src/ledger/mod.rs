//! What has been spent, over all releases of a dataset.
//!
//! A text file of JSON lines, one a charge. A charge is on the disk before noise is drawn, so a crash can
//! lose a release but never the memory of what it may have spent. Every line holds the hash of the line before it: a line
//! that is changed, removed or put in between shows. Cutting lines off the end does not; keep
//! [`Summary::head`] elsewhere (a signed release's day-book, a second machine) to notice that too.
//!
//! The ledger knows labels, amounts and hashes of what is public; nothing in it comes from private data.

mod entry;
mod total;

pub use entry::{Charge, Entry, Status};
pub use total::Total;

use crate::release::canonical;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What stands for the line before the first one.
pub const ROOT: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// The longest a ledger may be.
pub const MAX_LEDGER: u64 = 1 << 30;

/// Why a ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The file could not be read or written.
    #[error("cannot use the ledger: {0}")]
    Io(#[from] io::Error),
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
        "line {line}, the last of the ledger, is incomplete: a program stopped while writing it, before any noise \
         was drawn for it; remove that line by hand"
    )]
    Torn {
        /// Counted from 1.
        line: usize,
    },
    /// An entry that may not be written.
    #[error("the ledger does not take this entry: {0}")]
    Refused(String),
    /// The file is longer than any ledger.
    #[error("the ledger is longer than {MAX_LEDGER} bytes")]
    TooLarge,
}

/// A ledger file. Every operation locks the file, reads it, checks the whole chain, and lets go.
#[derive(Debug, Clone)]
pub struct Ledger {
    path: PathBuf,
}

/// A charge that is on the disk: the permission to draw noise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The hash of the charge's line.
    pub charge: String,
}

/// A ledger whose chain holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// How many entries there are.
    pub entries: usize,
    /// Charges neither sealed nor abandoned.
    pub open: usize,
    /// The hash of the last line. Whoever knows an earlier head notices when lines vanish.
    pub head: String,
}

/// The JSON Schema of an entry. A test generates it from [`Entry`].
pub const SCHEMA: &str = include_str!("../../schemas/ledger-entry.schema.json");

/// The lines of a ledger with their hashes, checked.
struct Lines {
    entries: Vec<(String, Entry)>,
}

impl Ledger {
    /// The ledger in this file, which is made when it is not there. The chain is checked.
    pub fn open(path: impl Into<PathBuf>) -> Result<Ledger, LedgerError> {
        let ledger = Ledger { path: path.into() };
        // A device would forget the account, and a pipe would never end.
        if let Ok(there) = std::fs::metadata(&ledger.path) {
            crate::files::regular(&there)?;
        }
        let file = OpenOptions::new().read(true).append(true).create(true).open(&ledger.path)?;
        file.sync_all()?;
        sync_folder(&ledger.path)?;
        ledger.check()?;
        Ok(ledger)
    }

    /// The ledger in this file, which must be there. The chain is checked.
    pub fn read(path: impl Into<PathBuf>) -> Result<Ledger, LedgerError> {
        let ledger = Ledger { path: path.into() };
        ledger.check()?;
        Ok(ledger)
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks, without writing anything, that the ledger in this file would take a charge: that its chain holds and it can be written, or
    /// that it can be made.
    pub fn ready(path: &Path, charge: &Charge) -> Result<(), LedgerError> {
        let lines = if let Ok(there) = std::fs::metadata(path) {
            crate::files::regular(&there)?;
            Lines::read(&OpenOptions::new().read(true).append(true).open(path)?)?
        } else {
            let folder = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
            tempfile::tempfile_in(folder)?;
            Lines { entries: Vec::new() }
        };
        let entry = Entry::charge(charge.clone(), lines.head());
        lines.accepts(&entry).map_err(LedgerError::Refused)
    }

    /// Writes a charge and waits until it is on the disk. Only then may noise be drawn.
    pub fn charge(&self, charge: Charge) -> Result<Receipt, LedgerError> {
        let hash = self.append(|lines| Ok(Entry::charge(charge, lines.head())))?;
        Ok(Receipt { charge: hash })
    }

    /// Notes that the charge became this file.
    pub fn sealed(&self, receipt: &Receipt, file_blake3: &str, day: &str) -> Result<(), LedgerError> {
        self.close(receipt, Status::Sealed, Some(file_blake3), day)
    }

    /// Notes that the charge became nothing. It stays spent: noise may have been drawn, and seen.
    pub fn abandoned(&self, receipt: &Receipt, day: &str) -> Result<(), LedgerError> {
        self.close(receipt, Status::Abandoned, None, day)
    }

    fn close(
        &self,
        receipt: &Receipt,
        status: Status,
        file: Option<&str>,
        day: &str,
    ) -> Result<(), LedgerError> {
        self.append(|lines| {
            let charge = lines.open().find(|(hash, _)| *hash == receipt.charge).map(|(_, entry)| entry);
            let charge = charge.ok_or_else(|| LedgerError::Refused("it closes no open charge".into()))?;
            Ok(Entry {
                status,
                charge: Some(receipt.charge.clone()),
                file_blake3: file.map(str::to_owned),
                day: day.into(),
                previous: lines.head().into(),
                ..charge.clone()
            })
        })?;
        Ok(())
    }

    /// Every entry, oldest first.
    pub fn entries(&self) -> Result<Vec<Entry>, LedgerError> {
        Ok(self.lines()?.entries.into_iter().map(|(_, entry)| entry).collect())
    }

    /// The charges that were neither sealed nor abandoned: what a crash leaves behind.
    pub fn open_charges(&self) -> Result<Vec<(Receipt, Entry)>, LedgerError> {
        let lines = self.lines()?;
        Ok(lines.open().map(|(hash, e)| (Receipt { charge: hash.clone() }, e.clone())).collect())
    }

    /// What the datasets have spent: one total for each dataset, unit, neighbour relation and currency, because
    /// those do not add up. Every charge counts, abandoned ones too.
    pub fn totals(&self) -> Result<Vec<Total>, LedgerError> {
        total::totals(&self.entries()?)
    }

    /// Checks every line and the chain.
    pub fn check(&self) -> Result<Summary, LedgerError> {
        let lines = self.lines()?;
        Ok(Summary { entries: lines.entries.len(), open: lines.open().count(), head: lines.head().into() })
    }

    fn lines(&self) -> Result<Lines, LedgerError> {
        let file = crate::files::open(&self.path)?;
        file.lock_shared()?;
        Lines::read(&file)
    }

    /// Locks, checks, writes one line, waits for the disk; returns the line's hash. The lock goes with the file.
    fn append(
        &self,
        entry: impl FnOnce(&Lines) -> Result<Entry, LedgerError>,
    ) -> Result<String, LedgerError> {
        let mut file = OpenOptions::new().read(true).append(true).open(&self.path)?;
        file.lock()?;
        let lines = Lines::read(&file)?;
        let entry = entry(&lines)?;
        let bytes = canonical::to_bytes(&entry).map_err(|e| LedgerError::Refused(e.to_string()))?;
        let hash = hash(&bytes);
        lines.accepts(&entry).map_err(LedgerError::Refused)?;
        let length = file.seek(SeekFrom::End(0))?;
        if length + bytes.len() as u64 > MAX_LEDGER {
            return Err(LedgerError::TooLarge);
        }
        file.write_all(&bytes).and_then(|()| file.sync_all()).inspect_err(|_| {
            // Half a line would block the ledger; nothing was promised yet.
            let _ = file.set_len(length);
        })?;
        Ok(hash)
    }
}

/// A new name is only safe when its folder is on the disk too; only Unix can do that.
fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let dir = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}

/// The BLAKE3 hash of a line without its newline.
fn hash(line: &[u8]) -> String {
    blake3::hash(line.strip_suffix(b"\n").unwrap_or(line)).to_hex().to_string()
}

impl Lines {
    fn read(file: &File) -> Result<Lines, LedgerError> {
        let mut bytes = Vec::new();
        file.take(MAX_LEDGER + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_LEDGER {
            return Err(LedgerError::TooLarge);
        }
        let mut lines = Lines { entries: Vec::new() };
        let mut closed = std::collections::HashSet::new();
        for (i, line) in bytes.split_inclusive(|&b| b == b'\n').enumerate() {
            let line_error = |why| LedgerError::Line { line: i + 1, why };
            if !line.ends_with(b"\n") {
                return Err(LedgerError::Torn { line: i + 1 });
            }
            canonical::check(line).map_err(|at| line_error(format!("not canonical JSON at byte {at}")))?;
            let entry: Entry = serde_json::from_slice(line).map_err(|e| line_error(e.to_string()))?;
            entry.sound().map_err(line_error)?;
            if entry.previous != lines.head() {
                return Err(LedgerError::Chain { line: i + 1 });
            }
            if let Some(charge) = &entry.charge
                && !closed.insert(charge.clone())
            {
                return Err(line_error("its charge was closed before".into()));
            }
            lines.entries.push((hash(line), entry));
        }
        lines.closings().map_err(|(i, why)| LedgerError::Line { line: i + 1, why })?;
        Ok(lines)
    }

    /// Whether every closing entry repeats its charge.
    fn closings(&self) -> Result<(), (usize, String)> {
        let mut charges = std::collections::HashMap::new();
        for (i, (hash, entry)) in self.entries.iter().enumerate() {
            match &entry.charge {
                None => _ = charges.insert(hash, entry),
                Some(charge) => {
                    if !charges.get(charge).is_some_and(|c| entry.repeats(c)) {
                        return Err((i, "it does not repeat the charge it closes".into()));
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether an entry may follow.
    fn accepts(&self, entry: &Entry) -> Result<(), String> {
        entry.sound()?;
        if entry.previous == self.head() {
            Ok(())
        } else {
            Err("it does not follow from the last line".into())
        }
    }

    fn head(&self) -> &str {
        self.entries.last().map_or(ROOT, |(hash, _)| hash)
    }

    fn open(&self) -> impl Iterator<Item = &(String, Entry)> {
        let closed: std::collections::HashSet<&str> =
            self.entries.iter().filter_map(|(_, e)| e.charge.as_deref()).collect();
        self.entries
            .iter()
            .filter(move |(hash, e)| e.status == Status::Charged && !closed.contains(hash.as_str()))
    }
}

#[cfg(test)]
mod tests;
