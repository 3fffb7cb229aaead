//! The published shifted Laplace mechanism, as published: continuous noise around a centre.

/// `P(|N + μ| > a)` for Laplace noise N of scale b, both branches: `e^{−a/b} cosh(μ/b)` for `a >= |μ|`, else
/// `1 − e^{−|μ|/b} sinh(a/b)`. Written without large powers.
pub fn inaccuracy(a: f64, b: f64, centre: f64) -> f64 {
    let (a, mu) = (a.max(0.0) / b, centre.abs() / b);
    if a >= mu {
        // e^{−a} (e^μ + e^{−μ})/2
        0.5 * (libm::exp(mu - a) + libm::exp(-mu - a))
    } else {
        1.0 - 0.5 * (libm::exp(a - mu) - libm::exp(-a - mu))
    }
}

/// From how many colluders on the published analysis holds, `max{30, 18Δ²/(m²ε²)}`: 30 for a normal mean, and the rest so that three
/// standard errors `√(2/i)·Δ/ε` of the noise's mean are at most the centres' mean m.
pub fn collusion_size(sensitivity: f64, mean: f64, epsilon: f64) -> f64 {
    let ratio = sensitivity / (mean * epsilon);
    libm::ceil(18.0 * ratio * ratio).max(30.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both branches are the integral of the density, and meet.
    #[test]
    fn both_branches_are_the_integral() {
        for (b, mu) in [(1.0, 0.0), (1.0, 3.0), (10.0, 20.0), (5.0, -7.0), (200.0, 20.0)] {
            for a in [0.0, 0.5, 2.9, 3.0, 3.1, 7.0, 20.0, 45.0] {
                // The mass of [−a, a] by Simpson's rule, split at the kink.
                let density = |x: f64| (-(x - mu).abs() / b).exp() / (2.0 * b);
                let simpson = |from: f64, to: f64| {
                    let n = 2000;
                    let h = (to - from) / f64::from(n);
                    let at = |i: i32| density(from + h * f64::from(i));
                    let inner: f64 = (1..n).map(|i| if i % 2 == 1 { 4.0 } else { 2.0 } * at(i)).sum();
                    (at(0) + inner + at(n)) * h / 3.0
                };
                let kink = mu.clamp(-a, a);
                let inside = simpson(-a, kink) + simpson(kink, a);
                assert!((inaccuracy(a, b, mu) - (1.0 - inside)).abs() < 1e-6, "{a} {b} {mu}");
            }
        }
        assert_eq!(inaccuracy(0.0, 3.0, 5.0), 1.0);
    }

    #[test]
    fn the_size_is_thirty_or_what_three_standard_errors_ask_for() {
        assert_eq!(collusion_size(1.0, 20.0, 1.0), 30.0);
        assert_eq!(collusion_size(1.0, 20.0, 0.01), 450.0);
        let i = collusion_size(1.0, 10.0, 0.05);
        assert!(3.0 * (2.0 / i).sqrt() / 0.05 <= 10.0 && 3.0 * (2.0 / (i - 1.0)).sqrt() / 0.05 > 10.0);
    }
}
