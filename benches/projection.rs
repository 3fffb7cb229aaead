//! Building and asking a dense projection of 16,384 sums. `cargo bench --bench projection`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use margins::exact::Rational;
use margins::plan::{Neighbours, Noise};
use margins::projection::answer::Estimator;
use margins::projection::design::{Design, Request, Size};
use margins::projection::signs::{SignFamily, block_bits, point};
use margins::projection::{Key, Part, Projected, Projection};
use margins::secret::Charged;
use margins::secret::ingest::Rows;
use margins::secret::noise::Entropy;
use margins::secret::project::project;
use margins::watch::Watch;
use std::hint::black_box;
use std::time::Duration;

const KEYS: u32 = 1_000_000;
const SUMS: u64 = 16_384;
const QUESTIONS: u64 = 1000;

fn design() -> Design {
    let request = Request {
        sketch: None,
        key: vec![0],
        text: vec![false],
        size: Size::Rows(SUMS),
        sparsity: 100,
        queries: QUESTIONS,
        failure: Rational::new(1, 100).expect("a probability"),
        noise: Noise::Gaussian,
        budget: Rational::new(1, 2).expect("a budget"),
        published: None,
        neighbours: Neighbours::AddRemove,
        max_rows: 1,
        norm_bound: None,
    };
    request.design().expect("a design")
}

fn projection() -> Projection {
    Projection { design: design(), seed: [7; 32] }
}

fn key(p: &Projection) -> Key {
    Key::new(vec![Part::Nodes(KEYS.into())], p.design.shape.cell_bits(), &p.seed)
}

/// The words of one key's 256 blocks: by the transform, and by Horner's scheme at each point.
fn signs(c: &mut Criterion) {
    let design = design();
    let family = SignFamily::new(&[7; 32], 0, design.independence);
    let bits = block_bits(SUMS);
    let cosets = family.cosets(bits);
    let blocks = SUMS / 64;
    let mut group = c.benchmark_group("signs of a key");
    group.throughput(Throughput::Elements(blocks));
    let mut words = vec![[0; 4]; cosets.size()];
    // Four cosets of 64 blocks.
    let starts = |cell: u64| [0, 1, 2, 3].map(|i| point(cell, i * cosets.size() as u64, bits));
    group.bench_function("transform", |b| {
        b.iter(|| cosets.values(black_box(starts(12_345)), black_box(&mut words)));
    });
    group.bench_function("transform, portable", |b| {
        b.iter(|| cosets.values_portable(black_box(starts(12_345)), black_box(&mut words)));
    });
    let points: Vec<u64> = (0..blocks).map(|block| point(12_345, block, bits)).collect();
    let mut words = vec![0; points.len()];
    group.bench_function("point by point", |b| {
        b.iter(|| family.words(black_box(&points), black_box(&mut words)));
    });
    group.finish();
}

fn build(c: &mut Criterion) {
    let p = projection();
    let key = key(&p);
    // Each key once, in no order.
    let column: Vec<u32> = (0..KEYS).map(|i| (u64::from(i) * 7_919 % u64::from(KEYS)) as u32).collect();
    let mut group = c.benchmark_group("build");
    group.throughput(Throughput::Elements(KEYS.into()));
    group.sample_size(10).measurement_time(Duration::from_secs(30));
    group.bench_function("a million keys", |b| {
        b.iter(|| {
            let rows = Rows::from_codes(&[KEYS], std::slice::from_ref(&column)).expect("rows");
            let (charged, ()) =
                Charged::projection(p.clone(), |_| Ok::<(), std::io::Error>(())).expect("a budget");
            project(rows, &key, charged, Entropy::from_os().expect("randomness"), &Watch::default())
        });
    });
    group.finish();
}

fn answers(c: &mut Criterion) {
    let p = projection();
    let key = key(&p);
    let values = (0..SUMS as i64).map(|i| i * i % 2001 - 1000).collect();
    let projected = Projected::new(p, values).expect("a projection");
    let cells: Vec<u64> = (0..QUESTIONS).map(|i| key.cell(&[i * 997])).collect();
    let mut group = c.benchmark_group("answers");
    group.throughput(Throughput::Elements(QUESTIONS));
    group.bench_function("a thousand single keys", |b| {
        b.iter(|| cells.iter().map(|&c| projected.answer(&[c], 0.95, Estimator::Best).estimate).sum::<f64>());
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("one sum of a thousand keys", |b| {
        b.iter(|| projected.answer(black_box(&cells), 0.95, Estimator::Best));
    });
    group.finish();
}

criterion_group!(benches, signs, build, answers);
criterion_main!(benches);
