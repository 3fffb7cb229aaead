//! Finite fields of characteristic two: addition is XOR, multiplication is carry-less and reduced.
//!
//! The sign family lives in GF(2^64) = `GF(2)[z]/(z^64 + z^4 + z^3 + z + 1)`. Bit i of a word is the coefficient of
//! z^i. The code that proves the family's independence by enumeration runs over GF(2^3) and GF(2^4): the same
//! Horner scheme, a field small enough to try every polynomial.

/// A field whose elements are words of bits added by XOR.
pub(crate) trait Field: Copy + PartialEq {
    /// The sum, which is also the difference.
    fn add(self, other: Self) -> Self;
    /// The product.
    fn mul(self, other: Self) -> Self;
}

/// The value at `x` of the polynomial with these coefficients, the constant one first. `None` without coefficients.
pub(crate) fn horner<F: Field>(coefficients: &[F], x: F) -> Option<F> {
    let (&last, rest) = coefficients.split_last()?;
    Some(rest.iter().rev().fold(last, |sum, &c| sum.mul(x).add(c)))
}

/// The polynomial z^64 + z^4 + z^3 + z + 1 without its leading term.
#[cfg(any(test, target_arch = "x86_64"))]
pub(crate) const MODULUS: u64 = 0b1_1011;

/// An element of GF(2^64).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Gf64(pub u64);

impl Gf64 {
    /// The inverse, and zero of zero: the power 2^64 − 2.
    pub(crate) fn inverse(self) -> Gf64 {
        let (mut inverse, mut square) = (Gf64(1), self);
        for _ in 1..64 {
            square = square.mul(square);
            inverse = inverse.mul(square);
        }
        inverse
    }
}

impl Field for Gf64 {
    fn add(self, other: Gf64) -> Gf64 {
        Gf64(self.0 ^ other.0)
    }

    fn mul(self, other: Gf64) -> Gf64 {
        let (high, low) = carryless(self.0, other.0);
        Gf64(reduce(high, low))
    }
}

/// The carry-less product of two words, high half first, with ordinary multiplications.
///
/// Each word is split into four with three zero bits after every kept one. A product of two such words adds at most
/// sixteen ones in a place; only the place at the very top of the low half can reach sixteen, and its carry falls
/// off the word. So the lowest bit of each place is the XOR that is wanted. The high half is the low half of the
/// product of the reversed words, reversed.
pub(crate) fn carryless(a: u64, b: u64) -> (u64, u64) {
    let high = low_half(a.reverse_bits(), b.reverse_bits()).reverse_bits() >> 1;
    (high, low_half(a, b))
}

/// The low half of a carry-less product.
fn low_half(a: u64, b: u64) -> u64 {
    const KEEP: [u64; 4] =
        [0x1111_1111_1111_1111, 0x2222_2222_2222_2222, 0x4444_4444_4444_4444, 0x8888_8888_8888_8888];
    let [a0, a1, a2, a3] = KEEP.map(|k| a & k);
    let [b0, b1, b2, b3] = KEEP.map(|k| b & k);
    let times = u64::wrapping_mul;
    let sums = [
        times(a0, b0) ^ times(a1, b3) ^ times(a2, b2) ^ times(a3, b1),
        times(a0, b1) ^ times(a1, b0) ^ times(a2, b3) ^ times(a3, b2),
        times(a0, b2) ^ times(a1, b1) ^ times(a2, b0) ^ times(a3, b3),
        times(a0, b3) ^ times(a1, b2) ^ times(a2, b1) ^ times(a3, b0),
    ];
    sums.iter().zip(KEEP).fold(0, |sum, (s, k)| sum | (s & k))
}

/// A polynomial of degree below 128 modulo z^64 + z^4 + z^3 + z + 1.
pub(crate) fn reduce(high: u64, low: u64) -> u64 {
    // z^64 = z^4 + z^3 + z + 1; the bits this pushes over the top once more are at most four.
    let over = (high >> 63) ^ (high >> 61) ^ (high >> 60);
    let fold = |h: u64| h ^ (h << 1) ^ (h << 3) ^ (h << 4);
    low ^ fold(high) ^ fold(over)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Bit by bit, as on paper.
    pub(crate) fn by_hand(a: u64, b: u64) -> u64 {
        let mut product = 0u128;
        for i in 0..64 {
            if b >> i & 1 == 1 {
                product ^= u128::from(a) << i;
            }
        }
        let modulus = (1u128 << 64) | u128::from(MODULUS);
        for i in (64..128).rev() {
            if product >> i & 1 == 1 {
                product ^= modulus << (i - 64);
            }
        }
        product as u64
    }

    /// Words of all kinds: dense, sparse, full.
    pub(crate) fn words() -> Vec<u64> {
        let mut words =
            vec![0, 1, 2, MODULUS, u64::MAX, 1 << 63, 0x8888_8888_8888_8888, 0x1111_1111_1111_1111];
        let mut state = 7u64;
        for i in 0..60 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            words.push(state ^ (state >> 29));
            words.push(1 << i);
        }
        words
    }

    #[test]
    fn products_are_those_by_hand() {
        for &a in &words() {
            for &b in &words() {
                assert_eq!(Gf64(a).mul(Gf64(b)), Gf64(by_hand(a, b)), "{a:x} {b:x}");
            }
        }
    }

    /// z^64 + z^4 + z^3 + z + 1 is irreducible: x^(2^64) = x for z, and gcd conditions by the order of z − every
    /// field automorphism x → x² has order 64 and no proper subfield (of degree 32) holds z.
    #[test]
    fn the_modulus_makes_a_field() {
        let z = Gf64(2);
        let mut power = z;
        for i in 1..=64 {
            power = power.mul(power);
            assert_eq!(power == z, i == 64, "z^(2^{i})");
        }
        // Rabin: also z^(2^32) − z must be prime to the modulus, i.e. invertible: its (2^64 − 2)th power is the inverse.
        let mut half = z;
        for _ in 0..32 {
            half = half.mul(half);
        }
        let difference = half.add(z);
        assert_eq!(difference.inverse().mul(difference), Gf64(1));
    }
}
