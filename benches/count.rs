//! How fast rows are read and counted, on generated data of the shape of a wide census extract.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use margins::secret::count::{Axis, Counter};
use margins::secret::ingest::Means;
use margins::secret::ingest::{Rows, read};
use margins::spec::{self, Spec};
use std::fmt::Write;
use std::hint::black_box;
use std::path::Path;

const ROWS: usize = 48_842;
const NODES: [u32; 14] = [85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2];

/// Skewed codes, as real columns are: the smaller of two draws.
fn columns() -> Vec<Vec<u32>> {
    let mut state = 1u64;
    let mut draw = |n: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % n
    };
    NODES.iter().map(|&n| (0..ROWS).map(|_| draw(n).min(draw(n))).collect()).collect()
}

fn spec(labelled: bool) -> Spec {
    let mut text =
        "name = \"bench\"\ntitle = \"bench\"\n[privacy]\nunit = \"row\"\nneighbours = \"add-remove\"\nrho = 1\n".to_owned();
    for (at, &n) in NODES.iter().enumerate() {
        let domain = match labelled {
            true => format!("categories = {:?}", (0..n).map(label).collect::<Vec<_>>()),
            false => format!("range = [0, {}]", n - 1),
        };
        let _ = writeln!(text, "[[dimension]]\nname = \"c{at}\"\n{domain}");
    }
    text.push_str("[[table]]\nof = [\"c0\"]\n");
    let no_file = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    spec::parse(&text, Path::new("bench.toml"), no_file).unwrap_or_else(|e| panic!("{}", e.render(false)))
}

fn label(code: u32) -> String {
    format!("category-{code}")
}

fn csv(columns: &[Vec<u32>], show: impl Fn(u32) -> String) -> String {
    let mut text = (0..NODES.len()).map(|at| format!("c{at}")).collect::<Vec<_>>().join(",");
    for row in 0..ROWS {
        for (at, column) in columns.iter().enumerate() {
            let _ = write!(text, "{}{}", if at == 0 { "\n" } else { "," }, show(column[row]));
        }
    }
    text
}

fn reading(c: &mut Criterion) {
    let columns = columns();
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("rows.csv");
    let mut group = c.benchmark_group("read");
    group.throughput(Throughput::Elements(ROWS as u64));
    for (name, spec, text) in [
        ("codes", spec(false), csv(&columns, |code| code.to_string())),
        ("labels", spec(true), csv(&columns, label)),
    ] {
        std::fs::write(&path, text).expect("a file");
        group.bench_function(name, |b| b.iter(|| read(&spec, &path, &Means::default()).expect("rows")));
    }
}

/// Every table of at most three dimensions: 470 tables, 21 million cells.
fn counting(c: &mut Criterion) {
    let rows = Rows::from_codes(&NODES, &columns()).expect("rows");
    let axis = |dimension: usize| Axis { dimension, ancestors: None, nodes: NODES[dimension] as usize };
    let mut tables = vec![vec![]];
    for i in 0..NODES.len() {
        tables.push(vec![axis(i)]);
        for j in i + 1..NODES.len() {
            tables.push(vec![axis(i), axis(j)]);
            tables.extend((j + 1..NODES.len()).map(|k| vec![axis(i), axis(j), axis(k)]));
        }
    }
    let mut group = c.benchmark_group("count");
    group.throughput(Throughput::Elements((ROWS * tables.len()) as u64)).sample_size(20);
    group.bench_function("triples", |b| {
        b.iter(|| {
            let mut counter = Counter::new(&rows);
            for axes in &tables {
                black_box(counter.table(axes).expect("a table"));
            }
        });
    });
}

criterion_group!(benches, reading, counting);
criterion_main!(benches);
