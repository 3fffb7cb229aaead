//! One cell to the steps of a number: exactly, in whole numbers.
//!
//! A cell is a decimal number with an optional exponent: `1200`, `1200.50`, `1.2e3`. It is moved to the nearer bound if it lies outside, and rounded to
//! the nearest step, half to even. No float is made of it, so a value just above the middle between two steps goes up however long it is written.
//!
//! Of several columns the value is the product of their cells ([`product`]): all digits are multiplied, and only then is anything moved or rounded. A weight is a factor as it
//! counts: moved to its own bounds and rounded to its own steps before.

mod scale;
#[cfg(test)]
mod tests;

pub(super) use scale::Scale;

use super::error::Fault;
use crate::cube::{MeasuredFrom, NoValue, Quantity, Weighing};
use crate::spec::MOST_FACTORS;
use std::cmp::Ordering;
use zeroize::Zeroize;

/// Decimal digits that are kept: more than bounds and step can tell apart. What lies behind them decides only whether a value is beyond a half.
const DIGITS: usize = 18;
/// Decimal places that are kept behind those of the bounds.
const BEHIND: i64 = 18;
/// Decimal digits of a factor, all of which are kept: what a DECIMAL of a file may have.
const OF_FACTOR: usize = 38;

/// How many steps above `low` the value of a cell is, or the node of one that is beyond the bounds where these are told apart ([`beyond`]).
#[inline]
pub(super) fn steps(scale: &Scale<'_>, cell: &[u8]) -> Result<u32, Fault> {
    scale.read(cell).map_or_else(|| at_length(scale, cell), Ok)
}

/// The same of any cell, and of one with all its digits.
fn at_length(scale: &Scale<'_>, cell: &[u8]) -> Result<u32, Fault> {
    if cell.is_empty() {
        return match scale.quantity.missing {
            NoValue::Stop => Err(Fault::NoAmount),
            NoValue::Skip => u32::try_from(scale.most + 1).map_err(|_| Fault::Outside),
            NoValue::Zero => scale.node(0, 0).ok_or(Fault::Outside),
        };
    }
    node(scale, Number::read(cell, DIGITS)?)
}

/// How many steps above `low` the product of these is, as of a cell with all its digits; of rows that lack one what rows without a value are.
pub(super) fn product(scale: &Scale<'_>, factors: &[Factor]) -> Result<u32, Fault> {
    if factors.iter().any(|factor| factor.absent) {
        return steps(scale, b"");
    }
    let product = Number::product(factors.iter().map(|factor| &factor.number));
    product.quickly(scale).map_or_else(|| node(scale, product), Ok)
}

/// The end of a range of whole numbers that is nearer to the number of a cell, which lies beyond it; `None` within, and of what is no number.
pub(super) fn nearer_end(lo: i64, hi: i64, cell: &[u8]) -> Option<i64> {
    let ends = Quantity {
        name: String::new(),
        low: lo,
        high: hi,
        step: 1,
        places: 0,
        missing: NoValue::Stop,
        weighing: Weighing::Plain,
        from: MeasuredFrom::Middle,
        unit: None,
        description: None,
    };
    match Number::read(cell, DIGITS).ok()?.steps(&ends)? {
        (_, Ordering::Less) => Some(lo),
        (_, Ordering::Greater) => Some(hi),
        (_, Ordering::Equal) => None,
    }
}

/// The number of a cell in its one form: equal numbers are equal, however they are written. `None` of what is no number, or has more digits than any list of
/// empty cells would.
pub(super) fn exactly(cell: &[u8]) -> Option<Number> {
    let mut number = Number::read(cell, OF_FACTOR).ok().filter(|number| !number.more)?;
    if number.digits == 0 {
        return Some(Number::default());
    }
    while number.digits % 10 == 0 {
        number.digits /= 10;
        number.exponent = number.exponent.saturating_add(1);
    }
    Some(number)
}

/// A cell whose number is one factor of a value.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Factor {
    number: Number,
    /// The cell is empty.
    absent: bool,
}

impl Factor {
    /// Empty cells are told when all factors are known, but where they stop the run.
    pub(super) fn read(missing: NoValue, cell: &[u8]) -> Result<Factor, Fault> {
        match (cell, missing) {
            ([], NoValue::Stop) => Err(Fault::NoAmount),
            ([], NoValue::Skip | NoValue::Zero) => Ok(Factor { absent: true, ..Factor::default() }),
            _ => {
                let number = Number::read(cell, OF_FACTOR)?;
                if number.more { Err(Fault::LongFactor) } else { Ok(Factor { number, absent: false }) }
            }
        }
    }

    /// The weight of a row as it counts: moved to its bounds and rounded to its steps, as in the sum of weights.
    pub(super) fn of_weight(scale: &Scale<'_>, cell: &[u8]) -> Result<Factor, Fault> {
        let weight = scale.quantity;
        let above = i128::from(steps(scale, cell)?) * i128::from(weight.step);
        let digits = i128::from(weight.low) + above;
        let exponent = -i64::from(weight.places);
        let number = Number { negative: digits < 0, digits: digits.abs(), exponent, more: false };
        Ok(Factor { number, absent: false })
    }
}

impl Zeroize for Factor {
    fn zeroize(&mut self) {
        self.number.negative.zeroize();
        self.number.digits.zeroize();
        self.number.exponent.zeroize();
        self.absent.zeroize();
    }
}

fn node(scale: &Scale<'_>, number: Number) -> Result<u32, Fault> {
    let (steps, side) = number.steps(scale.quantity).ok_or(Fault::Outside)?;
    Ok(match side {
        Ordering::Less => scale.below(),
        Ordering::Greater => scale.above(),
        Ordering::Equal => steps,
    })
}

/// The nodes of values below `low` and above `high`, behind all others, where they are told apart.
pub(in crate::secret) fn beyond(reach: u64) -> [u64; 2] {
    [reach + 2, reach + 3]
}

/// `± digits · 10^exponent`, and a little further from zero where there is `more`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Number {
    negative: bool,
    digits: i128,
    exponent: i64,
    more: bool,
}

impl Number {
    /// Keeps so many digits, at most 38.
    fn read(cell: &[u8], digits: usize) -> Result<Number, Fault> {
        let (negative, mut rest) = match cell {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        let mut number = Number { negative, digits: 0, exponent: 0, more: false };
        let (mut seen, mut point, mut kept) = (false, false, 0);
        while let [byte, after @ ..] = rest {
            match byte {
                b'0'..=b'9' => {
                    seen = true;
                    let digit = i128::from(byte - b'0');
                    if kept < digits {
                        number.digits = number.digits * 10 + digit;
                        kept += usize::from(number.digits != 0);
                        number.exponent -= i64::from(point);
                    } else {
                        number.more |= digit != 0;
                        number.exponent += i64::from(!point);
                    }
                }
                b'.' if !point => point = true,
                b'e' | b'E' if seen => {
                    number.exponent = number.exponent.saturating_add(exponent(after)?);
                    rest = &[];
                    continue;
                }
                _ => {
                    return Err(if std::str::from_utf8(cell).is_ok() {
                        Fault::NotAmount
                    } else {
                        Fault::NotUtf8
                    });
                }
            }
            rest = after;
        }
        if seen { Ok(number) } else { Err(Fault::NotAmount) }
    }

    /// The product of numbers that have nothing behind their digits.
    fn product<'n>(factors: impl Iterator<Item = &'n Number> + Clone) -> Number {
        let mut of = Number { negative: false, digits: 1, exponent: 0, more: false };
        for factor in factors.clone() {
            of.negative ^= factor.negative;
            of.exponent = of.exponent.saturating_add(factor.exponent);
        }
        let digits = factors.clone().try_fold(1i128, |product, factor| product.checked_mul(factor.digits));
        match digits {
            Some(digits) => of.digits = digits,
            None => {
                let mut all = Parts::ONE;
                factors.for_each(|factor| all.times(factor.digits.unsigned_abs()));
                let cut;
                (of.digits, of.more, cut) = all.leading();
                of.exponent = of.exponent.saturating_add(cut);
            }
        }
        while of.digits >= 10i128.pow(DIGITS as u32) {
            of.more |= of.digits % 10 != 0;
            of.digits /= 10;
            of.exponent = of.exponent.saturating_add(1);
        }
        of
    }

    /// Its node where 64 bits hold all of it.
    fn quickly(&self, scale: &Scale<'_>) -> Option<u32> {
        let digits = i64::try_from(if self.negative { -self.digits } else { self.digits }).ok();
        let behind = usize::try_from(0i64.saturating_sub(self.exponent)).ok();
        scale.node(digits.filter(|_| !self.more)?, behind?)
    }

    /// How many steps above `low`, of the value moved to the nearer bound and rounded half to even; and on which side of the bounds it was.
    fn steps(mut self, quantity: &Quantity) -> Option<(u32, Ordering)> {
        let most = i128::from(quantity.steps());
        if self.digits == 0 {
            self.exponent = 0;
        }
        // In units of 10^-(places + behind).
        let places = i64::from(quantity.places);
        let behind = (-self.exponent).saturating_sub(places).clamp(0, BEHIND);
        let mut shift = self.exponent.saturating_add(places).saturating_add(behind);
        while shift < 0 && self.digits != 0 {
            self.more |= self.digits % 10 != 0;
            self.digits /= 10;
            shift += 1;
        }
        if self.digits != 0 && shift > DIGITS as i64 + 2 {
            // More than any bound.
            return match self.negative {
                true => Some((0, Ordering::Less)),
                false => Some((u32::try_from(most).ok()?, Ordering::Greater)),
            };
        }
        let unit = 10i128.checked_pow(u32::try_from(behind).ok()?)?;
        let value = self.digits.checked_mul(10i128.checked_pow(u32::try_from(shift.max(0)).ok()?)?)?;
        let value = if self.negative { -value } else { value };
        let above = value.checked_sub(i128::from(quantity.low).checked_mul(unit)?)?;
        let step = i128::from(quantity.step).checked_mul(unit)?;
        // What lies behind the digits goes away from zero.
        if above < 0 || above == 0 && self.more && self.negative {
            return Some((0, Ordering::Less));
        }
        let (whole, rest) = (above / step, above % step);
        let half = match (rest * 2).cmp(&step) {
            Ordering::Less => false,
            Ordering::Greater => true,
            Ordering::Equal if self.more => !self.negative,
            Ordering::Equal => whole % 2 == 1,
        };
        let more = rest > 0 || self.more && !self.negative;
        let side = if whole > most || whole == most && more { Ordering::Greater } else { Ordering::Equal };
        Some((u32::try_from((whole + i128::from(half)).min(most)).ok()?, side))
    }
}

/// A whole number in parts of nine digits, the least first: room for the digits of all factors.
struct Parts([u32; 5 * MOST_FACTORS]);

/// What a part of a number is less than.
const PART: u64 = 1_000_000_000;

impl Parts {
    const ONE: Parts = {
        let mut parts = [0; 5 * MOST_FACTORS];
        parts[0] = 1;
        Parts(parts)
    };

    /// Multiplies it, as on paper. Of more factors than there is room for, none may come.
    fn times(&mut self, factor: u128) {
        let own = std::mem::replace(self, Parts([0; 5 * MOST_FACTORS]));
        let (mut left, mut shift) = (factor, 0);
        while left > 0 {
            let digits = (left % u128::from(PART)) as u64;
            let mut carry = 0;
            for (to, part) in self.0.iter_mut().skip(shift).zip(own.0) {
                let sum = u64::from(*to) + u64::from(part) * digits + carry;
                (*to, carry) = ((sum % PART) as u32, sum / PART);
            }
            (left, shift) = (left / u128::from(PART), shift + 1);
        }
    }

    /// Its first 27 digits or, of fewer, all; whether others behind them are not zero; and how many those are.
    fn leading(&self) -> (i128, bool, i64) {
        let first = self.0.iter().rposition(|part| *part != 0).unwrap_or(0);
        let from = first.saturating_sub(2);
        let kept = self.0.iter().take(first + 1).skip(from).rev();
        let digits = kept.fold(0i128, |n, part| n * i128::from(PART) + i128::from(*part));
        (digits, self.0.iter().take(from).any(|part| *part != 0), 9 * from as i64)
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Of what stands behind the `e`. One beyond a million is as good as any.
fn exponent(text: &[u8]) -> Result<i64, Fault> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Fault::NotAmount);
    }
    let size = digits.iter().fold(0i64, |n, d| (n * 10 + i64::from(d - b'0')).min(1_000_000));
    Ok(if negative { -size } else { size })
}
