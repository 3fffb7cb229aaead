//! A polynomial's values on all points of a coset at once, by an additive Fourier transform.
//!
//! The points of one cell differ in their lowest bits only, the number of the block: they are cosets `x + V` of the space
//! V of words below 2^m, and addition is XOR. Let `s_i` be the polynomial that vanishes on the words below 2^i, and
//! `ŝ_i = s_i / s_i(2^i)`. Both are additive, and `ŝ_i` is the same for all points of a coset of the words below 2^i and one more for
//! those with bit i set. Written in the products `X_j = Π ŝ_i` over the bits i of j, a polynomial
//! `f = a + ŝ_i b` with a and b of lower indices takes on the two halves of a coset the values `a + ŝ_i(x) b` and that plus b: one product
//! and two additions for two values. m rounds of this give all 2^m values, with m/2 products a value where Horner's
//! scheme needs r − 1. **Source:** Lin, Chung & Han 2014, "Novel polynomial basis and its application to Reed–Solomon erasure codes".

use super::clmul::{self, Lanes, Work};
use super::field::{Field, Gf64};

/// More rounds than any family needs: a polynomial has fewer than 2^LEVELS coefficients.
const LEVELS: usize = 16;

/// A polynomial, ready for its values on cosets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cosets {
    /// The coefficients of the products `X_j`; as many as a power of two.
    coefficients: Vec<u64>,
    /// For each level i the factor k of `ŝ_{i+1} = k ŝ_i (ŝ_i + 1)`.
    steps: Vec<u64>,
    /// For each level i within a coset `ŝ_i` at the multiples of 2^{i+1}.
    offsets: Vec<Vec<u64>>,
}

impl Cosets {
    /// The polynomial with these coefficients (constant first) on cosets of at most 2^bits points.
    pub(crate) fn new(coefficients: &[u64], bits: u32) -> Cosets {
        let levels = coefficients.len().max(1).next_power_of_two().trailing_zeros() as usize;
        let inner = levels.min(bits as usize);
        let mut f: Vec<Gf64> = coefficients.iter().map(|&c| Gf64(c)).collect();
        f.resize(1 << levels, Gf64(0));
        let vanishing: Vec<Vanishing> =
            std::iter::successors(Some(Vanishing::first()), |s| Some(s.next())).take(levels + 1).collect();
        for (i, s) in vanishing.iter().enumerate().take(levels).rev() {
            for part in f.chunks_mut(2 << i) {
                s.divide(part, 1 << i);
            }
        }
        let steps = vanishing.windows(2).map(|s| match s {
            [s, next] => s.pivot.mul(s.pivot).mul(next.pivot.inverse()).0,
            _ => 0,
        });
        let offsets = vanishing.iter().enumerate().take(inner).map(|(i, s)| {
            let scale = s.pivot.inverse();
            (0..1u64 << (inner - i - 1)).map(|u| s.at(Gf64(u << (i + 1))).mul(scale).0).collect()
        });
        Cosets {
            steps: steps.collect(),
            offsets: offsets.collect(),
            coefficients: f.iter().map(|c| c.0).collect(),
        }
    }

    /// How many points a coset has: a power of two.
    pub fn size(&self) -> usize {
        1 << self.offsets.len()
    }

    /// The values on the cosets of four starts, which are multiples of the size: `out[p][lane]` is that at `starts[lane] + p`.
    /// As many points are written as `out` has, at most a coset's.
    pub fn values(&self, starts: Lanes, out: &mut [Lanes]) {
        clmul::run(Transform { cosets: self, starts, out });
    }

    /// The same without special instructions.
    pub fn values_portable(&self, starts: Lanes, out: &mut [Lanes]) {
        clmul::run_portable(Transform { cosets: self, starts, out });
    }
}

/// `s_i`: the polynomial that vanishes on the words below 2^i.
struct Vanishing {
    /// It is additive: the coefficients of x, x², x⁴, …
    coefficients: Vec<Gf64>,
    /// Its value at 2^i.
    pivot: Gf64,
}

impl Vanishing {
    fn first() -> Vanishing {
        Vanishing { coefficients: vec![Gf64(1)], pivot: Gf64(1) }
    }

    /// `s_{i+1} = s_i² + s_i(2^i) s_i`.
    fn next(&self) -> Vanishing {
        let mut coefficients: Vec<Gf64> = self.coefficients.iter().map(|c| c.mul(self.pivot)).collect();
        coefficients.push(Gf64(0));
        for (c, old) in coefficients.iter_mut().skip(1).zip(&self.coefficients) {
            *c = c.add(old.mul(*old));
        }
        let point = Gf64(1u64.checked_shl(self.coefficients.len() as u32).unwrap_or(0));
        let mut next = Vanishing { coefficients, pivot: Gf64(0) };
        next.pivot = next.at(point);
        next
    }

    fn at(&self, x: Gf64) -> Gf64 {
        let powers = std::iter::successors(Some(x), |x| Some(x.mul(*x)));
        self.coefficients.iter().zip(powers).fold(Gf64(0), |sum, (c, x)| sum.add(c.mul(x)))
    }

    /// Divides `f`, of twice this degree, in place: the remainder below, the quotient times the pivot above.
    fn divide(&self, f: &mut [Gf64], degree: usize) {
        for top in (degree..f.len()).rev() {
            let Some(&q) = f.get(top) else { continue };
            // The leading coefficient is one; the others are at the lower powers of two.
            for (l, c) in self.coefficients.iter().enumerate() {
                if let Some(lower) = f.get_mut(top - degree + (1 << l)).filter(|_| 1 << l < degree) {
                    *lower = lower.add(q.mul(*c));
                }
            }
        }
        for q in f.iter_mut().skip(degree) {
            *q = q.mul(self.pivot);
        }
    }
}

struct Transform<'a> {
    cosets: &'a Cosets,
    starts: Lanes,
    out: &'a mut [Lanes],
}

impl Work for Transform<'_> {
    #[inline(always)]
    fn run(self, mul: impl Fn(Lanes, Lanes) -> Lanes) {
        let Transform { cosets, starts, out } = self;
        // ŝ_i at the starts.
        let mut twists = [[0; 4]; LEVELS];
        let mut twist = starts;
        for (t, &step) in twists.iter_mut().zip(&cosets.steps) {
            *t = twist;
            twist = mul(mul(twist, twist.map(|x| x ^ 1)), [step; 4]);
        }
        let inner = cosets.offsets.len();
        // Levels above a coset: all its points are on one side of each.
        let mut folded = Vec::new();
        let mut length = cosets.coefficients.len();
        if cosets.steps.len() > inner {
            folded = cosets.coefficients.iter().map(|&c| [c; 4]).collect();
            for &t in twists.get(inner..cosets.steps.len()).unwrap_or_default().iter().rev() {
                length /= 2;
                let (low, high) = folded.split_at_mut(length);
                for (a, b) in low.iter_mut().zip(high) {
                    *a = sum(*a, mul(*b, t));
                }
            }
        }
        let Some(out) = out.get_mut(..1 << inner) else { return };
        match folded.get(..length) {
            Some(folded) if !folded.is_empty() => out.copy_from_slice(folded),
            _ => out.iter_mut().zip(&cosets.coefficients).for_each(|(o, &c)| *o = [c; 4]),
        }
        for (i, (offsets, twist)) in cosets.offsets.iter().zip(twists).enumerate().rev() {
            for (part, offset) in out.chunks_exact_mut(2 << i).zip(offsets) {
                let t = twist.map(|t| t ^ offset);
                let (low, high) = part.split_at_mut(1 << i);
                for (a, b) in low.iter_mut().zip(high) {
                    *a = sum(*a, mul(*b, t));
                    *b = sum(*a, *b);
                }
            }
        }
    }
}

#[inline(always)]
fn sum(a: Lanes, b: Lanes) -> Lanes {
    [a[0] ^ b[0], a[1] ^ b[1], a[2] ^ b[2], a[3] ^ b[3]]
}

#[cfg(test)]
mod tests {
    use super::super::field::horner;
    use super::super::field::tests::words;
    use super::*;

    /// Against Horner's scheme point by point: every number of coefficients around the powers of two, more and fewer than a
    /// coset has points.
    #[test]
    fn values_are_the_polynomials() {
        let words = words();
        for r in (0..18).chain([60, 64, 65, 100, 512]) {
            let coefficients: Vec<u64> = (0..r).map(|i| words[(7 * i + r) % words.len()]).collect();
            let field: Vec<Gf64> = coefficients.iter().map(|&c| Gf64(c)).collect();
            for bits in [0, 1, 3, 8, 10] {
                let cosets = Cosets::new(&coefficients, bits);
                assert!(cosets.size() <= 1 << bits && cosets.size() < (2 * r).max(2));
                let starts: Lanes =
                    [0, 1, 2, 3].map(|i| words[(5 * i + r) % words.len()] << cosets.size().ilog2());
                let mut fast = vec![[1; 4]; cosets.size()];
                cosets.values(starts, &mut fast);
                let mut portable = vec![[2; 4]; cosets.size()];
                cosets.values_portable(starts, &mut portable);
                assert_eq!(fast, portable, "{r} coefficients, {bits} bits");
                for (p, values) in fast.iter().enumerate() {
                    for (start, value) in starts.iter().zip(values) {
                        let want = horner(&field, Gf64(start + p as u64)).map_or(0, |v| v.0);
                        assert_eq!(*value, want, "{r} coefficients, {bits} bits, point {p}");
                    }
                }
            }
        }
    }
}
