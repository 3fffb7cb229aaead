//! Verbs for programs that have specs and rows of their own in memory, such as the Python package: what a verb would print is handed
//! back, what it would say beside it, too, and nobody is asked anything.

use super::release::{How, make, warned};
use super::{Failure, output, plan, release, signing, today, verify};
use crate::compile;
use crate::planner::Look;
use crate::release::KeyError;
use crate::secret::ingest::{Frame, Means, Memory};
use crate::secret::noise::Entropy;
use crate::spec::{self, Spec};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Why a verb did not do what it was asked: the text that the command shows.
#[derive(Debug)]
pub enum Failed {
    /// The spec, a file or the machine is at fault.
    Error(String),
    /// A bound does not let it.
    Refused(String),
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Failed {
        match failure {
            Failure::Message(text) | Failure::Rendered(text) => Failed::Error(text.trim_end().to_owned()),
            Failure::Refused(text) => Failed::Refused(text),
            Failure::Refuted => Failed::Error("refuted".to_owned()),
        }
    }
}

/// The text that the command shows of an error.
pub fn text(error: impl std::error::Error) -> String {
    match Failure::from(error) {
        Failure::Message(text) | Failure::Rendered(text) | Failure::Refused(text) => text,
        Failure::Refuted => String::new(),
    }
}

/// A public key, given as a file or as itself.
pub fn public_key(key: &str) -> Result<String, Failed> {
    Ok(verify::read_key(key)?)
}

/// A spec.
#[derive(Debug, Clone)]
pub enum SpecSource {
    /// In a file.
    File(PathBuf),
    /// TOML that another program wrote; what it refers to is found from the working folder.
    Text(String),
}

impl SpecSource {
    fn load(&self) -> Result<Spec, Failure> {
        let read = match self {
            SpecSource::File(path) => spec::load(path),
            SpecSource::Text(text) => spec::of_text(text, Path::new("spec")),
        };
        // Whoever shows it may be no terminal.
        read.map_err(|errors| Failure::Rendered(errors.render(false)))
    }

    fn file(&self) -> Option<&Path> {
        match self {
            SpecSource::File(path) => Some(path),
            SpecSource::Text(_) => None,
        }
    }
}

/// What a verb prints.
#[derive(Debug, Clone)]
pub struct Said {
    /// For people.
    pub text: String,
    /// With `--json`.
    pub json: String,
    /// Warnings and notes.
    pub heard: Vec<String>,
}

/// `margins plan`; with `compare` all strategies are tried.
pub fn plan(source: &SpecSource, compare: bool, effort: Option<u32>) -> Result<Said, Failed> {
    let (made, heard) = output::hearing(|| -> Result<(String, String), Failure> {
        let mut spec = source.load()?;
        searching(&mut spec, effort)?;
        let look = if compare { Look::Everywhere } else { Look::Needed };
        let job = compile::plan(&spec, look, &today())?;
        Ok((
            plan::to_text(&spec, &job, Memory::default(), (compare, false))?,
            plan::to_json(&spec, &job, Memory::default())?,
        ))
    });
    let (text, json) = made?;
    Ok(Said { text, json, heard })
}

/// The columns of the data that a spec names, each once: what of a data frame is looked at.
pub fn columns(source: &SpecSource) -> Result<Vec<String>, Failed> {
    let spec = source.load()?;
    let mut names: Vec<String> = spec.columns.iter().map(|c| c.column.clone()).collect();
    if let spec::Unit::Column { column, order, .. } = &spec.privacy.unit {
        names.push(column.clone());
        names.extend(order.iter().cloned());
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// How a release is made.
#[derive(Debug, Default)]
pub struct Making {
    /// Instead of the spec's own data file.
    pub data: Option<PathBuf>,
    /// Rows in memory instead of any file.
    pub frame: Option<Frame>,
    /// The secret key to sign with.
    pub key: Option<PathBuf>,
    /// Its passphrase, if it has one.
    pub passphrase: Option<Zeroizing<String>>,
    /// The folder for the release.
    pub out: PathBuf,
    /// The ledger to charge, where the spec names none.
    pub ledger: Option<PathBuf>,
    /// Measure only what this release does not tell well enough.
    pub extends: Option<PathBuf>,
    /// Overwrite a release of the same name, and charge again.
    pub replace: bool,
    /// How long to search for tables.
    pub effort: Option<u32>,
}

/// `margins release`: what it says, and the files it wrote, the most precise copy first.
pub fn release(source: &SpecSource, making: &Making) -> Result<(Said, Vec<PathBuf>), Failed> {
    let how = How {
        spec: source.file(),
        data: making.data.as_deref(),
        counts: None,
        frame: making.frame.as_ref(),
        out: &making.out,
        ledger: making.ledger.as_deref(),
        extends: making.extends.as_deref(),
        replace: making.replace,
        ask: false,
        key_file: making.key.as_deref(),
    };
    let (made, heard) = output::hearing(|| -> Result<release::Made, Failure> {
        let mut spec = source.load()?;
        searching(&mut spec, making.effort)?;
        warned(&spec)?;
        let passphrase = |path: &Path| {
            making.passphrase.clone().ok_or_else(|| output::about(path, &KeyError::NeedsPassphrase))
        };
        let key = signing::signing_key(making.key.as_deref(), &spec, passphrase)?;
        make(spec, &how, Entropy::from_os()?, &key, &Means::default())
    });
    let made = made?;
    let files = std::iter::once(&made.released.sealed).chain(&made.released.further);
    let files = files.map(|sealed| sealed.path.clone()).collect();
    Ok((Said { text: made.text(&how), json: made.json(), heard }, files))
}

fn searching(spec: &mut Spec, effort: Option<u32>) -> Result<(), Failure> {
    if let Some(effort) = effort {
        if effort > spec::MOST_EFFORT {
            return Err(Failure::Message(format!("effort is at most {}", spec::MOST_EFFORT)));
        }
        spec.strategy.effort = effort;
    }
    Ok(())
}
