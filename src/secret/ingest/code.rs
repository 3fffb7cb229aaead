//! One cell to one node of a dimension's finest level.

use super::amount::{self, Factor, Number, Scale};
use super::error::Fault;
use super::lookup::Lookup;
use crate::calendar;
use crate::cube::{NoValue, Quantity};
use crate::projection::key::text_code;
use crate::spec::{Blanks, Coding, Column, Digits, Taken, clock};
use std::collections::HashMap;
use zeroize::Zeroizing;

/// How the cells of one dimension are read, checked to stay inside the dimension.
///
/// * Labels must equal the cell byte for byte: no trimming, no folding of case or accents.
/// * Whole numbers are an optional sign and decimal digits, perhaps with a point and zeros behind them, as data frames write
///   whole numbers with gaps: `20`, `+20`, `020` and `20.0` are twenty; `20.5`, `2e1` and ` 20` are not whole numbers.
/// * Digits for bins are finite decimals with an optional exponent: `20`, `20.0`, `2e1`, `.5`; no `inf`,
///   no `nan`, no thousands separators.
/// * Days are written `2024-01-31`, year, month and day of the calendar, with nothing before or behind.
/// * The spec may say that numbers, days and empty cells are written in other ways, that blanks are no part of a value, and that numbers beyond the
///   ends count at the ends: rules for every cell on its own, like all others.
/// * A number that equals a text that stands for an empty cell is that empty cell, however it is written: of `-99` also `-99.0`, as a file of doubles has it.
/// * Where any text is possible, every cell is taken as it is, an empty one too, and becomes 64 bits of a hash.
/// * An empty cell goes to `missing`, never to `other`; without `missing` it must be a label itself.
/// * Text that is not in the domain, or is no number where one is due, goes to `other`. Bytes that are not
///   UTF-8 are an error in any case: the file has another encoding than was thought. So is a time with an offset where days
///   may have a time: nobody has said which day counts, and all rows would go to `other` unseen.
pub(super) struct Coder<'s> {
    domain: Domain<'s>,
    missing: Option<u32>,
    other: Option<u32>,
    /// What cells say.
    blanks: &'s Blanks,
    /// The numbers among the texts that are no values, of columns of numbers: an equal one is none either, however a file writes it.
    absent: Vec<Number>,
    /// How numbers are written.
    numbers: Digits,
    taken: &'s Taken,
    /// Blanks that are found at once: the labels, or the numbers of a short range as they are mostly written.
    lookup: Option<Lookup>,
}

/// Ranges of at most so many numbers are looked up.
const LISTED: i64 = 4096;

/// No variant holds anything of the data: all is the spec's, and public.
enum Domain<'s> {
    Labels(&'s HashMap<String, u32>),
    Range {
        lo: i64,
        hi: i64,
    },
    /// The public edges, as the spec has them.
    Bins(&'s [f64]),
    Dates {
        first: i64,
        last: i64,
    },
    Text,
    Amount(Scale<'s>),
    /// One of the columns whose product an amount is: it has no node of its own.
    Factor(NoValue),
    /// The weight as such a column.
    Weight(Scale<'s>),
}

/// What a column must hold: decides which types of typed files fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Labels,
    Whole,
    Number,
    Dates,
    /// Days, perhaps with a time behind them.
    Times,
    /// What orders rows.
    Order,
}

impl Kind {
    /// In words.
    pub(super) fn wanted(self) -> &'static str {
        match self {
            Kind::Labels => "labels",
            Kind::Whole => "whole numbers",
            Kind::Number => "numbers",
            Kind::Dates => "dates",
            Kind::Times => "dates, perhaps with a time",
            Kind::Order => "whole numbers, days or times",
        }
    }
}

impl<'s> Coder<'s> {
    /// Checks that every node the coding can produce is one of the dimension's `nodes`.
    pub(super) fn new(
        column: &'s Column,
        nodes: usize,
        blanks: &'s Blanks,
    ) -> Result<Coder<'s>, &'static str> {
        let nodes = u32::try_from(nodes).map_err(|_| "it has more categories than 32 bits can number")?;
        let inside = |node: &u32| *node < nodes;
        if !column.missing.iter().chain(&column.other).all(inside) {
            return Err("`missing` or `other` is not one of its categories");
        }
        let domain = match &column.coding {
            Coding::Labels(labels) if labels.values().all(inside) => Domain::Labels(labels),
            Coding::Labels(_) => return Err("a label stands for none of its categories"),
            &Coding::Range { lo, hi } => {
                if hi < lo || i128::from(hi) - i128::from(lo) >= i128::from(nodes) {
                    return Err("its numbers do not fit its categories");
                }
                Domain::Range { lo, hi }
            }
            &Coding::Dates { first, last } => {
                if last < first || i128::from(last) - i128::from(first) >= i128::from(nodes) {
                    return Err("its days do not fit its categories");
                }
                Domain::Dates { first, last }
            }
            Coding::Text => Domain::Text,
            Coding::Bins { edges } => {
                let ascending = edges.is_sorted_by(|a, b| a < b) && edges.iter().all(|e| e.is_finite());
                if !ascending || edges.len() < 2 || edges.len() - 1 > nodes as usize {
                    return Err("its bins do not fit its categories");
                }
                Domain::Bins(edges)
            }
        };
        let taken = &column.taken;
        let lookup = match &domain {
            // What is no value by the spec is not found at once.
            _ if !blanks.empty.is_empty() => None,
            Domain::Labels(labels) => Lookup::new(labels),
            Domain::Range { lo, hi } if hi.saturating_sub(*lo) < LISTED => {
                let written = (*lo..=*hi).zip(0..).map(|(number, node)| (number.to_string(), node));
                Lookup::new(&written.collect())
            }
            Domain::Dates { first, last }
                if taken.format.is_none() && last.saturating_sub(*first) < LISTED =>
            {
                let written = (*first..=*last).zip(0..).map(|(day, node)| (calendar::written(day), node));
                Lookup::new(&written.collect())
            }
            _ => None,
        };
        let (missing, other, numbers) = (column.missing, column.other, Digits::default());
        let mut coder = Coder { domain, missing, other, blanks, absent: Vec::new(), numbers, taken, lookup };
        coder.written(numbers);
        Ok(coder)
    }

    /// From now on numbers are written so.
    pub(super) fn written(&mut self, numbers: Digits) {
        self.numbers = numbers;
        let texts = if self.is_of_numbers() { self.blanks.empty.as_slice() } else { &[] };
        let absent = texts.iter().filter_map(|text| self.number(text.as_bytes(), amount::exactly).flatten());
        self.absent = absent.collect();
    }

    fn is_of_numbers(&self) -> bool {
        matches!(self.kind(), Kind::Whole | Kind::Number)
    }

    /// What a cell says; nothing where it is empty.
    #[inline]
    fn value<'c>(&self, cell: &'c [u8]) -> &'c [u8] {
        let said = self.blanks.value(cell);
        if self.absent.is_empty() || said.is_empty() {
            return said;
        }
        let number = self.number(said, amount::exactly).flatten();
        if number.is_some_and(|number| self.absent.contains(&number)) { &[] } else { said }
    }

    /// The steps of a number: one node more than there are where rows without a value are told apart, and three where values beyond the bounds are,
    /// as `told` says.
    pub(super) fn amount(quantity: &'s Quantity, told: bool, blanks: &'s Blanks) -> Coder<'s> {
        Coder::of_number(Domain::Amount(Scale::new(quantity, told)), blanks)
    }

    /// One of the columns whose product an amount is.
    pub(super) fn of_factor(quantity: &Quantity, blanks: &'s Blanks) -> Coder<'s> {
        Coder::of_number(Domain::Factor(quantity.missing), blanks)
    }

    /// The weight among these columns: it multiplies as it counts.
    pub(super) fn of_weight(weight: &'s Quantity, blanks: &'s Blanks) -> Coder<'s> {
        Coder::of_number(Domain::Weight(Scale::new(weight, false)), blanks)
    }

    fn of_number(domain: Domain<'s>, blanks: &'s Blanks) -> Coder<'s> {
        static PLAIN: Taken = Taken { clamp: false, format: None, time: false };
        let (absent, numbers, taken) = (Vec::new(), Digits::default(), &PLAIN);
        let mut coder =
            Coder { domain, missing: None, other: None, blanks, absent, numbers, taken, lookup: None };
        coder.written(numbers);
        coder
    }

    /// What such a cell says.
    pub(super) fn factor(&self, cell: &[u8]) -> Result<Factor, Fault> {
        let read = self.number(self.value(cell), |cell| match &self.domain {
            Domain::Factor(missing) => Factor::read(*missing, cell),
            Domain::Weight(weight) => Factor::of_weight(weight, cell),
            _ => Err(Fault::Outside),
        });
        read.unwrap_or(Err(Fault::NotAmount))
    }

    /// The node of an amount that is the product of these.
    pub(super) fn product(&self, factors: &[Factor]) -> Result<u32, Fault> {
        let Domain::Amount(scale) = &self.domain else { return Err(Fault::Outside) };
        amount::product(scale, factors)
    }

    /// From now on values of a number beyond its bounds have nodes of their own: which two.
    pub(super) fn tell_beyond(&mut self) -> Option<[u32; 2]> {
        let Domain::Amount(scale) = &mut self.domain else { return None };
        scale.tell_beyond()
    }

    /// The node of the cell `text[from..to]`; `None` where [`Coder::code`] says what is wrong with it.
    #[inline]
    pub(super) fn quick(&self, text: &[u8], from: usize, to: usize) -> Option<u32> {
        if from < to
            && let Some(node) = self.lookup.as_ref().and_then(|lookup| lookup.find(text, from, to))
        {
            return Some(node);
        }
        self.node(text.get(from..to)?).ok()
    }

    /// The node of a whole number, as if it were written in decimal.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code))]
    #[inline]
    pub(super) fn of_whole(&self, number: i64) -> Option<u32> {
        match self.domain {
            Domain::Range { lo, hi } if self.blanks.empty.is_empty() => {
                in_range(lo, hi, self.near(number, lo, hi)).ok()
            }
            _ => self.scale()?.node(number, 0),
        }
    }

    /// The node of a decimal with so many digits behind the point.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code))]
    pub(super) fn of_decimal(&self, unscaled: i128, places: u8) -> Option<u32> {
        self.scale()?.node(i64::try_from(unscaled).ok()?, places.into())
    }

    /// What makes nodes of numbers at once; none where some numbers are no values.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code))]
    #[inline]
    pub(super) fn scale(&self) -> Option<&Scale<'s>> {
        match &self.domain {
            Domain::Amount(scale) if self.absent.is_empty() => Some(scale),
            _ => None,
        }
    }

    /// The node of a day since 1970-01-01.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code))]
    #[inline]
    pub(super) fn of_day(&self, day: i64) -> Option<u32> {
        match self.domain {
            Domain::Dates { first, last } if self.blanks.empty.is_empty() => in_range(first, last, day).ok(),
            _ => None,
        }
    }

    /// What the column must hold.
    pub(super) fn kind(&self) -> Kind {
        match self.domain {
            Domain::Labels(_) | Domain::Text => Kind::Labels,
            Domain::Range { .. } => Kind::Whole,
            Domain::Bins(_) | Domain::Amount(..) | Domain::Factor(_) | Domain::Weight(_) => Kind::Number,
            Domain::Dates { .. } if self.taken.time => Kind::Times,
            Domain::Dates { .. } => Kind::Dates,
        }
    }

    /// The node of strange values.
    pub(super) fn other(&self) -> Option<u32> {
        self.other
    }

    /// Whether any text is in the domain.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.domain, Domain::Text)
    }

    /// The node of a cell, or the code of a text.
    #[inline]
    pub(super) fn code(&self, cell: &[u8]) -> Result<u64, Fault> {
        if let Domain::Text = self.domain {
            let cell = self.blanks.value(cell);
            std::str::from_utf8(cell).map_err(|_| Fault::NotUtf8)?;
            return Ok(text_code(cell));
        }
        self.node(cell).map(u64::from)
    }

    #[inline]
    fn node(&self, cell: &[u8]) -> Result<u32, Fault> {
        let cell = self.value(cell);
        let found = match self.domain {
            Domain::Amount(ref scale) => {
                return self.number(cell, |cell| amount::steps(scale, cell)).unwrap_or(Err(Fault::NotAmount));
            }
            _ if cell.is_empty() && self.missing.is_some() => return self.missing.ok_or(Fault::Empty),
            Domain::Labels(labels) => label(labels, cell),
            Domain::Range { lo, hi } => {
                let written = self.number(cell, |cell| match whole(cell) {
                    Err(Fault::Outside) if self.taken.clamp => {
                        Ok(if cell.starts_with(b"-") { lo } else { hi })
                    }
                    // A fraction within the ends is no whole number; beyond them it counts there like any other.
                    Err(Fault::NotWhole) if self.taken.clamp => {
                        amount::nearer_end(lo, hi, cell).ok_or(Fault::NotWhole)
                    }
                    found => found,
                });
                written.unwrap_or(Err(Fault::NotWhole)).and_then(|v| in_range(lo, hi, self.near(v, lo, hi)))
            }
            Domain::Bins(edges) => {
                let written = self.number(cell, number).unwrap_or(Err(Fault::NotNumber));
                let ends = edges.first().zip(edges.last()).filter(|_| self.taken.clamp);
                written.and_then(|v| bin(edges, ends.map_or(v, |(lo, hi)| v.clamp(*lo, *hi))))
            }
            Domain::Dates { first, last } => self.day(cell).and_then(|day| in_range(first, last, day)),
            Domain::Text | Domain::Factor(_) | Domain::Weight(_) => Err(Fault::Outside), // never: they have no node
        };
        found.or_else(|fault| self.stray(cell, fault))
    }

    /// The number itself, or the nearer end where what is beyond counts there.
    fn near(&self, number: i64, lo: i64, hi: i64) -> i64 {
        if self.taken.clamp { number.clamp(lo, hi) } else { number }
    }

    /// Reads a number as it would be written with a point and without groups. `None` where it is not written as numbers are.
    fn number<T>(&self, cell: &[u8], read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        if self.numbers == Digits::default() {
            return Some(read(cell));
        }
        let mut plain = Zeroizing::new([0; Digits::LONGEST]);
        let len = self.numbers.plainly(cell, &mut plain)?;
        plain.get(..len).map(read)
    }

    /// The day of a cell.
    fn day(&self, cell: &[u8]) -> Result<i64, Fault> {
        let fault = if self.taken.format.is_some() { Fault::NotOfFormat } else { Fault::NotDate };
        let blank = cell.iter().position(|b| matches!(b, b' ' | b'T')).filter(|_| self.taken.time);
        let (day, time) = cell.split_at_checked(blank.unwrap_or(cell.len())).ok_or(fault)?;
        let day = match &self.taken.format {
            None => calendar::read(day),
            Some(format) => format.read(day),
        };
        match (day, clock(time)) {
            (Some(day), Some(_)) => Ok(day),
            (Some(_), None) if has_offset(time) => Err(Fault::Offset),
            _ => Err(fault),
        }
    }

    /// A cell outside the domain.
    #[cold]
    fn stray(&self, cell: &[u8], fault: Fault) -> Result<u32, Fault> {
        if cell.is_empty() {
            return Err(Fault::Empty);
        }
        if std::str::from_utf8(cell).is_err() {
            return Err(Fault::NotUtf8);
        }
        match fault {
            Fault::Offset => Err(fault),
            fault => self.other.ok_or(fault),
        }
    }
}

/// Whether a time of day has an offset from UTC behind it, such as `+02:00`.
fn has_offset(time: &[u8]) -> bool {
    let sign = time.iter().rposition(|b| matches!(b, b'+' | b'-'));
    let Some((before, offset)) = sign.and_then(|at| time.split_at_checked(at)) else { return false };
    let digits = offset.iter().skip(1).all(|b| b.is_ascii_digit() || *b == b':');
    digits && offset.len() > 2 && clock(before.trim_ascii_end()).is_some()
}

fn label(labels: &HashMap<String, u32>, cell: &[u8]) -> Result<u32, Fault> {
    let text = std::str::from_utf8(cell).map_err(|_| Fault::NotUtf8)?;
    labels.get(text).copied().ok_or(Fault::Outside)
}

/// An optional sign and digits, and behind a point nothing but zeros. Digits beyond 64 bits are whole, but in nobody's domain.
fn whole(cell: &[u8]) -> Result<i64, Fault> {
    let (negative, digits) = match cell {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let digits = match memchr::memchr(b'.', digits).map(|point| digits.split_at(point)) {
        Some((digits, [_, zeros @ ..])) if !zeros.is_empty() && zeros.iter().all(|&b| b == b'0') => digits,
        _ => digits,
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Fault::NotWhole);
    }
    let push = |n: i64, digit: &u8| {
        let digit = i64::from(digit - b'0');
        n.checked_mul(10)?.checked_add(if negative { -digit } else { digit })
    };
    digits.iter().try_fold(0, push).ok_or(Fault::Outside)
}

fn in_range(lo: i64, hi: i64, value: i64) -> Result<u32, Fault> {
    if value < lo || value > hi {
        return Err(Fault::Outside);
    }
    // `new` checked that `hi - lo` is below the number of nodes.
    value.checked_sub(lo).and_then(|node| u32::try_from(node).ok()).ok_or(Fault::Outside)
}

/// A finite decimal number.
///
/// The one float under `secret` that anything is made of; what a Parquet file holds as one becomes its text
/// before it comes here. It is compared with public edges and forgotten; no count and no noise is ever made
/// from it. The nearest double of a decimal is a fixed function of the cell's text, and rounding keeps the
/// order, so a value can at most move up onto an edge that it equals to 53 bits.
fn number(cell: &[u8]) -> Result<f64, Fault> {
    if !cell.iter().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E')) {
        return Err(Fault::NotNumber); // what Rust also accepts: inf, infinity, nan
    }
    let text = std::str::from_utf8(cell).map_err(|_| Fault::NotUtf8)?;
    // What is beyond all doubles is beyond all edges: infinite.
    text.parse().map_err(|_| Fault::NotNumber)
}

/// The bin that holds `value`: lower edges belong to their bin, the last edge to the last bin.
fn bin(edges: &[f64], value: f64) -> Result<u32, Fault> {
    let below = edges.partition_point(|edge| *edge <= value);
    let node = if below == edges.len() && edges.last() == Some(&value) { below - 1 } else { below };
    if node == 0 || node == edges.len() {
        return Err(Fault::Outside);
    }
    u32::try_from(node - 1).map_err(|_| Fault::Outside)
}
