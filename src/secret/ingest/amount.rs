//! One cell to the steps of a number: exactly, in whole numbers.
//!
//! A cell is a decimal number with an optional exponent: `1200`, `1200.50`, `1.2e3`. It is moved to the nearer bound if it lies outside, and rounded to
//! the nearest step, half to even. No float is made of it, so a value just above the middle between two steps goes up however long it is written.

use super::error::Fault;
use crate::cube::{NoValue, Quantity};
use std::cmp::Ordering;

/// Decimal digits that are kept: more than bounds and step can tell apart. What lies behind them decides only whether a value is beyond a half.
const DIGITS: usize = 18;
/// Decimal places that are kept behind those of the bounds.
const BEHIND: i64 = 18;

/// How many steps above `low` the value of a cell is. If `told`, values outside the bounds have nodes of their own ([`beyond`]).
pub(super) fn steps(quantity: &Quantity, cell: &[u8], told: bool) -> Result<u32, Fault> {
    if cell.is_empty() {
        return match quantity.missing {
            NoValue::Stop => Err(Fault::NoAmount),
            NoValue::Skip => u32::try_from(quantity.reach() + 1).map_err(|_| Fault::Outside),
            NoValue::Zero => at_zero(quantity).ok_or(Fault::Outside),
        };
    }
    let number = Number::read(cell)?;
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
#[derive(Debug, Clone, Copy)]
struct Number {
    negative: bool,
    digits: i128,
    exponent: i64,
    more: bool,
}

impl Number {
    fn read(cell: &[u8]) -> Result<Number, Fault> {
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
                    if kept < DIGITS {
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
        let q = Quantity { name, low, high, step, places, missing, unit: None, description: None };
        q.check().unwrap();
        q
    }

    fn of(q: &Quantity, cell: &str) -> Option<u32> {
        steps(q, cell.as_bytes(), false).ok()
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
