//! How far off the worst of a whole class of queries can be: α such that all k of them are within it but for probability β.

use crate::plan::Noise;

/// What one row of a dense projection leaves of a query: `Y = Σ_{a∈q} Σ_{l≠a} ε_a ε_l x_l + c z` with fair signs ε, `c = Σ_{a∈q} ε_a`
/// and the noise z of that row. The query's error is the mean of T of them.
pub(crate) struct Row {
    /// The most cells of a query; each counts once.
    pub cells: u64,
    /// ‖x‖², or more.
    pub norm: f64,
    /// The kind of noise.
    pub noise: Noise,
    /// Its parameter, as [`Noise::law`] takes it.
    pub scale: f64,
}

/// The highest moment that is tried.
const HIGHEST: u32 = 128;

/// `ln n!`
fn ln_factorial(n: u32) -> f64 {
    libm::lgamma(f64::from(n) + 1.0)
}

/// `ln (n−1)!!` for even n: the n-th moment of the standard normal law.
fn ln_normal(n: u32) -> f64 {
    ln_factorial(n) - f64::from(n / 2) * core::f64::consts::LN_2 - ln_factorial(n / 2)
}

impl Row {
    /// At least the variance of Y: `m‖x‖² + (1 − 2/m)θ²` of other counts, θ² being at most `m‖x‖²`, and `m var z`.
    pub(crate) fn variance(&self) -> f64 {
        let m = self.cells as f64;
        let others = if self.cells == 1 { 1.0 } else { 2.0 * m - 2.0 };
        others * self.norm + m * self.noise.variance(self.scale)
    }

    /// `ln E z^i` or more, i even.
    fn ln_noise(&self, i: u32) -> f64 {
        match self.noise {
            _ if i == 0 => 0.0,
            Noise::Gaussian => ln_normal(i) + 0.5 * f64::from(i) * libm::log(self.scale) + 1e-5,
            Noise::Laplace => ln_factorial(i) + f64::from(i) * libm::log(self.scale),
        }
    }

    /// At least `E Y^j / j!`, with Y divided by `unit`.
    fn moment(&self, j: u32, unit: f64) -> f64 {
        let single = self.cells == 1;
        if j == 2 {
            return 0.5 * self.variance() / (unit * unit);
        }
        if j < 2 || (single && j % 2 == 1) {
            return if j == 0 { 1.0 } else { 0.0 };
        }
        let order = f64::from(j);
        let scaled = 0.5 * order * libm::log(self.cells as f64) - order * libm::log(unit);
        let term = |i: u32| {
            let rest = j - i;
            let others = match rest {
                0 => 0.0,
                _ => 0.5 * f64::from(rest) * libm::log(self.norm),
            };
            let signs = ln_normal(if single { rest } else { j + rest });
            self.ln_noise(i) + others + signs - ln_factorial(i) - ln_factorial(rest) + scaled
        };
        (0..=j).step_by(2).map(|i| libm::exp(term(i))).sum()
    }

    /// α, given `ln(k/β)`: with probability at least 1 − β the mean of T such rows is within it for all k queries at once. The signs of all
    /// rows together are `independence`-wise independent.
    ///
    /// **Guarantee.** For counts that are not negative, and queries of at most so many cells that count once each.
    ///
    /// **Proof.** Let p be even and at most r/2. A product of p of the rows' errors has at most 2p signs, so `E (Σ Y_i)^p` is that under independent
    /// signs. There the rows are independent and of one law: it is `p!` times the coefficient of `s^p` in `(Σ_j E Y^j s^j/j!)^T`. Y is a polynomial with
    /// coefficients that are not negative in independent symmetric variables, so no moment of it is negative, and larger ones in place of
    /// `E Y^j` only make the sum larger. These are: 0 for j = 1, [`Row::variance`] for j = 2. For others put the terms `l = a` back and normal variables
    /// for the signs, whose even moments are no smaller: `Y ≤ C(R + z)` in every moment, C and R normal of variance m and ‖x‖² with a
    /// covariance θ of at most `√m‖x‖`, with which the moments grow (Isserlis). So `E Y^j ≤ m^{j/2} Σ_i C(j,i) E z^i ‖x‖^{j−i} (2j−i−1)!!` over
    /// even i. For one cell C is a sign: `Σ_i C(j,i) E z^i ‖x‖^{j−i} (j−i−1)!!` for even j, 0 for odd.
    ///
    /// The noise: a continuous Laplace variable of scale b is one of the discrete law with the same b, and an independent symmetric one (the whole and the
    /// fractional parts of the two exponential variables it is the difference of), so `E z^i ≤ i! b^i`. The discrete Gaussian's moments are at most the
    /// normal law's, for a parameter of at least four and but for a factor of 1.00001 (Poisson's summation formula); for less only p = 2 is used.
    ///
    /// Markov's inequality for each query and the union bound over all give `(E (Σ Y_i)^p k/β)^{1/p}/T`, of which the least over p counts. Where r sets
    /// no limit to p that is at most Chernoff's bound, `2 E cosh(sX) e^{−st} ≥ Σ s^p E X^p/p! / Σ s^p t^p/p!` over even p, because a quotient of
    /// sums is no less than the least quotient of their terms (Philips & Nelson 1995). p = 2 alone is Chebyshev's. ∎
    pub(crate) fn alpha(&self, rows: u32, ln_share: f64, independence: u32) -> f64 {
        let t = f64::from(rows);
        // The root of the sum's variance, so that all numbers are of the order of one.
        let unit = libm::sqrt(self.variance() * t);
        let mut best = chebyshev(ln_share);
        let most = if self.noise == Noise::Gaussian && self.scale < 4.0 { 2 } else { independence / 2 };
        let one: Vec<f64> = (0..=most.min(HIGHEST)).map(|j| self.moment(j, unit)).collect();
        let all = power(&one, rows);
        for (p, c) in (0..).zip(&all).skip(2).step_by(2) {
            let bound = libm::exp((ln_factorial(p) + libm::log(*c) + ln_share) / f64::from(p));
            if bound < best {
                best = bound;
            }
        }
        best * unit / t
    }
}

/// How many standard deviations any error stays within, given `ln(k/β)`: by Chebyshev's inequality.
pub(crate) fn chebyshev(ln_share: f64) -> f64 {
    libm::exp(0.5 * ln_share)
}

/// A power of a series, as far as the series is given.
fn power(series: &[f64], mut exponent: u32) -> Vec<f64> {
    let times = |a: &[f64], b: &[f64]| -> Vec<f64> {
        let at = |n: usize| a.iter().take(n + 1).zip(b[..=n].iter().rev()).map(|(x, y)| x * y).sum();
        (0..series.len()).map(at).collect()
    };
    let mut out: Vec<f64> = (0..series.len()).map(|n| if n == 0 { 1.0 } else { 0.0 }).collect();
    let mut square = series.to_vec();
    while exponent > 0 {
        if exponent % 2 == 1 {
            out = times(&out, &square);
        }
        square = times(&square, &square);
        exponent /= 2;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{ErrorLaw, NoiseLaw, Term};

    fn noise_alone(noise: Noise, scale: f64) -> Row {
        Row { cells: 1, norm: 0.0, noise, scale }
    }

    /// One cell and no other counts: the error is a mean of T noises, whose law is known exactly. α is no less than its quantile, hardly more, and
    /// no more than Chernoff's bound.
    #[test]
    fn alpha_of_noise_alone_is_hardly_above_the_exact_quantile() {
        for (noise, rows, b) in [
            (Noise::Laplace, 64, 3.0),
            (Noise::Laplace, 256, 2.0),
            (Noise::Laplace, 1024, 411.8),
            (Noise::Laplace, 65_536, 3296.0),
            (Noise::Gaussian, 1024, 34_200.0),
        ] {
            let t = f64::from(rows);
            for (share, times) in [(20.0, 1.4), (1e3, 1.2), (1e5, 1.15)] {
                let alpha = noise_alone(noise, b).alpha(rows, libm::log(share), 64);
                let term = Term { coefficient: 1.0 / t, copies: u64::from(rows), noise: noise.law(b) };
                let exact = ErrorLaw::new(vec![term]).unwrap().half_width(1.0 - 1.0 / share);
                assert!(alpha >= exact && alpha < times * exact, "{noise:?} {rows} {share}: {alpha} {exact}");
                if noise == Noise::Laplace {
                    // P(|mean| > a) ≤ 2 e^{−λTa} (1 − λ²b²)^{−T}, the best λ by search.
                    let exponent = |a: f64| {
                        let at = |i: u32| {
                            let lambda = f64::from(i) / 4000.0 / b;
                            -lambda * t * a - t * libm::log(1.0 - lambda * lambda * b * b)
                        };
                        (1..4000).map(at).fold(0.0, f64::min)
                    };
                    let chernoff = (1..).map(|i| f64::from(i) * 0.001 * exact);
                    let chernoff = { chernoff }.find(|&a| exponent(a) < libm::log(0.5 / share)).unwrap();
                    assert!(alpha <= 1.001 * chernoff, "{rows} {share}: {alpha} {chernoff}");
                }
            }
        }
    }

    /// The published noise for (1, 1e-9), 1,000 queries and β = 0.01.
    #[test]
    fn the_published_noise() {
        let scale = libm::sqrt(8.0 * libm::log(1e9)) * 256.0;
        let row = Row { cells: 1, norm: 1000.0, noise: Noise::Laplace, scale };
        let alpha = row.alpha(65_536, libm::log(1e5), 64);
        assert!((88.6..88.7).contains(&alpha), "{alpha}");
        // With four-wise independence there is nothing but Chebyshev's.
        let least = row.alpha(65_536, libm::log(1e5), 4);
        assert!((5750.0..5760.0).contains(&least), "{least}");
    }

    /// Every moment of a row, by going through all signs: it is no more than what is taken for it.
    #[test]
    fn moments_of_a_row_are_no_more_than_what_is_taken() {
        let counts = [3.0, 0.0, 1.0, 5.0, 2.0, 2.0, 1.0, 7.0];
        let norm: f64 = counts.iter().map(|x| x * x).sum();
        let scale = 4.0;
        for noise in [Noise::Gaussian, Noise::Laplace] {
            // The noise's own moments, by its law.
            let weight = |k: i32| match noise.law(scale) {
                NoiseLaw::DiscreteGaussian { variance } => libm::exp(-f64::from(k * k) / (2.0 * variance)),
                _ => libm::exp(-f64::from(k.abs()) / scale),
            };
            let total: f64 = (-600..=600).map(weight).sum();
            let of_noise = |i: i32| -> f64 {
                (-600..=600).map(|k| f64::from(k).powi(i) * weight(k)).sum::<f64>() / total
            };
            let noises: Vec<f64> = (0..=12).map(of_noise).collect();
            for query in [&[7][..], &[0], &[3, 7], &[0, 3, 4, 7], &[0, 1, 2, 3, 4, 5, 6, 7]] {
                let row = Row { cells: query.len() as u64, norm, noise, scale };
                let mut choose = vec![1.0];
                for j in 1..=12usize {
                    choose = (0..=j)
                        .map(|i| if i == 0 || i == j { 1.0 } else { choose[i - 1] + choose[i] })
                        .collect();
                    // Of what cancels exactly doubles leave a trace.
                    let (mut sum, mut size) = (0.0, 0.0);
                    for signs in 0..256u32 {
                        let sign = |l: usize| f64::from(1 - 2 * (signs >> l & 1) as i32);
                        let c: f64 = query.iter().map(|&a| sign(a)).sum();
                        let all: f64 = counts.iter().enumerate().map(|(l, x)| sign(l) * x).sum();
                        let off = c * all - query.iter().map(|&a| counts[a]).sum::<f64>();
                        for i in 0..=j {
                            let term = choose[i] * off.powi((j - i) as i32) * c.powi(i as i32) * noises[i];
                            (sum, size) = (sum + term, size + term.abs());
                        }
                    }
                    let (real, taken) =
                        (sum / 256.0, row.moment(j as u32, 1.0) * libm::tgamma(j as f64 + 1.0));
                    assert!(
                        real <= taken * (1.0 + 1e-9) + 1e-16 * size,
                        "{noise:?} {query:?} {j}: {real} {taken}"
                    );
                }
            }
        }
    }
}
