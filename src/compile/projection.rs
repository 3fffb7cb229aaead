//! A release of a projection: the same stages in the same order as for tables.

use super::{CompileError, Options, Reading, Watcher, about, approximate, unit_name};
use crate::exact::Rational;
use crate::ledger::{self, Ledger};
use crate::plan::{BudgetRule, Measure, Neighbours, Noise, Plan};
use crate::projection::key::Key;
use crate::projection::{Design, Projection, Shape, cost};
use crate::release::limits;
use crate::release::packing::{CHUNK, pack};
use crate::release::{
    Amount, Currency, Declared, Kind, ManifestInput, MeasurementSummary, PlanSummary, Privacy,
    ProjectionSummary, Sealed, Writer, wire,
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
    writer.write_section(Kind::Plan, 0, &wire::encode_plan(&no_tables(spec, design), &spec.cube)?)?;
    writer.write_section(Kind::Spec, 0, spec.source.as_bytes())?;
    for (i, (_, bytes)) in spec.attachments.iter().enumerate() {
        writer.write_section(Kind::Attachment, i as u32, bytes)?;
    }
    let description = wire::encode_projection(&projection, &spec.cube)?;

    let parts = wire::parts(design, &spec.cube);
    let key = Key::new(parts, design.shape.cell_bits(), &projection.seed);
    let input =
        manifest(spec, &projection, total, key.collision(), options.day, !options.entropy.is_private())?;
    limits::check_texts(&input)?;
    let rows = ingest::read(spec, &path, &Reading(watcher))?;
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
