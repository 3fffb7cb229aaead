//! What all charges of an account come to.
//!
//! **Guarantee.** A unit of the account moves the data of every release as the release's own neighbours do, at most `unit_of` of
//! them at once; what all releases together tell of it is at most the sum here. **Proof.** *Sequence*: ε adds up, and so does ρ.
//! *Groups*: `k` units at once cost `kε` and `k²ρ` (Bun & Steinke 2016, Proposition 27); a charge holds that product. *Change*: to
//! change a unit is to remove one and to add one, so that a guarantee for more or less counts `2ε`, `4ρ` where others only guard a change;
//! the sum is then one for changes. *Parts*: where no unit is in two parts of a partition, a unit more or less is in one part: the
//! dearest part decides (McSherry 2009). What is no name of a part today (older programs took any text) may be any part, under another spelling:
//! it counts as of no part. A unit that changes may leave one part and appear in another, whose noises are
//! independent: the two dearest add up. Different partitions, and charges of no part, add up. *Currencies*: ε-DP is `ε²/2`-zCDP (Bun &
//! Steinke 2016, Proposition 3.3), and ρ-zCDP has an ε at every δ ([`convert`]); a pure ε is added to that of an (ε, δ) as it is, and of the
//! two ways to state a mixture in ε at δ the smaller holds. *Alone*: what a single release is by the law of its own loss, which its file proves,
//! is all that anybody learns while there is no other.
//!
//! All sums are exact rationals of any length; only the conversion to ε at δ rounds, and that upwards.

use super::charge::{Alone, Charge};
use crate::exact::Rational;
use crate::plan::{Neighbours, convert};
use crate::release::Currency;
use crate::release::parts::folded;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use std::collections::BTreeMap;

/// An exact rational of any length.
pub(crate) type Exact = RBig;

/// The same number.
pub(crate) fn exact(r: Rational) -> Exact {
    RBig::from_parts(IBig::from(r.numerator()), UBig::from(r.denominator()))
}

/// What all charges come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    /// What the sum guards: units more or less, or units changed.
    pub neighbours: Neighbours,
    /// All of it in ρ.
    pub rho: Exact,
    /// All of it in pure ε, which there is where no charge is in ρ.
    pub epsilon: Option<Exact>,
    /// The charges in ε alone, and those in ρ alone.
    apart: (Exact, Exact),
    /// Of one charge alone: what its release is by the law of its own loss.
    alone: Option<Alone>,
}

/// What one charge costs a unit that comes or goes, in some currency, and what twice that change costs.
type Price<'a> = &'a dyn Fn(&Charge) -> (Exact, Exact);

fn half_square(x: &Exact) -> Exact {
    x * x / RBig::from(2u8)
}

impl Spent {
    /// The sum of some charges.
    pub(crate) fn of(charges: &[&Charge]) -> Spent {
        let changed = charges.iter().any(|c| c.neighbours == Neighbours::Substitute);
        let neighbours = if changed { Neighbours::Substitute } else { Neighbours::AddRemove };
        let zero = || (RBig::ZERO, RBig::ZERO);
        let in_epsilon = |c: &Charge| match c.currency {
            Currency::Epsilon => (exact(c.charged), RBig::from(2u8) * exact(c.charged)),
            Currency::Rho => zero(),
        };
        let in_rho = |c: &Charge| match c.currency {
            Currency::Epsilon => zero(),
            Currency::Rho => (exact(c.charged), RBig::from(4u8) * exact(c.charged)),
        };
        let all_in_rho = |c: &Charge| match c.currency {
            Currency::Epsilon => {
                (half_square(&exact(c.charged)), half_square(&(RBig::from(2u8) * exact(c.charged))))
            }
            Currency::Rho => in_rho(c),
        };
        let sum = |price: Price| compose(charges, neighbours, price);
        let apart = (sum(&in_epsilon), sum(&in_rho));
        let pure = charges.iter().all(|c| c.currency == Currency::Epsilon);
        let alone = match charges {
            [only] => only.alone,
            _ => None,
        };
        Spent { neighbours, rho: sum(&all_in_rho), epsilon: pure.then(|| apart.0.clone()), apart, alone }
    }

    /// Whether nothing is.
    pub(crate) fn is_nothing(&self) -> bool {
        self.rho == RBig::ZERO
    }

    /// All of it in ε at δ, rounded up. `None` beyond what can be computed with.
    pub(crate) fn epsilon_at(&self, delta: Rational) -> Option<Exact> {
        if self.is_nothing() {
            return Some(RBig::ZERO);
        }
        let alone = self.alone_at(delta).map(exact);
        [alone, self.added_up_at(delta)].into_iter().flatten().min()
    }

    /// Of a single release by the law of its own loss, where it says that for this δ or a smaller one.
    pub(crate) fn alone_at(&self, delta: Rational) -> Option<Rational> {
        self.alone.filter(|alone| alone.delta <= delta).map(|alone| alone.epsilon)
    }

    /// By what adds up, and goes on adding up when more is charged.
    pub(crate) fn added_up_at(&self, delta: Rational) -> Option<Exact> {
        let of_rho = |rho: &Exact| -> Option<Exact> {
            if *rho == RBig::ZERO {
                return Some(RBig::ZERO);
            }
            RBig::try_from(convert::least_epsilon(up(rho)?, delta)?).ok()
        };
        let joined = of_rho(&self.rho);
        let apart = of_rho(&self.apart.1).map(|e| e + &self.apart.0);
        [joined, apart, self.epsilon.clone()].into_iter().flatten().min()
    }
}

/// The dearest unit.
fn compose(charges: &[&Charge], neighbours: Neighbours, price: Price) -> Exact {
    let mut total = RBig::ZERO;
    // For each part of each partition: a unit that stays in it, and one that comes into it or leaves it.
    let mut partitions: BTreeMap<String, BTreeMap<String, (Exact, Exact)>> = BTreeMap::new();
    for c in charges {
        let (once, twice) = price(c);
        let stays = match (neighbours, c.neighbours) {
            (Neighbours::Substitute, Neighbours::AddRemove) => twice,
            _ => once.clone(),
        };
        match c.part.as_deref().and_then(folded) {
            None => total += stays,
            Some((by, is)) => {
                let part = partitions.entry(by).or_default().entry(is).or_default();
                part.0 += stays;
                part.1 += once;
            }
        }
    }
    for parts in partitions.into_values() {
        let mut moves: Vec<Exact> = parts.values().map(|p| p.1.clone()).collect();
        moves.sort();
        let two: Exact = moves.into_iter().rev().take(2).fold(RBig::ZERO, |a, b| a + b);
        let within = parts.into_values().map(|p| p.0).max().unwrap_or_default();
        total += match neighbours {
            Neighbours::AddRemove => within,
            Neighbours::Substitute => within.max(two),
        };
    }
    total
}

/// A ratio of 128 bits that is not below, and hardly above.
pub(super) fn up(x: &Exact) -> Option<Rational> {
    if let Some(same) = rational(x) {
        return Some(same);
    }
    for shift in [100usize, 80, 60, 40, 20, 0] {
        let scaled = (x * RBig::from(UBig::ONE << shift)).ceil();
        if let Ok(n) = u128::try_from(scaled) {
            return Rational::new(n, 1u128.checked_shl(shift as u32)?);
        }
    }
    None
}

/// The same number in 128 bits, where it fits.
pub(crate) fn rational(x: &Exact) -> Option<Rational> {
    Rational::new(u128::try_from(x.numerator().clone()).ok()?, u128::try_from(x.denominator().clone()).ok()?)
}
