//! What a release of a plan takes, and what it takes to ask it: bytes of the file, processor time, memory. Known from the plan alone, but for what
//! each row adds.
//!
//! How much there is to do is counted exactly ([`Work`]); how long a piece of it takes is measured by `cargo bench --bench effort`, which prints, beside
//! what happens, what these constants say. They are of one core of the machine of `docs/speed.md`, and meant within a factor of two.

use crate::cube::{Cube, Cuboid, Frame};
use crate::plan::{Block, Form, Measure, Measurement, Noise, Plan, Subject, limits};
use crate::planner::capacity;
use crate::planner::{Candidate, Choice, Objective, Request, answering, largest_asked};
use crate::release::LISTED_MEASUREMENTS;
use crate::release::packing::layout;
use crate::secret::count::{self, Held};
use crate::secret::ingest::Memory;
use crate::spec::{Spec, Unit};

/// Seconds.
mod seconds {
    /// To start, to rehearse and to seal.
    pub(super) const START: f64 = 0.02;
    /// To plan and to set up one measurement.
    pub(crate) const MEASUREMENT: f64 = 15e-6;
    /// To count, to make noisy and to write one cell of a table; of a component, whose integers are larger and differences of each other.
    pub(crate) const CELL: f64 = 30e-9;
    pub(crate) const COMPONENT: f64 = 52e-9;
    /// To read one field of a row.
    pub(crate) const FIELD: f64 = 15e-9;
    /// To count a row in one dimension of a table.
    pub(crate) const STEP: f64 = 0.27e-9;
    /// To keep a row of a unit, for its unit and for each column that orders.
    pub(super) const KEY: f64 = 400e-9;
    /// To open a file.
    pub(crate) const OPEN: f64 = 5e-3;
    /// To read one measurement of its plan.
    pub(crate) const LISTED: f64 = 0.3e-6;
    /// To read one measured integer, and to add it to what is asked.
    pub(super) const READ: f64 = 12e-9;
}

/// Bytes.
mod bytes {
    /// Of the program itself.
    pub(crate) const PROGRAM: f64 = 12e6;
    /// For one measurement of the plan while it is made; while it is read.
    pub(crate) const PLANNED: f64 = 1000.0;
    pub(crate) const LISTED: f64 = 420.0;
    /// For a cell that is being measured: its count, its noisy count, what is written.
    pub(crate) const CELL: f64 = 20.0;
    /// For a node of a level that is cut into slices: where its rows begin, which slice it is in and where, in what is published and of the rows.
    pub(crate) const NODE: f64 = 60.0;
    /// For a byte of a spec and of its lists: the text, its labels at each level, and the file that is sealed and read again. For a category of a level, whatever
    /// it is called.
    pub(crate) const TEXT: f64 = 7.0;
    pub(crate) const CATEGORY: f64 = 400.0;
    /// For a cell that is recovered.
    pub(crate) const RECOVERED: f64 = 40.0;
    /// For a row of a unit that is held; for its unit, and for each column that orders.
    pub(super) const KEPT: f64 = 16.0;
    pub(super) const KEY: f64 = 16.0;
    /// Of the signed manifest: by itself, and for one measurement that it lists.
    pub(crate) const MANIFEST: f64 = 2600.0;
    pub(crate) const CLAIM: f64 = 190.0;
    /// Of the file: its ends; one section; one measurement and one table in its plan, beside two for each dimension.
    pub(crate) const ENDS: f64 = 700.0;
    pub(crate) const SECTION: f64 = 48.0;
    pub(crate) const MEASUREMENT: f64 = 16.0;
}

/// Cells of measurements that are worked on at once, as `secret::measure` has it.
const IN_FLIGHT: f64 = (1u64 << 21) as f64;
/// Of larger tables only what an answer needs is recovered.
const MOST_KEPT: f64 = (1u64 << 25) as f64;
/// A count that a cell may well have: nobody knows before the data is seen.
const COUNT: u128 = 1 << 10;
/// One table dominates with so much of all cells, of so many at least.
const MOST_OF: f64 = 0.5;
const MANY: f64 = 1e6;

/// How much there is to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Measurements.
    pub measurements: f64,
    /// The cells that noise is drawn for, and how many of them are of components.
    pub cells: f64,
    /// Of components.
    pub components: f64,
    /// The integers that are published.
    pub values: f64,
    /// The bytes of the file.
    pub file: f64,
    /// The most cells that are measured as one: of a table, or of a slice of a large one.
    pub largest: f64,
    /// The bytes that are noted of the nodes that slices are made of.
    pub noted: f64,
    /// What counting takes.
    pub(crate) counting: count::Work,
    /// The columns of a row.
    pub fields: f64,
    /// The integers that the answer of the largest table goes through.
    pub read: f64,
    /// The cells of that table.
    pub asked: f64,
}

/// Time and memory of a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Takes {
    /// Seconds of a processor.
    pub seconds: f64,
    /// Bytes of memory.
    pub memory: f64,
}

/// What a release takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Effort {
    /// How much there is to do.
    pub work: Work,
    /// To make it of no rows.
    pub release: Takes,
    /// What each row adds.
    pub row: Takes,
    /// To answer the first question: one count in the largest table. Whoever lists all of a table waits for its rows as well, a microsecond or two each.
    pub answer: Takes,
    /// The table of which most of the cells are, where there is one: its place in the workload, and its part of them.
    pub dominant: Option<(usize, f64)>,
}

/// What the release of planned tables takes.
pub(crate) fn effort(spec: &Spec, choice: &Choice, memory: Memory) -> Effort {
    let plan = &choice.planned.plan;
    let copies = choice.copies.as_ref().map_or(1, |c| c.costs.len()) as f64;
    let spec = spec.planned(plan);
    let work = Work::of(&spec.cube, plan, texts(&spec), memory);
    let mut effort = Effort::of(work, &spec.cube, plan, copies);
    effort.release.memory += lists(&spec);
    effort.row = effort.row.kept(&spec.privacy.unit);
    effort
}

/// The bytes of a spec and of what is attached to it.
fn texts(spec: &Spec) -> f64 {
    let attached: usize = spec.attachments.iter().map(|(_, text)| text.len()).sum();
    (spec.source.len() + attached) as f64
}

/// The bytes that a spec's lists take while they are read, planned with, sealed and read again.
pub(super) fn lists(spec: &Spec) -> f64 {
    let levels = spec.cube.dimensions.iter().flat_map(|d| &d.levels);
    bytes::TEXT * texts(spec) + bytes::CATEGORY * levels.map(|l| l.len()).sum::<usize>() as f64
}

/// A plan that `auto` did not take because it is less exact, and that is much easier to answer from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Instead {
    /// What to ask for by name to have it.
    pub measure: Measure,
    /// How much larger its errors are, as a factor of standard errors, by what the spec compares plans by.
    pub error: f64,
    /// Seconds to answer from it, and from the plan that was taken.
    pub seconds: [f64; 2],
    /// Bytes of its file, and of that of the plan that was taken.
    pub file: [f64; 2],
}

/// That much larger errors may be for a plan to be spoken of.
const LITTLE: f64 = 1.05;
/// So many times quicker, or smaller, it is then.
const MUCH: f64 = 3.0;
/// Where it takes that long, or the file is so large, that it matters.
const SLOW: f64 = 0.1;
const LARGE: f64 = 1e7;

/// The easiest to answer from of the plans that were looked at and are a little less exact than the one that `auto` took. With targets there is none: one is met or
/// missed.
pub(crate) fn instead(asked: &Request, choice: &Choice, own: &Effort) -> Option<Instead> {
    if asked.measure.is_some() || asked.objective == Objective::Targets || choice.copies.is_some() {
        return None;
    }
    let least = choice.planned.score(asked);
    let (seconds, file) = (own.answer.seconds, own.work.file);
    if seconds < SLOW && file < LARGE {
        return None;
    }
    let alone = |plan: &Plan| {
        let request = asked.over(plan.measure);
        let frame = Frame::new(&request.cube, &plan.levels);
        (self::file(&request.cube, &frame, plan), to_answer(plan, answering(&frame, plan)))
    };
    // The spec, and what is attached to it.
    let attached = file - alone(&choice.planned.plan).0;
    let one = |c: &Candidate| -> Option<Instead> {
        let planned = c.outcome.as_ref().ok()?;
        let error = libm::sqrt(planned.score(asked) / least);
        if c.vast
            || c.budgets != asked.budgets
            || c.measure == choice.planned.plan.measure
            || !(error <= LITTLE)
        {
            return None;
        }
        let (small, quick) = alone(&planned.plan);
        let small = small + attached;
        let quicker = seconds >= SLOW && seconds >= MUCH * quick;
        let smaller = file >= LARGE && file >= MUCH * small && quick <= seconds;
        (quicker || smaller).then_some(Instead {
            measure: c.measure,
            error,
            seconds: [quick, seconds],
            file: [small, file],
        })
    };
    choice.candidates.iter().filter_map(one).min_by(|a, b| a.seconds[0].total_cmp(&b.seconds[0]))
}

/// Seconds to open a release of a plan and to answer the first question through so many integers.
fn to_answer(plan: &Plan, read: f64) -> f64 {
    seconds::OPEN
        + seconds::LISTED * plan.rows().measurements.len().max(plan.rows().workload.len()) as f64
        + seconds::READ * read
}

/// The bytes that a release of a plan takes at most, however the rows are: what [`Effort`] says, and half as much again, as that is an estimate.
pub(super) fn most_memory(cube: &Cube, plan: &Plan, copies: usize, memory: Memory) -> u64 {
    let release = Effort::of(Work::of(cube, plan, 0.0, memory), cube, plan, copies as f64).release;
    (1.5 * release.memory) as u64
}

impl Takes {
    /// What a row takes where rows of units are held until it is known which of them count.
    fn kept(self, unit: &Unit) -> Takes {
        let Unit::Column { order, .. } = unit else { return self };
        let keys = 1.0 + order.len() as f64;
        Takes {
            seconds: self.seconds + seconds::KEY * keys,
            memory: self.memory + bytes::KEPT + bytes::KEY * keys,
        }
    }
}

/// The measurements of tables, each with what it is of.
fn told(plan: &Plan) -> impl Iterator<Item = (&Subject, &Measurement)> + Clone {
    let channels = plan.channels.iter().filter(|c| c.subject.has_cells());
    channels.flat_map(|c| c.measurements.iter().map(|m| (&c.subject, m)))
}

/// How many things rows add up to beside their number.
pub(super) fn added(plan: &Plan) -> usize {
    let added = plan.beside().filter(|c| c.subject.has_cells() || c.subject.quantity().is_some());
    added.map(|c| 1 + usize::from(capacity::in_parts(&c.subject))).sum()
}

/// The most cells that are worked on as one, of which those of 128 bits are two each: of a measurement, or of a slice of one; and what is noted of the nodes that slices are made of, in
/// bytes.
pub(super) fn largest(frame: &Frame, plan: &Plan) -> f64 {
    parted(frame, plan).0
}

fn parted(frame: &Frame, plan: &Plan) -> (f64, f64) {
    let of = |(i, subject, m): (usize, &Subject, &Measurement)| {
        let cells =
            frame.cells(m.block.cuboid()) * (1.0 + f64::from(u8::from(capacity::is_wide(plan, frame, i))));
        match m.block.slices(frame).filter(|_| *subject == Subject::Rows) {
            None => (cells, 0.0),
            Some(cut) => {
                let nodes = frame.rung(cut.level).len();
                let longest = (0..cut.count()).map(|slice| cut.nodes(slice).len()).max().unwrap_or(0);
                (cells / nodes as f64 * longest as f64, bytes::NODE * nodes as f64)
            }
        }
    };
    let all = (0..plan.measured()).filter_map(|i| plan.measurement(i).map(|(c, m)| (i, &c.subject, m)));
    let all = all.filter(|(_, subject, _)| subject.has_cells()).map(of);
    all.fold((0.0, 0.0), |(cells, noted), own| (f64::max(cells, own.0), f64::max(noted, own.1)))
}

impl Work {
    fn of(cube: &Cube, plan: &Plan, attached: f64, memory: Memory) -> Work {
        let frame = Frame::new(cube, &plan.levels);
        let blocks = || told(plan).map(|(_, m)| &m.block);
        let cells = |b: &Block| frame.cells(b.cuboid());
        let is_component = |b: &&Block| matches!(b.form(), Form::Component | Form::Based);
        let wanted: Vec<&Cuboid> = blocks().map(Block::cuboid).chain(&plan.exact).collect();
        let values: f64 = blocks().map(|b| b.values(&frame) as f64).sum();
        let (largest, noted) = parted(&frame, plan);
        Work {
            measurements: told(plan).count() as f64,
            cells: blocks().map(cells).sum(),
            components: blocks().filter(is_component).map(cells).sum(),
            values,
            file: file(cube, &frame, plan) + attached,
            largest,
            noted,
            counting: count::work(cube, &wanted, added(plan), memory),
            fields: (cube.dimensions.len() + plan.summed().count()) as f64,
            read: answering(&frame, plan),
            asked: largest_asked(&frame, plan).map_or(0.0, |t| frame.cells(&t)),
        }
    }
}

/// The bytes of a file, but for its spec and what is attached to that.
fn file(cube: &Cube, frame: &Frame, plan: &Plan) -> f64 {
    let levels = cube.dimensions.iter().flat_map(|d| &d.levels);
    let domain: f64 = levels.map(|l| l.labels.iter().map(|t| t.len() as f64 + 2.0).sum::<f64>()).sum();
    let dimensions = |c: &Cuboid| 2.0 * c.len() as f64;
    let measured: f64 = told(plan)
        .map(|(subject, m)| {
            bytes::MEASUREMENT + dimensions(m.block.cuboid()) + packed(frame, plan.noise, subject, m)
        })
        .sum();
    let asked = plan.channels.iter().flat_map(|c| &c.workload);
    let asked: f64 = asked.map(|t| 4.0 + dimensions(&t.cuboid)).sum();
    let exact: f64 = plan.exact.iter().map(|c| 2.0 * frame.cells(c) + bytes::CLAIM).sum();
    let sections = layout(plan, frame).chunks.len() as f64 + 4.0 + plan.exact.len() as f64;
    let listed = plan.rows().measurements.len().min(LISTED_MEASUREMENTS) as f64;
    bytes::ENDS
        + bytes::MANIFEST
        + listed * bytes::CLAIM
        + sections * bytes::SECTION
        + domain
        + measured
        + asked
        + exact
}

/// The bytes of a measurement's integers: as wide as the largest noise among so many, or as a count that may well be.
fn packed(frame: &Frame, noise: Noise, subject: &Subject, m: &Measurement) -> f64 {
    let values = m.block.values(frame) as f64;
    let spread = match m.block.form() {
        // Differences of differences.
        Form::Component => libm::exp2(m.block.cuboid().len() as f64 / 2.0),
        _ => 1.0,
    };
    let tail = noise.reach(m.scale.to_f64(), libm::log(values + 2.0));
    let count = COUNT * subject.most(1);
    let counts = m.block.largest(frame, count, 0).unwrap_or(count) as f64;
    // A bit for the sign.
    let bits = libm::ceil(libm::log2((tail * spread).max(counts) + 1.0)) + 1.0;
    1.0 + values * bits / 8.0
}

impl Effort {
    fn of(work: Work, cube: &Cube, plan: &Plan, copies: f64) -> Effort {
        use seconds::*;
        let tables = plan.rows().workload.len() as f64;
        let release = Takes {
            seconds: START
                + MEASUREMENT * work.measurements
                + copies * (CELL * (work.cells - work.components) + COMPONENT * work.components),
            memory: bytes::PROGRAM
                + bytes::PLANNED * work.measurements.max(tables)
                + bytes::CELL * work.cells.min(IN_FLIGHT).max(work.largest)
                + work.noted
                + match work.counting.bytes {
                    Held::Tables(bytes) => bytes as f64,
                    Held::Rows(_) => 0.0,
                },
        };
        let row = Takes {
            seconds: FIELD * work.fields + STEP * work.counting.steps as f64,
            memory: match work.counting.bytes {
                Held::Tables(_) => 0.0,
                Held::Rows(bytes) => bytes as f64,
            },
        };
        let listed = work.measurements.max(tables);
        let answer = Takes {
            seconds: to_answer(plan, work.read),
            memory: bytes::PROGRAM
                + bytes::LISTED * listed
                + bytes::RECOVERED * work.asked.min(MOST_KEPT).max(work.largest.min(work.read)),
        };
        let cells = |c: &Cuboid| cube.cells(c).map_or(f64::INFINITY, |n| n as f64);
        let sizes: Vec<f64> = plan.rows().workload.iter().map(|t| cells(&t.cuboid)).collect();
        let all: f64 = sizes.iter().sum();
        let largest = sizes.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let dominant = largest
            .map(|(t, own)| (t, own / all))
            .filter(|&(_, part)| sizes.len() > 1 && all >= MANY && part > MOST_OF);
        Effort { work, release, row, answer, dominant }
    }
}

/// Whether a plan is written with zeros, and read, before data is seen. Of larger ones only what speaks of all measurements at once is: that
/// each has room the planner has compared.
pub(super) fn is_rehearsed(cube: &Cube, plan: &Plan) -> bool {
    let frame = Frame::new(cube, &plan.levels);
    let values = plan.rows().measurements.iter().map(|m| m.block.checked_values(&frame));
    let exact = plan.exact.iter().map(|c| limits::cells(&frame, c));
    let values = values.chain(exact).fold(0u64, |n, v| n.saturating_add(v.unwrap_or(u64::MAX)));
    plan.rows().measurements.len() <= REHEARSED && values <= REHEARSED_VALUES
}

/// Plans of more measurements are not written to the end before data is seen.
const REHEARSED: usize = 1 << 16;
/// Nor are those of more integers.
const REHEARSED_VALUES: u64 = 1 << 24;

#[cfg(test)]
mod tests;
