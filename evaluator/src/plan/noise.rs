//! How much noise a measurement has.

use super::{Measurement, Noise};
use crate::cube::Frame;
use crate::law;

/// The variance of one draw of a measurement's integer noise. Noise that is practically never there has no variance
/// a double can hold; weights are made of its reciprocal, so it counts as a hair above zero.
pub fn noise_variance(noise: Noise, m: &Measurement) -> f64 {
    let variance = match noise {
        Noise::Gaussian => law::gaussian_variance(m.scale.to_f64()),
        Noise::Laplace => law::laplace_variance(m.scale.to_f64()),
    };
    variance.max(1e-100)
}

/// `σ_A²` of a component that is measured by itself. `None` for other blocks, and where its integer scale does not fit.
pub fn component_variance(frame: &Frame, noise: Noise, m: &Measurement) -> Option<f64> {
    Some(noise_variance(noise, m) / m.block.divisor(frame)?)
}
