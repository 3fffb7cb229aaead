//! How many units had more rows than count, with noise: the one section with tag 9.
//!
//! A section is the scale of the noise (numerator and denominator, in lowest terms) and the noisy count, in the wire
//! format of [`super::codec`]. It is there exactly when the manifest says that this was measured.

use super::{Kind, Release, ReleaseError, codec};
use crate::exact::Rational;

const WHAT: &str = "the count of units that were cut";

/// The count and the scale of its noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncation {
    /// The parameter of the integer noise: σ² or b, as for any measurement.
    pub scale: Rational,
    /// How many units had more rows than count, noise included.
    pub noisy: i64,
}

impl Truncation {
    /// The bytes of the section.
    pub fn encode(&self) -> Result<Vec<u8>, ReleaseError> {
        codec::encode(WHAT, &(self.scale.numerator(), self.scale.denominator(), self.noisy))
    }

    /// From the bytes of the section.
    pub fn decode(bytes: &[u8]) -> Result<Truncation, ReleaseError> {
        let (num, den, noisy) = codec::decode::<(u128, u128, i64)>(WHAT, bytes)?;
        let scale = Rational::new(num, den).filter(|r| (r.numerator(), r.denominator()) == (num, den));
        match scale {
            Some(scale) if !scale.is_zero() => Ok(Truncation { scale, noisy }),
            _ => Err(invalid("its scale is not a positive rational in lowest terms")),
        }
    }
}

fn invalid(why: &str) -> ReleaseError {
    ReleaseError::Invalid { what: WHAT, why: why.into() }
}

impl Release {
    /// How many units had more rows than count, where that was measured.
    pub fn truncation(&self) -> Result<Option<Truncation>, ReleaseError> {
        let said = self.manifest().privacy.truncation.as_ref();
        if self.count(Kind::Truncation) == 0 {
            return match said {
                None => Ok(None),
                Some(_) => Err(invalid("the manifest names it, and the file does not hold it")),
            };
        }
        let found = Truncation::decode(&self.section(Kind::Truncation, 0)?)?;
        if said.is_none_or(|s| s.scale != found.scale) {
            return Err(invalid("the manifest says another scale"));
        }
        if self.manifest().privacy.bound().is_none() {
            return Err(invalid("no rows are left out where every row is its own unit"));
        }
        Ok(Some(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_pinned_and_strict() {
        let of = |num, den, noisy| Truncation { scale: Rational::new(num, den).unwrap(), noisy };
        let bytes = of(100, 3, -2).encode().unwrap();
        assert_eq!(bytes, [100, 3, 3]);
        assert_eq!(Truncation::decode(&bytes).unwrap(), of(100, 3, -2));
        for bad in
            [&[][..], &[100, 3], &[100, 3, 3, 0], &[0, 1, 3], &[1, 0, 3], &[2, 4, 3], &[251, 3, 0, 3, 3]]
        {
            assert!(Truncation::decode(bad).is_err(), "{bad:?}");
        }
    }
}
