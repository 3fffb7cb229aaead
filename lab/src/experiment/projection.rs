//! `margins-lab experiment projection`: error of a random projection against T and m.

use crate::panels::{self, Panel, Panels};
use margins::cli::chart::Series;
use margins::cli::output::{self, columns, figure, grouped};
use margins::cli::{Failure, Outcome};
use margins::exact::Rational;
use margins::plan::{Neighbours, Noise, convert};
use margins::projection::Design;
use margins::projection::design::{Request, Size};
use margins::watch::Watch;
use serde_json::json;
use std::path::PathBuf;

/// Error of a random projection against the number T of its sums and the number m of a query's cells.
///
/// For data of n rows that all differ (‖x‖² = n): the standard error, predicted, and the α within which all k queries of the
/// class stay with probability 1 − β, both with Gaussian noise of the budget and with the published Laplace noise for the same (ε, δ);
/// and the T that the published worst-case bound asks for.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins-lab experiment projection --rows 1000 --svg out/projection.svg")]
pub(super) struct Args {
    /// How many rows the data is said to have: public, not counted
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    rows: u64,
    /// The ε of (ε, δ)
    #[arg(long, value_name = "EPSILON", default_value = "1")]
    epsilon: Rational,
    /// The δ of (ε, δ)
    #[arg(long, value_name = "DELTA", default_value = "1e-9")]
    delta: Rational,
    /// k, the number of queries in the class
    #[arg(long, value_name = "K", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    queries: u64,
    /// β, the probability that the class guarantee fails
    #[arg(long, value_name = "BETA", default_value = "0.01")]
    failure: Rational,
    /// Draw the errors
    #[arg(long, value_name = "FILE", value_parser = margins::cli::output::picture())]
    svg: Option<PathBuf>,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

/// The numbers of sums, and of cells of a query.
const SUMS: [u64; 6] = [256, 1024, 4096, 16_384, 65_536, 262_144];
const CELLS: [u32; 4] = [1, 10, 100, 1000];

/// One T and m.
struct Line {
    sums: u64,
    cells: u32,
    gaussian: Design,
    laplace: Design,
}

impl Line {
    fn new(args: &Args, rho: Rational, sums: u64, cells: u32) -> Result<Line, Failure> {
        let request = |noise: Noise| Request {
            sketch: None,
            key: vec![0],
            text: vec![true],
            size: Size::Rows(sums),
            sparsity: cells,
            queries: args.queries,
            failure: args.failure,
            noise,
            budget: rho,
            published: Some((args.epsilon, args.delta)),
            neighbours: Neighbours::AddRemove,
            max_rows: 1,
            norm_bound: Some(args.rows),
        };
        let [gaussian, laplace] = [request(Noise::Gaussian).design()?, request(Noise::Laplace).design()?];
        Ok(Line { sums, cells, gaussian, laplace })
    }

    fn errors(&self) -> [f64; 4] {
        let m = u64::from(self.cells);
        let of = |d: &Design| [d.predicted_error(m), d.guarantee(m)];
        let ([a, b], [c, d]) = (of(&self.gaussian), of(&self.laplace));
        [a, b, c, d]
    }
}

/// The T of the published bound, for data of n rows and queries of m cells.
fn published(args: &Args, line: &Line) -> f64 {
    // In its worst case all n rows are in one cell: ‖x‖² = n².
    let worst = args.rows.saturating_mul(args.rows);
    Design { norm_bound: Some(worst), ..line.gaussian.clone() }.published_rows()
}

pub(super) fn run(args: &Args, watch: &Watch) -> Outcome {
    let rho = convert::largest_rho(args.epsilon, args.delta)
        .ok_or_else(|| Failure::Message(format!("--delta must lie between 0 and 1, not {}", args.delta)))?;
    if !(0.0..1.0).contains(&args.failure.to_f64()) || args.failure.to_f64() == 0.0 {
        return Err(Failure::Message(format!("--failure must lie between 0 and 1, not {}", args.failure)));
    }
    let mut lines = Vec::new();
    let stage = watch.stage("projecting", (CELLS.len() * SUMS.len()) as u64);
    for cells in CELLS {
        for sums in SUMS {
            stage.advance(1);
            lines.push(Line::new(args, rho, sums, cells)?);
        }
    }
    drop(stage);
    if let Some(file) = &args.svg {
        super::write(file, &picture(args, &lines))?;
    }
    if args.json {
        return output::json(&to_json(args, rho, &lines));
    }
    output::print(&to_text(args, rho, &lines))
}

fn to_text(args: &Args, rho: Rational, lines: &[Line]) -> String {
    let mut out = format!(
        "Random projection of {} rows that all differ; (ε, δ) = ({}, {}), ρ = {}\n\
         α: all {} queries are within it with probability {}\n",
        grouped(args.rows),
        args.epsilon.shown(),
        args.delta.shown(),
        figure(rho.to_f64()),
        grouped(args.queries),
        1.0 - args.failure.to_f64(),
    );
    for family in lines.chunk_by(|a, b| a.cells == b.cells) {
        let Some(first) = family.first() else { continue };
        let row = |l: &Line| {
            let errors = l.errors().map(figure);
            [vec![grouped(l.sums)], errors.to_vec()].concat()
        };
        let rows: Vec<Vec<String>> = family.iter().map(row).collect();
        out.push_str(&format!("\n{}\n", output::counted(u64::from(first.cells), "cell")));
        out.push_str(&columns(&["T", "std error", "α", "published noise", "its α"], &rows));
        out.push_str(&format!("the published bound asks for T = {:.1e}\n", published(args, first)));
    }
    out
}

fn to_json(args: &Args, rho: Rational, lines: &[Line]) -> String {
    let line = |l: &Line| {
        let [std_error, alpha, published_std_error, published_alpha] = l.errors();
        json!({
            "cells": l.cells, "sums": l.sums, "std_error": std_error, "alpha": alpha,
            "published_std_error": published_std_error, "published_alpha": published_alpha,
            "published_sums": published(args, l),
        })
    };
    let all: Vec<_> = lines.iter().map(line).collect();
    let value = json!({
        "rows": args.rows, "epsilon": args.epsilon, "delta": args.delta, "rho": rho, "queries": args.queries,
        "failure": args.failure, "lines": all,
    });
    format!("{value}\n")
}

fn picture(args: &Args, lines: &[Line]) -> String {
    let panel = |family: &[Line]| {
        let first = family.first()?;
        let series = |name: &str, of: usize, colour: usize, dashed: bool| Series {
            name: name.into(),
            points: family.iter().map(|l| (l.sums as f64, l.errors()[of])).collect(),
            dashed,
            colour,
        };
        Some(Panel {
            title: output::counted(u64::from(first.cells), "cell"),
            remark: String::new(),
            series: vec![
                series("Gaussian", 0, 0, false),
                series("published", 2, 1, false),
                series("Gaussian", 1, 0, true),
                series("published", 3, 1, true),
            ],
        })
    };
    panels::svg(&Panels {
        title: format!("Random projection of {} rows", grouped(args.rows)),
        subtitle: format!(
            "({}, {})-DP; solid: standard error, dashed: α of {} queries at once",
            args.epsilon.shown(),
            args.delta.shown(),
            grouped(args.queries)
        ),
        x_label: "T, the number of sums".into(),
        y_label: "error of a query, in counts".into(),
        panels: lines.chunk_by(|a, b| a.cells == b.cells).filter_map(panel).collect(),
    })
}
