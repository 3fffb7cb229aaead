//! Sums of charges.

use super::{Entry, LedgerError, Status};
use crate::exact::Rational;
use crate::plan::Neighbours;
use crate::release::Currency;
use serde::Serialize;

/// What a dataset has spent in one currency for one kind of unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Total {
    /// What the agency calls the dataset.
    pub dataset: String,
    /// Whom the guarantees protect.
    pub unit: String,
    /// What a neighbouring dataset is.
    pub neighbours: Neighbours,
    /// ρ or ε; both compose by addition, each with its own kind.
    pub currency: Currency,
    /// The sum: exact, or rounded up when an exact one does not fit 128 bits.
    pub charged: Rational,
    /// How many charges it sums.
    pub charges: usize,
    /// How many of them became a file.
    pub sealed: usize,
}

pub(super) fn totals(entries: &[Entry]) -> Result<Vec<Total>, LedgerError> {
    let mut totals: Vec<Total> = Vec::new();
    for e in entries {
        let same = |t: &Total| {
            (&t.dataset, &t.unit, t.neighbours, t.currency) == (&e.dataset, &e.unit, e.neighbours, e.currency)
        };
        let at = totals.iter().position(same).unwrap_or(totals.len());
        if at == totals.len() {
            totals.push(Total {
                dataset: e.dataset.clone(),
                unit: e.unit.clone(),
                neighbours: e.neighbours,
                currency: e.currency,
                charged: Rational::ZERO,
                charges: 0,
                sealed: 0,
            });
        }
        let Some(total) = totals.get_mut(at) else { continue };
        match e.status {
            Status::Charged => {
                let too_much =
                    || LedgerError::Refused(format!("the total of {:?} does not fit 128 bits", e.dataset));
                total.charged = add_up(total.charged, e.charged).ok_or_else(too_much)?;
                total.charges += 1;
            }
            Status::Sealed => total.sealed += 1,
            Status::Abandoned => {}
        }
    }
    Ok(totals)
}

/// The sum, rounded up to whole 10⁻¹⁸ parts of each term when the exact one does not fit: what was spent may be
/// overstated, never understated.
fn add_up(a: Rational, b: Rational) -> Option<Rational> {
    a.checked_add(b).or_else(|| round_up(a)?.checked_add(round_up(b)?))
}

/// The least multiple of 10⁻¹⁸ that is not below `r`, or a little more.
fn round_up(r: Rational) -> Option<Rational> {
    const UNIT: u128 = 1_000_000_000_000_000_000;
    let (mut rest, mut den) = (r.numerator() % r.denominator(), r.denominator());
    // Room for ten times the rest; the fraction only grows.
    while den > u128::MAX / 16 {
        rest = rest.div_ceil(2);
        den /= 2;
    }
    let mut parts = 0u128;
    for _ in 0..18 {
        rest *= 10;
        parts = parts * 10 + rest / den;
        rest %= den;
    }
    let parts = parts + u128::from(rest > 0);
    let whole = (r.numerator() / r.denominator()).checked_mul(UNIT)?;
    Rational::new(whole.checked_add(parts)?, UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn exact_when_it_fits() {
        let r = |t: &str| t.parse::<Rational>().unwrap();
        assert_eq!(add_up(r("1/3"), r("1/6")), Some(r("1/2")));
        assert_eq!(round_up(r("5/2")), Some(r("5/2")));
        assert_eq!(round_up(r("1/3")), Some(r("333333333333333334/1000000000000000000")));
        assert_eq!(add_up(Rational::whole(u128::MAX), Rational::ONE), None);
    }

    proptest! {
        /// Never below, and above by no more than a few parts.
        #[test]
        fn rounds_up(num in 0u128..=u128::MAX, den in 1u128..=u128::MAX) {
            let r = Rational::new(num, den).unwrap();
            if let Some(up) = round_up(r) {
                prop_assert!(up >= r);
                prop_assert!(up.to_f64() <= r.to_f64() + 3e-18 + r.to_f64() * 1e-12);
            } else {
                prop_assert!(num / den > u128::MAX / 1_000_000_000_000_000_000 - 2);
            }
        }

        #[test]
        fn sums_are_never_understated(a in 1u128..1 << 90, b in 1u128..=u128::MAX, c in 1u128..1 << 90, d in 1u128..=u128::MAX) {
            let (x, y) = (Rational::new(a, b).unwrap(), Rational::new(c, d).unwrap());
            if let Some(sum) = add_up(x, y) {
                prop_assert!(sum.to_f64() >= (x.to_f64() + y.to_f64()) * (1.0 - 1e-15));
                prop_assert!(sum >= x && sum >= y);
            }
        }
    }
}
