//! What is about to be charged.

use super::account;
use crate::ledger::{Chain, Charge};
use crate::visible::visible;
use std::path::PathBuf;

/// What is about to be charged.
#[derive(Debug)]
pub struct Charging<'a> {
    pub(super) chain: &'a Chain,
    pub(super) charge: &'a Charge,
    /// The files that are there and will be replaced: they were charged, and stay so.
    pub replaced: &'a [PathBuf],
}

impl Charging<'_> {
    /// What the account will have spent in all, for people.
    pub fn in_all(&self) -> String {
        account::spent(&self.chain.spent_with(self.charge), self.chain)
    }

    /// That replacing charges again, where something is replaced.
    pub(super) fn note(&self) -> Option<String> {
        let first = visible(&self.replaced.first()?.display().to_string()).into_owned();
        let there = match self.replaced.len() {
            1 => format!("{first} is there. Replacing it"),
            n => format!("{first} and {} more are there. Replacing them", n - 1),
        };
        Some(format!("note: {there} charges again: in all {}", self.in_all()))
    }
}
