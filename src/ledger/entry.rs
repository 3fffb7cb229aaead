//! One line of a ledger.

use super::bound::Bound;
use super::charge::Charge;
use super::hash::{is_hash, is_hex};
use crate::exact::Rational;
use crate::plan::Neighbours;
use crate::release::parts::sides;
use crate::release::{Currency, canonical, is_day, is_name};
use serde::{Deserialize, Serialize};

/// The format of ledgers that this program writes. The first one was neither signed nor about one dataset.
pub(crate) const LEDGER_FORMAT: u32 = 2;

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Said {
    /// The first line: whose account this is.
    Opened {
        /// The format of the ledger.
        format: u32,
        /// The `id` of the dataset, or the name of the release whose spec names none.
        id: String,
    },
    /// All that may ever be spent. At most once.
    Bound(Bound),
    /// Spent. Written before noise is drawn.
    Charged(Box<Charge>),
    /// A charge became these files.
    Sealed {
        /// The hash of the charge's line.
        charge: String,
        /// The BLAKE3 hash of each file.
        files: Vec<String>,
    },
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Entry {
    /// What it says.
    #[serde(flatten)]
    pub said: Said,
    /// The day it was written, `YYYY-MM-DD`. As its signer says; a list of keys holds it against a key's last day.
    pub day: String,
    /// The BLAKE3 hash of the line before, without its signature and its newline; zeros for the first line.
    pub previous: String,
    /// The public key that signed, as minisign writes it: of every charge, and of what closes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// minisign's signature of this line without this field, and of the trusted comment `margins ledger ID`: two words of
    /// base64. As the line names the one before, it signs all that is above it, the bound too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl Entry {
    /// What is signed.
    pub(super) fn message(&self) -> Result<Vec<u8>, canonical::CanonicalError> {
        canonical::to_bytes(&Entry { signature: None, ..self.clone() })
    }

    /// The charge, if this is one.
    pub(crate) fn charge(&self) -> Option<&Charge> {
        match &self.said {
            Said::Charged(charge) => Some(charge),
            _ => None,
        }
    }

    /// The charge that this closes, if it closes one.
    pub(super) fn closed(&self) -> Option<&String> {
        match &self.said {
            Said::Sealed { charge, .. } => Some(charge),
            _ => None,
        }
    }

    /// The rules that need no other line.
    pub(super) fn sound(&self) -> Result<(), String> {
        let rule = |holds: bool, why: &str| if holds { Ok(()) } else { Err(why.to_owned()) };
        const HASH: &str = "a hash is not 64 lower-case hexadecimal digits";
        rule(is_day(&self.day), "the day is not written YYYY-MM-DD")?;
        rule(is_hash(&self.previous), HASH)?;
        let signed = matches!(self.said, Said::Charged(_) | Said::Sealed { .. });
        rule(
            self.signature.is_some() == signed && self.signer.is_some() == signed,
            "charges and what closes them are signed, and nothing else is",
        )?;
        match &self.said {
            Said::Opened { format, id } => {
                rule(*format == LEDGER_FORMAT, "the ledger is of a later format")?;
                rule(is_name(id), "the id is not one")
            }
            Said::Bound(bound) => bound.sound(),
            Said::Charged(c) => {
                rule(is_name(&c.release), "the release's name is not one")?;
                rule(is_hash(&c.spec_blake3), HASH)?;
                rule(!c.unit.is_empty() && c.of.as_deref() != Some(""), "the unit has no name")?;
                rule(c.unit_of > 0, "a unit is of no unit at all")?;
                rule(
                    c.part.as_deref().is_none_or(|p| sides(p).is_some()),
                    "a part is not written NAME=PART",
                )?;
                rule(
                    c.nonce.as_deref().is_none_or(|n| is_hex(n, 32)),
                    "a nonce is not 32 hexadecimal digits",
                )?;
                let alone = c.alone.is_none_or(|a| {
                    let one = c.unit_of == 1
                        && c.neighbours == Neighbours::AddRemove
                        && c.currency == Currency::Rho;
                    one && !a.delta.is_zero() && a.delta < Rational::ONE
                });
                rule(alone, "what is charged has no (ε, δ) by itself")?;
                c.cells.as_ref().map_or(Ok(()), |cells| cells.sound(c.neighbours))?;
                rule(!c.charged.is_zero(), "nothing is charged")
            }
            Said::Sealed { charge, files } => {
                rule(!files.is_empty(), "a charge became no file")?;
                rule(is_hash(charge) && files.iter().all(|f| is_hash(f)), HASH)
            }
        }
    }
}
