//! Half-widths at the published sizes, and of a million grouped noises; inference from a history of 2 000 answers about
//! 1 000 cells, by both solvers.

use criterion::{Criterion, criterion_group, criterion_main};
use margins::answer::history::{History, Solver};
use margins::law::{ErrorLaw, Method, NoiseLaw, Term};
use std::hint::black_box;

fn law(terms: impl Iterator<Item = (f64, u64, NoiseLaw)>) -> ErrorLaw {
    let terms = terms.map(|(coefficient, copies, noise)| Term { coefficient, copies, noise }).collect();
    ErrorLaw::new(terms).expect("a law")
}

fn benches(c: &mut Criterion) {
    for n in [200u32, 500, 1000] {
        // Distinct weights, no two commensurable.
        let weight = |i: u32| 1.0 + (f64::from(i) * std::f64::consts::SQRT_2).fract();
        let laplace = law((0..n).map(|i| (weight(i), 1, NoiseLaw::DiscreteLaplace { scale: 10.0 })));
        let continuous = law((0..n).map(|i| (weight(i), 1, NoiseLaw::Laplace { scale: 10.0 })));
        let gaussian = law((0..n).map(|i| (weight(i), 1, NoiseLaw::DiscreteGaussian { variance: 50.0 })));
        for (name, law) in
            [("discrete laplace", &laplace), ("laplace", &continuous), ("discrete gaussian", &gaussian)]
        {
            c.bench_function(&format!("half_width/{n} distinct {name}"), |b| {
                b.iter(|| law.half_width(black_box(0.95)))
            });
        }
        if n == 200 {
            c.bench_function("half_width/200 distinct discrete laplace, MC 10^4", |b| {
                b.iter(|| {
                    let mc =
                        laplace.clone().with_method(Method::Mc { draws: 10_000, seed: 7 }).expect("a method");
                    mc.half_width(black_box(0.95))
                });
            });
            c.bench_function("half_width/200 distinct discrete laplace, PC 1e-6", |b| {
                b.iter(|| {
                    let pc = laplace.clone().with_method(Method::Pc { gamma: 1e-6 }).expect("a method");
                    pc.half_width(black_box(0.95))
                });
            });
        }
    }
    let million =
        law((1..=4).map(|i| (f64::from(i) / 3.0, 250_000, NoiseLaw::DiscreteLaplace { scale: 2.0 })));
    c.bench_function("half_width/10^6 grouped in 4 weights", |b| {
        b.iter(|| million.half_width(black_box(0.95)))
    });
    let two = [
        (1.0, 1, NoiseLaw::DiscreteGaussian { variance: 3.0 }),
        (std::f64::consts::SQRT_2, 1, NoiseLaw::DiscreteGaussian { variance: 2.0 }),
    ];
    let dense = law(two.into_iter());
    c.bench_function("half_width/2 incommensurable, smoothed", |b| {
        b.iter(|| dense.half_width(black_box(0.95)))
    });
    let one = law(std::iter::once((1.0, 1, NoiseLaw::DiscreteGaussian { variance: 1e4 })));
    c.bench_function("half_width/1 discrete gaussian", |b| b.iter(|| one.half_width(black_box(0.95))));
}

/// Ranges and single cells, each with a budget of its own: the published sizes (rows over 100 cells) and beyond.
fn history(rows: usize, cells: usize) -> History {
    let entries: Vec<(usize, usize, f64)> = (0..rows)
        .flat_map(|i| {
            let length = 1 + (i * 7919) % (cells / 10);
            let start = (i * 104_729) % (cells - length);
            let single = (i < cells).then_some((i, i, 1.0));
            (start..start + length)
                .filter(move |&j| i >= cells || j != i)
                .map(move |j| (i, j, 1.0))
                .chain(single)
        })
        .collect();
    let answers = (0..rows).map(|i| (i % 97) as f64).collect();
    let budgets = (0..rows).map(|i| 0.01 + 0.001 * (i % 13) as f64).collect();
    History::from_entries((rows, cells), entries, answers, budgets, None).expect("a history")
}

fn histories(c: &mut Criterion) {
    for (rows, cells) in [(200, 100), (1000, 100), (2000, 1000)] {
        let history = history(rows, cells);
        let query: Vec<f64> = (0..cells).map(|j| f64::from(u8::from(j % 10 < 5))).collect();
        for solver in [Solver::Dense, Solver::Sparse] {
            c.bench_function(&format!("infer/{rows} rows over {cells} cells, {solver:?}"), |b| {
                b.iter(|| history.infer_by(solver).expect("estimates"))
            });
            let inferred = history.infer_by(solver).expect("estimates");
            c.bench_function(&format!("query/{rows} rows over {cells} cells, {solver:?}"), |b| {
                b.iter(|| inferred.query(black_box(&query)).expect("an estimate").interval(0.95))
            });
        }
    }
}

criterion_group! {
    name = group;
    config = Criterion::default().sample_size(10).measurement_time(std::time::Duration::from_secs(2)).warm_up_time(std::time::Duration::from_millis(300));
    targets = benches, histories
}
criterion_main!(group);
