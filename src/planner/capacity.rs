//! Whether a plan's integers have room: in 64 bits while they are worked on, and in the sections of a file.
//!
//! The values of a measurement depend on the data only through the number of rows n: a table, a signed sum of pairs or a
//! coefficient has none beyond n, a row of factors none beyond n times its largest factor, and the contrasts of
//! a component none beyond n times its scale, as they are signed sums of different cells. Noise adds its tail, in a contrast over k dimensions `2^k` times: beyond 20 standard deviations of
//! a Gaussian, or 200 scales of a Laplace law, lies less than 1e-80. So a plan that has room for [`ROWS`] rows is made without data, and
//! the real number of rows is held against it before anything is charged.

use crate::cube::Frame;
use crate::plan::limits::{MAX_CELLS as MOST_CELLS, cells};
use crate::plan::{Measurement, Plan};
use crate::release::packing::{Layout, layout};
use crate::release::{MAX_SECTION, MAX_SECTIONS};

/// Every plan has room for so many rows.
pub(crate) const ROWS: u64 = 1 << 30;

/// What has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// The integers of this measurement.
    Integers(usize),
    /// This measurement's section.
    Section(usize),
    /// This exact table.
    Exact(usize),
    /// The table of sections.
    Sections,
}

/// Checks all measurements and exact tables of a plan for data of this many rows.
pub(crate) fn check(plan: &Plan, frame: &Frame, rows: u64) -> Result<(), NoRoom> {
    let mut room = Vec::new();
    let packed_in_sections = plan.rows().measurements.len();
    for (i, m) in plan.measurements().enumerate() {
        // How far one row may move it.
        let reach = plan.measurement(i).map_or(1, |(channel, _)| channel.subject.most(1));
        let moved = u128::from(rows).checked_mul(reach).ok_or(NoRoom::Integers(i))?;
        let largest = largest(plan, frame, m, moved).filter(|&v| v < 1 << 63).ok_or(NoRoom::Integers(i))?;
        if i < packed_in_sections {
            let cells = cells(frame, m.block.cuboid()).filter(|&n| n <= MOST_CELLS);
            cells.ok_or(NoRoom::Section(i))?;
            room.push(largest);
        }
    }
    let Layout { counts, chunks, slices } = layout(plan, frame);
    for chunk in &chunks {
        let mut bytes = 0u64;
        for i in chunk.measurements.clone() {
            let slice = chunk.slice.and_then(|slice| Some(slices.get(&i)?.values(slice)));
            let own = packed(slice.unwrap_or(counts[i]), room[i]).ok_or(NoRoom::Section(i))?;
            bytes = bytes.checked_add(own).filter(|&b| b <= MAX_SECTION).ok_or(NoRoom::Section(i))?;
        }
    }
    let mut sections = chunks.len() as u64;
    for (i, cuboid) in plan.exact.iter().enumerate() {
        let held = Some(frame.cells(cuboid)).filter(|&c| c <= MOST_CELLS as f64).ok_or(NoRoom::Exact(i))?;
        packed(held as usize, rows.into()).filter(|&b| b < MAX_SECTION - 4096).ok_or(NoRoom::Exact(i))?;
        sections += 1;
    }
    // What is summed without noise stands in the section of its channel.
    for channel in &plan.channels {
        for cuboid in &channel.exact {
            let of = || plan.exact.iter().position(|e| e == cuboid).unwrap_or(0);
            let held = Some(frame.cells(cuboid)).filter(|&c| c <= MOST_CELLS as f64);
            let held = held.ok_or_else(|| NoRoom::Exact(of()))?;
            let largest = channel.subject.most(1).checked_mul(rows.into()).filter(|&n| n < 1 << 62);
            let bytes = largest.and_then(|largest| packed(held as usize, largest));
            bytes.filter(|&b| b < MAX_SECTION / 16).ok_or_else(|| NoRoom::Exact(of()))?;
        }
    }
    // Domain, plan, spec and workload; attachments and conditions are counted where they are known.
    if sections + 4 + plan.zeros.len() as u64 > u64::from(MAX_SECTIONS) {
        Err(NoRoom::Sections)
    } else {
        Ok(())
    }
}

/// How many rows a plan has room for, whatever they are: found by halves.
pub(crate) fn most_rows(plan: &Plan, frame: &Frame) -> u64 {
    let fits = |rows: u64| check(plan, frame, rows).is_ok();
    let (mut room, mut none) = (0, u64::MAX);
    while none - room > 1 {
        let rows = room + (none - room) / 2;
        if fits(rows) { room = rows } else { none = rows }
    }
    room
}

/// The largest absolute value that may appear on the way. `None` when it does not fit 128 bits.
fn largest(plan: &Plan, frame: &Frame, m: &Measurement, rows: u128) -> Option<u128> {
    let scale = m.scale.to_f64();
    let tail = plan.noise.reach(scale, 200.0);
    let furthest = plan.centres().map_or(0, |c| c.low().unsigned_abs().max(c.high().unsigned_abs()));
    let centre = u128::from(furthest);
    m.block.largest(frame, rows, tail as u128 + 1 + centre)
}

/// The bytes of `count` values none of which is larger, as [`crate::release::packing`] packs them.
fn packed(count: usize, largest: u128) -> Option<u64> {
    let width = u64::from(129 - largest.leading_zeros());
    (count as u64).checked_mul(width)?.div_ceil(8).checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::{Cube, Cuboid, Dimension};
    use crate::exact::Rational;
    use crate::plan::{Block, BudgetRule, Channel, Measure, Neighbours, Noise};

    fn plan(noise: Noise, block: Block, scale: Rational) -> Plan {
        Plan {
            noise,
            budget: Rational::ONE,
            neighbours: Neighbours::AddRemove,
            max_rows: 1,
            measure: Measure::Base,
            budgets: BudgetRule::Optimal,
            levels: vec![vec![0, 1]; 2],
            channels: vec![Channel::rows(Vec::new(), vec![Measurement { block, scale }])],
            exact: Vec::new(),
            zeros: Vec::new(),
            copy: None,
        }
    }

    #[test]
    fn what_has_no_room() {
        let labels = |n: usize| (0..n).map(|i| i.to_string()).collect();
        let dimension = |name: &str, n| Dimension::plain(name, labels(n));
        let cube = Cube { dimensions: vec![dimension("a", 30_000), dimension("b", 30_000)] };
        let frame = Frame::new(&cube, &[vec![0, 1], vec![0, 1]]);
        let (one, both) = (Cuboid::new(vec![(0, 1)]), Cuboid::new(vec![(0, 1), (1, 1)]));
        let with = |block: Block, scale: u128, rows| {
            check(&plan(Noise::Gaussian, block, Rational::whole(scale)), &frame, rows)
        };
        assert_eq!(with(Block::Table(one.clone()), 1, ROWS), Ok(()));
        // 900 million cells of 32 bits and more.
        assert_eq!(with(Block::Table(both.clone()), 1, ROWS), Err(NoRoom::Section(0)));
        assert_eq!(with(Block::Table(both.clone()), 1, 100), Ok(()));
        // Counts times 900 million, and differences of differences.
        assert_eq!(with(Block::Component(both), 1, 1 << 40), Err(NoRoom::Integers(0)));
        assert_eq!(with(Block::Table(one.clone()), 1 << 104, ROWS), Ok(()));
        assert_eq!(with(Block::Table(one.clone()), 1, (1 << 63) - 1), Err(NoRoom::Integers(0)));
        let counts = plan(Noise::Gaussian, Block::Table(one.clone()), Rational::ONE);
        let most = most_rows(&counts, &frame);
        let around = [most, most + 1].map(|rows| check(&counts, &frame, rows).is_ok());
        assert_eq!((around, most >> 62), ([true, false], 1));
        let mut exact = plan(Noise::Laplace, Block::Table(one.clone()), Rational::ONE);
        exact.exact = vec![one, Cuboid::new(vec![(0, 1), (1, 1)])];
        assert_eq!(check(&exact, &frame, ROWS), Err(NoRoom::Exact(1)));
    }
}
