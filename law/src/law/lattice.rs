//! Finding the spacing of the lattice that the error lives on.

use crate::exact::gcd;

/// Two coefficients whose ratio is rational to this relative precision are taken as commensurable. Should
/// that be a coincidence, the law changes by the same relative 1e-13 and no more.
const TOLERANCE: f64 = 1e-13;
/// Beyond this many steps in the largest coefficient a lattice is as good as none.
const MAX_MULTIPLE: u64 = 1 << 40;

/// The spacing `h` and the multiples `a_k/h`, if all (positive) coefficients are multiples of one number.
pub(super) fn spacing(coefficients: &[f64]) -> Option<(f64, Vec<u64>)> {
    let unit = coefficients.iter().copied().reduce(f64::max)?;
    // Ratios to the largest coefficient as p/q; the spacing is unit / lcm of the q.
    let mut lcm = 1u64;
    for a in coefficients {
        let q = denominator(a / unit)?;
        // No common divisor is larger than either.
        let common = gcd(lcm.into(), q.into()) as u64;
        lcm = lcm.checked_mul(q / common).filter(|n| *n <= MAX_MULTIPLE)?;
    }
    let mut h = unit / lcm as f64;
    let multiples: Vec<u64> = coefficients.iter().map(|a| (a / h).round() as u64).collect();
    // Prefer the smallest coefficient itself as the unit: 3 × 0.1 is then 0.1's lattice to the last digit.
    if let Some(at) = multiples.iter().position(|m| *m == 1) {
        h = coefficients[at];
    }
    // A ratio too small for a double is 0.
    multiples.iter().all(|m| *m > 0).then_some((h, multiples))
}

/// The smallest `q` on the continued fraction of `x <= 1` with `x ≈ p/q` to the tolerance; at most 2^20: beyond
/// that anything is rational to the tolerance.
fn denominator(x: f64) -> Option<u64> {
    let (mut q0, mut q1) = (0u64, 1u64);
    let (mut p0, mut p1) = (1u64, 0u64);
    let mut rest = x;
    for _ in 0..40 {
        if (p1 as f64 / q1 as f64 - x).abs() <= TOLERANCE * x {
            return Some(q1);
        }
        let next = 1.0 / rest;
        let digit = next.floor();
        rest = next - digit;
        let digit = digit as u64;
        (p0, p1) = (p1, digit.checked_mul(p1)?.checked_add(p0)?);
        (q0, q1) = (q1, digit.checked_mul(q1)?.checked_add(q0)?);
        if q1 > 1 << 20 {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commensurable_coefficients_share_a_spacing() {
        assert_eq!(spacing(&[1.0, 3.0]), Some((1.0, vec![1, 3])));
        let (h, m) = spacing(&[1.0, 1.0 / 3.0]).unwrap();
        assert_eq!((h, m), (1.0 / 3.0, vec![3, 1]));
        let (h, m) = spacing(&[0.1, 0.3, 0.7]).unwrap();
        assert_eq!((h, m), (0.1, vec![1, 3, 7]));
        let (h, m) = spacing(&[1.0 / 6.0, 1.0 / 4.0]).unwrap();
        assert!((h - 1.0 / 12.0).abs() < 1e-15);
        assert_eq!(m, vec![2, 3]);
        assert_eq!(spacing(&[2.5]), Some((2.5, vec![1])));
        // One tiny among huge: still a lattice.
        assert_eq!(spacing(&[1e6, 1.0]), Some((1.0, vec![1_000_000, 1])));
        // What shares a factor with another is in lowest terms.
        assert_eq!(spacing(&[6.0, 4.0, 2.0]), Some((2.0, vec![3, 2, 1])));
        let (h, m) = spacing(&[10.0, 6.0, 4.0]).unwrap();
        assert!((h - 2.0).abs() < 1e-14 && m == [5, 3, 2], "{h}");
    }

    #[test]
    fn incommensurable_coefficients_do_not() {
        assert_eq!(spacing(&[1.0, std::f64::consts::SQRT_2]), None);
        assert_eq!(spacing(&[std::f64::consts::PI, std::f64::consts::E]), None);
        // The tolerance is relative to the smaller one, too; and a ratio that no double holds is none.
        assert_eq!(spacing(&[1.0, 1e-3 * (1.0 + 1e-12)]), None);
        assert!(spacing(&[1.0, 1e-3 * (1.0 + 1e-14)]).is_some());
        assert_eq!(spacing(&[1.0, 1e-12]), None);
        assert_eq!(spacing(&[1e200, 1e-200]), None);
    }
}
