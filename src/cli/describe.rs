//! `margins describe`, and a bare `margins FILE`: the file explains itself.

use super::projection::{self, Opened};
use super::{Outcome, output, terminal};
use crate::answer::Answers;
use crate::describe::{Description, Shown, TABLES};
use crate::watch::Watch;
use std::path::PathBuf;

/// Describe a release: whom it protects, its dimensions, its tables and their errors.
///
/// Checks the signature of the manifest first; `margins verify` checks everything. `margins inspect` shows the blocks of noise for
/// auditors. In `margins query`, SHOW TABLES and DESCRIBE name give the same facts.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  margins describe out/town.margins\n  margins out/town.margins\n  \
    margins describe out/town.margins --dimension age.band")]
pub(super) struct Args {
    /// The release
    file: PathBuf,
    /// List all categories of a dimension or level
    #[arg(long, value_name = "NAME")]
    dimension: Option<String>,
    /// List all tables, not only the first 40
    #[arg(long)]
    all: bool,
    /// The probability with which each margin covers
    #[arg(long, default_value_t = 0.95, value_name = "P")]
    level: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Outcome {
    let tables = if args.all { usize::MAX } else { TABLES };
    let of = described(args, tables)?;
    if let Some(name) = &args.dimension {
        return dimension(args, &of, name);
    }
    if args.json {
        return output::json(&(serde_json::to_string_pretty(&of)? + "\n"));
    }
    output::print(&format!("{of:0$}", terminal::width()))
}

fn described(args: &Args, tables: usize) -> Result<Description, super::Failure> {
    let about = |e: &dyn std::error::Error| output::about(&args.file, e);
    match projection::open(&args.file, &Watch::default())? {
        Opened::Projection(questions) => questions.describe(args.level).map_err(|e| about(&e)),
        Opened::Tables(release) => {
            let ends = crate::spec::clamped(&release);
            let answers = Answers::from_release(*release).map_err(|e| about(&e))?.with_ends(&ends);
            answers.describe(args.level, tables).map_err(|e| about(&e))
        }
    }
}

/// All categories of one dimension or level, a line each.
fn dimension(args: &Args, of: &Description, name: &str) -> Outcome {
    let table = Shown::One(name.into()).answer(of)?;
    if args.json {
        let same = |l: &&crate::describe::Categories| l.name.eq_ignore_ascii_case(name);
        let level = of.dimensions.iter().flat_map(|d| &d.levels).find(same);
        return output::json(&(serde_json::to_string_pretty(&level)? + "\n"));
    }
    output::print(&crate::render::table_within(&table, terminal::width()))
}
