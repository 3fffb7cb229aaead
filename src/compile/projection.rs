//! A release of a projection: the same stages in the same order as for tables.

use super::{
    CompileError, Options, Reading, Watcher, about, approximate, begin, data_file, keep_data_out, unit_name,
};
use crate::exact::Rational;
use crate::ledger::{self, Ledger};
use crate::plan::{BudgetRule, Measure, Neighbours, Noise, Plan};
use crate::projection::key::Key;
use crate::projection::{Design, Projection, Shape, cost};
use crate::release::packing::{CHUNK, pack};
use crate::release::{
    Amount, Currency, Declared, Kind, ManifestInput, MeasurementSummary, PlanSummary, Privacy,
    ProjectionSummary, Release, SealError, Sealed, SigningKey, Writer, wire,
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
    let private = options.entropy.is_private();
    let input = manifest(spec, &projection, total, key.collision(), options.day, !private)?;
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
    begin(spec, &no_tables(spec, design), (design.shape.values() as usize).div_ceil(CHUNK) + 1, place)
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
    let input = manifest(spec, &projection, total, 0.0, day, false)?;
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

/// The plan section of a release without tables.
fn no_tables(spec: &Spec, design: &Design) -> Plan {
    Plan {
        noise: design.noise,
        budget: design.budget,
        neighbours: design.neighbours,
        max_rows: design.max_rows,
        measure: Measure::Base,
        budgets: BudgetRule::Uniform,
        levels: vec![vec![0]; spec.cube.dimensions.len()],
        workload: Vec::new(),
        exact: Vec::new(),
        zeros: Vec::new(),
        measurements: Vec::new(),
    }
}

fn key_names(spec: &Spec, design: &Design) -> Vec<String> {
    design.key.iter().filter_map(|&d| Some(spec.cube.dimensions.get(usize::from(d))?.name.clone())).collect()
}

fn manifest(
    spec: &Spec,
    projection: &Projection,
    total: Rational,
    collision: f64,
    day: &str,
    not_private: bool,
) -> Result<ManifestInput, CompileError> {
    let design = &projection.design;
    let (unit, max_rows) = unit_name(spec);
    let key = key_names(spec, design);
    let whom = if unit == "row" {
        "every row".into()
    } else {
        format!("every {unit}, of which at most {max_rows} rows count")
    };
    let neighbours = match design.neighbours {
        Neighbours::AddRemove => "whether it is in the data or not",
        Neighbours::Substitute => "whatever it says (the number of rows is public)",
    };
    let squared = cost::sensitivity_squared(design).ok_or(CompileError::NotAProjection)?;
    let (kind, rows, buckets) = match design.shape {
        Shape::Dense { rows } => ("dense", rows, None),
        Shape::Sketch { rows, buckets } => ("sketch", rows, Some(buckets)),
    };
    let amount = |amount| Amount { currency: Currency::Rho, amount };
    Ok(ManifestInput {
        created: day.into(),
        compiler: format!("margins {}", env!("CARGO_PKG_VERSION")),
        not_private,
        about: about(spec),
        privacy: Privacy {
            unit,
            max_rows,
            neighbours: design.neighbours,
            budget: amount(design.budget),
            cost: amount(total),
            approximate: approximate(Noise::Gaussian, total, spec.privacy.budget),
            note: format!(
                "ρ <= {} of zero-concentrated differential privacy for {whom}, {neighbours}.",
                design.budget
            ),
        },
        plan: PlanSummary {
            measure: format!("{kind} projection"),
            budgets: BudgetRule::Uniform.name().into(),
            mechanism: design.noise,
            workload: Vec::new(),
            count: 1,
            measurements: vec![MeasurementSummary {
                block: key.join(" × "),
                kind: "projection".into(),
                scale: design.scale,
                sensitivity: squared,
                cost: total,
            }],
        },
        projection: Some(ProjectionSummary {
            kind: kind.into(),
            key,
            rows,
            buckets,
            independence: design.independence,
            seed: blake3::Hash::from_bytes(projection.seed).to_hex().to_string(),
            sparsity: design.sparsity,
            collision: format!("{collision:.1e}"),
        }),
        declared: Declared::default(),
        attachments: spec.attachments.iter().map(|(name, _)| name.clone()).collect(),
    })
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
