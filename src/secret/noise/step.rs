//! From a discrete Laplace law to a wider one, by adding noise; and the uniform law of a centre.

use super::exp;
use super::{NoiseError, Sampler};
use crate::exact::Rational;
use dashu_int::UBig;
use rand::Rng;

/// Draws `W` such that `DLap(b₁) + W` has the law `DLap(b₂)`, exactly, for independent summands and `b₁ ≤ b₂`.
///
/// **Guarantee.** With `q = e^{−1/b}`: `W = 0` with probability `p = (q₁/q₂)(1−q₂)²/(1−q₁)²`, and `W` is `DLap(b₂)` otherwise. So a copy made by
/// adding `W` to one of scale `b₁` has exactly the law of a measuring at scale `b₂`, and costs what that costs; while both together
/// cost what the first costs, `W` being independent of the data.
///
/// **Proof.** The generating function of DLap(q) is `(1−q)²/((1−qz)(1−q/z))`, and `(1−qz)(1−q/z) = 1+q²−q(z+1/z)`. The quotient of the two
/// laws' functions is `(1−q₂)²/(1−q₁)² · (1+q₁²−q₁y)/(1+q₂²−q₂y)` with `y = z+1/z`. Dividing, `1+q₁²−q₁y = (q₁/q₂)(1+q₂²−q₂y) +
/// (1−q₁/q₂)(1−q₁q₂)`: a constant p and a multiple of the wider law's own function, with weights that are not negative and add
/// up to 1 (at z = 1). The probability p is compared with a uniform fraction by certain bounds, of which more digits are worked out until they settle it,
/// as in [`Sampler`]; no rounding takes part in the law.
///
/// **Source.** The continuous case: Koufogiannis, Han & Pappas 2016 (gradual release). The discrete one is worked out here.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    from: Rational,
    to: Rational,
    wide: Sampler,
    /// Bounds of `2^64·p`, which is 2^64 where the scales are equal: no word tells that.
    low: u128,
    high: u128,
}

impl Step {
    /// From scale `from` to scale `to`, which must not be smaller.
    pub(crate) fn new(from: Rational, to: Rational) -> Result<Step, NoiseError> {
        if from.is_zero() || to < from {
            return Err(NoiseError::ZeroScale);
        }
        let mut step = Step { from, to, wide: Sampler::laplace(to)?, low: 0, high: u128::MAX };
        let (low, high) = step.enclose(64);
        step.low = u128::try_from(&low).unwrap_or(0);
        step.high = u128::try_from(&high).unwrap_or(u128::MAX);
        Ok(step)
    }

    /// Bounds of `2^bits·p`, ever closer as there are more bits.
    fn enclose(&self, bits: usize) -> (UBig, UBig) {
        // Of scales up to 2^40 the differences 1 − q keep as many digits again as these lose.
        let work = bits + 192;
        let one = UBig::ONE << work;
        let q = |b: Rational| {
            let (low, high) = exp::exact(&UBig::from(b.denominator()), &UBig::from(b.numerator()), work);
            (low, high.min(one.clone()))
        };
        let ((low1, high1), (low2, high2)) = (q(self.from), q(self.to));
        let bound = |q1: &UBig, q2: &UBig| -> Option<(UBig, UBig)> {
            let (rest1, rest2) = (&one - q1, &one - q2);
            let below = q2 * &rest1 * &rest1;
            (below != UBig::ZERO).then(|| ((q1 * &rest2 * &rest2) << bits, below))
        };
        // p grows with q₁ and falls with q₂.
        let low = bound(&low1, &high2).map_or(UBig::ZERO, |(a, b)| a / b);
        let high = bound(&high1, &low2).map_or(UBig::ONE << bits, |(a, b)| a / b + UBig::ONE);
        (low, high)
    }

    /// One draw.
    pub(crate) fn draw<R: Rng + ?Sized>(&self, bits: &mut R) -> i64 {
        if self.stays(bits) { 0 } else { self.wide.draw(bits) }
    }

    /// Whether a uniform fraction lies below p.
    fn stays<R: Rng + ?Sized>(&self, bits: &mut R) -> bool {
        let word = bits.next_u64();
        if u128::from(word) < self.low {
            // Then the fraction is below (word + 1)/2^64 ≤ p.
            return true;
        }
        if u128::from(word) >= self.high {
            return false;
        }
        let mut drawn = UBig::from(word);
        let mut fraction = 64;
        loop {
            drawn = (drawn << 64) + UBig::from(bits.next_u64());
            fraction += 64;
            let (low, high) = self.enclose(fraction);
            if &drawn + UBig::ONE <= low {
                return true;
            }
            if drawn >= high {
                return false;
            }
            // Equal scales: p is 1, which no bound ever proves.
            if self.from == self.to {
                return true;
            }
        }
    }
}

/// A whole number drawn uniformly from 0 … `most`.
///
/// **Guarantee.** Exactly uniform: words are cut to as many bits as `most` has, and drawn again while they are beyond it.
pub(crate) fn uniform<R: Rng + ?Sized>(most: u64, bits: &mut R) -> u64 {
    let mask = u64::MAX.checked_shr(most.leading_zeros()).unwrap_or(0);
    loop {
        let word = bits.next_u64() & mask;
        if word <= most {
            return word;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::noise::Entropy;

    fn r(text: &str) -> Rational {
        text.parse().unwrap()
    }

    fn probability(b1: f64, b2: f64) -> f64 {
        let (q1, q2) = ((-1.0 / b1).exp(), (-1.0 / b2).exp());
        q1 / q2 * ((1.0 - q2) / (1.0 - q1)).powi(2)
    }

    /// The convolution of the narrow law with the step's is the wide law, to the last digits.
    #[test]
    fn the_step_leads_from_one_law_to_the_other() {
        for (b1, b2) in [(0.3, 0.4), (1.0, 2.0), (0.5, 7.0), (6.0, 6.5), (3.0, 3.0)] {
            let mass = |b: f64, k: i64| (0.5 / b).tanh() * (-(k.abs() as f64) / b).exp();
            let p = probability(b1, b2);
            let n = 400;
            for x in 0..60 {
                let through: f64 = (-n..=n).map(|k| mass(b1, x - k) * mass(b2, k)).sum();
                let sum = p * mass(b1, x) + (1.0 - p) * through;
                assert!((sum - mass(b2, x)).abs() < 1e-13, "{b1} {b2} {x}");
            }
        }
    }

    #[test]
    fn bounds_hold_the_probability() {
        for (b1, b2) in [
            ("1", "2"),
            ("1/3", "40"),
            ("1e6", "1000001"),
            ("1e12", "1.000001e12"),
            ("1e-3", "1"),
            ("5", "5"),
        ] {
            let step = Step::new(r(b1), r(b2)).unwrap();
            let (low, high) = step.enclose(300);
            assert!(low <= high && &high - &low < UBig::ONE << 40usize, "{b1} {b2}");
            let (b1, b2) = (r(b1).to_f64(), r(b2).to_f64());
            // (1 − q)/√q is 2 sinh(1/2b): no cancellation.
            let want = ((0.5 / b2).sinh() / (0.5 / b1).sinh()).powi(2);
            let want = if want.is_nan() { 0.0 } else { want };
            for bound in [step.low, step.high] {
                let got = bound as f64 / 2f64.powi(64);
                assert!((got - want).abs() < 1e-12, "{b1} {b2}: {got} {want}");
            }
        }
        // Where no digit is left of what both laws give to 1, nothing is known, and nothing is claimed.
        let step = Step::new(r("1e-4"), r("1e-4")).unwrap();
        assert_eq!((step.low, step.high), (0, 1 << 64));
        assert!(Step::new(r("2"), r("1")).is_err() && Step::new(Rational::ZERO, r("1")).is_err());
    }

    /// 200 000 draws of narrow + step against the wide law, and against one a tenth wider: chi-square over single values, and how
    /// often nothing is added.
    #[test]
    fn drawn_sums_have_the_wide_law() {
        for (i, (b1, b2)) in [("1", "3"), ("2", "5/2"), ("7", "19"), ("1/2", "1")].into_iter().enumerate() {
            let (narrow, step) = (Sampler::laplace(r(b1)).unwrap(), Step::new(r(b1), r(b2)).unwrap());
            let mut bits = Entropy::fixed(40 + i as u64).stream(0);
            let n = 200_000;
            let (b1, b2) = (r(b1).to_f64(), r(b2).to_f64());
            let reach = (4.0 * b2) as i64 + 1;
            let mut seen = vec![0.0; (2 * reach + 1) as usize];
            let mut stayed = 0.0;
            for _ in 0..n {
                let more = step.draw(&mut bits);
                stayed += f64::from(u8::from(more == 0));
                let x = narrow.draw(&mut bits) + more;
                if x.abs() <= reach {
                    seen[(x + reach) as usize] += 1.0;
                }
            }
            let score = |b: f64| -> f64 {
                let mass = |k: i64| (0.5 / b).tanh() * (-(k.abs() as f64) / b).exp() * f64::from(n);
                let chi: f64 = seen.iter().zip(-reach..).map(|(s, k)| (s - mass(k)).powi(2) / mass(k)).sum();
                (chi - seen.len() as f64) / (2.0 * seen.len() as f64).sqrt()
            };
            assert!(score(b2) < 4.5, "{b1} {b2}: {}", score(b2));
            assert!(score(1.1 * b2) > 8.0, "a tenth more would pass: {}", score(1.1 * b2));
            let p = probability(b1, b2);
            let zero = p + (1.0 - p) * (0.5 / b2).tanh();
            let sigma = (zero * (1.0 - zero) / f64::from(n)).sqrt();
            assert!((stayed / f64::from(n) - zero).abs() < 4.5 * sigma, "{b1} {b2}");
        }
    }

    #[test]
    fn a_comparison_that_the_first_word_leaves_open_is_settled() {
        let step = Step::new(r("3"), r("4")).unwrap();
        // The bounds leave one or two words open; from there on further words decide.
        let open = Step { low: 0, high: u128::MAX, ..step.clone() };
        let mut bits = Entropy::fixed(3).stream(1);
        let n = 4000;
        let stayed = (0..n).filter(|_| open.stays(&mut bits)).count() as f64;
        let p = probability(3.0, 4.0);
        assert!((stayed / f64::from(n) - p).abs() < 5.0 * (p * (1.0 - p) / f64::from(n)).sqrt());
        let same = Step::new(r("3"), r("3")).unwrap();
        assert!((0..1000).all(|_| same.draw(&mut bits) == 0));
    }

    #[test]
    fn centres_are_uniform() {
        let mut bits = Entropy::fixed(8).stream(2);
        for most in [0u64, 1, 2, 40, 63, 64] {
            let n = 20_000.0;
            let mut seen = vec![0.0; most as usize + 1];
            (0..n as u32).for_each(|_| seen[uniform(most, &mut bits) as usize] += 1.0);
            let each = n / seen.len() as f64;
            let chi: f64 = seen.iter().map(|s| (s - each) * (s - each) / each).sum();
            assert!(chi < most as f64 + 5.0 * (2.0 * most as f64).sqrt() + 1e-9, "{most}: {chi}");
        }
    }
}
