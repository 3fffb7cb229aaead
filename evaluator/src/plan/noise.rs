//! The noise laws: all that a plan, its cost, its readers and the planner must know of one stands here, so that another law is
//! answers to these questions. How it is drawn is `secret::noise`; the laws of errors that are made of it are [`crate::law`].

use crate::exact::Rational;
use crate::law::NoiseLaw;
use serde::{Deserialize, Serialize};

/// Which exact integer noise is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Noise {
    /// Discrete Gaussian, accounted in zCDP (ρ).
    Gaussian,
    /// Discrete Laplace, accounted in pure differential privacy (ε).
    Laplace,
}

/// What people read.
impl Noise {
    /// Whose law it is, of a discrete one.
    pub const fn name(self) -> &'static str {
        match self {
            Noise::Gaussian => "Gaussian",
            Noise::Laplace => "Laplace",
        }
    }

    /// Its scale in formulas.
    pub const fn scale_symbol(self) -> &'static str {
        match self {
            Noise::Gaussian => "s²",
            Noise::Laplace => "b",
        }
    }

    /// In formulas, how far a unit moves what it is added to.
    pub const fn sensitivity_symbol(self) -> &'static str {
        if self.squares() { "Δ₂²" } else { "Δ₁" }
    }
}

/// What it costs.
impl Noise {
    /// Whether it is accounted in pure differential privacy, ε, and not in ρ.
    pub const fn is_pure(self) -> bool {
        match self {
            Noise::Gaussian => false,
            Noise::Laplace => true,
        }
    }

    /// Whether a way that a unit moves integers counts by the sum of squares (L2), and not by the sum of amounts (L1).
    pub const fn squares(self) -> bool {
        match self {
            Noise::Gaussian => true,
            Noise::Laplace => false,
        }
    }

    /// What one integer that moves so far adds to the way. `None` when it does not fit.
    pub const fn powered(self, moved: u128) -> Option<u128> {
        if self.squares() { moved.checked_mul(moved) } else { Some(moved) }
    }

    /// The same for what need not be exact.
    pub const fn power(self, moved: f64) -> f64 {
        if self.squares() { moved * moved } else { moved.abs() }
    }

    /// What the scale is multiplied by where the way is divided by it: `Δ₂²/2s²`, `Δ₁/b`.
    pub const fn divisor(self) -> u8 {
        match self {
            Noise::Gaussian => 2,
            Noise::Laplace => 1,
        }
    }

    /// The cost of noise of a scale where a unit moves integers so far, in the law's own currency. `None` when it does not fit.
    ///
    /// **Guarantee, proof, source.** See [`super::cost`].
    pub(crate) fn cost(self, way: u128, scale: Rational) -> Option<Rational> {
        Rational::whole(way).checked_div(scale.checked_mul(Rational::whole(self.divisor().into()))?)
    }

    /// Half of what a squared way is divided by for its cost in ρ, whatever the law's own currency: `s²`, or `b²` since what is
    /// `1/b`-DP is `1/2b²`-zCDP (see `projection::cost`). `None` when it does not fit.
    pub(crate) fn squared_scale(self, scale: Rational) -> Option<Rational> {
        match self {
            Noise::Gaussian => Some(scale),
            Noise::Laplace => scale.checked_mul(scale),
        }
    }

    /// Whether nested copies add noise of this law to noise of this law, so that scales add up; otherwise each copy's noise is one
    /// draw of the law. See [`super::copies`].
    pub(crate) const fn adds_up(self) -> bool {
        match self {
            Noise::Gaussian => true,
            Noise::Laplace => false,
        }
    }
}

/// The law of a scale.
impl Noise {
    /// The largest scale that can be drawn, so that no value leaves 64 bits: `s² ≤ 2^104`, `b ≤ 2^40`.
    pub const fn largest_scale(self) -> Rational {
        match self {
            Noise::Gaussian => Rational::whole(1 << 104),
            Noise::Laplace => Rational::whole(1 << 40),
        }
    }

    /// The law of one integer's noise.
    pub const fn law(self, scale: f64) -> NoiseLaw {
        match self {
            Noise::Gaussian => NoiseLaw::DiscreteGaussian { variance: scale },
            Noise::Laplace => NoiseLaw::DiscreteLaplace { scale },
        }
    }

    /// The variance that the continuous law of the scale has: that of the integers, or a hair more.
    pub fn variance(self, scale: f64) -> f64 {
        match self {
            Noise::Gaussian => scale,
            Noise::Laplace => 2.0 * scale * scale,
        }
    }

    /// The scale of which that is the variance.
    pub fn scale_of(self, variance: f64) -> f64 {
        match self {
            Noise::Gaussian => variance,
            Noise::Laplace => libm::sqrt(variance / 2.0),
        }
    }

    /// The scale of noise that is so many times as wide.
    pub const fn widened(self, scale: f64, times: f64) -> f64 {
        match self {
            Noise::Gaussian => scale * times * times,
            Noise::Laplace => scale * times,
        }
    }

    /// How far out the law has fallen to `e^{−exponent}` of what it is at zero.
    pub fn reach(self, scale: f64, exponent: f64) -> f64 {
        match self {
            Noise::Gaussian => libm::sqrt(2.0 * scale * exponent),
            Noise::Laplace => scale * exponent,
        }
    }

    /// Whether the normal law of its variance stands for it: in sums to all digits that matter, and in bounds by moments, of which
    /// it has none larger but for a 10⁵th part.
    pub const fn is_normal(self) -> bool {
        match self {
            Noise::Gaussian => true,
            Noise::Laplace => false,
        }
    }

    /// At least its fourth moment over its squared variance, by a 10⁵th part at most for the Gaussian.
    pub(crate) const fn kurtosis(self) -> f64 {
        match self {
            Noise::Gaussian => 3.000_03,
            Noise::Laplace => 6.0,
        }
    }
}
