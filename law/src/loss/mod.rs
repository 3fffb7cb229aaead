//! The privacy loss of discrete Gaussian noise, as a law: what δ a release has at an ε, without the loss of a conversion.
//!
//! A unit moves integers by `v_i` that noise of parameter `s_i²` is added to. The logarithm of how much likelier an outcome is with the
//! unit than without is exactly `±ρ + S`, with `ρ = Σ v_i²/2s_i²` and `S = Σ (v_i/s_i²) z_i` over the noises `z_i`, a symmetric law. So
//!
//! ```text
//! δ(ε) = E[(1 − e^{ε−ρ−S})₊] = P(S > ε − ρ) − e^ε P(S > ε + ρ).
//! ```
//!
//! **Guarantee.** [`Loss::delta`] is never below the δ of these noises, and says by how much it may be above. It is the less of two bounds:
//! [`inverted`] inverts the generating function along a line, where what sampling adds is never negative; [`listed`] adds up what S can
//! be, where that is few values. δ is that of one release with scales fixed beforehand. It does not fall with ρ: a plan is proved at its own scales.
//!
//! Everything is in one fixed order of operations on `libm`: what one machine proves another finds.

mod inverted;
mod listed;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

/// Noises that hide one shift: `copies` integers that a unit moves by `by`, up or down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moved {
    /// How far, in whole steps of the noise.
    pub by: u64,
    /// How many integers move so far.
    pub copies: u64,
    /// The parameter `s²` of each one's discrete Gaussian noise.
    pub variance: f64,
}

/// The law of the privacy loss.
#[derive(Debug, Clone)]
pub struct Loss {
    /// The smallest steps first.
    parts: Vec<Part>,
    /// The variance that noise without a lattice adds to S.
    smooth: f64,
    /// Of S, were the noises continuous: `2ρ`.
    spread: f64,
}

/// Noises of one kind.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// `v`.
    by: f64,
    copies: f64,
    variance: f64,
}

impl Part {
    /// `v/s²`.
    fn step(&self) -> f64 {
        self.by / self.variance
    }

    /// What it adds to the variance of S.
    fn spread(&self) -> f64 {
        self.copies * self.by * self.step()
    }
}

/// δ at some ε.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delta {
    /// Never below the true one.
    pub above: f64,
    /// Nor above it by more than this.
    pub excess: f64,
}

impl Delta {
    /// δ is no more than 1.
    const UNKNOWN: Delta = Delta { above: 1.0, excess: 1.0 };
}

/// With this little of itself in excess a bound is as good as exact, and with this it is good enough to search by.
const CLOSE: f64 = 1e-6;
const ROUGH: f64 = 1e-3;
/// How closely the least ε is found.
const CLOSEST: f64 = 1e-8;
/// Steps of inversion before listing is tried, and after that; and the most products of a list.
const QUICK: usize = 1 << 13;
const LONG: usize = 1 << 17;
const LISTED: usize = 1 << 23;
/// The same steps and products for a rough bound.
const FEW_STEPS: usize = 1 << 10;
const FEW_LISTED: usize = 1 << 15;

impl Loss {
    /// The loss of these noises together. `None` when one of them is no noise.
    pub fn new(moved: impl IntoIterator<Item = Moved>) -> Option<Loss> {
        let mut kinds: BTreeMap<(u64, u64), f64> = BTreeMap::new();
        for m in moved {
            if !(m.variance > 0.0 && m.variance.is_finite()) {
                return None;
            }
            if m.by > 0 && m.copies > 0 {
                *kinds.entry((m.variance.to_bits(), m.by)).or_default() += m.copies as f64;
            }
        }
        let part = |((bits, by), copies): ((u64, u64), f64)| Part {
            by: by as f64,
            copies,
            variance: f64::from_bits(bits),
        };
        Some(Loss::of(kinds.into_iter().map(part).collect(), 0.0))
    }

    /// That of noise so wide that its steps do not matter, at this ρ: the limit that every loss is compared with.
    pub fn smooth(rho: f64) -> Loss {
        Loss::of(Vec::new(), 2.0 * rho)
    }

    fn of(mut parts: Vec<Part>, smooth: f64) -> Loss {
        parts.sort_by(|a, b| a.step().total_cmp(&b.step()));
        let spread = parts.iter().map(Part::spread).sum::<f64>() + smooth;
        Loss { parts, smooth, spread }
    }

    /// With every variance times a factor: ρ is divided by it.
    pub fn scaled(&self, factor: f64) -> Loss {
        let part = |p: &Part| Part { variance: p.variance * factor, ..*p };
        Loss::of(self.parts.iter().map(part).collect(), self.smooth / factor)
    }

    /// `ρ`, to within rounding.
    pub fn rho(&self) -> f64 {
        0.5 * self.spread
    }

    /// δ at this ε.
    pub fn delta(&self, epsilon: f64) -> Delta {
        self.bound(epsilon, CLOSE, QUICK, LISTED)
    }

    /// δ at this ε, and as a rule a thousandth more at the most: many times as quick.
    fn rough(&self, epsilon: f64) -> Delta {
        self.bound(epsilon, ROUGH, FEW_STEPS, FEW_LISTED)
    }

    /// Whether δ at this ε is no more than that, for certain: what [`Loss::delta`] says, which is asked only where a rough bound does not tell what that will be.
    pub fn within(&self, epsilon: f64, delta: f64) -> bool {
        let Delta { above, excess } = self.rough(epsilon);
        above * (1.0 + 2.0 * CLOSE) <= delta || above - excess <= delta && self.delta(epsilon).above <= delta
    }

    /// One so close, by so many steps of inversion, then by a list of no more products, and then by inversion for as long as it takes.
    fn bound(&self, epsilon: f64, close: f64, steps: usize, products: usize) -> Delta {
        if epsilon.is_nan() || !self.spread.is_finite() {
            return Delta::UNKNOWN;
        }
        if self.spread == 0.0 {
            return Delta { above: 0.0, excess: 0.0 };
        }
        let is_close = |bound: &Delta| bound.excess <= close * bound.above;
        let quick = inverted::delta(self, epsilon, steps, close);
        if is_close(&quick) {
            return quick;
        }
        let less = |a: Delta, b: Delta| if b.above < a.above { b } else { a };
        match listed::delta(self, epsilon, quick.above, products) {
            Some(listed) if is_close(&listed) => listed,
            listed => {
                let long = less(quick, inverted::delta(self, epsilon, LONG, close));
                listed.map_or(long, |listed| less(long, listed))
            }
        }
    }

    /// The least ε with at most this δ, rounded up: δ at what is returned has been found to be no more. `None` where there is none that
    /// doubles reach.
    pub fn epsilon(&self, delta: f64) -> Option<f64> {
        if !(delta > 0.0) {
            return None;
        }
        if self.within(0.0, delta) {
            return Some(0.0);
        }
        let ln = |epsilon: f64| libm::log(self.delta(epsilon).above / delta);
        // From the ε of continuous noise, which is seldom far, outwards until it is between two.
        let mut width = 1e-9;
        let mut high =
            if self.parts.is_empty() { self.rho() } else { Loss::smooth(self.rho()).epsilon(delta)? };
        let mut low = 0.0;
        let (mut of_low, mut of_high) = (libm::log(1.0 / delta), ln(high));
        while of_high > 0.0 {
            (low, of_low) = (high, of_high);
            high += width * (1.0 + high);
            width *= 8.0;
            of_high = ln(high);
            if !(high < 1e12) {
                return None;
            }
        }
        width = 1e-9;
        let mut nearer = high - width * (1.0 + high);
        while nearer > low {
            let of = ln(nearer);
            if of > 0.0 {
                (low, of_low) = (nearer, of);
                break;
            }
            (high, of_high) = (nearer, of);
            width *= 8.0;
            nearer = high - width * (1.0 + high);
        }
        // ln δ is nearly straight: where the chord says, and a half now and then.
        let mut turn = 0;
        while high - low > CLOSEST * high {
            turn += 1;
            let share = (of_low / (of_low - of_high)).clamp(0.01, 0.99);
            let middle = low + (high - low) * if turn % 3 == 0 { 0.5 } else { share };
            if !(middle > low && middle < high) {
                break;
            }
            let of = ln(middle);
            if of > 0.0 { (low, of_low) = (middle, of) } else { (high, of_high) = (middle, of) }
        }
        Some(high)
    }
}

/// Bounds in one order: no less than 0, no more than 1, and what is not a number is 1.
fn bounded(above: f64, excess: f64) -> Delta {
    if above <= 1.0 && excess >= 0.0 {
        // What underflows is not nothing.
        let above = above.max(f64::MIN_POSITIVE);
        Delta { above, excess: excess.min(above) }
    } else {
        Delta::UNKNOWN
    }
}
