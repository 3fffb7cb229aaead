//! The generator of every simulation, and how a noise is drawn with it.
//!
//! It is xoshiro256++ seeded by splitmix64: small, fast, reproducible, and *not* for privacy. It
//! only ever simulates errors of releases that are already public.

use super::NoiseLaw;
use crate::numeric::dice::Dice;
use std::f64::consts::PI;

/// The generator of every simulation.
pub struct Generator([u64; 4]);

impl Generator {
    /// The sequence of this number.
    pub fn new(seed: u64) -> Generator {
        let mut dice = Dice::new(seed);
        Generator(std::array::from_fn(|_| dice.bits()))
    }

    fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform on the open interval (0, 1).
    pub fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// 1 or −1.
    pub(crate) fn sign(&mut self) -> f64 {
        if self.next() >> 63 == 0 { 1.0 } else { -1.0 }
    }

    /// The number of failures before the first success, with `P(K >= k) = e^{−k/b}`.
    fn geometric(&mut self, b: f64) -> f64 {
        libm::floor(-b * libm::log(self.uniform()))
    }

    /// One noise.
    pub fn draw(&mut self, noise: &NoiseLaw) -> f64 {
        match *noise {
            NoiseLaw::Laplace { scale } => -scale * libm::log(self.uniform()) * self.sign(),
            NoiseLaw::DiscreteLaplace { scale } => self.geometric(scale) - self.geometric(scale),
            NoiseLaw::Uniform { reach } => libm::floor(self.uniform() * (2.0 * reach + 1.0)) - reach,
            NoiseLaw::Gaussian { variance } => {
                let r = libm::sqrt(-2.0 * variance * libm::log(self.uniform()));
                r * libm::cos(2.0 * PI * self.uniform())
            }
            // Rejection from the discrete Laplace of scale ⌊s⌋+1 (Canonne, Kamath & Steinke 2020).
            NoiseLaw::DiscreteGaussian { variance } => {
                let t = libm::floor(libm::sqrt(variance)) + 1.0;
                loop {
                    let y = self.geometric(t) - self.geometric(t);
                    let d = y.abs() - variance / t;
                    if self.uniform() < libm::exp(-d * d / (2.0 * variance)) {
                        return y;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Generator;

    /// The first numbers of xoshiro256++ from the state 1, 2, 3, 4, as its authors' program and others print them.
    #[test]
    fn the_sequence_is_the_published_one() {
        let mut generator = Generator([1, 2, 3, 4]);
        let want = [
            41943041,
            58720359,
            3588806011781223,
            3591011842654386,
            9228616714210784205,
            9973669472204895162,
            14011001112246962877,
            12406186145184390807,
            15849039046786891736,
            10450023813501588000,
        ];
        assert_eq!([(); 10].map(|()| generator.next()), want);
    }
}
