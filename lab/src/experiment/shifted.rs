//! The published shifted Laplace mechanism, as published: continuous noise around a centre. Its laws, not its privacy.

/// `P(|N + μ| > a)` for Laplace noise N of scale b, both branches: `e^{−a/b} cosh(μ/b)` for `a >= |μ|`, else
/// `1 − e^{−|μ|/b} sinh(a/b)`. Written without large powers.
pub(super) fn inaccuracy(a: f64, b: f64, centre: f64) -> f64 {
    let (a, mu) = (a.max(0.0) / b, centre.abs() / b);
    if a >= mu { first_branch(a, 1.0, mu) } else { 1.0 - 0.5 * (libm::exp(a - mu) - libm::exp(-a - mu)) }
}

/// The first branch alone, `e^{−a/b} cosh(μ/b)`: no probability where `a < |μ|`.
pub(super) fn first_branch(a: f64, b: f64, centre: f64) -> f64 {
    let (a, mu) = (a / b, centre.abs() / b);
    0.5 * (libm::exp(mu - a) + libm::exp(-mu - a))
}

/// α(β): what the noise of one answer is within but with probability β, both branches of [`inaccuracy`] the other way round. For k answers at once
/// β/k stands for β: `b ln(k cosh(μ/b)/β)` where that is not below `|μ|`.
pub(super) fn accuracy(failure: f64, b: f64, centre: f64) -> f64 {
    let mu = centre.abs() / b;
    let tail = 0.5 * (1.0 + libm::exp(-2.0 * mu));
    if failure <= tail {
        // ln cosh μ without large powers.
        b * (mu + libm::log(tail) - libm::log(failure))
    } else {
        b * libm::asinh((1.0 - failure) * libm::exp(mu))
    }
}

/// How many colluders are enough to break ordinary noise, of mean 0, to within m: `max{30, 18Δ²/(m²ε²)}`. Thirty for a normal mean, and the rest so
/// that three standard errors `√(2/i)·Δ/ε` of the copies' mean are at most m.
pub(super) fn collusion_size(sensitivity: f64, error: f64, epsilon: f64) -> f64 {
    let ratio = sensitivity / (error * epsilon);
    libm::ceil(18.0 * ratio * ratio).max(30.0)
}

/// The Kullback-Leibler divergence between Laplace laws of scale b whose centres lie this far apart: `d/b + e^{−d/b} − 1`.
pub(super) fn divergence(apart: f64, b: f64) -> f64 {
    let d = apart.abs() / b;
    d + libm::expm1(-d)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The integral of a density with a kink, by Simpson's rule on either side of it.
    fn integral(from: f64, to: f64, of: impl Fn(f64) -> f64) -> f64 {
        let n = 20_000;
        let h = (to - from) / f64::from(n);
        let at = |i: i32| of(from + h * f64::from(i));
        let inner: f64 = (1..n).map(|i| if i % 2 == 1 { 4.0 } else { 2.0 } * at(i)).sum();
        (at(0) + inner + at(n)) * h / 3.0
    }

    /// Both branches are the integral of the density, and meet.
    #[test]
    fn both_branches_are_the_integral() {
        for (b, mu) in [(1.0, 0.0), (1.0, 3.0), (10.0, 20.0), (5.0, -7.0), (200.0, 20.0)] {
            for a in [0.0, 0.5, 2.9, 3.0, 3.1, 7.0, 20.0, 45.0] {
                let density = |x: f64| (-(x - mu).abs() / b).exp() / (2.0 * b);
                let kink = mu.clamp(-a, a);
                let inside = integral(-a, kink, density) + integral(kink, a, density);
                assert!((inaccuracy(a, b, mu) - (1.0 - inside)).abs() < 1e-6, "{a} {b} {mu}");
            }
        }
        assert_eq!(inaccuracy(0.0, 3.0, 5.0), 1.0);
    }

    /// At μ = 2 and b = a = 1 the first branch says 1.38.
    #[test]
    fn the_first_branch_alone_is_no_probability() {
        assert!((first_branch(1.0, 1.0, 2.0) - 1.384_034_448_413_454_6).abs() < 1e-14);
        assert!((inaccuracy(1.0, 1.0, 2.0) - 0.840_953_813_598_210_8).abs() < 1e-14);
    }

    #[test]
    fn alpha_is_the_inverse_of_the_law() {
        for (b, mu) in [(1.0, 0.0), (10.0, 20.0), (50.0, -20.0), (2.0, 300.0)] {
            for failure in [0.99, 0.7, 0.5, 0.05, 1e-3, 1e-9] {
                let a = accuracy(failure, b, mu);
                assert!((inaccuracy(a, b, mu) / failure - 1.0).abs() < 1e-9, "{b} {mu} {failure}: {a}");
            }
        }
        // b ln(k cosh(μ/b)/β), k = 5.
        let direct = 50.0 * (5.0 * (20f64 / 50.0).cosh() / 0.05).ln();
        assert!((accuracy(0.01, 50.0, 20.0) - direct).abs() < 1e-10);
    }

    #[test]
    fn the_size_is_thirty_or_what_three_standard_errors_ask_for() {
        assert_eq!(collusion_size(1.0, 20.0, 1.0), 30.0);
        assert_eq!(collusion_size(1.0, 20.0, 0.01), 450.0);
        assert_eq!(collusion_size(3.0, 1.0, 0.5), 648.0);
        let i = collusion_size(1.0, 10.0, 0.05);
        assert!(3.0 * (2.0 / i).sqrt() / 0.05 <= 10.0 && 3.0 * (2.0 / (i - 1.0)).sqrt() / 0.05 > 10.0);
    }

    #[test]
    fn the_divergence_is_the_integral() {
        for (d, b) in [(1.0, 10.0), (20.0, 10.0), (3.0, 1.0)] {
            let at = |x: f64| {
                let density = (-(x - d).abs() / b).exp() / (2.0 * b);
                density * (x.abs() - (x - d).abs()) / b
            };
            let far = 40.0 * b;
            let whole = integral(-far, 0.0, at) + integral(0.0, d, at) + integral(d, d + far, at);
            assert!((divergence(d, b) - whole).abs() < 1e-8, "{d} {b}");
        }
    }
}
