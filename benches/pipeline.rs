//! The whole path, in three sizes that people meet: every pair of eight attributes, every triple of fourteen
//! (470 tables, 21 million cells), and a plan for a hundred attributes.
//!
//! The data is made up; its domains are those of the census extracts that are the field's yardsticks, so that the
//! work is the same. `cargo bench --bench pipeline`.

use criterion::{Criterion, criterion_group, criterion_main};
use margins::answer::Answers;
use margins::compile::{self, Options};
use margins::planner;
use margins::release::SigningKey;
use margins::secret::ingest::Means;
use margins::secret::noise::Entropy;
use margins::spec::{self, Spec};
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

const EIGHT: [u32; 8] = [9, 16, 7, 15, 6, 5, 2, 2];
const FOURTEEN: [u32; 14] = [85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2];

/// A spec over `a00`, `a01`, … with these numbers of codes, and (unless `rows` is 0) a data file beside it.
fn make(folder: &Path, sizes: &[u32], tables: &str, rows: usize) -> Spec {
    let mut text = format!(
        "name = \"bench{}\"\ntitle = \"Benchmark\"\n[data]\npath = \"bench{}.csv\"\n[privacy]\nrho = \"1/2\"\nunit = \"row\"\n",
        sizes.len(),
        sizes.len()
    );
    for (i, n) in sizes.iter().enumerate() {
        let _ = write!(text, "[[dimension]]\nname = \"a{i:02}\"\ncodes = {n}\n");
    }
    let _ = write!(text, "[[table]]\n{tables}\n[strategy]\nmeasure = \"residual\"\n");
    let mut csv: String = (0..sizes.len()).map(|i| format!("a{i:02}")).collect::<Vec<_>>().join(",");
    csv.push('\n');
    let mut state = 1u64;
    for _ in 0..rows {
        for (i, &n) in sizes.iter().enumerate() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Skewed towards small codes, as real columns are.
            let (a, b) = ((state >> 33) as u32 % n, (state >> 13) as u32 % n);
            let _ = write!(csv, "{}{}", if i == 0 { "" } else { "," }, a.min(b));
        }
        csv.push('\n');
    }
    let path = folder.join(format!("bench{}.toml", sizes.len()));
    if rows > 0 {
        std::fs::write(folder.join(format!("bench{}.csv", sizes.len())), csv).expect("a temporary file");
    }
    std::fs::write(&path, text).expect("a temporary file");
    spec::load(&path).unwrap_or_else(|e| panic!("{e}"))
}

fn release(spec: &Spec, folder: &Path, key: &SigningKey) -> std::path::PathBuf {
    let options = Options {
        out: folder,
        data: None,
        counts: None,
        ledger: &folder.join("ledger.jsonl"),
        key,
        replace: true,
        day: "2026-01-01",
        entropy: Entropy::from_os().expect("randomness"),
    };
    compile::release(spec, options, &Means::default()).expect("a release").sealed.path
}

fn pipeline(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let key = SigningKey::throw_away().expect("a key");
    let mut group = c.benchmark_group("pipeline");
    group.sample_size(10).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(5));

    let pairs = make(folder.path(), &EIGHT, "every = 2", 32_561);
    group.bench_function("release: 28 pairs of 8", |b| b.iter(|| release(&pairs, folder.path(), &key)));

    let triples = make(folder.path(), &FOURTEEN, "up_to = 3", 48_842);
    group.bench_function("release: 470 tables of 14", |b| b.iter(|| release(&triples, folder.path(), &key)));
    let file = release(&triples, folder.path(), &key);
    group.bench_function("recover: 470 tables of 14", |b| {
        b.iter(|| {
            let answers = Answers::open(&file).expect("a release");
            let recovery = answers.evaluator().recovery();
            recovery
                .plan()
                .rows()
                .workload
                .iter()
                .map(|t| recovery.table(&t.cuboid).expect("a table").len())
                .sum::<usize>()
        });
    });

    let wide = make(folder.path(), &[10; 100], "up_to = 3", 0);
    group.bench_function("plan: 166 751 tables of 100", |b| {
        b.iter(|| {
            black_box(planner::plan(&wide.request().expect("a budget")).expect("a plan")).prediction.total
        });
    });
    group.finish();
}

criterion_group!(benches, pipeline);
criterion_main!(benches);
