//! Tables: a plan of blocks, each measured with noise of its own.

use super::{Charge, CompileError, Watcher};
use crate::cube::Frame;
use crate::ledger::Receipt;
use crate::plan::Plan;
use crate::planner::{Choice, Planned};
use crate::release::claims::{self, ClaimError, Claims, Words};
use crate::release::packing::{chunks, pack, pack_zeros};
use crate::release::wire::encode_workload;
use crate::release::{FORMAT, Kind, SealError, Truncation, Writer, exact};
use crate::secret::Charged;
use crate::secret::ingest::Rows;
use crate::secret::measure::{MeasureError, cut_units, exact_tables, has_room, measure};
use crate::secret::noise::Entropy;
use crate::spec::Spec;
use std::borrow::Cow;
use std::ops::Range;

/// Planned tables, with all that is known of their sections before data is seen.
pub(super) struct Tables<'a> {
    /// The spec over the levels that the plan speaks of.
    pub spec: Cow<'a, Spec>,
    planned: &'a Planned,
    frame: Frame,
    chunks: Vec<Range<usize>>,
}

impl<'a> Tables<'a> {
    pub fn new(spec: &'a Spec, choice: &'a Choice) -> Tables<'a> {
        let planned = &choice.planned;
        let spec = spec.planned(&planned.plan);
        let frame = Frame::new(&spec.cube, &planned.plan.levels);
        let chunks = chunks(&planned.plan, &frame);
        Tables { spec, planned, frame, chunks }
    }

    /// What the plan section says.
    pub fn plan(&self) -> &Plan {
        &self.planned.plan
    }

    /// How many sections there are behind those of every release.
    pub fn sections(&self) -> usize {
        let plan = self.plan();
        let asked = plan.workload.iter().any(|t| !t.asks.is_cells());
        self.chunks.len()
            + plan.exact.len()
            + self.spec.zeros.len()
            + usize::from(plan.truncation.is_some())
            + usize::from(asked)
    }

    pub fn claims(&self, words: &Words) -> Result<Claims, ClaimError> {
        claims::of_tables(FORMAT, &self.spec.cube, self.plan(), &self.planned.cost, words)
    }

    /// The tables published exactly, each with its reason.
    pub fn invariants(&self) -> Vec<String> {
        let described =
            |e: &crate::spec::ExactTable| claims::invariant(&self.spec.cube.describe(&e.cuboid), &e.reason);
        self.spec.exact.iter().map(described).collect()
    }

    /// Refuses rows so many that integers of the plan might not fit.
    pub fn has_room(&self, rows: &Rows) -> Result<(), MeasureError> {
        has_room(rows, self.plan(), &self.frame)
    }

    /// Writes all sections with zeros in place of what is measured.
    pub fn zeros(&self, writer: &mut Writer) -> Result<(), CompileError> {
        let plan = self.plan();
        let mut sections = self.packed(writer);
        for (i, m) in plan.measurements.iter().enumerate() {
            pack_zeros(m.block.values(&self.frame), &mut sections.packed);
            sections.end_of(i)?;
        }
        let exact: Vec<Vec<i64>> = plan.exact.iter().map(|c| vec![0; self.frame.len(c)]).collect();
        self.rest(writer, &exact, plan.truncation.map(|_| 0))
    }

    /// Charges, measures, and writes all sections; returns the charge and the number of integers.
    pub fn measure(
        &self,
        rows: Rows,
        charge: Charge<'_>,
        entropy: Entropy,
        watcher: &dyn Watcher,
        writer: &mut Writer,
    ) -> Result<(Receipt, u64), CompileError> {
        let cube = &self.spec.cube;
        let (charged, receipt) = Charged::plan(cube, self.plan().clone(), charge)?;
        let exact = exact_tables(&rows, cube, &charged, &self.spec.exact)?;
        let cut = cut_units(&rows, &charged, &entropy)?;
        let mut sections = self.packed(writer);
        let values = measure(
            rows,
            cube,
            charged,
            entropy,
            &|done, of| watcher.measuring(done, of),
            &mut |i, values| {
                pack(&values, &mut sections.packed);
                Ok(sections.end_of(i)?)
            },
        )?;
        self.rest(writer, &exact, cut)?;
        Ok((receipt, values))
    }

    fn packed<'w>(&'w self, writer: &'w mut Writer) -> Sections<'w> {
        Sections { writer, chunks: &self.chunks, next: 0, packed: Vec::new() }
    }

    /// What is not measured block by block: exact tables, conditions, the count of cut units.
    fn rest(&self, writer: &mut Writer, exact: &[Vec<i64>], cut: Option<i64>) -> Result<(), CompileError> {
        let plan = self.plan();
        for (i, (cuboid, counts)) in plan.exact.iter().zip(exact).enumerate() {
            writer.write_section(Kind::Exact, i as u32, &exact::encode(cuboid, counts)?)?;
        }
        for (i, condition) in self.spec.zeros.iter().enumerate() {
            writer.write_section(Kind::Zero, i as u32, condition.as_bytes())?;
        }
        if let (Some(noisy), Some(scale)) = (cut, plan.truncation) {
            writer.write_section(Kind::Truncation, 0, &Truncation { scale, noisy }.encode()?)?;
        }
        if let Some(asked) = encode_workload(plan, &self.spec.cube)? {
            writer.write_section(Kind::Workload, 0, &asked)?;
        }
        Ok(())
    }
}

/// Measurements are packed one after the other; a section is written when its last one is.
struct Sections<'w> {
    writer: &'w mut Writer,
    chunks: &'w [Range<usize>],
    next: usize,
    packed: Vec<u8>,
}

impl Sections<'_> {
    /// Measurement `index` is packed.
    fn end_of(&mut self, index: usize) -> Result<(), SealError> {
        if self.chunks.get(self.next).is_some_and(|chunk| chunk.end == index + 1) {
            self.writer.write_section(Kind::Measurements, self.next as u32, &self.packed)?;
            self.packed.clear();
            self.next += 1;
        }
        Ok(())
    }
}
