//! Products in GF(2^64), with the processor's carry-less multiplication where there is one.
//!
//! The only `unsafe` of the evaluator is here: two calls of functions compiled for PCLMULQDQ, after asking the processor
//! whether it has it. Both ways compute the same products in the same field, so their results are identical;
//! the tests compare them, and both with a product done bit by bit.
#![allow(unsafe_code)]

use super::field::{Field, Gf64, horner};

/// Four field elements, worked on side by side: a product takes several cycles, and the next ones need not wait.
pub(crate) type Lanes = [u64; 4];

/// Work that consists of products. It is compiled twice, with the processor's instruction and without; `run` must be
/// `#[inline(always)]` for the first to be any faster.
pub(crate) trait Work {
    /// Does it, with this multiplication.
    fn run(self, mul: impl Fn(Lanes, Lanes) -> Lanes);
}

/// Does the work with the processor's own instruction where it has one.
pub(crate) fn run(work: impl Work) {
    #[cfg(target_arch = "x86_64")]
    if has_hardware() {
        // SAFETY: the function needs PCLMULQDQ and SSE4.1, and the processor has just been found to have both. The work
        // itself is safe code.
        unsafe { hardware::run(work) };
        return;
    }
    run_portable(work);
}

/// The same as [`run`] with ordinary instructions.
pub(crate) fn run_portable(work: impl Work) {
    work.run(|a, b| std::array::from_fn(|i| Gf64(a[i]).mul(Gf64(b[i])).0));
}

/// The values at `points` of the polynomial with these coefficients (constant first), written to `out`.
///
/// Values are written for as many points as both slices have; without coefficients they are zero.
pub(crate) fn evaluate(coefficients: &[u64], points: &[u64], out: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    if has_hardware() {
        // SAFETY: the function needs PCLMULQDQ and SSE4.1, and the processor has just been found to have both. It reads
        // and writes through safe slices only.
        unsafe { hardware::evaluate(coefficients, points, out) };
        return;
    }
    evaluate_portable(coefficients, points, out);
}

/// Whether [`run`] and [`evaluate`] use the processor's own instruction.
#[cfg(any(test, target_arch = "x86_64"))]
pub(crate) fn has_hardware() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("pclmulqdq") && is_x86_feature_detected!("sse4.1");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The same as [`evaluate`] with ordinary instructions.
pub(crate) fn evaluate_portable(coefficients: &[u64], points: &[u64], out: &mut [u64]) {
    let coefficients: Vec<Gf64> = coefficients.iter().map(|&c| Gf64(c)).collect();
    for (value, &x) in out.iter_mut().zip(points) {
        *value = horner(&coefficients, Gf64(x)).map_or(0, |v| v.0);
    }
}

#[cfg(target_arch = "x86_64")]
mod hardware {
    use super::super::field::MODULUS;
    use super::{Lanes, Work};
    use std::arch::x86_64::{
        __m128i, _mm_clmulepi64_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_extract_epi64,
        _mm_set_epi64x, _mm_setzero_si128, _mm_shuffle_epi8, _mm_unpackhi_epi64, _mm_unpacklo_epi64,
        _mm_xor_si128,
    };

    #[target_feature(enable = "pclmulqdq,sse4.1")]
    pub(super) fn run(work: impl Work) {
        work.run(|a, b| lanes(a, b));
    }

    /// What the modulus makes of up to four bits above the top, for each combination: never more than a byte.
    const OVER: [u8; 16] = {
        let mut table = [0; 16];
        let mut bits = 0;
        while bits < 16 {
            let h = bits as u8;
            table[bits] = h ^ (h << 1) ^ (h << 3) ^ (h << 4);
            bits += 1;
        }
        table
    };

    /// Four products. The first fold of a high half is a product with the modulus; the four bits that this pushes over the
    /// top once more are looked up.
    #[inline]
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    fn lanes(a: Lanes, b: Lanes) -> Lanes {
        let table = u128::from_le_bytes(OVER);
        let table = _mm_set_epi64x((table >> 64) as i64, table as i64);
        let modulus = load(MODULUS);
        let mut out = [0; 4];
        for ((a, b), out) in a.chunks_exact(2).zip(b.chunks_exact(2)).zip(out.chunks_exact_mut(2)) {
            let a = _mm_set_epi64x(a[1].cast_signed(), a[0].cast_signed());
            let b = _mm_set_epi64x(b[1].cast_signed(), b[0].cast_signed());
            let first = _mm_clmulepi64_si128::<0x00>(a, b);
            let second = _mm_clmulepi64_si128::<0x11>(a, b);
            let first_fold = _mm_clmulepi64_si128::<0x01>(first, modulus);
            let second_fold = _mm_clmulepi64_si128::<0x01>(second, modulus);
            let low = _mm_unpacklo_epi64(first, second);
            let fold = _mm_unpacklo_epi64(first_fold, second_fold);
            let over = _mm_shuffle_epi8(table, _mm_unpackhi_epi64(first_fold, second_fold));
            let product = _mm_xor_si128(_mm_xor_si128(low, fold), over);
            out[0] = _mm_cvtsi128_si64(product).cast_unsigned();
            out[1] = _mm_extract_epi64::<1>(product).cast_unsigned();
        }
        out
    }

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

    /// Products of words of all kinds, in every lane.
    struct Products<'a>(&'a mut Vec<Lanes>);

    impl Work for Products<'_> {
        #[inline(always)]
        fn run(self, mul: impl Fn(Lanes, Lanes) -> Lanes) {
            let words = words();
            for &a in &words {
                for b in words.windows(4) {
                    self.0.push(mul([a; 4], [b[0], b[1], b[2], b[3]]));
                }
            }
        }
    }

    #[test]
    fn lanes_are_products_by_hand() {
        let (mut fast, mut portable) = (Vec::new(), Vec::new());
        run(Products(&mut fast));
        run_portable(Products(&mut portable));
        let words = words();
        let pairs = words.iter().flat_map(|&a| words.windows(4).map(move |b| (a, b)));
        let want: Vec<Lanes> = pairs.map(|(a, b)| std::array::from_fn(|i| by_hand(a, b[i]))).collect();
        assert_eq!(fast, want, "hardware {}", has_hardware());
        assert_eq!(portable, want);
    }

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
