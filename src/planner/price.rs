//! How a budget becomes precision. Whatever the noise law, a group's cost is `C/u^p` of its variance `u`, so all that the planner
//! works out depends on how a unit's way is measured, and is asked here only:
//!
//! * L2 (Gaussian): `C/2u`, so that precision `1/u` grows with the share of the budget.
//! * L1 (Laplace): `C/√u` but for a factor, so that precision grows with the square of the share: a little for each of many is
//!   wasted.
//!
//! The closed forms of the best scales:
//!
//! * L2: minimise `Σ v_r σ_r²` subject to `Σ C_r/(2σ_r²) = ρ` ⇒ `σ_r² = √(C_r/v_r) · Σ√(v C) / (2ρ)`.
//! * L1: minimise `Σ 2 s_r b_r²` subject to `Σ C_r/b_r = ε` ⇒ `1/b_r = η_r ∝ (s_r/C_r)^{1/3}`.

use super::minimax::Power;
use crate::plan::Noise;

/// The `p` of the cost `C/u^p` of a variance.
pub(crate) fn power(noise: Noise) -> Power {
    if noise.squares() { Power::Plain } else { Power::Root }
}

/// The `p` of the precision `η^p` that a share `η` of the budget buys, but for a factor.
pub(crate) fn gain(noise: Noise) -> Power {
    if noise.squares() { Power::Plain } else { Power::Square }
}

/// Whether precision grows with the square of a share.
pub(crate) fn is_steep(noise: Noise) -> bool {
    gain(noise) == Power::Square
}

/// What is divided by scales, for a budget.
pub(crate) fn spent(noise: Noise, budget: f64) -> f64 {
    f64::from(noise.divisor()) * budget
}

/// The `u` of a scale, which is its variance but for [`unit`].
pub(crate) fn u_of(noise: Noise, scale: f64) -> f64 {
    if noise.squares() { scale } else { scale * scale }
}

/// The scale of a `u`.
pub(crate) fn scale_of(noise: Noise, u: f64) -> f64 {
    if noise.squares() { u } else { u.sqrt() }
}

/// The variance of noise whose `u` is one.
pub(crate) fn unit(noise: Noise) -> f64 {
    noise.variance(1.0)
}

/// From the price of a scale of noise to the `C` of `C/u^p`, `u` being the variance in units of so many integers.
pub(crate) fn of_variance(noise: Noise, price: f64, integers: f64) -> f64 {
    if noise.squares() { price / (integers * integers) } else { price * std::f64::consts::SQRT_2 / integers }
}

/// The part of the budget that a group of this price and weight gets, not yet normed.
pub(crate) fn part(noise: Noise, price: f64, weight: f64) -> f64 {
    if noise.squares() { (price * weight).sqrt() } else { libm::cbrt(price * price * weight) }
}

/// The weight with which a group of this price gets this part.
pub(crate) fn weight_of(noise: Noise, price: f64, part: f64) -> f64 {
    if noise.squares() { part * part / price } else { part * part * part / (price * price) }
}

/// The scales that share a budget best among groups of these prices and weights.
pub(crate) fn best_scales(
    noise: Noise,
    budget: f64,
    groups: impl Iterator<Item = (f64, f64)> + Clone,
) -> Vec<f64> {
    let spent = spent(noise, budget);
    if noise.squares() {
        let total: f64 = groups.clone().map(|(c, v)| (c * v).sqrt()).sum();
        groups.map(|(c, v)| (c / v).sqrt() * total / spent).collect()
    } else {
        let eta = |(c, s): (f64, f64)| libm::cbrt(s / c);
        let total: f64 = groups.clone().map(|p| p.0 * eta(p)).sum();
        groups.map(|p| total / (eta(p) * spent)).collect()
    }
}
