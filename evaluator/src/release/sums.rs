//! What rows have of numbers: a section with tag 12 for each sum, for each count of rows that have a value, for each sum of squares, and for each
//! count of rows that were moved to an end.
//!
//! A section is, in the wire format of [`super::codec`]: 1 for sums, 2 for the rows that have a value, 3 for sums of squares, 4 for the rows that
//! were moved to the low end or 5 for those moved to the high end; the number (name; `low` and `high`,
//! signed; `step`; decimal places; what is done with rows without a value: 1 stops, 2 counts them as 0, 3 leaves them out, and 16 more if the number is the
//! weight of rows, or 32 more if values were multiplied by that, and 64 more if values are measured from zero; unit and
//! description, each a list of at most one text); the bytes of a plan section (see [`super::wire`]) with this channel's tables and
//! measurements; and its integers, packed one measurement after the other (see [`super::packing`]). Who is protected, the budget and the
//! levels are those of the file's plan section.
//!
//! Where tables of it are published without noise, or more is asked of them than their cells, 8 is added to the first number, and behind all this stand a list of
//! exact tables, each as in a section of [`super::exact`], and the bytes of a section of what is asked ([`super::wire`]), or none.

use super::packing::{pack, skip, unpack, unpack_integers};
use super::possible::impossible;
use super::{ReleaseError, codec, exact, wire};
use crate::cube::{Cube, Cuboid, Frame, Integers, MeasuredFrom, NoValue, Quantity, Weighing};
use crate::plan::limits::cells;
use crate::plan::{Channel, Form, Plan, Subject};
use std::sync::Arc;
use wincode::{SchemaRead, SchemaWrite};

const WHAT: &str = "the sums";

/// A channel with the values of its measurements, and of its exact tables.
pub(super) type Measured = (Channel, Vec<Integers>, Vec<Vec<i64>>);

/// What is added to the tag of a subject where more stands behind the section.
const MORE: u8 = 8;

#[derive(SchemaWrite, SchemaRead)]
struct Section {
    subject: u8,
    name: String,
    low: i64,
    high: i64,
    step: u64,
    places: u8,
    missing: u8,
    unit: Vec<String>,
    description: Vec<String>,
    plan: Vec<u8>,
    values: Vec<u8>,
}

/// A section with its exact tables, and what is asked of its tables.
type SectionAndMore = (Section, Vec<Vec<u8>>, Vec<u8>);

fn invalid(why: impl Into<String>) -> ReleaseError {
    ReleaseError::Invalid { what: WHAT, why: why.into() }
}

/// The plan section of a channel alone: its tables and measurements in the place of those of rows.
fn as_rows(plan: &Plan, channel: &Channel) -> Plan {
    let channels = vec![Channel::rows(channel.workload.clone(), channel.measurements.clone())];
    Plan { channels, exact: Vec::new(), zeros: Vec::new(), copy: None, ..plan.clone() }
}

/// The section of a channel with the values of its measurements.
pub(super) fn encode(
    plan: &Plan,
    cube: &Cube,
    channel: &Channel,
    (values, exact): (&[Integers], &[Vec<i64>]),
) -> Result<Vec<u8>, ReleaseError> {
    let (subject, q) = match &channel.subject {
        Subject::Sum(q) => (1, q),
        Subject::Valued(q) => (2, q),
        Subject::Squares(q) => (3, q),
        Subject::Below(q) => (4, q),
        Subject::Above(q) => (5, q),
        Subject::Rows | Subject::CutUnits => return Err(invalid("it is of no number")),
    };
    let mut packed = Vec::new();
    values.iter().for_each(|v| pack(v, &mut packed));
    let missing = NoValue::TAGS.iter().find(|(m, _)| *m == q.missing).map_or(0, |(_, tag)| *tag);
    let weighing = Weighing::TAGS.iter().find(|(w, _)| *w == q.weighing).map_or(0, |(_, tag)| *tag);
    let from = MeasuredFrom::TAGS.iter().find(|(from, _)| *from == q.from).map_or(0, |(_, tag)| *tag);
    let own = as_rows(plan, channel);
    let asked = wire::encode_workload(&own, cube)?;
    let more = !channel.exact.is_empty() || asked.is_some();
    let section = Section {
        subject: if more { subject + MORE } else { subject },
        name: q.name.clone(),
        low: q.low,
        high: q.high,
        step: q.step,
        places: q.places,
        missing: missing + weighing + from,
        unit: q.unit.iter().cloned().collect(),
        description: q.description.iter().cloned().collect(),
        plan: wire::encode_plan(&own, cube)?,
        values: packed,
    };
    if !more {
        return codec::encode(WHAT, &section);
    }
    let tables = channel.exact.iter().zip(exact);
    let tables = tables.map(|(cuboid, sums)| exact::encode(cuboid, sums)).collect::<Result<Vec<_>, _>>()?;
    let all: SectionAndMore = (section, tables, asked.unwrap_or_default());
    codec::encode(WHAT, &all)
}

/// The channel of a section beside this plan's rows, with the values of its measurements.
pub(super) fn decode(bytes: &[u8], plan: &Plan, cube: &Cube) -> Result<Measured, ReleaseError> {
    let (mut section, tables, asked): SectionAndMore = match bytes.first() {
        Some(&tag) if tag >= MORE => codec::decode(WHAT, bytes)?,
        _ => (codec::decode(WHAT, bytes)?, Vec::new(), Vec::new()),
    };
    if section.subject >= MORE {
        if tables.is_empty() && asked.is_empty() {
            return Err(invalid("there is nothing more behind it"));
        }
        section.subject -= MORE;
    }
    if section.unit.len() > 1 || section.description.len() > 1 {
        return Err(invalid("a text is given twice"));
    }
    let missing = NoValue::TAGS.iter().find(|(_, tag)| *tag == section.missing % 16).map(|(m, _)| *m);
    let weighing = section.missing / 16 % 4 * 16;
    let weighing = Weighing::TAGS.iter().find(|(_, tag)| *tag == weighing).map(|(w, _)| *w);
    let from =
        MeasuredFrom::TAGS.iter().find(|(_, tag)| *tag == section.missing / 64 * 64).map(|(from, _)| *from);
    let quantity = Quantity {
        name: section.name,
        low: section.low,
        high: section.high,
        step: section.step,
        places: section.places,
        missing: missing.ok_or_else(|| invalid("nothing says what is done with rows without a value"))?,
        weighing: weighing.ok_or_else(|| invalid("nothing says what it is to weights"))?,
        from: from.ok_or_else(|| invalid("nothing says what it is measured from"))?,
        unit: section.unit.into_iter().next(),
        description: section.description.into_iter().next(),
    };
    quantity.check().map_err(invalid)?;
    if cube.dimensions.iter().any(|d| d.name.eq_ignore_ascii_case(&quantity.name)) {
        return Err(invalid("a dimension has its name"));
    }
    let quantity = Arc::new(quantity);
    let subject = match section.subject {
        1 => Subject::Sum(quantity),
        2 if quantity.missing == NoValue::Skip => Subject::Valued(quantity),
        3 => Subject::Squares(quantity),
        4 => Subject::Below(quantity),
        5 => Subject::Above(quantity),
        2 => return Err(invalid("rows with a value are counted where every row has one")),
        _ => return Err(invalid("it is of no known subject")),
    };
    let mut own = wire::decode_plan(&section.plan, cube)?;
    if !asked.is_empty() {
        wire::decode_workload(&asked, &mut own, cube)?;
    }
    let mut channel = Channel { subject, ..own.rows().clone() };
    if as_rows(plan, &channel) != own {
        return Err(invalid("it says otherwise than the plan who is protected, or which levels are in use"));
    }
    if channel.subject.is_of_an_end() {
        let [m] = &channel.measurements[..] else { return Err(invalid("moved rows are not one number")) };
        if Channel::total(channel.subject.clone(), m.scale) != channel {
            return Err(invalid("moved rows are not counted as one number"));
        }
    }
    let frame = Frame::new(cube, &plan.levels);
    let (mut rest, mut values, mut total) = (&section.values[..], Vec::new(), 0u64);
    for m in &channel.measurements {
        if m.block.form() == Form::Rows {
            return Err(invalid("its tables are measured as rows of factors"));
        }
        values.push(unpack_integers(&mut rest, m.block.values(&frame))?);
        total = total.saturating_add(values.last().map_or(0, Integers::len) as u64);
    }
    if !rest.is_empty() {
        return Err(invalid(format!("it has {} bytes too many", rest.len())));
    }
    let mut sums = Vec::new();
    for bytes in &tables {
        let (cuboid, mut rest) = exact::shape(bytes, cube)?;
        if !plan.exact.contains(&cuboid) || channel.exact.contains(&cuboid) {
            let name = cube.describe(&cuboid);
            return Err(invalid(format!("{name} is no table whose counts are exact, or is there twice")));
        }
        // As many values as there are bytes for, before there is room for them.
        let mut there = rest;
        skip(&mut there, usize::try_from(cells(&frame, &cuboid).unwrap_or(u64::MAX)).unwrap_or(usize::MAX))?;
        sums.push(unpack(&mut rest, frame.len(&cuboid))?);
        total = total.saturating_add(sums.last().map_or(0, Vec::len) as u64);
        if !rest.is_empty() {
            return Err(invalid(format!("an exact table has {} bytes too many", rest.len())));
        }
        channel.exact.push(cuboid);
    }
    // What is measured must be part of something that is wholly there.
    if channel.measurements.iter().any(|m| cells(&frame, m.block.cuboid()).is_none_or(|n| n > total)) {
        return Err(invalid("a part of a table is measured whose other parts are not in the file"));
    }
    if channel.measurements.is_empty() {
        return Err(invalid("nothing of it is measured"));
    }
    Ok((channel, values, sums))
}

/// Each number is summed once, and one whose rows are counted is summed, too: with the same bounds.
pub(super) fn each_once<'a>(subjects: impl Iterator<Item = &'a Subject> + Clone) -> Result<(), ReleaseError> {
    let of = |weighing: Weighing| {
        let own = move |s: &&Subject| matches!(s, Subject::Sum(q) if q.weighing == weighing);
        subjects.clone().filter(own).count()
    };
    if of(Weighing::Weight) > 1 {
        return Err(invalid("rows have two weights"));
    }
    if of(Weighing::Weight) == 0 && of(Weighing::Weighted) > 0 {
        return Err(invalid("values are multiplied by weights, and the file holds none"));
    }
    let squares = |s: &Subject| matches!(s, Subject::Squares(q) if q.weighing != Weighing::Plain);
    if subjects.clone().any(squares) {
        return Err(invalid("squares of what has weights are not a variance"));
    }
    if subjects.clone().any(|s| matches!(s, Subject::Squares(q) if q.from == MeasuredFrom::Zero)) {
        return Err(invalid("its squares are not measured from the middle"));
    }
    for (i, subject) in subjects.clone().enumerate() {
        let Some(q) = subject.quantity() else { continue };
        let alike = |other: &Subject| {
            std::mem::discriminant(other) == std::mem::discriminant(subject)
                && other.quantity().is_some_and(|o| o.name.eq_ignore_ascii_case(&q.name))
        };
        if subjects.clone().skip(i + 1).any(alike) {
            return Err(invalid("a number is summed twice"));
        }
        let sum = subjects.clone().any(|other| matches!(other, Subject::Sum(o) if o == q));
        if !sum {
            return Err(invalid("rows of a number are counted that is not summed"));
        }
        let counted = subjects.clone().any(|other| matches!(other, Subject::Valued(o) if o == q));
        if q.missing == NoValue::Skip && q.needs_count() && !counted {
            return Err(invalid("its sums need the number of rows that have a value"));
        }
    }
    Ok(())
}

/// Rows that were moved are counted at both ends of a number alike: at the high one directly behind the low one, with noise of the same scale.
pub(super) fn both_ends(channels: &[Measured]) -> Result<(), ReleaseError> {
    let mut low: Option<&Channel> = None;
    let wrong = || invalid("rows that were moved are not counted at both ends of a number alike");
    for (channel, ..) in channels {
        match (&channel.subject, low.take()) {
            (Subject::Below(_), None) => low = Some(channel),
            (Subject::Above(high), Some(Channel { subject: Subject::Below(of), measurements, .. }))
                if high == of && *measurements == channel.measurements => {}
            (Subject::Below(_) | Subject::Above(_), _) | (_, Some(_)) => return Err(wrong()),
            (_, None) => {}
        }
    }
    if low.is_some() { Err(wrong()) } else { Ok(()) }
}

/// What is exact of a number is exact of all that is told of it, and is what rows of these counts can have: each is within its bounds, by itself and with what
/// else is exact of the number. `counts` are those of a table of rows.
pub(super) fn exact_alike(
    channels: &[Measured],
    mut counts: impl FnMut(&Cuboid) -> Result<Vec<i64>, ReleaseError>,
) -> Result<(), ReleaseError> {
    for (channel, _, tables) in channels {
        let Some(of) = channel.subject.quantity().filter(|_| channel.subject.has_cells()) else {
            if !channel.exact.is_empty() {
                return Err(invalid("what has no cells is published exactly"));
            }
            continue;
        };
        if of.from == MeasuredFrom::Zero && !channel.exact.is_empty() {
            return Err(invalid("exact sums of it are not measured from the middle"));
        }
        let alike = |other: &Measured| {
            let same = other.0.subject.quantity() == Some(of) && other.0.subject.has_cells();
            !same || other.0.exact == channel.exact
        };
        if !channels.iter().all(alike) {
            return Err(invalid("some of what is told of a number is exact in a table, and some is not"));
        }
        let most = channel.subject.most(1) as i128;
        let least = if matches!(channel.subject, Subject::Valued(_)) { 0 } else { -most };
        for (cuboid, sums) in channel.exact.iter().zip(tables) {
            let counts = counts(cuboid)?;
            let fits = |(&sum, &n): (&i64, &i64)| {
                (i128::from(n) * least..=i128::from(n) * most).contains(&i128::from(sum))
            };
            if counts.len() != sums.len() || !sums.iter().zip(&counts).all(fits) {
                return Err(invalid("an exact sum is more than its rows can have"));
            }
        }
    }
    channels.iter().try_for_each(|sums| fit_together(channels, sums, &mut counts))
}

/// The exact sums of a number are such as so many rows with a value can have, and its exact squares those of values with such sums. All have the same tables
/// in the same order, with as many cells.
fn fit_together(
    channels: &[Measured],
    (channel, _, tables): &Measured,
    counts: &mut impl FnMut(&Cuboid) -> Result<Vec<i64>, ReleaseError>,
) -> Result<(), ReleaseError> {
    let Subject::Sum(of) = &channel.subject else { return Ok(()) };
    let beside = |subject| channels.iter().find(|(c, ..)| c.subject == subject).map(|(.., own)| own);
    let (valued, squares) = (beside(Subject::Valued(of.clone())), beside(Subject::Squares(of.clone())));
    for (at, (cuboid, sums)) in channel.exact.iter().zip(tables).enumerate() {
        let values = match valued.map(|own| own.get(at)) {
            Some(own) => own.cloned().unwrap_or_default(),
            // Where bounds are as far from 0 on either side, nothing may tell how many rows have a value.
            None if of.missing == NoValue::Skip => continue,
            None => counts(cuboid)?,
        };
        let squares = squares.and_then(|own| own.get(at));
        for (cell, (&sum, &values)) in sums.iter().zip(&values).enumerate() {
            let squares = squares.and_then(|own| own.get(cell)).copied();
            impossible(of.reach(), values, sum, squares).map_or(Ok(()), |why| Err(invalid(why)))?;
        }
    }
    Ok(())
}
