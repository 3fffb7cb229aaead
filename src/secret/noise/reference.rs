//! The slow readable twin: Canonne, Kamath, Steinke 2020, Algorithms 1 to 3, in big integers throughout.
//!
//! It shares nothing with the fast sampler but the random bits: no tables, no bounds, no exponentials.

use crate::exact::Rational;
use dashu_int::UBig;
use rand::Rng;

/// Uniform on `0..n`.
pub(super) fn uniform<R: Rng>(n: &UBig, bits: &mut R) -> UBig {
    use dashu_int::ops::BitTest;
    let length = n.bit_len();
    loop {
        let mut x = UBig::ZERO;
        for _ in 0..length.div_ceil(64) {
            x = (x << 64) + UBig::from(bits.next_u64());
        }
        x >>= length.div_ceil(64) * 64 - length;
        if x < *n {
            return x;
        }
    }
}

/// Algorithm 1: true with probability `exp(−num/den)`.
fn bernoulli_exp<R: Rng>(num: &UBig, den: &UBig, bits: &mut R) -> bool {
    if num > den {
        let whole = num / den;
        let rest = num - &whole * den;
        let mut i = UBig::ZERO;
        while i < whole {
            if !bernoulli_exp(&UBig::ONE, &UBig::ONE, bits) {
                return false;
            }
            i += UBig::ONE;
        }
        return bernoulli_exp(&rest, den, bits);
    }
    let mut k = 1u32;
    while uniform(&(den * k), bits) < *num {
        k += 1;
    }
    k % 2 == 1
}

/// Algorithm 2: discrete Laplace of scale `t/s`.
fn laplace_ratio<R: Rng>(s: &UBig, t: &UBig, bits: &mut R) -> (bool, UBig) {
    loop {
        let u = uniform(t, bits);
        if !bernoulli_exp(&u, t, bits) {
            continue;
        }
        let mut v = UBig::ZERO;
        while bernoulli_exp(&UBig::ONE, &UBig::ONE, bits) {
            v += UBig::ONE;
        }
        let y = (u + t * v) / s;
        let negative = bits.next_u64() & 1 == 1;
        if !(negative && y == UBig::ZERO) {
            return (negative, y);
        }
    }
}

fn signed((negative, y): (bool, UBig)) -> i64 {
    let y = i64::try_from(&y).unwrap();
    if negative { -y } else { y }
}

/// Discrete Laplace of a scale.
pub(super) fn laplace<R: Rng>(scale: Rational, bits: &mut R) -> i64 {
    signed(laplace_ratio(&scale.denominator().into(), &scale.numerator().into(), bits))
}

/// Algorithm 3: discrete Gaussian of a variance.
pub(super) fn gaussian<R: Rng>(variance: Rational, bits: &mut R) -> i64 {
    let (n, d) = (UBig::from(variance.numerator()), UBig::from(variance.denominator()));
    let t = UBig::from((variance.numerator() / variance.denominator()).isqrt() + 1);
    loop {
        let (negative, y) = laplace_ratio(&UBig::ONE, &t, bits);
        // exp(−(|y| − σ²/t)²/(2σ²)) with everything over 2·n·d·t².
        let (a, b) = (&y * &t * &d, n.clone());
        let difference = if a > b { a - b } else { b - a };
        if bernoulli_exp(&(&difference * &difference), &(&n * &d * &t * &t * UBig::from(2u8)), bits) {
            return signed((negative, y));
        }
    }
}
