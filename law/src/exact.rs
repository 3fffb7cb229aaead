//! Rationals that are never rounded: budgets, scales and costs.
//!
//! Privacy arithmetic must be exact or rounded in the safe direction, so a budget is read from its
//! decimal text (`0.1` is 1/10, not the nearest double) and stays a ratio of two `u128` for ever.

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A non-negative rational in lowest terms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(into = "String")]
pub struct Rational {
    num: u128,
    den: u128,
}

/// Why a text is not a rational this program can hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RationalError {
    /// Not a number at all.
    #[error("expected a non-negative number such as 0.5, 1e-9 or 542/339")]
    Syntax,
    /// A zero below the line.
    #[error("the denominator is zero")]
    ZeroDenominator,
    /// More digits than 128 bits hold.
    #[error("the number has more digits than can be kept exactly")]
    TooLarge,
}

/// The greatest common divisor, without a division: those of 128 bits are slow, and a release has hundreds of thousands of scales.
pub fn gcd(a: u128, b: u128) -> u128 {
    if a == 0 || b == 0 {
        return a | b;
    }
    let twos = (a | b).trailing_zeros();
    let (mut a, mut b) = (a >> a.trailing_zeros(), b >> b.trailing_zeros());
    // Both odd from here on, so their difference is not.
    while a != b && a != 1 && b != 1 {
        if a < b {
            (a, b) = (b, a);
        }
        a -= b;
        a >>= a.trailing_zeros();
    }
    a.min(b) << twos
}

/// A quotient without a remainder.
fn part(a: u128, divisor: u128) -> u128 {
    if divisor == 1 { a } else { a / divisor }
}

/// The full 256-bit product, high half first.
fn wide_mul(a: u128, b: u128) -> (u128, u128) {
    const MASK: u128 = (1 << 64) - 1;
    let (a1, a0, b1, b0) = (a >> 64, a & MASK, b >> 64, b & MASK);
    let low = a0 * b0;
    let mid = a1 * b0 + (low >> 64);
    let mid2 = a0 * b1 + (mid & MASK);
    let high = a1 * b1 + (mid >> 64) + (mid2 >> 64);
    (high, (mid2 << 64) | (low & MASK))
}

impl Rational {
    /// Zero.
    pub const ZERO: Rational = Rational { num: 0, den: 1 };
    /// One.
    pub const ONE: Rational = Rational { num: 1, den: 1 };

    /// `num/den` in lowest terms; `None` when `den` is zero.
    pub fn new(num: u128, den: u128) -> Option<Rational> {
        if den == 0 {
            return None;
        }
        let g = gcd(num, den);
        Some(Rational { num: part(num, g), den: part(den, g) })
    }

    /// `num/den` where these are in lowest terms already: as a file has them.
    pub fn lowest(num: u128, den: u128) -> Option<Rational> {
        (den != 0 && gcd(num, den) == 1).then_some(Rational { num, den })
    }

    /// A whole number.
    pub const fn whole(n: u128) -> Rational {
        Rational { num: n, den: 1 }
    }

    /// The part above the line.
    pub const fn numerator(self) -> u128 {
        self.num
    }

    /// The part below the line.
    pub const fn denominator(self) -> u128 {
        self.den
    }

    /// Whether this is zero.
    pub const fn is_zero(self) -> bool {
        self.num == 0
    }

    /// Exact product, `None` on overflow.
    pub fn checked_mul(self, other: Rational) -> Option<Rational> {
        // Cross-reduce first, so that only results that truly do not fit overflow.
        let (g1, g2) = (gcd(self.num, other.den), gcd(other.num, self.den));
        Some(Rational {
            num: part(self.num, g1).checked_mul(part(other.num, g2))?,
            den: part(self.den, g2).checked_mul(part(other.den, g1))?,
        })
    }

    /// Exact quotient, `None` on overflow or division by zero.
    pub fn checked_div(self, other: Rational) -> Option<Rational> {
        if other.num == 0 {
            return None;
        }
        self.checked_mul(Rational { num: other.den, den: other.num })
    }

    /// Exact sum, `None` on overflow.
    pub fn checked_add(self, other: Rational) -> Option<Rational> {
        let g = gcd(self.den, other.den);
        let den = part(self.den, g).checked_mul(other.den)?;
        let num = self
            .num
            .checked_mul(part(other.den, g))?
            .checked_add(other.num.checked_mul(part(self.den, g))?)?;
        Rational::new(num, den)
    }

    /// The nearest double (for display and for planning; never for noise).
    pub fn to_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }
}

impl PartialOrd for Rational {
    fn partial_cmp(&self, other: &Rational) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rational {
    fn cmp(&self, other: &Rational) -> Ordering {
        wide_mul(self.num, other.den).cmp(&wide_mul(other.num, self.den))
    }
}

impl Rational {
    /// For people: `1/2`, `1e-9`; where the exact ratio is long, nine decimals of it, or six digits where it is very large or small.
    pub fn shown(self) -> String {
        let text = self.to_string();
        if self.num == 1 && self.den >= 1000 && 10u128.checked_pow(self.den.ilog10()) == Some(self.den) {
            format!("1e-{}", self.den.ilog10())
        } else if text.len() <= 15 {
            text
        } else if !(1e-4..1e15).contains(&self.to_f64()) {
            format!("{:.5e}", self.to_f64())
        } else {
            format!("{:.9}", self.to_f64())
        }
    }
}

impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.den == 1 { write!(f, "{}", self.num) } else { write!(f, "{}/{}", self.num, self.den) }
    }
}

impl fmt::Debug for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Rational> for String {
    fn from(r: Rational) -> String {
        r.to_string()
    }
}

/// From its text, without a copy of it: a manifest lists thousands.
impl<'de> Deserialize<'de> for Rational {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Rational, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Rational;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Rational, E> {
                text.parse().map_err(E::custom)
            }
        }
        from.deserialize_str(Text)
    }
}

/// A whole number, read in 64 bits where it has no more.
fn whole(s: &str) -> Option<u128> {
    s.parse::<u64>().map(u128::from).or_else(|_| s.parse()).ok()
}

/// `12.5e-3` as an exact ratio.
fn parse_decimal(s: &str) -> Result<Rational, RationalError> {
    use RationalError::{Syntax, TooLarge};
    let s = s.replace('_', "");
    let s = s.strip_prefix('+').unwrap_or(&s);
    let (mantissa, exponent) = match s.split_once(['e', 'E']) {
        Some((m, e)) => (m, e.parse::<i32>().map_err(|_| Syntax)?),
        None => (s, 0),
    };
    let (int, frac) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if int.is_empty() && frac.is_empty() || !int.chars().chain(frac.chars()).all(|c| c.is_ascii_digit()) {
        return Err(Syntax);
    }
    let frac = frac.trim_end_matches('0');
    let digits = format!("{int}{frac}");
    let num = digits
        .bytes()
        .try_fold(0u128, |n, d| n.checked_mul(10)?.checked_add(u128::from(d - b'0')))
        .ok_or(TooLarge)?;
    let shift = i64::from(exponent) - frac.len() as i64;
    if num == 0 {
        return Ok(Rational::ZERO);
    }
    let power =
        u32::try_from(shift.unsigned_abs()).ok().and_then(|p| 10u128.checked_pow(p)).ok_or(TooLarge)?;
    if shift >= 0 {
        Ok(Rational::whole(num.checked_mul(power).ok_or(TooLarge)?))
    } else {
        Rational::new(num, power).ok_or(TooLarge)
    }
}

impl FromStr for Rational {
    type Err = RationalError;

    /// Reads `3`, `0.25`, `1e-9` or `542/339`, exactly.
    fn from_str(s: &str) -> Result<Rational, RationalError> {
        match s.split_once('/') {
            // As it is written: most are.
            Some((a, b)) => {
                if let (Some(a), Some(b)) = (whole(a), whole(b))
                    && let Some(r) = Rational::new(a, b)
                {
                    return Ok(r);
                }
                let (a, b) = (parse_decimal(a.trim())?, parse_decimal(b.trim())?);
                if b.is_zero() {
                    return Err(RationalError::ZeroDenominator);
                }
                a.checked_div(b).ok_or(RationalError::TooLarge)
            }
            None => parse_decimal(s.trim()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(s: &str) -> Rational {
        s.parse().unwrap()
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(r("0.1"), Rational::new(1, 10).unwrap());
        assert_eq!(r("1e-9"), Rational::new(1, 1_000_000_000).unwrap());
        assert_eq!(r("542/339").to_string(), "542/339");
        assert_eq!(r("6/4"), r("1.5"));
        assert_eq!(r(&format!("{}/2", u128::MAX - 1)), Rational::whole(u128::MAX / 2));
        assert_eq!(r("0.5 / 1_0"), r("1/20"));
        assert_eq!(r("2.50").to_string(), "5/2");
        assert_eq!(r("1_000").to_string(), "1000");
        for bad in [
            "", "/", "1/", "/1", "1//2", "+/1", "-1", "x", "1/0", "1e400", ".", "1.2.3", "0x10", "inf", "nan",
        ] {
            assert!(bad.parse::<Rational>().is_err(), "{bad}");
        }
        let why = |bad: &str| bad.parse::<Rational>().unwrap_err();
        assert_eq!(
            [why("1/0"), why("1/0.0")],
            [RationalError::ZeroDenominator, RationalError::ZeroDenominator]
        );
        assert_eq!(
            [why("x"), why("1e"), why("1e400")],
            [RationalError::Syntax, RationalError::Syntax, RationalError::TooLarge]
        );
        // The largest and the smallest that 128 bits hold, and the next.
        assert_eq!([r("1e38").numerator(), r("1e-38").denominator()], [10u128.pow(38); 2]);
        assert_eq!([why("1e39"), why("1e-39"), why("4e38")], [(); 3].map(|()| RationalError::TooLarge));
        assert_eq!(r(&u128::MAX.to_string()), Rational::whole(u128::MAX));
        assert_eq!(why("340282366920938463463374607431768211456"), RationalError::TooLarge);
        assert_eq!(r("0e-400"), Rational::ZERO);
    }

    #[test]
    fn for_people() {
        let shown = |s: &str| r(s).shown();
        assert_eq!([shown("0.5"), shown("1e-9"), shown("1/3")], ["1/2", "1e-9", "1/3"]);
        assert_eq!(shown("813945766995/4398046511104"), "0.185069841");
        // A power of ten below 1 has its exponent, from 1/1000 on; what is near one is not one.
        assert_eq!(
            [shown("1/1000"), shown("1/100"), shown("1/1001"), shown("3/1000")],
            ["1e-3", "1/100", "1/1001", "3/1000"]
        );
        // Fifteen signs are short enough, sixteen are not.
        assert_eq!(
            [shown("1234567/1234568"), shown("12345678/1234567")],
            ["1234567/1234568", "10.000006480"]
        );
        assert_eq!([shown("1/12345678901234"), shown("1e20/3")], ["8.10000e-14", "3.33333e19"]);
    }

    #[test]
    fn greatest_common_divisors() {
        fn euclid(a: u128, b: u128) -> u128 {
            if b == 0 { a } else { euclid(b, a % b) }
        }
        let odd = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835u128;
        let some = [
            0,
            1,
            2,
            3,
            6,
            12,
            1 << 40,
            3 << 40,
            1 << 127,
            u128::MAX,
            u128::MAX - 2,
            odd,
            odd << 3,
            1e30 as u128,
        ];
        for a in some {
            for b in some {
                assert_eq!(gcd(a, b), euclid(a, b), "{a} {b}");
                let lowest = b != 0 && euclid(a, b) == 1;
                assert_eq!(Rational::lowest(a, b).is_some(), lowest, "{a} {b}");
            }
        }
    }

    #[test]
    fn order_does_not_overflow() {
        let big = Rational::new(u128::MAX, u128::MAX - 1).unwrap();
        assert!(big > Rational::ONE);
        assert!(big < r("2"));
        assert_eq!(wide_mul(u128::MAX, u128::MAX), (u128::MAX - 1, 1));
    }

    /// Numbers with runs of ones and zeros, where carries go far.
    fn wide_numbers() -> Vec<u128> {
        let runs = |bits: u32| [1u128 << bits, (1 << bits) - 1, u128::MAX << bits, (1 << bits) + 1];
        let odd = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835u128;
        let runs = [1, 31, 63, 64, 65, 100, 127].into_iter().flat_map(runs);
        runs.chain([0, 1, u128::MAX, odd, !odd, odd.rotate_left(64)]).collect()
    }

    /// The low half is the product modulo 2^128; with that, the product modulo a prime beyond 2^60 gives the high half.
    #[test]
    fn wide_products_are_right_modulo_primes() {
        const PRIMES: [u128; 2] = [(1 << 61) - 1, (1 << 61) - 31];
        for a in wide_numbers() {
            for b in wide_numbers() {
                let (high, low) = wide_mul(a, b);
                assert_eq!(low, a.wrapping_mul(b), "{a} {b}");
                for p in PRIMES {
                    let power = (u128::MAX % p + 1) % p;
                    let found = (high % p * power + low % p) % p;
                    assert_eq!(found, a % p * (b % p) % p, "{a} {b}");
                }
            }
        }
    }

    /// Two ratios compare as their whole parts, and then as the inverses of what is left, the other way round.
    #[test]
    fn order_is_that_of_continued_fractions() {
        fn compare((a, b): (u128, u128), (c, d): (u128, u128)) -> Ordering {
            match (b, d) {
                (0, 0) => return Ordering::Equal,
                (0, _) => return Ordering::Greater,
                (_, 0) => return Ordering::Less,
                _ => {}
            }
            (a / b).cmp(&(c / d)).then_with(|| compare((d, c % d), (b, a % b)))
        }
        let all = wide_numbers();
        for (i, a) in all.iter().enumerate() {
            let one = Rational::new(*a, all[(i + 1) % all.len()].max(1)).unwrap();
            for (j, b) in all.iter().enumerate() {
                let other = Rational::new(*b, all[(j + 3) % all.len()].max(1)).unwrap();
                let want = compare((one.num, one.den), (other.num, other.den));
                assert_eq!(one.cmp(&other), want, "{one} {other}");
            }
        }
    }

    #[test]
    fn arithmetic() {
        assert_eq!(r("1/3").checked_add(r("1/6")).unwrap(), r("1/2"));
        assert_eq!(String::from(r("2/6")), "1/3");
        assert_eq!(r("2/3").checked_mul(r("9/4")).unwrap(), r("3/2"));
        assert_eq!(r("2/3").checked_div(r("4/9")).unwrap(), r("3/2"));
        assert!(Rational::whole(u128::MAX).checked_add(Rational::ONE).is_none());
        // What fits in lowest terms does not overflow on the way.
        let big = 1u128 << 100;
        let (a, b) = (Rational::new(big, 3).unwrap(), Rational::new(3, big + 1).unwrap());
        assert_eq!(a.checked_mul(b), Rational::new(big, big + 1));
        assert_eq!(a.checked_div(a), Some(Rational::ONE));
        assert_eq!(Rational::ONE.checked_div(Rational::ZERO), None);
        let fine = Rational::new(1, 1 << 126).unwrap();
        assert_eq!(fine.checked_add(fine), Rational::new(1, 1 << 125));
        assert_eq!(fine.checked_add(r("1/7")), None);
    }
}
