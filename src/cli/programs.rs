//! What the command says, for programs that bring it with them, such as the Python package: of plans and releases that the library made.

use super::query::areas;
use super::{Failure, plan, release, verify};
use crate::make::{MadeRelease, MakeError, PlannedRelease};
use std::path::Path;

/// The text that the command shows of an error.
pub fn text(error: impl std::error::Error) -> String {
    words(error.into())
}

fn words(failure: Failure) -> String {
    match failure {
        Failure::Message(text) | Failure::Rendered(text) | Failure::Refused(text) => text,
        Failure::Refuted => String::new(),
    }
}

/// A public key, given as a file or as itself; or why it is none.
pub fn public_key(key: &str) -> Result<String, String> {
    verify::read_key(key).map_err(words)
}

/// The areas in a file, as `margins query --areas` reads it: what labels and districts are called, and of each area its line, its label and the
/// district that it is in.
pub fn listed_areas(file: &Path) -> Result<(String, Option<String>, Vec<(u64, String, String)>), String> {
    let read = areas::read(file).map_err(words)?;
    Ok((read.level, read.district, read.listed))
}

/// What `margins plan` prints, perhaps with `--compare`: for people, and with `--json`.
pub fn plan(planned: &PlannedRelease, compare: bool) -> Result<[String; 2], MakeError> {
    let wrong = |failure| MakeError::Wrong(words(failure));
    Ok([plan::to_text(planned, compare).map_err(wrong)?, plan::to_json(planned).map_err(wrong)?])
}

/// What `margins release` prints: for people, and with `--json`.
pub fn release(made: &MadeRelease) -> [String; 2] {
    [release::text(made), release::json(made)]
}
