//! The flat prior: given the estimate `y = θ + E`, θ has the law of `y − E`, and E is symmetric.

use crate::law::ErrorLaw;

/// `Pr(θ > c)` given the estimate.
pub fn prob_greater(law: &ErrorLaw, estimate: f64, c: f64) -> f64 {
    // θ > c iff E < y − c; by symmetry E > c − y.
    law.sf(c - estimate)
}

/// `Pr(θ >= c)` given the estimate.
pub(crate) fn prob_at_least(law: &ErrorLaw, estimate: f64, c: f64) -> f64 {
    // θ >= c iff E <= y − c.
    law.cdf(estimate - c)
}

/// `Pr(a <= θ <= b)` given the estimate.
pub fn prob_between(law: &ErrorLaw, estimate: f64, a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() || a > b {
        return if a > b { 0.0 } else { f64::NAN };
    }
    // θ < a iff E > y − a.
    (1.0 - law.sf(estimate - a) - law.sf(b - estimate)).max(0.0)
}

/// The probability, were θ equal to `null`, of an estimate at least as far from it, on either side, as this one. An exact
/// test: the law of the error is known.
pub(crate) fn p_value(law: &ErrorLaw, estimate: f64, null: f64) -> f64 {
    let d = (estimate - null).abs();
    if d == 0.0 { 1.0 } else { (2.0 * law.cdf(-d)).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{NoiseLaw, Term};

    fn law(noise: NoiseLaw) -> ErrorLaw {
        ErrorLaw::new(vec![Term { coefficient: 1.0, copies: 1, noise }]).unwrap()
    }

    #[test]
    fn laplace_closed_forms() {
        let e = law(NoiseLaw::Laplace { scale: 2.0 });
        assert!((prob_greater(&e, 3.0, 0.0) - (1.0 - 0.5 * (-1.5f64).exp())).abs() < 1e-14);
        assert!((prob_greater(&e, -3.0, 0.0) - 0.5 * (-1.5f64).exp()).abs() < 1e-14);
        assert!((prob_between(&e, 0.0, -2.0, 2.0) - (1.0 - (-1.0f64).exp())).abs() < 1e-14);
        assert_eq!(prob_between(&e, 0.0, 2.0, -2.0), 0.0);
        assert!((p_value(&e, 5.0, 1.0) - (-2.0f64).exp()).abs() < 1e-14);
    }

    #[test]
    fn lattice_ends_are_counted() {
        // q = 1/2: P(0) = 1/3, P(±1) = 1/6, P(±2) = 1/12.
        let e = law(NoiseLaw::DiscreteLaplace { scale: 1.0 / 2f64.ln() });
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-10, "{a} {b}");
        near(prob_between(&e, 5.0, 4.0, 6.0), 2.0 / 3.0);
        near(prob_between(&e, 5.0, 5.0, 5.0), 1.0 / 3.0);
        near(prob_between(&e, 5.0, 6.0, 7.0), 1.0 / 4.0);
        near(prob_greater(&e, 5.0, 5.0), 1.0 / 3.0);
        near(prob_greater(&e, 5.0, 4.0), 2.0 / 3.0);
        near(p_value(&e, 6.0, 5.0), 2.0 / 3.0);
        near(p_value(&e, 5.0, 5.0), 1.0);
    }
}
