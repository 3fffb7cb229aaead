//! Cell and range queries a second, from a release of 470 tables. `cargo bench --bench query`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use margins::answer::{Answers, Options};
use margins::compile;
use margins::release::SigningKey;
use margins::secret::ingest::Means;
use margins::secret::noise::Entropy;
use margins::spec;
use std::fmt::Write as _;
use std::time::Duration;

const FOURTEEN: [u32; 14] = [85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2];
const QUERIES: usize = 1000;

fn opened(folder: &std::path::Path) -> Answers {
    let mut text = String::from(
        "name = \"wide\"\ntitle = \"Benchmark\"\n[data]\npath = \"wide.csv\"\n[privacy]\nrho = \"1/2\"\nunit = \"row\"\n",
    );
    for (i, n) in FOURTEEN.iter().enumerate() {
        let _ = write!(text, "[[dimension]]\nname = \"a{i:02}\"\nrange = [0, {}]\n", n - 1);
    }
    text.push_str("[[table]]\nup_to = 3\n[strategy]\nmeasure = \"residual\"\n");
    let header: Vec<String> = (0..FOURTEEN.len()).map(|i| format!("a{i:02}")).collect();
    let mut csv = header.join(",") + "\n";
    for row in 0..1000u32 {
        let codes: Vec<String> =
            FOURTEEN.iter().map(|n| (row.wrapping_mul(2_654_435_761) % n).to_string()).collect();
        csv.push_str(&(codes.join(",") + "\n"));
    }
    std::fs::write(folder.join("wide.csv"), csv).expect("a temporary file");
    std::fs::write(folder.join("wide.toml"), text).expect("a temporary file");
    let spec = spec::load(&folder.join("wide.toml")).unwrap_or_else(|e| panic!("{e}"));
    let key = SigningKey::throw_away().expect("a key");
    let options = compile::Options {
        out: folder,
        data: None,
        counts: None,
        ledger: &folder.join("ledger.jsonl"),
        key: &key,
        replace: true,
        day: "2026-01-01",
        entropy: Entropy::from_os().expect("randomness"),
    };
    let path = compile::release(&spec, options, &Means::default()).expect("a release").sealed.path;
    Answers::open(path).expect("a release")
}

fn queries(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let answers = opened(folder.path());
    // Dimensions in turn, so that many tables are touched; the codes walk through each.
    let pick = |i: usize, k: usize| (i * 7 + k * 5) % FOURTEEN.len();
    let cells: Vec<String> = (0..QUERIES)
        .map(|i| {
            let (a, b) = (pick(i, 0), pick(i, 1));
            let (x, y) = (i as u32 % FOURTEEN[a], i as u32 / 3 % FOURTEEN[b]);
            format!("SELECT COUNT(*) FROM wide WHERE a{a:02} = {x} AND a{b:02} = {y}")
        })
        .collect();
    let ranges: Vec<String> = (0..QUERIES)
        .map(|i| {
            let (a, b) = (pick(i, 0), pick(i, 1));
            let (x, y) = (i as u32 % FOURTEEN[a], i as u32 / 3 % FOURTEEN[b]);
            format!("SELECT COUNT(*) FROM wide WHERE a{a:02} <= {x} AND a{b:02} >= {y}")
        })
        .collect();
    let mut group = c.benchmark_group("query");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(5))
        .throughput(Throughput::Elements(QUERIES as u64));
    for (name, list) in [("cells", &cells), ("ranges", &ranges)] {
        group.bench_function(name, |b| {
            b.iter(|| {
                let options = Options::at(0.95);
                list.iter()
                    .map(|sql| answers.ask(sql, &options).expect("an answer").rows.len())
                    .sum::<usize>()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, queries);
criterion_main!(benches);
