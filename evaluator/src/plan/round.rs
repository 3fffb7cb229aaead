//! From computed scales to the rationals that are released: always towards more noise.

use crate::exact::Rational;

/// How many bits of a scale are kept: more noise than asked for by at most one part in 2^31.
const BITS: i32 = 32;

/// The smallest rational with a 32-bit numerator over a power of two, or a whole multiple of a power of
/// two, that is not below `x`. `None` when `x` is not a positive number of a size that can be sampled.
pub fn up(x: f64) -> Option<Rational> {
    if !(x > 1e-9 && x < 1e36) {
        return None;
    }
    // x = m · 2^e with 1 <= m < 2, from the bits: no rounding.
    let e = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let shift = BITS - 1 - e;
    if shift >= 0 {
        // Exact: multiplying by a power of two.
        let scaled = libm::ldexp(x, shift);
        Rational::new(scaled.ceil() as u128, 1u128.checked_shl(shift as u32)?)
    } else {
        let scaled = (libm::ldexp(x, shift)).ceil() as u128;
        Some(Rational::whole(scaled.checked_shl(-shift as u32)?))
    }
}

/// The same of what may be far smaller than any scale of noise: a budget, a weight.
pub fn up_small(x: f64) -> Option<Rational> {
    const FINE: u128 = 1 << 64;
    up(x).or_else(|| up(x * FINE as f64)?.checked_div(Rational::whole(FINE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_is_up_and_close() {
        for x in [1.5e-9, 0.1, 1.0, 2.0 / 3.0, 47.03, 1e6 + 0.3, 7.7e17, 1e30] {
            let r = up(x).unwrap();
            assert!(r.to_f64() >= x && r.to_f64() <= x * (1.0 + 2f64.powi(-30)), "{x} {r}");
        }
        assert_eq!(up(1.0).unwrap(), Rational::ONE);
        for x in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-10, 1e40] {
            assert!(up(x).is_none());
        }
        for x in [1e-10, 3.7e-18, 1e-28, 0.1, 7.0] {
            let r = up_small(x).unwrap();
            assert!(r.to_f64() >= x && r.to_f64() <= x * (1.0 + 2f64.powi(-30)), "{x} {r}");
        }
        assert!([0.0, -1.0, f64::NAN, f64::INFINITY, 1e-29].into_iter().all(|x| up_small(x).is_none()));
    }
}
