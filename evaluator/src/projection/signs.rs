//! The public signs: an r-wise independent family with a short seed.
//!
//! **Guarantee.** For r uniform coefficients, the words at any r distinct points are independent and uniform over 64 bits, so
//! any r signs are independent fair coins: whatever involves at most r signs at once (variances need four, p-th
//! moments of a single count's error 2p) is exactly what it would be for truly random signs.
//! **Proof.** Distinct points make the Vandermonde matrix invertible, so the coefficients and the r values determine each
//! other; bits of one value are bits of a uniform word. **Source:** Wegman & Carter 1981; Carter & Wegman 1979.
//!
//! The coefficients are expanded from the release's 32-byte seed by BLAKE3: the family is truly r-wise independent up to
//! what tells BLAKE3's output from uniform bits. The seed is public and says nothing about the data.

use super::clmul;
use super::coset::Cosets;

/// The domain of the coefficients' key in BLAKE3's key derivation; part of the format.
const CONTEXT: &str = "margins 2026 projection sign coefficients";
/// How many signs come from one evaluation.
pub const SIGNS: usize = 64;

/// A public seed: 32 bytes.
pub type Seed = [u8; 32];

/// The family of a seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignFamily {
    coefficients: Vec<u64>,
}

impl SignFamily {
    /// The family with this independence; `index` tells several families of one seed apart.
    pub fn new(seed: &Seed, index: u32, independence: u32) -> SignFamily {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(seed).update(&index.to_le_bytes());
        let mut bytes = vec![0; independence as usize * 8];
        hasher.finalize_xof().fill(&mut bytes);
        let (words, _) = bytes.as_chunks::<8>();
        SignFamily { coefficients: words.iter().map(|w| u64::from_le_bytes(*w)).collect() }
    }

    /// 64 signs for each point; a bit that is set is −1.
    pub fn words(&self, points: &[u64], out: &mut [u64]) {
        clmul::evaluate(&self.coefficients, points, out);
    }

    /// The same signs, ready for all blocks of a cell at once: `bits` as in [`point`].
    pub fn cosets(&self, bits: u32) -> Cosets {
        Cosets::new(&self.coefficients, bits)
    }

    /// The same as [`SignFamily::words`] without special instructions.
    pub fn words_portable(&self, points: &[u64], out: &mut [u64]) {
        clmul::evaluate_portable(&self.coefficients, points, out);
    }
}

/// The least even r ≥ 2 log2(kT/2β) that is at least 4: as many independent signs as k queries on T rows need for
/// all to hold but for a failure rate β, and never fewer than variances need.
pub(crate) fn independence(queries: u64, rows: u64, failure: f64) -> u32 {
    let needed = 2.0 * libm::log2(queries as f64 * rows as f64 / (2.0 * failure));
    let r = libm::ceil(needed.clamp(4.0, 512.0)) as u32;
    r + r % 2
}

/// The bits a row's block takes in a point: 64 rows share a block.
pub fn block_bits(rows: u64) -> u32 {
    rows.div_ceil(SIGNS as u64).max(1).next_power_of_two().trailing_zeros()
}

/// The point of a block and a cell: the cell above, the block in the lowest `bits` bits.
#[inline]
pub fn point(cell: u64, block: u64, bits: u32) -> u64 {
    cell.checked_shl(bits).unwrap_or(0) | block
}

#[cfg(test)]
mod tests {
    use super::super::field::{Field, horner};
    use super::*;

    /// GF(2^3) = GF(2)[z]/(z³+z+1) and GF(2^4) = GF(2)[z]/(z⁴+z+1), the latter's tables by shifting.
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Small<const BITS: u32>(u8);

    impl<const BITS: u32> Field for Small<BITS> {
        fn add(self, other: Self) -> Self {
            Small(self.0 ^ other.0)
        }

        fn mul(self, other: Self) -> Self {
            let mut product = 0u8;
            let mut a = self.0;
            for i in 0..BITS {
                if other.0 >> i & 1 == 1 {
                    product ^= a;
                }
                a <<= 1;
                if a >> BITS & 1 == 1 {
                    a ^= 1 << BITS | 0b11;
                }
            }
            Small(product)
        }
    }

    /// Every polynomial with r coefficients, at these points: how often each combination of values comes up.
    fn tally<const BITS: u32>(r: u32, points: &[u8]) -> Vec<usize> {
        let mut seen = vec![0; 1 << (BITS as usize * points.len())];
        for all in 0..1u32 << (BITS * r) {
            let coefficients: Vec<Small<BITS>> =
                (0..r).map(|i| Small((all >> (i * BITS)) as u8 & ((1 << BITS) - 1))).collect();
            let at = points.iter().fold(0usize, |at, &x| {
                at << BITS | usize::from(horner(&coefficients, Small::<BITS>(x)).unwrap().0)
            });
            seen[at] += 1;
        }
        seen
    }

    /// Every choice of so many of the first n points.
    fn choices(n: u8, of: usize) -> Vec<Vec<u8>> {
        (0..1u32 << n)
            .filter(|set| set.count_ones() as usize == of)
            .map(|set| (0..n).filter(|i| set >> i & 1 == 1).collect())
            .collect()
    }

    /// r values at distinct points, whichever they are, take every combination equally often; r + 1 values cannot.
    #[test]
    fn independence_is_exact_over_small_fields() {
        for r in 1..=4 {
            for points in choices(8, r) {
                let seen = tally::<3>(r as u32, &points);
                assert!(seen.iter().all(|&n| n == 1), "r = {r}, {points:?}");
                let seen = tally::<3>(r as u32, &points[1..]);
                assert!(seen.iter().all(|&n| n == 8), "r = {r}, fewer points");
            }
        }
        for points in choices(8, 4) {
            let seen = tally::<3>(3, &points);
            assert!(seen.contains(&0), "four values of a polynomial of degree two are not independent");
        }
        for r in 1..=3 {
            for points in choices(16, r) {
                assert!(tally::<4>(r as u32, &points).iter().all(|&n| n == 1), "r = {r}, {points:?}");
            }
        }
        for points in [[0, 9, 15, 4], [1, 2, 3, 12]] {
            assert!(tally::<4>(4, &points).iter().all(|&n| n == 1));
            assert!(tally::<4>(2, &points[..3]).contains(&0));
        }
    }

    /// Moments of products of one to four signs over many seeds: zero, each within five standard deviations, for
    /// signs of one word, of neighbouring points and of far ones. A family with r = 2 fails for four signs.
    #[test]
    fn moments_up_to_four() {
        let places: [(u64, u32); 4] = [(3, 0), (2, 0), (1, 0), (0, 0)]; // XOR of the four points is zero
        let more: [(u64, u32); 4] = [(5, 1), (5, 63), (1 << 40, 7), (u64::MAX, 63)];
        let moment = |r: u32, places: &[(u64, u32)]| -> f64 {
            let n = 4000;
            let sum: i64 = (0..n)
                .map(|i: u32| {
                    let mut seed = [0; 32];
                    seed[..4].copy_from_slice(&i.to_le_bytes());
                    let family = SignFamily::new(&seed, 0, r);
                    let points: Vec<u64> = places.iter().map(|p| p.0).collect();
                    let mut words = vec![0; points.len()];
                    family.words(&points, &mut words);
                    let odd = words.iter().zip(places).map(|(w, p)| w >> p.1 & 1).sum::<u64>() % 2;
                    1 - 2 * odd as i64
                })
                .sum();
            sum as f64 / f64::from(n).sqrt()
        };
        for places in [&places, &more] {
            for k in 1..=4 {
                let z = moment(4, &places[..k]);
                assert!(z.abs() < 5.0, "{k} signs: {z}");
            }
        }
        // a + bx at four points that sum to zero: the values sum to zero, so do their lowest bits.
        assert!(moment(2, &places) > 60.0);
    }

    #[test]
    fn how_many_independent_signs() {
        // 2·log2(1000·16384/0.02) = 59.2
        assert_eq!(independence(1000, 16_384, 0.01), 60);
        assert_eq!(independence(1, 64, 0.5), 12);
        assert_eq!(independence(1, 1, 0.5), 4);
        assert_eq!((block_bits(1), block_bits(64), block_bits(65), block_bits(16_384)), (0, 0, 1, 8));
        assert_eq!((point(5, 3, 8), point(u64::MAX, 3, 8)), (0x503, !0xff | 3));
    }

    /// Published vectors: other implementations check themselves against these.
    #[test]
    fn test_vectors() {
        let seed: Seed = std::array::from_fn(|i| i as u8);
        let family = SignFamily::new(&seed, 0, 4);
        let points = [0, 1, 2, 0xffff_ffff_ffff_ffff, 0x0123_4567_89ab_cdef];
        let mut words = [0; 5];
        family.words(&points, &mut words);
        let mut twin = [0; 5];
        family.words_portable(&points, &mut twin);
        assert_eq!(words, twin);
        let shown: Vec<String> =
            family.coefficients.iter().chain(&words).map(|w| format!("{w:016x}")).collect();
        assert_eq!(shown, VECTORS);
    }

    /// Seed 00 01 … 1f, index 0, r = 4: the four coefficients, then the words at the five points.
    const VECTORS: [&str; 9] = [
        "f4d229de548b8877",
        "e46857f54e70e641",
        "c51d08567270b647",
        "a8fa95ed50701128",
        "f4d229de548b8877",
        "7d5de39038fbc959",
        "6fa20807822814e8",
        "f892a34db5b12ed3",
        "9acf0974f4df2247",
    ];
}
