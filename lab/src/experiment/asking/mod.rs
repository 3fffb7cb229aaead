//! `margins-lab experiment asking`: how many questions a budget answers.

pub(crate) mod real;
mod simulation;
mod system;

use crate::panels::{self, Panel, Panels};
use margins::cli::chart::Series;
use margins::cli::output::{self, columns, counted, figure};
use margins::cli::{Failure, Outcome};
use margins::watch::Watch;
use rayon::prelude::*;
use serde_json::json;
use simulation::{CELLS, LEVEL, Run, Setting};
use std::path::PathBuf;
use system::Inference;

/// Questions that ask for an accuracy: how many a budget answers, with inference from all answers and without.
///
/// The published simulation: random sums of 100 cells, most about the same ten, each with a half-width that must be
/// reached with probability 0.8. With inference a question is answered from all measurements so far where these are precise
/// enough, and otherwise measured with the least budget that reaches its half-width together with them; without, each is measured
/// on its own. Unbounded: after a tree of counts at ε = 0.3, whole widths uniform from 50 to 1000. Bounded: no cell may cost more than
/// ε = 1, whole widths uniform from 1 to 1000. The system's cost is the largest cost of a cell.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  margins-lab experiment asking --seeds 20 --svg out/asking.svg\n  \
    margins-lab experiment asking --real --seeds 20")]
pub(super) struct Args {
    /// How many runs, each with its own questions, counts and noise
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// How many questions a run asks
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    queries: u64,
    /// Play the bounded setting with `margins ask` itself, with rows, files and a ledger (test builds)
    #[arg(long, conflicts_with = "svg")]
    real: bool,
    /// Draw how many questions a cost answers
    #[arg(long, value_name = "FILE", value_parser = margins::cli::output::picture())]
    svg: Option<PathBuf>,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

/// All runs of a setting, with inference and without, by seed.
struct Compared {
    setting: Setting,
    with: Vec<Run>,
    ordinary: Vec<Run>,
    without: Vec<Run>,
}

/// After so many questions (of those that are asked) the curves are read.
fn places(args: &Args) -> Vec<usize> {
    [10, 5, 2, 1].map(|part| (args.queries / part) as usize).into_iter().filter(|n| *n > 0).collect()
}

/// A mean over the seeds and its standard error.
struct Mean(f64, f64);

impl Mean {
    fn of(values: impl Iterator<Item = f64>) -> Mean {
        let all: Vec<f64> = values.collect();
        let n = all.len() as f64;
        let mean = all.iter().sum::<f64>() / n;
        let spread = all.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
        Mean(mean, if n > 1.0 { libm::sqrt(spread / (n * (n - 1.0))) } else { f64::NAN })
    }

    fn to_json(&self) -> serde_json::Value {
        json!({ "mean": self.0, "std_error": self.1.is_finite().then_some(self.1) })
    }
}

impl Compared {
    /// By how many times inference answers more from the same budget, and the least over the seeds.
    fn gain(&self) -> (f64, f64) {
        let sum = |runs: &[Run]| runs.iter().map(|r| f64::from(r.answers())).sum::<f64>();
        let each = self.with.iter().zip(&self.without);
        let least = each.map(|(a, b)| f64::from(a.answers()) / f64::from(b.answers().max(1)));
        (sum(&self.with) / sum(&self.without).max(1.0), least.fold(f64::INFINITY, f64::min))
    }

    /// The costs with and without inference, one over the other.
    fn saving(&self) -> f64 {
        let sum = |runs: &[Run]| runs.iter().map(Run::spent).sum::<f64>();
        sum(&self.without) / sum(&self.with)
    }

    fn kinds(&self) -> [(&'static str, &[Run]); 3] {
        [("inference", &self.with), ("ordinary", &self.ordinary), ("without", &self.without)]
    }
}

/// The columns of the table, each a number of a run.
type Column = (&'static str, fn(&Run) -> f64);

const COLUMNS: [Column; 5] = [
    ("cost", Run::spent),
    ("answered", |r| f64::from(r.answers()) / r.answered.len() as f64),
    ("free", |r| f64::from(r.free) / r.answered.len() as f64),
    ("reliability", |r| f64::from(r.within) / f64::from(r.answers().max(1))),
    ("error", |r| r.error(r.errors.len())),
];

pub(super) fn run(args: &Args, watch: &Watch) -> Outcome {
    let questions = args.queries as usize;
    if args.real {
        return played(args, watch);
    }
    let stage = watch.stage("playing", 3 * args.seeds * Setting::ALL.len() as u64);
    let all: Vec<Compared> = Setting::ALL
        .into_iter()
        .map(|setting| {
            let runs = |inference: Inference| -> Vec<Run> {
                (1..=args.seeds)
                    .into_par_iter()
                    .map(|s| simulation::run(setting, inference, questions, s))
                    .inspect(|_| stage.advance(1))
                    .collect()
            };
            Compared {
                setting,
                with: runs(Inference::Best),
                ordinary: runs(Inference::Ordinary),
                without: runs(Inference::Without),
            }
        })
        .collect();
    drop(stage);
    if let Some(file) = &args.svg {
        super::write(file, &picture(args, &all))?;
    }
    if args.json {
        return output::json(&to_json(args, &all));
    }
    output::print(&to_text(args, &all))
}

/// The bounded setting by the product, in the ways it may be asked.
fn played(args: &Args, watch: &Watch) -> Outcome {
    real::takes_seeds()?;
    let stage = watch.stage("asking", args.seeds * real::WAYS.len() as u64);
    let all = real::WAYS.into_par_iter().map(|(name, way)| {
        let runs = (1..=args.seeds).into_par_iter().map(|seed| {
            let run = real::run(way, args.queries as usize, seed);
            stage.advance(1);
            run
        });
        Ok((name, runs.collect::<Result<Vec<Run>, Failure>>()?))
    });
    let all: Vec<(&str, Vec<Run>)> = all.collect::<Result<_, Failure>>()?;
    drop(stage);
    if args.json {
        let ways = all.iter().map(|(name, runs)| ((*name).to_owned(), figures(args, runs).into()));
        let ways: serde_json::Map<_, _> = ways.collect();
        let value = json!({
            "queries": args.queries, "cells": CELLS, "level": LEVEL, "seeds": args.seeds, "bound": Setting::Bounded.bound(), "real": ways,
        });
        return output::json(&format!("{value}\n"));
    }
    let rows = all.iter().map(|(name, runs)| row(name, runs));
    output::print(&format!(
        "{} about {CELLS} cells at level {LEVEL}, {}\n\nmargins ask, a ledger with the bound ε = 1\n{}",
        counted(args.queries, "question"),
        counted(args.seeds, "seed"),
        columns(&HEAD, &rows.collect::<Vec<_>>())
    ))
}

/// What a table of runs has above its columns.
const HEAD: [&str; 6] = ["", "system cost", "answered", "for nothing", "reliability", "E"];

/// The columns of some runs, under a name.
fn row(name: &str, runs: &[Run]) -> Vec<String> {
    let cell = |(of, (_, value)): (usize, &Column)| {
        let Mean(mean, error) = Mean::of(runs.iter().map(value));
        match of {
            0 if error.is_finite() => format!("{} ± {error:.3}", figure(mean)),
            0 => figure(mean),
            3 => format!("{mean:.4}"),
            4 => format!("{mean:.3}"),
            _ => format!("{:.1} %", 100.0 * mean),
        }
    };
    [vec![name.to_string()], COLUMNS.iter().enumerate().map(cell).collect()].concat()
}

/// The figures of some runs, as JSON.
fn figures(args: &Args, runs: &[Run]) -> serde_json::Map<String, serde_json::Value> {
    let figures =
        COLUMNS.iter().map(|(name, value)| (name.to_string(), Mean::of(runs.iter().map(value)).to_json()));
    let mut figures = figures.collect::<serde_json::Map<_, _>>();
    let at = |of: &dyn Fn(&Run, usize) -> f64| -> Vec<f64> {
        let mean = |n: usize| runs.iter().map(|r| of(r, n)).sum::<f64>() / runs.len() as f64;
        places(args).into_iter().map(mean).collect()
    };
    let curves = json!({
        "questions": places(args), "cost": at(&|r, n| r.cost[n - 1]),
        "answered": at(&|r, n| f64::from(r.answered[n - 1])), "error": at(&|r, n| r.error(n)),
    });
    figures.insert("curves".into(), curves);
    figures
}

fn to_text(args: &Args, all: &[Compared]) -> String {
    let mut out = format!(
        "{} about {CELLS} cells at level {LEVEL}, {}\n",
        counted(args.queries, "question"),
        counted(args.seeds, "seed")
    );
    let within = "E: the mean of |error|/2w, w being the half-width asked for. Ordinary: inference by least squares that takes all answers for equally precise.";
    for compared in all {
        let what = match compared.setting {
            Setting::Unbounded => "unbounded, after a tree at ε = 0.3 (not for those without inference)",
            Setting::Bounded => "bounded, at most ε = 1 a cell",
        };
        let rows = compared.kinds().map(|(name, runs)| row(name, runs));
        out.push_str(&format!("\n{what}\n"));
        out.push_str(&columns(&HEAD, &rows));
        out.push('\n');
        out.push_str(&curves(args, compared));
        out.push_str(&match compared.setting {
            Setting::Unbounded => {
                format!("\nwithout inference the same costs {} times as much\n", figure(compared.saving()))
            }
            Setting::Bounded => {
                let (gain, least) = compared.gain();
                format!(
                    "\ninference answers {} times as many from the same budget\n(least of the seeds: {})\n",
                    figure(gain),
                    figure(least)
                )
            }
        });
    }
    out + &format!("\n{}\n", output::wrapped(within, 0))
}

/// What the first so many questions cost, how many of them were answered, and how well.
fn curves(args: &Args, compared: &Compared) -> String {
    let kinds = compared.kinds();
    let (first, of): (&str, fn(&Run, usize) -> f64) = match compared.setting {
        Setting::Unbounded => ("cost", |r, n| r.cost[n - 1]),
        Setting::Bounded => ("answered", |r, n| f64::from(r.answered[n - 1])),
    };
    let mean = |runs: &[Run], of: &dyn Fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    let row = |n: usize| {
        let firsts = kinds.iter().map(|(_, runs)| figure(mean(runs, &|r| of(r, n))));
        let errors = kinds[..2].iter().map(|(_, runs)| format!("{:.3}", mean(runs, &|r| r.error(n))));
        std::iter::once(n.to_string()).chain(firsts).chain(errors).collect::<Vec<_>>()
    };
    columns(
        &["questions", first, "ordinary", "without", "E", "ordinary"],
        &places(args).into_iter().map(row).collect::<Vec<_>>(),
    )
}

fn to_json(args: &Args, all: &[Compared]) -> String {
    let settings: Vec<_> = all
        .iter()
        .map(|compared| {
            let [with, ordinary, without] = compared.kinds().map(|(_, runs)| figures(args, runs));
            let (gain, least) = compared.gain();
            json!({
                "setting": compared.setting.name(), "bound": compared.setting.bound(),
                "with_inference": with, "ordinary": ordinary, "without": without,
                "answered_gain": gain, "least_answered_gain": least, "cost_ratio": compared.saving(),
            })
        })
        .collect();
    let value = json!({
        "queries": args.queries, "cells": CELLS, "level": LEVEL, "seeds": args.seeds, "settings": settings,
    });
    format!("{value}\n")
}

/// How many questions a cost answers: a panel for each setting.
fn picture(args: &Args, all: &[Compared]) -> String {
    /// The costs a line has points at.
    const POINTS: u32 = 60;
    let panel = |compared: &Compared| {
        let series = compared.kinds().map(|(name, runs)| {
            let most = runs.iter().map(Run::spent).fold(0.0, f64::max);
            let points =
                (0..=POINTS).map(|i| 0.01 * libm::pow(most / 0.01, f64::from(i) / f64::from(POINTS)));
            let points = points.map(|cost| {
                let answered = runs.iter().map(|r| f64::from(r.answered_for(cost))).sum::<f64>();
                (cost, answered / runs.len() as f64)
            });
            let colour = ["inference", "ordinary", "without"].iter().position(|n| *n == name).unwrap_or(0);
            Series { name: name.into(), points: points.collect(), dashed: false, colour }
        });
        Panel {
            title: compared.setting.name().into(),
            remark: match compared.setting {
                Setting::Unbounded => "after a tree at ε = 0.3".into(),
                Setting::Bounded => "at most ε = 1".into(),
            },
            series: series.into(),
        }
    };
    panels::svg(&Panels {
        title: "Questions answered, with inference and without".into(),
        subtitle: format!(
            "{} at level {LEVEL}, mean of {}",
            counted(args.queries, "question"),
            counted(args.seeds, "seed")
        ),
        x_label: "system cost ε".into(),
        y_label: "questions answered".into(),
        panels: all.iter().map(panel).collect(),
    })
}
