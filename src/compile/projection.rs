//! A release of a projection: the same stages in the same order as for tables.

use super::{CompileError, Options, Reading, Watcher, input, unit_name, words};
use crate::exact::Rational;
use crate::ledger::{self, Ledger};
use crate::projection::key::Key;
use crate::projection::{Design, Projection, cost};
use crate::release::packing::{CHUNK, pack};
use crate::release::{Currency, FORMAT, Kind, Sealed, Writer, claims, wire};
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
    let design = design(spec).ok_or(CompileError::NotAProjection)??;
    let total = cost::cost(&design).ok_or(CompileError::NotAProjection)?;
    let path = options
        .data
        .map(Path::to_owned)
        .or_else(|| spec.data.as_ref().map(|d| d.path.clone()))
        .ok_or(CompileError::NoData)?;
    let projection = Projection { seed: seed(&options.entropy), design };
    let design = &projection.design;
    let sections = (design.shape.values() as usize).div_ceil(CHUNK);
    let announced = 4 + spec.attachments.len() + sections;
    let mut writer = Writer::create(options.out, &spec.name, announced as u32, options.replace)?;
    writer.write_section(Kind::Domain, 0, &wire::encode_domain(&spec.cube)?)?;
    writer.write_section(
        Kind::Plan,
        0,
        &wire::encode_plan(&claims::no_tables(&spec.cube, design), &spec.cube)?,
    )?;
    writer.write_section(Kind::Spec, 0, spec.source.as_bytes())?;
    for (i, (_, bytes)) in spec.attachments.iter().enumerate() {
        writer.write_section(Kind::Attachment, i as u32, bytes)?;
    }
    let description = wire::encode_projection(&projection, &spec.cube)?;

    let rows = ingest::read(spec, &path, &Reading(watcher))?;
    let parts = wire::parts(design, &spec.cube);
    let key = Key::new(parts, design.shape.cell_bits(), &projection.seed);
    let words = words(spec);
    let claims = claims::of_projection(FORMAT, &spec.cube, &projection, &words)?;
    let input = input(spec, words, claims, options.day, !options.entropy.is_private());
    let ledger = Ledger::open(options.ledger)?;
    let mut charge = None;
    let charged = Charged::new(projection.clone(), |cost| {
        charge = Some(ledger.charge(ledger_entry(spec, design, cost, &path, options.day))?);
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
