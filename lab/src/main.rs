//! The `margins-lab` command: the experiments of five papers, repeated with the parts of margins. Pages that say what each paper proposes,
//! what is built and where it is wrong stand in `docs/papers`; their figures are what this command prints.

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
        Verb::Experiment(args) => experiment::run(&args, watch),
        Verb::Estimator(args) => estimator::run(&args),
        Verb::Recover(args) => recover::run(&args),
        Verb::Query(args) => query::run(args, watch),
        Verb::Infer(args) => infer::run(&args),
    }
}

fn main() -> ExitCode {
    ExitCode::from(serve(std::env::args_os().collect(), |cli: Cli, watch| verb(cli.verb, watch)))
}
