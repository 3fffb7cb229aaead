//! Between ρ-zCDP and (ε, δ).
//!
//! A ρ-zCDP mechanism is (ε, δ)-DP for `δ = min_{α>1} exp((α−1)(αρ−ε)) / (α−1) · (1−1/α)^α` (Canonne, Kamath &
//! Steinke 2020, Corollary 13). `ln δ` is convex in α, with derivative `(2α−1)ρ − ε + ln(1−1/α)`, so the best α
//! is found by bisection. The looser `ρ + 2√(ρ ln(1/δ))` would waste a tenth of the budget or more.

use crate::exact::Rational;

/// The conversion's name, for manifests.
pub const CONVERSION: &str =
    "zCDP to (ε, δ) by Canonne, Kamath & Steinke 2020, Corollary 13, minimised over α";

/// `ln δ` of ρ-zCDP at ε.
fn ln_delta(rho: f64, epsilon: f64) -> f64 {
    let slope = |a: f64| (2.0 * a - 1.0) * rho - epsilon + libm::log1p(-1.0 / a);
    // The slope goes from −∞ at 1 to +∞; work with x = α − 1 over many orders of magnitude.
    let (mut lo, mut hi) = (1e-300_f64.max(f64::MIN_POSITIVE), 1.0);
    while slope(1.0 + hi) < 0.0 && hi < 1e300 {
        hi *= 2.0;
    }
    for _ in 0..2000 {
        let mid = if hi > 4.0 * lo { (lo * hi).sqrt() } else { 0.5 * (lo + hi) };
        if mid <= lo || mid >= hi {
            break;
        }
        if slope(1.0 + mid) < 0.0 { lo = mid } else { hi = mid }
    }
    let x = hi;
    let a = 1.0 + x;
    // (α−1)(αρ−ε) − ln(α−1) + α ln(1−1/α), with ln(1−1/α) = ln(α−1) − ln α.
    x * (a * rho - epsilon) + x * libm::log(x) - a * libm::log(a)
}

/// The largest ρ (rounded down) that is (ε, δ)-DP. `None` when ε or δ is zero or δ is not below 1.
pub fn rho_for(epsilon: Rational, delta: Rational) -> Option<Rational> {
    let (e, target) = (epsilon.to_f64(), libm::log(delta.to_f64()));
    if !(e > 0.0 && e.is_finite() && target < 0.0 && target.is_finite()) {
        return None;
    }
    // ρ = ε is never within reach for δ < 1 small; pure zCDP at ρ = 0 always is.
    let (mut lo, mut hi) = (0.0, e.max(1e-300));
    while ln_delta(hi, e) <= target {
        hi *= 2.0;
    }
    for _ in 0..2000 {
        let mid = 0.5 * (lo + hi);
        if mid <= lo || mid >= hi {
            break;
        }
        if ln_delta(mid, e) <= target { lo = mid } else { hi = mid }
    }
    // A hair below, to stay clear of the arithmetic's own error, then down to 2^-40 relative.
    down(lo * (1.0 - 1e-12))
}

/// The least ε (rounded up) for which ρ-zCDP is (ε, δ)-DP.
pub fn epsilon_for(rho: Rational, delta: f64) -> f64 {
    let (rho, target) = (rho.to_f64(), libm::log(delta));
    let (mut lo, mut hi) = (0.0, 1.0);
    while ln_delta(rho, hi) > target {
        hi *= 2.0;
    }
    for _ in 0..2000 {
        let mid = 0.5 * (lo + hi);
        if mid <= lo || mid >= hi {
            break;
        }
        if ln_delta(rho, mid) > target { lo = mid } else { hi = mid }
    }
    hi * (1.0 + 1e-12)
}

/// The largest rational with a 40-bit numerator (or whole part) not above `x`.
fn down(x: f64) -> Option<Rational> {
    if !(x > 1e-20 && x < 1e20) {
        return None;
    }
    let e = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let shift = 40 - e;
    if shift >= 0 {
        Rational::new(libm::ldexp(x, shift).floor() as u128, 1u128.checked_shl(shift as u32)?)
    } else {
        Some(Rational::whole((libm::ldexp(x, shift).floor() as u128) << -shift))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 2020 US Census redistricting file.
    #[test]
    fn census_budget() {
        let rho = Rational::new(542 * 542, 339 * 339).unwrap();
        let epsilon = epsilon_for(rho, 1e-10);
        assert!((epsilon - 17.1436).abs() < 5e-5, "{epsilon}");
    }

    #[test]
    fn there_and_back_never_gains() {
        for (e, d) in [("1", "1e-6"), ("0.1", "1e-9"), ("10", "1e-10"), ("0.001", "1e-3"), ("3", "0.1")] {
            let (epsilon, delta): (Rational, Rational) = (e.parse().unwrap(), d.parse().unwrap());
            let rho = rho_for(epsilon, delta).unwrap();
            let back = epsilon_for(rho, delta.to_f64());
            assert!(
                back <= epsilon.to_f64() * (1.0 + 2e-12) && back > epsilon.to_f64() * (1.0 - 1e-9),
                "{e} {d} {back}"
            );
            // Better than the simple bound ε = ρ + 2√(ρ ln 1/δ), by a grid search of α no worse than ours.
            let r = rho.to_f64();
            let simple = r + 2.0 * (r * -delta.to_f64().ln()).sqrt();
            assert!(back < simple);
            let grid = (1..200_000)
                .map(|i| {
                    let a = 1.0 + (f64::from(i) / 10_000.0 - 8.0).exp();
                    (a - 1.0) * (a * r - back) - (a - 1.0).ln() + a * (1.0 - 1.0 / a).ln()
                })
                .fold(f64::INFINITY, f64::min);
            assert!((grid - delta.to_f64().ln()).abs() < 1e-6, "{grid}");
        }
        assert!(rho_for(Rational::ONE, Rational::ZERO).is_none());
        assert!(rho_for(Rational::ONE, Rational::ONE).is_none());
    }
}
