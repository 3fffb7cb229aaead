//! What the signs' r-wise independence proves of errors, without a limit theorem.
//!
//! A random variable is *sub-Gaussian* with parameter μ if `E e^{λv} ≤ e^{λ²μ/2}`. A sum of counts with independent fair signs is, with
//! `μ = ‖x‖²`; so is discrete Gaussian noise, with its own parameter (Canonne, Kamath & Steinke 2020); so is their sum, the parameters added. Even moments up to the 2p-th of sums of counts under 4p-wise independent signs are those of independent signs.

/// How far, relative to μ, the mean of the squares of T sums falls short of it with probability at most alpha.
///
/// `kappa` bounds `E v⁴/μ²`. The signs are `independence`-wise independent.
///
/// **Proof** (Gaussian noise). Take even p ≤ r/2. `(S − E S)^p` has at most r signs in any product, so its mean is that under
/// independent signs, where S is a mean of T independent `y = v²/μ`. For `0 < s < 1/2`, `E e^{sy} ≤ (1−2s)^{−1/2}` (a sub-Gaussian's square)
/// and `E e^{−sy} ≤ 1 − sEy + κs²/2`, so the moment generating functions of `±sT(S − E S)/μ` are at most `exp(Ts²/(1−2s))` and
/// `exp(κTs²/2)`. With `x^p/p! ≤ cosh x` the p-th moment is at most `p! (sT)^{−p}` times their mean, and Markov's
/// inequality bounds the tail. For p = 2 the variance `(κ−1)/T` gives Cantelli's bound. The least over p and s holds. ∎
///
/// For Laplace noise, whose square has no such function, it is Maurer's bound `exp(−Tη²/2κ)` (2003) for
/// non-negative independent terms: there the signs are taken to be independent.
pub(crate) fn shortfall(values: f64, kappa: f64, sub_gaussian: bool, independence: u32, alpha: f64) -> f64 {
    if !sub_gaussian {
        return libm::sqrt(2.0 * kappa * -libm::log(alpha) / values);
    }
    let mut best = cantelli((kappa - 1.0) / values, alpha);
    let mut ln_factorial = 0.0;
    for p in 1..=independence / 2 {
        let order = f64::from(p);
        ln_factorial += libm::log(order);
        if p % 2 == 1 {
            continue;
        }
        for share in [0.7, 0.8, 0.9, 1.0] {
            let s = share * libm::sqrt(order / (2.0 * values));
            if s >= 0.4 {
                continue;
            }
            let (up, down) = (values * s * s / (1.0 - 2.0 * s), kappa * values * s * s / 2.0);
            let ln_mean = up.max(down) + libm::log((1.0 + libm::exp(-(up - down).abs())) / 2.0);
            let ln = (ln_factorial + ln_mean - libm::log(alpha)) / order - libm::log(s * values);
            best = best.min(libm::exp(ln));
        }
    }
    best
}

/// How far below its mean a variable of this variance is with probability at most alpha.
pub(crate) fn cantelli(variance: f64, alpha: f64) -> f64 {
    libm::sqrt(variance * (1.0 - alpha) / alpha)
}

/// How many standard deviations a single cell's error provably stays within, from r-wise independence and Gaussian
/// noise alone.
///
/// **Proof.** The error is a sum of products of two signs, and noise. Its p-th moment, p even and at most r/2, is that under fully
/// independent signs; conditioned on the cell's own signs that is a Rademacher sum, whose even moments are at most the normal
/// law's (compare the coefficients of both expansions: Khintchine). So are the discrete Gaussian's, for a parameter of at least four up
/// to a factor of 1.00001 (Poisson's summation formula), and the sum's. Markov's inequality with the best p gives the factor.
pub(crate) fn proven_factor(level: f64, independence: u32) -> f64 {
    let mut best = f64::INFINITY;
    let mut ln_moment = 0.0;
    for p in (2..=independence / 2).step_by(2) {
        ln_moment += libm::log(f64::from(p - 1));
        best = best.min(libm::exp((ln_moment - libm::log(1.0 - level)) / f64::from(p)));
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proven_factors() {
        // p = 6: (15/0.05)^(1/6)
        assert!((proven_factor(0.95, 60) - 300f64.powf(1.0 / 6.0)).abs() < 1e-12);
        // p = 2 alone: Chebyshev.
        assert!((proven_factor(0.95, 4) - 20f64.sqrt()).abs() < 1e-12);
        assert!(proven_factor(0.99, 60) > proven_factor(0.95, 60));
    }

    /// Squares of normal variables are the extreme case: their mean is χ²/T. The bound must hold for it, by the exact tail of an even
    /// number of degrees of freedom (a Poisson sum), and stay within a fifth of Maurer's.
    #[test]
    fn shortfalls_hold_for_the_normal_law() {
        for values in [256.0, 4096.0, 16_384.0] {
            for alpha in [0.002, 0.001, 2e-5] {
                let eta = shortfall(values, 3.0, true, 60, alpha);
                // P(χ²_T ≤ x) = 1 − Σ_{i < T/2} e^{−x/2} (x/2)^i / i!
                let half = values * (1.0 - eta) / 2.0;
                let (mut ln_term, mut above) = (-half, 0.0);
                for i in 0..(values / 2.0) as u32 {
                    above += libm::exp(ln_term);
                    ln_term += libm::log(half) - libm::log(f64::from(i + 1));
                }
                assert!(1.0 - above <= alpha, "{values} {alpha}: {}", 1.0 - above);
                let maurer = shortfall(values, 3.0, false, 60, alpha);
                assert!(eta < 1.2 * maurer, "{values} {alpha}: {eta} {maurer}");
            }
            // Moments up to the fourth only: Cantelli. More independence never hurts.
            assert_eq!(shortfall(values, 3.0, true, 2, 0.001), cantelli(2.0 / values, 0.001));
            let by = |r| shortfall(values, 3.0, true, r, 0.001);
            assert!(by(60) <= by(20) && by(20) <= by(8) && by(8) <= by(4));
        }
    }
}
