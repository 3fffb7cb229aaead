//! The channels beside rows, each in a section that holds its plan and its values.
//!
//! The units that were cut: the one section with tag 9. It is the scale of the noise (numerator and denominator, in lowest terms) and the
//! noisy count, in the wire format of [`super::codec`], and is there exactly when the manifest says that this was measured.
//!
//! What rows have of numbers: a section with tag 12 each, see [`super::sums`].

use super::sums::{self, Measured};
use super::{Kind, Release, ReleaseError, codec};
use crate::cube::{Cube, Integers};
use crate::exact::Rational;
use crate::plan::{Channel, Plan, Subject};

const WHAT: &str = "the count of units that were cut";

fn invalid(why: &str) -> ReleaseError {
    ReleaseError::Invalid { what: WHAT, why: why.into() }
}

/// The section of a plan's channel beside rows, with the values of its measurements.
pub fn encode(
    plan: &Plan,
    cube: &Cube,
    channel: &Channel,
    (values, exact): (&[Integers], &[Vec<i64>]),
) -> Result<(Kind, Vec<u8>), ReleaseError> {
    match &channel.subject {
        Subject::CutUnits => Ok((Kind::CutUnits, encode_cut_units(channel, values)?)),
        Subject::Sum(_)
        | Subject::Valued(_)
        | Subject::Squares(_)
        | Subject::Below(_)
        | Subject::Above(_) => {
            // A copy's section is as the plan section is: of the most precise one.
            let first = plan.first();
            let channel = first.channel(&channel.subject).ok_or_else(|| invalid("it is not of this plan"))?;
            Ok((Kind::Sums, sums::encode(&first, cube, channel, (values, exact))?))
        }
        Subject::Rows => Err(invalid("rows have sections of their own")),
    }
}

fn encode_cut_units(channel: &Channel, values: &[Integers]) -> Result<Vec<u8>, ReleaseError> {
    match (&channel.measurements[..], values) {
        ([m], [values]) => match values.narrow() {
            Ok(&[one]) => codec::encode(WHAT, &(m.scale.numerator(), m.scale.denominator(), one)),
            _ => Err(invalid("it is not one number")),
        },
        _ => Err(invalid("it is not one number")),
    }
}

fn cut_units(bytes: &[u8]) -> Result<Measured, ReleaseError> {
    let (num, den, noisy) = codec::decode::<(u128, u128, i64)>(WHAT, bytes)?;
    let scale = Rational::new(num, den).filter(|r| (r.numerator(), r.denominator()) == (num, den));
    match scale {
        Some(scale) if !scale.is_zero() => {
            Ok((Channel::cut_units(scale), vec![vec![noisy].into()], Vec::new()))
        }
        _ => Err(invalid("its scale is not a positive rational in lowest terms")),
    }
}

impl Release {
    /// The channels beside rows, in the order of the plan, each with the values of its measurements and of its exact tables. `plan` is that of the rows, with
    /// its exact tables.
    pub fn beside(&self, plan: &Plan, cube: &Cube) -> Result<Vec<Measured>, ReleaseError> {
        let mut out: Vec<Measured> = self.cut()?.into_iter().collect();
        for index in 0..self.count(Kind::Sums) {
            out.push(sums::decode(&self.section(Kind::Sums, index)?, plan, cube)?);
        }
        sums::each_once(out.iter().map(|(channel, ..)| &channel.subject))?;
        sums::both_ends(&out)?;
        Ok(out)
    }

    fn cut(&self) -> Result<Option<Measured>, ReleaseError> {
        let said = self.manifest().privacy.truncation.as_ref();
        if self.count(Kind::CutUnits) == 0 {
            return match said {
                None => Ok(None),
                Some(_) => Err(invalid("the manifest names it, and the file does not hold it")),
            };
        }
        let found = cut_units(&self.section(Kind::CutUnits, 0)?)?;
        let scale = found.0.measurements.first().map(|m| m.scale);
        if said.map(|s| s.scale) != scale {
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
        let channel = Channel::cut_units(Rational::new(100, 3).unwrap());
        let bytes = encode_cut_units(&channel, &[vec![-2].into()]).unwrap();
        assert_eq!(&bytes[..], &[100, 3, 3][..]);
        assert_eq!(cut_units(&bytes).unwrap(), (channel.clone(), vec![vec![-2].into()], vec![]));
        for bad in
            [&[][..], &[100, 3], &[100, 3, 3, 0], &[0, 1, 3], &[1, 0, 3], &[2, 4, 3], &[251, 3, 0, 3, 3]]
        {
            assert!(cut_units(bad).is_err(), "{bad:?}");
        }
        let [none, one, two] = [vec![], vec![1], vec![1, 2]].map(Integers::from);
        for wrong in [&[][..], &[none], &[two], &[one.clone(), one]] {
            assert!(encode_cut_units(&channel, wrong).is_err(), "{wrong:?}");
        }
    }
}
