//! All that may ever be spent, and what is left of it.

use super::charge::Charge;
use super::spent::{Exact, Ready, Spent, exact, rational};
use crate::exact::Rational;
use crate::plan::convert;
use crate::release::Currency;
use dashu_int::UBig;
use dashu_ratio::RBig;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A bound: of pure ε, of ρ, or of ε at δ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Bound {
    /// ε: pure without δ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub epsilon: Option<Rational>,
    /// δ, beside ε.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub delta: Option<Rational>,
    /// ρ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub rho: Option<Rational>,
}

/// What a bound is in.
enum Kind {
    Pure(Rational),
    Approximate(Rational, Rational),
    Rho(Rational),
}

/// Whether what adds up is within ε at δ.
///
/// **Guarantee.** Also where it depends on earlier answers what is charged next. **Proof.** All is added up at one order α, which depends on ε and δ alone: while the
/// Rényi divergences of order α that were charged add up to no more than what implies (ε, δ), they may be chosen as one likes (Feldman & Zrnic 2021, Theorem 4.3). Each of two ways to
/// bound that sum may be taken, ρ for everything or pure ε as it is, since the sum is below both. A course on which all that was charged is pure and adds up to ε loses no
/// more than ε for certain, and adds nothing to δ; what a single release is by its own law holds for that release alone, whose course is settled. ∎ The best order for each
/// mixture by itself would be none: who takes one course or another by what they saw would pass δ.
fn within_order(spent: &Spent, epsilon: Rational, delta: Rational) -> bool {
    let Some(rho) = convert::largest_rho(epsilon, delta) else { return false };
    let at_order = || {
        let (above_one, most) = convert::order(rho, epsilon, delta)?;
        Some(spent.of_order(&(RBig::ONE + RBig::try_from(above_one).ok()?)) <= RBig::try_from(most).ok()?)
    };
    spent.rho <= exact(rho) || at_order().unwrap_or(false)
}

impl Bound {
    fn kind(&self) -> Option<Kind> {
        match (self.epsilon, self.delta, self.rho) {
            (Some(epsilon), None, None) => Some(Kind::Pure(epsilon)),
            (Some(epsilon), Some(delta), None) => Some(Kind::Approximate(epsilon, delta)),
            (None, None, Some(rho)) => Some(Kind::Rho(rho)),
            _ => None,
        }
    }

    /// Whether it is one.
    pub(crate) fn sound(&self) -> Result<(), String> {
        let kind = self.kind().ok_or("a bound is ε, ε with δ, or ρ")?;
        let (amount, delta) = match kind {
            Kind::Pure(e) => (e, None),
            Kind::Approximate(e, d) => (e, Some(d)),
            Kind::Rho(r) => (r, None),
        };
        if amount.is_zero() {
            return Err("a bound of zero lets nobody release anything".into());
        }
        match delta {
            Some(d) if d.is_zero() || d >= Rational::ONE => {
                Err("δ is not a probability between 0 and 1".into())
            }
            Some(d) if convert::largest_rho(amount, d).is_none() => {
                Err("no noise that can be drawn fits this ε and δ".into())
            }
            _ => Ok(()),
        }
    }

    /// The δ at which ε is stated beside it: its own, or none.
    pub(crate) fn delta(&self) -> Option<Rational> {
        self.delta
    }

    /// Whether so much may be spent.
    pub(crate) fn holds(&self, spent: &Spent) -> bool {
        match self.kind() {
            None => false,
            Some(Kind::Pure(epsilon)) => spent.epsilon.as_ref().is_some_and(|e| *e <= exact(epsilon)),
            Some(Kind::Rho(rho)) => spent.rho <= exact(rho),
            Some(Kind::Approximate(epsilon, delta)) => {
                let at_once = spent.alone_at(delta).into_iter().map(exact).chain(spent.epsilon.clone());
                at_once.min().is_some_and(|e| e <= exact(epsilon)) || within_order(spent, epsilon, delta)
            }
        }
    }

    /// Whether it is one in (ε, δ), and what is spent is of both currencies.
    pub(crate) fn is_mixture(&self, spent: &Spent) -> bool {
        matches!(self.kind(), Some(Kind::Approximate(..))) && spent.is_of_both()
    }

    /// Whether what is spent in this currency can ever be within it.
    pub(crate) fn admits(&self, currency: Currency) -> bool {
        !(currency == Currency::Rho && matches!(self.kind(), Some(Kind::Pure(_))))
    }

    /// The most that a charge like this one could be beside what was charged before, rounded down by less than one part in 2^32. Zero where
    /// nothing is left.
    pub(crate) fn left(&self, before: &[&Charge], like: &Charge) -> Rational {
        let ready = Ready::new(before.to_vec(), Some(like));
        let fits = |amount: Rational| amount.is_zero() || self.holds(&ready.spent(Some(&exact(amount))));
        // By halves of a power of two from above; then the ratio of smallest terms between what fits and what does not.
        let mut high = RBig::from(UBig::ONE << 40);
        let mut low = RBig::ZERO;
        for _ in 0..140 {
            let middle =
                if low == RBig::ZERO { &high / RBig::from(4u8) } else { (&low + &high) / RBig::from(2u8) };
            match rational(&middle) {
                Some(m) if fits(m) => low = middle,
                Some(_) => high = middle,
                None => break,
            }
            if low > RBig::ZERO && (&high - &low) * RBig::from(UBig::ONE << 34) < low {
                break;
            }
        }
        // Where charges simply add up the difference is exact.
        let spent = Spent::of(before);
        let rest = match self.kind() {
            Some(Kind::Pure(e)) => spent.epsilon.map(|s| exact(e) - s),
            Some(Kind::Rho(r)) => Some(exact(r) - spent.rho),
            _ => None,
        };
        let rest = rest.filter(|r| *r >= low && *r <= high).and_then(|r| rational(&r)).filter(|r| fits(*r));
        let simple = || simplest(&low, &high).and_then(|s| rational(&s)).filter(|s| fits(*s));
        rest.or_else(simple).or_else(|| rational(&low)).unwrap_or(Rational::ZERO)
    }
}

/// The ratio of smallest terms from `low` to `high`, both included; none where that is nothing.
fn simplest(low: &Exact, high: &Exact) -> Option<Exact> {
    if *low == RBig::ZERO {
        return None;
    }
    let whole = low.floor();
    let floor = RBig::from(whole.clone());
    if floor == *low {
        return Some(floor);
    }
    if RBig::from(whole) + RBig::ONE <= *high {
        return Some(floor + RBig::ONE);
    }
    // Between the same two whole numbers: the rest upside down.
    let rest = simplest(&(RBig::ONE / (high - &floor)), &(RBig::ONE / (low - &floor)))?;
    Some(floor + RBig::ONE / rest)
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Some(Kind::Pure(e)) => write!(f, "ε = {e}, pure"),
            Some(Kind::Approximate(e, d)) => write!(f, "ε = {e} at δ = {d}"),
            Some(Kind::Rho(r)) => write!(f, "ρ = {r}"),
            None => f.write_str("no bound"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against every ratio of small terms.
    #[test]
    fn the_simplest_ratio_between_two() {
        let ratio = |a: u32, b: u32| RBig::from_parts(a.into(), b.into());
        assert_eq!(simplest(&RBig::ZERO, &RBig::ONE), None);
        for (low, high) in [
            ((1, 3), (1, 2)),
            ((3, 7), (4, 9)),
            ((7, 5), (29, 20)),
            ((2, 1), (3, 1)),
            ((19, 10), (2, 1)),
            ((41, 29), (58, 41)),
            ((5, 7), (5, 7)),
        ] {
            let (low, high) = (ratio(low.0, low.1), ratio(high.0, high.1));
            let inside = |b: u32| (1..=4 * b).map(move |a| ratio(a, b)).find(|r| *r >= low && *r <= high);
            assert_eq!(simplest(&low, &high), (1..100).find_map(inside), "{low} {high}");
        }
    }
}
