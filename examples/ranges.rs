//! Which strategy knows ranges best under Laplace noise: one ordered dimension, all its ranges, ε = 1.
//!
//! `cargo run --release --example ranges [LARGEST]` prints the root-mean-square error of a range for 16, 32, … categories, and how many levels the tree of
//! `hierarchy` has. For up to 128 categories `matrix` gets the rows of a binary tree. The figures are those of docs/methods/workloads.md.

use margins::cube::{Cube, Cuboid, Dimension};
use margins::exact::Rational;
use margins::plan::{Asks, BudgetRule, Measure, Noise, Ranges, Rows, Table};
use margins::planner::{Candidate, Request, compare};

/// Every node of a binary tree over `n` cells.
fn tree(n: u32) -> Vec<Vec<(u32, i32)>> {
    let mut rows = Vec::new();
    let mut size = n;
    while size >= 1 {
        rows.extend((0..n / size).map(|k| (k * size..(k + 1) * size).map(|cell| (cell, 1)).collect()));
        size /= 2;
    }
    rows
}

fn request(n: usize) -> Request {
    let cube = Cube { dimensions: vec![Dimension::plain("age", (0..n).map(|i| i.to_string()).collect())] };
    let table = Cuboid::new(vec![(0, 1)]);
    let asks = Asks::product(vec![(0, Ranges::All)]);
    let workload = vec![Table { asks, ..Table::new(table.clone(), Rational::ONE) }];
    let mut request = Request::new(cube, workload, Noise::Laplace, Rational::ONE);
    if n <= 128 {
        request.rows = Some(Rows { cuboid: table, rows: tree(n as u32) });
    }
    request
}

fn main() {
    let largest = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1024);
    let shown = [
        Measure::Base,
        Measure::Hierarchy,
        Measure::Tables,
        Measure::Wavelet,
        Measure::Fourier,
        Measure::Matrix,
    ];
    let names: Vec<String> = shown.iter().map(|m| format!("`{}`", m.name())).collect();
    println!(
        "| categories | {} | best | levels |\n|---:|{}---|---|",
        names.join(" | "),
        "---:|".repeat(shown.len())
    );
    for n in std::iter::successors(Some(16), |n| Some(2 * n)).take_while(|n| *n <= largest) {
        let all = compare(&request(n), &[BudgetRule::Optimal]).unwrap_or_default();
        let of = |m: Measure| -> Option<&Candidate> { all.iter().find(|c| c.measure == m) };
        let error = |m: Measure| of(m)?.outcome.as_ref().ok().map(|p| p.prediction.rms_error());
        let cells: Vec<String> =
            shown.iter().map(|m| error(*m).map_or("–".into(), |e| format!("{e:.2}"))).collect();
        let best =
            shown.iter().filter_map(|m| Some((error(*m)?, m.name()))).min_by(|a, b| a.0.total_cmp(&b.0));
        let refined = request(n).cube.refined().cube;
        let tree = of(Measure::Hierarchy).and_then(|c| c.outcome.as_ref().ok());
        let levels = tree.map(|p| {
            let sizes = p
                .plan
                .rows()
                .measurements
                .iter()
                .map(|m| m.block.cuboid().iter().map(|l| l.of(&refined).len()).product::<usize>());
            let mut sizes: Vec<usize> = sizes.collect();
            sizes.sort_unstable();
            sizes.iter().map(|s| s.to_string()).collect::<Vec<_>>().join(", ")
        });
        println!(
            "| {n} | {} | `{}` | {} |",
            cells.join(" | "),
            best.map_or("", |b| b.1),
            levels.unwrap_or_default()
        );
    }
}
