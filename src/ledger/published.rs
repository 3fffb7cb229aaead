//! Whether a release that is out was charged in a ledger.
//!
//! A release carries the number and the hash of its own charge's line. A ledger that was cut short, or that went on from an older
//! copy, holds another line there or none, however well its own chain holds.

use super::chain::Chain;
use super::entry::Said;
use crate::release::Manifest;

/// What a ledger says of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It was charged here.
    Charged,
    /// The release does not say which account was charged.
    Silent,
    /// It was not, or not so: why.
    Not(String),
}

/// Looks a release up in a ledger.
pub fn look(chain: &Chain, manifest: &Manifest) -> Found {
    let Some(account) = &manifest.account else { return Found::Silent };
    let not = |why: String| Found::Not(why);
    if chain.lines().is_empty() {
        return not("this ledger is empty: it was lost, or another one was charged".into());
    }
    if chain.id() != Some(&account.name.id) {
        return not(format!("it was charged to the account `{}`", account.name.id));
    }
    let Some(line) = chain.line_of(&account.head) else {
        return not(format!(
            "its charge, line {} of the ledger it was charged in, is not in this one: lines were cut off, or this is \
             another ledger of that name",
            account.line
        ));
    };
    let Some((_, entry)) = chain.lines().get(line - 1) else { return not("there is no such line".into()) };
    let Said::Charged(charge) = &entry.said else {
        return not(format!("line {line}, which it names, is no charge"));
    };
    let same = line as u64 == account.line
        && charge.spec_blake3 == manifest.sources.spec
        && charge.unit == account.name.unit
        && charge.unit_of == account.name.unit_of
        && charge.part == account.name.part
        && charge.neighbours == manifest.privacy.neighbours
        && (charge.currency, charge.charged) == (account.charged.currency, account.charged.amount)
        && entry.signer.as_deref() == Some(&manifest.signer.public_key);
    match same {
        true => Found::Charged,
        false => {
            not(format!("line {line}, which it names, charges something else, or another key signed it"))
        }
    }
}
