//! The lines of a ledger from one release's charge to a later head.
//!
//! Whoever has the release and a head that the agency published needs no more to know that the charge stands in the ledger of that head: the release names the hash
//! of its charge's line, each line holds the hash of the one before, and the last one's hash is the head. To exchange a line on the way is to find another text of
//! one BLAKE3 hash. What stands above the charge, and so what was spent in all, such a proof does not show; the whole ledger does.

use super::chain::{self, Chain};
use super::charge::Charge;
use super::entry::{Entry, Said};
use super::{ROOT, published};
use crate::release::Manifest;

/// What a proof shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proof {
    /// The charge's line in the whole ledger, counted from 1, as the release says.
    pub line: u64,
    /// The charge.
    pub charge: Option<Charge>,
    /// How many lines follow it.
    pub later: usize,
    /// The hash of the last line.
    pub head: String,
    /// The files that the charge became, by their hashes; none where no line says so.
    pub files: Option<Vec<String>>,
    /// Every line that is signed: by whom, and on which day it says.
    pub signed: Vec<(String, String)>,
}

/// Whether these bytes begin as a proof does: with a line that follows another one.
pub(crate) fn is_proof(bytes: &[u8]) -> bool {
    let first = bytes.split_inclusive(|&b| b == b'\n').next().and_then(|line| chain::entry_of(line).ok());
    first.is_some_and(|entry| entry.charge().is_some() && entry.previous != ROOT)
}

/// The proof of a release's charge, from its line to the one of this hash, or to the last one. As the lines stand in the file.
pub(crate) fn of(
    chain: &Chain,
    bytes: &[u8],
    manifest: &Manifest,
    head: Option<&str>,
) -> Result<Vec<u8>, String> {
    let Some(account) = &manifest.account else {
        return Err("it does not say in which ledger it was charged; files of format 1 never say it".into());
    };
    let from = published::charged(chain, manifest)?;
    let to = match head {
        None => chain.lines().len(),
        Some(head) => chain.line_of(head).ok_or(NO_HEAD)?,
    };
    if to < from {
        return Err(format!(
            "the head is that of line {to}, before its charge in line {}: a head of before knows nothing of it",
            account.line
        ));
    }
    let lines = bytes.split_inclusive(|&b| b == b'\n').skip(from - 1).take(to + 1 - from);
    Ok(lines.flatten().copied().collect())
}

/// What is said of a head that is no line's hash.
pub(crate) const NO_HEAD: &str = "no line has this hash: lines were cut off, an older copy was put back, or it is the head of another ledger";

/// Reads a proof and checks every line of it: that the first one is the release's charge, and each of the others follows from the one before and is signed.
pub(crate) fn read(bytes: &[u8], manifest: &Manifest) -> Result<Proof, String> {
    let refused = |line: usize, why: &str| format!("line {line}: {why}");
    let Some(account) = &manifest.account else {
        return Err("the release names no account".into());
    };
    let mut proof = Proof {
        line: account.line,
        charge: None,
        later: 0,
        head: String::new(),
        files: None,
        signed: Vec::new(),
    };
    for (i, line) in bytes.split_inclusive(|&b| b == b'\n').enumerate() {
        if !line.ends_with(b"\n") {
            return Err(refused(i + 1, "it is incomplete"));
        }
        let entry: Entry = chain::entry_of(line).map_err(|why| refused(i + 1, &why))?;
        entry.sound().map_err(|why| refused(i + 1, &why))?;
        let hash = chain::hash(&entry).map_err(|e| refused(i + 1, &e.to_string()))?;
        match i {
            0 if hash != account.head => {
                return Err(refused(1, "it is not the line that the release names as its charge"));
            }
            0 if !published::charges(&entry, manifest) => {
                return Err(refused(
                    1,
                    "the release names it, and it charges something else, or another key signed it",
                ));
            }
            0 => proof.charge = entry.charge().cloned(),
            _ if entry.previous != proof.head => {
                return Err(refused(i + 1, "it does not follow from the line before"));
            }
            _ => proof.later = i,
        }
        match &entry.said {
            Said::Opened { .. } => return Err(refused(i + 1, "a ledger is opened once, above every charge")),
            Said::Bound(_) => {}
            Said::Charged(_) | Said::Sealed { .. } => {
                chain::signed(&entry, &account.name.id).map_err(|why| refused(i + 1, &why))?;
            }
        }
        if let Said::Sealed { charge, files } = &entry.said
            && *charge == account.head
        {
            match &proof.files {
                None => proof.files = Some(files.clone()),
                Some(_) => return Err(refused(i + 1, "it closes no open charge")),
            }
        }
        proof.signed.extend(entry.signer.map(|signer| (signer, entry.day)));
        proof.head = hash;
    }
    match proof.head.is_empty() {
        true => Err("there is no line in it".into()),
        false => Ok(proof),
    }
}
