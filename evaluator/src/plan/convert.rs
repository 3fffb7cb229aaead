//! Between ρ-zCDP and (ε, δ).
//!
//! A ρ-zCDP mechanism is (ε, δ)-DP for `δ = min_{α>1} exp((α−1)(αρ−ε)) / (α−1) · (1−1/α)^α` (Canonne, Kamath &
//! Steinke 2020, Corollary 13). `ln δ` is convex in α, with derivative `(2α−1)ρ − ε + ln(1−1/α)`, so the best α
//! is found by bisection. The looser `ρ + 2√(ρ ln(1/δ))` would waste a tenth of the budget or more.
//!
//! New releases use [`largest_rho`] and [`least_epsilon`], which are on the safe side for certain. The bound holds at every α > 1, so a
//! poor α costs precision and never privacy; at the α that is used, `ln δ` is evaluated in a form in which no large terms
//! cancel, and every rounding that doubles and `libm` may have done is added on top ([`ln_delta_above`]).
//!
//! [`rho_for`] and [`epsilon_for`] are what releases of format version 1 were made with. They trust doubles to twelve digits,
//! which is too much where ε is very small; they stay for comparing what such files state.

use crate::exact::Rational;

/// The conversion's name, for manifests.
pub(crate) const CONVERSION: &str =
    "zCDP to (ε, δ) by Canonne, Kamath & Steinke 2020, Corollary 13, minimised over α";

/// Where `is_low` ends, as closely as doubles or so many steps go; `middle` says where to look next, `None` where it is close enough.
fn bisect(
    (mut lo, mut hi): (f64, f64),
    steps: u32,
    middle: impl Fn(f64, f64) -> Option<f64>,
    is_low: impl Fn(f64) -> bool,
) -> (f64, f64) {
    for _ in 0..steps {
        let Some(mid) = middle(lo, hi).filter(|mid| *mid > lo && *mid < hi) else { break };
        if is_low(mid) { lo = mid } else { hi = mid }
    }
    (lo, hi)
}

fn evenly(lo: f64, hi: f64) -> Option<f64> {
    Some(0.5 * (lo + hi))
}

/// By orders of magnitude first.
fn by_magnitude(lo: f64, hi: f64) -> Option<f64> {
    if lo == 0.0 {
        Some(hi / 1024.0)
    } else if hi > 4.0 * lo {
        Some((lo * hi).sqrt())
    } else {
        evenly(lo, hi)
    }
}

/// The same, up to one part in 10¹⁴.
fn to_a_hair(lo: f64, hi: f64) -> Option<f64> {
    if hi < 1e-40 || hi <= lo * (1.0 + 1e-14) { None } else { by_magnitude(lo, hi) }
}

/// `ln δ` of ρ-zCDP at ε.
fn ln_delta(rho: f64, epsilon: f64) -> f64 {
    let slope = |a: f64| (2.0 * a - 1.0) * rho - epsilon + libm::log1p(-1.0 / a);
    // The slope goes from −∞ at 1 to +∞; work with x = α − 1 over many orders of magnitude.
    let (lo, mut hi) = (1e-300_f64.max(f64::MIN_POSITIVE), 1.0);
    while slope(1.0 + hi) < 0.0 && hi < 1e300 {
        hi *= 2.0;
    }
    let (_, x) = bisect((lo, hi), 2000, by_magnitude, |x| slope(1.0 + x) < 0.0);
    let a = 1.0 + x;
    // (α−1)(αρ−ε) − ln(α−1) + α ln(1−1/α), with ln(1−1/α) = ln(α−1) − ln α.
    x * (a * rho - epsilon) + x * libm::log(x) - a * libm::log(a)
}

/// One part in 2^48: thirty-two roundings of a double.
const MARGIN: f64 = 1.0 / (1u64 << 48) as f64;

/// The best α for ρ at ε, less one.
fn best(rho: f64, epsilon: f64) -> f64 {
    let slope = |x: f64| (1.0 + 2.0 * x) * rho - epsilon - libm::log1p(1.0 / x);
    let mut hi = 1.0;
    while slope(hi) < 0.0 && hi < 1e150 {
        hi *= 2.0;
    }
    bisect((1e-18, hi), 300, by_magnitude, |x| slope(x) < 0.0).1
}

/// What `ln δ` has beside divergence and ε.
fn rest(x: f64) -> [f64; 2] {
    if x < 1.0 {
        [x * libm::log(x), (1.0 + x) * libm::log1p(x)]
    } else {
        [-libm::log(x), (1.0 + x) * libm::log1p(1.0 / x)]
    }
}

/// The order, less one, that `rho`, the [`largest_rho`] at this ε and δ, is found at; and the largest Rényi divergence of that order that is (ε, δ)-DP, rounded down for certain: of order
/// α = 1 + x it is `δ ≤ exp(x(R − ε))/x · (1 − 1/α)^α` (Canonne, Kamath & Steinke 2020, Proposition 12).
pub fn order(rho: Rational, epsilon: Rational, delta: Rational) -> Option<(f64, f64)> {
    let (e, target) = (epsilon.to_f64() * (1.0 - MARGIN), ln_below(delta)?);
    let x = best(rho.to_f64() * (1.0 + MARGIN), e);
    let [first, second] = rest(x);
    let terms = [target, x * e, -first, second];
    let size: f64 = terms.iter().map(|t| t.abs()).sum();
    let most = (terms.iter().sum::<f64>() - MARGIN * size) / x * (1.0 - MARGIN);
    (most > 0.0 && most.is_finite()).then_some((x, most))
}

/// No less than `ln δ` of ρ-zCDP at ε, for certain, and hardly more.
///
/// With x = α − 1 taken as exact, `ln δ ≤ x(1+x)ρ − xε − ln x − (1+x) ln(1+1/x)`; where x is below one the last two terms
/// are better written `x ln x − (1+x) ln(1+x)`. Each term is a product of at most four factors, each with a relative error of
/// less than four roundings (`libm` promises one for its logarithms, ratios of `u128` three); adding up costs three
/// roundings of the largest partial sum. Thirty-two roundings of the sum of all absolute values cover it twice.
fn ln_delta_above(rho: f64, epsilon: f64) -> f64 {
    let x = best(rho, epsilon);
    let [first, second] = rest(x);
    let terms = [x * (1.0 + x) * rho, -(x * epsilon), first, -second];
    let size: f64 = terms.iter().map(|t| t.abs()).sum();
    let above = terms.iter().sum::<f64>() + MARGIN * size;
    // A product that is too large for a double proves nothing.
    if above.is_nan() { f64::INFINITY } else { above }
}

/// No more than `ln δ`, for certain; below zero.
fn ln_below(delta: Rational) -> Option<f64> {
    // Close to one, ln δ is small where ln's argument is not: then the argument's own rounding is what matters.
    let ln = libm::log(delta.to_f64());
    let below = ln - MARGIN * ln.abs() - MARGIN;
    (!delta.is_zero() && delta < Rational::ONE && below.is_finite()).then_some(below)
}

/// The largest ρ that is (ε, δ)-DP, rounded down for certain, to about one part in 10¹². `None` when ε or δ is zero, δ
/// is not below 1, or the numbers are beyond what can be computed with.
pub fn largest_rho(epsilon: Rational, delta: Rational) -> Option<Rational> {
    let (e, target) = (epsilon.to_f64() * (1.0 - MARGIN), ln_below(delta)?);
    if !(e > 1e-100 && e < 1e30) {
        return None;
    }
    let within = |rho: f64| ln_delta_above(rho * (1.0 + MARGIN), e) <= target;
    let (mut lo, mut hi) = (0.0, e);
    while within(hi) {
        (lo, hi) = (hi, hi * 2.0);
    }
    // The answer may be the square of ε.
    down(bisect((lo, hi), 2000, to_a_hair, within).0)
}

/// The least ε for which ρ-zCDP is (ε, δ)-DP, rounded up for certain. `None` for a δ of zero or not below 1, or beyond what can be
/// computed with.
pub fn least_epsilon(rho: Rational, delta: Rational) -> Option<f64> {
    let (rho, target) = (rho.to_f64() * (1.0 + MARGIN), ln_below(delta)?);
    if !(rho.is_finite() && rho < 1e30) {
        return None;
    }
    let within = |epsilon: f64| ln_delta_above(rho, epsilon) <= target;
    let (mut lo, mut hi) = (0.0, 1.0);
    while !within(hi) {
        (lo, hi) = (hi, hi * 2.0);
        if hi > 1e40 {
            return None;
        }
    }
    Some(bisect((lo, hi), 2000, to_a_hair, |epsilon| !within(epsilon)).1)
}

/// As in files of format version 1: the largest ρ that is (ε, δ)-DP, to twelve digits. `None` when ε or δ is zero or δ is not
/// below 1.
pub fn rho_for(epsilon: Rational, delta: Rational) -> Option<Rational> {
    let (e, target) = (epsilon.to_f64(), libm::log(delta.to_f64()));
    if !(e > 0.0 && e.is_finite() && target < 0.0 && target.is_finite()) {
        return None;
    }
    // ρ = ε is never within reach for δ < 1 small; pure zCDP at ρ = 0 always is.
    let mut hi = e.max(1e-300);
    while ln_delta(hi, e) <= target && hi < 1e300 {
        hi *= 2.0;
    }
    let (lo, _) = bisect((0.0, hi), 2000, evenly, |rho| ln_delta(rho, e) <= target);
    // A hair below, to stay clear of the arithmetic's own error, then down to 2^-40 relative.
    down(lo * (1.0 - 1e-12))
}

/// As in files of format version 1: the least ε for which ρ-zCDP is (ε, δ)-DP, to twelve digits.
pub(crate) fn epsilon_for(rho: Rational, delta: f64) -> f64 {
    let (rho, target) = (rho.to_f64(), libm::log(delta));
    let mut hi = 1.0;
    while ln_delta(rho, hi) > target && hi < 1e300 {
        hi *= 2.0;
    }
    bisect((0.0, hi), 2000, evenly, |epsilon| ln_delta(rho, epsilon) > target).1 * (1.0 + 1e-12)
}

/// The largest rational with a 40-bit numerator (or whole part) not above `x`.
pub fn down(x: f64) -> Option<Rational> {
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

    use crate::numeric::tries::tries;
    use dashu_float::FBig;
    use dashu_float::round::mode::HalfEven;

    type Big = FBig<HalfEven, 2>;

    /// Twice and more what a double holds.
    const BITS: usize = 256;

    fn big(r: Rational) -> Big {
        let whole = |n: u128| Big::from(dashu_int::UBig::from(n)).with_precision(BITS).value();
        whole(r.numerator()) / whole(r.denominator())
    }

    /// `ln δ` at the best α, in 256 bits. The bound's value at a trial α is what it is: nothing here is shared with the code
    /// above but the formula.
    fn exact_ln_delta(rho: &Big, epsilon: &Big) -> Big {
        let one = || Big::from(1u8).with_precision(BITS).value();
        let two = || Big::from(2u8).with_precision(BITS).value();
        let slope = |x: &Big| (one() + two() * x) * rho - epsilon + (x / (one() + x)).ln();
        let mut lo = one() >> 60;
        let mut hi = one();
        while slope(&lo) > Big::ZERO {
            lo >>= 20;
        }
        while slope(&hi) < Big::ZERO {
            hi <<= 4;
        }
        // ln δ is flat at its least: half the digits of α give all of those that are compared.
        for _ in 0..110 {
            let mid = (&lo + &hi) >> 1;
            if slope(&mid) < Big::ZERO { lo = mid } else { hi = mid }
        }
        let a = one() + &hi;
        &hi * (&a * rho - epsilon) - hi.ln() + &a * (&hi / &a).ln()
    }

    /// On the safe side in 256 bits, and close to the limit, over budgets from the absurdly small to the absurdly large.
    #[test]
    fn conversions_are_on_the_safe_side() {
        let r = |t: &str| t.parse::<Rational>().unwrap();
        let epsilons = ["1e-9", "1e-7", "1e-4", "1/3", "17.1436", "1e5", "1e9"];
        let deltas = ["1e-30", "1e-9", "1e-6", "1/2", "999/1000"];
        let close = |a: &Big, b: &Big, digits: f64| {
            let gap = ((a - b) / b).to_f64().value().abs();
            assert!(gap < digits, "{a} {b} {gap}");
        };
        let mut made = 0;
        for epsilon in epsilons.map(r).into_iter().step_by(tries(3, 1)) {
            for delta in deltas.map(r).into_iter().step_by(tries(2, 1)) {
                let limit = big(delta).ln();
                if let Some(rho) = largest_rho(epsilon, delta) {
                    made += 1;
                    let spent = exact_ln_delta(&big(rho), &big(epsilon));
                    assert!(spent <= limit, "{epsilon} {delta} {rho}: {spent} {limit}");
                    // A millionth of a millionth more would be too much, but for δ near one, where less is lost than is safe.
                    let more = big(rho) * big(r("1000000000010/1000000000000"));
                    let over = exact_ln_delta(&more, &big(epsilon));
                    assert!(over > limit || delta > r("0.9"), "{epsilon} {delta} {rho}: {over} {limit}");
                }
                // And back: the reported ε of some ρ.
                let rho = epsilon;
                let up = least_epsilon(rho, delta).unwrap();
                let exact = Big::try_from(up).unwrap().with_precision(BITS).value();
                let spent = exact_ln_delta(&big(rho), &exact);
                assert!(spent <= limit, "{rho} {delta} {up}: {spent} {limit}");
                let less = &exact * big(r("999999999990/1000000000000"));
                if up > 1e-6 && delta < r("0.9") {
                    close(&exact, &Big::try_from(epsilon_for(rho, delta.to_f64())).unwrap(), 1e-6);
                    assert!(exact_ln_delta(&big(rho), &less) > limit, "{rho} {delta} {up}");
                }
            }
        }
        assert!(made > tries(7, 30), "{made}");
    }

    /// What the first version spent: more than δ, by parts in a hundred million.
    #[test]
    fn the_first_version_overspent() {
        let r = |t: &str| t.parse::<Rational>().unwrap();
        let (epsilon, delta) = (r("1e-7"), r("1e-9"));
        let spent = |rho: Rational| exact_ln_delta(&big(rho), &big(epsilon)) > big(delta).ln();
        assert!(spent(rho_for(epsilon, delta).unwrap()));
        assert!(!spent(largest_rho(epsilon, delta).unwrap()));
    }
}
