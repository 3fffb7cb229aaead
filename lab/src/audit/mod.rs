//! `margins-lab audit`: what a spec's releases really cost, from their integers alone.
//!
//! Thousands of releases of made-up rows are made in memory, by the code that makes any release, on both sides of the worst pair of neighbours
//! that a search finds. What they cost is estimated from the integers, with lower confidence bounds; if one is above the claim, the claim is wrong.
//!
//! | file | idea |
//! |---|---|
//! | `people` | rows that the spec lets be |
//! | `samples` | many releases |
//! | `worst` | the search for the worst pair |
//! | `normal` | normal noise: covariance and shift |
//! | `parts` | Laplace noise: integer by integer |
//! | `threshold` | any noise: thresholds |
//! | `found` | the bounds of one audit |
//! | `chances` | quantiles |

mod chances;
mod found;
mod normal;
mod parts;
mod people;
mod samples;
#[cfg(test)]
mod tests;
mod threshold;
mod worst;

use found::{Effort, Findings, audit};
use margins::cli::output::{self, columns, figure, grouped, wrapped};
use margins::cli::{Failure, Outcome};
use margins::watch::Watch;
use margins::{MakeError, PlanOptions, Spec};
use samples::Seeds;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Estimate what releases of a spec cost, from thousands of them on made-up rows, beside what is claimed.
///
/// The releases are made in memory, by the code that makes any release; no data is read and no ledger is charged. A search finds the worst pair of
/// neighbours that it can. Each line is a lower bound of the cost, and all of them hold together with the confidence. If one is above the
/// claim, the exit code is 1.
///
/// Gaussian noise: the covariance of all numbers of a release and the shift between groups of neighbours. Laplace noise: how fast the tails of every
/// integer fall, where no two integers depend on each other. Any noise: what is on either side of thresholds. Also every single step from nobody to some units.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins-lab audit specs/incomes.toml --releases 20000")]
pub(crate) struct Args {
    /// The spec: what it says of its data is not read
    spec: PathBuf,
    /// How many releases are made of each of four datasets; of some more an eighth
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    releases: u32,
    /// The probability that no bound is too large
    #[arg(long, value_name = "P", default_value_t = 0.999)]
    confidence: f64,
    /// The probability with which a cost beyond the claim is found, were all noise smaller alike: for the last column
    #[arg(long, value_name = "P", default_value_t = 0.9)]
    power: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, watch: &Watch) -> Outcome {
    for (name, p) in [("confidence", args.confidence), ("power", args.power)] {
        if !(p > 0.0 && p < 1.0) {
            return Err(Failure::Message(format!("--{name} is a probability between 0 and 1, such as 0.99")));
        }
    }
    let failed = |e: MakeError| match e {
        MakeError::Spec(mistakes) => Failure::Rendered(mistakes.render(false)),
        e => output::about(&args.spec, &e),
    };
    let plan = Spec::load(&args.spec).map_err(failed)?;
    let plan = plan.plan_with(&PlanOptions::new().watch(watch)).map_err(failed)?;
    let effort = Effort { releases: args.releases as usize, alpha: 1.0 - args.confidence, power: args.power };
    let found = audit(&plan, &effort, Seeds::System, &|| (), watch)?;
    match args.json {
        true => output::json(&format!("{:#}\n", to_json(&found, &effort)))?,
        false => output::print(&to_text(&found, &effort))?,
    }
    if found.refuted() { Err(Failure::Refuted) } else { Ok(()) }
}

fn to_text(found: &Findings, effort: &Effort) -> String {
    let percent = |p: f64| format!("{} %", figure(100.0 * p));
    let confidence = probability(1.0 - effort.alpha);
    let mut text = format!("{} claims {} = {}\n\n", found.name, found.symbol(), figure(found.claim));
    let pair = match found.substitute {
        true => {
            format!("The worst pair of neighbours found: one unit is {}, or {}.", found.pair.1, found.pair.0)
        }
        false => format!("The worst pair of neighbours found: one unit more, {}.", found.pair.1),
    };
    text += &wrapped(&pair, 0);
    text += "\n";
    let made = format!(
        "{} releases of {} integers were made in memory; groups have {} units.",
        grouped(found.made),
        grouped(found.integers),
        grouped(found.group)
    );
    text += &wrapped(&made, 0);
    text += "\n\n";
    let maybe = |x: Option<f64>| x.map_or(String::new(), figure);
    let line = |b: &found::Bound| {
        let share = b.detected.map_or(String::new(), |d| match d.is_finite() {
            true => percent(d / b.claim - 1.0),
            false => "nothing".into(),
        });
        vec![b.way.clone(), b.what.into(), maybe(b.estimate), figure(b.least), figure(b.claim), share]
    };
    let head = ["", "", "estimate", "at least", "claimed", "found beyond"];
    text += &columns(&head, &found.bounds.iter().map(line).collect::<Vec<_>>());
    text += "\n";
    for note in &found.notes {
        text += &wrapped(note, 0);
        text += "\n";
    }
    let end = match found.refuted() {
        true => format!("These releases do not keep what is claimed (confidence {confidence})."),
        false => format!(
            "No bound is above its claim (confidence {confidence}). {}",
            power(found, &probability(effort.power))
        ),
    };
    text + &wrapped(&end, 0) + "\n"
}

/// A probability in per cent, with so many decimals that it is not 100.
fn probability(p: f64) -> String {
    let decimals = (-libm::log10(100.0 * (1.0 - p)) - 0.2).ceil().max(2.0);
    format!("{:.*} %", decimals as usize, 100.0 * p)
}

/// What the last column says.
fn power(found: &Findings, power: &str) -> String {
    let detected = || found.bounds.iter().filter_map(|b| b.detected);
    let some =
        "A cost so much beyond the claim as the last column says would have been found with probability";
    let none = "no cost is sure to be found, however far beyond the claim.";
    match (detected().any(f64::is_finite), detected().any(f64::is_infinite)) {
        (true, false) => format!("{some} {power}, were all noise smaller alike."),
        (true, true) => {
            format!("{some} {power}, were all noise smaller alike; where that says nothing, {none}")
        }
        (false, true) => format!("Where the last column says nothing, {none}"),
        (false, false) => "It is not known which cost beyond the claim would have been found.".into(),
    }
}

fn to_json(found: &Findings, effort: &Effort) -> Value {
    let finite = |x: f64| if x.is_finite() { json!(x) } else { json!("unbounded") };
    let bound = |b: &found::Bound| {
        json!({
            "way": b.way, "of": b.what, "estimate": b.estimate.map(finite), "at_least": finite(b.least), "claimed": b.claim,
            "would_find": b.detected.map(|d| if d.is_finite() { json!(d) } else { json!("nothing") }),
        })
    };
    json!({
        "name": found.name, "currency": found.currency, "claimed": found.claim, "substitute": found.substitute,
        "before": found.pair.0, "after": found.pair.1, "releases": found.made, "integers": found.integers, "group": found.group,
        "confidence": 1.0 - effort.alpha, "power": effort.power, "bounds": found.bounds.iter().map(bound).collect::<Vec<_>>(),
        "notes": found.notes, "refuted": found.refuted(),
    })
}
