//! `margins-lab recover`: tables that agree, and stay near what was measured, in the L1 or L∞ sense.

mod lp;
mod nearest;
mod norm;
#[cfg(test)]
mod tests;

use margins::answer::Answers;
use margins::cli::output::{self, columns};
use margins::cli::{Failure, Outcome, export};
use margins::cube::{Cuboid, Filter, Level};
use nearest::Nearest;
use norm::Norm;
use serde_json::json;
use std::path::PathBuf;

/// Recover consistent tables nearest to the measured ones in the L1 or L∞ sense, beside those of least squares.
///
/// For releases that measured tables cell by cell, or their Walsh coefficients. These estimates are not unbiased and their error has no
/// exact law: standard errors and intervals are those of least squares, and need not hold the estimates beside them.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins-lab recover out/town.margins --norm linf --table sex")]
pub(crate) struct Args {
    /// The release
    file: PathBuf,
    /// How far consistent tables may be from the measured ones
    #[arg(long, value_enum)]
    norm: Norm,
    /// Dimensions and levels of the table, separated by commas; `total` is the table of none [default: every table that was asked for]
    #[arg(long, value_name = "NAMES")]
    table: Vec<String>,
    /// The probability with which each interval of least squares covers the truth
    #[arg(long, default_value_t = 0.95, value_name = "P")]
    level: f64,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

/// A cell: its labels, its estimate in the norm, and least squares with its interval.
struct Cell {
    labels: Vec<String>,
    nearest: f64,
    least_squares: f64,
    std_error: f64,
    ends: (f64, f64),
}

/// A table with its name.
struct Table {
    names: Vec<String>,
    cells: Vec<Cell>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    if !(args.level > 0.0 && args.level < 1.0) {
        return Err(Failure::Message(format!("--level must lie between 0 and 1, not {}", args.level)));
    }
    let answers = Answers::open(&args.file).map_err(|e| output::about(&args.file, &e))?;
    let recovery = answers.evaluator().recovery();
    let asked: Vec<Vec<Level>> = match &args.table[..] {
        [] => recovery.plan().only().workload.iter().map(|t| t.cuboid.iter().collect()).collect(),
        some => some.iter().map(|names| export::table(answers.cube(), names)).collect::<Result<_, _>>()?,
    };
    let nearest = Nearest::new(recovery, args.norm).map_err(Failure::Message)?;
    let tables = asked
        .into_iter()
        .map(|levels| table(&answers, &nearest, levels, args.level))
        .collect::<Result<Vec<_>, _>>()?;
    match args.json {
        true => output::json(&to_json(&answers, &nearest, args.level, &tables)),
        false => output::print(&to_text(&nearest, args.level, &tables)),
    }
}

fn table(answers: &Answers, nearest: &Nearest, mut levels: Vec<Level>, level: f64) -> Result<Table, Failure> {
    let cube = answers.cube();
    // Tables are recovered with their dimensions in the release's order.
    levels.sort_unstable();
    let cuboid = Cuboid::new(levels.iter().copied());
    let found = nearest.table(answers.evaluator().recovery(), &cuboid).map_err(Failure::Message)?;
    let groups = answers.evaluator().aggregate(&Filter::everything(), &levels)?;
    let cell = |(group, nearest): (&margins::answer::Group, f64)| {
        let labels = levels.iter().zip(&group.nodes);
        let half = group.law.half_width(level);
        Cell {
            labels: labels.filter_map(|(l, &n)| l.of(cube).labels.get(n as usize).cloned()).collect(),
            nearest,
            least_squares: group.estimate,
            std_error: group.law.std_error(),
            ends: margins::answer::whole_ends(group.estimate - half, group.estimate + half),
        }
    };
    let names = levels.iter().map(|l| cube.level_name(*l)).collect();
    Ok(Table { names, cells: groups.iter().zip(found).map(cell).collect() })
}

fn to_text(nearest: &Nearest, level: f64, tables: &[Table]) -> String {
    let norm = nearest.norm();
    let mut out = String::new();
    for table in tables {
        let name = if table.names.is_empty() { "total".to_owned() } else { table.names.join(" × ") };
        let from = format!("{} % from", (level * 1e6).round() / 1e4);
        let row = |c: &Cell| {
            let figures =
                [c.nearest, c.least_squares, c.std_error, c.ends.0, c.ends.1].map(|x| format!("{x:.1}"));
            let labels = if c.labels.is_empty() { "all".into() } else { c.labels.join(", ") };
            std::iter::once(labels).chain(figures).collect::<Vec<_>>()
        };
        let rows: Vec<_> = table.cells.iter().map(row).collect();
        out.push_str(&columns(&[&name, norm.symbol(), "least squares", "std error", &from, "to"], &rows));
        out.push('\n');
    }
    out.push_str(&output::wrapped(
        &format!(
            "{} is {:.1} away from what was measured, least squares {:.1}. Standard errors and intervals are those of least squares.",
            norm.symbol(),
            nearest.distance(),
            nearest.least_squares_distance()
        ),
        0,
    ));
    out + "\n"
}

fn to_json(answers: &Answers, nearest: &Nearest, level: f64, tables: &[Table]) -> String {
    let cell = |c: &Cell| {
        json!({
            "cell": c.labels, "estimate": c.nearest, "least_squares": c.least_squares, "std_error": c.std_error,
            "low": c.ends.0, "high": c.ends.1,
        })
    };
    let table =
        |t: &Table| json!({ "table": t.names, "cells": t.cells.iter().map(cell).collect::<Vec<_>>() });
    let all = json!({
        "release": answers.name(), "norm": nearest.norm().name(), "distance": nearest.distance(),
        "least_squares_distance": nearest.least_squares_distance(), "level": level,
        "tables": tables.iter().map(table).collect::<Vec<_>>(),
    });
    format!("{all}\n")
}
