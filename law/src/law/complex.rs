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
