//! What one release takes from an account.

use super::cells::Cells;
use crate::exact::Rational;
use crate::plan::Neighbours;
use crate::release::parts::folded;
use crate::release::{Approximate, Currency, claims};
use crate::spec::Spec;
use serde::{Deserialize, Serialize};

/// What is charged, before noise is drawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Charge {
    /// The release's name.
    pub release: String,
    /// The BLAKE3 hash of the spec.
    pub spec_blake3: String,
    /// Whom the account protects: the same in all charges of a ledger.
    pub unit: String,
    /// Whom the release itself protects, where that is somebody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// How many of those one unit of the account is at most.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub unit_of: u32,
    /// What a neighbouring dataset is.
    pub neighbours: Neighbours,
    /// The part of the data that was counted, `region=north`: at one time no unit of the account is in two parts of one partition. Both sides are made
    /// like ids, and capitals are no difference; what older programs took beside that is read, and counts as of no part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Of a part: of which period the data is, as people move from part to part between one time and another. Older lines do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) period: Option<String>,
    /// Of a part: of which snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) snapshot: Option<String>,
    /// What is spent: ρ or ε.
    pub currency: Currency,
    /// How much, for one unit of the account, as an exact rational: what the release costs, times `unit_of` (ε) or its square (ρ).
    #[cfg_attr(test, schemars(with = "String"))]
    pub charged: Rational,
    /// The tables published without noise: no charge covers what they say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invariants: Vec<String>,
    /// What the release is by itself, by the law of its own loss. It counts as long as nothing else is charged: laws of several releases do not
    /// add up where later ones are made after earlier ones were seen, and ρ does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) alone: Option<Alone>,
    /// Of measured questions about a declared snapshot: what they cost whom. Without it everybody pays `charged`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<Cells>,
    /// 32 hexadecimal digits of the system's randomness, so that no two charges have one hash: not even two of one spec, on one day, after the
    /// same lines. Older lines have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
}

/// ε at δ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Alone {
    /// ε.
    #[cfg_attr(test, schemars(with = "String"))]
    pub epsilon: Rational,
    /// δ.
    #[cfg_attr(test, schemars(with = "String"))]
    pub delta: Rational,
}

impl Alone {
    /// Of a release that says so.
    pub(crate) fn of(stated: &Approximate) -> Option<Alone> {
        let (epsilon, delta) = claims::alone(stated)?;
        Some(Alone { epsilon, delta })
    }
}

impl Charge {
    /// A charge for a release of a spec, for everybody: whom it protects, and of which part and time the data is.
    pub(crate) fn of(spec: &Spec, currency: Currency, charged: Rational) -> Charge {
        let (account, own) = (spec.account_name(), spec.privacy.unit.name());
        let dated = spec.dataset.as_ref().filter(|_| account.part.is_some());
        Charge {
            release: spec.name.clone(),
            spec_blake3: blake3::hash(spec.source.as_bytes()).to_hex().to_string(),
            of: (account.unit != own).then(|| own.to_owned()),
            unit: account.unit,
            unit_of: account.unit_of,
            neighbours: spec.privacy.neighbours,
            period: dated.and_then(|d| d.period.clone()),
            snapshot: dated.and_then(|d| d.snapshot.clone()),
            part: account.part,
            currency,
            charged,
            invariants: Vec::new(),
            alone: None,
            cells: None,
            nonce: None,
        }
    }

    /// Which part it is of. What is no name of a part today, or is of no stated time, may be of any part: it counts as of none.
    pub(crate) fn named_part(&self) -> Option<(String, String)> {
        let timed = self.period.is_some() || self.snapshot.is_some();
        folded(self.part.as_deref().filter(|_| timed)?)
    }
}

fn one() -> u32 {
    1
}

fn is_one(n: &u32) -> bool {
    *n == 1
}
