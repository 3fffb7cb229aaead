//! Exact counts + plan + noise -> measurements: the door out of the secret rooms. There is a second one, for
//! tables that are declared to be published without noise: [`exact_tables`].
//!
//! **Guarantee.** What leaves is `x_B + z` for a measured table, `D_A (m_A x_A + z)` for a component, and `H x_B + z` for a
//! block of signed sums `H` (differences of pairs, Walsh–Hadamard coefficients, rows of bases, the agency's own rows), with `z` independent exact discrete Gaussian or Laplace noise of the plan's scale in every cell: each measurement is
//! private at the cost [`crate::plan::cost`] states for it, and they compose. All arithmetic on counts and noise
//! is in checked integers. **Proof idea:** see `plan::cost`; the contrasts `D_A` are post-processing of the noisy vector.
//! **Source:** Canonne, Kamath & Steinke 2020 (noise); Xiao, He, Zhang & Kifer 2023 (residual components).
//!
//! A budget cannot be spent twice: [`measure`] takes the data and the [`Charged`] receipt by value. A receipt is
//! only given for a plan whose recomputed cost is within its budget, after the ledger has been charged.

pub(super) mod charged;
mod copies;
mod error;
mod exact;

use charged::Charged;
pub(crate) use copies::Copies;
pub(crate) use error::MeasureError;
pub(crate) use exact::{ExactTables, exact_tables};

use crate::cube::{Cube, Cuboid, Frame, Integer, Integers};
use crate::plan::slices::Slices;
use crate::plan::{Block, Measurement, Plan, Subject};
use crate::planner::capacity;
#[cfg(feature = "faults")]
use crate::planted::{self, Planted};
use crate::secret::count::{Addend, Data, Shares, Tabulator, joined};
use crate::secret::noise::Entropy;
use crate::watch::Watch;
use copies::Drawn;
use rayon::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// Refuses rows so many that integers of the plan might not fit: every plan has room for [`capacity::ROWS`]. To be asked before anything
/// is charged.
pub(crate) fn has_room(data: &Data, plan: &Plan, frame: &Frame) -> Result<(), MeasureError> {
    capacity::check_rows(plan, frame, data.rows())
        .map_err(|_| MeasureError::TooManyRows(capacity::most_rows(plan, frame)))
}

/// How many cells may be in flight at once: bounds memory, whatever the plan.
const CELLS_IN_FLIGHT: usize = 1 << 21;

/// Who takes what was measured: of which copy, which measurement, its integers, or those of its next slice.
pub(crate) type Sink<'a> =
    &'a mut dyn FnMut(usize, usize, Integers) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Measures everything the plan lists and hands each measurement to `sink`, in order. Returns the number of values.
///
/// Measurement i draws from ChaCha20 stream i, and slices of a large one from streams of their own, so the result depends on the key alone
/// and not on threads. The slices of a [large measurement](crate::plan::slices) are handed over one by one.
/// `watch` hears of public facts only: how many of the plan's cells are done.
pub fn measure(
    data: Data,
    cube: &Cube,
    charged: Charged<Plan>,
    entropy: Entropy,
    watch: &Watch,
    sink: &mut dyn FnMut(usize, Integers) -> Result<(), Box<dyn std::error::Error + Send + Sync>>,
) -> Result<u64, MeasureError> {
    measure_copies(data, cube, charged.alone(), entropy, watch, &mut |_, i, values| sink(i, values))
}

/// The same for the copies of one measuring, the most precise first: each measurement is counted once, and handed over once for every
/// copy. Returns the number of values of one copy.
///
/// **Guarantee, proof, source.** See [`crate::plan::copies`] for what the copies cost together and alone, and [`copies`] for how each
/// integer is made.
pub(crate) fn measure_copies(
    mut data: Data,
    cube: &Cube,
    charged: Charged<Copies>,
    entropy: Entropy,
    watch: &Watch,
    sink: Sink<'_>,
) -> Result<u64, MeasureError> {
    let copies = charged.into_work();
    let frame = Frame::new(cube, &copies.first().levels);
    let drawn = Drawn::new(copies, &frame, &entropy)?;
    let plan = drawn.first();
    let mut items = items(plan, &frame);
    let all: u64 = items.iter().map(|item| item.cells as u64).sum();
    let (mut done, mut values) = (0, 0);
    let most = CELLS_IN_FLIGHT / drawn.copies();
    let mut shares: Option<(usize, Shares)> = None;
    while let Some(first) = items.front() {
        if watch.is_stopped() {
            return Err(MeasureError::Stopped);
        }
        // Slices of one measurement together, or measurements that are whole.
        let mut in_flight = 0;
        let cut = first.slices.as_ref().map(|_| first.index);
        let fits = |item: &&Item| {
            let own = item.slices.as_ref().map(|_| item.index);
            let fits = in_flight == 0 || in_flight + item.cells <= most;
            in_flight += item.cells;
            own == cut && fits
        };
        let many = items.iter().take_while(fits).count();
        let batch: Vec<Item> = items.drain(..many).collect();
        if let (Some(index), Some(slices)) = (cut, batch.first().and_then(|item| item.slices.clone()))
            && shares.as_ref().is_none_or(|(own, _)| *own != index)
        {
            data.sort_by(slices.level.dimension)?;
            let own = Shares::new(cube, slices).ok_or(MeasureError::Overflow(index))?;
            shares = Some((index, own));
        }
        let data = &data;
        let shared = shares.as_ref().map(|(_, shares)| shares);
        let measured: Vec<Vec<Integers>> = batch
            .par_iter()
            .map_init(
                || data.counter(),
                |counter, item| one((data, counter, shared), cube, &frame, &drawn, item, &entropy),
            )
            .collect::<Result<_, _>>()?;
        for (item, measured) in batch.iter().zip(measured) {
            values += measured.first().map_or(0, |values| values.iter().count()) as u64;
            for (copy, measured) in measured.into_iter().enumerate() {
                sink(copy, item.index, measured).map_err(MeasureError::Sink)?;
            }
            done += item.cells as u64;
        }
        watch.tell("measuring", done, all);
    }
    Ok(values)
}

/// What is measured at once: a measurement, or a slice of one.
struct Item {
    index: usize,
    slices: Option<Arc<Slices>>,
    slice: usize,
    cells: usize,
}

/// All of them, in order. Large measurements of rows are cut; of other channels all integers are in one section.
fn items(plan: &Plan, frame: &Frame) -> VecDeque<Item> {
    let rows = plan.numbers(&Subject::Rows);
    let of = |(index, m): (usize, &Measurement)| -> Vec<Item> {
        let cells = frame.len(m.block.cuboid());
        let Some(slices) = rows.contains(&index).then(|| m.block.slices(frame)).flatten() else {
            return vec![Item { index, slices: None, slice: 0, cells }];
        };
        let each = cells / frame.rung(slices.level).len().max(1);
        let one = |slice| Item {
            index,
            slices: Some(slices.clone()),
            slice,
            cells: each * slices.nodes(slice).len(),
        };
        (0..slices.count()).map(one).collect()
    };
    plan.measurements().enumerate().flat_map(of).collect()
}

/// What the rows add up to in the cells of a table, by a channel's subject: still secret.
fn added_up(
    (data, counter): (&Data, &mut Tabulator<'_>),
    cube: &Cube,
    (subject, column): (&Subject, Option<usize>),
    cuboid: &Cuboid,
) -> Result<Option<Zeroizing<Vec<i64>>>, MeasureError> {
    Ok(match subject {
        Subject::Rows => Some(counter.cuboid(cube, cuboid)?.into_cells()),
        Subject::Sum(_)
        | Subject::Valued(_)
        | Subject::Squares(_)
        | Subject::Below(_)
        | Subject::Above(_) => {
            let addend = column.and_then(|column| Addend::of_subject(subject, column));
            let Some(addend) = addend else { return Ok(None) };
            Some(counter.added(cube, cuboid, addend)?.into_cells())
        }
        Subject::CutUnits => i64::try_from(data.cut()).ok().map(|units| Zeroizing::new(vec![units])),
    })
}

/// What a fault makes of counts.
#[cfg(feature = "faults")]
fn faulty<T: Integer>(cells: &mut Vec<T>) {
    let change =
        |cells: &mut Vec<T>, of: fn(i128) -> i64| cells.iter_mut().for_each(|n| *n = of((*n).into()).into());
    match planted::now() {
        Some(Planted::Rounded) => change(cells, |n| ((n + 5).div_euclid(10) * 10) as i64),
        Some(Planted::ClampedSums) => change(cells, |n| n.clamp(-(1 << 40), 1 << 40) as i64),
        Some(Planted::Shaped) => {
            let last = cells.iter().rposition(|n| *n != 0.into());
            cells.truncate(last.map_or(1, |last| last + 1));
        }
        _ => {}
    }
}

/// The column of a number among those that were read.
fn column_of(plan: &Plan, cube: &Cube, subject: &Subject) -> Option<usize> {
    let own = subject.quantity()?;
    let sums = plan.channels.iter().filter(|c| matches!(c.subject, Subject::Sum(_)));
    let at = sums.filter_map(|c| c.subject.quantity()).position(|q| q == own)?;
    Some(cube.dimensions.len() + at)
}

/// One measurement, or a slice of it: count, scale up (or add up what the block adds up), add noise, take contrasts; for each copy.
fn one(
    (data, counter, shares): (&Data, &mut Tabulator<'_>, Option<&Shares>),
    cube: &Cube,
    frame: &Frame,
    drawn: &Drawn,
    item: &Item,
    entropy: &Entropy,
) -> Result<Vec<Integers>, MeasureError> {
    let index = item.index;
    let overflow = || MeasureError::Overflow(index);
    let (channel, m) = drawn.first().measurement(index).ok_or_else(overflow)?;
    let of_slice = item.slices.as_ref().map(|slices| m.block.slice(frame, slices, item.slice));
    let (block, frame) = of_slice.as_ref().map_or((&m.block, frame), |(block, frame)| (block, frame));
    let cells = match (&item.slices, shares) {
        (Some(_), Some(shares)) => counter.slice(cube, m.block.cuboid(), (shares, item.slice))?.into_cells(),
        _ => {
            let subject = &channel.subject;
            let column = column_of(drawn.first(), cube, subject);
            let cells = added_up((data, counter), cube, (subject, column), m.block.cuboid())?;
            cells.ok_or_else(overflow)?
        }
    };
    if drawn.is_wide(index) {
        let column = column_of(drawn.first(), cube, &channel.subject);
        let beside = column.and_then(|column| Addend::of_subject(&channel.subject, column)?.times());
        let cells: Vec<i128> = match beside {
            None => cells.iter().map(|&cell| cell.into()).collect(),
            Some(times) => {
                let times = counter.added(cube, m.block.cuboid(), times)?.into_cells();
                cells.iter().zip(&*times).map(|(&remainder, &times)| joined(remainder, times)).collect()
            }
        };
        return noisy(Zeroizing::new(cells), (block, frame), drawn, (index, item.slice), entropy);
    }
    noisy(cells, (block, frame), drawn, (index, item.slice), entropy)
}

/// From the cells of a measurement, or of a slice of it, to what is published of it, in 64 bits or in 128.
fn noisy<T: Integer + Zeroize>(
    mut cells: Zeroizing<Vec<T>>,
    (block, frame): (&Block, &Frame),
    drawn: &Drawn,
    (index, slice): (usize, usize),
    entropy: &Entropy,
) -> Result<Vec<Integers>, MeasureError> {
    let overflow = || MeasureError::Overflow(index);
    // Still secret: noise is added to each.
    *cells = block.apply(frame, std::mem::take(&mut *cells)).ok_or_else(overflow)?;
    #[cfg(feature = "faults")]
    faulty(&mut cells);
    // From here on the numbers are private no more.
    let noisy = drawn.noisy(cells, (index, slice), entropy)?;
    let published = |noisy| block.publish(frame, noisy).and_then(T::all).ok_or_else(overflow);
    noisy.into_iter().map(published).collect()
}
