//! The columns a spec names, and where a file has them.

use super::code::Coder;
use super::error::{Fault, IngestError};
use super::memory::Memory;
use super::unit::order;
use crate::cube::{NoValue, Weighing};
use crate::release::Without;
use crate::spec::{Blanks, Digits, Spec, Unit};
use std::sync::atomic::{AtomicU64, Ordering};

/// The columns a spec names: one for each dimension, then one for each amount that is summed, perhaps one that identifies the unit.
pub(super) struct Fields<'s> {
    pub(super) dimensions: Vec<Field<'s>>,
    pub(super) unit: Option<UnitField<'s>>,
    /// What cells say.
    pub(super) blanks: &'s Blanks,
    /// What reading them may take.
    pub(super) memory: Memory,
}

/// Of a spec that says nothing of them.
static PLAIN: Blanks = Blanks { empty: Vec::new(), trim: false };

/// How one dimension is read. Two dimensions may read the same column.
pub(super) struct Field<'s> {
    pub(super) column: &'s str,
    pub(super) coder: Coder<'s>,
    pub(super) nodes: u32,
    /// The columns whose product it is, and how each is read; none where it is read from one.
    pub(super) factors: Vec<(&'s str, Coder<'s>)>,
}

impl Field<'_> {
    /// Values of an amount beyond its bounds have nodes of their own from now on: which two.
    pub(super) fn tell_beyond(&mut self) -> Option<[u32; 2]> {
        let told = self.coder.tell_beyond()?;
        self.nodes = told[1] + 1;
        Some(told)
    }
}

/// The column that says whose row it is.
pub(super) struct UnitField<'s> {
    pub(super) column: &'s str,
    /// How many rows of a unit count.
    pub(super) max_rows: u32,
    /// The columns that order the rows of a unit; in the order of the file where there are none.
    pub(super) order: Vec<&'s str>,
    /// What becomes of rows without one.
    pub(super) without: Option<Without>,
    /// How many rows without one were met that are units by themselves.
    pub(super) alone: AtomicU64,
}

/// Whose a row is.
pub(super) enum Whose<'c> {
    /// A unit's, by its identifier.
    Unit(&'c [u8]),
    /// Its own: bytes that are no text, and that no other row has.
    Own([u8; 9]),
    /// Nobody's: it does not count.
    Nobody,
}

impl UnitField<'_> {
    /// Whose the row with this identifier is.
    ///
    /// **Guarantee.** Rows without a unit change nothing for those that have one. **Proof.** One that is dropped enters no count. One that is its own
    /// unit has an identifier that no text equals and no other row has, so it is in no other's group, and is protected as any unit of one row. ∎
    pub(super) fn whose<'c>(&self, id: &'c [u8]) -> Whose<'c> {
        match (id, self.without) {
            ([], Some(Without::Own)) => {
                let mut own = [0xff; 9];
                let (_, number) = own.split_at_mut(1);
                number.copy_from_slice(&self.alone.fetch_add(1, Ordering::Relaxed).to_le_bytes());
                Whose::Own(own)
            }
            ([], Some(Without::Drop)) => Whose::Nobody,
            _ => Whose::Unit(id),
        }
    }
}

impl<'s> Fields<'s> {
    pub(super) fn of(spec: &'s Spec, memory: Memory) -> Result<Fields<'s>, IngestError> {
        let blanks = spec.data.as_ref().map_or(&PLAIN, |data| &data.blanks);
        let dimensions = spec.cube.dimensions.iter().enumerate().map(|(at, dimension)| {
            let wrong = |what| IngestError::Coding { dimension: dimension.name.clone(), what };
            let column =
                spec.columns.get(at).ok_or_else(|| wrong("no column of the data is named for it"))?;
            let nodes = dimension.levels.last().map_or(0, |level| level.len());
            let coder = Coder::new(column, nodes, blanks).map_err(wrong)?;
            let nodes = u32::try_from(nodes).map_err(|_| wrong("it has too many categories"))?;
            Ok(Field { column: &column.column, coder, nodes, factors: Vec::new() })
        });
        let weight = spec.summed().map(|amount| &*amount.quantity).find(|q| q.weighing == Weighing::Weight);
        let amounts = spec.summed().map(|amount| {
            let quantity = &amount.quantity;
            let wrong = |what| IngestError::Coding { dimension: quantity.name.clone(), what };
            let told = amount.clamping.is_some();
            let more = if told { 3 } else { u64::from(quantity.missing == NoValue::Skip) };
            let nodes =
                u32::try_from(quantity.steps() + 1 + more).map_err(|_| wrong("it has too many steps"))?;
            let coder = Coder::amount(quantity, told, blanks);
            let column =
                amount.columns.first().ok_or_else(|| wrong("no column of the data is named for it"))?;
            let plain = |c: &'s String| (c.as_str(), Coder::of_factor(quantity, blanks));
            let factors = match (&amount.columns[..], quantity.weighing) {
                ([own @ .., last], Weighing::Weighted) => {
                    let weight = weight.ok_or_else(|| wrong("nothing says what its weight is"))?;
                    let last = (last.as_str(), Coder::of_weight(weight, blanks));
                    own.iter().map(plain).chain([last]).collect()
                }
                ([_], _) => Vec::new(),
                (all, _) => all.iter().map(plain).collect(),
            };
            Ok(Field { column, coder, nodes, factors })
        });
        let unit = match &spec.privacy.unit {
            Unit::Row => None,
            Unit::Column { column, max_rows, order, without } => {
                let order = order.iter().map(String::as_str).collect();
                Some(UnitField {
                    column,
                    max_rows: *max_rows,
                    order,
                    without: *without,
                    alone: AtomicU64::new(0),
                })
            }
        };
        Ok(Fields { dimensions: dimensions.chain(amounts).collect::<Result<_, _>>()?, unit, blanks, memory })
    }

    /// The same, of text whose numbers are written so.
    pub(super) fn written(mut self, numbers: Digits) -> Fields<'s> {
        for field in &mut self.dimensions {
            field.coder.written(numbers);
            field.factors.iter_mut().for_each(|(_, coder)| coder.written(numbers));
        }
        self
    }

    /// The columns whose products amounts are, one after the other.
    pub(super) fn factors(&self) -> impl Iterator<Item = &(&'s str, Coder<'s>)> {
        self.dimensions.iter().flat_map(|field| &field.factors)
    }

    /// The amounts that are products: which they are, and where the factors of each begin.
    pub(super) fn products(&self) -> impl Iterator<Item = (usize, &Field<'s>, usize)> {
        let mut from = 0;
        self.dimensions.iter().enumerate().filter(|(_, field)| !field.factors.is_empty()).map(
            move |(d, field)| {
                let begin = from;
                from += field.factors.len();
                (d, field, begin)
            },
        )
    }

    /// In which place a factor is complained of.
    pub(super) fn place_of(&self, factor: usize) -> usize {
        1 + self.orders() + self.dimensions.len() + factor
    }

    /// In which order columns are complained of: the unit's, those that order its rows, the dimensions', those that are multiplied.
    pub(super) fn orders(&self) -> usize {
        self.unit.as_ref().map_or(0, |unit| unit.order.len())
    }

    /// The column that is complained of in this place.
    pub(super) fn column(&self, place: usize) -> String {
        let unit = self.unit.as_ref();
        let name = match (place.checked_sub(1), place.checked_sub(1 + self.orders())) {
            (None, _) => unit.map(|unit| unit.column),
            (_, Some(dimension)) => match dimension.checked_sub(self.dimensions.len()) {
                None => self.dimensions.get(dimension).map(|field| field.column),
                Some(factor) => self.factors().nth(factor).map(|(column, _)| *column),
            },
            (Some(order), None) => unit.and_then(|unit| unit.order.get(order).copied()),
        };
        name.unwrap_or_default().to_owned()
    }
}

/// Whether a cell says whose row it is.
pub(super) fn unit_of(whose: &Whose<'_>) -> Result<(), Fault> {
    let Whose::Unit(id) = whose else { return Ok(()) };
    if id.is_empty() {
        return Err(Fault::NoUnit);
    }
    std::str::from_utf8(id).map(|_| ()).map_err(|_| Fault::NotUtf8)
}

/// Where `column` is among `names`, of which the first `own` are the file's and the others are what its folders say; it must be there exactly once.
pub(super) fn find(column: &str, names: &[&[u8]], own: usize) -> Result<usize, IngestError> {
    let mut found = (0..).zip(names).filter(|(_, name)| **name == column.as_bytes()).map(|(at, _)| at);
    match (found.next(), found.next()) {
        (Some(at), None) => Ok(at),
        (Some(first), Some(second)) if first < own && second >= own => {
            Err(IngestError::KeyTwice { column: column.into() })
        }
        (Some(_), Some(_)) => Err(IngestError::TwoColumns { column: column.into() }),
        (None, _) => Err(IngestError::NoColumn {
            column: column.into(),
            columns: names.len(),
            spelt: nearest(column, names.get(..own).unwrap_or_default()),
        }),
    }
}

/// Where each of `names` is among those of a file, which has no others.
pub(super) fn places<'a>(
    names: &[String],
    there: impl Iterator<Item = &'a [u8]>,
) -> Result<Vec<usize>, IngestError> {
    let there: Vec<&[u8]> = there.collect();
    if there.len() != names.len() {
        return Err(IngestError::Columns { expected: names.len(), found: there.len() });
    }
    names.iter().map(|name| find(name, &there, there.len())).collect()
}

/// Which column was probably meant, from 1. Its name is not shown: in a file without a header it is a cell.
fn nearest(column: &str, names: &[&[u8]]) -> Option<usize> {
    let plain = |name: &str| name.trim().to_lowercase().replace([' ', '-', '.'], "_");
    let wanted = plain(column);
    let known = (0..).zip(names).filter_map(|(at, name)| Some((at, std::str::from_utf8(name).ok()?)));
    known
        .map(|(at, name)| (strsim::osa_distance(&plain(name), &wanted), at))
        .filter(|(distance, _)| distance * 3 <= wanted.chars().count())
        .min()
        .map(|(_, at)| at + 1)
}

/// Where a row stands by a cell.
pub(super) fn order_of(cell: &[u8]) -> Result<[u8; order::KEY], Fault> {
    order::key(cell).ok_or(Fault::NoOrder)
}
