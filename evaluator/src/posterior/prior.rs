//! What is known about a count before its answer is seen.

/// What is known about a count before the answer is seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Prior {
    /// Nothing: any whole number, negative ones too.
    Flat,
    /// A count: any whole number from 0 up.
    NonNegative,
    /// A count of some of n units, nothing being known of how many: uniform on 0..=n. This is also the prior
    /// for a part of a known total n.
    Uniform {
        /// The number of units.
        n: u64,
    },
    /// A count of those of n independent units for which something of probability p holds.
    Binomial {
        /// The number of units.
        n: u64,
        /// The probability for each.
        p: f64,
    },
}

impl Prior {
    /// The logarithm of its weight of a count.
    pub(super) fn ln(&self, k: i64) -> f64 {
        let inside = |n: u64| k >= 0 && k as u64 <= n;
        match *self {
            Prior::Flat => 0.0,
            Prior::NonNegative => {
                if k >= 0 {
                    0.0
                } else {
                    f64::NEG_INFINITY
                }
            }
            Prior::Uniform { n } => {
                if inside(n) {
                    0.0
                } else {
                    f64::NEG_INFINITY
                }
            }
            Prior::Binomial { n, p } => {
                if inside(n) {
                    ln_binomial(n, p, k as u64)
                } else {
                    f64::NEG_INFINITY
                }
            }
        }
    }

    /// The least and the greatest count that it allows.
    pub(super) fn support(&self) -> (i64, i64) {
        let end = 1 << 52;
        match *self {
            Prior::Flat => (-end, end),
            Prior::NonNegative => (0, end),
            Prior::Uniform { n } => (0, n as i64),
            Prior::Binomial { n, p: 0.0 } => (0, 0.min(n as i64)),
            Prior::Binomial { n, p: 1.0 } => (n as i64, n as i64),
            Prior::Binomial { n, .. } => (0, n as i64),
        }
    }
}

/// `ln C(n,k) p^k (1−p)^{n−k}`, by Loader's saddle-point form: full accuracy for n up to 2^53.
pub fn ln_binomial(n: u64, p: f64, k: u64) -> f64 {
    if k > n {
        return f64::NEG_INFINITY;
    }
    let (nf, kf, rf) = (n as f64, k as f64, (n - k) as f64);
    if p <= 0.0 || p >= 1.0 {
        return if (p <= 0.0 && k == 0) || (p >= 1.0 && k == n) { 0.0 } else { f64::NEG_INFINITY };
    }
    if k == 0 {
        return nf * libm::log1p(-p);
    }
    if k == n {
        return nf * libm::log(p);
    }
    stirling_error(nf)
        - stirling_error(kf)
        - stirling_error(rf)
        - deviance(kf, nf * p)
        - deviance(rf, nf * (1.0 - p))
        + 0.5 * libm::log(nf / (2.0 * std::f64::consts::PI * kf * rf))
}

/// `ln n! − ln(√(2πn) (n/e)^n)`.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        return libm::lgamma(n + 1.0) - (n + 0.5) * libm::log(n) + n
            - 0.5 * libm::log(2.0 * std::f64::consts::PI);
    }
    let n2 = n * n;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / n2) / n2) / n2) / n2) / n
}

/// `x ln(x/m) + m − x`, without cancellation near `x = m`.
fn deviance(x: f64, m: f64) -> f64 {
    let d = x - m;
    if d.abs() < 0.1 * (x + m) {
        // With v = (x−m)/(x+m): ln(x/m) = 2 atanh v, so the value is d·v + 2x Σ_{j≥1} v^{2j+1}/(2j+1).
        let v = d / (x + m);
        let (mut sum, mut power) = (d * v, 2.0 * x * v);
        for j in 1..1000 {
            power *= v * v;
            let next = sum + power / f64::from(2 * j + 1);
            if next == sum {
                break;
            }
            sum = next;
        }
        return sum;
    }
    x * libm::log(x / m) - d
}
