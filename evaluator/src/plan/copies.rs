//! Copies of one measuring, one for each recipient, each as precise as that recipient's budget allows.
//!
//! **Nested.** The most precise copy is measured; every further one is made from the one before it by adding independent integer
//! noise, and nothing else. *Guarantee:* all copies together cost what the most precise one costs, whoever puts them together.
//! *Proof:* every other copy is a randomised function of it, and post-processing costs nothing. That needs nothing of the laws, so it
//! holds for the discrete ones. What one copy costs *alone* is less:
//!
//! * Laplace noise. The noise `W` of a step is made so that the sum again has a discrete Laplace law, exactly: see
//!   `secret::noise`. So a copy of scale `b` costs what any measuring at scale `b` costs.
//! * Gaussian noise. A sum of discrete Gaussians is none. [`proven`] is the scale of a discrete Gaussian that costs no less.
//!
//! **Shifted**, as published: every copy is measured anew, with noise around a secret centre, one for all counts of rows of a copy, drawn
//! uniformly from the whole numbers of an interval, [`Centres`]. *Guarantee:* each copy alone costs what its noise costs, whatever the centre is
//! (adding a constant is post-processing), and all together cost the **sum**: a centre hides nothing from those who put copies
//! together. One known count, one public mean, or a difference within a copy removes it. *Proof:* composition, given the centres.

use super::{Noise, round};
use crate::exact::Rational;
use serde::{Deserialize, Serialize};

/// What a secret centre may be: each whole number of an interval as likely as any other. Its mean is a whole number, too, because readers
/// take it off whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Centres {
    /// The mean.
    pub mean: i32,
    /// How far a centre may be from it.
    pub reach: u32,
}

impl Centres {
    /// The interval from `low` to `high`. `None` where its mean is not whole, where it has one number only, and where it is too large.
    pub fn new(low: i64, high: i64) -> Option<Centres> {
        let (sum, width) = (low.checked_add(high)?, high.checked_sub(low)?);
        let mean = i32::try_from(sum / 2).ok().filter(|_| sum % 2 == 0)?;
        Some(Centres { mean, reach: u32::try_from(width / 2).ok()? }).filter(|c| c.are_possible())
    }

    /// The least.
    pub fn low(self) -> i64 {
        i64::from(self.mean) - i64::from(self.reach)
    }

    /// The largest.
    pub fn high(self) -> i64 {
        i64::from(self.mean) + i64::from(self.reach)
    }

    /// Whether they are secret at all, and small enough.
    pub(crate) fn are_possible(self) -> bool {
        (1..=MAX_REACH).contains(&self.reach) && self.mean.unsigned_abs() <= MAX_REACH
    }
}

impl std::fmt::Display for Centres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {}", self.low(), self.high())
    }
}

/// How copies hang together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Each is made from the next more precise one.
    Nested,
    /// Each is measured by itself, with noise around a secret centre.
    Shifted {
        /// What the centre may be.
        centres: Centres,
    },
}

impl Mode {
    /// As specs and manifests say it.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Nested => "nested",
            Mode::Shifted { .. } => "shifted",
        }
    }
}

/// The furthest that a centre's mean may be from 0, and a centre from its mean.
pub const MAX_REACH: u32 = 1 << 30;
/// The most recipients of one measuring.
pub const MAX_RECIPIENTS: usize = 1000;

/// Exact laws are worked out for up to so many tables of copies of different precision, by planners and by auditors.
pub const MOST_LAWS: usize = 256;
/// A copy that is promised a margin has at most two to this power times the noise of the most precise one.
pub const WIDEST: u32 = 60;

/// Who gets a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipient {
    /// The name: part of the file's name.
    pub name: String,
    /// How many times the most precise copy's budget is this one's: at least one.
    pub factor: Rational,
}

/// Which copy of a measuring a plan is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copy {
    /// What all copies of one measuring have in common, and no other release has: 128 random bits.
    pub measuring: [u8; 16],
    /// How they hang together.
    pub mode: Mode,
    /// Which recipient's copy it is.
    pub own: usize,
    /// All of them, the most precise first.
    pub recipients: Vec<Recipient>,
    /// The most precise copy's budget.
    pub budget: Rational,
    /// The most precise copy's scale of every measurement.
    pub scales: Vec<Rational>,
    /// Of nested copies with Gaussian noise: what each step from the most precise copy to this one added, in the order of
    /// [`Copy::scales`]. Zero is nothing.
    pub further: Vec<Vec<Rational>>,
}

/// Why there are no such copies.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    /// Numbers too large.
    #[error(
        "the noise of `{0}`'s copy does not fit the arithmetic: give it a larger budget, or one with fewer digits"
    )]
    Scale(String),
    /// Not what a measuring has.
    #[error("{0}")]
    Wrong(&'static str),
}

impl Copy {
    /// The recipient whose copy it is.
    pub(crate) fn recipient(&self) -> &str {
        self.recipients.get(self.own).map_or("", |r| r.name.as_str())
    }

    /// Whether the lists have the lengths and the order they must have.
    pub(crate) fn check(&self, noise: Noise) -> Result<(), CopyError> {
        let wrong = |holds: bool, why| if holds { Ok(()) } else { Err(CopyError::Wrong(why)) };
        wrong((1..=MAX_RECIPIENTS).contains(&self.recipients.len()), "there are no recipients, or too many")?;
        wrong(self.own < self.recipients.len(), "it is nobody's copy")?;
        let ascending = self.recipients.windows(2).all(|w| w[0].factor <= w[1].factor);
        let first = self.recipients.first().is_some_and(|r| r.factor == Rational::ONE);
        wrong(ascending && first, "the recipients do not stand in the order of their budgets")?;
        if let Mode::Shifted { centres } = self.mode {
            wrong(centres.are_possible(), "the centres are not secret, or too large")?;
        }
        let steps = if self.mode == Mode::Nested && noise.adds_up() { self.own } else { 0 };
        let whole = self.further.iter().all(|step| step.len() == self.scales.len());
        wrong(self.further.len() == steps && whole, "the steps of noise are not those of this copy")
    }
}

/// The most binary digits of [`proven`].
const DIGITS: u32 = 40;

/// `m` of at most [`DIGITS`] binary digits and `x` with `m·2^x <= r`, within one part in 2^39 of it.
fn leading(r: Rational) -> (u128, i32) {
    let (num, den) = (r.numerator(), r.denominator());
    let digits = |n: u128| 128 - n.leading_zeros();
    let (mut quotient, mut rest, mut exponent) = (num / den, num % den, 0i32);
    if digits(quotient) > DIGITS {
        exponent = (digits(quotient) - DIGITS) as i32;
        return (quotient >> exponent, exponent);
    }
    // Digits after the point, one by one, as long as twice the remainder fits.
    while digits(quotient) < DIGITS && exponent > -100 {
        let Some(twice) = rest.checked_mul(2) else { break };
        quotient = 2 * quotient + u128::from(twice >= den);
        rest = if twice >= den { twice - den } else { twice };
        exponent -= 1;
    }
    (quotient, exponent)
}

/// `m·2^x`; `None` when it does not fit.
fn rational(m: u128, x: i32) -> Option<Rational> {
    let shift = x.unsigned_abs();
    match x >= 0 {
        true if shift <= m.leading_zeros() => Some(Rational::whole(m << shift)),
        true => None,
        false => Rational::new(m, 1u128.checked_shl(shift)?),
    }
}

/// The variance parameter of a discrete Gaussian that costs no less than the sum of independent ones with these: `Δ²/(2·proven)`
/// of zCDP for integers that move by an integer vector of squared length `Δ²`. `None` when it does not fit.
///
/// **Proof.** Two bounds, of which the better counts.
///
/// *One layer.* The other noises, added to what has only the noise of parameter `s`, are post-processing: the sum costs no more
/// than `Δ²/(2s)` for the largest `s` there is.
///
/// *All layers.* Let `S = Σ s` and P the law of the sum. Adding layers one by one and completing the square,
/// `P(x) ∝ e^{−x²/2S} T(x)`, where each layer multiplies T by a mean of `Θ(u) = Σ_k e^{−(k−u)²/2c}` over values of T so far,
/// `1/c = 1/(sum so far) + 1/(this layer)`. By Poisson summation Θ is largest at the whole numbers and least between them, and
/// with `q = e^{−2π²c}` the logarithm of their ratio is at most `ln((1+2q+…)/(1−2q)) ≤ 4.01 q < 2^{3−28c}` for `c ≥ ½`; and `c` is at least
/// half the lesser of the two. So `ln(max T/min T) ≤ τ`, the sum of these. For a shift of one integer by d,
/// `P(x−d)/P(x) ≤ e^τ e^{(2xd−d²)/2S}`; since `E e^{tX} ≤ e^{t²S/2}` (Canonne, Kamath & Steinke 2020, for each layer) the Rényi divergence of order α
/// is at most `α(d²/2S + τ/(α−1))`. Over all integers that move these add up, and there are no more of them than `Δ²`: `αΔ²(1/2S + τ/(α−1))`.
/// Divergences grow with α. So for every `η > 0`, using the bound at `1+η` for all smaller orders, the sum is
/// `Δ²(1+η)(1/2S + τ/η)`-zCDP. With `η = 2^{−e}` and `2Sτ ≤ 2^{−2e}` that is at most `Δ²/2S · (1 + 2^{2−e})`.
///
/// **Source.** That sums of discrete Gaussians are almost one: Kairouz, Liu & Steinke 2021. The bound without a δ is worked out here.
pub(crate) fn proven(layers: &[Rational]) -> Option<Rational> {
    let mut best = *layers.iter().max()?;
    let mut sum = Rational::ZERO;
    let mut bits = u128::MAX;
    for layer in layers {
        if !sum.is_zero() {
            // ⌊28c⌋ ≥ ⌊14·min⌋; nothing is said of c below one half.
            let least = sum.min(*layer);
            let own = if least >= Rational::ONE {
                14 * (least.numerator() / least.denominator()).min(1 << 20)
            } else {
                0
            };
            bits = bits.min(own.saturating_sub(3));
        }
        sum = sum.checked_add(*layer)?;
    }
    if layers.len() > 1 {
        let log2_up = |n: u128| u128::from(128 - n.saturating_sub(1).leading_zeros());
        let twice = (sum.numerator().div_ceil(sum.denominator())).checked_mul(2)?;
        let left = bits.saturating_sub(log2_up(layers.len() as u128)).saturating_sub(log2_up(twice));
        let e = (left / 2).min(40) as u32;
        if e >= 3 {
            // The sum over 1 + 2^(2−e), rounded down: 40 + 38 binary digits, and twenty more before the quotient is cut.
            let (m, x) = leading(sum);
            let part = 1u128 << (e - 2);
            let kept = (m << 20) * part / (part + 1);
            let cut = (128 - kept.leading_zeros()).saturating_sub(DIGITS);
            if let Some(kept) = rational(kept >> cut, x - 20 + cut as i32) {
                best = best.max(kept);
            }
        }
    }
    Some(best)
}

/// The noise to add to what has these layers, so that [`proven`] reaches `target`: about as little as does it. Zero when nothing is
/// needed.
pub(super) fn further(layers: &[Rational], target: Rational) -> Option<Rational> {
    if proven(layers)? >= target {
        return Some(Rational::ZERO);
    }
    let reaches = |more: Rational| {
        let all: Vec<Rational> = layers.iter().copied().chain([more]).collect();
        proven(&all).is_some_and(|p| p >= target)
    };
    let sum: f64 = layers.iter().map(|l| l.to_f64()).sum();
    // What is tried need not be exact: `proven` is.
    let least = (1..=38).rev().find_map(|e| {
        let wanted = target.to_f64() * (1.0 + libm::ldexp(1.0, -e)) - sum;
        round::up(wanted).filter(|more| reaches(*more))
    });
    let alone = round::up(target.to_f64() * (1.0 + 1e-15)).filter(|more| reaches(*more));
    match (least, alone) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests;
