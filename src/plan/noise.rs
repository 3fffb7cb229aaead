//! How much noise a measurement has.

use super::{Block, Measurement, Noise, cost};
use crate::cube::Frame;
use crate::law;

/// The variance of one draw of a measurement's integer noise.
pub fn noise_variance(noise: Noise, m: &Measurement) -> f64 {
    match noise {
        Noise::Gaussian => law::gaussian_variance(m.scale.to_f64()),
        Noise::Laplace => law::laplace_variance(m.scale.to_f64()),
    }
}

/// `σ_A²` of a component that is measured by itself. `None` for other blocks, and where its integer scale does not fit.
pub fn component_variance(frame: &Frame, noise: Noise, m: &Measurement) -> Option<f64> {
    let unit = match &m.block {
        Block::Component(a) => {
            let scale = cost::component_scale(frame, a)? as f64;
            scale * scale
        }
        // One noise for the two halves of a pair, in every dimension.
        Block::Pairs(a) => libm::exp2(a.len() as f64),
        Block::Table(_) | Block::Walsh(_) | Block::Rows(_) => return None,
    };
    Some(noise_variance(noise, m) / unit)
}
