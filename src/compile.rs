//! One release, from spec to sealed file: the stages in their order.
//!
//! `plan` (no data) → charge the ledger → read rows → count and measure → seal. What can fail without data is
//! done before data is opened; the budget is charged before noise is drawn; the file appears under its name only
//! when it is whole.

pub mod projection;

use crate::cube::Frame;
use crate::exact::Rational;
use crate::ledger::{self, Ledger};
use crate::plan::cost::{self, Cost, CostError, WorstCase};
use crate::plan::{Block, Noise, PlanError, Planned, convert, plan};
use crate::release::packing::{chunks, pack};
use crate::release::{
    About, Amount, Approximate, Currency, Declared, Kind, LISTED_MEASUREMENTS, ManifestInput,
    MeasurementSummary, PlanSummary, Privacy, ReleaseError, SealError, Sealed, SigningKey, Writer, wire,
};
use crate::secret::ingest::{self, IngestError, Progress};
use crate::secret::measure::{Charged, MeasureError, measure};
use crate::secret::noise::{Entropy, NoiseError};
use crate::spec::{Budget, Spec, Unit};
use std::path::{Path, PathBuf};

/// Why no release was made.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// (ε, δ) with no room for noise.
    #[error("no noise that can be drawn fits this epsilon and delta")]
    NoBudget,
    /// No projection.
    #[error(transparent)]
    Design(#[from] crate::projection::DesignError),
    /// A spec of tables where one of a projection is needed.
    #[error("the spec asks for tables, not for a projection")]
    NotAProjection,
    /// No plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The cost.
    #[error(transparent)]
    Cost(#[from] CostError),
    /// A spec without `[data]` and no data given.
    #[error("the spec names no data file: add a [data] section or give --data FILE")]
    NoData,
    /// The data.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// The random source.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// Measuring.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// Encoding.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// Writing and signing.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] ledger::LedgerError),
}

/// Where a release goes and who signs it.
pub struct Options<'a> {
    /// The folder of the release.
    pub out: &'a Path,
    /// Instead of the spec's own data file.
    pub data: Option<&'a Path>,
    /// The ledger file.
    pub ledger: &'a Path,
    /// Who signs.
    pub key: &'a SigningKey,
    /// Overwrite a release of the same name.
    pub replace: bool,
    /// The day, `YYYY-MM-DD`.
    pub day: &'a str,
    /// The random source.
    pub entropy: Entropy,
}

/// Hears of public facts only.
pub trait Watcher: Sync {
    /// `done` of `of` bytes of the data file are read.
    fn reading(&self, done: u64, of: u64);
    /// `done` of `of` cells of the plan are measured.
    fn measuring(&self, done: u64, of: u64);
}

/// Nobody watches.
impl Watcher for () {
    fn reading(&self, _: u64, _: u64) {}
    fn measuring(&self, _: u64, _: u64) {}
}

struct Reading<'a>(&'a dyn Watcher);

impl Progress for Reading<'_> {
    fn step(&self, done: u64, of: u64) {
        self.0.reading(done, of);
    }
}

/// A finished release.
#[derive(Debug)]
pub struct Released {
    /// The files and their hashes.
    pub sealed: Sealed,
    /// What was planned and predicted.
    pub planned: Planned,
    /// The number of integers in the file.
    pub values: u64,
    /// The ledger that was charged.
    pub ledger: PathBuf,
}

/// The plan of a spec; data is not touched.
pub fn plan_spec(spec: &Spec) -> Result<Planned, CompileError> {
    Ok(plan(&spec.request().ok_or(CompileError::NoBudget)?)?)
}

/// Makes a release.
pub fn release(spec: &Spec, options: Options<'_>, watcher: &dyn Watcher) -> Result<Released, CompileError> {
    let planned = plan_spec(spec)?;
    let path = options
        .data
        .map(Path::to_owned)
        .or_else(|| spec.data.as_ref().map(|d| d.path.clone()))
        .ok_or(CompileError::NoData)?;
    let frame = Frame::new(&spec.cube, &planned.plan.levels);
    let chunks = chunks(&planned.plan, &frame);
    let sections = 3 + spec.attachments.len() + chunks.len();
    let mut writer = Writer::create(options.out, &spec.name, sections as u32, options.replace)?;
    writer.write_section(Kind::Domain, 0, &wire::encode_domain(&spec.cube)?)?;
    writer.write_section(Kind::Plan, 0, &wire::encode_plan(&planned.plan, &spec.cube)?)?;
    writer.write_section(Kind::Spec, 0, spec.source.as_bytes())?;
    for (i, (_, bytes)) in spec.attachments.iter().enumerate() {
        writer.write_section(Kind::Attachment, i as u32, bytes)?;
    }

    let rows = ingest::read(spec, &path, &Reading(watcher))?;
    let input = manifest(spec, &planned, &frame, options.day, !options.entropy.is_private())?;
    let ledger = Ledger::open(options.ledger)?;
    let mut charge = None;
    let charged = Charged::new(&spec.cube, planned.plan.clone(), |cost| {
        charge = Some(ledger.charge(ledger_entry(spec, &planned, cost, &path, options.day))?);
        Ok::<(), ledger::LedgerError>(())
    })?;
    let mut next = chunks.iter().enumerate().peekable();
    let mut packed = Vec::new();
    let values = measure(
        rows,
        &spec.cube,
        charged,
        options.entropy,
        &|done, of| watcher.measuring(done, of),
        &mut |index, values| {
            pack(&values, &mut packed);
            if let Some(&(section, chunk)) = next.peek()
                && chunk.end == index + 1
            {
                writer.write_section(Kind::Measurements, section as u32, &packed)?;
                packed.clear();
                next.next();
            }
            Ok(())
        },
    )?;
    let sealed = writer.seal(input, options.key)?;
    if let Some(charge) = charge {
        ledger.sealed(&charge, &sealed.blake3, options.day)?;
    }
    Ok(Released { sealed, planned, values, ledger: options.ledger.to_owned() })
}

fn currency(noise: Noise) -> Currency {
    match noise {
        Noise::Gaussian => Currency::Rho,
        Noise::Laplace => Currency::Epsilon,
    }
}

/// The (ε, δ) of a cost: at the spec's own δ, or at 1e-9 where it names none.
pub fn approximate(noise: Noise, cost: Rational, budget: Budget) -> Option<Approximate> {
    if noise == Noise::Laplace {
        return None;
    }
    let delta = match budget {
        Budget::EpsilonDelta(_, delta) => delta,
        _ => Rational::new(1, 1_000_000_000)?,
    };
    let epsilon = convert::epsilon_for(cost, delta.to_f64());
    // Four decimals, rounded up.
    Some(Approximate {
        epsilon: format!("{:.4}", (epsilon * 1e4).ceil() / 1e4),
        delta: decimal(delta),
        conversion: convert::CONVERSION.into(),
    })
}

/// `1e-9` where that is exactly the number, the ratio otherwise.
fn decimal(r: Rational) -> String {
    let short = format!("{:e}", r.to_f64());
    if short.parse() == Ok(r) { short } else { r.to_string() }
}

fn unit_name(spec: &Spec) -> (String, u32) {
    match &spec.privacy.unit {
        Unit::Row => ("row".into(), 1),
        Unit::Column { column, max_rows } => (column.clone(), *max_rows),
    }
}

fn manifest(
    spec: &Spec,
    planned: &Planned,
    frame: &Frame,
    day: &str,
    not_private: bool,
) -> Result<ManifestInput, CompileError> {
    let plan = &planned.plan;
    let currency = currency(plan.noise);
    let (unit, max_rows) = unit_name(spec);
    let measurements = (0..plan.measurements.len().min(LISTED_MEASUREMENTS))
        .map(|i| {
            let m = &plan.measurements[i];
            let (kind, cuboid) = match &m.block {
                Block::Component(c) => ("component", c),
                Block::Table(c) => ("table", c),
            };
            let (sensitivity, cost) = cost::measurement_cost(plan, frame, i)?;
            let block = spec.cube.describe(cuboid);
            Ok(MeasurementSummary { block, kind: kind.into(), scale: m.scale, sensitivity, cost })
        })
        .collect::<Result<_, CostError>>()?;
    let whom = if max_rows > 1 || unit != "row" {
        format!("every {unit}, of which at most {max_rows} rows count")
    } else {
        "every row".into()
    };
    let neighbours = match plan.neighbours {
        crate::plan::Neighbours::AddRemove => "whether it is in the data or not",
        crate::plan::Neighbours::Substitute => "whatever it says (the number of rows is public)",
    };
    let (symbol, kind) = match plan.noise {
        Noise::Gaussian => ("ρ", "zero-concentrated differential privacy"),
        Noise::Laplace => ("ε", "pure differential privacy"),
    };
    let worst = match planned.cost.worst_case {
        WorstCase::Sum => "",
        WorstCase::Joint => " The cost is the exact maximum over all pairs of cells.",
        WorstCase::Bound => " The cost is an upper bound over all pairs of cells.",
    };
    let note = format!("{symbol} <= {} of {kind} for {whom}, {neighbours}.{worst}", planned.plan.budget);
    Ok(ManifestInput {
        created: day.into(),
        compiler: format!("margins {}", env!("CARGO_PKG_VERSION")),
        not_private,
        about: About {
            name: spec.name.clone(),
            title: spec.title.clone(),
            description: spec.description.clone(),
            licence: spec.licence.clone(),
            contact: spec.contact.clone(),
            supersedes: spec.supersedes.clone(),
            errata: None,
        },
        privacy: Privacy {
            unit,
            max_rows,
            neighbours: plan.neighbours,
            budget: Amount { currency, amount: plan.budget },
            cost: Amount { currency, amount: planned.cost.total },
            approximate: approximate(plan.noise, planned.cost.total, spec.privacy.budget),
            note,
        },
        plan: PlanSummary {
            measure: plan.measure.name().into(),
            budgets: plan.budgets.name().into(),
            mechanism: plan.noise,
            workload: plan
                .workload
                .iter()
                .take(LISTED_MEASUREMENTS)
                .map(|t| spec.cube.describe(&t.cuboid))
                .collect(),
            count: plan.measurements.len() as u64,
            measurements,
        },
        projection: None,
        declared: Declared::default(),
        attachments: spec.attachments.iter().map(|(name, _)| name.clone()).collect(),
    })
}

fn ledger_entry(spec: &Spec, planned: &Planned, cost: &Cost, data: &Path, day: &str) -> ledger::Charge {
    let (unit, _) = unit_name(spec);
    ledger::Charge {
        release: spec.name.clone(),
        spec_blake3: blake3::hash(spec.source.as_bytes()).to_hex().to_string(),
        dataset: data.file_name().map_or_else(|| spec.name.clone(), |n| n.to_string_lossy().into_owned()),
        unit,
        neighbours: planned.plan.neighbours,
        currency: currency(planned.plan.noise),
        charged: cost.total,
        day: day.into(),
    }
}
