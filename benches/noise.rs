//! Draws per second of the exact samplers, and of the random bits below them.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use margins::secret::noise::{Entropy, Sampler};
use rand::Rng;
use std::hint::black_box;

const DRAWS: usize = 10_000;

fn draws(c: &mut Criterion) {
    let entropy = Entropy::fixed(1);
    let mut group = c.benchmark_group("draw");
    group.throughput(Throughput::Elements(DRAWS as u64));
    let mut out = vec![0; DRAWS];
    // Scales s and b; the Gaussian's parameter is s².
    let scales = ["1/100", "1/2", "1", "15", "17", "100", "1000", "123457/8", "1e6", "1e12"];
    for (name, make) in [("gaussian", true), ("laplace", false)] {
        for scale in scales {
            let s: margins::exact::Rational = scale.parse().expect("a scale");
            let sampler = if make {
                Sampler::gaussian(s.checked_mul(s).expect("a variance"))
            } else {
                Sampler::laplace(s)
            };
            let sampler = sampler.expect("a sampler");
            let mut bits = entropy.stream(0);
            group.bench_function(BenchmarkId::new(name, scale), |b| {
                b.iter(|| sampler.fill(&mut bits, black_box(&mut out)));
            });
        }
    }
    let mut bits = entropy.stream(0);
    group.bench_function("one word of ChaCha20", |b| {
        b.iter(|| out.iter_mut().for_each(|x| *x = black_box(bits.next_u64() as i64)));
    });
    group.finish();
}

fn set_up(c: &mut Criterion) {
    let mut group = c.benchmark_group("set up");
    for variance in ["1", "1e4", "1e10", "1e20"] {
        let v: margins::exact::Rational = variance.parse().expect("a variance");
        group.bench_function(variance, |b| b.iter(|| Sampler::gaussian(black_box(v))));
    }
    group.finish();
}

criterion_group!(benches, draws, set_up);
criterion_main!(benches);
