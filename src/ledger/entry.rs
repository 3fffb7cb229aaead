//! One line of a ledger.

use crate::exact::Rational;
use crate::plan::Neighbours;
use crate::release::{Currency, is_day, is_name};
use serde::{Deserialize, Serialize};

/// What is charged, before noise is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// The release's name.
    pub release: String,
    /// The BLAKE3 hash of the spec.
    pub spec_blake3: String,
    /// What the agency calls the dataset: totals are by this label.
    pub dataset: String,
    /// Whom the guarantee protects.
    pub unit: String,
    /// What a neighbouring dataset is.
    pub neighbours: Neighbours,
    /// What is spent: ρ or ε.
    pub currency: Currency,
    /// How much.
    pub charged: Rational,
    /// The tables published without noise beside it, with the reasons.
    pub invariants: Vec<String>,
    /// The day, `YYYY-MM-DD`.
    pub day: String,
}

/// What an entry says about its charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Spent. Written before noise is drawn.
    Charged,
    /// The charge became a file.
    Sealed,
    /// The charge became nothing, and stays spent.
    Abandoned,
}

/// One line. Entries that close a charge repeat what was charged, for people; only those with status
/// `charged` count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The release's name.
    pub release: String,
    /// The BLAKE3 hash of the spec.
    pub spec_blake3: String,
    /// What the agency calls the dataset.
    pub dataset: String,
    /// Whom the guarantee protects.
    pub unit: String,
    /// What a neighbouring dataset is.
    pub neighbours: Neighbours,
    /// What is spent: ρ or ε.
    pub currency: Currency,
    /// How much, as an exact rational.
    #[cfg_attr(test, schemars(with = "String"))]
    pub charged: Rational,
    /// The tables published without noise: no charge covers what they say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invariants: Vec<String>,
    /// What this entry says about the charge.
    pub status: Status,
    /// For an entry that closes a charge: the hash of the charge's line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charge: Option<String>,
    /// For a sealed charge: the BLAKE3 hash of the release file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_blake3: Option<String>,
    /// The day, `YYYY-MM-DD`.
    pub day: String,
    /// The BLAKE3 hash of the line before, without its newline; zeros for the first line.
    pub previous: String,
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}

impl Entry {
    pub(super) fn charge(charge: Charge, previous: &str) -> Entry {
        Entry {
            release: charge.release,
            spec_blake3: charge.spec_blake3,
            dataset: charge.dataset,
            unit: charge.unit,
            neighbours: charge.neighbours,
            currency: charge.currency,
            charged: charge.charged,
            invariants: charge.invariants,
            status: Status::Charged,
            charge: None,
            file_blake3: None,
            day: charge.day,
            previous: previous.into(),
        }
    }

    /// Whether this entry says the same about what was spent as the charge it closes.
    pub(super) fn repeats(&self, charge: &Entry) -> bool {
        let Entry { status, charge: closes, file_blake3, day, previous, .. } = self.clone();
        Entry { status, charge: closes, file_blake3, day, previous, ..charge.clone() } == *self
    }

    /// The rules that need no other line.
    pub(super) fn sound(&self) -> Result<(), String> {
        let rule = |holds: bool, why: &str| if holds { Ok(()) } else { Err(why.to_owned()) };
        rule(is_name(&self.release), "the release's name is not one")?;
        rule(!self.dataset.is_empty() && !self.unit.is_empty(), "the dataset or the unit has no name")?;
        rule(!self.charged.is_zero(), "nothing is charged")?;
        rule(is_day(&self.day), "the day is not written YYYY-MM-DD")?;
        rule(
            is_hash(&self.spec_blake3) && is_hash(&self.previous),
            "a hash is not 64 lower-case hexadecimal digits",
        )?;
        let optional = [&self.charge, &self.file_blake3];
        rule(
            optional.into_iter().flatten().all(|h| is_hash(h)),
            "a hash is not 64 lower-case hexadecimal digits",
        )?;
        rule(
            (self.status != Status::Charged) == self.charge.is_some(),
            "an entry closes a charge if it is not one",
        )?;
        rule(
            (self.status == Status::Sealed) == self.file_blake3.is_some(),
            "a sealed charge, and no other, has a file",
        )
    }
}
