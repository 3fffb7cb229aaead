//! How fast rows are read and counted, on generated data of the shape of a wide census extract.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use margins::cube::{Cube, Dimension};
use margins::exact::Rational;
use margins::plan::{BudgetRule, Neighbours};
use margins::secret::count::{Axis, Counter};
use margins::secret::ingest::Means;
use margins::secret::ingest::{Rows, read};
use margins::spec::{Budget, Coding, Column, Privacy, Spec, StrategySpec, Unit};
use std::fmt::Write;
use std::hint::black_box;

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
    let dimension =
        |(at, &n): (usize, &u32)| Dimension::plain(&format!("c{at}"), (0..n).map(label).collect());
    let column = |(at, &n): (usize, &u32)| Column {
        column: format!("c{at}"),
        coding: match labelled {
            true => Coding::Labels((0..n).map(|code| (label(code), code)).collect()),
            false => Coding::Range { lo: 0, hi: i64::from(n) - 1 },
        },
        missing: None,
        other: None,
        taken: Default::default(),
    };
    Spec {
        file: None,
        name: "bench".into(),
        title: String::new(),
        description: None,
        licence: None,
        amounts: Vec::new(),
        contact: None,
        supersedes: None,
        demo: true,
        data: None,
        privacy: Privacy {
            unit: Unit::Row,
            neighbours: Neighbours::AddRemove,
            budget: Budget::Rho(Rational::ONE),
            cut_units: None,
        },
        cube: Cube { dimensions: NODES.iter().enumerate().map(dimension).collect() }.into(),
        columns: NODES.iter().enumerate().map(column).collect(),
        workload: Vec::new(),
        strategy: StrategySpec {
            measure: None,
            budgets: BudgetRule::Uniform,
            objective: margins::planner::Objective::Total,
            shares: Vec::new(),
            rows: None,
            effort: 1,
        },
        exact: Vec::new(),
        zeros: Vec::new(),
        dataset: None,
        account: Default::default(),
        projection: None,
        recipients: None,
        targets: Vec::new(),
        source: String::new(),
        unconfirmed: None,
        attachments: Vec::new(),
    }
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
