//! Intervals of figures whose truth is a whole number.

/// The whole numbers inside an interval: it covers a whole number exactly when the interval between the
/// outermost of them does. An end within rounding error of a whole number counts as that number.
pub fn whole_ends(low: f64, high: f64) -> (f64, f64) {
    let slack = 1e-9 * (1.0 + low.abs().max(high.abs()) * 1e-3);
    let (inner_low, inner_high) = (libm::ceil(low - slack) + 0.0, libm::floor(high + slack) + 0.0);
    if inner_low <= inner_high {
        (inner_low, inner_high)
    } else {
        (libm::floor(low) + 0.0, libm::ceil(high) + 0.0)
    }
}
