//! Whether a plan's integers have room: in the bits that they are worked on with, and in the sections of a file.
//!
//! The values of a measurement depend on the data only through the number of rows n: a table, a signed sum of pairs or a
//! coefficient has none beyond n, a row of factors none beyond n times its largest factor, and the contrasts of
//! a component none beyond n times its scale, as they are signed sums of different cells; of sums all that times the most that a row adds. Noise adds its tail, in a contrast over k dimensions `2^k` times: beyond 20 standard deviations of
//! a Gaussian, or 200 scales of a Laplace law, lies less than 1e-80. So it is known without data that the integers have room for [`ROWS`] rows: in 64 bits, or else
//! in 127 of 128 ([`is_wide`]); a plan that has not is refused. Counts, what numbers add up to in cells, and noise have 64 bits always.
//!
//! The bytes of a section do not hang on the plan alone: they are those that the values take, which of real rows are far fewer. So they are reckoned for [`PACKED`] rows.
//! The real number of rows is held against both before anything is charged.

use crate::cube::{Frame, Integer};
use crate::plan::limits::{MAX_CELLS as MOST_CELLS, cells};
use crate::plan::{Measurement, Plan, Subject};
use crate::release::packing::{Layout, layout};
use crate::release::{MAX_SECTION, MAX_SECTIONS};

/// The integers of every plan have room for so many rows.
pub(crate) const ROWS: u64 = 1 << 40;
/// The sections of every plan have.
const PACKED: u64 = 1 << 30;

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

/// Whether a plan may be: without data.
pub(crate) fn check(plan: &Plan, frame: &Frame) -> Result<(), NoRoom> {
    integers(plan, frame, ROWS)?;
    sections(plan, frame, PACKED)
}

/// Checks all measurements and exact tables of a plan for data of this many rows.
pub(crate) fn check_rows(plan: &Plan, frame: &Frame, rows: u64) -> Result<(), NoRoom> {
    integers(plan, frame, rows)?;
    sections(plan, frame, rows)
}

/// Whether the integers of a measurement take more than 64 bits, so that [`ROWS`] rows fit. Where they do not, the path is that of 64 bits, and a file is the same
/// byte for byte.
pub(crate) fn is_wide(plan: &Plan, frame: &Frame, index: usize) -> bool {
    plan.measurement(index).is_some_and(|(_, m)| !largest(plan, frame, (index, m), ROWS).is_some_and(narrow))
}

fn narrow(largest: u128) -> bool {
    largest < <i64 as Integer>::MOST
}

/// Whether what rows add up to in cells would take more than 64 bits with [`ROWS`] rows, so that it is added up in two parts.
pub(crate) fn in_parts(subject: &Subject) -> bool {
    !fits_cells(subject.most(1), ROWS)
}

/// Whether sums of so many rows fit 64 bits.
fn fits_cells(reach: u128, rows: u64) -> bool {
    reach.checked_mul(rows.into()).is_some_and(narrow)
}

/// The integers of all measurements.
fn integers(plan: &Plan, frame: &Frame, rows: u64) -> Result<(), NoRoom> {
    for (i, m) in plan.measurements().enumerate() {
        let largest = largest(plan, frame, (i, m), rows).ok_or(NoRoom::Integers(i))?;
        let subject = plan.measurement(i).map_or(&Subject::Rows, |(channel, _)| &channel.subject);
        let in_cells = match in_parts(subject) {
            false => fits_cells(subject.most(1), rows),
            // A part of what a row adds is what is left of it by 2^24, the other is how often that is in it.
            true => rows <= ROWS && fits_cells((subject.most(1) >> 24) + 1, rows),
        };
        if !in_cells {
            return Err(NoRoom::Integers(i));
        }
        let wide = || largest < <i128 as Integer>::MOST && is_wide(plan, frame, i);
        if !narrow(largest) && !wide() {
            return Err(NoRoom::Integers(i));
        }
    }
    Ok(())
}

/// The sections of all measurements and exact tables.
fn sections(plan: &Plan, frame: &Frame, rows: u64) -> Result<(), NoRoom> {
    let mut room = Vec::new();
    for (i, m) in plan.rows().measurements.iter().enumerate() {
        room.push(largest(plan, frame, (i, m), rows).ok_or(NoRoom::Integers(i))?);
        let cells = cells(frame, m.block.cuboid()).filter(|&n| n <= MOST_CELLS);
        cells.ok_or(NoRoom::Section(i))?;
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
    let fits = |rows: u64| check_rows(plan, frame, rows).is_ok();
    let (mut room, mut none) = (0, u64::MAX);
    while none - room > 1 {
        let rows = room + (none - room) / 2;
        if fits(rows) { room = rows } else { none = rows }
    }
    room
}

/// The largest absolute value that may appear on the way. `None` when it does not fit 128 bits.
fn largest(plan: &Plan, frame: &Frame, (index, m): (usize, &Measurement), rows: u64) -> Option<u128> {
    // How far one row may move it.
    let reach = plan.measurement(index).map_or(1, |(channel, _)| channel.subject.most(1));
    let moved = u128::from(rows).checked_mul(reach)?;
    let tail = plan.noise.reach(m.scale.to_f64(), 200.0);
    let furthest = plan.centres().map_or(0, |c| c.low().unsigned_abs().max(c.high().unsigned_abs()));
    let centre = u128::from(furthest);
    m.block.largest(frame, moved, tail as u128 + 1 + centre)
}

/// The bytes of `count` values none of which is larger, as [`crate::release::packing`] packs them.
fn packed(count: usize, largest: u128) -> Option<u64> {
    let width = u64::from(129 - largest.leading_zeros());
    (count as u64).checked_mul(width)?.div_ceil(8).checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::{Cube, Cuboid, Dimension, MeasuredFrom, NoValue, Quantity, Weighing};
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
            check_rows(&plan(Noise::Gaussian, block, Rational::whole(scale)), &frame, rows)
        };
        assert_eq!(with(Block::Table(one.clone()), 1, ROWS), Ok(()));
        // 900 million cells of 32 bits and more.
        assert_eq!(with(Block::Table(both.clone()), 1, ROWS), Err(NoRoom::Section(0)));
        assert_eq!(with(Block::Table(both.clone()), 1, 100), Ok(()));
        // Counts times 900 million, and differences of differences, take more than 64 bits: those of so many cells are too long for a section.
        let component = plan(Noise::Gaussian, Block::Component(both.clone()), Rational::ONE);
        assert!(is_wide(&component, &frame, 0));
        assert_eq!(check_rows(&component, &frame, ROWS), Err(NoRoom::Section(0)));
        assert_eq!(integers(&component, &frame, 1 << 62), Ok(()));
        assert_eq!(integers(&component, &frame, 1 << 63), Err(NoRoom::Integers(0)), "cells have 64 bits");
        assert_eq!(with(Block::Table(one.clone()), 1 << 104, ROWS), Ok(()));
        assert_eq!(with(Block::Table(one.clone()), 1, (1 << 63) - 1), Err(NoRoom::Integers(0)));
        let counts = plan(Noise::Gaussian, Block::Table(one.clone()), Rational::ONE);
        let most = most_rows(&counts, &frame);
        let around = [most, most + 1].map(|rows| check_rows(&counts, &frame, rows).is_ok());
        assert_eq!((around, most >> 62), ([true, false], 1));
        let mut exact = plan(Noise::Laplace, Block::Table(one.clone()), Rational::ONE);
        exact.exact = vec![one, Cuboid::new(vec![(0, 1), (1, 1)])];
        assert_eq!(check(&exact, &frame), Err(NoRoom::Exact(1)));
    }

    /// A plan of one table of sums or of squares in so many steps.
    fn of_steps(steps: i64, squares: bool, block: Block, scale: Rational) -> Plan {
        let quantity = std::sync::Arc::new(Quantity {
            name: "pay".into(),
            low: 0,
            high: steps,
            step: 1,
            places: 0,
            missing: NoValue::Stop,
            weighing: Weighing::Plain,
            from: MeasuredFrom::Middle,
            unit: None,
            description: None,
        });
        let subject = if squares { Subject::Squares(quantity) } else { Subject::Sum(quantity) };
        let mut plan = plan(Noise::Gaussian, block, scale);
        let own = Channel { subject, ..plan.channels.remove(0) };
        plan.channels = vec![Channel::rows(Vec::new(), Vec::new()), own];
        plan
    }

    /// From one more step on it takes more bits, or has no room: whatever is said of 2^40 rows is true of them, and of one row more it is not.
    #[test]
    fn every_edge() {
        let labels = |n: usize| (0..n).map(|i| i.to_string()).collect();
        let cube = Cube { dimensions: ["a", "b"].map(|name| Dimension::plain(name, labels(64))).to_vec() };
        let frame = Frame::new(&cube, &[vec![0, 1], vec![0, 1]]);
        let (one, both) = (Cuboid::new(vec![(0, 1)]), Cuboid::new(vec![(0, 1), (1, 1)]));
        let wide = |plan: &Plan| is_wide(plan, &frame, 0);
        let table = |steps, squares| of_steps(steps, squares, Block::Table(one.clone()), Rational::ONE);
        // A cell of sums: 2^23 steps of 2^40 rows are just too many, noise included for what is fewer by one.
        assert!(!wide(&table((1 << 23) - 1, false)) && wide(&table(1 << 23, false)));
        assert!(!in_parts(&table((1 << 23) - 1, false).channels[1].subject));
        assert!(in_parts(&table(1 << 23, false).channels[1].subject));
        // Of squares 2896: 2897² is more than 2^23.
        assert!(!wide(&table(2896, true)) && wide(&table(2897, true)));
        // Components of 64 × 64 cells: 2^12 times as large.
        let component = |steps| of_steps(steps, false, Block::Component(both.clone()), Rational::ONE);
        assert!(!wide(&component(2047)) && wide(&component(2048)));
        for plan in [
            table(2896, true),
            table((1 << 23) - 1, false),
            component(2047),
            component(2048),
            component(1 << 24),
        ] {
            assert_eq!(check(&plan, &frame), Ok(()));
            let most = most_rows(&plan, &frame);
            assert!(most >= ROWS && check_rows(&plan, &frame, most).is_ok());
            assert!(check_rows(&plan, &frame, most + 1).is_err());
        }
        // In parts there is room for 2^40 rows and no more, up to the square root of 2^47 - 2^24 steps or so.
        let most = (1i64 << 47).isqrt() - 2;
        assert_eq!(most_rows(&table(most, true), &frame), ROWS);
        assert_eq!(check(&table(1 << 24, true), &frame), Err(NoRoom::Integers(0)));
        assert_eq!(check(&table(most + 2, true), &frame), Err(NoRoom::Integers(0)));
    }
}
