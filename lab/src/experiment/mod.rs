//! `margins-lab experiment`: the published experiments, each a file. None opens data.

mod absolute;
pub(crate) mod asking;
mod dimensions;
mod histories;
mod laws;
mod projection;
mod recipients;
mod shifted;
mod tables;

use margins::cli::{Failure, Outcome, output};
use margins::watch::Watch;
use std::path::Path;

/// Repeat a published experiment: how strategies compare on a spec's dimensions, or one of the commands below.
///
/// With a spec it compares strategies over many budgets on standard workloads: Q1 (every one-way
/// table), Q1* (and every other two-way table), Q1a (and the two-way tables with the first dimension), and Q2,
/// Q2*, Q2a one order up. Prints the relative error: the mean absolute error of a cell over the mean count of a
/// cell, averaged over the tables.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Example:\n  margins-lab experiment specs/town.toml --rows 30000 --svg out/town.svg\n  \
    margins-lab experiment asking --seeds 20\n  \
    margins-lab experiment projection --rows 1000\n  \
    margins-lab experiment recipients"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    which: Option<Which>,
    #[command(flatten)]
    tables: Option<tables::Args>,
}

#[derive(clap::Subcommand)]
enum Which {
    /// Questions that ask for an accuracy: how many a budget answers, with inference from all answers and without
    Asking(asking::Args),
    /// How the error grows with the number of dimensions, beside closed forms
    Dimensions(dimensions::Args),
    /// The published ways to an interval on whole histories: error and time against their size
    Histories(histories::Args),
    /// Exact intervals beside probability calculation and Monte Carlo: time and error
    Laws(laws::Args),
    /// Error of a random projection against the number of its sums and of a query's cells
    Projection(projection::Args),
    /// Copies for many recipients, shifted as published and nested: what colluders get
    Recipients(recipients::Args),
}

pub(crate) fn run(args: &Args, watch: &Watch) -> Outcome {
    match (&args.which, &args.tables) {
        (Some(Which::Asking(args)), _) => asking::run(args, watch),
        (Some(Which::Dimensions(args)), _) => dimensions::run(args),
        (Some(Which::Histories(args)), _) => histories::run(args),
        (Some(Which::Laws(args)), _) => laws::run(args, watch),
        (Some(Which::Projection(args)), _) => projection::run(args, watch),
        (Some(Which::Recipients(args)), _) => recipients::run(args),
        (None, Some(args)) => tables::run(args, watch),
        (None, None) => Err(Failure::Message("name a spec, or one of the experiments: see --help".into())),
    }
}

/// Writes a picture.
fn write(file: &Path, picture: &str) -> Outcome {
    margins::files::write(file, picture)
        .map_err(|e| Failure::Message(format!("cannot write {}: {e}", output::path(file))))
}
