//! The two laws, both `exp(−γ(|x|))` with γ rational, increasing and convex from γ(0) = 0.

use super::NoiseError;
use super::exp;
use crate::exact::Rational;
use crate::plan::Noise;
#[cfg(feature = "faults")]
use crate::planted::{self, Planted};
use dashu_int::UBig;
use dashu_int::ops::BitTest;

/// A law on the integers with its scale: `γ(x) = x²/(2s²)` of the Gaussian, `γ(x) = x/b` of the Laplace.
#[derive(Debug, Clone)]
pub(super) struct Law {
    pub noise: Noise,
    /// γ(x) is `num/den` times x² or x.
    num: UBig,
    den: UBig,
    /// `num/den = mantissa·2^−exponent`, rounded down to 64 significant bits.
    mantissa: u64,
    exponent: i32,
    /// `⌈s⌉` or `⌈b⌉`.
    pub ceiling: u64,
}

impl Law {
    pub(super) fn new(noise: Noise, scale: Rational) -> Result<Law, NoiseError> {
        if scale.is_zero() {
            return Err(NoiseError::ZeroScale);
        }
        #[cfg(feature = "faults")]
        let scale = match planted::on(Planted::ScaleOff) {
            true => Rational::new(1999, 2000).and_then(|part| scale.checked_mul(part)).unwrap_or(scale),
            false => scale,
        };
        let ceil = scale.numerator().div_ceil(scale.denominator());
        let (largest, factor) = (noise.largest_scale(), noise.divisor());
        let ceiling = match noise {
            Noise::Gaussian => {
                let root = ceil.isqrt();
                if root * root == ceil { root } else { root + 1 }
            }
            Noise::Laplace => ceil,
        };
        if scale > largest {
            return Err(NoiseError::TooLarge { scale, largest });
        }
        let ceiling = u64::try_from(ceiling).map_err(|_| NoiseError::TooLarge { scale, largest })?;
        let (num, den) = (UBig::from(scale.denominator()), UBig::from(scale.numerator()) * factor);
        let (mantissa, exponent) = leading(&num, &den);
        Ok(Law { noise, num, den, mantissa, exponent, ceiling })
    }

    fn power(&self, x: u64) -> u128 {
        match self.noise {
            Noise::Gaussian => u128::from(x) * u128::from(x),
            Noise::Laplace => u128::from(x),
        }
    }

    /// `γ(x)·2^62`, less than `1 + γ(x)` units (of `2^−62`) below the truth; saturates.
    ///
    /// x² is cut to its leading 64 bits and so is the rate: two relative errors below `2^−63`. The product of
    /// the two is exact in 128 bits; shifting it loses less than a unit.
    pub(crate) fn gamma(&self, x: u64) -> u128 {
        let y = self.power(x);
        let cut = 64u32.saturating_sub(y.leading_zeros());
        let product = (y >> cut) * u128::from(self.mantissa);
        let shift = exp::FRACTION as i32 + cut as i32 - self.exponent;
        let amount = shift.unsigned_abs();
        match shift {
            0.. if amount <= product.leading_zeros() => product.checked_shl(amount).unwrap_or(0),
            0.. => u128::MAX,
            _ => product.checked_shr(amount).unwrap_or(0),
        }
    }

    /// Bounds of `2^62·exp(−γ(x))`.
    pub(crate) fn enclose(&self, x: u64, slack: u64) -> (u64, u64) {
        exp::enclose(self.gamma(x), slack)
    }

    /// Bounds of `2^bits·exp(−γ(x))`, as close as need be.
    pub(crate) fn enclose_exact(&self, x: u64, bits: usize) -> (UBig, UBig) {
        exp::exact(&(&self.num * self.power(x)), &self.den, bits)
    }
}

/// The leading 64 bits of a positive rational and its exponent: `num/den ≈ mantissa·2^−exponent`, rounded down.
fn leading(num: &UBig, den: &UBig) -> (u64, i32) {
    // Between 2^63 and 2^65, so one of two exponents gives a mantissa of exactly 64 bits.
    let mut exponent = 64 + den.bit_len() as i32 - num.bit_len() as i32;
    loop {
        let amount = exponent.unsigned_abs() as usize;
        let ratio = if exponent >= 0 { (num << amount) / den } else { num / (den << amount) };
        match u64::try_from(&ratio) {
            Ok(mantissa) => return (mantissa, exponent),
            Err(_) => exponent -= 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(noise: Noise, scale: &str) -> Law {
        Law::new(noise, scale.parse().unwrap()).unwrap()
    }

    #[test]
    fn gamma_is_the_exponent_rounded_down() {
        for noise in [Noise::Gaussian, Noise::Laplace] {
            for scale in ["1", "1/3", "1e-20", "542/339", "123456789/1024", "1e12", "0.001", "1099511627776"]
            {
                let law = law(noise, scale);
                for x in [0u64, 1, 2, 3, 17, 1000, 65_537, 123_456_789, 1 << 40, (1 << 55) + 12_345] {
                    let truth = ((&law.num * law.power(x)) << 62) / &law.den;
                    let got = UBig::from(law.gamma(x));
                    if truth.bit_len() > 128 {
                        assert_eq!(got, UBig::from(u128::MAX), "{noise:?} {scale} {x}");
                    } else {
                        assert!(got <= truth, "{noise:?} {scale} {x}");
                        let room = (&truth >> 62) + UBig::from(2u8);
                        assert!(&truth - &got <= room, "{noise:?} {scale} {x}: {truth} {got}");
                    }
                }
            }
        }
    }

    #[test]
    fn bounds_of_both_kinds_overlap() {
        for (noise, scale) in
            [(Noise::Gaussian, "542/339"), (Noise::Gaussian, "1e18"), (Noise::Laplace, "7/3")]
        {
            let law = law(noise, scale);
            for i in 0..400 {
                let x = i * law.ceiling.div_ceil(50);
                let (low, high) = law.enclose(x, exp::SLACK);
                let (exact_low, exact_high) = law.enclose_exact(x, 62);
                assert!(UBig::from(low) <= exact_high && exact_low <= UBig::from(high), "{scale} {x}");
            }
        }
    }

    #[test]
    fn scales_that_cannot_be_handled_are_refused() {
        let new = |noise, scale: Rational| Law::new(noise, scale).map(|l| l.ceiling);
        assert_eq!(new(Noise::Gaussian, Rational::ZERO), Err(NoiseError::ZeroScale));
        assert_eq!(new(Noise::Gaussian, Rational::whole(1 << 104)), Ok(1 << 52));
        assert!(matches!(
            new(Noise::Gaussian, Rational::whole((1 << 104) + 1)),
            Err(NoiseError::TooLarge { .. })
        ));
        assert_eq!(new(Noise::Laplace, Rational::whole(1 << 40)), Ok(1 << 40));
        assert!(new(Noise::Laplace, Rational::whole((1 << 40) + 1)).is_err());
        assert!(new(Noise::Laplace, Rational::whole(u128::MAX)).is_err());
        assert_eq!(new(Noise::Laplace, Rational::new(1, u128::MAX).unwrap()), Ok(1));
        assert_eq!(new(Noise::Gaussian, Rational::new(u128::MAX, u128::MAX - 1).unwrap()), Ok(2));
    }
}
