//! `margins-lab infer`: what a history says of its queries, by the published methods and beside the exact law.

use crate::method::How;
use margins::cli::infer::{All, read_all};
use margins::cli::output::{self, columns, figure};
use margins::cli::{Failure, Outcome};
use margins::history::HistoryError;
use margins::law::ErrorLaw;
use margins::posterior::{prob_between, prob_greater};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Instant;

/// Infer from a history of noisy answers, by a method of your choice and by the exact law.
///
/// The file is that of `margins infer`. For each query: the interval around the best linear unbiased estimate, Pr(θ > 0), and with
/// `--between L,U` Pr(L ≤ θ ≤ U), by the method and exactly.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins-lab infer history.toml --method pc --gamma 1e-4 --between 0,50")]
pub(crate) struct Args {
    /// The history; several of the same data are taken together
    #[arg(required = true, value_name = "HISTORY")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    how: How,
    /// Also Pr(L ≤ θ ≤ U)
    #[arg(long, value_name = "L,U", value_delimiter = ',', num_args = 1, allow_negative_numbers = true)]
    between: Vec<f64>,
    /// Also show how long the method takes on this machine, in milliseconds
    #[arg(long)]
    time: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What a law says of a query.
struct Said {
    ends: (f64, f64),
    positive: f64,
    between: Option<f64>,
    milliseconds: f64,
}

impl Said {
    fn new(law: &ErrorLaw, estimate: f64, level: f64, between: Option<(f64, f64)>) -> Said {
        let start = Instant::now();
        let half = law.half_width(level);
        let positive = prob_greater(law, estimate, 0.0);
        let between = between.map(|(low, high)| prob_between(law, estimate, low, high));
        let milliseconds = 1e3 * start.elapsed().as_secs_f64();
        Said { ends: (estimate - half, estimate + half), positive, between, milliseconds }
    }

    fn to_json(&self, time: bool) -> Value {
        json!({
            "low": self.ends.0, "high": self.ends.1, "prob_positive": self.positive, "prob_between": self.between,
            "milliseconds": time.then_some(self.milliseconds),
        })
    }
}

/// A query: its estimate, and what the method and the exact law say; or nothing, where the history does not tell it.
type Inferred = Option<(f64, Said, Said)>;

pub(crate) fn run(args: &Args) -> Outcome {
    let between = match args.between[..] {
        [] => None,
        [low, high] if low <= high => Some((low, high)),
        _ => {
            return Err(Failure::Message(
                "--between takes two numbers, the lower one first: --between 0,50".into(),
            ));
        }
    };
    let Some(all) = read_all(&args.files)? else { return Ok(()) };
    let history = all.history.infer()?;
    let one = |query: &Vec<f64>| -> Result<Inferred, Failure> {
        let answer = match history.query(query) {
            Ok(answer) => answer,
            Err(HistoryError::NotEstimable) => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        let by = answer.law.clone().with_method(args.how.method())?;
        let said = Said::new(&by, answer.estimate, all.level, between);
        let exact = Said::new(&answer.law, answer.estimate, all.level, between);
        Ok(Some((answer.estimate, said, exact)))
    };
    let replies = all.queries.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    if args.json {
        let reply = |r: &Inferred| {
            r.as_ref().map(|(estimate, said, exact)| {
                json!({ "estimate": estimate, "method": said.to_json(args.time), "exact": exact.to_json(args.time) })
            })
        };
        let replies: Vec<_> = replies.iter().map(reply).collect();
        return output::json(&format!("{}\n", json!({ "level": all.level, "queries": replies })));
    }
    output::print(&to_text(args, &all, &replies, between))
}

fn to_text(args: &Args, all: &All, replies: &[Inferred], between: Option<(f64, f64)>) -> String {
    let from = format!("{} % from", (all.level * 1e6).round() / 1e4);
    let within = between.map(|(low, high)| format!("Pr({low} ≤ θ ≤ {high})"));
    let mut head = vec!["", "estimate", "by", &from, "to", "Pr(θ > 0)"];
    head.extend(within.as_deref());
    head.extend(args.time.then_some("ms"));
    let mut rows = Vec::new();
    for (i, reply) in replies.iter().enumerate() {
        let name = format!("query {}", i + 1);
        let Some((estimate, said, exact)) = reply else {
            let mut row = vec![name, "none".into()];
            row.resize(head.len(), String::new());
            rows.push(row);
            continue;
        };
        for (name, by, s) in [(name, "method", said), (String::new(), "exact", exact)] {
            let mut row = vec![name, figure(*estimate), by.into(), figure(s.ends.0), figure(s.ends.1)];
            row.push(format!("{:.5}", s.positive));
            row.extend(s.between.map(|p| format!("{p:.5}")));
            row.extend(args.time.then(|| figure(s.milliseconds)));
            rows.push(row);
        }
    }
    columns(&head, &rows)
}
