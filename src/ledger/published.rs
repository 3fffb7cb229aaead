//! Whether a release that is out was charged in a ledger.
//!
//! A release carries the number and the hash of its own charge's line. A ledger that was cut short, or that went on from an older
//! copy, holds another line there or none, however well its own chain holds: every charge has a nonce, so no two have one hash. And a charge pays for
//! one measuring: what it became is in the line that closes it, by the hash of each file.

use super::cells::Cells;
use super::chain::Chain;
use super::charge::{Alone, Charge};
use super::entry::{Entry, Said};
use crate::release::{Manifest, Release, ReleaseError};
use crate::spec;
use std::io;

/// What a ledger says of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// It was charged here, in this line, and the charge became this file.
    Charged(usize),
    /// What it names was charged here, in this line, and no line says what that became.
    Open(usize),
    /// The release does not say which account was charged.
    Silent,
    /// It was not, or not so: why.
    Not(String),
}

/// Looks a release up in a ledger. `blake3` is the hash of the whole file.
pub(crate) fn look(chain: &Chain, manifest: &Manifest, blake3: impl FnOnce() -> io::Result<String>) -> Found {
    let Some(account) = &manifest.account else { return Found::Silent };
    let line = match charged(chain, manifest) {
        Ok(line) => line,
        Err(why) => return Found::Not(why),
    };
    became(line, chain.sealed(&account.head), manifest, blake3)
}

/// Whether what a charge became is this file: `files` are what the line that closes it names.
pub(crate) fn became(
    line: usize,
    files: Option<&[String]>,
    manifest: &Manifest,
    blake3: impl FnOnce() -> io::Result<String>,
) -> Found {
    let Some(files) = files else { return Found::Open(line) };
    let hash = match blake3() {
        Ok(hash) => hash,
        Err(e) => return Found::Not(format!("it cannot be read: {e}")),
    };
    let of = manifest.recipient.as_ref().map_or(1, |r| r.copies);
    match files.contains(&hash) {
        true if files.len() as u64 == of => Found::Charged(line),
        true => Found::Not(format!(
            "the charge in line {line} became {} files, and it says that there are {of}",
            files.len()
        )),
        false => Found::Not(format!(
            "the charge in line {line} became another file: this one was measured, signed or changed again, and no charge pays for it"
        )),
    }
}

/// The line that a release names, if it is the release's charge.
pub(super) fn charged(chain: &Chain, manifest: &Manifest) -> Result<usize, String> {
    let Some(account) = &manifest.account else { return Err("it names no account".into()) };
    if chain.lines().is_empty() {
        return Err("this ledger is empty: it was lost, or another one was charged".into());
    }
    if chain.id() != Some(&account.name.id) {
        return Err(format!("it was charged to the account `{}`", account.name.id));
    }
    let Some(line) = chain.line_of(&account.head) else {
        return Err(format!(
            "its charge, line {} of the ledger it was charged in, is not in this one: lines were cut off, an older copy was put back, or \
             this is another ledger of that name",
            account.line
        ));
    };
    let Some((_, entry)) = chain.lines().get(line - 1) else { return Err("there is no such line".into()) };
    if entry.charge().is_none() {
        return Err(format!("line {line}, which it names, is no charge"));
    }
    match line as u64 == account.line && charges(entry, manifest) {
        true => Ok(line),
        false => {
            Err(format!("line {line}, which it names, charges something else, or another key signed it"))
        }
    }
}

/// Whether a line is the charge that a release says was made for it, signed by the release's key.
pub(super) fn charges(entry: &Entry, manifest: &Manifest) -> bool {
    let (Said::Charged(charge), Some(account)) = (&entry.said, &manifest.account) else { return false };
    charge.spec_blake3 == manifest.sources.spec
        && charge.release == manifest.about.name
        && charge.invariants == manifest.declared.invariants
        && charge.unit == account.name.unit
        && charge.of.as_deref() == Some(&manifest.privacy.unit[..]).filter(|own| **own != account.name.unit)
        && charge.unit_of == account.name.unit_of
        && charge.part == account.name.part
        && of_its_time(charge, manifest)
        && charge.neighbours == manifest.privacy.neighbours
        && (charge.currency, charge.charged) == (account.charged.currency, account.charged.amount)
        && charge.alone == manifest.privacy.lossless().and_then(Alone::of).filter(|_| charge.unit_of == 1)
        && entry.signer.as_deref() == Some(&manifest.signer.public_key)
}

/// Whether a charge of a part is of the release's own period and snapshot. Older lines do not say of which they are.
fn of_its_time(charge: &Charge, manifest: &Manifest) -> bool {
    let own = manifest.dataset.as_ref().map(|d| (d.period.as_ref(), d.snapshot.as_ref()));
    let said = (charge.period.as_ref(), charge.snapshot.as_ref());
    said == (None, None) || charge.part.is_some() && own == Some(said)
}

/// What a release says of the cells that its charge is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Confirmed {
    /// The charge is for everybody: nothing depends on the release.
    Everybody,
    /// The release gives the same cells and shares.
    Same,
    /// It gives others, or cannot be read: why. The charge then counts for everybody.
    Not(String),
}

/// Derives again whom a charge is about, from the plan, the domain and the spec of the release that it became.
pub(crate) fn about(charge: &Charge, release: &Release) -> Confirmed {
    let Some(said) = &charge.cells else { return Confirmed::Everybody };
    let derived = || -> Result<Result<Option<Cells>, String>, ReleaseError> {
        let cube = release.cube()?;
        let plan = release.plan(&cube)?;
        let spec = spec::sealed(release, &cube, &plan)?;
        Ok(spec.map(|spec| Cells::of(&spec, &plan, &cube, &release.manifest().sources.domain)))
    };
    let why = match derived() {
        Err(e) => e.to_string(),
        Ok(Err(why)) => why,
        Ok(Ok(None)) => "what was measured is about everybody".into(),
        Ok(Ok(Some(found))) => match said.difference(&found) {
            None => return Confirmed::Same,
            Some(why) => why,
        },
    };
    Confirmed::Not(format!(
        "the charge says that it costs people by their cells, and the release does not: {why}"
    ))
}

/// Whether two different files name one charge though they are not two recipients' copies of one measuring: it paid for one of them.
pub(crate) fn one_charge(a: &Manifest, b: &Manifest) -> bool {
    let copies = match (&a.recipient, &b.recipient) {
        (Some(x), Some(y)) => x.measuring == y.measuring && x.name != y.name,
        _ => false,
    };
    let head = |m: &Manifest| m.account.as_ref().map(|account| account.head.clone());
    head(a).is_some() && head(a) == head(b) && !copies && a != b
}
