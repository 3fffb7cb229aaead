//! Half-widths at the published sizes, of a million grouped noises, and of hard laws; inference from histories of up to 4 000 answers about
//! 2 000 cells, by all solvers.

use criterion::{Criterion, criterion_group, criterion_main};
use margins::history::{History, Solver};
use margins::law::{ErrorLaw, Method, NoiseLaw, Term};
use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

fn law(terms: impl Iterator<Item = (f64, u64, NoiseLaw)>) -> ErrorLaw {
    let terms = terms.map(|(coefficient, copies, noise)| Term { coefficient, copies, noise }).collect();
    ErrorLaw::new(terms).expect("a law")
}

fn benches(c: &mut Criterion) {
    for n in [200u32, 500, 1000] {
        // Distinct weights, no two commensurable.
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

/// Weights that are all different, between 1 and 2.
fn weight(i: u32) -> f64 {
    1.0 + (f64::from(i) * std::f64::consts::SQRT_2).fract()
}

/// Laws that once took minutes, or for ever.
fn hard_cases() -> Vec<(String, ErrorLaw)> {
    let mut all = Vec::new();
    for (name, noise) in [
        ("dl 0.07", NoiseLaw::DiscreteLaplace { scale: 1.0 / 15.0 }),
        ("dl 0.2", NoiseLaw::DiscreteLaplace { scale: 0.2 }),
        ("dl 1", NoiseLaw::DiscreteLaplace { scale: 1.0 }),
        ("dl 10", NoiseLaw::DiscreteLaplace { scale: 10.0 }),
        ("dl 1e4", NoiseLaw::DiscreteLaplace { scale: 1e4 }),
        ("dl 1e12", NoiseLaw::DiscreteLaplace { scale: 1e12 }),
        ("dl 1e-6", NoiseLaw::DiscreteLaplace { scale: 1e-6 }),
        ("dg 1e-6", NoiseLaw::DiscreteGaussian { variance: 1e-6 }),
        ("dg 0.1", NoiseLaw::DiscreteGaussian { variance: 0.1 }),
        ("dg 1", NoiseLaw::DiscreteGaussian { variance: 1.0 }),
        ("dg 50", NoiseLaw::DiscreteGaussian { variance: 50.0 }),
        ("dg 1e6", NoiseLaw::DiscreteGaussian { variance: 1e6 }),
        ("dg 2^100", NoiseLaw::DiscreteGaussian { variance: 2f64.powi(100) }),
        ("laplace 3", NoiseLaw::Laplace { scale: 3.0 }),
    ] {
        for n in [2u32, 3, 5, 8, 20, 100, 1000] {
            all.push((format!("{n} distinct {name}"), law((0..n).map(|i| (weight(i), 1, noise)))));
        }
        all.push((
            format!("20 decimals {name}"),
            law((0..20u32).map(|i| (f64::from(1 + i * 37 % 101) * 0.01, 1 + u64::from(i), noise))),
        ));
        all.push((format!("17.3 and 1 {name}"), law([(1.0, 9, noise), (17.3, 4, noise)].into_iter())));
        all.push((
            format!("one huge, 40 tiny {name}"),
            law((0..40).map(|i| (weight(i) * if i == 0 { 1.0 } else { 1e-3 }, 1, noise))),
        ));
        all.push((
            format!("geometric {name}"),
            law((0..30).map(|i| (weight(i) * 0.5f64.powi(i as i32), 1, noise))),
        ));
        all.push((
            format!("1e6 copies of 1, 1 of pi {name}"),
            law([(1.0, 1_000_000, noise), (std::f64::consts::PI, 1, noise)].into_iter()),
        ));
        all.push((format!("20000 distinct {name}"), law((0..20_000).map(|i| (weight(i), 1, noise)))));
    }
    let g = |v| NoiseLaw::DiscreteGaussian { variance: v };
    let l = |b| NoiseLaw::DiscreteLaplace { scale: b };
    for (s, t) in [(1e-2, 1e6), (1.0, 1e12), (3.0, 5.0)] {
        all.push((
            format!("mixed {s} {t}"),
            law((0..12).map(|i| (weight(i), 1, if i % 2 == 0 { g(s) } else { l(t) }))),
        ));
        all.push((
            format!("mixed dl {s} {t}"),
            law((0..12).map(|i| (weight(i), 1, if i % 2 == 0 { l(s) } else { l(t) }))),
        ));
    }
    all.push((
        "200000 distinct, three sizes".into(),
        law((0..200_000).map(|i| (weight(i) * [1.0, 1e-3, 1e-6][(i % 3) as usize], 1, l(2.0)))),
    ));
    all
}

/// The processor time of this thread: others may be at work on the machine.
fn cpu() -> Duration {
    let known = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = known.and_then(|s| s.split_whitespace().next()?.parse().ok());
    static START: OnceLock<Instant> = OnceLock::new();
    nanos.map_or_else(|| START.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}

/// The slowest question, and the half-width that is widest beside what it must be: of many comparable noises the normal law's.
fn hard(_: &mut Criterion) {
    let mut slowest: Vec<(Duration, String)> = Vec::new();
    let mut widest = (0.0, String::new());
    for (name, law) in hard_cases() {
        for level in [0.5, 0.95, 0.999_999] {
            let start = cpu();
            let w = law.half_width(level);
            slowest.push((cpu() - start, format!("{name}, half-width at {level}")));
            // Twenty thousand noises of which at least a hundred are not 0.
            let active: f64 = law.terms().iter().map(|t| t.copies as f64 * t.noise.variance().min(1.0)).sum();
            if name.starts_with("20000 distinct") && active > 100.0 && level < 0.99 {
                let normal = law.std_error() * margins::law::normal_upper_quantile((1.0 - level) / 2.0);
                if w / normal - 1.0 > widest.0 {
                    widest = (w / normal - 1.0, format!("{name} at {level}"));
                }
            }
        }
        let start = cpu();
        black_box(law.sf(1.3 * law.std_error()));
        slowest.push((cpu() - start, format!("{name}, probability")));
    }
    slowest.sort_by_key(|s| std::cmp::Reverse(s.0));
    for (time, name) in slowest.iter().take(12) {
        println!("hard/{name}: {time:?}");
    }
    println!("hard/wider than normal: {:.3} %, {}", 100.0 * widest.0, widest.1);
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
    for (rows, cells) in [(200, 100), (1000, 100), (2000, 1000), (4000, 2000)] {
        let history = history(rows, cells);
        let query: Vec<f64> = (0..cells).map(|j| f64::from(u8::from(j % 10 < 5))).collect();
        // The QR factorisation of the last takes half a minute.
        let solvers = [Solver::Blocked, Solver::Sparse, Solver::Dense].into_iter();
        for solver in solvers.filter(|s| *s != Solver::Dense || cells < 2000) {
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
    targets = benches, hard, histories
}
criterion_main!(group);
