//! The lines of a ledger, read and checked.

use super::LedgerError;
use super::bound::Bound;
use super::charge::Charge;
use super::entry::{Entry, Said};
use super::spent::Spent;
use crate::release::parts::folded;
use crate::release::{canonical, signature};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::Read;
use std::sync::{Mutex, PoisonError};

/// What stands for the line before the first one.
pub(crate) const ROOT: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// The longest a ledger may be.
pub(crate) const MAX_LEDGER: u64 = 1 << 30;

/// How a line begins that closes a charge; that of a charge goes on with another letter.
const CLOSING: &[u8] = b"{\"charge\":";

/// A ledger whose chain and signatures hold. Nothing in it is known but by the lines themselves.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    lines: Vec<(String, Entry)>,
}

/// The hash by which the next line names this one: the BLAKE3 hash of what is signed, without its newline. Signatures are made with fresh
/// randomness; the chain does not depend on that.
pub(super) fn hash(entry: &Entry) -> Result<String, canonical::CanonicalError> {
    let message = entry.message()?;
    Ok(blake3::hash(message.strip_suffix(b"\n").unwrap_or(&message)).to_hex().to_string())
}

/// The entry that a whole line is, in the one way in which it can be written.
pub(super) fn entry_of(line: &[u8]) -> Result<Entry, String> {
    canonical::check(line).map_err(|at| match () {
        () if line.ends_with(b"\r\n") => "its line ends were changed, to those of Windows".to_owned(),
        () if line.starts_with(b"\xef\xbb\xbf") => "a byte-order mark was put before it".to_owned(),
        () if line.trim_ascii().is_empty() => "it is empty".to_owned(),
        () => format!("not canonical JSON at byte {at}"),
    })?;
    let entry: Entry = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    // What is not a field of an entry does not come back.
    match canonical::to_bytes(&entry).ok().as_deref() == Some(line) {
        true => Ok(entry),
        false => Err("it has a field that no entry has".into()),
    }
}

/// Whether the signature of an entry of this account is that of its signer.
pub(super) fn signed(entry: &Entry, id: &str) -> Result<(), String> {
    let (Some(signer), Some(signature)) = (&entry.signer, &entry.signature) else {
        return Err("it is not signed".into());
    };
    let wrong =
        |e: &dyn std::fmt::Display| format!("its signature does not hold ({e}): it was changed, or forged");
    let message = entry.message().map_err(|e| e.to_string())?;
    signature::verify_words(signer, &message, signature, &comment(id)).map_err(|e| wrong(&e))
}

/// What a signature's trusted comment says.
pub(super) fn comment(id: &str) -> String {
    format!("margins ledger {id}")
}

impl Chain {
    /// Reads and checks every line.
    pub(super) fn read(file: &File) -> Result<Chain, LedgerError> {
        let mut bytes = Vec::new();
        file.take(MAX_LEDGER + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_LEDGER {
            return Err(LedgerError::TooLarge);
        }
        // One release reads its ledger five times, and many questions in a row read it each time. Lines that are byte for byte those of the last
        // reading were found good there: only what came after is checked.
        static LAST: Mutex<(Vec<u8>, Chain)> = Mutex::new((Vec::new(), Chain { lines: Vec::new() }));
        let last = || LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, chain) = match &*last() {
            (known, chain) if bytes.starts_with(known) => (known.len(), chain.clone()),
            _ => (0, Chain::default()),
        };
        let chain = chain.and(&bytes[known..])?;
        *last() = (bytes, chain.clone());
        Ok(chain)
    }

    /// The chain that is written in these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Result<Chain, LedgerError> {
        Chain::default().and(bytes)
    }

    /// The chain with the lines in these bytes after its own.
    fn and(mut self, bytes: &[u8]) -> Result<Chain, LedgerError> {
        let mut charged: HashSet<String> = self.charges().map(|(hash, _)| hash.to_owned()).collect();
        let nonce = |c: &Charge| c.nonce.clone();
        let mut nonces: HashSet<String> = self.charges().filter_map(|(_, c)| nonce(c)).collect();
        let mut closed: HashSet<String> =
            self.lines.iter().filter_map(|(_, e)| e.closed()).cloned().collect();
        for line in bytes.split_inclusive(|&b| b == b'\n') {
            let number = self.lines.len() + 1;
            let line_error = |why: String| LedgerError::Line { line: number, why };
            if !line.ends_with(b"\n") {
                let whole = entry_of(&[line, b"\n"].concat());
                if whole.is_ok_and(|entry| entry.previous == self.head()) {
                    return Err(LedgerError::Unended { line: number });
                }
                return Err(LedgerError::Torn { line: number, closing: self.closes(line) });
            }
            let entry = entry_of(line).map_err(|why| match number == 1 && is_first_kind(line) {
                true => LedgerError::FirstKind,
                false => line_error(why),
            })?;
            if entry.previous != self.head() {
                return Err(LedgerError::Chain { line: number });
            }
            let hash = hash(&entry).map_err(|e| line_error(e.to_string()))?;
            if let Some(charge) = entry.closed()
                && !(charged.contains(charge) && closed.insert(charge.clone()))
            {
                return Err(line_error("it closes no open charge".into()));
            }
            if let Some(charge) = entry.charge() {
                charged.insert(hash.clone());
                // It is from the system's randomness: a second one of the same is a line that was written from another.
                if nonce(charge).is_some_and(|nonce| !nonces.insert(nonce)) {
                    return Err(line_error("it has the nonce of a charge before it".into()));
                }
            }
            self.accepts(&entry).map_err(line_error)?;
            self.lines.push((hash, entry));
        }
        Ok(self)
    }

    /// Whether what is there of a line is of one that closes a charge. Of the first letters, which say nothing, the line before decides.
    fn closes(&self, line: &[u8]) -> bool {
        let open = self.lines.last().is_some_and(|(_, entry)| entry.charge().is_some());
        line.starts_with(CLOSING) || open && CLOSING.starts_with(line)
    }

    /// Whether an entry may follow: everything but that there is budget for it.
    pub(super) fn accepts(&self, entry: &Entry) -> Result<(), String> {
        entry.sound()?;
        if entry.previous != self.head() {
            return Err("it does not follow from the last line".into());
        }
        match (&entry.said, self.id()) {
            (Said::Opened { .. }, None) => return Ok(()),
            (Said::Opened { .. }, Some(_)) | (_, None) => {
                return Err("the first line opens the ledger, and no other does".into());
            }
            (Said::Bound(_), _) if self.bound().is_some() => {
                return Err("the ledger has a bound, and a bound is never changed".into());
            }
            (Said::Bound(_), _) => return Ok(()),
            (Said::Charged(charge), _) => self.same_unit(charge)?,
            (Said::Sealed { .. }, _) => {}
        }
        signed(entry, self.id().unwrap_or_default())
    }

    /// Charges of one account protect the same unit: else they do not add up.
    pub(super) fn same_unit(&self, charge: &Charge) -> Result<(), String> {
        let other = self.charges().map(|(_, c)| &c.unit).find(|unit| **unit != charge.unit);
        other.map_or(Ok(()), |unit| {
            Err(format!(
                "this account protects every `{unit}`, and the release every `{}`: what they spend adds up only if the spec \
                 says how many of its units one of the account's is, as in [dataset] unit = \"{unit}\", unit_of = 4",
                charge.unit
            ))
        })
    }

    /// The same with one line more.
    pub(super) fn with(&self, hash: String, entry: Entry) -> Chain {
        let mut lines = self.lines.clone();
        lines.push((hash, entry));
        Chain { lines }
    }

    /// Whose account it is; `None` before the first line.
    pub(crate) fn id(&self) -> Option<&str> {
        match &self.lines.first()?.1.said {
            Said::Opened { id, .. } => Some(id),
            _ => None,
        }
    }

    /// All that may ever be spent, if there is a bound.
    pub(crate) fn bound(&self) -> Option<Bound> {
        self.lines.iter().find_map(|(_, e)| match &e.said {
            Said::Bound(bound) => Some(*bound),
            _ => None,
        })
    }

    /// Whether a signed line stands below the bound: its signature is one of all that is above it. `None` without a bound.
    pub(crate) fn bound_is_signed(&self) -> Option<bool> {
        let at = self.lines.iter().position(|(_, e)| matches!(e.said, Said::Bound(_)))?;
        Some(self.lines.iter().skip(at).any(|(_, e)| e.signer.is_some()))
    }

    /// Every line with its hash, oldest first.
    pub(crate) fn lines(&self) -> &[(String, Entry)] {
        &self.lines
    }

    /// The charges, each with its line's hash.
    pub fn charges(&self) -> impl Iterator<Item = (&str, &Charge)> + Clone {
        self.lines.iter().filter_map(|(hash, e)| Some((hash.as_str(), e.charge()?)))
    }

    fn all(&self) -> Vec<&Charge> {
        self.charges().map(|(_, c)| c).collect()
    }

    /// What all charges come to, those that became nothing, too.
    pub fn spent(&self) -> Spent {
        Spent::of(&self.all())
    }

    /// What they would come to if every charge, but those in these lines, were about everybody and no less than its amount says.
    pub(crate) fn spent_for_sure(&self, lines: &BTreeSet<usize>) -> Spent {
        let all = self.lines.iter().enumerate().filter_map(|(at, (_, e))| Some((at + 1, e.charge()?)));
        let bare = |c: &Charge| Charge { cells: None, alone: None, ..c.clone() };
        let all = all.map(|(line, c)| if lines.contains(&line) { c.clone() } else { bare(c) });
        let all: Vec<Charge> = all.collect();
        Spent::of(&all.iter().collect::<Vec<_>>())
    }

    /// The lines of charges that say something by which they count less than their amounts: that they are about some people more than about
    /// others; of the only one, what its release is by the law of its own loss.
    pub(crate) fn claiming(&self) -> BTreeSet<usize> {
        let only = self.charges().nth(1).is_none();
        let some = |e: &Entry| e.charge().is_some_and(|c| c.cells.is_some() || only && c.alone.is_some());
        self.lines.iter().enumerate().filter(|(_, (_, e))| some(e)).map(|(at, _)| at + 1).collect()
    }

    /// What all of it would come to with one charge more.
    pub(crate) fn spent_with(&self, more: &Charge) -> Spent {
        let all: Vec<&Charge> = self.all().into_iter().chain([more]).collect();
        Spent::of(&all)
    }

    /// The most that a charge like this one could still be; `None` without a bound.
    pub(crate) fn left(&self, like: &Charge) -> Option<crate::exact::Rational> {
        Some(self.bound()?.left(&self.all(), like))
    }

    /// The parts that were charged, by partition, as they are told apart; without those of no name that is one today.
    pub(crate) fn parts(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut all = BTreeMap::<String, BTreeSet<String>>::new();
        for (by, is) in self.charges().filter_map(|(_, c)| folded(c.part.as_deref()?)) {
            all.entry(by).or_default().insert(is);
        }
        all
    }

    /// The files that a charge became, by their hashes; `None` where no line says so.
    pub(crate) fn sealed(&self, charge: &str) -> Option<&[String]> {
        self.lines.iter().find_map(|(_, e)| match &e.said {
            Said::Sealed { charge: c, files } if c == charge => Some(&files[..]),
            _ => None,
        })
    }

    /// How many charges became no file.
    pub fn open(&self) -> usize {
        let sealed = self.lines.iter().filter(|(_, e)| e.closed().is_some()).count();
        self.charges().count() - sealed
    }

    /// The hash of the last line.
    pub(crate) fn head(&self) -> &str {
        self.lines.last().map_or(ROOT, |(hash, _)| hash)
    }

    /// Who signed which lines, oldest first: the key and the day that the line says.
    pub(crate) fn signed(&self) -> Vec<(String, String)> {
        let signed = |e: &Entry| Some((e.signer.clone()?, e.day.clone()));
        self.lines.iter().filter_map(|(_, e)| signed(e)).collect()
    }

    /// The line of this hash, counted from 1.
    pub(crate) fn line_of(&self, head: &str) -> Option<usize> {
        self.lines.iter().position(|(hash, _)| hash == head).map(|at| at + 1)
    }
}

/// Whether this is a line of the first kind of ledger.
fn is_first_kind(line: &[u8]) -> bool {
    let value: Option<serde_json::Value> = serde_json::from_slice(line).ok();
    value.is_some_and(|v| v.get("kind").is_none() && v.get("status").is_some() && v.get("charged").is_some())
}
