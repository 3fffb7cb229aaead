//! Quantiles that confidence bounds are made of: of χ², binomial and hypergeometric laws, and Clopper and Pearson's of a proportion.

/// `P(a, x)`, the regularised lower incomplete gamma function.
fn gamma_below(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = libm::exp(a * libm::log(x) - x - libm::lgamma(a));
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-16 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        return front * sum;
    }
    // Lentz's continued fraction for the upper one.
    let (mut b, tiny) = (x + 1.0 - a, 1e-300);
    let (mut c, mut d) = (1.0 / tiny, 1.0 / b);
    let mut h = d;
    for i in 1..100_000 {
        let an = -f64::from(i) * (f64::from(i) - a);
        b += 2.0;
        d = 1.0 / (an * d + b);
        c = b + an / c;
        h *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    1.0 - front * h
}

/// The regularised incomplete beta function `I_x(a, b)`.
fn beta_below(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_below(b, a, 1.0 - x);
    }
    let ln = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log1p(-x);
    let (mut c, mut d) = (1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0)));
    let mut h = d;
    for m in 1..100_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for step in [even, odd] {
            d = 1.0 / (1.0 + step * d);
            c = 1.0 + step / c;
            h *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    libm::exp(ln) * h / a
}

/// Where a rising function reaches a value, between two places.
fn reaches(value: f64, (mut low, mut high): (f64, f64), of: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..70 {
        let middle = 0.5 * (low + high);
        if of(middle) < value { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The quantile of χ² with so many degrees of freedom.
pub(super) fn chi_square(p: f64, freedom: f64) -> f64 {
    let high = freedom + 60.0 * freedom.sqrt() + 200.0;
    reaches(p, (0.0, high), |x| gamma_below(0.5 * freedom, 0.5 * x))
}

/// The lower bound of a proportion of which `k` of `n` were seen: it is too large with probability `alpha` at most.
pub(super) fn at_least(k: usize, n: usize, alpha: f64) -> f64 {
    let (k, n) = (k as f64, n as f64);
    if k == 0.0 { 0.0 } else { reaches(alpha, (0.0, 1.0), |p| beta_below(k, n - k + 1.0, p)) }
}

/// The upper one.
pub(super) fn at_most(k: usize, n: usize, alpha: f64) -> f64 {
    1.0 - at_least(n - k, n, alpha)
}

/// The least number that a binomial law of `n` and `q` stays within with this probability.
pub(super) fn binomial_quantile(p: f64, n: usize, q: f64) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let k = (low + high) / 2;
        let beyond = beta_below(k as f64 + 1.0, (n - k) as f64, q);
        if beyond <= 1.0 - p { high = k } else { low = k + 1 }
    }
    low
}

/// The probability that of `drawn` out of `all`, of which `marked` are, at least `k` are marked.
pub(super) fn hypergeometric_above(k: usize, (all, marked, drawn): (usize, usize, usize)) -> f64 {
    if k as f64 <= marked as f64 * drawn as f64 / all as f64 {
        return 1.0;
    }
    let (k, all, marked, drawn) = (k as f64, all as f64, marked as f64, drawn as f64);
    if k > marked.min(drawn) {
        return 0.0;
    }
    let choose = |n: f64, k: f64| libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
    let ln = choose(marked, k) + choose(all - marked, drawn - k) - choose(all, drawn);
    // Beyond the middle each is less than the one before.
    let (mut term, mut sum, mut at) = (1.0, 1.0, k);
    while at < marked.min(drawn) && term > 1e-17 * sum {
        term *= (marked - at) * (drawn - at) / ((at + 1.0) * (all - marked - drawn + at + 1.0));
        sum += term;
        at += 1.0;
    }
    libm::exp(ln) * sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use margins::law::normal_upper_quantile as normal;

    /// Against published tables, and sums of binomial probabilities.
    #[test]
    fn quantiles_are_those_of_tables() {
        for (p, freedom, want) in [
            (0.95, 1.0, 3.841_458_820_694_124),
            (0.001, 10.0, 1.478_743),
            (0.99, 100.0, 135.806_723),
            (0.5, 2.0, 1.386_294_361),
            (0.001, 5000.0, 4_696.667_382),
        ] {
            let found = chi_square(p, freedom);
            assert!((found / want - 1.0).abs() < 1e-6, "{p} {freedom}: {found}");
        }
        assert!((normal(0.025) - 1.959_963_985).abs() < 1e-8);
        let (mut at, mut tail) = (1.0, 0.0);
        let p = at_least(7, 40, 0.01);
        for i in 0..=40u32 {
            if i > 0 {
                at *= f64::from(41 - i) / f64::from(i) * p / (1.0 - p);
            } else {
                at = (1.0f64 - p).powi(40);
            }
            tail += if i >= 7 { at } else { 0.0 };
        }
        assert!((tail - 0.01).abs() < 1e-9, "{tail}");
        assert!((at_most(33, 40, 0.01) - (1.0 - p)).abs() < 1e-12);
        assert!((at_most(0, 1000, 0.001) - (1.0 - 0.001f64.powf(0.001))).abs() < 1e-12);
    }

    /// Against sums over all ways to draw.
    #[test]
    fn counts_are_those_of_enumeration() {
        for (n, q, p) in [(40usize, 0.3, 0.9), (12, 0.01, 0.99), (7, 0.5, 0.5)] {
            let (mut at, mut below, mut want) = ((1.0f64 - q).powi(n as i32), 0.0, None);
            for i in 0..=n {
                below += at;
                want = want.or((below >= p).then_some(i));
                at *= (n - i) as f64 / (i + 1) as f64 * q / (1.0 - q);
            }
            assert_eq!(Some(binomial_quantile(p, n, q)), want, "{n} {q} {p}");
        }
        // 5 of 14 are marked: all subsets of 6.
        for k in 0..=6usize {
            let subsets = (0u32..1 << 14).filter(|s| s.count_ones() == 6);
            let (mut all, mut above) = (0u32, 0u32);
            for subset in subsets {
                all += 1;
                above += u32::from((subset & 0b1_1111).count_ones() as usize >= k);
            }
            let (found, want) = (hypergeometric_above(k, (14, 5, 6)), f64::from(above) / f64::from(all));
            // Up to the mean nothing is told apart.
            let want = if k as f64 <= 30.0 / 14.0 { 1.0 } else { want };
            assert!((found - want).abs() < 1e-12, "{k}: {found}, not {want}");
        }
    }
}
