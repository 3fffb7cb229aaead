//! The few complex functions the inversion needs, on `libm`, so that results agree on every platform.

use std::ops::{Add, Mul, Neg, Sub};

/// A complex number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Complex {
    pub re: f64,
    pub im: f64,
}

impl Complex {
    pub(super) const ZERO: Complex = Complex { re: 0.0, im: 0.0 };

    pub(super) fn new(re: f64, im: f64) -> Complex {
        Complex { re, im }
    }

    pub(crate) fn scale(self, by: f64) -> Complex {
        Complex::new(self.re * by, self.im * by)
    }

    pub(crate) fn norm_sqr(self) -> f64 {
        self.re * self.re + self.im * self.im
    }

    pub(super) fn inverse(self) -> Complex {
        let d = self.norm_sqr();
        Complex::new(self.re / d, -self.im / d)
    }

    pub(crate) fn exp(self) -> Complex {
        let (sin, cos) = libm::sincos(self.im);
        let r = libm::exp(self.re);
        Complex::new(r * cos, r * sin)
    }

    /// `e^z − 1`, accurate for small `z`.
    pub(crate) fn exp_m1(self) -> Complex {
        let half = libm::sin(self.im / 2.0);
        let cos_m1 = -2.0 * half * half;
        let e = libm::expm1(self.re);
        Complex::new(e + (e + 1.0) * cos_m1, (e + 1.0) * libm::sin(self.im))
    }

    /// `sinh z`.
    pub(crate) fn sinh(self) -> Complex {
        let (sin, cos) = libm::sincos(self.im);
        Complex::new(libm::sinh(self.re) * cos, libm::cosh(self.re) * sin)
    }

    /// `ln(1 + z)`, accurate for small `z`.
    pub(crate) fn ln_1p(self) -> Complex {
        let re = if self.re.abs() < 0.5 && self.im.abs() < 0.5 {
            0.5 * libm::log1p(2.0 * self.re + self.norm_sqr())
        } else {
            libm::log(libm::hypot(1.0 + self.re, self.im))
        };
        Complex::new(re, libm::atan2(self.im, 1.0 + self.re))
    }
}

impl Add for Complex {
    type Output = Complex;
    fn add(self, o: Complex) -> Complex {
        Complex::new(self.re + o.re, self.im + o.im)
    }
}

impl Sub for Complex {
    type Output = Complex;
    fn sub(self, o: Complex) -> Complex {
        Complex::new(self.re - o.re, self.im - o.im)
    }
}

impl Neg for Complex {
    type Output = Complex;
    fn neg(self) -> Complex {
        Complex::new(-self.re, -self.im)
    }
}

impl Mul for Complex {
    type Output = Complex;
    fn mul(self, o: Complex) -> Complex {
        Complex::new(self.re * o.re - self.im * o.im, self.re * o.im + self.im * o.re)
    }
}

#[cfg(test)]
mod tests {
    use super::Complex;

    /// Each function undoes another or is made of it; near 0, the first terms of the series decide.
    #[test]
    fn functions_belong_together() {
        let one = Complex::new(1.0, 0.0);
        let near = |a: Complex, b: Complex| (a - b).norm_sqr() <= 1e-26 * b.norm_sqr();
        let parts = [0.0, 1e-12, 1e-9, 1e-3, 0.3, 0.49, 0.51, 0.9, 1.0 - 1e-7, 1.0 + 1e-7, 2.5];
        let both = || parts.into_iter().flat_map(|x| [x, -x]);
        for z in both().flat_map(|re| both().map(move |im| Complex::new(re, im))) {
            assert!(near(z.ln_1p().exp(), one + z), "{z:?}");
            assert!(near(z.exp_m1().ln_1p(), z), "{z:?}");
            assert!(near(z.exp() * (-z).exp(), one), "{z:?}");
            assert!(near(z.sinh() + z.sinh(), z.exp_m1() - (-z).exp_m1()), "{z:?}");
            if z.norm_sqr() > 0.0 {
                assert!(near(z * z.inverse(), one), "{z:?}");
            }
            if z.norm_sqr() < 1e-12 {
                let half = (z * z).scale(0.5);
                assert!(near(z.exp_m1(), z + half) && near(z.ln_1p(), z - half), "{z:?}");
            }
        }
        // Half a turn, and a quarter.
        let turn = Complex::new(0.0, std::f64::consts::PI);
        assert!((turn.exp() + one).norm_sqr() < 1e-30 && (turn.exp_m1() + one + one).norm_sqr() < 1e-30);
        assert!((turn.scale(0.5).sinh() - Complex::new(0.0, 1.0)).norm_sqr() < 1e-30);
    }
}
