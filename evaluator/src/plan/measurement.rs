//! A measurement: a block and the scale of its noise.

use super::{Block, Noise};
use crate::cube::Frame;
use crate::exact::Rational;

/// One group: a block and the scale of its noise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measurement {
    /// What is measured.
    pub block: Block,
    /// The parameter of the integer noise `z` that is drawn for every integer of the block:
    /// the variance parameter `s²` of the discrete Gaussian, the scale `b` of the discrete Laplace.
    pub scale: Rational,
}

/// The variance of one draw of a measurement's integer noise. Noise that is practically never there has no variance
/// a double can hold; weights are made of its reciprocal, so it counts as a hair above zero.
pub fn noise_variance(noise: Noise, m: &Measurement) -> f64 {
    noise.law(m.scale.to_f64()).variance().max(1e-100)
}

/// `σ_A²` of a component that is measured by itself. `None` for other blocks, and where its integer scale does not fit.
pub fn component_variance(frame: &Frame, noise: Noise, m: &Measurement) -> Option<f64> {
    Some(noise_variance(noise, m) / m.block.divisor(frame)?)
}
