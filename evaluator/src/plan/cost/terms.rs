//! What costs are made of: sums in fixed point, and how the worst case was found.

use crate::exact::Rational;
use crate::plan::Neighbours;
#[cfg(feature = "faults")]
use crate::planted::{self, Planted};

/// Why a cost cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CostError {
    /// The integers involved do not fit; a plan with such numbers is refused.
    #[error("the privacy cost of measurement {0} does not fit the arithmetic")]
    Overflow(usize),
    /// Squared lengths say nothing of absolute values.
    #[error(
        "measurement {0} is of a component, told by differences, weights or bases: these need Gaussian noise"
    )]
    Squares(usize),
    /// A scale of zero would be no noise at all.
    #[error("measurement {0} has no noise")]
    NoNoise(usize),
}

/// How the worst case over all pairs of neighbours was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorstCase {
    /// Every unit costs the same in every block: the costs add up.
    Sum,
    /// The maximum over all cells.
    Cells,
    /// The maximum over all sets of dimensions in which two cells can differ.
    Joint,
    /// An upper bound: the dearest of each channel or kind of block together; where units change, two cells' vectors taken as opposite in every block.
    Bound,
}

impl WorstCase {
    /// In words; where units come and go each is in cells of its own, and there are no pairs. `None` of what simply adds up.
    pub fn words(self, neighbours: Neighbours) -> Option<&'static str> {
        Some(match (self, neighbours) {
            (WorstCase::Sum, _) => return None,
            (WorstCase::Cells, _) => "the exact maximum over all cells",
            (WorstCase::Joint, _) => "the exact maximum over all pairs of cells",
            (WorstCase::Bound, Neighbours::AddRemove) => "an upper bound over all cells",
            (WorstCase::Bound, Neighbours::Substitute) => "an upper bound over all pairs of cells",
        })
    }

    /// Of two channels together: the worst units of each need not be the same.
    pub(super) fn beside(self, other: WorstCase) -> WorstCase {
        match (self, other) {
            (WorstCase::Sum, case) | (case, WorstCase::Sum) => case,
            _ => WorstCase::Bound,
        }
    }
}

/// Sums are of numbers with so many fractional bits.
pub(super) const FRACTION_BITS: u32 = 96;

/// `⌈r · 2^96⌉`.
pub(super) fn fixed_point_up(r: Rational) -> Option<u128> {
    let (num, den) = (r.numerator(), r.denominator());
    let mut quotient = num / den;
    let mut remainder = num % den;
    let mut left = FRACTION_BITS;
    while left > 0 {
        // As many bits at a time as the remainder leaves room for.
        let step = remainder.leading_zeros().min(left).min(64);
        if step == 0 {
            return None;
        }
        remainder <<= step;
        quotient = quotient.checked_mul(1 << step)?.checked_add(remainder / den)?;
        remainder %= den;
        left -= step;
    }
    #[cfg(feature = "faults")]
    if planted::on(Planted::RoundedDown) {
        return Some(quotient);
    }
    quotient.checked_add(u128::from(remainder > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_point_rounds_up() {
        let third = Rational::new(1, 3).unwrap();
        let up = fixed_point_up(third).unwrap();
        assert_eq!(up, (1u128 << 96) / 3 + 1);
        assert_eq!(fixed_point_up(Rational::new(5, 4).unwrap()).unwrap(), (1 << 96) + (1 << 94));
        assert_eq!(fixed_point_up(Rational::new(1, (1 << 100) + 1).unwrap()).unwrap(), 1);
        assert!(fixed_point_up(Rational::whole(1 << 33)).is_none());
        assert!(fixed_point_up(Rational::new(u128::MAX - 1, u128::MAX).unwrap()).is_none());
    }

    /// No statistic sees a cost that is rounded down; the test above does.
    #[cfg(feature = "faults")]
    #[test]
    fn rounding_down_is_noticed() {
        planted::plant(Some(Planted::RoundedDown));
        let failed = std::panic::catch_unwind(fixed_point_rounds_up).is_err();
        planted::plant(None);
        assert!(failed);
    }
}
