//! `margins query`: one SELECT, answered from the file.

use super::{Outcome, output};
use crate::answer::{Answers, render};
use std::path::PathBuf;

/// Answer a SQL query from a release file.
///
/// One SELECT with COUNT(*): WHERE with =, <>, <, <=, >, >=, BETWEEN, IN, NOT, AND, OR over any dimension or level
/// (age, age.band), GROUP BY, ORDER BY, LIMIT. Every row comes with its standard error and an interval that
/// covers the truth with the stated probability.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins query out/town.margins \"SELECT sex, COUNT(*) FROM town \
    WHERE age BETWEEN 20 AND 39 GROUP BY sex\"")]
pub struct Args {
    /// The release
    file: PathBuf,
    /// The query
    sql: String,
    /// The probability with which each interval covers the truth
    #[arg(long, default_value_t = 0.95, value_name = "P")]
    level: f64,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let answers = Answers::open(&args.file)?;
    let table = answers.query(&args.sql, args.level)?;
    if args.csv {
        return output::print(&render::csv(&table));
    }
    if args.json {
        let mut more = serde_json::Map::new();
        more.insert("release".into(), answers.name().into());
        return output::print(&render::json(&table, &more)?);
    }
    output::print(&render::table(&table))
}
