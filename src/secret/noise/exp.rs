//! `exp(−q)` between two bounds: a quick enclosure in fixed point and an exact one of any precision.
//!
//! The sampler never needs the exponential itself, only whether a uniform number lies below it. The quick
//! enclosure settles all but about one comparison in 2³³; the exact one settles the rest.

use dashu_int::UBig;
use dashu_int::ops::BitTest;
use std::sync::LazyLock;

/// Binary digits after the point in the quick arithmetic.
pub(super) const FRACTION: u32 = 62;
/// One, in quick arithmetic.
pub(super) const ONE: u64 = 1 << FRACTION;
/// How far the quick value may be from the true one, in units of `2^−62`; the proof is at [`quick`].
pub(super) const SLACK: u64 = 16;

/// `exp(−i·step)` for `i < 64`, each less than 2 units below the truth.
fn powers(step_denominator: u64) -> [u64; 64] {
    let mut i = 0u64;
    [(); 64].map(|()| {
        let (low, _) = exact(&UBig::from(i), &UBig::from(step_denominator), FRACTION as usize);
        i += 1;
        u64::try_from(&low).unwrap_or(ONE)
    })
}

static COARSE: LazyLock<[u64; 64]> = LazyLock::new(|| powers(1));
static FINE: LazyLock<[u64; 64]> = LazyLock::new(|| powers(64));

fn times(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> FRACTION) as u64
}

/// `2^62·exp(−q)` for `q = fixed/2^62`, off by less than [`SLACK`]; nothing when `q ≥ 64`.
///
/// Write `q = i + j/64 + r` with whole `i, j < 64` and `0 ≤ r < 1/64`. The Taylor polynomial of degree 9 is
/// within `r^10/10! < 2^−81` of `exp(−r)`. Horner's step `1 − (r·y)/k` rounds twice, by less than a unit each,
/// and shrinks the error it inherits by `r/k ≤ 1/64`, so `exp(−r)` is off by less than 3 units. The two
/// table entries are off by less than 2 each, the two products add less than 1 each (no factor exceeds one):
/// less than 9 in all. The callers' `q` is off by less than a unit and a relative `2^−62`, which moves
/// `exp(−q)` by less than 1 and `q·exp(−q) ≤ 0.37` units: less than 11 < 16.
pub(super) fn quick(fixed: u128) -> Option<u64> {
    let i = usize::try_from(fixed >> FRACTION).ok().filter(|&i| i < 64)?;
    let rest = (fixed as u64) & (ONE - 1);
    let j = (rest >> (FRACTION - 6)) as usize & 63;
    let r = rest & ((1 << (FRACTION - 6)) - 1);
    let mut y = ONE;
    for k in (1..=9).rev() {
        y = ONE - times(r, y) / k;
    }
    Some(times(times(COARSE[i], FINE[j]), y))
}

/// Bounds of `2^62·exp(−q)`, `slack` being how much the quick value is trusted ([`SLACK`], or more to
/// send more work to the exact path).
pub(super) fn enclose(fixed: u128, slack: u64) -> (u64, u64) {
    match quick(fixed) {
        Some(e) => (e.saturating_sub(slack), e.saturating_add(slack).min(ONE)),
        // exp(−64) < 2^−62.
        None => (0, slack.min(ONE)),
    }
}

/// Bounds of `2^bits·exp(−num/den)`, `den > 0`, that are proper whatever the arguments and only a few units apart.
///
/// Interval arithmetic throughout: every lower bound is rounded down and every upper bound up, so the
/// number of terms and of guard bits matters for the width, never for the truth. With `r = q/2^k ≤ 1/256`, the
/// nested form `y_n = 1 − r·y_{n+1}/n` starts from the certain `0 ≤ y ≤ 1`; then k squarings.
pub(super) fn exact(num: &UBig, den: &UBig, bits: usize) -> (UBig, UBig) {
    if *num >= den * bits {
        // exp(−bits) < 2^−bits.
        return (UBig::ZERO, UBig::ONE);
    }
    let halvings = (num / den).bit_len() + 8;
    let work = bits + 2 * halvings + 16;
    let one = UBig::ONE << work;
    let r_low = (num << work) / (den << halvings);
    let r_high = &r_low + UBig::ONE;
    let (mut low, mut high) = (UBig::ZERO, one.clone());
    // Each term is at least 256 times smaller than the one before.
    for n in (1..=work / 8 + 2).rev() {
        let down = ((&r_low * &low) >> work) / n;
        let up = ((&r_high * &high) >> work) / n + UBig::from(2u8);
        low = if up < one { &one - up } else { UBig::ZERO };
        high = &one - down;
    }
    for _ in 0..halvings {
        low = (&low * &low) >> work;
        high = ((&high * &high) >> work) + UBig::ONE;
    }
    let spare = work - bits;
    (low >> spare, (high >> spare) + UBig::ONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dashu_float::{FBig, round::mode};

    /// `2^bits·exp(−num/den)` by another library, rounded down.
    fn oracle(num: u128, den: u128, bits: usize) -> UBig {
        let precision = bits + 200;
        let as_float = |n: u128| FBig::<mode::Zero, 2>::from(n).with_precision(precision).value();
        let value = (-(as_float(num) / as_float(den))).exp();
        let scaled = value * as_float(2).powi((bits as i32).into());
        scaled.to_int().value().try_into().unwrap()
    }

    #[test]
    fn the_quick_value_is_within_half_its_slack() {
        let mut worst = 0;
        let mut check = |fixed: u128| {
            let truth = u64::try_from(&oracle(fixed, 1 << FRACTION, FRACTION as usize)).unwrap();
            let got = quick(fixed).unwrap();
            worst = worst.max(truth.abs_diff(got));
            let (low, high) = enclose(fixed, SLACK);
            assert!(low <= truth && (truth < high || high == ONE), "{fixed}");
        };
        // Corners: around zero, table steps, and the end of the range.
        for edge in [0u128, 1 << 55, 1 << 56, 1 << 61, 1 << 62, 5 << 60, 40 << 62, (64 << 62) - 2] {
            for d in -2i128..=2 {
                let q = edge.saturating_add_signed(d);
                if q < 64 << 62 {
                    check(q);
                }
            }
        }
        let mut state = 1u128;
        for i in 0..3000 {
            state = state.wrapping_mul(0xda94_2042_e4dd_58b5_2360_ed05_1fc6_5da5).wrapping_add(1);
            check((state >> 60) >> (i % 64));
        }
        assert!(worst <= SLACK / 2, "{worst}");
        assert!(worst >= 1);
        assert_eq!(enclose(64 << 62, SLACK), (0, SLACK));
        assert_eq!(enclose(u128::MAX, 5), (0, 5));
    }

    #[test]
    fn exact_bounds_hold_and_are_close() {
        for (num, den) in [
            (0, 1),
            (1, 1),
            (1, u128::MAX),
            (u128::MAX, u128::MAX - 1),
            (63, 1),
            (399, 1),
            (123_456_789, 1_000_000),
            (7, 3),
        ] {
            for bits in [1usize, 8, 62, 128, 400] {
                let (low, high) = exact(&UBig::from(num), &UBig::from(den), bits);
                let truth = oracle(num, den, bits);
                assert!(low <= truth && high >= truth, "{num}/{den} at {bits}");
                assert!(&high - &low <= UBig::from(4u8), "{num}/{den} at {bits}: {low} {high}");
            }
        }
        // So small that nothing but the bound is said.
        assert_eq!(exact(&UBig::from(u128::MAX), &UBig::ONE, 64), (UBig::ZERO, UBig::ONE));
    }

    /// Where the exponential is just above or just below a whole number, a bound that lost a single unit on its way shows.
    #[test]
    fn bounds_are_proper_beside_whole_numbers() {
        let den = UBig::ONE << 100;
        for bits in [1usize, 5, 9] {
            for whole in 1u32..1 << bits {
                let ratio = FBig::<mode::Zero, 2>::from(1u32 << bits).with_precision(300).value();
                let ln = (ratio / FBig::from(whole).with_precision(300).value()).ln();
                let scaled = ln * FBig::from(2u8).with_precision(300).value().powi(100.into());
                let below: UBig = scaled.to_int().value().try_into().unwrap();
                let whole = UBig::from(whole);
                let (low, high) = exact(&below, &den, bits);
                assert!(low <= whole && whole < high, "just above {whole} at {bits}: {low} {high}");
                let (low, high) = exact(&(below + UBig::ONE), &den, bits);
                assert!(low < whole && whole <= high, "just below {whole} at {bits}: {low} {high}");
            }
        }
    }
}
