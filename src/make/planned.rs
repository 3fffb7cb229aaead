//! What a release of a spec will be.

use super::made;
use super::words::currency;
use super::{MadeRelease, MakeError, PlanOptions, ReleaseOptions, today};
use crate::compile::{self, Job};
use crate::plan::Plan;
use crate::planner::Look;
use crate::secret::ingest::{Frame, Means, Memory};
use crate::secret::noise::Entropy;
use crate::spec::Spec;

/// What a release of a spec will be: decided, and rehearsed, without data.
#[derive(Debug, Clone)]
#[must_use]
pub struct PlannedRelease {
    spec: Spec,
    job: Job,
    memory: Memory,
}

/// A table that a plan is made for.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedTable {
    /// Its levels, as a query names them; none for the total.
    pub levels: Vec<String>,
    /// The root of the mean variance of what is asked of it: its cells, unless the spec asks for sums of them.
    pub std_error: f64,
    /// The standard error of the worst of those.
    pub worst_std_error: f64,
}

impl PlannedRelease {
    pub(super) fn new(spec: Spec, options: &PlanOptions) -> Result<PlannedRelease, MakeError> {
        let look = if options.compare { Look::Everywhere } else { Look::Needed };
        let means = Means { watch: options.watch.clone(), memory: options.memory };
        let job = compile::plan_with(&spec, look, &today(), &means)?;
        Ok(PlannedRelease { spec, job, memory: options.memory })
    }

    /// The spec that was planned.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Makes the release, without planning again unless the options ask for another search: see [`Spec::release`].
    pub fn release(&self, options: ReleaseOptions<'_>) -> Result<MadeRelease, MakeError> {
        match options.effort {
            None => made::make(self.spec.clone(), Some(self.job.clone()), options),
            Some(_) => self.spec.release(options),
        }
    }

    /// The integers that a release of these rows would publish, of each copy and each measurement. There is neither a file nor a charge: this is for
    /// audits, which make many releases of made-up rows.
    #[doc(hidden)]
    pub fn integers(&self, rows: &Frame, entropy: Entropy) -> Result<Vec<Vec<Vec<i64>>>, MakeError> {
        Ok(self.job.unwritten(&self.spec, rows, entropy)?)
    }

    /// What it will cost, exactly, as a ratio or a decimal; all copies together, where there are several.
    pub fn cost(&self) -> String {
        self.job.cost().to_string()
    }

    /// In what it is paid: `rho` or `epsilon`.
    pub fn currency(&self) -> &'static str {
        currency(self.job.currency())
    }

    /// The tables asked for, with their errors. None for a projection, of which single keys are asked.
    pub fn tables(&self) -> Vec<PlannedTable> {
        let Job::Tables(choice) = &self.job else { return Vec::new() };
        let planned = &choice.planned;
        let spec = self.spec.planned(&planned.plan);
        let tables = planned.plan.rows().workload.iter().zip(&planned.prediction.tables);
        let one = |(table, spread): (&crate::plan::Table, &crate::planner::closure::Spread)| PlannedTable {
            levels: table.cuboid.iter().map(|level| spec.cube.level_name(level)).collect(),
            std_error: spread.mean.sqrt(),
            worst_std_error: spread.max.sqrt(),
        };
        tables.map(one).collect()
    }

    /// One SQL statement that counts what is needed from the table `from` where the data lives, in the dialect `spark`, `duckdb`, `postgres`, `bigquery`
    /// or `ansi`. [`ReleaseOptions::counts`] takes its answer.
    pub fn statement(&self, dialect: &str, from: &str) -> Result<String, MakeError> {
        let all = compile::statement::Dialect::ALL;
        let known = all.into_iter().find(|d| d.word() == dialect);
        let known = known.ok_or_else(|| {
            let words: Vec<&str> = all.iter().map(|d| d.word()).collect();
            MakeError::Wrong(format!(
                "there is no dialect {dialect:?}: the dialects are {}",
                words.join(", ")
            ))
        })?;
        Ok(self.job.statement(&self.spec, known, from)?)
    }

    /// How many bytes its file will have, about. `None` for a projection.
    pub fn file_bytes(&self) -> Option<u64> {
        Some(self.job.effort(&self.spec, self.memory)?.work.file.round() as u64)
    }

    /// How many bytes of memory making it may take, about, besides rows of units that are held. `None` for a projection.
    pub fn memory_bytes(&self) -> Option<u64> {
        Some(self.job.effort(&self.spec, self.memory)?.release.memory.round() as u64)
    }

    /// What will be measured. `None` for a projection.
    #[doc(hidden)]
    pub fn measured(&self) -> Option<&Plan> {
        match &self.job {
            Job::Tables(choice) => Some(&choice.planned.plan),
            Job::Projection(_) => None,
        }
    }

    #[cfg(feature = "cli")]
    pub(crate) fn job(&self) -> &Job {
        &self.job
    }

    /// The limit of memory that it was planned within.
    #[cfg(feature = "cli")]
    pub(crate) fn memory(&self) -> Memory {
        self.memory
    }
}
