//! The normal law's tail and quantile, and the proof of when it may stand in for a discrete one.

use super::{Group, NoiseLaw};
use std::f64::consts::{PI, SQRT_2};

/// `P(N(0,1) > x)`.
pub fn upper_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x / SQRT_2)
}

/// The `x` with `P(N(0,1) > x) = p`, accurate to the last digits for every `0 < p < 1`: a rational
/// start and Newton steps on `ln erfc`.
pub fn upper_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::INFINITY;
    }
    if p > 0.5 {
        return -upper_quantile(1.0 - p);
    }
    // Abramowitz & Stegun 26.2.23, error below 4.5e-4.
    let t = libm::sqrt(-2.0 * libm::log(p));
    let mut x = t
        - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    let target = libm::log(p);
    for _ in 0..4 {
        let tail = upper_tail(x);
        let density = libm::exp(-x * x / 2.0) / libm::sqrt(2.0 * PI);
        x += (libm::log(tail) - target) * tail / density;
    }
    if p == 0.5 { 0.0 } else { x }
}

/// A half-width that the two-sided tail `tau` provably fits in, from the normal law; `None` when some
/// noise is not Gaussian or the lattice is too coarse to say anything.
///
/// **Proof.** Let `E = Σ a_k z_k`, `z_k` discrete Gaussian with parameter `s_k²` (or continuous), `v_k = a_k² s_k²`,
/// `V = Σ v_k`, `a = max a_k` over the discrete ones, and `t₀ = βπ/a` with `0 < β < 1`.
///
/// 1. By Poisson summation the characteristic function of `a_k z_k` is `e^{−v_k t²/2} R_k(t)` with
///    `R_k = (1 + 2Σ_j q^{j²} cosh(2πj s_k² a_k t)) / (1 + 2Σ_j q^{j²})`, `q = e^{−2π²s_k²}`. So `R_k >= 1` and
///    `ln R_k <= ρ_k(t) = 2Σ_j q^{j²} (cosh(2πj s_k² a_k t) − 1)`, a power series in t² with positive
///    coefficients that starts with t². So does `e^{ρ(t)} − 1` with `ρ = Σ ρ_k`, and therefore
///    `e^{ρ(t)} − 1 <= (t/t₀)² (e^{ρ(t₀)} − 1)` on `[0, t₀]`.
/// 2. Let `G ~ N(0, r²)` be independent. By Gil-Pelaez,
///    `|P(E+G > x) − Q(x/√(V+r²))| <= (1/π) ∫₀^∞ |φ_E(t) − e^{−Vt²/2}| e^{−r²t²/2} dt/t`. Up to `t₀` this is at most
///    `(e^{ρ(t₀)} − 1)/(π V t₀²)` by 1; beyond it, as both functions are at most 1, at most
///    `2 e^{−r²t₀²/2}/(π r² t₀²)`. Call the sum `δ`.
/// 3. If `E > w + η` and `G >= −η`, then `E + G > w`; the two are independent, so
///    `P(E > w+η) <= P(E+G > w) / Φ(η/r)`, and by symmetry
///    `P(|E| > w+η) <= 2 (Q(w/√(V+r²)) + δ) / Φ(η/r)`.
///
/// Hence `w + η` is conservative when `Q(w/√(V+r²)) = τ Φ(η/r)/2 − δ`; β, r and η/r are free and the best of a
/// few are taken. The result is always safe; it is *used* when it is within 0.1 % of the plain normal
/// half-width. At 95 % that is so whenever `a/σ` is at most `2e-4`, see the tests.
pub(super) fn conservative_half_width(groups: &[Group], tau: f64) -> Option<f64> {
    let mut total = 0.0;
    let mut largest = 0.0f64;
    for g in groups {
        match g.noise {
            NoiseLaw::Gaussian { variance } => {
                total += g.copies as f64 * g.coefficient * g.coefficient * variance
            }
            NoiseLaw::DiscreteGaussian { variance } => {
                total += g.copies as f64 * g.coefficient * g.coefficient * variance;
                largest = largest.max(g.coefficient);
            }
            _ => return None,
        }
    }
    if largest == 0.0 {
        return Some(total.sqrt() * upper_quantile(tau / 2.0));
    }
    let ratios = [1.5, 2.0, 2.5, 3.0, 3.5].map(|ratio| (ratio, 1.0 - upper_tail(ratio)));
    // Every target is less than τ/2, so no half-width is narrower than with this quantile: those that cannot be the best are passed over.
    let least = upper_quantile(tau / 2.0);
    let mut best: Option<f64> = None;
    for beta in [0.5, 0.75, 0.9] {
        let t0 = beta * PI / largest;
        // q^{j²}(cosh(2πj s² a t₀) − 1) <= e^{−2π²s²(j² − jβ')}, β' = a_k t₀/π < 1: a geometric series in j.
        let rho: f64 = groups
            .iter()
            .map(|g| match g.noise {
                NoiseLaw::DiscreteGaussian { variance } => {
                    let share = g.coefficient * t0 / PI;
                    let first = libm::exp(-2.0 * PI * PI * variance * (1.0 - share));
                    let ratio = libm::exp(-2.0 * PI * PI * variance * (3.0 - share));
                    2.0 * g.copies as f64 * first / (1.0 - ratio)
                }
                _ => 0.0,
            })
            .sum();
        let near = libm::expm1(rho) / (PI * total * t0 * t0);
        for reach in [3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 7.0, 8.0] {
            // reach = r t₀
            let r = reach / t0;
            let delta = near + 2.0 * libm::exp(-reach * reach / 2.0) / (PI * reach * reach);
            let spread = libm::sqrt(total + r * r);
            for (ratio, inside) in ratios {
                let target = tau * inside / 2.0 - delta;
                let hopeless = best.is_some_and(|best| spread * least + ratio * r >= best);
                if target > 0.0 && target < 0.5 && !hopeless {
                    let w = spread * upper_quantile(target) + ratio * r;
                    best = Some(best.map_or(w, |b: f64| b.min(w)));
                }
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_invert_tails() {
        for p in [0.5, 0.4999, 0.3, 0.025, 1e-3, 5e-10, 1e-100, 1e-300, 0.7, 0.999] {
            let x = upper_quantile(p);
            assert!((upper_tail(x) / p - 1.0).abs() < 1e-12, "{p}");
        }
        assert_eq!((upper_quantile(0.0), upper_quantile(1.0)), (f64::INFINITY, f64::NEG_INFINITY));
        assert!(upper_quantile(f64::NAN).is_nan());
        assert!((upper_quantile(0.025) - 1.959_963_984_540_054).abs() < 1e-14);
        assert!((upper_quantile(5e-10) - 6.109_410_204_869_004).abs() < 1e-9);
    }
}
