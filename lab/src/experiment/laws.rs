//! `margins-lab experiment laws`: three ways to the same interval, in time and in error.

use crate::panels::{self, Panel, Panels};
use margins::cli::chart::Series;
use margins::cli::output::{self, columns, counted, figure};
use margins::cli::{Failure, Outcome};
use margins::law::{ErrorLaw, Method, NoiseLaw, Term};
use margins::watch::Watch;
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

/// Three ways to the same interval, in time and in error: exact inversion, probability calculation, Monte Carlo.
///
/// The error of an inferred answer is a sum of independent Laplace noises of different weights. For sums of more and more
/// noises this prints how long each method takes for one interval, and by how much its half-width differs from the
/// exact one. Both published methods err on the side of wider intervals here: probability calculation adds the mass it
/// loses to the tails, Monte Carlo allows three standard errors of its level. Times are of this machine, one thread.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins-lab experiment laws --noises 10,100,1000 --svg out/laws.svg")]
pub(super) struct Args {
    /// How many noises there are in the sum
    #[arg(
        long, value_name = "N", value_delimiter = ',', default_value = "2,5,10,20,50,100,200,500",
        value_parser = clap::value_parser!(u32).range(1..=5000)
    )]
    noises: Vec<u32>,
    /// The level of the interval
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    level: f64,
    /// Draw time and error
    #[arg(long, value_name = "FILE", value_parser = margins::cli::output::picture())]
    svg: Option<PathBuf>,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

/// A method: its name in words and in JSON.
const METHODS: [(&str, &str, Method); 5] = [
    ("exact", "exact", Method::Auto),
    ("PC, 10⁻⁴ lost", "pc_1e-4", Method::Pc { gamma: 1e-4 }),
    ("PC, 10⁻⁸ lost", "pc_1e-8", Method::Pc { gamma: 1e-8 }),
    ("MC, 10⁴ draws", "mc_1e4", Method::Mc { draws: 10_000, seed: 1 }),
    ("MC, 10⁶ draws", "mc_1e6", Method::Mc { draws: 1_000_000, seed: 1 }),
];

/// One method on one sum.
#[derive(Clone, Copy)]
struct Trial {
    noises: u32,
    half_width: f64,
    seconds: f64,
}

/// Laplace noises whose weights are all different, the largest twice the least; no two have a common measure.
fn law(noises: u32) -> Result<ErrorLaw, Failure> {
    let weight = |i: u32| 1.0 + (f64::from(i) * std::f64::consts::SQRT_2).fract();
    let noise = NoiseLaw::Laplace { scale: 1.0 };
    let terms = (0..noises).map(|i| Term { coefficient: weight(i), copies: 1, noise }).collect();
    Ok(ErrorLaw::new(terms)?)
}

fn trial(noises: u32, level: f64, method: Method) -> Result<Trial, Failure> {
    let law = law(noises)?.with_method(method)?;
    let start = Instant::now();
    let half_width = law.half_width(level);
    Ok(Trial { noises, half_width, seconds: start.elapsed().as_secs_f64() })
}

/// By how much a half-width is wider than the exact one, as a share of it.
fn excess(trial: &Trial, exact: &Trial) -> f64 {
    trial.half_width / exact.half_width - 1.0
}

pub(super) fn run(args: &Args, watch: &Watch) -> Outcome {
    if !(args.level > 0.0 && args.level < 1.0) {
        return Err(Failure::Message(format!("--level must lie between 0 and 1, not {}", args.level)));
    }
    let mut all: Vec<[Trial; 5]> = Vec::new();
    let stage = watch.stage("inverting", (args.noises.len() * METHODS.len()) as u64);
    for &noises in &args.noises {
        let one = |m: &(_, _, _)| {
            stage.advance(1);
            trial(noises, args.level, m.2)
        };
        let trials = METHODS.iter().map(one).collect::<Result<Vec<_>, _>>()?;
        all.extend(<[Trial; 5]>::try_from(trials));
    }
    drop(stage);
    if let Some(file) = &args.svg {
        super::write(file, &picture(args.level, &all))?;
    }
    if args.json {
        return output::json(&to_json(args.level, &all));
    }
    output::print(&to_text(args.level, &all))
}

fn to_text(level: f64, all: &[[Trial; 5]]) -> String {
    let head: Vec<&str> = ["noises"].into_iter().chain(METHODS.map(|m| m.0)).collect();
    let rows = |cell: &dyn Fn(&[Trial; 5], usize) -> String| -> Vec<Vec<String>> {
        let row = |trials: &[Trial; 5]| {
            let cells = (0..METHODS.len()).map(|i| cell(trials, i));
            std::iter::once(trials[0].noises.to_string()).chain(cells).collect()
        };
        all.iter().map(row).collect()
    };
    let times = rows(&|t, i| figure(1e3 * t[i].seconds));
    let errors = rows(&|t, i| match i {
        0 => figure(t[0].half_width),
        _ => format!("{:+.4} %", 100.0 * excess(&t[i], &t[0])),
    });
    format!(
        "Half-width of a {} % interval for a sum of Laplace noises of different weights\n\n\
         milliseconds\n{}\nhalf-width, and by how much it is wider than the exact one\n{}",
        (level * 1e6).round() / 1e4,
        columns(&head, &times),
        columns(&head, &errors)
    )
}

fn to_json(level: f64, all: &[[Trial; 5]]) -> String {
    let line = |trials: &[Trial; 5]| {
        let methods = METHODS.iter().zip(trials).map(|(m, t)| {
            let value = json!({
                "half_width": t.half_width, "seconds": t.seconds, "excess": excess(t, &trials[0]),
            });
            (m.1.to_string(), value)
        });
        json!({ "noises": trials[0].noises, "methods": methods.collect::<serde_json::Map<_, _>>() })
    };
    format!("{}\n", json!({ "level": level, "sums": all.iter().map(line).collect::<Vec<_>>() }))
}

fn picture(level: f64, all: &[[Trial; 5]]) -> String {
    let panel = |title: &str, value: &dyn Fn(&[Trial; 5], usize) -> f64| Panel {
        title: title.into(),
        remark: String::new(),
        series: (0..METHODS.len())
            .map(|i| Series {
                name: METHODS[i].0.into(),
                points: all.iter().map(|t| (f64::from(t[0].noises), value(t, i))).collect(),
                dashed: false,
                colour: i,
            })
            .collect(),
    };
    panels::svg(&Panels {
        title: "One interval, three methods".into(),
        subtitle: format!(
            "level {level}; {} of Laplace noises of different weights",
            counted(all.len() as u64, "sum")
        ),
        x_label: "noises in the sum".into(),
        y_label: "left: milliseconds; right: wider than exact, per cent".into(),
        panels: vec![
            panel("time", &|t, i| 1e3 * t[i].seconds),
            // What is exact has no place on a logarithmic axis.
            panel("error", &|t, i| 100.0 * excess(&t[i], &t[0]).abs()),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No method is narrower than exact by more than its own tolerance, and all are close where they should be.
    #[test]
    fn methods_agree() {
        for noises in [2, 30] {
            let trials = METHODS.map(|m| trial(noises, 0.95, m.2).ok().unwrap());
            let wide = |i: usize| excess(&trials[i], &trials[0]);
            assert!(
                (0.0..0.01).contains(&wide(1)) && (-1e-9..1e-3).contains(&wide(2)),
                "{} {}",
                wide(1),
                wide(2)
            );
            assert!(
                (-0.01..0.1).contains(&wide(3)) && (-1e-3..0.01).contains(&wide(4)),
                "{} {}",
                wide(3),
                wide(4)
            );
            let drawn = picture(0.95, &[trials]);
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"));
        }
    }
}
