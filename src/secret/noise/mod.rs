//! Exact integer noise: the discrete Gaussian and the discrete Laplace law, generic over the random source.
//!
//! No floating-point number takes part. Textbook samplers built on doubles leave gaps and collisions among their outputs that
//! give away the count behind them (Mironov 2012), and a law that is only nearly right voids the proof of privacy. Here each integer
//! comes up with exactly the probability the proof speaks of, for any rational scale.
//!
//! | file | idea |
//! |---|---|
//! | [`Sampler`] (`sampler`) | a point under the hat, kept when it is under the law |
//! | `hat` | the histogram above the law, and how uniform bits pick a point under it |
//! | `law` | γ, where the law is `exp(−γ)` |
//! | `exp` | certain bounds of `exp(−q)`, quick ones and ones of any precision |
//! | [`Step`] (`step`) | from one Laplace law to a wider one; the uniform law of a centre |
//! | [`Entropy`] (`entropy`) | the ChaCha20 key and its streams |

mod entropy;
mod exp;
mod hat;
mod law;
mod sampler;
mod step;

#[cfg(test)]
mod reference;

pub use entropy::Entropy;
pub(crate) use entropy::SEEDS;
pub use sampler::Sampler;
pub(crate) use step::{Step, uniform};

use crate::exact::Rational;

/// Why noise cannot be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoiseError {
    /// Zero noise is no noise.
    #[error("the noise scale is zero")]
    ZeroScale,
    /// The values might not fit an `i64`.
    #[error("the noise scale {scale} is larger than {largest}, the largest that fits 64-bit integers")]
    TooLarge {
        /// What was asked for: the variance of a Gaussian, the scale of a Laplace law.
        scale: Rational,
        /// The largest possible.
        largest: Rational,
    },
    /// The operating system gave no random bytes.
    #[error("the operating system gave no random bytes")]
    NoEntropy,
}
