//! A projection: sums of all counts with public random signs.

use super::{Charge, CompileError};
use crate::exact::Rational;
use crate::ledger::Receipt;
use crate::plan::Plan;
use crate::projection::key::Key;
use crate::projection::{Design, DesignError, Projection, Seed, cost};
use crate::release::claims::{self, ClaimError, Claims, Words};
use crate::release::packing::{CHUNK, pack};
use crate::release::{FORMAT, Kind, Writer, wire};
use crate::secret::Charged;
use crate::secret::count::{CountError, Data};
use crate::secret::ingest::Rows;
use crate::secret::measure::MeasureError;
use crate::secret::noise::{Entropy, SEEDS};
use crate::secret::project::project;
use crate::spec::Spec;
use crate::watch::Watch;
use rand::Rng;
use std::convert::Infallible;

/// A design with what it costs.
#[derive(Debug, Clone)]
pub struct Designed {
    /// What decides the projection but the seed.
    pub design: Design,
    /// Its exact cost ρ.
    pub cost: Rational,
}

/// The design of a projection spec; `None` for a spec of tables.
pub(super) fn design(spec: &Spec) -> Option<Result<Designed, DesignError>> {
    Some(spec.projection_request()?.and_then(|request| {
        let design = request.design()?;
        let spent = |cost: &Rational| !cost.is_zero() && *cost <= design.budget;
        match cost::cost(&design).filter(spent) {
            Some(cost) if design.scale <= design.noise.largest_scale() => Ok(Designed { design, cost }),
            _ => Err(DesignError::Scale),
        }
    }))
}

/// The public seed. It comes from the operating system's key by way of a stream of its own, so publishing it says nothing
/// about the noise for anyone who cannot tell ChaCha20 from a random function.
pub(super) fn seed(entropy: &Entropy) -> Seed {
    let mut seed = [0; 32];
    entropy.stream(SEEDS).fill_bytes(&mut seed);
    seed
}

/// A projection with its seed, and all that is known of its sections before data is seen.
pub(super) struct Sums<'a> {
    pub spec: &'a Spec,
    pub projection: Projection,
    plan: Plan,
    /// The section that says how to read the integers.
    description: Vec<u8>,
}

impl<'a> Sums<'a> {
    pub(super) fn new(spec: &'a Spec, designed: &Designed, seed: Seed) -> Result<Sums<'a>, CompileError> {
        let projection = Projection { seed, design: designed.design.clone() };
        let plan = claims::no_tables(&spec.cube, &projection.design);
        let description = wire::encode_projection(&projection, &spec.cube)?;
        Ok(Sums { spec, projection, plan, description })
    }

    /// What the plan section says.
    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How many sections there are behind those of every release.
    pub(super) fn sections(&self) -> usize {
        (self.projection.design.shape.values() as usize).div_ceil(CHUNK) + 1
    }

    pub(crate) fn claims(&self, words: &Words) -> Result<Claims, ClaimError> {
        claims::of_projection(FORMAT, &self.spec.cube, &self.projection, words)
    }

    /// Writes all sections with zeros in place of what is measured.
    pub(super) fn zeros(&self, writer: &mut Writer) -> Result<(), CompileError> {
        self.write(writer, &vec![0; self.projection.design.shape.values() as usize])
    }

    /// Charges, measures, and writes all sections; returns the charge and the number of integers.
    pub(crate) fn measure(
        &self,
        data: Data,
        charge: Charge<'_>,
        entropy: Entropy,
        watch: &Watch,
        writer: &mut Writer,
    ) -> Result<(Receipt, u64), CompileError> {
        let rows = data.into_rows().ok_or(MeasureError::Count(CountError::NotCounted))?;
        let (charged, receipt) = Charged::projection(self.projection.clone(), charge)?;
        let values = self.projected(rows, charged, entropy, watch)?;
        self.write(writer, &values)?;
        Ok((receipt, values.len() as u64))
    }

    fn projected(
        &self,
        rows: Rows,
        charged: Charged<Projection>,
        entropy: Entropy,
        watch: &Watch,
    ) -> Result<Vec<i64>, MeasureError> {
        let design = &self.projection.design;
        let parts = wire::parts(design, &self.spec.cube);
        let key = Key::new(parts, design.shape.cell_bits(), &self.projection.seed);
        project(rows, &key, charged, entropy, watch)
    }

    /// What is measured, without a file and without a charge.
    pub(super) fn unwritten(
        &self,
        data: Data,
        entropy: Entropy,
        watch: &Watch,
    ) -> Result<Vec<i64>, MeasureError> {
        let rows = data.into_rows().ok_or(MeasureError::Count(CountError::NotCounted))?;
        let (charged, ()) = Charged::projection(self.projection.clone(), |_| Ok::<_, Infallible>(()))?;
        self.projected(rows, charged, entropy, watch)
    }

    fn write(&self, writer: &mut Writer, values: &[i64]) -> Result<(), CompileError> {
        let mut packed = Vec::new();
        for (i, chunk) in values.chunks(CHUNK).enumerate() {
            packed.clear();
            pack(&chunk.to_vec().into(), &mut packed);
            writer.write_section(Kind::Measurements, i as u32, &packed)?;
        }
        Ok(writer.write_section(Kind::Projection, 0, &self.description)?)
    }
}

#[cfg(test)]
mod tests;
