//! The `margins-lab` command: the experiments of five papers, repeated with the parts of margins. Pages that say what each paper proposes,
//! what is built and where it is wrong stand in `docs/papers`; their figures are what this command prints.

mod audit;
mod estimator;
mod experiment;
mod infer;
mod method;
mod panels;
mod query;
mod recover;

use clap::{Parser, Subcommand};
use margins::cli::{Outcome, serve};
use margins::watch::Watch;
use std::process::ExitCode;

/// Repeats the published experiments of five papers. Agencies and analysts need the command `margins` alone.
#[derive(Parser)]
#[command(name = "margins-lab", version, max_term_width = 80)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Estimate what releases of a spec really cost, from thousands of them on made-up rows
    Audit(audit::Args),
    /// Repeat a published experiment, without data
    Experiment(experiment::Args),
    /// Compare the noisy count with Bayesian estimates of it
    Estimator(estimator::Args),
    /// Recover consistent tables in the L1 or L∞ sense from a release
    Recover(recover::Args),
    /// Answer SQL queries by a published method of computing probabilities
    Query(query::Args),
    /// Infer from a history of noisy answers by a published method
    Infer(infer::Args),
}

fn verb(verb: Verb, watch: &Watch) -> Outcome {
    match verb {
        Verb::Audit(args) => audit::run(&args, watch),
        Verb::Experiment(args) => experiment::run(&args, watch),
        Verb::Estimator(args) => estimator::run(&args),
        Verb::Recover(args) => recover::run(&args),
        Verb::Query(args) => query::run(args, watch),
        Verb::Infer(args) => infer::run(&args),
    }
}

fn main() -> ExitCode {
    // Experiments that play the product run this program under its name.
    let words = std::env::args_os().skip(1);
    if std::env::args_os().nth(1).is_some_and(|word| word == experiment::asking::real::PRODUCT) {
        return ExitCode::from(margins::cli::run(words.collect(), margins::cli::Pages::default()));
    }
    ExitCode::from(serve(std::env::args_os().collect(), |cli: Cli, watch| verb(cli.verb, watch)))
}
