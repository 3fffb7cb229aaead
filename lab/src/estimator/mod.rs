//! `margins-lab estimator`: how much a prior helps, as Naldi & D'Acquisto compare it.

mod closer;
mod picture;
mod published;

use closer::{mean_out_of_range, out_of_range, probability_closer};
use margins::cli::output::{self, columns, figure};
use margins::cli::{Failure, Outcome};
use published::{Estimator, expected_absolute_error};
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;

/// Compare the noisy count with Bayesian estimates of it.
///
/// A predicate holds for each of n units with probability p; its count is released with Laplace noise of scale
/// 1/ε. The table shows the exact mean absolute error of the noisy count itself, of the same moved into 0 … n, of the posterior mean (the
/// published estimator) and of the posterior median; how often the posterior mean is nearer to the truth than the
/// noisy count; and how often the noisy count lies below 0 or above n. The picture shows these against
/// the noise level 1/ε, ε, p and the true count.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  margins-lab estimator --n 100 --p 0.3 --epsilon 0.1,1 --svg out/estimator.svg"
)]
pub(crate) struct Args {
    /// The number of units
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    n: u64,
    /// The predicate's probabilities; the first is that of the picture [default: 0.05, 0.3, 0.5; in the picture 0.3]
    #[arg(long, value_delimiter = ',', value_parser = probability)]
    p: Vec<f64>,
    /// The noise is Laplace's of scale 1/ε; the first is that of the picture [default: 0.05, 0.1, 0.2, 0.5, 1; in the picture 0.1]
    #[arg(long, value_delimiter = ',', value_parser = budget)]
    epsilon: Vec<f64>,
    /// Write the picture here
    #[arg(long, value_name = "FILE", value_parser = margins::cli::output::picture())]
    svg: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn probability(text: &str) -> Result<f64, String> {
    let p = text.parse().ok().filter(|p: &f64| (0.0..=1.0).contains(p));
    p.ok_or_else(|| "a probability from 0 to 1".into())
}

fn budget(text: &str) -> Result<f64, String> {
    let epsilon = text.parse().ok().filter(|e: &f64| (0.001..=100.0).contains(e));
    epsilon.ok_or_else(|| "a budget from 0.001 to 100".into())
}

const PROBABILITIES: [f64; 3] = [0.05, 0.3, 0.5];
const EPSILONS: [f64; 5] = [0.05, 0.1, 0.2, 0.5, 1.0];
const KINDS: [Estimator; 4] =
    [Estimator::NoisyCount, Estimator::Clipped, Estimator::PosteriorMean, Estimator::PosteriorMedian];

/// What there is to say of one p and ε.
struct Line {
    p: f64,
    epsilon: f64,
    errors: Vec<f64>,
    closer: f64,
    outside: f64,
}

impl Line {
    fn new(n: u64, p: f64, epsilon: f64) -> Result<Line, Failure> {
        let error = |&kind: &Estimator| expected_absolute_error(n, p, epsilon, kind);
        let errors = KINDS.iter().map(error).collect::<Result<Vec<f64>, _>>()?;
        let (closer, outside) = (probability_closer(n, p, epsilon)?, mean_out_of_range(n, p, epsilon)?);
        Ok(Line { p, epsilon, errors, closer, outside })
    }

    fn saved(&self) -> f64 {
        1.0 - self.errors[2] / self.errors[0]
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let n = args.n;
    let given = |own: &[f64], usual: &[f64]| if own.is_empty() { usual.to_vec() } else { own.to_vec() };
    let (ps, epsilons) = (given(&args.p, &PROBABILITIES), given(&args.epsilon, &EPSILONS));
    let mut lines = Vec::new();
    for &p in &ps {
        for &epsilon in &epsilons {
            lines.push(Line::new(n, p, epsilon)?);
        }
    }
    if let Some(path) = &args.svg {
        let (p, epsilon) = (args.p.first().unwrap_or(&0.3), args.epsilon.first().unwrap_or(&0.1));
        margins::files::write(path, &picture::svg(n, *p, *epsilon)?)
            .map_err(|e| Failure::Message(format!("cannot write {}: {e}", output::path(path))))?;
    }
    if args.json {
        return output::json(&to_json(n, &lines));
    }
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|line| {
            let mut row = vec![line.p.to_string(), line.epsilon.to_string()];
            row.extend(line.errors.iter().map(|e| figure(*e)));
            row.extend([
                format!("{:.0} %", 100.0 * line.saved()),
                format!("{:.3}", line.closer),
                format!("{:.4}", line.outside),
            ]);
            row
        })
        .collect();
    let mut out = format!("Mean absolute error of a count out of {n}, Laplace noise of scale 1/ε\n\n");
    let head = ["p", "ε", "noisy", "clipped", "post. mean", "median", "saves", "P(nearer)", "P(outside)"];
    out.push_str(&columns(&head, &rows));
    let least: Vec<String> = epsilons
        .iter()
        .map(|&e| format!("{} at ε = {e}", figure(out_of_range(n, n as f64 / 2.0, e))))
        .collect();
    let foot = format!(
        "P(nearer): the posterior mean is nearer to the truth than the noisy count. P(outside): the noisy count is below 0 or above {n}; \
         for one true count it is least at n/2: {}.",
        least.join(", ")
    );
    let _ = write!(out, "\n{}\n", output::wrapped(&foot, 0));
    if let Some(path) = &args.svg {
        let _ = writeln!(out, "\npicture   {}", output::path(path));
    }
    output::print(&out)
}

fn to_json(n: u64, lines: &[Line]) -> String {
    let line = |l: &Line| {
        json!({
            "p": l.p, "epsilon": l.epsilon, "noisy_count": l.errors[0], "clipped": l.errors[1],
            "posterior_mean": l.errors[2], "posterior_median": l.errors[3], "saved": l.saved(),
            "prob_closer": l.closer, "prob_out_of_range": l.outside,
            "least_prob_out_of_range": out_of_range(n, n as f64 / 2.0, l.epsilon),
        })
    };
    let all: Vec<_> = lines.iter().map(line).collect();
    format!("{}\n", json!({ "n": n, "lines": all }))
}
