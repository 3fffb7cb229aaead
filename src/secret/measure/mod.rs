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
pub(crate) use exact::exact_tables;

use crate::cube::{Cube, Cuboid, Frame};
use crate::plan::{Plan, Subject};
use crate::planner::capacity;
use crate::secret::count::{Addend, Data, Tabulator};
use crate::secret::noise::Entropy;
use crate::watch::Watch;
use copies::Drawn;
use rayon::prelude::*;
use zeroize::Zeroizing;

/// Refuses rows so many that integers of the plan might not fit: every plan has room for [`capacity::ROWS`]. To be asked before anything
/// is charged.
pub(crate) fn has_room(data: &Data, plan: &Plan, frame: &Frame) -> Result<(), MeasureError> {
    capacity::check(plan, frame, data.rows()).map_err(|_| MeasureError::TooManyRows)
}

/// How many cells may be in flight at once: bounds memory, whatever the plan.
const CELLS_IN_FLIGHT: usize = 1 << 21;

/// Who takes what was measured: of which copy, which measurement, its integers.
pub(crate) type Sink<'a> =
    &'a mut dyn FnMut(usize, usize, Vec<i64>) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Measures everything the plan lists and hands each measurement to `sink`, in order. Returns the number of values.
///
/// Measurement i draws from ChaCha20 stream i, so the result depends on the key alone and not on threads.
/// `watch` hears of public facts only: how many of the plan's cells are done.
pub fn measure(
    data: Data,
    cube: &Cube,
    charged: Charged<Plan>,
    entropy: Entropy,
    watch: &Watch,
    sink: &mut dyn FnMut(usize, Vec<i64>) -> Result<(), Box<dyn std::error::Error + Send + Sync>>,
) -> Result<u64, MeasureError> {
    measure_copies(data, cube, charged.alone(), entropy, watch, &mut |_, i, values| sink(i, values))
}

/// The same for the copies of one measuring, the most precise first: each measurement is counted once, and handed over once for every
/// copy. Returns the number of values of one copy.
///
/// **Guarantee, proof, source.** See [`crate::plan::copies`] for what the copies cost together and alone, and [`copies`] for how each
/// integer is made.
pub(crate) fn measure_copies(
    data: Data,
    cube: &Cube,
    charged: Charged<Copies>,
    entropy: Entropy,
    watch: &Watch,
    sink: Sink<'_>,
) -> Result<u64, MeasureError> {
    let drawn = Drawn::new(charged.into_work(), &entropy)?;
    let plan = drawn.first();
    let frame = Frame::new(cube, &plan.levels);
    let cells: Vec<usize> = plan.measurements().map(|m| frame.len(m.block.cuboid())).collect();
    let all: u64 = cells.iter().map(|&c| c as u64).sum();
    let (mut done, mut values) = (0, 0);
    let mut start = 0;
    while start < cells.len() {
        if watch.is_stopped() {
            return Err(MeasureError::Stopped);
        }
        let mut end = start;
        let mut in_flight = 0;
        let most = CELLS_IN_FLIGHT / drawn.copies();
        while end < cells.len() && (end == start || in_flight + cells[end] <= most) {
            in_flight += cells[end];
            end += 1;
        }
        let batch: Vec<Vec<Vec<i64>>> = (start..end)
            .into_par_iter()
            .map_init(
                || data.counter(),
                |counter, i| one((&data, counter), cube, &frame, &drawn, i, &entropy),
            )
            .collect::<Result<_, _>>()?;
        for (i, measured) in (start..end).zip(batch) {
            values += measured.first().map_or(0, Vec::len) as u64;
            for (copy, measured) in measured.into_iter().enumerate() {
                sink(copy, i, measured).map_err(MeasureError::Sink)?;
            }
        }
        done += in_flight as u64;
        watch.tell("measuring", done, all);
        start = end;
    }
    Ok(values)
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

/// The column of a number among those that were read.
fn column_of(plan: &Plan, cube: &Cube, subject: &Subject) -> Option<usize> {
    let own = subject.quantity()?;
    let sums = plan.channels.iter().filter(|c| matches!(c.subject, Subject::Sum(_)));
    let at = sums.filter_map(|c| c.subject.quantity()).position(|q| q == own)?;
    Some(cube.dimensions.len() + at)
}

/// One measurement: count, scale up (or add up what the block adds up), add noise, take contrasts; for each copy.
fn one(
    (data, counter): (&Data, &mut Tabulator<'_>),
    cube: &Cube,
    frame: &Frame,
    drawn: &Drawn,
    index: usize,
    entropy: &Entropy,
) -> Result<Vec<Vec<i64>>, MeasureError> {
    let overflow = || MeasureError::Overflow(index);
    let (channel, m) = drawn.first().measurement(index).ok_or_else(overflow)?;
    let subject = &channel.subject;
    let column = column_of(drawn.first(), cube, subject);
    let cells = added_up((data, counter), cube, (subject, column), m.block.cuboid())?;
    let mut cells = cells.ok_or_else(overflow)?;
    // Still secret: noise is added to each.
    *cells = m.block.apply(frame, std::mem::take(&mut *cells)).ok_or_else(overflow)?;
    // From here on the numbers are private no more.
    let noisy = drawn.noisy(cells, index, entropy)?;
    noisy.into_iter().map(|noisy| m.block.publish(frame, noisy).ok_or_else(overflow)).collect()
}
