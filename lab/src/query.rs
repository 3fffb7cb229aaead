//! `margins-lab query`: the product's verb, with the published ways of computing its probabilities.

use crate::method::How;
use margins::cli::{Outcome, query};
use margins::watch::Watch;

/// Answer SQL queries as `margins query` does, by a method of your choice.
#[derive(clap::Args)]
#[group(id = "by-a-method")]
#[command(
    after_help = "Example:\n  margins-lab query out/town.margins \"SELECT COUNT(*) FROM town WHERE age >= 90\" --method mc --sample 10000"
)]
pub(crate) struct Args {
    #[command(flatten)]
    query: query::Args,
    #[command(flatten)]
    how: How,
}

pub(crate) fn run(mut args: Args, watch: &Watch) -> Outcome {
    args.query.method = args.how.method();
    query::run(&args.query, watch)
}
