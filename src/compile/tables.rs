//! Tables: a plan of blocks, each measured with noise of its own.

use super::effort::{self, added};
use super::{Charge, CompileError};
use crate::cube::{Cuboid, Frame, Integers};
use crate::ledger::Receipt;
use crate::plan::Plan;
use crate::plan::cost::Cost;
use crate::planner::{Choice, Planned};
use crate::projection::Seed;
use crate::release::claims::{self, ClaimError, Claims, Words};
use crate::release::packing::{Chunk, Layout, layout, pack, pack_zeros};
use crate::release::wire::encode_workload;
use crate::release::{FORMAT, Kind, SealError, Writer, channels, exact};
use crate::secret::Charged;
use crate::secret::count::Data;
use crate::secret::count::given::GivenError;
use crate::secret::ingest::{IngestError, Means, Memory, Origin};
use crate::secret::measure::{Copies, ExactTables, MeasureError, exact_tables, has_room, measure_copies};
use crate::secret::noise::Entropy;
use crate::spec::Spec;
use crate::watch::Watch;
use std::borrow::Cow;
use std::convert::Infallible;
use std::path::Path;

/// Planned tables, with all that is known of their sections before data is seen.
pub(super) struct Tables<'a> {
    /// The spec over the levels that the plan speaks of.
    pub spec: Cow<'a, Spec>,
    planned: &'a Planned,
    /// For each recipient the copy's plan and what it costs alone; nothing where there is one release for everybody.
    copies: Vec<(Plan, Cost)>,
    frame: Frame,
    layout: Layout,
}

impl<'a> Tables<'a> {
    pub(super) fn new(spec: &'a Spec, choice: &'a Choice, seed: &Seed) -> Result<Tables<'a>, CompileError> {
        let planned = &choice.planned;
        let spec = spec.planned(&planned.plan);
        let frame = Frame::new(&spec.cube, &planned.plan.levels);
        let layout = layout(&planned.plan, &frame);
        let copies = choice.copies.as_ref().map_or(Vec::new(), |c| {
            let mut measuring = [0; 16];
            measuring.iter_mut().zip(seed).for_each(|(m, s)| *m = *s);
            c.of_measuring(measuring).into_iter().zip(c.costs.clone()).collect()
        });
        Ok(Tables { spec, planned, copies, frame, layout })
    }

    /// What the plan section says: with several copies the most precise one's plan.
    pub(super) fn plan(&self) -> &Plan {
        &self.planned.plan
    }

    /// How many files it becomes.
    pub(super) fn copies(&self) -> usize {
        self.copies.len().max(1)
    }

    /// A copy's own plan.
    fn copy(&self, copy: usize) -> &Plan {
        self.copies.get(copy).map_or(self.plan(), |c| &c.0)
    }

    /// Whose copy it is.
    pub(super) fn recipient(&self, copy: usize) -> Option<&str> {
        self.copy(copy).recipient()
    }

    /// How many sections there are behind those of every release.
    pub(super) fn sections(&self) -> usize {
        let plan = self.plan();
        let asked = plan.rows().workload.iter().any(|t| !t.asks.is_cells());
        let single = usize::from(asked) + usize::from(!self.copies.is_empty());
        self.layout.chunks.len() + plan.exact.len() + self.spec.zeros.len() + plan.beside().count() + single
    }

    pub(crate) fn claims(&self, copy: usize, words: &Words) -> Result<Claims, ClaimError> {
        let cost = self.copies.get(copy).map_or(&self.planned.cost, |c| &c.1);
        claims::of_tables(FORMAT, &self.spec.cube, self.copy(copy), cost, words)
    }

    /// The tables published exactly, each with its reason.
    pub(crate) fn invariants(&self) -> Vec<String> {
        let reasons: Vec<String> = self.spec.exact.iter().map(|e| e.reason.clone()).collect();
        claims::declared(&self.spec.cube, self.plan(), &reasons)
    }

    /// Refuses rows so many that integers of the plan might not fit.
    pub(crate) fn has_room(&self, data: &Data) -> Result<(), MeasureError> {
        (0..self.copies()).try_for_each(|copy| has_room(data, self.copy(copy), &self.frame))
    }

    /// Reads rows as `spec` says, and counts what the plan's tables need.
    pub(super) fn read(&self, spec: &Spec, from: Origin<'_>, means: &Means) -> Result<Data, IngestError> {
        Data::read(&spec.measured(self.plan()), &self.spec.cube, &wanted(self.plan()), from, means)
    }

    /// The same from counts that somebody else made.
    pub(super) fn given(&self, spec: &Spec, path: &Path) -> Result<Data, GivenError> {
        Data::given(&spec.measured(self.plan()), &self.spec.cube, &wanted(self.plan()), path)
    }

    /// The bytes that reading, counting and measuring may take, but for rows of units.
    pub(super) fn memory(&self, memory: Memory) -> u64 {
        let counts = Data::memory(
            &self.spec.cube,
            &wanted(self.plan()),
            (added(self.plan()), effort::largest(&self.frame, self.plan()) as u64),
            rayon::current_num_threads(),
            memory,
        );
        let tables = counts.max(effort::most_memory(&self.spec.cube, self.plan(), self.copies(), memory));
        tables.saturating_add(effort::lists(&self.spec) as u64)
    }

    /// Writes all sections of a copy with zeros in place of what is measured.
    pub(super) fn zeros(&self, copy: usize, writer: &mut Writer) -> Result<(), CompileError> {
        let plan = self.plan();
        let Layout { counts, chunks, slices } = &self.layout;
        let mut sections = Sections::new(chunks);
        for (i, &count) in counts.iter().enumerate() {
            let cut = slices.get(&i);
            for slice in 0..cut.map_or(1, |cut| cut.count()) {
                pack_zeros(cut.map_or(count, |cut| cut.values(slice)), &mut sections.packed);
                sections.end_of(i, writer)?;
            }
        }
        let zeros = |of: &[Cuboid]| of.iter().map(|c| vec![0; self.frame.len(c)]).collect::<Vec<Vec<i64>>>();
        let own = plan.beside().map(|c| zeros(&c.exact)).collect();
        let exact = ExactTables { counts: zeros(&plan.exact), beside: own };
        let beside = plan.beside().flat_map(|c| &c.measurements);
        let beside: Vec<Integers> = beside.map(|m| vec![0; m.block.values(&self.frame)].into()).collect();
        self.rest(copy, writer, &exact, &beside)
    }

    /// Charges, measures, and writes all sections, each copy's with its own writer; returns the charge and the number of a copy's
    /// integers of rows.
    pub(crate) fn measure(
        &self,
        data: Data,
        charge: Charge<'_>,
        entropy: Entropy,
        watch: &Watch,
        writers: &mut [Writer],
    ) -> Result<(Receipt, u64), CompileError> {
        let cube = &self.spec.cube;
        let (charged, receipt) = Charged::copies(cube, self.plans()?, charge)?;
        let exact = exact_tables(&data, cube, &charged, &self.spec)?;
        let mut files: Vec<(Sections<'_>, &mut Writer)> =
            writers.iter_mut().map(|writer| (Sections::new(&self.layout.chunks), writer)).collect();
        // The values of channels beside rows, of each copy.
        let mut beside: Vec<Vec<Integers>> = vec![Vec::new(); files.len()];
        let rows = self.plan().rows().measurements.len();
        let values = measure_copies(data, cube, charged, entropy, watch, &mut |copy, i, values| {
            let (sections, writer) = files.get_mut(copy).ok_or(MeasureError::NotCopies)?;
            if i >= rows {
                beside.get_mut(copy).ok_or(MeasureError::NotCopies)?.push(values);
                return Ok(());
            }
            pack(&values, &mut sections.packed);
            Ok(sections.end_of(i, writer)?)
        })?;
        for (copy, writer) in writers.iter_mut().enumerate() {
            self.rest(copy, writer, &exact, beside.get(copy).map_or(&[], Vec::as_slice))?;
        }
        let beside: usize = beside.first().map_or(0, |own| own.iter().map(|v| v.iter().count()).sum());
        Ok((receipt, values - beside as u64))
    }

    /// The plans of all copies.
    fn plans(&self) -> Result<Copies, MeasureError> {
        Copies::new((0..self.copies()).map(|copy| self.copy(copy).clone()).collect())
    }

    /// What is measured, without a file and without a charge: of each copy and measurement the integers.
    pub(super) fn unwritten(
        &self,
        data: Data,
        entropy: Entropy,
        watch: &Watch,
    ) -> Result<Vec<Vec<Vec<i64>>>, MeasureError> {
        let (charged, ()) = Charged::copies(&self.spec.cube, self.plans()?, |_| Ok::<_, Infallible>(()))?;
        let mut all = vec![vec![Vec::new(); self.plan().measured()]; self.copies()];
        // Slices of a measurement come one after the other.
        measure_copies(data, &self.spec.cube, charged, entropy, watch, &mut |copy, i, values| {
            let own: Option<&mut Vec<i64>> = all.get_mut(copy).and_then(|all: &mut Vec<_>| all.get_mut(i));
            let values = values.iter().map(i64::try_from).collect::<Result<Vec<_>, _>>();
            own.ok_or(MeasureError::NotCopies)?.extend(values.map_err(|_| MeasureError::Overflow(i))?);
            Ok(())
        })?;
        Ok(all)
    }

    /// What is not packed block by block: exact tables, conditions, channels beside rows, whose copy it is.
    fn rest(
        &self,
        copy: usize,
        writer: &mut Writer,
        exact: &ExactTables,
        beside: &[Integers],
    ) -> Result<(), CompileError> {
        let plan = self.copy(copy);
        for (i, (cuboid, counts)) in plan.exact.iter().zip(&exact.counts).enumerate() {
            writer.write_section(Kind::Exact, i as u32, &exact::encode(cuboid, counts)?)?;
        }
        for (i, zero) in self.spec.zeros.iter().enumerate() {
            writer.write_section(Kind::Zero, i as u32, zero.condition.as_bytes())?;
        }
        let (mut left, mut sums) = (beside, Vec::new());
        for (channel, exact) in plan.beside().zip(&exact.beside) {
            let (own, rest) = left.split_at(channel.measurements.len().min(left.len()));
            left = rest;
            // Sections stand in the order of their kinds.
            match channels::encode(plan, &self.spec.cube, channel, (own, exact.as_slice()))? {
                (kind, bytes) if kind.repeats() => sums.push((kind, bytes)),
                (kind, bytes) => writer.write_section(kind, 0, &bytes)?,
            }
        }
        if let Some(asked) = encode_workload(plan, &self.spec.cube)? {
            writer.write_section(Kind::Workload, 0, &asked)?;
        }
        if let Some(section) = crate::release::copies::encode(plan)? {
            writer.write_section(Kind::Copies, 0, &section)?;
        }
        for (index, (kind, bytes)) in (0..).zip(sums) {
            writer.write_section(kind, index, &bytes)?;
        }
        Ok(())
    }
}

/// The tables whose counts or sums are measured or published.
pub(super) fn wanted(plan: &Plan) -> Vec<&Cuboid> {
    let channels = plan.channels.iter().filter(|c| c.subject.has_cells());
    channels.flat_map(|c| &c.measurements).map(|m| m.block.cuboid()).chain(&plan.exact).collect()
}

/// Measurements are packed one after the other; a section is written when its last one is, or its slice.
struct Sections<'c> {
    chunks: &'c [Chunk],
    next: usize,
    packed: Vec<u8>,
}

impl<'c> Sections<'c> {
    fn new(chunks: &'c [Chunk]) -> Sections<'c> {
        Sections { chunks, next: 0, packed: Vec::new() }
    }

    /// Measurement `index` is packed, or its next slice.
    fn end_of(&mut self, index: usize, writer: &mut Writer) -> Result<(), SealError> {
        if self.chunks.get(self.next).is_some_and(|chunk| chunk.measurements.end == index + 1) {
            writer.write_section(Kind::Measurements, self.next as u32, &self.packed)?;
            self.packed.clear();
            self.next += 1;
        }
        Ok(())
    }
}
