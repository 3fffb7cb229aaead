//! A release of a projection: the same stages in the same order as for tables.

use super::{
    CompileError, Options, Reading, Watcher, begin, data_file, input, keep_data_out, unit_name, words,
};
use crate::exact::Rational;
use crate::ledger::{self, Ledger};
use crate::projection::key::Key;
use crate::projection::{Design, Projection, cost};
use crate::release::packing::{CHUNK, pack};
use crate::release::texts;
use crate::release::{
    Currency, FORMAT, Kind, ManifestInput, Release, SealError, Sealed, SigningKey, Writer, claims, wire,
};
use crate::secret::project::{Charged, project};
use crate::secret::{ingest, noise::Entropy};
use crate::spec::Spec;
use rand::Rng;
use std::path::{Path, PathBuf};

/// A finished release of a projection.
#[derive(Debug)]
pub struct ReleasedProjection {
    /// The files and their hashes.
    pub sealed: Sealed,
    /// What was designed, and the seed.
    pub projection: Projection,
    /// What was spent.
    pub cost: Rational,
    /// The ledger that was charged.
    pub ledger: PathBuf,
}

/// The design of a projection spec; data is not touched. `None` for a spec of tables.
pub fn design(spec: &Spec) -> Option<Result<Design, CompileError>> {
    Some(spec.projection_request()?.and_then(|r| r.design()).map_err(CompileError::from))
}

/// The stream of the entropy that the public seed is drawn from: no noise ever is.
const SEED_STREAM: u64 = u64::MAX;

/// The public seed. It comes from the operating system's key by way of a stream of its own, so publishing it says nothing
/// about the noise for anyone who cannot tell ChaCha20 from a random function.
fn seed(entropy: &Entropy) -> [u8; 32] {
    let mut seed = [0; 32];
    entropy.stream(SEED_STREAM).fill_bytes(&mut seed);
    seed
}

/// Makes a release of a projection.
pub fn release(
    spec: &Spec,
    options: Options<'_>,
    watcher: &dyn Watcher,
) -> Result<ReleasedProjection, CompileError> {
    spec.confirmed()?;
    let design = design(spec).ok_or(CompileError::NotAProjection)??;
    rehearse(spec, &design, options.day)?;
    let total = cost::cost(&design).ok_or(CompileError::NotAProjection)?;
    let path = data_file(spec, &options)?;
    let projection = Projection { seed: seed(&options.entropy), design };
    let design = &projection.design;
    let description = wire::encode_projection(&projection, &spec.cube)?;
    let key = Key::new(wire::parts(design, &spec.cube), design.shape.cell_bits(), &projection.seed);
    let input = manifest(spec, &projection, options.day, !options.entropy.is_private())?;
    let mut writer = begin_with(spec, design, (options.out, options.replace))?;
    let entry = ledger_entry(spec, design, total, &path, options.day);
    Ledger::ready(options.ledger, &entry)?;

    keep_data_out(spec, &path)?;
    let rows = ingest::read(spec, &path, &Reading(watcher))?;
    let ledger = Ledger::open(options.ledger)?;
    let mut charge = None;
    let charged = Charged::new(projection.clone(), |cost| {
        charge = Some(ledger.charge(ledger::Charge { charged: cost, ..entry })?);
        Ok::<(), ledger::LedgerError>(())
    })?;
    let values = project(rows, &key, charged, options.entropy, &|done, of| watcher.measuring(done, of))?;
    for (i, chunk) in values.chunks(CHUNK).enumerate() {
        let mut packed = Vec::new();
        pack(chunk, &mut packed);
        writer.write_section(Kind::Measurements, i as u32, &packed)?;
    }
    writer.write_section(Kind::Projection, 0, &description)?;
    let sealed = writer.seal(input, options.key)?;
    if let Some(charge) = charge {
        ledger.sealed(&charge, &sealed.blake3, options.day)?;
    }
    Ok(ReleasedProjection { sealed, projection, cost: total, ledger: options.ledger.to_owned() })
}

/// Starts a file: the sections that need no data.
fn begin_with(spec: &Spec, design: &Design, place: (&Path, bool)) -> Result<Writer, CompileError> {
    // One more: what the projection is.
    begin(
        spec,
        &claims::no_tables(&spec.cube, design),
        (design.shape.values() as usize).div_ceil(CHUNK) + 1,
        place,
    )
}

/// Writes the whole release once with zeros in place of what is measured, and reads it: see [`super::rehearse`].
pub fn rehearse(spec: &Spec, design: &Design, day: &str) -> Result<(), CompileError> {
    if design.scale > design.noise.largest_scale() {
        return Err(crate::projection::DesignError::Scale.into());
    }
    let total = cost::cost(design).ok_or(CompileError::NotAProjection)?;
    if total.is_zero() || total > design.budget {
        return Err(crate::projection::DesignError::Scale.into());
    }
    let folder = tempfile::tempdir().map_err(CompileError::Temporary)?;
    let projection = Projection { seed: [1; 32], design: design.clone() };
    let input = manifest(spec, &projection, day, false)?;
    let mut writer = begin_with(spec, design, (folder.path(), false))?;
    for (i, start) in (0..design.shape.values() as usize).step_by(CHUNK).enumerate() {
        let mut packed = Vec::new();
        pack(&vec![0; CHUNK.min(design.shape.values() as usize - start)], &mut packed);
        writer.write_section(Kind::Measurements, i as u32, &packed)?;
    }
    writer.write_section(Kind::Projection, 0, &wire::encode_projection(&projection, &spec.cube)?)?;
    let sealed = writer.seal(input, &SigningKey::throw_away().map_err(SealError::from)?)?;
    let release = Release::open(&sealed.path)?;
    release.plan(&release.cube()?)?;
    Ok(())
}

fn manifest(
    spec: &Spec,
    projection: &Projection,
    day: &str,
    not_private: bool,
) -> Result<ManifestInput, CompileError> {
    let words = words(spec);
    let claims = claims::of_projection(FORMAT, &spec.cube, projection, &words)?;
    let input = input(spec, words, claims, day, not_private);
    texts::check_texts(&input)?;
    Ok(input)
}

fn ledger_entry(spec: &Spec, design: &Design, cost: Rational, data: &Path, day: &str) -> ledger::Charge {
    ledger::Charge {
        invariants: Vec::new(),
        release: spec.name.clone(),
        spec_blake3: blake3::hash(spec.source.as_bytes()).to_hex().to_string(),
        dataset: data.file_name().map_or_else(|| spec.name.clone(), |n| n.to_string_lossy().into_owned()),
        unit: unit_name(spec).0,
        neighbours: design.neighbours,
        currency: Currency::Rho,
        charged: cost,
        day: day.into(),
    }
}

#[cfg(test)]
mod tests;
