//! The signed file: sections, manifest, hashes, signature, versions.
//!
//! `schemas/RELEASE-FORMAT.md` describes every byte. In short: a header and a table of sections, the
//! sections, a canonical JSON manifest that repeats the table with every hash, and a signature over the
//! manifest's bytes. Nothing is decoded before the signature has been checked, and no section is
//! handed out before its hash has been.
//!
//! | module | what it is |
//! |---|---|
//! | `kind`, `layout` | section kinds with their fixed tags; header, table, caps |
//! | [`parts`], [`copies`], [`exact`], `zeros`, [`projection`], `channels`, [`values`] | one part of the file each: stored, read, checked |
//! | [`packing`], `room` | how integers are packed; the plan, and whether the file has room for what it promises |
//! | [`texts`] | which texts a release may have |
//! | [`canonical`] | the one way to write a manifest as JSON |
//! | `manifest` | what an auditor asks |
//! | [`claims`] | what of it follows from plan and domain |
//! | `signature` | minisign signatures, read strictly |
//! | `reader` | [`Release`]: open, then read section by section |
//! | [`kept`] | what the first answer read everything for, beside the file |
//! | `verify` | every check, one by one, for people |
//! | [`codec`] | bincode's wire format with one fixed configuration |
//! | [`wire`] | domain and plan as they are stored |
//! | [`trusted`] | which keys a reader trusts, and how many of them signed; feature `compile` |
//! | `writer`, `place`, [`keys`] | sealing; feature `compile` |

pub mod canonical;
pub mod channels;
pub mod claims;
pub(crate) mod codec;
pub mod copies;
mod error;
pub mod exact;
pub mod kept;
mod kind;
mod layout;
pub mod legends;
mod manifest;
pub mod packing;
pub mod parts;
mod possible;
pub mod projection;
mod reader;
pub(crate) mod room;
pub mod signature;
mod sums;
pub mod texts;
pub mod values;
mod verify;
pub mod wire;
mod zeros;

#[cfg(feature = "test-seed")]
pub mod forged;
#[cfg(feature = "compile")]
pub mod keys;
#[cfg(feature = "compile")]
mod place;
#[cfg(feature = "compile")]
mod seal_error;
#[cfg(feature = "compile")]
pub mod trusted;
#[cfg(feature = "compile")]
mod writer;

#[cfg(all(test, feature = "test-seed"))]
mod tests;

pub use self::{
    error::ReleaseError,
    kind::{FIRST_FORMAT, Kind},
    layout::{FORMAT, MAGIC, MAX_SECTION, MAX_SECTIONS},
    manifest::{
        About, Account, AccountName, Accounting, Amount, Approximate, Currency, Dataset, LISTED_MEASUREMENTS,
        Manifest, ManifestInput, Privacy, ProjectionSummary, RecipientSummary, SignerKind, Without,
        file_name, is_day, is_hex, is_name,
    },
    reader::Release,
    signature::{is_not_private_key, public_key_text},
    verify::{Check, Outcome, sidecar_path},
};
pub(crate) use layout::MAX_SIGNATURE;

#[cfg(feature = "compile")]
pub use keys::{KeyError, SigningKey};
#[cfg(feature = "compile")]
pub use seal_error::SealError;
#[cfg(feature = "compile")]
pub use writer::{Sealed, Writer};
