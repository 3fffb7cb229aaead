//! One cell to the steps of a number: exactly, in whole numbers.
//!
//! A cell is a decimal number with an optional exponent: `1200`, `1200.50`, `1.2e3`. It is moved to the nearer bound if it lies outside, and rounded to
//! the nearest step, half to even. No float is made of it, so a value just above the middle between two steps goes up however long it is written.
//!
//! Of several columns the value is the product of their cells ([`product`]): all digits are multiplied, and only then is anything moved or rounded. A weight is a factor as it
//! counts: moved to its own bounds and rounded to its own steps before.

use super::error::Fault;
use crate::cube::{NoValue, Quantity, Weighing};
use crate::spec::MOST_FACTORS;
use std::cmp::Ordering;
use zeroize::Zeroize;

/// Decimal digits that are kept: more than bounds and step can tell apart. What lies behind them decides only whether a value is beyond a half.
const DIGITS: usize = 18;
/// Decimal places that are kept behind those of the bounds.
const BEHIND: i64 = 18;
/// Decimal digits of a factor, all of which are kept: what a DECIMAL of a file may have.
const OF_FACTOR: usize = 38;

/// How many steps above `low` the value of a cell is. If `told`, values outside the bounds have nodes of their own ([`beyond`]).
pub(super) fn steps(quantity: &Quantity, cell: &[u8], told: bool) -> Result<u32, Fault> {
    if cell.is_empty() {
        return match quantity.missing {
            NoValue::Stop => Err(Fault::NoAmount),
            NoValue::Skip => u32::try_from(quantity.reach() + 1).map_err(|_| Fault::Outside),
            NoValue::Zero => at_zero(quantity).ok_or(Fault::Outside),
        };
    }
    node(quantity, Number::read(cell, DIGITS)?, told)
}

/// How many steps above `low` the product of these is, as of a cell with all its digits; of rows that lack one what rows without a value are.
pub(super) fn product(quantity: &Quantity, factors: &[Factor], told: bool) -> Result<u32, Fault> {
    if factors.iter().any(|factor| factor.absent) {
        return steps(quantity, b"", told);
    }
    node(quantity, Number::product(factors.iter().map(|factor| &factor.number)), told)
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
    pub(super) fn of_weight(weight: &Quantity, cell: &[u8]) -> Result<Factor, Fault> {
        let above = i128::from(steps(weight, cell, false)?) * i128::from(weight.step);
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

fn node(quantity: &Quantity, number: Number, told: bool) -> Result<u32, Fault> {
    let (steps, side) = number.steps(quantity).ok_or(Fault::Outside)?;
    let [below, above] = beyond(quantity.reach());
    let node = match side {
        Ordering::Less if told => below,
        Ordering::Greater if told => above,
        _ => return Ok(steps),
    };
    u32::try_from(node).map_err(|_| Fault::Outside)
}

/// The nodes of values below `low` and above `high`, behind all others, where they are told apart.
pub(in crate::secret) fn beyond(reach: u64) -> [u64; 2] {
    [reach + 2, reach + 3]
}

fn at_zero(quantity: &Quantity) -> Option<u32> {
    Some(Number { negative: false, digits: 0, exponent: 0, more: false }.steps(quantity)?.0)
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

    /// How many steps above `low`, of the value moved to the nearer bound and rounded half to even; and on which side of the bounds it was.
    fn steps(mut self, quantity: &Quantity) -> Option<(u32, Ordering)> {
        let most = i128::from(quantity.reach());
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

#[cfg(test)]
mod tests {
    use super::*;
    use dashu_ratio::RBig;
    use proptest::prelude::*;

    fn quantity(low: i64, high: i64, step: u64, places: u8, missing: NoValue) -> Quantity {
        let name = "income".to_owned();
        let weighing = Default::default();
        let q = Quantity { name, low, high, step, places, missing, weighing, unit: None, description: None };
        q.check().unwrap();
        q
    }

    fn of(q: &Quantity, cell: &str) -> Option<u32> {
        steps(q, cell.as_bytes(), false).ok()
    }

    /// The product of cells, by their texts.
    fn times(q: &Quantity, cells: &[&str]) -> Result<u32, Fault> {
        let factors: Result<Vec<Factor>, Fault> =
            cells.iter().map(|cell| Factor::read(q.missing, cell.as_bytes())).collect();
        product(q, &factors?, false)
    }

    #[test]
    fn products_are_exact() {
        let q = quantity(0, 100, 1, 0, NoValue::Skip);
        for (cells, want) in [
            (&["5", "3"][..], 15),
            (&["-5", "-3"], 15),
            (&["-5", "3"], 0),
            (&["0", "-1e300", "1e300"], 0),
            (&["0.5", "5"], 2),
            (&["0.5", "7"], 4),
            (&["0.1", "0.1", "0.1", "2.5e3"], 2),
            // A little more than a half, in the last of 76 digits; and a little less.
            (&["5.0000000000000000000000000000000000001", "0.5"], 3),
            (&["5.0000000000000000000000000000000000001", "0.49999999999999999999999999999999999999"], 2),
            // A little less than 2.5, of long factors: 2^60 and 2.5/2^60.
            (&["1152921504606846976", "0.00000000000000000216840434497100886801"], 2),
            (&["99999999999999999999999999999999999999", "99999999999999999999999999999999999999"], 100),
            (&["99999999999999999999999999999999999999e-38", "1e1", "1e1", "1"], 100),
            (&["1e1000000", "1e-1000000"], 1),
            (&["7", ""], 101),
            (&["", "0"], 101),
        ] {
            assert_eq!(times(&q, cells).unwrap(), want, "{cells:?}");
        }
        assert_eq!(times(&q, &["1", "123456789012345678901234567890123456789"]), Err(Fault::LongFactor));
        assert_eq!(times(&q, &["1", "x"]), Err(Fault::NotAmount));
        assert_eq!(times(&quantity(0, 9, 1, 0, NoValue::Stop), &["", "1"]), Err(Fault::NoAmount));
        assert_eq!(times(&quantity(-9, 9, 1, 0, NoValue::Zero), &["", "1"]), Ok(9));
    }

    /// Beyond its ends, between its steps and below 0, a weight multiplies by what it counts as.
    #[test]
    fn weights_multiply_as_they_count() {
        let weight = |step: u64, places: u8, high: i64, missing| Quantity {
            weighing: Weighing::Weight,
            ..quantity(0, high, step, places, missing)
        };
        let q = quantity(-1000, 1000, 1, 0, NoValue::Stop);
        let times = |weight: &Quantity, w: &str, cell: &str| {
            let factors =
                [Factor::read(NoValue::Stop, cell.as_bytes())?, Factor::of_weight(weight, w.as_bytes())?];
            product(&q, &factors, false).map(|steps| i64::from(steps) - 1000)
        };
        let whole = weight(1, 0, 10, NoValue::Stop);
        for (w, as_if) in [
            ("60", 10),
            ("10.4", 10),
            ("-60", 0),
            ("-0.5", 0),
            ("0.5", 0),
            ("1.5", 2),
            ("2.5", 2),
            ("2.50000000000000000000000000000000000000000000000001", 3),
            ("3e0", 3),
            ("1e300", 10),
        ] {
            for value in [1, -1, 7, 60] {
                assert_eq!(times(&whole, w, &value.to_string()), Ok(as_if * value), "{w} {value}");
            }
        }
        // Steps of 0.25, up to 2.5.
        let quarters = weight(25, 2, 250, NoValue::Zero);
        for (w, as_if) in [("2.6", 250), ("0.12", 0), ("0.125", 0), ("0.375", 50), ("0.13", 25), ("", 0)] {
            assert_eq!(times(&quarters, w, "100"), Ok(as_if), "{w}");
            assert_eq!(times(&quarters, w, "-100"), Ok(-as_if), "{w}");
        }
        assert_eq!(times(&whole, "", "1"), Err(Fault::NoAmount));
        assert_eq!(times(&whole, "x", "1"), Err(Fault::NotAmount));
        assert_eq!(times(&quarters, "", ""), Err(Fault::NoAmount));
    }

    /// Also of a number that a double does not tell from the end.
    #[test]
    fn nearer_ends() {
        let end = |cell: &str| nearer_end(-3, 60, cell.as_bytes());
        for cell in ["60.5", "60.00000000000000000000000001", "6.05e1", "1e300", "+60.5"] {
            assert_eq!(end(cell), Some(60), "{cell}");
        }
        for cell in ["-3.5", "-3.00000000000000000000000001", "-1e300"] {
            assert_eq!(end(cell), Some(-3), "{cell}");
        }
        for cell in
            ["59.99999999999999999999999999", "-2.5", "-3.0", "60", "0.5", "", "inf", "nan", "x", "1.5.2"]
        {
            assert_eq!(end(cell), None, "{cell}");
        }
    }

    /// However a number is written, and no other number, however near.
    #[test]
    fn equal_numbers_are_equal() {
        let of = |cell: &str| exactly(cell.as_bytes());
        for cell in
            ["-99", "-99.0", "-9.9e1", "-099", "-99.000000000000000000000000000000000000000000000", "-990E-1"]
        {
            assert_eq!(of(cell), of("-99"), "{cell}");
            assert!(of(cell).is_some());
        }
        for cell in ["0", "-0", "+0.0", "0e9", "-.0", "00"] {
            assert_eq!(of(cell), of("0"), "{cell}");
        }
        for cell in ["99", "-99.0000000000000000000000000000001", "-9.9", "-990", "x", "", "nan", "-inf"] {
            assert_ne!(of(cell), of("-99"), "{cell}");
        }
        assert_eq!(of("x"), None);
        assert_eq!(of("-99.0000000000000000000000000000000000000000000000000001"), None);
    }

    /// Which side of the bounds a value is on is told exactly, also of long ones.
    #[test]
    fn values_beyond_the_bounds_are_told_apart() {
        let q = quantity(-1000, 200_000, 100, 0, NoValue::Skip);
        let [below, above] = beyond(q.reach()).map(|n| n as u32);
        let told = |cell: &str| steps(&q, cell.as_bytes(), true).unwrap();
        for (cell, want) in [
            ("-1000", 0),
            ("-1e3", 0),
            ("-999.99999999999999999999999999", 0),
            ("-1000.0000000000000000000000000000000001", below),
            ("-1001", below),
            ("-1e300", below),
            ("200000", 2010),
            ("199999.999999999999999999999999999", 2010),
            ("200000.0000000000000000000000000000000001", above),
            ("200001", above),
            ("1e99", above),
            ("0", 10),
            ("", 2011),
        ] {
            assert_eq!(told(cell), want, "{cell}");
            // A release counts it as the end.
            let end = if want == below {
                0
            } else if want == above {
                2010
            } else {
                want
            };
            assert_eq!(of(&q, cell), Some(end), "{cell}");
        }
    }

    #[test]
    fn cells_become_steps() {
        let q = quantity(0, 200_000, 100, 0, NoValue::Stop);
        for (cell, want) in [
            ("0", 0),
            ("-5", 0),
            ("49", 0),
            ("50", 0),
            ("50.000000000000000000000000000000000000000000000001", 1),
            ("150", 2),
            ("250", 2),
            ("+1.2e3", 12),
            ("12e2", 12),
            ("200000", 2000),
            ("1e300", 2000),
            ("-1e300", 0),
            ("1e-300", 0),
            (".5e4", 50),
            ("000000000000000000000000000000000000000000000100", 1),
            ("0.00000000000000000000000000000000001e37", 1),
        ] {
            assert_eq!(of(&q, cell), Some(want), "{cell}");
        }
        for bad in ["", " 5", "5 ", "1,000", "nan", "inf", "1e", "e5", ".", "-", "0x10", "1.2.3"] {
            assert_eq!(of(&q, bad), None, "{bad:?}");
        }
        assert_eq!(of(&quantity(-100, 100, 100, 0, NoValue::Zero), ""), Some(1));
        assert_eq!(of(&quantity(-100, 100, 100, 0, NoValue::Skip), ""), Some(3));
    }

    proptest! {
        /// Against exact rationals: the product as one cell that has all its digits.
        #[test]
        fn products_are_those_of_rationals(
            factors in proptest::collection::vec((0u128..10u128.pow(38), 0u32..39, -44i32..4, any::<bool>()), 1..5),
            step in 1u64..500, places in 0u8..4,
        ) {
            let q = quantity(-400 * step as i64, 500 * step as i64, step, places, NoValue::Stop);
            let (mut cells, mut value) = (Vec::new(), RBig::ONE);
            for (digits, cut, exponent, negative) in factors {
                let digits = digits / 10u128.pow(cut);
                let exponent = exponent + cut.min(40) as i32 / 2;
                cells.push(format!("{}{digits}e{exponent}", if negative { "-" } else { "" }));
                let power = RBig::from(10u32).pow(exponent.unsigned_abs() as isize);
                let power = if exponent < 0 { RBig::ONE / power } else { power };
                value *= RBig::from(digits) * power * RBig::from(if negative { -1 } else { 1 });
            }
            let unit = RBig::from(step) / RBig::from(10u32).pow(isize::from(places));
            let steps = value / unit + RBig::from(400);
            let floor = steps.floor();
            let rest = steps - RBig::from(floor.clone());
            let half = RBig::ONE / RBig::from(2);
            let even = (&floor % dashu_int::IBig::from(2)) == dashu_int::IBig::ZERO;
            let up = rest > half || (rest == half && !even);
            let whole = (floor + i32::from(up)).max(0.into()).min(900.into());
            let whole = u32::try_from(whole).unwrap();
            let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
            prop_assert_eq!(times(&q, &cells), Ok(whole), "{:?}", cells);
        }

        /// Against exact rationals.
        #[test]
        fn rounding_is_exact(
            low in -3000i64..3000, count in 1i64..400, step in 1u64..500, places in 0u8..4,
            digits in -400_000i64..400_000, exponent in -6i32..4, tail in 0u32..3,
        ) {
            let low = low * step as i64;
            let q = quantity(low, low + count * step as i64, step, places, NoValue::Stop);
            let long = ["", "00000000000000000000000000000", "000000000000000000000000000000000001"][tail as usize];
            let cell = format!("{digits}{}{long}e{exponent}", if tail == 0 { "" } else { "." });
            let ten = |n: i32| {
                let power = RBig::from(10u32).pow(n.unsigned_abs() as isize);
                if n < 0 { RBig::ONE / power } else { power }
            };
            let sign = if cell.starts_with('-') { -1 } else { 1 };
            let value = (RBig::from(digits) + if tail == 2 { RBig::from(sign) * ten(-36) } else { RBig::ZERO }) * ten(exponent);
            let steps = (value - RBig::from(low) * ten(-i32::from(places))) / (RBig::from(step) * ten(-i32::from(places)));
            let floor = steps.floor();
            let rest = steps - RBig::from(floor.clone());
            let half = RBig::ONE / RBig::from(2);
            let even = (&floor % dashu_int::IBig::from(2)) == dashu_int::IBig::ZERO;
            let up = rest > half || (rest == half && !even);
            let whole = i64::try_from(floor + i32::from(up)).unwrap().clamp(0, count);
            prop_assert_eq!(of(&q, &cell), Some(whole as u32), "{} {:?}", cell, q);
        }
    }
}
