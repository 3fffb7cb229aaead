//! tmp
/// v
pub fn gaussian_variance(s2: f64) -> f64 {
    if s2 > 4.0 {
        return s2;
    }
    let (mut n, mut d) = (0.0, 1.0);
    for k in 1..60 {
        let k = k as f64;
        let p = libm::exp(-k * k / (2.0 * s2));
        n += 2.0 * k * k * p;
        d += 2.0 * p;
    }
    n / d
}
/// v
pub fn laplace_variance(b: f64) -> f64 {
    let q = libm::exp(-1.0 / b);
    let one = -libm::expm1(-1.0 / b);
    2.0 * q / (one * one)
}
