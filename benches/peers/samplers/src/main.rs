//! Draws per second of exact samplers, each from ChaCha20, as one line of JSON: {"gaussian 10": {"margins": …, "prio": …}, …}.

use margins::exact::Rational;
use margins::secret::noise::{Entropy, Sampler};
use num_bigint::{BigInt, BigUint};
use num_rational::Ratio;
use prio::dp::distributions::{DiscreteGaussian, DiscreteLaplace};
use rand::SeedableRng;
use rand::distr::Distribution;
use rand_chacha::ChaCha20Rng;
use std::hint::black_box;
use std::time::Instant;

/// Draws a second: rounds until half a second is over.
fn rate(draws: u64, mut round: impl FnMut()) -> f64 {
    let (begun, mut rounds) = (Instant::now(), 0u64);
    while begun.elapsed().as_secs_f64() < 0.5 {
        round();
        rounds += 1;
    }
    (rounds * draws) as f64 / begun.elapsed().as_secs_f64()
}

fn ours(sampler: &Sampler) -> f64 {
    let mut bits = Entropy::fixed(1).stream(0);
    let mut out = vec![0i64; 100_000];
    rate(100_000, || sampler.fill(&mut bits, black_box(&mut out)))
}

fn prio(law: impl Distribution<BigInt>) -> f64 {
    let mut bits = ChaCha20Rng::seed_from_u64(1);
    rate(1_000, || {
        for _ in 0..1_000 {
            black_box(law.sample(&mut bits));
        }
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut lines = Vec::new();
    for scale in [1u32, 10, 1000] {
        let s: Rational = scale.to_string().parse()?;
        let big = Ratio::from_integer(BigUint::from(scale));
        let variance = s.checked_mul(s).ok_or("too large")?;
        let gaussian = (ours(&Sampler::gaussian(variance)?), prio(DiscreteGaussian::new(big.clone())?));
        let laplace = (ours(&Sampler::laplace(s)?), prio(DiscreteLaplace::new(big)?));
        for (name, (a, b)) in [("gaussian", gaussian), ("laplace", laplace)] {
            lines.push(format!("\"{name} {scale}\": {{\"margins\": {a:.0}, \"prio\": {b:.0}}}"));
        }
    }
    println!("{{{}}}", lines.join(", "));
    Ok(())
}
