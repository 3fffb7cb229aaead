//! Polynomials over GF(2^64) at many points, with the processor's carry-less multiplication where there is one.
//!
//! The only `unsafe` of the project is here: one call of a function compiled for PCLMULQDQ, after asking the processor
//! whether it has it. Both ways compute the same polynomial over the same field, so their results are identical;
//! the tests compare them, and both with a product done bit by bit.
#![allow(unsafe_code)]

use super::field::{Gf64, horner};

/// The values at `points` of the polynomial with these coefficients (constant first), written to `out`.
///
/// Values are written for as many points as both slices have; without coefficients they are zero.
pub fn evaluate(coefficients: &[u64], points: &[u64], out: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    if has_hardware() {
        // SAFETY: the function needs PCLMULQDQ and SSE4.1, and the processor has just been found to have both. It reads
        // and writes through safe slices only.
        unsafe { hardware::evaluate(coefficients, points, out) };
        return;
    }
    evaluate_portable(coefficients, points, out);
}

/// Whether [`evaluate`] uses the processor's own instruction.
pub fn has_hardware() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("pclmulqdq") && is_x86_feature_detected!("sse4.1");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The same as [`evaluate`] with ordinary instructions.
pub fn evaluate_portable(coefficients: &[u64], points: &[u64], out: &mut [u64]) {
    let coefficients: Vec<Gf64> = coefficients.iter().map(|&c| Gf64(c)).collect();
    for (value, &x) in out.iter_mut().zip(points) {
        *value = horner(&coefficients, Gf64(x)).map_or(0, |v| v.0);
    }
}

#[cfg(target_arch = "x86_64")]
mod hardware {
    use super::super::field::MODULUS;
    use std::arch::x86_64::{
        __m128i, _mm_clmulepi64_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_setzero_si128, _mm_xor_si128,
    };

    /// So many points are worked on side by side: a product takes several cycles, and one can start every cycle.
    const LANES: usize = 4;
    /// So many terms share one reduction: sums of unreduced products are reduced once.
    const STEP: usize = 8;

    #[inline]
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    fn load(x: u64) -> __m128i {
        _mm_cvtsi64_si128(x.cast_signed())
    }

    /// Reduces a product to one word (in the low half; the high half is left over and never used).
    #[inline]
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    fn reduce(product: __m128i, modulus: __m128i) -> __m128i {
        let once = _mm_clmulepi64_si128::<0x01>(product, modulus);
        let twice = _mm_clmulepi64_si128::<0x01>(once, modulus);
        _mm_xor_si128(_mm_xor_si128(product, once), twice)
    }

    /// Horner's scheme in x^8: each step sums eight unreduced products with x, …, x^8 and reduces the sum once.
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    pub(super) fn evaluate(coefficients: &[u64], points: &[u64], out: &mut [u64]) {
        let modulus = load(MODULUS);
        for (points, out) in points.chunks(LANES).zip(out.chunks_mut(LANES)) {
            let mut powers = [[_mm_setzero_si128(); LANES]; STEP];
            for (lane, &x) in points.iter().enumerate() {
                powers[0][lane] = load(x);
            }
            for i in 1..STEP {
                for lane in 0..LANES {
                    let (a, b) = (powers[i / 2][lane], powers[i - i / 2 - 1][lane]);
                    powers[i][lane] = reduce(_mm_clmulepi64_si128::<0>(a, b), modulus);
                }
            }
            let mut sums = [_mm_setzero_si128(); LANES];
            for (step, terms) in coefficients.chunks(STEP).rev().enumerate() {
                let constant = terms.first().copied().unwrap_or(0);
                let mut next = [load(constant); LANES];
                for (i, &c) in terms.iter().enumerate().skip(1) {
                    let c = load(c);
                    for lane in 0..LANES {
                        next[lane] =
                            _mm_xor_si128(next[lane], _mm_clmulepi64_si128::<0>(c, powers[i - 1][lane]));
                    }
                }
                for lane in 0..LANES {
                    if step > 0 {
                        let carried = _mm_clmulepi64_si128::<0>(sums[lane], powers[STEP - 1][lane]);
                        next[lane] = _mm_xor_si128(next[lane], carried);
                    }
                    sums[lane] = reduce(next[lane], modulus);
                }
            }
            for (value, sum) in out.iter_mut().zip(sums) {
                *value = _mm_cvtsi128_si64(sum).cast_unsigned();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::field::tests::{by_hand, words};
    use super::*;

    /// Both ways against products done bit by bit, for every number of coefficients and of points that makes a
    /// difference to the blocking.
    #[test]
    fn both_ways_are_the_polynomial() {
        let words = words();
        for r in (0..20).chain([31, 58, 64, 100]) {
            let coefficients: Vec<u64> = (0..r).map(|i| words[(7 * i + r) % words.len()]).collect();
            for n in [0, 1, 3, 4, 5, 9, 40] {
                let points: Vec<u64> = (0..n).map(|i| words[(3 * i + r) % words.len()]).collect();
                let want: Vec<u64> = points
                    .iter()
                    .map(|&x| coefficients.iter().rev().fold(0, |sum, &c| by_hand(sum, x) ^ c))
                    .collect();
                let mut fast = vec![1; n];
                evaluate(&coefficients, &points, &mut fast);
                assert_eq!(fast, want, "hardware {}, r = {r}, {n} points", has_hardware());
                let mut portable = vec![1; n];
                evaluate_portable(&coefficients, &points, &mut portable);
                assert_eq!(portable, want, "r = {r}, {n} points");
            }
        }
    }
}
