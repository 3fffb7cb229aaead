//! A release of people that everybody may know, with the noise that a plan would draw: what may be made of it is tried out before data is opened.
//!
//! Nobody is in it, so nothing is charged, and nobody's key signs it. It lies in a folder that is gone as soon as nobody asks it any more.

use super::job::{Draft, account, nobodys, passing};
use super::{Charge, CompileError, Job, going};
use crate::release::{Release, SealError, SigningKey};
use crate::secret::ingest::Rows;
use crate::secret::noise::Entropy;
use crate::spec::Spec;
use crate::watch::{Passing, Watch};
use tempfile::TempDir;

/// It, with its folder.
pub(crate) struct TrialRelease {
    pub release: Release,
    _folder: (TempDir, Passing),
}

/// Makes it of the finest nodes of these people, dimension by dimension. Every amount of theirs is in its middle. Of copies for many recipients it is the
/// most precise.
pub(crate) fn simulated(
    spec: &Spec,
    job: &Job,
    people: &[Vec<u32>],
    entropy: Entropy,
    day: &str,
    watch: &Watch,
) -> Result<TrialRelease, CompileError> {
    let folder = passing(watch)?;
    let draft = Draft::new(job, spec, [1; 32])?;
    let key = SigningKey::throw_away().map_err(SealError::from)?;
    // As in a rehearsal: whatever its noise, nobody is in it.
    let mut input = draft.manifest(0, day, false)?;
    input.account = Some(account(spec, &draft.charge(job)?, &nobodys()));
    let copies = 0..draft.copies();
    let mut writers =
        copies.map(|copy| draft.begin(copy, folder.0.path(), false, watch)).collect::<Result<Vec<_>, _>>()?;
    let charge: Charge<'_> = Box::new(|_| Ok(nobodys()));
    draft.measure(rows(spec, people)?.into(), charge, entropy, watch, &mut writers)?;
    going(watch)?;
    let first = writers.into_iter().next().ok_or(crate::secret::measure::MeasureError::NotCopies)?;
    let sealed = first.seal(input, &key)?;
    Ok(TrialRelease { release: Release::open(&sealed.path)?, _folder: folder })
}

/// The rows of these people. Behind its dimensions a row has its amounts.
fn rows(spec: &Spec, people: &[Vec<u32>]) -> Result<Rows, CompileError> {
    let dimensions = spec.cube.dimensions.iter().map(|d| d.levels[d.finest()].len() as u32);
    let middles: Vec<u32> = spec.summed().map(|a| (a.quantity.steps() / 2) as u32).collect();
    let len = people.first().map_or(0, Vec::len);
    let mut columns = people.to_vec();
    columns.extend(middles.iter().map(|&middle| vec![middle; len]));
    let nodes: Vec<u32> = dimensions.chain(middles.iter().map(|middle| middle + 1)).collect();
    Ok(Rows::from_codes(&nodes, &columns)?)
}
